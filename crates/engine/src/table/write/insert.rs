//! Inserts rows.
//!
//! One mini-transaction on the clustered leaf, with an undo note; then the entry of each secondary index. A row of the
//! same key is locked first, marked deleted or not: if it is not, it is a duplicate; if it is, it is replaced.

use super::super::entry::{self, Head};
use super::super::locking::key_behind;
use super::super::outside::{Owned, is_long};
use super::super::{Action, Change, Table};
use super::{FoundBy, Writer};
use crate::error::{Error, Result};
use crate::ids::IndexNo;
use crate::lock::{DuplicateLock, IndexLocks, LockKey, LockType, LockWait};
use crate::mvcc::Address;
use crate::schema::Datum;
use crate::tally::{self, Event};
use crate::tree::{Full, LeafWrite};
use crate::txn::{RowLock, RowLockRequest, Undo};
use std::sync::Arc;

/// The outcome of a request to insert a key into a gap.
pub(super) enum Entering {
    /// The gap is not locked.
    Free,
    /// No other owner has it locked, but the locks on it must be divided.
    Divides,
    Wait(LockKey),
    /// The next leaf could not be latched from here: release all latches and start over.
    Again,
}

impl Writer<'_, '_> {
    pub fn insert_row(&mut self, row: &[Datum], lock: DuplicateLock) -> Result<()> {
        if row.len() != self.table.schema.columns.len() {
            return Err(Error::Unsupported("a row of another number of columns"));
        }
        let mut key = std::mem::take(&mut self.txn.buffers.key);
        let mut value = std::mem::take(&mut self.txn.buffers.value);
        let done = self.insert_with_buffers(row, lock, &[], &mut key, &mut value);
        (self.txn.buffers.key, self.txn.buffers.value) = (key, value);
        self.txn.buffers.counter = None;
        done?;
        self.txn.changed.inserted += 1;
        tally::count(Event::RowInserted, 1);
        self.table.usage.changed(Change::Inserted);
        Ok(())
    }

    /// Gives a row another primary key, in InnoDB's order: deletes the old row, inserts the new one, and then changes
    /// the entries of each index. So a duplicate of the key is found before any entry is touched. It counts as one update.
    pub(super) fn move_row(
        &mut self,
        key: &[u8],
        values: &[Owned],
        entries: &[(IndexNo, Vec<u8>)],
    ) -> Result<()> {
        self.modify_row(key, FoundBy::Move, &mut |_, _| Ok(Action::Delete))?;
        let row: Vec<Datum> = values.iter().map(Owned::datum).collect();
        let (mut key, mut value) = (Vec::new(), Vec::new());
        self.insert_with_buffers(&row, self.txn.duplicates, entries, &mut key, &mut value)?;
        self.count_update();
        Ok(())
    }

    fn insert_with_buffers(
        &mut self,
        row: &[Datum],
        lock: DuplicateLock,
        old_entries: &[(IndexNo, Vec<u8>)],
        key: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<()> {
        key.clear();
        self.table.encode_primary(row, key)?;
        let layouts = &self.table.layouts;
        let head = Head {
            flags: layouts.flags(false),
            writer: self.txn.id,
            older: Address::NONE,
        };
        value.clear();
        value.extend_from_slice(&head.bytes());
        if is_long(key.len(), layouts.newest().size(|c| row[c])) {
            let mut values: Vec<Owned> = row.iter().map(|d| Owned::of(*d)).collect();
            self.table.encode_long_row(
                self.txn.kernel,
                Some(&mut *self.txn),
                &mut values,
                key.len(),
                value,
            )?;
            value[0] = layouts.flags(values.iter().any(|v| matches!(v, Owned::Reference(_))));
        } else {
            layouts.newest().encode(|c| row[c], |_| false, value)?;
        }
        self.insert_clustered(key, value, lock)?;
        let mode = lock.mode();
        let mut entry_key = Vec::new();
        for n in 1..self.table.indexes.len() {
            for (_, old) in old_entries.iter().filter(|(index, _)| *index == n) {
                self.mark_entry(n, old)?;
            }
            let (table, row) = (self.table, |c: usize| row[c]);
            let mut entry_value = table.entry_value(n, &row, self.txn.id)?;
            table.each_entry_key(n, &row, key, &mut entry_key, &mut |entry_key| {
                self.put_entry(n, entry_key, &mut entry_value, mode)
            })?;
        }
        Ok(())
    }

    fn insert_clustered(&mut self, key: &[u8], value: &mut [u8], lock: DuplicateLock) -> Result<()> {
        let index = &self.table.indexes[0];
        let mut next = std::mem::take(&mut self.txn.buffers.next);
        let done = loop {
            let mut leaf = index.tree.write(key)?;
            let slot = leaf.node().search(key);
            let mut divides = false;
            match slot {
                Ok(slot) => {
                    let head = Head::of(leaf.node().value(slot));
                    if let Some(wait) = self.lock_duplicate(key, &head, lock)? {
                        drop(leaf);
                        self.txn.wait(&wait)?;
                        continue;
                    }
                    // Tested before the old version is saved, because that cannot be undone.
                    if !leaf.replace_fits(slot, value.len()) {
                        drop(leaf);
                        index.tree.split(key, value.len())?;
                        continue;
                    }
                    let shorter_by = leaf.node().value(slot).len().saturating_sub(value.len());
                    if shorter_by > 0 && !self.txn.may_shrink(leaf.id(), shorter_by) {
                        drop(leaf);
                        self.txn.reserve_to_shrink(shorter_by)?;
                        continue;
                    }
                    let columns = leaf.node().value(slot)[entry::ROW_AT..].to_vec();
                    let older = self.supersede(&head, key, &columns, 0, false)?;
                    value[9..17].copy_from_slice(&older.0.to_le_bytes());
                    self.note_replace(key, leaf.node().value(slot), value);
                }
                Err(slot) => {
                    match self.enter_gap(&index.locks, &leaf, slot, &mut next)? {
                        Entering::Free => {}
                        Entering::Divides => divides = true,
                        Entering::Again => continue,
                        Entering::Wait(wait) => {
                            drop(leaf);
                            self.txn.wait(&wait)?;
                            continue;
                        }
                    }
                    self.table.check_not_buried(self.txn, key)?;
                    value[9..17].fill(0);
                    self.txn.buffers.note.clear();
                    let observed = self
                        .txn
                        .buffers
                        .counter
                        .filter(|(table, _)| *table == self.table.id);
                    Undo::Insert {
                        table: self.table.id,
                        counter: self.table.state.carry(observed.map_or(0, |(_, next)| next)),
                        key,
                    }
                    .encode(&mut self.txn.buffers.note);
                }
            }
            let done = match slot {
                Ok(slot) => leaf.replace(slot, value),
                Err(slot) => leaf.insert(slot, key, value),
            };
            match done {
                Ok(()) => {
                    if divides {
                        self.txn.kernel.locks.divide_gap(&index.locks, &next, key);
                    }
                    break self.finish_write(leaf);
                }
                Err(Full) => {
                    drop(leaf);
                    index.tree.split(key, value.len())?;
                }
            }
        };
        self.txn.buffers.next = next;
        done
    }

    /// Locks the row that stands where another is to be inserted. `Some`: release the latches, wait for this lock, and
    /// look again; `None`: the row is marked deleted, and locked by this transaction.
    fn lock_duplicate(&mut self, key: &[u8], head: &Head, lock: DuplicateLock) -> Result<Option<LockKey>> {
        let locks = &self.table.indexes[0].locks;
        let live = !head.is_deleted();
        let own = head.writer == self.txn.id;
        if own && live {
            // If the statement fails, what is left of the row must stay locked.
            self.txn.rely_on_unique();
            self.txn.kernel.locks.keep_record(locks, &self.txn.owner, key);
        }
        if !own {
            // Locked as a duplicate first, as InnoDB does: of two that wait for the deleter, only one gets any further.
            self.txn.rely_on_unique();
            let request = RowLockRequest {
                locks,
                key,
                want: LockType::record(lock.mode()),
                writer: head.writer,
                wait: LockWait::Wait,
            };
            if let RowLock::Wait(wait) = self.txn.lock(&request) {
                return Ok(Some(wait));
            }
        }
        self.table.check_unchanged(self.txn, head.writer)?;
        if live {
            return Err(Error::DuplicateKey {
                index: 0,
                primary_key: key.to_vec(),
            });
        }
        match self.txn.lock_to_write(locks, key, head.writer) {
            RowLock::Wait(wait) => Ok(Some(wait)),
            _ => Ok(None),
        }
    }

    /// Requests to insert a key at this slot. `next` becomes the key behind it.
    pub(super) fn enter_gap(
        &mut self,
        locks: &Arc<IndexLocks>,
        leaf: &LeafWrite<'_>,
        slot: usize,
        next: &mut Vec<u8>,
    ) -> Result<Entering> {
        if locks.has_no_gaps() {
            return Ok(Entering::Free);
        }
        let mut asked = Entering::Again;
        key_behind(leaf, slot, &mut |key, _| {
            next.clear();
            next.extend_from_slice(key);
            asked = match self.txn.lock_to_insert(locks, key) {
                RowLock::Wait(wait) => Entering::Wait(wait),
                _ => Entering::Divides,
            };
        })?;
        Ok(asked)
    }
}

impl Table {
    /// Appends the clustered key of a new row.
    pub(crate) fn encode_primary(&self, row: &[Datum], key: &mut Vec<u8>) -> Result<()> {
        if self.schema.primary.is_none() {
            key.extend_from_slice(&self.next_row_id()?.to_be_bytes());
        }
        for part in &self.primary {
            part.encode(row[part.column], self.collator.as_ref(), key)?;
        }
        Ok(())
    }
}
