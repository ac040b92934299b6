//! Binding of expressions outside queries: the values of SET and KILL, the WHERE of SHOW.

use crate::context::SessionState;
use crate::error::Result;
use crate::expr::{Binder, Expr, NoSubqueries, Parameters, PlainHooks, Scope};
use crate::parse::ast;
use crate::types::{SqlType, Value};

/// Binds an expression that has no subqueries. `clause` is what error texts name.
pub fn bind_alone(
    expr: &ast::Expr,
    scope: &Scope,
    clause: &'static str,
    state: &SessionState,
    params: &[Value],
) -> Result<Expr> {
    let ctx = state.bind_ctx();
    let binder = Binder {
        ctx: &ctx,
        session: state,
        params,
        clause,
    };
    binder.bind(expr, scope, &mut PlainHooks)
}

/// Returns the value of an expression without columns and subqueries, in which the variables of a stored program have these values and types.
pub fn evaluate_with(
    expr: &ast::Expr,
    state: &SessionState,
    values: &[Value],
    types: &[SqlType],
) -> Result<Value> {
    let mut ctx = state.bind_ctx();
    ctx.parameters = Parameters::of_locals(types);
    let binder = Binder {
        ctx: &ctx,
        session: state,
        params: values,
        clause: "field list",
    };
    let bound = binder.bind(expr, &Scope::default(), &mut PlainHooks)?;
    let env = state.env(&NoSubqueries, values);
    Ok(bound.eval(&env.ctx())?.into_owned())
}
