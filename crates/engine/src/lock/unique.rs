//! Keeps apart those who add the same key to a unique index at the same time.

use crate::ids::IndexId;
use parking_lot::{Mutex, MutexGuard};
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

const STRIPES: usize = 512;

pub(crate) struct UniqueKeys {
    stripes: Box<[Mutex<()>]>,
    hasher: RandomState,
}

impl UniqueKeys {
    pub fn new() -> UniqueKeys {
        UniqueKeys {
            stripes: (0..STRIPES).map(|_| Mutex::new(())).collect(),
            hasher: RandomState::new(),
        }
    }

    /// Held from the search for a duplicate until the key is in. Not to be held across a lock wait, nor twice.
    pub fn lock(&self, index: IndexId, key: &[u8]) -> MutexGuard<'_, ()> {
        let mut hasher = self.hasher.build_hasher();
        index.hash(&mut hasher);
        hasher.write(key);
        self.stripes[hasher.finish() as usize % STRIPES].lock()
    }
}
