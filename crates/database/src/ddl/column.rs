//! A column as written → a column as it is: its type, its default, its flags, with MySQL's refusals.

use super::generated;
use crate::context::SessionState;
use crate::dictionary::{ColumnDef, ColumnDefault};
use crate::error::{Result, SqlError, er};
use crate::expr::{NoSubqueries, ROW_BYTES_MAX, column_type, duplicate_members};
use crate::parse::ast::{self, DefaultValue, Expr, Literal, UnaryOp};
use crate::types::{Collation, Decimal, SqlType, TypeKind, Value, assign};

/// A column definition; key flags of the table are the caller's to apply (a primary key is NOT NULL).
pub fn column(state: &SessionState, def: &ast::ColumnDef, table: Collation) -> Result<ColumnDef> {
    let name = def.name.as_str();
    check_identifier(name)?;
    if name.is_empty() || name.ends_with(' ') || is_reserved(name) {
        return Err(wrong_name(name));
    }
    let generated = generated::column(def)?;
    let (mut ty, explicit_collation) = column_type(name, &def.ty, table)?;
    for duplicate in duplicate_members(name, &ty) {
        match state.settings.sql_mode.strict() {
            true => return Err(duplicate),
            false => state.warnings.note(duplicate),
        }
    }
    let serial = def.ty.name == "SERIAL";
    ty.nullable = def.nullable.unwrap_or(true) && !serial && !def.auto_increment;
    if def.primary {
        ty.nullable = false;
    }
    let auto_increment = def.auto_increment || serial;
    if auto_increment && !(ty.is_integer() && ty.kind != TypeKind::Bit && ty.kind != TypeKind::Year) {
        return Err(SqlError::new(
            er::WRONG_FIELD_SPEC,
            format!("Incorrect column specifier for column '{name}'"),
        ));
    }
    let default = match &def.default {
        Some(_) if auto_increment => return Err(SqlError::invalid_default(name)),
        Some(written) if is_left_out(state, &ty, written) => {
            state.warnings.warn(no_default_of_blob(name));
            ty.nullable.then_some(ColumnDefault::Literal(Value::Null))
        }
        Some(written) => Some(default(state, name, &ty, written)?),
        None if auto_increment || !ty.nullable || generated.is_some() => None,
        None => Some(ColumnDefault::Literal(Value::Null)),
    };
    let on_update_now = match &def.on_update {
        Some(expr) => {
            if current_timestamp(expr) != Some(ty.scale) || !is_clock_type(&ty) {
                return Err(SqlError::new(
                    er::INVALID_ON_UPDATE,
                    format!("Invalid ON UPDATE clause for '{name}' column"),
                ));
            }
            true
        }
        None => false,
    };
    let comment = def.comment.clone().unwrap_or_default();
    if comment.chars().count() > 1024 {
        return Err(SqlError::new(
            er::TOO_LONG_FIELD_COMMENT,
            format!(
                "The maximum supported character limit for the field, '{name}', has been exceeded (max = 1024)"
            ),
        ));
    }
    refuse_of_other_engines(state, def)?;
    Ok(ColumnDef {
        name: name.to_owned(),
        ty,
        default,
        on_update_now,
        auto_increment,
        invisible: def.invisible,
        explicit_collation,
        comment,
        generated,
    })
}

/// Refuses what InnoDB's columns cannot have, and warns of what has a meaning in other engines alone. Errors 1221 and 3981.
fn refuse_of_other_engines(state: &SessionState, def: &ast::ColumnDef) -> Result<()> {
    if def.srid {
        return Err(SqlError::wrong_usage("SRID", "non-geometry column"));
    }
    if def.engine_attribute {
        return Err(SqlError::new(
            er::ENGINE_ATTRIBUTE_NOT_SUPPORTED,
            "Storage engine 'InnoDB' does not support ENGINE_ATTRIBUTE.",
        ));
    }
    for clause in &def.without_effect {
        if def.generated.is_some() && *clause == "COLUMN_FORMAT" {
            return Err(generated::wrong_usage(clause));
        }
        state.warnings.warn(SqlError::without_effect(clause));
    }
    Ok(())
}

fn is_clock_type(ty: &SqlType) -> bool {
    matches!(ty.kind, TypeKind::DateTime | TypeKind::Timestamp)
}

/// The precision of CURRENT_TIMESTAMP and its synonyms.
fn current_timestamp(expr: &Expr) -> Option<u8> {
    let Expr::Function(call) = expr else {
        return None;
    };
    if !call.is_current_timestamp() {
        return None;
    }
    match call.args.as_slice() {
        [] => Some(0),
        [Expr::Literal(Literal::Int(fsp))] => u8::try_from(*fsp).ok(),
        _ => None,
    }
}

/// Whether a default is let go with a warning: the empty one of a BLOB or TEXT column, which old schemas have, without strict mode.
fn is_left_out(state: &SessionState, ty: &SqlType, written: &DefaultValue) -> bool {
    let is_empty = |value: Value| !value.is_null() && value.to_text().is_empty();
    ty.is_blob_or_text()
        && ty.kind != TypeKind::Json
        && !state.settings.sql_mode.strict()
        && !written.computed
        && literal(&written.expr, ty).is_some_and(is_empty)
}

/// Error 1101.
fn no_default_of_blob(name: &str) -> SqlError {
    SqlError::new(
        er::BLOB_CANT_HAVE_DEFAULT,
        format!("BLOB, TEXT, GEOMETRY or JSON column '{name}' can't have a default value"),
    )
}

/// A DEFAULT clause. A literal is converted to the column's type at once; what stands in parentheses is an expression that
/// INSERT evaluates.
pub fn default(
    state: &SessionState,
    name: &str,
    ty: &SqlType,
    written: &DefaultValue,
) -> Result<ColumnDefault> {
    let DefaultValue {
        expr: written,
        computed,
    } = written;
    if *computed {
        super::default::refuse(written, name)?;
        return Ok(ColumnDefault::Expression(crate::parse::print::expr(written)));
    }
    if let Some(fsp) = current_timestamp(written) {
        if is_clock_type(ty) {
            if fsp != ty.scale {
                return Err(SqlError::invalid_default(name));
            }
            return Ok(ColumnDefault::CurrentTimestamp);
        }
        return Err(SqlError::invalid_default(name));
    }
    let Some(value) = literal(written, ty) else {
        return Err(SqlError::invalid_default(name));
    };
    if value.is_null() {
        if !ty.nullable {
            return Err(SqlError::invalid_default(name));
        }
        return Ok(ColumnDefault::Literal(Value::Null));
    }
    if ty.is_blob_or_text() {
        return Err(no_default_of_blob(name));
    }
    let mut env = state.env(&NoSubqueries, &[]);
    env.writes = true;
    env.strict = true;
    match assign::assign(value, ty, name, &env) {
        Ok(value) => Ok(ColumnDefault::Literal(value.into_owned())),
        Err(_) => Err(SqlError::invalid_default(name)),
    }
}

/// The value of a literal, or `None` if the expression is something else.
fn literal(expr: &Expr, ty: &SqlType) -> Option<Value> {
    Some(match expr {
        Expr::Literal(literal) => match literal {
            Literal::Null => Value::Null,
            Literal::Bool(b) => Value::Int(*b as i64),
            Literal::Int(v) => match i64::try_from(*v) {
                Ok(v) => Value::Int(v),
                Err(_) => Value::UInt(*v),
            },
            Literal::Decimal(text) => Value::Decimal(Decimal::parse(text)?),
            Literal::Double(v) => Value::Double(*v),
            Literal::Str { bytes, .. } => Value::string(bytes.clone()),
            Literal::Date(text) | Literal::Time(text) | Literal::Timestamp(text) => {
                Value::string(text.as_bytes())
            }
            Literal::Hex(bytes) | Literal::Bit(bytes) if ty.is_string() => Value::string(bytes.clone()),
            Literal::Hex(bytes) | Literal::Bit(bytes) => Value::UInt(
                bytes
                    .iter()
                    .rev()
                    .take(8)
                    .rev()
                    .fold(0, |n, b| n << 8 | *b as u64),
            ),
        },
        Expr::Unary {
            op: UnaryOp::Minus,
            expr,
        } => match literal(expr, ty)? {
            Value::Int(v) => Value::Int(v.checked_neg()?),
            Value::UInt(v) if v == i64::MIN.unsigned_abs() => Value::Int(i64::MIN),
            Value::Decimal(v) => Value::Decimal(v.neg()),
            Value::Double(v) => Value::Double(-v),
            _ => return None,
        },
        Expr::Unary {
            op: UnaryOp::Plus,
            expr,
        } => literal(expr, ty)?,
        _ => return None,
    })
}

/// Error 1166.
pub fn wrong_name(name: &str) -> SqlError {
    SqlError::new(er::WRONG_COLUMN_NAME, format!("Incorrect column name '{name}'"))
}

/// True for the names of InnoDB's own columns, which no other column may have.
pub fn is_reserved(name: &str) -> bool {
    ["DB_ROW_ID", "DB_TRX_ID", "DB_ROLL_PTR"]
        .iter()
        .any(|own| own.eq_ignore_ascii_case(name))
}

/// Errors 1059, and 1166 for a name with a NUL, which a column may have been given by a string.
pub fn check_identifier(name: &str) -> Result<()> {
    if name.contains('\0') {
        return Err(wrong_name(&name.replace('\0', "\\0")));
    }
    if name.chars().count() > 64 {
        return Err(SqlError::new(
            er::TOO_LONG_IDENT,
            format!("Identifier name '{name}' is too long"),
        ));
    }
    Ok(())
}

/// Bytes a column counts for in the limit on rows, as MySQL reckons it.
pub fn row_bytes(ty: &SqlType) -> u64 {
    use TypeKind::*;
    let characters = ty.length as u64 * ty.collation.charset().max_bytes() as u64;
    match ty.kind {
        Null => 0,
        TinyInt | Year => 1,
        SmallInt => 2,
        MediumInt | Date => 3,
        Int | Float => 4,
        BigInt | Double => 8,
        Decimal => crate::types::Decimal::storage_len(ty.length, ty.scale) as u64,
        Bit => (ty.length as u64).div_ceil(8),
        Time => 3 + (ty.scale as u64).div_ceil(2),
        DateTime => 5 + (ty.scale as u64).div_ceil(2),
        Timestamp => 4 + (ty.scale as u64).div_ceil(2),
        Char => characters,
        VarChar => characters + if characters > 255 { 2 } else { 1 },
        TinyText => 9,
        Text => 10,
        MediumText => 11,
        LongText | Json => 12,
        Enum => {
            if ty.members().len() > 255 {
                2
            } else {
                1
            }
        }
        Set => match ty.members().len().div_ceil(8) {
            bytes @ 0..=4 => bytes as u64,
            _ => 8,
        },
    }
}

/// Error 1118.
pub fn check_row_size(columns: &[ColumnDef]) -> Result<()> {
    let bytes: u64 = columns.iter().map(|column| row_bytes(&column.ty)).sum();
    if bytes > ROW_BYTES_MAX {
        return Err(SqlError::new(
            er::TOO_BIG_ROWSIZE,
            "Row size too large. The maximum row size for the used table type, not counting BLOBs, is 65535. This \
             includes storage overhead, check the manual. You have to change some columns to TEXT or BLOBs",
        ));
    }
    Ok(())
}
