//! The grammar of paths: what is written becomes a plan.
//!
//! The grammar is that of XPath 1.0 without variables of its own, `.5`, comparisons of two sets, and the functions that MySQL does not have. `text()`,
//! `node()` and the other tests of kinds are taken and say nothing; axes that are not here are `child`.

use super::plan::{Nodes, Plan, Slot};
use super::words::{Axis, Lexeme, Token};
use crate::build::{self, BindCtx};
use crate::env::Env;
use crate::node::{ArithOp, CmpOp, Expr};
use tidemark_types::error::depth::{HEIGHT_MAX, check_stack};
use tidemark_types::error::{Result, SqlError};
use tidemark_types::{SqlType, Value};

/// Characters of the path that an error shows.
const SHOWN: usize = 32;

/// Digits behind the point that a number shows.
const SCALE_MAX: usize = 30;

/// A whole path.
#[derive(Debug)]
pub(crate) struct Path {
    pub(super) plan: Plan,
    /// What it selects, if that is nodes.
    pub nodes: Option<Nodes>,
}

impl Path {
    /// Texts of documents and of the path are under the collation of `bind`. Error 1105 says where the path is wrong.
    pub fn parse(text: &[u8], env: &Env, bind: &BindCtx) -> Result<Path> {
        check_height(text)?;
        let mut parser = Parser {
            text,
            last: Lexeme::begin(),
            before: Lexeme::begin(),
            plans: vec![Vec::new()],
            env,
            bind,
        };
        parser.scan();
        let found = parser.expression().and_then(|item| match parser.last.token {
            Token::End => Ok(item),
            _ => Err(Stop::Syntax),
        });
        match found {
            Ok(item) => {
                let nodes = match &item {
                    Item::Nodes(nodes) => Some(nodes.clone()),
                    Item::Value { .. } => None,
                };
                let expr = build::as_text(parser.value(item), bind);
                let plan = parser.finish(expr);
                Ok(Path { plan, nodes })
            }
            Err(Stop::Syntax) => {
                let at = parser.excerpt(parser.last.span.start);
                Err(SqlError::unknown(format!("XPATH syntax error: '{at}'")))
            }
            Err(Stop::Because(error)) => Err(error),
        }
    }
}

/// What an expression has become so far.
pub(super) enum Item {
    Nodes(Nodes),
    Value {
        expr: Expr,
        /// A condition, not a number: `a[1]` is the first, `a[true()]` is any.
        is_condition: bool,
    },
}

impl Item {
    pub fn number(expr: Expr) -> Item {
        Item::Value {
            expr,
            is_condition: false,
        }
    }

    pub fn condition(expr: Expr) -> Item {
        Item::Value {
            expr,
            is_condition: true,
        }
    }
}

pub(super) enum Stop {
    /// At the last token.
    Syntax,
    Because(SqlError),
}

impl From<SqlError> for Stop {
    fn from(error: SqlError) -> Stop {
        Stop::Because(error)
    }
}

pub(super) type Parsed<T> = std::result::Result<T, Stop>;

pub(super) struct Parser<'p, 'e> {
    text: &'p [u8],
    /// The token that comes, and the one before.
    pub last: Lexeme,
    before: Lexeme,
    /// The rows of the plans around, the path's own the first.
    plans: Vec<Vec<Slot>>,
    env: &'p Env<'e>,
    pub bind: &'p BindCtx,
}

impl Parser<'_, '_> {
    // --- plans ---

    pub fn slot(&mut self, slot: Slot, ty: SqlType) -> Expr {
        let slots = self.plans.last_mut().expect("a path is within a plan");
        slots.push(slot);
        build::column(slots.len() - 1, ty)
    }

    fn finish(&mut self, expr: Expr) -> Plan {
        let slots = self.plans.pop().expect("a path is within a plan");
        Plan { slots, expr }
    }

    fn text_type(&self) -> SqlType {
        SqlType::varchar(16_777_216, self.bind.collation_connection).literal()
    }

    /// As an operand.
    pub fn value(&mut self, item: Item) -> Expr {
        match item {
            Item::Value { expr, .. } => expr,
            Item::Nodes(nodes) => {
                let ty = self.text_type();
                self.slot(Slot::Text(nodes), ty)
            }
        }
    }

    /// As an operand of `and`, `or` and `not`, and in a predicate. A set of nodes becomes a condition; a value stays what it is.
    fn judged(&mut self, item: Item) -> Item {
        match item {
            Item::Nodes(nodes) => Item::condition(self.slot(Slot::IsOne(nodes), SqlType::boolean())),
            value => value,
        }
    }

    pub fn operand_of_condition(&mut self, item: Item) -> Expr {
        let judged = self.judged(item);
        self.value(judged)
    }

    /// Nodes are compared with a value one by one.
    fn compared(&mut self, op: CmpOp, from: usize, left: Item, right: Item) -> Parsed<Item> {
        let (op, nodes, value) = match (left, right) {
            (Item::Value { expr: left, .. }, Item::Value { expr: right, .. }) => {
                return Ok(Item::condition(build::compare(op, left, right, self.bind)?));
            }
            (Item::Nodes(_), Item::Nodes(_)) => {
                let at = self.excerpt(from);
                return Err(Stop::Because(SqlError::unknown(format!(
                    "XPATH error: comparison of two nodesets is not supported: '{at}'"
                ))));
            }
            (Item::Nodes(nodes), Item::Value { expr, .. }) => (op, nodes, expr),
            (Item::Value { expr, .. }, Item::Nodes(nodes)) => (op.flipped(), nodes, expr),
        };
        let ty = self.text_type();
        let each = self.slot(Slot::Each, ty);
        let test = build::compare(op, each, value, self.bind)?;
        Ok(Item::condition(
            self.slot(Slot::Any(nodes, Box::new(test)), SqlType::boolean()),
        ))
    }

    // --- tokens ---

    /// What stands from there on, as errors show it.
    fn excerpt(&self, from: usize) -> String {
        let rest = String::from_utf8_lossy(&self.text[from..]);
        rest.chars().take(SHOWN).collect()
    }

    pub fn scan(&mut self) {
        let next = Lexeme::after(self.text, self.last.span.end);
        self.before = std::mem::replace(&mut self.last, next);
    }

    /// Goes on if that is the token.
    fn take(&mut self, token: Token) -> bool {
        let found = self.last.token == token;
        if found {
            self.scan();
        }
        found
    }

    pub fn sign(&mut self, sign: u8) -> bool {
        self.take(Token::Sign(sign))
    }

    pub fn expect(&mut self, sign: u8) -> Parsed<()> {
        match self.sign(sign) {
            true => Ok(()),
            false => Err(Stop::Syntax),
        }
    }

    /// What the token before says.
    fn said(&self) -> &[u8] {
        &self.text[self.before.span.clone()]
    }

    // --- expressions ---

    pub fn expression(&mut self) -> Parsed<Item> {
        check_stack()?;
        self.conditions(Token::Or, Parser::conjunction, build::or)
    }

    fn conjunction(&mut self) -> Parsed<Item> {
        self.conditions(Token::And, Parser::equality, build::and)
    }

    /// Conditions with a word between, or what stands there without one.
    fn conditions(
        &mut self,
        word: Token,
        next: fn(&mut Self) -> Parsed<Item>,
        join: fn(Vec<Expr>) -> Expr,
    ) -> Parsed<Item> {
        let first = next(self)?;
        if self.last.token != word {
            return Ok(first);
        }
        let mut list = vec![self.operand_of_condition(first)];
        while self.take(word) {
            let item = next(self)?;
            list.push(self.operand_of_condition(item));
        }
        Ok(Item::condition(join(list)))
    }

    fn equality(&mut self) -> Parsed<Item> {
        let mut left = self.relation()?;
        loop {
            let from = self.last.span.start;
            let op = if self.sign(b'=') {
                CmpOp::Eq
            } else if self.last.token == Token::Sign(b'!') && self.text.get(self.last.span.end) == Some(&b'=')
            {
                self.scan();
                self.scan();
                CmpOp::Ne
            } else {
                return Ok(left);
            };
            let right = self.relation()?;
            left = self.compared(op, from, left, right)?;
        }
    }

    fn relation(&mut self) -> Parsed<Item> {
        let mut left = self.sum()?;
        loop {
            let from = self.last.span.start;
            let is_less = self.sign(b'<');
            if !is_less && !self.sign(b'>') {
                return Ok(left);
            }
            let op = match (is_less, self.sign(b'=')) {
                (true, true) => CmpOp::Le,
                (true, false) => CmpOp::Lt,
                (false, true) => CmpOp::Ge,
                (false, false) => CmpOp::Gt,
            };
            let right = self.sum()?;
            left = self.compared(op, from, left, right)?;
        }
    }

    fn sum(&mut self) -> Parsed<Item> {
        let mut left = self.product()?;
        loop {
            let op = match self.last.token {
                Token::Sign(b'+') => ArithOp::Add,
                Token::Sign(b'-') => ArithOp::Sub,
                _ => return Ok(left),
            };
            self.scan();
            let right = self.product()?;
            left = self.arithmetic(op, left, right)?;
        }
    }

    fn product(&mut self) -> Parsed<Item> {
        let mut left = self.unary()?;
        loop {
            let op = match self.last.token {
                Token::Sign(b'*') => ArithOp::Mul,
                Token::Div => ArithOp::IntDiv,
                Token::Mod => ArithOp::Mod,
                _ => return Ok(left),
            };
            self.scan();
            let right = self.unary()?;
            left = self.arithmetic(op, left, right)?;
        }
    }

    fn arithmetic(&mut self, op: ArithOp, left: Item, right: Item) -> Parsed<Item> {
        let (left, right) = (self.value(left), self.value(right));
        Ok(Item::number(build::arith(op, left, right, self.bind)?))
    }

    fn unary(&mut self) -> Parsed<Item> {
        check_stack()?;
        if !self.sign(b'-') {
            return self.union();
        }
        let operand = self.unary()?;
        let operand = self.value(operand);
        Ok(Item::number(build::neg(operand, self.bind)?))
    }

    fn union(&mut self) -> Parsed<Item> {
        let mut left = self.path()?;
        while self.sign(b'|') {
            let Item::Nodes(a) = left else {
                return Err(Stop::Syntax);
            };
            let Item::Nodes(b) = self.path()? else {
                return Err(Stop::Syntax);
            };
            left = Item::Nodes(Nodes::Union(Box::new(a), Box::new(b)));
        }
        Ok(left)
    }

    // --- paths ---

    fn path(&mut self) -> Parsed<Item> {
        let nodes = if self.sign(b'/') {
            if self.sign(b'/') {
                self.steps(below(Nodes::Root))?
            } else if self.last.token.begins_step() {
                self.steps(Nodes::Root)?
            } else {
                Nodes::Root
            }
        } else if self.last.token.begins_step() {
            let context = self.context().unwrap_or(Nodes::Root);
            self.steps(context)?
        } else {
            return self.primary();
        };
        Ok(Item::Nodes(nodes))
    }

    /// What relative paths begin at; nothing outside predicates.
    pub fn context(&self) -> Option<Nodes> {
        (self.plans.len() > 1).then_some(Nodes::Context)
    }

    fn steps(&mut self, from: Nodes) -> Parsed<Nodes> {
        let mut nodes = self.step(from)?;
        while self.sign(b'/') {
            if self.sign(b'/') {
                nodes = below(nodes);
            }
            nodes = self.step(nodes)?;
        }
        Ok(nodes)
    }

    fn step(&mut self, from: Nodes) -> Parsed<Nodes> {
        if self.sign(b'.') {
            return Ok(match self.sign(b'.') {
                true => Nodes::Step(Box::new(from), Axis::Parent, None),
                false => from,
            });
        }
        let axis = match self.last.token {
            Token::Axis(axis) => {
                self.scan();
                self.expect(b':')?;
                self.expect(b':')?;
                axis
            }
            Token::Sign(b'@') => {
                self.scan();
                Axis::Attribute
            }
            _ => Axis::Child,
        };
        let mut nodes = if self.take(Token::NodeType) {
            self.expect(b'(')?;
            self.expect(b')')?;
            from
        } else if self.sign(b'*') {
            Nodes::Step(Box::new(from), axis, None)
        } else {
            let name = self.qualified_name()?;
            Nodes::Step(Box::new(from), axis, Some(name))
        };
        while self.sign(b'[') {
            nodes = self.predicate(nodes)?;
        }
        Ok(nodes)
    }

    fn predicate(&mut self, nodes: Nodes) -> Parsed<Nodes> {
        self.plans.push(Vec::new());
        let item = self.expression()?;
        self.expect(b']')?;
        let item = self.judged(item);
        let is_condition = matches!(
            item,
            Item::Value {
                is_condition: true,
                ..
            }
        );
        let expr = self.value(item);
        let plan = Box::new(self.finish(expr));
        Ok(match is_condition {
            true => Nodes::Where(Box::new(nodes), plan),
            false => Nodes::Nth(Box::new(nodes), plan),
        })
    }

    /// A name, or two with a colon between.
    fn qualified_name(&mut self) -> Parsed<Box<[u8]>> {
        let start = self.last.span.start;
        self.name()?;
        if self.sign(b':') {
            self.name()?;
        }
        Ok(self.text[start..self.before.span.end].into())
    }

    fn name(&mut self) -> Parsed<()> {
        match self.last.token.is_name() {
            true => {
                self.scan();
                Ok(())
            }
            false => Err(Stop::Syntax),
        }
    }

    fn primary(&mut self) -> Parsed<Item> {
        let nodes = match self.operand()? {
            Item::Nodes(nodes) => nodes,
            value => return Ok(value),
        };
        if !self.sign(b'/') {
            return Ok(Item::Nodes(nodes));
        }
        let from = match self.sign(b'/') {
            true => below(nodes),
            false => nodes,
        };
        Ok(Item::Nodes(self.steps(from)?))
    }

    fn operand(&mut self) -> Parsed<Item> {
        match self.last.token {
            Token::Sign(b'(') => {
                self.scan();
                let item = self.expression()?;
                self.expect(b')')?;
                Ok(item)
            }
            Token::Sign(b'$') => self.variable(),
            Token::Text => {
                self.scan();
                let said = self.said();
                let text = &said[1..said.len() - 1];
                Ok(Item::number(build::string_literal(text, self.bind)))
            }
            Token::Digits => self.number(),
            Token::Function(function) => self.call(function),
            _ => Err(Stop::Syntax),
        }
    }

    /// `$@name` is the session's variable; others are those of stored programs.
    fn variable(&mut self) -> Parsed<Item> {
        let start = self.last.span.start;
        self.scan();
        let is_users = self.sign(b'@');
        if !self.take(Token::Name) {
            return Err(Stop::Syntax);
        }
        if !is_users {
            let at = self.excerpt(start);
            return Err(Stop::Because(SqlError::unknown(format!(
                "Unknown XPATH variable at: '{at}'"
            ))));
        }
        let name = String::from_utf8_lossy(self.said()).into_owned();
        let current = self.env.session.user_variable(&name.to_lowercase());
        let variable = build::user_variable(&name, current.as_ref(), self.bind);
        Ok(Item::number(variable))
    }

    /// A number with a point is a double that shows as many digits behind it as it was written with.
    fn number(&mut self) -> Parsed<Item> {
        let start = self.last.span.start;
        self.scan();
        if !self.sign(b'.') {
            let digits = String::from_utf8_lossy(self.said_since(start)).into_owned();
            return Ok(Item::number(build::number_literal(&digits)?));
        }
        let point = self.before.span.end;
        self.take(Token::Digits);
        let digits = String::from_utf8_lossy(self.said_since(start)).into_owned();
        let scale = (self.before.span.end - point).min(SCALE_MAX) as u8;
        let value = Value::Double(digits.parse().map_err(|_| Stop::Syntax)?);
        Ok(Item::number(build::typed_literal(
            SqlType::double_of_scale(scale),
            value,
        )))
    }

    fn said_since(&self, start: usize) -> &[u8] {
        &self.text[start..self.before.span.end]
    }
}

/// Error 1436 for a path that may become too high a tree: what it becomes is dropped and walked over without a look at the stack, and a loop makes a high
/// tree of steps, operators and predicates without recursion. A node of the tree takes a word or sign, at least.
fn check_height(text: &[u8]) -> Result<()> {
    let mut at = 0;
    for _ in 0..=HEIGHT_MAX {
        let next = Lexeme::after(text, at);
        if next.token == Token::End {
            return Ok(());
        }
        at = next.span.end;
    }
    Err(SqlError::stack_overrun())
}

/// `//`: the nodes, and all elements inside them.
fn below(nodes: Nodes) -> Nodes {
    Nodes::Step(Box::new(nodes), Axis::DescendantOrSelf, None)
}
