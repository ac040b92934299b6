//! One entry of a range, and its row.

use super::super::entry::{EntryHead, Head, row_of, stored_of};
use super::super::outside::Outside;
use super::super::row::RowView;
use super::super::schema::IndexNo;
use super::super::{Flow, Keep, LockWait, Table};
use super::{Course, Got, Step, Visit};
use crate::error::{Error, Result};
use crate::ids::TxnId;
use crate::lock::{LockKind, LockMode, Want};
use crate::transaction::{Ask, Inner, RowLock};

impl Table {
    /// Locks one entry of the range and visits it.
    pub(super) fn step(
        &self,
        t: &mut Inner,
        course: &mut Course<'_>,
        key: &[u8],
        value: &[u8],
        visit: &mut Visit<'_>,
    ) -> Result<Step> {
        if course.n == 0 {
            return self.step_clustered(t, course, key, value, visit);
        }
        let head = EntryHead::of(value);
        let alone = course.shape.unique && !head.is_deleted();
        let gaps = course.gaps && !alone;
        let want = Want::scanned(course.lock.mode, gaps);
        let fresh = match self.get_lock(t, course, course.n, key, want, head.writer)? {
            Got::Held { fresh } => fresh,
            Got::Skipped => return Ok(Step::Over),
            Got::Wait(lock) => return Ok(Step::Wait(lock)),
        };
        if head.is_deleted() {
            course.let_go(self, t, course.n, key, want, fresh);
            return Ok(Step::Over);
        }
        let last = course.shape.unique || course.shape.whole;
        let then = |flow| match (flow, last) {
            (Flow::Continue, false) => Step::On,
            _ => Step::Stop,
        };
        let Visit::Show(show) = visit else {
            // Until its row is looked at, what becomes of the lock is open.
            course.fresh = fresh.then(|| key.to_vec());
            return Ok(Step::Found);
        };
        let layout = &self.entries[course.n - 1];
        if course.lock.covering && course.lock.mode == LockMode::Shared {
            let (keep, flow) = show(&RowView::entry(layout, key, stored_of(value)))?;
            if keep == Keep::Release {
                course.let_go(self, t, course.n, key, want, fresh);
            }
            return Ok(then(flow));
        }
        let primary_key = &key[layout.primary_at(key)..];
        let (n, mut flow) = (course.n, Flow::Continue);
        let row = self.lock_row_of(t, course, primary_key, &mut |row| {
            // It was locked by its entry, and may have moved on before that.
            if !self.has_entry(n, row, key)? {
                return Ok(Keep::Release);
            }
            let keep;
            (keep, flow) = show(row)?;
            Ok(keep)
        })?;
        match row {
            Got::Held { fresh: false } => {}
            Got::Held { fresh: true } => course.let_go(self, t, course.n, key, want, fresh),
            // Its entry stays locked.
            Got::Skipped => return Ok(Step::Over),
            Got::Wait(lock) => {
                course.fresh = fresh.then(|| key.to_vec());
                return Ok(Step::Wait(lock));
            }
        }
        Ok(then(flow))
    }

    pub(super) fn step_clustered(
        &self,
        t: &mut Inner,
        course: &mut Course<'_>,
        key: &[u8],
        value: &[u8],
        visit: &mut Visit<'_>,
    ) -> Result<Step> {
        let head = Head::of(value);
        let alone = course.shape.unique || (!course.reverse && course.shape.first.as_deref() == Some(key));
        let want = Want::scanned(course.lock.mode, course.gaps && !alone);
        if !self.is_worth_waiting_for(t, course, key, value)? {
            return Ok(Step::Over);
        }
        if !course.gaps && matches!(visit, Visit::Key(_)) {
            return Ok(Step::Found);
        }
        let fresh = match self.get_lock(t, course, 0, key, want, head.writer)? {
            Got::Held { fresh } => fresh,
            Got::Skipped => return Ok(Step::Over),
            Got::Wait(lock) => return Ok(Step::Wait(lock)),
        };
        self.check_unchanged(course.core, t, head.writer)?;
        if head.is_deleted() {
            course.let_go(self, t, 0, key, want, fresh);
            return Ok(if course.shape.unique { Step::Stop } else { Step::On });
        }
        let Visit::Show(show) = visit else {
            return Ok(Step::Found);
        };
        let row = row_of(value);
        let outside = Outside::of(&self.indexes[0].tree, &self.layout, head.flags, row);
        let (keep, flow) = show(&RowView::row(&self.layout, key, row, &outside))?;
        outside.check()?;
        if keep == Keep::Release {
            course.let_go(self, t, 0, key, want, fresh);
        }
        Ok(match (flow, course.shape.unique) {
            (Flow::Continue, false) => Step::On,
            _ => Step::Stop,
        })
    }

    /// Hands a key over, with no latch held.
    pub(super) fn hand_over(
        &self,
        t: &mut Inner,
        course: &mut Course<'_>,
        key: &[u8],
        visit: &mut Visit<'_>,
    ) -> Result<Flow> {
        let Visit::Key(hand_over) = visit else {
            unreachable!("a row that is shown is not handed over");
        };
        let fresh = course.n != 0 && course.fresh.take().is_some();
        let (keep, flow) = hand_over(t, key)?;
        if keep == Keep::Release && course.n != 0 {
            course.let_go(self, t, course.n, key, Want::record(course.lock.mode), fresh);
        }
        if course.shape.unique || course.shape.whole {
            return Ok(Flow::Stop);
        }
        Ok(flow)
    }

    /// Locks the row of an entry and shows it. `fresh`: it was let go again, and so may the entry be.
    pub(super) fn lock_row_of(
        &self,
        t: &mut Inner,
        course: &mut Course<'_>,
        key: &[u8],
        f: &mut dyn FnMut(&RowView) -> Result<Keep>,
    ) -> Result<Got> {
        // Nobody who holds a clustered leaf waits for a secondary one, so this cannot be a deadlock.
        let leaf = self.indexes[0].tree.read(key)?;
        let Some(value) = leaf.get(key) else {
            return Ok(Got::Held { fresh: true });
        };
        let head = Head::of(value);
        let want = Want::record(course.lock.mode);
        let fresh = match self.get_lock(t, course, 0, key, want, head.writer)? {
            Got::Held { fresh } => fresh,
            other => return Ok(other),
        };
        self.check_unchanged(course.core, t, head.writer)?;
        let mut keep = Keep::Release;
        if !head.is_deleted() {
            let row = row_of(value);
            let outside = Outside::of(&self.indexes[0].tree, &self.layout, head.flags, row);
            keep = f(&RowView::row(&self.layout, key, row, &outside))?;
            outside.check()?;
        }
        if keep == Keep::Release {
            course.let_go(self, t, 0, key, want, fresh);
        }
        Ok(Got::Held {
            fresh: keep == Keep::Release,
        })
    }

    /// Asks for the lock of an entry, or of its row if `n` is 0.
    pub(super) fn get_lock(
        &self,
        t: &mut Inner,
        course: &mut Course<'_>,
        n: IndexNo,
        key: &[u8],
        want: Want,
        writer: TxnId,
    ) -> Result<Got> {
        let index = &self.indexes[n];
        let fresh = n == course.n && course.fresh.take().is_some_and(|fresh| fresh == key);
        let in_run = n == course.n && want.kind == LockKind::NextKey;
        let ask = Ask {
            locks: &index.locks,
            key,
            want,
            writer,
            wait: course.lock.wait,
        };
        let asked = match in_run {
            true => t.lock_in_run(course.core, &ask, &mut course.run),
            false => t.lock(course.core, &ask),
        };
        match asked {
            RowLock::Held { new } => Ok(Got::Held { fresh: new || fresh }),
            RowLock::Busy if course.lock.wait == LockWait::Skip => Ok(Got::Skipped),
            RowLock::Busy => Err(Error::LockNoWait),
            RowLock::Wait(lock) => Ok(Got::Wait(lock)),
        }
    }
}
