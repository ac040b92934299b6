//! `SET a = …, b = …`: what a statement makes of a row's columns.
//!
//! Assignments are evaluated left to right, each seeing those before it, as MySQL does (in a join there is more to it, see
//! `joined`). If no column takes another value by them the row stays as it is; if one does, the columns that are ON UPDATE
//! CURRENT_TIMESTAMP follow, and the CHECK constraints are asked.

use super::has_subquery;
use super::insert::literal_default;
use super::rows::Changed;
use super::target::{Target, now};
use crate::error::{Result, SqlError};
use crate::expr::{EvalCtx, Expr, Row, build};
use crate::parse::ast;
use crate::plan::bind::{Binder, Hooks};
use crate::plan::scope::Scope;
use crate::types::{SqlType, Value};

/// New values of a row, by column.
pub type Set = Vec<(usize, Value)>;

pub fn put(set: &mut Set, at: usize, value: Value) {
    match set.iter_mut().find(|(there, _)| *there == at) {
        Some(before) => before.1 = value,
        None => set.push((at, value)),
    }
}

/// The assignments to the columns of one table.
pub struct Assignments {
    list: Vec<(usize, Expr)>,
    /// The columns that become the current time when something else changes.
    on_update_now: Vec<usize>,
    touches_unique: bool,
}

impl Assignments {
    /// For a statement that assigns to one table, the first of the scope.
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
            let found = scope.tables[0].answers_to(name.schema.as_deref(), name.table.as_deref());
            if !found {
                return Err(SqlError::unknown_column(&name.to_string(), "field list"));
            }
            let column = target.column(&name.column)?;
            let value = assigned_value(column, &assignment.value, target, scope, binder, hooks)?;
            list.push((column, value));
        }
        Ok(Assignments::new(list, target))
    }

    /// With values by column, bound.
    pub fn new(list: Vec<(usize, Expr)>, target: &Target) -> Assignments {
        let is_set = |at: usize| list.iter().any(|(column, _)| *column == at);
        let columns = target.def.columns.iter().enumerate();
        let on_update_now: Vec<usize> = columns
            .filter(|(at, column)| column.on_update_now && !is_set(*at))
            .map(|(at, _)| at)
            .collect();
        let unique = target.def.indexes.iter().filter(|index| index.unique);
        let touches_unique = unique
            .flat_map(|index| &index.parts)
            .any(|part| is_set(part.column) || on_update_now.contains(&part.column));
        Assignments {
            list,
            on_update_now,
            touches_unique,
        }
    }

    /// The columns that are assigned to, and the values.
    pub fn list(&self) -> &[(usize, Expr)] {
        &self.list
    }

    /// The columns that are assigned to.
    pub fn assigned(&self) -> Vec<usize> {
        self.list.iter().map(|(column, _)| *column).collect()
    }

    /// The columns that may change: those, and what follows from them.
    pub fn written(&self) -> Vec<usize> {
        let mut written = self.assigned();
        written.extend(&self.on_update_now);
        written
    }

    /// Whether a change may collide with another row.
    pub fn touches_unique(&self) -> bool {
        self.touches_unique
    }

    pub fn has_subquery(&self) -> bool {
        self.list.iter().any(|(_, expr)| has_subquery(expr))
    }

    /// Evaluates the assignments for a row; whether any column takes another value.
    pub fn apply(&self, target: &Target, row: &dyn Row, ctx: &EvalCtx, set: &mut Set) -> Result<bool> {
        set.clear();
        for (column, expr) in &self.list {
            let so_far = Changed { base: row, set };
            let value = evaluate(*column, expr, target, &so_far, ctx)?;
            put(set, *column, value);
        }
        self.follow_up(target, row, ctx, set)
    }

    /// Whether the values differ from the row's; if so, adds what follows from that.
    pub fn follow_up(&self, target: &Target, row: &dyn Row, ctx: &EvalCtx, set: &mut Set) -> Result<bool> {
        if set.iter().all(|(column, value)| row.column(*column) == *value) {
            return Ok(false);
        }
        for &column in &self.on_update_now {
            put(set, column, now(ctx, target.def.columns[column].ty.scale));
        }
        if target.has_checks() {
            target.check(&Changed { base: row, set }, ctx)?;
        }
        Ok(true)
    }
}

/// Binds what is assigned to a column.
pub fn assigned_value(
    column: usize,
    value: &ast::Expr,
    target: &Target,
    scope: &Scope,
    binder: &Binder,
    hooks: &mut dyn Hooks,
) -> Result<Expr> {
    let mut hooks = DefaultHooks {
        target,
        column,
        inner: hooks,
    };
    let value = binder.bind(value, scope, &mut hooks)?;
    Ok(build::assignable(
        value,
        &target.def.columns[column].ty,
        binder.ctx,
    ))
}

/// The value that an assignment gives to a column of a row.
pub fn evaluate(column: usize, expr: &Expr, target: &Target, row: &dyn Row, ctx: &EvalCtx) -> Result<Value> {
    let value = expr.eval(&ctx.env.ctx_with(row))?;
    Ok(target.assigned(column, value, ctx)?.into_owned())
}

/// Gives DEFAULT its meaning in an assignment to a column.
struct DefaultHooks<'a> {
    target: &'a Target,
    column: usize,
    inner: &'a mut dyn Hooks,
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
    ) -> Result<(usize, Vec<SqlType>)> {
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
            return Ok(build::null());
        }
        literal_default(self.target, at)
    }
    fn name(&mut self, name: &ast::ColumnName) -> Option<Result<Expr>> {
        self.inner.name(name)
    }
}
