//! Verifies pages where they lie on the disk, in the background: damage in what no statement reads is found while there is still a
//! backup without it.
//!
//! Pages are read past the pool, so that nothing is evicted for it. One that is being written meanwhile is read again. What is not
//! in use, or is about to be written, does not matter.

use super::Store;
use crate::error::Result;
use crate::ids::{IndexId, PageId};
use crate::pool::{PageBuf, page_type};

/// A page that is not on the disk what was written there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedPage {
    /// Its number.
    pub page: PageId,
    /// The tree that it belongs to, as far as what is left of it tells.
    pub index: Option<IndexId>,
}

impl Store {
    /// Verifies so many pages from `first` on, fewer at the end of the file. Returns how many there were, and which of them are
    /// damaged.
    pub fn verify_on_disk(&self, first: PageId, most: usize) -> Result<(usize, Vec<DamagedPage>)> {
        let end = self.space().allocated();
        let count = most.min(end.saturating_sub(first.0) as usize);
        let mut pages = PageBuf::batch(count);
        let mut damaged = Vec::new();
        for (page, torn) in self.read_settled(first, &mut pages)? {
            if self.is_used(page)? && !self.pool().is_dirty(page) {
                // What stands at the place of the index in a page of a tree; overflow pages have it there, too.
                let index = matches!(torn.page_type(), page_type::TREE | page_type::OVERFLOW)
                    .then(|| IndexId(torn.u64_at(32)));
                damaged.push(DamagedPage { page, index });
            }
        }
        Ok((count, damaged))
    }
}
