//! Entries of secondary indexes: written after their row, by the transaction that holds the row's lock.
//!
//! An entry is never changed into another: a new key is a new entry, and the old one is marked deleted until purge
//! removes it (`deleted`).
//!
//! *Unique indexes.* Entries contain the primary key, so the tree itself does not prevent duplicates. A transaction
//! that adds an entry first looks whether any shares its own parts, marked deleted or not. If so, all that do are
//! locked with their gaps, and the gap behind them; any that is not deleted when its lock is granted is a duplicate.
//! The locks stay, so that none can appear before the new entry is in. If there is none, nothing is locked:
//! transactions that add the same key at the same time are serialised by one of a few hundred mutexes, chosen by the
//! key's hash and released before any lock wait.
//!
//! *Indexes that are being built* are maintained by the rules in the head of `building`: duplicates are noted, not refused, and a
//! missing entry is marked by adding it as marked.

use super::super::building::{Access, Building};
use super::super::entry::{self, EntryHead, FRESH_INSERT};
use super::super::{Index, Table};
use super::Writer;
use super::insert::Entering;
use crate::error::{Error, Result};
use crate::ids::{IndexNo, TxnId};
use crate::lock::{LockKey, LockMode, LockType, LockWait, SUPREMUM};
use crate::tree::{Full, NextLeaf};
use crate::txn::{RowLock, RowLockRequest};

impl Writer<'_, '_> {
    /// Adds an entry, or unmarks one that is marked deleted. `mode` says how a duplicate is locked.
    pub(super) fn put_entry(
        &mut self,
        n: IndexNo,
        key: &[u8],
        value: &mut [u8],
        mode: LockMode,
    ) -> Result<()> {
        let index = &self.table.indexes[n];
        let unique = index.unique && !self.table.entries[n - 1].has_null(key);
        loop {
            let access = match index.building.as_deref().map(Building::enter) {
                Some(None) => return Ok(()),
                access => access.flatten(),
            };
            let mut wait = None;
            let mut stripe = None;
            if unique {
                let own = &key[..self.table.entries[n - 1].own_len(key)];
                stripe = Some(self.txn.kernel.unique.lock(index.id, own));
                match &index.building {
                    Some(building) if self.table.has_prefix(n, own)? => building.suspect(own),
                    Some(_) => {}
                    None => wait = self.find_duplicate(n, key, own, mode)?,
                }
            }
            if wait.is_none() {
                wait = self.write_entry(n, key, value)?;
            }
            drop(stripe);
            drop(access);
            match wait {
                None => return Ok(()),
                Some(wait) => self.txn.wait(&wait)?,
            }
        }
    }

    /// `Some`: wait, and begin again.
    fn write_entry(&mut self, n: IndexNo, key: &[u8], value: &mut [u8]) -> Result<Option<LockKey>> {
        let Index { tree, locks, .. } = &self.table.indexes[n];
        let mut next = Vec::new();
        loop {
            let mut leaf = tree.write(key)?;
            let mut divides = false;
            let done = match leaf.node().search(key) {
                Ok(slot) => {
                    let writer = EntryHead::of(leaf.node().value(slot)).writer;
                    if let RowLock::Wait(wait) = self.txn.lock_to_write(locks, key, writer) {
                        return Ok(Some(wait));
                    }
                    let shorter_by = leaf.node().value(slot).len().saturating_sub(value.len());
                    if shorter_by > 0 && !self.txn.may_shrink(leaf.id(), shorter_by) {
                        drop(leaf);
                        self.txn.reserve_to_shrink(shorter_by)?;
                        continue;
                    }
                    value[0] &= !FRESH_INSERT;
                    leaf.replace(slot, value)
                }
                Err(slot) => {
                    match self.enter_gap(locks, &leaf, slot, &mut next)? {
                        Entering::Free => {}
                        Entering::Divides => divides = true,
                        Entering::Again => continue,
                        Entering::Wait(wait) => return Ok(Some(wait)),
                    }
                    value[0] |= FRESH_INSERT;
                    leaf.insert(slot, key, value)
                }
            };
            match done {
                Ok(()) => {
                    if divides {
                        self.txn.kernel.locks.divide_gap(locks, &next, key);
                    }
                    leaf.finish();
                    return Ok(None);
                }
                Err(Full) => {
                    drop(leaf);
                    tree.split(key, value.len())?;
                }
            }
        }
    }

    /// Looks for other entries with the same own parts, and locks all there are. `Some`: wait for this lock, then look
    /// again.
    fn find_duplicate(
        &mut self,
        n: IndexNo,
        key: &[u8],
        own: &[u8],
        mode: LockMode,
    ) -> Result<Option<LockKey>> {
        if !self.table.has_prefix(n, own)? {
            return Ok(None);
        }
        self.txn.rely_on_unique();
        let Index { tree, locks, .. } = &self.table.indexes[n];
        let layout = &self.table.entries[n - 1];
        'descend: loop {
            let mut leaf = tree.read(own)?;
            let mut slot = leaf.node().search(own).unwrap_or_else(|slot| slot);
            loop {
                while slot < leaf.node().count() {
                    let (other, value) = leaf.node().entry(slot);
                    let head = EntryHead::of(value);
                    let same = other.starts_with(own);
                    let want = match (same, mode) {
                        (false, LockMode::Shared) => LockType::gap(mode),
                        _ => LockType::next_key(mode),
                    };
                    if same && head.writer == self.txn.id {
                        self.txn.kernel.locks.keep_record(locks, &self.txn.owner, other);
                    }
                    let request = RowLockRequest {
                        locks,
                        key: other,
                        want,
                        writer: head.writer,
                        wait: LockWait::Wait,
                    };
                    if let RowLock::Wait(wait) = self.txn.lock(&request) {
                        return Ok(Some(wait));
                    }
                    if !same {
                        return Ok(None);
                    }
                    if !head.is_deleted() && other != key {
                        return Err(Error::DuplicateKey {
                            index: n,
                            primary_key: other[layout.primary_at(other)..].to_vec(),
                        });
                    }
                    slot += 1;
                }
                match leaf.next_held()? {
                    NextLeaf::Leaf(next) => (leaf, slot) = (next, 0),
                    NextLeaf::End => {
                        self.txn.lock_gap(locks, SUPREMUM, mode, TxnId::NONE);
                        return Ok(None);
                    }
                    NextLeaf::Busy => continue 'descend,
                }
            }
        }
    }

    /// Marks an entry deleted.
    pub(super) fn mark_entry(&mut self, n: IndexNo, key: &[u8]) -> Result<()> {
        let index = &self.table.indexes[n];
        let Index { tree, locks, id, .. } = index;
        loop {
            let access = match index.building.as_deref().map(Building::enter) {
                Some(None) => return Ok(()),
                access => access.flatten(),
            };
            let mut leaf = tree.write(key)?;
            let slot = match leaf.node().search(key) {
                Ok(slot) => slot,
                Err(slot) if access.as_ref().is_some_and(Access::is_filling) => {
                    let tombstone = EntryHead::deleted(self.txn.id).bytes();
                    match leaf.insert(slot, key, &tombstone) {
                        Ok(()) => {
                            leaf.finish();
                            return Ok(());
                        }
                        Err(Full) => {
                            drop(leaf);
                            tree.split(key, tombstone.len())?;
                            continue;
                        }
                    }
                }
                Err(_) => {
                    return Err(Error::corrupt(None, format!("index {id} lacks a row's entry")));
                }
            };
            let head = EntryHead::of(leaf.node().value(slot));
            if let RowLock::Wait(wait) = self.txn.lock_to_write(locks, key, head.writer) {
                drop(leaf);
                drop(access);
                self.txn.wait(&wait)?;
                continue;
            }
            let head = head.deleted_by(self.txn.id).bytes();
            let fits = leaf.splice(slot, 0, entry::STORED_AT, &head);
            debug_assert!(fits.is_ok(), "the length stays");
            leaf.finish();
            return Ok(());
        }
    }
}

impl Table {
    /// True if there is any entry whose key begins with `prefix`.
    fn has_prefix(&self, n: IndexNo, prefix: &[u8]) -> Result<bool> {
        let mut fence = Vec::new();
        let mut leaf = self.indexes[n].tree.read(prefix)?;
        let mut slot = leaf.node().search(prefix).unwrap_or_else(|slot| slot);
        loop {
            if slot < leaf.node().count() {
                return Ok(leaf.node().key(slot).starts_with(prefix));
            }
            match leaf.next(&mut fence)? {
                Some(next) if fence.starts_with(prefix) || fence.as_slice() <= prefix => (leaf, slot) = next,
                _ => return Ok(false),
            }
        }
    }
}
