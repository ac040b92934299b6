//! A damaged page: `check` finds the damage, or everything about the page can be read.

use super::node::{Node, NodeMut, PageBytes};
use super::op::TreeOp;
use crate::ids::PAGE_SIZE;
use crate::store::PageOp;
use tidemark_testing::fuzz::Corpus;

const LEAF: u8 = 3;

/// A leaf with some entries between two fences.
fn page() -> Box<PageBytes> {
    let mut page = Box::new([0; PAGE_SIZE]);
    let mut node = NodeMut::new(&mut page);
    node.format(LEAF, 0, 9, b"key", b"kez");
    for slot in 0..40 {
        let key = format!("key{slot:03}");
        assert!(node.insert(slot, key.as_bytes(), &[slot as u8; 20]));
    }
    page
}

/// An input is a list of damages: four bytes say where, among the header, the slots and the heap, and with which byte.
fn damage(page: &mut PageBytes, input: &[u8]) {
    for piece in input.chunks_exact(4) {
        let at = usize::from(u16::from_le_bytes([piece[0], piece[1]]));
        let at = match piece[2] % 3 {
            0 => 32 + at % 32,
            1 => 64 + at % (40 * 8),
            _ => PAGE_SIZE - 1 - at % 2000,
        };
        page[at] = piece[3];
    }
}

#[test]
fn pages_of_any_damage() {
    let whole = page();
    let corpus = Corpus::new("node")
        .input([8, 0, 0, 41])
        .input([4, 0, 1, 1, 12, 0, 1, 255])
        .input([0, 1, 2, 0, 9, 0, 2, 77]);
    corpus.play(20_000, |input| {
        let mut page = whole.clone();
        damage(&mut page, input);
        let node = Node::new(&page);
        if node.check().is_err() {
            return;
        }
        for slot in 0..node.count() {
            let (key, value) = node.entry(slot);
            assert!(node.covers(key) && value.len() <= PAGE_SIZE);
            if node.is_leaf() {
                assert_eq!(node.search(key), Ok(slot));
            }
        }
        let _ = (
            node.lower_fence(),
            node.upper_fence(),
            node.free_space(),
            node.used_by_entries(),
            node.upward_run(),
        );
    });
}

/// What the log says of a page is checked before it is done; reading it ends with an operation or with none.
#[test]
fn operations_of_any_bytes() {
    let encoded = |op: TreeOp| {
        let mut bytes = Vec::new();
        op.encode(&mut bytes);
        bytes
    };
    let corpus = Corpus::new("tree_op")
        .input(encoded(TreeOp::Insert {
            slot: 3,
            key: b"key",
            value: b"value",
        }))
        .input(encoded(TreeOp::Replace {
            slot: 1,
            keep_front: 2,
            keep_back: 3,
            middle: b"mid",
        }))
        .input(encoded(TreeOp::Remove { slot: 300 }))
        .input(encoded(TreeOp::Refence {
            lower: b"a",
            upper: b"b",
            keep: 7,
        }))
        .input(encoded(TreeOp::Overflow {
            next: 7,
            index: 8,
            data: b"data",
        }))
        .input(encoded(TreeOp::Format {
            page_type: LEAF,
            level: 0,
            index: 9,
            lower: b"",
            upper: b"z",
        }));
    corpus.play(20_000, |input| {
        if let Some(op) = TreeOp::decode(input) {
            assert_eq!(
                TreeOp::decode(&encoded(op)),
                Some(op),
                "it reads otherwise when written again"
            );
        }
    });
}
