//! The positions in the registry of the variables that are decoded or follow each other.

use super::registry::find;

macro_rules! positions {
    ($($constant:ident = $name:literal;)*) => {
        $(pub(super) fn $constant() -> usize {
            static AT: std::sync::LazyLock<usize> =
                std::sync::LazyLock::new(|| find($name).expect(concat!($name, " is in the registry")));
            *AT
        })*
    };
}

positions! {
    at_sql_mode = "sql_mode";
    at_time_zone = "time_zone";
    at_collation_connection = "collation_connection";
    at_character_set_client = "character_set_client";
    at_character_set_connection = "character_set_connection";
    at_character_set_results = "character_set_results";
    at_character_set_server = "character_set_server";
    at_collation_server = "collation_server";
    at_character_set_database = "character_set_database";
    at_collation_database = "collation_database";
    at_transaction_isolation = "transaction_isolation";
    at_transaction_read_only = "transaction_read_only";
    at_autocommit = "autocommit";
    at_session_track_transaction_info = "session_track_transaction_info";
    at_completion_type = "completion_type";
    at_innodb_lock_wait_timeout = "innodb_lock_wait_timeout";
    at_lock_wait_timeout = "lock_wait_timeout";
    at_innodb_snapshot_isolation = "innodb_snapshot_isolation";
    at_max_allowed_packet = "max_allowed_packet";
    at_max_error_count = "max_error_count";
    at_group_concat_max_len = "group_concat_max_len";
    at_div_precision_increment = "div_precision_increment";
    at_lc_time_names = "lc_time_names";
    at_default_week_format = "default_week_format";
    at_sql_select_limit = "sql_select_limit";
    at_sql_safe_updates = "sql_safe_updates";
    at_updatable_views_with_limit = "updatable_views_with_limit";
    at_sql_big_selects = "sql_big_selects";
    at_max_join_size = "max_join_size";
    at_sql_require_primary_key = "sql_require_primary_key";
    at_sql_notes = "sql_notes";
    at_sql_log_off = "sql_log_off";
    at_profiling = "profiling";
    at_profiling_history_size = "profiling_history_size";
    at_long_query_time = "long_query_time";
    at_explain_format = "explain_format";
    at_explain_json_format_version = "explain_json_format_version";
    at_optimizer_switch = "optimizer_switch";
    at_optimizer_trace = "optimizer_trace";
    at_optimizer_trace_features = "optimizer_trace_features";
    at_optimizer_trace_offset = "optimizer_trace_offset";
    at_optimizer_trace_limit = "optimizer_trace_limit";
    at_optimizer_trace_max_mem_size = "optimizer_trace_max_mem_size";
    at_end_markers_in_json = "end_markers_in_json";
    at_min_examined_row_limit = "min_examined_row_limit";
    at_auto_increment_increment = "auto_increment_increment";
    at_auto_increment_offset = "auto_increment_offset";
    at_innodb_autoinc_lock_mode = "innodb_autoinc_lock_mode";
    at_innodb_table_locks = "innodb_table_locks";
    at_cte_max_recursion_depth = "cte_max_recursion_depth";
    at_histogram_generation_max_mem_size = "histogram_generation_max_mem_size";
    at_sort_buffer_size = "sort_buffer_size";
    at_join_buffer_size = "join_buffer_size";
    at_tmp_table_size = "tmp_table_size";
    at_tidemark_random_plans = "tidemark_random_plans";
    at_tidemark_statement_memory = "tidemark_statement_memory";
    at_tidemark_total_memory = "tidemark_total_memory";
    at_connection_memory_limit = "connection_memory_limit";
    at_global_connection_memory_limit = "global_connection_memory_limit";
    at_max_execution_time = "max_execution_time";
    at_sql_auto_is_null = "sql_auto_is_null";
    at_foreign_key_checks = "foreign_key_checks";
    at_restrict_fk_on_non_standard_key = "restrict_fk_on_non_standard_key";
    at_unique_checks = "unique_checks";
    at_timestamp = "timestamp";
    at_wait_timeout = "wait_timeout";
    at_interactive_timeout = "interactive_timeout";
}
