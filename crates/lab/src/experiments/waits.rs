//! What the server's threads wait for, by `performance_schema`: the totals before and after, and the greatest differences.
//!
//! A server without the table, with its instruments off, or that hides it from this account, has no waits. A session that waits for its
//! client's next statement, on its socket or as `idle`, waits for nothing that the server has.

use crate::results::Wait;
use crate::server::Server;
use std::collections::BTreeMap;

const SQL: &str = "SELECT EVENT_NAME, COUNT_STAR, SUM_TIMER_WAIT FROM performance_schema.events_waits_summary_global_by_event_name \
                   WHERE COUNT_STAR > 0";
/// How many are kept.
const KEPT: usize = 8;
const PICOSECONDS_PER_US: f64 = 1e6;

/// Count and picoseconds by event.
pub(super) type Totals = BTreeMap<String, (u64, u64)>;

pub(super) fn read(server: &Server) -> Totals {
    let rows = server
        .connect()
        .and_then(|mut client| Ok(client.query(SQL)?))
        .unwrap_or_default();
    rows.iter()
        .filter_map(|row| {
            let text = |at: usize| std::str::from_utf8(row.get(at)?.as_deref()?).ok();
            Some((
                text(0)?.to_owned(),
                (text(1)?.parse().ok()?, text(2)?.parse().ok()?),
            ))
        })
        .filter(|(event, _)| !is_for_client(event))
        .collect()
}

fn is_for_client(event: &str) -> bool {
    event == "idle" || event.starts_with("wait/io/socket/")
}

/// Those that took longest in between.
pub(super) fn since(before: &Totals, after: &Totals) -> Vec<Wait> {
    let mut grown: Vec<(u64, Wait)> = after
        .iter()
        .filter_map(|(event, (count, time))| {
            let (old_count, old_time) = before.get(event).copied().unwrap_or_default();
            let (count, time) = (count.checked_sub(old_count)?, time.checked_sub(old_time)?);
            let wait = Wait {
                event: event.clone(),
                count,
                mean_us: time as f64 / PICOSECONDS_PER_US / count.max(1) as f64,
            };
            (count > 0).then_some((time, wait))
        })
        .collect();
    grown.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    grown.into_iter().take(KEPT).map(|(_, wait)| wait).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_wait_for_a_client_is_no_wait_of_the_server() {
        assert!(
            ["idle", "wait/io/socket/sql/client_connection"]
                .iter()
                .all(|event| is_for_client(event))
        );
        assert!(!is_for_client("wait/synch/mutex/innodb/trx_sys_mutex"));
    }

    #[test]
    fn the_longest_come_first() {
        let totals = |rows: &[(&str, u64, u64)]| -> Totals {
            rows.iter()
                .map(|(name, count, time)| ((*name).to_owned(), (*count, *time)))
                .collect()
        };
        let before = totals(&[("a", 10, 1_000_000), ("b", 1, 1), ("c", 5, 5)]);
        let after = totals(&[
            ("a", 12, 5_000_000),
            ("b", 1, 1),
            ("c", 6, 9_000_005),
            ("d", 1, 1),
        ]);
        let since = since(&before, &after);
        let names: Vec<&str> = since.iter().map(|wait| wait.event.as_str()).collect();
        assert_eq!(names, ["c", "a", "d"]);
        assert_eq!((since[1].count, since[1].mean_us), (2, 2.0));
    }
}
