//! What everybody in an open engine shares.

use crate::catalog::Catalog;
use crate::error::Result;
use crate::history::History;
use crate::ids::{Lsn, TxnId};
use crate::lock::{Locks, Owner, UniqueKeys};
use crate::mvcc::{
    Generations, HotRows, Past, PurgeQueue, SlotNo, Tides, Txns, Versions, ViewCopy, Views, Writers,
};
use crate::purge;
use crate::store::Store;
use crate::striped::Striped;
use crate::table::Collator;
use crate::transaction;
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// The superblock's slot that says whether a sweep is due.
const SWEEP_SLOT: usize = 1;

pub(crate) struct Core {
    pub store: Arc<Store>,
    pub txns: Txns,
    pub views: Views,
    pub view_copy: ViewCopy,
    pub writers: Writers,
    pub locks: Locks,
    pub unique: UniqueKeys,
    pub generations: Generations,
    pub purge: PurgeQueue,
    pub hot: HotRows,
    pub rounds: Mutex<purge::Rounds>,
    pub tides: Tides,
    /// The moment from which on history is kept on purpose.
    pub kept_from: Mutex<Option<Past>>,
    pub history: History,
    /// Purge was not told of everything that it will find: the next start is to look for itself.
    pub hints_lost: AtomicBool,
    /// Threads that purge when there is much to do.
    pub purge_threads: usize,
    pub catalog: Catalog,
    pub collator: Arc<dyn Collator>,
    pub counters: Striped<Counters>,
    pub read_only: bool,
    pub background: Bell,
    /// The garbage list may have trees to free.
    pub reclaim: AtomicBool,
    /// Transactions that could not be rolled back yet, and that nobody has a hold of any more.
    pub unfinished: Mutex<Vec<transaction::Inner>>,
    pub owners: Owners,
}

/// Everybody who may hold locks, with the slot of its view.
#[derive(Default)]
pub(crate) struct Owners {
    last: AtomicU64,
    all: Mutex<BTreeMap<u64, (Arc<Owner>, SlotNo)>>,
}

impl Owners {
    pub fn add(&self, slot: SlotNo) -> Arc<Owner> {
        let owner = Owner::new(self.last.fetch_add(1, Ordering::Relaxed) + 1);
        self.all.lock().insert(owner.number, (owner.clone(), slot));
        owner
    }

    pub fn remove(&self, owner: &Owner) {
        self.all.lock().remove(&owner.number);
    }

    /// All there are now, in the order in which they came.
    pub fn all(&self) -> Vec<(Arc<Owner>, SlotNo)> {
        self.all.lock().values().cloned().collect()
    }
}

#[derive(Default)]
pub(crate) struct Counters {
    pub commits: AtomicU64,
    pub rollbacks: AtomicU64,
    pub rows_read: AtomicU64,
    pub rows_inserted: AtomicU64,
    pub rows_updated: AtomicU64,
    pub rows_deleted: AtomicU64,
}

impl Core {
    pub fn new(
        store: Arc<Store>,
        catalog: Catalog,
        next: TxnId,
        collator: Arc<dyn Collator>,
        read_only: bool,
        purge_threads: usize,
    ) -> Core {
        let rounds = purge::Rounds::new();
        let purge = PurgeQueue::default();
        purge.add_buffer(&rounds.moved);
        Core {
            store,
            txns: Txns::new(next),
            views: Views::new(),
            view_copy: ViewCopy::new(next),
            writers: Writers::new(),
            locks: Locks::new(),
            unique: UniqueKeys::new(),
            generations: Generations::new(),
            purge,
            hot: HotRows::default(),
            rounds: Mutex::new(rounds),
            tides: Tides::default(),
            kept_from: Mutex::new(None),
            history: History::default(),
            hints_lost: AtomicBool::new(false),
            purge_threads,
            catalog,
            collator,
            counters: Striped::default(),
            read_only,
            background: Bell::default(),
            reclaim: AtomicBool::new(false),
            unfinished: Mutex::new(Vec::new()),
            owners: Owners::default(),
        }
    }

    /// Every commit at or before this is complete, and durable if commits are.
    #[inline]
    pub fn tide(&self) -> Lsn {
        self.store.log().tide()
    }

    pub fn versions(&self) -> Versions<'_> {
        Versions {
            store: &self.store,
            generations: &self.generations,
            queue: &self.purge,
            hot: &self.hot,
        }
    }

    /// Remembers which moment of the log this one of the clock is.
    pub fn sample_tide(&self) {
        let (settled, tide) = (self.txns.settled(), self.tide());
        self.tides.sample(SystemTime::now(), settled, tide);
    }

    /// Whether the entries that are marked deleted have lost their hints.
    pub fn needs_sweep(&self) -> Result<bool> {
        Ok(self.store.root(SWEEP_SLOT)? != 0)
    }

    pub fn set_needs_sweep(&self, needs: bool) -> Result<()> {
        let mut mtr = self.store.begin_mtr()?;
        mtr.set_root(SWEEP_SLOT, needs as u64)?;
        mtr.commit();
        Ok(())
    }
}

/// Wakes the background thread, and tells it to stop.
#[derive(Default)]
pub(crate) struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
    stopped: AtomicBool,
}

impl Bell {
    pub fn ring(&self) {
        *self.rung.lock() = true;
        self.changed.notify_all();
    }

    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.ring();
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Returns when rung, or after so long.
    pub fn wait(&self, at_most: Duration) {
        let mut rung = self.rung.lock();
        if !*rung {
            self.changed.wait_for(&mut rung, at_most);
        }
        *rung = false;
    }
}
