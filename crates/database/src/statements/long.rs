//! The last events of all sessions, those that are over too: `events_statements_history_long`, `events_transactions_history_long`,
//! `events_stages_history_long`. Only while their consumers are on does anything come here, which is why one lock does for each.

use super::history::Event;
use super::ring::Ring;
use super::setup::{Collected, Consumer, Instrument, Setup};
use super::stages::StageEvent;
use super::transactions::TransactionEvent;
use parking_lot::Mutex;

/// Events of each kind that are kept: `performance_schema_events_…_history_long_size`.
pub const EVENTS: usize = 10_000;

/// The last events of one kind, each with the number of its session.
#[derive(Debug)]
pub struct Long<T>(Mutex<Ring<(u64, T)>>);

impl<T> Default for Long<T> {
    fn default() -> Long<T> {
        Long(Mutex::new(Ring::new(EVENTS)))
    }
}

impl<T: Clone> Long<T> {
    /// Adds one of a session.
    pub fn push(&self, session: u64, event: T) {
        self.0.lock().push((session, event));
    }

    /// All of them, the oldest first.
    pub fn all(&self) -> Vec<(u64, T)> {
        self.0.lock().iter().cloned().collect()
    }

    /// Forgets all.
    pub fn clear(&self) {
        self.0.lock().clear();
    }
}

/// A statement, and the database that it ran in.
#[derive(Clone, Debug)]
pub struct LongStatement {
    /// The statement.
    pub event: Event,
    /// Its session's database.
    pub schema: Option<String>,
}

/// Where the events of a session are told to.
#[derive(Clone, Copy)]
pub struct Told<'a> {
    /// The session's number.
    pub session: u64,
    /// What is counted.
    pub setup: &'a Setup,
    /// What takes events in, by one look for all that are told together.
    pub collected: Collected,
    /// The last events of all sessions.
    pub long: &'a LongHistory,
}

impl Told<'_> {
    /// Whether a kind of event is counted: of this session, and by its instrument.
    #[inline]
    pub fn counts(&self, instrument: Instrument) -> bool {
        self.collected.has(Consumer::Global) && self.setup.counted(instrument).is_enabled()
    }
}

/// The last events of all sessions.
#[derive(Debug, Default)]
pub struct LongHistory {
    /// Statements.
    pub statements: Long<LongStatement>,
    /// Transactions.
    pub transactions: Long<TransactionEvent>,
    /// Stages.
    pub stages: Long<StageEvent>,
}
