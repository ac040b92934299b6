//! Which session waits for which, for a lock of any kind: rows and tables of the engine, and definitions.

use super::{LockNames, sessions_by_owner};
use crate::context::Database;
use crate::mdl::inspect::Object;
use std::time::Duration;
use tidemark_engine::LockKind;

/// A session that waits, and one that is in its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// CONNECTION_ID() of the session that waits.
    pub waiter: u64,
    /// The session that has what it waits for, or asks for it before it; `None`: it is gone.
    pub blocker: Option<u64>,
    /// What is waited for: kind, mode, table, and the key of a row.
    pub lock: String,
    /// The table's database and name, if it is one.
    pub table: Option<(String, String)>,
    /// The index, if it is the lock of a row or gap.
    pub index: Option<String>,
    /// It is a lock of the engine, on a row or a table; else one on a definition or a name.
    pub of_rows: bool,
    /// How long it has waited.
    pub waited: Duration,
}

/// The sessions that wait for a lock, each with one that holds it; the longest waits first. At most `most` waits of each kind of lock.
pub fn blocked(database: &Database, names: &LockNames, most: usize) -> Vec<Blocked> {
    let mut found = Vec::new();
    let waits = database.engine().first_lock_waits(most);
    let sessions = match waits.is_empty() {
        true => Default::default(),
        false => sessions_by_owner(database),
    };
    for wait in waits {
        let Some(waiter) = sessions.get(&wait.waiting.owner) else {
            continue;
        };
        let table = names.table(&wait.waiting);
        let table = table.map(|def| (def.schema.clone(), def.name.clone()));
        let named = table
            .as_ref()
            .map_or(String::new(), |(schema, name)| format!(" on {schema}.{name}"));
        let place = match (wait.waiting.kind, names.index(&wait.waiting)) {
            (LockKind::Table, _) | (_, None) => String::new(),
            (_, Some(index)) => format!(
                " {index} ({})",
                names.data(&wait.waiting).unwrap_or_else(|| "?".to_owned())
            ),
        };
        found.push(Blocked {
            waiter: waiter.id,
            blocker: sessions.get(&wait.blocking.owner).map(|process| process.id),
            lock: format!("{}{named}{place}", wait.waiting.mode_text()),
            table,
            index: names.index(&wait.waiting),
            of_rows: true,
            waited: wait.waited,
        });
    }
    for wait in database.dictionary().locks().show_some_waits(most) {
        let waiter = wait.waiting.session;
        let running = database.sessions.lock().get(&waiter).cloned();
        let waited = running.map(|process| process.with_current(|current| current.since.elapsed()));
        let (on, table) = match wait.waiting.object {
            Object::Global => ("everything".to_owned(), None),
            Object::Backup => ("LOCK INSTANCE FOR BACKUP".to_owned(), None),
            Object::Schema(name) => (format!("database {name}"), None),
            Object::Table(schema, name) => (format!("definition of {schema}.{name}"), Some((schema, name))),
            Object::Program(kind, schema, name) => (
                format!("definition of {} {schema}.{name}", kind.word().to_lowercase()),
                None,
            ),
            Object::Named(name) => (format!("GET_LOCK {name}"), None),
        };
        found.push(Blocked {
            waiter,
            blocker: Some(wait.blocking.session),
            lock: format!("{} on {on}", wait.waiting.kind),
            table,
            index: None,
            of_rows: false,
            waited: waited.unwrap_or_default(),
        });
    }
    found.dedup_by(|a, b| (a.waiter, a.blocker, &a.lock) == (b.waiter, b.blocker, &b.lock));
    found.sort_by_key(|blocked| std::cmp::Reverse(blocked.waited));
    found
}
