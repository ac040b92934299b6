//! Entries of secondary indexes and their rows: which entry a row has, and which versions of a row have an entry.

use super::Table;
use super::entry::{EntryHead, Head};
use super::outside::Outside;
use super::row::RowView;
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

    /// Returns key and value of the row's entry, as `writer` writes it.
    pub(crate) fn encode_entry<'d>(
        &self,
        n: IndexNo,
        row: &dyn Fn(usize) -> Datum<'d>,
        primary_key: &[u8],
        writer: TxnId,
    ) -> Result<(Vec<u8>, Vec<u8>)> {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        self.encode_entry_key(n, row, primary_key, &mut key)?;
        value.extend_from_slice(&EntryHead::standing(writer).bytes());
        self.entries[n - 1].encode_stored(row, &mut value)?;
        Ok((key, value))
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
            entry_key.clear();
            self.encode_entry_key(n, &|c| view.get(c), key, &mut entry_key)?;
            outside.check()?;
            f(n, &entry_key)?;
        }
        Ok(())
    }

    pub(super) fn encode_entry_key<'d>(
        &self,
        n: IndexNo,
        row: &dyn Fn(usize) -> Datum<'d>,
        primary_key: &[u8],
        key: &mut Vec<u8>,
    ) -> Result<()> {
        let layout = &self.entries[n - 1];
        for part in &layout.parts[..layout.own] {
            part.encode(row(part.column), self.collator.as_ref(), key)?;
        }
        key.extend_from_slice(primary_key);
        Ok(())
    }

    /// True if the row's entry in the index has this key.
    pub(crate) fn has_entry(&self, n: IndexNo, row: &RowView, entry_key: &[u8]) -> Result<bool> {
        let mut key = Vec::with_capacity(entry_key.len());
        self.encode_entry_key(n, &|c| row.get(c), row.primary_key(), &mut key)?;
        Ok(key == entry_key)
    }
}
