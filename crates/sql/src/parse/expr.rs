//! Expressions, by MySQL's levels of precedence: OR, XOR, AND, NOT, IS and comparison, the predicates (IN, BETWEEN,
//! LIKE, REGEXP), the arithmetic operators, and at the bottom the simple expressions.

use super::ast::*;
use super::lexer::{Kind, Op, Token, unquote};
use super::parser::Parser;
use super::reserved::is_reserved;
use crate::error::{Result, SqlError};
use crate::types::SqlMode;

/// How many operators of one precedence may follow each other.
const CHAIN_MAX: usize = 500;

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
    Expr::Function(Box::new(FunctionCall {
        schema: None,
        name: name.to_string(),
        args,
        distinct: false,
        star: false,
        order_by: Vec::new(),
        separator: None,
    }))
}

impl Parser<'_> {
    /// An expression by itself, as text that the dictionary keeps.
    pub(super) fn expression(&mut self) -> Result<Expr> {
        self.expr()
    }

    pub(super) fn expr(&mut self) -> Result<Expr> {
        self.enter()?;
        let out = self.or_expr();
        self.leave();
        out
    }

    fn or_expr(&mut self) -> Result<Expr> {
        let first = self.xor_expr()?;
        let mut list = Vec::new();
        while self.accept("OR") || !self.mode.has(SqlMode::PIPES_AS_CONCAT) && self.accept_op(Op::PipePipe) {
            list.push(self.xor_expr()?);
        }
        if list.is_empty() {
            return Ok(first);
        }
        list.insert(0, first);
        Ok(Expr::Or(list))
    }

    fn xor_expr(&mut self) -> Result<Expr> {
        let mut left = self.and_expr()?;
        let mut chain = 0;
        while self.accept("XOR") {
            self.link(&mut chain)?;
            left = binary(BinaryOp::Xor, left, self.and_expr()?);
        }
        Ok(left)
    }

    fn and_expr(&mut self) -> Result<Expr> {
        let first = self.not_expr()?;
        let mut list = Vec::new();
        while self.accept("AND") || self.accept_op(Op::AmpAmp) {
            list.push(self.not_expr()?);
        }
        if list.is_empty() {
            return Ok(first);
        }
        list.insert(0, first);
        Ok(Expr::And(list))
    }

    fn not_expr(&mut self) -> Result<Expr> {
        if self.accept("NOT") {
            self.enter()?;
            let inner = self.not_expr()?;
            self.leave();
            return Ok(Expr::Not(boxed(inner)));
        }
        self.comparison()
    }

    fn link(&self, chain: &mut usize) -> Result<()> {
        *chain += 1;
        if *chain > CHAIN_MAX {
            return Err(SqlError::not_supported("expression of this length"));
        }
        Ok(())
    }

    fn comparison_op(&self) -> Option<BinaryOp> {
        let Kind::Op(op) = self.token().kind else {
            return None;
        };
        Some(match op {
            Op::Eq => BinaryOp::Equal,
            Op::NullSafeEq => BinaryOp::NullSafeEqual,
            Op::Ne => BinaryOp::NotEqual,
            Op::Lt => BinaryOp::Less,
            Op::Le => BinaryOp::LessEqual,
            Op::Gt => BinaryOp::Greater,
            Op::Ge => BinaryOp::GreaterEqual,
            _ => return None,
        })
    }

    fn comparison(&mut self) -> Result<Expr> {
        let mut left = self.predicate()?;
        let mut chain = 0;
        loop {
            if let Some(op) = self.comparison_op() {
                self.link(&mut chain)?;
                self.advance();
                if let Some(word) = self.accept_any(&["ALL", "ANY", "SOME"]) {
                    let query = Box::new(self.in_parens(Parser::query)?);
                    left = Expr::Quantified {
                        op,
                        all: word == "ALL",
                        left: boxed(left),
                        query,
                    };
                    continue;
                }
                left = binary(op, left, self.predicate()?);
            } else if self.accept("IS") {
                self.link(&mut chain)?;
                let negated = self.accept("NOT");
                let expr = boxed(left);
                left = match self.accept_any(&["NULL", "TRUE", "FALSE", "UNKNOWN"]) {
                    Some("NULL") => Expr::IsNull { expr, negated },
                    Some("TRUE") => Expr::IsTruth {
                        expr,
                        truth: Some(true),
                        negated,
                    },
                    Some("FALSE") => Expr::IsTruth {
                        expr,
                        truth: Some(false),
                        negated,
                    },
                    Some(_) => Expr::IsTruth {
                        expr,
                        truth: None,
                        negated,
                    },
                    None => return self.error(),
                };
            } else {
                return Ok(left);
            }
        }
    }

    fn predicate(&mut self) -> Result<Expr> {
        let left = self.bit_expr()?;
        let negated = self.is("NOT")
            && ["IN", "BETWEEN", "LIKE", "REGEXP", "RLIKE"]
                .iter()
                .any(|w| self.is_ahead(1, w));
        if negated {
            self.advance();
        }
        if self.accept("IN") {
            return self.in_predicate(left, negated);
        }
        if self.accept("BETWEEN") {
            let low = boxed(self.bit_expr()?);
            self.expect("AND")?;
            self.enter()?;
            let high = boxed(self.predicate()?);
            self.leave();
            return Ok(Expr::Between {
                expr: boxed(left),
                low,
                high,
                negated,
            });
        }
        if self.accept("LIKE") {
            let pattern = boxed(self.bit_expr()?);
            let escape = if self.accept("ESCAPE") {
                let token = self.token();
                self.needs_literal |= self.shape_param(token).is_some();
                Some(boxed(self.simple()?))
            } else {
                None
            };
            return Ok(Expr::Like {
                expr: boxed(left),
                pattern,
                escape,
                negated,
            });
        }
        if self.accept("REGEXP") || self.accept("RLIKE") {
            let pattern = boxed(self.bit_expr()?);
            return Ok(Expr::Regexp {
                expr: boxed(left),
                pattern,
                negated,
            });
        }
        if self.accept_all(&["SOUNDS", "LIKE"]) {
            let right = self.bit_expr()?;
            return Ok(binary(
                BinaryOp::Equal,
                call("SOUNDEX", vec![left]),
                call("SOUNDEX", vec![right]),
            ));
        }
        if self.is("MEMBER") && self.is_ahead(1, "OF") {
            return Err(SqlError::not_supported("MEMBER OF"));
        }
        Ok(left)
    }

    fn in_predicate(&mut self, left: Expr, negated: bool) -> Result<Expr> {
        let expr = boxed(left);
        if self.query_in_parens_follows() {
            let query = Box::new(self.in_parens(Parser::query)?);
            return Ok(Expr::InQuery { expr, query, negated });
        }
        let list = self.in_parens(|p| p.list(Parser::expr))?;
        Ok(Expr::InList { expr, list, negated })
    }

    /// Whether the parenthesis at the cursor holds a query, perhaps in more parentheses.
    pub(super) fn query_in_parens_follows(&self) -> bool {
        let mut ahead = 0;
        while self.token_at(ahead).kind == Kind::Op(Op::LParen) {
            ahead += 1;
        }
        ahead > 0
            && (["SELECT", "WITH"].iter().any(|w| self.is_ahead(ahead, w))
                || self.is_ahead(ahead, "VALUES") && self.is_ahead(ahead + 1, "ROW"))
    }

    // ------------------------------------------------------------------------------------------ arithmetic

    /// Operators from `|` (1) to `^` (6), by climbing.
    fn bit_expr(&mut self) -> Result<Expr> {
        self.binary_from(1)
    }

    fn arithmetic_op(&self) -> Option<(BinaryOp, u8)> {
        let token = self.token();
        Some(match token.kind {
            Kind::Op(Op::Pipe) => (BinaryOp::BitOr, 1),
            Kind::Op(Op::Amp) => (BinaryOp::BitAnd, 2),
            Kind::Op(Op::ShiftLeft) => (BinaryOp::ShiftLeft, 3),
            Kind::Op(Op::ShiftRight) => (BinaryOp::ShiftRight, 3),
            Kind::Op(Op::Plus) => (BinaryOp::Add, 4),
            Kind::Op(Op::Minus) => (BinaryOp::Subtract, 4),
            Kind::Op(Op::Star) => (BinaryOp::Multiply, 5),
            Kind::Op(Op::Slash) => (BinaryOp::Divide, 5),
            Kind::Op(Op::Percent) => (BinaryOp::Modulo, 5),
            Kind::Op(Op::Caret) => (BinaryOp::BitXor, 6),
            Kind::Word if self.is("DIV") => (BinaryOp::IntDivide, 5),
            Kind::Word if self.is("MOD") => (BinaryOp::Modulo, 5),
            _ => return None,
        })
    }

    fn binary_from(&mut self, lowest: u8) -> Result<Expr> {
        let mut left = if self.is("INTERVAL") && !self.interval_function_follows() {
            self.leading_interval()?
        } else {
            self.concat_operand()?
        };
        let mut chain = 0;
        while let Some((op, level)) = self.arithmetic_op() {
            if level < lowest {
                break;
            }
            self.link(&mut chain)?;
            self.advance();
            if matches!(op, BinaryOp::Add | BinaryOp::Subtract)
                && self.is("INTERVAL")
                && !self.interval_function_follows()
            {
                let name = if op == BinaryOp::Add {
                    "DATE_ADD"
                } else {
                    "DATE_SUB"
                };
                let interval = self.interval()?;
                left = call(name, vec![left, interval]);
                continue;
            }
            let right = self.binary_from(level + 1)?;
            left = binary(op, left, right);
        }
        Ok(left)
    }

    /// `a || b` as concatenation, under PIPES_AS_CONCAT.
    fn concat_operand(&mut self) -> Result<Expr> {
        let first = self.simple()?;
        if !self.mode.has(SqlMode::PIPES_AS_CONCAT) || !self.is_op(Op::PipePipe) {
            return Ok(first);
        }
        let mut args = vec![first];
        while self.accept_op(Op::PipePipe) {
            args.push(self.simple()?);
        }
        Ok(call("CONCAT", args))
    }

    /// `INTERVAL(a, b, …)` is a function: a comma follows its first argument.
    fn interval_function_follows(&self) -> bool {
        if self.token_at(1).kind != Kind::Op(Op::LParen) {
            return false;
        }
        let (mut depth, mut ahead) = (0, 1);
        loop {
            match self.token_at(ahead).kind {
                Kind::Op(Op::LParen) => depth += 1,
                Kind::Op(Op::RParen) => depth -= 1,
                Kind::Op(Op::Comma) if depth == 1 => return true,
                Kind::End | Kind::Op(Op::Semicolon) => return false,
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
        Ok(Expr::Interval { value, unit })
    }

    /// `INTERVAL n unit + date`
    fn leading_interval(&mut self) -> Result<Expr> {
        let interval = self.interval()?;
        self.expect_op(Op::Plus)?;
        let date = self.binary_from(5)?;
        Ok(call("DATE_ADD", vec![date, interval]))
    }

    pub(super) fn word_upper(&mut self) -> Result<String> {
        if self.token().kind != Kind::Word {
            return self.error();
        }
        let token = self.advance();
        Ok(self.word_text(token).to_ascii_uppercase())
    }

    // ----------------------------------------------------------------------------------------------- simple

    pub(super) fn simple(&mut self) -> Result<Expr> {
        let mut expr = self.unary()?;
        loop {
            if self.accept("COLLATE") {
                let collation = self.name_or_string()?;
                expr = Expr::Collate {
                    expr: boxed(expr),
                    collation,
                };
            } else if self.is_op(Op::Arrow) || self.is_op(Op::LongArrow) {
                let long = self.is_op(Op::LongArrow);
                self.advance();
                let path = self.string()?;
                let path = Expr::Literal(Literal::Str {
                    bytes: path,
                    charset: None,
                });
                expr = call("JSON_EXTRACT", vec![expr, path]);
                if long {
                    expr = call("JSON_UNQUOTE", vec![expr]);
                }
            } else {
                return Ok(expr);
            }
        }
    }

    fn unary(&mut self) -> Result<Expr> {
        let op = match self.token().kind {
            Kind::Op(Op::Minus) => Some(UnaryOp::Minus),
            Kind::Op(Op::Plus) => Some(UnaryOp::Plus),
            Kind::Op(Op::Tilde) => Some(UnaryOp::BitNot),
            Kind::Op(Op::Bang) => {
                self.advance();
                self.enter()?;
                let inner = self.simple()?;
                self.leave();
                return Ok(Expr::Not(boxed(inner)));
            }
            Kind::Word if self.is("BINARY") => Some(UnaryOp::Binary),
            _ => None,
        };
        match op {
            Some(op) => {
                self.advance();
                self.enter()?;
                let expr = boxed(self.simple()?);
                self.leave();
                Ok(Expr::Unary { op, expr })
            }
            None => self.primary(),
        }
    }

    fn primary(&mut self) -> Result<Expr> {
        let token = self.token();
        match token.kind {
            Kind::Int
            | Kind::Decimal
            | Kind::Float
            | Kind::Str
            | Kind::NationalStr
            | Kind::Hex
            | Kind::Bit => self.literal(token),
            Kind::Param => {
                self.advance();
                Ok(Expr::Param(self.next_param()))
            }
            Kind::At => self.user_variable(),
            Kind::AtAt => self.system_variable(),
            Kind::Op(Op::LParen) => self.parenthesised(),
            Kind::Quoted => self.column(),
            Kind::Word => self.word_expr(token),
            _ => self.error(),
        }
    }

    pub(super) fn literal(&mut self, token: Token) -> Result<Expr> {
        if let Some(param) = self.shape_param(token) {
            self.advance();
            // Adjacent strings are one literal, for the shape lexer as here.
            while token.kind == Kind::Str && self.token().kind == Kind::Str {
                self.needs_literal = true;
                self.advance();
            }
            return Ok(Expr::Param(param));
        }
        let raw = self.text(token);
        let literal = match token.kind {
            Kind::Str | Kind::NationalStr => {
                let charset = (token.kind == Kind::NationalStr).then(|| "utf8mb3".to_string());
                Literal::Str {
                    bytes: self.string()?,
                    charset,
                }
            }
            _ => {
                self.advance();
                number_literal(token.kind, raw)
            }
        };
        Ok(Expr::Literal(literal))
    }

    fn user_variable(&mut self) -> Result<Expr> {
        let name = self.variable_name()?;
        if self.accept_op(Op::Assign) {
            let value = boxed(self.expr()?);
            return Ok(Expr::AssignVar { name, value });
        }
        Ok(Expr::UserVar(name))
    }

    /// The name of the `@name` at the cursor; names compare without case.
    pub(super) fn variable_name(&mut self) -> Result<String> {
        if self.token().kind != Kind::At {
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
    pub(super) fn scope_prefix(&mut self) -> Result<Option<Scope>> {
        if self.token_at(1).kind != Kind::Op(Op::Dot) {
            return Ok(None);
        }
        let scope = match self.accept_any(&["GLOBAL", "SESSION", "LOCAL", "PERSIST", "PERSIST_ONLY"]) {
            Some("GLOBAL") => Scope::Global,
            Some("SESSION" | "LOCAL") => Scope::Session,
            Some(_) => Scope::Persist,
            None => return Ok(None),
        };
        self.expect_op(Op::Dot)?;
        Ok(Some(scope))
    }

    fn parenthesised(&mut self) -> Result<Expr> {
        if self.query_in_parens_follows() {
            let query = self.in_parens(Parser::query)?;
            return Ok(Expr::Subquery(Box::new(query)));
        }
        let mut list = self.in_parens(|p| p.list(Parser::expr))?;
        Ok(if list.len() == 1 {
            list.remove(0)
        } else {
            Expr::Row(list)
        })
    }

    fn column(&mut self) -> Result<Expr> {
        let mut parts = vec![self.name()?];
        while parts.len() < 3 && self.is_op(Op::Dot) {
            self.advance();
            parts.push(self.any_name()?);
        }
        if parts.len() <= 2 && self.is_op(Op::LParen) {
            let name = parts.pop().unwrap_or_default();
            return self.function(parts.pop(), name.to_ascii_uppercase());
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
        // An introducer: _utf8mb4'text'
        let next = self.token_at(1).kind;
        if raw[0] == b'_' && matches!(next, Kind::Str | Kind::Hex | Kind::Bit) {
            return self.introduced();
        }
        if !is_reserved(raw) {
            let typed = next == Kind::Str && self.is_any(&["DATE", "TIME", "TIMESTAMP"]);
            if typed {
                return self.temporal_literal();
            }
            if next == Kind::Op(Op::LParen) {
                self.advance();
                return self.function(None, self.word_text(token).to_ascii_uppercase());
            }
            return self.column();
        }
        let upper = self.word_text(token).to_ascii_uppercase();
        self.advance();
        match upper.as_str() {
            "NULL" => Ok(Expr::Literal(Literal::Null)),
            "TRUE" => Ok(Expr::Literal(Literal::Bool(true))),
            "FALSE" => Ok(Expr::Literal(Literal::Bool(false))),
            "CASE" => self.case(),
            "EXISTS" => Ok(Expr::Exists(Box::new(self.in_parens(Parser::query)?))),
            "ROW" => Ok(Expr::Row(self.in_parens(|p| p.list(Parser::expr))?)),
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
            "GROUPING" => Err(SqlError::not_supported("GROUPING()")),
            "CONVERT" => self.convert(),
            "ROW_NUMBER" | "RANK" | "DENSE_RANK" | "LAG" | "LEAD" | "FIRST_VALUE" | "LAST_VALUE"
            | "NTILE" | "NTH_VALUE" | "CUME_DIST" | "PERCENT_RANK" => {
                Err(SqlError::not_supported("window functions"))
            }
            // Reserved words that are functions when a parenthesis follows.
            "IF" | "LEFT" | "RIGHT" | "REPEAT" | "REPLACE" | "INSERT" | "MOD" | "CHAR" | "DATABASE"
            | "SCHEMA" | "INTERVAL"
                if self.is_op(Op::LParen) =>
            {
                let name = if upper == "SCHEMA" {
                    "DATABASE".to_string()
                } else {
                    upper
                };
                self.function(None, name)
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

    fn introduced(&mut self) -> Result<Expr> {
        let introducer = self.advance();
        let charset = self.word_text(introducer)[1..].to_ascii_lowercase();
        let token = self.token();
        if self.shape_param(token).is_some() {
            self.needs_literal = true;
        }
        let bytes = match token.kind {
            Kind::Str => self.string()?,
            _ => {
                self.advance();
                match number_literal(token.kind, self.text(token)) {
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
        Ok(Expr::Case {
            operand,
            whens,
            otherwise,
        })
    }

    fn convert(&mut self) -> Result<Expr> {
        self.in_parens(|p| {
            let expr = boxed(p.expr()?);
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

/// A number's literal; `raw` is what the lexer accepted.
pub fn number_literal(kind: Kind, raw: &[u8]) -> Literal {
    let text = String::from_utf8_lossy(raw);
    match kind {
        Kind::Int => text
            .parse()
            .map_or_else(|_| Literal::Decimal(text.to_string()), Literal::Int),
        Kind::Decimal => Literal::Decimal(text.to_string()),
        Kind::Float => Literal::Double(text.parse().unwrap_or(f64::INFINITY)),
        Kind::Hex => Literal::Hex(hex_bytes(digits_of(raw))),
        _ => Literal::Bit(bit_bytes(digits_of(raw))),
    }
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
