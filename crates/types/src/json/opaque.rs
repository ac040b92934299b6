//! Bytes in a document: what a BLOB, a BINARY or a BIT becomes there.
//!
//! MySQL shows them as a string, `"base64:type15:YWJj"`: the number that their type has in the protocol, and themselves in base 64, in
//! lines of 76 digits. Up to version 7 of the data's format documents were stored as text, and in such a document a string of this form is
//! bytes. Everything that is not exactly what [`write`] would write is a string.

use super::Json;
use crate::meta::wire;
use data_encoding::BASE64;

const MARK: &str = "base64:type";
/// Digits of a line.
const LINE: usize = 76;

/// Returns the bytes that a string shows; `None` if it has not their form.
pub fn shown_bytes(text: &str) -> Option<Vec<u8>> {
    match read(text.to_owned()) {
        Json::Opaque(_, bytes) => Some(bytes),
        _ => None,
    }
}

/// A string of a document that was stored as text; bytes, if it has their form.
pub(super) fn read(text: String) -> Json {
    let bytes = text.strip_prefix(MARK).and_then(|rest| {
        let (kind, encoded) = rest.split_once(':')?;
        let kind: u8 = kind.parse().ok()?;
        let digits = encoded.replace('\n', "");
        Some((kind, BASE64.decode(digits.as_bytes()).ok()?))
    });
    match bytes {
        Some((kind, bytes)) if write(kind, &bytes) == text => Json::Opaque(kind, bytes),
        _ => Json::String(text),
    }
}

/// The form that bytes have as a text.
pub(super) fn write(kind: u8, bytes: &[u8]) -> String {
    let digits = BASE64.encode(bytes);
    let lines: Vec<&str> = (0..digits.len())
        .step_by(LINE)
        .map(|from| &digits[from..digits.len().min(from + LINE)])
        .collect();
    format!("{MARK}{kind}:{}", lines.join("\n"))
}

/// What `JSON_TYPE` calls bytes of a type.
pub(super) fn type_name(kind: u8) -> &'static str {
    match kind {
        wire::BIT => "BIT",
        wire::VARCHAR | wire::VAR_STRING | wire::STRING => "BLOB",
        wire::MEDIUM_BLOB | wire::LONG_BLOB | wire::BLOB => "BLOB",
        _ => "OPAQUE",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_were_stored_in_the_form_that_is_shown() {
        let bytes = Json::Opaque(wire::VARCHAR, b"abc".to_vec());
        assert_eq!(bytes.to_string(), "\"base64:type15:YWJj\"");
        assert_eq!(Json::of_stored(bytes.to_string().as_bytes()), Ok(bytes));
        let sent = Json::parse("\"base64:type15:YWJj\"");
        assert_eq!(sent, Ok(Json::String("base64:type15:YWJj".to_owned())));
        let long = Json::Opaque(wire::BLOB, vec![b'a'; 100]);
        assert!(long.to_string().contains("YWFh\\nYWFh"));
        assert_eq!(Json::of_stored(long.to_string().as_bytes()), Ok(long));
    }

    #[test]
    fn what_only_resembles_it_is_a_string() {
        for text in [
            "base64:type15:YWJ",
            "base64:type015:YWJj",
            "base64:type300:YWJj",
            "base64:type15",
        ] {
            assert_eq!(read(text.to_owned()), Json::String(text.to_owned()));
        }
    }
}
