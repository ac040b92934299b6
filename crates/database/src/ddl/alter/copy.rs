//! ALTER TABLE by copying the rows into a new table, converting each value to its new column's type.

use super::super::{DdlContext, default, index};
use super::columns::{as_counter, initial_value};
use super::draft::Draft;
use super::way::needs_copy_in_mysql;
use crate::context::SessionState;
use crate::dictionary::{ColumnDef, DefinitionChange, IndexDef, TableDef};
use crate::error::{Result, SqlError, er};
use crate::expr::{Env, Expr, NoSubqueries};
use crate::types::assign::{assign, between_sets, null_replacement};
use crate::types::json::array;
use crate::types::json::binary::in_binary;
use crate::types::{DateTime, SqlMode, Val, Value, Warnings};
use tidemark_engine::{Error, Keep, Read, RowView, Sequence, TableId};

/// Makes rows of a new table out of an old one's.
struct RowCopy<'a> {
    state: &'a SessionState,
    env: Env<'a>,
    old: &'a TableDef,
    draft: &'a Draft,
    /// What each column of the draft begins with: NULL for those that have a column to be copied from.
    initial: Vec<Value>,
    /// New columns whose default is an expression, and generated columns, from left to right.
    computed: Vec<(usize, Expr)>,
    /// Where MySQL would leave the rows alone, values that do not fit a virtual column without an index are cut to fit, which it
    /// does when they are read.
    lenient: Option<Env<'a>>,
    checks: Vec<(String, Expr)>,
    /// AUTO_INCREMENT's column.
    counter: Option<usize>,
    /// It was AUTO_INCREMENT before, and its counter goes on.
    goes_on: bool,
    /// Rows that have no value or 0 in it are given one: it was not AUTO_INCREMENT before.
    gives_values: bool,
    /// The values it may have, and the one that its next row gets.
    sequence: Sequence,
    next_value: u64,
    rows: u64,
}

impl RowCopy<'_> {
    /// The next row of the new table.
    fn convert(&mut self, from: &RowView) -> Result<Vec<Value>> {
        self.rows += 1;
        self.env.row_number.set(self.rows);
        let mut values: Vec<Value> = Vec::with_capacity(self.draft.columns.len());
        for (i, column) in self.draft.columns.iter().enumerate() {
            let value = match self.draft.origins[i] {
                _ if column.generated.is_some() => Value::Null,
                Some(origin) if Some(i) == self.counter && self.gives_values => {
                    let value = self.old.columns[origin]
                        .ty
                        .load(from.get(origin), &self.state.settings.time_zone);
                    match value.is_null() || matches!(value, Val::Int(0) | Val::UInt(0)) {
                        true => self.next_value(column)?,
                        false => self.converted(from, origin, column)?,
                    }
                }
                Some(origin) => self.converted(from, origin, column)?,
                None if Some(i) == self.counter => self.next_value(column)?,
                None => self.initial[i].clone(),
            };
            if Some(i) == self.counter
                && let last @ 1.. = as_counter(&value)
            {
                self.next_value = self.next_value.max(self.sequence.after(last));
            }
            values.push(value);
        }
        for (i, expr) in &self.computed {
            values[*i] = self.computed(*i, expr, &values)?;
        }
        self.check(&values)?;
        Ok(values)
    }

    /// The value that AUTO_INCREMENT gives to the row.
    fn next_value(&self, column: &ColumnDef) -> Result<Value> {
        let value = Value::UInt(self.next_value);
        Ok(assign(value, &column.ty, &column.name, &self.env)?.into_owned())
    }

    /// A value of the old row in the type of its new column.
    fn converted(&self, row: &RowView, origin: usize, column: &ColumnDef) -> Result<Value> {
        let from = &self.old.columns[origin].ty;
        let value = from.load(row.get(origin), &self.state.settings.time_zone);
        if value.is_null() && !column.ty.nullable {
            if self.env.strict {
                return Err(SqlError::new(
                    er::INVALID_USE_OF_NULL,
                    "Invalid use of NULL value",
                ));
            }
            let warning = SqlError::data_truncated(&column.name, self.rows);
            self.state.warnings.warn(warning);
            return Ok(null_replacement(&column.ty));
        }
        if *from == column.ty || value.is_null() {
            return Ok(match value {
                // What an older version has stored as text takes the form of today.
                Val::Json(stored) => Val::Json(in_binary(stored)?).into_owned(),
                value => value.into_owned(),
            });
        }
        let value = between_sets(value, (from, &column.ty), &column.name, &self.env)?;
        Ok(assign(value, &column.ty, &column.name, &self.env)?.into_owned())
    }

    fn computed(&self, at: usize, expr: &Expr, row: &[Value]) -> Result<Value> {
        let column = &self.draft.columns[at];
        let mut indexes = self.draft.indexes.iter().flat_map(|index| &index.parts);
        let env = match &self.lenient {
            Some(lenient) if column.is_virtual() && !indexes.any(|part| part.column == at) => lenient,
            _ => &self.env,
        };
        let value = expr.eval(&env.ctx_with(&row)).map_err(|error| {
            let of_part = |index: &&IndexDef| index.parts.iter().any(|part| part.column == at);
            let index = self.draft.indexes.iter().find(of_part);
            array::in_index(error, index.map_or("", |index| &index.name))
        })?;
        let value = value.into_owned();
        if !value.is_null() {
            let value = between_sets(value, (&expr.ty, &column.ty), &column.name, env)?;
            return Ok(assign(value, &column.ty, &column.name, env)?.into_owned());
        }
        if !column.ty.nullable {
            self.env.complain(SqlError::bad_null(&column.name))?;
            return Ok(null_replacement(&column.ty));
        }
        Ok(value)
    }

    fn check(&self, row: &[Value]) -> Result<()> {
        for (name, check) in &self.checks {
            if check.eval_bool(&self.env.ctx_with(&row))? == Some(false) {
                return Err(SqlError::new(
                    er::CHECK_CONSTRAINT_VIOLATED,
                    format!("Check constraint '{name}' is violated."),
                ));
            }
        }
        Ok(())
    }
}

impl DdlContext<'_> {
    /// Creates the draft's table and fills it with the old one's rows; returns its id and their number.
    pub(super) fn copy_table(
        &self,
        change: &mut DefinitionChange<'_>,
        old: &TableDef,
        draft: &Draft,
    ) -> Result<(TableId, u64)> {
        let schema = index::table_schema(&draft.columns, &draft.indexes);
        let id = change.ddl.create_table(&schema)?;
        let zone = &self.state.settings.time_zone;
        let unheard = Warnings::new(0);
        let mut row_copy = self.row_copy(old, draft, &unheard)?;
        let unique: Vec<&IndexDef> = draft.indexes.iter().filter(|index| index.unique).collect();
        // The unique keys of the row that is being written, for the error that one of them may be.
        let mut last_keys: Vec<String> = Vec::new();
        let copied = change.ddl.copy_rows(old.id, id, &mut |view, new| {
            let values = row_copy.convert(view)?;
            last_keys.clear();
            last_keys.extend(
                unique
                    .iter()
                    .map(|index| entry_text(index, &draft.columns, &values)),
            );
            for (i, (value, column)) in values.iter().zip(&draft.columns).enumerate() {
                let mut scratch = [0; 32];
                new.set(i, column.ty.store(value, zone, &mut scratch));
            }
            Ok(())
        });
        let copied = copied.map_err(|error| match error {
            Error::DuplicateKey { index, .. } => {
                let at = unique
                    .iter()
                    .position(|unique| unique.number == index)
                    .unwrap_or(0);
                let name = unique.get(at).map_or("PRIMARY", |index| index.name.as_str());
                let entry = last_keys.get(at).cloned().unwrap_or_default();
                SqlError::duplicate_entry(&entry, &format!("{}.{name}", old.name))
            }
            other => other.into(),
        })?;
        if row_copy.counter.is_some() {
            let before = match row_copy.goes_on {
                true => change.ddl.table(old.id)?.auto_increment_peek(),
                false => 1,
            };
            let next = draft.auto_increment.unwrap_or(before).max(row_copy.next_value);
            change.ddl.table(id)?.auto_increment_set(next)?;
        }
        Ok((id, copied))
    }

    /// `unheard` takes the warnings about what does not fit virtual columns.
    fn row_copy<'c>(
        &'c self,
        old: &'c TableDef,
        draft: &'c Draft,
        unheard: &'c Warnings,
    ) -> Result<RowCopy<'c>> {
        let state = self.state;
        let mut env = state.env(&NoSubqueries, &[]);
        env.writes = true;
        let mut lenient = state.env(&NoSubqueries, &[]);
        lenient.warnings = unheard;
        lenient.strict = false;
        let now: DateTime = state.settings.time_zone.local(state.now_micros.get(), 6);
        let mut initial = Vec::with_capacity(draft.columns.len());
        let mut computed = Vec::new();
        for (i, (column, origin)) in draft.columns.iter().zip(&draft.origins).enumerate() {
            initial.push(match origin {
                Some(_) => Value::Null,
                None => initial_value(column, &now, &env),
            });
            let default = default::expression(column).filter(|_| origin.is_none());
            let generated = column
                .generated
                .as_ref()
                .map(|generated| generated.expression.as_str());
            let bound = match (generated, default) {
                (Some(text), _) => self.bind_in(&draft.columns, text, "generated column function")?,
                (None, Some(text)) => self.bind(&draft.columns, text)?,
                (None, None) => continue,
            };
            computed.push((i, bound));
        }
        let counter = draft.columns.iter().position(|column| column.auto_increment);
        let sequence = self.sequence(&draft.columns[counter.unwrap_or(0)].ty);
        let comes = |at: usize| draft.origins[at].is_none_or(|origin| !old.columns[origin].auto_increment);
        let first = match draft.auto_increment.filter(|_| counter.is_some_and(comes)) {
            Some(first) => first.max(1),
            None => 1,
        };
        Ok(RowCopy {
            state,
            env,
            old,
            draft,
            initial,
            computed,
            lenient: (!needs_copy_in_mysql(old, draft)).then_some(lenient),
            checks: self.bind_checks(&draft.columns, &draft.options.checks)?,
            counter,
            goes_on: counter.is_some_and(|at| !comes(at)),
            gives_values: counter.is_some_and(comes)
                && !state.settings.sql_mode.has(SqlMode::NO_AUTO_VALUE_ON_ZERO),
            sequence,
            next_value: match counter.is_some_and(comes) {
                true => sequence.at_or_above(first).unwrap_or(sequence.max),
                false => 1,
            },
            rows: 0,
        })
    }

    /// Names the duplicate that building an index met: the row is read back by its primary key.
    pub(super) fn duplicate_in(&self, table: &TableDef, index: &IndexDef, error: Error) -> SqlError {
        let Error::DuplicateKey { primary_key, .. } = error else {
            return error.into();
        };
        let zone = &self.state.settings.time_zone;
        let mut entry = String::new();
        let engine = self.state.database.engine();
        if let Ok(stored) = engine.table(table.id) {
            let mut txn = engine.transaction();
            txn.begin(tidemark_engine::Isolation::ReadCommitted, true);
            let read = stored.get(&mut txn, 0, &primary_key, Read::Consistent, &mut |row| {
                let load = |(i, column): (usize, &ColumnDef)| column.ty.load(row.get(i), zone).into_owned();
                let values: Vec<Value> = table.columns.iter().enumerate().map(load).collect();
                entry = entry_text(index, &table.columns, &values);
                Ok(Keep::Release)
            });
            // The row is only looked at for the error text.
            let _ = read.and_then(|_| txn.rollback());
        }
        SqlError::duplicate_entry(&entry, &format!("{}.{}", table.name, index.name))
    }
}

/// The key of a row as error 1062 prints it.
fn entry_text(index: &IndexDef, columns: &[ColumnDef], values: &[Value]) -> String {
    let parts: Vec<String> = index
        .parts
        .iter()
        .map(|part| match &values[part.column] {
            Value::Null => "NULL".to_owned(),
            Value::Str(list) if columns[part.column].ty.array => {
                array::document(list, &columns[part.column].ty).to_string()
            }
            value => {
                let text = String::from_utf8_lossy(&value.to_text()).into_owned();
                match part.prefix {
                    Some(prefix) => text.chars().take(prefix as usize).collect(),
                    None => text,
                }
            }
        })
        .collect();
    parts.join("-")
}
