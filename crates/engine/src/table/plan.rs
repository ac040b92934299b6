//! Working out a change of a row, before the row is changed.
//!
//! The row is shown to whoever wants to change it, under its latch; from what he makes of it follow the row as it will be, the
//! entries of secondary indexes that go and come with it, and the chains outside it that become obsolete. Making the
//! change (`write`) may then begin again as often as it likes: to split a leaf, or to wait, throws no work away.

use super::entry::{self, Head};
use super::outside::{Outside, Owned, first_page, is_long};
use super::row::{RowBuf, RowView};
use super::schema::{Datum, IndexNo};
use super::write::Came;
use super::{Action, Table};
use crate::error::Result;
use crate::ids::{PageId, TxnId};
use crate::transaction::Inner;
use crate::tree::LeafWrite;

/// An index entry that changes with its row.
pub(super) struct EntryChange {
    pub index: IndexNo,
    /// The entry that goes, if its key is not that of the one that comes.
    pub old: Option<Vec<u8>>,
    /// Key and value of the one that comes.
    pub new: Option<(Vec<u8>, Vec<u8>)>,
}

/// A change of a row, worked out but not made.
pub(super) struct Plan {
    /// The row as it will be; `None`: deleted.
    pub row: Option<Vec<u8>>,
    pub has_outside: bool,
    pub entries: Vec<EntryChange>,
    /// The chains that become obsolete.
    pub garbage: Vec<PageId>,
    /// The row comes back under another primary key: its entries go when that is in.
    pub moves: bool,
}

impl Plan {
    /// How long the row's value will be, if it stays.
    pub fn value_len(&self) -> usize {
        entry::ROW_AT + self.row.as_ref().map_or(0, Vec::len)
    }
}

/// What came of looking at the row.
pub(super) enum Verdict {
    /// Nothing to do.
    Leave {
        keep: bool,
    },
    Do(Plan),
    /// The row, too long as it is.
    Long(Vec<Owned>),
    /// Another primary key: the row as it will be, and its entries as they were.
    Move(Vec<Owned>, Vec<Vec<u8>>),
}

impl Table {
    /// Shows the row to `f` and works out what it wants. `None`: the row is not the one that was meant.
    pub(super) fn look(
        &self,
        t: &mut Inner,
        leaf: &LeafWrite<'_>,
        slot: usize,
        key: &[u8],
        came: Came<'_>,
        buf: &mut RowBuf,
        f: &mut dyn FnMut(&RowView, &mut RowBuf) -> Result<Action>,
    ) -> Result<Option<Verdict>> {
        let value = leaf.node().value(slot);
        let head = Head::of(value);
        let row = entry::row_of(value);
        let outside = Outside::of(&self.indexes[0].tree, &self.layout, head.flags, row);
        let view = RowView::row(&self.layout, key, row, &outside);
        if let Came::Through(n, entry_key) = came
            && !self.has_entry(n, &view, entry_key)?
        {
            return outside.check().map(|()| None);
        }
        buf.reset(self.schema.columns.len());
        let action = f(&view, buf)?;
        outside.check()?;
        let verdict = match action {
            Action::Skip => Verdict::Leave { keep: t.locks_gaps() },
            Action::Keep => Verdict::Leave { keep: true },
            Action::Touch => {
                t.touched();
                Verdict::Leave { keep: true }
            }
            Action::Delete => Verdict::Do(Plan {
                moves: matches!(came, Came::Moving),
                ..self.plan_delete(t, key, &view, head.flags, row)?
            }),
            Action::Update => self.plan_row(t, key, &view, &head, row, buf)?,
        };
        outside.check()?;
        Ok(Some(verdict))
    }

    fn plan_delete(&self, t: &Inner, key: &[u8], view: &RowView, flags: u8, row: &[u8]) -> Result<Plan> {
        let mut entries = Vec::new();
        for n in 1..self.indexes.len() {
            let (mut old, mut value) = (Vec::new(), Vec::new());
            self.encode_entry(n, &|c| view.get(c), key, t.id, &mut old, &mut value)?;
            entries.push(EntryChange {
                index: n,
                old: Some(old),
                new: None,
            });
        }
        let garbage = match flags & entry::OUTSIDE {
            0 => Vec::new(),
            _ => self
                .layout
                .outside(row)
                .filter_map(|(_, r)| first_page(r))
                .collect(),
        };
        Ok(Plan {
            row: None,
            has_outside: flags & entry::OUTSIDE != 0,
            entries,
            garbage,
            moves: false,
        })
    }

    /// Works out an update, of a row that stays short if it can.
    fn plan_row(
        &self,
        t: &mut Inner,
        key: &[u8],
        view: &RowView,
        head: &Head,
        row: &[u8],
        buf: &RowBuf,
    ) -> Result<Verdict> {
        let merged = |c: usize| buf.get(c).unwrap_or_else(|| view.get(c));
        if self.primary.iter().any(|p| buf.get(p.column).is_some()) {
            let mut new_key = Vec::new();
            for part in &self.primary {
                part.encode(merged(part.column), self.collator.as_ref(), &mut new_key)?;
            }
            if new_key != key {
                let columns = 0..self.schema.columns.len();
                let row = columns.map(|c| Owned::of(merged(c))).collect();
                let mut entries = vec![Vec::new(); self.indexes.len() - 1];
                for (n, entry) in entries.iter_mut().enumerate() {
                    self.encode_entry_key(n + 1, &|c| view.get(c), key, entry)?;
                }
                return Ok(Verdict::Move(row, entries));
            }
        }
        let had_outside = head.flags & entry::OUTSIDE != 0;
        let is_reference = |c: usize| had_outside && buf.get(c).is_none() && self.layout.is_outside(row, c);
        let in_row = |c: usize| buf.get(c).unwrap_or_else(|| self.layout.get(row, c));
        if is_long(key.len(), self.layout.size(in_row)) {
            let own = |c: usize| match (is_reference(c), in_row(c)) {
                (true, Datum::Bytes(b)) => Owned::Reference(b.to_vec()),
                (_, datum) => Owned::of(datum),
            };
            let values: Vec<Owned> = (0..self.schema.columns.len()).map(own).collect();
            if values
                .iter()
                .any(|v| matches!(v, Owned::Bytes(b) if b.len() > 64))
            {
                return Ok(Verdict::Long(values));
            }
        }
        let mut new_row = std::mem::take(&mut t.buffers.value);
        new_row.clear();
        self.layout.encode(in_row, is_reference, &mut new_row)?;
        if new_row == row {
            t.buffers.value = new_row;
            return Ok(Verdict::Leave { keep: true });
        }
        let entries = self.changed_entries(t.id, key, &|c| view.get(c), &merged, |c| buf.get(c).is_some())?;
        let mut garbage = Vec::new();
        let mut has_outside = false;
        if had_outside {
            garbage = self.obsolete_chains(row, &new_row);
            has_outside = self.layout.has_outside(&new_row);
        }
        Ok(Verdict::Do(Plan {
            row: Some(new_row),
            has_outside,
            entries,
            garbage,
            moves: false,
        }))
    }

    /// The same for a row that was encoded with columns outside; the row is locked, its leaf is not latched.
    pub(super) fn plan_update(
        &self,
        t: &Inner,
        key: &[u8],
        old: &[u8],
        row: Vec<u8>,
        values: &[Owned],
    ) -> Result<Plan> {
        let tree = &self.indexes[0].tree;
        let old_row = entry::row_of(old);
        let outside = Outside::of(tree, &self.layout, Head::of(old).flags, old_row);
        let before = RowView::row(&self.layout, key, old_row, &outside);
        let has_outside = values.iter().any(|v| matches!(v, Owned::Reference(_)));
        let flags = if has_outside { entry::OUTSIDE } else { 0 };
        let outside_after = Outside::of(tree, &self.layout, flags, &row);
        let after = RowView::row(&self.layout, key, &row, &outside_after);
        let entries = self.changed_entries(t.id, key, &|c| before.get(c), &|c| after.get(c), |_| true)?;
        outside.check()?;
        outside_after.check()?;
        let garbage = self.obsolete_chains(old_row, &row);
        Ok(Plan {
            row: Some(row),
            has_outside,
            entries,
            garbage,
            moves: false,
        })
    }

    fn obsolete_chains(&self, old: &[u8], new: &[u8]) -> Vec<PageId> {
        let kept: Vec<PageId> = self
            .layout
            .outside(new)
            .filter_map(|(_, r)| first_page(r))
            .collect();
        let old = self.layout.outside(old).filter_map(|(_, r)| first_page(r));
        old.filter(|page| !kept.contains(page)).collect()
    }

    fn changed_entries<'d>(
        &self,
        id: TxnId,
        key: &[u8],
        before: &dyn Fn(usize) -> Datum<'d>,
        after: &dyn Fn(usize) -> Datum<'d>,
        touched: impl Fn(usize) -> bool,
    ) -> Result<Vec<EntryChange>> {
        let mut changes = Vec::new();
        for n in 1..self.indexes.len() {
            if !self.entries[n - 1].parts.iter().any(|p| touched(p.column)) {
                continue;
            }
            let (mut old, mut old_value, mut new, mut value) =
                (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            self.encode_entry(n, before, key, id, &mut old, &mut old_value)?;
            self.encode_entry(n, after, key, id, &mut new, &mut value)?;
            if old != new {
                changes.push(EntryChange {
                    index: n,
                    old: Some(old),
                    new: Some((new, value)),
                });
            } else if old_value != value {
                changes.push(EntryChange {
                    index: n,
                    old: None,
                    new: Some((new, value)),
                });
            }
        }
        Ok(changes)
    }
}
