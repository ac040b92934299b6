//! Positions from which on something else than recovery needs the log: a copy that is being made, the archive.
//!
//! Checkpoints go on meanwhile; segments before the lowest hold may be recycled, later ones stay, and the log takes more room
//! on the disk.

use crate::ids::Lsn;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Default)]
pub(super) struct Holds {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    from: BTreeMap<u64, Lsn>,
}

/// A position held until this is dropped.
pub(super) struct LogHold {
    holds: Arc<Holds>,
    number: u64,
}

impl Holds {
    /// Holds the log from this position on.
    pub fn hold(self: &Arc<Holds>, from: Lsn) -> LogHold {
        let mut state = self.state.lock();
        let number = state.next;
        state.next += 1;
        state.from.insert(number, from);
        LogHold {
            holds: self.clone(),
            number,
        }
    }

    /// The lowest position held; [`Lsn::MAX`] if there is none.
    pub fn lowest(&self) -> Lsn {
        self.state.lock().from.values().copied().min().unwrap_or(Lsn::MAX)
    }
}

impl Drop for LogHold {
    fn drop(&mut self) {
        self.holds.state.lock().from.remove(&self.number);
    }
}
