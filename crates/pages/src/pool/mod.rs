//! The buffer pool: pages in memory, a limited number of them.
//!
//! After Leis et al., *Virtual-Memory Assisted Buffer Management* (vmcache), SIGMOD 2023: a page's state is found by its
//! number, in an array, and is one atomic word; the pool itself decides what is in memory. There is no hash table and no
//! pointer to fix. Unlike there, it is not the page but the frame it lies in that has a fixed address (`arena.rs`).
//!
//! *The limit is strict.* A page may be in memory only while it stands in one of the pool's frames (`frames.rs`), and a
//! thread that brings a page in must first win a frame, evicting the page that stood there.
//!
//! The limit changes while the pool is used: `resize.rs`.
//!
//! *Evicting never writes.* Only the page cleaner writes pages; evictors take clean ones and wait for the cleaner when
//! there are none. A page differing from its copy on disk says so by its `rec_lsn` (`dirty.rs`).
//!
//! Pages are touched through guards (`guard.rs`); no latch may be waited for that the same thread already holds.

mod ahead;
mod arena;
mod dirty;
#[cfg(test)]
mod dirty_tests;
mod frames;
mod guard;
mod latch;
#[cfg(test)]
mod latch_tests;
mod page;
mod peek;
mod resize;
mod written;

pub(crate) use dirty::{Dirty, Health, Signal, Trouble, Wanted};
pub(crate) use guard::OptimisticGuard;
pub use guard::{ExclusiveGuard, SharedGuard};
pub use page::{PAGE_HEADER, PageBuf, page_type};
pub(crate) use resize::MOVED_MAX;

use crate::disk::{File, failed};
use crate::error::{Error, Result};
use crate::ids::{PAGE_SIZE, PageId};
use crate::tally::{self, Event};
use crate::waits::{Wait, timed};
use arena::Arena;
use frames::Frames;
use latch::NotNow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Fewer frames than this and a few threads changing several pages each could wait for one another's frames.
const FRAMES_MIN: usize = 64;

/// The pages in memory; see the module's head.
pub struct Pool {
    arena: Arena,
    frames: Frames,
    data: Arc<dyn File>,
    scratch: Arc<dyn File>,
    dirty: AtomicUsize,
    cleaner: Arc<Signal>,
    reads: AtomicU64,
    reads_ahead: AtomicU64,
    writes: AtomicU64,
    evictions: AtomicU64,
    starved: AtomicU64,
    /// See `written.rs`.
    log_found: AtomicU64,
    /// Page 0 and, from page 1 on, every page at this distance are never evicted.
    pinned_every: u32,
}

/// Gauges and counters since the pool was made.
#[derive(Clone, Copy, Debug, Default)]
pub struct PoolStatus {
    /// Pages that fit into memory.
    pub frames: usize,
    /// Frames that hold a page.
    pub used: usize,
    /// Pages that differ from their copies on disk.
    pub dirty: usize,
    /// Pages read from disk.
    pub reads: u64,
    /// Of these, pages read before they were asked for.
    pub reads_ahead: u64,
    /// Pages written to disk.
    pub writes: u64,
    /// Pages that made room for another.
    pub evictions: u64,
    /// Times a thread found no clean page to evict and waited for the cleaner.
    pub starved: u64,
}

impl Pool {
    /// A pool of `frames` pages, which may be resized up to `most`. Page 0 and every page `1 + k × pinned_every` stay in memory once read: the store keeps
    /// what it must always be able to reach there.
    pub(crate) fn new(
        frames: usize,
        most: usize,
        pinned_every: u32,
        data: Arc<dyn File>,
        scratch: Arc<dyn File>,
    ) -> Result<Pool> {
        let frames = frames.max(FRAMES_MIN);
        let arena = Arena::new(frames, most)?;
        Ok(Pool {
            frames: Frames::new(frames, arena.most()),
            arena,
            data,
            scratch,
            dirty: AtomicUsize::new(0),
            cleaner: Arc::default(),
            reads: AtomicU64::new(0),
            reads_ahead: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
            starved: AtomicU64::new(0),
            log_found: AtomicU64::new(u64::MAX),
            pinned_every,
        })
    }

    /// Pages that fit into memory.
    #[inline]
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    /// Gauges and counters now.
    pub fn status(&self) -> PoolStatus {
        PoolStatus {
            frames: self.frames.len(),
            used: self.frames.used(),
            dirty: self.dirty.load(Ordering::Relaxed),
            reads: self.reads.load(Ordering::Relaxed),
            reads_ahead: self.reads_ahead.load(Ordering::Relaxed),
            writes: self.writes.load(Ordering::Relaxed),
            evictions: self.evictions.load(Ordering::Relaxed),
            starved: self.starved.load(Ordering::Relaxed),
        }
    }

    /// Reads the page without a latch. What is seen is worth nothing until validated. Brings the page in if need be,
    /// so a caller on its way down must hold nothing that others wait for.
    #[inline]
    pub(crate) fn optimistic(&self, page: PageId) -> Result<OptimisticGuard<'_>> {
        let latch = self.latch(page)?;
        loop {
            if let Some(version) = latch.optimistic() {
                return Ok(OptimisticGuard::new(self, page, version));
            }
            if latch.lock_exclusive() {
                latch.unlock_exclusive();
            } else {
                self.bring_in(page)?;
                latch.unlock_exclusive();
            }
        }
    }

    /// As [`optimistic`](Self::optimistic), but waits for no holder of the page: `None` if there is an exclusive one.
    /// For a caller that holds a latch that the holder may be waiting for. Reading the page from disk is waited for.
    pub(crate) fn try_optimistic(&self, page: PageId) -> Result<Option<OptimisticGuard<'_>>> {
        let latch = self.latch(page)?;
        loop {
            match latch.try_optimistic() {
                Ok(version) => return Ok(Some(OptimisticGuard::new(self, page, version))),
                Err(NotNow::Busy) => return Ok(None),
                Err(NotNow::Absent) => {}
            }
            if latch.try_lock_absent() {
                self.bring_in(page)?;
                latch.unlock_exclusive();
            }
        }
    }

    /// A share of the page, read from disk if need be. Waits for an exclusive holder.
    #[inline]
    pub fn shared(&self, page: PageId) -> Result<SharedGuard<'_>> {
        let latch = self.latch(page)?;
        if !latch.lock_shared() {
            if !latch.lock_exclusive() {
                self.bring_in(page)?;
            }
            latch.downgrade();
        }
        Ok(SharedGuard::new(self, page))
    }

    /// The page for oneself, read from disk if need be. Waits for every other holder.
    #[inline]
    pub fn exclusive(&self, page: PageId) -> Result<ExclusiveGuard<'_>> {
        let latch = self.latch(page)?;
        if !latch.lock_exclusive() {
            self.bring_in(page)?;
        }
        Ok(ExclusiveGuard::new(self, page))
    }

    /// Latches a page exclusively to be formatted, without reading it from disk. For the thread that allocated it.
    pub(crate) fn exclusive_unread(&self, page: PageId) -> Result<ExclusiveGuard<'_>> {
        let latch = self.latch(page)?;
        if !latch.lock_exclusive() {
            self.bring_in_with(page, |buffer| {
                buffer.fill(0);
                Ok(())
            })?;
        }
        Ok(ExclusiveGuard::new(self, page))
    }

    /// Declares the page's content unneeded: it is clean, whatever it was, and the next to be evicted.
    pub(crate) fn discard(&self, page: PageId) {
        debug_assert!(page.is_scratch(), "a logged page's changes must reach the disk");
        let latch = &self.arena.state(page).latch;
        let is_here = latch.lock_exclusive();
        self.forget_written(page);
        if is_here {
            self.forget_dirt(page);
            latch.mark_unused();
            latch.unlock_exclusive();
        } else {
            latch.unlock_evicted();
        }
    }

    #[inline]
    fn latch(&self, page: PageId) -> Result<&latch::Latch> {
        tally::count(Event::PageRequest, 1);
        match self.arena.known(page) {
            Some(state) => Ok(&state.latch),
            None => self.first_latch(page),
        }
    }

    /// The latch of a page that had no state.
    #[cold]
    fn first_latch(&self, page: PageId) -> Result<&latch::Latch> {
        self.arena.cover(page)?;
        Ok(&self.arena.state(page).latch)
    }

    #[cold]
    fn bring_in(&self, page: PageId) -> Result<()> {
        self.bring_in_with(page, |buffer| self.read_page(page, buffer))
    }

    /// Brings in a page whose latch the caller took, exclusively, when it was not resident. If it cannot be, the latch
    /// is released.
    #[allow(unsafe_code)]
    fn bring_in_with(&self, page: PageId, fill: impl FnOnce(&mut PageBuf) -> Result<()>) -> Result<()> {
        let state = self.arena.state(page);
        let frame = match self.take_frame() {
            Ok(frame) => frame,
            Err(e) => {
                state.latch.unlock_evicted();
                return Err(e);
            }
        };
        self.arena.seat(page, frame);
        // SAFETY: we hold the page exclusively, and its frame; optimistic readers cannot have a version of a page not
        // resident.
        let filled = fill(unsafe { self.arena.page(page).as_mut() });
        if filled.is_err() {
            self.frames.give_back(frame);
            state.latch.unlock_evicted();
            return filled;
        }
        self.frames.put(frame, page);
        state.latch.set_resident();
        Ok(())
    }

    fn place(&self, page: PageId) -> (&Arc<dyn File>, u64) {
        if page.is_scratch() {
            (
                &self.scratch,
                u64::from(page.0 - PageId::SCRATCH_FIRST) * PAGE_SIZE as u64,
            )
        } else {
            (&self.data, u64::from(page.0) * PAGE_SIZE as u64)
        }
    }

    fn read_page(&self, page: PageId, buffer: &mut PageBuf) -> Result<()> {
        let (file, offset) = self.place(page);
        self.reads.fetch_add(1, Ordering::Relaxed);
        timed(Wait::PageRead, || file.read_at(&mut buffer[..], offset))
            .map_err(|error| failed(&error, format!("reading page {page} at byte {offset}")))?;
        if !buffer.is_intact(page) {
            return Err(Error::corrupt(page, "its checksum does not fit its content"));
        }
        self.check_written(page, buffer)
    }

    /// Writes a run of pages with consecutive numbers.
    pub(crate) fn write_run(&self, first: PageId, pages: &[u8]) -> std::io::Result<()> {
        let (file, offset) = self.place(first);
        self.writes
            .fetch_add((pages.len() / PAGE_SIZE) as u64, Ordering::Relaxed);
        let written = timed(Wait::PageWrite, || file.write_at(pages, offset));
        written.map_err(|error| {
            let name = if first.is_scratch() { "scratch" } else { "data" };
            failed(&error, format!("writing {name} at byte {offset}"))
        })
    }

    /// What the disk, not the pool, has of a page's beginning.
    #[cfg(test)]
    pub(crate) fn read_raw(&self, page: PageId, out: &mut [u8]) -> std::io::Result<()> {
        let (file, offset) = self.place(page);
        file.read_at(out, offset)
    }

    pub(crate) fn sync_data(&self) -> std::io::Result<()> {
        timed(Wait::PageWrite, || self.data.sync()).map_err(|error| failed(&error, "syncing data".into()))
    }

    fn is_pinned(&self, page: PageId) -> bool {
        page == PageId(0) || (!page.is_scratch() && (page.0 - 1).is_multiple_of(self.pinned_every))
    }
}
