//! UPDATE of one table.
//!
//! A row whose values come out as they were is matched but not changed: nothing is written.

use super::assignments::Set;
use super::counter::{counted_in, observe_update};
use super::row_writer::RowWriter;
use super::rows::{Changed, Slots};
use super::selection::{ChangeScan, RowChange};
use super::{ChangeContext, Changes};
use crate::error::{Result, SqlError};
use crate::expr::Row;
use crate::plan::change::UpdatePlan;
use crate::types::Value;
use tidemark_engine::{Action, RowBuf};

/// Runs the statement.
pub fn run<'a>(plan: &'a UpdatePlan, run: ChangeContext<'a>) -> Result<Changes> {
    run.session.told_insert_id.set(false);
    let writer = RowWriter::new(&plan.target, run);
    let mut work = UpdateRun {
        plan,
        run,
        writer,
        set: Vec::with_capacity(plan.assignments.list().len()),
        after: Vec::new(),
        pending: false,
        matched: 0,
        changed: 0,
        counted: None,
    };
    let (rows, target) = (&plan.rows, &plan.target);
    let scan = ChangeScan {
        rows,
        target,
        writer,
        run,
    };
    scan.change(&mut work)?;
    run.session.found_rows.set(work.matched);
    Ok(outcome(run, work.matched, work.changed))
}

/// The result of an UPDATE. LAST_INSERT_ID(n) in it tells the client of that value.
pub fn outcome(run: ChangeContext, matched: u64, changed: u64) -> Changes {
    let warnings = run.env.warnings.count();
    Changes {
        affected_rows: if run.session.wants_found_rows() {
            matched
        } else {
            changed
        },
        last_insert_id: match run.session.told_insert_id.get() {
            true => run.session.last_insert_id.get(),
            false => 0,
        },
        info: format!("Rows matched: {matched}  Changed: {changed}  Warnings: {warnings}"),
        ..Changes::default()
    }
}

struct UpdateRun<'a> {
    plan: &'a UpdatePlan,
    run: ChangeContext<'a>,
    writer: RowWriter<'a>,
    set: Set,
    /// The whole row after the change, where a duplicate key could need it for its text.
    after: Vec<Value>,
    /// The row decided about is to change.
    pending: bool,
    matched: u64,
    changed: u64,
    /// In place: the highest AUTO_INCREMENT value given to a row, of which the counter does not know yet.
    counted: Option<u64>,
}

impl RowChange for UpdateRun<'_> {
    fn decide(&mut self, row: &dyn Row) -> Result<Action> {
        let plan = self.plan;
        self.run.env.row_number.set(self.matched + 1);
        self.pending = self.writer.assign(&plan.assignments, row, &mut self.set)?;
        if self.pending && plan.assignments.touches_unique() {
            self.after = Changed {
                base: row,
                set: &self.set,
            }
            .copy(plan.target.def.columns.len());
        }
        Ok(if self.pending {
            Action::Update
        } else if plan.sets_unread {
            Action::Touch
        } else {
            Action::Keep
        })
    }

    fn write(&mut self, buf: &mut RowBuf) {
        self.writer.fill(&self.set, buf);
        self.counted = self.counted.max(counted_in(&self.plan.target.def, &self.set));
    }

    fn explain(&mut self, error: tidemark_engine::Error) -> SqlError {
        self.plan.target.explain(error, &Slots(&self.after))
    }

    fn new_values(&self) -> &[(usize, Value)] {
        &self.set
    }

    fn passed_over(&mut self) {
        self.matched += 1;
    }

    fn done(&mut self) {
        self.matched += 1;
        self.changed += u64::from(self.pending);
    }

    fn settle(&mut self) -> Result<()> {
        let target = &self.plan.target;
        observe_update((&target.def, &target.table), self.counted.take())
    }
}
