//! The list of open writers, copied under a mutex of its own: MySQL 5.6 and 5.7, 2013 to 2015.
//!
//! ```text
//!   trx_sys mutex ┌───────────────────┐        view: the session's array, used again
//!   ──────────────┤ rw ids: 2 5 8 9   ├──memcpy──► [2 5 8 9] limit 10
//!                 └───────────────────┘
//! ```
//!
//! What the kernel mutex protected besides has latches of its own now, the ids stand in an array that is copied as it is, and a
//! view's memory is used again. A row's writer is found by halving. But every view, begin and end of a writer still goes
//! through the one mutex, READ COMMITTED once for each statement.
//!
//! Source: Kravtchuk, *MySQL Performance: impact of InnoDB transaction isolation modes in MySQL 5.7*, 2015; Tkachenko, 2017.

use super::latch::Latch;
use super::{Exhibit, Snapshot};
use crate::ids::{Lsn, TxnId};
use tidemark_pages::waits::Wait;

/// The books.
#[derive(Default)]
struct Ids {
    active: Vec<u64>,
    limit: u64,
}

pub(super) struct TrxSys(Latch<Ids>);

impl Default for TrxSys {
    fn default() -> TrxSys {
        TrxSys(Latch::new(Wait::TrxSys))
    }
}

impl TrxSys {
    /// Begins a writer; `noted` is called under the mutex.
    pub fn begin_noted(&self, assign: &mut dyn FnMut() -> TxnId, noted: impl FnOnce()) -> TxnId {
        let mut ids = self.0.lock();
        let id = assign();
        ids.active.push(id.0);
        ids.limit = id.0 + 1;
        noted();
        id
    }

    /// Ends a writer; `noted` is called under the mutex.
    pub fn end_noted(&self, id: TxnId, noted: impl FnOnce()) {
        let mut ids = self.0.lock();
        if let Ok(at) = ids.active.binary_search(&id.0) {
            ids.active.remove(at);
            noted();
        }
    }

    /// Copies the books; what `edition` returns under the mutex becomes the snapshot's.
    pub fn copy(&self, snapshot: &mut Snapshot, edition: impl FnOnce() -> u64) {
        let ids = self.0.lock();
        snapshot.active.clear();
        snapshot.active.extend_from_slice(&ids.active);
        snapshot.limit = ids.limit;
        snapshot.edition = edition();
    }
}

impl Exhibit for TrxSys {
    fn begin(&self, assign: &mut dyn FnMut() -> TxnId) -> TxnId {
        self.begin_noted(assign, || ())
    }

    fn end(&self, id: TxnId, _: Lsn) {
        self.end_noted(id, || ());
    }

    fn open(&self, snapshot: &mut Snapshot) {
        self.copy(snapshot, || 0);
    }

    fn sees(&self, snapshot: &Snapshot, _: Lsn, writer: TxnId, by_tide: &dyn Fn() -> bool) -> bool {
        match snapshot.limit {
            0 => by_tide(),
            _ => snapshot.has_ended(writer),
        }
    }
}
