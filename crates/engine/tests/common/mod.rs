//! What the engine's tests share: an engine on a simulated disk, a small table, random numbers.
#![allow(dead_code)]

use std::sync::Arc;
use tidemark_engine::disk::sim::SimDisk;
use tidemark_engine::*;

/// splitmix64 (Steele, Lea, Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

pub fn config(disk: &SimDisk) -> Config {
    let mut config = Config::new("");
    config.disk = Some(Arc::new(disk.clone()));
    config.buffer_pool_bytes = 4 << 20;
    config.log_capacity_bytes = 4 << 20;
    config.log_buffer_bytes = 1 << 20;
    config.abort_on_log_failure = false;
    config
}

pub fn open(disk: &SimDisk) -> Engine {
    Engine::open(config(disk)).expect("the engine opens")
}

/// `(id INT PRIMARY KEY, k INT NULL, u INT NULL, c TEXT NULL), KEY (k), UNIQUE (u), KEY (c, k)`.
pub fn schema() -> TableSchema {
    let int = |nullable| Column {
        ty: ColumnType::Int { bytes: 4 },
        nullable,
    };
    let index = |parts: &[usize], unique| IndexSchema {
        parts: parts.iter().map(|c| KeyPart::column(*c)).collect(),
        unique,
    };
    TableSchema {
        columns: vec![
            int(false),
            int(true),
            int(true),
            Column {
                ty: ColumnType::Text { collation: 45 },
                nullable: true,
            },
        ],
        primary: Some(index(&[0], true)),
        secondary: vec![index(&[1], false), index(&[2], true), index(&[3, 1], false)],
    }
}

pub fn create(engine: &Engine, schema: &TableSchema) -> Arc<Table> {
    let mut ddl = engine.ddl().expect("definitions can be changed");
    let id = ddl.create_table(schema).expect("the table is made");
    ddl.commit().expect("the definition is committed");
    engine.table(id).expect("the table is there")
}

/// A row of [`schema`]'s table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    pub id: i64,
    pub k: Option<i64>,
    pub u: Option<i64>,
    pub c: Option<Vec<u8>>,
}

impl Row {
    pub fn new(id: i64, k: i64, c: &str) -> Row {
        Row {
            id,
            k: Some(k),
            u: None,
            c: Some(c.as_bytes().to_vec()),
        }
    }

    pub fn datums(&self) -> [Datum<'_>; 4] {
        let int = |v: Option<i64>| v.map_or(Datum::Null, Datum::Int);
        [
            Datum::Int(self.id),
            int(self.k),
            int(self.u),
            self.c.as_deref().map_or(Datum::Null, Datum::Bytes),
        ]
    }

    pub fn of(view: &RowView) -> Row {
        Row {
            id: view.get(0).as_int().expect("an id"),
            k: view.get(1).as_int(),
            u: view.get(2).as_int(),
            c: view.get(3).as_bytes().map(<[u8]>::to_vec),
        }
    }
}

pub fn key(table: &Table, index: IndexNo, values: &[Datum]) -> Vec<u8> {
    let mut key = Vec::new();
    table.encode_key(index, values, &mut key).expect("a key");
    key
}

pub fn id_key(table: &Table, id: i64) -> Vec<u8> {
    key(table, 0, &[Datum::Int(id)])
}

pub const LOCKING: Read = Read::Locking {
    exclusive: true,
    wait: LockWait::Wait,
};

pub fn get(table: &Table, txn: &mut Transaction, id: i64, read: Read) -> Result<Option<Row>> {
    let mut row = None;
    table.get(txn, 0, &id_key(table, id), read, &mut |view| {
        row = Some(Row::of(view));
        Ok(Keep::Locked)
    })?;
    Ok(row)
}

/// All rows of a range, in the index's order.
pub fn rows(
    table: &Table,
    txn: &mut Transaction,
    index: IndexNo,
    range: &KeyRange,
    reverse: bool,
    read: Read,
) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    table.scan(
        txn,
        &RangeScan::new(index, range).reverse(reverse),
        read,
        &mut |view| {
            rows.push(Row::of(view));
            Ok((Keep::Locked, Flow::Continue))
        },
    )?;
    Ok(rows)
}

pub fn all(table: &Table, txn: &mut Transaction) -> Vec<Row> {
    rows(table, txn, 0, &KeyRange::all(), false, Read::Consistent).expect("a scan")
}

pub fn update(
    table: &Table,
    txn: &mut Transaction,
    id: i64,
    f: &mut dyn FnMut(&Row, &mut RowBuf),
) -> Result<bool> {
    table.modify(txn, &id_key(table, id), &mut |view, buf| {
        f(&Row::of(view), buf);
        Ok(Action::Update)
    })
}

pub fn delete(table: &Table, txn: &mut Transaction, id: i64) -> Result<bool> {
    table.modify(txn, &id_key(table, id), &mut |_, _| Ok(Action::Delete))
}

/// A transaction of its own.
pub fn begin(engine: &Engine, isolation: Isolation) -> Transaction {
    let mut txn = engine.transaction();
    txn.begin(isolation, false);
    txn
}

/// Fails with what differs, without printing every row.
#[track_caller]
pub fn assert_same(found: &[Row], expected: &[Row]) {
    if found == expected {
        return;
    }
    let ids = |rows: &[Row]| rows.iter().map(|r| r.id).collect::<Vec<_>>();
    let differing = found
        .iter()
        .filter(|r| !expected.contains(r))
        .map(|r| r.id)
        .collect::<Vec<_>>();
    let missing = expected
        .iter()
        .filter(|r| !found.contains(r))
        .map(|r| r.id)
        .collect::<Vec<_>>();
    panic!(
        "found {:?}\nnot expected: {differing:?}\nmissing: {missing:?}",
        ids(found)
    );
}

/// Verifies the whole directory.
#[track_caller]
pub fn check(disk: &SimDisk) -> CheckReport {
    let report = Engine::check_with(config(disk)).expect("the check runs");
    assert_eq!(report.faults, Vec::<String>::new());
    report
}
