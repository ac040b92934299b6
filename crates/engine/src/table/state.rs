//! What a table keeps while its definition changes: the auto-increment counter and the hidden row ids.
//!
//! The counter is ahead in memory; the catalog holds a value that it has not reached, moved on in steps, so that a crash
//! loses at most a step of values and never gives one twice. A temporary table ends with the engine, and so its counter is in
//! memory alone.

use crate::error::{Error, Result};
use crate::tree::Tree;
use parking_lot::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// How far the stored value runs ahead.
const STEP: u64 = 128;

pub(crate) struct TableState {
    /// Where the catalog holds the counter: the tree and the key. `None`: it does not.
    place: Option<(Tree, Vec<u8>)>,
    /// The next value to give.
    next: AtomicU64,
    /// The counter in the catalog is this; held to change either.
    stored: Mutex<u64>,
    next_row_id: OnceLock<AtomicU64>,
}

impl TableState {
    pub fn new(catalog: Tree, key: Vec<u8>, counter: u64) -> TableState {
        TableState::at(Some((catalog, key)), counter)
    }

    /// Of a temporary table.
    pub fn in_memory() -> TableState {
        TableState::at(None, 1)
    }

    fn at(place: Option<(Tree, Vec<u8>)>, counter: u64) -> TableState {
        TableState {
            place,
            next: AtomicU64::new(counter),
            stored: Mutex::new(counter),
            next_row_id: OnceLock::new(),
        }
    }

    pub fn peek(&self) -> u64 {
        self.next.load(Ordering::Acquire)
    }

    /// The first of `n` values, `step` apart and congruent to `offset` modulo `step`.
    pub fn reserve(&self, n: u64, step: u64, offset: u64) -> Result<u64> {
        self.reserve_in(&mut self.stored.lock(), n, step, offset)
    }

    /// Like [`Self::reserve`], but `None` if `taken` returns true. No value is reserved between that call and this
    /// reservation.
    pub fn reserve_unless(
        &self,
        taken: impl FnOnce() -> bool,
        n: u64,
        step: u64,
        offset: u64,
    ) -> Result<Option<u64>> {
        let mut stored = self.stored.lock();
        if taken() {
            return Ok(None);
        }
        self.reserve_in(&mut stored, n, step, offset).map(Some)
    }

    /// The value that would be reserved now.
    pub fn next_value(&self, step: u64, offset: u64) -> Result<u64> {
        let step = step.max(1);
        // As in MySQL: an offset beyond the step is ignored.
        let offset = if offset > step { 0 } else { offset };
        let next = self.peek();
        let behind = (next.wrapping_sub(offset)) % step;
        let first = if next <= offset {
            Some(offset.max(1))
        } else if behind == 0 {
            Some(next)
        } else {
            next.checked_add(step - behind)
        };
        first.ok_or(Error::AutoIncrementExhausted)
    }

    fn reserve_in(&self, stored: &mut u64, n: u64, step: u64, offset: u64) -> Result<u64> {
        let first = self.next_value(step, offset)?;
        let step = step.max(1);
        let after = n
            .max(1)
            .checked_mul(step)
            .and_then(|width| first.checked_add(width))
            .ok_or(Error::AutoIncrementExhausted)?;
        self.store_above(stored, after)?;
        self.next.store(after, Ordering::Release);
        Ok(first)
    }

    /// A row has this value: the counter goes on above it.
    pub fn observe(&self, value: u64) -> Result<()> {
        self.observe_unless(|| false, value).map(drop)
    }

    /// Like [`Self::observe`], unless `taken` returns true. Returns whether the counter is above `value` now.
    pub fn observe_unless(&self, taken: impl FnOnce() -> bool, value: u64) -> Result<bool> {
        if value < self.peek() {
            return Ok(true);
        }
        let mut stored = self.stored.lock();
        if value < self.peek() {
            return Ok(true);
        }
        if taken() {
            return Ok(false);
        }
        let next = value.saturating_add(1);
        self.store_above(&mut stored, next)?;
        self.next.store(next, Ordering::Release);
        Ok(true)
    }

    pub fn set(&self, value: u64) -> Result<()> {
        let mut stored = self.stored.lock();
        self.put(value.max(1))?;
        *stored = value.max(1);
        self.next.store(value.max(1), Ordering::Release);
        Ok(())
    }

    /// Stores the counter as it is, so that a clean stop loses nothing.
    pub fn settle(&self) -> Result<()> {
        let mut stored = self.stored.lock();
        let next = self.peek();
        if *stored != next {
            self.put(next)?;
            *stored = next;
        }
        Ok(())
    }

    fn put(&self, counter: u64) -> Result<()> {
        if let Some((catalog, key)) = &self.place {
            catalog.put(key, &counter.to_le_bytes())?;
        }
        Ok(())
    }

    fn store_above(&self, stored: &mut u64, next: u64) -> Result<()> {
        if next > *stored {
            let ahead = next.saturating_add(STEP);
            self.put(ahead)?;
            *stored = ahead;
        }
        Ok(())
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
