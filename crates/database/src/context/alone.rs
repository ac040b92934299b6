//! Binding of expressions outside queries: the values of SET and KILL, the WHERE of SHOW.

use crate::context::SessionState;
use crate::error::Result;
use crate::expr::{Binder, Expr, PlainHooks, Scope};
use crate::parse::ast;
use crate::types::Value;

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
