//! Counters that every statement adds to, kept apart by thread.
//!
//! A single counter would be a cache line that each core must fetch from another for every statement, and whose every addition must
//! be a locked instruction. Here each thread has a copy of the counters, a *stripe*, on lines of its own; an addition goes to the
//! thread's stripe, and reading sums all of them. Stripes go by the [number](tally::own_number) of the thread, which it alone has
//! while it lives, so it adds with a plain load and store. A thread that takes the number over comes after the one before, and sees
//! what that has stored. Threads beyond [`OWN`] share some more stripes, with locked instructions.
//!
//! Memory for stripes is made in blocks, when the first thread of a block counts: it goes by how many threads there were at one time.
//!
//! ```text
//!   block    0            1                  8, shared
//!          ┌──┬──┬ ─ ┬──┐┌──┬──┬ ─ ┬──┐    ┌──┬──┬ ─ ┬──┐
//!   thread │ 0│ 1│…  │31││32│33│…  │63│ …  │256, 288, 320 …
//!          └──┴──┴ ─ ┴──┘└──┴──┴ ─ ┴──┘    └──┴──┴ ─ ┴──┘
//! ```

use crate::COUNTED;
use crate::tally;
use crossbeam_utils::CachePadded;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

const BLOCK: usize = 32;
/// Threads that do not share a stripe with others.
const OWN: usize = 256;
const SHARED: usize = OWN / BLOCK;
/// Counters that lie in lines of their own: as many as two lines of 64 bytes have, which processors fetch together.
const LINE: usize = 16;

type Line = CachePadded<[AtomicU64; LINE]>;

/// Counters by number, in a stripe for each thread.
pub(crate) struct Striped {
    /// Of a stripe.
    lines: usize,
    /// Of each block the first line of all its stripes, then the second: nothing is multiplied to find one.
    blocks: [OnceLock<Box<[[Line; BLOCK]]>>; SHARED + 1],
}

impl Striped {
    /// So many counters, all 0. They take no memory until they are used.
    pub fn new(counters: usize) -> Striped {
        Striped {
            lines: counters.div_ceil(LINE),
            blocks: [const { OnceLock::new() }; SHARED + 1],
        }
    }

    /// Adds to a counter.
    #[inline]
    pub fn add(&self, counter: usize, more: u64) {
        if !COUNTED {
            return;
        }
        // A thread that is about to end may have given its number back, and shares a stripe.
        let number = tally::own_number().unwrap_or(OWN);
        if number < OWN {
            let own = self.counter(number / BLOCK, number, counter);
            // This thread alone adds. Relaxed: a count says nothing about other memory.
            let sum = own.load(Ordering::Relaxed).wrapping_add(more);
            own.store(sum, Ordering::Relaxed);
        } else {
            self.add_shared(number, counter, more);
        }
    }

    #[cold]
    fn add_shared(&self, number: usize, counter: usize, more: u64) {
        let shared = self.counter(SHARED, number, counter);
        shared.fetch_add(more, Ordering::Relaxed);
    }

    #[inline]
    fn counter(&self, block: usize, number: usize, counter: usize) -> &AtomicU64 {
        let lines = self.blocks[block].get_or_init(|| self.make());
        &lines[counter / LINE][number % BLOCK][counter % LINE]
    }

    #[cold]
    fn make(&self) -> Box<[[Line; BLOCK]]> {
        let stripes = |_| std::array::from_fn(|_| Line::default());
        (0..self.lines).map(stripes).collect()
    }

    /// What has been added to a counter. Never less than before.
    pub fn sum(&self, counter: usize) -> u64 {
        let blocks = self.blocks.iter().filter_map(OnceLock::get);
        let lines = blocks.flat_map(|block| &block[counter / LINE]);
        let of = |line: &Line| line[counter % LINE].load(Ordering::Relaxed);
        lines.map(of).fold(0, u64::wrapping_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn nothing_is_lost_between_threads() {
        let counters = Striped::new(LINE + 1);
        std::thread::scope(|scope| {
            for _ in 0..3 * BLOCK / 2 {
                scope.spawn(|| (0..1000).for_each(|_| counters.add(LINE, 2)));
            }
        });
        assert_eq!(counters.sum(0), 0);
        assert_eq!(counters.sum(LINE), (3 * BLOCK as u64 / 2) * 2000);
    }

    #[test]
    fn nothing_is_lost_by_those_that_share_a_stripe() {
        let (counters, threads) = (Striped::new(1), OWN + 2 * BLOCK);
        let all_there = Barrier::new(threads);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    counters.add(0, 1);
                    all_there.wait();
                    (0..100).for_each(|_| counters.add(0, 1));
                });
            }
        });
        assert_eq!(counters.sum(0), threads as u64 * 101);
        assert!(counters.blocks.iter().all(|block| block.get().is_some()));
    }

    #[test]
    fn nothing_is_lost_by_threads_that_take_a_number_over() {
        let (counters, is_over) = (Striped::new(1), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut before = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let now = counters.sum(0);
                    assert!(now >= before, "{now} after {before}");
                    before = now;
                }
            });
            for _ in 0..200 {
                std::thread::scope(|scope| {
                    for _ in 0..4 {
                        scope.spawn(|| (0..50).for_each(|_| counters.add(0, 1)));
                    }
                });
            }
            is_over.store(true, Ordering::Relaxed);
            reader.join().unwrap();
        });
        assert_eq!(counters.sum(0), 200 * 4 * 50);
    }
}
