//! What single threads have allocated, for others to see.
//!
//! A thread that wants it shown takes a place in a table of a fixed size, and writes its count there each time that it tells the process
//! of it: at one allocation in [`QUANTUM`](super::QUANTUM) bytes, by a plain store. More threads than there are places count as before,
//! and are not shown.

use super::{Marks, Used};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Threads that can be shown at once.
const PLACES: usize = 4096;

/// What is known of one thread.
struct Shown {
    now: AtomicI64,
    marks: Marks,
}

static SHOWN: [Shown; PLACES] = [const {
    Shown {
        now: AtomicI64::new(0),
        marks: Marks::new(),
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
    shown.marks.begin_anew(0);
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
        shown.marks.reach(bytes);
    }
}

/// What the thread that has the place has allocated, to within [`QUANTUM`](super::QUANTUM); memory that it took and others freed is
/// among it.
pub fn thread_used(place: u32) -> Used {
    let shown = (place as usize).checked_sub(1).and_then(|at| SHOWN.get(at));
    shown.map_or(Used::default(), |shown| shown.marks.used(&shown.now))
}

/// Every thread has had least and most what it has now.
pub(super) fn begin_marks_anew() {
    for shown in &SHOWN {
        shown.marks.begin_anew(shown.now.load(Ordering::Relaxed));
    }
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
        let used = |now, least, most| Used { now, least, most };
        assert_eq!(
            (thread_used(one), thread_used(two)),
            (used(300, 0, 500), used(0, 0, 0))
        );
        begin_marks_anew();
        assert_eq!(thread_used(one), used(300, 300, 300));
        show(one, 250);
        show(one, 400);
        assert_eq!(thread_used(one), used(400, 250, 400));
        give_back(one);
        assert_eq!(take(), one);
        assert_eq!(thread_used(one), Used::default());
        give_back(one);
        give_back(two);
        assert_eq!(thread_used(0), Used::default());
    }
}
