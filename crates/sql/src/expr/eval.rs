//! The evaluator.

use super::{EvalCtx, Expr};
use crate::error::Result;
use crate::types::Val;

impl Expr {
    /// The value for the row of `ctx`. Borrows from the row, the literals and the parameters where it can.
    pub fn eval<'a>(&'a self, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
        let _ = ctx;
        Ok(Val::Null)
    }

    /// As a condition: `None` is UNKNOWN. Makes no value where the operator allows.
    pub fn eval_bool(&self, ctx: &EvalCtx) -> Result<Option<bool>> {
        let _ = ctx;
        Ok(None)
    }

    /// Whether a row passes this as its WHERE condition.
    pub fn is_true(&self, ctx: &EvalCtx) -> Result<bool> {
        Ok(self.eval_bool(ctx)? == Some(true))
    }
}
