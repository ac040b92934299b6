//! UPDATE, INSERT, DELETE and TRUNCATE of what `performance_schema` is set up with: `setup_consumers`, `setup_instruments`, `setup_actors`,
//! `setup_objects` and `threads`.
//!
//! Their rows are not stored: a row says how something is switched, and a [`Change`] of it switches that. Rows can be added to
//! `setup_actors` and `setup_objects`, and removed; of the others that is error 1142, as in MySQL.
//!
//! A change of `setup_actors` concerns sessions from their login on, one of `setup_objects` tables at once: those that are to be counted
//! again begin anew.

use super::begin_anew::each_table;
use super::setup::{ACTORS, CONSUMERS, INSTRUMENTS, OBJECTS, THREADS, instruments_by_name};
use crate::context::SessionState;
use crate::dictionary::TableDef;
use crate::error::{Result, SqlError, er};
use crate::statements::rules::{Names, OBJECT_TYPES, Refused, Rule, Rules, Switches};
use crate::statements::setup::{Consumer, Counted, Watched};
use crate::types::Value;

/// One of these tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupTable {
    /// `setup_consumers`
    Consumers,
    /// `setup_instruments`
    Instruments,
    /// `setup_actors`
    Actors,
    /// `setup_objects`
    Objects,
    /// `threads`
    Threads,
}

impl SetupTable {
    /// Which of them a table is, if it is one.
    pub fn of(table: &TableDef) -> Option<SetupTable> {
        if table.schema != super::PS {
            return None;
        }
        Some(match &*table.name {
            CONSUMERS => SetupTable::Consumers,
            INSTRUMENTS => SetupTable::Instruments,
            ACTORS => SetupTable::Actors,
            OBJECTS => SetupTable::Objects,
            THREADS => SetupTable::Threads,
            _ => return None,
        })
    }

    /// Whether INSERT adds rows to it and DELETE removes them.
    pub fn takes_rows(self) -> bool {
        matches!(self, SetupTable::Actors | SetupTable::Objects)
    }

    /// What a column has that INSERT leaves out.
    pub fn default_of(self, column: usize) -> &'static str {
        match (self, column) {
            (SetupTable::Objects, 0) => "TABLE",
            (_, 3 | 4) => "YES",
            _ => "%",
        }
    }

    /// The columns of its switches: one or two.
    fn switches(self) -> &'static [usize] {
        match self {
            SetupTable::Consumers => &[1],
            SetupTable::Instruments => &[1, 2],
            SetupTable::Actors | SetupTable::Objects => &[3, 4],
            SetupTable::Threads => &[13, 14],
        }
    }

    /// How many columns, from the first on, say which row it is.
    fn names(self) -> usize {
        match self {
            SetupTable::Actors | SetupTable::Objects => 3,
            _ => 1,
        }
    }
}

/// What is to become of a row.
pub struct Change {
    names: Vec<String>,
    what: What,
}

enum What {
    Switch(Switches),
    Add(Switches),
    Remove,
}

impl Change {
    /// UPDATE of a row, of which these columns are assigned to; `None` if it stays as it is. Error 1683 if it would get another name,
    /// 1265 for what is neither YES nor NO, 1048 for NULL. `at` is the number of the row.
    pub fn update(
        table: &TableDef,
        before: &[Value],
        (assigned, after): (&[usize], &[Value]),
        at: u64,
    ) -> Result<Option<Change>> {
        let Some(of) = SetupTable::of(table) else {
            return Ok(None);
        };
        let (was, is) = (on(table, of, before, at)?, on(table, of, after, at)?);
        let is_name = |column: &usize| !of.switches().contains(column);
        let names = || assigned.iter().copied().filter(|column| is_name(column));
        let renames = names().any(|column| before[column].to_text() != after[column].to_text());
        if renames || was != is && names().next().is_some() {
            return Err(wrong_usage());
        }
        Ok((was != is).then(|| Change {
            names: names_of(of, before),
            what: What::Switch(is),
        }))
    }

    /// DELETE of a row.
    pub fn delete(of: SetupTable, row: &[Value]) -> Change {
        Change {
            names: names_of(of, row),
            what: What::Remove,
        }
    }

    /// INSERT of a row. Errors 1048, 1265 and 1406 for values that a column does not take, 1683 for an actor without a name.
    pub fn insert(table: &TableDef, of: SetupTable, row: &[Value], at: u64) -> Result<Change> {
        let mut names = Vec::with_capacity(of.names());
        for (column, value) in table.columns.iter().zip(row).take(of.names()) {
            if matches!(value, Value::Null) && !column.ty.nullable {
                return Err(SqlError::bad_null(&column.name));
            }
            let name = text(value);
            if name.chars().count() > column.ty.length as usize {
                return Err(SqlError::data_too_long(&column.name, at));
            }
            names.push(name);
        }
        match of {
            SetupTable::Objects => names[0] = object_type(&names[0], &table.columns[0].name, at)?,
            _ if names.iter().any(String::is_empty) => return Err(wrong_usage()),
            _ => {}
        }
        Ok(Change {
            names,
            what: What::Add(on(table, of, row, at)?),
        })
    }
}

/// A name of a kind of objects, or its number.
fn object_type(text: &str, column: &str, at: u64) -> Result<String> {
    let mut numbered = (1..).zip(OBJECT_TYPES);
    let found = numbered.find(|(number, ty)| ty.eq_ignore_ascii_case(text) || number.to_string() == text);
    match found {
        Some((_, ty)) => Ok(ty.to_owned()),
        None => Err(SqlError::data_truncated(column, at)),
    }
}

/// The switches of a row; of the one that has a single one, twice.
fn on(table: &TableDef, of: SetupTable, row: &[Value], at: u64) -> Result<Switches> {
    let switch = |column: usize| switched(&row[column], &table.columns[column].name, at);
    let first = switch(of.switches()[0])?;
    match of.switches().get(1) {
        Some(second) => Ok([first, switch(*second)?]),
        None => Ok([first, first]),
    }
}

/// `YES` or `NO`, or its number.
fn switched(value: &Value, column: &str, at: u64) -> Result<bool> {
    match value {
        Value::Null => Err(SqlError::bad_null(column)),
        value => match &*value.to_text().trim_ascii().to_ascii_uppercase() {
            b"YES" | b"1" => Ok(true),
            b"NO" | b"2" => Ok(false),
            _ => Err(SqlError::data_truncated(column, at)),
        },
    }
}

fn names_of(of: SetupTable, row: &[Value]) -> Vec<String> {
    row.iter().take(of.names()).map(text).collect()
}

/// NULL, which the schema of an object may be, is the empty text.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        value => String::from_utf8_lossy(&value.to_text()).into_owned(),
    }
}

fn wrong_usage() -> SqlError {
    SqlError::new(er::WRONG_PERFSCHEMA_USAGE, "Invalid performance_schema usage.")
}

/// Carries out changes one after the other, and returns how many did something. `failed` is told of one that cannot be carried out, and
/// ends it with an error or not; what was done before stays, as in MySQL.
pub fn apply(
    of: SetupTable,
    changes: Vec<Change>,
    state: &SessionState,
    failed: impl FnMut(SqlError) -> Result<()>,
) -> Result<u64> {
    let setup = &state.database.setup;
    match of {
        SetupTable::Actors => change_rules(&mut setup.actors.write(), ACTORS, changes, failed),
        SetupTable::Objects => change_objects(state, |rules| change_rules(rules, OBJECTS, changes, failed)),
        SetupTable::Consumers | SetupTable::Instruments | SetupTable::Threads => {
            let mut done = 0;
            for change in changes {
                if let ([name], What::Switch(on)) = (&*change.names, change.what) {
                    switch(of, name, on, state);
                    done += 1;
                }
            }
            Ok(done)
        }
    }
}

fn switch(of: SetupTable, name: &str, on: Switches, state: &SessionState) {
    let setup = &state.database.setup;
    match of {
        SetupTable::Consumers => {
            let mut all = Consumer::ALL.iter();
            if let Some(consumer) = all.find(|consumer| consumer.name() == name) {
                setup.switch(*consumer, on[0]);
            }
        }
        SetupTable::Threads => {
            let sessions = state.database.sessions.lock();
            let process = name.parse().ok().and_then(|id: u64| sessions.get(&id));
            if let Some(process) = process {
                process.watch(Watched::new(on[0], on[1]));
            }
        }
        _ => {
            let mut all = instruments_by_name().into_iter();
            let switched = all.find(|(other, _)| *other == name);
            for instrument in switched.into_iter().flat_map(|(_, switched)| switched) {
                setup.set_counted(instrument, Counted::new(on[0], on[1]));
            }
        }
    }
}

fn change_rules(
    rules: &mut Rules,
    table: &str,
    changes: Vec<Change>,
    mut failed: impl FnMut(SqlError) -> Result<()>,
) -> Result<u64> {
    let mut done = 0;
    for change in changes {
        let Ok(names) = Names::try_from(change.names) else {
            continue;
        };
        let is_done = match change.what {
            What::Switch(on) => rules.switch(&names, on),
            What::Remove => rules.remove(&names),
            What::Add(on) => match rules.add(Rule { names, on }) {
                Ok(()) => true,
                Err(refused) => {
                    failed(refusal(refused, table))?;
                    false
                }
            },
        };
        done += u64::from(is_done);
    }
    Ok(done)
}

fn refusal(refused: Refused, table: &str) -> SqlError {
    match refused {
        Refused::Duplicate => SqlError::new(
            er::DUP_KEY,
            format!("Can't write; duplicate key in table '{table}'"),
        ),
        Refused::Full => SqlError::new(er::RECORD_FILE_FULL, format!("The table '{table}' is full")),
    }
}

/// Changes `setup_objects`. Tables that are counted from now on begin with 0. A reader of the counts holds a lock on the rows of `setup_objects`
/// while it reads ([`table_io`](super::table_io)), so it sees both changes or neither.
fn change_objects<T>(state: &SessionState, change: impl FnOnce(&mut Rules) -> T) -> T {
    let mut rules = state.database.setup.objects.write();
    let before = rules.clone();
    let done = change(&mut rules);
    each_table(state, |table| {
        let counted = |rules: &Rules| rules.of_table(&table.schema, &table.name)[0];
        if counted(&rules)
            && !counted(&before)
            && let Ok(stored) = state.database.engine().table(table.id)
        {
            stored.forget_usage();
        }
    });
    done
}

/// TRUNCATE of one of these tables. False if it has rows that cannot go.
pub fn remove_all(name: &str, state: &SessionState) -> bool {
    match name {
        ACTORS => state.database.setup.actors.write().clear(),
        OBJECTS => change_objects(state, Rules::clear),
        _ => return false,
    }
    true
}
