//! From leaf to leaf, by the fences.
//!
//! Letting go of a leaf before taking the next one is safe because the fence is a key, not an address: whatever split
//! or merged in between, the leaf that covers the fence is where the scan goes on, at the first entry not below it
//! (forwards) or after the last entry below it (backwards).
//!
//! A caller that must not miss what happens between two leaves (a locking scan, an insert that looks for the lock on the
//! gap's upper end) asks for the next leaf while holding this one.
//!
//! A scan that has come through some leaves will come through more. When it meets one that is not in memory, those that
//! follow are read with it: as many as it has come through, so that a short scan reads nothing in vain. The parent knows
//! which they are.

use super::leaf::{LeafRead, LeafWrite};
use super::node::{Node, Towards};
use super::{NodeInParent, Patience, Tree, racy};
use crate::error::Result;
use crate::ids::PageId;

/// The leaf to the right of one that is held.
pub enum NextLeaf<'t> {
    /// It, latched shared.
    Leaf(LeafRead<'t>),
    /// There is none.
    End,
    /// The tree is being changed on the way there: let go of the leaf and start over.
    Busy,
}

impl<'t> LeafRead<'t> {
    /// Releases this leaf and latches the next one; returns it and the slot of its first entry that this leaf's range
    /// does not cover. `fence` is the caller's buffer, so that walking many leaves allocates nothing.
    pub fn next(self, fence: &mut Vec<u8>) -> Result<Option<(LeafRead<'t>, usize)>> {
        fence.clear();
        fence.extend_from_slice(self.node().upper_fence());
        if fence.is_empty() {
            return Ok(None);
        }
        let (tree, steps) = (self.tree, self.steps + 1);
        drop(self);
        let leaf = tree.read_in_scan(fence, steps)?;
        tree.check_leads_on(&leaf, leaf.node().covers(fence))?;
        let slot = leaf.node().search(fence).unwrap_or_else(|slot| slot);
        Ok(Some((leaf, slot)))
    }

    /// Releases this leaf and latches the one before it; returns it and the number of its entries that lie below this
    /// leaf's range.
    pub fn previous(self, fence: &mut Vec<u8>) -> Result<Option<(LeafRead<'t>, usize)>> {
        fence.clear();
        fence.extend_from_slice(self.node().lower_fence());
        if fence.is_empty() {
            return Ok(None);
        }
        let (tree, steps) = (self.tree, self.steps + 1);
        drop(self);
        let leaf = tree.read_below_in_scan(fence, steps)?;
        tree.check_leads_on(&leaf, leaf.node().lower_fence() < &fence[..])?;
        let count = leaf.node().search(fence).unwrap_or_else(|slot| slot);
        Ok(Some((leaf, count)))
    }

    /// The next leaf, with this one still in hand.
    pub fn next_held(&self) -> Result<NextLeaf<'t>> {
        self.tree.leaf_right_of(self.node(), self.steps + 1)
    }
}

impl<'t> LeafWrite<'t> {
    /// The next leaf, shared, with this one still in hand.
    pub fn next_held(&self) -> Result<NextLeaf<'t>> {
        self.tree.leaf_right_of(self.node(), 0)
    }
}

impl Tree {
    /// Fails if a scan would come to this leaf again and again: a page of the past, which the disk has kept instead of what was
    /// written, does not fit the pages around it.
    fn check_leads_on(&self, leaf: &LeafRead<'_>, leads_on: bool) -> Result<()> {
        match leads_on {
            true => Ok(()),
            false => Err(self.corrupt(leaf.id(), "a leaf does not fit the one before it")),
        }
    }

    /// `node` is latched by the caller, so its upper fence stays the lower fence of its right neighbour.
    ///
    /// The neighbour is latched by way of its version: what was found in the parent may be freed, and be a leaf
    /// somewhere to the left, by the time we would get a latch on it, and waiting for that one might be for ever. A
    /// page at the version that its parent was validated after is none of those.
    fn leaf_right_of(&self, node: Node<'_>, steps: u32) -> Result<NextLeaf<'_>> {
        const ATTEMPTS: usize = 64;
        let fence = node.upper_fence();
        if fence.is_empty() {
            return Ok(NextLeaf::End);
        }
        for attempt in 0..ATTEMPTS {
            let place = self.descend(Towards::Key(fence), 0, Patience::GiveUp)?;
            if let Some(place) = &place {
                self.read_ahead(place, Towards::Key(fence), steps);
            }
            if let Some(place) = place
                && let Some(leaf) = self.pool().try_optimistic(place.page)?
                && place
                    .parent
                    .as_ref()
                    .is_none_or(|parent| parent.validate().is_ok())
                && let Ok(guard) = leaf.into_shared()
                && self.still_there(&place, Node::new(&guard))?
            {
                let leaf = LeafRead::new(self, guard, steps);
                self.check_leads_on(&leaf, leaf.node().covers(fence))?;
                return Ok(NextLeaf::Leaf(leaf));
            }
            if attempt >= ATTEMPTS / 4 {
                std::thread::yield_now();
            }
        }
        Ok(NextLeaf::Busy)
    }

    /// Before the leaf at `place` is read by a scan that has come through so many leaves: if it must come from the disk,
    /// brings those that follow with it. What is read of the parent counts only if it has not changed; and what a page
    /// is that is brought in for nothing does not matter.
    pub(super) fn read_ahead(&self, place: &NodeInParent<'_>, towards: Towards<'_>, steps: u32) {
        const AFTER: u32 = 4;
        const MOST: usize = 64;
        if steps < AFTER || self.pool().is_resident(place.page) {
            return;
        }
        let Some(parent) = &place.parent else { return };
        let node = racy(parent);
        let Ok(step) = node.step(towards) else { return };
        let most = MOST.min(steps as usize);
        let slots = match towards {
            Towards::Key(_) => step.slot..step.count.min(step.slot + most),
            Towards::Below(_) | Towards::End => (step.slot + 1).saturating_sub(most)..step.slot + 1,
        };
        let children = slots.map_while(|slot| node.child(slot).ok()).map(PageId);
        let mut pages: Vec<PageId> = children.collect();
        if parent.validate().is_ok() {
            self.pool().read_ahead(&mut pages);
        }
    }

    /// Calls `f` with every entry from `from` on until it returns false, leaf by leaf, without a latch between leaves.
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
