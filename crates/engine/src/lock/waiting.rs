//! The wait-for graph. As in InnoDB, each waiting request has one edge.
//!
//! A waiting request may be blocked by several owners, but is examined again only when one certain owner releases a
//! lock; that owner is its edge. A request on a cycle of such edges waits for ever. A request on a cycle only by way of
//! another of its blockers does not: the owner that its edge names will release its lock some day, and then the edge
//! moves.
//!
//! *The order of grants* when several requests wait for the same owner: those come first that others wait for in turn,
//! directly or not, the one that most wait for before the rest; then all others, in order of arrival. (Tian, Huang,
//! Mozafari and Schoenebeck, *Contention-Aware Lock Scheduling for Transactional Databases*, VLDB 2018; InnoDB has it
//! since MySQL 8.0.) Against starvation, a request that has waited while twice as many waits began as there are waiting
//! requests now counts as if all of them waited for it: at least half of those waits have overtaken it.

use super::owner::Owner;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
pub(super) struct Waiting {
    /// Waiting owners by their number. No other lock is requested while this one is held.
    owners: Mutex<HashMap<u64, Arc<Owner>>>,
    /// Waits begun so far.
    count: AtomicU64,
}

impl Waiting {
    pub fn add(&self, owner: &Arc<Owner>) {
        self.owners.lock().insert(owner.number, owner.clone());
    }

    pub fn remove(&self, owner: &Owner) {
        self.owners.lock().remove(&owner.number);
    }

    /// Gives a new wait its number, and returns it; later waits have higher numbers.
    pub fn begin(&self, owner: &Owner) -> u64 {
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        owner.wait_began.store(number, Ordering::Relaxed);
        number
    }

    /// Follows the edges from `start`. Returns the owners on the way if they lead back to it: first the one it waits
    /// for, last itself.
    pub fn cycle(&self, start: &Owner) -> Option<Vec<Arc<Owner>>> {
        let owners = self.owners.lock();
        let mut cycle: Vec<Arc<Owner>> = Vec::new();
        let mut at = start.waits_for.load(Ordering::Acquire);
        while cycle.len() < owners.len() {
            let owner = owners.get(&at)?;
            cycle.push(owner.clone());
            if owner.number == start.number {
                return Some(cycle);
            }
            at = owner.waits_for.load(Ordering::Acquire);
        }
        None
    }

    /// The owners waiting for `blocker` that others wait for in turn, or that have waited for long, as (owner's number,
    /// how many requests it counts for beside its own).
    pub fn wanted(&self, blocker: &Owner) -> Vec<(u64, u64)> {
        let owners = self.owners.lock();
        let (many, begun) = (owners.len() as u64, self.count.load(Ordering::Relaxed));
        let mut wanted: Vec<(u64, u64)> = Vec::new();
        let mut add = |number, weight| match wanted.iter_mut().find(|(n, _)| *n == number) {
            Some((_, sum)) => *sum += weight,
            None => wanted.push((number, weight)),
        };
        for owner in owners.values() {
            let overtaken = owner.wait_began.load(Ordering::Relaxed) + 2 * many < begun;
            let weight = if overtaken { many } else { 1 };
            let mut at = owner.waits_for.load(Ordering::Acquire);
            if at == blocker.number && weight > 1 {
                add(owner.number, weight - 1);
            }
            // A path that runs into a cycle not containing `start` would never end.
            for _ in 0..owners.len() {
                if at == blocker.number {
                    break;
                }
                let Some(next) = owners.get(&at) else { break };
                let further = next.waits_for.load(Ordering::Acquire);
                if further == blocker.number {
                    add(at, weight);
                }
                at = further;
            }
        }
        wanted
    }
}
