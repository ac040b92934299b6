//! A JSON value seen as a number or as a condition. A string is the number that it begins with, true is 1; null, arrays,
//! objects, dates, times and bytes are no numbers.

use super::Json;
use crate::convert::{clamp_int, double_prefix, integer_prefix, round_double};
use crate::error::{Result, SqlError};
use crate::temporal::parse;
use crate::{Conversion, Decimal, SqlType, TypeKind, Val};
use std::cmp::Ordering;

/// Why a value is not what it was wanted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// It is none.
    Invalid,
    /// It is too great or too small.
    OutOfRange,
}

/// What a value was taken for, and why that is not what it says.
pub(super) type Seen<T> = (T, Option<Unfit>);

/// Passes on what a value was taken for, with a complaint if it is not that. `source` is the column or the function that it
/// comes from.
fn fitting<T>((value, unfit): Seen<T>, wanted: &str, source: &str, env: &Conversion) -> Result<T> {
    let row = env.row_number.get();
    match unfit {
        None => {}
        Some(Unfit::Invalid) => env.complain(SqlError::invalid_json_for_cast(wanted, source, row))?,
        Some(Unfit::OutOfRange) => env.complain(SqlError::json_out_of_range_for_cast(wanted, source, row))?,
    }
    Ok(value)
}

impl Json {
    /// As a double. What is none leaves a complaint that names `source`, a column or a function; so do the next ones.
    pub fn double(&self, source: &str, env: &Conversion) -> Result<f64> {
        fitting(self.to_f64(), "DOUBLE", source, env)
    }

    /// As an integer between the least signed and the greatest unsigned one.
    pub fn integer(&self, source: &str, env: &Conversion) -> Result<i128> {
        fitting(self.to_int(), "INTEGER", source, env)
    }

    /// As an exact number.
    pub fn decimal(&self, source: &str, env: &Conversion) -> Result<Decimal> {
        Ok(fitting(self.to_decimal(), "DECIMAL", source, env)?.unwrap_or(Decimal::ZERO))
    }

    /// As what a date or time is read from; NULL if that is none. `wanted` is what MySQL calls the type.
    pub fn moment(&self, wanted: &str, source: &str, env: &Conversion) -> Result<Val<'static>> {
        let of_clock = wanted == "TIME";
        let readable = |text: &str| match of_clock {
            true => is_clock(text),
            false => parse::datetime(text.as_bytes(), env.sql_mode).is_some(),
        };
        match self {
            Json::String(text) if readable(text) => Ok(Val::string(text.as_str())),
            Json::Date(v) if !of_clock => Ok(Val::Date(*v)),
            Json::Time(v) if of_clock => Ok(Val::Time(*v)),
            Json::DateTime(v) if !of_clock => Ok(Val::DateTime(*v)),
            _ => fitting((Val::Null, Some(Unfit::Invalid)), wanted, source, env),
        }
    }

    /// As a number, or as what a date or time is read from, for a value of that type; `None` where the type takes the
    /// document's text.
    pub fn scalar(&self, ty: &SqlType, source: &str, env: &Conversion) -> Result<Option<Val<'static>>> {
        use TypeKind::{Bit, Date, DateTime, Decimal, Double, Float, Time, Timestamp, Year};
        Ok(Some(match ty.kind {
            Decimal => Val::Decimal(self.decimal(source, env)?),
            Float | Double => Val::Double(self.double(source, env)?),
            Date => self.moment("DATE", source, env)?,
            DateTime | Timestamp => self.moment("DATETIME/TIMESTAMP", source, env)?,
            Time => self.moment("TIME", source, env)?,
            _ if ty.is_integer() || matches!(ty.kind, Year | Bit) => match self.integer(source, env)? {
                wide if wide > i64::MAX as i128 => Val::UInt(wide as u64),
                narrow => Val::Int(narrow as i64),
            },
            _ => return Ok(None),
        }))
    }

    /// As a double.
    fn to_f64(&self) -> Seen<f64> {
        match self {
            Json::String(text) => {
                let (value, whole) = double_prefix(text.as_bytes());
                (value, (!whole && !text.is_empty()).then_some(Unfit::Invalid))
            }
            Json::Bool(v) => (*v as u8 as f64, None),
            other => match other.as_f64() {
                Some(value) => (value, None),
                None => (0.0, Some(Unfit::Invalid)),
            },
        }
    }

    /// As an integer between the least signed and the greatest unsigned one; doubles round.
    pub(super) fn to_int(&self) -> Seen<i128> {
        match self {
            Json::Int(v) => (*v as i128, None),
            Json::UInt(v) => (*v as i128, None),
            Json::Bool(v) => (*v as i128, None),
            Json::Double(v) => {
                let rounded = v.round_ties_even() as i128;
                let value = round_double(*v).min(i64::MAX as i128);
                (value, (value != rounded).then_some(Unfit::OutOfRange))
            }
            Json::Decimal(_) => match self.to_decimal() {
                (Some(d), _) => {
                    let end = if d.is_negative() { i128::MIN } else { i128::MAX };
                    let exact = d.to_i128().unwrap_or(end);
                    let value = clamp_int(exact);
                    (value, (value != exact).then_some(Unfit::OutOfRange))
                }
                (None, unfit) => (0, unfit),
            },
            Json::String(text) => {
                let (value, whole) = integer_prefix(text.as_bytes());
                (value, (!whole).then_some(Unfit::Invalid))
            }
            Json::Date(_)
            | Json::Time(_)
            | Json::DateTime(_)
            | Json::Null
            | Json::Array(_)
            | Json::Object(_)
            | Json::Opaque(..) => (0, Some(Unfit::Invalid)),
        }
    }

    /// As an exact number; `None` is none at all.
    pub(super) fn to_decimal(&self) -> Seen<Option<Decimal>> {
        match self {
            Json::Double(v) => (Decimal::from_f64(*v), None),
            Json::Decimal(digits) => (Decimal::parse(digits), None),
            Json::String(text) => {
                let text = text.trim_ascii_start();
                match Decimal::parse_prefix(text.as_bytes()) {
                    Some((d, used)) if text[used..].trim_ascii().is_empty() => (Some(d), None),
                    other => (other.map(|(d, _)| d), Some(Unfit::Invalid)),
                }
            }
            other => match other.to_int() {
                (_, Some(unfit)) => (None, Some(unfit)),
                (value, None) => (Some(Decimal::new(value, 0)), None),
            },
        }
    }

    /// As a condition, which is a comparison with the number 0: whatever is not that number is true, `false` and `null` too.
    pub fn truth(&self) -> bool {
        self.compare(&Json::Int(0)) != Ordering::Equal
    }
}

/// Whether a string is wholly a time with a colon in it, or the digits of a date and time.
fn is_clock(text: &str) -> bool {
    const DIGITS: usize = "YYYYMMDDhhmmss".len();
    let spelt = match text.contains(':') {
        true => !text.contains('T'),
        false => text.len() >= DIGITS,
    };
    spelt && parse::time(text.as_bytes()).is_some_and(|(_, whole)| whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    #[test]
    fn strings_are_the_numbers_that_they_begin_with() {
        assert_eq!(json("\"5.4\"").to_f64(), (5.4, None));
        assert_eq!(json("\"5x\"").to_f64(), (5.0, Some(Unfit::Invalid)));
        assert_eq!(json("\"7\"").to_int(), (7, None));
        assert_eq!(json("true").to_int(), (1, None));
        assert_eq!(json("2.5").to_int(), (2, None));
        assert_eq!(json("1e30").to_int(), (i64::MAX as i128, Some(Unfit::OutOfRange)));
        assert_eq!(json("null").to_f64(), (0.0, Some(Unfit::Invalid)));
        assert_eq!(json("[1]").to_int(), (0, Some(Unfit::Invalid)));
        assert_eq!(json("\"1.50\"").to_decimal(), (Decimal::parse("1.50"), None));
        assert_eq!(json("{}").to_decimal(), (None, Some(Unfit::Invalid)));
    }

    #[test]
    fn only_the_number_zero_is_false() {
        for (text, truth) in [
            ("0", false),
            ("0.0", false),
            ("\"0\"", true),
            ("false", true),
            ("null", true),
            ("[]", true),
        ] {
            assert_eq!(json(text).truth(), truth, "{text}");
        }
    }
}
