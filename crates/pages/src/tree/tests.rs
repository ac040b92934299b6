//! The tree against a model.

use std::collections::{BTreeMap, HashSet};
use std::ops::Bound;
use std::sync::Arc;

use super::testing::{Random, TestStore, free_chain, write_chain};
use super::*;

/// Checks a tree and gathers what is in it.
#[derive(Default)]
pub(super) struct Gather {
    pub pages: HashSet<PageId>,
    pub leaves: usize,
    pub entries: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Visitor for Gather {
    type Error = Error;

    fn page(&mut self, page: PageId, level: u8) -> Result<()> {
        self.leaves += usize::from(level == 0);
        assert!(self.pages.insert(page), "page {page} is reached twice");
        Ok(())
    }

    fn entry(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.entries.insert(key.to_vec(), value.to_vec());
        Ok(())
    }
}

pub(super) fn gather(tree: &Tree) -> Gather {
    let mut all = Gather::default();
    tree.verify(&mut all).expect("a sound tree");
    all
}

pub(super) fn new_tree(store: &Arc<Store>) -> Tree {
    let mut mtr = store.begin_mtr().unwrap();
    let index = IndexId(9);
    let root = Tree::create(&mut mtr, index).unwrap();
    mtr.commit();
    Tree::new(store.clone(), index, root)
}

pub(super) fn forwards(tree: &Tree, from: &[u8]) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    tree.for_each(from, |key, _| {
        keys.push(key.to_vec());
        Ok(true)
    })
    .unwrap();
    keys
}

pub(super) fn backwards(tree: &Tree) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    let mut fence = Vec::new();
    let mut leaf = tree.read_last().unwrap();
    let mut count = leaf.node().count();
    loop {
        keys.extend((0..count).rev().map(|slot| leaf.node().key(slot).to_vec()));
        match leaf.previous(&mut fence).unwrap() {
            Some(previous) => (leaf, count) = previous,
            None => return keys,
        }
    }
}

fn held(tree: &Tree) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    let mut leaf = tree.read(b"").unwrap();
    loop {
        keys.extend((0..leaf.node().count()).map(|slot| leaf.node().key(slot).to_vec()));
        match leaf.next_held().unwrap() {
            NextLeaf::Leaf(next) => leaf = next,
            NextLeaf::End => return keys,
            NextLeaf::Busy => panic!("nobody else is here"),
        }
    }
}

fn random_bytes(random: &mut Random, longest: usize, alphabet: usize) -> Vec<u8> {
    // Most are short; now and then a long one.
    let longest = if random.below(8) == 0 {
        longest
    } else {
        longest.min(40)
    };
    (0..random.below(longest + 1))
        .map(|_| random.below(alphabet) as u8)
        .collect()
}

pub(super) fn agree(tree: &Tree, model: &BTreeMap<Vec<u8>, Vec<u8>>) -> Gather {
    let all = gather(tree);
    assert!(
        all.entries == *model,
        "the tree holds something else than the model"
    );
    let keys: Vec<_> = model.keys().cloned().collect();
    assert!(forwards(tree, b"") == keys);
    assert!(held(tree) == keys);
    assert!(backwards(tree).into_iter().rev().eq(keys));
    all
}

#[test]
fn a_tree_is_a_map() {
    for seed in 0..6 {
        let test = TestStore::new();
        let tree = new_tree(&test.store);
        let mut model = BTreeMap::new();
        let mut random = Random::new(seed);
        let (key_max, value_max) = [(12, 60), (3000, 4000), (200, 7000)][seed as usize % 3];
        let alphabet = [256, 3][seed as usize % 2];
        for step in 0..6000 {
            // Grow for two thirds, then shrink.
            let growing = step < 4000;
            let key = match (model.len(), random.below(4)) {
                (1.., 0) => {
                    let from = random_bytes(&mut random, key_max, alphabet);
                    model
                        .range(from..)
                        .next()
                        .map_or(Vec::new(), |(key, _): (&Vec<u8>, &Vec<u8>)| key.clone())
                }
                _ => random_bytes(&mut random, key_max, alphabet),
            };
            match random.below(10) {
                0..7 if growing => {
                    let value = random_bytes(&mut random, value_max.min(MAX_ENTRY_LEN - key.len()), 256);
                    tree.put(&key, &value).unwrap();
                    model.insert(key, value);
                }
                0..9 if !growing => {
                    let from = Bound::Included(key.clone());
                    let key = model
                        .range((from, Bound::Unbounded))
                        .next()
                        .map_or(key, |(key, _)| key.clone());
                    assert_eq!(tree.delete(&key).unwrap().is_some(), model.remove(&key).is_some());
                }
                9 => assert_eq!(tree.delete(&key).unwrap().is_some(), model.remove(&key).is_some()),
                _ => assert_eq!(
                    tree.read(&key).unwrap().get(&key),
                    model.get(&key).map(|v| &v[..])
                ),
            }
            if step % 1500 == 0 {
                let from = random_bytes(&mut random, key_max, alphabet);
                let expected: Vec<_> = model.range(from.clone()..).map(|(key, _)| key.clone()).collect();
                assert!(forwards(&tree, &from) == expected);
                agree(&tree, &model);
            }
        }
        let all = agree(&tree, &model);
        assert_eq!(test.pages_in_use(), all.pages.len());
        let keys: Vec<_> = model.keys().cloned().collect();
        for key in keys {
            assert!(tree.delete(&key).unwrap().is_some());
        }
        let all = agree(&tree, &BTreeMap::new());
        assert_eq!(test.pages_in_use(), all.pages.len());
        assert_eq!(all.pages.len(), 1, "an empty tree is a root");
    }
}

fn number(n: u64) -> [u8; 8] {
    n.to_be_bytes()
}

#[test]
fn ascending_loads_fill_their_pages() {
    let test = TestStore::new();
    let tree = new_tree(&test.store);
    // Two ascending streams: the end of the tree, and somewhere in its middle.
    for n in 0..20_000 {
        tree.put(&number(n), &[1; 100]).unwrap();
        tree.put(&number(n + (1 << 40)), &[1; 100]).unwrap();
    }
    let all = gather(&tree);
    assert_eq!(all.entries.len(), 40_000);
    let least = 40_000 * entry_size(8, 100) / node::CAPACITY;
    assert!(
        all.leaves <= least * 110 / 100 + 2,
        "{} leaves, {least} would do",
        all.leaves
    );
}

#[test]
fn appending_is_loading() {
    for value_len in [10, 1000, 7000] {
        let test = TestStore::new();
        let tree = new_tree(&test.store);
        let mut model = BTreeMap::new();
        for round in 0..3 {
            let mut append = tree.append().unwrap();
            for n in 0..4000 / (value_len as u64 / 100 + 1) {
                let mut key = number(round << 32 | n).to_vec();
                key.extend(vec![7; (n % 50) as usize]);
                append.push(&key, &vec![3; value_len]).unwrap();
                model.insert(key, vec![3; value_len]);
            }
            append.finish().unwrap();
            agree(&tree, &model);
        }
        tree.put(b"", b"first").unwrap();
        model.insert(vec![], b"first".to_vec());
        agree(&tree, &model);
        assert_eq!(test.pages_in_use(), gather(&tree).pages.len());
    }
}

#[test]
fn appending_long_keys_falls_back_when_the_last_leaf_has_no_room_for_a_fence() {
    let test = TestStore::new();
    let tree = new_tree(&test.store);
    let mut key = vec![5; 3000];
    let mut model = BTreeMap::new();
    for n in 0..5_u8 {
        key[2999] = n;
        let value = if n < 4 { vec![n; 900] } else { vec![n; 700] };
        tree.put(&key, &value).unwrap();
        model.insert(key.clone(), value);
    }
    let mut append = tree.append().unwrap();
    for n in 5..40_u8 {
        key[2999] = n;
        append.push(&key, &[n; 500]).unwrap();
        model.insert(key.clone(), vec![n; 500]);
    }
    append.finish().unwrap();
    agree(&tree, &model);
}

#[test]
fn entries_too_large_are_refused() {
    let test = TestStore::new();
    let tree = new_tree(&test.store);
    let refused = |key: usize, value: usize| {
        matches!(
            tree.put(&vec![1; key], &vec![2; value]),
            Err(Error::TooLarge { .. })
        )
    };
    assert!(refused(MAX_KEY_LEN + 1, 0));
    assert!(refused(10, MAX_ENTRY_LEN - 9));
    assert!(!refused(MAX_KEY_LEN, MAX_ENTRY_LEN - MAX_KEY_LEN));
}

#[test]
fn estimates_are_near() {
    let test = TestStore::new();
    let tree = new_tree(&test.store);
    assert_eq!(tree.estimate_all().unwrap(), 0);
    let mut random = Random::new(3);
    let mut keys = BTreeMap::new();
    while keys.len() < 50_000 {
        let n = random.next() >> 40;
        tree.put(&number(n), &[0; 50]).unwrap();
        keys.insert(n, ());
    }
    let near = |estimate: u64, truth: u64| {
        assert!(
            estimate.abs_diff(truth) <= truth / 2 + 20,
            "{estimate} for {truth}"
        );
    };
    near(tree.estimate_all().unwrap(), 50_000);
    near(tree.estimate_range(b"", b"").unwrap(), 50_000);
    for _ in 0..50 {
        let from = random.next() >> 40;
        let width = 1 << (10 + random.below(14));
        let to = from + random.below(width) as u64;
        let truth = keys.range(from..to).count() as u64;
        near(tree.estimate_range(&number(from), &number(to)).unwrap(), truth);
    }
    assert_eq!(tree.estimate_range(&number(7), &number(7)).unwrap(), 0);
}

#[test]
fn sampled_leaves_are_spread_in_order() {
    let test = TestStore::new();
    let tree = new_tree(&test.store);
    let firsts = |tree: &Tree, count| {
        let mut keys = Vec::new();
        let all = tree.sample_leaves(count, |leaf, _| {
            keys.extend((leaf.count() > 0).then(|| leaf.key(0).to_vec()))
        });
        (keys, all.unwrap())
    };
    assert_eq!(firsts(&tree, 20), (Vec::new(), true));
    let mut n = 0u64;
    while tree.estimate_leaves().unwrap() < 10 {
        tree.put(&number(n), &[0; 50]).unwrap();
        n += 1;
    }
    let (keys, all) = firsts(&tree, 20);
    assert!(all && keys.len() == 10 && keys.is_sorted(), "{}", keys.len());
    assert_eq!(tree.leaves_added(), 9);
    while n < 100_000 {
        tree.put(&number(n), &[0; 200]).unwrap();
        n += 1;
    }
    let (keys, all) = firsts(&tree, 20);
    assert!(!all && keys.len() == 20 && keys.is_sorted(), "{}", keys.len());
    let mut leaves = 0.0;
    tree.sample_leaves(20, |_, stands_for| leaves += stands_for)
        .unwrap();
    let truth = tree.leaves_added() as f64;
    assert!(
        leaves > truth / 2.0 && leaves < truth * 2.0,
        "{leaves} leaves, not {truth}"
    );
}

#[test]
fn a_scattered_sample_is_the_same_in_another_order() {
    let test = TestStore::new();
    let tree = new_tree(&test.store);
    for n in 0..50_000u64 {
        tree.put(&number(n), &[0; 200]).unwrap();
    }
    for count in [1, 2, 30, 97] {
        let firsts = |mut sample: LeafSample| {
            let mut keys = Vec::new();
            let mut visit = |leaf: Node<'_>, _: f64| keys.push(leaf.key(0).to_vec());
            while tree.sample_leaf(&mut sample, &mut visit).unwrap() {}
            assert_eq!(sample.visited(), count);
            keys
        };
        let ordered = firsts(LeafSample::in_order(count));
        let mut scattered = firsts(LeafSample::scattered(count));
        let first_ten: Vec<_> = scattered.iter().take(10).collect();
        let middle = &ordered[count / 2];
        let below = first_ten.iter().filter(|key| **key < middle).count();
        assert!(count < 20 || (3..=7).contains(&below), "{below}");
        scattered.sort();
        assert_eq!(ordered, scattered);
    }
}

#[test]
fn overflow_chains_keep_large_values() {
    let test = TestStore::new();
    let tree = new_tree(&test.store);
    let overflow = tree.overflow();
    for len in [0, 1, OVERFLOW_CAPACITY, OVERFLOW_CAPACITY + 1, 100_000] {
        let value: Vec<u8> = (0..len).map(|n| (n * 7) as u8).collect();
        let before = test.pages_in_use();
        let first = write_chain(&tree, &value);
        let mut read = Vec::new();
        overflow.read(first, &mut read).unwrap();
        assert!(read == value);
        let mut seen = 0;
        let mut count = |_| {
            seen += 1;
            Ok(())
        };
        assert_eq!(
            verify_overflow::<Error>(tree.pool(), tree.index(), first, &mut count).unwrap(),
            len as u64
        );
        assert_eq!(test.pages_in_use(), before + seen);
        free_chain(&tree, first);
        assert_eq!(test.pages_in_use(), before);
    }
    assert!(
        overflow.read(tree.root(), &mut Vec::new()).is_err(),
        "a tree page is no overflow page"
    );
}

#[test]
fn a_dropped_tree_leaves_only_its_root() {
    let test = TestStore::new();
    let tree = new_tree(&test.store);
    let mut random = Random::new(1);
    for n in 0..5000_u64 {
        let mut value = vec![0; random.below(300)];
        value.splice(..0, [0; 4]);
        if n % 100 == 0 {
            let first = write_chain(&tree, &vec![1; random.below(200_000)]);
            value[..4].copy_from_slice(&first.0.to_le_bytes());
        }
        tree.put(&number(random.next()), &value).unwrap();
    }
    assert!(test.pages_in_use() > 300);
    let chains = |_: &[u8], value: &[u8], chains: &mut Vec<PageId>| {
        let first = u32::from_le_bytes(value[..4].try_into().unwrap());
        chains.extend((first != 0).then_some(PageId(first)));
    };
    let (before, mut steps) = (test.pages_in_use(), 0);
    let some = tree.free_all(chains, || {
        steps += 1;
        steps < 10
    });
    assert!(!some.unwrap() && steps == 10);
    let left = test.pages_in_use();
    assert!(1 < left && left < before, "{left} of {before} pages are left");
    assert!(tree.free_all(chains, || true).unwrap());
    assert_eq!(test.pages_in_use(), 1);
    agree(&tree, &BTreeMap::new());
}

/// A tree whose freeing was cut short ends sooner than its fences say, which is no damage.
#[test]
fn a_tree_that_is_freed_in_part_is_sound_as_a_dropped_one() {
    struct Dropped(usize);
    impl Visitor for Dropped {
        type Error = Error;
        fn page(&mut self, _: PageId, _: u8) -> Result<()> {
            self.0 += 1;
            Ok(())
        }
        fn entry(&mut self, _: &[u8], _: &[u8]) -> Result<()> {
            Ok(())
        }
        fn is_dropped(&self) -> bool {
            true
        }
    }
    let test = TestStore::new();
    let tree = new_tree(&test.store);
    for n in 0..20_000_u64 {
        tree.put(&number(n), &[7; 300]).unwrap();
    }
    let (mut firsts, mut pages) = (Vec::new(), Vec::new());
    loop {
        let mut seen = Dropped(0);
        tree.verify(&mut seen).unwrap();
        assert_eq!(test.pages_in_use(), seen.0);
        if tree
            .free_last(&mut |_, _, _| (), &mut firsts, &mut pages)
            .unwrap()
        {
            break;
        }
        let whole = tree.verify(&mut Gather::default());
        assert!(whole.is_err() || seen.0 < 4, "in a table it would be damage");
    }
    assert_eq!(test.pages_in_use(), 1);
}

/// Every kind of damage that a checksum cannot see is found, and the page is named.
#[test]
fn verify_finds_what_is_wrong() {
    let filled = || {
        let test = TestStore::new();
        let tree = new_tree(&test.store);
        for n in 0..3000 {
            tree.put(&number(n), &[1; 60]).unwrap();
        }
        let leaf = tree
            .descend(Towards::Key(&number(1500)), 0, Patience::Wait)
            .unwrap()
            .unwrap()
            .page;
        (test, tree, leaf)
    };
    let (page_type, level) = (page_type::TREE, 0);
    let damages: [(&str, TreeOp<'_>); 5] = [
        (
            "the fences differ",
            TreeOp::Refence {
                lower: b"",
                upper: b"",
                keep: 3,
            },
        ),
        (
            "a page of another tree",
            TreeOp::Format {
                page_type,
                level,
                index: 8,
                lower: b"",
                upper: b"",
            },
        ),
        (
            "a page of another level",
            TreeOp::Format {
                page_type,
                level: 1,
                index: 9,
                lower: b"",
                upper: b"",
            },
        ),
        (
            "not a tree page",
            TreeOp::Overflow {
                next: 0,
                index: 9,
                data: b"",
            },
        ),
        (
            "a key lies outside",
            TreeOp::Insert {
                slot: 0,
                key: b"\xff",
                value: b"",
            },
        ),
    ];
    for (what, damage) in damages {
        let (test, tree, leaf) = filled();
        gather(&tree);
        let mut mtr = test.store.begin_mtr().unwrap();
        let page = mtr.add(test.store.pool().exclusive(leaf).unwrap());
        mtr.apply(page, &damage);
        mtr.commit();
        let found = tree.verify(&mut Gather::default()).expect_err(what).to_string();
        assert!(
            found.contains(what) && found.contains(&leaf.to_string()),
            "{found} instead of {what}"
        );
    }
}

/// A value of some 700 MB outside its leaf is more pages than one mini-transaction may free.
#[test]
fn an_entry_with_more_outside_than_a_record_takes_is_freed_in_pieces() {
    let test = TestStore::new();
    let store = &test.store;
    let mut mtr = store.begin_mtr().unwrap();
    let root = Tree::create(&mut mtr, IndexId(1)).unwrap();
    mtr.commit();
    let tree = Tree::new(store.clone(), IndexId(1), root);
    let mut first = PageId::NONE;
    for _ in 0..45_000 {
        let mut mtr = store.begin_mtr().unwrap();
        first = tree.overflow().write_page(&mut mtr, first, b"piece").unwrap();
        mtr.commit();
    }
    tree.put(b"key", &first.0.to_le_bytes()).unwrap();
    tree.put(b"other", &PageId::NONE.0.to_le_bytes()).unwrap();
    let firsts = |_: &[u8], value: &[u8], firsts: &mut Vec<PageId>| {
        firsts.push(PageId(u32::from_le_bytes(value.try_into().unwrap())));
    };
    assert!(tree.free_all(firsts, || true).unwrap());
    assert_eq!(test.pages_in_use(), 1, "the root is left");
}

/// A chain that leads to a page freed already: an error, with nothing changed, however much of it was good.
#[test]
fn a_damaged_chain_is_not_freed_half() {
    let test = TestStore::new();
    let store = &test.store;
    let mut mtr = store.begin_mtr().unwrap();
    let root = Tree::create(&mut mtr, IndexId(1)).unwrap();
    mtr.commit();
    let tree = Tree::new(store.clone(), IndexId(1), root);
    let (mut first, mut pages) = (PageId::NONE, Vec::new());
    for _ in 0..5 {
        let mut mtr = store.begin_mtr().unwrap();
        first = tree.overflow().write_page(&mut mtr, first, b"piece").unwrap();
        mtr.commit();
        pages.push(first);
    }
    tree.put(b"key", &first.0.to_le_bytes()).unwrap();
    let mut mtr = store.begin_mtr().unwrap();
    mtr.free_page(pages[0]).unwrap();
    mtr.commit();
    let before = test.pages_in_use();
    for _ in 0..2 {
        let firsts = |_: &[u8], value: &[u8], firsts: &mut Vec<PageId>| {
            firsts.push(PageId(u32::from_le_bytes(value.try_into().unwrap())));
        };
        let freed = tree.free_all(firsts, || true);
        assert!(matches!(freed, Err(Error::Corrupt { .. })), "{freed:?}");
        assert_eq!(test.pages_in_use(), before);
    }
}
