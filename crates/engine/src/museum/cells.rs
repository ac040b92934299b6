//! A table of writers' ids without a lock, for the exhibits that have one.
//!
//! ```text
//!   taken   │0100…│0000…│0001…│   a bit for each cell: a scan skips 64 empty ones at a time
//!             │             │
//!   cells   │·│7│·│· …      │9│   an id stands at the first free cell from id mod size on
//! ```
//!
//! An id is put into its cell before the bit is set, and the bit is cleared before the cell is: a cell whose bit is set holds
//! the id that set it, so a scan never finds an id that is not there, and finds every id that was there throughout.

use std::sync::atomic::{AtomicU64, Ordering};

/// Writers at a time; another waits for a cell.
const CELLS: usize = 1 << 14;

pub(super) struct Cells {
    cells: Box<[AtomicU64]>,
    taken: Box<[AtomicU64]>,
}

impl Cells {
    fn from(id: u64) -> impl Iterator<Item = usize> {
        let start = (id % CELLS as u64) as usize;
        (start..CELLS).chain(0..start)
    }

    pub fn insert(&self, id: u64) {
        loop {
            for at in Self::from(id) {
                let cell = &self.cells[at];
                if cell.load(Ordering::Relaxed) == 0
                    && cell
                        .compare_exchange(0, id, Ordering::SeqCst, Ordering::Relaxed)
                        .is_ok()
                {
                    self.taken[at / 64].fetch_or(1 << (at % 64), Ordering::SeqCst);
                    return;
                }
            }
            std::thread::yield_now();
        }
    }

    /// Takes an id out; false if it is not there.
    pub fn remove(&self, id: u64) -> bool {
        // Cells before it may have become free since, so the search ends only where the table does; it begins where the id
        // most likely is.
        let found = Self::from(id).find(|at| self.cells[*at].load(Ordering::Relaxed) == id);
        if let Some(at) = found {
            self.taken[at / 64].fetch_and(!(1 << (at % 64)), Ordering::SeqCst);
            self.cells[at].store(0, Ordering::SeqCst);
        }
        found.is_some()
    }

    /// Puts the ids below `limit` into `found`, ascending.
    pub fn scan(&self, limit: u64, found: &mut Vec<u64>) {
        found.clear();
        for (group, taken) in self.taken.iter().enumerate() {
            let mut bits = taken.load(Ordering::SeqCst);
            while bits != 0 {
                let id = self.cells[group * 64 + bits.trailing_zeros() as usize].load(Ordering::SeqCst);
                if id != 0 && id < limit {
                    found.push(id);
                }
                bits &= bits - 1;
            }
        }
        found.sort_unstable();
    }
}

impl Default for Cells {
    fn default() -> Cells {
        Cells {
            cells: (0..CELLS).map(|_| AtomicU64::new(0)).collect(),
            taken: (0..CELLS / 64).map(|_| AtomicU64::new(0)).collect(),
        }
    }
}
