//! The exhibits' latches: mutexes and shared locks whose waits are counted under the names that MySQL's users know.
//!
//! A thread that finds the latch free pays for no clock, as everywhere else (`waits` of the pages' crate).

use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use tidemark_pages::waits::{Wait, timed};

/// A mutex with a name.
pub(super) struct Latch<T> {
    wait: Wait,
    inner: Mutex<T>,
}

impl<T: Default> Latch<T> {
    pub fn new(wait: Wait) -> Latch<T> {
        Latch {
            wait,
            inner: Mutex::default(),
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        match self.inner.try_lock() {
            Some(guard) => guard,
            None => timed(self.wait, || self.inner.lock()),
        }
    }
}

/// A lock with a name that several may share.
pub(super) struct SharedLatch {
    wait: Wait,
    inner: RwLock<()>,
}

impl SharedLatch {
    pub fn new(wait: Wait) -> SharedLatch {
        SharedLatch {
            wait,
            inner: RwLock::new(()),
        }
    }

    pub fn shared(&self) -> RwLockReadGuard<'_, ()> {
        match self.inner.try_read() {
            Some(guard) => guard,
            None => timed(self.wait, || self.inner.read()),
        }
    }

    pub fn exclusive(&self) -> RwLockWriteGuard<'_, ()> {
        match self.inner.try_write() {
            Some(guard) => guard,
            None => timed(self.wait, || self.inner.write()),
        }
    }
}
