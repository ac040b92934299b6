//! The museum: how other engines make a read view, in this engine.
//!
//! ```text
//!                     begin (an id)      end (before the tide can pass it)      open, sees
//!   transactions ───────────┴────────────────────────┴───────────────────────────┴────► one exhibit
//! ```
//!
//! | exhibit | stands for | its latch |
//! |---|---|---|
//! | `kernel_mutex` | MySQL 5.0 and 5.1 (2003–2010): the list of open transactions, copied under one mutex | `kernel_mutex` |
//! | `trx_sys` | MySQL 5.6 and 5.7 (2013–2015): the same under a mutex of its own | `trx_sys` |
//! | `cached_view` | the patch of bug #79005 (2015): the last view again if no writer came or went | `trx_sys` |
//! | `rw_trx_hash` | MariaDB 10.3 and later (2018): a table of writers without a lock | none |
//! | `commit_numbers` | PolarDB-X's Lizard (2021): a number for a view, a look-up for every row | none |
//! | `procarray` | PostgreSQL: an array of writers, read under a shared lock | `proc_array` |
//! | `pruning_off` | the tide's view; history is kept while any view is older than it | none |
//!
//! Compiled only with the feature `museum`, which no release has. The seam is in `mvcc`:
//! `Mvcc::assign`, `Mvcc::end` and `Mvcc::open_view`, `View::sees`, `Copy::need`. What stands there is under
//! `cfg(feature = "museum")`, so that the normal build has not an instruction of it.
//!
//! *An exhibit's view is never older than the tide's.* The tide's view is registered first, as always, and a transaction is
//! taken off an exhibit's books before the tide can pass its end; so an exhibit sees whatever the tide's view sees, and
//! maybe commits that are not durable yet, as those engines do. And it must not lose a version that lies between two views:
//! while an exhibit is open, only what every view has passed is thrown away ([`keeps_history`]), as in those engines.
//!
//! An exhibit belongs to the process, which must have one engine then.

mod cached_view;
mod cells;
mod commit_numbers;
mod kernel_mutex;
mod latch;
mod procarray;
mod pruning_off;
mod rw_trx_hash;
#[cfg(test)]
mod tests;
mod trx_sys;

use crate::ids::{Lsn, TxnId};
use crossbeam_utils::CachePadded;
use parking_lot::Mutex;
use std::sync::OnceLock;

/// What a view of an exhibit remembers. Its room is kept from one view of a session to the next.
#[derive(Default)]
pub(crate) struct Snapshot {
    /// Writers that were active, ascending.
    active: Vec<u64>,
    /// Writers from here on had not begun.
    limit: u64,
    /// The state of the books that it was copied from, where an exhibit numbers them.
    edition: u64,
}

impl Snapshot {
    /// True if the writer had ended when the books were copied.
    fn has_ended(&self, writer: TxnId) -> bool {
        writer.0 < self.limit && self.active.binary_search(&writer.0).is_err()
    }
}

/// A way to make a read view.
pub(crate) trait Exhibit: Send + Sync {
    /// A writer begins: enters the books with the id that `assign` gives.
    fn begin(&self, assign: &mut dyn FnMut() -> TxnId) -> TxnId;

    /// A writer ends at this moment, which the tide has not passed yet. One that has not begun here is not known here.
    fn end(&self, id: TxnId, at: Lsn);

    /// Fills a session's snapshot, which has the session's view before.
    fn open(&self, snapshot: &mut Snapshot);

    /// True if the view sees what `writer` wrote. `moment` is the tide that was registered with it; `by_tide` asks the tide's view.
    fn sees(&self, snapshot: &Snapshot, moment: Lsn, writer: TxnId, by_tide: &dyn Fn() -> bool) -> bool;
}

type Make = fn() -> Box<dyn Exhibit>;

/// Names as `--museum` has them.
const EXHIBITS: [(&str, Make); 7] = [
    ("kernel_mutex", || Box::new(kernel_mutex::KernelMutex::default())),
    ("trx_sys", || Box::new(trx_sys::TrxSys::default())),
    ("cached_view", || Box::new(cached_view::CachedView::default())),
    ("rw_trx_hash", || Box::new(rw_trx_hash::RwTrxHash::default())),
    ("commit_numbers", || {
        Box::new(commit_numbers::CommitNumbers::default())
    }),
    ("procarray", || Box::new(procarray::ProcArray::default())),
    ("pruning_off", || Box::new(pruning_off::PruningOff)),
];

const PART: usize = 64;
const PARTS: usize = 4096;
type Part = Box<[CachePadded<Mutex<Snapshot>>]>;

/// An open exhibit, with the snapshots of sessions.
pub(crate) struct Museum {
    exhibit: Box<dyn Exhibit>,
    snapshots: Box<[OnceLock<Part>]>,
}

static OPEN: OnceLock<Museum> = OnceLock::new();

/// The names of the exhibits.
pub fn names() -> impl Iterator<Item = &'static str> {
    EXHIBITS.iter().map(|(name, _)| *name)
}

/// Opens an exhibit for this process, before its engine is opened. False if there is none of that name, or one is open.
pub fn open(name: &str) -> bool {
    let Some((_, make)) = EXHIBITS.iter().find(|(known, _)| *known == name) else {
        return false;
    };
    OPEN.set(Museum::new(make())).is_ok()
}

/// The exhibit that is open.
#[inline]
pub(crate) fn current() -> Option<&'static Museum> {
    OPEN.get()
}

/// True if versions between two views are kept.
pub(crate) fn keeps_history() -> bool {
    OPEN.get().is_some()
}

impl Museum {
    fn new(exhibit: Box<dyn Exhibit>) -> Museum {
        Museum {
            exhibit,
            snapshots: (0..PARTS).map(|_| OnceLock::new()).collect(),
        }
    }

    fn snapshot(&self, slot: usize) -> &Mutex<Snapshot> {
        let part =
            self.snapshots[slot / PART].get_or_init(|| (0..PART).map(|_| CachePadded::default()).collect());
        &part[slot % PART]
    }

    pub fn begin(&self, mut assign: impl FnMut() -> TxnId) -> TxnId {
        self.exhibit.begin(&mut assign)
    }

    pub fn end(&self, id: TxnId, at: Lsn) {
        self.exhibit.end(id, at);
    }

    /// The session of this slot opens a view; the tide's is registered.
    pub fn open_view(&self, slot: usize) {
        self.exhibit.open(&mut self.snapshot(slot).lock());
    }

    /// Whether the view that the session of this slot has open sees the writer.
    pub fn sees(&self, slot: usize, moment: Lsn, writer: TxnId, by_tide: impl Fn() -> bool) -> bool {
        let snapshot = self.snapshot(slot).lock();
        self.exhibit.sees(&snapshot, moment, writer, &by_tide)
    }
}
