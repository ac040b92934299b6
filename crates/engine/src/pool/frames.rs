//! Which pages are in memory: a fixed array of frames and a clock hand (second chance).
//!
//! Nothing here is locked. A frame is *empty*, *taken* (by the thread filling it) or names a page; a page's name is put
//! into a frame, and taken out of it, only by the exclusive holder of the page's latch. So a thread that holds a page's
//! latch and finds its name in a frame knows that this is where it stands.
//!
//! Giving a page's memory back costs an interruption of every processor, so pages are evicted several at a time, and
//! frames that are not needed yet are *spare*: empty, out of the hand's sight, and taken before any other.

use super::{Health, Pool};
use crate::error::{Error, Result};
use crate::ids::PageId;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const EMPTY: u32 = u32::MAX;
const TAKEN: u32 = u32::MAX - 1;
/// Dirty pages in the hand's way before the cleaner is asked to run ahead of it.
const DIRTY_IN_THE_WAY: usize = 16;
/// Dirty pages in the hand's way before one rather waits for the cleaner than looks further.
const DIRTY_MAX: usize = 64;
/// Pages evicted together, in a pool that is large enough for it not to matter.
const BATCH: usize = 16;
const BATCH_SHARE: usize = 256;
/// How long to wait for a frame while the cleaner reports failures.
const STARVED_MAX: Duration = Duration::from_secs(5);

pub(super) struct Frames {
    frames: Box<[AtomicU32]>,
    hand: AtomicUsize,
    used: AtomicUsize,
    spare: Mutex<Vec<usize>>,
}

impl Frames {
    pub fn new(count: usize) -> Frames {
        Frames {
            frames: (0..count).map(|_| AtomicU32::new(EMPTY)).collect(),
            hand: AtomicUsize::new(0),
            used: AtomicUsize::new(0),
            spare: Mutex::new(Vec::new()),
        }
    }

    pub fn len(&self) -> usize {
        self.frames.len()
    }

    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    pub fn put(&self, frame: usize, page: PageId) {
        self.frames[frame].store(page.0, Ordering::Release);
    }

    fn take_spare(&self) -> Option<usize> {
        let frame = self.spare.lock().pop()?;
        self.used.fetch_add(1, Ordering::Relaxed);
        Some(frame)
    }

    /// These frames are empty now, and taken by nobody.
    fn put_spare(&self, frames: impl ExactSizeIterator<Item = usize>) {
        self.used.fetch_sub(frames.len(), Ordering::Relaxed);
        self.spare.lock().extend(frames);
    }

    pub fn give_back(&self, frame: usize) {
        self.used.fetch_sub(1, Ordering::Relaxed);
        self.frames[frame].store(EMPTY, Ordering::Release);
    }

    /// The pages in memory, by frame. A page that stays in memory throughout is there exactly once.
    pub fn names(&self) -> impl Iterator<Item = PageId> + '_ {
        self.frames
            .iter()
            .map(|f| f.load(Ordering::Acquire))
            .filter(|&name| name < TAKEN)
            .map(PageId)
    }

    /// The pages in memory, in the order in which the hand will come to them.
    pub fn names_ahead(&self) -> impl Iterator<Item = PageId> + '_ {
        let hand = self.hand.load(Ordering::Relaxed) % self.frames.len();
        let frames = self.frames[hand..].iter().chain(&self.frames[..hand]);
        frames
            .map(|f| f.load(Ordering::Acquire))
            .filter(|&name| name < TAKEN)
            .map(PageId)
    }
}

/// What the hand came to.
enum Next {
    Empty(usize),
    Evicted(usize, PageId),
    Kept,
}

impl Pool {
    /// Wins a frame, evicting the page in it. Waits for the cleaner if all unused pages are dirty.
    pub(super) fn take_frame(&self) -> Result<usize> {
        let mut starved_since = None;
        loop {
            if let Some(frame) = self.frame_at_once() {
                return Ok(frame);
            }
            let since = *starved_since.get_or_insert_with(Instant::now);
            self.starved.fetch_add(1, Ordering::Relaxed);
            match self.cleaner.ask_and_wait() {
                Health::Stopped => return Err(Error::Stopped("pages cannot be written any more".into())),
                Health::Failing if since.elapsed() > STARVED_MAX => return Err(Error::DiskFull),
                _ => {}
            }
        }
    }

    /// Wins a frame, if there is a clean page to evict.
    pub(super) fn frame_at_once(&self) -> Option<usize> {
        if let Some(frame) = self.frames.take_spare() {
            return Some(frame);
        }
        let batch = (self.frames.len() / BATCH_SHARE).clamp(1, BATCH);
        let mut evicted = [(0, PageId(0)); BATCH];
        let (mut count, mut dirty) = (0, 0);
        // Two rounds: the first may only mark.
        for step in 0..2 * self.frames.len() + 1 {
            match self.try_next_frame(&mut dirty) {
                Next::Empty(frame) => {
                    self.finish_evicting(&evicted[..count]);
                    self.frames
                        .put_spare(evicted[..count].iter().map(|(frame, _)| *frame));
                    return Some(frame);
                }
                Next::Evicted(frame, page) => {
                    evicted[count] = (frame, page);
                    count += 1;
                }
                Next::Kept => {}
            }
            // One is enough if more would take long.
            if count == batch || count > 0 && step > 4 * batch {
                break;
            }
            if dirty == DIRTY_IN_THE_WAY {
                self.cleaner.ask();
            } else if dirty > DIRTY_MAX {
                break;
            }
        }
        let ((frame, _), rest) = evicted[..count].split_first()?;
        self.finish_evicting(&evicted[..count]);
        self.frames.put_spare(rest.iter().map(|(frame, _)| *frame));
        Some(*frame)
    }

    /// Gives back the memory of pages whose latches we hold, and lets go of them.
    fn finish_evicting(&self, evicted: &[(usize, PageId)]) {
        self.arena.release_all(evicted.iter().map(|(_, page)| *page));
        for (_, page) in evicted {
            self.arena.state(*page).latch.unlock_evicted();
        }
        self.evictions.fetch_add(evicted.len() as u64, Ordering::Relaxed);
    }

    /// One step of the hand. An evicted page's memory is still to be given back and its latch to be let go of.
    fn try_next_frame(&self, dirty: &mut usize) -> Next {
        let frames = &self.frames;
        let at = frames.hand.fetch_add(1, Ordering::Relaxed) % frames.len();
        let frame = &frames.frames[at];
        let name = frame.load(Ordering::Acquire);
        match name {
            TAKEN => return Next::Kept,
            EMPTY => {
                let taken = frame.compare_exchange(EMPTY, TAKEN, Ordering::Acquire, Ordering::Relaxed);
                if taken.is_err() {
                    return Next::Kept;
                }
                frames.used.fetch_add(1, Ordering::Relaxed);
                return Next::Empty(at);
            }
            _ => {}
        }
        let page = PageId(name);
        let state = self.arena.state(page);
        if state.rec_lsn.load(Ordering::Relaxed) != 0 {
            *dirty += 1;
            return Next::Kept;
        }
        if self.is_pinned(page) || !state.latch.take_if_unused() {
            return Next::Kept;
        }
        // Only now is it certain that the page stands here and is clean: both change under its latch alone.
        if frame.load(Ordering::Relaxed) != name || state.rec_lsn.load(Ordering::Acquire) != 0 {
            state.latch.unlock_exclusive();
            return Next::Kept;
        }
        frame.store(TAKEN, Ordering::Relaxed);
        Next::Evicted(at, page)
    }
}
