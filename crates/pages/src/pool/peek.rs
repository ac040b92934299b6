//! What stands in the pool's frames, for those who look at it.
//!
//! Looking takes no latch, waits for none, brings no page in and does not count as a use of one: it reads a page's word and its
//! bytes as they are, and its version says afterwards whether the bytes were true. So a walk over all frames holds nobody
//! up, however long it takes; a page that moves to another frame meanwhile may be met twice or not at all.

use super::Pool;
use super::guard::OptimisticGuard;
use crate::ids::PageId;

/// A page in a frame.
pub(crate) struct Peeked<'p> {
    pub page: PageId,
    /// Threads that have it latched.
    pub users: u32,
    /// It was not used since the clock's hand came by.
    pub is_marked: bool,
    /// See [`Pool::unwritten_since`].
    pub unwritten_since: u64,
    /// To read it by; `None` while a thread changes it.
    pub guard: Option<OptimisticGuard<'p>>,
}

impl Pool {
    /// The frame that the clock's hand comes to next.
    pub fn hand(&self) -> usize {
        self.frames.hand()
    }

    /// The page in a frame; `None` of one that is empty or being filled.
    pub(crate) fn peek(&self, frame: usize) -> Option<Peeked<'_>> {
        let page = self.frames.name(frame)?;
        let state = self.arena.state(page);
        let glance = state.latch.glance()?;
        Some(Peeked {
            page,
            users: glance.users,
            is_marked: glance.is_marked,
            unwritten_since: self.unwritten_since(page),
            guard: glance
                .version
                .map(|version| OptimisticGuard::new(self, page, version)),
        })
    }
}
