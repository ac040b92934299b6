//! The last events of one kind in a session: the one that was over last, and the history of those that are to be kept.
//!
//! An event is written once, into the slot behind the history. If it is kept, the history grows by that slot, and beyond its size loses
//! the oldest, whose slot is the next; if not, the next event takes the same slot. The slots are made once and used again.
//!
//! ```text
//!   slots   f  g  h │ c  d  e        history: c d e f g; h is over last, and was not to be kept
//!                 next
//! ```

use tidemark_engine::prefetch;

/// Events that the history has: `performance_schema_events_…_history_size`, of statements, transactions and stages alike.
pub const EVENTS: usize = 10;
const SLOTS: usize = EVENTS + 1;
/// No slot has this number.
const NONE: usize = usize::MAX;

/// The last events.
#[derive(Clone, Debug)]
pub struct Recent<T> {
    slots: Vec<T>,
    next: usize,
    /// So many slots before the next one are the history.
    kept: usize,
    /// [`NONE`], or the slot of the one that was over last.
    last: usize,
}

impl<T> Default for Recent<T> {
    fn default() -> Recent<T> {
        Recent {
            slots: Vec::new(),
            next: 0,
            kept: 0,
            last: NONE,
        }
    }
}

impl<T> Recent<T> {
    /// The slot for an event that is over, which the history is to have or not. It holds one that is forgotten, or a new `none`.
    #[inline]
    pub fn slot(&mut self, is_kept: bool, none: fn() -> T) -> &mut T {
        let at = self.next;
        self.last = at;
        if is_kept {
            self.next = if at == EVENTS { 0 } else { at + 1 };
            if self.kept < EVENTS {
                self.kept += 1;
            }
        }
        match at < self.slots.len() {
            true => &mut self.slots[at],
            false => self.add_slot(none),
        }
    }

    /// An event is about to take a slot.
    #[inline]
    pub fn approach(&self) {
        if let Some(slot) = self.slots.get(self.next) {
            prefetch(slot);
        }
    }

    /// Slots are taken in turn, so the one that is not there is the next to be made.
    #[cold]
    fn add_slot(&mut self, none: fn() -> T) -> &mut T {
        self.slots.reserve_exact(SLOTS - self.slots.len());
        self.slots.push(none());
        let last = self.slots.len() - 1;
        &mut self.slots[last]
    }

    /// The one that was over last.
    pub fn last(&self) -> Option<&T> {
        self.slots.get(self.last)
    }

    /// The history, the oldest first.
    pub fn history(&self) -> impl Iterator<Item = &T> {
        let first = self.next + SLOTS - self.kept;
        (first..first + self.kept).map(|at| &self.slots[at % SLOTS])
    }

    /// The history, to be changed, the oldest first.
    pub fn history_mut(&mut self) -> impl Iterator<Item = &mut T> {
        // Only when all slots are made does it go on at the first of them.
        let first = (self.next + SLOTS - self.kept) % SLOTS;
        let (behind, from_first) = self.slots.split_at_mut(first);
        from_first.iter_mut().chain(behind).take(self.kept)
    }

    /// All slots, in no order.
    pub fn slots(&mut self) -> &mut [T] {
        &mut self.slots
    }

    /// Forgets which was over last.
    pub fn forget_last(&mut self) {
        self.last = NONE;
    }

    /// Forgets the history.
    pub fn forget_history(&mut self) {
        self.kept = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(recent: &mut Recent<u32>, event: u32, is_kept: bool) {
        *recent.slot(is_kept, || 0) = event;
        assert_eq!(recent.last(), Some(&event));
    }

    fn history(recent: &mut Recent<u32>) -> Vec<u32> {
        let history: Vec<u32> = recent.history().copied().collect();
        assert!(
            recent
                .history_mut()
                .map(|event| *event)
                .eq(history.iter().copied())
        );
        history
    }

    #[test]
    fn the_history_has_the_last_of_those_that_were_kept() {
        let mut recent = Recent::default();
        assert_eq!(recent.last(), None);
        let mut kept = Vec::new();
        for event in 0..100 {
            let is_kept = event % 7 != 3 && event % 5 != 0;
            put(&mut recent, event, is_kept);
            kept.extend(is_kept.then_some(event));
            let first = kept.len().saturating_sub(EVENTS);
            assert_eq!(history(&mut recent), kept[first..]);
        }
        assert_eq!(recent.slots.len(), SLOTS);
    }

    #[test]
    fn history_and_last_are_forgotten_each_by_itself() {
        let mut recent = Recent::default();
        for event in 0..25 {
            put(&mut recent, event, true);
        }
        recent.forget_last();
        assert_eq!(
            (recent.last().copied(), history(&mut recent).len()),
            (None, EVENTS)
        );
        put(&mut recent, 25, true);
        recent.forget_history();
        assert_eq!(
            (recent.last().copied(), history(&mut recent).len()),
            (Some(25), 0)
        );
        put(&mut recent, 26, false);
        put(&mut recent, 27, true);
        put(&mut recent, 28, true);
        assert_eq!(history(&mut recent), [27, 28]);
    }
}
