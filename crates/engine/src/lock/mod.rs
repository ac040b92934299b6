//! Row locks.
//!
//! A row that nobody contends has no lock object: the id of its active writer, in the row, *is* its exclusive lock. An
//! object appears, in a hash table sharded by (index, key), when somebody must wait for such a row (the waiter makes the
//! writer's lock explicit first), and for the locks of locking reads. Each index counts its keys that have objects, so a
//! writer of an index without any never touches the table.
//!
//! Requests for a key queue in order of arrival. A request waits for every incompatible one granted, and for every
//! incompatible one that came before it and waits; an upgrade from shared to exclusive waits for the granted only.
//!
//! The invariant that ties locks to rows: **a lock is looked for, and a request enters the queue, only under the latch of
//! the leaf where the key stands or would stand.** So between a writer's look at the row and its write, nobody can enter.
//! A grant later on, when another lets go, needs no latch: the request was in the queue all the while.
//!
//! A cycle of waits is searched by whoever begins to wait, after entering the queue, one search at a time: of the waits
//! that close a cycle the last to be searched sees all the others.

mod deadlock;
mod inspect;
mod owner;
mod unique;

pub use inspect::{
    DeadlockInfo, DeadlockMember, LockInfo, LockKind, LockMode, LockPlace, LockWaitInfo, TransactionInfo,
};
pub use owner::Interrupt;
pub(crate) use owner::{LockKey, Owner};
pub(crate) use unique::UniqueKeys;

use crate::error::{Error, Result};
use crate::ids::{IndexId, TableId, TxnId};
use crate::table::IndexNo;
use deadlock::OnDeadlock;
use owner::Wait;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mode {
    Shared,
    Exclusive,
}

/// What of the key is locked. Gap and insert-intention locks take their place here: they conflict with each other and
/// not with records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Record,
}

/// What an index knows of its locks.
pub(crate) struct IndexLocks {
    pub index: IndexId,
    pub table: TableId,
    pub no: IndexNo,
    /// How many of its keys have lock objects.
    objects: AtomicU64,
}

impl IndexLocks {
    pub fn new(index: IndexId, table: TableId, no: IndexNo) -> Arc<IndexLocks> {
        Arc::new(IndexLocks {
            index,
            table,
            no,
            objects: AtomicU64::new(0),
        })
    }

    /// Whether nobody has a lock object here. To be asked under the latch of the leaf in question.
    #[inline]
    pub fn is_free(&self) -> bool {
        self.objects.load(Ordering::Acquire) == 0
    }
}

struct Request {
    owner: Arc<Owner>,
    mode: Mode,
    kind: Kind,
    granted: bool,
}

impl Request {
    fn conflicts(&self, owner: &Owner, mode: Mode, kind: Kind) -> bool {
        self.owner.number != owner.number
            && self.kind == kind
            && (self.mode == Mode::Exclusive || mode == Mode::Exclusive)
    }
}

struct Queue {
    key: LockKey,
    requests: Vec<Request>,
    index: Arc<IndexLocks>,
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
    /// Held by whoever searches for a cycle: the last one that was found.
    search: Mutex<Option<Arc<DeadlockInfo>>>,
    detect: AtomicBool,
    on_deadlock: Mutex<Option<OnDeadlock>>,
    pub stats: LockStats,
}

#[derive(Default)]
pub(crate) struct LockStats {
    pub waits: AtomicU64,
    pub waiting: AtomicU64,
    pub wait_ms: AtomicU64,
    pub wait_ms_max: AtomicU64,
    pub deadlocks: AtomicU64,
}

/// How a request turned out.
pub(crate) enum Attempt {
    /// `new`: it was not held before.
    Granted { new: bool },
    /// It has entered the queue: drop every latch, then [`Locks::wait`].
    Queued(LockKey),
    /// It is held by another, and the caller would not wait. Nothing was entered.
    Busy,
}

impl Locks {
    pub fn new() -> Locks {
        Locks {
            shards: (0..SHARDS).map(|_| Mutex::new(Shard::default())).collect(),
            hasher: RandomState::new(),
            search: Mutex::new(None),
            detect: AtomicBool::new(true),
            on_deadlock: Mutex::new(None),
            stats: LockStats::default(),
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

    /// Asks for a row lock. The caller holds the latch of the key's leaf. `writer` is the owner of the row's implicit
    /// lock, if another transaction that was active a moment ago wrote it.
    pub fn acquire(
        &self,
        owner: &Arc<Owner>,
        locks: &Arc<IndexLocks>,
        key: &[u8],
        mode: Mode,
        writer: Option<(TxnId, Arc<Owner>)>,
        may_wait: bool,
    ) -> Attempt {
        let index = locks.index;
        let hash = self.hash(index, key);
        let mut shard = self.shard(hash).lock();
        let queues = shard.entry(hash).or_default();
        let at = queues
            .iter()
            .position(|q| q.key.index == index && *q.key.key == *key);
        let at = at.unwrap_or_else(|| {
            locks.objects.fetch_add(1, Ordering::AcqRel);
            let key = LockKey {
                index,
                key: key.into(),
                hash,
            };
            queues.push(Queue {
                key,
                requests: Vec::new(),
                index: locks.clone(),
            });
            queues.len() - 1
        });
        let queue = &mut queues[at];
        if let Some((txn, writer)) = writer {
            queue.make_explicit(txn, &writer);
        }
        let attempt = queue.enter(owner, mode, Kind::Record, may_wait);
        if queue.requests.is_empty() {
            remove_queue(&mut shard, hash, at);
        }
        attempt
    }

    /// Waits for a queued request. On any error the request is gone.
    pub fn wait(&self, owner: &Arc<Owner>, key: &LockKey, timeout: Duration) -> Result<()> {
        self.stats.waits.fetch_add(1, Ordering::Relaxed);
        self.stats.waiting.fetch_add(1, Ordering::Relaxed);
        let start = Instant::now();
        self.break_cycles(owner);
        let outcome = self.sleep(owner, start.checked_add(timeout));
        let result = match outcome {
            Ok(()) => Ok(()),
            // Granted in the last moment: a timeout is no reason to give it back. For the others the statement ends
            // anyway, and the lock goes with the transaction.
            Err(error) => match self.leave(owner, key) {
                true if matches!(error, Error::LockWaitTimeout) => Ok(()),
                _ => Err(error),
            },
        };
        *owner.wait_state() = Wait::Nothing;
        let ms = start.elapsed().as_millis() as u64;
        self.stats.waiting.fetch_sub(1, Ordering::Relaxed);
        self.stats.wait_ms.fetch_add(ms, Ordering::Relaxed);
        self.stats.wait_ms_max.fetch_max(ms, Ordering::Relaxed);
        result
    }

    fn sleep(&self, owner: &Owner, until: Option<Instant>) -> Result<()> {
        let mut state = owner.wait_state();
        loop {
            match *state {
                Wait::Granted => return Ok(()),
                Wait::Victim => return Err(Error::Deadlock),
                _ if owner.interrupt.is_killed() => return Err(Error::Interrupted),
                Wait::For { .. } | Wait::Nothing => {}
            }
            match until {
                None => owner.changed().wait(&mut state),
                Some(until) => {
                    if owner.changed().wait_until(&mut state, until).timed_out()
                        && matches!(*state, Wait::For { .. })
                    {
                        return Err(Error::LockWaitTimeout);
                    }
                }
            }
        }
    }

    /// Takes a waiting request out of its queue. Returns true if it had been granted after all.
    fn leave(&self, owner: &Owner, key: &LockKey) -> bool {
        let mut shard = self.shard(key.hash).lock();
        let Some(at) = find(&shard, key) else { return false };
        let queue = &mut queues(&mut shard, key.hash)[at];
        let Some(request) = queue.waiting(owner) else {
            return true;
        };
        queue.requests.remove(request);
        queue.grant();
        if queue.requests.is_empty() {
            remove_queue(&mut shard, key.hash, at);
        }
        false
    }

    /// Lets go of one row lock before the transaction ends.
    pub fn release(&self, owner: &Owner, index: IndexId, key: &[u8]) {
        let hash = self.hash(index, key);
        let mut held = owner.held();
        // The latest is the likeliest.
        let found = held
            .keys
            .iter()
            .rposition(|k| k.index == index && *k.key == *key && k.hash == hash);
        let Some(at) = found else { return };
        let key = held.keys.swap_remove(at);
        drop(held);
        self.release_key(owner, &key);
    }

    /// The transaction has ended: its writes are no locks any more, and its lock objects go.
    pub fn release_all(&self, owner: &Owner) {
        let mut held = owner.held();
        held.txn = TxnId::NONE;
        let keys = std::mem::take(&mut held.keys);
        drop(held);
        for key in &keys {
            self.release_key(owner, key);
        }
        owner.weight.store(0, Ordering::Relaxed);
    }

    fn release_key(&self, owner: &Owner, key: &LockKey) {
        let mut shard = self.shard(key.hash).lock();
        let Some(at) = find(&shard, key) else { return };
        let queue = &mut queues(&mut shard, key.hash)[at];
        queue
            .requests
            .retain(|r| r.owner.number != owner.number || !r.granted);
        queue.grant();
        if queue.requests.is_empty() {
            remove_queue(&mut shard, key.hash, at);
        }
    }

    /// Whom `owner` waits for, if it waits, and which of its waits this is.
    fn blockers(&self, owner: &Owner) -> (u64, Vec<Arc<Owner>>) {
        let (key, number) = match &*owner.wait_state() {
            Wait::For { key, number, .. } => (key.clone(), *number),
            _ => return (0, Vec::new()),
        };
        let blockers = self.with_queue(&key, |queue| {
            let mine = queue.waiting(owner)?;
            Some(queue.blockers(mine).map(|r| r.owner.clone()).collect())
        });
        (number, blockers.flatten().unwrap_or_default())
    }

    /// Looks at the queue of a key, if there is one.
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

impl Queue {
    /// The owner's waiting request.
    fn waiting(&self, owner: &Owner) -> Option<usize> {
        self.requests
            .iter()
            .position(|r| r.owner.number == owner.number && !r.granted)
    }

    /// The lock that a transaction has by having written the row becomes an object.
    fn make_explicit(&mut self, txn: TxnId, writer: &Arc<Owner>) {
        let mut held = writer.held();
        if held.txn != txn {
            return; // it has ended
        }
        let granted = self
            .requests
            .iter_mut()
            .find(|r| r.owner.number == writer.number && r.granted);
        match granted {
            Some(request) => request.mode = Mode::Exclusive,
            None => {
                held.keys.push(self.key.clone());
                let owner = writer.clone();
                let request = Request {
                    owner,
                    mode: Mode::Exclusive,
                    kind: Kind::Record,
                    granted: true,
                };
                self.requests.insert(0, request);
            }
        }
    }

    fn enter(&mut self, owner: &Arc<Owner>, mode: Mode, kind: Kind, may_wait: bool) -> Attempt {
        let own = self
            .requests
            .iter()
            .position(|r| r.owner.number == owner.number && r.granted);
        if own.is_some_and(|own| self.requests[own].mode >= mode) {
            return Attempt::Granted { new: false };
        }
        let upgrade = own.is_some();
        let blocked = self
            .requests
            .iter()
            .any(|r| r.conflicts(owner, mode, kind) && (r.granted || !upgrade));
        match (blocked, own) {
            (false, Some(own)) => {
                self.requests[own].mode = mode;
                Attempt::Granted { new: false }
            }
            (false, None) => {
                owner.held().keys.push(self.key.clone());
                self.requests.push(Request {
                    owner: owner.clone(),
                    mode,
                    kind,
                    granted: true,
                });
                Attempt::Granted { new: true }
            }
            (true, _) if !may_wait => Attempt::Busy,
            (true, _) => {
                let number = owner.waits.fetch_add(1, Ordering::Relaxed) + 1;
                *owner.wait_state() = Wait::For {
                    key: self.key.clone(),
                    number,
                    since: Instant::now(),
                };
                let request = Request {
                    owner: owner.clone(),
                    mode,
                    kind,
                    granted: false,
                };
                let first_waiting = self.requests.iter().position(|r| !r.granted);
                match first_waiting {
                    Some(at) if upgrade => self.requests.insert(at, request),
                    _ => self.requests.push(request),
                }
                Attempt::Queued(self.key.clone())
            }
        }
    }

    /// The requests that the waiting request at `mine` waits for.
    fn blockers(&self, mine: usize) -> impl Iterator<Item = &Request> {
        let me = &self.requests[mine];
        let holds = self
            .requests
            .iter()
            .any(|r| r.granted && r.owner.number == me.owner.number);
        self.requests
            .iter()
            .enumerate()
            .filter(move |(i, r)| {
                r.conflicts(&me.owner, me.mode, me.kind) && (r.granted || (!holds && *i < mine))
            })
            .map(|(_, r)| r)
    }

    /// Grants, in order, what can be granted now, and wakes those who waited for it.
    fn grant(&mut self) {
        let mut at = 0;
        while at < self.requests.len() {
            if self.requests[at].granted || self.blockers(at).next().is_some() {
                at += 1;
                continue;
            }
            let owner = self.requests[at].owner.clone();
            let held = self
                .requests
                .iter()
                .position(|r| r.granted && r.owner.number == owner.number);
            match held {
                Some(held) => {
                    self.requests[held].mode = self.requests[at].mode;
                    self.requests.remove(at);
                }
                None => {
                    self.requests[at].granted = true;
                    owner.held().keys.push(self.key.clone());
                    at += 1;
                }
            }
            *owner.wait_state() = Wait::Granted;
            owner.changed().notify_all();
        }
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
    queues
        .swap_remove(at)
        .index
        .objects
        .fetch_sub(1, Ordering::AcqRel);
    if queues.is_empty() {
        shard.remove(&hash);
    }
}

#[cfg(test)]
mod tests;
