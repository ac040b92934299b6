//! Columns that ALTER TABLE adds, or gives another definition.

use super::super::create::column_key;
use super::super::{DdlContext, column, default, generated, index};
use super::draft::{Draft, unknown_column, unknown_column_in};
use super::way;
use crate::dictionary::{ColumnDef, ColumnDefault, TableDef, names_equal};
use crate::error::{Result, SqlError, er};
use crate::expr::Env;
use crate::parse::ast::{self, ColumnPosition, IndexKind};
use crate::types::assign::{assign, zero_value};
use crate::types::{DateTime, SqlMode, TypeKind, Value};
use tidemark_engine::{Flow, Isolation, Keep, KeyRange, RangeScan, Read, RowView};

impl DdlContext<'_> {
    /// `ADD COLUMN`, with the key and the check that its definition holds.
    pub(super) fn add_column(
        &self,
        draft: &mut Draft,
        column: &ast::ColumnDef,
        position: &ColumnPosition,
        old: &TableDef,
    ) -> Result<()> {
        if draft.column(&column.name).is_some() {
            return Err(SqlError::duplicate_column(&column.name));
        }
        let at = draft.place(position)?;
        if let Some(written) = &column.default {
            default::refuse_unsafe(&written.expr)?;
        }
        let def = column::column(self.state, column, draft.options.collation)?;
        draft.insert_column(at, def, None, column.nullable == Some(true));
        if let Some(written) = &column.check {
            draft.add_check(written, Some(&column.name), old)?;
        }
        if let Some(key) = column_key(column) {
            self.add_index(draft, &key)?;
        }
        Ok(())
    }

    /// Error 1292 if rows there are would get a date of zeros that the mode refuses.
    pub(super) fn refuse_zero_dates(&self, table: &TableDef, draft: &Draft) -> Result<()> {
        let mode = self.state.settings.sql_mode;
        if !mode.strict() || !mode.has(SqlMode::NO_ZERO_DATE) {
            return Ok(());
        }
        let Some(column) = way::added(draft).find(|column| way::begins_with_zero_date(column)) else {
            return Ok(());
        };
        match self.has_rows(table)? {
            true => {
                let kind = if column.ty.kind == TypeKind::Date {
                    "date"
                } else {
                    "datetime"
                };
                let value = zero_value(&column.ty);
                let value = String::from_utf8_lossy(&value.to_text()).into_owned();
                Err(SqlError::incorrect_temporal_for_column(
                    kind,
                    &value,
                    &column.name,
                    1,
                ))
            }
            false => Ok(()),
        }
    }

    fn has_rows(&self, table: &TableDef) -> Result<bool> {
        let engine = self.state.database.engine();
        let mut txn = engine.transaction();
        txn.begin(Isolation::ReadCommitted, true);
        let (mut found, all) = (false, KeyRange::all());
        let mut see = |_: &RowView| {
            found = true;
            Ok((Keep::Release, Flow::Stop))
        };
        let table = engine.table(table.id)?;
        table.scan(&mut txn, &RangeScan::new(0, &all), Read::Consistent, &mut see)?;
        txn.commit()?;
        Ok(found)
    }

    /// `ALTER COLUMN … SET DEFAULT`; `None` is DROP DEFAULT.
    pub(super) fn set_default(
        &self,
        draft: &mut Draft,
        column: &str,
        default: Option<&ast::DefaultValue>,
        table: &str,
    ) -> Result<()> {
        let at = draft
            .column(column)
            .ok_or_else(|| unknown_column_in(column, table))?;
        let target = &mut draft.columns[at];
        if target.generated.is_some() {
            return match default {
                Some(_) => Err(generated::wrong_usage("DEFAULT")),
                None => Ok(()),
            };
        }
        target.default = match default {
            Some(expr) => Some(column::default(self.state, &target.name, &target.ty, expr)?),
            None => None,
        };
        Ok(())
    }

    pub(super) fn change_column(
        &self,
        draft: &mut Draft,
        old: &str,
        written: &ast::ColumnDef,
        position: Option<&ColumnPosition>,
    ) -> Result<()> {
        let at = draft
            .column(old)
            .ok_or_else(|| unknown_column_in(old, &draft.name))?;
        if draft.column(&written.name).is_some_and(|other| other != at) {
            return Err(SqlError::duplicate_column(&written.name));
        }
        let mut def = column::column(self.state, written, draft.options.collation)?;
        if def.is_virtual() != draft.columns[at].is_virtual() {
            return Err(generated::unsupported("Changing the STORED status"));
        }
        let in_primary = |draft: &Draft| {
            let primary = draft.index(index::PRIMARY).map(|i| &draft.indexes[i]);
            primary.is_some_and(|index| index.parts.iter().any(|part| part.column == at))
        };
        if in_primary(draft) && def.ty.nullable {
            if written.nullable == Some(true) {
                return Err(SqlError::new(
                    er::PRIMARY_CANT_HAVE_NULL,
                    "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead",
                ));
            }
            def.ty.nullable = false;
            if matches!(&def.default, Some(ColumnDefault::Literal(v)) if v.is_null()) {
                def.default = None;
            }
        }
        // An index keeps its prefix only while the column is longer.
        for (i, index) in draft.indexes.iter_mut().enumerate() {
            for part in &mut index.parts {
                if part.column == at
                    && let Some(prefix) = part.prefix
                {
                    let whole = !def.ty.is_string() || (!def.ty.is_blob_or_text() && prefix >= def.ty.length);
                    if whole {
                        part.prefix = None;
                        draft.index_origins[i] = None;
                    }
                }
                if part.column == at && part.prefix.is_none() && def.ty.is_blob_or_text() {
                    return Err(SqlError::new(
                        er::BLOB_KEY_WITHOUT_LENGTH,
                        format!(
                            "BLOB/TEXT column '{}' used in key specification without a key length",
                            def.name
                        ),
                    ));
                }
            }
        }
        draft.columns[at] = def;
        draft.explicit_null[at] = written.nullable == Some(true);
        if let Some(key) = column_key(written)
            && !(key.kind == IndexKind::Primary && in_primary(draft))
        {
            self.add_index(draft, &key)?;
        }
        if let Some(position) = position {
            let mut to = draft.place(position)?;
            if matches!(position, ColumnPosition::After(name) if names_equal(name, &written.name)) {
                return Err(unknown_column(&written.name));
            }
            if to > at {
                to -= 1;
            }
            draft.move_column(at, to);
        }
        Ok(())
    }
}

/// The value a new column has in rows that were there before it, or NULL for the time being: one whose default is an
/// expression gets its value from that, row by row.
pub(super) fn initial_value(column: &ColumnDef, now: &DateTime, env: &Env) -> Value {
    match &column.default {
        Some(ColumnDefault::Literal(value)) => value.clone(),
        Some(ColumnDefault::CurrentTimestamp) => {
            let now = assign(Value::DateTime(*now), &column.ty, &column.name, env);
            now.map_or(Value::Null, Value::into_owned)
        }
        Some(ColumnDefault::Expression(_)) => Value::Null,
        None if column.ty.nullable => Value::Null,
        None => zero_value(&column.ty),
    }
}
