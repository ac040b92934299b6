//! Rows of all versions against a model: columns come, go and change places at random, and rows that were written under any of
//! the definitions must show what the model says of the columns of today, and name all their chains.

use super::entry::{ROW_AT, VERSIONED};
use super::layouts::RowLayouts;
use super::row::stored_value;
use crate::garbage::RowParts;
use crate::schema::{Column, ColumnType, Datum, Fate, Shape, Step, TableSchema};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;
use tidemark_testing::properties;

/// A value that a column can have, owned.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Null,
    Int(i64),
    UInt(u64),
    Double(f64),
    Bytes(Vec<u8>),
}

impl Value {
    fn datum(&self) -> Datum<'_> {
        match self {
            Value::Null => Datum::Null,
            Value::Int(v) => Datum::Int(*v),
            Value::UInt(v) => Datum::UInt(*v),
            Value::Double(v) => Datum::Double(*v),
            Value::Bytes(v) => Datum::Bytes(v),
        }
    }

    /// What a column of this type gets for a number drawn at random.
    fn of(column: &Column, drawn: u8) -> Value {
        match column.ty {
            _ if column.nullable && drawn.is_multiple_of(4) => Value::Null,
            ColumnType::Int { .. } => Value::Int(i64::from(drawn) / 2 - 50),
            ColumnType::UInt { .. } => Value::UInt(u64::from(drawn)),
            ColumnType::Double => Value::Double(f64::from(drawn) / 2.0),
            ColumnType::Fixed { len } => Value::Bytes(vec![drawn; len as usize]),
            _ => Value::Bytes(vec![drawn; drawn as usize % 40]),
        }
    }
}

fn column() -> impl Strategy<Value = Column> {
    let types = prop_oneof![
        Just(ColumnType::Int { bytes: 1 }),
        Just(ColumnType::Int { bytes: 4 }),
        Just(ColumnType::UInt { bytes: 8 }),
        Just(ColumnType::Double),
        Just(ColumnType::Fixed { len: 3 }),
        Just(ColumnType::Bytes),
        Just(ColumnType::Text { collation: 45 }),
    ];
    (types, any::<bool>()).prop_map(|(ty, nullable)| Column { ty, nullable })
}

/// What is done to the table next.
#[derive(Clone, Debug)]
enum Doing {
    /// Columns that come, each with its place and value, and the places of those that go first.
    Change(Vec<(u8, Column, u8)>, Vec<u8>),
    /// A column takes another place while one comes.
    Turn(u8, u8, Column, u8),
    Write(u8),
}

fn doing() -> impl Strategy<Value = Doing> {
    let added = (any::<u8>(), column(), any::<u8>());
    prop_oneof![
        3 => (vec(added, 0..3), vec(any::<u8>(), 0..3)).prop_map(|(added, gone)| Doing::Change(added, gone)),
        1 => (any::<u8>(), any::<u8>(), column(), any::<u8>())
            .prop_map(|(from, to, column, value)| Doing::Turn(from, to, column, value)),
        4 => any::<u8>().prop_map(Doing::Write),
    ]
}

/// Names columns for good, whatever places they take.
type Name = u32;

struct Row {
    flags: u8,
    bytes: Vec<u8>,
    values: BTreeMap<Name, Value>,
    /// What it says of each chain.
    references: Vec<Vec<u8>>,
}

struct Model {
    shape: Shape,
    names: Vec<Name>,
    next: Name,
    rows: Vec<Row>,
}

impl Model {
    fn new(columns: Vec<Column>) -> Model {
        let names: Vec<Name> = (0..columns.len() as Name).collect();
        Model {
            next: names.len() as Name,
            names,
            shape: Shape::new(TableSchema {
                columns,
                primary: None,
                secondary: Vec::new(),
            }),
            rows: Vec::new(),
        }
    }

    /// Continues with columns by these names, of which those that are not there come with a value.
    fn step(&mut self, after: Vec<(Name, Column, u8)>) {
        let mut step = Step {
            fates: Vec::new(),
            comes: Vec::new(),
        };
        for (name, column) in self.names.iter().zip(&self.shape.schema.columns) {
            let place = after.iter().position(|(other, ..)| other == name);
            step.fates.push(place.map_or(Fate::Goes(*column), Fate::Stays));
        }
        for (place, (name, column, drawn)) in after.iter().enumerate() {
            if !self.names.contains(name) {
                let value = Value::of(column, *drawn);
                step.comes.push((
                    place,
                    stored_value(column, value.datum()).expect("it is of the type"),
                ));
                for row in &mut self.rows {
                    row.values.insert(*name, value.clone());
                }
            }
        }
        let columns = after.iter().map(|(_, column, _)| *column).collect();
        self.shape.take_step(columns, step).expect("there are no indexes");
        self.names = after.into_iter().map(|(name, ..)| name).collect();
    }

    fn named(&self) -> Vec<(Name, Column, u8)> {
        let columns = self.names.iter().zip(&self.shape.schema.columns);
        columns.map(|(name, column)| (*name, *column, 0)).collect()
    }

    fn fresh(&mut self) -> Name {
        self.next += 1;
        self.next
    }

    fn act(&mut self, doing: Doing) {
        match doing {
            Doing::Change(added, gone) => {
                let mut after = self.named();
                for place in gone {
                    after.remove(place as usize % after.len());
                    if after.is_empty() {
                        after = self.named();
                    }
                }
                for (place, column, value) in added {
                    let name = self.fresh();
                    after.insert(place as usize % (after.len() + 1), (name, column, value));
                }
                self.step(after);
            }
            Doing::Turn(from, to, column, value) => {
                let mut after = self.named();
                let turned = after.remove(from as usize % after.len());
                after.insert(to as usize % (after.len() + 1), turned);
                let name = self.fresh();
                after.push((name, column, value));
                self.step(after);
            }
            Doing::Write(drawn) => self.write(drawn),
        }
    }

    fn write(&mut self, drawn: u8) {
        let columns = &self.shape.schema.columns;
        let draw = |place: usize| drawn.wrapping_mul(31).wrapping_add(place as u8 * 7);
        let values: Vec<Value> = (0..columns.len())
            .map(|c| Value::of(&columns[c], draw(c)))
            .collect();
        let is_long = |c: &usize| values[*c] != Value::Null && columns[*c].ty.fixed_len().is_none();
        let outside: Vec<usize> = (0..columns.len())
            .filter(|c| draw(*c).is_multiple_of(3))
            .filter(is_long)
            .collect();
        let layouts = RowLayouts::new(&self.shape);
        let mut bytes = Vec::new();
        let encoded = layouts
            .newest()
            .encode(|c| values[c].datum(), |c| outside.contains(&c), &mut bytes);
        encoded.expect("values of the columns' types");
        let size = layouts.newest().size(|c| values[c].datum());
        assert_eq!(bytes.len(), size);
        let flags = layouts.flags(!outside.is_empty());
        assert_eq!(flags & VERSIONED != 0, layouts.version() > 0);
        let reference = |c: &usize| match &values[*c] {
            Value::Bytes(bytes) => bytes.clone(),
            other => unreachable!("{other:?} stands outside"),
        };
        self.rows.push(Row {
            flags,
            bytes,
            references: outside.iter().map(reference).collect(),
            values: self.names.iter().copied().zip(values.clone()).collect(),
        });
    }

    fn verify(&self) {
        let mut encoded = Vec::new();
        self.shape.encode(&mut encoded);
        let again = Shape::decode(&encoded).expect("the catalog reads what it has written");
        assert_eq!(again, self.shape);
        let (layouts, parts) = (RowLayouts::new(&again), RowParts::new(&again));
        for row in &self.rows {
            let layout = layouts.of(row.flags, &row.bytes);
            for (place, name) in self.names.iter().enumerate() {
                assert_eq!(
                    layout.get(&row.bytes, place),
                    row.values[name].datum(),
                    "column {place}"
                );
            }
            let named: Vec<_> = layout
                .outside(&row.bytes)
                .map(|(_, reference)| reference)
                .collect();
            assert_eq!(named, row.references);
            let version = super::row_version(row.flags, &row.bytes);
            let found: Vec<_> = parts.of(version).outside(&row.bytes).map(|(_, r)| r).collect();
            assert_eq!(found, named, "without the definition");
        }
    }
}

#[test]
fn rows_of_every_version_show_the_columns_of_today() {
    proptest!(properties(400), |(columns in vec(column(), 1..6), doings in vec(doing(), 1..20))| {
        let mut model = Model::new(columns);
        for doing in doings {
            model.act(doing);
            model.verify();
        }
    });
}

/// The head of a row is where it always was.
#[test]
fn the_version_is_the_first_byte_of_the_row() {
    let int = Column {
        ty: ColumnType::Int { bytes: 4 },
        nullable: false,
    };
    let mut model = Model::new(vec![int]);
    model.act(Doing::Write(7));
    assert_eq!((model.rows[0].flags, model.rows[0].bytes.len()), (0, 4));
    model.act(Doing::Change(vec![(1, int, 9)], vec![]));
    model.act(Doing::Write(7));
    assert_eq!((model.rows[1].flags, model.rows[1].bytes[0]), (VERSIONED, 1));
    assert_eq!((model.rows[1].bytes.len(), ROW_AT), (9, 17));
    model.verify();
}
