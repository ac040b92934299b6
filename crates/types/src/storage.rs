//! SQL types in the engine's terms, and values to and from its data.
//!
//! The engine orders what it stores by itself, so every type is given a form whose order is the SQL order: integers as
//! such; ENUM and SET by their numbers; DATE and DATETIME packed by fields; TIMESTAMP as the instant and TIME as the
//! duration in microseconds; DECIMAL as its fixed memcomparable form; text under its collation's sort keys. Text and
//! binary strings are lent to and from the page without a copy.

use super::key_bound::{TIMESTAMP_END_MICROS, TIMESTAMP_MIN_MICROS};
use super::{DateTime, SqlType, TimeZone, TypeKind, Val};
use std::borrow::Cow;
use tidemark_engine::{ColumnType, Datum, Element};

/// Room for one value that has to be encoded before it can be lent to the engine.
pub type Scratch = [u8; 32];

impl SqlType {
    /// How the engine stores a column of this type.
    pub fn engine_type(&self) -> ColumnType {
        let ty = self.value_type();
        match Element::of(ty).filter(|_| self.array) {
            Some(of) => ColumnType::List { of },
            None => ty,
        }
    }

    /// How a value is stored.
    fn value_type(&self) -> ColumnType {
        use TypeKind::*;
        let int = |bytes| {
            if self.unsigned {
                ColumnType::UInt { bytes }
            } else {
                ColumnType::Int { bytes }
            }
        };
        match self.kind {
            TinyInt => int(1),
            SmallInt => int(2),
            MediumInt => int(3),
            Int => int(4),
            BigInt => int(8),
            Float => ColumnType::Float,
            Double => ColumnType::Double,
            Decimal => ColumnType::Fixed {
                len: super::Decimal::storage_len(self.length, self.scale) as u16,
            },
            Bit => ColumnType::UInt {
                bytes: self.length.div_ceil(8).clamp(1, 8) as u8,
            },
            Year => ColumnType::UInt { bytes: 2 },
            Date => ColumnType::UInt { bytes: 3 },
            Time | Timestamp => ColumnType::Int { bytes: 8 },
            DateTime => ColumnType::UInt { bytes: 8 },
            Enum => ColumnType::UInt {
                bytes: if self.members().len() < 256 { 1 } else { 2 },
            },
            Set => ColumnType::UInt { bytes: 8 },
            Json | Null => ColumnType::Bytes,
            Char | VarChar | TinyText | Text | MediumText | LongText => {
                if self.collation.is_binary() {
                    ColumnType::Bytes
                } else {
                    ColumnType::Text {
                        collation: self.collation.id(),
                    }
                }
            }
        }
    }

    /// A stored value; text is borrowed from the page, and an array comes as the bytes of its list. `zone` places TIMESTAMPs.
    #[inline]
    pub fn load<'a>(&'a self, datum: Datum<'a>, zone: &TimeZone) -> Val<'a> {
        use TypeKind::*;
        match datum {
            Datum::Null => Val::Null,
            Datum::Int(v) => match self.kind {
                Time => Val::Time(super::Time::new(v, self.scale)),
                Timestamp => Val::DateTime(load_timestamp(v, self.scale, zone)),
                _ => Val::Int(v),
            },
            Datum::UInt(v) => match self.kind {
                Date => Val::Date(super::Date::unpack(v)),
                DateTime => Val::DateTime(super::DateTime::unpack(v, self.scale)),
                Enum => Val::Member(v, Cow::Borrowed(self.enum_label(v).as_bytes())),
                Set => Val::Member(v, Cow::Owned(self.set_label(v).into_bytes())),
                _ => Val::UInt(v),
            },
            Datum::Float(v) => Val::Float(v),
            Datum::Double(v) => Val::Double(v),
            Datum::Bytes(b) if self.array => Val::Str(Cow::Borrowed(b)),
            Datum::Bytes(b) if self.kind == Decimal => {
                Val::Decimal(super::Decimal::load(b, self.length, self.scale))
            }
            Datum::Bytes(b) if self.kind == Json => Val::Json(Cow::Borrowed(b)),
            Datum::Bytes(b) => Val::Str(Cow::Borrowed(b)),
        }
    }

    /// A value of this type (see [`super::assign`]) as the engine takes it.
    #[inline]
    pub fn store<'a>(&self, value: &'a Val<'_>, zone: &TimeZone, scratch: &'a mut Scratch) -> Datum<'a> {
        match value {
            Val::Null => Datum::Null,
            Val::Int(v) if self.stores_unsigned() => Datum::UInt(*v as u64),
            Val::Int(v) => Datum::Int(*v),
            Val::UInt(v) if self.stores_unsigned() => Datum::UInt(*v),
            Val::UInt(v) => Datum::Int(*v as i64),
            Val::Float(v) => Datum::Float(*v),
            Val::Double(v) if self.kind == TypeKind::Float => Datum::Float(*v as f32),
            Val::Double(v) => Datum::Double(*v),
            Val::Decimal(v) => {
                let len = v.store_into(self.length, self.scale, scratch);
                Datum::Bytes(&scratch[..len])
            }
            Val::Str(s) | Val::Json(s) => Datum::Bytes(s),
            Val::Date(d) => Datum::UInt(d.pack()),
            Val::Time(t) => Datum::Int(t.micros),
            Val::DateTime(t) if self.kind == TypeKind::Timestamp => Datum::Int(store_timestamp(*t, zone)),
            Val::DateTime(t) => Datum::UInt(t.pack()),
            Val::Member(n, _) => Datum::UInt(*n),
        }
    }

    fn stores_unsigned(&self) -> bool {
        self.unsigned || self.is_member()
    }

    /// The text of an ENUM's number; 0 is the empty error member.
    pub fn enum_label(&self, number: u64) -> &str {
        let index = (number as usize).wrapping_sub(1);
        self.members().get(index).map_or("", String::as_str)
    }

    /// The text of a SET's bits.
    pub fn set_label(&self, bits: u64) -> String {
        let chosen = self
            .members()
            .iter()
            .enumerate()
            .filter(|(i, _)| *i < 64 && bits >> i & 1 != 0);
        chosen.map(|(_, m)| m.as_str()).collect::<Vec<_>>().join(",")
    }
}

fn load_timestamp(micros: i64, fsp: u8, zone: &TimeZone) -> DateTime {
    if micros == 0 {
        DateTime {
            fsp,
            ..DateTime::default()
        }
    } else {
        zone.local_instant(micros, fsp)
    }
}

fn store_timestamp(local: DateTime, zone: &TimeZone) -> i64 {
    if local.is_zero() { 0 } else { zone.instant(local) }
}

/// The least and greatest value of an integer type.
pub fn int_range(ty: &SqlType) -> (i128, i128) {
    let bits = match ty.kind {
        TypeKind::TinyInt => 8,
        TypeKind::SmallInt => 16,
        TypeKind::MediumInt => 24,
        TypeKind::Int => 32,
        TypeKind::Bit => ty.length.clamp(1, 64),
        TypeKind::Year => return (0, 2155),
        _ => 64,
    };
    if ty.unsigned {
        (0, (1i128 << bits) - 1)
    } else {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    }
}

/// TIMESTAMP reaches from 1970-01-01 00:00:01 to 2038-01-19 03:14:07 UTC, as in MySQL.
#[inline]
pub fn timestamp_in_range(local: DateTime, zone: &TimeZone) -> bool {
    if local.date.has_zero_part() {
        return false;
    }
    let instant = zone.instant(local);
    (TIMESTAMP_MIN_MICROS..TIMESTAMP_END_MICROS).contains(&instant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Date, Decimal, Time};
    use std::sync::Arc;

    fn round_trip(ty: &SqlType, value: Val) {
        let mut scratch = [0; 32];
        let zone = TimeZone::Offset(7200);
        let datum = ty.store(&value, &zone, &mut scratch);
        assert_eq!(ty.load(datum, &zone), value, "{ty}");
    }

    #[test]
    fn every_type_survives_storage() {
        let members: Arc<[String]> = vec!["a".into(), "b".into(), "c".into()].into();
        round_trip(&SqlType::new(TypeKind::Int), Val::Int(-5));
        round_trip(&SqlType::bigint_unsigned(), Val::UInt(u64::MAX));
        round_trip(
            &SqlType::decimal(10, 2),
            Val::Decimal(Decimal::parse("-12.34").unwrap()),
        );
        round_trip(&SqlType::new(TypeKind::Float), Val::Float(1.5));
        round_trip(
            &SqlType::datetime(6),
            Val::DateTime(DateTime::new(Date::new(2024, 1, 2), 3, 4, 5, 6, 6)),
        );
        let stamp = SqlType::new(TypeKind::Timestamp).with_fsp(3);
        round_trip(
            &stamp,
            Val::DateTime(DateTime::new(Date::new(2024, 1, 2), 3, 4, 5, 6000, 3)),
        );
        round_trip(&SqlType::time(0), Val::Time(Time::new(-5_000_000, 0)));
        round_trip(&SqlType::date(), Val::Date(Date::ZERO));
        round_trip(
            &SqlType::new(TypeKind::Enum).with_members(members.clone()),
            Val::Member(2, Cow::Borrowed(b"b")),
        );
        round_trip(
            &SqlType::new(TypeKind::Set).with_members(members),
            Val::Member(5, Cow::Borrowed(b"a,c")),
        );
        round_trip(
            &SqlType::varchar(10, super::super::Collation::DEFAULT),
            Val::str("héllo"),
        );
    }
}
