//! Rows put aside come back as they were, in the order that was asked for, whatever fits in memory.

use super::*;
use crate::exec::rows::JoinedRow;
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
fn rows_behind_the_last_one_wanted_are_passed_over() {
    let place = World::new();
    let numbers = numbers(30_000, 3000);
    let mut model: Vec<(u64, u64)> = numbers.iter().copied().zip(0..).collect();
    model.sort();
    for share in [usize::MAX, 4000] {
        let mut sorter = Sorter::new(place.room(), share, 2, false, 30);
        let mut passed_over = 0;
        for (arrival, n) in numbers.iter().enumerate() {
            sorter.key().extend_from_slice(&key(*n));
            if sorter.is_behind() {
                passed_over += 1;
                sorter.pass_over().unwrap();
                continue;
            }
            let row = [Value::from(*n), Value::from(arrival as u64)];
            sorter.push(row.into_iter().map(Ok)).unwrap();
        }
        let mut rows = Vec::new();
        let found = sorter.finish(|row| {
            rows.extend(match row {
                &[Value::UInt(n), Value::UInt(arrival)] => Some((n, arrival)),
                _ => None,
            });
            Ok(true)
        });
        assert_eq!(found.unwrap(), 30);
        assert_eq!(rows, model[..30], "{share}");
        assert!(share < usize::MAX || passed_over > 20_000, "{passed_over}");
    }
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
            let mut row = Vec::new();
            run.lookup(&key(n), &mut |encoded| {
                codec::decode(encoded, &mut row)?;
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
        let mut rows = KeyedRows::new(place.room(), shares(join), 1);
        let mut set = KeyedRows::new(place.room(), shares(join), 0);
        for (at, n) in numbers.iter().enumerate() {
            let key = key(*n);
            rows.push(Key::of(&key), &slots(&[Value::UInt(at as u64)]), &[0])
                .unwrap();
            rows.shrink().unwrap();
            set.insert(Key::of(&key)).unwrap();
        }
        assert_eq!(rows.is_spilled(), join < 1 << 30);
        assert_eq!(rows.len(), numbers.len());
        let look = |n| {
            let (mut found, mut row) = (Vec::new(), vec![Value::Null]);
            let key = key(n);
            let mut take = |row: &mut Vec<Value>, _| {
                found.push(row[0].clone());
                Ok(true)
            };
            rows.lookup(Key::of(&key), (&mut row, &[0]), &mut take).unwrap();
            for table in [&rows, &set] {
                assert_eq!(table.contains(Key::of(&key)).unwrap(), !found.is_empty());
            }
            found
        };
        (0..800).map(look).collect::<Vec<_>>()
    };
    let in_memory = found(usize::MAX);
    assert_eq!(in_memory.iter().map(Vec::len).sum::<usize>(), numbers.len());
    assert_eq!(found(20_000), in_memory);
    assert_eq!(found(0), in_memory);
}

fn slots(values: &[Value]) -> JoinedRow<'_> {
    JoinedRow { values, outer: None }
}

/// A key of one integer.
fn integer(n: u64) -> Key<'static> {
    Key::Integer {
        bits: n,
        is_negative: false,
    }
}

/// Joins rows of two sides, each `(key, number)`, as a join does that keeps the first side. A pair passes if its numbers differ by
/// what is not divisible by three. Returns the joined rows; `None` where a side has NULLs.
fn joined(
    place: &World,
    (first, second): (&[u64], &[u64]),
    join: usize,
    preserved: Preserved,
    at_once: bool,
) -> Vec<(Option<u64>, Option<u64>)> {
    let shares = Shares {
        sort: 10_000,
        join,
        table: 0,
    };
    let text = |n: usize| Value::string(format!("a text that takes some room {n}"));
    let mut table = KeyedRows::new(place.room(), shares, 2);
    for (at, n) in first.iter().enumerate() {
        let row = [Value::Null, text(at), Value::UInt(at as u64)];
        table.push(integer(*n), &slots(&row), &[2, 1]).unwrap();
        table.shrink().unwrap();
    }
    let sides = Sides {
        first: &[2, 1],
        second: &[0, 3],
        preserved,
    };
    let mut found = Vec::new();
    let mut take = |row: &mut Vec<Value>, met| {
        let number = |slot: usize| match row[slot] {
            Value::UInt(n) => Some(n),
            Value::Null => None,
            ref other => panic!("{other:?}"),
        };
        let (first, second) = (number(2), number(0));
        let passed = match met {
            Met::Both => first.unwrap().abs_diff(second.unwrap()) % 3 != 0,
            Met::Alone => true,
        };
        if passed {
            for (number, slot) in [(first, 1), (second, 3)] {
                let expected = number.map_or(Value::Null, |n| text(n as usize));
                assert_eq!(row[slot], expected);
            }
            found.push((first, second));
        }
        Ok(Taken { passed, more: true })
    };
    let mut row = vec![Value::Null; 4];
    let mut probing = Probing::new(std::rc::Rc::new(table), sides, at_once);
    for (at, n) in second.iter().enumerate() {
        (row[0], row[3]) = (Value::UInt(at as u64), text(at));
        let key = (n % 1000 != 999).then(|| integer(*n));
        assert!(probing.probe(key, &mut row, &mut take).unwrap());
    }
    assert!(probing.finish(&mut row, &mut take).unwrap());
    found
}

#[test]
fn a_join_gives_the_same_rows_whatever_fits() {
    let place = World::new();
    let skewed: Vec<u64> = numbers(3000, 900)
        .into_iter()
        .map(|n| if n < 600 { 7 } else { n })
        .collect();
    let wide = numbers(40_000, 1 << 40);
    let few = |of: &[u64]| of.iter().step_by(31).copied().collect::<Vec<_>>();
    let inputs: [(Vec<u64>, Vec<u64>); 6] = [
        (numbers(6000, 2500), numbers(4000, 3000)),
        // Most of a side has one key, which no hash divides; of the other a few rows.
        (skewed.clone(), few(&skewed)),
        (few(&skewed), skewed.clone()),
        // Parted twice.
        (wide.clone(), few(&wide)),
        (numbers(500, 10), Vec::new()),
        (Vec::new(), numbers(500, 10)),
    ];
    for (n, (first, second)) in inputs.iter().enumerate() {
        for preserved in [Preserved::Neither, Preserved::First, Preserved::Second] {
            let run = |join, at_once| joined(&place, (first, second), join, preserved, at_once);
            let mut expected = model(first, second, preserved);
            expected.sort();
            for join in [usize::MAX, 200_000, 5000, 0] {
                let mut found = run(join, false);
                found.sort();
                assert!(
                    found == expected,
                    "{n}, {preserved:?}, {join}: {} of {}",
                    found.len(),
                    expected.len()
                );
            }
            if preserved != Preserved::First {
                // In the order of the second side.
                assert!(run(5000, true) == run(usize::MAX, true), "{n}, {preserved:?}");
            }
        }
    }
    assert_eq!(place.engine.status().spool_pages, 0);
}

fn model(first: &[u64], second: &[u64], preserved: Preserved) -> Vec<(Option<u64>, Option<u64>)> {
    let mut by_key: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (at, n) in first.iter().enumerate() {
        by_key.entry(*n).or_default().push(at as u64);
    }
    let mut met = vec![false; first.len()];
    let mut rows = Vec::new();
    for (at, n) in (0u64..).zip(second) {
        let before = rows.len();
        for one in by_key.get(n).filter(|_| n % 1000 != 999).into_iter().flatten() {
            if one.abs_diff(at) % 3 != 0 {
                rows.push((Some(*one), Some(at)));
                met[*one as usize] = true;
            }
        }
        if rows.len() == before && preserved == Preserved::Second {
            rows.push((None, Some(at)));
        }
    }
    if preserved == Preserved::First {
        let alone = (0u64..).zip(met).filter(|(_, met)| !met);
        rows.extend(alone.map(|(at, _)| (Some(at), None)));
    }
    rows
}

#[test]
fn a_killed_join_stops_wherever_it_is() {
    let shares = Shares {
        sort: 10_000,
        join: 5000,
        table: 0,
    };
    let sides = Sides {
        first: &[0],
        second: &[1],
        preserved: Preserved::Neither,
    };
    for distinct in [1, 5000] {
        let place = World::new();
        place.process.begin("Query", b"SELECT 1", None);
        let mut table = KeyedRows::new(place.room(), shares, 1);
        let mut row = vec![Value::UInt(1); 2];
        for n in 0..5000 {
            table.push(integer(n % distinct), &slots(&row), &[0]).unwrap();
            table.shrink().unwrap();
        }
        let mut probing = Probing::new(std::rc::Rc::new(table), sides, false);
        let mut pairs = 0;
        let mut take = |_: &mut Vec<Value>, _| {
            pairs += 1;
            if pairs == 300 {
                place.process.kill(true);
            }
            Ok(Taken {
                passed: true,
                more: true,
            })
        };
        (0..5000).for_each(|n| {
            assert!(
                probing
                    .probe(Some(integer(n % distinct)), &mut row, &mut take)
                    .unwrap()
            )
        });
        let error = probing.finish(&mut row, &mut take).unwrap_err();
        assert_eq!(error.code, crate::error::er::QUERY_INTERRUPTED);
        assert!(pairs <= 300 + 2 * CHECK_EVERY, "{pairs}");
    }
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
