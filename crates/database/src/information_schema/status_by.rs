//! What sessions have counted, by session, user, host and both: `performance_schema.status_by_thread`, `…_by_user`, `…_by_host` and
//! `…_by_account`; with what is open, not with what sessions did that are over.

use super::statements::optional;
use crate::accounts::Encryption;
use crate::context::{Counter, Process, SessionState, Totals, command};
use crate::error::Result;
use crate::types::Value;
use std::collections::BTreeMap;

type Made = Result<Vec<Vec<Value>>>;
type Account = (String, String);

/// A row for each status variable that sessions count, behind what the rows begin with.
fn put(rows: &mut Vec<Vec<Value>>, first: &[Value], totals: &Totals) {
    let mut push = |name: String, value: u64| {
        let mut row = first.to_vec();
        row.push(Value::string(name));
        row.push(Value::string(value.to_string()));
        rows.push(row);
    };
    for counter in Counter::ALL {
        push(counter.name().to_owned(), totals.of(*counter));
    }
    for (at, name) in command::NAMES.iter().enumerate() {
        if at != command::OTHER {
            push(format!("Com_{name}"), totals.of_command(at));
        }
    }
}

/// What its connection is encrypted with.
fn of_tls(process: &Process) -> [(&'static str, String); 3] {
    let tls = process.encryption();
    let text = |of: fn(&Encryption) -> &'static str| tls.as_ref().map_or("", of).to_owned();
    [
        ("Ssl_cipher", text(|tls| tls.cipher)),
        (
            "Ssl_sessions_reused",
            u8::from(tls.as_ref().is_some_and(|tls| tls.resumed)).to_string(),
        ),
        ("Ssl_version", text(|tls| tls.version)),
    ]
}

pub fn thread(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for process in state.database.sessions.lock().values() {
        let mut totals = Totals::default();
        totals.add(&process.counters);
        put(&mut rows, &[Value::UInt(process.id)], &totals);
        for (name, value) in of_tls(process) {
            let [name, value] = [Value::string(name), Value::string(value)];
            rows.push(vec![Value::UInt(process.id), name, value]);
        }
    }
    Ok(rows)
}

/// The sums of open sessions by what a key makes of their accounts.
fn by<K: Ord>(state: &SessionState, key: impl Fn(Account) -> K, first: impl Fn(&K) -> Vec<Value>) -> Made {
    let mut sums = BTreeMap::<K, Totals>::new();
    let account = |process: &Process| {
        let (user, host) = process.user();
        (user, host.split(':').next().unwrap_or_default().to_owned())
    };
    for process in state.database.sessions.lock().values() {
        sums.entry(key(account(process)))
            .or_default()
            .add(&process.counters);
    }
    let mut rows = Vec::new();
    for (key, totals) in &sums {
        put(&mut rows, &first(key), totals);
    }
    Ok(rows)
}

pub fn user(state: &SessionState) -> Made {
    by(state, |(user, _)| user, |user| vec![optional(Some(user))])
}

pub fn host(state: &SessionState) -> Made {
    by(state, |(_, host)| host, |host| vec![optional(Some(host))])
}

pub fn account(state: &SessionState) -> Made {
    by(
        state,
        |account| account,
        |(user, host)| vec![optional(Some(user)), optional(Some(host))],
    )
}
