//! Tables come and go while others are used.

mod common;

use common::*;
use std::thread;
use std::time::{Duration, Instant};
use tidemark_engine::disk::sim::SimDisk;
use tidemark_engine::*;

/// The trees of dropped tables are freed in the background, while other tables are being made: what a table has from the start
/// on, it must keep.
#[test]
fn a_new_table_keeps_its_rows_while_others_are_dropped() {
    const ROWS: i64 = 4;
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    let until = Instant::now() + Duration::from_secs(3);
    let work = |n: u64| {
        let engine = engine.clone();
        thread::spawn(move || {
            let mut made = 0u32;
            while Instant::now() < until {
                let table = create(&engine, &schema());
                let mut txn = begin(&engine, Isolation::RepeatableRead);
                for id in 0..ROWS {
                    let row = Row::new(id, id, "kept");
                    table.insert(&mut txn, &row.datums()).unwrap();
                }
                txn.commit().unwrap();
                thread::sleep(Duration::from_micros(n * 300));
                let mut txn = begin(&engine, Isolation::RepeatableRead);
                for id in 0..ROWS {
                    let again = table.insert(&mut txn, &Row::new(id, id, "twice").datums());
                    assert!(
                        matches!(again, Err(Error::DuplicateKey { .. })),
                        "table {made} of thread {n}, row {id}: {again:?}"
                    );
                }
                for index in 0..4 {
                    let all = KeyRange::all();
                    let met = rows(&table, &mut txn, index, &all, false, Read::Consistent).unwrap();
                    assert_eq!(met.len(), ROWS as usize, "by index {index}");
                }
                txn.rollback().unwrap();
                drop(txn);
                let mut ddl = engine.ddl().unwrap();
                ddl.drop_table(table.id()).unwrap();
                ddl.commit().unwrap();
                made += 1;
            }
            made
        })
    };
    let threads: Vec<_> = (0..4).map(work).collect();
    let made: u32 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert!(made > 10, "only {made} tables were made");
    engine.shutdown().unwrap();
    check(&disk);
}

/// A table that was created with a name is found by it: after a restart, and as its empty successor; not once it is dropped.
#[test]
fn a_table_is_found_by_its_name() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    let mut ddl = engine.ddl().unwrap();
    let id = ddl.create_named_table("accounts", &schema()).unwrap();
    let again = ddl.create_named_table("accounts", &schema());
    assert!(matches!(again, Err(Error::Unsupported(_))), "{again:?}");
    let other = ddl.create_named_table("others", &schema()).unwrap();
    ddl.commit().unwrap();
    assert_eq!(engine.table_named("accounts").unwrap().id(), id);
    engine.shutdown().unwrap();
    drop(engine);
    let engine = open(&disk);
    assert_eq!(engine.table_named("accounts").unwrap().id(), id);
    let mut ddl = engine.ddl().unwrap();
    let emptied = ddl.truncate(id).unwrap();
    ddl.drop_table(other).unwrap();
    ddl.commit().unwrap();
    assert_eq!(engine.table_named("accounts").unwrap().id(), emptied);
    assert!(matches!(engine.table_named("others"), Err(Error::NoSuchTable)));
    assert!(matches!(engine.table_named("nobody's"), Err(Error::NoSuchTable)));
}

/// What a caller gets wrong is an error, not a panic.
#[test]
fn a_wrong_index_or_column_is_an_error() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let wrong = table.schema().secondary.len() + 1;
    let all = KeyRange::all();
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    table.insert(&mut txn, &Row::new(1, 1, "one").datums()).unwrap();
    for read in [
        Read::Consistent,
        Read::Locking {
            exclusive: true,
            wait: LockWait::Wait,
        },
    ] {
        let scanned = table.scan(&mut txn, &RangeScan::new(wrong, &all), read, &mut |_| {
            Ok((Keep::Locked, Flow::Continue))
        });
        assert!(matches!(scanned, Err(Error::Unsupported(_))), "{scanned:?}");
        let found = table.get(&mut txn, wrong, &[1], read, &mut |_| Ok(Keep::Locked));
        assert!(matches!(found, Err(Error::Unsupported(_))), "{found:?}");
    }
    let modified = table.modify_range(&mut txn, &RangeScan::new(wrong, &all), &mut |_, _| {
        Ok((Action::Delete, Flow::Continue))
    });
    assert!(matches!(modified, Err(Error::Unsupported(_))), "{modified:?}");
    let encoded = table.encode_key(wrong, &[Datum::Int(1)], &mut Vec::new());
    assert!(matches!(encoded, Err(Error::Unsupported(_))), "{encoded:?}");
    assert!(!table.covers(wrong, &[0]));
    assert_eq!(table.estimate_range(wrong, &all), 0);
    let columns = table.schema().columns.len();
    let updated = table.modify_range(&mut txn, &RangeScan::new(0, &all), &mut |_, row| {
        row.set(columns, Datum::Int(1));
        Ok((Action::Update, Flow::Continue))
    });
    assert!(
        matches!(updated, Err(Error::WrongValue { column, .. }) if column == columns),
        "{updated:?}"
    );
    assert!(!table.covers(0, &[columns]) && !table.covers(1, &[columns]));
    let wrong_column = |scanned: Result<()>, wrong| {
        assert!(
            matches!(scanned, Err(Error::WrongValue { column, .. }) if column == wrong),
            "{scanned:?}"
        );
    };
    let shared = Read::Locking {
        exclusive: false,
        wait: LockWait::Wait,
    };
    for read in [Read::Consistent, shared] {
        // A row has no such column; neither has an entry, nor one that its index does not cover.
        for (index, column) in [(0, columns), (1, columns), (1, 3)] {
            let scan = RangeScan::new(index, &all).covering(index != 0);
            let scanned = table.scan(&mut txn, &scan, read, &mut |row| {
                assert!(row.get(column).is_null());
                Ok((Keep::Locked, Flow::Continue))
            });
            wrong_column(scanned, column);
        }
        let key = |values: &[Datum]| key(&table, 0, values);
        let found = table.get(&mut txn, 0, &key(&[Datum::Int(1)]), read, &mut |row| {
            row.get(columns);
            Ok(Keep::Locked)
        });
        wrong_column(found.map(drop), columns);
    }
    let read = table.modify_range(&mut txn, &RangeScan::new(0, &all), &mut |row, _| {
        row.get(columns);
        Ok((Action::Delete, Flow::Continue))
    });
    wrong_column(read.map(drop), columns);
    txn.rollback().unwrap();
}

/// `Engine::write` runs its closure again after a deadlock, and gives up after some times; other errors are returned at once.
#[test]
fn write_runs_again_after_a_deadlock() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    engine
        .write(|txn| (1..=2).try_for_each(|id| table.insert(txn, &Row::new(id, id, "row").datums())))
        .unwrap();
    let bump = |txn: &mut Transaction, id: i64| {
        let mut key = Vec::new();
        table.encode_key(0, &[Datum::Int(id)], &mut key)?;
        table.modify(txn, &key, &mut |row, buf| {
            buf.set(1, Datum::Int(row.get(1).as_int().unwrap_or(0) + 1));
            Ok(Action::Update)
        })
    };
    let barrier = std::sync::Barrier::new(2);
    thread::scope(|scope| {
        for (first, second) in [(1, 2), (2, 1)] {
            let (engine, barrier, bump) = (&engine, &barrier, &bump);
            scope.spawn(move || {
                let mut runs = 0;
                engine
                    .write(|txn| {
                        runs += 1;
                        bump(txn, first)?;
                        if runs == 1 {
                            barrier.wait();
                        }
                        bump(txn, second)
                    })
                    .unwrap();
            });
        }
    });
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    let mut sum = 0;
    let all = KeyRange::all();
    let scan = RangeScan::new(0, &all);
    let scanned = table.scan(&mut txn, &scan, Read::Consistent, &mut |row| {
        sum += row.get(1).as_int().unwrap_or(0);
        Ok((Keep::Locked, Flow::Continue))
    });
    scanned.unwrap();
    assert_eq!(sum, 1 + 2 + 4, "each of both wrote both rows once");
    txn.commit().unwrap();
    let mut runs = 0;
    let failed: Result<()> = engine.write(|_| {
        runs += 1;
        Err(Error::Deadlock)
    });
    assert!(matches!(failed, Err(Error::Deadlock)));
    assert_eq!(runs, 10);
    let failed: Result<()> = engine.write(|txn| {
        table.insert(txn, &Row::new(3, 3, "undone").datums())?;
        Err(Error::NoSuchTable)
    });
    assert!(matches!(failed, Err(Error::NoSuchTable)));
    assert_eq!(table.estimate_rows(), 2);
}
