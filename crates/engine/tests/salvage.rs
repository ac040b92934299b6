//! What can be saved of a damaged directory: the check lists every damage, and an engine that gives up enough opens and reads past
//! it.

mod common;

use common::*;
use std::sync::Arc;
use tidemark_engine::disk::sim::SimDisk;
use tidemark_engine::disk::{Access, Disk};
use tidemark_engine::*;

const ROWS: i64 = 3000;

fn key_only() -> TableSchema {
    let mut schema = schema();
    schema.secondary.truncate(1);
    schema
}

/// A directory with a table of many leaves, and every `every`-th of them damaged; says which pages that are.
fn damaged(every: usize) -> (SimDisk, TableId, Vec<u64>) {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    let table = create(&engine, &key_only());
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    for id in 0..ROWS {
        table
            .insert(&mut txn, &Row::new(id, id, &"z".repeat(600)).datums())
            .unwrap();
    }
    txn.commit().unwrap();
    let id = table.id();
    engine.shutdown().unwrap();
    drop((txn, table, engine));
    let data = disk.open("data", false, Access::Direct).unwrap();
    let mut page = vec![0; PAGE_SIZE];
    let mut leaves = Vec::new();
    for n in 2..data.len().unwrap() / PAGE_SIZE as u64 {
        data.read_at(&mut page, n * PAGE_SIZE as u64).unwrap();
        // An inner node may have been a leaf before, and still show it.
        let is_leaf = page[17] == 0;
        if is_leaf && page[10_000..].windows(300).any(|w| w.iter().all(|&b| b == b'z')) {
            leaves.push(n);
        }
    }
    let chosen: Vec<u64> = leaves.iter().copied().skip(1).step_by(every).collect();
    for &n in &chosen {
        data.write_at(b"damage", n * PAGE_SIZE as u64 + 9000).unwrap();
    }
    (disk, id, chosen)
}

fn forced(disk: &SimDisk, level: u8) -> Result<Engine> {
    let mut config = config(disk);
    config.force_recovery = level;
    Engine::open(config)
}

#[test]
fn the_check_lists_every_damaged_page() {
    let (disk, _, pages) = damaged(20);
    assert!(pages.len() > 3, "{pages:?}");
    let report = Engine::check_with(config(&disk)).unwrap();
    for page in &pages {
        assert!(
            report
                .faults
                .iter()
                .any(|fault| fault.contains(&format!("page {page} is corrupt"))),
            "page {page} is not among {:?}",
            report.faults
        );
    }
    assert!(report.rows > 1000 && report.rows < ROWS as u64, "{report:?}");
}

#[test]
fn rows_behind_damage_are_read_when_that_is_asked_for() {
    let (disk, id, pages) = damaged(20);
    let engine = open(&disk);
    let table = engine.table(id).unwrap();
    let whole = rows(
        &table,
        &mut begin(&engine, Isolation::ReadCommitted),
        0,
        &KeyRange::all(),
        false,
        Read::Consistent,
    );
    assert!(
        matches!(whole, Err(Error::Corrupt { .. })),
        "an error, without being asked"
    );
    drop((table, engine));
    for level in 1..=6 {
        let engine = forced(&disk, level).unwrap();
        let table = engine.table(id).unwrap();
        let found = all(&table, &mut begin(&engine, Isolation::ReadCommitted));
        assert!(found.is_sorted(), "each once, in order");
        let lost = ROWS as usize - found.len();
        assert!(
            (pages.len()..pages.len() * 40).contains(&lost),
            "{lost} rows of {} pages",
            pages.len()
        );
        assert_eq!(found.last().unwrap().id, ROWS - 1);
    }
}

/// From level 3 on nothing on the disk is changed; what had not been committed shows, as it is not undone.
#[test]
fn levels_say_what_is_undone_and_written() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    let table = create(&engine, &key_only());
    let id = table.id();
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    table
        .insert(&mut txn, &Row::new(1, 1, "committed").datums())
        .unwrap();
    txn.commit().unwrap();
    txn.begin(Isolation::RepeatableRead, false);
    table.insert(&mut txn, &Row::new(2, 2, "not").datums()).unwrap();
    let mut other = begin(&engine, Isolation::RepeatableRead);
    table
        .insert(&mut other, &Row::new(3, 3, "committed").datums())
        .unwrap();
    other.commit().unwrap();
    let crashed = disk.restart();
    drop((txn, other, table, engine));
    let data = || {
        let mut bytes = vec![0; 1 << 20];
        crashed
            .open("data", false, Access::Direct)
            .unwrap()
            .read_at(&mut bytes, 0)
            .unwrap();
        bytes
    };
    let before = data();
    for (level, expected) in [(3, vec![1, 2, 3]), (5, vec![1, 2, 3])] {
        let engine = forced(&crashed, level).unwrap();
        let table = engine.table(id).unwrap();
        let found = all(&table, &mut begin(&engine, Isolation::ReadCommitted));
        assert_eq!(found.iter().map(|row| row.id).collect::<Vec<_>>(), expected);
        let mut txn = begin(&engine, Isolation::RepeatableRead);
        let refused = table.insert(&mut txn, &Row::new(9, 9, "").datums());
        assert!(matches!(refused, Err(Error::ReadOnly)), "{refused:?}");
        drop((txn, table));
        engine.shutdown().unwrap();
    }
    assert!(before == data(), "nothing was changed");
    assert!(forced(&crashed, 6).is_ok());
    let engine = open(&crashed);
    let found = all(
        &engine.table(id).unwrap(),
        &mut begin(&engine, Isolation::ReadCommitted),
    );
    assert_eq!(found.iter().map(|row| row.id).collect::<Vec<_>>(), [1, 3]);
}

/// Damage in the log, which a start refuses, passes for the log's end from level 3 on.
#[test]
fn a_damaged_log_opens_when_that_is_asked_for() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    let table = create(&engine, &key_only());
    let mut txn = engine.transaction();
    let mut middle = Lsn::ZERO;
    for id in 0..200 {
        txn.begin(Isolation::RepeatableRead, false);
        table.insert(&mut txn, &Row::new(id, id, "row").datums()).unwrap();
        txn.commit().unwrap();
        if id == 100 {
            middle = engine.status().log_flushed;
        }
    }
    let id = table.id();
    let crashed = disk.restart();
    drop((txn, table, engine));
    let segment = 512 << 10;
    let name = format!("redo-{:010}", middle.0 / segment);
    let log: Arc<dyn tidemark_engine::disk::File> = crashed.open(&name, false, Access::Buffered).unwrap();
    log.write_at(b"damage", middle.0 % segment + 4).unwrap();
    assert!(matches!(forced(&crashed, 0), Err(Error::CannotOpen(_))));
    assert!(matches!(forced(&crashed, 2), Err(Error::CannotOpen(_))));
    let engine = forced(&crashed, 3).unwrap();
    let found = all(
        &engine.table(id).unwrap(),
        &mut begin(&engine, Isolation::ReadCommitted),
    );
    assert!(found.len() > 100 && found.len() < 200, "{}", found.len());
}
