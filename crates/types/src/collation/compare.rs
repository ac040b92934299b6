//! Comparison of texts by weights.
//!
//! A collation turns a text into a sequence of weights, and everything else is said in terms of that sequence: order,
//! equality, sort keys, character equality for LIKE. ASCII, which is most text, goes through a table of 128 weights
//! without decoding.

use super::bytes::ByteWeights;
use super::languages::{Language, PREFIX, SEE_TABLE};
use super::passes::{Passes, Place};
use super::uca::{self, CharWeights};
use super::{Collation, Uca, Weights, general};
use std::cmp::Ordering;
use std::convert::Infallible;

/// The last character that the oldest version of the algorithm knows.
const BASIC_PLANE_END: char = '\u{FFFF}';

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
#[derive(Clone)]
pub(super) struct WeightIter<'a> {
    text: &'a [u8],
    at: usize,
    level: Level,
    /// What the last character still has to give: weights of a table, or up to two.
    expansion: &'static [[u8; 2]],
    pending: [u16; 3],
    /// Whether the language may still move those.
    movable: bool,
    /// Whether the first of `pending` stands behind its prefix, and is not to be moved.
    prefixed: bool,
    place: Place,
}

#[derive(Clone, Copy)]
enum Level {
    Utf8,
    Uca(Uca, &'static uca::Table),
    Language(&'static Language),
    /// One weight per character.
    Simple(fn(char) -> u16),
    Bytes(&'static ByteWeights),
    Passes(&'static Passes),
    Lower,
}

impl<'a> WeightIter<'a> {
    fn new(text: &'a [u8], level: Level) -> Self {
        WeightIter {
            text,
            at: 0,
            level,
            expansion: &[],
            pending: [0; 3],
            movable: false,
            prefixed: false,
            place: Place::default(),
        }
    }

    /// The first weight of a character; the others wait.
    fn first_of(&mut self, weights: CharWeights) -> u16 {
        match weights {
            CharWeights::None => 0,
            CharWeights::One(w) => w,
            CharWeights::Three([a, b, c]) => {
                self.pending = [b, c, 0];
                a
            }
            CharWeights::Many(all) => match all.split_first() {
                Some((first, rest)) => {
                    self.expansion = rest;
                    u16::from_le_bytes(*first)
                }
                None => 0,
            },
        }
    }

    /// The first weight of what a text in a language has next.
    fn first_in(&mut self, language: &Language) -> u16 {
        let found = language.find(self.text, self.at);
        self.at = found.next;
        self.movable = found.of_base;
        let weight = self.first_of(found.weights);
        if self.movable {
            self.moved(language, weight)
        } else {
            weight
        }
    }

    /// A weight that has waited.
    fn later(&mut self, weight: u16) -> u16 {
        if std::mem::take(&mut self.prefixed) {
            return weight;
        }
        match self.level {
            // What is computed moves by its first weight.
            Level::Language(language) if self.movable && weight < 0x8000 => self.moved(language, weight),
            _ => weight,
        }
    }

    /// A weight of the base as the language has it; or the prefix that it gets, behind which it waits.
    fn moved(&mut self, language: &Language, weight: u16) -> u16 {
        if !language.prefixes(weight) {
            return language.moved(weight);
        }
        self.pending = [weight, self.pending[0], self.pending[1]];
        self.prefixed = true;
        PREFIX
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
            self.pending = [self.pending[1], self.pending[2], 0];
            return Some(self.later(next));
        }
        if let Some((next, rest)) = self.expansion.split_first() {
            self.expansion = rest;
            return Some(self.later(u16::from_le_bytes(*next)));
        }
        if let Level::Passes(passes) = self.level {
            return passes.next(self.text, &mut self.place);
        }
        loop {
            let byte = *self.text.get(self.at)?;
            let weight = match self.level {
                Level::Utf8 => {
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
                Level::Bytes(weights) => {
                    if let Some(weight) = weights.of_ascii(byte) {
                        self.at += 1;
                        return Some(weight);
                    }
                    let (c, next) = decode(self.text, self.at);
                    self.at = next;
                    let [first, second] = weights.of_char(c);
                    self.pending = [second, 0, 0];
                    return Some(first);
                }
                // Given above: it has weights at the end of a text, too.
                Level::Passes(_) => return None,
                Level::Lower => {
                    let (c, next) = decode(self.text, self.at);
                    self.at = next;
                    return Some(general::lower(c));
                }
                Level::Uca(_, table) if byte < 128 => {
                    self.at += 1;
                    table.ascii[byte as usize]
                }
                Level::Uca(version, _) => {
                    let (c, next) = decode(self.text, self.at);
                    self.at = next;
                    self.first_of(version.of_char(c))
                }
                Level::Language(language) if byte < 128 && language.ascii[byte as usize] != SEE_TABLE => {
                    self.at += 1;
                    language.ascii[byte as usize]
                }
                Level::Language(language) => self.first_in(language),
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
            Weights::Language(levels) => levels.len(),
            _ => 1,
        }
    }

    fn level(self, n: usize) -> Level {
        match self {
            Weights::CodePoint => Level::Utf8,
            Weights::Uca(levels) => Level::Uca(levels[n], levels[n].table()),
            Weights::Language(levels) => Level::Language(&levels[n]),
            Weights::General => Level::Simple(general::weight),
            Weights::General500 => Level::Simple(general::weight_500),
            Weights::Lower => Level::Lower,
            Weights::Passes(passes) => Level::Passes(passes),
            Weights::Bytes(weights) => Level::Bytes(weights),
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
            Weights::Language(levels) => levels[0].ascii[b' ' as usize],
            Weights::Bytes(weights) => weights.space(),
            Weights::Passes(passes) => passes.space(),
            _ => b' ' as u16,
        }
    }

    /// How two texts of this collation compare.
    #[inline]
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        let Ok(order) = self.compare_while(a, b, &mut || Ok::<_, Infallible>(()));
        order
    }

    /// The same of texts that may be long: `may_go_on` is asked for each weight.
    pub fn compare_while<E>(
        self,
        a: &[u8],
        b: &[u8],
        may_go_on: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<Ordering, E> {
        let pad = self.fills_up();
        if self.weights().are_bytes() && !pad {
            return Ok(a.cmp(b));
        }
        if let Weights::Passes(_) = self.weights() {
            return self.compare_level(self.weighed(a), self.weighed(b), 0, pad, may_go_on);
        }
        // Equal beginnings have equal weights, up to a character boundary.
        let mut same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
        if same == a.len() && same == b.len() {
            return Ok(Ordering::Equal);
        }
        while same > 0
            && [a, b]
                .iter()
                .any(|t| t.get(same).is_some_and(|byte| byte & 0xC0 == 0x80))
        {
            same -= 1;
        }
        if let Weights::Language(levels) = self.weights() {
            same = levels[0].boundary(a, b, same);
        }
        let (a, b) = (&a[same..], &b[same..]);
        for level in 0..self.levels() {
            let order = self.compare_level(a, b, level, pad, may_go_on)?;
            if order.is_ne() {
                return Ok(order);
            }
        }
        Ok(Ordering::Equal)
    }

    #[inline]
    fn compare_level<E>(
        self,
        a: &[u8],
        b: &[u8],
        level: usize,
        pad: bool,
        may_go_on: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<Ordering, E> {
        let (mut x, mut y) = (self.weight_iter(a, level), self.weight_iter(b, level));
        loop {
            may_go_on()?;
            let order = match (x.next(), y.next()) {
                (None, None) => return Ok(Ordering::Equal),
                (Some(v), Some(w)) => v.cmp(&w),
                (Some(_), None) if !pad => return Ok(Ordering::Greater),
                (None, Some(_)) if !pad => return Ok(Ordering::Less),
                (Some(v), None) => return self.against_spaces(v, x, may_go_on),
                (None, Some(w)) => return Ok(self.against_spaces(w, y, may_go_on)?.reverse()),
            };
            if order.is_ne() {
                return Ok(order);
            }
        }
    }

    fn against_spaces<E>(
        self,
        first: u16,
        rest: WeightIter,
        may_go_on: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<Ordering, E> {
        let space = self.space_weight();
        for weight in std::iter::once(first).chain(rest) {
            may_go_on()?;
            if weight != space {
                return Ok(weight.cmp(&space));
            }
        }
        Ok(Ordering::Equal)
    }

    /// Whether two texts are equal by this collation.
    #[inline]
    pub fn eq(self, a: &[u8], b: &[u8]) -> bool {
        a == b || self.compare(a, b).is_eq()
    }

    /// Whether a text begins with what weighs as another does, which need not be as long.
    pub fn begins_with(self, text: &[u8], beginning: &[u8], steps: &mut usize) -> bool {
        if let Weights::Passes(_) = self.weights() {
            return self.begins_with_chars(text, beginning, steps);
        }
        (0..self.levels()).all(|level| {
            let mut weights = self.weight_iter(text, level);
            self.weight_iter(beginning, level).all(|weight| {
                *steps += 1;
                weights.next() == Some(weight)
            })
        })
    }

    /// The same, character by character.
    fn begins_with_chars(self, text: &[u8], beginning: &[u8], steps: &mut usize) -> bool {
        let (mut at, mut wanted_at) = (0, 0);
        while wanted_at < beginning.len() {
            *steps += 1;
            if at >= text.len() {
                return false;
            }
            let (wanted, next) = decode(beginning, wanted_at);
            let (c, after) = decode(text, at);
            if !self.same_char(c, wanted) {
                return false;
            }
            (at, wanted_at) = (after, next);
        }
        true
    }

    /// Whether two characters are equal, for LIKE.
    pub fn same_char(self, a: char, b: char) -> bool {
        if a == b {
            return true;
        }
        if a.is_ascii() && b.is_ascii() && self.folds_only_case()
            || matches!(self.weights(), Weights::Passes(_))
        {
            return self.ignores_case() && a.eq_ignore_ascii_case(&b);
        }
        // One weight stands for all of them there, and is none of theirs.
        if a > BASIC_PLANE_END && b > BASIC_PLANE_END && self.knows_basic_plane_only() {
            return false;
        }
        let (mut x, mut y) = ([0; 4], [0; 4]);
        let (x, y) = (a.encode_utf8(&mut x), b.encode_utf8(&mut y));
        // LIKE does not tell hiragana from katakana.
        (0..self.levels().min(3)).all(|n| {
            self.weight_iter(x.as_bytes(), n)
                .eq(self.weight_iter(y.as_bytes(), n))
        })
    }

    fn knows_basic_plane_only(self) -> bool {
        match self.weights() {
            Weights::Uca(levels) => levels.first() == Some(&Uca::V4),
            Weights::Language(levels) => levels.first().is_some_and(|level| level.base() == Uca::V4),
            _ => false,
        }
    }

    /// Whether `a` and `A` are the same.
    #[inline]
    pub fn ignores_case(self) -> bool {
        match self.weights() {
            Weights::Bytes(weights) => weights.ignores_case(),
            Weights::Passes(passes) => passes.ignores_case(),
            Weights::CodePoint => false,
            weights => weights.levels() < Weights::V9_AS_CS.levels(),
        }
    }

    /// Whether texts are compared level by level, so that a character may weigh nothing even where case counts.
    #[inline]
    pub fn has_levels(self) -> bool {
        matches!(self.weights(), Weights::Uca(_) | Weights::Language(_))
    }

    /// Whether two different characters of ASCII are equal at most if they are one letter in both cases: then bytes decide. A Turkish
    /// `i` is no `I`, and a Roman `u` is a `v`.
    #[inline]
    pub fn folds_only_case(self) -> bool {
        match self.weights() {
            Weights::Language(levels) => levels.len() > 1 || levels[0].folds_only_case,
            Weights::Bytes(weights) => weights.folds_only_case(),
            _ => true,
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
    fn languages() {
        let named = |name: &str| Collation::by_name(name).unwrap();
        for czech in [
            "utf8mb4_czech_ci",
            "utf8mb3_czech_ci",
            "utf8mb4_cs_0900_ai_ci",
            "utf8mb4_cs_0900_as_cs",
        ] {
            let czech = named(czech);
            // Beginnings that are equal may end within a group.
            assert_eq!(order(czech, "ci", "ch"), Ordering::Less);
            assert_eq!(order(czech, "xc", "xch"), Ordering::Less);
            assert_eq!(order(czech, "h", "ch"), Ordering::Less);
            assert_eq!(order(czech, "ch", "i"), Ordering::Less);
        }
        let hungarian = named("utf8mb4_hu_0900_ai_ci");
        assert_eq!(order(hungarian, "ddzs", "dzsdzs"), Ordering::Equal);
        assert_eq!(order(hungarian, "dzt", "dzs"), Ordering::Less);
        let danish = named("utf8mb4_da_0900_as_cs");
        assert_eq!(order(danish, "A", "a"), Ordering::Less);
        assert_eq!(order(danish, "zz", "aa"), Ordering::Less);
        assert_eq!(order(named("utf8mb4_ru_0900_ai_ci"), "я", "a"), Ordering::Less);
        assert_eq!(order(named("utf8mb4_lithuanian_ci"), "Y", "i"), Ordering::Equal);
        let turkish = named("utf8mb4_turkish_ci");
        assert_ne!(order(turkish, "i", "I"), Ordering::Equal);
        assert!(!turkish.same_char('i', 'I') && turkish.same_char('ı', 'I') && turkish.same_char('a', 'A'));
        assert!(named("utf8mb4_roman_ci").same_char('u', 'V'));
        // Equal, but not to LIKE.
        for (name, are_equal) in [
            ("utf8mb4_unicode_ci", true),
            ("utf8mb4_czech_ci", true),
            ("utf8mb4_unicode_520_ci", false),
        ] {
            assert_eq!(
                named(name).compare("𧥩".as_bytes(), "𧥪".as_bytes()).is_eq(),
                are_equal,
                "{name}"
            );
            assert!(!named(name).same_char('𧥩', '𧥪'), "{name}");
        }
    }

    #[test]
    fn sets_of_bytes() {
        let named = |name: &str| Collation::by_name(name).unwrap();
        assert_eq!(order(named("cp1251_general_ci"), "Ёлка", "ёЛКА"), Ordering::Equal);
        assert_eq!(order(named("cp1251_general_cs"), "Ёлка", "ёлка"), Ordering::Less);
        // In KOI8-R bytes go by the sound of Latin letters.
        assert_eq!(order(named("koi8r_bin"), "ц", "в"), Ordering::Less);
        assert_eq!(order(named("koi8r_general_ci"), "ц", "в"), Ordering::Greater);
        assert_eq!(
            order(named("latin1_german2_ci"), "Ärger", "aerger "),
            Ordering::Equal
        );
        assert_eq!(order(named("latin1_german2_ci"), "ü", "ud"), Ordering::Greater);
    }

    #[test]
    fn several_turns() {
        let named = |name: &str| Collation::by_name(name).unwrap();
        let thai = named("tis620_thai_ci");
        // A vowel in front of its consonant sorts behind it, a tone behind everything.
        assert_eq!(order(thai, "เก", "กา"), Ordering::Greater);
        assert_eq!(order(thai, "เก", "ข"), Ordering::Less);
        assert_eq!(order(thai, "ก่", "ก่ข"), Ordering::Greater);
        assert_eq!(order(thai, "a", "A "), Ordering::Equal);
        for czech in [named("latin2_czech_cs"), named("cp1250_czech_cs")] {
            assert_eq!(order(czech, "h", "ch"), Ordering::Less);
            assert_eq!(order(czech, "a", "a  "), Ordering::Equal);
            assert_eq!(order(czech, "á", "ab"), Ordering::Less);
            assert_ne!(order(czech, "á", "a"), Ordering::Equal);
        }
    }

    #[test]
    fn ideographs() {
        let named = |name: &str| Collation::by_name(name).unwrap();
        let (japanese, kana) = (named("utf8mb4_ja_0900_as_cs"), named("utf8mb4_ja_0900_as_cs_ks"));
        assert_eq!(order(japanese, "カー", "かあ"), Ordering::Less);
        assert_eq!(order(japanese, "か", "カ"), Ordering::Equal);
        assert_eq!(order(kana, "か", "カ"), Ordering::Less);
        assert_eq!(order(japanese, "亜", "唖"), Ordering::Less);
        assert_eq!(order(japanese, "腕", "α"), Ordering::Less);
        let chinese = named("utf8mb4_zh_0900_as_cs");
        assert_eq!(order(chinese, "阿", "中"), Ordering::Less);
        assert_eq!(order(chinese, "座", "a"), Ordering::Less);
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
