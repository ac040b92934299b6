//! JSON documents, and how they are written in MySQL's normal form. They are read in `reader` and changed in `edit`. Paths are in
//! `path`, the order of documents in `order`, what they are as numbers in `convert`, the memory that they take in `growth`, as columns
//! of JSON_TABLE in `column`, bytes in them in `opaque`, how they are stored in `binary`, and were before in `marks`.
//!
//! A document is stored in a binary form, in which paths are followed where it lies. Functions that change a document, or look at most of it, read
//! it into a tree and write that again. Its text is in MySQL's normal form: members of an object sorted by the length of their names, then by
//! their bytes; of equal names the last counts; a space after commas and colons.

pub mod array;
pub mod binary;
mod column;
mod convert;
mod edit;
mod growth;
mod marks;
mod opaque;
mod order;
mod path;
mod reader;

pub use binary::shown_text;
pub use edit::{PathEdit, change};
pub use growth::push;
pub use opaque::shown_bytes;
pub use path::{Index, PathStep, find, has_wildcard, is_identifier, parse_path};

use crate::error::interrupt::Steps;
use crate::error::memory::reserve_memory;
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
    /// The statement ends, or there is no memory for the tree.
    Ended(SqlError),
}

impl From<SqlError> for JsonError {
    fn from(error: SqlError) -> JsonError {
        JsonError::Ended(error)
    }
}

impl JsonError {
    /// Returns error 3157 for a document that is too deep, what ends the statement, and for a text that is not JSON what `invalid` makes of
    /// the message and the position.
    pub fn into_sql(self, invalid: impl FnOnce(&str, usize) -> SqlError) -> SqlError {
        match self {
            JsonError::Invalid { position, message } => invalid(message, position),
            JsonError::TooDeep => Self::too_deep(),
            JsonError::Ended(error) => error,
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
    pub fn merge_patch(self, patch: Json, steps: &mut Steps) -> SqlResult<Json> {
        let Json::Object(changes) = patch else {
            return Ok(patch);
        };
        let mut members = match self {
            Json::Object(members) => by_name(members, steps)?,
            _ => BTreeMap::new(),
        };
        for (name, change) in changes {
            steps.step()?;
            let key = (name.len(), name);
            let old = members.remove(&key).unwrap_or(Json::Null);
            if change != Json::Null {
                members.insert(key, old.merge_patch(change, steps)?);
            }
        }
        of_names(members)
    }

    /// Arrays are joined, objects united, scalars become arrays.
    pub fn merge_preserve(self, other: Json, steps: &mut Steps) -> SqlResult<Json> {
        match (self, other) {
            (Json::Object(a), Json::Object(b)) => {
                let mut members = by_name(a, steps)?;
                for (name, value) in b {
                    steps.step()?;
                    let key = (name.len(), name);
                    let merged = match members.remove(&key) {
                        Some(old) => old.merge_preserve(value, steps)?,
                        None => value,
                    };
                    members.insert(key, merged);
                }
                of_names(members)
            }
            (a, b) => {
                let list = |v| if let Json::Array(list) = v { list } else { vec![v] };
                let (mut joined, more) = (list(a), list(b));
                growth::grow(&mut joined, more.len())?;
                joined.extend(more);
                Ok(Json::Array(joined))
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
fn by_name(members: Vec<(String, Json)>, steps: &mut Steps) -> SqlResult<BTreeMap<(usize, String), Json>> {
    let _room = reserve_memory(members.len() * size_of::<(usize, String, Json)>())?;
    let mut named = BTreeMap::new();
    for (name, value) in members {
        steps.step()?;
        named.insert((name.len(), name), value);
    }
    Ok(named)
}

fn of_names(named: BTreeMap<(usize, String), Json>) -> SqlResult<Json> {
    let mut members = Vec::new();
    growth::grow(&mut members, named.len())?;
    members.extend(named.into_iter().map(|((_, name), value)| (name, value)));
    Ok(Json::Object(members))
}

/// A text in double quotes.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    // A string takes whatever is written.
    let _ = write_quoted(text, &mut out);
    out
}

/// Returns the escape that a byte of a string has of its own. Other control characters are written by their number.
fn escape(byte: u8) -> Option<&'static str> {
    Some(match byte {
        b'"' => "\\\"",
        b'\\' => "\\\\",
        8 => "\\b",
        12 => "\\f",
        b'\n' => "\\n",
        b'\r' => "\\r",
        b'\t' => "\\t",
        _ => return None,
    })
}

/// Returns a double as a document shows it: it stays one when it is read again.
fn double_text(value: f64) -> String {
    let mut text = crate::convert::format_double(value);
    if text.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
        text.push_str(".0");
    }
    text
}

fn write_quoted(text: &str, out: &mut dyn Write) -> fmt::Result {
    out.write_char('"')?;
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        if !matches!(byte, b'"' | b'\\' | 0..32) {
            continue;
        }
        out.write_str(&text[plain..at])?;
        match escape(byte) {
            None => write!(out, "\\u{byte:04x}")?,
            Some(escaped) => out.write_str(escaped)?,
        }
        plain = at + 1;
    }
    out.write_str(&text[plain..])?;
    out.write_char('"')
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

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(b) => write!(f, "{b}"),
            Json::Int(v) => write!(f, "{v}"),
            Json::UInt(v) => write!(f, "{v}"),
            Json::Decimal(v) => f.write_str(v),
            Json::Double(v) => f.write_str(&double_text(*v)),
            Json::String(s) => write_quoted(s, f),
            Json::Date(_) | Json::Time(_) | Json::DateTime(_) => write!(f, "\"{}\"", self.form()),
            Json::Opaque(kind, bytes) => write_quoted(&opaque::write(*kind, bytes), f),
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
                    f.write_str(if i > 0 { ", " } else { "" })?;
                    write_quoted(name, f)?;
                    f.write_str(": ")?;
                    fmt::Display::fmt(value, f)?;
                }
                f.write_str("}")
            }
        }
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
            Err(JsonError::Ended(error)) => panic!("{error:?}"),
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
            assert!(deepest.stored().is_ok());
            let too_deep = |document: Json| {
                document
                    .stored()
                    .is_err_and(|e| e.code == er::JSON_DOCUMENT_TOO_DEEP)
            };
            assert!(too_deep(Json::Array(vec![deepest.clone()])));
            assert!(too_deep(Json::object(vec![("a".to_owned(), deepest)])));
            assert_eq!(Json::parse(&nested(DEPTH_MAX + 1)), Err(JsonError::TooDeep));
        }
    }
}
