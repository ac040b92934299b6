//! The types of SQL: what a value is, what a column can hold, and how one becomes the other.
//!
//! - [`value`]: a runtime value, borrowed from the row or the plan wherever possible.
//! - [`sql_type`]: the static type of a column or an expression.
//! - [`collation`]: how text compares, sorts, hashes and matches.
//! - [`decimal`], [`temporal`], [`time_zone`]: the arithmetic of the types Rust does not have.
//! - [`conversion`]: what a conversion can see: mode, clock, time zone, and the [`warnings`] it may add to.
//! - [`convert`]: a value seen as a number, a text or a point in time, with MySQL's leniency and warnings.
//! - [`assign`]: a value stored in a column, strict or not.
//! - [`sort`]: sort keys of values; [`cmp_kind`]: as what two values are compared.
//! - [`storage`]: SQL types to the engine's types and back.
//! - [`meta`]: what the protocol says about a result column.

pub mod assign;
pub mod cmp_kind;
pub mod collation;
pub mod conversion;
pub mod convert;
pub mod decimal;
pub mod json;
pub mod meta;
pub mod sort;
pub mod sql_mode;
pub mod sql_type;
pub mod storage;
pub mod temporal;
pub mod time_zone;
pub mod value;
pub mod warnings;

pub use cmp_kind::CmpKind;
pub use collation::{Charset, Collation};
pub use conversion::Conversion;
pub use decimal::Decimal;
pub use meta::ColumnMeta;
pub use sql_mode::SqlMode;
pub use sql_type::{Derivation, SqlType, TypeKind};
pub use temporal::{Date, DateTime, Time};
pub use time_zone::TimeZone;
pub use value::{Val, Value};
pub use warnings::{Warning, WarningLevel, Warnings};
