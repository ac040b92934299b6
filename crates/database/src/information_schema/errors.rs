//! How often statements have ended with each error: `performance_schema.events_errors_summary_…_by_error`.
//!
//! Every error that the server knows has a row, as in MySQL, in those by account only where there was one.

use super::statements::optional;
use crate::context::SessionState;
use crate::error::{Result, er, sqlstate_of};
use crate::statements::errors::ErrorSum;
use crate::types::Value;
use std::collections::BTreeMap;

type Made = Result<Vec<Vec<Value>>>;

/// The columns from ERROR_NUMBER on. What is handled is handled by stored programs, which are not there.
fn columns(state: &SessionState, code: u16, sum: &ErrorSum) -> [Value; 7] {
    let at = |micros| match sum.count {
        0 => Value::Null,
        _ => Value::DateTime(state.settings.time_zone.local(micros, 0)),
    };
    [
        Value::Int(i64::from(code)),
        Value::string(er::name_of(code)),
        Value::string(String::from_utf8_lossy(&sqlstate_of(code)).into_owned()),
        Value::UInt(sum.count),
        Value::UInt(0),
        at(sum.first_micros),
        at(sum.last_micros),
    ]
}

pub fn by_error(state: &SessionState) -> Made {
    let mut sums: BTreeMap<u16, ErrorSum> = er::ALL.iter().map(|code| (*code, ErrorSum::default())).collect();
    for ((_, code), sum) in state.database.errors.all() {
        sums.entry(code).or_default().add(&sum);
    }
    let row = |(code, sum): (&u16, &ErrorSum)| columns(state, *code, sum).to_vec();
    Ok(sums.iter().map(row).collect())
}

pub fn by_thread(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for process in state.database.sessions.lock().values() {
        for (code, sum) in process.errors.all() {
            let mut row = vec![Value::UInt(process.id)];
            row.extend(columns(state, code, &sum));
            rows.push(row);
        }
    }
    Ok(rows)
}

/// By user and host: which of the two count.
fn by(state: &SessionState, user: bool, host: bool) -> Made {
    let mut sums = BTreeMap::<_, ErrorSum>::new();
    for ((account, code), sum) in state.database.errors.all() {
        let (own_user, own_host) = account.map_or((None, None), |(user, host)| (Some(user), Some(host)));
        let key = (own_user.filter(|_| user), own_host.filter(|_| host), code);
        sums.entry(key).or_default().add(&sum);
    }
    let row = |((own_user, own_host, code), sum): (&(Option<String>, Option<String>, u16), &ErrorSum)| {
        let mut row = Vec::new();
        if user {
            row.push(optional(own_user.as_deref()));
        }
        if host {
            row.push(optional(own_host.as_deref()));
        }
        row.extend(columns(state, *code, sum));
        row
    };
    Ok(sums.iter().map(row).collect())
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
