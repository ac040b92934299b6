//! What is under way: `performance_schema.events_transactions_current`, the open transaction of each session, and
//! `events_stages_current`, how far statements are that tell of it. What is over is in neither: these are no events here.

use super::locks::Visible;
use super::statements::picos;
use crate::context::SessionState;
use crate::error::Result;
use crate::types::Value;
use crate::variables::isolation_name;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

type Made = Result<Vec<Vec<Value>>>;

/// Beginning, end and duration of what has begun and not ended.
fn times(state: &SessionState, since: Instant) -> [Value; 3] {
    let began = since.saturating_duration_since(state.database.started);
    let took = since.elapsed();
    let nanos = |time: Duration| picos(time.as_nanos() as u64);
    [nanos(began), nanos(began + took), nanos(took)]
}

pub fn current(state: &SessionState) -> Made {
    let visible = Visible::new(state);
    let mut rows = Vec::new();
    for transaction in state.database.engine().transactions() {
        let Some(process) = visible.sessions.get(&transaction.owner) else {
            continue;
        };
        let age = transaction.started.elapsed().unwrap_or_default();
        let since = Instant::now().checked_sub(age).unwrap_or(state.database.started);
        let event = process.with_current(|current| current.history.next_id());
        let read_only = process.read_only.load(Ordering::Relaxed);
        let mut row = vec![
            Value::UInt(process.id),
            Value::UInt(event),
            Value::Null,
            Value::string("transaction"),
            Value::string("ACTIVE"),
            transaction.txn.map_or(Value::Null, |id| Value::UInt(id.0)),
            Value::string("AUTOMATIC"),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
        ];
        row.extend(times(state, since));
        row.extend([
            Value::string(if read_only { "READ ONLY" } else { "READ WRITE" }),
            Value::string(isolation_name(transaction.isolation).replace('-', " ")),
            Value::string("NO"),
        ]);
        row.resize(24, Value::Null);
        rows.push(row);
    }
    Ok(rows)
}

/// The work is told in hundredths.
pub fn stages(state: &SessionState) -> Made {
    let visible = Visible::new(state);
    let mut rows = Vec::new();
    for (owner, process) in &visible.sessions {
        if !visible.sees(*owner) {
            continue;
        }
        let found = process.with_current(|current| {
            let (stage, percent) = current.doing.rsplit_once(": ")?;
            let percent: u64 = percent.strip_suffix('%')?.parse().ok()?;
            let event = current.history.next_id();
            Some((format!("stage/innodb/{stage}"), percent, event, current.since))
        });
        let Some((name, percent, event, since)) = found else {
            continue;
        };
        let mut row = vec![
            Value::UInt(process.id),
            Value::UInt(event + 1),
            Value::Null,
            Value::string(name),
            Value::Null,
        ];
        row.extend(times(state, since));
        row.extend([
            Value::UInt(percent),
            Value::UInt(100),
            Value::UInt(event),
            Value::string("STATEMENT"),
        ]);
        rows.push(row);
    }
    rows.sort_by_key(|row| row[0].to_text().into_owned());
    Ok(rows)
}
