//! Making room: splitting nodes, growing the root.
//!
//! A split cuts a node in two at a *separator*, the shortest key that tells the halves apart, and enters the right
//! half into the parent. If the parent has no room the parent is split first, as a mini-transaction of its own, and
//! everything starts over; so no more than two levels are ever latched. A root that must be split moves its content
//! into a new child first, because the root's page never changes its place.
//!
//! Where to cut: in the middle of the bytes, except for keys that arrive in ascending order. Then the left half keeps
//! nearly everything and the right half begins just before the new key, so that a sequential load fills its pages.

use super::leaf::check_size;
use super::node::{CAPACITY, Node, NodeMut, PageBytes, Towards, entry_size, separator};
use super::op::TreeOp;
use super::{Patience, Tree};
use crate::error::Result;
use crate::ids::PAGE_SIZE;
use crate::pool::page_type;

/// So many inserts, each just above the one before, are taken for an ascending load into the middle of a tree.
const ASCENDING_RUN: usize = 8;
/// At the tree's right edge, the last entries, one in so many, count as its end.
const EDGE: usize = 16;
/// Pages left behind by an ascending load keep one part in so many free: several loaders arrive a little out of order,
/// and each straggler would otherwise split a full page.
const SPARE: usize = 16;
/// Bytes of a child's page number.
pub(super) const CHILD_LEN: usize = 4;

/// Where a node is cut: entries from `at` on go right, the key `separator` becomes the fence between.
#[derive(Debug, PartialEq, Eq)]
struct Cut {
    at: usize,
    separator: Vec<u8>,
}

enum SplitOutcome {
    Done,
    /// Another thread was faster, or the parent had to be split first.
    Again,
}

impl Tree {
    /// Makes room so that `key` with a value of `value_len` bytes, new or in place of the present one, finds room in
    /// its leaf; or at least more than before: the caller tries again and comes back if need be.
    pub fn split(&self, key: &[u8], value_len: usize) -> Result<()> {
        check_size(key.len(), value_len)?;
        while let SplitOutcome::Again = self.try_split(key, Some(value_len), 0)? {}
        Ok(())
    }

    /// Splits the node of `level` on the way to `key`: a leaf for an entry with a value of `value_len`, an inner node
    /// (`None`) for any separator.
    fn try_split(&self, key: &[u8], value_len: Option<usize>, level: u8) -> Result<SplitOutcome> {
        let mut mtr = self.begin_mtr()?;
        let Some(place) = self.descend(Towards::Key(key), level, Patience::Wait)? else {
            // The tree has shrunk; there is nothing to split at this height.
            return Ok(SplitOutcome::Done);
        };
        let Some(parent) = place.parent else {
            drop(mtr);
            return self.grow(level);
        };
        // Brings the page in while nothing is latched.
        self.pool().optimistic(place.page)?;
        let Ok(parent) = parent.into_exclusive() else {
            return Ok(SplitOutcome::Again);
        };
        let child = self.pool().exclusive(place.page)?;
        let (parent, child) = (mtr.add(parent), mtr.add(child));
        let node = Node::new(mtr.page(child));
        if node.page_type() != page_type::TREE || node.level() != level || !node.covers(key) {
            return Err(self.corrupt(place.page, "a child is not what its parent says"));
        }
        let cut = match value_len {
            Some(len) if has_room(node, key, len) => return Ok(SplitOutcome::Done),
            Some(len) => cut_leaf(node, key, len),
            None if node.free_space() >= entry_size(super::MAX_KEY_LEN, CHILD_LEN) => {
                return Ok(SplitOutcome::Done);
            }
            None => cut_inner(node, key),
        };
        let Some(cut) = cut else {
            return Err(self.corrupt(place.page, "a node too full for an entry has nothing to split"));
        };
        if entry_size(cut.separator.len(), CHILD_LEN) > Node::new(mtr.page(parent)).free_space() {
            drop(mtr);
            while let SplitOutcome::Again = self.try_split(key, None, level + 1)? {}
            return Ok(SplitOutcome::Again);
        }
        // The only step that can fail comes before the first change.
        let right = mtr.alloc_page_near(place.page, page_type::TREE, 0)?;
        let right_id = mtr.id(right);
        let node = Node::new(mtr.page(child));
        let mut bytes: PageBytes = [0; PAGE_SIZE];
        let mut half = NodeMut::new(&mut bytes);
        half.format(
            page_type::TREE,
            level,
            self.index.0,
            &cut.separator,
            node.upper_fence(),
        );
        if node.is_leaf() {
            half.append_from(node, cut.at..node.count());
        } else {
            half.append_all(&[(b"", node.value(cut.at))]);
            half.append_from(node, cut.at + 1..node.count());
        }
        let lower = node.lower_fence().to_vec();
        mtr.apply(right, &TreeOp::image(Node::new(&bytes)));
        mtr.apply(
            child,
            &TreeOp::Refence {
                lower: &lower,
                upper: &cut.separator,
                keep: cut.at,
            },
        );
        let slot = Node::new(mtr.page(parent)).child_slot(Towards::Key(&cut.separator)) + 1;
        let value = right_id.0.to_le_bytes();
        mtr.apply(
            parent,
            &TreeOp::Insert {
                slot,
                key: &cut.separator,
                value: &value,
            },
        );
        mtr.commit();
        if level == 0 {
            self.count_leaves(1);
        }
        Ok(SplitOutcome::Done)
    }

    /// Gives the root, if it is at `level`, its content as an only child.
    fn grow(&self, level: u8) -> Result<SplitOutcome> {
        let mut mtr = self.begin_mtr()?;
        let root = mtr.add(self.pool().exclusive(self.root)?);
        if Node::new(mtr.page(root)).level() != level {
            return Ok(SplitOutcome::Again);
        }
        let child = mtr.alloc_page_near(self.root, page_type::TREE, 0)?;
        let child_id = mtr.id(child);
        let bytes: PageBytes = **mtr.page(root);
        mtr.apply(child, &TreeOp::image(Node::new(&bytes)));
        mtr.apply(
            root,
            &TreeOp::Format {
                page_type: page_type::TREE,
                level: level + 1,
                index: self.index.0,
                lower: b"",
                upper: b"",
            },
        );
        mtr.apply(
            root,
            &TreeOp::Insert {
                slot: 0,
                key: b"",
                value: &child_id.0.to_le_bytes(),
            },
        );
        mtr.commit();
        Ok(SplitOutcome::Again)
    }

    /// Hangs a finished page, in which all keys lie above all of the tree's, to the right of the last leaf, whose
    /// last key is `last`. False if the last leaf has no room for the fence between them.
    pub(super) fn attach_last(&self, separator: &[u8], content: &PageBytes) -> Result<bool> {
        loop {
            let mut mtr = self.begin_mtr()?;
            let Some(place) = self.descend(Towards::End, 0, Patience::Wait)? else {
                continue;
            };
            let Some(parent) = place.parent else {
                drop(mtr);
                self.grow(0)?;
                continue;
            };
            self.pool().optimistic(place.page)?;
            let Ok(parent) = parent.into_exclusive() else {
                continue;
            };
            let last = self.pool().exclusive(place.page)?;
            let (parent, last) = (mtr.add(parent), mtr.add(last));
            if entry_size(separator.len(), CHILD_LEN) > Node::new(mtr.page(parent)).free_space() {
                drop(mtr);
                while let SplitOutcome::Again = self.try_split(separator, None, 1)? {}
                continue;
            }
            let node = Node::new(mtr.page(last));
            if node.free_space() < separator.len() {
                return Ok(false);
            }
            let (lower, keep) = (node.lower_fence().to_vec(), node.count());
            let right = mtr.alloc_page_near(place.page, page_type::TREE, 0)?;
            let right_id = mtr.id(right);
            mtr.apply(right, &TreeOp::image(Node::new(content)));
            mtr.apply(
                last,
                &TreeOp::Refence {
                    lower: &lower,
                    upper: separator,
                    keep,
                },
            );
            let slot = Node::new(mtr.page(parent)).count();
            let value = right_id.0.to_le_bytes();
            mtr.apply(
                parent,
                &TreeOp::Insert {
                    slot,
                    key: separator,
                    value: &value,
                },
            );
            mtr.commit();
            self.count_leaves(1);
            return Ok(true);
        }
    }
}

fn has_room(node: Node<'_>, key: &[u8], value_len: usize) -> bool {
    match node.search(key) {
        Ok(slot) => NodeMut::replace_fits(node, slot, value_len),
        Err(_) => entry_size(key.len(), value_len) <= node.free_space(),
    }
}

/// The leaf's entries as they shall be: with the new one in its place.
struct Wanted<'n> {
    node: Node<'n>,
    key: &'n [u8],
    /// Where the new or changed entry stands.
    place: usize,
    /// Is it new, so that entries from `place` on stand one further?
    is_new: bool,
    size: usize,
}

impl<'n> Wanted<'n> {
    fn count(&self) -> usize {
        self.node.count() + usize::from(self.is_new)
    }

    /// The slot that entry `i` has now, for any but a new one.
    fn slot(&self, i: usize) -> usize {
        if self.is_new && i > self.place { i - 1 } else { i }
    }

    fn key(&self, i: usize) -> &'n [u8] {
        if i == self.place {
            self.key
        } else {
            self.node.key(self.slot(i))
        }
    }

    fn size(&self, i: usize) -> usize {
        if i == self.place {
            self.size
        } else {
            self.node.size_of(self.slot(i))
        }
    }

    /// Bytes entry `i` takes in the page as it is.
    fn present_size(&self, i: usize) -> usize {
        match i == self.place {
            true if self.is_new => 0,
            true => self.node.size_of(i),
            false => self.size(i),
        }
    }

    /// How many entries, of the first `most`, make a page that is full but for stragglers.
    fn dense_start(&self, most: usize) -> usize {
        let mut bytes = self.node.lower_fence().len();
        let fits = |i: &usize| {
            bytes += self.size(*i);
            bytes <= CAPACITY - CAPACITY / SPARE
        };
        (0..most).take_while(fits).count()
    }

    /// The cut before entry `i`.
    fn cut(&self, i: usize) -> Cut {
        let separator = separator(self.key(i - 1), self.key(i)).to_vec();
        Cut {
            at: i - usize::from(self.is_new && i > self.place),
            separator,
        }
    }
}

/// Where to cut a leaf that has no room for `key` with `value_len` bytes.
fn cut_leaf(node: Node<'_>, key: &[u8], value_len: usize) -> Option<Cut> {
    let (place, is_new) = match node.search(key) {
        Ok(slot) => (slot, false),
        Err(slot) => (slot, true),
    };
    let wanted = Wanted {
        node,
        key,
        place,
        is_new,
        size: entry_size(key.len(), value_len),
    };
    let count = wanted.count();
    let (last, run) = node.upward_run();
    let ascending = run >= ASCENDING_RUN && place == last + 1;
    let at_edge = node.upper_fence().is_empty() && place + place / EDGE >= count - 1;
    // The left half we would like to have, in entries; a cut there if it works, else the most even one that does.
    let wish = match is_new && (ascending || at_edge) {
        true if place + place / EDGE >= count - 1 => Some(wanted.dense_start(place)),
        true => Some(place + 1),
        false => None,
    };
    let (lower, upper) = (node.lower_fence().len(), node.upper_fence().len());
    let total: usize = (0..count).map(|i| wanted.size(i)).sum();
    let present: usize = (0..count).map(|i| wanted.present_size(i)).sum();
    let (mut best, mut second): (Option<(usize, usize)>, Option<(usize, usize)>) = (None, None);
    let (mut left, mut left_present) = (0, 0);
    for i in 1..count {
        left += wanted.size(i - 1);
        left_present += wanted.present_size(i - 1);
        let fence = separator(wanted.key(i - 1), wanted.key(i)).len();
        let unevenness = if wish == Some(i) {
            0
        } else {
            1 + left.abs_diff(total - left)
        };
        let fits =
            |left: usize, right: usize| lower + left + fence <= CAPACITY && fence + right + upper <= CAPACITY;
        if fits(left, total - left) && best.is_none_or(|(least, _)| unevenness < least) {
            best = Some((unevenness, i));
        }
        // With entries of very different size no single cut may make enough room; then any that helps.
        if fits(left_present, present - left_present) && second.is_none_or(|(least, _)| unevenness < least) {
            second = Some((unevenness, i));
        }
    }
    best.or(second).map(|(_, i)| wanted.cut(i))
}

/// Where to cut an inner node on the way to `key`.
fn cut_inner(node: Node<'_>, key: &[u8]) -> Option<Cut> {
    let count = node.count();
    let total: usize = (0..count).map(|i| node.size_of(i)).sum();
    let (lower, upper) = (node.lower_fence().len(), node.upper_fence().len());
    let ascending = upper == 0 && node.child_slot(Towards::Key(key)) + 1 == count;
    let mut best: Option<(usize, usize)> = None;
    let mut left = 0;
    for i in 1..count {
        left += node.size_of(i - 1);
        let fence = node.key(i).len();
        // The right half keeps its first key as its fence only.
        let right = total - left - fence;
        let unevenness = if ascending && i + 1 == count {
            0
        } else {
            1 + left.abs_diff(right)
        };
        let fits = lower + left + fence <= CAPACITY && fence + right + upper <= CAPACITY;
        if fits && best.is_none_or(|(least, _)| unevenness < least) {
            best = Some((unevenness, i));
        }
    }
    best.map(|(_, at)| Cut {
        at,
        separator: node.key(at).to_vec(),
    })
}
