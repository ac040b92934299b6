//! Tables: a clustered index that holds the rows, and secondary indexes that lead to it.
//!
//! | file | idea |
//! |---|---|
//! | `schema`, `range` | what a table is, in the engine's terms; ranges of keys |
//! | `key`, `row`, `entry` | how keys, rows and the heads of entries are encoded |
//! | `outside` | columns too long for their row |
//! | `graveyard`, `buried` | deleted entries out of the way, and how old views find them |
//! | `read`, `locking` | consistent reads, locking reads |
//! | `insert`, `plan` and `write`, `secondary`, `undo` | rows added, changed, indexed, restored |
//! | `state` | counters that outlive a definition |

mod buried;
mod entry;
mod graveyard;
mod insert;
mod key;
mod locking;
mod outside;
mod plan;
mod range;
mod read;
mod row;
mod schema;
mod secondary;
mod state;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod undo;
mod write;

pub use key::{BinaryCollator, Collator, KEY_BYTES_MAX};
pub use range::KeyRange;
pub use row::{RowBuf, RowView};
pub use schema::{Column, ColumnType, Datum, IndexNo, IndexSchema, KeyPart, TableSchema};

pub(crate) use entry::{DELETED, EntryHead, Head, OUTSIDE, Undo, row_of};
pub(crate) use graveyard::{Buried, Graveyard, Witness};
use locking::key_behind;
pub(crate) use outside::{Outside, first_page};
pub(crate) use row::RowLayout;
pub(crate) use schema::Reader;
pub(crate) use secondary::Wanted;
pub(crate) use state::TableState;

use crate::error::{Error, Result};
use crate::ids::{IndexId, Lsn, PAGE_SIZE, TableId};
use crate::lock::{IndexLocks, LockMode, TableLocks};
use crate::transaction::{Sight, Transaction};
use crate::tree::Tree;
use key::KeyPartCodec;
use row::EntryLayout;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes in the hidden row id that clusters a table without a primary key.
pub(crate) const ROW_ID_BYTES: usize = 8;

/// What a read sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// The transaction's view; locks nothing and waits for nobody.
    Consistent,
    /// The newest committed row, which stays locked.
    Locking { exclusive: bool, wait: LockWait },
}

/// What a locking read does about a row that is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWait {
    Wait,
    /// Fails with [`Error::LockNoWait`].
    NoWait,
    /// Goes on without the row.
    Skip,
}

/// Whether a scan goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Continue,
    Stop,
}

/// What becomes of the lock on the row just read. A consistent read has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    Locked,
    /// The row did not match: under READ COMMITTED and below its lock may go at once, unless held before.
    Release,
}

/// What becomes of a row that [`Table::modify`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing, and the lock may go as with [`Keep::Release`].
    Skip,
    /// Nothing, but the row stays locked.
    Keep,
    /// The same, and it counts as a change when a deadlock's victim is chosen.
    Touch,
    /// The row takes the values set in the [`RowBuf`].
    Update,
    Delete,
}

/// How a duplicate key that an insert meets is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateLock {
    /// For a plain INSERT, and INSERT IGNORE.
    Shared,
    /// For a statement that goes on to change the row it met: REPLACE, ON DUPLICATE KEY UPDATE.
    Exclusive,
}

impl DuplicateLock {
    pub(crate) fn mode(self) -> LockMode {
        match self {
            DuplicateLock::Shared => LockMode::Shared,
            DuplicateLock::Exclusive => LockMode::Exclusive,
        }
    }
}

/// An open table. Cheap to keep and share; goes stale ([`Error::TableGone`]) when the table is dropped.
pub struct Table {
    id: TableId,
    schema: TableSchema,
    collator: Arc<dyn Collator>,
    pub(crate) layout: RowLayout,
    primary: Vec<KeyPartCodec>,
    pub(crate) entries: Vec<EntryLayout>,
    /// The clustered index first.
    pub(crate) indexes: Vec<Index>,
    locks: TableLocks,
    pub(crate) state: Arc<TableState>,
    closed: AtomicBool,
    /// Views older than this do not know the table as it is.
    defined: AtomicU64,
}

pub(crate) struct Index {
    pub id: IndexId,
    pub tree: Tree,
    pub locks: Arc<IndexLocks>,
    /// Deleted entries that only old views want.
    pub graveyard: Graveyard,
}

impl Table {
    pub(crate) fn new(
        id: TableId,
        schema: TableSchema,
        trees: Vec<Tree>,
        state: Arc<TableState>,
        collator: Arc<dyn Collator>,
    ) -> Table {
        let primary = schema
            .primary
            .as_ref()
            .map(|p| KeyPartCodec::of(&schema, p))
            .unwrap_or_default();
        let entries = schema
            .secondary
            .iter()
            .map(|index| EntryLayout::new(&schema, index))
            .collect();
        let index = |(no, tree): (IndexNo, Tree)| Index {
            id: tree.index(),
            locks: IndexLocks::new(tree.index(), id, no),
            graveyard: Graveyard::new(&tree, no == 0),
            tree,
        };
        Table {
            id,
            layout: RowLayout::new(&schema.columns),
            primary,
            entries,
            indexes: trees.into_iter().enumerate().map(index).collect(),
            locks: TableLocks::new(id),
            state,
            schema,
            collator,
            closed: AtomicBool::new(false),
            defined: AtomicU64::new(0),
        }
    }

    pub fn id(&self) -> TableId {
        self.id
    }

    pub fn schema(&self) -> &TableSchema {
        &self.schema
    }

    pub(crate) fn locks(&self) -> &TableLocks {
        &self.locks
    }

    /// Whether somebody has the whole table locked, or its auto-increment values, or waits for that.
    pub fn is_locked(&self) -> bool {
        !self.locks.is_free()
    }

    /// The handle is of no more use: the table was dropped, or defined anew.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    pub(crate) fn set_defined(&self, at: Lsn) {
        self.defined.store(at.0, Ordering::Release);
    }

    #[inline]
    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Relaxed) {
            Err(Error::TableGone)
        } else {
            Ok(())
        }
    }

    /// Whether the view knows the table as it is: a change of its definition leaves no older versions behind.
    #[inline]
    fn check_known(&self, sight: Sight) -> Result<()> {
        match sight {
            Sight::View(view) if view.lsn.0 < self.defined.load(Ordering::Relaxed) => {
                Err(Error::DefinitionChanged)
            }
            _ => Ok(()),
        }
    }

    fn next_row_id(&self) -> Result<u64> {
        self.state.next_row_id(|| {
            let leaf = self.indexes[0].tree.read_last()?;
            let node = leaf.node();
            let last = node.count().checked_sub(1).map(|slot| node.key(slot));
            let number = last.and_then(|key| key.try_into().ok()).map(u64::from_be_bytes);
            Ok(number.unwrap_or(0))
        })
    }

    /// Appends the encoded key of the index's first `values.len()` parts.
    pub fn encode_key(&self, index: IndexNo, values: &[Datum], out: &mut Vec<u8>) -> Result<()> {
        let parts = match index {
            0 => &self.primary[..],
            n => &self.entries[n - 1].parts[..self.entries[n - 1].own],
        };
        if values.len() > parts.len() {
            return Err(Error::Unsupported("a key of more parts than its index has"));
        }
        for (part, value) in parts.iter().zip(values) {
            part.encode(*value, self.collator.as_ref(), out)?;
        }
        Ok(())
    }

    /// Shows the values of an entry's key, the clustered key's behind a secondary one's, as `LOCK_DATA` has them.
    /// Answers false if there is no such entry any more.
    pub fn show_key(&self, index: IndexNo, key: &[u8], f: &mut dyn FnMut(&[Datum])) -> Result<bool> {
        let Some(of) = self.indexes.get(index) else {
            return Ok(false);
        };
        let leaf = of.tree.read(key)?;
        let Some(value) = leaf.get(key) else {
            return Ok(false);
        };
        let Some(layout) = index.checked_sub(1).map(|n| &self.entries[n]) else {
            self.with_row(value, key, &mut |row| f(&self.key_values(&self.primary, row)));
            return Ok(true);
        };
        let stored = entry::stored_of(value).to_vec();
        drop(leaf);
        if !layout.parts.iter().all(|part| layout.covers(part.column)) {
            // What the index has a prefix of stands in the row alone, if that still has this entry.
            let primary_key = &key[layout.primary_at(key)..];
            let leaf = self.indexes[0].tree.read(primary_key)?;
            let mut shown = Ok(false);
            if let Some(value) = leaf.get(primary_key) {
                self.with_row(value, primary_key, &mut |row| {
                    shown = self.has_entry(index, row, key);
                    if let Ok(true) = shown {
                        f(&self.key_values(&layout.parts, row));
                    }
                });
            }
            if shown? {
                return Ok(true);
            }
        }
        let row = RowView::entry(layout, key, &stored);
        f(&self.key_values(&layout.parts, &row));
        Ok(true)
    }

    /// Shows the row in a clustered value.
    fn with_row(&self, value: &[u8], key: &[u8], f: &mut dyn FnMut(&RowView)) {
        let row = row_of(value);
        let outside = Outside::of(&self.indexes[0].tree, &self.layout, Head::of(value).flags, row);
        f(&RowView::row(&self.layout, key, row, &outside));
    }

    /// What a key of these parts is made of; at the end the hidden row id, if there is one.
    fn key_values<'r>(&self, parts: &[KeyPartCodec], row: &'r RowView) -> Vec<Datum<'r>> {
        let value = |part: &KeyPartCodec| match row.get(part.column) {
            Datum::Bytes(bytes) => Datum::Bytes(part.indexed(bytes, self.collator.as_ref())),
            other => other,
        };
        let mut values: Vec<_> = parts.iter().map(value).collect();
        if self.schema.primary.is_none() {
            let id = row.primary_key();
            values.push(Datum::UInt(id.iter().fold(0, |n, b| n << 8 | *b as u64)));
        }
        values
    }

    /// Whether the index alone can answer for all these columns.
    pub fn covers(&self, index: IndexNo, columns: &[usize]) -> bool {
        match index {
            0 => true,
            n => columns.iter().all(|c| self.entries[n - 1].covers(*c)),
        }
    }

    /// Reads the one row that has this whole key in a unique index. Returns whether there is one.
    pub fn get(
        &self,
        txn: &mut Transaction,
        index: IndexNo,
        key: &[u8],
        read: Read,
        f: &mut dyn FnMut(&RowView) -> Result<Keep>,
    ) -> Result<bool> {
        let Transaction { core, inner } = txn;
        self.get_row(core, inner, index, key, read, f)
    }

    /// Reads the rows of a range in index order, or backwards. With `covering`, the rows show only what the index
    /// [covers](Table::covers). An error of `f` ends the scan and is returned.
    pub fn scan(
        &self,
        txn: &mut Transaction,
        index: IndexNo,
        range: &KeyRange,
        reverse: bool,
        covering: bool,
        read: Read,
        f: &mut dyn FnMut(&RowView) -> Result<(Keep, Flow)>,
    ) -> Result<()> {
        let Transaction { core, inner } = txn;
        self.scan_rows(core, inner, index, range, reverse, covering, read, f)
    }

    /// Inserts a row, all columns given in order. After [`Error::DuplicateKey`] the row that has the key is locked
    /// shared, and part of the work may be done: the caller rolls back to the statement's (or row's) savepoint.
    pub fn insert(&self, txn: &mut Transaction, row: &[Datum]) -> Result<()> {
        self.insert_with(txn, row, DuplicateLock::Shared)
    }

    pub fn insert_with(&self, txn: &mut Transaction, row: &[Datum], lock: DuplicateLock) -> Result<()> {
        let Transaction { core, inner } = txn;
        self.insert_row(core, inner, row, lock)
    }

    /// Locks the row exclusively, shows its newest version to `f` and does what `f` says. Returns whether the row
    /// exists. May change the primary key.
    pub fn modify(
        &self,
        txn: &mut Transaction,
        primary_key: &[u8],
        f: &mut dyn FnMut(&RowView, &mut RowBuf) -> Result<Action>,
    ) -> Result<bool> {
        let Transaction { core, inner } = txn;
        self.modify_row(core, inner, primary_key, write::Came::ByKey, f)
    }

    /// [`Table::modify`] for REPLACE and ON DUPLICATE KEY UPDATE, which lock exclusively what has their new keys.
    pub fn modify_duplicate(
        &self,
        txn: &mut Transaction,
        primary_key: &[u8],
        f: &mut dyn FnMut(&RowView, &mut RowBuf) -> Result<Action>,
    ) -> Result<bool> {
        txn.inner.duplicates = DuplicateLock::Exclusive;
        let found = self.modify(txn, primary_key, f);
        txn.inner.duplicates = DuplicateLock::Shared;
        found
    }

    /// [`Table::modify`] for every row of a range. The caller sees to it that no update moves a row within `index`
    /// (it would be met again).
    pub fn modify_range(
        &self,
        txn: &mut Transaction,
        index: IndexNo,
        range: &KeyRange,
        reverse: bool,
        f: &mut dyn FnMut(&RowView, &mut RowBuf) -> Result<(Action, Flow)>,
    ) -> Result<()> {
        let Transaction { core, inner } = txn;
        self.modify_rows(core, inner, index, range, reverse, None, f)
    }

    /// [`Table::modify_range`], forwards, for an UPDATE: under READ COMMITTED and below, a row of the clustered index
    /// that somebody else has locked is judged by `matches` as it was last committed, and passed over if it does not
    /// match so. Otherwise it is waited for, and `f` decides.
    pub fn update_range(
        &self,
        txn: &mut Transaction,
        index: IndexNo,
        range: &KeyRange,
        matches: &mut dyn FnMut(&RowView) -> Result<bool>,
        f: &mut dyn FnMut(&RowView, &mut RowBuf) -> Result<(Action, Flow)>,
    ) -> Result<()> {
        let Transaction { core, inner } = txn;
        self.modify_rows(core, inner, index, range, false, Some(matches), f)
    }

    /// Locks the rows of a range exclusively for a statement that changes them afterwards; about `matches`,
    /// which an UPDATE in no order has, see [`Table::update_range`].
    pub fn scan_to_change(
        &self,
        txn: &mut Transaction,
        index: IndexNo,
        range: &KeyRange,
        reverse: bool,
        matches: Option<&mut dyn FnMut(&RowView) -> Result<bool>>,
        f: &mut dyn FnMut(&RowView) -> Result<(Keep, Flow)>,
    ) -> Result<()> {
        let Transaction { core, inner } = txn;
        // Each for a lifetime of its own, which an `Option` cannot give it.
        let judge: Option<locking::Judge<'_>> = match matches {
            Some(matches) => Some(matches),
            None => None,
        };
        self.scan_rows_to_change(core, inner, index, range, reverse, judge, f)
    }

    /// Takes `n` consecutive values off the counter: the first of them is returned, and each next one is `step`
    /// further. Values are congruent to `offset` modulo `step`, as with auto_increment_increment and _offset.
    pub fn auto_increment_reserve(&self, n: u64, step: u64, offset: u64) -> Result<u64> {
        self.state.reserve(n, step, offset)
    }

    /// The same, unless another has the table locked with [`LockMode::AutoIncrement`](crate::LockMode), or waits for
    /// that: so the values reserved under that lock follow each other without gaps.
    pub fn auto_increment_reserve_unlocked(
        &self,
        txn: &Transaction,
        n: u64,
        step: u64,
        offset: u64,
    ) -> Result<Option<u64>> {
        let taken = || txn.core.locks.counts_alone(self.locks());
        self.state.reserve_unless(taken, n, step, offset)
    }

    /// [`Self::auto_increment_observe`] under the same condition; false if it was not met, and the counter is not moved.
    pub fn auto_increment_observe_unlocked(&self, txn: &Transaction, value: u64) -> Result<bool> {
        let taken = || txn.core.locks.counts_alone(self.locks());
        self.state.observe_unless(taken, value)
    }

    /// The value that would be reserved now. It stays so while all who use the counter lock the table first.
    pub fn auto_increment_next(&self, step: u64, offset: u64) -> Result<u64> {
        self.state.next_value(step, offset)
    }

    /// A row was given this value explicitly: the counter goes on above it.
    pub fn auto_increment_observe(&self, value: u64) -> Result<()> {
        self.state.observe(value)
    }

    /// `ALTER TABLE … AUTO_INCREMENT = value`.
    pub fn auto_increment_set(&self, value: u64) -> Result<()> {
        self.state.set(value)
    }

    /// The next value.
    pub fn auto_increment_peek(&self) -> u64 {
        self.state.peek()
    }

    /// About how many rows there are.
    pub fn estimate_rows(&self) -> u64 {
        self.indexes[0].tree.estimate_all().unwrap_or(0)
    }

    /// About how many entries of the index lie in the range.
    pub fn estimate_range(&self, index: IndexNo, range: &KeyRange) -> u64 {
        let Some(span) = range::Span::of(range) else {
            return 0;
        };
        let upper = span.upper.as_deref().unwrap_or(&[]);
        self.indexes[index]
            .tree
            .estimate_range(&span.lower, upper)
            .unwrap_or(0)
    }

    /// About how many rows share a value of the index's first `parts` parts.
    pub fn records_per_key(&self, index: IndexNo, parts: usize) -> f64 {
        let unique = self
            .schema
            .index(index)
            .is_none_or(|i| i.unique && parts >= i.parts.len());
        if unique || parts == 0 {
            return if unique { 1.0 } else { self.estimate_rows() as f64 };
        }
        self.sample_records_per_key(index, parts).unwrap_or(1.0)
    }

    /// Counts how often the first parts change within a few leaves spread over the index.
    fn sample_records_per_key(&self, index: IndexNo, parts: usize) -> Result<f64> {
        let codecs = match index {
            0 => &self.primary[..],
            n => &self.entries[n - 1].parts[..],
        };
        let prefix = |key: &[u8]| {
            codecs[..parts]
                .iter()
                .fold(0, |at, p| at + p.skip(&key[at..]).unwrap_or(key.len() - at))
        };
        let tree = &self.indexes[index].tree;
        let (mut entries, mut values) = (0u64, 0u64);
        let mut leaf = tree.read(&[])?;
        let mut fence = Vec::new();
        for _ in 0..LEAVES_SAMPLED {
            let node = leaf.node();
            let mut last: Option<&[u8]> = None;
            for slot in 0..node.count() {
                let key = node.key(slot);
                let value = &key[..prefix(key)];
                entries += 1;
                values += (last != Some(value)) as u64;
                last = Some(value);
            }
            match leaf.next(&mut fence)? {
                Some((next, _)) => leaf = next,
                None => break,
            }
        }
        Ok(if values == 0 {
            1.0
        } else {
            entries as f64 / values as f64
        })
    }

    /// About how many bytes its pages take: the clustered index, and the secondary ones.
    pub fn size_bytes(&self) -> (u64, u64) {
        let size = |index: &Index| -> Result<u64> {
            let leaf_entries = index.tree.read(&[])?.node().count().max(1) as u64;
            Ok((index.tree.estimate_all()? / leaf_entries + 1) * PAGE_SIZE as u64)
        };
        let size = |index| size(index).unwrap_or(0);
        (size(&self.indexes[0]), self.indexes[1..].iter().map(size).sum())
    }
}

/// Leaves that a sample looks at.
const LEAVES_SAMPLED: usize = 8;
