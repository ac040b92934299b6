//! Encoded keys compare, byte by byte, as the values do: for every type, ascending and descending, with NULLs, prefixes and
//! several parts. Everything that is found in an index relies on it.

use proptest::collection::vec;
use proptest::prelude::*;
use std::cmp::Ordering;
use std::sync::Arc;
use tidemark_engine::disk::sim::SimDisk;
use tidemark_engine::*;
use tidemark_testing::properties;

const TYPES: [ColumnType; 13] = [
    ColumnType::Int { bytes: 1 },
    ColumnType::Int { bytes: 2 },
    ColumnType::Int { bytes: 3 },
    ColumnType::Int { bytes: 4 },
    ColumnType::Int { bytes: 8 },
    ColumnType::UInt { bytes: 1 },
    ColumnType::UInt { bytes: 3 },
    ColumnType::UInt { bytes: 8 },
    ColumnType::Float,
    ColumnType::Double,
    ColumnType::Fixed { len: 3 },
    ColumnType::Bytes,
    ColumnType::Text { collation: 46 },
];
const BYTES: usize = 11;
const TEXT: usize = 12;
const PREFIX: u32 = 2;

#[derive(Clone, Debug)]
enum Value {
    Null,
    Int(i64),
    UInt(u64),
    Float(f32),
    Double(f64),
    Bytes(Vec<u8>),
}

impl Value {
    fn datum(&self) -> Datum<'_> {
        match self {
            Value::Null => Datum::Null,
            Value::Int(v) => Datum::Int(*v),
            Value::UInt(v) => Datum::UInt(*v),
            Value::Float(v) => Datum::Float(*v),
            Value::Double(v) => Datum::Double(*v),
            Value::Bytes(v) => Datum::Bytes(v),
        }
    }

    /// The order that an index is to have.
    fn compare(&self, other: &Value, prefix: Option<u32>) -> Ordering {
        match (self, other) {
            (Value::Null, Value::Null) => Ordering::Equal,
            (Value::Null, _) => Ordering::Less,
            (_, Value::Null) => Ordering::Greater,
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
            (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).expect("numbers"),
            (Value::Double(a), Value::Double(b)) => a.partial_cmp(b).expect("numbers"),
            (Value::Bytes(a), Value::Bytes(b)) => {
                let cut = |v: &[u8]| v[..v.len().min(prefix.map_or(usize::MAX, |n| n as usize))].to_vec();
                cut(a).cmp(&cut(b))
            }
            _ => unreachable!("values of one column have one type"),
        }
    }
}

/// A value of the type, NULL now and then. Few different bytes, so that values share what they begin with.
fn value(ty: ColumnType) -> BoxedStrategy<Value> {
    let byte = || prop::sample::select(vec![0u8, 1, 2, b'a', b'b', 0x7F, 0x80, 0xFE, 0xFF]);
    let some = match ty {
        ColumnType::Int { bytes } => {
            let high = i64::MAX >> (64 - 8 * u32::from(bytes));
            prop_oneof![(-high - 1)..=high, -2i64..=2, Just(high), Just(-high - 1)]
                .prop_map(Value::Int)
                .boxed()
        }
        ColumnType::UInt { bytes } => {
            let high = u64::MAX >> (64 - 8 * u32::from(bytes));
            prop_oneof![0..=high, 0u64..=2, Just(high)]
                .prop_map(Value::UInt)
                .boxed()
        }
        ColumnType::Float => prop_oneof![prop::num::f32::NORMAL, -2.0f32..2.0, Just(0.0)]
            .prop_map(Value::Float)
            .boxed(),
        ColumnType::Double => prop_oneof![prop::num::f64::NORMAL, -2.0f64..2.0, Just(0.0)]
            .prop_map(Value::Double)
            .boxed(),
        ColumnType::Fixed { len } => vec(byte(), usize::from(len)).prop_map(Value::Bytes).boxed(),
        ColumnType::Bytes => vec(byte(), 0..6).prop_map(Value::Bytes).boxed(),
        ColumnType::Text { .. } => "[ab\u{1}]{0,5}"
            .prop_map(|s| Value::Bytes(s.into_bytes()))
            .boxed(),
        ColumnType::List { .. } => unreachable!("a row has several keys then"),
    };
    prop_oneof![1 => Just(Value::Null), 8 => some].boxed()
}

fn row() -> impl Strategy<Value = Vec<Value>> {
    TYPES.map(value).to_vec()
}

fn part(column: usize, descending: bool, prefix: Option<u32>) -> KeyPart {
    KeyPart {
        column: column + 1,
        prefix,
        descending,
    }
}

/// Every type in both directions, prefixes, and each type in front of each kind of successor.
fn indexes() -> Vec<IndexSchema> {
    let mut parts: Vec<Vec<KeyPart>> = Vec::new();
    for column in 0..TYPES.len() {
        for descending in [false, true] {
            parts.push(vec![part(column, descending, None)]);
            let next = (column + 1) % TYPES.len();
            parts.push(vec![
                part(column, descending, None),
                part(next, !descending, None),
            ]);
        }
    }
    for column in [BYTES, TEXT] {
        for descending in [false, true] {
            parts.push(vec![part(column, descending, Some(PREFIX)), part(0, false, None)]);
        }
    }
    let of = |parts| IndexSchema { parts, unique: false };
    parts.into_iter().map(of).collect()
}

fn table(engine: &Engine) -> Arc<Table> {
    let id = Column {
        ty: ColumnType::Int { bytes: 8 },
        nullable: false,
    };
    let values = TYPES.map(|ty| Column { ty, nullable: true });
    let schema = TableSchema {
        columns: [&[id][..], &values].concat(),
        primary: Some(IndexSchema {
            parts: vec![KeyPart::column(0)],
            unique: true,
        }),
        secondary: indexes(),
    };
    let mut ddl = engine.ddl().expect("definitions can be changed");
    let id = ddl.create_table(&schema).expect("a table");
    ddl.commit().expect("its definition");
    engine.table(id).expect("the table")
}

#[test]
fn properties_of_key_order() {
    let mut config = Config::new("");
    config.disk = Some(Arc::new(SimDisk::new(1)));
    let engine = Engine::open(config).expect("an engine");
    let table = table(&engine);
    let indexes = indexes();
    proptest!(properties(2000), |(one in row(), other in row())| {
        for (at, index) in indexes.iter().enumerate() {
            let key = |row: &[Value]| {
                let values: Vec<Datum> = index.parts.iter().map(|part| row[part.column - 1].datum()).collect();
                let mut key = Vec::new();
                table.encode_key(at + 1, &values, &mut key).expect("a key");
                key
            };
            let by_value = index
                .parts
                .iter()
                .map(|part| {
                    let order = one[part.column - 1].compare(&other[part.column - 1], part.prefix);
                    if part.descending { order.reverse() } else { order }
                })
                .fold(Ordering::Equal, Ordering::then);
            prop_assert_eq!(key(&one).cmp(&key(&other)), by_value, "{:?}", index);
        }
    });
}
