//! Transactions as events: the one of a session, open or over, the last ones, and sums of what they took, by whether they might
//! write.
//!
//! A transaction of one statement has the statement's beginning and end, so no clock is read for it, and as a rule its event is not even
//! written: the [history](super::history) of statements has what it is made of. What a session knows is under the lock of what it is doing,
//! which it takes at the end of each command anyhow.

use super::long::Told;
use super::recent::Recent;
use super::setup::{Consumer, Counted, Instrument};
use std::num::NonZeroU64;
use tidemark_engine::waits::WaitSum;
use tidemark_engine::{Isolation, Tick};

/// A transaction that has begun.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    /// The number of the event in the session.
    pub id: NonZeroU64,
    /// That of the statement that began it.
    pub statement: u64,
    /// When.
    pub at: Tick,
    /// Its level.
    pub isolation: Isolation,
    /// It may not write.
    pub read_only: bool,
    /// It is one statement's.
    pub autocommit: bool,
    /// SAVEPOINT.
    pub savepoints: u32,
    /// ROLLBACK TO SAVEPOINT.
    pub rolled_back_to: u32,
    /// RELEASE SAVEPOINT.
    pub released: u32,
}

impl Begun {
    /// One that is a statement's own, with the numbers of its event and of the statement.
    #[inline]
    pub(super) fn alone(
        (id, statement): (NonZeroU64, u64),
        (at, isolation, read_only): (Tick, Isolation, bool),
    ) -> Begun {
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
}

/// A transaction that is over. It is a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct TransactionEvent {
    /// What it was.
    pub begun: Begun,
    /// The engine's number for it, if it wrote.
    pub txn: Option<NonZeroU64>,
    /// It was committed, not rolled back.
    pub committed: bool,
    /// How long it took, in nanoseconds.
    pub nanos: u64,
}

const _: () = assert!(size_of::<TransactionEvent>() == 64);

impl TransactionEvent {
    /// None yet.
    pub fn none() -> TransactionEvent {
        TransactionEvent {
            begun: Begun::alone(
                (NonZeroU64::MIN, 0),
                (Tick::default(), Isolation::RepeatableRead, true),
            ),
            txn: None,
            committed: true,
            nanos: 0,
        }
    }
}

/// The end of a transaction, to be told when its statement's end is.
#[derive(Clone, Copy, Debug)]
pub struct Over {
    /// The engine's number for it, if it wrote.
    pub txn: Option<NonZeroU64>,
    /// It was committed, not rolled back.
    pub committed: bool,
    /// Of a transaction that was one statement: the statement's beginning, the level, and whether it might not write. Others have
    /// told their beginning.
    pub alone: Option<(Tick, Isolation, bool)>,
}

/// Sums of those that might write, and of those that might not.
pub type TransactionSums = [WaitSum; 2];

/// The transactions of a session.
#[derive(Debug, Default)]
pub struct Transactions {
    /// The open one, of more than one statement.
    pub open: Option<Begun>,
    /// Those that are over.
    pub recent: Recent<TransactionEvent>,
    /// Sums of all that are over.
    pub sums: TransactionSums,
}

impl Transactions {
    /// Counts one, to which no event is put here.
    #[inline]
    pub fn count(&mut self, read_only: bool, nanos: u64) {
        self.sums[usize::from(read_only)].count_one(nanos);
    }

    /// One is over since a moment; `ids` are a number for its event, if it was a statement's own, and that of the statement.
    #[inline(always)]
    pub fn end(&mut self, (over, at): (&Over, Tick), ids: impl FnOnce() -> (NonZeroU64, u64), told: Told) {
        let counted = told.setup.counted(Instrument::Transaction);
        if !told.collected.has(Consumer::Global) || !counted.is_enabled() {
            self.open = None;
            return;
        }
        match over.alone {
            Some(alone) => {
                let (at_first, _, read_only) = alone;
                let nanos = counted_nanos(counted, at_first, at);
                self.count(read_only, nanos);
                // Numbered last, and built where it stays: what is put together before must be kept somewhere meanwhile.
                self.put(over, nanos, told, || Begun::alone(ids(), alone));
            }
            None => self.end_open((over, at), counted, told),
        }
    }

    /// The open one is over. There is none if it has begun while transactions were not counted.
    #[inline(never)]
    fn end_open(&mut self, (over, at): (&Over, Tick), counted: Counted, told: Told) {
        if let Some(begun) = self.open.take() {
            let nanos = counted_nanos(counted, begun.at, at);
            self.count(begun.read_only, nanos);
            self.put(over, nanos, told, || begun);
        }
    }

    /// The event of one that is over goes where it is collected.
    #[inline(always)]
    fn put(&mut self, over: &Over, nanos: u64, told: Told, begun: impl FnOnce() -> Begun) {
        // Without it the histories, which are below it, take nothing in either.
        if !told.collected.has(Consumer::TransactionsCurrent) {
            return;
        }
        let is_kept = told.collected.has(Consumer::TransactionsHistory);
        let event = self.recent.slot(is_kept, TransactionEvent::none);
        *event = TransactionEvent {
            begun: begun(),
            txn: over.txn,
            committed: over.committed,
            nanos,
        };
        if told.collected.has(Consumer::TransactionsHistoryLong) {
            told.long.transactions.push(told.session, *event);
        }
    }
}

/// How long it took, if that is counted.
#[inline]
fn counted_nanos(counted: Counted, began: Tick, ended: Tick) -> u64 {
    match counted.is_timed() {
        true => ended.nanos_since(began),
        false => 0,
    }
}
