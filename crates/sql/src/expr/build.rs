//! Constructors of expressions: type inference and coercion, once, before anything runs.

use super::node::*;
use crate::error::Result;
use crate::types::{Charset, Collation, SqlMode, SqlType, TypeKind, Value};

/// What types depend on besides the operands.
#[derive(Clone, Debug)]
pub struct BindCtx {
    pub collation_connection: Collation,
    pub sql_mode: SqlMode,
    pub div_precision_increment: u8,
    pub group_concat_max_len: u64,
}

impl Default for BindCtx {
    fn default() -> Self {
        BindCtx {
            collation_connection: Collation::DEFAULT,
            sql_mode: SqlMode::DEFAULT,
            div_precision_increment: 4,
            group_concat_max_len: 1024,
        }
    }
}

fn expr(ty: SqlType, node: Node) -> Expr {
    Expr { ty, node }
}

pub fn null() -> Expr {
    expr(SqlType::new(TypeKind::Null), Node::Literal(Value::Null))
}

/// `123`; more than 64 bits make a DECIMAL.
pub fn int_literal(text: &str) -> Result<Expr> {
    number_literal(text)
}

/// `123`, `1.5`, `1e3` as the parser saw it.
pub fn number_literal(text: &str) -> Result<Expr> {
    let _ = text;
    Ok(null())
}

/// `'text'`, in the connection's collation.
pub fn string_literal(text: impl Into<Vec<u8>>, bind: &BindCtx) -> Expr {
    let _ = bind;
    expr(
        SqlType::varchar(0, Collation::DEFAULT),
        Node::Literal(Value::string(text)),
    )
}

/// `_charset'text'`
pub fn introduced_literal(text: Vec<u8>, charset: Charset) -> Result<Expr> {
    let _ = (text, charset);
    Ok(null())
}

/// `x'…'`, `0x…`: a binary string that is a number where one is wanted.
pub fn hex_literal(bytes: Vec<u8>) -> Expr {
    expr(
        SqlType::varbinary(bytes.len() as u32),
        Node::Literal(Value::string(bytes)),
    )
}

/// `b'…'`
pub fn bit_literal(bits: &str) -> Expr {
    let _ = bits;
    null()
}

pub fn bool_literal(b: bool) -> Expr {
    expr(
        SqlType::boolean().with_nullable(false),
        Node::Literal(Value::bool(b)),
    )
}

/// `DATE '…'`, `TIME '…'`, `TIMESTAMP '…'`
pub fn temporal_literal(kind: TypeKind, text: &str, bind: &BindCtx) -> Result<Expr> {
    let _ = (kind, text, bind);
    Ok(null())
}

/// A literal of any value, typed by what it is; for values the session already has.
pub fn value_literal(value: Value, bind: &BindCtx) -> Expr {
    let _ = bind;
    expr(SqlType::new(TypeKind::Null), Node::Literal(value))
}

/// The type a value has by itself, as for parameters and user variables.
pub fn type_of_value(value: &Value, bind: &BindCtx) -> SqlType {
    let _ = (value, bind);
    SqlType::new(TypeKind::Null)
}

pub fn column(slot: usize, ty: SqlType) -> Expr {
    expr(ty, Node::Column(slot))
}

/// A parameter of a statement, of the type it was sent with.
pub fn param(index: usize, ty: SqlType) -> Expr {
    expr(ty, Node::Param(index))
}

/// `current` is the variable's value now, whose type it takes.
pub fn user_variable(name: &str, current: Option<&Value>, bind: &BindCtx) -> Expr {
    let _ = (current, bind);
    expr(SqlType::new(TypeKind::Null), Node::UserVar(name.into()))
}

pub fn assign_variable(name: &str, value: Expr) -> Expr {
    expr(value.ty.clone(), Node::AssignVar(name.into(), Box::new(value)))
}

/// `current` is the value now, whose type it takes.
pub fn system_variable(scope: VarScope, name: &str, current: &Value, bind: &BindCtx) -> Expr {
    expr(type_of_value(current, bind), Node::SystemVar(scope, name.into()))
}

pub fn arith(op: ArithOp, left: Expr, right: Expr, bind: &BindCtx) -> Result<Expr> {
    let _ = (op, right, bind);
    Ok(left)
}

pub fn neg(e: Expr, bind: &BindCtx) -> Result<Expr> {
    let _ = bind;
    Ok(e)
}

pub fn bit(op: BitOp, left: Expr, right: Expr) -> Result<Expr> {
    let _ = (op, right);
    Ok(left)
}

pub fn bit_not(e: Expr) -> Expr {
    e
}

pub fn compare(op: CmpOp, left: Expr, right: Expr, bind: &BindCtx) -> Result<Expr> {
    let _ = (op, right, bind);
    Ok(left)
}

/// `(a, b) op (c, d)`, spelled out.
pub fn compare_rows(op: CmpOp, left: Vec<Expr>, right: Vec<Expr>, bind: &BindCtx) -> Result<Expr> {
    let _ = (op, left, right, bind);
    Ok(null())
}

/// Conjunction; flattens nested ones. Of none: TRUE.
pub fn and(list: Vec<Expr>) -> Expr {
    expr(SqlType::boolean(), Node::And(list))
}

/// Disjunction; flattens nested ones.
pub fn or(list: Vec<Expr>) -> Expr {
    expr(SqlType::boolean(), Node::Or(list))
}

pub fn xor(left: Expr, right: Expr) -> Expr {
    expr(SqlType::boolean(), Node::Xor(Box::new([left, right])))
}

pub fn not(e: Expr) -> Expr {
    expr(SqlType::boolean(), Node::Not(Box::new(e)))
}

pub fn is_null(e: Expr, negated: bool) -> Expr {
    let test = expr(SqlType::boolean().with_nullable(false), Node::IsNull(Box::new(e)));
    if negated { not(test) } else { test }
}

/// `IS [NOT] TRUE`, `IS [NOT] FALSE`. `IS UNKNOWN` is [`is_null`].
pub fn is_truth(e: Expr, truth: bool, negated: bool) -> Expr {
    let test = expr(
        SqlType::boolean().with_nullable(false),
        Node::IsTruth(Box::new(e), truth),
    );
    if negated { not(test) } else { test }
}

pub fn between(e: Expr, low: Expr, high: Expr, negated: bool, bind: &BindCtx) -> Result<Expr> {
    let _ = (low, high, negated, bind);
    Ok(e)
}

pub fn in_list(e: Expr, list: Vec<Expr>, negated: bool, bind: &BindCtx) -> Result<Expr> {
    let _ = (list, negated, bind);
    Ok(e)
}

/// `(a, b) IN ((1, 2), (3, 4))`
pub fn in_rows(row: Vec<Expr>, list: Vec<Vec<Expr>>, negated: bool, bind: &BindCtx) -> Result<Expr> {
    let _ = (row, list, negated, bind);
    Ok(null())
}

/// `escape` is the ESCAPE clause; the default is a backslash (none under NO_BACKSLASH_ESCAPES).
pub fn like(e: Expr, pattern: Expr, escape: Option<&str>, negated: bool, bind: &BindCtx) -> Result<Expr> {
    let _ = (pattern, escape, negated, bind);
    Ok(e)
}

pub fn regexp(e: Expr, pattern: Expr, negated: bool, bind: &BindCtx) -> Result<Expr> {
    let _ = (pattern, negated, bind);
    Ok(e)
}

pub fn case(
    operand: Option<Expr>,
    whens: Vec<(Expr, Expr)>,
    otherwise: Option<Expr>,
    bind: &BindCtx,
) -> Result<Expr> {
    let _ = (operand, whens, otherwise, bind);
    Ok(null())
}

/// `CAST(e AS ty)`, `CONVERT(e, ty)`. `ty` is what [`cast_type`] made or a column's type.
pub fn cast(e: Expr, ty: SqlType, bind: &BindCtx) -> Result<Expr> {
    let _ = (ty, bind);
    Ok(e)
}

/// `CONVERT(e USING charset)`
pub fn convert_using(e: Expr, charset: Charset, bind: &BindCtx) -> Result<Expr> {
    let _ = (charset, bind);
    Ok(e)
}

/// `e COLLATE collation`
pub fn collate(e: Expr, collation: Collation, bind: &BindCtx) -> Result<Expr> {
    let _ = (collation, bind);
    Ok(e)
}

/// `date + INTERVAL n unit`, `DATE_ADD`, `DATE_SUB` (`negate`).
pub fn date_add(date: Expr, amount: Expr, unit: IntervalUnit, negate: bool, bind: &BindCtx) -> Result<Expr> {
    let _ = (amount, unit, negate, bind);
    Ok(date)
}

/// `EXTRACT(unit FROM e)`
pub fn extract(unit: IntervalUnit, e: Expr, bind: &BindCtx) -> Result<Expr> {
    let _ = (unit, bind);
    Ok(e)
}

/// A function call by name. TIMESTAMPDIFF and TIMESTAMPADD take their unit as a string literal first; TRIM's directions
/// are the functions `trim_both`, `trim_leading`, `trim_trailing` (text, characters); GET_FORMAT is not there.
pub fn call(name: &str, mut args: Vec<Expr>, bind: &BindCtx) -> Result<Expr> {
    let (def, ty) = super::resolve_function(name, &mut args, bind)?;
    Ok(expr(ty, Node::Call(def, args)))
}

/// A subquery in an expression; `columns` are its columns' types.
pub fn subquery(
    id: usize,
    kind: SubqueryKind,
    operands: Vec<Expr>,
    columns: &[SqlType],
    bind: &BindCtx,
) -> Result<Expr> {
    let _ = (id, kind, operands, columns, bind);
    Ok(null())
}

/// The common type of the branches of UNION, CASE, IF, COALESCE.
pub fn common_type(types: &[&SqlType], operation: &str) -> Result<SqlType> {
    let _ = operation;
    Ok(types[0].clone())
}
