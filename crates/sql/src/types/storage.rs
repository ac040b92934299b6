//! SQL types in the engine's terms, and values to and from its data.
//!
//! The engine orders what it stores by itself, so every type is given a form whose order is the SQL order: integers as
//! such; ENUM and SET by their numbers; DATE and DATETIME packed by fields; TIMESTAMP as the instant and TIME as the
//! duration in microseconds; DECIMAL as its fixed memcomparable form; text under its collation's sort keys. Text and
//! binary strings are lent to and from the page without a copy.

use super::{SqlType, TimeZone, Val};
use tidemark_engine::{ColumnType, Datum};

/// Room for one value that has to be encoded before it can be lent to the engine.
pub type Scratch = [u8; 32];

impl SqlType {
    /// How the engine stores a column of this type.
    pub fn engine_type(&self) -> ColumnType {
        ColumnType::Bytes
    }

    /// A stored value; text is borrowed from the page. `zone` places TIMESTAMPs.
    pub fn load<'a>(&'a self, datum: Datum<'a>, zone: &TimeZone) -> Val<'a> {
        let _ = (datum, zone);
        Val::Null
    }

    /// A value of this type (see [`super::assign`]) as the engine takes it.
    pub fn store<'a>(&self, value: &'a Val<'_>, zone: &TimeZone, scratch: &'a mut Scratch) -> Datum<'a> {
        let _ = (value, zone, scratch);
        Datum::Null
    }
}

/// A row in the engine's terms: `types[i].store(values[i])` for all, with the room they need in `scratch`.
pub fn store_row<'a>(
    values: &'a [Val<'_>],
    types: &[&SqlType],
    zone: &TimeZone,
    scratch: &'a mut Vec<Scratch>,
    out: &mut Vec<Datum<'a>>,
) {
    scratch.clear();
    scratch.resize(values.len(), [0; 32]);
    out.extend(
        values
            .iter()
            .zip(types)
            .zip(scratch.iter_mut())
            .map(|((v, ty), room)| ty.store(v, zone, room)),
    );
}

/// How a constant fares as a bound of an index on a column.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyBound {
    /// Stored exactly as this: `=`, ranges and order mean the same on the index.
    Exact(super::Value),
    /// Lies between stored values; this is the greatest stored one below it (`None`: below all). `=` finds nothing.
    Between(Option<super::Value>),
    /// The column must be converted row by row: no use for the index.
    Unusable,
}

/// The column's form of a value it is compared with.
pub fn key_bound(value: &Val, value_type: &SqlType, column: &SqlType, zone: &TimeZone) -> KeyBound {
    let _ = (value, value_type, column, zone);
    KeyBound::Unusable
}
