//! A bank under contention: sixteen threads move money between eight accounts, taking the row locks in whatever order
//! they come. Deadlocks are found at once and the transfer is tried again; the sum never changes.
//!
//! ```text
//! cargo run --release -p tidemark-engine --example bank_transfer
//! ```

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tidemark_engine::*;

const ACCOUNTS: i64 = 8;
const EACH: i64 = 1_000;
const THREADS: u64 = 16;

fn main() -> Result<()> {
    let directory = std::env::temp_dir().join(format!("tidemark-bank-{}", std::process::id()));
    let engine = Engine::open(Config::new(&directory))?;

    // CREATE TABLE account (id INT PRIMARY KEY, balance BIGINT NOT NULL)
    let column = |bytes| Column {
        ty: ColumnType::Int { bytes },
        nullable: false,
    };
    let schema = TableSchema {
        columns: vec![column(4), column(8)],
        primary: Some(IndexSchema {
            parts: vec![KeyPart::column(0)],
            unique: true,
        }),
        secondary: vec![],
    };
    let mut ddl = engine.ddl()?;
    let id = ddl.create_table(&schema)?;
    ddl.commit()?;
    let table = engine.table(id)?;

    let mut txn = engine.transaction();
    txn.begin(Isolation::RepeatableRead, false);
    for account in 0..ACCOUNTS {
        table.insert(&mut txn, &[Datum::Int(account), Datum::Int(EACH)])?;
    }
    txn.commit()?;

    let (transfers, deadlocks) = (AtomicU64::new(0), AtomicU64::new(0));
    let end = Instant::now() + Duration::from_secs(3);
    std::thread::scope(|scope| {
        for n in 0..THREADS {
            let (engine, table, transfers, deadlocks) = (&engine, &table, &transfers, &deadlocks);
            scope.spawn(move || {
                let mut txn = engine.transaction();
                let mut random = n;
                while Instant::now() < end {
                    // Knuth's MMIX generator: good enough to pick accounts.
                    random = random
                        .wrapping_mul(6364136223846793005)
                        .wrapping_add(1442695040888963407);
                    let from = (random >> 33) as i64 % ACCOUNTS;
                    let to = (random >> 43) as i64 % ACCOUNTS;
                    txn.begin(Isolation::ReadCommitted, false);
                    let done = add(table, &mut txn, from, -1).and_then(|()| add(table, &mut txn, to, 1));
                    let done = done.and_then(|()| txn.commit());
                    match done {
                        Ok(()) => transfers.fetch_add(1, Ordering::Relaxed),
                        Err(Error::Deadlock) => {
                            txn.rollback().expect("a rollback");
                            deadlocks.fetch_add(1, Ordering::Relaxed)
                        }
                        Err(error) => panic!("{error}"),
                    };
                }
            });
        }
        // Meanwhile: every snapshot shows the same sum.
        let mut auditor = engine.transaction();
        let mut audits = 0;
        while Instant::now() < end {
            auditor.begin(Isolation::RepeatableRead, true);
            assert_eq!(sum(&table, &mut auditor).expect("a scan"), ACCOUNTS * EACH);
            auditor.commit().expect("an end");
            audits += 1;
        }
        println!("{audits} audits found {} in {ACCOUNTS} accounts", ACCOUNTS * EACH);
    });
    println!(
        "{} transfers, each one on disk when it was acknowledged; {} deadlocks",
        transfers.into_inner(),
        deadlocks.into_inner()
    );
    drop((txn, table));
    engine.shutdown()?;
    drop(engine);
    std::fs::remove_dir_all(directory)?;
    Ok(())
}

/// UPDATE account SET balance = balance + amount WHERE id = account
fn add(table: &Table, txn: &mut Transaction, account: i64, amount: i64) -> Result<()> {
    let mut key = Vec::new();
    table.encode_key(0, &[Datum::Int(account)], &mut key)?;
    table.modify(txn, &key, &mut |row, new| {
        let balance = row.get(1).as_int().unwrap_or(0);
        new.set(1, Datum::Int(balance + amount));
        Ok(Action::Update)
    })?;
    Ok(())
}

/// SELECT SUM(balance) FROM account
fn sum(table: &Table, txn: &mut Transaction) -> Result<i64> {
    let mut sum = 0;
    table.scan(
        txn,
        &RangeScan::new(0, &KeyRange::all()),
        Read::Consistent,
        &mut |row| {
            sum += row.get(1).as_int().unwrap_or(0);
            Ok((Keep::Locked, Flow::Continue))
        },
    )?;
    Ok(sum)
}
