//! The SQL floor of Tidemark: from statement text to rows, with MySQL's semantics.

#![forbid(unsafe_code)]
#![warn(clippy::too_many_arguments)]

mod exec;
mod plan;
mod program;
mod session;

pub use tidemark_database::accounts;
pub use tidemark_database::network;
use tidemark_database::{
    context, ddl, dictionary, histogram, information_schema, mdl, monitor, show, spans, statements,
    statistics, variables,
};
use tidemark_expr as expr;
pub use tidemark_parse as parse;
pub use tidemark_types as types;
pub use tidemark_types::error;

pub use accounts::{AccountAuth, AuthPlugin, Encryption};
pub use context::collator;
pub use context::{
    Client, ClientSocket, ConnectInfo, Counter, Database, Discard, OkInfo, Options, QueryAttributes,
    ResultSink, SERVER_ID, SessionChange, TlsInUse, capability, command, error_log, own_files, status,
};
pub use error::{Result, SqlError};
pub use session::{Prepared, Session, run_trusted, run_trusted_into};
pub use tidemark_database::{faults_of_definitions, open, open_on};
pub use tidemark_engine::{Tick, waits};
pub use variables::{CIPHER_SUITES, CIPHERS, spelling_distance, variable_defaults};
