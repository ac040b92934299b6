//! UPDATE of one table.
//!
//! Assignments are evaluated left to right, each seeing those before it, as MySQL does. A row whose values come out as
//! they were is matched but not changed: nothing is written.

use super::change::{Change, Clauses, Rows};
use super::insert::literal_default;
use super::target::{Changed, Slots, Target, now, scope_table};
use super::{Outcome, Run, has_subquery};
use crate::error::{Result, SqlError};
use crate::expr::{EvalCtx, Expr, Row, build};
use crate::parse::ast;
use crate::plan::bind::{Binder, Hooks};
use crate::plan::scope::Scope;
use crate::types::Value;
use tidemark_engine::{Action, RowBuf};

/// `SET a = …, b = …`
pub struct Assignments {
    list: Vec<(usize, Expr)>,
    /// The columns that become the current time when something else changes.
    on_update_now: Vec<usize>,
}

/// Gives DEFAULT its meaning in an assignment to a column.
pub struct DefaultHooks<'a> {
    pub target: &'a Target,
    pub column: usize,
    pub inner: &'a mut dyn Hooks,
}

impl Hooks for DefaultHooks<'_> {
    fn aggregate(&mut self, call: &ast::FunctionCall, scope: &Scope, binder: &Binder) -> Result<Expr> {
        self.inner.aggregate(call, scope, binder)
    }
    fn subquery(
        &mut self,
        query: &ast::Query,
        scope: &Scope,
        binder: &Binder,
    ) -> Result<(usize, Vec<crate::types::SqlType>)> {
        self.inner.subquery(query, scope, binder)
    }
    fn inserted(&mut self, column: &ast::ColumnName) -> Result<Expr> {
        self.inner.inserted(column)
    }
    fn default_of(&mut self, column: Option<&ast::ColumnName>) -> Result<Expr> {
        let at = match column {
            Some(name) => self.target.column(&name.column)?,
            None => self.column,
        };
        if self.target.def.columns[at].ty.nullable && self.target.def.columns[at].default.is_none() {
            return Ok(crate::expr::build::null());
        }
        literal_default(self.target, at)
    }
    fn name(&mut self, name: &ast::ColumnName) -> Option<Result<Expr>> {
        self.inner.name(name)
    }
}

impl Assignments {
    pub fn bind(
        assignments: &[ast::Assignment],
        target: &Target,
        scope: &Scope,
        binder: &Binder,
        hooks: &mut dyn Hooks,
    ) -> Result<Assignments> {
        let mut list = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            let name = &assignment.column;
            // The first table of the scope is the one written to.
            let found = scope.tables[0].answers_to(name.schema.as_deref(), name.table.as_deref());
            if !found {
                return Err(SqlError::unknown_column(&name.to_string(), "field list"));
            }
            let column = target.column(&name.column)?;
            let mut hooks = DefaultHooks {
                target,
                column,
                inner: hooks,
            };
            let value = binder.bind(&assignment.value, scope, &mut hooks)?;
            let value = build::assignable(value, &target.def.columns[column].ty, binder.ctx);
            list.push((column, value));
        }
        let columns = target.def.columns.iter().enumerate();
        let on_update_now = columns
            .filter(|(at, column)| column.on_update_now && !list.iter().any(|(set, _)| set == at))
            .map(|(at, _)| at)
            .collect();
        Ok(Assignments { list, on_update_now })
    }

    /// The columns that may change.
    pub fn columns(&self) -> Vec<usize> {
        self.list
            .iter()
            .map(|(column, _)| *column)
            .chain(self.on_update_now.iter().copied())
            .collect()
    }

    pub fn has_subquery(&self) -> bool {
        self.list.iter().any(|(_, expr)| has_subquery(expr))
    }

    /// Evaluates the assignments for a row; whether any column takes another value.
    pub fn apply(
        &self,
        target: &Target,
        row: &dyn Row,
        ctx: &EvalCtx,
        set: &mut Vec<(usize, Value)>,
    ) -> Result<bool> {
        set.clear();
        for (column, expr) in &self.list {
            let so_far = Changed { base: row, set };
            let value = expr.eval(&ctx.env.ctx_with(&so_far))?;
            let value = target.assigned(*column, value, ctx)?.into_owned();
            match set.iter_mut().find(|(set, _)| set == column) {
                Some(before) => before.1 = value,
                None => set.push((*column, value)),
            }
        }
        let changed = set.iter().any(|(column, value)| row.column(*column) != *value);
        if changed {
            for &column in &self.on_update_now {
                set.push((column, now(ctx, target.def.columns[column].ty.scale)));
            }
            if target.has_checks() {
                target.check(&Changed { base: row, set }, ctx)?;
            }
        }
        Ok(changed)
    }
}

pub struct UpdatePlan {
    pub target: Target,
    pub rows: Rows,
    assignments: Assignments,
    ignore: bool,
    /// A change may collide with another row.
    touches_unique: bool,
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
        let written = assignments.columns();
        let plain = !assignments.has_subquery();
        let rows = Rows::plan(clauses, &target, &binder, hooks, &written, plain, sample)?;
        let unique = target.def.indexes.iter().filter(|index| index.unique);
        let touches_unique = unique
            .flat_map(|index| &index.parts)
            .any(|part| written.contains(&part.column));
        let mut read = rows.columns_read().to_vec();
        read.extend(assignments.list.iter().flat_map(|(_, value)| value.columns()));
        let sets_unread = assignments.list.iter().any(|(column, _)| !read.contains(column));
        Ok(UpdatePlan {
            target,
            rows,
            assignments,
            ignore: update.ignore,
            touches_unique,
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
            set: Vec::with_capacity(self.assignments.list.len()),
            after: Vec::new(),
            pending: false,
            matched: 0,
            changed: 0,
        };
        self.rows.change(&self.target, run, &mut work)?;
        let (matched, changed) = (work.matched, work.changed);
        let warnings = run.env.warnings.count();
        Ok(Outcome {
            affected_rows: if run.session.wants_found_rows() {
                matched
            } else {
                changed
            },
            info: format!("Rows matched: {matched}  Changed: {changed}  Warnings: {warnings}"),
            ..Outcome::default()
        })
    }
}

struct Work<'a> {
    plan: &'a UpdatePlan,
    run: Run<'a>,
    set: Vec<(usize, Value)>,
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
        if self.pending && plan.touches_unique {
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
