//! Rows kept in the order in which they came: what a derived table, a common table expression, a subquery or the rows to
//! be changed are.

use super::codec::{Reader, append, decode};
use super::{Room, row_bytes};
use crate::error::Result;
use crate::types::Value;
use tidemark_engine::Spool;

/// Rows in order: the first in memory, those past the share in a spool.
pub struct KeptRows<'a> {
    room: Room<'a>,
    /// What the rows in memory may take, and what they take.
    share: usize,
    bytes: usize,
    memory: Vec<Vec<Value>>,
    spool: Option<Spool>,
    spooled: usize,
    buffer: Vec<u8>,
}

impl<'a> KeptRows<'a> {
    /// No rows.
    pub fn new(room: Room<'a>, share: usize) -> KeptRows<'a> {
        KeptRows {
            room,
            share,
            bytes: 0,
            memory: Vec::new(),
            spool: None,
            spooled: 0,
            buffer: Vec::new(),
        }
    }

    /// Adds a row behind the others.
    pub fn push(&mut self, row: Vec<Value>) -> Result<()> {
        self.room.check_at(self.len())?;
        if self.spool.is_none() {
            self.bytes += row_bytes(&row);
            if self.bytes <= self.room.allows(self.share) || self.memory.is_empty() {
                self.memory.push(row);
                return Ok(());
            }
        }
        let spool = self.spool.get_or_insert_with(|| self.room.spool_of_table());
        append(spool, &[], &row, &mut self.buffer)?;
        self.spooled += 1;
        Ok(())
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.memory.len() + self.spooled
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first row.
    pub fn first(&self) -> Option<&[Value]> {
        self.memory.first().map(Vec::as_slice)
    }

    /// Hands the rows to `f`, in order, until it wants no more.
    pub fn for_each(&self, f: &mut dyn FnMut(&[Value]) -> Result<bool>) -> Result<()> {
        for (n, row) in self.memory.iter().enumerate() {
            self.room.check_at(n)?;
            if !f(row)? {
                return Ok(());
            }
        }
        let Some(spool) = &self.spool else {
            return Ok(());
        };
        let mut reader = Reader::new(0, spool.len());
        let (mut row, mut n) = (Vec::new(), 0);
        while reader.advance(spool)? {
            self.room.check_at(n)?;
            n += 1;
            decode(reader.row(), &mut row)?;
            if !f(&row)? {
                break;
            }
        }
        Ok(())
    }
}
