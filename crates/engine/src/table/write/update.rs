//! Changes or deletes one row, as computed by `change`.

use super::super::entry::{self, Head};
use super::super::locking::key_behind;
use super::super::outside::Owned;
use super::super::row::RowView;
use super::super::{Action, Change};
use super::change::{Decision, RowChange};
use super::{FoundBy, Writer};
use crate::error::Result;
use crate::ids::TxnId;
use crate::lock::{LockMode, LockType, LockWait};
use crate::schema::RowBuf;
use crate::tally::{self, Event};
use crate::tree::LeafWrite;
use crate::txn::{RowLock, RowLockRequest, Undo};

/// What became of a planned change.
enum Made {
    Done,
    /// The leaf is to be split first.
    LacksRoom(RowChange),
    /// Pages are to be reserved first, for when the row becomes as long again as it was: by so many bytes.
    LacksReserve(RowChange, usize),
}

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
                Err(slot) => match self.lock_absent(leaf, slot, key)? {
                    true => return Ok(false),
                    false => continue,
                },
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
            let ready = match plan.take() {
                Some(ready) => ready,
                None => {
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
                    // What takes more than this leaf is done without its latch: a lock object keeps the row meanwhile.
                    if !matches!(&decision, Decision::Leave { keep: false })
                        && !matches!(&decision, Decision::Do(ready) if ready.garbage.is_empty())
                    {
                        self.make_lock_object(key, head.writer);
                    }
                    match decision {
                        // The usual case: one latch, one mini-transaction.
                        Decision::Do(ready) if ready.garbage.is_empty() => ready,
                        Decision::Do(ready) => {
                            drop(leaf);
                            plan = Some(self.without_garbage(ready)?);
                            continue;
                        }
                        Decision::Long(values) => {
                            let old = leaf.node().value(slot).to_vec();
                            drop(leaf);
                            plan = Some(self.store_outside(key, &old, values)?);
                            continue;
                        }
                        Decision::Move(values, entries) => {
                            drop(leaf);
                            self.move_row(key, &values, &entries)?;
                            return Ok(true);
                        }
                        Decision::Leave { keep } => {
                            if !keep {
                                self.release_row(key, fresh);
                            }
                            return Ok(true);
                        }
                    }
                }
            };
            let made = self.make(leaf, slot, key, ready)?;
            plan = self.provide(made, key)?;
            if plan.is_none() {
                return Ok(true);
            }
        }
    }

    /// Sees to what a change lacks, which is then to be made again; `None` if it is made.
    fn provide(&mut self, made: Made, key: &[u8]) -> Result<Option<RowChange>> {
        match made {
            Made::Done => Ok(None),
            Made::LacksRoom(plan) => {
                self.table.indexes[0].tree.split(key, plan.value_len())?;
                Ok(Some(plan))
            }
            Made::LacksReserve(plan, shorter_by) => {
                self.txn.reserve_to_shrink(shorter_by)?;
                Ok(Some(plan))
            }
        }
    }

    /// For a key that is not there: locks the gap it would stand in, where gaps are locked. Returns false if the leaf does
    /// not tell which key is the next one, after which the search is made again.
    fn lock_absent(&mut self, leaf: LeafWrite<'_>, slot: usize, key: &[u8]) -> Result<bool> {
        if !self.txn.locks_gaps() {
            return Ok(true);
        }
        let locks = &self.table.indexes[0].locks;
        let mut lock = |next: &[u8], writer| {
            self.txn.lock_gap(locks, next, LockMode::Exclusive, writer);
        };
        if !key_behind(&leaf, slot, &mut lock)? {
            return Ok(false);
        }
        drop(leaf);
        self.table.check_not_buried(self.txn, key)?;
        Ok(true)
    }

    /// Leaves to purge the chains of pages that a change takes out of use.
    fn without_garbage(&mut self, change: RowChange) -> Result<RowChange> {
        let index = self.table.indexes[0].id;
        self.table.garbage.add_chains(self.txn, &change.garbage, index)?;
        Ok(RowChange {
            garbage: Vec::new(),
            ..change
        })
    }

    /// Stores the long values of a row's new version in pages of their own; what is left is a change like any other.
    fn store_outside(&mut self, key: &[u8], old: &[u8], mut values: Vec<Owned>) -> Result<RowChange> {
        let mut row = Vec::new();
        self.table.encode_long_row(
            self.txn.kernel,
            Some(&mut *self.txn),
            &mut values,
            key.len(),
            &mut row,
        )?;
        let change = self.plan_update(key, old, row, &values)?;
        self.without_garbage(change)
    }

    /// Makes a planned change. If the leaf has no room for it, or undoing it might not find room, the row is locked by an
    /// object, the leaf released, and the plan returned.
    fn make(
        &mut self,
        mut leaf: LeafWrite<'_>,
        slot: usize,
        key: &[u8],
        mut plan: RowChange,
    ) -> Result<Made> {
        let old = leaf.node().value(slot);
        let head = Head::of(old);
        let row_len = plan.row.as_ref().map_or(old.len() - entry::ROW_AT, Vec::len);
        if !leaf.replace_fits(slot, entry::ROW_AT + row_len) {
            self.make_lock_object(key, head.writer);
            return Ok(Made::LacksRoom(plan));
        }
        let shorter_by = old.len().saturating_sub(entry::ROW_AT + row_len);
        if shorter_by > 0 && !self.txn.may_shrink(leaf.id(), shorter_by) {
            self.make_lock_object(key, head.writer);
            return Ok(Made::LacksReserve(plan, shorter_by));
        }
        let had_outside = head.flags & entry::OUTSIDE != 0;
        let indexes = self.entries_left(&plan, had_outside)?;
        let purge_row = plan.row.is_none() || had_outside;
        let older = self.supersede(&head, key, entry::row_of(old), indexes, purge_row)?;
        let mut flags = plan.flags;
        if plan.row.is_none() {
            flags |= entry::DELETED;
        }
        let new_head = Head {
            flags,
            writer: self.txn.id,
            older,
        }
        .bytes();
        self.write_version(&mut leaf, slot, key, &new_head, plan.row.as_deref());
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
                self.count_update();
                self.txn.buffers.value = row;
            }
            // It is counted when it is there again.
            None if plan.moves => {}
            None => {
                tally::count(Event::RowDeleted, 1);
                self.table.usage.changed(Change::Deleted);
                self.txn.changed.deleted += 1;
            }
        }
        Ok(Made::Done)
    }

    /// Counts a row that has been updated.
    pub(super) fn count_update(&mut self) {
        tally::count(Event::RowUpdated, 1);
        self.table.usage.changed(Change::Updated);
        self.txn.changed.updated += 1;
    }

    /// The indexes in which the old version leaves an entry that purge is to look for by that version's columns, a bit
    /// for each.
    fn entries_left(&mut self, plan: &RowChange, had_outside: bool) -> Result<u64> {
        let left = plan
            .entries
            .iter()
            .filter_map(|e| Some((e.index, e.old.as_ref()?)));
        if !had_outside {
            return Ok(left.fold(0, |bits, (index, _)| bits | 1 << (index - 1)));
        }
        // The keys may need columns outside the row, and a rollback to a savepoint may free those before purge comes.
        for (index, key) in left {
            self.table
                .add_purge_task(self.txn.kernel, &self.txn.versions, self.txn.id, index, key)?;
        }
        Ok(0)
    }

    /// Writes the new version over the old one, and notes how that is undone. Without a row: a deletion, which leaves the
    /// old columns where they are.
    fn write_version(
        &mut self,
        leaf: &mut LeafWrite<'_>,
        slot: usize,
        key: &[u8],
        head: &[u8],
        row: Option<&[u8]>,
    ) {
        let Some(row) = row else {
            let old = leaf.node().value(slot);
            self.txn.buffers.note.clear();
            Undo::Replace {
                table: self.table.id,
                key,
                front: 0,
                back: old.len() - entry::ROW_AT,
                middle: &old[..entry::ROW_AT],
            }
            .encode(&mut self.txn.buffers.note);
            let fits = leaf.splice(slot, 0, entry::ROW_AT, head);
            debug_assert!(fits.is_ok(), "the length stays");
            return;
        };
        let mut value = std::mem::take(&mut self.txn.buffers.key);
        value.clear();
        value.extend_from_slice(head);
        value.extend_from_slice(row);
        self.note_replace(key, leaf.node().value(slot), &value);
        let fits = leaf.replace(slot, &value);
        debug_assert!(fits.is_ok(), "it was asked whether it fits");
        self.txn.buffers.key = value;
    }

    /// Releases the lock of a row that turned out not to be meant, where gaps are not locked. There is an object only if
    /// the request overtook others (`fresh`).
    fn release_row(&self, key: &[u8], fresh: bool) {
        if fresh && !self.txn.locks_gaps() {
            let locks = &self.txn.kernel.locks;
            locks.release(
                &self.txn.owner,
                &self.table.indexes[0].locks,
                key,
                LockType::WRITE,
            );
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
