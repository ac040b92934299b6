//! Which pages are in memory: an array of frames and a clock hand (second chance).
//!
//! Nothing here is locked. A frame is *empty*, *taken* (by the thread filling it), *closed* (outside the pool's size), or
//! names a page; a page's name is put into a frame, and taken out of it, only by the exclusive holder of the page's latch. So a
//! thread that holds a page's latch and finds its name in a frame knows that this is where it stands.
//!
//! The number of frames changes while they are used (`resize.rs`), so it is two numbers: the hand goes round the first `len` frames,
//! and pages may stand in the first `extent`. The second is never the smaller: a pool that grows raises it first, and one
//! that shrinks lowers it last, when all frames between the two are closed. Whatever must see every page goes up to `extent`. A thread
//! that read `len` before it was lowered may still win a frame behind it, which is then closed when that thread's page has left it.

use super::{Health, Pool};
use crate::error::{Error, Result};
use crate::ids::PageId;
use crate::sync::{AtomicU32, AtomicUsize, Ordering, fence};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize as Size;
use std::time::{Duration, Instant};

const EMPTY: u32 = u32::MAX;
const TAKEN: u32 = u32::MAX - 1;
const CLOSED: u32 = u32::MAX - 2;
/// Frames whose words are allocated together.
const CHUNK: usize = 8192;
/// Dirty pages in the hand's way before the cleaner is asked to run ahead of it.
const DIRTY_IN_THE_WAY: usize = 16;
/// Dirty pages in the hand's way before one rather waits for the cleaner than looks further.
const DIRTY_MAX: usize = 64;
/// How long to wait for a frame while the cleaner reports failures.
const STARVED_MAX: Duration = Duration::from_secs(5);

pub(super) struct Frames {
    /// Allocated when the pool first grows to them.
    chunks: Box<[OnceLock<Box<[AtomicU32]>>]>,
    len: Size,
    extent: Size,
    hand: AtomicUsize,
    used: AtomicUsize,
}

impl Frames {
    /// So many empty frames, which may become `most`.
    pub fn new(count: usize, most: usize) -> Frames {
        let frames = Frames {
            chunks: (0..most.max(count).div_ceil(CHUNK))
                .map(|_| OnceLock::new())
                .collect(),
            len: Size::new(0),
            extent: Size::new(0),
            hand: AtomicUsize::new(0),
            used: AtomicUsize::new(0),
        };
        frames.open(0..count);
        frames
    }

    /// Adds frames, which are empty or closed; those before them are there. For the thread that resizes the pool.
    pub fn open(&self, added: Range<usize>) {
        for chunk in added.start / CHUNK..added.end.div_ceil(CHUNK) {
            self.chunks[chunk].get_or_init(|| (0..CHUNK).map(|_| AtomicU32::new(CLOSED)).collect());
        }
        self.extent.fetch_max(added.end, Ordering::Release);
        for frame in added.clone() {
            // One that is in use stays so.
            let _ = self
                .word(frame)
                .compare_exchange(CLOSED, EMPTY, Ordering::Release, Ordering::Relaxed);
        }
        self.len.store(added.end, Ordering::Release);
    }

    /// Has the hand go round the first frames alone, and returns those behind them, which are to be closed.
    pub fn keep(&self, first: usize) -> Range<usize> {
        self.len.store(first, Ordering::Release);
        first..self.extent.load(Ordering::Acquire)
    }

    /// Closes a frame if it is empty; true if it is closed.
    pub fn close_empty(&self, frame: usize) -> bool {
        let closed = self
            .word(frame)
            .compare_exchange(EMPTY, CLOSED, Ordering::Acquire, Ordering::Acquire);
        closed.is_ok() || closed == Err(CLOSED)
    }

    /// Closes a frame that the caller has taken, or whose page's latch it holds exclusively.
    pub fn close_own(&self, frame: usize) {
        self.used.fetch_sub(1, Ordering::Relaxed);
        self.word(frame).store(CLOSED, Ordering::Release);
    }

    /// No page stands, or will stand, in frames from this one on: all are closed.
    pub fn cut(&self, extent: usize) {
        self.extent.store(extent, Ordering::Release);
    }

    /// The frames that may hold a page.
    pub fn extent(&self) -> usize {
        self.extent.load(Ordering::Acquire)
    }

    fn word(&self, frame: usize) -> &AtomicU32 {
        let chunk = self.chunks[frame / CHUNK].get();
        &chunk.expect("frames are allocated before they are used")[frame % CHUNK]
    }

    /// The frames that the hand goes round.
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    pub fn put(&self, frame: usize, page: PageId) {
        self.word(frame).store(page.0, Ordering::Release);
    }

    pub fn give_back(&self, frame: usize) {
        self.used.fetch_sub(1, Ordering::Relaxed);
        self.word(frame).store(EMPTY, Ordering::Release);
    }

    /// The page in a frame, if there is one.
    pub fn name(&self, frame: usize) -> Option<PageId> {
        let name = (frame < self.extent()).then(|| self.word(frame).load(Ordering::Acquire))?;
        (name < CLOSED).then_some(PageId(name))
    }

    /// The frame that the hand comes to next.
    pub fn hand(&self) -> usize {
        self.hand.load(Ordering::Relaxed) % self.len()
    }

    /// The pages in memory, by frame. A page that stays in memory throughout is there exactly once.
    pub fn names(&self) -> impl Iterator<Item = PageId> + '_ {
        (0..self.extent()).filter_map(|frame| self.name(frame))
    }

    /// The pages in memory, in the order in which they are to leave it: those in frames to be closed, then those that the hand
    /// will come to.
    pub fn names_ahead(&self) -> impl Iterator<Item = PageId> + '_ {
        let (hand, len) = (self.hand(), self.len());
        let frames = (len..self.extent()).chain(hand..len).chain(0..hand.min(len));
        frames.filter_map(|frame| self.name(frame))
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
        let frame = frames.word(at);
        let name = frame.load(Ordering::Acquire);
        match name {
            TAKEN | CLOSED => return None,
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
