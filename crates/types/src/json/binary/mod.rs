//! The binary form of documents, in which they are stored and handed around: a path finds its member without reading the others.
//!
//! A value begins with its kind and ends where what it stands in says, so a part of a document is a document, and is handed on as the bytes
//! that it has there. All numbers are little-endian.
//!
//! ```text
//!  80 null   81 false   82 true
//!  83 integer │ signed, of 1, 2, 4 or 8 bytes                84 the same, unsigned
//!  85 double │ 8 bytes                                       86 DECIMAL │ its digits
//!  87 string │ UTF-8                                         88 bytes │ number of their type in the protocol u8 │ bytes
//!  89 date │ packed u64                                      8A dates with time: the same   8B time │ microseconds i64
//!  90 + w array  │ values │ end of each value │ count
//!  94 + w object │ of each member: name, value │ of each member: end of the name, end of the value │ count
//! ```
//!
//! Ends are counted from the byte of the kind, and the first value begins at 1. They and the count have 1 << w bytes, as few as they need
//! (w is 0, 1 or 2). The table stands at the end, so a document is written in one go, from the first byte to the last. Members are sorted by the
//! length of their names, then by their bytes, and each name is there once: a name is found by binary search, an element by its number.
//!
//! **Versions.** The first byte of a document is also the version of the form. The text of a document begins with a byte below 80, so one that was
//! stored as text, as all were up to version 7 of the data's format, is told from this form by it, and is read as before (`reader`).
//! Another form would take first bytes from A0 on.
//!
//! **Damage.** Nothing is taken for granted: each end must lie between the one before and the table, no container deeper than
//! [`DEPTH_MAX`](super::DEPTH_MAX) is entered, texts are checked. So values do not overlap, and a walk takes no more steps than there are bytes, whatever these are.
//! What does not fit is error 3142.

mod list;
mod text;
mod view;
mod walk;
mod write;

#[cfg(test)]
mod tests;

pub use text::shown_text;
pub use view::{Part, View};
pub use walk::{place, places};
pub use write::ArrayWriter;

use super::Json;
use crate::error::{Result, SqlError, er};
use std::borrow::Cow;

/// First bytes of values.
mod kind {
    pub const NULL: u8 = 0x80;
    pub const FALSE: u8 = 0x81;
    pub const TRUE: u8 = 0x82;
    pub const INT: u8 = 0x83;
    pub const UINT: u8 = 0x84;
    pub const DOUBLE: u8 = 0x85;
    pub const DECIMAL: u8 = 0x86;
    pub const STRING: u8 = 0x87;
    pub const OPAQUE: u8 = 0x88;
    pub const DATE: u8 = 0x89;
    pub const DATE_TIME: u8 = 0x8A;
    pub const TIME: u8 = 0x8B;
    pub const ARRAY: u8 = 0x90;
    pub const OBJECT: u8 = 0x94;
    /// After those of this form.
    pub const END: u8 = 0xA0;
}

/// The document `null`.
pub const NULL: &[u8] = &[kind::NULL];

/// Error 3142.
#[cold]
pub(super) fn damaged() -> SqlError {
    SqlError::new(
        er::INVALID_JSON_BINARY_DATA,
        "The JSON binary value contains invalid data.",
    )
}

/// Whether a stored document is in this form, and not text.
#[inline]
fn is_binary(stored: &[u8]) -> bool {
    stored.first().is_some_and(|first| *first >= 0x80)
}

/// Returns a stored document in the binary form, which an older version may have stored as text.
#[inline]
pub fn in_binary(stored: Cow<'_, [u8]>) -> Result<Cow<'_, [u8]>> {
    match is_binary(&stored) {
        true => Ok(stored),
        false => Json::of_text(&stored)?.stored().map(Cow::Owned),
    }
}

impl Json {
    /// Reads a stored document, of either form: the bytes of a [`Val::Json`](crate::Val::Json). Error 3142 if they are none; others if the
    /// statement is to end, or there is no memory for the tree.
    #[inline]
    pub fn of_stored(stored: &[u8]) -> Result<Json> {
        match is_binary(stored) {
            true => View::of(stored).tree(),
            false => Json::of_text(stored),
        }
    }
}
