//! One count, read three times under each isolation level, while another session adds rows: once before it begins, once
//! while its transaction is open, once after it has committed.
//!
//! ```text
//! cargo run --release -p tidemark-engine --example isolation_levels
//!
//!                     before   uncommitted   committed
//! READ UNCOMMITTED         3             5           5
//! READ COMMITTED           3             3           5
//! REPEATABLE READ          3             3           3
//! ```

use tidemark_engine::*;

fn main() -> Result<()> {
    let directory = std::env::temp_dir().join(format!("tidemark-levels-{}", std::process::id()));
    let engine = Engine::open(Config::new(&directory))?;
    let schema = TableSchema {
        columns: vec![Column {
            ty: ColumnType::Int { bytes: 4 },
            nullable: false,
        }],
        primary: Some(IndexSchema {
            parts: vec![KeyPart::column(0)],
            unique: true,
        }),
        secondary: vec![],
    };

    println!(
        "{:<18} {:>7} {:>13} {:>11}",
        "", "before", "uncommitted", "committed"
    );
    for (name, level) in [
        ("READ UNCOMMITTED", Isolation::ReadUncommitted),
        ("READ COMMITTED", Isolation::ReadCommitted),
        ("REPEATABLE READ", Isolation::RepeatableRead),
    ] {
        let mut ddl = engine.ddl()?;
        let id = ddl.create_table(&schema)?;
        ddl.commit()?;
        let table = engine.table(id)?;

        let mut writer = engine.transaction();
        writer.begin(Isolation::ReadCommitted, false);
        for id in 1..=3 {
            table.insert(&mut writer, &[Datum::Int(id)])?;
        }
        writer.commit()?;

        let mut reader = engine.transaction();
        reader.begin(level, true);
        let before = count(&table, &mut reader)?;

        writer.begin(Isolation::ReadCommitted, false);
        table.insert(&mut writer, &[Datum::Int(4)])?;
        table.insert(&mut writer, &[Datum::Int(5)])?;
        let uncommitted = count(&table, &mut reader)?;

        writer.commit()?;
        let committed = count(&table, &mut reader)?;
        reader.commit()?;
        println!("{name:<18} {before:>7} {uncommitted:>13} {committed:>11}");
    }

    engine.shutdown()?;
    drop(engine);
    std::fs::remove_dir_all(directory)?;
    Ok(())
}

/// SELECT COUNT(*): one statement, so under READ COMMITTED one view.
fn count(table: &Table, txn: &mut Transaction) -> Result<u64> {
    let mut rows = 0;
    txn.statement_begin();
    table.scan(
        txn,
        &RangeScan::new(0, &KeyRange::all()),
        Read::Consistent,
        &mut |_| {
            rows += 1;
            Ok((Keep::Locked, Flow::Continue))
        },
    )?;
    txn.statement_end();
    Ok(rows)
}
