//! Rollback: each change's note in the log says how to undo it, and names the transaction's note before.
//!
//! The same code rolls back a statement, a transaction, and, after a crash, the transactions that had not committed.
//! Undoing is logged as redo of its own (a *compensation record*, ARIES), which says where undoing continues, so that a
//! crash during a rollback does not undo anything twice.
//!
//! Only the clustered row is in the notes. Its secondary entries follow from the row before and after, and are
//! corrected first, each in a mini-transaction of its own. That may have been done already, or the entries may never
//! have been written. So an entry is restored only if its writer is the transaction being undone; and an entry that the
//! row is to lose is marked or removed unless another transaction has marked it deleted, since then it does not belong
//! to this version. (Entries name their row, and the transaction that undoes its change holds the row's lock: an entry
//! that is not deleted belongs to the row as it is, or as it is to be.)
//!
//! An entry that the row loses by the rollback is removed if only the undone version had it. Otherwise an old view may
//! need it, and it is marked deleted with a purge task. An entry that was removed may be missing when an earlier change
//! is undone, and is inserted again. Its writer becomes that of the restored row, or of the version before the
//! transaction if that had the same entry: a view that sees that writer sees a row with this entry, and any other view
//! checks the row; and the transaction, if it continues, holds no implicit lock on what it has not changed.
//!
//! In an index that is being built nothing is removed before it is filled, and in one that is abandoned nothing is done at all; see
//! the head of `table::building`.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::ids::{IndexNo, Lsn, PageId, TxnId};
use crate::kernel::Kernel;
use crate::lock::Owner;
use crate::log::{MtrLsn, Record, TxnNote};
use crate::mvcc::{Address, VersionBuffer};
use crate::store::{Loser, Progress};
use crate::table::{
    Access, Building, EntryHead, Head, Outside, ROW_AT, RowView, STORED_AT, Table, key_behind, row_of,
    stored_of,
};
use crate::tree::Full;
use crate::txn::{TxnContext, UNDO_OF_A_PAGE, Undo, restore, undo_bytes_of};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Undoes the changes of one transaction.
struct Undoer<'e> {
    core: &'e Core,
    txn: TxnId,
    /// Where purge tasks are left; `None` during recovery, after which the sweep finds every deleted entry.
    versions: Option<&'e Mutex<VersionBuffer>>,
    /// The owner, if its transaction continues after a partial rollback: its implicit locks on undone rows are then
    /// made explicit.
    goes_on: Option<&'e Arc<Owner>>,
    /// True if it also keeps locks on the gaps where removed entries stood.
    keeps_gaps: bool,
}

/// Undoes a transaction's changes back to the note at `stop`, which is not undone. `partly`: the transaction continues.
pub(crate) fn undo_to(core: &Core, context: &mut TxnContext, stop: Lsn, partly: bool) -> Result<()> {
    let undoer = Undoer {
        core,
        txn: context.id,
        versions: Some(&context.versions),
        goes_on: partly.then_some(&context.owner),
        keeps_gaps: context.locks_gaps(),
    };
    while context.last_undo > stop {
        let (undone, next) = undoer.undo_at(context.last_undo)?;
        context.last_undo = next;
        context.undo_room.owed = context.undo_room.owed.saturating_sub(undone);
        let changes = context.owner.changes.load(Ordering::Relaxed);
        context
            .owner
            .changes
            .store(changes.saturating_sub(1), Ordering::Relaxed);
    }
    Ok(())
}

/// Undoes what a transaction that was active when the engine stopped did last, as far as it is of the system tree. A change of
/// definitions does nothing else: afterwards no value there is half written, and tables can be opened, which all other undoing asks for.
pub(crate) fn undo_in_catalog(core: &Core, loser: &mut Loser) -> Result<()> {
    let undoer = Undoer::of_loser(core, loser.txn);
    while loser.undo_from != Lsn::ZERO && undoer.is_in_catalog(loser.undo_from)? {
        (_, loser.undo_from) = undoer.undo_at(loser.undo_from)?;
    }
    Ok(())
}

/// Undoes a transaction that was active when the engine stopped.
pub(crate) fn undo_loser(core: &Core, loser: &Loser) -> Result<()> {
    let &Loser {
        txn,
        undo_from,
        first_lsn,
    } = loser;
    let undoer = Undoer::of_loser(core, txn);
    let mut progress = Progress::new();
    let mut last = undo_from;
    while last != Lsn::ZERO {
        (_, last) = undoer.undo_at(last)?;
        // By where its notes lie in the log: how many there are is not known.
        let done = undo_from.0.saturating_sub(last.max(first_lsn).0);
        progress.step(done, undo_from.0.saturating_sub(first_lsn.0), |share| {
            format!(
                "recovery: {}% of transaction {txn} undone, about {} s left",
                share.percent, share.seconds_left
            )
        });
    }
    log_rolled_back(&core.kernel, txn).map(|_| ())
}

/// Logs that the transaction is undone completely.
pub(crate) fn log_rolled_back(kernel: &Kernel, txn: TxnId) -> Result<Lsn> {
    let mut mtr = kernel.store.begin_urgent_mtr()?;
    mtr.note(TxnNote::RolledBack { txn });
    Ok(mtr.commit_with(|end| kernel.mvcc.end(txn, end)).end)
}

impl Undoer<'_> {
    fn kernel(&self) -> &Kernel {
        &self.core.kernel
    }

    fn of_loser(core: &Core, txn: TxnId) -> Undoer<'_> {
        Undoer {
            core,
            txn,
            versions: None,
            goes_on: None,
            keeps_gaps: false,
        }
    }

    /// Whether the change whose note is at `lsn` is one of the system tree.
    fn is_in_catalog(&self, lsn: Lsn) -> Result<bool> {
        let record = self.kernel().store.log().read_record(lsn)?;
        Ok(matches!(self.note_of(&record)?, (Undo::Catalog { .. }, _)))
    }

    /// How the change of a record is undone, and the LSN of the note before it.
    fn note_of<'r>(&self, record: &'r Record) -> Result<(Undo<'r>, Lsn)> {
        let lsn = record.lsn;
        let Some(TxnNote::Undo { txn, prev, payload }) = record.note()? else {
            return Err(Error::corrupt(None, format!("no undo note at {lsn}")));
        };
        if txn != self.txn {
            return Err(Error::corrupt(
                None,
                format!(
                    "the undo note at {lsn} is of transaction {txn}, not of {}",
                    self.txn
                ),
            ));
        }
        let undo = Undo::decode(payload)
            .ok_or_else(|| Error::corrupt(None, format!("the undo note at {lsn} makes no sense")))?;
        Ok((undo, prev))
    }

    /// Undoes the change whose note is at `lsn`. Returns what had been reserved for that, and the LSN of the note before it.
    fn undo_at(&self, lsn: Lsn) -> Result<(u64, Lsn)> {
        let record = self.kernel().store.log().read_record(lsn)?;
        let (undo, prev) = self.note_of(&record)?;
        let clr = TxnNote::Clr {
            txn: self.txn,
            undo_next: prev,
        };
        let place = MtrLsn {
            start: record.lsn,
            end: record.end,
        };
        let reserved = match undo {
            Undo::OutsidePage { .. } => UNDO_OF_A_PAGE,
            _ => undo_bytes_of(place),
        };
        match undo {
            Undo::Insert { table, key, .. } => match self.core.catalog.table(table) {
                Ok(table) => self.undo_insert(&table, key, clr)?,
                Err(_) => self.skip(clr)?,
            },
            Undo::Replace {
                table,
                key,
                front,
                back,
                middle,
            } => match self.core.catalog.table(table) {
                Ok(table) => {
                    let new = self.current(&table, key)?;
                    let mut old = Vec::new();
                    restore(&new, front, back, middle, &mut old)
                        .ok_or_else(|| Error::corrupt(None, "an undo note does not fit its row"))?;
                    self.undo_replace(&table, key, &new, old, clr)?;
                }
                Err(_) => self.skip(clr)?,
            },
            Undo::OutsidePage { page } => self.free_page(page, clr)?,
            Undo::Catalog { key, before } => self.core.catalog.system().undo(key, before, clr)?,
        }
        Ok((reserved, prev))
    }

    /// Logs the compensation record of a change that leaves nothing to be undone.
    fn skip(&self, clr: TxnNote<'_>) -> Result<()> {
        let mut mtr = self.kernel().store.begin_urgent_mtr()?;
        mtr.note(clr);
        mtr.commit();
        Ok(())
    }

    fn free_page(&self, page: PageId, clr: TxnNote<'_>) -> Result<()> {
        let mut mtr = self.kernel().store.begin_urgent_mtr()?;
        mtr.free_page(page)?;
        mtr.note(clr);
        mtr.commit();
        Ok(())
    }

    /// The clustered value that the transaction wrote last. An error if there is none: the row is locked, so it must be
    /// there.
    fn current(&self, table: &Table, key: &[u8]) -> Result<Vec<u8>> {
        let leaf = table.indexes[0].tree.read(key)?;
        match leaf.get(key) {
            Some(value) if Head::of(value).writer == self.txn => Ok(value.to_vec()),
            _ => Err(Error::corrupt(
                None,
                format!("a row that {} wrote is not there to be undone", self.txn),
            )),
        }
    }

    fn undo_insert(&self, table: &Table, key: &[u8], clr: TxnNote<'_>) -> Result<()> {
        let value = self.current(table, key)?;
        // A row that did not exist before has entries that no view needs. But if the graveyard has a row of the same
        // key, a view that sees that row may need an entry that the new row took over.
        let came_back = {
            let _leaf = table.indexes[0].tree.read(key)?;
            table.indexes[0].graveyard.under(key)?.last_key().is_some()
        };
        self.each_entry(table, key, &value, &mut |n, entry_key| {
            if !came_back {
                return self.remove_entry(table, n, entry_key);
            }
            if self.mark_entry(table, n, entry_key, self.txn)? {
                self.add_purge_task(table, n, entry_key);
            }
            Ok(())
        })?;
        let tree = table.indexes[0].tree.urgent();
        let (mut leaf, slot) = loop {
            let leaf = tree.write(key)?;
            let Ok(slot) = leaf.node().search(key) else {
                return Err(Error::corrupt(None, "a row vanished while it was being undone"));
            };
            if table.hand_on_locks(
                self.kernel(),
                0,
                &leaf,
                slot,
                self.goes_on.filter(|_| self.keeps_gaps),
            )? {
                break (leaf, slot);
            }
        };
        leaf.remove(slot);
        leaf.mtr().note(clr);
        let sparse = leaf.is_sparse();
        leaf.finish();
        if sparse {
            // The change is undone and logged as such, so a failed merge is ignored: the leaf merely stays sparse.
            let _ = tree.merge(key);
        }
        Ok(())
    }

    /// Gives a row, whose value is `new`, its value `old` back.
    fn undo_replace(
        &self,
        table: &Table,
        key: &[u8],
        new: &[u8],
        mut old: Vec<u8>,
        clr: TxnNote<'_>,
    ) -> Result<()> {
        let new_head = Head::of(new);
        let old_head = Head::of(&old);
        let mut new_entries = Vec::new();
        if !new_head.is_deleted() {
            self.each_entry(table, key, new, &mut |n, entry_key| {
                new_entries.push((n, entry_key.to_vec()));
                Ok(())
            })?;
        }
        if !old_head.is_deleted() {
            self.each_entry(table, key, &old, &mut |n, entry_key| {
                match new_entries.iter().position(|(m, k)| *m == n && k == entry_key) {
                    // The same entry before and after: only its stored columns can differ.
                    Some(at) => {
                        new_entries.swap_remove(at);
                        self.revive_entry(table, n, entry_key, key, &old)
                    }
                    None => self.revive_entry(table, n, entry_key, key, &old),
                }
            })?;
        }
        for (n, entry_key) in &new_entries {
            if self.is_only_in_newest(table, *n, entry_key)? {
                self.remove_entry(table, *n, entry_key)?;
            } else if self.mark_entry(table, *n, entry_key, old_head.writer)? {
                self.add_purge_task(table, *n, entry_key);
            }
        }
        if old_head.is_deleted() {
            self.add_purge_task(table, 0, key);
        }
        self.write_back(table, key, &mut old, clr)
    }

    /// Gives the row its old value, and makes it lead to the chain below the version that held that value.
    fn write_back(&self, table: &Table, key: &[u8], old: &mut [u8], clr: TxnNote<'_>) -> Result<()> {
        let tree = table.indexes[0].tree.urgent();
        loop {
            let mut leaf = tree.write(key)?;
            let Ok(slot) = leaf.node().search(key) else {
                return Err(Error::corrupt(None, "a row vanished while it was being undone"));
            };
            // The chain may have been pruned, or its versions moved, since the note was written: the row's present
            // chain counts.
            let mut old_head = Head::of(old);
            let older = Head::of(leaf.node().value(slot)).older;
            let mut undone = Address::NONE;
            old_head.older = match self.versions {
                Some(_) if old_head.writer == self.txn => older,
                Some(_) => {
                    undone = older;
                    let version = self.kernel().mvcc.versions().read(undone, None)?;
                    version.map_or(Address::NONE, |version| version.older)
                }
                None => Address::NONE,
            };
            old[..ROW_AT].copy_from_slice(&old_head.bytes());
            // Without gap locks, an insert over a deleted row keeps only the lock it took on that row as a duplicate.
            if let Some(owner) = self.goes_on
                && old_head.writer != self.txn
                && (self.keeps_gaps || !old_head.is_deleted())
            {
                self.kernel()
                    .locks
                    .keep_record(&table.indexes[0].locks, owner, key);
            }
            match leaf.replace(slot, old) {
                Ok(()) => {
                    leaf.mtr().note(clr);
                    leaf.finish();
                    // No reader can reach the undone version any more. The change is undone and logged as such, so an
                    // error is ignored: the version is freed with its page.
                    let _ = self.kernel().mvcc.versions().discard(undone);
                    return Ok(());
                }
                Err(Full) => {
                    drop(leaf);
                    tree.split(key, old.len())?;
                }
            }
        }
    }

    /// Calls `f` with the keys of a row's secondary entries.
    fn each_entry(
        &self,
        table: &Table,
        key: &[u8],
        value: &[u8],
        f: &mut dyn FnMut(IndexNo, &[u8]) -> Result<()>,
    ) -> Result<()> {
        table.each_entry(key, Head::of(value).flags, row_of(value), u64::MAX, f)
    }

    fn remove_entry(&self, table: &Table, n: IndexNo, entry_key: &[u8]) -> Result<()> {
        let access = match table.indexes[n].building.as_deref().map(Building::enter) {
            Some(None) => return Ok(()),
            access => access.flatten(),
        };
        if access.as_ref().is_some_and(Access::is_filling) {
            if self.mark_in_leaf(table, n, entry_key, self.txn)? {
                self.add_purge_task(table, n, entry_key);
            }
            return Ok(());
        }
        let tree = table.indexes[n].tree.urgent();
        let (mut leaf, slot) = loop {
            let leaf = tree.write(entry_key)?;
            let Ok(slot) = leaf.node().search(entry_key) else {
                return Ok(());
            };
            if self.is_of_another(leaf.node().value(slot)) {
                return Ok(());
            }
            if table.hand_on_locks(
                self.kernel(),
                n,
                &leaf,
                slot,
                self.goes_on.filter(|_| self.keeps_gaps),
            )? {
                break (leaf, slot);
            }
        };
        leaf.remove(slot);
        let sparse = leaf.is_sparse();
        leaf.finish();
        if sparse {
            tree.merge(entry_key)?;
        }
        Ok(())
    }

    /// True if no older version of the row has this entry, so that no view can need it once the newest is undone. False
    /// during recovery, when there are no versions to look at.
    fn is_only_in_newest(&self, table: &Table, n: IndexNo, entry_key: &[u8]) -> Result<bool> {
        match self.versions {
            Some(_) => Ok(!table.older_has_entry(self.kernel(), n, entry_key)?),
            None => Ok(false),
        }
    }

    /// True if an entry belongs to another version of the row than the one being undone: another transaction marked it
    /// deleted.
    fn is_of_another(&self, value: &[u8]) -> bool {
        let head = EntryHead::of(value);
        head.writer != self.txn && head.is_deleted()
    }

    /// Marks an entry deleted if it belongs to the version being undone. Returns whether it did.
    fn mark_entry(&self, table: &Table, n: IndexNo, entry_key: &[u8], writer: TxnId) -> Result<bool> {
        let _access = match table.indexes[n].building.as_deref().map(Building::enter) {
            Some(None) => return Ok(false),
            access => access.flatten(),
        };
        self.mark_in_leaf(table, n, entry_key, writer)
    }

    /// [`Self::mark_entry`], within an access to the index if it is being built.
    fn mark_in_leaf(&self, table: &Table, n: IndexNo, entry_key: &[u8], writer: TxnId) -> Result<bool> {
        let tree = table.indexes[n].tree.urgent();
        let mut leaf = tree.write(entry_key)?;
        let Ok(slot) = leaf.node().search(entry_key) else {
            return Ok(false);
        };
        if self.is_of_another(leaf.node().value(slot)) {
            return Ok(false);
        }
        // An entry deleted before by this transaction stays implicitly locked by its id; one of another writer needs an
        // object.
        if let Some(owner) = self.goes_on.filter(|_| self.keeps_gaps && writer != self.txn) {
            self.kernel()
                .locks
                .keep_record(&table.indexes[n].locks, owner, entry_key);
        }
        let head = EntryHead::deleted(writer).bytes();
        let fits = leaf.splice(slot, 0, STORED_AT, &head);
        debug_assert!(fits.is_ok(), "the length stays");
        leaf.finish();
        Ok(true)
    }

    /// Restores an entry of a row, unmarked or inserted again, if this transaction had deleted it.
    fn revive_entry(
        &self,
        table: &Table,
        n: IndexNo,
        entry_key: &[u8],
        key: &[u8],
        old: &[u8],
    ) -> Result<()> {
        let mut value = Vec::new();
        let row = row_of(old);
        let outside = Outside::of(table, Head::of(old).flags, row);
        let view = RowView::row(key, row, &outside);
        let mut writer = Head::of(old).writer;
        value.extend_from_slice(&EntryHead::standing(writer).bytes());
        table.entries[n - 1].encode_stored(|c| view.get(c), &mut value)?;
        outside.check()?;
        if writer == self.txn
            && self.versions.is_some()
            && let Some(before) = table.entry_writer_before(self.kernel(), n, entry_key, stored_of(&value))?
        {
            writer = before;
            value[..STORED_AT].copy_from_slice(&EntryHead::standing(writer).bytes());
        }
        let building = table.indexes[n].building.as_deref();
        let _access = match building.map(Building::enter) {
            Some(None) => return Ok(()),
            access => access.flatten(),
        };
        let tree = table.indexes[n].tree.urgent();
        loop {
            let mut leaf = tree.write(entry_key)?;
            let done = match leaf.node().search(entry_key) {
                Ok(slot) if EntryHead::of(leaf.node().value(slot)).writer != self.txn => return Ok(()),
                Ok(slot) => leaf.replace(slot, &value),
                Err(slot) => {
                    let locks = &table.indexes[n].locks;
                    let kernel = self.kernel();
                    let mut divide = |next: &[u8], _| kernel.locks.divide_gap(locks, next, entry_key);
                    if !locks.has_no_gaps() && !key_behind(&leaf, slot, &mut divide)? {
                        continue;
                    }
                    let layout = &table.entries[n - 1];
                    if let Some(building) = building
                        && table.indexes[n].unique
                        && !layout.has_null(entry_key)
                    {
                        building.suspect(&entry_key[..layout.own_len(entry_key)]);
                    }
                    leaf.insert(slot, entry_key, &value)
                }
            };
            match done {
                Ok(()) => {
                    leaf.finish();
                    return Ok(());
                }
                Err(Full) => {
                    drop(leaf);
                    tree.split(entry_key, value.len())?;
                }
            }
        }
    }

    /// Leaves a purge task for an entry that the rollback marks deleted. The task names the entry itself rather than
    /// the row that had it: the chains of that row are freed by this very rollback.
    fn add_purge_task(&self, table: &Table, n: IndexNo, entry_key: &[u8]) {
        // A rollback does not fail because a task cannot be written: the next start's sweep finds the entry.
        if let Some(buffer) = self.versions
            && table
                .add_purge_task(self.kernel(), buffer, self.txn, n, entry_key)
                .is_err()
        {
            self.core.tasks_lost.store(true, Ordering::Relaxed);
        }
    }
}
