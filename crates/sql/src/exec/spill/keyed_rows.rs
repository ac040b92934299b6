//! Rows to be found by key: the inner side of a hash join, the values of `IN (subquery)`.
//!
//! ```text
//!  hash of the key   0000… │ 0001… │ … │ 0111… │ 1000… │ … │ 1111…
//!  partition         0       1           7       8           15
//!                    in memory                 │ each in a spool        past the share: half of those in memory go out each time
//! ```
//!
//! Keys of partitions in memory are found there at once. For the others there are two ways: a join that reads its other side once puts rows
//! of that aside too, by the same bits, and joins partition by partition ([`Probing`](super::Probing)); where a key is asked
//! for and an answer wanted at once, or in order, the rows in spools are sorted once by key and found by bisection ([`SortedRun`]).
//!
//! (Shapiro, *Join processing in database systems with large main memories*, 1986: hybrid hash joins.)

use super::codec::{Reader, append_encoded, decode, decode_at, encode_at};
use super::hashed_rows::{HashedRows, Key, NONE};
use super::seeds::Seeds;
use super::{Room, Shares, SortedRun, Sorter};
use crate::error::Result;
use crate::expr::Row;
use crate::types::Value;
use std::cell::OnceCell;
use tidemark_engine::Spool;

/// How many partitions there are.
pub const PARTS: usize = 16;

/// The partition of a hash: by other bits than a table's buckets and tags.
#[inline]
fn part_of(hash: u64) -> usize {
    (hash >> (64 - PARTS.ilog2())) as usize
}

/// The rows of a partition that is not in memory.
#[derive(Default)]
pub struct Part {
    pub spool: Option<Spool>,
    pub rows: usize,
}

/// See the module's head.
pub struct KeyedRows<'a> {
    pub(super) room: Room<'a>,
    pub(super) shares: Shares,
    width: usize,
    /// What is in memory.
    pub(super) memory: HashedRows,
    /// Partitions from this one on are not.
    resident: usize,
    pub(super) parts: [Part; PARTS],
    /// How often these rows have been parted before.
    pub(super) level: u32,
    /// All rows that are in spools, in order of their keys.
    run: OnceCell<SortedRun>,
    /// Room for a key and for a row.
    key: Vec<u8>,
    row: Vec<u8>,
}

/// How the rows of a key are found.
pub(super) enum Found {
    /// From this place on in memory.
    Memory(u32),
    /// If there are any, in the spool of this partition.
    Part(usize),
}

impl<'a> KeyedRows<'a> {
    /// No rows yet, of so many values each.
    pub fn new(room: Room<'a>, shares: Shares, width: usize) -> KeyedRows<'a> {
        KeyedRows::at_level(room, shares, width, 0)
    }

    /// The same for rows that have been parted so often.
    pub(super) fn at_level(room: Room<'a>, shares: Shares, width: usize, level: u32) -> KeyedRows<'a> {
        KeyedRows {
            room,
            shares,
            width,
            memory: HashedRows::new(Seeds::new()),
            resident: PARTS,
            parts: Default::default(),
            level,
            run: OnceCell::new(),
            key: Vec::new(),
            row: Vec::new(),
        }
    }

    /// How many rows there are, or of a set at least how many keys.
    pub fn len(&self) -> usize {
        self.memory.len() + self.parts.iter().map(|part| part.rows).sum::<usize>()
    }

    /// Whether some rows are not in memory.
    pub fn is_spilled(&self) -> bool {
        self.resident < PARTS
    }

    /// Whether the rows of a key are not in memory.
    #[inline]
    fn is_aside(&self, key: Key) -> bool {
        self.is_spilled() && part_of(key.hash(self.memory.seeds)) >= self.resident
    }

    /// Adds a row that is in the slots of `row`.
    pub fn push(&mut self, key: Key, row: &dyn Row, slots: &[usize]) -> Result<()> {
        self.room.check_at(self.memory.len())?;
        while !self.is_aside(key) {
            if self.memory.push(key, row, slots)? {
                return Ok(());
            }
            self.evict()?;
        }
        let mut encoded = std::mem::take(&mut self.row);
        encoded.clear();
        encode_at(row, slots, &mut encoded)?;
        self.put_aside(key, &encoded)?;
        self.row = encoded;
        Ok(())
    }

    /// The same of a row that is encoded; those in memory are made to fit.
    pub(super) fn push_encoded(&mut self, key: Key, row: &[u8]) -> Result<()> {
        self.room.check_at(self.memory.len())?;
        while !self.is_aside(key) {
            if self.memory.push_encoded(key, row)? {
                return self.shrink();
            }
            self.evict()?;
        }
        self.put_aside(key, row)
    }

    /// Adds a key without a row, for [`KeyedRows::contains`].
    pub fn insert(&mut self, key: Key) -> Result<()> {
        self.room.check_at(self.memory.len())?;
        while !self.is_aside(key) {
            if self.memory.insert(key)? {
                return self.shrink();
            }
            self.evict()?;
        }
        self.put_aside(key, &[])
    }

    /// Whether those in memory take more than their share: [`shrink`](Self::shrink) is to be called before many more rows are added.
    #[inline]
    pub fn is_large(&self) -> bool {
        self.resident > 0 && self.memory.bytes() > self.room.allows(self.shares.join)
    }

    /// Puts rows out until those in memory fit.
    pub fn shrink(&mut self) -> Result<()> {
        while self.is_large() {
            self.evict()?;
        }
        Ok(())
    }

    /// Half of the partitions that are in memory go out of it.
    fn evict(&mut self) -> Result<()> {
        self.resident /= 2;
        let seeds = self.memory.seeds;
        let before = std::mem::replace(&mut self.memory, HashedRows::new(seeds));
        let mut rows = 0;
        before.for_each(&mut |key, row| {
            rows += 1;
            self.room.check_at(rows)?;
            if part_of(key.hash(seeds)) >= self.resident {
                return self.put_aside(key, row);
            }
            match before.has_rows() {
                true => self.memory.push_encoded(key, row)?,
                false => self.memory.insert(key)?,
            };
            Ok(())
        })
    }

    /// Adds a row to the partition of its key, which is not in memory.
    fn put_aside(&mut self, key: Key, row: &[u8]) -> Result<()> {
        let part = &mut self.parts[part_of(key.hash(self.memory.seeds))];
        self.room.check_at(part.rows)?;
        part.rows += 1;
        key.write(&mut self.key);
        let spool = part.spool.get_or_insert_with(|| self.room.spool());
        append_encoded(spool, &self.key, row)
    }

    /// Where the rows of a key are.
    #[inline]
    pub(super) fn find(&self, key: Key) -> Found {
        let hash = key.hash(self.memory.seeds);
        match self.resident == PARTS || part_of(hash) < self.resident {
            true => Found::Memory(self.memory.first(key, hash)),
            false => Found::Part(part_of(hash)),
        }
    }

    /// The rows in spools, in order of their keys: sorted when this is asked for first.
    pub(super) fn run(&self) -> Result<&SortedRun> {
        if let Some(run) = self.run.get() {
            return Ok(run);
        }
        let mut sorter = Sorter::new(self.room, self.shares.sort, self.width, false, u64::MAX);
        let (mut row, mut rows) = (Vec::with_capacity(self.width), 0);
        for spool in self.parts.iter().filter_map(|part| part.spool.as_ref()) {
            let mut reader = Reader::new(0, spool.len());
            while reader.advance(spool)? {
                self.room.check_at(rows)?;
                rows += 1;
                sorter.key().extend_from_slice(reader.key());
                decode(reader.row(), &mut row)?;
                sorter.push(row.drain(..).map(Ok))?;
            }
        }
        let run = sorter.into_run()?;
        Ok(self.run.get_or_init(|| run))
    }

    /// Whether there is such a key.
    pub fn contains(&self, key: Key) -> Result<bool> {
        if !self.is_aside(key) {
            return Ok(self.memory.contains(key));
        }
        if self.parts[part_of(key.hash(self.memory.seeds))].rows == 0 {
            return Ok(false);
        }
        let mut written = Vec::with_capacity(16);
        key.write(&mut written);
        self.run()?.contains(&written)
    }

    /// Reads the rows of a key into the slots of `row` one after the other, in the order in which they came, and calls `f` for each, until it
    /// wants no more. Returns whether it does.
    pub(super) fn lookup(
        &self,
        key: Key,
        (row, slots): (&mut Vec<Value>, &[usize]),
        f: &mut dyn FnMut(&mut Vec<Value>, u32) -> Result<bool>,
    ) -> Result<bool> {
        let part = match self.find(key) {
            Found::Memory(first) => return self.chain(first, (row, slots), f),
            Found::Part(part) => part,
        };
        if self.parts[part].rows == 0 {
            return Ok(true);
        }
        let mut written = Vec::with_capacity(16);
        key.write(&mut written);
        let (mut rows, mut more) = (0, true);
        self.run()?.lookup(&written, &mut |encoded| {
            rows += 1;
            self.room.check_at(rows)?;
            decode_at(encoded, row, slots)?;
            more = f(row, NONE)?;
            Ok(more)
        })?;
        Ok(more)
    }

    /// The same of rows in memory, from a place on.
    #[inline]
    pub(super) fn chain(
        &self,
        first: u32,
        (row, slots): (&mut Vec<Value>, &[usize]),
        f: &mut dyn FnMut(&mut Vec<Value>, u32) -> Result<bool>,
    ) -> Result<bool> {
        let (mut at, mut rows) = (first, 0);
        while at != NONE {
            // Most keys have one row.
            rows += 1;
            self.room.check_at(rows)?;
            let now = at;
            at = self.memory.read(now, row, slots)?;
            if !f(row, now)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
