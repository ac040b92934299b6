//! Comparison of texts by weights.
//!
//! A collation turns a text into a sequence of weights, and everything else is said in terms of that sequence: order,
//! equality, sort keys, character equality for LIKE. ASCII, which is most text, goes through a table of 128 weights
//! without decoding.

use super::uca::{self, CharWeights};
use super::{Collation, Uca, Weights, general, latin};
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

/// One level of the weights of a text, one after the other.
pub(super) struct WeightIter<'a> {
    text: &'a [u8],
    at: usize,
    level: Level,
    /// What the last character still has to give: a range of the table's expansions, or up to two weights.
    expansion: (usize, usize),
    pending: [u16; 2],
}

#[derive(Clone, Copy)]
enum Level {
    Bytes,
    Uca(Uca, &'static uca::Table),
    /// One weight per character.
    Simple(fn(char) -> u16),
    Latin1(&'static [u8; 256]),
}

impl<'a> WeightIter<'a> {
    fn new(text: &'a [u8], level: Level) -> Self {
        WeightIter {
            text,
            at: 0,
            level,
            expansion: (0, 0),
            pending: [0; 2],
        }
    }

    fn uca(&mut self, version: Uca, table: &uca::Table, c: char) -> u16 {
        match version.of_char(c) {
            CharWeights::None => 0,
            CharWeights::One(w) => w,
            CharWeights::Three([a, b, c]) => {
                self.pending = [b, c];
                a
            }
            CharWeights::Many(start, len) => {
                self.expansion = (start + 1, len - 1);
                table.expanded(start)
            }
        }
    }
}

impl WeightIter<'_> {
    /// Appends the two-byte weights of the ASCII characters ahead, which need no decoding.
    pub(super) fn take_ascii(&mut self, out: &mut Vec<u8>) {
        let Level::Uca(_, table) = self.level else { return };
        let ahead = &self.text[self.at..];
        let length = ahead.iter().position(|b| *b >= 128).unwrap_or(ahead.len());
        for byte in &ahead[..length] {
            let weight = table.ascii[*byte as usize];
            if weight != 0 {
                out.extend_from_slice(&weight.to_be_bytes());
            }
        }
        self.at += length;
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
        if self.expansion.1 > 0
            && let Level::Uca(_, table) = self.level
        {
            let next = table.expanded(self.expansion.0);
            self.expansion = (self.expansion.0 + 1, self.expansion.1 - 1);
            return Some(next);
        }
        loop {
            let byte = *self.text.get(self.at)?;
            let weight = match self.level {
                Level::Bytes => {
                    self.at += 1;
                    return Some(byte as u16);
                }
                Level::Simple(_) if byte < 128 => {
                    self.at += 1;
                    return Some(byte.to_ascii_uppercase() as u16);
                }
                Level::Simple(weight) => {
                    let (c, next) = decode(self.text, self.at);
                    self.at = next;
                    return Some(weight(c));
                }
                Level::Latin1(table) => {
                    let (c, next) = decode(self.text, self.at);
                    self.at = next;
                    return Some(latin::weight_in(table, c));
                }
                Level::Uca(_, table) if byte < 128 => {
                    self.at += 1;
                    table.ascii[byte as usize]
                }
                Level::Uca(version, table) => {
                    let (c, next) = decode(self.text, self.at);
                    self.at = next;
                    self.uca(version, table, c)
                }
            };
            // Zero is no weight: the character is ignored on this level.
            if weight != 0 {
                return Some(weight);
            }
        }
    }
}

impl Weights {
    /// The levels to compare by, the first most.
    fn levels(self) -> usize {
        match self {
            Weights::Uca(levels) => levels.len(),
            _ => 1,
        }
    }

    fn level(self, n: usize) -> Level {
        match self {
            Weights::CodePoint => Level::Bytes,
            Weights::Uca(levels) => Level::Uca(levels[n], levels[n].table()),
            Weights::General => Level::Simple(general::weight),
            Weights::Swedish => Level::Simple(latin::weight),
            Weights::Latin1(table) => Level::Latin1(table),
            Weights::AsciiUpper => Level::Simple(|c| c as u32 as u16),
        }
    }
}

impl Collation {
    /// How many levels of weights a text has.
    pub(super) fn levels(self) -> usize {
        self.weights().levels()
    }

    pub(super) fn weight_iter(self, text: &[u8], level: usize) -> WeightIter<'_> {
        WeightIter::new(text, self.weights().level(level))
    }

    /// The weight of a space, with which PAD SPACE collations fill up the shorter text.
    pub(super) fn space_weight(self) -> u16 {
        match self.weights() {
            Weights::Uca(levels) => levels[0].table().ascii[b' ' as usize],
            Weights::Latin1(table) => table[b' ' as usize] as u16,
            _ => b' ' as u16,
        }
    }

    /// How two texts of this collation compare.
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
        let (a, b) = (&a[same..], &b[same..]);
        let mut by_level = (0..self.levels()).map(|level| self.compare_level(a, b, level, pad));
        by_level.find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    }

    fn compare_level(self, a: &[u8], b: &[u8], level: usize, pad: bool) -> Ordering {
        let (mut x, mut y) = (self.weight_iter(a, level), self.weight_iter(b, level));
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

    /// Whether two texts are equal by this collation.
    #[inline]
    pub fn eq(self, a: &[u8], b: &[u8]) -> bool {
        a == b || self.compare(a, b).is_eq()
    }

    /// Whether two characters are equal, for LIKE.
    pub fn same_char(self, a: char, b: char) -> bool {
        if a.is_ascii() && b.is_ascii() {
            return a == b || self.ignores_case() && a.eq_ignore_ascii_case(&b);
        }
        let (mut x, mut y) = ([0; 4], [0; 4]);
        let (x, y) = (a.encode_utf8(&mut x), b.encode_utf8(&mut y));
        (0..self.levels()).all(|n| {
            self.weight_iter(x.as_bytes(), n)
                .eq(self.weight_iter(y.as_bytes(), n))
        })
    }

    /// Whether `a` and `A` are the same.
    #[inline]
    pub fn ignores_case(self) -> bool {
        match self.weights() {
            Weights::Latin1(table) => table[b'a' as usize] == table[b'A' as usize],
            weights => !matches!(weights, Weights::CodePoint | Weights::V9_AS_CS),
        }
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
        let cs = Collation::by_name("utf8mb4_0900_as_cs").unwrap();
        assert_eq!(order(cs, "a", "A"), Ordering::Less);
        assert_eq!(order(cs, "Ab", "aa"), Ordering::Greater);
        assert_eq!(order(cs, "é", "e"), Ordering::Greater);
        let accents = Collation::by_name("utf8mb4_0900_as_ci").unwrap();
        assert_eq!(order(accents, "é", "É"), Ordering::Equal);
        assert_eq!(order(accents, "é", "e"), Ordering::Greater);
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
