//! Which events `performance_schema` collects, of which accounts, tables and threads: `setup_consumers`, `setup_instruments`,
//! `setup_actors`, `setup_objects`, `setup_threads`, `performance_timers`.
//!
//! What they say is changed in [`setup_changes`](super::setup_changes), but for `setup_threads`, which says how it is: threads that serve
//! no connection are told nothing of.

use super::waits;
use crate::context::SessionState;
use crate::context::command::{KINDS, event_name};
use crate::error::Result;
use crate::statements::rules::{Rule, Rules};
use crate::statements::setup::{Consumer, Instrument};
use crate::statements::stages::Stage;
use crate::types::Value;

type Made = Result<Vec<Vec<Value>>>;

pub(super) const CONSUMERS: &str = "setup_consumers";
pub(super) const INSTRUMENTS: &str = "setup_instruments";
pub(super) const ACTORS: &str = "setup_actors";
pub(super) const OBJECTS: &str = "setup_objects";
pub(super) const THREADS: &str = "threads";

fn strings<const N: usize>(values: [&str; N]) -> Vec<Value> {
    values.map(Value::string).to_vec()
}

pub(super) fn yes_or_no(on: bool) -> Value {
    Value::string(if on { "YES" } else { "NO" })
}

pub fn consumers(state: &SessionState) -> Made {
    let setup = &state.database.setup;
    let row = |consumer: &Consumer| vec![Value::string(consumer.name()), yes_or_no(setup.is_on(*consumer))];
    Ok(Consumer::ALL.iter().map(row).collect())
}

/// All instruments by name, each with what it switches: waits of several kinds may have one name.
pub(super) fn instruments_by_name() -> Vec<(String, Vec<Instrument>)> {
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

fn rows_of(rules: &Rules) -> Vec<Vec<Value>> {
    let row = |rule: &Rule| {
        let names = rule.names.iter().map(|name| Value::string(name.as_str()));
        names.chain(rule.on.map(yes_or_no)).collect()
    };
    rules.all().iter().map(row).collect()
}

pub fn actors(state: &SessionState) -> Made {
    Ok(rows_of(&state.database.setup.actors.read()))
}

/// A schema without a name is NULL, as in MySQL.
pub fn objects(state: &SessionState) -> Made {
    let mut rows = rows_of(&state.database.setup.objects.read());
    for row in &mut rows {
        if row[1] == Value::string("") {
            row[1] = Value::Null;
        }
    }
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
