//! Counters that every statement adds to, kept apart by thread.
//!
//! A single counter would be a cache line that each core must fetch from another for every statement. Here threads are
//! spread over some copies of the counters, each on lines of its own; an addition goes to the thread's copy, and
//! reading sums all of them. Two threads may share a copy, so its counters are atomic all the same.

use crate::COUNTED;
use crossbeam_utils::CachePadded;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// As many as cores are likely to add at once.
pub(crate) const STRIPES: usize = 32;

/// A set of counters, `C`, in several copies.
#[derive(Default)]
pub struct Striped<C>([CachePadded<C>; STRIPES]);

static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static OWN: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The number of the copies that this thread adds to.
#[inline]
pub(crate) fn stripe() -> usize {
    let mut at = OWN.get();
    if at == usize::MAX {
        at = NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES;
        OWN.set(at);
    }
    at
}

impl<C> Striped<C> {
    /// The copy to add to.
    #[inline]
    pub fn own(&self) -> &C {
        &self.0[stripe()]
    }

    /// Adds to one of the counters in the thread's copy.
    #[inline]
    pub(crate) fn add(&self, counter: impl Fn(&C) -> &AtomicU64, more: u64) {
        if COUNTED {
            counter(self.own()).fetch_add(more, Ordering::Relaxed);
        }
    }

    /// What has been added to one of the counters.
    pub fn sum(&self, counter: impl Fn(&C) -> &AtomicU64) -> u64 {
        self.0
            .iter()
            .map(|stripe| counter(stripe).load(Ordering::Relaxed))
            .fold(0, u64::wrapping_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_between_threads() {
        let counters: Striped<[AtomicU64; 2]> = Striped::default();
        std::thread::scope(|scope| {
            for _ in 0..3 * STRIPES / 2 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        counters.own()[1].fetch_add(2, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(counters.sum(|c| &c[0]), 0);
        assert_eq!(counters.sum(|c| &c[1]), (3 * STRIPES as u64 / 2) * 2000);
    }
}
