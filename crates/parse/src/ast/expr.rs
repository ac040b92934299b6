//! Expressions: literals, operators, calls, types.

use super::{ColumnName, OrderItem, Query};

/// A value as written.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    Null,
    Bool(bool),
    /// An unsigned integer literal that fits 64 bits; larger ones are decimals.
    Int(u64),
    /// Digits with a point, or an integer too large for 64 bits; the text as written.
    Decimal(String),
    Double(f64),
    /// A character string; `charset` is an introducer (`_binary 'x'`, `N'x'` is utf8mb3).
    Str {
        bytes: Vec<u8>,
        charset: Option<String>,
    },
    /// `X'4D'`, `0x4D`
    Hex(Vec<u8>),
    /// `b'101'`, `0b101`
    Bit(Vec<u8>),
    Date(String),
    Time(String),
    Timestamp(String),
}

/// An operator of one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    Minus,
    Plus,
    BitNot,
    /// `BINARY expr`
    Binary,
}

/// An operator of two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    IntDivide,
    Modulo,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Xor,
    Equal,
    NullSafeEqual,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl BinaryOp {
    /// Whether it compares.
    pub fn is_comparison(self) -> bool {
        use BinaryOp::*;
        matches!(
            self,
            Equal | NullSafeEqual | NotEqual | Less | LessEqual | Greater | GreaterEqual
        )
    }

    /// As it is written.
    pub fn text(self) -> &'static str {
        use BinaryOp::*;
        match self {
            Add => "+",
            Subtract => "-",
            Multiply => "*",
            Divide => "/",
            IntDivide => "DIV",
            Modulo => "%",
            BitAnd => "&",
            BitOr => "|",
            BitXor => "^",
            ShiftLeft => "<<",
            ShiftRight => ">>",
            Xor => "xor",
            Equal => "=",
            NullSafeEqual => "<=>",
            NotEqual => "<>",
            Less => "<",
            LessEqual => "<=",
            Greater => ">",
            GreaterEqual => ">=",
        }
    }
}

/// Which variables `@@name` or SET means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Session,
    Global,
    /// `SET PERSIST`, `SET PERSIST_ONLY`
    Persist,
}

/// The unit of an INTERVAL or EXTRACT, upper-cased: `DAY`, `DAY_HOUR`, …
pub type IntervalUnit = String;

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Literal(Literal),
    /// The n-th `?`, or the n-th literal that the shape lexer took out.
    Param(usize),
    Column(ColumnName),
    UserVar(String),
    SysVar {
        scope: Option<Scope>,
        name: String,
    },
    /// `@name := value`
    AssignVar {
        name: String,
        value: Box<Expr>,
    },
    Unary {
        op: UnaryOp,
        expr: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// Operators of one precedence, from the left: `first op₁ e₁ op₂ e₂ …`. Only long chains, so that they stay shallow;
    /// short ones are nested [`Expr::Binary`].
    Chain {
        first: Box<Expr>,
        rest: Vec<(BinaryOp, Expr)>,
    },
    /// AND and OR are n-ary so that long chains stay shallow.
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    IsNull {
        expr: Box<Expr>,
        negated: bool,
    },
    /// `IS [NOT] TRUE/FALSE/UNKNOWN`
    IsTruth {
        expr: Box<Expr>,
        truth: Option<bool>,
        negated: bool,
    },
    Between {
        expr: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        negated: bool,
    },
    InList {
        expr: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    InQuery {
        expr: Box<Expr>,
        query: Box<Query>,
        negated: bool,
    },
    Exists(Box<Query>),
    Subquery(Box<Query>),
    /// `left op ANY/ALL (query)`
    Quantified {
        op: BinaryOp,
        all: bool,
        left: Box<Expr>,
        query: Box<Query>,
    },
    Like {
        expr: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        negated: bool,
    },
    Regexp {
        expr: Box<Expr>,
        pattern: Box<Expr>,
        negated: bool,
    },
    Case {
        operand: Option<Box<Expr>>,
        whens: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    /// `CAST(expr AS type)`, `CONVERT(expr, type)`
    Cast {
        expr: Box<Expr>,
        ty: TypeName,
    },
    /// `CONVERT(expr USING charset)`
    ConvertUsing {
        expr: Box<Expr>,
        charset: String,
    },
    Collate {
        expr: Box<Expr>,
        collation: String,
    },
    Function(Box<FunctionCall>),
    /// `INTERVAL value unit`, only as an argument of DATE_ADD, DATE_SUB and date arithmetic with `+` and `-`, which
    /// the parser turns into these functions.
    Interval {
        value: Box<Expr>,
        unit: IntervalUnit,
    },
    Row(Vec<Expr>),
    /// `VALUES(column)` in ON DUPLICATE KEY UPDATE
    Values(ColumnName),
    /// `DEFAULT` or `DEFAULT(column)`
    Default(Option<ColumnName>),
    /// Recognised, answered with 1235.
    Unsupported(String),
}

impl Expr {
    /// An integer literal.
    pub fn int(value: u64) -> Expr {
        Expr::Literal(Literal::Int(value))
    }

    /// A text literal.
    pub fn str(text: &str) -> Expr {
        Expr::Literal(Literal::Str {
            bytes: text.as_bytes().to_vec(),
            charset: None,
        })
    }
}

/// A call of a function or an aggregate. The name is upper-cased.
///
/// Special syntaxes are normalised: `EXTRACT(u FROM x)` is EXTRACT('u', x); `TRIM(BOTH a FROM b)` is
/// TRIM('BOTH', a, b) against plain TRIM(b); `POSITION(a IN b)` is LOCATE; `SUBSTRING(a FROM b FOR c)` is SUBSTRING;
/// `x + INTERVAL n u` is DATE_ADD(x, Interval); `TIMESTAMPADD(u, n, x)` and `TIMESTAMPDIFF(u, a, b)` carry the unit
/// as a string first; `x -> path` is JSON_EXTRACT.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionCall {
    pub schema: Option<String>,
    pub name: String,
    pub args: Vec<Expr>,
    pub distinct: bool,
    /// `COUNT(*)`
    pub star: bool,
    /// GROUP_CONCAT's own ordering and separator.
    pub order_by: Vec<OrderItem>,
    pub separator: Option<Vec<u8>>,
}

/// A type as written in a column definition or CAST. The name is upper-cased and canonical (INTEGER → INT,
/// NUMERIC → DECIMAL, CHARACTER VARYING → VARCHAR, BOOL → TINYINT(1), …).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TypeName {
    pub name: String,
    pub length: Option<u64>,
    pub decimals: Option<u64>,
    pub unsigned: bool,
    pub zerofill: bool,
    /// `CHAR(10) BINARY`
    pub binary: bool,
    pub charset: Option<String>,
    pub collation: Option<String>,
    /// ENUM and SET members.
    pub members: Vec<Vec<u8>>,
}
