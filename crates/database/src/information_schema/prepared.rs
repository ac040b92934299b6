//! `performance_schema.prepared_statements_instances`: the prepared statements of all sessions, and what their executions did.

use super::statements::{optional, picos, sums};
use crate::context::SessionState;
use crate::context::process::statement_id;
use crate::error::Result;
use crate::parse::conceal;
use crate::statements::prepared::Instance;
use crate::types::Value;

type Made = Result<Vec<Vec<Value>>>;

pub fn instances(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for process in state.database.sessions.lock().values() {
        for instance in process.prepared() {
            rows.push(row(process.id, &instance));
        }
    }
    Ok(rows)
}

fn row(session: u64, instance: &Instance) -> Vec<Value> {
    let mut row = vec![
        Value::UInt(statement_id(session, instance.id)),
        Value::UInt(instance.id),
        optional(instance.name.as_deref()),
        Value::string(conceal(&instance.text).into_owned()),
        Value::UInt(session),
        Value::UInt(instance.event),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::string("PRIMARY"),
        picos(instance.nanos),
        Value::UInt(instance.times_reprepared()),
    ];
    row.extend(sums(&instance.totals()));
    row
}
