//! Entries of secondary indexes and their rows: which entries a row has, and which versions of a row have an entry.
//!
//! A row has one entry in an index. If a part of the index is a list, it has one for each different value of that. Each entry lives
//! for itself: it comes with the version of the row that brings its value and goes with the one that takes it away, and what
//! is argued of an entry and its row, anywhere, holds of each. A scan finds the row once for each of its entries in the range; the first of
//! them, in the direction of the scan, is enough for whoever wants each row once ([`RangeScan::once`]), and which that is follows
//! from the row.

use super::Table;
use super::entry::{EntryHead, Head};
use super::key::KeyPartCodec;
use super::outside::Outside;
use super::row::RowView;
use super::{KeyRange, RangeScan};
use crate::error::Result;
use crate::ids::{IndexNo, TxnId};
use crate::kernel::Kernel;
use crate::mvcc::{self, Address};
use crate::schema::Datum;

/// More versions than this are not looked through for an entry.
pub(super) const VERSIONS_MAX: usize = 64;

impl Table {
    /// The writer of the version before the newest of an entry's row, if that version has the same entry with the same
    /// stored columns.
    pub(crate) fn entry_writer_before(
        &self,
        kernel: &Kernel,
        n: IndexNo,
        entry_key: &[u8],
        stored: &[u8],
    ) -> Result<Option<TxnId>> {
        let primary_key = &entry_key[self.entries[n - 1].primary_at(entry_key)..];
        let clustered = &self.indexes[0];
        let leaf = clustered.tree.read(primary_key)?;
        let older = leaf
            .get(primary_key)
            .map_or(Address::NONE, |value| Head::of(value).older);
        if older == Address::NONE {
            return Ok(None);
        }
        let mut columns = Vec::new();
        let Some(version) = kernel.mvcc.versions().read(older, Some(&mut columns))? else {
            return Ok(None);
        };
        if version.flags & mvcc::DELETED != 0 {
            return Ok(None);
        }
        let outside = Outside::of(self, version.row_flags, &columns);
        let row = RowView::row(primary_key, &columns, &outside);
        let mut before = Vec::new();
        let same = self.has_entry(n, &row, entry_key)?;
        self.entries[n - 1].encode_stored(|c| row.get(c), &mut before)?;
        outside.check()?;
        Ok((same && before == stored).then_some(version.writer))
    }

    /// Whether any version of its row but the newest has that entry; true also if there are too many to look at.
    pub(crate) fn older_has_entry(&self, kernel: &Kernel, n: IndexNo, entry_key: &[u8]) -> Result<bool> {
        let primary_key = &entry_key[self.entries[n - 1].primary_at(entry_key)..];
        let clustered = &self.indexes[0];
        // The row's chain may be read while its leaf is latched.
        let leaf = clustered.tree.read(primary_key)?;
        let newest = leaf.get(primary_key).map(Head::of);
        let buried = clustered.graveyard.under(primary_key)?.last_key().is_some();
        let Some(mut at) = newest.map(|head| head.older).filter(|_| !buried) else {
            return Ok(true);
        };
        let mut columns = Vec::new();
        for _ in 0..VERSIONS_MAX {
            if at == Address::NONE {
                return Ok(false);
            }
            let Some(version) = kernel.mvcc.versions().read(at, Some(&mut columns))? else {
                return Ok(false);
            };
            if version.flags & mvcc::DELETED == 0 {
                let outside = Outside::of(self, version.row_flags, &columns);
                let row = RowView::row(primary_key, &columns, &outside);
                let has = self.has_entry(n, &row, entry_key)?;
                outside.check()?;
                if has {
                    return Ok(true);
                }
            }
            at = version.older;
        }
        Ok(true)
    }

    /// The value of the row's entries in the index, as `writer` writes them.
    pub(crate) fn entry_value<'d>(
        &self,
        n: IndexNo,
        row: &dyn Fn(usize) -> Datum<'d>,
        writer: TxnId,
    ) -> Result<Vec<u8>> {
        let mut value = Vec::new();
        value.extend_from_slice(&EntryHead::standing(writer).bytes());
        self.entries[n - 1].encode_stored(row, &mut value)?;
        Ok(value)
    }

    /// Calls `f` with the keys of a row's entries in the secondary indexes of the mask (bit n − 1 for index n).
    pub(crate) fn each_entry(
        &self,
        key: &[u8],
        flags: u8,
        row: &[u8],
        indexes: u64,
        f: &mut dyn FnMut(IndexNo, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let outside = Outside::of(self, flags, row);
        let view = RowView::row(key, row, &outside);
        let mut entry_key = Vec::new();
        for n in (1..self.indexes.len()).filter(|n| indexes >> (n - 1) & 1 == 1) {
            let row = |c| view.get(c);
            self.each_entry_key(n, &row, key, &mut entry_key, &mut |entry_key| f(n, entry_key))?;
            outside.check()?;
        }
        Ok(())
    }

    /// Calls `f` with the key of each entry that a row has in the index, in ascending order. `buffer` holds it meanwhile.
    pub(crate) fn each_entry_key<'d>(
        &self,
        n: IndexNo,
        row: &dyn Fn(usize) -> Datum<'d>,
        primary_key: &[u8],
        buffer: &mut Vec<u8>,
        f: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        if let Some(keys) = self.listed_keys(n, row, primary_key)? {
            return keys.iter().try_for_each(|key| f(key));
        }
        buffer.clear();
        self.encode_entry_key(n, &|part| row(part.column), primary_key, buffer)?;
        f(buffer)
    }

    /// The keys of a row's entries if a part of the index is a list that is not NULL: ascending, each once.
    pub(super) fn listed_keys<'d>(
        &self,
        n: IndexNo,
        row: &dyn Fn(usize) -> Datum<'d>,
        primary_key: &[u8],
    ) -> Result<Option<Vec<Vec<u8>>>> {
        let layout = &self.entries[n - 1];
        let list = layout.list.map(|at| &layout.parts[at]);
        let Some((column, element)) = list.and_then(|part| Some((part.column, part.list?))) else {
            return Ok(None);
        };
        let Datum::Bytes(values) = row(column) else {
            return Ok(None);
        };
        let mut keys = Vec::new();
        for value in element.values(values) {
            let mut key = Vec::new();
            let of_part = |part: &KeyPartCodec| match part.list {
                Some(_) => value,
                None => row(part.column),
            };
            self.encode_entry_key(n, &of_part, primary_key, &mut key)?;
            keys.push(key);
        }
        // Values that are different may have one key, as texts that are equal by their collation.
        keys.sort_unstable();
        keys.dedup();
        Ok(Some(keys))
    }

    fn encode_entry_key<'d>(
        &self,
        n: IndexNo,
        value: &dyn Fn(&KeyPartCodec) -> Datum<'d>,
        primary_key: &[u8],
        key: &mut Vec<u8>,
    ) -> Result<()> {
        let layout = &self.entries[n - 1];
        for part in &layout.parts[..layout.own] {
            part.encode(value(part), self.collator.as_ref(), key)?;
        }
        key.extend_from_slice(primary_key);
        Ok(())
    }

    /// True if the row has an entry of this key in the index.
    pub(crate) fn has_entry(&self, n: IndexNo, row: &RowView, entry_key: &[u8]) -> Result<bool> {
        let (mut found, mut buffer) = (false, Vec::with_capacity(entry_key.len()));
        self.each_entry_key(n, &|c| row.get(c), row.primary_key(), &mut buffer, &mut |key| {
            found |= key == entry_key;
            Ok(())
        })?;
        Ok(found)
    }

    /// True unless the scan wants each row once and this entry is not the first one by which it finds the row.
    pub(super) fn is_first(&self, scan: &RangeScan, row: &RowView, entry_key: &[u8]) -> Result<bool> {
        if scan.once.is_empty() {
            return Ok(true);
        }
        let Some(keys) = self.listed_keys(scan.index, &|c| row.get(c), row.primary_key())? else {
            return Ok(true);
        };
        let mut found = keys
            .iter()
            .filter(|key| scan.once.iter().any(|range: &KeyRange| range.contains(key)));
        let first = match scan.reverse {
            false => found.next(),
            true => found.next_back(),
        };
        Ok(first.is_some_and(|first| first == entry_key))
    }
}
