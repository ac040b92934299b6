//! SHOW for the server: variables, sessions, diagnostics, privileges, character sets, engines.

use super::{optional, string};
use crate::accounts::{Privileges, privilege};
use crate::context::SessionState;
use crate::context::answer::{ResultRows, bigint, text};
use crate::error::{Result, SqlError};
use crate::types::{Charset, Collation, SqlType, Value, WarningLevel};
use std::sync::atomic::Ordering;

pub fn variables(state: &SessionState, global: bool) -> ResultRows {
    let mut rows = ResultRows::new(&[("Variable_name", text(64)), ("Value", text(2048))]);
    for (name, at) in state.database.listed_variables(global) {
        let setting = state.variable_setting(at, global);
        let value = match setting {
            crate::variables::Setting::Null => String::new(),
            setting => setting.to_string(),
        };
        rows.push(vec![string(name), string(value)]);
    }
    rows
}

/// The process list: id, user, host, database, command, seconds, state, statement.
pub fn processes(state: &SessionState, full: bool) -> Vec<Vec<Value>> {
    const STATEMENT_SHOWN_MAX: usize = 100;
    let everybody = state.has_global(Privileges::PROCESS);
    let sessions: Vec<_> = state.database.sessions.lock().values().cloned().collect();
    let waiting = state.database.dictionary().locks().waiting_states();
    let mut rows = Vec::new();
    let own_work = &state.database.own_work;
    let own_work = own_work
        .with_current(|current| current.running)
        .then_some(own_work);
    for process in sessions.iter().map(|session| &**session).chain(own_work) {
        let is_own = std::ptr::eq(process, &state.database.own_work);
        let (user, host) = process.user();
        if !everybody && !state.is_own(process) {
            continue;
        }
        rows.push(process.with_current(|current| {
            let statement = (current.running && !is_own).then(|| {
                let text = current.text();
                let text = String::from_utf8_lossy(&text);
                match full {
                    true => text.into_owned(),
                    false => text.chars().take(STATEMENT_SHOWN_MAX).collect(),
                }
            });
            let doing = match (process.is_killed(), current.running) {
                (true, _) => "Killed",
                (false, true) if !current.doing.is_empty() => &current.doing,
                (false, true) => waiting.get(&process.id).copied().unwrap_or("executing"),
                (false, false) => "",
            };
            vec![
                Value::UInt(process.id),
                string(user),
                string(host),
                optional(current.schema.clone()),
                string(current.command),
                Value::Int(current.since.elapsed().as_secs() as i64),
                string(doing),
                optional(statement),
            ]
        }));
    }
    rows
}

pub fn process_list(state: &SessionState, full: bool) -> ResultRows {
    let mut rows = ResultRows::new(&[
        ("Id", SqlType::bigint_unsigned()),
        ("User", text(32)),
        ("Host", text(261)),
        ("db", text(64)),
        ("Command", text(16)),
        ("Time", bigint()),
        ("State", text(64)),
        ("Info", text(if full { 65_535 } else { 100 })),
    ]);
    rows.rows = counted_processes(state, full);
    rows
}

/// The process list as it is counted in `Deprecated_use_i_s_processlist_count`: that of SHOW, and that of `information_schema`.
pub fn counted_processes(state: &SessionState, full: bool) -> Vec<Vec<Value>> {
    let counters = state.database.counters();
    counters.processlists.fetch_add(1, Ordering::Relaxed);
    let now = state.now_micros.get().max(0) as u64;
    counters.processlist_at.store(now, Ordering::Relaxed);
    processes(state, full)
}

pub fn diagnostics(state: &SessionState, errors_only: bool, limit: Option<(u64, u64)>) -> ResultRows {
    let mut rows = ResultRows::new(&[
        ("Level", text(7)),
        ("Code", SqlType::bigint_unsigned()),
        ("Message", text(512)),
    ]);
    let (skip, take) = limit.unwrap_or((0, u64::MAX));
    let list = state.warnings.to_vec();
    let wanted = list
        .into_iter()
        .filter(|warning| !errors_only || warning.level == WarningLevel::Error)
        .skip(skip as usize)
        .take(take.min(usize::MAX as u64) as usize);
    for warning in wanted {
        let level = match warning.level {
            WarningLevel::Note => "Note",
            WarningLevel::Warning => "Warning",
            WarningLevel::Error => "Error",
        };
        rows.push(vec![
            string(level),
            Value::UInt(warning.code as u64),
            string(warning.message),
        ]);
    }
    rows
}

pub fn engines() -> ResultRows {
    let mut rows = ResultRows::of_text(
        &["Engine", "Support", "Comment", "Transactions", "XA", "Savepoints"],
        80,
    );
    rows.push(
        [
            "InnoDB",
            "DEFAULT",
            "Tidemark: supports transactions, row-level locking and snapshots",
            "YES",
            "NO",
            "YES",
        ]
        .map(string)
        .to_vec(),
    );
    rows
}

pub fn engine_status(state: &SessionState, engine: &str, what: &str) -> Result<ResultRows> {
    state.require_global(Privileges::PROCESS, "PROCESS")?;
    if engine.eq_ignore_ascii_case("performance_schema") {
        return Ok(performance_schema_status(state, what));
    }
    if !engine.eq_ignore_ascii_case("innodb") {
        return Err(SqlError::unknown_storage_engine(engine));
    }
    let mut rows = ResultRows::of_text(&["Type", "Name", "Status"], 65_535);
    if what.eq_ignore_ascii_case("status") {
        let status = crate::monitor::status::text(&state.database, &state.settings.time_zone);
        rows.push(vec![string("InnoDB"), string(""), string(status)]);
    }
    Ok(rows)
}

/// How much there is of what `performance_schema` has a limit for. It has no memory of its own that could be told.
fn performance_schema_status(state: &SessionState, what: &str) -> ResultRows {
    let mut rows = ResultRows::of_text(&["Type", "Name", "Status"], 65_535);
    if what.eq_ignore_ascii_case("status") {
        let digests = state.database.digests.by_id().len();
        let limit = state.database.variable_u64("performance_schema_digests_size");
        for (name, value) in [("count", digests as u64), ("row_count", limit)] {
            let name = format!("events_statements_summary_by_digest.{name}");
            rows.push(vec![
                string("performance_schema"),
                string(name),
                string(value.to_string()),
            ]);
        }
    }
    rows
}

pub fn charsets() -> ResultRows {
    let mut rows = ResultRows::new(&[
        ("Charset", text(64)),
        ("Description", text(2048)),
        ("Default collation", text(64)),
        ("Maxlen", SqlType::bigint_unsigned()),
    ]);
    for charset in Charset::all() {
        rows.push(vec![
            string(charset.name()),
            string(charset.description()),
            string(charset.default_collation().name()),
            Value::UInt(charset.max_bytes() as u64),
        ]);
    }
    rows
}

pub fn collations() -> ResultRows {
    let mut rows = ResultRows::new(&[
        ("Collation", text(64)),
        ("Charset", text(64)),
        ("Id", SqlType::bigint_unsigned()),
        ("Default", text(3)),
        ("Compiled", text(3)),
        ("Sortlen", SqlType::bigint_unsigned()),
        ("Pad_attribute", text(9)),
    ]);
    rows.rows = collation_rows();
    rows
}

/// Name, character set, id, is default, compiled, sort length, pad attribute.
pub fn collation_rows() -> Vec<Vec<Value>> {
    let mut all: Vec<Collation> = Collation::all().collect();
    all.sort_by_key(|collation| collation.name());
    all.into_iter()
        .map(|collation| {
            let charset = collation.charset();
            let default = charset.default_collation() == collation;
            vec![
                string(collation.name()),
                string(charset.name()),
                Value::UInt(collation.id() as u64),
                string(if default { "Yes" } else { "" }),
                string("Yes"),
                Value::UInt(collation.sort_length()),
                string(if collation.pad_space() {
                    "PAD SPACE"
                } else {
                    "NO PAD"
                }),
            ]
        })
        .collect()
}

/// What SHOW PRIVILEGES says of a privilege: its context, by which tools tell what it is granted on, and a comment.
fn privilege_meaning(name: &str) -> (&'static str, &'static str) {
    const ADMIN: &str = "Server Admin";
    match name {
        "ALTER" => ("Tables", "To alter the table"),
        "ALTER ROUTINE" => (
            "Functions,Procedures",
            "To alter or drop stored functions/procedures",
        ),
        "CREATE" => ("Databases,Tables,Indexes", "To create new databases and tables"),
        "CREATE ROUTINE" => ("Databases", "To use CREATE FUNCTION/PROCEDURE"),
        "CREATE ROLE" => (ADMIN, "To create new roles"),
        "CREATE TEMPORARY TABLES" => ("Databases", "To use CREATE TEMPORARY TABLE"),
        "CREATE VIEW" => ("Tables", "To create new views"),
        "CREATE USER" => (ADMIN, "To create new users"),
        "DELETE" => ("Tables", "To delete existing rows"),
        "DROP" => ("Databases,Tables", "To drop databases, tables, and views"),
        "DROP ROLE" => (ADMIN, "To drop roles"),
        "EVENT" => (ADMIN, "To create, alter, drop and execute events"),
        "EXECUTE" => ("Functions,Procedures", "To execute stored routines"),
        "FILE" => ("File access on server", "To read and write files on the server"),
        "GRANT OPTION" => (
            "Databases,Tables,Functions,Procedures",
            "To give to other users those privileges you possess",
        ),
        "INDEX" => ("Tables", "To create or drop indexes"),
        "INSERT" => ("Tables", "To insert data into tables"),
        "LOCK TABLES" => ("Databases", "To use LOCK TABLES (together with SELECT privilege)"),
        "PROCESS" => (ADMIN, "To view the plain text of currently executing queries"),
        "REFERENCES" => ("Databases,Tables", "To have references on tables"),
        "RELOAD" => (ADMIN, "To reload or refresh tables, logs and privileges"),
        "REPLICATION CLIENT" => (ADMIN, "To ask where the slave or master servers are"),
        "REPLICATION SLAVE" => (ADMIN, "To read binary log events from the master"),
        "SELECT" => ("Tables", "To retrieve rows from table"),
        "SHOW DATABASES" => (ADMIN, "To see all databases with SHOW DATABASES"),
        "SHOW VIEW" => ("Tables", "To see views with SHOW CREATE VIEW"),
        "SHUTDOWN" => (ADMIN, "To shut down the server"),
        "SUPER" => (
            ADMIN,
            "To use KILL thread, SET GLOBAL, CHANGE REPLICATION SOURCE, etc.",
        ),
        "TRIGGER" => ("Tables", "To use triggers"),
        "CREATE TABLESPACE" => (ADMIN, "To create/alter/drop tablespaces"),
        "UPDATE" => ("Tables", "To update existing rows"),
        _ => (ADMIN, ""),
    }
}

pub fn privileges() -> ResultRows {
    let mut rows = ResultRows::of_text(&["Privilege", "Context", "Comment"], 80);
    for (_, name, _) in privilege::ALL {
        let (context, comment) = privilege_meaning(name);
        let mut title = String::new();
        for (i, word) in name.split(' ').enumerate() {
            let word = word.to_lowercase();
            title.push_str(if i > 0 { " " } else { "" });
            if i == 0 {
                title.push_str(&word[..1].to_uppercase());
                title.push_str(&word[1..]);
            } else {
                title.push_str(&word);
            }
        }
        rows.push(vec![string(title), string(context), string(comment)]);
    }
    rows
}

pub fn plugins() -> ResultRows {
    let mut rows = ResultRows::of_text(&["Name", "Status", "Type", "Library", "License"], 64);
    for (name, kind) in [
        ("mysql_native_password", "AUTHENTICATION"),
        ("caching_sha2_password", "AUTHENTICATION"),
        ("InnoDB", "STORAGE ENGINE"),
    ] {
        rows.push(vec![
            string(name),
            string("ACTIVE"),
            string(kind),
            Value::Null,
            string("MIT OR Apache-2.0"),
        ]);
    }
    rows
}
