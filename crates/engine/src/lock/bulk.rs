//! Locks of many entries without an object for each.
//!
//! A transaction's first row locks are objects. Where it goes on, those that are granted at once are noted in bulk: what
//! one owner has locked in one index, in one mode and kind, is one [`Bulk`]. Next-key locks of a scan are
//! [runs](super::range) from key to key; locks on records alone, in any order, are a [set of keys](super::keyset). So a
//! lock takes a few bytes where an object takes some 250, and a run takes nothing.
//!
//! Like a writer's implicit lock, a bulk has no lock object at any of its keys. A request that conflicts with another
//! owner's bulk first makes the bulk explicit at its key, and queues behind the object. Bulks that get along with each
//! other may cover the same key without an object.
//!
//! A key enters a bulk, leaves it, and is made explicit under the lock table's shard of that key; so of a release and a
//! request for the same key one comes first. The end of a transaction drops its bulks as a whole: a request that had seen
//! one meanwhile finds the owner's epoch changed, and makes nothing explicit.

use super::keyset::KeySet;
use super::mode::LockType;
use super::owner::{Held, Owner};
use super::range::{KeyRun, Spans};
use super::{IndexLocks, LockKind, Queue};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What one owner has locked in one index, all in one mode and kind, without objects.
pub(super) struct Bulk {
    owner: Arc<Owner>,
    epoch: u32,
    want: LockType,
    entries: Entries,
}

enum Entries {
    /// Entries and the gaps in front of them.
    Runs(Spans),
    /// Records alone.
    Keys(KeySet),
}

/// Row locks of a transaction that are objects before the next ones are noted in bulk.
const OBJECTS: usize = 64;

/// Keys of a set that are shown one by one.
const SHOWN: usize = 10_000;

impl Bulk {
    fn covers(&self, key: &[u8]) -> bool {
        match &self.entries {
            Entries::Runs(spans) => spans.covers(key),
            Entries::Keys(keys) => keys.contains(key),
        }
    }

    fn is_of(&self, owner: &Owner) -> bool {
        self.owner.number == owner.number
    }
}

impl IndexLocks {
    pub(super) fn has_bulks(&self) -> bool {
        self.bulk_count.load(Ordering::Acquire) != 0
    }

    /// Adds lock objects, to the queue of a key, for the bulks that owners other than `but` have over it.
    pub(super) fn make_bulks_explicit(&self, queue: &mut Queue, key: &[u8], but: &Owner) {
        for bulk in self.bulks.lock().iter().filter(|bulk| !bulk.is_of(but)) {
            if bulk.covers(key) {
                queue.add_granted(&bulk.owner, bulk.epoch, bulk.want);
            }
        }
    }

    /// True if an owner other than `but` has the key locked in bulk.
    pub(super) fn is_in_bulk(&self, key: &[u8], but: Option<&Owner>) -> bool {
        self.any_bulk(key, |bulk| but.is_none_or(|but| !bulk.is_of(but)))
    }

    /// True if an owner other than `owner` has the key locked in bulk so that `want` must wait.
    pub(super) fn bulk_in_the_way(&self, owner: &Owner, key: &[u8], want: LockType) -> bool {
        self.any_bulk(key, |bulk| !bulk.is_of(owner) && want.waits_for(bulk.want))
    }

    /// True if the owner has the key locked in bulk, and that covers `want`.
    pub(super) fn own_bulk_covers(&self, owner: &Owner, key: &[u8], want: LockType) -> bool {
        self.any_bulk(key, |bulk| bulk.is_of(owner) && bulk.want.covers(want))
    }

    fn any_bulk(&self, key: &[u8], which: impl Fn(&Bulk) -> bool) -> bool {
        self.has_bulks()
            && self
                .bulks
                .lock()
                .iter()
                .any(|bulk| which(bulk) && bulk.covers(key))
    }

    /// Extends a scan's run by an entry that no other owner has locked. The caller holds the latch of the entry's leaf,
    /// and the lock table's shard of its key.
    pub(super) fn lengthen(
        self: &Arc<Self>,
        owner: &Arc<Owner>,
        want: LockType,
        key: &[u8],
        run: &mut KeyRun,
    ) {
        self.with_bulk(owner, want, |entries, held| {
            if let Entries::Runs(spans) = entries {
                let before = spans.bytes();
                spans.stretch(run.last().unwrap_or(key), key);
                held.bulk_bytes = held.bulk_bytes + spans.bytes() - before;
                held.charge(&owner.memory);
            }
        });
        run.remember(key);
    }

    /// Notes a lock on a record alone, granted at once, if the owner has enough objects; returns whether it did. The
    /// caller holds the latch of the entry's leaf, and the lock table's shard of its key.
    pub(super) fn add_key(self: &Arc<Self>, owner: &Arc<Owner>, want: LockType, key: &[u8]) -> bool {
        if want.kind != LockKind::Record || owner.held().keys.len() < OBJECTS {
            return false;
        }
        self.with_bulk(owner, want, |entries, held| {
            if let Entries::Keys(keys) = entries {
                let before = keys.bytes();
                held.bulk_keys += u64::from(keys.insert(key));
                held.bulk_bytes = held.bulk_bytes + keys.bytes() - before;
                held.charge(&owner.memory);
            }
        });
        true
    }

    /// Calls `f` with the owner's bulk of locks of one type, which is made if there is none.
    fn with_bulk(
        self: &Arc<Self>,
        owner: &Arc<Owner>,
        want: LockType,
        f: impl FnOnce(&mut Entries, &mut Held),
    ) {
        let mut bulks = self.bulks.lock();
        let mut held = owner.held();
        let epoch = held.epoch;
        let own = |bulk: &Bulk| bulk.is_of(owner) && bulk.epoch == epoch && bulk.want == want;
        let at = bulks.iter().position(own).unwrap_or_else(|| {
            // The counters rise before the bulk can be found.
            self.objects.fetch_add(1, Ordering::AcqRel);
            self.watched
                .fetch_add(u64::from(want.is_watched()), Ordering::AcqRel);
            self.bulk_count.fetch_add(1, Ordering::AcqRel);
            held.bulks.push(self.clone());
            held.structures.of(self, want);
            bulks.push(Bulk {
                owner: owner.clone(),
                epoch,
                want,
                entries: match want.has_gap() {
                    true => Entries::Runs(Spans::default()),
                    false => Entries::Keys(KeySet::default()),
                },
            });
            bulks.len() - 1
        });
        f(&mut bulks[at].entries, &mut held);
    }

    /// Takes a key out of the owner's set of locks of this type; false if it was not there. The caller holds the lock
    /// table's shard of the key.
    pub(super) fn remove_key(&self, owner: &Owner, want: LockType, key: &[u8]) -> bool {
        self.take_key(key, |bulk| bulk.is_of(owner) && bulk.want == want)
    }

    /// The record of the key is gone: takes the key out of every set.
    pub(super) fn forget_key(&self, key: &[u8]) {
        self.take_key(key, |_| true);
    }

    fn take_key(&self, key: &[u8], which: impl Fn(&Bulk) -> bool) -> bool {
        if !self.has_bulks() {
            return false;
        }
        let mut taken = false;
        for bulk in self.bulks.lock().iter_mut().filter(|bulk| which(bulk)) {
            if let Entries::Keys(keys) = &mut bulk.entries {
                let before = keys.bytes();
                if keys.remove(key) {
                    let mut held = bulk.owner.held();
                    if held.epoch == bulk.epoch {
                        held.bulk_keys -= 1;
                        held.bulk_bytes = held.bulk_bytes + keys.bytes() - before;
                    }
                    taken = true;
                }
            }
        }
        taken
    }

    /// Drops the owner's bulks, at the end of its transaction.
    pub(super) fn drop_bulks(&self, owner: &Owner) {
        self.bulks.lock().retain(|bulk| {
            let stays = !bulk.is_of(owner);
            if !stays {
                self.objects.fetch_sub(1, Ordering::AcqRel);
                self.watched
                    .fetch_sub(u64::from(bulk.want.is_watched()), Ordering::AcqRel);
                self.bulk_count.fetch_sub(1, Ordering::AcqRel);
            }
            stays
        });
    }

    /// The runs that cover the key `one` but not the key `other`: owner, epoch and lock.
    pub(super) fn runs_that_end_between(&self, one: &[u8], other: &[u8]) -> Vec<(Arc<Owner>, u32, LockType)> {
        self.holders(|bulk| bulk.want.has_gap() && bulk.covers(one) && !bulk.covers(other))
    }

    /// The owners that have the record of a key in a set, with epoch and lock.
    pub(super) fn record_holders(&self, key: &[u8]) -> Vec<(Arc<Owner>, u32, LockType)> {
        self.holders(|bulk| !bulk.want.has_gap() && bulk.covers(key))
    }

    fn holders(&self, which: impl Fn(&Bulk) -> bool) -> Vec<(Arc<Owner>, u32, LockType)> {
        if !self.has_bulks() {
            return Vec::new();
        }
        let bulks = self.bulks.lock();
        let found = bulks.iter().filter(|bulk| which(bulk));
        found
            .map(|bulk| (bulk.owner.clone(), bulk.epoch, bulk.want))
            .collect()
    }

    /// Calls `f` with every run's first and last key, and with every key of a set twice; of a large set with those in
    /// front, and then once with the ends of the rest. `owner` is whose bulks these are.
    pub(super) fn each_bulk_of(&self, owner: &Owner, mut f: impl FnMut(LockType, &[u8], &[u8])) {
        for bulk in self.bulks.lock().iter().filter(|bulk| bulk.is_of(owner)) {
            match &bulk.entries {
                Entries::Runs(spans) => spans.each(|first, last| f(bulk.want, first, last)),
                Entries::Keys(keys) => {
                    let mut shown = 0;
                    keys.each(|key| {
                        if shown == SHOWN {
                            f(bulk.want, key, keys.last().as_deref().unwrap_or(key));
                            return ControlFlow::Break(());
                        }
                        shown += 1;
                        f(bulk.want, key, key);
                        ControlFlow::Continue(())
                    });
                }
            }
        }
    }
}
