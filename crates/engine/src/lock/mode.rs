//! What is locked, how strongly, and who is in whose way.
//!
//! A key has two sides: the *record* itself and the *gap* between it and the key before. A next-key lock is on both. The
//! place behind the last key is the *supremum*, which has a gap and no record. An insert asks, at the key behind the place
//! where it will stand, for leave to enter the gap: the *insert intention*.
//!
//! Locks on a gap are only in the way of inserts, so all gap locks get along, shared or exclusive. An insert intention is
//! in nobody's way.
//!
//! Whoever locks rows has an *intention* lock on their table, which is in the way of nobody but of those who want the
//! whole table. (After Gray, Lorie, Putzolu and Traiger, *Granularity of Locks and Degrees of Consistency*, 1976.)

use crate::ids::Isolation;
use std::fmt;

/// How strongly a record or a table is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockMode {
    /// Of a table: rows of it are to be locked shared.
    IntentionShared,
    /// Of a table: rows of it are to be locked exclusively, or changed.
    IntentionExclusive,
    /// Others may read, and lock shared.
    Shared,
    /// No other lock of the same record or table is granted.
    Exclusive,
    /// Held by a statement whose rows are to have auto-increment values in a row.
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

/// What is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// A whole table.
    Table,
    /// A record without the gap in front of it.
    Record,
    /// The gap in front of a record.
    Gap,
    /// Both.
    NextKey,
    /// Leave to insert into a gap.
    InsertIntention,
}

use LockKind::{Gap, InsertIntention, NextKey, Record, Table};

/// What is asked for, or held.
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

    /// Whether somebody must look for it who would otherwise not look at all: an insert for locks on gaps, whoever
    /// locks rows for a lock on their table.
    pub fn is_watched(self) -> bool {
        match self.kind {
            Table => matches!(self.mode, Shared | Exclusive),
            _ => self.has_gap(),
        }
    }

    pub fn has_record(self) -> bool {
        matches!(self.kind, Record | NextKey)
    }

    /// Whether who holds this needs not ask for `other` on the same key or table.
    pub fn covers(self, other: LockType) -> bool {
        self.mode.covers(other.mode)
            && match self.kind {
                InsertIntention => false,
                NextKey => matches!(other.kind, NextKey | Record | Gap),
                kind => kind == other.kind,
            }
    }

    /// Whether who asks for this must wait for another owner who has, or asked before for, `other` on the same key or
    /// table.
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

/// What a request does if another transaction has the row or table locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWait {
    /// Waits, up to the transaction's lock wait timeout.
    Wait,
    /// Fails with [`Error::LockNoWait`](crate::Error::LockNoWait).
    NoWait,
    /// Continues without the row.
    Skip,
}

/// How a duplicate key that an insert meets is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateLock {
    /// For a plain INSERT, and INSERT IGNORE.
    Shared,
    /// For a statement that goes on to change the row it met: REPLACE, ON DUPLICATE KEY UPDATE.
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

/// Whether locks of this level cover gaps, too.
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
