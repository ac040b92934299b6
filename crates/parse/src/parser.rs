//! The parser's core: a cursor over the tokens of one statement, and the small things every rule needs.
//!
//! Recursive descent. The rules live in the sibling modules: `expr`, `query`, `dml`, `ddl`, `admin`, `account`, `program`, each an
//! `impl Parser`.
//!
//! Tokens are read up to a semicolon, which ends all statements but one: in the body of a stored program it ends a statement or a
//! declaration of that, and the rules of bodies ask for the tokens behind it ([`Parser::next_in_body`]).
//!
//! No statement may exhaust the stack (`error::depth`). Every rule that can come to itself again begins with
//! [`Parser::enter`], which looks at the stack, and every node that has others below it is counted by
//! [`Parser::link`]: `height` is that of the highest tree made since the rule entered last, so that a link is on top of
//! whatever its own rule has made. Rules that make many trees side by side (the operands of a chain, the items of a
//! list) enter anew for each, and [`Parser::leave`] keeps the highest.

use super::ast::*;
use super::lexer::{Lexer, Op, Token, TokenKind, syntax_error, unquote};
use super::program::scope::Scope;
use super::reserved::is_reserved;
use tidemark_types::SqlMode;
use tidemark_types::error::depth::{HEIGHT_MAX, SELECTS_MAX, TABLES_MAX, check_stack};
use tidemark_types::error::memory::check_memory;
use tidemark_types::error::{Result, SqlError};

/// A rule that has been entered: the height of what stood beside it before.
pub(super) struct Level(usize);

/// Reads syntax off the tokens.
pub struct Parser<'a> {
    pub(super) sql: &'a [u8],
    lexer: Lexer<'a>,
    /// Up to a semicolon or the end of the text.
    tokens: Vec<Token>,
    pos: usize,
    pub(super) mode: SqlMode,
    /// The mode of WEEK() without one.
    pub(super) week_format: u8,
    height: usize,
    /// The SELECTs around the cursor.
    selects: usize,
    /// The tables of the FROM clause at the cursor.
    tables: usize,
    /// Offsets of the literals that are parameters of the statement's shape, ascending.
    shape_params: &'a [u32],
    params: usize,
    /// A literal that the grammar wants as such was taken out as a parameter: the shape cannot be shared.
    pub(super) needs_literal: bool,
    /// Where the last of them began whose hints the statement has.
    pub(super) hints_read: usize,
    pub(super) statement_hints: Option<Box<StatementHints>>,
    /// How many SELECTs have begun so far.
    pub(super) blocks: usize,
    /// The body of a stored program that is being read.
    pub(super) program: Option<Box<Scope>>,
}

impl<'a> Parser<'a> {
    /// A parser of the statement that begins at `start`.
    pub fn new(sql: &'a [u8], start: usize, mode: SqlMode, shape_params: &'a [u32]) -> Result<Parser<'a>> {
        let mut parser = Parser {
            sql,
            lexer: Lexer::new(sql, start, mode),
            tokens: Vec::with_capacity(64),
            pos: 0,
            mode,
            week_format: 0,
            height: 0,
            selects: 0,
            tables: 0,
            shape_params,
            params: 0,
            needs_literal: false,
            hints_read: 0,
            statement_hints: None,
            blocks: 0,
            program: None,
        };
        parser.read_tokens()?;
        Ok(parser)
    }

    /// Reads tokens up to a semicolon or the end of the text.
    fn read_tokens(&mut self) -> Result<()> {
        loop {
            let token = self.lexer.token()?;
            self.tokens.push(token);
            if self.tokens.len().is_multiple_of(1024) {
                check_memory()?;
            }
            if matches!(token.kind, TokenKind::End | TokenKind::Op(Op::Semicolon)) {
                return Ok(());
            }
        }
    }

    /// Goes behind the semicolon at the cursor, which ends an item of a body. The tokens before it are forgotten: no rule goes back there.
    pub(super) fn next_in_body(&mut self) -> Result<()> {
        let semicolon = self.token();
        self.tokens.clear();
        self.tokens.push(semicolon);
        self.read_tokens()?;
        self.pos = 1;
        Ok(())
    }

    /// Begins a statement of a body: its query blocks and its hints are its own.
    pub(super) fn begin_statement(&mut self) {
        self.blocks = 0;
        self.statement_hints = None;
    }

    /// True if the text has a comment, as far as it has been read.
    pub(super) fn is_commented(&self) -> bool {
        self.lexer.commented
    }

    /// Where the next statement begins.
    pub fn next_statement(&self) -> usize {
        self.tokens.last().map_or(self.sql.len(), |t| t.end as usize)
    }

    /// How many parameters there were so far.
    pub fn param_count(&self) -> usize {
        self.params.max(self.shape_params.len())
    }

    // ------------------------------------------------------------------------------------------- the cursor

    pub(super) fn token(&self) -> Token {
        self.tokens[self.pos]
    }

    pub(super) fn token_at(&self, ahead: usize) -> Token {
        self.tokens[(self.pos + ahead).min(self.tokens.len() - 1)]
    }

    pub(super) fn advance(&mut self) -> Token {
        let token = self.tokens[self.pos];
        if self.pos + 1 < self.tokens.len() {
            self.pos += 1;
        }
        token
    }

    /// Where the cursor stands, for [`Parser::go_back`].
    pub(super) fn cursor(&self) -> usize {
        self.pos
    }

    /// To a place where the cursor stood before.
    pub(super) fn go_back(&mut self, position: usize) {
        self.pos = position;
    }

    /// Before the token read last, for an error there.
    pub(super) fn step_back(&mut self) {
        self.pos = self.pos.saturating_sub(1);
    }

    pub(super) fn text(&self, token: Token) -> &'a [u8] {
        &self.sql[token.start as usize..token.end as usize]
    }

    /// Where the token read last ends.
    pub(super) fn end_of_last(&self) -> usize {
        self.tokens[self.pos.saturating_sub(1)].end as usize
    }

    /// The text between two places as a stored program keeps it: without the marks of executable comments.
    pub(super) fn kept_text(&self, start: usize, end: usize) -> Vec<u8> {
        let unkept = &self.lexer.unkept;
        let first = unkept.partition_point(|(begin, ..)| *begin < start);
        let (mut text, mut from) = (Vec::with_capacity(end - start), start);
        for (begin, after, _) in unkept[first..].iter().take_while(|(begin, ..)| *begin < end) {
            text.extend_from_slice(&self.sql[from..*begin]);
            from = *after;
        }
        text.extend_from_slice(&self.sql[from..end.max(from)]);
        text
    }

    /// How many bytes before a place a stored program does not keep.
    pub(super) fn unkept_before(&self, place: usize) -> usize {
        let unkept = &self.lexer.unkept;
        let count = unkept.partition_point(|(begin, ..)| *begin < place);
        count.checked_sub(1).map_or(0, |last| unkept[last].2)
    }

    /// The source from a token's start to the end of the last token read.
    pub(super) fn source_since(&self, start: u32) -> String {
        let end = self.tokens[self.pos.saturating_sub(1)].end;
        String::from_utf8_lossy(&self.sql[start as usize..(end.max(start)) as usize]).into_owned()
    }

    /// The comment of optimizer hints between the token read last and the next: where its inside begins and ends.
    pub(super) fn hint_comment(&self) -> Option<(usize, usize)> {
        let behind = self.tokens[self.pos.checked_sub(1)?].end as usize;
        let before = self.token().start as usize;
        let comments = &self.lexer.hints;
        let first = comments.partition_point(|(start, _)| *start < behind);
        let comment = comments.get(first).copied();
        comment.filter(|(_, end)| *end <= before)
    }

    pub(super) fn at_end(&self) -> bool {
        matches!(self.token().kind, TokenKind::End | TokenKind::Op(Op::Semicolon))
    }

    pub(super) fn error<T>(&self) -> Result<T> {
        let token = self.token();
        let at = if token.kind == TokenKind::End {
            self.sql.len()
        } else {
            token.start as usize
        };
        Err(syntax_error(self.sql, at))
    }

    pub(super) fn expect_end(&self) -> Result<()> {
        if self.at_end() { Ok(()) } else { self.error() }
    }

    /// Begins a rule that may come to itself again.
    #[inline]
    pub(super) fn enter(&mut self) -> Result<Level> {
        check_stack()?;
        Ok(Level(std::mem::take(&mut self.height)))
    }

    #[inline]
    pub(super) fn leave(&mut self, level: Level) {
        self.height = self.height.max(level.0);
    }

    /// Counts a node on top of what the rule entered last has made.
    #[inline]
    pub(super) fn link(&mut self) -> Result<()> {
        self.height += 1;
        if self.height > HEIGHT_MAX {
            return Err(SqlError::stack_overrun());
        }
        check_memory()
    }

    /// Begins a SELECT, with a FROM clause of its own; gives the number of tables in the one around it.
    pub(super) fn enter_select(&mut self) -> Result<usize> {
        self.selects += 1;
        if self.selects > SELECTS_MAX + 1 {
            return Err(SqlError::too_high_nesting_for_select());
        }
        Ok(std::mem::take(&mut self.tables))
    }

    pub(super) fn leave_select(&mut self, tables_around: usize) {
        self.selects -= 1;
        self.tables = tables_around;
    }

    /// Counts a table of the FROM clause; error 1116.
    pub(super) fn count_table(&mut self) -> Result<()> {
        self.tables += 1;
        if self.tables > TABLES_MAX {
            return Err(SqlError::too_many_tables());
        }
        Ok(())
    }

    // ---------------------------------------------------------------------------------------- words and signs

    fn word_is(&self, token: Token, word: &str) -> bool {
        token.kind == TokenKind::Word && self.text(token).eq_ignore_ascii_case(word.as_bytes())
    }

    pub(super) fn is(&self, word: &str) -> bool {
        self.word_is(self.token(), word)
    }

    pub(super) fn is_ahead(&self, ahead: usize, word: &str) -> bool {
        self.word_is(self.token_at(ahead), word)
    }

    pub(super) fn is_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    pub(super) fn accept(&mut self, word: &str) -> bool {
        let found = self.is(word);
        if found {
            self.advance();
        }
        found
    }

    /// All of the words, or none.
    pub(super) fn accept_all(&mut self, words: &[&str]) -> bool {
        let found = words.iter().enumerate().all(|(i, word)| self.is_ahead(i, word));
        if found {
            words.iter().for_each(|_| {
                self.advance();
            });
        }
        found
    }

    pub(super) fn accept_any(&mut self, words: &[&'static str]) -> Option<&'static str> {
        words.iter().find(|word| self.accept(word)).copied()
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<()> {
        if self.accept(word) { Ok(()) } else { self.error() }
    }

    pub(super) fn is_op(&self, op: Op) -> bool {
        self.token().kind == TokenKind::Op(op)
    }

    pub(super) fn accept_op(&mut self, op: Op) -> bool {
        let found = self.is_op(op);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expect_op(&mut self, op: Op) -> Result<()> {
        if self.accept_op(op) { Ok(()) } else { self.error() }
    }

    pub(super) fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut out = vec![item(self)?];
        while self.accept_op(Op::Comma) {
            out.push(item(self)?);
        }
        Ok(out)
    }

    pub(super) fn in_parens<T>(&mut self, item: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.expect_op(Op::LParen)?;
        let out = item(self)?;
        self.expect_op(Op::RParen)?;
        Ok(out)
    }

    // ------------------------------------------------------------------------------------------------- names

    /// A quoted token's content as a name.
    fn quoted_name(&self, token: Token) -> Result<String> {
        let bytes = unquote(self.text(token), self.mode);
        String::from_utf8(bytes).map_err(|_| syntax_error(self.sql, token.start as usize))
    }

    pub(super) fn word_text(&self, token: Token) -> String {
        String::from_utf8_lossy(self.text(token)).into_owned()
    }

    pub(super) fn is_name(&self) -> bool {
        let token = self.token();
        match token.kind {
            TokenKind::Quoted => true,
            TokenKind::Word => !is_reserved(self.text(token)),
            _ => false,
        }
    }

    pub(super) fn name(&mut self) -> Result<String> {
        let token = self.token();
        if !self.is_name() {
            return self.error();
        }
        self.advance();
        match token.kind {
            TokenKind::Quoted => self.quoted_name(token),
            _ => Ok(self.word_text(token)),
        }
    }

    /// A name after a dot, where reserved words are names too.
    pub(super) fn any_name(&mut self) -> Result<String> {
        if self.token().kind == TokenKind::Word {
            let token = self.advance();
            return Ok(self.word_text(token));
        }
        self.name()
    }

    /// A name that may also be written as a string: aliases, user names, character sets.
    pub(super) fn name_or_string(&mut self) -> Result<String> {
        if self.token().kind == TokenKind::Str {
            let bytes = self.string()?;
            return Ok(String::from_utf8_lossy(&bytes).into_owned());
        }
        self.any_name()
    }

    pub(super) fn object_name(&mut self) -> Result<ObjectName> {
        let first = self.name()?;
        if self.accept_op(Op::Dot) {
            let name = self.any_name()?;
            return Ok(ObjectName {
                schema: Some(first),
                name,
            });
        }
        Ok(ObjectName {
            schema: None,
            name: first,
        })
    }

    pub(super) fn name_list(&mut self) -> Result<Vec<String>> {
        self.list(Parser::name)
    }

    // ---------------------------------------------------------------------------------------------- literals

    /// Whether the literal at this token is a parameter of the shape; gives its number.
    pub(super) fn shape_param(&self, token: Token) -> Option<usize> {
        if self.shape_params.is_empty() {
            return None;
        }
        self.shape_params.binary_search(&token.start).ok()
    }

    pub(super) fn next_param(&mut self) -> usize {
        self.params += 1;
        self.params - 1
    }

    pub(super) fn literal_token(&mut self) -> Token {
        let token = self.advance();
        self.needs_literal |= self.shape_param(token).is_some();
        token
    }

    /// A string the grammar wants as such; adjacent ones are one.
    pub(super) fn string(&mut self) -> Result<Vec<u8>> {
        if !matches!(self.token().kind, TokenKind::Str | TokenKind::NationalStr) {
            return self.error();
        }
        let token = self.literal_token();
        let raw = self.text(token);
        let raw = if token.kind == TokenKind::NationalStr {
            &raw[1..]
        } else {
            raw
        };
        let mut out = unquote(raw, self.mode);
        while self.token().kind == TokenKind::Str {
            let token = self.literal_token();
            out.extend(unquote(self.text(token), self.mode));
        }
        Ok(out)
    }

    pub(super) fn string_text(&mut self) -> Result<String> {
        let bytes = self.string()?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// An unsigned integer the grammar wants as such.
    pub(super) fn number(&mut self) -> Result<u64> {
        if self.token().kind != TokenKind::Int {
            return self.error();
        }
        let text = self.text(self.token());
        match std::str::from_utf8(text).ok().and_then(|t| t.parse().ok()) {
            Some(n) => {
                self.literal_token();
                Ok(n)
            }
            None => self.error(),
        }
    }
}
