//! What an open engine's transactions, purge and changes of definitions share above the tables: the kernel, the catalog,
//! and what is left to be done in the background.

use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::ids::{Lsn, TableId};
use crate::kernel::Kernel;
use crate::lock::{Locks, Owner};
use crate::progress::Watcher;
use crate::txn::TxnContext;
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The superblock's slot that says whether a sweep is due.
const SWEEP_SLOT: usize = 1;

/// The levels of [`Config::force_recovery`](crate::Config::force_recovery) from which on nothing is purged, and nothing on the disk
/// is changed.
pub(crate) const NO_PURGE: u8 = 2;
pub(crate) const FROZEN: u8 = 3;

pub(crate) struct Core {
    pub kernel: Kernel,
    pub catalog: Catalog,
    /// Wakes purge, and stops all background threads.
    pub background: Bell,
    /// Rung when the garbage list may have trees to free.
    pub reclaim: Bell,
    /// Is told of work in the background that takes long.
    pub watcher: Watcher,
    /// Rung when the log would be freed but for counters that are to be stored first.
    pub settling: Bell,
    /// From here on notes in the log carry counters that may not be stored.
    settled_from: AtomicU64,
    /// From where on they will, once the log is durable up to there.
    settled_next: Mutex<Option<(Lsn, Lsn)>>,
    /// Transactions whose rollback failed and whose handle is gone.
    pub unfinished: Mutex<Vec<TxnContext>>,
    /// A purge task was lost: the next start sweeps all trees.
    pub tasks_lost: AtomicBool,
}

impl Core {
    pub fn new(kernel: Kernel, catalog: Catalog) -> Core {
        Core {
            kernel,
            catalog,
            background: Bell::default(),
            reclaim: Bell::default(),
            watcher: Watcher::default(),
            settling: Bell::default(),
            settled_from: AtomicU64::new(0),
            settled_next: Mutex::new(None),
            unfinished: Mutex::new(Vec::new()),
            tasks_lost: AtomicBool::new(false),
        }
    }

    /// Tells all background threads to stop.
    pub fn stop_background(&self) {
        self.background.stop();
        self.reclaim.ring();
        self.settling.ring();
    }

    /// Stores the auto-increment counters that have moved, and lets go of the log before the last time that this was done. What
    /// was stored then must be durable by now.
    pub fn settle_counters(&self) -> Result<()> {
        let log = self.kernel.store.log();
        let mut next = self.settled_next.lock();
        if let Some((from, end)) = *next {
            if log.flushed() < end {
                log.flush_all()?;
            }
            self.settled_from.store(from.0, Ordering::Release);
            *next = None;
        }
        let from = log.tail();
        let visible = self.catalog.committing.read();
        let end = self.catalog.counters.settle()?;
        drop(visible);
        *next = Some((from, end.unwrap_or(Lsn::ZERO)));
        if end.is_none() {
            self.settled_from.store(from.0, Ordering::Release);
        }
        Ok(())
    }

    /// The log is needed from here on for counters.
    pub fn settled_from(&self) -> Lsn {
        Lsn(self.settled_from.load(Ordering::Acquire))
    }

    /// Stores all counters as they are, at a clean stop: no log is needed for them any more.
    pub fn settle_all_counters(&self) -> Result<()> {
        for table in self.catalog.tables() {
            table.state.settle()?;
        }
        let tail = self.kernel.store.log().tail();
        self.settled_from.store(tail.0, Ordering::Release);
        Ok(())
    }

    /// [`Error::LockWaitTimeout`] if a transaction that could not be rolled back has locked the table.
    pub fn refuse_unfinished(&self, table: TableId) -> Result<()> {
        let owners = self.kernel.owners.all();
        let holds = |owner: &Owner| owner.broken.load(Ordering::Relaxed) && Locks::has_locked(owner, table);
        match owners.iter().any(|(owner, _)| holds(owner)) {
            true => Err(Error::LockWaitTimeout),
            false => Ok(()),
        }
    }

    /// True if entries that are marked deleted have lost their purge tasks.
    pub fn needs_sweep(&self) -> Result<bool> {
        Ok(self.kernel.store.root(SWEEP_SLOT)? != 0)
    }

    pub fn set_needs_sweep(&self, needs: bool) -> Result<()> {
        let mut mtr = self.kernel.store.begin_urgent_mtr()?;
        mtr.set_root(SWEEP_SLOT, needs as u64)?;
        mtr.commit();
        Ok(())
    }
}

/// Wakes a background thread, and may tell all of them to stop.
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

    /// Returns when rung, or after `at_most`.
    pub fn wait(&self, at_most: Duration) {
        let mut rung = self.rung.lock();
        if !*rung {
            self.changed.wait_for(&mut rung, at_most);
        }
        *rung = false;
    }
}
