//! `data_locks`, `data_lock_waits`, `threads`, `INNODB_TRX` and `sys.innodb_lock_waits`: which transaction waits for which, since
//! when, on which key, with which statement; `sys.tidemark_hot_rows`: which rows change most.

use super::setup::yes_or_no;
use crate::accounts::Privileges;
use crate::context::process::Process;
use crate::context::{SERVER_ID, SessionSnapshot, SessionState};
use crate::dictionary::TableDef;
use crate::error::Result;
use crate::monitor::{LockNames, lock_id, sessions_by_owner, transaction_id};
use crate::statements::setup::Watched;
use crate::types::{Time, Value};
use crate::variables::isolation_name;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};
use tidemark_engine::{LockInfo, LockKind, TransactionInfo};

type Made = Result<Vec<Vec<Value>>>;

pub(super) fn string(text: impl AsRef<str>) -> Value {
    Value::string(text.as_ref().as_bytes())
}

pub(super) fn optional(text: Option<impl AsRef<str>>) -> Value {
    text.map_or(Value::Null, string)
}

/// A session's thread has its connection's number.
fn thread(sessions: &HashMap<u64, Arc<Process>>, owner: u64) -> Value {
    sessions
        .get(&owner)
        .map_or(Value::Null, |process| Value::UInt(process.id))
}

/// A transaction's number, if the session may know of it: its own, or all with the PROCESS privilege.
pub(super) struct Visible<'s> {
    pub(super) state: &'s SessionState,
    pub(super) sessions: HashMap<u64, Arc<Process>>,
    everybody: bool,
}

impl Visible<'_> {
    pub(super) fn new(state: &SessionState) -> Visible<'_> {
        Visible {
            state,
            sessions: sessions_by_owner(&state.database),
            everybody: state.has_global(Privileges::PROCESS),
        }
    }

    pub(super) fn sees_everybody(&self) -> bool {
        self.everybody
    }

    pub(super) fn sees(&self, owner: u64) -> bool {
        self.everybody
            || self
                .sessions
                .get(&owner)
                .is_some_and(|process| self.state.is_own(process))
    }
}

impl Visible<'_> {
    /// Whether the session may be shown values of the table's rows: it may read them, or see what all sessions do.
    fn reads(&self, table: Option<&Arc<TableDef>>) -> bool {
        let rights = self.state.rights();
        let allows = |table: &Arc<TableDef>| rights.allow(Privileges::SELECT, &table.schema, &table.name);
        self.everybody || table.is_none_or(allows)
    }
}

pub fn data_locks(state: &SessionState) -> Made {
    let visible = Visible::new(state);
    let names = LockNames::new(&state.database, &state.settings.time_zone);
    let mut rows = Vec::new();
    for lock in state.database.engine().locks() {
        if !visible.sees(lock.owner) {
            continue;
        }
        let def = names.table(&lock);
        if def.is_none() {
            // A temporary table's, for which no other session waits.
            continue;
        }
        rows.push(vec![
            string("INNODB"),
            string(lock_id(&lock)),
            Value::UInt(transaction_id(lock.owner, lock.txn)),
            thread(&visible.sessions, lock.owner),
            Value::Null,
            optional(def.map(|def| &def.schema)),
            optional(def.map(|def| &def.name)),
            Value::Null,
            Value::Null,
            optional(names.index(&lock)),
            Value::UInt(0),
            string(lock_type(&lock)),
            string(lock.mode_text()),
            string(if lock.granted { "GRANTED" } else { "WAITING" }),
            optional(names.data(&lock).filter(|_| visible.reads(def))),
        ]);
    }
    Ok(rows)
}

fn lock_type(lock: &LockInfo) -> &'static str {
    match lock.kind {
        LockKind::Table => "TABLE",
        _ => "RECORD",
    }
}

pub fn data_lock_waits(state: &SessionState) -> Made {
    let visible = Visible::new(state);
    let side = |lock: &LockInfo| {
        [
            string(lock_id(lock)),
            Value::UInt(transaction_id(lock.owner, lock.txn)),
            thread(&visible.sessions, lock.owner),
            Value::Null,
            Value::UInt(0),
        ]
    };
    let mut rows = Vec::new();
    for wait in state.database.engine().lock_waits() {
        if visible.sees(wait.waiting.owner) {
            let mut row = vec![string("INNODB")];
            row.extend(side(&wait.waiting));
            row.extend(side(&wait.blocking));
            rows.push(row);
        }
    }
    Ok(rows)
}

pub fn threads(state: &SessionState) -> Made {
    let rows = crate::show::server::processes(state, true);
    let sessions = state.database.sessions.lock().clone();
    let row = |process: Vec<Value>| {
        let session = match process[0] {
            Value::UInt(id) => sessions.get(&id),
            _ => None,
        };
        let (name, kind) = match process[0] {
            Value::UInt(SERVER_ID) => ("thread/innodb/srv_purge_thread", "BACKGROUND"),
            _ => ("thread/sql/one_connection", "FOREGROUND"),
        };
        let mut row = vec![process[0].clone(), string(name), string(kind)];
        let os_thread = session.map(|session| session.os_thread.load(Ordering::Relaxed));
        let watched = session.map_or(Watched::FULLY, |session| session.watched());
        row.extend(process);
        row.extend([
            Value::Null,
            Value::Null,
            yes_or_no(watched.is_instrumented()),
            yes_or_no(watched.has_history()),
            Value::Null,
            os_thread
                .filter(|number| *number > 0)
                .map_or(Value::Null, Value::UInt),
            Value::Null,
            string("PRIMARY"),
            Value::UInt(0),
            Value::UInt(0),
            Value::UInt(0),
            Value::UInt(0),
            string("NO"),
        ]);
        row
    };
    Ok(rows.into_iter().map(row).collect())
}

fn seconds(at: SystemTime) -> i64 {
    at.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs() as i64)
}

impl Visible<'_> {
    fn time(&self, at: SystemTime) -> Value {
        let zone = &self.state.settings.time_zone;
        Value::DateTime(zone.local(seconds(at) * 1_000_000, 0))
    }

    /// How long ago something was, as the server's clock has it in this statement.
    fn age_s(&self, at: SystemTime) -> i64 {
        (self.state.now_micros.get() / 1_000_000 - seconds(at)).max(0)
    }

    fn age(&self, at: SystemTime) -> Value {
        Value::Time(Time::new(self.age_s(at) * 1_000_000, 0))
    }

    fn statement(&self, owner: u64) -> Option<String> {
        self.sessions
            .get(&owner)
            .and_then(|process| SessionSnapshot::of(process).statement)
    }
}

/// A transaction that has done something: BEGIN alone begins none for InnoDB.
fn has_begun(transaction: &TransactionInfo) -> bool {
    transaction.txn.is_some()
        || transaction.has_read
        || transaction.view.is_some()
        || transaction.waits_for.is_some()
        || transaction.row_locks + transaction.table_locks > 0
}

pub fn transactions(state: &SessionState) -> Made {
    super::rows::require_process(state)?;
    let visible = Visible::new(state);
    let mut rows = Vec::new();
    for transaction in state.database.engine().transactions() {
        let owner = transaction.owner;
        if !has_begun(&transaction) {
            continue;
        }
        let process = visible.sessions.get(&owner);
        let waits_for = transaction.waits_for.as_ref();
        let read_only = process.is_some_and(|process| process.read_only.load(Ordering::Relaxed));
        let zero = Value::UInt(0);
        let isolation = isolation_name(transaction.isolation).replace('-', " ");
        rows.push(vec![
            Value::UInt(transaction_id(owner, transaction.txn)),
            string(if waits_for.is_some() {
                "LOCK WAIT"
            } else {
                "RUNNING"
            }),
            visible.time(transaction.started),
            optional(waits_for.map(|(lock, _)| lock_id(lock))),
            waits_for.map_or(Value::Null, |(_, since)| visible.time(*since)),
            Value::UInt(transaction.weight),
            thread(&visible.sessions, owner),
            optional(visible.statement(owner)),
            optional(waits_for.map(|_| "starting index read")),
            Value::UInt(u64::from(
                process.is_some_and(|process| SessionSnapshot::of(process).statement.is_some()),
            )),
            Value::UInt(transaction.table_locks),
            Value::UInt(transaction.weight.saturating_sub(transaction.changes)),
            Value::UInt(transaction.lock_memory_bytes),
            Value::UInt(transaction.row_locks),
            Value::UInt(transaction.changes),
            zero.clone(),
            string(isolation),
            Value::Int(1),
            Value::Int(1),
            Value::Null,
            Value::Int(0),
            zero,
            Value::Int(i64::from(read_only)),
            Value::Int(0),
            Value::Null,
        ]);
    }
    Ok(rows)
}

/// `sys.format_statement`: a long statement with its middle left out.
pub(super) fn shortened(statement: String) -> String {
    const LENGTH_MAX: usize = 64;
    const KEPT: usize = LENGTH_MAX / 2 - 2;
    let characters = statement.chars().count();
    let text = if characters > LENGTH_MAX {
        let head: String = statement.chars().take(KEPT).collect();
        let tail: String = statement.chars().skip(characters - KEPT).collect();
        format!("{head} ... {tail}")
    } else {
        statement
    };
    text.replace('\n', " ")
}

pub fn lock_waits(state: &SessionState) -> Made {
    let visible = Visible::new(state);
    let names = LockNames::new(&state.database, &state.settings.time_zone);
    let engine = state.database.engine();
    let transactions: HashMap<u64, TransactionInfo> =
        engine.transactions().into_iter().map(|t| (t.owner, t)).collect();
    let mut rows = Vec::new();
    for wait in engine.lock_waits() {
        let (waiting, blocking) = (&wait.waiting, &wait.blocking);
        if !visible.sees(waiting.owner) {
            continue;
        }
        let (Some(waiter), Some(blocker)) = (
            transactions.get(&waiting.owner),
            transactions.get(&blocking.owner),
        ) else {
            continue;
        };
        let Some(since) = SystemTime::now().checked_sub(wait.waited) else {
            continue;
        };
        let def = names.table(waiting);
        let quoted = |text: &str| format!("`{}`", text.replace('`', "``"));
        let blocking_pid = thread(&visible.sessions, blocking.owner);
        let kill = |what: &str| match &blocking_pid {
            Value::UInt(id) => string(format!("{what} {id}")),
            _ => Value::Null,
        };
        rows.push(vec![
            visible.time(since),
            visible.age(since),
            Value::Int(visible.age_s(since)),
            optional(def.map(|def| format!("{}.{}", quoted(&def.schema), quoted(&def.name)))),
            optional(def.map(|def| &def.schema)),
            optional(def.map(|def| &def.name)),
            Value::Null,
            Value::Null,
            optional(names.index(waiting)),
            string(lock_type(waiting)),
            Value::UInt(transaction_id(waiting.owner, waiting.txn)),
            visible.time(waiter.started),
            visible.age(waiter.started),
            Value::UInt(waiter.row_locks),
            Value::UInt(waiter.changes),
            thread(&visible.sessions, waiting.owner),
            optional(visible.statement(waiting.owner).map(shortened)),
            string(lock_id(waiting)),
            string(waiting.mode_text()),
            Value::UInt(transaction_id(blocking.owner, blocking.txn)),
            blocking_pid.clone(),
            optional(visible.statement(blocking.owner).map(shortened)),
            string(lock_id(blocking)),
            string(blocking.mode_text()),
            visible.time(blocker.started),
            visible.age(blocker.started),
            Value::UInt(blocker.row_locks),
            Value::UInt(blocker.changes),
            kill("KILL QUERY"),
            kill("KILL"),
        ]);
    }
    rows.sort_by_key(|row| row[0].to_text().into_owned());
    Ok(rows)
}

/// The rows that change most, of tables that the session may read.
pub fn hot_rows(state: &SessionState) -> Made {
    const SHOWN_MAX: usize = 100;
    let names = LockNames::new(&state.database, &state.settings.time_zone);
    let rights = state.rights();
    let mut rows = Vec::new();
    for row in state.database.engine().hot_rows(SHOWN_MAX) {
        let Some((def, key)) = names.row(row.table, &row.key) else {
            continue;
        };
        if !rights.allow(Privileges::SELECT, &def.schema, &def.name) {
            continue;
        }
        rows.push(vec![
            string(&def.schema),
            string(&def.name),
            optional(key),
            Value::UInt(row.updates),
            Value::UInt(u64::from(row.versions)),
        ]);
    }
    Ok(rows)
}
