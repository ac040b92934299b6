//! Verifies a stopped data directory. It is opened through a disk that keeps writes in memory, recovered there if it
//! was not stopped cleanly, and then checked completely:
//!
//! - Every value of the catalog is whole, and what the floor above keeps there makes sense to it and to the tables there are.
//! - Every page in use is read, which verifies its checksum, and every tree walked, which verifies its order.
//! - Every row decodes, stands under its own primary key, and has its entries in each secondary index, one or those of a list,
//!   not deleted and with the columns that they keep; and no index has more such entries than the rows have in all. So rows
//!   and entries agree both ways.
//! - Every page that is allocated is reached exactly once, and every page that is reached is allocated.

use crate::catalog::Catalog;
use crate::core::Core;
use crate::ddl::TABLE_NAMES;
use crate::disk::Disk;
use crate::disk::overlay::Overlay;
use crate::engine::{Config, Engine, open_core, open_disk};
use crate::error::{Error, Result};
use crate::ids::{IndexId, PageId, TableId, TxnId};
use crate::pool::page_type;
use crate::system_tree::Chunks;
use crate::table::{
    Collator, DELETED, EntryHead, Head, OUTSIDE, Outside, RowView, Table, first_page, row_of, row_version,
};
use crate::tree::{Tree, Visitor, overflow_owner, verify_overflow};
use std::path::Path;
use std::sync::Arc;

/// What [`Engine::check`] verified, and what it found wrong.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CheckReport {
    /// Whether the directory had been stopped cleanly, so that nothing had to be recovered first.
    pub was_clean: bool,
    /// Pages reached.
    pub pages: u64,
    /// Tables in the catalog.
    pub tables: u64,
    /// Their indexes, the clustered ones included.
    pub indexes: u64,
    /// Rows that are not deleted.
    pub rows: u64,
    /// Entries of secondary indexes that are not deleted.
    pub entries: u64,
    /// Entries marked deleted that purge had not got to.
    pub deleted_entries: u64,
    /// Pages of columns that stand outside their rows.
    pub outside_pages: u64,
    /// Pages within the file that are not allocated.
    pub free_pages: u64,
    /// Empty if all is well. The first thousand are kept.
    pub faults: Vec<String>,
    /// How many there are in all.
    pub faults_found: u64,
}

const FAULTS_MAX: usize = 1000;
/// So many pages are looked at between two words of progress.
const TOLD_EVERY: u64 = 256;

impl Engine {
    /// Verifies a stopped directory, changing nothing. `above` verifies what the floor above keeps in the catalog; `progress` is told
    /// now and then how many pages have been looked at, and of how many.
    pub fn check(
        datadir: &Path,
        collator: Arc<dyn Collator>,
        above: CheckAbove<'_>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<CheckReport> {
        let mut config = Config::new(datadir);
        config.collator = collator;
        Engine::check_watched(config, above, progress)
    }

    /// Like [`Self::check`], with the given settings, such as another disk. Nothing is written to that either.
    pub fn check_with(config: Config) -> Result<CheckReport> {
        Engine::check_watched(config, &|_| Vec::new(), &mut |_, _| {})
    }

    fn check_watched(
        mut config: Config,
        above: CheckAbove<'_>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<CheckReport> {
        let below: Arc<dyn Disk> = match config.disk.take() {
            Some(disk) => disk,
            None => {
                // Else it would be made.
                if !config.datadir.is_dir() {
                    return Err(Error::CannotOpen("there is no such directory".into()));
                }
                Arc::new(open_disk(&config.datadir)?)
            }
        };
        config.disk = Some(Arc::new(Overlay::new(below)));
        let mut at_start = None;
        let opened = match open_core(&config, false) {
            // The server would not start; but there may be more to be said.
            Err(error @ Error::Corrupt { .. }) => {
                at_start = Some(error.to_string());
                config.force_recovery = 1;
                config.discard_changes = true;
                open_core(&config, false)?
            }
            opened => opened?,
        };
        let core = &opened.core;
        let mut check = Checker {
            core,
            above,
            report: CheckReport {
                was_clean: opened.was_clean,
                ..CheckReport::default()
            },
            reached: vec![0; core.kernel.store.file_pages() as usize / 64 + 1],
            lost_trees: false,
            progress,
        };
        if let Some(error) = at_start {
            check.fault(format!("recovery: {error}"));
        }
        check.everything()?;
        Ok(check.report)
    }
}

/// What a check shows to the floor above, which keeps definitions in the catalog that the engine does not understand.
pub struct Stored<'c> {
    catalog: &'c Catalog,
    /// The tables that the engine has, without those that it has the names of.
    pub tables: &'c [TableId],
}

impl Stored<'_> {
    /// All of a meta space, in key order.
    pub fn meta_scan(&self, space: &str) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        self.catalog.meta_scan(space)
    }
}

/// Says what is wrong with what the floor above keeps in the catalog.
pub type CheckAbove<'f> = &'f dyn Fn(&Stored<'_>) -> Vec<String>;

struct Checker<'e> {
    core: &'e Core,
    above: CheckAbove<'e>,
    report: CheckReport,
    /// One bit per page.
    reached: Vec<u64>,
    /// What lies below a damaged page was not reached.
    lost_trees: bool,
    /// Told how many pages were reached, and how many there are.
    progress: &'e mut dyn FnMut(u64, u64),
}

impl Checker<'_> {
    fn fault(&mut self, what: String) {
        self.report.faults_found += 1;
        if self.report.faults.len() < FAULTS_MAX {
            self.report.faults.push(what);
        }
    }

    /// Reports a fault in the data and returns `None`; an error of reading itself is returned.
    fn note<T>(&mut self, place: &str, done: Result<T>) -> Result<Option<T>> {
        match done {
            Ok(done) => Ok(Some(done)),
            Err(error @ Error::Corrupt { .. }) => {
                self.lost_trees = true;
                self.fault(format!("{place}: {error}"));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn everything(&mut self) -> Result<()> {
        let catalog = &self.core.catalog;
        let mut chunks = Chunks::default();
        let done = self.walk(
            "the catalog",
            catalog.system().tree(),
            &mut |check, key, value| {
                if let Err(error) = chunks.take(key, value.len()) {
                    check.fault(format!("the catalog: {error}, in a key of {} bytes", key.len()));
                }
                Ok(())
            },
        );
        self.note("the catalog", done)?;
        let named = catalog.meta_scan(TABLE_NAMES).unwrap_or_default();
        let is_named = |id: TableId| named.iter().any(|(_, value)| *value == id.0.to_le_bytes());
        let mut tables: Vec<TableId> = catalog.tables().iter().map(|table| table.id()).collect();
        tables.retain(|id| !is_named(*id));
        let stored = Stored {
            catalog,
            tables: &tables,
        };
        for fault in (self.above)(&stored) {
            self.fault(fault);
        }
        for table in catalog.tables() {
            self.report.tables += 1;
            self.table(&table)?;
        }
        // After a crash the rows of temporary tables may name columns that recovery has freed.
        let chains_are_whole = !self.core.needs_sweep()?;
        for garbage in catalog.garbage.trees()? {
            let tree = Tree::new(self.core.kernel.store.clone(), garbage.index, garbage.root);
            let done = self.walk_as(
                true,
                "a dropped tree",
                &tree,
                &mut |check, _, value| match &garbage.rows {
                    Some(rows) if chains_are_whole => {
                        let row = row_of(value);
                        let outside = rows.of(row_version(Head::of(value).flags, row)).outside(row);
                        check.chains(garbage.index, value, outside.map(|(_, r)| r))
                    }
                    _ => Ok(()),
                },
            );
            self.note("a dropped tree", done)?;
        }
        self.space()
    }

    fn table(&mut self, table: &Table) -> Result<()> {
        let place = |n: usize| format!("table {} index {n}", table.id());
        let mut rows = 0u64;
        let mut expected = vec![0u64; table.indexes.len()];
        let done = self.walk(&place(0), &table.indexes[0].tree, &mut |check, key, value| {
            let (flags, row) = (Head::of(value).flags, row_of(value));
            let outside = table.layouts.of(flags, row).outside(row);
            check.chains(table.indexes[0].id, value, outside.map(|(_, r)| r))?;
            if Head::of(value).is_deleted() {
                check.report.deleted_entries += 1;
                return Ok(());
            }
            rows += 1;
            check.row(table, key, value, &mut expected)
        });
        self.note(&place(0), done)?;
        self.report.rows += rows;
        self.report.indexes += 1;
        for (n, expected) in expected.into_iter().enumerate().skip(1) {
            let mut entries = 0;
            let done = self.walk(&place(n), &table.indexes[n].tree, &mut |check, _, value| {
                match EntryHead::of(value).is_deleted() {
                    true => check.report.deleted_entries += 1,
                    false => entries += 1,
                }
                Ok(())
            });
            self.note(&place(n), done)?;
            self.report.entries += entries;
            self.report.indexes += 1;
            if entries != expected {
                self.fault(format!(
                    "{}: {entries} entries for {rows} rows, which have {expected}",
                    place(n)
                ));
            }
        }
        Ok(())
    }

    /// One row: its own key, and its entries, which are counted by index.
    fn row(&mut self, table: &Table, key: &[u8], value: &[u8], entries: &mut [u64]) -> Result<()> {
        let version = row_version(Head::of(value).flags, row_of(value));
        if version > table.row_versions() {
            self.fault(format!(
                "table {}: a row of version {version}, which is to come yet",
                table.id()
            ));
        }
        let outside = Outside::of(table, Head::of(value).flags, row_of(value));
        let row = RowView::row(key, row_of(value), &outside);
        if table.schema().primary.is_some() {
            let mut own = Vec::new();
            let values: Vec<_> = (0..table.schema().columns.len()).map(|c| row.get(c)).collect();
            table.encode_primary(&values, &mut own)?;
            if own != key {
                self.fault(format!(
                    "table {}: a row stands under another row's key",
                    table.id()
                ));
            }
        }
        let mut buffer = Vec::new();
        for (n, entries) in entries.iter_mut().enumerate().skip(1) {
            let row = |c| row.get(c);
            let entry = table.entry_value(n, &row, TxnId::NONE)?;
            table.each_entry_key(n, &row, key, &mut buffer, &mut |entry_key| {
                *entries += 1;
                let leaf = table.indexes[n].tree.read(entry_key)?;
                let same = leaf
                    .get(entry_key)
                    .is_some_and(|found| found[0] & DELETED == 0 && found.get(9..) == entry.get(9..));
                if !same {
                    self.fault(format!("table {} index {n}: a row lacks its entry", table.id()));
                }
                Ok(())
            })?;
            outside.check()?;
        }
        Ok(())
    }

    /// Marks the pages of a row's chains as reached, to which these references lead. Chains of a deleted row are in the garbage
    /// list, or freed.
    fn chains<'v>(
        &mut self,
        index: IndexId,
        value: &[u8],
        mut references: impl Iterator<Item = &'v [u8]>,
    ) -> Result<()> {
        let flags = Head::of(value).flags;
        if flags & OUTSIDE == 0 || flags & DELETED != 0 {
            return Ok(());
        }
        references.try_for_each(|r| first_page(r).map_or(Ok(()), |first| self.chain(index, first)))
    }

    fn chain(&mut self, index: IndexId, first: PageId) -> Result<()> {
        let core = self.core;
        verify_overflow(core.kernel.store.pool(), index, first, &mut |page| {
            self.report.outside_pages += 1;
            self.reach(page)
        })?;
        Ok(())
    }

    fn reach(&mut self, page: PageId) -> Result<()> {
        self.report.pages += 1;
        if self.report.pages.is_multiple_of(TOLD_EVERY) {
            let store = &self.core.kernel.store;
            let used = store.file_pages().saturating_sub(store.free_pages());
            (self.progress)(self.report.pages, u64::from(used));
        }
        let Some(bits) = self.reached.get_mut(page.0 as usize / 64) else {
            return Err(Error::corrupt(page, "lies behind the end of the file"));
        };
        let bit = 1 << (page.0 % 64);
        if *bits & bit != 0 {
            return Err(Error::corrupt(page, "is reached twice"));
        }
        *bits |= bit;
        Ok(())
    }

    fn is_reached(&self, page: u32) -> bool {
        self.reached[page as usize / 64] >> (page % 64) & 1 == 1
    }

    fn walk(
        &mut self,
        place: &str,
        tree: &Tree,
        f: &mut dyn FnMut(&mut Self, &[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.walk_as(false, place, tree, f)
    }

    /// [`Self::walk`], also of a tree that has been dropped and may be gone in part.
    fn walk_as(
        &mut self,
        dropped: bool,
        place: &str,
        tree: &Tree,
        f: &mut dyn FnMut(&mut Self, &[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        struct Walk<'w, 'c, 'e> {
            dropped: bool,
            check: &'w mut Checker<'e>,
            f: &'c mut dyn FnMut(&mut Checker<'e>, &[u8], &[u8]) -> Result<()>,
            place: &'c str,
        }
        impl Visitor for Walk<'_, '_, '_> {
            type Error = Error;
            fn page(&mut self, page: PageId, _level: u8) -> Result<()> {
                self.check.reach(page)
            }
            fn entry(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
                (self.f)(self.check, key, value)
            }
            fn is_dropped(&self) -> bool {
                self.dropped
            }
            fn damaged(&mut self, error: Error) -> Result<()> {
                self.check.note(self.place, Err::<(), _>(error)).map(drop)
            }
        }
        tree.verify(&mut Walk {
            dropped,
            check: self,
            f,
            place,
        })
    }

    /// Compares the pages that are allocated with those that were reached.
    fn space(&mut self) -> Result<()> {
        let store = &self.core.kernel.store;
        let garbage: Vec<IndexId> = self
            .core
            .catalog
            .garbage
            .trees()?
            .iter()
            .map(|g| g.index)
            .collect();
        for page in 0..store.file_pages() {
            let used = store.is_used(PageId(page))?;
            if used == self.is_reached(page) {
                self.report.free_pages += u64::from(!used);
                continue;
            }
            if !used {
                self.fault(format!("page {page} is in use but not allocated"));
                continue;
            }
            let read = store
                .pool()
                .shared(PageId(page))
                .map(|p| (p.page_type(), overflow_owner(&p)));
            match self.note("space", read.map_err(Error::from))? {
                None => {}
                Some((page_type::SUPERBLOCK | page_type::BITMAP, _)) => self.report.pages += 1,
                // A crash may leave columns of rows that a table in the making did not get; the next start frees them
                // with the tree.
                Some((_, Some(owner))) if garbage.contains(&owner) => self.report.pages += 1,
                // It may be what a damaged page led to.
                Some(_) if self.lost_trees => {}
                Some((kind, _)) => {
                    self.fault(format!("page {page} (of type {kind}) is allocated but nobody's"));
                }
            }
        }
        Ok(())
    }
}
