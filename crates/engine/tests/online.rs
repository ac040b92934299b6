//! Indexes that are built while others write. What they show at the end must be the rows, whatever came, went, was rolled back or
//! purged while they were filled; and a build that is given up leaves nothing.
//!
//! Most of it is deterministic: the build calls back between its steps, and the transactions of a few writers go on there, on the
//! same thread. A lock that another one has is not waited for.

mod common;

use common::*;
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use tidemark_engine::disk::sim::SimDisk;
use tidemark_engine::*;

type State = BTreeMap<i64, Row>;

const IDS: u64 = 700;

fn index(parts: &[usize], unique: bool) -> IndexSchema {
    IndexSchema {
        parts: parts.iter().map(|c| KeyPart::column(*c)).collect(),
        unique,
    }
}

/// The table of [`schema`] with an index on `k` alone.
fn plain_schema() -> TableSchema {
    TableSchema {
        secondary: vec![index(&[1], false)],
        ..schema()
    }
}

fn random_row(random: &mut Random, us: u64) -> Row {
    let optional = |random: &mut Random, n: u64| (random.below(5) > 0).then(|| random.below(n) as i64);
    Row {
        id: random.below(IDS) as i64,
        k: optional(random, 30),
        u: optional(random, us),
        c: optional(random, 20).map(|c| match c {
            0 => vec![],
            1 => vec![b'x'; 900],
            2 => vec![b'y'; 2900],
            c => format!("text {c}").into_bytes(),
        }),
    }
}

/// Transactions at work on one table, and what is committed of them.
struct Writers {
    engine: Engine,
    table: TableId,
    random: Random,
    /// Values of `u` are drawn below this.
    us: u64,
    committed: State,
    open: Vec<(Transaction, State, Vec<(Savepoint, State)>)>,
    changes: u64,
}

impl Writers {
    fn new(engine: &Engine, table: TableId, seed: u64, count: usize, us: u64) -> Writers {
        let open = || {
            let mut txn = engine.transaction();
            txn.set_lock_wait_timeout(Duration::ZERO);
            (txn, State::new(), Vec::new())
        };
        Writers {
            engine: engine.clone(),
            table,
            random: Random(seed),
            us,
            committed: State::new(),
            open: (0..count).map(|_| open()).collect(),
            changes: 0,
        }
    }

    fn fill(&mut self, rows: u64) {
        let table = self.engine.table(self.table).unwrap();
        let mut txn = begin(&self.engine, Isolation::RepeatableRead);
        for n in 0..rows {
            let mut row = random_row(&mut self.random, self.us);
            row.id = (n * IDS / rows) as i64;
            table.insert(&mut txn, &row.datums()).unwrap();
            self.committed.insert(row.id, row);
        }
        txn.commit().unwrap();
    }

    /// One statement of one of the transactions, or its end.
    fn step(&mut self) {
        let at = self.random.below(self.open.len() as u64) as usize;
        let table = self.engine.table(self.table).unwrap();
        let row = random_row(&mut self.random, self.us);
        let kind = self.random.below(24);
        let (txn, own, savepoints) = &mut self.open[at];
        if !txn.is_active() {
            txn.begin(Isolation::ReadCommitted, false);
            own.clear();
            savepoints.clear();
            savepoints.push((txn.savepoint(), State::new()));
        }
        // What a transaction has made of rows: an id that it has deleted is negative.
        let statement = txn.savepoint();
        txn.statement_begin();
        let before = own.clone();
        let done = match kind {
            0 | 1 => {
                txn.commit().unwrap();
                for (id, row) in std::mem::take(own) {
                    if row.id < 0 {
                        self.committed.remove(&id);
                    } else {
                        self.committed.insert(id, row);
                    }
                }
                return;
            }
            2 => return txn.rollback().unwrap(),
            3 => {
                savepoints.push((statement, before));
                return;
            }
            4 => {
                let keep = self.random.below(savepoints.len() as u64) as usize;
                savepoints.truncate(keep + 1);
                let (savepoint, then) = &savepoints[keep];
                txn.rollback_to(savepoint).unwrap();
                *own = then.clone();
                return;
            }
            5 => {
                self.engine.purge().unwrap();
                return;
            }
            6..12 => table.insert(txn, &row.datums()).map(|()| {
                own.insert(row.id, row.clone());
            }),
            12..16 => delete(&table, txn, row.id).map(|found| {
                if found {
                    own.insert(
                        row.id,
                        Row {
                            id: -1,
                            ..row.clone()
                        },
                    );
                }
            }),
            16 | 17 => {
                let to = (row.id + 1 + self.random.below(9) as i64) % IDS as i64;
                let mut old = None;
                let moved = table.modify(txn, &id_key(&table, row.id), &mut |view, buf| {
                    old = Some(Row::of(view));
                    buf.set(0, Datum::Int(to));
                    Ok(Action::Update)
                });
                moved.map(|_| {
                    if let Some(old) = old {
                        own.insert(
                            row.id,
                            Row {
                                id: -1,
                                ..old.clone()
                            },
                        );
                        own.insert(to, Row { id: to, ..old });
                    }
                })
            }
            _ => {
                let columns = self.random.below(7) + 1;
                let mut new = None;
                let changed = table.modify(txn, &id_key(&table, row.id), &mut |view, buf| {
                    let mut now = Row::of(view);
                    for c in (1..4).filter(|c| columns >> (c - 1) & 1 == 1) {
                        buf.set(c, row.datums()[c]);
                        match c {
                            1 => now.k = row.k,
                            2 => now.u = row.u,
                            _ => now.c = row.c.clone(),
                        }
                    }
                    new = Some(now);
                    Ok(Action::Update)
                });
                changed.map(|_| {
                    if let Some(new) = new {
                        own.insert(row.id, new);
                    }
                })
            }
        };
        txn.statement_end();
        match done {
            Ok(()) => self.changes += 1,
            Err(Error::DuplicateKey { index: 0, .. } | Error::LockWaitTimeout) => {
                txn.rollback_to(&statement).unwrap();
                *own = before;
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Ends all transactions: commits or rolls back.
    fn end(&mut self) {
        for (txn, own, _) in &mut self.open {
            if !txn.is_active() {
                continue;
            }
            if self.random.below(3) == 0 {
                txn.rollback().unwrap();
                continue;
            }
            txn.commit().unwrap();
            for (id, row) in std::mem::take(own) {
                if row.id < 0 {
                    self.committed.remove(&id);
                } else {
                    self.committed.insert(id, row);
                }
            }
        }
    }

    fn has_duplicates(&self) -> bool {
        let mut us: Vec<i64> = self.committed.values().filter_map(|row| row.u).collect();
        us.sort_unstable();
        us.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// Every index shows what is committed.
    fn compare(&self) {
        let table = self.engine.table(self.table).unwrap();
        let expected: Vec<Row> = self.committed.values().cloned().collect();
        let mut txn = begin(&self.engine, Isolation::RepeatableRead);
        for index in 0..=table.schema().secondary.len() {
            for reverse in [false, true] {
                let all = KeyRange::all();
                let mut found = rows(&table, &mut txn, index, &all, reverse, Read::Consistent).unwrap();
                found.sort();
                println!("by index {index}");
                assert_same(&found, &expected);
                let mut covered = 0;
                let scan = RangeScan::new(index, &all).covering(true);
                let count = table.scan(&mut txn, &scan, Read::Consistent, &mut |_| {
                    covered += 1;
                    Ok((Keep::Locked, Flow::Continue))
                });
                count.unwrap();
                assert_eq!(covered, expected.len(), "covering, by index {index}");
            }
        }
    }
}

/// Builds of three indexes beside three writers, deterministic.
fn run(seed: u64) -> (bool, u64) {
    println!("seed {seed}");
    let disk = SimDisk::new(seed);
    let engine = open(&disk);
    engine.set_bury_after(Duration::ZERO);
    let table = create(&engine, &plain_schema()).id();
    // Many values of u or few: with and without duplicates at the end.
    let us = [1 << 30, 60_000, 400][seed as usize % 3];
    let mut writers = Writers::new(&engine, table, seed, 3, us);
    writers.fill(IDS / 2);
    let old = seed.is_multiple_of(2).then(|| {
        let mut old = begin(&engine, Isolation::RepeatableRead);
        old.consistent_snapshot().unwrap();
        (old, writers.committed.clone())
    });
    for _ in 0..60 {
        writers.step();
    }
    writers.end();
    let new = [index(&[2], true), index(&[3, 1], false), index(&[3], false)];
    let mut build = engine.build_indexes(table, &new).unwrap();
    let pace = 1 + writers.random.below(60);
    let gives_up_after = match writers.random.below(8) {
        0 => writers.random.below(20),
        _ => u64::MAX,
    };
    let mut calls = 0;
    let built = build.run(&mut |_| {
        for _ in 0..pace {
            writers.step();
        }
        calls += 1;
        match calls > gives_up_after {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    });
    for _ in 0..pace {
        writers.step();
    }
    let mut is_added = false;
    if built.is_ok() {
        writers.end();
        let mut ddl = engine.ddl().unwrap();
        match ddl.finish_build(build) {
            Ok(()) => {
                assert!(!writers.has_duplicates(), "a duplicate was not found");
                ddl.commit().unwrap();
                is_added = true;
            }
            Err(Error::DuplicateKey { index: 2, .. }) => assert!(writers.has_duplicates()),
            Err(error) => panic!("{error}"),
        }
    } else {
        drop(build);
        for _ in 0..100 {
            writers.step();
        }
        writers.end();
    }
    let handle = engine.table(table).unwrap();
    assert_eq!(handle.schema().secondary.len(), if is_added { 4 } else { 1 });
    writers.compare();
    if let Some((mut old, then)) = old {
        // Of before the build, by what was there then; not by what came.
        let then: Vec<Row> = then.into_values().collect();
        for index in 0..=handle.schema().secondary.len() {
            let found = rows(
                &handle,
                &mut old,
                index,
                &KeyRange::all(),
                false,
                Read::Consistent,
            );
            match index {
                0 | 1 => {
                    let mut found = found.unwrap();
                    found.sort();
                    assert_same(&found, &then);
                }
                _ => assert!(matches!(found, Err(Error::DefinitionChanged)), "by {index}"),
            }
        }
        old.commit().unwrap();
    }
    writers.us = 1 << 30;
    for _ in 0..200 {
        if is_added {
            break;
        }
        writers.step();
    }
    writers.end();
    engine.purge().unwrap();
    writers.compare();
    assert_eq!(engine.status().buried_entries, 0);
    // Once more, in one go: nothing of the first attempt is in the way.
    let mut build = engine.build_indexes(table, &[index(&[1, 0], true)]).unwrap();
    build.run(&mut |_| Ok(())).unwrap();
    let mut ddl = engine.ddl().unwrap();
    ddl.finish_build(build).unwrap();
    ddl.commit().unwrap();
    writers.compare();
    let changes = writers.changes;
    drop(writers);
    engine.shutdown().unwrap();
    check(&disk);
    (is_added, changes)
}

#[test]
fn an_index_built_beside_writers_has_the_rows_there_are_at_the_end() {
    let (mut added, mut changes) = (0, 0);
    for seed in 0..60 {
        let (is_added, changed) = run(seed);
        added += u32::from(is_added);
        changes += changed;
    }
    assert!((15..50).contains(&added), "{added} builds came to their end");
    assert!(changes > 10_000, "{changes}");
}

/// The same with threads, which wait for one another's locks; and indexes come and go all the time.
#[test]
fn indexes_come_and_go_beside_threads_that_write() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    let table = create(&engine, &plain_schema()).id();
    Writers::new(&engine, table, 1, 0, 1 << 30).fill(IDS);
    let (definition, over) = (RwLock::new(()), AtomicBool::new(false));
    let committed = AtomicU64::new(0);
    thread::scope(|scope| {
        for seed in 0..4 {
            let (engine, definition, over, committed) = (&engine, &definition, &over, &committed);
            scope.spawn(move || {
                let mut random = Random(100 + seed);
                let mut txn = engine.transaction();
                txn.set_lock_wait_timeout(Duration::from_millis(50));
                while !over.load(Ordering::Relaxed) {
                    let _uses = definition.read();
                    let table = engine.table(table).unwrap();
                    txn.begin(Isolation::RepeatableRead, false);
                    let mut done = Ok(());
                    for _ in 0..1 + random.below(6) {
                        let row = random_row(&mut random, 1 << 30);
                        let statement = txn.savepoint();
                        done = match random.below(4) {
                            0 => table.insert(&mut txn, &row.datums()),
                            1 => delete(&table, &mut txn, row.id).map(drop),
                            _ => update(&table, &mut txn, row.id, &mut |_, buf| {
                                (1..4).for_each(|c| buf.set(c, row.datums()[c]));
                            })
                            .map(drop),
                        };
                        match done {
                            Ok(()) => {}
                            Err(Error::DuplicateKey { .. } | Error::LockWaitTimeout) => {
                                txn.rollback_to(&statement).unwrap();
                                done = Ok(());
                            }
                            Err(Error::Deadlock) => break,
                            Err(ref error) => panic!("{error}"),
                        }
                    }
                    match done.is_ok() && random.below(4) > 0 {
                        true => {
                            txn.commit().unwrap();
                            committed.fetch_add(1, Ordering::Relaxed);
                        }
                        false => txn.rollback().unwrap(),
                    }
                }
            });
        }
        for round in 0..25 {
            let new = [index(&[3, 1], false), index(&[2], true)];
            let alone = definition.write();
            let mut build = engine.build_indexes(table, &new).unwrap();
            drop(alone);
            let before = committed.load(Ordering::Relaxed);
            build
                .run(&mut |_| {
                    thread::sleep(Duration::from_millis(1));
                    Ok(())
                })
                .unwrap();
            let beside = committed.load(Ordering::Relaxed) - before;
            println!("round {round}: {beside} commits beside the build");
            let alone = definition.write();
            if round % 5 == 4 {
                drop(build);
                drop(alone);
                continue;
            }
            let mut ddl = engine.ddl().unwrap();
            ddl.finish_build(build).unwrap();
            ddl.commit().unwrap();
            drop(alone);
            thread::sleep(Duration::from_millis(5));
            let alone = definition.write();
            let handle = engine.table(table).unwrap();
            let mut txn = begin(&engine, Isolation::RepeatableRead);
            let expected = all(&handle, &mut txn);
            for index in 1..=3 {
                let all = KeyRange::all();
                let mut found = rows(&handle, &mut txn, index, &all, false, Read::Consistent).unwrap();
                found.sort();
                assert_same(&found, &expected);
            }
            drop(txn);
            let mut ddl = engine.ddl().unwrap();
            ddl.drop_index(table, 3).unwrap();
            ddl.drop_index(table, 2).unwrap();
            ddl.commit().unwrap();
            drop(alone);
        }
        over.store(true, Ordering::Relaxed);
    });
    assert!(committed.into_inner() > 100);
    engine.shutdown().unwrap();
    check(&disk);
}

/// The power goes during a build: the table is as it was committed, the index is not there, and nothing of its tree is left.
#[test]
fn a_crash_during_a_build_leaves_nothing_of_it() {
    for seed in 0..40 {
        println!("seed {seed}");
        let disk = SimDisk::new(seed);
        let engine = open(&disk);
        let table = create(&engine, &plain_schema()).id();
        let mut writers = Writers::new(&engine, table, seed, 3, 1 << 30);
        writers.fill(IDS / 2);
        let mut build = engine
            .build_indexes(table, &[index(&[2], true), index(&[3], false)])
            .unwrap();
        let mut calls = 0;
        let until = 1 + seed % 14;
        let built = build.run(&mut |_| {
            for _ in 0..25 {
                writers.step();
            }
            calls += 1;
            match calls == until {
                true => Err(Error::Interrupted),
                false => Ok(()),
            }
        });
        let mut ddl = None;
        if built.is_ok() && seed % 2 == 0 {
            writers.end();
            let mut change = engine.ddl().unwrap();
            change.finish_build(build).unwrap();
            ddl = Some(change);
        }
        let expected: Vec<Row> = writers.committed.values().cloned().collect();
        disk.cut_power();
        drop((ddl, writers, engine));
        let disk_after = disk.restart();
        let engine = open(&disk_after);
        let handle = engine.table(table).unwrap();
        assert_eq!(handle.schema().secondary.len(), 1);
        let mut txn = begin(&engine, Isolation::RepeatableRead);
        for index in 0..2 {
            let all = KeyRange::all();
            let mut found = rows(&handle, &mut txn, index, &all, false, Read::Consistent).unwrap();
            found.sort();
            assert_same(&found, &expected);
        }
        drop(txn);
        engine.shutdown().unwrap();
        check(&disk_after);
    }
}

/// A table with more entries than are sorted in memory, whose runs are merged; what they lay in is given back.
#[test]
fn runs_that_were_put_aside_are_given_back() {
    let disk = SimDisk::new(1);
    let mut config = config(&disk);
    config.buffer_pool_bytes = 16 << 20;
    let engine = Engine::open(config).unwrap();
    let table = create(&engine, &plain_schema());
    let text = |id: i64| format!("{:0>900}", id * 7919 % 20_011);
    let mut txn = engine.transaction();
    for id in 0..20_000 {
        if id % 1000 == 0 {
            if txn.is_active() {
                txn.commit().unwrap();
            }
            txn.begin(Isolation::RepeatableRead, false);
        }
        table
            .insert(&mut txn, &Row::new(id, id, &text(id)).datums())
            .unwrap();
    }
    txn.commit().unwrap();
    let pages = engine.status().spool_pages;
    let mut build = engine.build_indexes(table.id(), &[index(&[3], true)]).unwrap();
    let mut most = 0;
    build
        .run(&mut |_| {
            most = most.max(engine.status().spool_pages);
            Ok(())
        })
        .unwrap();
    assert!(most > pages + 100, "nothing was put aside");
    let mut ddl = engine.ddl().unwrap();
    ddl.finish_build(build).unwrap();
    ddl.commit().unwrap();
    assert_eq!(engine.status().spool_pages, pages);
    let table = engine.table(table.id()).unwrap();
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    let found = rows(&table, &mut txn, 2, &KeyRange::all(), false, Read::Consistent).unwrap();
    assert!(found.is_sorted_by_key(|row| row.c.clone()) && found.len() == 20_000);
    drop(txn);
    engine.shutdown().unwrap();
    check(&disk);
}
