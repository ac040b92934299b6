//! The order of JSON values, MySQL's: values of different types compare by the rank of the type, and a greater rank is greater.
//!
//! ```text
//!   null < numbers < strings < objects < arrays < booleans < dates < times < dates with time < bytes
//! ```
//!
//! Numbers compare by value, whatever they are written as: 1 and 1.0 are equal, and an integer beside a double is not
//! rounded to one. Strings compare by their bytes, bytes by their type and then as they are. Of two arrays the first element that differs decides, then the length;
//! of two objects the number of members, then the first name or value that differs.
//!
//! [`Json::sort_key`] gives bytes that compare in the same way, so that GROUP BY and DISTINCT say what `=` says. A key ends
//! itself: of two different ones neither is the beginning of the other.

use super::Json;
use super::growth::{extend, grow};
use crate::Decimal;
use crate::error::Result as SqlResult;
use crate::error::interrupt::Steps;
use std::cmp::Ordering;

/// Bytes of the key of a value that is no text, and of what stands before one.
const NUMBER_MAX: usize = 32;

/// A number in the form that it is compared in.
enum Number<'a> {
    Int(i128),
    Double(f64),
    Decimal(&'a str),
}

impl Number<'_> {
    fn to_f64(&self) -> f64 {
        match self {
            Number::Int(v) => *v as f64,
            Number::Double(v) => *v,
            Number::Decimal(digits) => digits.parse().unwrap_or(0.0),
        }
    }

    fn to_decimal(&self) -> Option<Decimal> {
        match self {
            Number::Int(v) => Some(Decimal::new(*v, 0)),
            Number::Double(v) => Decimal::from_f64(*v),
            Number::Decimal(digits) => Decimal::parse(digits),
        }
    }

    fn compare(&self, other: &Number) -> Ordering {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => a.cmp(b),
            (Number::Double(a), Number::Double(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
            (Number::Int(a), Number::Double(b)) => int_beside_double(*a, *b),
            (Number::Double(a), Number::Int(b)) => int_beside_double(*b, *a).reverse(),
            _ => match (self.to_decimal(), other.to_decimal()) {
                (Some(a), Some(b)) => a.cmp(&b),
                _ => self.to_f64().total_cmp(&other.to_f64()),
            },
        }
    }
}

/// Exact: the integer is not rounded to a double.
fn int_beside_double(int: i128, double: f64) -> Ordering {
    // Beyond the range of an i128 the conversion stops at its ends, which are no JSON integers.
    let whole = double.trunc();
    int.cmp(&(whole as i128))
        .then_with(|| 0.0.partial_cmp(&(double - whole)).unwrap_or(Ordering::Equal))
}

impl Json {
    fn number(&self) -> Option<Number<'_>> {
        Some(match self {
            Json::Int(v) => Number::Int(*v as i128),
            Json::UInt(v) => Number::Int(*v as i128),
            Json::Double(v) => Number::Double(*v),
            Json::Decimal(digits) => Number::Decimal(digits),
            _ => return None,
        })
    }

    /// What the type counts among the others; 0 is kept for the end of an array's key.
    fn rank(&self) -> u8 {
        match self {
            Json::Null => 1,
            Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_) => 2,
            Json::String(_) => 3,
            Json::Object(_) => 4,
            Json::Array(_) => 5,
            Json::Bool(_) => 6,
            Json::Date(_) => 7,
            Json::Time(_) => 8,
            Json::DateTime(_) => 9,
            Json::Opaque(..) => 10,
        }
    }

    /// The order of two values.
    pub fn compare(&self, other: &Json) -> Ordering {
        match (self, other) {
            (Json::String(a), Json::String(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Json::Bool(a), Json::Bool(b)) => a.cmp(b),
            (Json::Date(a), Json::Date(b)) => a.cmp(b),
            (Json::Time(a), Json::Time(b)) => a.cmp(b),
            (Json::DateTime(a), Json::DateTime(b)) => a.cmp(b),
            (Json::Opaque(k, a), Json::Opaque(l, b)) => (k, a).cmp(&(l, b)),
            (Json::Array(a), Json::Array(b)) => {
                let differs = a.iter().zip(b).map(|(x, y)| x.compare(y)).find(|o| o.is_ne());
                differs.unwrap_or_else(|| a.len().cmp(&b.len()))
            }
            (Json::Object(a), Json::Object(b)) => a.len().cmp(&b.len()).then_with(|| {
                let members = a.iter().zip(b);
                let differs = members
                    .map(|((n, x), (m, y))| {
                        let names = (n.len(), n.as_bytes()).cmp(&(m.len(), m.as_bytes()));
                        names.then_with(|| x.compare(y))
                    })
                    .find(|o| o.is_ne());
                differs.unwrap_or(Ordering::Equal)
            }),
            _ => match (self.number(), other.number()) {
                (Some(a), Some(b)) => a.compare(&b),
                _ => self.rank().cmp(&other.rank()),
            },
        }
    }

    /// Appends the key of ORDER BY, where arrays and objects count by their length alone.
    pub fn order_key(&self, out: &mut Vec<u8>) -> SqlResult<()> {
        match self {
            Json::Array(_) | Json::Object(_) => {
                out.push(self.rank());
                out.extend_from_slice(&(self.length() as u32).to_be_bytes());
                Ok(())
            }
            scalar => scalar.sort_key(out),
        }
    }

    /// Appends bytes that compare as the values do.
    pub fn sort_key(&self, out: &mut Vec<u8>) -> SqlResult<()> {
        self.append_key(out, &mut Steps::default())
    }

    fn append_key(&self, out: &mut Vec<u8>, steps: &mut Steps) -> SqlResult<()> {
        steps.step()?;
        // Room for all but long texts, which have their own.
        if out.capacity() - out.len() < NUMBER_MAX {
            grow(out, NUMBER_MAX)?;
        }
        out.push(self.rank());
        match self {
            Json::Null => {}
            Json::Bool(v) => out.push(*v as u8),
            Json::String(text) => push_bytes(text.as_bytes(), out)?,
            Json::Opaque(kind, bytes) => {
                out.push(*kind);
                push_bytes(bytes, out)?;
            }
            Json::Array(list) => {
                for value in list {
                    value.append_key(out, steps)?;
                }
                out.push(0);
            }
            Json::Object(members) => {
                out.extend_from_slice(&(members.len() as u32).to_be_bytes());
                for (name, value) in members {
                    out.extend_from_slice(&(name.len() as u32).to_be_bytes());
                    extend(out, name.as_bytes())?;
                    value.append_key(out, steps)?;
                }
            }
            Json::Date(v) => out.extend_from_slice(&v.midnight().pack().to_be_bytes()),
            Json::DateTime(v) => out.extend_from_slice(&v.pack().to_be_bytes()),
            Json::Time(v) => out.extend_from_slice(&(v.micros as u64 ^ 1 << 63).to_be_bytes()),
            Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_) => {
                if let Some(number) = self.number() {
                    push_number(&number, out);
                }
            }
        }
        Ok(())
    }
}

/// The nearest double, and by how much an integer is above it: doubles lie up to 2048 apart where integers end.
fn push_number(number: &Number, out: &mut Vec<u8>) {
    // Added to zero, the negative zero has the key of the other.
    let double = number.to_f64() + 0.0;
    let bits = double.to_bits();
    let ordered = if bits >> 63 != 0 { !bits } else { bits | 1 << 63 };
    out.extend_from_slice(&ordered.to_be_bytes());
    let above = match number {
        Number::Int(v) => (*v - double as i128) as i16,
        _ => 0,
    };
    out.extend_from_slice(&(above as u16 ^ 1 << 15).to_be_bytes());
}

/// Bytes, zeros escaped, and an end mark.
fn push_bytes(bytes: &[u8], out: &mut Vec<u8>) -> SqlResult<()> {
    for piece in bytes.split_inclusive(|b| *b == 0) {
        extend(out, piece)?;
        if piece.last() == Some(&0) {
            extend(out, &[0xFF])?;
        }
    }
    extend(out, &[0, 0])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In ascending order, all different.
    const ASCENDING: [&str; 30] = [
        "null",
        "-1e300",
        "-2",
        "-1.5",
        "0",
        "0.5",
        "1",
        "9007199254740992.0",
        "9007199254740993",
        "18446744073709551614",
        "18446744073709551615",
        "1e300",
        "\"\"",
        "\"A\"",
        "\"a\"",
        "\"a\\u0000\"",
        "\"ab\"",
        "\"é\"",
        "{}",
        "{\"b\": 1}",
        "{\"b\": 2}",
        "{\"aa\": 0}",
        "[]",
        "[1]",
        "[1, null]",
        "[2]",
        "false",
        "\"base64:type15:AA==\"",
        "\"base64:type15:AAA=\"",
        "\"base64:type16:AA==\"",
    ];

    #[test]
    fn values_and_their_keys_have_one_order() {
        let values: Vec<Json> = ASCENDING
            .iter()
            .map(|t| Json::of_text(t.as_bytes()).unwrap())
            .collect();
        let key = |v: &Json| {
            let mut out = Vec::new();
            v.sort_key(&mut out).unwrap();
            out
        };
        for (i, a) in values.iter().enumerate() {
            for (j, b) in values.iter().enumerate() {
                assert_eq!(a.compare(b), i.cmp(&j), "{a} beside {b}");
                assert_eq!(key(a).cmp(&key(b)), i.cmp(&j), "the keys of {a} and {b}");
            }
        }
    }

    #[test]
    fn equal_numbers_are_equal_however_they_are_written() {
        let pairs = [
            ("1", "1.0"),
            ("0", "-0.0"),
            ("100", "1e2"),
            ("[1, {\"a\": 2}]", "[1.0, {\"a\": 2.0}]"),
        ];
        for (a, b) in pairs {
            let (a, b) = (Json::parse(a).unwrap(), Json::parse(b).unwrap());
            let (mut x, mut y) = (Vec::new(), Vec::new());
            a.sort_key(&mut x).unwrap();
            b.sort_key(&mut y).unwrap();
            assert_eq!(a.compare(&b), Ordering::Equal);
            assert_eq!(x, y);
        }
        let decimal = Json::Decimal("5.4".to_string());
        assert_eq!(decimal.compare(&Json::Double(5.4)), Ordering::Equal);
        assert_eq!(decimal.compare(&Json::Int(5)), Ordering::Greater);
    }
}
