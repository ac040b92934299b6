//! Which scratch pages are used. Nothing of this is stored: no scratch page outlives the engine.
//!
//! The file grows as pages are wanted, by `fallocate`, so that spilling one cannot fail for want of room. When much of it is
//! free again, its end is cut off and whole extents in between are given back; the pages used next are those nearest the
//! beginning, so that what is in use gathers there. The first few megabytes are never given back: on a full disk a DELETE needs
//! somewhere to keep what it deletes.

use crate::disk::File;
use crate::error::{Error, Result};
use crate::ids::{PAGE_SIZE, PageId};
use parking_lot::Mutex;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a page may not take of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// Nothing is kept: it is for an old version, or a tree.
    Nothing,
    /// What is left for the log, the data and old versions: half a gibibyte, or a sixteenth of a small disk.
    Reserve,
}

pub(super) struct Scratch {
    file: Arc<dyn File>,
    state: Mutex<State>,
}

struct State {
    free: Vec<PageId>,
    /// Pages from here on were never used.
    next: u32,
    /// The file has room for pages up to here.
    backed: u32,
    /// But for these extents, given back.
    holes: BTreeSet<u32>,
}

/// Pages given back together: a mebibyte.
const EXTENT: u32 = 64;
/// Less than this is not worth giving back.
const TRIM_MIN: usize = 1024;

/// Pages that the file always has room for: 4 MiB.
const KEPT: u32 = 256;
/// So much of a disk at most is kept free of what statements put aside.
const RESERVE_MAX: u64 = 512 << 20;
/// The file grows by so many pages, or an eighth of itself.
const GROW_MIN: u32 = 64;
const GROW_MAX: u32 = 4096;

fn extent_of(page: PageId) -> u32 {
    page.0 - (page.0 - PageId::SCRATCH_FIRST) % EXTENT
}

impl Scratch {
    /// Empties the file of a former run. What it keeps has been its own all along, if the disk is full.
    pub fn empty(file: &dyn File) -> Result<()> {
        let kept = u64::from(KEPT) * PAGE_SIZE as u64;
        if file.len()? > kept {
            file.truncate(kept)?;
        }
        match file.allocate(0, kept).map_err(Error::from) {
            Err(Error::DiskFull) => Ok(()),
            done => done,
        }
    }

    /// Over an empty file.
    pub fn new(file: Arc<dyn File>) -> Scratch {
        let first = PageId::SCRATCH_FIRST;
        let state = State {
            free: Vec::new(),
            next: first,
            backed: first,
            holes: BTreeSet::new(),
        };
        Scratch {
            file,
            state: Mutex::new(state),
        }
    }

    /// Makes room in the file. Fails if less would be left of the disk than `kept`.
    fn allocate(&self, at: u64, len: u64, kept: Kept) -> Result<()> {
        if kept == Kept::Reserve
            && let Some(room) = self.file.room()?
        {
            let bytes = RESERVE_MAX.min(room.total / 16);
            if room.free < bytes + len {
                return Err(Error::Reserved { bytes });
            }
        }
        Ok(self.file.allocate(at, len)?)
    }

    /// The page freed last, which is likeliest to be in memory still, or one never used. `kept` says what is left of the disk if the file
    /// has to grow: threads that ask at once do so one after the other.
    pub fn alloc(&self, kept: Kept) -> Result<PageId> {
        let mut state = self.state.lock();
        let state = &mut *state;
        if let Some(&page) = state.free.last() {
            let extent = extent_of(page);
            let mut taken = state.free.len() - 1;
            if state.holes.contains(&extent) {
                let at = u64::from(extent - PageId::SCRATCH_FIRST) * PAGE_SIZE as u64;
                match self.allocate(at, u64::from(EXTENT) * PAGE_SIZE as u64, kept) {
                    Ok(()) => drop(state.holes.remove(&extent)),
                    // The room is another's now. A page that has some, then.
                    Err(error) => {
                        let has_room = |page: &PageId| !state.holes.contains(&extent_of(*page));
                        taken = state.free.iter().rposition(has_room).ok_or(error)?;
                    }
                }
            }
            return Ok(state.free.swap_remove(taken));
        }
        if state.next == PageId::SCRATCH_END {
            return Err(Error::DiskFull);
        }
        if state.next == state.backed {
            let have = state.backed - PageId::SCRATCH_FIRST;
            let more = (have / 8).clamp(GROW_MIN, GROW_MAX);
            let at = u64::from(have) * PAGE_SIZE as u64;
            let grow = |more: u32| {
                let len = u64::from(more) * PAGE_SIZE as u64;
                self.allocate(at, len, kept).map(|()| more)
            };
            state.backed += grow(more).or_else(|_| grow(GROW_MIN))?;
        }
        state.next += 1;
        Ok(PageId(state.next - 1))
    }

    pub fn free(&self, page: PageId) {
        self.state.lock().free.push(page);
    }

    /// Gives room back if much of it is free. A page that is being written just now may bring a little of it back.
    pub fn trim(&self) -> Result<()> {
        let mut state = self.state.lock();
        let state = &mut *state;
        let have = (state.backed - PageId::SCRATCH_FIRST) as usize;
        let in_holes = state.holes.len() * EXTENT as usize;
        let unused = state.free.len() + (state.backed - state.next) as usize;
        if unused.saturating_sub(in_holes) < TRIM_MIN.max(have / 4) {
            return Ok(());
        }
        // The nearest the beginning are taken next.
        state.free.sort_unstable_by_key(|page| Reverse(page.0));
        let tail = (0..)
            .zip(&state.free)
            .take_while(|(n, page)| page.0 + 1 + n == state.next);
        let tail = tail.count();
        state.free.drain(..tail);
        state.next -= tail as u32;
        let used = (state.next - PageId::SCRATCH_FIRST).next_multiple_of(EXTENT);
        let end = used.max(KEPT) + PageId::SCRATCH_FIRST;
        if end < state.backed {
            self.file
                .truncate(u64::from(end - PageId::SCRATCH_FIRST) * PAGE_SIZE as u64)?;
            state.backed = end;
            state.holes.retain(|&extent| extent < end);
        }
        let extent_of = |page: &PageId| (page.0 - PageId::SCRATCH_FIRST) / EXTENT;
        for pages in state.free.chunk_by(|a, b| extent_of(a) == extent_of(b)) {
            if extent_of(&pages[0]) * EXTENT < KEPT {
                continue;
            }
            let extent = PageId::SCRATCH_FIRST + extent_of(&pages[0]) * EXTENT;
            if pages.len() == EXTENT as usize && state.holes.insert(extent) {
                let at = u64::from(extent - PageId::SCRATCH_FIRST) * PAGE_SIZE as u64;
                self.file.punch(at, u64::from(EXTENT) * PAGE_SIZE as u64)?;
            }
        }
        Ok(())
    }

    /// Pages in use.
    pub fn used(&self) -> usize {
        let state = self.state.lock();
        (state.next - PageId::SCRATCH_FIRST) as usize - state.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::sim::{Faults, SimDisk};
    use crate::disk::{Access, Disk};
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn room_is_given_back_and_taken_again() {
        let disk = SimDisk::new(1);
        let file = disk.open("scratch", true, Access::Direct).unwrap();
        let scratch = Scratch::new(file.clone());
        let mut pages: Vec<PageId> = (0..6000).map(|_| scratch.alloc(Kept::Nothing).unwrap()).collect();
        let full = file.len().unwrap();
        // The second half goes, and of the first all but one page in two extents.
        for page in pages.split_off(3000) {
            scratch.free(page);
        }
        let kept: Vec<PageId> = pages.iter().copied().step_by(128).collect();
        pages
            .iter()
            .filter(|page| !kept.contains(page))
            .for_each(|page| scratch.free(*page));
        scratch.trim().unwrap();
        assert!(
            file.len().unwrap() <= full / 2 + (1 << 20),
            "{}",
            file.len().unwrap()
        );
        assert_eq!(scratch.used(), kept.len());
        assert!(!scratch.state.lock().holes.is_empty());
        // What is used next gathers at the beginning, on backed ground, and no page is given twice.
        let mut seen = kept;
        for _ in 0..5000 {
            let page = scratch.alloc(Kept::Nothing).unwrap();
            let state = scratch.state.lock();
            assert!(page.0 < state.backed);
            let extent = page.0 - (page.0 - PageId::SCRATCH_FIRST) % EXTENT;
            assert!(!state.holes.contains(&extent));
            seen.push(page);
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), scratch.used());
    }

    /// Forty threads put aside what they can; the file then leaves what is kept to old versions, to the last page.
    #[test]
    fn some_of_the_disk_is_left_to_others() {
        const TOTAL: u64 = 64 << 20;
        let disk = SimDisk::new(1);
        disk.set_faults(Faults {
            capacity: Some(TOTAL),
            ..Faults::default()
        });
        let file = disk.open("scratch", true, Access::Direct).unwrap();
        let scratch = Scratch::new(file.clone());
        let taken = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..40 {
                scope.spawn(|| {
                    loop {
                        match scratch.alloc(Kept::Reserve) {
                            Ok(_) => drop(taken.fetch_add(1, Ordering::Relaxed)),
                            Err(Error::Reserved { bytes }) => break assert_eq!(bytes, TOTAL / 16),
                            Err(error) => panic!("{error}"),
                        }
                    }
                });
            }
        });
        let room = || file.room().unwrap().unwrap().free;
        let kept = TOTAL / 16;
        assert!((kept..kept + (4 << 20)).contains(&room()), "{} are free", room());
        assert_eq!(taken.load(Ordering::Relaxed), scratch.used());
        // What the file has is everybody's, what the disk has the others'.
        let old_versions = (0..).take_while(|_| scratch.alloc(Kept::Nothing).is_ok());
        let pages = old_versions.count() as u64;
        assert!(pages * PAGE_SIZE as u64 >= kept - (1 << 20), "{pages} pages");
        let page = PageId(PageId::SCRATCH_FIRST);
        scratch.free(page);
        assert_eq!(scratch.alloc(Kept::Reserve).unwrap(), page);
    }
}
