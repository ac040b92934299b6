//! Tables: a clustered index that holds the rows, and secondary indexes that lead to it.

mod key;
mod range;
mod row;
mod schema;
#[cfg(test)]
pub(crate) mod testing;

pub use key::{BinaryCollator, Collator, KEY_BYTES_MAX};
pub use range::KeyRange;
pub use row::{RowBuf, RowView};
pub use schema::{Column, ColumnType, Datum, IndexNo, IndexSchema, KeyPart, TableSchema};

use crate::error::{Error, Result};
use crate::ids::TableId;
use crate::transaction::Transaction;
use key::KeyPartCodec;
use row::{EntryLayout, RowLayout};
use std::sync::Arc;

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

/// An open table. Cheap to keep and share; goes stale ([`Error::TableGone`]) when the table is dropped.
pub struct Table {
    id: TableId,
    schema: TableSchema,
    collator: Arc<dyn Collator>,
    layout: RowLayout,
    primary: Vec<KeyPartCodec>,
    entries: Vec<EntryLayout>,
}

impl Table {
    pub fn id(&self) -> TableId {
        self.id
    }

    pub fn schema(&self) -> &TableSchema {
        &self.schema
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
        let _ = (txn, index, key, read, f, &self.layout);
        Err(Error::Unsupported("get"))
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
        let _ = (txn, index, range, reverse, covering, read, f);
        Err(Error::Unsupported("scan"))
    }

    /// Inserts a row, all columns given in order. After [`Error::DuplicateKey`] the row that has the key is locked
    /// shared, and part of the work may be done: the caller rolls back to the statement's (or row's) savepoint.
    pub fn insert(&self, txn: &mut Transaction, row: &[Datum]) -> Result<()> {
        self.insert_with(txn, row, DuplicateLock::Shared)
    }

    pub fn insert_with(&self, txn: &mut Transaction, row: &[Datum], lock: DuplicateLock) -> Result<()> {
        let _ = (txn, row, lock);
        Err(Error::Unsupported("insert"))
    }

    /// Locks the row exclusively, shows its newest version to `f` and does what `f` says. Returns whether the row
    /// exists. May change the primary key.
    pub fn modify(
        &self,
        txn: &mut Transaction,
        primary_key: &[u8],
        f: &mut dyn FnMut(&RowView, &mut RowBuf) -> Result<Action>,
    ) -> Result<bool> {
        let _ = (txn, primary_key, f);
        Err(Error::Unsupported("modify"))
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
        let _ = (txn, index, range, reverse, f);
        Err(Error::Unsupported("modify_range"))
    }

    /// Takes `n` consecutive values off the counter: the first of them is returned, and each next one is `step`
    /// further. Values are congruent to `offset` modulo `step`, as with auto_increment_increment and _offset.
    pub fn auto_increment_reserve(&self, n: u64, step: u64, offset: u64) -> Result<u64> {
        let _ = (n, step, offset);
        Err(Error::Unsupported("auto_increment_reserve"))
    }

    /// A row was given this value explicitly: the counter goes on above it.
    pub fn auto_increment_observe(&self, value: u64) {
        let _ = value;
    }

    /// `ALTER TABLE … AUTO_INCREMENT = value`.
    pub fn auto_increment_set(&self, value: u64) -> Result<()> {
        let _ = value;
        Ok(())
    }

    /// The next value.
    pub fn auto_increment_peek(&self) -> u64 {
        1
    }

    /// About how many rows there are.
    pub fn estimate_rows(&self) -> u64 {
        0
    }

    /// About how many entries of the index lie in the range.
    pub fn estimate_range(&self, index: IndexNo, range: &KeyRange) -> u64 {
        let _ = (index, range);
        0
    }

    /// About how many rows share a value of the index's first `parts` parts.
    pub fn records_per_key(&self, index: IndexNo, parts: usize) -> f64 {
        let _ = (index, parts);
        1.0
    }

    /// About how many bytes its pages take: the clustered index, and the secondary ones.
    pub fn size_bytes(&self) -> (u64, u64) {
        (0, 0)
    }
}
