//! Deadlock detection: when a wait begins, or its edge moves, the wait-for edges are followed (see
//! [`waiting`](super::waiting)).
//!
//! Of the transactions on a cycle the one with the least weight (changes plus lock [structures](super::structure)) is
//! rolled back. Between equals it is the one whose wait began last, else the one that waits for that, and so on around
//! the cycle: InnoDB's choice.
//!
//! The search does not stop other threads, so its steps may see different moments. A cycle counts only if, on a second
//! look, each of its members is still in the wait it was found in, and still waits for the next: then there was a
//! moment between the two looks when all of them waited at once, and an owner that waits releases no lock.

use super::Locks;
use super::inspect::{DeadlockInfo, DeadlockMember};
use super::owner::{Owner, Wait};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

/// Called with every deadlock that is found, while all its members still wait.
pub(crate) type OnDeadlock = Arc<dyn Fn(&DeadlockInfo) + Send + Sync>;

impl Locks {
    /// Searches for a cycle through `owner`, and wakes the chosen victim with
    /// [`Error::Deadlock`](crate::Error::Deadlock).
    pub(super) fn break_cycles(&self, owner: &Arc<Owner>) {
        if !self.detect.load(Ordering::Relaxed) {
            return;
        }
        let mut latest = self.search.lock();
        while let Some(cycle) = self.find_cycle(owner) {
            let victim = choose(&cycle);
            let info = Arc::new(self.describe(&cycle, &victim));
            let observer = self.on_deadlock.lock().clone();
            if let Some(observer) = observer {
                observer(&info);
            }
            let mut state = victim.wait_state();
            if matches!(*state, Wait::For { .. }) {
                *state = Wait::Victim;
                victim.waits_for.store(0, Ordering::Release);
                victim.changed().notify_all();
                self.stats.deadlocks.fetch_add(1, Ordering::Relaxed);
            }
            *latest = Some(info);
        }
    }

    fn describe(&self, cycle: &[Arc<Owner>], victim: &Arc<Owner>) -> DeadlockInfo {
        let members = cycle.iter().enumerate().filter_map(|(i, owner)| {
            let next = &cycle[(i + 1) % cycle.len()];
            let before = &cycle[(i + cycle.len() - 1) % cycle.len()];
            let (waits_for, _) = self.show_wait(owner, next)?;
            let (_, holds) = self.show_wait(before, owner)?;
            Some(DeadlockMember {
                transaction: self.show_transaction(owner, None)?,
                waits_for,
                holds,
                victim: owner.number == victim.number,
            })
        });
        DeadlockInfo {
            at: SystemTime::now(),
            members: members.collect(),
        }
    }

    /// The last deadlock that was found.
    pub fn latest_deadlock(&self) -> Option<Arc<DeadlockInfo>> {
        self.search.lock().clone()
    }

    pub fn set_on_deadlock(&self, observer: Option<OnDeadlock>) {
        *self.on_deadlock.lock() = observer;
    }

    /// The members of a cycle, from the one whose wait began last; each waits for the next.
    fn find_cycle(&self, start: &Owner) -> Option<Vec<Arc<Owner>>> {
        loop {
            let mut cycle = self.waiting.cycle(start)?;
            let numbers: Vec<u64> = cycle.iter().map(|owner| owner.wait_number()).collect();
            let stands = |(at, owner): (usize, &Arc<Owner>)| {
                let next = &cycle[(at + 1) % cycle.len()];
                let waits_for = owner.waits_for.load(Ordering::Acquire);
                numbers[at] != 0 && waits_for == next.number && owner.wait_number() == numbers[at]
            };
            if cycle.iter().enumerate().all(stands) {
                let last = (0..cycle.len()).max_by_key(|at| numbers[*at])?;
                cycle.rotate_left(last);
                return Some(cycle);
            }
            // A member has stopped waiting, and may by now wait on another cycle.
        }
    }
}

/// Chooses the victim of a cycle that begins with the owner whose wait began last.
fn choose(cycle: &[Arc<Owner>]) -> Arc<Owner> {
    let mut order = cycle[1..].iter().chain(&cycle[..1]);
    let first = order.next().expect("a cycle has members");
    let mut victim = (first.weight(), first);
    for owner in order {
        let weight = owner.weight();
        if weight <= victim.0 {
            victim = (weight, owner);
        }
    }
    victim.1.clone()
}
