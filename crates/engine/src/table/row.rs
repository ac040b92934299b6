//! The row codec. A row is read where it lies in the page: every fixed column stands at an offset known from the
//! table's definition, every variable one between two offsets in the row.
//!
//! ```text
//!  row := version u8 | null bits | fixed columns | end offset of each variable column, u16 | variable columns
//!
//!  version: only in rows whose head has the flag for it; others are of version 0
//!  end offset, top bit set: the column's bytes stand outside the row; here is a reference to them
//! ```
//!
//! One bit per nullable column; a NULL fixed column's bytes are zero, a NULL variable column is empty. A secondary
//! entry keeps in its value only the columns that its key cannot give back (text, whose key is a collation weight).
//!
//! Columns can come and go while the rows stay as they are (`schema/history.rs`). Each version of the definition has a layout
//! of its own, which says of every column of *today* where rows of that version have it, or which value it has in them. Rows
//! are written by the newest layout alone.

use super::key::KeyPartCodec;
use super::outside::Outside;
use crate::error::{Error, Result};
use crate::schema::{
    COLUMN_OUTSIDE, Column, ColumnType, Datum, IndexSchema, Past, StoredValue, TableSchema, VariablePart,
};
use std::cell::Cell;

/// Where a column stands in a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ColumnPlace {
    Fixed {
        offset: u32,
    },
    Variable {
        ordinal: u32,
    },
    /// Rows of this version lack the column: it has this one's value in all of them.
    Nowhere {
        constant: u32,
    },
}

/// The number of a column that rows have and the table does not any more.
const GONE: usize = usize::MAX;

/// The layout of rows of one version, computed once per table. The numbers of columns are today's.
#[derive(Debug)]
pub(crate) struct RowLayout {
    pub columns: Vec<Column>,
    places: Vec<(ColumnPlace, Option<u32>)>,
    version: u8,
    part: VariablePart,
    /// The columns of variable length that rows have.
    variables: Vec<usize>,
    constants: Vec<StoredValue>,
}

impl RowLayout {
    /// Of rows that have just these columns, and no version.
    pub fn new(columns: &[Column]) -> RowLayout {
        RowLayout::of_version(0, &Past::of_today(columns), columns)
    }

    pub(super) fn of_version(version: usize, past: &Past, columns: &[Column]) -> RowLayout {
        let stored: Vec<Column> = past.stored.iter().map(|(column, _)| *column).collect();
        let nullable = stored.iter().filter(|c| c.nullable).count();
        let head = usize::from(version > 0);
        let mut offset = head + nullable.div_ceil(8);
        let mut null_bit = 8 * head as u32;
        let mut variables = Vec::new();
        let mut places = vec![(ColumnPlace::Nowhere { constant: 0 }, None); columns.len()];
        for (column, now) in &past.stored {
            let bit = column.nullable.then(|| {
                null_bit += 1;
                null_bit - 1
            });
            let place = match column.ty.fixed_len() {
                Some(len) => {
                    offset += len;
                    ColumnPlace::Fixed {
                        offset: (offset - len) as u32,
                    }
                }
                None => {
                    variables.push(now.unwrap_or(GONE));
                    ColumnPlace::Variable {
                        ordinal: variables.len() as u32 - 1,
                    }
                }
            };
            if let Some(now) = now {
                places[*now] = (place, bit);
            }
        }
        for (constant, (now, _)) in (0..).zip(&past.lacking) {
            places[*now] = (ColumnPlace::Nowhere { constant }, None);
        }
        RowLayout {
            columns: columns.to_vec(),
            places,
            version: version as u8,
            part: VariablePart::of(version, &stored),
            variables,
            constants: past.lacking.iter().map(|(_, value)| value.clone()).collect(),
        }
    }

    #[inline]
    pub fn is_null(&self, row: &[u8], column: usize) -> bool {
        match self.places[column].1 {
            Some(bit) => row.get(bit as usize / 8).is_some_and(|b| b >> (bit % 8) & 1 == 1),
            None => false,
        }
    }

    /// How many columns a row has.
    #[inline]
    pub fn columns(&self) -> usize {
        self.places.len()
    }

    /// The column's value; for a column that stands outside, the reference to it (see [`Self::outside`]).
    #[inline]
    pub fn get<'a>(&'a self, row: &'a [u8], column: usize) -> Datum<'a> {
        if self.is_null(row, column) {
            return Datum::Null;
        }
        match self.places[column].0 {
            ColumnPlace::Variable { ordinal } => Datum::Bytes(self.part.get(row, ordinal as usize).0),
            ColumnPlace::Fixed { offset } => {
                let ty = self.columns[column].ty;
                let len = ty.fixed_len().unwrap_or(0);
                let Some(bytes) = row.get(offset as usize..offset as usize + len) else {
                    return Datum::Null;
                };
                value_of(ty, bytes)
            }
            ColumnPlace::Nowhere { constant } => match &self.constants[constant as usize] {
                Some(bytes) => value_of(self.columns[column].ty, bytes),
                None => Datum::Null,
            },
        }
    }

    /// The columns that stand outside the row, and their references. Among them are those that the table does not have any
    /// more, under a number that no column has.
    pub fn outside<'a>(&'a self, row: &'a [u8]) -> impl Iterator<Item = (usize, &'a [u8])> + 'a {
        let outside = self.part.outside(row);
        outside.map(|(ordinal, reference)| (self.variables[ordinal], reference))
    }

    pub fn is_outside(&self, row: &[u8], column: usize) -> bool {
        match self.places[column].0 {
            ColumnPlace::Variable { ordinal } => self.part.get(row, ordinal as usize).1,
            ColumnPlace::Fixed { .. } | ColumnPlace::Nowhere { .. } => false,
        }
    }

    /// The bytes that a row of these values takes.
    pub fn size<'d>(&self, values: impl Fn(usize) -> Datum<'d>) -> usize {
        let variable = self
            .variables
            .iter()
            .map(|c| values(*c).as_bytes().map_or(0, <[u8]>::len));
        self.part.base() + variable.sum::<usize>()
    }

    /// Whether any column stands outside.
    pub fn has_outside(&self, row: &[u8]) -> bool {
        !self.variables.is_empty() && self.outside(row).next().is_some()
    }

    /// Appends the row of these values; only the newest layout writes rows. `outside` says which of them are references.
    pub fn encode<'d>(
        &self,
        values: impl Fn(usize) -> Datum<'d>,
        outside: impl Fn(usize) -> bool,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let start = out.len();
        out.resize(start + self.part.base(), 0);
        if self.version > 0 {
            out[start] = self.version;
        }
        let base = out.len();
        for (i, column) in self.columns.iter().enumerate() {
            let wrong = |what| Error::WrongValue { column: i, what };
            let value = values(i);
            let (place, null_bit) = self.places[i];
            if value.is_null() {
                let bit = null_bit.ok_or(wrong(NULL_REFUSED))? as usize;
                out[start + bit / 8] |= 1 << (bit % 8);
            }
            match place {
                ColumnPlace::Fixed { offset } => {
                    let at = start + offset as usize;
                    let len = column.ty.fixed_len().unwrap_or(0);
                    if !value.is_null() {
                        put_fixed(column.ty, value, &mut out[at..at + len]).map_err(wrong)?;
                    }
                }
                ColumnPlace::Variable { ordinal } => {
                    match value {
                        Datum::Null => {}
                        Datum::Bytes(b) => out.extend_from_slice(b),
                        _ => return Err(wrong("a value of another type")),
                    }
                    let end = out.len() - base;
                    if end >= COLUMN_OUTSIDE as usize {
                        return Err(Error::RowTooLarge {
                            bytes: end,
                            max_bytes: COLUMN_OUTSIDE as usize,
                        });
                    }
                    let mark = if outside(i) { COLUMN_OUTSIDE } else { 0 };
                    let at = start + self.part.at as usize + 2 * ordinal as usize;
                    out[at..at + 2].copy_from_slice(&(end as u16 | mark).to_le_bytes());
                }
                ColumnPlace::Nowhere { .. } => return Err(wrong("a column that rows do not have")),
            }
        }
        Ok(())
    }
}

/// Writes the value of a column of fixed length, which is not NULL. Fails with the reason why it is none.
#[inline]
fn put_fixed(ty: ColumnType, value: Datum, out: &mut [u8]) -> std::result::Result<(), &'static str> {
    let unused = |bytes: u8| 64 - 8 * bytes as u32;
    let bytes = match (ty, value) {
        (ColumnType::Int { bytes }, v) => {
            let v = v.as_int().ok_or("not an integer")?;
            if v << unused(bytes) >> unused(bytes) != v {
                return Err("an integer out of range");
            }
            v as u64
        }
        (ColumnType::UInt { bytes }, v) => {
            let v = v.as_uint().ok_or("not an unsigned integer")?;
            if v << unused(bytes) >> unused(bytes) != v {
                return Err("an integer out of range");
            }
            v
        }
        (ColumnType::Float, Datum::Float(v)) => v.to_bits() as u64,
        (ColumnType::Double, Datum::Double(v)) => v.to_bits(),
        (ColumnType::Fixed { .. }, Datum::Bytes(b)) if b.len() == out.len() => {
            out.copy_from_slice(b);
            return Ok(());
        }
        _ => return Err("a value of another type"),
    };
    let len = out.len();
    out.copy_from_slice(&bytes.to_le_bytes()[..len]);
    Ok(())
}

/// A value as it stands in a row. Fails with the reason why the column cannot have it.
pub(crate) fn stored_value(column: &Column, value: Datum) -> std::result::Result<StoredValue, &'static str> {
    match (column.ty.fixed_len(), value) {
        (_, Datum::Null) if column.nullable => Ok(None),
        (_, Datum::Null) => Err(NULL_REFUSED),
        (Some(len), value) => {
            let mut bytes = vec![0; len];
            put_fixed(column.ty, value, &mut bytes)?;
            Ok(Some(bytes.into()))
        }
        (None, Datum::Bytes(bytes)) => Ok(Some(bytes.into())),
        _ => Err("a value of another type"),
    }
}

const NULL_REFUSED: &str = "NULL in a column that is not nullable";

/// The value that stands in a row as these bytes.
#[inline]
fn value_of(ty: ColumnType, bytes: &[u8]) -> Datum<'_> {
    match ty {
        ColumnType::Int { .. } => {
            let unused = 64 - 8 * bytes.len() as u32;
            Datum::Int(((number(bytes) << unused) as i64) >> unused)
        }
        ColumnType::UInt { .. } => Datum::UInt(number(bytes)),
        ColumnType::Float => Datum::Float(f32::from_bits(number(bytes) as u32)),
        ColumnType::Double => Datum::Double(f64::from_bits(number(bytes))),
        _ => Datum::Bytes(bytes),
    }
}

#[inline]
fn number(bytes: &[u8]) -> u64 {
    match *bytes {
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => bytes.iter().rev().fold(0, |v, b| v << 8 | *b as u64),
    }
}

/// The layout of a secondary index's entries.
#[derive(Debug)]
pub(crate) struct EntryLayout {
    /// The index's own parts, then the clustered key's.
    pub parts: Vec<KeyPartCodec>,
    /// How many of `parts` are the index's own.
    pub own: usize,
    /// Which of them is a list: a row has as many entries as that has values.
    pub list: Option<usize>,
    /// The columns kept in the value, because the key cannot give them back.
    pub stored: Vec<usize>,
    stored_layout: RowLayout,
    /// Where each of the table's columns is found.
    sources: Vec<ColumnSource>,
    /// The clustered key's length, if it is the same for all rows.
    primary_len: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
enum ColumnSource {
    Nowhere,
    Key { part: usize },
    Stored { column: usize },
}

impl EntryLayout {
    pub fn new(schema: &TableSchema, index: &IndexSchema) -> EntryLayout {
        let mut parts = KeyPartCodec::of(schema, index);
        let own = parts.len();
        let primary = schema
            .primary
            .as_ref()
            .map(|p| KeyPartCodec::of(schema, p))
            .unwrap_or_default();
        let primary_len = match &schema.primary {
            None => Some(super::ROW_ID_BYTES),
            Some(_) => primary.iter().map(|p| p.ty.fixed_len()).sum(),
        };
        parts.extend(primary);
        let mut sources = vec![ColumnSource::Nowhere; schema.columns.len()];
        let mut stored = Vec::new();
        for (i, part) in parts.iter().enumerate() {
            let known = matches!(sources[part.column], ColumnSource::Nowhere) && part.list.is_none();
            if known && part.reversible() {
                sources[part.column] = ColumnSource::Key { part: i };
            } else if known && part.prefix.is_none() {
                sources[part.column] = ColumnSource::Stored { column: stored.len() };
                stored.push(part.column);
            }
        }
        let columns: Vec<Column> = stored.iter().map(|c| schema.columns[*c]).collect();
        EntryLayout {
            list: parts.iter().position(|part| part.list.is_some()),
            parts,
            own,
            stored,
            stored_layout: RowLayout::new(&columns),
            sources,
            primary_len,
        }
    }

    pub fn covers(&self, column: usize) -> bool {
        !matches!(self.sources.get(column), None | Some(ColumnSource::Nowhere))
    }

    /// Appends the part of the entry's value that holds columns.
    pub fn encode_stored<'d>(&self, values: impl Fn(usize) -> Datum<'d>, out: &mut Vec<u8>) -> Result<()> {
        match self.stored.is_empty() {
            true => Ok(()),
            false => self
                .stored_layout
                .encode(|i| values(self.stored[i]), |_| false, out),
        }
    }

    /// The column's value; `None` for a column that the entry does not have.
    pub fn get<'a>(&'a self, key: &'a [u8], stored: &'a [u8], column: usize) -> Option<Datum<'a>> {
        match *self.sources.get(column)? {
            ColumnSource::Nowhere => None,
            ColumnSource::Stored { column } => Some(self.stored_layout.get(stored, column)),
            ColumnSource::Key { part } => {
                let mut rest = key;
                for p in &self.parts[..part] {
                    rest = &rest[p.skip(rest).unwrap_or(rest.len())..];
                }
                Some(self.parts[part].decode(rest).unwrap_or(Datum::Null))
            }
        }
    }

    /// Where the clustered key begins in an entry's key.
    pub fn primary_at(&self, key: &[u8]) -> usize {
        match self.primary_len {
            Some(len) => key.len().saturating_sub(len),
            None => self.own_len(key),
        }
    }

    /// The length of the index's own parts in an entry's key.
    pub fn own_len(&self, key: &[u8]) -> usize {
        let own = self.parts[..self.own].iter();
        own.fold(0, |at, p| at + p.skip(&key[at..]).unwrap_or(key.len() - at))
    }

    /// True if one of the index's own parts is NULL: such a key is never a duplicate.
    pub fn has_null(&self, key: &[u8]) -> bool {
        let mut rest = key;
        self.parts[..self.own].iter().any(|p| {
            let null = p.is_null(rest);
            rest = &rest[p.skip(rest).unwrap_or(rest.len())..];
            null
        })
    }
}

/// A row, or a covering index entry, borrowed where it lies. Valid only inside the callback that got it, which runs
/// under the page's latch: it must neither block nor call the engine.
#[derive(Clone, Copy)]
pub struct RowView<'a> {
    primary_key: &'a [u8],
    /// The entry that it was found by, where that can be told apart from others of the row.
    entry: Option<&'a [u8]>,
    kind: RowBytes<'a>,
}

#[derive(Clone, Copy)]
enum RowBytes<'a> {
    Row {
        layout: &'a RowLayout,
        bytes: &'a [u8],
        outside: &'a Outside<'a>,
    },
    Entry {
        layout: &'a EntryLayout,
        key: &'a [u8],
        stored: &'a [u8],
        wrong: &'a WrongColumn,
    },
}

/// The column that a callback asked a covering entry for in vain. Checked when the callback has returned: a wrong column
/// is an error of the call, not a panic under a latch. (For a row, [`Outside`] keeps it.)
#[derive(Default)]
pub(crate) struct WrongColumn(Cell<Option<usize>>);

impl WrongColumn {
    /// Fails if a column was asked for that the entry does not have.
    #[inline]
    pub fn check(&self) -> Result<()> {
        let what = "a column that the index does not cover";
        self.0
            .get()
            .map_or(Ok(()), |column| Err(Error::WrongValue { column, what }))
    }
}

impl<'a> RowView<'a> {
    /// The row in `bytes`, which `outside` has been made of.
    pub(crate) fn row(primary_key: &'a [u8], bytes: &'a [u8], outside: &'a Outside<'a>) -> RowView<'a> {
        RowView {
            primary_key,
            entry: None,
            kind: RowBytes::Row {
                layout: outside.layout,
                bytes,
                outside,
            },
        }
    }

    pub(crate) fn entry(
        layout: &'a EntryLayout,
        key: &'a [u8],
        stored: &'a [u8],
        wrong: &'a WrongColumn,
    ) -> RowView<'a> {
        RowView {
            primary_key: &key[layout.primary_at(key)..],
            entry: Some(key),
            kind: RowBytes::Entry {
                layout,
                key,
                stored,
                wrong,
            },
        }
    }

    /// The column's value. A covering entry has only the columns that the index [covers](super::Table::covers). Any other
    /// column comes as NULL, and the call that shows this row fails with [`Error::WrongValue`] once its callback returns.
    #[inline]
    pub fn get(&self, column: usize) -> Datum<'a> {
        match self.kind {
            RowBytes::Row {
                layout,
                bytes,
                outside,
            } => {
                if column >= layout.columns() {
                    outside.refuse(column);
                    return Datum::Null;
                }
                if !outside.is_empty()
                    && let Some(value) = outside.get(column)
                {
                    return Datum::Bytes(value);
                }
                layout.get(bytes, column)
            }
            RowBytes::Entry {
                layout,
                key,
                stored,
                wrong,
            } => layout.get(key, stored, column).unwrap_or_else(|| {
                wrong.0.set(Some(column));
                Datum::Null
            }),
        }
    }

    /// The whole encoded key of the entry that the row was found by, if this is a covering entry or the index has a list among its
    /// parts. It is where a scan of that index can go on, which the columns may not tell.
    pub fn entry_key(&self) -> Option<&'a [u8]> {
        self.entry
    }

    /// Where a locking scan that shows the row can go [on](super::RangeScan::after).
    pub fn key(&self) -> &'a [u8] {
        self.entry.unwrap_or(self.primary_key)
    }

    /// The same row, found by this entry.
    pub(crate) fn found_by<'b>(&self, entry: &'b [u8]) -> RowView<'b>
    where
        'a: 'b,
    {
        RowView {
            entry: Some(entry),
            ..*self
        }
    }

    /// The row's encoded primary key: what [`super::Table::modify`] takes.
    pub fn primary_key(&self) -> &'a [u8] {
        self.primary_key
    }
}
