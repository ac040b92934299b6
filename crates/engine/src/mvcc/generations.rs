//! Generations of scratch pages: they tell a page from its earlier uses.
//!
//! Every time a page is taken for versions it gets a *generation*, kept here and in the addresses that point into the
//! page. A page that was freed has none. So the holder of an old address can tell, under the page's latch, that the
//! record it names is gone, even if the page is in use again.

use crate::ids::PageId;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

pub(super) const GENERATION_BITS: u32 = 30;
const PART: usize = 1 << 12;
const PARTS: usize = (PageId::SCRATCH_END - PageId::SCRATCH_FIRST) as usize / PART;

pub(crate) struct Generations {
    /// Page → generation, 0 if the page is free.
    parts: Box<[OnceLock<Box<[AtomicU32]>>]>,
    last: AtomicU32,
}

impl Generations {
    pub fn new() -> Generations {
        Generations {
            parts: (0..PARTS).map(|_| OnceLock::new()).collect(),
            last: AtomicU32::new(0),
        }
    }

    fn entry(&self, page: PageId) -> &AtomicU32 {
        let n = (page.0 - PageId::SCRATCH_FIRST) as usize;
        let part = self.parts[n / PART].get_or_init(|| (0..PART).map(|_| AtomicU32::new(0)).collect());
        &part[n % PART]
    }

    /// Starts a new generation of the page and returns it; the caller holds its latch exclusively.
    pub fn begin(&self, page: PageId) -> u32 {
        let mut generation = 0;
        while generation == 0 {
            generation = self.last.fetch_add(1, Ordering::Relaxed) & ((1 << GENERATION_BITS) - 1);
        }
        self.entry(page).store(generation, Ordering::Release);
        generation
    }

    /// Ends the page's generation: it is being freed. The caller holds its latch exclusively.
    pub fn end(&self, page: PageId) {
        self.entry(page).store(0, Ordering::Release);
    }

    /// True if the page still has this generation.
    pub fn is_current(&self, page: PageId, generation: u32) -> bool {
        generation != 0 && self.entry(page).load(Ordering::Acquire) == generation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_lives_are_alike() {
        let generations = Generations::new();
        let page = PageId(PageId::SCRATCH_FIRST + 5);
        let first = generations.begin(page);
        assert!(generations.is_current(page, first));
        generations.end(page);
        assert!(!generations.is_current(page, first));
        let second = generations.begin(page);
        assert!(!generations.is_current(page, first));
        assert!(generations.is_current(page, second));
    }
}
