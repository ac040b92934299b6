//! The last statements of a session, in slots that are used again.
//!
//! What a session has told of a statement is written twice: where the session's thread has it at hand, the same memory for each statement, and
//! once into the slot. A slot is two cache lines, and what most statements have not lies behind them: rare figures, an error, a text.
//! The text of a statement whose text is kept elsewhere, as that of a prepared one is, is not copied: the slot has its
//! number, and the text is looked up [before anybody reads](History::settle), or when the prepared statement goes. The text of
//! others comes in the buffer that it was received in, which changes places with that of the event that is forgotten.
//! Texts beyond [`TEXT_LENGTH_MAX`] are kept up to there.
//!
//! A statement that was a transaction by itself has that transaction's beginning, its end and all but all that there is to tell of it. So
//! the transaction's event is not written: the slot says that there was one ([`OwnTransaction`]), and the event is made [when somebody
//! reads](History::take_transactions), or when a statement comes that was not one. Until then each statement that comes was
//! a transaction, so a slot that is used again has one that is beyond the size of the transactions' history, too.

use super::figures::Figures;
use super::recent::Recent;
use super::transactions::{Begun, TransactionEvent};
use crate::error::SqlError;
use crate::parse::conceal;
use std::borrow::Cow;
use std::num::NonZeroU64;
use std::sync::Arc;
use tidemark_engine::{Isolation, Tick};

/// Bytes of a text that are kept: `performance_schema_max_sql_text_length`.
pub const TEXT_LENGTH_MAX: usize = 1024;

/// What a transaction was that was one statement, beside what the statement was.
#[derive(Clone, Copy, Debug)]
pub struct OwnTransaction {
    /// Its level.
    pub isolation: Isolation,
    /// It might not write.
    pub read_only: bool,
    /// It was committed, not rolled back.
    pub committed: bool,
}

/// A statement that is over, but for its text.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Ended {
    /// Its kind: a number of `context::command`.
    pub kind: usize,
    /// The number of its digest; 0 if it has none.
    pub digest: u64,
    /// When it began.
    pub began: Tick,
    /// Whether it answered with rows.
    pub has_rows: bool,
    /// The transaction that it was, while there is no event of that.
    pub own_transaction: Option<OwnTransaction>,
    /// Why it failed.
    pub error: Option<Box<SqlError>>,
    /// What it did.
    pub figures: Figures,
}

impl Ended {
    /// None yet.
    pub fn none() -> Ended {
        Ended {
            kind: 0,
            digest: 0,
            began: Tick::default(),
            has_rows: false,
            own_transaction: None,
            error: None,
            figures: Figures::default(),
        }
    }

    /// It has what few statements have: rare figures, or an error.
    #[inline]
    pub fn is_unusual(&self) -> bool {
        !self.figures.rare.is_empty() || self.error.is_some()
    }

    /// Notes why it failed, if it did, and that it has no rare figures yet. One that has failed has changed and sent nothing.
    #[inline(never)]
    pub fn begin_unusual(&mut self, error: Option<&SqlError>) {
        self.figures.rare.clear();
        self.error = error.map(|error| Box::new(error.clone()));
        if error.is_some() {
            (self.figures.errors, self.figures.affected, self.figures.sent) = (1, 0, 0);
        }
    }

    /// Becomes the same as another, but for the error.
    #[inline(always)]
    fn copy(&mut self, other: &Ended) {
        self.kind = other.kind;
        self.digest = other.digest;
        self.began = other.began;
        self.has_rows = other.has_rows;
        self.own_transaction = other.own_transaction;
        self.figures.copy(&other.figures);
    }
}

/// One of the last statements of a session.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Event {
    /// Counts the session's events from 1 on.
    pub id: u64,
    /// The number of the transaction that it ran in, if that was open before it; while it has a [transaction of its
    /// own](Ended::own_transaction), the engine's number for that.
    transaction: Option<NonZeroU64>,
    /// The number of the prepared statement that has its text, until it is [settled](History::settle).
    prepared: Option<NonZeroU64>,
    /// What it was and did.
    pub ended: Ended,
    text: Vec<u8>,
}

/// What most statements write of a slot ends with the words that say that they have no rare figures.
const _: () = assert!(std::mem::offset_of!(Event, ended) + std::mem::offset_of!(Ended, figures) + 64 == 128);

impl Event {
    /// None yet.
    fn none() -> Event {
        Event {
            id: 0,
            transaction: None,
            prepared: None,
            ended: Ended::none(),
            text: Vec::new(),
        }
    }

    /// The number of the transaction that it ran in, if that was open before it.
    pub fn transaction(&self) -> Option<NonZeroU64> {
        self.transaction.filter(|_| self.ended.own_transaction.is_none())
    }

    /// The event of the transaction that it was, if there is none yet.
    fn take_transaction(&mut self) -> Option<TransactionEvent> {
        let own = self.ended.own_transaction.take()?;
        let at = (self.ended.began, own.isolation, own.read_only);
        // It began within the statement, whose number comes before its own.
        let id = NonZeroU64::MIN.saturating_add(self.id);
        Some(TransactionEvent {
            begun: Begun::alone((id, self.id), at),
            txn: self.transaction.take(),
            committed: own.committed,
            nanos: self.ended.figures.nanos,
        })
    }

    /// Its text as it may be shown: without passwords.
    pub fn text(&self) -> Cow<'_, [u8]> {
        debug_assert!(self.prepared.is_none(), "the history was not settled");
        conceal(&self.text)
    }

    /// Has its text from now on, if that is this one's.
    fn keep_text(&mut self, prepared: NonZeroU64, text: &[u8]) {
        if self.prepared == Some(prepared) {
            self.prepared = None;
            self.text.clear();
            self.text
                .extend_from_slice(&text[..text.len().min(TEXT_LENGTH_MAX)]);
        }
    }
}

/// The last statements, and the numbers of a session's events.
#[derive(Debug, Default)]
pub struct History {
    /// Those that are over. Their texts are there once they are [settled](History::settle).
    pub recent: Recent<Event>,
    /// How many of their slots hold an error: as long as none does, a slot is written without a look at what it holds.
    failed: usize,
    last_id: u64,
    /// How many events belong to the statement at hand, which comes before them.
    within: u64,
    /// Some of the last statements have transactions of their own.
    has_transactions: bool,
}

/// Where a statement stands among the events of its session.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The number of the transaction that was open when it began; of a transaction of its own, the engine's number.
    pub transaction: Option<NonZeroU64>,
    /// The history keeps it.
    pub is_kept: bool,
}

/// Where the text of a statement is.
pub enum Said<'a> {
    /// Here. The history takes it, or the first of it, and leaves that of some statement before.
    Here(&'a mut Vec<u8>),
    /// With the prepared statement that has this number.
    Prepared(NonZeroU64),
}

impl History {
    /// Adds a statement.
    #[inline(always)]
    pub fn add(&mut self, ended: &mut Ended, said: Said, place: Place) {
        let id = self.next_id();
        self.pass();
        let event = self.recent.slot(place.is_kept, Event::none);
        event.id = id;
        event.transaction = place.transaction;
        event.ended.copy(ended);
        if self.failed > 0 || ended.error.is_some() {
            self.failed -= usize::from(event.ended.error.is_some());
            self.failed += usize::from(ended.error.is_some());
            event.ended.error = ended.error.take();
        }
        event.prepared = match said {
            Said::Prepared(number) => Some(number),
            Said::Here(text) => {
                keep(text, &mut event.text);
                None
            }
        };
    }

    /// All have their texts from now on; `text_of` is asked for those of prepared statements.
    pub fn settle(&mut self, text_of: impl Fn(NonZeroU64) -> Option<Arc<[u8]>>) {
        for event in self.recent.slots() {
            if let Some(prepared) = event.prepared {
                let text = text_of(prepared);
                event.keep_text(prepared, text.as_deref().unwrap_or_default());
            }
        }
    }

    /// A prepared statement goes, whose text this is.
    pub fn keep_text(&mut self, prepared: NonZeroU64, text: &[u8]) {
        let slots = self.recent.slots();
        slots.iter_mut().for_each(|event| event.keep_text(prepared, text));
    }

    /// The statement at hand may be kept with the transaction that it was, which then has the next number: no other event belongs to it.
    #[inline]
    pub fn may_have_transaction(&self) -> bool {
        self.within == 0
    }

    /// Adds a statement with the transaction that it was. To be kept, as that transaction.
    #[inline(always)]
    pub fn add_with_transaction(&mut self, ended: &mut Ended, said: Said, txn: Option<NonZeroU64>) {
        self.has_transactions = true;
        self.within = 1;
        let place = Place {
            transaction: txn,
            is_kept: true,
        };
        self.add(ended, said, place);
    }

    /// Some of the last statements have transactions of which there are no events.
    #[inline]
    pub fn has_transactions(&self) -> bool {
        self.has_transactions
    }

    /// Makes the events of the transactions that the last statements were, the oldest first.
    #[cold]
    pub fn take_transactions(&mut self, mut put: impl FnMut(TransactionEvent)) {
        self.has_transactions = false;
        let events = self.recent.history_mut();
        events.filter_map(Event::take_transaction).for_each(&mut put);
    }

    /// The number of the statement at hand, or of the next one.
    pub fn next_id(&self) -> u64 {
        self.last_id + 1
    }

    /// A number for an event that belongs to the statement at hand, or to the next one.
    pub fn id_within(&mut self) -> NonZeroU64 {
        self.within += 1;
        NonZeroU64::MIN.saturating_add(self.last_id + self.within)
    }

    /// The statement at hand is over, and was none to be kept: only if events belong to it does its number pass.
    pub fn pass_within(&mut self) {
        if self.within > 0 {
            self.pass();
        }
    }

    /// The statement at hand is over.
    #[inline]
    fn pass(&mut self) {
        self.last_id += 1 + self.within;
        self.within = 0;
    }
}

#[inline]
fn keep(text: &mut Vec<u8>, kept: &mut Vec<u8>) {
    if text.len() <= TEXT_LENGTH_MAX && text.capacity() <= 2 * TEXT_LENGTH_MAX {
        std::mem::swap(text, kept);
    } else {
        kept.clear();
        kept.extend_from_slice(&text[..text.len().min(TEXT_LENGTH_MAX)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ten_are_kept() {
        let mut history = History::default();
        for n in 0..25usize {
            let mut text = vec![b'x'; n * 100];
            let mut ended = Ended {
                kind: n,
                ..Ended::none()
            };
            let place = Place {
                transaction: None,
                is_kept: true,
            };
            history.add(&mut ended, Said::Here(&mut text), place);
        }
        let kept: Vec<_> = history
            .recent
            .history()
            .map(|event| (event.id, event.ended.kind, event.text.len()))
            .collect();
        let expected: Vec<_> = (15..25).map(|n| (n as u64 + 1, n, TEXT_LENGTH_MAX)).collect();
        assert_eq!(kept, expected);
        assert_eq!(history.next_id(), 26);
        assert_eq!((history.id_within().get(), history.id_within().get()), (27, 28));
        history.pass();
        assert_eq!(history.next_id(), 29);
    }

    #[test]
    fn a_prepared_text_is_there_when_it_is_read_and_when_it_is_gone() {
        let mut history = History::default();
        let number = |n| NonZeroU64::new(n).unwrap();
        let place = Place {
            transaction: None,
            is_kept: true,
        };
        for n in [1, 2, 1] {
            history.add(&mut Ended::none(), Said::Prepared(number(n)), place);
        }
        history.keep_text(number(1), &[b'a'; 2 * TEXT_LENGTH_MAX]);
        history.add(&mut Ended::none(), Said::Here(&mut b"c".to_vec()), place);
        history.settle(|listed| (listed == number(2)).then(|| Arc::from(&b"b"[..])));
        let events = history.recent.history();
        let texts: Vec<_> = events.map(|event| event.text().into_owned()).collect();
        let long = vec![b'a'; TEXT_LENGTH_MAX];
        assert_eq!(texts, [long.clone(), b"b".to_vec(), long, b"c".to_vec()]);
    }
}
