//! ANALYZE TABLE … UPDATE HISTOGRAM and DROP HISTOGRAM: what `crate::histogram` makes, made and put into the definition.
//!
//! The rows are read in a snapshot, with no lock but the one that keeps the definition; others read and write meanwhile. What
//! cannot be done is no error of the statement but a row of its result, as in MySQL.

use super::DdlContext;
use crate::accounts::Privileges;
use crate::context::answer::{Answer, ResultRows, text};
use crate::dictionary::TableDef;
use crate::error::{Result, SqlError};
use crate::expr::names_equal;
use crate::histogram::{BUCKETS_DEFAULT, BUCKETS_MAX, ColumnHistogram, Histogram, Sampler, can_have};
use crate::parse::ast::{HistogramChange, ObjectName};
use crate::types::{Date, DateTime, TimeZone, Value};
use std::sync::Arc;
use std::time::SystemTime;
use tidemark_engine::{Flow, Isolation, Keep, KeyRange, RangeScan, Read};

/// Days from year 0 to 1970.
const EPOCH: Date = Date {
    year: 1970,
    month: 1,
    day: 1,
};

/// The result: of each column whether there is a histogram now, or why not.
struct Report {
    rows: ResultRows,
    table: String,
}

impl Report {
    fn say(&mut self, kind: &str, message: &str) {
        let cells = [self.table.as_str(), "histogram", kind, message];
        self.rows
            .push(cells.map(|cell| Value::string(cell.as_bytes())).to_vec());
    }

    fn error(&mut self, message: &str) {
        self.say("Error", message);
    }
}

impl DdlContext<'_> {
    pub(super) fn change_histograms(
        &self,
        tables: &[ObjectName],
        columns: &[String],
        change: &HistogramChange,
        may: &dyn Fn(&TableDef) -> Result<()>,
    ) -> Result<Answer> {
        if let HistogramChange::Make {
            buckets: Some(buckets),
            ..
        } = change
            && !(1..=BUCKETS_MAX).contains(buckets)
        {
            return Err(SqlError::value_out_of_range("Number of buckets", "ANALYZE TABLE"));
        }
        for (at, column) in columns.iter().enumerate() {
            if columns[..at].iter().any(|before| names_equal(before, column)) {
                return Err(SqlError::duplicate_column(column));
            }
        }
        for (at, name) in tables.iter().enumerate() {
            let (schema, table) = self.state.resolve(name)?;
            if tables[..at]
                .iter()
                .any(|before| self.state.resolve(before).ok() == Some((schema, table)))
            {
                return Err(SqlError::not_unique_table(table));
            }
            if self.temporary(schema, table).is_none() {
                let both = Privileges::SELECT.union(Privileges::INSERT);
                self.state.require_in_part(both, schema, table)?;
            }
        }
        let mut report = Report {
            rows: ResultRows::new(&[
                ("Table", text(512)),
                ("Op", text(40)),
                ("Msg_type", text(40)),
                ("Msg_text", text(1024)),
            ]),
            table: String::new(),
        };
        match tables {
            [name] => {
                let (schema, table) = self.state.resolve(name)?;
                report.table = format!("{schema}.{table}");
                self.change_histograms_of(name, columns, change, may, &mut report)?;
            }
            _ => report.error("Only one table can be specified while modifying histogram statistics."),
        }
        Ok(Answer::Rows(report.rows))
    }

    fn change_histograms_of(
        &self,
        name: &ObjectName,
        columns: &[String],
        change: &HistogramChange,
        may: &dyn Fn(&TableDef) -> Result<()>,
        report: &mut Report,
    ) -> Result<()> {
        let table = match self
            .state
            .table(name)
            .and_then(|table| may(&table).map(|()| table))
        {
            Ok(table) => table,
            Err(error) => {
                report.error(&error.message);
                return Ok(());
            }
        };
        if table.temporary {
            report.error("Cannot create histogram statistics for a temporary table.");
            return Ok(());
        }
        if table.is_view() || table.is_virtual() {
            report.error("Cannot create histogram statistics for a view.");
            return Ok(());
        }
        match change {
            HistogramChange::Drop => self.drop_histograms(&table, columns, report),
            HistogramChange::Make { buckets, auto_update } => {
                let fit = fitness(&table, columns);
                let wanted: Vec<Wanted> = fit
                    .iter()
                    .filter_map(|(_, fit)| fit.as_ref().ok())
                    .map(|column| (*column, buckets.unwrap_or(BUCKETS_DEFAULT), *auto_update))
                    .collect();
                let made = self.make_histograms(&table, &wanted)?;
                self.put_histograms(&table, &made)?;
                for (_, fit) in fit {
                    match fit {
                        Ok(column) => created(report, &table, column),
                        Err(why) => report.error(&why),
                    }
                }
                Ok(())
            }
            HistogramChange::Take(_) if columns.len() > 1 => {
                report.error(
                    "Only one column can be specified while modifying histogram statistics with JSON data.",
                );
                Ok(())
            }
            HistogramChange::Take(document) => {
                let column = match fitness(&table, columns).remove(0).1 {
                    Ok(column) => column,
                    Err(why) => {
                        report.error(&why);
                        return Ok(());
                    }
                };
                match Histogram::parse(document, &table.columns[column].ty) {
                    Ok(histogram) => {
                        self.put_histograms(&table, &[(column, histogram.made_at(now()))])?;
                        created(report, &table, column);
                    }
                    Err(why) => {
                        report.error(&format!(
                            "Unable to build histogram statistics for column '{}' in table '{}'.'{}'",
                            table.columns[column].name, table.schema, table.name
                        ));
                        report.error(&why);
                    }
                }
                Ok(())
            }
        }
    }

    /// Makes anew those that ANALYZE TABLE makes anew.
    pub(super) fn renew_histograms(&self, table: &TableDef) -> Result<()> {
        let wanted: Vec<Wanted> = table
            .histograms
            .iter()
            .filter_map(|made| {
                let column = table.column(&made.column)?;
                Some((column, made.histogram.auto_update()?, true))
            })
            .collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let made = self.make_histograms(table, &wanted)?;
        self.put_histograms(table, &made)
    }

    /// Reads the table through, once for all of the columns.
    fn make_histograms(&self, table: &TableDef, wanted: &[Wanted]) -> Result<Vec<(usize, Histogram)>> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let memory = self.state.settings.histogram_memory as usize;
        let _room = crate::error::memory::reserve_memory(memory)?;
        let mut samplers: Vec<Sampler> = wanted
            .iter()
            .map(|(column, ..)| Sampler::new(&table.columns[*column].ty, memory / wanted.len()))
            .collect();
        let engine = self.state.database.engine();
        let stored = engine.table(table.id)?;
        let mut txn = engine.transaction();
        txn.begin(Isolation::RepeatableRead, true);
        let mut count = 0u64;
        stored.scan(
            &mut txn,
            &RangeScan::new(0, &KeyRange::all()),
            Read::Consistent,
            &mut |row| {
                count += 1;
                if count.is_multiple_of(1024) && self.state.process.is_interrupted() {
                    return Err(SqlError::interrupted().into());
                }
                for (sampler, (column, ..)) in samplers.iter_mut().zip(wanted) {
                    let value = table.columns[*column].ty.load(row.get(*column), &TimeZone::UTC);
                    sampler.add(&value)?;
                }
                Ok((Keep::Release, Flow::Continue))
            },
        )?;
        txn.rollback()?;
        let made = samplers.into_iter().zip(wanted);
        Ok(made
            .map(|(sampler, (column, buckets, auto_update))| {
                (*column, sampler.finish(*buckets, *auto_update, now()))
            })
            .collect())
    }

    fn put_histograms(&self, table: &TableDef, made: &[(usize, Histogram)]) -> Result<()> {
        if made.is_empty() {
            return Ok(());
        }
        self.edit_histograms(table, |histograms| {
            for (column, histogram) in made {
                let column = table.columns[*column].name.clone();
                histograms.retain(|made| !names_equal(&made.column, &column));
                let histogram = histogram.clone();
                histograms.push(Arc::new(ColumnHistogram { column, histogram }));
            }
            histograms.sort_by(|a, b| a.column.cmp(&b.column));
        })
    }

    fn drop_histograms(&self, table: &TableDef, columns: &[String], report: &mut Report) -> Result<()> {
        if columns.iter().any(|column| table.histogram(column).is_some()) {
            self.edit_histograms(table, |histograms| {
                histograms.retain(|made| !columns.iter().any(|column| names_equal(&made.column, column)));
            })?;
        }
        let mut columns: Vec<&String> = columns.iter().collect();
        columns.sort();
        for column in columns {
            match (table.column(column), table.histogram(column)) {
                (_, Some(made)) => report.say(
                    "status",
                    &format!("Histogram statistics removed for column '{}'.", made.column),
                ),
                (Some(_), None) => {
                    report.error(&format!("No histogram statistics found for column '{column}'."))
                }
                (None, None) => report.error(&no_column(column)),
            }
        }
        Ok(())
    }

    /// Changes the histograms of the table's definition. The statement keeps others from changing the definition otherwise, and one
    /// change of definitions runs at a time, so what is read here within is the newest.
    fn edit_histograms(
        &self,
        table: &TableDef,
        edit: impl FnOnce(&mut Vec<Arc<ColumnHistogram>>),
    ) -> Result<()> {
        let mut change = self.change_of(table)?;
        let dictionary = self.state.database.dictionary();
        let newest = dictionary.table(&table.schema, &table.name)?;
        let mut newest = TableDef::clone(&newest);
        edit(&mut newest.histograms);
        change.put_table(newest)?;
        change.commit()
    }
}

/// A column by its position, its buckets, and whether ANALYZE TABLE makes the histogram anew.
type Wanted = (usize, u64, bool);

/// Of each column, in the order of their names, its position, or why it can have no histogram.
fn fitness<'n>(table: &TableDef, columns: &'n [String]) -> Vec<(&'n str, Result<usize, String>)> {
    let fit_of = |name: &str| {
        let at = table.column(name).ok_or_else(|| no_column(name))?;
        let column = &table.columns[at];
        let is_unique = table
            .indexes
            .iter()
            .any(|index| index.unique && index.parts.len() == 1 && index.parts[0].column == at);
        if !can_have(&column.ty) {
            Err(format!(
                "The column '{}' has an unsupported data type.",
                column.name
            ))
        } else if is_unique {
            Err(format!(
                "The column '{}' is covered by a single-part unique index.",
                column.name
            ))
        } else {
            Ok(at)
        }
    };
    let mut all: Vec<_> = columns.iter().map(|name| (name.as_str(), fit_of(name))).collect();
    all.sort_by_key(|(name, _)| name.to_lowercase());
    all
}

fn created(report: &mut Report, table: &TableDef, column: usize) {
    report.say(
        "status",
        &format!(
            "Histogram statistics created for column '{}'.",
            table.columns[column].name
        ),
    );
}

fn no_column(name: &str) -> String {
    format!("The column '{name}' does not exist.")
}

/// The time, in UTC.
fn now() -> DateTime {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let micros = since.map_or(0, |since| since.as_micros() as i64);
    DateTime::from_micros(EPOCH.midnight().to_micros() + micros, 6).unwrap_or(EPOCH.midnight())
}
