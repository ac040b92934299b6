//! The list of open transactions, copied under the mutex of the whole kernel: MySQL 5.0 and 5.1, 2003 to 2010.
//!
//! ```text
//!   kernel_mutex ┌──────────────────────────┐      view: a new array
//!   ─────────────┤ open: 9 ─ 8 ─ 5 ─ 2      ├─────► [2 5 8 9] limit 10
//!                │ ids, begin, end, locks … │
//!                └──────────────────────────┘
//! ```
//!
//! A view walks the list from the newest transaction, in newly allocated memory, while every other begin, end and view waits.
//! A row's writer is then looked for in the array from its end, one after the other. In 5.0 the mutex also protects the locks
//! of rows; this engine's locks stay as they are, so the exhibit shows less contention than 5.0 had.
//!
//! Source: Callaghan, *Repeatable read versus read committed for InnoDB*, 2010.

use super::latch::Latch;
use super::{Exhibit, Snapshot};
use crate::ids::{Lsn, TxnId};
use std::collections::VecDeque;
use tidemark_pages::waits::Wait;

#[derive(Default)]
struct Kernel {
    /// Newest first.
    open: VecDeque<u64>,
    limit: u64,
}

pub(super) struct KernelMutex(Latch<Kernel>);

impl Default for KernelMutex {
    fn default() -> KernelMutex {
        KernelMutex(Latch::new(Wait::KernelMutex))
    }
}

impl Exhibit for KernelMutex {
    fn begin(&self, assign: &mut dyn FnMut() -> TxnId) -> TxnId {
        let mut kernel = self.0.lock();
        let id = assign();
        kernel.open.push_front(id.0);
        kernel.limit = id.0 + 1;
        id
    }

    fn end(&self, id: TxnId, _: Lsn) {
        let mut kernel = self.0.lock();
        if let Some(at) = kernel.open.iter().position(|open| *open == id.0) {
            kernel.open.remove(at);
        }
    }

    fn open(&self, snapshot: &mut Snapshot) {
        let kernel = self.0.lock();
        snapshot.active = kernel.open.iter().rev().copied().collect();
        snapshot.limit = kernel.limit;
    }

    fn sees(&self, snapshot: &Snapshot, _: Lsn, writer: TxnId, by_tide: &dyn Fn() -> bool) -> bool {
        match snapshot.limit {
            0 => by_tide(),
            limit => writer.0 < limit && !snapshot.active.iter().rev().any(|active| *active == writer.0),
        }
    }
}
