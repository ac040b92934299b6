//! Reading ahead: several pages that will be wanted soon, in one request to the disk.
//!
//! A scan that goes to the disk for every leaf pays for each the price of a request, which on fast disks is most of
//! what a page costs. A caller that knows which pages come next (from the parent of a leaf) has them read together:
//! those that lie near one another in the file are one read, in which what lies between them is skipped.
//!
//! Nothing here waits: a page that another thread has latched, or for which there is no frame at once, is left to the
//! thread that needs it. So no cycle of waiters can lead through the latches held meanwhile, which are those of absent
//! pages. A page that cannot be read is left absent too, and the thread that needs it gets the error.

use super::Pool;
use crate::disk::Part;
use crate::ids::{PAGE_SIZE, PageId};
use crate::waits::{Wait, timed};
use std::sync::atomic::Ordering;

/// Pages in one read, those passed over included.
const RUN_MAX: u32 = 64;
/// Pages not asked for that one read may skip between two that are.
const GAP_MAX: u32 = 2;

/// A page on its way in: latched exclusively, its frame won.
struct Coming {
    page: PageId,
    frame: usize,
}

impl Pool {
    /// Whether the page is in memory this moment.
    #[inline]
    pub(crate) fn is_resident(&self, page: PageId) -> bool {
        self.arena.has(page) && self.arena.state(page).latch.is_resident()
    }

    /// Whether there is such a page, for all that the pool knows.
    pub(super) fn can_be_had(&self, page: PageId) -> bool {
        self.arena.has(page) || self.arena.cover(page).is_ok()
    }

    /// Brings in those of the pages that are not in memory, as far as that can be done at once.
    pub(crate) fn read_ahead(&self, pages: &mut Vec<PageId>) {
        pages.retain(|page| self.can_be_had(*page) && !self.is_resident(*page));
        pages.sort_unstable();
        pages.dedup();
        // No more than a part of the pool, or they would drive one another out.
        pages.truncate(self.frames() / 16);
        self.read_runs(pages);
    }

    /// Brings in pages that are in the order of their numbers, each once, and valid.
    pub(crate) fn read_runs(&self, pages: &[PageId]) {
        let mut rest = pages;
        while let Some(&first) = rest.first() {
            let mut len = 1;
            while let Some(next) = rest.get(len)
                && next.0 - rest[len - 1].0 <= GAP_MAX + 1
                && next.0 - first.0 < RUN_MAX
                && next.is_scratch() == first.is_scratch()
            {
                len += 1;
            }
            self.read_run(&rest[..len]);
            rest = &rest[len..];
        }
    }

    #[allow(unsafe_code)]
    fn read_run(&self, pages: &[PageId]) {
        let mut coming = Vec::with_capacity(pages.len());
        for &page in pages {
            if !self.can_be_had(page) {
                continue;
            }
            let latch = &self.arena.state(page).latch;
            if !latch.try_lock_absent() {
                continue;
            }
            match self.frame_at_once() {
                Some(frame) => {
                    self.arena.seat(page, frame);
                    coming.push(Coming { page, frame });
                }
                None => {
                    latch.unlock_evicted();
                    break;
                }
            }
        }
        let Some(first) = coming.first() else { return };
        let (file, offset) = self.place(first.page);
        let mut parts = Vec::with_capacity(2 * coming.len());
        let mut at = first.page.0;
        for Coming { page, .. } in &coming {
            if page.0 > at {
                parts.push(Part::Skip((page.0 - at) as usize * PAGE_SIZE));
            }
            // SAFETY: we hold the page exclusively; optimistic readers cannot have a version of a page not resident. Each
            // page stands in the list once.
            let buffer = unsafe { self.arena.page(*page).as_mut() };
            parts.push(Part::Into(&mut buffer[..]));
            at = page.0 + 1;
        }
        let done = timed(Wait::PageRead, || file.read_parts_at(&mut parts, offset));
        drop(parts);
        self.reads.fetch_add(coming.len() as u64, Ordering::Relaxed);
        self.reads_ahead.fetch_add(coming.len() as u64, Ordering::Relaxed);
        for Coming { page, frame } in coming {
            let latch = &self.arena.state(page).latch;
            // SAFETY: as above; no other thread reads it.
            let found = unsafe { self.arena.page(page).as_ref() };
            if done.is_ok() && found.is_intact(page) && self.is_as_written(page, found) {
                self.frames.put(frame, page);
                latch.set_resident();
                latch.unlock_exclusive();
            } else {
                self.frames.give_back(frame);
                latch.unlock_evicted();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::sim::SimDisk;
    use crate::disk::{Access, Disk, File};
    use crate::pool::PageBuf;
    use std::sync::Arc;

    /// A pool over a file of sealed pages, each of which bears its number.
    fn pool(frames: usize, pages: u32) -> (Arc<Pool>, Arc<dyn File>) {
        let disk = SimDisk::new(1);
        let file = |name| disk.open(name, true, Access::Direct).unwrap();
        let data = file("data");
        let mut page = PageBuf::zeroed();
        for id in 0..pages {
            page.put_u64(64, id.into());
            page.seal(PageId(id));
            data.write_at(&page[..], u64::from(id) * PAGE_SIZE as u64)
                .unwrap();
        }
        let pool = Pool::new(frames, frames, 1 << 20, data.clone(), file("scratch")).unwrap();
        (Arc::new(pool), data)
    }

    fn number(pool: &Pool, page: u32) -> u64 {
        pool.shared(PageId(page)).unwrap().u64_at(64)
    }

    #[test]
    fn what_can_be_had_at_once_is_brought_in() {
        let (pool, data) = pool(256, 50);
        assert!(pool.can_be_had(PageId(0)));
        data.write_at(&[1; 8], 14 * PAGE_SIZE as u64 + 100).unwrap();
        let held = PageId(11);
        let latch = &pool.arena.state(held).latch;
        assert!(!latch.lock_exclusive());
        number(&pool, 12);
        let mut wanted = [40, 12, 10, 13, 14, 11, 13].map(PageId).to_vec();
        pool.read_ahead(&mut wanted);
        latch.unlock_evicted();
        let resident: Vec<u32> = (0..50).filter(|id| pool.is_resident(PageId(*id))).collect();
        assert_eq!(
            resident,
            [10, 12, 13, 40],
            "not the held page, nor the broken one"
        );
        let reads = pool.status().reads;
        assert_eq!([10, 13, 40].map(|id| number(&pool, id)), [10, 13, 40]);
        assert_eq!(pool.status().reads, reads);
        assert!(pool.shared(PageId(14)).is_err());
        assert_eq!(pool.status().used, 4);
    }

    #[test]
    fn the_limit_holds_while_pages_are_read_ahead_and_evicted_together() {
        const FRAMES: usize = 1024;
        const PAGES: u32 = 3000;
        let (pool, _) = pool(FRAMES, PAGES);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let pool = &pool;
                scope.spawn(move || {
                    let mut page = thread * 700;
                    for _ in 0..5000 {
                        page = (page + 1237) % PAGES;
                        if page.is_multiple_of(7) {
                            let run = page..(page + 40).min(PAGES);
                            pool.read_ahead(&mut run.map(PageId).collect());
                        }
                        assert_eq!(number(pool, page), page.into());
                        assert!(pool.status().used <= FRAMES);
                    }
                });
            }
        });
        assert!(pool.status().evictions > 0);
        let resident = (0..PAGES).filter(|id| pool.is_resident(PageId(*id))).count();
        assert_eq!(resident, pool.status().used);
    }
}
