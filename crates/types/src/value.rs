//! A value at run time.
//!
//! `Val<'a>` may borrow its bytes from the row under the latch, from the plan's literals or from the parameters;
//! producing or comparing a column therefore copies nothing. `Value` is the same with nothing borrowed, for values
//! that outlive the row. Text is UTF-8 whatever the declared character set (see `collation`); binary strings hold any
//! bytes. Which collation a text has, whether an integer is a YEAR or a BIT, is the business of its static type, not of
//! the value.

use super::decimal::Decimal;
use super::json::Json;
use super::temporal::{Date, DateTime, Time};
use std::borrow::Cow;

/// A value at run time.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Val<'a> {
    /// NULL
    #[default]
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer; BIT and YEAR too.
    UInt(u64),
    /// FLOAT
    Float(f32),
    /// DOUBLE
    Double(f64),
    /// DECIMAL
    Decimal(Decimal),
    /// Text (UTF-8) or a binary string.
    Str(Cow<'a, [u8]>),
    /// A JSON document, as it is stored (see [`binary`](super::json::binary)): as a text it is its text in the normal form, as a number
    /// what the value in it is.
    Json(Cow<'a, [u8]>),
    /// DATE
    Date(Date),
    /// TIME
    Time(Time),
    /// DATETIME and TIMESTAMP.
    DateTime(DateTime),
    /// An ENUM (member number, 0 = the empty error member) or SET (bit mask): a number where a number is wanted, a text
    /// otherwise.
    Member(u64, Cow<'a, [u8]>),
}

/// A value that owns all it holds.
pub type Value = Val<'static>;

impl<'a> Val<'a> {
    /// 1
    pub const TRUE: Val<'static> = Val::Int(1);
    /// 0
    pub const FALSE: Val<'static> = Val::Int(0);

    /// 1 or 0.
    #[inline]
    pub fn bool(b: bool) -> Val<'static> {
        Val::Int(b as i64)
    }

    /// A text or binary string that borrows.
    #[inline]
    pub fn str<T: AsRef<[u8]> + ?Sized>(s: &'a T) -> Val<'a> {
        Val::Str(Cow::Borrowed(s.as_ref()))
    }

    /// A text or binary string that owns.
    pub fn string(s: impl Into<Vec<u8>>) -> Val<'static> {
        Val::Str(Cow::Owned(s.into()))
    }

    /// The document `null`.
    pub const JSON_NULL: Val<'static> = Val::Json(Cow::Borrowed(super::json::binary::NULL));

    /// A document. Error 3157 if it is too deep, 3150 if it is too big; others if there is no memory for it, or the statement is to end.
    pub fn json(document: &Json) -> crate::error::Result<Val<'static>> {
        Ok(Val::Json(Cow::Owned(document.stored()?)))
    }

    /// Whether it is NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Val::Null)
    }

    /// The value with its bytes copied, if it has borrowed them.
    #[inline]
    pub fn into_owned(self) -> Value {
        match self {
            Val::Null => Val::Null,
            Val::Int(v) => Val::Int(v),
            Val::UInt(v) => Val::UInt(v),
            Val::Float(v) => Val::Float(v),
            Val::Double(v) => Val::Double(v),
            Val::Decimal(v) => Val::Decimal(v),
            Val::Str(v) => Val::Str(Cow::Owned(v.into_owned())),
            Val::Json(v) => Val::Json(Cow::Owned(v.into_owned())),
            Val::Date(v) => Val::Date(v),
            Val::Time(v) => Val::Time(v),
            Val::DateTime(v) => Val::DateTime(v),
            Val::Member(n, v) => Val::Member(n, Cow::Owned(v.into_owned())),
        }
    }

    /// The same value, borrowing from this one.
    #[inline]
    pub fn borrowed(&self) -> Val<'_> {
        match self {
            Val::Str(v) => Val::Str(Cow::Borrowed(v)),
            Val::Json(v) => Val::Json(Cow::Borrowed(v)),
            Val::Member(n, v) => Val::Member(*n, Cow::Borrowed(v)),
            Val::Null => Val::Null,
            Val::Int(v) => Val::Int(*v),
            Val::UInt(v) => Val::UInt(*v),
            Val::Float(v) => Val::Float(*v),
            Val::Double(v) => Val::Double(*v),
            Val::Decimal(v) => Val::Decimal(v.clone()),
            Val::Date(v) => Val::Date(*v),
            Val::Time(v) => Val::Time(*v),
            Val::DateTime(v) => Val::DateTime(*v),
        }
    }
}

impl From<i64> for Val<'static> {
    fn from(v: i64) -> Self {
        Val::Int(v)
    }
}

impl From<u64> for Val<'static> {
    fn from(v: u64) -> Self {
        Val::UInt(v)
    }
}

impl From<f64> for Val<'static> {
    fn from(v: f64) -> Self {
        Val::Double(v)
    }
}

impl From<String> for Val<'static> {
    fn from(v: String) -> Self {
        Val::string(v)
    }
}

impl<'a> From<&'a str> for Val<'a> {
    fn from(v: &'a str) -> Self {
        Val::str(v)
    }
}

impl From<bool> for Val<'static> {
    fn from(v: bool) -> Self {
        Val::bool(v)
    }
}
