//! GTIDs, which no transaction gets here: what SET of their variables answers is what MySQL does whose `gtid_mode` is OFF.
//!
//! A dump sets `gtid_purged`, and must load: it is read, warned of, and not kept.

use crate::error::{Result, SqlError, er};

/// Returns the value of `gtid_next`. Error 1781, or 6040 of one with a tag, for the number of a transaction, 1774 for anything else.
pub(super) fn next(text: &str) -> Result<&'static str> {
    let trimmed = text.trim();
    for word in ["AUTOMATIC", "ANONYMOUS"] {
        if trimmed.eq_ignore_ascii_case(word) {
            return Ok(word);
        }
    }
    let off = |code, form| {
        let text = format!("@@SESSION.GTID_NEXT cannot be set to {form} when @@GLOBAL.GTID_MODE = OFF.");
        SqlError::new(code, text)
    };
    Err(match trimmed.rsplit_once(':') {
        Some((uuid, number)) if is_uuid(uuid) && is_number(number) => {
            off(er::CANT_SET_GTID_NEXT_TO_GTID, "UUID:NUMBER")
        }
        Some((source, number)) if is_source(source) && is_number(number) => {
            off(er::CANT_SET_GTID_NEXT_TO_TAGGED_GTID, "UUID:TAG:NUMBER")
        }
        _ => SqlError::new(
            er::MALFORMED_GTID_SPECIFICATION,
            format!("Malformed GTID specification '{text}'."),
        ),
    })
}

/// Error 1231 for a value of `gtid_purged` that is no set of GTIDs.
pub(super) fn check_purged(text: &str) -> Result<()> {
    let sources = text.trim().trim_start_matches('+').split(',').map(str::trim);
    let is_set = sources
        .filter(|source| !source.is_empty())
        .all(is_source_with_intervals);
    match is_set {
        true => Ok(()),
        false => Err(SqlError::wrong_value_for_variable("gtid_purged", text)),
    }
}

/// `UUID:1-5:7:tag:9`.
fn is_source_with_intervals(text: &str) -> bool {
    let mut parts = text.split(':').map(str::trim);
    parts.next().is_some_and(is_uuid)
        && parts.all(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            (is_number(first) && is_number(last)) || is_tag(part)
        })
}

/// `UUID`, or `UUID:tag`.
fn is_source(text: &str) -> bool {
    let (uuid, tag) = text.split_once(':').unwrap_or((text, "t"));
    is_uuid(uuid) && is_tag(tag)
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn is_tag(text: &str) -> bool {
    (1..=32).contains(&text.len())
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && text
            .bytes()
            .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_and_numbers_of_transactions() {
        const UUID: &str = "3E11FA47-71CA-11E1-9E33-C80AA9429562";
        assert_eq!(next(" automatic").unwrap(), "AUTOMATIC");
        for (text, code) in [
            (format!("{UUID}:7"), 1781),
            (format!("{UUID}:tag:7"), 6040),
            (UUID.to_owned(), 1774),
            ("x".to_owned(), 1774),
        ] {
            assert_eq!(next(&text).unwrap_err().code, code, "{text}");
        }
        for text in [
            "",
            "+",
            &format!("{UUID}:1-5"),
            &format!("+ {UUID}:1-5:7:tag:9,\n{UUID}:3"),
        ] {
            assert!(check_purged(text).is_ok(), "{text}");
        }
        for text in ["xx", &format!("{UUID}:a-b"), &format!("{UUID};")] {
            assert_eq!(check_purged(text).unwrap_err().code, 1231, "{text}");
        }
    }
}
