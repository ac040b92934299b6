//! The changes a page of the tree can undergo, as they stand in the log.
//!
//! They are physiological: they name a page and a slot in it, not a byte. Running and redoing are the same code, so a
//! page after recovery is, bit for bit in all that matters, the page before the crash.
//!
//! ```text
//!   kind u8, then numbers as LEB128 and byte strings as length + bytes:
//!   1 Format   type u8, level u8, index, lower, upper
//!   2 Insert   slot, key, value
//!   3 Replace  slot, bytes kept in front, bytes kept behind, middle
//!   4 Remove   slot
//!   5 Image    type u8, level u8, header and slots, heap
//!   6 Refence  lower, upper, entries kept
//!   7 Overflow next page, owning index, data
//! ```

use super::node::{CONTENT, MAX_KEY_LEN, Node, NodeMut, PageBytes};
use super::overflow;
use crate::error::Error;
use crate::pool::{PageBuf, page_type};
use crate::store::{OpTable, PageOp};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeOp<'a> {
    /// The page becomes an empty node.
    Format {
        page_type: u8,
        level: u8,
        index: u64,
        lower: &'a [u8],
        upper: &'a [u8],
    },
    Insert {
        slot: usize,
        key: &'a [u8],
        value: &'a [u8],
    },
    Replace {
        slot: usize,
        keep_front: usize,
        keep_back: usize,
        middle: &'a [u8],
    },
    Remove {
        slot: usize,
    },
    /// The page's whole content, see [`TreeOp::image`].
    Image {
        page_type: u8,
        level: u8,
        front: &'a [u8],
        heap: &'a [u8],
    },
    /// New fences; the first `keep` entries stay.
    Refence {
        lower: &'a [u8],
        upper: &'a [u8],
        keep: usize,
    },
    /// The page becomes one of an overflow chain.
    Overflow {
        next: u32,
        index: u64,
        data: &'a [u8],
    },
}

/// Teaches recovery the tree's changes.
pub fn register(table: &mut OpTable) {
    table.register(TreeOp::KIND, |arguments, page| {
        let op = TreeOp::decode(arguments)
            .ok_or_else(|| Error::corrupt(None, "the log holds a malformed tree op"))?;
        if op.suits(page) && op.change(page) {
            return Ok(());
        }
        Err(Error::corrupt(
            page.id(),
            "a change in the log does not fit the page, which is not of the moment that the log speaks of",
        ))
    });
}

impl PageOp for TreeOp<'_> {
    const KIND: u8 = 16;

    fn encode(&self, out: &mut Vec<u8>) {
        self.write(out);
    }

    fn apply(&self, page: &mut PageBuf) {
        let done = self.change(page);
        assert!(done, "no room for a change that was to have room: {self:?}");
    }
}

impl<'a> TreeOp<'a> {
    /// The operation that turns any page into this one.
    pub fn image(node: Node<'a>) -> TreeOp<'a> {
        let (front, heap) = node.stretches();
        TreeOp::Image {
            page_type: node.page_type(),
            level: node.level(),
            front,
            heap,
        }
    }

    /// The replacement of `old` by `new` that logs only what differs.
    pub fn replace(slot: usize, old: &[u8], new: &'a [u8]) -> TreeOp<'a> {
        let keep_front = super::node::common_prefix(old, new);
        let (old, rest) = (&old[keep_front..], &new[keep_front..]);
        let keep_back = super::node::common_suffix(old, rest);
        TreeOp::Replace {
            slot,
            keep_front,
            keep_back,
            middle: &rest[..rest.len() - keep_back],
        }
    }

    /// Whether it can be done to this page, which is whole, but may be of another moment than the one at which it was logged:
    /// a copy of the past that was taken for the page, or one that the disk has kept instead of what was written.
    fn suits(&self, page: &PageBytes) -> bool {
        let node = Node::new(page);
        let is_tree = node.page_type() == page_type::TREE;
        match *self {
            TreeOp::Format { lower, upper, .. } => lower.len().max(upper.len()) <= MAX_KEY_LEN,
            TreeOp::Insert { slot, key, .. } => is_tree && node.has_place_for(slot, key),
            TreeOp::Replace {
                slot,
                keep_front,
                keep_back,
                ..
            } => is_tree && slot < node.count() && keep_front + keep_back <= node.value(slot).len(),
            TreeOp::Remove { slot } => is_tree && slot < node.count(),
            TreeOp::Image { front, heap, .. } => front.len() + heap.len() <= CONTENT,
            TreeOp::Refence { lower, upper, keep } => is_tree && node.can_be_refenced(lower, upper, keep),
            TreeOp::Overflow { data, .. } => data.len() <= overflow::OVERFLOW_CAPACITY,
        }
    }

    /// Does it to the page; false, and nothing changed, if there is no room for it.
    #[must_use]
    pub fn change(&self, page: &mut PageBytes) -> bool {
        let mut node = NodeMut::new(page);
        match *self {
            TreeOp::Format {
                page_type,
                level,
                index,
                lower,
                upper,
            } => {
                node.format(page_type, level, index, lower, upper);
            }
            TreeOp::Insert { slot, key, value } => return node.insert(slot, key, value),
            TreeOp::Replace {
                slot,
                keep_front,
                keep_back,
                middle,
            } => {
                return node.replace(slot, keep_front, keep_back, middle);
            }
            TreeOp::Remove { slot } => node.remove(slot),
            TreeOp::Image {
                page_type,
                level,
                front,
                heap,
            } => node.restore(page_type, level, front, heap),
            TreeOp::Refence { lower, upper, keep } => node.refence(lower, upper, keep),
            TreeOp::Overflow { next, index, data } => overflow::format(page, next, index, data),
        }
        true
    }

    fn write(&self, out: &mut Vec<u8>) {
        match *self {
            TreeOp::Format {
                page_type,
                level,
                index,
                lower,
                upper,
            } => {
                out.extend([1, page_type, level]);
                put_number(out, index);
                put_bytes(out, lower);
                put_bytes(out, upper);
            }
            TreeOp::Insert { slot, key, value } => {
                out.push(2);
                put_number(out, slot as u64);
                put_bytes(out, key);
                put_bytes(out, value);
            }
            TreeOp::Replace {
                slot,
                keep_front,
                keep_back,
                middle,
            } => {
                out.push(3);
                put_number(out, slot as u64);
                put_number(out, keep_front as u64);
                put_number(out, keep_back as u64);
                put_bytes(out, middle);
            }
            TreeOp::Remove { slot } => {
                out.push(4);
                put_number(out, slot as u64);
            }
            TreeOp::Image {
                page_type,
                level,
                front,
                heap,
            } => {
                out.extend([5, page_type, level]);
                put_bytes(out, front);
                put_bytes(out, heap);
            }
            TreeOp::Refence { lower, upper, keep } => {
                out.push(6);
                put_bytes(out, lower);
                put_bytes(out, upper);
                put_number(out, keep as u64);
            }
            TreeOp::Overflow { next, index, data } => {
                out.push(7);
                put_number(out, u64::from(next));
                put_number(out, index);
                put_bytes(out, data);
            }
        }
    }

    /// Reads back what [`PageOp::encode`] wrote. `None` if the bytes are no operation.
    pub fn decode(bytes: &'a [u8]) -> Option<TreeOp<'a>> {
        let mut r = Reader { bytes };
        let op = match r.byte()? {
            1 => TreeOp::Format {
                page_type: r.byte()?,
                level: r.byte()?,
                index: r.number()?,
                lower: r.bytes()?,
                upper: r.bytes()?,
            },
            2 => TreeOp::Insert {
                slot: r.size()?,
                key: r.bytes()?,
                value: r.bytes()?,
            },
            3 => TreeOp::Replace {
                slot: r.size()?,
                keep_front: r.size()?,
                keep_back: r.size()?,
                middle: r.bytes()?,
            },
            4 => TreeOp::Remove { slot: r.size()? },
            5 => TreeOp::Image {
                page_type: r.byte()?,
                level: r.byte()?,
                front: r.bytes()?,
                heap: r.bytes()?,
            },
            6 => TreeOp::Refence {
                lower: r.bytes()?,
                upper: r.bytes()?,
                keep: r.size()?,
            },
            7 => TreeOp::Overflow {
                next: r.number()?.try_into().ok()?,
                index: r.number()?,
                data: r.bytes()?,
            },
            _ => return None,
        };
        r.bytes.is_empty().then_some(op)
    }
}

fn put_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(first)
    }

    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn size(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.size()?;
        let (bytes, rest) = self.bytes.split_at_checked(len)?;
        self.bytes = rest;
        Some(bytes)
    }
}
