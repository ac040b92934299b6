//! What threads wait for, and how long.
//!
//! Whoever lets a thread sleep, or has it ask the disk, does so within [`timed`]. The time is counted for the [`Waits`] that the
//! thread is [counting for](count_for), those of the session that it serves, else for [`background`]. The clock is read only
//! where a thread waits anyhow; one that finds what it needs pays nothing.
//!
//! Counts since the start never go back: others are derived from them. What is shown to people can begin anew
//! ([`Waits::begin_anew`]), leave kinds of waits out ([`set_counted`]) or those of single sessions ([`Waits::watch`]), and have the last waits
//! one by one ([`keep`]); but for those of a session these switches are the process's, whatever engines it has.

use crate::{COUNTED, Tick};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The latch of a page that another thread has.
    PageLatch,
    /// Pages from the disk.
    PageRead,
    /// Pages on their way to the disk, with their copies and syncs.
    PageWrite,
    /// A place in memory for a page.
    FreeFrame,
    /// Room in the log, or in its buffer.
    LogRoom,
    /// The log's bytes on their way to the operating system.
    LogWrite,
    /// The log's bytes on their way to the disk.
    LogSync,
    /// Another thread that writes or syncs the log for this one, too.
    LogGroup,
    /// The lock of a row or a gap.
    RowLock,
    /// Purge, which is so far behind that changes are delayed.
    PurgeLag,
    /// The definition of a table, a lock on it as a whole, or one of GET_LOCK.
    MetadataLock,
    /// The client's next command.
    ClientRead,
    /// The client, until it takes what is sent to it.
    ClientWrite,
    /// The mutex of the museum's kernel.
    #[cfg(feature = "museum")]
    KernelMutex,
    /// The mutex of the museum's list of writers.
    #[cfg(feature = "museum")]
    TrxSys,
    /// The locks of the museum's array of writers.
    #[cfg(feature = "museum")]
    ProcArray,
}

impl Wait {
    /// All of them, in the order of their values.
    pub const ALL: [Wait; 13 + 3 * cfg!(feature = "museum") as usize] = [
        Wait::PageLatch,
        Wait::PageRead,
        Wait::PageWrite,
        Wait::FreeFrame,
        Wait::LogRoom,
        Wait::LogWrite,
        Wait::LogSync,
        Wait::LogGroup,
        Wait::RowLock,
        Wait::PurgeLag,
        Wait::MetadataLock,
        Wait::ClientRead,
        Wait::ClientWrite,
        #[cfg(feature = "museum")]
        Wait::KernelMutex,
        #[cfg(feature = "museum")]
        Wait::TrxSys,
        #[cfg(feature = "museum")]
        Wait::ProcArray,
    ];
}

/// Waits of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitSum {
    /// How many there were.
    pub count: u64,
    /// How long they took together.
    pub nanos: u64,
    /// The shortest of them; 0 if there were none.
    pub least_nanos: u64,
    /// The longest of them.
    pub most_nanos: u64,
}

impl WaitSum {
    /// Counts one more.
    #[inline]
    pub fn count_one(&mut self, nanos: u64) {
        let is_least = self.count == 0 || nanos < self.least_nanos;
        if is_least {
            self.least_nanos = nanos;
        }
        self.count += 1;
        self.nanos = self.nanos.wrapping_add(nanos);
        self.most_nanos = self.most_nanos.max(nanos);
    }

    /// Adds others of the kind.
    pub fn add(&mut self, other: &WaitSum) {
        if other.count == 0 {
            return;
        }
        self.least_nanos = match self.count {
            0 => other.least_nanos,
            _ => self.least_nanos.min(other.least_nanos),
        };
        self.count += other.count;
        self.nanos = self.nanos.wrapping_add(other.nanos);
        self.most_nanos = self.most_nanos.max(other.most_nanos);
    }
}

/// Durations of one kind, as one or several threads have counted them. Two kinds share a cache line.
#[derive(Debug)]
pub(crate) struct Timed {
    count: AtomicU64,
    nanos: AtomicU64,
    least_nanos: AtomicU64,
    most_nanos: AtomicU64,
}

/// Of durations of one kind, what is not shown.
#[derive(Debug)]
pub(crate) struct Unseen {
    count: AtomicU64,
    nanos: AtomicU64,
}

impl Timed {
    const fn new() -> Timed {
        Timed {
            count: AtomicU64::new(0),
            nanos: AtomicU64::new(0),
            least_nanos: AtomicU64::new(u64::MAX),
            most_nanos: AtomicU64::new(0),
        }
    }

    /// Counts one that is not to be shown, or without its time.
    #[cold]
    fn add_unseen(&self, unseen: &Unseen, nanos: u64, is_counted: bool) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
        unseen.nanos.fetch_add(nanos, Ordering::Relaxed);
        if !is_counted {
            unseen.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What is shown begins anew. One that is counted at the same time may be in the old figures in part.
    pub(crate) fn begin_anew(&self, unseen: &Unseen) {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        unseen.count.store(load(&self.count), Ordering::Relaxed);
        unseen.nanos.store(load(&self.nanos), Ordering::Relaxed);
        self.least_nanos.store(u64::MAX, Ordering::Relaxed);
        self.most_nanos.store(0, Ordering::Relaxed);
    }

    /// What is shown.
    pub(crate) fn shown(&self, unseen: &Unseen) -> WaitSum {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let least = load(&self.least_nanos);
        WaitSum {
            count: load(&self.count).saturating_sub(load(&unseen.count)),
            nanos: load(&self.nanos).saturating_sub(load(&unseen.nanos)),
            least_nanos: if least == u64::MAX { 0 } else { least },
            most_nanos: load(&self.most_nanos),
        }
    }

    /// Counts one. Relaxed, as the counts stand for nothing but themselves; whoever reads in between may see a count without
    /// its time.
    pub(crate) fn add(&self, nanos: u64) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
        self.least_nanos.fetch_min(nanos, Ordering::Relaxed);
        self.most_nanos.fetch_max(nanos, Ordering::Relaxed);
    }

    /// Counts one where this thread alone counts, without locked instructions.
    #[inline]
    fn add_alone(&self, nanos: u64) {
        let set = |counter: &AtomicU64, to: u64| counter.store(to, Ordering::Relaxed);
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        set(&self.count, of(&self.count) + 1);
        set(&self.nanos, of(&self.nanos).wrapping_add(nanos));
        if nanos < of(&self.least_nanos) {
            set(&self.least_nanos, nanos);
        }
        if nanos > of(&self.most_nanos) {
            set(&self.most_nanos, nanos);
        }
    }

    /// All of them together.
    pub(crate) fn sum(&self) -> WaitSum {
        let count = self.count.load(Ordering::Relaxed);
        WaitSum {
            count,
            nanos: self.nanos.load(Ordering::Relaxed),
            least_nanos: match count {
                0 => 0,
                _ => self.least_nanos.load(Ordering::Relaxed),
            },
            most_nanos: self.most_nanos.load(Ordering::Relaxed),
        }
    }
}

impl Default for Timed {
    fn default() -> Timed {
        Timed::new()
    }
}

impl Unseen {
    const fn new() -> Unseen {
        Unseen {
            count: AtomicU64::new(0),
            nanos: AtomicU64::new(0),
        }
    }
}

impl Default for Unseen {
    fn default() -> Unseen {
        Unseen::new()
    }
}

/// Waits that are kept of a session: `performance_schema_events_waits_history_size`.
pub const RECENT_MAX: usize = 10;
/// Waits that are kept of all: `performance_schema_events_waits_history_long_size`.
pub const RECENT_OF_ALL_MAX: usize = 10_000;

/// A single wait.
#[derive(Clone, Copy, Debug)]
pub struct Waited {
    /// Counts those of its session that were kept, from 1 on.
    pub number: u64,
    /// What was waited for.
    pub wait: Wait,
    /// When it was over.
    pub until: Tick,
    /// How long it took, in nanoseconds.
    pub nanos: u64,
}

/// The last waits, one by one.
#[derive(Debug)]
struct Recent {
    waits: VecDeque<Waited>,
    last: u64,
}

/// Waits by kind, as one or several threads have counted them. The two that each command has, for the client, are in one cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Waits {
    /// Switches that are its own.
    own: AtomicU64,
    /// The number of the session, for those that are kept of all.
    session: AtomicU64,
    _apart: [u64; 2],
    timed: [Timed; Wait::ALL.len()],
    unseen: [Unseen; Wait::ALL.len()],
    recent: Mutex<Recent>,
}

const _: () = {
    const fn line(wait: Wait) -> usize {
        (std::mem::offset_of!(Waits, timed) + size_of::<Timed>() * wait as usize) / 64
    }
    assert!(line(Wait::ClientRead) == line(Wait::ClientWrite));
};

/// The switches, in one word for all and one for those that count together: a bit by kind for those that are not shown, from [`UNTIMED`] on one
/// for those shown without their times, and two for where single waits are kept, unless they are [`NOT_KEPT`]. All are 0 unless somebody has
/// asked for something else.
static SWITCHES: AtomicU64 = AtomicU64::new(0);
const UNTIMED: u32 = 16;
const KEPT_OF_SESSION: u64 = 1 << 32;
const KEPT_OF_ALL: u64 = 1 << 33;
const KEPT: u64 = KEPT_OF_SESSION | KEPT_OF_ALL;
const NOT_KEPT: u64 = 1 << 34;
/// Those that are single sessions' own mean nothing.
const ALIKE: u64 = 1 << 35;
/// A session has, or had, switches of its own: as long as none has, nobody looks for them.
const ANY_OWN: u64 = 1 << 36;
const ALL_KINDS: u64 = (1 << Wait::ALL.len()) - 1;
const _: () = assert!(Wait::ALL.len() <= UNTIMED as usize);
static RECENT_OF_ALL: Mutex<VecDeque<(u64, Waited)>> = Mutex::new(VecDeque::new());

fn switch(bits: u64, on: bool) {
    match on {
        true => SWITCHES.fetch_or(bits, Ordering::Relaxed),
        false => SWITCHES.fetch_and(!bits, Ordering::Relaxed),
    };
}

/// Whether waits of a kind are shown, and with their times.
pub fn set_counted(wait: Wait, counted: bool, timed: bool) {
    let bit = 1 << wait as u32;
    switch(bit, !counted);
    switch(bit << UNTIMED, !timed);
}

/// Whether single waits are kept, of each session and of all. What was kept before stays.
pub fn keep(of_session: bool, of_all: bool) {
    switch(KEPT_OF_SESSION, of_session);
    switch(KEPT_OF_ALL, of_all);
}

/// Whether what [`Waits::watch`] says holds.
pub fn tell_apart(on: bool) {
    switch(ALIKE, !on);
}

/// The last waits of all, the oldest first, each with the number of its session.
pub fn recent_of_all() -> Vec<(u64, Waited)> {
    RECENT_OF_ALL.lock().iter().copied().collect()
}

/// Forgets the last waits of all.
pub fn forget_recent_of_all() {
    RECENT_OF_ALL.lock().clear();
}

impl Waits {
    /// None so far.
    pub const fn new() -> Waits {
        Waits {
            own: AtomicU64::new(0),
            session: AtomicU64::new(0),
            _apart: [0; 2],
            timed: [const { Timed::new() }; Wait::ALL.len()],
            unseen: [const { Unseen::new() }; Wait::ALL.len()],
            recent: Mutex::new(Recent {
                waits: VecDeque::new(),
                last: 0,
            }),
        }
    }

    /// Those of a session.
    pub fn of_session(number: u64) -> Waits {
        let waits = Waits::new();
        waits.session.store(number, Ordering::Relaxed);
        waits
    }

    /// Whether these waits are shown, and kept one by one where others are.
    pub fn watch(&self, shown: bool, kept: bool) {
        let hidden = if shown { 0 } else { ALL_KINDS };
        let not_kept = if kept { 0 } else { NOT_KEPT };
        let own = hidden | not_kept;
        self.own.store(own, Ordering::Relaxed);
        if own != 0 {
            switch(ANY_OWN, true);
        }
    }

    /// Counts one that took so many nanoseconds.
    pub fn add(&self, wait: Wait, nanos: u64) {
        self.count(wait, nanos, Timed::add);
    }

    /// Counts one where this thread alone counts.
    #[inline]
    fn add_alone(&self, wait: Wait, nanos: u64) {
        self.count(wait, nanos, Timed::add_alone);
    }

    #[inline]
    fn count(&self, wait: Wait, nanos: u64, add: impl FnOnce(&Timed, u64)) {
        let switches = SWITCHES.load(Ordering::Relaxed);
        let of_kind = (1 | 1 << UNTIMED) << wait as u32;
        if switches & (of_kind | KEPT | ANY_OWN) != 0 {
            return self.count_switched(wait, nanos, switches | self.own.load(Ordering::Relaxed));
        }
        add(&self.timed[wait as usize], nanos);
    }

    /// Counts one while something is switched otherwise than at the start.
    #[cold]
    fn count_switched(&self, wait: Wait, nanos: u64, mut switches: u64) {
        if switches & ALIKE != 0 {
            switches = SWITCHES.load(Ordering::Relaxed);
        }
        let timed = &self.timed[wait as usize];
        let bit = 1 << wait as u32;
        if switches & (bit | bit << UNTIMED) != 0 {
            return timed.add_unseen(&self.unseen[wait as usize], nanos, switches & bit == 0);
        }
        timed.add(nanos);
        if switches & KEPT != 0 && switches & NOT_KEPT == 0 {
            self.keep(wait, nanos, switches);
        }
    }

    fn keep(&self, wait: Wait, nanos: u64, switches: u64) {
        fn put<T>(recent: &mut VecDeque<T>, len_max: usize, waited: T) {
            if recent.len() == len_max {
                recent.pop_front();
            }
            recent.push_back(waited);
        }
        let mut recent = self.recent.lock();
        recent.last += 1;
        let waited = Waited {
            number: recent.last,
            wait,
            until: Tick::now(),
            nanos,
        };
        if switches & KEPT_OF_SESSION != 0 {
            put(&mut recent.waits, RECENT_MAX, waited);
        }
        drop(recent);
        if switches & KEPT_OF_ALL != 0 {
            let session = self.session.load(Ordering::Relaxed);
            put(&mut RECENT_OF_ALL.lock(), RECENT_OF_ALL_MAX, (session, waited));
        }
    }

    /// The last of them, the oldest first, if they are [kept](keep).
    pub fn recent(&self) -> Vec<Waited> {
        self.recent.lock().waits.iter().copied().collect()
    }

    /// Forgets the last of them.
    pub fn forget_recent(&self) {
        self.recent.lock().waits.clear();
    }

    /// Those of one kind, as they are shown.
    pub fn shown(&self, wait: Wait) -> WaitSum {
        self.timed[wait as usize].shown(&self.unseen[wait as usize])
    }

    /// What is shown of one kind begins anew.
    pub fn begin_kind_anew(&self, wait: Wait) {
        self.timed[wait as usize].begin_anew(&self.unseen[wait as usize]);
    }

    /// What is shown begins anew.
    pub fn begin_anew(&self) {
        let kinds = self.timed.iter().zip(&self.unseen);
        kinds.for_each(|(timed, unseen)| timed.begin_anew(unseen));
    }

    /// How long those of one kind took together.
    #[inline]
    pub fn nanos(&self, wait: Wait) -> u64 {
        self.timed[wait as usize].nanos.load(Ordering::Relaxed)
    }

    /// Those of one kind.
    pub fn of(&self, wait: Wait) -> WaitSum {
        self.timed[wait as usize].sum()
    }
}

impl Default for Waits {
    fn default() -> Waits {
        Waits::new()
    }
}

static BACKGROUND: Waits = Waits::new();

thread_local! {
    static OWN: RefCell<Option<Arc<Waits>>> = const { RefCell::new(None) };
}

/// The waits of threads that count for nobody else: of the process, whatever engines it has.
pub fn background() -> &'static Waits {
    &BACKGROUND
}

/// What this thread waits for is counted here from now on; with `None`, among those of the [`background`]. No other thread counts
/// there at the same time.
pub fn count_for(waits: Option<Arc<Waits>>) {
    OWN.set(waits);
}

/// Does what may let the thread wait, and counts the time.
#[inline]
pub fn timed<T>(wait: Wait, f: impl FnOnce() -> T) -> T {
    Series::default().timed(wait, f)
}

/// Waits in a row, with what lies between them: where one thing ends and the next begins, the clock is read once.
#[derive(Debug, Default)]
pub struct Series {
    /// When the wait begins that comes next, if something ended at that moment whose end was looked up. What is given here before
    /// a wait becomes when that has ended.
    pub moment: Option<Tick>,
    /// Whose they are; with `None` those of the thread that waits.
    waits: Option<Arc<Waits>>,
}

impl Series {
    /// The waits from now on are counted here. Only the thread that is [counting for](count_for) the same may wait.
    pub fn count_for(&mut self, waits: Arc<Waits>) {
        self.waits = Some(waits);
    }

    /// Does what may let the thread wait, and counts the time.
    #[inline]
    pub fn timed<T>(&mut self, wait: Wait, f: impl FnOnce() -> T) -> T {
        if !COUNTED {
            return f();
        }
        let began = self.moment.unwrap_or_else(Tick::now);
        let done = f();
        let ended = Tick::now();
        self.moment = self.moment.map(|_| ended);
        let nanos = ended.nanos_since(began);
        match &self.waits {
            Some(own) => own.add_alone(wait, nanos),
            None => count(wait, nanos),
        }
        done
    }
}

fn count(wait: Wait, nanos: u64) {
    OWN.with_borrow(|own| match own {
        Some(own) => own.add_alone(wait, nanos),
        None => BACKGROUND.add(wait, nanos),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn kinds_are_numbered_as_they_are_listed() {
        for (at, wait) in Wait::ALL.iter().enumerate() {
            assert_eq!(*wait as usize, at);
        }
    }

    #[test]
    fn a_wait_is_counted_for_whom_the_thread_works() {
        let waits = Arc::new(Waits::new());
        count_for(Some(waits.clone()));
        for ms in [3, 1] {
            timed(Wait::RowLock, || std::thread::sleep(Duration::from_millis(ms)));
        }
        count_for(None);
        timed(Wait::RowLock, || ());
        let sum = waits.of(Wait::RowLock);
        assert_eq!(sum.count, 2);
        assert!(sum.least_nanos >= 1_000_000 && sum.most_nanos >= 3_000_000 && sum.nanos >= 4_000_000);
        assert_eq!(waits.of(Wait::LogSync), WaitSum::default());
    }

    #[test]
    fn what_is_shown_begins_anew_and_leaves_out_what_is_off() {
        let waits = Waits::of_session(5);
        let add = |nanos| waits.add(Wait::PurgeLag, nanos);
        add(7);
        waits.begin_anew();
        assert_eq!(waits.shown(Wait::PurgeLag), WaitSum::default());
        add(3);
        set_counted(Wait::PurgeLag, false, true);
        add(50);
        set_counted(Wait::PurgeLag, true, false);
        add(60);
        set_counted(Wait::PurgeLag, true, true);
        let shown = waits.shown(Wait::PurgeLag);
        assert_eq!((shown.count, shown.nanos, shown.most_nanos), (2, 3, 3));
        let all = waits.of(Wait::PurgeLag);
        assert_eq!((all.count, all.nanos), (4, 120));
    }

    #[test]
    fn the_last_waits_are_kept_where_they_are_asked_for() {
        let waits = Waits::of_session(6);
        waits.add(Wait::FreeFrame, 1);
        assert!(waits.recent().is_empty());
        keep(true, true);
        (0..15).for_each(|n| waits.add(Wait::FreeFrame, n));
        keep(false, false);
        waits.add(Wait::FreeFrame, 99);
        let numbers: Vec<u64> = waits.recent().iter().map(|waited| waited.number).collect();
        assert_eq!(numbers, (6..=15).collect::<Vec<_>>());
        let own = recent_of_all()
            .iter()
            .filter(|(session, _)| *session == 6)
            .count();
        assert_eq!(own, 15);
        waits.forget_recent();
        forget_recent_of_all();
        assert!(waits.recent().is_empty());
    }

    #[test]
    fn a_session_that_is_not_watched_shows_nothing() {
        let waits = Waits::of_session(7);
        waits.add(Wait::LogRoom, 3);
        waits.watch(false, true);
        waits.add(Wait::LogRoom, 50);
        waits.watch(true, true);
        waits.add(Wait::LogRoom, 4);
        let shown = waits.shown(Wait::LogRoom);
        assert_eq!((shown.count, shown.nanos, shown.most_nanos), (2, 7, 4));
        assert_eq!(waits.of(Wait::LogRoom).count, 3);
    }

    #[test]
    fn the_shortest_of_several_sums_is_one_that_was() {
        let of = |nanos: &[u64]| {
            let mut sum = WaitSum::default();
            nanos.iter().for_each(|nanos| sum.count_one(*nanos));
            sum
        };
        let mut sum = WaitSum::default();
        for other in [of(&[5]), of(&[]), of(&[7, 2]), of(&[9])] {
            sum.add(&other);
        }
        assert_eq!(
            sum,
            WaitSum {
                count: 4,
                nanos: 23,
                least_nanos: 2,
                most_nanos: 9
            }
        );
    }
}
