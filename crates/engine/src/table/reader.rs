//! What a consistent read holds from its beginning to its end, and the first question it asks of every entry.
//!
//! The ways to read stand in `read/`, and what they do about deleted entries in `deleted/`; both are methods of [`Reader`].

use super::Table;
use super::range::Span;
use crate::error::{Error, Result};
use crate::ids::{IndexNo, TxnId};
use crate::kernel::Kernel;
use crate::lock::Interrupt;
use crate::txn::{Sight, Txn};

/// A consistent read of one table: the table, what is seen of it, and for which transaction.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'r> {
    pub table: &'r Table,
    pub kernel: &'r Kernel,
    pub sight: Sight,
    /// The reading transaction's id, 0 if it has written nothing: it sees its own versions.
    pub own: TxnId,
    /// Ends the scan.
    interrupt: &'r Interrupt,
}

/// The entries of an index that are still to be visited, and in which direction.
#[derive(Clone)]
pub(super) struct ScanRange {
    pub index: IndexNo,
    pub span: Span,
    pub reverse: bool,
}

impl<'r> Reader<'r> {
    /// Also returns the buffer for the columns of old versions.
    #[inline]
    pub fn new(table: &'r Table, sight: Sight, txn: &'r mut Txn<'_>) -> (Reader<'r>, &'r mut Vec<u8>) {
        let kernel = txn.kernel;
        let context = &mut **txn;
        let reader = Reader {
            table,
            kernel,
            sight,
            own: context.id,
            interrupt: &context.owner.interrupt,
        };
        (reader, &mut context.buffers.version)
    }

    /// True if the reader sees what `writer` wrote.
    #[inline]
    pub fn sees(&self, writer: TxnId) -> bool {
        match self.sight {
            Sight::Latest => true,
            Sight::View(view) => {
                (writer == self.own && self.own != TxnId::NONE) || view.sees(writer, &self.kernel.mvcc.txns)
            }
        }
    }

    /// Fails if the statement is to end.
    #[inline]
    pub fn check(&self) -> Result<()> {
        match self.interrupt.is_killed() {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }
}
