//! How often rows of tables were read and changed: `performance_schema.table_io_waits_summary_by_table` and `…_by_index_usage`; and how long
//! sessions waited for tables: `table_lock_waits_summary_by_table`.
//!
//! They are counted, and not timed: two looks at the clock would take longer than many a row. A table's counts begin anew when its
//! definition changes, and are 0 while `setup_objects` does not want them: they are counted all the same, for no row is to ask. What
//! changes rows is counted for no index.

use crate::context::SessionState;
use crate::dictionary::TableDef;
use crate::error::Result;
use crate::mdl::WaitSums;
use crate::show::objects::visible_tables;
use crate::types::Value;
use std::sync::Arc;
use tidemark_engine::TableUsage;

type Made = Result<Vec<Vec<Value>>>;

/// Rows fetched, inserted, updated and deleted.
#[derive(Clone, Copy, Default)]
struct Counts([u64; 4]);

impl Counts {
    fn fetched(rows: u64) -> Counts {
        Counts([rows, 0, 0, 0])
    }

    /// The columns from COUNT_STAR on: of all, of reads, of writes, and of each.
    fn columns(self) -> Vec<Value> {
        let [fetched, inserted, updated, deleted] = self.0;
        let written = inserted + updated + deleted;
        let counts = [
            fetched + written,
            fetched,
            written,
            fetched,
            inserted,
            updated,
            deleted,
        ];
        let with_times = counts.map(|count| [count, 0, 0, 0, 0].map(Value::UInt));
        with_times.into_iter().flatten().collect()
    }
}

/// The stored tables that the account may see, with what was done with them.
fn used(state: &SessionState) -> Vec<(Arc<TableDef>, TableUsage)> {
    let engine = state.database.engine();
    let schemas = state.database.dictionary().schema_names();
    let tables = schemas.iter().flat_map(|schema| visible_tables(state, schema));
    let stored = tables.filter(|table| !table.is_virtual() && table.view.is_none());
    let objects = state.database.setup.objects.read();
    let with_usage = |table: Arc<TableDef>| {
        let stored = engine.table(table.id).ok()?;
        let [is_counted, _] = objects.of_table(&table.schema, &table.name);
        let usage = is_counted.then(|| stored.usage());
        Some((table, usage.unwrap_or_default()))
    };
    stored.filter_map(with_usage).collect()
}

/// COUNT_STAR and the times of each table.
pub fn objects(state: &SessionState) -> Made {
    let mut rows = by_table(state)?;
    rows.iter_mut().for_each(|row| row.truncate(8));
    Ok(rows)
}

fn front(table: &TableDef) -> Vec<Value> {
    vec![
        Value::string("TABLE"),
        Value::string(table.schema.as_str()),
        Value::string(table.name.as_str()),
    ]
}

pub fn by_table(state: &SessionState) -> Made {
    let row = |(table, usage): (Arc<TableDef>, TableUsage)| {
        let fetched = usage.read_without_index + usage.read_by_index.iter().sum::<u64>();
        let mut row = front(&table);
        row.extend(Counts([fetched, usage.inserted, usage.updated, usage.deleted]).columns());
        row
    };
    Ok(used(state).into_iter().map(row).collect())
}

/// Waits for a table's definition and LOCK TABLES, in the columns of locks that the server asks an engine for.
pub fn lock_waits(state: &SessionState) -> Made {
    let none = WaitSums::default();
    let row = |(table, _): (Arc<TableDef>, TableUsage)| {
        let [read, write] = table.lock.waits();
        let both = read.with(write);
        let of_reads = [none, none, none, none, read];
        let of_writes = [none, none, none, none, write];
        let mut row = front(&table);
        let all = [both, read, write].into_iter().chain(of_reads).chain(of_writes);
        row.extend(all.flat_map(timed_columns));
        row
    };
    Ok(used(state).into_iter().map(row).collect())
}

/// COUNT and the sum, the least, the mean and the greatest time, in picoseconds.
fn timed_columns(waits: WaitSums) -> [Value; 5] {
    const PICOS: u64 = 1000;
    let mean = waits.nanos.checked_div(waits.count).unwrap_or(0);
    let times =
        [waits.nanos, waits.nanos_min, mean, waits.nanos_max].map(|nanos| nanos.saturating_mul(PICOS));
    [waits.count, times[0], times[1], times[2], times[3]].map(Value::UInt)
}

pub fn by_index(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for (table, usage) in used(state) {
        let mut push = |index: Value, counts: Counts| {
            let mut row = front(&table);
            row.push(index);
            row.extend(counts.columns());
            rows.push(row);
        };
        for index in &table.indexes {
            let fetched = usage.read_by_index.get(index.number).copied().unwrap_or(0);
            push(Value::string(index.name.as_str()), Counts::fetched(fetched));
        }
        let rest = Counts([
            usage.read_without_index,
            usage.inserted,
            usage.updated,
            usage.deleted,
        ]);
        push(Value::Null, rest);
    }
    Ok(rows)
}
