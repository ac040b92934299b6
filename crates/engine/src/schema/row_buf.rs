//! The values that a caller gives a row, between the callback that computes them and the codec that stores them.
//!
//! Values are copied: what a callback reads lies in a latched page, and is gone when the latch is. The buffer keeps its
//! room from row to row.

use super::Datum;
use crate::error::{Error, Result};

/// A row being changed: starts as the old row (or, for a copied table, as nothing but NULLs), and remembers what was
/// set.
#[derive(Default)]
pub struct RowBuf {
    cells: Vec<Cell>,
    changed: Vec<usize>,
    arena: Vec<u8>,
    /// A column that was set and does not exist.
    wrong: Option<usize>,
}

#[derive(Clone, Copy)]
enum Cell {
    Unset,
    Null,
    Int(i64),
    UInt(u64),
    Float(f32),
    Double(f64),
    Bytes { at: usize, len: usize },
}

impl RowBuf {
    /// Forgets everything, for a row of so many columns.
    pub(crate) fn reset(&mut self, columns: usize) {
        if self.cells.len() == columns {
            for c in self.changed.drain(..) {
                self.cells[c] = Cell::Unset;
            }
        } else {
            self.changed.clear();
            self.cells.clear();
            self.cells.resize(columns, Cell::Unset);
        }
        self.arena.clear();
        self.wrong = None;
    }

    /// Fails if a column was set that the table does not have.
    pub(crate) fn check(&self) -> Result<()> {
        let what = "no such column";
        self.wrong
            .map_or(Ok(()), |column| Err(Error::WrongValue { column, what }))
    }

    /// Sets a column. That the column exists and the value has its type is checked when the row is written
    /// ([`Error::WrongValue`]).
    pub fn set(&mut self, column: usize, value: Datum) {
        match self.cells.get(column) {
            None => {
                self.wrong = Some(column);
                return;
            }
            Some(Cell::Unset) => self.changed.push(column),
            Some(_) => {}
        }
        self.cells[column] = match value {
            Datum::Null => Cell::Null,
            Datum::Int(v) => Cell::Int(v),
            Datum::UInt(v) => Cell::UInt(v),
            Datum::Float(v) => Cell::Float(v),
            Datum::Double(v) => Cell::Double(v),
            Datum::Bytes(b) => {
                let at = self.arena.len();
                self.arena.extend_from_slice(b);
                Cell::Bytes { at, len: b.len() }
            }
        };
    }

    /// What the column was set to, if it was.
    pub fn get(&self, column: usize) -> Option<Datum<'_>> {
        Some(match *self.cells.get(column)? {
            Cell::Unset => return None,
            Cell::Null => Datum::Null,
            Cell::Int(v) => Datum::Int(v),
            Cell::UInt(v) => Datum::UInt(v),
            Cell::Float(v) => Datum::Float(v),
            Cell::Double(v) => Datum::Double(v),
            Cell::Bytes { at, len } => Datum::Bytes(&self.arena[at..at + len]),
        })
    }

    /// The columns that were set.
    pub fn changed(&self) -> &[usize] {
        &self.changed
    }
}
