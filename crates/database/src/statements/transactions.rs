//! Transactions as events: the one of a session, open or over, the last ones, and sums of what they took, by whether they might
//! write.
//!
//! A transaction of one statement has the statement's beginning and end, so no clock is read for it. What a session knows is under the
//! lock of what it is doing, which it takes at the end of each command anyhow.

use super::long::Told;
use super::ring::Ring;
use super::setup::{Consumer, Instrument};
use std::time::Instant;
use tidemark_engine::Isolation;
use tidemark_engine::waits::WaitSum;

/// Transactions that are kept of a session: `performance_schema_events_transactions_history_size`.
pub const EVENTS: usize = 10;

/// A transaction that has begun.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    /// The number of the event in the session.
    pub id: u64,
    /// That of the statement that began it.
    pub statement: u64,
    /// When.
    pub at: Instant,
    /// Its level.
    pub isolation: Isolation,
    /// It may not write.
    pub read_only: bool,
    /// It is one statement's.
    pub autocommit: bool,
    /// SAVEPOINT.
    pub savepoints: u64,
    /// ROLLBACK TO SAVEPOINT.
    pub rolled_back_to: u64,
    /// RELEASE SAVEPOINT.
    pub released: u64,
}

/// A transaction that is over.
#[derive(Clone, Copy, Debug)]
pub struct TransactionEvent {
    /// What it was.
    pub begun: Begun,
    /// The engine's number for it, if it wrote.
    pub txn: Option<u64>,
    /// It was committed, not rolled back.
    pub committed: bool,
    /// How long it took, in nanoseconds.
    pub nanos: u64,
}

/// The end of a transaction, to be told when its statement's end is.
#[derive(Clone, Copy, Debug)]
pub struct Over {
    /// The engine's number for it, if it wrote.
    pub txn: Option<u64>,
    /// It was committed, not rolled back.
    pub committed: bool,
    /// Of a transaction that was one statement: the statement's beginning, the level, and whether it might not write. Others have
    /// told their beginning.
    pub alone: Option<(Instant, Isolation, bool)>,
    /// When it ended.
    pub at: Instant,
}

/// Sums of those that might write, and of those that might not.
pub type TransactionSums = [WaitSum; 2];

/// The transactions of a session.
#[derive(Debug)]
pub struct Transactions {
    /// The open one, of more than one statement.
    pub open: Option<Begun>,
    /// The last one that is over.
    pub last: Option<TransactionEvent>,
    /// Those before.
    pub history: Ring<TransactionEvent>,
    /// Sums of all that are over.
    pub sums: TransactionSums,
}

impl Default for Transactions {
    fn default() -> Transactions {
        Transactions {
            open: None,
            last: None,
            history: Ring::new(EVENTS),
            sums: TransactionSums::default(),
        }
    }
}

impl Transactions {
    /// One is over; `ids` are a number for its event, if it was a statement's own, and that of the statement.
    #[inline]
    pub fn end(&mut self, over: &Over, ids: impl FnOnce() -> (u64, u64), told: Told) {
        let open = self.open.take();
        let counted = told.setup.counted(Instrument::Transaction);
        if !told.collected.has(Consumer::Global) || !counted.is_enabled() {
            return;
        }
        let begun = match over.alone {
            Some((at, isolation, read_only)) => {
                let (id, statement) = ids();
                Begun {
                    id,
                    statement,
                    at,
                    isolation,
                    read_only,
                    autocommit: true,
                    savepoints: 0,
                    rolled_back_to: 0,
                    released: 0,
                }
            }
            // It has begun while transactions were not counted.
            None => match open {
                Some(begun) => begun,
                None => return,
            },
        };
        let took = over.at.saturating_duration_since(begun.at);
        let took = took.as_secs() * 1_000_000_000 + u64::from(took.subsec_nanos());
        let event = TransactionEvent {
            begun,
            txn: over.txn,
            committed: over.committed,
            nanos: if counted.is_timed() { took } else { 0 },
        };
        self.sums[usize::from(begun.read_only)].add(&WaitSum::one(event.nanos));
        if told.collected.has(Consumer::TransactionsCurrent) {
            self.last = Some(event);
        }
        if told.collected.has(Consumer::TransactionsHistory) {
            self.history.push(event);
        }
        if told.collected.has(Consumer::TransactionsHistoryLong) {
            told.long.transactions.push(told.session, event);
        }
    }
}
