//! As what two values are compared. The binder decides it from their types (`expr::types::cmp_kind`); evaluation, sort keys
//! and bounds of index ranges follow it.

use super::Collation;

/// As what two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CmpKind {
    /// Signed and unsigned integers, by value.
    Int,
    /// Exact numbers, by value.
    Decimal,
    /// As floating-point numbers: where the types have nothing better in common.
    Double,
    /// Exact numbers against a parameter that is a text: exactly if that is wholly a number, as a literal in its place would
    /// be, otherwise as floating-point numbers.
    Number,
    /// As texts, by a collation.
    Str(Collation),
    /// DATE, DATETIME, TIMESTAMP: texts are read as such.
    DateTime,
    /// As durations: texts are read as such.
    Time,
    /// As JSON values, by the order of [`Json::compare`](super::json::Json::compare): where one of the two is a document.
    Json,
    /// ENUM and SET against their like: by number.
    Member,
}
