//! What clients say of themselves when they connect: `performance_schema.session_account_connect_attrs`.

use crate::context::{Process, SessionState};
use crate::error::Result;
use crate::types::Value;
use std::sync::Arc;

/// The attributes of all sessions.
pub(super) fn all(state: &SessionState) -> Result<Vec<Vec<Value>>> {
    of(state, |_| true)
}

/// The attributes of all sessions of the account that asks.
pub(super) fn of_account(state: &SessionState) -> Result<Vec<Vec<Value>>> {
    let account = state.process.account();
    of(state, |process| process.account() == account)
}

fn of(state: &SessionState, wanted: impl Fn(&Process) -> bool) -> Result<Vec<Vec<Value>>> {
    let sessions: Vec<Arc<Process>> = state.database.sessions.lock().values().cloned().collect();
    let mut rows = Vec::new();
    for process in sessions.iter().filter(|process| wanted(process)) {
        for (place, (name, value)) in process.attributes().iter().enumerate() {
            rows.push(vec![
                Value::UInt(process.id),
                Value::string(name.as_bytes()),
                Value::string(value.as_bytes()),
                Value::Int(place as i64),
            ]);
        }
    }
    Ok(rows)
}
