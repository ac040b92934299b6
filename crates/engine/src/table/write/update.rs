//! Changes or deletes one row, as computed by `change`.

use super::super::Action;
use super::super::entry::{self, Head};
use super::super::locking::key_behind;
use super::super::row::RowView;
use super::change::{Decision, RowChange};
use super::{FoundBy, Writer};
use crate::error::Result;
use crate::ids::TxnId;
use crate::lock::{LockMode, LockType, LockWait};
use crate::schema::RowBuf;
use crate::tree::LeafWrite;
use crate::txn::{RowLock, RowLockRequest, Undo};
use std::sync::atomic::Ordering;

impl Writer<'_, '_> {
    /// Changes one row. Returns true if it was there.
    pub fn modify_row(
        &mut self,
        key: &[u8],
        found_by: FoundBy<'_>,
        f: &mut dyn FnMut(&RowView, &mut RowBuf) -> Result<Action>,
    ) -> Result<bool> {
        let mut row = std::mem::take(&mut self.txn.buffers.row);
        let done = self.modify_with(key, found_by, &mut row, f);
        self.txn.buffers.row = row;
        done
    }

    fn modify_with(
        &mut self,
        key: &[u8],
        found_by: FoundBy<'_>,
        buf: &mut RowBuf,
        f: &mut dyn FnMut(&RowView, &mut RowBuf) -> Result<Action>,
    ) -> Result<bool> {
        let index = &self.table.indexes[0];
        let mut plan: Option<RowChange> = None;
        loop {
            let leaf = index.tree.write(key)?;
            let slot = match leaf.node().search(key) {
                Ok(slot) => slot,
                Err(slot) => {
                    if !self.txn.locks_gaps() {
                        return Ok(false);
                    }
                    let mut lock = |next: &[u8], writer| {
                        self.txn.lock_gap(&index.locks, next, LockMode::Exclusive, writer);
                    };
                    if key_behind(&leaf, slot, &mut lock)? {
                        drop(leaf);
                        self.table.check_not_buried(self.txn, key)?;
                        return Ok(false);
                    }
                    continue;
                }
            };
            let head = Head::of(leaf.node().value(slot));
            let fresh = match self.txn.lock_to_write(&index.locks, key, head.writer) {
                RowLock::Wait(wait) => {
                    drop(leaf);
                    self.txn.wait(&wait)?;
                    continue;
                }
                asked => matches!(asked, RowLock::Held { new: true }),
            };
            if !matches!(found_by, FoundBy::LockedScan) {
                self.txn.note_write(&index.locks, key);
            }
            self.table.check_unchanged(self.txn, head.writer)?;
            if let Some(ready) = plan.take() {
                let Some(again) = self.make(leaf, slot, key, ready)? else {
                    return Ok(true);
                };
                index.tree.split(key, again.value_len())?;
                plan = Some(again);
                continue;
            }
            if head.is_deleted() {
                if self.txn.locks_gaps() {
                    self.make_lock_object(key, head.writer);
                }
                self.release_row(key, fresh);
                return Ok(false);
            }
            let decision = self.look(key, leaf.node().value(slot), found_by, buf, f)?;
            let Some(decision) = decision else {
                self.release_row(key, fresh);
                return Ok(false);
            };
            match decision {
                Decision::Leave { keep: false } => {
                    self.release_row(key, fresh);
                    return Ok(true);
                }
                Decision::Leave { keep: true } => {
                    self.make_lock_object(key, head.writer);
                    return Ok(true);
                }
                Decision::Do(ready) if ready.garbage.is_empty() => {
                    // The usual case: one latch, one mini-transaction.
                    let Some(again) = self.make(leaf, slot, key, ready)? else {
                        return Ok(true);
                    };
                    index.tree.split(key, again.value_len())?;
                    plan = Some(again);
                }
                Decision::Do(ready) => {
                    self.make_lock_object(key, head.writer);
                    drop(leaf);
                    self.table
                        .garbage
                        .add_chains(self.txn, &ready.garbage, index.id)?;
                    plan = Some(RowChange {
                        garbage: Vec::new(),
                        ..ready
                    });
                }
                Decision::Long(mut values) => {
                    self.make_lock_object(key, head.writer);
                    let old = leaf.node().value(slot).to_vec();
                    drop(leaf);
                    let mut row = Vec::new();
                    self.table.encode_long_row(
                        self.txn.kernel,
                        Some(&mut *self.txn),
                        &mut values,
                        key.len(),
                        &mut row,
                    )?;
                    let ready = self.plan_update(key, &old, row, &values)?;
                    self.table
                        .garbage
                        .add_chains(self.txn, &ready.garbage, index.id)?;
                    plan = Some(RowChange {
                        garbage: Vec::new(),
                        ..ready
                    });
                }
                Decision::Move(values, entries) => {
                    self.make_lock_object(key, head.writer);
                    drop(leaf);
                    self.move_row(key, &values, &entries)?;
                    return Ok(true);
                }
            }
        }
    }

    /// Makes a planned change. If the leaf has no room, the row is locked by an object, the leaf released, and the plan
    /// returned.
    fn make(
        &mut self,
        mut leaf: LeafWrite<'_>,
        slot: usize,
        key: &[u8],
        mut plan: RowChange,
    ) -> Result<Option<RowChange>> {
        let old = leaf.node().value(slot);
        let head = Head::of(old);
        let row_len = plan.row.as_ref().map_or(old.len() - entry::ROW_AT, Vec::len);
        if !leaf.replace_fits(slot, entry::ROW_AT + row_len) {
            self.make_lock_object(key, head.writer);
            return Ok(Some(plan));
        }
        let left = plan.entries.iter().filter(|e| e.old.is_some());
        let mut indexes = left.fold(0, |bits, e| bits | 1 << (e.index - 1));
        let had_outside = head.flags & entry::OUTSIDE != 0;
        if had_outside {
            // The keys may need columns outside the row, and a rollback to a savepoint may free those before purge
            // comes.
            for change in &plan.entries {
                if let Some(key) = &change.old {
                    self.table.add_purge_task(
                        self.txn.kernel,
                        &self.txn.versions,
                        self.txn.id,
                        change.index,
                        key,
                    )?;
                }
            }
            indexes = 0;
        }
        let purge_row = plan.row.is_none() || had_outside;
        let older = self.supersede(&head, key, entry::row_of(old), indexes, purge_row)?;
        let mut flags = if plan.has_outside { entry::OUTSIDE } else { 0 };
        if plan.row.is_none() {
            flags |= entry::DELETED;
        }
        let new_head = Head {
            flags,
            writer: self.txn.id,
            older,
        }
        .bytes();
        match &plan.row {
            None => {
                self.txn.buffers.note.clear();
                let (middle, back) = (&old[..entry::ROW_AT], old.len() - entry::ROW_AT);
                Undo::Replace {
                    table: self.table.id,
                    key,
                    front: 0,
                    back,
                    middle,
                }
                .encode(&mut self.txn.buffers.note);
                let fits = leaf.splice(slot, 0, entry::ROW_AT, &new_head);
                debug_assert!(fits.is_ok(), "the length stays");
            }
            Some(row) => {
                let mut value = std::mem::take(&mut self.txn.buffers.key);
                value.clear();
                value.extend_from_slice(&new_head);
                value.extend_from_slice(row);
                self.note_replace(key, old, &value);
                let fits = leaf.replace(slot, &value);
                debug_assert!(fits.is_ok(), "it was asked whether it fits");
                self.txn.buffers.key = value;
            }
        }
        // The row bears our id now: that is the lock.
        self.finish_write(leaf)?;
        for change in plan.entries.iter_mut().filter(|_| !plan.moves) {
            if let Some(old) = &change.old {
                self.mark_entry(change.index, old)?;
            }
            if let Some((key, value)) = &mut change.new {
                self.put_entry(change.index, key, value, self.txn.duplicates.mode())?;
            }
        }
        match plan.row {
            Some(row) => {
                self.txn.buffers.value = row;
                self.txn
                    .kernel
                    .counters
                    .own()
                    .rows_updated
                    .fetch_add(1, Ordering::Relaxed);
            }
            None => {
                self.txn
                    .kernel
                    .counters
                    .own()
                    .rows_deleted
                    .fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(None)
    }

    /// Releases the lock of a row that turned out not to be meant, where gaps are not locked. There is an object only if
    /// the request overtook others (`fresh`).
    fn release_row(&self, key: &[u8], fresh: bool) {
        if fresh && !self.txn.locks_gaps() {
            let locks = &self.txn.kernel.locks;
            locks.release(&self.txn.owner, self.table.indexes[0].id, key, LockType::WRITE);
        }
    }

    /// Replaces the right to write the row, which its latch gave, by a lock object. The request cannot conflict.
    fn make_lock_object(&mut self, key: &[u8], writer: TxnId) {
        let locks = &self.table.indexes[0].locks;
        let request = RowLockRequest {
            locks,
            key,
            want: LockType::WRITE,
            writer,
            wait: LockWait::NoWait,
        };
        let _ = self.txn.lock(&request);
    }
}
