//! What Prometheus collects, in its own text form or in OpenMetrics.
//!
//! Where MySQL's exporter has a metric for the same, it has its name here, so that dashboards made for MySQL show it; what only this
//! server has begins with `tidemark_`. A counter's name ends with `_total` in OpenMetrics; MySQL's names that do not are of no type,
//! as they are in the exporter.

use crate::figures::{Figures, wait_name};
use std::fmt::{Display, Write};
use tidemark_database::Database;
use tidemark_database::context::latency::{self, Durations};
use tidemark_database::context::{Counter, command};
use tidemark_engine::PAGE_SIZE;
use tidemark_engine::waits::Wait;

/// In which form metrics are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Prometheus,
    OpenMetrics,
}

impl Form {
    /// The form that a client asks for.
    pub fn accepted(accept: &str) -> Form {
        match accept.contains("application/openmetrics-text") {
            true => Form::OpenMetrics,
            false => Form::Prometheus,
        }
    }

    /// As the header says it.
    pub fn content_type(self) -> &'static str {
        match self {
            Form::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Form::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Counter,
    Gauge,
    Histogram,
    /// A counter under a name that does not say so.
    Unknown,
}

struct Text {
    form: Form,
    out: String,
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

impl Text {
    /// The lines that stand before a metric's samples. `name` is without `_total`.
    fn family(&mut self, name: &str, kind: Type, help: &str) {
        let word = match kind {
            Type::Counter => "counter",
            Type::Gauge => "gauge",
            Type::Histogram => "histogram",
            Type::Unknown if self.form == Form::OpenMetrics => "unknown",
            Type::Unknown => "untyped",
        };
        let end = match kind {
            Type::Counter if self.form == Form::Prometheus => "_total",
            _ => "",
        };
        self.line(format_args!("# HELP {name}{end} {help}"));
        self.line(format_args!("# TYPE {name}{end} {word}"));
    }

    fn line(&mut self, line: impl Display) {
        // A String takes everything.
        let _ = writeln!(self.out, "{line}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(label, text)| format!("{label}=\"{}\"", escaped(text)))
            .collect();
        match labels.is_empty() {
            true => self.line(format_args!("{name} {value}")),
            false => self.line(format_args!("{name}{{{}}} {value}", labels.join(","))),
        }
    }

    fn one(&mut self, name: &str, kind: Type, help: &str, value: impl Display) {
        self.family(name, kind, help);
        let end = if kind == Type::Counter { "_total" } else { "" };
        self.sample(&format!("{name}{end}"), &[], value);
    }

    /// A metric with one label.
    fn by(&mut self, name: &str, kind: Type, help: &str, label: &str, values: &[(&str, f64)]) {
        self.family(name, kind, help);
        let end = if kind == Type::Counter { "_total" } else { "" };
        for (of, value) in values {
            self.sample(&format!("{name}{end}"), &[(label, of)], value);
        }
    }

    /// A histogram in seconds, its buckets made wider: a power of two each.
    fn histogram(&mut self, name: &str, help: &str, durations: &Durations) {
        self.family(name, Type::Histogram, help);
        let mut below = 0;
        for (at, count) in durations.counts.iter().enumerate() {
            below += count;
            if at % 4 == 3 && at + 1 < latency::BUCKETS {
                let end = latency::from_micros(at + 1) as f64 / 1e6;
                self.sample(&format!("{name}_bucket"), &[("le", &format!("{end:?}"))], below);
            }
        }
        self.sample(&format!("{name}_bucket"), &[("le", "+Inf")], below);
        self.sample(&format!("{name}_sum"), &[], durations.nanos as f64 / 1e9);
        self.sample(&format!("{name}_count"), &[], below);
    }
}

/// All metrics of the moment.
pub fn text(database: &Database, form: Form) -> String {
    let figures = Figures::of(database);
    let mut text = Text {
        form,
        out: String::with_capacity(32 << 10),
    };
    server(&mut text, database, &figures);
    sessions(&mut text, &figures);
    engine(&mut text, &figures);
    own(&mut text, &figures);
    if form == Form::OpenMetrics {
        text.line("# EOF");
    }
    text.out
}

fn server(text: &mut Text, database: &Database, figures: &Figures) {
    use Type::{Gauge, Unknown};
    use std::sync::atomic::Ordering::Relaxed;
    let counters = database.counters();
    let version = database.variable("version").unwrap_or_default();
    text.one("mysql_up", Gauge, "The server answers.", 1);
    text.family("mysql_version_info", Gauge, "The server's version.");
    text.sample("mysql_version_info", &[("version", &version)], 1);
    let running = database
        .sessions
        .lock()
        .values()
        .filter(|process| process.with_current(|current| current.running))
        .count();
    let status = |name: &str| format!("mysql_global_status_{name}");
    let gauges = [
        ("threads_connected", "Sessions.", database.session_count() as u64),
        (
            "threads_running",
            "Sessions that run a statement.",
            running as u64,
        ),
        (
            "max_used_connections",
            "Most sessions at once.",
            counters.max_used_connections.load(Relaxed),
        ),
        (
            "prepared_stmt_count",
            "Statements prepared at present.",
            counters.prepared.load(Relaxed),
        ),
        ("uptime", "Seconds since the start.", database.uptime_s()),
    ];
    for (name, help, value) in gauges {
        text.one(&status(name), Gauge, help, value);
    }
    let counted = [
        (
            "connections",
            "Connections that logged in.",
            counters.connections.load(Relaxed),
        ),
        (
            "aborted_clients",
            "Sessions that ended without a goodbye.",
            counters.aborted_clients.load(Relaxed),
        ),
        (
            "aborted_connects",
            "Logins that failed.",
            counters.aborted_connects.load(Relaxed),
        ),
        ("queries", "Statements.", figures.totals.of(Counter::Questions)),
    ];
    for (name, help, value) in counted {
        text.one(&status(name), Unknown, help, value);
    }
    let refused = counters.too_many_connections.load(Relaxed) as f64;
    let name = status("connection_errors");
    text.by(
        &name,
        Type::Counter,
        "Connections that were refused.",
        "error",
        &[("max_connections", refused)],
    );
    for name in [
        "max_connections",
        "innodb_buffer_pool_size",
        "innodb_redo_log_capacity",
        "innodb_flush_log_at_trx_commit",
    ] {
        let help = format!("The system variable {name}.");
        text.one(
            &format!("mysql_global_variables_{name}"),
            Gauge,
            &help,
            database.variable_u64(name),
        );
    }
}

fn sessions(text: &mut Text, figures: &Figures) {
    let mut handlers = Vec::new();
    for counter in Counter::ALL {
        let name = counter.name().to_ascii_lowercase();
        let count = figures.totals.of(*counter);
        match name.strip_prefix("handler_") {
            Some(handler) => handlers.push((handler.to_owned(), count as f64)),
            None => {
                let help = format!("The status variable {}.", counter.name());
                text.one(
                    &format!("mysql_global_status_{name}"),
                    Type::Unknown,
                    &help,
                    count,
                );
            }
        }
    }
    let handlers: Vec<(&str, f64)> = handlers.iter().map(|(name, count)| (&**name, *count)).collect();
    let help = "The status variables Handler_….";
    text.by(
        "mysql_global_status_handlers",
        Type::Counter,
        help,
        "handler",
        &handlers,
    );
    let commands: Vec<(&str, f64)> = command::NAMES
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != command::OTHER)
        .map(|(at, name)| (*name, figures.totals.of_command(at) as f64))
        .collect();
    let help = "Statements by kind.";
    text.by(
        "mysql_global_status_commands",
        Type::Counter,
        help,
        "command",
        &commands,
    );
}

fn engine(text: &mut Text, figures: &Figures) {
    let engine = &figures.engine;
    let bytes = |pages: u64| pages * PAGE_SIZE as u64;
    let pages = [
        ("data", engine.pool_pages_data as f64),
        ("dirty", engine.pool_pages_dirty as f64),
        ("free", engine.pool_pages_free as f64),
    ];
    let name = "mysql_global_status_buffer_pool_pages";
    text.by(
        name,
        Type::Gauge,
        "Pages of the buffer pool; dirty ones are among those with data.",
        "state",
        &pages,
    );
    let rows = [
        ("read", engine.rows_read as f64),
        ("inserted", engine.rows_inserted as f64),
        ("updated", engine.rows_updated as f64),
        ("deleted", engine.rows_deleted as f64),
    ];
    let name = "mysql_global_status_innodb_row_ops";
    text.by(name, Type::Counter, "Rows read and changed.", "operation", &rows);
    let gauges = [
        (
            "buffer_pool_bytes_data",
            "Bytes of pages in the pool.",
            bytes(engine.pool_pages_data),
        ),
        (
            "buffer_pool_bytes_dirty",
            "Bytes of pages that differ from the disk.",
            bytes(engine.pool_pages_dirty),
        ),
        (
            "buffer_pool_pages_total",
            "Pages that the pool has room for.",
            engine.pool_pages_total,
        ),
        (
            "history_list_length",
            "Transactions that are not purged.",
            engine.history_length,
        ),
        (
            "row_lock_current_waits",
            "Waits for locks at present.",
            engine.row_lock_current_waits,
        ),
        (
            "row_lock_time_max",
            "The longest wait for a lock, in milliseconds.",
            engine.row_lock_time_max_ms,
        ),
        ("page_size", "Bytes of a page.", PAGE_SIZE as u64),
    ];
    for (name, help, value) in gauges {
        text.one(
            &format!("mysql_global_status_innodb_{name}"),
            Type::Gauge,
            help,
            value,
        );
    }
    let counted = [
        (
            "buffer_pool_reads",
            "Pages read from the disk.",
            engine.pool_reads,
        ),
        (
            "buffer_pool_pages_flushed",
            "Pages written to the disk.",
            engine.pool_pages_written,
        ),
        (
            "buffer_pool_wait_free",
            "Waits for a free page.",
            engine.pool_starved,
        ),
        ("deadlocks", "Deadlocks.", engine.deadlocks),
        (
            "log_waits",
            "Waits for room in the log's buffer.",
            engine.log_waits,
        ),
        ("os_log_fsyncs", "Syncs of the log.", engine.log_syncs),
        (
            "os_log_written",
            "Bytes of log since the start.",
            engine.log_tail.0 - engine.log_opened_at.0,
        ),
        (
            "row_lock_time",
            "Time spent waiting for locks, in milliseconds.",
            engine.row_lock_time_ms,
        ),
        ("row_lock_waits", "Waits for locks.", engine.row_lock_waits),
    ];
    for (name, help, value) in counted {
        text.one(
            &format!("mysql_global_status_innodb_{name}"),
            Type::Unknown,
            help,
            value,
        );
    }
}

fn own(text: &mut Text, figures: &Figures) {
    let engine = &figures.engine;
    let bytes = |pages: u64| pages * PAGE_SIZE as u64;
    let gauges = [
        (
            "active_writers",
            "Transactions that have written and not ended.",
            engine.active_writers,
        ),
        ("open_views", "Open read views.", engine.open_views),
        (
            "oldest_view_lag_bytes",
            "Log written since the oldest open view.",
            engine.log_tail.0.saturating_sub(engine.oldest_view.0),
        ),
        ("version_bytes", "Bytes of old versions.", engine.version_bytes),
        (
            "longest_chain",
            "Versions of one row, the most seen lately.",
            engine.longest_chain.into(),
        ),
        (
            "buried_entries",
            "Deleted entries kept for old views.",
            engine.buried_entries,
        ),
        (
            "log_kept_bytes",
            "Bytes of log that recovery or a rollback needs.",
            engine.log_kept_bytes,
        ),
        (
            "log_unflushed_bytes",
            "Bytes of log that are not on the disk.",
            engine.log_tail.0.saturating_sub(engine.log_flushed.0),
        ),
        (
            "checkpoint_age_bytes",
            "Log written since the checkpoint.",
            engine.log_tail.0.saturating_sub(engine.checkpoint.0),
        ),
        (
            "data_file_bytes",
            "Size of the data file.",
            bytes(engine.data_file_pages),
        ),
        (
            "data_file_free_bytes",
            "Of these, bytes that are free.",
            bytes(engine.data_file_pages_free),
        ),
        (
            "scratch_bytes",
            "Scratch pages in use.",
            bytes(engine.scratch_pages),
        ),
    ];
    for (name, help, value) in gauges {
        text.one(&format!("tidemark_{name}"), Type::Gauge, help, value);
    }
    let name = "tidemark_history_age_seconds";
    text.one(
        name,
        Type::Gauge,
        "How long ago the first transaction ended that is not purged.",
        engine.history_age_s,
    );
    let counted = [
        (
            "commits",
            "Transactions that wrote and were committed.",
            engine.commits,
        ),
        (
            "rollbacks",
            "Transactions that wrote and were rolled back.",
            engine.rollbacks,
        ),
        (
            "log_group_waits",
            "Commits that another thread synced.",
            engine.log_group_waits,
        ),
        (
            "pool_evictions",
            "Pages that gave up their room.",
            engine.pool_evictions,
        ),
    ];
    for (name, help, value) in counted {
        text.one(&format!("tidemark_{name}"), Type::Counter, help, value);
    }
    let of = |value: fn(&tidemark_engine::waits::WaitSum) -> f64| {
        Wait::ALL.map(|wait| (wait_name(wait), value(&figures.waits[wait as usize])))
    };
    let (counts, seconds) = (of(|sum| sum.count as f64), of(|sum| sum.nanos as f64 / 1e9));
    text.by(
        "tidemark_waits",
        Type::Counter,
        "Waits by what was waited for.",
        "wait",
        &counts,
    );
    text.by(
        "tidemark_wait_seconds",
        Type::Counter,
        "Time spent waiting.",
        "wait",
        &seconds,
    );
    let help = "How long statements took.";
    text.histogram(
        "tidemark_statement_duration_seconds",
        help,
        figures.totals.statements(),
    );
    let help = "How long the commits of transactions took that had written.";
    text.histogram("tidemark_commit_duration_seconds", help, figures.totals.commits());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_adds_up_and_labels_are_escaped() {
        let mut durations = Durations::default();
        for micros in [1, 5, 5, 1_000_000_000] {
            durations.counts[latency::bucket(micros * 1000)] += 1;
        }
        let mut text = Text {
            form: Form::OpenMetrics,
            out: String::new(),
        };
        text.histogram("t", "T.", &durations);
        assert!(
            text.out.starts_with(
                "# HELP t T.\n# TYPE t histogram\nt_bucket{le=\"4e-6\"} 1\nt_bucket{le=\"8e-6\"} 3\n"
            ),
            "{}",
            text.out
        );
        assert!(text.out.contains("t_bucket{le=\"+Inf\"} 4\n") && text.out.ends_with("t_count 4\n"));
        text.sample("s", &[("l", "a\"b\\c\nd")], 1);
        assert!(text.out.ends_with("s{l=\"a\\\"b\\\\c\\nd\"} 1\n"));
    }

    #[test]
    fn the_form_is_the_one_asked_for() {
        assert_eq!(Form::accepted("text/plain"), Form::Prometheus);
        assert_eq!(
            Form::accepted("application/openmetrics-text;version=1.0.0,*/*;q=0.1"),
            Form::OpenMetrics
        );
    }
}
