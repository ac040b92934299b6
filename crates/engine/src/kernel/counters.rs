//! Counters of what transactions did, one copy per stripe (see [`Striped`](crate::Striped)).

use std::sync::atomic::AtomicU64;

#[derive(Default)]
pub(crate) struct Counters {
    pub commits: AtomicU64,
    pub rollbacks: AtomicU64,
    pub rows_read: AtomicU64,
    pub rows_inserted: AtomicU64,
    pub rows_updated: AtomicU64,
    pub rows_deleted: AtomicU64,
}
