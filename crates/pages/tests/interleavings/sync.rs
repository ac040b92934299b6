//! The models' counterpart of `src/sync.rs`: loom's atomics, and locks, sleeping and the parking lot built from loom's
//! locks, under the names and with the signatures of the real ones.
//!
//! Loom takes a sequentially consistent access for an acquire-release one. A full fence before each makes it what it is,
//! and no more: this is how processors without such accesses implement them (Batty et al., *Clarifying and Compiling
//! C/C++ Concurrency*, POPL 2012).
//!
//! Nothing here times out, so a wake-up that is lost is a deadlock, which loom reports.

pub use loom::hint::spin_loop;
pub use loom::sync::atomic::{Ordering, fence};
pub use loom::thread_local;
pub use parking_lot_core::{DEFAULT_PARK_TOKEN, FilterOp, ParkToken, UnparkToken};

use loom::sync::atomic;
use parking_lot_core::UnparkResult;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is waited for is not measured here.
#[allow(dead_code, reason = "each model has some of them")]
pub enum Wait {
    PageLatch,
    FreeFrame,
    LogWrite,
    LogSync,
    LogGroup,
}

pub fn timed<T>(_: Wait, f: impl FnOnce() -> T) -> T {
    f()
}

pub const LATCH_SPINS: u32 = 0;
pub const GAP_SPINS: u32 = 0;

/// The order in which loom is to do what comes behind the fence.
fn behind_fence(order: Ordering, weaker: Ordering) -> Ordering {
    if order == Ordering::SeqCst {
        fence(Ordering::SeqCst);
        weaker
    } else {
        order
    }
}

macro_rules! atomic {
    ($name:ident, $value:ty) => {
        #[derive(Default)]
        pub struct $name(atomic::$name);

        #[allow(dead_code)]
        impl $name {
            pub fn new(value: $value) -> $name {
                $name(atomic::$name::new(value))
            }

            pub fn load(&self, order: Ordering) -> $value {
                self.0.load(behind_fence(order, Ordering::Acquire))
            }

            pub fn store(&self, value: $value, order: Ordering) {
                self.0.store(value, behind_fence(order, Ordering::Release));
            }

            pub fn compare_exchange(
                &self,
                old: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let success = behind_fence(success, Ordering::AcqRel);
                self.0.compare_exchange(old, new, success, failure)
            }

            pub fn compare_exchange_weak(
                &self,
                old: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(old, new, success, failure)
            }
        }
    };
    ($name:ident, $value:ty, $($change:ident)*) => {
        atomic!($name, $value);

        #[allow(dead_code)]
        impl $name {
            $(pub fn $change(&self, value: $value, order: Ordering) -> $value {
                self.0.$change(value, behind_fence(order, Ordering::AcqRel))
            })*
        }
    };
}

atomic!(AtomicBool, bool);
atomic!(AtomicU32, u32);
atomic!(AtomicUsize, usize, fetch_add fetch_sub);
atomic!(AtomicU64, u64, fetch_add fetch_sub fetch_and fetch_or fetch_max);

/// A lock that cannot be poisoned.
#[derive(Default)]
pub struct Mutex<T>(loom::sync::Mutex<T>);

pub struct MutexGuard<'a, T>(Option<loom::sync::MutexGuard<'a, T>>);

impl<T> Mutex<T> {
    pub fn new(value: T) -> Mutex<T> {
        Mutex(loom::sync::Mutex::new(value))
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(self.0.lock().unwrap()))
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.0.as_ref().unwrap()
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().unwrap()
    }
}

pub struct Condvar(loom::sync::Condvar);

impl Default for Condvar {
    fn default() -> Condvar {
        Condvar(loom::sync::Condvar::new())
    }
}

impl Condvar {
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let held = guard.0.take().unwrap();
        guard.0 = Some(self.0.wait(held).unwrap());
    }

    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _at_most: Duration) {
        self.wait(guard);
    }

    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// A thread that can be woken: a token, and where its owner waits for it.
#[derive(Clone, Default)]
pub struct Thread(Arc<(Mutex<bool>, Condvar)>);

impl Thread {
    pub fn unpark(&self) {
        *self.0.0.lock() = true;
        self.0.1.notify_one();
    }

    fn park(&self) {
        let mut token = self.0.0.lock();
        while !*token {
            self.0.1.wait(&mut token);
        }
        *token = false;
    }
}

thread_local! {
    static CURRENT: Thread = Thread::default();
}

pub fn current() -> Thread {
    CURRENT.with(Thread::clone)
}

pub fn park() {
    current().park();
}

pub fn park_timeout(_at_most: Duration) {
    park();
}

struct Parked {
    key: usize,
    token: ParkToken,
    thread: Thread,
}

loom::lazy_static! {
    /// The parking lot, in the order of arrival. One bucket: its lock is what the protocols rest on.
    static ref LOT: Mutex<Vec<Parked>> = Mutex::new(Vec::new());
}

/// # Safety
/// None is needed here; the real one's callers promise that a key is theirs.
#[allow(unsafe_code)]
pub unsafe fn park_at(
    key: usize,
    validate: impl FnOnce() -> bool,
    before_sleep: impl FnOnce(),
    _timed_out: impl FnOnce(usize, bool),
    token: ParkToken,
    _timeout: Option<Instant>,
) {
    let thread = Thread::default();
    {
        let mut lot = LOT.lock();
        if !validate() {
            return;
        }
        let thread = thread.clone();
        lot.push(Parked { key, token, thread });
    }
    before_sleep();
    thread.park();
}

/// # Safety
/// As for [`park_at`].
#[allow(unsafe_code)]
pub unsafe fn unpark_filter(
    key: usize,
    mut filter: impl FnMut(ParkToken) -> FilterOp,
    callback: impl FnOnce(UnparkResult) -> UnparkToken,
) {
    let mut woken = Vec::new();
    {
        let mut lot = LOT.lock();
        let mut at = 0;
        while at < lot.len() {
            if lot[at].key != key {
                at += 1;
                continue;
            }
            match filter(lot[at].token) {
                FilterOp::Unpark => woken.push(lot.remove(at).thread),
                FilterOp::Skip => at += 1,
                FilterOp::Stop => break,
            }
        }
        let mut result = UnparkResult::default();
        result.unparked_threads = woken.len();
        result.have_more_threads = lot.iter().any(|parked| parked.key == key);
        callback(result);
    }
    for thread in woken {
        thread.unpark();
    }
}
