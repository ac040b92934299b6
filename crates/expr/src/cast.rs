//! CAST and CONVERT, and the quiet conversion of a branch to the type its CASE has.

use super::arith::clamp_decimal;
use super::env::Env;
use super::pieces::{changed, made};
use std::borrow::Cow;
use tidemark_types::convert::{
    clamp_int, excerpt, format_double_fixed, format_float_fixed, integer_prefix, refused_by_mode,
};
use tidemark_types::error::{Result, SqlError, er};
use tidemark_types::temporal::parse;
use tidemark_types::{SqlMode, SqlType, Time, TypeKind, Val};

/// `CAST(value AS to)`; `from` is the operand's type.
pub fn cast<'a>(value: Val<'a>, from: &SqlType, to: &SqlType, env: &Env) -> Result<Val<'a>> {
    use TypeKind::*;
    if value.is_null() {
        return Ok(Val::Null);
    }
    match to.kind {
        _ if to.is_integer() && to.kind != Year => to_integer(value, to.unsigned, env),
        Year => to_year(value, env),
        Decimal => {
            let d = value.to_decimal(env)?;
            if let Some(limit) = clamp_decimal(&d, to) {
                let text = excerpt(&value.to_text());
                env.complain(out_of_range_decimal(&text))?;
                return Ok(Val::Decimal(limit));
            }
            Ok(Val::Decimal(d.round(to.scale)))
        }
        Double => Ok(Val::Double(value.to_f64(env)?)),
        Float => Ok(Val::Float(to_float(value.to_f64(env)?))),
        Date => to_date(value, env),
        DateTime | Timestamp => to_datetime(value, to.scale, env),
        Time => to_time(value, to.scale, env),
        Json => to_json(value),
        _ if to.is_string() => to_string(value, from, to, env),
        _ => Ok(value),
    }
}

/// Rounds to a FLOAT; what is beyond the greatest one is infinite, also where it rounds to that.
fn to_float(value: f64) -> f32 {
    match value.abs() > f64::from(f32::MAX) {
        true => f32::INFINITY.copysign(value as f32),
        false => value as f32,
    }
}

fn out_of_range_decimal(_text: &str) -> SqlError {
    SqlError::new(
        er::WARN_DATA_OUT_OF_RANGE,
        "Out of range value for column 'CAST()' at row 1",
    )
}

/// Doubles are cut off at the ends of the signed range without a word, decimals with a warning, and texts that change
/// their sign by it leave a warning too.
fn to_integer<'a>(value: Val<'a>, unsigned: bool, env: &Env) -> Result<Val<'a>> {
    let (low, high) = (
        i64::MIN as i128,
        if unsigned {
            u64::MAX as i128
        } else {
            i64::MAX as i128
        },
    );
    let wide = match &value {
        Val::Double(v) => (v.round_ties_even() as i128).clamp(low, i64::MAX as i128),
        Val::Float(v) => ((*v as f64).round_ties_even() as i128).clamp(low, i64::MAX as i128),
        Val::Decimal(d) => {
            let whole = d
                .to_i128()
                .unwrap_or(if d.is_negative() { i128::MIN } else { i128::MAX });
            if !(low..=high).contains(&whole) {
                env.complain(SqlError::truncated_wrong_value(
                    "DECIMAL",
                    &excerpt(&value.to_text()),
                ))?;
            }
            whole.clamp(low, high)
        }
        other => clamp_int(other.to_int(env)?),
    };
    if matches!(value, Val::Str(_)) {
        if unsigned && wide < 0 {
            let message = "Cast to unsigned converted negative integer to its positive complement";
            env.warnings.warn(SqlError::unknown(message));
        } else if !unsigned && wide > i64::MAX as i128 {
            let message = "Cast to signed converted positive out-of-range integer to its negative complement";
            env.warnings.warn(SqlError::unknown(message));
        }
    }
    Ok(if unsigned {
        Val::UInt(wide as u64)
    } else {
        Val::Int(wide as u64 as i64)
    })
}

fn to_year<'a>(value: Val<'a>, env: &Env) -> Result<Val<'a>> {
    let text = matches!(value, Val::Str(_));
    let number = match &value {
        Val::Date(d) => d.year as i128,
        Val::DateTime(t) => t.date.year as i128,
        Val::Time(_) => tidemark_types::convert::today(env).year as i128,
        Val::Str(s) => {
            if !s
                .trim_ascii_start()
                .first()
                .is_some_and(|b| b.is_ascii_digit() || *b == b'-')
            {
                env.complain(SqlError::new(
                    er::TRUNCATED_WRONG_VALUE_IN_FUNCTION,
                    format!("Incorrect YEAR value: '{}'", excerpt(s)),
                ))?;
                return Ok(Val::Null);
            }
            let (number, whole) = integer_prefix(s);
            if !whole {
                env.complain(SqlError::truncated_wrong_value("YEAR", &excerpt(s)))?;
            }
            number
        }
        other => other.to_f64(env)?.round() as i128,
    };
    let year = match number {
        0 if text => 2000,
        0 => 0,
        1..70 => number + 2000,
        70..100 => number + 1900,
        1901..=2155 => number,
        _ => {
            env.complain(SqlError::truncated_wrong_value(
                "YEAR",
                &excerpt(&value.to_text()),
            ))?;
            return Ok(Val::Null);
        }
    };
    Ok(Val::UInt(year as u64))
}

/// A text is read as a document, anything else becomes one. Conditions and bytes are the caller's.
fn to_json<'a>(value: Val<'a>) -> Result<Val<'a>> {
    let text = match &value {
        Val::Json(_) => return Ok(value),
        Val::Str(text) => text,
        other => return Val::json(&super::json::value_json(other)?),
    };
    match tidemark_types::json::Json::parse(&String::from_utf8_lossy(text)) {
        Ok(doc) => Val::json(&doc),
        Err(e) => Err(super::json::invalid(e, 1, "cast_as_json")),
    }
}

fn to_date<'a>(value: Val<'a>, env: &Env) -> Result<Val<'a>> {
    let date = match &value {
        Val::Str(s) => match parse::datetime(s, env.sql_mode) {
            Some(p) if parse::acceptable(&p, env.sql_mode) => {
                if p.truncated {
                    env.complain(SqlError::truncated_wrong_value("date", &excerpt(s)))?;
                }
                p.in_zone(env.time_zone).date
            }
            _ => {
                env.complain(SqlError::truncated_wrong_value("date", &excerpt(s)))?;
                return Ok(Val::Null);
            }
        },
        other => match other.to_date(env)? {
            Some(d) => d,
            None => return Ok(Val::Null),
        },
    };
    let written = matches!(
        value,
        Val::Str(_) | Val::Int(_) | Val::UInt(_) | Val::Decimal(_) | Val::Double(_)
    );
    if refused_by_mode(date, env.sql_mode) {
        if written {
            env.complain(SqlError::incorrect_value("datetime", &excerpt(&value.to_text())))?;
        }
        return Ok(Val::Null);
    }
    Ok(Val::Date(date))
}

fn to_datetime<'a>(value: Val<'a>, fsp: u8, env: &Env) -> Result<Val<'a>> {
    let Some(t) = value.to_datetime(env)? else {
        return Ok(Val::Null);
    };
    let written = matches!(
        value,
        Val::Str(_) | Val::Int(_) | Val::UInt(_) | Val::Decimal(_) | Val::Double(_)
    );
    if refused_by_mode(t.date, env.sql_mode) {
        if written {
            env.complain(SqlError::incorrect_value("datetime", &excerpt(&value.to_text())))?;
        }
        return Ok(Val::Null);
    }
    let rounded = if env.sql_mode.has(SqlMode::TIME_TRUNCATE_FRACTIONAL) {
        Some(t.truncate(fsp))
    } else {
        t.round(fsp)
    };
    if rounded.is_none() {
        env.complain(SqlError::temporal_overflow("datetime"))?;
    }
    Ok(rounded.map_or(Val::Null, Val::DateTime))
}

fn to_time<'a>(value: Val<'a>, fsp: u8, env: &Env) -> Result<Val<'a>> {
    let Some(t) = value.to_time(env)? else {
        return Ok(Val::Null);
    };
    if env.sql_mode.has(SqlMode::TIME_TRUNCATE_FRACTIONAL) {
        let unit = 10i64.pow(6 - fsp.min(6) as u32);
        return Ok(Val::Time(Time::new(t.micros / unit * unit, fsp)));
    }
    let rounded = t.round(fsp);
    let (clamped, whole) = parse::clamp_time(rounded);
    if !whole {
        env.complain(SqlError::truncated_wrong_value(
            "time",
            &excerpt(&value.to_text()),
        ))?;
    }
    Ok(Val::Time(clamped))
}

/// The text of a value as its type shows it: BIT as bytes, ZEROFILL padded, DOUBLE(M,D) with its digits.
pub fn display<'a>(value: Val<'a>, ty: &SqlType) -> Cow<'a, [u8]> {
    match &value {
        Val::UInt(v) if ty.kind == TypeKind::Bit => {
            let bytes = v.to_be_bytes();
            Cow::Owned(bytes[8 - ty.length.div_ceil(8).clamp(1, 8) as usize..].to_vec())
        }
        Val::UInt(v) if ty.zerofill => {
            let width = ty.length.min(255) as usize;
            Cow::Owned(format!("{v:0width$}").into_bytes())
        }
        Val::Double(v) if ty.is_float() && ty.scale != SqlType::NOT_FIXED => {
            Cow::Owned(format_double_fixed(*v, ty.scale).into_bytes())
        }
        Val::Float(v) if ty.is_float() && ty.scale != SqlType::NOT_FIXED => {
            Cow::Owned(format_float_fixed(*v, ty.scale).into_bytes())
        }
        _ => value.into_text(),
    }
}

fn to_string<'a>(value: Val<'a>, from: &SqlType, to: &SqlType, env: &Env) -> Result<Val<'a>> {
    let mut text = match value {
        Val::Json(_) => value.checked_text()?,
        _ => made(display(value, from))?,
    };
    let charset = to.collation.charset();
    if to.collation.is_binary() {
        if let Some(encoded) = from
            .collation
            .charset()
            .encode(&text)
            .filter(|_| from.is_string())
        {
            text = Cow::Owned(encoded);
        }
    } else if from.is_binary_string() || !charset.can_write(&text) {
        let repaired = match from.is_binary_string() {
            true => charset.repair(&text, true),
            false => Some(changed(&text, |piece, out| {
                out.extend(charset.repair(piece, false).unwrap_or_default())
            })?),
        };
        match repaired {
            Some(repaired) => text = Cow::Owned(repaired),
            None => {
                let wrong = &text[charset.well_formed_bytes(&text)..];
                env.warnings.warn(SqlError::invalid_string(charset.name(), wrong));
                return Ok(Val::Null);
            }
        }
    }
    // A type of unlimited length is the longest there is.
    if to.is_blob_or_text() || to.length == u32::MAX {
        return Ok(Val::Str(text));
    }
    let end = charset.prefix_len(&text, to.length as usize);
    if end < text.len() {
        let kind = if to.collation.is_binary() {
            "BINARY"
        } else {
            "CHAR"
        };
        env.complain(SqlError::truncated_wrong_value(
            &format!("{kind}({})", to.length),
            &excerpt(&text),
        ))?;
        text = match text {
            Cow::Borrowed(b) => Cow::Borrowed(&b[..end]),
            Cow::Owned(mut b) => {
                b.truncate(end);
                Cow::Owned(b)
            }
        };
    }
    if to.kind == TypeKind::Char && to.collation.is_binary() && (text.len() as u64) < to.length as u64 {
        if to.length as u64 > env.max_allowed_packet {
            env.warnings.warn(SqlError::packet_overflow(
                "cast_as_binary",
                env.max_allowed_packet,
            ));
            return Ok(Val::Null);
        }
        let mut padded = text.into_owned();
        padded.resize(to.length as usize, 0);
        text = Cow::Owned(padded);
    }
    Ok(Val::Str(text))
}

/// A branch's value as the type of the whole: like a cast that never complains, and cheap when nothing is to be done.
pub(crate) fn to_kind<'a>(value: Val<'a>, ty: &SqlType, env: &Env) -> Result<Val<'a>> {
    use TypeKind::*;
    Ok(match (&value, ty.kind) {
        (Val::Null, _) => value,
        (Val::Int(_), _) if ty.is_integer() && !ty.unsigned => value,
        (Val::UInt(_), _) if ty.is_integer() && ty.unsigned => value,
        (Val::Int(v), _) if ty.is_integer() => Val::UInt(*v as u64),
        (Val::UInt(v), _) if ty.is_integer() => Val::Int(*v as i64),
        (Val::Double(_), Double) | (Val::Float(_), Float) => value,
        (_, Double) => Val::Double(value.to_f64(env)?),
        (_, Float) => Val::Float(value.to_f64(env)? as f32),
        (Val::Decimal(_), Decimal) => value,
        (_, Decimal) => Val::Decimal(value.to_decimal(env)?),
        (Val::Date(_), Date) => value,
        (Val::Time(t), Time) => Val::Time(tidemark_types::Time { fsp: ty.scale, ..*t }),
        (Val::DateTime(t), DateTime | Timestamp) if t.fsp == ty.scale => value,
        (Val::Date(_) | Val::DateTime(_) | Val::Time(_), DateTime | Timestamp) => {
            value.to_datetime(env)?.map_or(Val::Null, |t| {
                Val::DateTime(tidemark_types::DateTime { fsp: ty.scale, ..t })
            })
        }
        (Val::Member(..), Enum | Set) | (Val::Json(_), Json) | (Val::Str(_), _) => value,
        _ if ty.is_string() => Val::Str(value.checked_text()?),
        _ => value,
    })
}
