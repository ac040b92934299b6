//! A pool of few pages, each a word: the latch, the frames and the dirty marks are the real ones.

#[path = "../../src/pool/dirty.rs"]
#[allow(dead_code)]
mod dirty;
#[path = "../../src/pool/frames.rs"]
#[allow(dead_code)]
mod frames;
#[path = "../../src/pool/latch.rs"]
#[allow(dead_code)]
mod latch;

use crate::ids::{Lsn, PageId};
use crate::sync::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use crate::{model, within};
use dirty::{Health, Signal};
use frames::Frames;
use latch::{Latch, Version};
use loom::thread;
use std::sync::Arc;
use std::sync::atomic::AtomicU64 as Count;

/// What a page holds.
#[derive(Default)]
pub struct PageBuf(u64);

impl PageBuf {
    fn seal(&mut self, _page: PageId) {}
}

#[derive(Default)]
struct PageState {
    latch: Latch,
    rec_lsn: AtomicU64,
    frame: AtomicU32,
}

struct Arena {
    states: Vec<PageState>,
    /// The memory of the frames.
    memory: Vec<AtomicU64>,
}

impl Arena {
    fn state(&self, page: PageId) -> &PageState {
        &self.states[page.0 as usize]
    }

    fn known(&self, page: PageId) -> Option<&PageState> {
        Some(self.state(page))
    }

    fn memory(&self, page: PageId) -> &AtomicU64 {
        &self.memory[self.state(page).frame.load(Ordering::Relaxed) as usize]
    }

    fn copy_out(&self, page: PageId, copy: &mut PageBuf) {
        copy.0 = self.memory(page).load(Ordering::Relaxed);
    }
}

struct Pool {
    arena: Arena,
    frames: Frames,
    dirty: AtomicUsize,
    cleaner: Arc<Signal>,
    evictions: Count,
    starved: Count,
}

/// What every page holds when it comes from the disk for the first time.
fn original(page: PageId) -> u64 {
    u64::from(page.0) * 100
}

impl Pool {
    /// Compared when a page is read, which is not modelled.
    fn note_written(&self, _: PageId, _: &PageBuf) {}

    fn new(pages: usize, frames: usize) -> Arc<Pool> {
        Arc::new(Pool {
            arena: Arena {
                states: (0..pages).map(|_| PageState::default()).collect(),
                memory: (0..frames).map(|_| AtomicU64::new(0)).collect(),
            },
            frames: Frames::new(frames, frames),
            dirty: AtomicUsize::new(0),
            cleaner: Arc::default(),
            evictions: Count::new(0),
            starved: Count::new(0),
        })
    }

    fn is_pinned(&self, _page: PageId) -> bool {
        false
    }

    fn latch(&self, page: PageId) -> &Latch {
        &self.arena.state(page).latch
    }

    /// As the pool's `bring_in_with`: for the exclusive holder of a page not resident that has won a frame.
    fn seat(&self, page: PageId, frame: usize, content: u64) {
        let state = self.arena.state(page);
        state.frame.store(frame as u32, Ordering::Relaxed);
        self.arena.memory[frame].store(content, Ordering::Relaxed);
        self.frames.put(frame, page);
        state.latch.set_resident();
    }

    /// Takes the page exclusively, bringing it in if need be. False if there is no frame at once.
    fn exclusive(&self, page: PageId) -> bool {
        if self.latch(page).lock_exclusive() {
            return true;
        }
        match self.frame_at_once() {
            Some(frame) => {
                self.seat(page, frame, original(page));
                true
            }
            None => {
                self.latch(page).unlock_evicted();
                false
            }
        }
    }

    /// A pool with the page in it.
    fn with_page(pages: usize, frames: usize, page: PageId) -> Arc<Pool> {
        let pool = Pool::new(pages, frames);
        assert!(pool.exclusive(page));
        pool.latch(page).unlock_exclusive();
        pool
    }

    /// Once all is quiet: a page is in memory if and only if one frame has its name, and its memory is that frame.
    fn check(&self) {
        let mut names: Vec<PageId> = self.frames.names().collect();
        names.sort_unstable();
        let pages = (0..self.arena.states.len() as u32).map(PageId);
        let resident: Vec<PageId> = pages.filter(|page| self.latch(*page).is_resident()).collect();
        assert_eq!(names, resident);
        for page in names {
            let found = self.arena.memory(page).load(Ordering::Relaxed);
            assert_eq!(found, original(page), "{page}");
        }
    }

    /// What an optimistic reader finds, if it was true.
    fn read(&self, page: PageId, version: Version) -> Option<u64> {
        let found = self.arena.memory(page).load(Ordering::Relaxed);
        self.latch(page).validate(version).then_some(found)
    }
}

const A: PageId = PageId(0);
const B: PageId = PageId(1);

// ------------------------------------------------------------------------------------------------------------- latch

/// Two words that an exclusive holder changes together.
#[derive(Default)]
struct Pair {
    latch: Latch,
    words: [AtomicU64; 2],
}

impl Pair {
    fn new() -> Arc<Pair> {
        let pair = Pair::default();
        pair.latch.lock_exclusive();
        pair.latch.set_resident();
        pair.latch.unlock_exclusive();
        Arc::new(pair)
    }

    fn read(&self) -> [u64; 2] {
        [0, 1].map(|at| self.words[at].load(Ordering::Relaxed))
    }

    fn add_one(&self) {
        let [front, back] = self.read();
        assert_eq!(front, back, "an exclusive holder sees no change in the middle");
        self.words[0].store(front + 1, Ordering::Relaxed);
        self.words[1].store(back + 1, Ordering::Relaxed);
    }
}

/// Fails if exclusive holders let go, or turn their hold into a share, with less than a release.
#[test]
fn holders_exclude_one_another() {
    model(within(2), || {
        let pair = Pair::new();
        let writer = {
            let pair = pair.clone();
            thread::spawn(move || {
                pair.latch.lock_exclusive();
                pair.add_one();
                pair.latch.unlock_exclusive();
            })
        };
        let reader = {
            let pair = pair.clone();
            thread::spawn(move || {
                assert!(pair.latch.lock_shared());
                let [front, back] = pair.read();
                assert_eq!(front, back);
                pair.latch.unlock_shared();
            })
        };
        pair.latch.lock_exclusive();
        pair.add_one();
        pair.latch.downgrade();
        assert_eq!(pair.read()[0], pair.read()[1]);
        pair.latch.unlock_shared();
        writer.join().unwrap();
        reader.join().unwrap();
        assert_eq!(pair.read(), [2, 2]);
    });
}

/// Fails if a sleeper does not look again under the parking lot's lock, if the last sharer to leave wakes no thread, and if
/// the mark for waiters is cleared while a thread sleeps.
#[test]
fn every_waiter_is_woken() {
    model(within(2), || {
        let pair = Pair::new();
        assert!(pair.latch.lock_shared());
        let writers: Vec<_> = (0..2)
            .map(|_| {
                let pair = pair.clone();
                thread::spawn(move || {
                    pair.latch.lock_exclusive();
                    pair.add_one();
                    pair.latch.unlock_exclusive();
                })
            })
            .collect();
        pair.latch.unlock_shared();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert_eq!(pair.read(), [2, 2]);
    });
}

/// Fails if `exclude_at` does not pass on the wake-up that it does not use.
#[test]
fn a_waiter_whose_page_has_changed_passes_its_wake_up_on() {
    model(within(2), || {
        let pair = Pair::new();
        let version = pair.latch.optimistic().unwrap();
        // Both queue behind a sharer; then one that comes past them changes the page.
        assert!(pair.latch.lock_shared());
        let waiters = [
            {
                let pair = pair.clone();
                thread::spawn(move || {
                    if pair.latch.exclude_at(version) {
                        pair.latch.unlock_exclusive();
                    }
                })
            },
            {
                let pair = pair.clone();
                thread::spawn(move || {
                    pair.latch.lock_exclusive();
                    pair.add_one();
                    pair.latch.unlock_exclusive();
                })
            },
        ];
        pair.latch.unlock_shared();
        pair.latch.lock_exclusive();
        pair.add_one();
        pair.latch.unlock_exclusive();
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        assert_eq!(pair.read(), [2, 2]);
    });
}

// ------------------------------------------------------------------------------------------------------------ frames

/// Fails if a frame that is empty is taken by a store instead of an exchange.
#[test]
fn a_frame_holds_one_page() {
    model(within(2), || {
        let pool = Pool::with_page(3, 2, A);
        let comers: Vec<_> = [B, PageId(2)]
            .into_iter()
            .map(|page| {
                let pool = pool.clone();
                thread::spawn(move || {
                    let is_in = pool.exclusive(page);
                    if is_in {
                        let found = pool.arena.memory(page).load(Ordering::Relaxed);
                        assert_eq!(found, original(page));
                        pool.latch(page).unlock_exclusive();
                    }
                    is_in
                })
            })
            .collect();
        let came: Vec<bool> = comers.into_iter().map(|comer| comer.join().unwrap()).collect();
        assert!(came.contains(&true), "of two that want a frame one gets it");
        pool.check();
    });
}

/// Fails if the hand does not look again, under the page's latch, where the page stands: it may have left the frame and
/// come back into another.
#[test]
fn the_hand_takes_the_frame_that_the_page_stands_in() {
    model(within(2), || {
        let pool = Pool::with_page(4, 2, A);
        assert!(pool.exclusive(B));
        pool.latch(B).unlock_exclusive();
        // Both are marked: the next round takes them.
        assert!(!pool.latch(A).take_if_unused() && !pool.latch(B).take_if_unused());
        let comer = {
            let pool = pool.clone();
            thread::spawn(move || {
                for page in [PageId(2), PageId(3), A] {
                    if pool.exclusive(page) {
                        pool.latch(page).unlock_exclusive();
                    }
                }
                // Marks it once more.
                if pool.latch(A).take_if_unused() {
                    pool.latch(A).unlock_exclusive();
                }
            })
        };
        let won = pool.frame_at_once();
        comer.join().unwrap();
        if let Some(frame) = won {
            pool.frames.give_back(frame);
        }
        pool.check();
    });
}

/// Fails without the fence behind the taking of an empty frame, and without the one in the latch's `validate`.
#[test]
fn a_reader_of_an_evicted_page_does_not_believe_the_next_one() {
    model(within(3), || {
        let pool = Pool::with_page(2, 1, A);
        let version = pool.latch(A).optimistic().unwrap();
        let evictor = {
            let pool = pool.clone();
            thread::spawn(move || {
                // The page it was evicted for cannot be read, so the frame is given back.
                if let Some(frame) = pool.frame_at_once() {
                    pool.frames.give_back(frame);
                }
            })
        };
        let comer = {
            let pool = pool.clone();
            thread::spawn(move || {
                if pool.exclusive(B) {
                    pool.latch(B).unlock_exclusive();
                }
            })
        };
        if let Some(found) = pool.read(A, version) {
            assert_eq!(found, original(A));
        }
        evictor.join().unwrap();
        comer.join().unwrap();
    });
}

// ------------------------------------------------------------------------------------------------------------- dirty

/// Fails if the position is put down after the record's place was reserved.
#[test]
fn a_checkpoint_overlooks_no_change_before_it() {
    model(within(3), || {
        let pool = Pool::with_page(1, 1, A);
        let tail = Arc::new(AtomicU64::new(10));
        let writer = {
            let (pool, tail) = (pool.clone(), tail.clone());
            thread::spawn(move || {
                for _ in 0..2 {
                    pool.latch(A).lock_exclusive();
                    pool.set_dirty(A, || Lsn(tail.load(Ordering::SeqCst)));
                    tail.fetch_add(10, Ordering::SeqCst);
                    pool.latch(A).unlock_exclusive();
                }
            })
        };
        let end = Lsn(tail.load(Ordering::SeqCst));
        let redo_from = pool.oldest_rec_lsn().map_or(end, |lsn| lsn.min(end));
        assert_eq!(redo_from, Lsn(10), "nothing has been written back");
        writer.join().unwrap();
    });
}

/// Fails if a copy that has landed takes away the position of a later change with the mark of being in flight.
#[test]
fn a_page_leaves_memory_only_as_it_is_on_disk() {
    model(within(2), || {
        let pool = Pool::with_page(2, 1, A);
        let disk = Arc::new(AtomicU64::new(original(A)));
        let change = |pool: &Pool| {
            pool.set_dirty(A, || Lsn(10));
            pool.arena.memory(A).store(7, Ordering::Relaxed);
        };
        pool.latch(A).lock_exclusive();
        change(&pool);
        pool.latch(A).unlock_exclusive();
        let cleaner = {
            let (pool, disk) = (pool.clone(), disk.clone());
            thread::spawn(move || {
                let mut copy = PageBuf::default();
                if let Some(taken) = pool.take_off(A, &mut copy) {
                    disk.store(copy.0, Ordering::Relaxed);
                    pool.landed(taken);
                }
            })
        };
        let writer = {
            let pool = pool.clone();
            thread::spawn(move || {
                if pool.latch(A).lock_exclusive() {
                    pool.set_dirty(A, || Lsn(20));
                    pool.arena.memory(A).store(8, Ordering::Relaxed);
                    pool.latch(A).unlock_exclusive();
                    true
                } else {
                    pool.latch(A).unlock_evicted();
                    false
                }
            })
        };
        let evicted = pool.frame_at_once().is_some();
        let on_disk_then = evicted.then(|| disk.load(Ordering::Relaxed));
        cleaner.join().unwrap();
        let wrote = writer.join().unwrap();
        if let Some(on_disk) = on_disk_then {
            assert_eq!(on_disk, if wrote { 8 } else { 7 }, "what was evicted is lost");
        }
        // Whatever happened: dirty, or as on disk.
        if !evicted {
            let last = if wrote { 8 } else { 7 };
            assert!(pool.is_dirty(A) || disk.load(Ordering::Relaxed) == last);
            assert_eq!(pool.dirty_count(), usize::from(pool.is_dirty(A)));
        }
    });
}

/// Fails if an evictor does not look again, under the latch, whether the page is clean: another evictor may have marked
/// it since.
#[test]
fn a_page_that_was_changed_is_not_evicted() {
    model(within(2), || {
        let pool = Pool::with_page(1, 1, A);
        let evictor = {
            let pool = pool.clone();
            thread::spawn(move || pool.frame_at_once().is_some())
        };
        let writer = {
            let pool = pool.clone();
            thread::spawn(move || {
                let is_in = pool.latch(A).lock_exclusive();
                if is_in {
                    pool.set_dirty(A, || Lsn(10));
                    pool.latch(A).unlock_exclusive();
                } else {
                    pool.latch(A).unlock_evicted();
                }
                is_in
            })
        };
        let evicted = pool.frame_at_once().is_some() | evictor.join().unwrap();
        let changed = writer.join().unwrap();
        assert!(!(changed && evicted), "a change is lost");
    });
}

/// Fails if the cleaner reports without waking the threads that wait, and if it sleeps although it was asked.
#[test]
fn whoever_finds_only_dirty_pages_gets_a_frame_from_the_cleaner() {
    model(within(2), || {
        let pool = Pool::with_page(2, 1, A);
        pool.latch(A).lock_exclusive();
        pool.set_dirty(A, || Lsn(10));
        pool.latch(A).unlock_exclusive();
        let comer = {
            let pool = pool.clone();
            thread::spawn(move || {
                assert!(!pool.latch(B).lock_exclusive());
                let frame = pool.take_frame().unwrap();
                pool.seat(B, frame, original(B));
                pool.latch(B).unlock_exclusive();
            })
        };
        let signal = pool.cleaner_signal().clone();
        signal.wait_for_work(std::time::Duration::ZERO);
        let taken = pool.take_off(A, &mut PageBuf::default());
        if let Some(taken) = taken {
            pool.landed(taken);
        }
        signal.report(1);
        comer.join().unwrap();
        assert!(pool.latch(B).is_resident() && !pool.latch(A).is_resident());
    });
}
