//! Counters of what transactions did, kept apart by thread (see [`Striped`]).

use crate::striped::{OwnStripe, Striped};

/// What is counted.
#[derive(Clone, Copy)]
pub(crate) enum Counter {
    /// Commits of transactions that have written.
    Commits,
    /// Rollbacks of transactions that have written.
    Rollbacks,
    RowsRead,
    RowsInserted,
    RowsUpdated,
    RowsDeleted,
}

const COUNTERS: usize = Counter::RowsDeleted as usize + 1;

/// The counters of an engine.
pub(crate) struct Counters(Striped);

impl Default for Counters {
    fn default() -> Counters {
        Counters(Striped::new(COUNTERS))
    }
}

impl Counters {
    #[inline]
    pub fn add(&self, counter: Counter, more: u64) {
        self.0.add(counter as usize, more);
    }

    #[inline]
    pub fn add_in(&self, thread: OwnStripe, counter: Counter, more: u64) {
        self.0.add_in(thread, counter as usize, more);
    }

    pub fn sum(&self, counter: Counter) -> u64 {
        self.0.sum(counter as usize)
    }
}
