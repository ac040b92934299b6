//! What stands in front of the columns of an entry.
//!
//! ```text
//!  clustered value  :=  flags u8 | writer u64 | older u64 | row
//!  secondary value  :=  flags u8 | writer u64 | columns that the key cannot give back
//!
//!  flags: 1 deleted   2 some of the row's columns stand outside   4 fresh insert   8 the row begins with its version
//!  writer, if deleted and fresh:  the deleter, 44 bits | how much lower the inserter's id is, 20 bits
//! ```
//!
//! A secondary entry has the *fresh-insert flag* if `writer` put it where the index had no entry of its key. If no
//! transaction has changed it when it is marked deleted, it keeps the flag and names both ends of its life: the deleter, and
//! the inserter as a difference. Where the two ids do not fit, it drops the flag. What that tells a reader stands in the head
//! of `deleted`.
//!
//! `older` leads to the version that `writer` replaced, in scratch pages. Those do not outlive the engine's run: `older`
//! of a writer of a former run is meaningless, and never followed, because every view sees such a writer.

use crate::ids::TxnId;
use crate::mvcc::Address;

pub(crate) const DELETED: u8 = 1;
pub(crate) const OUTSIDE: u8 = 2;
pub(crate) const FRESH_INSERT: u8 = 4;
pub(crate) const VERSIONED: u8 = 8;

/// The flags that say how the row behind them is to be read.
pub(crate) const READING: u8 = OUTSIDE | VERSIONED;

/// Bytes before the row in a clustered value.
pub(crate) const ROW_AT: usize = 17;
/// Bytes before the stored columns in a secondary value.
pub(crate) const STORED_AT: usize = 9;

/// The head of a clustered value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub flags: u8,
    pub writer: TxnId,
    pub older: Address,
}

#[inline]
fn word(value: &[u8], at: usize) -> u64 {
    value
        .get(at..at + 8)
        .map_or(0, |b| u64::from_le_bytes(b.try_into().unwrap_or_default()))
}

impl Head {
    /// Where `older` stands.
    pub const OLDER_AT: usize = 9;

    #[inline]
    pub fn of(value: &[u8]) -> Head {
        Head {
            flags: value.first().copied().unwrap_or(DELETED),
            writer: TxnId(word(value, 1)),
            older: Address(word(value, 9)),
        }
    }

    pub fn is_deleted(&self) -> bool {
        self.flags & DELETED != 0
    }

    /// What it has in common with a secondary value's.
    pub fn entry(&self) -> EntryHead {
        EntryHead {
            flags: self.flags,
            writer: self.writer,
            inserter: None,
        }
    }

    pub fn bytes(&self) -> [u8; ROW_AT] {
        let mut out = [0; ROW_AT];
        out[0] = self.flags;
        out[1..9].copy_from_slice(&self.writer.0.to_le_bytes());
        out[9..17].copy_from_slice(&self.older.0.to_le_bytes());
        out
    }
}

/// The row in a clustered value.
#[inline]
pub(crate) fn row_of(value: &[u8]) -> &[u8] {
    value.get(ROW_AT..).unwrap_or(&[])
}

/// The version of the definition that a row was written under whose head has these flags.
#[inline]
pub(crate) fn row_version(flags: u8, row: &[u8]) -> usize {
    match flags & VERSIONED {
        0 => 0,
        _ => row.first().map_or(0, |version| *version as usize),
    }
}

/// The head of a secondary value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryHead {
    flags: u8,
    pub writer: TxnId,
    /// The transaction that inserted the entry, if the fresh-insert flag is set.
    pub inserter: Option<TxnId>,
}

/// Bits of the deleter's id in an entry that is deleted and has the fresh-insert flag.
const DELETER_BITS: u32 = 44;

impl EntryHead {
    /// Of an entry that is not deleted, without the fresh-insert flag.
    pub fn standing(writer: TxnId) -> EntryHead {
        EntryHead {
            flags: 0,
            writer,
            inserter: None,
        }
    }

    /// Of an entry that is marked deleted, without the fresh-insert flag.
    pub fn deleted(writer: TxnId) -> EntryHead {
        EntryHead {
            flags: DELETED,
            writer,
            inserter: None,
        }
    }

    /// What becomes of it when `writer` marks the entry deleted.
    pub fn deleted_by(&self, writer: TxnId) -> EntryHead {
        let fits = |inserter: &TxnId| {
            writer.0 >> DELETER_BITS == 0
                && inserter.0 <= writer.0
                && (writer.0 - inserter.0) >> (u64::BITS - DELETER_BITS) == 0
        };
        match self
            .inserter
            .filter(|inserter| !self.is_deleted() && fits(inserter))
        {
            Some(inserter) => EntryHead {
                flags: DELETED | FRESH_INSERT,
                writer,
                inserter: Some(inserter),
            },
            None => EntryHead::deleted(writer),
        }
    }

    #[inline]
    pub fn of(value: &[u8]) -> EntryHead {
        let flags = value.first().copied().unwrap_or(DELETED);
        let word = word(value, 1);
        let (writer, inserter) = match (flags & FRESH_INSERT != 0, flags & DELETED != 0) {
            (false, _) => (word, None),
            (true, false) => (word, Some(word)),
            (true, true) => {
                let deleter = word & ((1 << DELETER_BITS) - 1);
                (deleter, Some(deleter.saturating_sub(word >> DELETER_BITS)))
            }
        };
        EntryHead {
            flags,
            writer: TxnId(writer),
            inserter: inserter.map(TxnId),
        }
    }

    pub fn is_deleted(&self) -> bool {
        self.flags & DELETED != 0
    }

    pub fn bytes(&self) -> [u8; STORED_AT] {
        let word = match self.inserter {
            Some(inserter) if self.is_deleted() => {
                self.writer.0 | (self.writer.0 - inserter.0) << DELETER_BITS
            }
            _ => self.writer.0,
        };
        let mut out = [0; STORED_AT];
        out[0] = self.flags;
        out[1..9].copy_from_slice(&word.to_le_bytes());
        out
    }
}

/// The stored columns in a secondary value.
#[inline]
pub(crate) fn stored_of(value: &[u8]) -> &[u8] {
    value.get(STORED_AT..).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deleted_entry_remembers_its_inserter_if_that_fits() {
        let fresh = |writer: u64| {
            let mut value = EntryHead::standing(TxnId(writer)).bytes();
            value[0] |= FRESH_INSERT;
            EntryHead::of(&value)
        };
        let told = |inserter: u64, deleter: u64| {
            let head = fresh(inserter).deleted_by(TxnId(deleter));
            let read = EntryHead::of(&head.bytes());
            assert_eq!(read, head);
            assert!(read.is_deleted());
            assert_eq!(read.writer, TxnId(deleter));
            read.inserter
        };
        let far = 1 << (u64::BITS - DELETER_BITS);
        let most = (1 << DELETER_BITS) - 1;
        for (inserter, deleter) in [(1, 1), (7, 9), (5, 5 + far - 1), (most, most)] {
            assert_eq!(
                told(inserter, deleter),
                Some(TxnId(inserter)),
                "{inserter} {deleter}"
            );
        }
        for (inserter, deleter) in [(5, 5 + far), (most, most + 1), (9, 7)] {
            assert_eq!(told(inserter, deleter), None, "{inserter} {deleter}");
        }
        let again = fresh(3).deleted_by(TxnId(4)).deleted_by(TxnId(5));
        assert_eq!((again.writer, again.inserter), (TxnId(5), None));
        assert_eq!(EntryHead::standing(TxnId(3)).deleted_by(TxnId(4)).inserter, None);
    }
}
