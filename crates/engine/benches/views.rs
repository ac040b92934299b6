//! What a view costs, and what it costs the others: the engine alone, on a simulated disk, so that nothing but the
//! processor is measured. Each line is the median of several runs; what matters is how a column changes downwards.
//!
//! ```sh
//! cargo bench -p tidemark-engine --bench views
//! cargo bench -p tidemark-engine --features museum --bench views -- trx_sys    # those of the studies, with an exhibit, or with `tide`
//! ```

use std::fs;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tidemark_engine::disk::sim::SimDisk;
use tidemark_engine::waits::{self, Wait};
use tidemark_engine::*;
use tidemark_testing::bench::{line, time};

fn engine() -> Engine {
    let mut config = Config::new("");
    config.disk = Some(Arc::new(SimDisk::new(1)));
    config.buffer_pool_bytes = 256 << 20;
    config.log_capacity_bytes = 256 << 20;
    config.flush_at_trx_commit = 0;
    Engine::open(config).expect("a new engine")
}

/// `(id INT PRIMARY KEY, v INT, pad VARBINARY)` with so many rows.
fn table(engine: &Engine, rows: i64) -> Arc<Table> {
    let column = |ty| Column { ty, nullable: false };
    let int = ColumnType::Int { bytes: 8 };
    let schema = TableSchema {
        columns: vec![column(int), column(int), column(ColumnType::Bytes)],
        primary: Some(IndexSchema {
            parts: vec![KeyPart::column(0)],
            unique: true,
        }),
        secondary: Vec::new(),
    };
    let mut ddl = engine.ddl().expect("a change of definitions");
    let id = ddl.create_table(&schema).expect("a table");
    ddl.commit().expect("its definition");
    let table = engine.table(id).expect("the table");
    let mut txn = engine.transaction();
    for from in (0..rows).step_by(1000) {
        txn.begin(Isolation::ReadCommitted, false);
        for id in from..rows.min(from + 1000) {
            let row = [Datum::Int(id), Datum::Int(0), Datum::Bytes(&[b'x'; 100])];
            table.insert(&mut txn, &row).expect("a row");
        }
        txn.commit().expect("a commit");
    }
    table
}

fn key(table: &Table, id: i64) -> Vec<u8> {
    let mut key = Vec::new();
    table.encode_key(0, &[Datum::Int(id)], &mut key).expect("a key");
    key
}

fn update(table: &Table, txn: &mut Transaction, key: &[u8], v: i64) {
    let found = table.modify(txn, key, &mut |_, row| {
        row.set(1, Datum::Int(v));
        Ok(Action::Update)
    });
    assert!(found.expect("an update"));
}

/// Each call updates a row in a transaction of its own.
fn changes(table: &Table, mut writer: Transaction, key: &[u8]) -> impl FnMut() {
    let mut v = 0;
    move || {
        v += 1;
        writer.begin(Isolation::ReadCommitted, false);
        update(table, &mut writer, key, v);
        writer.commit().expect("a commit");
    }
}

fn snapshot(engine: &Engine) -> Transaction {
    let mut txn = engine.transaction();
    txn.begin(Isolation::RepeatableRead, true);
    txn.consistent_snapshot().expect("a view");
    txn
}

fn views_beside_open_transactions(engine: &Engine) {
    let table = table(engine, 10_000);
    let mut open = Vec::new();
    for n in [0, 100, 1_000, 10_000] {
        while open.len() < n {
            let mut txn = engine.transaction();
            txn.begin(Isolation::ReadCommitted, false);
            update(&table, &mut txn, &key(&table, open.len() as i64), 1);
            open.push(txn);
        }
        let mut reader = engine.transaction();
        let took = time(20_000, || {
            reader.begin(Isolation::RepeatableRead, true);
            reader.consistent_snapshot().expect("a view");
            reader.commit().expect("an end");
        });
        line("open and close a view; open write transactions:", n, took);
    }
}

/// Where a chain is walked, so many reads take too long.
const WALKED_READS_MAX: u32 = 20_000_000;
/// How long updates are counted that are made beside reads.
const BESIDE_READS: Duration = Duration::from_millis(500);

fn reads_in_an_old_view(engine: &Engine, sizes: &[u32]) {
    let table = table(engine, 1);
    let hot = key(&table, 0);
    let mut old = snapshot(engine);
    let mut writer = engine.transaction();
    let mut done = 0;
    for &n in sizes {
        let (first, began) = (done, Instant::now());
        while done < n {
            writer.begin(Isolation::ReadCommitted, false);
            update(&table, &mut writer, &hot, i64::from(done) + 1);
            writer.commit().expect("a commit");
            done += 1;
        }
        if done > first {
            let took = began.elapsed() / (done - first);
            line(
                "update the row beside that view; updates since:",
                n as usize,
                took,
            );
        }
        let took = time((WALKED_READS_MAX / n.max(1)).clamp(2, 20_000), || {
            assert_eq!(hot_value(&table, &mut old, &hot), Some(0));
        });
        line("read a row in a view; updates of it since:", n as usize, took);
    }
}

/// An update waits for the latch with which a read walks the row's versions.
fn updates_beside_reads(engine: &Engine) {
    let table = table(engine, 1);
    let hot = key(&table, 0);
    let mut change = changes(&table, engine.transaction(), &hot);
    const SINCE: usize = 100_000;
    let mut old = snapshot(engine);
    (0..SINCE).for_each(|_| change());
    let took = beside_reads(&table, &mut old, &hot, &mut change);
    line("update a row while a view reads it; updates since:", SINCE, took);
}

fn hot_value(table: &Table, view: &mut Transaction, key: &[u8]) -> Option<i64> {
    let mut v = None;
    table
        .get(view, 0, key, Read::Consistent, &mut |row| {
            v = row.get(1).as_int();
            Ok(Keep::Locked)
        })
        .expect("a read");
    black_box(v)
}

/// The mean of what `change` takes while another thread reads a row in a view, one read after the other.
fn beside_reads(table: &Table, view: &mut Transaction, key: &[u8], change: &mut dyn FnMut()) -> Duration {
    let (stop, reads) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                hot_value(table, view, key);
                reads.fetch_add(1, Ordering::Relaxed);
            }
        });
        while reads.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
        let (began, mut changes) = (Instant::now(), 0);
        while began.elapsed() < BESIDE_READS {
            change();
            changes += 1;
        }
        stop.store(true, Ordering::Relaxed);
        began.elapsed() / changes
    })
}

/// A turn of one level, and how many turns.
const TURN: Duration = Duration::from_millis(40);
const TURNS: usize = 9;
const READS: usize = 10;
/// Rows that open transactions have changed, that are read, and of threads: each has one, on a page of its own.
const CHANGED: i64 = 10_000;
const READ: i64 = 1_000;
const THREADS_MAX: i64 = 64;
const APART: i64 = 200;

/// READ COMMITTED against REPEATABLE READ, in turns, by threads and by open transactions that have written.
fn levels(engine: &Engine) {
    let table = table(engine, CHANGED + READ + THREADS_MAX * APART);
    let mut open = Vec::new();
    for n in [0, 100, 1_000, CHANGED as usize] {
        while open.len() < n {
            let mut txn = engine.transaction();
            txn.begin(Isolation::ReadCommitted, false);
            update(&table, &mut txn, &key(&table, open.len() as i64), 1);
            open.push(txn);
        }
        for threads in [1, 2, 8, THREADS_MAX as usize] {
            compare_levels(engine, &table, threads, n);
        }
    }
}

/// What a level does in one turn.
struct Turn {
    per_s: f64,
    /// Processor time of a transaction.
    cpu_ns: f64,
}

fn compare_levels(engine: &Engine, table: &Table, threads: usize, open: usize) {
    let before = Wait::ALL.map(|wait| waits::background().of(wait));
    let pairs: Vec<(Turn, Turn)> = (0..TURNS)
        .map(|_| {
            let rr = turn(engine, table, threads, Isolation::RepeatableRead);
            (rr, turn(engine, table, threads, Isolation::ReadCommitted))
        })
        .collect();
    let median = |of: fn(&(Turn, Turn)) -> f64| {
        let mut values: Vec<f64> = pairs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[TURNS / 2]
    };
    let waited = Wait::ALL.iter().zip(before).map(|(&wait, before)| {
        let now = waits::background().of(wait);
        (now.nanos - before.nanos, now.count - before.count, wait)
    });
    let longest = match waited.max_by_key(|(nanos, ..)| *nanos) {
        Some((nanos @ 1.., count, wait)) => {
            let each_us = nanos as f64 / 1e3 / count as f64;
            format!("{wait:?}, {count} times, {each_us:.1} µs each")
        }
        _ => "nothing".to_owned(),
    };
    println!(
        "RC ÷ RR; threads, open write transactions: {threads:>4} {open:>6}   rate {:.2}, by processor time {:.2}   RR {:.0}/s, {:.1} µs; waits for {longest}",
        median(|(rr, rc)| rc.per_s / rr.per_s),
        median(|(rr, rc)| rr.cpu_ns / rc.cpu_ns),
        median(|(rr, _)| rr.per_s),
        median(|(rr, _)| rr.cpu_ns) / 1e3
    );
}

/// Transactions of so many threads: some rows by key, each by a statement, then an update of a row that is the thread's own.
fn turn(engine: &Engine, table: &Table, threads: usize, isolation: Isolation) -> Turn {
    let (stop, done, cpu_ns) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let began = Instant::now();
    thread::scope(|scope| {
        for number in 0..threads {
            let (stop, done, cpu_ns) = (&stop, &done, &cpu_ns);
            scope.spawn(move || {
                let keys: Vec<_> = (0..READ).map(|id| key(table, CHANGED + id)).collect();
                let own = key(table, CHANGED + READ + number as i64 * APART);
                let mut txn = engine.transaction();
                let mut at = number;
                let before = thread_cpu_ns();
                while !stop.load(Ordering::Relaxed) {
                    txn.begin(isolation, false);
                    for _ in 0..READS {
                        // A step that has no divisor in common with the number of rows goes through all of them.
                        at = (at + 617) % keys.len();
                        read(table, &mut txn, &keys[at]);
                    }
                    txn.statement_begin();
                    update(table, &mut txn, &own, at as i64);
                    txn.statement_end();
                    txn.commit().expect("a commit");
                    done.fetch_add(1, Ordering::Relaxed);
                }
                cpu_ns.fetch_add(thread_cpu_ns() - before, Ordering::Relaxed);
            });
        }
        thread::sleep(TURN);
        stop.store(true, Ordering::Relaxed);
    });
    let done = done.into_inner() as f64;
    Turn {
        per_s: done / began.elapsed().as_secs_f64(),
        cpu_ns: cpu_ns.into_inner() as f64 / done,
    }
}

/// The processor time of this thread so far: what others take of the processor is not in it.
fn thread_cpu_ns() -> u64 {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux's /proc");
    let first = stat.split_whitespace().next();
    first.and_then(|ns| ns.parse().ok()).expect("a number")
}

fn read(table: &Table, txn: &mut Transaction, key: &[u8]) {
    txn.statement_begin();
    let found = table.get(txn, 0, key, Read::Consistent, &mut |row| {
        black_box(row.get(1).as_int());
        Ok(Keep::Locked)
    });
    found.expect("a read");
    txn.statement_end();
}

fn updates_beside_views(engine: &Engine) {
    let table = table(engine, 1);
    let hot = key(&table, 0);
    let mut change = changes(&table, engine.transaction(), &hot);
    let mut views = Vec::new();
    for n in [0, 1, 10, 100, 1_000] {
        while views.len() < n {
            change();
            views.push(snapshot(engine));
        }
        line(
            "update a row; views that need a version of it each:",
            n,
            time(5_000, &mut change),
        );
    }
}

fn scans_of_what_changed(engine: &Engine) {
    const ROWS: i64 = 100_000;
    let table = table(engine, ROWS);
    let mut old = snapshot(engine);
    let mut writer = engine.transaction();
    let mut done = 0;
    for n in [0, 1, 10] {
        while done < n {
            for id in 0..ROWS {
                if id % 100 == 0 {
                    writer.begin(Isolation::ReadCommitted, false);
                }
                update(&table, &mut writer, &key(&table, id), done as i64 + 1);
                if id % 100 == 99 {
                    writer.commit().expect("a commit");
                }
            }
            done += 1;
        }
        let took = time(1, || {
            let mut sum = 0;
            table
                .scan(
                    &mut old,
                    &RangeScan::new(0, &KeyRange::all()),
                    Read::Consistent,
                    &mut |row| {
                        sum += row.get(1).as_int().unwrap_or(0);
                        Ok((Keep::Locked, Flow::Continue))
                    },
                )
                .expect("a scan");
            assert_eq!(black_box(sum), 0);
        });
        line("scan 100,000 rows in a view; updates of each since:", n, took);
    }
}

fn main() {
    #[cfg(feature = "museum")]
    if let Some(exhibit) = std::env::args().skip(1).find(|word| !word.starts_with('-')) {
        let is_known = exhibit == "tide" || museum::open(&exhibit);
        assert!(is_known, "there is no exhibit '{exhibit}'");
        // An exhibit belongs to the process, which has one engine then: one with lower ids would have its writers taken for long gone.
        let engine = engine();
        views_beside_open_transactions(&engine);
        levels(&engine);
        reads_in_an_old_view(&engine, &[0, 1_000, 10_000, 100_000]);
        updates_beside_reads(&engine);
        return;
    }
    views_beside_open_transactions(&engine());
    levels(&engine());
    reads_in_an_old_view(&engine(), &[0, 1_000, 100_000, 1_000_000, 10_000_000]);
    updates_beside_reads(&engine());
    updates_beside_views(&engine());
    scans_of_what_changed(&engine());
}
