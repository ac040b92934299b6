//! UPDATE of one table.
//!
//! A row whose values come out as they were is matched but not changed: nothing is written.

use super::assignments::{Assignments, Set};
use super::change::{Change, Clauses, Rows};
use super::rows::{Changed, Slots};
use super::target::{Target, scope_table};
use super::{Outcome, Run};
use crate::error::{Result, SqlError};
use crate::expr::{EvalCtx, Row};
use crate::parse::ast;
use crate::plan::bind::{Binder, Hooks};
use crate::plan::scope::Scope;
use crate::types::Value;
use tidemark_engine::{Action, RowBuf};

pub struct UpdatePlan {
    pub target: Target,
    pub rows: Rows,
    assignments: Assignments,
    ignore: bool,
    /// Some column that is set is not read. MySQL then writes the row even if it stays as it is, and counts that as a
    /// change.
    sets_unread: bool,
}

impl UpdatePlan {
    /// For an UPDATE of one table.
    pub fn new(
        update: &ast::Update,
        table: &ast::TableName,
        target: Target,
        binder: &Binder,
        hooks: &mut dyn Hooks,
        sample: &EvalCtx,
    ) -> Result<UpdatePlan> {
        let mut scope = Scope::default();
        scope.add(scope_table(&target.def, table.alias.as_deref(), 0))?;
        let binder = binder.in_clause("field list");
        let assignments = Assignments::bind(&update.assignments, &target, &scope, &binder, hooks)?;
        let clauses = Clauses {
            table,
            filter: update.filter.as_ref(),
            order_by: &update.order_by,
            limit: update.limit.as_ref(),
            ignore: update.ignore,
        };
        let written = assignments.written();
        let plain = !assignments.has_subquery();
        let rows = Rows::plan(clauses, &target, &binder, hooks, &written, plain, sample)?;
        let mut read = rows.columns_read().to_vec();
        read.extend(assignments.list().iter().flat_map(|(_, value)| value.columns()));
        let sets_unread = assignments.assigned().iter().any(|column| !read.contains(column));
        Ok(UpdatePlan {
            target,
            rows,
            assignments,
            ignore: update.ignore,
            sets_unread,
        })
    }

    pub fn ignores(&self) -> bool {
        self.ignore
    }

    pub fn run<'a>(&'a self, run: Run<'a>) -> Result<Outcome> {
        let mut work = Work {
            plan: self,
            run,
            set: Vec::with_capacity(self.assignments.list().len()),
            after: Vec::new(),
            pending: false,
            matched: 0,
            changed: 0,
        };
        self.rows.change(&self.target, run, &mut work)?;
        Ok(outcome(run, work.matched, work.changed))
    }
}

/// What an UPDATE answers.
pub fn outcome(run: Run, matched: u64, changed: u64) -> Outcome {
    let warnings = run.env.warnings.count();
    Outcome {
        affected_rows: if run.session.wants_found_rows() {
            matched
        } else {
            changed
        },
        info: format!("Rows matched: {matched}  Changed: {changed}  Warnings: {warnings}"),
        ..Outcome::default()
    }
}

struct Work<'a> {
    plan: &'a UpdatePlan,
    run: Run<'a>,
    set: Set,
    /// The whole row after the change, where a duplicate key could need it for its text.
    after: Vec<Value>,
    /// The row decided about is to change.
    pending: bool,
    matched: u64,
    changed: u64,
}

impl Change for Work<'_> {
    fn decide(&mut self, row: &dyn Row) -> Result<Action> {
        let plan = self.plan;
        self.run.env.row_number.set(self.matched + 1);
        let ctx = self.run.env.ctx();
        self.pending = plan.assignments.apply(&plan.target, row, &ctx, &mut self.set)?;
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
        self.plan.target.write(&self.set, buf, self.run.env.time_zone);
    }

    fn explain(&mut self, error: tidemark_engine::Error) -> SqlError {
        self.plan.target.explain(error, &Slots(&self.after))
    }

    fn passed_over(&mut self) {
        self.matched += 1;
    }

    fn done(&mut self) {
        self.matched += 1;
        self.changed += u64::from(self.pending);
    }
}
