//! Whether a page that comes from the disk is the one that was written there last.
//!
//! A checksum says that a page is whole, not that it is of today: a disk that loses a write, or puts it somewhere else, goes on
//! showing the page of before, as whole as ever. So the pool remembers of each page, in four bytes of its state, which
//! checksum it was written with last, and compares when the page comes back. Of a page not written since the start it knows
//! less: nothing is of a position beyond the end of the log that the start found. A page that is shows that the log has lost
//! its last part.
//!
//! A page that is given up (its room may go back to the file system, and reads as zeros then) may hold anything.

use super::{PageBuf, Pool};
use crate::error::{Error, Result};
use crate::ids::{Lsn, PageId};
use std::sync::atomic::Ordering;

/// Not written since the start.
const UNWRITTEN: u32 = 0;
/// What it holds does not matter.
const ANYTHING: u32 = 1;

/// What is remembered of a page that is sealed.
fn mark_of(page: &PageBuf) -> u32 {
    page.u32_at(0).max(ANYTHING + 1)
}

impl Pool {
    /// The log that was found at the start ended here, and what it has is redone.
    pub(crate) fn set_log_found(&self, end: Lsn) {
        self.log_found.store(end.0, Ordering::Relaxed);
    }

    /// This sealed copy of the page is about to be written to its place. For the holder of its latch.
    pub(super) fn note_written(&self, page: PageId, copy: &PageBuf) {
        self.arena
            .state(page)
            .written
            .store(mark_of(copy), Ordering::Relaxed);
    }

    /// What the page's place holds is not needed any more.
    pub(crate) fn forget_written(&self, page: PageId) {
        // Without memory for its state a page stays one that was not written, of which zeros are expected as well.
        if self.can_be_had(page) {
            self.arena.state(page).written.store(ANYTHING, Ordering::Relaxed);
        }
    }

    /// Whether this is the page as it was last written. Says nothing of a page that is being written.
    pub(crate) fn is_as_written(&self, page: PageId, found: &PageBuf) -> bool {
        self.check_written(page, found).is_ok()
    }

    pub(super) fn check_written(&self, page: PageId, found: &PageBuf) -> Result<()> {
        let known = self.arena.known(page);
        match known.map_or(UNWRITTEN, |state| state.written.load(Ordering::Relaxed)) {
            ANYTHING => Ok(()),
            UNWRITTEN => {
                let end = Lsn(self.log_found.load(Ordering::Relaxed));
                if found.lsn() <= end {
                    return Ok(());
                }
                let what = format!(
                    "it is of position {}, but the log ended at {end} when the engine started: its last part is lost",
                    found.lsn()
                );
                Err(Error::corrupt(page, what))
            }
            mark if mark == mark_of(found) => Ok(()),
            _ => Err(Error::corrupt(
                page,
                "it is not what was written there last: the disk has lost a write, or put it elsewhere",
            )),
        }
    }
}
