//! Old versions of rows, in pages of the scratch file: they count against the pool, spill under pressure, are not logged,
//! and vanish at a restart, since no view outlives one.
//!
//! ```text
//!  leaf entry:  key → flags | writer | older | columns
//!                                        │
//!            version:  writer | older | columns     (the row before the leaf's writer changed it)
//!                                 │
//!                      version:  …
//!
//!  page:   0 common header, type VERSIONS      address of a version, never 0:
//!         32 live records u16                    page − first scratch page   24 bits
//!         34 closed u8                           generation                  30 bits
//!         48 records                             offset / 16                 10 bits
//!
//!  record: 0 length u16 | flags u8 | row's flags u8 | key length u16 | columns length u16
//!          8 writer u64 | 16 older u64
//!         24 table u64  | 32 indexes u64 | 40 key | columns
//! ```
//!
//! A session fills one page after another. A page is freed whole: by purge, when every view sees the last transaction
//! that wrote to it; or before that, by whoever prunes its last record. **The generation in an address makes a pointer
//! into a freed page harmless** (see `generations`). Readers never meet one, for a version that a
//! registered view needs is never freed; writers and pruners may, and take it for the end of the chain.
//!
//! A record with the purge flag also says that its change left something behind: key and `indexes` name the entries to
//! look at once nobody can see them. It is a hint; purge looks for itself.

use super::generations::{GENERATION_BITS, Generations};
use crate::error::{Error, Result};
use crate::ids::{Lsn, PAGE_SIZE, PageId, TableId, TxnId};
use crate::pool::{ExclusiveGuard, PageBuf, SharedGuard, page_type};
use crate::store::Store;
use parking_lot::Mutex;

const LIVE_AT: usize = 32;
const CLOSED_AT: usize = 34;
const RECORDS_AT: usize = 48;
const RECORD_HEADER: usize = 40;
const GRAIN: usize = 16;

/// Where a version is; 0 if there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address(pub u64);

impl Address {
    pub const NONE: Address = Address(0);

    fn new(page: PageId, generation: u32, at: usize) -> Address {
        let page = (page.0 - PageId::SCRATCH_FIRST) as u64;
        Address(page << 40 | (generation as u64) << 10 | (at / GRAIN) as u64)
    }

    fn page(self) -> PageId {
        PageId(PageId::SCRATCH_FIRST + (self.0 >> 40) as u32)
    }

    fn generation(self) -> u32 {
        (self.0 >> 10) as u32 & ((1 << GENERATION_BITS) - 1)
    }

    fn at(self) -> usize {
        (self.0 & 0x3ff) as usize * GRAIN
    }
}

/// The record's image is a row that was marked deleted.
pub(crate) const DELETED: u8 = 1;
/// Rows may point to the record.
pub(crate) const LINKED: u8 = 2;
/// The change left entries behind that purge should look at.
pub(crate) const PURGE: u8 = 4;

/// A version, without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub flags: u8,
    /// What stood in the row's own head, for who reads its columns.
    pub row_flags: u8,
    pub writer: TxnId,
    pub older: Address,
    pub table: TableId,
    /// The secondary indexes (bit n − 1 for index n) in which the change left entries.
    pub indexes: u64,
}

/// A version with its bytes, copied out.
#[derive(Debug)]
pub(crate) struct Hint {
    pub version: Version,
    pub key: Vec<u8>,
    pub columns: Vec<u8>,
}

/// A page, or part of one, that purge should look at when all views see `lsn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PurgeItem {
    pub lsn: Lsn,
    page: PageId,
    generation: u32,
    from: usize,
    to: usize,
    /// The page is full, and can go afterwards.
    last: bool,
}

/// Where versions live.
pub(crate) struct Versions<'e> {
    pub store: &'e Store,
    pub generations: &'e Generations,
}

/// A session's place to append versions.
pub(crate) struct VersionBuffer {
    page: Option<(PageId, u32)>,
    end: usize,
    /// Where in the page the work begins that purge has not been told of.
    told: usize,
    /// Whether there is any.
    has_hints: bool,
    /// The last transaction that ended here.
    ended: Lsn,
    /// Pages that the running transaction has filled.
    full: Vec<PurgeItem>,
    running: bool,
}

impl VersionBuffer {
    pub fn new() -> Mutex<VersionBuffer> {
        Mutex::new(VersionBuffer {
            page: None,
            end: 0,
            told: 0,
            has_hints: false,
            ended: Lsn::ZERO,
            full: Vec::new(),
            running: false,
        })
    }

    /// Appends a version.
    pub fn append(
        &mut self,
        to: &Versions,
        version: &Version,
        key: &[u8],
        columns: &[u8],
    ) -> Result<Address> {
        self.running = true;
        let len = (RECORD_HEADER + key.len() + columns.len()).next_multiple_of(GRAIN);
        if RECORDS_AT + len > PAGE_SIZE {
            return Err(Error::RowTooLarge {
                bytes: len,
                max_bytes: PAGE_SIZE - RECORDS_AT,
            });
        }
        if self.page.is_some() && self.end + len > PAGE_SIZE {
            self.close(to)?;
        }
        let (mut guard, generation) = match self.page {
            Some((page, generation)) => (to.store.pool().exclusive(page)?, generation),
            None => {
                let guard = to.store.alloc_scratch(page_type::VERSIONS)?;
                let generation = to.generations.begin(guard.id());
                self.page = Some((guard.id(), generation));
                (self.end, self.told) = (RECORDS_AT, RECORDS_AT);
                (guard, generation)
            }
        };
        let at = self.end;
        let page = guard.scratch_mut();
        page.put_u16(at, len as u16);
        page[at + 2] = version.flags;
        page[at + 3] = version.row_flags;
        page.put_u16(at + 4, key.len() as u16);
        page.put_u16(at + 6, columns.len() as u16);
        page.put_u64(at + 8, version.writer.0);
        page.put_u64(at + 16, version.older.0);
        page.put_u64(at + 24, version.table.0);
        page.put_u64(at + 32, version.indexes);
        let body = at + RECORD_HEADER;
        page[body..body + key.len()].copy_from_slice(key);
        page[body + key.len()..body + key.len() + columns.len()].copy_from_slice(columns);
        // A hint lives until purge has read it, whatever becomes of the version.
        let live = (version.flags & LINKED != 0) as u16 + (version.flags & PURGE != 0) as u16;
        let live = page.u16_at(LIVE_AT) + live;
        page.put_u16(LIVE_AT, live);
        self.end += len;
        self.has_hints |= version.flags & PURGE != 0;
        Ok(Address::new(guard.id(), generation, at))
    }

    /// No more is written to the current page.
    fn close(&mut self, to: &Versions) -> Result<()> {
        let Some((id, generation)) = self.page else {
            return Ok(());
        };
        let mut guard = to.store.pool().exclusive(id)?;
        self.page = None;
        guard.scratch_mut()[CLOSED_AT] = 1;
        if guard.u16_at(LIVE_AT) == 0 {
            to.free(guard);
        } else {
            let (from, to) = if self.has_hints {
                (self.told, self.end)
            } else {
                (0, 0)
            };
            self.full.push(PurgeItem {
                lsn: Lsn::ZERO,
                page: id,
                generation,
                from,
                to,
                last: true,
            });
        }
        self.has_hints = false;
        Ok(())
    }

    /// The running transaction has ended, at this moment. What it filled goes to purge.
    pub fn end_transaction(&mut self, lsn: Lsn, queue: &mut dyn FnMut(PurgeItem)) {
        self.running = false;
        self.ended = lsn;
        self.full
            .drain(..)
            .for_each(|item| queue(PurgeItem { lsn, ..item }));
    }

    /// Tells purge of the ended transactions' work in the page being filled; the purge thread calls this now and then.
    pub fn flush(&mut self, queue: &mut dyn FnMut(PurgeItem)) {
        if let Some((page, generation)) = self.page
            && !self.running
            && self.has_hints
        {
            let (from, to) = (self.told, self.end);
            queue(PurgeItem {
                lsn: self.ended,
                page,
                generation,
                from,
                to,
                last: false,
            });
            self.told = self.end;
            self.has_hints = false;
        }
    }

    /// The session ends.
    pub fn retire(&mut self, to: &Versions, queue: &mut dyn FnMut(PurgeItem)) -> Result<()> {
        self.close(to)?;
        self.end_transaction(self.ended, queue);
        Ok(())
    }
}

fn parse(page: &PageBuf, at: usize) -> Option<(Version, &[u8], &[u8])> {
    let len = page.u16_at(at) as usize;
    let (key_len, columns_len) = (page.u16_at(at + 4) as usize, page.u16_at(at + 6) as usize);
    let body = at + RECORD_HEADER;
    if len < RECORD_HEADER + key_len + columns_len || at + len > PAGE_SIZE {
        return None;
    }
    let version = Version {
        flags: page[at + 2],
        row_flags: page[at + 3],
        writer: TxnId(page.u64_at(at + 8)),
        older: Address(page.u64_at(at + 16)),
        table: TableId(page.u64_at(at + 24)),
        indexes: page.u64_at(at + 32),
    };
    Some((
        version,
        &page[body..body + key_len],
        &page[body + key_len..body + key_len + columns_len],
    ))
}

impl<'e> Versions<'e> {
    fn free(&self, guard: ExclusiveGuard<'_>) {
        let page = guard.id();
        self.generations.end(page);
        drop(guard);
        self.store.free_scratch(page);
    }

    fn shared(&self, page: PageId, generation: u32) -> Result<Option<SharedGuard<'e>>> {
        if !self.generations.is_current(page, generation) {
            return Ok(None);
        }
        let guard = self.store.pool().shared(page)?;
        Ok(self.generations.is_current(page, generation).then_some(guard))
    }

    fn exclusive(&self, page: PageId, generation: u32) -> Result<Option<ExclusiveGuard<'e>>> {
        if !self.generations.is_current(page, generation) {
            return Ok(None);
        }
        let guard = self.store.pool().exclusive(page)?;
        Ok(self.generations.is_current(page, generation).then_some(guard))
    }

    /// Reads a version, its columns into `columns`. `None` if it is gone.
    pub fn read(&self, address: Address, columns: Option<&mut Vec<u8>>) -> Result<Option<Version>> {
        let Some(page) = self.shared(address.page(), address.generation())? else {
            return Ok(None);
        };
        let Some((version, _, bytes)) = parse(&page, address.at()) else {
            return Err(Error::corrupt(address.page(), "a version record makes no sense"));
        };
        if let Some(columns) = columns {
            columns.clear();
            columns.extend_from_slice(bytes);
        }
        Ok(Some(version))
    }

    /// Changes what follows a version.
    pub fn relink(&self, address: Address, older: Address) -> Result<()> {
        if let Some(mut page) = self.exclusive(address.page(), address.generation())? {
            page.scratch_mut().put_u64(address.at() + 16, older.0);
        }
        Ok(())
    }

    /// The version has been taken out of its chain: nobody needs it. Frees its page if that was the last of it.
    pub fn discard(&self, address: Address) -> Result<()> {
        let Some(mut page) = self.exclusive(address.page(), address.generation())? else {
            return Ok(());
        };
        let live = page.u16_at(LIVE_AT).saturating_sub(1);
        page.scratch_mut().put_u16(LIVE_AT, live);
        if live == 0 && page[CLOSED_AT] == 1 {
            self.free(page);
        }
        Ok(())
    }

    /// The hints of an item that every view now sees.
    pub fn hints(&self, item: &PurgeItem) -> Result<Vec<Hint>> {
        let mut hints = Vec::new();
        if item.from >= item.to {
            return Ok(hints);
        }
        let Some(page) = self.shared(item.page, item.generation)? else {
            return Ok(hints);
        };
        let mut at = item.from;
        while at < item.to {
            let Some((version, key, columns)) = parse(&page, at) else {
                return Err(Error::corrupt(item.page, "a version record makes no sense"));
            };
            if version.flags & PURGE != 0 {
                hints.push(Hint {
                    version,
                    key: key.to_vec(),
                    columns: columns.to_vec(),
                });
            }
            at += page.u16_at(at) as usize;
        }
        Ok(hints)
    }

    /// The item's hints have been followed: its page can go, if it is full.
    pub fn finish(&self, item: &PurgeItem) -> Result<()> {
        if item.last
            && let Some(page) = self.exclusive(item.page, item.generation)?
        {
            self.free(page);
        }
        Ok(())
    }
}
