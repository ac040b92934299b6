//! Lock modes, lock kinds, and which of them conflict.
//!
//! A key has two sides: the *record* itself and the *gap* between it and the key before. A next-key lock is on both. The
//! place behind the last key is the *supremum*, which has a gap and no record. An insert asks, at the key behind the place
//! will stand, for permission to enter the gap: the *insert intention*.
//!
//! Locks on a gap only block inserts, so all gap locks are compatible, shared or exclusive. An insert intention blocks
//! nothing.
//!
//! A transaction that locks rows has an *intention* lock on their table, which conflicts only with requests for the
//! whole table. (After Gray, Lorie, Putzolu and Traiger, *Granularity of Locks and Degrees of Consistency*, 1976.)

use crate::ids::Isolation;
use std::fmt;

/// The strength of a lock on a record or a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockMode {
    /// Of a table: the transaction locks rows of it in shared mode.
    IntentionShared,
    /// Of a table: the transaction locks rows of it exclusively, or changes them.
    IntentionExclusive,
    /// Others may read, and lock in shared mode.
    Shared,
    /// No other lock on the same record or table may be granted.
    Exclusive,
    /// Of a table: held by a statement whose auto-increment values must be consecutive.
    AutoIncrement,
}

use LockMode::{AutoIncrement, Exclusive, IntentionExclusive, IntentionShared, Shared};

impl LockMode {
    fn gets_along_with(self, other: LockMode) -> bool {
        #[cfg(feature = "sabotage")]
        if crate::sabotage::breaks("shared") && (self == Shared || other == Shared) {
            return true;
        }
        match (self, other) {
            (IntentionShared, other) | (other, IntentionShared) => other != Exclusive,
            (Shared, Shared) => true,
            (IntentionExclusive, IntentionExclusive | AutoIncrement) => true,
            (AutoIncrement, IntentionExclusive) => true,
            _ => false,
        }
    }

    fn covers(self, other: LockMode) -> bool {
        match self {
            Exclusive => true,
            Shared => matches!(other, Shared | IntentionShared),
            IntentionExclusive => matches!(other, IntentionExclusive | IntentionShared),
            IntentionShared | AutoIncrement => self == other,
        }
    }
}

impl fmt::Display for LockMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IntentionShared => "IS",
            IntentionExclusive => "IX",
            Shared => "S",
            Exclusive => "X",
            AutoIncrement => "AUTO_INC",
        })
    }
}

/// What a lock is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// A whole table.
    Table,
    /// A record without the gap in front of it.
    Record,
    /// The gap in front of a record.
    Gap,
    /// A record and the gap in front of it.
    NextKey,
    /// Permission to insert into a gap.
    InsertIntention,
}

use LockKind::{Gap, InsertIntention, NextKey, Record, Table};

/// A mode and a kind: what a request asks for, or a lock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LockType {
    pub mode: LockMode,
    pub kind: LockKind,
}

impl LockType {
    pub const INSERT: LockType = LockType {
        mode: Exclusive,
        kind: InsertIntention,
    };

    pub const WRITE: LockType = LockType::record(Exclusive);

    pub const fn table(mode: LockMode) -> LockType {
        LockType { mode, kind: Table }
    }

    pub const fn record(mode: LockMode) -> LockType {
        LockType { mode, kind: Record }
    }

    pub const fn gap(mode: LockMode) -> LockType {
        LockType { mode, kind: Gap }
    }

    pub const fn next_key(mode: LockMode) -> LockType {
        LockType { mode, kind: NextKey }
    }

    /// A record, with or without the gap in front of it.
    pub const fn scanned(mode: LockMode, gaps: bool) -> LockType {
        if gaps {
            LockType::next_key(mode)
        } else {
            LockType::record(mode)
        }
    }

    pub fn has_gap(self) -> bool {
        matches!(self.kind, Gap | NextKey)
    }

    /// True for the locks that a transaction must look for even where its own needs no lock object: an insert looks for
    /// locks on gaps, and a lock on rows for one on their table.
    pub fn is_watched(self) -> bool {
        match self.kind {
            Table => matches!(self.mode, Shared | Exclusive),
            _ => self.has_gap(),
        }
    }

    pub fn has_record(self) -> bool {
        matches!(self.kind, Record | NextKey)
    }

    /// True if the holder of this lock need not request `other` on the same key or table.
    pub fn covers(self, other: LockType) -> bool {
        self.mode.covers(other.mode)
            && match self.kind {
                InsertIntention => false,
                NextKey => matches!(other.kind, NextKey | Record | Gap),
                kind => kind == other.kind,
            }
    }

    /// True if a request for this lock must wait for another owner's `other` on the same key or table, held or
    /// requested before.
    pub fn waits_for(self, other: LockType) -> bool {
        !self.mode.gets_along_with(other.mode)
            && match self.kind {
                Table => other.kind == Table,
                Gap => false,
                InsertIntention => other.has_gap(),
                Record | NextKey => other.has_record(),
            }
    }
}

/// What a request does if another transaction holds a conflicting lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWait {
    /// Waits, up to the transaction's lock wait timeout.
    Wait,
    /// Fails with [`Error::LockNoWait`](crate::Error::LockNoWait).
    NoWait,
    /// Skips the row.
    Skip,
}

/// How an insert locks the existing row of a duplicate key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateLock {
    /// A plain INSERT, and INSERT IGNORE.
    Shared,
    /// A statement that goes on to change the existing row: REPLACE, ON DUPLICATE KEY UPDATE.
    Exclusive,
}

impl DuplicateLock {
    pub(crate) fn mode(self) -> LockMode {
        match self {
            DuplicateLock::Shared => LockMode::Shared,
            DuplicateLock::Exclusive => LockMode::Exclusive,
        }
    }
}

/// True if locking reads of this level lock gaps, too.
pub(crate) fn locks_gaps(isolation: Isolation) -> bool {
    #[cfg(feature = "sabotage")]
    if crate::sabotage::breaks("gap") {
        return false;
    }
    isolation >= Isolation::RepeatableRead
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = LockType> + Clone {
        [Shared, Exclusive]
            .into_iter()
            .flat_map(|mode| [Record, Gap, NextKey, InsertIntention].map(|kind| LockType { mode, kind }))
    }

    fn pairs() -> impl Iterator<Item = (LockType, LockType)> {
        all().flat_map(|a| all().map(move |b| (a, b)))
    }

    #[test]
    fn gap_locks_wait_for_nobody_and_only_inserts_wait_for_them() {
        for held in all() {
            assert!(!LockType::gap(Exclusive).waits_for(held), "{held:?}");
            assert_eq!(LockType::INSERT.waits_for(held), held.has_gap(), "{held:?}");
            assert!(!held.waits_for(LockType::INSERT), "{held:?}");
        }
    }

    #[test]
    fn records_are_shared_or_exclusive() {
        for (a, b) in pairs().filter(|(a, b)| a.has_record() && b.has_record()) {
            let both_shared = a.mode == Shared && b.mode == Shared;
            assert_eq!(a.waits_for(b), !both_shared, "{a:?} {b:?}");
        }
    }

    #[test]
    fn what_covers_is_in_the_way_of_all_that_the_covered_is() {
        for (a, b) in pairs().filter(|(a, b)| a.covers(*b)) {
            assert!(all().all(|c| !c.waits_for(b) || c.waits_for(a)), "{a:?} {b:?}");
        }
    }

    /// The table in MySQL's manual, under *InnoDB Locking*, and the row of AUTO-INC.
    #[test]
    fn who_shares_a_table() {
        let modes = [
            IntentionShared,
            IntentionExclusive,
            Shared,
            Exclusive,
            AutoIncrement,
        ];
        let shares = ["11101", "11001", "10100", "00000", "11000"];
        for (a, row) in modes.iter().zip(shares) {
            for (b, shared) in modes.iter().zip(row.chars()) {
                assert_eq!(
                    !LockType::table(*a).waits_for(LockType::table(*b)),
                    shared == '1',
                    "{a} {b}"
                );
            }
        }
    }
}
