//! All lock owners, one per session, each with the slot in which the session registers its view.

use crate::lock::{LockMemory, Owner};
use crate::mvcc::SlotNo;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) struct Owners {
    last: AtomicU64,
    /// Of all of them.
    memory: Arc<LockMemory>,
    all: Mutex<BTreeMap<u64, (Arc<Owner>, SlotNo)>>,
}

impl Owners {
    pub fn new(memory: Arc<LockMemory>) -> Owners {
        Owners {
            last: AtomicU64::new(0),
            memory,
            all: Mutex::default(),
        }
    }

    pub fn add(&self, slot: SlotNo) -> Arc<Owner> {
        let owner = Owner::new(self.last.fetch_add(1, Ordering::Relaxed) + 1, self.memory.clone());
        self.all.lock().insert(owner.number, (owner.clone(), slot));
        owner
    }

    pub fn remove(&self, owner: &Owner) {
        self.all.lock().remove(&owner.number);
    }

    /// The one of this number.
    pub fn get(&self, number: u64) -> Option<(Arc<Owner>, SlotNo)> {
        self.all.lock().get(&number).cloned()
    }

    /// All there are now, in the order in which they were added.
    pub fn all(&self) -> Vec<(Arc<Owner>, SlotNo)> {
        self.all.lock().values().cloned().collect()
    }
}
