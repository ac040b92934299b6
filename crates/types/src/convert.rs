//! A value seen as another type, with MySQL's leniency: a text is the number it begins with, a date is a number of
//! eight digits, and what had to be guessed at leaves a warning (or is an error where the statement writes in strict
//! mode).

use super::Conversion;
use super::json::{Json, shown_text};
use super::temporal::parse::{self, ParsedDateTime};
use super::{Date, DateTime, Decimal, SqlMode, Time, Val};
use crate::SqlType;
use crate::error::{Result, SqlError};
use std::borrow::Cow;
use std::fmt::Write;

/// Characters of a value that an error text shows.
const EXCERPT_CHARS: usize = 128;
/// Bytes of a value that are looked at for that. Conversions of values of megabytes complain of each.
const EXCERPT_BYTES: usize = 4096;

/// Returns what an error text shows of a value: its beginning, bytes that are no text and control characters as `\\xFF`. The ends of
/// fields and lines in a text are themselves.
pub fn excerpt(bytes: &[u8]) -> String {
    let bytes = match bytes.len() > EXCERPT_BYTES {
        true => &bytes[..whole_characters(bytes, EXCERPT_BYTES)],
        false => bytes,
    };
    let is_space = |c: char| matches!(c, '\t' | '\n' | '\r');
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let is_plain = text.chars().all(|c| !c.is_control() || is_space(c));
    let mut shown = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() && !(is_plain && is_space(c)) {
                let _ = write!(shown, "\\x{:02X}", c as u32);
            } else {
                shown.push(c);
            }
        }
        for b in chunk.invalid() {
            let _ = write!(shown, "\\x{b:02X}");
        }
    }
    match shown.char_indices().nth(EXCERPT_CHARS) {
        Some((end, _)) => shown[..end].to_string(),
        None => shown,
    }
}

/// Returns the position at or closely before `at` where a character begins.
fn whole_characters(text: &[u8], at: usize) -> usize {
    let begins = |place: &usize| text[*place] & 0xC0 != 0x80;
    (at - 3..=at).rev().find(begins).unwrap_or(at)
}

/// What a complaint about a JSON value calls its source, where that is not known.
pub(crate) const SOME_SOURCE: &str = "json";

/// The part of a text that may be an integer: without spaces and tabs in front, and without white space behind. Other white space
/// in front is none of it.
pub(crate) fn integer_text(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|b| !matches!(b, b' ' | b'\t'));
    text[start.unwrap_or(text.len())..].trim_ascii_end()
}

/// The double a text begins with, and whether that was all of it (spaces aside). An empty text is zero.
pub fn double_prefix(bytes: &[u8]) -> (f64, bool) {
    let text = bytes.trim_ascii_start();
    let digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    let mut end = matches!(text.first(), Some(b'+' | b'-')) as usize;
    let start = end;
    while digit(end) {
        end += 1;
    }
    let mut digits = end - start;
    if text.get(end) == Some(&b'.') && (digits > 0 || digit(end + 1)) {
        end += 1;
        while digit(end) {
            end += 1;
            digits += 1;
        }
    }
    if digits == 0 {
        return (0.0, text.is_empty());
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let sign = matches!(text.get(end + 1), Some(b'+' | b'-')) as usize;
        if digit(end + 1 + sign) {
            end += 1 + sign;
            while digit(end) {
                end += 1;
            }
        }
    }
    let number: f64 = std::str::from_utf8(&text[..end])
        .ok()
        .and_then(|t| t.parse().ok())
        .unwrap_or(0.0);
    let whole = text[end..].trim_ascii().is_empty();
    if number.is_infinite() {
        (f64::MAX.copysign(number), false)
    } else {
        (number, whole)
    }
}

/// The integer a text begins with, clamped to 64 bits (signed below zero), and whether that was all of it.
pub fn integer_prefix(bytes: &[u8]) -> (i128, bool) {
    let text = integer_text(bytes);
    let negative = text.first() == Some(&b'-');
    let start = matches!(text.first(), Some(b'+' | b'-')) as usize;
    let mut value = 0i128;
    let mut at = start;
    while let Some(d) = text.get(at).filter(|b| b.is_ascii_digit()) {
        value = (value * 10 + (d - b'0') as i128).min(1 << 70);
        at += 1;
    }
    let whole = at > start && at == text.len();
    let value = if negative { -value } else { value };
    let clamped = clamp_int(value);
    (clamped, whole && clamped == value)
}

/// To the range of signed and unsigned 64-bit integers together.
pub fn clamp_int(value: i128) -> i128 {
    value.clamp(i64::MIN as i128, u64::MAX as i128)
}

/// An integer in range as a value: signed if it fits.
pub fn int_value(value: i128, unsigned: bool) -> Val<'static> {
    if unsigned {
        Val::UInt(value as u64)
    } else {
        Val::Int(value as i64)
    }
}

/// Rounded half to even, as MySQL makes integers of doubles; clamped.
pub fn round_double(value: f64) -> i128 {
    clamp_int(value.round_ties_even() as i128)
}

/// A binary string as the big-endian number it is in numeric context.
pub fn bytes_to_uint(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .take(8)
        .rev()
        .fold(0, |n, b| n << 8 | *b as u64)
}

/// What a value is read as, which error texts say.
#[derive(Clone, Copy)]
enum Sought {
    Date,
    DateTime,
}

impl Sought {
    fn name(self) -> &'static str {
        match self {
            Sought::Date => "date",
            Sought::DateTime => "datetime",
        }
    }

    /// The error that a value is none.
    fn not_found(self, value: &Val) -> SqlError {
        match self {
            Sought::Date => no_date(value),
            Sought::DateTime => SqlError::incorrect_value(self.name(), &excerpt(&value.to_text())),
        }
    }
}

/// The error that a value is not the date that a function takes. A number passes for a datetime.
pub fn no_date(value: &Val) -> SqlError {
    let shown = excerpt(&value.to_text());
    match value {
        Val::Str(_) | Val::Member(..) => SqlError::truncated_wrong_value("date", &shown),
        _ => SqlError::incorrect_value("datetime", &shown),
    }
}

impl<'a> Val<'a> {
    /// As a double. Texts that are no numbers leave warning 1292.
    #[inline]
    pub fn to_f64(&self, env: &Conversion) -> Result<f64> {
        match self {
            Val::Double(v) => Ok(*v),
            other => other.converted_to_f64(env),
        }
    }

    fn converted_to_f64(&self, env: &Conversion) -> Result<f64> {
        Ok(match self {
            Val::Null => 0.0,
            Val::Int(v) => *v as f64,
            Val::UInt(v) | Val::Member(v, _) => *v as f64,
            Val::Float(v) => *v as f64,
            Val::Double(v) => *v,
            Val::Decimal(v) => v.to_f64(),
            Val::Str(s) => {
                let (value, whole) = double_prefix(s);
                if !whole {
                    env.complain(SqlError::truncated_wrong_value("DOUBLE", &excerpt(s)))?;
                }
                value
            }
            Val::Json(text) => Json::of_stored(text)?.double(SOME_SOURCE, env)?,
            Val::Date(d) => d.to_number() as f64,
            Val::Time(t) => {
                let fraction = t.micros % 1_000_000;
                t.to_number() as f64 + fraction as f64 / 1e6
            }
            Val::DateTime(t) => t.to_number() as f64 + t.micro as f64 / 1e6,
        })
    }

    /// As an integer between the least signed and the greatest unsigned one. Numbers round; texts are cut at the first
    /// character that is no digit, with a warning.
    pub fn to_int(&self, env: &Conversion) -> Result<i128> {
        Ok(match self {
            Val::Null => 0,
            Val::Int(v) => *v as i128,
            Val::UInt(v) | Val::Member(v, _) => *v as i128,
            Val::Float(v) => round_double(*v as f64),
            Val::Double(v) => round_double(*v),
            Val::Decimal(v) => {
                clamp_int(
                    v.to_i128()
                        .unwrap_or(if v.is_negative() { i128::MIN } else { i128::MAX }),
                )
            }
            Val::Str(s) => {
                let (value, whole) = integer_prefix(s);
                if !whole {
                    env.complain(SqlError::truncated_wrong_value("INTEGER", &excerpt(s)))?;
                }
                value
            }
            Val::Json(text) => Json::of_stored(text)?.integer(SOME_SOURCE, env)?,
            Val::Date(d) => d.to_number() as i128,
            Val::Time(t) => t.round(0).to_number() as i128,
            Val::DateTime(t) => t.round(0).unwrap_or(*t).to_number() as i128,
        })
    }

    /// As a signed integer, clamped: for positions, lengths and counts.
    pub fn to_i64(&self, env: &Conversion) -> Result<i64> {
        Ok(self.to_int(env)?.clamp(i64::MIN as i128, i64::MAX as i128) as i64)
    }

    /// As the 64 bits that bit operators work on: negative numbers wrap.
    pub fn to_bits(&self, env: &Conversion) -> Result<u64> {
        Ok(self.to_int(env)? as u64)
    }

    /// As an operand of which the bits count: what is no integer, or the text of one, is no greater than the greatest signed one.
    pub fn to_operand_bits(&self, env: &Conversion) -> Result<u64> {
        Ok(match self {
            Val::Double(_) | Val::Float(_) | Val::Decimal(_) => {
                self.to_int(env)?.min(i64::MAX as i128) as u64
            }
            _ => self.to_bits(env)?,
        })
    }

    /// As an exact number; a text that is none gives what it begins with, and a complaint.
    pub fn to_decimal(&self, env: &Conversion) -> Result<Decimal> {
        Ok(match self {
            Val::Null => Decimal::ZERO,
            Val::Int(v) => Decimal::from(*v),
            Val::UInt(v) | Val::Member(v, _) => Decimal::from(*v),
            Val::Float(v) => Decimal::parse(&format_float(*v)).unwrap_or(Decimal::ZERO),
            Val::Double(v) => Decimal::from_f64(*v).unwrap_or(Decimal::ZERO),
            Val::Decimal(v) => v.clone(),
            Val::Str(s) => {
                let text = s.trim_ascii_start();
                match Decimal::parse_prefix(text) {
                    Some((d, used)) if text[used..].trim_ascii().is_empty() => d,
                    other => {
                        env.complain(SqlError::truncated_wrong_value("DECIMAL", &excerpt(s)))?;
                        other.map_or(Decimal::ZERO, |(d, _)| d)
                    }
                }
            }
            Val::Json(text) => Json::of_stored(text)?.decimal(SOME_SOURCE, env)?,
            Val::Date(d) => Decimal::from(d.to_number()),
            Val::Time(t) => with_fraction(t.to_number(), t.micros % 1_000_000, t.fsp),
            Val::DateTime(t) => with_fraction(t.to_number(), t.micro as i64, t.fsp),
        })
    }

    /// As a condition: NULL is neither.
    pub fn truth(&self, env: &Conversion) -> Result<Option<bool>> {
        Ok(match self {
            Val::Null => None,
            Val::Int(v) => Some(*v != 0),
            Val::UInt(v) | Val::Member(v, _) => Some(*v != 0),
            Val::Decimal(d) => Some(!d.is_zero()),
            Val::Json(text) => Some(Json::of_stored(text)?.truth()),
            other => Some(other.to_f64(env)? != 0.0),
        })
    }

    /// The display form; borrows where the value is text already. NULL is empty: check first. So is a document whose bytes are damaged: see
    /// [`Val::checked_text`].
    pub fn to_text(&self) -> Cow<'_, [u8]> {
        match self {
            Val::Str(s) | Val::Member(_, s) => Cow::Borrowed(s),
            Val::Json(s) => shown_text(Cow::Borrowed(s)).unwrap_or_default(),
            other => {
                let mut out = String::new();
                other.write_text(&mut out);
                Cow::Owned(out.into_bytes())
            }
        }
    }

    /// As [`Val::to_text`], giving up the value.
    pub fn into_text(self) -> Cow<'a, [u8]> {
        match self {
            Val::Str(s) | Val::Member(_, s) => s,
            Val::Json(s) => shown_text(s).unwrap_or_default(),
            other => Cow::Owned(other.to_text().into_owned()),
        }
    }

    /// As [`Val::into_text`]. Error 3142 for a document whose bytes are damaged; others if the statement is to end, or there is no memory for
    /// its text.
    #[inline]
    pub fn checked_text(self) -> Result<Cow<'a, [u8]>> {
        match self {
            Val::Json(stored) => shown_text(stored),
            other => Ok(other.into_text()),
        }
    }

    /// Appends the display form of a value that is not text.
    fn write_text(&self, out: &mut String) {
        // Writing to a String cannot fail.
        let _ = match self {
            Val::Null | Val::Str(_) | Val::Json(_) | Val::Member(..) => Ok(()),
            Val::Int(v) => write!(out, "{v}"),
            Val::UInt(v) => write!(out, "{v}"),
            Val::Float(v) => write!(out, "{}", format_float(*v)),
            Val::Double(v) => write!(out, "{}", double_in_text(*v)),
            Val::Decimal(v) => write!(out, "{v}"),
            Val::Date(v) => write!(out, "{v}"),
            Val::Time(v) => write!(out, "{v}"),
            Val::DateTime(v) => write!(out, "{v}"),
        };
    }

    /// As a date with time. `None`: NULL, or no date at all (which has left a warning). A TIME is of today.
    pub fn to_datetime(&self, env: &Conversion) -> Result<Option<DateTime>> {
        match self.to_moment(env)? {
            Some(t) if self.is_number() && !parse::valid_date(t.date, env.sql_mode) => {
                env.complain(SqlError::incorrect_value("datetime", &excerpt(&self.to_text())))?;
                Ok(None)
            }
            moment => Ok(moment),
        }
    }

    /// As [`Val::to_datetime`], but the date that a number writes need not be one of the calendar.
    pub fn to_moment(&self, env: &Conversion) -> Result<Option<DateTime>> {
        self.read_datetime(env, Sought::DateTime)
    }

    fn read_datetime(&self, env: &Conversion, sought: Sought) -> Result<Option<DateTime>> {
        let parsed = match self {
            Val::Null => return Ok(None),
            Val::Date(d) => return Ok(Some(d.midnight())),
            Val::DateTime(t) => return Ok(Some(*t)),
            Val::Time(t) => return Ok(time_on(today(env), *t)),
            Val::Str(s) | Val::Member(_, s) => parse::datetime(s, env.sql_mode),
            Val::Json(text) => {
                return Json::of_stored(text)?
                    .moment("DATETIME/TIMESTAMP", SOME_SOURCE, env)?
                    .read_datetime(env, sought);
            }
            number => {
                let moment = match number.to_decimal(env)? {
                    d if d.is_negative() => None,
                    d => d.trunc_to_i128().and_then(|n| {
                        let fraction = d.sub(&d.truncate(0)).rescale(6, true);
                        let micro = Decimal::new(0, 6).add(&fraction);
                        parse::number_to_moment(n, micro.to_f64(), d.scale().min(6))
                    }),
                };
                // A fraction behind a date alone is cut off without a word.
                moment.map(|read| ParsedDateTime {
                    truncated: false,
                    ..read
                })
            }
        };
        match parsed {
            Some(parsed) => {
                if parsed.truncated {
                    let shown = excerpt(&self.to_text());
                    env.complain(SqlError::truncated_wrong_value(sought.name(), &shown))?;
                }
                Ok(Some(parsed.in_zone(env.time_zone)))
            }
            None => {
                env.complain(sought.not_found(self))?;
                Ok(None)
            }
        }
    }

    /// As what it is beside a date: as [`Val::to_datetime`], but a text with a zero for a month or a day is no date if the mode refuses it.
    pub fn to_compared_datetime(&self, env: &Conversion) -> Result<Option<DateTime>> {
        let moment = self.to_datetime(env)?;
        let refused = |t: &DateTime| !t.date.is_zero() && refused_by_mode(t.date, env.sql_mode);
        if matches!(self, Val::Str(_)) && moment.as_ref().is_some_and(refused) {
            env.complain(SqlError::incorrect_value("datetime", &excerpt(&self.to_text())))?;
            return Ok(None);
        }
        Ok(moment)
    }

    /// As a date. `None` for NULL and for what is no date, with a complaint.
    pub fn to_date(&self, env: &Conversion) -> Result<Option<Date>> {
        match self.to_written_date(env)? {
            Some(date) if self.is_number() && !parse::valid_date(date, env.sql_mode) => {
                env.complain(SqlError::incorrect_value("datetime", &excerpt(&self.to_text())))?;
                Ok(None)
            }
            date => Ok(date),
        }
    }

    /// As [`Val::to_date`], but the date that a number writes need not be one of the calendar.
    pub fn to_written_date(&self, env: &Conversion) -> Result<Option<Date>> {
        Ok(match self {
            Val::Null => None,
            Val::Date(d) => Some(*d),
            number if number.is_number() => {
                let n = number.to_decimal(env)?.trunc_to_i128();
                let date = n.and_then(parse::number_to_date);
                if date.is_none() {
                    env.complain(SqlError::incorrect_value("datetime", &excerpt(&self.to_text())))?;
                }
                date
            }
            other => other.read_datetime(env, Sought::Date)?.map(|t| t.date),
        })
    }

    /// Whether it is a number, and no member of an ENUM or SET.
    fn is_number(&self) -> bool {
        matches!(
            self,
            Val::Int(_) | Val::UInt(_) | Val::Float(_) | Val::Double(_) | Val::Decimal(_)
        )
    }

    /// As a duration. `None`: NULL, or no time at all (which has left a warning).
    pub fn to_time(&self, env: &Conversion) -> Result<Option<Time>> {
        let parsed = match self {
            Val::Null => return Ok(None),
            Val::Time(t) => return Ok(Some(*t)),
            Val::Date(_) => return Ok(Some(Time::default())),
            Val::DateTime(t) => return Ok(Some(t.time())),
            Val::Str(s) | Val::Member(_, s) => parse::time_or_moment(s).map(|read| read.time(env.time_zone)),
            Val::Json(text) => {
                return Json::of_stored(text)?
                    .moment("TIME", SOME_SOURCE, env)?
                    .to_time(env);
            }
            // Of an unsigned integer MySQL takes the bits for a signed one.
            Val::UInt(v) if *v > i64::MAX as u64 => return Val::Int(*v as i64).to_time(env),
            number => {
                let d = number.to_decimal(env)?;
                let n = d.trunc_to_i128().unwrap_or(i128::MAX);
                let fraction = d.sub(&d.truncate(0)).abs().to_f64();
                parse::number_to_time(n, d.is_negative(), fraction, d.scale().min(6))
            }
        };
        match parsed {
            Some((time, whole)) => {
                if !whole {
                    env.complain(SqlError::truncated_wrong_value("time", &excerpt(&self.to_text())))?;
                }
                Ok(Some(time))
            }
            None => {
                env.complain(SqlError::truncated_wrong_value("time", &excerpt(&self.to_text())))?;
                Ok(None)
            }
        }
    }
}

fn with_fraction(number: i64, micros: i64, fsp: u8) -> Decimal {
    if fsp == 0 {
        return Decimal::from(number);
    }
    Decimal::new(number as i128 * 1_000_000 + micros as i128, 6).truncate(fsp)
}

/// The number that a text is, if it is wholly one: digits, a sign, a point.
pub fn plain_number(text: &[u8]) -> Option<Decimal> {
    let plain = |b: &u8| b.is_ascii_digit() || matches!(b, b'-' | b'.');
    let text = std::str::from_utf8(text)
        .ok()
        .filter(|_| text.iter().all(plain))?;
    Decimal::parse(text)
}

/// The statement's date in the session's zone.
pub fn today(env: &Conversion) -> Date {
    env.time_zone.local(env.now_micros, 0).date
}

/// The date and time that lie a duration after midnight.
pub fn time_on(date: Date, time: Time) -> Option<DateTime> {
    DateTime::from_micros(date.midnight().to_micros() + time.micros, time.fsp)
}

/// Whether a mode refuses this date.
pub fn refused_by_mode(date: Date, mode: SqlMode) -> bool {
    date.is_zero() && mode.has(SqlMode::NO_ZERO_DATE)
        || !date.is_zero() && date.has_zero_part() && mode.has(SqlMode::NO_ZERO_IN_DATE)
}

/// A double in MySQL's display form: the shortest digits that read back the same. Where two such lie as near, the last digit is even.
pub fn format_double(value: f64) -> String {
    if value == 0.0 {
        // MySQL shows the sign of a negative zero.
        return if value.is_sign_negative() {
            "-0".to_string()
        } else {
            "0".to_string()
        };
    }
    if !value.is_finite() {
        return if value.is_nan() {
            "NaN".to_string()
        } else {
            "inf".to_string()
        };
    }
    let shortest = format!("{value:e}");
    match significant(&shortest) {
        // Fewer digits have no neighbour that reads back the same.
        digits @ 16.. => {
            let even = format!("{value:.*e}", digits - 1);
            layout(if even.parse() == Ok(value) {
                &even
            } else {
                &shortest
            })
        }
        _ => layout(&shortest),
    }
}

/// A double that becomes a text: one that would be longer than a text of a double may be has an exponent.
fn double_in_text(value: f64) -> String {
    const LENGTH_MAX: usize = 22;
    let plain = format_double(value);
    if plain.len() <= LENGTH_MAX || value.abs() >= 1.0 {
        return plain;
    }
    let (sign, fraction) = plain.split_once("0.").unwrap_or(("", &plain));
    let digits = fraction.trim_start_matches('0');
    let exponent = fraction.len() - digits.len() + 1;
    let (first, rest) = digits.split_at(1.min(digits.len()));
    format!("{sign}{first}.{rest}e-{exponent}")
}

/// How many digits there are in front of the exponent.
fn significant(scientific: &str) -> usize {
    let mantissa = scientific.bytes().take_while(|b| *b != b'e');
    mantissa.filter(u8::is_ascii_digit).count()
}

/// A value of DOUBLE(M, D): as many digits behind the point as `scale` says, or as [`format_double`] has it where it is
/// [`SqlType::NOT_FIXED`].
pub fn format_double_fixed(value: f64, scale: u8) -> String {
    match scale {
        SqlType::NOT_FIXED.. => format_double(value),
        _ => with_places(value, scale as usize),
    }
}

/// A double with this many digits behind the point. Beyond the shortest digits that read back the same there are zeros.
pub fn with_places(value: f64, places: usize) -> String {
    let mut shortest = format!("{value}");
    let (point, known) = match shortest.find('.') {
        Some(at) => ("", shortest.len() - at - 1),
        None if places > 0 => (".", 0),
        None => ("", 0),
    };
    if known > places || !value.is_finite() {
        return format!("{value:.places$}");
    }
    shortest.push_str(point);
    shortest.extend(std::iter::repeat_n('0', places - known));
    shortest
}

/// [`format_double_fixed`] of a value of FLOAT(M, D).
pub fn format_float_fixed(value: f32, scale: u8) -> String {
    match scale {
        SqlType::NOT_FIXED.. => format_float(value),
        _ => format_double_fixed(value as f64, scale),
    }
}

/// A float: six significant digits.
pub fn format_float(value: f32) -> String {
    if value == 0.0 || !value.is_finite() {
        return format_double(value as f64);
    }
    let shortest = format!("{value:e}");
    if significant(&shortest) <= 6 {
        layout(&shortest)
    } else {
        layout(&format!("{:.5e}", value as f64))
    }
}

/// Lays out `d.ddde±x` in plain form where the point lies near the digits.
fn layout(scientific: &str) -> String {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let digits = match digits.trim_end_matches('0') {
        "" => "0",
        trimmed => trimmed,
    };
    let point = exponent + 1;
    let len = digits.len() as i32;
    if point < -14 || point > 15 && len <= point {
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        return format!("{sign}{first}{dot}{rest}e{exponent}");
    }
    if point <= 0 {
        return format!("{sign}0.{}{digits}", "0".repeat(-point as usize));
    }
    if len <= point {
        return format!("{sign}{digits}{}", "0".repeat((point - len) as usize));
    }
    let (int, fraction) = digits.split_at(point as usize);
    format!("{sign}{int}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_print_as_mysql_prints_them() {
        let cases: &[(f64, &str)] = &[
            (1e14, "100000000000000"),
            (1e15, "1e15"),
            (1e-15, "0.000000000000001"),
            (1e-16, "1e-16"),
            (123456789012345678.0, "1.2345678901234568e17"),
            (1234567890123456.7, "1234567890123456.8"),
            (0.1 + 0.2, "0.30000000000000004"),
            (-1e-7, "-0.0000001"),
            (1.5e300, "1.5e300"),
            (1234567.125, "1234567.125"),
        ];
        for (value, text) in cases {
            assert_eq!(format_double(*value), *text);
        }
        let floats: &[(f32, &str)] = &[
            (16777217.0, "16777200"),
            (0.1, "0.1"),
            (1e10, "10000000000"),
            (123456.7, "123457"),
            (1e-7, "0.0000001"),
        ];
        for (value, text) in floats {
            assert_eq!(format_float(*value), *text);
        }
    }

    #[test]
    fn texts_are_the_numbers_they_begin_with() {
        assert_eq!(double_prefix(b" 1.5e3x"), (1500.0, false));
        assert_eq!(double_prefix(b"-.5 "), (-0.5, true));
        assert_eq!(double_prefix(b"1e"), (1.0, false));
        assert_eq!(double_prefix(b"abc"), (0.0, false));
        assert_eq!(integer_prefix(b"12a"), (12, false));
        assert_eq!(integer_prefix(b"-9223372036854775809"), (i64::MIN as i128, false));
        assert_eq!(bytes_to_uint(b"AB"), 0x4142);
    }
}
