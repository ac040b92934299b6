//! The engine's names for things: each kind of number is its own type, so that a page is never taken for a table and a
//! log position never for a transaction.

use std::fmt;
pub use tidemark_pages::ids::{IndexId, Lsn, PAGE_SIZE, PageId, TxnId};

/// A table of the catalog, never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct TableId(pub u64);

impl fmt::Debug for TableId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableId({})", self.0)
    }
}

impl fmt::Display for TableId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
