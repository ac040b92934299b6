//! The values that statements like SET and KILL take: expressions without columns.

use crate::context::SessionState;
use crate::context::bind_alone;
use crate::error::Result;
use crate::expr::{NoSubqueries, Scope};
use crate::parse::ast;
use crate::types::Value;

/// The value of an expression without columns and subqueries.
pub(super) fn evaluate(expr: &ast::Expr, params: &[Value], state: &SessionState) -> Result<Value> {
    let bound = bind_alone(expr, &Scope::default(), "field list", state, params)?;
    let env = state.env(&NoSubqueries, params);
    Ok(bound.eval(&env.ctx())?.into_owned())
}

/// The number that an expression is, with warnings of what it is not; NULL is 0, and what is below 0 or too large is the largest that MySQL has
/// for the number of a connection.
pub(super) fn connection_number(expr: &ast::Expr, state: &SessionState) -> Result<u64> {
    let value = evaluate(expr, &[], state)?;
    let env = state.env(&NoSubqueries, &[]);
    let number = value.to_int(&env)?;
    Ok(u64::try_from(number).unwrap_or(u32::MAX.into()))
}
