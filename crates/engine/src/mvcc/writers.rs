//! The transactions that are writing: whom to wait for when a row bears an id, and how far back the log must reach.

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
    /// No record of the transaction lies below.
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

    /// To be called before the transaction logs anything, with the log's tail as it was then.
    pub fn enter(&self, id: TxnId, owner: Arc<Owner>, first: Lsn) {
        self.shard(id).lock().insert(id.0, Writer { owner, first });
    }

    pub fn leave(&self, id: TxnId) {
        self.shard(id).lock().remove(&id.0);
    }

    pub fn owner(&self, id: TxnId) -> Option<Arc<Owner>> {
        self.shard(id).lock().get(&id.0).map(|w| w.owner.clone())
    }

    /// No writer needs the log below this.
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
