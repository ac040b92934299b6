//! The rows of the tables that are not stored: those of `information_schema`, `performance_schema`, `mysql` and `sys`.
//!
//! Each has a definition in the dictionary (`dictionary::virtual_tables`) like any other table's, so that the planner treats
//! it as one, and here a function that makes all its rows for a session, or, where there may be very many, hands over one after the
//! other. What an account may not see is not among them.

mod accounts;
mod attributes;
mod begin_anew;
mod buffer_pages;
mod engine_columns;
mod engine_statistics;
mod engine_tables;
mod errors;
mod events;
mod extensions;
mod files;
mod history;
mod hosts;
mod keywords;
mod locks;
mod memory;
mod metadata_locks;
mod metrics;
mod prepared;
mod recent;
mod roles;
mod routines;
mod rows;
mod server;
mod setup;
mod setup_changes;
mod sockets;
mod stages;
mod statements;
mod status_by;
mod table_io;
mod transactions;
mod variables;
mod waits;

pub use accounts::{DB_COLUMNS, USER_COLUMNS};
pub use begin_anew::begin_anew;
pub use buffer_pages::TakeRow;
pub use setup_changes::{Change, SetupTable, apply};

use crate::context::SessionState;
use crate::dictionary::TableDef;
use crate::error::Result;
use crate::types::Value;
use statements::{for_accounts, for_hosts, for_users};

type RowMaker = fn(&SessionState) -> Result<Vec<Vec<Value>>>;

const IS: &str = "information_schema";
const PS: &str = "performance_schema";
const MYSQL: &str = "mysql";
const SYS: &str = "sys";

/// For tables of features that Tidemark does not have: they are there, and empty.
fn none(_: &SessionState) -> Result<Vec<Vec<Value>>> {
    Ok(Vec::new())
}

/// Why the session's own last statements were planned as they were, if `optimizer_trace` is on.
fn optimizer_trace(state: &SessionState) -> Result<Vec<Vec<Value>>> {
    let traces = state.traces.borrow();
    let row = |trace: &crate::context::traces::Trace| {
        vec![
            Value::string(trace.query.as_str()),
            Value::string(trace.text.as_str()),
            Value::Int(trace.missing.try_into().unwrap_or(i64::MAX)),
            Value::Int(trace.hidden.into()),
        ]
    };
    Ok(traces.shown(&state.settings.trace).map(row).collect())
}

/// The session's own last statements, if `profiling` is on.
fn profiling(state: &SessionState) -> Result<Vec<Vec<Value>>> {
    Ok(crate::show::profile::stages(state))
}

/// Schema, name, and what makes the rows.
const MAKERS: &[(&str, &str, RowMaker)] = &[
    (IS, "SCHEMATA", rows::schemata),
    (IS, "TABLES", rows::tables),
    (IS, "COLUMNS", rows::columns),
    (IS, "STATISTICS", rows::statistics),
    (IS, "KEY_COLUMN_USAGE", rows::key_column_usage),
    (IS, "TABLE_CONSTRAINTS", rows::table_constraints),
    (IS, "CHECK_CONSTRAINTS", rows::check_constraints),
    (IS, "REFERENTIAL_CONSTRAINTS", rows::referential_constraints),
    (IS, "ENGINES", rows::engines),
    (IS, "CHARACTER_SETS", rows::character_sets),
    (IS, "COLLATIONS", rows::collations),
    (
        IS,
        "COLLATION_CHARACTER_SET_APPLICABILITY",
        rows::collation_applicability,
    ),
    (IS, "PROCESSLIST", rows::processlist),
    (IS, "INNODB_TRX", locks::transactions),
    (IS, "INNODB_FOREIGN", rows::innodb_foreign),
    (IS, "INNODB_FOREIGN_COLS", rows::innodb_foreign_cols),
    (IS, "INNODB_TEMP_TABLE_INFO", rows::innodb_temp_table_info),
    (IS, "INNODB_METRICS", metrics::metrics),
    (IS, "OPTIMIZER_TRACE", optimizer_trace),
    (IS, "VIEWS", rows::views),
    (IS, "VIEW_TABLE_USAGE", rows::view_table_usage),
    (IS, "ROUTINES", routines::routines),
    (IS, "PARAMETERS", routines::parameters),
    (IS, "TRIGGERS", none),
    (IS, "EVENTS", none),
    (IS, "PARTITIONS", rows::partitions),
    (IS, "FILES", rows::files),
    (IS, "PLUGINS", rows::plugins),
    (IS, "USER_PRIVILEGES", rows::user_privileges),
    (IS, "SCHEMA_PRIVILEGES", rows::schema_privileges),
    (IS, "TABLE_PRIVILEGES", rows::table_privileges),
    (IS, "COLUMN_PRIVILEGES", rows::column_privileges),
    (IS, "APPLICABLE_ROLES", roles::applicable),
    (IS, "ADMINISTRABLE_ROLE_AUTHORIZATIONS", roles::administrable),
    (IS, "ENABLED_ROLES", roles::enabled),
    (IS, "ROLE_TABLE_GRANTS", roles::table_grants),
    (IS, "ROLE_COLUMN_GRANTS", roles::column_grants),
    (IS, "COLUMN_STATISTICS", rows::column_statistics),
    (IS, "TABLESPACES", none),
    (IS, "KEYWORDS", keywords::keywords),
    (MYSQL, "user", accounts::user),
    (MYSQL, "db", accounts::db),
    (MYSQL, "tables_priv", accounts::tables_priv),
    (MYSQL, "columns_priv", accounts::columns_priv),
    (MYSQL, "role_edges", roles::edges),
    (MYSQL, "default_roles", roles::defaults),
    (MYSQL, "global_grants", accounts::global_grants),
    (MYSQL, "component", accounts::component),
    (MYSQL, "innodb_table_stats", engine_statistics::tables),
    (MYSQL, "innodb_index_stats", engine_statistics::indexes),
    (MYSQL, "general_log", none),
    (MYSQL, "slow_log", none),
    (PS, "global_variables", rows::global_variables),
    (PS, "session_variables", rows::session_variables),
    (PS, "persisted_variables", rows::persisted_variables),
    (PS, "global_status", rows::global_status),
    (PS, "session_status", rows::session_status),
    (PS, "processlist", rows::processes),
    (PS, "data_locks", locks::data_locks),
    (PS, "data_lock_waits", locks::data_lock_waits),
    (PS, "metadata_locks", metadata_locks::metadata_locks),
    (PS, "threads", locks::threads),
    (
        PS,
        "events_waits_summary_global_by_event_name",
        waits::by_event_name,
    ),
    (
        PS,
        "events_waits_summary_by_thread_by_event_name",
        waits::by_thread,
    ),
    (PS, "events_statements_summary_by_digest", statements::by_digest),
    (
        PS,
        "events_statements_histogram_by_digest",
        statements::histogram_by_digest,
    ),
    (PS, "events_statements_histogram_global", statements::histogram),
    (
        PS,
        "events_statements_summary_global_by_event_name",
        statements::by_event_name,
    ),
    (
        PS,
        "events_statements_summary_by_thread_by_event_name",
        statements::by_thread,
    ),
    (
        PS,
        "events_statements_summary_by_account_by_event_name",
        |state| for_accounts(state, statements::put),
    ),
    (PS, "events_statements_summary_by_user_by_event_name", |state| {
        for_users(state, statements::put)
    }),
    (PS, "events_statements_summary_by_host_by_event_name", |state| {
        for_hosts(state, statements::put)
    }),
    (PS, "events_statements_current", events::current),
    (PS, "events_statements_history", events::history),
    (PS, "events_statements_history_long", events::history_long),
    (PS, "accounts", statements::accounts),
    (PS, "users", statements::users),
    (PS, "hosts", statements::hosts),
    (PS, "setup_consumers", setup::consumers),
    (PS, "setup_instruments", setup::instruments),
    (PS, "setup_actors", setup::actors),
    (PS, "setup_objects", setup::objects),
    (PS, "performance_timers", setup::timers),
    (SYS, "tidemark_views", history::views),
    (SYS, "tidemark_history", history::history),
    (SYS, "tidemark_hot_rows", locks::hot_rows),
    (SYS, "innodb_lock_waits", locks::lock_waits),
    (SYS, "schema_table_lock_waits", metadata_locks::table_lock_waits),
    (SYS, "x$innodb_lock_waits", locks::lock_waits),
    (SYS, "x$schema_table_lock_waits", metadata_locks::table_lock_waits),
    (PS, "session_account_connect_attrs", attributes::of_account),
    (PS, "session_connect_attrs", attributes::all),
    (IS, "USER_ATTRIBUTES", extensions::users),
    (IS, "SCHEMATA_EXTENSIONS", extensions::schemata),
    (IS, "TABLES_EXTENSIONS", extensions::tables),
    (IS, "COLUMNS_EXTENSIONS", extensions::columns),
    (IS, "TABLE_CONSTRAINTS_EXTENSIONS", extensions::constraints),
    (IS, "INNODB_TABLESPACES", server::tablespaces),
    (IS, "INNODB_CMP", server::compression),
    (IS, "INNODB_CMP_RESET", server::compression),
    (IS, "INNODB_CMPMEM", server::compression),
    (IS, "INNODB_CMPMEM_RESET", server::compression),
    (PS, "error_log", server::error_log),
    (PS, "host_cache", hosts::host_cache),
    (PS, "socket_instances", sockets::instances),
    (PS, "socket_summary_by_instance", sockets::by_instance),
    (PS, "socket_summary_by_event_name", sockets::by_event_name),
    (PS, "prepared_statements_instances", prepared::instances),
    (PS, "table_handles", metadata_locks::table_handles),
    (PS, "innodb_redo_log_files", server::log_files),
    (PS, "user_defined_functions", accounts::user_defined_functions),
    (PS, "temporary_account_locks", accounts::temporary_locks),
    (SYS, "sys_config", variables::sys_config),
    (IS, "INNODB_COLUMNS", engine_columns::columns),
    (IS, "INNODB_FT_DEFAULT_STOPWORD", keywords::stopwords),
    (IS, "TABLESPACES_EXTENSIONS", extensions::tablespaces),
    (PS, "memory_summary_global_by_event_name", memory::global),
    (PS, "memory_summary_by_thread_by_event_name", memory::by_thread),
    (PS, "memory_summary_by_account_by_event_name", memory::by_account),
    (PS, "memory_summary_by_user_by_event_name", memory::by_user),
    (PS, "memory_summary_by_host_by_event_name", memory::by_host),
    (PS, "tls_channel_status", server::tls_channel),
    (PS, "events_transactions_current", transactions::current),
    (PS, "events_transactions_history", transactions::history),
    (PS, "events_transactions_history_long", transactions::history_long),
    (
        PS,
        "events_transactions_summary_global_by_event_name",
        transactions::by_event_name,
    ),
    (
        PS,
        "events_transactions_summary_by_thread_by_event_name",
        transactions::by_thread,
    ),
    (
        PS,
        "events_transactions_summary_by_account_by_event_name",
        |state| for_accounts(state, transactions::put),
    ),
    (PS, "events_transactions_summary_by_user_by_event_name", |state| {
        for_users(state, transactions::put)
    }),
    (PS, "events_transactions_summary_by_host_by_event_name", |state| {
        for_hosts(state, transactions::put)
    }),
    (PS, "events_stages_current", stages::current),
    (PS, "events_stages_history", stages::history),
    (PS, "events_stages_history_long", stages::history_long),
    (
        PS,
        "events_stages_summary_global_by_event_name",
        stages::by_event_name,
    ),
    (
        PS,
        "events_stages_summary_by_thread_by_event_name",
        stages::by_thread,
    ),
    (PS, "events_stages_summary_by_account_by_event_name", |state| {
        for_accounts(state, stages::put)
    }),
    (PS, "events_stages_summary_by_user_by_event_name", |state| {
        for_users(state, stages::put)
    }),
    (PS, "events_stages_summary_by_host_by_event_name", |state| {
        for_hosts(state, stages::put)
    }),
    (PS, "file_instances", files::instances),
    (PS, "file_summary_by_event_name", files::by_event_name),
    (PS, "file_summary_by_instance", files::by_instance),
    (PS, "status_by_account", status_by::account),
    (PS, "status_by_host", status_by::host),
    (PS, "status_by_thread", status_by::thread),
    (PS, "status_by_user", status_by::user),
    (PS, "table_io_waits_summary_by_table", table_io::by_table),
    (PS, "table_io_waits_summary_by_index_usage", table_io::by_index),
    (PS, "objects_summary_global_by_type", table_io::objects),
    (PS, "events_waits_current", waits::current),
    (PS, "events_waits_history", waits::history),
    (PS, "events_waits_history_long", waits::history_long),
    (PS, "events_waits_summary_by_account_by_event_name", |state| {
        for_accounts(state, waits::put)
    }),
    (PS, "events_waits_summary_by_user_by_event_name", |state| {
        for_users(state, waits::put)
    }),
    (PS, "events_waits_summary_by_host_by_event_name", |state| {
        for_hosts(state, waits::put)
    }),
    (PS, "events_errors_summary_global_by_error", errors::by_error),
    (PS, "events_errors_summary_by_thread_by_error", errors::by_thread),
    (
        PS,
        "events_errors_summary_by_account_by_error",
        errors::by_account,
    ),
    (PS, "events_errors_summary_by_user_by_error", errors::by_user),
    (PS, "events_errors_summary_by_host_by_error", errors::by_host),
    (PS, "setup_threads", setup::threads),
    (PS, "log_status", server::log_status),
    (PS, "variables_info", variables::info),
    (PS, "variables_metadata", variables::metadata),
    (PS, "variables_by_thread", variables::by_thread),
    (PS, "user_variables_by_thread", variables::user_by_thread),
    (IS, "PROFILING", profiling),
    (IS, "INNODB_TABLES", engine_tables::tables),
    (IS, "INNODB_INDEXES", engine_tables::indexes),
    (IS, "INNODB_FIELDS", engine_tables::key_fields),
    (IS, "INNODB_TABLESTATS", engine_tables::statistics),
    (IS, "INNODB_DATAFILES", engine_tables::data_files),
    (IS, "INNODB_TABLESPACES_BRIEF", engine_tables::tablespaces_brief),
    (IS, "INNODB_BUFFER_POOL_STATS", engine_tables::pool),
    (IS, "INNODB_VIRTUAL", engine_columns::virtual_columns),
    (PS, "table_lock_waits_summary_by_table", table_io::lock_waits),
];

/// Those whose rows are made one after the other.
const WALKS: &[(&str, &str, fn(&SessionState, TakeRow) -> Result<()>)] = &[
    (IS, "INNODB_BUFFER_PAGE", buffer_pages::buffer_page),
    (IS, "INNODB_BUFFER_PAGE_LRU", buffer_pages::buffer_page_lru),
    (IS, "INNODB_CACHED_INDEXES", buffer_pages::cached_indexes),
];

/// Hands over the rows of a virtual table, columns in the definition's order, until `take` says that it has enough.
pub fn for_each_row(table: &TableDef, state: &SessionState, take: TakeRow) -> Result<()> {
    let walk = WALKS
        .iter()
        .find(|(schema, name, _)| table.schema == *schema && table.name == *name);
    if let Some((_, _, walk)) = walk {
        return walk(state, take);
    }
    for row in rows(table, state)? {
        if !take(&row)? {
            break;
        }
    }
    Ok(())
}

/// All rows of a virtual table that has not too many, columns in the definition's order. A table without a maker belongs to a feature that is not here.
pub fn rows(table: &TableDef, state: &SessionState) -> Result<Vec<Vec<Value>>> {
    let found = MAKERS
        .iter()
        .find(|(schema, name, _)| table.schema == *schema && table.name == *name);
    match found {
        Some((_, _, make)) => make(state),
        None => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dictionary::virtual_tables;

    #[test]
    fn every_virtual_table_has_a_maker_of_rows() {
        let defined = virtual_tables::all()
            .iter()
            .filter(|table| table.view.is_none() && !virtual_tables::is_absent(&table.schema, &table.name))
            .map(|table| (&*table.schema, &*table.name));
        let walked = WALKS.iter().map(|(schema, name, _)| (*schema, *name));
        let made = MAKERS.iter().map(|(schema, name, _)| (*schema, *name));
        let made = made.chain(walked);
        let [mut defined, mut made]: [Vec<_>; 2] = [defined.collect(), made.collect()];
        defined.sort();
        made.sort();
        assert_eq!(defined, made);
    }
}
