//! Connections as sockets: `performance_schema.socket_instances`, `socket_summary_by_instance` and `socket_summary_by_event_name`.
//!
//! A read waits for the client's next command, which is no work of the socket's: it is counted, without a time.

use super::statements::of_all;
use super::waits::columns;
use crate::context::{Bytes, Counter, Process, SessionState, Totals};
use crate::error::Result;
use crate::types::Value;
use std::sync::Arc;
use tidemark_engine::waits::{self, Wait, WaitSum};

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

/// A Unix socket has no address.
pub fn instances(state: &SessionState) -> Made {
    let row = |process: &Arc<Process>| {
        let socket = process.socket();
        let (ip, port) = match socket.and_then(|socket| socket.peer) {
            Some(peer) => (peer.ip().to_string(), peer.port()),
            None => (String::new(), 0),
        };
        let running = process.with_current(|current| current.running);
        vec![
            Value::string(EVENT),
            Value::UInt(process.id),
            Value::UInt(process.id),
            Value::Int(socket.map_or(0, |socket| socket.number.into())),
            Value::string(ip),
            Value::Int(port.into()),
            Value::string(if running { "ACTIVE" } else { "IDLE" }),
        ]
    };
    Ok(sessions(state).iter().map(row).collect())
}

fn bytes(totals: &Totals) -> Bytes {
    [Counter::BytesReceived, Counter::BytesSent].map(|counter| totals.of(counter))
}

fn bytes_of(process: &Process) -> Bytes {
    let mut totals = Totals::default();
    totals.add(&process.counters);
    bytes(&totals)
}

/// The columns from COUNT_STAR on.
fn figures(reads: &WaitSum, writes: &WaitSum, [received, sent]: Bytes) -> Vec<Value> {
    let reads = WaitSum {
        count: reads.count,
        ..WaitSum::default()
    };
    let mut all = *writes;
    all.count += reads.count;
    let mut row = columns(&all).to_vec();
    row.extend(columns(&reads));
    row.push(Value::UInt(received));
    row.extend(columns(writes));
    row.push(Value::UInt(sent));
    row.extend(columns(&WaitSum::default()));
    row
}

pub fn by_instance(state: &SessionState) -> Made {
    let row = |process: &Arc<Process>| {
        let shown = state
            .database
            .traffic_before
            .shown_of(process.id, bytes_of(process));
        let waits = &process.waits;
        let (reads, writes) = (waits.shown(Wait::ClientRead), waits.shown(Wait::ClientWrite));
        let mut row = vec![Value::string(EVENT), Value::UInt(process.id)];
        row.extend(figures(&reads, &writes, shown));
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
    let shown = state
        .database
        .traffic_before
        .shown(bytes(&state.database.totals()));
    let mut row = vec![Value::string(EVENT)];
    row.extend(figures(reads, writes, shown));
    Ok(vec![row])
}

/// Both summaries begin anew, and with them what the waits say of clients, of which they are made.
pub(super) fn begin_anew(state: &SessionState) {
    let (database, open) = (&state.database, sessions(state));
    let carried = open.iter().map(|process| (process.id, bytes_of(process)));
    let traffic = &database.traffic_before;
    traffic.begin_anew(bytes(&database.totals()), carried);
    let kinds = [Wait::ClientRead, Wait::ClientWrite];
    database.statement_accounts.for_each(|sums| {
        kinds
            .iter()
            .for_each(|kind| sums.waited[*kind as usize] = WaitSum::default());
    });
    for kind in kinds {
        open.iter()
            .for_each(|process| process.waits.begin_kind_anew(kind));
        waits::background().begin_kind_anew(kind);
    }
}
