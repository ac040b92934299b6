//! Changing rows, as `plan` has worked it out.
//!
//! A change is one mini-transaction on the clustered leaf, with a note of how to undo it; then one for each secondary
//! index whose key changed, without notes: what they undo follows from the row. The writer's id in the row is the
//! exclusive lock, so a change needs no lock object, unless the leaf must be let go of between the look at the row and
//! the change of it (to split it, to write columns outside the row): then an object bridges the gap.

use super::entry::{self, Head, Undo, difference};
use super::locking::key_behind;
use super::plan::{Plan, Verdict};
use super::row::{RowBuf, RowView};
use super::schema::IndexNo;
use super::{Action, LockWait, Table};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::ids::TxnId;
use crate::lock::{LockMode, Want};
use crate::log::TxnNote;
use crate::mvcc::{self, Address, Chain, Version, VersionBuffer};
use crate::transaction::{Ask, Inner, RowLock};
use crate::tree::LeafWrite;
use parking_lot::Mutex;
use std::sync::atomic::Ordering;

/// How a row that is to be changed was found.
#[derive(Clone, Copy)]
pub(super) enum Came<'k> {
    ByKey,
    /// A scan of the clustered index has locked it.
    Locked,
    /// It is meant only if it still has this entry in this index.
    Through(IndexNo, &'k [u8]),
    /// It is to move, and is deleted where it was.
    Moving,
}

impl Table {
    /// Puts the note in `t.buffers.note` into the leaf's mini-transaction and ends it.
    pub(super) fn finish_write(&self, t: &mut Inner, mut leaf: LeafWrite<'_>) -> Result<()> {
        leaf.mtr().note(TxnNote::Undo {
            txn: t.id,
            prev: t.last_undo,
            payload: &t.buffers.note,
        });
        let lsn = leaf.finish();
        t.wrote(lsn.start);
        Ok(())
    }

    pub(super) fn note_replace(&self, t: &mut Inner, key: &[u8], old: &[u8], new: &[u8]) {
        let (front, back) = difference(old, new);
        t.buffers.note.clear();
        let middle = &old[front..old.len() - back];
        Undo::Replace {
            table: self.id,
            key,
            front,
            back,
            middle,
        }
        .encode(&mut t.buffers.note);
    }

    /// Keeps what a row was before this transaction changes it, if anybody may want it, and what purge must know.
    /// Answers what the changed row's `older` will be. The caller holds the leaf's latch.
    pub(super) fn supersede(
        &self,
        core: &Core,
        t: &mut Inner,
        old: &Head,
        key: &[u8],
        columns: &[u8],
        indexes: u64,
        purge_row: bool,
    ) -> Result<Address> {
        let own = old.writer == t.id;
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
        let versions = core.versions();
        let chain = match own {
            true => Chain::NONE,
            false => {
                let tide = || core.tide();
                core.view_copy
                    .prune(&versions, &core.views, &core.txns, tide, old.writer, old.older)?
            }
        };
        let version = Version {
            flags,
            row_flags: old.flags,
            writer: old.writer,
            superseder: t.id,
            older: chain.first,
            table: self.id,
            indexes,
            judged: chain.judged,
            below: chain.len,
        };
        let address = t.versions.lock().append(&versions, &version, key, columns)?;
        if !own && chain.dropped_until != old.older {
            // The row will lead to the new version now, and nothing to these. That they are not known to be garbage if
            // this fails is no reason to fail.
            let _ = versions.discard_until(old.older, chain.dropped_until);
        }
        Ok(if own { old.older } else { address })
    }

    /// Tells purge of one entry that a change leaves marked deleted (`n` = 0: of a row).
    pub(super) fn hint(
        &self,
        core: &Core,
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
            judged: 0,
            below: 0,
        };
        to.lock().append(&core.versions(), &version, entry_key, &[])?;
        Ok(())
    }

    /// Changes one row. Answers whether it was there.
    pub(super) fn modify_row(
        &self,
        core: &Core,
        t: &mut Inner,
        key: &[u8],
        came: Came<'_>,
        f: &mut dyn FnMut(&RowView, &mut RowBuf) -> Result<Action>,
    ) -> Result<bool> {
        t.start_write_to(core, &self.locks)?;
        self.check_open()?;
        let mut row = std::mem::take(&mut t.buffers.row);
        let done = self.modify_with(core, t, key, came, &mut row, f);
        t.buffers.row = row;
        done
    }

    fn modify_with(
        &self,
        core: &Core,
        t: &mut Inner,
        key: &[u8],
        came: Came<'_>,
        buf: &mut RowBuf,
        f: &mut dyn FnMut(&RowView, &mut RowBuf) -> Result<Action>,
    ) -> Result<bool> {
        let index = &self.indexes[0];
        let mut plan: Option<Plan> = None;
        loop {
            let leaf = index.tree.write(key)?;
            let slot = match leaf.node().search(key) {
                Ok(slot) => slot,
                Err(slot) => {
                    if !t.locks_gaps() {
                        return Ok(false);
                    }
                    let mut lock = |next: &[u8], writer| {
                        t.lock_gap(core, &index.locks, next, LockMode::Exclusive, writer);
                    };
                    if key_behind(&leaf, slot, &mut lock)? {
                        drop(leaf);
                        self.check_not_buried(core, t, key)?;
                        return Ok(false);
                    }
                    continue;
                }
            };
            let head = Head::of(leaf.node().value(slot));
            let fresh = match t.lock_to_write(core, &index.locks, key, head.writer) {
                RowLock::Wait(wait) => {
                    drop(leaf);
                    t.wait(core, &wait)?;
                    continue;
                }
                asked => matches!(asked, RowLock::Held { new: true }),
            };
            // Those whom it has overtaken left an object: it goes if the row is not meant.
            let let_go = |t: &Inner| {
                if fresh && !t.locks_gaps() {
                    core.locks.release(&t.owner, index.id, key, Want::WRITE);
                }
            };
            if !matches!(came, Came::Locked) {
                t.note_write(core, &index.locks, key);
            }
            self.check_unchanged(core, t, head.writer)?;
            if let Some(ready) = plan.take() {
                let Some(again) = self.make(core, t, leaf, slot, key, ready)? else {
                    return Ok(true);
                };
                index.tree.split(key, again.value_len())?;
                plan = Some(again);
                continue;
            }
            if head.is_deleted() {
                if t.locks_gaps() {
                    self.make_lock_object(core, t, key, head.writer);
                }
                let_go(t);
                return Ok(false);
            }
            let verdict = self.look(t, &leaf, slot, key, came, buf, f)?;
            let Some(verdict) = verdict else {
                let_go(t);
                return Ok(false);
            };
            match verdict {
                Verdict::Leave { keep: false } => {
                    let_go(t);
                    return Ok(true);
                }
                Verdict::Leave { keep: true } => {
                    self.make_lock_object(core, t, key, head.writer);
                    return Ok(true);
                }
                Verdict::Do(ready) if ready.garbage.is_empty() => {
                    // The usual case: one latch, one mini-transaction.
                    let Some(again) = self.make(core, t, leaf, slot, key, ready)? else {
                        return Ok(true);
                    };
                    index.tree.split(key, again.value_len())?;
                    plan = Some(again);
                }
                Verdict::Do(ready) => {
                    self.make_lock_object(core, t, key, head.writer);
                    drop(leaf);
                    core.catalog.add_garbage_chains(t, &ready.garbage, index.id)?;
                    plan = Some(Plan {
                        garbage: Vec::new(),
                        ..ready
                    });
                }
                Verdict::Long(mut values) => {
                    self.make_lock_object(core, t, key, head.writer);
                    let old = leaf.node().value(slot).to_vec();
                    drop(leaf);
                    let mut row = Vec::new();
                    self.encode_long_row(core, Some(&mut *t), &mut values, key.len(), &mut row)?;
                    let ready = self.plan_update(t, key, &old, row, &values)?;
                    core.catalog.add_garbage_chains(t, &ready.garbage, index.id)?;
                    plan = Some(Plan {
                        garbage: Vec::new(),
                        ..ready
                    });
                }
                Verdict::Move(values, entries) => {
                    self.make_lock_object(core, t, key, head.writer);
                    drop(leaf);
                    self.move_row(core, t, key, &values, &entries)?;
                    return Ok(true);
                }
            }
        }
    }

    /// With snapshot isolation on, a row changed since the view must not be changed or locked.
    pub(super) fn check_unchanged(&self, core: &Core, t: &Inner, writer: TxnId) -> Result<()> {
        if let Some(view) = t.view_to_keep()
            && writer != t.id
            && !view.sees(writer, &core.txns)
        {
            return Err(Error::RecordChanged);
        }
        Ok(())
    }

    /// Makes a planned change. If there is no room in the leaf, the row is locked by an object, the leaf let go, and
    /// the plan handed back.
    fn make(
        &self,
        core: &Core,
        t: &mut Inner,
        mut leaf: LeafWrite<'_>,
        slot: usize,
        key: &[u8],
        mut plan: Plan,
    ) -> Result<Option<Plan>> {
        let old = leaf.node().value(slot);
        let head = Head::of(old);
        let row_len = plan.row.as_ref().map_or(old.len() - entry::ROW_AT, Vec::len);
        if !leaf.replace_fits(slot, entry::ROW_AT + row_len) {
            self.make_lock_object(core, t, key, head.writer);
            return Ok(Some(plan));
        }
        let left = plan.entries.iter().filter(|e| e.old.is_some());
        let mut indexes = left.fold(0, |bits, e| bits | 1 << (e.index - 1));
        let had_outside = head.flags & entry::OUTSIDE != 0;
        if had_outside {
            // The keys may need what stands outside, and a rollback to a savepoint may free that before purge comes.
            for change in &plan.entries {
                if let Some(key) = &change.old {
                    self.hint(core, &t.versions, t.id, change.index, key)?;
                }
            }
            indexes = 0;
        }
        let purge_row = plan.row.is_none() || had_outside;
        let older = self.supersede(core, t, &head, key, entry::row_of(old), indexes, purge_row)?;
        let mut flags = if plan.has_outside { entry::OUTSIDE } else { 0 };
        if plan.row.is_none() {
            flags |= entry::DELETED;
        }
        let new_head = Head {
            flags,
            writer: t.id,
            older,
        }
        .bytes();
        match &plan.row {
            None => {
                t.buffers.note.clear();
                let (middle, back) = (&old[..entry::ROW_AT], old.len() - entry::ROW_AT);
                Undo::Replace {
                    table: self.id,
                    key,
                    front: 0,
                    back,
                    middle,
                }
                .encode(&mut t.buffers.note);
                let fits = leaf.splice(slot, 0, entry::ROW_AT, &new_head);
                debug_assert!(fits.is_ok(), "the length stays");
            }
            Some(row) => {
                let mut value = std::mem::take(&mut t.buffers.key);
                value.clear();
                value.extend_from_slice(&new_head);
                value.extend_from_slice(row);
                self.note_replace(t, key, old, &value);
                let fits = leaf.replace(slot, &value);
                debug_assert!(fits.is_ok(), "it was asked whether it fits");
                t.buffers.key = value;
            }
        }
        // The row bears our id now: that is the lock.
        self.finish_write(t, leaf)?;
        for change in plan.entries.iter_mut().filter(|_| !plan.moves) {
            if let Some(old) = &change.old {
                self.mark_entry(core, t, change.index, old)?;
            }
            if let Some((key, value)) = &mut change.new {
                self.put_entry(core, t, change.index, key, value, t.duplicates.mode())?;
            }
        }
        match plan.row {
            Some(row) => {
                t.buffers.value = row;
                core.counters.own().rows_updated.fetch_add(1, Ordering::Relaxed);
            }
            None => {
                core.counters.own().rows_deleted.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(None)
    }

    /// Turns the right to write the row, which its latch gave, into a lock object. Nobody can be in the way.
    fn make_lock_object(&self, core: &Core, t: &mut Inner, key: &[u8], writer: TxnId) {
        let locks = &self.indexes[0].locks;
        let ask = Ask {
            locks,
            key,
            want: Want::WRITE,
            writer,
            wait: LockWait::NoWait,
        };
        let _ = t.lock(core, &ask);
    }
}
