//! A prepared statement as other sessions see it: its text, the session that prepared it, and what its executions did. Its session adds to the sums with
//! plain loads and stores, as to those of its digest.

use super::figures::{Figures, Sums, Totals};
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
    executed: Sums,
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
            executed: Sums::default(),
        }
    }

    /// It has run. To be called by the session's thread alone.
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
        Totals::of(&self.executed)
    }
}
