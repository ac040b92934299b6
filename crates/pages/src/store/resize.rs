//! `innodb_buffer_pool_size` and `innodb_redo_log_capacity` of a store that runs.

use super::{LOG_CAPACITY_MIN, Store};
use crate::error::{Error, Result};
use crate::pool::MOVED_MAX;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// How long a thread that waits for its turn to resize goes without asking whether it should go on.
const WAIT: Duration = Duration::from_millis(20);
/// How long shrinking pauses when all pages that are to be moved are latched.
const PAUSE: Duration = Duration::from_millis(1);

impl Store {
    /// Makes the pool hold so many pages, or as near to that as it can, and returns how many it holds now. A pool that shrinks
    /// evicts pages, and waits for dirty ones to be written where there is no room for them; `check` ends that early, and then the pool
    /// is as large as it was. One thread at a time resizes, others wait for it. To be called while holding nothing.
    pub fn resize_pool(&self, pages: usize, check: &dyn Fn() -> Result<()>) -> Result<usize> {
        let _one_at_a_time = loop {
            check()?;
            if let Some(ours) = self.resizing.try_lock_for(WAIT) {
                break ours;
            }
        };
        let (pool, before) = (self.pool(), self.pool().frames());
        let frames = pool.size_for(pages);
        if frames >= before {
            pool.grow(frames)?;
            return Ok(frames);
        }
        let closing = pool.begin_to_shrink(frames);
        // The first look marks pages, the second evicts those that were not used between the two.
        let mut open = pool.close_unused(closing.clone());
        open = pool.close_unused(open.into_iter());
        while !open.is_empty() {
            let mut moved = open
                .chunks(MOVED_MAX)
                .map(|some| check().and_then(|()| self.move_some(some)));
            if let Err(error) = moved.try_for_each(|done| done) {
                pool.reopen(frames..before);
                return Err(error);
            }
            let before = open.len();
            open = pool.close_unused(open.into_iter());
            if open.len() == before {
                thread::sleep(PAUSE);
            }
        }
        pool.end_shrinking(closing);
        Ok(frames)
    }

    fn move_some(&self, from: &[usize]) -> Result<()> {
        let won = self.pool().win_frames(from.len())?;
        let _no_walk_nor_flight = self.cleaner().hold();
        self.pool().move_pages(from, won);
        Ok(())
    }

    /// How far the log may grow between checkpoints, from now on. A smaller one holds when checkpoints have made room.
    pub fn set_log_capacity(&self, bytes: u64) -> Result<()> {
        self.log_capacity
            .store(bytes.max(LOG_CAPACITY_MIN), Ordering::Relaxed);
        self.pool().cleaner_signal().ask();
        if self.is_recovering() {
            return Ok(());
        }
        let control = self.control();
        match self.make_log_room(control.scan_from, control.redo_from) {
            Err(Error::DiskFull) => Ok(()),
            made => made,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::sim::SimDisk;
    use crate::ids::PageId;
    use crate::log::OnFailure;
    use crate::store::StoreConfig;
    use crate::store::tests::{new_page, ops, read, write};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU64};

    const SMALL: usize = 80;
    const LARGE: usize = 20_000;

    fn open(disk: &SimDisk, pages: usize) -> Arc<Store> {
        let mut config = StoreConfig::new(Arc::new(disk.clone()));
        config.pool_pages = pages;
        config.pool_pages_max = LARGE;
        config.log_buffer_bytes = 1 << 20;
        config.log_capacity_bytes = 4 << 20;
        config.on_log_failure = OnFailure::Refuse;
        Store::open(config, ops()).unwrap().0
    }

    /// Writers count pages up, readers see counts that never fall, while the pool goes from one size to another; then the power is
    /// cut, and what was certain is there: no checkpoint has overlooked a page that was moved.
    #[test]
    fn the_pool_grows_and_shrinks_under_load() {
        const PAGES: usize = 600;
        const WRITERS: usize = 3;
        let disk = SimDisk::new(35);
        let store = open(&disk, 300);
        let pages: Vec<PageId> = (0..PAGES).map(|_| new_page(&store, 0)).collect();
        let counts: Vec<AtomicU64> = (0..PAGES).map(|_| AtomicU64::new(0)).collect();
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (store, pages, counts, over) = (&store, &pages, &counts, &over);
                scope.spawn(move || {
                    let mut at = writer;
                    while !over.load(Ordering::Relaxed) {
                        // Half of the changes are of few pages, which are never clean for long.
                        at = (at + 7 * WRITERS) % PAGES;
                        let hot = WRITERS * (at % 5) + writer;
                        for page in [at / WRITERS * WRITERS + writer, hot] {
                            let value = counts[page].load(Ordering::Relaxed) + 1;
                            let end = write(store, pages[page], value).end;
                            counts[page].store(value, Ordering::Release);
                            if value.is_multiple_of(64) {
                                store.log().wait_durable(end).unwrap();
                            }
                        }
                    }
                });
            }
            scope.spawn(|| {
                let mut at = 0;
                while !over.load(Ordering::Relaxed) {
                    at = (at + 37) % PAGES;
                    let before = counts[at].load(Ordering::Acquire);
                    assert!(read(&store, pages[at]) >= before);
                }
            });
            for (round, size) in [SMALL, 2000, 200, LARGE, SMALL, 9000, 90].into_iter().enumerate() {
                assert_eq!(store.resize_pool(size, &|| Ok(())).unwrap(), size);
                let status = store.pool().status();
                assert_eq!(status.frames, size);
                assert!(status.used <= size, "{} pages in {size} frames", status.used);
                store.checkpoint().unwrap();
                if round % 2 == 0 {
                    thread::sleep(Duration::from_millis(30));
                }
            }
            over.store(true, Ordering::Relaxed);
        });
        store.log().flush_all().unwrap();
        let found: Vec<u64> = pages.iter().map(|&page| read(&store, page)).collect();
        let wanted: Vec<u64> = counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        assert_eq!(found, wanted);
        let disk = disk.restart();
        drop(store);
        let store = open(&disk, SMALL);
        let recovered: Vec<u64> = pages.iter().map(|&page| read(&store, page)).collect();
        assert_eq!(recovered, wanted);
    }

    #[test]
    fn a_change_that_is_ended_leaves_the_size_as_it_was() {
        let disk = SimDisk::new(36);
        let store = open(&disk, 1000);
        let pages: Vec<PageId> = (0..900).map(|i| new_page(&store, i)).collect();
        // The pages are dirty, so they have to be moved.
        let asked = AtomicU64::new(0);
        let ended = store.resize_pool(SMALL, &|| match asked.fetch_add(1, Ordering::Relaxed) {
            0..=2 => Ok(()),
            _ => Err(Error::Stopped("enough".into())),
        });
        assert!(matches!(ended, Err(Error::Stopped(_))));
        assert_eq!(store.pool().frames(), 1000);
        for (i, &page) in pages.iter().enumerate() {
            assert_eq!(read(&store, page), i as u64);
        }
        assert_eq!(
            store.resize_pool(1, &|| Ok(())).unwrap(),
            64,
            "no fewer than there must be"
        );
        assert_eq!(store.resize_pool(usize::MAX, &|| Ok(())).unwrap(), LARGE);
        for (i, &page) in pages.iter().enumerate() {
            assert_eq!(read(&store, page), i as u64);
        }
    }

    #[test]
    fn the_log_grows_and_is_kept_small_again() {
        let disk = SimDisk::new(37);
        let store = open(&disk, 300);
        let page = new_page(&store, 0);
        store.set_log_capacity(64 << 20).unwrap();
        assert_eq!(store.status().log_capacity_bytes, 64 << 20);
        for value in 1..1000 {
            write(&store, page, value);
        }
        store.set_log_capacity(5 << 20).unwrap();
        // Far more than that goes through it.
        for value in 0..200_000 {
            write(&store, page, value);
        }
        let status = store.status();
        assert!(
            status.log.tail.0 - status.redo_from.0 <= (5 << 20) + (2 << 20),
            "{} behind {}",
            status.log.tail,
            status.redo_from
        );
    }
}
