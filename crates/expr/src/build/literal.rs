//! Constructors of literals, columns, parameters and variables, and the types these have.

use super::{BindCtx, cast, expr};
use crate::node::{Expr, Node, VarScope};
use std::sync::Arc;
use tidemark_types::assign::well_formed_len;
use tidemark_types::error::{Result, SqlError};
use tidemark_types::temporal::parse;
use tidemark_types::{Charset, Collation, Decimal, Derivation, SqlType, TypeKind, Val, Value};

pub(super) fn literal(ty: SqlType, value: Value) -> Expr {
    let ty = ty.with_nullable(false);
    expr(ty, Node::Literal(value))
}

/// A value of a known type, such as a column's default.
pub fn typed_literal(ty: SqlType, value: Value) -> Expr {
    expr(ty, Node::Literal(value))
}

/// The literal NULL.
pub fn null() -> Expr {
    expr(SqlType::new(TypeKind::Null), Node::Literal(Value::Null))
}

pub(crate) fn int_literal(value: i64) -> Expr {
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
                tidemark_types::error::er::ILLEGAL_VALUE_FOR_TYPE,
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
pub(crate) fn string_literal(text: impl Into<Vec<u8>>, bind: &BindCtx) -> Expr {
    let mut text = text.into();
    let charset = bind.collation_connection.charset();
    let client = bind.character_set_client;
    if !charset.can_write(&text) || client != charset && !client.can_write(&text) {
        let warning;
        (text, warning) = not_well_formed(text, charset, client);
        bind.warnings.borrow_mut().push(warning);
    }
    let value = Val::string(text);
    literal(type_of_value(&value, bind), value)
}

/// A literal that the character set of the connection, or of the client, cannot write: it stays as it was sent if the client uses the same set, and has
/// question marks in it otherwise. Warning 1300.
#[cold]
fn not_well_formed(text: Vec<u8>, charset: Charset, client: Charset) -> (Vec<u8>, SqlError) {
    let bad = &text[well_formed_len(&text, charset)..];
    if client == charset {
        let warning = SqlError::invalid_string(charset.name(), bad);
        return (text, warning);
    }
    let sent = client.encode(&text);
    let warning = SqlError::cannot_convert(sent.as_ref().unwrap_or(&text), client.name(), charset.name());
    let repaired = match client.can_write(&text) {
        true => charset.repair(&text, false).unwrap_or_default(),
        // Not even the client's set has it.
        false => client.mark_wrong(&text),
    };
    (repaired, warning)
}

/// `_charset'text'`; the bytes as the statement has them.
pub(crate) fn introduced_literal(text: Vec<u8>, charset: Charset) -> Result<Expr> {
    let text = charset.decode(&text).ok_or_else(|| {
        let wrong = &text[charset.well_formed_bytes(&text)..];
        SqlError::invalid_string(charset.name(), wrong)
    })?;
    let length = charset.char_count(&text) as u32;
    let ty = SqlType::varchar(length, charset.default_collation());
    let ty = ty.with_collation(charset.default_collation(), Derivation::Literal);
    Ok(literal(ty, Val::string(text)))
}

/// `x'…'`, `0x…`: a binary string that is a number where one is wanted.
pub(crate) fn hex_literal(bytes: Vec<u8>) -> Expr {
    let ty = SqlType::varbinary(bytes.len() as u32).with_collation(Collation::BINARY, Derivation::Literal);
    literal(ty.unsigned(), Val::string(bytes))
}

pub(crate) fn bool_literal(b: bool) -> Expr {
    literal(SqlType::boolean(), Value::bool(b))
}

/// `DATE '…'`, `TIME '…'`, `TIMESTAMP '…'`
pub(crate) fn temporal_literal(kind: TypeKind, text: &str, bind: &BindCtx) -> Result<Expr> {
    let mode = bind.sql_mode;
    let name = match kind {
        TypeKind::Date => "DATE",
        TypeKind::Time => "TIME",
        _ => "DATETIME",
    };
    let wrong = || {
        SqlError::new(
            tidemark_types::error::er::TRUNCATED_WRONG_VALUE_IN_FUNCTION,
            format!("Incorrect {name} value: '{text}'"),
        )
    };
    if kind == TypeKind::Time {
        let (time, whole) = parse::time(text.as_bytes()).ok_or_else(wrong)?;
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
pub(crate) fn value_literal(value: Value, bind: &BindCtx) -> Expr {
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
        Val::Json(_) => crate::json::json_type(),
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

/// The row's slot, without a name for error texts.
pub fn column(slot: usize, ty: SqlType) -> Expr {
    expr(ty, Node::Column(slot))
}

/// A column that error texts can name, as in `` `db`.`t`.`c` ``.
pub(crate) fn named_column(slot: usize, ty: SqlType, name: impl Into<Arc<str>>) -> Expr {
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

/// A variable of a stored program, of the type it was declared with. Its collation is that of a column.
pub(crate) fn local(index: usize, ty: SqlType) -> Expr {
    expr(ty, Node::Param(index))
}

/// `current` is the variable's value now, whose type it takes.
pub(crate) fn user_variable(name: &str, current: Option<&Value>, bind: &BindCtx) -> Expr {
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

pub(crate) fn assign_variable(name: &str, value: Expr) -> Expr {
    expr(
        value.ty.clone(),
        Node::AssignVar(name.to_lowercase().into(), Box::new(value)),
    )
}

/// `current` is the value now, whose type it takes.
pub(crate) fn system_variable(scope: VarScope, name: &str, current: &Value, bind: &BindCtx) -> Expr {
    let mut ty = type_of_value(current, bind);
    if ty.is_string() {
        ty.derivation = Derivation::SystemConstant;
    }
    expr(ty, Node::SystemVar(scope, name.to_lowercase().into()))
}
