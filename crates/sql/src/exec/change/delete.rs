//! DELETE from one table.

use super::row_writer::RowWriter;
use super::selection::{ChangeScan, RowChange};
use super::{ChangeContext, Changes};
use crate::error::{Result, SqlError};
use crate::expr::Row;
use crate::plan::change::DeletePlan;
use tidemark_engine::{Action, RowBuf};

/// Runs the statement.
pub fn run<'a>(plan: &'a DeletePlan, run: ChangeContext<'a>) -> Result<Changes> {
    let mut work = DeleteRun {
        table: &plan.target.def.name,
        affected_rows: 0,
    };
    let (rows, target) = (&plan.rows, &plan.target);
    let scan = ChangeScan {
        rows,
        target,
        writer: RowWriter::new(target, run),
        run,
    };
    scan.change(&mut work)?;
    Ok(Changes {
        affected_rows: work.affected_rows,
        ..Changes::default()
    })
}

struct DeleteRun<'a> {
    table: &'a str,
    affected_rows: u64,
}

impl RowChange for DeleteRun<'_> {
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
