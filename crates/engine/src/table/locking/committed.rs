//! The *semi-consistent* read: where gaps are not locked, an UPDATE that meets a locked row looks at it as it was last
//! committed, and waits for it only if it matches so. Only in the clustered index, and not for a unique key: an entry of
//! a secondary index is waited for like any other lock.

use super::super::Table;
use super::super::entry::{Head, row_of};
use super::super::outside::Outside;
use super::super::row::RowView;
use super::Course;
use crate::error::Result;
use crate::mvcc::{self, Address};
use crate::transaction::Inner;

impl Table {
    /// Whether the row that somebody else may have locked would match.
    pub(super) fn is_worth_waiting_for(
        &self,
        t: &mut Inner,
        course: &mut Course<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool> {
        let Some(judge) = course
            .judge
            .as_mut()
            .filter(|_| !course.gaps && !course.shape.unique)
        else {
            return Ok(true);
        };
        let (core, index) = (course.core, &self.indexes[0]);
        let head = Head::of(value);
        if !t.is_locked(core, &index.locks, key, head.writer) {
            return Ok(true);
        }
        let mut row = std::mem::take(&mut t.buffers.version);
        row.clear();
        let mut flags = None;
        if !core.txns.is_active(head.writer) {
            row.extend_from_slice(row_of(value));
            flags = (!head.is_deleted()).then_some(head.flags);
        } else if head.older != Address::NONE
            && let Some(version) = core.versions().read(head.older, Some(&mut row))?
        {
            flags = (version.flags & mvcc::DELETED == 0).then_some(version.row_flags);
        }
        let mut matches = Ok(false);
        if let Some(flags) = flags {
            let outside = Outside::of(&index.tree, &self.layout, flags, &row);
            matches = judge(&RowView::row(&self.layout, key, &row, &outside));
            outside.check()?;
        }
        t.buffers.version = row;
        matches
    }
}
