//! Which scratch pages are used. Nothing of this is stored: no scratch page outlives the engine.

use crate::disk::File;
use crate::error::{Error, Result};
use crate::ids::{PAGE_SIZE, PageId};
use parking_lot::Mutex;
use std::sync::Arc;

pub(super) struct Scratch {
    file: Arc<dyn File>,
    state: Mutex<State>,
}

struct State {
    free: Vec<PageId>,
    /// Pages from here on were never used.
    next: u32,
    /// The file has room for pages up to here, so that spilling one cannot fail for want of it.
    backed: u32,
}

/// The file grows by so many pages, or an eighth of itself.
const GROW_MIN: u32 = 64;
const GROW_MAX: u32 = 4096;

impl Scratch {
    pub fn new(file: Arc<dyn File>) -> Scratch {
        let first = PageId::SCRATCH_FIRST;
        let state = State {
            free: Vec::new(),
            next: first,
            backed: first,
        };
        Scratch {
            file,
            state: Mutex::new(state),
        }
    }

    /// The page freed last, which is likeliest to be in memory still, or one never used.
    pub fn alloc(&self) -> Result<PageId> {
        let mut state = self.state.lock();
        if let Some(page) = state.free.pop() {
            return Ok(page);
        }
        if state.next == PageId::SCRATCH_END {
            return Err(Error::DiskFull);
        }
        if state.next == state.backed {
            let have = state.backed - PageId::SCRATCH_FIRST;
            let more = (have / 8).clamp(GROW_MIN, GROW_MAX);
            self.file.allocate(
                u64::from(have) * PAGE_SIZE as u64,
                u64::from(more) * PAGE_SIZE as u64,
            )?;
            state.backed += more;
        }
        state.next += 1;
        Ok(PageId(state.next - 1))
    }

    pub fn free(&self, page: PageId) {
        self.state.lock().free.push(page);
    }

    /// Pages in use.
    pub fn used(&self) -> usize {
        let state = self.state.lock();
        (state.next - PageId::SCRATCH_FIRST) as usize - state.free.len()
    }
}
