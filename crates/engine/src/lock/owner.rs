//! The holder of locks: one owner per session, used by all its transactions in turn.

use super::IndexLocks;
use super::inspect::LockWaitInfo;
use super::memory::{Charge, LockMemory};
use super::mode::{LockMode, LockType};
use super::structure::Structures;
use super::table::TABLES;
use crate::ids::{IndexId, Isolation, Lsn, TableId, TxnId};
use crate::recent_unix_micros;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

/// Ends another thread's statement: its lock waits and its scans fail with
/// [`Error::Interrupted`](crate::Error::Interrupted).
#[derive(Default)]
pub struct Interrupt {
    killed: AtomicBool,
    on_wait: OnceLock<Box<dyn Fn() + Send + Sync>>,
    wait: Mutex<Wait>,
    changed: Condvar,
}

/// How often a waiting thread calls [`Interrupt::set_on_wait`]'s function.
const LOOK_EVERY: Duration = Duration::from_millis(200);

impl Interrupt {
    /// Has the thread call `f` every 200 ms while it waits for a lock, so that it can [`Self::kill`] itself for a
    /// reason that no other thread would notice (a closed connection, a time limit). Only the first `f` set counts.
    pub fn set_on_wait(&self, f: impl Fn() + Send + Sync + 'static) {
        let _ = self.on_wait.set(Box::new(f));
    }

    /// When to call the function next; `None` if there is none.
    pub(super) fn next_look(&self) -> Option<Instant> {
        self.on_wait.get().map(|_| Instant::now() + LOOK_EVERY)
    }

    pub(crate) fn look(&self) {
        if let Some(f) = self.on_wait.get() {
            f();
        }
    }

    /// Interrupts the running statement. May be called from any thread.
    pub fn kill(&self) {
        self.killed.store(true, Ordering::SeqCst);
        // Taking the mutex orders this before a waiter's check or after its going to sleep.
        let _wait = self.wait.lock();
        self.changed.notify_all();
    }

    /// Clears the interrupt, before the next statement.
    pub fn reset(&self) {
        self.killed.store(false, Ordering::SeqCst);
    }

    /// True from [`Self::kill`] to [`Self::reset`].
    #[inline]
    pub fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Relaxed)
    }
}

/// The identity of a lock: an index and a key in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LockKey {
    pub index: IndexId,
    pub key: Arc<[u8]>,
    pub hash: u64,
}

/// What the owner's thread is waiting for.
#[derive(Default, Debug)]
pub(super) enum Wait {
    #[default]
    Nothing,
    /// `number` counts all waits of the engine.
    For {
        key: LockKey,
        number: u64,
        since: Instant,
    },
    /// `after` is the LSN at which the last transaction that blocked the request ended; zero if it has not.
    Granted { after: Lsn },
    /// Chosen to break a cycle.
    Victim,
}

pub(crate) struct Owner {
    /// Distinct per owner.
    pub number: u64,
    pub interrupt: Arc<Interrupt>,
    /// Changes that a rollback would undo.
    pub changes: AtomicU64,
    /// The [number](Self::number) of the owner whose release will have the request examined again; 0 if it does not
    /// wait.
    pub(super) waits_for: AtomicU64,
    /// The number of its latest wait (see [`Wait::For`]).
    pub(super) wait_began: AtomicU64,
    /// When the open transaction began, in microseconds of Unix time; 0 if none is open.
    started: AtomicU64,
    /// The transaction has read rows without locking them.
    has_read: AtomicBool,
    isolation: AtomicU8,
    /// The LSN at which the transaction ended whose locks are being released.
    pub ended: AtomicU64,
    /// True while the running statement relies on locks that keep its new keys unique: they must outlive the keys they
    /// are on.
    pub keeps_unique: AtomicBool,
    /// A rollback has failed half-way: only another rollback is possible, and until one succeeds all locks stay.
    pub broken: AtomicBool,
    /// The memory of all owners' locks.
    pub(super) memory: Arc<LockMemory>,
    /// What was in the way of the latest request that was not granted in time.
    pub(super) refused: Mutex<Vec<LockWaitInfo>>,
    held: Mutex<Held>,
}

/// What an owner holds, under its mutex.
#[derive(Default)]
pub(super) struct Held {
    /// The id of the running transaction once it writes: its implicit locks may be made explicit. 0 otherwise.
    pub txn: TxnId,
    /// Counts the transactions that have ended.
    pub epoch: u32,
    /// Its intention locks on tables, except those that are lock objects.
    pub intentions: Vec<(TableId, LockMode)>,
    /// The index of each bulk it has.
    pub bulks: Vec<Arc<IndexLocks>>,
    /// How many keys its bulks have as sets, and the memory of its bulks.
    pub bulk_keys: u64,
    pub bulk_bytes: usize,
    /// The key of each granted request, with the place of its structure.
    pub keys: Vec<(LockKey, u64)>,
    pub structures: Structures,
    charge: Charge,
}

/// What a lock object takes, in bytes: the queue of its key in the lock table, the request, and the owner's note of it.
const OBJECT_BYTES: usize = 256;

impl Held {
    /// The memory that these locks take.
    pub fn bytes(&self) -> u64 {
        (self.keys.len() * OBJECT_BYTES + self.bulk_bytes) as u64
    }

    /// Reports the memory that these locks take, if it has changed much.
    pub fn charge(&mut self, memory: &LockMemory) {
        let bytes = self.bytes();
        self.charge.set(memory, bytes);
    }
}

impl Owner {
    pub fn new(number: u64, memory: Arc<LockMemory>) -> Arc<Owner> {
        Arc::new(Owner {
            number,
            interrupt: Arc::new(Interrupt::default()),
            changes: AtomicU64::new(0),
            waits_for: AtomicU64::new(0),
            wait_began: AtomicU64::new(0),
            started: AtomicU64::new(0),
            has_read: AtomicBool::new(false),
            isolation: AtomicU8::new(0),
            ended: AtomicU64::new(0),
            keeps_unique: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            memory,
            refused: Mutex::default(),
            held: Mutex::new(Held::default()),
        })
    }

    /// Notes that a transaction begins, for [`inspect`](super::inspect).
    #[inline]
    pub fn begin(&self, isolation: Isolation) {
        self.isolation.store(isolation as u8, Ordering::Relaxed);
        self.has_read.store(false, Ordering::Relaxed);
        // 0 says that none is open.
        self.started.store(recent_unix_micros().max(1), Ordering::Relaxed);
    }

    #[inline]
    pub fn end(&self) {
        self.started.store(0, Ordering::Relaxed);
    }

    #[inline]
    pub fn note_read(&self) {
        self.has_read.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_read(&self) -> bool {
        self.has_read.load(Ordering::Relaxed)
    }

    /// When the open transaction began, if one is open.
    pub fn started(&self) -> Option<SystemTime> {
        match self.started.load(Ordering::Relaxed) {
            0 => None,
            micros => SystemTime::UNIX_EPOCH.checked_add(Duration::from_micros(micros)),
        }
    }

    pub(super) fn isolation(&self) -> Isolation {
        const LEVELS: [Isolation; 4] = [
            Isolation::ReadUncommitted,
            Isolation::ReadCommitted,
            Isolation::RepeatableRead,
            Isolation::Serializable,
        ];
        LEVELS[self.isolation.load(Ordering::Relaxed) as usize % LEVELS.len()]
    }

    pub(super) fn txn(&self) -> Option<TxnId> {
        let txn = self.held.lock().txn;
        (txn != TxnId::NONE).then_some(txn)
    }

    /// The cost of a rollback in changes and lock structures. A deadlock's victim is the transaction with the least.
    pub(super) fn weight(&self) -> u64 {
        let held = self.held.lock();
        let tables = held.keys.iter().filter(|(key, _)| key.index == TABLES).count();
        let locks = held.intentions.len() + tables + held.structures.count();
        self.changes.load(Ordering::Relaxed) + locks as u64
    }

    /// True if so much of the memory for locks is this owner's that it may be refused more.
    pub fn has_many_locks(&self) -> bool {
        self.held.lock().charge.is_large()
    }

    /// Counts the structure of a lock that has no object, or none yet.
    pub fn note_structure(&self, index: &IndexLocks, want: LockType) {
        self.held.lock().structures.of(index, want);
    }

    /// From now on the rows written by `txn` are implicitly locked by this owner.
    pub fn begin_writing(&self, txn: TxnId) {
        self.held.lock().txn = txn;
    }

    pub(super) fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock()
    }

    /// What was in the way of the latest request that was not granted in time. Each is told once.
    pub fn take_refused(&self) -> Vec<LockWaitInfo> {
        std::mem::take(&mut *self.refused.lock())
    }

    pub(super) fn wait_state(&self) -> MutexGuard<'_, Wait> {
        self.interrupt.wait.lock()
    }

    /// The number of the wait this owner is in; 0 if it does not wait.
    pub(super) fn wait_number(&self) -> u64 {
        match &*self.wait_state() {
            Wait::For { number, .. } => *number,
            _ => 0,
        }
    }

    pub(super) fn changed(&self) -> &Condvar {
        &self.interrupt.changed
    }
}
