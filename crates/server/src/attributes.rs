//! Query attributes: what a client sends by name beside COM_QUERY, in front of its text, and beside COM_STMT_EXECUTE, behind the
//! parameters of the statement.
//!
//! ```text
//!  number of attributes | number of sets: 1 | null bitmap: (n + 7) / 8 | types are new: 1
//!  (type: 2 | name) × n | values, one after the other | text
//! ```
//!
//! The part from the bitmap on is not there without attributes, and is laid out as that of parameters ([`params`](crate::params)). A
//! client that can send attributes always sends the two numbers.
//!
//! As in MySQL there are at most 65,535, and each becomes a text: a DATETIME or TIME with all of its digits, a FLOAT as the DOUBLE that it is.

use crate::errors;
use crate::params::{Received, Statement};
use crate::wire::Fields;
use tidemark_sql::types::{Charset, Val};
use tidemark_sql::{QueryAttributes, SqlError};

/// Attributes and parameters of a command, together.
const COUNT_MAX: u64 = 65_535;

/// Reads how many values follow that may have names.
#[inline]
pub fn count(fields: &mut Fields) -> Result<usize, SqlError> {
    match fields.lenenc()? {
        count @ 0..=COUNT_MAX => Ok(count as usize),
        _ => Err(errors::malformed_packet()),
    }
}

/// Reads what stands before the text of COM_QUERY. Returns the text.
#[inline]
pub fn before_text<'a>(
    body: &'a [u8],
    client: Charset,
    received: &mut Received,
) -> Result<&'a [u8], SqlError> {
    let mut fields = Fields::new(body);
    let count = count(&mut fields)?;
    if fields.lenenc()? != 1 {
        return Err(errors::malformed_packet());
    }
    if count > 0 {
        Statement::default().read(&mut fields, Some(count), client, received)?;
    }
    Ok(fields.rest())
}

/// Adds an attribute; what is no text in the client's character set ends where it stops being one, as in MySQL.
#[cold]
pub fn add(attributes: &mut QueryAttributes, client: Charset, (name, value): (&[u8], &Val)) {
    let value = match value {
        Val::Null => None,
        Val::Float(value) => Some(Val::Double((*value).into()).to_text().into_owned()),
        Val::DateTime(value) => {
            let mut value = *value;
            value.fsp = 6;
            Some(Val::DateTime(value).to_text().into_owned())
        }
        Val::Time(value) => {
            let mut value = *value;
            value.fsp = 6;
            Some(Val::Time(value).to_text().into_owned())
        }
        Val::Str(text) => Some(text_of(text, client)),
        other => Some(other.to_text().into_owned()),
    };
    let name = String::from_utf8_lossy(&client.receive(name)).into_owned();
    attributes.add(name, value);
}

fn text_of(bytes: &[u8], client: Charset) -> Vec<u8> {
    let mut text = client.receive(bytes).into_owned();
    if let Err(error) = std::str::from_utf8(&text) {
        text.truncate(error.valid_up_to());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_sql::types::meta::wire;

    fn read(body: &[u8]) -> Result<(QueryAttributes, Vec<u8>), SqlError> {
        let mut received = Received::default();
        let text = before_text(body, Charset::Utf8mb4, &mut received)?.to_vec();
        Ok((received.attributes, text))
    }

    /// Two attributes, of which the second is NULL, and a text.
    const TWO: &[u8] = b"\x02\x01\x02\x01\xfe\x00\x01a\xfe\x00\x01b\x05helloDO 1";

    #[test]
    fn attributes_stand_before_the_text() {
        assert_eq!(read(b"\x00\x01DO 1").unwrap().1, b"DO 1");
        let (attributes, text) = read(TWO).unwrap();
        assert_eq!(text, b"DO 1");
        assert_eq!(attributes.find("a"), Some(Some(&b"hello"[..])));
        assert_eq!(attributes.find("b"), Some(None));
    }

    #[test]
    fn values_become_texts_as_in_mysql() {
        let value = |type_byte: u8, bytes: &[u8]| {
            let body = [b"\x01\x01\x00\x01".as_slice(), &[type_byte, 0], b"\x01a", bytes].concat();
            let (attributes, _) = read(&body).unwrap();
            let found = attributes.find("a").unwrap().unwrap().to_vec();
            String::from_utf8(found).unwrap()
        };
        let day = [7, 0xe8, 7, 2, 29, 12, 34, 56];
        let cases: [(u8, &[u8], &str); 7] = [
            (wire::TINY, &[0xff], "-1"),
            (wire::FLOAT, &1.1f32.to_le_bytes(), "1.100000023841858"),
            (wire::DOUBLE, &1.1e100f64.to_le_bytes(), "1.1e100"),
            (wire::NEWDECIMAL, b"\x0501.50", "1.50"),
            (wire::DATETIME, &day, "2024-02-29 12:34:56.000000"),
            (wire::TIME, b"\x08\x01\x01\0\0\0\x02\x03\x04", "-26:03:04.000000"),
            (wire::VAR_STRING, b"\x03a\xff\xfe", "a"),
        ];
        for (type_byte, bytes, text) in cases {
            assert_eq!(value(type_byte, bytes), text, "type {type_byte}");
        }
    }

    #[test]
    fn what_is_malformed_is_refused() {
        for len in 0..TWO.len() - 4 {
            assert_eq!(read(&TWO[..len]).unwrap_err().code, 1835, "{len} bytes");
        }
        let mut other = TWO.to_vec();
        other[1] = 2;
        assert_eq!(read(&other).unwrap_err().code, 1835, "two sets");
        let mut other = TWO.to_vec();
        other[3] = 0;
        assert_eq!(read(&other).unwrap_err().code, 1835, "no types");
        assert_eq!(read(b"\xfd\x00\x00\x01\x01").unwrap_err().code, 1835, "65,536");
    }
}
