//! Locks on whole tables.
//!
//! Every transaction that locks or writes rows has an intention lock on their table. Intentions are noted with their
//! owner (`intentions`) and become lock objects only when a transaction wants the table shared or exclusively.

use super::intentions;
use super::mode::{LockMode, LockType};
use super::owner::Owner;
use super::{
    Attempt, Implicit, IndexLocks, LockKey, LockRequest, Locks, Materialise, Queue, find, queues,
    remove_queue,
};
use crate::ids::{IndexId, TableId};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The index id under which tables stand in the lock table: no index has it.
pub(super) const TABLES: IndexId = IndexId(0);

/// The lock counters of one table.
#[derive(Clone)]
pub(crate) struct TableLocks(Arc<IndexLocks>);

impl TableLocks {
    pub fn new(table: TableId) -> TableLocks {
        TableLocks(IndexLocks::new(TABLES, table, 0))
    }

    pub fn table(&self) -> TableId {
        self.0.table
    }

    /// True if no transaction holds or wants more of the table than an intention.
    pub fn is_free(&self) -> bool {
        self.0.is_free()
    }

    fn name(&self) -> [u8; 8] {
        self.0.table.0.to_be_bytes()
    }
}

impl Locks {
    /// Notes an intention. Returns false if the table is watched: then it must be acquired like any other lock.
    #[inline]
    pub fn intend(&self, owner: &Owner, table: &TableLocks, mode: LockMode) -> bool {
        let noted = &mut owner.held().intentions;
        intentions::note(&table.0.watched, noted, (table.table(), mode))
    }

    /// Requests a lock on a whole table. `owners` returns all owners there are.
    pub fn acquire_table(
        &self,
        owner: &Arc<Owner>,
        table: &TableLocks,
        mode: LockMode,
        may_wait: bool,
        owners: impl FnOnce() -> Vec<Arc<Owner>>,
    ) -> Attempt {
        let want = LockType::table(mode);
        if want.is_watched() {
            let key = self.table_key(table);
            intentions::watch(&table.0.watched, owners, |owner| {
                self.collect(&owner, table, &key)
            });
        }
        let attempt = self.acquire(
            owner,
            LockRequest {
                locks: &table.0,
                key: &table.name(),
                want,
                held: Implicit::None,
                may_wait,
            },
            Materialise::Single,
        );
        if want.is_watched() {
            // The request itself is counted by now.
            table.0.watched.fetch_sub(1, Ordering::SeqCst);
        }
        attempt
    }

    /// Turns an owner's noted intentions on a table into lock objects.
    fn collect(&self, owner: &Arc<Owner>, table: &TableLocks, key: &LockKey) {
        let mut held = owner.held();
        let mut modes = Vec::new();
        held.intentions.retain(|(id, mode)| {
            let other = *id != table.table();
            if !other {
                modes.push(*mode);
            }
            other
        });
        let epoch = held.epoch;
        drop(held);
        if modes.is_empty() {
            return;
        }
        let mut shard = self.shard(key.hash).lock();
        let at = find(&shard, key).unwrap_or_else(|| {
            let queues = shard.entry(key.hash).or_default();
            queues.push(Queue::new(&table.0, key.clone()));
            queues.len() - 1
        });
        let queue = &mut queues(&mut shard, key.hash)[at];
        for mode in modes {
            queue.add_granted(owner, epoch, LockType::table(mode));
        }
        if queue.requests.is_empty() {
            remove_queue(&mut shard, key.hash, at);
        }
    }

    /// True if a statement holds the auto-increment lock, or waits for it.
    pub fn counts_alone(&self, table: &TableLocks) -> bool {
        let alone = |queue: &Queue| {
            queue
                .requests
                .iter()
                .any(|r| r.want.mode == LockMode::AutoIncrement)
        };
        !table.is_free() && self.with_queue(&self.table_key(table), alone) == Some(true)
    }

    /// True if the owner has locked the table, or rows of it.
    pub fn has_locked(owner: &Owner, table: TableId) -> bool {
        let held = owner.held();
        let name = table.0.to_be_bytes();
        held.intentions.iter().any(|(intended, _)| *intended == table)
            || held
                .keys
                .iter()
                .any(|(key, _)| key.index == TABLES && *key.key == name)
    }

    pub fn release_table(&self, owner: &Owner, table: &TableLocks, mode: LockMode) {
        self.release(owner, &table.0, &table.name(), LockType::table(mode));
    }

    fn table_key(&self, table: &TableLocks) -> LockKey {
        let name = table.name();
        LockKey {
            index: TABLES,
            hash: self.hash(TABLES, &name),
            key: name[..].into(),
        }
    }
}
