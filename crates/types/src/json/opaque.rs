//! Bytes in a document: what a BLOB, a BINARY or a BIT becomes there.
//!
//! MySQL shows them as a string, `"base64:type15:YWJj"`: the number that their type has in the protocol, and themselves in base 64, in
//! lines of 76 digits. A document is kept as text, so this form is also how they are kept: a string of this form, read again, is bytes. Everything
//! that is not exactly what [`write`] would write stays a string.

use super::Json;
use crate::meta::wire;
use data_encoding::BASE64;

const MARK: &str = "base64:type";
/// Digits of a line.
const LINE: usize = 76;

/// A string of a document; bytes, if it has their form.
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
    fn bytes_are_kept_in_the_form_that_is_shown() {
        let bytes = Json::Opaque(wire::VARCHAR, b"abc".to_vec());
        assert_eq!(bytes.to_string(), "\"base64:type15:YWJj\"");
        assert_eq!(Json::parse(&bytes.to_string()), Ok(bytes));
        let long = Json::Opaque(wire::BLOB, vec![b'a'; 100]);
        assert!(long.to_string().contains("YWFh\\nYWFh"));
        assert_eq!(Json::parse(&long.to_string()), Ok(long));
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
