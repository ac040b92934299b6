//! The tree under threads, under a pool too small for it, and under power cuts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use super::testing::{Random, TestStore, ops, used_pages};
use super::tests::{agree, backwards, forwards, gather, new_tree};
use super::*;
use crate::disk::sim::{Faults, SimDisk};

/// Every thread owns the keys whose first byte is its number modulo the threads, but all share the leaves: each sees
/// its own keys exactly as it left them, and scans see every key that no thread touches, once and in order.
fn crowd(test: &TestStore, steps: usize, value_max: usize) {
    const THREADS: usize = 8;
    let tree = new_tree(&test.store);
    let fixed: Vec<Vec<u8>> = (0..2000_u32)
        .map(|n| [&(n * 13_007).to_be_bytes()[..], b"!"].concat())
        .collect();
    for key in &fixed {
        tree.put(key, &[5; 40]).unwrap();
    }
    let done = AtomicBool::new(false);
    let mut model = BTreeMap::new();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let tree = &tree;
                scope.spawn(move || {
                    let mut random = Random::new(thread as u64 + 100);
                    let mut own = BTreeMap::new();
                    for step in 0..steps {
                        let mut key = ((random.below(2000 * 13_007)) as u32).to_be_bytes().to_vec();
                        key.push(thread as u8);
                        if step % 3 == 0
                            && let Some((k, _)) = own.range(key.clone()..).next()
                        {
                            key.clone_from(k);
                        }
                        // Two phases of growth, two of decay.
                        let growing = step % (steps / 2) < steps / 4;
                        match random.below(10) {
                            0..6 if growing => {
                                let long = if random.below(50) == 0 { 3000 } else { value_max };
                                let value = vec![step as u8; random.below(long)];
                                tree.put(&key, &value).unwrap();
                                own.insert(key, value);
                            }
                            0..8 => {
                                let key = own.range(key.clone()..).next().map_or(key, |(k, _)| k.clone());
                                assert_eq!(tree.delete(&key).unwrap().is_some(), own.remove(&key).is_some());
                            }
                            _ => {
                                assert_eq!(tree.read(&key).unwrap().get(&key), own.get(&key).map(|v| &v[..]));
                            }
                        }
                    }
                    own
                })
            })
            .collect();
        for backward in [false, true] {
            let (tree, fixed, done) = (&tree, &fixed, &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let mut keys = if backward {
                        backwards(tree)
                    } else {
                        forwards(tree, b"")
                    };
                    if backward {
                        keys.reverse();
                    }
                    assert!(keys.is_sorted_by(|a, b| a < b), "a scan saw keys out of order");
                    keys.retain(|key| key.last() == Some(&b'!'));
                    assert!(keys == *fixed, "a scan lost or repeated keys");
                }
            });
        }
        let (tree_ref, done_ref) = (&tree, &done);
        scope.spawn(move || {
            // Holds one leaf while taking the next, with an exclusive latch now and then.
            let mut random = Random::new(77);
            while !done_ref.load(Ordering::Relaxed) {
                let key = (random.below(2000 * 13_007) as u32).to_be_bytes();
                let leaf = tree_ref.write(&key).unwrap();
                if let NextLeaf::Leaf(next) = leaf.next_held().unwrap() {
                    assert_eq!(leaf.node().upper_fence(), next.node().lower_fence());
                    if let NextLeaf::Leaf(third) = next.next_held().unwrap() {
                        assert_eq!(next.node().upper_fence(), third.node().lower_fence());
                    }
                }
                drop(leaf);
                tree_ref.estimate_range(&key, b"").unwrap();
            }
        });
        let results: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        done.store(true, Ordering::Relaxed);
        for result in results {
            model.extend(result.expect("a writer failed"));
        }
    });
    model.extend(fixed.into_iter().map(|key| (key, vec![5; 40])));
    let all = agree(&tree, &model);
    assert_eq!(test.pages_in_use(), all.pages.len());
}

#[test]
fn threads_do_not_disturb_each_other() {
    crowd(&TestStore::new(), 20_000, 150);
}

#[test]
fn threads_do_not_disturb_each_other_in_a_pool_too_small_for_the_tree() {
    let test = TestStore::with_pool(96);
    crowd(&test, 6_000, 2000);
    assert!(
        test.store.status().pool.evictions > 1000,
        "the tree fitted into the pool"
    );
}

/// All threads want the same few leaves at the tree's right edge.
#[test]
fn threads_append_to_one_edge() {
    const THREADS: u64 = 8;
    const EACH: u64 = 5000;
    let test = TestStore::new();
    let tree = new_tree(&test.store);
    let next = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..EACH {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    tree.put(&n.to_be_bytes(), &[7; 120]).unwrap();
                }
            });
        }
    });
    let all = gather(&tree);
    assert!(
        all.entries
            .keys()
            .cloned()
            .eq((0..THREADS * EACH).map(|n| n.to_be_bytes().to_vec()))
    );
    let least = (THREADS * EACH) as usize * entry_size(8, 120) / node::CAPACITY;
    assert!(
        all.leaves <= least * 115 / 100,
        "{} leaves, {least} would do",
        all.leaves
    );
}

/// One step of a history: what a key became at which point in the log.
struct Step {
    end: crate::ids::Lsn,
    key: Vec<u8>,
    value: Option<Vec<u8>>,
}

/// Changes a tree until the power fails; returns what was done, in order.
fn work_until_dark(tree: &Tree, seed: u64) -> Vec<Step> {
    let mut random = Random::new(seed);
    let mut history = Vec::new();
    for step in 0..1_000_000_usize {
        let key_len = if random.below(20) == 0 {
            random.below(1500)
        } else {
            4
        };
        let mut key = (random.below(60_000) as u32).to_be_bytes().to_vec();
        key.resize(4 + key_len, 0xa5);
        let done = if random.below(10) < if step % 4000 < 2500 { 7 } else { 2 } {
            let value = vec![step as u8; random.below(400)];
            tree.put(&key, &value).map(|lsn| Some((lsn, Some(value))))
        } else {
            // Deletes something present, near the key.
            let mut found = None;
            let looked = tree.for_each(&key, |key, _| {
                found = Some(key.to_vec());
                Ok(false)
            });
            key = found.unwrap_or(key);
            looked
                .and_then(|()| tree.delete(&key))
                .map(|lsn| lsn.map(|lsn| (lsn, None)))
        };
        match done {
            Ok(Some((lsn, value))) => history.push(Step {
                end: lsn.end,
                key,
                value,
            }),
            Ok(None) => {}
            Err(_) => break,
        }
        if step % 100 == 0 && tree.store.log().flush(tree.store.log().tail()).is_err() {
            break;
        }
    }
    history
}

/// Wherever the power fails, what comes back is a sound tree that holds exactly what the log held up to its end, and
/// the log's end is not before what was flushed.
#[test]
fn a_power_cut_leaves_a_sound_tree() {
    for seed in 0..24 {
        let disk = SimDisk::new(seed);
        let (store, _) = Store::on_sim(&disk, 128, ops()).unwrap();
        let tree = new_tree(&store);
        store.log().flush_all().unwrap();
        disk.set_faults(Faults {
            power_cut_in: Some(20 + seed * seed % 577 * 3),
            ..Faults::default()
        });
        let mut history = Vec::new();
        std::thread::scope(|scope| {
            let spawn = |thread| {
                scope.spawn({
                    let tree = &tree;
                    move || work_until_dark(tree, seed * 10 + thread)
                })
            };
            let workers: Vec<_> = (0..1 + seed % 4).map(spawn).collect();
            workers
                .into_iter()
                .for_each(|worker| history.extend(worker.join().unwrap()));
        });
        // The log's order is the order: a page's changes are recorded under its latch.
        history.sort_by_key(|step| step.end);
        let flushed = store.log().flushed();
        assert!(disk.is_dead(), "the power did not fail");
        let (index, root) = (tree.index(), tree.root());
        drop(tree);
        drop(store);

        // Fail again during recovery, now and then.
        let mut disk = disk.restart();
        if seed % 3 == 0 {
            disk.set_faults(Faults {
                power_cut_in: Some(1 + seed),
                ..Faults::default()
            });
            let _ = Store::on_sim(&disk, 128, ops());
            disk.cut_power();
            disk = disk.restart();
        }
        let (store, recovered) = Store::on_sim(&disk, 128, ops()).unwrap();
        assert!(recovered.end >= flushed, "the log lost {flushed}");
        history.retain(|step| step.end <= recovered.end);
        let mut model = BTreeMap::new();
        for step in history {
            match step.value {
                Some(value) => model.insert(step.key, value),
                None => model.remove(&step.key),
            };
        }
        let tree = Tree::new(store.clone(), index, root);
        let all = agree(&tree, &model);
        // Superblock, bitmap, and the tree: nothing leaked.
        assert_eq!(used_pages(&store), 2 + all.pages.len());
        for n in 0..200_u32 {
            tree.put(&n.to_be_bytes(), b"and on it goes").unwrap();
        }
        gather(&tree);
    }
}
