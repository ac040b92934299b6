//! Stages as `performance_schema` shows them: `events_stages_current`, `…_history`, `…_history_long` and `events_stages_summary_…`. Times
//! are picoseconds, as there.

use super::locks::Visible;
use super::recent;
use super::statements::{of_all, picos};
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
    let since = began.since.since(state.database.started);
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
    recent::current(&visible, |owner, process| {
        if !visible.sees(owner) {
            return None;
        }
        process.with_current(|current| match current.stages.running {
            Some(running) => Some(row(state, process.id, &running, (running.since.elapsed(), false))),
            None => Some(over(state, process.id, current.stages.recent.last()?)),
        })
    })
}

pub fn history(state: &SessionState) -> Made {
    let row = |session, event: &StageEvent| over(state, session, event);
    recent::history(state, |current| &current.stages.recent, row)
}

pub fn history_long(state: &SessionState) -> Made {
    let long = &state.database.long_history.stages;
    recent::history_long(long, |session, event| over(state, session, event))
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

pub(super) fn put(rows: &mut Vec<Vec<Value>>, first: Vec<Value>, account: &AccountSums) {
    let of = |stage| account.stages.get(&stage).copied().unwrap_or_default();
    put_sums(rows, &first, of);
}

pub fn by_event_name(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    let mut all = of_all(state);
    state.database.own_work.add_to(&mut all);
    put(&mut rows, Vec::new(), &all);
    Ok(rows)
}

pub fn by_thread(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    let sessions = state.database.sessions.lock();
    let own_work = std::iter::once(&state.database.own_work);
    for process in own_work.chain(sessions.values().map(|session| &**session)) {
        let mut own = AccountSums::default();
        process.add_to(&mut own);
        put(&mut rows, vec![Value::UInt(process.id)], &own);
    }
    Ok(rows)
}
