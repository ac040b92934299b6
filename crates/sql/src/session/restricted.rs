//! The privileges that setting a variable needs: all variables of the server need one, and so do those of a session that affect
//! other sessions, or what is written to logs.

use crate::accounts::Privileges;
use crate::context::SessionState;
use crate::error::{Result, SqlError, er};

/// A session may set these with one of three privileges.
const RESTRICTED: &[&str] = &[
    "binlog_direct_non_transactional_updates",
    "binlog_format",
    "binlog_row_image",
    "binlog_row_value_options",
    "binlog_rows_query_log_events",
    "binlog_transaction_compression",
    "binlog_transaction_compression_level_zstd",
    "bulk_insert_buffer_size",
    "character_set_database",
    "character_set_filesystem",
    "connection_memory_chunk_size",
    "connection_memory_limit",
    "global_connection_memory_tracking",
    "histogram_generation_max_mem_size",
    "pseudo_thread_id",
    "sql_generate_invisible_primary_key",
    "sql_log_bin",
    "sql_log_off",
    "sql_require_primary_key",
    "xa_detach_on_prepare",
];

/// Likewise, but SUPER is not enough.
const RESTRICTED_FOR_SUPER: &[&str] = &[
    "innodb_strict_mode",
    "internal_tmp_mem_storage_engine",
    "low_priority_updates",
    "max_delayed_threads",
    "max_error_count",
    "max_insert_delayed_threads",
    "min_examined_row_limit",
    "preload_buffer_size",
    "select_into_buffer_size",
    "select_into_disk_sync_delay",
];

/// Likewise, and what applies changes of another server sets them, too.
const OF_REPLICATION: &[&str] = &[
    "gtid_next",
    "immediate_server_version",
    "original_commit_timestamp",
    "original_server_version",
    "pseudo_replica_mode",
    "pseudo_slave_mode",
];

/// Error 1227 unless the account may set the variable for its own session.
pub(super) fn require_session(state: &SessionState, name: &str) -> Result<()> {
    let admin = Privileges::SYSTEM_VARIABLES_ADMIN.union(Privileges::SESSION_VARIABLES_ADMIN);
    let with_super = admin.union(Privileges::SUPER);
    if RESTRICTED.contains(&name) {
        return state.require_global(
            with_super,
            "SUPER, SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN",
        );
    }
    if RESTRICTED_FOR_SUPER.contains(&name) {
        return state.require_global(admin, "SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN");
    }
    if OF_REPLICATION.contains(&name) {
        return state.require_global(
            with_super.union(Privileges::REPLICATION_APPLIER),
            "SUPER, SYSTEM_VARIABLES_ADMIN, SESSION_VARIABLES_ADMIN or REPLICATION_APPLIER",
        );
    }
    Ok(())
}

/// Error 1227 unless the account may set the variable for the server.
pub(super) fn require_global(state: &SessionState, name: &str) -> Result<()> {
    state.require_global(
        Privileges::SUPER.union(Privileges::SYSTEM_VARIABLES_ADMIN),
        "SUPER or SYSTEM_VARIABLES_ADMIN",
    )?;
    match name {
        "offline_mode" => state.require_global(
            Privileges::ADMINISTERS_CONNECTIONS,
            "SYSTEM_VARIABLES_ADMIN plus CONNECTION_ADMIN or SUPER",
        ),
        "mandatory_roles" => state.require_global(
            Privileges::ROLE_ADMIN,
            "SYSTEM_VARIABLES_ADMIN or SUPER privileges, as well as the ROLE_ADMIN",
        ),
        _ => Ok(()),
    }
}

/// Error 3630 unless the account may keep a value for the next start without setting it now.
pub(super) fn require_persist_only(state: &SessionState) -> Result<()> {
    let both = Privileges::SYSTEM_VARIABLES_ADMIN.union(Privileges::PERSIST_RO_VARIABLES_ADMIN);
    if state.rights().global.contains(both) {
        return Ok(());
    }
    Err(SqlError::new(
        er::PERSIST_ONLY_ACCESS_DENIED,
        "Access denied; you need SYSTEM_VARIABLES_ADMIN and PERSIST_RO_VARIABLES_ADMIN privileges for this operation",
    ))
}
