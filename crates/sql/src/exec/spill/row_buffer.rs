//! A run of rows read at any place: a partition that window functions look over.
//!
//! ```text
//!  dropped ─┬─ in memory, up to the share ─┬─ in a spool ─┬─ the next row
//!           first                          spooled_from   len
//! ```
//!
//! Rows are numbered from 0 and added behind the last. Readers go forward for the most part, so that rows of a spool are
//! read one after the other: where each reader stands is its [`Place`]. The place of one row in [`STEP`] is known, from which
//! any other is found. Rows that no reader comes to any more are dropped from the front.

use super::codec::{Reader, append, decode};
use super::{Room, heap_bytes};
use crate::error::Result;
use crate::types::Value;
use tidemark_engine::Spool;

/// Of every so many rows in the spool, the first one's position is known.
const STEP: u64 = 64;

/// Fewer rows than this are not worth dropping.
const DROP_FROM: usize = 1024;

/// See the module's head.
pub struct RowBuffer<'a> {
    room: Room<'a>,
    share: usize,
    /// Values in a row.
    width: usize,
    /// The number of the first row that is there, and of the next one.
    first: u64,
    len: u64,
    /// The rows in memory, one behind the other, and what they take beside their own size.
    values: Vec<Value>,
    heap: usize,
    spool: Option<Spool>,
    spooled_from: u64,
    steps: Vec<u64>,
    /// How often rows have been forgotten: what a place holds may be stale.
    epoch: u64,
    buffer: Vec<u8>,
}

/// Where a reader stands among the rows of a spool, and the row there.
#[derive(Default)]
pub struct Place {
    epoch: u64,
    reader: Option<Reader>,
    /// The number of the row that was read last, and 1.
    next: u64,
    row: Vec<Value>,
}

impl<'a> RowBuffer<'a> {
    /// For rows of `width` values, of which those in memory may take `share` bytes.
    pub fn new(room: Room<'a>, share: usize, width: usize) -> RowBuffer<'a> {
        RowBuffer {
            room,
            share,
            width,
            first: 0,
            len: 0,
            values: Vec::new(),
            heap: 0,
            spool: None,
            spooled_from: 0,
            steps: Vec::new(),
            epoch: 0,
            buffer: Vec::new(),
        }
    }

    /// The number of the next row: how many there have been.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Adds a row, which is taken out of `row`.
    pub fn push(&mut self, row: &mut Vec<Value>) -> Result<()> {
        debug_assert_eq!(row.len(), self.width);
        self.room.check_at(self.len as usize)?;
        if self.spool.is_none() {
            let heap: usize = row.iter().map(heap_bytes).sum();
            let bytes = (self.values.len() + row.len()) * size_of::<Value>() + self.heap + heap;
            if bytes <= self.room.allows(self.share) || self.values.is_empty() {
                self.heap += heap;
                self.values.append(row);
                self.len += 1;
                return Ok(());
            }
            self.spooled_from = self.len;
        }
        let spool = self.spool.get_or_insert_with(|| self.room.spool_of_table());
        if (self.len - self.spooled_from).is_multiple_of(STEP) {
            self.steps.push(spool.len());
        }
        append(spool, &[], row, &mut self.buffer)?;
        row.clear();
        self.len += 1;
        Ok(())
    }

    /// The row of a number, which is there. Rows in memory are not copied.
    pub fn row<'r>(&'r self, number: u64, place: &'r mut Place) -> Result<&'r [Value]> {
        let at = (number - self.first) as usize * self.width;
        if let Some(row) = self.values.get(at..at + self.width)
            && self.spool.as_ref().is_none_or(|_| number < self.spooled_from)
        {
            return Ok(row);
        }
        self.read(number, place)?;
        Ok(&place.row)
    }

    /// Brings a row of the spool to a place.
    fn read(&self, number: u64, place: &mut Place) -> Result<()> {
        let Some(spool) = &self.spool else {
            return Ok(());
        };
        if place.epoch != self.epoch {
            *place = Place {
                epoch: self.epoch,
                ..Place::default()
            };
        }
        if place.reader.is_some() && place.next == number + 1 {
            return Ok(());
        }
        let known = (number - self.spooled_from) / STEP;
        if place.reader.is_none() || place.next > number || number - place.next > STEP {
            place.reader = Some(Reader::new(self.steps[known as usize], spool.len()));
            place.next = self.spooled_from + known * STEP;
        }
        if let Some(reader) = &mut place.reader {
            reader.extend(spool.len());
            while place.next <= number {
                reader.advance(spool)?;
                place.next += 1;
            }
            decode(reader.row(), &mut place.row)?;
        }
        Ok(())
    }

    /// Rows before this number are not read any more.
    pub fn drop_before(&mut self, number: u64) {
        if number == self.len && self.spool.is_some() {
            self.forget(self.len);
            return;
        }
        let held = self.values.len() / self.width.max(1);
        let rows = (number.saturating_sub(self.first) as usize).min(held);
        if rows < DROP_FROM || rows < held / 2 {
            return;
        }
        let values = self.values.drain(..rows * self.width);
        self.heap -= values.map(|value| heap_bytes(&value)).sum::<usize>();
        self.first += rows as u64;
    }

    /// Forgets all rows: numbers begin at 0 again.
    pub fn clear(&mut self) {
        self.forget(0);
    }

    fn forget(&mut self, next: u64) {
        self.values.clear();
        self.heap = 0;
        self.spool = None;
        self.steps.clear();
        (self.first, self.len) = (next, next);
        self.epoch += 1;
    }
}
