//! The latest deadlock. The engine has forgotten it as soon as it is found and broken, so what its sessions were running is
//! kept here from that moment on, for SHOW ENGINE INNODB STATUS. And how often the log tells of locks that were not granted.

use super::process::SessionSnapshot;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tidemark_engine::DeadlockInfo;

/// A deadlock, with what its sessions were running.
pub struct Deadlock {
    /// The cycle of waits as the engine found it.
    pub info: DeadlockInfo,
    /// What each transaction of the cycle was running, in the engine's order; `None`: no session owns it.
    pub sessions: Vec<Option<SessionSnapshot>>,
}

/// The latest deadlock, and whether all are to be written to the log.
#[derive(Default)]
pub struct Deadlocks {
    latest: Mutex<Option<Arc<Deadlock>>>,
    print_all: AtomicBool,
    refusals: Mutex<Refusals>,
}

/// When the log has told of a lock that was not granted, and how many there were since.
#[derive(Default)]
struct Refusals {
    told: Option<Instant>,
    left_out: u64,
}

/// The log tells of a lock that was not granted at most once in so long.
const REFUSALS_EVERY: Duration = Duration::from_secs(1);

impl Deadlocks {
    pub fn latest(&self) -> Option<Arc<Deadlock>> {
        self.latest.lock().clone()
    }

    /// `innodb_print_all_deadlocks`
    pub fn set_print_all(&self, on: bool) {
        self.print_all.store(on, Ordering::Relaxed);
    }

    /// Whether all deadlocks are to be written to the log.
    pub fn prints_all(&self) -> bool {
        self.print_all.load(Ordering::Relaxed)
    }

    /// Whether the log is to tell of a lock that was not granted; if so, how many it has left out since it last did.
    pub fn may_log_refusal(&self) -> Option<u64> {
        let mut refusals = self.refusals.lock();
        if refusals.told.is_some_and(|told| told.elapsed() < REFUSALS_EVERY) {
            refusals.left_out += 1;
            return None;
        }
        refusals.told = Some(Instant::now());
        Some(std::mem::take(&mut refusals.left_out))
    }

    /// Keeps this one in place of the one before.
    pub fn note(&self, deadlock: Arc<Deadlock>) {
        *self.latest.lock() = Some(deadlock);
    }
}
