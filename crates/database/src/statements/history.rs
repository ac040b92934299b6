//! The last statements of a session, in slots that are used again.
//!
//! Nothing is copied: what the session has told of the statement at hand, its buffer with the text, and those of the event that is
//! forgotten change places.
//! Texts beyond [`TEXT_LENGTH_MAX`] are kept up to there.

use super::figures::{Figures, Rare};
use super::recent::Recent;
use crate::error::SqlError;
use crate::parse::conceal;
use std::borrow::Cow;
use tidemark_engine::Tick;

/// Bytes of a text that are kept: `performance_schema_max_sql_text_length`.
pub const TEXT_LENGTH_MAX: usize = 1024;

/// A statement that is over, but for its text.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its kind: a number of `context::command`.
    pub kind: usize,
    /// The number of its digest; 0 if it has none.
    pub digest: u64,
    /// When it began.
    pub began: Tick,
    /// What it did.
    pub figures: Figures,
    /// Whether it answered with rows.
    pub has_rows: bool,
    /// Why it failed.
    pub error: Option<Box<SqlError>>,
}

impl Ended {
    /// None yet.
    pub fn none() -> Ended {
        Ended {
            kind: 0,
            digest: 0,
            began: Tick::now(),
            figures: Figures::default(),
            has_rows: false,
            error: None,
        }
    }

    /// It has what few statements have: rare figures, or an error.
    #[inline]
    pub fn is_unusual(&self) -> bool {
        self.figures.rare.is_some() || self.error.is_some()
    }

    /// Says what it has of what few statements have. One that has failed has changed and sent nothing.
    #[inline(never)]
    pub fn set_unusual(&mut self, rare: Option<Box<[u64; Rare::COUNT]>>, error: Option<&SqlError>) {
        self.figures.rare = rare;
        self.error = error.map(|error| Box::new(error.clone()));
        if error.is_some() {
            (self.figures.errors, self.figures.affected, self.figures.sent) = (1, 0, 0);
        }
    }
}

/// One of the last statements of a session.
#[derive(Clone, Debug)]
pub struct Event {
    /// Counts the session's events from 1 on.
    pub id: u64,
    /// The number of the transaction that it ran in, if that was open before it.
    pub transaction: Option<u64>,
    /// What it was and did.
    pub ended: Box<Ended>,
    text: Vec<u8>,
}

impl Event {
    /// None yet.
    fn none() -> Event {
        Event {
            id: 0,
            transaction: None,
            ended: Box::new(Ended::none()),
            text: Vec::new(),
        }
    }

    /// Its text as it may be shown: without passwords.
    pub fn text(&self) -> Cow<'_, [u8]> {
        conceal(&self.text)
    }
}

/// The last statements, and the numbers of a session's events.
#[derive(Debug, Default)]
pub struct History {
    /// Those that are over.
    pub recent: Recent<Event>,
    last_id: u64,
    /// How many events belong to the statement at hand, which comes before them.
    within: u64,
}

/// Where a statement stands among the events of its session.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The number of the transaction that was open when it began.
    pub transaction: Option<u64>,
    /// The history keeps it.
    pub is_kept: bool,
}

impl History {
    /// Adds a statement, and takes its text, or the first of it; `ended` and `text` are those of some statement before then.
    #[inline(always)]
    pub fn add(&mut self, ended: &mut Box<Ended>, text: &mut Vec<u8>, place: Place) {
        let id = self.next_id();
        self.pass();
        let event = self.recent.slot(place.is_kept, Event::none);
        event.id = id;
        event.transaction = place.transaction;
        std::mem::swap(&mut event.ended, ended);
        keep(text, &mut event.text);
    }

    /// The number of the statement at hand, or of the next one.
    pub fn next_id(&self) -> u64 {
        self.last_id + 1
    }

    /// A number for an event that belongs to the statement at hand, or to the next one.
    pub fn id_within(&mut self) -> u64 {
        self.within += 1;
        self.next_id() + self.within
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
            let mut ended = Box::new(Ended {
                kind: n,
                digest: 0,
                began: Tick::now(),
                figures: Figures::default(),
                has_rows: false,
                error: None,
            });
            let place = Place {
                transaction: None,
                is_kept: true,
            };
            history.add(&mut ended, &mut text, place);
        }
        let kept: Vec<_> = history
            .recent
            .history()
            .map(|event| (event.id, event.ended.kind, event.text.len()))
            .collect();
        let expected: Vec<_> = (15..25).map(|n| (n as u64 + 1, n, TEXT_LENGTH_MAX)).collect();
        assert_eq!(kept, expected);
        assert_eq!(history.next_id(), 26);
        assert_eq!((history.id_within(), history.id_within()), (27, 28));
        history.pass();
        assert_eq!(history.next_id(), 29);
    }
}
