//! The table of functions.

use super::{BindCtx, EvalCtx, Expr};
use crate::error::{Result, SqlError};
use crate::types::{SqlType, Val};
use std::fmt;

/// When a call may be evaluated in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volatility {
    /// Depends on its arguments alone.
    Pure,
    /// Fixed for a statement: NOW(), DATABASE().
    Stable,
    /// Every call counts: RAND(), UUID(), SLEEP().
    Volatile,
}

/// A function: its name, its number of arguments, the type it gives and how it is computed.
pub struct FuncDef {
    pub name: &'static str,
    pub min_args: usize,
    pub max_args: usize,
    pub volatility: Volatility,
    /// Checks and adapts the arguments and says the type of the result.
    pub infer: fn(&mut Vec<Expr>, &BindCtx) -> Result<SqlType>,
    pub eval: for<'a> fn(&'a [Expr], &'a SqlType, &EvalCtx<'a>) -> Result<Val<'a>>,
}

impl fmt::Debug for FuncDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Finds a function by its name (any case) and infers the type of the call; adapts `args` where the function wants them
/// so. Most callers want [`super::build::call`].
pub fn resolve_function(
    name: &str,
    args: &mut Vec<Expr>,
    bind: &BindCtx,
) -> Result<(&'static FuncDef, SqlType)> {
    let _ = (args, bind);
    Err(SqlError::unknown_function(name))
}
