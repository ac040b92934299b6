//! The storage engine of Tidemark: tables, transactions and isolation, usable as a library. No SQL, no network.
//!
//! *Time is a position in the log.* Every committed transaction has one number, the log sequence number at which its
//! commit record ends. The *tide* is the highest such number up to which every commit is complete, and a read view is a
//! copy of the tide.
//!
//! ```
//! use tidemark_engine::*;
//!
//! # fn main() -> Result<()> {
//! # let directory = std::env::temp_dir().join(format!("tidemark-front-page-{}", std::process::id()));
//! let engine = Engine::open(Config::new(&directory))?;
//!
//! // CREATE TABLE account (id INT PRIMARY KEY, balance BIGINT NOT NULL)
//! let column = |bytes| Column { ty: ColumnType::Int { bytes }, nullable: false };
//! let schema = TableSchema {
//!     columns: vec![column(4), column(8)],
//!     primary: Some(IndexSchema { parts: vec![KeyPart::column(0)], unique: true }),
//!     secondary: vec![],
//! };
//! let mut ddl = engine.ddl()?;
//! ddl.create_named_table("account", &schema)?;
//! ddl.commit()?;
//!
//! // One transaction, run again if it loses a deadlock.
//! let account = engine.table_named("account")?;
//! engine.write(|txn| {
//!     account.insert(txn, &[Datum::Int(1), Datum::Int(100)])?;
//!     account.insert(txn, &[Datum::Int(2), Datum::Int(50)])
//! })?;
//!
//! // A consistent read: no locks, no waiting.
//! let mut txn = engine.transaction();
//! txn.begin(Isolation::RepeatableRead, true);
//! let mut sum = 0;
//! let all = KeyRange::all();
//! account.scan(&mut txn, &RangeScan::new(0, &all), Read::Consistent, &mut |row| {
//!     sum += row.get(1).as_int().unwrap_or(0);
//!     Ok((Keep::Locked, Flow::Continue))
//! })?;
//! txn.commit()?;
//! assert_eq!(sum, 150);
//! engine.shutdown()?;
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok(())
//! # }
//! ```
//!
//! [`Engine`] opens a directory, [`Ddl`] changes definitions, [`Table`] reads and writes rows in a [`Transaction`]. What a
//! table is stands in [`TableSchema`]; keys are encoded by [`Table::encode_key`] and grouped by [`KeyRange`].
//!
//! Files, pages, the log and B+trees are the crate `tidemark-pages`.
//!
//! # Floors
//!
//! From top to bottom. A module imports only modules that stand below it here; the picture in `docs/architecture.md` says
//! what each is for.
//!
//! ```text
//! backup, check
//! engine
//! background
//! scrub
//! ddl
//! build
//! purge
//! access
//! transaction
//! undo
//! core
//! progress
//! catalog
//! table
//! garbage
//! system_tree
//! txn
//! kernel
//! mvcc
//! lock
//! spool
//! schema
//! bytes
//! striped
//! sabotage
//! error
//! ids
//! ```

#![forbid(unsafe_code)]

mod access;
mod background;
mod backup;
mod build;
mod bytes;
mod carried;
mod catalog;
mod check;
mod core;
mod ddl;
mod engine;
pub mod error;
mod garbage;
pub mod ids;
mod kernel;
mod lock;
#[cfg(feature = "museum")]
pub mod museum;
mod mvcc;
mod pool_pages;
mod progress;
mod purge;
mod sabotage;
mod schema;
mod scrub;
mod spool;
mod striped;
mod system_tree;
mod table;
#[cfg(test)]
mod testing;
mod transaction;
mod txn;
mod undo;

pub(crate) use tidemark_pages::tally::{self, Event};
pub use tidemark_pages::{COUNTED, Tick, disk, failpoint, prefetch, waits};
pub(crate) use tidemark_pages::{log, pool, recent_unix_micros, store, threads, tree};

pub use backup::{Copied, Until};
pub use build::{BuildProgress, BuildStage, OnlineBuild};
pub use check::{CheckAbove, CheckReport, Stored};
pub use ddl::{Ddl, NewColumn};
pub use engine::{Config, Engine, Status};
pub use error::{Error, Result};
pub use ids::{IndexId, IndexNo, Isolation, Lsn, PAGE_SIZE, PageId, TableId, TxnId};
pub use kernel::{HistoryExcess, HistoryLimits, ViewInfo};
pub use lock::{
    DeadlockInfo, DeadlockMember, DuplicateLock, Interrupt, LockInfo, LockKind, LockMode, LockPlace,
    LockWait, LockWaitInfo, TransactionInfo,
};
pub use mvcc::HotRow;
pub use pool_pages::{PageContent, PageInPool, page_type};
pub use progress::{LongWork, WorkProgress};
pub use schema::{
    Column, ColumnType, Datum, Element, IndexSchema, KeyPart, ROW_VERSIONS_MAX, RowBuf, TableSchema, Values,
};
pub use scrub::{Damage, ScrubStatus};
pub use spool::{Spool, SpoolOwner};
pub use table::{
    Action, BinaryCollator, Collator, Flow, KEY_BYTES_MAX, Keep, KeyRange, PrefixSample, RangeScan, Read,
    RowView, SampledRow, Sequence, SizeRange, Table, TableUsage,
};
pub use tidemark_pages::store::{CopyProgress, CopyStage, is_own_name, vouched_log};
pub use tidemark_pages::threads::THREADS_MAX;
pub use transaction::{Moment, Savepoint, Transaction};
pub use tree::LeafSample;
pub use txn::RowCounts;
