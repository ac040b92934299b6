//! Comparison of texts by weights.
//!
//! A collation turns a text into a sequence of weights, and everything else is said in terms of that sequence: order,
//! equality, sort keys, character equality for LIKE. ASCII, which is most text, goes through a table of 128 weights
//! without decoding.

use super::{Collation, Weights, general, latin, uca};
use std::cmp::Ordering;

/// Decodes the character at a position and says where the next begins; bytes that are no UTF-8 stand for themselves.
pub(super) fn decode(text: &[u8], at: usize) -> (char, usize) {
    let first = text[at];
    let len = match first {
        0..=0x7F => return (first as char, at + 1),
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => 1,
    };
    match text
        .get(at..at + len)
        .and_then(|b| std::str::from_utf8(b).ok())
        .and_then(|s| s.chars().next())
    {
        Some(c) => (c, at + len),
        None => (first as char, at + 1),
    }
}

/// The weights of a text, one after the other.
pub(super) struct WeightIter<'a> {
    text: &'a [u8],
    at: usize,
    weights: Weights,
    /// What the last character still has to give: a range of the UCA's expansions, or single weights.
    expansion: (usize, usize),
    pending: [u16; 2],
}

impl<'a> WeightIter<'a> {
    pub fn new(text: &'a [u8], weights: Weights) -> Self {
        WeightIter {
            text,
            at: 0,
            weights,
            expansion: (0, 0),
            pending: [0; 2],
        }
    }

    fn uca(&mut self, c: char) -> u16 {
        match uca::primary(c) {
            uca::Primary::None => 0,
            uca::Primary::One(w) => w,
            uca::Primary::Two(a, b) => {
                self.pending = [b, uca::hangul_tail(c).unwrap_or(0)];
                a
            }
            uca::Primary::Many(start, len) => {
                self.expansion = (start + 1, len - 1);
                uca::expanded(start)
            }
        }
    }
}

impl Iterator for WeightIter<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        if self.pending[0] != 0 {
            let next = self.pending[0];
            self.pending = [self.pending[1], 0];
            return Some(next);
        }
        if self.expansion.1 > 0 {
            let next = uca::expanded(self.expansion.0);
            self.expansion = (self.expansion.0 + 1, self.expansion.1 - 1);
            return Some(next);
        }
        loop {
            let byte = *self.text.get(self.at)?;
            if self.weights == Weights::CodePoint {
                self.at += 1;
                return Some(byte as u16);
            }
            let weight = if byte < 128 {
                self.at += 1;
                match self.weights {
                    Weights::UcaPrimary => uca::ASCII[byte as usize],
                    // Zero is no weight: NUL and 1 are told apart from nothing by their place only.
                    _ => return Some(byte.to_ascii_uppercase() as u16),
                }
            } else {
                let (c, next) = decode(self.text, self.at);
                self.at = next;
                match self.weights {
                    Weights::UcaPrimary => self.uca(c),
                    Weights::General => return Some(general::weight(c)),
                    Weights::Swedish => return Some(latin::weight(c)),
                    _ => return Some(c as u32 as u16),
                }
            };
            if weight != 0 {
                return Some(weight);
            }
        }
    }
}

impl Collation {
    pub(super) fn weight_iter(self, text: &[u8]) -> WeightIter<'_> {
        WeightIter::new(text, self.weights())
    }

    /// The weight of a space, with which PAD SPACE collations fill up the shorter text.
    pub(super) fn space_weight(self) -> u16 {
        match self.weights() {
            Weights::UcaPrimary => uca::ASCII[b' ' as usize],
            _ => b' ' as u16,
        }
    }

    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        let pad = self.pad_space();
        if self.weights() == Weights::CodePoint && !pad {
            return a.cmp(b);
        }
        // Equal beginnings have equal weights, up to a character boundary.
        let mut same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
        if same == a.len() && same == b.len() {
            return Ordering::Equal;
        }
        while same > 0
            && [a, b]
                .iter()
                .any(|t| t.get(same).is_some_and(|byte| byte & 0xC0 == 0x80))
        {
            same -= 1;
        }
        self.compare_weights(&a[same..], &b[same..], pad)
    }

    fn compare_weights(self, a: &[u8], b: &[u8], pad: bool) -> Ordering {
        let (mut x, mut y) = (self.weight_iter(a), self.weight_iter(b));
        loop {
            let order = match (x.next(), y.next()) {
                (None, None) => return Ordering::Equal,
                (Some(v), Some(w)) => v.cmp(&w),
                (Some(_), None) if !pad => return Ordering::Greater,
                (None, Some(_)) if !pad => return Ordering::Less,
                (Some(v), None) => return self.against_spaces(v, x),
                (None, Some(w)) => return self.against_spaces(w, y).reverse(),
            };
            if order.is_ne() {
                return order;
            }
        }
    }

    fn against_spaces(self, first: u16, rest: WeightIter) -> Ordering {
        let space = self.space_weight();
        let differing = std::iter::once(first).chain(rest).find(|w| *w != space);
        differing.map_or(Ordering::Equal, |w| w.cmp(&space))
    }

    pub fn eq(self, a: &[u8], b: &[u8]) -> bool {
        a == b || self.compare(a, b).is_eq()
    }

    /// Whether two characters are equal, for LIKE.
    pub fn same_char(self, a: char, b: char) -> bool {
        if a.is_ascii() && b.is_ascii() {
            return match self.weights() {
                Weights::CodePoint => a == b,
                _ => a.eq_ignore_ascii_case(&b),
            };
        }
        let (mut x, mut y) = ([0; 4], [0; 4]);
        let (x, y) = (a.encode_utf8(&mut x), b.encode_utf8(&mut y));
        self.weight_iter(x.as_bytes()).eq(self.weight_iter(y.as_bytes()))
    }

    /// Whether `a` and `A` are the same.
    pub fn ignores_case(self) -> bool {
        self.weights() != Weights::CodePoint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(collation: Collation, a: &str, b: &str) -> Ordering {
        collation.compare(a.as_bytes(), b.as_bytes())
    }

    #[test]
    fn unicode_primary_weights() {
        let c = Collation::UTF8MB4_0900_AI_CI;
        assert_eq!(order(c, "Straße", "STRASSE"), Ordering::Equal);
        assert_eq!(order(c, "é", "E"), Ordering::Equal);
        assert_eq!(order(c, "æ", "ae"), Ordering::Equal);
        assert_eq!(order(c, "a", "a "), Ordering::Less);
        assert_eq!(order(c, "_", "a"), Ordering::Less);
        assert_eq!(order(c, "a_", "a1"), Ordering::Less);
        assert_eq!(order(c, "z", "中"), Ordering::Less);
        assert_eq!(order(c, "가", "각"), Ordering::Less);
    }

    #[test]
    fn one_weight_per_character() {
        let general = Collation::UTF8MB4_GENERAL_CI;
        assert_eq!(order(general, "ß", "s"), Ordering::Equal);
        assert_eq!(order(general, "ß", "ss"), Ordering::Less);
        assert_eq!(order(general, "a", "A  "), Ordering::Equal);
        assert_eq!(order(general, "a", "a\t"), Ordering::Greater);
        assert_eq!(order(general, "😀", "😁"), Ordering::Equal);
        let swedish = Collation::LATIN1_SWEDISH_CI;
        assert_eq!(order(swedish, "ä", "z"), Ordering::Greater);
        assert_eq!(order(swedish, "é", "e"), Ordering::Equal);
    }

    #[test]
    fn bytes() {
        assert_eq!(order(Collation::UTF8MB4_BIN, "a", "a  "), Ordering::Equal);
        assert_eq!(order(Collation::UTF8MB4_BIN, "a", "A"), Ordering::Greater);
        assert_eq!(order(Collation::BINARY, "a", "a "), Ordering::Less);
    }
}
