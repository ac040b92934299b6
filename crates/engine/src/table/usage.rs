//! How often the rows of a table were read by each of its indexes, and changed, kept apart by thread (see [`Striped`]). They begin anew
//! with every change of its definition.

use crate::ids::IndexNo;
use crate::striped::Striped;
use parking_lot::Mutex;

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
    counters: Striped,
    /// By counter, what is not shown; empty: all is.
    unseen: Mutex<Vec<u64>>,
}

impl Usage {
    pub fn new(indexes: usize) -> Usage {
        Usage {
            indexes,
            counters: Striped::new(READ_BY_INDEX + indexes),
            unseen: Mutex::default(),
        }
    }

    #[inline]
    pub fn changed(&self, change: Change) {
        self.counters.add(change as usize, 1);
    }

    #[inline]
    pub fn read(&self, index: Option<IndexNo>, rows: u64) {
        self.counters.add(self.reads(index), rows);
    }

    #[inline]
    fn reads(&self, index: Option<IndexNo>) -> usize {
        match index {
            Some(index) if index < self.indexes => READ_BY_INDEX + index,
            _ => READ_WITHOUT_INDEX,
        }
    }

    /// All changes that were counted, whether or not they are shown.
    pub fn modifications(&self) -> u64 {
        let kinds = [Change::Inserted, Change::Updated, Change::Deleted];
        kinds.map(|kind| self.counters.sum(kind as usize)).iter().sum()
    }

    /// What [`Usage::sums`] returns begins anew. The counters go on, as they are the threads' that add.
    pub fn begin_anew(&self) {
        let mut unseen = self.unseen.lock();
        *unseen = (0..READ_BY_INDEX + self.indexes)
            .map(|counter| self.counters.sum(counter))
            .collect();
    }

    pub fn sums(&self) -> TableUsage {
        let unseen = self.unseen.lock();
        let sum = |counter: usize| {
            let unseen = unseen.get(counter).copied().unwrap_or(0);
            self.counters.sum(counter).wrapping_sub(unseen)
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
        assert_eq!(usage.sums(), Usage::new(20).sums());
        usage.read(Some(3), 1);
        assert_eq!(usage.sums().read_by_index.iter().sum::<u64>(), 1);
        assert_eq!((sums.read_by_index[19], sums.read_by_index[0]), (80, 0));
        assert_eq!(
            (sums.read_without_index, sums.deleted, sums.updated),
            (120, 40, 0)
        );
    }
}
