//! Columns that ALTER TABLE adds, or gives another definition.

use super::super::{DdlContext, column, generated, index};
use super::draft::Draft;
use super::way;
use crate::dictionary::{ColumnDef, ColumnDefault, TableDef};
use crate::error::{Result, SqlError, er};
use crate::expr::Env;
use crate::parse::ast::{self, AlterAction};
use crate::types::assign::{assign, zero_value};
use crate::types::storage::int_range;
use crate::types::{DateTime, SqlMode, SqlType, TimeZone, TypeKind, Value};
use tidemark_engine::{Flow, Isolation, Keep, KeyRange, RangeScan, Read, RowView, Sequence};

impl DdlContext<'_> {
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

    /// Where the counter goes on after the values that the rows have: the least that ALTER TABLE can set it to.
    pub(super) fn counter_above_rows(&self, table: &TableDef) -> Result<u64> {
        let Some(column) = table.auto_increment() else {
            return Ok(1);
        };
        let mut indexes = table.indexes.iter();
        let Some(index) = indexes.find(|index| index.parts.first().is_some_and(|part| part.column == column))
        else {
            return Ok(1);
        };
        let ty = &table.columns[column].ty;
        let engine = self.state.database.engine();
        let mut txn = engine.transaction();
        txn.begin(Isolation::ReadCommitted, true);
        let (mut last, all) = (Value::Null, KeyRange::all());
        let mut see = |row: &RowView| {
            last = ty.load(row.get(column), &TimeZone::UTC).into_owned();
            Ok((Keep::Release, Flow::Stop))
        };
        let scan = RangeScan {
            reverse: !index.parts[0].descending,
            ..RangeScan::new(index.number, &all)
        };
        engine
            .table(table.id)?
            .scan(&mut txn, &scan, Read::Consistent, &mut see)?;
        txn.commit()?;
        Ok(match as_counter(&last) {
            0 => 1,
            last => self.sequence(ty).after(last),
        })
    }

    /// The values that the session gives to an AUTO_INCREMENT column.
    pub(super) fn sequence(&self, ty: &SqlType) -> Sequence {
        Sequence {
            step: self.state.settings.auto_increment_increment,
            offset: self.state.settings.auto_increment_offset,
            max: u64::try_from(int_range(ty).1).unwrap_or(u64::MAX),
        }
    }

    /// `ALTER COLUMN … SET DEFAULT`; `None` is DROP DEFAULT.
    pub(super) fn set_default(
        &self,
        column: &mut ColumnDef,
        default: Option<&ast::DefaultValue>,
    ) -> Result<()> {
        if column.generated.is_some() {
            return match default {
                Some(_) => Err(generated::wrong_usage("DEFAULT")),
                None => Ok(()),
            };
        }
        column.default = match default {
            Some(expr) => Some(column::default(self.state, &column.name, &column.ty, expr)?),
            None => None,
        };
        Ok(())
    }
}

/// Sees to the indexes that stay and whose columns got another definition: what is in the primary key is NOT NULL, and an index
/// keeps its prefix only while the column is longer.
pub(super) fn fit_indexes(draft: &mut Draft, actions: &[AlterAction]) -> Result<()> {
    let written = actions.iter().filter_map(|action| match action {
        AlterAction::ModifyColumn { column, .. } | AlterAction::ChangeColumn { column, .. } => {
            Some(column.name.as_str())
        }
        _ => None,
    });
    for name in written {
        if let Some(at) = draft.column(name) {
            fit_primary(draft, at)?;
            fit_prefixes(draft, at)?;
        }
    }
    Ok(())
}

fn fit_primary(draft: &mut Draft, at: usize) -> Result<()> {
    let primary = draft.index(index::PRIMARY).map(|i| &draft.indexes[i]);
    let in_primary = primary.is_some_and(|index| index.parts.iter().any(|part| part.column == at));
    if !in_primary || !draft.columns[at].ty.nullable {
        return Ok(());
    }
    if draft.explicit_null[at] {
        return Err(SqlError::new(
            er::PRIMARY_CANT_HAVE_NULL,
            "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead",
        ));
    }
    let def = &mut draft.columns[at];
    def.ty.nullable = false;
    if matches!(&def.default, Some(ColumnDefault::Literal(v)) if v.is_null()) {
        def.default = None;
    }
    Ok(())
}

fn fit_prefixes(draft: &mut Draft, at: usize) -> Result<()> {
    let def = &draft.columns[at];
    for (i, index) in draft.indexes.iter_mut().enumerate() {
        for part in index.parts.iter_mut().filter(|part| part.column == at) {
            if let Some(prefix) = part.prefix {
                let whole = !def.ty.is_string() || (!def.ty.is_blob_or_text() && prefix >= def.ty.length);
                if whole {
                    part.prefix = None;
                    draft.index_origins[i] = None;
                }
            }
            if part.prefix.is_none() && def.ty.is_blob_or_text() {
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
    Ok(())
}

/// An AUTO_INCREMENT value, or 0 for one below.
pub(super) fn as_counter(value: &Value) -> u64 {
    match value {
        Value::Int(v) => (*v).max(0) as u64,
        Value::UInt(v) => *v,
        _ => 0,
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
