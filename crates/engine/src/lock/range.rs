//! Locks on runs of entries.
//!
//! A scan that locks gaps holds everything between its first entry and its last: no entry can appear in there, and none
//! in there belongs to another transaction. So after a number of locks on single keys the scan continues with one lock
//! for the whole run, from key to key, however many entries that is.
//!
//! Like a writer's implicit lock, a run has no lock object at any of its keys. A request for a key inside another
//! owner's run first makes that run explicit at the key, and queues behind the object.
//!
//! Invariant: an entry lies between a run's ends only if the run's owner has it locked with the gap in front of it, or
//! inserted it itself. The gap in front of the first entry is locked, too.

use super::mode::LockType;
use super::owner::Owner;
use super::{IndexLocks, Queue};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The runs of one owner in one index, all of the same mode.
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

    /// True if the next lock extends the run rather than being a single object.
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
    /// Adds lock objects, to the queue of a key, for the runs that owners other than `but` have over it.
    pub(super) fn make_runs_explicit(&self, queue: &mut Queue, key: &[u8], but: &Owner) {
        for run in self.runs.lock().iter() {
            if run.owner.number != but.number && run.covers(key) {
                queue.add_granted(&run.owner, run.epoch, run.want);
            }
        }
    }

    /// True if an owner other than `but` has a run over the key.
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

    /// True if the owner has a run over the key that covers `want`.
    pub(super) fn own_run_covers(&self, owner: &Owner, key: &[u8], want: LockType) -> bool {
        self.has_runs()
            && self
                .runs
                .lock()
                .iter()
                .any(|run| run.owner.number == owner.number && run.want.covers(want) && run.covers(key))
    }

    /// Extends a scan's run by an entry that no other owner has locked. The caller holds the latch of the entry's leaf,
    /// and the lock table's shard of its key.
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
                // The counters rise before the run can be found.
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

    /// Removes the owner's runs, at the end of its transaction.
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

    /// The runs that cover the key `one` but not the key `other`: owner, epoch and lock.
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

    /// Calls `f` with every run: its owner, its lock, its first and its last key.
    pub(super) fn each_run(&self, mut f: impl FnMut(&Owner, LockType, &[u8], &[u8])) {
        for run in self.runs.lock().iter() {
            for (first, last) in &run.spans {
                f(&run.owner, run.want, first, last);
            }
        }
    }
}
