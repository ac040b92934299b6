//! The SQL floor of Tidemark: from statement text to rows, with MySQL's semantics.

#![forbid(unsafe_code)]

pub mod error;
pub mod expr;
pub mod types;

pub use error::{Result, SqlError};
