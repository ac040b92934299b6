//! What SHOW STATUS says of how statements read: `Select_…`, `Handler_read_…` and `Sort_…`.
//!
//! The words are MySQL's, where a server asks a storage engine for one row after the other: a scan is a descent to its first
//! row and a step for each row behind it, the one that finds nothing included. Here a scan hands out its rows by itself, so
//! they are counted when it is over.

use crate::context::{Counter, SessionState};
use crate::plan::access::AccessPath;
use crate::plan::{Input, RowSource, TableScan};
use tidemark_engine::Table;

/// How much of a table is read each time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    Whole,
    Range,
    Key,
}

fn reading(scan: &TableScan) -> Reading {
    match &scan.input {
        Input::Stored { .. } if scan.path.is_full() && scan.path.skip.is_none() => Reading::Whole,
        Input::Stored { .. } if scan.path.is_one_key() => Reading::Key,
        Input::Stored { .. } => Reading::Range,
        Input::Virtual(_) | Input::Derived { .. } | Input::Json(_) => Reading::Whole,
    }
}

/// Whether EXPLAIN calls it ALL: there is no index in which to look for less, nor a smaller one that has all that is asked for.
pub(super) fn reads_all_rows(path: &AccessPath) -> bool {
    path.is_full() && !(path.covering && path.index != 0) && path.skip.is_none()
}

/// Counts a query block that begins to read its tables.
#[inline]
pub(super) fn count_block(session: &SessionState, source: &RowSource) {
    if let RowSource::Table(scan) = source
        && scan.path.point
    {
        return;
    }
    count_tables(session, source);
}

fn count_tables(session: &SessionState, source: &RowSource) {
    let mut is_first = true;
    source.walk(&mut |_| {}, &mut |scan| {
        let counter = match (reading(scan), is_first) {
            (Reading::Whole, true) => Some(Counter::SelectScan),
            (Reading::Range, true) => Some(Counter::SelectRange),
            (Reading::Whole, false) => Some(Counter::SelectFullJoin),
            (Reading::Range, false) => Some(Counter::SelectFullRangeJoin),
            (Reading::Key, _) => None,
        };
        if let Some(counter) = counter {
            session.count(counter, 1);
        }
        let reads_all = match &scan.input {
            Input::Stored { .. } => reads_all_rows(&scan.path),
            Input::Virtual(_) | Input::Derived { .. } => true,
            Input::Json(_) => false,
        };
        if reads_all {
            session.process.counters.add_no_index_used();
        }
        is_first = false;
    });
}

/// Counts a sort of so many rows, of a range that is changed or of something else.
pub(super) fn count_sort(session: &SessionState, of_range: bool, rows: u64) {
    let counter = match of_range {
        true => Counter::SortRange,
        false => Counter::SortScan,
    };
    session.count(counter, 1);
    session.count(Counter::SortRows, rows);
}

/// One scan of a range of an index, or a part of it.
pub(super) struct Scanned<'p> {
    pub table: &'p Table,
    pub path: &'p AccessPath,
    pub reverse: bool,
    /// It goes on where a part before it has stopped.
    pub resumed: bool,
    pub rows: u64,
    /// It went to the end of the range.
    pub ended: bool,
}

impl Scanned<'_> {
    pub fn count(&self, session: &SessionState) {
        let is_full = self.path.is_full() && self.path.skip.is_none();
        let whole = is_full && self.path.index == 0;
        let index = (!whole).then_some(self.path.index);
        self.table.count_reads(index, self.rows);
        if !self.resumed {
            session.count(Counter::HandlerReadKey, 1);
            if is_full {
                let end = match self.reverse {
                    true => Counter::HandlerReadLast,
                    false => Counter::HandlerReadFirst,
                };
                session.count(end, 1);
            }
        }
        let steps = self.rows + u64::from(self.ended);
        if whole && !self.reverse {
            session.count(Counter::HandlerReadRndNext, steps);
            return;
        }
        let step = match self.reverse {
            true => Counter::HandlerReadPrev,
            false => Counter::HandlerReadNext,
        };
        // The descent has found the first row, or that there is none.
        session.count(step, steps.saturating_sub(u64::from(!self.resumed)));
    }
}
