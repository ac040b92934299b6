//! Locks at the ends of a range.
//!
//! A scan must lock something at the first entry behind its range, because the range's last gap ends there. What it
//! locks depends on how it finds out that the entry lies beyond:
//!
//! | range | where gaps are locked | where they are not |
//! |---|---|---|
//! | equality | the gap | nothing |
//! | of the clustered index | the gap; nothing behind the very row that the range ends with, unless it is the last of all | the row, until it is seen to lie beyond; an UPDATE passes over what others have locked |
//! | of another, if the index tells (a query) | the entry and its gap | the entry, until then |
//! | … if the row must be looked at (a change, `FOR UPDATE` of what the index covers, [`by_rows`](super::super::RangeScan::by_rows)) | the entry and its gap, and its row | both, until then |
//!
//! An entry marked deleted decides nothing: the scan locks it and continues with the next. If there is no next, a scan
//! whose range is not tested against entries stops without the supremum: that the last entry lies behind the range is
//! seen at the end of its page.

use super::super::Keep;
use super::super::entry::{EntryHead, Head};
use super::{Cursor, LockOutcome, Move};
use crate::error::Result;
use crate::ids::{IndexNo, TxnId};
use crate::lock::{LockType, SUPREMUM};
use crate::tree::{LeafRead, LeafWrite, NextLeaf, Node};

impl Cursor<'_, '_, '_> {
    pub(super) fn lock_gap(&mut self, key: &[u8], writer: TxnId) {
        let locks = &self.table.indexes[self.n].locks;
        self.txn.lock_gap(locks, key, self.lock.mode, writer);
    }

    /// Locks the upper end of a range, at an entry behind it.
    pub(super) fn lock_beyond(&mut self, key: &[u8], value: &[u8]) -> Result<Move> {
        let n = self.n;
        if self.gaps && (self.target.equality || n == 0) {
            self.lock_gap(key, writer_of(n, value));
            return Ok(Move::Stop);
        }
        if self.target.equality {
            return Ok(Move::Stop);
        }
        if n == 0 && self.matches.is_some() {
            // Locked for a moment, if no other transaction holds it.
            let (locks, writer) = (&self.table.indexes[0].locks, writer_of(0, value));
            if !self.txn.is_locked(locks, key, writer) {
                self.txn.note_write(locks, key);
            }
            return Ok(Move::Stop);
        }
        let want = LockType::scanned(self.lock.mode, self.gaps);
        let fresh = match self.get_lock(n, key, want, writer_of(n, value))? {
            LockOutcome::Wait(lock) => return Ok(Move::Wait(lock)),
            LockOutcome::Skipped => return Ok(Move::Skip),
            LockOutcome::Held { fresh } => fresh,
        };
        let mut is_row = !is_deleted(n, value);
        if is_row && n != 0 && self.lock.looks_at_rows() {
            let primary_key = &key[self.table.entries[n - 1].primary_at(key)..];
            is_row = false;
            let row = self.lock_row_of(primary_key, &mut |_| {
                is_row = true;
                Ok(Keep::Release)
            })?;
            match row {
                LockOutcome::Wait(lock) => {
                    self.fresh = fresh.then(|| key.to_vec());
                    return Ok(Move::Wait(lock));
                }
                LockOutcome::Skipped => return Ok(Move::Skip),
                LockOutcome::Held { fresh: false } => {
                    return Ok(if is_row { Move::Stop } else { Move::Skip });
                }
                LockOutcome::Held { fresh: true } => {}
            }
        }
        self.let_go(n, key, want, fresh);
        Ok(if is_row { Move::Stop } else { Move::Skip })
    }

    /// Locks the lower end of a range that is scanned backwards, at the entry before it. `found` says whether the range has
    /// a row; an equality without any stops at the gap.
    pub(super) fn lock_before(&mut self, key: &[u8], value: &[u8], found: bool) -> Result<Move> {
        if self.target.equality && !found {
            if self.gaps {
                self.lock_gap(key, writer_of(self.n, value));
            }
            return Ok(Move::Stop);
        }
        let want = LockType::scanned(self.lock.mode, self.gaps);
        let fresh = match self.get_lock(self.n, key, want, writer_of(self.n, value))? {
            LockOutcome::Wait(lock) => return Ok(Move::Wait(lock)),
            LockOutcome::Skipped => return Ok(Move::Stop),
            LockOutcome::Held { fresh } => fresh,
        };
        match (self.n, self.target.equality) {
            // The row is read before it turns out to lie outside the range, and stays locked.
            (0, _) => {}
            (n, true) if !EntryHead::of(value).is_deleted() => {
                let primary_key = &key[self.table.entries[n - 1].primary_at(key)..];
                let row = self.lock_row_of(primary_key, &mut |_| Ok(Keep::Locked))?;
                if let LockOutcome::Wait(lock) = row {
                    return Ok(Move::Wait(lock));
                }
            }
            (n, _) => self.let_go(n, key, want, fresh),
        }
        Ok(Move::Stop)
    }
}

fn writer_of(n: IndexNo, value: &[u8]) -> TxnId {
    match n {
        0 => Head::of(value).writer,
        _ => EntryHead::of(value).writer,
    }
}

fn is_deleted(n: IndexNo, value: &[u8]) -> bool {
    match n {
        0 => Head::of(value).is_deleted(),
        _ => EntryHead::of(value).is_deleted(),
    }
}

/// A latched leaf from which the next one can be latched.
pub(crate) trait Latched<'t> {
    fn node(&self) -> Node<'_>;
    fn next(&self) -> Result<NextLeaf<'t>>;
}

impl<'t> Latched<'t> for LeafRead<'t> {
    fn node(&self) -> Node<'_> {
        LeafRead::node(self)
    }
    fn next(&self) -> Result<NextLeaf<'t>> {
        Ok(self.next_held()?)
    }
}

impl<'t> Latched<'t> for LeafWrite<'t> {
    fn node(&self) -> Node<'_> {
        LeafWrite::node(self)
    }
    fn next(&self) -> Result<NextLeaf<'t>> {
        Ok(self.next_held()?)
    }
}

/// Calls `f` with the first key at or behind a slot of the leaf, and its writer, or the supremum, while all leaves up
/// to it are latched. Returns false if they could not be latched from here: the caller releases its leaf and starts
/// over.
pub(crate) fn key_behind<'t>(
    leaf: &dyn Latched<'t>,
    slot: usize,
    f: &mut dyn FnMut(&[u8], TxnId),
) -> Result<bool> {
    let node = leaf.node();
    if slot < node.count() {
        let (key, value) = node.entry(slot);
        // A row's value begins like an entry's.
        f(key, EntryHead::of(value).writer);
        return Ok(true);
    }
    match leaf.next()? {
        NextLeaf::Leaf(next) => key_behind(&next, 0, f),
        NextLeaf::End => {
            f(SUPREMUM, TxnId::NONE);
            Ok(true)
        }
        NextLeaf::Busy => Ok(false),
    }
}
