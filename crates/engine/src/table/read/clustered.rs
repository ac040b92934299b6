//! A range of rows, in the order of their primary key.

use super::super::Flow;
use super::super::deleted::{Candidate, STRETCH};
use super::super::reader::{Reader, ScanRange};
use super::super::row::RowView;
use super::{Show, in_order};
use crate::error::Result;
use crate::tally::{self, Event};
use crate::txn::Sight;

impl Reader<'_> {
    pub(super) fn clustered(&self, range: ScanRange, buffer: &mut Vec<u8>, f: Show<'_>) -> Result<()> {
        let mut rows = 0;
        let mut visit = |candidate: Candidate<'_>| {
            let mut flow = Flow::Continue;
            let show: &mut dyn FnMut(&RowView) -> Result<bool> = &mut |row| {
                rows += 1;
                flow = f(row)?.1;
                Ok(true)
            };
            match (candidate, self.sight) {
                (Candidate::InIndex(key, value), _) => {
                    self.value(key, value, buffer, show)?;
                }
                (Candidate::Deleted(group), Sight::View(view)) => {
                    self.any_deleted_row(&view, &mut group.iter(), buffer, show)?;
                }
                (Candidate::Deleted(_), Sight::Latest) => {}
            }
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
            done = self
                .scan_both(rest, STRETCH, &|_| true, &mut visit)
                .map(|()| None);
        }
        tally::count(Event::RowRead, rows);
        done.map(|_| ())
    }
}
