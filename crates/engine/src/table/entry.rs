//! What stands in front of the columns of an entry, and the undo notes that changes of entries leave in the log.
//!
//! ```text
//!  clustered value  :=  flags u8 | writer u64 | older u64 | row
//!  secondary value  :=  flags u8 | writer u64 | columns that the key cannot give back
//!
//!  flags: 1 deleted   2 some of the row's columns stand outside   4 born
//!  writer, if deleted and born:  the deleter, 44 bits | how many ids before him the one who bore it has, 20 bits
//! ```
//!
//! A secondary entry is *born* if `writer` put it where the index had no entry of its key, so that who does not see the
//! writer, and has written nothing itself, need not ask the row: for such a view it is not there. (What had the same key
//! before and is wanted by an old view has been buried, and speaks for itself.) If nobody has changed it when it is marked
//! deleted, it goes on to say who bore it: then such a view knows all about it without asking the row, and so does purge.
//! Where the two ids do not fit, it forgets.
//!
//! `older` leads to the version that `writer` replaced, in scratch pages. Those do not outlive the engine's run: `older`
//! of a writer of a former run is meaningless, and never followed, because every view sees such a writer.

use super::schema::Reader;
use crate::ids::{PageId, TableId, TxnId};
use crate::mvcc::Address;

pub(crate) const DELETED: u8 = 1;
pub(crate) const OUTSIDE: u8 = 2;
pub(crate) const BORN: u8 = 4;

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
            born: None,
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

/// The head of a secondary value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryHead {
    flags: u8,
    pub writer: TxnId,
    /// Who put the entry where none of its key was, if it has been as it is from then until it was deleted, if it was.
    pub born: Option<TxnId>,
}

/// Bits of the deleter's id in an entry that is deleted and born.
const DELETER_BITS: u32 = 44;

impl EntryHead {
    /// Of an entry that stands, about whose birth nothing is said.
    pub fn standing(writer: TxnId) -> EntryHead {
        EntryHead {
            flags: 0,
            writer,
            born: None,
        }
    }

    /// Of one that is marked deleted, and says nothing of its birth.
    pub fn deleted(writer: TxnId) -> EntryHead {
        EntryHead {
            flags: DELETED,
            writer,
            born: None,
        }
    }

    /// What becomes of it when `writer` marks the entry deleted.
    pub fn deleted_by(&self, writer: TxnId) -> EntryHead {
        let fits = |born: &TxnId| {
            writer.0 >> DELETER_BITS == 0
                && born.0 <= writer.0
                && (writer.0 - born.0) >> (u64::BITS - DELETER_BITS) == 0
        };
        match self.born.filter(|born| !self.is_deleted() && fits(born)) {
            Some(born) => EntryHead {
                flags: DELETED | BORN,
                writer,
                born: Some(born),
            },
            None => EntryHead::deleted(writer),
        }
    }

    #[inline]
    pub fn of(value: &[u8]) -> EntryHead {
        let flags = value.first().copied().unwrap_or(DELETED);
        let word = word(value, 1);
        let (writer, born) = match (flags & BORN != 0, flags & DELETED != 0) {
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
            born: born.map(TxnId),
        }
    }

    pub fn is_deleted(&self) -> bool {
        self.flags & DELETED != 0
    }

    pub fn bytes(&self) -> [u8; STORED_AT] {
        let word = match self.born {
            Some(born) if self.is_deleted() => self.writer.0 | (self.writer.0 - born.0) << DELETER_BITS,
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

/// How to undo one change. The secondary entries are not in it: they follow from the rows before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undo<'a> {
    /// Remove the clustered entry of this key.
    Insert { table: TableId, key: &'a [u8] },
    /// Give the clustered entry its old value: the first `front` and the last `back` bytes are those of the new one.
    Replace {
        table: TableId,
        key: &'a [u8],
        front: usize,
        back: usize,
        middle: &'a [u8],
    },
    /// Free the page, written for a column that stands outside.
    OutsidePage { page: PageId },
    /// Give a key of the catalog its old value, or remove it.
    Catalog { key: &'a [u8], before: Option<&'a [u8]> },
}

impl<'a> Undo<'a> {
    pub fn encode(&self, out: &mut Vec<u8>) {
        fn sized(bytes: &[u8], out: &mut Vec<u8>) {
            out.extend((bytes.len() as u16).to_le_bytes());
            out.extend(bytes);
        }
        match *self {
            Undo::Insert { table, key } => {
                out.push(1);
                out.extend(table.0.to_le_bytes());
                sized(key, out);
            }
            Undo::Replace {
                table,
                key,
                front,
                back,
                middle,
            } => {
                out.push(2);
                out.extend(table.0.to_le_bytes());
                sized(key, out);
                out.extend((front as u16).to_le_bytes());
                out.extend((back as u16).to_le_bytes());
                sized(middle, out);
            }
            Undo::OutsidePage { page } => {
                out.push(3);
                out.extend(page.0.to_le_bytes());
            }
            Undo::Catalog { key, before } => {
                out.push(if before.is_some() { 5 } else { 4 });
                sized(key, out);
                if let Some(before) = before {
                    sized(before, out);
                }
            }
        }
    }

    pub fn decode(bytes: &'a [u8]) -> Option<Undo<'a>> {
        let mut r = Reader(bytes);
        fn sized<'a>(r: &mut Reader<'a>) -> Option<&'a [u8]> {
            let len = r.u16()? as usize;
            r.take(len)
        }
        Some(match r.u8()? {
            1 => Undo::Insert {
                table: TableId(r.u64()?),
                key: sized(&mut r)?,
            },
            2 => Undo::Replace {
                table: TableId(r.u64()?),
                key: sized(&mut r)?,
                front: r.u16()? as usize,
                back: r.u16()? as usize,
                middle: sized(&mut r)?,
            },
            3 => Undo::OutsidePage {
                page: PageId(r.u32()?),
            },
            4 => Undo::Catalog {
                key: sized(&mut r)?,
                before: None,
            },
            5 => Undo::Catalog {
                key: sized(&mut r)?,
                before: Some(sized(&mut r)?),
            },
            _ => return None,
        })
    }
}

/// The difference of two values: how many bytes they share in front and at the back.
pub(crate) fn difference(old: &[u8], new: &[u8]) -> (usize, usize) {
    let shorter = old.len().min(new.len());
    let front = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let back = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take(shorter - front)
        .take_while(|(a, b)| a == b)
        .count();
    (front, back)
}

/// The old value from the new one and what was kept of the difference.
pub(crate) fn restore(new: &[u8], front: usize, back: usize, middle: &[u8], out: &mut Vec<u8>) -> Option<()> {
    out.clear();
    out.extend_from_slice(new.get(..front)?);
    out.extend_from_slice(middle);
    out.extend_from_slice(new.get(new.len().checked_sub(back)?..)?);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::testing::Random;

    #[test]
    fn a_difference_restores_the_old_value() {
        let mut random = Random(3);
        for _ in 0..5000 {
            let mut bytes = |n| {
                (0..random.below(n))
                    .map(|_| random.below(2) as u8)
                    .collect::<Vec<u8>>()
            };
            let (old, new) = (bytes(12), bytes(12));
            let (front, back) = difference(&old, &new);
            let mut restored = Vec::new();
            restore(&new, front, back, &old[front..old.len() - back], &mut restored).unwrap();
            assert_eq!(restored, old);
        }
    }

    #[test]
    fn notes_survive_the_log() {
        for undo in [
            Undo::Insert {
                table: TableId(7),
                key: b"key",
            },
            Undo::Replace {
                table: TableId(7),
                key: b"",
                front: 17,
                back: 400,
                middle: b"before",
            },
            Undo::OutsidePage { page: PageId(9) },
            Undo::Catalog {
                key: b"k",
                before: None,
            },
            Undo::Catalog {
                key: b"k",
                before: Some(b""),
            },
        ] {
            let mut bytes = Vec::new();
            undo.encode(&mut bytes);
            assert_eq!(Undo::decode(&bytes), Some(undo));
            for cut in 0..bytes.len() {
                assert_ne!(Undo::decode(&bytes[..cut]), Some(undo));
            }
        }
    }

    #[test]
    fn a_deleted_entry_remembers_its_birth_if_that_fits() {
        let born = |writer: u64| {
            let mut value = EntryHead::standing(TxnId(writer)).bytes();
            value[0] |= BORN;
            EntryHead::of(&value)
        };
        let told = |bearer: u64, deleter: u64| {
            let head = born(bearer).deleted_by(TxnId(deleter));
            let read = EntryHead::of(&head.bytes());
            assert_eq!(read, head);
            assert!(read.is_deleted());
            assert_eq!(read.writer, TxnId(deleter));
            read.born
        };
        let far = 1 << (u64::BITS - DELETER_BITS);
        let most = (1 << DELETER_BITS) - 1;
        for (bearer, deleter) in [(1, 1), (7, 9), (5, 5 + far - 1), (most, most)] {
            assert_eq!(told(bearer, deleter), Some(TxnId(bearer)), "{bearer} {deleter}");
        }
        for (bearer, deleter) in [(5, 5 + far), (most, most + 1), (9, 7)] {
            assert_eq!(told(bearer, deleter), None, "{bearer} {deleter}");
        }
        let again = born(3).deleted_by(TxnId(4)).deleted_by(TxnId(5));
        assert_eq!((again.writer, again.born), (TxnId(5), None));
        assert_eq!(EntryHead::standing(TxnId(3)).deleted_by(TxnId(4)).born, None);
    }
}
