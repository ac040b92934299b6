//! Which events `performance_schema` collects, of which accounts, tables and threads: `setup_consumers`, `setup_instruments`,
//! `setup_actors`, `setup_objects`, `setup_threads`, `performance_timers`.
//!
//! Consumers and instruments are switched by UPDATE of their tables ([`change`]). The others say how it is: events are collected of every
//! account and of all tables.

use super::waits;
use crate::context::SessionState;
use crate::context::command::{KINDS, event_name};
use crate::dictionary::TableDef;
use crate::error::{Result, SqlError, er};
use crate::statements::setup::{Consumer, Counted, Instrument};
use crate::statements::stages::Stage;
use crate::types::Value;

type Made = Result<Vec<Vec<Value>>>;

const CONSUMERS: &str = "setup_consumers";
const INSTRUMENTS: &str = "setup_instruments";

fn strings<const N: usize>(values: [&str; N]) -> Vec<Value> {
    values.map(Value::string).to_vec()
}

fn yes_or_no(on: bool) -> Value {
    Value::string(if on { "YES" } else { "NO" })
}

pub fn consumers(state: &SessionState) -> Made {
    let setup = &state.database.setup;
    let row = |consumer: &Consumer| vec![Value::string(consumer.name()), yes_or_no(setup.is_on(*consumer))];
    Ok(Consumer::ALL.iter().map(row).collect())
}

/// All instruments by name, each with what it switches: waits of several kinds may have one name.
fn instruments_by_name() -> Vec<(String, Vec<Instrument>)> {
    let waits = waits::by_name().into_iter();
    let waits = waits.map(|(name, kinds)| {
        let kinds = kinds.into_iter().map(Instrument::Wait);
        (name.to_owned(), kinds.collect())
    });
    let stage = |stage: &Stage| (stage.event_name().to_owned(), vec![Instrument::Stage(*stage)]);
    let stages = Stage::ALL.iter().map(stage);
    let statements = (0..KINDS).map(|kind| (event_name(kind), vec![Instrument::Statement(kind)]));
    let transaction = [("transaction".to_owned(), vec![Instrument::Transaction])];
    waits.chain(stages).chain(statements).chain(transaction).collect()
}

pub fn instruments(state: &SessionState) -> Made {
    let setup = &state.database.setup;
    let row = |(name, switched): (String, Vec<Instrument>)| {
        let counted = setup.counted(switched[0]);
        let properties = match switched[0] {
            Instrument::Stage(stage) if !stage.is_of_every_statement() => "progress",
            _ => "",
        };
        vec![
            Value::string(name),
            yes_or_no(counted.is_enabled()),
            yes_or_no(counted.is_timed()),
            Value::string(properties),
            Value::Null,
            Value::Int(0),
            Value::Null,
        ]
    };
    Ok(instruments_by_name().into_iter().map(row).collect())
}

/// Whether UPDATE may change rows of a table.
pub fn is_setup(table: &TableDef) -> bool {
    table.schema == super::PS && [CONSUMERS, INSTRUMENTS].contains(&&*table.name)
}

/// A row of a table as it is to be.
pub struct Change {
    /// Its name, which says which.
    pub name: String,
    /// Whether it is on.
    pub enabled: bool,
    /// Whether it is timed.
    pub timed: bool,
}

impl Change {
    /// Of a row with its new values in place: error 1265 for what is neither YES nor NO, 1048 for NULL.
    pub fn of(table: &TableDef, row: &[Value], at: u64) -> Result<Change> {
        let switch = |column: usize| switched(&row[column], &table.columns[column].name, at);
        let enabled = switch(1)?;
        Ok(Change {
            name: String::from_utf8_lossy(&row[0].to_text()).into_owned(),
            enabled,
            timed: if table.name == INSTRUMENTS {
                switch(2)?
            } else {
                enabled
            },
        })
    }

    /// Does what it says.
    pub fn apply(&self, table: &TableDef, state: &SessionState) {
        let setup = &state.database.setup;
        if table.name == CONSUMERS {
            let mut all = Consumer::ALL.iter();
            if let Some(consumer) = all.find(|consumer| consumer.name() == self.name) {
                setup.switch(*consumer, self.enabled);
            }
            return;
        }
        let mut all = instruments_by_name().into_iter();
        let switched = all.find(|(name, _)| *name == self.name);
        for instrument in switched.into_iter().flat_map(|(_, switched)| switched) {
            setup.set_counted(instrument, Counted::new(self.enabled, self.timed));
        }
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

/// Error 1683: the names of what is set up cannot be changed.
pub fn check_assigned(table: &TableDef, column: usize) -> Result<()> {
    let may = column == 1 || column == 2 && table.name == INSTRUMENTS;
    match may {
        true => Ok(()),
        false => Err(SqlError::new(
            er::WRONG_PERFSCHEMA_USAGE,
            "Invalid performance_schema usage.",
        )),
    }
}

pub fn actors(_: &SessionState) -> Made {
    Ok(vec![strings(["%", "%", "%", "YES", "YES"])])
}

pub fn objects(_: &SessionState) -> Made {
    let own = ["mysql", "performance_schema", "information_schema"];
    let own = own.map(|schema| strings(["TABLE", schema, "%", "NO", "NO"]));
    let mut rows = own.to_vec();
    rows.push(strings(["TABLE", "%", "%", "YES", "YES"]));
    Ok(rows)
}

/// Times are taken of one clock, which counts nanoseconds.
pub fn timers(_: &SessionState) -> Made {
    Ok(vec![vec![
        Value::string("NANOSECOND"),
        Value::Int(1_000_000_000),
        Value::Int(1),
        Value::Null,
    ]])
}

/// Of threads only those that serve a connection are told of.
pub fn threads(_: &SessionState) -> Made {
    let mut row = strings(["thread/sql/one_connection", "YES", "YES", "user"]);
    row.extend([Value::Int(0), Value::Null]);
    Ok(vec![row])
}
