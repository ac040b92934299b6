//! Memory as `performance_schema` shows it: `memory_summary_global_by_event_name` and `memory_summary_by_…`.
//!
//! The pool is one mapping. All else the allocator counts, by thread: what sessions have is theirs, what locks take is told apart, and the
//! rest is the server's. How much is in use is counted, and was at least and at most; single allocations are not, so their counts are 0.

use super::statements::optional;
use crate::context::{Process, SessionState};
use crate::error::Result;
use crate::types::Value;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use tidemark_engine::PAGE_SIZE;
use tidemark_memory::Used;

type Made = Result<Vec<Vec<Value>>>;

const OF_SESSIONS: &str = "memory/tidemark/sessions";

fn row(first: Vec<Value>, event: &str, used: Used) -> Vec<Value> {
    let Used { now, least, most } = used;
    let mut row = first;
    row.push(Value::string(event));
    row.extend([0; 4].map(Value::UInt));
    row.extend([0, 0, 0, least as i64, now as i64, most as i64].map(Value::Int));
    row
}

fn of(process: &Process) -> Used {
    tidemark_memory::thread_used(process.memory_place.load(Ordering::Relaxed))
}

/// So much now, of which no more is known.
fn now(bytes: u64) -> Used {
    Used {
        now: bytes,
        least: bytes,
        most: bytes,
    }
}

pub fn global(state: &SessionState) -> Made {
    let status = state.database.engine().status();
    let pool = status.pool_pages_total * PAGE_SIZE as u64;
    let of_process = tidemark_memory::process_used();
    let all = of_process.now;
    let sessions: u64 = state
        .database
        .sessions
        .lock()
        .values()
        .map(|process| of(process).now)
        .sum();
    let locks = status.lock_bytes.min(all);
    // Locks are taken by sessions.
    let sessions = sessions.saturating_sub(locks).min(all - locks);
    let rest = |bytes: u64| bytes.saturating_sub(locks + sessions);
    let of_server = Used {
        now: rest(all),
        least: rest(of_process.least),
        most: rest(of_process.most),
    };
    let rows = [
        ("memory/innodb/buf_buf_pool", now(pool)),
        ("memory/innodb/lock0lock", now(locks)),
        (OF_SESSIONS, now(sessions)),
        ("memory/tidemark/server", of_server),
    ];
    Ok(rows.map(|(event, used)| row(Vec::new(), event, used)).to_vec())
}

pub fn by_thread(state: &SessionState) -> Made {
    let sessions = state.database.sessions.lock();
    let rows = sessions
        .values()
        .map(|process| row(vec![Value::UInt(process.id)], OF_SESSIONS, of(process)));
    Ok(rows.collect())
}

/// Open sessions by what a key makes of user and host, each of which may be unknown.
fn by(state: &SessionState, key: impl Fn(Option<String>, Option<String>) -> Vec<Option<String>>) -> Made {
    let mut sums = BTreeMap::<Vec<Option<String>>, Used>::new();
    for process in state.database.sessions.lock().values() {
        let (user, host) = process.counted_as.lock().clone().unzip();
        let own = of(process);
        let sum = sums.entry(key(user, host)).or_default();
        *sum = Used {
            now: sum.now + own.now,
            least: sum.least + own.least,
            most: sum.most + own.most,
        };
    }
    let rows = sums.into_iter().map(|(key, used)| {
        let first = key.iter().map(|name| optional(name.as_deref())).collect();
        row(first, OF_SESSIONS, used)
    });
    Ok(rows.collect())
}

pub fn by_account(state: &SessionState) -> Made {
    by(state, |user, host| vec![user, host])
}

pub fn by_user(state: &SessionState) -> Made {
    by(state, |user, _| vec![user])
}

pub fn by_host(state: &SessionState) -> Made {
    by(state, |_, host| vec![host])
}
