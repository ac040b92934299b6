//! Plans UPDATE of one table.

use super::assignments::Assignments;
use super::foreign_keys::Event;
use super::seen::Named;
use super::selection::{Clauses, RowSelection};
use super::target::Target;
use crate::accounts::Privileges;
use crate::error::Result;
use crate::expr::{EvalCtx, Scope};
use crate::parse::ast;
use crate::plan::Planner;
use crate::plan::group::{Aliases, BlockHooks};
use crate::plan::statement::Body;

/// UPDATE of one table.
pub struct UpdatePlan {
    pub target: Target,
    pub rows: RowSelection,
    pub assignments: Assignments,
    pub ignore: bool,
    /// Some column that is set is not read. MySQL then writes the row even if it stays as it is, and counts that as a
    /// change.
    pub sets_unread: bool,
}

impl Planner<'_> {
    /// UPDATE of one table, or of a view. A view of several tables is updated as the join that it is.
    pub(in crate::plan) fn update(
        &mut self,
        update: &ast::Update,
        table: &ast::TableName,
        sample: &EvalCtx,
    ) -> Result<Body> {
        let target = match self.named(table, Privileges::UPDATE)? {
            Named::Table(target) => *target,
            Named::View(from) if from.tables.len() > 1 => {
                return Ok(Body::Joined(Box::new(self.joined_update(update, *from)?)));
            }
            Named::View(from) => self.sole_target(&from, Privileges::UPDATE, "UPDATE")?,
        };
        let plan = self.update_of(update, table, target, sample)?;
        Ok(Body::Update(Box::new(plan)))
    }

    fn update_of(
        &mut self,
        update: &ast::Update,
        table: &ast::TableName,
        mut target: Target,
        sample: &EvalCtx,
    ) -> Result<UpdatePlan> {
        let binder = self.binder.in_clause("field list");
        let state = self.state;
        let mut hooks = BlockHooks {
            planner: self,
            aggregates: None,
            windows: None,
            aliases: Aliases::NONE,
        };
        let mut scope = Scope::default();
        scope.add(target.scope_table(table.alias.as_deref()))?;
        let assignments = Assignments::bind(&update.assignments, &target, &scope, &binder, &mut hooks)?;
        target.add_hooks(&[Event::Update(Vec::new())]);
        let written = target.written(assignments.written());
        self.add_foreign_keys(&mut target, &[Event::Update(written.clone())])?;
        let mut hooks = BlockHooks {
            planner: self,
            aggregates: None,
            windows: None,
            aliases: Aliases::NONE,
        };
        let clauses = Clauses {
            verb: "UPDATE",
            table,
            filter: update.filter.as_ref(),
            order_by: &update.order_by,
            limit: update.limit.as_ref(),
            ignore: update.ignore,
            written: &written,
            queries: assignments.has_subquery(),
            warnings: &state.warnings,
        };
        let rows = RowSelection::plan(clauses, &target, &binder, &mut hooks, sample)?;
        let mut read = rows.columns_read.to_vec();
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
}
