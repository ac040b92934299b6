//! A row's chain of older versions: followed by readers, pruned by the next writer.
//!
//! *Precise pruning* (after Böttcher et al., *Scalable Garbage Collection for In-Memory MVCC Systems*, VLDB 2019). A
//! version is needed only by a view that sees its writer and does not see the transaction that superseded it. A writer
//! that updates a row with a chain drops the versions that no view needs, those between two old views included, so a
//! chain is never longer than the number of views that need it plus two, however often the row was updated.
//!
//! The open views are known from a copy, which is refreshed when a chain grows because the copy is too old. A refresh looks
//! at a slot of each session, and while a writer is open that came before, each update of a hot row wants one. So beside a
//! thousand sessions a chain may have a few versions more that no view needs before they pay for it.
//!
//! *A long chain is not walked for every update.* If a thousand views need a thousand versions of a row, examining all
//! of them each time would make its updates a thousand times dearer. But what hangs below a version becomes garbage
//! only when a view is closed that does not see the version's superseder, and a view opened later sees it. So a pruner
//! leaves in each version that it keeps how many such views there were. The next pruner stops where their number is
//! still the same: no such view can have been opened, so none has been closed, and everything below is as it was found.
//! An update beside any number of views examines only the versions made since the last one, and each view that is
//! closed costs one walk.
//!
//! While history is kept on purpose (`innodb_undo_retention`) every version of that period stays, and a chain is walked
//! only when it has doubled.

use super::copies::{Copy, Need, Watch};
use super::txns::Txns;
use super::versions::{Address, DELETED, Versions};
use super::views::{TidePoint, View, Views};
use crate::error::{Error, Result};
use crate::ids::{Lsn, TxnId};
use parking_lot::{Mutex, RwLock};
use std::sync::atomic::{AtomicU64, Ordering};

/// A refresh of the copy pays if this many versions might be dropped with a newer one, of few sessions.
const WALK_BEFORE_REFRESH: usize = 2;
/// So many slots of sessions are looked at in the time in which a version is walked, more or less.
const SLOTS_PER_STEP: usize = 64;

/// How many versions that might be dropped with a newer copy make a refresh pay. `n` versions have been walked `n²÷2` times
/// when `n` updates have brought them about, so the least is spent where that is what the refresh costs.
fn worth_a_refresh(slots: usize) -> usize {
    (slots / SLOTS_PER_STEP).isqrt().max(WALK_BEFORE_REFRESH)
}

/// In a version's `pruner_mark`: the chain's length when it was last walked, rather than a number of views.
const GROWN: u32 = 1 << 31;
/// A chain this short is always walked.
const GROWN_MIN: u32 = 16;

/// The copy of the open views that pruning uses.
pub(crate) struct ViewCopy {
    copy: RwLock<Copy>,
    /// Writers below this id are seen by every view, open now or later.
    all_see_below: AtomicU64,
    /// What the copy was made from. Its mutex is held by the thread that refreshes the copy.
    watch: Mutex<Watch>,
    /// The oldest view closed since [`Self::take_oldest_closed`] was last called.
    oldest_closed: AtomicU64,
}

impl ViewCopy {
    /// All transactions below `next` must have ended before the first view is opened.
    pub fn new(next: TxnId) -> ViewCopy {
        ViewCopy {
            copy: RwLock::new(Copy::new(next)),
            all_see_below: AtomicU64::new(next.0),
            watch: Mutex::default(),
            oldest_closed: AtomicU64::new(Lsn::MAX.0),
        }
    }

    /// Refreshes the copy, and calls `then` with it before another thread can refresh it again.
    pub fn refresh_with<R>(
        &self,
        views: &Views,
        txns: &Txns,
        tide: impl Fn() -> Lsn,
        then: impl FnOnce(&Copy) -> R,
    ) -> R {
        let mut watch = self.watch.lock();
        views.look(&mut watch, txns, tide);
        self.follow(&mut watch);
        then(&self.copy.read())
    }

    /// Refreshes the copy. Returns false, and does nothing, if another thread is refreshing it.
    fn try_refresh(&self, views: &Views, txns: &Txns, tide: impl Fn() -> Lsn) -> bool {
        let Some(mut watch) = self.watch.try_lock() else {
            return false;
        };
        views.look(&mut watch, txns, tide);
        self.follow(&mut watch);
        true
    }

    /// From now on views may be opened at `floor` and later. Returns the floor that was set: it is later than asked for
    /// if versions after `floor` have been thrown away already.
    pub fn set_retention_floor(&self, views: &Views, floor: TidePoint) -> TidePoint {
        let _no_refresh = self.watch.lock();
        let lsn = floor.lsn.max(self.with(|copy| copy.horizon()));
        let floor = TidePoint { lsn, ..floor };
        views.set_retention_floor(floor);
        floor
    }

    /// Calls `f` with the copy as it is; the copy is not refreshed meanwhile.
    pub fn with<R>(&self, f: impl FnOnce(&Copy) -> R) -> R {
        f(&self.copy.read())
    }

    fn follow(&self, watch: &mut Watch) {
        let mut copy = self.copy.write();
        let closed = match copy.has_floor() && !watch.has_floor() {
            true => Some(Lsn::ZERO),
            false => watch.oldest_closed(),
        };
        copy.follow(watch);
        self.all_see_below
            .store(copy.all_see_below().0, Ordering::Release);
        drop(copy);
        if let Some(closed) = closed {
            self.put_oldest_closed(closed);
        }
    }

    /// The oldest view closed since the last call, as far as copies have shown: whatever only younger views needed is
    /// still needed as before. With a retention floor any view may have been closed, so the result is zero.
    pub fn take_oldest_closed(&self) -> Lsn {
        match self.with(|copy| copy.has_floor()) {
            true => Lsn::ZERO,
            false => Lsn(self.oldest_closed.swap(Lsn::MAX.0, Ordering::Relaxed)),
        }
    }

    /// Puts back what [`Self::take_oldest_closed`] returned, because the caller did not finish its work.
    pub fn put_oldest_closed(&self, oldest: Lsn) {
        self.oldest_closed.fetch_min(oldest.0, Ordering::Relaxed);
    }

    /// True if every view sees this writer. A cheap test that may return false although it is so.
    #[inline]
    pub fn all_see(&self, writer: TxnId) -> bool {
        writer.0 < self.all_see_below.load(Ordering::Acquire)
    }

    /// True if every view sees this writer, by the exact test.
    pub fn certainly_all_see(&self, writer: TxnId, txns: &Txns) -> bool {
        self.all_see(writer) || self.copy.read().all_see(writer, txns)
    }
}

/// The parts that pruning needs.
pub(crate) struct Pruner<'m, T> {
    pub versions: Versions<'m>,
    pub copy: &'m ViewCopy,
    pub views: &'m Views,
    pub txns: &'m Txns,
    /// Returns the tide.
    pub tide: T,
}

impl<T: Fn() -> Lsn> Pruner<'_, T> {
    /// Prunes the chain that hangs at `newest` below a row written by `writer`, whose leaf the caller has latched
    /// exclusively. Returns what is left of it. The caller discards what precedes the first version left
    /// ([`Versions::discard_until`]) once nothing leads there any more; so if an error occurs, at whatever point, every
    /// chain is whole.
    pub fn prune(&self, writer: TxnId, newest: Address) -> Result<Chain> {
        if newest == Address::NONE || self.copy.all_see(writer) {
            return Ok(Chain {
                dropped_until: newest,
                ..Chain::NONE
            });
        }
        let (chain, waiting) = self.prune_once(writer, newest)?;
        if waiting >= worth_a_refresh(self.views.slots())
            && self.copy.try_refresh(self.views, self.txns, &self.tide)
        {
            return Ok(self.prune_once(writer, chain.first)?.0);
        }
        Ok(chain)
    }

    /// Also returns how many versions were kept only because the copy is too old to tell whether they are needed.
    fn prune_once(&self, writer: TxnId, newest: Address) -> Result<(Chain, usize)> {
        let (versions, txns) = (&self.versions, self.txns);
        // Where the part of the chain begins that is dropped because every view has passed it.
        let mut cut = None;
        // Held throughout: look-ups by this copy are right only until the next one is taken.
        let copy = self.copy.copy.read();
        let (mut first, mut last_kept) = (newest, None);
        let (mut at, mut superseder) = (newest, writer);
        let (mut len, mut waiting) = (0u32, 0);
        // Kept versions whose stored marks have changed: address, how many views may need them, how many versions were
        // kept above.
        let mut news: Vec<(Address, u32, u32)> = Vec::new();
        let link = |last_kept: Option<Address>, first: &mut Address, to: Address| match last_kept {
            None => {
                *first = to;
                Ok(())
            }
            Some(kept) => versions.relink(kept, to),
        };
        while at != Address::NONE {
            // A version that every view has passed may be gone already, which changes nothing.
            let is_past = copy.all_see(superseder, txns);
            let version = match is_past {
                true => None,
                false => versions.read(at, None)?,
            };
            let Some(version) = version else {
                link(last_kept, &mut first, Address::NONE)?;
                cut = Some(at);
                break;
            };
            if copy.has_floor() && len == 0 && version.pruner_mark & GROWN != 0 {
                // While history is kept on purpose the chain is long, and is walked only when it has doubled.
                let walked = version.pruner_mark & !GROWN;
                if version.below < walked.saturating_mul(2).saturating_add(GROWN_MIN) {
                    let chain = Chain {
                        first,
                        len: version.below + 1,
                        pruner_mark: version.pruner_mark,
                        dropped_until: first,
                    };
                    return Ok((chain, 0));
                }
            }
            match copy.need(version.writer, superseder, txns) {
                Need::By(views) if version.pruner_mark == views + 1 => {
                    // No view that may need anything from here on has been closed since the last walk.
                    len += 1 + version.below;
                    break;
                }
                Need::By(views) => {
                    news.push((at, views + 1, len));
                    (last_kept, len) = (Some(at), len + 1);
                }
                Need::Unknown => {
                    waiting += 1;
                    (last_kept, len) = (Some(at), len + 1);
                }
                Need::None | Need::AllPassed => {
                    link(last_kept, &mut first, version.older)?;
                    if last_kept.is_some() {
                        versions.discard(at)?;
                    }
                }
            }
            superseder = version.writer;
            at = version.older;
        }
        for (address, pruner_mark, above) in news {
            versions.mark(address, pruner_mark, len - above - 1)?;
        }
        if copy.has_floor() {
            waiting = 0;
        }
        let pruner_mark = if copy.has_floor() { GROWN | len } else { 0 };
        let dropped_until = if first == Address::NONE {
            cut.unwrap_or(first)
        } else {
            first
        };
        let chain = Chain {
            first,
            len,
            pruner_mark,
            dropped_until,
        };
        Ok((chain, waiting))
    }
}

/// What hangs below a row once it has been pruned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    pub first: Address,
    pub len: u32,
    /// The mark to store in a version that is put in front of it.
    pub pruner_mark: u32,
    /// The first version of the old chain that is not to be discarded.
    pub dropped_until: Address,
}

impl Chain {
    pub const NONE: Chain = Chain {
        first: Address::NONE,
        len: 0,
        pruner_mark: 0,
        dropped_until: Address::NONE,
    };
}

/// What a view sees of a row whose newest writer it does not see.
pub(crate) enum Seen {
    /// The row was deleted.
    Nothing,
    /// The chain does not reach back that far: the row did not exist, or its deleted entry was moved to the graveyard
    /// before the row was inserted again.
    Unborn,
    /// The columns are in the buffer; these are the row's flags.
    Row { flags: u8 },
}

/// Follows a chain to the version that `view` sees. The caller holds the latch of the row's leaf.
pub(crate) fn walk(
    versions: &Versions,
    txns: &Txns,
    view: &View,
    own: TxnId,
    newest: Address,
    columns: &mut Vec<u8>,
) -> Result<Seen> {
    let mut at = newest;
    while at != Address::NONE {
        let Some(version) = versions.read(at, Some(columns))? else {
            return Err(Error::corrupt(None, "a version that a view needs is gone"));
        };
        if (version.writer == own && own != TxnId::NONE) || view.sees(version.writer, txns) {
            return Ok(if version.flags & DELETED != 0 {
                Seen::Nothing
            } else {
                Seen::Row {
                    flags: version.row_flags,
                }
            });
        }
        at = version.older;
    }
    Ok(Seen::Unborn)
}
