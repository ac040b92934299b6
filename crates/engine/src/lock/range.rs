//! Locks on runs of entries.
//!
//! A scan that locks gaps as well holds, behind it, everything between its first entry and its last: nothing can appear
//! in there, and nothing there is anybody else's. So after a number of locks on single keys it goes on with one for the
//! whole run, from key to key, however many entries that is.
//!
//! Like the lock that a writer has by his id in the row, such a lock is no object at any of its keys. Whoever asks for a
//! key that lies in somebody's run makes him an object of it first, and queues behind that.
//!
//! What holds: an entry lies between a run's ends only if its owner has it locked with the gap in front of it, or put it
//! there himself. The gap in front of the first entry is locked, too.

use super::mode::LockType;
use super::owner::Owner;
use super::{IndexLocks, Queue};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What one owner has locked in runs, in one index.
pub(super) struct Runs {
    owner: Arc<Owner>,
    epoch: u32,
    want: LockType,
    /// First key → last key. No two overlap.
    spans: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Runs {
    fn covers(&self, key: &[u8]) -> bool {
        self.span_of(key).is_some()
    }

    fn span_of(&self, key: &[u8]) -> Option<(&Vec<u8>, &Vec<u8>)> {
        let mut before = self
            .spans
            .range::<[u8], _>((Bound::Unbounded, Bound::Included(key)));
        before.next_back().filter(|(_, last)| key <= last.as_slice())
    }

    /// Stretches the span around `from` to `key`, over whatever spans lie in between.
    fn stretch(&mut self, from: &[u8], key: &[u8]) {
        // The usual case: upwards, and nothing in between.
        let ahead = (Bound::Excluded(from), Bound::Included(key));
        if from < key
            && self.spans.range::<[u8], _>(ahead).next().is_none()
            && let Some((_, last)) = self.spans.range_mut::<[u8], _>(up_to(from)).next_back()
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
            .spans
            .range::<[u8], _>((
                Bound::Included(first.as_slice()),
                Bound::Included(last.as_slice()),
            ))
            .next()
            .map(|(inner, end)| (inner.clone(), end.clone()))
        {
            self.spans.remove(&inner);
            last = last.max(end);
        }
        self.spans.insert(first, last);
    }
}

fn up_to(key: &[u8]) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (Bound::Unbounded, Bound::Included(key))
}

/// A scan's run, as it grows.
#[derive(Default)]
pub(crate) struct KeyRun {
    /// Keys locked one by one.
    singles: usize,
    /// The entry locked last, if the next one will stand beside it.
    last: Option<Vec<u8>>,
}

impl KeyRun {
    /// Locks on single keys that a scan takes first.
    const SINGLES: usize = 64;

    /// The next entry does not belong to it.
    pub fn break_off(&mut self) {
        self.last = None;
    }

    /// Whether the next lock is to be one on a run.
    pub(super) fn is_long(&self) -> bool {
        self.singles >= KeyRun::SINGLES
    }

    /// A key has been locked by itself.
    pub fn single(&mut self, key: &[u8]) {
        self.singles += 1;
        self.remember(key);
    }

    fn remember(&mut self, key: &[u8]) {
        let last = self.last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
    }
}

impl IndexLocks {
    /// Makes objects, at the queue of a key, of the runs that others have over it.
    pub(super) fn make_runs_explicit(&self, queue: &mut Queue, key: &[u8], but: &Owner) {
        for run in self.runs.lock().iter() {
            if run.owner.number != but.number && run.covers(key) {
                queue.add_granted(&run.owner, run.epoch, run.want);
            }
        }
    }

    /// Whether anybody but `but` has a run over a key.
    pub(super) fn is_in_run(&self, key: &[u8], but: Option<&Owner>) -> bool {
        self.has_runs()
            && self
                .runs
                .lock()
                .iter()
                .any(|run| but.is_none_or(|but| run.owner.number != but.number) && run.covers(key))
    }

    pub(super) fn has_runs(&self) -> bool {
        self.run_owners.load(Ordering::Acquire) != 0
    }

    /// Whether the owner has a run over a key that covers what he wants there.
    pub(super) fn own_run_covers(&self, owner: &Owner, key: &[u8], want: LockType) -> bool {
        self.has_runs()
            && self
                .runs
                .lock()
                .iter()
                .any(|run| run.owner.number == owner.number && run.want.covers(want) && run.covers(key))
    }

    /// Lengthens a scan's run by an entry that nobody else has locked. The caller holds the entry's leaf, and the queue of
    /// its key.
    pub(super) fn lengthen(
        self: &Arc<Self>,
        owner: &Arc<Owner>,
        want: LockType,
        key: &[u8],
        run: &mut KeyRun,
    ) {
        let mut runs = self.runs.lock();
        let mut held = owner.held();
        let epoch = held.epoch;
        let own = runs
            .iter_mut()
            .find(|r| r.owner.number == owner.number && r.epoch == epoch && r.want == want);
        match own {
            Some(own) => own.stretch(run.last.as_deref().unwrap_or(key), key),
            None => {
                // Both counted before anybody can look for it.
                self.objects.fetch_add(1, Ordering::AcqRel);
                self.watched.fetch_add(1, Ordering::AcqRel);
                self.run_owners.fetch_add(1, Ordering::AcqRel);
                held.runs.push(self.clone());
                let mut own = Runs {
                    owner: owner.clone(),
                    epoch,
                    want,
                    spans: BTreeMap::new(),
                };
                own.stretch(run.last.as_deref().unwrap_or(key), key);
                runs.push(own);
            }
        }
        run.remember(key);
    }

    /// The owner's transaction has ended.
    pub(super) fn drop_runs(&self, owner: &Owner) {
        self.runs.lock().retain(|run| {
            let stays = run.owner.number != owner.number;
            if !stays {
                self.objects.fetch_sub(1, Ordering::AcqRel);
                self.watched.fetch_sub(1, Ordering::AcqRel);
                self.run_owners.fetch_sub(1, Ordering::AcqRel);
            }
            stays
        });
    }

    /// The owners whose runs go over `one` key and not over the `other`.
    pub(super) fn runs_that_end_between(&self, one: &[u8], other: &[u8]) -> Vec<(Arc<Owner>, u32, LockType)> {
        if !self.has_runs() {
            return Vec::new();
        }
        let runs = self.runs.lock();
        let ending = runs.iter().filter(|run| run.covers(one) && !run.covers(other));
        ending
            .map(|run| (run.owner.clone(), run.epoch, run.want))
            .collect()
    }

    /// Calls `f` with every run: its owner, what he holds, its first and its last key.
    pub(super) fn each_run(&self, mut f: impl FnMut(&Owner, LockType, &[u8], &[u8])) {
        for run in self.runs.lock().iter() {
            for (first, last) in &run.spans {
                f(&run.owner, run.want, first, last);
            }
        }
    }
}
