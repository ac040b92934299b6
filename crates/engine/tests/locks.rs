//! Which locks are taken where, one rule at a time. What is expected is what InnoDB of MySQL 9.7 shows in
//! `performance_schema.data_locks` for the same rows, but for the lock that a writer has by its id in the row: here that
//! is no object until another transaction meets it.

mod common;

use common::*;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;
use tidemark_engine::disk::sim::SimDisk;
use tidemark_engine::*;

const RR: Isolation = Isolation::RepeatableRead;
const RC: Isolation = Isolation::ReadCommitted;
const SHARING: Read = Read::Locking {
    exclusive: false,
    wait: LockWait::Wait,
};

struct Fixture {
    engine: Engine,
    table: Arc<Table>,
}

impl Fixture {
    /// `(id, k, u)`: (10, 10, 10), (20, 20, 20), (30, 30, 30), (40, 30, 40), (50, 50, NULL).
    fn new() -> Fixture {
        let engine = open(&SimDisk::new(1));
        let table = create(&engine, &schema());
        let mut txn = begin(&engine, RR);
        for (id, k, u) in [
            (10, 10, Some(10)),
            (20, 20, Some(20)),
            (30, 30, Some(30)),
            (40, 30, Some(40)),
            (50, 50, None),
        ] {
            let row = Row {
                u,
                ..Row::new(id, k, "")
            };
            table.insert(&mut txn, &row.datums()).unwrap();
        }
        txn.commit().unwrap();
        Fixture { engine, table }
    }

    fn begin(&self, isolation: Isolation) -> Transaction {
        let mut txn = begin(&self.engine, isolation);
        txn.set_lock_wait_timeout(Duration::ZERO);
        txn
    }

    /// Inserts rows by their `id` and `k`, and commits.
    fn fill(&self, rows: impl Iterator<Item = (i64, i64)>) {
        let mut txn = self.begin(RR);
        for (id, k) in rows {
            self.table
                .insert(&mut txn, &Row::new(id, k, "").datums())
                .unwrap();
        }
        txn.commit().unwrap();
    }

    fn row(&self, id: i64, k: i64, u: i64) -> Row {
        Row {
            u: Some(u),
            ..Row::new(id, k, "")
        }
    }

    fn insert(&self, txn: &mut Transaction, id: i64, k: i64, u: i64) -> Result<()> {
        self.table.insert(txn, &self.row(id, k, u).datums())
    }

    /// The locks on entries: index, mode and key, in order.
    fn locks(&self) -> Vec<String> {
        let mut shown: Vec<String> = self
            .engine
            .locks()
            .iter()
            .filter(|lock| lock.index.is_some())
            .map(|lock| {
                let index = lock.index.unwrap();
                let name = ["id", "k", "u", "ck"][index];
                let place = match &lock.place {
                    LockPlace::Supremum => "end".to_string(),
                    LockPlace::Key(key) => {
                        let mut text = String::new();
                        self.table
                            .show_key(index, key, &mut |values| {
                                let values = values.iter().map(|v| match v {
                                    Datum::Null => "NULL".to_string(),
                                    v => v.as_int().map_or("text".to_string(), |v| v.to_string()),
                                });
                                text = values.collect::<Vec<_>>().join("/");
                            })
                            .unwrap();
                        text
                    }
                    other => format!("{other:?}"),
                };
                format!("{name} {place} {}", lock.mode_text())
            })
            .collect();
        shown.sort();
        shown
    }

    fn select(&self, txn: &mut Transaction, index: IndexNo, range: &KeyRange, reverse: bool) -> Vec<i64> {
        let found = rows(&self.table, txn, index, range, reverse, LOCKING).unwrap();
        found.iter().map(|r| r.id).collect()
    }

    /// What one read locks.
    fn placed(&self, isolation: Isolation, index: IndexNo, range: KeyRange, reverse: bool) -> Vec<String> {
        let mut txn = self.begin(isolation);
        self.select(&mut txn, index, &range, reverse);
        let locks = self.locks();
        txn.commit().unwrap();
        assert_eq!(self.locks(), [""; 0], "nothing is left behind");
        locks
    }

    fn at(&self, index: IndexNo, value: i64) -> Vec<u8> {
        key(&self.table, index, &[Datum::Int(value)])
    }

    fn equal(&self, index: IndexNo, value: i64) -> KeyRange {
        KeyRange::prefix(self.at(index, value))
    }

    fn range(&self, index: IndexNo, lower: Bound<i64>, upper: Bound<i64>) -> KeyRange {
        KeyRange {
            lower: lower.map(|v| self.at(index, v)),
            upper: upper.map(|v| self.at(index, v)),
        }
    }
}

use Bound::{Excluded, Included, Unbounded};

#[test]
fn a_row_found_by_its_key_is_locked_alone_and_a_missing_one_leaves_its_gap_locked() {
    let f = Fixture::new();
    assert_eq!(f.placed(RR, 0, f.equal(0, 20), false), ["id 20 X,REC_NOT_GAP"]);
    assert_eq!(f.placed(RR, 0, f.equal(0, 25), false), ["id 30 X,GAP"]);
    assert_eq!(f.placed(RR, 0, f.equal(0, 60), false), ["id end X"]);
    assert_eq!(f.placed(RC, 0, f.equal(0, 20), false), ["id 20 X,REC_NOT_GAP"]);
    assert_eq!(f.placed(RC, 0, f.equal(0, 25), false), [""; 0]);
    let mut txn = f.begin(RR);
    assert_eq!(get(&f.table, &mut txn, 25, LOCKING).unwrap(), None);
    assert_eq!(f.locks(), ["id 30 X,GAP"]);
}

#[test]
fn a_range_of_rows_is_locked_with_its_gaps() {
    let f = Fixture::new();
    let placed = |lower, upper| f.placed(RR, 0, f.range(0, lower, upper), false);
    assert_eq!(
        placed(Excluded(30), Unbounded),
        ["id 40 X", "id 50 X", "id end X"]
    );
    assert_eq!(
        placed(Included(40), Unbounded),
        ["id 40 X,REC_NOT_GAP", "id 50 X", "id end X"]
    );
    assert_eq!(placed(Excluded(20), Excluded(40)), ["id 30 X", "id 40 X,GAP"]);
    assert_eq!(
        placed(Unbounded, Included(20)),
        ["id 10 X", "id 20 X"],
        "nothing behind the row that ends it"
    );
    assert_eq!(
        placed(Unbounded, Included(25)),
        ["id 10 X", "id 20 X", "id 30 X,GAP"]
    );
    let none = f.placed(RC, 0, f.range(0, Excluded(20), Excluded(40)), false);
    assert_eq!(none, ["id 30 X,REC_NOT_GAP"]);
}

#[test]
fn backwards_the_gap_behind_and_the_row_before_are_locked_as_well() {
    let f = Fixture::new();
    let placed = |lower, upper| f.placed(RR, 0, f.range(0, lower, upper), true);
    assert_eq!(
        placed(Unbounded, Included(20)),
        ["id 10 X", "id 20 X", "id 30 X,GAP"]
    );
    assert_eq!(
        placed(Included(20), Excluded(40)),
        ["id 10 X", "id 20 X", "id 30 X", "id 40 X,GAP"]
    );
    assert_eq!(
        placed(Excluded(40), Unbounded),
        ["id 40 X", "id 50 X", "id end X"]
    );
}

#[test]
fn equal_entries_are_locked_with_their_gaps_and_the_one_behind() {
    let f = Fixture::new();
    assert_eq!(
        f.placed(RR, 1, f.equal(1, 30), false),
        [
            "id 30 X,REC_NOT_GAP",
            "id 40 X,REC_NOT_GAP",
            "k 30/30 X",
            "k 30/40 X",
            "k 50/50 X,GAP"
        ]
    );
    assert_eq!(f.placed(RR, 1, f.equal(1, 25), false), ["k 30/30 X,GAP"]);
    assert_eq!(
        f.placed(RC, 1, f.equal(1, 20), false),
        ["id 20 X,REC_NOT_GAP", "k 20/20 X,REC_NOT_GAP"]
    );
    assert_eq!(
        f.placed(RR, 1, f.range(1, Unbounded, Excluded(20)), false),
        ["id 10 X,REC_NOT_GAP", "k 10/10 X", "k 20/20 X"],
        "of a range, the entry behind it is locked, but not its row"
    );
}

#[test]
fn an_entry_of_a_unique_key_is_locked_alone() {
    let f = Fixture::new();
    assert_eq!(
        f.placed(RR, 2, f.equal(2, 20), false),
        ["id 20 X,REC_NOT_GAP", "u 20/20 X,REC_NOT_GAP"]
    );
    assert_eq!(f.placed(RR, 2, f.equal(2, 25), false), ["u 30/30 X,GAP"]);
    let null = KeyRange::prefix(key(&f.table, 2, &[Datum::Null]));
    assert_eq!(
        f.placed(RR, 2, null, false),
        ["id 50 X,REC_NOT_GAP", "u 10/10 X,GAP", "u NULL/50 X"],
        "NULL is no unique key"
    );
}

#[test]
fn a_shared_read_of_the_index_alone_leaves_the_row_unlocked() {
    let f = Fixture::new();
    let mut txn = f.begin(RR);
    let read = Read::Locking {
        exclusive: false,
        wait: LockWait::Wait,
    };
    let mut seen = Vec::new();
    f.table
        .scan(
            &mut txn,
            &RangeScan::new(1, &f.equal(1, 20)).covering(true),
            read,
            &mut |view| {
                seen.push(view.get(1).as_int());
                Ok((Keep::Locked, Flow::Continue))
            },
        )
        .unwrap();
    assert_eq!(seen, [Some(20)]);
    assert_eq!(f.locks(), ["k 20/20 S", "k 30/30 S,GAP"]);
    let mut other = f.begin(RR);
    update(&f.table, &mut other, 20, &mut |_, buf| {
        buf.set(3, Datum::Bytes(b"x"))
    })
    .expect("leaves the entry");
    let moves = update(&f.table, &mut other, 20, &mut |_, buf| buf.set(1, Datum::Int(21)));
    assert!(matches!(moves, Err(Error::LockWaitTimeout)));
}

#[test]
fn a_duplicate_is_locked_shared() {
    let f = Fixture::new();
    let mut txn = f.begin(RR);
    assert!(matches!(
        f.insert(&mut txn, 20, 1, 1),
        Err(Error::DuplicateKey { index: 0, .. })
    ));
    assert_eq!(f.locks(), ["id 20 S,REC_NOT_GAP"]);
    txn.rollback().unwrap();
    let mut txn = f.begin(RC);
    let statement = txn.savepoint();
    assert!(matches!(
        f.insert(&mut txn, 25, 25, 20),
        Err(Error::DuplicateKey { index: 2, .. })
    ));
    txn.rollback_to(&statement).unwrap();
    assert_eq!(f.locks(), ["u 20/20 S"], "with its gap, whatever the level");
}

#[test]
fn inserts_wait_for_locked_gaps_and_divide_their_own() {
    let f = Fixture::new();
    let mut a = f.begin(RR);
    f.select(&mut a, 0, &f.equal(0, 25), false);
    let mut b = f.begin(RC);
    assert!(matches!(f.insert(&mut b, 27, 1, 1), Err(Error::LockWaitTimeout)));
    f.insert(&mut b, 35, 35, 35).expect("another gap");
    f.insert(&mut a, 25, 25, 25).unwrap();
    assert_eq!(f.locks(), ["id 25 X,GAP", "id 30 X,GAP"]);
    assert!(matches!(f.insert(&mut b, 22, 1, 1), Err(Error::LockWaitTimeout)));
}

#[test]
fn what_is_rolled_back_leaves_its_place_locked_while_the_transaction_goes_on() {
    let f = Fixture::new();
    let mut txn = f.begin(RR);
    f.select(&mut txn, 0, &f.equal(0, 10), false);
    let savepoint = txn.savepoint();
    f.insert(&mut txn, 25, 25, 25).unwrap();
    txn.rollback_to(&savepoint).unwrap();
    let locks = f.locks();
    assert!(
        locks.contains(&"id 30 X,GAP".into()) && locks.contains(&"u 30/30 X,GAP".into()),
        "{locks:?}"
    );
    let mut other = f.begin(RR);
    assert!(matches!(
        f.insert(&mut other, 25, 1, 1),
        Err(Error::LockWaitTimeout)
    ));
}

#[test]
fn a_row_whose_change_is_undone_stays_locked() {
    let f = Fixture::new();
    for isolation in [RR, RC] {
        let mut txn = f.begin(isolation);
        let savepoint = txn.savepoint();
        update(&f.table, &mut txn, 10, &mut |_, buf| buf.set(1, Datum::Int(11))).unwrap();
        delete(&f.table, &mut txn, 20).unwrap();
        txn.rollback_to(&savepoint).unwrap();
        let mut other = f.begin(RC);
        for id in [10, 20] {
            assert!(matches!(
                delete(&f.table, &mut other, id),
                Err(Error::LockWaitTimeout)
            ));
        }
        txn.rollback().unwrap();
        delete(&f.table, &mut other, 10).expect("let go with the transaction");
    }
}

#[test]
fn purge_hands_the_locks_of_what_it_takes_out_to_the_gap() {
    let f = Fixture::new();
    let mut txn = f.begin(RR);
    delete(&f.table, &mut txn, 20).unwrap();
    txn.commit().unwrap();
    let mut a = f.begin(RR);
    f.select(&mut a, 0, &f.range(0, Included(15), Included(25)), false);
    f.engine.purge().unwrap();
    let locks = f.locks();
    assert!(
        locks
            .iter()
            .all(|lock| lock == "id 30 X,GAP" || lock == "id 20 X"),
        "{locks:?}"
    );
    let mut b = f.begin(RR);
    for id in [12, 18, 20, 22] {
        assert!(
            matches!(f.insert(&mut b, id, 1, 1), Err(Error::LockWaitTimeout)),
            "{id}"
        );
    }
}

/// What is deleted is put out of the way of readers that do not want it, beside an old view; not before its deleter has ended.
#[test]
fn what_a_running_transaction_has_deleted_is_met_by_locking_reads_whatever_purge_does() {
    for isolation in [RC, RR] {
        let f = Fixture::new();
        let mut old = f.begin(RR);
        old.consistent_snapshot().unwrap();
        let mut ended = f.begin(RR);
        delete(&f.table, &mut ended, 10).unwrap();
        ended.commit().unwrap();
        let mut running = f.begin(isolation);
        delete(&f.table, &mut running, 20).unwrap();
        update(&f.table, &mut running, 40, &mut |_, buf| {
            buf.set(1, Datum::Int(35))
        })
        .unwrap();
        f.engine.purge().unwrap();
        assert!(f.engine.status().buried_entries > 0, "row 10 is buried");
        let mut a = f.begin(isolation);
        assert_eq!(get(&f.table, &mut a, 10, LOCKING).unwrap(), None);
        for (index, value) in [(0, 20), (1, 20), (2, 20), (1, 30)] {
            let met = rows(&f.table, &mut a, index, &f.equal(index, value), false, LOCKING);
            assert!(
                matches!(met, Err(Error::LockWaitTimeout)),
                "index {index}, {value}: {met:?}"
            );
        }
        running.rollback().unwrap();
        for (index, value, found) in [
            (0, 20, vec![20]),
            (1, 20, vec![20]),
            (2, 20, vec![20]),
            (1, 30, vec![30, 40]),
        ] {
            assert_eq!(f.select(&mut a, index, &f.equal(index, value), false), found);
        }
        a.commit().unwrap();
        let seen = all(&f.table, &mut old);
        assert_eq!(seen.len(), 5, "the old view still sees all: {seen:?}");
    }
}

#[test]
fn a_long_scan_locks_a_run_and_no_less() {
    let f = Fixture::new();
    f.fill((100..3000).map(|id| (id * 2, id)));
    for reverse in [false, true] {
        let mut a = f.begin(RR);
        let range = f.range(0, Included(400), Included(5000));
        assert_eq!(f.select(&mut a, 0, &range, reverse).len(), 2301);
        assert!(f.engine.locks().len() < 80, "{} objects", f.engine.locks().len());
        let mut b = f.begin(RC);
        for id in [400, 700, 3500, 5000] {
            assert!(
                matches!(get(&f.table, &mut b, id, LOCKING), Err(Error::LockWaitTimeout)),
                "{id}"
            );
            assert!(
                matches!(delete(&f.table, &mut b, id), Err(Error::LockWaitTimeout)),
                "{id}"
            );
            assert!(
                id == 400 || matches!(f.insert(&mut b, id - 1, 1, id), Err(Error::LockWaitTimeout)),
                "{id}"
            );
        }
        get(&f.table, &mut b, 5004, LOCKING).expect("is not in the range");
        // The owner's own rows in between are his like the others.
        f.insert(&mut a, 3501, 1, 3501).unwrap();
        assert!(matches!(
            f.insert(&mut b, 3501, 1, 1),
            Err(Error::LockWaitTimeout)
        ));
        a.rollback().unwrap();
        get(&f.table, &mut b, 3500, LOCKING).expect("let go with its transaction");
        drop(b);
        assert_eq!(f.locks(), [""; 0]);
    }
}

#[test]
fn records_locked_in_great_number_take_a_few_bytes_each_and_are_locked_no_less() {
    let f = Fixture::new();
    f.fill((100..5000).map(|id| (id * 2, id)));
    // By the rows in their order, and by an index in the other direction.
    for (index, reverse) in [(0, false), (0, true), (1, true)] {
        let mut a = f.begin(RC);
        let bound = |id: i64| if index == 0 { id } else { id / 2 };
        let range = f.range(index, Included(bound(400)), Included(bound(9000)));
        assert_eq!(f.select(&mut a, index, &range, reverse).len(), 4301);
        let a_holds = f.engine.transactions().remove(0);
        assert!(a_holds.row_locks >= 4301, "{}", a_holds.row_locks);
        let most = 64 * 256 + 16 * a_holds.row_locks;
        assert!(
            a_holds.lock_memory_bytes < most,
            "{} bytes",
            a_holds.lock_memory_bytes
        );
        let mut b = f.begin(RC);
        for id in [400, 402, 700, 3500, 9000] {
            assert!(
                matches!(get(&f.table, &mut b, id, LOCKING), Err(Error::LockWaitTimeout)),
                "{id}"
            );
            assert!(
                matches!(delete(&f.table, &mut b, id), Err(Error::LockWaitTimeout)),
                "{id}"
            );
        }
        // Gaps are not locked, and what comes there belongs to its writer.
        f.insert(&mut b, 3501, 1, 3501).unwrap();
        get(&f.table, &mut b, 9002, LOCKING).expect("is not in the range");
        assert!(matches!(
            get(&f.table, &mut a, 3501, LOCKING),
            Err(Error::LockWaitTimeout)
        ));
        // What the owner deletes, and its rollback brings back, stays locked as long as it runs.
        let savepoint = a.savepoint();
        delete(&f.table, &mut a, 700).unwrap();
        a.rollback_to(&savepoint).unwrap();
        assert!(matches!(
            get(&f.table, &mut b, 700, LOCKING),
            Err(Error::LockWaitTimeout)
        ));
        a.rollback().unwrap();
        get(&f.table, &mut b, 3500, LOCKING).expect("let go with its transaction");
        b.rollback().unwrap();
        assert_eq!(f.locks(), [""; 0]);
    }
}

#[test]
fn shared_locks_in_great_number_of_several_transactions_need_no_objects() {
    let f = Fixture::new();
    f.fill((100..3000).map(|id| (id, id)));
    let mut readers = [f.begin(RC), f.begin(RC), f.begin(RR)];
    for reader in &mut readers {
        let range = f.range(0, Included(100), Unbounded);
        rows(&f.table, reader, 0, &range, false, SHARING).unwrap();
    }
    let bytes: u64 = f.engine.transactions().iter().map(|t| t.lock_memory_bytes).sum();
    assert!(bytes < 200_000, "{bytes}");
    let mut writer = f.begin(RC);
    for reader in &mut readers {
        assert!(matches!(
            delete(&f.table, &mut writer, 2000),
            Err(Error::LockWaitTimeout)
        ));
        reader.commit().unwrap();
    }
    delete(&f.table, &mut writer, 2000).unwrap();
}

#[test]
fn locks_beyond_their_memory_are_refused_to_the_one_with_many() {
    let disk = SimDisk::new(1);
    let mut config = config(&disk);
    config.lock_memory_bytes = Some(256 << 10);
    let engine = Engine::open(config).unwrap();
    let table = create(&engine, &schema());
    let mut txn = begin(&engine, RR);
    for id in 0..4000 {
        table.insert(&mut txn, &Row::new(id, id, "").datums()).unwrap();
    }
    txn.commit().unwrap();
    // By equality in an index, each entry is locked with its gap, and the gap behind it: two objects.
    let mut greedy = begin(&engine, RR);
    let reads = (1000..4000).map(|k| {
        let range = KeyRange::prefix(key(&table, 1, &[Datum::Int(k)]));
        rows(&table, &mut greedy, 1, &range, false, LOCKING)
    });
    let refused = reads.into_iter().find_map(|got| got.err());
    assert!(matches!(refused, Some(Error::LockTableFull)), "{refused:?}");
    // A small one goes on meanwhile.
    let mut small = begin(&engine, RC);
    get(&table, &mut small, 3, SHARING).unwrap();
    assert!(
        matches!(greedy.commit(), Err(Error::Deadlock)),
        "it can only be rolled back"
    );
    greedy.rollback().unwrap();
    get(&table, &mut small, 3, LOCKING).unwrap();
}

#[test]
fn a_table_is_locked_against_those_who_mean_to_lock_rows() {
    let f = Fixture::new();
    let mut a = f.begin(RR);
    let mut b = f.begin(RR);
    delete(&f.table, &mut a, 10).unwrap();
    let shared = b.lock_table(&f.table, LockMode::Shared, LockWait::NoWait);
    assert!(matches!(shared, Err(Error::LockNoWait)), "a writer is there");
    b.lock_table(&f.table, LockMode::AutoIncrement, LockWait::NoWait)
        .expect("gets along with writers");
    assert!(f.table.is_locked());
    b.unlock_table(&f.table, LockMode::AutoIncrement);
    a.rollback().unwrap();
    b.lock_table(&f.table, LockMode::Shared, LockWait::NoWait)
        .unwrap();
    a.begin(RR, false);
    assert_eq!(
        get(&f.table, &mut a, 10, Read::Consistent).unwrap().map(|r| r.id),
        Some(10)
    );
    assert!(matches!(
        delete(&f.table, &mut a, 10),
        Err(Error::LockWaitTimeout)
    ));
    b.unlock_table(&f.table, LockMode::Shared);
    delete(&f.table, &mut a, 10).unwrap();
    let modes: Vec<_> = f.engine.locks().iter().map(|lock| lock.mode_text()).collect();
    assert!(modes.contains(&"IX"), "{modes:?}");
    assert!(
        a.lock_table(&f.table, LockMode::Exclusive, LockWait::NoWait)
            .unwrap()
    );
    assert!(
        !a.lock_table(&f.table, LockMode::AutoIncrement, LockWait::NoWait)
            .unwrap(),
        "the exclusive lock covers it"
    );
}

#[test]
fn with_snapshot_isolation_nothing_is_changed_that_changed_since_the_view() {
    let f = Fixture::new();
    for purged in [false, true] {
        let mut a = f.begin(RR);
        a.set_snapshot_isolation(true);
        assert!(get(&f.table, &mut a, 50, Read::Consistent).unwrap().is_some());
        let mut b = f.begin(RR);
        update(&f.table, &mut b, 10, &mut |r, buf| {
            buf.set(1, Datum::Int(r.k.unwrap() + 1))
        })
        .unwrap();
        delete(&f.table, &mut b, if purged { 30 } else { 20 }).unwrap();
        b.commit().unwrap();
        if purged {
            f.engine.purge().unwrap();
        }
        let gone = if purged { 30 } else { 20 };
        assert!(matches!(
            get(&f.table, &mut a, 10, LOCKING),
            Err(Error::RecordChanged)
        ));
        assert!(matches!(delete(&f.table, &mut a, 10), Err(Error::RecordChanged)));
        assert!(matches!(
            delete(&f.table, &mut a, gone),
            Err(Error::RecordChanged)
        ));
        assert!(matches!(f.insert(&mut a, gone, 1, 1), Err(Error::RecordChanged)));
        let range = f.range(0, Excluded(gone - 5), Excluded(gone + 5));
        assert!(matches!(
            rows(&f.table, &mut a, 0, &range, false, LOCKING),
            Err(Error::RecordChanged)
        ));
        delete(&f.table, &mut a, 50).expect("unchanged");
        a.rollback().unwrap();
        let mut c = f.begin(RR);
        assert!(c.is_untouched());
        c.set_snapshot_isolation(true);
        delete(&f.table, &mut c, 10).expect("there is no view that it could disagree with");
        assert!(!c.is_untouched());
        c.rollback().unwrap();
    }
}
