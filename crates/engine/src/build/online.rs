//! Builds indexes of a table while transactions read and write it.
//!
//! ```text
//!   begin: alone with the table     trees, a handle that has them, a view
//!   run:   beside all others        rows that the view sees ─► sorted ─► added to the trees, where no writer was before;
//!                                   then what is marked goes, and neighbours are compared
//!   Ddl::finish_build: alone again  the suspects are looked at; the definition takes the trees
//! ```
//!
//! Why that gives the very entries that the rows have at the end is argued in the head of `table::building`, with what writers, undo and
//! purge do meanwhile. To others the build is one more old view while it reads rows, and a writer of the log when it adds entries.
//! A build that is dropped is abandoned: its trees, which were in the garbage list all the time, are freed in the background.

use super::sort::{EntrySorter, Sorted};
use super::{each_entry, sorters};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::garbage::GarbageTree;
use crate::ids::{IndexNo, Isolation, TableId, TxnId};
use crate::schema::IndexSchema;
use crate::table::{Building, EntryHead, Flow, Keep, KeyRange, Phase, RangeScan, Read, Table};
use crate::transaction::Transaction;
use std::ops::Bound;
use std::sync::Arc;

/// Rows read in one go.
const ROWS_AT_ONCE: u64 = 4096;
/// Entries, and bytes of them, added to a leaf in one go.
const ENTRIES_AT_ONCE: usize = 128;
const BYTES_AT_ONCE: usize = 8 << 10;
/// Secondary indexes that a purge task can tell apart.
const INDEXES_MAX: usize = u64::BITS as usize;

/// What a build is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildStage {
    /// Reads the rows, and sorts their entries.
    Reading,
    /// Adds the entries to the indexes.
    Inserting,
    /// Looks through the indexes for what is to be removed or may be a duplicate.
    Checking,
}

/// How far a build is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildProgress {
    /// What it is doing.
    pub stage: BuildStage,
    /// Rows or entries seen to in this stage.
    pub done: u64,
    /// Of about so many.
    pub of: u64,
}

impl BuildProgress {
    /// How much of the stage is done.
    pub fn percent(&self) -> u64 {
        match self.of {
            0 => 0,
            of => (self.done.saturating_mul(100) / of).min(100),
        }
    }
}

/// Called now and then, while nothing is latched; an error ends the build.
type Progress<'p> = &'p mut dyn FnMut(BuildProgress) -> Result<()>;

/// Indexes that are being built, from [`Engine::build_indexes`](crate::Engine::build_indexes). [`OnlineBuild::run`] fills them,
/// [`Ddl::finish_build`](crate::Ddl::finish_build) makes them the table's. Dropped before that, the build is given up.
pub struct OnlineBuild {
    core: Arc<Core>,
    table: Arc<Table>,
    indexes: Vec<NewIndex>,
    /// Has the view in which the rows are read; `None` once they are.
    snapshot: Option<Transaction>,
}

struct NewIndex {
    schema: IndexSchema,
    tree: GarbageTree,
    /// Its number in the table's handle.
    no: IndexNo,
    building: Arc<Building>,
}

impl OnlineBuild {
    /// See [`Engine::build_indexes`](crate::Engine::build_indexes).
    pub(crate) fn begin(core: Arc<Core>, id: TableId, indexes: &[IndexSchema]) -> Result<OnlineBuild> {
        if core.kernel.read_only {
            return Err(Error::ReadOnly);
        }
        core.refuse_unfinished(id)?;
        let definition = core.catalog.definition(id)?.ok_or(Error::NoSuchTable)?;
        let mut schema = definition.shape.schema.clone();
        schema.secondary.extend_from_slice(indexes);
        schema.validate()?;
        if schema.secondary.len() > INDEXES_MAX {
            return Err(Error::Unsupported("so many indexes at once"));
        }
        let before = core.catalog.table(id)?;
        let mut table = core.catalog.redefined(&before, &definition);
        let mut build = OnlineBuild {
            table: before,
            indexes: Vec::new(),
            snapshot: None,
            core,
        };
        for schema in indexes {
            let tree = build.core.catalog.create_tree(None)?;
            let building = Arc::new(Building::new());
            let handle = build.core.catalog.tree(tree.index, tree.root);
            build.indexes.push(NewIndex {
                schema: schema.clone(),
                no: table.add_building(schema, handle, building.clone()),
                tree,
                building,
            });
        }
        // The view must not lack a commit of a transaction that has let go of the table.
        let log = build.core.kernel.store.log();
        log.wait_durable(log.tail())?;
        let mut snapshot = Transaction::new(build.core.clone());
        snapshot.begin(Isolation::RepeatableRead, true);
        snapshot.consistent_snapshot()?;
        build.snapshot = Some(snapshot);
        build.table = Arc::new(table);
        build.core.catalog.replace_table(id, Some(build.table.clone()));
        Ok(build)
    }

    /// The table whose indexes are built.
    pub fn table(&self) -> TableId {
        self.table.id()
    }

    /// Definitions and trees, in the order in which they were given.
    pub(crate) fn indexes(&self) -> impl Iterator<Item = (&IndexSchema, &GarbageTree)> {
        self.indexes.iter().map(|index| (&index.schema, &index.tree))
    }

    /// The number that the build's view has in [`TransactionInfo`](crate::TransactionInfo).
    pub fn owner(&self) -> Option<u64> {
        self.snapshot.as_ref().map(Transaction::owner)
    }

    /// Fills the indexes. `progress` is called every few milliseconds; with an error of it, the build ends.
    pub fn run(&mut self, progress: Progress<'_>) -> Result<()> {
        let sorters = self.read(progress)?;
        let of = sorters.iter().map(EntrySorter::len).sum();
        let mut done = 0;
        for (index, sorter) in self.indexes.iter().zip(sorters) {
            self.fill(index, sorter.finish()?, &mut |added| {
                done += added;
                let stage = BuildStage::Inserting;
                progress(BuildProgress { stage, done, of })
            })?;
            index.building.set(Phase::Filled);
        }
        let mut done = 0;
        for index in &self.indexes {
            self.settle(index, &mut |seen| {
                done += seen;
                let stage = BuildStage::Checking;
                progress(BuildProgress { stage, done, of })
            })?;
        }
        Ok(())
    }

    /// The entries of the rows that the view sees.
    fn read(&mut self, progress: Progress<'_>) -> Result<Vec<EntrySorter>> {
        let mut sorters = sorters(&self.core.kernel, self.indexes.len());
        let (table, indexes) = (&self.table, &self.indexes);
        let Some(mut snapshot) = self.snapshot.take() else {
            return Err(Error::Unsupported("a build that runs twice"));
        };
        let of = table.estimate_rows();
        let mut range = KeyRange::all();
        let mut entry_key = Vec::new();
        let mut done = 0;
        loop {
            let stage = BuildStage::Reading;
            progress(BuildProgress { stage, done, of })?;
            let (mut rows, mut last) = (0, None);
            let scan = RangeScan::new(0, &range);
            // The leaf is latched, so nothing is put aside meanwhile.
            table.scan_rows(&mut snapshot.txn(), &scan, Read::Consistent, &mut |row| {
                let mut is_full = false;
                for (index, sorter) in indexes.iter().zip(&mut sorters) {
                    let row_of = |c| row.get(c);
                    let value = table.entry_value(index.no, &row_of, TxnId::NONE)?;
                    let primary_key = row.primary_key();
                    table.each_entry_key(index.no, &row_of, primary_key, &mut entry_key, &mut |key| {
                        sorter.push(key, &value);
                        Ok(())
                    })?;
                    is_full |= sorter.is_full();
                }
                rows += 1;
                if !is_full && rows < ROWS_AT_ONCE {
                    return Ok((Keep::Release, Flow::Continue));
                }
                last = Some(row.primary_key().to_vec());
                Ok((Keep::Release, Flow::Stop))
            })?;
            done += rows;
            for sorter in sorters.iter_mut().filter(|sorter| sorter.is_full()) {
                sorter.put_aside()?;
            }
            match last {
                Some(last) => range.lower = Bound::Excluded(last),
                None => break,
            }
        }
        snapshot.rollback()?;
        Ok(sorters)
    }

    /// Adds the entries of which the tree has no other of the same key. Calls `progress` with how many it has seen to since.
    fn fill(
        &self,
        index: &NewIndex,
        mut sorted: Sorted,
        progress: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let tree = &self.table.indexes[index.no].tree;
        // Copied first: with a leaf in hand no page of the spool is waited for.
        let (mut bytes, mut places) = (Vec::new(), Vec::new());
        loop {
            bytes.clear();
            places.clear();
            while places.len() < ENTRIES_AT_ONCE
                && bytes.len() < BYTES_AT_ONCE
                && let Some((key, value)) = sorted.current()
            {
                let at = bytes.len();
                bytes.extend_from_slice(key);
                bytes.extend_from_slice(value);
                places.push((at, at + key.len(), bytes.len()));
                sorted.advance()?;
            }
            if places.is_empty() {
                return Ok(());
            }
            let entries = places
                .iter()
                .map(|(at, value, end)| (&bytes[*at..*value], &bytes[*value..*end]));
            let mut entries = entries.peekable();
            while let Some((first, _)) = entries.peek() {
                let mut leaf = tree.write(first)?;
                let mut full = None;
                while let Some((key, value)) = entries.next_if(|(key, _)| leaf.node().covers(key)) {
                    if let Err(slot) = leaf.node().search(key)
                        && leaf.insert(slot, key, value).is_err()
                    {
                        full = Some((key, value));
                        break;
                    }
                }
                leaf.finish();
                if let Some((key, value)) = full {
                    self.add_in_full_leaf(index, key, value)?;
                }
            }
            progress(places.len() as u64)?;
        }
    }

    fn add_in_full_leaf(&self, index: &NewIndex, key: &[u8], value: &[u8]) -> Result<()> {
        let tree = &self.table.indexes[index.no].tree;
        loop {
            tree.split(key, value.len())?;
            let mut leaf = tree.write(key)?;
            let Err(slot) = leaf.node().search(key) else {
                return Ok(());
            };
            if leaf.insert(slot, key, value).is_ok() {
                leaf.finish();
                return Ok(());
            }
        }
    }

    /// Removes what was marked while the index was filled, and notes which keys may have duplicates.
    fn settle(&self, index: &NewIndex, progress: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        let kernel = &self.core.kernel;
        let txns = &kernel.mvcc.txns;
        let has_ended = |writer: TxnId| writer < txns.settled() || txns.ended(writer).is_some();
        let of = &self.table.indexes[index.no];
        let layout = &self.table.entries[index.no - 1];
        let mut from = Vec::new();
        let mut last: Vec<u8> = Vec::new();
        let mut marked = Vec::new();
        loop {
            marked.clear();
            let leaf = of.tree.read(&from)?;
            let node = leaf.node();
            let start = node.search(&from).unwrap_or_else(|slot| slot);
            for (key, value) in (start..node.count()).map(|slot| node.entry(slot)) {
                let head = EntryHead::of(value);
                if head.is_deleted() && has_ended(head.writer) {
                    marked.push(key.to_vec());
                }
                if of.unique && !layout.has_null(key) {
                    let own = &key[..layout.own_len(key)];
                    if own == last {
                        index.building.suspect(own);
                    }
                    last.clear();
                    last.extend_from_slice(own);
                }
            }
            let seen = node.count().saturating_sub(start) as u64;
            let fence = node.upper_fence().to_vec();
            drop(leaf);
            self.table.remove_deleted(kernel, index.no, &marked, &has_ended)?;
            progress(seen)?;
            if fence.is_empty() {
                return Ok(());
            }
            from = fence;
        }
    }

    /// [`Error::DuplicateKey`] if an index is unique and the rows are not; `first` is the number that the first of them is to have. The caller
    /// is alone with the table.
    pub(crate) fn verify(&self, first: IndexNo, check: &dyn Fn() -> Result<()>) -> Result<()> {
        for (at, index) in self.indexes.iter().enumerate() {
            if !index.schema.unique {
                continue;
            }
            let duplicate = |key: &[u8]| Error::DuplicateKey {
                index: first + at,
                primary_key: key[self.table.entries[index.no - 1].primary_at(key)..].to_vec(),
            };
            let suspects = index.building.take_suspects();
            let found = match suspects.keys() {
                Some(keys) => {
                    let mut keys = keys;
                    keys.find_map(|own| self.second_row(index, own).transpose())
                        .transpose()?
                }
                None => self.any_second_row(index, check)?,
            };
            if let Some(key) = found {
                return Err(duplicate(&key));
            }
        }
        Ok(())
    }

    /// The second of the entries with these own parts that are not marked.
    fn second_row(&self, index: &NewIndex, own: &[u8]) -> Result<Option<Vec<u8>>> {
        let tree = &self.table.indexes[index.no].tree;
        let (mut from, mut rows) = (own.to_vec(), 0);
        loop {
            let leaf = tree.read(&from)?;
            let node = leaf.node();
            let start = node.search(&from).unwrap_or_else(|slot| slot);
            for (key, value) in (start..node.count()).map(|slot| node.entry(slot)) {
                if !key.starts_with(own) {
                    return Ok(None);
                }
                rows += u32::from(!EntryHead::of(value).is_deleted());
                if rows == 2 {
                    return Ok(Some(key.to_vec()));
                }
            }
            match node.upper_fence() {
                [] => return Ok(None),
                fence => from = fence.to_vec(),
            }
        }
    }

    /// The first entry that is not marked and shares its own parts with one before it.
    fn any_second_row(&self, index: &NewIndex, check: &dyn Fn() -> Result<()>) -> Result<Option<Vec<u8>>> {
        let layout = &self.table.entries[index.no - 1];
        let (mut last, mut found): (Vec<u8>, _) = (Vec::new(), None);
        each_entry(&self.table, index.no, check, &mut |key, value| {
            if found.is_some() || EntryHead::of(value).is_deleted() || layout.has_null(key) {
                return Ok(());
            }
            let own = &key[..layout.own_len(key)];
            if own == last {
                found = Some(key.to_vec());
            }
            last.clear();
            last.extend_from_slice(own);
            Ok(())
        })?;
        Ok(found)
    }

    /// The definition has the indexes now, and the garbage list no more.
    pub(crate) fn adopted(mut self) {
        let indexes = std::mem::take(&mut self.indexes);
        self.release(&indexes);
    }

    fn release(&self, indexes: &[NewIndex]) {
        let trees = indexes.iter().map(|index| index.tree.index);
        self.core.catalog.garbage.release_claims(trees);
    }
}

impl Drop for OnlineBuild {
    fn drop(&mut self) {
        let indexes = std::mem::take(&mut self.indexes);
        if indexes.is_empty() {
            return;
        }
        for index in &indexes {
            index.building.set(Phase::Abandoned);
        }
        self.release(&indexes);
        self.core.reclaim.ring();
    }
}
