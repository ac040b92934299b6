//! Window functions and the windows they look through: `f(…) OVER (…)`, `OVER w`, `WINDOW w AS (…)`.

use super::ast::*;
use super::lexer::{Op, TokenKind};
use super::parser::Parser;
use tidemark_types::error::{Result, SqlError};

/// The functions that are nothing without OVER.
const WINDOW_ONLY: [&str; 11] = [
    "ROW_NUMBER",
    "RANK",
    "DENSE_RANK",
    "PERCENT_RANK",
    "CUME_DIST",
    "NTILE",
    "LAG",
    "LEAD",
    "FIRST_VALUE",
    "LAST_VALUE",
    "NTH_VALUE",
];

/// Whether a name in upper case is that of a function that is nothing without OVER.
pub(super) fn is_window_function(name: &str) -> bool {
    WINDOW_ONLY.contains(&name)
}

impl Parser<'_> {
    /// The arguments of a function that needs OVER, and what it may have between its parenthesis and OVER. The cursor is at
    /// the opening parenthesis.
    #[inline(never)]
    pub(super) fn window_function(&mut self, name: &str) -> Result<Expr> {
        self.expect_op(Op::LParen)?;
        let mut args = Vec::new();
        match name {
            "NTILE" => args.push(self.stable_integer()?),
            "LAG" | "LEAD" => {
                args.push(self.expr()?);
                if self.accept_op(Op::Comma) {
                    args.push(self.stable_integer()?);
                    if self.accept_op(Op::Comma) {
                        args.push(self.expr()?);
                    }
                }
            }
            "FIRST_VALUE" | "LAST_VALUE" => args.push(self.expr()?),
            "NTH_VALUE" => {
                args.push(self.expr()?);
                self.expect_op(Op::Comma)?;
                args.push(self.simple()?);
            }
            _ => {}
        }
        self.expect_op(Op::RParen)?;
        if name == "NTH_VALUE" && self.accept("FROM") {
            // To the scanner of shapes this FROM was the query's.
            self.needs_literal = true;
            if self.accept("LAST") {
                return Err(SqlError::not_supported("FROM LAST"));
            }
            self.expect("FIRST")?;
        }
        if name.ends_with("VALUE") || matches!(name, "LAG" | "LEAD") {
            if self.accept_all(&["IGNORE", "NULLS"]) {
                return Err(SqlError::not_supported("IGNORE NULLS"));
            }
            self.accept_all(&["RESPECT", "NULLS"]);
        }
        let mut call = FunctionCall::plain(name, args);
        call.over = self.over()?;
        if call.over.is_none() {
            return self.error();
        }
        self.link()?;
        Ok(Expr::Function(Box::new(call)))
    }

    /// A number, a parameter or a variable.
    fn stable_integer(&mut self) -> Result<Expr> {
        match self.token().kind {
            TokenKind::At => Ok(Expr::UserVar(self.variable_name()?)),
            _ if self.is_name() => Ok(Expr::Local(self.local_name()?)),
            _ => self.limit_value(),
        }
    }

    /// `OVER …`, if it stands here.
    #[inline]
    pub(super) fn over(&mut self) -> Result<Option<Over>> {
        if self.is("OVER") {
            self.window_behind()
        } else {
            Ok(None)
        }
    }

    #[inline(never)]
    fn window_behind(&mut self) -> Result<Option<Over>> {
        self.advance();
        let over = match self.is_op(Op::LParen) {
            true => Over::Window(Box::new(self.window()?)),
            false => Over::Name(self.name()?),
        };
        Ok(Some(over))
    }

    /// The WINDOW clause, its first word read.
    pub(super) fn named_windows(&mut self) -> Result<Vec<NamedWindow>> {
        self.list(|p| {
            let name = p.name()?;
            p.expect("AS")?;
            let window = p.window()?;
            Ok(NamedWindow { name, window })
        })
    }

    fn window(&mut self) -> Result<Window> {
        let level = self.enter()?;
        let window = self.in_parens(|p| {
            let mut window = Window::default();
            if p.is_name() {
                window.base = Some(p.name()?);
            }
            if p.accept_all(&["PARTITION", "BY"]) {
                window.partition_by = p.list(Parser::expr)?;
            }
            if p.accept_all(&["ORDER", "BY"]) {
                window.order_by = p.order_items()?;
            }
            window.frame = p.frame()?;
            Ok(window)
        })?;
        self.leave(level);
        Ok(window)
    }

    fn frame(&mut self) -> Result<Option<Frame>> {
        let unit = match self.accept_any(&["ROWS", "RANGE", "GROUPS"]) {
            None => return Ok(None),
            Some("ROWS") => FrameUnit::Rows,
            Some("RANGE") => FrameUnit::Range,
            Some(other) => return Err(SqlError::not_supported(other)),
        };
        let (start, end) = if self.accept("BETWEEN") {
            let start = self.frame_bound()?;
            self.expect("AND")?;
            (start, self.frame_bound()?)
        } else {
            let start = self.frame_bound()?;
            if matches!(start, FrameBound::Following(_) | FrameBound::UnboundedFollowing) {
                self.step_back();
                return self.error();
            }
            (start, FrameBound::CurrentRow)
        };
        if self.is("EXCLUDE") {
            return Err(SqlError::not_supported("EXCLUDE"));
        }
        Ok(Some(Frame { unit, start, end }))
    }

    fn frame_bound(&mut self) -> Result<FrameBound> {
        if self.accept("UNBOUNDED") {
            return match self.accept_any(&["PRECEDING", "FOLLOWING"]) {
                Some("PRECEDING") => Ok(FrameBound::UnboundedPreceding),
                Some(_) => Ok(FrameBound::UnboundedFollowing),
                None => self.error(),
            };
        }
        if self.accept_all(&["CURRENT", "ROW"]) {
            return Ok(FrameBound::CurrentRow);
        }
        let token = self.token();
        let distance = match token.kind {
            TokenKind::Int | TokenKind::Decimal | TokenKind::Float => self.literal(token)?,
            TokenKind::Param => {
                self.advance();
                Expr::Param(self.next_param())
            }
            TokenKind::Word if self.is("INTERVAL") => self.interval()?,
            _ => return self.error(),
        };
        match self.accept_any(&["PRECEDING", "FOLLOWING"]) {
            Some("PRECEDING") => Ok(FrameBound::Preceding(distance)),
            Some(_) => Ok(FrameBound::Following(distance)),
            None => self.error(),
        }
    }
}
