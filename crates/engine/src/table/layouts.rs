//! The layouts of a table's rows: one for each version of the definition that rows may have been written under.
//!
//! The flag in a row's head says whether the row begins with its version. It does not under version 0, so a table whose columns
//! never came or went beside its rows has one layout, and reading a row of it costs a test of the flag.

use super::entry::{OUTSIDE, VERSIONED, row_version};
use super::row::RowLayout;
use crate::schema::Shape;

/// The layouts of a table's rows, of every version.
#[derive(Debug)]
pub(crate) struct RowLayouts {
    /// Of version 0, as a table has that was never changed beside its rows.
    first: RowLayout,
    later: Vec<RowLayout>,
}

impl RowLayouts {
    pub fn new(shape: &Shape) -> RowLayouts {
        let pasts = shape.pasts();
        let of = |(version, past)| RowLayout::of_version(version, past, &shape.schema.columns);
        RowLayouts {
            first: of((0, &pasts[0])),
            later: pasts.iter().enumerate().skip(1).map(of).collect(),
        }
    }

    /// The layout of a row whose head has these flags.
    #[inline]
    pub fn of(&self, flags: u8, row: &[u8]) -> &RowLayout {
        match row_version(flags, row) {
            0 => &self.first,
            // A version that is not known reads as the newest.
            version => self.later.get(version - 1).unwrap_or(self.newest()),
        }
    }

    /// The layout that rows are written by.
    #[inline]
    pub fn newest(&self) -> &RowLayout {
        self.later.last().unwrap_or(&self.first)
    }

    /// The flags of a row that is written, with or without columns outside.
    #[inline]
    pub fn flags(&self, has_outside: bool) -> u8 {
        let versioned = if self.later.is_empty() { 0 } else { VERSIONED };
        let outside = if has_outside { OUTSIDE } else { 0 };
        versioned | outside
    }

    /// The version of rows that are written.
    pub fn version(&self) -> usize {
        self.later.len()
    }
}
