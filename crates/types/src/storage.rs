//! SQL types in the engine's terms, and values to and from its data.
//!
//! The engine orders what it stores by itself, so every type is given a form whose order is the SQL order: integers as
//! such; ENUM and SET by their numbers; DATE and DATETIME packed by fields; TIMESTAMP as the instant and TIME as the
//! duration in microseconds; DECIMAL as its fixed memcomparable form; text under its collation's sort keys. Text and
//! binary strings are lent to and from the page without a copy.

use super::CmpKind;
use super::temporal::TIME_MAX_MICROS;
use super::{DateTime, Decimal, SqlType, Time, TimeZone, TypeKind, Val, Value};
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

/// How a constant fares as a bound of an index on a column.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyBound {
    /// Stored exactly as this: `=`, ranges and order mean the same on the index. (ENUM and SET: `=` only.)
    Exact(Value),
    /// Lies between possible values; this is the greatest possible one below it (`None`: below all). `=` finds nothing.
    Between(Option<Value>),
    /// The column must be converted row by row: no use for the index.
    Unusable,
}

/// The column's form of a value that it is compared with as `kind` says. The value is not NULL: nothing equals that.
pub fn key_bound(value: &Val, kind: CmpKind, column: &SqlType, zone: &TimeZone) -> KeyBound {
    match kind {
        // An element, which has the array's type.
        _ if column.array => KeyBound::Exact(value.clone().into_owned()),
        CmpKind::Int | CmpKind::Decimal | CmpKind::Double | CmpKind::Number if column.is_integer() => {
            int_bound(value, column)
        }
        CmpKind::Int | CmpKind::Decimal | CmpKind::Number if column.kind == TypeKind::Decimal => {
            decimal_bound(value, column)
        }
        CmpKind::Double if column.kind == TypeKind::Double => match as_number(value) {
            Some(d) => KeyBound::Exact(Val::Double(d.to_f64())),
            None => KeyBound::Unusable,
        },
        CmpKind::Str(c) if column.is_member() && c == column.collation => member_bound(value, column),
        CmpKind::Str(c) if column.is_string() && c == column.collation => match value {
            Val::Str(s) => KeyBound::Exact(Val::Str(Cow::Owned(s.to_vec()))),
            other => KeyBound::Exact(Val::string(other.to_text().into_owned())),
        },
        CmpKind::Member => match value {
            Val::Member(n, s) => KeyBound::Exact(Val::Member(*n, Cow::Owned(s.to_vec()))),
            _ => KeyBound::Unusable,
        },
        CmpKind::DateTime if column.has_date() => datetime_bound(value, column, zone),
        CmpKind::Time if column.kind == TypeKind::Time => match value {
            Val::Time(t) => {
                let rounded = t.round(column.scale);
                if rounded == *t {
                    return KeyBound::Exact(Val::Time(rounded));
                }
                let below = if rounded > *t {
                    rounded.micros - unit(column.scale)
                } else {
                    rounded.micros
                };
                KeyBound::Between(Some(Val::Time(Time::new(
                    below.max(-TIME_MAX_MICROS),
                    column.scale,
                ))))
            }
            _ => KeyBound::Unusable,
        },
        _ => KeyBound::Unusable,
    }
}

fn unit(fsp: u8) -> i64 {
    10i64.pow(6 - fsp.min(6) as u32)
}

/// The exact number a value is; texts count if they are wholly numbers.
fn as_number(value: &Val) -> Option<Decimal> {
    Some(match value {
        Val::Int(v) => Decimal::from(*v),
        Val::UInt(v) | Val::Member(v, _) => Decimal::from(*v),
        Val::Decimal(d) => d.clone(),
        Val::Double(v) if v.abs() < 9e15 => Decimal::from_f64(*v)?,
        Val::Str(s) => Decimal::parse(std::str::from_utf8(s).ok()?.trim_ascii())?,
        _ => return None,
    })
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

fn int_bound(value: &Val, column: &SqlType) -> KeyBound {
    let Some(number) = as_number(value) else {
        return KeyBound::Unusable;
    };
    let (low, high) = int_range(column);
    let typed = |v: i128| {
        if column.unsigned {
            Val::UInt(v as u64)
        } else {
            Val::Int(v as i64)
        }
    };
    let Some(floor) = number.floor().to_i128() else {
        return KeyBound::Between((!number.is_negative()).then(|| typed(high)));
    };
    if floor < low {
        KeyBound::Between(None)
    } else if floor > high {
        KeyBound::Between(Some(typed(high)))
    } else if Decimal::new(floor, 0) == number {
        KeyBound::Exact(typed(floor))
    } else {
        KeyBound::Between(Some(typed(floor)))
    }
}

fn decimal_bound(value: &Val, column: &SqlType) -> KeyBound {
    let Some(number) = as_number(value) else {
        return KeyBound::Unusable;
    };
    let max = Decimal::max_value(column.length, column.scale);
    if number > max {
        return KeyBound::Between(Some(Val::Decimal(max)));
    }
    if number < max.neg() {
        return KeyBound::Between(None);
    }
    let cut = number.truncate(column.scale);
    if cut == number {
        return KeyBound::Exact(Val::Decimal(cut));
    }
    let below = if number.is_negative() {
        cut.sub(&Decimal::new(1, column.scale))
    } else {
        cut
    };
    KeyBound::Between(Some(Val::Decimal(below)))
}

fn member_bound(value: &Val, column: &SqlType) -> KeyBound {
    let text = value.to_text();
    if column.kind == TypeKind::Set {
        return KeyBound::Unusable;
    }
    let found = column
        .members()
        .iter()
        .position(|m| column.collation.eq(m.as_bytes(), &text));
    match found {
        Some(i) => KeyBound::Exact(Val::Member(
            i as u64 + 1,
            Cow::Owned(column.members()[i].clone().into_bytes()),
        )),
        // The empty text may also be the error member, which is no label.
        None => KeyBound::Unusable,
    }
}

fn datetime_bound(value: &Val, column: &SqlType, zone: &TimeZone) -> KeyBound {
    let point = match value {
        Val::Date(d) => d.midnight(),
        Val::DateTime(t) => DateTime {
            repeated: false,
            ..*t
        },
        _ => return KeyBound::Unusable,
    };
    if column.kind == TypeKind::Date {
        let date = Val::Date(point.date);
        return if point.micros_of_day() == 0 {
            KeyBound::Exact(date)
        } else {
            KeyBound::Between(Some(date))
        };
    }
    if column.kind == TypeKind::Timestamp && !timestamp_in_range(point, zone) {
        return KeyBound::Unusable;
    }
    let cut = point.truncate(column.scale);
    if cut == point {
        KeyBound::Exact(Val::DateTime(cut))
    } else {
        KeyBound::Between(Some(Val::DateTime(cut)))
    }
}

/// TIMESTAMP reaches from 1970-01-01 00:00:01 to 2038-01-19 03:14:07 UTC, as in MySQL.
#[inline]
pub fn timestamp_in_range(local: DateTime, zone: &TimeZone) -> bool {
    if local.date.has_zero_part() {
        return false;
    }
    let instant = zone.instant(local);
    (1_000_000..(1i64 << 31) * 1_000_000).contains(&instant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Date;
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

    #[test]
    fn bounds_between_values_are_rounded_down() {
        let int = SqlType::new(TypeKind::TinyInt);
        let utc = TimeZone::UTC;
        let bound = |v: Val, ty: &SqlType| key_bound(&v, CmpKind::Decimal, ty, &utc);
        assert_eq!(bound(Val::Int(5), &int), KeyBound::Exact(Val::Int(5)));
        assert_eq!(
            bound(Val::Decimal(Decimal::parse("-1.5").unwrap()), &int),
            KeyBound::Between(Some(Val::Int(-2)))
        );
        assert_eq!(
            bound(Val::Int(1000), &int),
            KeyBound::Between(Some(Val::Int(127)))
        );
        assert_eq!(bound(Val::Int(-1000), &int), KeyBound::Between(None));
        let dec = SqlType::decimal(4, 1);
        let d = |t: &str| Val::Decimal(Decimal::parse(t).unwrap());
        assert_eq!(bound(d("-1.55"), &dec), KeyBound::Between(Some(d("-1.6"))));
        assert_eq!(bound(d("1.50"), &dec), KeyBound::Exact(d("1.5")));
    }
}
