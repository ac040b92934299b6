//! SHOW STATUS: the status variables, of the server or of a session.
//!
//! Names and units are MySQL's. What a session counts shows its own value in SHOW SESSION STATUS, all else the server's in both.
//! Of machinery that is not here (MyISAM's keys, a binary log, delayed inserts, InnoDB's files of undo) the counters stay 0, which they would also be
//! in a MySQL where nobody uses it; programs that watch a server look for them. So do those of what `performance_schema` had no
//! room for, since nothing of it is ever left out. What would have to be invented is not there: `docs/compatibility.md` lists it.

mod engine;

use super::string;
use crate::context::answer::{ResultRows, text};
use crate::context::error_log;
use crate::context::{Counter, SessionState, Totals, command};
use std::sync::atomic::{AtomicU64, Ordering};

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
    "Connection_errors_peer_address",
    "Connection_errors_select",
    "Connection_errors_tcpwrap",
    "Delayed_errors",
    "Delayed_insert_threads",
    "Delayed_writes",
    "Handler_discover",
    "Handler_mrr_init",
    "Handler_prepare",
    "Innodb_system_rows_deleted",
    "Innodb_system_rows_inserted",
    "Innodb_system_rows_read",
    "Innodb_system_rows_updated",
    "Innodb_undo_tablespaces_active",
    "Innodb_undo_tablespaces_explicit",
    "Innodb_undo_tablespaces_implicit",
    "Innodb_undo_tablespaces_total",
    "Key_blocks_not_flushed",
    "Key_blocks_unused",
    "Key_blocks_used",
    "Key_read_requests",
    "Key_reads",
    "Key_write_requests",
    "Key_writes",
    "Max_execution_time_set_failed",
    "Not_flushed_delayed_rows",
    "Ongoing_anonymous_transaction_count",
    "Open_streams",
    "Performance_schema_accounts_lost",
    "Performance_schema_cond_classes_lost",
    "Performance_schema_cond_instances_lost",
    "Performance_schema_file_classes_lost",
    "Performance_schema_file_handles_lost",
    "Performance_schema_file_instances_lost",
    "Performance_schema_hosts_lost",
    "Performance_schema_index_stat_lost",
    "Performance_schema_locker_lost",
    "Performance_schema_logger_lost",
    "Performance_schema_memory_classes_lost",
    "Performance_schema_metadata_lock_lost",
    "Performance_schema_meter_lost",
    "Performance_schema_metric_lost",
    "Performance_schema_mutex_classes_lost",
    "Performance_schema_mutex_instances_lost",
    "Performance_schema_nested_statement_lost",
    "Performance_schema_prepared_statements_lost",
    "Performance_schema_program_lost",
    "Performance_schema_rwlock_classes_lost",
    "Performance_schema_rwlock_instances_lost",
    "Performance_schema_socket_classes_lost",
    "Performance_schema_socket_instances_lost",
    "Performance_schema_stage_classes_lost",
    "Performance_schema_statement_classes_lost",
    "Performance_schema_table_handles_lost",
    "Performance_schema_table_instances_lost",
    "Performance_schema_table_lock_stat_lost",
    "Performance_schema_thread_classes_lost",
    "Performance_schema_thread_instances_lost",
    "Performance_schema_users_lost",
    "Replica_open_temp_tables",
    "Secondary_engine_execution_count",
    "Select_range_check",
    "Slave_open_temp_tables",
    "Ssl_accept_renegotiates",
    "Ssl_callback_cache_hits",
    "Ssl_client_connects",
    "Ssl_connect_renegotiates",
    "Ssl_finished_connects",
    "Table_locks_immediate",
    "Table_locks_waited",
    "Table_open_cache_overflows",
    "Table_open_cache_triggers_hits",
    "Table_open_cache_triggers_misses",
    "Table_open_cache_triggers_overflows",
    "Tc_log_max_pages_used",
    "Tc_log_page_size",
    "Tc_log_page_waits",
    "TempTable_count_hit_max_ram",
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
    put_tables(&mut values, state, &totals);
    engine::put_engine(&mut values, state);
    put_tls(&mut values, state);
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
    // Past `tmp_table_size` a set of rows goes on in spools.
    put(
        values,
        "Count_hit_tmp_table_size",
        totals.of(Counter::CreatedTmpDiskTables),
    );
    for (at, name) in command::NAMES.iter().enumerate() {
        if at != command::OTHER {
            put(values, &format!("Com_{name}"), totals.of_command(at));
        }
    }
}

/// What tables are open: each use of one finds it open, but for the first after its definition was read or changed.
fn put_tables(values: &mut Values, state: &SessionState, totals: &Totals) {
    let opened = state.database.dictionary().opened();
    put(values, "Opened_table_definitions", opened);
    put(values, "Opened_tables", opened);
    // An external lock is taken, and given back.
    let uses = totals.of(Counter::HandlerExternalLock) / 2;
    put(values, "Table_open_cache_hits", uses.saturating_sub(opened));
    put(values, "Table_open_cache_misses", opened);
}

/// The settings that new connections have TLS with.
fn put_tls(values: &mut Values, state: &SessionState) {
    let tls = state.database.tls.lock().clone();
    let [from, to] = tls.validity();
    for (name, value) in &tls.settings {
        put(values, &format!("Current_tls_{name}"), value);
    }
    put(values, "Ssl_cipher_list", tls.ciphers());
    put(values, "Ssl_server_not_after", to);
    put(values, "Ssl_server_not_before", from);
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
    put(values, "Connection_errors_accept", load(&counters.failed_accepts));
    put(
        values,
        "Connection_errors_internal",
        load(&counters.failed_threads),
    );
    put(values, "Connections", load(&counters.connections));
    error_log::with(|log| {
        put(values, "Error_log_buffered_bytes", log.bytes());
        put(values, "Error_log_buffered_events", log.lines().count());
        put(values, "Error_log_expired_events", log.expired());
        put(values, "Error_log_latest_write", log.last_micros());
    });
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
    put(values, "Locked_connects", load(&counters.locked_connects));
    put(values, "Open_files", database.logs.open_files());
    put(values, "Open_table_definitions", tables);
    put(values, "Open_tables", tables);
    put(values, "Opened_files", database.logs.opened_files());
    put(
        values,
        "Performance_schema_digest_lost",
        database.digests.beyond_limit(),
    );
    put(
        values,
        "Performance_schema_session_connect_attrs_longest_seen",
        load(&counters.longest_attributes),
    );
    put(
        values,
        "Performance_schema_session_connect_attrs_lost",
        load(&counters.cut_attributes),
    );
    for facility in [
        "Resource_group",
        "Telemetry_logs",
        "Telemetry_metrics",
        "Telemetry_traces",
    ] {
        put(values, &format!("{facility}_supported"), "OFF");
    }
    let key = database.public_key.get().map_or("", String::as_str);
    put(values, "Caching_sha2_password_rsa_public_key", key);
    put(
        values,
        "Deprecated_use_i_s_processlist_count",
        load(&counters.processlists),
    );
    put(
        values,
        "Deprecated_use_i_s_processlist_last_timestamp",
        load(&counters.processlist_at),
    );
    put(values, "Slow_launch_threads", load(&counters.slow_launches));
    put(values, "Prepared_stmt_count", load(&counters.prepared));
    put(values, "Ssl_accepts", load(&counters.ssl_accepts));
    put(values, "Ssl_cipher", encryption.map_or("", |e| e.cipher));
    put(
        values,
        "Ssl_finished_accepts",
        load(&counters.ssl_finished_accepts),
    );
    put(
        values,
        "Ssl_sessions_reused",
        u8::from(encryption.is_some_and(|tls| tls.resumed)),
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
