//! What sessions and background threads have waited for: `performance_schema.events_waits_summary_…`.
//!
//! The names of events are in MySQL's scheme, and MySQL's own where it has the same wait. Times are picoseconds, as there.

use super::statements::{of_all, optional};
use crate::accounts::Privileges;
use crate::context::SessionState;
use crate::error::Result;
use crate::monitor::{LockNames, waiting};
use crate::statements::accounts::AccountSums;
use crate::statements::setup::Consumer;
use crate::types::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use tidemark_engine::waits::{self, Wait, WaitSum, Waited};

type Made = Result<Vec<Vec<Value>>>;

/// As `performance_schema` names it.
fn event_name(wait: Wait) -> &'static str {
    match wait {
        Wait::PageLatch => "wait/synch/sxlock/innodb/page_latch",
        Wait::PageRead | Wait::PageWrite => "wait/io/file/innodb/innodb_data_file",
        Wait::FreeFrame => "wait/synch/cond/innodb/free_page",
        Wait::LogRoom => "wait/synch/cond/innodb/log_room",
        Wait::LogWrite | Wait::LogSync => "wait/io/file/innodb/innodb_log_file",
        Wait::LogGroup => "wait/synch/cond/innodb/commit_group",
        Wait::RowLock => "wait/lock/row/innodb/record",
        Wait::PurgeLag => "wait/synch/cond/innodb/purge_lag",
        Wait::MetadataLock => "wait/lock/metadata/sql/mdl",
        Wait::ClientRead => "idle",
        Wait::ClientWrite => "wait/io/socket/sql/client_connection",
        #[cfg(feature = "museum")]
        Wait::KernelMutex => "wait/synch/mutex/museum/kernel_mutex",
        #[cfg(feature = "museum")]
        Wait::TrxSys => "wait/synch/mutex/museum/trx_sys",
        #[cfg(feature = "museum")]
        Wait::ProcArray => "wait/synch/rwlock/museum/proc_array",
    }
}

/// The kinds of waits by the names of their events, by the alphabet.
pub(super) fn by_name() -> BTreeMap<&'static str, Vec<Wait>> {
    let mut events = BTreeMap::<_, Vec<Wait>>::new();
    for wait in Wait::ALL {
        events.entry(event_name(wait)).or_default().push(wait);
    }
    events
}

/// By event, in the order of their names.
fn by_event(of: impl Fn(Wait) -> WaitSum) -> BTreeMap<&'static str, WaitSum> {
    let mut events = BTreeMap::<_, WaitSum>::new();
    for wait in Wait::ALL {
        events.entry(event_name(wait)).or_default().add(&of(wait));
    }
    events
}

fn picos(nanos: u64) -> u64 {
    nanos.saturating_mul(1000)
}

/// COUNT_STAR, then the sum, the least, the average and the most of the times.
pub(super) fn columns(sum: &WaitSum) -> [Value; 5] {
    let average = sum.nanos.checked_div(sum.count).unwrap_or(0);
    [
        sum.count,
        picos(sum.nanos),
        picos(sum.least_nanos),
        picos(average),
        picos(sum.most_nanos),
    ]
    .map(Value::UInt)
}

pub fn by_event_name(state: &SessionState) -> Made {
    let mut all = of_all(state);
    for (sum, wait) in all.waited.iter_mut().zip(Wait::ALL) {
        sum.add(&waits::background().shown(wait));
    }
    let mut rows = Vec::new();
    put(&mut rows, Vec::new(), &all);
    Ok(rows)
}

pub fn by_thread(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for process in state.database.sessions.lock().values() {
        for (name, sum) in by_event(|wait| process.waits.shown(wait)) {
            let mut row = vec![Value::UInt(process.id), Value::string(name)];
            row.extend(columns(&sum));
            rows.push(row);
        }
    }
    Ok(rows)
}

/// A row for each event, behind what the rows begin with.
pub(super) fn put(rows: &mut Vec<Vec<Value>>, first: Vec<Value>, sums: &AccountSums) {
    for (name, sum) in by_event(|wait| sums.waited[wait as usize]) {
        let mut row = first.clone();
        row.push(Value::string(name));
        row.extend(columns(&sum));
        rows.push(row);
    }
}

/// What a session waits for at this moment.
struct Now {
    event: &'static str,
    operation: &'static str,
    waited: Duration,
    table: Option<(String, String)>,
    index: Option<String>,
}

/// Locks that sessions wait for, and those that wait for their client's next command. Waits for the disk, the log and pages are too short
/// to be met.
pub fn current(state: &SessionState) -> Made {
    let names = LockNames::new(&state.database, &state.settings.time_zone);
    if !state.told().collected.has(Consumer::WaitsCurrent) {
        return Ok(Vec::new());
    }
    let mut waits = BTreeMap::new();
    for blocked in waiting::blocked(&state.database, &names, usize::MAX) {
        let wait = if blocked.of_rows {
            Wait::RowLock
        } else {
            Wait::MetadataLock
        };
        waits.entry(blocked.waiter).or_insert(Now {
            event: event_name(wait),
            operation: "lock",
            waited: blocked.waited,
            table: blocked.table,
            index: blocked.index,
        });
    }
    let everybody = state.has_global(Privileges::PROCESS);
    let started = state.database.started;
    let mut rows = Vec::new();
    for process in state.database.sessions.lock().values() {
        if !everybody && !state.is_own(process) {
            continue;
        }
        let (event, idle) = process.with_current(|current| {
            let idle = (!current.running).then(|| current.since.elapsed());
            (current.history.next_id(), idle)
        });
        let idle = idle.map(|waited| Now {
            event: event_name(Wait::ClientRead),
            operation: "idle",
            waited,
            table: None,
            index: None,
        });
        let Some(now) = waits.remove(&process.id).or(idle) else {
            continue;
        };
        let until = started.elapsed();
        let nanos = |time: Duration| Value::UInt(picos(time.as_nanos() as u64));
        let (schema, name) = now.table.unzip();
        let is_lock = now.operation == "lock";
        rows.push(vec![
            Value::UInt(process.id),
            Value::UInt(event + 1),
            Value::Null,
            Value::string(now.event),
            Value::Null,
            nanos(until.saturating_sub(now.waited)),
            nanos(until),
            nanos(now.waited),
            Value::Null,
            optional(schema.as_deref()),
            optional(name.as_deref()),
            optional(now.index.as_deref()),
            optional(is_lock.then_some("TABLE")),
            Value::UInt(0),
            if is_lock { Value::UInt(event) } else { Value::Null },
            optional(is_lock.then_some("STATEMENT")),
            Value::string(now.operation),
            Value::Null,
            Value::Null,
        ]);
    }
    Ok(rows)
}

/// A wait that is over. Which table or file it was for is not kept.
fn over(state: &SessionState, session: u64, waited: &Waited) -> Vec<Value> {
    let until = waited.until.since(state.database.started);
    let nanos = |time: Duration| Value::UInt(picos(time.as_nanos() as u64));
    let took = Duration::from_nanos(waited.nanos);
    let operation = match waited.wait {
        Wait::PageRead => "read",
        Wait::PageWrite | Wait::LogWrite => "write",
        Wait::LogSync => "sync",
        Wait::RowLock | Wait::MetadataLock => "lock",
        Wait::ClientRead => "idle",
        Wait::ClientWrite => "send",
        _ => "wait",
    };
    let mut row = vec![
        Value::UInt(session),
        Value::UInt(waited.number),
        Value::UInt(waited.number),
        Value::string(event_name(waited.wait)),
        Value::Null,
        nanos(until.saturating_sub(took)),
        nanos(until),
        nanos(took),
    ];
    row.resize(16, Value::Null);
    row[13] = Value::UInt(0);
    row.extend([Value::string(operation), Value::Null, Value::Null]);
    row
}

pub fn history(state: &SessionState) -> Made {
    let sessions = state.database.sessions.lock();
    let rows = sessions.values().flat_map(|process| {
        let recent = process.waits.recent().into_iter();
        recent.map(|waited| over(state, process.id, &waited))
    });
    Ok(rows.collect())
}

pub fn history_long(state: &SessionState) -> Made {
    let all = waits::recent_of_all();
    let rows = all.iter().map(|(session, waited)| over(state, *session, waited));
    Ok(rows.collect())
}
