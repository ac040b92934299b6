//! The SQL floor of Tidemark: from statement text to rows, with MySQL's semantics.

#![forbid(unsafe_code)]

pub mod accounts;
pub mod database;
pub mod ddl;
pub mod dictionary;
pub mod dml;
pub mod error;
pub mod exec;
pub mod expr;
pub mod information_schema;
pub mod mdl;
mod monitor;
pub mod parse;
pub mod plan;
pub mod session;
pub mod show;
pub mod types;
pub mod variables;

pub use accounts::{AccountAuth, AuthPlugin};
pub use database::{Database, Options};
pub use error::{Result, SqlError};
pub use session::{ConnectInfo, OkInfo, Prepared, ResultSink, Session};
