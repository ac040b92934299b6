//! A full disk: what cannot be made room for is refused, and what makes room is not. A transaction can always be rolled back,
//! also by the next start, and committed; reading goes on; DELETE and DROP give room that INSERT can use.

mod common;

use common::*;
use std::time::{Duration, Instant};
use tidemark_engine::disk::sim::{Faults, SimDisk};
use tidemark_engine::*;

/// The disk has no more room than what is used now, and so many bytes.
fn fill_up(disk: &SimDisk, room: u64) {
    disk.set_faults(Faults {
        capacity: Some(disk.used() + room),
        ..Faults::default()
    });
}

fn row(id: i64, text: &str) -> Row {
    Row {
        u: Some(id),
        ..Row::new(id, id % 7, text)
    }
}

fn insert(engine: &Engine, table: &Table, ids: std::ops::Range<i64>) {
    let mut txn = begin(engine, Isolation::ReadCommitted);
    for id in ids {
        table
            .insert(&mut txn, &row(id, &"x".repeat(100)).datums())
            .unwrap();
    }
    txn.commit().unwrap();
}

/// Inserts until the disk is full; says how many rows went in.
fn insert_until_full(table: &Table, txn: &mut Transaction, from: i64) -> i64 {
    for id in from.. {
        match table.insert(txn, &row(id, &"x".repeat(100)).datums()) {
            Ok(()) => {}
            Err(Error::DiskFull) => return id - from,
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!()
}

#[test]
fn a_large_transaction_can_be_rolled_back_on_a_full_disk() {
    for spare in [20 << 20, 40 << 20] {
        let disk = SimDisk::new(1);
        let engine = open(&disk);
        let table = create(&engine, &schema());
        insert(&engine, &table, 0..500);
        fill_up(&disk, spare);
        let mut txn = begin(&engine, Isolation::RepeatableRead);
        let inserted = insert_until_full(&table, &mut txn, 1000);
        assert!(inserted > 8000, "{inserted}");
        fill_up(&disk, 0);
        txn.rollback().unwrap();
        assert_eq!(all(&table, &mut txn_of(&engine)).len(), 500);
        let mut txn = begin(&engine, Isolation::RepeatableRead);
        assert!(
            insert_until_full_or(&table, &mut txn, 1000, 500),
            "its room is free again"
        );
        txn.commit().unwrap();
    }
}

fn txn_of(engine: &Engine) -> Transaction {
    begin(engine, Isolation::ReadCommitted)
}

fn insert_until_full_or(table: &Table, txn: &mut Transaction, from: i64, count: i64) -> bool {
    (from..from + count).all(|id| table.insert(txn, &row(id, &"x".repeat(100)).datums()).is_ok())
}

/// Every kind of change, of many rows; none of it may need room that is not there.
#[test]
fn changes_of_every_kind_are_undone_on_a_full_disk() {
    for kind in 0..4 {
        let disk = SimDisk::new(kind);
        let engine = open(&disk);
        let table = create(&engine, &schema());
        insert(&engine, &table, 0..20_000);
        let before = all(&table, &mut txn_of(&engine));
        let mut txn = begin(&engine, Isolation::RepeatableRead);
        let log = engine.status().log_tail.0;
        for id in 0..20_000 {
            match kind {
                0 => drop(delete(&table, &mut txn, id).unwrap()),
                1 => drop(update(&table, &mut txn, id, &mut |_, buf| buf.set(1, Datum::Int(99))).unwrap()),
                2 => drop(update(&table, &mut txn, id, &mut |_, buf| buf.set(3, Datum::Null)).unwrap()),
                _ => table
                    .insert(&mut txn, &row(30_000 + id, &"y".repeat(60)).datums())
                    .unwrap(),
            }
        }
        fill_up(&disk, 0);
        let written = engine.status().log_tail.0 - log;
        txn.rollback().unwrap();
        let undone = engine.status().log_tail.0 - log - written;
        println!("kind {kind}: {written} bytes of log, {undone} to undo");
        assert_same(&all(&table, &mut txn_of(&engine)), &before);
    }
}

#[test]
fn an_idle_writer_can_commit_on_a_full_disk() {
    let disk = SimDisk::new(2);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    insert(&engine, &table, 0..200);
    let mut idle = begin(&engine, Isolation::RepeatableRead);
    update(&table, &mut idle, 0, &mut |_, buf| buf.set(1, Datum::Int(-1))).unwrap();
    fill_up(&disk, 16 << 20);
    let started = Instant::now();
    let mut txn = engine.transaction();
    let mut n = 0;
    let full = loop {
        txn.begin(Isolation::ReadCommitted, false);
        n += 1;
        let text = "z".repeat(500);
        let changed = update(&table, &mut txn, 1 + n % 199, &mut |_, buf| {
            buf.set(1, Datum::Int(n));
            buf.set(3, Datum::Bytes(text.as_bytes()));
        });
        if let Err(error) = changed.and_then(|_| txn.commit()) {
            break error;
        }
        assert!(started.elapsed() < Duration::from_secs(60));
    };
    assert!(matches!(full, Error::DiskFull), "{full}");
    idle.commit().unwrap();
    let row = get(&table, &mut txn_of(&engine), 0, Read::Consistent).unwrap();
    assert_eq!(row.unwrap().k, Some(-1));
}

#[test]
fn a_directory_opens_on_a_full_disk_and_undoes_what_was_not_committed() {
    let disk = SimDisk::new(3);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let id = table.id();
    insert(&engine, &table, 0..500);
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    fill_up(&disk, 24 << 20);
    let inserted = insert_until_full(&table, &mut txn, 1000);
    assert!(inserted > 8000, "{inserted}");
    // So that all of it is in the log.
    let disk = disk.kill();
    drop((txn, table, engine));
    fill_up(&disk, 0);

    let engine = open(&disk);
    let table = engine.table(id).unwrap();
    assert_eq!(all(&table, &mut txn_of(&engine)).len(), 500);
    let mut txn = txn_of(&engine);
    for id in 0..100 {
        assert!(delete(&table, &mut txn, id).unwrap());
    }
    txn.commit().unwrap();
    engine.shutdown().unwrap();
    drop((txn, table, engine));
    check(&disk);
}

#[test]
fn deleting_and_dropping_make_room_on_a_full_disk() {
    let disk = SimDisk::new(4);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let other = create(&engine, &schema());
    insert(&engine, &other, 0..20_000);
    fill_up(&disk, 8 << 20);
    let mut rows = 0;
    loop {
        let mut txn = txn_of(&engine);
        if !insert_until_full_or(&table, &mut txn, rows, 100) {
            txn.rollback().unwrap();
            break;
        }
        txn.commit().unwrap();
        rows += 100;
    }
    assert!(rows > 1000, "{rows}");
    let mut txn = engine.transaction();
    for id in 0..rows / 2 {
        txn.begin(Isolation::ReadCommitted, false);
        assert!(delete(&table, &mut txn, id).unwrap());
        txn.commit().unwrap();
    }
    engine.purge().unwrap();
    // Not all at once: while the disk is full, what can be reserved for undoing is what is left of it.
    for from in (0..rows / 4).step_by(100) {
        insert(&engine, &table, from..from + 100);
    }

    let used = disk.used();
    let mut ddl = engine.ddl().unwrap();
    ddl.drop_table(other.id()).unwrap();
    ddl.commit().unwrap();
    drop(other);
    let started = Instant::now();
    while disk.used() + (4 << 20) > used {
        assert!(
            started.elapsed() < Duration::from_secs(30),
            "the room of the dropped table is not given back"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    for from in (100_000..102_000).step_by(100) {
        insert(&engine, &table, from..from + 100);
    }
}

#[test]
fn room_of_a_dropped_table_is_given_back_also_by_the_next_start() {
    let disk = SimDisk::new(5);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let kept = create(&engine, &schema());
    insert(&engine, &table, 0..20_000);
    insert(&engine, &kept, 0..100);
    let mut ddl = engine.ddl().unwrap();
    ddl.drop_table(table.id()).unwrap();
    ddl.commit().unwrap();
    drop((table, kept));
    engine.shutdown().unwrap();
    drop(engine);
    let disk = disk.restart();
    let engine = open(&disk);
    let started = Instant::now();
    let room = || {
        let status = engine.status();
        (
            disk.used_by("data"),
            status.data_file_pages_free * PAGE_SIZE as u64,
        )
    };
    while room().0 > 3 << 20 {
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", room());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(room().1 > 4 << 20);
}

/// Rows become short, others take the room that they leave in their pages, and then there are no pages left for what they were.
#[test]
fn a_rollback_that_must_split_pages_completes_on_a_full_disk() {
    let disk = SimDisk::new(6);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let long = "l".repeat(700);
    let mut txn = txn_of(&engine);
    for id in (0..20_000).step_by(10) {
        table.insert(&mut txn, &row(id, &long).datums()).unwrap();
    }
    txn.commit().unwrap();
    let before = all(&table, &mut txn_of(&engine));

    let mut shrinks = begin(&engine, Isolation::RepeatableRead);
    for id in (0..20_000).step_by(10) {
        let shorter = Datum::Bytes(b"s");
        assert!(update(&table, &mut shrinks, id, &mut |_, buf| buf.set(3, shorter)).unwrap());
    }
    for from in (0..20_000).step_by(500) {
        let mut others = txn_of(&engine);
        for id in (from..from + 500).filter(|id| id % 10 != 0) {
            let row = row(id, &"o".repeat(60));
            table.insert(&mut others, &row.datums()).unwrap();
        }
        others.commit().unwrap();
    }
    // Room for the log, but not for as much as the data file grows by: until the pages in it are used up.
    let (filler, long) = (create(&engine, &schema()), "f".repeat(3000));
    let mut free = u32::MAX;
    for from in (0..).step_by(1000) {
        fill_up(&disk, 1_200_000);
        for id in from..from + 1000 {
            let mut txn = txn_of(&engine);
            if filler
                .insert(&mut txn, &row(id, &long).datums())
                .and_then(|()| txn.commit())
                .is_err()
            {
                break;
            }
        }
        let now = engine.status().data_file_pages_free;
        if now as u32 >= free {
            break;
        }
        free = now as u32;
    }
    println!("{free} pages are left");
    fill_up(&disk, 0);
    shrinks.rollback().unwrap();
    let rows = all(&table, &mut txn_of(&engine));
    let back: Vec<_> = rows.into_iter().filter(|row| row.id % 10 == 0).collect();
    assert_same(&back, &before);
}
