//! Connections as sockets: `performance_schema.socket_instances`, `socket_summary_by_instance` and `socket_summary_by_event_name`.
//!
//! A read waits for the client's next command, which is no work of the socket's: it is counted, without a time.

use super::statements::of_all;
use super::waits::columns;
use crate::context::{Counter, Process, SessionState, Totals};
use crate::error::Result;
use crate::types::Value;
use std::sync::Arc;
use tidemark_engine::waits::{Wait, WaitSum};

type Made = Result<Vec<Vec<Value>>>;

const EVENT: &str = "wait/io/socket/sql/client_connection";

/// Those of connections; statements that stand in no client's name have none.
fn sessions(state: &SessionState) -> Vec<Arc<Process>> {
    let sessions = state.database.sessions.lock();
    sessions
        .values()
        .filter(|process| process.id > 0)
        .cloned()
        .collect()
}

pub fn instances(state: &SessionState) -> Made {
    let row = |process: &Arc<Process>| {
        let (_, address) = process.user();
        let (ip, port) = match address.rsplit_once(':') {
            Some((ip, port)) => (ip.to_owned(), port.parse().unwrap_or(0)),
            None => (String::new(), 0),
        };
        let running = process.with_current(|current| current.running);
        vec![
            Value::string(EVENT),
            Value::UInt(process.id),
            Value::UInt(process.id),
            Value::Int(process.id as i64),
            Value::string(ip),
            Value::Int(port),
            Value::string(if running { "ACTIVE" } else { "IDLE" }),
        ]
    };
    Ok(sessions(state).iter().map(row).collect())
}

/// The columns from COUNT_STAR on.
fn figures(reads: &WaitSum, writes: &WaitSum, bytes: &Totals) -> Vec<Value> {
    let reads = WaitSum {
        count: reads.count,
        ..WaitSum::default()
    };
    let mut all = *writes;
    all.count += reads.count;
    let mut row = columns(&all).to_vec();
    row.extend(columns(&reads));
    row.push(Value::UInt(bytes.of(Counter::BytesReceived)));
    row.extend(columns(writes));
    row.push(Value::UInt(bytes.of(Counter::BytesSent)));
    row.extend(columns(&WaitSum::default()));
    row
}

pub fn by_instance(state: &SessionState) -> Made {
    let row = |process: &Arc<Process>| {
        let mut bytes = Totals::default();
        bytes.add(&process.counters);
        let waits = &process.waits;
        let (reads, writes) = (waits.shown(Wait::ClientRead), waits.shown(Wait::ClientWrite));
        let mut row = vec![Value::string(EVENT), Value::UInt(process.id)];
        row.extend(figures(&reads, &writes, &bytes));
        row
    };
    Ok(sessions(state).iter().map(row).collect())
}

pub fn by_event_name(state: &SessionState) -> Made {
    let waited = of_all(state).waited;
    let (reads, writes) = (
        &waited[Wait::ClientRead as usize],
        &waited[Wait::ClientWrite as usize],
    );
    let mut row = vec![Value::string(EVENT)];
    row.extend(figures(reads, writes, &state.database.totals()));
    Ok(vec![row])
}
