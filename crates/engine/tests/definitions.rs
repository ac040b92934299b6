//! Tables come and go while others are used.

mod common;

use common::*;
use std::thread;
use std::time::{Duration, Instant};
use tidemark_engine::disk::sim::SimDisk;
use tidemark_engine::*;

/// The trees of dropped tables are freed in the background, while other tables are being made: what a table has from the start
/// on, it must keep.
#[test]
fn a_new_table_keeps_its_rows_while_others_are_dropped() {
    const ROWS: i64 = 4;
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    let until = Instant::now() + Duration::from_secs(3);
    let work = |n: u64| {
        let engine = engine.clone();
        thread::spawn(move || {
            let mut made = 0u32;
            while Instant::now() < until {
                let table = create(&engine, &schema());
                let mut txn = begin(&engine, Isolation::RepeatableRead);
                for id in 0..ROWS {
                    let row = Row::new(id, id, "kept");
                    table.insert(&mut txn, &row.datums()).unwrap();
                }
                txn.commit().unwrap();
                thread::sleep(Duration::from_micros(n * 300));
                let mut txn = begin(&engine, Isolation::RepeatableRead);
                for id in 0..ROWS {
                    let again = table.insert(&mut txn, &Row::new(id, id, "twice").datums());
                    assert!(
                        matches!(again, Err(Error::DuplicateKey { .. })),
                        "table {made} of thread {n}, row {id}: {again:?}"
                    );
                }
                for index in 0..4 {
                    let all = KeyRange::all();
                    let met = rows(&table, &mut txn, index, &all, false, Read::Consistent).unwrap();
                    assert_eq!(met.len(), ROWS as usize, "by index {index}");
                }
                txn.rollback().unwrap();
                drop(txn);
                let mut ddl = engine.ddl().unwrap();
                ddl.drop_table(table.id()).unwrap();
                ddl.commit().unwrap();
                made += 1;
            }
            made
        })
    };
    let threads: Vec<_> = (0..4).map(work).collect();
    let made: u32 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert!(made > 10, "only {made} tables were made");
    engine.shutdown().unwrap();
    check(&disk);
}
