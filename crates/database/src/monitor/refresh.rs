//! The thread that gathers the [statistics](crate::statistics) of tables that have changed.
//!
//! It wakes up every few seconds and adds up what was changed in each table, which the tables count anyway. A table is looked at again
//! when more rows were changed than `max(500, √(1000 · rows))`: of a thousand rows a thousand, of a million one in thirty. A table
//! that has not changed since the thread woke up before is looked at if nothing is known of it, however few rows it has, or when one in five
//! was changed: small tables are filled once, and large ones are joined with them. One table is looked at at a time, leaf by leaf, and after each leaf the thread sleeps fifty times as long as that took: it has one
//! in fifty of a core.
//!
//! A leaf is looked at under a metadata lock, so that the table is not dropped meanwhile. The lock is not waited for, and is released
//! before the thread sleeps: a change of the definition waits for one leaf at most. If the table changes meanwhile, or its lock
//! cannot be had, the sample is given up, and made when the thread next wakes up. The database is not kept open by the thread.

use crate::context::Database;
use crate::dictionary::TableDef;
use crate::error::{Result, SqlError};
use crate::mdl::{Holder, Mode, TableLock, WaitPolicy, Waiter};
use crate::statistics::{SampleSize, Signal, announce, gather};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tidemark_engine::{Table, TableId};

/// How often it wakes up.
const WAKE_EVERY: Duration = Duration::from_secs(5);
/// It sleeps so many times as long as it works.
const SLEEPS: u32 = 49;
/// Fewer changes are none, unless they were the last for some time.
const CHANGES_MIN: f64 = 500.0;
/// Of a table that does not change any more, and the share of its rows.
const SETTLED_CHANGES_MIN: f64 = 10.0;
const SETTLED_SHARE: f64 = 0.2;

/// Starts the thread.
pub fn start(database: &Arc<Database>) {
    let seen = Arc::downgrade(database);
    let started = database.statistics.thread.start(move |signal| run(&seen, signal));
    if let Err(error) = started {
        log::error!("statistics are not refreshed by themselves: {error}");
    }
}

/// Whether what is known of a table outlives a restart.
pub fn is_persistent(database: &Database, def: &TableDef) -> bool {
    let said = def.options.statistics.persistent;
    said.unwrap_or_else(|| is_on(database, "innodb_stats_persistent")) && !def.temporary
}

/// How much of a table is looked at.
pub fn sample_size(database: &Database, def: &TableDef) -> SampleSize {
    let pages = match is_persistent(database, def) {
        true => "innodb_stats_persistent_sample_pages",
        false => "innodb_stats_transient_sample_pages",
    };
    let said = def.options.statistics.sample_pages.map(u64::from);
    SampleSize::of_pages(said.unwrap_or_else(|| database.variable_u64(pages)))
}

fn is_on(database: &Database, variable: &str) -> bool {
    let setting = database.globals().by_name(variable);
    setting.is_some_and(|setting| setting.as_bool())
}

fn run(database: &Weak<Database>, signal: &Signal) {
    let mut counts = Counts::default();
    let mut pause = WAKE_EVERY;
    while signal.sleep(pause) {
        let Some(open) = database.upgrade() else { return };
        let began = Instant::now();
        let due = counts.due(&open);
        pause = WAKE_EVERY.max(began.elapsed() * SLEEPS);
        drop(open);
        for id in due {
            match refresh(database, signal, id) {
                Ok(()) => counts.begin_anew(id),
                Err(error) => log::debug!("statistics of table {}: {}", id.0, error.message),
            }
        }
    }
}

/// What was changed in each table since its statistics were gathered.
#[derive(Default)]
struct Counts(HashMap<TableId, Count>);

#[derive(Default)]
struct Count {
    /// The table's handle, which counts from 0.
    table: Weak<Table>,
    /// What it had counted when it was last looked at.
    seen: u64,
    changes: u64,
    /// It has not changed since.
    is_settled: bool,
}

impl Count {
    fn add(&mut self, table: &Arc<Table>) {
        if !std::ptr::eq(self.table.as_ptr(), Arc::as_ptr(table)) {
            self.table = Arc::downgrade(table);
            self.seen = 0;
        }
        let counted = table.modifications();
        self.is_settled = counted == self.seen;
        self.changes += counted.saturating_sub(self.seen);
        self.seen = counted;
    }
}

impl Count {
    /// Whether a table is to be looked at that has so many rows, and was known to have so many.
    fn is_due(&self, known: Option<f64>, rows: u64) -> bool {
        let changes = self.changes as f64;
        match known {
            None => changes > CHANGES_MIN || rows as f64 > CHANGES_MIN || self.is_settled && rows > 0,
            Some(known) => {
                let settled = (known * SETTLED_SHARE).max(SETTLED_CHANGES_MIN);
                changes > (1000.0 * known).sqrt().max(CHANGES_MIN) || self.is_settled && changes > settled
            }
        }
    }
}

impl Counts {
    /// Adds up, and returns the tables that are to be looked at.
    fn due(&mut self, database: &Database) -> Vec<TableId> {
        let engine = database.engine();
        let ids = engine.table_ids();
        let there: HashSet<TableId> = ids.iter().copied().collect();
        self.0.retain(|id, _| there.contains(id));
        if let Err(error) = database.statistics.forget_dropped(engine) {
            log::warn!("statistics of dropped tables stay: {}", error.message);
        }
        let is_wanted = |id: TableId| {
            let def = database.dictionary().table_by_id(id)?;
            let said = def.options.statistics.auto_recalc;
            Some(said.unwrap_or_else(|| is_on(database, "innodb_stats_auto_recalc")))
        };
        let mut due = Vec::new();
        for id in ids {
            let Ok(table) = engine.table(id) else { continue };
            let count = self.0.entry(id).or_default();
            count.add(&table);
            let known = database.statistics.rows(id);
            let is_due = count.is_due(known, table.estimate_rows());
            if is_due && is_wanted(id) == Some(true) {
                due.push(id);
            }
        }
        due
    }

    /// What has been added up is in the new statistics.
    fn begin_anew(&mut self, id: TableId) {
        if let Some(count) = self.0.get_mut(&id) {
            count.changes = 0;
        }
    }
}

/// Waits for no lock.
struct NoWait;

impl Waiter for NoWait {
    fn is_interrupted(&self) -> bool {
        false
    }

    fn look(&self) {}

    fn counts(&self, _: &TableLock) -> [bool; 2] {
        [false, false]
    }
}

/// A table that is being looked at.
struct Work<'w> {
    database: &'w Weak<Database>,
    signal: &'w Signal,
    def: Arc<TableDef>,
    table: Weak<Table>,
    holder: Arc<Holder>,
}

/// Gathers the statistics of a table and makes them known.
fn refresh(database: &Weak<Database>, signal: &Signal, id: TableId) -> Result<()> {
    let (work, size, is_stored) = {
        let open = database.upgrade().ok_or_else(SqlError::interrupted)?;
        let def = open.dictionary().table_by_id(id);
        // A temporary table, or one that is not finished.
        let def = def.ok_or_else(|| SqlError::unknown("it has no name"))?;
        let (size, is_stored) = (sample_size(&open, &def), is_persistent(&open, &def));
        let work = Work {
            database,
            signal,
            table: Arc::downgrade(&open.engine().table(id)?),
            holder: open.dictionary().locks().holder(open.own_work.id),
            def,
        };
        (work, size, is_stored)
    };
    let found = gather(&work.def, size, &mut |f| work.look(f))?;
    let open = database.upgrade().ok_or_else(SqlError::interrupted)?;
    let found = open.statistics.put(open.engine(), found, is_stored)?;
    drop(open);
    work.look(&mut |table| {
        announce(table, &work.def, &found);
        Ok(())
    })
}

impl Work<'_> {
    /// Calls `f` with the table, then sleeps. Fails if the table is not what it was, or is not to be had at once.
    fn look(&self, f: &mut dyn FnMut(&Table) -> Result<()>) -> Result<()> {
        let began = Instant::now();
        {
            let open = self.database.upgrade().ok_or_else(SqlError::interrupted)?;
            let policy = WaitPolicy {
                timeout: Duration::ZERO,
                waiter: &NoWait,
            };
            let used = self.holder.use_table(&self.def.lock, Mode::Read, &policy);
            used.map_err(|_| SqlError::lock_wait_timeout())?;
            let looked = self.of_today(&open).and_then(|table| f(&table));
            self.holder.release_used();
            looked?;
        }
        match self.signal.sleep(began.elapsed() * SLEEPS) {
            true => Ok(()),
            false => Err(SqlError::interrupted()),
        }
    }

    fn of_today(&self, open: &Database) -> Result<Arc<Table>> {
        let def = open.dictionary().find_table(&self.def.schema, &self.def.name);
        let is_same = def.is_some_and(|def| Arc::ptr_eq(&def, &self.def));
        let table = open.engine().table(self.def.id)?;
        match is_same && std::ptr::eq(self.table.as_ptr(), Arc::as_ptr(&table)) {
            true => Ok(table),
            false => Err(SqlError::unknown("its definition has changed")),
        }
    }
}
