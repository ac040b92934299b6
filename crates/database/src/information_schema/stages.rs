//! Stages as `performance_schema` shows them: `events_stages_current`, `…_history`, `…_history_long` and `events_stages_summary_…`. Times
//! are picoseconds, as there.

use super::locks::Visible;
use super::statements::{for_accounts, for_hosts, for_users, of_all, picos};
use super::waits::columns;
use crate::context::SessionState;
use crate::error::Result;
use crate::statements::accounts::AccountSums;
use crate::statements::setup::Consumer;
use crate::statements::stages::{Running, Stage, StageEvent};
use crate::types::Value;
use std::time::Duration;
use tidemark_engine::waits::WaitSum;

type Made = Result<Vec<Vec<Value>>>;

/// A stage that a session is in, for so long, or was in.
fn row(state: &SessionState, session: u64, began: &Running, (took, is_over): (Duration, bool)) -> Vec<Value> {
    let since = began.since.saturating_duration_since(state.database.started);
    let nanos = |time: Duration| picos(time.as_nanos() as u64);
    let (done, of) = began.work.unzip();
    vec![
        Value::UInt(session),
        Value::UInt(began.id),
        if is_over {
            Value::UInt(began.id)
        } else {
            Value::Null
        },
        Value::string(began.stage.event_name()),
        Value::Null,
        nanos(since),
        nanos(since + took),
        nanos(took),
        done.map_or(Value::Null, Value::UInt),
        of.map_or(Value::Null, Value::UInt),
        Value::UInt(began.statement),
        Value::string("STATEMENT"),
    ]
}

fn over(state: &SessionState, session: u64, event: &StageEvent) -> Vec<Value> {
    let took = Duration::from_nanos(event.nanos);
    row(state, session, &event.began, (took, true))
}

/// The stage that each session is in, or was in last.
pub fn current(state: &SessionState) -> Made {
    if !state.told().collected.has(Consumer::StagesCurrent) {
        return Ok(Vec::new());
    }
    let visible = Visible::new(state);
    let mut rows = Vec::new();
    for (owner, process) in &visible.sessions {
        if !visible.sees(*owner) || *owner != process.owners()[0] {
            continue;
        }
        let (running, last) = process.with_current(|current| (current.stages.running, current.stages.last));
        if let Some(running) = running {
            let took = running.since.elapsed();
            rows.push(row(state, process.id, &running, (took, false)));
        } else if let Some(last) = last {
            rows.push(over(state, process.id, &last));
        }
    }
    rows.sort_by_key(|row| match row[0] {
        Value::UInt(session) => session,
        _ => 0,
    });
    Ok(rows)
}

pub fn history(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for process in state.database.sessions.lock().values() {
        process.with_current(|current| {
            let events = current.stages.history.iter();
            rows.extend(events.map(|event| over(state, process.id, event)));
        });
    }
    Ok(rows)
}

pub fn history_long(state: &SessionState) -> Made {
    let all = state.database.long_history.stages.all();
    let rows = all.iter().map(|(session, event)| over(state, *session, event));
    Ok(rows.collect())
}

/// A row for each stage, in the order of their names.
fn put_sums(rows: &mut Vec<Vec<Value>>, first: &[Value], of: impl Fn(Stage) -> WaitSum) {
    let mut stages = Stage::ALL.to_vec();
    stages.sort_by_key(|stage| stage.event_name());
    for stage in stages {
        let mut row = first.to_vec();
        row.push(Value::string(stage.event_name()));
        row.extend(columns(&of(stage)));
        rows.push(row);
    }
}

fn put(rows: &mut Vec<Vec<Value>>, first: Vec<Value>, account: &AccountSums) {
    let of = |stage| account.stages.get(&stage).copied().unwrap_or_default();
    put_sums(rows, &first, of);
}

pub fn by_event_name(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    put(&mut rows, Vec::new(), &of_all(state));
    Ok(rows)
}

pub fn by_thread(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for process in state.database.sessions.lock().values() {
        let mut own = AccountSums::default();
        process.add_to(&mut own);
        put(&mut rows, vec![Value::UInt(process.id)], &own);
    }
    Ok(rows)
}

pub fn by_account(state: &SessionState) -> Made {
    Ok(for_accounts(state, put))
}

pub fn by_user(state: &SessionState) -> Made {
    Ok(for_users(state, put))
}

pub fn by_host(state: &SessionState) -> Made {
    Ok(for_hosts(state, put))
}
