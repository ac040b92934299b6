//! Counting roughly, for the planner: how many entries lie between two keys, how many there are at all.
//!
//! A descent towards each end shows, level by level, how many children lie between the two paths; what lies under those
//! is estimated from how full the nodes along the way are. When both ends fall into one leaf the result is exact.

use super::node::{Node, Towards};
use super::{LEVELS_MAX, Tree, racy};
use crate::error::Result;
use crate::ids::PageId;
use std::collections::HashSet;

/// One level of a path: which of how many entries.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
struct Turn {
    slot: usize,
    count: usize,
}

/// A path from the root, the leaf's place last.
#[derive(Default)]
struct Path {
    turns: [Turn; LEVELS_MAX],
    len: usize,
}

/// How a probe finds its way.
#[derive(Clone, Copy)]
enum Probe<'k> {
    Towards(Towards<'k>),
    /// A different child at every level for every seed.
    Scattered(u64),
    /// The leaf that has this share of the tree before it, if all nodes of a level are equally full: from 0 to below 1.
    At(f64),
}

/// Paths looked at to guess a tree's size.
const PROBES: u64 = 8;

/// Leaves to be looked at, spread evenly over a tree, and those that have been. No leaf is visited twice.
pub struct LeafSample {
    count: usize,
    next: usize,
    /// From one leaf to the next, in places of the sample. It has no divisor in common with `count`.
    step: usize,
    visited: HashSet<PageId>,
    /// How many leaves there are; `usize::MAX`: many, or that is not known yet.
    leaves: usize,
}

impl LeafSample {
    /// Of up to `count` leaves, in the order of their keys.
    pub fn in_order(count: usize) -> LeafSample {
        LeafSample {
            count,
            next: 0,
            step: 1,
            visited: HashSet::new(),
            leaves: usize::MAX,
        }
    }

    /// The same leaves in another order: those visited so far are always spread over the tree.
    pub fn scattered(count: usize) -> LeafSample {
        let divides = |step: usize| (2..=step).any(|n| step.is_multiple_of(n) && count.is_multiple_of(n));
        let golden = (count as f64 * 0.618) as usize;
        LeafSample {
            step: (golden.max(1)..).find(|step| !divides(*step)).unwrap_or(1),
            ..LeafSample::in_order(count)
        }
    }

    /// Whether the leaves are all that there are.
    pub fn is_whole(&self) -> bool {
        self.next >= self.count && self.leaves <= self.count
    }

    /// How many leaves have been visited.
    pub fn visited(&self) -> usize {
        self.visited.len()
    }

    /// Where the next leaf lies, as a share of the tree.
    fn next_place(&mut self) -> Option<f64> {
        if self.next >= self.count || self.leaves == 1 {
            self.next = self.count;
            return None;
        }
        let at = self.next * self.step % self.count;
        self.next += 1;
        Some((at as f64 + 0.5) / self.count as f64)
    }
}

impl Tree {
    /// About how many entries lie from `lower` (inclusive) to `upper` (exclusive; empty = to the end).
    pub fn estimate_range(&self, lower: &[u8], upper: &[u8]) -> Result<u64> {
        if !upper.is_empty() && lower >= upper {
            return Ok(0);
        }
        let towards = if upper.is_empty() {
            Towards::End
        } else {
            Towards::Key(upper)
        };
        let (a, b) = (
            self.path(Probe::Towards(Towards::Key(lower)))?,
            self.path(Probe::Towards(towards))?,
        );
        if a.len != b.len {
            return self.estimate_all();
        }
        // Whole subtrees, and at last entries, between the two paths.
        let mut between = 0.0;
        let mut parted = false;
        for level in 0..a.len {
            let (left, right) = (a.turns[level], b.turns[level]);
            let is_leaf = level + 1 == a.len;
            if parted {
                let average = (left.count + right.count) as f64 / 2.0;
                let rest = left.count.saturating_sub(left.slot + usize::from(!is_leaf));
                between = between * average + rest as f64 + right.slot as f64;
            } else if left.slot != right.slot || left.count != right.count {
                parted = true;
                between = right.slot.saturating_sub(left.slot + usize::from(!is_leaf)) as f64;
            }
        }
        Ok(between as u64)
    }

    /// About how many entries there are.
    pub fn estimate_all(&self) -> Result<u64> {
        self.estimate_above(0)
    }

    /// About how many leaves there are.
    pub fn estimate_leaves(&self) -> Result<u64> {
        self.estimate_above(1)
    }

    /// About how many nodes there are at a level, counted from 0 for the entries of leaves.
    fn estimate_above(&self, levels: usize) -> Result<u64> {
        // The product of the counts along a random path has the number of entries as its mean (Knuth, *Estimating
        // the efficiency of backtrack programs*, 1975).
        let mut sum = 0.0;
        for seed in 0..PROBES {
            let path = self.path(Probe::Scattered(seed))?;
            let product: f64 = path.turns[..path.len - levels]
                .iter()
                .map(|turn| turn.count as f64)
                .product();
            if path.len == 1 {
                return Ok(product as u64);
            }
            sum += product;
        }
        Ok((sum / PROBES as f64) as u64)
    }

    /// Visits up to `count` leaves that are spread over the tree, in the order of their keys, each with how many leaves it stands
    /// for: fewer below a node with few children. Returns true if these are all leaves that there are.
    pub fn sample_leaves(&self, count: usize, mut visit: impl FnMut(Node<'_>, f64)) -> Result<bool> {
        let mut sample = LeafSample::in_order(count);
        while self.sample_leaf(&mut sample, &mut visit)? {}
        Ok(sample.is_whole())
    }

    /// Visits the next leaf of a sample, with how many leaves it stands for, while it is latched. Returns false if there is none left.
    pub fn sample_leaf(&self, sample: &mut LeafSample, visit: &mut dyn FnMut(Node<'_>, f64)) -> Result<bool> {
        while let Some(at) = sample.next_place() {
            let (mut is_new, count) = (false, sample.count as f64);
            let path = self.path_to(Probe::At(at), &mut |page, leaf, around| {
                if sample.visited.insert(page) {
                    is_new = true;
                    visit(leaf, around / count);
                }
            })?;
            sample.leaves = match path.len {
                0 | 1 => 1,
                2 => path.turns[0].count,
                _ => usize::MAX,
            };
            if is_new {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn path(&self, probe: Probe<'_>) -> Result<Path> {
        self.path_to(probe, &mut |_, _, _| ())
    }

    /// The path to a leaf, which `visit` is shown, with how many leaves there are if all nodes of a level are as full as those on the
    /// way.
    fn path_to(&self, probe: Probe<'_>, visit: &mut dyn FnMut(PageId, Node<'_>, f64)) -> Result<Path> {
        loop {
            if let Some(path) = self.try_path(probe, visit)? {
                return Ok(path);
            }
        }
    }

    /// One attempt; `None` if the tree changed meanwhile.
    fn try_path(
        &self,
        mut probe: Probe<'_>,
        visit: &mut dyn FnMut(PageId, Node<'_>, f64),
    ) -> Result<Option<Path>> {
        let mut path = Path::default();
        let mut parent = None;
        let mut page = self.root;
        while path.len < LEVELS_MAX {
            let guard = self.pool().optimistic(page)?;
            let node = racy(&guard);
            if node.level() == 0 {
                let leaf = self.pool().shared(page)?;
                let node = Node::new(&leaf);
                if parent
                    .as_ref()
                    .is_some_and(|p: &crate::pool::OptimisticGuard<'_>| p.validate().is_err())
                    || !node.is_leaf()
                {
                    return Ok(None);
                }
                let slot = match probe {
                    Probe::Towards(Towards::Key(key) | Towards::Below(key)) => {
                        node.search(key).unwrap_or_else(|slot| slot)
                    }
                    Probe::Towards(Towards::End) | Probe::Scattered(_) | Probe::At(_) => node.count(),
                };
                let around = path.turns[..path.len].iter().map(|turn| turn.count as f64);
                visit(page, node, around.product());
                path.turns[path.len] = Turn {
                    slot,
                    count: node.count(),
                };
                path.len += 1;
                return Ok(Some(path));
            }
            let step = match probe {
                Probe::Towards(towards) => node.step(towards),
                Probe::Scattered(seed) => {
                    let count = node.count().max(1);
                    // Spread the probes evenly over the root's children, and somehow further down.
                    let scattered = (seed * 2 + 1) as usize * count / (2 * PROBES as usize);
                    let slot = if path.len == 0 {
                        scattered
                    } else {
                        (scattered * 7 + seed as usize) % count
                    };
                    node.child(slot)
                        .map(|child| super::racy::ChildRef { slot, count, child })
                }
                Probe::At(share) => {
                    let count = node.count().max(1);
                    let children = share * count as f64;
                    let slot = (children as usize).min(count - 1);
                    probe = Probe::At((children - slot as f64).clamp(0.0, 1.0));
                    node.child(slot)
                        .map(|child| super::racy::ChildRef { slot, count, child })
                }
            };
            if parent
                .as_ref()
                .is_some_and(|p: &crate::pool::OptimisticGuard<'_>| p.validate().is_err())
                || guard.validate().is_err()
            {
                return Ok(None);
            }
            let Ok(step) = step else {
                return Err(self.corrupt(page, "an inner node makes no sense"));
            };
            path.turns[path.len] = Turn {
                slot: step.slot,
                count: step.count,
            };
            path.len += 1;
            page = PageId(step.child);
            parent = Some(guard);
        }
        Err(self.corrupt(page, "the tree is too deep"))
    }
}
