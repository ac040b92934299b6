//! An index of an open table, and what becomes of it when the definition changes.
//!
//! A new definition gets a new handle. An index that is in both is *carried over*: tree, lock counters, graveyard and the moment
//! from which on views know it stay the same, so a view that was opened before the change goes on reading through it. Only
//! through an index that came with the change can such a view read nothing: the index has no entries of older versions.

use super::building::Building;
use super::deleted::Graveyard;
use crate::ids::{IndexId, IndexNo, Lsn, TableId};
use crate::lock::IndexLocks;
use crate::mvcc::View;
use crate::tree::Tree;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Of an index whose definition is not committed yet.
const FRESH: u64 = u64::MAX;

pub(crate) struct Index {
    pub id: IndexId,
    pub tree: Tree,
    pub locks: Arc<IndexLocks>,
    /// Deleted entries that only old views need.
    pub graveyard: Arc<Graveyard>,
    /// No two rows share its own parts, unless one of those is NULL. The clustered index is unique.
    pub unique: bool,
    /// The index is not in the definition yet: it is being built, and writers maintain it.
    pub building: Option<Arc<Building>>,
    /// Views older than this do not know the index.
    defined: AtomicU64,
    /// Rows per key of its first parts, as they were sampled.
    sampled: Mutex<Vec<Sampled>>,
    /// About how many leaves the tree had, when so many had been added.
    leaves: Mutex<Option<(i64, u64)>>,
}

/// How many rows share the first `parts` parts, while the tree has about as many leaves as when they were sampled.
struct Sampled {
    parts: usize,
    size: SizeRange,
    rows: f64,
}

/// Sizes of a tree, in leaves added since it was opened.
#[derive(Clone, Copy, Debug)]
pub struct SizeRange {
    from: i64,
    to: i64,
}

impl SizeRange {
    /// From where the index has shrunk by `1 / shrunk` of its leaves to where it has grown by `1 / grown`.
    pub(super) fn around(index: &Index, shrunk: i64, grown: i64) -> SizeRange {
        let (added, leaves) = index.count_leaves();
        let leaves = i64::try_from(leaves).unwrap_or(i64::MAX / 4);
        SizeRange {
            from: added - leaves / shrunk,
            to: added.saturating_add((leaves / grown).max(1)),
        }
    }

    /// Whether a tree's size is one of these. One load.
    #[inline]
    pub(super) fn has(&self, tree: &Tree) -> bool {
        (self.from..self.to).contains(&tree.leaves_added())
    }
}

/// What was sampled lapses when an index has grown, or shrunk, by one in so many leaves.
const SAMPLE_LAPSES: i64 = 4;

impl Index {
    pub fn new(table: TableId, no: IndexNo, tree: Tree, unique: bool) -> Index {
        Index {
            id: tree.index(),
            locks: IndexLocks::new(tree.index(), table, no),
            graveyard: Arc::new(Graveyard::new(&tree, no == 0)),
            tree,
            unique,
            building: None,
            defined: AtomicU64::new(FRESH),
            sampled: Mutex::default(),
            leaves: Mutex::default(),
        }
    }

    /// The same index under another definition of its table, which may give it another number.
    pub fn carried_over(&self, no: IndexNo) -> Index {
        let locks = match self.locks.no == no {
            true => self.locks.clone(),
            false => IndexLocks::new(self.id, self.locks.table, no),
        };
        Index {
            id: self.id,
            tree: self.tree.clone(),
            locks,
            graveyard: self.graveyard.clone(),
            unique: self.unique,
            building: None,
            defined: AtomicU64::new(self.defined.load(Ordering::Relaxed)),
            sampled: Mutex::default(),
            leaves: Mutex::default(),
        }
    }

    /// Rows per key of the first parts as they were sampled, if the tree has about as many leaves as then.
    pub fn sampled(&self, parts: usize) -> Option<f64> {
        let sampled = self.sampled.lock();
        let known = sampled
            .iter()
            .find(|known| known.parts == parts && known.size.has(&self.tree));
        known.map(|known| known.rows)
    }

    /// How many leaves have been added to the tree, and about how many it has: at least 1. As long as none comes or goes the number is
    /// remembered, as it follows from the nodes above them.
    fn count_leaves(&self) -> (i64, u64) {
        let added = self.tree.leaves_added();
        let known = self.leaves.lock().filter(|(then, _)| *then == added);
        known.unwrap_or_else(|| {
            let found = (added, self.tree.estimate_leaves().unwrap_or(1).max(1));
            *self.leaves.lock() = Some(found);
            found
        })
    }

    /// Remembers rows per key that were sampled just now.
    pub fn remember(&self, parts: usize, rows: f64) {
        let size = SizeRange::around(self, SAMPLE_LAPSES, SAMPLE_LAPSES);
        let mut sampled = self.sampled.lock();
        sampled.retain(|known| known.parts != parts);
        sampled.push(Sampled { parts, size, rows });
    }

    /// No view of before may read through the index any more: it is as one that comes with the definition.
    pub fn forget_defined(&mut self) {
        self.defined = AtomicU64::new(FRESH);
    }

    /// The definition is committed: views older than `at` do not know the index, if it came with that definition.
    pub fn set_defined(&self, at: Lsn) {
        let new = Ordering::Release;
        let _ = self.defined.compare_exchange(FRESH, at.0, new, Ordering::Relaxed);
    }

    /// Whether the view can read through the index.
    #[inline]
    pub fn is_known_to(&self, view: &View) -> bool {
        let defined = self.defined.load(Ordering::Relaxed);
        view.lsn.0 >= defined || defined == FRESH
    }
}
