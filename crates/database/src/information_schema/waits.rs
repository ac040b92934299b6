//! What sessions and background threads have waited for: `performance_schema.events_waits_summary_…`.
//!
//! The names of events are in MySQL's scheme, and MySQL's own where it has the same wait. Times are picoseconds, as there.

use crate::context::SessionState;
use crate::error::Result;
use crate::types::Value;
use std::collections::BTreeMap;
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
