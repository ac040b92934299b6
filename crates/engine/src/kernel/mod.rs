//! What every transaction of an open engine shares: the store, the versions, the locks.
//!
//! The kernel knows no tables. Tables, the catalog and everything above take it as `&Kernel`, mostly inside a `Txn`, which
//! is a transaction's context together with the kernel it runs in.

mod history;
mod owners;

pub use history::{HistoryExcess, HistoryLimits, ViewInfo};
pub(crate) use owners::Owners;

use crate::ids::TxnId;
use crate::lock::{Locks, UniqueKeys};
use crate::mvcc::Mvcc;
use crate::spool::SpoolSpace;
use crate::store::Store;
use history::History;
use std::sync::Arc;

/// What every transaction of an open engine shares. See the module's head.
pub(crate) struct Kernel {
    pub store: Arc<Store>,
    pub mvcc: Mvcc,
    pub locks: Locks,
    pub unique: UniqueKeys,
    pub owners: Owners,
    pub history: History,
    pub spools: Arc<SpoolSpace>,
    /// Every write fails.
    pub read_only: bool,
}

impl Kernel {
    /// `next` is the first transaction id to be given; `lock_memory` is how many bytes locks may take.
    pub fn new(store: Arc<Store>, next: TxnId, lock_memory: u64, read_only: bool) -> Kernel {
        let locks = Locks::new(lock_memory);
        Kernel {
            mvcc: Mvcc::new(store.clone(), next),
            spools: SpoolSpace::new(store.clone()),
            store,
            owners: Owners::new(locks.memory.clone()),
            locks,
            unique: UniqueKeys::new(),
            history: History::default(),
            read_only,
        }
    }
}
