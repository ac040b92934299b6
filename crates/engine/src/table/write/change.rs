//! Computes a change of a row before the row is changed.
//!
//! The row is shown to the caller's callback, under its latch; from the values that the callback sets follow the new
//! row, the entries of secondary indexes that go and come with it, and the chains outside it that become obsolete.
//! Making the change (`update`) may then start over as often as necessary, to split a leaf or to wait, without losing
//! work.

use super::super::entry::{self, Head};
use super::super::outside::{Outside, Owned, is_long};
use super::super::row::RowView;
use super::super::{Action, Table};
use super::{FoundBy, Writer};
use crate::error::{Error, Result};
use crate::ids::{IndexNo, PageId};
use crate::schema::{Datum, RowBuf};

/// An index entry that changes with its row.
pub(super) struct EntryChange {
    pub index: IndexNo,
    /// The key of one that goes.
    pub old: Option<Vec<u8>>,
    /// Key and value of one that comes, or gets other stored columns.
    pub new: Option<(Vec<u8>, Vec<u8>)>,
}

/// A change of a row, computed but not made.
pub(super) struct RowChange {
    /// The row as it will be; `None`: deleted.
    pub row: Option<Vec<u8>>,
    /// What the row's head says of how it is to be read.
    pub flags: u8,
    pub entries: Vec<EntryChange>,
    /// The chains that become obsolete.
    pub garbage: Vec<PageId>,
    /// The row comes back under another primary key: its entries go when that is in.
    pub moves: bool,
}

impl RowChange {
    /// How long the row's value will be, if it stays.
    pub fn value_len(&self) -> usize {
        entry::ROW_AT + self.row.as_ref().map_or(0, Vec::len)
    }
}

/// What a look at the row has led to.
pub(super) enum Decision {
    /// Nothing to do.
    Leave {
        keep: bool,
    },
    Do(RowChange),
    /// The row, too long as it is.
    Long(Vec<Owned>),
    /// Another primary key: the new row's values, and the keys of the old row's entries.
    Move(Vec<Owned>, Vec<(IndexNo, Vec<u8>)>),
}

impl Writer<'_, '_> {
    /// Shows the row to `f` and computes the change that it asks for. `None`: the row is not the one that was meant.
    pub(super) fn look(
        &mut self,
        key: &[u8],
        value: &[u8],
        found_by: FoundBy<'_>,
        buf: &mut RowBuf,
        f: &mut dyn FnMut(&RowView, &mut RowBuf) -> Result<Action>,
    ) -> Result<Option<Decision>> {
        let head = Head::of(value);
        let row = entry::row_of(value);
        let outside = Outside::of(self.table, head.flags, row);
        let view = RowView::row(key, row, &outside);
        if let FoundBy::Entry(n, entry_key) = found_by
            && !self.table.has_entry(n, &view, entry_key)?
        {
            return outside.check().map(|()| None);
        }
        buf.reset(self.table.schema.columns.len());
        let action = f(&view, buf)?;
        outside.check()?;
        buf.check()?;
        let decision = match action {
            Action::Skip => Decision::Leave {
                keep: self.txn.locks_gaps(),
            },
            Action::Keep => Decision::Leave { keep: true },
            Action::Touch => {
                self.txn.touched();
                Decision::Leave { keep: true }
            }
            Action::Delete => Decision::Do(RowChange {
                moves: matches!(found_by, FoundBy::Move),
                ..self.plan_delete(key, &view, head.flags, row)?
            }),
            Action::Update => self.plan_row(key, &view, &head, row, buf)?,
        };
        outside.check()?;
        Ok(Some(decision))
    }

    fn plan_delete(&self, key: &[u8], view: &RowView, flags: u8, row: &[u8]) -> Result<RowChange> {
        let gone = |(index, old)| EntryChange {
            index,
            old: Some(old),
            new: None,
        };
        let entries = self.all_entries(key, view)?.into_iter().map(gone).collect();
        Ok(RowChange {
            row: None,
            flags: flags & entry::READING,
            entries,
            garbage: self.table.chains_of(flags, row),
            moves: false,
        })
    }

    /// The keys of a row's entries, by index.
    fn all_entries(&self, key: &[u8], view: &RowView) -> Result<Vec<(IndexNo, Vec<u8>)>> {
        let (mut entries, mut buffer) = (Vec::new(), Vec::new());
        for n in 1..self.table.indexes.len() {
            self.table
                .each_entry_key(n, &|c| view.get(c), key, &mut buffer, &mut |entry| {
                    entries.push((n, entry.to_vec()));
                    Ok(())
                })?;
        }
        Ok(entries)
    }

    /// Computes an update, keeping the row short if possible.
    fn plan_row(
        &mut self,
        key: &[u8],
        view: &RowView,
        head: &Head,
        row: &[u8],
        buf: &RowBuf,
    ) -> Result<Decision> {
        let merged = |c: usize| buf.get(c).unwrap_or_else(|| view.get(c));
        if self.table.primary.iter().any(|p| buf.get(p.column).is_some()) {
            let mut new_key = Vec::new();
            for part in &self.table.primary {
                part.encode(merged(part.column), self.table.collator.as_ref(), &mut new_key)?;
            }
            if new_key != key {
                let columns = 0..self.table.schema.columns.len();
                let row = columns.map(|c| Owned::of(merged(c))).collect();
                return Ok(Decision::Move(row, self.all_entries(key, view)?));
            }
        }
        let had_outside = head.flags & entry::OUTSIDE != 0;
        let (layouts, layout) = (&self.table.layouts, self.table.layouts.of(head.flags, row));
        let is_reference = |c: usize| had_outside && buf.get(c).is_none() && layout.is_outside(row, c);
        let in_row = |c: usize| buf.get(c).unwrap_or_else(|| layout.get(row, c));
        if is_long(key.len(), layouts.newest().size(in_row)) {
            let own = |c: usize| match (is_reference(c), in_row(c)) {
                (true, Datum::Bytes(b)) => Owned::Reference(b.to_vec()),
                (_, datum) => Owned::of(datum),
            };
            let values: Vec<Owned> = (0..self.table.schema.columns.len()).map(own).collect();
            if values
                .iter()
                .any(|v| matches!(v, Owned::Bytes(b) if b.len() > 64))
            {
                return Ok(Decision::Long(values));
            }
        }
        let mut new_row = std::mem::take(&mut self.txn.buffers.value);
        new_row.clear();
        layouts.newest().encode(in_row, is_reference, &mut new_row)?;
        let same = match std::ptr::eq(layout, layouts.newest()) {
            true => new_row == row,
            // The bytes differ at least in the version.
            false => (0..self.table.schema.columns.len()).all(|c| merged(c) == view.get(c)),
        };
        if same {
            self.txn.buffers.value = new_row;
            return Ok(Decision::Leave { keep: true });
        }
        let entries = self.changed_entries(key, &|c| view.get(c), &merged, |c| buf.get(c).is_some())?;
        let mut garbage = Vec::new();
        let mut flags = layouts.flags(false);
        if had_outside {
            flags = layouts.flags(layouts.newest().has_outside(&new_row));
            garbage = self.table.obsolete_chains((head.flags, row), (flags, &new_row));
        }
        Ok(Decision::Do(RowChange {
            row: Some(new_row),
            flags,
            entries,
            garbage,
            moves: false,
        }))
    }

    /// Like [`Self::plan_row`], for a row that was encoded with columns outside; the row is locked, its leaf is not
    /// latched.
    pub(super) fn plan_update(
        &self,
        key: &[u8],
        old: &[u8],
        row: Vec<u8>,
        values: &[Owned],
    ) -> Result<RowChange> {
        let (old_row, old_flags) = (entry::row_of(old), Head::of(old).flags);
        let outside = Outside::of(self.table, old_flags, old_row);
        let before = RowView::row(key, old_row, &outside);
        let has_outside = values.iter().any(|v| matches!(v, Owned::Reference(_)));
        let flags = self.table.layouts.flags(has_outside);
        let outside_after = Outside::of(self.table, flags, &row);
        let after = RowView::row(key, &row, &outside_after);
        let entries = self.changed_entries(key, &|c| before.get(c), &|c| after.get(c), |_| true)?;
        outside.check()?;
        outside_after.check()?;
        let garbage = self.table.obsolete_chains((old_flags, old_row), (flags, &row));
        Ok(RowChange {
            row: Some(row),
            flags,
            entries,
            garbage,
            moves: false,
        })
    }

    fn changed_entries<'d>(
        &self,
        key: &[u8],
        before: &dyn Fn(usize) -> Datum<'d>,
        after: &dyn Fn(usize) -> Datum<'d>,
        touched: impl Fn(usize) -> bool,
    ) -> Result<Vec<EntryChange>> {
        let mut changes = Vec::new();
        let keys = |n: IndexNo, row: &dyn Fn(usize) -> Datum<'d>| {
            let (mut keys, mut buffer) = (Vec::new(), Vec::new());
            let each = &mut |key: &[u8]| {
                keys.push(key.to_vec());
                Ok(())
            };
            self.table.each_entry_key(n, row, key, &mut buffer, each)?;
            Ok::<_, Error>(keys)
        };
        for n in 1..self.table.indexes.len() {
            if !self.table.entries[n - 1].parts.iter().any(|p| touched(p.column)) {
                continue;
            }
            let (old, new) = (keys(n, before)?, keys(n, after)?);
            let old_value = self.table.entry_value(n, before, self.txn.id)?;
            let value = self.table.entry_value(n, after, self.txn.id)?;
            // Both ascend.
            let gone = old.iter().filter(|key| new.binary_search(key).is_err());
            changes.extend(gone.map(|key| EntryChange {
                index: n,
                old: Some(key.clone()),
                new: None,
            }));
            let come = new
                .into_iter()
                .filter(|key| old_value != value || old.binary_search(key).is_err());
            changes.extend(come.map(|key| EntryChange {
                index: n,
                old: None,
                new: Some((key, value.clone())),
            }));
        }
        Ok(changes)
    }
}

impl Table {
    /// The chains of the old row that the new one does not name, each row with its head's flags. Those of columns that have
    /// been dropped are among them.
    fn obsolete_chains(&self, old: (u8, &[u8]), new: (u8, &[u8])) -> Vec<PageId> {
        let kept = self.chains_of(new.0, new.1);
        let mut chains = self.chains_of(old.0, old.1);
        chains.retain(|page| !kept.contains(page));
        chains
    }
}
