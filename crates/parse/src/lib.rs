//! MySQL's SQL, from text to syntax tree.
//!
//! The parser is written for MySQL's grammar rather than taken from a library for many dialects: it knows where in the
//! text each thing stood, which gives error 1064 its "near", select items the names MySQL gives them, and the plan
//! cache its literals; literals are bytes in any character set; and precedence, comments and the many small statements
//! are MySQL's. What is recognised but not supported becomes [`ast::Statement::Unsupported`] or error 1235 at once.
//!
//! ```
//! use tidemark_parse::ast::Statement;
//! use tidemark_parse::shape::Shape;
//! use tidemark_parse::{parse, print};
//! use tidemark_types::SqlMode;
//!
//! let sql = b"SELECT a FROM t WHERE id = 7; COMMIT";
//! let parsed = parse(sql, 0, SqlMode::DEFAULT)?;
//! assert!(matches!(parsed.statement, Statement::Query(_)));
//! assert!(matches!(parse(sql, parsed.next, SqlMode::DEFAULT)?.statement, Statement::Commit { .. }));
//!
//! // Statements that differ in their literals have one shape.
//! let shape = |sql: &[u8]| {
//!     let mut shape = Shape::default();
//!     assert!(shape.scan(sql, 0, SqlMode::DEFAULT));
//!     shape.key().to_vec()
//! };
//! assert_eq!(shape(b"SELECT a FROM t WHERE id = 7"), shape(b"SELECT a FROM t WHERE id = 8"));
//!
//! // Errors are MySQL's, and say near what.
//! assert_eq!(parse(b"SELECT FROM", 0, SqlMode::DEFAULT).unwrap_err().code, 1064);
//!
//! // An expression prints as SHOW CREATE TABLE prints it.
//! let expression = tidemark_parse::parse_expression("a+1 > 2")?;
//! assert_eq!(print::expr(&expression), "((`a` + 1) > 2)");
//! # Ok::<(), tidemark_types::error::SqlError>(())
//! ```
//!
//! - [`lexer`]: tokens, comments, quoting.
//! - [`parser`]: the cursor and the depth limit; the grammar is in `expr`, `call`, `query`, `from`, `json_table`, `dml`,
//!   `ddl`, `table`, `alter`, `view`, `program`, `admin`, `show`, `account`, `role`.
//! - [`shape`]: a statement's text with its literals taken out, the key of the plan cache.
//! - `digest`: a statement's text without what differs between statements of one kind; `keywords`: the grammar's words.
//! - [`print`]: an expression back as text; [`view_text`]: a query.

#![forbid(unsafe_code)]
#![warn(clippy::too_many_arguments)]

mod account;
mod account_options;
mod admin;
mod alter;
pub mod ast;
mod call;
mod call_text;
mod conceal;
mod ddl;
mod digest;
mod dml;
mod expr;
mod file;
mod from;
mod handler;
mod hint;
mod json_table;
mod keywords;
pub mod lexer;
mod parser;
pub mod print;
mod program;
mod query;
mod reserved;
mod role;
pub mod shape;
mod show;
mod table;
#[cfg(test)]
mod tests;
mod view;
pub mod view_text;
mod window;

pub use conceal::conceal;
pub use digest::digest_text;
pub use keywords::FREE;
pub use reserved::{RESERVED, is_reserved};

use ast::{Statement, StatementHints};
use lexer::{Lexer, TokenKind, syntax_error};
use parser::Parser;
use tidemark_types::SqlMode;
use tidemark_types::error::Result;
use tidemark_types::error::interrupt::shielded;

/// One parsed statement of a text that may hold several.
#[derive(Debug)]
pub struct Parsed {
    /// What it says.
    pub statement: Statement,
    /// How many `?` it has, or how many of the shape's literals were given.
    pub param_count: usize,
    /// Where the next statement begins; the text's length if there is none.
    pub next: usize,
    /// A literal of the shape stands where the grammar needs it as such: this shape cannot be shared.
    pub needs_literal: bool,
    /// What optimizer hints ask of the statement as a whole; `None`: there are no hints.
    pub hints: Option<Box<StatementHints>>,
}

/// A text as a client sends it, without what MySQL ignores around it: white space, semicolons at its end, and one NUL
/// byte there, which `mysqlslap` sends.
pub fn trim(sql: &[u8]) -> &[u8] {
    let blank = |b: &u8| matches!(b, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r');
    let sql = sql.strip_suffix(b"\0").unwrap_or(sql);
    let start = sql.iter().position(|b| !blank(b)).unwrap_or(sql.len());
    let end = sql.iter().rposition(|b| !blank(b) && *b != b';');
    &sql[start..end.map_or(start, |end| end + 1).max(start)]
}

/// Checks that nothing but white space and comments follows the statement that ends at `end`. Error 1064 names what does.
pub fn expect_single(sql: &[u8], end: usize, mode: SqlMode) -> Result<()> {
    let token = Lexer::new(sql, end, mode).token()?;
    match token.kind {
        TokenKind::End => Ok(()),
        _ => Err(syntax_error(sql, token.start as usize)),
    }
}

/// Parses the statement that begins at `start`. A text that holds nothing but comments is [`Statement::Empty`], one
/// without even these is error 1065.
pub fn parse(sql: &[u8], start: usize, mode: SqlMode) -> Result<Parsed> {
    parse_shape(sql, start, mode, 0, &[])
}

/// Like [`parse`], but the literals at these offsets ([`shape::Shape::offsets`]) become [`ast::Expr::Param`], and `WEEK(d)` is
/// `WEEK(d, week_format)`: as in MySQL `default_week_format` is looked at when a text is parsed, so that a prepared statement, a view and a
/// generated column keep the mode that they were made with.
pub fn parse_shape(
    sql: &[u8],
    start: usize,
    mode: SqlMode,
    week_format: u8,
    literals: &[u32],
) -> Result<Parsed> {
    let mut parser = Parser::new(sql, start, mode, literals)?;
    parser.week_format = week_format;
    let statement = parser.statement()?;
    parser.expect_end()?;
    Ok(Parsed {
        hints: parser.take_statement_hints(&statement),
        statement,
        param_count: parser.param_count(),
        next: parser.next_statement(),
        needs_literal: parser.needs_literal,
    })
}

/// A single expression: defaults and checks that the dictionary keeps as text. They are printed in one form, whatever the
/// SQL mode was, and so read back in one mode.
pub fn parse_expression(text: &str) -> Result<ast::Expr> {
    // A definition that is there must not look as if it were broken.
    shielded(|| expression_in(text, SqlMode::DEFAULT))
}

/// A view's query as the dictionary keeps it: printed in one form, whatever the SQL mode was, and so read back in one mode.
pub fn parse_query(text: &str) -> Result<ast::Query> {
    let mut parser = Parser::new(text.as_bytes(), 0, SqlMode::DEFAULT, &[])?;
    let query = parser.query()?;
    parser.expect_end()?;
    Ok(query)
}

/// A single expression, under an SQL mode.
pub fn expression_in(text: &str, mode: SqlMode) -> Result<ast::Expr> {
    let mut parser = Parser::new(text.as_bytes(), 0, mode, &[])?;
    let expr = parser.expression()?;
    parser.expect_end()?;
    Ok(expr)
}
