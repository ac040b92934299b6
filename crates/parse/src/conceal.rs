//! What of a statement's text may be shown to others: all but the passwords in it.
//!
//! The process list, the logs and the reports of locks show texts. In a statement that has said `IDENTIFIED`, or begins with
//! `SET PASSWORD`, a string is a password unless what stands before it says that it is something else: a name, a plugin, a
//! comment. So one in a place that nobody thought of is not shown. Texts are looked at as tokens, so that one which is not
//! a statement at all is treated alike. A string that holds such a statement, as PREPARE has it, is not shown either.
//!
//! Where a string ends depends on the SQL mode, which is not known here. A text that comes to an end in one mode and not in the other is
//! taken to be of the first; else what is a password in one of them is not shown.

use crate::lexer::{Lexer, Op, Token, TokenKind, unquote};
use std::borrow::Cow;
use tidemark_types::SqlMode;

const SECRET: &[u8] = b"<secret>";

/// How deep statements within strings are looked into.
const DEPTH_MAX: u32 = 3;

/// The text with `<secret>` in place of each password.
pub fn conceal(sql: &[u8]) -> Cow<'_, [u8]> {
    match secrets(sql, 0) {
        secrets if secrets.is_empty() => Cow::Borrowed(sql),
        secrets => Cow::Owned(without(sql, &secrets)),
    }
}

fn without(sql: &[u8], secrets: &[(usize, usize)]) -> Vec<u8> {
    let (mut shown, mut copied) = (Vec::with_capacity(sql.len()), 0);
    for (start, end) in secrets {
        shown.extend_from_slice(&sql[copied..*start]);
        shown.extend_from_slice(SECRET);
        copied = *end;
    }
    shown.extend_from_slice(&sql[copied..]);
    shown
}

/// Where the passwords are, in order and apart from each other.
fn secrets(sql: &[u8], depth: u32) -> Vec<(usize, usize)> {
    if !may_hold_secret(sql) {
        return Vec::new();
    }
    let (mut found, ends) = secrets_in(sql, SqlMode::default(), depth);
    if sql.contains(&b'\\') {
        let (others, others_end) = secrets_in(sql, SqlMode::NO_BACKSLASH_ESCAPES, depth);
        match (ends, others_end) {
            (true, false) => {}
            (false, true) => found = others,
            _ => found.extend(others),
        }
        found.sort_unstable();
    }
    let mut merged: Vec<(usize, usize)> = Vec::new();
    for (start, end) in found {
        match merged.last_mut() {
            Some(last) if start < last.1 => last.1 = last.1.max(end),
            _ => merged.push((start, end)),
        }
    }
    merged
}

/// Where the passwords are in a mode, and whether all strings and comments come to an end in it.
fn secrets_in(sql: &[u8], mode: SqlMode, depth: u32) -> (Vec<(usize, usize)>, bool) {
    let (mut found, mut ends) = (Vec::new(), true);
    let mut context = Context::default();
    let mut lexer = Lexer::new(sql, 0, mode);
    let mut at = 0;
    while at < sql.len() {
        let Ok(token) = lexer.token() else {
            ends = false;
            if context.is_of_accounts() || context.kind == Kind::Connects {
                // What is not finished may be a password, or hold one.
                let spaces = sql[at..].iter().take_while(|byte| byte.is_ascii_whitespace());
                found.push((at + spaces.count(), sql.len()));
                break;
            }
            at += 1;
            lexer = Lexer::new(sql, at, mode);
            continue;
        };
        let Token { kind, start, end } = token;
        if kind == TokenKind::End {
            break;
        }
        at = end as usize;
        let text = &sql[start as usize..at];
        if context.is_secret(kind, text) || holds_secret(kind, text, mode, depth) {
            found.push((start as usize, at));
        }
        context.go_on(kind, text);
    }
    (found, ends)
}

/// Whether a string holds a statement with a password.
fn holds_secret(kind: TokenKind, text: &[u8], mode: SqlMode, depth: u32) -> bool {
    kind == TokenKind::Str
        && depth < DEPTH_MAX
        && may_hold_secret(text)
        && !secrets(&unquote(text, mode), depth + 1).is_empty()
}

/// What stands before a token, as far as it matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Before {
    /// Nothing, or what says nothing.
    #[default]
    Nothing,
    /// `BY`: whatever follows is a password, however it is written.
    By,
    /// What a string that is no password stands behind.
    Named,
    /// A word that ends with PASSWORD.
    Password,
}

/// With which words a statement begins, if that matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Other,
    Set,
    /// CREATE, ALTER.
    Defines,
    /// CREATE USER, ALTER USER.
    DefinesUser,
    /// It has words like SOURCE_PASSWORD.
    Connects,
}

/// The statement so far.
#[derive(Default)]
struct Context {
    tokens: usize,
    kind: Kind,
    /// It is `SET PASSWORD`.
    sets_password: bool,
    /// It has said `IDENTIFIED`.
    identified: bool,
    /// The last word was SET.
    after_set: bool,
    before: Before,
}

/// Words in front of strings that are no passwords.
const NAMED: [&str; 13] = [
    "WITH",
    "COMMENT",
    "ATTRIBUTE",
    "SUBJECT",
    "ISSUER",
    "CIPHER",
    "USER",
    "FOR",
    "ROLE",
    "EXISTS",
    "AND",
    "ON",
    "FROM",
];

impl Context {
    fn is_of_accounts(&self) -> bool {
        self.sets_password || self.identified || self.kind == Kind::DefinesUser
    }

    fn is_secret(&self, kind: TokenKind, text: &[u8]) -> bool {
        use TokenKind::*;
        let is = |name: &str| text.eq_ignore_ascii_case(name.as_bytes());
        let is_string = matches!(kind, Str | NationalStr | Hex | Bit) || text.starts_with(b"\"");
        match self.before {
            Before::Named => false,
            Before::By if self.is_of_accounts() => match kind {
                Op(_) | At | AtAt | Param => false,
                Word => !(is("RANDOM") || is("PASSWORD") || text.starts_with(b"_")),
                _ => true,
            },
            Before::Password => is_string,
            Before::Nothing | Before::By => is_string && (self.sets_password || self.identified),
        }
    }

    fn go_on(&mut self, kind: TokenKind, text: &[u8]) {
        self.tokens += 1;
        match kind {
            TokenKind::Op(Op::Semicolon) => *self = Context::default(),
            TokenKind::Word => self.word(text),
            TokenKind::Str | TokenKind::NationalStr | TokenKind::Hex | TokenKind::Bit => {
                // The password is there; strings behind it are parts of it.
                if self.before == Before::By {
                    self.before = Before::Nothing;
                }
            }
            TokenKind::Op(Op::Eq) if self.before == Before::Named => self.before = Before::Nothing,
            TokenKind::Op(Op::LParen | Op::Eq) => {}
            TokenKind::Op(Op::Comma) | TokenKind::At => self.before = Before::Named,
            _ => self.before = Before::Nothing,
        }
    }

    fn word(&mut self, word: &[u8]) {
        let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
        let after_set = std::mem::replace(&mut self.after_set, is("SET"));
        match (self.tokens, self.kind) {
            (1, _) if is("SET") => self.kind = Kind::Set,
            (1, _) if is("CREATE") || is("ALTER") => self.kind = Kind::Defines,
            (1, _) if is("CHANGE") || is("START") => self.kind = Kind::Connects,
            (2, Kind::Set) => self.sets_password = is("PASSWORD"),
            (2, Kind::Defines) if is("USER") => self.kind = Kind::DefinesUser,
            (2, Kind::Defines) if is("SERVER") => self.kind = Kind::Connects,
            _ => {}
        }
        self.identified |= is("IDENTIFIED");
        const PASSWORD: &str = "PASSWORD";
        let tail = &word[word.len().saturating_sub(PASSWORD.len())..];
        let ends_with_password = tail.eq_ignore_ascii_case(PASSWORD.as_bytes());
        self.before = match () {
            // A character set says nothing of what the string is.
            () if word.starts_with(b"_") => self.before,
            () if is("BY") => Before::By,
            () if is(PASSWORD) && (self.is_of_accounts() || after_set) => Before::Password,
            () if ends_with_password && self.kind == Kind::Connects => Before::Password,
            () if NAMED.iter().any(|name| is(name)) => Before::Named,
            () => Before::Nothing,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(sql: &str) -> String {
        String::from_utf8_lossy(&conceal(sql.as_bytes())).into_owned()
    }

    #[test]
    fn passwords_are_not_shown() {
        for (sql, expected) in [
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
            (
                "UPDATE t SET password = 'x' WHERE name = 'bob'",
                "UPDATE t SET password = <secret> WHERE name = 'bob'",
            ),
            (
                "CREATE USER u IDENTIFIED 'x'",
                "CREATE USER u IDENTIFIED <secret>",
            ),
            (
                "CREATE USER u IDENTIFIED BY x1",
                "CREATE USER u IDENTIFIED BY <secret>",
            ),
            (
                "ALTER USER USER() IDENTIFIED BY RANDOM PASSWORD RETAIN CURRENT PASSWORD",
                "ALTER USER USER() IDENTIFIED BY RANDOM PASSWORD RETAIN CURRENT PASSWORD",
            ),
            (
                "PREPARE s FROM 'ALTER USER u IDENTIFIED BY ''x'''",
                "PREPARE s FROM <secret>",
            ),
            (
                "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'u', SOURCE_PASSWORD = 'x'",
                "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'u', SOURCE_PASSWORD = <secret>",
            ),
            (
                "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD 'x')",
                "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD <secret>)",
            ),
            (
                "CREATE USER 'a'@'h' IDENTIFIED BY 'x' REQUIRE SUBJECT 's' AND ISSUER 'i' ATTRIBUTE '{}', 'b'@'h'",
                "CREATE USER 'a'@'h' IDENTIFIED BY <secret> REQUIRE SUBJECT 's' AND ISSUER 'i' ATTRIBUTE '{}', 'b'@'h'",
            ),
        ] {
            assert_eq!(shown(sql), expected);
        }
    }

    /// Every statement with a password, with everything that may stand before one, and every way to write one.
    #[test]
    fn no_statement_shows_a_password_however_it_is_written() {
        const STATEMENTS: [&str; 16] = [
            "CREATE USER u IDENTIFIED BY~%",
            "CREATE USER IF NOT EXISTS 'u'@'h', 'v'@'h' IDENTIFIED WITH 'caching_sha2_password' BY~% DEFAULT ROLE r",
            "CREATE USER u IDENTIFIED WITH caching_sha2_password AS~%",
            "ALTER USER u IDENTIFIED BY~%",
            "ALTER USER u IDENTIFIED BY 'new' REPLACE~%",
            "ALTER USER USER() IDENTIFIED BY~% RETAIN CURRENT PASSWORD",
            "ALTER USER u IDENTIFIED WITH 'p' BY 'new' REPLACE~% RETAIN CURRENT PASSWORD",
            "GRANT ALL ON *.* TO 'u'@'h' IDENTIFIED BY~% WITH GRANT OPTION",
            "GRANT USAGE ON *.* TO u IDENTIFIED BY PASSWORD~%",
            "SET PASSWORD =~%",
            "SET PASSWORD FOR 'u'@'h' =~% REPLACE 'old'",
            "SET PASSWORD = 'new' REPLACE~%",
            "SET PASSWORD FOR u = PASSWORD(~%)",
            "CLONE INSTANCE FROM 'u'@'h':3306 IDENTIFIED BY~%",
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'h', SOURCE_PASSWORD =~%",
            "START REPLICA USER = 'u' PASSWORD =~%",
        ];
        const GAPS: [&str; 12] = [
            " ",
            "\n\t",
            "/**/",
            " -- say \"it's\"\n",
            " # it's\n",
            "/* it's */",
            " /*!50000 */ ",
            " /*! */",
            " --\n",
            " _utf8mb4 ",
            "/*+ x */",
            " -- ' IDENTIFIED\n -- '\n",
        ];
        const WAYS: [&str; 14] = [
            "'hidden'",
            "\"hidden\"",
            "N'hidden'",
            "x'68696464656e'",
            "0x68696464656e",
            "'hid''hidden'",
            "'a\\'hidden'",
            "'hidden\\\\'",
            "'\\\\' 'hidden'",
            "'a' 'hidden'",
            "_latin1'hidden'",
            "/*!50000 'hidden' */",
            "'hidden",
            "\"a\"\"hidden\"",
        ];
        const PREFIXES: [&str; 4] = ["", "/* c */ ", "-- it's\n", "SELECT 1; "];
        let mut tried = 0;
        for statement in STATEMENTS {
            for gap in GAPS {
                for way in WAYS {
                    for prefix in PREFIXES {
                        let sql = format!("{prefix}{}", statement.replace('~', gap).replace('%', way));
                        let text = shown(&sql);
                        let is_shown = text.contains("hidden") || text.contains("68696464656e");
                        assert!(!is_shown, "{sql}\n{text}");
                        tried += 1;
                    }
                }
            }
        }
        assert_eq!(tried, 16 * 12 * 14 * 4);
    }

    /// A backslash in front of a quote ends a string in one mode and does not in the other: what follows is hidden in both.
    #[test]
    fn a_password_behind_a_string_with_a_backslash_is_hidden_in_every_mode() {
        for before in [
            "SELECT 'x\\'; CREATE USER u IDENTIFIED BY ",
            "SELECT 'x\\''; CREATE USER u IDENTIFIED BY ",
            "CREATE USER 'a\\' IDENTIFIED BY ",
        ] {
            let text = shown(&format!("{before}'hidden'"));
            assert!(!text.contains("hidden"), "{text}");
        }
    }

    #[test]
    fn any_text_is_concealed() {
        let sql = "CREATE USER 'a'@'h' IDENTIFIED /*! BY */ 'x\\'' /* c */, `b` IDENTIFIED BY \"y\" -- z\n; SET PASSWORD = N'z'";
        for from in 0..sql.len() {
            for to in from..=sql.len() {
                conceal(&sql.as_bytes()[from..to]);
            }
        }
        for byte in 0..=255u8 {
            conceal(&[&[byte], sql.as_bytes(), &[byte]].concat());
        }
    }
}
