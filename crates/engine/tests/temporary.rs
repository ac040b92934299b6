//! Temporary tables: they roll back as others do, take nothing of the catalog, and leave nothing behind.

mod common;

use common::*;
use std::time::{Duration, Instant};
use tidemark_engine::disk::sim::SimDisk;
use tidemark_engine::*;

/// [`schema`] without the index on its text, which may be long here.
fn temporary_schema() -> TableSchema {
    let mut schema = schema();
    schema.secondary.pop();
    schema
}

fn make(engine: &Engine) -> TableId {
    let mut ddl = engine.temporary_ddl().unwrap();
    let id = ddl.create_table(&temporary_schema()).unwrap();
    ddl.commit().unwrap();
    id
}

/// Rows of which every third is too long for its page.
fn fill(table: &Table, txn: &mut Transaction, ids: std::ops::Range<i64>) {
    for id in ids {
        let text = "long".repeat(if id % 3 == 0 { 20_000 } else { 3 });
        table.insert(txn, &Row::new(id, id, &text).datums()).unwrap();
    }
}

fn used_pages(engine: &Engine) -> u64 {
    let status = engine.status();
    status.data_file_pages - status.data_file_pages_free
}

/// Waits until no more pages are in use than before.
fn wait_until_freed(engine: &Engine, before: u64) {
    let until = Instant::now() + Duration::from_secs(20);
    while used_pages(engine) > before {
        assert!(
            Instant::now() < until,
            "{} pages, {before} before",
            used_pages(engine)
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn rows_roll_back_and_the_table_stays() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    txn.consistent_snapshot().unwrap();
    let table = engine.table(make(&engine)).unwrap();
    // A view from before the table was made reads it.
    fill(&table, &mut txn, 0..10);
    assert_eq!(all(&table, &mut txn).len(), 10);
    let savepoint = txn.savepoint();
    fill(&table, &mut txn, 10..20);
    delete(&table, &mut txn, 3).unwrap();
    txn.rollback_to(&savepoint).unwrap();
    assert_eq!(all(&table, &mut txn).len(), 10);
    txn.rollback().unwrap();
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    assert_eq!(all(&table, &mut txn).len(), 0);
    fill(&table, &mut txn, 0..5);
    txn.commit().unwrap();
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    assert_eq!(all(&table, &mut txn).len(), 5);
    let by_k = rows(&table, &mut txn, 1, &KeyRange::all(), true, Read::Consistent);
    assert_eq!(by_k.unwrap().len(), 5);
    txn.rollback().unwrap();
}

#[test]
fn dropping_gives_the_pages_back() {
    let disk = SimDisk::new(2);
    let engine = open(&disk);
    let before = used_pages(&engine);
    for _ in 0..3 {
        let id = make(&engine);
        let mut txn = begin(&engine, Isolation::RepeatableRead);
        fill(&engine.table(id).unwrap(), &mut txn, 0..200);
        txn.commit().unwrap();
        let mut ddl = engine.temporary_ddl().unwrap();
        let emptied = ddl.truncate(id).unwrap();
        ddl.commit().unwrap();
        let mut txn = begin(&engine, Isolation::RepeatableRead);
        fill(&engine.table(emptied).unwrap(), &mut txn, 0..50);
        txn.commit().unwrap();
        let mut ddl = engine.temporary_ddl().unwrap();
        ddl.drop_table(emptied).unwrap();
        ddl.commit().unwrap();
        assert!(matches!(engine.table(id), Err(Error::NoSuchTable)));
        assert!(matches!(engine.table(emptied), Err(Error::NoSuchTable)));
    }
    assert!(engine.temporary_tables().is_empty());
    wait_until_freed(&engine, before);
    engine.shutdown().unwrap();
    drop(engine);
    check(&disk);
}

/// A change that is given up changes nothing: what it made goes, what it would have dropped stays.
#[test]
fn a_change_that_is_not_committed_leaves_the_table() {
    let disk = SimDisk::new(3);
    let engine = open(&disk);
    let id = make(&engine);
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    fill(&engine.table(id).unwrap(), &mut txn, 0..20);
    txn.commit().unwrap();
    let before = used_pages(&engine);
    let mut ddl = engine.temporary_ddl().unwrap();
    ddl.truncate(id).unwrap();
    ddl.create_table(&temporary_schema()).unwrap();
    drop(ddl);
    wait_until_freed(&engine, before);
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    assert_eq!(all(&engine.table(id).unwrap(), &mut txn).len(), 20);
    txn.rollback().unwrap();
    assert_eq!(engine.temporary_tables(), [(id, 4)]);
}

/// One change of the catalog's tables at a time; temporary tables wait for none.
#[test]
fn no_turn_is_waited_for() {
    let disk = SimDisk::new(4);
    let engine = open(&disk);
    let mut ddl = engine.ddl().unwrap();
    let permanent = ddl.create_table(&temporary_schema()).unwrap();
    let id = make(&engine);
    ddl.commit().unwrap();
    assert_ne!(permanent, id);
    assert!(engine.table(permanent).is_ok() && engine.table(id).is_ok());
}

/// What a crash leaves of temporary tables goes at the next start: committed rows, and those of transactions that had not ended,
/// whose long columns recovery frees before their tree.
#[test]
fn a_crash_leaves_nothing() {
    for seed in 0..6 {
        let disk = SimDisk::new(seed);
        let engine = open(&disk);
        let permanent = create(&engine, &temporary_schema());
        let mut txn = begin(&engine, Isolation::RepeatableRead);
        fill(&permanent, &mut txn, 0..10);
        txn.commit().unwrap();
        let before = used_pages(&engine);
        let (first, second) = (make(&engine), make(&engine));
        let mut txn = begin(&engine, Isolation::RepeatableRead);
        for id in [first, second] {
            fill(&engine.table(id).unwrap(), &mut txn, 0..60);
        }
        txn.commit().unwrap();
        let mut txn = begin(&engine, Isolation::RepeatableRead);
        for id in [first, second] {
            let table = engine.table(id).unwrap();
            fill(&table, &mut txn, 60..90);
            delete(&table, &mut txn, 3).unwrap();
            let text = b"new".repeat(30_000);
            update(&table, &mut txn, 6, &mut |_, new| new.set(3, Datum::Bytes(&text))).unwrap();
        }
        fill(&permanent, &mut txn, 10..20);
        let mut other = begin(&engine, Isolation::RepeatableRead);
        fill(&permanent, &mut other, 100..101);
        other.commit().unwrap();
        let disk = disk.restart();
        std::mem::forget(txn);
        check(&disk);

        let engine = open(&disk);
        assert!(engine.temporary_tables().is_empty());
        assert!(matches!(engine.table(second), Err(Error::NoSuchTable)));
        wait_until_freed(&engine, before + 10);
        let permanent = engine.table(permanent.id()).unwrap();
        let mut txn = begin(&engine, Isolation::RepeatableRead);
        assert_eq!(all(&permanent, &mut txn).len(), 11);
        txn.rollback().unwrap();
        // An id that is given again means the new table.
        let again = create(&engine, &temporary_schema());
        assert_eq!(again.auto_increment_peek(), 1);
        engine.shutdown().unwrap();
        drop(engine);
        check(&disk);
    }
}

#[test]
fn the_counter_is_in_memory() {
    let disk = SimDisk::new(8);
    let engine = open(&disk);
    let table = engine.table(make(&engine)).unwrap();
    assert_eq!(
        table
            .auto_increment_reserve(3, Sequence::up_to(u64::MAX))
            .unwrap(),
        1
    );
    assert_eq!(table.auto_increment_peek(), 4);
    table.auto_increment_set(100).unwrap();
    assert_eq!(
        table
            .auto_increment_reserve(1, Sequence::up_to(u64::MAX))
            .unwrap(),
        100
    );
    engine.shutdown().unwrap();
}
