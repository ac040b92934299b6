//! A copy of the open views, as pruners and purge use it, and how it follows the views' slots.
//!
//! A look at the slots only records what has changed since the last one, so views that stay open are neither copied nor
//! sorted again, however many there are. Why a copy stays valid for ever, however old, is explained in `views.rs`: a
//! view that it lacks is not older than its horizon.

use super::txns::{Txns, Window};
use super::views::{Registered, TidePoint, View};
use crate::ids::{Lsn, TxnId};

/// Bounds on the views that a copy lacks: those opened later, and those that were being opened at the time.
#[derive(Clone, Debug, Default)]
struct Missed {
    /// Their positions are at or above this.
    horizon: Lsn,
    /// Writers below this had all ended at or before the horizon.
    settled: TxnId,
    /// The ids that views just being opened may look up.
    unsure: Vec<Window>,
    /// Views may be opened in the past, so the horizon is the retention floor rather than the tide of the moment.
    has_floor: bool,
}

/// A copy of the open views, sorted.
#[derive(Debug, Default)]
pub(crate) struct Copy {
    pub views: Vec<View>,
    missed: Missed,
}

/// The contents of the slots at the last look, and what has changed since the look before.
#[derive(Default)]
pub(crate) struct Watch {
    slots: Vec<Option<View>>,
    closed: Vec<View>,
    opened: Vec<View>,
    missed: Missed,
}

/// Which views need a version, as far as a copy can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Every view sees the superseder, and so needs nothing older either.
    AllPassed,
    /// No view needs it.
    None,
    /// Some view needs it. The number counts the open views that do not see its superseder: only they can need it, or
    /// anything older. A view opened later sees the superseder, so an equal number later means that none of them has
    /// been closed.
    By(u32),
    /// The superseder ended after the horizon, or has not ended: the copy is too old to tell.
    Unknown,
}

impl Watch {
    /// Begins a look: `tide`, and the id below which every writer had ended by then. The retention `floor` was
    /// announced before.
    pub fn begin(&mut self, tide: Lsn, settled: TxnId, floor: TidePoint) {
        self.closed.clear();
        self.opened.clear();
        self.missed.horizon = tide.min(floor.lsn);
        self.missed.settled = settled.min(floor.settled);
        self.missed.has_floor = floor != TidePoint::NONE;
        self.missed.unsure.clear();
        if self.missed.has_floor {
            self.missed.unsure.push(Window::upwards(floor.settled));
        }
    }

    /// Sets the number of slots in use.
    pub fn expect(&mut self, slots: usize) {
        self.slots.resize(slots, None);
    }

    /// Records the content of one slot.
    #[inline]
    pub fn saw(&mut self, no: usize, registered: Registered) {
        let view = match registered {
            Registered::Nothing => None,
            Registered::View(view) => Some(view),
            Registered::Provisional { lsn, low } => {
                self.missed.horizon = self.missed.horizon.min(lsn);
                self.missed.settled = self.missed.settled.min(low);
                self.missed.unsure.push(Window::upwards(low));
                None
            }
        };
        if self.slots[no] != view {
            self.closed.extend(self.slots[no]);
            self.opened.extend(view);
            self.slots[no] = view;
        }
    }

    /// The oldest view that was closed since the look before.
    pub fn oldest_closed(&self) -> Option<Lsn> {
        self.closed.iter().map(|view| view.lsn).min()
    }

    pub fn has_floor(&self) -> bool {
        self.missed.has_floor
    }
}

impl Copy {
    /// A copy of no views. All writers below `settled` must have ended before the first view is opened.
    pub fn new(settled: TxnId) -> Copy {
        let missed = Missed {
            settled,
            ..Missed::default()
        };
        Copy {
            views: Vec::new(),
            missed,
        }
    }

    /// Views that are not in the copy are at or above this.
    pub fn horizon(&self) -> Lsn {
        self.missed.horizon
    }

    /// Writers below this had all ended at or before the horizon.
    pub fn settled(&self) -> TxnId {
        self.missed.settled
    }

    /// Views may be opened in the past, so that the horizon is no accident of the moment.
    pub fn has_floor(&self) -> bool {
        self.missed.has_floor
    }

    /// Updates the copy to the watcher's last look; it must be at the look before.
    pub fn follow(&mut self, watch: &mut Watch) {
        // A view that this look has missed was missed by the one before as well, so the bounds of both hold for it.
        let before = (self.missed.horizon, self.missed.settled);
        self.missed.clone_from(&watch.missed);
        self.missed.horizon = self.missed.horizon.max(before.0);
        self.missed.settled = self.missed.settled.max(before.1);
        if !watch.closed.is_empty() {
            // Both sorted the same way, so that one pass removes them all.
            let order = |view: &View| (view.lsn, view.low, view.high);
            watch.closed.sort_unstable_by_key(order);
            let mut closed = watch.closed.iter().peekable();
            self.views
                .retain(|view| closed.next_if(|closed| *closed == view).is_none());
            debug_assert!(closed.next().is_none(), "what closes was open");
        }
        if !watch.opened.is_empty() {
            self.views.extend_from_slice(&watch.opened);
            // The stable sort takes advantage of the long run that is sorted already.
            self.views.sort_by_key(|view| (view.lsn, view.low, view.high));
        }
    }

    /// The ids that open views, and those being opened, may still look up.
    pub fn windows(&self) -> Vec<Window> {
        let window = |view: &View| Window {
            low: view.low.0,
            high: view.high.0,
        };
        let unsure = self.missed.unsure.iter().copied();
        unsure.chain(self.views.iter().map(window)).collect()
    }

    /// Every writer below is seen by every view.
    pub fn all_see_below(&self) -> TxnId {
        self.views
            .first()
            .map_or(self.missed.settled, |oldest| oldest.low.min(self.missed.settled))
    }

    /// A position that no open view is older than.
    pub fn oldest(&self) -> Lsn {
        self.views
            .first()
            .map_or(self.missed.horizon, |view| view.lsn.min(self.missed.horizon))
    }

    /// True if an open view sees what ended at `first` but not what ended at `last`.
    pub fn tells_apart(&self, first: Lsn, last: Lsn) -> bool {
        let below = |lsn: Lsn| self.views.partition_point(|view| view.lsn < lsn);
        below(first) < below(last)
    }

    /// True if every view, open now or later, sees `writer`.
    pub fn all_see(&self, writer: TxnId, txns: &Txns) -> bool {
        writer < self.all_see_below() || txns.ended(writer).is_some_and(|lsn| lsn <= self.oldest())
    }

    /// True if the transaction ended at or before the horizon, so that views missing from the copy see it.
    pub fn knows_end_of(&self, writer: TxnId, txns: &Txns) -> bool {
        writer < self.missed.settled || txns.ended(writer).is_some_and(|lsn| lsn <= self.missed.horizon)
    }

    /// Which views, open now or later, need the version that `writer` wrote and `superseder` replaced.
    pub fn need(&self, writer: TxnId, superseder: TxnId, txns: &Txns) -> Need {
        if self.all_see(superseder, txns) {
            return Need::AllPassed;
        }
        if !self.knows_end_of(superseder, txns) {
            return Need::Unknown;
        }
        // Visibility is monotonic: what a view sees, every later view sees.
        let blind = self.views.partition_point(|view| !view.sees(superseder, txns));
        match self.views[..blind].last() {
            Some(newest) if newest.sees(writer, txns) => Need::By(blind as u32),
            #[cfg(feature = "museum")]
            _ if crate::museum::keeps_history() => Need::By(blind as u32),
            _ => Need::None,
        }
    }
}
