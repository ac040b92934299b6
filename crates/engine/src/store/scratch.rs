//! Which scratch pages are used. Nothing of this is stored: no scratch page outlives the engine.

use crate::error::{Error, Result};
use crate::ids::PageId;
use parking_lot::Mutex;

pub(super) struct Scratch(Mutex<State>);

struct State {
    free: Vec<PageId>,
    /// Pages from here on were never used.
    next: u32,
}

impl Scratch {
    pub fn new() -> Scratch {
        Scratch(Mutex::new(State {
            free: Vec::new(),
            next: PageId::SCRATCH_FIRST,
        }))
    }

    /// The page freed last, which is likeliest to be in memory still, or one never used.
    pub fn alloc(&self) -> Result<PageId> {
        let mut state = self.0.lock();
        if let Some(page) = state.free.pop() {
            return Ok(page);
        }
        if state.next == PageId::SCRATCH_END {
            return Err(Error::DiskFull);
        }
        state.next += 1;
        Ok(PageId(state.next - 1))
    }

    pub fn free(&self, page: PageId) {
        self.0.lock().free.push(page);
    }

    /// Pages in use.
    pub fn used(&self) -> usize {
        let state = self.0.lock();
        (state.next - PageId::SCRATCH_FIRST) as usize - state.free.len()
    }
}
