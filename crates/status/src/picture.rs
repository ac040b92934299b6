//! What the page shows of one moment, as JSON.
//!
//! Lists and texts are cut to what a page can show, so that an event has a bounded length whatever the server does.

use crate::figures::Figures;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tidemark_database::Database;
use tidemark_database::context::{Deadlock, Process};
use tidemark_database::monitor::history::age_s;
use tidemark_database::monitor::waiting::{Blocked, blocked};
use tidemark_database::monitor::{LockNames, sessions_by_owner};
use tidemark_database::statements::Order;
use tidemark_engine::{LockInfo, PAGE_SIZE, ViewInfo};
use tidemark_types::TimeZone;

const SESSIONS_MAX: usize = 30;
const WAITS_MAX: usize = 40;
const WAITS_LOOKED_AT: usize = 200;
const VIEWS_MAX: usize = 12;
const HOT_ROWS_MAX: usize = 10;
const HOT_ROWS_LOOKED_AT: usize = 100;
const MEMBERS_MAX: usize = 8;
const STATEMENTS_MAX: usize = 12;
const TEXT_LEN_MAX: usize = 160;
/// Counting what is kept for each view reads all old versions, so the next count waits so many times as long as it took.
const COUNT_EVERY: u32 = 500;

/// Makes pictures, and remembers what is dear to find out.
#[derive(Default)]
pub struct Painter {
    counted: HashMap<(u64, u64), ViewInfo>,
    count_next: Option<Instant>,
    deadlock: Option<(Arc<Deadlock>, Value)>,
    /// Of the digests shown last, by their number: how often they had been executed, and for how long.
    executed: HashMap<u64, (u64, u64)>,
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT_LEN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl Painter {
    /// The picture of now. `past` are the figures of a little earlier.
    pub fn paint(&mut self, database: &Database, now: &Figures, past: &Figures) -> Value {
        let zone = TimeZone::system();
        let names = LockNames::new(database, &zone);
        let blocked = blocked(database, &names, WAITS_LOOKED_AT);
        json!({
            "rates": now.rates(past),
            "sessions": sessions(database, &blocked),
            "waits": waits(&blocked, now),
            "statements": self.statements(database, now.at.duration_since(past.at)),
            "views": self.views(database, now),
            "history": history(now),
            "hot": hot(database, &names, &blocked),
            "pool": pool(now),
            "log": log(now),
            "deadlock": self.deadlock(database, &names),
        })
    }

    /// The open views, oldest first.
    fn views(&mut self, database: &Database, now: &Figures) -> Value {
        let open = database.engine().view_list();
        if !open.is_empty() && self.count_next.is_none_or(|next| Instant::now() >= next) {
            let began = Instant::now();
            match database.engine().views() {
                Ok(infos) => {
                    let keyed = infos.into_iter().map(|info| ((info.owner, info.lsn.0), info));
                    self.counted = keyed.collect();
                }
                Err(error) => log::warn!("the versions of views cannot be counted: {error}"),
            }
            self.count_next =
                Some(Instant::now() + (began.elapsed() * COUNT_EVERY).max(Duration::from_millis(900)));
        }
        let sessions = sessions_by_owner(database);
        let tail = now.engine.log_tail;
        let count = open.len();
        let shown: Vec<Value> = open
            .into_iter()
            .take(VIEWS_MAX)
            .map(|info| {
                let counted = self.counted.get(&(info.owner, info.lsn.0));
                let process = sessions.get(&info.owner);
                let (opened_by, is_idle) = process.map_or((None, false), |process| {
                    process.with_current(|current| {
                        let opened_by = current.opener(info.lsn);
                        let opened_by = opened_by.map(|text| cut(&String::from_utf8_lossy(&text)));
                        (opened_by, !current.running)
                    })
                });
                json!({
                    "id": process.map(|process| process.id),
                    "user": process.map(|process| cut(&process.user().0)),
                    "age_s": age_s(info.opened),
                    "opened_by": opened_by,
                    "idle": is_idle,
                    "behind": tail.0.saturating_sub(info.lsn.0),
                    "versions": counted.map(|counted| counted.versions),
                    "bytes": counted.map(|counted| counted.bytes),
                })
            })
            .collect();
        json!({"count": count, "list": shown})
    }

    /// The kinds of statements that took most time in all, and what each of them took a second since the picture before.
    fn statements(&mut self, database: &Database, since: Duration) -> Value {
        let seconds = since.as_secs_f64().max(0.001);
        let mut executed = HashMap::new();
        let top = database.digests.top(STATEMENTS_MAX, Order::Time);
        let shown: Vec<Value> = top
            .iter()
            .map(|summary| {
                let (digest, totals) = (&summary.digest, &summary.totals);
                let (count, nanos) = (totals.count, totals.nanos);
                let before = self.executed.get(&digest.id);
                executed.insert(digest.id, (count, nanos));
                let (more, spent) = before.map_or((0, 0), |(count_before, nanos_before)| {
                    (
                        count.saturating_sub(*count_before),
                        nanos.saturating_sub(*nanos_before),
                    )
                });
                json!({
                    "id": digest.id,
                    "db": digest.schema.as_deref().map(cut),
                    "text": digest.text.as_deref().map(cut),
                    "count": count,
                    "seconds": nanos as f64 / 1e9,
                    "mean_us": nanos as f64 / 1e3 / count.max(1) as f64,
                    "p95_us": summary.histogram.quantile_picos(0.95) / 1_000_000,
                    "examined": totals.examined as f64 / count.max(1) as f64,
                    "errors": totals.errors,
                    "rate": more as f64 / seconds,
                    "load": spent as f64 / 1e9 / seconds,
                })
            })
            .collect();
        self.executed = executed;
        Value::Array(shown)
    }

    /// The latest deadlock. It is drawn once, and sent each time.
    fn deadlock(&mut self, database: &Database, names: &LockNames) -> Value {
        let Some(latest) = database.deadlocks.latest() else {
            return Value::Null;
        };
        match &self.deadlock {
            Some((known, value)) if Arc::ptr_eq(known, &latest) => value.clone(),
            _ => {
                let value = deadlock(&latest, names);
                self.deadlock = Some((latest, value.clone()));
                value
            }
        }
    }
}

/// The sessions that others wait for first, then those that do something, then the idle ones.
fn sessions(database: &Database, blocked: &[Blocked]) -> Value {
    let all: Vec<Arc<Process>> = database.sessions.lock().values().cloned().collect();
    let waits: HashMap<u64, &Blocked> = blocked.iter().rev().map(|wait| (wait.waiter, wait)).collect();
    let in_the_way: HashSet<u64> = blocked.iter().filter_map(|wait| wait.blocker).collect();
    let mut list: Vec<(bool, bool, &Arc<Process>)> = all
        .iter()
        .map(|process| {
            let is_running = process.with_current(|current| current.running);
            (!is_running, !in_the_way.contains(&process.id), process)
        })
        .collect();
    let running = list.iter().filter(|(is_idle, ..)| !is_idle).count();
    list.sort_by_key(|(is_idle, is_harmless, process)| (*is_idle && *is_harmless, *is_harmless, process.id));
    let shown: Vec<Value> = list
        .iter()
        .take(SESSIONS_MAX)
        .map(|(is_idle, _, process)| {
            let (user, host) = process.user();
            let wait = waits.get(&process.id);
            process.with_current(|current| {
                let text = current.beginning(4 * TEXT_LEN_MAX);
                json!({
                    "id": process.id,
                    "user": cut(&user),
                    "host": cut(&host),
                    "db": current.schema.as_deref().map(cut),
                    "command": current.command,
                    "time_s": current.since.elapsed().as_secs(),
                    "statement": (!is_idle).then(|| cut(&String::from_utf8_lossy(&text))),
                    "doing": cut(&current.doing),
                    "waits_for": wait.map(|wait| cut(&wait.lock)),
                    "waits_for_session": wait.and_then(|wait| wait.blocker),
                })
            })
        })
        .collect();
    json!({"count": all.len(), "running": running, "list": shown})
}

fn waits(blocked: &[Blocked], now: &Figures) -> Value {
    let shown = blocked.iter().take(WAITS_MAX).map(|wait| {
        json!({
            "waiter": wait.waiter,
            "blocker": wait.blocker,
            "lock": cut(&wait.lock),
            "ms": wait.waited.as_millis() as u64,
        })
    });
    let count = now.engine.row_lock_current_waits.max(blocked.len() as u64);
    json!({"count": count, "list": shown.collect::<Vec<_>>()})
}

fn history(now: &Figures) -> Value {
    let engine = &now.engine;
    json!({
        "transactions": engine.history_length,
        "age_s": engine.history_age_s as u64,
        "bytes": engine.version_bytes,
        "longest_chain": engine.longest_chain,
        "buried": engine.buried_entries,
        "writers": engine.active_writers,
    })
}

/// The rows that change most, and tables by their changes and by who waits for them.
fn hot(database: &Database, names: &LockNames, blocked: &[Blocked]) -> Value {
    let mut tables: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut rows = Vec::new();
    for row in database.engine().hot_rows(HOT_ROWS_LOOKED_AT) {
        let Some((def, key)) = names.row(row.table, &row.key) else {
            continue;
        };
        let table = format!("{}.{}", def.schema, def.name);
        if rows.len() < HOT_ROWS_MAX {
            rows.push(json!({
                "table": cut(&table),
                "key": key.as_deref().map(cut),
                "updates": row.updates,
                "versions": row.versions,
            }));
        }
        tables.entry(table).or_default().0 += row.updates;
    }
    for (schema, name) in blocked.iter().filter_map(|wait| wait.table.as_ref()) {
        tables.entry(format!("{schema}.{name}")).or_default().1 += 1;
    }
    let mut tables: Vec<_> = tables.into_iter().collect();
    tables.sort_by_key(|(_, (updates, waits))| std::cmp::Reverse((*waits, *updates)));
    let tables: Vec<Value> = tables
        .iter()
        .take(HOT_ROWS_MAX)
        .map(|(table, (updates, waits))| json!({"table": cut(table), "updates": updates, "waits": waits}))
        .collect();
    json!({"rows": rows, "tables": tables})
}

fn pool(now: &Figures) -> Value {
    let engine = &now.engine;
    let bytes = |pages: u64| pages * PAGE_SIZE as u64;
    json!({
        "bytes": bytes(engine.pool_pages_total),
        "clean": bytes(engine.pool_pages_data.saturating_sub(engine.pool_pages_dirty)),
        "dirty": bytes(engine.pool_pages_dirty),
        "free": bytes(engine.pool_pages_free),
        "starved": engine.pool_starved,
        "data_bytes": bytes(engine.data_file_pages),
        "data_free": bytes(engine.data_file_pages_free),
    })
}

fn log(now: &Figures) -> Value {
    let engine = &now.engine;
    json!({
        "tail": engine.log_tail.0,
        "unflushed": engine.log_tail.0.saturating_sub(engine.log_flushed.0),
        "since_checkpoint": engine.log_tail.0.saturating_sub(engine.checkpoint.0),
        "kept": engine.log_kept_bytes,
        "waits": engine.log_waits,
    })
}

fn deadlock(deadlock: &Deadlock, names: &LockNames) -> Value {
    let named = |lock: &LockInfo| {
        let table = names
            .table(lock)
            .map(|def| format!("{}.{}", def.schema, def.name));
        let table = table.unwrap_or_else(|| "a table that is gone".to_owned());
        let place = match (names.index(lock), names.data(lock)) {
            (Some(index), Some(data)) => format!(" {index} ({data})"),
            _ => String::new(),
        };
        cut(&format!("{} on {table}{place}", lock.mode_text()))
    };
    let members = deadlock
        .info
        .members
        .iter()
        .zip(&deadlock.sessions)
        .take(MEMBERS_MAX);
    let members: Vec<Value> = members
        .map(|(member, session)| {
            json!({
                "id": session.as_ref().map(|session| session.id),
                "user": session.as_ref().map(|session| cut(&session.user)),
                "statement": session.as_ref().and_then(|session| session.statement.as_deref()).map(cut),
                "holds": member.holds.iter().take(3).map(&named).collect::<Vec<_>>(),
                "waits_for": named(&member.waits_for),
                "victim": member.victim,
            })
        })
        .collect();
    json!({"at_ms": unix_ms(deadlock.info.at), "count": deadlock.info.members.len(), "members": members})
}

/// Milliseconds since 1970.
pub fn unix_ms(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(cut("short"), "short");
        let long = "ü".repeat(TEXT_LEN_MAX + 5);
        assert_eq!(cut(&long), format!("{}…", "ü".repeat(TEXT_LEN_MAX)));
    }
}
