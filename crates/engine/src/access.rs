//! Reading and writing the rows of a table in a transaction: the part of [`Table`] that takes a [`Transaction`].
//!
//! Callbacks run under the latch of the leaf where the row lies. They must be short, must not wait, and must not call the
//! engine: they copy out what they want.

use crate::error::Result;
use crate::failpoint;
use crate::ids::IndexNo;
use crate::lock::DuplicateLock;
use crate::schema::{Datum, RowBuf};
use crate::table::{Action, Flow, Keep, RangeScan, Read, RowView, Sequence, Table, TableUsage};
use crate::tally::{self, Event};
use crate::transaction::Transaction;

impl Table {
    /// Reads the one row that has this whole key in a unique index. Returns whether there is one.
    pub fn get(
        &self,
        txn: &mut Transaction,
        index: IndexNo,
        key: &[u8],
        read: Read,
        f: &mut dyn FnMut(&RowView) -> Result<Keep>,
    ) -> Result<bool> {
        let mut txn = txn.txn();
        let found = self.get_row(&mut txn, index, key, read, f)?;
        if found {
            tally::count(Event::RowRead, 1);
            self.usage.read(Some(index), 1);
        }
        Ok(found)
    }

    /// Counts rows that a scan has read by an index, or, with `None`, in going through the whole table.
    #[inline]
    pub fn count_reads(&self, index: Option<IndexNo>, rows: u64) {
        self.usage.read(index, rows);
    }

    /// What was done with its rows since its definition was read or changed.
    pub fn usage(&self) -> TableUsage {
        self.usage.sums()
    }

    /// What [`Table::usage`] counts begins anew.
    pub fn forget_usage(&self) {
        self.usage.begin_anew();
    }

    /// Reads the rows that a scan visits. An error of `f` ends the scan and is returned.
    pub fn scan(
        &self,
        txn: &mut Transaction,
        scan: &RangeScan<'_>,
        read: Read,
        f: &mut dyn FnMut(&RowView) -> Result<(Keep, Flow)>,
    ) -> Result<()> {
        self.scan_rows(&mut txn.txn(), scan, read, f)
    }

    /// Inserts a row, all columns given in order. After [`Error::DuplicateKey`](crate::Error::DuplicateKey) the row that
    /// has the key is locked shared, and part of the work may be done: the caller rolls back to the statement's (or row's)
    /// savepoint.
    pub fn insert(&self, txn: &mut Transaction, row: &[Datum]) -> Result<()> {
        self.insert_with(txn, row, DuplicateLock::Shared)
    }

    /// [`Table::insert`], locking a duplicate as `lock` says.
    pub fn insert_with(&self, txn: &mut Transaction, row: &[Datum], lock: DuplicateLock) -> Result<()> {
        failpoint::reach("engine");
        self.insert_row(&mut txn.txn(), row, lock)
    }

    /// Locks the row exclusively, shows its newest version to `f` and does what `f` says. Returns whether the row
    /// exists. May change the primary key.
    pub fn modify(
        &self,
        txn: &mut Transaction,
        primary_key: &[u8],
        f: &mut dyn FnMut(&RowView, &mut RowBuf) -> Result<Action>,
    ) -> Result<bool> {
        let found = self.modify_row(&mut txn.txn(), primary_key, f)?;
        self.usage.read(Some(0), u64::from(found));
        Ok(found)
    }

    /// [`Table::modify`] for REPLACE and ON DUPLICATE KEY UPDATE, which lock exclusively what has their new keys.
    pub fn modify_duplicate(
        &self,
        txn: &mut Transaction,
        primary_key: &[u8],
        f: &mut dyn FnMut(&RowView, &mut RowBuf) -> Result<Action>,
    ) -> Result<bool> {
        txn.txn().duplicates = DuplicateLock::Exclusive;
        let found = self.modify(txn, primary_key, f);
        txn.txn().duplicates = DuplicateLock::Shared;
        found
    }

    /// [`Table::modify`] for every row that a scan visits. The caller sees to it that no update moves a row within the index
    /// (it would be visited again).
    pub fn modify_range(
        &self,
        txn: &mut Transaction,
        scan: &RangeScan<'_>,
        f: &mut dyn FnMut(&RowView, &mut RowBuf) -> Result<(Action, Flow)>,
    ) -> Result<()> {
        self.modify_rows(&mut txn.txn(), scan, None, f)
    }

    /// [`Table::modify_range`] for an UPDATE: under READ COMMITTED and below, a row of the clustered index that another
    /// transaction has locked is matched by `matches` as it was last committed, and passed over if it does not match. If it
    /// does, it is waited for, and `f` decides.
    pub fn update_range(
        &self,
        txn: &mut Transaction,
        scan: &RangeScan<'_>,
        matches: &mut dyn FnMut(&RowView) -> Result<bool>,
        f: &mut dyn FnMut(&RowView, &mut RowBuf) -> Result<(Action, Flow)>,
    ) -> Result<()> {
        self.modify_rows(&mut txn.txn(), scan, Some(matches), f)
    }

    /// Locks the rows that a scan visits exclusively, for a statement that changes them afterwards; about `matches`, which
    /// an UPDATE in no order has, see [`Table::update_range`].
    pub fn scan_to_change(
        &self,
        txn: &mut Transaction,
        scan: &RangeScan<'_>,
        matches: Option<&mut dyn FnMut(&RowView) -> Result<bool>>,
        f: &mut dyn FnMut(&RowView) -> Result<(Keep, Flow)>,
    ) -> Result<()> {
        // Each for a lifetime of its own, which an `Option` cannot give it.
        let matches: Option<&mut dyn FnMut(&RowView) -> Result<bool>> = match matches {
            Some(matches) => Some(matches),
            None => None,
        };
        self.scan_rows_to_change(&mut txn.txn(), scan, matches, f)
    }

    /// Like [`Self::auto_increment_reserve`], but `None`, with nothing reserved, if another transaction holds or waits
    /// for the table's [`LockMode::AutoIncrement`](crate::LockMode): so the values reserved under that lock are
    /// consecutive.
    pub fn auto_increment_reserve_unlocked(
        &self,
        txn: &Transaction,
        n: u64,
        sequence: Sequence,
    ) -> Result<Option<u64>> {
        let taken = || txn.kernel().locks.counts_alone(self.locks());
        self.state.reserve_unless(taken, n, sequence)
    }

    /// Like [`Self::auto_increment_observe`], but false, with the counter unchanged, if another transaction holds or
    /// waits for the table's [`LockMode::AutoIncrement`](crate::LockMode).
    pub fn auto_increment_observe_unlocked(
        &self,
        txn: &Transaction,
        value: u64,
        sequence: Sequence,
    ) -> Result<bool> {
        let taken = || txn.kernel().locks.counts_alone(self.locks());
        self.state.observe_unless(taken, value, sequence)
    }
}
