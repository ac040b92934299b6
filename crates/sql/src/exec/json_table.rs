//! The rows of a JSON_TABLE, made one after the other: of the document only the tree and, for each level of NESTED, the places
//! of the row around are in memory.
//!
//! ```text
//!  a row for each place of the path        without NESTED: the row
//!    └ for each NESTED, in turn            its rows, the columns of its siblings NULL
//!    └ none has any                        one row, the columns of all of them NULL
//! ```

use super::rows::JoinedRow;
use super::{Exec, QueryScope};
use crate::error::{Result, SqlError, er};
use crate::expr::{EvalCtx, document};
use crate::plan::json_table::{JsonColumn, JsonRowsPlan, JsonSource, JsonTablePlan, Otherwise};
use crate::types::assign::assign;
use crate::types::json::{Json, PathStep, find};
use crate::types::{Conversion, TypeKind, Val, Value, WarningLevel, Warnings};
use std::borrow::Cow;
use std::cell::Cell;

impl Exec<'_, '_> {
    /// The document for the row so far; `None`: there are no rows.
    pub(super) fn json_document(
        &self,
        plan: &JsonTablePlan,
        row: &[Value],
        scope: QueryScope,
    ) -> Result<Option<Json>> {
        let so_far = JoinedRow {
            values: row,
            outer: scope.outer,
        };
        let value = plan.document.eval(&EvalCtx {
            row: &so_far,
            env: scope.env,
        })?;
        document(&value, &plan.document.ty, 1, "json_table")
    }

    /// Hands each row of a document to `each`, until that returns false.
    pub(super) fn json_rows(
        &self,
        plan: &JsonTablePlan,
        document: &Json,
        env: &Conversion,
        each: &mut dyn FnMut(&[Value]) -> Result<bool>,
    ) -> Result<()> {
        self.check()?;
        let mut run = Run {
            exec: self,
            plan,
            env,
            values: vec![Val::Null; plan.columns.len()],
            each,
        };
        run.rows(&plan.rows, document)?;
        Ok(())
    }
}

/// What came of the rows of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Made {
    None,
    Some,
    /// No more are wanted.
    Enough,
}

/// One document being taken apart.
struct Run<'r, 'a, 't> {
    exec: &'r Exec<'a, 't>,
    plan: &'r JsonTablePlan,
    env: &'r Conversion<'r>,
    /// The row being made.
    values: Vec<Value>,
    each: &'r mut dyn FnMut(&[Value]) -> Result<bool>,
}

impl Run<'_, '_, '_> {
    /// The rows of a path from a place.
    fn rows(&mut self, rows: &JsonRowsPlan, place: &Json) -> Result<Made> {
        let mut made = Made::None;
        for (number, item) in self.places(place, &rows.path)?.into_iter().enumerate() {
            self.exec.check()?;
            for at in &rows.columns {
                self.values[*at] = self.value(&self.plan.columns[*at], item, number + 1)?;
            }
            if self.below(rows, item)? == Made::Enough {
                return Ok(Made::Enough);
            }
            made = Made::Some;
        }
        self.values[rows.range.clone()].fill(Val::Null);
        Ok(made)
    }

    /// The rows of one place: those of the paths below, or one.
    fn below(&mut self, rows: &JsonRowsPlan, item: &Json) -> Result<Made> {
        let mut made = Made::None;
        for nested in &rows.nested {
            match self.rows(nested, item)? {
                Made::None => {}
                Made::Some => made = Made::Some,
                Made::Enough => return Ok(Made::Enough),
            }
        }
        if made == Made::None && !(self.each)(&self.values)? {
            return Ok(Made::Enough);
        }
        Ok(Made::Some)
    }

    fn places<'d>(&self, place: &'d Json, path: &[PathStep]) -> Result<Vec<&'d Json>> {
        find(place, path, &mut |_| self.exec.check())
    }

    fn value(&self, column: &JsonColumn, item: &Json, number: usize) -> Result<Value> {
        match &column.source {
            JsonSource::Ordinality => Ok(Val::Int(number as i64)),
            JsonSource::Exists(path) => {
                let found = Val::bool(!self.places(item, path)?.is_empty());
                Ok(assign(
                    found,
                    &column.ty,
                    &column.name,
                    &self.conversion(self.env.warnings, false),
                )?
                .into_owned())
            }
            JsonSource::Path {
                path,
                on_empty,
                on_error,
            } => {
                let found = self.places(item, path)?;
                let found = match found.as_slice() {
                    [] => return self.missing(column, on_empty),
                    [one] => Cow::Borrowed(*one),
                    // Several are an array.
                    many => Cow::Owned(Json::array_of(many)?),
                };
                self.converted(column, &found, on_error)
            }
        }
    }

    fn missing(&self, column: &JsonColumn, on_empty: &Otherwise) -> Result<Value> {
        match on_empty {
            Otherwise::Value(value) => Ok(value.clone()),
            Otherwise::Error => Err(SqlError::new(
                er::MISSING_JSON_TABLE_VALUE,
                format!("Missing value for JSON_TABLE column '{}'", column.name),
            )),
        }
    }

    fn converted(&self, column: &JsonColumn, found: &Json, on_error: &Otherwise) -> Result<Value> {
        let complaints = Warnings::default();
        let stored = found.column_value(&column.ty, &column.name, &self.conversion(&complaints, true));
        let Otherwise::Value(default) = on_error else {
            return self.or_error(column, stored, &complaints);
        };
        for complaint in complaints.to_vec() {
            // What a date or time has lost is said whatever becomes of errors.
            if complaint.level == WarningLevel::Note && complaint.code == er::TRUNCATED_WRONG_VALUE {
                self.env
                    .warnings
                    .note(SqlError::new(complaint.code, complaint.message));
            }
        }
        match stored {
            Ok(value) => Ok(value),
            // What is no member is the empty one.
            Err(error) if column.ty.kind == TypeKind::Enum && error.code == er::WARN_DATA_TRUNCATED => {
                Ok(Val::Member(0, Cow::Borrowed(b"")))
            }
            // What ends the statement is no matter of the value.
            Err(error) if error.ends_the_statement() => Err(error),
            Err(_) => Ok(default.clone()),
        }
    }

    /// What ERROR ON ERROR makes of a value: all complaints are heard.
    fn or_error(&self, column: &JsonColumn, stored: Result<Value>, complaints: &Warnings) -> Result<Value> {
        for complaint in complaints.to_vec() {
            self.env
                .warnings
                .push(complaint.level, SqlError::new(complaint.code, complaint.message));
        }
        let own = [
            er::WRONG_JSON_TABLE_VALUE,
            er::INVALID_JSON_VALUE_FOR_CAST,
            er::NUMERIC_JSON_VALUE_OUT_OF_RANGE,
        ];
        stored.map_err(|error| {
            if own.contains(&error.code) {
                return error;
            }
            self.env.warnings.warn(error);
            SqlError::new(
                er::JSON_TABLE_VALUE_OUT_OF_RANGE,
                format!("Value is out of range for JSON_TABLE's column '{}'", column.name),
            )
        })
    }

    /// The statement's circumstances, but for where complaints go and whether they are errors.
    fn conversion<'w>(&self, warnings: &'w Warnings, strict: bool) -> Conversion<'w>
    where
        Self: 'w,
    {
        Conversion {
            warnings,
            sql_mode: self.env.sql_mode,
            strict,
            writes: true,
            time_zone: self.env.time_zone,
            now_micros: self.env.now_micros,
            row_number: Cell::new(1),
        }
    }
}
