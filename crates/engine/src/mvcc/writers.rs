//! The transactions that are writing, by id: the owner to wait for when a row bears an id, and how far back the log
//! must reach.

use crate::ids::{Lsn, TxnId};
use crate::lock::Owner;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

const SHARDS: u64 = 64;

pub(crate) struct Writers {
    shards: Box<[Mutex<HashMap<u64, Writer>>]>,
}

struct Writer {
    owner: Arc<Owner>,
    /// All log records of the transaction are at or behind this.
    first: Lsn,
}

impl Writers {
    pub fn new() -> Writers {
        Writers {
            shards: (0..SHARDS).map(|_| Mutex::new(HashMap::new())).collect(),
        }
    }

    fn shard(&self, id: TxnId) -> &Mutex<HashMap<u64, Writer>> {
        &self.shards[(id.0 % SHARDS) as usize]
    }

    /// Enters a transaction before it logs anything; `first` is the log's tail read before that.
    pub fn enter(&self, id: TxnId, owner: Arc<Owner>, first: Lsn) {
        self.shard(id).lock().insert(id.0, Writer { owner, first });
    }

    pub fn leave(&self, id: TxnId) {
        self.shard(id).lock().remove(&id.0);
    }

    pub fn owner(&self, id: TxnId) -> Option<Arc<Owner>> {
        self.shard(id).lock().get(&id.0).map(|w| w.owner.clone())
    }

    /// The position below which no writer needs the log; `None` if there are no writers.
    pub fn oldest(&self) -> Option<Lsn> {
        self.shards
            .iter()
            .filter_map(|s| s.lock().values().map(|w| w.first).min())
            .min()
    }

    pub fn count(&self) -> u64 {
        self.shards.iter().map(|s| s.lock().len() as u64).sum()
    }
}
