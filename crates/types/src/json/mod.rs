//! JSON documents: reading, writing in MySQL's normal form, changes at a path. Paths are in `path`, the order of documents in
//! `order`, what they are as numbers in `convert`, as columns of JSON_TABLE in `column`, bytes in them in `opaque`, what the text does not tell in `marks`.
//!
//! A document is kept as text in its normal form: members of an object sorted by the length of their names, then by
//! their bytes; of equal names the last counts; a space after commas and colons. Functions read it into a tree, change
//! that, and write it again.

pub mod array;
mod column;
mod convert;
mod marks;
mod opaque;
mod order;
mod path;

pub use marks::shown_text;
pub use path::{Index, PathStep, find, has_wildcard, is_identifier, parse_path};

use crate::error::interrupt::Steps;
use crate::error::{Result as SqlResult, SqlError, er};
use crate::{Date, DateTime, Time};
use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::fmt::{self, Write};

/// A JSON document, or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integer that an `i64` holds.
    Int(i64),
    /// An unsigned one, or one above that.
    UInt(u64),
    /// Any other number.
    Double(f64),
    /// A DECIMAL, by its digits.
    Decimal(String),
    /// A text.
    String(String),
    /// A DATE. It is shown as a string, and the text of a document that was read has none; the same holds of the next two.
    Date(Date),
    /// A TIME.
    Time(Time),
    /// A DATETIME or TIMESTAMP.
    DateTime(DateTime),
    /// Bytes, and the number that their type has in the protocol; see `opaque`.
    Opaque(u8, Vec<u8>),
    /// Elements in order.
    Array(Vec<Json>),
    /// Members by name, sorted as MySQL sorts them, each name once.
    Object(Vec<(String, Json)>),
}

/// Why a text is not read as a document.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonError {
    /// The text is not JSON.
    Invalid {
        /// Where the text is wrong, in bytes.
        position: usize,
        /// MySQL's words for it.
        message: &'static str,
    },
    /// More than [`DEPTH_MAX`] arrays and objects stand inside each other.
    TooDeep,
}

impl JsonError {
    /// Returns error 3157 for a document that is too deep, and for a text that is not JSON what `invalid` makes of the message and the
    /// position.
    pub fn into_sql(self, invalid: impl FnOnce(&str, usize) -> SqlError) -> SqlError {
        match self {
            JsonError::Invalid { position, message } => invalid(message, position),
            JsonError::TooDeep => Self::too_deep(),
        }
    }

    /// Returns error 3157.
    pub fn too_deep() -> SqlError {
        SqlError::new(
            er::JSON_DOCUMENT_TOO_DEEP,
            "The JSON document exceeds the maximum depth.",
        )
    }
}

/// So many arrays and objects may stand inside each other, the outermost counted.
pub const DEPTH_MAX: usize = 100;

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

    /// Reads the text of a [`Val::Json`](crate::Val::Json), which is a document. A number with digits that a double does not show is a
    /// DECIMAL, without a mark.
    pub fn of_text(text: &[u8]) -> Json {
        let read = std::str::from_utf8(text)
            .ok()
            .and_then(|t| Json::read(t, true).ok());
        // A document is kept in its normal form, so it can be read.
        read.unwrap_or(Json::Null)
    }

    /// An object of these members; the last of equal names counts.
    pub fn object(mut members: Vec<(String, Json)>) -> Json {
        let is_sorted = members.windows(2).all(|pair| {
            let [(a, _), (b, _)] = pair else { return true };
            (a.len(), a.as_str()) < (b.len(), b.as_str())
        });
        if is_sorted {
            return Json::Object(members);
        }
        // Stable: of equal names the last stays behind the others.
        members.sort_by(|(a, _), (b, _)| (a.len(), a.as_str()).cmp(&(b.len(), b.as_str())));
        let mut out: Vec<(String, Json)> = Vec::with_capacity(members.len());
        for member in members {
            match out.last_mut() {
                Some(last) if last.0 == member.0 => *last = member,
                _ => out.push(member),
            }
        }
        Json::Object(out)
    }

    /// What `JSON_TYPE` calls it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Json::Null => "NULL",
            Json::Bool(_) => "BOOLEAN",
            Json::Int(_) => "INTEGER",
            Json::UInt(_) => "UNSIGNED INTEGER",
            Json::Double(_) => "DOUBLE",
            Json::Decimal(_) => "DECIMAL",
            Json::String(_) => "STRING",
            Json::Date(_) => "DATE",
            Json::Time(_) => "TIME",
            Json::DateTime(_) => "DATETIME",
            Json::Opaque(kind, _) => opaque::type_name(*kind),
            Json::Array(_) => "ARRAY",
            Json::Object(_) => "OBJECT",
        }
    }

    /// The text of a string, or the form in which bytes, dates and times are shown; what others are written as.
    pub fn form(&self) -> String {
        match self {
            Json::String(text) => text.clone(),
            Json::Opaque(kind, bytes) => opaque::write(*kind, bytes),
            Json::Date(v) => v.to_string(),
            Json::Time(v) => Time { fsp: 6, ..*v }.to_string(),
            Json::DateTime(v) => DateTime { fsp: 6, ..*v }.to_string(),
            other => other.to_string(),
        }
    }

    /// Members or elements; 1 for a scalar.
    pub fn length(&self) -> usize {
        match self {
            Json::Array(list) => list.len(),
            Json::Object(members) => members.len(),
            _ => 1,
        }
    }

    /// How deep arrays and objects nest; 1 for a scalar.
    pub fn depth(&self) -> usize {
        1 + match self {
            Json::Array(list) => list.iter().map(Json::depth).max().unwrap_or(0),
            Json::Object(members) => members.iter().map(|(_, v)| v.depth()).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// Whether more than [`DEPTH_MAX`] arrays and objects stand inside each other.
    pub fn is_too_deep(&self) -> bool {
        self.has_below(DEPTH_MAX)
    }

    /// Whether an array or object stands inside so many others.
    fn has_below(&self, levels: usize) -> bool {
        let deeper = |inner: &Json| inner.has_below(levels - 1);
        match self {
            Json::Array(_) | Json::Object(_) if levels == 0 => true,
            Json::Array(list) => list.iter().any(deeper),
            Json::Object(members) => members.iter().any(|(_, inner)| deeper(inner)),
            _ => false,
        }
    }

    /// The member of an object of this name.
    pub fn member(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.iter().find(|(n, _)| n == name).map(|(_, v)| v),
            _ => None,
        }
    }

    fn as_f64(&self) -> Option<f64> {
        match self {
            Json::Int(v) => Some(*v as f64),
            Json::UInt(v) => Some(*v as f64),
            Json::Double(v) => Some(*v),
            Json::Decimal(d) => d.parse().ok(),
            _ => None,
        }
    }

    /// `JSON_CONTAINS`: every part of the candidate is somewhere in this. Error 1317 if the statement is to end.
    pub fn contains(&self, candidate: &Json, steps: &mut Steps) -> SqlResult<bool> {
        steps.step()?;
        match (self, candidate) {
            (Json::Array(list), Json::Array(wanted)) => {
                for wanted in wanted {
                    if !any_contains(list, wanted, steps)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Json::Array(list), wanted) => any_contains(list, wanted, steps),
            (Json::Object(_), Json::Object(wanted)) if wanted.len() <= FEW => {
                for (name, wanted) in wanted {
                    let has = match self.member(name) {
                        Some(member) => member.contains(wanted, steps)?,
                        None => false,
                    };
                    if !has {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Json::Object(members), Json::Object(wanted)) => {
                let members: HashMap<&str, &Json> = members.iter().map(|(n, v)| (n.as_str(), v)).collect();
                for (name, wanted) in wanted {
                    let has = match members.get(name.as_str()) {
                        Some(member) => member.contains(wanted, steps)?,
                        None => false,
                    };
                    if !has {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(self.compare(candidate).is_eq()),
        }
    }

    /// RFC 7396: members of the patch replace, null removes.
    pub fn merge_patch(self, patch: Json) -> Json {
        let Json::Object(changes) = patch else {
            return patch;
        };
        let mut members = match self {
            Json::Object(members) => by_name(members),
            _ => BTreeMap::new(),
        };
        for (name, change) in changes {
            let key = (name.len(), name);
            let old = members.remove(&key).unwrap_or(Json::Null);
            if change != Json::Null {
                members.insert(key, old.merge_patch(change));
            }
        }
        of_names(members)
    }

    /// Arrays are joined, objects united, scalars become arrays.
    pub fn merge_preserve(self, other: Json) -> Json {
        match (self, other) {
            (Json::Object(a), Json::Object(b)) => {
                let mut members = by_name(a);
                for (name, value) in b {
                    let key = (name.len(), name);
                    let merged = match members.remove(&key) {
                        Some(old) => old.merge_preserve(value),
                        None => value,
                    };
                    members.insert(key, merged);
                }
                of_names(members)
            }
            (a, b) => {
                let list = |v| if let Json::Array(list) = v { list } else { vec![v] };
                let mut joined = list(a);
                joined.extend(list(b));
                Json::Array(joined)
            }
        }
    }
}

/// So many members are looked for one after the other.
const FEW: usize = 8;

fn any_contains(list: &[Json], wanted: &Json, steps: &mut Steps) -> SqlResult<bool> {
    for value in list {
        if value.contains(wanted, steps)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Members in the order of a document's normal form, to be found by name.
fn by_name(members: Vec<(String, Json)>) -> BTreeMap<(usize, String), Json> {
    let keyed = members
        .into_iter()
        .map(|(name, value)| ((name.len(), name), value));
    keyed.collect()
}

fn of_names(members: BTreeMap<(usize, String), Json>) -> Json {
    let members = members.into_iter().map(|((_, name), value)| (name, value));
    Json::Object(members.collect())
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    /// The text is in the normal form, in which a double never ends in a zero but that of `1.0`, and has at most
    /// [`DOUBLE_DIGITS`](Reader::DOUBLE_DIGITS) digits.
    is_normal: bool,
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

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, JsonError> {
        if self.text[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(value);
        }
        Err(self.error("Invalid value."))
    }

    fn value(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.spaces();
        if depth >= DEPTH_MAX && matches!(self.peek(), Some(b'[' | b'{')) {
            return Err(JsonError::TooDeep);
        }
        match self.peek() {
            Some(b'n') => self.word("null", Json::Null),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'"') => self.string().map(opaque::read),
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
            list.push(self.value(depth + 1)?);
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
            members.push((name, self.value(depth + 1)?));
            self.spaces();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Json::object(members));
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
                return Err(self.error("Missing fraction part in number."));
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            integer = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if !digits(self) {
                return Err(self.error("Missing exponent in number."));
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

    fn string(&mut self) -> Result<String, JsonError> {
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
                    out.extend_from_slice(self.escape()?.encode_utf8(&mut utf8).as_bytes());
                }
                Some(b) if b < 0x20 => return Err(self.error("Invalid encoding in string.")),
                Some(b) => {
                    out.push(b);
                    self.at += 1;
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
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
                    return char::from_u32(high)
                        .ok_or_else(|| self.error("Invalid surrogate pair in string."));
                }
                if !self.text[self.at..].starts_with(b"\\u") {
                    return Err(self.error("Invalid surrogate pair in string."));
                }
                self.at += 2;
                let low = self.hex4()?;
                let code = 0x10000 + ((high - 0xD800) << 10) + low.wrapping_sub(0xDC00);
                return char::from_u32(code).ok_or_else(|| self.error("Invalid surrogate pair in string."));
            }
            _ => return Err(self.error("Invalid escape character in string.")),
        };
        self.at += 1;
        Ok(c)
    }

    fn hex4(&mut self) -> Result<u32, JsonError> {
        let digits = self
            .text
            .get(self.at..self.at + 4)
            .and_then(|d| std::str::from_utf8(d).ok());
        let code = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
        let code = code.ok_or_else(|| self.error("Incorrect hex digit after \\u escape in string."))?;
        self.at += 4;
        Ok(code)
    }
}

/// A text in double quotes.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

impl Json {
    /// As JSON_PRETTY writes it: each element and each member on a line of its own, two blanks further in than what it stands in.
    pub fn indented(&self) -> String {
        let grown = self.indented_while(&mut |_| Ok::<bool, Infallible>(true));
        grown.ok().flatten().unwrap_or_default()
    }

    /// The same; `None` once `may_grow`, which is told how long the text is, says no.
    pub fn indented_while<E>(
        &self,
        may_grow: &mut dyn FnMut(usize) -> Result<bool, E>,
    ) -> Result<Option<String>, E> {
        let mut text = String::new();
        let whole = self.indent(0, &mut text, may_grow)?;
        Ok(whole.then_some(text))
    }

    fn indent<E>(
        &self,
        depth: usize,
        text: &mut String,
        may_grow: &mut dyn FnMut(usize) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let line = |depth: usize, text: &mut String| {
            text.push('\n');
            text.extend(std::iter::repeat_n("  ", depth));
        };
        match self {
            Json::Array(list) if !list.is_empty() => {
                text.push('[');
                for (i, value) in list.iter().enumerate() {
                    text.push_str(if i > 0 { "," } else { "" });
                    line(depth + 1, text);
                    if !value.indent(depth + 1, text, may_grow)? {
                        return Ok(false);
                    }
                }
                line(depth, text);
                text.push(']');
            }
            Json::Object(members) if !members.is_empty() => {
                text.push('{');
                for (i, (name, value)) in members.iter().enumerate() {
                    text.push_str(if i > 0 { "," } else { "" });
                    line(depth + 1, text);
                    text.push_str(&quoted(name));
                    text.push_str(": ");
                    if !value.indent(depth + 1, text, may_grow)? {
                        return Ok(false);
                    }
                }
                line(depth, text);
                text.push('}');
            }
            other => text.push_str(&other.to_string()),
        }
        may_grow(text.len())
    }
}

/// The alternate form is the one that is kept.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(b) => write!(f, "{b}"),
            Json::Int(v) => write!(f, "{v}"),
            Json::UInt(v) => {
                if f.alternate() && *v <= i64::MAX as u64 {
                    f.write_char(marks::MARK)?;
                }
                write!(f, "{v}")
            }
            Json::Decimal(v) => {
                if f.alternate() {
                    write!(f, "{0}{0}", marks::MARK)?;
                }
                f.write_str(v)
            }
            Json::Double(v) => {
                let text = crate::convert::format_double(*v);
                // A double stays one when it is read again.
                let whole = text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
                write!(f, "{text}{}", if whole { ".0" } else { "" })
            }
            Json::String(s) => f.write_str(&quoted(s)),
            Json::Date(_) | Json::Time(_) | Json::DateTime(_) => {
                if f.alternate() {
                    f.write_char(marks::MARK)?;
                }
                write!(f, "\"{}\"", self.form())
            }
            Json::Opaque(kind, bytes) => f.write_str(&quoted(&opaque::write(*kind, bytes))),
            Json::Array(list) => {
                f.write_str("[")?;
                for (i, value) in list.iter().enumerate() {
                    f.write_str(if i > 0 { ", " } else { "" })?;
                    fmt::Display::fmt(value, f)?;
                }
                f.write_str("]")
            }
            Json::Object(members) => {
                f.write_str("{")?;
                for (i, (name, value)) in members.iter().enumerate() {
                    write!(f, "{}{}: ", if i > 0 { ", " } else { "" }, quoted(name))?;
                    fmt::Display::fmt(value, f)?;
                }
                f.write_str("}")
            }
        }
    }
}

/// What a changing function does at its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEdit {
    /// JSON_SET: replaces what is there, or adds.
    Set,
    /// JSON_INSERT: only adds.
    Insert,
    /// JSON_REPLACE: only replaces.
    Replace,
    /// JSON_ARRAY_APPEND: adds to the array that is there.
    Append,
    /// JSON_ARRAY_INSERT: moves the element that is there, and those behind it, to make room.
    ArrayInsert,
    /// JSON_REMOVE
    Remove,
}

/// Changes the place a path (without wildcards) leads to.
pub fn change(root: &mut Json, path: &[PathStep], kind: PathEdit, value: &Json) {
    // A scalar is its own first element, however often that is said.
    let leads_to_itself = |step: &&PathStep| match step {
        PathStep::Element(index) => index.position(1) == Some(0),
        _ => false,
    };
    let skipped = match root {
        Json::Array(_) => 0,
        _ if kind == PathEdit::Remove => 0,
        _ => path.iter().take_while(leads_to_itself).count(),
    };
    let Some((step, rest)) = path[skipped..].split_first() else {
        match kind {
            PathEdit::Set | PathEdit::Replace => *root = value.clone(),
            PathEdit::Append => {
                let old = std::mem::replace(root, Json::Null);
                let mut list = if let Json::Array(list) = old {
                    list
                } else {
                    vec![old]
                };
                list.push(value.clone());
                *root = Json::Array(list);
            }
            PathEdit::Insert | PathEdit::ArrayInsert | PathEdit::Remove => {}
        }
        return;
    };
    let adds = matches!(kind, PathEdit::Set | PathEdit::Insert) && rest.is_empty();
    match (step, root) {
        (PathStep::Member(name), Json::Object(members)) => {
            match members.iter().position(|(n, _)| n == name) {
                Some(at) if kind == PathEdit::Remove && rest.is_empty() => {
                    members.remove(at);
                }
                Some(at) => change(&mut members[at].1, rest, kind, value),
                None if adds => {
                    let mut all = std::mem::take(members);
                    all.push((name.clone(), value.clone()));
                    if let Json::Object(sorted) = Json::object(all) {
                        *members = sorted;
                    }
                }
                None => {}
            }
        }
        (PathStep::Element(index), Json::Array(list)) => match index.position(list.len()) {
            Some(at) if at < list.len() && kind == PathEdit::Remove && rest.is_empty() => {
                list.remove(at);
            }
            at if kind == PathEdit::ArrayInsert && rest.is_empty() => {
                list.insert(at.unwrap_or(0).min(list.len()), value.clone());
            }
            Some(at) if at < list.len() => change(&mut list[at], rest, kind, value),
            Some(_) if adds => list.push(value.clone()),
            None if adds => list.insert(0, value.clone()),
            _ => {}
        },
        (PathStep::Element(index), root) if adds => {
            let old = std::mem::replace(root, Json::Null);
            *root = Json::Array(match index {
                Index::FromFirst(_) => vec![old, value.clone()],
                Index::FromLast(_) => vec![value.clone(), old],
            });
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(text: &str) -> String {
        match Json::parse(text) {
            Ok(document) => document.to_string(),
            Err(JsonError::Invalid { position, message }) => format!("{message} at {position}"),
            Err(JsonError::TooDeep) => "too deep".to_owned(),
        }
    }

    #[test]
    fn normal_form() {
        assert_eq!(
            normal(r#"{"bb":1,"a":[1,2.0,"x\n"],"a":null}"#),
            r#"{"a": null, "bb": 1}"#
        );
        assert_eq!(
            normal("[1e2, -0.5, true, 18446744073709551615]"),
            "[100.0, -0.5, true, 18446744073709551615]"
        );
        assert_eq!(normal(r#""\u00e9\ud83d\ude00""#), "\"é😀\"");
        assert_eq!(normal("[1,]"), "Invalid value. at 3");
        assert_eq!(
            normal("{\"a\" 1}"),
            "Missing a colon after a name of object member. at 5"
        );
        assert!(Json::parse(&"[".repeat(500)).is_err());
    }

    #[test]
    fn a_hundred_arrays_stand_inside_each_other() {
        for inner in ["", "1"] {
            let nested = |levels: usize| format!("{}{inner}{}", "[".repeat(levels), "]".repeat(levels));
            let deepest = Json::parse(&nested(DEPTH_MAX)).unwrap();
            assert!(!deepest.is_too_deep());
            assert!(Json::Array(vec![deepest.clone()]).is_too_deep());
            assert!(Json::object(vec![("a".to_owned(), deepest)]).is_too_deep());
            assert_eq!(Json::parse(&nested(DEPTH_MAX + 1)), Err(JsonError::TooDeep));
        }
        assert!(!Json::Null.is_too_deep());
    }

    #[test]
    fn changes_happen_where_their_path_leads() {
        let mut changed = Json::parse(r#"{"a": [1, {"b": 2}], "c d": {"b": 3}}"#).unwrap();
        change(
            &mut changed,
            &parse_path("$.a[5]").unwrap(),
            PathEdit::Set,
            &Json::Int(9),
        );
        change(
            &mut changed,
            &parse_path("$.\"c d\"").unwrap(),
            PathEdit::Remove,
            &Json::Null,
        );
        assert_eq!(changed.to_string(), r#"{"a": [1, {"b": 2}, 9]}"#);
        let itself = format!("$.a[0]{}", "[0]".repeat(100_000));
        change(
            &mut changed,
            &parse_path(&itself).unwrap(),
            PathEdit::Set,
            &Json::Int(7),
        );
        assert_eq!(changed.to_string(), r#"{"a": [7, {"b": 2}, 9]}"#);
    }
}
