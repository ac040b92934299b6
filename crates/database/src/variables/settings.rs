//! What statements need of the variables all the time (mode, collations, isolation level, limits), decoded: derived anew
//! whenever a variable changes, so that no statement looks anything up by name.

use super::positions::*;
use super::setting::Setting;
use super::values::Values;
use crate::types::{Charset, Collation, SqlMode, TimeZone};
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

/// What statements need of the variables, decoded.
#[derive(Clone, Debug)]
pub struct Settings {
    pub sql_mode: SqlMode,
    pub time_zone: Arc<TimeZone>,
    pub collation_connection: Collation,
    pub character_set_client: Charset,
    /// `None`: results are sent as they are stored.
    pub character_set_results: Option<Charset>,
    pub isolation: Isolation,
    pub read_only: bool,
    pub autocommit: bool,
    /// 0 plain, 1 CHAIN, 2 RELEASE.
    pub completion_type: u8,
    pub row_lock_wait_timeout: Duration,
    pub lock_wait_timeout: Duration,
    pub snapshot_isolation: bool,
    pub max_allowed_packet: u64,
    pub max_error_count: usize,
    pub group_concat_max_len: u64,
    pub div_precision_increment: u8,
    pub sql_select_limit: u64,
    pub sql_safe_updates: bool,
    pub sql_auto_is_null: bool,
    pub auto_increment_increment: u64,
    pub auto_increment_offset: u64,
    pub counter_mode: CounterMode,
    /// LOCK TABLES locks for the engine, too.
    pub table_locks: bool,
    pub cte_max_recursion_depth: u64,
    /// What a sort, a hash join's table and kept rows may hold in memory, in bytes.
    pub sort_buffer_size: u64,
    pub join_buffer_size: u64,
    pub tmp_table_size: u64,
    /// What a statement may take, and which variable says so.
    pub statement_memory: Limit,
    pub max_execution_time_ms: u64,
    pub foreign_key_checks: bool,
    pub unique_checks: bool,
    /// `SET timestamp`: what NOW() answers, in microseconds; 0 for the clock.
    pub timestamp_micros: i64,
    pub wait_timeout_s: u64,
    pub interactive_timeout_s: u64,
}

impl Settings {
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
            sql_select_limit: uint(at_sql_select_limit()),
            sql_safe_updates: uint(at_sql_safe_updates()) != 0,
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
            join_buffer_size: uint(at_join_buffer_size()),
            tmp_table_size: uint(at_tmp_table_size()),
            statement_memory: self.statement_memory(),
            max_execution_time_ms: uint(at_max_execution_time()),
            foreign_key_checks: uint(at_foreign_key_checks()) != 0,
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
            0 => self.total_memory().bytes / 4,
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

pub fn isolation_by_name(name: &str) -> Isolation {
    match name {
        "READ-UNCOMMITTED" => Isolation::ReadUncommitted,
        "READ-COMMITTED" => Isolation::ReadCommitted,
        "SERIALIZABLE" => Isolation::Serializable,
        _ => Isolation::RepeatableRead,
    }
}

pub fn isolation_name(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadUncommitted => "READ-UNCOMMITTED",
        Isolation::ReadCommitted => "READ-COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE-READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}
