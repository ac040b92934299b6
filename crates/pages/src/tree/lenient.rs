//! Reading past damage, in a store that was opened to save what can be saved (`StoreConfig::force_recovery`).
//!
//! A leaf that cannot be read takes its entries with it, an inner node everything below it. What lies behind is found from the
//! root: the first leaf that can be read and begins above the damage. In any other store damage is an error, as ever.

use super::leaf::LeafRead;
use super::node::{Node, PageBytes};
use super::{LEVELS_MAX, Tree};
use crate::error::{Error, Result};
use crate::ids::{PAGE_SIZE, PageId};
use crate::pool::page_type;

impl Tree {
    /// Like [`Self::read`]; where the leaf is damaged, and the store lenient, the first readable one behind it. `None`: there is
    /// none.
    pub fn read_from(&self, key: &[u8]) -> Result<Option<LeafRead<'_>>> {
        match self.read(key) {
            Err(error) => {
                let mut fence = key.to_vec();
                Ok(self.over_damage(&mut fence, error)?.map(|(leaf, _)| leaf))
            }
            Ok(leaf) => Ok(Some(leaf)),
        }
    }

    /// The first leaf that can be read and begins above `fence`, which becomes its beginning, and the slot to go on at; for a scan
    /// that could not read the leaf at `fence`. Fails with that error if the store is not lenient.
    #[cold]
    pub fn over_damage(&self, fence: &mut Vec<u8>, error: Error) -> Result<Option<(LeafRead<'_>, usize)>> {
        if self.store.force_recovery() == 0 || !matches!(error, Error::Corrupt { .. } | Error::Io(_)) {
            return Err(error);
        }
        ::log::error!("reading goes on behind damage: {error}");
        while let Some(next) = self.next_readable(self.root, None, fence) {
            *fence = next;
            // One that does not cover it would lead back.
            if let Ok(leaf) = self.read(fence)
                && leaf.node().covers(fence)
            {
                let slot = leaf.node().search(fence).unwrap_or_else(|slot| slot);
                return Ok(Some((leaf, slot)));
            }
        }
        Ok(None)
    }

    /// The lower fence of the first readable leaf at or below `page` that is above `from`.
    fn next_readable(&self, page: PageId, level: Option<u8>, from: &[u8]) -> Option<Vec<u8>> {
        let mut copy: Box<PageBytes> = Box::new([0; PAGE_SIZE]);
        copy.copy_from_slice(&self.pool().shared(page).ok()?[..]);
        let node = Node::new(&copy);
        let is_ours = node.page_type() == page_type::TREE
            && node.index() == self.index.0
            && (node.level() as usize) < LEVELS_MAX
            && level.is_none_or(|level| node.level() == level)
            && node.check().is_ok();
        if !is_ours {
            return None;
        }
        if node.level() == 0 {
            return (node.lower_fence() > from).then(|| node.lower_fence().to_vec());
        }
        for slot in 0..node.count() {
            let ends_before = slot + 1 < node.count() && node.key(slot + 1) <= from;
            if !ends_before
                && let Some(found) =
                    self.next_readable(PageId(node.child(slot)), Some(node.level() - 1), from)
            {
                return Some(found);
            }
        }
        None
    }
}
