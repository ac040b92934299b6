//! The B+tree over pages of the pool.
//!
//! ```text
//!               root (never moves)                     level 2
//!              /        |         \
//!         inner       inner        inner               level 1   entries: key → child
//!        /  |  \      /  |  \     /  |  \
//!      leaf leaf … ………………………………… leaf leaf             level 0   entries: key → value
//! ```
//!
//! **Going down** takes no latch (*optimistic lock coupling*, Leis et al. 2019): an inner node is read as it is, and
//! its version, checked once the child's version is known, tells whether what was read was true. Only the leaf is
//! latched, shared or exclusive, and once it is, its parent is checked a last time: from then on the leaf is
//! the one that covers the key, since no thread can move its fences without its latch.
//!
//! **Changing the shape** ([split](Tree::split), [merge](Tree::merge), growing and shrinking the root) is a
//! mini-transaction of its own, apart from the change that needed it, so that neither a crash nor a rollback ever has
//! to undo one. It latches exclusively from the top down and, among siblings, from left to right.
//!
//! **No deadlock**, by two rules. Latches are waited for top-down and left to right only; and a thread that holds a leaf
//! does not wait for an inner node: looking for the next leaf with this one in hand ([`LeafRead::next_held`]) gives
//! up when an inner node is being changed.
//!
//! **Scans** know no sibling pointers. The upper fence of a leaf is a key of the next one, so the next leaf is one
//! descent away, whatever happened in between.
//!
//! The files: `node` the page, `op` its changes in the log, `racy` reading without a latch, `leaf` the handles,
//! `split`, `merge`, `append` the shape, `scan` walking the leaves, `estimate` counting roughly, `overflow` large values,
//! `free` dropping a tree, `inspect` what the pool's pages hold, `verify` trusting nothing.

mod append;
mod estimate;
mod free;
mod inspect;
mod leaf;
mod lenient;
mod merge;
mod node;
mod op;
mod overflow;
mod racy;
mod scan;
mod split;
mod verify;

#[cfg(test)]
mod node_fuzz;
#[cfg(test)]
mod node_tests;
#[cfg(test)]
mod stress;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

pub use append::Append;
pub use estimate::LeafSample;
pub use inspect::{PageContent, PageInPool, page_in};
pub use leaf::{Full, LeafRead, LeafWrite};
pub use node::{MAX_ENTRY_LEN, MAX_KEY_LEN, Node, PageBytes, entry_size};
pub use op::register;
pub use overflow::{OVERFLOW_CAPACITY, Overflow, overflow_owner};
pub use scan::NextLeaf;
pub use verify::{Visitor, verify_overflow};

use crate::error::{Error, Result};
use crate::failpoint;
use crate::ids::{IndexId, PageId};
use crate::log::MtrLsn;
use crate::pool::{OptimisticGuard, Pool, page_type};
use crate::store::{Mtr, Store};
use node::Towards;
use op::TreeOp;
use racy::RacyNode;

/// A tree deeper than this is not one of ours: at two children per node it would have more pages than can exist.
const LEVELS_MAX: usize = 32;

/// An ordered map from byte strings to byte strings, in pages.
#[derive(Clone)]
pub struct Tree {
    store: Arc<Store>,
    index: IndexId,
    root: PageId,
    /// Changes wait for no room in the log; see [`Tree::urgent`].
    urgent: bool,
    /// See [`Tree::leaves_added`].
    leaves_added: Arc<AtomicI64>,
}

/// Where a descent ended: above the page it was looking for.
struct NodeInParent<'t> {
    /// The parent as it was when the page was found in it; `None` if the page is the root.
    parent: Option<OptimisticGuard<'t>>,
    page: PageId,
}

/// What a descent does at an inner node that another thread is changing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    Wait,
    GiveUp,
}

impl Tree {
    /// The tree whose root is `root`.
    #[inline]
    pub fn new(store: Arc<Store>, index: IndexId, root: PageId) -> Tree {
        Tree {
            store,
            index,
            root,
            urgent: false,
            leaves_added: Arc::default(),
        }
    }

    /// How many leaves have come since the tree was opened, less those that have gone: whoever remembers the number learns
    /// from one load how much the tree has grown. Counted where a handle's clones change the shape, and nowhere else.
    #[inline]
    pub fn leaves_added(&self) -> i64 {
        self.leaves_added.load(Ordering::Relaxed)
    }

    /// Adds to [`leaves_added`](Self::leaves_added).
    pub fn count_leaves(&self, added: i64) {
        self.leaves_added.fetch_add(added, Ordering::Relaxed);
    }

    /// Makes an empty tree, as part of the caller's mini-transaction, and returns its root. Allocating takes the lock
    /// on free space until the commit, so the caller latches what else it needs before.
    pub fn create(mtr: &mut Mtr<'_>, index: IndexId) -> Result<PageId> {
        let page = mtr.alloc_page(page_type::TREE, 0)?;
        let root = mtr.id(page);
        mtr.apply(
            page,
            &TreeOp::Format {
                page_type: page_type::TREE,
                level: 0,
                index: index.0,
                lower: b"",
                upper: b"",
            },
        );
        Ok(root)
    }

    /// A handle on the same tree for changes that make room, above all by undoing: they do not wait for room in the
    /// log.
    pub fn urgent(&self) -> Tree {
        Tree {
            urgent: true,
            ..self.clone()
        }
    }

    /// An empty tree in scratch pages: not logged, and gone after a restart.
    pub fn scratch(store: &Arc<Store>, index: IndexId) -> Result<Tree> {
        let mut mtr = store.begin_scratch_mtr();
        let root = Tree::create(&mut mtr, index)?;
        mtr.commit();
        Ok(Tree::new(store.clone(), index, root))
    }

    #[inline]
    fn begin_mtr(&self) -> Result<Mtr<'_>> {
        if self.root.is_scratch() {
            Ok(self.store.begin_scratch_mtr())
        } else if self.urgent {
            self.store.begin_urgent_mtr()
        } else {
            self.store.begin_mtr()
        }
    }

    /// The store that the tree lies in.
    #[inline]
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The number that every page of the tree bears.
    #[inline]
    pub fn index(&self) -> IndexId {
        self.index
    }

    /// The page where every descent begins; it never moves.
    #[inline]
    pub fn root(&self) -> PageId {
        self.root
    }

    #[inline]
    fn pool(&self) -> &Pool {
        self.store.pool()
    }

    fn corrupt(&self, page: PageId, what: &str) -> Error {
        Error::corrupt(page, format!("tree {}: {what}", self.index))
    }

    /// Goes down to just above the node of `level` that `towards` leads to. `None` if told to give up, or if the tree
    /// is not, or no longer, that high.
    fn descend(
        &self,
        towards: Towards<'_>,
        level: u8,
        patience: Patience,
    ) -> Result<Option<NodeInParent<'_>>> {
        loop {
            match self.try_descend(towards, level, patience)? {
                Descent::Arrived(place) => return Ok(Some(place)),
                Descent::Changed => std::hint::spin_loop(),
                Descent::Busy | Descent::TooLow => return Ok(None),
            }
        }
    }

    /// One attempt at [`Tree::descend`].
    #[inline]
    fn try_descend(&self, towards: Towards<'_>, level: u8, patience: Patience) -> Result<Descent<'_>> {
        let Some(mut guard) = self.look(self.root, patience)? else {
            return Ok(Descent::Busy);
        };
        let mut page = self.root;
        let mut node_level = racy(&guard).level();
        let is_tree = racy(&guard).page_type() == page_type::TREE;
        if guard.validate().is_err() {
            return Ok(Descent::Changed);
        }
        if !is_tree || node_level as usize >= LEVELS_MAX {
            return Err(self.corrupt(page, "the root is no node of a tree"));
        }
        if node_level < level {
            return Ok(Descent::TooLow);
        }
        if node_level == level {
            return Ok(Descent::Arrived(NodeInParent { parent: None, page }));
        }
        loop {
            let step = racy(&guard).step(towards);
            if guard.validate().is_err() {
                return Ok(Descent::Changed);
            }
            let Ok(step) = step else {
                return Err(self.corrupt(page, "an inner node makes no sense"));
            };
            let child = PageId(step.child);
            if node_level - 1 == level {
                return Ok(Descent::Arrived(NodeInParent {
                    parent: Some(guard),
                    page: child,
                }));
            }
            let Some(next) = self.look(child, patience)? else {
                return Ok(Descent::Busy);
            };
            let fits = racy(&next).level() == node_level - 1 && racy(&next).page_type() == page_type::TREE;
            if guard.validate().is_err() || next.validate().is_err() {
                return Ok(Descent::Changed);
            }
            if !fits {
                return Err(self.corrupt(child, "a child is not a node of the level below its parent's"));
            }
            (guard, page, node_level) = (next, child, node_level - 1);
        }
    }

    #[inline]
    fn look(&self, page: PageId, patience: Patience) -> Result<Option<OptimisticGuard<'_>>> {
        match patience {
            Patience::Wait => self.pool().optimistic(page).map(Some),
            Patience::GiveUp => self.pool().try_optimistic(page),
        }
    }

    /// After the leaf is latched: is it what the descent was for?
    #[inline]
    fn still_there(&self, place: &NodeInParent<'_>, node: Node<'_>) -> Result<bool> {
        let Some(parent) = &place.parent else {
            // The root may have grown since.
            return Ok(node.is_leaf());
        };
        if parent.validate().is_err() {
            return Ok(false);
        }
        if node.page_type() != page_type::TREE || !node.is_leaf() || node.index() != self.index.0 {
            return Err(self.corrupt(place.page, "a child is not a leaf of this tree"));
        }
        Ok(true)
    }

    fn leaf_towards(&self, towards: Towards<'_>, steps: u32) -> Result<LeafRead<'_>> {
        loop {
            let Some(place) = self.descend(towards, 0, Patience::Wait)? else {
                continue;
            };
            self.read_ahead(&place, towards, steps);
            let guard = self.pool().shared(place.page)?;
            if self.still_there(&place, Node::new(&guard))? {
                return Ok(LeafRead::new(self, guard, steps));
            }
        }
    }

    /// The leaf that covers `key`, to look at.
    #[inline]
    pub fn read(&self, key: &[u8]) -> Result<LeafRead<'_>> {
        self.read_in_scan(key, 0)
    }

    /// Like [`Self::read`], for a scan that has read `steps` leaves already.
    #[inline]
    pub fn read_in_scan(&self, key: &[u8], steps: u32) -> Result<LeafRead<'_>> {
        self.leaf_towards(Towards::Key(key), steps)
    }

    /// The leaf that covers the keys just below `key`.
    #[inline]
    pub fn read_below(&self, key: &[u8]) -> Result<LeafRead<'_>> {
        self.read_below_in_scan(key, 0)
    }

    /// Like [`read_below`](Self::read_below), for a scan that has come through `steps` leaves.
    pub fn read_below_in_scan(&self, key: &[u8], steps: u32) -> Result<LeafRead<'_>> {
        if key.is_empty() {
            return self.read(key);
        }
        self.leaf_towards(Towards::Below(key), steps)
    }

    /// The last leaf.
    #[inline]
    pub fn read_last(&self) -> Result<LeafRead<'_>> {
        self.leaf_towards(Towards::End, 0)
    }

    /// The leaf that covers `key`, to change.
    pub fn write(&self, key: &[u8]) -> Result<LeafWrite<'_>> {
        // The mini-transaction first: it may wait for room in the log, which no thread may do with a latch in hand.
        let mut mtr = self.begin_mtr()?;
        loop {
            let Some(place) = self.descend(Towards::Key(key), 0, Patience::Wait)? else {
                continue;
            };
            let guard = self.pool().exclusive(place.page)?;
            if self.still_there(&place, Node::new(&guard))? {
                let page = mtr.add(guard);
                failpoint::reach("pages");
                return Ok(LeafWrite::new(self, mtr, page));
            }
        }
    }

    /// Inserts or replaces, in a mini-transaction of its own: for trees without versions.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<MtrLsn> {
        loop {
            let mut leaf = self.write(key)?;
            let done = match leaf.node().search(key) {
                Ok(slot) => leaf.replace(slot, value),
                Err(slot) => leaf.insert(slot, key, value),
            };
            match done {
                Ok(()) => return Ok(leaf.finish()),
                Err(Full) => {
                    drop(leaf);
                    self.split(key, value.len())?;
                }
            }
        }
    }

    /// Removes a key, in a mini-transaction of its own: for trees without versions. `None` if it was not there.
    pub fn delete(&self, key: &[u8]) -> Result<Option<MtrLsn>> {
        let mut leaf = self.write(key)?;
        let Ok(slot) = leaf.node().search(key) else {
            return Ok(None);
        };
        leaf.remove(slot);
        let sparse = leaf.is_sparse();
        let lsn = leaf.finish();
        if sparse {
            // The key is gone; that its leaf stays sparse is no reason to say otherwise.
            let _ = self.merge(key);
        }
        Ok(Some(lsn))
    }
}

enum Descent<'t> {
    Arrived(NodeInParent<'t>),
    /// Something on the way changed; try again.
    Changed,
    /// Something on the way is being changed, and we do not wait.
    Busy,
    /// The tree has no such level.
    TooLow,
}

/// The page under an optimistic guard, for reading what may be torn.
#[allow(unsafe_code)]
fn racy<'g>(guard: &'g OptimisticGuard<'_>) -> RacyNode<'g> {
    // SAFETY: frames are aligned to the system's pages and stay readable for the life of the pool, which the guard
    // borrows; what a page leaves behind when it is evicted meanwhile is another's bytes.
    unsafe { RacyNode::new(guard.as_ptr()) }
}
