//! Transactions as `performance_schema` shows them: `events_transactions_current`, `…_history`, `…_history_long` and
//! `events_transactions_summary_…`. Times are picoseconds, as there.

use super::locks::Visible;
use super::recent;
use super::statements::{of_all, picos};
use super::waits::columns;
use crate::context::{Process, SessionState};
use crate::error::Result;
use crate::statements::accounts::AccountSums;
use crate::statements::setup::Consumer;
use crate::statements::transactions::{Begun, TransactionEvent, TransactionSums};
use crate::types::Value;
use crate::variables::isolation_name;
use std::num::NonZeroU64;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tidemark_engine::TransactionInfo;
use tidemark_engine::waits::WaitSum;

type Made = Result<Vec<Vec<Value>>>;

const EVENT: &str = "transaction";

/// How a transaction stands.
struct Stand {
    state: &'static str,
    txn: Option<NonZeroU64>,
    took: Duration,
}

/// `state` is the session that asks.
fn row(state: &SessionState, session: u64, begun: &Begun, stand: &Stand) -> Vec<Value> {
    let since = begun.at.since(state.database.started);
    let nanos = |time: Duration| picos(time.as_nanos() as u64);
    let is_over = stand.state != "ACTIVE";
    vec![
        Value::UInt(session),
        Value::UInt(begun.id.get()),
        if is_over {
            Value::UInt(begun.id.get())
        } else {
            Value::Null
        },
        Value::string(EVENT),
        Value::string(stand.state),
        stand.txn.map_or(Value::Null, |txn| Value::UInt(txn.get())),
        Value::string("AUTOMATIC"),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        nanos(since),
        nanos(since + stand.took),
        nanos(stand.took),
        Value::string(if begun.read_only {
            "READ ONLY"
        } else {
            "READ WRITE"
        }),
        Value::string(isolation_name(begun.isolation).replace('-', " ")),
        Value::string(if begun.autocommit { "YES" } else { "NO" }),
        Value::UInt(begun.savepoints.into()),
        Value::UInt(begun.rolled_back_to.into()),
        Value::UInt(begun.released.into()),
        Value::Null,
        Value::UInt(begun.statement),
        Value::string("STATEMENT"),
    ]
}

fn over(state: &SessionState, session: u64, event: &TransactionEvent) -> Vec<Value> {
    let stand = Stand {
        state: if event.committed {
            "COMMITTED"
        } else {
            "ROLLED BACK"
        },
        txn: event.txn,
        took: Duration::from_nanos(event.nanos),
    };
    row(state, session, &event.begun, &stand)
}

/// The transaction that a session has open: one that it was told of, or that of the statement which it runs.
fn open(process: &Process, info: Option<&TransactionInfo>) -> Option<Begun> {
    process.with_current(|current| {
        let of_statement = info.filter(|_| current.running).map(|info| Begun {
            id: NonZeroU64::MIN.saturating_add(current.history.next_id()),
            statement: current.history.next_id(),
            at: current.since,
            isolation: info.isolation,
            read_only: process.read_only.load(Ordering::Relaxed),
            autocommit: true,
            savepoints: 0,
            rolled_back_to: 0,
            released: 0,
        });
        current.transactions.open.or(of_statement)
    })
}

/// The open transaction of each session, or its last.
pub fn current(state: &SessionState) -> Made {
    if !state.told().collected.has(Consumer::TransactionsCurrent) {
        return Ok(Vec::new());
    }
    let active = state.database.engine().transactions();
    recent::current(&Visible::new(state), |owner, process| {
        let info = active.iter().find(|info| info.owner == owner);
        if let Some(begun) = open(process, info) {
            let stand = Stand {
                state: "ACTIVE",
                txn: info.and_then(|info| NonZeroU64::new(info.txn?.0)),
                took: begun.at.elapsed(),
            };
            return Some(row(state, process.id, &begun, &stand));
        }
        let last = process.with_current(|current| current.transactions.recent.last().copied())?;
        Some(over(state, process.id, &last))
    })
}

pub fn history(state: &SessionState) -> Made {
    let row = |session, event: &TransactionEvent| over(state, session, event);
    recent::history(state, |current| &current.transactions.recent, row)
}

pub fn history_long(state: &SessionState) -> Made {
    let long = &state.database.long_history.transactions;
    recent::history_long(long, |session, event| over(state, session, event))
}

/// EVENT_NAME and the sums: of all, of those that might write, of those that might not.
fn sums(first: Vec<Value>, sums: &TransactionSums) -> Vec<Value> {
    let mut all = WaitSum::default();
    sums.iter().for_each(|sum| all.add(sum));
    let mut row = first;
    row.push(Value::string(EVENT));
    for sum in [&all, &sums[0], &sums[1]] {
        row.extend(columns(sum));
    }
    row
}

pub(super) fn put(rows: &mut Vec<Vec<Value>>, first: Vec<Value>, account: &AccountSums) {
    rows.push(sums(first, &account.transactions));
}

pub fn by_event_name(state: &SessionState) -> Made {
    Ok(vec![sums(Vec::new(), &of_all(state).transactions)])
}

pub fn by_thread(state: &SessionState) -> Made {
    let sessions = state.database.sessions.lock();
    let row = |process: &std::sync::Arc<Process>| {
        let own = process.with_current(|current| current.transactions.sums);
        sums(vec![Value::UInt(process.id)], &own)
    };
    Ok(sessions.values().map(row).collect())
}
