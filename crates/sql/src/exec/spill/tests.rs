//! Rows put aside come back as they were, in the order that was asked for, whatever fits in memory.

use super::*;
use crate::types::{Date, DateTime, Decimal, Time};
use std::collections::{BTreeMap, BTreeSet};
use tidemark_engine::{Config, disk};

struct World {
    engine: Engine,
    process: Process,
}

impl World {
    fn new() -> World {
        let mut config = Config::new("");
        config.disk = Some(std::sync::Arc::new(disk::sim::SimDisk::new(1)));
        config.buffer_pool_bytes = 5 << 20;
        let engine = Engine::open(config).unwrap();
        let interrupt = engine.transaction().interrupt();
        World {
            engine,
            process: Process::new(1, "root", String::new(), 0, interrupt, None),
        }
    }

    fn room(&self) -> Room<'_> {
        Room::new(&self.engine, &self.process)
    }
}

/// Numbers without a pattern, the same in every run.
fn numbers(count: usize, below: u64) -> Vec<u64> {
    let mut n = 7u64;
    let next = |_| {
        n = n
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (n >> 33) % below
    };
    (0..count).map(next).collect()
}

fn key(n: u64) -> Vec<u8> {
    format!("{n:012}").into_bytes()
}

/// Sorts numbers whose keys are their decimal digits; the values tell the order of arrival.
fn sorter<'a>(place: &'a World, numbers: &[u64], share: usize, distinct: bool, wanted: u64) -> Sorter<'a> {
    let mut sorter = Sorter::new(place.room(), share, 2, distinct, wanted);
    for (arrival, n) in numbers.iter().enumerate() {
        sorter.key().extend_from_slice(&key(*n));
        let row = [Value::from(*n), Value::from(arrival as u64)];
        sorter.push(row.into_iter().map(Ok)).unwrap();
    }
    sorter
}

fn sorted(place: &World, numbers: &[u64], share: usize, distinct: bool, wanted: u64) -> Vec<(u64, u64)> {
    let mut rows = Vec::new();
    let sorter = sorter(place, numbers, share, distinct, wanted);
    let found = sorter.finish(|row| {
        let &[Value::UInt(n), Value::UInt(arrival)] = row else {
            panic!("{row:?}")
        };
        rows.push((n, arrival));
        Ok(true)
    });
    assert_eq!(found.unwrap(), rows.len());
    rows
}

#[test]
fn sorted_rows_come_in_order_of_key_then_of_arrival() {
    let place = World::new();
    let numbers = numbers(20_000, 3000);
    let mut model: Vec<(u64, u64)> = numbers.iter().copied().zip(0..).collect();
    model.sort();
    let mut firsts = model.clone();
    firsts.dedup_by_key(|(n, _)| *n);
    // All in memory; some runs; more runs than are merged at once.
    for share in [usize::MAX, 100_000, 4000] {
        assert_eq!(sorted(&place, &numbers, share, false, u64::MAX), model, "{share}");
        assert_eq!(
            sorted(&place, &numbers, share, false, 5000),
            model[..5000],
            "{share}"
        );
        assert_eq!(sorted(&place, &numbers, share, false, 3), model[..3], "{share}");
        assert_eq!(sorted(&place, &numbers, share, false, 0), [], "{share}");
        assert_eq!(sorted(&place, &numbers, share, true, u64::MAX), firsts, "{share}");
        assert_eq!(sorted(&place, &numbers, share, true, 10), firsts[..10], "{share}");
    }
    assert_eq!(place.engine.status().spool_pages, 0);
}

#[test]
fn a_sorted_run_finds_each_key_with_all_its_rows() {
    let place = World::new();
    let numbers = numbers(20_000, 900);
    for share in [usize::MAX, 50_000] {
        let run = sorter(&place, &numbers, share, false, u64::MAX)
            .into_run()
            .unwrap();
        for n in (0..1000).step_by(7) {
            let expected: Vec<u64> = (0..numbers.len() as u64)
                .filter(|at| numbers[*at as usize] == n)
                .collect();
            let mut found = Vec::new();
            run.lookup(&key(n), &mut |row| {
                assert_eq!(row[0], Value::UInt(n));
                found.extend(match row[1] {
                    Value::UInt(at) => Some(at),
                    _ => None,
                });
                Ok(true)
            })
            .unwrap();
            assert_eq!(found, expected, "{n}");
            assert_eq!(run.contains(&key(n)).unwrap(), !expected.is_empty());
        }
    }
}

#[test]
fn keyed_rows_are_found_alike_in_memory_and_past_it() {
    let place = World::new();
    let numbers = numbers(5000, 700);
    let shares = |join| Shares {
        sort: 10_000,
        join,
        table: 0,
    };
    let found = |join| {
        let mut builder = KeyedRowsBuilder::new(place.room(), shares(join), 1);
        for (at, n) in numbers.iter().enumerate() {
            builder.push(&key(*n), vec![Value::UInt(at as u64)]).unwrap();
        }
        let rows = builder.finish().unwrap();
        assert_eq!(matches!(rows, KeyedRows::Hash(..)), join > 1 << 30);
        let look = |n| {
            let mut found = Vec::new();
            let mut take = |row: &[Value]| {
                found.push(row[0].clone());
                Ok(true)
            };
            rows.lookup(&key(n), &mut take).unwrap();
            assert_eq!(rows.contains(&key(n)).unwrap(), !found.is_empty());
            found
        };
        (0..800).map(look).collect::<Vec<_>>()
    };
    let in_memory = found(usize::MAX);
    assert_eq!(in_memory.iter().map(Vec::len).sum::<usize>(), numbers.len());
    assert_eq!(found(20_000), in_memory);
    assert_eq!(found(0), in_memory);
}

#[test]
fn every_kind_of_value_comes_back_from_a_spool() {
    let place = World::new();
    let date = Date::new(2024, 2, 29);
    let big = Decimal::parse(&"9".repeat(65)).unwrap();
    let kinds = vec![
        Value::Null,
        Value::Int(i64::MIN),
        Value::UInt(u64::MAX),
        Value::Float(-1.5),
        Value::Double(1e300),
        Value::Decimal(Decimal::parse("-12.340").unwrap()),
        Value::Decimal(Decimal::parse("-1234567890123456789012.3").unwrap()),
        Value::Decimal(big.mul(&big)),
        Value::string(""),
        Value::string(vec![0xff; 70_000]),
        Value::Date(date),
        Value::Time(Time::new(-1_234_567, 6)),
        Value::DateTime(DateTime::new(date, 23, 59, 58, 123_456, 3)),
        Value::Member(5, std::borrow::Cow::Owned(b"a,c".to_vec())),
    ];
    let mut rows = KeptRows::new(place.room(), 0);
    for n in 0..20 {
        let mut row = kinds.clone();
        row.rotate_left(n % kinds.len());
        rows.push(row).unwrap();
    }
    assert_eq!(rows.len(), 20);
    let mut n = 0;
    rows.for_each(&mut |row| {
        let mut expected = kinds.clone();
        expected.rotate_left(n % kinds.len());
        // What is shown too: the scale of decimals, the digits of times.
        assert_eq!(format!("{row:?}"), format!("{expected:?}"), "row {n}");
        n += 1;
        Ok(n < 15)
    })
    .unwrap();
    assert_eq!(n, 15);
}

#[test]
fn partitions_part_the_keys_again_and_again() {
    let place = World::new();
    let numbers = numbers(30_000, 10_000);
    let mut expected: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (at, n) in numbers.iter().enumerate() {
        expected.entry(*n).or_default().push(at as u64);
    }
    let mut first = Partitions::new(place.room(), 0).unwrap();
    for (at, n) in numbers.iter().enumerate() {
        first
            .push(&key(*n), &[Value::UInt(*n), Value::UInt(at as u64)])
            .unwrap();
    }
    let (mut found, mut parts): (BTreeMap<u64, Vec<u64>>, _) = (BTreeMap::new(), 0);
    let mut all: Vec<partitions::Partition> = first.into_parts().collect();
    let mut levels = BTreeSet::new();
    while let Some(mut part) = all.pop() {
        levels.insert(part.level);
        let mut again = (part.level < 3).then(|| Partitions::new(place.room(), part.level).unwrap());
        let (mut key_of, mut row) = (Vec::new(), Vec::new());
        let mut keys = BTreeSet::new();
        while part.next(&mut key_of, &mut row).unwrap() {
            if let Some(again) = &mut again {
                again.push(&key_of, &row).unwrap();
                continue;
            }
            let [Value::UInt(n), Value::UInt(at)] = row[..] else {
                panic!("{row:?}")
            };
            assert_eq!(key_of, key(n));
            // No other part had this key.
            assert!(keys.contains(&n) || !found.contains_key(&n));
            keys.insert(n);
            found.entry(n).or_default().push(at);
        }
        parts += 1;
        all.extend(again.into_iter().flat_map(Partitions::into_parts));
    }
    assert_eq!(found, expected);
    assert_eq!(levels, BTreeSet::from([1, 2, 3]));
    assert!(parts > 16 * 16 * 10, "{parts}");
    assert!(Partitions::new(place.room(), 8).is_none());
}

#[test]
fn a_killed_statement_stops_sorting() {
    let place = World::new();
    place.process.begin("Query", b"SELECT 1", None);
    let mut sorter = Sorter::new(place.room(), 4000, 1, false, u64::MAX);
    let mut push = |n: u64| {
        sorter.key().extend_from_slice(&key(n));
        sorter.push([Ok(Value::UInt(n))].into_iter())
    };
    (0..10_000).for_each(|n| push(n).unwrap());
    place.process.kill(true);
    let error = (0..=CHECK_EVERY as u64).find_map(|n| push(n).err()).unwrap();
    assert_eq!(error.code, crate::error::er::QUERY_INTERRUPTED);
}

#[test]
fn the_first_row_of_each_key_is_found_whatever_fits() {
    let place = World::new();
    let numbers = numbers(20_000, 3000);
    let model: BTreeSet<u64> = numbers.iter().copied().collect();
    for share in [usize::MAX, 20_000, 500] {
        let mut distinct = Distinct::new(place.room(), share);
        let mut found = Vec::new();
        for n in &numbers {
            match distinct.look(&key(*n)).unwrap() {
                Novelty::New => found.push(*n),
                Novelty::Known => {}
                Novelty::Later => distinct.put_aside(&key(*n), &[Value::from(*n)]).unwrap(),
            }
        }
        let more = distinct.finish(&mut |row| {
            found.push(if let Value::UInt(n) = row[0] {
                n
            } else {
                panic!("{row:?}")
            });
            Ok(true)
        });
        assert!(more.unwrap());
        assert_eq!(found.len(), model.len(), "{share}");
        assert!(found.into_iter().collect::<BTreeSet<u64>>() == model, "{share}");
    }
    assert_eq!(place.engine.status().spool_pages, 0);
}

#[test]
fn rows_of_the_left_are_held_against_those_of_the_right_whatever_fits() {
    let place = World::new();
    let (left, right) = (numbers(20_000, 3000), numbers(9_000, 4000));
    for (share, each_once) in [
        (usize::MAX, false),
        (usize::MAX, true),
        (20_000, false),
        (500, true),
    ] {
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        let mut counted = Counted::new(place.room(), share, each_once);
        for n in &right {
            *counts.entry(*n).or_default() += 1;
            counted.add(&key(*n)).unwrap();
        }
        let (mut model, mut found): (Vec<u64>, Vec<u64>) = Default::default();
        for n in &left {
            if let Some(count) = counts.get_mut(n).filter(|count| **count > 0) {
                *count -= u64::from(each_once);
                model.push(*n);
            }
            if counted.look(&key(*n), &[Value::from(*n)]).unwrap() == Some(true) {
                found.push(*n);
            }
        }
        let more = counted.finish(&mut |row, there| {
            if there {
                found.push(if let Value::UInt(n) = row[0] {
                    n
                } else {
                    panic!("{row:?}")
                });
            }
            Ok(true)
        });
        assert!(more.unwrap());
        model.sort();
        found.sort();
        assert_eq!(found, model, "{share}, {each_once}");
    }
    assert_eq!(place.engine.status().spool_pages, 0);
}

#[test]
fn a_set_of_keys_answers_at_once_whatever_fits() {
    let place = World::new();
    let numbers = numbers(20_000, 6000);
    for share in [usize::MAX, 10_000] {
        let shares = Shares {
            sort: 10_000,
            join: 0,
            table: share,
        };
        let mut set = KeySet::new(place.room(), shares);
        let mut model = BTreeSet::new();
        for n in &numbers {
            assert_eq!(set.insert(&key(*n)).unwrap(), model.insert(*n), "{n}, {share}");
        }
    }
    assert_eq!(place.engine.status().spool_pages, 0);
}

#[test]
fn a_row_buffer_gives_each_row_by_its_number_and_forgets_those_in_front() {
    let place = World::new();
    for share in [usize::MAX, 20_000, 0] {
        let mut buffer = RowBuffer::new(place.room(), share, 2);
        let (mut ahead, mut behind) = (Place::default(), Place::default());
        let value = |row: &[Value]| match row {
            [Value::UInt(n), Value::Str(_)] => *n,
            other => panic!("{other:?}"),
        };
        for round in 0..2 {
            for n in 0..5000u64 {
                buffer
                    .push(&mut vec![Value::UInt(n), Value::string(format!("text {n}"))])
                    .unwrap();
                assert_eq!(value(buffer.row(n, &mut ahead).unwrap()), n);
                let back = n.saturating_sub(200);
                assert_eq!(value(buffer.row(back, &mut behind).unwrap()), back);
                buffer.drop_before(back);
            }
            assert_eq!(buffer.len(), 5000);
            for n in (4800..5000).rev().step_by(7) {
                assert_eq!(value(buffer.row(n, &mut behind).unwrap()), n, "{round}");
            }
            buffer.drop_before(5000);
            buffer
                .push(&mut vec![Value::UInt(5000), Value::string("")])
                .unwrap();
            assert_eq!(value(buffer.row(5000, &mut ahead).unwrap()), 5000);
            buffer.clear();
        }
    }
    assert_eq!(place.engine.status().spool_pages, 0);
}
