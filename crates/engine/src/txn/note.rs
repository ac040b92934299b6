//! Undo notes: what a change leaves in the log so that it can be undone.
//!
//! ```text
//!  1 | table u64 | key                                   an insert: remove the entry
//!  2 | table u64 | key | front u16 | back u16 | middle   a change: the old value is the first `front` bytes of the new
//!                                                        one, `middle`, and its last `back` bytes
//!  3 | page u32                                          a page was written for an outside column: free it
//!  4 | key | nothing                                     a key of the system tree: remove it
//!  5 | key | before                                      a key of the system tree: give it its old value
//!  6 | table u64 | counter u64 | key                     an insert that carries the table's auto-increment counter
//!  byte strings have their length, u16, before them
//! ```
//!
//! Only the clustered entry is in a note. The entries of secondary indexes follow from the row before and after.

use crate::bytes::ByteReader;
use crate::ids::{PageId, TableId};

/// The first byte of an insert's note that carries a counter.
const INSERT_COUNTED: u8 = 6;

/// How to undo one change. The secondary entries are not in it: they follow from the rows before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undo<'a> {
    /// Remove the clustered entry of this key. `counter` is the table's auto-increment counter, which is not undone; 0: none.
    Insert {
        table: TableId,
        counter: u64,
        key: &'a [u8],
    },
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
            Undo::Insert { table, counter, key } => {
                out.push(if counter > 0 { INSERT_COUNTED } else { 1 });
                out.extend(table.0.to_le_bytes());
                if counter > 0 {
                    out.extend(counter.to_le_bytes());
                }
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
        let mut r = ByteReader(bytes);
        fn sized<'a>(r: &mut ByteReader<'a>) -> Option<&'a [u8]> {
            let len = r.u16()? as usize;
            r.take(len)
        }
        Some(match r.u8()? {
            1 => Undo::Insert {
                table: TableId(r.u64()?),
                counter: 0,
                key: sized(&mut r)?,
            },
            INSERT_COUNTED => Undo::Insert {
                table: TableId(r.u64()?),
                counter: r.u64()?,
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

/// The table and the counter that a note carries; `None`: it carries none.
pub(crate) fn carried_counter(note: &[u8]) -> Option<(TableId, u64)> {
    let mut r = ByteReader(note);
    match r.u8()? {
        INSERT_COUNTED => Some((TableId(r.u64()?), r.u64()?)),
        _ => None,
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
    use crate::testing::Random;

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
                counter: 0,
                key: b"key",
            },
            Undo::Insert {
                table: TableId(7),
                counter: 1 << 40,
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
}
