//! How documents are written and kept: JSON_PRETTY, JSON_STORAGE_SIZE, JSON_STORAGE_FREE; and JSON_ARRAY_INSERT.
//!
//! The size of a document is that of MySQL's binary form, whatever it is kept as here: a byte for the type, and then
//!
//! ```text
//!  literal            1 byte
//!  number             2, 4 or 8 bytes
//!  string             its length, 7 bits to a byte, and its bytes
//!  DECIMAL, date      the type's number, the length, and the bytes of the column type
//!  array              count, size │ type, value or offset of each │ the values that are not there
//!  object             count, size │ offset, length of each name │ type, value or offset of each │ names │ values
//! ```
//!
//! Counts, sizes and offsets have 2 bytes, or 4 in an array or object that has more than 65,535.

use super::json::{changed, document};
use super::*;
use crate::json::{json_type, text_result};
use tidemark_types::json::{Json, PathEdit};

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("json_pretty", (1, 1), text_result, |args, _, ctx| {
        let doc = known!(document(args, 0, "json_pretty", ctx)?);
        let written = doc.indented_while(&mut |length| grows_within_packet(length, "json_pretty", ctx))?;
        Ok(written.map_or(Val::Null, Val::string))
    })
    .takes(&[ParamKind::Json]),
    def("json_storage_size", (1, 1), nullable_int, |args, _, ctx| {
        let doc = known!(document(args, 0, "json_storage_size", ctx)?);
        Ok(Val::Int(1 + size_of_value(&doc) as i64))
    })
    .takes(&[ParamKind::Json]),
    def("json_storage_free", (1, 1), nullable_int, |args, _, ctx| {
        known!(document(args, 0, "json_storage_free", ctx)?);
        Ok(Val::Int(0))
    })
    .takes(&[ParamKind::Json]),
    def(
        "json_array_insert",
        (3, MANY),
        |args, _| match args.len() % 2 {
            1 => Ok(json_type()),
            _ => Err(SqlError::parameter_count("json_array_insert")),
        },
        |args, _, ctx| changed(args, PathEdit::ArrayInsert, "json_array_insert", ctx),
    )
    .takes(&[ParamKind::Json, ParamKind::Text, ParamKind::Json]),
];

/// Bytes behind the type's.
fn size_of_value(doc: &Json) -> usize {
    match doc {
        Json::Null | Json::Bool(_) => 1,
        Json::Int(v) => match v {
            -0x8000..=0x7FFF => 2,
            -0x8000_0000..=0x7FFF_FFFF => 4,
            _ => 8,
        },
        Json::UInt(v) => match v {
            0..=0xFFFF => 2,
            0x1_0000..=0xFFFF_FFFF => 4,
            _ => 8,
        },
        Json::Double(_) => 8,
        Json::String(text) => length_bytes(text.len()) + text.len(),
        Json::Decimal(digits) => 1 + 1 + 2 + decimal_bytes(digits),
        Json::Opaque(_, bytes) => 1 + length_bytes(bytes.len()) + bytes.len(),
        Json::Date(_) | Json::Time(_) | Json::DateTime(_) => 1 + 1 + 8,
        Json::Array(elements) => size_of_list(elements.iter(), 0, 0),
        Json::Object(members) => {
            let names = members.iter().map(|(name, _)| name.len()).sum();
            size_of_list(members.iter().map(|(_, value)| value), members.len(), names)
        }
    }
}

/// An array, or an object of so many members, whose names have so many bytes.
fn size_of_list<'a>(values: impl Iterator<Item = &'a Json>, members: usize, names: usize) -> usize {
    // Those with a small and with a large header. What fits stands in the entry itself.
    let (mut small, mut large, mut count) = (0, 0, 0);
    for value in values {
        let size = size_of_value(value);
        let beside = |word: usize| match value {
            Json::Null | Json::Bool(_) => 0,
            Json::Int(_) | Json::UInt(_) if size <= word => 0,
            _ => size,
        };
        small += beside(2);
        large += beside(4);
        count += 1;
    }
    let whole =
        |word: usize, beside: usize| 2 * word + members * (word + 2) + names + count * (1 + word) + beside;
    match whole(2, small) {
        small if small <= u16::MAX as usize => small,
        _ => whole(4, large),
    }
}

fn length_bytes(length: usize) -> usize {
    (usize::BITS - length.leading_zeros()).div_ceil(7).max(1) as usize
}

/// Bytes of a DECIMAL column of these digits.
fn decimal_bytes(digits: &str) -> usize {
    let (whole, fraction) = digits
        .trim_start_matches('-')
        .split_once('.')
        .unwrap_or((digits.trim_start_matches('-'), ""));
    let bytes = |digits: usize| digits / 9 * 4 + (digits % 9).div_ceil(2);
    bytes(whole.trim_start_matches('0').len()) + bytes(fraction.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let size = |text: &str| 1 + size_of_value(&Json::parse(text).unwrap());
        for (text, bytes) in [
            ("1", 3),
            ("[1,2,3]", 14),
            ("{\"a\":1}", 13),
            ("\"abc\"", 5),
            ("1.5", 9),
            ("100000", 5),
            ("10000000000", 9),
            ("null", 2),
            ("[]", 5),
            ("{}", 5),
            ("[true,null,70000,1.5,\"x\"]", 34),
            ("[[1],[2]]", 25),
            ("18446744073709551615", 9),
        ] {
            assert_eq!(size(text), bytes, "{text}");
        }
        assert_eq!(size(&format!("\"{}\"", "x".repeat(200))), 203);
        // Too large for small offsets: an entry of 5 bytes, and 8 for count and size.
        assert_eq!(
            size(&format!("[\"{}\"]", "x".repeat(70_000))),
            1 + 8 + 5 + 3 + 70_000
        );
    }
}
