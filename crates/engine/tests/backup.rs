//! Copies of an engine that is at work: each opens, has nothing wrong with it, and holds what was committed before it was
//! made, and of later transactions all or nothing.

mod common;

use common::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::Duration;
use tidemark_engine::disk::sim::{Faults, SimDisk};
use tidemark_engine::disk::{Access, Disk};
use tidemark_engine::*;

const ACCOUNTS: i64 = 400;
const WRITERS: i64 = 3;
/// Where the writers' counters stand, and rows that come and go.
const COUNTERS: i64 = 1000;
const PASSING: i64 = 2000;

/// With keys on `k` only: `c` may be long.
fn bank() -> TableSchema {
    let mut schema = schema();
    schema.secondary.truncate(1);
    schema
}

fn prepare(engine: &Engine) -> Arc<Table> {
    let table = create(engine, &bank());
    let mut txn = begin(engine, Isolation::RepeatableRead);
    for id in 0..ACCOUNTS {
        table
            .insert(&mut txn, &Row::new(id, 100, &"x".repeat(1500)).datums())
            .unwrap();
    }
    for id in COUNTERS..COUNTERS + WRITERS {
        table.insert(&mut txn, &Row::new(id, 0, "").datums()).unwrap();
    }
    txn.commit().unwrap();
    table
}

/// Money goes from one account to another, the writer counts, and a long row comes or goes.
fn transfer(table: &Table, txn: &mut Transaction, random: &mut Random, writer: i64) -> Result<()> {
    txn.begin(Isolation::ReadCommitted, false);
    let add = |txn: &mut Transaction, id: i64, amount: i64| {
        update(table, txn, id, &mut |row, buf| {
            buf.set(1, Datum::Int(row.k.unwrap() + amount));
        })
    };
    let (a, b) = (
        random.below(ACCOUNTS as u64 - 1) as i64,
        random.below(20) as i64 + 1,
    );
    // In order, so that writers do not deadlock.
    add(txn, a, -b)?;
    add(txn, a + 1, b)?;
    add(txn, COUNTERS + writer, 1)?;
    let passing = PASSING + writer + WRITERS * random.below(40) as i64;
    if !delete(table, txn, passing)? {
        let long = "y".repeat(random.below(30_000) as usize);
        table.insert(txn, &Row::new(passing, 0, &long).datums())?;
    }
    txn.commit()
}

fn assert_is_right(copy: &SimDisk, table: TableId, at_least: &[i64], at_most: &[i64]) {
    let report = check(copy);
    assert!(report.faults.is_empty(), "{:?}", report.faults);
    let engine = open(copy);
    let table = engine.table(table).unwrap();
    let found = all(&table, &mut begin(&engine, Isolation::ReadCommitted));
    let money: i64 = found
        .iter()
        .filter(|row| row.id < ACCOUNTS)
        .map(|row| row.k.unwrap())
        .sum();
    assert_eq!(money, ACCOUNTS * 100);
    for writer in 0..WRITERS as usize {
        let row = found.iter().find(|row| row.id == COUNTERS + writer as i64);
        let count = row.unwrap().k.unwrap();
        assert!(
            (at_least[writer]..=at_most[writer] + 1).contains(&count),
            "{count} of {at_least:?} to {at_most:?}"
        );
    }
}

#[test]
fn a_copy_made_while_everybody_writes_opens() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    let table = prepare(&engine);
    let stop = AtomicBool::new(false);
    let counts: Vec<AtomicI64> = (0..WRITERS).map(|_| AtomicI64::new(0)).collect();
    let read = || -> Vec<i64> { counts.iter().map(|count| count.load(Ordering::SeqCst)).collect() };
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (engine, table, stop, count) = (&engine, &table, &stop, &counts[writer as usize]);
            scope.spawn(move || {
                let (mut random, mut txn) = (Random(writer as u64), engine.transaction());
                while !stop.load(Ordering::SeqCst) {
                    match transfer(table, &mut txn, &mut random, writer) {
                        Ok(()) => drop(count.fetch_add(1, Ordering::SeqCst)),
                        Err(Error::Deadlock) => txn.rollback().unwrap(),
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
        for seed in 0..4 {
            let copy = SimDisk::new(seed);
            let to: Arc<dyn Disk> = Arc::new(copy.clone());
            let before = read();
            let mut moves = Random(seed);
            // Slowly, so that pages change while they are copied, and the log goes round.
            let copied = engine.back_up_to(&to, 0, &|_| {
                thread::sleep(std::time::Duration::from_millis(20));
                Ok(())
            });
            let copied = copied.unwrap();
            assert!(copied.pages > 60 && copied.end > copied.log_from);
            let after = read();
            // What it wrote is certain: it stands a power cut.
            let copy = match moves.below(2) {
                0 => copy.restart(),
                _ => copy,
            };
            assert_is_right(&copy, table.id(), &before, &after);
        }
        stop.store(true, Ordering::SeqCst);
    });
    let commits: i64 = read().iter().sum();
    assert!(commits > 100, "{commits}");
}

#[test]
fn a_copy_that_is_ended_is_no_data_directory() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    let table = prepare(&engine);
    for after in [1, 2, 5, 9] {
        let copy = SimDisk::new(1);
        let to: Arc<dyn Disk> = Arc::new(copy.clone());
        let left = AtomicI64::new(after);
        let ended = engine.back_up_to(&to, 0, &|_| match left.fetch_sub(1, Ordering::SeqCst) {
            0 => Err(Error::Interrupted),
            _ => Ok(()),
        });
        if ended.is_ok() {
            continue;
        }
        assert!(matches!(ended, Err(Error::Interrupted)), "{ended:?}");
        assert!(!copy.list().unwrap().iter().any(|name| name == "control"));
        let again = engine.back_up_to(&to, 0, &|_| Ok(()));
        assert!(
            matches!(again, Err(Error::CannotOpen(_))),
            "it is not empty: {again:?}"
        );
    }
    // And the engine goes on.
    let mut txn = engine.transaction();
    transfer(&table, &mut txn, &mut Random(1), 0).unwrap();
}

/// A copy is restored to moments after it, by an archive that a crash of the engine has not torn.
#[test]
fn a_copy_and_an_archive_give_every_moment_after_it() {
    let (mut disk, archive, copy) = (SimDisk::new(1), SimDisk::new(2), SimDisk::new(3));
    let archived = |disk: &SimDisk| {
        let mut config = config(disk);
        config.log_archive = Some(Arc::new(archive.clone()));
        Engine::open(config).unwrap()
    };
    let mut engine = archived(&disk);
    let id = prepare(&engine).id();
    engine
        .back_up_to(&(Arc::new(copy.clone()) as Arc<dyn Disk>), 0, &|_| Ok(()))
        .unwrap();
    // After each of these moments a writer's counter is what it was then; the log goes round several times.
    let mut moments = Vec::new();
    let mut random = Random(1);
    for round in 0..4 {
        let table = engine.table(id).unwrap();
        let mut txn = engine.transaction();
        for _ in 0..250 {
            transfer(&table, &mut txn, &mut random, 0).unwrap();
        }
        let counter = get(
            &table,
            &mut begin(&engine, Isolation::ReadCommitted),
            COUNTERS,
            Read::Consistent,
        );
        moments.push((engine.status().log_flushed, counter.unwrap().unwrap().k.unwrap()));
        drop(txn);
        if round == 3 {
            engine.shutdown().unwrap();
            break;
        }
        // The archive may be behind the log when the engine dies.
        drop((table, engine));
        disk = disk.restart();
        engine = archived(&disk);
    }
    let restored = |until: Until| {
        let to = SimDisk::new(4);
        let disk = |disk: &SimDisk| Arc::new(disk.clone()) as Arc<dyn Disk>;
        tidemark_pages::store::restore(disk(&copy), Some(disk(&archive)), disk(&to), until).map(|_| to)
    };
    for (position, count) in moments.iter().copied().chain([(Lsn::ZERO, moments[3].1)]) {
        let until = match position {
            Lsn::ZERO => Until::End,
            position => Until::Position(position),
        };
        let to = restored(until).unwrap();
        assert_is_right(&to, id, &[count, 0, 0], &[count - 1, 0, 0]);
    }
    assert!(restored(Until::Position(Lsn(5000))).is_err(), "before the copy");
    assert!(
        restored(Until::Position(Lsn(1 << 40))).is_err(),
        "after the archive"
    );
    assert!(restored(Until::Time(u64::MAX)).is_ok() && restored(Until::Time(1)).is_err());
    // A copy that was started is no longer what it was made as.
    drop(open(&copy));
    assert!(restored(Until::End).is_err());
}

#[test]
fn a_damaged_page_is_not_copied() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    let id = prepare(&engine).id();
    engine.shutdown().unwrap();
    drop(engine);
    let data = disk
        .open("data", false, tidemark_engine::disk::Access::Direct)
        .unwrap();
    let mut page = vec![0; PAGE_SIZE];
    let damaged = (2..data.len().unwrap() / PAGE_SIZE as u64).find(|&n| {
        data.read_at(&mut page, n * PAGE_SIZE as u64).unwrap();
        page[9000..].starts_with(b"xxxx")
    });
    let damaged = damaged.expect("a page of rows");
    page[9000] ^= 1;
    data.write_at(&page, damaged * PAGE_SIZE as u64).unwrap();
    let engine = open(&disk);
    assert!(engine.table(id).is_ok());
    let to: Arc<dyn Disk> = Arc::new(SimDisk::new(2));
    let error = engine.back_up_to(&to, 0, &|_| Ok(())).unwrap_err();
    assert!(error.to_string().contains(&format!("page {damaged}")), "{error}");
}

/// What is left of an archive's description by a power cut; and an archive that does not return from a sync while the log grows to
/// several times its capacity.
#[test]
fn an_archive_that_is_torn_is_begun_again_and_one_that_hangs_is_given_up() {
    let (disk, archive) = (SimDisk::new(1), SimDisk::new(2));
    let torn = archive.open("archive", true, Access::Buffered).unwrap();
    torn.write_at(b"id 12\nsegment_bytes 65536\nfrom 4", 0).unwrap();
    let mut config = config(&disk);
    config.log_archive = Some(Arc::new(archive.clone()));
    let engine = Engine::open(config).unwrap();
    let table = create(&engine, &schema());
    let mut text = [0; 200];
    archive
        .open("archive", false, Access::Buffered)
        .unwrap()
        .read_at(&mut text, 0)
        .unwrap();
    assert!(!text.starts_with(b"id 12\n"));
    archive.set_faults(Faults {
        sync_takes: Duration::from_secs(25),
        ..Faults::default()
    });
    let capacity = engine.status().log_capacity_bytes;
    let mut rows = 0..;
    let mut most = 0;
    while engine.status().archive_behind_bytes <= 5 * capacity {
        let mut txn = begin(&engine, Isolation::ReadCommitted);
        for id in rows.by_ref().take(100) {
            let row = Row::new(id, 1, &"x".repeat(3000));
            table.insert(&mut txn, &row.datums()).unwrap();
        }
        txn.commit().unwrap();
        most = most.max(engine.status().log_files_bytes);
    }
    assert!(most > 3 * capacity, "the log was kept for it: {most}");
    // It is given up when nothing was copied to it for some seconds, by a thread that makes room in the log.
    for id in rows.by_ref().take(400) {
        std::thread::sleep(Duration::from_millis(50));
        if engine.status().log_files_bytes < 3 * capacity {
            break;
        }
        let mut txn = begin(&engine, Isolation::ReadCommitted);
        table.insert(&mut txn, &Row::new(id, 1, "x").datums()).unwrap();
        txn.commit().unwrap();
    }
    let kept = engine.status().log_files_bytes;
    assert!(kept < 3 * capacity, "of {most} bytes {kept} are kept");
    archive.set_faults(Faults::default());
}
