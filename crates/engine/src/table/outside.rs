//! Columns too long for their row stand outside it, in a chain of pages; the row keeps a reference.
//!
//! ```text
//!  reference := first page u32 | length u64
//! ```
//!
//! A chain is never changed. Its pages are written before the row that names it, each with an undo note of the writing
//! transaction, so that a rollback, or a crash before the commit, frees them. A change that makes a chain obsolete first
//! enters it in the catalog's garbage list, as part of its transaction; purge frees the chain once no view can see it, and
//! the next start frees what purge did not get to.
//!
//! A chain that a row names can be read as long as the row's leaf is latched, or the row is locked, or an open view sees
//! the version that names it.

use super::row::RowLayout;
use super::{Table, entry};
use crate::bytes::ByteReader;
use crate::error::{Error, Result};
use crate::ids::PageId;
use crate::kernel::Kernel;
use crate::log::TxnNote;
use crate::schema::Datum;
use crate::tree::{MAX_ENTRY_LEN, OVERFLOW_CAPACITY, Tree};
use crate::txn::{Txn, UNDO_OF_A_PAGE, Undo};
use std::cell::{Cell, OnceCell};

const REFERENCE_BYTES: usize = 12;
/// A row above this moves columns out.
const ROW_BYTES_GOOD: usize = 4000;
/// Columns shorter than this stay.
const COLUMN_BYTES_MIN: usize = 64;

pub(crate) fn reference(first: PageId, len: usize) -> [u8; REFERENCE_BYTES] {
    let mut out = [0; REFERENCE_BYTES];
    out[..4].copy_from_slice(&first.0.to_le_bytes());
    out[4..].copy_from_slice(&(len as u64).to_le_bytes());
    out
}

/// The first page of the chain that a reference names.
pub(crate) fn first_page(reference: &[u8]) -> Option<PageId> {
    ByteReader(reference).u32().map(PageId)
}

/// A row's layout, and its columns outside the row, each read when first asked for.
pub(crate) struct Outside<'t> {
    pub(super) layout: &'t RowLayout,
    tree: &'t Tree,
    columns: Vec<(usize, PageId, OnceCell<Vec<u8>>)>,
    error: Cell<Option<Error>>,
}

impl<'t> Outside<'t> {
    /// Of a row of the table whose head has these flags. A row of a version that this handle does not know, as purge may meet one
    /// after the table was redefined, cannot be read with it: [`Self::check`] fails.
    #[inline]
    pub fn of(table: &'t Table, flags: u8, row: &[u8]) -> Outside<'t> {
        let layout = table.layouts.of(flags, row);
        let is_known =
            flags & entry::VERSIONED == 0 || entry::row_version(flags, row) <= table.row_versions();
        let mut columns = Vec::new();
        if flags & entry::OUTSIDE != 0 {
            let found = layout
                .outside(row)
                .map(|(c, r)| (c, first_page(r).unwrap_or(PageId(0)), OnceCell::new()));
            columns.extend(found);
        }
        Outside {
            layout,
            tree: &table.indexes[0].tree,
            columns,
            error: Cell::new((!is_known).then_some(Error::TableGone)),
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The column's bytes, if it stands outside. If it cannot be read, [`Self::check`] tells.
    pub fn get(&self, column: usize) -> Option<&[u8]> {
        let (_, first, cell) = self.columns.iter().find(|(c, ..)| *c == column)?;
        Some(cell.get_or_init(|| {
            let mut bytes = Vec::new();
            if let Err(error) = self.tree.overflow().read(*first, &mut bytes) {
                self.error.set(Some(error.into()));
            }
            bytes
        }))
    }

    /// Notes that a column was asked for that the row does not have, for [`Self::check`].
    #[cold]
    pub fn refuse(&self, column: usize) {
        let what = "no such column";
        self.error.set(Some(Error::WrongValue { column, what }));
    }

    /// Fails if anything asked for could not be read, or does not exist.
    #[inline]
    pub fn check(&self) -> Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }
}

/// An owned value.
#[derive(Clone, Debug)]
pub(crate) enum Owned {
    Null,
    Int(i64),
    UInt(u64),
    Float(f32),
    Double(f64),
    Bytes(Vec<u8>),
    /// Stands outside already.
    Reference(Vec<u8>),
}

impl Owned {
    pub fn of(datum: Datum) -> Owned {
        match datum {
            Datum::Null => Owned::Null,
            Datum::Int(v) => Owned::Int(v),
            Datum::UInt(v) => Owned::UInt(v),
            Datum::Float(v) => Owned::Float(v),
            Datum::Double(v) => Owned::Double(v),
            Datum::Bytes(b) => Owned::Bytes(b.to_vec()),
        }
    }

    pub fn datum(&self) -> Datum<'_> {
        match self {
            Owned::Null => Datum::Null,
            Owned::Int(v) => Datum::Int(*v),
            Owned::UInt(v) => Datum::UInt(*v),
            Owned::Float(v) => Datum::Float(*v),
            Owned::Double(v) => Datum::Double(*v),
            Owned::Bytes(b) | Owned::Reference(b) => Datum::Bytes(b),
        }
    }
}

/// True if a row of this length should move columns out.
pub(crate) fn is_long(key_len: usize, row_len: usize) -> bool {
    key_len + entry::ROW_AT + row_len > ROW_BYTES_GOOD
}

impl Table {
    /// The first pages of the chains that a row names whose head has these flags.
    pub(crate) fn chains_of(&self, flags: u8, row: &[u8]) -> Vec<PageId> {
        if flags & entry::OUTSIDE == 0 {
            return Vec::new();
        }
        let outside = self.layouts.of(flags, row).outside(row);
        outside
            .filter_map(|(_, reference)| first_page(reference))
            .collect()
    }

    /// Moves a row's longest columns out until it fits, and encodes it. Holds no latch. Without a transaction, only
    /// freeing the tree frees the columns written here after a crash.
    pub(crate) fn encode_long_row(
        &self,
        kernel: &Kernel,
        mut txn: Option<&mut Txn<'_>>,
        values: &mut [Owned],
        key_len: usize,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        // A column that indexes need is moved last.
        let indexed = |c: usize| self.entries.iter().any(|e| e.parts.iter().any(|p| p.column == c));
        loop {
            let row_len = self.layouts.newest().size(|c| values[c].datum());
            if !is_long(key_len, row_len) {
                break;
            }
            let candidate = (0..values.len())
                .filter(|c| self.schema.columns[*c].ty.fixed_len().is_none())
                .filter_map(|c| match &values[c] {
                    Owned::Bytes(b) if b.len() > COLUMN_BYTES_MIN => Some((!indexed(c), b.len(), c)),
                    _ => None,
                })
                .max();
            let Some((_, _, column)) = candidate else {
                if key_len + entry::ROW_AT + row_len <= MAX_ENTRY_LEN {
                    break;
                }
                return Err(Error::RowTooLarge {
                    bytes: row_len,
                    max_bytes: MAX_ENTRY_LEN,
                });
            };
            if let Owned::Bytes(bytes) = &values[column] {
                let first = self.write_chain(kernel, txn.as_deref_mut(), bytes)?;
                values[column] = Owned::Reference(reference(first, bytes.len()).to_vec());
            }
        }
        let is_reference = |c: usize| matches!(values[c], Owned::Reference(_));
        self.layouts
            .newest()
            .encode(|c| values[c].datum(), is_reference, out)
    }

    fn write_chain(&self, kernel: &Kernel, mut txn: Option<&mut Txn<'_>>, value: &[u8]) -> Result<PageId> {
        let mut next = PageId(0);
        for data in value.chunks(OVERFLOW_CAPACITY).rev() {
            if let Some(txn) = &mut txn {
                txn.reserve_undo()?;
            }
            let mut mtr = kernel.store.begin_mtr()?;
            let id = self.indexes[0].tree.overflow().write_page(&mut mtr, next, data)?;
            if let Some(txn) = &mut txn {
                txn.buffers.note.clear();
                Undo::OutsidePage { page: id }.encode(&mut txn.buffers.note);
                mtr.note(TxnNote::Undo {
                    txn: txn.id,
                    prev: txn.last_undo,
                    payload: &txn.buffers.note,
                });
            }
            let lsn = mtr.commit();
            if let Some(txn) = &mut txn {
                txn.wrote(lsn.start, UNDO_OF_A_PAGE);
            }
            next = id;
        }
        Ok(next)
    }

    /// Encodes a row for a tree that no transaction uses yet. Also returns whether it has columns outside.
    pub(crate) fn encode_unlogged_row(
        &self,
        kernel: &Kernel,
        row: &[Datum],
        key_len: usize,
    ) -> Result<(Vec<u8>, bool)> {
        let mut values: Vec<Owned> = row.iter().map(|d| Owned::of(*d)).collect();
        let mut out = Vec::new();
        self.encode_long_row(kernel, None, &mut values, key_len, &mut out)?;
        Ok((out, values.iter().any(|v| matches!(v, Owned::Reference(_)))))
    }
}
