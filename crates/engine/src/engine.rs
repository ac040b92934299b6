//! The engine as a whole: opening and closing a data directory, and what hangs off it.

use crate::ddl::Ddl;
use crate::error::{Error, Result};
use crate::ids::{Lsn, TableId};
use crate::table::{BinaryCollator, Collator, Table};
use crate::transaction::Transaction;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How to open a data directory.
#[derive(Clone)]
#[non_exhaustive]
pub struct Config {
    pub datadir: PathBuf,
    pub buffer_pool_bytes: u64,
    pub log_capacity_bytes: u64,
    pub log_buffer_bytes: u64,
    /// 1: a commit is on disk before it is acknowledged. 2: it is with the operating system. 0: neither; once a second.
    pub flush_at_trx_commit: u8,
    pub o_direct: bool,
    pub max_dirty_pages_pct: f64,
    pub collator: Arc<dyn Collator>,
    /// Refuse every write.
    pub read_only: bool,
}

impl Config {
    /// The defaults, for this directory.
    pub fn new(datadir: impl Into<PathBuf>) -> Config {
        Config {
            datadir: datadir.into(),
            buffer_pool_bytes: 128 << 20,
            log_capacity_bytes: 100 << 20,
            log_buffer_bytes: 16 << 20,
            flush_at_trx_commit: 1,
            o_direct: true,
            max_dirty_pages_pct: 90.0,
            collator: Arc::new(BinaryCollator),
            read_only: false,
        }
    }
}

/// Counters and gauges, for SHOW STATUS and the status page.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Status {
    pub tide: Lsn,
    pub log_tail: Lsn,
    pub log_flushed: Lsn,
    pub checkpoint: Lsn,
    pub log_syncs: u64,
    pub log_waits: u64,
    pub log_bytes_written: u64,
    pub pool_pages_total: u64,
    pub pool_pages_data: u64,
    pub pool_pages_dirty: u64,
    pub pool_pages_free: u64,
    pub pool_reads: u64,
    pub pool_read_requests: u64,
    pub pool_pages_written: u64,
    pub open_views: u64,
    pub active_writers: u64,
    pub commits: u64,
    pub rollbacks: u64,
    /// Committed transactions whose leftovers purge has not removed yet.
    pub history_length: u64,
    pub row_lock_waits: u64,
    pub row_lock_current_waits: u64,
    pub row_lock_time_ms: u64,
    pub row_lock_time_max_ms: u64,
    pub deadlocks: u64,
    pub rows_read: u64,
    pub rows_inserted: u64,
    pub rows_updated: u64,
    pub rows_deleted: u64,
}

/// What [`Engine::check`] verified, and what it found wrong.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CheckReport {
    pub pages: u64,
    pub tables: u64,
    pub indexes: u64,
    pub rows: u64,
    pub entries: u64,
    pub free_pages: u64,
    /// Empty if all is well. At most a few dozen are kept.
    pub faults: Vec<String>,
}

/// An open data directory. Clones share it.
#[derive(Clone)]
pub struct Engine {}

impl Engine {
    /// Opens (or creates) the directory, recovering what a crash left.
    pub fn open(config: Config) -> Result<Engine> {
        let _ = config;
        Err(Error::Unsupported("open"))
    }

    /// Stops the background work, writes everything out and closes the directory. Transactions still active are lost.
    pub fn shutdown(&self) -> Result<()> {
        Ok(())
    }

    /// Verifies a stopped directory, changing nothing: checksums, tree order, that each secondary index agrees with
    /// its clustered index, and that every allocated page is reachable exactly once.
    pub fn check(datadir: &Path, collator: Arc<dyn Collator>) -> Result<CheckReport> {
        let _ = (datadir, collator);
        Err(Error::Unsupported("check"))
    }

    pub fn status(&self) -> Status {
        Status::default()
    }

    pub fn set_flush_at_trx_commit(&self, mode: u8) {
        let _ = mode;
    }

    pub fn set_max_dirty_pages_pct(&self, pct: f64) {
        let _ = pct;
    }

    /// A transaction for one connection, idle.
    pub fn transaction(&self) -> Transaction {
        unreachable!("an engine cannot be opened yet")
    }

    pub fn table(&self, id: TableId) -> Result<Arc<Table>> {
        let _ = id;
        Err(Error::NoSuchTable)
    }

    /// All tables of the catalog.
    pub fn table_ids(&self) -> Vec<TableId> {
        Vec::new()
    }

    /// Starts a change of definitions. One at a time: a second one waits.
    pub fn ddl(&self) -> Result<Ddl> {
        Err(Error::Unsupported("ddl"))
    }

    /// Committed meta data: what the floor above keeps in the catalog (names, definitions, accounts).
    pub fn meta_get(&self, space: &str, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let _ = (space, key);
        Ok(None)
    }

    /// All of a meta space, in key order.
    pub fn meta_scan(&self, space: &str) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let _ = space;
        Ok(Vec::new())
    }
}
