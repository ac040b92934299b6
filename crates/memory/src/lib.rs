//! How much memory the process has, and how much of it each thread took: an allocator that counts.
//!
//! A statement's memory is spread over its syntax tree, its plan, rows, keys, texts and buffers. To count at each of
//! these places is to forget some, so it is counted where all of them meet, in the allocator. Counting never makes an
//! allocation fail, which would end the process: the code that runs a statement asks between rows whether it is over its
//! limits ([`check`]), and asks before it makes something large ([`reserve`]).
//!
//! ```text
//!                 thread 1                   thread 2
//!  allocate  ──▶  used += n                  used += n           a thread's own, without a lock
//!                   │  told lags by at most    │
//!                   ▼  QUANTUM                 ▼
//!                 ───────── PROCESS: sum of what was told ─────  one atomic addition every QUANTUM bytes
//! ```
//!
//! Memory may be freed by another thread than took it. A thread's own count then strays, and may be negative, but the
//! sum stays right: so limits of the process are compared with the sum, and limits of a statement with what its thread's
//! count rose by since it began, a time too short to stray far. What a thread had not told is told when it ends.
//!
//! What a session keeps between its statements is held against the same numbers ([`hold`], `session`), and memory that the system refuses
//! does not end the process at once (`emergency`).
//!
//! Not counted are mapped files, stacks, and the buffer pool, which is one mapping of a fixed size.
//!
//! ```
//! use tidemark_memory::{Counting, Limit, begin_statement, check, statement_bytes};
//!
//! #[global_allocator]
//! static ALLOCATOR: Counting = Counting::new();
//!
//! # fn main() {
//! begin_statement(Limit { bytes: 1 << 20, name: "statement_memory" });
//! let text = vec![b'a'; 2 << 20];
//! assert!(statement_bytes() >= 2 << 20);
//! assert_eq!(check().unwrap_err().0.name, "statement_memory");
//! drop(text);
//! assert!(check().is_ok());
//! # }
//! ```

mod emergency;
mod marks;
mod session;
mod threads;

use marks::Marks;
pub use marks::Used;
pub use session::{HELD_FREELY, SessionMemory, begin_session, held_bytes, hold};
pub use threads::thread_used;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

/// By how many bytes a thread's count may differ from what the process knows of it.
pub const QUANTUM: i64 = 64 << 10;

/// Blocks from this size on are mapped by themselves, and go back to the system when they are freed.
const MAPPED_FROM: libc::c_int = 1 << 20;

/// A heap's free end is given back to the system from this size on.
const TRIMMED_FROM: libc::c_int = 4 << 20;

/// Bytes allocated and not freed, by all threads, as far as they have told; reservations too.
///
/// Relaxed throughout: it is a number to compare with a limit, and guards no other memory.
static PROCESS: AtomicI64 = AtomicI64::new(0);

/// What [`PROCESS`] was at least and at most.
static PROCESS_MARKS: Marks = Marks::new();

/// What [`PROCESS`] should not exceed.
static PROCESS_LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);

/// What [`PROCESS_LIMIT`] is called; read only when it is exceeded.
static PROCESS_LIMIT_NAME: RwLock<&str> = RwLock::new("");

/// The key whose destructor tells the process what an ending thread has not told: 0 before there is one, otherwise the
/// key plus one.
static EXIT_KEY: AtomicU32 = AtomicU32::new(0);

struct Thread {
    /// Bytes allocated less bytes freed, as far as [`PROCESS`] was told.
    told: Cell<i64>,
    /// And since then.
    untold: Cell<i64>,
    /// The most that was used, when it was told, since the running statement began.
    peak: Cell<i64>,
    /// Its place among the threads that are shown; 0: none.
    place: Cell<u32>,
}

impl Thread {
    #[inline]
    fn used(&self) -> i64 {
        self.told.get() + self.untold.get()
    }
}

thread_local! {
    // Constant and without a destructor, so that the allocator may use it at any time in a thread's life.
    static THREAD: Thread = const { Thread {
        told: Cell::new(0),
        untold: Cell::new(0),
        peak: Cell::new(0),
        place: Cell::new(0),
    } };
}

/// The system's allocator, counting.
pub struct Counting(());

impl Counting {
    /// For `#[global_allocator]`. Without it everything here counts nothing, and no limit is ever exceeded.
    pub const fn new() -> Counting {
        Counting(())
    }
}

impl Default for Counting {
    fn default() -> Counting {
        Counting::new()
    }
}

/// What a block of so many bytes takes with the allocator's own, in a heap like glibc's: a word beside it, a multiple of
/// two words, at least four.
#[inline]
fn block_bytes(len: usize) -> i64 {
    ((len + 8 + 15) & !15).max(32) as i64
}

#[inline]
fn count(bytes: i64) {
    // A thread so near its end that it has no locals any more is not counted.
    let _ = THREAD.try_with(|thread| {
        let untold = thread.untold.get() + bytes;
        thread.untold.set(untold);
        if untold.unsigned_abs() >= QUANTUM as u64 {
            tell(thread);
        }
    });
}

#[cold]
fn tell(thread: &Thread) {
    let used = thread.used();
    let more = thread.untold.take();
    let now = PROCESS.fetch_add(more, Ordering::Relaxed) + more;
    PROCESS_MARKS.reach(now);
    thread.told.set(used);
    thread.peak.set(thread.peak.get().max(used));
    threads::show(thread.place.get(), used);
}

/// Allocates after the system has refused to, once for each time that [giving way](emergency::give_way) helps. Counts what it gets.
#[cold]
#[inline(never)]
fn try_again(bytes: usize, more: i64, allocate: &dyn Fn() -> *mut u8) -> *mut u8 {
    let mut tries = 0;
    while emergency::give_way(bytes, tries) {
        let block = allocate();
        if !block.is_null() {
            count(more);
            return block;
        }
        tries += 1;
    }
    ptr::null_mut()
}

// SAFETY: every call is handed on to the system's allocator as it is; the counting between neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is the system's.
        let block = unsafe { System.alloc(layout) };
        let more = block_bytes(layout.size());
        if block.is_null() {
            // SAFETY: as above.
            return try_again(layout.size(), more, &|| unsafe { System.alloc(layout) });
        }
        count(more);
        block
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let block = unsafe { System.alloc_zeroed(layout) };
        let more = block_bytes(layout.size());
        if block.is_null() {
            // SAFETY: as above.
            return try_again(layout.size(), more, &|| unsafe { System.alloc_zeroed(layout) });
        }
        count(more);
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) };
        count(-block_bytes(layout.size()));
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, len: usize) -> *mut u8 {
        // SAFETY: as above.
        let moved = unsafe { System.realloc(block, layout, len) };
        let more = block_bytes(len) - block_bytes(layout.size());
        if moved.is_null() {
            // SAFETY: as above; what could not be moved is where it was.
            return try_again(len, more, &|| unsafe { System.realloc(block, layout, len) });
        }
        count(more);
        moved
    }
}

/// Makes the system's allocator give back what is freed, rather than keep it for the thread that freed it: large blocks
/// at once, the ends of its heaps soon ([`end_statement`] sees to what is between). To be called once, before there are threads.
pub fn give_back_what_is_freed() {
    // SAFETY: sets two parameters of the allocator; no other thread runs yet that could read them.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_FROM);
        libc::mallopt(libc::M_TRIM_THRESHOLD, TRIMMED_FROM);
    }
    emergency::arm();
}

/// The memory that the machine has, or that the control group or the limit of its addresses allows the process, if that is less.
pub fn machine_bytes() -> u64 {
    // SAFETY: asks for two numbers.
    let (pages, page) = unsafe {
        (
            libc::sysconf(libc::_SC_PHYS_PAGES),
            libc::sysconf(libc::_SC_PAGESIZE),
        )
    };
    let of_machine = match (u64::try_from(pages), u64::try_from(page)) {
        (Ok(pages), Ok(page)) => pages.saturating_mul(page),
        _ => u64::MAX,
    };
    // Version 2 and version 1; no limit is a word, or a number beyond all memory.
    let files = [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ];
    let allowed = files
        .iter()
        .filter_map(|file| std::fs::read_to_string(file).ok()?.trim().parse().ok());
    allowed.fold(of_machine.min(emergency::address_limit()), u64::min)
}

/// Has what this thread took counted to the last byte when it ends, and [shown](thread_used) to others until then. Threads of which
/// there are many are to call it once when they begin; of others up to [`QUANTUM`] may stay in the sum.
pub fn thread_begins() {
    extern "C" fn at_exit(_: *mut libc::c_void) {
        let _ = THREAD.try_with(|thread| {
            tell(thread);
            threads::give_back(thread.place.take());
        });
    }
    let key = match EXIT_KEY.load(Ordering::Acquire) {
        0 => {
            let mut key: libc::pthread_key_t = 0;
            // SAFETY: the destructor is a function that lives as long as the process and takes any pointer.
            if unsafe { libc::pthread_key_create(&mut key, Some(at_exit)) } != 0 {
                return;
            }
            match EXIT_KEY.compare_exchange(0, key + 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => key,
                Err(first) => {
                    // SAFETY: no other thread has seen this key.
                    unsafe { libc::pthread_key_delete(key) };
                    first - 1
                }
            }
        }
        key => key - 1,
    };
    // Any value but null makes the destructor run.
    // SAFETY: the key was made above and is never deleted.
    unsafe { libc::pthread_setspecific(key, std::ptr::without_provenance(1)) };
    // Only now: the destructor gives the place back.
    THREAD.with(|thread| {
        if thread.place.get() == 0 {
            thread.place.set(threads::take());
        }
    });
}

/// The place of the calling thread, for [`thread_used`]; 0 if it has not [begun](thread_begins).
pub fn own_place() -> u32 {
    THREAD.with(|thread| thread.place.get())
}

/// Bytes that the process has allocated, to within [`QUANTUM`] for each thread.
pub fn process_bytes() -> u64 {
    u64::try_from(PROCESS.load(Ordering::Relaxed)).unwrap_or(0)
}

/// The same, with what it was at least and at most.
pub fn process_used() -> Used {
    PROCESS_MARKS.used(&PROCESS)
}

/// Process and threads have had least and most what they have now.
pub fn begin_marks_anew() {
    PROCESS_MARKS.begin_anew(PROCESS.load(Ordering::Relaxed));
    threads::begin_marks_anew();
}

/// Whether the process has taken three quarters of its limit: what can do with less memory should.
#[inline]
pub fn is_tight() -> bool {
    let limit = PROCESS_LIMIT.load(Ordering::Relaxed);
    process_bytes() > limit - limit / 4
}

/// A number of bytes that should not be exceeded, and the name by which a user knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The most that may be taken.
    pub bytes: u64,
    /// Whose number it is: a setting's name.
    pub name: &'static str,
}

impl Limit {
    /// No limit.
    pub const NONE: Limit = Limit {
        bytes: u64::MAX,
        name: "",
    };
}

/// What all threads together should not have more of; statements find out by [`check`] and [`reserve`].
pub fn set_process_limit(limit: Limit) {
    *PROCESS_LIMIT_NAME.write().unwrap_or_else(PoisonError::into_inner) = limit.name;
    PROCESS_LIMIT.store(limit.bytes, Ordering::Relaxed);
}

/// The limit of the process.
pub fn process_limit() -> Limit {
    Limit {
        bytes: PROCESS_LIMIT.load(Ordering::Relaxed),
        name: *PROCESS_LIMIT_NAME.read().unwrap_or_else(PoisonError::into_inner),
    }
}

/// The limit that is exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded(pub Limit);

/// Memory that is about to be taken. To be dropped once it has been, since from then on the allocator counts it.
#[derive(Debug)]
pub struct Reservation(i64);

impl Reservation {
    /// Of nothing.
    pub const NONE: Reservation = Reservation(0);
}

impl Drop for Reservation {
    #[inline]
    fn drop(&mut self) {
        if self.0 != 0 {
            PROCESS.fetch_sub(self.0, Ordering::Relaxed);
        }
    }
}

/// Room for one large allocation, if the statement and the process have it: of threads that ask at once only as many get
/// it as there is room for.
pub fn reserve(bytes: u64) -> Result<Reservation, Exceeded> {
    let (began_at, limit) = STATEMENT.get();
    if taken_since(began_at).saturating_add(bytes) > limit.bytes {
        return Err(Exceeded(limit));
    }
    let wanted = i64::try_from(bytes).unwrap_or(i64::MAX / 2);
    let before = PROCESS.fetch_add(wanted, Ordering::Relaxed);
    let reservation = Reservation(wanted);
    if u64::try_from(before.saturating_add(wanted)).unwrap_or(0) > PROCESS_LIMIT.load(Ordering::Relaxed) {
        return Err(Exceeded(process_limit()));
    }
    if emergency::is_starved() || !emergency::has_room(bytes) {
        return Err(refused_by_the_system());
    }
    Ok(reservation)
}

/// The system gives no more, whatever the limits say.
#[cold]
fn refused_by_the_system() -> Exceeded {
    Exceeded(Limit {
        bytes: process_bytes(),
        name: "memory of the system",
    })
}

/// Statements that have taken less than this are not made to pay for what others took.
const SPARED: u64 = 1 << 20;

/// The same of statements of a session that holds more than its share.
const SPARED_LEAST: u64 = 32 << 10;

thread_local! {
    /// The thread's count when its statement began, and the statement's limit.
    static STATEMENT: Cell<(i64, Limit)> = const { Cell::new((0, Limit::NONE)) };
}

#[inline]
fn taken_since(began_at: i64) -> u64 {
    let used = THREAD.with(|thread| thread.used());
    u64::try_from(used - began_at).unwrap_or(0)
}

/// The statement that this thread runs from now on may take so much; [`check`] compares.
#[inline]
pub fn begin_statement(limit: Limit) {
    let used = THREAD.with(|thread| {
        thread.peak.set(thread.used());
        thread.used()
    });
    STATEMENT.set((used, limit));
}

/// A statement that had taken this much leaves heaps behind that are worth giving back.
const TRIM_FROM: i64 = 32 << 20;

/// The statement is over. After one that took much, the free memory inside the heaps is given back to the system, too: it
/// takes some milliseconds, and without it the process keeps what its greediest moment wanted.
#[inline]
pub fn end_statement() {
    let peak = THREAD.with(|thread| thread.peak.get());
    if peak - STATEMENT.get().0 > TRIM_FROM {
        // SAFETY: may be called at any time, by any thread.
        unsafe { libc::malloc_trim(0) };
        begin_statement(Limit::NONE);
    }
}

/// Bytes that this thread has allocated, and not freed, since its statement began.
#[inline]
pub fn statement_bytes() -> u64 {
    taken_since(STATEMENT.get().0)
}

/// Whether the statement that this thread runs has taken too much: more than its limit, or anything worth speaking of
/// while the process has more than its own.
#[inline]
pub fn check() -> Result<(), Exceeded> {
    let (began_at, limit) = STATEMENT.get();
    let taken = taken_since(began_at);
    if taken > limit.bytes {
        return Err(Exceeded(limit));
    }
    if taken > SPARED_LEAST && process_bytes() > PROCESS_LIMIT.load(Ordering::Relaxed) {
        return check_share(taken);
    }
    if taken > SPARED && emergency::is_starved() {
        return Err(refused_by_the_system());
    }
    Ok(())
}

/// The process has more than its limit: true for statements that have taken little, of sessions that hold no more than their share.
#[cold]
fn check_share(taken: u64) -> Result<(), Exceeded> {
    match taken > SPARED || held_bytes() > session::fair_share() {
        true => Err(Exceeded(process_limit())),
        false => Ok(()),
    }
}
