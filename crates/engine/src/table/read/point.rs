//! One row by its whole clustered key: the version that the reader sees, where it lies.

use super::super::entry::{Head, row_of};
use super::super::outside::Outside;
use super::super::reader::Reader;
use super::super::row::RowView;
use crate::error::{Error, Result};
use crate::mvcc::Seen;
use crate::txn::Sight;

impl Reader<'_> {
    /// Shows the visible version of a row, if there is one, and returns what `f` does; else false.
    #[inline]
    pub fn row(
        &self,
        key: &[u8],
        buffer: &mut Vec<u8>,
        f: &mut dyn FnMut(&RowView) -> Result<bool>,
    ) -> Result<bool> {
        let leaf = self.table.indexes[0].tree.read(key)?;
        match (leaf.node().search(key), self.sight) {
            (Ok(slot), _) => self.value(key, leaf.node().value(slot), buffer, f),
            (Err(_), Sight::View(view)) => self.deleted_row(&view, key, buffer, f),
            (Err(_), Sight::Latest) => Ok(false),
        }
    }

    /// Like [`Self::row`], for a clustered value whose leaf the caller has latched.
    #[inline]
    pub fn value(
        &self,
        key: &[u8],
        value: &[u8],
        buffer: &mut Vec<u8>,
        f: &mut dyn FnMut(&RowView) -> Result<bool>,
    ) -> Result<bool> {
        let head = Head::of(value);
        if self.sees(head.writer) {
            if head.is_deleted() {
                return Ok(false);
            }
            return self.show(key, head.flags, row_of(value), f);
        }
        let Sight::View(view) = self.sight else {
            return Ok(false);
        };
        match self.kernel.mvcc.walk(&view, self.own, head.older, buffer)? {
            Seen::Nothing => Ok(false),
            Seen::Unborn => self.deleted_row(&view, key, buffer, f),
            Seen::Row { flags } => self.show(key, flags, buffer, f),
        }
    }

    /// Shows a row whose head has these flags.
    #[inline]
    pub fn show(
        &self,
        key: &[u8],
        flags: u8,
        row: &[u8],
        f: &mut dyn FnMut(&RowView) -> Result<bool>,
    ) -> Result<bool> {
        let outside = Outside::of(self.table, flags, row);
        let shown = f(&RowView::row(key, row, &outside))?;
        match outside.check() {
            // What it has shown of the row is cut short: that is what can be saved of it.
            Err(error @ Error::Corrupt { .. }) if self.kernel.store.force_recovery() > 0 => {
                ::log::error!("a column of a row of table {} is lost: {error}", self.table.id());
            }
            checked => checked?,
        }
        Ok(shown)
    }
}
