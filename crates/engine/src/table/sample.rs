//! Rows from leaves that are spread over a table, for statistics of its columns.
//!
//! A sampled row is the newest version, committed or not: no view is opened and no lock is taken, so that nobody waits for a sample
//! and purge is not held back. One call reads one leaf. The caller ensures that the table is not dropped during a call, and may
//! let anything happen between two calls.

use super::Table;
use super::entry::{Head, OUTSIDE, VERSIONED, row_of, row_version};
use super::row::RowLayout;
use crate::error::Result;
use crate::schema::Datum;
use crate::tree::LeafSample;

/// A row of a sample, copied out of its page.
pub struct SampledRow<'a> {
    layout: &'a RowLayout,
    bytes: &'a [u8],
    has_outside: bool,
}

impl<'a> SampledRow<'a> {
    /// The value of a column; `None` if it stands outside the row, where it is not read.
    pub fn get(&self, column: usize) -> Option<Datum<'a>> {
        if column >= self.layout.columns() {
            return Some(Datum::Null);
        }
        let is_outside = self.has_outside && self.layout.is_outside(self.bytes, column);
        (!is_outside).then(|| self.layout.get(self.bytes, column))
    }
}

impl Table {
    /// Shows the rows of the next leaf of a sample, but for deleted ones, each with how many leaves that one stands for. They are shown
    /// when the leaf is latched no more. Returns `None` if there is no other leaf.
    pub fn sample_rows(
        &self,
        sample: &mut LeafSample,
        f: &mut dyn FnMut(&SampledRow<'_>, f64) -> Result<()>,
    ) -> Result<Option<f64>> {
        let mut weight = None;
        let mut bytes = Vec::new();
        let mut rows = Vec::new();
        self.indexes[0]
            .tree
            .sample_leaf(sample, &mut |leaf, stands_for| {
                weight = Some(stands_for);
                for slot in 0..leaf.count() {
                    let value = leaf.value(slot);
                    let head = Head::of(value);
                    if !head.is_deleted() {
                        bytes.extend_from_slice(row_of(value));
                        rows.push((head.flags, bytes.len()));
                    }
                }
            })?;
        let mut from = 0;
        for (flags, to) in rows {
            let row = &bytes[from..to];
            from = to;
            // A row of a version that this handle does not know cannot be read with it.
            if flags & VERSIONED != 0 && row_version(flags, row) > self.row_versions() {
                continue;
            }
            let row = SampledRow {
                layout: self.layouts.of(flags, row),
                bytes: row,
                has_outside: flags & OUTSIDE != 0,
            };
            f(&row, weight.unwrap_or(1.0))?;
        }
        Ok(weight)
    }

    /// How many rows were inserted, updated and deleted by this handle of the table: what was done before its definition changed last,
    /// or was read, is not counted.
    pub fn modifications(&self) -> u64 {
        self.usage.modifications()
    }
}
