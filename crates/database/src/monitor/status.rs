//! The text of SHOW ENGINE INNODB STATUS: its TRANSACTIONS and LATEST DETECTED DEADLOCK sections in InnoDB's words, which
//! people and tools know how to read. In place of a record's bytes stand the values of its key.

use super::history::OpenView;
use super::{Deadlock, LockNames, SessionSnapshot, sessions_by_owner, transaction_id};
use crate::context::Database;
use crate::types::TimeZone;
use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};
use tidemark_engine::{LockInfo, LockKind, LockMode, TransactionInfo};

/// The whole text.
pub fn text(database: &Database, zone: &TimeZone) -> String {
    let names = LockNames::new(database, zone);
    let mut out = String::new();
    line(&mut out, "");
    banner(
        &mut out,
        '=',
        &format!("{} TIDEMARK MONITOR OUTPUT", clock(SystemTime::now(), zone)),
    );
    if let Some(deadlock) = database.deadlocks.latest() {
        banner(&mut out, '-', "LATEST DETECTED DEADLOCK");
        out.push_str(&deadlock_text(&deadlock, &names));
    }
    transactions(&mut out, database, &names);
    views(&mut out, database, &names);
    figures(&mut out, database);
    banner(&mut out, '-', "END OF TIDEMARK MONITOR OUTPUT");
    out
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn banner(out: &mut String, rule: char, title: &str) {
    let rule = rule.to_string().repeat(title.len());
    line(out, &rule);
    line(out, title);
    line(out, &rule);
}

fn clock(at: SystemTime, zone: &TimeZone) -> String {
    let micros = at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros());
    let time = crate::types::Value::DateTime(zone.local(micros as i64, 0));
    String::from_utf8_lossy(&time.to_text()).into_owned()
}

fn seconds_since(at: SystemTime) -> u64 {
    SystemTime::now()
        .duration_since(at)
        .map_or(0, |since| since.as_secs())
}

/// What a deadlock's members were running, what they held and what they waited for.
pub fn deadlock_text(deadlock: &Deadlock, names: &LockNames) -> String {
    let mut out = String::new();
    line(&mut out, &clock(deadlock.info.at, names.zone));
    let members = deadlock.info.members.iter().zip(&deadlock.sessions);
    for (n, (member, session)) in members.enumerate() {
        let n = n + 1;
        let transaction = &member.transaction;
        line(&mut out, &format!("*** ({n}) TRANSACTION:"));
        let id = transaction_id(transaction.owner, transaction.txn);
        let active = deadlock
            .info
            .at
            .duration_since(transaction.started)
            .map_or(0, |time| time.as_secs());
        line(&mut out, &format!("TRANSACTION {id}, ACTIVE {active} sec"));
        held(&mut out, transaction, true);
        running(&mut out, session.as_ref());
        line(&mut out, &format!("\n*** ({n}) HOLDS THE LOCK(S):"));
        member
            .holds
            .iter()
            .for_each(|lock| show_lock(&mut out, lock, names));
        line(
            &mut out,
            &format!("\n*** ({n}) WAITING FOR THIS LOCK TO BE GRANTED:"),
        );
        show_lock(&mut out, &member.waits_for, names);
        line(&mut out, "");
    }
    for (n, member) in deadlock.info.members.iter().enumerate() {
        if member.victim {
            line(&mut out, &format!("*** WE ROLL BACK TRANSACTION ({})", n + 1));
        }
    }
    out
}

fn transactions(out: &mut String, database: &Database, names: &LockNames) {
    let status = database.engine().status();
    banner(out, '-', "TRANSACTIONS");
    line(
        out,
        &format!(
            "Tide {}\nActive writers {}, open read views {}\nHistory list length {}\nCommits {}, rollbacks {}, deadlocks \
             {}\nLock waits {} now, {} in all, {} ms in all, longest {} ms",
            status.tide.0,
            status.active_writers,
            status.open_views,
            status.history_length,
            status.commits,
            status.rollbacks,
            status.deadlocks,
            status.row_lock_current_waits,
            status.row_lock_waits,
            status.row_lock_time_ms,
            status.row_lock_time_max_ms,
        ),
    );
    line(out, "LIST OF TRANSACTIONS FOR EACH SESSION:");
    let sessions = sessions_by_owner(database);
    for transaction in database.engine().transactions() {
        let id = transaction_id(transaction.owner, transaction.txn);
        let active = seconds_since(transaction.started);
        line(out, &format!("---TRANSACTION {id}, ACTIVE {active} sec"));
        held(out, &transaction, transaction.waits_for.is_some());
        let session = sessions
            .get(&transaction.owner)
            .map(|process| SessionSnapshot::of(process));
        running(out, session.as_ref());
        if let Some(view) = transaction.view {
            line(out, &format!("Trx read view sees the log up to {}", view.0));
        }
        if let Some((lock, since)) = &transaction.waits_for {
            let waited = seconds_since(*since);
            line(
                out,
                &format!("------- TRX HAS BEEN WAITING {waited} SEC FOR THIS LOCK TO BE GRANTED:"),
            );
            show_lock(out, lock, names);
            line(out, "------------------");
        }
    }
}

/// Which views keep old versions alive, and how far purge is behind.
fn views(out: &mut String, database: &Database, names: &LockNames) {
    banner(out, '-', "READ VIEWS AND PURGE");
    let status = database.engine().status();
    line(
        out,
        &format!(
            "Purge lag {} transactions, {:.0} seconds\nOld versions {} bytes in pages, {} deleted entries out of the \
             way\nLongest chain {} versions",
            status.history_length,
            status.history_age_s,
            status.version_bytes,
            status.buried_entries,
            status.longest_chain,
        ),
    );
    if let Some((at, text)) = &*database.history_warning.lock() {
        line(
            out,
            &format!("Latest warning, {}: {text}", clock(*at, names.zone)),
        );
    }
    hottest_rows(out, database, names);
    let sessions = sessions_by_owner(database);
    // To find what each view keeps takes reading all versions; a view that has just been opened keeps none.
    for view in database.engine().views().unwrap_or_default() {
        line(
            out,
            &format!(
                "---VIEW of the log up to {}, open {} sec, {} versions and {} bytes for it alone",
                view.lsn.0,
                super::history::age_s(view.opened),
                view.versions,
                view.bytes
            ),
        );
        let view = OpenView::of(view, &sessions);
        running(out, view.session.as_ref());
        if let Some(statement) = &view.opened_by {
            line(out, &format!("View opened by: {statement}"));
        }
    }
}

/// The rows that change most, if any change at all.
fn hottest_rows(out: &mut String, database: &Database, names: &LockNames) {
    const SHOWN_MAX: usize = 10;
    let rows = database.engine().hot_rows(SHOWN_MAX);
    if rows.is_empty() {
        return;
    }
    line(out, "HOTTEST ROWS OF THE LAST SECONDS:");
    for row in rows {
        let Some((def, key)) = names.row(row.table, &row.key) else {
            continue;
        };
        let key = key.as_deref().unwrap_or("a row that is gone");
        line(
            out,
            &format!(
                "`{}`.`{}` ({key}): {} updates in the sample, {} old versions",
                def.schema, def.name, row.updates, row.versions
            ),
        );
    }
}

/// How much a transaction holds.
fn held(out: &mut String, transaction: &TransactionInfo, waits: bool) {
    let mut text = String::new();
    if waits {
        text.push_str("LOCK WAIT ");
    }
    let (rows, tables) = (transaction.row_locks, transaction.table_locks);
    let heap = transaction.lock_memory_bytes;
    let _ = write!(
        text,
        "{} lock struct(s), heap size {heap}, {rows} row lock(s)",
        rows + tables
    );
    if transaction.changes > 0 {
        let _ = write!(text, ", undo log entries {}", transaction.changes);
    }
    line(out, &text);
}

fn running(out: &mut String, session: Option<&SessionSnapshot>) {
    let Some(session) = session else { return };
    line(
        out,
        &format!(
            "MySQL thread id {}, query id {} {} {} {}",
            session.id,
            session.statement_id,
            session.host.split(':').next().unwrap_or_default(),
            session.user,
            session.command
        ),
    );
    if let Some(statement) = &session.statement {
        line(out, statement);
    }
}

/// One lock, in InnoDB's words.
fn show_lock(out: &mut String, lock: &LockInfo, names: &LockNames) {
    let id = transaction_id(lock.owner, lock.txn);
    let table = match names.table(lock) {
        Some(def) => format!("`{}`.`{}`", def.schema, def.name),
        None => format!("#{}", lock.table.0),
    };
    let waiting = if lock.granted { "" } else { " waiting" };
    if lock.kind == LockKind::Table {
        line(
            out,
            &format!(
                "TABLE LOCK table {table} trx id {id} lock mode {}{waiting}",
                lock.mode
            ),
        );
        return;
    }
    let mode = match lock.mode {
        LockMode::Exclusive => "lock_mode X",
        _ => "lock mode S",
    };
    let kind = match lock.kind {
        LockKind::Table | LockKind::NextKey => "",
        LockKind::Gap => " locks gap before rec",
        LockKind::Record => " locks rec but not gap",
        LockKind::InsertIntention => " locks gap before rec insert intention",
    };
    let index = names.index(lock).unwrap_or_default();
    line(
        out,
        // Locks are of keys, not of places in pages; programs that read this look for the words.
        &format!(
            "RECORD LOCKS space id 0 page no 0 n bits 0 index {index} of table {table} trx id {id} {mode}{kind}{waiting}"
        ),
    );
    match names.data(lock) {
        Some(data) => line(out, &format!("Record lock, key {data}")),
        None => line(out, "Record lock, on a record that is gone"),
    }
}

fn figures(out: &mut String, database: &Database) {
    let s = database.engine().status();
    banner(out, '-', "LOG");
    line(
        out,
        &format!(
            "Log sequence number {}\nLog flushed up to   {}\nLast checkpoint at  {}\n{} log syncs, {} waits for a sync under way",
            s.log_tail.0, s.log_flushed.0, s.checkpoint.0, s.log_syncs, s.log_group_waits,
        ),
    );
    banner(out, '-', "BUFFER POOL AND MEMORY");
    line(
        out,
        &format!(
            "Buffer pool size   {}\nFree buffers       {}\nDatabase pages     {}\nModified db pages  {}\nPages read {}, \
             written {}",
            s.pool_pages_total,
            s.pool_pages_free,
            s.pool_pages_data,
            s.pool_pages_dirty,
            s.pool_reads,
            s.pool_pages_written,
        ),
    );
    banner(out, '-', "ROW OPERATIONS");
    line(
        out,
        &format!(
            "Number of rows inserted {}, updated {}, deleted {}, read {}",
            s.rows_inserted, s.rows_updated, s.rows_deleted, s.rows_read,
        ),
    );
}
