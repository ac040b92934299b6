//! Damage in pages that no statement reads is found where it lies, and told of once, with its table.

mod common;

use common::*;
use std::sync::{Arc, Mutex};
use tidemark_engine::disk::sim::SimDisk;
use tidemark_engine::disk::{Access, Disk};
use tidemark_engine::*;

#[test]
fn damage_is_found_once_and_forgotten_when_it_is_mended() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    engine.set_scrub_rate(0);
    let found: Arc<Mutex<Vec<Damage>>> = Arc::default();
    let told = found.clone();
    engine.set_on_damage(move |damage| told.lock().unwrap().push(*damage));
    let table = create(&engine, &schema());
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    for id in 0..1000 {
        table
            .insert(&mut txn, &Row::new(id, id, &"q".repeat(500)).datums())
            .unwrap();
    }
    txn.commit().unwrap();
    let pass = || {
        let passes = engine.scrub_status().passes;
        while engine.scrub_status().passes == passes {
            engine.scrub(50).unwrap();
        }
    };
    while engine.status().pool_pages_dirty > 0 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    pass();
    assert!(found.lock().unwrap().is_empty());
    let data = disk.open("data", false, Access::Direct).unwrap();
    let mut page = vec![0; PAGE_SIZE];
    let damaged = (2..data.len().unwrap() / PAGE_SIZE as u64).find(|n| {
        data.read_at(&mut page, n * PAGE_SIZE as u64).unwrap();
        page[12_000..].starts_with(b"qqqq")
    });
    let damaged = damaged.unwrap();
    data.write_at(b"damage", damaged * PAGE_SIZE as u64 + 12_000)
        .unwrap();
    pass();
    pass();
    let expected = Damage {
        page: PageId(damaged as u32),
        table: Some(table.id()),
    };
    assert_eq!(*found.lock().unwrap(), [expected]);
    assert_eq!(engine.scrub_status().damaged, 1);
    data.write_at(b"qqqqqq", damaged * PAGE_SIZE as u64 + 12_000)
        .unwrap();
    pass();
    assert_eq!(engine.scrub_status().damaged, 0);
    assert!(engine.free_bytes() > 0 && engine.scrub_status().verified > 200);
}
