//! Writing rows: new ones, changed ones, deleted ones, and their entries in secondary indexes.
//!
//! ```text
//!   Table::insert       Table::modify, modify_range, update_range
//!        │                         │
//!   Writer::insert_row        Writer::modify_row ── change: shows the row, works out what changes
//!        │                         │
//!        │   one mini-transaction on the clustered leaf, with an undo note: the writer's id in the row is its lock
//!        ▼                         ▼
//!   Writer::put_entry, mark_entry: one mini-transaction for each secondary index whose key changed, without notes
//! ```
//!
//! The secondary entries need no undo notes: what is to be undone in them follows from the row. The writer's id in the row is
//! the exclusive lock, so a change needs no lock object, unless the leaf must be released between the look at the row and
//! the change of it (to split it, to write columns outside the row): then an object bridges the gap.
//!
//! | file | idea |
//! |---|---|
//! | `insert` | a new row, also over one that is marked deleted |
//! | `update` | one row that is there |
//! | `change` | working out a change, before anything is changed |
//! | `entries` | entries of secondary indexes |

mod change;
mod entries;
mod insert;
mod update;

use super::entry::Head;
use super::locking::{Matches, Visit};
use super::read::{Show, locking};
use super::row::RowView;
use super::{Action, Flow, Keep, RangeScan, Table};
use crate::error::{Error, Result};
use crate::ids::{IndexNo, TxnId};
use crate::kernel::Kernel;
use crate::lock::{DuplicateLock, LockWait};
use crate::log::TxnNote;
use crate::mvcc::{self, Address, Chain, Version, VersionBuffer};
use crate::schema::{Datum, RowBuf};
use crate::tree::LeafWrite;
use crate::txn::{Txn, Undo, difference, undo_bytes_of};
use parking_lot::Mutex;

/// A transaction at work in one table.
pub(super) struct Writer<'w, 'k> {
    pub table: &'w Table,
    pub txn: &'w mut Txn<'k>,
}

/// How a row that is to be changed was found.
#[derive(Clone, Copy)]
pub(super) enum FoundBy<'k> {
    Key,
    /// A scan of the clustered index has locked it.
    LockedScan,
    /// It is meant only if it still has this entry in this index.
    Entry(IndexNo, &'k [u8]),
    /// It gets another primary key, and is deleted where it was.
    Move,
}

impl<'w, 'k> Writer<'w, 'k> {
    /// Begins to write: gives the transaction its id and takes the table's intention lock.
    fn start(table: &'w Table, txn: &'w mut Txn<'k>) -> Result<Writer<'w, 'k>> {
        txn.start_write_to(&table.locks)?;
        table.check_open()?;
        Ok(Writer { table, txn })
    }

    /// Puts the note in `txn.buffers.note` into the leaf's mini-transaction and ends it.
    pub(super) fn finish_write(&mut self, mut leaf: LeafWrite<'_>) -> Result<()> {
        leaf.mtr().note(TxnNote::Undo {
            txn: self.txn.id,
            prev: self.txn.last_undo,
            payload: &self.txn.buffers.note,
        });
        let lsn = leaf.finish();
        self.txn.wrote(lsn.start, undo_bytes_of(lsn));
        Ok(())
    }

    pub(super) fn note_replace(&mut self, key: &[u8], old: &[u8], new: &[u8]) {
        let (front, back) = difference(old, new);
        self.txn.buffers.note.clear();
        let middle = &old[front..old.len() - back];
        Undo::Replace {
            table: self.table.id,
            key,
            front,
            back,
            middle,
        }
        .encode(&mut self.txn.buffers.note);
    }

    /// Saves the row's present version before this transaction changes it, if any view may need it, and leaves a purge
    /// task. Returns what the changed row's `older` will be. The caller holds the leaf's latch.
    pub(super) fn supersede(
        &mut self,
        old: &Head,
        key: &[u8],
        columns: &[u8],
        indexes: u64,
        purge_row: bool,
    ) -> Result<Address> {
        let own = old.writer == self.txn.id;
        let mut flags = 0;
        if !own {
            flags |= mvcc::LINKED;
        }
        if indexes != 0 || purge_row {
            flags |= mvcc::PURGE;
        }
        if purge_row {
            flags |= mvcc::ROW;
        }
        if old.is_deleted() {
            flags |= mvcc::DELETED;
        }
        if flags & (mvcc::LINKED | mvcc::PURGE) == 0 {
            return Ok(old.older);
        }
        let versions = self.txn.kernel.mvcc.versions();
        let chain = match own {
            true => Chain::NONE,
            false => self.txn.kernel.mvcc.prune(old.writer, old.older)?,
        };
        let version = Version {
            flags,
            row_flags: old.flags,
            writer: old.writer,
            superseder: self.txn.id,
            older: chain.first,
            table: self.table.id,
            indexes,
            pruner_mark: chain.pruner_mark,
            below: chain.len,
        };
        let address = self
            .txn
            .versions
            .lock()
            .append(&versions, &version, key, columns)?;
        if !own && chain.dropped_until != old.older {
            // The row will lead to the new version, and nothing to the discarded ones. If marking them as garbage
            // fails, they go with their page.
            let _ = versions.discard_until(old.older, chain.dropped_until);
        }
        Ok(if own { old.older } else { address })
    }
}

impl Table {
    /// See [`Table::insert`].
    pub(crate) fn insert_row(&self, txn: &mut Txn<'_>, row: &[Datum], lock: DuplicateLock) -> Result<()> {
        Writer::start(self, txn)?.insert_row(row, lock)
    }

    /// See [`Table::modify`].
    pub(crate) fn modify_row(
        &self,
        txn: &mut Txn<'_>,
        primary_key: &[u8],
        f: &mut dyn FnMut(&RowView, &mut RowBuf) -> Result<Action>,
    ) -> Result<bool> {
        Writer::start(self, txn)?.modify_row(primary_key, FoundBy::Key, f)
    }

    /// See [`Table::scan_to_change`].
    pub(crate) fn scan_rows_to_change(
        &self,
        txn: &mut Txn<'_>,
        scan: &RangeScan<'_>,
        matches: Option<Matches<'_>>,
        f: Show<'_>,
    ) -> Result<()> {
        txn.check()?;
        self.check_open()?;
        self.check_index(scan.index)?;
        self.intend(txn, true)?;
        let lock = locking(true, LockWait::Wait, false, false);
        self.scan_locking(txn, scan, lock, matches, Visit::Show(f))
    }

    /// See [`Table::modify_range`].
    pub(crate) fn modify_rows(
        &self,
        txn: &mut Txn<'_>,
        scan: &RangeScan<'_>,
        matches: Option<Matches<'_>>,
        f: &mut dyn FnMut(&RowView, &mut RowBuf) -> Result<(Action, Flow)>,
    ) -> Result<()> {
        self.check_index(scan.index)?;
        txn.start_write_to(&self.locks)?;
        self.check_open()?;
        let lock = locking(true, LockWait::Wait, false, false);
        let mut modify = |txn: &mut Txn<'_>, key: &[u8]| {
            let mut done = (Keep::Release, Flow::Continue);
            let (primary_key, found_by) = match scan.index {
                0 if txn.locks_gaps() => (key, FoundBy::LockedScan),
                0 => (key, FoundBy::Key),
                n => (
                    &key[self.entries[n - 1].primary_at(key)..],
                    FoundBy::Entry(n, key),
                ),
            };
            Writer::start(self, txn)?.modify_row(primary_key, found_by, &mut |row, buf| {
                if scan.index > 0 && !self.is_first(scan, row, key)? {
                    return Ok(Action::Skip);
                }
                let (action, flow) = f(row, buf)?;
                let keep = match action {
                    Action::Skip => Keep::Release,
                    _ => Keep::Locked,
                };
                done = (keep, flow);
                Ok(action)
            })?;
            Ok(done)
        };
        self.scan_locking(txn, scan, lock, matches, Visit::Key(&mut modify))
    }

    /// Leaves a purge task for one entry that a change marks deleted (`n` = 0: for a row).
    pub(crate) fn add_purge_task(
        &self,
        kernel: &Kernel,
        to: &Mutex<VersionBuffer>,
        by: TxnId,
        n: IndexNo,
        entry_key: &[u8],
    ) -> Result<()> {
        let version = Version {
            flags: mvcc::PURGE | mvcc::ENTRY,
            row_flags: 0,
            writer: by,
            superseder: by,
            older: Address::NONE,
            table: self.id,
            indexes: if n == 0 { 0 } else { 1 << (n - 1) },
            pruner_mark: 0,
            below: 0,
        };
        to.lock()
            .append(&kernel.mvcc.versions(), &version, entry_key, &[])?;
        Ok(())
    }

    /// With snapshot isolation on, a row changed since the view must not be changed or locked.
    pub(super) fn check_unchanged(&self, txn: &Txn<'_>, writer: TxnId) -> Result<()> {
        if let Some(view) = txn.view_to_keep()
            && writer != txn.id
            && !view.sees(writer, &txn.kernel.mvcc.txns)
        {
            return Err(Error::RecordChanged);
        }
        Ok(())
    }
}
