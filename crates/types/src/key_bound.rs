//! Bounds of index ranges: where a value that a column is compared with lies among the values that the column can store.
//!
//! An index is in the order of what is stored, and a comparison is one of what the binder says ([`CmpKind`]): a text beside a DATE is read
//! as a date, a number beside a DECIMAL may have more digits than that keeps. The value is converted as evaluation converts it, and then
//! has its exact place among the column's values, lies between two of them, or has no place: because several values of the column are alike
//! in the comparison, or because these are in another order. A bound may let in too much, never too little, for the condition is tested on
//! every row that is found.

use super::convert::{plain_number, today};
use super::storage::int_range;
use super::temporal::{MICROS_PER_DAY, TIME_MAX_MICROS};
use super::{CmpKind, Conversion, Date, DateTime, Decimal, SqlType, Time, TimeZone, TypeKind, Val, Value};
use std::borrow::Cow;

/// How a constant fares as a bound of an index on a column.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyBound {
    /// Stored exactly as this: `=`, ranges and order mean the same on the index. (ENUM and SET beside texts: `=` only.)
    Exact(Value),
    /// Lies between possible values; this is the greatest possible one below it (`None`: below all). `=` finds nothing.
    Between(Option<Value>),
    /// The column must be converted row by row: no use for the index.
    Unusable,
}

/// The column's form of a value that it is compared with as `kind` says. The value is not NULL: nothing equals that.
///
/// The value becomes what the comparison makes of it, under the rules of `env`, which is told of what is lost on the way: the
/// comparison itself says that again.
pub fn key_bound(value: &Val, kind: CmpKind, column: &SqlType, env: &Conversion) -> KeyBound {
    use CmpKind::*;
    match kind {
        // An element, which has the array's type.
        _ if column.array => KeyBound::Exact(value.clone().into_owned()),
        Int | Decimal | Double | Number => {
            number_bound(value, kind, column, env).unwrap_or(KeyBound::Unusable)
        }
        Str(c) if column.is_member() && c == column.collation => member_bound(value, column),
        Str(c) if column.is_string() && c == column.collation => match value {
            Val::Str(s) => KeyBound::Exact(Val::Str(Cow::Owned(s.to_vec()))),
            other => KeyBound::Exact(Val::string(other.to_text().into_owned())),
        },
        Member => match value {
            Val::Member(n, s) => KeyBound::Exact(Val::Member(*n, Cow::Owned(s.to_vec()))),
            _ => KeyBound::Unusable,
        },
        DateTime if column.has_date() => match value.to_compared_datetime(env) {
            // What is no date counts as the zero date.
            Ok(moment) => datetime_bound(moment.unwrap_or_default(), column, env.time_zone),
            Err(_) => KeyBound::Unusable,
        },
        DateTime if column.kind == TypeKind::Time => match value.to_compared_datetime(env) {
            // A time is one of today.
            Ok(Some(moment)) if !moment.date.has_zero_part() => {
                let since = moment.to_micros() - today(env).midnight().to_micros();
                time_bound(since, column)
            }
            _ => KeyBound::Unusable,
        },
        Time if column.kind == TypeKind::Time => match value.to_time(env) {
            Ok(Some(time)) => time_bound(time.micros, column),
            // No comparison with what is no time is true.
            Ok(None) => KeyBound::Between(None),
            Err(_) => KeyBound::Unusable,
        },
        _ => KeyBound::Unusable,
    }
}

fn unit(fsp: u8) -> i64 {
    10i64.pow(6 - fsp.min(6) as u32)
}

/// What a number is compared as.
enum Number {
    Exact(Decimal),
    /// As a floating-point number, which the column's values become, too.
    Double(f64),
}

/// Integers up to here are floating-point numbers of their own.
const DOUBLE_INTEGER_MAX: f64 = 9_007_199_254_740_991.0;
/// So many decimal digits are told apart by floating-point numbers.
const DOUBLE_DIGITS: u32 = 15;

/// The decimal number that compares with those of at most 29 digits behind the point, and below 10³⁰, as the floating-point number does.
fn decimal_of(v: f64) -> Option<Decimal> {
    let number = Decimal::from_f64(v.clamp(-1e30, 1e30))?;
    Some(match number.is_zero() && v != 0.0 {
        // Too small for a decimal number, and still not 0.
        true => Decimal::new(v.signum() as i128, 30),
        false => number,
    })
}

impl Number {
    fn of(value: &Val, kind: CmpKind, env: &Conversion) -> Option<Number> {
        let exact = match (kind, value) {
            (CmpKind::Int, _) => Some(Decimal::new(value.to_int(env).ok()?, 0)),
            (CmpKind::Double, _) | (_, Val::Double(_) | Val::Float(_)) => None,
            (CmpKind::Number, Val::Str(text)) => plain_number(text),
            (CmpKind::Number, Val::Int(_) | Val::UInt(_) | Val::Decimal(_)) | (CmpKind::Decimal, _) => {
                Some(value.to_decimal(env).ok()?)
            }
            _ => None,
        };
        match exact {
            Some(number) => Some(Number::Exact(number)),
            None => Some(Number::Double(value.to_f64(env).ok()?)),
        }
    }

    /// The decimal number that compares with all integers up to `max` as this does.
    fn beside_integers(&self, max: i128) -> Option<Decimal> {
        match self {
            Number::Exact(number) => Some(number.clone()),
            Number::Double(v) if v.abs() <= DOUBLE_INTEGER_MAX || max <= DOUBLE_INTEGER_MAX as i128 => {
                decimal_of(*v)
            }
            Number::Double(_) => None,
        }
    }
}

/// `None`: the column must be converted row by row.
fn number_bound(value: &Val, kind: CmpKind, column: &SqlType, env: &Conversion) -> Option<KeyBound> {
    let number = match Number::of(value, kind, env)? {
        // -0 equals 0, of which there is one key.
        Number::Double(v) => Number::Double(v + 0.0),
        exact => exact,
    };
    if let Number::Double(v) = number
        && v.is_nan()
    {
        return None;
    }
    match column.kind {
        TypeKind::Double => match number {
            Number::Double(v) => Some(KeyBound::Exact(Val::Double(v))),
            Number::Exact(_) => None,
        },
        TypeKind::Float => match number {
            Number::Double(v) => Some(float_bound(v)),
            Number::Exact(_) => None,
        },
        // As integers decimals are rounded.
        TypeKind::Decimal if kind == CmpKind::Int => None,
        TypeKind::Decimal => match number {
            Number::Exact(number) => Some(decimal_bound(number, column)),
            Number::Double(v) if column.length <= DOUBLE_DIGITS => {
                Some(decimal_bound(decimal_of(v)?, column))
            }
            Number::Double(_) => None,
        },
        // As integers moments with fractions are rounded, and as floating-point numbers they are not told apart.
        TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Time if column.scale > 0 => {
            None
        }
        TypeKind::Date => {
            let (digits, whole) = digits_of(number.beside_integers(MOMENT_DIGITS)?);
            Some(
                date_of_digits(digits).map_or(KeyBound::Between(None), |(date, same)| {
                    at_or_above(Val::Date(date), whole && same)
                }),
            )
        }
        TypeKind::DateTime | TypeKind::Timestamp => {
            let (digits, whole) = digits_of(number.beside_integers(MOMENT_DIGITS)?);
            let Some((moment, same)) = moment_of_digits(digits) else {
                return Some(KeyBound::Between(None));
            };
            Some(match datetime_bound(moment, column, env.time_zone) {
                KeyBound::Exact(value) => at_or_above(value, whole && same),
                other => other,
            })
        }
        TypeKind::Time => {
            let (digits, whole) = digits_of(number.beside_integers(MOMENT_DIGITS)?);
            Some(match time_of_digits(digits) {
                Some((micros, same)) => match time_bound(micros, column) {
                    KeyBound::Exact(value) => at_or_above(value, whole && same),
                    other => other,
                },
                None => KeyBound::Unusable,
            })
        }
        _ if column.is_member() => {
            let members = column.members().len() as u32;
            let max = match column.kind {
                TypeKind::Set => (1i128 << members) - 1,
                _ => members as i128,
            };
            let (digits, whole) = digits_of(number.beside_integers(max)?);
            let typed = |n: i128| Val::Member(n as u64, Cow::Borrowed(&b""[..]));
            Some(whole_bound(digits, whole, (0, max), typed))
        }
        _ if column.is_integer() => {
            let (low, high) = int_range(column);
            let (digits, whole) = digits_of(number.beside_integers(high)?);
            let typed = |v: i128| match column.unsigned {
                true => Val::UInt(v as u64),
                false => Val::Int(v as i64),
            };
            Some(whole_bound(digits, whole, (low, high), typed))
        }
        _ => None,
    }
}

fn at_or_above(value: Value, exact: bool) -> KeyBound {
    match exact {
        true => KeyBound::Exact(value),
        false => KeyBound::Between(Some(value)),
    }
}

/// The greatest integer that is not greater, and whether it is the number.
fn digits_of(number: Decimal) -> (i128, bool) {
    let floor = number.floor();
    let whole = floor == number;
    let beyond = match number.is_negative() {
        true => i128::MIN,
        false => i128::MAX,
    };
    (floor.to_i128().unwrap_or(beyond), whole)
}

/// Where a number lies among integers, given the integer below it and whether it is that.
fn whole_bound(
    floor: i128,
    whole: bool,
    (low, high): (i128, i128),
    typed: impl Fn(i128) -> Value,
) -> KeyBound {
    if floor < low {
        KeyBound::Between(None)
    } else if floor > high {
        KeyBound::Between(Some(typed(high)))
    } else {
        at_or_above(typed(floor), whole)
    }
}

fn float_bound(value: f64) -> KeyBound {
    let nearest = value as f32;
    if nearest.is_infinite() {
        return KeyBound::Between((value > 0.0).then_some(Val::Float(f32::MAX)));
    }
    match nearest as f64 {
        same if same == value => KeyBound::Exact(Val::Float(nearest)),
        below if below < value => KeyBound::Between(Some(Val::Float(nearest))),
        _ => KeyBound::Between(Some(Val::Float(nearest.next_down()))),
    }
}

fn decimal_bound(number: Decimal, column: &SqlType) -> KeyBound {
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

/// A text as a member, or as a set of members. What is none of the texts that a column can show equals nothing.
fn member_bound(value: &Val, column: &SqlType) -> KeyBound {
    let text = value.to_text();
    let is = |label: &[u8], text: &[u8]| column.collation.eq(label, text);
    let number_of = |text: &[u8]| column.members().iter().position(|m| is(m.as_bytes(), text));
    if column.kind == TypeKind::Enum {
        return match number_of(&text) {
            Some(at) => {
                let label = column.members()[at].clone().into_bytes();
                KeyBound::Exact(Val::Member(at as u64 + 1, Cow::Owned(label)))
            }
            // The error member shows as the empty text.
            None if is(b"", &text) => KeyBound::Exact(Val::Member(0, Cow::Borrowed(b""))),
            None => KeyBound::Between(None),
        };
    }
    // Members that weigh nothing make several sets look alike.
    if column.members().iter().any(|member| is(member.as_bytes(), b"")) {
        return KeyBound::Unusable;
    }
    let mut bits = 0u64;
    for part in text.split(|byte| *byte == b',').filter(|_| !text.is_empty()) {
        match number_of(part) {
            Some(at) => bits |= 1 << at,
            None => return KeyBound::Unusable,
        }
    }
    let label = column.set_label(bits).into_bytes();
    match is(&label, &text) {
        true => KeyBound::Exact(Val::Member(bits, Cow::Owned(label))),
        false => KeyBound::Unusable,
    }
}

fn time_bound(micros: i64, column: &SqlType) -> KeyBound {
    if micros > TIME_MAX_MICROS {
        return KeyBound::Between(Some(Val::Time(Time::new(TIME_MAX_MICROS, column.scale))));
    }
    if micros < -TIME_MAX_MICROS {
        return KeyBound::Between(None);
    }
    let below = micros.div_euclid(unit(column.scale)) * unit(column.scale);
    at_or_above(
        Val::Time(Time::new(below.max(-TIME_MAX_MICROS), column.scale)),
        below == micros,
    )
}

fn datetime_bound(point: DateTime, column: &SqlType, zone: &TimeZone) -> KeyBound {
    // Comparisons do not tell apart the two instants of a local time that is repeated.
    let point = DateTime { repeated: 0, ..point };
    if point.date.year > YEAR_MAX {
        // What an IN list has for a text that is no date.
        return KeyBound::Unusable;
    }
    if column.kind == TypeKind::Date {
        return at_or_above(Val::Date(point.date), point.micros_of_day() == 0);
    }
    if column.kind == TypeKind::Timestamp {
        return timestamp_bound(point, column.scale, zone);
    }
    let cut = point.truncate(column.scale);
    at_or_above(Val::DateTime(cut), cut == point)
}

/// The last year of a date.
const YEAR_MAX: u16 = 9999;

/// TIMESTAMPs are in the order of their instants, and compare by the local time of those. Rows of an hour that clocks repeat are not in
/// the order of their local times, so a local time of that hour bounds nothing.
fn timestamp_bound(point: DateTime, fsp: u8, zone: &TimeZone) -> KeyBound {
    let zero = DateTime {
        fsp,
        ..DateTime::default()
    };
    if point.is_zero() {
        return KeyBound::Exact(Val::DateTime(zero));
    }
    if point < zone.local(TIMESTAMP_MIN_MICROS, fsp) {
        return KeyBound::Between(Some(Val::DateTime(zero)));
    }
    let last = zone.local(TIMESTAMP_END_MICROS - unit(fsp), fsp);
    if point > last {
        return KeyBound::Between(Some(Val::DateTime(last)));
    }
    // There is no instant on the 31st of April: what is later than that is in May.
    if !is_of_calendar(point.date) {
        let Date { year, month, day } = point.date;
        let (year, month) = match (month, day) {
            (0, _) => (year - 1, 12),
            (1, 0) => (year - 1, 12),
            (_, 0) => (year, month - 1),
            _ => (year, month),
        };
        let last_day = (28..=31u8)
            .rev()
            .find(|day| is_of_calendar(Date::new(year, month, *day)));
        let date = Date::new(year, month, last_day.unwrap_or(28));
        let end = DateTime::from_parts(date, MICROS_PER_DAY - unit(fsp), fsp);
        return KeyBound::Between(Some(Val::DateTime(end)));
    }
    let cut = point.truncate(fsp);
    if zone.is_skipped(cut) {
        // What comes before is before the change of the clock.
        let change = zone.instant(DateTime { micro: 0, ..cut });
        return KeyBound::Between(Some(Val::DateTime(zone.local(change - unit(fsp), fsp))));
    }
    if zone.is_repeated(cut) {
        return KeyBound::Unusable;
    }
    at_or_above(Val::DateTime(cut), cut == point)
}

fn is_of_calendar(date: Date) -> bool {
    !date.has_zero_part() && Date::from_day_number(date.day_number()) == Some(date)
}

/// A moment as a number has at most these digits.
const MOMENT_DIGITS: i128 = 99_991_231_235_959;

/// The greatest date whose digits, `YYYYMMDD`, are not more than those, and whether they are those; `None` below all.
fn date_of_digits(digits: i128) -> Option<(Date, bool)> {
    if digits < 0 {
        return None;
    }
    let (year, month, day) = (digits / 10_000, digits / 100 % 100, digits % 100);
    let (year, month, day) = match (year, month, day) {
        (10_000.., _, _) => (YEAR_MAX.into(), 12, 31),
        (_, 13.., _) => (year, 12, 31),
        (_, _, 32..) => (year, month, 31),
        fitting => fitting,
    };
    let date = Date::new(year as u16, month as u8, day as u8);
    Some((date, date.to_number() as i128 == digits))
}

/// The same of `YYYYMMDDhhmmss`.
fn moment_of_digits(digits: i128) -> Option<(DateTime, bool)> {
    let (date, same) = date_of_digits(digits.div_euclid(1_000_000))?;
    let clock = match same {
        true => digits.rem_euclid(1_000_000),
        false => 235_959,
    };
    let (hour, minute, second) = fitting_clock(clock, 23);
    let moment = DateTime::new(date, hour as u8, minute, second, 0, 0);
    Some((moment, moment.to_number() as i128 == digits))
}

/// The greatest time in microseconds whose digits, `hhmmss`, are not more than those, and whether they are those. `None` for a negative one
/// that is no time.
fn time_of_digits(digits: i128) -> Option<(i64, bool)> {
    let (hour, minute, second) = fitting_clock(digits.unsigned_abs().min(99_999_999) as i128, 9999);
    let time = Time::from_hms(digits < 0, hour as u64, minute as u64, second as u64, 0, 0);
    let same = time.to_number() as i128 == digits;
    (same || digits > 0).then_some((time.micros, same))
}

fn fitting_clock(digits: i128, hour_max: i128) -> (i128, u8, u8) {
    match (digits / 10_000, digits / 100 % 100, digits % 100) {
        (hour, _, _) if hour > hour_max => (hour_max, 59, 59),
        (hour, 60.., _) => (hour, 59, 59),
        (hour, minute, 60..) => (hour, minute as u8, 59),
        (hour, minute, second) => (hour, minute as u8, second as u8),
    }
}

/// The first instant of a TIMESTAMP, and the one behind its last, in microseconds since 1970.
pub(crate) const TIMESTAMP_MIN_MICROS: i64 = 1_000_000;
pub(crate) const TIMESTAMP_END_MICROS: i64 = (1i64 << 31) * 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Warnings;

    #[test]
    fn bounds_between_values_are_rounded_down() {
        let int = SqlType::new(TypeKind::TinyInt);
        let (warnings, utc) = (Warnings::default(), TimeZone::UTC);
        let env = Conversion::new(&warnings, &utc);
        let bound = |v: Val, ty: &SqlType| key_bound(&v, CmpKind::Decimal, ty, &env);
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

    #[test]
    fn a_local_time_that_clocks_show_twice_bounds_no_instants() {
        let (warnings, zone) = (Warnings::default(), TimeZone::parse("Europe/Berlin").unwrap());
        let env = Conversion::new(&warnings, &zone);
        let bound = |text| {
            let column = SqlType::new(TypeKind::Timestamp);
            key_bound(&Val::str(text), CmpKind::DateTime, &column, &env)
        };
        assert_eq!(bound("2024-10-27 02:30:00"), KeyBound::Unusable);
        for once in ["2024-10-27 01:59:59", "2024-10-27 03:00:00"] {
            assert!(matches!(bound(once), KeyBound::Exact(_)), "{once}");
        }
    }
}
