//! The queue of one key, or of one table: who holds it and who waits for it.
//!
//! Requests are granted as InnoDB grants them, down to the order:
//!
//! - A new request waits for every conflicting one there is, granted or waiting. One exception: who holds the record, and
//!   wants it exclusively, overtakes those who wait for that very lock of his, and for whom he would otherwise wait in a
//!   deadlock.
//! - Who waits remembers one owner it waits for: the first in the way, as InnoDB has them, where the latest structure
//!   comes first. When that owner lets go, it is looked at again, those first that others wait for (see
//!   [`waiting`](super::waiting)), else in order of arrival, against what is granted: so of `X (held), S, X, S` both
//!   shared requests are granted together.
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
    /// The owner's transaction, to tell a lock that is just being let go.
    pub epoch: u32,
    pub want: LockType,
    pub granted: bool,
    /// The place of its structure.
    pub structure: u64,
}

/// A new request.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    pub want: LockType,
    /// The owner has the record locked by having written it.
    pub own_write: bool,
    /// A lock that is granted at once stays as an object; else the caller makes sure by other means that it is not lost.
    pub object: bool,
    pub may_wait: bool,
}

impl Request {
    /// By who holds the record.
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

    /// To be called when nobody is left.
    pub fn close(self) {
        debug_assert!(self.requests.is_empty());
        self.index.objects.fetch_sub(1, Ordering::AcqRel);
    }

    fn granted(&self) -> usize {
        self.requests.partition_point(|r| r.granted)
    }

    /// The owner's waiting request.
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

    /// Of which kind InnoDB's structure for a lock is: one on the supremum is never said to be on a gap.
    fn kind_of(&self, want: LockType) -> LockType {
        match want.kind {
            LockKind::Gap if self.key.key.is_empty() => LockType::next_key(want.mode),
            _ => want,
        }
    }

    /// Enters a lock that the owner has. `held` is the owner's.
    fn put_granted(&mut self, owner: &Arc<Owner>, held: &mut Held, want: LockType) {
        let structure = match want.kind {
            LockKind::Table => 0,
            _ => held.structures.of(&self.index, self.kind_of(want)),
        };
        held.keys.push((self.key.clone(), structure));
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

    /// Grants a lock that is in nobody's way, or was there before the queue was: to the transaction `epoch` of `owner`,
    /// unless that is ending.
    pub fn add_granted(&mut self, owner: &Arc<Owner>, epoch: u32, want: LockType) {
        let mut held = owner.held();
        if held.epoch != epoch || self.holds(owner, want) {
            return;
        }
        self.put_granted(owner, &mut held, want);
    }

    /// The same for a lock on a gap that grows or is divided. InnoDB has a structure for it even if another of the owner's
    /// locks says as much.
    pub fn inherit(&mut self, owner: &Arc<Owner>, epoch: u32, want: LockType) {
        self.add_granted(owner, epoch, want);
        let mut held = owner.held();
        if held.epoch == epoch {
            held.structures.of(&self.index, self.kind_of(want));
        }
    }

    /// The lock that a transaction has by having written the row becomes an object.
    pub fn make_explicit(&mut self, txn: TxnId, writer: &Arc<Owner>) {
        let held = writer.held();
        if held.txn != txn {
            return; // it has ended
        }
        let epoch = held.epoch;
        drop(held);
        self.add_granted(writer, epoch, LockType::WRITE);
    }

    /// Asks for a lock.
    pub fn enter(&mut self, owner: &Arc<Owner>, arrival: Arrival, waiting: &Waiting) -> Attempt {
        let Arrival {
            mut want,
            own_write,
            object,
            may_wait,
        } = arrival;
        if self.holds(owner, want) {
            return Attempt::Granted { new: false };
        }
        let record = LockType::record(want.mode);
        if want.kind == LockKind::NextKey && (own_write || self.holds(owner, record)) {
            // Of a next-key lock only the gap is wanting, which is never waited for.
            want.kind = LockKind::Gap;
            if self.holds(owner, want) {
                return Attempt::Granted { new: false };
            }
        }
        match self.first_in_the_way(owner, want) {
            None if want.kind == LockKind::InsertIntention => Attempt::Granted { new: false },
            // Whom it overtakes waits for an object, as in InnoDB: for this one. Who only looks leaves none.
            None if !(object || may_wait && self.overtakes_somebody(owner, want)) => {
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

    /// Whether the owner's request passes by those who wait for the record exclusively.
    fn overtakes(&self, owner: &Owner, want: LockType) -> bool {
        let exclusive = want.has_record() && want.mode == LockMode::Exclusive;
        exclusive && self.holds(owner, LockType::record(LockMode::Shared))
    }

    fn overtakes_somebody(&self, owner: &Owner, want: LockType) -> bool {
        let mut waiting = self.requests[self.granted()..].iter();
        waiting.any(Request::may_be_overtaken) && self.overtakes(owner, want)
    }

    /// One of those a new request would wait for.
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

    /// All that the waiting request at `mine` waits for.
    pub fn blockers(&self, mine: usize) -> impl Iterator<Item = &Request> {
        let me = &self.requests[mine];
        let overtakes = self.overtakes(&me.owner, me.want);
        self.requests[..mine].iter().filter(move |r| {
            let overtaken = overtakes && r.may_be_overtaken();
            r.owner.number != me.owner.number && me.want.waits_for(r.want) && !overtaken
        })
    }

    /// Takes the owner's waiting request out; `None` if it does not wait here. About what is answered see
    /// [`grant_after`](Self::grant_after).
    pub fn leave(&mut self, owner: &Owner, waiting: &Waiting) -> Option<Vec<Arc<Owner>>> {
        let at = self.waiting(owner)?;
        let request = self.take(at);
        owner.held().structures.end_wait(&self.index, request.structure);
        owner.waits_for.store(0, Ordering::Release);
        Some(self.grant_after(owner, waiting))
    }

    /// Takes out what the owner holds here, of those that `which` names.
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

    /// `owner` has let go of something: grants what waited for him and can be granted now. Answers who waits on for
    /// somebody that waits himself, and so may be on a cycle.
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

    /// Grants the waiting request, or finds out for whom it waits now.
    fn look_again(&mut self, at: usize, after: Lsn, moved: &mut Vec<Arc<Owner>>) {
        let granted = self.granted();
        let request = &self.requests[at];
        // The oldest first: who waits has not been seen to wait for those yet.
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

    /// The record is gone: nobody locks it any more, and whoever waits for it is woken, to look again.
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

/// The owner's wait is over.
fn wake(owner: &Owner, after: Lsn) {
    owner.waits_for.store(0, Ordering::Release);
    *owner.wait_state() = Wait::Granted { after };
    owner.changed().notify_all();
}
