//! A table of writers without a lock: MariaDB since 10.3, 2018.
//!
//! ```text
//!   begin:  begun += 1;  id;  into the table;  newest := id;  entered += 1
//!   view:   newest → limit;  wait until entered = begun;  walk the table → [2 5 8 9]
//!   end:    leaving += 1;  out of the table;  left += 1
//! ```
//!
//! A view waits until every writer that may be below its limit is in the table, and walks the table without a lock. The walk takes
//! longer with more writers, but holds up nobody. Where a writer leaves during the walk this one begins again: otherwise it might
//! miss a commit and see one that built upon it.
//!
//! Source: MariaDB's `trx0sys.h` (`rw_trx_hash_t`, MDEV-12288 and what followed), for the idea.

use super::cells::Cells;
use super::{Exhibit, Snapshot};
use crate::ids::{Lsn, TxnId};
use crossbeam_utils::CachePadded;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

#[derive(Default)]
pub(super) struct RwTrxHash {
    cells: Cells,
    begun: CachePadded<AtomicU64>,
    entered: CachePadded<AtomicU64>,
    newest: CachePadded<AtomicU64>,
    leaving: CachePadded<AtomicU64>,
    left: CachePadded<AtomicU64>,
}

impl RwTrxHash {
    /// One above the newest writer; all writers below are in the table, or have left it.
    fn limit(&self) -> u64 {
        loop {
            let newest = self.newest.load(SeqCst);
            // In this order: equal, they say that whatever had begun at the first had entered.
            let entered = self.entered.load(SeqCst);
            if entered == self.begun.load(SeqCst) {
                return if newest == 0 { 0 } else { newest + 1 };
            }
            std::thread::yield_now();
        }
    }
}

impl Exhibit for RwTrxHash {
    fn begin(&self, assign: &mut dyn FnMut() -> TxnId) -> TxnId {
        self.begun.fetch_add(1, SeqCst);
        let id = assign();
        self.cells.insert(id.0);
        self.newest.fetch_max(id.0, SeqCst);
        self.entered.fetch_add(1, SeqCst);
        id
    }

    fn end(&self, id: TxnId, _: Lsn) {
        self.leaving.fetch_add(1, SeqCst);
        self.cells.remove(id.0);
        self.left.fetch_add(1, SeqCst);
    }

    fn open(&self, snapshot: &mut Snapshot) {
        loop {
            let left = self.left.load(SeqCst);
            snapshot.limit = self.limit();
            self.cells.scan(snapshot.limit, &mut snapshot.active);
            if self.leaving.load(SeqCst) == left {
                return;
            }
            std::hint::spin_loop();
        }
    }

    fn sees(&self, snapshot: &Snapshot, _: Lsn, writer: TxnId, by_tide: &dyn Fn() -> bool) -> bool {
        match snapshot.limit {
            0 => by_tide(),
            _ => snapshot.has_ended(writer),
        }
    }
}
