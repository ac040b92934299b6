//! Pages that survive: the lower half of Tidemark's engine, of use by itself as an embedded, crash-safe, ordered
//! key-value store without transactions.
//!
//! ```text
//!  tree    B+trees: ordered byte strings → byte strings; latch coupling, scans, large values
//!  store   mini-transactions (changes of several pages, all or nothing), space, page cleaner, checkpoints, recovery
//!  log     the redo log: parallel appends, group commit, the tide
//!  pool    pages in memory under a strict limit, and their latches
//!  disk    files: the real ones, and simulated ones that lose power, tear writes and fail
//!  threads work shared out to threads, which the system may refuse
//!  waits   what threads wait for, and how long
//!  ids     page, tree, transaction and log numbers, each a type of its own
//! ```
//!
//! Each floor uses only those below it. What the floors above this crate add is meaning: rows, versions, locks and
//! transactions. They meet it in two places. A mini-transaction carries a *note* ([`log::TxnNote`]) that says what it
//! means to its transaction, and recovery hands back the notes of those that had not ended ([`store::Recovered`]); and a
//! hook says what a checkpoint must keep for them ([`store::Store::set_retain_hook`]).
//!
//! ```
//! use std::sync::Arc;
//! use tidemark_pages::disk::sim::SimDisk;
//! use tidemark_pages::ids::{IndexId, PageId};
//! use tidemark_pages::log::OnFailure;
//! use tidemark_pages::store::{OpTable, Store, StoreConfig};
//! use tidemark_pages::tree::{self, Tree};
//!
//! # fn main() -> tidemark_pages::Result<()> {
//! let mut ops = OpTable::new();
//! tree::register(&mut ops);
//! let disk = SimDisk::new(1);
//! let mut config = StoreConfig::new(Arc::new(disk.clone()));
//! config.on_log_failure = OnFailure::Refuse; // else the process would end with the power
//! let (store, _) = Store::open(config, ops.clone())?;
//!
//! // Two pages change together: the new tree's root, and the superblock, which remembers where it is.
//! let mut mtr = store.begin_mtr()?;
//! let root = Tree::create(&mut mtr, IndexId(1))?;
//! mtr.set_root(0, root.0.into())?;
//! mtr.commit();
//!
//! let tree = Tree::new(store.clone(), IndexId(1), root);
//! let lsn = tree.put(b"moon", b"tide")?;
//! store.log().wait_durable(lsn.end)?;
//!
//! // The power fails; what was synced is left.
//! let (store, recovered) = Store::open(StoreConfig::new(Arc::new(disk.restart())), ops)?;
//! assert!(!recovered.clean);
//! let root = PageId(store.root(0)? as u32);
//! let tree = Tree::new(store, IndexId(1), root);
//! assert_eq!(tree.read(b"moon")?.get(b"moon"), Some(&b"tide"[..]));
//! # Ok(())
//! # }
//! ```

#![deny(unsafe_code)]

pub mod disk;
mod error;
pub mod failpoint;
pub mod ids;
pub mod log;
pub mod pool;
mod prefetch;
pub mod sabotage;
pub mod store;
mod sync;
pub mod tally;
pub mod threads;
mod tick;
pub mod tree;
pub mod waits;

pub use error::{Error, Result};
pub use prefetch::prefetch;
pub use tick::{Tick, recent_unix_micros};

/// Waits, statements, pages and rows are counted, in this crate and in those above. False in builds of the feature `uncounted`
/// alone, which measure what that costs.
pub const COUNTED: bool = !cfg!(feature = "uncounted");
