//! Character sets of a byte for each character, and those of their collations that are a weight for each byte.
//!
//! `data/byte-sets.bin` has of each set 1024 bytes: the characters of its 256 bytes as little-endian u16 (0: none, but for byte 0), their
//! upper cases and their lower cases, as bytes. Cases are MySQL's tables, which in some sets are odd: `UPPER` of a grave accent is a
//! space in `koi8u`. `data/byte-weights.bin` has 256 weights of each collation. `tests/collations/record.py` makes both from a MySQL
//! server. Sort keys on disk are made of these weights, so they never change, and what is new goes behind the last.

use super::Collation;

/// Bytes of a set in the table: characters, upper cases, lower cases.
const ENTRY: usize = 1024;
const UPPER: usize = 512;
const LOWER: usize = 768;
static SETS: &[[u8; ENTRY]] = include_bytes!("data/byte-sets.bin").as_chunks().0;
static WEIGHTS: &[[u8; 256]] = include_bytes!("data/byte-weights.bin").as_chunks().0;
/// The weights of `_bin`.
static ITSELF: [u8; 256] = {
    let mut weights = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        weights[byte] = byte as u8;
        byte += 1;
    }
    weights
};

/// `count` tables of weights from this number on.
pub(super) const fn tables(first: usize, count: usize) -> &'static [[u8; 256]] {
    WEIGHTS.split_at(first).1.split_at(count).0
}

/// A character set of this kind, by its number in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ByteSet(u8);

/// What there is to know of one.
struct About {
    name: &'static str,
    description: &'static str,
    default: u16,
    bin: u16,
    /// Its characters by their code points, each with its byte; where two bytes have one character, the first of them.
    by_char: [(u16, u8); 256],
    /// Whether its first half is ASCII: it is, but in `swe7`, which has letters in place of brackets.
    ascii: bool,
    /// Whether the other case of a letter of ASCII is that of ASCII: a Turkish `i` has another, and some tables are odd.
    ascii_cases: bool,
}

const fn about(
    number: usize,
    name: &'static str,
    description: &'static str,
    default: u16,
    bin: u16,
) -> About {
    let mut by_char = [(u16::MAX, 0); 256];
    let mut known = 0;
    let mut byte = 0;
    while byte < 256 {
        let code = code(number, byte as u8);
        if code == 0 && byte != 0 {
            byte += 1;
            continue;
        }
        // From the end, so that of two bytes the first stays in front.
        let mut at = known;
        while at > 0 && by_char[at - 1].0 > code {
            by_char[at] = by_char[at - 1];
            at -= 1;
        }
        by_char[at] = (code, byte as u8);
        known += 1;
        byte += 1;
    }
    About {
        name,
        description,
        default,
        bin,
        by_char,
        ascii: has_ascii(number),
        ascii_cases: has_ascii(number) && cases_ascii(number),
    }
}

const fn cases_ascii(number: usize) -> bool {
    let mut byte = 0;
    while byte < 128 {
        let (upper, lower) = (SETS[number][UPPER + byte], SETS[number][LOWER + byte]);
        if upper != (byte as u8).to_ascii_uppercase() || lower != (byte as u8).to_ascii_lowercase() {
            return false;
        }
        byte += 1;
    }
    true
}

const fn code(number: usize, byte: u8) -> u16 {
    u16::from_le_bytes([
        SETS[number][2 * byte as usize],
        SETS[number][2 * byte as usize + 1],
    ])
}

const fn has_ascii(number: usize) -> bool {
    code(number, b'@') == b'@' as u16
}

/// Whether different characters of ASCII weigh the same only if they are a letter in both cases, and then each does or none.
const fn folds_only_case(weights: &[u8; 256]) -> bool {
    let folds = weights[b'a' as usize] == weights[b'A' as usize];
    let mut a = 0;
    while a < 128 {
        let mut b = a + 1;
        while b < 128 {
            let one_letter = (a as u8).eq_ignore_ascii_case(&(b as u8));
            if (weights[a] == weights[b]) != (one_letter && folds) {
                return false;
            }
            b += 1;
        }
        a += 1;
    }
    true
}

/// In the order of the table; the ids are those of the default collation and of `_bin`.
static ABOUT: &[About] = &[
    about(0, "latin1", "cp1252 West European", 8, 47),
    about(1, "latin2", "ISO 8859-2 Central European", 9, 77),
    about(2, "latin5", "ISO 8859-9 Turkish", 30, 78),
    about(3, "latin7", "ISO 8859-13 Baltic", 41, 79),
    about(4, "cp1250", "Windows Central European", 26, 66),
    about(5, "cp1251", "Windows Cyrillic", 51, 50),
    about(6, "cp1256", "Windows Arabic", 57, 67),
    about(7, "cp1257", "Windows Baltic", 59, 58),
    about(8, "cp850", "DOS West European", 4, 80),
    about(9, "cp852", "DOS Central European", 40, 81),
    about(10, "cp866", "DOS Russian", 36, 68),
    about(11, "koi8r", "KOI8-R Relcom Russian", 7, 74),
    about(12, "koi8u", "KOI8-U Ukrainian", 22, 75),
    about(13, "greek", "ISO 8859-7 Greek", 25, 70),
    about(14, "hebrew", "ISO 8859-8 Hebrew", 16, 71),
    about(15, "macroman", "Mac West European", 39, 53),
    about(16, "macce", "Mac Central European", 38, 43),
    about(17, "dec8", "DEC West European", 3, 69),
    about(18, "hp8", "HP West European", 6, 72),
    about(19, "swe7", "7bit Swedish", 10, 82),
    about(20, "armscii8", "ARMSCII-8 Armenian", 32, 64),
    about(21, "geostd8", "GEOSTD8 Georgian", 92, 93),
    about(22, "keybcs2", "DOS Kamenicky Czech-Slovak", 37, 73),
    about(23, "tis620", "TIS620 Thai", 18, 89),
];

impl ByteSet {
    /// `latin1`: Windows-1252.
    pub(super) const LATIN1: ByteSet = ByteSet(0);

    /// The set of this number in the table.
    pub(super) const fn new(number: u8) -> ByteSet {
        ByteSet(number)
    }

    fn about(self) -> &'static About {
        &ABOUT[self.0 as usize]
    }

    fn table(self) -> &'static [u8; ENTRY] {
        &SETS[self.0 as usize]
    }

    pub(super) fn by_name(name: &str) -> Option<ByteSet> {
        let at = ABOUT.iter().position(|about| about.name == name)?;
        Some(ByteSet(at as u8))
    }

    pub(super) fn all() -> impl Iterator<Item = ByteSet> {
        (0..ABOUT.len() as u8).map(ByteSet)
    }

    pub(super) fn name(self) -> &'static str {
        self.about().name
    }

    pub(super) fn description(self) -> &'static str {
        self.about().description
    }

    pub(super) fn default_collation(self) -> Collation {
        Collation(self.about().default)
    }

    pub(super) fn bin_collation(self) -> Collation {
        Collation(self.about().bin)
    }

    /// Whether a text in ASCII has the same bytes in this set.
    #[inline]
    pub(super) fn has_ascii(self) -> bool {
        self.about().ascii
    }

    #[inline]
    pub(super) fn cases_ascii(self) -> bool {
        self.about().ascii_cases
    }

    /// The character of a byte.
    pub(super) fn char_of(self, byte: u8) -> Option<char> {
        match code(self.0 as usize, byte) {
            0 if byte != 0 => None,
            code => char::from_u32(code as u32),
        }
    }

    /// The byte of a character.
    pub(super) fn byte_of(self, c: char) -> Option<u8> {
        let wanted = u16::try_from(c as u32).ok()?;
        // Most bytes of most sets that stand for a character below 256 are its number.
        if wanted < 256 && wanted != 0 && code(self.0 as usize, wanted as u8) == wanted {
            return Some(wanted as u8);
        }
        let by_char = &self.about().by_char;
        let at = by_char.partition_point(|(code, _)| *code < wanted);
        by_char
            .get(at)
            .filter(|(code, _)| *code == wanted)
            .map(|(_, byte)| *byte)
    }

    /// The upper case of a character of this set.
    pub(super) fn upper(self, c: char) -> char {
        self.mapped(c, UPPER)
    }

    pub(super) fn lower(self, c: char) -> char {
        self.mapped(c, LOWER)
    }

    fn mapped(self, c: char, cases: usize) -> char {
        let mapped = self.byte_of(c).map(|byte| self.table()[cases + byte as usize]);
        mapped.and_then(|byte| self.char_of(byte)).unwrap_or(c)
    }
}

/// The weights of the bytes of a set. A few bytes of some collations have two.
#[derive(Clone, Copy)]
pub(crate) struct ByteWeights {
    set: ByteSet,
    first: &'static [u8; 256],
    /// Zero where a byte has one.
    second: Option<&'static [u8; 256]>,
    is_bin: bool,
    /// Whether ASCII's characters are its bytes.
    ascii: bool,
    folds_only_case: bool,
}

impl ByteWeights {
    /// Those of a table.
    pub(super) const fn new(set: u8, table: usize) -> ByteWeights {
        ByteWeights {
            set: ByteSet(set),
            first: &WEIGHTS[table],
            second: None,
            is_bin: false,
            ascii: has_ascii(set as usize),
            folds_only_case: has_ascii(set as usize) && folds_only_case(&WEIGHTS[table]),
        }
    }

    /// Those of a table, and of the one behind it for the second weight of a byte that has two.
    pub(super) const fn two(set: u8, table: usize) -> ByteWeights {
        ByteWeights {
            second: Some(&WEIGHTS[table + 1]),
            ..ByteWeights::new(set, table)
        }
    }

    /// The bytes themselves.
    pub(super) const fn bin(set: u8) -> ByteWeights {
        ByteWeights {
            set: ByteSet(set),
            first: &ITSELF,
            second: None,
            is_bin: true,
            ascii: has_ascii(set as usize),
            folds_only_case: true,
        }
    }

    #[inline]
    pub(super) fn is_bin(&self) -> bool {
        self.is_bin
    }

    /// The weight of a character of ASCII, if it is the same byte in this set.
    #[inline]
    pub(super) fn of_ascii(&self, byte: u8) -> Option<u16> {
        (byte < 128 && self.ascii).then(|| self.first[byte as usize] as u16)
    }

    pub(super) fn space(&self) -> u16 {
        self.first[b' ' as usize] as u16
    }

    #[inline]
    pub(super) fn ignores_case(&self) -> bool {
        self.first[b'a' as usize] == self.first[b'A' as usize]
    }

    /// See [`Collation::folds_only_case`].
    #[inline]
    pub(super) fn folds_only_case(&self) -> bool {
        self.folds_only_case
    }

    pub(super) fn has_two(&self) -> bool {
        self.second.is_some()
    }

    /// The weights of a character. Those that the set cannot write sort behind all others.
    pub(super) fn of_char(&self, c: char) -> [u16; 2] {
        match self.set.byte_of(c) {
            Some(byte) => [
                self.first[byte as usize] as u16,
                self.second.map_or(0, |second| second[byte as usize] as u16),
            ],
            None => [255, 0],
        }
    }
}
