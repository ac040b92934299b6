//! A target at work: values on their way into its columns, defaults, CHECK constraints, and the texts of errors.

use super::rows::Slots;
use crate::dictionary::{ColumnDefault, TableDef};
use crate::error::{Result, SqlError, er};
use crate::expr::{EvalCtx, Row, schema_violation};
use crate::plan::change::hooks::RowEvent;
use crate::plan::change::{Check, CheckOf, Target};
use crate::types::json::array;
use crate::types::{TypeKind, Val, Value, WarningLevel, assign};

impl Target {
    /// The value a column takes by default; `row` holds the values so far, which an expression may use. `None` if it
    /// has no default.
    pub fn default_value(&self, column: usize, row: &[Value], ctx: &EvalCtx) -> Result<Option<Value>> {
        let def = &self.def.columns[column];
        Ok(match &def.default {
            // Its value is computed when the others are there.
            None if def.generated.is_some() => Some(Val::Null),
            None if def.auto_increment => Some(Val::Null),
            None => None,
            Some(ColumnDefault::Literal(value)) => Some(value.clone()),
            Some(ColumnDefault::CurrentTimestamp) => Some(now(ctx, def.ty.scale)),
            Some(ColumnDefault::Expression(_)) => match &self.defaults[column] {
                Some(expr) => {
                    let slots = Slots(row);
                    let value = expr.eval(&ctx.env.ctx_with(&slots))?.into_owned();
                    let value = assign::between_sets(value, (&expr.ty, &def.ty), &def.name, ctx.env)?;
                    Some(self.assigned(column, value, RowEvent::Insert, ctx)?.into_owned())
                }
                None => None,
            },
        })
    }

    /// As [`Target::default_value`]; without a default it is error 1364, or the type's zero and a warning.
    pub fn default_or_zero(&self, column: usize, row: &[Value], ctx: &EvalCtx) -> Result<Value> {
        if let Some(value) = self.default_value(column, row, ctx)? {
            return Ok(value);
        }
        let def = &self.def.columns[column];
        if def.ty.kind == TypeKind::Enum && !def.ty.nullable {
            return Ok(assign::zero_value(&def.ty));
        }
        ctx.env.complain(match self.seen.as_deref() {
            Some(seen) => SqlError::no_default_in_view(&seen.view.schema, &seen.view.name),
            None => SqlError::no_default(&def.name),
        })?;
        Ok(assign::zero_value(&def.ty))
    }

    /// A value on its way into a column: of its type, and not NULL where the column is not. That is looked at later where a hook acts
    /// before the event.
    pub fn assigned<'v>(
        &self,
        column: usize,
        value: Val<'v>,
        event: RowEvent,
        ctx: &EvalCtx,
    ) -> Result<Val<'v>> {
        if value.is_null() && self.acts_before(event) {
            return Ok(Val::Null);
        }
        assigned(&self.def, column, value, ctx)
    }

    /// What stands for NULL in a column that cannot be it, with a warning; or error 1048.
    pub fn null_refused(&self, column: usize, ctx: &EvalCtx) -> Result<Value> {
        Ok(assigned(&self.def, column, Val::Null, ctx)?.into_owned())
    }

    /// Error 1369 if the row would not be seen through the view that it goes in through, 3819 if it violates a CHECK constraint.
    pub fn check(&self, row: &dyn Row, ctx: &EvalCtx) -> Result<()> {
        self.checks.iter().try_for_each(|check| check.test(row, ctx))
    }

    /// Error 3059 if the row, which REPLACE is to delete, is not seen through the view.
    pub fn check_seen(&self, row: &dyn Row, ctx: &EvalCtx) -> Result<()> {
        match self.seen.as_deref().and_then(|seen| seen.filter.as_ref()) {
            Some(filter) if !filter.is_true(&ctx.env.ctx_with(row))? => {
                Err(SqlError::replace_of_unseen_row())
            }
            _ => Ok(()),
        }
    }

    /// Error 1062 for the key of an index that a row has in common with another.
    pub fn duplicate(&self, index: usize, row: &dyn Row) -> SqlError {
        let Some(index) = self.def.index_by_number(index) else {
            return SqlError::duplicate_entry("", &self.def.name);
        };
        let parts = index.parts.iter().map(|part| match row.column(part.column) {
            Val::Null => "NULL".to_owned(),
            Val::Str(list) if self.def.columns[part.column].ty.array => {
                array::document(&list, &self.def.columns[part.column].ty).to_string()
            }
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
}

impl Check {
    /// Error 1369 or 3819 unless the row satisfies the condition.
    pub fn test(&self, row: &dyn Row, ctx: &EvalCtx) -> Result<()> {
        let ctx = ctx.env.ctx_with(row);
        let value = self.condition.eval_bool(&ctx)?;
        match &self.of {
            CheckOf::Constraint(name) if value == Some(false) => {
                if let Some(reason) = schema_violation(&self.condition, &ctx)? {
                    ctx.env.warnings.push(WarningLevel::Error, reason);
                }
                Err(SqlError::new(
                    er::CHECK_CONSTRAINT_VIOLATED,
                    format!("Check constraint '{name}' is violated."),
                ))
            }
            CheckOf::View(view) if value != Some(true) => {
                Err(SqlError::view_check_failed(&view.schema, &view.name))
            }
            _ => Ok(()),
        }
    }
}

/// A value on its way into a column of a table: of its type, and not NULL where the column is not.
pub fn assigned<'v>(table: &TableDef, column: usize, value: Val<'v>, ctx: &EvalCtx) -> Result<Val<'v>> {
    let def = &table.columns[column];
    if value.is_null() {
        if def.ty.nullable {
            return Ok(Val::Null);
        }
        ctx.env.complain(SqlError::bad_null(&def.name))?;
        return Ok(assign::null_replacement(&def.ty));
    }
    if def.ty.kind == TypeKind::Json && !matches!(value, Val::Json(_)) {
        // An error about a document names the table, too.
        let name = format!("{}.{}", table.name, def.name);
        return assign::assign(value, &def.ty, &name, ctx.env);
    }
    assign::assign(value, &def.ty, &def.name, ctx.env)
}

/// NOW() in a precision, as a column stores it.
pub fn now(ctx: &EvalCtx, scale: u8) -> Value {
    let unit = 10i64.pow(6 - u32::from(scale.min(6)));
    let micros = ctx.env.now_micros - ctx.env.now_micros.rem_euclid(unit);
    Val::DateTime(ctx.env.time_zone.local_instant(micros, scale))
}
