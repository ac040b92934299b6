//! A row's chain of older versions: walked by readers, pruned by the next writer.
//!
//! *Precise pruning* (after Böttcher et al., *Scalable Garbage Collection for In-Memory MVCC Systems*, VLDB 2019). A
//! version is needed only by a view that sees its writer and does not see who replaced it. Whoever updates a row with a
//! chain drops the versions that no view needs, those between two old views included, so a chain is never longer than the
//! views that need it plus two, whatever was done to the row since.
//!
//! The views are known from a copy, which is refreshed when a chain grows for want of a newer one.

use super::txns::Txns;
use super::versions::{Address, DELETED, Versions};
use super::views::{Copy, View, Views};
use crate::error::{Error, Result};
use crate::ids::{Lsn, TxnId};
use parking_lot::{Mutex, RwLock};
use std::sync::atomic::{AtomicU64, Ordering};

/// A chain of this many needed versions is worth a newer copy.
const WALK_BEFORE_REFRESH: usize = 3;

/// The copy of the open views that pruning uses.
pub(crate) struct ViewCopy {
    copy: RwLock<Copy>,
    /// Every writer below is seen by every view.
    all_see_below: AtomicU64,
    refreshing: Mutex<()>,
}

impl ViewCopy {
    /// Every writer below `next` ended before the first view was opened.
    pub fn new(next: TxnId) -> ViewCopy {
        let copy = Copy {
            settled: next,
            ..Copy::default()
        };
        ViewCopy {
            copy: RwLock::new(copy),
            all_see_below: AtomicU64::new(next.0),
            refreshing: Mutex::new(()),
        }
    }

    /// Takes a new copy and does something with it before anybody can take the next.
    pub fn refresh_with<R>(
        &self,
        views: &Views,
        txns: &Txns,
        tide: impl Fn() -> Lsn,
        then: impl FnOnce(&Copy) -> R,
    ) -> R {
        let _one_at_a_time = self.refreshing.lock();
        self.replace(views.copy(txns, tide));
        then(&self.copy.read())
    }

    /// Takes a new copy, unless somebody is at it.
    fn try_refresh(&self, views: &Views, txns: &Txns, tide: impl Fn() -> Lsn) -> bool {
        let Some(_one_at_a_time) = self.refreshing.try_lock() else {
            return false;
        };
        self.replace(views.copy(txns, tide));
        true
    }

    fn replace(&self, copy: Copy) {
        let below = copy.views.iter().map(|v| v.low).fold(copy.settled, TxnId::min);
        *self.copy.write() = copy;
        self.all_see_below.store(below.0, Ordering::Release);
    }

    /// Whether every view sees this writer, as far as one look tells.
    #[inline]
    pub fn all_see(&self, writer: TxnId) -> bool {
        writer.0 < self.all_see_below.load(Ordering::Acquire)
    }

    /// Whether every view sees this writer, by a closer look.
    pub fn certainly_all_see(&self, writer: TxnId, txns: &Txns) -> bool {
        self.all_see(writer) || self.copy.read().all_see(writer, txns)
    }

    /// Prunes the chain that hangs at `newest` below a row written by `writer`, whose leaf the caller has latched
    /// exclusively. Answers what is left of it.
    pub fn prune(
        &self,
        versions: &Versions,
        views: &Views,
        txns: &Txns,
        tide: impl Fn() -> Lsn,
        writer: TxnId,
        newest: Address,
    ) -> Result<Address> {
        if newest == Address::NONE || self.all_see(writer) {
            return Ok(Address::NONE);
        }
        let (first, waiting) = self.prune_once(versions, txns, writer, newest)?;
        if waiting >= WALK_BEFORE_REFRESH && self.try_refresh(views, txns, tide) {
            return Ok(self.prune_once(versions, txns, writer, first)?.0);
        }
        Ok(first)
    }

    /// Answers the first version kept, and how many were kept only because the copy is too old to tell.
    fn prune_once(
        &self,
        versions: &Versions,
        txns: &Txns,
        writer: TxnId,
        newest: Address,
    ) -> Result<(Address, usize)> {
        // Held all along: look-ups in the copy are right only until the next one is taken.
        let copy = self.copy.read();
        let (mut first, mut last_kept) = (newest, None);
        let (mut at, mut superseder) = (newest, writer);
        let mut waiting = 0;
        let link = |last_kept: Option<Address>, first: &mut Address, to: Address| match last_kept {
            None => {
                *first = to;
                Ok(())
            }
            Some(kept) => versions.relink(kept, to),
        };
        while at != Address::NONE {
            let version = match versions.read(at, None)? {
                Some(version) if !copy.all_see(superseder, txns) => version,
                // What every view has left behind may be gone already, and is nobody's business.
                _ => {
                    link(last_kept, &mut first, Address::NONE)?;
                    break;
                }
            };
            if copy.needs(version.writer, superseder, txns) {
                waiting += !copy.knows_end_of(superseder, txns) as usize;
                last_kept = Some(at);
            } else {
                link(last_kept, &mut first, version.older)?;
                versions.discard(at)?;
            }
            superseder = version.writer;
            at = version.older;
        }
        Ok((first, waiting))
    }
}

/// What a view sees of a row whose writer it does not see.
pub(crate) enum Seen {
    /// The row did not exist, or was deleted.
    Nothing,
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
    Ok(Seen::Nothing)
}
