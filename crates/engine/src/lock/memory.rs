//! The memory that locks take, and its limit.
//!
//! Each owner counts its own, and reports here what it has grown or shrunk by once that is worth while; so the sum is a
//! little behind, and costs nothing per lock. When it is above the limit, a transaction that locks more rows, and is not
//! one of the small ones, fails and is rolled back: InnoDB's error of the full lock table.

use std::sync::atomic::{AtomicU64, Ordering};

/// The memory of all owners together, in bytes.
pub(crate) struct LockMemory {
    used: AtomicU64,
    limit: u64,
}

/// What one owner has reported.
#[derive(Default)]
pub(super) struct Charge(u64);

/// An owner reports when it differs by so much.
const STEP: u64 = 64 << 10;

impl LockMemory {
    pub fn new(limit: u64) -> LockMemory {
        LockMemory {
            used: AtomicU64::new(0),
            limit,
        }
    }

    /// The memory of all owners that have reported theirs.
    pub fn bytes(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    pub fn is_full(&self) -> bool {
        self.used.load(Ordering::Relaxed) > self.limit
    }
}

impl Charge {
    /// The owner now takes `bytes`; 0 at the end of its transaction.
    pub fn set(&mut self, memory: &LockMemory, bytes: u64) {
        if bytes.abs_diff(self.0) < STEP && bytes != 0 {
            return;
        }
        if bytes != self.0 {
            memory
                .used
                .fetch_add(bytes.wrapping_sub(self.0), Ordering::Relaxed);
            self.0 = bytes;
        }
    }

    /// True if the owner has reported anything.
    pub fn is_large(&self) -> bool {
        self.0 != 0
    }
}
