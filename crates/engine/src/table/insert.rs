//! New rows.
//!
//! One mini-transaction on the clustered leaf, with a note of how to undo it; then the entry of each secondary index. A row
//! that stands under the same key is locked first, dead or alive: alive it is a duplicate, dead it gives way.

use super::entry::{self, Head, Undo};
use super::locking::key_behind;
use super::outside::{Owned, is_long};
use super::schema::Datum;
use super::write::Came;
use super::{Action, DuplicateLock, LockWait, Table};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::lock::{IndexLocks, LockKey, Want};
use crate::mvcc::Address;
use crate::transaction::{Ask, Inner, RowLock};
use crate::tree::{Full, LeafWrite};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Table {
    pub(super) fn insert_row(
        &self,
        core: &Core,
        t: &mut Inner,
        row: &[Datum],
        lock: DuplicateLock,
    ) -> Result<()> {
        t.start_write_to(core, &self.locks)?;
        self.check_open()?;
        if row.len() != self.schema.columns.len() {
            return Err(Error::Unsupported("a row of another number of columns"));
        }
        let mut key = std::mem::take(&mut t.buffers.key);
        let mut value = std::mem::take(&mut t.buffers.value);
        let done = self.insert_with_buffers(core, t, row, lock, &[], &mut key, &mut value);
        (t.buffers.key, t.buffers.value) = (key, value);
        done
    }

    /// Gives a row another primary key, in InnoDB's order: the old row goes, the new one comes, and then the entries of each
    /// index. So a duplicate of the key is met before any entry is touched.
    pub(super) fn move_row(
        &self,
        core: &Core,
        t: &mut Inner,
        key: &[u8],
        values: &[Owned],
        entries: &[Vec<u8>],
    ) -> Result<()> {
        self.modify_row(core, t, key, Came::Moving, &mut |_, _| Ok(Action::Delete))?;
        let row: Vec<Datum> = values.iter().map(Owned::datum).collect();
        let (mut key, mut value) = (Vec::new(), Vec::new());
        self.insert_with_buffers(core, t, &row, t.duplicates, entries, &mut key, &mut value)
    }

    fn insert_with_buffers(
        &self,
        core: &Core,
        t: &mut Inner,
        row: &[Datum],
        lock: DuplicateLock,
        old_entries: &[Vec<u8>],
        key: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<()> {
        key.clear();
        self.encode_primary(row, key)?;
        let mut flags = 0;
        let head = |flags| Head {
            flags,
            writer: t.id,
            older: Address::NONE,
        };
        value.clear();
        value.extend_from_slice(&head(0).bytes());
        if is_long(key.len(), self.layout.size(|c| row[c])) {
            let mut values: Vec<Owned> = row.iter().map(|d| Owned::of(*d)).collect();
            self.encode_long_row(core, Some(&mut *t), &mut values, key.len(), value)?;
            if values.iter().any(|v| matches!(v, Owned::Reference(_))) {
                flags |= entry::OUTSIDE;
                value[0] = flags;
            }
        } else {
            self.layout.encode(|c| row[c], |_| false, value)?;
        }
        self.insert_clustered(core, t, key, value, lock)?;
        let mode = lock.mode();
        for n in 1..self.indexes.len() {
            if let Some(old) = old_entries.get(n - 1) {
                self.mark_entry(core, t, n, old)?;
            }
            let (mut entry_key, mut entry_value) = (Vec::new(), Vec::new());
            self.encode_entry(n, &|c| row[c], key, t.id, &mut entry_key, &mut entry_value)?;
            self.put_entry(core, t, n, &entry_key, &mut entry_value, mode)?;
        }
        core.counters.own().rows_inserted.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

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

    fn insert_clustered(
        &self,
        core: &Core,
        t: &mut Inner,
        key: &[u8],
        value: &mut [u8],
        lock: DuplicateLock,
    ) -> Result<()> {
        let index = &self.indexes[0];
        let mut next = std::mem::take(&mut t.buffers.next);
        let done = loop {
            let mut leaf = index.tree.write(key)?;
            let slot = leaf.node().search(key);
            let mut divides = false;
            match slot {
                Ok(slot) => {
                    let head = Head::of(leaf.node().value(slot));
                    if let Some(wait) = self.lock_duplicate(core, t, key, &head, lock)? {
                        drop(leaf);
                        t.wait(core, &wait)?;
                        continue;
                    }
                    // Asked before the row is superseded, for that cannot be taken back.
                    if !leaf.replace_fits(slot, value.len()) {
                        drop(leaf);
                        index.tree.split(key, value.len())?;
                        continue;
                    }
                    let columns = leaf.node().value(slot)[entry::ROW_AT..].to_vec();
                    let older = self.supersede(core, t, &head, key, &columns, 0, false)?;
                    value[9..17].copy_from_slice(&older.0.to_le_bytes());
                    self.note_replace(t, key, leaf.node().value(slot), value);
                }
                Err(slot) => {
                    match enter_gap(core, t, &index.locks, &leaf, slot, &mut next)? {
                        Entering::Free => {}
                        Entering::Divides => divides = true,
                        Entering::Again => continue,
                        Entering::Wait(wait) => {
                            drop(leaf);
                            t.wait(core, &wait)?;
                            continue;
                        }
                    }
                    self.check_not_buried(core, t, key)?;
                    value[9..17].fill(0);
                    t.buffers.note.clear();
                    Undo::Insert { table: self.id, key }.encode(&mut t.buffers.note);
                }
            }
            let done = match slot {
                Ok(slot) => leaf.replace(slot, value),
                Err(slot) => leaf.insert(slot, key, value),
            };
            match done {
                Ok(()) => {
                    if divides {
                        core.locks.divide_gap(&index.locks, &next, key);
                    }
                    break self.finish_write(t, leaf);
                }
                Err(Full) => {
                    drop(leaf);
                    index.tree.split(key, value.len())?;
                }
            }
        };
        t.buffers.next = next;
        done
    }

    /// Locks the row that stands where another is to be inserted. `Some`: let go, wait, and look again; `None`: it is
    /// marked deleted, and ours.
    fn lock_duplicate(
        &self,
        core: &Core,
        t: &mut Inner,
        key: &[u8],
        head: &Head,
        lock: DuplicateLock,
    ) -> Result<Option<LockKey>> {
        let locks = &self.indexes[0].locks;
        let live = !head.is_deleted();
        let own = head.writer == t.id;
        if own && live {
            // If the statement fails, what is left of the row must stay locked.
            t.rely_on_unique();
            core.locks.keep_record(locks, &t.owner, key);
        }
        if !own {
            // As a duplicate first, as InnoDB does: of two that wait for the deleter, only one gets any further.
            t.rely_on_unique();
            let ask = Ask {
                locks,
                key,
                want: Want::record(lock.mode()),
                writer: head.writer,
                wait: LockWait::Wait,
            };
            if let RowLock::Wait(wait) = t.lock(core, &ask) {
                return Ok(Some(wait));
            }
        }
        self.check_unchanged(core, t, head.writer)?;
        if live {
            return Err(Error::DuplicateKey {
                index: 0,
                primary_key: key.to_vec(),
            });
        }
        match t.lock_to_write(core, locks, key, head.writer) {
            RowLock::Wait(wait) => Ok(Some(wait)),
            _ => Ok(None),
        }
    }
}

/// What came of asking whether a new key may be put into a gap.
pub(super) enum Entering {
    /// Nobody has it locked.
    Free,
    /// Nobody else has; but the locks on it must be divided.
    Divides,
    Wait(LockKey),
    /// The next leaf could not be reached from here: let go and come again.
    Again,
}

/// Asks whether a new key may stand at this slot. `next` becomes the key behind it.
pub(super) fn enter_gap(
    core: &Core,
    t: &mut Inner,
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
        asked = match t.lock_to_insert(core, locks, key) {
            RowLock::Wait(wait) => Entering::Wait(wait),
            _ => Entering::Divides,
        };
    })?;
    Ok(asked)
}
