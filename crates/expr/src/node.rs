//! The tree of a bound expression.

use super::function::{FuncDef, Volatility};
use super::like::{LikePattern, RegexCache};
use std::cmp::Ordering;
use std::sync::Arc;
use tidemark_parse::ast::is_condition_function;
use tidemark_types::{CmpKind, Collation, SqlType, TypeKind, Value};

/// An expression and its type. Made by [`super::build`]; shared between sessions in cached plans.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The type of the value.
    pub ty: SqlType,
    /// The operation and its operands.
    pub node: Node,
    /// How error texts name a column, as in `` `db`.`t`.`c` ``. Of any other node: the column of a merged view that it is.
    pub name: Option<Arc<str>>,
}

/// A call of a stored function.
#[derive(Clone, Debug)]
pub struct Routine {
    /// The number that the statement knows it by.
    pub id: usize,
    /// As texts show it: quoted, with its database.
    pub name: Box<str>,
    /// One for each parameter.
    pub args: Vec<Expr>,
}

/// An operation on bound operands. The kind of comparison or arithmetic was decided when it was built.
#[derive(Clone, Debug)]
pub enum Node {
    /// A value that the statement spells, or that was computed when it was bound.
    Literal(Value),
    /// The row's slot: a column, or a finished aggregate.
    Column(usize),
    /// The placeholder `?` of this number, from 0.
    Param(usize),
    /// `@name`
    UserVar(Box<str>),
    /// `@v := e`
    AssignVar(Box<str>, Box<Expr>),
    /// `@@name`, `@@SESSION.name`, `@@GLOBAL.name`
    SystemVar(VarScope, Box<str>),
    /// A long chain of operators: the value of each step is the [`Node::Previous`] of the next.
    Chain(Vec<Expr>),
    /// In a step of a [`Node::Chain`]: the value of the step before.
    Previous,
    /// `db.f(…)`: runs statements, so that its value is never the same by itself.
    Routine(Box<Routine>),
    /// `- e`
    Neg(Box<Expr>),
    /// `a + b`, `a DIV b` and so on, in the given arithmetic.
    Arith(ArithOp, NumKind, Box<[Expr; 2]>),
    /// `a & b`, `a << b` and so on, in 64 bits without sign.
    Bit(BitOp, Box<[Expr; 2]>),
    /// `~ e`, in 64 bits.
    BitNot(Box<Expr>),
    /// `a < b` and so on, compared as the given kind.
    Compare(CmpOp, CmpKind, Box<[Expr; 2]>),
    /// True if all are; of none: TRUE.
    And(Vec<Expr>),
    /// True if one is.
    Or(Vec<Expr>),
    /// `a XOR b`
    Xor(Box<[Expr; 2]>),
    /// `NOT e`
    Not(Box<Expr>),
    /// `e IS NULL`
    IsNull(Box<Expr>),
    /// `IS TRUE` / `IS FALSE`
    IsTruth(Box<Expr>, bool),
    /// value, low, high
    Between {
        /// NOT BETWEEN.
        negated: bool,
        /// How the value is compared with the lower bound.
        low: CmpKind,
        /// How the value is compared with the upper bound.
        high: CmpKind,
        /// Value, lower bound, upper bound.
        args: Box<[Expr; 3]>,
    },
    /// The kind stands beside each candidate.
    In {
        /// NOT IN.
        negated: bool,
        /// The value that is looked for.
        value: Box<Expr>,
        /// The candidates, each with the kind of comparison.
        list: Vec<(CmpKind, Expr)>,
        /// The candidates sorted, where they are constants of one kind and worth a search.
        set: Option<InSet>,
    },
    /// `value LIKE pattern [ESCAPE '…']`
    Like {
        /// NOT LIKE.
        negated: bool,
        /// Characters are compared under this collation.
        collation: Collation,
        /// The character that makes the next one literal; `None` if no character does.
        escape: Option<char>,
        /// Value, pattern.
        args: Box<[Expr; 2]>,
        /// The pattern taken apart, if it is constant.
        pattern: Option<LikePattern>,
    },
    /// `value REGEXP pattern`
    Regexp {
        /// NOT REGEXP.
        negated: bool,
        /// Decides case sensitivity, and characters or bytes.
        collation: Collation,
        /// Value, pattern.
        args: Box<[Expr; 2]>,
        /// The pattern compiled, if it is constant.
        cache: RegexCache,
    },
    /// `CASE [operand] WHEN … THEN … [ELSE …] END`
    Case {
        /// What each WHEN is compared with; `None`: each WHEN is a condition.
        operand: Option<Box<Expr>>,
        /// Kind of comparison with the operand, WHEN, THEN.
        whens: Vec<(CmpKind, Expr, Expr)>,
        /// ELSE; `None`: NULL.
        otherwise: Option<Box<Expr>>,
    },
    /// To this expression's own type.
    Cast(Box<Expr>),
    /// Another collation or none: the bytes stay.
    Retype(Box<Expr>),
    /// A decimal with as many digits behind the point as its type has, whatever the value has: see [`digits`](super::digits).
    Digits {
        /// It is one that others go on with, by all of its digits.
        more: bool,
        /// What has them.
        value: Box<Expr>,
    },
    /// `date ± INTERVAL n unit`
    DateAdd {
        /// The unit of the amount.
        unit: IntervalUnit,
        /// Subtracts.
        negate: bool,
        /// Date, amount.
        args: Box<[Expr; 2]>,
    },
    /// `EXTRACT(unit FROM e)`
    Extract(IntervalUnit, Box<Expr>),
    /// A function of the table in `func`, with checked arguments.
    Call(&'static FuncDef, Vec<Expr>),
    /// A subquery; [`Subqueries`](crate::Subqueries) runs it.
    Subquery {
        /// The number that the binder's [`Hooks`](crate::Hooks) gave it.
        id: usize,
        /// How its rows become a value.
        kind: SubqueryKind,
        /// What the rows are compared with, each with its kind of comparison.
        operands: Vec<(CmpKind, Expr)>,
    },
}

/// How the rows of a subquery become a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubqueryKind {
    /// One value, NULL when there is no row.
    Scalar,
    /// One value, which is a condition: `(SELECT a > b)` without tables is what it selects.
    Condition,
    /// `EXISTS (…)`
    Exists,
    /// `NOT EXISTS (…)`
    NotExists,
    /// `operands <op> ANY (…)`; IN is `= ANY`. The operands are a row of one or more.
    Quantified(CmpOp, Quantifier),
    /// `operands <op> (one row)`.
    Row(CmpOp),
}

impl SubqueryKind {
    /// Whether the subquery is a value, not a test.
    pub fn is_value(self) -> bool {
        matches!(self, SubqueryKind::Scalar | SubqueryKind::Condition)
    }
}

/// How many rows of a subquery a comparison must hold for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantifier {
    /// `ANY`, `SOME`: at least one.
    Any,
    /// `ALL`: every one.
    All,
}

/// Which value of a system variable is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VarScope {
    /// `@@name`: the session's value if there is one.
    Any,
    /// `@@SESSION.name`: error 1238 for a global variable.
    Session,
    /// `@@GLOBAL.name`: error 1238 for a session variable.
    Global,
}

/// Arithmetic operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArithOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `DIV`
    IntDiv,
    /// `%`, `MOD`
    Mod,
}

/// The arithmetic an operator is done in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumKind {
    /// Signed unless one operand is unsigned.
    Int,
    /// Exact, with up to 65 digits.
    Decimal,
    /// IEEE 754 double precision.
    Double,
}

/// Operators on the bits of 64-bit integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitOp {
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
}

/// Comparison operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CmpOp {
    /// `=`
    Eq,
    /// `<>`, `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `<=>`
    NullSafeEq,
}

impl CmpOp {
    /// Whether operands in this order satisfy the operator.
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

    /// As SQL spells it.
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

/// The unit of an INTERVAL, or of what EXTRACT takes. A compound unit's amount is a text such as `'1:30'`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntervalUnit {
    /// MICROSECOND
    Microsecond,
    /// SECOND
    Second,
    /// MINUTE
    Minute,
    /// HOUR
    Hour,
    /// DAY
    Day,
    /// WEEK
    Week,
    /// MONTH
    Month,
    /// QUARTER
    Quarter,
    /// YEAR
    Year,
    /// SECOND_MICROSECOND
    SecondMicrosecond,
    /// MINUTE_MICROSECOND
    MinuteMicrosecond,
    /// MINUTE_SECOND
    MinuteSecond,
    /// HOUR_MICROSECOND
    HourMicrosecond,
    /// HOUR_SECOND
    HourSecond,
    /// HOUR_MINUTE
    HourMinute,
    /// DAY_MICROSECOND
    DayMicrosecond,
    /// DAY_SECOND
    DaySecond,
    /// DAY_MINUTE
    DayMinute,
    /// DAY_HOUR
    DayHour,
    /// YEAR_MONTH
    YearMonth,
}

impl IntervalUnit {
    /// By SQL's keyword, in any case, also with the prefix `SQL_TSI_`.
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

/// The direct operands of a node, borrowed as `&` or `&mut` with the iterator for it.
macro_rules! operands {
    ($node:expr, $iter:ident $(, $mut:tt)?) => {
        match $node {
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
            | Node::Digits { value: e, .. }
            | Node::Extract(_, e) => vec![e],
            Node::Arith(_, _, p) | Node::Bit(_, p) | Node::Compare(_, _, p) | Node::Xor(p) => {
                p.$iter().collect()
            }
            Node::Like { args, .. } | Node::Regexp { args, .. } | Node::DateAdd { args, .. } => {
                args.$iter().collect()
            }
            Node::Between { args, .. } => args.$iter().collect(),
            Node::And(list) | Node::Or(list) | Node::Call(_, list) | Node::Chain(list) => {
                list.$iter().collect()
            }
            Node::Routine(routine) => routine.args.$iter().collect(),
            Node::In { value, list, .. } => std::iter::once(&$($mut)? **value)
                .chain(list.$iter().map(|(_, e)| e))
                .collect(),
            Node::Case {
                operand,
                whens,
                otherwise,
            } => operand
                .$iter()
                .map(|e| &$($mut)? **e)
                .chain(whens.$iter().flat_map(|(_, a, b)| [a, b]))
                .chain(otherwise.$iter().map(|e| &$($mut)? **e))
                .collect(),
            Node::Subquery { operands, .. } => operands.$iter().map(|(_, e)| e).collect(),
        }
    };
}

impl Expr {
    /// The direct operands.
    pub fn children(&self) -> Vec<&Expr> {
        operands!(&self.node, iter)
    }

    /// The direct operands, to be changed.
    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        operands!(&mut self.node, iter_mut, mut)
    }

    /// Moves the slots this expression reads by so many. It has no subqueries: those know their slots by themselves.
    pub fn shift(&mut self, by: usize) {
        if by == 0 {
            return;
        }
        if let Node::Column(slot) = &mut self.node {
            *slot += by;
        }
        for child in self.children_mut() {
            child.shift(by);
        }
    }

    /// Visits this expression and all below it, parents first.
    pub fn walk(&self, f: &mut dyn FnMut(&Expr)) {
        f(self);
        for child in self.children() {
            child.walk(f);
        }
    }

    /// Whether MySQL takes it for a condition by itself, whose value is a boolean in a document. A column of a view is none, whatever
    /// it is computed by.
    pub fn is_condition(&self) -> bool {
        match &self.node {
            _ if self.name.is_some() => false,
            Node::Compare(..)
            | Node::And(_)
            | Node::Or(_)
            | Node::Xor(_)
            | Node::Not(_)
            | Node::IsNull(_)
            | Node::IsTruth(..)
            | Node::Between { .. }
            | Node::In { .. }
            | Node::Like { .. }
            | Node::Regexp { .. } => true,
            Node::Chain(steps) => steps.last().is_some_and(Expr::is_condition),
            // TRUE and FALSE
            Node::Literal(_) => self.ty.kind == TypeKind::BigInt && self.ty.length == 1,
            Node::Call(function, _) => is_condition_function(function.name),
            Node::Subquery { kind, .. } => *kind != SubqueryKind::Scalar,
            _ => false,
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

    /// What IF or CASE chooses among; nothing for other expressions.
    pub(super) fn branches(&mut self) -> Vec<&mut Expr> {
        match &mut self.node {
            Node::Call(function, args) if function.name == "if" => args.iter_mut().skip(1).collect(),
            Node::Case { whens, otherwise, .. } => {
                let thens = whens.iter_mut().map(|(_, _, then)| then);
                thens.chain(otherwise.as_deref_mut()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether one of the expressions that IF or CASE chooses among is such; those in a branch that is one itself count.
    pub(crate) fn has_branch(&self, is_such: impl Fn(&Expr) -> bool + Copy) -> bool {
        let counts = |branch: &Expr| is_such(branch) || branch.has_branch(is_such);
        match &self.node {
            Node::Call(function, args) if function.name == "if" => args.iter().skip(1).any(counts),
            Node::Case { whens, otherwise, .. } => {
                whens.iter().any(|(_, _, then)| counts(then)) || otherwise.as_deref().is_some_and(counts)
            }
            _ => false,
        }
    }

    /// Whether it is IF or CASE.
    pub fn is_choice(&self) -> bool {
        self.has_branch(|_| true)
    }

    /// Makes something else of each expression that IF or CASE chooses among.
    pub(crate) fn each_branch(&mut self, change: impl Fn(Expr) -> Expr) {
        for branch in self.branches() {
            let taken = std::mem::replace(branch, super::build::null());
            *branch = change(taken);
        }
    }

    /// Whether it is a column of a table: what an aggregate has found is kept as a column without a name.
    pub fn is_table_column(&self) -> bool {
        matches!(self.node, Node::Column(_)) && self.name.is_some()
    }

    /// Whether it is a parameter, as it is or as a text of another collation.
    pub fn is_parameter(&self) -> bool {
        match &self.node {
            Node::Param(_) => true,
            Node::Retype(inner) => inner.is_parameter(),
            _ => false,
        }
    }

    /// Whether a parameter stands in it.
    pub fn has_parameter(&self) -> bool {
        let mut found = false;
        self.walk(&mut |e| found |= matches!(e.node, Node::Param(_)));
        found
    }

    /// Whether it is NULL whatever the rows are. What a parameter or a variable will be that is NULL now is not known yet.
    pub(crate) fn is_null_by_type(&self) -> bool {
        let is_null = |e: &Expr| e.ty.kind == TypeKind::Null;
        let mut known = is_null(self);
        self.walk(&mut |e| known &= !(is_null(e) && matches!(e.node, Node::Param(_) | Node::AssignVar(..))));
        known
    }

    /// Whether a step of a chain is constant, after steps that are or not.
    fn is_constant_after(&self, before: bool) -> bool {
        match &self.node {
            Node::Column(_)
            | Node::Param(_)
            | Node::UserVar(_)
            | Node::AssignVar(..)
            | Node::SystemVar(..)
            | Node::Routine(_)
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
