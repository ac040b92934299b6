//! Expressions: literals, operators, calls, types.

use super::{ColumnName, OrderItem, Over, Query, Slot};

/// A value as written.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// `NULL`
    Null,
    /// `TRUE`, `FALSE`: the integers 1 and 0.
    Bool(bool),
    /// An unsigned integer literal that fits 64 bits; larger ones are decimals.
    Int(u64),
    /// Digits with a point, or an integer too large for 64 bits; the text as written.
    Decimal(String),
    /// A number with an exponent, such as `1e3`.
    Double(f64),
    /// A character string; `charset` is an introducer (`_binary 'x'`, `N'x'` is utf8mb3).
    Str {
        /// The string's bytes, escapes resolved, in the character set it was sent in.
        bytes: Vec<u8>,
        /// The introducer's character set, in lower case; `None`: the connection's.
        charset: Option<String>,
    },
    /// `X'4D'`, `0x4D`: the bytes, a zero digit added in front if their number is odd.
    Hex(Vec<u8>),
    /// `b'101'`, `0b101`: the bytes, zero bits added in front to fill the first.
    Bit(Vec<u8>),
    /// `DATE '2024-01-31'`; the text between the quotes.
    Date(String),
    /// `TIME '12:30:00'`; the text between the quotes.
    Time(String),
    /// `TIMESTAMP '2024-01-31 12:30:00'`; the text between the quotes.
    Timestamp(String),
}

/// An operator of one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-a`
    Minus,
    /// `+a`
    Plus,
    /// `~a`
    BitNot,
    /// `BINARY expr`
    Binary,
}

/// An operator of two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOp {
    /// `a + b`
    Add,
    /// `a - b`
    Subtract,
    /// `a * b`
    Multiply,
    /// `a / b`: a decimal or floating-point quotient.
    Divide,
    /// `a DIV b`: the quotient rounded towards zero.
    IntDivide,
    /// `a % b`, `a MOD b`
    Modulo,
    /// `a & b`
    BitAnd,
    /// `a | b`; `||` is OR or CONCAT, by the SQL mode.
    BitOr,
    /// `a ^ b`
    BitXor,
    /// `a << b`
    ShiftLeft,
    /// `a >> b`
    ShiftRight,
    /// `a XOR b`, of truth values.
    Xor,
    /// `a = b`
    Equal,
    /// `a <=> b`: true also if both are NULL, and never NULL itself.
    NullSafeEqual,
    /// `a <> b`, `a != b`
    NotEqual,
    /// `a < b`
    Less,
    /// `a <= b`
    LessEqual,
    /// `a > b`
    Greater,
    /// `a >= b`
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

/// The word that says which variables `@@name` or SET means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeKeyword {
    /// `SESSION`, `LOCAL`, `@@session.`, `@@local.`
    Session,
    /// `GLOBAL`, `@@global.`
    Global,
    /// `SET PERSIST`
    Persist,
    /// `SET PERSIST_ONLY`: the value is stored, and takes effect when the server starts again.
    PersistOnly,
}

/// The unit of an INTERVAL or EXTRACT, upper-cased: `DAY`, `DAY_HOUR`, …
pub type IntervalUnit = String;

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// A value as written, such as `1`, `'a'`, `NULL`.
    Literal(Literal),
    /// The n-th `?`, or the n-th literal that the shape lexer took out.
    Param(usize),
    /// `[[schema.]table.]column`
    Column(ColumnName),
    /// A variable of the stored program around it.
    Local(Slot),
    /// `NEW.column`, `OLD.column` in a trigger.
    Transition {
        /// `NEW`; else `OLD`.
        new: bool,
        /// The column's name as written.
        column: String,
    },
    /// `@name`; the name without `@`, as written.
    UserVar(String),
    /// `@@[scope.]name`
    SysVar {
        /// The scope as written; `None`: the session's value if the variable has one, else the global one.
        scope: Option<ScopeKeyword>,
        /// The variable's name in lower case.
        name: String,
    },
    /// `@name := value`
    AssignVar {
        /// The user variable's name without `@`, as written.
        name: String,
        /// What it is set to, which is also the expression's value.
        value: Box<Expr>,
    },
    /// An operator before its operand.
    Unary {
        /// The operator.
        op: UnaryOp,
        /// The operand.
        expr: Box<Expr>,
    },
    /// `left op right`
    Binary {
        /// The operator.
        op: BinaryOp,
        /// The operand before the operator.
        left: Box<Expr>,
        /// The operand behind the operator.
        right: Box<Expr>,
    },
    /// Operators of one precedence, from the left: `first op₁ e₁ op₂ e₂ …`. Only long chains, so that they stay shallow;
    /// short ones are nested [`Expr::Binary`].
    Chain {
        /// The operand before the first operator.
        first: Box<Expr>,
        /// Each operator with the operand behind it, in the order written.
        rest: Vec<(BinaryOp, Expr)>,
    },
    /// `a AND b AND …`, at least two. N-ary, as OR is, so that long chains stay shallow.
    And(Vec<Expr>),
    /// `a OR b OR …`, at least two.
    Or(Vec<Expr>),
    /// `NOT a`, `!a`
    Not(Box<Expr>),
    /// `expr IS [NOT] NULL`
    IsNull {
        /// The operand.
        expr: Box<Expr>,
        /// `NOT` was written.
        negated: bool,
    },
    /// `IS [NOT] TRUE/FALSE/UNKNOWN`
    IsTruth {
        /// The operand.
        expr: Box<Expr>,
        /// `TRUE` or `FALSE`; `None` is `UNKNOWN`.
        truth: Option<bool>,
        /// `NOT` was written.
        negated: bool,
    },
    /// `expr [NOT] BETWEEN low AND high`
    Between {
        /// The value compared.
        expr: Box<Expr>,
        /// The lower bound, inclusive.
        low: Box<Expr>,
        /// The upper bound, inclusive.
        high: Box<Expr>,
        /// `NOT` was written.
        negated: bool,
    },
    /// `expr [NOT] IN (a, b, …)`
    InList {
        /// The value looked for, a row if the members are.
        expr: Box<Expr>,
        /// The members, at least one.
        list: Vec<Expr>,
        /// `NOT` was written.
        negated: bool,
    },
    /// `expr [NOT] IN (SELECT …)`
    InQuery {
        /// The value looked for, a row if the query has several columns.
        expr: Box<Expr>,
        /// The query whose rows are the members.
        query: Box<Query>,
        /// `NOT` was written.
        negated: bool,
    },
    /// `EXISTS (SELECT …)`
    Exists(Box<Query>),
    /// `(SELECT …)` as a value: of one row, NULL if it has none, error 1242 if more.
    Subquery(Box<Query>),
    /// `left op ANY/ALL (query)`
    Quantified {
        /// The comparison.
        op: BinaryOp,
        /// `ALL` rather than `ANY` or `SOME`.
        all: bool,
        /// The value compared with each row.
        left: Box<Expr>,
        /// The query whose rows it is compared with.
        query: Box<Query>,
    },
    /// `expr [NOT] LIKE pattern [ESCAPE c]`
    Like {
        /// The text to be matched.
        expr: Box<Expr>,
        /// The pattern, of `%`, `_` and literal characters.
        pattern: Box<Expr>,
        /// The escape character; `None`: a backslash, or nothing under NO_BACKSLASH_ESCAPES.
        escape: Option<Box<Expr>>,
        /// `NOT` was written.
        negated: bool,
    },
    /// `expr [NOT] REGEXP pattern`, `RLIKE`.
    Regexp {
        /// The text to be searched.
        expr: Box<Expr>,
        /// The regular expression.
        pattern: Box<Expr>,
        /// `NOT` was written.
        negated: bool,
    },
    /// `CASE [operand] WHEN … THEN … [ELSE …] END`
    Case {
        /// The value that each WHEN is compared with; `None`: each WHEN is a condition.
        operand: Option<Box<Expr>>,
        /// (WHEN, THEN) in the order written, at least one.
        whens: Vec<(Expr, Expr)>,
        /// ELSE; `None`: NULL.
        otherwise: Option<Box<Expr>>,
    },
    /// `CAST(expr AS type)`, `CONVERT(expr, type)`
    Cast {
        /// The value to be converted.
        expr: Box<Expr>,
        /// The type asked for.
        ty: TypeName,
    },
    /// `CONVERT(expr USING charset)`
    ConvertUsing {
        /// The text to be converted.
        expr: Box<Expr>,
        /// The character set in lower case.
        charset: String,
    },
    /// `expr COLLATE collation`
    Collate {
        /// The text.
        expr: Box<Expr>,
        /// The collation's name as written.
        collation: String,
    },
    /// A call, `name(…)` or one of the special syntaxes.
    Function(Box<FunctionCall>),
    /// `INTERVAL value unit`, only as an argument of DATE_ADD, DATE_SUB and date arithmetic with `+` and `-`, which
    /// the parser turns into these functions.
    Interval {
        /// How many of the unit; for compound units a text such as `'1 12'`.
        value: Box<Expr>,
        /// The unit, upper-cased.
        unit: IntervalUnit,
    },
    /// `(a, b, …)`, `ROW(a, b, …)`: at least two values.
    Row(Vec<Expr>),
    /// `VALUES(column)` in ON DUPLICATE KEY UPDATE
    Values(ColumnName),
    /// `DEFAULT` or `DEFAULT(column)`
    Default(Option<ColumnName>),
    /// Recognised, but fails with error 1235, whose text names this feature.
    Unsupported(String),
}

/// Functions that are conditions.
const CONDITIONS: [&str; 14] = [
    "IS_IPV4",
    "IS_IPV4_COMPAT",
    "IS_IPV4_MAPPED",
    "IS_IPV6",
    "IS_UUID",
    "ISNULL",
    "JSON_CONTAINS",
    "JSON_CONTAINS_PATH",
    "JSON_OVERLAPS",
    "JSON_SCHEMA_VALID",
    "JSON_VALID",
    "MEMBER OF",
    "REGEXP_LIKE",
    "STRCMP",
];

/// Whether MySQL takes a call of the function for a condition by itself.
pub fn is_condition_function(name: &str) -> bool {
    CONDITIONS.iter().any(|other| name.eq_ignore_ascii_case(other))
}

impl Expr {
    /// Whether MySQL takes it for a condition by itself: CHECK takes nothing else, and a view's text compares anything else with
    /// zero where a condition is wanted.
    pub fn is_condition(&self) -> bool {
        let compares = |op: BinaryOp| op.is_comparison() || op == BinaryOp::Xor;
        match self {
            Expr::And(_)
            | Expr::Or(_)
            | Expr::Not(_)
            | Expr::IsNull { .. }
            | Expr::IsTruth { .. }
            | Expr::Between { .. }
            | Expr::InList { .. }
            | Expr::InQuery { .. }
            | Expr::Exists(_)
            | Expr::Quantified { .. }
            | Expr::Like { .. }
            | Expr::Regexp { .. }
            | Expr::Literal(Literal::Bool(_)) => true,
            Expr::Binary { op, .. } => compares(*op),
            Expr::Chain { rest, .. } => rest.iter().all(|(op, _)| compares(*op)),
            Expr::Function(call) => is_condition_function(&call.name),
            _ => false,
        }
    }

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
    /// `schema.name(…)`: the schema as written; `None`: a built-in function.
    pub schema: Option<String>,
    /// The function's name, upper-cased.
    pub name: String,
    /// How the client wrote it.
    pub spelling: Spelling,
    /// The arguments, in the order of the normal form; empty for `COUNT(*)`.
    pub args: Vec<Expr>,
    /// `DISTINCT` before an aggregate's arguments.
    pub distinct: bool,
    /// `COUNT(*)`
    pub star: bool,
    /// `GROUP_CONCAT(… ORDER BY …)`; empty if not written.
    pub order_by: Vec<OrderItem>,
    /// `GROUP_CONCAT(… SEPARATOR '…')`; `None`: a comma.
    pub separator: Option<Vec<u8>>,
    /// `OVER …`: a window function; `None`: not written.
    pub over: Option<Over>,
}

impl FunctionCall {
    /// Whether it is CURRENT_TIMESTAMP or one of its synonyms.
    pub fn is_current_timestamp(&self) -> bool {
        const NAMES: [&str; 4] = ["NOW", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"];
        NAMES.contains(&self.name.as_str())
    }
}

/// Which of a name's letters the client has written small, the first 64 of them. Names that differ in that alone are the same.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spelling(u64);

impl PartialEq for Spelling {
    fn eq(&self, _: &Spelling) -> bool {
        true
    }
}

impl Spelling {
    /// That of a name.
    pub fn of(name: &str) -> Spelling {
        let letters = name.bytes().take(64).enumerate();
        let small = letters.filter(|(_, letter)| letter.is_ascii_lowercase());
        Spelling(small.fold(0, |all, (at, _)| all | 1 << at))
    }

    /// A name in upper case, as the client wrote it.
    pub fn spell(self, upper: &str) -> String {
        let mut name = upper.to_owned().into_bytes();
        for (at, letter) in name.iter_mut().take(64).enumerate() {
            if self.0 >> at & 1 == 1 {
                letter.make_ascii_lowercase();
            }
        }
        String::from_utf8(name).unwrap_or_else(|_| upper.to_owned())
    }
}

impl FunctionCall {
    /// A call with nothing but its arguments; the name in upper case.
    pub fn plain(name: &str, args: Vec<Expr>) -> FunctionCall {
        FunctionCall {
            schema: None,
            name: name.to_string(),
            spelling: Spelling::default(),
            args,
            distinct: false,
            star: false,
            order_by: Vec::new(),
            separator: None,
            over: None,
        }
    }
}

/// A type as written in a column definition or CAST. The name is upper-cased and canonical (INTEGER → INT,
/// NUMERIC → DECIMAL, CHARACTER VARYING → VARCHAR, BOOL → TINYINT(1), …).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TypeName {
    /// The canonical name, upper-cased.
    pub name: String,
    /// `(n)` or the first number of `(n, d)`: length, display width or digits; `None`: the type's default.
    pub length: Option<u64>,
    /// The second number of `(n, d)`: digits behind the point; `None`: not written.
    pub decimals: Option<u64>,
    /// `UNSIGNED`, of numbers.
    pub unsigned: bool,
    /// `ZEROFILL`, which implies UNSIGNED.
    pub zerofill: bool,
    /// `CHAR(10) BINARY`
    pub binary: bool,
    /// `CHARACTER SET`, in lower case; `None`: the table's default.
    pub charset: Option<String>,
    /// `COLLATE`, in lower case; `None`: the character set's default.
    pub collation: Option<String>,
    /// ENUM and SET members.
    pub members: Vec<Vec<u8>>,
    /// `ARRAY`, of CAST: a key part of a multi-valued index.
    pub array: bool,
}
