//! Numbers that name things, each kind a type of its own, so that a page is never taken for a tree and a log position
//! never for a transaction.

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
    /// A log sequence number: a position in the redo log, in bytes, and thereby a moment.
    Lsn, u64
);
id!(
    /// A writing transaction. Dense, given at the first write; 0 is none.
    TxnId, u64
);
id!(
    /// A page of the pool. Data pages count from 0; scratch pages live above them.
    PageId, u32
);
id!(
    /// A tree, never used twice. Every page of the tree bears it.
    IndexId, u64
);

impl Lsn {
    /// No position: no record ends here.
    pub const ZERO: Lsn = Lsn(0);
    /// Later than every record.
    pub const MAX: Lsn = Lsn(u64::MAX);

    /// True if this is no position at all.
    #[inline]
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

    /// True for pages of the scratch file: not logged, and gone after a restart.
    #[inline]
    pub fn is_scratch(self) -> bool {
        self.0 >= Self::SCRATCH_FIRST
    }

    /// Whether this number names a page at all: a torn optimistic read may show any number.
    #[inline]
    pub fn is_valid(self) -> bool {
        self.0 < Self::SCRATCH_END
    }
}

impl TxnId {
    /// No transaction: rows written before any view could ask which transaction wrote them.
    pub const NONE: TxnId = TxnId(0);
}
