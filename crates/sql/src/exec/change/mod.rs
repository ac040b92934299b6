//! Data changes: INSERT, REPLACE, UPDATE and DELETE at work, as `plan::change` has planned them.
//!
//! A statement happens as a whole or not at all: the session takes a savepoint first and rolls back to it if the statement
//! fails.
//!
//! - [`row_writer`]: the one way in which rows are changed, with all that happens when they are.
//! - [`target`]: rows on their way into the table: defaults, checks, keys.
//! - [`rows`]: rows as expressions see them; [`assignments`]: what SET makes of them.
//! - [`insert`]: INSERT and REPLACE, with what happens on duplicate keys; [`counter`]: their AUTO_INCREMENT values.
//! - [`load`]: LOAD DATA, [`lines`] the file's bytes as fields.
//! - [`selection`]: the passes of UPDATE and DELETE over their rows; [`update`], [`delete`]: what they do to each.
//! - [`joined`]: UPDATE and DELETE of the rows that a join finds.
//! - [`setup`]: changes of the switches of `performance_schema`.
//! - [`foreign_keys`]: parents that must be there, children that refuse or follow.

mod assignments;
mod counter;
pub mod delete;
mod foreign_keys;
mod generated;
pub mod insert;
pub mod joined;
mod lines;
mod load;
mod row_writer;
mod rows;
mod selection;
pub mod setup;
mod target;
pub mod update;

use crate::context::SessionState;
use crate::error::{SqlError, er};
use crate::expr::Env;
use crate::plan::trace::Tracer;
use std::cell::RefCell;
use tidemark_engine::Transaction;

/// What a running data change has at hand. The transaction is shared with the statement's subqueries; nothing holds it
/// across an evaluation that may run one.
#[derive(Clone, Copy)]
pub struct ChangeContext<'a> {
    pub session: &'a SessionState,
    pub txn: &'a RefCell<&'a mut Transaction>,
    pub env: &'a Env<'a>,
    /// Where it is told what is done; `None`: the statement is not traced.
    pub trace: Option<&'a Tracer>,
}

/// What a data change did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub affected_rows: u64,
    /// For the OK packet: the first generated value, or the last one given for the AUTO_INCREMENT column.
    pub last_insert_id: u64,
    /// The first value generated, which LAST_INSERT_ID() then returns.
    pub generated_id: Option<u64>,
    pub info: String,
}

/// Error 1366 and its like become warnings under IGNORE, which is what `strict` in the environment says.
fn is_ignorable(error: &SqlError) -> bool {
    matches!(
        error.code,
        er::DUP_ENTRY
            | er::BAD_NULL
            | er::CHECK_CONSTRAINT_VIOLATED
            | er::VIEW_CHECK_FAILED
            | er::NO_REFERENCED_ROW
            | er::NO_REFERENCED_ROW_2
            | er::ROW_IS_REFERENCED
            | er::ROW_IS_REFERENCED_2
    )
}
