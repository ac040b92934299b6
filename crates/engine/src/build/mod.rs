//! Fills trees that nobody reads yet: an index built over a table's rows, a table copied from another.
//!
//! No undo notes, no versions: until a table takes them, the trees are in the garbage list. Entries are put in order by a sort
//! whose memory is bounded ([`sort`]), and trees are filled from left to right.
//!
//! A [`Builder`] has the table for itself. An [`OnlineBuild`] has writers beside it; it sees less and has more to prove, and so it is apart
//! ([`online`]).

mod online;
mod sort;

pub use online::{BuildProgress, BuildStage, OnlineBuild};

use crate::error::{Error, Result};
use crate::ids::{IndexNo, TxnId};
use crate::kernel::Kernel;
use crate::mvcc::Address;
use crate::schema::{Datum, RowBuf};
use crate::table::{Head, Outside, RowView, Table, row_of};
use crate::tree::Append;
use sort::EntrySorter;
use std::ops::Range;

/// Memory for sorting, for all indexes that are built together.
const SORT_BYTES: usize = 16 << 20;
/// Entries between two looks at whether to go on.
const CHECK_EVERY: u64 = 1024;

/// A sorter for each of so many indexes.
fn sorters(kernel: &Kernel, count: usize) -> Vec<EntrySorter> {
    let each = || EntrySorter::new(kernel.spools.clone(), SORT_BYTES / count.max(1));
    (0..count).map(|_| each()).collect()
}

pub(crate) struct Builder<'t> {
    table: &'t Table,
    indexes: Range<IndexNo>,
    /// Entries of each index.
    sorters: Vec<EntrySorter>,
    /// The key of an entry.
    key: Vec<u8>,
}

type Check<'c> = &'c dyn Fn() -> Result<()>;

impl<'t> Builder<'t> {
    /// Builds these secondary indexes of the table.
    pub fn new(kernel: &Kernel, table: &'t Table, indexes: Range<IndexNo>) -> Builder<'t> {
        Builder {
            table,
            sorters: sorters(kernel, indexes.len()),
            indexes,
            key: Vec::new(),
        }
    }

    /// Adds the entries of the rows in the table. No transaction may write to it meanwhile.
    pub fn index_rows(&mut self, check: Check<'_>) -> Result<()> {
        let table = self.table;
        each_row(table, check, &mut |key, value| {
            let head = Head::of(value);
            let outside = Outside::of(table, head.flags, row_of(value));
            let view = RowView::row(key, row_of(value), &outside);
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
            let outside = Outside::of(from, head.flags, row_of(value));
            let view = RowView::row(key, row_of(value), &outside);
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
            let outside = Outside::of(table, value[0], row_of(&value));
            self.add(&RowView::row(&key, row_of(&value), &outside), TxnId::NONE)?;
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
        for (n, sorter) in self.indexes.clone().zip(&mut self.sorters) {
            let (row_of, table) = (|c| row.get(c), self.table);
            let value = table.entry_value(n, &row_of, writer)?;
            table.each_entry_key(n, &row_of, row.primary_key(), &mut self.key, &mut |key| {
                if sorter.is_full() {
                    sorter.put_aside()?;
                }
                sorter.push(key, &value);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Fills the indexes. [`Error::DuplicateKey`] if one is unique and the rows are not.
    pub fn finish(self, check: Check<'_>) -> Result<()> {
        for (n, sorter) in self.indexes.zip(self.sorters) {
            let (layout, index) = (&self.table.entries[n - 1], &self.table.indexes[n]);
            let mut sorted = sorter.finish()?;
            let mut append = index.tree.append()?;
            let mut last: Vec<u8> = Vec::new();
            let mut appended = 0_u64;
            while let Some((key, value)) = sorted.current() {
                if index.unique && !layout.has_null(key) {
                    let own = &key[..layout.own_len(key)];
                    if own == last {
                        return Err(Error::DuplicateKey {
                            index: n,
                            primary_key: key[layout.primary_at(key)..].to_vec(),
                        });
                    }
                    last.clear();
                    last.extend_from_slice(own);
                }
                append.push(key, value)?;
                sorted.advance()?;
                appended += 1;
                if appended.is_multiple_of(CHECK_EVERY) {
                    check()?;
                }
            }
            append.finish()?;
        }
        Ok(())
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
        let mut value = Head {
            flags: self.layouts.flags(has_outside),
            writer,
            older: Address::NONE,
        }
        .bytes()
        .to_vec();
        value.extend_from_slice(&row);
        Ok((key, value))
    }
}
