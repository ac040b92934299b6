//! Bytes to tokens, by MySQL's rules.
//!
//! Tokens are offsets into the statement; nothing is copied until the parser wants a name or a string. Comments
//! disappear here, except that the inside of an executable comment (`/*! … */`, `/*!50110 … */`) is lexed as if it
//! stood there by itself. The lexer works on bytes, because a string literal may hold any of them.

use tidemark_types::SqlMode;
use tidemark_types::error::{Result, SqlError, er};

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// An unquoted identifier or keyword.
    Word,
    /// An identifier in backticks, or in double quotes under ANSI_QUOTES.
    Quoted,
    /// `'…'`, or `"…"` unless ANSI_QUOTES is set.
    Str,
    /// `N'…'`
    NationalStr,
    /// Digits alone.
    Int,
    /// Digits with a point, without an exponent.
    Decimal,
    /// A number with an exponent.
    Float,
    /// `0x…` or `x'…'`
    Hex,
    /// `0b…` or `b'…'`
    Bit,
    /// `?`
    Param,
    /// `@name`, `@'name'`; a lone `@` before a host too.
    At,
    /// `@@name`: only the two signs; the name follows as words.
    AtAt,
    /// An operator or a separator.
    Op(Op),
    /// The end of the text; returned again as often as asked for.
    End,
}

/// An operator or a separator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// `(`
    LParen,
    /// `)`
    RParen,
    /// `,`
    Comma,
    /// `.`
    Dot,
    /// `;`
    Semicolon,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Star,
    /// `/`
    Slash,
    /// `%`
    Percent,
    /// `=`
    Eq,
    /// `<=>`
    NullSafeEq,
    /// `<>`, `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `&`
    Amp,
    /// `&&`
    AmpAmp,
    /// `|`
    Pipe,
    /// `||`
    PipePipe,
    /// `^`
    Caret,
    /// `~`
    Tilde,
    /// `!`
    Bang,
    /// `{`
    LBrace,
    /// `}`
    RBrace,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `:=`
    Assign,
    /// `:`
    Colon,
    /// `->`
    Arrow,
    /// `->>`
    LongArrow,
}

/// A token, by its place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Offset of its first byte in the text.
    pub start: u32,
    /// Offset behind its last byte.
    pub end: u32,
}

/// Executable comments up to this version are executed.
const VERSION: u32 = 90700;

/// Reads tokens off a text.
pub struct Lexer<'a> {
    sql: &'a [u8],
    pos: usize,
    mode: SqlMode,
    in_comment: bool,
    /// A comment has been skipped, or an executable one entered.
    pub commented: bool,
    /// Where the insides of the comments `/*+ … */` begin and end.
    pub hints: Vec<(usize, usize)>,
    /// What the text of a stored program is kept without: the marks of executable comments and those that are not executed. Begin, end,
    /// and how many bytes that is with those before.
    pub(crate) unkept: Vec<(usize, usize, usize)>,
    /// The last token, which decides whether a word after a dot may begin with a digit.
    after_dot: bool,
}

/// Whether a byte may stand in an unquoted name.
pub fn is_word_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80
}

impl<'a> Lexer<'a> {
    /// From a place in the text on.
    pub fn new(sql: &'a [u8], pos: usize, mode: SqlMode) -> Lexer<'a> {
        Lexer {
            sql,
            pos,
            mode,
            in_comment: false,
            commented: false,
            hints: Vec::new(),
            unkept: Vec::new(),
            after_dot: false,
        }
    }

    /// The SQL mode it reads under.
    pub fn mode(&self) -> SqlMode {
        self.mode
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.sql.get(self.pos + ahead).copied().unwrap_or(0)
    }

    /// The error at `start`, as MySQL words it.
    fn error(&self, start: usize) -> SqlError {
        syntax_error(self.sql, start)
    }

    /// White space and comments.
    fn skip_space(&mut self) -> Result<()> {
        loop {
            match self.peek(0) {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.pos += 1,
                b'#' => self.skip_line(),
                b'-' if self.peek(1) == b'-' && (self.peek(2) <= b' ') => self.skip_line(),
                b'/' if self.peek(1) == b'*' => self.skip_block()?,
                b'*' if self.in_comment && self.peek(1) == b'/' => {
                    self.in_comment = false;
                    self.pos += 2;
                    self.leave_out(self.pos - 2);
                }
                _ => return Ok(()),
            }
            if self.pos >= self.sql.len() {
                return Ok(());
            }
        }
    }

    fn skip_line(&mut self) {
        self.commented = true;
        while self.pos < self.sql.len() && self.sql[self.pos] != b'\n' {
            self.pos += 1;
        }
    }

    fn skip_block(&mut self) -> Result<()> {
        let start = self.pos;
        self.commented = true;
        if self.peek(2) == b'!' {
            let digits = self.sql[self.pos + 3..]
                .iter()
                .take(6)
                .take_while(|b| b.is_ascii_digit())
                .count();
            let digits = if digits >= 5 { digits } else { 0 };
            let text = &self.sql[self.pos + 3..self.pos + 3 + digits];
            let version = text.iter().fold(0u32, |v, d| v * 10 + (d - b'0') as u32);
            if version <= VERSION {
                self.pos += 3 + digits;
                self.in_comment = true;
                self.leave_out(start);
                return Ok(());
            }
        }
        let rest = &self.sql[self.pos + 2..];
        match rest.windows(2).position(|w| w == b"*/") {
            Some(at) => {
                if self.peek(2) == b'+' && at > 0 {
                    self.hints.push((start + 3, start + 2 + at));
                }
                self.pos += 2 + at + 2;
                if self.sql[start + 2] == b'!' {
                    self.leave_out(start);
                }
                Ok(())
            }
            None => Err(self.error(start)),
        }
    }

    /// Notes that a program's text is kept without what has been read since `start`.
    fn leave_out(&mut self, start: usize) {
        let before = self.unkept.last().map_or(0, |(.., total)| *total);
        self.unkept.push((start, self.pos, before + self.pos - start));
    }

    /// The next token; at the end of the text, again and again `End`.
    pub fn token(&mut self) -> Result<Token> {
        self.skip_space()?;
        let start = self.pos;
        let after_dot = std::mem::replace(&mut self.after_dot, false);
        if self.pos >= self.sql.len() {
            if self.in_comment {
                return Err(self.error(start));
            }
            return Ok(Token {
                kind: TokenKind::End,
                start: start as u32,
                end: start as u32,
            });
        }
        let b = self.sql[self.pos];
        let kind = match b {
            b'0'..=b'9' if !after_dot => self.number()?,
            b'.' if self.peek(1).is_ascii_digit() && !self.follows_name(start) => self.number()?,
            b'\'' => {
                self.quoted(b'\'')?;
                TokenKind::Str
            }
            b'"' => {
                self.quoted(b'"')?;
                if self.mode.has(SqlMode::ANSI_QUOTES) {
                    TokenKind::Quoted
                } else {
                    TokenKind::Str
                }
            }
            b'`' => {
                self.quoted(b'`')?;
                TokenKind::Quoted
            }
            b'x' | b'X' if self.peek(1) == b'\'' => {
                self.pos += 1;
                self.quoted(b'\'')?;
                let body = &self.sql[start + 2..self.pos - 1];
                if !body.len().is_multiple_of(2) || !body.iter().all(u8::is_ascii_hexdigit) {
                    return Err(self.error(start));
                }
                TokenKind::Hex
            }
            b'b' | b'B' if self.peek(1) == b'\'' => {
                self.pos += 1;
                self.quoted(b'\'')?;
                if !self.sql[start + 2..self.pos - 1]
                    .iter()
                    .all(|b| matches!(b, b'0' | b'1'))
                {
                    return Err(self.error(start));
                }
                TokenKind::Bit
            }
            b'n' | b'N' if self.peek(1) == b'\'' => {
                self.pos += 1;
                self.quoted(b'\'')?;
                TokenKind::NationalStr
            }
            b if is_word_byte(b) => {
                self.word();
                TokenKind::Word
            }
            b'@' => self.at()?,
            b'?' => {
                self.pos += 1;
                TokenKind::Param
            }
            _ => TokenKind::Op(self.operator(start)?),
        };
        self.after_dot = kind == TokenKind::Op(Op::Dot);
        Ok(Token {
            kind,
            start: start as u32,
            end: self.pos as u32,
        })
    }

    fn word(&mut self) {
        while self.pos < self.sql.len() && is_word_byte(self.sql[self.pos]) {
            self.pos += 1;
        }
    }

    /// Whether a dot at `at` continues a name (`t.1a`) rather than beginning a number (`.5`).
    fn follows_name(&self, at: usize) -> bool {
        at > 0 && (is_word_byte(self.sql[at - 1]) || self.sql[at - 1] == b'`')
    }

    fn digits(&mut self) -> usize {
        let from = self.pos;
        while self.peek(0).is_ascii_digit() {
            self.pos += 1;
        }
        self.pos - from
    }

    fn number(&mut self) -> Result<TokenKind> {
        let start = self.pos;
        if self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'b') {
            let hex = self.peek(1) == b'x';
            let accept = |b: &u8| {
                if hex {
                    b.is_ascii_hexdigit()
                } else {
                    matches!(b, b'0' | b'1')
                }
            };
            let n = self.sql[start + 2..].iter().take_while(|b| accept(b)).count();
            let next = self.sql.get(start + 2 + n).copied().unwrap_or(0);
            if n > 0 && !is_word_byte(next) {
                self.pos += 2 + n;
                return Ok(if hex { TokenKind::Hex } else { TokenKind::Bit });
            }
        }
        self.digits();
        let mut kind = TokenKind::Int;
        if self.peek(0) == b'.' {
            kind = TokenKind::Decimal;
            self.pos += 1;
            self.digits();
        }
        if matches!(self.peek(0), b'e' | b'E') {
            let sign = matches!(self.peek(1), b'+' | b'-') as usize;
            if self.peek(1 + sign).is_ascii_digit() {
                self.pos += 1 + sign;
                self.digits();
                return Ok(TokenKind::Float);
            }
        }
        if kind == TokenKind::Int && is_word_byte(self.peek(0)) {
            // A name that begins with digits.
            self.word();
            return Ok(TokenKind::Word);
        }
        Ok(kind)
    }

    /// From one quote to the matching other; doubled quotes and, in strings, backslashes escape. No name has a NUL: names are put side
    /// by side with one between them.
    fn quoted(&mut self, quote: u8) -> Result<()> {
        let start = self.pos;
        let backslash = quote != b'`' && !self.mode.has(SqlMode::NO_BACKSLASH_ESCAPES);
        let is_name = quote == b'`' || quote == b'"' && self.mode.has(SqlMode::ANSI_QUOTES);
        self.pos += 1;
        while self.pos < self.sql.len() {
            let b = self.sql[self.pos];
            if b == quote {
                if self.peek(1) == quote {
                    self.pos += 2;
                    continue;
                }
                self.pos += 1;
                return Ok(());
            }
            if b == 0 && is_name {
                break;
            }
            self.pos += if b == b'\\' && backslash { 2 } else { 1 };
        }
        self.pos = self.sql.len();
        Err(self.error(start))
    }

    fn at(&mut self) -> Result<TokenKind> {
        self.pos += 1;
        match self.peek(0) {
            b'@' => {
                self.pos += 1;
                return Ok(TokenKind::AtAt);
            }
            quote @ (b'\'' | b'"' | b'`') => self.quoted(quote)?,
            _ => {
                while self.pos < self.sql.len()
                    && (is_word_byte(self.sql[self.pos]) || self.sql[self.pos] == b'.')
                {
                    self.pos += 1;
                }
            }
        }
        Ok(TokenKind::At)
    }

    fn operator(&mut self, start: usize) -> Result<Op> {
        let three: &[u8] = self.sql.get(start..start + 3).unwrap_or(&[]);
        let two: &[u8] = self.sql.get(start..start + 2).unwrap_or(&[]);
        let (op, len) = match (three, two, self.sql[start]) {
            (b"<=>", ..) => (Op::NullSafeEq, 3),
            (b"->>", ..) => (Op::LongArrow, 3),
            (_, b"<=", _) => (Op::Le, 2),
            (_, b">=", _) => (Op::Ge, 2),
            (_, b"<>" | b"!=", _) => (Op::Ne, 2),
            (_, b"<<", _) => (Op::ShiftLeft, 2),
            (_, b">>", _) => (Op::ShiftRight, 2),
            (_, b"&&", _) => (Op::AmpAmp, 2),
            (_, b"||", _) => (Op::PipePipe, 2),
            (_, b":=", _) => (Op::Assign, 2),
            (_, b"->", _) => (Op::Arrow, 2),
            (.., b'(') => (Op::LParen, 1),
            (.., b')') => (Op::RParen, 1),
            (.., b',') => (Op::Comma, 1),
            (.., b'.') => (Op::Dot, 1),
            (.., b';') => (Op::Semicolon, 1),
            (.., b'+') => (Op::Plus, 1),
            (.., b'-') => (Op::Minus, 1),
            (.., b'*') => (Op::Star, 1),
            (.., b'/') => (Op::Slash, 1),
            (.., b'%') => (Op::Percent, 1),
            (.., b'=') => (Op::Eq, 1),
            (.., b'<') => (Op::Lt, 1),
            (.., b'>') => (Op::Gt, 1),
            (.., b'&') => (Op::Amp, 1),
            (.., b'|') => (Op::Pipe, 1),
            (.., b'^') => (Op::Caret, 1),
            (.., b'~') => (Op::Tilde, 1),
            (.., b'!') => (Op::Bang, 1),
            (.., b'{') => (Op::LBrace, 1),
            (.., b'}') => (Op::RBrace, 1),
            (.., b':') => (Op::Colon, 1),
            _ => return Err(self.error(start)),
        };
        self.pos += len;
        Ok(op)
    }
}

/// Error 1064 at an offset of the statement.
pub fn syntax_error(sql: &[u8], at: usize) -> SqlError {
    let (near, line) = place(sql, at);
    SqlError::syntax(&near, line)
}

/// Error 1064 with a text of its own before the place.
pub(crate) fn said_of(sql: &[u8], at: usize, what: &str) -> SqlError {
    let (near, line) = place(sql, at);
    SqlError::new(er::PARSE_ERROR, format!("{what} near '{near}' at line {line}"))
}

/// What an error says of a place: the text from there on, and the line.
fn place(sql: &[u8], at: usize) -> (String, usize) {
    let at = at.min(sql.len());
    let near = sql[at..].split(|byte| *byte == 0).next().unwrap_or_default();
    let near = String::from_utf8_lossy(near);
    let near: String = near.chars().take(80).collect();
    let line = 1 + sql[..at].iter().filter(|b| **b == b'\n').count();
    (near, line)
}

/// The content of a quoted token: quotes off, escapes resolved.
pub fn unquote(raw: &[u8], mode: SqlMode) -> Vec<u8> {
    let quote = raw[0];
    let body = &raw[1..raw.len() - 1];
    let backslash = quote != b'`' && !mode.has(SqlMode::NO_BACKSLASH_ESCAPES);
    if !body.iter().any(|b| *b == quote || *b == b'\\') {
        return body.to_vec();
    }
    let mut out = Vec::with_capacity(body.len());
    let mut i = 0;
    while i < body.len() {
        let b = body[i];
        i += 1;
        if b == b'\\' && backslash && i < body.len() {
            let escaped = body[i];
            i += 1;
            match escaped {
                b'0' => out.push(0),
                b'b' => out.push(8),
                b'n' => out.push(b'\n'),
                b'r' => out.push(b'\r'),
                b't' => out.push(b'\t'),
                b'Z' => out.push(0x1a),
                // These keep their backslash, for LIKE.
                b'%' | b'_' => out.extend([b'\\', escaped]),
                other => out.push(other),
            }
        } else {
            i += (b == quote) as usize;
            out.push(b);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(sql: &str) -> Vec<TokenKind> {
        let mut lexer = Lexer::new(sql.as_bytes(), 0, SqlMode::DEFAULT);
        let mut out = Vec::new();
        loop {
            let token = lexer.token().unwrap();
            if token.kind == TokenKind::End {
                return out;
            }
            out.push(token.kind);
        }
    }

    #[test]
    fn comments_vanish_and_executable_ones_do_not() {
        use TokenKind::*;
        assert_eq!(kinds("a /* b */ -- c\n # d\n e"), [Word, Word]);
        assert_eq!(kinds("/*!40101 SET */ x /*!99999 y */"), [Word, Word]);
        assert_eq!(
            kinds("1--1"),
            [Int, Op(super::Op::Minus), Op(super::Op::Minus), Int]
        );
    }

    #[test]
    fn numbers_and_names_that_begin_like_them() {
        use TokenKind::*;
        assert_eq!(
            kinds("1 1.5 .5 1e3 0x4d 0b1 1a"),
            [Int, Decimal, Decimal, Float, Hex, Bit, Word]
        );
        assert_eq!(kinds("t.1a"), [Word, Op(super::Op::Dot), Word]);
    }

    #[test]
    fn escapes() {
        assert_eq!(unquote(br"'a\'b''c\n\%\x'", SqlMode::DEFAULT), b"a'b'c\n\\%x");
        assert_eq!(unquote(br"'a\'", SqlMode::NO_BACKSLASH_ESCAPES), b"a\\");
        assert_eq!(unquote(b"`a``b`", SqlMode::DEFAULT), b"a`b");
    }

    #[test]
    fn no_name_has_a_nul() {
        for sql in ["`a\0b`", "@`a\0b`", "`\0`", "SELECT 1 AS `a``\0`"] {
            let mut lexer = Lexer::new(sql.as_bytes(), 0, SqlMode::default());
            let error = loop {
                match lexer.token() {
                    Ok(token) => assert_ne!(token.kind, TokenKind::End, "{sql}"),
                    Err(error) => break error,
                }
            };
            assert!(error.code == 1064 && !error.message.contains('\0'), "{error}");
        }
        let ansi = Lexer::new(b"\"a\0b\"", 0, SqlMode::ANSI_QUOTES).token();
        assert!(ansi.is_err());
        assert_eq!(kinds("'a\0b'"), [TokenKind::Str]);
    }

    #[test]
    fn unterminated_things_are_errors() {
        let mut lexer = Lexer::new(b"'abc", 0, SqlMode::DEFAULT);
        assert_eq!(lexer.token().unwrap_err().code, 1064);
        let mut lexer = Lexer::new(b"/* abc", 0, SqlMode::DEFAULT);
        assert_eq!(lexer.token().unwrap_err().code, 1064);
    }
}
