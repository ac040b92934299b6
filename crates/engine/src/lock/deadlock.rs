//! Deadlocks: found when a wait begins, by walking from who waits to whom it waits for. Of the transactions on a cycle the
//! one with the least work to undo and the fewest kinds of lock is rolled back; between equals, the one whose wait closed the cycle.
//!
//! The walk does not stop the world, so its steps may be of different moments. A cycle counts only if, on a second look,
//! each of its members is still in the very wait it was found in, and still waits for the next: then there was a moment
//! between the two looks when all of them waited at once, and nobody who waits lets go of a lock.

use super::Locks;
use super::inspect::{DeadlockInfo, DeadlockMember};
use super::owner::{Owner, Wait};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

/// Called with every deadlock that is found, while all who are in it still wait.
pub(crate) type OnDeadlock = Arc<dyn Fn(&DeadlockInfo) + Send + Sync>;

impl Locks {
    /// Breaks every cycle that `owner`, who has just entered a queue, is part of.
    pub(super) fn break_cycles(&self, owner: &Arc<Owner>) {
        if !self.detect.load(Ordering::Relaxed) {
            return;
        }
        let mut latest = self.search.lock();
        while let Some(cycle) = self.find_cycle(owner) {
            // The cycle begins with `owner`; `min_by_key` takes the first of equals.
            let weight =
                |o: &&Arc<Owner>| o.weight.load(Ordering::Relaxed) + o.lock_classes.load(Ordering::Relaxed);
            let victim = cycle
                .iter()
                .min_by_key(weight)
                .expect("a cycle has members")
                .clone();
            let info = Arc::new(self.describe(&cycle, &victim));
            let observer = self.on_deadlock.lock().clone();
            if let Some(observer) = observer {
                observer(&info);
            }
            let mut state = victim.wait_state();
            if matches!(*state, Wait::For { .. }) {
                *state = Wait::Victim;
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

    /// A path of waits from `start` back to it.
    fn find_cycle(&self, start: &Arc<Owner>) -> Option<Vec<Arc<Owner>>> {
        loop {
            let path = self.walk(start)?;
            if self.still_stands(&path) {
                return Some(path.into_iter().map(|step| step.owner).collect());
            }
            // Somebody on it has moved on. Others may still be reached by another way, so begin again.
        }
    }

    fn walk(&self, start: &Arc<Owner>) -> Option<Vec<Step>> {
        let mut seen = HashSet::from([start.number]);
        let (wait, next) = self.blockers(start);
        let mut path = vec![Step {
            owner: start.clone(),
            wait,
            next,
        }];
        while let Some(step) = path.last_mut() {
            let Some(owner) = step.next.pop() else {
                path.pop();
                continue;
            };
            if owner.number == start.number {
                return Some(path);
            }
            if seen.insert(owner.number) {
                let (wait, next) = self.blockers(&owner);
                path.push(Step { owner, wait, next });
            }
        }
        None
    }

    /// The second look at a cycle.
    fn still_stands(&self, path: &[Step]) -> bool {
        path.iter().enumerate().all(|(i, step)| {
            let next = &path[(i + 1) % path.len()].owner;
            let (wait, blockers) = self.blockers(&step.owner);
            wait == step.wait && blockers.iter().any(|b| b.number == next.number)
        })
    }
}

/// One member of the path being walked, and those it waits for that are still to be walked to.
struct Step {
    owner: Arc<Owner>,
    wait: u64,
    next: Vec<Arc<Owner>>,
}
