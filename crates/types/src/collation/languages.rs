//! Languages' own orders: what a language puts elsewhere than the version of the Unicode Collation Algorithm that it builds on.
//!
//! A language moves single characters; it takes groups of characters for one (`ch` in Czech, which stands behind `h`); and it moves whole
//! ranges of weights, for all characters that have one (Cyrillic before Latin in Russian, capitals before small letters in Danish). What
//! stands behind Japanese ideographs has a weight put in front of its own. The orders of ideographs are in `ideographs.rs`; else the
//! table, `data/languages.bin`, is of little-endian u16:
//!
//! ```text
//! languages | where each begins                                         two that are alike begin at one place
//! levels | for each level: ranges | (first, last, added)…               added modulo 2^16; 0: gets the prefix
//!        | characters | groups | (character in two, place)… | (four characters, place)…
//!        | weights: at each place, for each level their number, then they
//! ```
//!
//! A place counts from where the language begins. Characters are sorted; so are groups by their first, longer ones first, and
//! filled up with zeros. A text is taken apart from the left, the longest group first. `tests/collations/record.py` makes the table
//! from what `WEIGHT_STRING` shows in MySQL. Sort keys on disk are made of these weights, so a language never changes, and a new one
//! goes behind the last.

use super::Uca;
use super::compare::decode;
use super::ideographs::Ideographs;
use super::uca::CharWeights;

static DATA: &[[u8; 2]] = include_bytes!("data/languages.bin").as_chunks().0;

/// Longest group.
const GROUP: usize = 4;
/// Words that a character takes.
const CHAR_ENTRY: usize = 3;
/// Words that a group takes.
const GROUP_ENTRY: usize = GROUP + 1;
/// In place of the weight of an ASCII character that has several, or may begin a group.
pub(super) const SEE_TABLE: u16 = 0xFFFF;

/// One level of the weights of a language.
pub(crate) struct Language {
    base: Uca,
    level: usize,
    start: usize,
    /// Where its ranges stand, and how many.
    ranges: (usize, usize),
    chars: (usize, usize),
    groups: (usize, usize),
    /// Whether groups have more than two characters.
    has_long_groups: bool,
    ideographs: Option<&'static Ideographs>,
    /// Weights of ASCII; 0 is ignorable, [`SEE_TABLE`] is none.
    pub ascii: [u16; 128],
    /// Whether two ASCII characters are equal only if they are the same letter, in either case.
    pub folds_only_case: bool,
}

/// What stands in front of weights that sort behind Japanese ideographs.
pub(super) const PREFIX: u16 = 0xFB86;

const fn word(at: usize) -> u16 {
    u16::from_le_bytes(DATA[at])
}

/// What the text at a position weighs.
pub(super) struct Found {
    pub weights: CharWeights,
    /// Where the next character begins.
    pub next: usize,
    /// Whether the weights are those of the base, which ranges may move.
    pub of_base: bool,
}

impl Language {
    /// The order that it changes.
    pub(super) fn base(&self) -> Uca {
        self.base
    }

    pub(super) const fn new(number: usize, level: usize, base: Uca) -> Language {
        let start = word(1 + number) as usize;
        let mut at = start + 1;
        let mut ranges = (0, 0);
        let mut n = 0;
        while n < word(start) as usize {
            let count = word(at) as usize;
            if n == level {
                ranges = (at + 1, count);
            }
            at += 1 + 3 * count;
            n += 1;
        }
        let chars = (at + 2, word(at) as usize);
        let groups = (chars.0 + CHAR_ENTRY * chars.1, word(at + 1) as usize);
        let mut language = Language {
            base,
            level,
            start,
            ranges,
            chars,
            groups,
            has_long_groups: false,
            ideographs: None,
            ascii: [0; 128],
            folds_only_case: true,
        };
        language.fill_ascii();
        let mut n = 0;
        while n < groups.1 {
            language.has_long_groups |= word(groups.0 + n * GROUP_ENTRY + 2) != 0;
            n += 1;
        }
        language
    }

    /// With an order of ideographs.
    pub(super) const fn with_ideographs(
        number: usize,
        level: usize,
        base: Uca,
        ideographs: &'static Ideographs,
    ) -> Language {
        let mut language = Language::new(number, level, base);
        language.ideographs = Some(ideographs);
        language
    }

    const fn fill_ascii(&mut self) {
        let base = self.base.table();
        let mut alone = [0; 128];
        let mut c = 0;
        while c < 128 {
            alone[c] = match self.of_char(c as u32) {
                Some(place) => self.only_weight(place),
                None => self.moved(base.ascii[c]),
            };
            self.ascii[c] = if self.begins_group(c as u16) {
                SEE_TABLE
            } else {
                alone[c]
            };
            c += 1;
        }
        let mut a = 0;
        while a < 128 {
            let mut b = a + 1;
            while b < 128 {
                let equal = alone[a] == alone[b] && alone[a] != 0;
                if equal != (a as u8).eq_ignore_ascii_case(&(b as u8)) {
                    self.folds_only_case = false;
                }
                b += 1;
            }
            a += 1;
        }
    }

    /// The weight of an entry that has one on this level; 0 where it has none.
    const fn only_weight(&self, place: usize) -> u16 {
        let (at, count) = self.weights_at(place);
        match count {
            0 => 0,
            1 => word(at),
            _ => SEE_TABLE,
        }
    }

    /// Where an entry's weights of this level begin, and how many there are.
    const fn weights_at(&self, place: usize) -> (usize, usize) {
        let mut at = self.start + place;
        let mut n = 0;
        while n < self.level {
            at += 1 + word(at) as usize;
            n += 1;
        }
        (at + 1, word(at) as usize)
    }

    /// The place of a character's own weights.
    const fn of_char(&self, c: u32) -> Option<usize> {
        let (mut low, mut high) = (0, self.chars.1);
        while low < high {
            let middle = (low + high) / 2;
            let at = self.chars.0 + CHAR_ENTRY * middle;
            let found = word(at) as u32 | (word(at + 1) as u32) << 16;
            if found == c {
                return Some(word(at + 2) as usize);
            }
            if found < c {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        None
    }

    const fn begins_group(&self, c: u16) -> bool {
        let mut n = 0;
        while n < self.groups.1 {
            if word(self.groups.0 + n * GROUP_ENTRY) == c {
                return true;
            }
            n += 1;
        }
        false
    }

    /// The characters that groups begin with.
    pub(super) fn group_heads(&self) -> impl Iterator<Item = char> {
        let entries = &DATA[self.groups.0..].as_chunks::<GROUP_ENTRY>().0[..self.groups.1];
        entries
            .iter()
            .filter_map(|entry| char::from_u32(u16::from_le_bytes(entry[0]).into()))
    }

    /// A weight of the base as this language has it.
    pub(super) const fn moved(&self, weight: u16) -> u16 {
        let mut n = 0;
        while n < self.ranges.1 {
            let at = self.ranges.0 + 3 * n;
            if word(at) <= weight && weight <= word(at + 1) {
                return weight.wrapping_add(word(at + 2));
            }
            n += 1;
        }
        weight
    }

    /// Whether a weight of the base gets the prefix.
    pub(super) fn prefixes(&self, weight: u16) -> bool {
        let entries = DATA[self.ranges.0..].as_chunks::<3>().0[..self.ranges.1].iter();
        let mut ranges = entries.map(|entry| entry.map(u16::from_le_bytes));
        ranges.any(|[first, last, added]| added == 0 && first <= weight && weight <= last)
    }

    /// What stands at a position of a text.
    pub(super) fn find(&self, text: &[u8], at: usize) -> Found {
        let (c, next) = decode(text, at);
        if let Ok(first) = u16::try_from(c as u32)
            && let Some((place, next)) = self.group(text, first, next)
        {
            return self.own(place, next);
        }
        if let Some(place) = self.of_char(c as u32) {
            return self.own(place, next);
        }
        if let Some(weights) = self.of_ideograph(c) {
            return Found {
                weights,
                next,
                of_base: false,
            };
        }
        Found {
            weights: self.base.of_char(c),
            next,
            of_base: true,
        }
    }

    /// The weight of a character in the order of ideographs, all of which are alike behind the first level.
    fn of_ideograph(&self, c: char) -> Option<CharWeights> {
        let weight = self.ideographs?.weight(c)?;
        Some(match self.level {
            0 => CharWeights::One(weight),
            1 => CharWeights::One(0x20),
            2 => CharWeights::One(0x02),
            _ => CharWeights::None,
        })
    }

    fn own(&self, place: usize, next: usize) -> Found {
        let (at, count) = self.weights_at(place);
        Found {
            weights: CharWeights::Many(&DATA[at..at + count]),
            next,
            of_base: false,
        }
    }

    /// The place of the longest group that begins with a character and goes on with the text at `next`; and where it ends.
    fn group(&self, text: &[u8], first: u16, next: usize) -> Option<(usize, usize)> {
        let entries = DATA[self.groups.0..].as_chunks::<GROUP_ENTRY>().0;
        let entries = &entries[..self.groups.1];
        let from = entries.partition_point(|entry| u16::from_le_bytes(entry[0]) < first);
        let mine = entries[from..]
            .iter()
            .take_while(|entry| u16::from_le_bytes(entry[0]) == first);
        mine.filter_map(|entry| {
            let mut end = next;
            for wanted in entry[1..GROUP].iter().map(|word| u16::from_le_bytes(*word)) {
                if wanted == 0 {
                    break;
                }
                if end >= text.len() {
                    return None;
                }
                let (c, after) = decode(text, end);
                if c as u32 != wanted as u32 {
                    return None;
                }
                end = after;
            }
            Some((u16::from_le_bytes(entry[GROUP]) as usize, end))
        })
        .next()
    }

    /// The last boundary not beyond `at`, itself one between characters and in texts that are the same before it, that no group goes
    /// across in either.
    pub(super) fn boundary(&self, a: &[u8], b: &[u8], mut at: usize) -> usize {
        while self.groups.1 > 0 && at > 0 {
            let start = (0..at).rev().find(|i| a[*i] & 0xC0 != 0x80).unwrap_or(0);
            let before = decode(a, start).0;
            let goes_across = |text: &[u8]| at < text.len() && self.groups_have(before, decode(text, at).0);
            if !goes_across(a) && !goes_across(b) {
                break;
            }
            at = start;
        }
        at
    }

    /// Whether a group has these two characters one behind the other.
    fn groups_have(&self, before: char, after: char) -> bool {
        let entries = DATA[self.groups.0..].as_chunks::<GROUP_ENTRY>().0;
        let entries = &entries[..self.groups.1];
        let (Ok(before), Ok(after)) = (u16::try_from(before as u32), u16::try_from(after as u32)) else {
            return false;
        };
        let pair = [before.to_le_bytes(), after.to_le_bytes()];
        if self.has_long_groups {
            return entries
                .iter()
                .any(|entry| entry[..GROUP].windows(2).any(|two| two == pair));
        }
        let from = entries.partition_point(|entry| u16::from_le_bytes(entry[0]) < before);
        let mut mine = entries[from..].iter().take_while(|entry| entry[0] == pair[0]);
        mine.any(|entry| entry[1] == pair[1])
    }
}
