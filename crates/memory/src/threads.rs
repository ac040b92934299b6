//! What single threads have allocated, for others to see.
//!
//! A thread that wants it shown takes a place in a table of a fixed size, and writes its count there each time that it tells the process
//! of it: at one allocation in [`QUANTUM`](super::QUANTUM) bytes, by a plain store. More threads than there are places count as before,
//! and are not shown.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Threads that can be shown at once.
const PLACES: usize = 4096;

/// What is known of one thread.
struct Shown {
    now: AtomicI64,
    most: AtomicI64,
}

static SHOWN: [Shown; PLACES] = [const {
    Shown {
        now: AtomicI64::new(0),
        most: AtomicI64::new(0),
    }
}; PLACES];

/// A bit for each place that is taken.
static TAKEN: Mutex<[u64; PLACES / 64]> = Mutex::new([0; PLACES / 64]);

/// A place for the calling thread; 0: there is none left.
pub(super) fn take() -> u32 {
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((word, bits)) = taken.iter_mut().enumerate().find(|(_, bits)| **bits != u64::MAX) else {
        return 0;
    };
    let bit = bits.trailing_ones();
    *bits |= 1 << bit;
    let place = word as u32 * 64 + bit;
    let shown = &SHOWN[place as usize];
    shown.now.store(0, Ordering::Relaxed);
    shown.most.store(0, Ordering::Relaxed);
    place + 1
}

/// Gives the place back, if it is one.
pub(super) fn give_back(place: u32) {
    if place > 0 {
        let at = place as usize - 1;
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        taken[at / 64] &= !(1 << (at % 64));
    }
}

/// The thread that has the place has so much. Relaxed: it stands for nothing but itself, and its thread alone stores.
#[inline]
pub(super) fn show(place: u32, bytes: i64) {
    if let Some(shown) = (place as usize).checked_sub(1).and_then(|at| SHOWN.get(at)) {
        shown.now.store(bytes, Ordering::Relaxed);
        if bytes > shown.most.load(Ordering::Relaxed) {
            shown.most.store(bytes, Ordering::Relaxed);
        }
    }
}

/// What the thread that has the place has allocated, and had at most, to within [`QUANTUM`](super::QUANTUM); memory that it took and
/// others freed is among it.
pub fn thread_bytes(place: u32) -> (u64, u64) {
    let load = |bytes: &AtomicI64| u64::try_from(bytes.load(Ordering::Relaxed)).unwrap_or(0);
    let shown = (place as usize).checked_sub(1).and_then(|at| SHOWN.get(at));
    shown.map_or((0, 0), |shown| (load(&shown.now), load(&shown.most)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again() {
        let (one, two) = (take(), take());
        assert!(one > 0 && two > 0 && one != two);
        show(one, 500);
        show(one, 300);
        show(two, -7);
        assert_eq!((thread_bytes(one), thread_bytes(two)), ((300, 500), (0, 0)));
        give_back(one);
        assert_eq!(take(), one);
        assert_eq!(thread_bytes(one), (0, 0));
        give_back(one);
        give_back(two);
        assert_eq!(thread_bytes(0), (0, 0));
    }
}
