//! Snapshots of locks, waits and their owners, for `data_locks`, `data_lock_waits`, `INNODB_TRX` and the description of
//! a deadlock.
//!
//! A snapshot goes from queue to queue and from owner to owner without stopping other threads, so two of its lines may
//! be of different moments.

use super::mode::{LockKind, LockMode};
use super::owner::{Owner, Wait};
use super::queue::{Queue, Request};
use super::{LockKey, Locks};
use crate::ids::{IndexNo, Isolation, Lsn, TableId, TxnId};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

/// Where a lock lies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LockPlace {
    /// The whole table.
    Table,
    /// An entry, by its encoded key.
    Key(Vec<u8>),
    /// Behind the last entry.
    Supremum,
    /// The entries from the first of these keys to the second: every one of them, or, of locks on records alone, those
    /// that were too many to be shown one by one.
    Range(Vec<u8>, Vec<u8>),
}

/// One lock, or one request for a lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LockInfo {
    /// As in [`Transaction::owner`](crate::Transaction::owner).
    pub owner: u64,
    /// The transaction's id; `None` if it has not written.
    pub txn: Option<TxnId>,
    /// The table.
    pub table: TableId,
    /// `None`: the lock is on the table.
    pub index: Option<IndexNo>,
    /// Shared, exclusive, or an intention.
    pub mode: LockMode,
    /// Record, gap, both, or the whole table.
    pub kind: LockKind,
    /// Where in the index.
    pub place: LockPlace,
    /// Held; else it waits.
    pub granted: bool,
}

impl LockInfo {
    /// The mode as MySQL writes it, such as `X,REC_NOT_GAP`.
    pub fn mode_text(&self) -> &'static str {
        let exclusive = self.mode == LockMode::Exclusive;
        match (self.kind, exclusive) {
            (LockKind::Table, _) => match self.mode {
                LockMode::IntentionShared => "IS",
                LockMode::IntentionExclusive => "IX",
                LockMode::Shared => "S",
                LockMode::Exclusive => "X",
                LockMode::AutoIncrement => "AUTO_INC",
            },
            (LockKind::NextKey, false) => "S",
            (LockKind::NextKey, true) => "X",
            (LockKind::Record, false) => "S,REC_NOT_GAP",
            (LockKind::Record, true) => "X,REC_NOT_GAP",
            (LockKind::Gap, _) if self.place == LockPlace::Supremum => {
                if exclusive {
                    "X"
                } else {
                    "S"
                }
            }
            (LockKind::Gap, false) => "S,GAP",
            (LockKind::Gap, true) => "X,GAP",
            (LockKind::InsertIntention, _) if self.place == LockPlace::Supremum => "X,INSERT_INTENTION",
            (LockKind::InsertIntention, _) => "X,GAP,INSERT_INTENTION",
        }
    }
}

/// A request that waits, and one of the locks it waits for.
#[derive(Clone, Debug)]
pub struct LockWaitInfo {
    /// The request that waits.
    pub waiting: LockInfo,
    /// A lock in its way.
    pub blocking: LockInfo,
    /// How long it has waited.
    pub waited: Duration,
}

/// A transaction that is open.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TransactionInfo {
    /// As in [`Transaction::owner`](crate::Transaction::owner).
    pub owner: u64,
    /// The transaction's id; `None` if it has not written.
    pub txn: Option<TxnId>,
    /// When the transaction began.
    pub started: SystemTime,
    /// Its isolation level.
    pub isolation: Isolation,
    /// Whether it has read rows without locking them.
    pub has_read: bool,
    /// The log position its view sees, if it has a view.
    pub view: Option<Lsn>,
    /// What it waits for, and since when.
    pub waits_for: Option<(LockInfo, SystemTime)>,
    /// Changes that a rollback would undo.
    pub changes: u64,
    /// Its weight when a deadlock's victim is chosen: changes plus lock structures, as InnoDB counts them.
    pub weight: u64,
    /// Bytes that its locks take in memory, nearly.
    pub lock_memory_bytes: u64,
    /// Rows locked, runs of entries left out.
    pub row_locks: u64,
    /// Tables that it has locks or intentions on.
    pub table_locks: u64,
}

/// A cycle of waits that was broken.
#[derive(Clone, Debug)]
pub struct DeadlockInfo {
    /// When it was found.
    pub at: SystemTime,
    /// Each waits for the next, and the last for the first.
    pub members: Vec<DeadlockMember>,
}

/// One transaction of a deadlock.
#[derive(Clone, Debug)]
pub struct DeadlockMember {
    /// The transaction.
    pub transaction: TransactionInfo,
    /// The request by which it waits.
    pub waits_for: LockInfo,
    /// Of its locks, those that the member before waits for.
    pub holds: Vec<LockInfo>,
    /// Whether it was rolled back.
    pub victim: bool,
}

/// Of the locks in the way of a request that was not granted in time so many are told.
const REFUSED_BY_MAX: usize = 8;

impl Queue {
    fn show(&self, request: &Request) -> LockInfo {
        LockInfo {
            owner: request.owner.number,
            txn: request.owner.txn(),
            table: self.index.table,
            index: (request.want.kind != LockKind::Table).then_some(self.index.no),
            mode: request.want.mode,
            kind: request.want.kind,
            place: match (request.want.kind, &*self.key.key) {
                (LockKind::Table, _) => LockPlace::Table,
                (_, []) => LockPlace::Supremum,
                (_, key) => LockPlace::Key(key.to_vec()),
            },
            granted: request.granted,
        }
    }
}

impl Locks {
    /// Every lock object, granted or waiting, and what its `owners` have locked without one.
    pub fn show(&self, owners: &[Arc<Owner>]) -> Vec<LockInfo> {
        let mut locks: Vec<_> = owners.iter().flat_map(|owner| owner.show()).collect();
        self.each_queue(|queue| locks.extend(queue.requests.iter().map(|r| queue.show(r))));
        locks
    }

    /// Every request that waits, with each lock it waits for.
    pub fn show_waits(&self) -> Vec<LockWaitInfo> {
        let mut waits = Vec::new();
        self.each_queue(|queue| {
            for (at, request) in queue.requests.iter().enumerate().filter(|(_, r)| !r.granted) {
                let waited = request.owner.waited();
                waits.extend(queue.blockers(at).map(|blocking| LockWaitInfo {
                    waiting: queue.show(request),
                    blocking: queue.show(blocking),
                    waited,
                }));
            }
        });
        waits
    }

    /// Requests that wait, each with the first lock in its way only, and not more than `most` of them: where a thousand wait for one
    /// row, each waits for nearly all before it.
    pub fn show_first_waits(&self, most: usize) -> Vec<LockWaitInfo> {
        let mut waits = Vec::new();
        self.each_queue(|queue| {
            let waiting = queue.requests.iter().enumerate().filter(|(_, r)| !r.granted);
            for (at, request) in waiting.take(most - waits.len()) {
                waits.extend(queue.blockers(at).next().map(|blocking| LockWaitInfo {
                    waiting: queue.show(request),
                    blocking: queue.show(blocking),
                    waited: request.owner.waited(),
                }));
            }
        });
        waits
    }

    /// Notes what is in the way of the owner's request on `key`, which has waited for so long and is about to be given up.
    #[cold]
    pub(super) fn note_refused(&self, owner: &Owner, key: &LockKey, waited: Duration) {
        let refused = self.with_queue(key, |queue| {
            let at = queue.waiting(owner)?;
            let blockers = queue.blockers(at).take(REFUSED_BY_MAX);
            let told = blockers.map(|blocking| LockWaitInfo {
                waiting: queue.show(&queue.requests[at]),
                blocking: queue.show(blocking),
                waited,
            });
            Some(told.collect::<Vec<_>>())
        });
        *owner.refused.lock() = refused.flatten().unwrap_or_default();
    }

    fn each_queue(&self, mut f: impl FnMut(&Queue)) {
        for shard in &self.shards {
            shard.lock().values().flatten().for_each(&mut f);
        }
    }

    /// What `owner` waits for, and the locks held by `of` that block it.
    pub(super) fn show_wait(&self, owner: &Owner, of: &Owner) -> Option<(LockInfo, Vec<LockInfo>)> {
        let key = owner.waits_for()?;
        self.with_queue(&key, |queue| {
            let at = queue.waiting(owner)?;
            let blocking = queue.blockers(at).filter(|r| r.owner.number == of.number);
            Some((
                queue.show(&queue.requests[at]),
                blocking.map(|r| queue.show(r)).collect(),
            ))
        })?
    }

    /// Describes an open transaction; `None` if the owner has none.
    pub fn show_transaction(&self, owner: &Owner, view: Option<Lsn>) -> Option<TransactionInfo> {
        let started = owner.started()?;
        let waits_for = owner.waits_for().and_then(|key| {
            let lock = self.with_queue(&key, |queue| {
                Some(queue.show(&queue.requests[queue.waiting(owner)?]))
            })??;
            let since = SystemTime::now().checked_sub(owner.waited())?;
            Some((lock, since))
        });
        let weight = owner.weight();
        let held = owner.held();
        Some(TransactionInfo {
            owner: owner.number,
            txn: (held.txn != TxnId::NONE).then_some(held.txn),
            started,
            isolation: owner.isolation(),
            has_read: owner.has_read(),
            view,
            waits_for,
            changes: owner.changes.load(Ordering::Relaxed),
            weight,
            lock_memory_bytes: held.bytes(),
            row_locks: held.keys.len() as u64 + held.bulk_keys,
            table_locks: held.intentions.len() as u64,
        })
    }
}

impl Owner {
    /// Its intentions, and what it has locked in bulk.
    fn show(&self) -> Vec<LockInfo> {
        let held = self.held();
        let txn = (held.txn != TxnId::NONE).then_some(held.txn);
        let lock = |table, mode| LockInfo {
            owner: self.number,
            txn,
            table,
            index: None,
            mode,
            kind: LockKind::Table,
            place: LockPlace::Table,
            granted: true,
        };
        let intentions = held.intentions.iter();
        let mut locks: Vec<_> = intentions.map(|(table, mode)| lock(*table, *mode)).collect();
        let mut bulks = held.bulks.clone();
        drop(held);
        bulks.sort_by_key(|index| index.index);
        bulks.dedup_by_key(|index| index.index);
        for index in bulks {
            index.each_bulk_of(self, |want, first, last| {
                locks.push(LockInfo {
                    index: Some(index.no),
                    kind: want.kind,
                    place: match want.has_gap() || first != last {
                        true => LockPlace::Range(first.to_vec(), last.to_vec()),
                        false => LockPlace::Key(first.to_vec()),
                    },
                    ..lock(index.table, want.mode)
                });
            });
        }
        locks
    }

    /// The key it waits for, if it waits.
    fn waits_for(&self) -> Option<LockKey> {
        match &*self.wait_state() {
            Wait::For { key, .. } => Some(key.clone()),
            _ => None,
        }
    }

    /// For how long it has been waiting.
    fn waited(&self) -> Duration {
        match &*self.wait_state() {
            Wait::For { since, .. } => since.elapsed(),
            _ => Duration::ZERO,
        }
    }
}
