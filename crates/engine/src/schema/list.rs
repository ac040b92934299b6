//! Lists: a column with several values, of which an index has an entry for each.
//!
//! ```text
//!  list   := value, value, …       in any order, one may stand there twice
//!  value  := the fixed bytes as in a row          of integers and fixed types
//!          | length u16 | bytes                   of bytes and texts
//! ```
//!
//! In a row a list is a column of variable length. As a part of an index's key it stands for one value of it at a time: a row has as
//! many entries as the list has different values, none if it is empty, and one with NULL if it is NULL. An index has at most one
//! list among its parts; a primary key has none.

use super::{ColumnType, Datum};
use crate::bytes::ByteReader;

/// The type of a list's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// [`ColumnType::Int`]
    Int {
        /// 1 to 8.
        bytes: u8,
    },
    /// [`ColumnType::UInt`]
    UInt {
        /// 1 to 8.
        bytes: u8,
    },
    /// [`ColumnType::Fixed`]
    Fixed {
        /// How many.
        len: u16,
    },
    /// [`ColumnType::Bytes`]
    Bytes,
    /// [`ColumnType::Text`]
    Text {
        /// Passed on to the [`Collator`](crate::Collator).
        collation: u16,
    },
}

impl Element {
    /// The type of a list's values; `None` for one that lists cannot have.
    pub fn of(ty: ColumnType) -> Option<Element> {
        Some(match ty {
            ColumnType::Int { bytes } => Element::Int { bytes },
            ColumnType::UInt { bytes } => Element::UInt { bytes },
            ColumnType::Fixed { len } => Element::Fixed { len },
            ColumnType::Bytes => Element::Bytes,
            ColumnType::Text { collation } => Element::Text { collation },
            ColumnType::Float | ColumnType::Double | ColumnType::List { .. } => return None,
        })
    }

    /// As the type of a column.
    pub fn ty(self) -> ColumnType {
        match self {
            Element::Int { bytes } => ColumnType::Int { bytes },
            Element::UInt { bytes } => ColumnType::UInt { bytes },
            Element::Fixed { len } => ColumnType::Fixed { len },
            Element::Bytes => ColumnType::Bytes,
            Element::Text { collation } => ColumnType::Text { collation },
        }
    }

    /// Appends a value to a list. Returns false, with nothing done, for one that is of another type or too long.
    pub fn push(self, value: Datum, list: &mut Vec<u8>) -> bool {
        let fixed = |number: u64, bytes: u8| number.to_le_bytes()[..bytes as usize].to_vec();
        let bytes = match (self, value) {
            (Element::Int { bytes }, _) => match value.as_int() {
                Some(v) => fixed(v as u64, bytes),
                None => return false,
            },
            (Element::UInt { bytes }, _) => match value.as_uint() {
                Some(v) => fixed(v, bytes),
                None => return false,
            },
            (Element::Fixed { len }, Datum::Bytes(b)) if b.len() == len as usize => b.to_vec(),
            (Element::Bytes | Element::Text { .. }, Datum::Bytes(b)) => {
                let Ok(len) = u16::try_from(b.len()) else {
                    return false;
                };
                [&len.to_le_bytes()[..], b].concat()
            }
            _ => return false,
        };
        list.extend_from_slice(&bytes);
        true
    }

    /// The values of a list. One that is cut short ends with its last whole value.
    pub fn values(self, list: &[u8]) -> Values<'_> {
        Values {
            element: self,
            rest: list,
        }
    }
}

/// The values of a list, from [`Element::values`].
pub struct Values<'l> {
    element: Element,
    rest: &'l [u8],
}

impl<'l> Iterator for Values<'l> {
    type Item = Datum<'l>;

    fn next(&mut self) -> Option<Datum<'l>> {
        let mut reader = ByteReader(self.rest);
        let len = match self.element.ty().fixed_len() {
            Some(len) => len,
            None => reader.u16()? as usize,
        };
        let (value, rest) = reader.0.split_at_checked(len)?;
        self.rest = rest;
        let number = value.iter().rev().fold(0u64, |v, b| v << 8 | *b as u64);
        Some(match self.element {
            Element::Int { bytes } => {
                let unused = u64::BITS - 8 * bytes as u32;
                Datum::Int(((number << unused) as i64) >> unused)
            }
            Element::UInt { .. } => Datum::UInt(number),
            _ => Datum::Bytes(value),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_gives_back_what_was_put_in() {
        let cases = [
            (Element::Int { bytes: 3 }, vec![Datum::Int(-5), Datum::Int(7)]),
            (
                Element::UInt { bytes: 8 },
                vec![Datum::UInt(u64::MAX), Datum::UInt(0)],
            ),
            (
                Element::Fixed { len: 2 },
                vec![Datum::Bytes(b"ab"), Datum::Bytes(b"\0\0")],
            ),
            (Element::Bytes, vec![Datum::Bytes(b""), Datum::Bytes(b"a\0b")]),
            (Element::Text { collation: 1 }, vec![Datum::Bytes("é".as_bytes())]),
        ];
        for (element, values) in cases {
            let mut list = Vec::new();
            values
                .iter()
                .for_each(|value| assert!(element.push(*value, &mut list)));
            assert_eq!(element.values(&list).collect::<Vec<_>>(), values);
            list.pop();
            assert_eq!(element.values(&list).count(), values.len() - 1);
        }
    }

    #[test]
    fn values_of_other_types_are_refused() {
        let mut list = Vec::new();
        assert!(!Element::UInt { bytes: 8 }.push(Datum::Int(-1), &mut list));
        assert!(!Element::Fixed { len: 2 }.push(Datum::Bytes(b"abc"), &mut list));
        assert!(!Element::Bytes.push(Datum::Null, &mut list));
        assert!(!Element::Bytes.push(Datum::Bytes(&[0; 70_000]), &mut list));
        assert!(list.is_empty());
    }
}
