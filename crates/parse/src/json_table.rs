//! `JSON_TABLE(document, path COLUMNS (…)) [AS] alias`

use super::ast::*;
use super::lexer::{Op, TokenKind};
use super::parser::Parser;
use tidemark_types::error::{Result, SqlError, er};

impl Parser<'_> {
    /// The cursor is at the name of the function.
    pub(super) fn json_table(&mut self) -> Result<TableRef> {
        self.advance();
        self.expect_op(Op::LParen)?;
        let document = self.expr()?;
        self.expect_op(Op::Comma)?;
        let rows = self.json_rows()?;
        self.expect_op(Op::RParen)?;
        let Some(alias) = self.alias()? else {
            return Err(SqlError::new(
                er::TABLE_FUNCTION_MUST_HAVE_ALIAS,
                "Every table function must have an alias",
            ));
        };
        self.link()?;
        Ok(TableRef::JsonTable(Box::new(JsonTable {
            document,
            rows,
            alias,
        })))
    }

    /// `path COLUMNS (…)`
    fn json_rows(&mut self) -> Result<JsonRows> {
        let level = self.enter()?;
        let path = self.json_text()?;
        self.expect("COLUMNS")?;
        let columns = self.in_parens(|p| p.list(Parser::json_column))?;
        self.link()?;
        self.leave(level);
        Ok(JsonRows { path, columns })
    }

    fn json_column(&mut self) -> Result<JsonTableColumn> {
        if self.accept_all(&["NESTED", "PATH"]) {
            return Ok(JsonTableColumn::Nested(self.json_rows()?));
        }
        let name = self.name()?;
        if self.accept_all(&["FOR", "ORDINALITY"]) {
            return Ok(JsonTableColumn::Ordinality { name });
        }
        let ty = self.data_type()?;
        let exists = self.accept("EXISTS");
        self.expect("PATH")?;
        let path = self.json_text()?;
        if exists {
            return Ok(JsonTableColumn::Exists { name, ty, path });
        }
        let mut handling = [None, None];
        while let Some(word) = self.accept_any(&["NULL", "ERROR", "DEFAULT"]) {
            let otherwise = match word {
                "NULL" => JsonOtherwise::Null,
                "ERROR" => JsonOtherwise::Error,
                _ => JsonOtherwise::Default(Box::new(self.json_default()?)),
            };
            self.expect("ON")?;
            let at = match self.accept_any(&["EMPTY", "ERROR"]) {
                Some("EMPTY") => 0,
                Some(_) => 1,
                None => return self.error(),
            };
            if handling[at].is_some() {
                self.step_back();
                return self.error();
            }
            handling[at] = Some(otherwise);
        }
        let [on_empty, on_error] = handling;
        Ok(JsonTableColumn::Path {
            name,
            ty,
            path,
            on_empty,
            on_error,
        })
    }

    /// A literal. Which of them can be defaults is the planner's to say.
    fn json_default(&mut self) -> Result<Expr> {
        if self.is("NULL") || self.token().kind == TokenKind::Param {
            return self.error();
        }
        let literal = match self.simple()? {
            Expr::Unary { expr, .. } => *expr,
            literal => literal,
        };
        // A literal of a shape stands as such in the statement alone.
        self.needs_literal |= matches!(literal, Expr::Param(_));
        match literal {
            Expr::Literal(_) | Expr::Param(_) => Ok(literal),
            _ => self.error(),
        }
    }

    /// A string literal, with the character set in front of it if that is written.
    fn json_text(&mut self) -> Result<Expr> {
        if self.is_introducer() && self.token_at(1).kind == TokenKind::Str {
            return self.introduced();
        }
        let bytes = self.string()?;
        Ok(Expr::Literal(Literal::Str { bytes, charset: None }))
    }
}
