//! Large trees that are freed in the background: what goes on meanwhile, and what a crash or a stop in the middle leaves.

mod common;

use common::*;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use tidemark_engine::disk::sim::SimDisk;
use tidemark_engine::*;

const LIMIT: Duration = Duration::from_secs(60);

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LIMIT, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Work that waits at the points where it tells of itself.
struct Held {
    at: Receiver<Option<WorkProgress>>,
    go: Sender<()>,
}

impl Held {
    fn new(engine: &Engine) -> Held {
        let (tell, at) = channel();
        let (go, may_go) = channel();
        engine.set_on_long_work(Duration::ZERO, move |progress| {
            // Nobody holds it any more if that fails.
            if tell.send(progress).is_ok() {
                let _ = may_go.recv();
            }
        });
        Held { at, go }
    }

    /// Waits until it tells of itself.
    fn told(&self) -> Option<WorkProgress> {
        self.at.recv_timeout(LIMIT).expect("the work goes on")
    }

    /// Lets it do another step.
    fn next(&self) -> WorkProgress {
        // It tells of itself several times a second; after this, at the next step.
        std::thread::sleep(Duration::from_millis(110));
        self.go.send(()).expect("the work waits");
        self.told().expect("the work is not over")
    }
}

fn insert(engine: &Engine, table: &Table, ids: std::ops::Range<i64>, long: usize) {
    let mut txn = begin(engine, Isolation::RepeatableRead);
    for id in ids {
        // One in ten has its text outside.
        let len = if id % 10 == 0 { long } else { 200 };
        let row = Row::new(id, id % 7, &"x".repeat(len));
        table.insert(&mut txn, &row.datums()).expect("a row");
    }
    txn.commit().expect("the commit");
}

/// Changes every row of the small table, so that their entries move.
fn touch(engine: &Engine, table: &Table, round: i64) {
    let mut txn = begin(engine, Isolation::RepeatableRead);
    for id in 0..100 {
        let change = &mut |row: &Row, buf: &mut RowBuf| {
            buf.set(1, Datum::Int(row.k.unwrap_or(0) + 1 + round));
        };
        assert!(update(table, &mut txn, id, change).expect("an update"));
    }
    txn.commit().expect("the commit");
}

fn drop_table(engine: &Engine, table: &Table) {
    let mut ddl = engine.ddl().expect("definitions can be changed");
    ddl.drop_table(table.id()).expect("the table is there");
    ddl.commit().expect("the definition is committed");
}

/// `(id, k, u, c)` with keys on k and u; c may be long, so it has none.
fn long_schema() -> TableSchema {
    let mut schema = schema();
    schema.secondary.pop();
    schema
}

/// A table of some hundred leaves, and a small one.
fn tables(engine: &Engine) -> [std::sync::Arc<Table>; 2] {
    let [large, small] = [create(engine, &long_schema()), create(engine, &long_schema())];
    for part in 0..10 {
        insert(engine, &large, part * 500..(part + 1) * 500, 20_000);
    }
    insert(engine, &small, 0..100, 200);
    [large, small]
}

/// Nothing is left of a table that was dropped, and what is there agrees.
fn nothing_is_left(disk: &SimDisk, small: TableId) {
    let engine = open(disk);
    // Freed once the list is empty: each start begins with it, and a stop waits for the step at hand alone.
    wait_until("all is freed", || {
        let (used, of) = (
            engine.free_bytes(),
            engine.status().data_file_pages * PAGE_SIZE as u64,
        );
        used * 10 > of * 9
    });
    let table = engine.table(small).expect("the small table");
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    assert_eq!(all(&table, &mut txn).len(), 100);
    txn.commit().expect("the commit");
    drop((txn, table));
    engine.shutdown().expect("a clean stop");
    assert!(check(disk).was_clean, "it was stopped");
}

#[test]
fn commits_are_flushed_and_history_is_purged_while_a_tree_is_freed() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    let [large, small] = tables(&engine);
    engine.set_flush_at_trx_commit(0);
    let held = Held::new(&engine);
    drop_table(&engine, &large);
    let begun = held.told().expect("the work has begun");
    assert_eq!((begun.work, begun.done), (LongWork::Freeing, 1));
    assert!(begun.of > 50, "{begun:?}");

    // The tree waits to be freed further. What is committed now is on disk soon, and what it leaves behind is purged.
    for round in 0..3 {
        touch(&engine, &small, round);
        let tail = engine.status().log_tail;
        // All in one leaf, which makes it exact.
        let entries = || small.estimate_range(1, &KeyRange::all());
        wait_until("the commit is flushed", || engine.status().log_flushed >= tail);
        wait_until("what the commit leaves is purged", || entries() == 100);
    }

    for step in 1..4 {
        let now = held.next();
        assert_eq!((now.done, now.of), (begun.done + step, begun.of));
    }
    drop(held);
    drop(large);
    let small = small.id();
    engine.shutdown().unwrap();
    nothing_is_left(&disk, small);
}

/// A crash, or a stop, while a tree is half freed, after a checkpoint then.
#[test]
fn a_tree_that_is_half_freed_is_freed_by_the_next_start() {
    for crash in [false, true] {
        let disk = SimDisk::new(2);
        let engine = open(&disk);
        let [large, small] = tables(&engine);
        let before = engine.free_bytes();
        let held = Held::new(&engine);
        drop_table(&engine, &large);
        held.told().expect("the work has begun");
        while engine.free_bytes() <= before + 20 * PAGE_SIZE as u64 {
            held.next();
        }
        let checkpoints = engine.status().checkpoints;
        wait_until("a checkpoint", || {
            touch(&engine, &small, 0);
            engine.status().checkpoints > checkpoints
        });
        let small = small.id();
        let disk = match crash {
            true => {
                let disk = disk.restart();
                drop(held);
                disk
            }
            false => {
                let stopping = std::thread::spawn(move || engine.shutdown());
                // By then it is told to stop, and still held.
                std::thread::sleep(Duration::from_millis(200));
                drop(held);
                stopping.join().unwrap().unwrap();
                disk
            }
        };
        nothing_is_left(&disk, small);
    }
}
