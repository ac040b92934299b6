//! What the SQL floor counts, for SHOW STATUS. What every statement counts is striped over cache lines, so that sessions on
//! different processors do not take them from each other.

use super::command;
use std::sync::atomic::AtomicU64;
use tidemark_engine::Striped;

/// Counters of the SQL floor, for SHOW STATUS.
#[derive(Default)]
pub struct Counters {
    pub connections: AtomicU64,
    pub max_used_connections: AtomicU64,
    pub aborted_clients: AtomicU64,
    pub aborted_connects: AtomicU64,
    /// Connections that asked for TLS.
    pub ssl_accepts: AtomicU64,
    /// Those of them that got it.
    pub ssl_finished_accepts: AtomicU64,
    pub slow_queries: AtomicU64,
    /// Statements that are prepared now, in all sessions.
    pub prepared: AtomicU64,
    pub traffic: Striped<Traffic>,
}

/// What every statement counts.
#[derive(Default)]
pub struct Traffic {
    /// Statements that clients sent: `Questions`.
    pub questions: AtomicU64,
    /// Statements by kind, see [`command`].
    pub commands: [AtomicU64; command::COUNT],
    /// Bytes from clients, packet headers included.
    pub bytes_received: AtomicU64,
    /// Bytes to clients, packet headers included.
    pub bytes_sent: AtomicU64,
}
