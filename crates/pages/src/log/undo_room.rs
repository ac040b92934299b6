//! Room for undoing: a rollback must be possible on a full disk, or the disk would stay full.
//!
//! Undoing is logged like any change, and none of the log can be freed before the transaction has ended. So before a
//! transaction changes anything it *reserves* what undoing the change may take, and gives that back at its end. The
//! reservation is backed by *spare* segments: files of the size of a segment, with their room on the disk allocated, that
//! become segments when there is no other room. Making segments ahead for new changes leaves those alone that are
//! reserved; undoing, and what else is urgent, takes them. A change whose reservation cannot be backed is refused as the
//! disk is full, before it is made.
//!
//! How much undoing one change takes is estimated by the floors above, generously. If all of it should be used up all the
//! same, the log waits for room rather than give up (`group.rs`).

use super::Log;
use crate::error::{Error, Result};
use crate::waits::{Wait, timed};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[derive(Default)]
pub(super) struct UndoRoom {
    /// Bytes that running transactions have reserved.
    reserved: AtomicU64,
    /// Bytes of the spare segments.
    backed: AtomicU64,
    /// The last attempt to make spare segments failed for want of room.
    disk_full: AtomicBool,
}

impl UndoRoom {
    pub fn reserved(&self) -> u64 {
        self.reserved.load(Ordering::SeqCst)
    }

    /// So much is backed now, and whether there was room for what was wanted.
    pub fn set_backed(&self, bytes: u64, disk_full: bool) {
        self.backed.store(bytes, Ordering::SeqCst);
        self.disk_full.store(disk_full, Ordering::SeqCst);
    }

    /// Whether less is left than the next transactions may ask for.
    pub fn is_short(&self, ahead: u64) -> bool {
        self.reserved() + ahead > self.backed.load(Ordering::Relaxed)
    }
}

impl Log {
    /// Reserves room for undoing; returns when it is there. `wake` has the cleaner make room, and says what keeps it from that;
    /// `check` ends the wait early. To be called while holding nothing.
    pub(crate) fn reserve_undo(
        &self,
        bytes: u64,
        wake: impl Fn() -> Option<Error>,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        let room = &self.undo_room;
        let total = room.reserved.fetch_add(bytes, Ordering::SeqCst) + bytes;
        let backed = room.backed.load(Ordering::SeqCst);
        if total + self.segments.size() / 2 > backed {
            wake();
        }
        if total <= backed {
            return Ok(());
        }
        let waited = self.wait_for_undo_room(wake, check);
        if waited.is_err() {
            self.release_undo(bytes);
        }
        waited
    }

    #[cold]
    fn wait_for_undo_room(
        &self,
        wake: impl Fn() -> Option<Error>,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        let room = &self.undo_room;
        let since = Instant::now();
        // The first look may be at what was true before any thread tried.
        let mut looks = 0;
        loop {
            self.check()?;
            check()?;
            let trouble = wake();
            let mut state = self.admission.state.lock();
            if room.reserved() <= room.backed.load(Ordering::SeqCst) {
                return Ok(());
            }
            if looks > 1 && room.disk_full.load(Ordering::SeqCst) {
                return Err(Error::DiskFull);
            }
            if let Some(trouble) = trouble
                && since.elapsed() > super::TROUBLED_MAX
            {
                return Err(trouble);
            }
            looks += 1;
            timed(Wait::LogRoom, || {
                self.admission
                    .changed
                    .wait_for(&mut state, Duration::from_millis(100))
            });
        }
    }

    /// Gives back what was reserved and not used.
    #[inline]
    pub(crate) fn release_undo(&self, bytes: u64) {
        self.undo_room.reserved.fetch_sub(bytes, Ordering::SeqCst);
    }
}
