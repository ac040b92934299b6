//! Lists: indexes with several entries of a row. Random changes, some of them undone, beside views of any age; what each view finds through
//! the indexes is what its rows have, and after a crash the directory is sound.

mod common;

use common::*;
use std::collections::{BTreeMap, BTreeSet};
use tidemark_engine::disk::sim::SimDisk;
use tidemark_engine::*;

const OF: Element = Element::UInt { bytes: 2 };
const VALUES: u64 = 12;

/// What a row has besides its key: a number, and a list that may be NULL.
type Rest = (i64, Option<BTreeSet<u64>>);
type Model = BTreeMap<i64, Rest>;

/// `(id INT PRIMARY KEY, k INT, list)`, KEY (list), KEY (k, list).
fn definition() -> TableSchema {
    let int = Column {
        ty: ColumnType::Int { bytes: 4 },
        nullable: false,
    };
    let index = |parts: &[usize], unique| IndexSchema {
        parts: parts.iter().map(|c| KeyPart::column(*c)).collect(),
        unique,
    };
    TableSchema {
        columns: vec![
            int,
            int,
            Column {
                ty: ColumnType::List { of: OF },
                nullable: true,
            },
        ],
        primary: Some(index(&[0], true)),
        secondary: vec![index(&[2], false), index(&[1, 2], false)],
    }
}

/// A list as it is stored, its first value twice.
fn stored(list: &BTreeSet<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    list.iter()
        .chain(list.first())
        .for_each(|value| assert!(OF.push(Datum::UInt(*value), &mut bytes)));
    bytes
}

fn datum(bytes: &Option<Vec<u8>>) -> Datum<'_> {
    bytes.as_deref().map_or(Datum::Null, Datum::Bytes)
}

fn random_list(random: &mut Random) -> Option<BTreeSet<u64>> {
    // Now and then one that stands outside its row.
    let most = if random.below(20) == 0 { 3000 } else { 5 };
    let spread = if most > 5 { 3000 } else { VALUES };
    (random.below(6) > 0).then(|| (0..random.below(most)).map(|_| random.below(spread)).collect())
}

/// The ids that a scan shows, in its order.
fn ids(table: &Table, txn: &mut Transaction, scan: &RangeScan, read: Read) -> Vec<i64> {
    let mut ids = Vec::new();
    let shown = table.scan(txn, scan, read, &mut |view| {
        ids.extend(view.get(0).as_int());
        Ok((Keep::Locked, Flow::Continue))
    });
    shown.unwrap();
    ids
}

fn compare(table: &Table, txn: &mut Transaction, model: &Model, read: Read) {
    for value in 0..VALUES {
        let has = |(_, list): &Rest| list.as_ref().is_some_and(|list| list.contains(&value));
        let expected: Vec<i64> = model
            .iter()
            .filter(|(_, rest)| has(rest))
            .map(|(id, _)| *id)
            .collect();
        let range = KeyRange::prefix(key(table, 1, &[Datum::UInt(value)]));
        assert_eq!(
            ids(table, txn, &RangeScan::new(1, &range), read),
            expected,
            "of {value}"
        );
        let range = KeyRange::prefix(key(table, 2, &[Datum::Int(1), Datum::UInt(value)]));
        let of_one: Vec<i64> = expected.into_iter().filter(|id| model[id].0 == 1).collect();
        assert_eq!(
            ids(table, txn, &RangeScan::new(2, &range), read),
            of_one,
            "of 1, {value}"
        );
    }
    let null = KeyRange::prefix(key(table, 1, &[Datum::Null]));
    let expected: Vec<i64> = model
        .iter()
        .filter(|(_, rest)| rest.1.is_none())
        .map(|(id, _)| *id)
        .collect();
    assert_eq!(ids(table, txn, &RangeScan::new(1, &null), read), expected);
    // Each row once, by its first value or its last.
    let wanted: Vec<u64> = (2..VALUES).step_by(3).collect();
    let ranges = wanted
        .iter()
        .map(|v| KeyRange::prefix(key(table, 1, &[Datum::UInt(*v)])));
    let mut ranges: Vec<KeyRange> = ranges.collect();
    for reverse in [false, true] {
        let mut found: Vec<i64> = Vec::new();
        for range in &ranges {
            let scan = RangeScan::new(1, range).reverse(reverse).once(&ranges);
            found.extend(ids(table, txn, &scan, read));
        }
        let has = |(_, list): &Rest| {
            list.as_ref()
                .is_some_and(|list| wanted.iter().any(|v| list.contains(v)))
        };
        let expected: BTreeSet<i64> = model
            .iter()
            .filter(|(_, rest)| has(rest))
            .map(|(id, _)| *id)
            .collect();
        assert_eq!(found.len(), expected.len());
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
        ranges.reverse();
    }
}

/// Makes a random change, in the model too.
fn change(table: &Table, txn: &mut Transaction, model: &mut Model, random: &mut Random) {
    let id = random.below(30) as i64;
    let (k, list) = (random.below(3) as i64, random_list(random));
    let bytes = list.as_ref().map(stored);
    match (model.contains_key(&id), random.below(4)) {
        (false, _) => {
            let row = [Datum::Int(id), Datum::Int(k), datum(&bytes)];
            table.insert(txn, &row).unwrap();
            model.insert(id, (k, list));
        }
        (true, 0) => {
            assert!(delete(table, txn, id).unwrap());
            model.remove(&id);
        }
        (true, 1) => {
            let new = id + 30;
            if model.contains_key(&new) {
                return;
            }
            let moved = table.modify(txn, &id_key(table, id), &mut |_, buf| {
                buf.set(0, Datum::Int(new));
                buf.set(2, datum(&bytes));
                Ok(Action::Update)
            });
            assert!(moved.unwrap());
            let k = model.remove(&id).unwrap().0;
            model.insert(new, (k, list));
        }
        (true, _) => {
            let changed = table.modify(txn, &id_key(table, id), &mut |_, buf| {
                buf.set(1, Datum::Int(k));
                buf.set(2, datum(&bytes));
                Ok(Action::Update)
            });
            assert!(changed.unwrap());
            model.insert(id, (k, list));
        }
    }
}

fn play(seed: u64) {
    let mut random = Random(seed);
    let disk = SimDisk::new(seed);
    let engine = open(&disk);
    let mut table = create(&engine, &definition());
    let mut model = Model::new();
    let mut views: Vec<(Transaction, Model)> = Vec::new();
    for step in 0..60 {
        if step == 30 {
            // An index that comes beside writers has the same entries.
            let mut build = engine
                .build_indexes(table.id(), &[definition().secondary[0].clone()])
                .unwrap();
            table = engine.table(table.id()).unwrap();
            let mut txn = begin(&engine, Isolation::RepeatableRead);
            (0..20).for_each(|_| change(&table, &mut txn, &mut model, &mut random));
            txn.commit().unwrap();
            build.run(&mut |_| Ok(())).unwrap();
            views.clear();
            let mut ddl = engine.ddl().unwrap();
            ddl.finish_build(build).unwrap();
            ddl.commit().unwrap();
            table = engine.table(table.id()).unwrap();
        }
        let mut txn = begin(&engine, Isolation::RepeatableRead);
        let before = model.clone();
        (0..1 + random.below(4)).for_each(|_| change(&table, &mut txn, &mut model, &mut random));
        let savepoint = txn.savepoint();
        let kept = model.clone();
        (0..random.below(4)).for_each(|_| change(&table, &mut txn, &mut model, &mut random));
        if random.below(2) == 0 {
            txn.rollback_to(&savepoint).unwrap();
            model = kept;
        }
        compare(&table, &mut txn, &model, LOCKING);
        match random.below(4) {
            0 => {
                txn.rollback().unwrap();
                model = before;
            }
            _ => txn.commit().unwrap(),
        }
        if random.below(3) == 0 {
            let mut view = begin(&engine, Isolation::RepeatableRead);
            view.consistent_snapshot().unwrap();
            views.push((view, model.clone()));
        }
        for (view, model) in &mut views {
            compare(&table, view, model, Read::Consistent);
        }
        if views.len() > 5 {
            views.remove(random.below(5) as usize);
        }
    }
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    let mut undone = model.clone();
    (0..5).for_each(|_| change(&table, &mut txn, &mut undone, &mut random));
    // The transaction has not ended, and is undone by the next start.
    engine.purge().unwrap();
    let id = table.id();
    disk.cut_power();
    drop((txn, views, table, engine));
    let crashed = disk.restart();
    let report = Engine::check_with(config(&crashed)).unwrap();
    assert!(report.faults.is_empty(), "{:?}", report.faults);
    let engine = open(&crashed);
    let table = engine.table(id).unwrap();
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    compare(&table, &mut txn, &model, Read::Consistent);
}

#[test]
fn views_find_by_each_value_what_has_it() {
    (1..=3).for_each(play);
}

#[test]
fn two_rows_share_no_value_of_a_unique_list() {
    let disk = SimDisk::new(7);
    let engine = open(&disk);
    let mut schema = definition();
    schema.secondary[0].unique = true;
    let table = create(&engine, &schema);
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    let insert = |txn: &mut Transaction, id, values: &[u64]| {
        let list = stored(&values.iter().copied().collect());
        table.insert(txn, &[Datum::Int(id), Datum::Int(0), Datum::Bytes(&list)])
    };
    insert(&mut txn, 1, &[1, 2]).unwrap();
    insert(&mut txn, 2, &[]).unwrap();
    insert(&mut txn, 3, &[]).unwrap();
    let savepoint = txn.savepoint();
    let refused = insert(&mut txn, 4, &[3, 2]);
    assert!(matches!(refused, Err(Error::DuplicateKey { index: 1, .. })));
    txn.rollback_to(&savepoint).unwrap();
    insert(&mut txn, 4, &[3]).unwrap();
    txn.commit().unwrap();
    assert!(!table.covers(1, &[0]), "an empty list has no entry");
}

#[test]
fn a_primary_key_has_no_list_and_an_index_one() {
    let mut schema = definition();
    schema.columns[2].nullable = false;
    schema.primary = Some(IndexSchema {
        parts: vec![KeyPart::column(2)],
        unique: true,
    });
    assert!(schema.validate().is_err());
    let mut schema = definition();
    schema.columns.push(schema.columns[2]);
    schema.secondary[0].parts.push(KeyPart::column(3));
    assert!(schema.validate().is_err());
}
