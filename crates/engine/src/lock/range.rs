//! Locks on runs of entries.
//!
//! A scan that locks gaps holds everything between its first entry and its last: no entry can appear in there, and none
//! in there belongs to another transaction. So after a number of locks on single keys the scan continues with one lock
//! for the whole run, from key to key, however many entries that is.
//!
//! Invariant: an entry lies between a run's ends only if the run's owner has it locked with the gap in front of it, or
//! inserted it itself. The gap in front of the first entry is locked, too.

use std::collections::BTreeMap;
use std::ops::Bound;

/// What a run takes beside its two keys.
const SPAN_OVERHEAD: usize = 128;

/// The runs of one owner in one index, all of the same mode: first key → last key. No two overlap.
#[derive(Default)]
pub(super) struct Spans(BTreeMap<Vec<u8>, Vec<u8>>);

impl Spans {
    pub fn covers(&self, key: &[u8]) -> bool {
        self.span_of(key).is_some()
    }

    fn span_of(&self, key: &[u8]) -> Option<(&Vec<u8>, &Vec<u8>)> {
        let mut before = self.0.range::<[u8], _>((Bound::Unbounded, Bound::Included(key)));
        before.next_back().filter(|(_, last)| key <= last.as_slice())
    }

    /// Stretches the span around `from` to `key`, over whatever spans lie in between.
    pub fn stretch(&mut self, from: &[u8], key: &[u8]) {
        // The usual case: upwards, and nothing in between.
        let ahead = (Bound::Excluded(from), Bound::Included(key));
        if from < key
            && self.0.range::<[u8], _>(ahead).next().is_none()
            && let Some((_, last)) = self.0.range_mut::<[u8], _>(up_to(from)).next_back()
            && from <= last.as_slice()
        {
            if key > last.as_slice() {
                last.clear();
                last.extend_from_slice(key);
            }
            return;
        }
        let (mut first, mut last) = match self.span_of(from) {
            Some((first, last)) => (first.clone(), last.clone()),
            None => (from.to_vec(), from.to_vec()),
        };
        first = first.min(key.to_vec());
        last = last.max(key.to_vec());
        while let Some((inner, end)) = self
            .0
            .range::<[u8], _>((
                Bound::Included(first.as_slice()),
                Bound::Included(last.as_slice()),
            ))
            .next()
            .map(|(inner, end)| (inner.clone(), end.clone()))
        {
            self.0.remove(&inner);
            last = last.max(end);
        }
        self.0.insert(first, last);
    }
    /// The memory it takes, in bytes, nearly.
    pub fn bytes(&self) -> usize {
        let key = self.0.first_key_value().map_or(0, |(first, _)| first.len());
        self.0.len() * (SPAN_OVERHEAD + 2 * key)
    }

    /// Calls `f` with the ends of each run.
    pub fn each(&self, mut f: impl FnMut(&[u8], &[u8])) {
        self.0.iter().for_each(|(first, last)| f(first, last));
    }
}

fn up_to(key: &[u8]) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (Bound::Unbounded, Bound::Included(key))
}

/// The run that one scan is building.
#[derive(Default)]
pub(crate) struct KeyRun {
    /// Keys locked one by one so far.
    singles: usize,
    /// The entry locked last; `None` if the next one will not be its neighbour.
    last: Option<Vec<u8>>,
}

impl KeyRun {
    /// Locks on single keys that a scan takes before it begins a run.
    const SINGLES: usize = 64;

    /// The next entry to be locked is not the neighbour of the last one.
    pub fn break_off(&mut self) {
        self.last = None;
    }

    /// Where the next run or the next part of it begins, if its entry is the neighbour of the last.
    pub(super) fn last(&self) -> Option<&[u8]> {
        self.last.as_deref()
    }

    /// True if the next lock extends the run rather than being a single object.
    pub(super) fn is_long(&self) -> bool {
        self.singles >= KeyRun::SINGLES
    }

    /// A key has been locked by itself.
    pub fn single(&mut self, key: &[u8]) {
        self.singles += 1;
        self.remember(key);
    }

    pub(super) fn remember(&mut self, key: &[u8]) {
        let last = self.last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
    }
}
