//! `DEFAULT (expression)`: what may stand in one, and which columns it may name.
//!
//! An expression is free to use the time, the session and chance, since it is evaluated once, when a row is inserted; it
//! may use neither variables nor subqueries, nor what means nothing outside a statement. It may name any column whose
//! value is known before: one without an expression of its own, or one that stands before it. A column that is named
//! stays as long as the default does.
//!
//! ADD COLUMN evaluates the expression for every row that is there. MySQL refuses it then if two servers could come to
//! different values, and so do we.

use super::check::columns_of;
use crate::dictionary::{ColumnDef, ColumnDefault, names_equal};
use crate::error::{Result, SqlError, er};
use crate::parse::ast::Expr;
use crate::parse::parse_expression;

/// Functions that no default may call, as error 3770 names them.
const DISALLOWED: &[(&str, &str)] = &[
    ("BENCHMARK", "benchmark"),
    ("FOUND_ROWS", "found_rows"),
    ("GET_LOCK", "get_lock"),
    ("ICU_VERSION", "icu_version()"),
    ("IS_FREE_LOCK", "is_free_lock"),
    ("IS_USED_LOCK", "is_used_lock"),
    ("LAST_INSERT_ID", "last_insert_id"),
    ("LOAD_FILE", "load_file"),
    ("RELEASE_ALL_LOCKS", "release_all_locks"),
    ("RELEASE_LOCK", "release_lock"),
    ("ROW_COUNT", "row_count"),
    ("SLEEP", "sleep"),
    ("VERSION", "version()"),
];

/// Functions that give another value each time, or to each server: not for rows that are there already.
const UNSAFE: &[&str] = &[
    "CURRENT_USER",
    "RAND",
    "RANDOM_BYTES",
    "SESSION_USER",
    "SYSDATE",
    "SYSTEM_USER",
    "USER",
    "UUID",
    "UUID_SHORT",
];

/// Errors 1235 and 3769 to 3772 for what the default of `column` may not use.
pub(super) fn refuse(expr: &Expr, column: &str) -> Result<()> {
    let wrong = |code, what: &str| {
        let message = format!("Default value expression of column '{column}' {what}");
        Err(SqlError::new(code, message))
    };
    let named = |function: &str| {
        wrong(
            er::DEFAULT_VAL_GENERATED_NAMED_FUNCTION_IS_NOT_ALLOWED,
            &format!("contains a disallowed function: {function}."),
        )
    };
    match expr {
        Expr::Local(_)
        | Expr::Transition { .. }
        | Expr::UserVar(_)
        | Expr::SysVar { .. }
        | Expr::AssignVar { .. } => wrong(
            er::DEFAULT_VAL_GENERATED_VARIABLES,
            "cannot refer user or system variables.",
        ),
        Expr::InQuery { .. } | Expr::Exists(_) | Expr::Subquery(_) | Expr::Quantified { .. } => wrong(
            er::DEFAULT_VAL_GENERATED_FUNCTION_IS_NOT_ALLOWED,
            "contains a disallowed function.",
        ),
        Expr::Row(_) => wrong(er::DEFAULT_VAL_GENERATED_ROW, "cannot refer to a row value."),
        Expr::Values(_) => named("values"),
        Expr::Unsupported(what) => Err(SqlError::not_supported(what)),
        _ => {
            if let Expr::Function(call) = expr
                && let Some((_, shown)) = DISALLOWED.iter().find(|(name, _)| *name == call.name)
            {
                return named(shown);
            }
            expr.children()
                .into_iter()
                .try_for_each(|child| refuse(child, column))
        }
    }
}

/// Error 1674 if rows that are there could not be given the value of this expression.
pub(super) fn refuse_unsafe(expr: &Expr) -> Result<()> {
    match expr {
        Expr::Function(call) if UNSAFE.contains(&call.name.as_str()) => Err(SqlError::new(
            er::BINLOG_UNSAFE_SYSTEM_FUNCTION,
            "Statement is unsafe because it uses a system function that may return a different value on the replica.",
        )),
        _ => expr.children().into_iter().try_for_each(refuse_unsafe),
    }
}

/// Errors 3767 and 3768: an expression that names a column whose value is not known before its own.
pub(super) fn against_columns(columns: &[ColumnDef]) -> Result<()> {
    for (at, column) in columns.iter().enumerate() {
        let Some(text) = expression(column) else {
            continue;
        };
        let wrong = |code, what: &str| {
            let message = format!("Default value expression of column '{}' {what}", column.name);
            Err(SqlError::new(code, message))
        };
        for used in columns_of(&parse_expression(text)?) {
            let Some(position) = columns.iter().position(|other| names_equal(&other.name, used)) else {
                continue;
            };
            if columns[position].auto_increment {
                return wrong(
                    er::DEFAULT_VAL_GENERATED_REF_AUTO_INC,
                    "cannot refer to an auto-increment column.",
                );
            }
            if position >= at && expression(&columns[position]).is_some() {
                return wrong(
                    er::DEFAULT_VAL_GENERATED_NON_PRIOR,
                    "cannot refer to a column defined after it if that column is a generated column or has an \
                     expression as default value.",
                );
            }
        }
    }
    Ok(())
}

/// Error 3766 if the default of one of the columns that stay names this one, which goes or gets another name.
pub(super) fn hold_column(columns: &[ColumnDef], table: &str, column: &str) -> Result<()> {
    for text in columns.iter().filter_map(expression) {
        let expr = parse_expression(text)?;
        if columns_of(&expr).iter().any(|name| names_equal(name, column)) {
            return Err(SqlError::new(
                er::DEPENDENT_BY_DEFAULT_GENERATED_VALUE,
                format!(
                    "Column '{column}' of table '{table}' has a default value expression dependency and cannot be \
                     dropped or renamed."
                ),
            ));
        }
    }
    Ok(())
}

/// The text of a column's default, if it is an expression.
pub(super) fn expression(column: &ColumnDef) -> Option<&str> {
    match &column.default {
        Some(ColumnDefault::Expression(text)) => Some(text),
        _ => None,
    }
}
