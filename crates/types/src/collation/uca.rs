//! Weights of the Unicode Collation Algorithm, in the versions MySQL's collations are built on.
//!
//! The tables (`data/uca-*.bin`) hold of each character's collation elements the weights of one level that are not zero:
//!
//! ```text
//! pages: u16 | stored pages: u16 | for each page of 256 characters its number (0xFFFF: none) | the pages | expansions
//! ```
//!
//! A page has one little-endian u16 per character: 0, ignorable; 0x7FFF, not in the table, weights are computed; below
//! that, the weight; with the high bit set, where in the expansions its weights stand: their number, then they. MySQL
//! knows no contractions in these collations, so a text's weights are those of its characters. Sort keys on disk are made
//! of these weights, so the tables never change.

use super::Uca;

/// One level of one version.
pub(crate) struct Table {
    words: &'static [[u8; 2]],
    pages: usize,
    expansions: usize,
    /// Weights of ASCII; 0 is ignorable.
    pub ascii: [u16; 128],
}

static V9_PRIMARY: Table = Table::new(include_bytes!("data/uca-9.0.0-primary.bin"));
static V9_SECONDARY: Table = Table::new(include_bytes!("data/uca-9.0.0-secondary.bin"));
static V9_TERTIARY: Table = Table::new(include_bytes!("data/uca-9.0.0-tertiary.bin"));
static V9_FOURTH: Table = Table {
    words: &[],
    pages: 0,
    expansions: 0,
    ascii: [0; 128],
};
static V4: Table = Table::new(include_bytes!("data/uca-4.0.0.bin"));
static V5: Table = Table::new(include_bytes!("data/uca-5.2.0.bin"));

const ABSENT: u16 = 0x7FFF;
const EXPANSION: u16 = 0x8000;
const NO_PAGE: u16 = 0xFFFF;
/// Where the page numbers begin.
const INDEX: usize = 2;

const fn read(words: &[[u8; 2]], index: usize) -> u16 {
    u16::from_le_bytes(words[index])
}

impl Table {
    const fn new(bytes: &'static [u8]) -> Table {
        let words = bytes.as_chunks().0;
        let pages = read(words, 0) as usize;
        let first = INDEX + pages + read(words, INDEX) as usize * 256;
        let mut ascii = [0; 128];
        let mut i = 0;
        while i < 128 {
            ascii[i] = read(words, first + i);
            i += 1;
        }
        let expansions = INDEX + pages + read(words, 1) as usize * 256;
        Table {
            words,
            pages,
            expansions,
            ascii,
        }
    }

    fn entry(&self, code: usize) -> u16 {
        let page = if code >> 8 < self.pages {
            read(self.words, INDEX + (code >> 8))
        } else {
            NO_PAGE
        };
        if page == NO_PAGE {
            ABSENT
        } else {
            read(
                self.words,
                INDEX + self.pages + page as usize * 256 + (code & 255),
            )
        }
    }

    /// The weights of an expansion.
    fn expanded(&self, index: usize) -> &'static [[u8; 2]] {
        let start = self.expansions + index;
        &self.words[start + 1..start + 1 + read(self.words, start) as usize]
    }
}

/// The weights of one character.
pub(super) enum CharWeights {
    None,
    One(u16),
    /// Up to three, zero where there are fewer.
    Three([u16; 3]),
    /// Any number, little-endian.
    Many(&'static [[u8; 2]]),
}

impl Uca {
    pub(super) const fn table(self) -> &'static Table {
        match self {
            Uca::V4 => &V4,
            Uca::V5 => &V5,
            Uca::V9Primary => &V9_PRIMARY,
            Uca::V9Secondary => &V9_SECONDARY,
            Uca::V9Tertiary => &V9_TERTIARY,
            Uca::V9Fourth => &V9_FOURTH,
        }
    }

    pub(super) fn of_char(self, c: char) -> CharWeights {
        let code = c as u32;
        if self == Uca::V4 && code > 0xFFFF {
            // The oldest collation does not tell characters apart beyond the basic plane.
            return CharWeights::One(0xFFFD);
        }
        let table = self.table();
        match table.entry(code as usize) {
            0 => CharWeights::None,
            ABSENT => self.implicit(code),
            weight if weight & EXPANSION == 0 => CharWeights::One(weight),
            expansion => CharWeights::Many(table.expanded((expansion & !EXPANSION) as usize)),
        }
    }

    /// Characters whose order is computed: ideographs, Korean syllables, whatever has no place of its own.
    fn implicit(self, code: u32) -> CharWeights {
        if self == Uca::V9Fourth {
            return CharWeights::None;
        }
        let nine = matches!(self, Uca::V9Primary | Uca::V9Secondary | Uca::V9Tertiary);
        if nine && (0xAC00..=0xD7AF).contains(&code) {
            return self.hangul(code - 0xAC00);
        }
        match self {
            Uca::V9Secondary => return CharWeights::One(0x20),
            Uca::V9Tertiary => return CharWeights::One(0x02),
            _ => {}
        }
        let base = match code {
            0x17000..=0x18AFF if nine => {
                return CharWeights::Three([0xFB00, (code - 0x17000) as u16 | 0x8000, 0]);
            }
            0x4E00..=0x9FA5 => 0xFB40,
            0x3400..=0x4DB5 => 0xFB80,
            0x9FA6..=0x9FD5 if nine => 0xFB40,
            0xFA0E
            | 0xFA0F
            | 0xFA11
            | 0xFA13
            | 0xFA14
            | 0xFA1F
            | 0xFA21
            | 0xFA23
            | 0xFA24
            | 0xFA27..=0xFA29
                if nine =>
            {
                0xFB40
            }
            0x20000..=0x2A6D6 | 0x2A700..=0x2B734 | 0x2B740..=0x2B81D | 0x2B820..=0x2CEA1 if nine => 0xFB80,
            _ => 0xFBC0,
        };
        CharWeights::Three([base + (code >> 15) as u16, (code & 0x7FFF) as u16 | 0x8000, 0])
    }

    /// A Korean syllable weighs what its two or three letters do.
    fn hangul(self, syllable: u32) -> CharWeights {
        let (lead, vowel, tail) = (
            0x1100 + syllable / 588,
            0x1161 + syllable % 588 / 28,
            0x11A7 + syllable % 28,
        );
        let letter = |code: u32| self.table().entry(code as usize);
        let last = if tail > 0x11A7 { letter(tail) } else { 0 };
        CharWeights::Three([letter(lead), letter(vowel), last])
    }
}
