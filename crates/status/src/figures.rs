//! The server's counters at one moment, and what they say of the time between two.

use serde_json::{Value, json};
use std::time::Instant;
use tidemark_database::Database;
use tidemark_database::context::latency::Durations;
use tidemark_database::context::{Counter, Totals};
use tidemark_engine::Status;
use tidemark_engine::waits::{Wait, WaitSum};

/// What has been counted up to a moment.
pub struct Figures {
    /// The moment.
    pub at: Instant,
    /// The engine's counters and gauges.
    pub engine: Status,
    /// What sessions have counted.
    pub totals: Totals,
    /// Waits by kind, in the order of [`Wait::ALL`].
    pub waits: [WaitSum; Wait::ALL.len()],
}

/// A wait as people and metrics call it.
pub fn wait_name(wait: Wait) -> &'static str {
    match wait {
        Wait::PageLatch => "page_latch",
        Wait::PageRead => "page_read",
        Wait::PageWrite => "page_write",
        Wait::FreeFrame => "free_page",
        Wait::LogRoom => "log_room",
        Wait::LogWrite => "log_write",
        Wait::LogSync => "log_sync",
        Wait::LogGroup => "commit_group",
        Wait::RowLock => "row_lock",
        Wait::PurgeLag => "purge_lag",
        Wait::MetadataLock => "metadata_lock",
        Wait::ClientRead => "client_read",
        Wait::ClientWrite => "client_write",
        #[cfg(feature = "museum")]
        Wait::KernelMutex => "museum_kernel_mutex",
        #[cfg(feature = "museum")]
        Wait::TrxSys => "museum_trx_sys",
        #[cfg(feature = "museum")]
        Wait::ProcArray => "museum_proc_array",
    }
}

/// What one would look for when it is asked where time goes: not the client, while it thinks.
pub fn shown_waits() -> impl Iterator<Item = Wait> {
    Wait::ALL.into_iter().filter(|wait| *wait != Wait::ClientRead)
}

impl Figures {
    /// Those of now.
    pub fn of(database: &Database) -> Figures {
        Figures {
            at: Instant::now(),
            engine: database.engine().status(),
            totals: database.totals(),
            waits: Wait::ALL.map(|wait| database.waited(wait)),
        }
    }

    /// Rates a second since `before`, quantiles of latencies in microseconds, waits in seconds a second.
    pub fn rates(&self, before: &Figures) -> Value {
        let seconds = self.at.duration_since(before.at).as_secs_f64().max(0.001);
        let rate = |now: u64, then: u64| round(now.saturating_sub(then) as f64 / seconds);
        let counted = |counter: Counter| rate(self.totals.of(counter), before.totals.of(counter));
        let engine = |of: fn(&Status) -> u64| rate(of(&self.engine), of(&before.engine));
        let waits: serde_json::Map<_, _> = shown_waits()
            .map(|wait| {
                let (now, then) = (&self.waits[wait as usize], &before.waits[wait as usize]);
                let spent = now.nanos.saturating_sub(then.nanos) as f64 / 1e9 / seconds;
                (wait_name(wait).to_owned(), json!(round(spent)))
            })
            .collect();
        json!({
            "statements": counted(Counter::Questions),
            "transactions": counted(Counter::HandlerCommit),
            "rollbacks": counted(Counter::HandlerRollback),
            "writes": engine(|status| status.commits),
            "rows_read": engine(|status| status.rows_read),
            "rows_changed": engine(|status| status.rows_inserted + status.rows_updated + status.rows_deleted),
            "lock_waits": engine(|status| status.row_lock_waits),
            "deadlocks": engine(|status| status.deadlocks),
            "pages_read": engine(|status| status.pool_reads),
            "pages_written": engine(|status| status.pool_pages_written),
            "log_bytes": engine(|status| status.log_tail.0),
            "log_syncs": engine(|status| status.log_syncs),
            "bytes_sent": counted(Counter::BytesSent),
            "latency": quantiles(&self.totals.statements().since(before.totals.statements())),
            "commit": quantiles(&self.totals.commits().since(before.totals.commits())),
            "waits": waits,
        })
    }
}

fn quantiles(durations: &Durations) -> Value {
    let of = |share| durations.quantile_micros(share);
    json!({"p50": of(0.5), "p95": of(0.95), "p99": of(0.99), "max": of(1.0)})
}

/// Three digits behind the point are enough to draw.
fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
