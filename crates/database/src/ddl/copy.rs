//! ALTER TABLE by copying the rows into a new table, converting each value to its new column's type.

use super::alter::{Draft, initial_value};
use super::{DdlContext, default, index};
use crate::dictionary::{DefinitionChange, IndexDef, TableDef};
use crate::error::{Result, SqlError, er};
use crate::expr::NoSubqueries;
use crate::types::assign::{assign, zero_value};
use crate::types::{DateTime, Value};
use tidemark_engine::{Error, Keep, Read, TableId};

impl DdlContext<'_> {
    /// Creates the draft's table and fills it with the old one's rows; returns its id and their number.
    pub(super) fn copy_table(
        &self,
        change: &mut DefinitionChange<'_>,
        old: &TableDef,
        draft: &Draft,
    ) -> Result<(TableId, u64)> {
        let state = self.state;
        let id = change
            .ddl
            .create_table(&index::table_schema(&draft.columns, &draft.indexes))?;
        let zone = &state.settings.time_zone;
        let mut env = state.env(&NoSubqueries, &[]);
        env.writes = true;
        let now: DateTime = zone.local(state.now_micros.get(), 6);
        let mut initial = Vec::with_capacity(draft.columns.len());
        for (column, origin) in draft.columns.iter().zip(&draft.origins) {
            initial.push(match origin {
                Some(_) => Value::Null,
                None => initial_value(column, &now, &env),
            });
        }
        let mut computed = Vec::new();
        for (i, column) in draft.columns.iter().enumerate() {
            if draft.origins[i].is_none()
                && let Some(text) = default::expression(column)
            {
                computed.push((i, self.bind(&draft.columns, text)?));
            }
        }
        let checks = self.bind_checks(&draft.columns, &draft.options.checks)?;
        let counter = draft.columns.iter().position(|column| column.auto_increment);
        let mut next_value = 1u64;
        let unique: Vec<&IndexDef> = draft.indexes.iter().filter(|index| index.unique).collect();
        let mut last_keys: Vec<String> = Vec::new();
        let mut row = 0u64;
        let copied = change.ddl.copy_rows(old.id, id, &mut |view, new| {
            row += 1;
            env.row_number.set(row);
            let mut values: Vec<Value> = Vec::with_capacity(draft.columns.len());
            for (i, column) in draft.columns.iter().enumerate() {
                let value = match draft.origins[i] {
                    None if column.auto_increment => {
                        let value = Value::UInt(next_value);
                        next_value += 1;
                        assign(value, &column.ty, &column.name, &env)?.into_owned()
                    }
                    None => initial[i].clone(),
                    Some(origin) => {
                        let from = &old.columns[origin].ty;
                        let value = from.load(view.get(origin), zone);
                        if value.is_null() && !column.ty.nullable {
                            if env.strict {
                                return Err(SqlError::new(
                                    er::INVALID_USE_OF_NULL,
                                    "Invalid use of NULL value",
                                )
                                .into());
                            }
                            state.warnings.warn(SqlError::data_truncated(&column.name, row));
                            zero_value(&column.ty)
                        } else if *from == column.ty || value.is_null() {
                            value.into_owned()
                        } else {
                            assign(value, &column.ty, &column.name, &env)?.into_owned()
                        }
                    }
                };
                if Some(i) == counter {
                    next_value = next_value.max(as_counter(&value).saturating_add(1));
                }
                values.push(value);
            }
            for (i, default) in &computed {
                let column = &draft.columns[*i];
                let value = default.eval(&env.ctx_with(&values))?.into_owned();
                values[*i] = if !value.is_null() {
                    assign(value, &column.ty, &column.name, &env)?.into_owned()
                } else if column.ty.nullable {
                    value
                } else {
                    env.complain(SqlError::bad_null(&column.name))?;
                    zero_value(&column.ty)
                };
            }
            for (name, check) in &checks {
                if check.eval_bool(&env.ctx_with(&values))? == Some(false) {
                    return Err(SqlError::new(
                        er::CHECK_CONSTRAINT_VIOLATED,
                        format!("Check constraint '{name}' is violated."),
                    )
                    .into());
                }
            }
            last_keys.clear();
            for index in &unique {
                last_keys.push(entry_text(index, &values));
            }
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
        if counter.is_some() {
            let before = change.ddl.table(old.id)?.auto_increment_peek();
            let next = draft.auto_increment.unwrap_or(before).max(next_value);
            change.ddl.table(id)?.auto_increment_set(next)?;
        }
        Ok((id, copied))
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
                let load = |(i, column): (usize, &crate::dictionary::ColumnDef)| {
                    column.ty.load(row.get(i), zone).into_owned()
                };
                let values: Vec<Value> = table.columns.iter().enumerate().map(load).collect();
                entry = entry_text(index, &values);
                Ok(Keep::Release)
            });
            // The row is only looked at for the error text.
            let _ = read.and_then(|_| txn.rollback());
        }
        SqlError::duplicate_entry(&entry, &format!("{}.{}", table.name, index.name))
    }
}

fn as_counter(value: &Value) -> u64 {
    match value {
        Value::Int(v) => (*v).max(0) as u64,
        Value::UInt(v) => *v,
        Value::Double(v) => *v as u64,
        Value::Float(v) => *v as u64,
        _ => 0,
    }
}

/// The key of a row as error 1062 prints it.
fn entry_text(index: &IndexDef, values: &[Value]) -> String {
    let parts: Vec<String> = index
        .parts
        .iter()
        .map(|part| match &values[part.column] {
            Value::Null => "NULL".to_owned(),
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
