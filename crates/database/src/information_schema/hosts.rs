//! `performance_schema.host_cache`: hosts from which connections were refused, or broken off before they had logged in, and why. The machine
//! itself is not among them.

use super::statements::moment;
use crate::accounts::{Host, Refusal};
use crate::context::SessionState;
use crate::error::Result;
use crate::types::Value;

type Made = Result<Vec<Vec<Value>>>;

pub fn host_cache(state: &SessionState) -> Made {
    let mut hosts = state.database.hosts().all();
    hosts.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(hosts.iter().map(|(name, host)| row(state, name, host)).collect())
}

fn row(state: &SessionState, name: &str, host: &Host) -> Vec<Value> {
    let of = |refusal: Refusal| Value::Int(host.refused[refusal as usize] as i64);
    // Names are not looked up, plugins are all there, proxies are none.
    let none = || Value::Int(0);
    let at = |seconds: u64| moment(state, seconds as i64 * 1_000_000);
    vec![
        Value::string(name),
        Value::Null,
        Value::string("NO"),
        Value::Int(host.in_a_row as i64),
        of(Refusal::HostBlocked),
        none(),
        none(),
        none(),
        none(),
        none(),
        none(),
        none(),
        none(),
        none(),
        of(Refusal::Handshake),
        none(),
        none(),
        of(Refusal::Authentication),
        of(Refusal::Tls),
        of(Refusal::UserConnections),
        of(Refusal::UserConnectionsPerHour),
        of(Refusal::Database),
        of(Refusal::InitConnect),
        of(Refusal::Local),
        of(Refusal::AccountLocked),
        of(Refusal::AccountLockedForDays),
        of(Refusal::Other),
        at(host.first_s),
        at(host.last_s),
        at(host.first_s),
        at(host.last_error_s),
    ]
}
