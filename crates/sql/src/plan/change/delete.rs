//! Plans DELETE from one table.

use super::foreign_keys::Event;
use super::seen::Named;
use super::selection::{Clauses, RowSelection};
use super::target::Target;
use crate::accounts::Privileges;
use crate::error::Result;
use crate::expr::EvalCtx;
use crate::parse::ast;
use crate::plan::Planner;
use crate::plan::group::{Aliases, BlockHooks};

/// DELETE from one table.
pub struct DeletePlan {
    pub target: Target,
    pub rows: RowSelection,
    pub ignore: bool,
}

impl Planner<'_> {
    pub(in crate::plan) fn delete(
        &mut self,
        delete: &ast::Delete,
        table: &ast::TableName,
        sample: &EvalCtx,
    ) -> Result<DeletePlan> {
        let mut target = match self.named(table, Privileges::DELETE)? {
            Named::Table(target) => *target,
            Named::View(from) => self.sole_target(&from, Privileges::DELETE, "DELETE")?,
        };
        target.add_hooks(&[Event::Delete]);
        self.add_foreign_keys(&mut target, &[Event::Delete])?;
        let binder = self.binder;
        let state = self.state;
        let mut hooks = BlockHooks {
            planner: self,
            aggregates: None,
            windows: None,
            aliases: Aliases::NONE,
        };
        let clauses = Clauses {
            verb: "DELETE",
            table,
            filter: delete.filter.as_ref(),
            order_by: &delete.order_by,
            limit: delete.limit.as_ref(),
            ignore: delete.ignore,
            written: &[],
            queries: false,
            warnings: &state.warnings,
        };
        let rows = RowSelection::plan(clauses, &target, &binder, &mut hooks, sample)?;
        Ok(DeletePlan {
            target,
            rows,
            ignore: delete.ignore,
        })
    }
}
