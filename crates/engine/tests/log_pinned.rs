//! A transaction that writes and then idles keeps the log from its first record on, for it may be rolled back. The log
//! grows beyond its capacity meanwhile, and when there is no more room on the disk either, the others are told so: none
//! hangs, nothing that was committed is lost, and all goes on when the transaction ends.

mod common;

use common::*;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidemark_engine::disk::Disk;
use tidemark_engine::disk::sim::{Faults, SimDisk};
use tidemark_engine::*;

const CAPACITY: u64 = 4 << 20;
const WITHIN: Duration = Duration::from_secs(60);

fn filled(disk: &SimDisk) -> (Engine, Arc<Table>) {
    let engine = open(disk);
    let table = create(&engine, &schema());
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    for id in 0..200 {
        table
            .insert(&mut txn, &Row::new(id, 0, &"x".repeat(500)).datums())
            .unwrap();
    }
    txn.commit().unwrap();
    (engine, table)
}

/// Changes rows 1 and following, a transaction each, until told to stop or one fails; answers how far it came.
fn churn(
    engine: &Engine,
    table: &Table,
    from: i64,
    goes_on: impl Fn(&Status) -> bool,
) -> (i64, Option<Error>) {
    let mut n = from;
    while goes_on(&engine.status()) {
        for _ in 0..100 {
            let mut txn = begin(engine, Isolation::ReadCommitted);
            let text = format!("{n:0500}").into_bytes();
            let changed = update(table, &mut txn, 1 + n % 199, &mut |_, buf| {
                buf.set(1, Datum::Int(n));
                buf.set(3, Datum::Bytes(&text));
            });
            if let Err(error) = changed.and_then(|_| txn.commit()) {
                return (n, Some(error));
            }
            n += 1;
        }
    }
    (n, None)
}

fn log_bytes(disk: &SimDisk) -> u64 {
    let names = disk.list().unwrap();
    let files = names.iter().filter(|name| name.starts_with("redo-"));
    let len = |name: &String| {
        disk.open(name, false, disk::Access::Buffered)
            .unwrap()
            .len()
            .unwrap()
    };
    files.map(len).sum()
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < WITHIN, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_log_grows_beside_an_idle_writer_and_shrinks_after_it() {
    let disk = SimDisk::new(1);
    let (engine, table) = filled(&disk);
    let mut idle = begin(&engine, Isolation::RepeatableRead);
    update(&table, &mut idle, 0, &mut |_, buf| buf.set(1, Datum::Int(-1))).unwrap();
    let (_, failed) = churn(&engine, &table, 0, |status| status.log_kept_bytes < 3 * CAPACITY);
    assert!(failed.is_none(), "{failed:?}");
    assert!(log_bytes(&disk) > 3 * CAPACITY);
    idle.rollback().unwrap();
    wait_until("the log does not shrink", || {
        engine.status().log_kept_bytes <= CAPACITY && log_bytes(&disk) <= 2 * CAPACITY
    });
    let mut reader = begin(&engine, Isolation::RepeatableRead);
    assert_eq!(
        get(&table, &mut reader, 0, Read::Consistent).unwrap().unwrap().k,
        Some(0)
    );
}

#[test]
fn a_disk_that_an_idle_writer_fills_is_an_error_to_the_others_and_goes_away() {
    let disk = SimDisk::new(2);
    let (engine, table) = filled(&disk);
    let mut idle = begin(&engine, Isolation::RepeatableRead);
    update(&table, &mut idle, 0, &mut |_, buf| buf.set(1, Datum::Int(-1))).unwrap();
    disk.set_faults(Faults {
        capacity: Some(24 << 20),
        ..Faults::default()
    });
    let started = Instant::now();
    let (reached, failed) = churn(&engine, &table, 0, |_| started.elapsed() < WITHIN);
    assert!(
        matches!(failed, Some(Error::DiskFull)),
        "{failed:?} after {reached}"
    );
    // Reading goes on, and so does undoing.
    let mut reader = begin(&engine, Isolation::RepeatableRead);
    let last = reached - 1;
    let row = get(&table, &mut reader, 1 + last % 199, Read::Consistent).unwrap();
    assert_eq!(row.unwrap().k, Some(last));
    reader.commit().unwrap();
    idle.rollback().unwrap();
    let mut again = reached;
    wait_until("the others cannot go on", || {
        let from = again;
        again = churn(&engine, &table, again, |_| again == from).0;
        again > from
    });
    // What was acknowledged is there after a power cut, and nothing of the idle transaction.
    let last = again - 1;
    drop((engine, table));
    let disk = disk.restart();
    let engine = open(&disk);
    let table = engine.table(engine.table_ids()[0]).expect("the table");
    let mut reader = begin(&engine, Isolation::RepeatableRead);
    assert_eq!(
        get(&table, &mut reader, 0, Read::Consistent).unwrap().unwrap().k,
        Some(0)
    );
    let row = get(&table, &mut reader, 1 + last % 199, Read::Consistent).unwrap();
    assert_eq!(row.unwrap().k, Some(last));
}
