//! A pool that grows and shrinks while it is used.
//!
//! The arena has addresses for as many frames as the pool may ever have, so growing is no more than opening frames, which take
//! memory when pages are put there.
//!
//! Shrinking closes the frames behind the new size. The hand does not come to them any more, and each goes its way: an empty one
//! is closed; the page of one is evicted if that is clean and was not used lately, or else *moved* to a frame that was won among the
//! first ones, dirty and pinned pages too. A move is a change like any other under the page's exclusive latch: optimistic readers see
//! the version raised, and what the page says of itself (its `rec_lsn`, whether it is pinned) is not the frame's and stays.
//!
//! What a move could break is a walk over all frames, to which a page that goes from a frame not yet visited to one that was
//! is not there: a checkpoint would overlook a dirty page. Such walks, and the flights of pages to the disk, are made
//! by holders of the cleaner's lock; so pages are moved by its holder alone ([`Pool::move_pages`]), who therefore waits for nothing:
//! frames are won before, and a page that is latched is left for the next time.

use super::{FRAMES_MIN, Pool};
use crate::error::Result;
use crate::sync::Ordering;
use std::ops::Range;

/// Pages that are moved under one hold of the cleaner's lock.
pub(crate) const MOVED_MAX: usize = 64;

impl Pool {
    /// Pages that the pool can be made to hold.
    pub fn frames_max(&self) -> usize {
        self.arena.most()
    }

    /// The size that a pool gets which is to hold so many pages.
    pub(crate) fn size_for(&self, frames: usize) -> usize {
        frames.clamp(FRAMES_MIN, self.frames_max())
    }

    /// Makes the pool hold so many pages, which must not be fewer than it holds. For the thread that resizes.
    pub(crate) fn grow(&self, frames: usize) -> Result<()> {
        self.arena.open_frames(frames)?;
        self.frames.open(self.frames.len()..frames);
        Ok(())
    }

    /// Has no page brought into frames from this one on, and returns those that have to be closed. For the thread that resizes.
    pub(crate) fn begin_to_shrink(&self, frames: usize) -> Range<usize> {
        self.frames.keep(frames)
    }

    /// Closes those frames whose pages need not be moved; returns the others.
    pub(crate) fn close_unused(&self, frames: impl Iterator<Item = usize>) -> Vec<usize> {
        frames.filter(|&frame| !self.is_closed(frame)).collect()
    }

    fn is_closed(&self, frame: usize) -> bool {
        if self.frames.close_empty(frame) {
            return true;
        }
        let Some(page) = self.frames.name(frame) else {
            return false;
        };
        let state = self.arena.state(page);
        if state.rec_lsn.load(Ordering::Relaxed) != 0 || self.is_pinned(page) || !state.latch.take_if_unused()
        {
            return false;
        }
        // As in `try_next_frame`.
        if self.frames.name(frame) != Some(page) || state.rec_lsn.load(Ordering::Acquire) != 0 {
            state.latch.unlock_exclusive();
            return false;
        }
        self.frames.close_own(frame);
        state.latch.unlock_evicted();
        self.evictions.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Wins some of the frames that stay. Waits for the cleaner if there are none at once.
    pub(crate) fn win_frames(&self, wanted: usize) -> Result<Vec<usize>> {
        let most = wanted.min(MOVED_MAX).min(self.frames() / 16);
        let mut won = vec![self.take_frame()?];
        while won.len() < most
            && let Some(frame) = self.frame_at_once()
        {
            won.push(frame);
        }
        Ok(won)
    }

    /// Moves pages out of frames into those that were won, as far as they are not latched, and closes the frames. For a holder of the
    /// cleaner's lock. Gives back what was won in vain.
    pub(crate) fn move_pages(&self, from: &[usize], mut won: Vec<usize>) {
        for &frame in from {
            let Some(to) = won.pop() else { return };
            if !self.move_page(frame, to) {
                won.push(to);
            }
        }
        for frame in won {
            self.frames.give_back(frame);
        }
    }

    fn move_page(&self, from: usize, to: usize) -> bool {
        let Some(page) = self.frames.name(from) else {
            return false;
        };
        let latch = &self.arena.state(page).latch;
        if !latch.try_lock_resident() {
            return false;
        }
        let is_here = self.frames.name(from) == Some(page);
        if is_here {
            self.arena.move_to(page, to);
            self.frames.put(to, page);
            self.frames.close_own(from);
        }
        latch.unlock_exclusive();
        is_here
    }

    /// Ends shrinking: all of these frames are closed, and their memory goes back.
    pub(crate) fn end_shrinking(&self, closed: Range<usize>) {
        self.frames.cut(closed.start);
        self.arena.release(closed);
    }

    /// The frames are not to be closed after all.
    pub(crate) fn reopen(&self, frames: Range<usize>) {
        self.frames.open(frames);
    }
}
