//! Which pages are in memory: a fixed array of frames and a clock hand (second chance).
//!
//! Nothing here is locked. A frame is *empty*, *taken* (by the thread filling it) or names a page; a page's name is put
//! into a frame, and taken out of it, only by the exclusive holder of the page's latch. So a thread that holds a page's
//! latch and finds its name in a frame knows that this is where it stands.

use super::{Health, Pool};
use crate::error::{Error, Result};
use crate::ids::PageId;
use crate::sync::{AtomicU32, AtomicUsize, Ordering, fence};
use std::time::{Duration, Instant};

const EMPTY: u32 = u32::MAX;
const TAKEN: u32 = u32::MAX - 1;
/// Dirty pages in the hand's way before the cleaner is asked to run ahead of it.
const DIRTY_IN_THE_WAY: usize = 16;
/// Dirty pages in the hand's way before one rather waits for the cleaner than looks further.
const DIRTY_MAX: usize = 64;
/// How long to wait for a frame while the cleaner reports failures.
const STARVED_MAX: Duration = Duration::from_secs(5);

pub(super) struct Frames {
    frames: Box<[AtomicU32]>,
    hand: AtomicUsize,
    used: AtomicUsize,
}

impl Frames {
    pub fn new(count: usize) -> Frames {
        Frames {
            frames: (0..count).map(|_| AtomicU32::new(EMPTY)).collect(),
            hand: AtomicUsize::new(0),
            used: AtomicUsize::new(0),
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

    pub fn give_back(&self, frame: usize) {
        self.used.fetch_sub(1, Ordering::Relaxed);
        self.frames[frame].store(EMPTY, Ordering::Release);
    }

    /// The page in a frame, if there is one.
    pub fn name(&self, frame: usize) -> Option<PageId> {
        let name = self.frames.get(frame)?.load(Ordering::Acquire);
        (name < TAKEN).then_some(PageId(name))
    }

    /// The frame that the hand comes to next.
    pub fn hand(&self) -> usize {
        self.hand.load(Ordering::Relaxed) % self.frames.len()
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
        let hand = self.hand();
        let frames = self.frames[hand..].iter().chain(&self.frames[..hand]);
        frames
            .map(|f| f.load(Ordering::Acquire))
            .filter(|&name| name < TAKEN)
            .map(PageId)
    }
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
                (Health::Stopped, _) => {
                    return Err(Error::Stopped("pages cannot be written any more".into()));
                }
                (Health::Failing, Some(trouble)) if since.elapsed() > STARVED_MAX => {
                    return Err(trouble.error());
                }
                _ => {}
            }
        }
    }

    /// Wins a frame, if there is a clean page to evict.
    pub(super) fn frame_at_once(&self) -> Option<usize> {
        let mut dirty = 0;
        // Two rounds: the first may only mark.
        for _ in 0..2 * self.frames.len() + 1 {
            if let Some(frame) = self.try_next_frame(&mut dirty) {
                return Some(frame);
            }
            if dirty == DIRTY_IN_THE_WAY {
                self.cleaner.ask();
            } else if dirty > DIRTY_MAX {
                break;
            }
        }
        None
    }

    /// One step of the hand.
    fn try_next_frame(&self, dirty: &mut usize) -> Option<usize> {
        let frames = &self.frames;
        let at = frames.hand.fetch_add(1, Ordering::Relaxed) % frames.len();
        let frame = &frames.frames[at];
        let name = frame.load(Ordering::Acquire);
        match name {
            TAKEN => return None,
            EMPTY => {
                let taken = frame.compare_exchange(EMPTY, TAKEN, Ordering::Acquire, Ordering::Relaxed);
                taken.ok()?;
                // A thread that still reads the former page, and then sees the bytes of the next one, must also see the
                // eviction, by whichever thread it was done.
                fence(Ordering::Release);
                frames.used.fetch_add(1, Ordering::Relaxed);
                return Some(at);
            }
            _ => {}
        }
        let page = PageId(name);
        let state = self.arena.state(page);
        if state.rec_lsn.load(Ordering::Relaxed) != 0 {
            *dirty += 1;
            return None;
        }
        if self.is_pinned(page) || !state.latch.take_if_unused() {
            return None;
        }
        // Only now is it certain that the page stands here and is clean: both change under its latch alone.
        if frame.load(Ordering::Relaxed) != name || state.rec_lsn.load(Ordering::Acquire) != 0 {
            state.latch.unlock_exclusive();
            return None;
        }
        frame.store(TAKEN, Ordering::Relaxed);
        state.latch.unlock_evicted();
        self.evictions.fetch_add(1, Ordering::Relaxed);
        Some(at)
    }
}
