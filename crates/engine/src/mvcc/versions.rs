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
//!         34 state u8                            generation                  30 bits
//!         36 live bytes u16 | 38 end u16         offset / 16                 10 bits
//!         48 records
//!
//!  record: 0 length u16 | flags u8 | row's flags u8 | key length u16 | columns length u16
//!          8 writer u64 | 16 older u64
//!         24 table u64  | 32 indexes u64
//!         40 superseder u64 | 48 pruner_mark u32 | 52 below u32
//!         56 key | columns
//! ```
//!
//! A session fills one page after another (`buffer`). A page is freed whole: by purge, when every view sees the last
//! transaction that wrote to it; or earlier, by the thread that releases its last live record. A page that keeps few
//! records among garbage is reported as *thin*, and purge moves its live records elsewhere. **The generation in an
//! address
//! makes a pointer into a freed page harmless** (see `generations`). Readers never meet one, for a version that a
//! registered view needs is never freed; writers and pruners may, and take it for the end of the chain.
//!
//! A record names its writer and its superseder, so whether a view needs it can be told from the record alone; table
//! and key say where its chain hangs. A record with the purge flag also says that its change left something behind:
//! `indexes` names the entries to look at once no view can see them. That is a *purge task*: it says where to look, and
//! purge finds out what is to be done.

use super::generations::{GENERATION_BITS, Generations};
use super::hot::HotRows;
use super::queue::{PageLife, PurgeItem, PurgeQueue};
use crate::error::{Error, Result};
use crate::ids::{PAGE_SIZE, PageId, TableId, TxnId};
use crate::pool::{ExclusiveGuard, PageBuf, SharedGuard};
use crate::store::Store;

pub(super) const LIVE_AT: usize = 32;
pub(super) const STATE_AT: usize = 34;
pub(super) const LIVE_BYTES_AT: usize = 36;
pub(super) const END_AT: usize = 38;
pub(super) const RECORDS_AT: usize = 48;
pub(super) const RECORD_HEADER: usize = 56;
pub(super) const GRAIN: usize = 16;

/// State: no more is written to the page.
pub(super) const CLOSED: u8 = 1;
/// State: the page has been reported thin.
const REPORTED: u8 = 2;
/// A closed page with fewer live bytes is thin: so pages hold twice what is alive in them, not more.
const THIN: u16 = (PAGE_SIZE / 2) as u16;

/// Where a version is; 0 if there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address(pub u64);

impl Address {
    pub const NONE: Address = Address(0);

    pub(super) fn new(page: PageLife, at: usize) -> Address {
        let number = (page.id.0 - PageId::SCRATCH_FIRST) as u64;
        Address(number << 40 | (page.generation as u64) << 10 | (at / GRAIN) as u64)
    }

    fn page(self) -> PageLife {
        PageLife {
            id: PageId(PageId::SCRATCH_FIRST + (self.0 >> 40) as u32),
            generation: (self.0 >> 10) as u32 & ((1 << GENERATION_BITS) - 1),
        }
    }

    fn at(self) -> usize {
        (self.0 & 0x3ff) as usize * GRAIN
    }
}

/// The record's image is a row that was marked deleted.
pub(crate) const DELETED: u8 = 1;
/// A row's chain leads to the record.
pub(crate) const LINKED: u8 = 2;
/// The change left entries behind that purge should look at.
pub(crate) const PURGE: u8 = 4;
/// Nothing but a purge task: the key is that of the one entry to look at, in the index that `indexes` names, or else of the row.
pub(crate) const ENTRY: u8 = 8;
/// The change may have left the row itself behind, or what of it stood outside.
pub(crate) const ROW: u8 = 16;

/// A version, without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub flags: u8,
    /// The flags of the row's own head, which say how to read its columns.
    pub row_flags: u8,
    pub writer: TxnId,
    pub superseder: TxnId,
    pub older: Address,
    pub table: TableId,
    /// The secondary indexes (bit n − 1 for index n) in which the change left entries.
    pub indexes: u64,
    /// What the last pruner found, for the next one (see `chain`).
    pub pruner_mark: u32,
    /// How many versions hung below then.
    pub below: u32,
}

/// A record with its bytes, copied out.
#[derive(Debug)]
pub(crate) struct Record {
    pub address: Address,
    pub version: Version,
    pub key: Vec<u8>,
    pub columns: Vec<u8>,
}

/// Where versions live.
pub(crate) struct Versions<'e> {
    pub store: &'e Store,
    pub generations: &'e Generations,
    pub queue: &'e PurgeQueue,
    pub hot: &'e HotRows,
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
        superseder: TxnId(page.u64_at(at + 40)),
        pruner_mark: page.u32_at(at + 48),
        below: page.u32_at(at + 52),
    };
    Some((
        version,
        &page[body..body + key_len],
        &page[body + key_len..body + key_len + columns_len],
    ))
}

/// Calls `f` with every version in a page, and its key.
pub(super) fn each_in<'p>(page: &'p PageBuf, f: &mut dyn FnMut(&Version, &'p [u8])) {
    let (mut at, to) = (RECORDS_AT, page.u16_at(END_AT) as usize);
    while at < to
        && let Some((version, key, _)) = parse(page, at)
    {
        f(&version, key);
        at += page.u16_at(at) as usize;
    }
}

/// Writes a record at `at`, of the length that [`record_len`] says.
pub(super) fn write(page: &mut PageBuf, at: usize, version: &Version, key: &[u8], columns: &[u8]) {
    let len = record_len(key, columns);
    page.put_u16(at, len as u16);
    page[at + 2] = version.flags;
    page[at + 3] = version.row_flags;
    page.put_u16(at + 4, key.len() as u16);
    page.put_u16(at + 6, columns.len() as u16);
    page.put_u64(at + 8, version.writer.0);
    page.put_u64(at + 16, version.older.0);
    page.put_u64(at + 24, version.table.0);
    page.put_u64(at + 32, version.indexes);
    page.put_u64(at + 40, version.superseder.0);
    page.put_u32(at + 48, version.pruner_mark);
    page.put_u32(at + 52, version.below);
    let body = at + RECORD_HEADER;
    page[body..body + key.len()].copy_from_slice(key);
    page[body + key.len()..body + key.len() + columns.len()].copy_from_slice(columns);
    // A purge task keeps its record alive until purge has followed it, even if no chain leads to the version any more.
    let live = (version.flags & LINKED != 0) as u16 + (version.flags & PURGE != 0) as u16;
    page.put_u16(LIVE_AT, page.u16_at(LIVE_AT) + live);
    if live > 0 {
        page.put_u16(LIVE_BYTES_AT, page.u16_at(LIVE_BYTES_AT) + len as u16);
    }
    page.put_u16(END_AT, (at + len) as u16);
}

/// The room that a record takes.
pub(crate) fn record_len(key: &[u8], columns: &[u8]) -> usize {
    (RECORD_HEADER + key.len() + columns.len()).next_multiple_of(GRAIN)
}

impl<'e> Versions<'e> {
    pub(super) fn free(&self, guard: ExclusiveGuard<'_>) {
        let page = guard.id();
        self.generations.end(page);
        drop(guard);
        self.store.free_scratch(page);
    }

    fn shared(&self, page: PageLife) -> Result<Option<SharedGuard<'e>>> {
        if !self.generations.is_current(page.id, page.generation) {
            return Ok(None);
        }
        let guard = self.store.pool().shared(page.id)?;
        Ok(self
            .generations
            .is_current(page.id, page.generation)
            .then_some(guard))
    }

    pub(super) fn exclusive(&self, page: PageLife) -> Result<Option<ExclusiveGuard<'e>>> {
        if !self.generations.is_current(page.id, page.generation) {
            return Ok(None);
        }
        let guard = self.store.pool().exclusive(page.id)?;
        Ok(self
            .generations
            .is_current(page.id, page.generation)
            .then_some(guard))
    }

    /// Reads a version, its columns into `columns`. `None` if it is gone.
    pub fn read(&self, address: Address, columns: Option<&mut Vec<u8>>) -> Result<Option<Version>> {
        let page = address.page();
        let Some(guard) = self.shared(page)? else {
            return Ok(None);
        };
        let Some((version, _, bytes)) = parse(&guard, address.at()) else {
            return Err(Error::corrupt(page.id, "a version record makes no sense"));
        };
        if let Some(columns) = columns {
            columns.clear();
            columns.extend_from_slice(bytes);
        }
        Ok(Some(version))
    }

    /// Changes what follows a version.
    pub fn relink(&self, address: Address, older: Address) -> Result<()> {
        if let Some(mut page) = self.exclusive(address.page())? {
            page.scratch_mut().put_u64(address.at() + 16, older.0);
        }
        Ok(())
    }

    /// Stores marks for the next pruner.
    pub fn mark(&self, address: Address, pruner_mark: u32, below: u32) -> Result<()> {
        if let Some(mut page) = self.exclusive(address.page())? {
            let page = page.scratch_mut();
            page.put_u32(address.at() + 48, pruner_mark);
            page.put_u32(address.at() + 52, below);
        }
        Ok(())
    }

    /// Releases a version that has been taken out of its chain.
    pub fn discard(&self, address: Address) -> Result<()> {
        self.release(address, LINKED)
    }

    /// Releases the versions from `from` down to `until`, which nothing leads to any more.
    pub fn discard_until(&self, from: Address, until: Address) -> Result<()> {
        let mut at = from;
        while at != until && at != Address::NONE {
            let Some(version) = self.read(at, None)? else {
                break;
            };
            self.discard(at)?;
            at = version.older;
        }
        Ok(())
    }

    /// Releases a purge task that has been followed, or handed on.
    pub fn forget_task(&self, address: Address) -> Result<()> {
        self.release(address, PURGE)
    }

    /// Clears a flag that keeps a record alive. Frees the page if that was the last live record; reports it thin if few
    /// are left.
    fn release(&self, address: Address, flag: u8) -> Result<()> {
        let life = address.page();
        let Some(mut guard) = self.exclusive(life)? else {
            return Ok(());
        };
        let at = address.at();
        if guard[at + 2] & flag == 0 {
            return Ok(());
        }
        let page = guard.scratch_mut();
        page[at + 2] &= !flag;
        let live = page.u16_at(LIVE_AT).saturating_sub(1);
        page.put_u16(LIVE_AT, live);
        if page[at + 2] & (LINKED | PURGE) == 0 {
            let bytes = page.u16_at(LIVE_BYTES_AT).saturating_sub(page.u16_at(at));
            page.put_u16(LIVE_BYTES_AT, bytes);
        }
        if page[STATE_AT] == CLOSED && live > 0 && page.u16_at(LIVE_BYTES_AT) < THIN {
            page[STATE_AT] = REPORTED;
            self.queue.report_thin(life);
        }
        if live == 0 && page[STATE_AT] != 0 {
            self.free(guard);
        }
        Ok(())
    }

    /// Copies out the records from offset `from` up to `to` (or the end, if that is less) that `wanted` selects.
    pub fn records(
        &self,
        page: PageLife,
        from: usize,
        to: usize,
        wanted: &mut dyn FnMut(&Version) -> bool,
    ) -> Result<Vec<Record>> {
        let mut records = Vec::new();
        let Some(guard) = self.shared(page)? else {
            return Ok(records);
        };
        let (mut at, to) = (from.max(RECORDS_AT), to.min(guard.u16_at(END_AT) as usize));
        while at < to {
            let Some((version, key, columns)) = parse(&guard, at) else {
                return Err(Error::corrupt(page.id, "a version record makes no sense"));
            };
            if wanted(&version) {
                records.push(Record {
                    address: Address::new(page, at),
                    version,
                    key: key.to_vec(),
                    columns: columns.to_vec(),
                });
            }
            at += guard.u16_at(at) as usize;
        }
        Ok(records)
    }

    /// True if the page is closed and few of its bytes are alive.
    pub fn is_thin(&self, page: PageLife) -> Result<bool> {
        let guard = self.shared(page)?;
        Ok(guard.is_some_and(|page| page[STATE_AT] != 0 && page.u16_at(LIVE_BYTES_AT) < THIN))
    }

    /// Frees the item's page if it is full: every view has passed all that happened in it.
    pub fn finish(&self, item: &PurgeItem) -> Result<()> {
        if item.last
            && let Some(page) = self.exclusive(item.page)?
        {
            self.free(page);
        }
        Ok(())
    }
}
