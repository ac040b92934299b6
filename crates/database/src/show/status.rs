//! SHOW STATUS: the status variables, of the server or of a session.
//!
//! Names and units are MySQL's. What a session counts shows its own value in SHOW SESSION STATUS, all else the server's in both.
//! Of machinery that is not here (MyISAM's keys, a binary log, delayed inserts) the counters stay 0, which they would also be
//! in a MySQL where nobody uses it; programs that watch a server look for them.

use super::string;
use crate::context::answer::{ResultRows, text};
use crate::context::{Counter, SessionState, Totals, command};
use std::sync::atomic::{AtomicU64, Ordering};
use tidemark_engine::{PAGE_SIZE, Status};

/// Whose values are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusScope {
    Global,
    Session,
}

/// What counts things that do not exist here.
const OF_NOTHING: &[&str] = &[
    "Binlog_cache_disk_use",
    "Binlog_cache_use",
    "Binlog_stmt_cache_disk_use",
    "Binlog_stmt_cache_use",
    "Delayed_errors",
    "Delayed_insert_threads",
    "Delayed_writes",
    "Handler_discover",
    "Handler_mrr_init",
    "Handler_prepare",
    "Key_blocks_not_flushed",
    "Key_blocks_unused",
    "Key_blocks_used",
    "Key_read_requests",
    "Key_reads",
    "Key_write_requests",
    "Key_writes",
    "Max_execution_time_set_failed",
    "Not_flushed_delayed_rows",
    "Replica_open_temp_tables",
    "Select_range_check",
    "Slave_open_temp_tables",
    "Tc_log_max_pages_used",
    "Tc_log_page_size",
    "Tc_log_page_waits",
    "Threads_cached",
];

type Values = Vec<(String, String)>;

/// Name and value of every status variable, in the order of their names.
pub fn values(state: &SessionState, scope: StatusScope) -> Values {
    let mut values = Values::new();
    let totals = match scope {
        StatusScope::Global => state.database.totals(),
        StatusScope::Session => {
            let mut own = Totals::default();
            own.add(&state.process.counters);
            own
        }
    };
    put_counted(&mut values, &totals);
    put_server(&mut values, state);
    put_engine(&mut values, state);
    values.extend(OF_NOTHING.iter().map(|name| ((*name).to_owned(), "0".to_owned())));
    values.sort();
    values
}

pub fn status(state: &SessionState, scope: StatusScope) -> ResultRows {
    let mut rows = ResultRows::new(&[("Variable_name", text(64)), ("Value", text(1024))]);
    for (name, value) in values(state, scope) {
        rows.push(vec![string(name), string(value)]);
    }
    rows
}

fn put(values: &mut Values, name: &str, value: impl ToString) {
    values.push((name.to_owned(), value.to_string()));
}

/// What sessions count.
fn put_counted(values: &mut Values, totals: &Totals) {
    for counter in Counter::ALL {
        put(values, counter.name(), totals.of(*counter));
    }
    put(values, "Queries", totals.of(Counter::Questions));
    for (at, name) in command::NAMES.iter().enumerate() {
        if at != command::OTHER {
            put(values, &format!("Com_{name}"), totals.of_command(at));
        }
    }
}

/// Connections, threads, and what else belongs to the server above its engine.
fn put_server(values: &mut Values, state: &SessionState) {
    let database = &state.database;
    let counters = database.counters();
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let time_of = |micros: u64| state.settings.time_zone.local(micros as i64, 0).to_string();
    let encryption = state.info.encryption.as_ref();
    let running = database
        .sessions
        .lock()
        .values()
        .filter(|process| process.with_current(|current| current.running))
        .count();
    let uptime = database.uptime_s();
    let tables = database.engine().table_ids().len();
    if let Some((read_micros, words)) = database.password_dictionary() {
        put(
            values,
            "validate_password.dictionary_file_last_parsed",
            time_of(read_micros as u64),
        );
        put(values, "validate_password.dictionary_file_words_count", words);
    }
    put(values, "Aborted_clients", load(&counters.aborted_clients));
    put(values, "Aborted_connects", load(&counters.aborted_connects));
    put(
        values,
        "Connection_errors_max_connections",
        load(&counters.too_many_connections),
    );
    put(values, "Connections", load(&counters.connections));
    put(values, "Flush_commands", load(&counters.flushes));
    put(
        values,
        "Max_used_connections",
        load(&counters.max_used_connections),
    );
    put(
        values,
        "Max_used_connections_time",
        time_of(load(&counters.max_used_connections_at)),
    );
    put(values, "Open_table_definitions", tables);
    put(values, "Open_tables", tables);
    put(values, "Prepared_stmt_count", load(&counters.prepared));
    put(values, "Ssl_accepts", load(&counters.ssl_accepts));
    put(values, "Ssl_cipher", encryption.map_or("", |e| e.cipher));
    put(
        values,
        "Ssl_finished_accepts",
        load(&counters.ssl_finished_accepts),
    );
    put(values, "Ssl_version", encryption.map_or("", |e| e.version));
    put(values, "Threads_connected", database.session_count());
    put(values, "Threads_created", load(&counters.connections));
    put(values, "Threads_running", running);
    put(values, "Uptime", uptime);
    let flushed = load(&counters.status_flushed_at_s);
    put(
        values,
        "Uptime_since_flush_status",
        uptime.saturating_sub(flushed),
    );
}

fn put_engine(values: &mut Values, state: &SessionState) {
    let engine = state.database.engine();
    let status = engine.status();
    put_pool(values, &status);
    put_log(values, &status, state);
    put_rows(values, &status);
    put(values, "Innodb_page_size", PAGE_SIZE);
    put(values, "Tidemark_active_writers", status.active_writers);
    put(values, "Tidemark_commits", status.commits);
    put(values, "Tidemark_longest_chain", status.longest_chain);
    put(values, "Tidemark_open_views", status.open_views);
    put(values, "Tidemark_rollbacks", status.rollbacks);
    put(values, "Tidemark_tide_lsn", status.tide.0);
    let scrub = engine.scrub_status();
    put(values, "Tidemark_scrub_damaged_pages", scrub.damaged);
    put(values, "Tidemark_scrub_pages_verified", scrub.verified);
    put(values, "Tidemark_scrub_passes", scrub.passes);
    put(values, "Tidemark_scrub_position", scrub.position);
}

fn put_pool(values: &mut Values, status: &Status) {
    let bytes = |pages: u64| pages * PAGE_SIZE as u64;
    put(
        values,
        "Innodb_buffer_pool_bytes_data",
        bytes(status.pool_pages_data),
    );
    put(
        values,
        "Innodb_buffer_pool_bytes_dirty",
        bytes(status.pool_pages_dirty),
    );
    put(values, "Innodb_buffer_pool_pages_data", status.pool_pages_data);
    put(values, "Innodb_buffer_pool_pages_dirty", status.pool_pages_dirty);
    put(
        values,
        "Innodb_buffer_pool_pages_flushed",
        status.pool_pages_written,
    );
    put(values, "Innodb_buffer_pool_pages_free", status.pool_pages_free);
    put(values, "Innodb_buffer_pool_pages_misc", 0);
    put(values, "Innodb_buffer_pool_pages_total", status.pool_pages_total);
    put(values, "Innodb_buffer_pool_reads", status.pool_reads);
    put(values, "Innodb_buffer_pool_wait_free", status.pool_starved);
    put(values, "Innodb_pages_read", status.pool_reads);
    put(values, "Innodb_pages_written", status.pool_pages_written);
}

fn put_log(values: &mut Values, status: &Status, state: &SessionState) {
    put(values, "Innodb_log_waits", status.log_waits);
    put(values, "Innodb_os_log_fsyncs", status.log_syncs);
    put(
        values,
        "Innodb_os_log_written",
        status.log_tail.0 - status.log_opened_at.0,
    );
    put(values, "Innodb_redo_log_checkpoint_lsn", status.checkpoint.0);
    put(values, "Innodb_redo_log_current_lsn", status.log_tail.0);
    put(values, "Innodb_redo_log_enabled", "ON");
    put(
        values,
        "Innodb_redo_log_flushed_to_disk_lsn",
        status.log_flushed.0,
    );
    put(values, "Innodb_redo_log_logical_size", status.log_kept_bytes);
    let is_forced = state.database.modes.is_forced();
    put(
        values,
        "Innodb_redo_log_read_only",
        if is_forced { "ON" } else { "OFF" },
    );
    put(values, "Tidemark_checkpoint_lsn", status.checkpoint.0);
    put(values, "Tidemark_log_flushed_lsn", status.log_flushed.0);
    put(values, "Tidemark_log_group_waits", status.log_group_waits);
    put(values, "Tidemark_log_tail_lsn", status.log_tail.0);
}

fn put_rows(values: &mut Values, status: &Status) {
    let average = status.row_lock_time_ms.checked_div(status.row_lock_waits);
    put(values, "Innodb_deadlocks", status.deadlocks);
    put(values, "Innodb_history_list_length", status.history_length);
    put(
        values,
        "Innodb_row_lock_current_waits",
        status.row_lock_current_waits,
    );
    put(values, "Innodb_row_lock_time", status.row_lock_time_ms);
    put(values, "Innodb_row_lock_time_avg", average.unwrap_or(0));
    put(values, "Innodb_row_lock_time_max", status.row_lock_time_max_ms);
    put(values, "Innodb_row_lock_waits", status.row_lock_waits);
    put(values, "Innodb_rows_deleted", status.rows_deleted);
    put(values, "Innodb_rows_inserted", status.rows_inserted);
    put(values, "Innodb_rows_read", status.rows_read);
    put(values, "Innodb_rows_updated", status.rows_updated);
}
