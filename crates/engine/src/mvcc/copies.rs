//! What those who throw old versions away know of the open views: a copy, which follows what a watcher sees.
//!
//! With what was seen last time in hand a look only finds what has changed, so that views that stand still are neither
//! copied nor sorted again, however many. Why a copy stays good for ever, however old, stands with the registration
//! (`views.rs`): a view that it lacks is not older than its horizon.

use super::txns::{Txns, Window};
use super::views::{Registered, TidePoint, View};
use crate::ids::{Lsn, TxnId};

/// What can be said of the views that a copy lacks: those to come, and those that were just being opened.
#[derive(Clone, Debug, Default)]
struct Missed {
    /// They are at or above this.
    horizon: Lsn,
    /// Writers below this had all ended at or before the horizon.
    settled: TxnId,
    /// What look-ups they may need.
    unsure: Vec<Window>,
    /// They may be opened in the past, so that the horizon is no accident of the moment.
    has_floor: bool,
}

/// A copy of the open views, sorted.
#[derive(Debug, Default)]
pub(crate) struct Copy {
    pub views: Vec<View>,
    missed: Missed,
}

/// What was seen in the slots at the last look, and what has changed since the look before.
#[derive(Default)]
pub(crate) struct Watch {
    slots: Vec<Option<View>>,
    closed: Vec<View>,
    opened: Vec<View>,
    missed: Missed,
}

/// What a copy of the views knows of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Every view sees the superseder, and so needs nothing older either.
    AllPassed,
    /// No view needs it.
    None,
    /// Some view needs it. So many open views do not see who superseded it: only they can need it, or anything older,
    /// and since a view opened later sees it, an equal number later means that none of them has been closed.
    By(u32),
    /// Who superseded it ended too late, or has not.
    Unknown,
}

impl Watch {
    /// A look begins: the tide, and below which writer all had ended. The retention `floor` was announced before.
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

    /// So many slots there are.
    pub fn expect(&mut self, slots: usize) {
        self.slots.resize(slots, None);
    }

    /// This is in the slot of that number.
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

    /// The oldest of the views that are gone since the look before.
    pub fn oldest_closed(&self) -> Option<Lsn> {
        self.closed.iter().map(|view| view.lsn).min()
    }

    pub fn has_floor(&self) -> bool {
        self.missed.has_floor
    }
}

impl Copy {
    /// There are no views, and every writer below `settled` ended before there will be.
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

    /// Becomes what the watcher saw at the last look, having been what it saw at the look before.
    pub fn follow(&mut self, watch: &mut Watch) {
        // What views that the older copy has missed are not below, views that this one misses are not below either.
        let before = (self.missed.horizon, self.missed.settled);
        self.missed.clone_from(&watch.missed);
        self.missed.horizon = self.missed.horizon.max(before.0);
        self.missed.settled = self.missed.settled.max(before.1);
        if !watch.closed.is_empty() {
            // In the same order, so that one pass finds them all.
            let order = |view: &View| (view.lsn, view.low, view.high);
            watch.closed.sort_unstable_by_key(order);
            let mut closed = watch.closed.iter().peekable();
            self.views
                .retain(|view| closed.next_if(|closed| *closed == view).is_none());
            debug_assert!(closed.next().is_none(), "what closes was open");
        }
        if !watch.opened.is_empty() {
            self.views.extend_from_slice(&watch.opened);
            // Stable, for it makes use of the long run that is sorted.
            self.views.sort_by_key(|view| (view.lsn, view.low, view.high));
        }
    }

    /// What look-ups the open views may still need, those included that are being opened.
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

    /// No open view is older than this.
    pub fn oldest(&self) -> Lsn {
        self.views
            .first()
            .map_or(self.missed.horizon, |view| view.lsn.min(self.missed.horizon))
    }

    /// Whether an open view sees what ended at `first` and not what ended at `last`.
    pub fn tells_apart(&self, first: Lsn, last: Lsn) -> bool {
        let below = |lsn: Lsn| self.views.partition_point(|view| view.lsn < lsn);
        below(first) < below(last)
    }

    /// Whether `writer`'s work is seen by every view, open now or later.
    pub fn all_see(&self, writer: TxnId, txns: &Txns) -> bool {
        writer < self.all_see_below() || txns.ended(writer).is_some_and(|lsn| lsn <= self.oldest())
    }

    /// Whether the transaction ended at or before the horizon: views that are not in the copy see it.
    pub fn knows_end_of(&self, writer: TxnId, txns: &Txns) -> bool {
        writer < self.missed.settled || txns.ended(writer).is_some_and(|lsn| lsn <= self.missed.horizon)
    }

    /// Whether any view, open now or later, may want the version that `writer` wrote and `superseder` replaced.
    pub fn need(&self, writer: TxnId, superseder: TxnId, txns: &Txns) -> Need {
        if self.all_see(superseder, txns) {
            return Need::AllPassed;
        }
        if !self.knows_end_of(superseder, txns) {
            return Need::Unknown;
        }
        // What is seen only grows from one view to a later one.
        let blind = self.views.partition_point(|view| !view.sees(superseder, txns));
        match self.views[..blind].last() {
            Some(newest) if newest.sees(writer, txns) => Need::By(blind as u32),
            _ => Need::None,
        }
    }
}
