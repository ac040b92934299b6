//! What the code that runs without locks is made of: atomics, locks, threads that sleep. The models that check its
//! interleavings (`tests/interleavings`) compile that code against another one of these, which tries every order.

pub(crate) use crate::waits::{Wait, timed};
pub(crate) use parking_lot::{Condvar, Mutex};
pub(crate) use parking_lot_core::{
    DEFAULT_PARK_TOKEN, FilterOp, ParkToken, UnparkToken, park as park_at, unpark_filter,
};
pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
pub(crate) use std::thread::{Thread, current, park, park_timeout};
pub(crate) use std::thread_local;

/// Looks at a latch before its thread sleeps.
pub(crate) const LATCH_SPINS: u32 = 40;
/// Looks at the links of the log's ring before a leader sleeps over a gap: a copy takes less than a microsecond if its
/// thread runs.
pub(crate) const GAP_SPINS: u32 = 64;
