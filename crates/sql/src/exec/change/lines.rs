//! The lines of a file, field by field, as LOAD DATA reads them.
//!
//! Bytes come in parts; what is kept is the part at hand and the field being put together, which counts against the statement's
//! memory. An escape makes the next byte plain, but for `\\n`, `\\t` and their kin; `\\N` alone is NULL, enclosed or not. An enclosed field ends at the
//! enclosing byte only where the end of a field or of the line follows; doubled, that byte stands for itself. What divides fields is looked
//! for where a character begins: one of several bytes is taken as a whole, an escape in front of it makes escapes within it count, and a
//! byte that begins none is error 1300. Where nothing divides or encloses fields, each has so many bytes (an escape and what follows count as one),
//! nothing is NULL, and a line may end early.

use crate::error::memory::check_memory;
use crate::error::{Result, SqlError};
use crate::parse::ast::FileFormat;
use crate::types::Charset;

/// Puts the next part in the place of what it is given; false: there is none.
pub type NextPart<'a> = Box<dyn FnMut(&mut Vec<u8>) -> Result<bool> + 'a>;

/// Longest field.
const FIELD_MAX: usize = 1 << 30;
/// After so many bytes, those read again included, it is asked whether the statement may go on.
const ASKED_EVERY: usize = 64 << 10;

pub struct Lines<'a> {
    next: NextPart<'a>,
    /// An error if the statement is to end.
    may_go_on: &'a dyn Fn() -> Result<()>,
    taken: usize,
    part: Vec<u8>,
    at: usize,
    /// Bytes that were read too far, the next one last.
    back: Vec<u8>,
    ended: bool,
    field_end: Vec<u8>,
    line_end: Vec<u8>,
    /// Lines are skipped by their ends, even where these are taken for ends of fields.
    skips_by_ends: bool,
    line_start: Vec<u8>,
    /// What lines begin with is looked for next.
    is_before_start: bool,
    enclosed: Option<u8>,
    escape: Option<u8>,
    charset: Charset,
    /// The bytes of each field, where nothing else tells where it ends.
    widths: Option<&'a [usize]>,
    /// How many fields of the line have been read.
    read: usize,
    at_line_end: bool,
    pub field: Vec<u8>,
}

/// How a field stood in the line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Null,
    Text,
    /// There are no more fields in the line.
    Missing,
}

impl<'a> Lines<'a> {
    pub fn new(
        format: &FileFormat,
        charset: Charset,
        widths: Option<&'a [usize]>,
        next: NextPart<'a>,
        may_go_on: &'a dyn Fn() -> Result<()>,
    ) -> Lines<'a> {
        // Where both end alike, there are only fields.
        let line_end = match format.line_end == format.field_end {
            true => Vec::new(),
            false => format.line_end.clone(),
        };
        Lines {
            next,
            may_go_on,
            taken: 0,
            part: Vec::new(),
            at: 0,
            back: Vec::new(),
            ended: false,
            field_end: format.field_end.clone(),
            line_end,
            skips_by_ends: !format.line_end.is_empty(),
            is_before_start: true,
            line_start: format.line_start.clone(),
            enclosed: format.enclosed.first().copied(),
            escape: format.escaped.first().copied(),
            charset,
            widths,
            read: 0,
            at_line_end: false,
            field: Vec::new(),
        }
    }

    /// Reads what is left of the client's file, without looking at it.
    pub fn drain(&mut self) {
        while let Ok(true) = (self.next)(&mut self.part) {}
    }

    /// Passes over so many lines; false if there are no more. Lines without an end are told apart by their fields.
    pub fn skip(&mut self, lines: u64, fields: usize) -> Result<bool> {
        for _ in 0..lines {
            match self.widths {
                Some(widths) if self.line_end.is_empty() => {
                    let begins = self.begin()?;
                    for _ in widths {
                        self.next_field()?;
                    }
                    if !begins {
                        return Ok(false);
                    }
                    self.next_line()?;
                }
                None if self.line_end.is_empty() && self.skips_by_ends => return Ok(true),
                None if self.line_end.is_empty() => {
                    if !self.begin()? {
                        return Ok(false);
                    }
                    for _ in 0..fields {
                        self.next_field()?;
                    }
                }
                _ => {
                    if self.next_line()?.is_none() {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    fn get(&mut self) -> Result<Option<u8>> {
        self.taken = self.taken.wrapping_add(1);
        if self.taken.is_multiple_of(ASKED_EVERY) {
            (self.may_go_on)()?;
        }
        if let Some(byte) = self.back.pop() {
            return Ok(Some(byte));
        }
        if self.at == self.part.len() {
            if self.ended || !(self.next)(&mut self.part)? {
                self.ended = true;
                self.part.clear();
                self.at = 0;
                return Ok(None);
            }
            self.at = 0;
        }
        self.at += 1;
        Ok(Some(self.part[self.at - 1]))
    }

    /// Whether the rest of `end` follows, whose first byte has been read; takes it if so.
    fn follows(&mut self, end: &[u8]) -> Result<bool> {
        for (at, wanted) in end.iter().enumerate().skip(1) {
            let found = self.get()?;
            if found != Some(*wanted) {
                self.back.extend(found);
                self.back.extend(end[1..at].iter().rev());
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn ends_line(&mut self, byte: u8) -> Result<bool> {
        if self.line_end.first() != Some(&byte) {
            return Ok(false);
        }
        let end = std::mem::take(&mut self.line_end);
        let follows = self.follows(&end);
        self.line_end = end;
        follows
    }

    fn ends_field(&mut self, byte: u8) -> Result<bool> {
        if self.field_end.first() != Some(&byte) {
            return Ok(false);
        }
        let end = std::mem::take(&mut self.field_end);
        let follows = self.follows(&end);
        self.field_end = end;
        follows
    }

    /// Whether a line begins here: passes over what stands in front of the text that lines begin with.
    pub fn begin(&mut self) -> Result<bool> {
        if std::mem::take(&mut self.is_before_start) && !self.line_start.is_empty() {
            let start = std::mem::take(&mut self.line_start);
            let found = self.find_start(&start);
            self.line_start = start;
            if !found? {
                return Ok(false);
            }
        }
        Ok(!self.is_at_end()?)
    }

    fn find_start(&mut self, start: &[u8]) -> Result<bool> {
        loop {
            match self.get()? {
                None => return Ok(false),
                Some(byte) if byte == start[0] && self.follows(start)? => return Ok(true),
                Some(_) => {}
            }
        }
    }

    /// The next field of the line, in [`Lines::field`].
    pub fn next_field(&mut self) -> Result<Field> {
        if self.at_line_end {
            return Ok(Field::Missing);
        }
        self.field.clear();
        if let Some(widths) = self.widths {
            let width = widths.get(self.read).copied().unwrap_or(0);
            self.read += 1;
            return self.fixed_field(width);
        }
        let Some(first) = self.get()? else {
            self.at_line_end = true;
            return Ok(Field::Missing);
        };
        let quote = self.enclosed.filter(|enclosed| *enclosed == first);
        if quote.is_none() {
            self.back.push(first);
        }
        let (null, closed) = self.rest_of_field(quote)?;
        if let (Some(quote), false) = (quote, closed) {
            self.field.insert(0, quote);
        }
        // Where fields are enclosed, a bare NULL is one.
        let bare = !closed && self.enclosed.is_some() && self.field == b"NULL";
        Ok(match null && self.field == b"N" || bare {
            true => Field::Null,
            false => Field::Text,
        })
    }

    /// A field of so many bytes, or of fewer at the end of the line.
    fn fixed_field(&mut self, width: usize) -> Result<Field> {
        while self.field.len() < width {
            match self.get()? {
                None => self.at_line_end = true,
                Some(byte) if Some(byte) == self.escape => {
                    let next = self.get()?;
                    self.push(next.map_or(byte, unescaped))?;
                    continue;
                }
                Some(byte) if self.ends_line(byte)? => self.at_line_end = true,
                Some(byte) => {
                    self.push(byte)?;
                    continue;
                }
            }
            break;
        }
        Ok(match self.at_line_end && self.field.is_empty() {
            true => Field::Missing,
            false => Field::Text,
        })
    }

    /// Reads up to the end of the field. Whether it has had `\\N` in it; whether it was enclosed.
    fn rest_of_field(&mut self, quote: Option<u8>) -> Result<(bool, bool)> {
        let mut null = false;
        let mut in_escaped = false;
        loop {
            let Some(mut byte) = self.get()? else {
                self.at_line_end = true;
                return Ok((null, false));
            };
            // An escape in front of a character of several bytes is followed by the character itself, which may be an escape.
            if Some(byte) == self.escape {
                let Some(next) = self.get()? else {
                    self.push(byte)?;
                    self.at_line_end = true;
                    return Ok((null, false));
                };
                if self.escape == self.enclosed && Some(next) != self.escape {
                    self.back.push(next);
                } else if self.charset.bytes_of_lead(next) == 1 {
                    null |= next == b'N';
                    self.push(unescaped(next))?;
                    continue;
                } else {
                    in_escaped = true;
                    self.back.push(next);
                    continue;
                }
            }
            if quote.is_none() && self.ends_line(byte)? {
                self.at_line_end = true;
                return Ok((null, false));
            }
            if Some(byte) == quote {
                match self.get()? {
                    None => {
                        self.at_line_end = true;
                        return Ok((null, true));
                    }
                    Some(next) if Some(next) == quote => {
                        self.push(next)?;
                        continue;
                    }
                    Some(next) if self.ends_line(next)? => {
                        self.at_line_end = true;
                        return Ok((null, true));
                    }
                    Some(next) if self.ends_field(next)? => return Ok((null, true)),
                    Some(next) => {
                        self.back.push(next);
                        byte = quote.unwrap_or(byte);
                    }
                }
            } else if quote.is_none() && self.ends_field(byte)? {
                return Ok((null, false));
            }
            if !self.push_character(byte, quote, &mut in_escaped)? {
                self.at_line_end = true;
                return Ok((null, false));
            }
        }
    }

    /// Adds the character that a byte begins, or the byte alone if no character follows; false if the file ends within it. Error 1300
    /// for a byte that begins none.
    fn push_character(&mut self, byte: u8, quote: Option<u8>, in_escaped: &mut bool) -> Result<bool> {
        match self.charset.bytes_of_lead(byte) {
            0 => {
                let read: Vec<u8> = quote.iter().chain(&self.field).copied().collect();
                Err(SqlError::invalid_field(self.charset.name(), &read))
            }
            1 => self.push(byte).map(|()| true),
            length => {
                let mut character = [byte; 4];
                for next in &mut character[1..length] {
                    let Some(mut found) = self.get()? else {
                        return Ok(false);
                    };
                    if *in_escaped && Some(found) == self.escape {
                        found = self.get()?.map_or(found, unescaped);
                    }
                    *next = found;
                }
                *in_escaped = false;
                let character = &character[..length];
                if !self.charset.is_character(character) {
                    self.back.extend(character[1..].iter().rev());
                    return self.push(byte).map(|()| true);
                }
                character
                    .iter()
                    .try_for_each(|byte| self.push(*byte))
                    .map(|()| true)
            }
        }
    }

    fn push(&mut self, byte: u8) -> Result<()> {
        self.field.push(byte);
        if self.field.len().is_multiple_of(64 << 10) {
            check_memory()?;
        }
        if self.field.len() > FIELD_MAX {
            return Err(SqlError::not_supported("a field of this length"));
        }
        Ok(())
    }

    /// Goes to the next line. `None`: there is none; otherwise whether anything was left of this one.
    pub fn next_line(&mut self) -> Result<Option<bool>> {
        self.read = 0;
        self.is_before_start = true;
        if std::mem::take(&mut self.at_line_end) {
            return Ok((!self.is_at_end()?).then_some(false));
        }
        if self.line_end.is_empty() {
            return Ok((!self.is_at_end()?).then_some(false));
        }
        let mut cut = false;
        loop {
            match self.rest_of_character()? {
                (None, _) => return Ok(None),
                // The end of a longer character escapes nothing.
                (Some(byte), true) if Some(byte) == self.escape => {}
                (Some(byte), false) if Some(byte) == self.escape => {
                    cut = true;
                    if self.get()?.is_none() {
                        return Ok(None);
                    }
                }
                (Some(byte), _) if self.ends_line(byte)? => return Ok(Some(cut)),
                (Some(_), _) => cut = true,
            }
        }
    }

    /// Passes over a character that is not looked at, but for its last byte; returns that, and whether there were others.
    fn rest_of_character(&mut self) -> Result<(Option<u8>, bool)> {
        let mut byte = self.get()?;
        let length = byte.map_or(1, |byte| self.charset.bytes_of_lead(byte));
        for _ in 1..length {
            byte = self.get()?;
        }
        Ok((byte, length > 1))
    }

    fn is_at_end(&mut self) -> Result<bool> {
        let next = self.get()?;
        self.back.extend(next);
        Ok(next.is_none())
    }
}

fn unescaped(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'0' => 0,
        b'Z' => 26,
        other => other,
    }
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
