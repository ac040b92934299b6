//! Which pages differ from their copies on disk, and how far back the log is needed for them.
//!
//! A page's `rec_lsn` is 0 while the page equals its copy on disk. Whoever changes a page sets it, if it is 0, to a
//! position no later than the change's own. A checkpoint may not pass any page's `rec_lsn`.
//!
//! *In flight* is a bit beside it. The cleaner copies a page under a share of its latch and sets `rec_lsn` to just that
//! bit: from this moment on a change puts down its own, later, position, but the page counts as dirty (cannot be
//! evicted, and so re-read from the old copy) until the write is certain and the bit is cleared. Between batches of the
//! cleaner no page is in flight; checkpoints are taken only then, so positions in flight are never overlooked.

use super::{PageBuf, Pool};
use crate::error::Error;
use crate::ids::{Lsn, PageId};
use crate::sync::{Condvar, Mutex, Ordering, Wait, timed};
use std::sync::Arc;
use std::time::Duration;

const IN_FLIGHT: u64 = 1 << 63;
/// The `rec_lsn` of scratch pages, which no log and no checkpoint knows.
const SCRATCH_DIRTY: u64 = 1;

/// A page that differs from its copy on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dirty {
    pub page: PageId,
    pub rec_lsn: Lsn,
}

impl Pool {
    pub(crate) fn dirty_count(&self) -> usize {
        self.dirty.load(Ordering::Relaxed)
    }

    /// Notes that the page is about to change at a position of the log not before `position()`. For its exclusive
    /// holder, before it reserves its place in the log.
    #[inline]
    pub(crate) fn set_dirty(&self, page: PageId, position: impl Fn() -> Lsn) {
        let rec_lsn = &self.arena.state(page).rec_lsn;
        let mut old = rec_lsn.load(Ordering::Relaxed);
        while old & !IN_FLIGHT == 0 {
            // Sequentially consistent, as are the log's tail and the checkpoint's reads: a checkpoint that overlooks
            // this store has read the tail before our reservation moved it.
            let new = old | position().0;
            match rec_lsn.compare_exchange_weak(old, new, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(0) => {
                    self.dirty.fetch_add(1, Ordering::Relaxed);
                    return;
                }
                Ok(_) => return,
                Err(now) => old = now,
            }
        }
    }

    /// Where the log was at the first change of a page that no write has taken up; 0 without one, and of a page that no log knows.
    pub(super) fn unwritten_since(&self, page: PageId) -> u64 {
        match self.arena.state(page).rec_lsn.load(Ordering::Relaxed) & !IN_FLIGHT {
            SCRATCH_DIRTY => 0,
            rec_lsn => rec_lsn,
        }
    }

    pub(super) fn set_scratch_dirty(&self, page: PageId) {
        self.set_dirty(page, || Lsn(SCRATCH_DIRTY));
    }

    /// For the exclusive holder of a scratch page.
    pub(super) fn forget_dirt(&self, page: PageId) {
        let old = self
            .arena
            .state(page)
            .rec_lsn
            .fetch_and(IN_FLIGHT, Ordering::Relaxed);
        if old != 0 && old & IN_FLIGHT == 0 {
            self.dirty.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The dirty pages, in the order in which the eviction hand will come to them. A page dirtied meanwhile may be
    /// missing.
    pub(crate) fn dirty_pages(&self) -> impl Iterator<Item = Dirty> + '_ {
        self.frames.names_ahead().filter_map(|page| {
            let rec_lsn = self.arena.state(page).rec_lsn.load(Ordering::SeqCst) & !IN_FLIGHT;
            (rec_lsn != 0).then_some(Dirty {
                page,
                rec_lsn: Lsn(rec_lsn),
            })
        })
    }

    /// The lowest `rec_lsn` of all logged pages. Only between batches of the cleaner.
    pub(crate) fn oldest_rec_lsn(&self) -> Option<Lsn> {
        let logged = self.frames.names().filter(|page| !page.is_scratch());
        logged
            .map(|page| Lsn(self.arena.state(page).rec_lsn.load(Ordering::SeqCst)))
            .filter(|lsn| !lsn.is_zero())
            .min()
    }

    /// Copies a dirty page out to be written, sealed; it is in flight from now on. `None` if a thread holds it, or it
    /// is clean.
    pub(crate) fn take_off(&self, page: PageId, copy: &mut PageBuf) -> Option<Dirty> {
        let state = self.arena.state(page);
        if !state.latch.try_lock_shared() {
            return None;
        }
        let rec_lsn = state.rec_lsn.load(Ordering::Relaxed);
        let taken = if rec_lsn == 0 || rec_lsn & IN_FLIGHT != 0 {
            None
        } else {
            self.arena.copy_out(page, copy);
            state.rec_lsn.store(IN_FLIGHT, Ordering::SeqCst);
            copy.seal(page);
            self.note_written(page, copy);
            Some(Dirty {
                page,
                rec_lsn: Lsn(rec_lsn),
            })
        };
        state.latch.unlock_shared();
        taken
    }

    /// The copy taken is on disk, for certain.
    pub(crate) fn landed(&self, dirty: Dirty) {
        let old = self
            .arena
            .state(dirty.page)
            .rec_lsn
            .fetch_and(!IN_FLIGHT, Ordering::SeqCst);
        if old == IN_FLIGHT {
            self.dirty.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The copy taken did not reach the disk: the page is as dirty as it was.
    pub(crate) fn lost(&self, dirty: Dirty) {
        let rec_lsn = &self.arena.state(dirty.page).rec_lsn;
        rec_lsn.store(dirty.rec_lsn.0, Ordering::SeqCst);
    }

    pub(crate) fn is_dirty(&self, page: PageId) -> bool {
        let state = self.arena.known(page);
        state.is_some_and(|state| state.rec_lsn.load(Ordering::Acquire) != 0)
    }

    pub(crate) fn cleaner_signal(&self) -> &Arc<Signal> {
        &self.cleaner
    }
}

/// How evictors, which need clean pages, and the cleaner, which makes them, wake each other.
#[derive(Default)]
pub struct Signal {
    state: Mutex<SignalState>,
    wanted: Condvar,
    cleaned: Condvar,
}

#[derive(Default)]
struct SignalState {
    asked: bool,
    waiting: usize,
    health: Health,
    trouble: Option<Trouble>,
}

/// Why the cleaner fails.
#[derive(Clone, Debug)]
pub struct Trouble {
    disk_full: bool,
    what: Arc<str>,
}

impl Trouble {
    pub fn of(error: &Error) -> Trouble {
        Trouble {
            disk_full: matches!(error, Error::DiskFull),
            what: error.to_string().into(),
        }
    }

    /// For a statement that cannot go on.
    pub fn error(&self) -> Error {
        match self.disk_full {
            true => Error::DiskFull,
            false => Error::Io(std::io::Error::other(&*self.what)),
        }
    }
}

/// How the cleaner is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Health {
    #[default]
    Working,
    /// Some pages could not be written; it goes round them, and tries again.
    Failing,
    /// It will write no more.
    Stopped,
}

/// Why the cleaner woke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// A thread asked for clean pages, or for the cleaner's attention.
    pub asked: bool,
    /// A thread sleeps until there are clean pages.
    pub waiting: bool,
}

impl Signal {
    /// Wakes the cleaner.
    pub fn ask(&self) {
        let mut state = self.state.lock();
        if !state.asked {
            state.asked = true;
            self.wanted.notify_one();
        }
    }

    /// Wakes the cleaner and sleeps until it has finished a batch, but not for long. Says how it is doing, and what keeps it from
    /// doing better.
    pub(super) fn ask_and_wait(&self) -> (Health, Option<Trouble>) {
        let mut state = self.state.lock();
        state.asked = true;
        state.waiting += 1;
        self.wanted.notify_one();
        timed(Wait::FreeFrame, || {
            self.cleaned.wait_for(&mut state, Duration::from_millis(20))
        });
        state.waiting -= 1;
        (state.health, state.trouble.clone())
    }

    /// What keeps the cleaner from writing all there is to write.
    pub fn trouble(&self) -> Option<Trouble> {
        self.state.lock().trouble.clone()
    }

    /// For the cleaner: sleeps until asked, or for `at_most`.
    pub fn wait_for_work(&self, at_most: Duration) -> Wanted {
        let mut state = self.state.lock();
        if !state.asked {
            self.wanted.wait_for(&mut state, at_most);
        }
        let wanted = Wanted {
            asked: state.asked,
            waiting: state.waiting > 0,
        };
        state.asked = false;
        wanted
    }

    /// For the cleaner: how it is doing since its last round.
    pub fn report_trouble(&self, health: Health, trouble: Option<Trouble>) {
        let mut state = self.state.lock();
        (state.health, state.trouble) = (health, trouble);
        if health != Health::Working {
            self.cleaned.notify_all();
        }
    }

    /// For the cleaner: so many pages are clean now. Wakes as many as can be served.
    pub fn report(&self, cleaned: usize) {
        let state = self.state.lock();
        for _ in 0..cleaned.min(state.waiting) {
            self.cleaned.notify_one();
        }
    }
}
