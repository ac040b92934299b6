//! Values, keys and definitions of any bytes: what cannot be made sense of reads as NULL, as empty or as none, and nothing panics.
//! (A page's checksum tells damage; these may be of a page of another moment, which is whole.)

use super::entry::{EntryHead, FRESH_INSERT, Head, OUTSIDE, VERSIONED, row_of, stored_of};
use super::layouts::RowLayouts;
use super::outside::first_page;
use super::row::{EntryLayout, RowLayout};
use crate::schema::{Column, ColumnType, Datum, Fate, IndexSchema, KeyPart, Shape, Step, TableSchema};
use crate::txn::{Undo, restore};
use tidemark_testing::fuzz::Corpus;

/// A column of every type, with and without NULL.
fn schema() -> TableSchema {
    let types = [
        ColumnType::Int { bytes: 4 },
        ColumnType::Int { bytes: 3 },
        ColumnType::UInt { bytes: 8 },
        ColumnType::Float,
        ColumnType::Double,
        ColumnType::Fixed { len: 5 },
        ColumnType::Bytes,
        ColumnType::Text { collation: 1 },
    ];
    let columns = [false, true]
        .into_iter()
        .flat_map(|nullable| types.map(|ty| Column { ty, nullable }));
    let index = |columns: &[usize]| {
        let part = |&column: &usize| KeyPart {
            descending: column % 2 == 1,
            ..KeyPart::column(column)
        };
        IndexSchema {
            parts: columns.iter().map(part).collect(),
            unique: false,
        }
    };
    TableSchema {
        columns: columns.collect(),
        primary: Some(IndexSchema {
            unique: true,
            ..index(&[0, 6])
        }),
        secondary: vec![index(&[9, 12, 15]), index(&[14, 13, 1]), index(&[7])],
    }
}

/// The table after columns have come and gone beside its rows.
fn changed() -> Shape {
    let mut shape = Shape::new(schema());
    let before = shape.schema.columns.clone();
    let keep = |place: usize| match place {
        2 | 8 => Fate::Goes(before[place]),
        place => {
            Fate::Stays(place - usize::from(place > 2) - usize::from(place > 8) + usize::from(place > 4))
        }
    };
    let mut columns: Vec<Column> = before.clone();
    columns.remove(8);
    columns.remove(2);
    columns.insert(4, before[5]);
    let step = Step {
        fates: (0..before.len()).map(keep).collect(),
        comes: vec![(4, Some(b"fives"[..].into()))],
    };
    shape.take_step(columns, step).expect("no index has what goes");
    shape
}

/// Reads all that a row says, and says it again.
fn read_row(layout: &RowLayout, row: &[u8]) {
    for (_, reference) in layout.outside(row) {
        let _ = first_page(reference);
    }
    let values: Vec<Datum> = (0..layout.columns())
        .map(|column| layout.get(row, column))
        .collect();
    let is_outside = |column| layout.is_outside(row, column);
    let mut again = Vec::new();
    // What was too short for its columns has no values to be written.
    if layout
        .encode(|column| values[column], is_outside, &mut again)
        .is_ok()
    {
        let read: Vec<Datum> = (0..layout.columns())
            .map(|column| layout.get(&again, column))
            .collect();
        assert_eq!(
            format!("{values:?}"),
            format!("{read:?}"),
            "it reads otherwise when written again"
        );
        assert_eq!(again.len(), layout.size(|column| values[column]));
    }
}

fn read_entry(layout: &EntryLayout, columns: usize, key: &[u8], stored: &[u8]) {
    assert!(layout.primary_at(key) <= key.len() && layout.own_len(key) <= key.len());
    let _ = layout.has_null(key);
    for column in 0..columns {
        assert_eq!(layout.get(key, stored, column).is_some(), layout.covers(column));
    }
}

fn read_all(shape: &Shape, input: &[u8]) {
    let (head, schema) = (Head::of(input), &shape.schema);
    assert_eq!(head.is_deleted(), EntryHead::of(input).is_deleted());
    let layouts = RowLayouts::new(shape);
    let layout = layouts.of(head.flags, row_of(input));
    match std::ptr::eq(layout, layouts.newest()) {
        true => read_row(layout, row_of(input)),
        false => (0..layout.columns()).for_each(|column| {
            let _ = (
                layout.get(row_of(input), column),
                layout.is_outside(row_of(input), column),
            );
        }),
    }
    for index in &schema.secondary {
        let layout = EntryLayout::new(schema, index);
        let (key, value) = input.split_at(input.len() / 2);
        read_entry(&layout, schema.columns.len(), key, stored_of(value));
    }
}

/// A value with a row of these values, as it lies in a page.
fn value(layout: &RowLayout, flags: u8, outside: bool) -> Vec<u8> {
    let mut value = vec![flags, 7, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0];
    let of = |column: usize| match layout.columns[column].ty {
        _ if layout.columns[column].nullable && column.is_multiple_of(3) => Datum::Null,
        ColumnType::Int { .. } => Datum::Int(-5),
        ColumnType::UInt { .. } => Datum::UInt(5),
        ColumnType::Float => Datum::Float(1.5),
        ColumnType::Double => Datum::Double(-1.5),
        ColumnType::Fixed { .. } => Datum::Bytes(b"fixed"),
        _ => Datum::Bytes(b"twelve bytes"),
    };
    layout
        .encode(of, |column| outside && column == 6, &mut value)
        .expect("values of the columns' types");
    value
}

#[test]
fn rows_of_any_bytes() {
    let shape = changed();
    let old = RowLayout::new(&schema().columns);
    let layouts = RowLayouts::new(&shape);
    let corpus = Corpus::new("row")
        .input(value(&old, 0, false))
        .input(value(&old, OUTSIDE, true))
        .input(value(layouts.newest(), VERSIONED, false))
        .input(value(layouts.newest(), VERSIONED | OUTSIDE, true))
        .input(value(&old, FRESH_INSERT | 1, false));
    corpus.play(20_000, |input| read_all(&shape, input));
}

#[test]
fn definitions_of_any_bytes() {
    let encoded = |shape: &Shape| {
        let mut bytes = Vec::new();
        shape.encode(&mut bytes);
        bytes
    };
    let row = value(&RowLayout::new(&schema().columns), 0, false);
    let corpus = Corpus::new("definition")
        .input(encoded(&Shape::new(schema())))
        .input(encoded(&changed()));
    corpus.play(20_000, |input| {
        if let Some(shape) = Shape::decode(input) {
            assert_eq!(Shape::decode(&encoded(&shape)), Some(shape.clone()));
            read_all(&shape, &row);
            read_all(&shape, input);
        }
    });
}

/// What undoes a change, and the value that it is to be done to.
#[test]
fn undo_notes_of_any_bytes() {
    let note = |undo: Undo| {
        let mut bytes = Vec::new();
        undo.encode(&mut bytes);
        bytes
    };
    let (table, key) = (crate::ids::TableId(3), &b"key"[..]);
    let corpus = Corpus::new("undo")
        .input(note(Undo::Insert {
            table,
            counter: 0,
            key,
        }))
        .input(note(Undo::Insert {
            table,
            counter: 300,
            key,
        }))
        .input(note(Undo::Replace {
            table,
            key,
            front: 17,
            back: 3,
            middle: b"middle",
        }))
        .input(note(Undo::Catalog {
            key,
            before: Some(b"before"),
        }));
    corpus.play(20_000, |input| {
        if let Some(Undo::Replace {
            front, back, middle, ..
        }) = Undo::decode(input)
        {
            let mut old = Vec::new();
            if restore(input, front, back, middle, &mut old).is_some() {
                assert_eq!(old.len(), front + back + middle.len());
            }
        }
    });
}
