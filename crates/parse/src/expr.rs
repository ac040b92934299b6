//! Expressions, by MySQL's levels of precedence: OR, XOR, AND, NOT, IS and comparison, the predicates (IN, BETWEEN,
//! LIKE, REGEXP), the arithmetic operators, and at the bottom the simple expressions.

use super::ast::*;
use super::lexer::{Op, Token, TokenKind, unquote};
use super::parser::Parser;
use super::reserved::is_reserved;
use super::window::is_window_function;
use tidemark_types::SqlMode;
use tidemark_types::error::{Result, SqlError};
use tidemark_types::temporal::parse;

/// How many operators of one precedence make nested nodes. More make a list, so that no chain is high.
const NESTED_MAX: usize = 8;

// Precedences, from the weakest. `&` and the shifts stand between `|` and `+`, `*` and `^` behind `+`.
const OR: u8 = 1;
const XOR: u8 = 2;
const AND: u8 = 3;
const NOT: u8 = 4;
const COMPARISON: u8 = 5;
const PREDICATE: u8 = 6;
const BIT_OR: u8 = 7;
const PLUS: u8 = 10;
const CONCAT: u8 = 13;

/// An operator behind an operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Infix {
    Or,
    And,
    /// `||` under PIPES_AS_CONCAT
    Concat,
    Is,
    /// IN, BETWEEN, LIKE, …, with a NOT before it or without.
    Predicate,
    Binary(BinaryOp),
}

fn boxed(expr: Expr) -> Box<Expr> {
    Box::new(expr)
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary {
        op,
        left: boxed(left),
        right: boxed(right),
    }
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    Expr::Function(Box::new(FunctionCall::plain(name, args)))
}

impl Parser<'_> {
    /// An expression by itself, as text that the dictionary keeps.
    pub(super) fn expression(&mut self) -> Result<Expr> {
        self.expr()
    }

    #[inline]
    pub(super) fn expr(&mut self) -> Result<Expr> {
        self.climb(OR)
    }

    /// An operand and what operators of at least this precedence make of it. Recursion passes here for every operand and
    /// every parenthesis, so that this and what lies between keeps its frames small: what is rare has functions of its
    /// own.
    fn climb(&mut self, lowest: u8) -> Result<Expr> {
        let level = self.enter()?;
        // Behind NOT come only weaker operators: its operand has taken the others.
        let low_not = self.is("NOT") && !self.high_not();
        let mut highest = if low_not { NOT - 1 } else { u8::MAX };
        let mut left = self.operand(lowest)?;
        // The chain that is being made: its precedence and its operators so far.
        let mut chain = (0, 0);
        while let Some((op, precedence)) = self.infix() {
            if precedence < lowest || precedence > highest {
                break;
            }
            if precedence != chain.0 {
                chain = (precedence, 0);
            }
            left = self.apply(left, op, precedence, &mut chain.1)?;
            highest = match op {
                // A predicate takes none as its operand, and arithmetic neither takes that nor IS.
                Infix::Predicate => PREDICATE - 1,
                _ => precedence,
            };
        }
        self.leave(level);
        Ok(left)
    }

    fn operand(&mut self, lowest: u8) -> Result<Expr> {
        if self.token().kind == TokenKind::Word {
            if lowest <= NOT && !self.high_not() && self.accept("NOT") {
                let inner = self.climb(NOT)?;
                self.link()?;
                return Ok(Expr::Not(boxed(inner)));
            }
            if self.is("INTERVAL") && !self.interval_function_follows() {
                return self.leading_interval();
            }
        }
        self.simple()
    }

    /// The operator at the cursor and its precedence.
    fn infix(&self) -> Option<(Infix, u8)> {
        use BinaryOp::*;
        let binary = |op, precedence| Some((Infix::Binary(op), precedence));
        let token = self.token();
        match token.kind {
            TokenKind::Op(Op::PipePipe) if self.mode.has(SqlMode::PIPES_AS_CONCAT) => {
                Some((Infix::Concat, CONCAT))
            }
            TokenKind::Op(Op::PipePipe) => Some((Infix::Or, OR)),
            TokenKind::Op(Op::AmpAmp) => Some((Infix::And, AND)),
            TokenKind::Op(Op::Eq) => binary(Equal, COMPARISON),
            TokenKind::Op(Op::NullSafeEq) => binary(NullSafeEqual, COMPARISON),
            TokenKind::Op(Op::Ne) => binary(NotEqual, COMPARISON),
            TokenKind::Op(Op::Lt) => binary(Less, COMPARISON),
            TokenKind::Op(Op::Le) => binary(LessEqual, COMPARISON),
            TokenKind::Op(Op::Gt) => binary(Greater, COMPARISON),
            TokenKind::Op(Op::Ge) => binary(GreaterEqual, COMPARISON),
            TokenKind::Op(Op::Pipe) => binary(BitOr, BIT_OR),
            TokenKind::Op(Op::Amp) => binary(BitAnd, BIT_OR + 1),
            TokenKind::Op(Op::ShiftLeft) => binary(ShiftLeft, BIT_OR + 2),
            TokenKind::Op(Op::ShiftRight) => binary(ShiftRight, BIT_OR + 2),
            TokenKind::Op(Op::Plus) => binary(Add, PLUS),
            TokenKind::Op(Op::Minus) => binary(Subtract, PLUS),
            TokenKind::Op(Op::Star) => binary(Multiply, PLUS + 1),
            TokenKind::Op(Op::Slash) => binary(Divide, PLUS + 1),
            TokenKind::Op(Op::Percent) => binary(Modulo, PLUS + 1),
            TokenKind::Op(Op::Caret) => binary(BitXor, PLUS + 2),
            TokenKind::Word => self.infix_word(),
            _ => None,
        }
    }

    fn infix_word(&self) -> Option<(Infix, u8)> {
        let word = self.text(self.token());
        let is = |other: &str| word.eq_ignore_ascii_case(other.as_bytes());
        let predicates = ["IN", "BETWEEN", "LIKE", "REGEXP", "RLIKE"];
        match word.len() {
            2 if is("OR") => Some((Infix::Or, OR)),
            2 if is("IS") => Some((Infix::Is, COMPARISON)),
            3 if is("AND") => Some((Infix::And, AND)),
            3 if is("XOR") => Some((Infix::Binary(BinaryOp::Xor), XOR)),
            3 if is("DIV") => Some((Infix::Binary(BinaryOp::IntDivide), PLUS + 1)),
            3 if is("MOD") => Some((Infix::Binary(BinaryOp::Modulo), PLUS + 1)),
            3 if is("NOT") => {
                let negated = predicates.iter().any(|w| self.is_ahead(1, w));
                negated.then_some((Infix::Predicate, PREDICATE))
            }
            6 if is("SOUNDS") && !self.is_ahead(1, "LIKE") => None,
            6 if is("MEMBER")
                && !self.is_ahead(1, "OF")
                && self.token_at(1).kind != TokenKind::Op(Op::LParen) =>
            {
                None
            }
            _ => {
                let found = predicates.iter().any(|w| is(w)) || is("SOUNDS") || is("MEMBER");
                found.then_some((Infix::Predicate, PREDICATE))
            }
        }
    }

    /// What the operator at the cursor, which is not yet read, makes of `left`.
    #[inline(never)]
    fn apply(&mut self, left: Expr, op: Infix, precedence: u8, links: &mut usize) -> Result<Expr> {
        let op = match op {
            Infix::Predicate => return self.predicate_of(left),
            Infix::Is => {
                *links = 0;
                return self.truth_of(left);
            }
            Infix::Or | Infix::And | Infix::Concat => {
                self.advance();
                let right = self.climb(precedence + 1)?;
                return self.list_of(left, op, right, links);
            }
            Infix::Binary(op) => op,
        };
        self.advance();
        if precedence == PLUS && self.is("INTERVAL") && !self.interval_function_follows() {
            *links = 0;
            return self.date_and_interval(left, op);
        }
        if precedence == COMPARISON && self.is_any(&["ALL", "ANY", "SOME"]) {
            *links = 0;
            return self.quantified(left, op);
        }
        let right = self.climb(precedence + 1)?;
        self.chain(left, op, right, links)
    }

    /// AND, OR and `||` are one node however many operands they have.
    fn list_of(&mut self, mut left: Expr, op: Infix, right: Expr, links: &mut usize) -> Result<Expr> {
        *links += 1;
        if *links > 1 {
            match (&mut left, op) {
                (Expr::Or(list), Infix::Or) | (Expr::And(list), Infix::And) => list.push(right),
                (Expr::Function(concat), _) => concat.args.push(right),
                _ => return self.error(),
            }
            return Ok(left);
        }
        self.link()?;
        let list = vec![left, right];
        Ok(match op {
            Infix::Or => Expr::Or(list),
            Infix::And => Expr::And(list),
            _ => call("CONCAT", list),
        })
    }

    /// `left op right`, where `left` already holds that many links of the same chain.
    fn chain(&mut self, mut left: Expr, op: BinaryOp, right: Expr, links: &mut usize) -> Result<Expr> {
        *links += 1;
        if let Expr::Chain { rest, .. } = &mut left
            && *links > NESTED_MAX
        {
            rest.push((op, right));
            return Ok(left);
        }
        self.link()?;
        if *links == NESTED_MAX {
            return Ok(Expr::Chain {
                first: boxed(left),
                rest: vec![(op, right)],
            });
        }
        Ok(binary(op, left, right))
    }

    /// `left IS [NOT] NULL`, `TRUE`, `FALSE`, `UNKNOWN`.
    #[inline(never)]
    fn truth_of(&mut self, left: Expr) -> Result<Expr> {
        self.expect("IS")?;
        self.link()?;
        let negated = self.accept("NOT");
        let expr = boxed(left);
        let truth = match self.accept_any(&["NULL", "TRUE", "FALSE", "UNKNOWN"]) {
            Some("NULL") => return Ok(Expr::IsNull { expr, negated }),
            Some("TRUE") => Some(true),
            Some("FALSE") => Some(false),
            Some(_) => None,
            None => return self.error(),
        };
        Ok(Expr::IsTruth { expr, truth, negated })
    }

    /// `left op ANY (query)`; the cursor is behind the operator.
    #[inline(never)]
    fn quantified(&mut self, left: Expr, op: BinaryOp) -> Result<Expr> {
        let word = self.accept_any(&["ALL", "ANY", "SOME"]);
        let query = Box::new(self.in_parens(Parser::query)?);
        self.link()?;
        Ok(Expr::Quantified {
            op,
            all: word == Some("ALL"),
            left: boxed(left),
            query,
        })
    }

    /// `left ± INTERVAL n unit`; the cursor is behind the sign.
    #[inline(never)]
    fn date_and_interval(&mut self, left: Expr, op: BinaryOp) -> Result<Expr> {
        let name = if op == BinaryOp::Add {
            "DATE_ADD"
        } else {
            "DATE_SUB"
        };
        let interval = self.interval()?;
        self.link()?;
        Ok(call(name, vec![left, interval]))
    }

    /// `left [NOT] IN`, `BETWEEN`, `LIKE`, `REGEXP`, `SOUNDS LIKE`.
    #[inline(never)]
    fn predicate_of(&mut self, left: Expr) -> Result<Expr> {
        let negated = self.accept("NOT");
        if self.accept("IN") {
            return self.in_predicate(left, negated);
        }
        if self.accept("BETWEEN") {
            return self.between(left, negated);
        }
        if self.accept("LIKE") {
            return self.like(left, negated);
        }
        if self.accept("REGEXP") || self.accept("RLIKE") {
            let pattern = boxed(self.bit_expr()?);
            self.link()?;
            return Ok(Expr::Regexp {
                expr: boxed(left),
                pattern,
                negated,
            });
        }
        if self.accept_all(&["SOUNDS", "LIKE"]) {
            let right = self.bit_expr()?;
            self.link()?;
            self.link()?;
            return Ok(binary(
                BinaryOp::Equal,
                call("SOUNDEX", vec![left]),
                call("SOUNDEX", vec![right]),
            ));
        }
        self.expect("MEMBER")?;
        self.accept("OF");
        self.expect_op(Op::LParen)?;
        let array = self.bit_expr()?;
        self.expect_op(Op::RParen)?;
        self.link()?;
        // A name that a call in a text cannot have.
        Ok(call("MEMBER OF", vec![left, array]))
    }

    fn between(&mut self, left: Expr, negated: bool) -> Result<Expr> {
        let low = boxed(self.bit_expr()?);
        self.expect("AND")?;
        let high = boxed(self.climb(PREDICATE)?);
        self.link()?;
        Ok(Expr::Between {
            expr: boxed(left),
            low,
            high,
            negated,
        })
    }

    fn like(&mut self, left: Expr, negated: bool) -> Result<Expr> {
        let pattern = boxed(self.bit_expr()?);
        let escape = if self.accept("ESCAPE") {
            let token = self.token();
            self.needs_literal |= self.shape_param(token).is_some();
            Some(boxed(self.simple()?))
        } else {
            None
        };
        self.link()?;
        Ok(Expr::Like {
            expr: boxed(left),
            pattern,
            escape,
            negated,
        })
    }

    fn in_predicate(&mut self, left: Expr, negated: bool) -> Result<Expr> {
        let expr = boxed(left);
        if self.token_at(1).kind != TokenKind::Op(Op::LParen) && self.query_in_parens_follows() {
            let query = Box::new(self.in_parens(Parser::query)?);
            self.link()?;
            return Ok(Expr::InQuery { expr, query, negated });
        }
        let mut list = self.in_parens(Parser::list_or_query)?;
        self.link()?;
        // `IN ((SELECT …))` reads all of its rows; in a list, a query is one value.
        Ok(match list.pop() {
            Some(Expr::Subquery(query)) if list.is_empty() => Expr::InQuery { expr, query, negated },
            last => {
                list.extend(last);
                Expr::InList { expr, list, negated }
            }
        })
    }

    fn list_or_query(&mut self) -> Result<Vec<Expr>> {
        let mut list = vec![self.expr_or_query()?];
        while self.accept_op(Op::Comma) {
            list.push(self.expr()?);
        }
        Ok(list)
    }

    /// `((SELECT …) UNION …)` is a query, `((SELECT …) + 1)` none: what follows the inner one tells.
    fn expr_or_query(&mut self) -> Result<Expr> {
        match self.expr()? {
            Expr::Subquery(query) if self.query_goes_on() => self.longer_subquery(query),
            other => Ok(other),
        }
    }

    /// Whether the parenthesis at the cursor holds a query, perhaps in more parentheses.
    pub(super) fn query_in_parens_follows(&self) -> bool {
        let mut ahead = 0;
        while self.token_at(ahead).kind == TokenKind::Op(Op::LParen) {
            ahead += 1;
        }
        ahead > 0
            && (["SELECT", "WITH", "TABLE"]
                .iter()
                .any(|w| self.is_ahead(ahead, w))
                || self.is_ahead(ahead, "VALUES") && self.is_ahead(ahead + 1, "ROW"))
    }

    // ------------------------------------------------------------------------------------------ arithmetic

    fn bit_expr(&mut self) -> Result<Expr> {
        self.climb(BIT_OR)
    }

    /// `INTERVAL(a, b, …)` is a function: a comma follows its first argument.
    fn interval_function_follows(&self) -> bool {
        if self.token_at(1).kind != TokenKind::Op(Op::LParen) {
            return false;
        }
        let (mut depth, mut ahead) = (0, 1);
        loop {
            match self.token_at(ahead).kind {
                TokenKind::Op(Op::LParen) => depth += 1,
                TokenKind::Op(Op::RParen) => depth -= 1,
                TokenKind::Op(Op::Comma) if depth == 1 => return true,
                TokenKind::End | TokenKind::Op(Op::Semicolon) => return false,
                _ => {}
            }
            if depth == 0 {
                return false;
            }
            ahead += 1;
        }
    }

    pub(super) fn interval(&mut self) -> Result<Expr> {
        self.expect("INTERVAL")?;
        let value = boxed(self.expr()?);
        let unit = self.word_upper()?;
        self.link()?;
        Ok(Expr::Interval { value, unit })
    }

    /// `INTERVAL n unit + date`
    fn leading_interval(&mut self) -> Result<Expr> {
        let interval = self.interval()?;
        self.expect_op(Op::Plus)?;
        let date = self.climb(PLUS + 1)?;
        self.link()?;
        Ok(call("DATE_ADD", vec![date, interval]))
    }

    pub(super) fn word_upper(&mut self) -> Result<String> {
        if self.token().kind != TokenKind::Word {
            return self.error();
        }
        let token = self.advance();
        Ok(self.word_text(token).to_ascii_uppercase())
    }

    // ----------------------------------------------------------------------------------------------- simple

    pub(super) fn simple(&mut self) -> Result<Expr> {
        let level = self.enter()?;
        let mut expr = self.primary()?;
        if self.is("COLLATE") || matches!(self.token().kind, TokenKind::Op(Op::Arrow | Op::LongArrow)) {
            expr = self.postfix(expr)?;
        }
        self.leave(level);
        Ok(expr)
    }

    /// Like `simple`, but what stands behind the value is left to the caller: COLLATE belongs to the column of a DEFAULT.
    pub(super) fn uncollated(&mut self) -> Result<Expr> {
        let level = self.enter()?;
        let expr = self.primary()?;
        self.leave(level);
        Ok(expr)
    }

    #[inline(never)]
    fn postfix(&mut self, mut expr: Expr) -> Result<Expr> {
        loop {
            if self.accept("COLLATE") {
                self.link()?;
                let collation = self.name_or_string()?;
                expr = Expr::Collate {
                    expr: boxed(expr),
                    collation,
                };
            } else if self.is_op(Op::Arrow) || self.is_op(Op::LongArrow) {
                let long = self.is_op(Op::LongArrow);
                self.advance();
                self.link()?;
                let path = self.string()?;
                let path = Expr::Literal(Literal::Str {
                    bytes: path,
                    charset: None,
                });
                expr = call("JSON_EXTRACT", vec![expr, path]);
                if long {
                    self.link()?;
                    expr = call("JSON_UNQUOTE", vec![expr]);
                }
            } else {
                return Ok(expr);
            }
        }
    }

    fn unary(&mut self, op: UnaryOp) -> Result<Expr> {
        self.advance();
        let expr = boxed(self.simple()?);
        self.link()?;
        Ok(Expr::Unary { op, expr })
    }

    /// Whether NOT binds like `!`.
    fn high_not(&self) -> bool {
        self.mode.has(SqlMode::HIGH_NOT_PRECEDENCE)
    }

    fn bang(&mut self) -> Result<Expr> {
        self.advance();
        let inner = self.simple()?;
        self.link()?;
        Ok(Expr::Not(boxed(inner)))
    }

    fn parameter(&mut self) -> Expr {
        self.advance();
        Expr::Param(self.next_param())
    }

    fn primary(&mut self) -> Result<Expr> {
        let token = self.token();
        match token.kind {
            TokenKind::Op(Op::LParen) => self.parenthesised(),
            TokenKind::Word if self.calls_by_name(token) => {
                self.advance();
                self.function(None, &self.word_text(token))
            }
            TokenKind::Op(Op::Minus) => self.unary(UnaryOp::Minus),
            TokenKind::Op(Op::Plus) => self.unary(UnaryOp::Plus),
            TokenKind::Op(Op::Tilde) => self.unary(UnaryOp::BitNot),
            TokenKind::Op(Op::Bang) => self.bang(),
            TokenKind::Op(Op::LBrace) => self.escape(),
            TokenKind::Word if self.high_not() && self.is("NOT") => self.bang(),
            TokenKind::Word if self.is("BINARY") => self.unary(UnaryOp::Binary),
            TokenKind::Int
            | TokenKind::Decimal
            | TokenKind::Float
            | TokenKind::Str
            | TokenKind::NationalStr
            | TokenKind::Hex
            | TokenKind::Bit => self.literal(token),
            TokenKind::Param => Ok(self.parameter()),
            TokenKind::At => self.user_variable(),
            TokenKind::AtAt => self.system_variable(),
            TokenKind::Quoted => self.name_expr(),
            TokenKind::Word => self.word_expr(token),
            _ => self.error(),
        }
    }

    /// Whether this word is the name of a function and its parenthesis follows.
    fn calls_by_name(&self, token: Token) -> bool {
        self.token_at(1).kind == TokenKind::Op(Op::LParen) && !is_reserved(self.text(token))
    }

    pub(super) fn literal(&mut self, token: Token) -> Result<Expr> {
        if let Some(param) = self.shape_param(token) {
            self.advance();
            // Adjacent strings are one literal, for the shape lexer as here.
            while token.kind == TokenKind::Str && self.token().kind == TokenKind::Str {
                self.needs_literal = true;
                self.advance();
            }
            return Ok(Expr::Param(param));
        }
        let raw = self.text(token);
        let literal = match token.kind {
            TokenKind::Str | TokenKind::NationalStr => {
                let charset = (token.kind == TokenKind::NationalStr).then(|| "utf8mb3".to_string());
                Literal::Str {
                    bytes: self.string()?,
                    charset,
                }
            }
            _ => {
                self.advance();
                number_literal(token.kind, raw)?
            }
        };
        Ok(Expr::Literal(literal))
    }

    fn user_variable(&mut self) -> Result<Expr> {
        let name = self.variable_name()?;
        if self.accept_op(Op::Assign) {
            let value = boxed(self.expr()?);
            self.link()?;
            return Ok(Expr::AssignVar { name, value });
        }
        Ok(Expr::UserVar(name))
    }

    /// The name of the `@name` at the cursor; names compare without case.
    pub(super) fn variable_name(&mut self) -> Result<String> {
        if self.token().kind != TokenKind::At {
            return self.error();
        }
        let token = self.advance();
        let raw = &self.text(token)[1..];
        let bytes = match raw.first() {
            None => return self.error(),
            Some(b'\'' | b'"' | b'`') => unquote(raw, self.mode),
            Some(_) => raw.to_vec(),
        };
        Ok(String::from_utf8_lossy(&bytes).to_lowercase())
    }

    pub(super) fn system_variable(&mut self) -> Result<Expr> {
        self.advance();
        let scope = self.scope_prefix()?;
        let mut name = self.any_name()?;
        while self.accept_op(Op::Dot) {
            name = format!("{name}.{}", self.any_name()?);
        }
        Ok(Expr::SysVar {
            scope,
            name: name.to_ascii_lowercase(),
        })
    }

    /// `GLOBAL.`, `SESSION.`, … after `@@`.
    pub(super) fn scope_prefix(&mut self) -> Result<Option<ScopeKeyword>> {
        if self.token_at(1).kind != TokenKind::Op(Op::Dot) {
            return Ok(None);
        }
        let scope = match self.accept_any(&["GLOBAL", "SESSION", "LOCAL", "PERSIST", "PERSIST_ONLY"]) {
            Some("GLOBAL") => ScopeKeyword::Global,
            Some("SESSION" | "LOCAL") => ScopeKeyword::Session,
            Some("PERSIST") => ScopeKeyword::Persist,
            Some(_) => ScopeKeyword::PersistOnly,
            None => return Ok(None),
        };
        self.expect_op(Op::Dot)?;
        Ok(Some(scope))
    }

    fn parenthesised(&mut self) -> Result<Expr> {
        if self.token_at(1).kind != TokenKind::Op(Op::LParen) && self.query_in_parens_follows() {
            return self.scalar_subquery();
        }
        self.expect_op(Op::LParen)?;
        let first = self.expr_or_query()?;
        if self.accept_op(Op::RParen) {
            return Ok(first);
        }
        self.row_of(first)
    }

    #[inline(never)]
    fn longer_subquery(&mut self, first: Box<Query>) -> Result<Expr> {
        Ok(Expr::Subquery(Box::new(self.query_behind(*first)?)))
    }

    #[inline(never)]
    fn scalar_subquery(&mut self) -> Result<Expr> {
        let query = self.in_parens(Parser::query)?;
        self.link()?;
        Ok(Expr::Subquery(Box::new(query)))
    }

    /// The rest of `(first, …)`.
    #[inline(never)]
    fn row_of(&mut self, first: Expr) -> Result<Expr> {
        let mut list = vec![first];
        while self.accept_op(Op::Comma) {
            list.push(self.expr()?);
        }
        self.expect_op(Op::RParen)?;
        self.link()?;
        Ok(Expr::Row(list))
    }

    /// A column, a call by a qualified name, or a variable of the program around.
    fn name_expr(&mut self) -> Result<Expr> {
        match self.column()? {
            Expr::Column(column) => self.resolve(column),
            other => Ok(other),
        }
    }

    fn column(&mut self) -> Result<Expr> {
        let mut parts = vec![self.name()?];
        while parts.len() < 3 && self.is_op(Op::Dot) {
            self.advance();
            parts.push(self.any_name()?);
        }
        if parts.len() <= 2 && self.is_op(Op::LParen) {
            let name = parts.pop().unwrap_or_default();
            return self.function(parts.pop(), &name);
        }
        let column = parts.pop().unwrap_or_default();
        let table = parts.pop();
        Ok(Expr::Column(ColumnName {
            schema: parts.pop(),
            table,
            column,
        }))
    }

    pub(super) fn column_name(&mut self) -> Result<ColumnName> {
        match self.column()? {
            Expr::Column(name) => Ok(name),
            _ => self.error(),
        }
    }

    // -------------------------------------------------------------------------- words that begin expressions

    fn word_expr(&mut self, token: Token) -> Result<Expr> {
        let raw = self.text(token);
        let next = self.token_at(1).kind;
        if self.is_introducer() && matches!(next, TokenKind::Str | TokenKind::Hex | TokenKind::Bit) {
            return self.introduced();
        }
        if !is_reserved(raw) {
            let typed = next == TokenKind::Str && self.is_any(&["DATE", "TIME", "TIMESTAMP"]);
            if typed {
                return self.temporal_literal();
            }
            return self.name_expr();
        }
        let upper = self.word_text(token).to_ascii_uppercase();
        self.advance();
        match upper.as_str() {
            "NULL" => Ok(Expr::Literal(Literal::Null)),
            "TRUE" => Ok(Expr::Literal(Literal::Bool(true))),
            "FALSE" => Ok(Expr::Literal(Literal::Bool(false))),
            "CASE" => self.case(),
            "EXISTS" => {
                let query = self.in_parens(Parser::query)?;
                self.link()?;
                Ok(Expr::Exists(Box::new(query)))
            }
            "ROW" => {
                let list = self.in_parens(|p| p.list(Parser::expr))?;
                self.link()?;
                Ok(Expr::Row(list))
            }
            "DEFAULT" => {
                let of = if self.is_op(Op::LParen) {
                    Some(self.in_parens(Parser::column_name)?)
                } else {
                    None
                };
                Ok(Expr::Default(of))
            }
            "VALUES" => Ok(Expr::Values(self.in_parens(Parser::column_name)?)),
            "CURRENT_DATE" | "UTC_DATE" => {
                self.empty_parens()?;
                Ok(call(&upper, Vec::new()))
            }
            "CURRENT_USER" => {
                self.empty_parens()?;
                Ok(call("CURRENT_USER", Vec::new()))
            }
            "CURRENT_TIMESTAMP" | "LOCALTIME" | "LOCALTIMESTAMP" => self.clock("NOW"),
            "CURRENT_TIME" => self.clock("CURTIME"),
            "UTC_TIME" | "UTC_TIMESTAMP" => self.clock(&upper),
            "MATCH" => Err(SqlError::not_supported("MATCH ... AGAINST")),
            "CONVERT" => self.convert(),
            name if is_window_function(name) => self.window_function(name),
            // Reserved words that are functions when a parenthesis follows.
            "IF" | "LEFT" | "RIGHT" | "REPEAT" | "REPLACE" | "INSERT" | "MOD" | "CHAR" | "DATABASE"
            | "SCHEMA" | "INTERVAL" | "GROUPING"
                if self.is_op(Op::LParen) =>
            {
                let name = if upper == "SCHEMA" {
                    "DATABASE".to_string()
                } else {
                    upper
                };
                self.function(None, &name)
            }
            _ => {
                self.step_back();
                self.error()
            }
        }
    }

    fn empty_parens(&mut self) -> Result<()> {
        if self.accept_op(Op::LParen) {
            self.expect_op(Op::RParen)?;
        }
        Ok(())
    }

    /// A function of the clock, whose parentheses and precision may be missing.
    fn clock(&mut self, name: &str) -> Result<Expr> {
        let mut args = Vec::new();
        if self.accept_op(Op::LParen) {
            if !self.is_op(Op::RParen) {
                args.push(Expr::int(self.number()?));
            }
            self.expect_op(Op::RParen)?;
        }
        Ok(call(name, args))
    }

    /// Whether the token at the cursor may name a character set, as in `_utf8mb4'text'`.
    pub(super) fn is_introducer(&self) -> bool {
        let token = self.token();
        token.kind == TokenKind::Word && self.text(token).first() == Some(&b'_')
    }

    /// `_utf8mb4'text'`
    pub(super) fn introduced(&mut self) -> Result<Expr> {
        let introducer = self.advance();
        let charset = self.word_text(introducer)[1..].to_ascii_lowercase();
        let token = self.token();
        if self.shape_param(token).is_some() {
            self.needs_literal = true;
        }
        let bytes = match token.kind {
            TokenKind::Str => self.string()?,
            _ => {
                self.advance();
                match number_literal(token.kind, self.text(token))? {
                    Literal::Hex(bytes) | Literal::Bit(bytes) => bytes,
                    _ => return self.error(),
                }
            }
        };
        Ok(Expr::Literal(Literal::Str {
            bytes,
            charset: Some(charset),
        }))
    }

    /// ODBC's escapes, `{d '2024-01-01'}` or `{fn NOW()}`: the expression, of which `d`, `t` and `ts` make a literal of a date or time if it is
    /// a string that is one.
    #[inline(never)]
    fn escape(&mut self) -> Result<Expr> {
        self.advance();
        let kind = self.name()?;
        let expr = self.expr()?;
        self.expect_op(Op::RBrace)?;
        if !["d", "t", "ts"].contains(&kind.as_str()) {
            return Ok(expr);
        }
        // The literal decides which type it has.
        self.needs_literal |= matches!(expr, Expr::Param(_));
        let text = match &expr {
            Expr::Literal(Literal::Str { bytes, .. }) => std::str::from_utf8(bytes).ok(),
            _ => None,
        };
        Ok(match text.and_then(|text| self.moment(&kind, text)) {
            Some(literal) => Expr::Literal(literal),
            None => expr,
        })
    }

    fn moment(&self, kind: &str, text: &str) -> Option<Literal> {
        if kind == "t" {
            let (_, whole) = parse::time(text.as_bytes())?;
            return whole.then(|| Literal::Time(text.to_owned()));
        }
        let parsed = parse::datetime(text.as_bytes(), self.mode)?;
        let valid = !parsed.truncated && parse::acceptable(&parsed, self.mode);
        valid.then(|| match kind {
            "d" => Literal::Date(text.to_owned()),
            _ => Literal::Timestamp(text.to_owned()),
        })
    }

    fn temporal_literal(&mut self) -> Result<Expr> {
        let kind = self.word_upper()?;
        let text = self.string_text()?;
        Ok(Expr::Literal(match kind.as_str() {
            "DATE" => Literal::Date(text),
            "TIME" => Literal::Time(text),
            _ => Literal::Timestamp(text),
        }))
    }

    fn case(&mut self) -> Result<Expr> {
        let operand = if self.is("WHEN") {
            None
        } else {
            Some(boxed(self.expr()?))
        };
        let mut whens = Vec::new();
        while self.accept("WHEN") {
            let when = self.expr()?;
            self.expect("THEN")?;
            whens.push((when, self.expr()?));
        }
        if whens.is_empty() {
            return self.error();
        }
        let otherwise = if self.accept("ELSE") {
            Some(boxed(self.expr()?))
        } else {
            None
        };
        self.expect("END")?;
        self.link()?;
        Ok(Expr::Case {
            operand,
            whens,
            otherwise,
        })
    }

    fn convert(&mut self) -> Result<Expr> {
        self.in_parens(|p| {
            let expr = boxed(p.expr()?);
            p.link()?;
            if p.accept("USING") {
                let charset = p.name_or_string()?.to_ascii_lowercase();
                return Ok(Expr::ConvertUsing { expr, charset });
            }
            p.expect_op(Op::Comma)?;
            let ty = p.cast_type()?;
            Ok(Expr::Cast { expr, ty })
        })
    }
}

/// Reads a number's literal; `raw` is what the lexer accepted. Error 1367 for one that no double holds.
pub fn number_literal(kind: TokenKind, raw: &[u8]) -> Result<Literal> {
    let text = String::from_utf8_lossy(raw);
    Ok(match kind {
        TokenKind::Int => text
            .parse()
            .map_or_else(|_| Literal::Decimal(text.to_string()), Literal::Int),
        TokenKind::Decimal => Literal::Decimal(text.to_string()),
        TokenKind::Float => match text.parse() {
            Ok(value) if f64::is_finite(value) => Literal::Double(value),
            _ => return Err(SqlError::illegal_double(&text)),
        },
        TokenKind::Hex => Literal::Hex(hex_bytes(digits_of(raw))),
        _ => Literal::Bit(bit_bytes(digits_of(raw))),
    })
}

/// The digits of `0x…`, `x'…'`, `0b…`, `b'…'`.
fn digits_of(raw: &[u8]) -> &[u8] {
    if raw[1] == b'\'' {
        &raw[2..raw.len() - 1]
    } else {
        &raw[2..]
    }
}

fn hex_bytes(digits: &[u8]) -> Vec<u8> {
    let value = |b: u8| (b as char).to_digit(16).unwrap_or(0) as u8;
    let odd = digits.len() % 2;
    let first = digits[..odd].iter().map(|d| value(*d));
    first
        .chain(
            digits[odd..]
                .chunks(2)
                .map(|pair| value(pair[0]) << 4 | value(pair[1])),
        )
        .collect()
}

fn bit_bytes(digits: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = digits
        .rchunks(8)
        .map(|chunk| chunk.iter().fold(0, |byte, bit| byte << 1 | (bit - b'0')))
        .collect();
    out.reverse();
    out
}
