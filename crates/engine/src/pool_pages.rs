//! The pages in the pool, for those who look at it: frame by frame, without a latch (see `pages::tree::inspect`).

use crate::engine::Engine;
pub use crate::pool::page_type;
pub use crate::tree::{PageContent, PageInPool};

impl Engine {
    /// Frames of the pool; each has a page or none.
    pub fn pool_frames(&self) -> usize {
        self.store().pool().frames()
    }

    /// The frame whose page is looked at first when room is wanted; those behind it follow, and then those before it.
    pub fn pool_hand(&self) -> usize {
        self.store().pool().hand()
    }

    /// The page in a frame at this moment; `None` of an empty one.
    pub fn page_in_frame(&self, frame: usize) -> Option<PageInPool> {
        crate::tree::page_in(self.store().pool(), frame)
    }
}
