//! The engine's names for things: each kind of number is its own type, so that a page is never taken for a table and a
//! log position never for a transaction.

use std::fmt;

/// Bytes in a page. Every file format constant derives from it.
pub const PAGE_SIZE: usize = 16384;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $repr:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[repr(transparent)]
        pub struct $name(pub $repr);

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

id!(
    /// A position in the redo log, in bytes. Time itself: see the crate's head.
    Lsn, u64
);
id!(
    /// A writing transaction. Dense, given at the first write; 0 is nobody.
    TxnId, u64
);
id!(
    /// A page of the pool. Data pages count from 0; scratch pages live above them.
    PageId, u32
);
id!(
    /// A table of the catalog, never used twice.
    TableId, u64
);
id!(
    /// A tree of the catalog, never used twice.
    IndexId, u64
);

impl Lsn {
    pub const ZERO: Lsn = Lsn(0);
    pub const MAX: Lsn = Lsn(u64::MAX);
}

impl Lsn {
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl PageId {
    /// Page 0 is the superblock, which nothing links to, so a link to it means "none".
    pub const NONE: PageId = PageId(0);
    /// Data pages are numbered from 0 up to here: 1 TiB of them.
    pub const DATA_END: u32 = 1 << 26;
    /// Scratch pages are numbered from here …
    pub const SCRATCH_FIRST: u32 = Self::DATA_END;
    /// … up to here: 256 GiB of them.
    pub const SCRATCH_END: u32 = Self::SCRATCH_FIRST + (1 << 24);

    pub fn is_scratch(self) -> bool {
        self.0 >= Self::SCRATCH_FIRST
    }

    /// Whether this number names a page at all: a torn optimistic read may show any number.
    pub fn is_valid(self) -> bool {
        self.0 < Self::SCRATCH_END
    }
}

impl TxnId {
    /// No transaction: rows written before any view could ask who wrote them.
    pub const NONE: TxnId = TxnId(0);
}
