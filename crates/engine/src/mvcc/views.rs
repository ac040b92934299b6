//! Read views, and how other threads learn of them.
//!
//! A view is a copy of the tide. Each session owns a slot, a cache line of its own, in which it registers its view by
//! two stores; no lock is taken, and the cost does not depend on how many transactions run. Pruners and purge read all
//! slots from time to time, and keep a copy (`copies.rs`).
//!
//! ```text
//!  open:                                   copy:
//!    slot.lsn := tide | PROVISIONAL          horizon := tide
//!    fence                                   fence
//!    lsn := tide                             read every slot:  lsn          → a view
//!    slot.lsn := lsn | PROVISIONAL                             provisional  → horizon := min(horizon, it)
//!    slot.lsn := lsn
//! ```
//!
//! *A view that a copy has missed is never older than the copy's horizon.* The two fences stand in one total order. If
//! the opener's came first, the copier reads its slot: it sees the view itself, or the provisional tide, which lowers
//! the horizon to something not above what the view will be. If the copier's came first, the opener reads its final tide
//! after the copier read the horizon, and the tide only rises. So a stale copy is safe for ever: a version that was
//! superseded at or before the horizon, and that no view in the copy needs, is needed by no view at all.
//!
//! The same argument covers `low`: the opener re-reads `settled` after the fence, so either the copier saw its
//! provisional `low` and spares what lies above it, or the final `low` is at least what the copier took for settled.
//! And whatever `low` the copier finds in a slot, every transaction below it had ended at or before the moment that it
//! finds there: the final `low` is stored between two stores of the final moment.
//!
//! *The past.* If history is kept for some time, a view may also be opened at an earlier tide, down to the *retention
//! floor* that is announced here. The horizon is then lowered to that moment, before the copier's fence; the opener of
//! such a view registers it, fences, and only then checks that the floor is still not above it.

use super::copies::Watch;
use super::sync::{AtomicU64, AtomicUsize, Ordering, PART_SLOTS, PARTS_MAX, fence};
use super::txns::Txns;
use crate::ids::{Lsn, TxnId};
use crossbeam_utils::CachePadded;
use parking_lot::Mutex;
use std::sync::OnceLock;

const PROVISIONAL: u64 = 1 << 63;
const NONE: u64 = 0;

/// A moment of the log: a tide, and an id below which every transaction had ended by then. A view can be opened at it if it
/// is not below the *retention floor*, the earliest such moment that history is kept for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TidePoint {
    pub lsn: Lsn,
    pub settled: TxnId,
}

impl TidePoint {
    /// As a retention floor: views are opened at the tide and never earlier.
    pub const NONE: TidePoint = TidePoint {
        lsn: Lsn(u64::MAX),
        settled: TxnId(u64::MAX),
    };
}

/// What a transaction sees: every commit at or before `lsn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    pub lsn: Lsn,
    /// Writers below are visible without a look-up.
    pub low: TxnId,
    /// Writers at or above did not exist yet.
    pub high: TxnId,
    /// The slot under which the museum's exhibit has a snapshot for it; without one the tide decides.
    #[cfg(feature = "museum")]
    pub snapshot: Option<usize>,
}

impl View {
    #[inline]
    pub fn sees(&self, writer: TxnId, txns: &Txns) -> bool {
        #[cfg(feature = "sabotage")]
        if crate::sabotage::breaks("view") {
            return writer < self.low || txns.ended(writer).is_some();
        }
        #[cfg(feature = "museum")]
        if let (Some(slot), Some(museum)) = (self.snapshot, crate::museum::current()) {
            return museum.sees(slot, self.lsn, writer, || self.sees_by_tide(writer, txns));
        }
        self.sees_by_tide(writer, txns)
    }

    #[inline]
    fn sees_by_tide(&self, writer: TxnId, txns: &Txns) -> bool {
        writer < self.low || (writer < self.high && txns.ended(writer).is_some_and(|lsn| lsn <= self.lsn))
    }
}

struct Slot {
    lsn: AtomicU64,
    low: AtomicU64,
    high: AtomicU64,
}

/// The content of a slot.
pub(crate) enum Registered {
    Nothing,
    View(View),
    /// Some view at or after this is being opened, which will look up no writer below `low`.
    Provisional {
        lsn: Lsn,
        low: TxnId,
    },
}

/// The right to register one view at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SlotNo(usize);

pub(crate) struct Views {
    parts: Box<[OnceLock<Box<[CachePadded<Slot>]>>]>,
    used: AtomicUsize,
    free: Mutex<Vec<usize>>,
    /// The two halves of the retention floor.
    floor_lsn: AtomicU64,
    floor_settled: AtomicU64,
}

impl Views {
    pub fn new() -> Views {
        Views {
            parts: (0..PARTS_MAX).map(|_| OnceLock::new()).collect(),
            used: AtomicUsize::new(0),
            free: Mutex::new(Vec::new()),
            floor_lsn: AtomicU64::new(TidePoint::NONE.lsn.0),
            floor_settled: AtomicU64::new(TidePoint::NONE.settled.0),
        }
    }

    /// Announces that views may be opened at `floor` and later. It moves forwards, or back to where nothing was thrown
    /// away since. The views must not be copied meanwhile, because a copy must not see one half of the floor without
    /// the other.
    pub fn set_retention_floor(&self, floor: TidePoint) {
        self.floor_lsn.store(floor.lsn.0, Ordering::SeqCst);
        self.floor_settled.store(floor.settled.0, Ordering::SeqCst);
    }

    /// Opens a view at an earlier moment, of which `settled` was true. `None`: it lies below the retention floor.
    pub fn open_at(&self, slot: SlotNo, at: TidePoint, txns: &Txns) -> Option<View> {
        let slot = self.slot(slot.0);
        let view = View {
            lsn: at.lsn,
            low: at.settled,
            high: txns.next(),
            #[cfg(feature = "museum")]
            snapshot: None,
        };
        // Released, as in `open`.
        slot.low.store(view.low.0, Ordering::Release);
        slot.high.store(view.high.0, Ordering::Release);
        slot.lsn.store(at.lsn.0, Ordering::Release);
        fence(Ordering::SeqCst);
        if self.floor_lsn.load(Ordering::SeqCst) <= at.lsn.0 {
            return Some(view);
        }
        slot.lsn.store(NONE, Ordering::Release);
        None
    }

    fn slot(&self, no: usize) -> &Slot {
        let part = self.parts[no / PART_SLOTS].get_or_init(|| {
            let slot = || Slot {
                lsn: AtomicU64::new(NONE),
                low: AtomicU64::new(0),
                high: AtomicU64::new(0),
            };
            (0..PART_SLOTS).map(|_| CachePadded::new(slot())).collect()
        });
        &part[no % PART_SLOTS]
    }

    /// Opens the exhibit's view beside the tide's, which is open.
    #[cfg(feature = "museum")]
    pub fn open_in_museum(&self, slot: SlotNo, mut view: View) -> View {
        if let Some(museum) = crate::museum::current() {
            museum.open_view(slot.0);
            view.snapshot = Some(slot.0);
        }
        view
    }

    /// A slot for a session; given back with [`Self::release`].
    pub fn acquire(&self) -> SlotNo {
        let mut free = self.free.lock();
        SlotNo(free.pop().unwrap_or_else(|| {
            let no = self.used.load(Ordering::Relaxed);
            assert!(
                no < PART_SLOTS * PARTS_MAX,
                "more sessions than views can be registered for"
            );
            self.slot(no);
            // SeqCst, as the fences below: a copier that does not count this slot came before its first view.
            self.used.store(no + 1, Ordering::SeqCst);
            no
        }))
    }

    pub fn release(&self, slot: SlotNo) {
        self.close(slot);
        self.free.lock().push(slot.0);
    }

    /// Opens and registers a view. `tide` must never fall.
    #[inline]
    pub fn open(&self, slot: SlotNo, txns: &Txns, tide: impl Fn() -> Lsn) -> View {
        let slot = self.slot(slot.0);
        // Released, each: a reader that sees one of these stores must see, when it loads `lsn` again, that the view before was
        // closed. Otherwise it could pair the old view's `lsn` with this view's bounds.
        slot.low.store(txns.settled().0, Ordering::Release);
        slot.high.store(u64::MAX, Ordering::Release);
        slot.lsn.store(tide().0 | PROVISIONAL, Ordering::Release);
        fence(Ordering::SeqCst);
        // In this order: transactions below `low` ended at or before a tide that `lsn` is not below, and those at or
        // above `high` are yet to begin, so will end after `lsn`.
        let low = txns.settled();
        let lsn = tide();
        let high = txns.next();
        // First, so that no copier takes the new `low` for one that held at the provisional tide.
        slot.lsn.store(lsn.0 | PROVISIONAL, Ordering::Relaxed);
        slot.low.store(low.0, Ordering::Release);
        slot.high.store(high.0, Ordering::Release);
        slot.lsn.store(lsn.0, Ordering::Release);
        View {
            lsn,
            low,
            high,
            #[cfg(feature = "museum")]
            snapshot: None,
        }
    }

    #[inline]
    pub fn close(&self, slot: SlotNo) {
        self.slot(slot.0).lsn.store(NONE, Ordering::Release);
    }

    /// How many slots sessions have, or had.
    #[inline]
    pub fn slots(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Looks at every slot.
    pub fn look(&self, watch: &mut Watch, txns: &Txns, tide: impl Fn() -> Lsn) {
        let settled = txns.settled();
        let floor = TidePoint {
            settled: TxnId(self.floor_settled.load(Ordering::SeqCst)),
            lsn: Lsn(self.floor_lsn.load(Ordering::SeqCst)),
        };
        watch.begin(tide(), settled, floor);
        fence(Ordering::SeqCst);
        let used = self.used.load(Ordering::SeqCst);
        watch.expect(used);
        for no in 0..used {
            watch.saw(no, self.see(no));
        }
    }

    #[inline]
    fn see(&self, no: usize) -> Registered {
        let slot = self.slot(no);
        loop {
            let lsn = slot.lsn.load(Ordering::Acquire);
            if lsn == NONE {
                return Registered::Nothing;
            }
            let low = TxnId(slot.low.load(Ordering::Acquire));
            let high = TxnId(slot.high.load(Ordering::Acquire));
            if slot.lsn.load(Ordering::Acquire) != lsn {
                // Closed, or opened anew; read it again.
                continue;
            }
            if lsn & PROVISIONAL != 0 {
                let lsn = Lsn(lsn & !PROVISIONAL);
                return Registered::Provisional { lsn, low };
            }
            let lsn = Lsn(lsn);
            return Registered::View(View {
                lsn,
                low,
                high,
                #[cfg(feature = "museum")]
                snapshot: None,
            });
        }
    }

    /// The view registered in a slot, if there is one.
    pub fn get(&self, slot: SlotNo) -> Option<View> {
        match self.see(slot.0) {
            Registered::View(view) => Some(view),
            Registered::Nothing | Registered::Provisional { .. } => None,
        }
    }

    /// The position that the view registered in a slot sees, if there is one.
    pub fn peek(&self, slot: SlotNo) -> Option<Lsn> {
        match self.slot(slot.0).lsn.load(Ordering::Relaxed) {
            NONE => None,
            lsn => Some(Lsn(lsn & !PROVISIONAL)),
        }
    }

    /// How many views are registered, about.
    pub fn open_count(&self) -> usize {
        let used = self.used.load(Ordering::Relaxed);
        (0..used)
            .filter(|no| self.slot(*no).lsn.load(Ordering::Relaxed) != NONE)
            .count()
    }
}
