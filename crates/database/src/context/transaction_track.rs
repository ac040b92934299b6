//! What a client is told of its transactions (`session_track_transaction_info`), so that it knows whether it may go on with
//! one on another server, and how to begin it there.
//!
//! The *state* is a text of eight places, each a letter or `_`:
//!
//! | place | | |
//! |---|---|---|
//! | 1 | `T`, `I` | a transaction is open, begun by a statement that says so, or by one with autocommit off |
//! | 2, 3 | `r`, `R` | tables without transactions were read; tables with transactions were read |
//! | 4, 5 | `w`, `W` | the same of writes and of reads that lock for them; all tables that can be written have transactions, so there is no `w` |
//! | 6 | `s` | a statement would do something else on another server: LIMIT, RAND(), most system variables |
//! | 7 | `S` | rows were sent |
//! | 8 | `L` | LOCK TABLES |
//!
//! The *characteristics* are the statements that begin a transaction of the same kind. Both are told when they are not what the
//! client was told last; the characteristics of each transaction that begins, too. Nothing is noted of a statement outside of a
//! transaction, nor of a transaction that had begun before the client asked.

use super::client::capability;
use super::session_track::SessionChange;
use super::state::SessionState;
use super::table_use::TableUse;
use crate::dictionary::virtual_schema;
use crate::mdl::Mode;
use crate::variables::{TransactionInfo, isolation_name};
use std::cell::RefCell;
use tidemark_engine::Isolation;

const EXPLICIT: u16 = 1 << 0;
const IMPLICIT: u16 = 1 << 1;
const READ_OTHER: u16 = 1 << 2;
const READ: u16 = 1 << 3;
const WRITTEN: u16 = 1 << 4;
const UNSAFE: u16 = 1 << 5;
const SENT: u16 = 1 << 6;
const LOCKED: u16 = 1 << 7;

const OPEN: u16 = EXPLICIT | IMPLICIT;

/// The transaction at hand, and what the client knows of it.
#[derive(Default)]
pub struct TransactionTrack(RefCell<Option<Box<Track>>>);

#[derive(Default)]
struct Track {
    state: u16,
    told_state: u16,
    characteristics: Characteristics,
    /// Those of the transaction that has just ended, for one like it that follows in the same statement.
    ended: Characteristics,
    /// `None`: the client is to be told in any case.
    told_characteristics: Option<String>,
}

/// What was said of the transaction at hand, or of the next one, as far as it was said.
#[derive(Clone, Copy, Default)]
struct Characteristics {
    isolation: Option<Isolation>,
    read_only: Option<bool>,
    consistent_snapshot: bool,
}

impl Track {
    fn state_text(&self) -> String {
        let places = [
            (IMPLICIT, 'I'),
            (READ_OTHER, 'r'),
            (READ, 'R'),
            (0, '_'),
            (WRITTEN, 'W'),
            (UNSAFE, 's'),
            (SENT, 'S'),
            (LOCKED, 'L'),
        ];
        let letter = |(bit, letter)| match self.state & bit {
            0 => '_',
            _ => letter,
        };
        let mut text: String = places.into_iter().map(letter).collect();
        if self.state & EXPLICIT != 0 {
            text.replace_range(..1, "T");
        }
        text
    }

    fn characteristics_text(&self) -> String {
        let said = &self.characteristics;
        let mode = said.read_only.map(|read_only| match read_only {
            true => "READ ONLY",
            false => "READ WRITE",
        });
        let isolation = said.isolation.map(|level| {
            let level = isolation_name(level).replace('-', " ");
            format!("SET TRANSACTION ISOLATION LEVEL {level};")
        });
        let begin = match (self.state & EXPLICIT != 0, mode) {
            (true, mode) => {
                let snapshot = said.consistent_snapshot.then_some("WITH CONSISTENT SNAPSHOT");
                let options: Vec<&str> = snapshot.into_iter().chain(mode).collect();
                let space = if options.is_empty() { "" } else { " " };
                Some(format!("START TRANSACTION{space}{};", options.join(", ")))
            }
            (false, Some(mode)) => Some(format!("SET TRANSACTION {mode};")),
            (false, None) => None,
        };
        let statements: Vec<String> = isolation.into_iter().chain(begin).collect();
        statements.join(" ")
    }

    fn begin(&mut self, kind: u16) {
        self.state = self.state & LOCKED | kind;
        self.told_characteristics = None;
    }
}

/// What a statement does with a table.
fn done_with(used: &TableUse) -> u16 {
    match (virtual_schema(&used.table.schema), used.mode) {
        (Some("performance_schema"), _) => READ_OTHER,
        (_, Mode::Write) => WRITTEN,
        (_, Mode::Read) => READ,
    }
}

impl SessionState {
    #[inline]
    fn track(&self, note: impl FnOnce(&mut Track)) {
        if self.settings.transaction_info != TransactionInfo::Off && self.is_told_of_changes() {
            note(self.transaction_track.0.borrow_mut().get_or_insert_default());
        }
    }

    pub(super) fn is_told_of_changes(&self) -> bool {
        self.info.capabilities & capability::SESSION_TRACK != 0
    }

    /// `session_track_transaction_info` has been set.
    pub fn restart_transaction_track(&self) {
        match self.settings.transaction_info {
            TransactionInfo::Off => *self.transaction_track.0.borrow_mut() = None,
            _ => self.track(|track| track.told_characteristics = None),
        }
    }

    /// SET TRANSACTION, of the next transaction alone.
    pub fn track_next(&self, isolation: Option<Isolation>, read_only: Option<bool>) {
        self.track(|track| {
            let next = &mut track.characteristics;
            next.isolation = isolation.or(next.isolation);
            next.read_only = read_only.or(next.read_only);
        });
    }

    /// A statement has begun a transaction and says this of it. `like_last`: besides, it is like the one that has just ended.
    pub fn track_begin(&self, read_only: Option<bool>, consistent_snapshot: bool, like_last: bool) {
        self.track(|track| {
            if like_last {
                track.characteristics = track.ended;
            }
            track.ended = Characteristics::default();
            let said = &mut track.characteristics;
            said.read_only = read_only.or(said.read_only);
            said.consistent_snapshot = consistent_snapshot;
            track.begin(EXPLICIT);
            if consistent_snapshot {
                track.state |= READ;
            }
        });
    }

    /// A transaction has begun because autocommit is off.
    pub fn track_implicit_begin(&self) {
        self.track(|track| track.state |= IMPLICIT);
    }

    /// The transaction is over, or one that was a single statement.
    #[inline]
    pub fn track_end(&self) {
        self.track(|track| {
            let said = std::mem::take(&mut track.characteristics);
            if track.state & OPEN != 0 {
                track.ended = said;
            }
            track.state &= LOCKED;
        });
    }

    /// A statement is about to use these tables. `is_unsafe`: it would do something else on another server.
    #[inline]
    pub fn track_uses(&self, uses: &[TableUse], is_unsafe: bool) {
        self.track(|track| {
            if track.state & OPEN == 0 {
                return;
            }
            let changed = |used: &TableUse| {
                let same = |other: &&TableUse| std::sync::Arc::ptr_eq(&other.table, &used.table);
                uses.iter().filter(same).any(|other| other.mode == Mode::Write)
            };
            for used in uses.iter().filter(|used| !used.table.is_view()) {
                // What is changed is looked at anyway.
                if used.mode == Mode::Write || !changed(used) {
                    track.state |= done_with(used);
                }
            }
            if is_unsafe {
                track.state |= UNSAFE;
            }
        });
    }

    /// Rows have been sent.
    #[inline]
    pub fn track_rows(&self) {
        self.track(|track| {
            if track.state & OPEN != 0 {
                track.state |= SENT;
            }
        });
    }

    /// LOCK TABLES has locked tables, some of them for writing; with autocommit off the transaction that begins has
    /// locked them, too.
    pub fn track_lock_tables(&self, reads: bool, writes: bool) {
        self.track(|track| {
            track.state |= LOCKED;
            if track.state & IMPLICIT != 0 {
                track.state |= if reads { READ } else { 0 } | if writes { WRITTEN } else { 0 };
            }
        });
    }

    /// The tables are locked no more.
    pub fn track_unlock_tables(&self) {
        self.track(|track| track.state &= !LOCKED);
    }

    /// Adds what the client does not know yet.
    #[cold]
    pub(super) fn tell_transaction(&self, told: &mut Vec<SessionChange>) {
        let with_characteristics = self.settings.transaction_info == TransactionInfo::Characteristics;
        self.track(|track| {
            if track.state != track.told_state {
                track.told_state = track.state;
                told.push(SessionChange::TransactionState(track.state_text()));
            }
            if with_characteristics {
                let text = track.characteristics_text();
                if track.told_characteristics.as_ref() != Some(&text) {
                    track.told_characteristics = Some(text.clone());
                    told.push(SessionChange::Characteristics(text));
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let mut track = Track::default();
        assert_eq!(
            (track.state_text().as_str(), track.characteristics_text().as_str()),
            ("________", "")
        );
        track.characteristics.isolation = Some(Isolation::Serializable);
        track.characteristics.read_only = Some(true);
        assert_eq!(
            track.characteristics_text(),
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SET TRANSACTION READ ONLY;"
        );
        track.state = LOCKED;
        track.begin(EXPLICIT);
        track.state |= READ | SENT;
        track.characteristics.consistent_snapshot = true;
        assert_eq!(track.state_text(), "T_R___SL");
        assert_eq!(
            track.characteristics_text(),
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY;"
        );
        track.characteristics = Characteristics::default();
        assert_eq!(track.characteristics_text(), "START TRANSACTION;");
        track.state = IMPLICIT | READ_OTHER | WRITTEN | UNSAFE;
        assert_eq!(
            (track.state_text().as_str(), track.characteristics_text().as_str()),
            ("Ir__Ws__", "")
        );
    }
}
