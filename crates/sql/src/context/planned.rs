//! Between the session and what is planned: queries and data changes.
//!
//! The session parses a statement, has it planned, takes the metadata locks and checks the privileges of the tables the
//! plan uses, opens or continues the transaction, runs the plan, and commits or rolls back. A plan that was made for
//! definitions that have changed since is made anew.

use super::sink::ResultSink;
use super::state::SessionState;
use crate::accounts::Privileges;
use crate::dictionary::TableDef;
use crate::error::Result;
use crate::mdl::Mode;
use crate::types::{ColumnMeta, Value};
use std::sync::Arc;
use tidemark_engine::Transaction;

/// A table of a plan and what is done with it.
#[derive(Clone, Debug)]
pub struct TableUse {
    pub table: Arc<TableDef>,
    /// `Write` for the targets of data changes and for locking reads.
    pub mode: Mode,
    /// What the account must be allowed, all of it.
    pub privileges: Privileges,
    /// What the statement calls it, if not by its name: LOCK TABLES goes by that.
    pub alias: Option<String>,
}

/// The user variable that SET reads a value into that only a query can give; no client can name it.
pub const HIDDEN_VARIABLE: &str = "\0value";

impl TableUse {
    pub fn new(table: Arc<TableDef>, mode: Mode, privileges: Privileges) -> TableUse {
        TableUse {
            table,
            mode,
            privileges,
            alias: None,
        }
    }

    /// The same under another name.
    pub fn named(mut self, alias: &str) -> TableUse {
        self.alias = (alias != self.table.name).then(|| alias.to_owned());
        self
    }

    /// What the statement calls it.
    pub fn name(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.table.name)
    }
}

/// What running a plan came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Columns and so many rows went to the sink. The session commits and then ends the result.
    Rows(u64),
    /// A data change. The session commits and then answers OK.
    Done {
        affected_rows: u64,
        /// The first generated AUTO_INCREMENT value, or the last given one; 0 for none.
        last_insert_id: u64,
        info: String,
    },
}

/// A statement ready to run, as often as its parameters fit.
///
/// `run` neither commits nor rolls back: after an error the session undoes the statement. It sends columns and rows, but
/// neither the end of the result nor an OK.
pub trait Planned: Send {
    /// All tables, virtual ones too, each once per privilege needed.
    fn uses(&self) -> &[TableUse];

    /// The columns of the result; `None` for a data change.
    fn columns(&self) -> Option<&[ColumnMeta]>;

    /// Whether it changes rows: not allowed in a READ ONLY transaction.
    fn writes(&self) -> bool;

    /// Whether it is a SELECT or its like: `max_execution_time` holds for those alone.
    fn is_query(&self) -> bool {
        false
    }

    /// Error 1792 in a READ ONLY transaction: it writes, or locks rows as if it would.
    fn needs_read_write(&self) -> bool {
        self.writes()
    }

    /// Whether the plan serves these parameters, which may be of other types than those it was made with.
    fn fits(&self, params: &[Value]) -> bool {
        let _ = params;
        true
    }

    fn run(
        &self,
        state: &SessionState,
        txn: &mut Transaction,
        params: &[Value],
        out: &mut dyn ResultSink,
    ) -> Result<Outcome>;
}
