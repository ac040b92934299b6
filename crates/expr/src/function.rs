//! What a function is: a line of a table, which a call in the tree points to. The tables are in [`super::func`].

use super::build::BindCtx;
use super::env::EvalCtx;
use super::node::Expr;
use std::fmt;
use tidemark_types::error::Result;
use tidemark_types::{SqlType, Val};

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

pub(crate) type Infer = fn(&mut Vec<Expr>, &BindCtx) -> Result<SqlType>;
pub(crate) type Eval = for<'a> fn(&'a [Expr], &'a SqlType, &EvalCtx<'a>) -> Result<Val<'a>>;

/// A function: its name, its number of arguments, the type it gives and how it is computed.
pub struct FuncDef {
    /// In small letters; one of several names for the same.
    pub name: &'static str,
    pub(crate) min_args: usize,
    pub(crate) max_args: usize,
    /// When a call may be evaluated in advance.
    pub volatility: Volatility,
    /// Checks and adapts the arguments and says the type of the result.
    pub infer: Infer,
    pub(crate) eval: Eval,
    /// All arguments but the first are paths in a document, which are the same in every collation.
    pub(crate) has_paths: bool,
}

impl FuncDef {
    /// The same function, whose arguments after the first are paths in a document.
    pub(crate) const fn with_paths(self) -> FuncDef {
        FuncDef {
            has_paths: true,
            ..self
        }
    }
}

/// No limit to the number of arguments.
pub(crate) const MANY: usize = usize::MAX;

pub(crate) const fn def(name: &'static str, args: (usize, usize), infer: Infer, eval: Eval) -> FuncDef {
    FuncDef {
        name,
        min_args: args.0,
        max_args: args.1,
        volatility: Volatility::Pure,
        infer,
        eval,
        has_paths: false,
    }
}

pub(crate) const fn stable(name: &'static str, args: (usize, usize), infer: Infer, eval: Eval) -> FuncDef {
    FuncDef {
        name,
        min_args: args.0,
        max_args: args.1,
        volatility: Volatility::Stable,
        infer,
        eval,
        has_paths: false,
    }
}

pub(crate) const fn volatile(name: &'static str, args: (usize, usize), infer: Infer, eval: Eval) -> FuncDef {
    FuncDef {
        name,
        min_args: args.0,
        max_args: args.1,
        volatility: Volatility::Volatile,
        infer,
        eval,
        has_paths: false,
    }
}

impl fmt::Debug for FuncDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
