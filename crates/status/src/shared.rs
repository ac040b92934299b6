//! What the connections share: the database once it is open, whether it is ready, and how many connections there are.

use crate::hub::Hub;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tidemark_database::Database;

/// More connections than these are closed at once.
const CONNECTIONS_MAX: usize = 64;

#[derive(Default)]
pub struct Shared {
    database: Mutex<Option<Arc<Database>>>,
    is_ready: AtomicBool,
    /// Only this machine can connect, so nobody has to say who it is.
    pub is_local: bool,
    /// Where samples come from.
    pub hub: Arc<Hub>,
    /// The listener is being closed.
    pub is_stopping: AtomicBool,
    connections: Mutex<usize>,
    left: Condvar,
}

impl Shared {
    /// Before the database is open. `is_local`: only this machine can connect.
    pub fn new(is_local: bool) -> Shared {
        Shared {
            is_local,
            ..Shared::default()
        }
    }

    /// The server, between its start and its stop.
    pub fn database(&self) -> Option<Arc<Database>> {
        self.database.lock().clone()
    }

    /// Whether clients can connect to the database.
    pub fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Acquire)
    }

    /// The database is open, and clients can connect to it.
    pub fn attach(&self, database: Arc<Database>) {
        *self.database.lock() = Some(database);
        self.is_ready.store(true, Ordering::Release);
    }

    /// Clients cannot connect any more.
    pub fn not_ready(&self) {
        self.is_ready.store(false, Ordering::Release);
    }

    /// Lets go of the database.
    pub fn detach(&self) {
        *self.database.lock() = None;
    }

    /// A place for one more connection; `None`: there are too many.
    pub fn admit(self: &Arc<Shared>) -> Option<Place> {
        let mut connections = self.connections.lock();
        if *connections >= CONNECTIONS_MAX {
            return None;
        }
        *connections += 1;
        Some(Place(Arc::clone(self)))
    }

    /// Waits until the last connection is gone, but not longer than this.
    pub fn wait_until_left(&self, wait: Duration) {
        let deadline = Instant::now() + wait;
        let mut connections = self.connections.lock();
        while *connections > 0 && !self.left.wait_until(&mut connections, deadline).timed_out() {}
    }
}

/// A connection's place among those there may be; free again when it is dropped.
pub struct Place(Arc<Shared>);

impl Place {
    /// What the connection shares with the others.
    pub fn shared(&self) -> &Shared {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *self.0.connections.lock() -= 1;
        self.0.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_and_given_back() {
        let shared = Arc::new(Shared::default());
        let places: Vec<_> = (0..CONNECTIONS_MAX).map(|_| shared.admit().unwrap()).collect();
        assert!(shared.admit().is_none());
        drop(places);
        assert!(shared.admit().is_some());
        shared.wait_until_left(Duration::from_secs(5));
    }
}
