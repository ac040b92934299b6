//! One row by its whole clustered key.

use super::super::entry::{Head, row_of};
use super::super::outside::Outside;
use super::super::row::RowView;
use super::super::{Keep, Table};
use super::{Locking, key_behind};
use crate::error::{Error, Result};
use crate::lock::{LockMode, LockType, LockWait};
use crate::tree::LeafRead;
use crate::txn::{RowLock, RowLockRequest, Txn};

impl Table {
    /// Locks one row by its whole clustered key and shows it. Returns false if there is none, or it was skipped.
    pub(in crate::table) fn lock_point(
        &self,
        txn: &mut Txn<'_>,
        key: &[u8],
        lock: Locking,
        f: &mut dyn FnMut(&RowView) -> Result<Keep>,
    ) -> Result<bool> {
        let index = &self.indexes[0];
        let want = LockType::record(lock.mode);
        loop {
            txn.check_locking()?;
            let leaf = index.tree.read(key)?;
            let slot = match leaf.node().search(key) {
                Ok(slot) => slot,
                Err(slot) => {
                    if self.lock_gap_behind(txn, &leaf, slot, lock.mode)? {
                        drop(leaf);
                        self.check_not_buried(txn, key)?;
                        return Ok(false);
                    }
                    continue;
                }
            };
            let value = leaf.node().value(slot);
            let head = Head::of(value);
            let request = RowLockRequest {
                locks: &index.locks,
                key,
                want,
                writer: head.writer,
                wait: lock.wait,
            };
            let fresh = match txn.lock(&request) {
                RowLock::Held { new } => new && !txn.locks_gaps(),
                // The scan would continue behind the skipped row, and find no other of its key.
                RowLock::Busy if lock.wait == LockWait::Skip => {
                    match self.lock_gap_behind(txn, &leaf, slot + 1, lock.mode)? {
                        true => return Ok(false),
                        false => continue,
                    }
                }
                RowLock::Busy => return Err(Error::LockNoWait),
                RowLock::Wait(wait) => {
                    drop(leaf);
                    txn.wait(&wait)?;
                    continue;
                }
            };
            self.check_unchanged(txn, head.writer)?;
            let mut keep = Keep::Release;
            if !head.is_deleted() {
                let row = row_of(value);
                let outside = Outside::of(self, head.flags, row);
                keep = f(&RowView::row(key, row, &outside))?;
                outside.check()?;
            }
            if fresh && keep == Keep::Release {
                txn.kernel.locks.release(&txn.owner, &index.locks, key, want);
            }
            return Ok(!head.is_deleted());
        }
    }

    /// Locks the gap in front of the row at or behind a slot, where gaps are locked. Returns false if that row could
    /// not be latched from here: the caller releases its leaf and starts over.
    fn lock_gap_behind(
        &self,
        txn: &mut Txn<'_>,
        leaf: &LeafRead<'_>,
        slot: usize,
        mode: LockMode,
    ) -> Result<bool> {
        if !txn.locks_gaps() {
            return Ok(true);
        }
        let locks = &self.indexes[0].locks;
        key_behind(leaf, slot, &mut |next, writer| {
            txn.lock_gap(locks, next, mode, writer)
        })
    }
}
