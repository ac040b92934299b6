//! Protection of pages against torn writes.
//!
//! A page is 32 sectors, and a power cut may leave some of them old and some new. So a batch of pages is written to this
//! file first, and synced, before any of them is written to its place; if its place then holds a torn page, a whole copy
//! is here.
//!
//! ```text
//!  area 0                                     area 1
//!  ┌────────┬────────┬────────┬─────┬────────┐┌────────┬────────┬─────
//!  │ header │ page   │ page   │  …  │ page   ││ header │ page   │  …          header and pages of 16 KiB; 256 pages
//!  └────────┴────────┴────────┴─────┴────────┘└────────┴────────┴─────
//!  header:  magic 8 │ crc u32 │ count u32 │ batch u64 │ directory's id u64 │ count × (page u32, its checksum u32)
//! ```
//!
//! Batches are numbered and go to the two areas in turn, so that while one is written the one before is whole. *Only the
//! last batch counts.* Whatever an older one holds has been written to its place, and synced, since, or is in the last
//! batch as well: a page that could not be written to its place is carried from batch to batch until it can (`cleaner.rs`).
//! An older copy that turns up for a page gone bad would be of the past. The one exception is a last batch that is itself
//! torn: it was being written, nothing of it went to any place, and the one before it is the last.
//!
//! At a start after a crash every page of the last batch is written to its place, unless that holds a newer one: also where
//! the place reads well, for if the sync failed, what reads well may be the operating system's memory of it.

use super::control::Control;
use crate::disk::{Access, Disk, File, failed};
use crate::error::{Error, Result};
use crate::ids::{PAGE_SIZE, PageId};
use crate::log::DurableProof;
use crate::pool::PageBuf;
use crate::sabotage;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

pub const NAME: &str = "doublewrite";
/// Pages in a batch: 4 MiB, so that two syncs are shared by many pages.
pub const BATCH: usize = 256;
const MAGIC: u64 = u64::from_le_bytes(*b"tide-dbl");
const AREA: u64 = ((BATCH + 1) * PAGE_SIZE) as u64;
const ENTRIES_AT: usize = 32;

pub struct Doublewrite {
    file: Arc<dyn File>,
    id: u64,
    /// The number of the last batch.
    batch: u64,
    header: Vec<PageBuf>,
}

/// Copies of the last batch.
pub struct LastBatch {
    pages: Vec<PageBuf>,
}

impl Doublewrite {
    /// The file of a directory, and what it holds. After a clean stop it may be missing.
    pub fn open(disk: &dyn Disk, control: &Control, created: bool) -> Result<(Doublewrite, LastBatch)> {
        if !created && !control.clean && !disk.list()?.iter().any(|name| name == NAME) {
            return Err(Error::CannotOpen(format!(
                "{NAME} is missing, which holds copies of pages that the crash may have torn. Put the file back, or restore a \
                 backup"
            )));
        }
        let file = disk.open(NAME, true, Access::Direct)?;
        let mut this = Doublewrite {
            file,
            id: control.id,
            batch: 0,
            header: PageBuf::batch(1),
        };
        let pages = match control.id {
            0 => this.read_unnumbered()?,
            _ if sabotage::breaks("stale") => this.read_unnumbered()?,
            _ => this.read_last()?,
        };
        Ok((this, LastBatch { pages }))
    }

    /// Makes room for batches, which are of the directory with this number.
    pub fn prepare(&mut self, id: u64) -> Result<()> {
        self.id = id;
        if self.file.len()? < 2 * AREA {
            self.file.allocate(0, 2 * AREA)?;
        }
        Ok(())
    }

    /// Keeps copies; see [`keep`](Self::keep).
    fn write<'p>(
        &mut self,
        pages: &'p [PageBuf],
        carried: impl Iterator<Item = &'p PageBuf>,
    ) -> io::Result<()> {
        let batch = self.batch + 1;
        let area = batch % 2 * AREA;
        let header = &mut self.header[0];
        header.fill(0);
        header.put_u64(0, MAGIC);
        header.put_u64(16, batch);
        header.put_u64(24, self.id);
        let mut count = 0;
        let mut enter = |page: &PageBuf| {
            header.put_u32(ENTRIES_AT + count * 8, page.id().0);
            header.put_u32(ENTRIES_AT + count * 8 + 4, page.u32_at(0));
            count += 1;
        };
        pages.iter().for_each(&mut enter);
        self.file
            .write_at(PageBuf::bytes_of(pages), area + PAGE_SIZE as u64)?;
        let mut at = area + ((pages.len() + 1) * PAGE_SIZE) as u64;
        for page in carried {
            enter(page);
            self.file.write_at(&page[..], at)?;
            at += PAGE_SIZE as u64;
        }
        assert!(count <= BATCH, "a batch of {count} pages");
        header.put_u32(12, count as u32);
        header.put_u32(8, crc32c::crc32c(&header[12..]));
        self.file.write_at(PageBuf::bytes_of(&self.header), area)?;
        self.file.sync()?;
        self.batch = batch;
        Ok(())
    }

    /// Keeps copies of pages that are about to be written to their places, and of others that could not be, yet.
    pub fn keep<'p>(
        &mut self,
        pages: &'p [PageBuf],
        carried: impl Iterator<Item = &'p PageBuf>,
    ) -> Result<()> {
        if sabotage::breaks("doublewrite") {
            return Ok(());
        }
        self.write(pages, carried)
            .map_err(|error| failed(&error, format!("writing {NAME}")))?;
        Ok(())
    }

    /// The last batch that was written whole.
    fn read_last(&mut self) -> Result<Vec<PageBuf>> {
        let mut last = Vec::new();
        for area in 0..2 {
            let mut pages = PageBuf::batch(BATCH + 1);
            self.file
                .read_at(PageBuf::bytes_of_mut(&mut pages), area * AREA)?;
            let (header, copies) = pages.split_first_mut().expect("a header");
            if header.u64_at(0) != MAGIC || header.u32_at(8) != crc32c::crc32c(&header[12..]) {
                continue;
            }
            if header.u64_at(24) != self.id {
                return Err(Error::CannotOpen(format!(
                    "{NAME} is another data directory's: it bears the number {:016x}, control {:016x}. Put the file back, or \
                     restore a backup",
                    header.u64_at(24),
                    self.id
                )));
            }
            let (batch, count) = (header.u64_at(16), (header.u32_at(12) as usize).min(BATCH));
            let is_whole = |n: usize| {
                let (page, crc) = (
                    header.u32_at(ENTRIES_AT + n * 8),
                    header.u32_at(ENTRIES_AT + n * 8 + 4),
                );
                copies[n].is_intact(PageId(page)) && copies[n].u32_at(0) == crc
            };
            if batch > self.batch && (0..count).all(is_whole) {
                self.batch = batch;
                pages.truncate(count + 1);
                pages.remove(0);
                last = pages;
            }
        }
        Ok(last)
    }

    /// What versions without headers left: copies of several batches, of which of each page the newest counts.
    fn read_unnumbered(&self) -> Result<Vec<PageBuf>> {
        let mut copies = PageBuf::batch(BATCH);
        self.file.read_at(PageBuf::bytes_of_mut(&mut copies), 0)?;
        let mut newest: HashMap<PageId, PageBuf> = HashMap::new();
        for copy in copies {
            let page = copy.id();
            let is_copy = !copy.lsn().is_zero() && copy.is_intact(page);
            if is_copy && newest.get(&page).is_none_or(|other| other.lsn() < copy.lsn()) {
                newest.insert(page, copy);
            }
        }
        Ok(newest.into_values().collect())
    }
}

impl LastBatch {
    /// Up to where the log was on disk when the batch was written.
    pub fn proof(&self) -> Option<DurableProof> {
        let newest = self.pages.iter().max_by_key(|page| page.lsn())?;
        Some(DurableProof {
            lsn: newest.lsn(),
            source: format!("the copy of page {} in {NAME}", newest.id()),
        })
    }

    /// Writes the pages to their places but where those hold newer ones; says how many were torn.
    pub fn restore(&self, data: &dyn File) -> Result<usize> {
        let mut torn = 0;
        let mut found = PageBuf::batch(1);
        for copy in &self.pages {
            let place = u64::from(copy.id().0) * PAGE_SIZE as u64;
            data.read_at(PageBuf::bytes_of_mut(&mut found), place)?;
            let is_intact = found[0].is_intact(copy.id());
            if !is_intact || found[0].lsn() <= copy.lsn() {
                data.write_at(&copy[..], place)?;
                torn += usize::from(!is_intact);
            }
        }
        if !self.pages.is_empty() {
            data.sync()?;
        }
        Ok(torn)
    }

    #[cfg(test)]
    fn pages(&self) -> Vec<(u32, crate::ids::Lsn)> {
        self.pages.iter().map(|page| (page.id().0, page.lsn())).collect()
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

    fn control() -> Control {
        Control {
            epoch: 1,
            redo_from: Lsn(0),
            scan_from: Lsn(0),
            next_txn: crate::ids::TxnId(1),
            clean: false,
            segment_bytes: 0,
            scan_epoch: 0,
            data_pages: 0,
            mark_epoch: 1,
            durable: Lsn(0),
            id: 5,
        }
    }

    fn open(disk: &SimDisk) -> (Doublewrite, LastBatch) {
        let (mut file, last) = Doublewrite::open(disk, &control(), true).unwrap();
        file.prepare(5).unwrap();
        (file, last)
    }

    fn place(data: &dyn File, id: u32) -> PageBuf {
        let mut found = PageBuf::batch(1);
        data.read_at(
            PageBuf::bytes_of_mut(&mut found),
            u64::from(id) * PAGE_SIZE as u64,
        )
        .unwrap();
        found.pop().unwrap()
    }

    fn write(data: &dyn File, page: &PageBuf) {
        data.write_at(&page[..], u64::from(page.id().0) * PAGE_SIZE as u64)
            .unwrap();
    }

    #[test]
    fn pages_of_the_last_batch_are_restored_and_newer_ones_left_alone() {
        let disk = SimDisk::new(1);
        let data = disk.open("data", true, Access::Direct).unwrap();
        let (mut file, _) = open(&disk);
        file.keep(&[page(1, 10), page(2, 10), page(4, 10)], [].iter())
            .unwrap();
        file.keep(&[page(1, 20), page(2, 20), page(3, 20)], [].iter())
            .unwrap();
        let (old, new) = (page(1, 10), page(1, 20));
        data.write_at(&new[..8192], PAGE_SIZE as u64).unwrap();
        data.write_at(&old[8192..], PAGE_SIZE as u64 + 8192).unwrap();
        write(&*data, &page(2, 10));
        write(&*data, &page(3, 30));
        let mut rotten = page(4, 10);
        rotten[5000] ^= 1;
        write(&*data, &rotten);

        let (_, last) = open(&disk);
        assert_eq!(last.proof().unwrap().lsn, Lsn(20));
        assert_eq!(last.restore(&*data).unwrap(), 1);
        let lsns = [1, 2, 3].map(|id| place(&*data, id).lsn().0);
        assert_eq!(lsns, [20, 20, 30]);
        assert!(place(&*data, 1).is_intact(PageId(1)));
        assert!(
            !place(&*data, 4).is_intact(PageId(4)),
            "of an older batch, so of the past"
        );
    }

    #[test]
    fn a_batch_cut_off_leaves_the_one_before_it() {
        let (mut first, mut second) = (0, 0);
        for seed in 0..40 {
            let disk = SimDisk::new(seed);
            let (mut file, _) = open(&disk);
            disk.sync_dir().unwrap();
            file.keep(&[page(1, 10), page(2, 10)], [].iter()).unwrap();
            disk.set_faults(crate::disk::sim::Faults {
                power_cut_in: Some(1 + seed % 5),
                ..Default::default()
            });
            let carried = page(9, 20);
            let kept = file.keep(&[page(1, 20)], [&carried].into_iter());
            assert_eq!(kept.is_ok(), seed % 5 == 4);
            match open(&disk.restart()).1.pages()[..] {
                [(1, Lsn(10)), (2, Lsn(10))] => first += 1,
                [(1, Lsn(20)), (9, Lsn(20))] => second += 1,
                ref other => panic!("{other:?}"),
            }
        }
        assert!(first > 0 && second > 0, "{first} {second}");
    }

    #[test]
    fn another_directorys_is_refused() {
        let disk = SimDisk::new(1);
        open(&disk).0.keep(&[page(1, 10)], [].iter()).unwrap();
        let other = Control { id: 6, ..control() };
        let error = Doublewrite::open(&disk, &other, false)
            .err()
            .expect("it is refused");
        assert!(error.to_string().contains("doublewrite"), "{error}");
    }
}
