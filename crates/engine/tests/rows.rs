//! Rows come and go, through every index, under every kind of read.

mod common;

use common::*;
use std::ops::Bound;
use std::time::Duration;
use tidemark_engine::disk::sim::{Faults, SimDisk};
use tidemark_engine::disk::{Access, Disk};
use tidemark_engine::*;

#[test]
fn what_is_committed_is_there_and_survives_a_clean_stop() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    for id in 0..500 {
        table
            .insert(&mut txn, &Row::new(id, id % 7, &format!("text {id}")).datums())
            .unwrap();
    }
    txn.commit().unwrap();
    let before = all(&table, &mut begin(&engine, Isolation::RepeatableRead));
    assert_eq!(before.len(), 500);
    drop(txn);
    engine.shutdown().unwrap();
    drop((engine, table.id()));
    let id = table.id();
    drop(table);

    let engine = open(&disk);
    let table = engine.table(id).unwrap();
    assert_eq!(table.schema(), &schema());
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    assert_same(&all(&table, &mut txn), &before);
    assert_eq!(
        get(&table, &mut txn, 77, Read::Consistent).unwrap(),
        Some(Row::new(77, 0, "text 77"))
    );
    assert_eq!(get(&table, &mut txn, 500, Read::Consistent).unwrap(), None);
}

#[test]
fn every_index_finds_the_rows_in_its_order() {
    let disk = SimDisk::new(2);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    for id in 0..2000 {
        let row = Row {
            u: (id % 3 != 0).then_some(10_000 - id),
            ..Row::new(id, id % 50, &format!("{:03}", id % 400))
        };
        table.insert(&mut txn, &row.datums()).unwrap();
    }
    let mut expected = all(&table, &mut txn);
    assert_eq!(expected.len(), 2000);
    for (index, sort) in [
        (
            1,
            (|r: &Row| (r.k, None, r.id)) as fn(&Row) -> (Option<i64>, Option<Vec<u8>>, i64),
        ),
        (2, |r| (r.u, None, r.id)),
        (3, |r| (None, r.c.clone(), r.k.unwrap() << 32 | r.id)),
    ] {
        expected.sort_by_key(sort);
        for read in [Read::Consistent, LOCKING] {
            let found = rows(&table, &mut txn, index, &KeyRange::all(), false, read).unwrap();
            assert!(found == expected, "index {index} {read:?}");
            let mut found = rows(&table, &mut txn, index, &KeyRange::all(), true, read).unwrap();
            found.reverse();
            assert!(found == expected, "index {index} backwards {read:?}");
        }
    }
    // 10 <= k < 20, by the index, with and without its columns covering.
    let range = KeyRange {
        lower: Bound::Included(key(&table, 1, &[Datum::Int(10)])),
        upper: Bound::Excluded(key(&table, 1, &[Datum::Int(20)])),
    };
    let mut covered = Vec::new();
    assert!(table.covers(1, &[0, 1]) && !table.covers(1, &[3]) && table.covers(3, &[0, 1, 3]));
    table
        .scan(
            &mut txn,
            &RangeScan::new(1, &range).covering(true),
            Read::Consistent,
            &mut |view| {
                covered.push((view.get(1).as_int().unwrap(), view.get(0).as_int().unwrap()));
                Ok((Keep::Locked, Flow::Continue))
            },
        )
        .unwrap();
    let found = rows(&table, &mut txn, 1, &range, false, Read::Consistent).unwrap();
    assert_eq!(
        covered,
        found.iter().map(|r| (r.k.unwrap(), r.id)).collect::<Vec<_>>()
    );
    assert_eq!(covered.len(), 400);
    // A unique key finds its one row.
    let mut found = None;
    let unique = key(&table, 2, &[Datum::Int(9999)]);
    assert!(
        table
            .get(&mut txn, 2, &unique, Read::Consistent, &mut |v| {
                found = Some(Row::of(v));
                Ok(Keep::Locked)
            })
            .unwrap()
    );
    assert_eq!(found.unwrap().id, 1);
}

#[test]
fn a_rollback_leaves_no_trace() {
    let disk = SimDisk::new(3);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    for id in 0..100 {
        table
            .insert(
                &mut txn,
                &Row {
                    u: Some(id),
                    ..Row::new(id, id, "a")
                }
                .datums(),
            )
            .unwrap();
    }
    txn.commit().unwrap();
    txn.begin(Isolation::RepeatableRead, false);
    let before = all(&table, &mut txn);
    delete(&table, &mut txn, 3).unwrap();
    let savepoint = txn.savepoint();
    for id in 10..20 {
        update(&table, &mut txn, id, &mut |_, buf| buf.set(1, Datum::Int(-id))).unwrap();
        update(&table, &mut txn, id, &mut |row, buf| {
            buf.set(3, Datum::Bytes(&row.c.clone().unwrap().repeat(50)))
        })
        .unwrap();
        delete(&table, &mut txn, id + 20).unwrap();
        table
            .insert(&mut txn, &Row::new(id + 20, 1, "again").datums())
            .unwrap();
        table
            .insert(&mut txn, &Row::new(id + 1000, 1, "new").datums())
            .unwrap();
        update(&table, &mut txn, id + 50, &mut |_, buf| {
            buf.set(0, Datum::Int(id + 5000))
        })
        .unwrap();
    }
    assert_eq!(all(&table, &mut txn).len(), 109);
    txn.rollback_to(&savepoint).unwrap();
    let mut expected = before.clone();
    expected.remove(3);
    assert_same(&all(&table, &mut txn), &expected);
    for index in 1..=3 {
        let mut found = rows(&table, &mut txn, index, &KeyRange::all(), false, Read::Consistent).unwrap();
        found.sort();
        assert_eq!(found, expected, "index {index}");
    }
    txn.rollback().unwrap();
    txn.begin(Isolation::RepeatableRead, false);
    assert_same(&all(&table, &mut txn), &before);
}

#[test]
fn unique_keys_are_unique_and_nulls_never_collide() {
    let disk = SimDisk::new(4);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    table
        .insert(
            &mut txn,
            &Row {
                u: Some(7),
                ..Row::new(1, 1, "a")
            }
            .datums(),
        )
        .unwrap();
    table.insert(&mut txn, &Row::new(2, 1, "a").datums()).unwrap();
    table.insert(&mut txn, &Row::new(3, 1, "a").datums()).unwrap();
    let mut refused = |row: &Row, index: IndexNo, holder: i64| {
        let savepoint = txn.savepoint();
        match table.insert(&mut txn, &row.datums()) {
            Err(Error::DuplicateKey {
                index: i,
                primary_key,
            }) => {
                assert_eq!((i, primary_key), (index, id_key(&table, holder)));
            }
            other => panic!("{other:?}"),
        }
        txn.rollback_to(&savepoint).unwrap();
    };
    refused(&Row::new(2, 1, "b"), 0, 2);
    refused(
        &Row {
            u: Some(7),
            ..Row::new(9, 1, "b")
        },
        2,
        1,
    );
    let savepoint = txn.savepoint();
    let error = update(&table, &mut txn, 3, &mut |_, buf| buf.set(2, Datum::Int(7))).unwrap_err();
    assert!(matches!(error, Error::DuplicateKey { index: 2, .. }), "{error}");
    txn.rollback_to(&savepoint).unwrap();
    // Gone with its row, the key is free; and taken again it is not.
    delete(&table, &mut txn, 1).unwrap();
    table
        .insert(
            &mut txn,
            &Row {
                u: Some(7),
                ..Row::new(4, 1, "b")
            }
            .datums(),
        )
        .unwrap();
    assert!(
        table
            .insert(
                &mut txn,
                &Row {
                    u: Some(7),
                    ..Row::new(5, 1, "b")
                }
                .datums()
            )
            .is_err()
    );
    txn.rollback().unwrap();
    txn.begin(Isolation::ReadCommitted, false);
    assert_eq!(all(&table, &mut txn), []);
}

#[test]
fn long_columns_stand_outside_their_row() {
    let disk = SimDisk::new(5);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let blob = |seed: u64, len: usize| {
        let mut random = Random(seed);
        Some((0..len).map(|_| random.next() as u8).collect::<Vec<u8>>())
    };
    let schema = TableSchema {
        secondary: vec![],
        ..schema()
    };
    let table = {
        let _ = table;
        create(&engine, &schema)
    };
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    let mut expected = Vec::new();
    for id in 0..20 {
        let row = Row {
            c: blob(id, 700 * (id * id) as usize),
            ..Row::new(id as i64, 1, "")
        };
        table.insert(&mut txn, &row.datums()).unwrap();
        expected.push(row);
    }
    assert_same(&all(&table, &mut txn), &expected);
    txn.commit().unwrap();
    // An old view keeps seeing what it saw, whatever becomes of the rows.
    let mut old = begin(&engine, Isolation::RepeatableRead);
    old.consistent_snapshot().unwrap();
    let before = expected.clone();
    txn.begin(Isolation::RepeatableRead, false);
    for id in 0..20u64 {
        match id % 4 {
            0 => {
                delete(&table, &mut txn, id as i64).unwrap();
            }
            1 => {
                expected[id as usize].k = Some(-1);
                update(&table, &mut txn, id as i64, &mut |_, buf| {
                    buf.set(1, Datum::Int(-1))
                })
                .unwrap();
            }
            _ => {
                let new = blob(id + 100, 3000 * id as usize);
                update(&table, &mut txn, id as i64, &mut |_, buf| {
                    buf.set(3, Datum::Bytes(new.as_ref().unwrap()))
                })
                .unwrap();
                expected[id as usize].c = new;
            }
        }
    }
    expected.retain(|row| row.id % 4 != 0);
    assert_same(&all(&table, &mut txn), &expected);
    txn.commit().unwrap();
    engine.purge().unwrap();
    assert_same(&all(&table, &mut old), &before);
    drop(old);
    engine.purge().unwrap();
    txn.begin(Isolation::RepeatableRead, false);
    assert_same(&all(&table, &mut txn), &expected);
    let savepoint = txn.savepoint();
    table
        .insert(
            &mut txn,
            &Row {
                c: blob(7, 3 << 20),
                ..Row::new(100, 1, "")
            }
            .datums(),
        )
        .unwrap();
    txn.rollback_to(&savepoint).unwrap();
    assert_same(&all(&table, &mut txn), &expected);
}

#[test]
fn a_table_without_a_primary_key_keeps_the_order_of_insertion() {
    let disk = SimDisk::new(6);
    let engine = open(&disk);
    let table = create(
        &engine,
        &TableSchema {
            primary: None,
            ..schema()
        },
    );
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    for id in [5, 3, 9, 3] {
        table.insert(&mut txn, &Row::new(id, id, "x").datums()).unwrap();
    }
    let ids = |rows: Vec<Row>| rows.iter().map(|r| r.id).collect::<Vec<_>>();
    assert_eq!(ids(all(&table, &mut txn)), [5, 3, 9, 3]);
    assert_eq!(
        ids(rows(&table, &mut txn, 1, &KeyRange::all(), false, Read::Consistent).unwrap()),
        [3, 3, 5, 9]
    );
    txn.commit().unwrap();
}

#[test]
fn modify_range_changes_what_it_is_told() {
    let disk = SimDisk::new(7);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    for id in 0..1000 {
        table
            .insert(&mut txn, &Row::new(id, id % 10, "x").datums())
            .unwrap();
    }
    txn.commit().unwrap();
    txn.begin(Isolation::ReadCommitted, false);
    let range = KeyRange::prefix(key(&table, 1, &[Datum::Int(4)]));
    let mut seen = 0;
    table
        .modify_range(&mut txn, &RangeScan::new(1, &range), &mut |view, buf| {
            seen += 1;
            let id = view.get(0).as_int().unwrap();
            Ok((
                match id % 3 {
                    0 => Action::Delete,
                    1 => {
                        buf.set(2, Datum::Int(id));
                        Action::Update
                    }
                    _ => Action::Skip,
                },
                Flow::Continue,
            ))
        })
        .unwrap();
    assert_eq!(seen, 100);
    txn.commit().unwrap();
    txn.begin(Isolation::ReadCommitted, false);
    let found = all(&table, &mut txn);
    assert!(
        found
            .iter()
            .all(|r| r.u.is_some() == (r.k == Some(4) && r.id % 3 == 1))
    );
    assert_eq!(
        found.len(),
        1000 - (0..1000).filter(|id| id % 10 == 4 && id % 3 == 0).count()
    );
    assert!(found.iter().all(|r| !(r.k == Some(4) && r.id % 3 == 0)));
}

/// Many short columns, none of which can be moved out, grow in a page that has room for more than an entry may have.
#[test]
fn a_row_that_grows_too_large_is_refused() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    const COLUMNS: usize = 160;
    let bytes = Column {
        ty: ColumnType::Bytes,
        nullable: true,
    };
    let mut wide = schema();
    wide.secondary.clear();
    wide.columns.extend((0..COLUMNS).map(|_| bytes));
    let table = create(&engine, &wide);
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    let mut row = vec![Datum::Null; wide.columns.len()];
    row[0] = Datum::Int(1);
    table.insert(&mut txn, &row).unwrap();
    let savepoint = txn.savepoint();
    let grown = update(&table, &mut txn, 1, &mut |_, buf| {
        (4..4 + COLUMNS).for_each(|c| buf.set(c, Datum::Bytes(&[7; 60])));
    });
    assert!(matches!(grown, Err(Error::RowTooLarge { .. })), "{grown:?}");
    txn.rollback_to(&savepoint).unwrap();
    txn.commit().unwrap();
    drop(txn);
    engine.shutdown().unwrap();
    check(&disk);
}

/// A row comes back over its deleted self, in a leaf too full for it, while an old view needs what it was at first: the
/// version between, which no view needs, is given up once, not once for every attempt.
#[test]
fn a_row_that_comes_back_in_a_full_leaf_supersedes_once() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    let mut narrow = schema();
    narrow.secondary.truncate(1);
    let table = create(&engine, &narrow);
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    for id in 0..80 {
        let text = "x".repeat(if id == 40 { 8 } else { 150 });
        table.insert(&mut txn, &Row::new(id, id, &text).datums()).unwrap();
    }
    txn.commit().unwrap();
    let mut old = begin(&engine, Isolation::RepeatableRead);
    old.consistent_snapshot().unwrap();
    txn.begin(Isolation::RepeatableRead, false);
    update(&table, &mut txn, 40, &mut |_, buf| buf.set(1, Datum::Int(1000))).unwrap();
    txn.commit().unwrap();
    // The deleting session ends, so its page of versions is closed: its last record going frees it.
    let mut deleting = begin(&engine, Isolation::RepeatableRead);
    delete(&table, &mut deleting, 40).unwrap();
    deleting.commit().unwrap();
    drop(deleting);
    // A new copy of the views.
    engine.purge().unwrap();
    txn.begin(Isolation::RepeatableRead, false);
    table
        .insert(&mut txn, &Row::new(40, 7, &"y".repeat(3500)).datums())
        .unwrap();
    txn.commit().unwrap();
    assert_eq!(
        get(&table, &mut old, 40, Read::Consistent).unwrap(),
        Some(Row::new(40, 40, "xxxxxxxx"))
    );
    drop((old, txn));
    engine.shutdown().unwrap();
    assert_eq!(check(&disk).deleted_entries, 0, "purge was told of every entry");
}

/// A rollback that fails half-way leaves nothing that could be committed, holds its locks, and is finished later.
#[test]
fn a_rollback_that_fails_is_not_forgotten() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    for id in 0..3 {
        table
            .insert(&mut txn, &Row::new(id, id, "half").datums())
            .unwrap();
    }
    let fail_read = |nth| {
        disk.set_faults(Faults {
            read_failure_in: Some(nth),
            ..Faults::default()
        });
    };
    fail_read(2);
    assert!(matches!(txn.rollback(), Err(Error::Io(_))));
    txn.begin(Isolation::RepeatableRead, false);
    assert!(matches!(
        table.insert(&mut txn, &Row::new(9, 9, "next").datums()),
        Err(Error::Stopped(_))
    ));
    assert!(matches!(txn.commit(), Err(Error::Stopped(_))));
    fail_read(1);
    drop(txn);
    let mut next = begin(&engine, Isolation::RepeatableRead);
    next.set_lock_wait_timeout(std::time::Duration::from_secs(20));
    table
        .insert(&mut next, &Row::new(0, 0, "whole").datums())
        .unwrap();
    next.commit().unwrap();
    drop(next);
    engine.shutdown().unwrap();
    assert_eq!(check(&disk).rows, 1);
}

/// What a damaged page holds cannot be purged. Everything else can.
#[test]
fn damage_in_one_table_does_not_keep_others_from_being_purged() {
    const MARK: &str = "here it will be damaged";
    let disk = SimDisk::new(8);
    let engine = open(&disk);
    // What is deleted stays in place until no view can see it.
    engine.set_bury_after(Duration::from_secs(3600));
    let schema = TableSchema {
        secondary: vec![],
        ..schema()
    };
    let [damaged, sound, large] = [(); 3].map(|()| create(&engine, &schema));
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    for id in 0..10 {
        damaged
            .insert(&mut txn, &Row::new(id, id, MARK).datums())
            .unwrap();
        sound
            .insert(&mut txn, &Row::new(id, id, "sound").datums())
            .unwrap();
    }
    txn.commit().unwrap();
    let mut old = begin(&engine, Isolation::RepeatableRead);
    old.consistent_snapshot().unwrap();
    for table in [&damaged, &sound] {
        txn.begin(Isolation::RepeatableRead, false);
        for id in 0..10 {
            delete(table, &mut txn, id).unwrap();
        }
        txn.commit().unwrap();
    }
    // More than the pool holds.
    let text = "x".repeat(4000);
    txn.begin(Isolation::RepeatableRead, false);
    for id in 0..2000 {
        large.insert(&mut txn, &Row::new(id, id, &text).datums()).unwrap();
    }
    txn.commit().unwrap();
    let data = disk.open("data", false, Access::Buffered).unwrap();
    let mut bytes = vec![0; data.len().unwrap() as usize];
    data.read_at(&mut bytes, 0).unwrap();
    let at = bytes
        .windows(MARK.len())
        .position(|window| window == MARK.as_bytes());
    disk.flip_bit("data", at.expect("its page was written, and evicted"), 0);
    drop(old);
    let mut failures = 0;
    while engine.status().history_length > 0 {
        failures += i32::from(engine.purge().is_err());
        assert!(failures < 3, "what cannot be purged is given up");
    }
    engine.shutdown().unwrap();
    let report = Engine::check_with(config(&disk)).unwrap();
    assert!(!report.faults.is_empty());
    assert_eq!(report.deleted_entries, 0, "of those that can be read");
}

/// Purge comes to an entry that is marked deleted while a transaction is bringing it back, which then fails.
#[test]
fn an_entry_that_was_almost_brought_back_is_purged() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    // Purge comes when it is called.
    engine.set_bury_after(Duration::from_secs(3600));
    let mut unique_first = schema();
    unique_first.secondary.swap(0, 1);
    let table = create(&engine, &unique_first);
    let set = |txn: &mut Transaction, id, u, k| {
        update(&table, txn, id, &mut |_, buf| {
            buf.set(1, Datum::Int(k));
            buf.set(2, Datum::Int(u));
        })
    };
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    for id in 0..2 {
        table.insert(&mut txn, &Row::new(id, 1, "").datums()).unwrap();
    }
    txn.commit().unwrap();
    let mut old = begin(&engine, Isolation::RepeatableRead);
    old.consistent_snapshot().unwrap();
    // Once it has been brought back, its row must be asked which transaction wants it.
    let mut moving = engine.transaction();
    for k in [2, 1, 2] {
        moving.begin(Isolation::ReadCommitted, false);
        set(&mut moving, 0, 10, k).unwrap();
        moving.commit().unwrap();
    }
    drop(moving);
    // Somebody has the unique value that the row is to take next.
    txn.begin(Isolation::ReadCommitted, false);
    set(&mut txn, 1, 20, 1).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut back = begin(&engine, Isolation::ReadCommitted);
            let savepoint = back.savepoint();
            let done = set(&mut back, 0, 20, 1);
            back.rollback_to(&savepoint).unwrap();
            (done, back.commit())
        });
        while engine.lock_waits().is_empty() {
            std::thread::yield_now();
        }
        engine.purge().unwrap();
        txn.commit().unwrap();
        let (done, ended) = waiting.join().unwrap();
        assert!(matches!(done, Err(Error::DuplicateKey { .. })), "{done:?}");
        ended.unwrap();
    });
    drop((old, txn));
    engine.shutdown().unwrap();
    assert_eq!(check(&disk).deleted_entries, 0, "purge has not forgotten it");
}

/// A planner asks for rows per key again and again, also while a table is loaded.
#[test]
fn rows_per_key_are_sampled_again_when_an_index_has_grown() {
    let disk = SimDisk::new(9);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let add = |ids: std::ops::Range<i64>, keys: i64| {
        let mut txn = begin(&engine, Isolation::RepeatableRead);
        for id in ids {
            table
                .insert(&mut txn, &Row::new(id, id % keys, "").datums())
                .unwrap();
        }
        txn.commit().unwrap();
    };
    add(0..40_000, 400);
    let sampled = table.records_per_key(1, 1);
    assert!((80.0..125.0).contains(&sampled), "{sampled} of 100");
    // Leaves are split, and nothing is sampled.
    add(40_000..42_000, 1);
    assert_eq!(table.records_per_key(1, 1), sampled);
    add(42_000..80_000, 40_000);
    let again = table.records_per_key(1, 1);
    assert!(again < sampled / 10.0, "{again} after {sampled}");
    table.was_analysed();
    assert!((table.records_per_key(1, 1) / again - 1.0).abs() < 0.5);
}
