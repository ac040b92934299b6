//! What the tree and the log cost, on a simulated disk, so that nothing but the processor is measured.
//!
//! ```sh
//! cargo bench -p tidemark-pages --bench pages
//! ```

use std::hint::black_box;
use std::sync::Arc;
use tidemark_pages::disk::sim::SimDisk;
use tidemark_pages::ids::IndexId;
use tidemark_pages::store::{OpTable, Store, StoreConfig};
use tidemark_pages::tree::{self, Tree};
use tidemark_testing::Random;
use tidemark_testing::bench::{line, time};

const VALUE: [u8; 100] = [b'v'; 100];

fn store() -> Arc<Store> {
    let mut ops = OpTable::new();
    tree::register(&mut ops);
    let mut config = StoreConfig::new(Arc::new(SimDisk::new(1)));
    config.pool_pages = 16 << 10;
    config.log_capacity_bytes = 256 << 20;
    config.flush_at_trx_commit = 0;
    Store::open(config, ops).expect("a store").0
}

fn tree(store: &Arc<Store>, entries: u64) -> Tree {
    let mut mtr = store.begin_mtr().expect("a mini-transaction");
    let root = Tree::create(&mut mtr, IndexId(1)).expect("a tree");
    mtr.commit();
    let tree = Tree::new(store.clone(), IndexId(1), root);
    for n in 0..entries {
        tree.put(&n.to_be_bytes(), &VALUE).expect("an entry");
    }
    tree
}

fn trees() {
    for entries in [1_000, 100_000, 500_000] {
        let store = store();
        let tree = tree(&store, entries);
        let mut random = Random::new(1);
        let mut key = || (random.below(entries as usize) as u64).to_be_bytes();
        let took = time(50_000, || {
            let key = key();
            let leaf = tree.read(&key).expect("a leaf");
            assert!(black_box(leaf.get(&key)).is_some());
        });
        line("look a key up; entries:", entries as usize, took);
        let took = time(20_000, || {
            tree.put(&key(), &VALUE).expect("an entry");
        });
        line("replace a value; entries:", entries as usize, took);
        let took = time(20_000, || {
            let key = [&key()[..], b"x"].concat();
            tree.put(&key, &VALUE).expect("an entry");
            tree.delete(&key).expect("no error").expect("an entry");
        });
        line("insert a key and delete it; entries:", entries as usize, took);
        let took = time(1, || {
            let mut seen = 0;
            tree.for_each(&[], |_, value| {
                seen += value.len();
                Ok(true)
            })
            .expect("a scan");
            black_box(seen);
        });
        line("scan all entries:", entries as usize, took);
    }
}

fn log() {
    for len in [16, 100, 1_000, 8_000] {
        let store = store();
        let tree = tree(&store, 100);
        let value = vec![b'v'; len];
        let mut n = 0u8;
        let took = time(20_000, || {
            n = n.wrapping_add(1);
            let mut value = value.clone();
            value.fill(n);
            tree.put(&7u64.to_be_bytes(), &value).expect("an entry");
        });
        line("log a change and apply it; bytes changed:", len, took);
        let took = time(2_000, || {
            let lsn = tree.put(&7u64.to_be_bytes(), &value).expect("an entry");
            store.log().flush(lsn.end).expect("a flush");
        });
        line("... and write and sync it:", len, took);
    }
}

fn main() {
    trees();
    log();
}
