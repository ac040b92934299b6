//! The table that a statement writes to.

use super::Run;
use super::rows::Slots;
use crate::dictionary::{ColumnDefault, TableDef};
use crate::error::{Result, SqlError, er};
use crate::expr::{EvalCtx, Expr, Row};
use crate::parse;
use crate::plan::bind::{Binder, PlainHooks};
use crate::plan::scope::{Scope, ScopeColumn, ScopeTable};
use crate::types::storage::Scratch;
use crate::types::{TimeZone, Val, Value, assign};
use std::sync::Arc;
use tidemark_engine::{Datum, RowBuf, Table};

/// A table with what its definition means, bound and ready.
pub struct Target {
    pub def: Arc<TableDef>,
    pub table: Arc<Table>,
    /// The expression defaults, by column.
    defaults: Vec<Option<Expr>>,
    has_computed: bool,
    checks: Vec<(String, Expr)>,
}

/// The columns of a table as a scope sees them.
pub fn scope_table(def: &TableDef, alias: Option<&str>, base: usize) -> ScopeTable {
    let columns = def.columns.iter().enumerate().map(|(at, column)| ScopeColumn {
        name: column.name.clone(),
        ty: column.ty.clone(),
        slot: base + at,
        hidden: column.invisible,
        merged: false,
    });
    ScopeTable {
        schema: alias.is_none().then(|| def.schema.clone()),
        alias: alias.unwrap_or(&def.name).to_owned(),
        columns: columns.collect(),
    }
}

impl Target {
    pub fn new(def: Arc<TableDef>, table: Arc<Table>, binder: &Binder) -> Result<Target> {
        let mut scope = Scope::default();
        scope.add(scope_table(&def, None, 0))?;
        let bind = |text: &str| {
            let parsed = parse::parse_expression(text)?;
            binder.bind(&parsed, &scope, &mut PlainHooks)
        };
        let mut defaults = Vec::with_capacity(def.columns.len());
        for column in &def.columns {
            defaults.push(match &column.default {
                Some(ColumnDefault::Expression(text)) => Some(bind(text)?),
                _ => None,
            });
        }
        let mut checks = Vec::new();
        for check in def.options.checks.iter().filter(|check| check.enforced) {
            checks.push((check.name.clone(), bind(&check.expression)?));
        }
        Ok(Target {
            has_computed: defaults.iter().any(Option::is_some),
            def,
            table,
            defaults,
            checks,
        })
    }

    /// The position of a column that a statement names; error 1054.
    pub fn column(&self, name: &str) -> Result<usize> {
        let found = self.def.column(name);
        found.ok_or_else(|| SqlError::unknown_column(name, "field list"))
    }

    /// The value a column takes by default; `row` holds the values so far, which an expression may use. `None` if it
    /// has no default.
    pub fn default_value(&self, column: usize, row: &[Value], ctx: &EvalCtx) -> Result<Option<Value>> {
        let def = &self.def.columns[column];
        Ok(match &def.default {
            None if def.auto_increment => Some(Val::Null),
            None => None,
            Some(ColumnDefault::Literal(value)) => Some(value.clone()),
            Some(ColumnDefault::CurrentTimestamp) => Some(now(ctx, def.ty.scale)),
            Some(ColumnDefault::Expression(_)) => match &self.defaults[column] {
                Some(expr) => {
                    let slots = Slots(row);
                    let value = expr.eval(&ctx.env.ctx_with(&slots))?.into_owned();
                    Some(self.assigned(column, value, ctx)?.into_owned())
                }
                None => None,
            },
        })
    }

    /// True if the column's default is an expression, which may be computed from other columns.
    pub fn is_computed(&self, column: usize) -> bool {
        self.defaults[column].is_some()
    }

    /// True if any column's default is an expression.
    pub fn has_computed(&self) -> bool {
        self.has_computed
    }

    /// As [`Target::default_value`]; without a default it is error 1364, or the type's zero and a warning.
    pub fn default_or_zero(&self, column: usize, row: &[Value], ctx: &EvalCtx) -> Result<Value> {
        if let Some(value) = self.default_value(column, row, ctx)? {
            return Ok(value);
        }
        let def = &self.def.columns[column];
        if def.ty.kind == crate::types::TypeKind::Enum && !def.ty.nullable {
            return Ok(assign::zero_value(&def.ty));
        }
        ctx.env.complain(SqlError::no_default(&def.name))?;
        Ok(assign::zero_value(&def.ty))
    }

    /// A value on its way into a column: of its type, and not NULL where the column is not.
    pub fn assigned<'v>(&self, column: usize, value: Val<'v>, ctx: &EvalCtx) -> Result<Val<'v>> {
        let def = &self.def.columns[column];
        if value.is_null() {
            if def.ty.nullable {
                return Ok(Val::Null);
            }
            ctx.env.complain(SqlError::bad_null(&def.name))?;
            return Ok(assign::zero_value(&def.ty));
        }
        assign::assign(value, &def.ty, &def.name, ctx.env)
    }

    /// Error 3819 if the row violates a CHECK constraint.
    pub fn check(&self, row: &dyn Row, ctx: &EvalCtx) -> Result<()> {
        for (name, condition) in &self.checks {
            if condition.eval_bool(&ctx.env.ctx_with(row))? == Some(false) {
                return Err(SqlError::new(
                    er::CHECK_CONSTRAINT_VIOLATED,
                    format!("Check constraint '{name}' is violated."),
                ));
            }
        }
        Ok(())
    }

    pub fn has_checks(&self) -> bool {
        !self.checks.is_empty()
    }

    /// Error 1062 for the key of an index that a row has in common with another.
    pub fn duplicate(&self, index: usize, row: &dyn Row) -> SqlError {
        let Some(index) = self.def.index_by_number(index) else {
            return SqlError::duplicate_entry("", &self.def.name);
        };
        let parts = index.parts.iter().map(|part| match row.column(part.column) {
            Val::Null => "NULL".to_owned(),
            value => {
                let text = value.to_text().into_owned();
                let text = String::from_utf8_lossy(&text).into_owned();
                match part.prefix {
                    Some(n) => text.chars().take(n as usize).collect(),
                    None => text,
                }
            }
        });
        let entry = parts.collect::<Vec<_>>().join("-");
        SqlError::duplicate_entry(&entry, &format!("{}.{}", self.def.name, index.name))
    }

    /// A duplicate-key error of the engine with its text; other errors as they are.
    pub fn explain(&self, error: tidemark_engine::Error, row: &dyn Row) -> SqlError {
        match error {
            tidemark_engine::Error::DuplicateKey { index, .. } => self.duplicate(index, row),
            other => SqlError::in_table(other, &self.def.name),
        }
    }

    /// Inserts a row of values that have their columns' types.
    pub fn insert(
        &self,
        run: Run,
        row: &[Value],
        lock: tidemark_engine::DuplicateLock,
    ) -> Result<(), tidemark_engine::Error> {
        const INLINE: usize = 24;
        if row.len() <= INLINE {
            let mut rooms: [Scratch; INLINE] = [[0; 32]; INLINE];
            let mut data = [Datum::Null; INLINE];
            self.store(row, run.env.time_zone, &mut rooms, &mut data);
            return self
                .table
                .insert_with(&mut run.txn.borrow_mut(), &data[..row.len()], lock);
        }
        let mut rooms = vec![[0; 32]; row.len()];
        let mut data = vec![Datum::Null; row.len()];
        self.store(row, run.env.time_zone, &mut rooms, &mut data);
        self.table.insert_with(&mut run.txn.borrow_mut(), &data, lock)
    }

    /// Writes changed columns into a row on its way to the page.
    pub fn write(&self, set: &[(usize, Value)], buf: &mut RowBuf, zone: &TimeZone) {
        for (column, value) in set {
            let mut room: Scratch = [0; 32];
            buf.set(
                *column,
                self.def.columns[*column].ty.store(value, zone, &mut room),
            );
        }
    }

    /// Whether no unique index comes after this one.
    pub fn is_last_unique(&self, index: usize) -> bool {
        let others = self.def.indexes.iter();
        others
            .filter(|other| other.unique)
            .all(|other| other.number <= index)
    }

    /// Whether one of the columns is part of the index, or decides where the row stands.
    pub fn moves(&self, columns: &[usize], index: usize) -> bool {
        let has = |number| {
            let def = self.def.index_by_number(number);
            def.is_some_and(|def| def.parts.iter().any(|part| columns.contains(&part.column)))
        };
        has(0) || has(index)
    }

    fn store<'v>(&self, row: &'v [Value], zone: &TimeZone, rooms: &'v mut [Scratch], data: &mut [Datum<'v>]) {
        let columns = self.def.columns.iter().zip(rooms).zip(data);
        for (value, ((column, room), datum)) in row.iter().zip(columns) {
            *datum = column.ty.store(value, zone, room);
        }
    }
}

/// NOW() in a precision, as a column stores it.
pub fn now(ctx: &EvalCtx, scale: u8) -> Value {
    let unit = 10i64.pow(6 - u32::from(scale.min(6)));
    let micros = ctx.env.now_micros - ctx.env.now_micros.rem_euclid(unit);
    Val::DateTime(ctx.env.time_zone.local(micros, scale))
}
