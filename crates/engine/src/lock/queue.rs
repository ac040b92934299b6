//! The queue of one key, or of one table: who holds it and who waits for it.
//!
//! Requests are granted as InnoDB grants them, down to the order:
//!
//! - A new request waits for every conflicting one there is, granted or waiting. One exception: who holds the record, and
//!   wants it exclusively, overtakes those who wait for that very lock of his, and for whom he would otherwise wait in a
//!   deadlock.
//! - Each waiting request remembers one owner it waits for. When that owner lets go, it is looked at again, in order of
//!   arrival, against what is granted: so of `X (held), S, X, S` both shared requests are granted together.
//!
//! Granted requests stand in front of waiting ones.

use super::mode::{LockKind, LockMode, Want};
use super::owner::{Owner, Wait};
use super::{Attempt, IndexLocks, LockKey};
use crate::ids::{Lsn, TxnId};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

pub(super) struct Request {
    pub owner: Arc<Owner>,
    /// The owner's transaction, to tell a lock that is just being let go.
    pub epoch: u32,
    pub want: Want,
    pub granted: bool,
    /// One of those a waiting request waits for.
    pub blocked_by: u64,
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

    fn holds(&self, owner: &Owner, want: Want) -> bool {
        self.requests
            .iter()
            .any(|r| r.granted && r.owner.number == owner.number && r.want.covers(want))
    }

    fn put(&mut self, at: usize, owner: &Arc<Owner>, epoch: u32, want: Want, granted: bool, blocked_by: u64) {
        if want.is_watched() {
            self.index.watched.fetch_add(1, Ordering::AcqRel);
        }
        self.requests.insert(
            at,
            Request {
                owner: owner.clone(),
                epoch,
                want,
                granted,
                blocked_by,
            },
        );
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
    pub fn add_granted(&mut self, owner: &Arc<Owner>, epoch: u32, want: Want) {
        let mut held = owner.held();
        if held.epoch != epoch || self.holds(owner, want) {
            return;
        }
        held.keys.push(self.key.clone());
        drop(held);
        let at = self.granted();
        self.put(at, owner, epoch, want, true, 0);
    }

    /// The lock that a transaction has by having written the row becomes an object.
    pub fn make_explicit(&mut self, txn: TxnId, writer: &Arc<Owner>) {
        let held = writer.held();
        if held.txn != txn {
            return; // it has ended
        }
        let epoch = held.epoch;
        drop(held);
        self.add_granted(writer, epoch, Want::WRITE);
    }

    /// Asks for a lock. With `object`, a lock that is granted at once stays as an object; without, the caller makes sure
    /// by other means that it is not lost.
    pub fn enter(
        &mut self,
        owner: &Arc<Owner>,
        want: Want,
        own_write: bool,
        object: bool,
        may_wait: bool,
    ) -> Attempt {
        let mut want = want;
        if self.holds(owner, want) {
            return Attempt::Granted { new: false };
        }
        let record = Want::record(want.mode);
        if want.kind == LockKind::NextKey && (own_write || self.holds(owner, record)) {
            // Of a next-key lock only the gap is wanting, which is never waited for.
            want.kind = LockKind::Gap;
            if self.holds(owner, want) {
                return Attempt::Granted { new: false };
            }
        }
        match self.first_in_the_way(owner, want) {
            None if !object || want.kind == LockKind::InsertIntention => Attempt::Granted { new: false },
            None => {
                let mut held = owner.held();
                held.keys.push(self.key.clone());
                let epoch = held.epoch;
                drop(held);
                let at = self.granted();
                self.put(at, owner, epoch, want, true, 0);
                Attempt::Granted { new: true }
            }
            Some(_) if !may_wait => Attempt::Busy,
            Some(blocked_by) => {
                let number = owner.waits.fetch_add(1, Ordering::Relaxed) + 1;
                *owner.wait_state() = Wait::For {
                    key: self.key.clone(),
                    number,
                    since: Instant::now(),
                };
                let epoch = owner.held().epoch;
                self.put(self.requests.len(), owner, epoch, want, false, blocked_by);
                Attempt::Queued(self.key.clone())
            }
        }
    }

    /// One of those a new request would wait for.
    fn first_in_the_way(&self, owner: &Owner, want: Want) -> Option<u64> {
        let granted = self.granted();
        let overtakes = want.has_record()
            && want.mode == LockMode::Exclusive
            && self.holds(owner, Want::record(LockMode::Shared));
        let held = self.requests[..granted].iter().rev();
        let waiting = self.requests[granted..]
            .iter()
            .filter(|r| !(overtakes && r.want.mode == LockMode::Exclusive && r.want.has_record()));
        held.chain(waiting)
            .find(|r| r.owner.number != owner.number && want.waits_for(r.want))
            .map(|r| r.owner.number)
    }

    /// All that the waiting request at `mine` waits for.
    pub fn blockers(&self, mine: usize) -> impl Iterator<Item = &Request> {
        let me = &self.requests[mine];
        let overtakes = me.want.has_record()
            && me.want.mode == LockMode::Exclusive
            && self.holds(&me.owner, Want::record(LockMode::Shared));
        self.requests[..mine].iter().filter(move |r| {
            let overtaken =
                overtakes && !r.granted && r.want.mode == LockMode::Exclusive && r.want.has_record();
            r.owner.number != me.owner.number && me.want.waits_for(r.want) && !overtaken
        })
    }

    /// Takes the owner's waiting request out; false if it does not wait here.
    pub fn leave(&mut self, owner: &Owner) -> bool {
        let Some(at) = self.waiting(owner) else {
            return false;
        };
        self.take(at);
        self.grant_after(owner);
        true
    }

    /// Takes out what the owner holds here, of those that `which` names. Answers whether that was all he holds.
    pub fn release(&mut self, owner: &Owner, which: impl Fn(Want) -> bool) -> bool {
        let mut rest = false;
        for at in (0..self.granted()).rev() {
            let request = &self.requests[at];
            if request.owner.number != owner.number {
                continue;
            }
            if which(request.want) {
                self.take(at);
            } else {
                rest = true;
            }
        }
        self.grant_after(owner);
        !rest
    }

    /// `owner` has let go of something: grants what waited for him and can be granted now.
    fn grant_after(&mut self, owner: &Owner) {
        let after = Lsn(owner.ended.load(Ordering::Relaxed));
        let mut at = self.granted();
        while at < self.requests.len() {
            let request = &self.requests[at];
            if request.blocked_by != owner.number {
                at += 1;
                continue;
            }
            let granted = self.granted();
            let blocker = self.requests[..granted]
                .iter()
                .rev()
                .find(|r| r.owner.number != request.owner.number && request.want.waits_for(r.want))
                .map(|r| r.owner.number);
            match blocker {
                Some(blocker) => self.requests[at].blocked_by = blocker,
                None => {
                    let mut request = self.requests.remove(at);
                    request.granted = true;
                    request.owner.held().keys.push(self.key.clone());
                    wake(&request.owner, after);
                    self.requests.insert(granted, request);
                }
            }
            at += 1;
        }
    }

    /// Those who wait here for `owner`, among others.
    pub fn waiting_for(&self, owner: &Owner) -> impl Iterator<Item = &Arc<Owner>> {
        let granted = self.granted();
        let waiting = (granted..self.requests.len())
            .filter(move |at| self.blockers(*at).any(|r| r.owner.number == owner.number));
        waiting.map(|at| &self.requests[at].owner)
    }

    /// The record is gone: nobody locks it any more, and whoever waits for it is woken, to look again.
    pub fn dissolve(&mut self) {
        while let Some(at) = self.requests.len().checked_sub(1) {
            let request = self.take(at);
            if !request.granted {
                wake(&request.owner, Lsn::ZERO);
            }
        }
    }
}

/// The owner's wait is over.
fn wake(owner: &Owner, after: Lsn) {
    *owner.wait_state() = Wait::Granted { after };
    owner.changed().notify_all();
}
