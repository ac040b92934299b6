//! The *semi-consistent* read: where gaps are not locked, an UPDATE evaluates its condition on the last committed
//! version of a row that another transaction has locked, and waits for the row only if that matches. Only in the
//! clustered index, and not for a unique key: an entry of a secondary index is waited for like any other lock.

use super::super::entry::{Head, row_of};
use super::super::outside::Outside;
use super::super::row::RowView;
use super::Cursor;
use crate::error::Result;
use crate::mvcc::{self, Address};

impl Cursor<'_, '_, '_> {
    /// True if no other transaction has locked the row, or its last committed version matches.
    pub(super) fn is_worth_waiting_for(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        let Some(matches_committed) = self
            .matches
            .as_mut()
            .filter(|_| !self.gaps && !self.target.unique)
        else {
            return Ok(true);
        };
        let (kernel, index) = (self.txn.kernel, &self.table.indexes[0]);
        let head = Head::of(value);
        if !self.txn.is_locked(&index.locks, key, head.writer) {
            return Ok(true);
        }
        let mut row = std::mem::take(&mut self.txn.buffers.version);
        row.clear();
        let mut flags = None;
        if !kernel.mvcc.txns.is_active(head.writer) {
            row.extend_from_slice(row_of(value));
            flags = (!head.is_deleted()).then_some(head.flags);
        } else if head.older != Address::NONE
            && let Some(version) = kernel.mvcc.versions().read(head.older, Some(&mut row))?
        {
            flags = (version.flags & mvcc::DELETED == 0).then_some(version.row_flags);
        }
        let mut matches = Ok(false);
        if let Some(flags) = flags {
            let outside = Outside::of(self.table, flags, &row);
            matches = matches_committed(&RowView::row(key, &row, &outside));
            outside.check()?;
        }
        self.txn.buffers.version = row;
        matches
    }
}
