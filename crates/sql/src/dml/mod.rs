//! Data changes: INSERT, REPLACE, UPDATE and DELETE.
//!
//! Each statement is planned once into a structure that any session can run with its own parameters. A statement
//! happens as a whole or not at all: the session takes a savepoint first and rolls back to it if the statement fails.
//!
//! - [`target`]: the table written to: its defaults, checks, keys, and rows in the engine's form.
//! - [`rows`]: rows as expressions see them; [`assignments`]: what SET makes of them.
//! - [`insert`]: INSERT and REPLACE, with what happens on duplicate keys; [`counter`]: their AUTO_INCREMENT values.
//! - [`change`]: which rows UPDATE and DELETE touch, and the passes over them.
//! - [`update`], [`delete`]: what they do to each.
//! - [`joined`]: UPDATE and DELETE of the rows that a join finds.

pub mod assignments;
pub mod change;
pub mod counter;
pub mod delete;
pub mod insert;
pub mod joined;
pub mod rows;
pub mod target;
pub mod update;

pub use delete::DeletePlan;
pub use insert::InsertPlan;
pub use joined::JoinedPlan;
pub use update::UpdatePlan;

use crate::context::SessionState;
use crate::error::{Result, SqlError, er};
use crate::expr::{Env, Expr, Node};
use crate::parse::ast;
use crate::types::Value;
use std::cell::RefCell;
use std::sync::Arc;
use tidemark_engine::Transaction;

/// What a running statement has at hand. The transaction is shared with the statement's subqueries; nothing holds it
/// across an evaluation that may run one.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    pub session: &'a SessionState,
    pub txn: &'a RefCell<&'a mut Transaction>,
    pub env: &'a Env<'a>,
}

/// A planned query that a data change reads from.
pub trait RowSource: Send + Sync {
    fn width(&self) -> usize;
    fn rows(&self, run: Run, f: &mut dyn FnMut(&[Value]) -> Result<()>) -> Result<()>;
}

/// Plans the queries inside a data change.
pub trait QueryPlanner {
    fn query(&self, query: &ast::Query) -> Result<Arc<dyn RowSource>>;
}

/// What a data change did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub affected_rows: u64,
    /// For the OK packet: the first generated value, or the last one given for the AUTO_INCREMENT column.
    pub last_insert_id: u64,
    /// The first value generated, which LAST_INSERT_ID() then answers.
    pub generated_id: Option<u64>,
    pub info: String,
}

/// Whether an expression runs a query of its own, which it must not do while a page is latched.
fn has_subquery(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e.node, Node::Subquery { .. }));
    found
}

/// Error 1366 and its like become warnings under IGNORE, which is what `strict` in the environment says.
fn is_ignorable(error: &SqlError) -> bool {
    matches!(
        error.code,
        er::DUP_ENTRY | er::BAD_NULL | er::CHECK_CONSTRAINT_VIOLATED
    )
}
