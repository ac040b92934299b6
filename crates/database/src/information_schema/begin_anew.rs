//! TRUNCATE of tables of `performance_schema`: what they count begins anew, what they keep is forgotten.
//!
//! Of the summaries of statements, transactions, stages, waits and errors by thread, user, host, account and of all, each five are one in
//! this: they are made of the same sums. So are the two summaries of files, those of sockets, of memory, and of the rows of tables.

use super::setup_changes::remove_all;
use super::sockets;
use crate::context::SessionState;
use crate::context::process::Current;
use crate::dictionary::TableDef;
use tidemark_engine::waits;

/// Does what TRUNCATE does to a table. False if it cannot.
pub fn begin_anew(name: &str, state: &SessionState) -> bool {
    let name = name.to_ascii_lowercase();
    let database = &state.database;
    match &*name {
        "events_statements_summary_by_digest" | "events_statements_histogram_by_digest" => {
            database.digests.forget();
        }
        "events_statements_histogram_global" => database.digests.forget_histogram(),
        "events_statements_current" => each_session(state, |current| current.history.recent.forget_last()),
        "events_statements_history" => each_session(state, |current| current.history.recent.forget_history()),
        "events_statements_history_long" => database.long_history.statements.clear(),
        "events_transactions_current" => {
            each_session(state, |current| current.transactions.recent.forget_last())
        }
        "events_transactions_history" => {
            each_session(state, |current| current.transactions.recent.forget_history())
        }
        "events_transactions_history_long" => database.long_history.transactions.clear(),
        "events_stages_current" => each_session(state, |current| current.stages.recent.forget_last()),
        "events_stages_history" => each_session(state, |current| current.stages.recent.forget_history()),
        "events_stages_history_long" => database.long_history.stages.clear(),
        "events_waits_current" => {}
        "host_cache" => database.hosts().forget(),
        "accounts" | "users" | "hosts" => {
            SUMMED.iter().for_each(|events| begin_sums_anew(events, state));
            database.statement_accounts.forget_gone();
        }
        "events_waits_history" => {
            let sessions = database.sessions.lock();
            sessions
                .values()
                .for_each(|process| process.waits.forget_recent());
        }
        "events_waits_history_long" => waits::forget_recent_of_all(),
        "file_summary_by_event_name" | "file_summary_by_instance" => database.engine().files().begin_anew(),
        "table_io_waits_summary_by_table"
        | "table_io_waits_summary_by_index_usage"
        | "objects_summary_global_by_type" => each_table(state, |table| {
            if let Ok(stored) = database.engine().table(table.id) {
                stored.forget_usage();
            }
        }),
        "table_lock_waits_summary_by_table" => each_table(state, |table| table.lock.forget_waits()),
        "socket_summary_by_event_name" | "socket_summary_by_instance" => sockets::begin_anew(state),
        "prepared_statements_instances" => {
            let sessions = database.sessions.lock();
            let prepared = sessions.values().flat_map(|process| process.prepared());
            prepared.for_each(|instance| instance.begin_anew());
        }
        _ => return remove_all(&name, state) || begin_summary_anew(&name, state),
    }
    true
}

pub(super) fn each_table(state: &SessionState, change: impl Fn(&TableDef)) {
    let dictionary = state.database.dictionary();
    for schema in dictionary.schema_names() {
        let tables = dictionary.tables(&schema);
        tables.iter().for_each(|table| change(table));
    }
}

fn each_session(state: &SessionState, change: impl Fn(&mut Current)) {
    let sessions = state.database.sessions.lock();
    sessions.values().for_each(|process| process.with_events(&change));
}

/// One of the summaries of events or of memory.
fn begin_summary_anew(name: &str, state: &SessionState) -> bool {
    let Some((events, of)) = name.split_once("_summary_") else {
        return false;
    };
    let events = events.strip_prefix("events_").unwrap_or(events);
    let end = if events == "errors" {
        "_by_error"
    } else {
        "_by_event_name"
    };
    let is_one = of.strip_suffix(end).is_some_and(|of| {
        let all = ["global", "by_thread", "by_account", "by_user", "by_host"];
        all.contains(&of)
    });
    if is_one && events == "memory" {
        tidemark_memory::begin_marks_anew();
        return true;
    }
    let is_summed = is_one && SUMMED.contains(&events);
    if is_summed {
        begin_sums_anew(events, state);
    }
    is_summed
}

/// The kinds of events that there are sums of.
const SUMMED: [&str; 5] = ["statements", "transactions", "stages", "waits", "errors"];

/// What was summed of a kind of event begins anew.
fn begin_sums_anew(events: &str, state: &SessionState) {
    let (database, accounts) = (&state.database, &state.database.statement_accounts);
    match events {
        "statements" => {
            accounts.for_each(|sums| sums.before.clear());
            let sessions = database.sessions.lock();
            sessions.values().for_each(|process| process.kinds.begin_anew());
        }
        "transactions" => {
            accounts.for_each(|sums| sums.transactions = Default::default());
            each_session(state, |current| current.transactions.sums = Default::default());
        }
        "stages" => {
            accounts.for_each(|sums| sums.stages.clear());
            each_session(state, |current| current.stages.forget_sums());
        }
        "waits" => {
            accounts.for_each(|sums| sums.waited = Default::default());
            let sessions = database.sessions.lock();
            sessions.values().for_each(|process| process.waits.begin_anew());
            waits::background().begin_anew();
        }
        _ => {
            database.errors.forget();
            let sessions = database.sessions.lock();
            sessions.values().for_each(|process| process.errors.forget());
        }
    }
}
