//! One row by its whole clustered key.

use super::super::entry::{Head, row_of};
use super::super::outside::Outside;
use super::super::row::RowView;
use super::super::{Keep, LockWait, Table};
use super::{Locking, key_behind};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::lock::{LockMode, Want};
use crate::transaction::{Ask, Inner, RowLock};
use crate::tree::LeafRead;

impl Table {
    /// Locks one row by its whole clustered key and shows it. Answers whether there is one (that could be locked).
    pub(in crate::table) fn lock_point(
        &self,
        core: &Core,
        t: &mut Inner,
        key: &[u8],
        lock: Locking,
        f: &mut dyn FnMut(&RowView) -> Result<Keep>,
    ) -> Result<bool> {
        let index = &self.indexes[0];
        let want = Want::record(lock.mode);
        loop {
            t.check()?;
            let leaf = index.tree.read(key)?;
            let slot = match leaf.node().search(key) {
                Ok(slot) => slot,
                Err(slot) => {
                    if self.lock_gap_behind(core, t, &leaf, slot, lock.mode)? {
                        drop(leaf);
                        self.check_not_buried(core, t, key)?;
                        return Ok(false);
                    }
                    continue;
                }
            };
            let value = leaf.node().value(slot);
            let head = Head::of(value);
            let ask = Ask {
                locks: &index.locks,
                key,
                want,
                writer: head.writer,
                wait: lock.wait,
            };
            let fresh = match t.lock(core, &ask) {
                RowLock::Held { new } => new && !t.locks_gaps(),
                // The search goes on behind the row it skips, and finds that nothing else has its key.
                RowLock::Busy if lock.wait == LockWait::Skip => {
                    match self.lock_gap_behind(core, t, &leaf, slot + 1, lock.mode)? {
                        true => return Ok(false),
                        false => continue,
                    }
                }
                RowLock::Busy => return Err(Error::LockNoWait),
                RowLock::Wait(wait) => {
                    drop(leaf);
                    t.wait(core, &wait)?;
                    continue;
                }
            };
            self.check_unchanged(core, t, head.writer)?;
            let mut keep = Keep::Release;
            if !head.is_deleted() {
                let row = row_of(value);
                let outside = Outside::of(&index.tree, &self.layout, head.flags, row);
                keep = f(&RowView::row(&self.layout, key, row, &outside))?;
                outside.check()?;
            }
            if fresh && keep == Keep::Release {
                core.locks.release(&t.owner, index.id, key, want);
            }
            return Ok(!head.is_deleted());
        }
    }

    /// Locks the gap in front of the row at or behind a slot, where gaps are locked. Answers false if it could not be
    /// reached from here: let go and come again.
    fn lock_gap_behind(
        &self,
        core: &Core,
        t: &mut Inner,
        leaf: &LeafRead<'_>,
        slot: usize,
        mode: LockMode,
    ) -> Result<bool> {
        if !t.locks_gaps() {
            return Ok(true);
        }
        let locks = &self.indexes[0].locks;
        key_behind(leaf, slot, &mut |next, writer| {
            t.lock_gap(core, locks, next, mode, writer)
        })
    }
}
