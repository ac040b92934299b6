//! Fills trees that no transaction uses yet: an index built over a table's rows, a table copied from another.
//!
//! No undo notes, no versions: until a table takes them, the trees are in the garbage list. Entries are collected and
//! sorted, a bounded number at a time, so that trees are filled from left to right as far as possible. A unique index
//! is checked when it is complete, by comparing neighbours.

use crate::error::{Error, Result};
use crate::ids::{IndexNo, TxnId};
use crate::kernel::Kernel;
use crate::mvcc::Address;
use crate::schema::{Datum, RowBuf};
use crate::table::{EntryHead, Head, OUTSIDE, Outside, RowView, Table, row_of};
use crate::tree::Append;
use std::ops::Range;

/// Bytes of entries sorted at a time.
const RUN_BYTES: usize = 32 << 20;

pub(crate) struct Builder<'t> {
    table: &'t Table,
    indexes: Range<IndexNo>,
    /// Entries of each index that are not in its tree yet.
    runs: Vec<SortRun>,
}

#[derive(Default)]
struct SortRun {
    entries: Vec<(Vec<u8>, Vec<u8>)>,
    bytes: usize,
    /// True once entries are in the tree: later runs are inserted one by one.
    begun: bool,
}

type Check<'c> = &'c dyn Fn() -> Result<()>;

impl<'t> Builder<'t> {
    /// Builds these secondary indexes of the table.
    pub fn new(table: &'t Table, indexes: Range<IndexNo>) -> Builder<'t> {
        let runs = indexes.clone().map(|_| SortRun::default()).collect();
        Builder { table, indexes, runs }
    }

    /// Adds the entries of the rows in the table. No transaction may write to it meanwhile.
    pub fn index_rows(&mut self, check: Check<'_>) -> Result<()> {
        let table = self.table;
        each_row(table, check, &mut |key, value| {
            let head = Head::of(value);
            let outside = Outside::of(&table.indexes[0].tree, &table.layout, head.flags, row_of(value));
            let view = RowView::row(&table.layout, key, row_of(value), &outside);
            self.add(&view, head.writer)?;
            outside.check()
        })
    }

    /// Fills the table with the rows of another, as `f` makes them.
    pub fn copy_rows(
        &mut self,
        kernel: &Kernel,
        from: &Table,
        f: &mut dyn FnMut(&RowView, &mut RowBuf) -> Result<()>,
        check: Check<'_>,
    ) -> Result<u64> {
        let table = self.table;
        let mut rows = 0;
        let mut append: Option<Append<'_>> = Some(table.indexes[0].tree.append()?);
        let mut last: Vec<u8> = Vec::new();
        let mut buf = RowBuf::default();
        each_row(from, check, &mut |key, value| {
            let head = Head::of(value);
            let outside = Outside::of(&from.indexes[0].tree, &from.layout, head.flags, row_of(value));
            let view = RowView::row(&from.layout, key, row_of(value), &outside);
            buf.reset(table.schema().columns.len());
            f(&view, &mut buf)?;
            outside.check()?;
            buf.check()?;
            let (key, value) = table.encode_new_row(kernel, &buf, TxnId::NONE)?;
            if rows > 0 && key <= last && append.is_some() {
                // The row is not behind all others in the new key's order: from here on rows are inserted one by one.
                if let Some(append) = append.take() {
                    append.finish()?;
                }
            }
            match &mut append {
                Some(append) => append.push(&key, &value)?,
                None => {
                    let tree = &table.indexes[0].tree;
                    if tree.read(&key)?.get(&key).is_some() {
                        return Err(Error::DuplicateKey {
                            index: 0,
                            primary_key: key,
                        });
                    }
                    tree.put(&key, &value)?;
                }
            }
            let outside = Outside::of(&table.indexes[0].tree, &table.layout, value[0], row_of(&value));
            self.add(
                &RowView::row(&table.layout, &key, row_of(&value), &outside),
                TxnId::NONE,
            )?;
            outside.check()?;
            last = key;
            rows += 1;
            Ok(())
        })?;
        if let Some(append) = append {
            append.finish()?;
        }
        Ok(rows)
    }

    fn add(&mut self, row: &RowView, writer: TxnId) -> Result<()> {
        for n in self.indexes.clone() {
            let entry = self
                .table
                .encode_entry(n, &|c| row.get(c), row.primary_key(), writer);
            let (key, value) = entry?;
            let run = &mut self.runs[n - self.indexes.start];
            run.bytes += key.len() + value.len() + 64;
            run.entries.push((key, value));
            if run.bytes > RUN_BYTES {
                self.flush(n)?;
            }
        }
        Ok(())
    }

    fn flush(&mut self, n: IndexNo) -> Result<()> {
        let tree = &self.table.indexes[n].tree;
        let run = &mut self.runs[n - self.indexes.start];
        run.entries.sort_unstable();
        if run.begun {
            for (key, value) in run.entries.drain(..) {
                tree.put(&key, &value)?;
            }
        } else {
            let mut append = tree.append()?;
            for (key, value) in run.entries.drain(..) {
                append.push(&key, &value)?;
            }
            append.finish()?;
        }
        run.begun = true;
        run.bytes = 0;
        Ok(())
    }

    /// Completes the indexes and checks the unique ones.
    pub fn finish(mut self, check: Check<'_>) -> Result<()> {
        for n in self.indexes.clone() {
            self.flush(n)?;
            if self.table.schema().secondary[n - 1].unique {
                self.check_unique(n, check)?;
            }
        }
        Ok(())
    }

    fn check_unique(&self, n: IndexNo, check: Check<'_>) -> Result<()> {
        let layout = &self.table.entries[n - 1];
        let mut last: Vec<u8> = Vec::new();
        each_entry(self.table, n, check, &mut |key, value| {
            if EntryHead::of(value).is_deleted() || layout.has_null(key) {
                return Ok(());
            }
            let own = &key[..layout.own_len(key)];
            if own == last {
                let primary_key = key[layout.primary_at(key)..].to_vec();
                return Err(Error::DuplicateKey {
                    index: n,
                    primary_key,
                });
            }
            last.clear();
            last.extend_from_slice(own);
            Ok(())
        })
    }
}

/// Calls `f` with every row that is not deleted, as a copy. The leaf stays latched meanwhile.
fn each_row(table: &Table, check: Check<'_>, f: &mut dyn FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
    each_entry(
        table,
        0,
        check,
        &mut |key, value| match Head::of(value).is_deleted() {
            true => Ok(()),
            false => f(key, value),
        },
    )
}

/// Calls `f` with every entry, holding no latch.
fn each_entry(
    table: &Table,
    n: IndexNo,
    check: Check<'_>,
    f: &mut dyn FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<()> {
    let tree = &table.indexes[n].tree;
    let mut from = Vec::new();
    let mut copy: Vec<u8> = Vec::new();
    let mut ends: Vec<(usize, usize)> = Vec::new();
    loop {
        check()?;
        copy.clear();
        ends.clear();
        let leaf = tree.read(&from)?;
        let node = leaf.node();
        let start = node.search(&from).unwrap_or_else(|slot| slot);
        for (key, value) in (start..node.count()).map(|slot| node.entry(slot)) {
            copy.extend_from_slice(key);
            let key_end = copy.len();
            copy.extend_from_slice(value);
            ends.push((key_end, copy.len()));
        }
        let fence = node.upper_fence().to_vec();
        drop(leaf);
        let mut at = 0;
        for (key_end, end) in &ends {
            f(&copy[at..*key_end], &copy[*key_end..*end])?;
            at = *end;
        }
        if fence.is_empty() {
            return Ok(());
        }
        from = fence;
    }
}

impl Table {
    /// Key and value of a new row, from the columns set in `buf`.
    fn encode_new_row(&self, kernel: &Kernel, buf: &RowBuf, writer: TxnId) -> Result<(Vec<u8>, Vec<u8>)> {
        let values: Vec<_> = (0..self.schema().columns.len()).map(|c| buf.get(c)).collect();
        let row: Vec<_> = values.iter().map(|v| v.unwrap_or(Datum::Null)).collect();
        let mut key = Vec::new();
        self.encode_primary(&row, &mut key)?;
        let (row, has_outside) = self.encode_unlogged_row(kernel, &row, key.len())?;
        let flags = if has_outside { OUTSIDE } else { 0 };
        let mut value = Head {
            flags,
            writer,
            older: Address::NONE,
        }
        .bytes()
        .to_vec();
        value.extend_from_slice(&row);
        Ok((key, value))
    }
}
