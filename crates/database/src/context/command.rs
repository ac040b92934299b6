//! The kinds of statements and commands, as the `Com_…` status counters name them.
//!
//! The list is MySQL's whole one: what reads the counters looks for each by its name. Those of statements that are not there stay 0.

use crate::parse::ast::{STATEMENT_KINDS, Statement};

/// The counters' names behind `Com_`. A kind of statement is its position here. `other` is what MySQL has no counter for.
pub const NAMES: &[&str] = &[
    "admin_commands",
    "alter_db",
    "alter_event",
    "alter_function",
    "alter_instance",
    "alter_library",
    "alter_procedure",
    "alter_resource_group",
    "alter_server",
    "alter_table",
    "alter_tablespace",
    "alter_user",
    "alter_user_default_role",
    "analyze",
    "assign_to_keycache",
    "begin",
    "binlog",
    "call_procedure",
    "change_db",
    "change_repl_filter",
    "change_replication_source",
    "check",
    "checksum",
    "clone",
    "commit",
    "create_db",
    "create_event",
    "create_function",
    "create_index",
    "create_library",
    "create_masking_policy",
    "create_procedure",
    "create_resource_group",
    "create_role",
    "create_server",
    "create_spatial_reference_system",
    "create_table",
    "create_trigger",
    "create_udf",
    "create_user",
    "create_view",
    "dealloc_sql",
    "delete",
    "delete_multi",
    "do",
    "drop_db",
    "drop_event",
    "drop_function",
    "drop_index",
    "drop_library",
    "drop_masking_policy",
    "drop_procedure",
    "drop_resource_group",
    "drop_role",
    "drop_server",
    "drop_spatial_reference_system",
    "drop_table",
    "drop_trigger",
    "drop_user",
    "drop_view",
    "empty_query",
    "execute_sql",
    "explain_other",
    "flush",
    "get_diagnostics",
    "grant",
    "grant_roles",
    "group_replication_start",
    "group_replication_stop",
    "ha_close",
    "ha_open",
    "ha_read",
    "help",
    "import",
    "insert",
    "insert_select",
    "install_component",
    "install_plugin",
    "kill",
    "load",
    "lock_instance",
    "lock_tables",
    "optimize",
    "other",
    "preload_keys",
    "prepare_sql",
    "purge",
    "purge_before_date",
    "release_savepoint",
    "rename_table",
    "rename_user",
    "repair",
    "replace",
    "replace_select",
    "replica_start",
    "replica_stop",
    "reset",
    "resignal",
    "restart",
    "revoke",
    "revoke_all",
    "revoke_roles",
    "rollback",
    "rollback_to_savepoint",
    "savepoint",
    "select",
    "set_option",
    "set_password",
    "set_resource_group",
    "set_role",
    "show_binary_log_status",
    "show_binlog_events",
    "show_binlogs",
    "show_charsets",
    "show_collations",
    "show_create_db",
    "show_create_event",
    "show_create_func",
    "show_create_library",
    "show_create_masking_policy",
    "show_create_proc",
    "show_create_table",
    "show_create_trigger",
    "show_create_user",
    "show_databases",
    "show_engine_logs",
    "show_engine_mutex",
    "show_engine_status",
    "show_errors",
    "show_events",
    "show_fields",
    "show_function_code",
    "show_function_status",
    "show_grants",
    "show_keys",
    "show_library_status",
    "show_open_tables",
    "show_parse_tree",
    "show_plugins",
    "show_privileges",
    "show_procedure_code",
    "show_procedure_status",
    "show_processlist",
    "show_profile",
    "show_profiles",
    "show_relaylog_events",
    "show_replica_status",
    "show_replicas",
    "show_status",
    "show_storage_engines",
    "show_table_status",
    "show_tables",
    "show_triggers",
    "show_variables",
    "show_warnings",
    "shutdown",
    "signal",
    "stmt_close",
    "stmt_execute",
    "stmt_fetch",
    "stmt_prepare",
    "stmt_reprepare",
    "stmt_reset",
    "stmt_send_long_data",
    "truncate",
    "uninstall_component",
    "uninstall_plugin",
    "unlock_instance",
    "unlock_tables",
    "update",
    "update_multi",
    "xa_commit",
    "xa_end",
    "xa_prepare",
    "xa_recover",
    "xa_rollback",
    "xa_start",
];
/// The number of counters.
pub const COUNT: usize = NAMES.len();
/// What could not be parsed. From here on kinds have no counter.
pub const ERROR: usize = COUNT;
/// COM_STMT_PREPARE, as an event.
pub const COM_PREPARE: usize = COUNT + 1;
/// COM_STMT_EXECUTE, as an event.
pub const COM_EXECUTE: usize = COUNT + 2;
/// The number of kinds of events.
pub const KINDS: usize = COUNT + 3;

/// The name of a kind in `performance_schema`.
pub fn event_name(kind: usize) -> String {
    match kind {
        ERROR => "statement/sql/error".to_owned(),
        COM_PREPARE => "statement/com/Prepare".to_owned(),
        COM_EXECUTE => "statement/com/Execute".to_owned(),
        kind => format!("statement/sql/{}", NAMES.get(kind).unwrap_or(&"other")),
    }
}

const fn position(name: &str) -> usize {
    let mut at = 0;
    while at < COUNT {
        let (a, b) = (NAMES[at].as_bytes(), name.as_bytes());
        let mut same = a.len() == b.len();
        let mut i = 0;
        while same && i < a.len() {
            same = a[i] == b[i];
            i += 1;
        }
        if same {
            return at;
        }
        at += 1;
    }
    panic!("no such command");
}

/// What is counted for no statement that MySQL knows.
pub const OTHER: usize = position("other");
/// PREPARE … FROM
pub const PREPARE_SQL: usize = position("prepare_sql");
/// EXECUTE
pub const EXECUTE_SQL: usize = position("execute_sql");
/// DEALLOCATE PREPARE
pub const DEALLOC_SQL: usize = position("dealloc_sql");
/// COM_STMT_PREPARE
pub const STMT_PREPARE: usize = position("stmt_prepare");
/// COM_STMT_EXECUTE
pub const STMT_EXECUTE: usize = position("stmt_execute");
/// COM_STMT_CLOSE
pub const STMT_CLOSE: usize = position("stmt_close");
/// COM_STMT_FETCH
pub const STMT_FETCH: usize = position("stmt_fetch");
/// COM_STMT_RESET
pub const STMT_RESET: usize = position("stmt_reset");
/// COM_STMT_SEND_LONG_DATA
pub const STMT_SEND_LONG_DATA: usize = position("stmt_send_long_data");
/// A prepared statement that was planned once more, since its tables had changed or its parameters were of other types.
pub const STMT_REPREPARE: usize = position("stmt_reprepare");
/// COM_INIT_DB
pub const CHANGE_DB: usize = position("change_db");
/// COM_FIELD_LIST
pub const SHOW_FIELDS: usize = position("show_fields");
/// COM_STATISTICS
pub const SHOW_STATUS: usize = position("show_status");
/// COM_SET_OPTION
pub const SET_OPTION: usize = position("set_option");
/// COM_PING, COM_CHANGE_USER and COM_RESET_CONNECTION, which have no counters of their own.
pub const ADMIN: usize = position("admin_commands");

/// `named!("select")`: the position of a name, found when this is compiled.
macro_rules! named {
    ($name:literal) => {{
        const AT: usize = position($name);
        AT
    }};
}

/// The counter of each kind of statement.
static OF_KINDS: [usize; STATEMENT_KINDS.len()] = {
    let mut of = [0; STATEMENT_KINDS.len()];
    let mut kind = 0;
    while kind < STATEMENT_KINDS.len() {
        of[kind] = position(STATEMENT_KINDS[kind].counter);
        kind += 1;
    }
    of
};

/// The counter of a statement; of EXPLAIN that of what is explained.
pub fn of(statement: &Statement) -> usize {
    match statement {
        Statement::Explain(explain) => of(&explain.statement),
        other => OF_KINDS[other.kind() as usize],
    }
}

/// SHOW PROFILE and SHOW PROFILES, which are not profiled themselves.
pub fn is_of_profiles(kind: usize) -> bool {
    [named!("show_profile"), named!("show_profiles")].contains(&kind)
}
