//! Storing a value in a column, strictly or not.
//!
//! INSERT and UPDATE convert each value to its column's type. What does not fit is an error in strict mode; otherwise a
//! warning, and the nearest value that does fit is stored. NULL passes through: whether the column takes it is the
//! caller's to check ([`SqlError::bad_null`], [`null_replacement`]).

use super::Conversion;
use super::convert::{SOME_SOURCE, double_prefix, excerpt, refused_by_mode};
use super::storage::{int_range, timestamp_in_range};
use super::temporal::{TIME_MAX_MICROS, parse};
use super::{Charset, Date, DateTime, Decimal, SqlMode, SqlType, Time, TypeKind, Val, Value};
use crate::error::{Result, SqlError, er};
use std::borrow::Cow;

/// A column being written, for the error texts.
struct Target<'a> {
    ty: &'a SqlType,
    column: &'a str,
    env: &'a Conversion<'a>,
}

/// Converts a value to a column's type as INSERT and UPDATE do.
pub fn assign<'a>(value: Val<'a>, ty: &SqlType, column: &str, env: &Conversion) -> Result<Val<'a>> {
    use TypeKind::*;
    if ty.array {
        return Ok(value);
    }
    let target = Target { ty, column, env };
    // A column of another type takes the number or the date in a document, or its text.
    let value = match value {
        Val::Json(stored) if ty.kind != Json => {
            let inner = match ty.is_string() {
                true => None,
                false => super::json::Json::of_stored(&stored)?.scalar(ty, SOME_SOURCE, env)?,
            };
            match inner {
                Some(inner) => inner,
                None => Val::Str(super::json::shown_text(stored)?),
            }
        }
        other => other,
    };
    match (&value, ty.kind) {
        (Val::Null, _) => Ok(Val::Null),
        (Val::Str(s), Char | VarChar | TinyText | Text | MediumText | LongText) => {
            // The common case: a text that fits stays where it is.
            let charset = ty.collation.charset();
            if s.len() <= ty.length as usize && s.is_ascii() && charset.keeps_ascii() && ty.kind != Char {
                return Ok(value);
            }
            target.string(value.into_text(), charset)
        }
        (_, Char | VarChar | TinyText | Text | MediumText | LongText) => {
            target.string(value.into_text(), ty.collation.charset())
        }
        (_, TinyInt | SmallInt | MediumInt | Int | BigInt) => target.integer(&value).map(Val::into_owned),
        (_, Year) => target.year(&value),
        (_, Bit) => target.bit(&value),
        (_, Float | Double) => target.float(&value),
        (_, Decimal) => target.decimal(&value),
        (_, Date) => target.date(&value),
        (_, DateTime | Timestamp) => target.datetime(&value),
        (_, Time) => target.time(&value),
        (_, Enum) => target.member(&value),
        (_, Set) => target.set(&value),
        (_, Json) => target.json(value),
        (_, Null) => Ok(value),
    }
}

/// What a non-strict statement stores for NULL in a NOT NULL column.
pub fn null_replacement(ty: &SqlType) -> Value {
    match ty.kind {
        TypeKind::Enum => Val::Member(0, Cow::Borrowed(b"")),
        _ => zero_value(ty),
    }
}

/// What a column that is given no value and has no default gets: the type's zero, an ENUM's first member.
pub fn zero_value(ty: &SqlType) -> Value {
    use TypeKind::*;
    match ty.kind {
        Null => Val::Null,
        TinyInt | SmallInt | MediumInt | Int | BigInt | Year | Bit if ty.unsigned => Val::UInt(0),
        TinyInt | SmallInt | MediumInt | Int | BigInt | Year | Bit => Val::Int(0),
        Float => Val::Float(0.0),
        Double => Val::Double(0.0),
        Decimal => Val::Decimal(super::Decimal::new(0, ty.scale)),
        Date => Val::Date(super::Date::ZERO),
        Time => Val::Time(super::Time::new(0, ty.scale)),
        DateTime | Timestamp => Val::DateTime(super::DateTime {
            fsp: ty.scale,
            ..Default::default()
        }),
        Enum => Val::Member(1, Cow::Owned(ty.enum_label(1).as_bytes().to_vec())),
        Set => Val::Member(0, Cow::Borrowed(b"")),
        Char if ty.collation.is_binary() => Val::string(vec![0; ty.length as usize]),
        Json => Val::JSON_NULL,
        _ => Val::str(""),
    }
}

impl Target<'_> {
    fn row(&self) -> u64 {
        self.env.row_number.get()
    }

    /// An error in strict mode, else a warning.
    fn fault(&self, error: SqlError) -> Result<()> {
        if self.env.strict {
            return Err(error);
        }
        self.env.warnings.warn(error);
        Ok(())
    }

    fn out_of_range(&self) -> Result<()> {
        self.fault(SqlError::out_of_range(self.column, self.row()))
    }

    fn incorrect(&self, kind: &str, value: &Val) -> Result<()> {
        let shown = excerpt(&value.to_text());
        self.fault(SqlError::incorrect_value_for_column(
            kind,
            &shown,
            self.column,
            self.row(),
        ))
    }

    /// What was lost is of no account to strictness: a note.
    fn note_truncated(&self) {
        self.env
            .warnings
            .note(SqlError::data_truncated(self.column, self.row()));
    }

    fn int_val(&self, value: i128) -> Val<'static> {
        if self.ty.unsigned {
            Val::UInt(value as u64)
        } else {
            Val::Int(value as i64)
        }
    }

    fn integer(&self, value: &Val) -> Result<Val<'static>> {
        let (low, high) = int_range(self.ty);
        let number = match value {
            Val::Int(v) => *v as i128,
            Val::UInt(v) | Val::Member(v, _) => *v as i128,
            Val::Str(s) => match self.int_of_text(value, s, |n| (low..=high).contains(&n))? {
                Some(v) => v,
                None => return Ok(self.int_val(0)),
            },
            Val::Double(v) => saturating(v.round_ties_even()),
            Val::Float(v) => saturating((*v as f64).round_ties_even()),
            // A negative number is out of range even where it would be rounded to zero.
            Val::Decimal(d) if self.ty.unsigned && d.is_negative() => {
                self.out_of_range()?;
                return Ok(self.int_val(0));
            }
            Val::Decimal(d) => d
                .to_i128()
                .unwrap_or(if d.is_negative() { i128::MIN } else { i128::MAX }),
            other => other.to_int(self.env)?,
        };
        let clamped = number.clamp(low, high);
        if clamped != number {
            self.out_of_range()?;
        }
        Ok(self.int_val(clamped))
    }

    /// Rounds a text's number. What is no number is an error; what follows one is truncated, but of no account beside a
    /// number out of range, which the caller reports.
    fn int_of_text(
        &self,
        value: &Val,
        text: &[u8],
        is_in_range: impl Fn(i128) -> bool,
    ) -> Result<Option<i128>> {
        let trimmed = super::convert::integer_text(text);
        let plain = trimmed.strip_prefix(b"-").unwrap_or(trimmed);
        if !plain.is_empty()
            && plain.len() < 19
            && plain.iter().all(u8::is_ascii_digit)
            && let Ok(v) = std::str::from_utf8(trimmed).unwrap_or("").parse::<i64>()
        {
            return Ok(Some(v as i128));
        }
        let Some((number, used)) = Decimal::parse_prefix(trimmed) else {
            self.incorrect("integer", value)?;
            return Ok(None);
        };
        let ends = if number.is_negative() {
            i128::MIN
        } else {
            i128::MAX
        };
        let number = number.to_i128().unwrap_or(ends);
        if used < trimmed.len() && is_in_range(number) {
            self.fault(SqlError::data_truncated(self.column, self.row()))?;
        }
        Ok(Some(number))
    }

    fn year(&self, value: &Val) -> Result<Val<'static>> {
        let is_year = |number| matches!(number, 0..100 | 1901..=2155);
        let text = matches!(value, Val::Str(_));
        let number = match value {
            Val::Date(d) => d.year as i128,
            Val::DateTime(t) => t.date.year as i128,
            Val::Time(_) => super::convert::today(self.env).year as i128,
            Val::Str(s) => match self.int_of_text(value, s, is_year)? {
                Some(v) => v,
                None => return Ok(Val::UInt(0)),
            },
            // Of a year a negative number is none, even where it would be rounded to zero.
            Val::Decimal(d) if d.is_negative() => -1,
            // The fraction of a double does not count.
            Val::Double(_) | Val::Float(_) => {
                let number = value.to_f64(self.env)?;
                match (0.0..=2155.0).contains(&number) {
                    true => number as i128,
                    false => -1,
                }
            }
            other => other.to_int(self.env)?,
        };
        let four_digits = text && value.to_text().len() >= 4;
        let year = match number {
            0 if four_digits || !text => 0,
            0..70 => number + 2000,
            70..100 => number + 1900,
            1901..=2155 => number,
            _ => {
                self.out_of_range()?;
                0
            }
        };
        Ok(Val::UInt(year as u64))
    }

    fn bit(&self, value: &Val) -> Result<Val<'static>> {
        let max = int_range(self.ty).1;
        let number = match value {
            Val::Str(s) => {
                let significant: &[u8] = &s[s.iter().take_while(|b| **b == 0).count()..];
                if significant.len() > 8 {
                    i128::MAX
                } else {
                    super::convert::bytes_to_uint(s) as i128
                }
            }
            // A double is cut off, a negative decimal is zero; of a negative integer the bits count, as too many.
            Val::Double(v) => i128::from(*v as i64 as u64),
            Val::Float(v) => i128::from(*v as i64 as u64),
            Val::Decimal(d) if d.is_negative() => 0,
            other => other.to_int(self.env)?,
        };
        if !(0..=max).contains(&number) {
            match self.env.sql_mode.strict() {
                true => self.fault(SqlError::data_too_long(self.column, self.row()))?,
                false => self.out_of_range()?,
            }
            return Ok(Val::UInt(max as u64));
        }
        Ok(Val::UInt(number as u64))
    }

    fn float(&self, value: &Val) -> Result<Val<'static>> {
        let single = self.ty.kind == TypeKind::Float;
        let mut number = match value {
            Val::Str(s) => {
                let (number, whole) = double_prefix(s);
                // The greatest double stands for all that is beyond.
                let beyond = number.abs() == f64::MAX;
                if beyond && !single && self.ty.scale == SqlType::NOT_FIXED {
                    self.out_of_range()?;
                }
                if !beyond && (!whole || s.trim_ascii().is_empty()) {
                    self.incorrect(if single { "FLOAT" } else { "DOUBLE" }, value)?;
                }
                number
            }
            other => other.to_f64(self.env)?,
        };
        let mut max = if single { f32::MAX as f64 } else { f64::MAX };
        if self.ty.scale != SqlType::NOT_FIXED {
            let unit = 10f64.powi(self.ty.scale as i32);
            max = max.min((10f64.powi(self.ty.length as i32) - 1.0) / unit);
            if number.abs() < 1e15 {
                // What is rounded to zero has no sign.
                number = (number * unit).round_ties_even() / unit + 0.0;
            }
        }
        if self.ty.unsigned && number < 0.0 {
            self.out_of_range()?;
            number = 0.0;
        }
        if number.abs() > max {
            self.out_of_range()?;
            number = max.copysign(number);
        }
        Ok(if single {
            Val::Float(number as f32)
        } else {
            Val::Double(number)
        })
    }

    fn decimal(&self, value: &Val) -> Result<Val<'static>> {
        let mut lost = false;
        let number = match value {
            Val::Str(s) => {
                let trimmed = s.trim_ascii();
                match Decimal::parse_prefix(trimmed) {
                    None => {
                        self.incorrect("decimal", value)?;
                        Decimal::ZERO
                    }
                    Some((number, used)) => {
                        // Rubbish behind a number, or a number beyond all bounds: strict mode calls it no number.
                        lost = used < trimmed.len();
                        if self.env.strict && (lost || number.integer_digits() > 81) {
                            self.incorrect("decimal", value)?;
                        }
                        number
                    }
                }
            }
            other => other.to_decimal(self.env)?,
        };
        if lost {
            self.note_truncated();
        }
        let rounded = number.round(self.ty.scale);
        let max = Decimal::max_value(self.ty.length, self.ty.scale);
        let low = if self.ty.unsigned {
            Decimal::new(0, self.ty.scale)
        } else {
            max.neg()
        };
        if rounded > max || rounded < low || self.ty.unsigned && number.is_negative() {
            self.out_of_range()?;
            return Ok(Val::Decimal(if rounded > max { max } else { low }));
        }
        if rounded != number && !lost {
            self.note_truncated();
        }
        Ok(Val::Decimal(rounded))
    }

    /// Strict mode names the value; otherwise what was stored was out of range, or a date with bad parts, or cut.
    fn bad_temporal(&self, kind: &str, value: &Val) -> Result<()> {
        let row = self.row();
        if self.env.strict {
            let shown = excerpt(&value.to_text());
            return Err(SqlError::incorrect_temporal_for_column(
                kind,
                &shown,
                self.column,
                row,
            ));
        }
        let out_of_range = match value {
            Val::Str(s) if self.ty.kind == TypeKind::Time => {
                parse::time(s).is_some() || parse::is_beyond_clock(s)
            }
            Val::Str(s) => {
                parse::datetime(s, SqlMode::ALLOW_INVALID_DATES).is_some() || parse::is_short_zero(s)
            }
            Val::Date(_) | Val::DateTime(_) | Val::Time(_) => true,
            number => {
                let n = number.to_decimal(self.env)?;
                n.is_negative() || n > Decimal::new(99_991_231_235_959, 0)
            }
        };
        self.env.warnings.warn(if out_of_range {
            SqlError::out_of_range(self.column, row)
        } else {
            SqlError::data_truncated(self.column, row)
        });
        Ok(())
    }

    /// The point in time a value names; `None` has been complained of.
    fn point(&self, value: &Val, kind: &str) -> Result<Option<DateTime>> {
        let mode = self.env.sql_mode;
        let parsed = match value {
            Val::Date(d) => Some(d.midnight()),
            // A value has its local time alone, as in MySQL: only a text with an offset says which of two instants it is.
            Val::DateTime(t) => Some(DateTime { repeated: 0, ..*t }),
            Val::Time(t) => super::convert::time_on(super::convert::today(self.env), *t),
            Val::Str(s) => match parse::datetime(s, mode) {
                Some(p) => {
                    if p.truncated {
                        self.lost_text(kind, value)?;
                    }
                    Some(p.instant_in_zone(self.env.time_zone))
                }
                None => None,
            },
            number => {
                let d = number.to_decimal(self.env)?;
                let whole = d.trunc_to_i128().filter(|_| !d.is_negative());
                let fraction = d.sub(&d.truncate(0)).to_f64();
                match whole {
                    Some(0) => Some(Date::ZERO.midnight()),
                    Some(n) => match parse::number_to_datetime(n, fraction, d.scale().min(6), mode) {
                        Some(p) => {
                            if p.truncated {
                                self.lost_text(kind, value)?;
                            }
                            Some(p.value)
                        }
                        None => None,
                    },
                    None => None,
                }
            }
        };
        match parsed {
            Some(t) if !(self.env.strict && refused_by_mode(t.date, mode)) => {
                if refused_by_mode(t.date, mode) {
                    self.bad_temporal(kind, value)?;
                    if !t.date.is_zero() {
                        return Ok(None);
                    }
                }
                Ok(Some(t))
            }
            _ => {
                self.bad_temporal(kind, value)?;
                Ok(None)
            }
        }
    }

    /// Text or a fraction behind a date: MySQL 9 refuses it in strict mode.
    fn lost_text(&self, kind: &str, value: &Val) -> Result<()> {
        if self.env.strict {
            return self.bad_temporal(kind, value);
        }
        self.env
            .warnings
            .warn(SqlError::data_truncated(self.column, self.row()));
        Ok(())
    }

    fn date(&self, value: &Val) -> Result<Val<'static>> {
        let Some(t) = self.point(value, "date")? else {
            return Ok(Val::Date(Date::ZERO));
        };
        let Some(rounded) = self.to_digits(t, 0)? else {
            return Ok(Val::Date(Date::ZERO));
        };
        if rounded.micros_of_day() != 0 {
            self.note_lost_part("date", value);
        }
        Ok(Val::Date(rounded.date))
    }

    /// A date and time with so many digits behind its seconds; `None` if it is beyond the last there is.
    fn to_digits(&self, t: DateTime, fsp: u8) -> Result<Option<DateTime>> {
        let rounded = match self.env.sql_mode.has(SqlMode::TIME_TRUNCATE_FRACTIONAL) {
            true => Some(t.truncate(fsp)),
            false => t.round(fsp),
        };
        if rounded.is_none() {
            self.fault(SqlError::temporal_overflow("datetime"))?;
            self.out_of_range()?;
        }
        Ok(rounded)
    }

    fn datetime(&self, value: &Val) -> Result<Val<'static>> {
        let zero = DateTime {
            fsp: self.ty.scale,
            ..DateTime::default()
        };
        let Some(t) = self.point(value, "datetime")? else {
            return Ok(Val::DateTime(zero));
        };
        let Some(rounded) = self.to_digits(t, self.ty.scale)? else {
            return Ok(Val::DateTime(zero));
        };
        if self.ty.kind == TypeKind::Timestamp
            && !rounded.is_zero()
            && !timestamp_in_range(rounded, self.env.time_zone)
        {
            self.bad_temporal("datetime", value)?;
            return Ok(Val::DateTime(zero));
        }
        if self.ty.kind == TypeKind::Timestamp && self.env.time_zone.is_skipped(rounded) {
            return self.skipped(rounded, value);
        }
        Ok(Val::DateTime(rounded))
    }

    /// A local time that the clocks of the session's zone jump over: outside strict mode, what they jump to.
    fn skipped(&self, local: DateTime, value: &Val) -> Result<Val<'static>> {
        if self.env.strict {
            self.bad_temporal("datetime", value)?;
        }
        let warning = SqlError::invalid_timestamp(self.column, self.row());
        self.env.warnings.warn(warning);
        let zone = self.env.time_zone;
        Ok(Val::DateTime(zone.local(zone.instant(local), self.ty.scale)))
    }

    fn time(&self, value: &Val) -> Result<Val<'static>> {
        let parsed = match value {
            Val::Time(t) => Some((*t, true)),
            Val::Date(_) => Some((Time::default(), true)),
            Val::DateTime(t) => Some((t.time(), true)),
            Val::Str(s) if s.is_empty() => Some((Time::default(), true)),
            // MySQL takes such a text for zero, and says nothing.
            Val::Str(s) if parse::is_clock_with_exponent(s) => Some((Time::default(), true)),
            Val::Str(s) => parse::time_or_moment(s).map(|read| read.time(self.env.time_zone)),
            number => {
                let d = number.to_decimal(self.env)?;
                let n = d.trunc_to_i128().unwrap_or(i128::MAX);
                let fraction = d.sub(&d.truncate(0)).abs().to_f64();
                let far = n.unsigned_abs() > 8_385_959 && n.unsigned_abs() < 10_000_000_000 || n == i128::MAX;
                let end = if d.is_negative() {
                    -TIME_MAX_MICROS
                } else {
                    TIME_MAX_MICROS
                };
                let read = parse::number_to_time(n, d.is_negative(), fraction, d.scale().min(6));
                read.or(far.then_some((Time::new(end, 0), false)))
            }
        };
        let Some((time, whole)) = parsed else {
            self.bad_temporal("time", value)?;
            return Ok(Val::Time(Time::new(0, self.ty.scale)));
        };
        if !whole {
            self.bad_time(value, time)?;
        } else if self.loses_date(value)? {
            self.note_lost_part("time", value);
        }
        let truncate = self.env.sql_mode.has(SqlMode::TIME_TRUNCATE_FRACTIONAL);
        let rounded = if truncate {
            let unit = 10i64.pow(6 - self.ty.scale.min(6) as u32);
            Time::new(time.micros / unit * unit, self.ty.scale)
        } else {
            time.round(self.ty.scale)
        };
        Ok(Val::Time(parse::clamp_time(rounded).0))
    }

    /// A time that was cut: at the ends of its range, or where the text stopped being one.
    fn bad_time(&self, value: &Val, time: Time) -> Result<()> {
        if self.env.strict || time.micros.abs() == TIME_MAX_MICROS {
            if !self.env.strict {
                return self.out_of_range();
            }
            return self.bad_temporal("time", value);
        }
        self.env
            .warnings
            .warn(SqlError::data_truncated(self.column, self.row()));
        Ok(())
    }

    /// Whether a value with a date goes into a TIME.
    fn loses_date(&self, value: &Val) -> Result<bool> {
        Ok(match value {
            Val::Str(s) => matches!(parse::time_or_moment(s), Some(parse::TimeOrMoment::Moment(_))),
            Val::Int(_) | Val::UInt(_) | Val::Decimal(_) | Val::Double(_) => {
                value.to_decimal(self.env)?.abs() >= Decimal::new(10_000_000_000, 0)
            }
            _ => false,
        })
    }

    /// A part that the column does not hold is noted.
    fn note_lost_part(&self, kind: &str, value: &Val) {
        if self.env.strict {
            let shown = excerpt(&value.to_text());
            let lost = SqlError::incorrect_temporal_for_column(kind, &shown, self.column, self.row());
            self.env.warnings.note(lost);
        } else {
            self.note_truncated();
        }
    }

    fn member(&self, value: &Val) -> Result<Val<'static>> {
        let label = |n: u64| Cow::Owned(self.ty.enum_label(n).as_bytes().to_vec());
        let number = match value {
            // The number of what is no member, from another column of this kind: no text of a member, though it has one.
            Val::Member(0, _) => return Ok(Val::Member(0, Cow::Borrowed(b""))),
            Val::Str(s) | Val::Member(_, s) => {
                let text = trim_end_spaces(s);
                match self
                    .ty
                    .members()
                    .iter()
                    .position(|m| self.ty.collation.eq(m.as_bytes(), text))
                {
                    Some(i) => i as u64 + 1,
                    None => match std::str::from_utf8(text).ok().and_then(|t| t.parse::<i64>().ok()) {
                        // A text that is this number is taken without a complaint.
                        Some(0) => return Ok(Val::Member(0, Cow::Borrowed(b""))),
                        read => read.and_then(|n| n.try_into().ok()).unwrap_or(0),
                    },
                }
            }
            other => other
                .to_decimal(self.env)?
                .trunc_to_i128()
                .unwrap_or(0)
                .clamp(0, u64::MAX as i128) as u64,
        };
        if number == 0 || number > self.ty.members().len() as u64 {
            self.fault(SqlError::data_truncated(self.column, self.row()))?;
            return Ok(Val::Member(0, Cow::Borrowed(b"")));
        }
        Ok(Val::Member(number, label(number)))
    }

    fn set(&self, value: &Val) -> Result<Val<'static>> {
        let members = self.ty.members();
        let all = if members.len() >= 64 {
            u64::MAX
        } else {
            (1u64 << members.len()) - 1
        };
        let (mut bits, mut lost) = (0u64, false);
        match value {
            Val::Str(s) | Val::Member(_, s) => {
                let text = trim_end_spaces(s);
                for part in text.split(|b| *b == b',').filter(|_| !text.is_empty()) {
                    match members
                        .iter()
                        .position(|m| self.ty.collation.eq(m.as_bytes(), trim_end_spaces(part)))
                    {
                        Some(i) => bits |= 1 << i,
                        None => match std::str::from_utf8(s)
                            .ok()
                            .and_then(|t| t.trim_ascii_start().parse::<u64>().ok())
                        {
                            // A number with a bit beyond the members is none.
                            Some(n) if n & !all == 0 => bits |= n,
                            _ => lost = true,
                        },
                    }
                }
            }
            other => bits = other.to_decimal(self.env)?.trunc_to_i128().unwrap_or(0) as u64,
        }
        if lost || bits & !all != 0 {
            self.fault(SqlError::data_truncated(self.column, self.row()))?;
        }
        bits &= all;
        Ok(Val::Member(
            bits,
            Cow::Owned(self.ty.set_label(bits).into_bytes()),
        ))
    }

    /// A document is stored in its binary form; what is none is an error in any mode. Only a text is read as one.
    fn json<'a>(&self, value: Val<'a>) -> Result<Val<'a>> {
        let text = match value {
            // What an older version has stored as text takes the form of today.
            Val::Json(stored) => return super::json::binary::in_binary(stored).map(Val::Json),
            Val::Str(text) | Val::Member(_, text) => text,
            _ => return Err(self.no_json("not a JSON text, may need CAST", 0)),
        };
        match super::json::Json::parse(&String::from_utf8_lossy(&text)) {
            Ok(doc) => Val::json(&doc),
            Err(e) => Err(e.into_sql(|why, position| self.no_json(why, position))),
        }
    }

    fn no_json(&self, why: &str, position: usize) -> SqlError {
        SqlError::new(
            er::INVALID_JSON_TEXT,
            format!(
                "Invalid JSON text: \"{why}\" at position {position} in value for column '{}'.",
                self.column
            ),
        )
    }

    fn string<'a>(&self, text: Cow<'a, [u8]>, charset: Charset) -> Result<Val<'a>> {
        let mut text = text;
        if !charset.can_write(&text) {
            let bytes: String = bad_bytes(&text, charset);
            let row = self.row();
            self.fault(SqlError::incorrect_value_for_column(
                "string",
                &bytes,
                self.column,
                row,
            ))?;
            text = match std::str::from_utf8(&text) {
                Ok(_) => Cow::Owned(charset.repair(&text, false).unwrap_or_default()),
                // Bytes that are no text end it.
                Err(e) => shorten(text, e.valid_up_to()),
            };
        }
        let limit = self.ty.length as usize;
        // TEXT types are limited in bytes, CHAR and VARCHAR in characters.
        let end = if self.ty.is_blob_or_text() {
            floor_char(&text, limit, charset)
        } else {
            charset.prefix_len(&text, limit)
        };
        if end < text.len() {
            let only_spaces = !charset.eq(&Charset::Binary) && text[end..].iter().all(|b| *b == b' ');
            if only_spaces {
                if self.ty.kind == TypeKind::VarChar {
                    self.note_truncated();
                }
            } else if self.env.strict {
                return Err(SqlError::data_too_long(self.column, self.row()));
            } else {
                self.env
                    .warnings
                    .warn(SqlError::data_truncated(self.column, self.row()));
            }
            text = shorten(text, end);
        }
        if self.ty.kind == TypeKind::Char {
            if charset == Charset::Binary {
                if text.len() < limit {
                    let mut padded = text.into_owned();
                    padded.resize(limit, 0);
                    return Ok(Val::Str(Cow::Owned(padded)));
                }
            } else {
                // CHAR is stored without the spaces it is padded with.
                let end = trim_end_spaces(&text).len();
                text = shorten(text, end);
            }
        }
        Ok(Val::Str(text))
    }
}

fn saturating(value: f64) -> i128 {
    value as i128
}

fn shorten(text: Cow<[u8]>, end: usize) -> Cow<[u8]> {
    match text {
        Cow::Borrowed(b) => Cow::Borrowed(&b[..end]),
        Cow::Owned(mut b) => {
            b.truncate(end);
            Cow::Owned(b)
        }
    }
}

fn trim_end_spaces(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|b| *b != b' ').map_or(0, |i| i + 1);
    &text[..end]
}

/// Where a text has to end so that it takes no more bytes than `limit` in its set, between two characters.
fn floor_char(text: &[u8], limit: usize, charset: Charset) -> usize {
    if charset == Charset::Binary || text.len() <= limit && !charset.is_encoded() {
        return limit.min(text.len());
    }
    if charset.byte_len(text) <= limit {
        return text.len();
    }
    let (mut end, mut taken) = (0, 0);
    for chunk in text.chunk_by(|_, next| next & 0xC0 == 0x80) {
        taken += charset.byte_len(chunk);
        if taken > limit {
            break;
        }
        end += chunk.len();
    }
    end
}

/// Tests a text on its way into a column under `to` that a client may have sent with characters which its set, `from`, does not
/// have: error 1366. Outside of strict mode it ends in front of them, or has question marks if it is to be put into another set.
fn well_formed<'a>(
    value: Val<'a>,
    (from, to): (Charset, Charset),
    column: &str,
    env: &Conversion,
) -> Result<Val<'a>> {
    let Val::Str(text) = &value else { return Ok(value) };
    if to == Charset::Binary || from.can_write(text) {
        return Ok(value);
    }
    let shown = bad_bytes(text, from);
    let error = SqlError::incorrect_value_for_column("string", &shown, column, env.row_number.get());
    if env.strict {
        return Err(error);
    }
    env.warnings.warn(error);
    Ok(Val::string(match from == to {
        true => text[..well_formed_len(text, from)].to_vec(),
        false => from.mark_wrong(text),
    }))
}

/// A text on its way into a column of another character set. Bytes for a text are read in its set, a text for bytes is those of its
/// set, and a text may have characters that its own set does not: see [`well_formed`]. Other values stay.
pub fn between_sets<'a>(
    value: Val<'a>,
    (from, to): (&SqlType, &SqlType),
    column: &str,
    env: &Conversion,
) -> Result<Val<'a>> {
    if !(from.is_string() && to.is_string()) {
        return Ok(value);
    }
    let sets = (from.collation.charset(), to.collation.charset());
    match sets {
        (Charset::Binary, set) if set.is_encoded() => read_bytes(value, set, column, env),
        (set, Charset::Binary) if set.is_encoded() => {
            let encoded = match &value {
                Val::Str(text) | Val::Member(_, text) => set.encode(text),
                _ => None,
            };
            Ok(match encoded {
                Some(bytes) => Val::string(bytes),
                None => value,
            })
        }
        (Charset::Utf8mb3, _) => well_formed(value, sets, column, env),
        _ => Ok(value),
    }
}

/// Reads bytes on their way into a column in its character set: error 1366 for what is none, in front of which it ends outside of
/// strict mode.
pub fn read_bytes<'a>(value: Val<'a>, charset: Charset, column: &str, env: &Conversion) -> Result<Val<'a>> {
    let Val::Str(bytes) = &value else { return Ok(value) };
    if let Some(text) = charset.decode(bytes) {
        return Ok(Val::string(text));
    }
    let (known, wrong) = bytes.split_at(charset.well_formed_bytes(bytes));
    refuse_bytes(&shown_bytes(wrong, Charset::Binary), column, env)?;
    Ok(Val::string(charset.decode(known).unwrap_or_default()))
}

/// Like [`read_bytes`], for a column in another character set, or of so many characters: question marks take the place of what is no text,
/// up to the end of what the column takes. A character that is cut at the end of the text is left out: error 1265.
pub fn convert_bytes<'a>(
    bytes: &[u8],
    charset: Charset,
    (column, chars): (&str, usize),
    env: &Conversion,
) -> Result<Val<'a>> {
    let wrong = &bytes[charset.well_formed_bytes(bytes)..];
    if wrong
        .first()
        .is_some_and(|lead| charset.bytes_of_lead(*lead) > wrong.len())
    {
        let cut = SqlError::data_truncated(column, env.row_number.get());
        match env.strict {
            true => return Err(cut),
            false => env.warnings.warn(cut),
        }
        let known = &bytes[..bytes.len() - wrong.len()];
        return Ok(Val::string(charset.decode(known).unwrap_or_default()));
    }
    refuse_bytes(&shown_bytes(wrong, charset), column, env)?;
    let mut text = charset.decode_marked(bytes);
    text.truncate(Charset::Utf8mb4.prefix_len(&text, chars));
    Ok(Val::string(text))
}

/// Error or warning 1366 for bytes that are no text.
pub fn refuse_bytes(shown: &str, column: &str, env: &Conversion) -> Result<()> {
    let error = SqlError::incorrect_value_for_column("string", shown, column, env.row_number.get());
    if env.strict {
        return Err(error);
    }
    env.warnings.warn(error);
    Ok(())
}

/// How many bytes of a text are in front of the first character that its set does not have.
pub fn well_formed_len(text: &[u8], charset: Charset) -> usize {
    let mut at = 0;
    while at < text.len() {
        // A byte of ASCII is a character, whatever comes behind it.
        let next = (at + 1..=text.len())
            .find(|i| text[at].is_ascii() || text.get(*i).is_none_or(|b| b & 0xC0 != 0x80))
            .unwrap_or(text.len());
        if !charset.can_write(&text[at..next]) {
            break;
        }
        at = next;
    }
    at
}

/// The bytes an error text shows: from the first that the character set has not, six at most.
pub fn bad_bytes(text: &[u8], charset: Charset) -> String {
    shown_bytes(&text[well_formed_len(text, charset)..], Charset::Utf8mb4)
}

/// Like [`bad_bytes`], as the bytes are in the set that the text has.
pub fn bad_bytes_of(text: &[u8], from: Charset, charset: Charset) -> String {
    let wrong = &text[well_formed_len(text, charset)..];
    match from.encode(wrong) {
        Some(bytes) => shown_bytes(&bytes, from),
        None => shown_bytes(wrong, from),
    }
}

/// The bytes an error text shows, six at most: those of a set of wide characters by their numbers.
pub fn shown_bytes(rest: &[u8], charset: Charset) -> String {
    let shown: String = rest
        .iter()
        .take(6)
        .map(|b| match b {
            b' '..=b'~' if charset.min_bytes() == 1 => char::from(*b).to_string(),
            _ => format!("\\x{b:02X}"),
        })
        .collect();
    if rest.len() > 6 {
        format!("{shown}...")
    } else {
        shown
    }
}
