//! An array of writers, read under a shared lock: PostgreSQL.
//!
//! ```text
//!   ids one at a time (XidGenLock)     ┌─┬─┬─┬─┬─┐
//!   begin ────────────────────────────►│5│·│8│·│9│   view: shared ProcArrayLock, walk → [5 8], limit 9 = last ended + 1
//!   end: exclusive ProcArrayLock ─────►└─┴─┴─┴─┴─┘
//! ```
//!
//! Views do not hold up each other, but the walk grows with the array, and each end of a writer waits for all walks. PostgreSQL 14
//! (2020) made the walk cheaper with the ids in an array of their own; the lock is the same.
//!
//! *Why the limit is one above the last to have ended.* An id is in the array before the next one is given, so whatever is below an
//! id that has ended is in the array or has ended, too.
//!
//! Source: Andres Freund, *Improving Postgres Connection Scalability: Snapshots*, 2020.

use super::cells::Cells;
use super::latch::{Latch, SharedLatch};
use super::{Exhibit, Snapshot};
use crate::ids::{Lsn, TxnId};
use std::sync::atomic::{AtomicU64, Ordering};
use tidemark_pages::waits::Wait;

pub(super) struct ProcArray {
    ids: Latch<()>,
    array: Cells,
    lock: SharedLatch,
    /// Changed under the exclusive lock alone; before any writer has ended, one that began first less one.
    last_ended: AtomicU64,
}

impl Default for ProcArray {
    fn default() -> ProcArray {
        ProcArray {
            ids: Latch::new(Wait::ProcArray),
            array: Cells::default(),
            lock: SharedLatch::new(Wait::ProcArray),
            last_ended: AtomicU64::new(0),
        }
    }
}

impl Exhibit for ProcArray {
    fn begin(&self, assign: &mut dyn FnMut() -> TxnId) -> TxnId {
        let _one = self.ids.lock();
        let id = assign();
        self.array.insert(id.0);
        // The first of all: what is below it had ended before there was a view.
        let _ = self
            .last_ended
            .compare_exchange(0, id.0 - 1, Ordering::SeqCst, Ordering::SeqCst);
        id
    }

    fn end(&self, id: TxnId, _: Lsn) {
        let _alone = self.lock.exclusive();
        if self.array.remove(id.0) {
            self.last_ended.fetch_max(id.0, Ordering::SeqCst);
        }
    }

    fn open(&self, snapshot: &mut Snapshot) {
        let _shared = self.lock.shared();
        snapshot.limit = match self.last_ended.load(Ordering::SeqCst) {
            0 => 0,
            last => last + 1,
        };
        self.array.scan(snapshot.limit, &mut snapshot.active);
    }

    fn sees(&self, snapshot: &Snapshot, _: Lsn, writer: TxnId, by_tide: &dyn Fn() -> bool) -> bool {
        match snapshot.limit {
            0 => by_tide(),
            _ => snapshot.has_ended(writer),
        }
    }
}
