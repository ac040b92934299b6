//! The key codec: values to bytes whose order *is* the order of the values, so that trees compare keys with `memcmp`
//! and know nothing of types.
//!
//! ```text
//!  part  := [marker 00 = NULL, 01 = a value follows]   only if the column is nullable; NULL comes first
//!           body                                       absent for NULL
//!  int   := big-endian, sign bit flipped               as many bytes as the column has
//!  uint  := big-endian
//!  float := IEEE bits, big-endian; all bits flipped if negative, else the sign bit
//!  fixed := the bytes themselves
//!  bytes := the bytes with 00 written as 00 FF, then 00 00
//!  text  := the collation's sort key, written like bytes
//! ```
//!
//! Of a list the key has one value, as a part of that value's type.
//!
//! A descending part is the same with every bit flipped, marker included. A secondary key is its parts followed by the
//! clustered key, which makes every key distinct and tells where the row is.

use crate::error::{Error, Result};
use crate::schema::{ColumnType, Datum, Element, IndexSchema, TableSchema};

/// How text compares. The engine stores text as the caller gave it and orders it by these keys.
pub trait Collator: Send + Sync {
    /// Appends a key to `out` such that comparing keys byte by byte compares texts by the collation.
    fn sort_key(&self, collation: u16, text: &[u8], out: &mut Vec<u8>);

    /// The number of bytes that the first `chars` characters of `text` take. The default counts UTF-8.
    fn prefix_len(&self, collation: u16, text: &[u8], chars: u32) -> usize {
        let _ = collation;
        let mut starts = text
            .iter()
            .enumerate()
            .filter(|(_, b)| (**b as i8) >= -0x40)
            .map(|(i, _)| i);
        starts.nth(chars as usize).unwrap_or(text.len())
    }
}

/// Compares text as bytes, whatever the collation.
pub struct BinaryCollator;

impl Collator for BinaryCollator {
    fn sort_key(&self, _collation: u16, text: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(text);
    }
}

/// The longest key a tree may hold, in bytes.
pub const KEY_BYTES_MAX: usize = 3500;

const NULL: u8 = 0;
const NOT_NULL: u8 = 1;

/// One part of an index's key, with everything encoding needs at hand.
#[derive(Clone, Debug)]
pub(crate) struct KeyPartCodec {
    pub column: usize,
    pub ty: ColumnType,
    pub nullable: bool,
    pub prefix: Option<u32>,
    pub descending: bool,
    /// The column is a list, of which a key has one value; `ty` is the type of that.
    pub list: Option<Element>,
}

impl KeyPartCodec {
    pub fn of(schema: &TableSchema, index: &IndexSchema) -> Vec<KeyPartCodec> {
        index
            .parts
            .iter()
            .map(|part| {
                let column = &schema.columns[part.column];
                let (ty, list) = match column.ty {
                    ColumnType::List { of } => (of.ty(), Some(of)),
                    ty => (ty, None),
                };
                KeyPartCodec {
                    column: part.column,
                    ty,
                    nullable: column.nullable,
                    prefix: part.prefix,
                    descending: part.descending,
                    list,
                }
            })
            .collect()
    }

    /// Whether the value can be read back out of the key.
    pub fn reversible(&self) -> bool {
        self.ty.fixed_len().is_some() && !(self.descending && matches!(self.ty, ColumnType::Fixed { .. }))
    }

    /// Appends the part's encoding of `value`.
    pub fn encode(&self, value: Datum, collator: &dyn Collator, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let wrong = |what| {
            Err(Error::WrongValue {
                column: self.column,
                what,
            })
        };
        if value.is_null() {
            if !self.nullable {
                return wrong("NULL in a column that is not nullable");
            }
            out.push(NULL);
        } else {
            if self.nullable {
                out.push(NOT_NULL);
            }
            match (self.ty, value) {
                (ColumnType::Int { bytes }, _) => {
                    let Some(v) = value.as_int() else {
                        return wrong("not an integer");
                    };
                    let shifted = (v as u64) ^ (1 << (bytes as u32 * 8 - 1));
                    out.extend_from_slice(&shifted.to_be_bytes()[8 - bytes as usize..]);
                }
                (ColumnType::UInt { bytes }, _) => {
                    let Some(v) = value.as_uint() else {
                        return wrong("not an unsigned integer");
                    };
                    out.extend_from_slice(&v.to_be_bytes()[8 - bytes as usize..]);
                }
                (ColumnType::Float, Datum::Float(v)) => {
                    // -0 equals 0, so both must have one key.
                    let bits = (v + 0.0).to_bits();
                    let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
                    out.extend_from_slice(&ordered.to_be_bytes());
                }
                (ColumnType::Double, Datum::Double(v)) => {
                    let bits = (v + 0.0).to_bits();
                    let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
                    out.extend_from_slice(&ordered.to_be_bytes());
                }
                (ColumnType::Fixed { len }, Datum::Bytes(b)) => {
                    if b.len() != len as usize {
                        return wrong("a fixed value of another length");
                    }
                    out.extend_from_slice(b);
                }
                (ColumnType::Bytes, Datum::Bytes(b)) => {
                    let b = self.indexed(b, collator);
                    out.extend_from_slice(b);
                    terminate(out, out.len() - b.len());
                }
                (ColumnType::Text { collation }, Datum::Bytes(b)) => {
                    let at = out.len();
                    collator.sort_key(collation, self.indexed(b, collator), out);
                    terminate(out, at);
                }
                _ => return wrong("a value of another type"),
            }
        }
        if self.descending {
            out[start..].iter_mut().for_each(|b| *b = !*b);
        }
        if out.len() > KEY_BYTES_MAX {
            return Err(Error::RowTooLarge {
                bytes: out.len(),
                max_bytes: KEY_BYTES_MAX,
            });
        }
        Ok(())
    }

    /// Appends how the keys begin of values whose own form, without the ends of texts and escapes, begins with these bytes.
    pub fn encode_head(&self, head: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        if self.nullable {
            out.push(NOT_NULL);
        }
        for byte in head {
            out.push(*byte);
            if *byte == 0 {
                out.push(0xff);
            }
        }
        if self.descending {
            out[start..].iter_mut().for_each(|b| *b = !*b);
        }
    }

    /// As much of the bytes or the text as the index has.
    pub fn indexed<'d>(&self, value: &'d [u8], collator: &dyn Collator) -> &'d [u8] {
        let cut = match (self.prefix, self.ty) {
            (None, _) => value.len(),
            (Some(chars), ColumnType::Text { collation }) => collator.prefix_len(collation, value, chars),
            (Some(bytes), _) => value.len().min(bytes as usize),
        };
        &value[..cut]
    }

    /// The length of the part at the head of `key`; `None` if the key ends inside it.
    pub fn skip(&self, key: &[u8]) -> Option<usize> {
        let flip = if self.descending { 0xff } else { 0 };
        let mut at = 0;
        if self.nullable {
            at = 1;
            if *key.first()? ^ flip == NULL {
                return Some(1);
            }
        }
        let len = match self.ty.fixed_len() {
            Some(len) => at + len,
            None => loop {
                if *key.get(at)? ^ flip != 0 {
                    at += 1;
                } else if *key.get(at + 1)? ^ flip == 0 {
                    break at + 2;
                } else {
                    at += 2;
                }
            },
        };
        (key.len() >= len).then_some(len)
    }

    /// Whether the part at the head of `key` is NULL.
    pub fn is_null(&self, key: &[u8]) -> bool {
        let flip = if self.descending { 0xff } else { 0 };
        self.nullable && key.first().is_none_or(|b| b ^ flip == NULL)
    }

    /// Reads the value at the head of `key` back; only for [reversible](Self::reversible) parts.
    pub fn decode<'a>(&self, key: &'a [u8]) -> Option<Datum<'a>> {
        let flip = if self.descending { 0xffu8 } else { 0 };
        let mut key = key;
        if self.nullable {
            let (marker, rest) = key.split_first()?;
            if marker ^ flip == NULL {
                return Some(Datum::Null);
            }
            key = rest;
        }
        let body = key.get(..self.ty.fixed_len()?)?;
        let number = |n: usize| body[..n].iter().fold(0u64, |v, b| v << 8 | (b ^ flip) as u64);
        Some(match self.ty {
            ColumnType::Int { bytes } => {
                let unused = 64 - bytes as u32 * 8;
                let v = number(bytes as usize) ^ (1 << (bytes as u32 * 8 - 1));
                Datum::Int(((v << unused) as i64) >> unused)
            }
            ColumnType::UInt { bytes } => Datum::UInt(number(bytes as usize)),
            ColumnType::Float => {
                let v = number(4) as u32;
                Datum::Float(f32::from_bits(if v >> 31 == 1 { v & !(1 << 31) } else { !v }))
            }
            ColumnType::Double => {
                let v = number(8);
                Datum::Double(f64::from_bits(if v >> 63 == 1 { v & !(1 << 63) } else { !v }))
            }
            ColumnType::Fixed { .. } => Datum::Bytes(body),
            ColumnType::Bytes | ColumnType::Text { .. } | ColumnType::List { .. } => return None,
        })
    }
}

/// Escapes the zero bytes of `out[at..]` and ends it.
fn terminate(out: &mut Vec<u8>, at: usize) {
    let zeros = out[at..].iter().filter(|b| **b == 0).count();
    if zeros > 0 {
        let mut from = out.len();
        out.resize(from + zeros, 0);
        let mut to = out.len();
        while from > at && to > from {
            from -= 1;
            to -= 1;
            out[to] = out[from];
            if out[from] == 0 {
                out[to] = 0xff;
                to -= 1;
                out[to] = 0;
            }
        }
    }
    out.extend_from_slice(&[0, 0]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;
    use std::cmp::Ordering;

    fn codec(ty: ColumnType, nullable: bool, descending: bool) -> KeyPartCodec {
        KeyPartCodec {
            column: 0,
            ty,
            nullable,
            prefix: None,
            descending,
            list: None,
        }
    }

    fn compare(a: &Datum, b: &Datum) -> Ordering {
        match (a, b) {
            (Datum::Null, Datum::Null) => Ordering::Equal,
            (Datum::Null, _) => Ordering::Less,
            (_, Datum::Null) => Ordering::Greater,
            (Datum::Int(a), Datum::Int(b)) => a.cmp(b),
            (Datum::UInt(a), Datum::UInt(b)) => a.cmp(b),
            (Datum::Float(a), Datum::Float(b)) => a.partial_cmp(b).unwrap(),
            (Datum::Double(a), Datum::Double(b)) => a.partial_cmp(b).unwrap(),
            (Datum::Bytes(a), Datum::Bytes(b)) => a.cmp(b),
            _ => panic!("different types"),
        }
    }

    fn random_value<'a>(random: &mut Random, ty: ColumnType, pool: &'a [Vec<u8>]) -> Datum<'a> {
        let float = |random: &mut Random| match random.below(4) {
            0 => random.below(7) as f64 - 3.0,
            1 => 0.0 * (random.below(3) as f64 - 1.0),
            _ => loop {
                let v = f64::from_bits(random.next());
                if v.is_finite() {
                    break v;
                }
            },
        };
        match ty {
            ColumnType::Int { bytes } => {
                let unused = 64 - bytes as u32 * 8;
                Datum::Int((random.edge() as i64) << unused >> unused)
            }
            ColumnType::UInt { bytes } => Datum::UInt(random.edge() >> (64 - bytes as u32 * 8)),
            ColumnType::Float => Datum::Float(float(random) as f32),
            ColumnType::Double => Datum::Double(float(random)),
            ColumnType::Fixed { len } => {
                Datum::Bytes(&pool[random.below(pool.len() as u64) as usize][..len as usize])
            }
            _ => {
                let b = &pool[random.below(pool.len() as u64) as usize];
                Datum::Bytes(&b[..random.below(b.len() as u64 + 1) as usize])
            }
        }
    }

    #[test]
    fn encoded_order_is_value_order() {
        let mut random = Random(7);
        // Few distinct byte values, so that zero bytes, common prefixes and 0xff meet.
        let pool: Vec<Vec<u8>> = (0..64)
            .map(|_| {
                (0..6)
                    .map(|_| [0, 0, 1, 0xff, 0x61][random.below(5) as usize])
                    .collect()
            })
            .collect();
        let mut types = vec![
            ColumnType::Float,
            ColumnType::Double,
            ColumnType::Fixed { len: 5 },
            ColumnType::Bytes,
            ColumnType::Text { collation: 63 },
        ];
        types.extend((1..=8).flat_map(|bytes| [ColumnType::Int { bytes }, ColumnType::UInt { bytes }]));
        for ty in types {
            for (nullable, descending) in [(false, false), (true, false), (false, true), (true, true)] {
                let part = codec(ty, nullable, descending);
                for _ in 0..2000 {
                    let pick = |random: &mut Random| {
                        if nullable && random.below(8) == 0 {
                            Datum::Null
                        } else {
                            random_value(random, ty, &pool)
                        }
                    };
                    let (a, b) = (pick(&mut random), pick(&mut random));
                    let (mut ka, mut kb) = (Vec::new(), Vec::new());
                    part.encode(a, &BinaryCollator, &mut ka).unwrap();
                    part.encode(b, &BinaryCollator, &mut kb).unwrap();
                    assert_eq!(part.skip(&ka), Some(ka.len()), "{ty:?} {a:?} {ka:?}");
                    // What follows a part never changes how two different parts compare.
                    if a != b {
                        ka.extend([random.next() as u8; 3]);
                        kb.extend([random.next() as u8; 3]);
                        let expected = if descending {
                            compare(&b, &a)
                        } else {
                            compare(&a, &b)
                        };
                        if expected != Ordering::Equal {
                            assert_eq!(ka.cmp(&kb), expected, "{ty:?} {a:?} {b:?}");
                        }
                    } else {
                        assert_eq!(ka, kb);
                    }
                    if part.reversible() {
                        assert_eq!(part.decode(&ka).unwrap(), a, "{ty:?}");
                    }
                    assert_eq!(part.is_null(&ka), a.is_null());
                }
            }
        }
    }

    #[test]
    fn a_text_prefix_counts_characters() {
        let text = "aéz€b".as_bytes();
        assert_eq!(BinaryCollator.prefix_len(45, text, 0), 0);
        assert_eq!(BinaryCollator.prefix_len(45, text, 2), 3);
        assert_eq!(BinaryCollator.prefix_len(45, text, 4), 7);
        assert_eq!(BinaryCollator.prefix_len(45, text, 9), 8);
    }
}
