//! Serialises transactions that add the same key to a unique index at the same time.

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

    /// Locks the key's stripe: to be held from the search for a duplicate until the key is inserted, not across a lock
    /// wait, and never two at once.
    pub fn lock(&self, index: IndexId, key: &[u8]) -> MutexGuard<'_, ()> {
        let mut hasher = self.hasher.build_hasher();
        index.hash(&mut hasher);
        hasher.write(key);
        self.stripes[hasher.finish() as usize % STRIPES].lock()
    }
}
