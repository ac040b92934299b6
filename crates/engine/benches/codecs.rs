//! What the codecs of keys and rows cost: a key made of values, and the columns of a row read where they lie.
//!
//! ```sh
//! cargo bench -p tidemark-engine --bench codecs
//! ```

use std::hint::black_box;
use std::sync::Arc;
use tidemark_engine::disk::sim::SimDisk;
use tidemark_engine::*;
use tidemark_testing::bench::{line, time};

const ROWS: i64 = 1_000;
const COLUMNS: usize = 8;

/// `(id INT PRIMARY KEY, n INT, s TEXT, b BLOB, f DOUBLE, …)` with indexes of a number, a text, and several columns.
fn table(engine: &Engine) -> Arc<Table> {
    let column = |ty, nullable| Column { ty, nullable };
    let index = |columns: &[usize]| IndexSchema {
        parts: columns.iter().map(|c| KeyPart::column(*c)).collect(),
        unique: false,
    };
    let int = ColumnType::Int { bytes: 4 };
    let schema = TableSchema {
        columns: vec![
            column(int, false),
            column(int, true),
            column(ColumnType::Text { collation: 46 }, true),
            column(ColumnType::Bytes, true),
            column(ColumnType::Double, true),
            column(ColumnType::Fixed { len: 5 }, false),
            column(ColumnType::UInt { bytes: 8 }, false),
            column(ColumnType::Bytes, false),
        ],
        primary: Some(index(&[0])),
        secondary: vec![index(&[1]), index(&[2]), index(&[1, 2, 3])],
    };
    let mut ddl = engine.ddl().expect("a change of definitions");
    let id = ddl.create_table(&schema).expect("a table");
    ddl.commit().expect("its definition");
    let table = engine.table(id).expect("the table");
    let mut txn = engine.transaction();
    txn.begin(Isolation::ReadCommitted, false);
    for id in 0..ROWS {
        table.insert(&mut txn, &row(id)).expect("a row");
    }
    txn.commit().expect("a commit");
    table
}

fn row(id: i64) -> [Datum<'static>; COLUMNS] {
    [
        Datum::Int(id),
        Datum::Int(id % 7),
        Datum::Bytes(b"a text of some words"),
        Datum::Bytes(&[7; 40]),
        Datum::Double(0.5),
        Datum::Bytes(b"fixed"),
        Datum::UInt(1 << 40),
        Datum::Bytes(&[b'x'; 100]),
    ]
}

fn main() {
    let mut config = Config::new("");
    config.disk = Some(Arc::new(SimDisk::new(1)));
    config.flush_at_trx_commit = 0;
    let engine = Engine::open(config).expect("a new engine");
    let table = table(&engine);
    let row = row(5);
    let keys: [(&str, usize, &[Datum]); 4] = [
        ("an integer", 0, &row[..1]),
        ("an integer that may be NULL", 1, &row[1..2]),
        ("a text", 2, &row[2..3]),
        ("integer, text, bytes", 3, &row[1..4]),
    ];
    let mut key = Vec::new();
    for (what, index, values) in keys {
        let took = time(200_000, || {
            key.clear();
            table
                .encode_key(index, black_box(values), &mut key)
                .expect("a key");
        });
        line(&format!("encode a key of {what}; bytes:"), key.len(), took);
    }
    let mut txn = engine.transaction();
    txn.begin(Isolation::ReadCommitted, true);
    for columns in [0, 1, COLUMNS] {
        let took = time(20, || {
            let mut found = 0;
            let mut see = |row: &RowView| {
                for column in 0..columns {
                    black_box(row.get(column));
                }
                found += 1;
                Ok((Keep::Locked, Flow::Continue))
            };
            let all = KeyRange::all();
            table
                .scan(&mut txn, &RangeScan::new(0, &all), Read::Consistent, &mut see)
                .expect("a scan");
            assert_eq!(found, ROWS);
        });
        line("read a row in a scan; columns:", columns, took / ROWS as u32);
    }
}
