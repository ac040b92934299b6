//! Stored programs: how bodies are compiled and run.
//!
//! ```text
//!   definition ──parse──▶ ast::Program ──compile──▶ Code: steps and jumps ──run──▶ a Frame on a ProgramHost
//!                 names are slots                    units keep their plans          values, handlers, cursors
//! ```
//!
//! The parser has resolved the names, so that a variable is a slot. [`compile`] makes steps of the body, each with its scope; the statements and
//! expressions in them are *units*, planned when they first run and kept, so that a loop plans nothing. [`run`] is the interpreter: it runs
//! units by a [`ProgramHost`](crate::plan::program::ProgramHost), which is the session for CALL and the running statement for functions and
//! triggers, and decides what becomes of errors and warnings.
//!
//! - [`routine`]: a definition ready to run; [`call`]: CALL, its arguments, whose rights and settings hold;
//!   [`function`]: functions in expressions.
//! - [`code`], [`compile`]: steps; [`formula`]: expressions.
//! - [`run`], [`frame`]: the interpreter and the state of a running body; [`cursor`]: cursors; [`condition`]: handlers.
//! - [`diagnostics`]: SIGNAL, RESIGNAL, GET DIAGNOSTICS, which are statements of their own, too.

pub mod call;
mod code;
mod compile;
mod condition;
mod cursor;
pub mod diagnostics;
mod formula;
mod frame;
mod function;
mod routine;
mod run;

pub use function::Functions;
