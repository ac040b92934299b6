//! The least and the most that a count of bytes has been, since its start or since that was asked to begin anew.
//!
//! Relaxed: the numbers stand for nothing but themselves. A thread that counts reads the marks before it writes one, so that a count that stays between them
//! writes nothing.

use std::sync::atomic::{AtomicI64, Ordering};

/// Bytes in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Now.
    pub now: u64,
    /// At least.
    pub least: u64,
    /// At most.
    pub most: u64,
}

/// The marks of a count.
pub(super) struct Marks {
    least: AtomicI64,
    most: AtomicI64,
}

impl Marks {
    /// Of a count that begins with 0.
    pub const fn new() -> Marks {
        Marks {
            least: AtomicI64::new(0),
            most: AtomicI64::new(0),
        }
    }

    /// The count has come to this.
    #[inline]
    pub fn reach(&self, bytes: i64) {
        if bytes > self.most.load(Ordering::Relaxed) {
            self.most.fetch_max(bytes, Ordering::Relaxed);
        }
        if bytes < self.least.load(Ordering::Relaxed) {
            self.least.fetch_min(bytes, Ordering::Relaxed);
        }
    }

    /// Both marks are what the count is.
    pub fn begin_anew(&self, bytes: i64) {
        self.least.store(bytes, Ordering::Relaxed);
        self.most.store(bytes, Ordering::Relaxed);
    }

    /// The count with its marks; it may have gone on since it told them.
    pub fn used(&self, count: &AtomicI64) -> Used {
        let load = |bytes: &AtomicI64| u64::try_from(bytes.load(Ordering::Relaxed)).unwrap_or(0);
        let now = load(count);
        Used {
            now,
            least: load(&self.least).min(now),
            most: load(&self.most).max(now),
        }
    }
}
