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

/// An index of a table: 0 is the clustered index, `n` the table's n-th secondary index.
pub type IndexNo = usize;

/// An isolation level. What each means for reads and for locks stands in `docs/architecture.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Isolation {
    /// Plain reads return the newest version, committed or not.
    ReadUncommitted,
    /// A view per statement; locks of rows that do not match are released.
    ReadCommitted,
    /// A view per transaction, and locks on gaps.
    #[default]
    RepeatableRead,
    /// Like REPEATABLE READ. That plain reads lock is for the caller to ask for, with [`Read::Locking`](crate::Read).
    Serializable,
}
