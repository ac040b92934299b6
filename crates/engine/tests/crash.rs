//! Power cuts. Random transactions run on a disk that loses power at a random write; what was acknowledged must be there
//! afterwards, what was not must be wholly there or wholly not, and the check must find nothing.

mod common;

use common::*;
use std::collections::BTreeMap;
use tidemark_engine::disk::sim::{Faults, SimDisk};
use tidemark_engine::*;

type State = BTreeMap<i64, Row>;

fn random_row(random: &mut Random) -> Row {
    let id = random.below(300) as i64;
    let long = if random.below(40) == 0 { 20_000 } else { 200 };
    Row {
        id,
        k: Some(random.below(20) as i64),
        u: (random.below(3) == 0).then(|| random.below(1000) as i64),
        c: Some((0..random.below(long)).map(|_| random.next() as u8).collect()),
    }
}

/// `(id, k, u, c)` with keys on k and a unique one on u; c may be long, so it has none.
fn crash_schema() -> TableSchema {
    let mut schema = schema();
    schema.secondary.pop();
    schema
}

/// One transaction, kept up in `state`. Half of its changes are of rows that it changed before, and it goes back to
/// savepoints among them. An error is the power cut.
fn transaction(table: &Table, txn: &mut Transaction, random: &mut Random, state: &mut State) -> Result<()> {
    txn.begin(Isolation::RepeatableRead, false);
    let (mut savepoints, mut ids) = (vec![(txn.savepoint(), state.clone())], Vec::new());
    for _ in 0..random.below(12) + 1 {
        match random.below(6) {
            0 => savepoints.push((txn.savepoint(), state.clone())),
            1 => {
                savepoints.truncate(random.below(savepoints.len() as u64) as usize + 1);
                let (savepoint, then) = &savepoints[savepoints.len() - 1];
                txn.rollback_to(savepoint)?;
                *state = then.clone();
            }
            _ => {}
        }
        let mut row = random_row(random);
        match ids.is_empty() || random.below(2) == 0 {
            true => ids.push(row.id),
            false => row.id = ids[random.below(ids.len() as u64) as usize],
        }
        let statement = txn.savepoint();
        let clash = |state: &State| row.u.is_some() && state.values().any(|r| r.u == row.u && r.id != row.id);
        let done = match random.below(5) {
            0 | 1 => match table.insert(txn, &row.datums()) {
                Ok(()) => {
                    state.insert(row.id, row.clone());
                    Ok(())
                }
                Err(Error::DuplicateKey { .. }) => {
                    assert!(state.contains_key(&row.id) || clash(state));
                    txn.rollback_to(&statement)
                }
                Err(e) => Err(e),
            },
            2 => delete(table, txn, row.id).map(|found| assert_eq!(found, state.remove(&row.id).is_some())),
            _ => match update(table, txn, row.id, &mut |_, buf| {
                for c in 1..4 {
                    buf.set(c, row.datums()[c]);
                }
            }) {
                Ok(found) => {
                    assert_eq!(found, state.contains_key(&row.id));
                    if found {
                        state.insert(row.id, row.clone());
                    }
                    Ok(())
                }
                Err(Error::DuplicateKey { index, .. }) => {
                    assert!(index == 2 && clash(state));
                    txn.rollback_to(&statement)
                }
                Err(e) => Err(e),
            },
        };
        done?;
    }
    Ok(())
}

fn is_power_cut(disk: &SimDisk, error: &Error) -> bool {
    disk.is_dead() && matches!(error, Error::Io(_) | Error::Stopped(_))
}

fn run(seed: u64, rounds: u64) {
    println!("seed {seed}");
    let mut random = Random(seed);
    let mut disk = SimDisk::new(seed);
    let engine = open(&disk);
    let id = create(&engine, &crash_schema()).id();
    drop(engine);
    disk = disk.restart();
    let mut committed = State::new();
    for round in 0..rounds {
        let engine = open(&disk);
        let table = engine.table(id).unwrap();
        let found = all(&table, &mut begin(&engine, Isolation::ReadCommitted));
        assert_same(&found, &committed.values().cloned().collect::<Vec<_>>());
        let mut txn = engine.transaction();
        disk.set_faults(Faults {
            power_cut_in: Some(random.below(600) + 1),
            ..Faults::default()
        });
        let mut maybe = None;
        let error = loop {
            let mut state = committed.clone();
            if let Err(error) = transaction(&table, &mut txn, &mut random, &mut state) {
                break error;
            }
            let done = match random.below(6) {
                0 => txn.rollback(),
                _ => match txn.commit() {
                    Ok(()) => {
                        committed = state;
                        Ok(())
                    }
                    Err(error) => {
                        maybe = Some(state);
                        Err(error)
                    }
                },
            };
            if let Err(error) = done {
                break error;
            }
        };
        assert!(is_power_cut(&disk, &error), "seed {seed} round {round}: {error}");
        drop((txn, table, engine));
        disk = disk.restart();
        let report = check(&disk);
        assert!(!report.was_clean);
        if let Some(maybe) = maybe {
            // The commit in flight: all of it or nothing.
            let engine = open(&disk);
            let found = all(
                &engine.table(id).unwrap(),
                &mut begin(&engine, Isolation::ReadCommitted),
            );
            if found != committed.values().cloned().collect::<Vec<_>>() {
                committed = maybe;
                assert_same(&found, &committed.values().cloned().collect::<Vec<_>>());
            }
            drop(engine);
            disk = disk.restart();
        }
    }
}

#[test]
fn acknowledged_commits_survive_power_cuts() {
    for seed in 1..=10 {
        run(seed, 12);
    }
}

#[test]
#[ignore = "minutes; for hunting"]
fn acknowledged_commits_survive_many_power_cuts() {
    for seed in 100..300 {
        run(seed, 30);
    }
}

#[test]
fn a_definition_is_made_whole_or_not_at_all() {
    for seed in 0..60 {
        let disk = SimDisk::new(seed);
        let engine = open(&disk);
        let mut ddl = engine.ddl().unwrap();
        let old = ddl.create_table(&crash_schema()).unwrap();
        ddl.put_meta("names", b"t", &old.0.to_be_bytes()).unwrap();
        ddl.commit().unwrap();
        let table = engine.table(old).unwrap();
        let mut txn = begin(&engine, Isolation::RepeatableRead);
        for id in 0..50 {
            table
                .insert(
                    &mut txn,
                    &Row::new(id, id, &"x".repeat(id as usize * 300)).datums(),
                )
                .unwrap();
        }
        txn.commit().unwrap();
        disk.set_faults(Faults {
            power_cut_in: Some(seed + 1),
            ..Faults::default()
        });
        let changed = (|| -> Result<TableId> {
            let mut ddl = engine.ddl()?;
            let mut schema = crash_schema();
            schema.secondary.clear();
            let new = ddl.create_table(&schema)?;
            ddl.copy_rows(old, new, &mut |row, buf| {
                (0..4).for_each(|c| buf.set(c, row.get(c)));
                Ok(())
            })?;
            ddl.add_index(
                new,
                &IndexSchema {
                    parts: vec![KeyPart::column(1)],
                    unique: true,
                },
            )?;
            ddl.drop_table(old)?;
            ddl.put_meta("names", b"t", &new.0.to_be_bytes())?;
            ddl.put_meta("names", b"long", &[7; 10_000])?;
            ddl.commit()?;
            Ok(new)
        })();
        drop((txn, table, engine));
        let disk = disk.restart();
        check(&disk);
        let engine = open(&disk);
        let name = engine.meta_get("names", b"t").unwrap().unwrap();
        let now = TableId(u64::from_be_bytes(name.try_into().unwrap()));
        if let Ok(new) = changed {
            assert_eq!(now, new);
        }
        assert_eq!(engine.table_ids(), [now]);
        assert_eq!(engine.meta_get("names", b"long").unwrap().is_some(), now != old);
        let table = engine.table(now).unwrap();
        assert_eq!(table.schema().secondary.len(), if now == old { 2 } else { 1 });
        let rows = all(&table, &mut begin(&engine, Isolation::ReadCommitted));
        assert_eq!(rows.len(), 50);
        drop(table);
        engine.shutdown().unwrap();
        drop(engine);
        let report = check(&disk);
        assert!(report.was_clean);
    }
}

#[test]
fn a_rollback_that_is_interrupted_goes_on_where_it_was() {
    for seed in 0..40 {
        let disk = SimDisk::new(seed);
        let engine = open(&disk);
        let table = create(&engine, &crash_schema());
        let id = table.id();
        let mut txn = begin(&engine, Isolation::RepeatableRead);
        for n in 0..100 {
            table
                .insert(
                    &mut txn,
                    &Row {
                        u: Some(n),
                        ..Row::new(n, n, "before")
                    }
                    .datums(),
                )
                .unwrap();
        }
        txn.commit().unwrap();
        let before = all(&table, &mut begin(&engine, Isolation::ReadCommitted));
        txn.begin(Isolation::RepeatableRead, false);
        for n in 0..100 {
            update(&table, &mut txn, n, &mut |_, buf| {
                buf.set(1, Datum::Int(1000 - n))
            })
            .unwrap();
            update(&table, &mut txn, n, &mut |_, buf| {
                buf.set(2, Datum::Int(1000 + n))
            })
            .unwrap();
            if n % 3 == 0 {
                delete(&table, &mut txn, n).unwrap();
            }
        }
        // Somebody else's commit puts all of it on disk.
        let mut other = begin(&engine, Isolation::RepeatableRead);
        table
            .insert(&mut other, &Row::new(5000, 1, "other").datums())
            .unwrap();
        other.commit().unwrap();
        disk.set_faults(Faults {
            power_cut_in: Some(seed),
            ..Faults::default()
        });
        let _ = txn.rollback();
        let _ = table.insert(&mut other, &Row::new(5001, 1, "never").datums());
        drop((txn, other, table, engine));
        let mut disk = disk.restart();
        // And once more, while the next start undoes it.
        disk.set_faults(Faults {
            power_cut_in: Some(seed * 2 + 3),
            ..Faults::default()
        });
        drop(Engine::open(config(&disk)));
        disk = disk.restart();
        check(&disk);
        let engine = open(&disk);
        let mut now = all(
            &engine.table(id).unwrap(),
            &mut begin(&engine, Isolation::ReadCommitted),
        );
        assert_eq!(now.pop().unwrap().id, 5000);
        assert_same(&now, &before);
    }
}
