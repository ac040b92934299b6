//! Sort keys of values: bytes that compare as the values do, for ORDER BY, GROUP BY and DISTINCT.
//!
//! A key begins with 0 for NULL (which sorts first) or 1, so keys of several columns may stand one after the other: those
//! of fixed length as they are, texts with their zeros escaped (`00 FF`) and an end mark (`00 00`). Equal keys mean
//! equal values: 1.0 and 1.00, `a` and `A` under a collation that says so.

use super::error::Result;
use super::error::memory::{RESERVED_FROM, reserve_memory};
use super::json::Json;
use super::{Decimal, SqlType, TypeKind, Val};

/// Appends the key of a value whose expression has this type. Fails if there is no memory for that of a long text, which
/// may be several times as long.
pub fn sort_key(value: &Val, ty: &SqlType, out: &mut Vec<u8>) -> Result<()> {
    if value.is_null() {
        out.push(0);
        return Ok(());
    }
    out.push(1);
    match value {
        Val::Null => {}
        Val::Int(_) | Val::UInt(_) if ty.is_integer() => push_int(value, out),
        Val::Int(v) if ty.kind == TypeKind::Decimal => push_decimal(&Decimal::from(*v), out),
        Val::UInt(v) if ty.kind == TypeKind::Decimal => push_decimal(&Decimal::from(*v), out),
        Val::Int(v) if ty.is_float() => push_double(*v as f64, out),
        Val::UInt(v) if ty.is_float() => push_double(*v as f64, out),
        Val::Int(_) | Val::UInt(_) => push_int(value, out),
        Val::Float(v) => push_double(*v as f64, out),
        Val::Double(v) => push_double(*v, out),
        Val::Decimal(d) if ty.is_float() => push_double(d.to_f64(), out),
        Val::Decimal(d) => push_decimal(d, out),
        Val::Str(text) => push_text(text, ty, out)?,
        Val::Json(text) => Json::of_text(text).sort_key(out),
        Val::Member(n, _) if ty.is_member() => out.extend_from_slice(&n.to_be_bytes()),
        Val::Member(_, text) => push_text(text, ty, out)?,
        Val::Date(d) => out.extend_from_slice(&d.midnight().pack().to_be_bytes()),
        Val::DateTime(t) => out.extend_from_slice(&t.pack().to_be_bytes()),
        Val::Time(t) => out.extend_from_slice(&(t.micros as u64 ^ 1 << 63).to_be_bytes()),
    }
    Ok(())
}

/// The same for one key of an ORDER BY: a descending one has its bits inverted, so that greater values come first.
pub fn order_key(value: &Val, ty: &SqlType, descending: bool, out: &mut Vec<u8>) -> Result<()> {
    let from = out.len();
    match value {
        Val::Json(text) => {
            out.push(1);
            Json::of_text(text).order_key(out);
        }
        _ => sort_key(value, ty, out)?,
    }
    if descending {
        out[from..].iter_mut().for_each(|b| *b = !*b);
    }
    Ok(())
}

/// Signed and unsigned integers in one order: a byte for the sign, then the number.
fn push_int(value: &Val, out: &mut Vec<u8>) {
    let (sign, bits) = match value {
        Val::Int(v) => ((*v >= 0) as u8, *v as u64),
        Val::UInt(v) => (1, *v),
        _ => (1, 0),
    };
    out.push(sign);
    out.extend_from_slice(&bits.to_be_bytes());
}

fn push_double(value: f64, out: &mut Vec<u8>) {
    // Zero has one key, whatever its sign.
    let bits = if value == 0.0 { 0 } else { value.to_bits() };
    let ordered = if bits >> 63 != 0 { !bits } else { bits | 1 << 63 };
    out.extend_from_slice(&ordered.to_be_bytes());
}

/// All decimals at one precision: as wide as they can be.
fn push_decimal(value: &Decimal, out: &mut Vec<u8>) {
    value.store(81 + 30, 30, out);
}

fn push_text(text: &[u8], ty: &SqlType, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    if text.len() >= RESERVED_FROM {
        let most = ty.collation.sort_key_len_max(text);
        let _room = reserve_memory(most)?;
        out.reserve_exact(most);
    }
    ty.collation.sort_key(text, out);
    escape_zeros(start, out)?;
    out.extend_from_slice(&[0, 0]);
    Ok(())
}

/// Puts 255 behind each zero from `start` on.
fn escape_zeros(start: usize, out: &mut Vec<u8>) -> Result<()> {
    let zeros = count_zeros(&out[start..]);
    if zeros == 0 {
        return Ok(());
    }
    if zeros >= RESERVED_FROM {
        let _room = reserve_memory(zeros)?;
        out.reserve_exact(zeros);
    }
    let (mut from, mut to) = (out.len(), out.len() + zeros);
    out.resize(to, 0);
    // From the end on, until what is left has none.
    while from < to {
        from -= 1;
        to -= 1;
        if out[from] == 0 {
            out[to] = 0xFF;
            to -= 1;
        }
        out[to] = out[from];
    }
    Ok(())
}

/// In pieces whose counts fit in a byte, so that many bytes are looked at with one instruction.
fn count_zeros(bytes: &[u8]) -> usize {
    let pieces = bytes.chunks(usize::from(u8::MAX));
    let counts = pieces.map(|piece| piece.iter().map(|byte| u8::from(*byte == 0)).sum::<u8>());
    counts.map(usize::from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Collation;

    fn key(value: Val, ty: &SqlType) -> Vec<u8> {
        let mut out = Vec::new();
        sort_key(&value, ty, &mut out).unwrap();
        out
    }

    #[test]
    fn zeros_are_counted_past_a_byte() {
        for len in [0, 1, 254, 255, 256, 1000] {
            assert_eq!(count_zeros(&vec![0; len]), len);
            assert_eq!(count_zeros(&vec![1; len]), 0);
        }
        assert_eq!(count_zeros(&[0, 1].repeat(700)), 700);
    }

    #[test]
    fn keys_order_as_values() {
        let int = SqlType::bigint();
        let ints = [
            Val::Null,
            Val::Int(i64::MIN),
            Val::Int(-1),
            Val::Int(0),
            Val::Int(7),
            Val::UInt(u64::MAX),
        ];
        assert!(ints.iter().map(|v| key(v.clone(), &int)).is_sorted());
        let d = |t: &str| Val::Decimal(Decimal::parse(t).unwrap());
        let decimal = SqlType::decimal(20, 4);
        assert!(
            ["-10", "-9.5", "0", "0.001", "2", "10"]
                .iter()
                .map(|t| key(d(t), &decimal))
                .is_sorted()
        );
        assert_eq!(key(d("1.0"), &decimal), key(d("1.00"), &decimal));
        let text = SqlType::varchar(10, Collation::DEFAULT);
        assert_eq!(key(Val::str("abc"), &text), key(Val::str("ÁBC"), &text));
        assert!(key(Val::str("ab"), &text) < key(Val::str("abc"), &text));
        let double = SqlType::double();
        assert!(
            [-1e300, -1.0, 0.0, 1e-9, 5.0]
                .iter()
                .map(|v| key(Val::Double(*v), &double))
                .is_sorted()
        );
        assert_eq!(key(Val::Double(-0.0), &double), key(Val::Double(0.0), &double));
    }
}
