//! Rows to be found by key: a hash table, or past its share a sorted run.

use super::{KeptRows, Room, Shares, SortedRun, Sorter, row_bytes};
use crate::error::Result;
use crate::types::Value;
use std::collections::HashMap;

/// About what an entry of a hash table takes beside its key.
const ENTRY_BYTES: usize = 64;

/// Rows in memory, by key.
#[derive(Default)]
pub struct HashedRows {
    rows: Vec<Vec<Value>>,
    by_key: HashMap<Box<[u8]>, Vec<u32>>,
    bytes: usize,
}

impl HashedRows {
    fn push(&mut self, key: &[u8], row: Vec<Value>) {
        self.bytes += row_bytes(&row) + size_of::<u32>();
        let at = self.rows.len() as u32;
        match self.by_key.get_mut(key) {
            Some(found) => found.push(at),
            None => {
                self.by_key.insert(key.into(), vec![at]);
                self.bytes += ENTRY_BYTES + key.len();
            }
        }
        self.rows.push(row);
    }
}

enum Building<'a> {
    Hash(HashedRows),
    Sort(Sorter<'a>),
    Keyless(KeptRows<'a>),
}

/// Takes the rows in that are to be found by key later.
pub struct KeyedRowsBuilder<'a> {
    room: Room<'a>,
    shares: Shares,
    width: usize,
    building: Building<'a>,
}

impl<'a> KeyedRowsBuilder<'a> {
    /// For rows of so many values.
    pub fn new(room: Room<'a>, shares: Shares, width: usize) -> KeyedRowsBuilder<'a> {
        KeyedRowsBuilder {
            room,
            shares,
            width,
            building: Building::Hash(HashedRows::default()),
        }
    }

    /// For rows that will all be found by the empty key.
    pub fn keyless(room: Room<'a>, shares: Shares, width: usize) -> KeyedRowsBuilder<'a> {
        KeyedRowsBuilder {
            building: Building::Keyless(KeptRows::new(room, shares.join)),
            ..KeyedRowsBuilder::new(room, shares, width)
        }
    }

    /// Adds a row.
    pub fn push(&mut self, key: &[u8], row: Vec<Value>) -> Result<()> {
        match &mut self.building {
            Building::Hash(table) => {
                self.room.check_at(table.rows.len())?;
                table.push(key, row);
                if table.bytes > self.room.allows(self.shares.join) {
                    let table = std::mem::take(table);
                    self.building = Building::Sort(self.sorting(table)?);
                }
                Ok(())
            }
            Building::Sort(sorter) => {
                sorter.key().extend_from_slice(key);
                sorter.push(row.into_iter().map(Ok))
            }
            Building::Keyless(rows) => rows.push(row),
        }
    }

    /// The rows of a table that is too large, to be sorted: key by key, each in the order in which they came.
    fn sorting(&self, mut table: HashedRows) -> Result<Sorter<'a>> {
        let mut sorter = Sorter::new(self.room, self.shares.sort, self.width, false, u64::MAX);
        for (key, found) in table.by_key {
            for at in found {
                sorter.key().extend_from_slice(&key);
                let row = std::mem::take(&mut table.rows[at as usize]);
                sorter.push(row.into_iter().map(Ok))?;
            }
        }
        Ok(sorter)
    }

    /// All rows are there.
    pub fn finish(self) -> Result<KeyedRows<'a>> {
        Ok(match self.building {
            Building::Hash(table) => KeyedRows::Hash(self.room, table),
            Building::Sort(sorter) => KeyedRows::Sorted(sorter.into_run()?),
            Building::Keyless(rows) => KeyedRows::Keyless(rows),
        })
    }
}

/// Rows found by key.
pub enum KeyedRows<'a> {
    /// In memory.
    Hash(Room<'a>, HashedRows),
    /// Past the share.
    Sorted(SortedRun),
    /// All by the empty key.
    Keyless(KeptRows<'a>),
}

impl KeyedRows<'_> {
    /// Hands the rows with that key to `f`, in the order in which they came, until it wants no more.
    pub fn lookup(&self, key: &[u8], f: &mut dyn FnMut(&[Value]) -> Result<bool>) -> Result<()> {
        match self {
            KeyedRows::Hash(room, table) => {
                for (n, at) in table.by_key.get(key).into_iter().flatten().enumerate() {
                    // Most keys have one row.
                    room.check_at(n + 1)?;
                    if !f(&table.rows[*at as usize])? {
                        break;
                    }
                }
                Ok(())
            }
            KeyedRows::Sorted(run) => run.lookup(key, f),
            KeyedRows::Keyless(rows) => rows.for_each(f),
        }
    }

    /// Whether a row has that key.
    pub fn contains(&self, key: &[u8]) -> Result<bool> {
        match self {
            KeyedRows::Hash(_, table) => Ok(table.by_key.contains_key(key)),
            KeyedRows::Sorted(run) => run.contains(key),
            KeyedRows::Keyless(rows) => Ok(!rows.is_empty()),
        }
    }
}
