//! Giving room back: merging sparse nodes, shrinking the root.
//!
//! A node that has become sparse is merged with a neighbour under the same parent if both fit well into one page, or
//! taken out of the tree if it is empty. That may leave the parent sparse, so the same is tried one level up; a root
//! with an only child takes over that child's content. Nothing here is needed for correctness: when it does not work
//! out, the node stays sparse.

use super::leaf::SPARSE;
use super::node::{CAPACITY, Node, NodeMut, PageBytes, Towards, entry_size};
use super::op::TreeOp;
use super::split::CHILD_LEN;
use super::{LEVELS_MAX, Patience, Tree};
use crate::error::Result;
use crate::ids::{PAGE_SIZE, PageId};
use crate::pool::{OptimisticGuard, page_type};
use crate::store::{Mtr, PageHandle};

/// Merged nodes keep this much room, lest the next insert splits them again.
const MERGED_MAX: usize = CAPACITY / 8 * 7;

enum Merged {
    /// Nothing more to do here.
    Done,
    /// The parent may have become sparse.
    Up,
    /// Something changed on the way.
    Again,
}

impl Tree {
    /// Merges the leaf that covers `key` with a neighbour, if it is sparse and a neighbour has room; and so on up.
    pub fn merge(&self, key: &[u8]) -> Result<()> {
        let mut level = 0;
        loop {
            match self.try_merge(key, level)? {
                Merged::Done => return Ok(()),
                Merged::Up if (level as usize) < LEVELS_MAX => level += 1,
                Merged::Up => return Ok(()),
                Merged::Again => {}
            }
        }
    }

    fn try_merge(&self, key: &[u8], level: u8) -> Result<Merged> {
        let mut mtr = self.begin_mtr()?;
        let Some(place) = self.descend(Towards::Key(key), level, Patience::Wait)? else {
            return Ok(Merged::Done);
        };
        let Some(parent) = place.parent else {
            drop(mtr);
            return self.shrink();
        };
        self.bring_in_pair(&parent, key)?;
        let Ok(parent) = parent.into_exclusive() else {
            return Ok(Merged::Again);
        };
        let parent = mtr.add(parent);
        let node = Node::new(mtr.page(parent));
        let (slot, count) = (node.child_slot(Towards::Key(key)), node.count());
        if count == 1 {
            // No neighbour here; the parent's own merge, or the root's shrinking, may help.
            return Ok(Merged::Up);
        }
        let left = left_of_pair(slot, count);
        let (left_id, right_id) = (PageId(node.child(left)), PageId(node.child(left + 1)));
        let pair = Pair {
            left_slot: left,
            left_id,
            left: mtr.add(self.pool().exclusive(left_id)?),
            right_id,
            right: mtr.add(self.pool().exclusive(right_id)?),
            parent,
        };
        for page in [pair.left, pair.right] {
            let node = Node::new(mtr.page(page));
            if node.page_type() != page_type::TREE || node.level() != level {
                return Err(self.corrupt(place.page, "a child is not what its parent says"));
            }
        }
        let sparse = Node::new(mtr.page(if slot == left { pair.left } else { pair.right }));
        if sparse.used_by_entries() >= SPARSE {
            return Ok(Merged::Done);
        }
        if !self.join(&mut mtr, &pair, level)? {
            return Ok(Merged::Done);
        }
        let node = Node::new(mtr.page(parent));
        let up = node.count() == 1 || node.used_by_entries() < SPARSE;
        mtr.commit();
        if level == 0 {
            self.count_leaves(-1);
        }
        Ok(if up { Merged::Up } else { Merged::Done })
    }

    /// Makes one of two neighbours, if they fit.
    fn join(&self, mtr: &mut Mtr<'_>, pair: &Pair, level: u8) -> Result<bool> {
        let (left, right) = (Node::new(mtr.page(pair.left)), Node::new(mtr.page(pair.right)));
        let (lower, upper) = (left.lower_fence().to_vec(), right.upper_fence().to_vec());
        let fences = lower.len() + upper.len();
        if level == 0 && right.count() == 0 {
            let keep = left.count();
            if left.used_by_entries() + fences > CAPACITY {
                return Ok(false);
            }
            mtr.free_page(pair.right_id)?;
            mtr.apply(
                pair.left,
                &TreeOp::Refence {
                    lower: &lower,
                    upper: &upper,
                    keep,
                },
            );
            mtr.apply(
                pair.parent,
                &TreeOp::Remove {
                    slot: pair.left_slot + 1,
                },
            );
            return Ok(true);
        }
        if level == 0 && left.count() == 0 {
            let keep = right.count();
            if right.used_by_entries() + fences > CAPACITY {
                return Ok(false);
            }
            // The right one takes the left one's place: its entry goes, the left one's now leads to it.
            mtr.free_page(pair.left_id)?;
            mtr.apply(
                pair.right,
                &TreeOp::Refence {
                    lower: &lower,
                    upper: &upper,
                    keep,
                },
            );
            mtr.apply(
                pair.parent,
                &TreeOp::Remove {
                    slot: pair.left_slot + 1,
                },
            );
            let value = pair.right_id.0.to_le_bytes();
            let op = TreeOp::Replace {
                slot: pair.left_slot,
                keep_front: 0,
                keep_back: 0,
                middle: &value,
            };
            mtr.apply(pair.parent, &op);
            return Ok(true);
        }
        // An inner node's first key is its fence; it comes back as a key.
        let first = if level == 0 { &b""[..] } else { right.lower_fence() };
        let used = left.used_by_entries() + right.used_by_entries() + first.len() + fences;
        if used > MERGED_MAX {
            return Ok(false);
        }
        let mut bytes: PageBytes = [0; PAGE_SIZE];
        let mut both = NodeMut::new(&mut bytes);
        both.format(page_type::TREE, level, self.index.0, &lower, &upper);
        both.append_from(left, 0..left.count());
        if level > 0 {
            both.append_all(&[(first, right.value(0))]);
        }
        both.append_from(right, usize::from(level > 0)..right.count());
        mtr.free_page(pair.right_id)?;
        mtr.apply(pair.left, &TreeOp::image(Node::new(&bytes)));
        mtr.apply(
            pair.parent,
            &TreeOp::Remove {
                slot: pair.left_slot + 1,
            },
        );
        Ok(true)
    }

    /// Reads the pages that will be merged, if need be, while nothing is latched.
    fn bring_in_pair(&self, parent: &OptimisticGuard<'_>, key: &[u8]) -> Result<()> {
        let node = super::racy(parent);
        let Ok(step) = node.step(Towards::Key(key)) else {
            return Ok(());
        };
        if step.count < 2 {
            return Ok(());
        }
        let left = left_of_pair(step.slot, step.count);
        for slot in [left, left + 1] {
            if let Ok(child) = node.child(slot)
                && parent.validate().is_ok()
            {
                self.pool().optimistic(PageId(child))?;
            }
        }
        Ok(())
    }

    /// A root with an only child becomes that child.
    fn shrink(&self) -> Result<Merged> {
        let mut mtr = self.begin_mtr()?;
        let root = mtr.add(self.pool().exclusive(self.root)?);
        let node = Node::new(mtr.page(root));
        if node.is_leaf() || node.count() != 1 {
            return Ok(Merged::Done);
        }
        let child_id = PageId(node.child(0));
        let child = mtr.add(self.pool().exclusive(child_id)?);
        mtr.free_page(child_id)?;
        let bytes: PageBytes = **mtr.page(child);
        mtr.apply(root, &TreeOp::image(Node::new(&bytes)));
        mtr.commit();
        Ok(Merged::Done)
    }
}

/// The left one of the neighbours to merge when the sparse one is at `slot`: it and its right neighbour, else its left
/// one and it.
fn left_of_pair(slot: usize, count: usize) -> usize {
    if slot + 1 < count { slot } else { slot - 1 }
}

/// Two neighbours and their parent, latched.
struct Pair {
    parent: PageHandle,
    left_slot: usize,
    left_id: PageId,
    left: PageHandle,
    right_id: PageId,
    right: PageHandle,
}

const _: () = assert!(SPARSE * 2 + entry_size(0, CHILD_LEN) < MERGED_MAX);
