//! Constructors of expressions: type inference and coercion, once, before anything runs.
//!
//! The binder calls these bottom-up. Each decides from its operands' types what kind of operation it is and what type
//! comes out, and turns literals into the type they are compared with, so that nothing of this is left for the rows.

use super::node::*;
use super::types::{cmp_kind, common_collation, number_kind, result_type};
use crate::error::{Result, SqlError};
use crate::types::temporal::parse;
use crate::types::{Charset, Collation, Date, Decimal, Derivation, SqlMode, SqlType, TypeKind, Val, Value};
use std::sync::Arc;

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

pub(crate) fn expr(ty: SqlType, node: Node) -> Expr {
    Expr { ty, node, name: None }
}

fn boolean(nullable: bool, node: Node) -> Expr {
    expr(SqlType::boolean().with_nullable(nullable), node)
}

fn literal(ty: SqlType, value: Value) -> Expr {
    let ty = ty.with_nullable(false);
    expr(ty, Node::Literal(value))
}

/// A value of a known type, such as a column's default.
pub fn typed_literal(ty: SqlType, value: Value) -> Expr {
    expr(ty, Node::Literal(value))
}

pub fn null() -> Expr {
    expr(SqlType::new(TypeKind::Null), Node::Literal(Value::Null))
}

pub fn int_literal(value: i64) -> Expr {
    literal(
        type_of_value(&Val::Int(value), &BindCtx::default()),
        Val::Int(value),
    )
}

/// `123`, `1.5`, `1e3` as the statement spells it.
pub fn number_literal(text: &str) -> Result<Expr> {
    let bad = || SqlError::parse(format!("bad number '{text}'"));
    let bind = BindCtx::default();
    let value = if text.contains(['e', 'E']) {
        let value: f64 = text.parse().map_err(|_| bad())?;
        if !value.is_finite() {
            return Err(SqlError::new(
                crate::error::er::ILLEGAL_VALUE_FOR_TYPE,
                format!("Illegal double '{text}' value found during parsing"),
            ));
        }
        Val::Double(value)
    } else if let Ok(value) = text.parse::<i64>() {
        Val::Int(value)
    } else if let Ok(value) = text.parse::<u64>() {
        Val::UInt(value)
    } else {
        Val::Decimal(Decimal::parse(text).ok_or_else(bad)?)
    };
    Ok(literal(type_of_value(&value, &bind), value))
}

/// `'text'`, in the connection's collation.
pub fn string_literal(text: impl Into<Vec<u8>>, bind: &BindCtx) -> Expr {
    let value = Val::string(text);
    literal(type_of_value(&value, bind), value)
}

/// `_charset'text'`; the bytes as the statement has them.
pub fn introduced_literal(text: Vec<u8>, charset: Charset) -> Result<Expr> {
    let text = charset.decode(&text).ok_or_else(|| {
        let bytes: String = text.iter().take(6).map(|b| format!("\\x{b:02X}")).collect();
        SqlError::invalid_string(charset.name(), &bytes)
    })?;
    let length = charset.char_count(&text) as u32;
    let ty = SqlType::varchar(length, charset.default_collation());
    let ty = ty.with_collation(charset.default_collation(), Derivation::Literal);
    Ok(literal(ty, Val::string(text)))
}

/// `N'text'`
pub fn national_literal(text: impl Into<Vec<u8>>) -> Result<Expr> {
    introduced_literal(text.into(), Charset::Utf8mb3)
}

/// `x'…'`, `0x…`: a binary string that is a number where one is wanted.
pub fn hex_literal(bytes: Vec<u8>) -> Expr {
    let ty = SqlType::varbinary(bytes.len() as u32).with_collation(Collation::BINARY, Derivation::Literal);
    literal(ty.unsigned(), Val::string(bytes))
}

/// `b'…'`: the zeros and ones.
pub fn bit_literal(bits: &str) -> Expr {
    let padding = (8 - bits.len() % 8) % 8;
    let padded = format!("{}{bits}", "0".repeat(padding));
    let byte = |chunk: &[u8]| chunk.iter().fold(0u8, |n, b| n << 1 | (*b == b'1') as u8);
    hex_literal(padded.as_bytes().chunks(8).map(byte).collect())
}

pub fn bool_literal(b: bool) -> Expr {
    literal(SqlType::boolean(), Value::bool(b))
}

/// `DATE '…'`, `TIME '…'`, `TIMESTAMP '…'`
pub fn temporal_literal(kind: TypeKind, text: &str, bind: &BindCtx) -> Result<Expr> {
    let mode = bind.sql_mode;
    let name = match kind {
        TypeKind::Date => "DATE",
        TypeKind::Time => "TIME",
        _ => "DATETIME",
    };
    let wrong = || {
        SqlError::new(
            crate::error::er::TRUNCATED_WRONG_VALUE_IN_FUNCTION,
            format!("Incorrect {name} value: '{text}'"),
        )
    };
    if kind == TypeKind::Time {
        let (time, whole) = parse::time(text.as_bytes(), mode).ok_or_else(wrong)?;
        return if whole {
            Ok(literal(SqlType::time(time.fsp), Val::Time(time)))
        } else {
            Err(wrong())
        };
    }
    let parsed =
        parse::datetime(text.as_bytes(), mode).filter(|p| !p.truncated && parse::acceptable(p, mode));
    let parsed = parsed.ok_or_else(wrong)?;
    if kind == TypeKind::Date {
        return Ok(literal(SqlType::date(), Val::Date(parsed.value.date)));
    }
    if parsed.offset.is_some() {
        return cast(
            string_literal(text, bind),
            SqlType::datetime(parsed.value.fsp),
            bind,
        );
    }
    Ok(literal(
        SqlType::datetime(parsed.value.fsp),
        Val::DateTime(parsed.value),
    ))
}

/// A literal of any value, typed by what it is; for values the session already has.
pub fn value_literal(value: Value, bind: &BindCtx) -> Expr {
    if value.is_null() {
        return null();
    }
    literal(type_of_value(&value, bind), value)
}

/// The type a value has by itself, as for literals, parameters and user variables.
pub fn type_of_value(value: &Val, bind: &BindCtx) -> SqlType {
    let digits = |text: String| text.len() as u32;
    match value {
        Val::Null => SqlType::new(TypeKind::Null),
        Val::Int(v) => SqlType::bigint().with_length(digits(v.unsigned_abs().to_string()) + 1),
        Val::UInt(v) => SqlType::bigint_unsigned().with_length(digits(v.to_string())),
        Val::Float(_) => SqlType::new(TypeKind::Float),
        Val::Double(_) => SqlType::double(),
        Val::Decimal(d) => SqlType::decimal(d.precision(), d.scale()),
        Val::Str(s) | Val::Member(_, s) => {
            let length = Charset::Utf8mb4.char_count(s) as u32;
            let collation = bind.collation_connection;
            SqlType::varchar(length, collation).with_collation(collation, Derivation::Literal)
        }
        Val::Date(_) => SqlType::date(),
        Val::Time(t) => SqlType::time(t.fsp),
        Val::DateTime(t) => SqlType::datetime(t.fsp),
    }
}

pub fn column(slot: usize, ty: SqlType) -> Expr {
    expr(ty, Node::Column(slot))
}

/// A column that error texts can name, as in `` `db`.`t`.`c` ``.
pub fn named_column(slot: usize, ty: SqlType, name: impl Into<Arc<str>>) -> Expr {
    Expr {
        ty,
        node: Node::Column(slot),
        name: Some(name.into()),
    }
}

/// A parameter of a statement, of the type it was sent with.
pub fn param(index: usize, ty: SqlType) -> Expr {
    let ty = if ty.derivation == Derivation::Implicit {
        ty.literal()
    } else {
        ty
    };
    expr(ty, Node::Param(index))
}

/// `current` is the variable's value now, whose type it takes.
pub fn user_variable(name: &str, current: Option<&Value>, bind: &BindCtx) -> Expr {
    let text = SqlType::varchar(0, bind.collation_connection);
    let mut ty = current
        .filter(|v| !v.is_null())
        .map_or(text, |v| type_of_value(v, bind));
    if ty.is_string() {
        ty.derivation = Derivation::Implicit;
        ty.length = ty.length.max(65_535);
    }
    expr(ty.with_nullable(true), Node::UserVar(name.to_lowercase().into()))
}

pub fn assign_variable(name: &str, value: Expr) -> Expr {
    expr(
        value.ty.clone(),
        Node::AssignVar(name.to_lowercase().into(), Box::new(value)),
    )
}

/// `current` is the value now, whose type it takes.
pub fn system_variable(scope: VarScope, name: &str, current: &Value, bind: &BindCtx) -> Expr {
    let mut ty = type_of_value(current, bind);
    if ty.is_string() {
        ty.derivation = Derivation::SystemConstant;
    }
    expr(ty, Node::SystemVar(scope, name.to_lowercase().into()))
}

/// A hexadecimal literal in a numeric place is a number, and a BIT is one anyway.
pub(crate) fn as_number(e: Expr) -> Expr {
    match &e.node {
        Node::Literal(Val::Str(s)) if e.ty.unsigned && e.ty.is_binary_string() => {
            let value = Val::UInt(crate::types::convert::bytes_to_uint(s));
            literal(SqlType::bigint_unsigned().with_length(20), value)
        }
        _ => e,
    }
}

/// A text operand: what shows its type in its text (BIT, ZEROFILL, DOUBLE(M,D), YEAR) is made a text first.
pub(crate) fn as_text(e: Expr, bind: &BindCtx) -> Expr {
    let fixed = e.ty.is_float() && e.ty.scale != SqlType::NOT_FIXED;
    if !(e.ty.kind == TypeKind::Bit || e.ty.zerofill || fixed) {
        return e;
    }
    let (collation, length) = if e.ty.kind == TypeKind::Bit {
        (Collation::BINARY, e.ty.length.div_ceil(8))
    } else {
        (bind.collation_connection, e.ty.display_length())
    };
    let ty = SqlType::varchar(length, collation).with_collation(collation, Derivation::Literal);
    let ty = ty.with_nullable(e.ty.nullable);
    expr(ty, Node::Cast(Box::new(e)))
}

pub fn arith(op: ArithOp, left: Expr, right: Expr, bind: &BindCtx) -> Result<Expr> {
    let (left, right) = (as_number(left), as_number(right));
    let (a, b) = (number_kind(&left.ty), number_kind(&right.ty));
    let mut kind = a.max(b);
    if op == ArithOp::Div && kind == NumKind::Int {
        kind = NumKind::Decimal;
    }
    let (l, r) = (
        super::types::decimal_shape(&left.ty),
        super::types::decimal_shape(&right.ty),
    );
    let cap = |int: u32, scale: u32| {
        let scale = scale.min(30);
        SqlType::decimal((int + scale).clamp(1, 65), scale as u8)
    };
    let mut ty = match (op, kind) {
        (ArithOp::IntDiv, _) => {
            let ty = SqlType::bigint();
            if left.ty.unsigned || right.ty.unsigned {
                ty.unsigned()
            } else {
                ty
            }
        }
        (_, NumKind::Double) => double_of(op, &left.ty, &right.ty, bind),
        (ArithOp::Div, _) => {
            let scale = l.1 + bind.div_precision_increment as u32;
            cap(l.0 + r.1, scale)
        }
        (ArithOp::Mul, NumKind::Decimal) => cap(l.0 + r.0, l.1 + r.1),
        (ArithOp::Mod, NumKind::Decimal) => cap(l.0.max(r.0), l.1.max(r.1)),
        (_, NumKind::Decimal) => cap(l.0.max(r.0) + 1, l.1.max(r.1)),
        (_, NumKind::Int) => {
            let unsigned = match op {
                ArithOp::Mod => left.ty.unsigned,
                ArithOp::Sub if bind.sql_mode.has(SqlMode::NO_UNSIGNED_SUBTRACTION) => false,
                _ => left.ty.unsigned || right.ty.unsigned,
            };
            let digits = match op {
                ArithOp::Mul => left.ty.length + right.ty.length,
                ArithOp::Mod => left.ty.length.max(right.ty.length),
                _ => left.ty.length.max(right.ty.length) + 1,
            };
            let ty = SqlType::bigint().with_length(digits.min(21));
            if unsigned { ty.unsigned() } else { ty }
        }
    };
    let may_be_null = matches!(op, ArithOp::Div | ArithOp::IntDiv | ArithOp::Mod);
    ty.nullable = left.ty.nullable || right.ty.nullable || may_be_null;
    Ok(expr(ty, Node::Arith(op, kind, Box::new([left, right]))))
}

/// A double with a fixed number of digits where both operands have one.
fn double_of(op: ArithOp, left: &SqlType, right: &SqlType, bind: &BindCtx) -> SqlType {
    let digits = |ty: &SqlType| match ty.is_numeric() {
        true if ty.scale != SqlType::NOT_FIXED => Some(ty.scale),
        _ => None,
    };
    let mut ty = SqlType::double();
    if let Some((a, b)) = digits(left).zip(digits(right)) {
        let scale = match op {
            ArithOp::Div => a.max(b) + bind.div_precision_increment,
            _ => a.max(b),
        };
        ty.scale = scale.min(SqlType::NOT_FIXED);
    }
    ty
}

pub fn neg(e: Expr, _bind: &BindCtx) -> Result<Expr> {
    let e = as_number(e);
    if let Node::Literal(value) = &e.node {
        let negated = match value {
            Val::Int(i64::MIN) => Some(Val::Decimal(Decimal::new(1 << 63, 0))),
            Val::Int(v) => Some(Val::Int(-v)),
            Val::UInt(v) if *v <= 1 << 63 => Some(Val::Int((*v as i64).wrapping_neg())),
            Val::UInt(v) => Some(Val::Decimal(Decimal::from(*v).neg())),
            Val::Decimal(d) if d.scale() == 0 && *d == Decimal::new(1 << 63, 0) => Some(Val::Int(i64::MIN)),
            Val::Decimal(d) => Some(Val::Decimal(d.neg())),
            Val::Double(v) => Some(Val::Double(-v)),
            _ => None,
        };
        if let Some(value) = negated {
            return Ok(literal(type_of_value(&value, &BindCtx::default()), value));
        }
    }
    let ty = match number_kind(&e.ty) {
        _ if e.ty.is_temporal() => SqlType::double(),
        NumKind::Int => SqlType::bigint(),
        NumKind::Decimal => {
            let (int, scale) = super::types::decimal_shape(&e.ty);
            SqlType::decimal((int + scale).clamp(1, 65), scale as u8)
        }
        NumKind::Double => SqlType::double(),
    };
    Ok(expr(ty.with_nullable(e.ty.nullable), Node::Neg(Box::new(e))))
}

pub fn bit(op: BitOp, left: Expr, right: Expr) -> Result<Expr> {
    let nullable = left.ty.nullable || right.ty.nullable;
    let bytes = |e: &Expr| e.ty.is_binary_string() && !e.ty.unsigned;
    let shift = matches!(op, BitOp::ShiftLeft | BitOp::ShiftRight);
    if bytes(&left) && (shift || bytes(&right)) {
        return Err(SqlError::not_supported("bit operations on binary strings"));
    }
    let ty = SqlType::bigint_unsigned().with_nullable(nullable);
    Ok(expr(
        ty,
        Node::Bit(op, Box::new([as_number(left), as_number(right)])),
    ))
}

pub fn bit_not(e: Expr) -> Expr {
    let ty = SqlType::bigint_unsigned().with_nullable(e.ty.nullable);
    expr(ty, Node::BitNot(Box::new(as_number(e))))
}

/// The operands of a comparison, literals turned into what they are compared with, and the kind of comparison.
pub(crate) fn comparable(left: Expr, right: Expr, op: &str, bind: &BindCtx) -> Result<(CmpKind, Expr, Expr)> {
    let (left, right) = if left.ty.is_string() && right.ty.is_string() {
        (as_text(left, bind), as_text(right, bind))
    } else if left.ty.is_numeric() || right.ty.is_numeric() {
        (as_number(left), as_number(right))
    } else {
        (left, right)
    };
    let (left, right) = match (left.ty.kind == TypeKind::Json, right.ty.kind == TypeKind::Json) {
        // A document beside a text is the text of its string.
        (true, false) if right.ty.kind != TypeKind::Null => (call("json_unquote", vec![left], bind)?, right),
        (false, true) if left.ty.kind != TypeKind::Null => (left, call("json_unquote", vec![right], bind)?),
        _ => (left, right),
    };
    // A text literal that is wholly a number is that number beside an exact column.
    let left = exact_literal(left, &right);
    let right = exact_literal(right, &left);
    // A literal beside a date or time is one, if it can be read as one.
    let (l, r) = (left.ty.clone(), right.ty.clone());
    let (fixed_left, fixed_right) = (is_literal(&left), is_literal(&right));
    let left = temporal_literal_beside(left, &r, fixed_right, bind)?;
    let right = temporal_literal_beside(right, &l, fixed_left, bind)?;
    let kind = cmp_kind(&left, &right, op, bind)?;
    Ok((kind, left, right))
}

fn is_literal(e: &Expr) -> bool {
    matches!(e.node, Node::Literal(_))
}

fn exact_literal(e: Expr, other: &Expr) -> Expr {
    let Node::Literal(value) = &e.node else { return e };
    if is_literal(other) || !(other.ty.is_integer() || other.ty.kind == TypeKind::Decimal) {
        return e;
    }
    let exact = match value {
        Val::Str(text) if !(e.ty.unsigned && e.ty.is_binary_string()) => {
            let plain = text
                .iter()
                .all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'.'));
            let number = std::str::from_utf8(text)
                .ok()
                .filter(|_| plain)
                .and_then(Decimal::parse);
            number.map(
                |d| match d.to_i128().filter(|_| d.scale() == 0).map(i64::try_from) {
                    Some(Ok(int)) => Val::Int(int),
                    _ => Val::Decimal(d),
                },
            )
        }
        Val::Int(n) => Some(Val::Int(*n)),
        _ => None,
    };
    match exact {
        // Two digits beside a YEAR are one.
        Some(Val::Int(n @ 1..100)) if other.ty.kind == TypeKind::Year => {
            int_literal(if n < 70 { n + 2000 } else { n + 1900 })
        }
        Some(value) => literal(type_of_value(&value, &BindCtx::default()), value),
        None => e,
    }
}

/// A text beside a date must be one, as in MySQL; beside a time it may be, and a number may beside either. Two literals
/// are compared as they are.
fn temporal_literal_beside(e: Expr, other: &SqlType, both_literal: bool, bind: &BindCtx) -> Result<Expr> {
    let Node::Literal(value) = &e.node else {
        return Ok(e);
    };
    let read = match (value, other.kind) {
        (Val::Int(_), _) if both_literal => None,
        (Val::Str(s), TypeKind::Time) if !both_literal => parse::time(s, bind.sql_mode)
            .filter(|(_, whole)| *whole)
            .map(|(t, _)| Val::Time(t)),
        (Val::Int(n), TypeKind::Time) => parse::number_to_time(*n as i128, *n < 0, 0.0, 0)
            .filter(|(_, whole)| *whole)
            .map(|(t, _)| Val::Time(t)),
        (Val::Int(0), _) if other.has_date() => Some(Val::DateTime(Date::ZERO.midnight())),
        (Val::Int(n), _) if other.has_date() => {
            parse::number_to_datetime(*n as i128, 0.0, 0, bind.sql_mode).map(|p| Val::DateTime(p.value))
        }
        (Val::Str(s), _) if other.has_date() => {
            let clock = s.iter().find(|b| b.is_ascii_punctuation()) == Some(&b':');
            let parsed = parse::datetime(s, bind.sql_mode).filter(|_| !clock);
            let parsed = parsed.ok_or_else(|| not_temporal(other, s))?;
            // What names a zone of its own is placed when the statement runs.
            if parsed.offset.is_some() {
                None
            } else {
                Some(Val::DateTime(parsed.value))
            }
        }
        _ => None,
    };
    Ok(match read {
        Some(value) => literal(type_of_value(&value, bind), value),
        None => e,
    })
}

fn not_temporal(ty: &SqlType, text: &[u8]) -> SqlError {
    let kind = match ty.kind {
        TypeKind::Date => "DATE",
        TypeKind::Timestamp => "TIMESTAMP",
        _ => "DATETIME",
    };
    let shown = crate::types::convert::excerpt(text);
    SqlError::new(
        crate::error::er::TRUNCATED_WRONG_VALUE_IN_FUNCTION,
        format!("Incorrect {kind} value: '{shown}'"),
    )
}

pub fn compare(op: CmpOp, left: Expr, right: Expr, bind: &BindCtx) -> Result<Expr> {
    let (kind, left, right) = comparable(left, right, op.symbol(), bind)?;
    let nullable = op != CmpOp::NullSafeEq && (left.ty.nullable || right.ty.nullable || kind_may_fail(kind));
    Ok(boolean(
        nullable,
        Node::Compare(op, kind, Box::new([left, right])),
    ))
}

fn kind_may_fail(kind: CmpKind) -> bool {
    matches!(kind, CmpKind::DateTime | CmpKind::Time)
}

/// `(a, b) op (c, d)`, spelled out.
pub fn compare_rows(op: CmpOp, left: Vec<Expr>, right: Vec<Expr>, bind: &BindCtx) -> Result<Expr> {
    if left.len() != right.len() || left.is_empty() {
        return Err(SqlError::operand_columns(left.len()));
    }
    let pairs: Vec<(Expr, Expr)> = left.into_iter().zip(right).collect();
    let each = |op: CmpOp| -> Result<Vec<Expr>> {
        pairs
            .iter()
            .map(|(l, r)| compare(op, l.clone(), r.clone(), bind))
            .collect()
    };
    match op {
        CmpOp::Eq | CmpOp::NullSafeEq => Ok(and(each(op)?)),
        CmpOp::Ne => Ok(or(each(op)?)),
        _ => {
            // a < c OR (a = c AND (b < d)); only the last keeps "or equal".
            let strict = match op {
                CmpOp::Le => CmpOp::Lt,
                CmpOp::Ge => CmpOp::Gt,
                other => other,
            };
            let mut rest: Option<Expr> = None;
            for (l, r) in pairs.iter().rev() {
                rest = Some(match rest {
                    None => compare(op, l.clone(), r.clone(), bind)?,
                    Some(rest) => {
                        let less = compare(strict, l.clone(), r.clone(), bind)?;
                        let equal = compare(CmpOp::Eq, l.clone(), r.clone(), bind)?;
                        or(vec![less, and(vec![equal, rest])])
                    }
                });
            }
            rest.ok_or_else(|| SqlError::operand_columns(1))
        }
    }
}

/// Conjunction; flattens nested ones. Of none: TRUE.
pub fn and(list: Vec<Expr>) -> Expr {
    let mut flat = Vec::with_capacity(list.len());
    for e in list {
        match e.node {
            Node::And(inner) => flat.extend(inner),
            _ => flat.push(e),
        }
    }
    match flat.len() {
        0 => bool_literal(true),
        1 if flat[0].ty == SqlType::boolean() => flat.remove(0),
        _ => boolean(flat.iter().any(|e| e.ty.nullable), Node::And(flat)),
    }
}

/// Disjunction; flattens nested ones. Of none: FALSE.
pub fn or(list: Vec<Expr>) -> Expr {
    let mut flat = Vec::with_capacity(list.len());
    for e in list {
        match e.node {
            Node::Or(inner) => flat.extend(inner),
            _ => flat.push(e),
        }
    }
    if flat.is_empty() {
        return bool_literal(false);
    }
    boolean(flat.iter().any(|e| e.ty.nullable), Node::Or(flat))
}

pub fn xor(left: Expr, right: Expr) -> Expr {
    let nullable = left.ty.nullable || right.ty.nullable;
    boolean(nullable, Node::Xor(Box::new([left, right])))
}

pub fn not(e: Expr) -> Expr {
    boolean(e.ty.nullable, Node::Not(Box::new(e)))
}

pub fn is_null(e: Expr, negated: bool) -> Expr {
    let test = boolean(false, Node::IsNull(Box::new(e)));
    if negated { not(test) } else { test }
}

/// `IS [NOT] TRUE`, `IS [NOT] FALSE`. `IS UNKNOWN` is [`is_null`].
pub fn is_truth(e: Expr, truth: bool, negated: bool) -> Expr {
    let test = boolean(false, Node::IsTruth(Box::new(e), truth));
    if negated { not(test) } else { test }
}

pub fn between(e: Expr, low: Expr, high: Expr, negated: bool, bind: &BindCtx) -> Result<Expr> {
    let nullable = e.ty.nullable || low.ty.nullable || high.ty.nullable;
    let (low_kind, value, low) = comparable(e.clone(), low, "between", bind)?;
    let (high_kind, value_too, high) = comparable(e, high, "between", bind)?;
    // Where the two bounds want the value as different things, the comparison is two.
    if std::mem::discriminant(&value.node) != std::mem::discriminant(&value_too.node)
        || value.ty != value_too.ty
    {
        let test = and(vec![
            compare(CmpOp::Ge, value, low, bind)?,
            compare(CmpOp::Le, value_too, high, bind)?,
        ]);
        return Ok(if negated { not(test) } else { test });
    }
    let args = Box::new([value, low, high]);
    Ok(boolean(
        nullable,
        Node::Between {
            negated,
            low: low_kind,
            high: high_kind,
            args,
        },
    ))
}

/// Lists from this length on are searched, not walked.
const SET_MIN: usize = 8;

pub fn in_list(e: Expr, list: Vec<Expr>, negated: bool, bind: &BindCtx) -> Result<Expr> {
    let mut nullable = e.ty.nullable;
    let mut candidates = Vec::with_capacity(list.len());
    let mut value = as_number_beside(e, &list);
    for candidate in list {
        nullable |= candidate.ty.nullable;
        let (kind, left, right) = comparable(value, candidate, "IN", bind)?;
        value = left;
        candidates.push((kind, right));
    }
    let set = in_set(&candidates);
    Ok(boolean(
        nullable,
        Node::In {
            negated,
            value: Box::new(value),
            list: candidates,
            set,
        },
    ))
}

/// The value is compared with each candidate, so it may change into a number only if all are.
fn as_number_beside(e: Expr, list: &[Expr]) -> Expr {
    if list.iter().all(|c| c.ty.is_numeric()) {
        as_number(e)
    } else {
        e
    }
}

fn in_set(candidates: &[(CmpKind, Expr)]) -> Option<InSet> {
    let (first, _) = candidates.first()?;
    if candidates.len() < SET_MIN || candidates.iter().any(|(kind, _)| kind != first) {
        return None;
    }
    let values = candidates.iter().map(|(_, e)| match &e.node {
        Node::Literal(v) if !v.is_null() => Some(v),
        _ => None,
    });
    match first {
        CmpKind::Int => {
            let mut ints = values
                .map(|v| v.and_then(int_of))
                .collect::<Option<Vec<i128>>>()?;
            ints.sort_unstable();
            Some(InSet::Int(ints))
        }
        CmpKind::Str(collation) => {
            let key = |v: &Value| {
                let mut key = Vec::new();
                collation.sort_key(&v.to_text(), &mut key);
                key
            };
            let mut keys = values.map(|v| v.map(key)).collect::<Option<Vec<Vec<u8>>>>()?;
            keys.sort_unstable();
            Some(InSet::Str(*collation, keys))
        }
        _ => None,
    }
}

fn int_of(value: &Value) -> Option<i128> {
    match value {
        Val::Int(v) => Some(*v as i128),
        Val::UInt(v) => Some(*v as i128),
        _ => None,
    }
}

/// `(a, b) IN ((1, 2), (3, 4))`
pub fn in_rows(row: Vec<Expr>, list: Vec<Vec<Expr>>, negated: bool, bind: &BindCtx) -> Result<Expr> {
    let any = list
        .into_iter()
        .map(|candidate| compare_rows(CmpOp::Eq, row.clone(), candidate, bind))
        .collect::<Result<Vec<Expr>>>()?;
    let test = or(any);
    Ok(if negated { not(test) } else { test })
}

/// `escape` is the ESCAPE clause; the default is a backslash (none under NO_BACKSLASH_ESCAPES).
pub fn like(e: Expr, pattern: Expr, escape: Option<&str>, negated: bool, bind: &BindCtx) -> Result<Expr> {
    let (e, pattern) = (as_text(e, bind), as_text(pattern, bind));
    let (collation, _) = common_collation(&[&e.ty, &pattern.ty], "like", bind)?;
    let escape = match escape {
        None if bind.sql_mode.has(SqlMode::NO_BACKSLASH_ESCAPES) => None,
        None => Some('\\'),
        Some(text) if text.chars().count() > 1 => return Err(SqlError::wrong_arguments("ESCAPE")),
        Some(text) => text.chars().next(),
    };
    let compiled = match &pattern.node {
        Node::Literal(v) if !v.is_null() => {
            Some(super::like::LikePattern::new(&v.to_text(), escape, collation))
        }
        _ => None,
    };
    let nullable = e.ty.nullable || pattern.ty.nullable;
    let args = Box::new([e, pattern]);
    Ok(boolean(
        nullable,
        Node::Like {
            negated,
            collation,
            escape,
            args,
            pattern: compiled,
        },
    ))
}

pub fn regexp(e: Expr, pattern: Expr, negated: bool, bind: &BindCtx) -> Result<Expr> {
    let (collation, _) = common_collation(&[&e.ty, &pattern.ty], "regexp", bind)?;
    super::func::same_kind(&e.ty, &pattern.ty, "regexp_like")?;
    let nullable = e.ty.nullable || pattern.ty.nullable;
    let args = Box::new([as_text(e, bind), as_text(pattern, bind)]);
    Ok(boolean(
        nullable,
        Node::Regexp {
            negated,
            collation,
            args,
            cache: Default::default(),
        },
    ))
}

pub fn case(
    operand: Option<Expr>,
    whens: Vec<(Expr, Expr)>,
    otherwise: Option<Expr>,
    bind: &BindCtx,
) -> Result<Expr> {
    let results: Vec<&SqlType> = whens
        .iter()
        .map(|(_, r)| &r.ty)
        .chain(otherwise.iter().map(|e| &e.ty))
        .collect();
    let mut ty = result_type(&results, "case", bind)?;
    ty.nullable = otherwise.is_none() || results.iter().any(|t| t.nullable);
    let whens = whens
        .into_iter()
        .map(|(when, then)| match &operand {
            None => Ok((CmpKind::Int, when, then)),
            Some(o) => Ok((cmp_kind(o, &when, "case", bind)?, when, then)),
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(expr(
        ty,
        Node::Case {
            operand: operand.map(Box::new),
            whens,
            otherwise: otherwise.map(Box::new),
        },
    ))
}

/// What is stored in a column, before it is evaluated: hexadecimal literals are numbers in numeric columns, and bytes
/// are read in the column's character set. Values then go through [`crate::types::assign::assign`].
pub fn assignable(e: Expr, column: &SqlType, bind: &BindCtx) -> Expr {
    if column.is_numeric() && column.kind != TypeKind::Bit {
        return as_number(e);
    }
    let e = if column.is_string() { as_text(e, bind) } else { e };
    let foreign =
        column.is_string() && column.collation.charset() == Charset::Latin1 && e.ty.is_binary_string();
    if !foreign {
        return e;
    }
    let ty = SqlType::varchar(u32::MAX, column.collation).with_nullable(e.ty.nullable);
    expr(ty, Node::Cast(Box::new(e)))
}

/// `CAST(e AS ty)`, `CONVERT(e, ty)`.
pub fn cast(e: Expr, mut ty: SqlType, bind: &BindCtx) -> Result<Expr> {
    // A document that is a string casts as that string, but is shown with its quotes.
    let unquoted = e.ty.kind == TypeKind::Json && !ty.is_string();
    let e = if unquoted {
        call("json_unquote", vec![e], bind)?
    } else {
        e
    };
    let e = if ty.is_numeric() {
        as_number(e)
    } else {
        as_text(e, bind)
    };
    ty.nullable = e.ty.nullable || ty.is_temporal() || ty.kind == TypeKind::Year || ty.kind == TypeKind::Json;
    if ty.kind == TypeKind::VarChar && ty.collation.is_binary() && ty.length != u32::MAX {
        // BINARY(n) is filled up to its length.
        ty.kind = TypeKind::Char;
    }
    if ty.is_string() {
        ty.derivation = Derivation::Implicit;
    }
    Ok(expr(ty, Node::Cast(Box::new(e))))
}

/// `CONVERT(e USING charset)`
pub fn convert_using(e: Expr, charset: Charset, bind: &BindCtx) -> Result<Expr> {
    let e = as_text(e, bind);
    let collation = charset.default_collation();
    let ty = SqlType::varchar(super::types::text_length(&e.ty), collation).with_nullable(true);
    Ok(expr(ty, Node::Cast(Box::new(e))))
}

/// `e COLLATE collation`
pub fn collate(e: Expr, collation: Collation, bind: &BindCtx) -> Result<Expr> {
    let e = as_text(e, bind);
    let charset = if e.ty.is_string() {
        e.ty.collation.charset()
    } else {
        bind.collation_connection.charset()
    };
    if charset != collation.charset() && e.ty.kind != TypeKind::Null {
        return Err(SqlError::collation_charset_mismatch(
            collation.name(),
            charset.name(),
        ));
    }
    let mut ty = if e.ty.is_string() && !e.ty.is_member() {
        e.ty.clone()
    } else {
        SqlType::varchar(super::types::text_length(&e.ty), collation).with_nullable(e.ty.nullable)
    };
    ty.collation = collation;
    ty.derivation = Derivation::Explicit;
    Ok(expr(ty, Node::Retype(Box::new(e))))
}

/// `date + INTERVAL n unit`, `DATE_ADD`, `DATE_SUB` (`negate`).
pub fn date_add(date: Expr, amount: Expr, unit: IntervalUnit, negate: bool, bind: &BindCtx) -> Result<Expr> {
    let micro = unit.has_microseconds();
    let seconds_fsp = if unit == IntervalUnit::Second {
        fraction_digits(&amount.ty)
    } else {
        0
    };
    let fsp = |own: u8| if micro { 6 } else { own.max(seconds_fsp) };
    let ty = match date.ty.kind {
        TypeKind::Date if !unit.has_time() => SqlType::date(),
        TypeKind::Date => SqlType::datetime(fsp(0)),
        TypeKind::DateTime | TypeKind::Timestamp => SqlType::datetime(fsp(date.ty.scale)),
        TypeKind::Time if unit.fits_time() => SqlType::time(fsp(date.ty.scale)),
        TypeKind::Time => SqlType::datetime(fsp(date.ty.scale)),
        _ => {
            let collation = bind.collation_connection;
            SqlType::varchar(29, collation).with_collation(collation, Derivation::Literal)
        }
    };
    Ok(expr(
        ty.with_nullable(true),
        Node::DateAdd {
            unit,
            negate,
            args: Box::new([date, amount]),
        },
    ))
}

fn fraction_digits(ty: &SqlType) -> u8 {
    match ty.kind {
        TypeKind::Decimal => ty.scale.min(6),
        _ if ty.is_float() || ty.is_string() => 6,
        _ => 0,
    }
}

/// `EXTRACT(unit FROM e)`
pub fn extract(unit: IntervalUnit, e: Expr, _bind: &BindCtx) -> Result<Expr> {
    Ok(expr(
        SqlType::bigint().with_nullable(true),
        Node::Extract(unit, Box::new(e)),
    ))
}

/// A function call by name. TIMESTAMPDIFF and TIMESTAMPADD take their unit as a string literal first; TRIM's directions
/// are the functions `trim`, `trim_leading`, `trim_trailing` (text, then the characters to remove). EXTRACT, CAST,
/// DATE_ADD and the like have constructors of their own.
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
    let (ty, expected) = match kind {
        SubqueryKind::Scalar => (columns.first().cloned(), 1),
        SubqueryKind::Exists | SubqueryKind::NotExists => {
            (Some(SqlType::boolean().with_nullable(false)), columns.len())
        }
        SubqueryKind::Quantified(..) | SubqueryKind::Row(_) => (Some(SqlType::boolean()), operands.len()),
    };
    if columns.len() != expected {
        return Err(SqlError::operand_columns(expected));
    }
    let ty = ty.ok_or_else(|| SqlError::operand_columns(1))?;
    let ty = if kind == SubqueryKind::Scalar {
        ty.with_nullable(true)
    } else {
        ty
    };
    let operands = operands
        .into_iter()
        .zip(columns)
        .map(|(operand, column)| {
            let other = self::column(0, column.clone());
            Ok((cmp_kind(&operand, &other, "=", bind)?, operand))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(expr(ty, Node::Subquery { id, kind, operands }))
}

/// The common type of the columns of a UNION.
pub fn common_type(types: &[&SqlType], operation: &str, bind: &BindCtx) -> Result<SqlType> {
    let mut ty = result_type(types, operation, bind)?;
    ty.nullable = types.iter().any(|t| t.nullable);
    Ok(ty)
}
