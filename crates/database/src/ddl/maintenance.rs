//! ANALYZE, OPTIMIZE, CHECK and REPAIR TABLE. ANALYZE gathers [statistics](crate::statistics) and renews histograms
//! (`histogram.rs`); CHECK reads the table through; OPTIMIZE copies it into new trees, as `ALTER TABLE … FORCE` does: trees are
//! kept at least half full by merging pages, a copy is full, and the free pages of the old trees go back to the file.

use super::DdlContext;
use crate::accounts::Privileges;
use crate::context::answer::{Answer, ResultRows, text};
use crate::dictionary::TableDef;
use crate::error::{Result, SqlError, er};
use crate::monitor::refresh::{is_persistent, sample_size};
use crate::parse::ast::{MaintenanceKind, ObjectName};
use crate::statistics;
use crate::types::{Val, Value};
use tidemark_engine::{Flow, Isolation, Keep, KeyRange, RangeScan, Read};

impl DdlContext<'_> {
    pub(super) fn maintain(
        &self,
        kind: MaintenanceKind,
        tables: &[ObjectName],
        may: &dyn Fn(&TableDef) -> Result<()>,
    ) -> Result<Answer> {
        for name in tables {
            let (schema, table) = self.state.resolve(name)?;
            if self.temporary(schema, table).is_some() {
                continue;
            }
            let both = Privileges::SELECT.union(Privileges::INSERT);
            match kind {
                MaintenanceKind::Check => self.state.require_describe(schema, table)?,
                _ => self.state.require_in_part(both, schema, table)?,
            }
        }
        let open = |name: &ObjectName| {
            let table = self.state.table(name)?;
            if table.is_view() && kind != MaintenanceKind::Check {
                return Err(SqlError::wrong_object(&table.schema, &table.name, "BASE TABLE"));
            }
            may(&table).map(|()| table)
        };
        let operation = match kind {
            MaintenanceKind::Analyze => "analyze",
            MaintenanceKind::Optimize => "optimize",
            MaintenanceKind::Check => "check",
            MaintenanceKind::Repair => "repair",
        };
        let mut rows = ResultRows::new(&[
            ("Table", text(512)),
            ("Op", text(40)),
            ("Msg_type", text(40)),
            ("Msg_text", text(1024)),
        ]);
        for name in tables {
            let (schema, table) = self.state.resolve(name)?;
            let full = format!("{schema}.{table}");
            let mut say = |kind: &str, message: &str| {
                rows.push(
                    [full.as_str(), operation, kind, message]
                        .into_iter()
                        .map(|cell| Value::string(cell.as_bytes()))
                        .collect(),
                );
            };
            let table = match open(name) {
                Ok(table) => table,
                Err(error) => {
                    say("Error", &error.message);
                    match error.code {
                        er::CANT_UPDATE_WITH_READLOCK => say("error", "Corrupt"),
                        _ => say("status", "Operation failed"),
                    }
                    continue;
                }
            };
            match kind {
                MaintenanceKind::Optimize => {
                    say(
                        "note",
                        "Table does not support optimize, doing recreate + analyze instead",
                    );
                    match self.recreate(name) {
                        Ok(()) => say("status", "OK"),
                        Err(error) => {
                            say("Error", &error.message);
                            say("status", "Operation failed");
                        }
                    }
                }
                MaintenanceKind::Repair => {
                    say("note", "The storage engine for the table doesn't support repair");
                }
                MaintenanceKind::Check if table.is_virtual() => say("status", "OK"),
                MaintenanceKind::Check if table.is_view() => match crate::show::view::valid_view(&table) {
                    Ok(()) => say("status", "OK"),
                    Err(error) => {
                        say("Error", &error.message);
                        say("error", "Corrupt");
                    }
                },
                MaintenanceKind::Check => match self.read_through(&table) {
                    Ok(()) => say("status", "OK"),
                    Err(error) => {
                        say("Error", &error.message);
                        say("error", "Corrupt");
                    }
                },
                MaintenanceKind::Analyze if self.state.settings.read_only => {
                    say("Error", &SqlError::read_only_transaction().message);
                    say(
                        "Error",
                        "Unable to store dynamic table statistics into data dictionary.",
                    );
                    say("status", "Unable to write table statistics to DD tables");
                }
                MaintenanceKind::Analyze => {
                    self.renew_histograms(&table)?;
                    self.gather_statistics(&table)?;
                    say("status", "OK");
                }
            }
        }
        Ok(Answer::Rows(rows))
    }

    /// Looks at the table's leaves. What is known of a temporary table lives with it.
    fn gather_statistics(&self, table: &TableDef) -> Result<()> {
        if table.is_virtual() {
            return Ok(());
        }
        let database = &self.state.database;
        let stored = database.engine().table(table.id)?;
        let size = sample_size(database, table);
        let found = statistics::gather(table, size, &mut |f| match self.state.process.is_interrupted() {
            true => Err(SqlError::interrupted()),
            false => f(&stored),
        })?;
        let is_stored = is_persistent(database, table);
        let found = database.statistics.put(database.engine(), found, is_stored)?;
        statistics::announce(&stored, table, &found);
        Ok(())
    }

    /// Reads every row, and every entry of every index; their numbers must agree.
    fn read_through(&self, table: &TableDef) -> Result<()> {
        let engine = self.state.database.engine();
        let stored = engine.table(table.id)?;
        let mut txn = engine.transaction();
        txn.begin(Isolation::RepeatableRead, true);
        txn.consistent_snapshot()?;
        let mut counts = Vec::new();
        // Of the rows, those that a multi-valued index has entries of.
        let mut listed = vec![0u64; table.columns.len()];
        let all = [KeyRange::all()];
        let secondary = table.indexes.iter().filter(|index| index.number > 0);
        for number in std::iter::once(0).chain(secondary.map(|index| index.number)) {
            let mut count = 0u64;
            stored.scan(
                &mut txn,
                &RangeScan::new(number, &all[0]).once(&all),
                Read::Consistent,
                &mut |row| {
                    for (i, column) in table.columns.iter().enumerate() {
                        let value = column.ty.load(row.get(i), &self.state.settings.time_zone);
                        let is_empty = matches!(value, Val::Str(list) if list.is_empty());
                        listed[i] += u64::from(number == 0 && column.ty.array && !is_empty);
                    }
                    count += 1;
                    if count.is_multiple_of(1024) && self.state.process.is_interrupted() {
                        return Err(SqlError::interrupted().into());
                    }
                    Ok((Keep::Release, Flow::Continue))
                },
            )?;
            counts.push((number, count));
        }
        txn.rollback()?;
        let expected = |number: usize| {
            let index = table.index_by_number(number);
            let array = index.and_then(|index| Some(index.parts[table.array_part(index)?].column));
            array.map_or(counts[0].1, |column| listed[column])
        };
        if let Some((number, count)) = counts.iter().find(|(number, count)| *count != expected(*number)) {
            return Err(SqlError::unknown(format!(
                "Index {number} has entries of {count} rows, the table has {} for it",
                expected(*number)
            )));
        }
        Ok(())
    }
}
