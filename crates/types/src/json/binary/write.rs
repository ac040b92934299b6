//! Writes documents in the binary form, from the first byte to the last: ends are put aside until their container is whole.

use super::kind;
use super::view::View;
use crate::error::interrupt::Steps;
use crate::error::{Result, SqlError, er};
use crate::json::growth::{extend, grow_by_one};
use crate::json::{DEPTH_MAX, Json, JsonError};

/// Bytes that a document has room for from the beginning.
const ROOM: usize = 32;

/// Bytes of a document, as far as they are written.
struct Writer {
    out: Vec<u8>,
    /// Ends in the containers that are not whole yet, the innermost last.
    ends: Vec<u32>,
    steps: Steps,
}

/// A container that is being written.
struct Open {
    /// Where it begins.
    start: usize,
    /// Its first end.
    ends: usize,
}

impl Writer {
    fn new() -> Writer {
        Writer {
            out: Vec::with_capacity(ROOM),
            ends: Vec::new(),
            steps: Steps::default(),
        }
    }

    fn value(&mut self, value: &Json, level: usize) -> Result<()> {
        self.steps.step()?;
        match value {
            Json::Null => self.scalar(kind::NULL, &[]),
            Json::Bool(false) => self.scalar(kind::FALSE, &[]),
            Json::Bool(true) => self.scalar(kind::TRUE, &[]),
            Json::Int(v) => self.scalar(kind::INT, &v.to_le_bytes()[..signed_bytes(*v)]),
            Json::UInt(v) => self.scalar(kind::UINT, &v.to_le_bytes()[..unsigned_bytes(*v)]),
            Json::Double(v) => self.scalar(kind::DOUBLE, &v.to_bits().to_le_bytes()),
            Json::Decimal(digits) => self.scalar(kind::DECIMAL, digits.as_bytes()),
            Json::String(text) => self.scalar(kind::STRING, text.as_bytes()),
            Json::Opaque(number, bytes) => {
                self.scalar(kind::OPAQUE, &[*number])?;
                extend(&mut self.out, bytes)
            }
            Json::Date(v) => self.scalar(kind::DATE, &v.pack().to_le_bytes()),
            Json::DateTime(v) => self.scalar(kind::DATE_TIME, &v.pack().to_le_bytes()),
            Json::Time(v) => self.scalar(kind::TIME, &v.micros.to_le_bytes()),
            Json::Array(list) => {
                let open = self.begin(level)?;
                for value in list {
                    self.value(value, level + 1)?;
                    self.end_piece(&open)?;
                }
                self.end(open, kind::ARRAY, list.len())
            }
            Json::Object(members) => {
                debug_assert!(members.is_sorted_by(|(a, _), (b, _)| (a.len(), a) < (b.len(), b)));
                let open = self.begin(level)?;
                for (name, value) in members {
                    extend(&mut self.out, name.as_bytes())?;
                    self.end_piece(&open)?;
                    self.value(value, level + 1)?;
                    self.end_piece(&open)?;
                }
                self.end(open, kind::OBJECT, members.len())
            }
        }
    }

    fn scalar(&mut self, kind: u8, body: &[u8]) -> Result<()> {
        extend(&mut self.out, &[kind])?;
        extend(&mut self.out, body)
    }

    /// Begins a container, which stands in so many others. Error 3157 if these are too many.
    fn begin(&mut self, level: usize) -> Result<Open> {
        if level >= DEPTH_MAX {
            return Err(JsonError::too_deep());
        }
        let open = Open {
            start: self.out.len(),
            ends: self.ends.len(),
        };
        extend(&mut self.out, &[0])?;
        Ok(open)
    }

    /// Ends a name or value of a container.
    fn end_piece(&mut self, open: &Open) -> Result<()> {
        let end = u32::try_from(self.out.len() - open.start).map_err(|_| too_big())?;
        grow_by_one(&mut self.ends)?;
        self.ends.push(end);
        Ok(())
    }

    /// Appends the table of a container of this kind with so many elements.
    fn end(&mut self, open: Open, kind: u8, count: usize) -> Result<()> {
        let count = u32::try_from(count).map_err(|_| too_big())?;
        let last = self.ends[open.ends..].last().map_or(1, |end| *end);
        let form = match count.max(last) {
            0..=0xFF => 0,
            0x100..=0xFFFF => 1,
            _ => 2,
        };
        self.out[open.start] = kind + form;
        for at in open.ends..self.ends.len() {
            let end = self.ends[at].to_le_bytes();
            extend(&mut self.out, &end[..1 << form])?;
        }
        self.ends.truncate(open.ends);
        extend(&mut self.out, &count.to_le_bytes()[..1 << form])
    }
}

fn signed_bytes(value: i64) -> usize {
    match value {
        -0x80..=0x7F => 1,
        -0x8000..=0x7FFF => 2,
        -0x8000_0000..=0x7FFF_FFFF => 4,
        _ => 8,
    }
}

fn unsigned_bytes(value: u64) -> usize {
    match value {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFFFF_FFFF => 4,
        _ => 8,
    }
}

#[cold]
fn too_big() -> SqlError {
    SqlError::new(
        er::JSON_VALUE_TOO_BIG,
        "The JSON value is too big to be stored in a JSON column.",
    )
}

impl Json {
    /// Returns the form in which it is stored: the bytes of a [`Val::Json`](crate::Val::Json). Error 3157 if it is too deep, 3150 if it is too big;
    /// others if the statement is to end, or there is no memory.
    pub fn stored(&self) -> Result<Vec<u8>> {
        let mut writer = Writer::new();
        writer.value(self, 0)?;
        Ok(writer.out)
    }
}

/// Writes an array of values that are there already.
pub struct ArrayWriter {
    writer: Writer,
    open: Open,
    count: usize,
}

impl ArrayWriter {
    /// Begins an array.
    pub fn new() -> Result<ArrayWriter> {
        let mut writer = Writer::new();
        let open = writer.begin(0)?;
        Ok(ArrayWriter {
            writer,
            open,
            count: 0,
        })
    }

    /// Appends a copy of a value. Error 3157 if it is too deep for an element.
    pub fn push(&mut self, value: View) -> Result<()> {
        if value.nesting()? >= DEPTH_MAX {
            return Err(JsonError::too_deep());
        }
        self.writer.steps.step()?;
        extend(&mut self.writer.out, value.bytes())?;
        self.end_element()
    }

    /// Appends a string.
    pub fn push_string(&mut self, text: &str) -> Result<()> {
        self.writer.steps.step()?;
        self.writer.scalar(kind::STRING, text.as_bytes())?;
        self.end_element()
    }

    fn end_element(&mut self) -> Result<()> {
        self.count += 1;
        self.writer.end_piece(&self.open)
    }

    /// Returns the array as it is stored.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        self.writer.end(self.open, kind::ARRAY, self.count)?;
        Ok(self.writer.out)
    }
}
