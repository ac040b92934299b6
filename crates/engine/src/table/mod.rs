//! Tables: a clustered index that holds the rows, and secondary indexes that lead to it.
//!
//! ```text
//!            access: get, scan, insert, modify …                      a transaction's calls
//!        ┌────────────────┬──────────────┬───────────────────┐
//!     read::Reader   locking::Cursor  write::Writer          │
//!     consistent     locking scans    inserts, changes       │
//!        │                │              │                   ▼
//!        │   ┌────────────┴──────────────┤              deleted: what deleted entries tell,
//!        ▼   ▼                           ▼              and where purge puts them
//!   ┌─────────────────────┐   ┌─────────────────────────┐   ┌───────────┐
//!   │ clustered index     │◄──┤ secondary index         │   │ graveyard │  one beside each index,
//!   │ primary key → row   │   │ parts, primary key →    │   │           │  for old views alone
//!   └──────────┬──────────┘   └─────────────────────────┘   └───────────┘
//!              └─► outside: columns too long for their row
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `range` | ranges of keys |
//! | `key`, `row`, `entry` | how keys, rows and the heads of entries are encoded |
//! | `layouts` | rows of before columns came and went |
//! | `outside` | columns too long for their row |
//! | `secondary` | which entries a row has |
//! | `deleted` | deleted entries: what a reader can tell from them, and how purge takes them out |
//! | `read`, `locking` | consistent reads, locking reads |
//! | `write` | rows added and changed |
//! | `state` | counters that outlive a definition |
//! | `index` | an index, and what of it outlives a definition |
//! | `building` | an index that is being built while others write |
//! | `estimate`, `sample` | estimates for a planner; rows for statistics |

mod building;
mod deleted;
mod entry;
mod estimate;
mod index;
mod key;
mod layouts;
#[cfg(test)]
mod layouts_tests;
mod locking;
mod outside;
mod range;
mod read;
mod reader;
mod row;
#[cfg(test)]
mod row_fuzz;
mod sample;
mod secondary;
mod state;
mod usage;
mod write;

pub use estimate::PrefixSample;
pub use index::SizeRange;
pub use key::{BinaryCollator, Collator, KEY_BYTES_MAX};
pub use range::KeyRange;
pub use row::RowView;
pub use sample::SampledRow;
pub use usage::TableUsage;

pub(crate) use building::{Access, Building, Phase};
pub(crate) use deleted::{AT_ONCE, Buried, HELD_MAX, relink};
pub(crate) use entry::{
    DELETED, EntryHead, Head, OUTSIDE, ROW_AT, STORED_AT, row_of, row_version, stored_of,
};
pub(crate) use index::Index;
pub(crate) use locking::key_behind;
pub(crate) use outside::{Outside, first_page};
pub(crate) use row::stored_value;
pub use state::Sequence;
pub(crate) use state::{Counters, StoredCounter, TableState};
pub(crate) use usage::{Change, Usage};

use crate::error::{Error, Result};
use crate::garbage::Garbage;
use crate::ids::{IndexId, IndexNo, Lsn, PageId, TableId};
use crate::lock::{LockWait, TableLocks};
use crate::schema::{Datum, IndexSchema, Shape, TableSchema};
use crate::tree::Tree;
use crate::txn::Sight;
use key::KeyPartCodec;
use layouts::RowLayouts;
use range::Span;
use row::{EntryLayout, WrongColumn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes in the hidden row id that clusters a table without a primary key.
pub(crate) const ROW_ID_BYTES: usize = 8;

/// Which entries of a table a scan visits, and how.
#[derive(Clone, Copy, Debug)]
pub struct RangeScan<'r> {
    /// The index that is scanned; 0 is the clustered one.
    pub index: IndexNo,
    /// The entries of that index.
    pub range: &'r KeyRange,
    /// From the end of the range to its beginning.
    pub reverse: bool,
    /// Rows show only what the index [covers](Table::covers), so that they need not be looked up.
    pub covering: bool,
    /// If the index has a list among its parts: a row is shown for the first of its entries in these ranges alone, which are those of
    /// this scan and of others that belong together, in ascending order, or if `reverse` in descending order. Empty: for each entry.
    pub once: &'r [KeyRange],
    /// Where the range ends is known from rows and not from the index's entries, so that a locking read locks the row behind it as well.
    pub by_rows: bool,
    /// Goes on where a scan of the same range has stopped: behind the entry with this key.
    pub after: Option<&'r [u8]>,
}

impl<'r> RangeScan<'r> {
    /// A scan of a range in index order, showing whole rows.
    pub fn new(index: IndexNo, range: &'r KeyRange) -> RangeScan<'r> {
        RangeScan {
            index,
            range,
            reverse: false,
            covering: false,
            once: &[],
            by_rows: false,
            after: None,
        }
    }

    /// Sets whether the scan goes backwards.
    pub fn reverse(self, reverse: bool) -> RangeScan<'r> {
        RangeScan { reverse, ..self }
    }

    /// Sets whether rows show only the columns that the index [covers](Table::covers).
    pub fn covering(self, covering: bool) -> RangeScan<'r> {
        RangeScan { covering, ..self }
    }

    /// Sets which scans together show each row [once](RangeScan::once).
    pub fn once(self, once: &'r [KeyRange]) -> RangeScan<'r> {
        RangeScan { once, ..self }
    }

    /// Sets whether the end of the range is known [from rows](RangeScan::by_rows) alone.
    pub fn by_rows(self, by_rows: bool) -> RangeScan<'r> {
        RangeScan { by_rows, ..self }
    }

    /// Sets [where](RangeScan::after) the scan goes on.
    pub fn after(self, after: Option<&'r [u8]>) -> RangeScan<'r> {
        RangeScan { after, ..self }
    }

    /// The keys that are left to be visited; `None` if there are none for certain.
    fn span(&self) -> Option<Span> {
        let mut span = Span::of(self.range)?;
        if let Some(key) = self.after {
            span.go_on_after(key, self.reverse);
        }
        Some(span)
    }
}

/// What a read sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// A consistent read in the transaction's view; takes no lock and never waits.
    Consistent,
    /// The newest committed row, which stays locked.
    Locking {
        /// Exclusive (`FOR UPDATE`) rather than shared (`FOR SHARE`).
        exclusive: bool,
        /// What to do about a row that another transaction has locked.
        wait: LockWait,
    },
}

/// Whether a scan goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the next row.
    Continue,
    /// The scan ends.
    Stop,
}

/// What becomes of the lock on the row just read. A consistent read has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// It stays, to the end of the transaction.
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
    /// Like [`Action::Keep`], and it counts as a change when a deadlock's victim is chosen.
    Touch,
    /// The row takes the values set in the [`RowBuf`](crate::RowBuf).
    Update,
    /// The row is deleted.
    Delete,
}

/// An open table. Cheap to keep and share; goes stale ([`Error::TableGone`]) when the table is dropped.
pub struct Table {
    id: TableId,
    schema: TableSchema,
    collator: Arc<dyn Collator>,
    pub(crate) layouts: RowLayouts,
    primary: Vec<KeyPartCodec>,
    pub(crate) entries: Vec<EntryLayout>,
    /// The clustered index first, those that are being built last: the definition does not have them, so only writers, undo and
    /// purge look at them.
    pub(crate) indexes: Vec<Index>,
    locks: TableLocks,
    pub(crate) state: Arc<TableState>,
    garbage: Arc<Garbage>,
    closed: AtomicBool,
    pub(crate) usage: Usage,
}

impl Table {
    pub(crate) fn new(
        id: TableId,
        shape: Shape,
        trees: Vec<Tree>,
        state: Arc<TableState>,
        collator: Arc<dyn Collator>,
        garbage: Arc<Garbage>,
    ) -> Table {
        let layouts = RowLayouts::new(&shape);
        let schema = shape.schema;
        let unique = |no: IndexNo| schema.index(no).is_none_or(|index| index.unique);
        let indexes = trees.into_iter().enumerate();
        let indexes = indexes
            .map(|(no, tree)| Index::new(id, no, tree, unique(no)))
            .collect();
        Table {
            id,
            layouts,
            primary: schema
                .primary
                .as_ref()
                .map(|p| KeyPartCodec::of(&schema, p))
                .unwrap_or_default(),
            entries: schema
                .secondary
                .iter()
                .map(|index| EntryLayout::new(&schema, index))
                .collect(),
            indexes,
            locks: TableLocks::new(id),
            usage: Usage::new(1 + schema.secondary.len()),
            state,
            garbage,
            schema,
            collator,
            closed: AtomicBool::new(false),
        }
    }

    /// The same table by another definition: what is in both is carried over. `trees` are those of the definition's indexes,
    /// the clustered one first. If columns come or go, views of before know none of its indexes any more.
    pub(crate) fn redefined(&self, shape: Shape, trees: Vec<Tree>) -> Table {
        let mut table = Table::new(
            self.id,
            shape,
            trees,
            self.state.clone(),
            self.collator.clone(),
            self.garbage.clone(),
        );
        for (no, index) in table.indexes.iter_mut().enumerate() {
            if let Some(before) = self.indexes.iter().find(|before| before.id == index.id) {
                *index = before.carried_over(no);
            }
            if table.layouts.version() != self.layouts.version() {
                index.forget_defined();
            }
        }
        table.locks = self.locks.clone();
        table
    }

    /// Adds an index that is being built behind those of the definition; its number.
    pub(crate) fn add_building(
        &mut self,
        index: &IndexSchema,
        tree: Tree,
        building: Arc<Building>,
    ) -> IndexNo {
        let no = self.indexes.len();
        self.entries.push(EntryLayout::new(&self.schema, index));
        let mut new = Index::new(self.id, no, tree, index.unique);
        new.building = Some(building);
        self.indexes.push(new);
        no
    }

    /// The table's id, never used twice.
    pub fn id(&self) -> TableId {
        self.id
    }

    /// The definition.
    pub fn schema(&self) -> &TableSchema {
        &self.schema
    }

    /// How often columns have come or gone while the rows stayed as they were, up to [`ROW_VERSIONS_MAX`](crate::ROW_VERSIONS_MAX).
    pub fn row_versions(&self) -> usize {
        self.layouts.version()
    }

    pub(crate) fn locks(&self) -> &TableLocks {
        &self.locks
    }

    /// The number and the root page of each index, the clustered one first; those that are being built are left out.
    pub fn trees(&self) -> Vec<(IndexId, PageId)> {
        let built = self.indexes.iter().filter(|index| index.building.is_none());
        built.map(|index| (index.id, index.tree.root())).collect()
    }

    /// True if a transaction holds or waits for a lock on the whole table, or on its auto-increment values.
    pub fn is_locked(&self) -> bool {
        !self.locks.is_free()
    }

    /// Marks the handle as stale: the table was dropped, or has a new definition.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// The definition is committed: views older than `at` do not know what came with it.
    pub(crate) fn set_defined(&self, at: Lsn) {
        self.indexes.iter().for_each(|index| index.set_defined(at));
    }

    #[inline]
    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            Err(Error::TableGone)
        } else {
            Ok(())
        }
    }

    /// Fails if the table has no such index.
    #[inline]
    pub(crate) fn check_index(&self, index: IndexNo) -> Result<()> {
        match index <= self.schema.secondary.len() {
            true => Ok(()),
            false => Err(Error::Unsupported("an index that the table does not have")),
        }
    }

    /// Whether the view knows the index: one that came with a change of the definition has no older versions.
    #[inline]
    fn check_known(&self, sight: Sight, index: IndexNo) -> Result<()> {
        match sight {
            Sight::View(view) if !self.indexes[index].is_known_to(&view) => Err(Error::DefinitionChanged),
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
        self.check_index(index)?;
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

    /// Appends how the keys of an index begin whose first parts are `values`, and the form of whose next part begins with the bytes `head`: a
    /// text's, which is its sort key. [`KeyRange::prefix`] of it finds them all.
    pub fn encode_key_head(
        &self,
        index: IndexNo,
        values: &[Datum],
        head: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        self.encode_key(index, values, out)?;
        let parts = match index {
            0 => &self.primary[..],
            n => &self.entries[n - 1].parts[..self.entries[n - 1].own],
        };
        if let Some(part) = parts.get(values.len()) {
            part.encode_head(head, out);
        }
        Ok(())
    }

    /// Calls `f` with the values of an entry's key, followed by the clustered key's for a secondary entry, as
    /// `LOCK_DATA` shows them. Returns false if there is no such entry any more, or no such index.
    pub fn show_key(&self, index: IndexNo, key: &[u8], f: &mut dyn FnMut(&[Datum])) -> Result<bool> {
        let Some(of) = self.indexes.get(index).filter(|of| of.building.is_none()) else {
            return Ok(false);
        };
        let leaf = of.tree.read(key)?;
        let Some(value) = leaf.get(key) else {
            return Ok(false);
        };
        let Some(layout) = index.checked_sub(1).map(|n| &self.entries[n]) else {
            self.with_row(value, key, &mut |row| {
                f(&self.key_values(&self.primary, key, row))
            });
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
                        f(&self.key_values(&layout.parts, key, row));
                    }
                });
            }
            if shown? {
                return Ok(true);
            }
        }
        // A part that is a prefix is shown as NULL if the row has gone.
        let wrong = WrongColumn::default();
        let row = RowView::entry(layout, key, &stored, &wrong);
        f(&self.key_values(&layout.parts, key, &row));
        Ok(true)
    }

    /// Shows the row in a clustered value.
    fn with_row(&self, value: &[u8], key: &[u8], f: &mut dyn FnMut(&RowView)) {
        let row = row_of(value);
        let outside = Outside::of(self, Head::of(value).flags, row);
        f(&RowView::row(key, row, &outside));
    }

    /// What a key of these parts is made of; at the end the hidden row id, if there is one.
    fn key_values<'r>(&self, parts: &[KeyPartCodec], key: &[u8], row: &'r RowView) -> Vec<Datum<'r>> {
        let mut rest = key;
        let value = |part: &KeyPartCodec| {
            let own = rest;
            rest = &rest[part.skip(rest).unwrap_or(rest.len())..];
            match (part.list, row.get(part.column)) {
                (Some(element), Datum::Bytes(list)) => {
                    let mut encoded = Vec::new();
                    let mut values = element.values(list);
                    let listed = values.find(|value| {
                        encoded.clear();
                        let done = part.encode(*value, self.collator.as_ref(), &mut encoded);
                        done.is_ok() && own.starts_with(&encoded)
                    });
                    listed.unwrap_or(Datum::Null)
                }
                (None, Datum::Bytes(bytes)) => Datum::Bytes(part.indexed(bytes, self.collator.as_ref())),
                (_, other) => other,
            }
        };
        let mut values: Vec<_> = parts.iter().map(value).collect();
        if self.schema.primary.is_none() {
            let id = row.primary_key();
            values.push(Datum::UInt(id.iter().fold(0, |n, b| n << 8 | *b as u64)));
        }
        values
    }

    /// True if the index alone has the values of all these columns. False for an index or a column that the table does not
    /// have.
    pub fn covers(&self, index: IndexNo, columns: &[usize]) -> bool {
        match index {
            0 => columns.iter().all(|c| *c < self.schema.columns.len()),
            n => self.entries[..self.schema.secondary.len()]
                .get(n - 1)
                // Of an empty list there is no entry that could stand for the row, and of others there are several.
                .is_some_and(|entry| entry.list.is_none() && columns.iter().all(|c| entry.covers(*c))),
        }
    }

    /// Takes `n` consecutive values of the sequence off the counter, and returns the first of them.
    pub fn auto_increment_reserve(&self, n: u64, sequence: Sequence) -> Result<u64> {
        self.state.reserve(n, sequence)
    }

    /// The value that would be reserved now. It stays the same as long as all users of the counter lock the table
    /// first.
    pub fn auto_increment_next(&self, sequence: Sequence) -> Result<u64> {
        self.state.next_value(sequence)
    }

    /// Notes that a row was given this value explicitly: the counter continues above it.
    pub fn auto_increment_observe(&self, value: u64, sequence: Sequence) -> Result<()> {
        self.state.observe(value, sequence)
    }

    /// `ALTER TABLE … AUTO_INCREMENT = value`.
    pub fn auto_increment_set(&self, value: u64) -> Result<()> {
        self.state.set(value)
    }

    /// The next value.
    pub fn auto_increment_peek(&self) -> u64 {
        self.state.peek()
    }
}
