//! Locks on whole tables.
//!
//! Everybody who locks or writes rows has an intention lock on their table, and hardly anybody ever wants the table as a
//! whole. So an intention is only noted with its owner, under a mutex that nobody else asks for, and becomes an object
//! when somebody wants the table shared or exclusively (as PostgreSQL's *fast path* does it): he first counts himself
//! among those the table is *watched* by, then collects what owners have noted. Whoever notes his intention either comes
//! before the collector to his own mutex, and is collected, or after, and sees that the table is watched.

use super::mode::{LockMode, Want};
use super::owner::Owner;
use super::{Attempt, Implicit, IndexLocks, LockKey, Locks, Object, Queue, find, queues, remove_queue};
use crate::ids::{IndexId, TableId};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Under which tables stand in the lock table: no index has this number.
const TABLES: IndexId = IndexId(0);

/// What a table knows of its locks.
pub(crate) struct TableLocks(Arc<IndexLocks>);

impl TableLocks {
    pub fn new(table: TableId) -> TableLocks {
        TableLocks(IndexLocks::new(TABLES, table, 0))
    }

    pub fn table(&self) -> TableId {
        self.0.table
    }

    /// Whether nobody has more than an intention, or waits for it.
    pub fn is_free(&self) -> bool {
        self.0.is_free()
    }

    fn name(&self) -> [u8; 8] {
        self.0.table.0.to_be_bytes()
    }
}

impl Locks {
    /// Notes an intention. False: the table is watched, and it is to be asked for like any other lock.
    #[inline]
    pub fn intend(&self, owner: &Owner, table: &TableLocks, mode: LockMode) -> bool {
        let mut held = owner.held();
        if table.0.watched.load(Ordering::SeqCst) != 0 {
            return false;
        }
        held.intentions.push((table.table(), mode));
        true
    }

    /// Asks for a table. `owners` are all there are.
    pub fn acquire_table(
        &self,
        owner: &Arc<Owner>,
        table: &TableLocks,
        mode: LockMode,
        may_wait: bool,
        owners: impl FnOnce() -> Vec<Arc<Owner>>,
    ) -> Attempt {
        let want = Want::table(mode);
        if want.is_watched() {
            table.0.watched.fetch_add(1, Ordering::SeqCst);
            let key = self.table_key(table);
            for owner in owners() {
                self.collect(&owner, table, &key);
            }
        }
        let attempt = self.acquire(
            owner,
            &table.0,
            &table.name(),
            want,
            Implicit::Nobody,
            Object::Single,
            may_wait,
        );
        if want.is_watched() {
            // Its request is counted by itself now.
            table.0.watched.fetch_sub(1, Ordering::SeqCst);
        }
        attempt
    }

    /// Makes objects of what an owner has noted about a table.
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
            queue.add_granted(owner, epoch, Want::table(mode));
        }
        if queue.requests.is_empty() {
            remove_queue(&mut shard, key.hash, at);
        }
    }

    /// Whether somebody has the auto-increment counter to himself, or waits for it.
    pub fn counts_alone(&self, table: &TableLocks) -> bool {
        let alone = |queue: &Queue| {
            queue
                .requests
                .iter()
                .any(|r| r.want.mode == LockMode::AutoIncrement)
        };
        !table.is_free() && self.with_queue(&self.table_key(table), alone) == Some(true)
    }

    pub fn release_table(&self, owner: &Owner, table: &TableLocks, mode: LockMode) {
        self.release(owner, TABLES, &table.name(), Want::table(mode));
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
