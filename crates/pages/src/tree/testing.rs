//! What the tree's tests share.

use std::sync::Arc;

use super::op::register;
use super::{OVERFLOW_CAPACITY, Tree};
use crate::ids::PageId;
use crate::store::{OpTable, Store};

/// A small deterministic generator (xorshift64*): tests name their seed, failures repeat.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        ((self.next() >> 33) as usize) % limit
    }
}

/// A store in memory that holds nothing but what a test puts there.
pub struct TestStore {
    pub store: Arc<Store>,
    /// Pages in use before the test begins.
    own: usize,
}

impl TestStore {
    pub fn new() -> TestStore {
        TestStore::with_pool(1 << 14)
    }

    /// With so many pages of memory.
    pub fn with_pool(pages: usize) -> TestStore {
        let store = Store::in_memory(pages, ops());
        let own = used_pages(&store);
        TestStore { store, own }
    }

    /// Pages that the test has in use.
    pub fn pages_in_use(&self) -> usize {
        used_pages(&self.store) - self.own
    }
}

/// What recovery must know to redo the tree's changes.
pub fn ops() -> OpTable {
    let mut table = OpTable::new();
    register(&mut table);
    table
}

/// Pages allocated, bitmaps and superblock included.
pub fn used_pages(store: &Store) -> usize {
    let used = (0..store.file_pages()).filter(|&page| store.is_used(PageId(page)).expect("a bitmap"));
    used.count()
}

/// Writes a value as an overflow chain, each page by itself, and returns its first page.
pub fn write_chain(tree: &Tree, value: &[u8]) -> PageId {
    let write_page = |next, data: &[u8]| {
        let mut mtr = tree.store().begin_mtr().unwrap();
        let page = tree.overflow().write_page(&mut mtr, next, data).unwrap();
        mtr.commit();
        page
    };
    if value.is_empty() {
        return write_page(PageId::NONE, b"");
    }
    value
        .chunks(OVERFLOW_CAPACITY)
        .rev()
        .fold(PageId::NONE, write_page)
}

/// Frees a chain that no entry names.
pub fn free_chain(tree: &Tree, first: PageId) {
    let mut pages = Vec::new();
    tree.overflow().pages(first, &mut pages).unwrap();
    let mut mtr = tree.store().begin_mtr().unwrap();
    pages.iter().for_each(|&page| mtr.free_page(page).unwrap());
    mtr.commit();
}
