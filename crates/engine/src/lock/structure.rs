//! Models InnoDB's lock structures.
//!
//! In InnoDB, the locks of one kind that a transaction has on the records of one page are one structure with a bit for
//! each record; a request that had to wait is a structure of its own, and stays one. Two visible things depend on them:
//! the weight of a transaction when a deadlock's victim is chosen, and the order of the locks on a record, which is the
//! order in which their structures were created or granted. Here an index counts as one page, which is true of small
//! tables.

use super::IndexLocks;
use super::mode::LockType;
use crate::ids::IndexId;
use std::sync::atomic::Ordering;

#[derive(Default)]
pub(super) struct Structures(Vec<Structure>);

struct Structure {
    index: IndexId,
    want: LockType,
    /// Its place in the index's order.
    place: u64,
    waits: bool,
}

impl Structures {
    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The place of the structure for a lock that is granted at once: the latest of its kind, or a new one.
    pub fn of(&mut self, index: &IndexLocks, want: LockType) -> u64 {
        let latest = self.0.iter().rev();
        let mut alike = latest.filter(|s| s.index == index.index && s.want == want && !s.waits);
        match alike.next() {
            Some(structure) => structure.place,
            None => self.add(index, want, false),
        }
    }

    /// Creates a structure and returns its place; a request that `waits` has one of its own.
    pub fn add(&mut self, index: &IndexLocks, want: LockType, waits: bool) -> u64 {
        let place = index.structures.fetch_add(1, Ordering::Relaxed);
        self.0.push(Structure {
            index: index.index,
            want,
            place,
            waits,
        });
        place
    }

    /// Gives the structure of a request that has stopped waiting the latest place of all, and returns that.
    pub fn end_wait(&mut self, index: &IndexLocks, place: u64) -> u64 {
        let new = index.structures.fetch_add(1, Ordering::Relaxed);
        let waited = self
            .0
            .iter_mut()
            .find(|s| s.index == index.index && s.place == place);
        if let Some(structure) = waited {
            structure.place = new;
            structure.waits = false;
        }
        new
    }
}
