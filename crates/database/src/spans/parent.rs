//! The `traceparent` of a statement: version, trace, span and flags in hexadecimal digits, as a query attribute or in a comment of
//! the text.
//!
//! `/*traceparent='00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'*/`, as sqlcommenter writes it, among other keys or alone. What
//! stands in a string or a name is no comment.

/// The span of a client that a statement belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The trace.
    pub trace: [u8; 16],
    /// The client's span.
    pub span: [u8; 8],
}

const KEY: &[u8] = b"traceparent";
/// `00-`, 32 digits, `-`, 16 digits, `-`, 2 digits.
const LENGTH: usize = 55;

impl Parent {
    /// That of a text, if it has one that asks to be recorded.
    pub fn of_text(text: &[u8]) -> Option<Parent> {
        // Nearly all texts have none, which is found without looking for comments.
        text.windows(KEY.len()).position(|part| part == KEY)?;
        comments(text).find_map(Parent::of_comment)
    }

    fn of_comment(comment: &[u8]) -> Option<Parent> {
        let at = comment.windows(KEY.len()).position(|part| part == KEY)?;
        let rest = comment[at + KEY.len()..].trim_ascii_start();
        let rest = rest
            .strip_prefix(b"=")
            .or_else(|| rest.strip_prefix(b":"))?
            .trim_ascii_start();
        let rest = rest
            .strip_prefix(b"'")
            .or_else(|| rest.strip_prefix(b"\""))
            .unwrap_or(rest);
        Parent::of_header(rest.get(..LENGTH)?)
    }

    /// `None` for one that is malformed, that has no trace or no span, or that is not sampled.
    pub fn of_header(header: &[u8]) -> Option<Parent> {
        let mut parts = header.split(|byte| *byte == b'-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let [version] = digits::<1>(version)?;
        let (trace, span) = (digits::<16>(trace)?, digits::<8>(span)?);
        let [flags] = digits::<1>(flags)?;
        let is_valid = version != 0xff && trace != [0; 16] && span != [0; 8];
        (is_valid && flags & 1 == 1).then_some(Parent { trace, span })
    }
}

fn digits<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let decoded = data_encoding::HEXLOWER.decode(text).ok()?;
    decoded.try_into().ok()
}

/// The comments of a text, without what begins and ends them.
fn comments(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            let rest = &text[at..];
            let end_of = |end: &[u8]| rest.windows(end.len()).position(|part| part == end);
            let (begin, length) = match rest {
                [quote @ (b'\'' | b'"' | b'`'), inside @ ..] => {
                    at += 1 + after_quoted(inside, *quote);
                    continue;
                }
                [b'/', b'*', ..] => (2, end_of(b"*/").unwrap_or(rest.len())),
                [b'#', ..] => (1, end_of(b"\n").unwrap_or(rest.len())),
                [b'-', b'-', blank, ..] if blank.is_ascii_whitespace() => {
                    (2, end_of(b"\n").unwrap_or(rest.len()))
                }
                _ => {
                    at += 1;
                    continue;
                }
            };
            at += length.max(begin) + 1;
            return rest.get(begin..length.max(begin));
        }
        None
    })
}

/// Bytes up to and with the quote that ends what has begun with one.
fn after_quoted(text: &[u8], quote: u8) -> usize {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'\\' if quote != b'`' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn found(text: &str) -> bool {
        Parent::of_text(text.as_bytes()).is_some()
    }

    #[test]
    fn a_comment_says_what_a_statement_belongs_to() {
        let text = format!("SELECT 1 /*application='shop',traceparent='{HEADER}'*/");
        let parent = Parent::of_text(text.as_bytes()).unwrap();
        assert_eq!((parent.trace[0], parent.trace[15]), (0x0a, 0x9c));
        assert_eq!(parent.span, [0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31]);
        for text in [
            format!("/* traceparent={HEADER} */ SELECT 1"),
            format!("SELECT 1 -- traceparent: {HEADER}\n + 1"),
            format!("SELECT '/*', 'it''s', '\\'' # traceparent=\"{HEADER}\""),
            format!("SELECT 1 /* a */ /*traceparent='{HEADER}"),
        ] {
            assert!(found(&text), "{text}");
        }
    }

    #[test]
    fn what_is_none_is_not_found() {
        for text in [
            format!("SELECT 'traceparent={HEADER}'"),
            format!("SELECT '/*traceparent={HEADER}*/'"),
            format!("SELECT traceparent={HEADER}"),
            format!("SELECT 1 /*traceparent='{}'*/", HEADER.replace("-01", "-00")),
            format!("SELECT 1 /*traceparent='{}'*/", HEADER.replace("00-0", "ff-0")),
            format!("SELECT 1 /*traceparent='{}'*/", HEADER.replace('b', "g")),
            format!("SELECT 1 /*traceparent='{}'*/", &HEADER[..40]),
            "SELECT 1 /*traceparent='00-00000000000000000000000000000000-b7ad6b7169203331-01'*/".to_owned(),
            "/*traceparent".to_owned(),
            "'traceparent".to_owned(),
            "traceparent /*".to_owned(),
            "traceparent --".to_owned(),
        ] {
            assert!(!found(&text), "{text}");
        }
    }
}
