//! Rows put aside by the hash of their key, to be grouped or made distinct part by part.
//!
//! Rows with equal keys are in one part, and a part holds about a sixteenth of the keys. One that is still too large is
//! parted again, by another hash.

use super::Room;
use super::codec::{Reader, append, decode};
use super::seeds::Seeds;
use crate::error::Result;
use crate::error::memory::reserve_memory;
use crate::types::Value;
use tidemark_engine::Spool;

/// How many parts there are.
const PARTS: usize = 16;

/// Parts of parts of parts: more than there are keys.
const LEVELS_MAX: u32 = 8;

/// Rows by the hash of their keys.
pub struct Partitions<'a> {
    room: Room<'a>,
    /// How often these rows have been parted before.
    level: u32,
    seeds: Seeds,
    parts: Vec<Option<Spool>>,
    buffer: Vec<u8>,
    rows: usize,
}

impl<'a> Partitions<'a> {
    /// For rows of such a level; `None` if parting them once more would not help.
    pub fn new(room: Room<'a>, level: u32) -> Option<Partitions<'a>> {
        (level < LEVELS_MAX).then(|| Partitions {
            room,
            level,
            seeds: Seeds::new(),
            parts: (0..PARTS).map(|_| None).collect(),
            buffer: Vec::new(),
            rows: 0,
        })
    }

    /// Puts a row aside.
    pub fn push(&mut self, key: &[u8], row: &[Value]) -> Result<()> {
        self.room.check_at(self.rows)?;
        self.rows += 1;
        let part = &mut self.parts[self.seeds.of_bytes(key) as usize % PARTS];
        let first = self.rows == 1 && self.level == 0;
        let spool = part.get_or_insert_with(|| match first {
            true => self.room.spool_of_table(),
            false => self.room.spool(),
        });
        append(spool, key, row, &mut self.buffer)
    }

    /// The parts that have rows.
    pub fn into_parts(self) -> impl Iterator<Item = Partition> {
        let level = self.level + 1;
        let spools = self.parts.into_iter().flatten();
        spools.map(move |spool| Partition {
            reader: Reader::new(0, spool.len()),
            spool,
            level,
        })
    }
}

/// Rows of which no other part has the keys.
pub struct Partition {
    spool: Spool,
    reader: Reader,
    /// For parting these rows once more.
    pub level: u32,
}

impl Partition {
    /// The next row, into `row`, and its key, into `key`; whether there is one.
    pub fn next(&mut self, key: &mut Vec<u8>, row: &mut Vec<Value>) -> Result<bool> {
        if !self.reader.advance(&self.spool)? {
            return Ok(false);
        }
        let _room = reserve_memory(self.reader.key().len())?;
        key.clear();
        key.extend_from_slice(self.reader.key());
        decode(self.reader.row(), row)?;
        Ok(true)
    }
}
