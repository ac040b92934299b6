//! All who wait, each for one other: the wait-for graph, as InnoDB has it.
//!
//! A waiting request may be blocked by several owners, but is looked at again only when a certain one of them lets go;
//! that is the one edge it has. Who is on a cycle of such edges waits for ever; who is on a cycle only by way of another
//! of its blockers will get there, because the one it is waiting for at present lets go some day, and then its edge
//! moves.
//!
//! *Who goes first* when several wait for the same to let go: whoever others wait for, and of those the one that most
//! wait for, directly or not; then the rest, in order of arrival. (Tian, Huang, Mozafari and Schoenebeck,
//! *Contention-Aware Lock Scheduling for Transactional Databases*, VLDB 2018; InnoDB has it since MySQL 8.0.) So that nobody
//! is passed over for ever, who has waited while twice as many waits began as there are now counts for as many as wait:
//! at least half of those have overtaken him.

use super::owner::Owner;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
pub(super) struct Waiting {
    /// By the owners' numbers. No other lock is asked for while this is held.
    owners: Mutex<HashMap<u64, Arc<Owner>>>,
    /// Waits there have been.
    count: AtomicU64,
}

impl Waiting {
    pub fn add(&self, owner: &Arc<Owner>) {
        self.owners.lock().insert(owner.number, owner.clone());
    }

    pub fn remove(&self, owner: &Owner) {
        self.owners.lock().remove(&owner.number);
    }

    /// The number of a new wait of the owner's: later ones are higher.
    pub fn begin(&self, owner: &Owner) -> u64 {
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        owner.wait_began.store(number, Ordering::Relaxed);
        number
    }

    /// The edges from `start` on, if they lead back to it: first the one it waits for, last itself.
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

    /// Of those who wait for `blocker`, the ones that others wait for in turn, or that have waited for long; each with how
    /// many it counts for beside itself.
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
            // A way that runs into a cycle has no end.
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
