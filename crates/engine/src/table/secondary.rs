//! Entries of secondary indexes: written after their row, by whoever holds the row's lock.
//!
//! An entry is never changed into another: a new key is a new entry, and the old one is marked deleted, until purge takes
//! it away. So an entry whose last writer a view sees answers for itself; any other is judged by its row's visible
//! version.
//!
//! *Unique indexes.* Entries carry the primary key, so the tree itself keeps nothing apart that a unique index must. Who
//! adds an entry first looks at all that share its own parts. One that lives, or was marked deleted by a transaction that
//! is still running, is judged by its row, locked: if that still has the key when the lock is granted, it is a duplicate.
//! Two who add the same key at the same time are kept apart by one of a few hundred mutexes, taken by the key's hash and
//! let go of before any lock wait.

use super::entry::{self, EntryHead, Head};
use super::outside::Outside;
use super::row::RowView;
use super::schema::{Datum, IndexNo};
use super::{Keep, LockWait, Table};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::ids::TxnId;
use crate::lock::{LockKey, Mode};
use crate::mvcc::{self, Address, Need, Version};
use crate::transaction::{Inner, RowLock};
use crate::tree::Full;

/// What came of trying to lock and look at a row.
pub(super) enum Tried {
    /// It was there, and shown.
    Shown,
    Nothing,
    Wait(LockKey),
    Busy,
}

/// Who may still come to a row through an entry that is marked deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The row has it again.
    Now,
    ByOldViews,
    ByNobody,
}

/// More versions than this are not looked through for an entry.
const VERSIONS_MAX: usize = 64;

impl Table {
    /// Who wants an entry that was marked deleted by a transaction that has ended. The caller holds its leaf exclusively.
    pub(crate) fn who_wants(&self, core: &Core, n: IndexNo, entry_key: &[u8]) -> Result<Wanted> {
        let primary_key = &entry_key[self.entries[n - 1].primary_at(entry_key)..];
        let clustered = &self.indexes[0];
        let has = |flags: u8, row: &[u8]| -> Result<bool> {
            let outside = Outside::of(&clustered.tree, &self.layout, flags, row);
            let has = self.has_entry(
                n,
                &RowView::row(&self.layout, primary_key, row, &outside),
                entry_key,
            )?;
            outside.check().map(|()| has)
        };
        let leaf = clustered.tree.read(primary_key)?;
        // Each chain, and the writer above it.
        let mut chains = Vec::new();
        if let Some(value) = leaf.get(primary_key) {
            let head = Head::of(value);
            if !head.is_deleted() && has(head.flags, entry::row_of(value))? {
                return Ok(Wanted::Now);
            }
            chains.push((head.writer, head.older));
        }
        let buried = clustered.graveyard.under(primary_key)?;
        chains.extend(buried.iter().map(|b| (b.deleter, b.older)));
        let (mut columns, mut walked) = (Vec::new(), 0);
        for (mut superseder, mut at) in chains {
            while at != Address::NONE {
                walked += 1;
                let need = |version: &Version| {
                    core.view_copy
                        .with(|copy| copy.need(version.writer, superseder, &core.txns))
                };
                if core.view_copy.certainly_all_see(superseder, &core.txns) {
                    break;
                }
                let Some(version) = core.versions().read(at, Some(&mut columns))? else {
                    break;
                };
                let needed = matches!(need(&version), Need::By(_) | Need::Unknown);
                let is_row = version.flags & mvcc::DELETED == 0;
                if walked > VERSIONS_MAX || needed && is_row && has(version.row_flags, &columns)? {
                    return Ok(Wanted::ByOldViews);
                }
                (superseder, at) = (version.writer, version.older);
            }
        }
        Ok(Wanted::ByNobody)
    }

    /// Appends the key of the row's entry to `key`, and the entry's value, as `writer` writes it, to `value`.
    pub(crate) fn encode_entry<'d>(
        &self,
        n: IndexNo,
        row: &dyn Fn(usize) -> Datum<'d>,
        primary_key: &[u8],
        writer: TxnId,
        key: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<()> {
        self.encode_entry_key(n, row, primary_key, key)?;
        value.extend_from_slice(&EntryHead { flags: 0, writer }.bytes());
        self.entries[n - 1].encode_stored(row, value)
    }

    pub(super) fn encode_entry_key<'d>(
        &self,
        n: IndexNo,
        row: &dyn Fn(usize) -> Datum<'d>,
        primary_key: &[u8],
        key: &mut Vec<u8>,
    ) -> Result<()> {
        let layout = &self.entries[n - 1];
        for part in &layout.parts[..layout.own] {
            part.encode(row(part.column), self.collator.as_ref(), key)?;
        }
        key.extend_from_slice(primary_key);
        Ok(())
    }

    /// Whether the row's entry in the index is this one.
    pub(super) fn has_entry(&self, n: IndexNo, row: &RowView, entry_key: &[u8]) -> Result<bool> {
        let mut key = Vec::with_capacity(entry_key.len());
        self.encode_entry_key(n, &|c| row.get(c), row.primary_key(), &mut key)?;
        Ok(key == entry_key)
    }

    /// Adds an entry, or brings back the one that was marked deleted. `mode` is how a duplicate is locked.
    pub(super) fn put_entry(
        &self,
        core: &Core,
        t: &mut Inner,
        n: IndexNo,
        key: &[u8],
        value: &[u8],
        mode: Mode,
    ) -> Result<()> {
        let unique = self.schema.secondary[n - 1].unique && !self.entries[n - 1].has_null(key);
        let mut stripe = None;
        if unique {
            let own = &key[..self.entries[n - 1].own_len(key)];
            loop {
                stripe = Some(core.unique.lock(self.indexes[n].id, own));
                match self.find_duplicate(core, t, n, key, own.len(), mode)? {
                    None => break,
                    Some(wait) => {
                        drop(stripe.take());
                        t.wait(core, &wait)?;
                    }
                }
            }
        }
        let done = self.write_entry(n, key, value);
        drop(stripe);
        done
    }

    fn write_entry(&self, n: IndexNo, key: &[u8], value: &[u8]) -> Result<()> {
        let tree = &self.indexes[n].tree;
        loop {
            let mut leaf = tree.write(key)?;
            let done = match leaf.node().search(key) {
                Ok(slot) => leaf.replace(slot, value),
                Err(slot) => leaf.insert(slot, key, value),
            };
            match done {
                Ok(()) => {
                    leaf.finish();
                    return Ok(());
                }
                Err(Full) => {
                    drop(leaf);
                    tree.split(key, value.len())?;
                }
            }
        }
    }

    /// Looks for a row that has the entry's own parts already. `Some`: wait, then look again.
    fn find_duplicate(
        &self,
        core: &Core,
        t: &mut Inner,
        n: IndexNo,
        key: &[u8],
        own: usize,
        mode: Mode,
    ) -> Result<Option<LockKey>> {
        let layout = &self.entries[n - 1];
        let mut from = key[..own].to_vec();
        while let Some(other) = self.next_candidate(core, t, n, &from, own, key)? {
            let primary_key = other[layout.primary_at(&other)..].to_vec();
            let mut duplicate = false;
            let tried =
                self.try_locked_row(core, t, &primary_key, mode, LockWait::Wait, false, &mut |row| {
                    let mut now = Vec::new();
                    self.encode_entry_key(n, &|c| row.get(c), row.primary_key(), &mut now)?;
                    duplicate = now.starts_with(&other[..own]) && layout.own_len(&now) == own;
                    Ok(if duplicate { Keep::Locked } else { Keep::Release })
                })?;
            if let Tried::Wait(wait) = tried {
                return Ok(Some(wait));
            }
            if duplicate {
                return Err(Error::DuplicateKey {
                    index: n,
                    primary_key,
                });
            }
            from = other;
            from.push(0);
        }
        Ok(None)
    }

    /// The first entry at or after `from` that may be a duplicate of `key`.
    fn next_candidate(
        &self,
        core: &Core,
        t: &Inner,
        n: IndexNo,
        from: &[u8],
        own: usize,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let mut fence = Vec::new();
        let mut leaf = self.indexes[n].tree.read(from)?;
        let mut slot = leaf.node().search(from).unwrap_or_else(|slot| slot);
        loop {
            let node = leaf.node();
            while slot < node.count() {
                let (other, value) = node.entry(slot);
                if !other.starts_with(&key[..own]) {
                    return Ok(None);
                }
                let head = EntryHead::of(value);
                let gone = head.is_deleted() && (head.writer == t.id || !core.txns.is_active(head.writer));
                if other != key && !gone {
                    return Ok(Some(other.to_vec()));
                }
                slot += 1;
            }
            match leaf.next(&mut fence)? {
                Some(next) => (leaf, slot) = next,
                None => return Ok(None),
            }
        }
    }

    /// Marks an entry deleted. One that is not there is none of ours.
    pub(super) fn mark_entry(&self, t: &Inner, n: IndexNo, key: &[u8]) -> Result<()> {
        let mut leaf = self.indexes[n].tree.write(key)?;
        let Ok(slot) = leaf.node().search(key) else {
            return Err(Error::corrupt(
                None,
                format!("index {} lacks a row's entry", self.indexes[n].id),
            ));
        };
        let head = EntryHead {
            flags: entry::DELETED,
            writer: t.id,
        }
        .bytes();
        let fits = leaf.splice(slot, 0, entry::STORED_AT, &head);
        debug_assert!(fits.is_ok(), "the length stays");
        leaf.finish();
        Ok(())
    }

    /// Asks for a row's lock and, if it is granted at once, shows the newest version of the row. `waited`: the lock was
    /// granted to this call a moment ago, after a wait.
    pub(super) fn try_locked_row(
        &self,
        core: &Core,
        t: &mut Inner,
        key: &[u8],
        mode: Mode,
        wait: LockWait,
        waited: bool,
        f: &mut dyn FnMut(&RowView) -> Result<Keep>,
    ) -> Result<Tried> {
        let index = &self.indexes[0];
        let leaf = index.tree.read(key)?;
        let Ok(slot) = leaf.node().search(key) else {
            drop(leaf);
            self.let_go(core, t, key, waited);
            return Ok(Tried::Nothing);
        };
        let value = leaf.node().value(slot);
        let head = Head::of(value);
        let fresh = match t.lock_row(core, &index.locks, key, mode, head.writer, false, wait) {
            RowLock::Held { new } => new || waited,
            RowLock::Wait(key) => return Ok(Tried::Wait(key)),
            RowLock::Busy => return Ok(Tried::Busy),
        };
        if head.is_deleted() {
            drop(leaf);
            self.let_go(core, t, key, fresh);
            return Ok(Tried::Nothing);
        }
        self.check_unchanged(core, t, head.writer)?;
        let row = entry::row_of(value);
        let outside = Outside::of(&index.tree, &self.layout, head.flags, row);
        let keep = f(&RowView::row(&self.layout, key, row, &outside))?;
        outside.check()?;
        drop(leaf);
        if keep == Keep::Release {
            self.let_go(core, t, key, fresh);
        }
        Ok(Tried::Shown)
    }
}
