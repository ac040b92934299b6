//! Passes the locks on an entry that is removed from its index on to the gap that it leaves.

use super::super::Table;
use super::key_behind;
use crate::error::Result;
use crate::ids::IndexNo;
use crate::kernel::Kernel;
use crate::lock::Owner;
use crate::tree::LeafWrite;
use std::sync::Arc;

impl Table {
    /// Passes the locks of the entry at this slot on to the gap that it leaves; called before the entry is removed.
    /// Given the owner that wrote the entry, also passes on its implicit lock. Returns false if the next leaf could not
    /// be latched from here: the caller releases its leaf and starts over.
    pub(crate) fn hand_on_locks(
        &self,
        kernel: &Kernel,
        n: IndexNo,
        leaf: &LeafWrite<'_>,
        slot: usize,
        owner: Option<&Arc<Owner>>,
    ) -> Result<bool> {
        let locks = &self.indexes[n].locks;
        if owner.is_none() && !kernel.locks.is_locked(locks, leaf.node().key(slot)) {
            return Ok(true);
        }
        key_behind(leaf, slot + 1, &mut |next, _| {
            if let Some(owner) = owner {
                kernel.locks.keep_gap(locks, owner, next);
            }
            kernel.locks.join_gaps(locks, leaf.node().key(slot), next);
        })
    }
}
