//! What statements need of the variables all the time (mode, collations, isolation level, limits), decoded: derived anew
//! whenever a variable changes, so that no statement looks anything up by name.

use super::positions::*;
use super::setting::Setting;
use super::switches::is_on;
use super::trace::TraceSettings;
use super::tracked::is_tracked;
use super::values::Values;
use crate::parse::ast::ExplainFormat;
use crate::types::{Charset, Collation, Locale, SqlMode, TimeZone};
use std::sync::Arc;
use std::time::Duration;
use tidemark_engine::Isolation;
use tidemark_memory::Limit;

/// `innodb_autoinc_lock_mode`: which statements have an AUTO_INCREMENT counter to themselves until they end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterMode {
    /// All that insert.
    Traditional,
    /// Those that do not know how many rows they insert.
    Consecutive,
    /// None.
    Interleaved,
}

/// `session_track_transaction_info`: what a client is told of its transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionInfo {
    /// Nothing.
    Off,
    /// What they have done.
    State,
    /// That, and how one like them is begun.
    Characteristics,
}

/// Which rules may make another query of a query, and which ways of reading a table are considered: the switches of `optimizer_switch`
/// that plans depend on. All are on by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewrites {
    /// A derived table becomes a part of the join that it stands in.
    pub derived_merge: bool,
    /// Conditions on a derived table are tested where its rows are found.
    pub condition_pushdown: bool,
    /// A subquery of IN or EXISTS may become a part of it.
    pub semijoin: bool,
    /// A subquery that gives one value for each row may become a join with all such values.
    pub subquery_to_derived: bool,
    /// The branches of an OR may each be found by an index of its own.
    pub index_merge: bool,
    /// An outer join that adds nothing is not made.
    pub outer_join_removal: bool,
    /// Conditions of HAVING on keys of groups are tested before there are groups.
    pub having_pushdown: bool,
    /// An index may lead from one group of rows to the next.
    pub skip_scan: bool,
}

impl Rewrites {
    fn of(switches: &str) -> Rewrites {
        Rewrites {
            derived_merge: is_on(switches, "derived_merge"),
            condition_pushdown: is_on(switches, "derived_condition_pushdown"),
            semijoin: is_on(switches, "semijoin"),
            subquery_to_derived: is_on(switches, "subquery_to_derived"),
            index_merge: is_on(switches, "index_merge")
                && (is_on(switches, "index_merge_union") || is_on(switches, "index_merge_sort_union")),
            skip_scan: is_on(switches, "skip_scan"),
            outer_join_removal: is_on(switches, "outer_join_removal"),
            having_pushdown: is_on(switches, "having_pushdown"),
        }
    }
}

/// What statements need of the variables, decoded.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `sql_mode`
    pub sql_mode: SqlMode,
    /// `time_zone`
    pub time_zone: Arc<TimeZone>,
    /// `collation_connection`: of string literals, and of numbers and dates as text.
    pub collation_connection: Collation,
    /// `character_set_client`: the encoding of statements' texts.
    pub character_set_client: Charset,
    /// `None`: results are sent as they are stored.
    pub character_set_results: Option<Charset>,
    /// `transaction_isolation`, of the transactions that begin from now on. REPEATABLE READ by default.
    pub isolation: Isolation,
    /// `transaction_read_only`. Off by default.
    pub read_only: bool,
    /// Each statement outside BEGIN is a transaction. On by default.
    pub autocommit: bool,
    /// `session_track_transaction_info`. Off by default.
    pub transaction_info: TransactionInfo,
    /// A client may be told something by each statement, not only by those that change the session: of its transaction, or of
    /// `statement_id`.
    pub tells_each_statement: bool,
    /// 0 plain, 1 CHAIN, 2 RELEASE.
    pub completion_type: u8,
    /// `innodb_lock_wait_timeout`. 50 seconds by default.
    pub row_lock_wait_timeout: Duration,
    /// `lock_wait_timeout`, for metadata locks. A year by default.
    pub lock_wait_timeout: Duration,
    /// `innodb_snapshot_isolation`: to lock a row that the view does not see is error 1020. Off by default.
    pub snapshot_isolation: bool,
    /// Longest packet and longest value, in bytes. 64 MiB by default.
    pub max_allowed_packet: u64,
    /// How many warnings a statement keeps. 1024 by default.
    pub max_error_count: usize,
    /// GROUP_CONCAT's result is cut here, in bytes. 1024 by default.
    pub group_concat_max_len: u64,
    /// Digits that `/` and AVG add behind the decimal point. 4 by default.
    pub div_precision_increment: u8,
    /// The mode of WEEK() without one, and of EXTRACT(WEEK FROM …). 0 by default.
    pub default_week_format: u8,
    /// `lc_time_names`: how days and months are named. `en_US` by default.
    pub lc_time_names: &'static Locale,
    /// Rows of a SELECT without LIMIT. `u64::MAX` by default, which is no limit.
    pub sql_select_limit: u64,
    /// UPDATE and DELETE must use a key or a LIMIT. Off by default.
    pub sql_safe_updates: bool,
    /// UPDATE and DELETE with LIMIT may go through views that have no whole key of their table. On by default.
    pub updatable_views_with_limit: bool,
    /// How many rows, or combinations of rows, a query may be expected to look at; `sql_big_selects` lifts it.
    pub max_join_size: u64,
    /// `tidemark_random_plans`: 0, or the number by which plans are chosen at random.
    pub random_plans: u64,
    /// Tables have a primary key. Off by default.
    pub sql_require_primary_key: bool,
    /// Notes are kept among the warnings. On by default.
    pub sql_notes: bool,
    /// The session is not in the general log. Off by default.
    pub sql_log_off: bool,
    /// Statements are profiled, for SHOW PROFILE. Off by default.
    pub profiling: bool,
    /// So many profiles are kept. 15 by default.
    pub profiling_history_size: usize,
    /// What takes so many seconds is in the slow query log. 10 by default.
    pub long_query_time: f64,
    /// A statement that has read fewer rows is not in the slow query log.
    pub min_examined_row_limit: u64,
    /// `explain_format`: what EXPLAIN answers in, where it does not say.
    pub explain_format: ExplainFormat,
    /// `explain_json_format_version`
    pub explain_json_version: u8,
    /// `optimizer_switch`, as far as plans depend on it.
    pub rewrites: Rewrites,
    /// `optimizer_trace`, its kin, and `end_markers_in_json`.
    pub trace: TraceSettings,
    /// `sql_auto_is_null`. Off by default.
    pub sql_auto_is_null: bool,
    /// Step between generated AUTO_INCREMENT values. 1 by default.
    pub auto_increment_increment: u64,
    /// First generated AUTO_INCREMENT value. 1 by default.
    pub auto_increment_offset: u64,
    /// `innodb_autoinc_lock_mode`. Interleaved by default.
    pub counter_mode: CounterMode,
    /// LOCK TABLES locks for the engine, too.
    pub table_locks: bool,
    /// How often a recursive common table expression may recurse. 1000 by default.
    pub cte_max_recursion_depth: u64,
    /// What a sort may hold in memory, in bytes. 256 KiB by default.
    pub sort_buffer_size: u64,
    /// What the table of a hash join may hold in memory, in bytes. 8 MiB by default.
    pub join_buffer_size: u64,
    /// What a derived table or other kept rows may hold in memory, in bytes. 16 MiB by default.
    pub tmp_table_size: u64,
    /// What a statement may take, and which variable says so.
    pub statement_memory: Limit,
    /// `max_execution_time` of SELECT, in milliseconds; 0, the default, is no limit.
    pub max_execution_time_ms: u64,
    /// `histogram_generation_max_mem_size`, in bytes.
    pub histogram_memory: u64,
    /// `foreign_key_checks`. On by default.
    pub foreign_key_checks: bool,
    /// `restrict_fk_on_non_standard_key`. On by default.
    pub restrict_fk_on_non_standard_key: bool,
    /// `unique_checks`. On by default.
    pub unique_checks: bool,
    /// `SET timestamp`: what NOW() returns, in microseconds since 1970; 0 for the clock.
    pub timestamp_micros: i64,
    /// Longest idle time of a connection, in seconds. 8 hours by default.
    pub wait_timeout_s: u64,
    /// The same for clients that call themselves interactive.
    pub interactive_timeout_s: u64,
}

impl Settings {
    /// The idle time that holds for this session's kind of client, in seconds.
    pub fn idle_timeout_s(&self, interactive: bool) -> u64 {
        if interactive {
            self.interactive_timeout_s
        } else {
            self.wait_timeout_s
        }
    }
}

impl Values {
    /// Decodes what statements need.
    pub fn settings(&self) -> Settings {
        let uint = |at: usize| self.get(at).as_u64();
        let charset = |at: usize| Charset::by_name(self.text(at));
        let transaction_info = match self.text(at_session_track_transaction_info()) {
            "STATE" => TransactionInfo::State,
            "CHARACTERISTICS" => TransactionInfo::Characteristics,
            _ => TransactionInfo::Off,
        };
        Settings {
            sql_mode: SqlMode::parse(self.text(at_sql_mode())).unwrap_or_default(),
            time_zone: Arc::new(TimeZone::parse(self.text(at_time_zone())).unwrap_or(TimeZone::UTC)),
            collation_connection: Collation::by_name(self.text(at_collation_connection()))
                .unwrap_or(Collation::DEFAULT),
            character_set_client: charset(at_character_set_client()).unwrap_or(Charset::Utf8mb4),
            character_set_results: charset(at_character_set_results()),
            isolation: isolation_by_name(self.text(at_transaction_isolation())),
            read_only: uint(at_transaction_read_only()) != 0,
            autocommit: uint(at_autocommit()) != 0,
            transaction_info,
            tells_each_statement: transaction_info != TransactionInfo::Off
                || is_tracked(self, "statement_id"),
            completion_type: match self.text(at_completion_type()) {
                "CHAIN" => 1,
                "RELEASE" => 2,
                _ => 0,
            },
            row_lock_wait_timeout: Duration::from_secs(uint(at_innodb_lock_wait_timeout())),
            lock_wait_timeout: Duration::from_secs(uint(at_lock_wait_timeout())),
            snapshot_isolation: uint(at_innodb_snapshot_isolation()) != 0,
            max_allowed_packet: uint(at_max_allowed_packet()),
            max_error_count: uint(at_max_error_count()) as usize,
            group_concat_max_len: uint(at_group_concat_max_len()),
            div_precision_increment: uint(at_div_precision_increment()) as u8,
            default_week_format: uint(at_default_week_format()) as u8,
            lc_time_names: Locale::by_name(self.text(at_lc_time_names())).unwrap_or(Locale::english()),
            sql_select_limit: uint(at_sql_select_limit()),
            sql_safe_updates: uint(at_sql_safe_updates()) != 0,
            updatable_views_with_limit: self.text(at_updatable_views_with_limit()) == "YES",
            histogram_memory: uint(at_histogram_generation_max_mem_size()),
            random_plans: uint(at_tidemark_random_plans()),
            max_join_size: match uint(at_sql_big_selects()) {
                0 => uint(at_max_join_size()),
                _ => u64::MAX,
            },
            sql_require_primary_key: uint(at_sql_require_primary_key()) != 0,
            sql_log_off: uint(at_sql_log_off()) != 0,
            profiling: uint(at_profiling()) != 0,
            profiling_history_size: uint(at_profiling_history_size()) as usize,
            long_query_time: match self.get(at_long_query_time()) {
                Setting::Float(seconds) => *seconds,
                other => other.as_u64() as f64,
            },
            explain_format: match self.text(at_explain_format()) {
                "TRADITIONAL" => ExplainFormat::Traditional,
                "JSON" => ExplainFormat::Json,
                _ => ExplainFormat::Tree,
            },
            explain_json_version: uint(at_explain_json_format_version()) as u8,
            rewrites: Rewrites::of(self.text(at_optimizer_switch())),
            trace: self.trace(),
            sql_notes: uint(at_sql_notes()) != 0,
            sql_auto_is_null: uint(at_sql_auto_is_null()) != 0,
            auto_increment_increment: uint(at_auto_increment_increment()),
            auto_increment_offset: uint(at_auto_increment_offset()),
            counter_mode: match uint(at_innodb_autoinc_lock_mode()) {
                0 => CounterMode::Traditional,
                1 => CounterMode::Consecutive,
                _ => CounterMode::Interleaved,
            },
            table_locks: uint(at_innodb_table_locks()) != 0,
            cte_max_recursion_depth: uint(at_cte_max_recursion_depth()),
            sort_buffer_size: uint(at_sort_buffer_size()),
            min_examined_row_limit: uint(at_min_examined_row_limit()),
            join_buffer_size: uint(at_join_buffer_size()),
            tmp_table_size: uint(at_tmp_table_size()),
            statement_memory: self.statement_memory(),
            max_execution_time_ms: uint(at_max_execution_time()),
            foreign_key_checks: uint(at_foreign_key_checks()) != 0,
            restrict_fk_on_non_standard_key: uint(at_restrict_fk_on_non_standard_key()) != 0,
            unique_checks: uint(at_unique_checks()) != 0,
            wait_timeout_s: uint(at_wait_timeout()),
            interactive_timeout_s: uint(at_interactive_timeout()),
            timestamp_micros: match self.get(at_timestamp()) {
                Setting::Float(seconds) => (*seconds * 1e6) as i64,
                _ => 0,
            },
        }
    }
}

/// The smaller of two limits, of which 0 is none.
fn smaller_limit(limits: [(u64, &'static str); 2]) -> Limit {
    let set = limits.into_iter().filter(|(bytes, _)| *bytes > 0);
    set.min_by_key(|(bytes, _)| *bytes)
        .map_or(Limit::NONE, |(bytes, name)| Limit { bytes, name })
}

impl Values {
    /// What one statement may take of memory, in a session with these values.
    fn statement_memory(&self) -> Limit {
        let uint = |at: usize| self.get(at).as_u64();
        let own = match uint(at_tidemark_statement_memory()) {
            0 => self.total_memory().bytes,
            own => own,
        };
        smaller_limit([
            (own, "tidemark_statement_memory"),
            (uint(at_connection_memory_limit()), "connection_memory_limit"),
        ])
    }

    /// What all of the server but the buffer pool may take.
    pub fn total_memory(&self) -> Limit {
        let uint = |at: usize| self.get(at).as_u64();
        let own = match uint(at_tidemark_total_memory()) {
            0 => tidemark_memory::machine_bytes() / 2,
            own => own,
        };
        smaller_limit([
            (own, "tidemark_total_memory"),
            (
                uint(at_global_connection_memory_limit()),
                "global_connection_memory_limit",
            ),
        ])
    }
}

/// By MySQL's name in upper case, such as `READ-COMMITTED`; REPEATABLE READ for any other name.
pub fn isolation_by_name(name: &str) -> Isolation {
    match name {
        "READ-UNCOMMITTED" => Isolation::ReadUncommitted,
        "READ-COMMITTED" => Isolation::ReadCommitted,
        "SERIALIZABLE" => Isolation::Serializable,
        _ => Isolation::RepeatableRead,
    }
}

/// MySQL's name, with hyphens.
pub fn isolation_name(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadUncommitted => "READ-UNCOMMITTED",
        Isolation::ReadCommitted => "READ-COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE-READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}
