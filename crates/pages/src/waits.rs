//! What threads wait for, and how long.
//!
//! Whoever lets a thread sleep, or has it ask the disk, does so within [`timed`]. The time is counted for the [`Waits`] that the
//! thread is [counting for](count_for), those of the session that it serves, else for [`background`]. The clock is read only
//! where a thread waits anyhow; one that finds what it needs pays nothing.

use crate::COUNTED;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

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

/// A duration in nanoseconds, without the 128 bits that `as_nanos` computes in.
#[inline]
pub fn nanos_of(took: Duration) -> u64 {
    took.as_secs() * 1_000_000_000 + u64::from(took.subsec_nanos())
}

/// Durations of one kind, as one or several threads have counted them.
#[derive(Debug)]
pub(crate) struct Timed {
    count: AtomicU64,
    nanos: AtomicU64,
    least_nanos: AtomicU64,
    most_nanos: AtomicU64,
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

    /// Counts one. Relaxed, as the counts stand for nothing but themselves; whoever reads in between may see a count without
    /// its time.
    pub(crate) fn add(&self, took: Duration) {
        let nanos = nanos_of(took);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
        self.least_nanos.fetch_min(nanos, Ordering::Relaxed);
        self.most_nanos.fetch_max(nanos, Ordering::Relaxed);
    }

    /// Counts one where this thread alone counts, without locked instructions.
    #[inline]
    fn add_alone(&self, took: Duration) {
        let nanos = nanos_of(took);
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

/// Waits by kind, as one or several threads have counted them.
#[derive(Debug)]
pub struct Waits([Timed; Wait::ALL.len()]);

impl Waits {
    /// None so far.
    pub const fn new() -> Waits {
        Waits([const { Timed::new() }; Wait::ALL.len()])
    }

    /// Counts one.
    pub fn add(&self, wait: Wait, took: Duration) {
        self.0[wait as usize].add(took);
    }

    /// How long those of one kind took together.
    #[inline]
    pub fn nanos(&self, wait: Wait) -> u64 {
        self.0[wait as usize].nanos.load(Ordering::Relaxed)
    }

    /// Those of one kind.
    pub fn of(&self, wait: Wait) -> WaitSum {
        self.0[wait as usize].sum()
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
    timed_since(wait, &mut None, f)
}

/// The same of a wait in a row of moments: `moment` is when the wait begins, if that is known, and then becomes when it has
/// ended, so that the clock is read once for what lies side by side.
#[inline]
pub fn timed_since<T>(wait: Wait, moment: &mut Option<Instant>, f: impl FnOnce() -> T) -> T {
    if !COUNTED {
        return f();
    }
    let is_known = moment.is_some();
    let began = moment.unwrap_or_else(Instant::now);
    let done = f();
    let ended = Instant::now();
    *moment = is_known.then_some(ended);
    count(wait, ended.saturating_duration_since(began));
    done
}

fn count(wait: Wait, took: Duration) {
    OWN.with_borrow(|own| match own {
        Some(own) => own.0[wait as usize].add_alone(took),
        None => BACKGROUND.add(wait, took),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_shortest_of_several_sums_is_one_that_was() {
        let one = |nanos| WaitSum {
            count: 1,
            nanos,
            least_nanos: nanos,
            most_nanos: nanos,
        };
        let mut sum = WaitSum::default();
        for other in [one(5), WaitSum::default(), one(2), one(9)] {
            sum.add(&other);
        }
        assert_eq!(
            sum,
            WaitSum {
                count: 3,
                nanos: 16,
                least_nanos: 2,
                most_nanos: 9
            }
        );
    }
}
