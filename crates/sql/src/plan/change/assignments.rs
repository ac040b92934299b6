//! `SET a = …, b = …`: the expressions that a statement assigns to columns, and what follows from the assignment: columns that
//! are ON UPDATE CURRENT_TIMESTAMP, and whether a unique key may change.

use super::literal_default;
use super::target::{Target, Use};
use crate::dictionary::ColumnDefault;
use crate::error::{Result, SqlError};
use crate::expr::digits::Asked;
use crate::expr::{BindCtx, Binder, Expr, Hooks, PlainHooks, Scope, build};
use crate::parse::{self, ast};
use crate::plan::walk::has_subquery;
use crate::types::SqlType;

/// The assignments to the columns of one table.
pub struct Assignments {
    list: Vec<(usize, Expr)>,
    /// The columns that become the current time when something else changes.
    pub on_update_now: Vec<usize>,
    /// The generated columns that may change with the others.
    pub generated: Vec<usize>,
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
            let column = target.column(&name.column, Use::Update)?;
            if !target.takes(column, &assignment.value)? {
                continue;
            }
            let value = assigned_value(column, &assignment.value, target, (scope, 0), binder, hooks)?;
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
        let written: Vec<usize> = list
            .iter()
            .map(|(column, _)| *column)
            .chain(on_update_now.iter().copied())
            .collect();
        let generated = target.generated.affected(&written);
        let unique = target.def.indexes.iter().filter(|index| index.unique);
        let touches_unique = unique
            .flat_map(|index| &index.parts)
            .any(|part| written.contains(&part.column) || generated.contains(&part.column));
        Assignments {
            list,
            on_update_now,
            generated,
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
        written.extend(&self.generated);
        written
    }

    /// Whether a change may collide with another row.
    pub fn touches_unique(&self) -> bool {
        self.touches_unique
    }

    pub fn has_subquery(&self) -> bool {
        self.list.iter().any(|(_, expr)| has_subquery(expr))
    }
}

/// Binds what is assigned to a column. The target's columns begin at the slot `base` of the scope.
pub fn assigned_value(
    column: usize,
    value: &ast::Expr,
    target: &Target,
    (scope, base): (&Scope, usize),
    binder: &Binder,
    hooks: &mut dyn Hooks,
) -> Result<Expr> {
    if let ast::Expr::Default(None) = value
        && let Some(default) = computed_default(target, column, base, binder)?
    {
        return Ok(build::assignable(
            default,
            &target.def.columns[column].ty,
            &target.def.columns[column].name,
            binder.ctx,
        ));
    }
    let mut hooks = DefaultHooks {
        target,
        column,
        inner: hooks,
    };
    let mut bound = binder.bind(value, scope, &mut hooks)?;
    hooks.settle(&mut bound, Asked::Exact);
    let bound = as_stored(value, bound, &target.def.columns[column].ty, binder.ctx)?;
    Ok(build::assignable(
        bound,
        &target.def.columns[column].ty,
        &target.def.columns[column].name,
        binder.ctx,
    ))
}

/// A date or time that a subquery reads from a table goes into a column of numbers as its text.
pub fn as_stored(value: &ast::Expr, bound: Expr, column: &SqlType, ctx: &BindCtx) -> Result<Expr> {
    let reads_table = match value {
        ast::Expr::Subquery(query) => {
            !matches!(&query.body, ast::QueryBody::Select(select) if select.from.is_empty())
        }
        _ => false,
    };
    match reads_table && column.is_numeric() && bound.ty.is_temporal() {
        true => build::cast(bound, SqlType::varchar(29, ctx.collation_connection), ctx),
        false => Ok(bound),
    }
}

/// The default of a column, if that is an expression or the current time. It reads the row as it is by then: like any value
/// assigned, what stands to the left of it has been assigned already.
fn computed_default(target: &Target, column: usize, base: usize, binder: &Binder) -> Result<Option<Expr>> {
    let def = &target.def.columns[column];
    match &def.default {
        Some(ColumnDefault::Expression(text)) => {
            let mut scope = Scope::default();
            scope.add(target.own_scope(base))?;
            let parsed = parse::parse_expression(text)?;
            binder.bind(&parsed, &scope, &mut PlainHooks).map(Some)
        }
        Some(ColumnDefault::CurrentTimestamp) => {
            let parsed = parse::parse_expression(&format!("NOW({})", def.ty.scale))?;
            binder.bind(&parsed, &Scope::default(), &mut PlainHooks).map(Some)
        }
        _ => Ok(None),
    }
}

/// Gives DEFAULT its meaning in an assignment to a column.
struct DefaultHooks<'a> {
    target: &'a Target,
    column: usize,
    inner: &'a mut dyn Hooks,
}

impl Hooks for DefaultHooks<'_> {
    fn routine(&mut self, schema: Option<&str>, name: &str, args: Vec<Expr>) -> Result<Option<Expr>> {
        self.inner.routine(schema, name, args)
    }

    fn settle(&mut self, e: &mut Expr, asked: Asked) {
        self.inner.settle(e, asked);
    }

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
    fn inserted(&mut self, column: &ast::ColumnName, scope: &Scope, binder: &Binder) -> Result<Expr> {
        self.inner.inserted(column, scope, binder)
    }
    fn default_of(
        &mut self,
        column: Option<&ast::ColumnName>,
        scope: &Scope,
        binder: &Binder,
    ) -> Result<Expr> {
        if let Some(column) = column {
            return self.inner.default_of(Some(column), scope, binder);
        }
        let at = self.column;
        let def = &self.target.def.columns[at];
        if def.ty.nullable && def.default.is_none() && def.generated.is_none() {
            return Ok(build::null());
        }
        literal_default(self.target, at)
    }
    fn name(&mut self, name: &ast::ColumnName, scope: &Scope, binder: &Binder) -> Option<Result<Expr>> {
        self.inner.name(name, scope, binder)
    }
}
