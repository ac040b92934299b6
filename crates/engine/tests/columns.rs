//! Columns come, go and change places while the rows stay: random changes of rows and definitions against a model, over restarts,
//! power cuts, rollbacks, purge, index builds. What a table shows, by every index, is what the model says, and in the end every page
//! is somebody's, those of dropped long columns among them.

mod common;

use common::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use tidemark_engine::disk::sim::SimDisk;
use tidemark_engine::*;

/// A column for good, whatever place it takes. 0 is the primary key.
type Name = usize;
type Values = BTreeMap<Name, Option<Cell>>;

#[derive(Clone, Debug, PartialEq)]
enum Cell {
    Int(i64),
    Text(Vec<u8>),
}

fn datum(cell: &Option<Cell>) -> Datum<'_> {
    match cell {
        None => Datum::Null,
        Some(Cell::Int(v)) => Datum::Int(*v),
        Some(Cell::Text(v)) => Datum::Bytes(v),
    }
}

fn cell(datum: Datum) -> Option<Cell> {
    match datum {
        Datum::Null => None,
        Datum::Int(v) => Some(Cell::Int(v)),
        Datum::Bytes(v) => Some(Cell::Text(v.to_vec())),
        other => panic!("{other:?} in a table of integers and texts"),
    }
}

struct World {
    disk: SimDisk,
    engine: Engine,
    table: Arc<Table>,
    random: Random,
    names: Vec<Name>,
    next: Name,
    /// By primary key.
    rows: BTreeMap<i64, Values>,
}

const INT: ColumnType = ColumnType::Int { bytes: 4 };
const IDS: u64 = 40;

fn named_schema(columns: Vec<Column>) -> TableSchema {
    TableSchema {
        columns,
        primary: Some(IndexSchema {
            parts: vec![KeyPart::column(0)],
            unique: true,
        }),
        secondary: Vec::new(),
    }
}

impl World {
    fn new(seed: u64) -> World {
        let disk = SimDisk::new(seed);
        let engine = open(&disk);
        let column = |ty, nullable| Column { ty, nullable };
        let columns = vec![
            column(INT, false),
            column(INT, true),
            column(ColumnType::Bytes, true),
        ];
        let table = create(&engine, &named_schema(columns));
        World {
            disk,
            engine,
            table,
            random: Random(seed),
            names: vec![0, 1, 2],
            next: 3,
            rows: BTreeMap::new(),
        }
    }

    fn draw(&mut self, column: &Column) -> Option<Cell> {
        if column.nullable && self.random.below(4) == 0 {
            return None;
        }
        Some(match column.ty {
            ColumnType::Int { .. } => Cell::Int(self.random.below(9) as i64),
            _ => {
                let len = match self.random.below(6) {
                    0 => 5_000 + self.random.below(40_000),
                    1 => 1_500,
                    n => n * 7,
                };
                Cell::Text(vec![b'a' + self.random.below(20) as u8; len as usize])
            }
        })
    }

    fn draw_row(&mut self, id: i64) -> Values {
        let columns = self.table.schema().columns.clone();
        let names = self.names.clone();
        let draw = |(name, column): (Name, Column)| {
            let value = match name {
                0 => Some(Cell::Int(id)),
                _ => self.draw(&column),
            };
            (name, value)
        };
        names.into_iter().zip(columns).map(draw).collect()
    }

    /// One transaction of several changes, which is rolled back at times.
    fn transact(&mut self) {
        let mut txn = begin(&self.engine, Isolation::RepeatableRead);
        let mut rows = self.rows.clone();
        for _ in 0..1 + self.random.below(6) {
            let id = self.random.below(IDS) as i64;
            match rows.contains_key(&id) {
                false => {
                    let row = self.draw_row(id);
                    let values: Vec<_> = self.names.iter().map(|name| datum(&row[name])).collect();
                    self.table.insert(&mut txn, &values).unwrap();
                    rows.insert(id, row);
                }
                true if self.random.below(3) == 0 => {
                    assert!(delete(&self.table, &mut txn, id).unwrap());
                    rows.remove(&id);
                }
                true => {
                    let new = self.draw_row(id);
                    let changed: Vec<usize> = (0..self.names.len())
                        .filter(|place| self.names[*place] != 0 && self.random.below(2) == 0)
                        .collect();
                    let names = &self.names;
                    let change = &mut |_: &RowView, buf: &mut RowBuf| {
                        changed
                            .iter()
                            .for_each(|place| buf.set(*place, datum(&new[&names[*place]])));
                        Ok(Action::Update)
                    };
                    assert!(
                        self.table
                            .modify(&mut txn, &id_key(&self.table, id), change)
                            .unwrap()
                    );
                    let row = rows.get_mut(&id).unwrap();
                    for place in changed {
                        row.insert(names[place], new[&names[place]].clone());
                    }
                }
            }
        }
        match self.random.below(4) {
            0 => txn.rollback().unwrap(),
            _ => {
                txn.commit().unwrap();
                self.rows = rows;
            }
        }
    }

    /// Columns come, go and change places.
    fn change(&mut self) {
        let schema = self.table.schema().clone();
        let mut columns: Vec<(Name, NewColumn<'_>)> = (0..)
            .zip(&self.names)
            .map(|(i, name)| (*name, NewColumn::Kept(i)))
            .collect();
        let indexed = |place: usize| {
            schema
                .secondary
                .iter()
                .any(|index| index.parts.iter().any(|part| part.column == place))
        };
        let goes = self.random.below(columns.len() as u64) as usize;
        if columns[goes].0 != 0 && !indexed(goes) && self.random.below(2) == 0 {
            columns.remove(goes);
        }
        let from = self.random.below(columns.len() as u64) as usize;
        if self.random.below(3) == 0 {
            let turned = columns.remove(from);
            columns.insert(self.random.below(columns.len() as u64 + 1) as usize, turned);
        }
        let mut added = Vec::new();
        if columns.len() < 12 {
            for _ in 0..self.random.below(3) {
                let column = Column {
                    ty: if self.random.below(2) == 0 {
                        INT
                    } else {
                        ColumnType::Bytes
                    },
                    nullable: self.random.below(2) == 0,
                };
                let value = self.draw(&column);
                added.push((self.next, column, value));
                self.next += 1;
            }
        }
        for (name, column, value) in &added {
            let place = self.random.below(columns.len() as u64 + 1) as usize;
            let column = *column;
            columns.insert(
                place,
                (
                    *name,
                    NewColumn::Added {
                        column,
                        value: datum(value),
                    },
                ),
            );
        }
        let mut ddl = self.engine.ddl().unwrap();
        let new: Vec<NewColumn> = columns.iter().map(|(_, new)| *new).collect();
        ddl.change_columns(self.table.id(), &new).unwrap();
        if self.random.below(6) == 0 {
            return; // Nothing has happened.
        }
        ddl.commit().unwrap();
        let names: Vec<Name> = columns.iter().map(|(name, _)| *name).collect();
        self.names = names;
        for row in self.rows.values_mut() {
            row.retain(|name, _| self.names.contains(name));
            row.extend(added.iter().map(|(name, _, value)| (*name, value.clone())));
        }
        self.reopen();
    }

    fn index(&mut self) {
        let mut ddl = self.engine.ddl().unwrap();
        let count = self.table.schema().secondary.len();
        if count > 2 || count > 0 && self.random.below(3) == 0 {
            ddl.drop_index(self.table.id(), 1 + self.random.below(count as u64) as usize)
                .unwrap();
        } else {
            let parts = vec![KeyPart {
                prefix: Some(20),
                ..KeyPart::column(self.random.below(self.names.len() as u64) as usize)
            }];
            ddl.add_index(self.table.id(), &IndexSchema { parts, unique: false })
                .unwrap();
        }
        ddl.commit().unwrap();
        self.reopen();
    }

    fn reopen(&mut self) {
        self.table = self.engine.table(self.table.id()).unwrap();
    }

    /// Stops, in order or by a power cut, and starts again.
    fn restart(&mut self) {
        let id = self.table.id();
        if self.random.below(2) == 0 {
            self.engine.shutdown().unwrap();
        } else {
            self.disk = self.disk.restart();
        }
        check(&self.disk);
        self.engine = open(&self.disk);
        self.table = self.engine.table(id).unwrap();
    }

    fn verify(&self) {
        let mut txn = begin(&self.engine, Isolation::RepeatableRead);
        let places = 0..self.names.len();
        for index in 0..=self.table.schema().secondary.len() {
            let mut met = BTreeMap::new();
            let mut see = |row: &RowView| {
                let values = places
                    .clone()
                    .map(|place| (self.names[place], cell(row.get(place))));
                let values: Values = values.collect();
                let Some(Cell::Int(id)) = values[&0] else {
                    panic!("a row without its key")
                };
                assert!(met.insert(id, values).is_none(), "row {id} twice");
                Ok((Keep::Locked, Flow::Continue))
            };
            let all = KeyRange::all();
            self.table
                .scan(&mut txn, &RangeScan::new(index, &all), Read::Consistent, &mut see)
                .unwrap();
            assert!(met == self.rows, "by index {index}");
        }
        txn.commit().unwrap();
    }
}

#[test]
fn rows_show_the_columns_of_today() {
    let mut changes = 0;
    for seed in 1..=12 {
        let mut world = World::new(seed);
        for _ in 0..120 {
            match world.random.below(20) {
                0..12 => world.transact(),
                12..16 => world.change(),
                16 | 17 => world.index(),
                18 => world.engine.purge().unwrap(),
                _ => world.restart(),
            }
            world.verify();
        }
        changes += world.table.row_versions();
        // What is left of dropped columns goes with the rows, or with the table.
        let id = world.table.id();
        if seed % 2 == 0 {
            let mut txn = begin(&world.engine, Isolation::RepeatableRead);
            for id in world.rows.keys() {
                assert!(delete(&world.table, &mut txn, *id).unwrap());
            }
            txn.commit().unwrap();
            world.engine.purge().unwrap();
        } else {
            let mut ddl = world.engine.ddl().unwrap();
            ddl.drop_table(id).unwrap();
            ddl.commit().unwrap();
        }
        world.engine.shutdown().unwrap();
        check(&world.disk);
    }
    assert!(changes > 100, "columns came and went {changes} times");
}

/// A view of before finds the table changed, whichever way it reads; one of after does not.
#[test]
fn a_view_of_before_finds_the_table_changed() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let mut old = begin(&engine, Isolation::RepeatableRead);
    old.consistent_snapshot().unwrap();
    let mut ddl = engine.ddl().unwrap();
    let kept = (0..4).map(NewColumn::Kept);
    let added = NewColumn::Added {
        column: Column {
            ty: INT,
            nullable: true,
        },
        value: Datum::Null,
    };
    let columns: Vec<NewColumn> = kept.chain([added]).collect();
    ddl.change_columns(table.id(), &columns).unwrap();
    ddl.commit().unwrap();
    let table = engine.table(table.id()).unwrap();
    let mut new = begin(&engine, Isolation::RepeatableRead);
    for index in 0..=3 {
        let read = |txn: &mut Transaction| {
            table.scan(
                txn,
                &RangeScan::new(index, &KeyRange::all()),
                Read::Consistent,
                &mut |_| Ok((Keep::Locked, Flow::Continue)),
            )
        };
        assert!(
            matches!(read(&mut old), Err(Error::DefinitionChanged)),
            "by index {index}"
        );
        read(&mut new).unwrap();
    }
}

/// What cannot be is refused, and leaves the table as it was.
#[test]
fn wrong_columns_are_refused() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let id = table.id();
    let kept = |numbers: &[usize]| numbers.iter().map(|n| NewColumn::Kept(*n)).collect::<Vec<_>>();
    let refused = |columns: &[NewColumn]| {
        let mut ddl = engine.ddl().unwrap();
        let changed = ddl.change_columns(id, columns);
        assert!(
            matches!(changed, Err(Error::WrongValue { .. } | Error::Unsupported(_))),
            "{columns:?}: {changed:?}"
        );
    };
    refused(&kept(&[0, 1, 2]));
    refused(&kept(&[0, 1, 2, 3, 3]));
    refused(&kept(&[0, 1, 2, 3, 4]));
    let column = Column {
        ty: INT,
        nullable: false,
    };
    for value in [Datum::Null, Datum::Int(1 << 40), Datum::Bytes(b"text")] {
        let mut columns = kept(&[0, 1, 2, 3]);
        columns.push(NewColumn::Added { column, value });
        refused(&columns);
    }
    // Places may change, and so often a table may be changed.
    for times in 0..ROW_VERSIONS_MAX {
        let mut ddl = engine.ddl().unwrap();
        ddl.change_columns(id, &kept(&[1, 2, 3, 0])).unwrap();
        ddl.commit().unwrap();
        assert_eq!(engine.table(id).unwrap().row_versions(), times + 1);
    }
    refused(&kept(&[0, 1, 2, 3]));
    let mut ddl = engine.ddl().unwrap();
    let emptied = ddl.truncate(id).unwrap();
    ddl.commit().unwrap();
    assert_eq!(engine.table(emptied).unwrap().row_versions(), 0);
}
