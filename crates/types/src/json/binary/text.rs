//! Documents in the binary form as text, in MySQL's normal form.

use super::is_binary;
use super::view::{Part, View, check_level};
use crate::error::Result;
use crate::error::interrupt::Steps;
use crate::json::growth::extend;
use crate::json::{double_text, escape, marks, opaque};
use crate::{DateTime, Time};
use std::borrow::Cow;
use std::io::Write;

/// Returns a stored document, of either form, as the text that is shown. Error 3142 if it is none; others if the statement is to end, or there
/// is no memory.
pub fn shown_text(stored: Cow<'_, [u8]>) -> Result<Cow<'_, [u8]>> {
    if !is_binary(&stored) {
        return Ok(marks::without(stored));
    }
    let mut out = Vec::new();
    View::of(&stored).write(&mut out)?;
    Ok(Cow::Owned(out))
}

impl<'a> View<'a> {
    /// Appends the document as the text that is shown.
    pub fn write(self, out: &mut Vec<u8>) -> Result<()> {
        out.reserve(self.bytes().len().min(4096) * 2);
        self.write_within(out, 0, &mut Steps::default())
    }

    /// Returns the text of a string, or the form in which bytes, dates and times are shown; what others are written as.
    pub fn form(self) -> Result<Cow<'a, [u8]>> {
        Ok(match self.part()? {
            Part::String(text) => Cow::Borrowed(text.as_bytes()),
            Part::Opaque(..) | Part::Date(_) | Part::Time(_) | Part::DateTime(_) => {
                Cow::Owned(self.tree()?.form().into_bytes())
            }
            _ => {
                let mut out = Vec::new();
                self.write(&mut out)?;
                Cow::Owned(out)
            }
        })
    }

    fn write_within(self, out: &mut Vec<u8>, level: usize, steps: &mut Steps) -> Result<()> {
        steps.step()?;
        match self.part()? {
            Part::Null => extend(out, b"null"),
            Part::Bool(true) => extend(out, b"true"),
            Part::Bool(false) => extend(out, b"false"),
            Part::Int(v) => written(out, format_args!("{v}")),
            Part::UInt(v) => written(out, format_args!("{v}")),
            Part::Double(v) => extend(out, double_text(v).as_bytes()),
            Part::Decimal(digits) => extend(out, digits.as_bytes()),
            Part::String(text) => quoted(text.as_bytes(), out),
            Part::Date(v) => written(out, format_args!("\"{v}\"")),
            Part::Time(v) => written(out, format_args!("\"{}\"", Time { fsp: 6, ..v })),
            Part::DateTime(v) => written(out, format_args!("\"{}\"", DateTime { fsp: 6, ..v })),
            Part::Opaque(kind, bytes) => quoted(opaque::write(kind, bytes).as_bytes(), out),
            Part::Array(list) => {
                check_level(level)?;
                out.push(b'[');
                for (at, value) in list.iter().enumerate() {
                    extend(out, if at > 0 { b", " } else { b"" })?;
                    value?.write_within(out, level + 1, steps)?;
                }
                extend(out, b"]")
            }
            Part::Object(members) => {
                check_level(level)?;
                out.push(b'{');
                for (at, member) in members.iter().enumerate() {
                    let (name, value) = member?;
                    extend(out, if at > 0 { b", " } else { b"" })?;
                    quoted(name.as_bytes(), out)?;
                    extend(out, b": ")?;
                    value.write_within(out, level + 1, steps)?;
                }
                extend(out, b"}")
            }
        }
    }
}

/// Appends what has a bounded length.
fn written(out: &mut Vec<u8>, shown: std::fmt::Arguments) -> Result<()> {
    // A vector takes whatever is written.
    let _ = out.write_fmt(shown);
    Ok(())
}

/// Appends a text in double quotes.
fn quoted(text: &[u8], out: &mut Vec<u8>) -> Result<()> {
    extend(out, b"\"")?;
    let mut rest = text;
    while let Some(plain) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..32)) {
        extend(out, &rest[..plain])?;
        match escape(rest[plain]) {
            Some(escaped) => extend(out, escaped.as_bytes())?,
            None => written(out, format_args!("\\u{:04x}", rest[plain]))?,
        }
        rest = &rest[plain + 1..];
    }
    extend(out, rest)?;
    extend(out, b"\"")
}
