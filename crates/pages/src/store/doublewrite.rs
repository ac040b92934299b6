//! Protection of pages against torn writes.
//!
//! A page is 32 sectors, and a power cut may leave some of them old and some new. So a batch of pages is written to this
//! file first, and synced, before any of them is written to its place; if its place then holds a torn page, a whole copy
//! is here. A copy is used only in that case: a page at its place that is whole, if old, is brought up to date by redo.
//!
//! The file holds nothing but pages, which know their own numbers and checksums. Older batches may shine through behind
//! a shorter one; of several copies of a page the one with the highest LSN counts, and a torn page is always of the
//! latest batch.

use crate::disk::{Access, Disk, File};
use crate::error::Result;
use crate::ids::{PAGE_SIZE, PageId};
use crate::pool::PageBuf;
use std::collections::HashMap;
use std::sync::Arc;

const NAME: &str = "doublewrite";
/// Pages in a batch: 4 MiB, so that two syncs are shared by many pages.
pub const BATCH: usize = 256;

pub struct Doublewrite {
    file: Arc<dyn File>,
}

impl Doublewrite {
    pub fn open(disk: &dyn Disk) -> Result<Doublewrite> {
        let file = disk.open(NAME, true, Access::Direct)?;
        file.allocate(0, (BATCH * PAGE_SIZE) as u64)?;
        Ok(Doublewrite { file })
    }

    /// Keeps copies of pages that are about to be written to their places.
    pub fn keep(&self, pages: &[PageBuf]) -> Result<()> {
        self.file.write_at(PageBuf::bytes_of(pages), 0)?;
        self.file.sync()?;
        Ok(())
    }

    /// Repairs pages torn when the engine last stopped; says how many.
    pub fn repair(&self, data: &dyn File) -> Result<usize> {
        let mut copies = PageBuf::batch(BATCH);
        self.file.read_at(PageBuf::bytes_of_mut(&mut copies), 0)?;
        let mut newest: HashMap<PageId, &PageBuf> = HashMap::new();
        for copy in &copies {
            let page = copy.id();
            let is_copy = !copy.lsn().is_zero() && copy.is_intact(page);
            if is_copy && newest.get(&page).is_none_or(|other| other.lsn() < copy.lsn()) {
                newest.insert(page, copy);
            }
        }
        let mut repaired = 0;
        let mut found = PageBuf::batch(1);
        for (page, copy) in newest {
            let place = u64::from(page.0) * PAGE_SIZE as u64;
            data.read_at(PageBuf::bytes_of_mut(&mut found), place)?;
            if !found[0].is_intact(page) {
                data.write_at(&copy[..], place)?;
                repaired += 1;
            }
        }
        if repaired > 0 {
            data.sync()?;
        }
        Ok(repaired)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::sim::SimDisk;
    use crate::ids::Lsn;

    fn page(id: u32, lsn: u64) -> PageBuf {
        let mut page = PageBuf::batch(1).pop().unwrap();
        page.format(PageId(id), 3, 0);
        page.set_lsn(Lsn(lsn));
        page[9000..].fill(lsn as u8);
        page.seal(PageId(id));
        page
    }

    #[test]
    fn torn_pages_are_repaired_and_whole_ones_left_alone() {
        let disk = SimDisk::new(1);
        let data = disk.open("data", true, Access::Direct).unwrap();
        let doublewrite = Doublewrite::open(&disk).unwrap();
        doublewrite
            .keep(&[page(1, 10), page(2, 10), page(3, 10), page(2, 10)])
            .unwrap();
        doublewrite.keep(&[page(1, 20), page(2, 20)]).unwrap();

        let (old, new) = (page(1, 10), page(1, 20));
        data.write_at(&new[..8192], PAGE_SIZE as u64).unwrap();
        data.write_at(&old[8192..], PAGE_SIZE as u64 + 8192).unwrap();
        data.write_at(&page(2, 10)[..], 2 * PAGE_SIZE as u64).unwrap();
        assert_eq!(doublewrite.repair(&*data).unwrap(), 1);

        let mut found = PageBuf::batch(2);
        data.read_at(PageBuf::bytes_of_mut(&mut found), PAGE_SIZE as u64)
            .unwrap();
        assert!(found[0].is_intact(PageId(1)) && found[0].lsn() == Lsn(20));
        assert_eq!(
            found[1].lsn(),
            Lsn(10),
            "whole, and redo will bring it up to date"
        );
    }
}
