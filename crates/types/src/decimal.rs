//! DECIMAL: exact decimal numbers of up to 65 digits, 30 of them after the point.
//!
//! A number is a coefficient and a scale: 12.30 is 1230 at scale 2, and the scale is part of how it is shown. Most
//! coefficients fit 128 bits and stay inline; larger ones (a product of two wide columns) are a boxed big integer. The
//! rules for the scale of results are MySQL's: the larger of both for sums, the sum for products, the dividend's plus
//! `div_precision_increment` for quotients. Like MySQL's, a quotient is computed in groups of nine digits and cut, not
//! rounded, at the last group.

use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};
use std::cmp::Ordering;
use std::fmt;
use std::ops::AddAssign;

/// Most digits that a DECIMAL column has.
pub const MAX_PRECISION: u32 = 65;
/// Most of them behind the point.
pub const MAX_SCALE: u8 = 30;
/// Digits per group in MySQL's format.
const GROUP: u32 = 9;
/// Digits in MySQL's buffer of nine groups.
const BUFFER_DIGITS: u32 = 81;

/// An exact number. A DECIMAL column has at most [`MAX_PRECISION`] digits.
#[derive(Clone)]
pub struct Decimal(Repr);

#[derive(Clone)]
enum Repr {
    /// The coefficient in two halves, so that the value needs no 16-byte alignment.
    Small {
        scale: u8,
        high: i64,
        low: u64,
    },
    Big(Box<(BigInt, u8)>),
}

/// 10^n for n up to 38.
fn pow10(n: u32) -> i128 {
    const POWERS: [i128; 39] = {
        let mut powers = [1; 39];
        let mut n = 1;
        while n < powers.len() {
            powers[n] = 10 * powers[n - 1];
            n += 1;
        }
        powers
    };
    POWERS[n as usize]
}

fn big_pow10(n: u32) -> BigInt {
    BigInt::from(10).pow(n)
}

/// Decimal digits of a coefficient; 0 has none.
fn digits_of(coefficient: i128) -> u32 {
    let abs = coefficient.unsigned_abs();
    if abs == 0 { 0 } else { abs.ilog10() + 1 }
}

impl Decimal {
    /// 0
    pub const ZERO: Decimal = Decimal(Repr::Small {
        scale: 0,
        high: 0,
        low: 0,
    });

    /// `coefficient / 10^scale`
    #[inline]
    pub fn new(coefficient: i128, scale: u8) -> Decimal {
        Decimal(Repr::Small {
            scale,
            high: (coefficient >> 64) as i64,
            low: coefficient as u64,
        })
    }

    fn from_big(coefficient: BigInt, scale: u8) -> Decimal {
        match coefficient.to_i128() {
            Some(small) => Decimal::new(small, scale),
            None => Decimal(Repr::Big(Box::new((coefficient, scale)))),
        }
    }

    /// The coefficient, if it fits: what [`new`](Self::new) makes the same number of, together with [`scale`](Self::scale).
    pub fn coefficient(&self) -> Option<i128> {
        self.small()
    }

    fn small(&self) -> Option<i128> {
        match &self.0 {
            Repr::Small { high, low, .. } => Some((*high as i128) << 64 | *low as i128),
            Repr::Big(_) => None,
        }
    }

    fn big(&self) -> BigInt {
        match &self.0 {
            Repr::Small { .. } => BigInt::from(self.small().unwrap_or(0)),
            Repr::Big(b) => b.0.clone(),
        }
    }

    /// Digits behind the point.
    #[inline]
    pub fn scale(&self) -> u8 {
        match &self.0 {
            Repr::Small { scale, .. } => *scale,
            Repr::Big(b) => b.1,
        }
    }

    /// Whether it is 0, of whatever scale.
    #[inline]
    pub fn is_zero(&self) -> bool {
        matches!(&self.0, Repr::Small { high: 0, low: 0, .. })
    }

    /// Whether it is below 0.
    #[inline]
    pub fn is_negative(&self) -> bool {
        match &self.0 {
            Repr::Small { high, .. } => *high < 0,
            Repr::Big(b) => b.0.is_negative(),
        }
    }

    /// Significant digits: of the coefficient, and at least the scale.
    #[inline]
    pub fn precision(&self) -> u32 {
        self.digits().max(self.scale() as u32).max(1)
    }

    fn digits(&self) -> u32 {
        match self.small() {
            Some(c) => digits_of(c),
            None => self.big().abs().to_string().len() as u32,
        }
    }

    /// Digits before the point.
    #[inline]
    pub fn integer_digits(&self) -> u32 {
        self.digits().saturating_sub(self.scale() as u32)
    }

    /// The largest number of this precision and scale: 99.99 for (4,2).
    #[inline]
    pub fn max_value(precision: u32, scale: u8) -> Decimal {
        if precision <= 38 {
            return Decimal::new(pow10(precision) - 1, scale);
        }
        Decimal::from_big(big_pow10(precision) - 1, scale)
    }

    /// The number with the other sign.
    #[inline]
    pub fn neg(&self) -> Decimal {
        match self.small().and_then(i128::checked_neg) {
            Some(c) => Decimal::new(c, self.scale()),
            None => Decimal::from_big(-self.big(), self.scale()),
        }
    }

    /// The number without its sign.
    #[inline]
    pub fn abs(&self) -> Decimal {
        if self.is_negative() {
            self.neg()
        } else {
            self.clone()
        }
    }

    /// The coefficient this number has at a larger scale.
    fn coefficient_at(&self, scale: u8) -> Option<i128> {
        match scale.checked_sub(self.scale())? {
            0 => self.small(),
            by @ 1..=38 => self.small()?.checked_mul(pow10(by.into())),
            _ => None,
        }
    }

    fn big_at(&self, scale: u8) -> BigInt {
        self.big() * big_pow10((scale - self.scale()) as u32)
    }

    /// The exact sum, of the larger scale.
    #[inline]
    pub fn add(&self, other: &Decimal) -> Decimal {
        let scale = self.scale().max(other.scale());
        let small = self.coefficient_at(scale).zip(other.coefficient_at(scale));
        match small.and_then(|(a, b)| a.checked_add(b)) {
            Some(sum) => Decimal::new(sum, scale),
            None => Decimal::from_big(self.big_at(scale) + other.big_at(scale), scale),
        }
    }

    /// The exact difference, of the larger scale.
    #[inline]
    pub fn sub(&self, other: &Decimal) -> Decimal {
        self.add(&other.neg())
    }

    /// The product, of both scales together: exact up to [`MAX_SCALE`] digits behind the point.
    pub fn mul(&self, other: &Decimal) -> Decimal {
        let scale = self.scale() as u32 + other.scale() as u32;
        let product = match self
            .small()
            .zip(other.small())
            .and_then(|(a, b)| a.checked_mul(b))
        {
            Some(product) => Decimal::new(product, scale as u8),
            None => Decimal::from_big(self.big() * other.big(), scale as u8),
        };
        if scale > MAX_SCALE as u32 {
            product.round(MAX_SCALE)
        } else {
            product
        }
    }

    /// The coefficient and the scale, if the coefficient fits 64 bits.
    #[inline]
    pub fn short(&self) -> Option<(i64, u8)> {
        match &self.0 {
            Repr::Small { scale, high, low } if *high == *low as i64 >> 63 => Some((*low as i64, *scale)),
            _ => None,
        }
    }

    /// What [`add`](Self::add) gives of two such numbers, if their scales differ by few digits.
    #[inline]
    pub fn short_sum(x: i64, x_scale: u8, y: i128, y_scale: u8) -> Option<Decimal> {
        let x = i128::from(x);
        let (sum, scale) = match x_scale.cmp(&y_scale) {
            Ordering::Equal => (x + y, x_scale),
            // 64 bits and ten digits more have room, and a sum.
            Ordering::Less if y_scale - x_scale <= 10 => {
                (x * pow10(u32::from(y_scale - x_scale)) + y, y_scale)
            }
            Ordering::Greater if x_scale - y_scale <= 10 => {
                (x + y * pow10(u32::from(x_scale - y_scale)), x_scale)
            }
            _ => return None,
        };
        Some(Decimal::new(sum, scale))
    }

    /// What [`mul`](Self::mul) gives of two such numbers, if none of its digits is left out.
    #[inline]
    pub fn short_product(x: i64, x_scale: u8, y: i64, y_scale: u8) -> Option<Decimal> {
        let scale = x_scale + y_scale;
        (scale <= MAX_SCALE).then(|| Decimal::new(i128::from(x) * i128::from(y), scale))
    }

    /// The quotient with `increment` more digits than the dividend shows, cut at a whole group of nine; `None` for
    /// division by zero. The caller rounds to the scale it shows.
    pub fn div(&self, other: &Decimal, increment: u8) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let groups = |digits: u32| digits.div_ceil(GROUP) * GROUP;
        let scale = groups(self.scale() as u32) + groups(other.scale() as u32);
        let extra = (increment as u32).saturating_sub(scale - self.scale() as u32 - other.scale() as u32);
        let scale = groups(scale + extra).min(BUFFER_DIGITS - GROUP);
        // coefficient = a / 10^sa * 10^scale / (b / 10^sb)
        let shift = scale as i32 - self.scale() as i32 + other.scale() as i32;
        let (up, down) = (shift.max(0) as u32, (-shift).max(0) as u32);
        if up <= 38
            && down == 0
            && let Some((a, b)) = self.small().zip(other.small())
            && let Some(numerator) = a.checked_mul(pow10(up))
        {
            return Some(Decimal::new(numerator / b, scale as u8));
        }
        let quotient = self.big() * big_pow10(up) / (other.big() * big_pow10(down));
        Some(Decimal::from_big(quotient, scale as u8))
    }

    /// The remainder with the sign of the dividend; `None` for division by zero.
    pub fn rem(&self, other: &Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let scale = self.scale().max(other.scale());
        if let Some((a, b)) = self.coefficient_at(scale).zip(other.coefficient_at(scale)) {
            return Some(Decimal::new(a.wrapping_rem(b), scale));
        }
        Some(Decimal::from_big(self.big_at(scale) % other.big_at(scale), scale))
    }

    /// To another scale, half away from zero.
    #[inline]
    pub fn round(&self, scale: u8) -> Decimal {
        if scale == self.scale() {
            return self.clone();
        }
        self.rescale(scale as i32, true).pad(scale)
    }

    /// To another scale, cutting what is beyond.
    #[inline]
    pub fn truncate(&self, scale: u8) -> Decimal {
        self.rescale(scale as i32, false).pad(scale)
    }

    /// Rounds or cuts at `scale` digits after (negative: before) the point; never adds digits.
    pub fn rescale(&self, scale: i32, round: bool) -> Decimal {
        let drop = self.scale() as i32 - scale;
        if drop <= 0 {
            return self.clone();
        }
        let kept = scale.max(0) as u8;
        let refill = (-scale).max(0) as u32;
        if drop <= 38
            && refill <= 38
            && let Some(c) = self.small()
        {
            let unit = pow10(drop as u32);
            let mut quotient = c / unit;
            let rest = (c % unit).unsigned_abs();
            if round && rest >= unit.unsigned_abs() - rest {
                quotient += c.signum();
            }
            if let Some(refilled) = quotient.checked_mul(pow10(refill)) {
                return Decimal::new(refilled, kept);
            }
        }
        let unit = big_pow10(drop as u32);
        let c = self.big();
        let mut quotient = &c / &unit;
        let rest = (&c % &unit).abs();
        if round && &rest * 2 >= unit {
            quotient += c.signum();
        }
        Decimal::from_big(quotient * big_pow10(refill), kept)
    }

    fn pad(self, scale: u8) -> Decimal {
        if self.scale() >= scale {
            return self;
        }
        match self.coefficient_at(scale) {
            Some(c) => Decimal::new(c, scale),
            None => Decimal::from_big(self.big_at(scale), scale),
        }
    }

    /// The largest integer not above.
    #[inline]
    pub fn floor(&self) -> Decimal {
        let cut = self.truncate(0);
        if self.is_negative() && cut.cmp(self) != Ordering::Equal {
            cut.sub(&Decimal::from(1i64))
        } else {
            cut
        }
    }

    /// The smallest integer not below.
    #[inline]
    pub fn ceil(&self) -> Decimal {
        self.neg().floor().neg()
    }

    /// Rounded to an integer; `None` outside 128 bits.
    #[inline]
    pub fn to_i128(&self) -> Option<i128> {
        self.round(0).small()
    }

    /// Cut to an integer; `None` outside 128 bits.
    #[inline]
    pub fn trunc_to_i128(&self) -> Option<i128> {
        self.truncate(0).small()
    }

    /// The nearest floating-point number.
    pub fn to_f64(&self) -> f64 {
        // A coefficient below 2^53 and a power of ten below 10^22 are both exact: one rounding.
        if let Some(c) = self.small()
            && c.unsigned_abs() < 1 << 53
            && self.scale() <= 22
        {
            return c as f64 / 10f64.powi(self.scale() as i32);
        }
        self.to_string().parse().unwrap_or(0.0)
    }

    /// From text that is a plain decimal number, with or without exponent; `None` if it is not. Digits beyond the
    /// 30th after the point are rounded away.
    #[inline]
    pub fn parse(text: &str) -> Option<Decimal> {
        let (d, used) = Decimal::parse_prefix(text.as_bytes())?;
        (used == text.len()).then_some(d)
    }

    /// The number a text begins with and how many bytes it takes; `None` if it begins with none.
    pub fn parse_prefix(text: &[u8]) -> Option<(Decimal, usize)> {
        let mut at = 0;
        let negative = match text.first() {
            Some(b'-') => {
                at = 1;
                true
            }
            Some(b'+') => {
                at = 1;
                false
            }
            _ => false,
        };
        let int_start = at;
        while text.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        let int = &text[int_start..at];
        let mut fraction: &[u8] = &[];
        if text.get(at) == Some(&b'.') {
            let start = at + 1;
            let mut end = start;
            while text.get(end).is_some_and(u8::is_ascii_digit) {
                end += 1;
            }
            fraction = &text[start..end];
            if !(int.is_empty() && fraction.is_empty()) {
                at = end;
            }
        }
        if int.is_empty() && fraction.is_empty() {
            return None;
        }
        let mut exponent = 0i32;
        if matches!(text.get(at), Some(b'e' | b'E')) {
            let mut end = at + 1;
            if matches!(text.get(end), Some(b'+' | b'-')) {
                end += 1;
            }
            let digits = end;
            while text.get(end).is_some_and(u8::is_ascii_digit) {
                end += 1;
            }
            if end > digits {
                let written = std::str::from_utf8(&text[at + 1..end]).unwrap_or("0");
                let beyond = if written.starts_with('-') {
                    -100_000
                } else {
                    100_000
                };
                exponent = written.parse::<i32>().unwrap_or(beyond).clamp(-100_000, 100_000);
                at = end;
            }
        }
        Some((Decimal::from_digits(negative, int, fraction, exponent), at))
    }

    fn from_digits(negative: bool, int: &[u8], fraction: &[u8], exponent: i32) -> Decimal {
        // Too many digits to matter: what lies beyond the buffer on the right cannot be seen.
        let fraction = &fraction[..fraction.len().min(200)];
        let mut c = 0i128;
        let mut big: Option<BigInt> = None;
        let significant = int.iter().skip_while(|d| **d == b'0').count() + fraction.len();
        if significant <= 38 {
            for d in int.iter().chain(fraction) {
                c = c * 10 + (d - b'0') as i128;
            }
        } else if significant > 400 {
            big = Some(big_pow10(400));
        } else {
            let all: Vec<u8> = int.iter().chain(fraction).map(|d| d - b'0').collect();
            big = BigInt::from_radix_be(num_bigint::Sign::Plus, &all, 10);
        }
        let scale = fraction.len() as i32 - exponent;
        let mut big = big.unwrap_or_else(|| BigInt::from(c));
        if negative {
            big = -big;
            c = -c;
        }
        if (0..=MAX_SCALE as i32).contains(&scale) && significant <= 38 {
            return Decimal::new(c, scale as u8);
        }
        if big.is_zero() {
            return Decimal::new(0, scale.clamp(0, MAX_SCALE as i32) as u8);
        }
        if scale < 0 {
            return Decimal::from_big(big * big_pow10((-scale).min(400) as u32), 0);
        }
        let drop = scale - MAX_SCALE as i32;
        if drop <= 0 {
            return Decimal::from_big(big, scale as u8);
        }
        if drop > 600 {
            return Decimal::new(0, MAX_SCALE);
        }
        let unit = big_pow10(drop as u32);
        let mut quotient = &big / &unit;
        if (&big % &unit).abs() * 2 >= unit {
            quotient += big.signum();
        }
        Decimal::from_big(quotient, MAX_SCALE)
    }

    /// From a double, by its shortest decimal form; `None` for NaN and infinities.
    pub fn from_f64(value: f64) -> Option<Decimal> {
        value
            .is_finite()
            .then(|| Decimal::parse(&format!("{value:e}")))
            .flatten()
    }

    /// Bytes of the storage form of DECIMAL(precision, scale).
    #[inline]
    pub fn storage_len(precision: u32, scale: u8) -> usize {
        let part = |digits: u32| (digits / GROUP * 4) as usize + LEFTOVER[(digits % GROUP) as usize];
        part(precision - scale as u32) + part(scale as u32)
    }

    /// The storage form: big-endian groups of nine digits, the sign bit flipped and all bits inverted for negative
    /// numbers, so that bytes order as numbers do. The number must fit precision and scale.
    pub fn store(&self, precision: u32, scale: u8, out: &mut Vec<u8>) {
        let start = out.len();
        let text = self.round(scale).abs().to_string();
        let (int, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let int_digits = (precision - scale as u32) as usize;
        let int = int.trim_start_matches('0');
        let padded = format!("{int:0>int_digits$}");
        let padded = if int_digits == 0 { "" } else { &padded };
        let first = int_digits % GROUP as usize;
        put_group(&padded[..first], out);
        padded.as_bytes()[first..]
            .chunks(GROUP as usize)
            .for_each(|g| put_group(as_text(g), out));
        fraction
            .as_bytes()
            .chunks(GROUP as usize)
            .for_each(|g| put_group(as_text(g), out));
        if self.is_negative() && !self.is_zero() {
            out[start..].iter_mut().for_each(|b| *b = !*b);
        }
        out[start] ^= 0x80;
    }

    /// [`Decimal::store`] into a fixed room; says how many bytes it took.
    #[inline]
    pub fn store_into(&self, precision: u32, scale: u8, out: &mut [u8; 32]) -> usize {
        let mut bytes = Vec::with_capacity(32);
        self.store(precision, scale, &mut bytes);
        out[..bytes.len()].copy_from_slice(&bytes);
        bytes.len()
    }

    /// Reads the storage form.
    pub fn load(bytes: &[u8], precision: u32, scale: u8) -> Decimal {
        let Some(first) = bytes.first() else {
            return Decimal::new(0, scale);
        };
        let negative = first & 0x80 == 0;
        let (mut rest, mut sign) = (bytes, 0x80);
        let groups = groups(precision, scale).map(|digits| {
            let (group, behind) = rest.split_at(LEFTOVER[digits as usize].min(rest.len()));
            rest = behind;
            let value = group.iter().fold(0, |value, byte| {
                let byte = if negative { !byte } else { *byte } & !sign;
                sign = 0;
                value << 8 | u32::from(byte)
            });
            (digits, value)
        });
        if precision <= 38 {
            let amount = groups.fold(0, |amount, (digits, value)| {
                amount * pow10(digits) + i128::from(value)
            });
            return Decimal::new(if negative { -amount } else { amount }, scale);
        }
        let amount = groups.fold(BigInt::zero(), |amount, (digits, value)| {
            amount * big_pow10(digits) + value
        });
        Decimal::from_big(if negative { -amount } else { amount }, scale)
    }
}

/// How many digits each group of the storage form has, from the first one on.
fn groups(precision: u32, scale: u8) -> impl Iterator<Item = u32> {
    let (whole, part) = (precision - u32::from(scale), u32::from(scale));
    let full = (whole / GROUP + part / GROUP) as usize;
    let groups = std::iter::once(whole % GROUP)
        .chain(std::iter::repeat_n(GROUP, full))
        .chain(std::iter::once(part % GROUP));
    groups.filter(|digits| *digits > 0)
}

/// Bytes for 0 to 9 digits.
const LEFTOVER: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

fn as_text(digits: &[u8]) -> &str {
    std::str::from_utf8(digits).unwrap_or("0")
}

fn put_group(digits: &str, out: &mut Vec<u8>) {
    let value: u32 = digits.parse().unwrap_or(0);
    out.extend_from_slice(&value.to_be_bytes()[4 - LEFTOVER[digits.len()]..]);
}

/// Of one scale, as most sums are, it is an addition of coefficients.
impl AddAssign<&Decimal> for Decimal {
    #[inline]
    fn add_assign(&mut self, more: &Decimal) {
        let same = self.scale() == more.scale();
        let small = self.small().zip(more.small()).filter(|_| same);
        *self = match small.and_then(|(a, b)| a.checked_add(b)) {
            Some(sum) => Decimal::new(sum, self.scale()),
            None => self.add(more),
        };
    }
}

impl From<i64> for Decimal {
    fn from(v: i64) -> Self {
        Decimal::new(v as i128, 0)
    }
}

impl From<u64> for Decimal {
    fn from(v: u64) -> Self {
        Decimal::new(v as i128, 0)
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let scale = self.scale().max(other.scale());
        match self.coefficient_at(scale).zip(other.coefficient_at(scale)) {
            Some((a, b)) => a.cmp(&b),
            None => self.big_at(scale).cmp(&other.big_at(scale)),
        }
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = match self.small() {
            Some(c) => c.unsigned_abs().to_string(),
            None => self.big().abs().to_string(),
        };
        let scale = self.scale() as usize;
        let sign = if self.is_negative() { "-" } else { "" };
        if scale == 0 {
            return write!(f, "{sign}{digits}");
        }
        if digits.len() <= scale {
            return write!(f, "{sign}0.{digits:0>scale$}");
        }
        let (int, fraction) = digits.split_at(digits.len() - scale);
        write!(f, "{sign}{int}.{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn d(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn short_numbers_are_reckoned_with_as_others_are() {
        let coefficients = [0, 1, -1, 7, -12345, 99_999_999, i64::MAX, i64::MIN, 1 << 40];
        for (x, y) in coefficients
            .iter()
            .flat_map(|x| coefficients.iter().map(move |y| (*x, *y)))
        {
            for (x_scale, y_scale) in [
                (0, 0),
                (2, 2),
                (2, 5),
                (9, 0),
                (0, 10),
                (0, 11),
                (15, 15),
                (20, 15),
                (30, 0),
            ] {
                let (a, b) = (Decimal::new(x.into(), x_scale), Decimal::new(y.into(), y_scale));
                assert_eq!(a.short(), Some((x, x_scale)));
                let shown = |of: Option<Decimal>| of.map(|number| number.to_string());
                let sums = [
                    (Decimal::short_sum(x, x_scale, y.into(), y_scale), a.add(&b)),
                    (Decimal::short_sum(x, x_scale, -i128::from(y), y_scale), a.sub(&b)),
                ];
                for (short, long) in sums {
                    let is_short = x_scale.abs_diff(y_scale) <= 10;
                    assert_eq!(shown(short), is_short.then(|| long.to_string()), "{a} {b}");
                }
                let product = Decimal::short_product(x, x_scale, y, y_scale);
                let is_short = x_scale + y_scale <= MAX_SCALE;
                assert_eq!(shown(product), is_short.then(|| a.mul(&b).to_string()), "{a} {b}");
            }
        }
        assert_eq!(Decimal::new(1 << 63, 0).short(), None);
        assert_eq!(Decimal::new(-(1 << 63) - 1, 0).short(), None);
        assert_eq!(Decimal::from_big(big_pow10(50), 3).short(), None);
    }

    #[test]
    fn sums_products_and_quotients_have_mysql_scales() {
        assert_eq!(d("1.10").add(&d("2.005")).to_string(), "3.105");
        for (a, b) in [
            ("1.10", "2.05"),
            ("1.10", "2.005"),
            ("-0.5", "0.5"),
            (&"9".repeat(65), "1"),
        ] {
            let mut sum = d(a);
            sum += &d(b);
            assert_eq!(sum.to_string(), d(a).add(&d(b)).to_string());
        }
        assert_eq!(d("1.10").mul(&d("-2.5")).to_string(), "-2.750");
        assert_eq!(d("1").div(&d("3"), 4).unwrap().to_string(), "0.333333333");
        assert_eq!(d("2").div(&d("3"), 4).unwrap().round(4).to_string(), "0.6667");
        assert_eq!(d("-7.5").rem(&d("2")).unwrap().to_string(), "-1.5");
        assert!(d("1").div(&d("0.00"), 4).is_none());
        let wide = d("99999999999999999999999999999999999999999999999999999999999999999");
        assert_eq!(wide.precision(), 65);
        assert_eq!(wide.add(&d("1")).to_string(), format!("1{}", "0".repeat(65)));
    }

    #[test]
    fn rounding_is_half_away_from_zero() {
        assert_eq!(d("2.5").round(0).to_string(), "3");
        assert_eq!(d("-2.5").round(0).to_string(), "-3");
        assert_eq!(d("2.449").round(1).to_string(), "2.4");
        assert_eq!(d("155").rescale(-1, true).to_string(), "160");
        assert_eq!(d("-1.1").floor().to_string(), "-2");
        assert_eq!(d("-1.1").ceil().to_string(), "-1");
        assert_eq!(d("1.5").round(3).to_string(), "1.500");
    }

    #[test]
    fn storage_form_orders_as_numbers_and_reads_back() {
        let numbers = [
            "-99999999999.99",
            "-1234567890.12",
            "-1.00",
            "-0.01",
            "0.00",
            "0.01",
            "9.99",
            "1234567890.12",
        ];
        let stored: Vec<Vec<u8>> = numbers
            .iter()
            .map(|n| {
                let mut out = Vec::new();
                d(n).store(13, 2, &mut out);
                assert_eq!(out.len(), Decimal::storage_len(13, 2));
                assert_eq!(Decimal::load(&out, 13, 2).to_string(), *n);
                out
            })
            .collect();
        assert!(stored.is_sorted());
        let mut out = Vec::new();
        let wide = format!("-{}.{}", "7".repeat(35), "3".repeat(30));
        d(&wide).store(65, 30, &mut out);
        assert_eq!(Decimal::load(&out, 65, 30).to_string(), wide);
        for precision in 1..=65 {
            for scale in 0..=precision.min(30) {
                let greatest = Decimal::max_value(precision, scale as u8);
                for number in [greatest.neg(), Decimal::ZERO.round(scale as u8), greatest] {
                    let mut out = Vec::new();
                    number.store(precision, scale as u8, &mut out);
                    let read = Decimal::load(&out, precision, scale as u8);
                    assert_eq!(read.to_string(), number.to_string());
                }
            }
        }
    }

    #[test]
    fn text_with_exponents_and_rubbish() {
        assert_eq!(d("1.5e3").to_string(), "1500");
        assert_eq!(d("15e-1").to_string(), "1.5");
        assert_eq!(d(".5").to_string(), "0.5");
        assert_eq!(Decimal::parse_prefix(b"12abc").map(|p| p.1), Some(2));
        assert_eq!(Decimal::parse_prefix(b"abc").map(|p| p.1), None);
        assert_eq!(Decimal::from_f64(0.1).unwrap().to_string(), "0.1");
        assert!(d("0").is_zero() && !d("-0").is_negative());
    }
}
