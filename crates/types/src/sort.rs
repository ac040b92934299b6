//! Sort keys of values: bytes that compare as the values do, for ORDER BY, GROUP BY and DISTINCT.
//!
//! A key begins with 0 for NULL, which sorts first, and no key is the beginning of another, so keys of several columns may stand one after the
//! other. They are short where values are small, for most comparisons end within the first eight bytes:
//!
//! ```text
//!  integer   80 + n │ n bytes, as many as it needs         negative: 7F - n │ the last n bytes of its two's complement
//!  decimal   80 + n │ n pairs of digits before the point │ those behind it up to the last that is not 00, each plus 1 │ 0
//!                                                          negative: the same of its amount, all bits inverted
//!  text      01 │ sort key, zeros escaped (00 FF) │ 00 00
//!  others    01 │ bytes of fixed length
//! ```
//!
//! Equal keys mean equal values: 1.0 and 1.00, `a` and `A` under a collation that says so.

use super::error::Result;
use super::error::interrupt::Steps;
use super::error::memory::{RESERVED_FROM, reserve_memory};
use super::json::Json;
use super::{CmpKind, Decimal, SqlType, TypeKind, Val};

/// Appends the key of a value whose expression has this type. Fails if there is no memory for that of a long text, which
/// may be several times as long.
pub fn sort_key(value: &Val, ty: &SqlType, out: &mut Vec<u8>) -> Result<()> {
    match value {
        Val::Null => out.push(0),
        Val::Int(v) if ty.kind == TypeKind::Decimal => push_decimal(&Decimal::from(*v), out),
        Val::UInt(v) if ty.kind == TypeKind::Decimal => push_decimal(&Decimal::from(*v), out),
        Val::Int(v) if ty.is_float() => push_double(*v as f64, out),
        Val::UInt(v) if ty.is_float() => push_double(*v as f64, out),
        Val::Int(v) if *v < 0 => push_negative(*v, out),
        Val::Int(v) => push_integer(*v as u64, out),
        Val::UInt(v) => push_integer(*v, out),
        Val::Float(v) => push_double(*v as f64, out),
        Val::Double(v) => push_double(*v, out),
        Val::Decimal(d) if ty.is_float() => push_double(d.to_f64(), out),
        Val::Decimal(d) => push_decimal(d, out),
        Val::Str(text) => push_text(text, ty, out)?,
        Val::Json(stored) => {
            out.push(1);
            Json::of_stored(stored)?.sort_key(out)?;
        }
        Val::Member(n, _) if ty.is_member() => push_fixed(*n, out),
        Val::Member(_, text) => push_text(text, ty, out)?,
        Val::Date(d) => push_fixed(d.midnight().pack(), out),
        // A TIMESTAMP is ordered as what is stored, by the instant.
        Val::DateTime(t) if ty.kind == TypeKind::Timestamp => {
            out.push(1);
            out.extend_from_slice(&t.pack_instant().to_be_bytes());
        }
        Val::DateTime(t) => push_fixed(t.pack(), out),
        Val::Time(t) => push_fixed(t.micros as u64 ^ 1 << 63, out),
    }
    Ok(())
}

/// The same for one key of an ORDER BY: a descending one has its bits inverted, so that greater values come first.
pub fn order_key(value: &Val, ty: &SqlType, descending: bool, out: &mut Vec<u8>) -> Result<()> {
    let from = out.len();
    match value {
        Val::Json(stored) => {
            out.push(1);
            Json::of_stored(stored)?.order_key(out)?;
        }
        _ => sort_key(value, ty, out)?,
    }
    if descending {
        out[from..].iter_mut().for_each(|b| *b = !*b);
    }
    Ok(())
}

/// A form of keys in which values of two types are equal if, and only if, they compare as equal: what hash joins and `IN (subquery)` look up.
#[derive(Clone, Debug)]
pub struct KeyForm {
    /// The type under which the values have sort keys of one form.
    ty: SqlType,
    /// They are compared as texts, whatever they are.
    as_text: bool,
}

impl KeyForm {
    /// The form for values of two types that are compared as `kind` says. `None` where a value must be converted to be compared, which
    /// may fail, or depends on the session.
    pub fn of(kind: CmpKind, left: &SqlType, right: &SqlType) -> Option<KeyForm> {
        let both = |is: fn(&SqlType) -> bool| is(left) && is(right);
        let is_exact = |ty: &SqlType| ty.is_integer() || ty.kind == TypeKind::Decimal;
        let is_text = |ty: &SqlType| ty.is_string() && ty.kind != TypeKind::Json;
        let form = |ty, as_text| Some(KeyForm { ty, as_text });
        match kind {
            CmpKind::Int if both(SqlType::is_integer) => form(SqlType::bigint(), false),
            CmpKind::Decimal if both(is_exact) => form(SqlType::decimal(65, 30), false),
            CmpKind::Double if both(SqlType::is_numeric) => form(SqlType::new(TypeKind::Double), false),
            CmpKind::Str(collation) if both(is_text) => form(SqlType::text(collation), true),
            CmpKind::DateTime if both(SqlType::has_date) => form(SqlType::datetime(6), false),
            CmpKind::Time if both(|ty| ty.kind == TypeKind::Time) => form(SqlType::time(6), false),
            CmpKind::Member if both(SqlType::is_member) => form(left.clone(), false),
            CmpKind::Json if both(|ty| ty.kind == TypeKind::Json) => form(left.clone(), false),
            _ => None,
        }
    }

    /// Whether the values are integers on both sides, which are equal if they are the same number.
    #[inline]
    pub fn is_integer(&self) -> bool {
        !self.as_text && self.ty.kind == TypeKind::BigInt
    }

    /// Appends the key of a value, which is not NULL.
    pub fn push(&self, value: &Val, out: &mut Vec<u8>) -> Result<()> {
        match self.as_text {
            true => push_text(&value.to_text(), &self.ty, out),
            false => sort_key(value, &self.ty, out),
        }
    }
}

/// What the first byte of a number's key is beside its length.
const POSITIVE: u8 = 0x80;

fn push_fixed(bits: u64, out: &mut Vec<u8>) {
    out.push(1);
    out.extend_from_slice(&bits.to_be_bytes());
}

fn push_integer(value: u64, out: &mut Vec<u8>) {
    let zeros = value.leading_zeros() / 8;
    push_last(POSITIVE + (8 - zeros) as u8, value, zeros as usize, out);
}

fn push_negative(value: i64, out: &mut Vec<u8>) {
    let ones = value.leading_ones() / 8;
    push_last(POSITIVE - 1 - (8 - ones) as u8, value as u64, ones as usize, out);
}

/// A byte and all of a number but its first bytes: copied whole and cut, for a copy of unknown length is a call.
#[inline]
fn push_last(first: u8, value: u64, left_out: usize, out: &mut Vec<u8>) {
    let mut bytes = [first; 9];
    let shifted = value.checked_shl(8 * left_out as u32).unwrap_or(0);
    bytes[1..].copy_from_slice(&shifted.to_be_bytes());
    out.extend_from_slice(&bytes);
    out.truncate(out.len() - left_out);
}

fn push_double(value: f64, out: &mut Vec<u8>) {
    // Zero has one key, whatever its sign.
    let bits = if value == 0.0 { 0 } else { value.to_bits() };
    push_fixed(if bits >> 63 != 0 { !bits } else { bits | 1 << 63 }, out);
}

fn push_decimal(value: &Decimal, out: &mut Vec<u8>) {
    let start = out.len();
    let small = value.coefficient().map(i128::unsigned_abs);
    match small.and_then(|amount| u64::try_from(amount).ok()) {
        Some(amount) if value.scale() < MOST_DIGITS => push_amount(amount, value.scale(), out),
        _ => push_digits(&value.abs().to_string(), out),
    }
    if value.is_negative() {
        out[start..].iter_mut().for_each(|b| *b = !*b);
    }
}

/// So many digits, and one more, fit in 64 bits.
const MOST_DIGITS: u8 = 18;

/// The key of `amount / 10^scale`.
fn push_amount(amount: u64, scale: u8, out: &mut Vec<u8>) {
    let one = 10u64.pow(u32::from(scale));
    let (mut whole, part) = (amount / one, amount % one);
    let start = out.len();
    out.push(POSITIVE);
    while whole > 0 {
        out.push((whole % 100) as u8);
        whole /= 100;
    }
    out[start] += (out.len() - start - 1) as u8;
    out[start + 1..].reverse();
    // The digits behind the point in pairs, the last of them filled up.
    let (mut rest, mut unit) = match scale % 2 {
        0 => (part, one),
        _ => (part * 10, one * 10),
    };
    while rest > 0 {
        unit /= 100;
        out.push((rest / unit) as u8 + 1);
        rest %= unit;
    }
    out.push(0);
}

/// The same of its digits.
fn push_digits(text: &str, out: &mut Vec<u8>) {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let (whole, part) = (whole.trim_start_matches('0'), part.trim_end_matches('0'));
    let digit = |byte: &u8| byte - b'0';
    out.push(POSITIVE + whole.len().div_ceil(2) as u8);
    let pairs = whole.as_bytes().rchunks(2).rev();
    out.extend(pairs.map(|pair| pair.iter().fold(0, |n, byte| n * 10 + digit(byte))));
    let pairs = part.as_bytes().chunks(2);
    out.extend(pairs.map(|pair| digit(&pair[0]) * 10 + pair.get(1).map_or(0, digit) + 1));
    out.push(0);
}

fn push_text(text: &[u8], ty: &SqlType, out: &mut Vec<u8>) -> Result<()> {
    out.push(1);
    let start = out.len();
    if text.len() >= RESERVED_FROM {
        let mut steps = Steps::default();
        let most = ty.collation.sort_key_len_max(text, &mut || steps.step())?;
        let _room = reserve_memory(most)?;
        out.reserve_exact(most);
        ty.collation.sort_key_while(text, out, &mut || steps.step())?;
    } else {
        ty.collation.sort_key(text, out);
    }
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
    fn decimals_of_all_lengths_order_as_their_digits() {
        let mut texts: Vec<String> = Vec::new();
        for whole in [
            "",
            "1",
            "9",
            "10",
            "99",
            "100",
            "12345",
            "99999999999999999",
            "1".repeat(40).as_str(),
        ] {
            for part in [
                "",
                "0001",
                "01",
                "1",
                "10",
                "100000000000000000000001",
                "11",
                "99",
            ] {
                texts.push(format!("{whole:0>1}.{part:0<1}"));
            }
        }
        let decimal = SqlType::decimal(65, 30);
        let key_of = |text: &str| key(Val::Decimal(Decimal::parse(text).unwrap()), &decimal);
        let order = |a: &str, b: &str| {
            let split = |text: &str| {
                text.split_once('.')
                    .map(|(i, f)| (format!("{i:0>40}"), format!("{f:0<30}")))
            };
            split(a).cmp(&split(b))
        };
        for a in &texts {
            for b in &texts {
                assert_eq!(key_of(a).cmp(&key_of(b)), order(a, b), "{a} {b}");
                let (minus_a, minus_b) = (key_of(&format!("-{a}")), key_of(&format!("-{b}")));
                assert_eq!(minus_b.cmp(&minus_a), order(a, b), "-{a} -{b}");
                assert!(minus_a <= key_of(b), "-{a} {b}");
            }
        }
    }

    #[test]
    fn keys_order_as_values() {
        let int = SqlType::bigint();
        let ints = [
            Val::Null,
            Val::Int(i64::MIN),
            Val::Int(-65537),
            Val::Int(-65536),
            Val::Int(-257),
            Val::Int(-256),
            Val::Int(-2),
            Val::Int(-1),
            Val::Int(0),
            Val::Int(7),
            Val::Int(255),
            Val::Int(256),
            Val::Int(i64::MAX),
            Val::UInt(1 << 63),
            Val::UInt(u64::MAX),
        ];
        assert!(
            ints.iter()
                .map(|v| key(v.clone(), &int))
                .is_sorted_by(|a, b| a < b)
        );
        assert_eq!(key(Val::Int(7), &int), key(Val::UInt(7), &int));
        let d = |t: &str| Val::Decimal(Decimal::parse(t).unwrap());
        let decimal = SqlType::decimal(20, 4);
        assert!(
            ["-10", "-9.5", "0", "0.001", "2", "10"]
                .iter()
                .map(|t| key(d(t), &decimal))
                .is_sorted()
        );
        assert_eq!(key(d("1.0"), &decimal), key(d("1.00"), &decimal));
        assert_eq!(key(d("-0.0"), &decimal), key(d("0"), &decimal));
        assert_eq!(
            key(d("12.5"), &decimal),
            key(d("12.50000000000000000000"), &decimal)
        );
        assert_eq!(key(Val::Int(-120), &decimal), key(d("-120.000"), &decimal));
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
