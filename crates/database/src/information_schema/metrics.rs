//! `information_schema.INNODB_METRICS`: the engine's counters under MySQL's names.
//!
//! All of them count from the start on and cannot be switched off, so each has been enabled since then and its count since the
//! last reset is its whole count. No highest or lowest value is kept: these columns are NULL.

use super::rows::require_process;
use crate::context::SessionState;
use crate::context::state::clock_micros;
use crate::error::Result;
use crate::types::Value;
use tidemark_engine::disk::counted::{FileKind, FileSums};
use tidemark_engine::waits::Wait;
use tidemark_engine::{PAGE_SIZE, Status};

/// What the metrics are taken from.
struct Source {
    engine: Status,
    all_files: FileSums,
    log: FileSums,
    copies: FileSums,
    flushing_nanos: u64,
    flushing_nanos_max: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It grows.
    Counter,
    /// It grows, and SHOW STATUS has it too.
    StatusCounter,
    /// It is as it is at present.
    Gauge,
}
use Kind::{Counter, Gauge, StatusCounter};

type Metric = (&'static str, &'static str, Kind, fn(&Source) -> u64, &'static str);

/// Name, subsystem, kind, value, comment.
const METRICS: &[Metric] = &[
    (
        "lock_deadlocks",
        "lock",
        Counter,
        |s| s.engine.deadlocks,
        "Deadlocks",
    ),
    (
        "lock_threads_waiting",
        "lock",
        Gauge,
        |s| s.engine.row_lock_current_waits,
        "Threads that wait for the lock of a row",
    ),
    (
        "lock_rec_lock_waits",
        "lock",
        Counter,
        |s| s.engine.row_lock_waits,
        "Waits for locks of rows",
    ),
    (
        "lock_row_lock_current_waits",
        "lock",
        StatusCounter,
        |s| s.engine.row_lock_current_waits,
        "Waits for locks of rows at present",
    ),
    (
        "lock_row_lock_time",
        "lock",
        StatusCounter,
        |s| s.engine.row_lock_time_ms,
        "Milliseconds waited for locks of rows",
    ),
    (
        "lock_row_lock_time_max",
        "lock",
        Gauge,
        |s| s.engine.row_lock_time_max_ms,
        "Milliseconds of the longest wait for the lock of a row",
    ),
    (
        "lock_row_lock_waits",
        "lock",
        StatusCounter,
        |s| s.engine.row_lock_waits,
        "Waits for locks of rows",
    ),
    (
        "lock_row_lock_time_avg",
        "lock",
        Gauge,
        |s| {
            s.engine
                .row_lock_time_ms
                .checked_div(s.engine.row_lock_waits)
                .unwrap_or(0)
        },
        "Milliseconds of a wait for the lock of a row, on average",
    ),
    (
        "buffer_pool_size",
        "server",
        Gauge,
        |s| bytes(s.engine.pool_pages_total),
        "Bytes of the buffer pool",
    ),
    (
        "buffer_pool_reads",
        "buffer",
        StatusCounter,
        |s| s.engine.pool_reads.saturating_sub(s.engine.pool_reads_ahead),
        "Pages that were asked for and had to be read",
    ),
    (
        "buffer_pool_read_requests",
        "buffer",
        StatusCounter,
        |s| s.engine.page_requests,
        "Pages that were asked for",
    ),
    (
        "buffer_pool_write_requests",
        "buffer",
        StatusCounter,
        |s| s.engine.page_changes,
        "Changes of pages",
    ),
    (
        "buffer_pool_wait_free",
        "buffer",
        StatusCounter,
        |s| s.engine.pool_starved,
        "Waits for a page that can be evicted",
    ),
    (
        "buffer_pool_read_ahead",
        "buffer",
        StatusCounter,
        |s| s.engine.pool_reads_ahead,
        "Pages read before they were asked for",
    ),
    (
        "buffer_pool_pages_total",
        "buffer",
        Gauge,
        |s| s.engine.pool_pages_total,
        "Pages that the pool has room for",
    ),
    (
        "buffer_pool_pages_misc",
        "buffer",
        Gauge,
        |_| 0,
        "Pages of the pool that hold something else than pages",
    ),
    (
        "buffer_pool_pages_data",
        "buffer",
        Gauge,
        |s| s.engine.pool_pages_data,
        "Pages in the pool",
    ),
    (
        "buffer_pool_bytes_data",
        "buffer",
        Gauge,
        |s| bytes(s.engine.pool_pages_data),
        "Bytes of the pages in the pool",
    ),
    (
        "buffer_pool_pages_dirty",
        "buffer",
        Gauge,
        |s| s.engine.pool_pages_dirty,
        "Pages that differ from the disk",
    ),
    (
        "buffer_pool_bytes_dirty",
        "buffer",
        Gauge,
        |s| bytes(s.engine.pool_pages_dirty),
        "Bytes of the pages that differ from the disk",
    ),
    (
        "buffer_pool_pages_free",
        "buffer",
        Gauge,
        |s| s.engine.pool_pages_free,
        "Room in the pool, in pages",
    ),
    (
        "buffer_pages_created",
        "buffer",
        StatusCounter,
        |s| s.engine.pages_created,
        "Pages taken into use",
    ),
    (
        "buffer_pages_written",
        "buffer",
        StatusCounter,
        |s| s.engine.pool_pages_written,
        "Pages written",
    ),
    (
        "buffer_pages_read",
        "buffer",
        StatusCounter,
        |s| s.engine.pool_reads,
        "Pages read",
    ),
    (
        "buffer_data_reads",
        "buffer",
        StatusCounter,
        |s| s.all_files.reads.bytes,
        "Bytes read from files",
    ),
    (
        "buffer_data_written",
        "buffer",
        StatusCounter,
        |s| s.all_files.writes.bytes,
        "Bytes written to files",
    ),
    (
        "os_data_reads",
        "os",
        StatusCounter,
        |s| s.all_files.reads.times.count,
        "Reads of files",
    ),
    (
        "os_data_writes",
        "os",
        StatusCounter,
        |s| s.all_files.writes.times.count,
        "Writes to files",
    ),
    (
        "os_data_fsyncs",
        "os",
        StatusCounter,
        |s| s.all_files.syncs.times.count,
        "Syncs of files",
    ),
    (
        "os_pending_reads",
        "os",
        Gauge,
        |s| s.all_files.reads.pending,
        "Reads under way",
    ),
    (
        "os_pending_writes",
        "os",
        Gauge,
        |s| s.all_files.writes.pending,
        "Writes under way",
    ),
    (
        "os_log_bytes_written",
        "os",
        StatusCounter,
        |s| s.engine.log_tail.0 - s.engine.log_opened_at.0,
        "Bytes of log",
    ),
    (
        "os_log_fsyncs",
        "os",
        StatusCounter,
        |s| s.engine.log_syncs,
        "Syncs of the log",
    ),
    (
        "os_log_pending_fsyncs",
        "os",
        StatusCounter,
        |s| s.log.syncs.pending,
        "Syncs of the log under way",
    ),
    (
        "os_log_pending_writes",
        "os",
        StatusCounter,
        |s| s.log.writes.pending,
        "Writes to the log under way",
    ),
    (
        "trx_rw_commits",
        "transaction",
        Counter,
        |s| s.engine.commits,
        "Commits of transactions that have written",
    ),
    (
        "trx_rollbacks",
        "transaction",
        Counter,
        |s| s.engine.rollbacks,
        "Rollbacks of transactions that have written",
    ),
    (
        "trx_active_transactions",
        "transaction",
        Gauge,
        |s| s.engine.active_writers,
        "Transactions that have written and not ended",
    ),
    (
        "trx_rseg_history_len",
        "transaction",
        Gauge,
        |s| s.engine.history_length,
        "Transactions that purge has not been through",
    ),
    (
        "log_lsn_last_flush",
        "log",
        Gauge,
        |s| s.engine.log_flushed.0,
        "The log is on the disk up to here",
    ),
    (
        "log_lsn_last_checkpoint",
        "log",
        Gauge,
        |s| s.engine.checkpoint.0,
        "Recovery would begin here",
    ),
    (
        "log_lsn_current",
        "log",
        Gauge,
        |s| s.engine.log_tail.0,
        "The end of the log",
    ),
    (
        "log_lsn_checkpoint_age",
        "log",
        Gauge,
        |s| s.engine.log_tail.0 - s.engine.checkpoint.0,
        "Bytes of log since the last checkpoint",
    ),
    (
        "log_waits",
        "log",
        StatusCounter,
        |s| s.engine.log_waits,
        "Waits for room in the log's buffer",
    ),
    (
        "log_write_requests",
        "log",
        StatusCounter,
        |s| s.engine.log_records,
        "Records of the log",
    ),
    (
        "log_writes",
        "log",
        StatusCounter,
        |s| s.log.writes.times.count,
        "Writes of the log",
    ),
    (
        "log_flush_total_time",
        "log",
        Counter,
        |s| s.flushing_nanos / 1000,
        "Microseconds that syncs of the log took",
    ),
    (
        "log_flush_max_time",
        "log",
        Gauge,
        |s| s.flushing_nanos_max / 1000,
        "Microseconds of the longest sync of the log",
    ),
    (
        "log_checkpoints",
        "log",
        Counter,
        |s| s.engine.checkpoints,
        "Checkpoints",
    ),
    (
        "log_free_space",
        "log",
        Gauge,
        |s| {
            s.engine
                .log_capacity_bytes
                .saturating_sub(s.engine.log_tail.0 - s.engine.checkpoint.0)
        },
        "Room in the log",
    ),
    (
        "file_num_open_files",
        "file_system",
        Gauge,
        |s| s.all_files.open,
        "Files that are open",
    ),
    (
        "innodb_dblwr_writes",
        "server",
        StatusCounter,
        |s| s.copies.syncs.times.count,
        "Batches of copies of pages",
    ),
    (
        "innodb_dblwr_pages_written",
        "server",
        StatusCounter,
        |s| (s.copies.writes.bytes / PAGE_SIZE as u64).saturating_sub(s.copies.syncs.times.count),
        "Copies of pages",
    ),
    (
        "innodb_page_size",
        "server",
        Gauge,
        |_| PAGE_SIZE as u64,
        "Bytes of a page",
    ),
    (
        "dml_reads",
        "dml",
        StatusCounter,
        |s| s.engine.rows_read,
        "Rows read",
    ),
    (
        "dml_inserts",
        "dml",
        StatusCounter,
        |s| s.engine.rows_inserted,
        "Rows inserted",
    ),
    (
        "dml_deletes",
        "dml",
        StatusCounter,
        |s| s.engine.rows_deleted,
        "Rows deleted",
    ),
    (
        "dml_updates",
        "dml",
        StatusCounter,
        |s| s.engine.rows_updated,
        "Rows updated",
    ),
];

fn bytes(pages: u64) -> u64 {
    pages * PAGE_SIZE as u64
}

impl Source {
    fn of(state: &SessionState) -> Source {
        let (database, files) = (&state.database, state.database.engine().files());
        let mut all_files = FileSums::default();
        for kind in FileKind::ALL {
            all_files.add(&files.of_kind(kind));
        }
        let flushing = database.waited(Wait::LogSync);
        Source {
            engine: database.engine().status(),
            all_files,
            log: files.of_kind(FileKind::Log),
            copies: files.of_kind(FileKind::Doublewrite),
            flushing_nanos: flushing.nanos,
            flushing_nanos_max: flushing.most_nanos,
        }
    }
}

pub(super) fn metrics(state: &SessionState) -> Result<Vec<Vec<Value>>> {
    require_process(state)?;
    let source = Source::of(state);
    let uptime_s = state.database.uptime_s();
    let now_micros = clock_micros();
    let zone = &state.settings.time_zone;
    let started = zone.local(now_micros - uptime_s as i64 * 1_000_000, 0);
    let row = |(name, subsystem, kind, value, comment): &Metric| {
        let count = value(&source);
        let average = match kind {
            Gauge => Value::Null,
            _ => Value::Double((count as f64 / uptime_s.max(1) as f64 * 100.0).round() / 100.0),
        };
        let count = Value::Int(count as i64);
        vec![
            Value::string(*name),
            Value::string(*subsystem),
            count.clone(),
            Value::Null,
            Value::Null,
            average.clone(),
            count,
            Value::Null,
            Value::Null,
            average,
            Value::DateTime(started),
            Value::Null,
            Value::Int(uptime_s as i64),
            Value::Null,
            Value::string("enabled"),
            Value::string(match kind {
                Counter => "counter",
                StatusCounter => "status_counter",
                Gauge => "value",
            }),
            Value::string(*comment),
        ]
    };
    Ok(METRICS.iter().map(row).collect())
}
