//! What becomes of the locks on an entry that is taken out of its index: they are handed on to the gap that it leaves.

use super::super::Table;
use super::key_behind;
use crate::error::Result;
use crate::ids::IndexNo;
use crate::kernel::Kernel;
use crate::lock::Owner;
use crate::tree::LeafWrite;
use std::sync::Arc;

impl Table {
    /// Before the entry at this slot is taken out: hands its locks on to the gap it leaves. With an owner, whose entry it
    /// is, also the lock that he has by having written it. Answers false if the next leaf could not be reached from
    /// here: let go and come again.
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
