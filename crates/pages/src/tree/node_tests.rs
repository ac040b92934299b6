//! The page against a model: whatever is done to it, it holds what a `BTreeMap` holds.

use std::collections::BTreeMap;

use super::node::{
    MAX_ENTRY_LEN, MAX_KEY_LEN, Node, NodeMut, PageBytes, Towards, common_prefix, common_suffix, entry_size,
    separator,
};
use super::op::TreeOp;
use super::racy::{ChildRef, RacyNode};
use super::testing::Random;
use crate::ids::PAGE_SIZE;
use crate::store::PageOp;

#[repr(align(4096))]
struct Page(PageBytes);

fn page() -> Box<Page> {
    Box::new(Page([0; PAGE_SIZE]))
}

/// Runs an operation the way redo does: through its encoding.
fn run(page: &mut PageBytes, op: TreeOp<'_>) -> bool {
    let mut bytes = Vec::new();
    op.encode(&mut bytes);
    let decoded = TreeOp::decode(&bytes).expect("an operation");
    assert_eq!(decoded, op);
    decoded.change(page)
}

fn agree(page: &PageBytes, model: &BTreeMap<Vec<u8>, Vec<u8>>) {
    let node = Node::new(page);
    assert_eq!(node.check(), Ok(()));
    assert_eq!(node.count(), model.len());
    for (slot, (key, value)) in model.iter().enumerate() {
        assert_eq!(node.entry(slot), (&key[..], &value[..]));
        assert_eq!(node.search(key), Ok(slot));
    }
    let used: usize = model.iter().map(|(k, v)| entry_size(k.len(), v.len())).sum();
    assert_eq!(node.used_by_entries(), used);
}

fn random_key(random: &mut Random, lower: &[u8], longest: usize) -> Vec<u8> {
    let mut key = lower.to_vec();
    for _ in 0..random.below(longest) {
        key.push(random.below(4) as u8);
    }
    key
}

#[test]
fn a_page_holds_what_the_model_holds() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let (lower, upper): (&[u8], &[u8]) =
            [(&b""[..], &b""[..]), (b"shared-a", b"shared-b"), (b"m", b"")][seed as usize % 3];
        let longest = [6, 40, 800][random.below(3)];
        let largest = [10, 300, 4000][random.below(3)];
        let mut page = page();
        let mut model = BTreeMap::new();
        assert!(run(
            &mut page.0,
            TreeOp::Format {
                page_type: 3,
                level: 0,
                index: 7,
                lower,
                upper
            }
        ));
        for step in 0..800 {
            let key = random_key(&mut random, lower, longest);
            let value = vec![random.below(256) as u8; random.below(largest)];
            let node = Node::new(&page.0);
            match (node.search(&key), random.below(10)) {
                (Err(slot), 0..8) => {
                    let fits = entry_size(key.len(), value.len()) <= node.free_space();
                    let done = run(
                        &mut page.0,
                        TreeOp::Insert {
                            slot,
                            key: &key,
                            value: &value,
                        },
                    );
                    assert_eq!(done, fits);
                    if done {
                        model.insert(key, value);
                    }
                }
                (Ok(slot), 0..6) => {
                    let old = node.value(slot).to_vec();
                    let mut new = old.clone();
                    new.splice(random.below(old.len() + 1).., value);
                    let fits = NodeMut::replace_fits(node, slot, new.len());
                    assert_eq!(run(&mut page.0, TreeOp::replace(slot, &old, &new)), fits);
                    if fits {
                        model.insert(key, new);
                    }
                }
                (Ok(slot), _) => {
                    assert!(run(&mut page.0, TreeOp::Remove { slot }));
                    model.remove(&key);
                }
                (Err(slot), _) => {
                    let below = model.range(..key.clone()).count();
                    assert_eq!(slot, below);
                }
            }
            if step % 50 == 0 {
                agree(&page.0, &model);
            }
        }
        agree(&page.0, &model);

        let mut copy = self::page();
        assert!(run(&mut copy.0, TreeOp::image(Node::new(&page.0))));
        agree(&copy.0, &model);

        let keep = model.len() / 2;
        if let Some(cut) = model.keys().nth(keep).cloned() {
            assert!(run(
                &mut page.0,
                TreeOp::Refence {
                    lower,
                    upper: &cut,
                    keep
                }
            ));
            model.split_off(&cut);
            agree(&page.0, &model);
        }
    }
}

#[test]
fn the_largest_entry_fits_between_the_longest_fences() {
    let mut page = page();
    let lower = vec![1; MAX_KEY_LEN];
    let mut upper = lower.clone();
    upper[MAX_KEY_LEN - 1] = 3;
    let mut key = lower.clone();
    key[MAX_KEY_LEN - 1] = 2;
    let value = vec![9; MAX_ENTRY_LEN - MAX_KEY_LEN];
    NodeMut::new(&mut page.0).format(3, 0, 1, &lower, &upper);
    assert!(NodeMut::new(&mut page.0).insert(0, &key, &value));
    assert_eq!(Node::new(&page.0).check(), Ok(()));
}

#[test]
fn keys_outside_the_fences_are_found_to_be_outside() {
    let mut page = page();
    NodeMut::new(&mut page.0).format(3, 0, 1, b"abca", b"abcz");
    assert!(NodeMut::new(&mut page.0).insert(0, b"abcd", b"1"));
    assert!(NodeMut::new(&mut page.0).insert(1, b"abce", b"2"));
    let node = Node::new(&page.0);
    for (key, place) in [
        ("", Err(0)),
        ("ab", Err(0)),
        ("abb", Err(0)),
        ("abd", Err(2)),
        ("b", Err(2)),
        ("abcd", Ok(0)),
    ] {
        assert_eq!(node.search(key.as_bytes()), place, "{key}");
    }
    assert!(!node.covers(b"abcz") && node.covers(b"abca"));
}

#[test]
fn an_optimistic_reader_finds_the_same_child_as_a_patient_one() {
    let mut random = Random::new(5);
    for (lower, upper) in [(&b""[..], &b""[..]), (b"xyz1", b"xyz9")] {
        let mut page = page();
        NodeMut::new(&mut page.0).format(3, 1, 1, lower, upper);
        assert!(NodeMut::new(&mut page.0).insert(0, b"", &0_u32.to_le_bytes()));
        for child in 1..200_u32 {
            let stem = if lower.is_empty() { &b""[..] } else { b"xyz5" };
            let key = [stem, &random_key(&mut random, b"", 30)].concat();
            let node = Node::new(&page.0);
            let above = node.child_slot(Towards::Key(&key));
            if key[..] > *lower && (above == 0 || node.key(above) != key) {
                assert!(NodeMut::new(&mut page.0).insert(above + 1, &key, &child.to_le_bytes()));
            }
        }
        assert_eq!(Node::new(&page.0).check(), Ok(()));
        // SAFETY: the page is aligned and outlives the reader.
        #[allow(unsafe_code)]
        let racy = unsafe { RacyNode::new(page.0.as_ptr()) };
        let node = Node::new(&page.0);
        for slot in 1..node.count() {
            for key in [node.key(slot).to_vec(), [node.key(slot), b"\0"].concat()] {
                for towards in [Towards::Key(&key), Towards::Below(&key), Towards::End] {
                    let slot = node.child_slot(towards);
                    let step = ChildRef {
                        slot,
                        count: node.count(),
                        child: node.child(slot),
                    };
                    assert_eq!(racy.step(towards), Ok(step));
                }
            }
            assert_eq!(node.child_slot(Towards::Key(node.key(slot))), slot);
            assert_eq!(node.child_slot(Towards::Below(node.key(slot))), slot - 1);
        }
    }
}

#[test]
fn an_optimistic_reader_survives_any_bytes() {
    let mut random = Random::new(11);
    for _ in 0..2000 {
        let mut page = page();
        for byte in page.0.iter_mut().take(64 + random.below(400)) {
            *byte = random.below(256) as u8;
        }
        // SAFETY: the page is aligned and outlives the reader.
        #[allow(unsafe_code)]
        let racy = unsafe { RacyNode::new(page.0.as_ptr()) };
        let key = random_key(&mut random, b"", 40);
        for towards in [Towards::Key(&key), Towards::Below(&key), Towards::End] {
            let _ = racy.step(towards);
        }
        let _ = Node::new(&page.0).check();
    }
}

#[test]
fn separators_are_short_and_separate() {
    for (left, right, cut) in [
        ("a", "b", "b"),
        ("abc", "abdzzz", "abd"),
        ("ab", "abc", "abc"),
        ("", "q", "q"),
    ] {
        assert_eq!(separator(left.as_bytes(), right.as_bytes()), cut.as_bytes());
    }
}

#[test]
fn common_ends_are_measured() {
    let mut random = Random::new(4);
    for _ in 0..2000 {
        let mut draw = || {
            (0..random.below(30))
                .map(|_| (random.below(12) == 0) as u8)
                .collect::<Vec<u8>>()
        };
        let (a, b) = (draw(), draw());
        let front = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
        let back = a
            .iter()
            .rev()
            .zip(b.iter().rev())
            .take_while(|(x, y)| x == y)
            .count();
        assert_eq!((common_prefix(&a, &b), common_suffix(&a, &b)), (front, back));
    }
}

#[test]
fn ascending_inserts_are_noticed() {
    let mut page = page();
    let mut node = NodeMut::new(&mut page.0);
    node.format(3, 0, 1, b"", b"");
    for n in 0..10_u8 {
        assert!(node.insert(n.into(), &[n], b""));
    }
    assert_eq!(node.node().upward_run(), (9, 9));
    assert!(node.insert(0, b"", b""));
    assert_eq!(node.node().upward_run(), (0, 0));
}
