//! What `txns` and `views` are made of. The model that checks their interleavings (`tests/interleavings.rs`) compiles those
//! two files against another one of these: atomics that try every order, and sizes that can be tried.

pub(super) use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

/// Ids in a chunk of the array of ends.
pub(super) const CHUNK_IDS: u64 = 1 << 14;
/// Chunks there can be at a time.
pub(super) const PLACES_MAX: usize = 1 << 16;
/// View slots that are made together.
pub(super) const PART_SLOTS: usize = 64;
pub(super) const PARTS_MAX: usize = 4096;
