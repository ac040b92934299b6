//! How often the rows of a table were read by each of its indexes, and changed: one copy of the counters per stripe (see
//! [`Striped`](crate::Striped)), made when the table is used first. They begin anew with every change of its definition.

use crate::COUNTED;
use crate::ids::IndexNo;
use crate::striped::{STRIPES, stripe};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters that lie in lines of their own: as many as two lines of 64 bytes have, which processors fetch together.
const ALIGNED: usize = 16;

/// What is counted first; reads by each index follow.
#[derive(Clone, Copy)]
pub(crate) enum Change {
    Inserted,
    Updated,
    Deleted,
}

const READ_WITHOUT_INDEX: usize = 3;
const READ_BY_INDEX: usize = 4;

/// What was done with the rows of a table since its definition was read or changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableUsage {
    /// Rows inserted.
    pub inserted: u64,
    /// Rows updated.
    pub updated: u64,
    /// Rows deleted.
    pub deleted: u64,
    /// Rows read in scans of the whole table.
    pub read_without_index: u64,
    /// Rows read by each index.
    pub read_by_index: Vec<u64>,
}

pub(crate) struct Usage {
    indexes: usize,
    counters: OnceLock<Box<[AtomicU64]>>,
}

impl Usage {
    pub fn new(indexes: usize) -> Usage {
        Usage {
            indexes,
            counters: OnceLock::new(),
        }
    }

    fn stride(&self) -> usize {
        (READ_BY_INDEX + self.indexes).next_multiple_of(ALIGNED)
    }

    #[cold]
    fn make(&self) -> Box<[AtomicU64]> {
        (0..STRIPES * self.stride()).map(|_| AtomicU64::new(0)).collect()
    }

    #[inline]
    fn add(&self, counter: usize, more: u64) {
        if !COUNTED {
            return;
        }
        let counters = self.counters.get_or_init(|| self.make());
        counters[stripe() * self.stride() + counter].fetch_add(more, Ordering::Relaxed);
    }

    #[inline]
    pub fn changed(&self, change: Change) {
        self.add(change as usize, 1);
    }

    #[inline]
    pub fn read(&self, index: Option<IndexNo>, rows: u64) {
        let counter = match index {
            Some(index) if index < self.indexes => READ_BY_INDEX + index,
            _ => READ_WITHOUT_INDEX,
        };
        self.add(counter, rows);
    }

    /// A row that is counted meanwhile may be lost.
    pub fn begin_anew(&self) {
        let counters = self.counters.get().into_iter().flatten();
        counters.for_each(|counter| counter.store(0, Ordering::Relaxed));
    }

    pub fn sums(&self) -> TableUsage {
        let sum = |counter: usize| match self.counters.get() {
            None => 0,
            Some(counters) => {
                let stripes = counters.chunks(self.stride());
                let of = stripes.map(|stripe| stripe[counter].load(Ordering::Relaxed));
                of.fold(0, u64::wrapping_add)
            }
        };
        TableUsage {
            inserted: sum(Change::Inserted as usize),
            updated: sum(Change::Updated as usize),
            deleted: sum(Change::Deleted as usize),
            read_without_index: sum(READ_WITHOUT_INDEX),
            read_by_index: (0..self.indexes)
                .map(|index| sum(READ_BY_INDEX + index))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_index_is_counted_by_itself() {
        let usage = Usage::new(20);
        assert_eq!(usage.sums().read_by_index, [0; 20]);
        std::thread::scope(|scope| {
            for _ in 0..40 {
                scope.spawn(|| {
                    usage.read(Some(19), 2);
                    usage.read(None, 3);
                    usage.changed(Change::Deleted);
                });
            }
        });
        let sums = usage.sums();
        usage.begin_anew();
        assert_eq!(usage.sums().read_by_index, [0; 20]);
        assert_eq!((sums.read_by_index[19], sums.read_by_index[0]), (80, 0));
        assert_eq!(
            (sums.read_without_index, sums.deleted, sums.updated),
            (120, 40, 0)
        );
    }
}
