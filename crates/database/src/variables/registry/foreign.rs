//! Options of MySQL, 8.0 to 9.7, that are no variables here: what an option file may say, and what becomes of it.
//!
//! A file that was written for MySQL is to start a server here, but not a server that does something else than the file says in a
//! matter of consequence. So what has nothing to act on is taken with a warning; what would change answers, lose
//! rows or leave something open that the file closes is refused by name, with the reason. Some are harmless at one value only.
//!
//! An option that is in neither this list nor among the variables is mistyped, or of a plugin that has to be loaded before.

use super::{
    NO_BINLOG, NO_BUFFERS, NO_FILES, NO_FULL_TEXT, NO_LOG, NO_OPTIMIZER, NO_OTHER_ENGINES, NO_POOL_TUNING,
    NO_REPLICATION,
};

/// What becomes of an option that is no variable's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is taken with a warning: it has nothing to act on, for the reason given.
    Ignored(&'static str),
    /// It may be OFF, or empty, which is how it is here.
    OnlyOff(&'static str),
    /// It may be ON, which is how it is here.
    OnlyOn(&'static str),
    /// To go on without it would lose something: it ends the start.
    Refused(&'static str),
}

use Fate::{Ignored, OnlyOff, OnlyOn, Refused};

/// Returns what becomes of an option, by its name with underscores in lower case.
pub fn fate(name: &str) -> Option<Fate> {
    let group = FOREIGN
        .iter()
        .find(|(_, names)| names.split_whitespace().any(|one| one == name));
    group.map(|(fate, _)| *fate)
}

/// The options by what becomes of them.
pub(super) const FOREIGN: &[(Fate, &str)] = &[
    (
        Refused("there are no plugins to load"),
        "early_plugin_load plugin_load plugin_load_add",
    ),
    (
        Refused("there is no replication, so nothing is filtered"),
        "replicate_do_db replicate_do_table replicate_ignore_db replicate_ignore_table replicate_rewrite_db
         replicate_wild_do_table replicate_wild_ignore_table",
    ),
    (
        Refused("there is no binary log, so nothing is filtered"),
        "binlog_do_db binlog_ignore_db",
    ),
    (
        Refused("the administrative address has the certificate of the others: ssl_cert, ssl_key, ssl_ca"),
        "admin_ssl_ca admin_ssl_capath admin_ssl_cert admin_ssl_cipher admin_ssl_crl admin_ssl_crlpath admin_ssl_key
         admin_tls_ciphersuites admin_tls_version",
    ),
    (
        Refused("the server does not change its root directory: a service manager can"),
        "chroot",
    ),
    (
        Refused("there are no keyrings"),
        "keyring_migration_destination keyring_migration_from_component keyring_migration_host
         keyring_migration_password keyring_migration_port keyring_migration_socket keyring_migration_source
         keyring_migration_to_component keyring_migration_user",
    ),
    (
        Refused("SET PERSIST asks for no certificate"),
        "persist_only_admin_x509_subject",
    ),
    (
        Refused("transactions are not committed or rolled back by a number: there is no XA"),
        "tc_heuristic_recover",
    ),
    (
        OnlyOff("files are not encrypted"),
        "binlog_encryption binlog_rotate_encryption_master_key_at_startup default_table_encryption
         innodb_redo_log_encrypt innodb_undo_log_encrypt table_encryption_privilege_check",
    ),
    (
        OnlyOff("there are no proxy accounts"),
        "caching_sha2_password_proxy_users check_proxy_users sha256_password_proxy_users",
    ),
    (OnlyOff("SYSDATE() is the time at which it is computed"), "sysdate_is_now"),
    (OnlyOff("the library for TLS is not validated for FIPS"), "ssl_fips_mode"),
    (OnlyOff("passwords of the plugin sha256_password are not known"), "sha256_password_auto_generate_rsa_keys"),
    (
        OnlyOff("the tables that are there are the only ones: no other engine can be switched on"),
        "archive blackhole federated ndbcluster",
    ),
    (
        OnlyOff("CREATE USER asks for the privilege CREATE USER and for no other"),
        "safe_user_create secure_auth",
    ),
    (
        OnlyOff("a TIMESTAMP column has no implicit default"),
        "old show_compatibility_56 show_old_temporals avoid_temporal_upgrade",
    ),
    (
        OnlyOn("clients choose their character set"),
        "character_set_client_handshake",
    ),
    (
        OnlyOn("what SET PERSIST has kept is always read"),
        "persisted_globals_load",
    ),
    (
        Ignored("a directory of an older version becomes one of this version when it is opened"),
        "upgrade no_dd_upgrade check_table_functions",
    ),
    (
        Ignored("the X protocol is not spoken"),
        "mysqlx mysqlx_bind_address mysqlx_cache_cleaner mysqlx_compression_algorithms mysqlx_connect_timeout
         mysqlx_deflate_default_compression_level mysqlx_deflate_max_client_compression_level
         mysqlx_document_id_unique_prefix mysqlx_enable_hello_notice mysqlx_idle_worker_thread_timeout
         mysqlx_interactive_timeout mysqlx_lz4_default_compression_level mysqlx_lz4_max_client_compression_level
         mysqlx_max_allowed_packet mysqlx_max_connections mysqlx_min_worker_threads mysqlx_port
         mysqlx_port_open_timeout mysqlx_read_timeout mysqlx_socket mysqlx_ssl_ca mysqlx_ssl_capath mysqlx_ssl_cert
         mysqlx_ssl_cipher mysqlx_ssl_crl mysqlx_ssl_crlpath mysqlx_ssl_key mysqlx_wait_timeout mysqlx_write_timeout
         mysqlx_zstd_default_compression_level mysqlx_zstd_max_client_compression_level",
    ),
    (
        Ignored(NO_BINLOG),
        "binlog_direct_non_transactional_updates binlog_error_action binlog_expire_logs_auto_purge
         binlog_group_commit_sync_no_delay_count binlog_gtid_simple_recovery binlog_max_flush_queue_time
         binlog_row_event_max_size binlog_row_value_options binlog_rows_query_log_events
         binlog_transaction_compression binlog_transaction_compression_level_zstd
         binlog_transaction_dependency_history_size binlog_transaction_dependency_tracking log_bin_index
         log_bin_use_v1_row_events log_statements_unsafe_for_binlog
         max_binlog_dump_events max_binlog_stmt_cache_size sporadic_binlog_dump_fail
         transaction_write_set_extraction",
    ),
    (
        Ignored(NO_REPLICATION),
        "abort_slave_event_count disconnect_slave_event_count group_replication_consistency
         gtid_executed_compression_period init_replica init_slave log_slow_replica_statements
         log_slow_slave_statements master_info_file master_info_repository master_retry_count master_verify_checksum
         max_relay_log_size relay_log_index relay_log_info_file relay_log_info_repository relay_log_purge
         relay_log_recovery relay_log_space_limit replica_allow_batching replica_allow_higher_version_source
         replica_checkpoint_group replica_checkpoint_period replica_compressed_protocol replica_exec_mode
         replica_load_tmpdir replica_max_allowed_packet replica_net_timeout replica_parallel_type
         replica_parallel_workers replica_pending_jobs_size_max replica_preserve_commit_order replica_skip_errors
         replica_sql_verify_checksum replica_transaction_retries replica_type_conversions replicate_same_server_id
         replication_optimize_for_static_plugin_config replication_sender_observe_commit_only report_password
         report_port report_user rpl_read_size rpl_stop_replica_timeout rpl_stop_slave_timeout server_id_bits
         show_replica_auth_info show_slave_auth_info skip_replica_start slave_allow_batching slave_checkpoint_group
         slave_checkpoint_period slave_compressed_protocol slave_exec_mode slave_load_tmpdir
         slave_max_allowed_packet slave_net_timeout slave_parallel_type slave_pending_jobs_size_max
         slave_preserve_commit_order slave_rows_search_algorithms slave_skip_errors slave_sql_verify_checksum
         slave_transaction_retries slave_type_conversions source_verify_checksum sync_master_info sync_relay_log
         sync_relay_log_info sync_source_info",
    ),
    (
        Ignored(NO_OTHER_ENGINES),
        "enable_secondary_engine_statistics external_table_secondary_storage_engine external_table_storage_engine
         innodb_native_foreign_keys internal_tmp_disk_storage_engine log_isam myisam_block_size
         myisam_data_pointer_size myisam_mmap_size myisam_stats_method myisam_use_mmap
         ndb_allow_copying_alter_table ndb_applier_allow_skip_epoch ndb_applier_conflict_role
         ndb_autoincrement_prefetch_sz ndb_batch_size ndb_blob_read_batch_bytes ndb_blob_write_batch_bytes
         ndb_clear_apply_status ndb_cluster_connection_pool ndb_cluster_connection_pool_nodeids ndb_connectstring
         ndb_data_node_neighbour ndb_default_column_format ndb_deferred_constraints ndb_distribution
         ndb_eventbuffer_free_percent ndb_eventbuffer_max_alloc ndb_extra_logging ndb_force_send
         ndb_fully_replicated ndb_index_stat_enable ndb_index_stat_option ndb_join_pushdown ndb_log_apply_status
         ndb_log_bin ndb_log_binlog_index ndb_log_cache_size ndb_log_empty_epochs ndb_log_empty_update
         ndb_log_exclusive_reads ndb_log_fail_terminate ndb_log_orig ndb_log_purge_rate ndb_log_row_slice_count
         ndb_log_row_slice_id ndb_log_transaction_compression ndb_log_transaction_compression_level_zstd
         ndb_log_transaction_dependency ndb_log_transaction_id ndb_log_update_as_write ndb_log_update_minimal
         ndb_log_updated_only ndb_metadata_check ndb_metadata_check_interval ndb_metadata_sync ndb_mgm_tls
         ndb_mgmd_host ndb_nodeid ndb_optimization_delay ndb_optimized_node_selection ndb_read_backup
         ndb_recv_thread_activation_threshold ndb_recv_thread_cpu_mask ndb_replica_batch_size
         ndb_replica_blob_write_batch_bytes ndb_report_thresh_binlog_epoch_slip ndb_report_thresh_binlog_mem_usage
         ndb_row_checksum ndb_schema_dist_lock_wait_timeout ndb_schema_dist_timeout ndb_schema_dist_upgrade_allowed
         ndb_show_foreign_key_mock_tables ndb_slave_conflict_role ndb_table_no_logging ndb_table_temporary
         ndb_tls_search_path ndb_transid_mysql_connection_map ndb_use_copying_alter_table ndb_use_exact_count
         ndb_use_transactions ndb_wait_connected ndb_wait_setup ndbinfo ndbinfo_max_bytes ndbinfo_max_rows
         ndbinfo_show_hidden secondary_engine_cost_threshold",
    ),
    (
        Ignored("the tables of performance_schema have fixed sizes; what they collect is said in setup_consumers and setup_instruments"),
        "performance_schema_accounts_size performance_schema_consumer_events_stages_current
         performance_schema_consumer_events_stages_history performance_schema_consumer_events_stages_history_long
         performance_schema_consumer_events_statements_cpu performance_schema_consumer_events_statements_current
         performance_schema_consumer_events_statements_history
         performance_schema_consumer_events_statements_history_long
         performance_schema_consumer_events_transactions_current
         performance_schema_consumer_events_transactions_history
         performance_schema_consumer_events_transactions_history_long
         performance_schema_consumer_events_waits_current performance_schema_consumer_events_waits_history
         performance_schema_consumer_events_waits_history_long performance_schema_consumer_global_instrumentation
         performance_schema_consumer_statements_digest performance_schema_consumer_thread_instrumentation
         performance_schema_error_size performance_schema_hosts_size performance_schema_instrument
         performance_schema_logger performance_schema_max_cond_classes performance_schema_max_cond_instances
         performance_schema_max_file_classes performance_schema_max_file_handles
         performance_schema_max_file_instances performance_schema_max_index_stat
         performance_schema_max_logger_classes performance_schema_max_memory_classes
         performance_schema_max_metadata_locks performance_schema_max_meter_classes
         performance_schema_max_metric_classes performance_schema_max_mutex_classes
         performance_schema_max_mutex_instances performance_schema_max_prepared_statements_instances
         performance_schema_max_program_instances performance_schema_max_rwlock_classes
         performance_schema_max_rwlock_instances performance_schema_max_socket_classes
         performance_schema_max_socket_instances performance_schema_max_stage_classes
         performance_schema_max_statement_classes performance_schema_max_statement_stack
         performance_schema_max_table_handles performance_schema_max_table_instances
         performance_schema_max_table_lock_stat performance_schema_max_thread_classes
         performance_schema_max_thread_instances performance_schema_meter
         performance_schema_session_connect_attrs_size performance_schema_setup_actors_size
         performance_schema_setup_objects_size performance_schema_show_processlist performance_schema_users_size",
    ),
    (
        Ignored(NO_FILES),
        "innodb_buffer_pool_filename innodb_directories innodb_doublewrite_batch_size innodb_doublewrite_dir
         innodb_doublewrite_files innodb_doublewrite_pages innodb_extend_and_initialize innodb_file_format_check
         innodb_file_format_max innodb_fsync_threshold innodb_large_prefix innodb_log_compressed_pages
         innodb_print_ddl_logs innodb_redo_log_archive_dirs innodb_segment_reserve_factor innodb_status_file
         innodb_temp_tablespaces_dir innodb_tmpdir innodb_undo_logs innodb_use_fdatasync
         innodb_validate_tablespace_paths innodb_force_load_corrupted sync_frm external_locking ignore_db_dirs
         temp_pool",
    ),
    (
        Ignored(NO_POOL_TUNING),
        "innodb_adaptive_flushing_lwm innodb_buffer_pool_dump_now innodb_buffer_pool_in_core_file
         innodb_buffer_pool_load_abort innodb_buffer_pool_load_now innodb_flush_sync innodb_flushing_avg_loops
         innodb_idle_flush_pct innodb_additional_mem_pool_size innodb_use_sys_malloc memlock super_large_pages
         container_aware server_memory",
    ),
    (
        Ignored("pages are not compressed"),
        "innodb_cmp_per_index_enabled innodb_compression_failure_threshold_pct innodb_compression_level
         innodb_compression_pad_pct_max",
    ),
    (
        Ignored("there is no memcached interface"),
        "innodb_api_bk_commit_interval innodb_api_disable_rowlock innodb_api_enable_binlog innodb_api_enable_mdl
         innodb_api_trx_level",
    ),
    (
        Ignored("the engine does this its own way"),
        "innodb_adaptive_max_sleep_delay innodb_ddl_buffer_size innodb_ddl_threads innodb_disable_sort_file_cache
         innodb_fill_factor innodb_locks_unsafe_for_binlog innodb_log_spin_cpu_abs_lwm innodb_log_spin_cpu_pct_hwm
         innodb_log_wait_for_flush_spin_hwm innodb_log_writer_threads innodb_parallel_read_threads
         innodb_purge_rseg_truncate_frequency innodb_replication_delay innodb_spin_wait_pause_multiplier
         innodb_stats_include_delete_marked innodb_stats_sample_pages innodb_sync_array_size
         metadata_locks_cache_size metadata_locks_hash_instances",
    ),
    (
        Ignored("all counters are always on"),
        "innodb_monitor_disable innodb_monitor_reset innodb_monitor_reset_all",
    ),
    (
        Ignored(NO_FULL_TEXT),
        "ft_boolean_syntax ft_stopword_file innodb_ft_aux_table innodb_ft_cache_size innodb_ft_enable_diag_print
         innodb_ft_enable_stopword innodb_ft_num_word_optimize innodb_ft_result_cache_limit
         innodb_ft_server_stopword_table innodb_ft_sort_pll_degree innodb_ft_total_cache_size
         innodb_ft_user_stopword_table innodb_optimize_fulltext_only ngram",
    ),
    (
        Ignored(NO_BUFFERS),
        "select_into_buffer_size select_into_disk_sync_delay set_operations_buffer_size
         multi_range_count",
    ),
    (Ignored(NO_OPTIMIZER), "optimizer_max_subgraph_pairs engine_condition_pushdown"),
    (
        Ignored("there is one log of errors: log_error, in the form of --log-format"),
        "log_error_services log_error_suppression_list log_syslog log_syslog_facility log_syslog_include_pid
         log_syslog_tag",
    ),
    (Ignored(NO_LOG), "log_short_format log_slow_extra log_tc log_tc_size"),
    (
        Ignored("memory is always counted"),
        "connection_memory_chunk_size connection_memory_status_limit global_connection_memory_status_limit
         global_connection_memory_tracking",
    ),
    (
        Ignored("INSERT DELAYED is INSERT"),
        "delayed_insert_limit delayed_insert_timeout delayed_queue_size max_delayed_threads
         max_insert_delayed_threads",
    ),
    (
        Ignored("there are no triggers, and definitions of stored programs are not cached"),
        "enable_cascade_triggers stored_program_definition_cache table_open_cache_triggers",
    ),
    (
        Ignored("there are no loadable functions and no plugins"),
        "allow_suspicious_udfs des_key_file plugin_dir validate_user_plugins",
    ),
    (Ignored("there is no XA"), "xa_detach_on_prepare"),
    (
        Ignored("a certificate is made where there is none"),
        "auto_generate_certs tls_certificates_enforced_validation",
    ),
    (
        Ignored("TLS sessions are resumed by tickets"),
        "ssl_session_cache_mode ssl_session_cache_timeout",
    ),
    (
        Ignored("the key under which passwords are sent over an open line is made at every start"),
        "caching_sha2_password_private_key_path caching_sha2_password_public_key_path
         sha256_password_private_key_path sha256_password_public_key_path",
    ),
    (
        Ignored("password hashes have one form per plugin"),
        "caching_sha2_password_enforce_storage_format caching_sha2_password_storage_format",
    ),
    (
        Ignored("there is no compression of connections"),
        "protocol_compression_algorithms",
    ),
    (
        Ignored("each address has a thread of its own"),
        "create_admin_listener_thread port_open_timeout",
    ),
    (
        Ignored("regular expressions have limits of their own"),
        "regexp_stack_limit regexp_time_limit",
    ),
    (
        Ignored("what SET PERSIST keeps is in the data directory, as it is"),
        "persist_sensitive_variables_in_plaintext",
    ),
    (
        Ignored("readers and writers of a definition take turns"),
        "max_write_lock_count",
    ),
    (
        Ignored("names are those of MySQL 8.4"),
        "terminology_use_previous language",
    ),
    (
        Ignored("it is for finding faults of MySQL"),
        "exit_info gdb skip_stack_trace timed_mutexes version_with_update max_tmp_tables bootstrap",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;

    /// The names of the options of MySQL 8.0, 8.4 and 9.7, as its servers list them.
    const NAMES: &str = include_str!("names_of_mysql.txt");
    /// What the command line itself knows.
    const OF_THE_COMMAND_LINE: &str = "help version verbose defaults_file no_defaults print_defaults initialize \
                                       initialize_insecure validate_config console daemonize datadir";

    fn started(name: &str, value: Option<&str>) -> Result<Options, String> {
        let pair = (name.to_owned(), value.map(str::to_owned));
        Options::from_pairs("data".into(), [pair])
    }

    #[test]
    fn every_option_of_mysql_is_known() {
        let (mut taken, mut refused) = (0, 0);
        for name in NAMES
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            if OF_THE_COMMAND_LINE.split(' ').any(|own| own == name) {
                continue;
            }
            // Whatever becomes of the value, the name is not a mistyped one.
            match started(name, Some("1")) {
                Ok(_) => taken += 1,
                Err(why) => {
                    assert!(!why.contains("unknown"), "{why}");
                    refused += 1;
                }
            }
        }
        assert!(
            taken > 500 && refused > 50,
            "{taken} are taken, {refused} refused"
        );
    }

    #[test]
    fn no_option_has_two_fates() {
        let mut seen = std::collections::HashSet::new();
        for name in FOREIGN.iter().flat_map(|(_, names)| names.split_whitespace()) {
            assert!(seen.insert(name), "{name} twice");
            assert!(
                NAMES.lines().any(|line| line == name),
                "{name} is none of MySQL's"
            );
        }
    }

    #[test]
    fn what_would_lose_something_is_refused_by_name() {
        for (name, value, part) in [
            (
                "replicate-do-db",
                "a",
                "'replicate_do_db' is not supported: there is no replication",
            ),
            (
                "plugin_load_add",
                "semisync=x.so",
                "'plugin_load_add' is not supported: there are no plugins",
            ),
            (
                "innodb_redo_log_encrypt",
                "ON",
                "'innodb_redo_log_encrypt' cannot be ON: files are not encrypted",
            ),
            (
                "skip_character_set_client_handshake",
                "",
                "'character_set_client_handshake' cannot be OFF",
            ),
            ("binlog_encryption", "", "'binlog_encryption' cannot be ON"),
        ] {
            let why = started(name, Some(value).filter(|value| !value.is_empty())).unwrap_err();
            assert!(why.starts_with(part), "{why}");
        }
        for (name, value) in [
            ("mysqlx-bind-address", Some("127.0.0.1")),
            ("innodb_redo_log_encrypt", Some("OFF")),
            ("skip-binlog-encryption", None),
            ("character-set-client-handshake", None),
            ("loose-mysqlx", Some("0")),
        ] {
            let options = started(name, value).unwrap();
            assert_eq!(options.warnings().len(), 1, "{name}");
        }
    }
}
