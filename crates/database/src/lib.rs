//! A server's database but for its queries: what there is, what each account may do with it, and the statements that change or show
//! definitions.
//!
//! ```
//! use tidemark_database::dictionary::SchemaDef;
//! use tidemark_database::{Options, open};
//! use tidemark_types::Collation;
//!
//! let datadir = std::env::temp_dir().join(format!("tidemark-database-{}", std::process::id()));
//! let options = || Options::from_pairs(datadir.clone(), []).unwrap();
//! let shore = SchemaDef { name: "shore".to_owned(), collation: Collation::DEFAULT };
//! let database = open(options())?;
//! let mut change = database.dictionary().change(database.engine())?;
//! change.put_schema(shore.clone())?;
//! change.commit()?;
//! database.shutdown()?;
//! drop(database);
//!
//! // What was committed is there again.
//! let database = open(options())?;
//! assert_eq!(database.dictionary().schema("shore").as_deref(), Some(&shore));
//! database.shutdown()?;
//! # std::fs::remove_dir_all(&datadir).unwrap();
//! # Ok::<(), tidemark_database::SqlError>(())
//! ```
//!
//! - [`context`]: the [`Database`] that all sessions share; what a running statement knows of its session and of it.
//! - [`dictionary`]: names → definitions, of virtual tables too; [`mdl`]: the locks on them.
//! - [`histogram`]: how the values of a column are spread. [`statistics`]: what is known of tables without anybody asking.
//! - [`accounts`]: accounts and their privileges. [`variables`]: the registry of system variables, their values.
//! - [`ddl`]: changes of definitions and accounts. [`show`], [`information_schema`]: what there is, as rows.
//! - [`network`]: which clients are one host for what is limited by host.
//! - [`statements`]: what statements did, by digest, session and account; [`spans`]: statements for OpenTelemetry.
//! - [`monitor`]: holders of locks and their waiters, for people to read; deadlocks; how much of the past is kept.

#![forbid(unsafe_code)]
#![warn(clippy::too_many_arguments)]

pub mod accounts;
pub mod context;
pub mod ddl;
pub mod dictionary;
pub mod histogram;
pub mod information_schema;
pub mod mdl;
pub mod monitor;
pub mod network;
pub mod show;
pub mod spans;
pub mod statements;
pub mod statistics;
pub mod variables;

use tidemark_expr as expr;
use tidemark_parse as parse;
use tidemark_types as types;
use tidemark_types::error;

pub use context::{Database, Options};
pub use dictionary::faults as faults_of_definitions;
pub use error::{Result, SqlError};

use std::sync::Arc;
use tidemark_engine::disk::Disk;

/// Opens the data directory (recovering it if it was not shut down), creating it on first start.
pub fn open(options: Options) -> Result<Arc<Database>> {
    start(options, None)
}

/// The same on a disk in place of the data directory, for tests: if the log cannot be written the engine stops, and the process
/// goes on.
pub fn open_on(options: Options, disk: Arc<dyn Disk>) -> Result<Arc<Database>> {
    start(options, Some(disk))
}

fn start(options: Options, disk: Option<Arc<dyn Disk>>) -> Result<Arc<Database>> {
    // Tests on a simulated disk start this thread themselves.
    let is_real = disk.is_none();
    let database = Database::open(options, disk)?;
    monitor::start(&database);
    if is_real {
        monitor::refresh::start(&database);
    }
    Ok(database)
}
