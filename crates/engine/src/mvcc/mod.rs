//! Multi-version concurrency: which transaction wrote what, when it committed, and which open view still needs the state
//! before.
//!
//! ```text
//!   leaf entry            scratch pages (versions, filled through each session's buffer)
//!  ┌──────────────┐      ┌──────────────┐      ┌──────────────┐
//!  │ writer older ├─────►│ writer older ├─────►│ writer older │      a chain: read by chain::walk, cut by chain::Pruner
//!  └───┬──────────┘      └──────────────┘      └──────────────┘
//!      │ txns: id → LSN of the end
//!      ▼
//!    end ≤ view.lsn ?  visible : follow `older`
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `txns` | transaction ids, and at which LSN each ended |
//! | `views` | open views, registered so that what they need is kept |
//! | `copies` | what pruners know of the open views |
//! | `versions`, `buffer`, `generations` | old versions in scratch pages, how a session fills those, and which life a page is in |
//! | `chain` | a row's versions: walked by readers, pruned by the next writer |
//! | `writers` | the transactions that are writing |
//! | `queue` | what waits for purge |
//! | `tides` | which time of the clock was which LSN |
//! | `hot` | which rows change most |
//!
//! [`Mvcc`] owns one of each, and knows the store for its tide and its scratch pages. The parts do not know it: each takes
//! what it needs as a parameter, so that the protocols of `txns`, `views` and `copies` can be checked by themselves.

mod buffer;
mod chain;
#[cfg(test)]
mod chain_tests;
mod copies;
mod generations;
mod hot;
mod queue;
mod sync;
mod tides;
mod txns;
#[cfg(test)]
mod txns_tests;
mod versions;
mod views;
mod writers;

pub(crate) use buffer::VersionBuffer;
pub(crate) use chain::{Chain, Seen};
pub(crate) use copies::Need;
pub use hot::HotRow;
pub(crate) use queue::{PageLife, PurgeItem, PurgeQueue};
pub(crate) use tides::SAMPLE_EVERY;
pub(crate) use txns::Txns;
pub(crate) use versions::{
    Address, DELETED, ENTRY, LINKED, PURGE, ROW, Record, Version, Versions, record_len,
};
pub(crate) use views::{SlotNo, TidePoint, View, Views};
pub(crate) use writers::Writers;

use crate::error::Result;
use crate::ids::{Lsn, TxnId};
use crate::store::Store;
use chain::{Pruner, ViewCopy};
use copies::Copy;
use generations::Generations;
use hot::HotRows;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::SystemTime;
use tides::Tides;

/// The multi-version state of an open engine. See the module's head.
pub(crate) struct Mvcc {
    store: Arc<Store>,
    pub txns: Txns,
    pub views: Views,
    /// The open views as pruners and purge know them.
    pub view_copy: ViewCopy,
    pub writers: Writers,
    pub generations: Generations,
    pub queue: PurgeQueue,
    pub hot: HotRows,
    pub tides: Tides,
    /// From where on history is kept whether or not a view needs it.
    retention_floor: Mutex<Option<TidePoint>>,
}

impl Mvcc {
    /// `next` is the first id to be given: all below it ended before the first view.
    pub fn new(store: Arc<Store>, next: TxnId) -> Mvcc {
        Mvcc {
            store,
            txns: Txns::new(next),
            views: Views::new(),
            view_copy: ViewCopy::new(next),
            writers: Writers::new(),
            generations: Generations::new(),
            queue: PurgeQueue::default(),
            hot: HotRows::default(),
            tides: Tides::default(),
            retention_floor: Mutex::new(None),
        }
    }

    /// Every commit at or before this is complete, and durable if commits are.
    #[inline]
    pub fn tide(&self) -> Lsn {
        self.store.log().tide()
    }

    #[inline]
    pub fn versions(&self) -> Versions<'_> {
        Versions {
            store: &self.store,
            generations: &self.generations,
            queue: &self.queue,
            hot: &self.hot,
        }
    }

    /// Opens a view at the tide and registers it in a session's slot.
    #[inline]
    pub fn open_view(&self, slot: SlotNo) -> View {
        let view = self.views.open(slot, &self.txns, || self.tide());
        #[cfg(feature = "museum")]
        let view = self.views.open_in_museum(slot, view);
        view
    }

    /// Gives a new writer its id.
    #[inline]
    pub fn assign(&self) -> TxnId {
        #[cfg(feature = "museum")]
        if let Some(museum) = crate::museum::current() {
            return museum.begin(|| self.txns.assign());
        }
        self.txns.assign()
    }

    /// The writer has ended, at this moment. Called before the record of its end is published to the log.
    #[inline]
    pub fn end(&self, id: TxnId, lsn: Lsn) {
        #[cfg(feature = "museum")]
        if let Some(museum) = crate::museum::current() {
            museum.end(id, lsn);
        }
        self.txns.end(id, lsn);
    }

    /// Reads the version that `view` sees of a row whose writer it does not see; its columns go into `columns`. The caller
    /// holds the latch of the row's leaf.
    pub fn walk(&self, view: &View, own: TxnId, newest: Address, columns: &mut Vec<u8>) -> Result<Seen> {
        chain::walk(&self.versions(), &self.txns, view, own, newest, columns)
    }

    /// Prunes the chain below a row; see [`Pruner::prune`].
    pub fn prune(&self, writer: TxnId, newest: Address) -> Result<Chain> {
        let pruner = Pruner {
            versions: self.versions(),
            copy: &self.view_copy,
            views: &self.views,
            txns: &self.txns,
            tide: || self.tide(),
        };
        pruner.prune(writer, newest)
    }

    /// Whether any view, open now or later, may need the version that `writer` wrote and `superseder` replaced.
    pub fn need(&self, writer: TxnId, superseder: TxnId) -> Need {
        self.view_copy
            .with(|copy| copy.need(writer, superseder, &self.txns))
    }

    /// Whether every view, open now or later, sees this writer.
    pub fn all_see(&self, writer: TxnId) -> bool {
        self.view_copy.certainly_all_see(writer, &self.txns)
    }

    /// Whether the transaction ended at or before the copy's horizon: views opened later see it.
    pub fn knows_end_of(&self, writer: TxnId) -> bool {
        self.view_copy.with(|copy| copy.knows_end_of(writer, &self.txns))
    }

    /// Views that the copy lacks are at or above this.
    pub fn horizon(&self) -> Lsn {
        self.view_copy.with(|copy| copy.horizon())
    }

    /// Refreshes the copy of the open views, and calls `then` with it before another thread can refresh it again.
    pub fn refresh_with<R>(&self, then: impl FnOnce(&Copy) -> R) -> R {
        self.view_copy
            .refresh_with(&self.views, &self.txns, || self.tide(), then)
    }

    /// Returns a position that no open view is older than.
    pub fn oldest_view(&self) -> Lsn {
        self.refresh_with(|copy| copy.oldest())
    }

    /// Remembers which LSN the present time of the clock is.
    pub fn sample_tide(&self) {
        let (settled, tide) = (self.txns.settled(), self.tide());
        self.tides.sample(SystemTime::now(), settled, tide);
    }

    pub fn retention_floor(&self) -> Option<TidePoint> {
        *self.retention_floor.lock()
    }

    /// Moves the retention floor to what `next` makes of it. What was thrown away before cannot be had back, so the floor may
    /// come to lie later than that.
    pub fn move_retention_floor(&self, next: impl FnOnce(Option<TidePoint>) -> Option<TidePoint>) {
        let mut floor = self.retention_floor.lock();
        let moved = next(*floor);
        if *floor != moved {
            let floor_now = moved.unwrap_or(TidePoint::NONE);
            let floor_now = self.view_copy.set_retention_floor(&self.views, floor_now);
            *floor = moved.map(|_| floor_now);
        }
    }
}
