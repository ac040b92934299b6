//! A value of a document, read where it lies.

pub use super::list::{List, Members};
use super::{damaged, kind};
use crate::error::Result;
use crate::error::interrupt::Steps;
use crate::error::memory::reserve_memory;
use crate::json::{DEPTH_MAX, Json, growth, opaque};
use crate::{Date, DateTime, Time};

/// A value in the binary form. Nothing of it has been looked at yet.
#[derive(Clone, Copy)]
pub struct View<'a>(&'a [u8]);

/// What a value is, as far as one look tells.
#[derive(Clone, Copy)]
pub enum Part<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A double.
    Double(f64),
    /// A DECIMAL, by its digits.
    Decimal(&'a str),
    /// A string.
    String(&'a str),
    /// A DATE.
    Date(Date),
    /// A TIME.
    Time(Time),
    /// A DATETIME or TIMESTAMP.
    DateTime(DateTime),
    /// Bytes, and the number that their type has in the protocol.
    Opaque(u8, &'a [u8]),
    /// An array.
    Array(List<'a>),
    /// An object.
    Object(Members<'a>),
}

/// Digits that dates and times show of a second, as in MySQL's documents.
const FRACTION: u8 = 6;

impl<'a> View<'a> {
    /// Returns the view of a document in the binary form.
    #[inline]
    pub fn of(bytes: &'a [u8]) -> View<'a> {
        View(bytes)
    }

    /// Returns the view of a stored document; `None` if that is text.
    #[inline]
    pub fn of_stored(stored: &'a [u8]) -> Option<View<'a>> {
        super::is_binary(stored).then_some(View(stored))
    }

    /// Returns the value's bytes, which are a document.
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// Returns the elements if it is an array.
    #[inline]
    pub fn elements(self) -> Result<Option<List<'a>>> {
        match self.0.first() {
            Some(kind::ARRAY..kind::OBJECT) => List::of(self.0).map(Some),
            Some(kind::NULL..kind::END) => Ok(None),
            _ => Err(damaged()),
        }
    }

    /// Returns the members if it is an object.
    #[inline]
    pub fn members(self) -> Result<Option<Members<'a>>> {
        match self.0.first() {
            Some(kind::OBJECT..kind::END) => Members::of(self.0).map(Some),
            Some(kind::NULL..kind::OBJECT) => Ok(None),
            _ => Err(damaged()),
        }
    }

    /// Looks at the value.
    pub fn part(self) -> Result<Part<'a>> {
        let (kind, body) = self.0.split_first().ok_or_else(damaged)?;
        Ok(match *kind {
            kind::INT => Part::Int(signed(body)?),
            kind::STRING => Part::String(std::str::from_utf8(body).map_err(|_| damaged())?),
            kind::DOUBLE => Part::Double(f64::from_bits(long(body)?)),
            kind::UINT => Part::UInt(unsigned(body)?),
            kind::DECIMAL => Part::Decimal(digits(body)?),
            kind::NULL if body.is_empty() => Part::Null,
            kind::FALSE if body.is_empty() => Part::Bool(false),
            kind::TRUE if body.is_empty() => Part::Bool(true),
            kind::OPAQUE => {
                let (kind, bytes) = body.split_first().ok_or_else(damaged)?;
                Part::Opaque(*kind, bytes)
            }
            kind::DATE => Part::Date(date(long(body)?)?),
            kind::DATE_TIME => Part::DateTime(date_time(long(body)?)?),
            kind::TIME => Part::Time(Time::new(long(body)? as i64, FRACTION)),
            kind::ARRAY..kind::OBJECT => Part::Array(List::of(self.0)?),
            kind::OBJECT..kind::END => Part::Object(Members::of(self.0)?),
            _ => return Err(damaged()),
        })
    }

    /// Returns what `JSON_TYPE` calls it.
    pub fn type_name(self) -> Result<&'static str> {
        Ok(match self.part()? {
            Part::Null => "NULL",
            Part::Bool(_) => "BOOLEAN",
            Part::Int(_) => "INTEGER",
            Part::UInt(_) => "UNSIGNED INTEGER",
            Part::Double(_) => "DOUBLE",
            Part::Decimal(_) => "DECIMAL",
            Part::String(_) => "STRING",
            Part::Date(_) => "DATE",
            Part::Time(_) => "TIME",
            Part::DateTime(_) => "DATETIME",
            Part::Opaque(kind, _) => opaque::type_name(kind),
            Part::Array(_) => "ARRAY",
            Part::Object(_) => "OBJECT",
        })
    }

    /// Returns the number of members or elements; 1 for a scalar.
    pub fn length(self) -> Result<usize> {
        Ok(match self.part()? {
            Part::Array(list) => list.len(),
            Part::Object(members) => members.len(),
            _ => 1,
        })
    }

    /// Returns how deep arrays and objects nest; 1 for a scalar.
    pub fn depth(self) -> Result<usize> {
        self.levels(1, 0, &mut Steps::default())
    }

    /// Returns how many arrays and objects stand inside each other; 0 for a scalar.
    pub(super) fn nesting(self) -> Result<usize> {
        self.levels(0, 0, &mut Steps::default())
    }

    /// Returns the greatest sum of containers around a scalar and what the scalar counts.
    fn levels(self, scalar: usize, level: usize, steps: &mut Steps) -> Result<usize> {
        steps.step()?;
        let mut deepest = 0;
        let mut within = |value: Result<View<'a>>| -> Result<()> {
            deepest = deepest.max(value?.levels(scalar, level + 1, steps)?);
            Ok(())
        };
        match self.part()? {
            Part::Array(list) => {
                check_level(level)?;
                list.iter().try_for_each(&mut within)?;
            }
            Part::Object(members) => {
                check_level(level)?;
                members.values().try_for_each(&mut within)?;
            }
            _ => return Ok(scalar),
        }
        Ok(1 + deepest)
    }

    /// Returns the value as a tree.
    pub fn tree(self) -> Result<Json> {
        self.tree_within(0, &mut Steps::default())
    }

    fn tree_within(self, level: usize, steps: &mut Steps) -> Result<Json> {
        steps.step()?;
        Ok(match self.part()? {
            Part::Null => Json::Null,
            Part::Bool(v) => Json::Bool(v),
            Part::Int(v) => Json::Int(v),
            Part::UInt(v) => Json::UInt(v),
            Part::Double(v) => Json::Double(v),
            Part::Decimal(digits) => Json::Decimal(digits.to_owned()),
            Part::String(text) => {
                let _room = reserve_memory(text.len())?;
                Json::String(text.to_owned())
            }
            Part::Date(v) => Json::Date(v),
            Part::Time(v) => Json::Time(v),
            Part::DateTime(v) => Json::DateTime(v),
            Part::Opaque(kind, bytes) => {
                let _room = reserve_memory(bytes.len())?;
                Json::Opaque(kind, bytes.to_vec())
            }
            Part::Array(list) => {
                check_level(level)?;
                let mut out = Vec::new();
                growth::grow(&mut out, list.len())?;
                for value in list.iter() {
                    out.push(value?.tree_within(level + 1, steps)?);
                }
                Json::Array(out)
            }
            Part::Object(members) => {
                check_level(level)?;
                let mut out = Vec::new();
                growth::grow(&mut out, members.len())?;
                for member in members.iter() {
                    let (name, value) = member?;
                    out.push((name.to_owned(), value.tree_within(level + 1, steps)?));
                }
                Json::Object(out)
            }
        })
    }

    /// Whether it compares as equal to another value.
    pub fn equals(self, other: &Json) -> Result<bool> {
        Ok(match (self.part()?, other) {
            (Part::String(a), Json::String(b)) => a == b,
            (Part::Int(a), Json::Int(b)) => a == *b,
            (Part::String(_), _) | (_, Json::String(_)) => false,
            _ => self.tree()?.compare(other).is_eq(),
        })
    }
}

/// Error 3142 if so many containers stand around one.
pub(super) fn check_level(level: usize) -> Result<()> {
    match level < DEPTH_MAX {
        true => Ok(()),
        false => Err(damaged()),
    }
}

fn signed(body: &[u8]) -> Result<i64> {
    Ok(match *body {
        [a] => i64::from(a as i8),
        [a, b] => i64::from(i16::from_le_bytes([a, b])),
        [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
        _ => long(body)? as i64,
    })
}

fn unsigned(body: &[u8]) -> Result<u64> {
    Ok(match *body {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        _ => long(body)?,
    })
}

fn long(body: &[u8]) -> Result<u64> {
    body.try_into().map(u64::from_le_bytes).map_err(|_| damaged())
}

fn digits(body: &[u8]) -> Result<&str> {
    let known = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    match std::str::from_utf8(body) {
        Ok(text) if !body.is_empty() && body.iter().all(known) => Ok(text),
        _ => Err(damaged()),
    }
}

fn date(packed: u64) -> Result<Date> {
    let date = Date::unpack(packed);
    match date.pack() == packed && date.year <= 9999 && date.month <= 12 {
        true => Ok(date),
        false => Err(damaged()),
    }
}

fn date_time(packed: u64) -> Result<DateTime> {
    let value = DateTime::unpack(packed, FRACTION);
    let in_day = value.hour < 24 && value.minute < 60 && value.second < 60 && value.micro < 1_000_000;
    match value.pack() == packed && in_day {
        true => date(value.date.pack()).map(|_| value),
        false => Err(damaged()),
    }
}
