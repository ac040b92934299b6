//! Which events are collected: the switches of `performance_schema.setup_consumers` and `setup_instruments`; and of which sessions: those
//! of `threads`.
//!
//! An *instrument* is a kind of event: it is counted, with its time or without. A *consumer* is a place that events go to: the
//! current one, the history of the session, that of the server, the digests. As in MySQL a consumer takes nothing in while one above
//! it is off:
//!
//! ```text
//! global_instrumentation
//! ├─ statements_digest
//! └─ thread_instrumentation
//!    └─ events_…_current
//!       ├─ events_…_history
//!       └─ events_…_history_long
//! ```
//!
//! Code that counts reads one word for all consumers ([`Setup::collected`]), in which a consumer is off if one above it is off,
//! one byte for the instrument, and one of its session ([`Watched`]). The word says, too, whether all is as it is at the start for
//! statements and transactions ([`Collected::is_usual`]), and then the instrument's byte is not looked at: whoever changes either makes
//! the word anew. They change only by a statement, so their cache lines stay with every processor. Relaxed throughout: a statement that
//! runs while a switch is turned may go by either.

use super::rules::Rules;
use super::stages::Stage;
use parking_lot::{Mutex, RwLock};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use tidemark_engine::waits::{self, Wait};

/// Declares [`Consumer`], with MySQL's names, what is above each, and whether it is on at the start.
macro_rules! consumers {
    ($($(#[$doc:meta])* $consumer:ident = $name:literal below $above:ident, $on:literal;)+) => {
        /// A place that events go to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Consumer {
            $($(#[$doc])* $consumer,)+
        }

        impl Consumer {
            /// All of them, in MySQL's order.
            pub const ALL: &[Consumer] = &[$(Consumer::$consumer,)+];

            /// As `setup_consumers` names it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Consumer::$consumer => $name,)+
                }
            }

            /// The one without which it takes nothing in; that of all is its own.
            fn above(self) -> Consumer {
                match self {
                    $(Consumer::$consumer => Consumer::$above,)+
                }
            }

            fn is_on_at_start(self) -> bool {
                match self {
                    $(Consumer::$consumer => $on,)+
                }
            }
        }
    };
}

consumers! {
    /// The stage that a session is in.
    StagesCurrent = "events_stages_current" below Threads, false;
    /// The last stages of each session.
    StagesHistory = "events_stages_history" below StagesCurrent, false;
    /// The last stages of all.
    StagesHistoryLong = "events_stages_history_long" below StagesCurrent, false;
    /// The processor time of statements, which is not measured.
    StatementsCpu = "events_statements_cpu" below Threads, false;
    /// The statement that a session runs, or has run last.
    StatementsCurrent = "events_statements_current" below Threads, true;
    /// The last statements of each session.
    StatementsHistory = "events_statements_history" below StatementsCurrent, true;
    /// The last statements of all.
    StatementsHistoryLong = "events_statements_history_long" below StatementsCurrent, false;
    /// The transaction of a session, open or not.
    TransactionsCurrent = "events_transactions_current" below Threads, true;
    /// The last transactions of each session.
    TransactionsHistory = "events_transactions_history" below TransactionsCurrent, true;
    /// The last transactions of all.
    TransactionsHistoryLong = "events_transactions_history_long" below TransactionsCurrent, false;
    /// What a session waits for: on at the start, other than in MySQL, for it costs nothing until it is asked for.
    WaitsCurrent = "events_waits_current" below Threads, true;
    /// What each session has waited for last.
    WaitsHistory = "events_waits_history" below WaitsCurrent, false;
    /// What all have waited for last.
    WaitsHistoryLong = "events_waits_history_long" below WaitsCurrent, false;
    /// All: with this off, nothing is counted.
    Global = "global_instrumentation" below Global, true;
    /// What is told of single sessions.
    Threads = "thread_instrumentation" below Global, true;
    /// Sums by digest.
    Digests = "statements_digest" below Global, true;
}

/// The consumers that take something in, as of one look.
#[derive(Clone, Copy, Debug)]
pub struct Collected(u32);

/// Beside the consumers: statements and transactions are collected as at the start.
const USUAL: u32 = 1 << 31;
const _: () = assert!(Consumer::ALL.len() < 31);

impl Collected {
    /// Statements and transactions of every kind are counted and timed, summed by digest, and kept as the last ones of their session, but
    /// not as the last ones of all: one look for all of this.
    #[inline]
    pub fn is_usual(self) -> bool {
        self.0 & USUAL != 0
    }

    /// Whether this one does.
    #[inline]
    pub fn has(self, consumer: Consumer) -> bool {
        self.0 & 1 << consumer as u32 != 0
    }

    /// Of a session that is not watched fully.
    #[cold]
    fn in_part(self, watched: Watched) -> Collected {
        if !self.has(Consumer::Threads) {
            return self;
        }
        if !watched.is_instrumented() {
            return Collected(0);
        }
        match watched.has_history() {
            true => self,
            false => Collected(self.0 & !(bits(HISTORIES.iter()) | USUAL)),
        }
    }
}

fn bits<'a>(consumers: impl Iterator<Item = &'a Consumer>) -> u32 {
    consumers.fold(0, |sum, consumer| sum | 1 << *consumer as u32)
}

/// Which events of a session are collected: INSTRUMENTED and HISTORY of `threads`. While `thread_instrumentation` is off nobody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched(u8);

impl Watched {
    const INSTRUMENTED: u8 = 1;
    const HISTORY: u8 = 2;

    /// All.
    pub const FULLY: Watched = Watched(Watched::INSTRUMENTED | Watched::HISTORY);

    /// Of both.
    pub fn new(instrumented: bool, history: bool) -> Watched {
        Watched((u8::from(instrumented) * Watched::INSTRUMENTED) | (u8::from(history) * Watched::HISTORY))
    }

    /// As [`Watched::bits`] has it.
    #[inline]
    pub fn of_bits(bits: u8) -> Watched {
        Watched(bits)
    }

    /// To be kept in a byte.
    #[inline]
    pub fn bits(self) -> u8 {
        self.0
    }

    /// Its events are counted.
    pub fn is_instrumented(self) -> bool {
        self.0 & Watched::INSTRUMENTED != 0
    }

    /// They are kept in histories.
    pub fn has_history(self) -> bool {
        self.0 & Watched::HISTORY != 0
    }
}

/// What [`Collected::is_usual`] asks to be on.
const USUALLY_ON: [Consumer; 6] = [
    Consumer::Global,
    Consumer::Digests,
    Consumer::StatementsCurrent,
    Consumer::StatementsHistory,
    Consumer::TransactionsCurrent,
    Consumer::TransactionsHistory,
];

/// The consumers that are histories.
const HISTORIES: [Consumer; 8] = [
    Consumer::StagesHistory,
    Consumer::StagesHistoryLong,
    Consumer::StatementsHistory,
    Consumer::StatementsHistoryLong,
    Consumer::TransactionsHistory,
    Consumer::TransactionsHistoryLong,
    Consumer::WaitsHistory,
    Consumer::WaitsHistoryLong,
];

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instrument {
    /// Statements of a kind, a number of `context::command`.
    Statement(usize),
    /// Transactions.
    Transaction,
    /// A part of a statement's work.
    Stage(Stage),
    /// What is waited for; the engine has these switches, which are the whole process's.
    Wait(Wait),
}

impl Instrument {
    fn at(self) -> usize {
        match self {
            Instrument::Transaction => 0,
            Instrument::Stage(stage) => 1 + stage as usize,
            Instrument::Wait(wait) => 1 + Stage::ALL.len() + wait as usize,
            Instrument::Statement(kind) => 1 + Stage::ALL.len() + Wait::ALL.len() + kind,
        }
    }
}

/// Whether a kind of event is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted(u8);

impl Counted {
    const ENABLED: u8 = 1;
    const TIMED: u8 = 2;

    /// Counted, with its time.
    pub const FULLY: Counted = Counted(Counted::ENABLED | Counted::TIMED);

    /// Of both.
    pub fn new(enabled: bool, timed: bool) -> Counted {
        Counted((u8::from(enabled) * Counted::ENABLED) | (u8::from(timed) * Counted::TIMED))
    }

    /// It is counted.
    #[inline]
    pub fn is_enabled(self) -> bool {
        self.0 & Counted::ENABLED != 0
    }

    /// Its time is.
    #[inline]
    pub fn is_timed(self) -> bool {
        self.0 & Counted::TIMED != 0
    }
}

/// The switches.
#[derive(Debug)]
pub struct Setup {
    /// The consumers that are on, whatever those above them are.
    on: Mutex<u32>,
    collected: AtomicU32,
    instruments: Box<[AtomicU8]>,
    /// One of the stages that every statement goes through is counted.
    counts_statement_stages: AtomicBool,
    /// `setup_actors`: how sessions are watched from their login on.
    pub actors: RwLock<Rules>,
    /// `setup_objects`: which tables' rows and waits are counted.
    pub objects: RwLock<Rules>,
}

impl Setup {
    /// As MySQL has it at the start. There are so many kinds of statements.
    pub fn new(kinds: usize) -> Setup {
        let instruments = 0..Instrument::Statement(kinds).at();
        let on = Consumer::ALL.iter().filter(|one| one.is_on_at_start());
        let setup = Setup {
            on: Mutex::new(bits(on)),
            collected: AtomicU32::new(0),
            instruments: instruments.map(|_| AtomicU8::new(Counted::FULLY.0)).collect(),
            counts_statement_stages: AtomicBool::new(false),
            actors: RwLock::new(Rules::actors()),
            objects: RwLock::new(Rules::objects()),
        };
        setup.refresh(*setup.on.lock());
        for stage in Stage::ALL.iter().filter(|stage| stage.is_of_every_statement()) {
            setup.set_counted(Instrument::Stage(*stage), Counted::new(false, false));
        }
        setup
    }

    /// What is taken in at present of a session that is watched like this.
    #[inline]
    pub fn collected(&self, watched: Watched) -> Collected {
        let all = Collected(self.collected.load(Ordering::Relaxed));
        match watched {
            Watched::FULLY => all,
            watched => all.in_part(watched),
        }
    }

    /// Whether a consumer is on, whatever those above it are.
    pub fn is_on(&self, consumer: Consumer) -> bool {
        *self.on.lock() & 1 << consumer as u32 != 0
    }

    /// Switches a consumer.
    pub fn switch(&self, consumer: Consumer, on: bool) {
        let mut all = self.on.lock();
        *all = *all & !(1 << consumer as u32) | u32::from(on) << consumer as u32;
        self.refresh(*all);
    }

    fn refresh(&self, on: u32) {
        let is_on = |consumer: Consumer| on & 1 << consumer as u32 != 0;
        let takes_in = |consumer: Consumer| {
            // No consumer has more than three above it.
            let [one, two] = [consumer.above(), consumer.above().above()];
            [consumer, one, two, two.above()].into_iter().all(is_on)
        };
        let mut collected = bits(Consumer::ALL.iter().filter(|consumer| takes_in(**consumer)));
        let keeps = |consumer| Collected(collected).has(consumer);
        let are_usual = USUALLY_ON.into_iter().all(keeps)
            && ![Consumer::StatementsHistoryLong, Consumer::TransactionsHistoryLong]
                .into_iter()
                .any(keeps)
            && self.counts_all();
        if are_usual {
            collected |= USUAL;
        }
        self.collected.store(collected, Ordering::Relaxed);
        let keeps = |consumer| Collected(collected).has(consumer);
        waits::keep(keeps(Consumer::WaitsHistory), keeps(Consumer::WaitsHistoryLong));
        waits::tell_apart(keeps(Consumer::Threads));
    }

    /// Statements and transactions of every kind are counted and timed.
    fn counts_all(&self) -> bool {
        let statements = &self.instruments[Instrument::Statement(0).at()..];
        let transactions = &self.instruments[Instrument::Transaction.at()];
        let mut both = statements.iter().chain([transactions]);
        both.all(|counted| counted.load(Ordering::Relaxed) == Counted::FULLY.0)
    }

    /// Whether a kind of event is counted, as far as its instrument says.
    #[inline]
    pub fn counted(&self, instrument: Instrument) -> Counted {
        Counted(self.instruments[instrument.at()].load(Ordering::Relaxed))
    }

    /// Switches an instrument.
    pub fn set_counted(&self, instrument: Instrument, counted: Counted) {
        self.instruments[instrument.at()].store(counted.0, Ordering::Relaxed);
        if let Instrument::Wait(wait) = instrument {
            waits::set_counted(wait, counted.is_enabled(), counted.is_timed());
        }
        let mut stages = Stage::ALL.iter().filter(|stage| stage.is_of_every_statement());
        let counts = stages.any(|stage| self.counted(Instrument::Stage(*stage)).is_enabled());
        self.counts_statement_stages.store(counts, Ordering::Relaxed);
        self.refresh(*self.on.lock());
    }

    /// Whether any of the stages that every statement goes through is counted.
    #[inline]
    pub fn counts_statement_stages(&self) -> bool {
        self.counts_statement_stages.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consumers_and_stages_are_numbered_as_they_are_listed() {
        for (at, consumer) in Consumer::ALL.iter().enumerate() {
            assert_eq!(*consumer as usize, at);
        }
        for (at, stage) in Stage::ALL.iter().enumerate() {
            assert_eq!(*stage as usize, at);
        }
    }

    #[test]
    fn a_consumer_takes_nothing_in_while_one_above_it_is_off() {
        let setup = Setup::new(1);
        let has = |consumer| setup.collected(Watched::FULLY).has(consumer);
        assert!(has(Consumer::StatementsHistory) && !has(Consumer::StatementsHistoryLong));
        setup.switch(Consumer::StatementsHistoryLong, true);
        assert!(has(Consumer::StatementsHistoryLong));
        for above in [Consumer::StatementsCurrent, Consumer::Threads, Consumer::Global] {
            setup.switch(above, false);
            assert!(!has(Consumer::StatementsHistoryLong) && !has(above));
            assert!(setup.is_on(Consumer::StatementsHistoryLong));
            setup.switch(above, true);
            assert!(has(Consumer::StatementsHistoryLong));
        }
        assert!(has(Consumer::Digests));
    }

    #[test]
    fn of_a_session_that_is_not_watched_nothing_is_taken_in() {
        let setup = Setup::new(1);
        let has = |watched, consumer| setup.collected(watched).has(consumer);
        let (off, on) = (Watched::new(false, true), Watched::new(true, false));
        assert!(!has(off, Consumer::Global) && !has(off, Consumer::Digests));
        assert!(has(on, Consumer::StatementsCurrent) && !has(on, Consumer::StatementsHistory));
        assert_eq!(Watched::of_bits(Watched::new(true, true).bits()), Watched::FULLY);
        setup.switch(Consumer::Threads, false);
        assert!(has(off, Consumer::Global) && has(off, Consumer::Digests));
        let histories = |consumer: &Consumer| consumer.name().contains("history");
        let named: Vec<Consumer> = Consumer::ALL.iter().copied().filter(histories).collect();
        assert_eq!(named, HISTORIES);
    }

    #[test]
    fn instruments_are_switched_one_by_one() {
        let setup = Setup::new(4);
        let stage = Instrument::Stage(Stage::Executing);
        assert!(!setup.counted(stage).is_enabled() && !setup.counts_statement_stages());
        setup.set_counted(stage, Counted::FULLY);
        assert!(setup.counted(stage).is_enabled() && setup.counts_statement_stages());
        setup.set_counted(Instrument::Transaction, Counted::new(true, false));
        let counted = setup.counted(Instrument::Transaction);
        assert!(counted.is_enabled() && !counted.is_timed());
        assert_eq!(setup.counted(Instrument::Statement(3)), Counted::FULLY);
    }
}
