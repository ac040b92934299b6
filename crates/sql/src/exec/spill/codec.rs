//! Rows as bytes in a spool.
//!
//! ```text
//!  record   key length u32 │ row length u32 │ key │ row
//!  row      a value behind the other: a byte for its kind, then
//!           integers, floats  8 bytes        texts      length u32, bytes
//!           small integers    4 bytes        decimals   scale, coefficient 8 or 16 bytes; or its digits as a text
//!           dates and times   8 bytes, and the digits shown
//! ```
//!
//! Nothing of it outlives the statement, so there is no version.

use super::heap_bytes;
use crate::error::memory::{RESERVED_FROM, reserve_memory};
use crate::error::{Result, SqlError};
use crate::expr::Row;
use crate::types::{Date, DateTime, Decimal, Time, Val, Value};
use std::borrow::Cow;
use tidemark_engine::Spool;

/// What stands before a record.
pub const HEAD_LEN: usize = 8;

/// A record is read from its spool in pieces of at least this many bytes.
const BLOCK_LEN: usize = 4096;

mod kind {
    pub const NULL: u8 = 0;
    pub const INT: u8 = 1;
    pub const UINT: u8 = 2;
    pub const FLOAT: u8 = 3;
    pub const DOUBLE: u8 = 4;
    pub const DECIMAL: u8 = 5;
    pub const BIG_DECIMAL: u8 = 6;
    pub const TEXT: u8 = 7;
    pub const DATE: u8 = 8;
    pub const TIME: u8 = 9;
    pub const DATE_TIME: u8 = 10;
    pub const MEMBER: u8 = 11;
    pub const JSON: u8 = 12;
    pub const SMALL_INT: u8 = 13;
    pub const SMALL_DECIMAL: u8 = 14;
}

fn damaged() -> SqlError {
    SqlError::unknown("A row that was put aside cannot be read back")
}

fn put_text(text: &[u8], out: &mut Vec<u8>) {
    // A value is shorter than the largest packet, one gibibyte.
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text);
}

/// Appends a row.
fn encode(row: &[Value], out: &mut Vec<u8>) {
    row.iter().for_each(|value| encode_value(value, out));
}

/// Appends a value.
pub fn encode_value(value: &Val, out: &mut Vec<u8>) {
    let mut fixed = |kind: u8, bytes: &[u8]| {
        out.push(kind);
        out.extend_from_slice(bytes);
    };
    match value {
        Val::Null => fixed(kind::NULL, &[]),
        Val::Int(v) => match i32::try_from(*v) {
            Ok(small) => fixed(kind::SMALL_INT, &small.to_le_bytes()),
            Err(_) => fixed(kind::INT, &v.to_le_bytes()),
        },
        Val::UInt(v) => fixed(kind::UINT, &v.to_le_bytes()),
        Val::Float(v) => fixed(kind::FLOAT, &v.to_le_bytes()),
        Val::Double(v) => fixed(kind::DOUBLE, &v.to_le_bytes()),
        Val::Decimal(v) => match v.coefficient() {
            Some(coefficient) => match i64::try_from(coefficient) {
                Ok(small) => {
                    fixed(kind::SMALL_DECIMAL, &[v.scale()]);
                    out.extend_from_slice(&small.to_le_bytes());
                }
                Err(_) => {
                    fixed(kind::DECIMAL, &[v.scale()]);
                    out.extend_from_slice(&coefficient.to_le_bytes());
                }
            },
            None => {
                fixed(kind::BIG_DECIMAL, &[]);
                put_text(v.to_string().as_bytes(), out);
            }
        },
        Val::Str(text) => {
            fixed(kind::TEXT, &[]);
            put_text(text, out);
        }
        Val::Json(text) => {
            fixed(kind::JSON, &[]);
            put_text(text, out);
        }
        Val::Date(v) => fixed(kind::DATE, &v.pack().to_le_bytes()),
        Val::Time(v) => {
            fixed(kind::TIME, &v.micros.to_le_bytes());
            out.push(v.fsp);
        }
        Val::DateTime(v) => {
            fixed(kind::DATE_TIME, &v.pack().to_le_bytes());
            out.extend_from_slice(&[v.fsp, v.repeated as u8, (v.repeated >> 8) as u8]);
        }
        Val::Member(n, text) => {
            fixed(kind::MEMBER, &n.to_le_bytes());
            put_text(text, out);
        }
    }
}

/// The rest of an encoded row.
struct Rest<'b>(&'b [u8]);

impl<'b> Rest<'b> {
    fn bytes(&mut self, len: usize) -> Result<&'b [u8]> {
        let (now, later) = self.0.split_at_checked(len).ok_or_else(damaged)?;
        self.0 = later;
        Ok(now)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.bytes(N)?.try_into().map_err(|_| damaged())
    }

    fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn text(&mut self) -> Result<&'b [u8]> {
        let len = u32::from_le_bytes(self.array()?);
        self.bytes(len as usize)
    }

    /// A copy of a text, if there is memory for it.
    fn owned_text(&mut self) -> Result<Cow<'static, [u8]>> {
        let text = self.text()?;
        let _room = reserve_memory(text.len())?;
        Ok(Cow::Owned(text.to_vec()))
    }

    /// Appends the next value to a row.
    #[inline]
    fn value(&mut self, row: &mut Vec<Value>) -> Result<()> {
        row.push(Val::Null);
        match row.last_mut() {
            Some(place) => self.read(place),
            None => Ok(()),
        }
    }

    /// Reads the next value. Each kind is put in its place there, for a value that is handed on is copied at each hand.
    #[inline]
    fn read(&mut self, to: &mut Value) -> Result<()> {
        match self.u8()? {
            kind::NULL => *to = Val::Null,
            kind::INT => *to = Val::Int(self.u64()? as i64),
            kind::SMALL_INT => *to = Val::Int(i64::from(i32::from_le_bytes(self.array()?))),
            kind::UINT => *to = Val::UInt(self.u64()?),
            kind::FLOAT => *to = Val::Float(f32::from_le_bytes(self.array()?)),
            kind::DOUBLE => *to = Val::Double(f64::from_le_bytes(self.array()?)),
            kind::DECIMAL => {
                let scale = self.u8()?;
                *to = Val::Decimal(Decimal::new(i128::from_le_bytes(self.array()?), scale))
            }
            kind::SMALL_DECIMAL => {
                let scale = self.u8()?;
                *to = Val::Decimal(Decimal::new(i128::from(self.u64()? as i64), scale))
            }
            kind::BIG_DECIMAL => {
                let digits = std::str::from_utf8(self.text()?).map_err(|_| damaged())?;
                *to = Val::Decimal(Decimal::parse(digits).ok_or_else(damaged)?)
            }
            kind::TEXT => match to {
                // A text is put where one was.
                Val::Str(Cow::Owned(old)) => {
                    let text = self.text()?;
                    let _room = reserve_memory(text.len())?;
                    old.clear();
                    old.extend_from_slice(text);
                }
                _ => *to = Val::Str(self.owned_text()?),
            },
            kind::JSON => *to = Val::Json(self.owned_text()?),
            kind::DATE => *to = Val::Date(Date::unpack(self.u64()?)),
            kind::TIME => {
                let micros = self.u64()? as i64;
                let fsp = self.u8()?;
                *to = Val::Time(Time { micros, fsp });
            }
            kind::DATE_TIME => {
                let packed = self.u64()?;
                let moment = DateTime::unpack(packed, self.u8()?);
                let repeated = u16::from_le_bytes([self.u8()?, self.u8()?]);
                *to = Val::DateTime(DateTime { repeated, ..moment })
            }
            kind::MEMBER => {
                let number = self.u64()?;
                *to = Val::Member(number, self.owned_text()?)
            }
            _ => return Err(damaged()),
        }
        Ok(())
    }
}

/// Appends the values that are in some slots of a row.
pub fn encode_at(row: &dyn Row, slots: &[usize], out: &mut Vec<u8>) -> Result<()> {
    for slot in slots {
        let value = row.column(*slot);
        let _room = reserve_memory(heap_bytes(&value))?;
        encode_value(&value, out);
    }
    Ok(())
}

/// Reads a row into some slots of another.
#[inline]
pub fn decode_at(bytes: &[u8], row: &mut [Value], slots: &[usize]) -> Result<()> {
    let mut rest = Rest(bytes);
    for slot in slots {
        rest.read(row.get_mut(*slot).ok_or_else(damaged)?)?;
    }
    Ok(())
}

/// Reads a row, in place of what `row` held.
pub fn decode(bytes: &[u8], row: &mut Vec<Value>) -> Result<()> {
    row.clear();
    let mut rest = Rest(bytes);
    while !rest.0.is_empty() {
        rest.value(row)?;
    }
    Ok(())
}

/// What stands before a record of these lengths.
pub fn head(key_len: usize, row_len: usize) -> Result<[u8; HEAD_LEN]> {
    let [key_len, row_len] = [key_len, row_len].map(u32::try_from);
    let mut head = [0; HEAD_LEN];
    head[..4].copy_from_slice(&key_len.map_err(|_| damaged())?.to_le_bytes());
    head[4..].copy_from_slice(&row_len.map_err(|_| damaged())?.to_le_bytes());
    Ok(head)
}

/// The key and the row of the record at the beginning of some bytes.
#[inline]
pub fn parts(record: &[u8]) -> (&[u8], &[u8]) {
    let (lengths, rest) = record
        .split_first_chunk::<HEAD_LEN>()
        .unwrap_or((&[0; HEAD_LEN], &[]));
    let lengths = u64::from_le_bytes(*lengths);
    let (key_len, row_len) = (lengths as u32 as usize, (lengths >> 32) as usize);
    (&rest[..key_len], &rest[key_len..key_len + row_len])
}

/// Writes a record whose row is encoded already.
pub fn append_encoded(spool: &mut Spool, key: &[u8], row: &[u8]) -> Result<()> {
    spool.append(&head(key.len(), row.len())?)?;
    spool.append(key)?;
    spool.append(row)?;
    Ok(())
}

/// Writes a record; `buffer` is room to encode in.
pub fn append(spool: &mut Spool, key: &[u8], row: &[Value], buffer: &mut Vec<u8>) -> Result<()> {
    buffer.clear();
    let texts: usize = row.iter().map(heap_bytes).sum();
    let _room = reserve_memory(texts)?;
    encode(row, buffer);
    append_encoded(spool, key, buffer)?;
    if buffer.len() >= RESERVED_FROM {
        // Room for a long row is not kept for the short ones behind it.
        *buffer = Vec::new();
    }
    Ok(())
}

/// Reads records one after the other from a part of a spool.
pub struct Reader {
    /// Where in the spool `block` ends, and where the part does.
    at: u64,
    end: u64,
    block: Vec<u8>,
    /// How much of the block was read.
    used: usize,
    /// The record in hand.
    key: std::ops::Range<usize>,
    row: std::ops::Range<usize>,
}

impl Reader {
    pub fn new(from: u64, end: u64) -> Reader {
        Reader {
            at: from,
            end,
            block: Vec::new(),
            used: 0,
            key: 0..0,
            row: 0..0,
        }
    }

    /// Has more of the spool to read.
    pub fn extend(&mut self, end: u64) {
        self.end = end;
    }

    /// Where the next record begins.
    pub fn position(&self) -> u64 {
        self.at - (self.block.len() - self.used) as u64
    }

    /// Has at least `len` bytes behind `used` in the block.
    fn fill(&mut self, spool: &Spool, len: usize) -> Result<()> {
        if self.block.len() - self.used >= len {
            return Ok(());
        }
        let from = self.position();
        let wanted = len.max(BLOCK_LEN).min((self.end - from) as usize);
        let _room = reserve_memory(wanted)?;
        spool.read(from, wanted, &mut self.block)?;
        self.used = 0;
        self.at = from + self.block.len() as u64;
        if self.block.len() < len {
            Err(damaged())
        } else {
            Ok(())
        }
    }

    /// Goes on to the next record; whether there is one.
    pub fn advance(&mut self, spool: &Spool) -> Result<bool> {
        if self.position() >= self.end {
            return Ok(false);
        }
        self.fill(spool, HEAD_LEN)?;
        let mut head = Rest(&self.block[self.used..]);
        let key_len = u32::from_le_bytes(head.array()?) as usize;
        let row_len = u32::from_le_bytes(head.array()?) as usize;
        self.fill(spool, HEAD_LEN + key_len + row_len)?;
        let key_at = self.used + HEAD_LEN;
        self.key = key_at..key_at + key_len;
        self.row = self.key.end..self.key.end + row_len;
        self.used = self.row.end;
        Ok(true)
    }

    /// The key of the record in hand.
    pub fn key(&self) -> &[u8] {
        &self.block[self.key.clone()]
    }

    /// The encoded row of the record in hand.
    pub fn row(&self) -> &[u8] {
        &self.block[self.row.clone()]
    }
}
