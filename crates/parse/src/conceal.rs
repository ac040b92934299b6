//! What of a statement's text may be shown to others: all but the passwords in it.
//!
//! The process list, the logs and the reports of locks show texts. A password is a string behind `BY`, `AS` or `REPLACE` in a
//! statement that has said `IDENTIFIED`, or the string of `SET PASSWORD`. Texts are looked at as words and strings, so
//! that one which is not a statement at all is treated alike.

use std::borrow::Cow;

const SECRET: &[u8] = b"<secret>";

/// The text with `<secret>` in place of each password.
pub fn conceal(sql: &[u8]) -> Cow<'_, [u8]> {
    if !may_hold_secret(sql) {
        return Cow::Borrowed(sql);
    }
    let (mut shown, mut copied, mut at) = (Vec::new(), 0, 0);
    let mut context = Context::default();
    while at < sql.len() {
        let end = token_end(sql, at);
        let token = &sql[at..end];
        match token[0] {
            b'\'' | b'"' => {
                if context.expects_secret {
                    shown.extend_from_slice(&sql[copied..at]);
                    shown.extend_from_slice(SECRET);
                    copied = end;
                }
            }
            b';' => context = Context::default(),
            first if is_word(first) => context.word(token),
            b'=' => context.expects_secret |= context.sets_password,
            b'(' | b'/' => {}
            // Strings side by side are one.
            other if other.is_ascii_whitespace() => {}
            _ => context.expects_secret = false,
        }
        at = end;
    }
    if copied == 0 {
        return Cow::Borrowed(sql);
    }
    shown.extend_from_slice(&sql[copied..]);
    Cow::Owned(shown)
}

/// The words of the statement so far, as far as they matter.
#[derive(Default)]
struct Context {
    sets: bool,
    sets_password: bool,
    identified: bool,
    expects_secret: bool,
}

impl Context {
    fn word(&mut self, word: &[u8]) {
        let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
        self.expects_secret = if is("SET") {
            self.sets = true;
            false
        } else if is("PASSWORD") {
            // SET PASSWORD, PASSWORD('…'), IDENTIFIED BY PASSWORD '…'
            self.sets_password |= self.sets;
            self.sets_password || self.identified
        } else if is("IDENTIFIED") {
            self.identified = true;
            false
        } else if is("FOR") {
            false
        } else {
            (self.identified && (is("BY") || is("AS") || is("REPLACE")))
                || (self.sets_password && (is("TO") || is("REPLACE")))
        };
    }
}

/// Most texts hold neither of the two words, which is found fast.
fn may_hold_secret(sql: &[u8]) -> bool {
    let begins = |name: &'static [u8]| {
        move |at: &[u8]| at.len() >= name.len() && at[..name.len()].eq_ignore_ascii_case(name)
    };
    let (identified, password) = (begins(b"IDENTIFIED"), begins(b"PASSWORD"));
    let starts = (0..sql.len()).filter(|at| matches!(sql[*at] | 0x20, b'i' | b'p'));
    starts
        .map(|at| &sql[at..])
        .any(|rest| identified(rest) || password(rest))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

/// Where the token that begins at `at` ends: a string, a name in backticks, a comment, a word, or one byte.
fn token_end(sql: &[u8], at: usize) -> usize {
    let rest = &sql[at..];
    let until = |end: &[u8]| {
        let found = rest
            .windows(end.len())
            .skip(end.len())
            .position(|window| window == end);
        at + found.map_or(rest.len(), |found| found + 2 * end.len())
    };
    match rest[0] {
        quote @ (b'\'' | b'"' | b'`') => {
            let mut n = 1;
            loop {
                match rest.get(n..) {
                    Some([b'\\', _, ..]) if quote != b'`' => n += 2,
                    // A quote written twice is one of the text.
                    Some([one, two, ..]) if *one == quote && *two == quote => n += 2,
                    Some([one, ..]) if *one == quote => break at + n + 1,
                    Some([_, ..]) => n += 1,
                    Some([]) | None => break sql.len(),
                }
            }
        }
        b'/' if rest.starts_with(b"/*") && !rest.starts_with(b"/*!") => until(b"*/"),
        b'#' => at + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
        first if is_word(first) => at + rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len()),
        _ => at + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for (sql, shown) in [
            ("SELECT 'password'", "SELECT 'password'"),
            (
                "create user a identified by 'x'",
                "create user a identified by <secret>",
            ),
            (
                "CREATE USER a IDENTIFIED WITH 'plugin' BY 'x''y\\'z' COMMENT 'c'",
                "CREATE USER a IDENTIFIED WITH 'plugin' BY <secret> COMMENT 'c'",
            ),
            (
                "ALTER USER a@'h' IDENTIFIED /* BY 'no' */ BY \"x\" REPLACE 'y', 'b' IDENTIFIED WITH p AS '$A$'",
                "ALTER USER a@'h' IDENTIFIED /* BY 'no' */ BY <secret> REPLACE <secret>, 'b' IDENTIFIED WITH p AS <secret>",
            ),
            ("SET PASSWORD = 'x'", "SET PASSWORD = <secret>"),
            (
                "SET PASSWORD = 'x' 'y', @a = 1",
                "SET PASSWORD = <secret> <secret>, @a = 1",
            ),
            (
                "SET PASSWORD FOR 'u'@'h' = PASSWORD('x')",
                "SET PASSWORD FOR 'u'@'h' = PASSWORD(<secret>)",
            ),
            (
                "SET @a = 1; SET PASSWORD TO 'x'; SELECT 'y'",
                "SET @a = 1; SET PASSWORD TO <secret>; SELECT 'y'",
            ),
            (
                "ALTER USER u IDENTIFIED BY 'unfinished",
                "ALTER USER u IDENTIFIED BY <secret>",
            ),
            (
                "SELECT `password` FROM t WHERE a = 'x'",
                "SELECT `password` FROM t WHERE a = 'x'",
            ),
        ] {
            assert_eq!(String::from_utf8_lossy(&conceal(sql.as_bytes())), shown);
        }
    }
}
