//! A range of secondary entries that have all the columns asked for: an entry that the view sees is shown as it lies, and
//! the row is looked up only for a candidate that needs a row check.

use super::super::Flow;
use super::super::deleted::{Candidate, STRETCH, Visibility};
use super::super::reader::{Reader, ScanRange};
use super::super::row::{RowView, WrongColumn};
use super::{Show, in_order};
use crate::error::Result;
use crate::tally::{self, Event};

impl Reader<'_> {
    pub(super) fn covering(&self, range: ScanRange, buffer: &mut Vec<u8>, f: Show<'_>) -> Result<()> {
        let n = range.index;
        let layout = &self.table.entries[n - 1];
        let (mut rows, wrong) = (0, WrongColumn::default());
        let mut visit = |candidate: Candidate<'_>| {
            let mut flow = Flow::Continue;
            let key = match self.entry_visibility(&candidate) {
                Visibility::Visible(key, stored) => {
                    rows += 1;
                    let (_, flow) = f(&RowView::entry(layout, key, stored, &wrong))?;
                    return wrong.check().map(|()| flow);
                }
                Visibility::Hidden => return Ok(flow),
                Visibility::NeedsRowCheck(key) => key,
            };
            // No thread that holds a clustered leaf waits for a secondary one, so this cannot be a deadlock.
            let primary_key = &key[layout.primary_at(key)..];
            self.row(primary_key, buffer, &mut |row| {
                if self.table.has_entry(n, row, key)? {
                    rows += 1;
                    flow = f(row)?.1;
                }
                Ok(true)
            })?;
            Ok(flow)
        };
        let mut done = self.leaves(&range, &mut |leaf, slots| {
            in_order(slots, range.reverse, &mut |slot| {
                let (key, value) = leaf.node().entry(slot);
                visit(Candidate::InIndex(key, value))
            })
        });
        if let Ok(Some(rest)) = &mut done {
            let rest = rest.clone();
            let shadows = |value: &[u8]| self.shadows(value);
            done = self.scan_both(rest, STRETCH, &shadows, &mut visit).map(|()| None);
        }
        tally::count(Event::RowRead, rows);
        done.map(|_| ())
    }
}
