//! A hash join while its second side is read: rows that meet those of the first at once, and rows that have to wait.
//!
//! ```text
//!  first side    [`KeyedRows`]: partitions in memory │ partitions in spools
//!                        ▲                           ╎       ▲
//!  second side   rows meet them at once              ╎  rows put aside, in spools of the same partitions
//! ```
//!
//! When all rows of the second side have come, each partition that was put aside is joined by itself, in the same way, by another hash. A
//! partition that would not get smaller, for most of its rows have one key, is joined in blocks: as many rows of the first side as fit in
//! memory, and all of the second are read once for each block. In memory there is never more than the share, and the ends of spools.
//!
//! Of one side rows may be wanted that meet none (outer joins). Of the first side those are marked that were met.
//!
//! Where rows must come in the order of the second side, or it is read again and again for a few rows each, none waits: what is not in memory is
//! looked up in order of key.

use super::codec::{Reader, append_encoded, decode_at, encode_at};
use super::hashed_rows::{HashedRows, Key, Marks, NONE};
use super::keyed_rows::{Found, KeyedRows, PARTS};
use super::seeds::Seeds;
use super::{Room, Shares};
use crate::error::Result;
use crate::exec::rows::JoinedRow;
use crate::types::Value;
use std::rc::Rc;
use tidemark_engine::Spool;

/// Parts of parts of parts: more than there are keys.
const LEVELS_MAX: u32 = 8;

/// What a partition may take in memory, however small the share: blocks of a few rows would have the other side read once for each.
const PART_BYTES_MIN: usize = 64 << 10;

/// Of which side rows are wanted that meet none of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preserved {
    Neither,
    First,
    Second,
}

/// What the rows of a join are made of: slots of the joined row.
#[derive(Clone, Copy)]
pub struct Sides<'s> {
    pub first: &'s [usize],
    pub second: &'s [usize],
    pub preserved: Preserved,
}

/// What is in the joined row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// A row of each side.
    Both,
    /// One that is wanted by itself, with NULLs for the other.
    Alone,
}

/// What becomes of a joined row.
#[derive(Clone, Copy)]
pub struct Taken {
    /// It passes the rest of the join's conditions.
    pub passed: bool,
    /// More rows are wanted.
    pub more: bool,
}

/// Takes joined rows.
pub type Take<'t> = &'t mut dyn FnMut(&mut Vec<Value>, Met) -> Result<Taken>;

/// See the module's head.
pub struct Probing<'s, 'a> {
    table: Rc<KeyedRows<'a>>,
    sides: Sides<'s>,
    /// No row waits.
    at_once: bool,
    /// Rows of the second side that wait.
    waiting: [Option<Spool>; PARTS],
    marks: Marks,
    rows: usize,
    key: Vec<u8>,
    encoded: Vec<u8>,
}

impl<'s, 'a> Probing<'s, 'a> {
    /// Rows of a second side are about to come.
    pub fn new(table: Rc<KeyedRows<'a>>, sides: Sides<'s>, at_once: bool) -> Probing<'s, 'a> {
        debug_assert!(!at_once || sides.preserved != Preserved::First);
        Probing {
            table,
            sides,
            at_once,
            waiting: Default::default(),
            marks: Marks::default(),
            rows: 0,
            key: Vec::new(),
            encoded: Vec::new(),
        }
    }

    /// Takes the row of the second side that is in its slots of `row`; without a key it meets none. Returns whether more are wanted.
    #[inline]
    pub fn probe(&mut self, key: Option<Key>, row: &mut Vec<Value>, take: Take) -> Result<bool> {
        let Some(key) = key else {
            return self.alone(row, take);
        };
        let first = match self.table.find(key) {
            Found::Memory(NONE) => return self.alone(row, take),
            Found::Memory(first) => Some(first),
            Found::Part(part) if self.table.parts[part].rows == 0 => return self.alone(row, take),
            Found::Part(_) if self.at_once => None,
            Found::Part(part) => {
                self.put_aside(key, part, row)?;
                return Ok(true);
            }
        };
        let (preserved, marks) = (self.sides.preserved, &mut self.marks);
        let mut met = false;
        let mut meet = |row: &mut Vec<Value>, at: u32| -> Result<bool> {
            let taken = take(row, Met::Both)?;
            met |= taken.passed;
            if taken.passed && preserved == Preserved::First {
                marks.set(at);
            }
            Ok(taken.more)
        };
        let slots = self.sides.first;
        let more = match first {
            Some(first) => self.table.chain(first, (&mut *row, slots), &mut meet)?,
            None => self.table.lookup(key, (&mut *row, slots), &mut meet)?,
        };
        match met || !more {
            true => Ok(more),
            false => self.alone(row, take),
        }
    }

    /// A row of the second side that meets none.
    #[inline]
    fn alone(&self, row: &mut Vec<Value>, take: Take) -> Result<bool> {
        match self.sides.preserved {
            Preserved::Second => alone(row, self.sides.first, take),
            _ => Ok(true),
        }
    }

    /// Puts a row of the second side aside until its partition is joined.
    fn put_aside(&mut self, key: Key, part: usize, row: &[Value]) -> Result<()> {
        let room = self.table.room;
        room.check_at(self.rows)?;
        self.rows += 1;
        key.write(&mut self.key);
        let spool = self.waiting[part].get_or_insert_with(|| room.spool());
        self.encoded.clear();
        let joined = JoinedRow {
            values: row,
            outer: None,
        };
        encode_at(&joined, self.sides.second, &mut self.encoded)?;
        append_encoded(spool, &self.key, &self.encoded)
    }

    /// All rows of the second side have come: joins what waits. Returns whether more rows are wanted.
    pub fn finish(mut self, row: &mut Vec<Value>, take: Take) -> Result<bool> {
        let table = Rc::clone(&self.table);
        if self.sides.preserved == Preserved::First
            && !unmet(table.room, &table.memory, &self.marks, self.sides, row, take)?
        {
            return Ok(false);
        }
        if self.at_once || !table.is_spilled() {
            return Ok(true);
        }
        let rows = table.len();
        for (part, waiting) in table.parts.iter().zip(&mut self.waiting) {
            let Some(first) = part.spool.as_ref() else {
                continue;
            };
            let joined = Part {
                table: &table,
                sides: self.sides,
                first,
                second: waiting.take(),
            };
            // Another hash would leave most of it together.
            let splits = part.rows < rows - rows / 8 && table.level + 1 < LEVELS_MAX;
            let more = match &joined.second {
                None => joined.without_second(row, take)?,
                Some(second) if splits => joined.by_partitions(second, row, take)?,
                Some(second) => joined.by_blocks(second, row, take)?,
            };
            if !more {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Calls for a row of one side with NULLs for the other, whose slots are given; returns whether more rows are wanted.
fn alone(row: &mut Vec<Value>, others: &[usize], take: Take) -> Result<bool> {
    for slot in others {
        row[*slot] = Value::Null;
    }
    Ok(take(row, Met::Alone)?.more)
}

/// The rows of the first side in memory that were not met; returns whether more rows are wanted.
fn unmet(
    room: Room,
    table: &HashedRows,
    marks: &Marks,
    sides: Sides,
    row: &mut Vec<Value>,
    take: Take,
) -> Result<bool> {
    for (n, at) in table.places().enumerate() {
        room.check_at(n)?;
        if !marks.has(at) {
            table.read(at, row, sides.first)?;
            if !alone(row, sides.second, take)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// A partition whose rows are in spools.
struct Part<'p, 'a> {
    table: &'p KeyedRows<'a>,
    sides: Sides<'p>,
    first: &'p Spool,
    second: Option<Spool>,
}

impl<'a> Part<'_, 'a> {
    fn room(&self) -> Room<'a> {
        self.table.room
    }

    /// The rows of the first side if there are none of the second.
    fn without_second(&self, row: &mut Vec<Value>, take: Take) -> Result<bool> {
        if self.sides.preserved != Preserved::First {
            return Ok(true);
        }
        let (mut reader, mut rows) = (Reader::new(0, self.first.len()), 0);
        while reader.advance(self.first)? {
            self.room().check_at(rows)?;
            rows += 1;
            decode_at(reader.row(), row, self.sides.first)?;
            if !alone(row, self.sides.second, take)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Joins it as a whole is joined: in memory, if it fits there.
    fn by_partitions(&self, second: &Spool, row: &mut Vec<Value>, take: Take) -> Result<bool> {
        let shares = Shares {
            join: self.table.shares.join.max(PART_BYTES_MIN),
            ..self.table.shares
        };
        let mut table =
            KeyedRows::at_level(self.room(), shares, self.sides.first.len(), self.table.level + 1);
        let mut reader = Reader::new(0, self.first.len());
        while reader.advance(self.first)? {
            table.push_encoded(Key::read(reader.key()), reader.row())?;
        }
        let mut probing = Probing::new(Rc::new(table), self.sides, false);
        let (mut reader, mut rows) = (Reader::new(0, second.len()), 0);
        while reader.advance(second)? {
            self.room().check_at(rows)?;
            rows += 1;
            decode_at(reader.row(), row, self.sides.second)?;
            if !probing.probe(Some(Key::read(reader.key())), row, take)? {
                return Ok(false);
            }
        }
        probing.finish(row, take)
    }

    /// Joins as many rows of the first side as fit in memory with all of the second, then the next ones.
    fn by_blocks(&self, second: &Spool, row: &mut Vec<Value>, take: Take) -> Result<bool> {
        // Of the second side: those that were met in some block.
        let mut met = Marks::default();
        let mut reader = Reader::new(0, self.first.len());
        let mut more = reader.advance(self.first)?;
        while more {
            let mut block = HashedRows::new(Seeds::new());
            let share = self.table.shares.join.max(PART_BYTES_MIN);
            while more && block.bytes() <= self.room().allows(share) {
                self.room().check_at(block.len())?;
                if !block.push_encoded(Key::read(reader.key()), reader.row())? {
                    break;
                }
                more = reader.advance(self.first)?;
            }
            if !self.block(&block, second, &mut met, row, take)? {
                return Ok(false);
            }
        }
        if self.sides.preserved != Preserved::Second {
            return Ok(true);
        }
        let (mut reader, mut rows) = (Reader::new(0, second.len()), 0);
        while reader.advance(second)? {
            self.room().check_at(rows)?;
            if !met.has_row(rows) {
                decode_at(reader.row(), row, self.sides.second)?;
                if !alone(row, self.sides.first, take)? {
                    return Ok(false);
                }
            }
            rows += 1;
        }
        Ok(true)
    }

    /// Joins a block of the first side with all of the second.
    fn block(
        &self,
        block: &HashedRows,
        second: &Spool,
        met: &mut Marks,
        row: &mut Vec<Value>,
        take: Take,
    ) -> Result<bool> {
        let mut marks = Marks::default();
        let (mut reader, mut rows) = (Reader::new(0, second.len()), 0);
        while reader.advance(second)? {
            self.room().check_at(rows)?;
            let key = Key::read(reader.key());
            let mut at = block.first(key, key.hash(block.seeds));
            if at != NONE {
                decode_at(reader.row(), row, self.sides.second)?;
            }
            let mut pairs = 0;
            while at != NONE {
                pairs += 1;
                self.room().check_at(pairs)?;
                let now = at;
                at = block.read(now, row, self.sides.first)?;
                let taken = take(row, Met::Both)?;
                if taken.passed {
                    marks.set(now);
                    met.set_row(rows);
                }
                if !taken.more {
                    return Ok(false);
                }
            }
            rows += 1;
        }
        match self.sides.preserved {
            Preserved::First => unmet(self.room(), block, &marks, self.sides, row, take),
            _ => Ok(true),
        }
    }
}
