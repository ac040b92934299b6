//! Which statements and which accounts `performance_schema` counts: `setup_consumers`, `setup_instruments`, `setup_actors`, `setup_objects`.
//!
//! It is as it is: everything here is counted of everybody, always, and cannot be switched off; changes of these tables are refused.

use super::waits;
use crate::context::SessionState;
use crate::context::command::{KINDS, event_name};
use crate::error::Result;
use crate::types::Value;

type Made = Result<Vec<Vec<Value>>>;

fn strings<const N: usize>(values: [&str; N]) -> Vec<Value> {
    values.map(Value::string).to_vec()
}

const CONSUMERS: [(&str, bool); 16] = [
    ("events_stages_current", false),
    ("events_stages_history", false),
    ("events_stages_history_long", false),
    ("events_statements_cpu", false),
    ("events_statements_current", true),
    ("events_statements_history", true),
    ("events_statements_history_long", false),
    ("events_transactions_current", false),
    ("events_transactions_history", false),
    ("events_transactions_history_long", false),
    ("events_waits_current", false),
    ("events_waits_history", false),
    ("events_waits_history_long", false),
    ("global_instrumentation", true),
    ("thread_instrumentation", true),
    ("statements_digest", true),
];

pub fn consumers(_: &SessionState) -> Made {
    let row = |(name, on)| strings([name, if on { "YES" } else { "NO" }]);
    Ok(CONSUMERS.map(row).to_vec())
}

pub fn instruments(_: &SessionState) -> Made {
    let statements = (0..KINDS).map(event_name);
    let waits = waits::event_names().map(str::to_owned);
    let row = |name: String| {
        vec![
            Value::string(name),
            Value::string("YES"),
            Value::string("YES"),
            Value::string(""),
            Value::Null,
            Value::Int(0),
            Value::Null,
        ]
    };
    Ok(waits.chain(statements).map(row).collect())
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
