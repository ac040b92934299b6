//! The types of SQL with MySQL's meaning: what a value is, what a column can hold, and how one becomes the other; and the
//! errors in which MySQL says that it does not.
//!
//! The crate stands by itself: it knows neither statements nor tables. A [`Val`] is a value at run time, a [`SqlType`] what is
//! known of it beforehand; a [`Collation`] says how texts compare; a [`Conversion`] holds what a conversion depends on (the
//! mode, the time zone, the clock) and takes its warnings.
//!
//! ```
//! use tidemark_types::{Collation, Conversion, SqlMode, SqlType, TimeZone, Val, Warnings, assign};
//!
//! // Texts compare by their collation.
//! assert!(Collation::UTF8MB4_0900_AI_CI.eq("Straße".as_bytes(), "STRASSE".as_bytes()));
//!
//! // A value is stored in a column: an error where the mode is strict, a warning where it is not.
//! let (warnings, zone) = (Warnings::default(), TimeZone::UTC);
//! let mut conversion = Conversion::new(&warnings, &zone);
//! let text = || Val::str("12 apples");
//! assert_eq!(assign::assign(text(), &SqlType::bigint(), "c", &conversion).unwrap_err().code, 1265);
//! conversion.strict = false;
//! assert_eq!(assign::assign(text(), &SqlType::bigint(), "c", &conversion).unwrap(), Val::Int(12));
//! assert_eq!(warnings.count(), 1);
//! ```
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
//! - [`error`]: numbers, SQLSTATEs and texts of errors.
//! - [`meta`]: what the protocol says about a result column.

#![forbid(unsafe_code)]
#![warn(clippy::too_many_arguments)]

pub mod assign;
pub mod cmp_kind;
pub mod collation;
pub mod condition;
pub mod conversion;
pub mod convert;
pub mod decimal;
pub mod error;
pub mod json;
pub mod key_bound;
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
pub use condition::SignalItem;
pub use conversion::Conversion;
pub use decimal::{Decimal, MAX_PRECISION, MAX_SCALE};
pub use meta::ColumnMeta;
pub use sql_mode::SqlMode;
pub use sql_type::{Derivation, SqlType, TypeKind};
pub use temporal::{Date, DateTime, Locale, Time};
pub use time_zone::TimeZone;
pub use value::{Val, Value};
pub use warnings::{Warning, WarningLevel, Warnings};
