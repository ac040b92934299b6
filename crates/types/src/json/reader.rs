//! Reads documents from text.

use super::{DEPTH_MAX, Json, JsonError, binary, growth, marks, opaque};
use crate::error::Result as SqlResult;
use crate::error::interrupt::Steps;

impl Json {
    /// Reads a document.
    pub fn parse(text: &str) -> Result<Json, JsonError> {
        Self::read(text, false)
    }

    fn read(text: &str, is_normal: bool) -> Result<Json, JsonError> {
        let mut reader = Reader {
            text: text.as_bytes(),
            at: 0,
            is_normal,
            steps: Steps::default(),
        };
        reader.spaces();
        if reader.at == text.len() {
            return Err(reader.error("The document is empty."));
        }
        let value = reader.value(0)?;
        reader.spaces();
        if reader.at < text.len() {
            return Err(reader.error("The document root must not be followed by other values."));
        }
        Ok(value)
    }

    /// Reads a document that an older version has stored as text, in the normal form and with marks. A number with digits that a double does not
    /// show is a DECIMAL, without a mark. Error 3142 if it is none; others if the statement is to end, or there is no memory for the tree.
    pub(super) fn of_text(text: &[u8]) -> SqlResult<Json> {
        let text = std::str::from_utf8(text).map_err(|_| binary::damaged())?;
        Json::read(text, true).map_err(|error| error.into_sql(|_, _| binary::damaged()))
    }
}

/// A place in a text that is read. Paths are read with it too.
pub(super) struct Reader<'a> {
    pub text: &'a [u8],
    pub at: usize,
    /// The text is in the normal form, in which a double never ends in a zero but that of `1.0`, and has at most
    /// [`DOUBLE_DIGITS`](Reader::DOUBLE_DIGITS) digits.
    pub is_normal: bool,
    /// Nodes that were read.
    pub steps: Steps,
}

impl Reader<'_> {
    /// A double is written with the fewest digits that tell it from others.
    const DOUBLE_DIGITS: usize = 17;

    /// Whether a number of the normal form, which has a point, is written otherwise than a double would be.
    fn is_decimal(written: &str) -> bool {
        let digits = written.trim_start_matches(['-', '0', '.']);
        let count = digits.bytes().filter(u8::is_ascii_digit).count();
        let ends_in_zero = written.ends_with('0') && !written.ends_with(".0");
        !written.contains('e') && (ends_in_zero || count > Self::DOUBLE_DIGITS)
    }

    fn error(&self, message: &'static str) -> JsonError {
        JsonError::Invalid {
            position: self.at,
            message,
        }
    }

    pub fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    pub fn spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, JsonError> {
        for byte in word.bytes() {
            if self.peek() != Some(byte) {
                return Err(self.error("Invalid value."));
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn value(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.steps.step()?;
        self.spaces();
        if depth >= DEPTH_MAX && matches!(self.peek(), Some(b'[' | b'{')) {
            return Err(JsonError::TooDeep);
        }
        match self.peek() {
            Some(b'n') => self.word("null", Json::Null),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'"') if self.is_normal => self.string().map(opaque::read),
            Some(b'"') => self.string().map(Json::String),
            Some(mark) if self.is_normal && mark == marks::MARK as u8 => {
                self.at += 1;
                self.marked()
            }
            Some(b'[') => self.array(depth),
            Some(b'{') => self.members(depth),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.error("Invalid value.")),
        }
    }

    /// What stands behind a mark.
    fn marked(&mut self) -> Result<Json, JsonError> {
        if self.peek() == Some(marks::MARK as u8) {
            self.at += 1;
            let start = self.at;
            self.number()?;
            let written = String::from_utf8_lossy(&self.text[start..self.at]);
            return Ok(Json::Decimal(written.into_owned()));
        }
        if self.peek() == Some(b'"') {
            return self.string().map(marks::moment);
        }
        Ok(match self.number()? {
            Json::Int(v) => Json::UInt(v.unsigned_abs()),
            other => other,
        })
    }

    fn array(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.at += 1;
        let mut list = Vec::new();
        self.spaces();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(list));
        }
        loop {
            growth::push(&mut list, self.value(depth + 1)?)?;
            self.spaces();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Json::Array(list));
                }
                _ => return Err(self.error("Missing a comma or ']' after an array element.")),
            }
        }
    }

    fn members(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.at += 1;
        let mut members = Vec::new();
        self.spaces();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(members));
        }
        loop {
            self.spaces();
            if self.peek() != Some(b'"') {
                return Err(self.error("Missing a name for object member."));
            }
            let name = self.string()?;
            self.spaces();
            if self.peek() != Some(b':') {
                return Err(self.error("Missing a colon after a name of object member."));
            }
            self.at += 1;
            growth::push(&mut members, (name, self.value(depth + 1)?))?;
            self.spaces();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Json::large_object(members)?);
                }
                _ => return Err(self.error("Missing a comma or '}' after an object member.")),
            }
        }
    }

    fn number(&mut self) -> Result<Json, JsonError> {
        let start = self.at;
        let digits = |r: &mut Self| {
            let from = r.at;
            while r.peek().is_some_and(|b| b.is_ascii_digit()) {
                r.at += 1;
            }
            r.at > from
        };
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else if !digits(self) {
            return Err(self.error("Invalid value."));
        }
        let mut integer = true;
        if self.peek() == Some(b'.') {
            integer = false;
            self.at += 1;
            if !digits(self) {
                return Err(self.error("Miss fraction part in number."));
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            integer = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if !digits(self) {
                return Err(self.error("Miss exponent in number."));
            }
        }
        let written = std::str::from_utf8(&self.text[start..self.at]).unwrap_or("0");
        if integer && let Ok(v) = written.parse() {
            return Ok(Json::Int(v));
        }
        if integer && let Ok(v) = written.parse() {
            return Ok(Json::UInt(v));
        }
        if self.is_normal && Self::is_decimal(written) {
            return Ok(Json::Decimal(written.to_owned()));
        }
        match written.parse::<f64>() {
            Ok(v) if v.is_finite() => Ok(Json::Double(v)),
            _ => Err(JsonError::Invalid {
                position: start,
                message: "Number too big to be stored in double.",
            }),
        }
    }

    pub fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let mut out = Vec::new();
        loop {
            match self.peek() {
                None => return Err(self.error("Missing a closing quotation mark in string.")),
                Some(b'"') => {
                    self.at += 1;
                    return String::from_utf8(out).map_err(|_| self.error("Invalid encoding in string."));
                }
                Some(b'\\') => {
                    let mut utf8 = [0; 4];
                    growth::extend(&mut out, self.escape()?.encode_utf8(&mut utf8).as_bytes())?;
                }
                Some(b) if b < 0x20 => return Err(self.error("Invalid encoding in string.")),
                Some(_) => {
                    let rest = &self.text[self.at..];
                    let ends = |b: &u8| matches!(b, b'"' | b'\\') || *b < 0x20;
                    let plain = rest.iter().position(ends).unwrap_or(rest.len());
                    growth::extend(&mut out, &rest[..plain])?;
                    self.at += plain;
                }
            }
        }
    }

    /// An escape. Errors are those of the backslash that begins it.
    fn escape(&mut self) -> Result<char, JsonError> {
        let start = self.at;
        self.escaped().map_err(|message| JsonError::Invalid {
            position: start,
            message,
        })
    }

    fn escaped(&mut self) -> Result<char, &'static str> {
        const NO_PAIR: &str = "The surrogate pair in string is invalid.";
        self.at += 1;
        let c = match self.peek() {
            Some(b @ (b'"' | b'\\' | b'/')) => b as char,
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                let high = self.hex4()?;
                if !(0xD800..0xDC00).contains(&high) {
                    return char::from_u32(high).ok_or(NO_PAIR);
                }
                if !self.text[self.at..].starts_with(b"\\u") {
                    return Err(NO_PAIR);
                }
                self.at += 2;
                let low = self.hex4()?;
                if !(0xDC00..0xE000).contains(&low) {
                    return Err(NO_PAIR);
                }
                let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                return char::from_u32(code).ok_or(NO_PAIR);
            }
            _ => return Err("Invalid escape character in string."),
        };
        self.at += 1;
        Ok(c)
    }

    fn hex4(&mut self) -> Result<u32, &'static str> {
        let digits = self
            .text
            .get(self.at..self.at + 4)
            .and_then(|d| std::str::from_utf8(d).ok());
        let code = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
        let code = code.ok_or("Incorrect hex digit after \\u escape in string.")?;
        self.at += 4;
        Ok(code)
    }
}
