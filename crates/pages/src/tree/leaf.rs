//! Leaves in hand: latched shared to read, latched exclusively inside a mini-transaction to change.

use super::Tree;
use super::node::{CAPACITY, MAX_ENTRY_LEN, MAX_KEY_LEN, Node, NodeMut, entry_size};
use super::op::TreeOp;
use crate::error::{Error, Result};
use crate::ids::PageId;
use crate::log::MtrLsn;
use crate::pool::SharedGuard;
use crate::store::{Mtr, PageHandle};

/// There is no room in the leaf: let go of it, call [`Tree::split`], and come again. (The split is also what refuses
/// an entry that is too large for any leaf.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// A leaf less full than this should be merged with a neighbour.
pub(super) const SPARSE: usize = CAPACITY / 4;

/// A leaf, latched shared. What it lends lives as long as the latch.
pub struct LeafRead<'t> {
    pub(super) tree: &'t Tree,
    guard: SharedGuard<'t>,
    /// How many leaves a scan has come through to this one.
    pub(super) steps: u32,
}

impl<'t> LeafRead<'t> {
    #[inline]
    pub(super) fn new(tree: &'t Tree, guard: SharedGuard<'t>, steps: u32) -> LeafRead<'t> {
        LeafRead { tree, guard, steps }
    }

    /// The page's number.
    pub(super) fn id(&self) -> PageId {
        self.guard.id()
    }

    /// The page: search it, count it, read its entries and fences.
    #[inline]
    pub fn node(&self) -> Node<'_> {
        Node::new(&self.guard)
    }

    /// Prefetches the page into the processor's cache, for a caller that is about to read much of it: entries lie there
    /// in the order in which they were written, so that reading them in key order would miss the cache for one after
    /// the other.
    pub fn warm(&self) {
        const CACHE_LINE: usize = 64;
        let lines = self.guard.iter().step_by(CACHE_LINE);
        std::hint::black_box(lines.fold(0, |all, byte| all ^ byte));
    }

    /// The value of `key`.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let node = self.node();
        node.search(key).ok().map(|slot| node.value(slot))
    }
}

/// A leaf, latched exclusively, and the mini-transaction that changes it. Dropped without a change, it never was.
pub struct LeafWrite<'t> {
    pub(super) tree: &'t Tree,
    mtr: Mtr<'t>,
    page: PageHandle,
}

impl<'t> LeafWrite<'t> {
    #[inline]
    pub(super) fn new(tree: &'t Tree, mtr: Mtr<'t>, page: PageHandle) -> LeafWrite<'t> {
        LeafWrite { tree, mtr, page }
    }

    /// The page: search it, count it, read its entries and fences.
    #[inline]
    pub fn node(&self) -> Node<'_> {
        Node::new(self.mtr.page(self.page))
    }

    /// The page's number.
    pub fn id(&self) -> PageId {
        self.mtr.id(self.page)
    }

    /// Inserts at the slot that [`Node::search`] named.
    pub fn insert(&mut self, slot: usize, key: &[u8], value: &[u8]) -> Result<(), Full> {
        debug_assert!(self.node().covers(key) && self.node().search(key) == Err(slot));
        let too_large = key.len() > MAX_KEY_LEN || key.len() + value.len() > MAX_ENTRY_LEN;
        if too_large || entry_size(key.len(), value.len()) > self.node().free_space() {
            return Err(Full);
        }
        self.mtr.apply(self.page, &TreeOp::Insert { slot, key, value });
        Ok(())
    }

    /// Replaces the value at `slot`; only what differs is logged.
    pub fn replace(&mut self, slot: usize, value: &[u8]) -> Result<(), Full> {
        if !self.replace_fits(slot, value.len()) {
            return Err(Full);
        }
        let op = TreeOp::replace(slot, self.node().value(slot), value);
        if !matches!(op, TreeOp::Replace { middle: [], keep_front, keep_back, .. }
            if keep_front + keep_back == self.node().value(slot).len())
        {
            self.mtr.apply(self.page, &op);
        }
        Ok(())
    }

    /// Replaces `old_len` bytes of the value at `slot`, from `at` on, where the caller knows that only these differ.
    pub fn splice(&mut self, slot: usize, at: usize, old_len: usize, middle: &[u8]) -> Result<(), Full> {
        let len = self.node().value(slot).len();
        if !self.replace_fits(slot, len - old_len + middle.len()) {
            return Err(Full);
        }
        let keep_back = len - at - old_len;
        self.mtr.apply(
            self.page,
            &TreeOp::Replace {
                slot,
                keep_front: at,
                keep_back,
                middle,
            },
        );
        Ok(())
    }

    /// Whether a value of that length may stand at the slot and finds room.
    #[inline]
    pub fn replace_fits(&self, slot: usize, len: usize) -> bool {
        let node = self.node();
        node.key(slot).len() + len <= MAX_ENTRY_LEN && NodeMut::replace_fits(node, slot, len)
    }

    /// Removes the entry at `slot`.
    #[inline]
    pub fn remove(&mut self, slot: usize) {
        self.mtr.apply(self.page, &TreeOp::Remove { slot });
    }

    /// Overwrites bytes of the value at `slot` that mean nothing after a restart; they are not logged.
    pub fn put_unlogged(&mut self, slot: usize, at: usize, bytes: &[u8]) {
        self.mtr.change_unlogged(self.page, |page| {
            let op = TreeOp::Replace {
                slot,
                keep_front: at,
                keep_back: Node::new(page).value(slot).len() - at - bytes.len(),
                middle: bytes,
            };
            let fits = op.change(page);
            debug_assert!(fits, "the length stays");
        });
    }

    /// Replaces the whole content.
    pub(super) fn overwrite(&mut self, image: &TreeOp<'_>) {
        self.mtr.apply(self.page, image);
    }

    /// Frees pages (of an overflow chain, say) together with the change, or none of them if one cannot be. To be called
    /// before any change, since it can fail.
    pub fn free_pages(&mut self, pages: &[PageId]) -> Result<()> {
        self.mtr.free_pages(pages)
    }

    /// Has the leaf become so empty that [`Tree::merge`] should be called once this is finished?
    #[inline]
    pub fn is_sparse(&self) -> bool {
        self.node().used_by_entries() < SPARSE
    }

    /// The mini-transaction, to add notes to.
    #[inline]
    pub fn mtr(&mut self) -> &mut Mtr<'t> {
        &mut self.mtr
    }

    /// Logs what was done and lets go.
    #[inline]
    pub fn finish(self) -> MtrLsn {
        self.mtr.commit()
    }
}

/// Refuses what no page could hold.
pub(super) fn check_size(key_len: usize, value_len: usize) -> Result<()> {
    if key_len > MAX_KEY_LEN {
        return Err(Error::TooLarge {
            bytes: key_len,
            max_bytes: MAX_KEY_LEN,
        });
    }
    if key_len + value_len > MAX_ENTRY_LEN {
        return Err(Error::TooLarge {
            bytes: key_len + value_len,
            max_bytes: MAX_ENTRY_LEN,
        });
    }
    Ok(())
}
