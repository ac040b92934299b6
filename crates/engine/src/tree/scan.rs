//! From leaf to leaf, by the fences.
//!
//! Letting go of a leaf before taking the next one is safe because the fence is a key, not an address: whatever split
//! or merged in between, the leaf that covers the fence is where the scan goes on, at the first entry not below it
//! (forwards) or after the last entry below it (backwards).
//!
//! A caller who must not miss what happens between two leaves (a locking scan, an insert that looks for the lock on the
//! gap's upper end) asks for the next leaf while holding this one.

use super::leaf::{LeafRead, LeafWrite};
use super::node::{Node, Towards};
use super::{Patience, Tree};
use crate::error::Result;

/// The leaf to the right of one that is held.
pub enum NextLeaf<'t> {
    Leaf(LeafRead<'t>),
    /// There is none.
    End,
    /// The tree is being changed on the way there: let go of the leaf and start over.
    Busy,
}

impl<'t> LeafRead<'t> {
    /// Lets go of this leaf and takes the next one; answers it and the slot of its first entry that this leaf's range
    /// does not cover. `fence` is the caller's buffer, so that walking many leaves allocates nothing.
    pub fn next(self, fence: &mut Vec<u8>) -> Result<Option<(LeafRead<'t>, usize)>> {
        fence.clear();
        fence.extend_from_slice(self.node().upper_fence());
        if fence.is_empty() {
            return Ok(None);
        }
        let tree = self.tree;
        drop(self);
        let leaf = tree.read(fence)?;
        let slot = leaf.node().search(fence).unwrap_or_else(|slot| slot);
        Ok(Some((leaf, slot)))
    }

    /// Lets go of this leaf and takes the one before it; answers it and the number of its entries that lie below this
    /// leaf's range.
    pub fn previous(self, fence: &mut Vec<u8>) -> Result<Option<(LeafRead<'t>, usize)>> {
        fence.clear();
        fence.extend_from_slice(self.node().lower_fence());
        if fence.is_empty() {
            return Ok(None);
        }
        let tree = self.tree;
        drop(self);
        let leaf = tree.read_below(fence)?;
        let count = leaf.node().search(fence).unwrap_or_else(|slot| slot);
        Ok(Some((leaf, count)))
    }

    /// The next leaf, with this one still in hand.
    pub fn next_held(&self) -> Result<NextLeaf<'t>> {
        self.tree.leaf_right_of(self.node())
    }
}

impl<'t> LeafWrite<'t> {
    /// The next leaf, shared, with this one still in hand.
    pub fn next_held(&self) -> Result<NextLeaf<'t>> {
        self.tree.leaf_right_of(self.node())
    }
}

impl Tree {
    /// `node` is latched by the caller, so its upper fence stays the lower fence of its right neighbour.
    ///
    /// The neighbour is latched by way of its version: what was found in the parent may be freed, and be a leaf
    /// somewhere to the left, by the time we would get a latch on it, and waiting for that one might be for ever. A
    /// page at the version that its parent was validated after is none of those.
    fn leaf_right_of(&self, node: Node<'_>) -> Result<NextLeaf<'_>> {
        const ATTEMPTS: usize = 64;
        let fence = node.upper_fence();
        if fence.is_empty() {
            return Ok(NextLeaf::End);
        }
        for attempt in 0..ATTEMPTS {
            if let Some(place) = self.descend(Towards::Key(fence), 0, Patience::GiveUp)?
                && let Some(leaf) = self.pool().try_optimistic(place.page)?
                && place
                    .parent
                    .as_ref()
                    .is_none_or(|parent| parent.validate().is_ok())
                && let Ok(guard) = leaf.into_shared()
                && self.still_there(&place, Node::new(&guard))?
            {
                return Ok(NextLeaf::Leaf(LeafRead::new(self, guard)));
            }
            if attempt >= ATTEMPTS / 4 {
                std::thread::yield_now();
            }
        }
        Ok(NextLeaf::Busy)
    }

    /// Calls `f` with every entry from `from` on until it answers false, leaf by leaf, without a latch between leaves.
    pub fn for_each(&self, from: &[u8], mut f: impl FnMut(&[u8], &[u8]) -> Result<bool>) -> Result<()> {
        let mut fence = Vec::new();
        let mut leaf = self.read(from)?;
        let mut slot = leaf.node().search(from).unwrap_or_else(|slot| slot);
        loop {
            for slot in slot..leaf.node().count() {
                let (key, value) = leaf.node().entry(slot);
                if !f(key, value)? {
                    return Ok(());
                }
            }
            match leaf.next(&mut fence)? {
                Some(next) => (leaf, slot) = next,
                None => return Ok(()),
            }
        }
    }
}
