//! Auto-increment counters over crashes: no value is given twice, and none is passed over.

mod common;

use common::*;
use std::time::Duration;
use tidemark_engine::disk::sim::SimDisk;
use tidemark_engine::*;

/// Rows of some kilobytes, several times the log, so that there are checkpoints.
#[test]
fn a_counter_goes_on_after_checkpoints_and_crashes() {
    let mut disk = SimDisk::new(1);
    let mut engine = open(&disk);
    let id = create(&engine, &schema()).id();
    let mut given = 0;
    for round in 0..6u64 {
        let table = engine.table(id).unwrap();
        assert_eq!(table.auto_increment_peek(), given + 1, "round {round}");
        let mut txn = begin(&engine, Isolation::ReadCommitted);
        for _ in 0..300 * (round % 3) + 1 {
            let value = table
                .auto_increment_reserve(1, Sequence::up_to(u64::MAX))
                .unwrap();
            given += 1;
            assert_eq!(value, given);
            let text = "x".repeat(3000);
            table
                .insert(&mut txn, &Row::new(value as i64, 1, &text).datums())
                .unwrap();
            if value.is_multiple_of(10) {
                txn.commit().unwrap();
                txn = begin(&engine, Isolation::ReadCommitted);
            }
        }
        txn.commit().unwrap();
        if round == 2 {
            std::thread::sleep(Duration::from_millis(2500));
        }
        drop((txn, table, engine));
        disk = if round % 2 == 0 {
            disk.restart()
        } else {
            disk.kill()
        };
        engine = open(&disk);
    }
}

/// What the insert's own record carries is observed afterwards; what nothing carries is stored at once.
#[test]
fn values_of_rows_count_with_and_without_being_announced() {
    for announced in [true, false] {
        let disk = SimDisk::new(1);
        let engine = open(&disk);
        let table = create(&engine, &schema());
        let mut txn = begin(&engine, Isolation::ReadCommitted);
        if announced {
            txn.carry_counter(table.id(), 701);
        }
        table.insert(&mut txn, &Row::new(700, 1, "a").datums()).unwrap();
        table
            .auto_increment_observe(700, Sequence::up_to(u64::MAX))
            .unwrap();
        txn.commit().unwrap();
        let id = table.id();
        drop((txn, table, engine));
        let engine = open(&disk.restart());
        let table = engine.table(id).unwrap();
        assert_eq!(table.auto_increment_peek(), 701, "announced: {announced}");
        // Set lower, by a definition that is committed: what was carried before does not count any more.
        table.auto_increment_set(50).unwrap();
        assert_eq!(table.auto_increment_peek(), 50);
    }
}
