//! Bytes put aside while a statement runs: rows to be sorted, joined or kept that are more than it may hold in memory.
//!
//! A spool is written once from front to back and read at any place. It lies in scratch pages, so it is not logged,
//! counts against the buffer pool, and reaches the disk only when the pool wants the room for something else:
//!
//! ```text
//!  bytes   0 ────────── BODY_LEN ────────── 2·BODY_LEN ─────── len
//!          │ page[0]    │ page[1]           │ tail: in memory  │
//! ```
//!
//! What the spools of one owner may take together is bounded, and some room on the disk is left to others.
//!
//! A page is written when it is full; the last bytes wait in memory. Pages go back when the spool is dropped, at the latest
//! with the engine, since no scratch page outlives it.

use crate::error::{Error, Result};
use crate::ids::{PAGE_SIZE, PageId};
use crate::pool::{PAGE_HEADER, page_type};
use crate::store::Store;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a page that hold what was written.
const BODY_LEN: usize = PAGE_SIZE - PAGE_HEADER;

/// Where spools take their pages from, and how many they have.
pub(crate) struct SpoolSpace {
    store: Arc<Store>,
    /// Scratch pages that belong to spools, and all that ever did; numbers to show.
    pages: AtomicU64,
    filled: AtomicU64,
    /// How many pages the spools of one owner may have; 0: any number.
    pages_max: AtomicU64,
}

/// How many pages the spools of one owner have. By default nothing bounds them, as those of an index that is built.
#[derive(Clone, Debug, Default)]
pub struct SpoolOwner {
    pages: Arc<AtomicU64>,
    is_bounded: bool,
}

impl SpoolOwner {
    /// A session, whose statements may have as many as [`Engine::set_spool_max`](crate::Engine::set_spool_max) says.
    pub fn bounded() -> SpoolOwner {
        SpoolOwner {
            is_bounded: true,
            ..SpoolOwner::default()
        }
    }
}

impl SpoolSpace {
    pub fn new(store: Arc<Store>) -> Arc<SpoolSpace> {
        Arc::new(SpoolSpace {
            store,
            pages: AtomicU64::new(0),
            filled: AtomicU64::new(0),
            pages_max: AtomicU64::new(0),
        })
    }

    /// Bounds what the spools of one owner may take, in bytes; 0: they are not bounded.
    pub fn set_bytes_max(&self, bytes: u64) {
        self.pages_max
            .store(bytes.div_ceil(PAGE_SIZE as u64), Ordering::Relaxed);
    }

    /// Counts a page for an owner. The caller takes it off again if it gets none.
    fn count(&self, owner: &SpoolOwner) -> Result<()> {
        let pages_max = self.pages_max.load(Ordering::Relaxed);
        let taken = owner.pages.fetch_add(1, Ordering::Relaxed);
        if owner.is_bounded && pages_max > 0 && taken >= pages_max {
            let max_bytes = pages_max * PAGE_SIZE as u64;
            return Err(Error::SpoolFull { max_bytes });
        }
        Ok(())
    }

    /// Pages that spools have filled so far.
    pub fn filled(&self) -> u64 {
        self.filled.load(Ordering::Relaxed)
    }

    /// Scratch pages that belong to spools.
    pub fn pages(&self) -> u64 {
        self.pages.load(Ordering::Relaxed)
    }
}

/// Bytes put aside, written in order and read anywhere. One thread's at a time.
pub struct Spool {
    space: Arc<SpoolSpace>,
    owner: SpoolOwner,
    /// Full pages, in order.
    pages: Vec<PageId>,
    /// What comes behind them: less than a page.
    tail: Vec<u8>,
}

impl Spool {
    pub(crate) fn new(space: Arc<SpoolSpace>, owner: SpoolOwner) -> Spool {
        Spool {
            space,
            owner,
            pages: Vec::new(),
            tail: Vec::new(),
        }
    }

    /// Bytes written so far: where the next ones will begin.
    pub fn len(&self) -> u64 {
        (self.pages.len() * BODY_LEN + self.tail.len()) as u64
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes behind what is there. Fails if the disk is full, or the owner has all that it may have; what was written before stays.
    pub fn append(&mut self, mut bytes: &[u8]) -> Result<()> {
        while self.tail.len() + bytes.len() >= BODY_LEN {
            let (now, later) = bytes.split_at(BODY_LEN - self.tail.len());
            let allocated = self
                .space
                .count(&self.owner)
                .and_then(|()| Ok(self.space.store.alloc_aside(page_type::SPOOL)?));
            let mut guard = allocated.inspect_err(|_| {
                self.owner.pages.fetch_sub(1, Ordering::Relaxed);
            })?;
            let body = &mut guard.scratch_mut()[PAGE_HEADER..];
            let (front, back) = body.split_at_mut(self.tail.len());
            front.copy_from_slice(&self.tail);
            back.copy_from_slice(now);
            self.pages.push(guard.id());
            self.space.pages.fetch_add(1, Ordering::Relaxed);
            self.space.filled.fetch_add(1, Ordering::Relaxed);
            self.tail.clear();
            bytes = later;
        }
        self.tail.extend_from_slice(bytes);
        Ok(())
    }

    /// Reads up to `len` bytes from position `at` into `out`, in place of what that held: fewer at the end, none beyond.
    pub fn read(&self, at: u64, len: usize, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        let end = self.len().min(at.saturating_add(len as u64));
        let mut at = at;
        while at < end {
            let (page, offset) = ((at / BODY_LEN as u64) as usize, (at % BODY_LEN as u64) as usize);
            let wanted = (end - at) as usize;
            let copied = match self.pages.get(page) {
                Some(page) => {
                    let guard = self.space.store.pool().shared(*page)?;
                    let body = &guard[PAGE_HEADER..][offset..];
                    let piece = &body[..wanted.min(body.len())];
                    out.extend_from_slice(piece);
                    piece.len()
                }
                None => {
                    out.extend_from_slice(&self.tail[offset..offset + wanted]);
                    wanted
                }
            };
            at += copied as u64;
        }
        Ok(())
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.space
            .pages
            .fetch_sub(self.pages.len() as u64, Ordering::Relaxed);
        self.owner
            .pages
            .fetch_sub(self.pages.len() as u64, Ordering::Relaxed);
        for page in self.pages.drain(..) {
            self.space.store.free_scratch(page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::OpTable;

    #[test]
    fn an_owner_has_a_bound_over_all_its_spools() {
        let store = Store::in_memory(64, OpTable::new());
        let space = SpoolSpace::new(store.clone());
        space.set_bytes_max(10 * PAGE_SIZE as u64);
        let owner = SpoolOwner::bounded();
        let mut spools = [0; 2].map(|_| Spool::new(space.clone(), owner.clone()));
        let page = vec![7; BODY_LEN];
        for n in 0..10 {
            spools[n % 2].append(&page).unwrap();
        }
        for spool in &mut spools {
            assert!(matches!(spool.append(&page), Err(Error::SpoolFull { .. })));
            assert_eq!(spool.len(), 5 * BODY_LEN as u64);
        }
        let mut other = Spool::new(space.clone(), SpoolOwner::default());
        other.append(&page).unwrap();
        let [first, mut second] = spools;
        drop(first);
        second.append(&page).unwrap();
        drop((second, other));
        assert_eq!((owner.pages.load(Ordering::Relaxed), space.pages()), (0, 0));
    }

    #[test]
    fn what_was_written_is_read_at_any_place_and_the_pages_go_back() {
        let store = Store::in_memory(64, OpTable::new());
        let space = SpoolSpace::new(store.clone());
        let mut spool = Spool::new(space.clone(), SpoolOwner::default());
        assert!(spool.is_empty());
        // Many more pages than the pool has.
        let mut model: Vec<u8> = Vec::new();
        for n in 0..3000u32 {
            let piece: Vec<u8> = (0..(n * 7919) % 2000).map(|i| (i ^ n) as u8).collect();
            spool.append(&piece).unwrap();
            model.extend_from_slice(&piece);
        }
        let huge = vec![0xAB; 5 * BODY_LEN + 3];
        spool.append(&huge).unwrap();
        model.extend_from_slice(&huge);
        assert_eq!(spool.len(), model.len() as u64);
        assert!(store.status().scratch_pages >= model.len() / PAGE_SIZE);

        let mut out = Vec::new();
        let mut at = 0usize;
        while at <= model.len() + 5000 {
            let len = 1 + at % 40_000;
            spool.read(at as u64, len, &mut out).unwrap();
            let end = model.len().min(at + len);
            assert_eq!(out, model[at.min(end)..end], "at {at}");
            at += 4999;
        }
        assert_eq!(space.pages(), store.status().scratch_pages as u64);
        drop(spool);
        assert_eq!((space.pages(), store.status().scratch_pages), (0, 0));
    }
}
