//! The SQL floor of Tidemark: from statement text to rows, with MySQL's semantics.

#![forbid(unsafe_code)]
#![warn(clippy::too_many_arguments)]

pub mod accounts;
pub mod context;
pub mod ddl;
pub mod dictionary;
pub mod exec;
use tidemark_expr as expr;
pub mod information_schema;
pub mod mdl;
mod monitor;
pub use tidemark_parse as parse;
pub mod plan;
pub mod session;
pub mod show;
pub use tidemark_types as types;
pub use tidemark_types::error;
pub mod variables;

pub use accounts::{AccountAuth, AuthPlugin};
pub use context::database::collator;
pub use context::{Client, ConnectInfo, Database, OkInfo, Options, ResultSink, status};
pub use error::{Result, SqlError};
pub use session::{Prepared, Session};

use std::sync::Arc;

/// Opens the data directory (recovering it if it was not shut down), creating it on first start.
pub fn open(options: Options) -> Result<Arc<Database>> {
    let database = Database::open(options)?;
    monitor::start(&database);
    Ok(database)
}
