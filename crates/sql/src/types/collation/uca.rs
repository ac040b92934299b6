//! Primary weights of the Unicode Collation Algorithm 9.0.0, as utf8mb4_0900_ai_ci compares by.
//!
//! The table (`data/uca-9.0.0-primary.bin`) is made from Unicode's `allkeys.txt` of that version, the Default Unicode
//! Collation Element Table, keeping of each character's collation elements the primary weights that are not zero:
//!
//! ```text
//! pages: u16 | stored pages: u16 | for each page of 256 characters its number (0xFFFF: none) | the pages | expansions
//! ```
//!
//! A page has one little-endian u16 per character: 0, ignorable; 0x7FFF, not in the table, weights are computed; below
//! that, the weight; with the high bit set, where in the expansions its weights stand: their number, then they. Sort keys
//! on disk are made of these weights, so the table never changes.

static TABLE: &[u8] = include_bytes!("data/uca-9.0.0-primary.bin");

const ABSENT: u16 = 0x7FFF;
const EXPANSION: u16 = 0x8000;
const NO_PAGE: u16 = 0xFFFF;

const fn at(index: usize) -> u16 {
    (TABLE[index * 2] as u16) | (TABLE[index * 2 + 1] as u16) << 8
}

const PAGES: usize = at(0) as usize;
const FIRST_PAGE: usize = 2 + PAGES;
const EXPANSIONS: usize = FIRST_PAGE + at(1) as usize * 256;

/// Weights of ASCII; 0 is ignorable.
pub(super) static ASCII: [u16; 128] = {
    let mut weights = [0; 128];
    let first = FIRST_PAGE + at(2) as usize * 256;
    let mut i = 0;
    while i < 128 {
        weights[i] = at(first + i);
        i += 1;
    }
    weights
};

/// The weights of one character.
pub(super) enum Primary {
    None,
    One(u16),
    Two(u16, u16),
    /// Positions in the table, for [`expanded`].
    Many(usize, usize),
}

pub(super) fn primary(c: char) -> Primary {
    let code = c as usize;
    let page = if code >> 8 < PAGES {
        at(2 + (code >> 8))
    } else {
        NO_PAGE
    };
    let entry = if page == NO_PAGE {
        ABSENT
    } else {
        at(FIRST_PAGE + page as usize * 256 + (code & 255))
    };
    match entry {
        0 => Primary::None,
        ABSENT => implicit(code as u32),
        weight if weight & EXPANSION == 0 => Primary::One(weight),
        expansion => {
            let start = EXPANSIONS + (expansion & !EXPANSION) as usize;
            Primary::Many(start + 1, at(start) as usize)
        }
    }
}

/// A weight of an expansion.
pub(super) fn expanded(index: usize) -> u16 {
    at(index)
}

/// First weights of the ranges whose order is computed.
fn implicit(code: u32) -> Primary {
    let base = match code {
        0xAC00..=0xD7A3 => return hangul(code - 0xAC00),
        0x17000..=0x18AFF => return Primary::Two(0xFB00, (code - 0x17000) as u16 | 0x8000),
        0x4E00..=0x9FD5
        | 0xFA0E
        | 0xFA0F
        | 0xFA11
        | 0xFA13
        | 0xFA14
        | 0xFA1F
        | 0xFA21
        | 0xFA23
        | 0xFA24
        | 0xFA27..=0xFA29 => 0xFB40,
        0x3400..=0x4DB5 | 0x20000..=0x2A6D6 | 0x2A700..=0x2B734 | 0x2B740..=0x2B81D | 0x2B820..=0x2CEA1 => {
            0xFB80
        }
        _ => 0xFBC0,
    };
    Primary::Two(base + (code >> 15) as u16, (code & 0x7FFF) as u16 | 0x8000)
}

/// A Korean syllable weighs what its two or three letters do; the third is fetched by [`hangul_tail`].
fn hangul(syllable: u32) -> Primary {
    let (lead, vowel) = (0x1100 + syllable / 588, 0x1161 + syllable % 588 / 28);
    match (single(lead), single(vowel)) {
        (Some(a), Some(b)) => Primary::Two(a, b),
        _ => Primary::None,
    }
}

/// The weight of a syllable's final consonant.
pub(super) fn hangul_tail(c: char) -> Option<u16> {
    let syllable = (c as u32).checked_sub(0xAC00).filter(|s| *s < 11_172)?;
    match syllable % 28 {
        0 => None,
        tail => single(0x11A7 + tail),
    }
}

fn single(code: u32) -> Option<u16> {
    match char::from_u32(code).map(primary) {
        Some(Primary::One(w)) => Some(w),
        _ => None,
    }
}
