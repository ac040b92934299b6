//! What a function is: a line of a table, which a call in the tree points to. The tables are in [`super::func`].

use super::build::BindCtx;
use super::env::EvalCtx;
use super::node::Expr;
use super::parameter::ParamKind;
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

/// What the parameters of a prepared statement are as arguments of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Takes {
    /// Each argument of its own kind; those beyond the list are texts.
    Each(&'static [ParamKind]),
    /// Those from this one on are what the others among them are; those before are integers.
    Common(usize),
    /// Each is what the first of the others is.
    Alike,
    /// All are of one kind.
    All(ParamKind),
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
    /// What parameters of a prepared statement are as its arguments.
    pub(crate) takes: Takes,
    /// All arguments but the first are paths in a document, which are the same in every collation.
    pub(crate) has_paths: bool,
    /// Which of its arguments make it NULL.
    pub null_when: NullWhen,
}

/// Which arguments of a function make its result NULL when they are, whatever all others are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullWhen {
    /// None that is known of.
    Unknown,
    /// Each one.
    AnyArgument,
    /// All together: it gives the first argument that is not NULL.
    AllArguments,
    /// The first.
    FirstArgument,
    /// Both behind the condition, which is the first.
    BothResults,
}

impl FuncDef {
    /// The same function, with the arguments that make it NULL.
    pub(crate) const fn null_when(self, null_when: NullWhen) -> FuncDef {
        FuncDef { null_when, ..self }
    }

    /// The same function, with what its parameters are.
    pub(crate) const fn takes(self, kinds: &'static [ParamKind]) -> FuncDef {
        FuncDef {
            takes: Takes::Each(kinds),
            ..self
        }
    }

    /// The same function, whose arguments after the first are paths in a document.
    pub(crate) const fn with_paths(self) -> FuncDef {
        FuncDef {
            has_paths: true,
            ..self
        }
    }

    /// The same function, whose parameters are all of one kind.
    pub(crate) const fn takes_all(self, kind: ParamKind) -> FuncDef {
        FuncDef {
            takes: Takes::All(kind),
            ..self
        }
    }

    /// The same function, whose parameters are what its other arguments are.
    pub(crate) const fn takes_alike(self) -> FuncDef {
        FuncDef {
            takes: Takes::Alike,
            ..self
        }
    }

    /// The same function, which returns one of its arguments, and whose parameters from `first` on are what its other arguments are.
    pub(crate) const fn takes_common(self, first: usize) -> FuncDef {
        FuncDef {
            takes: Takes::Common(first),
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
        takes: Takes::Each(&[]),
        has_paths: false,
        null_when: NullWhen::Unknown,
    }
}

pub(crate) const fn stable(name: &'static str, args: (usize, usize), infer: Infer, eval: Eval) -> FuncDef {
    FuncDef {
        volatility: Volatility::Stable,
        ..def(name, args, infer, eval)
    }
}

pub(crate) const fn volatile(name: &'static str, args: (usize, usize), infer: Infer, eval: Eval) -> FuncDef {
    FuncDef {
        volatility: Volatility::Volatile,
        ..def(name, args, infer, eval)
    }
}

impl fmt::Debug for FuncDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
