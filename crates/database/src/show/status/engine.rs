//! The engine's status variables: `Innodb_…` and `Tidemark_…`.
//!
//! `Innodb_data_…` counts requests to the operating system, of the log and of the copies of pages too, as in MySQL;
//! `Innodb_os_log_…` those of the log alone.

use super::{Values, put};
use crate::context::SessionState;
use tidemark_engine::disk::counted::{FileKind, FileSums};
use tidemark_engine::{PAGE_SIZE, Status};

/// Of features that are off, what MySQL shows when nobody has used them.
const OFF: &[(&str, &str)] = &[
    (
        "Innodb_buffer_pool_dump_status",
        "Dumping of buffer pool not started",
    ),
    (
        "Innodb_buffer_pool_load_status",
        "Loading of buffer pool not started",
    ),
    ("Innodb_buffer_pool_read_ahead_rnd", "0"),
    ("Innodb_redo_log_resize_status", "OK"),
    ("Innodb_truncated_status_writes", "0"),
];

pub(super) fn put_engine(values: &mut Values, state: &SessionState) {
    let engine = state.database.engine();
    let status = engine.status();
    put_pool(values, &status);
    put_log(values, &status, state);
    put_rows(values, &status);
    put_files(values, state);
    values.extend(
        OFF.iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
    );
    let [resize, code, progress] = state.database.pool_resize.shown();
    put(values, "Innodb_buffer_pool_resize_status", resize);
    put(values, "Innodb_buffer_pool_resize_status_code", code);
    put(values, "Innodb_buffer_pool_resize_status_progress", progress);
    put(values, "Innodb_page_size", PAGE_SIZE);
    put(values, "Tidemark_active_writers", status.active_writers);
    put(values, "Tidemark_commits", status.commits);
    put(values, "Tidemark_longest_chain", status.longest_chain);
    put(values, "Tidemark_open_views", status.open_views);
    put(values, "Tidemark_rollbacks", status.rollbacks);
    put(values, "Tidemark_tide_lsn", status.tide.0);
    let scrub = engine.scrub_status();
    put(values, "Tidemark_scrub_damaged_pages", scrub.damaged);
    put(values, "Tidemark_scrub_pages_verified", scrub.verified);
    put(values, "Tidemark_scrub_passes", scrub.passes);
    put(values, "Tidemark_scrub_position", scrub.position);
    let (exported, dropped) = state.database.spans.counts();
    put(values, "Tidemark_spans_dropped", dropped);
    put(values, "Tidemark_spans_exported", exported);
}

fn put_pool(values: &mut Values, status: &Status) {
    let bytes = |pages: u64| pages * PAGE_SIZE as u64;
    put(
        values,
        "Innodb_buffer_pool_bytes_data",
        bytes(status.pool_pages_data),
    );
    put(
        values,
        "Innodb_buffer_pool_bytes_dirty",
        bytes(status.pool_pages_dirty),
    );
    put(values, "Innodb_buffer_pool_pages_data", status.pool_pages_data);
    put(values, "Innodb_buffer_pool_pages_dirty", status.pool_pages_dirty);
    put(
        values,
        "Innodb_buffer_pool_pages_flushed",
        status.pool_pages_written,
    );
    put(values, "Innodb_buffer_pool_pages_free", status.pool_pages_free);
    put(values, "Innodb_buffer_pool_pages_misc", 0);
    put(values, "Innodb_buffer_pool_pages_total", status.pool_pages_total);
    put(values, "Innodb_buffer_pool_read_ahead", status.pool_reads_ahead);
    put(values, "Innodb_buffer_pool_read_requests", status.page_requests);
    put(
        values,
        "Innodb_buffer_pool_reads",
        status.pool_reads - status.pool_reads_ahead.min(status.pool_reads),
    );
    put(values, "Innodb_buffer_pool_wait_free", status.pool_starved);
    put(values, "Innodb_buffer_pool_write_requests", status.page_changes);
    put(values, "Innodb_pages_created", status.pages_created);
    put(values, "Innodb_pages_read", status.pool_reads);
    put(values, "Innodb_pages_written", status.pool_pages_written);
}

fn put_log(values: &mut Values, status: &Status, state: &SessionState) {
    put(values, "Innodb_log_waits", status.log_waits);
    put(values, "Innodb_log_write_requests", status.log_records);
    put(values, "Innodb_os_log_fsyncs", status.log_syncs);
    put(
        values,
        "Innodb_os_log_written",
        status.log_tail.0 - status.log_opened_at.0,
    );
    put(
        values,
        "Innodb_redo_log_capacity_resized",
        status.log_capacity_bytes,
    );
    put(values, "Innodb_redo_log_checkpoint_lsn", status.checkpoint.0);
    put(values, "Innodb_redo_log_current_lsn", status.log_tail.0);
    put(values, "Innodb_redo_log_enabled", "ON");
    put(
        values,
        "Innodb_redo_log_flushed_to_disk_lsn",
        status.log_flushed.0,
    );
    put(values, "Innodb_redo_log_logical_size", status.log_kept_bytes);
    put(values, "Innodb_redo_log_physical_size", status.log_files_bytes);
    let is_forced = state.database.modes.is_forced();
    put(
        values,
        "Innodb_redo_log_read_only",
        if is_forced { "ON" } else { "OFF" },
    );
    put(values, "Tidemark_checkpoint_lsn", status.checkpoint.0);
    put(
        values,
        "Tidemark_log_archive_behind_bytes",
        status.archive_behind_bytes,
    );
    put(values, "Tidemark_log_flushed_lsn", status.log_flushed.0);
    put(values, "Tidemark_log_group_waits", status.log_group_waits);
    put(values, "Tidemark_log_tail_lsn", status.log_tail.0);
}

fn put_rows(values: &mut Values, status: &Status) {
    let average = status.row_lock_time_ms.checked_div(status.row_lock_waits);
    put(values, "Innodb_deadlocks", status.deadlocks);
    put(values, "Innodb_history_list_length", status.history_length);
    put(
        values,
        "Innodb_row_lock_current_waits",
        status.row_lock_current_waits,
    );
    put(values, "Innodb_row_lock_time", status.row_lock_time_ms);
    put(values, "Innodb_row_lock_time_avg", average.unwrap_or(0));
    put(values, "Innodb_row_lock_time_max", status.row_lock_time_max_ms);
    put(values, "Innodb_row_lock_waits", status.row_lock_waits);
    put(values, "Innodb_rows_deleted", status.rows_deleted);
    put(values, "Innodb_rows_inserted", status.rows_inserted);
    put(values, "Innodb_rows_read", status.rows_read);
    put(values, "Innodb_rows_updated", status.rows_updated);
}

/// What was asked of the operating system.
fn put_files(values: &mut Values, state: &SessionState) {
    let files = state.database.engine().files();
    let mut all = FileSums::default();
    for kind in FileKind::ALL {
        all.add(&files.of_kind(kind));
    }
    put(values, "Innodb_data_fsyncs", all.syncs.times.count);
    put(values, "Innodb_data_pending_fsyncs", all.syncs.pending);
    put(values, "Innodb_data_pending_reads", all.reads.pending);
    put(values, "Innodb_data_pending_writes", all.writes.pending);
    put(values, "Innodb_data_read", all.reads.bytes);
    put(values, "Innodb_data_reads", all.reads.times.count);
    put(values, "Innodb_data_writes", all.writes.times.count);
    put(values, "Innodb_data_written", all.writes.bytes);
    put(values, "Innodb_num_open_files", all.open);
    let log = files.of_kind(FileKind::Log);
    put(values, "Innodb_log_writes", log.writes.times.count);
    put(values, "Innodb_os_log_pending_fsyncs", log.syncs.pending);
    put(values, "Innodb_os_log_pending_writes", log.writes.pending);
    // A batch is copies of pages and one page that lists them, and ends with a sync.
    let copies = files.of_kind(FileKind::Doublewrite);
    let pages = copies.writes.bytes / PAGE_SIZE as u64;
    let batches = copies.syncs.times.count;
    put(
        values,
        "Innodb_dblwr_pages_written",
        pages.saturating_sub(batches),
    );
    put(values, "Innodb_dblwr_writes", batches);
}
