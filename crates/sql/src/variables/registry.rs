//! The system variables there are: the one list from which SET, SHOW, `@@name`, the command line and `my.cnf` work.
//!
//! A variable that clients and configurations know but that has nothing to act on here is listed with what it would
//! mean ([`Def::unused`]): it can be set and read back, and the log says at start that it does nothing.

use Kind::*;
use Scope::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Global,
    Session,
    Both,
}

/// The values a variable takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Bool,
    Uint {
        min: u64,
        max: u64,
    },
    Int {
        min: i64,
        max: i64,
    },
    Float {
        min: f64,
        max: f64,
    },
    Enum(&'static [&'static str]),
    /// A comma separated subset.
    Flags(&'static [&'static str]),
    Text,
    /// Text or NULL, for file names and the like.
    NullableText,
    Charset {
        nullable: bool,
    },
    Collation,
    SqlMode,
    TimeZone,
}

#[derive(Clone, Copy, Debug)]
pub struct Def {
    pub name: &'static str,
    pub scope: Scope,
    /// Can be set while the server runs.
    pub dynamic: bool,
    pub kind: Kind,
    pub default: &'static str,
    /// Why setting it does nothing.
    pub unused: Option<&'static str>,
}

const fn def(name: &'static str, scope: Scope, dynamic: bool, kind: Kind, default: &'static str) -> Def {
    Def {
        name,
        scope,
        dynamic,
        kind,
        default,
        unused: None,
    }
}

const fn unused(
    name: &'static str,
    scope: Scope,
    kind: Kind,
    default: &'static str,
    why: &'static str,
) -> Def {
    Def {
        name,
        scope,
        dynamic: true,
        kind,
        default,
        unused: Some(why),
    }
}

const fn uint(min: u64, max: u64) -> Kind {
    Uint { min, max }
}

/// Up to the largest 64-bit number.
const fn from(min: u64) -> Kind {
    Uint { min, max: u64::MAX }
}

const SECONDS: Kind = uint(1, 31_536_000);
const CHARSET: Kind = Charset { nullable: false };
const CHARSET_OR_NULL: Kind = Charset { nullable: true };
const ISOLATION: Kind = Enum(&[
    "READ-UNCOMMITTED",
    "READ-COMMITTED",
    "REPEATABLE-READ",
    "SERIALIZABLE",
]);
const PLUGINS: Kind = Enum(&["mysql_native_password", "caching_sha2_password"]);
const TERNARY: Kind = Enum(&["OFF", "ON", "OFF_PERMISSIVE", "ON_PERMISSIVE"]);

const NO_TABLE_CACHE: &str = "table definitions are always in memory";
const NO_ADMISSION: &str = "sessions are not queued before they enter the engine";
const NO_PURGE_TUNING: &str = "purge sets its own pace";
const NO_FILES: &str = "Tidemark keeps its files its own way";
const NO_BINLOG: &str = "there is no binary log";
const NO_REPLICATION: &str = "there is no replication";
const NO_OTHER_ENGINES: &str = "there is one storage engine";
const NO_BUFFERS: &str = "the executor does not use this buffer";
const NO_OPTIMIZER: &str = "the optimizer does not use it";
const NO_LOG: &str = "there is no such log";
const NO_POOL_TUNING: &str = "the buffer pool does not work that way";
const NO_STATISTICS: &str = "statistics are estimated from the trees when they are needed";
const NO_THREADS: &str = "threads are one per connection";
const NO_ADAPTIVE: &str = "there is no such structure";

pub static DEFS: &[Def] = &[
    // What the server is.
    def("version", Global, false, Text, crate::variables::VERSION),
    def("version_comment", Global, false, Text, "Tidemark"),
    def(
        "version_compile_machine",
        Global,
        false,
        Text,
        std::env::consts::ARCH,
    ),
    def("version_compile_os", Global, false, Text, "Linux"),
    def("version_compile_zlib", Global, false, Text, ""),
    def("protocol_version", Global, false, uint(10, 10), "10"),
    def("license", Global, false, Text, "MIT OR Apache-2.0"),
    def("hostname", Global, false, Text, "localhost"),
    def("port", Global, false, uint(0, 65535), "3306"),
    def("socket", Global, false, Text, ""),
    def("bind_address", Global, false, Text, "127.0.0.1"),
    def("basedir", Global, false, Text, "/"),
    def("datadir", Global, false, Text, "./tidemark-data/"),
    def("tmpdir", Global, false, Text, "/tmp"),
    def("pid_file", Global, false, Text, ""),
    def("log_error", Global, false, Text, "stderr"),
    def("server_id", Global, true, uint(0, 4_294_967_295), "1"),
    def("server_uuid", Global, false, Text, ""),
    def("lower_case_table_names", Global, false, uint(0, 0), "0"),
    def("lower_case_file_system", Global, false, Bool, "OFF"),
    def("skip_networking", Global, false, Bool, "OFF"),
    def("skip_name_resolve", Global, false, Bool, "ON"),
    def("system_time_zone", Global, false, Text, "UTC"),
    def("have_ssl", Global, false, Text, "DISABLED"),
    def("have_openssl", Global, false, Text, "DISABLED"),
    def("have_compress", Global, false, Text, "NO"),
    def("have_profiling", Global, false, Text, "NO"),
    def("have_query_cache", Global, false, Text, "NO"),
    def("have_geometry", Global, false, Text, "NO"),
    def("have_statement_timeout", Global, false, Text, "YES"),
    def("have_symlink", Global, false, Text, "DISABLED"),
    def("have_dynamic_loading", Global, false, Text, "NO"),
    def("have_rtree_keys", Global, false, Text, "NO"),
    def("large_page_size", Global, false, uint(0, 0), "0"),
    def("default_storage_engine", Both, true, Enum(&["InnoDB"]), "InnoDB"),
    def(
        "default_tmp_storage_engine",
        Both,
        true,
        Enum(&["InnoDB"]),
        "InnoDB",
    ),
    def("disabled_storage_engines", Global, false, Text, ""),
    def(
        "internal_tmp_mem_storage_engine",
        Both,
        true,
        Enum(&["MEMORY", "TempTable"]),
        "TempTable",
    ),
    def(
        "default_authentication_plugin",
        Global,
        false,
        PLUGINS,
        "caching_sha2_password",
    ),
    def("authentication_policy", Global, true, Text, "*,,"),
    def(
        "caching_sha2_password_auto_generate_rsa_keys",
        Global,
        false,
        Bool,
        "ON",
    ),
    def(
        "caching_sha2_password_digest_rounds",
        Global,
        false,
        uint(5000, 4_095_000),
        "5000",
    ),
    def("default_password_lifetime", Global, true, uint(0, 65535), "0"),
    def("read_only", Global, true, Bool, "OFF"),
    def("super_read_only", Global, true, Bool, "OFF"),
    def("offline_mode", Global, true, Bool, "OFF"),
    def("secure_file_priv", Global, false, NullableText, "NULL"),
    def("local_infile", Global, true, Bool, "OFF"),
    def("init_connect", Global, true, Text, ""),
    def("init_file", Global, false, NullableText, "NULL"),
    def(
        "event_scheduler",
        Global,
        true,
        Enum(&["OFF", "ON", "DISABLED"]),
        "OFF",
    ),
    def("partial_revokes", Global, true, Bool, "OFF"),
    def("require_secure_transport", Global, true, Bool, "OFF"),
    def("performance_schema", Global, false, Bool, "OFF"),
    def("thread_stack", Global, false, from(131_072), "1048576"),
    def("ssl", Global, false, Bool, "ON"),
    def("ssl_ca", Global, true, NullableText, "NULL"),
    def("ssl_cert", Global, true, NullableText, "NULL"),
    def("ssl_key", Global, true, NullableText, "NULL"),
    def("ssl_cipher", Global, true, NullableText, "NULL"),
    def("tls_version", Global, true, Text, "TLSv1.2,TLSv1.3"),
    // Limits.
    def("max_connections", Global, true, uint(1, 100_000), "151"),
    def("max_user_connections", Both, true, uint(0, 4_294_967_295), "0"),
    def("max_connect_errors", Global, true, from(1), "100"),
    def("back_log", Global, false, uint(1, 65535), "151"),
    def("open_files_limit", Global, false, from(0), "1048576"),
    def("connect_timeout", Global, true, uint(2, 31_536_000), "10"),
    def("wait_timeout", Both, true, SECONDS, "28800"),
    def("interactive_timeout", Both, true, SECONDS, "28800"),
    def("net_read_timeout", Both, true, SECONDS, "30"),
    def("net_write_timeout", Both, true, SECONDS, "60"),
    def("net_retry_count", Both, true, from(1), "10"),
    def("net_buffer_length", Both, true, uint(1024, 1_048_576), "16384"),
    def(
        "max_allowed_packet",
        Both,
        true,
        uint(1024, 1_073_741_824),
        "67108864",
    ),
    def(
        "max_prepared_stmt_count",
        Global,
        true,
        uint(0, 4_194_304),
        "16382",
    ),
    def("max_error_count", Both, true, uint(0, 65535), "1024"),
    def("max_execution_time", Both, true, uint(0, 4_294_967_295), "0"),
    def("max_join_size", Both, true, from(1), "18446744073709551615"),
    def("max_length_for_sort_data", Both, true, uint(4, 8_388_608), "4096"),
    def("max_sort_length", Both, true, uint(4, 8_388_608), "1024"),
    def("max_points_in_geometry", Both, true, uint(3, 1_048_576), "65536"),
    def("max_sp_recursion_depth", Both, true, uint(0, 255), "0"),
    def("max_seeks_for_key", Both, true, from(1), "18446744073709551615"),
    def("max_digest_length", Global, false, uint(0, 1_048_576), "1024"),
    def("group_concat_max_len", Both, true, from(4), "1024"),
    def(
        "cte_max_recursion_depth",
        Both,
        true,
        uint(0, 4_294_967_295),
        "1000",
    ),
    def("lock_wait_timeout", Both, true, SECONDS, "31536000"),
    // Transactions.
    def("autocommit", Both, true, Bool, "ON"),
    def("transaction_isolation", Both, true, ISOLATION, "REPEATABLE-READ"),
    def("transaction_read_only", Both, true, Bool, "OFF"),
    def(
        "completion_type",
        Both,
        true,
        Enum(&["NO_CHAIN", "CHAIN", "RELEASE"]),
        "NO_CHAIN",
    ),
    def(
        "innodb_lock_wait_timeout",
        Both,
        true,
        uint(1, 1_073_741_824),
        "50",
    ),
    def("innodb_snapshot_isolation", Both, true, Bool, "OFF"),
    def("innodb_rollback_on_timeout", Global, false, Bool, "OFF"),
    def("innodb_deadlock_detect", Global, true, Bool, "ON"),
    def("innodb_print_all_deadlocks", Global, true, Bool, "OFF"),
    def("innodb_autoinc_lock_mode", Global, false, uint(0, 2), "2"),
    def("innodb_strict_mode", Both, true, Bool, "ON"),
    def("innodb_table_locks", Both, true, Bool, "ON"),
    def("innodb_support_xa", Both, true, Bool, "ON"),
    // The engine.
    def(
        "innodb_buffer_pool_size",
        Global,
        false,
        from(5_242_880),
        "134217728",
    ),
    def(
        "innodb_log_file_size",
        Global,
        false,
        uint(4_194_304, 549_755_813_888),
        "50331648",
    ),
    def("innodb_log_files_in_group", Global, false, uint(1, 100), "2"),
    def(
        "innodb_redo_log_capacity",
        Global,
        false,
        uint(8_388_608, 549_755_813_888),
        "104857600",
    ),
    def(
        "innodb_log_buffer_size",
        Global,
        false,
        uint(262_144, 4_294_967_295),
        "16777216",
    ),
    def("innodb_flush_log_at_trx_commit", Global, true, uint(0, 2), "1"),
    def(
        "innodb_flush_method",
        Global,
        false,
        Enum(&[
            "fsync",
            "O_DSYNC",
            "littlesync",
            "nosync",
            "O_DIRECT",
            "O_DIRECT_NO_FSYNC",
        ]),
        "O_DIRECT",
    ),
    def(
        "innodb_max_dirty_pages_pct",
        Global,
        true,
        Float {
            min: 0.0,
            max: 99.999,
        },
        "90.000000",
    ),
    def("innodb_page_size", Global, false, uint(16384, 16384), "16384"),
    def(
        "innodb_doublewrite",
        Global,
        false,
        Enum(&["ON", "OFF", "DETECT_ONLY", "DETECT_AND_RECOVER"]),
        "ON",
    ),
    def(
        "innodb_checksum_algorithm",
        Global,
        false,
        Enum(&["crc32", "strict_crc32"]),
        "crc32",
    ),
    def("innodb_file_per_table", Global, true, Bool, "ON"),
    def(
        "innodb_default_row_format",
        Global,
        true,
        Enum(&["REDUNDANT", "COMPACT", "DYNAMIC"]),
        "DYNAMIC",
    ),
    def("innodb_version", Global, false, Text, env!("CARGO_PKG_VERSION")),
    def("innodb_read_only", Global, false, Bool, "OFF"),
    def("innodb_ft_min_token_size", Global, false, uint(0, 16), "3"),
    def("innodb_ft_max_token_size", Global, false, uint(10, 84), "84"),
    def("innodb_stats_on_metadata", Global, true, Bool, "OFF"),
    def("innodb_stats_persistent", Global, true, Bool, "ON"),
    unused(
        "innodb_thread_concurrency",
        Global,
        uint(0, 1000),
        "0",
        NO_ADMISSION,
    ),
    unused(
        "innodb_thread_sleep_delay",
        Global,
        uint(0, 1_000_000),
        "10000",
        NO_ADMISSION,
    ),
    unused(
        "innodb_concurrency_tickets",
        Global,
        from(1),
        "5000",
        NO_ADMISSION,
    ),
    unused(
        "innodb_commit_concurrency",
        Global,
        uint(0, 1000),
        "0",
        NO_ADMISSION,
    ),
    unused(
        "innodb_buffer_pool_instances",
        Global,
        uint(0, 64),
        "1",
        NO_POOL_TUNING,
    ),
    unused(
        "innodb_buffer_pool_chunk_size",
        Global,
        from(0),
        "134217728",
        NO_POOL_TUNING,
    ),
    unused(
        "innodb_buffer_pool_dump_at_shutdown",
        Global,
        Bool,
        "OFF",
        NO_POOL_TUNING,
    ),
    unused(
        "innodb_buffer_pool_load_at_startup",
        Global,
        Bool,
        "OFF",
        NO_POOL_TUNING,
    ),
    unused(
        "innodb_buffer_pool_dump_pct",
        Global,
        uint(1, 100),
        "25",
        NO_POOL_TUNING,
    ),
    unused("innodb_old_blocks_pct", Global, uint(5, 95), "37", NO_POOL_TUNING),
    unused("innodb_old_blocks_time", Global, from(0), "1000", NO_POOL_TUNING),
    unused("innodb_lru_scan_depth", Global, from(100), "1024", NO_POOL_TUNING),
    unused("innodb_flush_neighbors", Global, uint(0, 2), "0", NO_POOL_TUNING),
    unused("innodb_page_cleaners", Global, uint(1, 64), "1", NO_POOL_TUNING),
    unused("innodb_adaptive_flushing", Global, Bool, "ON", NO_POOL_TUNING),
    unused("innodb_io_capacity", Global, from(100), "10000", NO_POOL_TUNING),
    unused(
        "innodb_io_capacity_max",
        Global,
        from(100),
        "20000",
        NO_POOL_TUNING,
    ),
    unused(
        "innodb_read_ahead_threshold",
        Global,
        uint(0, 64),
        "56",
        NO_POOL_TUNING,
    ),
    unused("innodb_random_read_ahead", Global, Bool, "OFF", NO_POOL_TUNING),
    unused("innodb_numa_interleave", Global, Bool, "OFF", NO_POOL_TUNING),
    unused(
        "innodb_max_dirty_pages_pct_lwm",
        Global,
        Float {
            min: 0.0,
            max: 99.999,
        },
        "10.000000",
        NO_POOL_TUNING,
    ),
    unused("innodb_dedicated_server", Global, Bool, "OFF", NO_POOL_TUNING),
    unused("innodb_use_native_aio", Global, Bool, "OFF", NO_FILES),
    unused("innodb_read_io_threads", Global, uint(1, 64), "4", NO_FILES),
    unused("innodb_write_io_threads", Global, uint(1, 64), "4", NO_FILES),
    unused("innodb_data_home_dir", Global, NullableText, "NULL", NO_FILES),
    unused("innodb_data_file_path", Global, Text, "", NO_FILES),
    unused("innodb_log_group_home_dir", Global, Text, "./", NO_FILES),
    unused("innodb_undo_directory", Global, Text, "./", NO_FILES),
    unused("innodb_undo_tablespaces", Global, uint(0, 127), "2", NO_FILES),
    unused("innodb_undo_log_truncate", Global, Bool, "ON", NO_FILES),
    unused(
        "innodb_max_undo_log_size",
        Global,
        from(0),
        "1073741824",
        NO_FILES,
    ),
    unused(
        "innodb_open_files",
        Global,
        uint(0, 2_147_483_647),
        "4000",
        NO_FILES,
    ),
    unused("innodb_fast_shutdown", Global, uint(0, 2), "1", NO_FILES),
    unused("innodb_force_recovery", Global, uint(0, 6), "0", NO_FILES),
    unused(
        "innodb_autoextend_increment",
        Global,
        uint(1, 1000),
        "64",
        NO_FILES,
    ),
    unused("innodb_file_format", Global, Text, "Barracuda", NO_FILES),
    unused("innodb_temp_data_file_path", Global, Text, "", NO_FILES),
    unused(
        "innodb_log_write_ahead_size",
        Global,
        uint(512, 16384),
        "8192",
        NO_FILES,
    ),
    unused(
        "innodb_log_checksums",
        Global,
        Bool,
        "ON",
        "checksums are always on",
    ),
    unused(
        "innodb_flush_log_at_timeout",
        Global,
        uint(1, 2700),
        "1",
        NO_FILES,
    ),
    unused(
        "innodb_online_alter_log_max_size",
        Global,
        from(65536),
        "134217728",
        NO_FILES,
    ),
    unused(
        "innodb_sort_buffer_size",
        Global,
        uint(65536, 67_108_864),
        "1048576",
        NO_BUFFERS,
    ),
    unused("innodb_adaptive_hash_index", Global, Bool, "OFF", NO_ADAPTIVE),
    unused(
        "innodb_adaptive_hash_index_parts",
        Global,
        uint(1, 512),
        "8",
        NO_ADAPTIVE,
    ),
    unused("innodb_change_buffering", Global, Text, "none", NO_ADAPTIVE),
    unused(
        "innodb_change_buffer_max_size",
        Global,
        uint(0, 50),
        "25",
        NO_ADAPTIVE,
    ),
    unused("innodb_sync_spin_loops", Global, from(0), "30", NO_ADAPTIVE),
    unused("innodb_spin_wait_delay", Global, from(0), "6", NO_ADAPTIVE),
    def("innodb_purge_threads", Global, false, uint(1, 32), "1"),
    unused(
        "innodb_purge_batch_size",
        Global,
        uint(1, 5000),
        "127",
        NO_PURGE_TUNING,
    ),
    def("innodb_max_purge_lag", Global, true, uint(0, 4_294_967_295), "0"),
    def(
        "innodb_max_purge_lag_delay",
        Global,
        true,
        uint(0, 10_000_000),
        "0",
    ),
    // Tidemark's own: bytes of old row versions beyond which writers are slowed down; and for how many seconds history is
    // kept to be read.
    def("tidemark_max_version_size", Global, true, from(0), "0"),
    def("innodb_undo_retention", Global, true, uint(0, 31_536_000), "0"),
    unused(
        "innodb_rollback_segments",
        Global,
        uint(1, 128),
        "128",
        NO_PURGE_TUNING,
    ),
    unused(
        "innodb_stats_persistent_sample_pages",
        Global,
        from(1),
        "20",
        NO_STATISTICS,
    ),
    unused(
        "innodb_stats_transient_sample_pages",
        Global,
        from(1),
        "8",
        NO_STATISTICS,
    ),
    unused("innodb_stats_auto_recalc", Global, Bool, "ON", NO_STATISTICS),
    unused("innodb_stats_method", Global, Text, "nulls_equal", NO_STATISTICS),
    unused(
        "information_schema_stats_expiry",
        Both,
        uint(0, 31_536_000),
        "86400",
        NO_STATISTICS,
    ),
    unused(
        "innodb_monitor_enable",
        Global,
        NullableText,
        "NULL",
        "all counters are always on",
    ),
    unused("innodb_status_output", Global, Bool, "OFF", NO_LOG),
    unused("innodb_status_output_locks", Global, Bool, "OFF", NO_LOG),
    // Text.
    def("character_set_client", Both, true, CHARSET, "utf8mb4"),
    def("character_set_connection", Both, true, CHARSET, "utf8mb4"),
    def("character_set_database", Both, true, CHARSET, "utf8mb4"),
    def("character_set_filesystem", Both, true, CHARSET, "binary"),
    def("character_set_results", Both, true, CHARSET_OR_NULL, "utf8mb4"),
    def("character_set_server", Both, true, CHARSET, "utf8mb4"),
    def("character_set_system", Global, false, CHARSET, "utf8mb3"),
    def("character_sets_dir", Global, false, Text, ""),
    def(
        "collation_connection",
        Both,
        true,
        Collation,
        "utf8mb4_0900_ai_ci",
    ),
    def("collation_database", Both, true, Collation, "utf8mb4_0900_ai_ci"),
    def("collation_server", Both, true, Collation, "utf8mb4_0900_ai_ci"),
    def(
        "default_collation_for_utf8mb4",
        Both,
        true,
        Collation,
        "utf8mb4_0900_ai_ci",
    ),
    def("lc_time_names", Both, true, Text, "en_US"),
    def("lc_messages", Both, true, Text, "en_US"),
    def("lc_messages_dir", Global, false, Text, ""),
    def("time_zone", Both, true, TimeZone, "SYSTEM"),
    // Statements.
    def("sql_mode", Both, true, SqlMode, crate::variables::SQL_MODE),
    def("sql_auto_is_null", Both, true, Bool, "OFF"),
    def("sql_big_selects", Both, true, Bool, "ON"),
    def("sql_buffer_result", Both, true, Bool, "OFF"),
    def("sql_log_bin", Session, true, Bool, "ON"),
    def("sql_log_off", Both, true, Bool, "OFF"),
    def("sql_notes", Both, true, Bool, "ON"),
    def("sql_quote_show_create", Both, true, Bool, "ON"),
    def("sql_safe_updates", Both, true, Bool, "OFF"),
    def("sql_select_limit", Both, true, from(0), "18446744073709551615"),
    def("sql_warnings", Both, true, Bool, "OFF"),
    def("sql_require_primary_key", Both, true, Bool, "OFF"),
    def("sql_generate_invisible_primary_key", Both, true, Bool, "OFF"),
    def("auto_increment_increment", Both, true, uint(1, 65535), "1"),
    def("auto_increment_offset", Both, true, uint(1, 65535), "1"),
    def("div_precision_increment", Both, true, uint(0, 30), "4"),
    def("default_week_format", Both, true, uint(0, 7), "0"),
    def("explicit_defaults_for_timestamp", Both, true, Bool, "ON"),
    def("foreign_key_checks", Both, true, Bool, "ON"),
    def("unique_checks", Both, true, Bool, "ON"),
    def("low_priority_updates", Both, true, Bool, "OFF"),
    def("updatable_views_with_limit", Both, true, Bool, "ON"),
    def("old_alter_table", Both, true, Bool, "OFF"),
    def("show_create_table_verbosity", Both, true, Bool, "OFF"),
    def(
        "show_create_table_skip_secondary_engine",
        Session,
        true,
        Bool,
        "OFF",
    ),
    def(
        "show_gipk_in_create_table_and_information_schema",
        Both,
        true,
        Bool,
        "ON",
    ),
    def("print_identified_with_as_hex", Both, true, Bool, "OFF"),
    def("windowing_use_high_precision", Both, true, Bool, "ON"),
    def("block_encryption_mode", Both, true, Text, "aes-128-ecb"),
    def("date_format", Global, false, Text, "%Y-%m-%d"),
    def("datetime_format", Global, false, Text, "%Y-%m-%d %H:%i:%s"),
    def("time_format", Global, false, Text, "%H:%i:%s"),
    def("flush", Global, true, Bool, "OFF"),
    def("flush_time", Global, true, uint(0, 31_536_000), "0"),
    def("automatic_sp_privileges", Global, true, Bool, "ON"),
    def("log_bin_trust_function_creators", Global, true, Bool, "OFF"),
    def("select_into_disk_sync", Both, true, Bool, "OFF"),
    def(
        "resultset_metadata",
        Session,
        true,
        Enum(&["NONE", "FULL"]),
        "FULL",
    ),
    def("require_row_format", Session, true, Bool, "OFF"),
    def(
        "session_track_gtids",
        Both,
        true,
        Enum(&["OFF", "OWN_GTID", "ALL_GTIDS"]),
        "OFF",
    ),
    def("session_track_schema", Both, true, Bool, "ON"),
    def("session_track_state_change", Both, true, Bool, "OFF"),
    def(
        "session_track_system_variables",
        Both,
        true,
        Text,
        "time_zone,autocommit,character_set_client,character_set_results,character_set_connection",
    ),
    def(
        "session_track_transaction_info",
        Both,
        true,
        Enum(&["OFF", "STATE", "CHARACTERISTICS"]),
        "OFF",
    ),
    // Of the session only; some are read from its state.
    def("timestamp", Session, true, Float { min: 0.0, max: 1e12 }, "0"),
    def("last_insert_id", Session, true, from(0), "0"),
    def("identity", Session, true, from(0), "0"),
    def("insert_id", Session, true, from(0), "0"),
    def("rand_seed1", Session, true, from(0), "0"),
    def("rand_seed2", Session, true, from(0), "0"),
    def("pseudo_thread_id", Session, true, from(0), "0"),
    def("pseudo_slave_mode", Session, true, Bool, "OFF"),
    def("warning_count", Session, false, from(0), "0"),
    def("error_count", Session, false, from(0), "0"),
    def("proxy_user", Session, false, NullableText, "NULL"),
    def("external_user", Session, false, NullableText, "NULL"),
    def("statement_id", Session, false, from(0), "0"),
    def("gtid_next", Session, true, Text, "AUTOMATIC"),
    // What others have.
    unused("table_cache", Global, uint(1, 524_288), "4000", NO_TABLE_CACHE),
    unused(
        "table_open_cache",
        Global,
        uint(1, 524_288),
        "4000",
        NO_TABLE_CACHE,
    ),
    unused(
        "table_open_cache_instances",
        Global,
        uint(1, 64),
        "16",
        NO_TABLE_CACHE,
    ),
    unused(
        "table_definition_cache",
        Global,
        uint(400, 524_288),
        "2000",
        NO_TABLE_CACHE,
    ),
    unused(
        "schema_definition_cache",
        Global,
        uint(256, 524_288),
        "256",
        NO_TABLE_CACHE,
    ),
    unused(
        "tablespace_definition_cache",
        Global,
        uint(256, 524_288),
        "256",
        NO_TABLE_CACHE,
    ),
    unused(
        "stored_program_cache",
        Global,
        uint(16, 524_288),
        "256",
        "there are no stored programs",
    ),
    unused(
        "host_cache_size",
        Global,
        uint(0, 65536),
        "279",
        "host names are not resolved",
    ),
    unused("thread_cache_size", Global, uint(0, 16384), "9", NO_THREADS),
    unused(
        "thread_handling",
        Global,
        Text,
        "one-thread-per-connection",
        NO_THREADS,
    ),
    unused("thread_concurrency", Global, uint(0, 512), "10", NO_THREADS),
    unused("key_buffer_size", Global, from(0), "8388608", NO_OTHER_ENGINES),
    unused(
        "key_cache_block_size",
        Global,
        from(512),
        "1024",
        NO_OTHER_ENGINES,
    ),
    unused(
        "key_cache_age_threshold",
        Global,
        from(100),
        "300",
        NO_OTHER_ENGINES,
    ),
    unused(
        "key_cache_division_limit",
        Global,
        uint(1, 100),
        "100",
        NO_OTHER_ENGINES,
    ),
    unused(
        "myisam_sort_buffer_size",
        Both,
        from(4096),
        "8388608",
        NO_OTHER_ENGINES,
    ),
    unused(
        "myisam_max_sort_file_size",
        Global,
        from(0),
        "9223372036853727232",
        NO_OTHER_ENGINES,
    ),
    unused("myisam_recover_options", Global, Text, "OFF", NO_OTHER_ENGINES),
    unused("myisam_repair_threads", Both, from(1), "1", NO_OTHER_ENGINES),
    unused(
        "bulk_insert_buffer_size",
        Both,
        from(0),
        "8388608",
        NO_OTHER_ENGINES,
    ),
    unused("concurrent_insert", Global, Text, "AUTO", NO_OTHER_ENGINES),
    unused("delay_key_write", Global, Text, "ON", NO_OTHER_ENGINES),
    unused("keep_files_on_create", Both, Bool, "OFF", NO_OTHER_ENGINES),
    unused(
        "max_heap_table_size",
        Both,
        from(16384),
        "16777216",
        NO_OTHER_ENGINES,
    ),
    unused(
        "query_cache_size",
        Global,
        from(0),
        "0",
        "there is no query cache",
    ),
    unused("query_cache_type", Both, Text, "OFF", "there is no query cache"),
    unused(
        "query_cache_limit",
        Global,
        from(0),
        "1048576",
        "there is no query cache",
    ),
    unused("sort_buffer_size", Both, from(32768), "262144", NO_BUFFERS),
    unused("join_buffer_size", Both, from(128), "262144", NO_BUFFERS),
    unused("read_buffer_size", Both, from(8192), "131072", NO_BUFFERS),
    unused("read_rnd_buffer_size", Both, from(1), "262144", NO_BUFFERS),
    unused("preload_buffer_size", Both, from(1024), "32768", NO_BUFFERS),
    unused("tmp_table_size", Both, from(1024), "16777216", NO_BUFFERS),
    unused(
        "temptable_max_ram",
        Global,
        from(2_097_152),
        "1073741824",
        NO_BUFFERS,
    ),
    unused("temptable_max_mmap", Global, from(0), "0", NO_BUFFERS),
    unused("temptable_use_mmap", Global, Bool, "OFF", NO_BUFFERS),
    unused("big_tables", Both, Bool, "OFF", NO_BUFFERS),
    unused(
        "histogram_generation_max_mem_size",
        Both,
        from(1_000_000),
        "20000000",
        NO_BUFFERS,
    ),
    unused(
        "parser_max_mem_size",
        Both,
        from(10_000_000),
        "18446744073709551615",
        NO_BUFFERS,
    ),
    unused("range_alloc_block_size", Both, from(4096), "4096", NO_BUFFERS),
    unused(
        "range_optimizer_max_mem_size",
        Both,
        from(0),
        "8388608",
        NO_BUFFERS,
    ),
    unused("query_alloc_block_size", Both, from(1024), "8192", NO_BUFFERS),
    unused("query_prealloc_size", Both, from(8192), "8192", NO_BUFFERS),
    unused(
        "transaction_alloc_block_size",
        Both,
        from(1024),
        "8192",
        NO_BUFFERS,
    ),
    unused("transaction_prealloc_size", Both, from(1024), "4096", NO_BUFFERS),
    unused("optimizer_prune_level", Both, uint(0, 1), "1", NO_OPTIMIZER),
    unused("optimizer_search_depth", Both, uint(0, 62), "62", NO_OPTIMIZER),
    unused(
        "optimizer_switch",
        Both,
        Text,
        "index_merge=off,index_condition_pushdown=on,mrr=off,block_nested_loop=off,materialization=on,semijoin=off,\
         derived_merge=off",
        NO_OPTIMIZER,
    ),
    unused(
        "optimizer_trace",
        Both,
        Text,
        "enabled=off,one_line=off",
        NO_OPTIMIZER,
    ),
    unused("optimizer_trace_limit", Both, from(0), "1", NO_OPTIMIZER),
    unused(
        "optimizer_trace_max_mem_size",
        Both,
        from(0),
        "1048576",
        NO_OPTIMIZER,
    ),
    unused(
        "optimizer_trace_offset",
        Both,
        Int {
            min: i64::MIN,
            max: i64::MAX,
        },
        "-1",
        NO_OPTIMIZER,
    ),
    unused(
        "eq_range_index_dive_limit",
        Both,
        uint(0, 4_294_967_295),
        "200",
        NO_OPTIMIZER,
    ),
    unused("end_markers_in_json", Both, Bool, "OFF", NO_OPTIMIZER),
    unused(
        "explain_format",
        Both,
        Enum(&["TRADITIONAL", "TREE", "JSON"]),
        "TRADITIONAL",
        NO_OPTIMIZER,
    ),
    unused(
        "use_secondary_engine",
        Session,
        Enum(&["OFF", "ON", "FORCED"]),
        "ON",
        NO_OTHER_ENGINES,
    ),
    unused("profiling", Both, Bool, "OFF", "there is no profiler"),
    unused(
        "profiling_history_size",
        Both,
        uint(0, 100),
        "15",
        "there is no profiler",
    ),
    unused("general_log", Global, Bool, "OFF", NO_LOG),
    unused("general_log_file", Global, Text, "", NO_LOG),
    unused("log_output", Global, Text, "FILE", NO_LOG),
    unused("slow_query_log", Global, Bool, "OFF", NO_LOG),
    unused("slow_query_log_file", Global, Text, "", NO_LOG),
    unused("slow_launch_time", Global, from(0), "2", NO_LOG),
    unused(
        "long_query_time",
        Both,
        Float {
            min: 0.0,
            max: 31_536_000.0,
        },
        "10.000000",
        NO_LOG,
    ),
    unused("min_examined_row_limit", Both, from(0), "0", NO_LOG),
    unused("log_queries_not_using_indexes", Global, Bool, "OFF", NO_LOG),
    unused("log_slow_admin_statements", Global, Bool, "OFF", NO_LOG),
    unused(
        "log_throttle_queries_not_using_indexes",
        Global,
        from(0),
        "0",
        NO_LOG,
    ),
    unused("log_error_verbosity", Global, uint(1, 3), "2", NO_LOG),
    unused("log_warnings", Global, from(0), "2", NO_LOG),
    unused("log_timestamps", Global, Enum(&["UTC", "SYSTEM"]), "UTC", NO_LOG),
    unused("log_raw", Global, Bool, "OFF", NO_LOG),
    unused("log_bin", Global, Bool, "OFF", NO_BINLOG),
    unused("disable_log_bin", Global, Bool, "ON", NO_BINLOG),
    unused("skip_log_bin", Global, Bool, "ON", NO_BINLOG),
    unused("log_bin_basename", Global, NullableText, "NULL", NO_BINLOG),
    unused("sync_binlog", Global, uint(0, 4_294_967_295), "1", NO_BINLOG),
    unused(
        "binlog_format",
        Both,
        Enum(&["MIXED", "STATEMENT", "ROW"]),
        "ROW",
        NO_BINLOG,
    ),
    unused(
        "binlog_row_image",
        Both,
        Enum(&["minimal", "noblob", "full"]),
        "full",
        NO_BINLOG,
    ),
    unused("binlog_cache_size", Global, from(4096), "32768", NO_BINLOG),
    unused("binlog_stmt_cache_size", Global, from(4096), "32768", NO_BINLOG),
    unused(
        "max_binlog_cache_size",
        Global,
        from(4096),
        "18446744073709547520",
        NO_BINLOG,
    ),
    unused("max_binlog_size", Global, from(4096), "1073741824", NO_BINLOG),
    unused("binlog_order_commits", Global, Bool, "ON", NO_BINLOG),
    unused(
        "binlog_checksum",
        Global,
        Enum(&["NONE", "CRC32"]),
        "CRC32",
        NO_BINLOG,
    ),
    unused(
        "binlog_group_commit_sync_delay",
        Global,
        uint(0, 1_000_000),
        "0",
        NO_BINLOG,
    ),
    unused(
        "binlog_expire_logs_seconds",
        Global,
        uint(0, 4_294_967_295),
        "2592000",
        NO_BINLOG,
    ),
    unused(
        "binlog_row_metadata",
        Global,
        Enum(&["MINIMAL", "FULL"]),
        "MINIMAL",
        NO_BINLOG,
    ),
    unused("expire_logs_days", Global, uint(0, 99), "0", NO_BINLOG),
    unused("gtid_mode", Global, TERNARY, "OFF", NO_REPLICATION),
    unused(
        "enforce_gtid_consistency",
        Global,
        Enum(&["OFF", "ON", "WARN"]),
        "OFF",
        NO_REPLICATION,
    ),
    unused("gtid_executed", Global, Text, "", NO_REPLICATION),
    unused("gtid_purged", Global, Text, "", NO_REPLICATION),
    unused("gtid_owned", Both, Text, "", NO_REPLICATION),
    unused("relay_log", Global, Text, "", NO_REPLICATION),
    unused("log_slave_updates", Global, Bool, "OFF", NO_REPLICATION),
    unused("log_replica_updates", Global, Bool, "OFF", NO_REPLICATION),
    unused(
        "slave_parallel_workers",
        Global,
        uint(0, 1024),
        "0",
        NO_REPLICATION,
    ),
    unused("skip_slave_start", Global, Bool, "OFF", NO_REPLICATION),
    unused("report_host", Global, Text, "", NO_REPLICATION),
    unused(
        "performance_schema_max_digest_length",
        Global,
        uint(0, 1_048_576),
        "1024",
        "there is no digest table",
    ),
    unused(
        "ft_min_word_len",
        Global,
        uint(1, 84),
        "4",
        "there are no full-text indexes",
    ),
    unused(
        "ft_max_word_len",
        Global,
        uint(10, 84),
        "84",
        "there are no full-text indexes",
    ),
    unused(
        "ft_query_expansion_limit",
        Global,
        uint(0, 1000),
        "20",
        "there are no full-text indexes",
    ),
    unused(
        "ngram_token_size",
        Global,
        uint(1, 10),
        "2",
        "there are no full-text indexes",
    ),
    unused("core_file", Global, Bool, "OFF", "the operating system decides"),
    unused("large_pages", Global, Bool, "OFF", NO_POOL_TUNING),
    unused("locked_in_memory", Global, Bool, "OFF", NO_POOL_TUNING),
    unused("symbolic_links", Global, Bool, "OFF", NO_FILES),
    unused(
        "user",
        Global,
        Text,
        "",
        "run the server as the user it should be",
    ),
    unused(
        "mysql_native_password",
        Global,
        Bool,
        "ON",
        "the plugin is always there",
    ),
    unused(
        "old_passwords",
        Both,
        uint(0, 2),
        "0",
        "password hashes have one form per plugin",
    ),
    unused("skip_external_locking", Global, Bool, "ON", NO_FILES),
    unused(
        "skip_show_database",
        Global,
        Bool,
        "OFF",
        "SHOW DATABASES lists what the account may see",
    ),
    unused("new", Both, Bool, "OFF", "it has no meaning any more"),
    unused(
        "session_track_mode",
        Session,
        Flags(&["NONE"]),
        "",
        "it has no meaning any more",
    ),
];

/// Second names of variables, known to MySQL before 8.0 and to MariaDB, and so to older drivers.
const ALIASES: [(&str, &str); 2] = [
    ("tx_isolation", "transaction_isolation"),
    ("tx_read_only", "transaction_read_only"),
];

/// Older names, which option files may still use.
pub const OLD_OPTION_NAMES: [(&str, &str); 3] = [
    ("default_character_set", "character_set_server"),
    ("character_set", "character_set_server"),
    ("collation", "collation_server"),
];

/// The position of a variable in [`DEFS`], by a name of it in any case.
pub fn find(name: &str) -> Option<usize> {
    use std::collections::HashMap;
    use std::sync::LazyLock;
    static INDEX: LazyLock<HashMap<&'static str, usize>> = LazyLock::new(|| {
        let mut index: HashMap<_, _> = DEFS.iter().enumerate().map(|(i, def)| (def.name, i)).collect();
        index.extend(ALIASES.map(|(alias, name)| (alias, index[name])));
        index
    });
    if let Some(at) = INDEX.get(name) {
        return Some(*at);
    }
    INDEX.get(name.to_ascii_lowercase().as_str()).copied()
}

/// The variables of the server or of a session, by their names and positions in [`DEFS`], in the order of names.
pub fn listed(global: bool) -> Vec<(&'static str, usize)> {
    let names = DEFS.iter().map(|def| def.name);
    let aliases = ALIASES.iter().map(|(alias, _)| *alias);
    let mut listed: Vec<_> = names
        .chain(aliases)
        .filter_map(|name| Some((name, find(name)?)))
        .filter(|(_, at)| !global || DEFS[*at].scope != Session)
        .collect();
    listed.sort_unstable();
    listed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::Setting;

    #[test]
    fn every_default_is_a_value_of_its_variable() {
        let mut names = std::collections::HashSet::new();
        for def in DEFS {
            assert!(names.insert(def.name), "{} twice", def.name);
            let value = Setting::parse(def, def.default).unwrap();
            assert_eq!(value.to_string(), def.default, "{}", def.name);
        }
        assert_eq!(find("AUTOCOMMIT"), find("autocommit"));
        for (_, name) in OLD_OPTION_NAMES {
            assert!(find(name).is_some(), "{name}");
        }
        assert!(find("no_such_thing").is_none());
    }
}
