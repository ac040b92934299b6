//! Many threads at once: money is neither made nor lost, snapshots stand still, no thread waits for ever.

mod common;

use common::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tidemark_engine::disk::sim::SimDisk;
use tidemark_engine::*;

const ACCOUNTS: i64 = 20;
const EACH: i64 = 1000;

fn bank(disk: &SimDisk) -> (Engine, Arc<Table>) {
    let engine = open(disk);
    let table = create(&engine, &schema());
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    for id in 0..ACCOUNTS {
        table
            .insert(&mut txn, &Row::new(id, EACH, "account").datums())
            .unwrap();
    }
    txn.commit().unwrap();
    (engine, table)
}

/// Moves money between two accounts, taking the locks in whatever order. Reads first, if told, with a lock.
fn transfer(table: &Table, txn: &mut Transaction, random: &mut Random, locking_read: bool) -> Result<()> {
    let (from, to) = (
        random.below(ACCOUNTS as u64) as i64,
        random.below(ACCOUNTS as u64) as i64,
    );
    let amount = random.below(100) as i64;
    if locking_read {
        let balance = get(table, txn, from, LOCKING)?
            .expect("an account")
            .k
            .expect("a balance");
        if balance < amount {
            return Ok(());
        }
    }
    for (id, change) in [(from, -amount), (to, amount)] {
        update(table, txn, id, &mut |row, buf| {
            buf.set(1, Datum::Int(row.k.expect("a balance") + change))
        })?;
    }
    Ok(())
}

fn total(table: &Table, txn: &mut Transaction, index: IndexNo) -> i64 {
    let rows = rows(table, txn, index, &KeyRange::all(), false, Read::Consistent).unwrap();
    assert_eq!(rows.len(), ACCOUNTS as usize);
    rows.iter().map(|r| r.k.unwrap()).sum()
}

fn bank_under(isolation: Isolation) {
    let disk = SimDisk::new(1);
    let (engine, table) = bank(&disk);
    let stop = Arc::new(AtomicBool::new(false));
    let (commits, deadlocks) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let movers: Vec<_> = (0..6u64)
        .map(|n| {
            let (engine, table, stop) = (engine.clone(), table.clone(), stop.clone());
            let (commits, deadlocks) = (commits.clone(), deadlocks.clone());
            thread::spawn(move || {
                let mut random = Random(n);
                let mut txn = engine.transaction();
                txn.set_lock_wait_timeout(Duration::from_secs(3));
                while !stop.load(Ordering::Relaxed) {
                    txn.begin(isolation, false);
                    match transfer(&table, &mut txn, &mut random, n % 2 == 0) {
                        Ok(()) if random.below(10) == 0 => txn.rollback().unwrap(),
                        Ok(()) => {
                            txn.commit().unwrap();
                            commits.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(Error::Deadlock) => {
                            txn.rollback().unwrap();
                            deadlocks.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            })
        })
        .collect();
    let watchers: Vec<_> = (0..2)
        .map(|n| {
            let (engine, table, stop) = (engine.clone(), table.clone(), stop.clone());
            thread::spawn(move || {
                let mut txn = engine.transaction();
                while !stop.load(Ordering::Relaxed) {
                    txn.begin(isolation, true);
                    for _ in 0..3 {
                        txn.statement_begin();
                        assert_eq!(total(&table, &mut txn, n), ACCOUNTS * EACH, "index {n}");
                        txn.statement_end();
                    }
                    txn.commit().unwrap();
                }
            })
        })
        .collect();
    let until = Instant::now() + Duration::from_secs(2);
    while Instant::now() < until || commits.load(Ordering::Relaxed) < 200 {
        thread::sleep(Duration::from_millis(20));
        assert!(Instant::now() < until + Duration::from_secs(60), "nothing moves");
    }
    stop.store(true, Ordering::Relaxed);
    movers.into_iter().chain(watchers).for_each(|t| t.join().unwrap());
    assert!(
        deadlocks.load(Ordering::Relaxed) > 0,
        "locks taken in any order must meet"
    );
    assert_eq!(engine.status().active_writers, 0);
    engine.shutdown().unwrap();
    drop((table, engine));
    check(&disk);
}

#[test]
fn money_is_conserved_under_read_committed() {
    bank_under(Isolation::ReadCommitted);
}

#[test]
fn money_is_conserved_under_repeatable_read() {
    bank_under(Isolation::RepeatableRead);
}

#[test]
fn a_snapshot_stands_still_beside_a_hot_row_whose_chain_stays_short() {
    let disk = SimDisk::new(2);
    let (engine, table) = bank(&disk);
    let mut snapshots = Vec::new();
    let mut writer = engine.transaction();
    for round in 0..20 {
        let mut snapshot = begin(&engine, Isolation::RepeatableRead);
        snapshot.consistent_snapshot().unwrap();
        let seen = get(&table, &mut snapshot, 7, Read::Consistent).unwrap().unwrap();
        snapshots.push((snapshot, seen));
        for i in 0..500 {
            writer.begin(Isolation::ReadCommitted, false);
            update(&table, &mut writer, 7, &mut |_, buf| {
                buf.set(1, Datum::Int(round * 1000 + i))
            })
            .unwrap();
            writer.commit().unwrap();
        }
        for (snapshot, seen) in &mut snapshots {
            assert_eq!(
                get(&table, snapshot, 7, Read::Consistent).unwrap().as_ref(),
                Some(&*seen)
            );
        }
    }
    // Ten thousand versions were made; pages are kept for those that the twenty views need, and the pages being filled.
    engine.purge().unwrap();
    assert!(
        engine.status().scratch_pages < 60,
        "{} pages",
        engine.status().scratch_pages
    );
    drop(snapshots);
    engine.purge().unwrap();
    assert!(
        engine.status().scratch_pages < 10,
        "{} pages",
        engine.status().scratch_pages
    );
}

#[test]
fn one_of_many_gets_a_unique_key() {
    let disk = SimDisk::new(3);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let won: Arc<Vec<AtomicU64>> = Arc::new((0..200).map(|_| AtomicU64::new(0)).collect());
    let threads: Vec<_> = (0..4i64)
        .map(|n| {
            let (engine, table, won) = (engine.clone(), table.clone(), won.clone());
            thread::spawn(move || {
                let mut random = Random(n as u64);
                let mut txn = engine.transaction();
                for u in 0..200 {
                    txn.begin(Isolation::ReadCommitted, false);
                    let row = Row {
                        u: Some(u),
                        ..Row::new(u * 10 + n, 1, "x")
                    };
                    match table.insert(&mut txn, &row.datums()) {
                        Ok(()) if random.below(3) == 0 => txn.rollback().unwrap(),
                        Ok(()) => {
                            txn.commit().unwrap();
                            won[u as usize].fetch_add(1, Ordering::Relaxed);
                        }
                        Err(Error::DuplicateKey { index: 2, .. } | Error::Deadlock) => {
                            txn.rollback().unwrap()
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    let rows = all(&table, &mut begin(&engine, Isolation::ReadCommitted));
    for u in 0..200 {
        let holders = rows.iter().filter(|r| r.u == Some(u)).count() as u64;
        assert!(holders <= 1, "{u} is held {holders} times");
        assert_eq!(holders, won[u as usize].load(Ordering::Relaxed));
    }
    drop(table);
    engine.shutdown().unwrap();
    drop(engine);
    check(&disk);
}

#[test]
fn locking_reads_wait_give_up_or_pass_by() {
    let disk = SimDisk::new(4);
    let (engine, table) = bank(&disk);
    let mut holder = begin(&engine, Isolation::ReadCommitted);
    update(&table, &mut holder, 3, &mut |_, buf| buf.set(1, Datum::Int(5))).unwrap();
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    let locking = |wait| Read::Locking {
        exclusive: true,
        wait,
    };
    assert!(matches!(
        get(&table, &mut txn, 3, locking(LockWait::NoWait)),
        Err(Error::LockNoWait)
    ));
    for index in [0, 1] {
        let skipped = rows(
            &table,
            &mut txn,
            index,
            &KeyRange::all(),
            false,
            locking(LockWait::Skip),
        )
        .unwrap();
        assert_eq!(skipped.len(), ACCOUNTS as usize - 1, "index {index}");
    }
    txn.set_lock_wait_timeout(Duration::from_millis(30));
    assert!(matches!(
        get(&table, &mut txn, 3, LOCKING),
        Err(Error::LockWaitTimeout)
    ));
    // The timeout ended the statement, not the transaction.
    assert!(txn.is_active());
    let shared = Read::Locking {
        exclusive: false,
        wait: LockWait::NoWait,
    };
    assert!(
        matches!(get(&table, &mut holder, 4, shared), Err(Error::LockNoWait)),
        "all others are locked"
    );
    txn.rollback().unwrap();
    assert!(get(&table, &mut holder, 4, shared).unwrap().is_some());
    // A reader that does not lock does not wait.
    txn.begin(Isolation::ReadCommitted, true);
    assert_eq!(
        get(&table, &mut txn, 3, Read::Consistent).unwrap().unwrap().k,
        Some(EACH)
    );
    txn.commit().unwrap();
    txn.begin(Isolation::ReadUncommitted, true);
    assert_eq!(
        get(&table, &mut txn, 3, Read::Consistent).unwrap().unwrap().k,
        Some(5)
    );
}

#[test]
fn a_waiter_goes_on_with_what_was_committed() {
    let disk = SimDisk::new(5);
    let (engine, table) = bank(&disk);
    let mut holder = begin(&engine, Isolation::RepeatableRead);
    delete(&table, &mut holder, 1).unwrap();
    update(&table, &mut holder, 2, &mut |_, buf| buf.set(1, Datum::Int(0))).unwrap();
    table
        .insert(
            &mut holder,
            &Row {
                u: Some(1),
                ..Row::new(100, 0, "new")
            }
            .datums(),
        )
        .unwrap();
    let waiters: Vec<_> = (0..4)
        .map(|n| {
            let (engine, table) = (engine.clone(), table.clone());
            thread::spawn(move || {
                let mut txn = begin(&engine, Isolation::RepeatableRead);
                match n {
                    0 => assert_eq!(get(&table, &mut txn, 1, LOCKING).unwrap(), None),
                    1 => {
                        let range = KeyRange::prefix(key(&table, 1, &[Datum::Int(EACH)]));
                        let found = rows(&table, &mut txn, 1, &range, false, LOCKING).unwrap();
                        assert_eq!(
                            found.len(),
                            ACCOUNTS as usize - 2,
                            "1 is gone, and 2 has another k"
                        );
                    }
                    2 => {
                        let done = table.insert(&mut txn, &Row::new(100, 1, "too late").datums());
                        assert!(matches!(done, Err(Error::DuplicateKey { index: 0, .. })));
                    }
                    _ => {
                        let row = Row {
                            u: Some(1),
                            ..Row::new(101, 1, "too late")
                        };
                        let done = table.insert(&mut txn, &row.datums());
                        assert!(matches!(done, Err(Error::DuplicateKey { index: 2, .. })));
                    }
                }
                txn.rollback().unwrap();
            })
        })
        .collect();
    while engine.status().row_lock_current_waits < 4 {
        thread::sleep(Duration::from_millis(1));
    }
    holder.commit().unwrap();
    waiters.into_iter().for_each(|t| t.join().unwrap());
}

#[test]
fn a_kill_ends_a_wait_for_a_row() {
    let disk = SimDisk::new(6);
    let (engine, table) = bank(&disk);
    let mut holder = begin(&engine, Isolation::RepeatableRead);
    delete(&table, &mut holder, 1).unwrap();
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    let interrupt = txn.interrupt();
    let waiter = thread::spawn(move || {
        let done = delete(&table, &mut txn, 1);
        txn.rollback().unwrap();
        done
    });
    while engine.status().row_lock_current_waits < 1 {
        thread::sleep(Duration::from_millis(1));
    }
    interrupt.kill();
    assert!(matches!(waiter.join().unwrap(), Err(Error::Interrupted)));
}

#[test]
fn rows_that_did_not_match_are_let_go_under_read_committed_only() {
    let disk = SimDisk::new(7);
    let (engine, table) = bank(&disk);
    for (isolation, free) in [
        (Isolation::ReadCommitted, true),
        (Isolation::RepeatableRead, false),
    ] {
        let mut txn = begin(&engine, isolation);
        table
            .modify_range(&mut txn, &RangeScan::new(0, &KeyRange::all()), &mut |row, _| {
                let keep = row.get(0) == Datum::Int(5);
                Ok((if keep { Action::Keep } else { Action::Skip }, Flow::Continue))
            })
            .unwrap();
        let mut other = begin(&engine, Isolation::ReadCommitted);
        let no_wait = Read::Locking {
            exclusive: true,
            wait: LockWait::NoWait,
        };
        assert!(matches!(
            get(&table, &mut other, 5, no_wait),
            Err(Error::LockNoWait)
        ));
        assert_eq!(get(&table, &mut other, 6, no_wait).is_ok(), free, "{isolation:?}");
    }
}

/// Locks are let go of before their commit is durable. Whoever takes such a lock and then a view must find in it all
/// that the commit wrote, as if it had been visible before the lock was free.
#[test]
fn a_view_is_not_older_than_what_its_transaction_has_locked() {
    let disk = SimDisk::new(10);
    let (engine, table) = bank(&disk);
    disk.set_faults(disk::sim::Faults {
        sync_takes: Duration::from_millis(2),
        ..Default::default()
    });
    // Two rows that every transaction leaves equal, the first of which is the lock on both.
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for isolation in [Isolation::RepeatableRead, Isolation::ReadCommitted].repeat(25) {
                    let mut txn = begin(&engine, isolation);
                    let mut first = 0;
                    update(&table, &mut txn, 1, &mut |row, buf| {
                        first = row.k.expect("a number");
                        buf.set(1, Datum::Int(first + 1));
                    })
                    .unwrap();
                    txn.statement_begin();
                    let second = get(&table, &mut txn, 2, Read::Consistent).unwrap();
                    assert_eq!(second.expect("the row").k, Some(first));
                    update(&table, &mut txn, 2, &mut |_, buf| {
                        buf.set(1, Datum::Int(first + 1))
                    })
                    .unwrap();
                    txn.commit().unwrap();
                }
            });
        }
    });
}

#[test]
fn snapshot_isolation_refuses_what_changed_since_the_view() {
    let disk = SimDisk::new(8);
    let (engine, table) = bank(&disk);
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    txn.set_snapshot_isolation(true);
    txn.consistent_snapshot().unwrap();
    let mut other = begin(&engine, Isolation::RepeatableRead);
    update(&table, &mut other, 1, &mut |_, buf| buf.set(1, Datum::Int(0))).unwrap();
    other.commit().unwrap();
    assert!(matches!(
        get(&table, &mut txn, 1, LOCKING),
        Err(Error::RecordChanged)
    ));
    assert!(matches!(delete(&table, &mut txn, 1), Err(Error::RecordChanged)));
    assert!(delete(&table, &mut txn, 2).unwrap());
}

#[test]
fn more_data_than_the_pool_holds_works() {
    let disk = SimDisk::new(9);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    let text = "x".repeat(1000);
    for id in 0..16_000 {
        table
            .insert(
                &mut txn,
                &Row::new(id, id * 7919 % 16_000, &text[..900 + id as usize % 100]).datums(),
            )
            .unwrap();
        if id % 1000 == 999 {
            txn.commit().unwrap();
            txn.begin(Isolation::RepeatableRead, false);
        }
    }
    // One statement over everything, beside a view of what was: four times the pool in versions.
    let mut old = begin(&engine, Isolation::RepeatableRead);
    old.consistent_snapshot().unwrap();
    table
        .modify_range(&mut txn, &RangeScan::new(0, &KeyRange::all()), &mut |row, buf| {
            buf.set(2, Datum::Int(row.get(0).as_int().unwrap()));
            Ok((Action::Update, Flow::Continue))
        })
        .unwrap();
    txn.commit().unwrap();
    let mut random = Random(1);
    for _ in 0..2000 {
        let id = random.below(16_000) as i64;
        assert_eq!(
            get(&table, &mut old, id, Read::Consistent).unwrap().unwrap().u,
            None
        );
    }
    drop(old);
    txn.begin(Isolation::ReadCommitted, false);
    assert_eq!(
        rows(&table, &mut txn, 2, &KeyRange::all(), true, Read::Consistent)
            .unwrap()
            .len(),
        16_000
    );
    txn.commit().unwrap();
    engine.shutdown().unwrap();
    drop((txn, table, engine));
    check(&disk);
}

/// Rows one by one out of a table that an old view still sees whole.
#[test]
fn deleted_rows_are_out_of_the_way_of_all_but_old_views() {
    let disk = SimDisk::new(30);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    for id in 0..3000 {
        table
            .insert(&mut txn, &Row::new(id, id % 7, "queued").datums())
            .unwrap();
    }
    txn.commit().unwrap();
    let mut old = begin(&engine, Isolation::RepeatableRead);
    let before = all(&table, &mut old);
    for id in 0..2900 {
        txn.begin(Isolation::ReadCommitted, false);
        assert!(delete(&table, &mut txn, id).unwrap());
        // And one that comes and goes while the view is open: no view wants it.
        table
            .insert(&mut txn, &Row::new(10_000 + id, 3, "short").datums())
            .unwrap();
        txn.commit().unwrap();
        txn.begin(Isolation::ReadCommitted, false);
        assert!(delete(&table, &mut txn, 10_000 + id).unwrap());
        txn.commit().unwrap();
    }
    engine.purge().unwrap();
    let buried = engine.status().buried_entries;
    assert_eq!(buried, 2900 * 4, "each row and its three entries");
    assert!(
        table.estimate_rows() <= 200,
        "about {} rows are in the way",
        table.estimate_rows()
    );
    for index in 0..4 {
        for reverse in [false, true] {
            let mut found = rows(
                &table,
                &mut old,
                index,
                &KeyRange::all(),
                reverse,
                Read::Consistent,
            )
            .unwrap();
            if reverse {
                found.reverse();
            }
            assert!(index > 0 || found == before);
            found.sort();
            assert!(found == before, "index {index}");
        }
    }
    // One of them comes back, as another row.
    txn.begin(Isolation::ReadCommitted, false);
    table.insert(&mut txn, &Row::new(5, 1, "again").datums()).unwrap();
    txn.commit().unwrap();
    assert_eq!(
        get(&table, &mut old, 5, Read::Consistent).unwrap().as_ref(),
        Some(&before[5])
    );
    assert!(all(&table, &mut old) == before);
    old.commit().unwrap();
    engine.purge().unwrap();
    engine.purge().unwrap();
    assert_eq!(engine.status().buried_entries, 0);
    txn.begin(Isolation::ReadCommitted, false);
    assert_eq!(all(&table, &mut txn).len(), 101);
    txn.commit().unwrap();
    drop((txn, old, table));
    engine.shutdown().unwrap();
    drop(engine);
    check(&disk);
}

/// Every row many times over beside one view: what is kept is what it needs, not what was written.
#[test]
fn the_space_of_versions_follows_what_is_needed() {
    let disk = SimDisk::new(31);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    const ROWS: i64 = 2000;
    for id in 0..ROWS {
        table
            .insert(
                &mut txn,
                &Row::new(id, id % 7, "a row of some length, to fill pages").datums(),
            )
            .unwrap();
    }
    txn.commit().unwrap();
    let mut old = begin(&engine, Isolation::RepeatableRead);
    let before = all(&table, &mut old);
    let mut random = Random(1);
    let mut most = 0;
    for round in 0..15 {
        for _ in 0..ROWS {
            txn.begin(Isolation::ReadCommitted, false);
            let id = random.below(ROWS as u64) as i64;
            update(&table, &mut txn, id, &mut |_, buf| buf.set(1, Datum::Int(round))).unwrap();
            txn.commit().unwrap();
        }
        engine.purge().unwrap();
        most = most.max(engine.status().scratch_pages);
    }
    assert!(all(&table, &mut old) == before);
    // A version takes about 130 bytes here: 2000 of them, 16 pages, and as much again for buried entries. 30,000 were made.
    assert!(most < 80, "{most} pages");
    old.commit().unwrap();
    engine.purge().unwrap();
    engine.purge().unwrap();
    assert!(
        engine.status().scratch_pages < 12,
        "{}",
        engine.status().scratch_pages
    );
}

#[test]
fn the_past_can_be_read_while_history_is_kept() {
    use std::time::SystemTime;
    let disk = SimDisk::new(32);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let too_early = engine.status().tide;
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    for id in 0..50 {
        table
            .insert(&mut txn, &Row::new(id, 0, "before").datums())
            .unwrap();
    }
    txn.commit().unwrap();
    engine.set_undo_retention(Duration::from_secs(100));
    // History begins when the purge thread hears of it.
    thread::sleep(Duration::from_millis(200));
    let mut moments = Vec::new();
    for round in 1..=20 {
        txn.begin(Isolation::ReadCommitted, false);
        for id in 0..50 {
            match (id + round) % 5 {
                0 => drop(delete(&table, &mut txn, id).unwrap()),
                1 => drop(table.insert(&mut txn, &Row::new(id, round, "new").datums())),
                _ => drop(update(&table, &mut txn, id, &mut |_, buf| {
                    buf.set(1, Datum::Int(round))
                })),
            }
        }
        txn.commit().unwrap();
        txn.begin(Isolation::ReadCommitted, false);
        let now = (engine.status().tide, SystemTime::now());
        moments.push((now, all(&table, &mut txn)));
        txn.commit().unwrap();
        if round % 5 == 0 {
            engine.purge().unwrap();
            // Let a sample of the tide come between.
            thread::sleep(Duration::from_millis(120));
        }
    }
    let mut past = engine.transaction();
    for (round, ((lsn, time), expected)) in moments.iter().enumerate() {
        past.begin(Isolation::RepeatableRead, true);
        past.see_past(Moment::Lsn(*lsn)).unwrap();
        for index in 0..4 {
            let mut found = rows(
                &table,
                &mut past,
                index,
                &KeyRange::all(),
                false,
                Read::Consistent,
            )
            .unwrap();
            found.sort();
            assert!(found == *expected, "round {round}, index {index}");
        }
        past.commit().unwrap();
        if round % 5 == 4 {
            past.begin(Isolation::RepeatableRead, true);
            past.see_past(Moment::Time(*time + Duration::from_millis(100)))
                .unwrap();
            assert!(all(&table, &mut past) == *expected, "round {round}, by time");
            past.commit().unwrap();
        }
    }
    past.begin(Isolation::RepeatableRead, true);
    let refused = past.see_past(Moment::Lsn(too_early));
    assert!(matches!(refused, Err(Error::HistoryGone)), "{refused:?}");
    engine.set_undo_retention(Duration::ZERO);
    thread::sleep(Duration::from_millis(200));
    engine.purge().unwrap();
    let refused = past.see_past(Moment::Lsn(moments[3].0.0));
    assert!(matches!(refused, Err(Error::HistoryGone)), "{refused:?}");
    past.rollback().unwrap();
}

/// An old view needs the first version of each row, and of the history since nothing.
#[test]
fn history_does_not_grow_beside_an_old_view() {
    let disk = SimDisk::new(34);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    for id in 0..10 {
        table.insert(&mut txn, &Row::new(id, 0, "x").datums()).unwrap();
    }
    txn.commit().unwrap();
    let mut old = begin(&engine, Isolation::RepeatableRead);
    old.consistent_snapshot().unwrap();
    for n in 0..20_000 {
        txn.begin(Isolation::ReadCommitted, false);
        update(&table, &mut txn, n % 10, &mut |_, buf| buf.set(2, Datum::Int(n))).unwrap();
        txn.commit().unwrap();
    }
    engine.purge().unwrap();
    let status = engine.status();
    assert!(status.history_length < 2000, "{}", status.history_length);
    assert!(all(&table, &mut old).iter().all(|row| row.u.is_none()));
}

#[test]
fn who_holds_history_back_is_known_and_writers_are_slowed_down() {
    let disk = SimDisk::new(33);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    for id in 0..100 {
        table.insert(&mut txn, &Row::new(id, 0, "x").datums()).unwrap();
    }
    txn.commit().unwrap();
    let mut change = |k: i64| {
        txn.begin(Isolation::ReadCommitted, false);
        for id in 0..100 {
            update(&table, &mut txn, id, &mut |_, buf| buf.set(1, Datum::Int(k))).unwrap();
        }
        txn.commit().unwrap();
    };
    let open_view = || {
        let mut view = begin(&engine, Isolation::RepeatableRead);
        view.consistent_snapshot().unwrap();
        view
    };
    let old = open_view();
    (1..4).for_each(&mut change);
    let (middle, twin) = (open_view(), open_view());
    (4..9).for_each(&mut change);
    engine.purge().unwrap();
    let views = engine.views().unwrap();
    let of = |t: &Transaction| *views.iter().find(|v| v.owner == t.owner()).unwrap();
    assert_eq!(views[0], of(&old));
    assert_eq!(of(&old).versions, 100);
    assert!(of(&old).bytes > 100 * 40);
    // Two that see the same have nothing that only one of them needs.
    assert_eq!((of(&middle).versions, of(&twin).versions), (0, 0));
    drop(twin);
    let views = engine.views().unwrap();
    assert_eq!(views.iter().map(|v| v.versions).collect::<Vec<_>>(), [100, 100]);

    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let observer = told.clone();
    engine.set_on_history_excess(Some(Arc::new(move |excess: &HistoryExcess| {
        observer
            .lock()
            .unwrap()
            .push(excess.oldest.map(|view| view.owner));
    })));
    engine.set_history_limits(HistoryLimits {
        bytes: engine.status().version_bytes / 4,
        delay_max: Duration::from_millis(2),
        ..HistoryLimits::default()
    });
    thread::sleep(Duration::from_millis(200));
    assert_eq!(*told.lock().unwrap(), [Some(old.owner())]);
    let start = Instant::now();
    change(9);
    assert!(
        start.elapsed() >= Duration::from_millis(200),
        "{:?}",
        start.elapsed()
    );
    drop((old, middle));
    engine.set_history_limits(HistoryLimits::default());
    thread::sleep(Duration::from_millis(200));
    change(10);
}
