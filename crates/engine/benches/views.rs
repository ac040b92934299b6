//! What a view costs, and what it costs the others: the engine alone, on a simulated disk, so that nothing but the
//! processor is measured. Each line is the median of several runs; what matters is how a column changes downwards.
//!
//! ```sh
//! cargo bench -p tidemark-engine --bench views
//! cargo bench -p tidemark-engine --features museum --bench views -- trx_sys    # the first of them, with an exhibit
//! ```

use std::hint::black_box;
use std::sync::Arc;
use tidemark_engine::disk::sim::SimDisk;
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

fn snapshot(engine: &Engine) -> Transaction {
    let mut txn = engine.transaction();
    txn.begin(Isolation::RepeatableRead, true);
    txn.consistent_snapshot().expect("a view");
    txn
}

fn views_beside_open_transactions() {
    let engine = engine();
    let table = table(&engine, 10_000);
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

fn reads_in_an_old_view() {
    let engine = engine();
    let table = table(&engine, 1);
    let hot = key(&table, 0);
    let mut old = snapshot(&engine);
    let mut writer = engine.transaction();
    let mut done = 0;
    for n in [0, 1_000, 100_000, 1_000_000, 10_000_000] {
        while done < n {
            writer.begin(Isolation::ReadCommitted, false);
            update(&table, &mut writer, &hot, done as i64 + 1);
            writer.commit().expect("a commit");
            done += 1;
        }
        let took = time(20_000, || {
            let mut v = None;
            table
                .get(&mut old, 0, &hot, Read::Consistent, &mut |row| {
                    v = row.get(1).as_int();
                    Ok(Keep::Locked)
                })
                .expect("a read");
            assert_eq!(black_box(v), Some(0));
        });
        line("read a row in a view; updates of it since:", n, took);
    }
}

fn updates_beside_views() {
    let engine = engine();
    let table = table(&engine, 1);
    let hot = key(&table, 0);
    let mut writer = engine.transaction();
    let mut v = 0;
    let mut change = || {
        v += 1;
        writer.begin(Isolation::ReadCommitted, false);
        update(&table, &mut writer, &hot, v);
        writer.commit().expect("a commit");
    };
    let mut views = Vec::new();
    for n in [0, 1, 10, 100, 1_000] {
        while views.len() < n {
            change();
            views.push(snapshot(&engine));
        }
        line(
            "update a row; views that need a version of it each:",
            n,
            time(5_000, &mut change),
        );
    }
}

fn scans_of_what_changed() {
    const ROWS: i64 = 100_000;
    let engine = engine();
    let table = table(&engine, ROWS);
    let mut old = snapshot(&engine);
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
        assert!(museum::open(&exhibit), "there is no exhibit '{exhibit}'");
        views_beside_open_transactions();
        return;
    }
    views_beside_open_transactions();
    reads_in_an_old_view();
    updates_beside_views();
    scans_of_what_changed();
}
