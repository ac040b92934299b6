//! The last events of sessions of one kind, as rows: the tables `events_…_current`, `…_history` and `…_history_long` of transactions and
//! stages, which differ in what a row has.

use super::locks::Visible;
use crate::context::process::Current;
use crate::context::{Process, SessionState};
use crate::error::Result;
use crate::statements::long::Long;
use crate::statements::recent::Recent;
use crate::types::Value;

type Made = Result<Vec<Vec<Value>>>;

/// A row of each session, and of the server's own work, by their numbers, in which the engine's number for the session leads to its process; `row` has none for some.
pub(super) fn current(visible: &Visible, row: impl Fn(u64, &Process) -> Option<Vec<Value>>) -> Made {
    let mut rows = Vec::new();
    for (owner, process) in &visible.sessions {
        // Other numbers are those of the transactions that a statement has beside the session's own.
        if *owner == process.owners()[0] {
            rows.extend(row(*owner, process).map(|row| (process.id, row)));
        }
    }
    if visible.sees_everybody() {
        let own_work = &visible.state.database.own_work;
        rows.extend(row(own_work.owners()[0], own_work).map(|row| (own_work.id, row)));
    }
    rows.sort_by_key(|(session, _)| *session);
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// A row of each event in the histories of all sessions, and in that of the server's own work.
pub(super) fn history<T>(
    state: &SessionState,
    of: impl Fn(&Current) -> &Recent<T>,
    row: impl Fn(u64, &T) -> Vec<Value>,
) -> Made {
    let mut rows = Vec::new();
    let sessions = state.database.sessions.lock();
    let own_work = std::iter::once(&state.database.own_work);
    for process in own_work.chain(sessions.values().map(|session| &**session)) {
        process.with_current(|current| {
            let events = of(current).history();
            rows.extend(events.map(|event| row(process.id, event)));
        });
    }
    Ok(rows)
}

/// A row of each event in the history of the server.
pub(super) fn history_long<T: Clone>(long: &Long<T>, row: impl Fn(u64, &T) -> Vec<Value>) -> Made {
    let all = long.all();
    Ok(all.iter().map(|(session, event)| row(*session, event)).collect())
}
