//! The queue of one key, or of one table: the owners that hold a lock on it and those that wait for one.
//!
//! Requests are granted as InnoDB grants them, down to the order:
//!
//! - A new request waits for every conflicting one there is, granted or waiting. One exception: a request for the
//!   record in exclusive mode, by an owner that holds it in shared mode, overtakes the exclusive requests that wait for
//!   that shared lock; waiting for them would be a deadlock.
//! - A waiting request records one owner it waits for: the first in its way, as InnoDB has them, where the latest
//!   structure comes first. When that owner releases its lock, the request is examined again, those first that others
//!   wait for (see [`waiting`](super::waiting)), else in order of arrival, against what is granted: so of `X (held), S,
//!   X, S` both shared requests are granted together.
//!
//! Granted requests stand in front of waiting ones, in the order of their structures.

use super::mode::{LockKind, LockMode, LockType};
use super::owner::{Held, Owner, Wait};
use super::waiting::Waiting;
use super::{Attempt, IndexLocks, LockKey};
use crate::ids::{Lsn, TxnId};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

pub(super) struct Request {
    pub owner: Arc<Owner>,
    /// The owner's transaction: a lock of an earlier one is just being released.
    pub epoch: u32,
    pub want: LockType,
    pub granted: bool,
    /// The place of its structure in the index's order; 0 for a table.
    pub structure: u64,
}

/// A new request.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    pub want: LockType,
    /// The owner has the record locked without an object: by having written it, or in bulk.
    pub has_record: bool,
    /// A lock that is granted at once stays as an object; otherwise the caller ensures by other means that it is not
    /// lost.
    pub object: bool,
    pub may_wait: bool,
}

impl Request {
    /// True if an owner that holds the record shared, and now wants it exclusively, passes by this request.
    fn may_be_overtaken(&self) -> bool {
        !self.granted && self.want.mode == LockMode::Exclusive && self.want.has_record()
    }
}

pub(super) struct Queue {
    pub key: LockKey,
    pub requests: Vec<Request>,
    pub index: Arc<IndexLocks>,
}

impl Queue {
    pub fn new(index: &Arc<IndexLocks>, key: LockKey) -> Queue {
        index.objects.fetch_add(1, Ordering::AcqRel);
        Queue {
            key,
            requests: Vec::with_capacity(1),
            index: index.clone(),
        }
    }

    /// Removes the queue from the index's count. It must be empty.
    pub fn close(self) {
        debug_assert!(self.requests.is_empty());
        self.index.objects.fetch_sub(1, Ordering::AcqRel);
    }

    fn granted(&self) -> usize {
        self.requests.partition_point(|r| r.granted)
    }

    /// Position of the owner's waiting request.
    pub fn waiting(&self, owner: &Owner) -> Option<usize> {
        self.requests
            .iter()
            .position(|r| r.owner.number == owner.number && !r.granted)
    }

    pub fn holds(&self, owner: &Owner, want: LockType) -> bool {
        self.requests
            .iter()
            .any(|r| r.granted && r.owner.number == owner.number && r.want.covers(want))
    }

    /// The kind of InnoDB's structure for a lock: InnoDB never marks one on the supremum as a gap lock.
    fn kind_of(&self, want: LockType) -> LockType {
        match want.kind {
            LockKind::Gap if self.key.key.is_empty() => LockType::next_key(want.mode),
            _ => want,
        }
    }

    /// Enters a granted lock of the owner. `held` is the owner's.
    fn put_granted(&mut self, owner: &Arc<Owner>, held: &mut Held, want: LockType) {
        let structure = match want.kind {
            LockKind::Table => 0,
            _ => held.structures.of(&self.index, self.kind_of(want)),
        };
        held.keys.push((self.key.clone(), structure));
        held.charge(&owner.memory);
        let request = Request {
            owner: owner.clone(),
            epoch: held.epoch,
            want,
            granted: true,
            structure,
        };
        self.count(want);
        self.insert_granted(request);
    }

    fn insert_granted(&mut self, request: Request) {
        let at = self
            .requests
            .partition_point(|r| r.granted && r.structure <= request.structure);
        self.requests.insert(at, request);
    }

    fn count(&self, want: LockType) {
        if want.is_watched() {
            self.index.watched.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn take(&mut self, at: usize) -> Request {
        let request = self.requests.remove(at);
        if request.want.is_watched() {
            self.index.watched.fetch_sub(1, Ordering::AcqRel);
        }
        request
    }

    /// Grants a lock that conflicts with none, or that is older than the queue, to the transaction `epoch` of `owner`;
    /// does nothing if that transaction is ending or holds the lock already.
    pub fn add_granted(&mut self, owner: &Arc<Owner>, epoch: u32, want: LockType) {
        let mut held = owner.held();
        if held.epoch != epoch || self.holds(owner, want) {
            return;
        }
        self.put_granted(owner, &mut held, want);
    }

    /// Like [`Self::add_granted`], for a lock on a gap that grows or is divided: also counts a structure, which InnoDB
    /// creates even if another lock of the owner covers this one.
    pub fn inherit(&mut self, owner: &Arc<Owner>, epoch: u32, want: LockType) {
        self.add_granted(owner, epoch, want);
        let mut held = owner.held();
        if held.epoch == epoch {
            held.structures.of(&self.index, self.kind_of(want));
        }
    }

    /// Makes the implicit lock of a row's writer explicit, unless the transaction has ended.
    pub fn make_explicit(&mut self, txn: TxnId, writer: &Arc<Owner>) {
        let held = writer.held();
        if held.txn != txn {
            return; // it has ended
        }
        let epoch = held.epoch;
        drop(held);
        self.add_granted(writer, epoch, LockType::WRITE);
    }

    /// Requests a lock: grants it, queues it, or refuses it if it would have to wait and may not.
    pub fn enter(&mut self, owner: &Arc<Owner>, arrival: Arrival, waiting: &Waiting) -> Attempt {
        let Arrival {
            mut want,
            has_record,
            object,
            may_wait,
        } = arrival;
        if self.holds(owner, want) {
            return Attempt::Granted { new: false };
        }
        let record = LockType::record(want.mode);
        if want.kind == LockKind::NextKey && (has_record || self.holds(owner, record)) {
            // The record part is held already; only the gap is missing, and a gap lock never waits.
            want.kind = LockKind::Gap;
            if self.holds(owner, want) {
                return Attempt::Granted { new: false };
            }
        }
        match self.first_in_the_way(owner, want) {
            None if want.kind == LockKind::InsertIntention => Attempt::Granted { new: false },
            // In InnoDB the request that is overtaken waits for the overtaking lock's object, so there must be one. A
            // request that may not wait (a test whether the row is free) leaves none.
            None if !(object || may_wait && self.overtakes_any(owner, want)) => {
                Attempt::Granted { new: false }
            }
            None => {
                self.put_granted(owner, &mut owner.held(), want);
                Attempt::Granted { new: true }
            }
            Some(_) if !may_wait => Attempt::Busy,
            Some(blocker) => {
                *owner.wait_state() = Wait::For {
                    key: self.key.clone(),
                    number: waiting.begin(owner),
                    since: Instant::now(),
                };
                owner.waits_for.store(blocker, Ordering::Release);
                let mut held = owner.held();
                let request = Request {
                    owner: owner.clone(),
                    epoch: held.epoch,
                    want,
                    granted: false,
                    structure: match want.kind {
                        LockKind::Table => 0,
                        _ => held.structures.add(&self.index, self.kind_of(want), true),
                    },
                };
                drop(held);
                self.count(want);
                self.requests.push(request);
                Attempt::Queued(self.key.clone())
            }
        }
    }

    /// True if the owner's request passes by requests that wait for the record exclusively.
    fn overtakes(&self, owner: &Owner, want: LockType) -> bool {
        let exclusive = want.has_record() && want.mode == LockMode::Exclusive;
        exclusive && self.holds(owner, LockType::record(LockMode::Shared))
    }

    fn overtakes_any(&self, owner: &Owner, want: LockType) -> bool {
        let mut waiting = self.requests[self.granted()..].iter();
        waiting.any(Request::may_be_overtaken) && self.overtakes(owner, want)
    }

    /// The first owner that a new request would have to wait for.
    fn first_in_the_way(&self, owner: &Owner, want: LockType) -> Option<u64> {
        let granted = self.granted();
        let overtakes = self.overtakes(owner, want);
        let held = self.requests[..granted].iter().rev();
        let waiting = self.requests[granted..]
            .iter()
            .filter(|r| !(overtakes && r.may_be_overtaken()));
        held.chain(waiting)
            .find(|r| r.owner.number != owner.number && want.waits_for(r.want))
            .map(|r| r.owner.number)
    }

    /// All requests that the waiting request at `mine` waits for.
    pub fn blockers(&self, mine: usize) -> impl Iterator<Item = &Request> {
        let me = &self.requests[mine];
        let overtakes = self.overtakes(&me.owner, me.want);
        self.requests[..mine].iter().filter(move |r| {
            let overtaken = overtakes && r.may_be_overtaken();
            r.owner.number != me.owner.number && me.want.waits_for(r.want) && !overtaken
        })
    }

    /// Removes the owner's waiting request; `None` if it does not wait here. Returns what
    /// [`grant_after`](Self::grant_after) returns.
    pub fn leave(&mut self, owner: &Owner, waiting: &Waiting) -> Option<Vec<Arc<Owner>>> {
        let at = self.waiting(owner)?;
        let request = self.take(at);
        owner.held().structures.end_wait(&self.index, request.structure);
        owner.waits_for.store(0, Ordering::Release);
        Some(self.grant_after(owner, waiting))
    }

    /// Releases those of the owner's locks here for which `which` returns true. Returns what
    /// [`grant_after`](Self::grant_after) returns.
    pub fn release(
        &mut self,
        owner: &Owner,
        which: impl Fn(&Request) -> bool,
        waiting: &Waiting,
    ) -> Vec<Arc<Owner>> {
        for at in (0..self.granted()).rev() {
            let request = &self.requests[at];
            if request.owner.number == owner.number && which(request) {
                self.take(at);
            }
        }
        self.grant_after(owner, waiting)
    }

    /// Grants, after a release by `owner`, the requests that waited for it and now conflict with nothing. Returns the
    /// owners that still wait, now for an owner that waits itself: they may be on a cycle.
    fn grant_after(&mut self, owner: &Owner, waiting: &Waiting) -> Vec<Arc<Owner>> {
        let after = Lsn(owner.ended.load(Ordering::Relaxed));
        let mut moved = Vec::new();
        let waited = |r: &Request| !r.granted && r.owner.waits_for.load(Ordering::Acquire) == owner.number;
        let granted = self.granted();
        if self.requests[granted..]
            .iter()
            .filter(|r| waited(r))
            .take(2)
            .count()
            > 1
        {
            for number in self.by_demand(waiting.wanted(owner)) {
                let of = |r: &Request| waited(r) && r.owner.number == number;
                if let Some(at) = self.requests.iter().position(of) {
                    self.look_again(at, after, &mut moved);
                }
            }
        }
        let mut at = self.granted();
        while at < self.requests.len() {
            if waited(&self.requests[at]) {
                self.look_again(at, after, &mut moved);
            }
            at += 1;
        }
        moved
    }

    /// Those of `wanted` that wait here, the most wanted first, equals in order of arrival.
    fn by_demand(&self, wanted: Vec<(u64, u64)>) -> Vec<u64> {
        let waiting = self.requests[self.granted()..].iter();
        let mut found: Vec<(u64, u64)> = waiting
            .filter_map(|r| {
                wanted
                    .iter()
                    .find(|(number, _)| *number == r.owner.number)
                    .copied()
            })
            .collect();
        found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        found.into_iter().map(|(number, _)| number).collect()
    }

    /// Grants the waiting request at `at` if nothing conflicts with it any more. Otherwise records which owner blocks it.
    fn look_again(&mut self, at: usize, after: Lsn, moved: &mut Vec<Arc<Owner>>) {
        let granted = self.granted();
        let request = &self.requests[at];
        // The oldest first: the request has waited for the later ones already.
        let blocker = self.requests[..granted]
            .iter()
            .find(|r| r.owner.number != request.owner.number && request.want.waits_for(r.want));
        match blocker {
            Some(blocker) => {
                request
                    .owner
                    .waits_for
                    .store(blocker.owner.number, Ordering::Release);
                if blocker.owner.waits_for.load(Ordering::Acquire) != 0 {
                    moved.push(request.owner.clone());
                }
            }
            None => {
                let mut request = self.requests.remove(at);
                request.granted = true;
                let mut held = request.owner.held();
                if request.want.kind != LockKind::Table {
                    request.structure = held.structures.end_wait(&self.index, request.structure);
                }
                held.keys.push((self.key.clone(), request.structure));
                drop(held);
                wake(&request.owner, after);
                self.insert_granted(request);
            }
        }
    }

    /// The record is gone: drops all locks on it, and wakes every waiting request so that its statement looks up the
    /// row again.
    pub fn dissolve(&mut self) {
        while let Some(at) = self.requests.len().checked_sub(1) {
            let request = self.take(at);
            if !request.granted {
                let mut held = request.owner.held();
                held.structures.end_wait(&self.index, request.structure);
                drop(held);
                wake(&request.owner, Lsn::ZERO);
            }
        }
    }
}

/// Ends the owner's wait: its request is granted. `after` is where the last transaction that blocked it ended.
fn wake(owner: &Owner, after: Lsn) {
    owner.waits_for.store(0, Ordering::Release);
    *owner.wait_state() = Wait::Granted { after };
    owner.changed().notify_all();
}
