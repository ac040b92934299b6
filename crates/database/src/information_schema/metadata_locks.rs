//! `performance_schema.metadata_locks`, `table_handles` and `sys.schema_table_lock_waits`: the locks between statements that use a table and
//! those that change what it is, and the KILL that ends a wait for one.

use super::locks::{optional, shortened, string};
use crate::accounts::Privileges;
use crate::context::process::Process;
use crate::context::{SessionSnapshot, SessionState};
use crate::error::Result;
use crate::mdl::inspect::{Object, Shown};
use crate::types::Value;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

type Made = Result<Vec<Vec<Value>>>;

/// The sessions that this one may know of, by their numbers: those of its user, or all with the PROCESS privilege.
fn visible(state: &SessionState) -> HashMap<u64, Arc<Process>> {
    let everybody = state.has_global(Privileges::PROCESS);
    let sessions = state.database.sessions.lock();
    let seen = |process: &&Arc<Process>| everybody || state.is_own(process);
    let seen = sessions.values().filter(seen);
    seen.map(|process| (process.id, Arc::clone(process))).collect()
}

/// A number that stands for the lock as long as it is there.
fn instance(lock: &Shown) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&lock.object, lock.session, lock.kind).hash(&mut hasher);
    hasher.finish()
}

pub fn metadata_locks(state: &SessionState) -> Made {
    let sessions = visible(state);
    let locks = state.database.dictionary().locks().show();
    let locks = locks.iter().filter(|lock| sessions.contains_key(&lock.session));
    let row = |lock: &Shown| {
        let (kind, schema, name) = match &lock.object {
            Object::Global => ("GLOBAL", None, None),
            Object::Backup => ("BACKUP LOCK", None, None),
            Object::Schema(schema) => ("SCHEMA", Some(schema), None),
            Object::Table(schema, name) => ("TABLE", Some(schema), Some(name)),
            Object::Program(kind, schema, name) => (kind.word(), Some(schema), Some(name)),
            Object::Named(name) => ("USER LEVEL LOCK", None, Some(name)),
        };
        vec![
            string(kind),
            optional(schema),
            optional(name),
            Value::Null,
            Value::UInt(instance(lock)),
            string(lock.kind),
            string(lock.duration),
            string(if lock.granted { "GRANTED" } else { "PENDING" }),
            Value::Null,
            Value::UInt(lock.session),
            Value::Null,
        ]
    };
    Ok(locks.map(row).collect())
}

/// The tables that statements and transactions have in use, LOCK TABLES too. No table is kept open beyond that.
pub fn table_handles(state: &SessionState) -> Made {
    let sessions = visible(state);
    let mut rows = Vec::new();
    for lock in state.database.dictionary().locks().show() {
        let (Object::Table(schema, name), true, Some(owner)) =
            (&lock.object, lock.granted, sessions.get(&lock.session))
        else {
            continue;
        };
        let external = match lock.kind {
            "SHARED_READ" | "SHARED_READ_ONLY" => "READ EXTERNAL",
            "SHARED_WRITE" | "SHARED_NO_READ_WRITE" => "WRITE EXTERNAL",
            _ => continue,
        };
        let event = owner.with_current(|current| current.history.next_id());
        rows.push(vec![
            string("TABLE"),
            string(schema),
            string(name),
            Value::UInt(instance(&lock)),
            Value::UInt(lock.session),
            Value::UInt(event),
            Value::Null,
            string(external),
        ]);
    }
    Ok(rows)
}

pub fn table_lock_waits(state: &SessionState) -> Made {
    let sessions = visible(state);
    let mut rows = Vec::new();
    for wait in state.database.dictionary().locks().show_waits() {
        let (waiting, blocking) = (&wait.waiting, &wait.blocking);
        let (Object::Table(schema, name), Some(waiter)) = (&waiting.object, sessions.get(&waiting.session))
        else {
            continue;
        };
        let account = |process: &Arc<Process>| {
            let seen = SessionSnapshot::of(process);
            let host = seen.host.split(':').next().unwrap_or_default();
            string(format!("{}@{host}", seen.user))
        };
        let seconds = waiter.with_current(|current| current.since.elapsed().as_secs());
        rows.push(vec![
            string(schema),
            string(name),
            Value::UInt(waiting.session),
            Value::UInt(waiting.session),
            account(waiter),
            string(waiting.kind),
            string(waiting.duration),
            optional(SessionSnapshot::of(waiter).statement.map(shortened)),
            Value::Int(seconds as i64),
            Value::UInt(0),
            Value::UInt(0),
            Value::UInt(blocking.session),
            Value::UInt(blocking.session),
            sessions.get(&blocking.session).map_or(Value::Null, account),
            string(blocking.kind),
            string(blocking.duration),
            string(format!("KILL QUERY {}", blocking.session)),
            string(format!("KILL {}", blocking.session)),
        ]);
    }
    Ok(rows)
}
