//! The state of one page, in one word: whether it is in memory, how it is latched, and how often it was changed.
//!
//! ```text
//!  63 ─ 21   20       19        18         17          16 ─ 0
//!  version   marked   waiters   resident   exclusive   sharers
//! ```
//!
//! The latch is hybrid (Böttcher et al., *Scalable and Robust Latches*, DaMoN 2020): optimistic readers take nothing
//! and compare the version before and after; an exclusive holder and an eviction each raise it, and never lower it, so
//! equal versions mean that nothing was touched in between. The word of a page never touched is 0: not resident, and
//! latched by no thread.
//!
//! After a short spin a thread parks, because the holder may be off the processor. A waiter sets *waiters* and sleeps
//! only if the word, re-read under the parking lot's bucket lock, still has the bit and still blocks it; a holder that
//! releases the latch and sees the bit wakes a waiter; the bit is cleared only under the same bucket lock when no
//! thread sleeps there any more. So either the sleeper saw the release or the releaser saw the sleeper. A wake-up is
//! meant for a thread that takes the latch, and wakes the next by releasing it; a thread that is woken and does not
//! take it after all, because the page is no longer what it wanted, passes the wake-up on, and optimistic readers,
//! which take nothing, are woken beside the others. New sharers queue behind the waiters of a shared page, so a stream
//! of readers does not starve a writer; no thread takes the same latch twice.
//!
//! *Marked* is the second chance of the eviction clock: the hand sets it, any use of the page clears it, so use costs a
//! store only between two rounds of the hand.

use crate::sync::{
    AtomicU64, DEFAULT_PARK_TOKEN, FilterOp, LATCH_SPINS, Ordering, ParkToken, UnparkToken, Wait, fence,
    park_at, spin_loop, timed, unpark_filter,
};
use crate::threads::THREADS_MAX;

const SHARERS: u64 = (1 << 17) - 1;
const EXCLUSIVE: u64 = 1 << 17;
const RESIDENT: u64 = 1 << 18;
const WAITERS: u64 = 1 << 19;
const MARKED: u64 = 1 << 20;
const VERSION_ONE: u64 = 1 << 21;

/// A thread shares a page at most once, so the count has room for every thread.
const _: () = assert!(SHARERS >= THREADS_MAX as u64);

const WAITS_SHARED: ParkToken = DEFAULT_PARK_TOKEN;
const WAITS_EXCLUSIVE: ParkToken = ParkToken(1);
const WAITS_FOR_STILLNESS: ParkToken = ParkToken(2);

/// How often a page was changed or evicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Version(u64);

/// A page in memory, as it is at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Glance {
    /// To read it under; `None` while a thread has it exclusively.
    pub version: Option<Version>,
    /// Threads that have it latched.
    pub users: u32,
    /// It was not used since the clock's hand came by.
    pub is_marked: bool,
}

/// Why a page cannot be read without waiting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotNow {
    /// Another thread has it exclusively.
    Busy,
    /// It is not in memory.
    Absent,
}

/// The state that a thread waits for.
#[derive(Clone, Copy, PartialEq)]
enum Want {
    /// No exclusive holder.
    Stillness,
    Shared,
    Exclusive,
}

impl Want {
    #[inline]
    fn is_blocked_by(self, word: u64) -> bool {
        match self {
            Want::Stillness => word & EXCLUSIVE != 0,
            Want::Shared => word & EXCLUSIVE != 0 || (word & WAITERS != 0 && word & SHARERS != 0),
            Want::Exclusive => word & (EXCLUSIVE | SHARERS) != 0,
        }
    }
}

#[derive(Default)]
pub struct Latch(AtomicU64);

impl Latch {
    #[inline]
    fn load(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    #[inline]
    fn exchange(&self, old: u64, new: u64) -> bool {
        self.0
            .compare_exchange_weak(old, new, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    #[inline]
    pub fn is_resident(&self) -> bool {
        self.load() & RESIDENT != 0
    }

    /// What the word says at this moment; nothing is waited for, and it is no use of the page. `None` if it is not in memory.
    pub fn glance(&self) -> Option<Glance> {
        let word = self.load();
        (word & RESIDENT != 0).then(|| Glance {
            version: (word & EXCLUSIVE == 0).then_some(Version(word / VERSION_ONE)),
            users: (word & SHARERS) as u32 + u32::from(word & EXCLUSIVE != 0),
            is_marked: word & MARKED != 0,
        })
    }

    /// The version to read under, once no thread changes the page; `None` if it is not in memory.
    #[inline]
    pub fn optimistic(&self) -> Option<Version> {
        loop {
            let word = self.load();
            if word & EXCLUSIVE != 0 {
                self.wait(Want::Stillness);
            } else if word & RESIDENT == 0 {
                return None;
            } else if word & MARKED == 0 || self.exchange(word, word & !MARKED) {
                return Some(Version(word / VERSION_ONE));
            }
        }
    }

    /// The version to read under if no thread changes the page this moment, else why there is none.
    #[inline]
    pub fn try_optimistic(&self) -> Result<Version, NotNow> {
        loop {
            let word = self.load();
            if word & EXCLUSIVE != 0 {
                return Err(NotNow::Busy);
            }
            if word & RESIDENT == 0 {
                return Err(NotNow::Absent);
            }
            if word & MARKED == 0 || self.exchange(word, word & !MARKED) {
                return Ok(Version(word / VERSION_ONE));
            }
        }
    }

    /// Takes the page for itself if it is not in memory and no thread is bringing it in.
    pub fn try_lock_absent(&self) -> bool {
        loop {
            let word = self.load();
            if Want::Exclusive.is_blocked_by(word) || word & RESIDENT != 0 {
                return false;
            }
            if self.exchange(word, word | EXCLUSIVE) {
                fence(Ordering::Release);
                return true;
            }
        }
    }

    /// Whether everything read since `version` was obtained is true.
    #[inline]
    pub fn validate(&self, version: Version) -> bool {
        // Pairs with the release fence of an exclusive acquisition: if any byte read before this fence was written by
        // an exclusive holder, the load after it sees that holder's mark or a later version.
        fence(Ordering::Acquire);
        Self::matches(self.0.load(Ordering::Relaxed), version)
    }

    #[inline]
    fn matches(word: u64, version: Version) -> bool {
        word / VERSION_ONE == version.0 && word & (EXCLUSIVE | RESIDENT) == RESIDENT
    }

    /// Takes a share of a resident page; false, and nothing taken, if it is not resident.
    #[inline]
    pub fn lock_shared(&self) -> bool {
        loop {
            let word = self.load();
            if Want::Shared.is_blocked_by(word) {
                self.wait(Want::Shared);
            } else if word & RESIDENT == 0 {
                return false;
            } else if self.exchange(word, (word + 1) & !MARKED) {
                return true;
            }
        }
    }

    /// Takes a share of the page if it is resident and no thread is in the way.
    #[inline]
    pub fn try_lock_shared(&self) -> bool {
        loop {
            let word = self.load();
            if Want::Shared.is_blocked_by(word) || word & RESIDENT == 0 {
                return false;
            }
            if self.exchange(word, word + 1) {
                return true;
            }
        }
    }

    /// Takes a share if the page is still as it was at `version`.
    #[inline]
    pub fn share_at(&self, version: Version) -> bool {
        loop {
            let word = self.load();
            if !Self::matches(word, version) {
                self.pass_on();
                return false;
            }
            if Want::Shared.is_blocked_by(word) {
                self.wait(Want::Shared);
            } else if self.exchange(word, word + 1) {
                return true;
            }
        }
    }

    /// Takes the page for itself if it is still as it was at `version`.
    #[inline]
    pub fn exclude_at(&self, version: Version) -> bool {
        loop {
            let word = self.load();
            if !Self::matches(word, version) {
                self.pass_on();
                return false;
            }
            if Want::Exclusive.is_blocked_by(word) {
                self.wait(Want::Exclusive);
            } else if self.exchange(word, word | EXCLUSIVE) {
                fence(Ordering::Release);
                return true;
            }
        }
    }

    /// Takes the page for itself, resident or not; says whether it is.
    #[inline]
    pub fn lock_exclusive(&self) -> bool {
        loop {
            let word = self.load();
            if Want::Exclusive.is_blocked_by(word) {
                self.wait(Want::Exclusive);
            } else if self.exchange(word, (word | EXCLUSIVE) & !MARKED) {
                fence(Ordering::Release);
                return word & RESIDENT != 0;
            }
        }
    }

    /// Takes a page that is in memory for itself, if no thread is in the way.
    pub fn try_lock_resident(&self) -> bool {
        let word = self.load();
        if Want::Exclusive.is_blocked_by(word)
            || word & RESIDENT == 0
            || !self.exchange(word, word | EXCLUSIVE)
        {
            return false;
        }
        fence(Ordering::Release);
        true
    }

    /// One step of the eviction clock: marks a page that was used since the last round; takes, exclusively, one that
    /// was not. True if it was taken.
    pub fn take_if_unused(&self) -> bool {
        let word = self.load();
        if word & (EXCLUSIVE | SHARERS | WAITERS) != 0 || word & RESIDENT == 0 {
            return false;
        }
        if word & MARKED == 0 {
            self.exchange(word, word | MARKED);
            return false;
        }
        if self.exchange(word, (word | EXCLUSIVE) & !MARKED) {
            fence(Ordering::Release);
            return true;
        }
        false
    }

    /// Makes the page the clock's next choice. For the exclusive holder.
    pub fn mark_unused(&self) {
        self.0.fetch_or(MARKED, Ordering::Relaxed);
    }

    /// Says that the page is in memory now. For the exclusive holder.
    pub fn set_resident(&self) {
        self.0.fetch_or(RESIDENT, Ordering::Relaxed);
    }

    #[inline]
    pub fn unlock_exclusive(&self) {
        let word = self.0.fetch_add(VERSION_ONE - EXCLUSIVE, Ordering::Release);
        debug_assert!(word & EXCLUSIVE != 0);
        if word & WAITERS != 0 {
            self.wake();
        }
    }

    /// Ends an exclusive hold by saying that the page is not in memory (any more).
    pub fn unlock_evicted(&self) {
        let mut word = self.load();
        loop {
            debug_assert!(word & EXCLUSIVE != 0);
            let new = (word & !(EXCLUSIVE | RESIDENT | MARKED)).wrapping_add(VERSION_ONE);
            match self
                .0
                .compare_exchange_weak(word, new, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        if word & WAITERS != 0 {
            self.wake();
        }
    }

    /// Turns an exclusive hold into a share.
    #[inline]
    pub fn downgrade(&self) {
        let word = self.0.fetch_add(VERSION_ONE - EXCLUSIVE + 1, Ordering::Release);
        debug_assert!(word & EXCLUSIVE != 0);
        if word & WAITERS != 0 {
            self.wake();
        }
    }

    #[inline]
    pub fn unlock_shared(&self) {
        let word = self.0.fetch_sub(1, Ordering::Release);
        debug_assert!(word & SHARERS != 0);
        if word & WAITERS != 0 && word & SHARERS == 1 {
            self.wake();
        }
    }

    #[cold]
    fn wait(&self, want: Want) {
        for _ in 0..LATCH_SPINS {
            if !want.is_blocked_by(self.0.load(Ordering::Relaxed)) {
                return;
            }
            spin_loop();
        }
        let word = self.load();
        if !want.is_blocked_by(word) || (word & WAITERS == 0 && !self.exchange(word, word | WAITERS)) {
            return;
        }
        let token = match want {
            Want::Stillness => WAITS_FOR_STILLNESS,
            Want::Shared => WAITS_SHARED,
            Want::Exclusive => WAITS_EXCLUSIVE,
        };
        let still_blocked = || {
            let word = self.load();
            word & WAITERS != 0 && want.is_blocked_by(word)
        };
        self.park(token, still_blocked);
    }

    #[allow(unsafe_code)]
    fn park(&self, token: ParkToken, still_blocked: impl FnOnce() -> bool) {
        // SAFETY: the key is the address of this latch, which only this module parks on; the closures neither panic
        // nor call into the parking lot.
        timed(Wait::PageLatch, || unsafe {
            park_at(self.key(), still_blocked, || {}, |_, _| {}, token, None);
        });
    }

    fn key(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// For a thread that may have been woken and takes nothing: if no thread holds the latch, no release would wake the
    /// next.
    #[inline]
    fn pass_on(&self) {
        let word = self.load();
        if word & WAITERS != 0 && word & (EXCLUSIVE | SHARERS) == 0 {
            self.wake();
        }
    }

    /// Wakes the first in the queue: one thread that wants the page exclusively, or all sharers up to the next such
    /// thread; and the optimistic readers before and between them.
    #[cold]
    #[allow(unsafe_code)]
    pub(super) fn wake(&self) {
        let mut sharers = 0;
        let mut done = false;
        let filter = |token: ParkToken| {
            if token == WAITS_FOR_STILLNESS {
                return FilterOp::Unpark;
            }
            if done || (token == WAITS_EXCLUSIVE && sharers > 0) {
                return FilterOp::Stop;
            }
            done = token == WAITS_EXCLUSIVE;
            sharers += u32::from(!done);
            FilterOp::Unpark
        };
        // SAFETY: as in `park`.
        unsafe {
            unpark_filter(self.key(), filter, |result| {
                if !result.have_more_threads {
                    self.0.fetch_and(!WAITERS, Ordering::Relaxed);
                }
                UnparkToken(0)
            });
        }
    }
}
