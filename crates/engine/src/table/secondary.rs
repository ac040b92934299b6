//! Entries of secondary indexes: written after their row, by whoever holds the row's lock.
//!
//! An entry is never changed into another: a new key is a new entry, and the old one is marked deleted, until purge takes
//! it away. So an entry whose last writer a view sees answers for itself; any other is judged by its row's visible
//! version.
//!
//! *Unique indexes.* Entries carry the primary key, so the tree itself keeps nothing apart that a unique index must. Who
//! adds an entry first looks whether any shares its own parts, dead or alive. If so, all that do are locked with their
//! gaps, and the gap behind them; what lives when its lock is granted is a duplicate. The locks stay, so that none can
//! appear before the new entry is in. If there is none, nothing is locked: two who add the same key at the same time are
//! kept apart by one of a few hundred mutexes, taken by the key's hash and let go of before any lock wait.

use super::entry::{self, BORN, EntryHead, Head};
use super::graveyard::{STORED_MAX, Witness};
use super::insert::{Entering, enter_gap};
use super::outside::Outside;
use super::row::RowView;
use super::schema::{Datum, IndexNo};
use super::{Index, LockWait, Table};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::ids::TxnId;
use crate::lock::{LockKey, LockMode, SUPREMUM, Want};
use crate::mvcc::{self, Address, Need, Version};
use crate::transaction::{Ask, Inner, RowLock};
use crate::tree::{Full, NextLeaf};

/// Who may still come to a row through an entry that is marked deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The row has it again.
    Now,
    ByOldViews(Option<Witness<Vec<u8>>>),
    ByNobody,
}

/// More versions than this are not looked through for an entry.
const VERSIONS_MAX: usize = 64;

impl Table {
    /// Who wants an entry that was marked deleted by a transaction that has ended. The caller holds its leaf exclusively.
    pub(crate) fn who_wants(&self, core: &Core, n: IndexNo, key: &[u8], value: &[u8]) -> Result<Wanted> {
        let head = EntryHead::of(value);
        let Some(born) = head.born else {
            return self.who_wants_by_row(core, n, key);
        };
        let (from, until) = (born, head.writer);
        match core.view_copy.with(|copy| copy.need(from, until, &core.txns)) {
            Need::Past | Need::None => Ok(Wanted::ByNobody),
            Need::By(_) | Need::Unknown => {
                let stored = Some(entry::stored_of(value)).filter(|s| s.len() <= STORED_MAX);
                let stored = stored.map(<[u8]>::to_vec);
                Ok(Wanted::ByOldViews(stored.map(|stored| Witness {
                    from,
                    until,
                    stored,
                })))
            }
        }
    }

    /// The same of an entry that does not tell it by itself. The caller holds the leaf where it would stand.
    pub(crate) fn who_wants_by_row(&self, core: &Core, n: IndexNo, entry_key: &[u8]) -> Result<Wanted> {
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
                if walked > VERSIONS_MAX {
                    return Ok(Wanted::ByOldViews(None));
                }
                if needed && is_row && has(version.row_flags, &columns)? {
                    let stored = self.stored_from(n, primary_key, version.row_flags, &columns)?;
                    return Ok(Wanted::ByOldViews(stored.map(|stored| Witness {
                        from: version.writer,
                        until: superseder,
                        stored,
                    })));
                }
                (superseder, at) = (version.writer, version.older);
            }
        }
        Ok(Wanted::ByNobody)
    }

    /// What an entry of this row stores beside its key; `None` if that is much.
    fn stored_from(&self, n: IndexNo, primary_key: &[u8], flags: u8, row: &[u8]) -> Result<Option<Vec<u8>>> {
        let outside = Outside::of(&self.indexes[0].tree, &self.layout, flags, row);
        let view = RowView::row(&self.layout, primary_key, row, &outside);
        let mut stored = Vec::new();
        self.entries[n - 1].encode_stored(|c| view.get(c), &mut stored)?;
        outside.check()?;
        Ok((stored.len() <= STORED_MAX).then_some(stored))
    }

    /// Who wrote the version before the newest of an entry's row, if that has the same entry with the same columns.
    pub(crate) fn entry_writer_before(
        &self,
        core: &Core,
        n: IndexNo,
        entry_key: &[u8],
        stored: &[u8],
    ) -> Result<Option<TxnId>> {
        let primary_key = &entry_key[self.entries[n - 1].primary_at(entry_key)..];
        let clustered = &self.indexes[0];
        let leaf = clustered.tree.read(primary_key)?;
        let older = leaf
            .get(primary_key)
            .map_or(Address::NONE, |value| Head::of(value).older);
        if older == Address::NONE {
            return Ok(None);
        }
        let mut columns = Vec::new();
        let Some(version) = core.versions().read(older, Some(&mut columns))? else {
            return Ok(None);
        };
        if version.flags & mvcc::DELETED != 0 {
            return Ok(None);
        }
        let outside = Outside::of(&clustered.tree, &self.layout, version.row_flags, &columns);
        let row = RowView::row(&self.layout, primary_key, &columns, &outside);
        let mut before = Vec::new();
        let same = self.has_entry(n, &row, entry_key)?;
        self.entries[n - 1].encode_stored(|c| row.get(c), &mut before)?;
        outside.check()?;
        Ok((same && before == stored).then_some(version.writer))
    }

    /// Whether any version of its row but the newest has that entry; true also if there are too many to look at.
    pub(crate) fn older_has_entry(&self, core: &Core, n: IndexNo, entry_key: &[u8]) -> Result<bool> {
        let primary_key = &entry_key[self.entries[n - 1].primary_at(entry_key)..];
        let clustered = &self.indexes[0];
        // The chain belongs to who has the leaf.
        let leaf = clustered.tree.read(primary_key)?;
        let newest = leaf.get(primary_key).map(Head::of);
        let buried = clustered.graveyard.under(primary_key)?.last_key().is_some();
        let Some(mut at) = newest.map(|head| head.older).filter(|_| !buried) else {
            return Ok(true);
        };
        let mut columns = Vec::new();
        for _ in 0..VERSIONS_MAX {
            if at == Address::NONE {
                return Ok(false);
            }
            let Some(version) = core.versions().read(at, Some(&mut columns))? else {
                return Ok(false);
            };
            if version.flags & mvcc::DELETED == 0 {
                let outside = Outside::of(&clustered.tree, &self.layout, version.row_flags, &columns);
                let row = RowView::row(&self.layout, primary_key, &columns, &outside);
                let has = self.has_entry(n, &row, entry_key)?;
                outside.check()?;
                if has {
                    return Ok(true);
                }
            }
            at = version.older;
        }
        Ok(true)
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
        value.extend_from_slice(&EntryHead::standing(writer).bytes());
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
        value: &mut [u8],
        mode: LockMode,
    ) -> Result<()> {
        let unique = self.schema.secondary[n - 1].unique && !self.entries[n - 1].has_null(key);
        loop {
            let mut wait = None;
            let mut stripe = None;
            if unique {
                let own = &key[..self.entries[n - 1].own_len(key)];
                stripe = Some(core.unique.lock(self.indexes[n].id, own));
                wait = self.find_duplicate(core, t, n, key, own, mode)?;
            }
            if wait.is_none() {
                wait = self.write_entry(core, t, n, key, value)?;
            }
            drop(stripe);
            match wait {
                None => return Ok(()),
                Some(wait) => t.wait(core, &wait)?,
            }
        }
    }

    /// `Some`: wait, and begin again.
    fn write_entry(
        &self,
        core: &Core,
        t: &mut Inner,
        n: IndexNo,
        key: &[u8],
        value: &mut [u8],
    ) -> Result<Option<LockKey>> {
        let Index { tree, locks, .. } = &self.indexes[n];
        let mut next = Vec::new();
        loop {
            let mut leaf = tree.write(key)?;
            let mut divides = false;
            let done = match leaf.node().search(key) {
                Ok(slot) => {
                    let writer = EntryHead::of(leaf.node().value(slot)).writer;
                    if let RowLock::Wait(wait) = t.lock_to_write(core, locks, key, writer) {
                        return Ok(Some(wait));
                    }
                    value[0] &= !BORN;
                    leaf.replace(slot, value)
                }
                Err(slot) => {
                    match enter_gap(core, t, locks, &leaf, slot, &mut next)? {
                        Entering::Free => {}
                        Entering::Divides => divides = true,
                        Entering::Again => continue,
                        Entering::Wait(wait) => return Ok(Some(wait)),
                    }
                    value[0] |= BORN;
                    leaf.insert(slot, key, value)
                }
            };
            match done {
                Ok(()) => {
                    if divides {
                        core.locks.divide_gap(locks, &next, key);
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

    /// Looks for another entry with the same own parts, and locks all there are. `Some`: wait, then look again.
    fn find_duplicate(
        &self,
        core: &Core,
        t: &mut Inner,
        n: IndexNo,
        key: &[u8],
        own: &[u8],
        mode: LockMode,
    ) -> Result<Option<LockKey>> {
        if !self.has_prefix(n, own)? {
            return Ok(None);
        }
        t.rely_on_unique();
        let Index { tree, locks, .. } = &self.indexes[n];
        let layout = &self.entries[n - 1];
        'descend: loop {
            let mut leaf = tree.read(own)?;
            let mut slot = leaf.node().search(own).unwrap_or_else(|slot| slot);
            loop {
                while slot < leaf.node().count() {
                    let (other, value) = leaf.node().entry(slot);
                    let head = EntryHead::of(value);
                    let same = other.starts_with(own);
                    let want = match (same, mode) {
                        (false, LockMode::Shared) => Want::gap(mode),
                        _ => Want::next_key(mode),
                    };
                    if same && head.writer == t.id {
                        core.locks.keep_record(locks, &t.owner, other);
                    }
                    let ask = Ask {
                        locks,
                        key: other,
                        want,
                        writer: head.writer,
                        wait: LockWait::Wait,
                    };
                    if let RowLock::Wait(wait) = t.lock(core, &ask) {
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
                        t.lock_gap(core, locks, SUPREMUM, mode, TxnId::NONE);
                        return Ok(None);
                    }
                    NextLeaf::Busy => continue 'descend,
                }
            }
        }
    }

    /// Whether there is any entry that begins so.
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

    /// Marks an entry deleted.
    pub(super) fn mark_entry(&self, core: &Core, t: &mut Inner, n: IndexNo, key: &[u8]) -> Result<()> {
        let Index { tree, locks, id, .. } = &self.indexes[n];
        loop {
            let mut leaf = tree.write(key)?;
            let Ok(slot) = leaf.node().search(key) else {
                return Err(Error::corrupt(None, format!("index {id} lacks a row's entry")));
            };
            let head = EntryHead::of(leaf.node().value(slot));
            if let RowLock::Wait(wait) = t.lock_to_write(core, locks, key, head.writer) {
                drop(leaf);
                t.wait(core, &wait)?;
                continue;
            }
            let head = head.deleted_by(t.id).bytes();
            let fits = leaf.splice(slot, 0, entry::STORED_AT, &head);
            debug_assert!(fits.is_ok(), "the length stays");
            leaf.finish();
            return Ok(());
        }
    }
}
