//! HANDLER … OPEN, READ and CLOSE.

use super::ast::*;
use super::lexer::{Op, TokenKind};
use super::parser::Parser;
use tidemark_types::error::Result;

const STEPS: [&str; 4] = ["FIRST", "NEXT", "PREV", "LAST"];

impl Parser<'_> {
    /// What stands behind HANDLER.
    pub(super) fn handler(&mut self) -> Result<Statement> {
        let table = self.object_name()?;
        if self.accept("OPEN") {
            let alias = self.alias()?;
            return Ok(Statement::HandlerOpen { table, alias });
        }
        if table.schema.is_some() {
            return self.error();
        }
        if self.accept("CLOSE") {
            return Ok(Statement::HandlerClose(table.name));
        }
        self.expect("READ")?;
        let index = match self.names_no_index() {
            true => None,
            false => Some(self.any_name()?),
        };
        let step = self.handler_step(index.is_some())?;
        let filter = match self.accept("WHERE") {
            true => Some(self.expr()?),
            false => None,
        };
        let limit = match self.accept("LIMIT") {
            true => Some(self.limit()?),
            false => None,
        };
        Ok(Statement::HandlerRead(Box::new(HandlerRead {
            name: table.name,
            index,
            step,
            filter,
            limit,
        })))
    }

    /// Whether FIRST or NEXT stands here, and is not an index's name: nothing follows that would belong to one.
    fn names_no_index(&self) -> bool {
        let is_key =
            |kind: TokenKind| matches!(kind, TokenKind::Op(Op::Eq | Op::Le | Op::Ge | Op::Lt | Op::Gt));
        self.is_any(&["FIRST", "NEXT"])
            && !is_key(self.token_at(1).kind)
            && !STEPS.iter().any(|step| self.is_ahead(1, step))
    }

    fn handler_step(&mut self, of_index: bool) -> Result<HandlerStep> {
        let steps = match of_index {
            true => &STEPS[..],
            false => &STEPS[..2],
        };
        match self.accept_any(steps) {
            Some("FIRST") => return Ok(HandlerStep::First),
            Some("NEXT") => return Ok(HandlerStep::Next),
            Some("PREV") => return Ok(HandlerStep::Prev),
            Some(_) => return Ok(HandlerStep::Last),
            None => {}
        }
        let op = match self.token().kind {
            TokenKind::Op(Op::Eq) => BinaryOp::Equal,
            TokenKind::Op(Op::Le) => BinaryOp::LessEqual,
            TokenKind::Op(Op::Ge) => BinaryOp::GreaterEqual,
            TokenKind::Op(Op::Lt) => BinaryOp::Less,
            TokenKind::Op(Op::Gt) => BinaryOp::Greater,
            _ => return self.error(),
        };
        self.advance();
        let values = self.in_parens(|p| p.list(Parser::expr))?;
        Ok(HandlerStep::Key(op, values))
    }
}
