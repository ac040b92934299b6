//! The digest of a statement: its text with everything left out that differs between statements of one kind.
//!
//! ```text
//! select c from t where id in (1, 2)  /* a comment */        SELECT `c` FROM `t` WHERE `id` IN (...)
//! insert into t values (1, 'a'), (2, 'b'), (3, 'c')          INSERT INTO `t` VALUES (...) /* , ... */
//! ```
//!
//! The text is MySQL's, word by word. Its tokens are put on a stack, whose top is reduced while it can be:
//!
//! ```text
//! literal                      → ?                           ( ? )            → (?)          ( ?, ... )       → (...)
//! - literal, at an expression's beginning → ?                (?) , (?)        → (?) /* , ... */
//! ? , ?    and  ?, ... , ?     → ?, ...                      (...) , (...)    → (...) /* , ... */
//! IN (?)   and  IN (...)       → IN (...)
//! ```
//!
//! What stands for a column in ORDER BY and GROUP BY (`ORDER BY 2`) stays. The stack's size is bounded by `max_digest_length`,
//! in bytes as MySQL counts them (a token has two, a name its length beside); what comes behind is left out. So the memory that a
//! digest takes does not grow with its statement.

use crate::keywords::written;
use crate::lexer::{Lexer, Op, Token, TokenKind, is_word_byte, unquote};
use std::borrow::Cow;
use std::collections::VecDeque;
use tidemark_types::SqlMode;
use tidemark_types::error::Result;

const VALUE: &str = "?";
const VALUES: &str = "?, ...";
const ROW_OF_VALUE: &str = "(?)";
const ROWS_OF_VALUE: &str = "(?) /* , ... */";
const ROW: &str = "(...)";
const ROWS: &str = "(...) /* , ... */";
const IN_VALUES: &str = "IN (...)";

/// What the stack holds.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Item<'a> {
    Text(&'static str),
    Name(Cow<'a, [u8]>),
    /// The number of a column.
    Ordinal(u32),
    /// The `@` between a table and its query block in a hint.
    Joint,
}

impl Item<'_> {
    /// Bytes of `max_digest_length` that it takes.
    fn size(&self) -> usize {
        match self {
            Item::Text(_) | Item::Joint => 2,
            Item::Name(name) => 4 + name.len(),
            Item::Ordinal(_) => 6,
        }
    }
}

/// The digest text of the statement that begins at `start`, of which `length_max` bytes count. Errors are the lexer's, for a text
/// that is no statement.
pub fn digest_text(sql: &[u8], start: usize, mode: SqlMode, length_max: usize) -> Result<String> {
    let mut digest = Digest {
        sql,
        mode,
        tokens: Tokens {
            lexer: Lexer::new(sql, start, mode),
            ahead: VecDeque::new(),
        },
        items: Vec::new(),
        size: 0,
        size_max: length_max,
        full: false,
        depth: 0,
        lists: Vec::new(),
        begins_item: false,
        defines: false,
    };
    digest.read()?;
    Ok(digest.print())
}

/// Tokens, with some of those that follow.
struct Tokens<'a> {
    lexer: Lexer<'a>,
    ahead: VecDeque<Token>,
}

impl Tokens<'_> {
    fn take(&mut self) -> Result<Token> {
        match self.ahead.pop_front() {
            Some(token) => Ok(token),
            None => self.lexer.token(),
        }
    }

    /// The token so far ahead; 0 is the next.
    fn peek(&mut self, n: usize) -> Result<Token> {
        while self.ahead.len() <= n {
            let token = self.lexer.token()?;
            self.ahead.push_back(token);
        }
        Ok(self.ahead[n])
    }
}

struct Digest<'a> {
    sql: &'a [u8],
    mode: SqlMode,
    tokens: Tokens<'a>,
    items: Vec<Item<'a>>,
    size: usize,
    size_max: usize,
    full: bool,
    /// Open parentheses.
    depth: u32,
    /// The depths at which an ORDER BY, GROUP BY or PARTITION BY is open.
    lists: Vec<u32>,
    /// The next token is the first of an item of such a list.
    begins_item: bool,
    /// It is CREATE TABLE or ALTER TABLE, where NULL also says something of a column.
    defines: bool,
}

impl<'a> Digest<'a> {
    fn read(&mut self) -> Result<()> {
        while !self.full {
            let token = self.tokens.take()?;
            if matches!(token.kind, TokenKind::End | TokenKind::Op(Op::Semicolon)) {
                break;
            }
            let begins_item = std::mem::take(&mut self.begins_item);
            self.token(token, begins_item)?;
        }
        Ok(())
    }

    fn text(&self, token: Token) -> &'a [u8] {
        &self.sql[token.start as usize..token.end as usize]
    }

    fn push(&mut self, item: Item<'a>) {
        let size = self.size + item.size();
        if size > self.size_max {
            self.full = true;
        } else {
            self.size = size;
            self.items.push(item);
        }
    }

    fn pop(&mut self, n: usize) {
        for _ in 0..n {
            self.size -= self.items.pop().map_or(0, |item| item.size());
        }
    }

    /// The text of the item so far from the top; none for a name.
    fn top(&self, n: usize) -> Option<&'static str> {
        match self.items.get(self.items.len().checked_sub(n + 1)?)? {
            Item::Text(text) => Some(text),
            _ => None,
        }
    }

    fn token(&mut self, token: Token, begins_item: bool) -> Result<()> {
        match token.kind {
            TokenKind::Int if begins_item => self.ordinal(token)?,
            TokenKind::Int | TokenKind::Decimal | TokenKind::Float | TokenKind::Hex | TokenKind::Bit => {
                self.number()
            }
            TokenKind::Str | TokenKind::NationalStr | TokenKind::Param => self.value(),
            TokenKind::Quoted => self.push(Item::Name(unquoted(self.text(token)))),
            TokenKind::Word => self.word(token)?,
            TokenKind::At => {
                let name = &self.text(token)[1..];
                self.push(Item::Text("@"));
                match name.first() {
                    Some(b'`') => self.push(Item::Name(unquoted(name))),
                    Some(b'"') if self.mode.has(SqlMode::ANSI_QUOTES) => {
                        self.push(Item::Name(unquoted(name)));
                    }
                    _ => self.value(),
                }
            }
            TokenKind::AtAt => self.push(Item::Text("@@")),
            TokenKind::Op(Op::LParen) => {
                self.depth += 1;
                self.push(Item::Text("("));
            }
            TokenKind::Op(Op::RParen) => {
                self.lists.retain(|depth| *depth < self.depth);
                self.depth = self.depth.saturating_sub(1);
                self.close();
            }
            TokenKind::Op(op) => {
                self.begins_item = op == Op::Comma && self.lists.last() == Some(&self.depth);
                self.push(Item::Text(sign(op)));
            }
            TokenKind::End => {}
        }
        Ok(())
    }

    /// A number, whose signs belong to it at the beginning of an expression.
    fn number(&mut self) {
        while matches!(self.top(0), Some("-" | "+")) && self.top(1).is_some_and(begins_expression) {
            self.pop(1);
        }
        self.value();
    }

    fn value(&mut self) {
        if self.top(0) == Some(",") && matches!(self.top(1), Some(VALUE | VALUES)) {
            self.pop(2);
            self.push(Item::Text(VALUES));
        } else {
            self.push(Item::Text(VALUE));
        }
    }

    /// A closing parenthesis.
    fn close(&mut self) {
        let (row, rows) = match (self.top(0), self.top(1)) {
            (Some(VALUE), Some("(")) => (ROW_OF_VALUE, ROWS_OF_VALUE),
            (Some(VALUES), Some("(")) => (ROW, ROWS),
            _ => return self.push(Item::Text(")")),
        };
        self.pop(2);
        if self.top(0) == Some(",") && self.top(1).is_some_and(|before| before == row || before == rows) {
            self.pop(2);
            self.push(Item::Text(rows));
        } else if self.top(0) == Some("IN") {
            self.pop(1);
            self.push(Item::Text(IN_VALUES));
        } else {
            self.push(Item::Text(row));
        }
    }

    /// A number at the beginning of an item of ORDER BY or GROUP BY: a column's, if it is all of the item.
    fn ordinal(&mut self, token: Token) -> Result<()> {
        let next = self.tokens.peek(0)?;
        let alone = match next.kind {
            TokenKind::End | TokenKind::Op(Op::Comma | Op::RParen | Op::Semicolon) => true,
            TokenKind::Word => !continues_expression(self.text(next)),
            _ => false,
        };
        let number = std::str::from_utf8(self.text(token))
            .ok()
            .and_then(|text| text.parse().ok());
        let listed = self.top(0) == Some(",") && matches!(self.top(1), Some(VALUE | VALUES));
        match number {
            Some(number) if alone && !listed => self.push(Item::Ordinal(number)),
            _ => self.value(),
        }
        Ok(())
    }

    fn word(&mut self, token: Token) -> Result<()> {
        let word = self.text(token);
        let end = token.end as usize;
        let byte = |at: usize| self.sql.get(at).copied().unwrap_or(0);
        let variable = self.top(0) == Some("@@");
        let qualified = self.top(0) == Some(".");
        let qualifies = !variable && byte(end) == b'.' && is_word_byte(byte(end + 1));
        let blanks = match self.mode.has(SqlMode::IGNORE_SPACE) {
            true => self.sql[end..]
                .iter()
                .take_while(|b| b.is_ascii_whitespace())
                .count(),
            false => 0,
        };
        let called = !variable && byte(end + blanks) == b'(';
        let found = match qualified || qualifies {
            true => None,
            false => written(word, called),
        };
        let Some(written) = found else {
            let next = self.tokens.peek(0)?.kind;
            let literal = matches!(next, TokenKind::Str | TokenKind::Hex | TokenKind::Bit);
            match word[0] == b'_' && literal && !qualified {
                true => self.push(Item::Text("(_charset)")),
                false => self.push(Item::Name(Cow::Borrowed(word))),
            }
            return Ok(());
        };
        if written == "NULL" && self.is_literal_null()? {
            self.value();
            return Ok(());
        }
        self.heed(written);
        self.push(Item::Text(written));
        if matches!(written, "SELECT" | "INSERT" | "REPLACE" | "UPDATE" | "DELETE") {
            self.hints(end);
        }
        Ok(())
    }

    /// Words that say what numbers and NULL mean behind them.
    fn heed(&mut self, word: &str) {
        match word {
            "BY" => {
                if matches!(self.top(0), Some("ORDER" | "GROUP" | "PARTITION")) {
                    self.lists.push(self.depth);
                    self.begins_item = true;
                }
            }
            "LIMIT" | "HAVING" | "FOR" | "INTO" | "LOCK" | "SEPARATOR" | "ROWS" | "RANGE" | "WINDOW"
            | "UNION" | "EXCEPT" | "INTERSECT" | "SELECT" => self.lists.retain(|depth| *depth != self.depth),
            "TABLE" => {
                let verb = match self.top(0) {
                    Some("TEMPORARY") => self.top(1),
                    verb => verb,
                };
                self.defines |= matches!(verb, Some("CREATE" | "ALTER"));
            }
            _ => {}
        }
    }

    /// Whether a NULL is a value, rather than `IS NULL`, a column's `NOT NULL`, `SET NULL`, `NULL ON EMPTY`.
    fn is_literal_null(&mut self) -> Result<bool> {
        if self.defines {
            let begins = |text: &str| {
                begins_expression(text)
                    || matches!(text, "WHERE" | "ON" | "HAVING" | "BY" | "ALL" | "DISTINCTROW")
            };
            return Ok(self.top(0).is_some_and(|text| text != "NOT" && begins(text)));
        }
        if self.top(0) == Some("IS") || (self.top(0) == Some("NOT") && self.top(1) == Some("IS")) {
            return Ok(false);
        }
        let is = |text: &[u8], word: &str| text.eq_ignore_ascii_case(word.as_bytes());
        let (next, behind) = (self.tokens.peek(0)?, self.tokens.peek(1)?);
        let behind = self.text(behind);
        Ok(!(is(self.text(next), "ON") && (is(behind, "EMPTY") || is(behind, "ERROR"))))
    }

    /// The optimizer hints that stand right behind the word that ends at `from`.
    fn hints(&mut self, from: usize) {
        let rest = &self.sql[from..];
        let blanks = rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
        let Some(text) = rest[blanks..].strip_prefix(b"/*+") else {
            return;
        };
        let Some(end) = text.windows(2).position(|two| two == b"*/") else {
            return;
        };
        if text[..end].trim_ascii().is_empty() {
            return;
        }
        self.push(Item::Text("/*+"));
        let mut lexer = Lexer::new(&text[..end], 0, self.mode);
        while let Ok(token) = lexer.token() {
            let word = &text[token.start as usize..token.end as usize];
            match token.kind {
                TokenKind::End => break,
                TokenKind::Word => match hint_word(word) {
                    Some(written) => self.push(Item::Text(written)),
                    None if word[0].is_ascii_digit() => self.value(),
                    None => self.push(Item::Name(Cow::Borrowed(word))),
                },
                TokenKind::Quoted => self.push(Item::Name(unquoted(word))),
                TokenKind::At => {
                    let block = &word[1..];
                    let joint = matches!(self.items.last(), Some(Item::Name(_)))
                        && token.start > 0
                        && !text[token.start as usize - 1].is_ascii_whitespace();
                    self.push(if joint { Item::Joint } else { Item::Text("@") });
                    let quoted = block.first() == Some(&b'`');
                    self.push(Item::Name(match quoted {
                        true => unquoted(block),
                        false => Cow::Borrowed(block),
                    }));
                }
                TokenKind::Op(Op::RParen) => self.close(),
                TokenKind::Op(op) => self.push(Item::Text(sign(op))),
                _ => self.value(),
            }
        }
        self.push(Item::Text("*/"));
    }

    fn print(&self) -> String {
        let mut text = String::with_capacity(self.size * 2);
        let mut apart = false;
        for item in &self.items {
            if apart && *item != Item::Joint {
                text.push(' ');
            }
            match item {
                Item::Text(written) => text.push_str(written),
                Item::Name(name) => {
                    text.push('`');
                    text.push_str(&String::from_utf8_lossy(name));
                    text.push('`');
                }
                Item::Ordinal(number) => text.push_str(&number.to_string()),
                Item::Joint => text.push('@'),
            }
            apart = !matches!(item, Item::Text("@" | "@@") | Item::Joint);
        }
        text
    }
}

/// A name without its quotes.
fn unquoted(raw: &[u8]) -> Cow<'_, [u8]> {
    Cow::Owned(unquote(raw, SqlMode::NO_BACKSLASH_ESCAPES))
}

/// Whether a sign behind this belongs to the number that it stands before. These are the tokens that MySQL's list of them has.
fn begins_expression(text: &str) -> bool {
    matches!(
        text,
        "(" | ","
            | "+"
            | "-"
            | "*"
            | "/"
            | "%"
            | "^"
            | "|"
            | "&"
            | "<<"
            | ">>"
            | "||"
            | "&&"
            | "="
            | "<=>"
            | "!="
            | "<"
            | ">"
            | "<="
            | ">="
            | "SELECT"
            | "AND"
            | "OR"
            | "XOR"
            | "NOT"
            | "BETWEEN"
            | "LIKE"
            | "RLIKE"
            | "DIV"
            | "MOD"
            | "CASE"
            | "WHEN"
            | "THEN"
            | "ELSE"
            | "INTERVAL"
            | "DEFAULT"
            | "IF"
            | "RETURN"
            | "AT"
            | "EVERY"
            | "STARTS"
            | "ENDS"
    )
}

/// Whether an expression goes on with this word.
fn continues_expression(word: &[u8]) -> bool {
    const WORDS: [&str; 15] = [
        "AND", "OR", "XOR", "NOT", "IS", "IN", "LIKE", "REGEXP", "RLIKE", "BETWEEN", "DIV", "MOD", "COLLATE",
        "SOUNDS", "MEMBER",
    ];
    WORDS
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

fn hint_word(word: &[u8]) -> Option<&'static str> {
    const WORDS: [&str; 42] = [
        "BKA",
        "BNL",
        "DERIVED_CONDITION_PUSHDOWN",
        "DUPSWEEDOUT",
        "FIRSTMATCH",
        "GROUP_INDEX",
        "HASH_JOIN",
        "INDEX",
        "INDEX_MERGE",
        "INTOEXISTS",
        "JOIN_FIXED_ORDER",
        "JOIN_INDEX",
        "JOIN_ORDER",
        "JOIN_PREFIX",
        "JOIN_SUFFIX",
        "LOOSESCAN",
        "MATERIALIZATION",
        "MAX_EXECUTION_TIME",
        "MERGE",
        "MRR",
        "NO_BKA",
        "NO_BNL",
        "NO_DERIVED_CONDITION_PUSHDOWN",
        "NO_GROUP_INDEX",
        "NO_HASH_JOIN",
        "NO_ICP",
        "NO_INDEX",
        "NO_INDEX_MERGE",
        "NO_JOIN_INDEX",
        "NO_MERGE",
        "NO_MRR",
        "NO_ORDER_INDEX",
        "NO_RANGE_OPTIMIZATION",
        "NO_SEMIJOIN",
        "NO_SKIP_SCAN",
        "ORDER_INDEX",
        "QB_NAME",
        "RESOURCE_GROUP",
        "SEMIJOIN",
        "SET_VAR",
        "SKIP_SCAN",
        "SUBQUERY",
    ];
    WORDS
        .into_iter()
        .find(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

fn sign(op: Op) -> &'static str {
    match op {
        Op::LParen => "(",
        Op::RParen => ")",
        Op::Comma => ",",
        Op::Dot => ".",
        Op::Semicolon => ";",
        Op::Plus => "+",
        Op::Minus => "-",
        Op::Star => "*",
        Op::Slash => "/",
        Op::Percent => "%",
        Op::Eq => "=",
        Op::NullSafeEq => "<=>",
        Op::Ne => "!=",
        Op::Lt => "<",
        Op::Le => "<=",
        Op::Gt => ">",
        Op::Ge => ">=",
        Op::Amp => "&",
        Op::AmpAmp => "&&",
        Op::Pipe => "|",
        Op::PipePipe => "||",
        Op::Caret => "^",
        Op::Tilde => "~",
        Op::Bang => "!",
        Op::LBrace => "{",
        Op::RBrace => "}",
        Op::ShiftLeft => "<<",
        Op::ShiftRight => ">>",
        Op::Assign => ":=",
        Op::Colon => ":",
        Op::Arrow => "->",
        Op::LongArrow => "->>",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(sql: &str) -> String {
        digest_text(sql.as_bytes(), 0, SqlMode::DEFAULT, 1024).unwrap()
    }

    #[test]
    fn literals_become_marks() {
        assert_eq!(
            text("select c from t where id in (1, 2) /* a */"),
            "SELECT `c` FROM `t` WHERE `id` IN (...)"
        );
        assert_eq!(
            text("insert into t values (1,'a'),(2,null),(-3,'c');select 1"),
            "INSERT INTO `t` VALUES (...) /* , ... */"
        );
        assert_eq!(
            text("SELECT a-1, a - -1, (-1), - - 1"),
            "SELECT `a` - ? , `a` - ? , (?) , ?"
        );
    }

    #[test]
    fn ordinals_stay_where_they_are_columns() {
        assert_eq!(
            text("SELECT a FROM t ORDER BY 1, 2 DESC, a+1, 3 LIMIT 4, 5"),
            "SELECT `a` FROM `t` ORDER BY 1 , 2 DESC , `a` + ?, ... LIMIT ?, ..."
        );
        assert_eq!(
            text("SELECT f(x ORDER BY 1), 2"),
            "SELECT `f` ( `x` ORDER BY 1 ) , ?"
        );
    }

    #[test]
    fn nulls_of_definitions_stay() {
        assert_eq!(
            text("CREATE TABLE t (a INT NULL DEFAULT NULL, b INT NOT NULL, CHECK (a IS NULL))"),
            "CREATE TABLE `t` ( `a` INTEGER NULL DEFAULT ? , `b` INTEGER NOT NULL , CHECK ( `a` IS NULL ) )"
        );
    }

    #[test]
    fn a_digest_is_bounded() {
        let long = format!("SELECT {}1", "1 + ".repeat(10_000));
        assert_eq!(text(&long).len(), 1028);
        assert_eq!(digest_text(b"SELECT 1", 0, SqlMode::DEFAULT, 0).unwrap(), "");
    }
}
