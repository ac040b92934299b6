//! Counts of what happens so often that a locked instruction for each would show: page requests, page changes, log records. Rows and ends of
//! transactions, which the engine above counts, are here as well, so that a thread has all of its counts in one place.
//!
//! Each thread adds to a slot of its own with a plain load and store. A slot outlives its thread: the next thread that begins takes
//! it over with what it has counted, so a sum over all slots has each count once, and there are never more slots than there
//! were threads at one time. The counts are of the process, whatever stores it has open.
//!
//! Slots are numbered from 0 on, and the lowest free one is taken, so that others who keep something by thread can go by the
//! [number](own_number).

use crate::COUNTED;
use crossbeam_utils::CachePadded;
use parking_lot::Mutex;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A page was asked of the pool.
    PageRequest,
    /// A row was shown by a consistent read.
    RowRead,
    /// A record went into the log.
    LogRecord,
    /// A mini-transaction has changed a page.
    PageChange,
    /// A transaction that has written was committed.
    Commit,
    /// A row was inserted.
    RowInserted,
    /// A row was updated.
    RowUpdated,
    /// A row was deleted.
    RowDeleted,
    /// A transaction that has written was rolled back.
    Rollback,
    /// A page was taken into use.
    PageCreated,
}

const EVENTS: usize = Event::PageCreated as usize + 1;

type Slot = CachePadded<Numbered>;

/// The most frequent events lie in one cache line with the number.
#[repr(C)]
struct Numbered {
    number: usize,
    counts: [AtomicU64; EVENTS],
}

impl Numbered {
    const fn new(number: usize) -> Numbered {
        Numbered {
            number,
            counts: [const { AtomicU64::new(0) }; EVENTS],
        }
    }
}

#[derive(Default)]
struct Slots {
    all: Vec<&'static Slot>,
    /// Those of threads that have ended.
    free: Vec<&'static Slot>,
}

static SLOTS: Mutex<Slots> = Mutex::new(Slots {
    all: Vec::new(),
    free: Vec::new(),
});

/// What threads count in that have given their slot back already, and that others may use at the same time.
static LATE: Slot = CachePadded::new(Numbered::new(usize::MAX));

/// Gives the thread's slot back when the thread ends.
struct Return;

impl Drop for Return {
    fn drop(&mut self) {
        if let Some(slot) = OWN.take() {
            SLOTS.lock().free.push(slot);
        }
    }
}

thread_local! {
    // Without a destructor, so that its use is one load and no check.
    static OWN: Cell<Option<&'static Slot>> = const { Cell::new(None) };
    static RETURN: Return = const { Return };
}

/// Counts one event of this thread.
#[inline]
pub fn count(event: Event, more: u64) {
    if !COUNTED {
        return;
    }
    match OWN.get() {
        Some(slot) => {
            let counter = &slot.counts[event as usize];
            // This thread alone adds. Relaxed: a count says nothing about other memory.
            let now = counter.load(Ordering::Relaxed).wrapping_add(more);
            counter.store(now, Ordering::Relaxed);
        }
        None => count_first(event, more),
    }
}

#[cold]
fn count_first(event: Event, more: u64) {
    match begin() {
        Some(_) => count(event, more),
        None => drop(LATE.counts[event as usize].fetch_add(more, Ordering::Relaxed)),
    }
}

/// The number of this thread: no other has it as long as this one lives. A thread that takes it over comes after all that this one
/// has done, since both hold the lock of the slots meanwhile. `None` as the thread ends: it may have given its number back.
#[inline]
pub fn own_number() -> Option<usize> {
    match OWN.get() {
        Some(slot) => Some(slot.number),
        None => begin().map(|slot| slot.number),
    }
}

/// Gives this thread a slot, unless it has given one back already.
#[cold]
fn begin() -> Option<&'static Slot> {
    RETURN.try_with(|_| ()).ok()?;
    let mut slots = SLOTS.lock();
    let lowest = (0..slots.free.len()).min_by_key(|at| slots.free[*at].number);
    let slot = match lowest {
        Some(at) => slots.free.swap_remove(at),
        None => {
            let new = CachePadded::new(Numbered::new(slots.all.len()));
            let new: &'static Slot = Box::leak(Box::new(new));
            slots.all.push(new);
            new
        }
    };
    OWN.set(Some(slot));
    Some(slot)
}

/// How often it has happened, in all threads.
pub fn sum(event: Event) -> u64 {
    let slots = SLOTS.lock();
    let all = slots.all.iter().copied().chain([&LATE]);
    all.map(|slot| slot.counts[event as usize].load(Ordering::Relaxed))
        .fold(0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_threads_have_counted_is_kept_and_their_slots_are_used_again() {
        let before = sum(Event::PageCreated);
        for _ in 0..100 {
            std::thread::spawn(|| (0..10).for_each(|_| count(Event::PageCreated, 1)))
                .join()
                .unwrap();
        }
        // Other tests may be counting meanwhile.
        assert!(sum(Event::PageCreated) >= before + 1000);
        assert!(SLOTS.lock().all.len() < 100);
    }

    #[test]
    fn threads_that_live_at_one_time_have_different_numbers() {
        let barrier = std::sync::Barrier::new(20);
        let numbers: Vec<usize> = std::thread::scope(|scope| {
            let number = || {
                barrier.wait();
                let own = own_number().unwrap();
                barrier.wait();
                own
            };
            let threads: Vec<_> = (0..20).map(|_| scope.spawn(number)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let different: std::collections::BTreeSet<_> = numbers.iter().collect();
        assert_eq!(different.len(), 20);
    }
}
