//! What the text of a document does not tell.
//!
//! MySQL shows dates and times as strings, `"2024-01-31"`, and unsigned integers and decimals as numbers, but keeps what they are. Up to
//! version 7 of the data's format documents were stored as text, and marks stood before them there, which no client saw: [`without`] leaves them
//! out. Such documents are still read. A [`MARK`] is a control character, which the text of a document never has by itself.
//!
//! ```text
//!   \u{1}"2024-01-31"   a date or time; which of the three its form says
//!   \u{1}5              an unsigned integer that could be a signed one
//!   \u{1}\u{1}1.5        a DECIMAL
//! ```

use super::Json;
use crate::SqlMode;
use crate::temporal::parse;
use std::borrow::Cow;

/// Stands before what the text alone would say something else of.
pub(super) const MARK: char = '\u{1}';

/// A string that has the mark.
pub(super) fn moment(text: String) -> Json {
    let bytes = text.as_bytes();
    let is_date = bytes.get(4) == Some(&b'-') && bytes.get(7) == Some(&b'-');
    let whole = || parse::datetime(bytes, SqlMode::ALLOW_INVALID_DATES).map(|read| read.value);
    let read = match is_date {
        true if bytes.len() == "0000-00-00".len() => whole().map(|value| Json::Date(value.date)),
        true => whole().map(Json::DateTime),
        false => parse::time(bytes).map(|(time, _)| Json::Time(time)),
    };
    read.unwrap_or(Json::String(text))
}

/// The text of a document as it is shown.
pub(super) fn without(kept: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let is_mark = |byte: &u8| *byte == MARK as u8;
    match kept.iter().any(is_mark) {
        true => Cow::Owned(kept.iter().copied().filter(|byte| !is_mark(byte)).collect()),
        false => kept,
    }
}

impl Json {
    /// The same with strings for dates and times.
    pub fn with_texts(self) -> Json {
        match self {
            Json::Date(_) | Json::Time(_) | Json::DateTime(_) => Json::String(self.form()),
            Json::Array(list) => Json::Array(list.into_iter().map(Json::with_texts).collect()),
            Json::Object(members) => Json::Object(
                members
                    .into_iter()
                    .map(|(name, value)| (name, value.with_texts()))
                    .collect(),
            ),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::shown_text;
    use crate::{Date, DateTime, Time, Val};

    fn read(stored: &str) -> Json {
        Json::of_stored(stored.as_bytes()).unwrap()
    }

    #[test]
    fn numbers_with_a_mark_are_read_as_what_they_were() {
        let numbers = vec![
            Json::UInt(5),
            Json::UInt(0),
            Json::UInt(u64::MAX),
            Json::Int(5),
            Json::Decimal("1.5".to_owned()),
            Json::Decimal("-1.50".to_owned()),
            Json::Decimal("7".to_owned()),
            Json::Double(1.5),
        ];
        let stored =
            "[\u{1}5, \u{1}0, 18446744073709551615, 5, \u{1}\u{1}1.5, \u{1}\u{1}-1.50, \u{1}\u{1}7, 1.5]";
        assert_eq!(read(stored), Json::Array(numbers));
        assert_eq!(
            Val::Json(stored.as_bytes().into()).to_text(),
            "[5, 0, 18446744073709551615, 5, 1.5, -1.50, 7, 1.5]".as_bytes()
        );
        assert!(Json::parse("\u{1}5").is_err());
    }

    #[test]
    fn dates_and_times_with_a_mark_are_read_as_such_and_shown_as_strings() {
        let date = Date::new(2024, 2, 30);
        let list = Json::Array(vec![
            Json::Date(date),
            Json::Date(Date::ZERO),
            Json::DateTime(DateTime::new(date, 1, 2, 3, 4, 6)),
            Json::Time(Time::new(-3_600_000_001, 6)),
            Json::String("2024-02-29".to_owned()),
        ]);
        let document = Json::object(vec![("a".to_owned(), list)]);
        let stored = "{\"a\": [\u{1}\"2024-02-30\", \u{1}\"0000-00-00\", \u{1}\"2024-02-30 01:02:03.000004\", \
                      \u{1}\"-01:00:00.000001\", \"2024-02-29\"]}";
        assert_eq!(read(stored), document);
        let shown = shown_text(stored.as_bytes().into()).unwrap();
        assert_eq!(&*shown, document.to_string().as_bytes());
        assert_eq!(Json::parse(&document.to_string()), Ok(document.with_texts()));
        assert!(Json::parse("\u{1}\"2024-02-29\"").is_err());
    }
}
