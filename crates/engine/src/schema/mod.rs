//! What a table is: columns and indexes, in the engine's own terms. Names, defaults and SQL types belong to the floor
//! above, which keeps them beside the table in the catalog's meta spaces.

mod history;
mod list;
mod row_buf;

pub use history::ROW_VERSIONS_MAX;
pub(crate) use history::{COLUMN_OUTSIDE, Fate, History, Past, Step, StoredValue, VariablePart};
pub use list::{Element, Values};
pub use row_buf::RowBuf;

use crate::bytes::ByteReader;
use crate::error::{Error, Result};
use crate::ids::IndexNo;

/// One column's value, borrowed. The engine knows six shapes; everything else is the SQL floor's encoding into one of
/// them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Datum<'a> {
    /// No value.
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A 32-bit float.
    Float(f32),
    /// A 64-bit float.
    Double(f64),
    /// Bytes: strings, decimals, dates, whatever the floor above encodes so.
    Bytes(&'a [u8]),
}

impl<'a> Datum<'a> {
    /// True for NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    /// The number, if it is an integer that fits.
    pub fn as_int(&self) -> Option<i64> {
        match *self {
            Datum::Int(v) => Some(v),
            Datum::UInt(v) => i64::try_from(v).ok(),
            _ => None,
        }
    }

    /// The number, if it is an integer that is not negative.
    pub fn as_uint(&self) -> Option<u64> {
        match *self {
            Datum::UInt(v) => Some(v),
            Datum::Int(v) => u64::try_from(v).ok(),
            _ => None,
        }
    }

    /// The bytes, if it has any.
    pub fn as_bytes(&self) -> Option<&'a [u8]> {
        match *self {
            Datum::Bytes(v) => Some(v),
            _ => None,
        }
    }
}

/// The type of a column, as far as storing and ordering need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Signed, stored in 1 to 8 bytes.
    Int {
        /// 1 to 8.
        bytes: u8,
    },
    /// Unsigned, stored in 1 to 8 bytes.
    UInt {
        /// 1 to 8.
        bytes: u8,
    },
    /// 32 bits.
    Float,
    /// 64 bits.
    Double,
    /// Exactly `len` bytes whose byte order is their value order (packed decimals, temporal values).
    Fixed {
        /// How many.
        len: u16,
    },
    /// Any number of bytes, compared as bytes.
    Bytes,
    /// Any number of bytes, compared by the collation's sort key.
    Text {
        /// Passed on to the [`Collator`](crate::Collator).
        collation: u16,
    },
    /// Any number of values, each of which an index has an entry for (see [`Element`]).
    List {
        /// The type of the values.
        of: Element,
    },
}

impl ColumnType {
    /// Bytes in the fixed part of a row; `None` for the types of variable length.
    pub fn fixed_len(&self) -> Option<usize> {
        match *self {
            ColumnType::Int { bytes } | ColumnType::UInt { bytes } => Some(bytes as usize),
            ColumnType::Float => Some(4),
            ColumnType::Double => Some(8),
            ColumnType::Fixed { len } => Some(len as usize),
            ColumnType::Bytes | ColumnType::Text { .. } | ColumnType::List { .. } => None,
        }
    }

    /// The tag and the number that stand for the type in the catalog.
    fn code(self) -> (u8, u16) {
        match self {
            ColumnType::Int { bytes } => (1, bytes as u16),
            ColumnType::UInt { bytes } => (2, bytes as u16),
            ColumnType::Float => (3, 0),
            ColumnType::Double => (4, 0),
            ColumnType::Fixed { len } => (5, len),
            ColumnType::Bytes => (6, 0),
            ColumnType::Text { collation } => (7, collation),
            ColumnType::List { of } => {
                let (tag, arg) = of.ty().code();
                (tag | LIST, arg)
            }
        }
    }

    fn of_code(tag: u8, arg: u16) -> Option<ColumnType> {
        Some(match tag {
            1 | 2 if !(1..=8).contains(&arg) => return None,
            1 => ColumnType::Int { bytes: arg as u8 },
            2 => ColumnType::UInt { bytes: arg as u8 },
            3 => ColumnType::Float,
            4 => ColumnType::Double,
            5 => ColumnType::Fixed { len: arg },
            6 => ColumnType::Bytes,
            7 => ColumnType::Text { collation: arg },
            _ if tag & LIST != 0 => {
                let of = ColumnType::of_code(tag & !LIST, arg)?;
                ColumnType::List { of: Element::of(of)? }
            }
            _ => return None,
        })
    }
}

/// The bit of a type's tag that says that the column is a list of that type.
const LIST: u8 = 0x80;

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The type.
    pub ty: ColumnType,
    /// The column may be NULL.
    pub nullable: bool,
}

/// One part of an index key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPart {
    /// Number of the column in the table, from 0.
    pub column: usize,
    /// Only the first so many characters (of text) or bytes (of bytes) are indexed.
    pub prefix: Option<u32>,
    /// Larger values come first.
    pub descending: bool,
}

impl KeyPart {
    /// The whole column, ascending.
    pub fn column(column: usize) -> KeyPart {
        KeyPart {
            column,
            prefix: None,
            descending: false,
        }
    }
}

/// An index: its key parts in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSchema {
    /// The key parts, in order; at least one.
    pub parts: Vec<KeyPart>,
    /// No two rows share a key without NULLs.
    pub unique: bool,
}

/// A table: its columns and indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSchema {
    /// The columns, in order.
    pub columns: Vec<Column>,
    /// `None`: the table is clustered by a hidden row id.
    pub primary: Option<IndexSchema>,
    /// The secondary indexes, in order: index number 1 is the first.
    pub secondary: Vec<IndexSchema>,
}

impl TableSchema {
    /// The index's definition; `None` for the clustered index of a table without a primary key.
    pub fn index(&self, no: IndexNo) -> Option<&IndexSchema> {
        match no {
            0 => self.primary.as_ref(),
            n => self.secondary.get(n - 1),
        }
    }

    /// Whether the definition makes sense; everything that runs later relies on it.
    pub fn validate(&self) -> Result<()> {
        for (i, column) in self.columns.iter().enumerate() {
            let ty = match column.ty {
                ColumnType::List { of } => of.ty(),
                ty => ty,
            };
            match ty {
                ColumnType::Int { bytes } | ColumnType::UInt { bytes } if !(1..=8).contains(&bytes) => {
                    return Err(Error::WrongValue {
                        column: i,
                        what: "an integer has 1 to 8 bytes",
                    });
                }
                _ => {}
            }
        }
        for (i, index) in self.primary.iter().chain(&self.secondary).enumerate() {
            if index.parts.is_empty() {
                return Err(Error::Unsupported("an index without columns"));
            }
            let is_list = |part: &&KeyPart| {
                let column = self.columns.get(part.column);
                column.is_some_and(|column| matches!(column.ty, ColumnType::List { .. }))
            };
            let lists = index.parts.iter().filter(is_list);
            let is_primary = i == 0 && self.primary.is_some();
            if lists.clone().count() > 1 || lists.clone().any(|part| is_primary || part.prefix.is_some()) {
                return Err(Error::Unsupported(
                    "several lists in one index, or one in a primary key",
                ));
            }
            for (p, part) in index.parts.iter().enumerate() {
                let Some(column) = self.columns.get(part.column) else {
                    return Err(Error::WrongValue {
                        column: part.column,
                        what: "no such column",
                    });
                };
                if index.parts[..p].iter().any(|other| other.column == part.column) {
                    return Err(Error::WrongValue {
                        column: part.column,
                        what: "twice in one index",
                    });
                }
                if is_primary && column.nullable {
                    return Err(Error::WrongValue {
                        column: part.column,
                        what: "a primary key is not nullable",
                    });
                }
            }
        }
        Ok(())
    }

    /// The catalog's encoding of the definition.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend((self.columns.len() as u16).to_le_bytes());
        self.columns.iter().for_each(|column| encode_column(column, out));
        out.push(self.primary.is_some() as u8);
        out.extend((self.secondary.len() as u16).to_le_bytes());
        for index in self.primary.iter().chain(&self.secondary) {
            out.push(index.unique as u8);
            out.extend((index.parts.len() as u16).to_le_bytes());
            for part in &index.parts {
                out.extend((part.column as u16).to_le_bytes());
                out.extend(part.prefix.unwrap_or(0).to_le_bytes());
                out.push(part.descending as u8);
            }
        }
    }

    /// The definition from its encoding; `None` if the bytes are not one.
    pub fn decode(bytes: &[u8]) -> Option<TableSchema> {
        TableSchema::read(&mut ByteReader(bytes))
    }

    /// [`Self::decode`], leaving what follows the encoding.
    fn read(r: &mut ByteReader<'_>) -> Option<TableSchema> {
        let columns = (0..r.u16()?).map(|_| decode_column(r));
        let columns = columns.collect::<Option<Vec<_>>>()?;
        let has_primary = r.u8()? != 0;
        let secondaries = r.u16()?;
        let mut index = || {
            let unique = r.u8()? != 0;
            let mut parts = Vec::new();
            for _ in 0..r.u16()? {
                let (column, prefix, descending) = (r.u16()? as usize, r.u32()?, r.u8()? != 0);
                parts.push(KeyPart {
                    column,
                    prefix: (prefix != 0).then_some(prefix),
                    descending,
                });
            }
            Some(IndexSchema { parts, unique })
        };
        let primary = if has_primary { Some(index()?) } else { None };
        let secondary = (0..secondaries).map(|_| index()).collect::<Option<Vec<_>>>()?;
        let schema = TableSchema {
            columns,
            primary,
            secondary,
        };
        schema.validate().ok()?;
        Some(schema)
    }
}

fn encode_column(column: &Column, out: &mut Vec<u8>) {
    let (tag, arg) = column.ty.code();
    out.push(tag);
    out.extend(arg.to_le_bytes());
    out.push(column.nullable as u8);
}

/// The column from its encoding; `None` if the bytes are none.
fn decode_column(r: &mut ByteReader<'_>) -> Option<Column> {
    let (tag, arg, nullable) = (r.u8()?, r.u16()?, r.u8()? != 0);
    let ty = ColumnType::of_code(tag, arg)?;
    Some(Column { ty, nullable })
}

/// A table, and how its rows came to have its columns: what the catalog keeps of it beside its trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub schema: TableSchema,
    pub history: History,
}

impl Shape {
    /// Of a table whose rows are all to be written yet.
    pub fn new(schema: TableSchema) -> Shape {
        Shape {
            schema,
            history: History::default(),
        }
    }

    /// Goes on to these columns by a step; the indexes follow theirs. Fails if one of them loses a column.
    pub fn take_step(&mut self, columns: Vec<Column>, step: Step) -> Result<()> {
        let schema = &mut self.schema;
        for part in schema
            .primary
            .iter_mut()
            .chain(&mut schema.secondary)
            .flat_map(|index| &mut index.parts)
        {
            match step.fates[part.column] {
                Fate::Stays(place) => part.column = place,
                Fate::Goes(_) => return Err(Error::Unsupported("dropping a column that an index has")),
            }
        }
        schema.columns = columns;
        schema.validate()?;
        self.history.steps.push(step);
        Ok(())
    }

    /// How rows of each version, 0 first, have the columns.
    pub fn pasts(&self) -> Vec<Past> {
        let pasts = self.history.pasts(&self.schema.columns);
        pasts.expect("a history is tested when it is decoded, and where it is continued")
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        self.schema.encode(out);
        self.history.encode(out);
    }

    pub fn decode(bytes: &[u8]) -> Option<Shape> {
        let mut r = ByteReader(bytes);
        let schema = TableSchema::read(&mut r)?;
        let history = History::decode(r.0, &schema.columns)?;
        Some(Shape { schema, history })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_survives_the_catalog() {
        let schema = TableSchema {
            columns: vec![
                Column {
                    ty: ColumnType::Int { bytes: 4 },
                    nullable: false,
                },
                Column {
                    ty: ColumnType::UInt { bytes: 8 },
                    nullable: true,
                },
                Column {
                    ty: ColumnType::Float,
                    nullable: true,
                },
                Column {
                    ty: ColumnType::Double,
                    nullable: false,
                },
                Column {
                    ty: ColumnType::Fixed { len: 9 },
                    nullable: false,
                },
                Column {
                    ty: ColumnType::Bytes,
                    nullable: true,
                },
                Column {
                    ty: ColumnType::Text { collation: 255 },
                    nullable: true,
                },
                Column {
                    ty: ColumnType::List {
                        of: Element::Text { collation: 309 },
                    },
                    nullable: true,
                },
            ],
            primary: Some(IndexSchema {
                parts: vec![KeyPart::column(0)],
                unique: true,
            }),
            secondary: vec![IndexSchema {
                parts: vec![
                    KeyPart {
                        column: 6,
                        prefix: Some(10),
                        descending: true,
                    },
                    KeyPart::column(1),
                    KeyPart::column(7),
                ],
                unique: false,
            }],
        };
        let mut bytes = Vec::new();
        schema.encode(&mut bytes);
        assert_eq!(TableSchema::decode(&bytes).unwrap(), schema);
        for cut in 0..bytes.len() {
            assert!(TableSchema::decode(&bytes[..cut]).is_none(), "cut at {cut}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let column = Column {
            ty: ColumnType::Int { bytes: 4 },
            nullable: true,
        };
        let index = |c| IndexSchema {
            parts: vec![KeyPart::column(c)],
            unique: true,
        };
        let schema = |primary, secondary| TableSchema {
            columns: vec![column],
            primary,
            secondary,
        };
        assert!(
            schema(Some(index(0)), vec![]).validate().is_err(),
            "nullable primary key"
        );
        assert!(schema(None, vec![index(1)]).validate().is_err(), "no such column");
        assert!(schema(None, vec![index(0)]).validate().is_ok());
    }
}
