//! Keeps locks on gaps right when keys are inserted and removed.
//!
//! A lock on a gap is kept under the key behind it. A key inserted into the gap divides it, and the lock must then be
//! on both parts. A removed key joins two gaps, and an owner that had locked the key, or the gap in front of it, has
//! locked part of the joined gap. Both happen under the mini-transaction's own latch, before any other thread can see
//! the change.

use super::mode::LockType;
use super::owner::Owner;
use super::{IndexLocks, LockKey, Locks, Queue, find, locks_gaps, queues, remove_queue};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Locks {
    pub(super) fn key(&self, index: &IndexLocks, key: &[u8]) -> LockKey {
        LockKey {
            index: index.index,
            key: key.into(),
            hash: self.hash(index.index, key),
        }
    }

    fn add_granted(
        &self,
        index: &Arc<IndexLocks>,
        key: &LockKey,
        owner: &Arc<Owner>,
        epoch: u32,
        want: LockType,
    ) {
        let mut shard = self.shard(key.hash).lock();
        let at = find(&shard, key).unwrap_or_else(|| {
            let queues = shard.entry(key.hash).or_insert_with(|| Vec::with_capacity(1));
            queues.push(Queue::new(index, key.clone()));
            queues.len() - 1
        });
        let queue = &mut queues(&mut shard, key.hash)[at];
        match want.has_gap() {
            true => queue.inherit(owner, epoch, want),
            false => queue.add_granted(owner, epoch, want),
        }
        if queue.requests.is_empty() {
            remove_queue(&mut shard, key.hash, at);
        }
    }

    /// True if the key has a lock object, or is locked in bulk. The caller holds its leaf latched.
    pub fn is_locked(&self, index: &IndexLocks, key: &[u8]) -> bool {
        if index.is_free() {
            return false;
        }
        if index.is_in_bulk(key, None) {
            return true;
        }
        let key = self.key(index, key);
        self.with_queue(&key, |_| ()).is_some()
    }

    /// Inserting `new` in front of `next` divides a gap: copies the locks on it to the gap in front of `new`. The
    /// caller holds the new key's leaf latched exclusively.
    pub fn divide_gap(&self, index: &Arc<IndexLocks>, next: &[u8], new: &[u8]) {
        let runs = index.runs_that_end_between(next, new);
        let next = self.key(index, next);
        let heirs = self.with_queue(&next, |queue| -> Vec<_> {
            let on_gap = queue.requests.iter().filter(|r| r.want.has_gap());
            on_gap.map(|r| (r.owner.clone(), r.epoch, r.want.mode)).collect()
        });
        let mut heirs = heirs.unwrap_or_default();
        heirs.extend(
            runs.into_iter()
                .map(|(owner, epoch, want)| (owner, epoch, want.mode)),
        );
        if heirs.is_empty() {
            return;
        }
        let new = self.key(index, new);
        for (owner, epoch, mode) in heirs {
            self.add_granted(index, &new, &owner, epoch, LockType::gap(mode));
        }
    }

    /// Removing `old` joins its gap with the one in front of `next`: moves the locks there. Requests that waited for
    /// the key are woken and look up the row again. The caller holds the old key's leaf latched exclusively. Under READ
    /// COMMITTED only the locks that keep a statement's new keys unique are inherited.
    pub fn join_gaps(&self, index: &Arc<IndexLocks>, old: &[u8], next: &[u8]) {
        for (owner, epoch, want) in index.runs_that_end_between(old, next) {
            let next = self.key(index, next);
            self.add_granted(index, &next, &owner, epoch, LockType::gap(want.mode));
        }
        let lives_on =
            |owner: &Owner| locks_gaps(owner.isolation()) || owner.keeps_unique.load(Ordering::Relaxed);
        let mut heirs = index.record_holders(old);
        heirs.retain(|(owner, ..)| lives_on(owner));
        index.forget_key(old);
        let old = self.key(index, old);
        let of_objects = self.with_queue(&old, |queue| -> Vec<_> {
            let heirs = queue
                .requests
                .iter()
                .filter(|r| (r.want.has_gap() || r.want.has_record()) && lives_on(&r.owner));
            heirs.map(|r| (r.owner.clone(), r.epoch, r.want)).collect()
        });
        let has_objects = of_objects.is_some();
        heirs.extend(of_objects.into_iter().flatten());
        // In this order: an insert that reads the count of gap locks meanwhile must not read zero.
        let next = self.key(index, next);
        for (owner, epoch, want) in heirs {
            self.add_granted(index, &next, &owner, epoch, LockType::gap(want.mode));
        }
        if !has_objects {
            return;
        }
        let mut shard = self.shard(old.hash).lock();
        if let Some(at) = find(&shard, &old) {
            queues(&mut shard, old.hash)[at].dissolve();
            remove_queue(&mut shard, old.hash, at);
        }
    }

    /// Makes `owner`'s implicit lock explicit when an undo is about to give the row its old writer back while the
    /// transaction goes on.
    pub fn keep_record(&self, index: &Arc<IndexLocks>, owner: &Arc<Owner>, key: &[u8]) {
        let epoch = owner.held().epoch;
        let key = self.key(index, key);
        self.add_granted(index, &key, owner, epoch, LockType::WRITE);
    }

    /// Replaces `owner`'s implicit lock on an entry, which it is about to remove itself while its transaction goes on,
    /// by one on the gap in front of `next`.
    pub fn keep_gap(&self, index: &Arc<IndexLocks>, owner: &Arc<Owner>, next: &[u8]) {
        let epoch = owner.held().epoch;
        owner.note_structure(index, LockType::WRITE);
        let next = self.key(index, next);
        self.add_granted(
            index,
            &next,
            owner,
            epoch,
            LockType::gap(super::LockMode::Exclusive),
        );
    }
}
