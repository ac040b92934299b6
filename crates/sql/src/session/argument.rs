//! The values that statements like SET and KILL take: expressions without columns.

use crate::context::SessionState;
use crate::context::bind_alone;
use crate::error::{Result, SqlError};
use crate::expr::{NoSubqueries, Scope};
use crate::parse::ast;
use crate::types::Value;

/// The value of an expression without columns and subqueries.
pub(super) fn evaluate(expr: &ast::Expr, params: &[Value], state: &SessionState) -> Result<Value> {
    let bound = bind_alone(expr, &Scope::default(), "field list", state, params)?;
    let env = state.env(&NoSubqueries, params);
    Ok(bound.eval(&env.ctx())?.into_owned())
}

/// The value of an expression that must give a number from 0 on. `what` is the statement that error 1210 names.
pub(super) fn evaluate_u64(expr: &ast::Expr, what: &str, state: &SessionState) -> Result<u64> {
    match evaluate(expr, &[], state)? {
        Value::Int(v) if v >= 0 => Ok(v as u64),
        Value::UInt(v) => Ok(v),
        Value::Str(text) => {
            let text = String::from_utf8_lossy(&text);
            text.trim().parse().map_err(|_| SqlError::wrong_arguments(what))
        }
        _ => Err(SqlError::wrong_arguments(what)),
    }
}
