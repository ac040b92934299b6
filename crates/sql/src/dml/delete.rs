//! DELETE from one table.

use super::change::{Change, Clauses, Rows};
use super::target::Target;
use super::{Outcome, Run};
use crate::error::{Result, SqlError};
use crate::expr::{EvalCtx, Row};
use crate::parse::ast;
use crate::plan::bind::{Binder, Hooks};
use tidemark_engine::{Action, RowBuf};

pub struct DeletePlan {
    pub target: Target,
    pub rows: Rows,
    ignore: bool,
}

impl DeletePlan {
    /// For a DELETE from one table.
    pub fn new(
        delete: &ast::Delete,
        table: &ast::TableName,
        target: Target,
        binder: &Binder,
        hooks: &mut dyn Hooks,
        sample: &EvalCtx,
    ) -> Result<DeletePlan> {
        let clauses = Clauses {
            table,
            filter: delete.filter.as_ref(),
            order_by: &delete.order_by,
            limit: delete.limit.as_ref(),
            ignore: delete.ignore,
        };
        let rows = Rows::plan(clauses, &target, binder, hooks, &[], true, sample)?;
        Ok(DeletePlan {
            target,
            rows,
            ignore: delete.ignore,
        })
    }

    pub fn ignores(&self) -> bool {
        self.ignore
    }

    pub fn run(&self, run: Run) -> Result<Outcome> {
        let mut work = Work {
            table: &self.target.def.name,
            affected_rows: 0,
        };
        self.rows.change(&self.target, run, &mut work)?;
        Ok(Outcome {
            affected_rows: work.affected_rows,
            ..Outcome::default()
        })
    }
}

struct Work<'a> {
    table: &'a str,
    affected_rows: u64,
}

impl Change for Work<'_> {
    fn decide(&mut self, _row: &dyn Row) -> Result<Action> {
        Ok(Action::Delete)
    }

    fn write(&mut self, _buf: &mut RowBuf) {}

    fn explain(&mut self, error: tidemark_engine::Error) -> SqlError {
        SqlError::in_table(error, self.table)
    }

    fn done(&mut self) {
        self.affected_rows += 1;
    }
}
