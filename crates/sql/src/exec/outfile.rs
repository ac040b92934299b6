//! SELECT … INTO OUTFILE and INTO DUMPFILE: rows go into a new file of the server's machine.
//!
//! A row is put together in memory, since it may come from under a latch; the file is written between rows, a portion at a
//! time. Whatever ends the statement early, an error or KILL, removes the file.

use super::{Output, ScanControl};
use crate::context::SessionState;
use crate::context::files::NewFile;
use crate::error::memory::check_memory;
use crate::error::{Result, SqlError};
use crate::expr::{EvalCtx, Expr};
use crate::plan::file_form::{FileForm, is_text};
use crate::types::assign::{bad_bytes_of, shown_bytes};
use crate::types::convert::{format_double_fixed, format_float_fixed};
use crate::types::{Charset, SqlType, TypeKind, Val, Value};
use std::borrow::Cow;

/// The file is written in portions of about this size.
const PORTION_LEN: usize = 64 << 10;

pub struct FileOutput<'a> {
    session: &'a SessionState,
    file: NewFile,
    form: &'a FileForm,
    /// What is not in the file yet.
    buf: Vec<u8>,
    rows: u64,
}

impl<'a> FileOutput<'a> {
    /// Errors 1290, 1086 and 1 if the file may not be there, is there, or cannot be made.
    pub fn create(session: &'a SessionState, form: &'a FileForm) -> Result<FileOutput<'a>> {
        Ok(FileOutput {
            session,
            file: NewFile::create(session, &form.path)?,
            form,
            buf: Vec::new(),
            rows: 0,
        })
    }

    /// The file is complete; returns its number of rows.
    pub fn finish(mut self) -> Result<u64> {
        self.flush()?;
        self.file.keep();
        Ok(self.rows)
    }

    /// A row is put together in memory.
    fn check_room(&self) -> Result<()> {
        match self.buf.len() > PORTION_LEN {
            true => check_memory(),
            false => Ok(()),
        }
    }

    fn put(&mut self, at: usize, value: &Val, ty: &SqlType) {
        let form = self.form;
        if form.dump {
            match value {
                Val::Null => self.buf.push(0),
                value => self.buf.extend_from_slice(&bytes_of(value, ty, None)),
            }
            return;
        }
        if at == 0 {
            self.buf.extend_from_slice(&form.line_start);
        } else {
            self.buf.extend_from_slice(&form.field_end);
        }
        let mut used = 0;
        match (value, &form.widths) {
            (Val::Null, Some(_)) => {}
            (Val::Null, None) => match form.escape {
                Some(escape) => self.buf.extend_from_slice(&[escape, b'N']),
                None => self.buf.extend_from_slice(b"NULL"),
            },
            (value, widths) => {
                self.warn_of_loss(at, value, ty);
                let bytes = bytes_of(value, ty, form.charset);
                let bytes = match value {
                    Val::Str(own) if ty.is_binary_string() => self.known(at, bytes, own),
                    _ => bytes,
                };
                let width = widths.as_ref().map_or(usize::MAX, |widths| widths[at]);
                used = bytes.len().min(width);
                self.value(&bytes[..used], ty, self.is_wide(ty));
            }
        }
        if let Some(widths) = &form.widths {
            // Escapes do not count.
            self.buf.resize(self.buf.len() + widths[at] - used, b' ');
        }
    }

    /// Warning 1366 for a text that the file's character set has not all of.
    fn warn_of_loss(&self, at: usize, value: &Val, ty: &SqlType) {
        if let (Val::Str(_) | Val::Json(_) | Val::Member(..), Some(charset)) = (value, self.form.charset)
            && ty.is_string()
            && !ty.is_binary_string()
            && let text = value.to_text()
            && !charset.can_write(&text)
        {
            let shown = bad_bytes_of(&text, ty.collation.charset(), charset);
            let name = &self.form.names[at];
            let row = self.rows + 1;
            let warnings = &self.session.warnings;
            warnings.warn(SqlError::incorrect_value_for_column("string", &shown, name, row));
        }
    }

    /// Returns a binary value up to its first byte that is no text in the file's character set. In a set of single bytes every byte is text.
    /// Warning 1366 shows the rest of the value, without the zeros that fill it up in front.
    fn known<'v>(&self, at: usize, bytes: Cow<'v, [u8]>, own: &[u8]) -> Cow<'v, [u8]> {
        let known = match self.form.charset {
            None | Some(Charset::Bytes(_)) => bytes.len(),
            Some(charset) => charset.well_formed_bytes(&bytes),
        };
        if known == bytes.len() {
            return bytes;
        }
        let zeros = bytes.len() - own.len();
        let shown = shown_bytes(&bytes[known.max(zeros)..], Charset::Binary);
        let name = &self.form.names[at];
        let error = SqlError::incorrect_value_for_column("string", &shown, name, self.rows + 1);
        self.session.warnings.warn(error);
        bytes[..known].to_vec().into()
    }

    /// Whether values of a type are written in characters that all have several bytes.
    fn is_wide(&self, ty: &SqlType) -> bool {
        match self.form.charset {
            Some(charset) => charset.min_bytes() > 1,
            None => ty.is_string() && ty.collation.charset().min_bytes() > 1,
        }
    }

    /// Adds a value's bytes. A character of several bytes needs no escape.
    fn value(&mut self, bytes: &[u8], ty: &SqlType, wide: bool) {
        let form = self.form;
        let enclosed = form.enclosed.filter(|_| !form.optionally || is_text(ty));
        let enclosing = enclosed.map_or(&[][..], |_| &form.enclosing);
        self.buf.extend_from_slice(enclosing);
        match form.escape {
            Some(escape) if !wide && (is_text(ty) || form.separator_is_of_numbers()) => {
                let own = ty.collation.charset();
                let charset = form.charset.filter(|_| is_text(ty)).unwrap_or(own);
                self.escaped(bytes, charset, escape, enclosed.is_some());
            }
            _ => self.buf.extend_from_slice(bytes),
        }
        self.buf.extend_from_slice(enclosing);
    }

    /// The bytes with an escape in front of each that a reader would take for something else: of characters of several bytes none.
    fn escaped(&mut self, bytes: &[u8], charset: Charset, escape: u8, enclosed: bool) {
        let form = self.form;
        let (separator, field_end) = (form.separator(), form.field_end.first().copied());
        let line_end = form.line_end.first().copied();
        let mut rest = bytes;
        while let Some((&byte, behind)) = rest.split_first() {
            let length = charset.bytes_of_lead(byte);
            if length > 1 && rest.get(..length).is_some_and(|c| charset.is_character(c)) {
                let (character, behind) = rest.split_at(length);
                self.buf.extend_from_slice(character);
                rest = behind;
                continue;
            }
            rest = behind;
            let is = |other: Option<u8>| other == Some(byte);
            let divides = if enclosed { is(separator) } else { is(field_end) };
            let needs = byte == escape || divides || is(line_end) || byte == 0;
            // Doubling is for the enclosing character alone.
            let undoubled = !enclosed && form.is_ambiguous && is(field_end);
            if needs && !undoubled {
                let doubled = is(separator) && FileForm::is_escape(separator);
                self.buf.push(if doubled { byte } else { escape });
            }
            self.buf.push(if needs && byte == 0 { b'0' } else { byte });
        }
    }

    fn end(&mut self) -> Result<ScanControl> {
        if !self.form.dump {
            self.buf.extend_from_slice(&self.form.line_end);
        } else if self.rows > 0 {
            return Err(SqlError::too_many_rows());
        }
        self.rows += 1;
        Ok(match self.buf.len() >= PORTION_LEN {
            true => ScanControl::Pause,
            false => ScanControl::Next,
        })
    }
}

impl Output for FileOutput<'_> {
    fn row(&mut self, exprs: &[Expr], ctx: &EvalCtx) -> Result<ScanControl> {
        for (at, expr) in exprs.iter().enumerate() {
            let value = expr.eval(ctx)?;
            self.put(at, &value, &expr.ty);
            self.check_room()?;
        }
        self.end()
    }

    fn values(&mut self, row: &[Value]) -> Result<ScanControl> {
        let form = self.form;
        for (at, (value, ty)) in row.iter().zip(&form.types).enumerate() {
            self.put(at, value, ty);
            self.check_room()?;
        }
        self.end()
    }

    fn flush(&mut self) -> Result<()> {
        self.file.write(&self.buf)?;
        self.buf.clear();
        Ok(())
    }
}

/// Bytes with zeros in front, so that they are whole characters of a set.
fn aligned(bytes: &[u8], charset: Option<Charset>) -> Cow<'_, [u8]> {
    let unit = charset.map_or(1, Charset::min_bytes) as usize;
    match bytes.len() % unit {
        0 => bytes.into(),
        more => [vec![0; unit - more], bytes.to_vec()].concat().into(),
    }
}

/// A value as a client would be sent it, in its own character set or in another.
fn bytes_of<'v>(value: &'v Val, ty: &SqlType, charset: Option<Charset>) -> Cow<'v, [u8]> {
    match value {
        Val::UInt(bits) if ty.kind == TypeKind::Bit => {
            let bytes = bits.to_be_bytes();
            let bytes = &bytes[8 - ty.length.div_ceil(8).clamp(1, 8) as usize..];
            aligned(bytes, charset).into_owned().into()
        }
        Val::Str(bytes) if ty.is_binary_string() => aligned(bytes, charset),
        Val::Str(_) | Val::Json(_) | Val::Member(..) if ty.is_string() && !ty.is_binary_string() => {
            let charset = charset.unwrap_or(ty.collation.charset());
            match value.to_text() {
                Cow::Borrowed(text) => charset.write(text),
                Cow::Owned(text) => charset.write(&text).into_owned().into(),
            }
        }
        value => {
            let text = match value {
                Val::Double(value) => format_double_fixed(*value, ty.scale).into_bytes().into(),
                Val::Float(value) => format_float_fixed(*value, ty.scale).into_bytes().into(),
                value => value.to_text(),
            };
            let zeros = match ty.kind {
                TypeKind::Year => 4,
                _ if ty.zerofill => ty.length as usize,
                _ => 0,
            };
            let text = match zeros.checked_sub(text.len()) {
                Some(missing) if missing > 0 => [vec![b'0'; missing], text.into_owned()].concat().into(),
                _ => text,
            };
            match charset.and_then(|charset| charset.encode(&text)) {
                Some(encoded) => encoded.into(),
                None => text,
            }
        }
    }
}
