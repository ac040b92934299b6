//! The fast path: rows are changed where they lie, under the latch of their leaf.
//!
//! A row is shown to the caller as it lies in its page, who computes what becomes of it and writes that into the engine's buffer: one
//! descent, no copy of the row. Nothing may happen on the way that looks at other rows, runs a statement or waits, so there is none of what
//! else belongs to a change: the caller computes generated columns and tests conditions ([`RowWriter::assign`]), and moves the counter on when
//! the latch is gone. A target for which there is more to be done is not [`latch_safe`](RowWriter::latch_safe).
//!
//! *Cost.* A pass of UPDATE or DELETE makes one call of the engine for a row or a range, and the writer adds nothing to it: it is a copy of
//! a few pointers, made once for a statement, and its functions here only pass their arguments on. Hooks, foreign keys and savepoints are not
//! looked at; the plan has chosen the pass.

use super::hooked::fill;
use super::{RowWriter, UpdateBy};
use crate::exec::change::assignments::Set;
use crate::exec::change::rows::{Slots, Stored};
use crate::expr::Row;
use crate::types::Value;
use tidemark_engine::{Action, Error, Flow, RangeScan, Result, RowBuf, RowView};

/// Decides about a row and writes its new values.
pub type Visit<'v> = &'v mut dyn FnMut(&RowView, &mut RowBuf) -> Result<Action>;

/// Whether a row that another transaction has locked matches as it was last committed.
pub type Judge<'j> = &'j mut dyn FnMut(&RowView) -> Result<bool>;

impl RowWriter<'_> {
    /// Changes one row. Returns whether it was there.
    #[inline]
    pub fn visit(&self, key: &[u8], visit: Visit) -> Result<bool> {
        debug_assert!(self.latch_safe(false));
        let txn = &mut **self.run.txn.borrow_mut();
        self.target.table.modify(txn, key, visit)
    }

    /// [`RowWriter::visit`] of a row that changes whole or not at all.
    pub fn visit_whole(&self, key: &[u8], by: UpdateBy, visit: Visit) -> Result<bool> {
        debug_assert!(self.latch_safe(false));
        let txn = &mut **self.run.txn.borrow_mut();
        let savepoint = txn.savepoint();
        let found = match by {
            UpdateBy::Update => self.target.table.modify(txn, key, visit),
            UpdateBy::Duplicate => self.target.table.modify_duplicate(txn, key, visit),
        };
        if let Err(Error::DuplicateKey { .. }) = found {
            txn.rollback_to(&savepoint)?;
        }
        found
    }

    /// See [`RowWriter::replace`].
    pub(super) fn replace_in_place(&self, key: &[u8], new: &[Value]) -> crate::error::Result<Option<bool>> {
        let target = self.target;
        let set: Set = new.iter().cloned().enumerate().collect();
        let mut changed = false;
        let found = self.visit_whole(key, UpdateBy::Duplicate, &mut |view, buf| {
            let old = Stored {
                def: &target.def,
                view,
                zone: self.run.env.time_zone,
            };
            changed = set.iter().any(|(column, value)| old.column(*column) != *value);
            self.fill(&set, buf);
            Ok(if changed { Action::Update } else { Action::Keep })
        });
        let found = found.map_err(|error| target.explain(error, &Slots(new)))?;
        Ok(found.then_some(changed))
    }

    /// Changes the rows of a scan, none of which is moved within its index by that.
    #[inline]
    pub fn visit_range(
        &self,
        scan: &RangeScan,
        judge: Option<Judge>,
        visit: &mut dyn FnMut(&RowView, &mut RowBuf) -> Result<(Action, Flow)>,
    ) -> Result<()> {
        debug_assert!(self.latch_safe(false));
        let (table, txn) = (&self.target.table, &mut **self.run.txn.borrow_mut());
        match judge {
            Some(judge) => table.update_range(txn, scan, judge, visit),
            None => table.modify_range(txn, scan, visit),
        }
    }

    /// Writes new values of a row, by column.
    #[inline]
    pub fn fill(&self, set: &[(usize, Value)], buf: &mut RowBuf) {
        fill(&self.target.def, set, buf, self.run.env.time_zone);
    }
}
