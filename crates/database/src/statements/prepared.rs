//! A prepared statement as other sessions see it: its text, the session that prepared it, and what its executions did.
//!
//! One that runs over the binary protocol has a meter of its digest to itself, whose sums are its own as well; only executions that no such
//! meter counts are added here, by the session's thread alone.

use super::digests::Local;
use super::figures::{Figures, Sums, Totals};
use super::gathered::Gathered;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A prepared statement.
#[derive(Debug)]
pub struct Instance {
    /// Its number in the session.
    pub id: u64,
    /// The name that PREPARE gave it; none over the binary protocol.
    pub name: Option<String>,
    /// Its text, passwords and all.
    pub text: Arc<[u8]>,
    /// The number of the event that prepared it.
    pub event: u64,
    /// How long that took, in nanoseconds.
    pub nanos: u64,
    reprepared: AtomicU64,
    /// What its meters have counted.
    metered: Mutex<Gathered>,
    /// What was counted by none.
    executed: Sums,
    /// Of both, what is not shown.
    unseen: Mutex<Totals>,
}

impl Instance {
    /// One that has not run. `event` is the number of the event that prepares it, which has taken so long.
    pub fn new(id: u64, name: Option<String>, text: Arc<[u8]>, (event, nanos): (u64, u64)) -> Instance {
        Instance {
            id,
            name,
            text,
            event,
            nanos,
            reprepared: AtomicU64::new(0),
            metered: Mutex::default(),
            executed: Sums::default(),
            unseen: Mutex::default(),
        }
    }

    /// A meter begins to count its executions.
    pub(super) fn begin(&self, local: &Arc<Local>) {
        self.metered.lock().begin(local);
    }

    /// A meter counts no more.
    pub(super) fn end(&self, local: &Arc<Local>) {
        self.metered.lock().end(local);
    }

    /// It has run, and none of its meters has counted that. To be called by the session's thread alone.
    #[inline]
    pub fn executed(&self, figures: &Figures) {
        self.executed.add(figures);
    }

    /// It was planned anew, since its tables had changed or its parameters were of other types.
    pub fn reprepared(&self) {
        self.reprepared.fetch_add(1, Ordering::Relaxed);
    }

    /// How often it was planned anew.
    pub fn times_reprepared(&self) -> u64 {
        self.reprepared.load(Ordering::Relaxed)
    }

    /// What its executions did.
    pub fn totals(&self) -> Totals {
        let unseen = self.unseen.lock();
        let mut totals = self.all();
        totals.take_off(&unseen);
        totals
    }

    /// What is shown of its executions begins anew, but for the shortest and the longest: its meters are its digest's as well.
    pub fn begin_anew(&self) {
        *self.unseen.lock() = self.all();
    }

    fn all(&self) -> Totals {
        let mut totals = self.metered.lock().totals();
        totals.add(&Totals::of(&self.executed));
        totals
    }
}
