//! Row and table locks.
//!
//! A row without contention has no lock object: the id of its active writer, stored in the row, *is* its exclusive lock
//! (an *implicit* lock). A lock object appears, in a hash table sharded by (index, key), when a transaction must wait
//! for such a row (the waiter first makes the writer's lock explicit), and for the locks of locking reads. Each index
//! counts its keys that have objects, so a writer of an index without any never touches the table; and it counts its
//! locks on gaps, so an insert looks up the key behind it only where there are some.
//!
//! | file | idea |
//! |---|---|
//! | `mode` | lock modes and kinds, and which of them conflict |
//! | `queue` | the requests for one key, and the order in which they are granted |
//! | `gap` | locks on gaps stay with them when keys come and go |
//! | `bulk` | locks of many entries without an object for each |
//! | `range` | one lock for a run of entries |
//! | `keyset` | a sorted set of keys, a few bytes each |
//! | `memory` | what locks take, and its limit |
//! | `table` | locks on whole tables |
//! | `intentions` | intention locks on tables, kept with their owner |
//! | `deadlock` | cycles of waits |
//! | `waiting` | the wait-for graph, and how many wait for each owner |
//! | `owner` | the holder of locks: one per session |
//! | `structure` | the lock structures that InnoDB would have |
//! | `inspect` | what can be seen from outside |
//! | `unique` | serialises inserts of the same key |
//!
//! The invariant that ties locks to rows: **a lock is looked up, and a request enters the queue, only under the latch
//! of the leaf where the key stands or would stand.** So between a writer's look at the row and its write, no request
//! can enter. A later grant, when another owner releases its lock, needs no latch: the request was in the queue all the
//! while.
//!
//! A search for a cycle of waits is made by every owner that begins to wait, after it has entered the queue, and by
//! every owner whose release leaves a request waiting for an owner that waits itself. There is one search at a time, so
//! of the waits that close a cycle the last to be searched sees all the others.

mod bulk;
mod deadlock;
mod gap;
mod inspect;
mod intentions;
mod keyset;
mod memory;
mod mode;
mod owner;
mod queue;
mod range;
mod structure;
mod table;
mod unique;
mod waiting;

pub use inspect::{DeadlockInfo, DeadlockMember, LockInfo, LockPlace, LockWaitInfo, TransactionInfo};
pub(crate) use memory::LockMemory;
pub use mode::{DuplicateLock, LockKind, LockMode, LockWait};
pub(crate) use mode::{LockType, locks_gaps};
pub use owner::Interrupt;
pub(crate) use owner::{LockKey, Owner};
pub(crate) use range::KeyRun;
pub(crate) use table::TableLocks;
pub(crate) use unique::UniqueKeys;

use crate::error::{Error, Result};
use crate::ids::{IndexId, IndexNo, Lsn, TableId, TxnId};
use crate::waits;
use deadlock::OnDeadlock;
use owner::Wait;
use parking_lot::{Mutex, MutexGuard};
use queue::{Arrival, Queue, Request};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{self, AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use waiting::Waiting;

/// The lock counters and bulks of one index (or, in [`TableLocks`], of one table).
pub(crate) struct IndexLocks {
    pub index: IndexId,
    pub table: TableId,
    pub no: IndexNo,
    /// How many of its keys have lock objects.
    objects: AtomicU64,
    /// Requests on gaps, or, of a table, for the whole of it: while there are any, inserts and intention locks, which
    /// otherwise need no object, must look up the lock table.
    watched: AtomicU64,
    /// Lock structures created so far; the next one's place in the order (see [`structure`]).
    structures: AtomicU64,
    /// How many `bulks` there are.
    bulk_count: AtomicU64,
    bulks: Mutex<Vec<bulk::Bulk>>,
}

impl IndexLocks {
    pub fn new(index: IndexId, table: TableId, no: IndexNo) -> Arc<IndexLocks> {
        Arc::new(IndexLocks {
            index,
            table,
            no,
            objects: AtomicU64::new(0),
            watched: AtomicU64::new(0),
            structures: AtomicU64::new(1),
            bulk_count: AtomicU64::new(0),
            bulks: Mutex::new(Vec::new()),
        })
    }

    /// True if no key of this index has a lock object. Only valid under the latch of the leaf in question.
    #[inline]
    pub fn is_free(&self) -> bool {
        self.objects.load(Ordering::Acquire) == 0
    }

    /// True if no gap of this index is locked. Only valid under the latch of the leaf where a key will stand: a lock on
    /// the gap in front of a later key is taken under the latches of all leaves from the one that was searched on.
    #[inline]
    pub fn has_no_gaps(&self) -> bool {
        self.watched.load(Ordering::Acquire) == 0
    }
}

/// Queues by the hash of their key; almost always one.
type Shard = HashMap<u64, Vec<Queue>, BuildHasherDefault<Ready>>;

/// The keys of a shard are hashes already.
#[derive(Default)]
struct Ready(u64);

impl Hasher for Ready {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.0 = self.0 << 8 | *b as u64);
    }
    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }
}

const SHARDS: usize = 256;

pub(crate) struct Locks {
    shards: Box<[Mutex<Shard>]>,
    hasher: RandomState,
    waiting: Waiting,
    /// Held during a search for a cycle; holds the last deadlock that was found.
    search: Mutex<Option<Arc<DeadlockInfo>>>,
    detect: AtomicBool,
    on_deadlock: Mutex<Option<OnDeadlock>>,
    pub stats: LockStats,
    pub memory: Arc<LockMemory>,
}

#[derive(Default)]
pub(crate) struct LockStats {
    pub waits: AtomicU64,
    pub waiting: AtomicU64,
    pub wait_ms: AtomicU64,
    pub wait_ms_max: AtomicU64,
    pub deadlocks: AtomicU64,
}

/// The place behind the last key of an index, as a key: no other is empty.
pub(crate) const SUPREMUM: &[u8] = &[];

/// The implicit lock on a row: the one its writer has by having written it.
pub(crate) enum Implicit {
    None,
    /// The requesting transaction wrote the row.
    Own,
    Other(TxnId, Arc<Owner>),
}

/// A request for the lock on one key of an index.
pub(crate) struct LockRequest<'a> {
    pub locks: &'a Arc<IndexLocks>,
    pub key: &'a [u8],
    pub want: LockType,
    /// The transaction that holds the row's implicit lock, if a transaction that was active a moment ago wrote it.
    pub held: Implicit,
    pub may_wait: bool,
}

/// What is recorded of a lock that is granted at once.
pub(crate) enum Materialise<'r> {
    /// Nothing: the caller ensures by other means that the lock is not lost, or only wanted to know whether it is free.
    No,
    Single,
    /// A next-key lock of a scan: once the scan has locked enough keys, they become a run.
    InRun(&'r mut KeyRun),
}

/// How a request turned out.
pub(crate) enum Attempt {
    /// `new`: false if the owner held the lock before, or if nothing was recorded.
    Granted { new: bool },
    /// It has entered the queue: drop every latch, then [`Locks::wait`].
    Queued(LockKey),
    /// Another owner holds it and `may_wait` is false. Nothing was entered.
    Busy,
}

impl Locks {
    /// `memory_limit`: how many bytes locks may take.
    pub fn new(memory_limit: u64) -> Locks {
        Locks {
            shards: (0..SHARDS).map(|_| Mutex::new(Shard::default())).collect(),
            hasher: RandomState::new(),
            waiting: Waiting::default(),
            search: Mutex::new(None),
            detect: AtomicBool::new(true),
            on_deadlock: Mutex::new(None),
            stats: LockStats::default(),
            memory: Arc::new(LockMemory::new(memory_limit)),
        }
    }

    fn hash(&self, index: IndexId, key: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        index.hash(&mut hasher);
        hasher.write(key);
        hasher.finish()
    }

    fn shard(&self, hash: u64) -> &Mutex<Shard> {
        // The table inside takes its bucket from the low bits and its tag from the top ones.
        &self.shards[(hash >> 32) as usize % SHARDS]
    }

    /// Requests a lock. The caller holds the latch of the key's leaf. `object` says what is recorded of a lock granted
    /// at once.
    pub fn acquire(&self, owner: &Arc<Owner>, request: LockRequest<'_>, object: Materialise<'_>) -> Attempt {
        let LockRequest {
            locks,
            key,
            want,
            held,
            may_wait,
        } = request;
        let index = locks.index;
        let hash = self.hash(index, key);
        let mut shard = self.shard(hash).lock();
        let found = shard.get(&hash).and_then(|queues| {
            queues
                .iter()
                .position(|q| q.key.index == index && *q.key.key == *key)
        });
        if locks.own_bulk_covers(owner, key, want) {
            if let Materialise::InRun(run) = object {
                run.break_off();
            }
            return Attempt::Granted { new: false };
        }
        let implicit = matches!(held, Implicit::Other(..));
        if found.is_none() && !implicit && !locks.bulk_in_the_way(owner, key, want) {
            match object {
                Materialise::No => return Attempt::Granted { new: false },
                Materialise::Single if locks.add_key(owner, want, key) => {
                    return Attempt::Granted { new: true };
                }
                Materialise::InRun(run) if run.is_long() => {
                    locks.lengthen(owner, want, key, run);
                    return Attempt::Granted { new: false };
                }
                _ => {}
            }
        }
        let queues = shard.entry(hash).or_insert_with(|| Vec::with_capacity(1));
        let at = found.unwrap_or_else(|| {
            let key = LockKey {
                index,
                key: key.into(),
                hash,
            };
            queues.push(Queue::new(locks, key));
            queues.len() - 1
        });
        let queue = &mut queues[at];
        let record = LockType::record(want.mode);
        let arrival = Arrival {
            want,
            has_record: matches!(held, Implicit::Own) || locks.own_bulk_covers(owner, key, record),
            object: !matches!(object, Materialise::No),
            may_wait,
        };
        if let Implicit::Other(txn, writer) = held {
            queue.make_explicit(txn, &writer);
        }
        if locks.is_in_bulk(key, Some(owner)) {
            locks.make_bulks_explicit(queue, key, owner);
        }
        let attempt = queue.enter(owner, arrival, &self.waiting);
        if let Materialise::InRun(run) = object {
            match attempt {
                Attempt::Granted { .. } => run.single(key),
                _ => run.break_off(),
            }
        }
        if queue.requests.is_empty() {
            remove_queue(&mut shard, hash, at);
        }
        attempt
    }

    /// Waits for a queued request and returns the LSN at which the last transaction that blocked it ended (zero if
    /// unknown). [`Error::LockWaitTimeout`], [`Error::Deadlock`] or [`Error::Interrupted`] otherwise; then no request
    /// is left waiting.
    pub fn wait(&self, owner: &Arc<Owner>, key: &LockKey, timeout: Duration) -> Result<Lsn> {
        self.stats.waits.fetch_add(1, Ordering::Relaxed);
        self.stats.waiting.fetch_add(1, Ordering::Relaxed);
        let start = Instant::now();
        self.waiting.add(owner);
        self.break_cycles(owner);
        let outcome = waits::timed(waits::Wait::RowLock, || {
            self.sleep(owner, start.checked_add(timeout))
        });
        if matches!(outcome, Err(Error::LockWaitTimeout)) {
            self.note_refused(owner, key, start.elapsed());
        }
        let result = match outcome {
            Ok(after) => Ok(after),
            // Granted at the last moment: a timeout is no reason to release it again. After the other errors the
            // statement ends anyway, and the lock goes with the transaction.
            Err(error) => match self.leave(owner, key) {
                true if matches!(error, Error::LockWaitTimeout) => Ok(match *owner.wait_state() {
                    Wait::Granted { after } => after,
                    _ => Lsn::ZERO,
                }),
                _ => Err(error),
            },
        };
        *owner.wait_state() = Wait::Nothing;
        self.waiting.remove(owner);
        let ms = start.elapsed().as_millis() as u64;
        self.stats.waiting.fetch_sub(1, Ordering::Relaxed);
        self.stats.wait_ms.fetch_add(ms, Ordering::Relaxed);
        self.stats.wait_ms_max.fetch_max(ms, Ordering::Relaxed);
        result
    }

    fn sleep(&self, owner: &Owner, until: Option<Instant>) -> Result<Lsn> {
        let mut state = owner.wait_state();
        loop {
            match *state {
                Wait::Granted { after } => return Ok(after),
                Wait::Victim => return Err(Error::Deadlock),
                _ if owner.interrupt.is_killed() => return Err(Error::Interrupted),
                Wait::For { .. } | Wait::Nothing => {}
            }
            let wake_at = until.into_iter().chain(owner.interrupt.next_look()).min();
            let woken = match wake_at {
                None => {
                    owner.changed().wait(&mut state);
                    true
                }
                Some(at) => !owner.changed().wait_until(&mut state, at).timed_out(),
            };
            if woken || !matches!(*state, Wait::For { .. }) {
                continue;
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Err(Error::LockWaitTimeout);
            }
            MutexGuard::unlocked(&mut state, || owner.interrupt.look());
        }
    }

    /// Takes a waiting request out of its queue. Returns true if it had been granted after all.
    fn leave(&self, owner: &Owner, key: &LockKey) -> bool {
        let mut shard = self.shard(key.hash).lock();
        let Some(at) = find(&shard, key) else { return false };
        let queue = &mut queues(&mut shard, key.hash)[at];
        let left = queue.leave(owner, &self.waiting);
        if queue.requests.is_empty() {
            remove_queue(&mut shard, key.hash, at);
        }
        drop(shard);
        let Some(moved) = left else { return true };
        moved.iter().for_each(|waiting| self.break_cycles(waiting));
        false
    }

    /// Releases one lock before the transaction ends.
    pub fn release(&self, owner: &Owner, locks: &IndexLocks, key: &[u8], want: LockType) {
        let index = locks.index;
        let hash = self.hash(index, key);
        if locks.has_bulks() {
            let shard = self.shard(hash).lock();
            // Without a queue it was not made explicit, and from here on it will not be.
            if locks.remove_key(owner, want, key) && !shard.contains_key(&hash) {
                return;
            }
        }
        let mut held = owner.held();
        // The most recent lock is the likeliest.
        let found = held
            .keys
            .iter()
            .rposition(|(k, _)| k.hash == hash && k.index == index && *k.key == *key);
        let Some(at) = found else { return };
        let (key, _) = held.keys.swap_remove(at);
        drop(held);
        self.release_key(owner, &key, |held| held.want == want);
    }

    /// The transaction has ended: its writes no longer lock rows, and its lock objects are released.
    pub fn release_all(&self, owner: &Owner) {
        let mut held = owner.held();
        held.txn = TxnId::NONE;
        // The epoch changes under the mutex: from here on no other thread can materialise a lock for this transaction.
        held.epoch = held.epoch.wrapping_add(1);
        let mut keys = std::mem::take(&mut held.keys);
        let bulks = std::mem::take(&mut held.bulks);
        (held.bulk_keys, held.bulk_bytes) = (0, 0);
        held.charge(&owner.memory);
        held.intentions.clear();
        held.structures.clear();
        drop(held);
        for index in &bulks {
            index.drop_bulks(owner);
        }
        // As InnoDB does, structure by structure, the latest first: where several requests wait, they are woken in this
        // order, and a request that needs only one of two released keys is granted before one that needs both.
        if keys.len() > 1 {
            keys.sort_by_key(|(_, structure)| Reverse(*structure));
        }
        for (key, structure) in &keys {
            self.release_key(owner, key, |held| held.structure == *structure);
        }
        owner.changes.store(0, Ordering::Relaxed);
    }

    fn release_key(&self, owner: &Owner, key: &LockKey, which: impl Fn(&Request) -> bool) {
        let mut shard = self.shard(key.hash).lock();
        let Some(at) = find(&shard, key) else { return };
        let queue = &mut queues(&mut shard, key.hash)[at];
        let moved = queue.release(owner, which, &self.waiting);
        if queue.requests.is_empty() {
            remove_queue(&mut shard, key.hash, at);
        }
        drop(shard);
        moved.iter().for_each(|waiting| self.break_cycles(waiting));
    }

    /// True if the owner has a lock on the key, by an object or in bulk, that covers `want`.
    pub fn holds(&self, owner: &Owner, locks: &IndexLocks, key: &[u8], want: LockType) -> bool {
        if locks.is_free() {
            return false;
        }
        if locks.own_bulk_covers(owner, key, want) {
            return true;
        }
        let hash = self.hash(locks.index, key);
        let shard = self.shard(hash).lock();
        let mut queues = shard.get(&hash).into_iter().flatten();
        queues
            .find(|q| q.key.index == locks.index && *q.key.key == *key)
            .is_some_and(|queue| queue.holds(owner, want))
    }

    /// Calls `f` with the queue of a key; `None` if it has none.
    fn with_queue<R>(&self, key: &LockKey, f: impl FnOnce(&Queue) -> R) -> Option<R> {
        let shard = self.shard(key.hash).lock();
        let at = find(&shard, key)?;
        Some(f(&shard[&key.hash][at]))
    }

    /// `innodb_deadlock_detect`: without it, a cycle of waits lasts until one of them times out.
    pub fn set_deadlock_detect(&self, on: bool) {
        self.detect.store(on, Ordering::Relaxed);
    }
}

fn queues(shard: &mut Shard, hash: u64) -> &mut Vec<Queue> {
    shard.get_mut(&hash).expect("found a moment ago, under this lock")
}

fn find(shard: &Shard, key: &LockKey) -> Option<usize> {
    shard
        .get(&key.hash)?
        .iter()
        .position(|q| q.key.index == key.index && q.key.key == key.key)
}

fn remove_queue(shard: &mut Shard, hash: u64, at: usize) {
    let queues = queues(shard, hash);
    queues.swap_remove(at).close();
    if queues.is_empty() {
        shard.remove(&hash);
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
