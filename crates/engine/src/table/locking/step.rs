//! One entry of a range, and its row.

use super::super::entry::{EntryHead, Head, row_of, stored_of};
use super::super::outside::Outside;
use super::super::row::{RowView, WrongColumn};
use super::super::{Flow, Keep};
use super::{Cursor, LockOutcome, Move, Visit};
use crate::error::{Error, Result};
use crate::ids::{IndexNo, TxnId};
use crate::lock::{LockKind, LockMode, LockType, LockWait};
use crate::txn::{RowLock, RowLockRequest};

impl Cursor<'_, '_, '_> {
    /// Locks one entry of the range and visits it.
    pub(super) fn step(&mut self, key: &[u8], value: &[u8], visit: &mut Visit<'_>) -> Result<Move> {
        if self.n == 0 {
            return self.step_clustered(key, value, visit);
        }
        let head = EntryHead::of(value);
        let alone = self.target.unique && !head.is_deleted();
        let gaps = self.gaps && !alone;
        let want = LockType::scanned(self.lock.mode, gaps);
        let fresh = match self.get_lock(self.n, key, want, head.writer)? {
            LockOutcome::Held { fresh } => fresh,
            LockOutcome::Skipped => return Ok(Move::Skip),
            LockOutcome::Wait(lock) => return Ok(Move::Wait(lock)),
        };
        if head.is_deleted() {
            self.let_go(self.n, key, want, fresh);
            return Ok(Move::Skip);
        }
        let last = self.target.unique || self.target.whole;
        let then = |flow| match (flow, last) {
            (Flow::Continue, false) => Move::Next,
            _ => Move::Stop,
        };
        let Visit::Show(show) = visit else {
            // Until its row has been examined, the lock may yet be released.
            self.fresh = fresh.then(|| key.to_vec());
            return Ok(Move::HandOver);
        };
        let table = self.table;
        let layout = &table.entries[self.n - 1];
        if self.lock.covering && self.lock.mode == LockMode::Shared {
            let wrong = WrongColumn::default();
            let (keep, flow) = show(&RowView::entry(layout, key, stored_of(value), &wrong))?;
            wrong.check()?;
            if keep == Keep::Release {
                self.let_go(self.n, key, want, fresh);
            }
            return Ok(then(flow));
        }
        let primary_key = &key[layout.primary_at(key)..];
        let (n, scan, mut flow) = (self.n, self.scan, Flow::Continue);
        let row = self.lock_row_of(primary_key, &mut |row| {
            // The row is locked after its entry, and may have changed in between.
            if !table.has_entry(n, row, key)? {
                return Ok(Keep::Release);
            }
            if !table.is_first(scan, row, key)? {
                return Ok(Keep::Locked);
            }
            let keep;
            (keep, flow) = show(&row.found_by(key))?;
            Ok(keep)
        })?;
        match row {
            LockOutcome::Held { fresh: false } => {}
            LockOutcome::Held { fresh: true } => self.let_go(self.n, key, want, fresh),
            // Its entry stays locked.
            LockOutcome::Skipped => return Ok(Move::Skip),
            LockOutcome::Wait(lock) => {
                self.fresh = fresh.then(|| key.to_vec());
                return Ok(Move::Wait(lock));
            }
        }
        Ok(then(flow))
    }

    pub(super) fn step_clustered(&mut self, key: &[u8], value: &[u8], visit: &mut Visit<'_>) -> Result<Move> {
        let head = Head::of(value);
        let alone = self.target.unique || (!self.reverse && self.target.first.as_deref() == Some(key));
        let want = LockType::scanned(self.lock.mode, self.gaps && !alone);
        if !self.is_worth_waiting_for(key, value)? {
            return Ok(Move::Skip);
        }
        if !self.gaps && matches!(visit, Visit::Key(_)) {
            return Ok(Move::HandOver);
        }
        let fresh = match self.get_lock(0, key, want, head.writer)? {
            LockOutcome::Held { fresh } => fresh,
            LockOutcome::Skipped => return Ok(Move::Skip),
            LockOutcome::Wait(lock) => return Ok(Move::Wait(lock)),
        };
        self.table.check_unchanged(self.txn, head.writer)?;
        if head.is_deleted() {
            self.let_go(0, key, want, fresh);
            return Ok(if self.target.unique {
                Move::Stop
            } else {
                Move::Next
            });
        }
        let Visit::Show(show) = visit else {
            return Ok(Move::HandOver);
        };
        let row = row_of(value);
        let outside = Outside::of(self.table, head.flags, row);
        let (keep, flow) = show(&RowView::row(key, row, &outside))?;
        outside.check()?;
        if keep == Keep::Release {
            self.let_go(0, key, want, fresh);
        }
        Ok(match (flow, self.target.unique) {
            (Flow::Continue, false) => Move::Next,
            _ => Move::Stop,
        })
    }

    /// Hands a key over, with no latch held.
    pub(super) fn hand_over(&mut self, key: &[u8], visit: &mut Visit<'_>) -> Result<Flow> {
        let Visit::Key(hand_over) = visit else {
            unreachable!("a row that is shown is not handed over");
        };
        let fresh = self.n != 0 && self.fresh.take().is_some();
        let (keep, flow) = hand_over(self.txn, key)?;
        if keep == Keep::Release && self.n != 0 {
            self.let_go(self.n, key, LockType::record(self.lock.mode), fresh);
        }
        if self.target.unique || self.target.whole {
            return Ok(Flow::Stop);
        }
        Ok(flow)
    }

    /// Locks the row of an entry and shows it. `fresh` if the row's lock was released again, so that the entry's may
    /// be, too.
    pub(super) fn lock_row_of(
        &mut self,
        key: &[u8],
        f: &mut dyn FnMut(&RowView) -> Result<Keep>,
    ) -> Result<LockOutcome> {
        // No thread that holds a clustered leaf waits for a secondary one, so this cannot be a deadlock.
        let leaf = self.table.indexes[0].tree.read(key)?;
        let Some(value) = leaf.get(key) else {
            return Ok(LockOutcome::Held { fresh: true });
        };
        let head = Head::of(value);
        let want = LockType::record(self.lock.mode);
        let fresh = match self.get_lock(0, key, want, head.writer)? {
            LockOutcome::Held { fresh } => fresh,
            other => return Ok(other),
        };
        self.table.check_unchanged(self.txn, head.writer)?;
        let mut keep = Keep::Release;
        if !head.is_deleted() {
            let row = row_of(value);
            let outside = Outside::of(self.table, head.flags, row);
            keep = f(&RowView::row(key, row, &outside))?;
            outside.check()?;
        }
        if keep == Keep::Release {
            self.let_go(0, key, want, fresh);
        }
        Ok(LockOutcome::Held {
            fresh: keep == Keep::Release,
        })
    }

    /// Requests the lock of an entry, or of its row if `n` is 0.
    pub(super) fn get_lock(
        &mut self,
        n: IndexNo,
        key: &[u8],
        want: LockType,
        writer: TxnId,
    ) -> Result<LockOutcome> {
        let index = &self.table.indexes[n];
        let fresh = n == self.n && self.fresh.take().is_some_and(|fresh| fresh == key);
        let in_run = n == self.n && want.kind == LockKind::NextKey;
        let request = RowLockRequest {
            locks: &index.locks,
            key,
            want,
            writer,
            wait: self.lock.wait,
        };
        let asked = match in_run {
            true => self.txn.lock_in_run(&request, &mut self.run),
            false => self.txn.lock(&request),
        };
        match asked {
            RowLock::Held { new } => Ok(LockOutcome::Held { fresh: new || fresh }),
            RowLock::Busy if self.lock.wait == LockWait::Skip => Ok(LockOutcome::Skipped),
            RowLock::Busy => Err(Error::LockNoWait),
            RowLock::Wait(lock) => Ok(LockOutcome::Wait(lock)),
        }
    }
}
