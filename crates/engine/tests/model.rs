//! Random transactions against a model: several writers of the same rows, and readers that hold old views. Every read,
//! through every index, must show what the model says, whatever was committed, rolled back, pruned or purged in between.
//!
//! A write is about what is committed now and what the writer wrote itself; what it reads is its view, and over that what
//! it wrote: so it meets rows that came after its view only where it changed them. At READ COMMITTED the two are the same.

mod common;

use common::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tidemark_engine::disk::sim::SimDisk;
use tidemark_engine::*;

type State = BTreeMap<i64, Row>;

/// Rows as a transaction made them; `None` where it deleted one.
type Written = BTreeMap<i64, Option<Row>>;

const WRITERS: u64 = 3;
const IDS: u64 = 120;

struct Writer {
    txn: Transaction,
    own: Written,
    /// What was committed when this transaction took its view.
    view: Option<State>,
    savepoints: Vec<(Savepoint, Written)>,
}

impl Writer {
    fn begin_again(&mut self, random: &mut Random) {
        self.own.clear();
        self.savepoints.clear();
        self.view = None;
        let isolation = match random.below(3) {
            0 => Isolation::ReadCommitted,
            _ => Isolation::RepeatableRead,
        };
        self.txn.begin(isolation, false);
    }
}

/// A state, and over it what a transaction wrote.
fn with(state: &State, written: &Written) -> State {
    let mut state = state.clone();
    for (id, row) in written {
        match row {
            Some(row) => state.insert(*id, row.clone()),
            None => state.remove(id),
        };
    }
    state
}

struct World {
    engine: Engine,
    table: Arc<Table>,
    committed: State,
    random: Random,
    readers_max: usize,
    /// The most entries that were out of the way at a time.
    buried: u64,
    changed: u64,
    blocked: u64,
}

impl World {
    fn random_row(&mut self) -> Row {
        let id = self.random.below(IDS) as i64;
        let optional = |random: &mut Random, n: u64| (random.below(5) > 0).then(|| random.below(n) as i64);
        Row {
            id,
            k: optional(&mut self.random, 8),
            u: optional(&mut self.random, 240),
            c: optional(&mut self.random, 6).map(|c| match c {
                0 => vec![],
                1 => vec![0, 0, 1],
                2 => vec![b'x'; 300 + id as usize],
                3 => vec![b'y'; 3000],
                c => format!("text {c}").into_bytes(),
            }),
        }
    }

    /// One change; what it should lead to is worked out first.
    fn change(&mut self, w: &mut Writer) {
        let row = self.random_row();
        let now = with(&self.committed, &w.own);
        let holder_of_u = |u: Option<i64>, but: Option<i64>| {
            u.and_then(|u| {
                now.values()
                    .find(|r| r.u == Some(u) && Some(r.id) != but)
                    .map(|r| r.id)
            })
        };
        let statement = w.txn.savepoint();
        let outcome;
        let mut written = w.own.clone();
        let mut duplicate = None;
        match self.random.below(10) {
            0..4 => {
                outcome = self.table.insert(&mut w.txn, &row.datums());
                if now.contains_key(&row.id) {
                    duplicate = Some((0, row.id));
                } else if let Some(holder) = holder_of_u(row.u, None) {
                    duplicate = Some((2, holder));
                }
                written.insert(row.id, Some(row.clone()));
            }
            4..6 => {
                let found = delete(&self.table, &mut w.txn, row.id);
                let there = now.contains_key(&row.id);
                if there {
                    written.insert(row.id, None);
                }
                outcome = found.map(|found| assert_eq!(found, there));
            }
            6 => {
                // Another primary key.
                let to = self.random_row().id;
                let done = update(&self.table, &mut w.txn, row.id, &mut |_, buf| {
                    buf.set(0, Datum::Int(to))
                });
                if let Some(old) = now.get(&row.id).filter(|_| to != row.id) {
                    if now.contains_key(&to) {
                        duplicate = Some((0, to));
                    }
                    written.insert(row.id, None);
                    written.insert(
                        to,
                        Some(Row {
                            id: to,
                            ..old.clone()
                        }),
                    );
                }
                outcome = done.map(|_| ());
            }
            _ => {
                let columns = self.random.below(7) + 1;
                let new = row.clone();
                let done = update(&self.table, &mut w.txn, row.id, &mut |_, buf| {
                    for c in (1..4).filter(|c| columns >> (c - 1) & 1 == 1) {
                        buf.set(c, new.datums()[c]);
                    }
                });
                if let Some(mut old) = now.get(&row.id).cloned() {
                    if columns & 1 != 0 {
                        old.k = new.k;
                    }
                    if columns & 2 != 0 {
                        old.u = new.u;
                        duplicate = holder_of_u(new.u, Some(row.id)).map(|holder| (2, holder));
                    }
                    if columns & 4 != 0 {
                        old.c = new.c.clone();
                    }
                    // What changes nothing is no write.
                    if now.get(&row.id) != Some(&old) {
                        written.insert(row.id, Some(old));
                    }
                }
                outcome = done.map(|_| ());
            }
        }
        match (outcome, duplicate) {
            (Ok(()), None) => {
                self.changed += 1;
                w.own = written;
            }
            (Err(Error::DuplicateKey { index, primary_key }), Some((i, holder))) => {
                assert_eq!((index, primary_key), (i, id_key(&self.table, holder)));
                w.txn.rollback_to(&statement).unwrap();
            }
            // Another writer has locked the gap, or the entry beside it.
            (Err(Error::LockWaitTimeout), _) => {
                self.blocked += 1;
                w.txn.rollback_to(&statement).unwrap();
            }
            (outcome, duplicate) => panic!("{outcome:?}, but {duplicate:?} was expected"),
        }
    }

    /// Compares what a transaction sees, in every index, with what it should.
    fn compare(&mut self, txn: &mut Transaction, expected: &State) {
        let expected: Vec<Row> = expected.values().cloned().collect();
        let index = self.random.below(4) as usize;
        let reverse = self.random.below(2) == 0;
        let mut found = rows(
            &self.table,
            txn,
            index,
            &KeyRange::all(),
            reverse,
            Read::Consistent,
        )
        .unwrap();
        found.sort();
        println!("read by index {index}, backwards: {reverse}");
        assert_same(&found, &expected);
        let id = self.random.below(IDS) as i64;
        let one = get(&self.table, txn, id, Read::Consistent).unwrap();
        assert_eq!(one.as_ref(), expected.iter().find(|r| r.id == id));
        if self.random.below(3) == 0 {
            let k = self.random.below(8) as i64;
            let range = KeyRange::prefix(key(&self.table, 1, &[Datum::Int(k)]));
            let mut ids = Vec::new();
            self.table
                .scan(
                    txn,
                    &RangeScan::new(1, &range).reverse(reverse).covering(true),
                    Read::Consistent,
                    &mut |view| {
                        assert_eq!(view.get(1), Datum::Int(k));
                        ids.push(view.get(0).as_int().unwrap());
                        Ok((Keep::Locked, Flow::Continue))
                    },
                )
                .unwrap();
            ids.sort();
            let expected: Vec<i64> = expected.iter().filter(|r| r.k == Some(k)).map(|r| r.id).collect();
            assert_eq!(ids, expected, "covering, k = {k}");
        }
    }

    /// A locking read finds what is committed, and what the writer wrote itself; unless another is at it.
    fn compare_locking(&mut self, w: &mut Writer) {
        let k = self.random.below(8) as i64;
        let range = KeyRange::prefix(key(&self.table, 1, &[Datum::Int(k)]));
        let found = match rows(
            &self.table,
            &mut w.txn,
            1,
            &range,
            self.random.below(2) == 0,
            LOCKING,
        ) {
            Err(Error::LockWaitTimeout) => {
                self.blocked += 1;
                return;
            }
            found => found.map(|mut rows| {
                rows.sort();
                rows
            }),
        };
        let now = with(&self.committed, &w.own).into_values();
        assert_same(
            &found.unwrap(),
            &now.filter(|row| row.k == Some(k)).collect::<Vec<_>>(),
        );
    }

    fn seen(&self, w: &mut Writer) -> State {
        if w.txn.isolation() == Isolation::ReadCommitted {
            return with(&self.committed, &w.own);
        }
        with(w.view.get_or_insert_with(|| self.committed.clone()), &w.own)
    }

    fn step(&mut self, writers: &mut [Writer], readers: &mut Vec<(Transaction, State)>) {
        let w = &mut writers[self.random.below(WRITERS) as usize];
        match self.random.below(40) {
            0 => {
                w.txn.commit().unwrap();
                self.committed = with(&self.committed, &w.own);
                w.begin_again(&mut self.random);
            }
            1 => {
                w.txn.rollback().unwrap();
                w.begin_again(&mut self.random);
            }
            2 | 3 => w.savepoints.push((w.txn.savepoint(), w.own.clone())),
            4 => {
                if !w.savepoints.is_empty() {
                    let keep = self.random.below(w.savepoints.len() as u64) as usize;
                    w.savepoints.truncate(keep + 1);
                    let (savepoint, own) = &w.savepoints[keep];
                    w.txn.rollback_to(savepoint).unwrap();
                    w.own = own.clone();
                }
            }
            5..8 => {
                w.txn.statement_begin();
                let seen = self.seen(w);
                self.compare(&mut w.txn, &seen);
                w.txn.statement_end();
            }
            8 => self.compare_locking(w),
            9 => {
                if readers.len() < self.readers_max {
                    let mut txn = begin(&self.engine, Isolation::RepeatableRead);
                    txn.consistent_snapshot().unwrap();
                    readers.push((txn, self.committed.clone()));
                }
            }
            10 => {
                if !readers.is_empty() {
                    let at = self.random.below(readers.len() as u64) as usize;
                    readers.swap_remove(at).0.commit().unwrap();
                }
            }
            11..15 => {
                if !readers.is_empty() {
                    let at = self.random.below(readers.len() as u64) as usize;
                    let (txn, state) = &mut readers[at];
                    let state = state.clone();
                    self.compare(txn, &state);
                }
            }
            15 => {
                self.engine.purge().unwrap();
                self.buried = self.buried.max(self.engine.status().buried_entries);
            }
            16 if readers.len() < self.readers_max / 2 => {
                let mut txn = begin(&self.engine, Isolation::RepeatableRead);
                txn.consistent_snapshot().unwrap();
                readers.push((txn, self.committed.clone()));
            }
            _ => self.change(w),
        }
    }
}

fn run(seed: u64, steps: usize, readers_max: usize) {
    println!("seed {seed}");
    let disk = SimDisk::new(seed);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let mut world = World {
        engine: engine.clone(),
        table,
        committed: State::new(),
        random: Random(seed),
        readers_max,
        buried: 0,
        changed: 0,
        blocked: 0,
    };
    let mut writers: Vec<Writer> = (0..WRITERS)
        .map(|_| Writer {
            txn: begin(&engine, Isolation::RepeatableRead),
            own: Written::new(),
            view: None,
            savepoints: Vec::new(),
        })
        .collect();
    for writer in &mut writers {
        // One thread plays them all: a thread that would wait gives up.
        writer.txn.set_lock_wait_timeout(Duration::ZERO);
    }
    let mut readers = Vec::new();
    for _ in 0..steps {
        world.step(&mut writers, &mut readers);
    }
    // Entries were put out of the way of old views, and are gone with them.
    assert!(world.buried > 0);
    drop((writers, readers));
    assert!(
        world.changed > world.blocked,
        "{} changes, {} blocked",
        world.changed,
        world.blocked
    );
    assert!(engine.locks().is_empty(), "{:?}", engine.locks());
    world.engine.purge().unwrap();
    world.engine.purge().unwrap();
    assert_eq!(world.engine.status().buried_entries, 0);
    let committed = world.committed.clone();
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    for _ in 0..8 {
        world.compare(&mut txn, &committed);
    }
    drop(txn);
    engine.shutdown().unwrap();
    let id = world.table.id();
    drop((world, engine));
    check(&disk);
    let engine = open(&disk);
    let found = all(
        &engine.table(id).unwrap(),
        &mut begin(&engine, Isolation::ReadCommitted),
    );
    assert_eq!(found, committed.into_values().collect::<Vec<_>>());
}

#[test]
fn every_read_shows_what_its_view_should() {
    for seed in 1..=12 {
        run(seed, 3000, 6);
    }
}

#[test]
fn every_read_shows_what_its_view_should_beside_many_others() {
    for seed in 21..=28 {
        run(seed, 3000, 40);
    }
}

#[test]
#[ignore = "minutes; for hunting"]
fn every_read_shows_what_its_view_should_for_long() {
    for seed in 100..400 {
        run(seed, 20_000, if seed % 2 == 0 { 6 } else { 40 });
    }
}
