//! Consistent reads: what a view sees of a table. They take no lock and wait for no transaction.
//!
//! ```text
//!              Table::get                    Table::scan
//!                  │                ┌────────────┼──────────────┐
//!              Reader::row      clustered    covering       secondary
//!                  │                │            │              │ entries, a batch at a time
//!                  │                └── Reader::leaves ─────────┤  leaf by leaf; once the view is older than something in
//!                  │                            │               │  the graveyard: deleted::read, index and graveyard as one
//!                  ▼                            ▼               ▼
//!              Reader::value ◄───────────── Reader::row ◄───────┘
//!                  │ the writer is visible: the row as it lies in the page
//!                  │ it is not: along the chain of versions (mvcc::chain), and behind its end what the graveyard has
//! ```
//!
//! Through a secondary index, an entry whose writer the view sees represents its row. Any other is a *candidate that
//! needs a row check*: the row's visible version must still have this very entry, or the row is found under another
//! key. What an entry can tell by itself is [`Reader::entry_visibility`](super::deleted).
//!
//! | file | idea |
//! |---|---|
//! | `point` | one row by its whole clustered key |
//! | `clustered` | a range of rows |
//! | `covering` | a range of entries that have all the columns asked for |
//! | `secondary` | a range of entries, and their rows |

mod clustered;
mod covering;
mod point;
mod secondary;

use super::reader::{Reader, ScanRange};
use super::row::RowView;
use super::{Flow, Keep, RangeScan, Read, Table};
use crate::error::Result;
use crate::ids::IndexNo;
use crate::lock::{LockMode, LockWait};
use crate::tree::LeafRead;
use crate::txn::{Sight, Txn};
use std::ops::Range;

use super::locking::{Locking, Visit};

/// What a scan does with each row.
pub(super) type Show<'f> = &'f mut dyn FnMut(&RowView) -> Result<(Keep, Flow)>;

impl Reader<'_> {
    /// Calls `f` with every leaf that has entries of the range, and the slots that are in it. Returns what is left of the
    /// range, from the first leaf on at which the view is found to be older than something in the index's graveyard.
    fn leaves(
        &self,
        range: &ScanRange,
        f: &mut dyn FnMut(&LeafRead<'_>, Range<usize>) -> Result<Flow>,
    ) -> Result<Option<ScanRange>> {
        let ScanRange { index, span, reverse } = range;
        let (index, reverse) = (&self.table.indexes[*index], *reverse);
        let mut fence = Vec::new();
        let at = |leaf: &LeafRead<'_>, key: &[u8]| leaf.node().search(key).unwrap_or_else(|slot| slot);
        let mut leaf = match (reverse, &span.upper) {
            (false, _) => match index.tree.read_from(&span.lower)? {
                Some(leaf) => leaf,
                None => return Ok(None),
            },
            (true, Some(upper)) => index.tree.read_below(upper)?,
            (true, None) => index.tree.read_last()?,
        };
        // A leaf that was merged with its neighbour holds entries that were visited already.
        let mut visited: Option<usize> = None;
        loop {
            if let Sight::View(view) = &self.sight
                && index.graveyard.concerns(view)
            {
                let mut rest = range.clone();
                if visited.is_some() {
                    rest.span.go_on_at(&fence, reverse);
                }
                return Ok(Some(rest));
            }
            let mut from = at(&leaf, &span.lower);
            let mut to = span
                .upper
                .as_ref()
                .map_or(leaf.node().count(), |upper| at(&leaf, upper));
            match (visited, reverse) {
                (Some(visited), false) => from = from.max(visited),
                (Some(visited), true) => to = to.min(visited),
                (None, _) => {}
            }
            if from < to && f(&leaf, from..to)? == Flow::Stop {
                return Ok(None);
            }
            self.check()?;
            let next = match reverse {
                false if to < leaf.node().count() => None,
                false => match leaf.next(&mut fence) {
                    Err(error) => index.tree.over_damage(&mut fence, error)?,
                    next => next?,
                },
                true if from > 0 => None,
                true => leaf.previous(&mut fence)?,
            };
            match next {
                Some((next, slot)) => (leaf, visited) = (next, Some(slot)),
                None => return Ok(None),
            }
            let beyond = match reverse {
                false => span.upper.as_ref().is_some_and(|upper| fence >= *upper),
                true => fence <= span.lower,
            };
            if beyond {
                return Ok(None);
            }
        }
    }
}

impl Table {
    /// See [`Table::get`].
    #[inline]
    pub(crate) fn get_row(
        &self,
        txn: &mut Txn<'_>,
        index: IndexNo,
        key: &[u8],
        read: Read,
        f: &mut dyn FnMut(&RowView) -> Result<Keep>,
    ) -> Result<bool> {
        txn.check()?;
        self.check_open()?;
        self.check_index(index)?;
        if index == 0 {
            return match read {
                Read::Consistent => {
                    let sight = txn.sight()?;
                    self.check_known(sight, 0)?;
                    let (reader, buffer) = Reader::new(self, sight, txn);
                    reader.row(key, buffer, &mut |row| f(row).map(|_| true))
                }
                Read::Locking { exclusive, wait } => {
                    self.intend(txn, exclusive)?;
                    self.lock_point(txn, key, locking(exclusive, wait, false, true), f)
                }
            };
        }
        let mut found = false;
        let range = super::KeyRange::prefix(key);
        self.scan_rows(txn, &RangeScan::new(index, &range), read, &mut |row| {
            found = true;
            Ok((f(row)?, Flow::Stop))
        })?;
        Ok(found)
    }

    /// See [`Table::scan`].
    pub(crate) fn scan_rows(
        &self,
        txn: &mut Txn<'_>,
        scan: &RangeScan<'_>,
        read: Read,
        f: Show<'_>,
    ) -> Result<()> {
        txn.check()?;
        self.check_open()?;
        self.check_index(scan.index)?;
        let Some(span) = scan.span() else {
            return Ok(());
        };
        let sight = match read {
            Read::Consistent => txn.sight()?,
            Read::Locking { exclusive, wait } => {
                self.intend(txn, exclusive)?;
                let tests_entries = !scan.covering && !scan.by_rows;
                let lock = locking(exclusive, wait, scan.covering, tests_entries);
                return self.scan_locking(txn, scan, lock, None, Visit::Show(f));
            }
        };
        self.check_known(sight, scan.index)?;
        let (reader, buffer) = Reader::new(self, sight, txn);
        let range = ScanRange {
            index: scan.index,
            span,
            reverse: scan.reverse,
        };
        match scan.index {
            0 => reader.clustered(range, buffer, f),
            _ if scan.covering => reader.covering(range, buffer, f),
            _ => reader.secondary(range, scan, buffer, f),
        }
    }

    /// Takes the intention lock for locking rows of the table.
    pub(super) fn intend(&self, txn: &mut Txn<'_>, exclusive: bool) -> Result<()> {
        let mode = match exclusive {
            true => LockMode::IntentionExclusive,
            false => LockMode::IntentionShared,
        };
        txn.intend(&self.locks, mode)
    }
}

pub(super) fn locking(exclusive: bool, wait: LockWait, covering: bool, tests_entries: bool) -> Locking {
    let mode = if exclusive {
        LockMode::Exclusive
    } else {
        LockMode::Shared
    };
    Locking {
        mode,
        wait,
        covering,
        tests_entries,
    }
}

/// Calls `f` with the slots in the direction of the scan.
#[inline]
fn in_order(
    mut slots: Range<usize>,
    reverse: bool,
    f: &mut dyn FnMut(usize) -> Result<Flow>,
) -> Result<Flow> {
    while let Some(slot) = if reverse { slots.next_back() } else { slots.next() } {
        if f(slot)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}
