//! The storage engine of Tidemark: tables, transactions and isolation, usable as a library. No SQL, no network.
//!
//! *Time is a position in the log.* Every committed transaction has one number, the log sequence number at which its
//! commit record ends. The *tide* is the highest such number up to which every commit is complete, and a read view is a
//! copy of the tide.
//!
//! Files, pages, the log and B+trees are the crate `tidemark-pages`. `mvcc`, `lock`, `table`, `transaction` and `purge` make
//! transactions of that and share what they need through `core`; `engine` and `ddl` open it all and change definitions;
//! `build` fills indexes, `check` verifies a directory.

#![forbid(unsafe_code)]

mod build;
mod catalog;
mod check;
mod core;
mod ddl;
mod engine;
pub mod error;
mod history;
pub mod ids;
mod lock;
mod mvcc;
mod purge;
#[cfg(feature = "sabotage")]
mod sabotage;
mod striped;
mod table;
mod transaction;

pub use tidemark_pages::disk;
pub(crate) use tidemark_pages::{log, pool, store, tree};

pub use check::CheckReport;
pub use ddl::Ddl;
pub use engine::{Config, Engine, Status};
pub use error::{Error, Result};
pub use history::{HistoryExcess, HistoryLimits, ViewInfo};
pub use ids::{IndexId, Lsn, PAGE_SIZE, PageId, TableId, TxnId};
pub use lock::{
    DeadlockInfo, DeadlockMember, Interrupt, LockInfo, LockKind, LockMode, LockPlace, LockWaitInfo,
    TransactionInfo,
};
pub use mvcc::HotRow;
pub use striped::Striped;
pub use table::{
    Action, BinaryCollator, Collator, Column, ColumnType, Datum, DuplicateLock, Flow, IndexNo, IndexSchema,
    KEY_BYTES_MAX, Keep, KeyPart, KeyRange, LockWait, Read, RowBuf, RowView, Table, TableSchema,
};
pub use transaction::{Isolation, Moment, Savepoint, Transaction};
