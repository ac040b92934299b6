//! Bound expressions: what the binder makes of the parser's tree, and what the executor evaluates per row.
//!
//! An [`Expr`] knows its type, and every decision that depends only on types has been taken when it was built: which
//! kind of comparison, which arithmetic, whose collation. Evaluation is a walk that borrows: from the row, the
//! literals and the parameters.
//!
//! - [`node`]: the tree.
//! - [`env`]: what an evaluation can see: row, parameters, session, clock, warnings, subqueries.
//! - [`build`]: constructors that infer types (the binder calls these, never builds nodes by hand).
//! - [`eval`]: the evaluator; [`compare`] and [`arith`] are its operators, [`like`] its patterns.
//! - [`func`]: the table of functions.
//! - [`aggregate`]: COUNT, SUM and the rest, as accumulators the executor drives.

pub mod aggregate;
pub mod arith;
pub mod build;
pub mod cast;
pub mod compare;
pub mod env;
pub mod eval;
pub mod func;
#[cfg(test)]
mod golden;
mod interval;
pub mod like;
pub mod node;
mod print;
pub(crate) mod types;

pub use aggregate::{Accumulator, AggFunc, Aggregate};
pub use build::BindCtx;
pub use compare::{compare_values, order_values};
pub use env::{Env, EvalCtx, NoRow, NoSubqueries, Row, SessionInfo, Subqueries};
pub use func::{FuncDef, Volatility, resolve_function};
pub use node::{
    ArithOp, BitOp, CmpOp, Expr, IntervalUnit, Node, NumKind, Quantifier, SubqueryKind, VarScope,
};
