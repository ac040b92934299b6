//! What a table keeps while its definition changes: the auto-increment counter and the hidden row ids.
//!
//! *The counter* is in memory, and survives a crash in two parts. The note of each insert carries what the counter was
//! then, and once a second the counters that have moved are stored in the catalog ([`Counters`]); the log is kept and read
//! again from the last time that this was done. So after a crash the counter is the stored one, or the highest that a note
//! behind it carries: nothing is written for a value that is given out, and none is passed over. A counter that is set is
//! stored at once, with the position in the log from which on notes count, since it may have been set lower.
//!
//! A value that was observed but that no note carries, such as that of an UPDATE, is stored at once, too. A temporary table
//! ends with the engine, and so its counter is in memory alone.

use crate::bytes::ByteReader;
use crate::error::{Error, Result};
use crate::ids::Lsn;
use crate::tree::Tree;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// Which values a counter gives: those congruent to `offset` modulo `step`, as with auto_increment_increment and
/// auto_increment_offset, of which the column holds none above `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The distance of two values; 0 is 1.
    pub step: u64,
    /// The first value; ignored if it is above `step`, as in MySQL.
    pub offset: u64,
    /// The column's greatest value. The counter stays there once it has reached it.
    pub max: u64,
}

impl Sequence {
    /// Every value that the column holds.
    pub fn up_to(max: u64) -> Sequence {
        Sequence {
            step: 1,
            offset: 1,
            max,
        }
    }

    /// The first value at or above `at`; `None` if 64 bits do not hold it.
    pub fn at_or_above(&self, at: u64) -> Option<u64> {
        let step = self.step.max(1);
        let offset = if self.offset > step { 0 } else { self.offset };
        let behind = at.wrapping_sub(offset) % step;
        if at <= offset {
            Some(offset.max(1))
        } else if behind == 0 {
            Some(at)
        } else {
            at.checked_add(step - behind)
        }
    }

    /// Where a counter goes on after `value`.
    pub fn after(&self, value: u64) -> u64 {
        let next = value.checked_add(1).and_then(|next| self.at_or_above(next));
        next.unwrap_or(u64::MAX).min(self.max)
    }

    /// The last value that the column holds.
    pub fn last(&self) -> u64 {
        let step = self.step.max(1);
        let offset = if self.offset > step { 0 } else { self.offset };
        match self.max.checked_sub(offset) {
            Some(above) => self.max - above % step,
            None => self.max,
        }
    }
}

/// The counters that have moved since they were stored last.
#[derive(Default)]
pub(crate) struct Counters {
    moved: Mutex<Vec<Weak<TableState>>>,
}

impl Counters {
    /// Stores those that have moved. Returns where the last record of that ends; `None` if there were none. Changes of
    /// definitions are kept from becoming visible meanwhile by the caller.
    pub fn settle(&self) -> Result<Option<Lsn>> {
        let (mut end, mut failed) = (None, None);
        let moved = std::mem::take(&mut *self.moved.lock());
        for state in moved {
            let Some(state) = state.upgrade() else { continue };
            match state.settle_now() {
                Ok(stored) => end = end.max(stored),
                // The others are stored all the same.
                Err(error) => failed = Some(error),
            }
        }
        failed.map_or(Ok(end), Err)
    }
}

/// Where the catalog holds a counter.
struct Place {
    catalog: Tree,
    key: Vec<u8>,
    counters: Arc<Counters>,
    me: Weak<TableState>,
}

/// A counter as the catalog has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StoredCounter {
    pub counter: u64,
    /// What notes before this position carry does not count: the counter was set then.
    pub since: Lsn,
}

impl StoredCounter {
    /// That of a table of which nothing is stored.
    pub const NEW: StoredCounter = StoredCounter {
        counter: 1,
        since: Lsn::ZERO,
    };

    /// `None` if the bytes are not one.
    pub fn decode(bytes: &[u8]) -> Option<StoredCounter> {
        let mut r = ByteReader(bytes);
        Some(StoredCounter {
            counter: r.u64()?,
            since: Lsn(r.u64().unwrap_or(0)),
        })
    }

    fn encode(self) -> Vec<u8> {
        let mut bytes = self.counter.to_le_bytes().to_vec();
        if self.since > Lsn::ZERO {
            bytes.extend(self.since.0.to_le_bytes());
        }
        bytes
    }
}

pub(crate) struct TableState {
    /// `None`: the catalog does not hold the counter.
    place: Option<Place>,
    /// The next value to give.
    next: AtomicU64,
    /// The highest counter that a note carries, or that was stored because none does.
    carried: AtomicU64,
    /// The counter in the catalog; held to change it or `next`.
    stored: Mutex<StoredCounter>,
    /// It is among those that have moved.
    has_moved: AtomicBool,
    /// The table was dropped.
    is_gone: AtomicBool,
    next_row_id: OnceLock<AtomicU64>,
}

impl TableState {
    pub fn new(
        catalog: Tree,
        key: Vec<u8>,
        stored: StoredCounter,
        counters: Arc<Counters>,
    ) -> Arc<TableState> {
        Arc::new_cyclic(|me| {
            let place = Place {
                catalog,
                key,
                counters,
                me: me.clone(),
            };
            TableState::at(Some(place), stored)
        })
    }

    /// Of a temporary table.
    pub fn in_memory() -> TableState {
        TableState::at(None, StoredCounter::NEW)
    }

    fn at(place: Option<Place>, stored: StoredCounter) -> TableState {
        TableState {
            place,
            next: AtomicU64::new(stored.counter),
            carried: AtomicU64::new(stored.counter),
            stored: Mutex::new(stored),
            has_moved: AtomicBool::new(false),
            is_gone: AtomicBool::new(false),
            next_row_id: OnceLock::new(),
        }
    }

    pub fn peek(&self) -> u64 {
        self.next.load(Ordering::Acquire)
    }

    /// What the note of an insert is to carry, in the log before the row is committed: the counter, or, if that is higher,
    /// what it will be when the row's own value is observed. 0: nothing.
    pub fn carry(&self, observed: u64) -> u64 {
        let next = self.peek().max(observed);
        if self.place.is_none() || next <= 1 {
            return 0;
        }
        // Before the note is in the log: each round of storing from now on stores this counter. Also where another insert has
        // carried as much or more, since that one may not have come to note it.
        if next > self.carried.load(Ordering::Relaxed) {
            self.carried.fetch_max(next, Ordering::SeqCst);
        }
        self.note_move();
        next
    }

    /// The first of `n` values of the sequence.
    pub fn reserve(&self, n: u64, sequence: Sequence) -> Result<u64> {
        let _stored = self.stored.lock();
        self.reserve_in(n, sequence)
    }

    /// Like [`Self::reserve`], but `None` if `taken` returns true. No value is reserved between that call and this
    /// reservation.
    pub fn reserve_unless(
        &self,
        taken: impl FnOnce() -> bool,
        n: u64,
        sequence: Sequence,
    ) -> Result<Option<u64>> {
        let _stored = self.stored.lock();
        if taken() {
            return Ok(None);
        }
        self.reserve_in(n, sequence).map(Some)
    }

    /// The value that would be reserved now. An error if the counter was set above all that the column holds.
    pub fn next_value(&self, sequence: Sequence) -> Result<u64> {
        let next = self.peek();
        let first = sequence.at_or_above(next).filter(|first| *first != u64::MAX);
        match first {
            Some(first) if next <= sequence.max => Ok(first),
            _ => Err(Error::AutoIncrementExhausted),
        }
    }

    fn reserve_in(&self, n: u64, sequence: Sequence) -> Result<u64> {
        let first = self.next_value(sequence)?;
        let width = n.max(1).saturating_mul(sequence.step.max(1));
        let after = first.saturating_add(width).min(sequence.max);
        self.next.store(after, Ordering::Release);
        self.note_move();
        Ok(first)
    }

    /// A row has this value: the counter goes on with the next one of the sequence.
    pub fn observe(&self, value: u64, sequence: Sequence) -> Result<()> {
        self.observe_unless(|| false, value, sequence).map(drop)
    }

    /// Like [`Self::observe`], unless `taken` returns true. Returns whether the counter is beyond `value` now.
    pub fn observe_unless(
        &self,
        taken: impl FnOnce() -> bool,
        value: u64,
        sequence: Sequence,
    ) -> Result<bool> {
        let next = sequence.after(value);
        // A counter that is beyond the value already may have been moved for this very row, by one that no note carries.
        let is_kept = || self.place.is_none() || next <= self.carried.load(Ordering::Acquire);
        if next <= self.peek() && is_kept() {
            return Ok(true);
        }
        let mut stored = self.stored.lock();
        if next > self.peek() {
            if taken() {
                return Ok(false);
            }
            if is_kept() {
                self.next.store(next, Ordering::Release);
                self.note_move();
                return Ok(true);
            }
        } else if is_kept() || next <= stored.counter {
            return Ok(true);
        }
        let next = next.max(self.peek());
        self.put(&mut stored, next)?;
        self.carried.fetch_max(next, Ordering::SeqCst);
        self.next.store(next, Ordering::Release);
        self.note_move();
        Ok(true)
    }

    /// Sets the counter, and stores it. The caller keeps others from inserting.
    pub fn set(&self, value: u64) -> Result<()> {
        let value = value.max(1);
        let mut stored = self.stored.lock();
        if let Some(place) = &self.place {
            stored.since = place.catalog.store().log().tail();
        }
        self.put(&mut stored, value)?;
        self.next.store(value, Ordering::Release);
        self.carried.store(value, Ordering::Release);
        Ok(())
    }

    /// After a crash: `carried` are positions of notes, in order, and the counter that each carries, which is higher than those
    /// that follow.
    pub fn recover(&self, carried: &[(Lsn, u64)]) {
        let stored = self.stored.lock();
        let after = carried.iter().find(|(lsn, _)| *lsn >= stored.since);
        if let Some(&(_, counter)) = after
            && counter > self.peek()
        {
            self.next.store(counter, Ordering::Release);
            self.note_move();
        }
    }

    /// Stores the counter as it is, so that a clean stop loses nothing.
    pub fn settle(&self) -> Result<()> {
        let mut stored = self.stored.lock();
        let next = self.peek();
        match stored.counter == next {
            true => Ok(()),
            false => self.put(&mut stored, next),
        }
    }

    /// Stores the counter for a crash that may come, with what notes carry that are in the log already. Returns where the
    /// record of that ends.
    fn settle_now(&self) -> Result<Option<Lsn>> {
        let mut stored = self.stored.lock();
        // Before the values are read: one that moves now is found by the next round.
        self.has_moved.store(false, Ordering::SeqCst);
        let next = self.peek().max(self.carried.load(Ordering::SeqCst));
        let Some(place) = &self.place else { return Ok(None) };
        if next == stored.counter || self.is_gone.load(Ordering::Acquire) {
            return Ok(None);
        }
        let new = StoredCounter {
            counter: next,
            ..*stored
        };
        // It may use what is kept for undoing: until it is done, the log cannot be freed.
        let put = place.catalog.urgent().put(&place.key, &new.encode());
        let lsn = put.inspect_err(|_| self.note_move())?;
        *stored = new;
        Ok(Some(lsn.end))
    }

    /// The table was dropped: nothing is stored of it any more.
    pub fn forget(&self) {
        self.is_gone.store(true, Ordering::Release);
    }

    fn put(&self, stored: &mut StoredCounter, counter: u64) -> Result<()> {
        let new = StoredCounter { counter, ..*stored };
        if let Some(place) = &self.place {
            place.catalog.put(&place.key, &new.encode())?;
        }
        *stored = new;
        Ok(())
    }

    /// Sees to it that the next round stores this counter.
    #[inline]
    fn note_move(&self) {
        if let Some(place) = &self.place
            && !self.has_moved.load(Ordering::SeqCst)
        {
            // The flag changes under the lock of the list: a round that begins after another thread has seen it finds the counter there.
            let mut moved = place.counters.moved.lock();
            if !self.has_moved.swap(true, Ordering::SeqCst) {
                moved.push(place.me.clone());
            }
        }
    }

    /// The next hidden row id; `last` finds the highest there is, the first time.
    pub fn next_row_id(&self, last: impl FnOnce() -> Result<u64>) -> Result<u64> {
        let next = match self.next_row_id.get() {
            Some(next) => next,
            None => {
                let last = last()?;
                self.next_row_id.get_or_init(|| AtomicU64::new(last + 1))
            }
        };
        Ok(next.fetch_add(1, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_stored_with_the_position_at_which_it_was_set() {
        for (counter, since) in [(1, 0), (77, 0), (5, 4096)] {
            let stored = StoredCounter {
                counter,
                since: Lsn(since),
            };
            let bytes = stored.encode();
            assert_eq!(bytes.len(), if since > 0 { 16 } else { 8 });
            assert_eq!(StoredCounter::decode(&bytes), Some(stored));
        }
        assert_eq!(StoredCounter::decode(&[0; 7]), None);
    }

    #[test]
    fn notes_from_before_the_counter_was_set_do_not_count() {
        let state = TableState::at(
            None,
            StoredCounter {
                counter: 5,
                since: Lsn(100),
            },
        );
        state.recover(&[(Lsn(50), 900)]);
        assert_eq!(state.peek(), 5);
        state.recover(&[(Lsn(50), 900), (Lsn(100), 8), (Lsn(120), 7)]);
        assert_eq!(state.peek(), 8);
        state.recover(&[(Lsn(130), 6)]);
        assert_eq!(state.peek(), 8);
    }

    #[test]
    fn a_sequence_ends_with_its_column() {
        let sequence = Sequence {
            step: 10,
            offset: 7,
            max: 127,
        };
        assert_eq!(sequence.at_or_above(1), Some(7));
        assert_eq!(sequence.at_or_above(8), Some(17));
        assert_eq!(sequence.after(7), 17);
        assert_eq!(sequence.after(126), 127);
        assert_eq!(sequence.last(), 127);
        assert_eq!(Sequence { max: 126, ..sequence }.last(), 117);
        assert_eq!(Sequence::up_to(u64::MAX).after(u64::MAX), u64::MAX);
    }

    #[test]
    fn a_counter_stays_at_the_greatest_value() {
        let (state, sequence) = (TableState::in_memory(), Sequence::up_to(127));
        state.set(126).unwrap();
        assert_eq!(state.reserve(3, sequence).unwrap(), 126);
        assert_eq!(state.peek(), 127);
        assert_eq!(state.reserve(1, sequence).unwrap(), 127);
        assert_eq!(state.peek(), 127);
        state.set(128).unwrap();
        assert!(matches!(
            state.reserve(1, sequence),
            Err(Error::AutoIncrementExhausted)
        ));
    }
}
