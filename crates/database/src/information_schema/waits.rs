//! What sessions and background threads have waited for: `performance_schema.events_waits_summary_…`.
//!
//! The names of events are in MySQL's scheme, and MySQL's own where it has the same wait. Times are picoseconds, as there.

use super::statements::optional;
use crate::accounts::Privileges;
use crate::context::SessionState;
use crate::error::Result;
use crate::monitor::{LockNames, waiting};
use crate::statements::accounts::Account;
use crate::types::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use tidemark_engine::waits::{Wait, WaitSum};

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

/// The names of all events, by the alphabet.
pub fn event_names() -> impl Iterator<Item = &'static str> {
    by_event(|_| WaitSum::default()).into_keys()
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
fn columns(sum: &WaitSum) -> [Value; 5] {
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
    let events = by_event(|wait| state.database.waited(wait)).into_iter();
    let row = |(name, sum): (&str, WaitSum)| {
        let mut row = vec![Value::string(name)];
        row.extend(columns(&sum));
        row
    };
    Ok(events.map(row).collect())
}

pub fn by_thread(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for process in state.database.sessions.lock().values() {
        for (name, sum) in by_event(|wait| process.waits.of(wait)) {
            let mut row = vec![Value::UInt(process.id), Value::string(name)];
            row.extend(columns(&sum));
            rows.push(row);
        }
    }
    Ok(rows)
}

/// By user and host: which of the two count.
fn by(state: &SessionState, user: bool, host: bool) -> Made {
    type Sums = [WaitSum; Wait::ALL.len()];
    let mut sums = BTreeMap::<_, Sums>::new();
    let mut add = |account: &Account, waited: &dyn Fn(Wait) -> WaitSum| {
        let (own_user, own_host) = account.clone().unzip();
        let sums = sums
            .entry((own_user.filter(|_| user), own_host.filter(|_| host)))
            .or_default();
        for (sum, wait) in sums.iter_mut().zip(Wait::ALL) {
            sum.add(&waited(wait));
        }
    };
    let sessions = state.database.sessions.lock();
    for (account, before) in state.database.statement_accounts.all() {
        add(&account, &|wait| before.waited[wait as usize]);
    }
    for process in sessions.values() {
        add(&process.counted_as.lock(), &|wait| process.waits.of(wait));
    }
    drop(sessions);
    let mut rows = Vec::new();
    for ((own_user, own_host), sums) in &sums {
        let mut front = Vec::new();
        if user {
            front.push(optional(own_user.as_deref()));
        }
        if host {
            front.push(optional(own_host.as_deref()));
        }
        for (name, sum) in by_event(|wait| sums[wait as usize]) {
            let mut row = front.clone();
            row.push(Value::string(name));
            row.extend(columns(&sum));
            rows.push(row);
        }
    }
    Ok(rows)
}

pub fn by_account(state: &SessionState) -> Made {
    by(state, true, true)
}

pub fn by_user(state: &SessionState) -> Made {
    by(state, true, false)
}

pub fn by_host(state: &SessionState) -> Made {
    by(state, false, true)
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
        if !everybody && process.user().0 != state.info.user {
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
