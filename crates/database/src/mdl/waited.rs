//! How often and how long sessions have waited for each table's lock, for `performance_schema.table_lock_waits_summary_by_table`. Only a session that
//! has to wait counts; one that gets the lock at once touches nothing of this.

use super::{Holder, TableLock, WaitPolicy};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Waits of one kind for one lock; times in nanoseconds.
#[derive(Default)]
pub(super) struct Waited {
    count: AtomicU64,
    sum: AtomicU64,
    /// The shortest, plus one; 0 before there is any.
    least: AtomicU64,
    most: AtomicU64,
}

/// Waits that are over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitSums {
    /// How many.
    pub count: u64,
    /// All of them together, in nanoseconds.
    pub nanos: u64,
    /// The shortest.
    pub nanos_min: u64,
    /// The longest.
    pub nanos_max: u64,
}

impl WaitSums {
    /// Those of both.
    pub fn with(self, other: WaitSums) -> WaitSums {
        let nanos_min = match (self.count, other.count) {
            (0, _) => other.nanos_min,
            (_, 0) => self.nanos_min,
            _ => self.nanos_min.min(other.nanos_min),
        };
        WaitSums {
            count: self.count + other.count,
            nanos: self.nanos + other.nanos,
            nanos_min,
            nanos_max: self.nanos_max.max(other.nanos_max),
        }
    }
}

impl Waited {
    fn add(&self, waited: Duration) {
        let nanos = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX - 1);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(nanos, Ordering::Relaxed);
        self.most.fetch_max(nanos, Ordering::Relaxed);
        let shorter = |least: u64| (least == 0 || nanos < least - 1).then_some(nanos + 1);
        let _ = self
            .least
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, shorter);
    }

    fn sums(&self) -> WaitSums {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        WaitSums {
            count: of(&self.count),
            nanos: of(&self.sum),
            nanos_min: of(&self.least).saturating_sub(1),
            nanos_max: of(&self.most),
        }
    }

    fn begin_anew(&self) {
        for counter in [&self.count, &self.sum, &self.least, &self.most] {
            counter.store(0, Ordering::Relaxed);
        }
    }
}

impl TableLock {
    /// Database and name of what it locks.
    pub fn names(&self) -> (&str, &str) {
        (&self.key.schema, &self.key.name)
    }

    /// Waits to read the table, or to keep writers off it; and those to write it or to have it alone.
    pub fn waits(&self) -> [WaitSums; 2] {
        [self.waited[0].sums(), self.waited[1].sums()]
    }

    /// TRUNCATE of the summary.
    pub fn forget_waits(&self) {
        self.waited.iter().for_each(Waited::begin_anew);
    }
}

impl Holder {
    /// Counts the wait that is over, if there was one.
    #[cold]
    pub(super) fn tell_wait(&self, lock: &Arc<TableLock>, writes: bool, policy: &WaitPolicy<'_>) {
        let since = self.waits_since.lock().take();
        let Some(since) = since else {
            return;
        };
        let [counted, timed] = policy.waiter.counts(lock);
        if counted {
            let took = if timed { since.elapsed() } else { Duration::ZERO };
            lock.waited[usize::from(writes)].add(took);
        }
    }
}
