//! SQL's expressions: from syntax, over types, to values.
//!
//! A [`Binder`] turns the parser's tree into an [`Expr`], with the names of a [`Scope`]. An expression knows its type, and every
//! decision that depends only on types has been taken when it was built: which kind of comparison, which arithmetic, whose
//! collation. Evaluation is a walk that borrows: from the row, the literals and the parameters.
//!
//! ```
//! use tidemark_expr::{Binder, BindCtx, Env, NoSession, NoSubqueries, PlainHooks, Scope};
//! use tidemark_types::{SqlMode, TimeZone, Val, Warnings};
//!
//! let syntax = tidemark_parse::expression_in("UPPER('tide') = 'TIDE' AND 7 / 0 IS NULL", SqlMode::DEFAULT)?;
//! let (ctx, session) = (BindCtx::default(), NoSession);
//! let binder = Binder { ctx: &ctx, session: &session, params: &[], clause: "field list" };
//! let expr = binder.bind(&syntax, &Scope::default(), &mut PlainHooks)?;
//!
//! let (warnings, zone) = (Warnings::default(), TimeZone::UTC);
//! let env = Env::new(&session, &NoSubqueries, &warnings, &zone);
//! assert_eq!(expr.eval(&env.ctx())?, Val::TRUE);
//! assert_eq!(warnings.count(), 1);
//! # Ok::<(), tidemark_types::error::SqlError>(())
//! ```
//!
//! - `bind`, `scope`: names and operators of the syntax become nodes of the tree.
//! - `node`: the tree; `function`: what a call in it points to.
//! - [`build`]: constructors that infer types, by the rules of `infer` (the binder calls these, never builds nodes by hand).
//! - `env`: what an evaluation can see: row, parameters, session, clock, warnings, subqueries.
//! - `eval`: the evaluator; `compare`, `arith` and `cast` are its operators, `like` its patterns, `regexp` regular expressions, `interval` and `json`
//!   what dates and documents need, `json_schema` what documents may be.
//! - `func`: the table of functions.
//! - `parameter`: the types of a prepared statement's parameters.
//! - [`digits`]: which digits of an AVG an expression goes on with.
//! - `aggregate`: COUNT, SUM and the rest, as accumulators the executor drives; `concat`: GROUP_CONCAT's texts.
//! - `window`: window functions, which the executor works out over rows in order.
//! - `column_type`: a type as it is written → a type as it is.

#![forbid(unsafe_code)]
#![warn(clippy::too_many_arguments)]

mod aggregate;
mod arith;
mod bind;
mod bit_bytes;
pub mod build;
mod cast;
mod column_type;
mod compare;
mod concat;
pub mod digits;
mod env;
mod eval;
mod func;
mod function;
#[cfg(test)]
mod golden;
mod infer;
mod interval;
mod json;
mod json_schema;
mod kept;
mod like;
mod node;
mod parameter;
mod pieces;
pub mod print;
mod regexp;
mod same;
mod scope;
mod window;

pub use aggregate::{Accumulator, AggFunc, Aggregate, Inputs, Merging, Quotient};
pub use bind::{Binder, Hooks, PlainHooks, array_out_of_place};
pub use build::{BindCtx, DateConstant};
pub use column_type::{ROW_BYTES_MAX, collation, column_type, duplicate_members};
pub use compare::{compare_values, order_values};
pub use env::{Env, EvalCtx, NoRow, NoSession, NoSubqueries, Row, SessionInfo, Subqueries};
pub use func::{ArrayTest, array_test, call, cast_operand, digest_hash, is_function, schema_violation};
pub use function::{FuncDef, NullWhen, Volatility};
pub use infer::{check_comparable, cmp_kind};
pub use json::{check_document_type, document};
pub use like::LikePattern;
pub use node::{
    ArithOp, BitOp, CmpOp, Expr, IntervalUnit, Node, NumKind, Quantifier, Routine, SubqueryKind, VarScope,
};
pub use parameter::{ParamKind, ParamPlace, Parameters, Params, Role};
pub use scope::{AllowedColumns, DefaultOf, OUTER, Scope, ScopeAlias, ScopeColumn, ScopeTable, names_equal};
pub use window::{WindowFunc, WindowFunction, misplaced_window_function, range_end};
