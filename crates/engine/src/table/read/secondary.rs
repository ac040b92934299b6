//! A range of secondary entries and their rows. Some entries are copied out of the leaf, the leaf is released, and their
//! rows are looked up: a callback may then take as long as it takes to read rows from disk, and no leaf waits for it.

use super::super::deleted::{Candidate, STRETCH, STRETCH_MIN, Visibility};
use super::super::reader::{Reader, ScanRange};
use super::super::{Flow, RangeScan};
use super::{Show, in_order};
use crate::error::Result;
use crate::tally::{self, Event};
use crate::txn::Sight;

/// Entries looked up at a time: few at first, for a scan that wants only the first.
const BATCH_FIRST: usize = 4;
const BATCH_MAX: usize = 256;

/// Entries copied out of a leaf.
#[derive(Default)]
struct Batch {
    keys: Vec<u8>,
    /// Where each key ends, and whether its row must be checked.
    entries: Vec<(usize, bool)>,
}

impl Batch {
    fn clear(&mut self) {
        self.keys.clear();
        self.entries.clear();
    }

    fn push(&mut self, key: &[u8], needs_row_check: bool) {
        self.keys.extend_from_slice(key);
        self.entries.push((self.keys.len(), needs_row_check));
    }

    fn iter(&self) -> impl Iterator<Item = (&[u8], bool)> {
        let mut start = 0;
        self.entries.iter().map(move |(end, needs_row_check)| {
            let key = &self.keys[start..*end];
            start = *end;
            (key, *needs_row_check)
        })
    }
}

impl Reader<'_> {
    pub(super) fn secondary(
        &self,
        mut range: ScanRange,
        scan: &RangeScan<'_>,
        buffer: &mut Vec<u8>,
        f: Show<'_>,
    ) -> Result<()> {
        let layout = &self.table.entries[range.index - 1];
        let mut batch = Batch::default();
        let mut size = BATCH_FIRST;
        loop {
            self.next_batch(&range, size, &mut batch)?;
            for (key, needs_row_check) in batch.iter() {
                let primary_key = &key[layout.primary_at(key)..];
                let mut flow = Flow::Continue;
                self.row(primary_key, buffer, &mut |row| {
                    let is_there = !needs_row_check || self.table.has_entry(range.index, row, key)?;
                    if is_there && self.table.is_first(scan, row, key)? {
                        flow = f(&row.found_by(key))?.1;
                    }
                    Ok(true)
                })?;
                if flow == Flow::Stop {
                    return Ok(());
                }
            }
            let rows = batch.entries.len() as u64;
            tally::count(Event::RowRead, rows);
            let Some((last, _)) = batch.iter().last() else {
                return Ok(());
            };
            if batch.entries.len() < size {
                return Ok(());
            }
            range.span.go_on_after(last, range.reverse);
            size = (size * 4).min(BATCH_MAX);
        }
    }

    /// Collects the next entries of the range that may lead to rows: visible ones, and candidates that need a row check.
    fn next_batch(&self, range: &ScanRange, size: usize, batch: &mut Batch) -> Result<()> {
        batch.clear();
        let mut take = |candidate: Candidate<'_>| {
            match self.entry_visibility(&candidate) {
                // A dirty read may find an entry whose row has been changed already.
                Visibility::Visible(key, _) => batch.push(key, matches!(self.sight, Sight::Latest)),
                Visibility::Hidden => {}
                Visibility::NeedsRowCheck(key) => batch.push(key, true),
            }
            Ok(if batch.entries.len() < size {
                Flow::Continue
            } else {
                Flow::Stop
            })
        };
        let rest = self.leaves(range, &mut |leaf, slots| {
            in_order(slots, range.reverse, &mut |slot| {
                let (key, value) = leaf.node().entry(slot);
                take(Candidate::InIndex(key, value))
            })
        })?;
        match rest {
            Some(rest) => {
                let stretch = size.clamp(STRETCH_MIN, STRETCH);
                self.scan_both(rest, stretch, &|value| self.shadows(value), &mut take)
            }
            None => Ok(()),
        }
    }
}
