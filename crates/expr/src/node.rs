//! The tree of a bound expression.

use super::function::{FuncDef, Volatility};
use super::like::{LikePattern, RegexCache};
use std::cmp::Ordering;
use std::sync::Arc;
use tidemark_types::{CmpKind, Collation, SqlType, Value};

/// An expression and its type. Made by [`super::build`]; shared between sessions in cached plans.
#[derive(Clone, Debug)]
pub struct Expr {
    pub ty: SqlType,
    pub node: Node,
    /// How error texts name a column, as in `` `db`.`t`.`c` ``.
    pub name: Option<Arc<str>>,
}

#[derive(Clone, Debug)]
pub enum Node {
    Literal(Value),
    /// The row's slot: a column, or a finished aggregate.
    Column(usize),
    Param(usize),
    UserVar(Box<str>),
    /// `@v := e`
    AssignVar(Box<str>, Box<Expr>),
    SystemVar(VarScope, Box<str>),
    /// A long chain of operators: the value of each step is the [`Node::Previous`] of the next.
    Chain(Vec<Expr>),
    Previous,
    Neg(Box<Expr>),
    Arith(ArithOp, NumKind, Box<[Expr; 2]>),
    Bit(BitOp, Box<[Expr; 2]>),
    BitNot(Box<Expr>),
    Compare(CmpOp, CmpKind, Box<[Expr; 2]>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Xor(Box<[Expr; 2]>),
    Not(Box<Expr>),
    IsNull(Box<Expr>),
    /// `IS TRUE` / `IS FALSE`
    IsTruth(Box<Expr>, bool),
    /// value, low, high
    Between {
        negated: bool,
        low: CmpKind,
        high: CmpKind,
        args: Box<[Expr; 3]>,
    },
    /// The kind stands beside each candidate.
    In {
        negated: bool,
        value: Box<Expr>,
        list: Vec<(CmpKind, Expr)>,
        set: Option<InSet>,
    },
    Like {
        negated: bool,
        collation: Collation,
        escape: Option<char>,
        args: Box<[Expr; 2]>,
        pattern: Option<LikePattern>,
    },
    Regexp {
        negated: bool,
        collation: Collation,
        args: Box<[Expr; 2]>,
        cache: RegexCache,
    },
    Case {
        operand: Option<Box<Expr>>,
        whens: Vec<(CmpKind, Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    /// To this expression's own type.
    Cast(Box<Expr>),
    /// Another collation or none: the bytes stay.
    Retype(Box<Expr>),
    /// `date ± INTERVAL n unit`
    DateAdd {
        unit: IntervalUnit,
        negate: bool,
        args: Box<[Expr; 2]>,
    },
    Extract(IntervalUnit, Box<Expr>),
    Call(&'static FuncDef, Vec<Expr>),
    Subquery {
        id: usize,
        kind: SubqueryKind,
        operands: Vec<(CmpKind, Expr)>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubqueryKind {
    /// One value, NULL when there is no row.
    Scalar,
    Exists,
    NotExists,
    /// `operands <op> ANY (…)`; IN is `= ANY`. The operands are a row of one or more.
    Quantified(CmpOp, Quantifier),
    /// `operands <op> (one row)`.
    Row(CmpOp),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    Any,
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarScope {
    /// `@@name`: the session's value if there is one.
    Any,
    Session,
    Global,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithOp {
    Add,
    Sub,
    Mul,
    /// `/`
    Div,
    /// `DIV`
    IntDiv,
    Mod,
}

/// The arithmetic an operator is done in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumKind {
    /// Signed unless one operand is unsigned.
    Int,
    Decimal,
    Double,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitOp {
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CmpOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// `<=>`
    NullSafeEq,
}

impl CmpOp {
    pub fn accepts(self, order: Ordering) -> bool {
        match self {
            CmpOp::Eq | CmpOp::NullSafeEq => order.is_eq(),
            CmpOp::Ne => order.is_ne(),
            CmpOp::Lt => order.is_lt(),
            CmpOp::Le => order.is_le(),
            CmpOp::Gt => order.is_gt(),
            CmpOp::Ge => order.is_ge(),
        }
    }

    /// With the operands exchanged.
    pub fn flipped(self) -> CmpOp {
        match self {
            CmpOp::Lt => CmpOp::Gt,
            CmpOp::Le => CmpOp::Ge,
            CmpOp::Gt => CmpOp::Lt,
            CmpOp::Ge => CmpOp::Le,
            same => same,
        }
    }

    pub fn symbol(self) -> &'static str {
        match self {
            CmpOp::Eq => "=",
            CmpOp::Ne => "<>",
            CmpOp::Lt => "<",
            CmpOp::Le => "<=",
            CmpOp::Gt => ">",
            CmpOp::Ge => ">=",
            CmpOp::NullSafeEq => "<=>",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

impl IntervalUnit {
    pub fn by_name(name: &str) -> Option<IntervalUnit> {
        use IntervalUnit::*;
        let upper = name.to_ascii_uppercase();
        Some(match upper.strip_prefix("SQL_TSI_").unwrap_or(&upper) {
            "MICROSECOND" => Microsecond,
            "SECOND" => Second,
            "MINUTE" => Minute,
            "HOUR" => Hour,
            "DAY" => Day,
            "WEEK" => Week,
            "MONTH" => Month,
            "QUARTER" => Quarter,
            "YEAR" => Year,
            "SECOND_MICROSECOND" => SecondMicrosecond,
            "MINUTE_MICROSECOND" => MinuteMicrosecond,
            "MINUTE_SECOND" => MinuteSecond,
            "HOUR_MICROSECOND" => HourMicrosecond,
            "HOUR_SECOND" => HourSecond,
            "HOUR_MINUTE" => HourMinute,
            "DAY_MICROSECOND" => DayMicrosecond,
            "DAY_SECOND" => DaySecond,
            "DAY_MINUTE" => DayMinute,
            "DAY_HOUR" => DayHour,
            "YEAR_MONTH" => YearMonth,
            _ => return None,
        })
    }
}

/// A large constant IN list, sorted for binary search. Only lists of one kind have one.
#[derive(Clone, Debug)]
pub enum InSet {
    Int(Vec<i128>),
    /// Collation sort keys.
    Str(Collation, Vec<Vec<u8>>),
}

impl Expr {
    /// The direct operands.
    pub fn children(&self) -> Vec<&Expr> {
        match &self.node {
            Node::Literal(_)
            | Node::Column(_)
            | Node::Param(_)
            | Node::UserVar(_)
            | Node::SystemVar(..)
            | Node::Previous => Vec::new(),
            Node::AssignVar(_, e)
            | Node::Neg(e)
            | Node::BitNot(e)
            | Node::Not(e)
            | Node::IsNull(e)
            | Node::IsTruth(e, _)
            | Node::Cast(e)
            | Node::Retype(e)
            | Node::Extract(_, e) => vec![e],
            Node::Arith(_, _, p) | Node::Bit(_, p) | Node::Compare(_, _, p) | Node::Xor(p) => {
                p.iter().collect()
            }
            Node::Like { args, .. } | Node::Regexp { args, .. } | Node::DateAdd { args, .. } => {
                args.iter().collect()
            }
            Node::Between { args, .. } => args.iter().collect(),
            Node::And(list) | Node::Or(list) | Node::Call(_, list) | Node::Chain(list) => {
                list.iter().collect()
            }
            Node::In { value, list, .. } => std::iter::once(&**value)
                .chain(list.iter().map(|(_, e)| e))
                .collect(),
            Node::Case {
                operand,
                whens,
                otherwise,
            } => operand
                .iter()
                .map(|e| &**e)
                .chain(whens.iter().flat_map(|(_, a, b)| [a, b]))
                .chain(otherwise.iter().map(|e| &**e))
                .collect(),
            Node::Subquery { operands, .. } => operands.iter().map(|(_, e)| e).collect(),
        }
    }

    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        match &mut self.node {
            Node::Literal(_)
            | Node::Column(_)
            | Node::Param(_)
            | Node::UserVar(_)
            | Node::SystemVar(..)
            | Node::Previous => Vec::new(),
            Node::AssignVar(_, e)
            | Node::Neg(e)
            | Node::BitNot(e)
            | Node::Not(e)
            | Node::IsNull(e)
            | Node::IsTruth(e, _)
            | Node::Cast(e)
            | Node::Retype(e)
            | Node::Extract(_, e) => vec![e],
            Node::Arith(_, _, p) | Node::Bit(_, p) | Node::Compare(_, _, p) | Node::Xor(p) => {
                p.iter_mut().collect()
            }
            Node::Like { args, .. } | Node::Regexp { args, .. } | Node::DateAdd { args, .. } => {
                args.iter_mut().collect()
            }
            Node::Between { args, .. } => args.iter_mut().collect(),
            Node::And(list) | Node::Or(list) | Node::Call(_, list) | Node::Chain(list) => {
                list.iter_mut().collect()
            }
            Node::In { value, list, .. } => std::iter::once(&mut **value)
                .chain(list.iter_mut().map(|(_, e)| e))
                .collect(),
            Node::Case {
                operand,
                whens,
                otherwise,
            } => operand
                .iter_mut()
                .map(|e| &mut **e)
                .chain(whens.iter_mut().flat_map(|(_, a, b)| [a, b]))
                .chain(otherwise.iter_mut().map(|e| &mut **e))
                .collect(),
            Node::Subquery { operands, .. } => operands.iter_mut().map(|(_, e)| e).collect(),
        }
    }

    /// Visits this expression and all below it, parents first.
    pub fn walk(&self, f: &mut dyn FnMut(&Expr)) {
        f(self);
        for child in self.children() {
            child.walk(f);
        }
    }

    pub fn walk_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        f(self);
        for child in self.children_mut() {
            child.walk_mut(f);
        }
    }

    /// The slots this expression reads, each once, in order of first appearance. Subqueries may read others.
    pub fn columns(&self) -> Vec<usize> {
        let mut out = Vec::new();
        self.walk(&mut |e| {
            if let Node::Column(slot) = e.node
                && !out.contains(&slot)
            {
                out.push(slot);
            }
        });
        out
    }

    /// No row, parameter, session or clock has a say in it.
    pub fn is_constant(&self) -> bool {
        self.is_constant_after(false)
    }

    /// The same of a step of a chain, after steps that are constant or not.
    fn is_constant_after(&self, before: bool) -> bool {
        match &self.node {
            Node::Column(_)
            | Node::Param(_)
            | Node::UserVar(_)
            | Node::AssignVar(..)
            | Node::SystemVar(..)
            | Node::Subquery { .. } => false,
            Node::Previous => before,
            Node::Chain(steps) => {
                let mut constant = before;
                steps.iter().all(|step| {
                    constant = step.is_constant_after(constant);
                    constant
                })
            }
            Node::Call(f, _) if f.volatility != Volatility::Pure => false,
            _ => self
                .children()
                .iter()
                .all(|child| child.is_constant_after(before)),
        }
    }
}
