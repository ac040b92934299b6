//! Statements as spans of OpenTelemetry, for those clients that ask: a statement with the `traceparent` of W3C's Trace Context in a
//! comment or as a query attribute belongs to that trace, and is sent to the collector that `tidemark_otlp_endpoint` names.
//!
//! - `parent`: finds the `traceparent`. - `document`: spans as OTLP's JSON. - `exporter`: the thread that sends them.
//!
//! A statement waits for nothing of this: its span goes into a queue of bounded length, and is dropped and counted if that is full.
//! Without an endpoint there is no queue and no thread, and a statement looks at one `Option`.

mod document;
mod exporter;
mod parent;

pub use parent::Parent;

use exporter::Exporter;
use std::sync::OnceLock;

/// A statement that is over, as a span.
#[derive(Clone, Debug)]
pub struct Span {
    /// The trace, and the client's span.
    pub parent: Parent,
    /// Its kind, such as `select`.
    pub operation: String,
    /// The database.
    pub schema: Option<String>,
    /// Its normalised text, without literals.
    pub text: Option<String>,
    /// When it began and ended, in nanoseconds since 1970 UTC.
    pub began_nanos: u64,
    /// When it ended.
    pub ended_nanos: u64,
    /// How long it waited for locks, in nanoseconds.
    pub lock_nanos: u64,
    /// Rows read.
    pub examined: u64,
    /// Rows sent.
    pub sent: u64,
    /// Rows changed.
    pub affected: u64,
    /// The error's number and text, if it failed.
    pub error: Option<(u16, String)>,
    /// CONNECTION_ID().
    pub connection: u64,
}

/// The server's spans.
#[derive(Debug, Default)]
pub struct Spans(OnceLock<Exporter>);

impl Spans {
    /// Sends spans to a collector from now on. Returns what is wrong with the URL.
    pub fn start(&self, endpoint: &str) -> Result<(), String> {
        let exporter = Exporter::start(endpoint)?;
        self.0.set(exporter).map_err(|_| "it is there already".to_owned())
    }

    /// Whether there is a collector.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.0.get().is_some()
    }

    /// Has a span sent, if there is room in the queue.
    pub fn send(&self, span: Span) {
        if let Some(exporter) = self.0.get() {
            exporter.send(span);
        }
    }

    /// Those that a collector has taken, and those that were dropped.
    pub fn counts(&self) -> (u64, u64) {
        self.0.get().map_or((0, 0), Exporter::counts)
    }
}
