//! Collations of bytes whose weights are not those of one character after the other: Thai and the two Czech ones.
//!
//! - `tis620_thai_ci` puts a vowel that is written before its consonant behind it, and the marks above letters to the end, each
//!   less the more consonants and letters of ASCII stood before it. Of several marks the last alone keeps its weight there; the
//!   others' places are taken by the last byte of the text, as in MySQL.
//! - `latin2_czech_cs` goes four times over a text: letters, accents, case, then signs. The first two turns take word for word: the
//!   letters of a word, its accents, the letters of the next. Weights of 1 stand between turns, a run of spaces weighs 2.
//! - `cp1250_czech_cs` goes twice over it, letters first, with nothing between.
//!
//! In both Czech ones `ch` is one letter. Spaces at the end of a Czech text do not weigh. A sequence of weights depends on all of
//! the text before it, so comparisons may not leave out equal beginnings.

use super::bytes::{self, ByteSet};
use super::compare::decode;

/// A weight for each byte, in each turn.
type Table = [u8; 256];

/// The end of a turn.
const TURN: u16 = 1;
/// A run of spaces between words.
const SPACE: u8 = 2;
/// What each consonant takes from the weight of the Thai marks behind it.
const STEP: u8 = 8;

/// How a collation reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Thai,
    /// Word for word in the first two turns.
    Words,
    /// Turn after turn.
    Turns,
}

/// A collation of this kind.
pub(crate) struct Passes {
    set: ByteSet,
    order: Order,
    tables: &'static [Table],
    /// Two bytes that are one letter: its weights in each turn.
    pairs: &'static [([u8; 2], [u8; 4])],
}

pub(super) static THAI: Passes = Passes {
    set: ByteSet::new(23),
    order: Order::Thai,
    tables: bytes::tables(40, 1),
    pairs: &[],
};

pub(super) static LATIN2_CZECH: Passes = Passes {
    set: ByteSet::new(1),
    order: Order::Words,
    tables: bytes::tables(41, 4),
    pairs: &[
        (*b"ch", [0x0C, 0x19, 0x2F, 0x2F]),
        (*b"Ch", [0x0C, 0x19, 0x30, 0x30]),
        (*b"CH", [0x0C, 0x19, 0x31, 0x31]),
    ],
};

pub(super) static CP1250_CZECH: Passes = Passes {
    set: ByteSet::new(4),
    order: Order::Turns,
    tables: bytes::tables(45, 2),
    pairs: &[
        (*b"ch", [0xAD, 3, 0, 0]),
        (*b"Ch", [0xAD, 2, 0, 0]),
        (*b"CH", [0xAD, 1, 0, 0]),
    ],
};

/// Where the reading of a text stands.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    at: usize,
    turn: usize,
    /// By words: where the other of the first two turns goes on.
    other: usize,
    /// A vowel that waits for its consonant to be given.
    vowel: u8,
    /// What consonants have taken from the weight of marks.
    taken: u8,
    /// The last mark, less what was taken, and how many there were.
    mark: u8,
    marks: usize,
}

impl Passes {
    /// Whether spaces at the end weigh nothing, rather than as many as the other text lacks.
    pub(super) fn ignores_last_spaces(&self) -> bool {
        self.order != Order::Thai
    }

    /// Whether `WEIGHT_STRING` shows a zero at the end.
    pub(super) fn shows_end(&self) -> bool {
        self.order == Order::Words
    }

    pub(super) fn ignores_case(&self) -> bool {
        self.order == Order::Thai
    }

    pub(super) fn space(&self) -> u16 {
        self.tables[0][b' ' as usize] as u16
    }

    /// What MySQL gives as the collation's `SORTLEN`.
    pub(super) fn sort_length(&self) -> u64 {
        match self.order {
            Order::Turns => 2,
            _ => 4,
        }
    }

    /// The byte at a position, and where the next begins.
    fn byte(&self, text: &[u8], at: usize) -> (u8, usize) {
        let (c, next) = decode(text, at);
        (self.set.byte_of(c).unwrap_or(u8::MAX), next)
    }

    /// The next weight.
    pub(super) fn next(&self, text: &[u8], place: &mut Place) -> Option<u16> {
        match self.order {
            Order::Thai => self.next_thai(text, place),
            Order::Words | Order::Turns => self.next_czech(text, place),
        }
    }

    fn next_thai(&self, text: &[u8], place: &mut Place) -> Option<u16> {
        if place.vowel != 0 {
            return Some(self.weight(std::mem::take(&mut place.vowel)));
        }
        while place.at < text.len() {
            let (byte, next) = self.byte(text, place.at);
            place.at = next;
            if is_leading_vowel(byte) && next < text.len() {
                let (after, end) = self.byte(text, next);
                if is_consonant(after) {
                    place.at = end;
                    place.vowel = byte;
                    return Some(self.weight(after));
                }
            }
            if is_consonant(byte) || byte < 0x80 {
                place.taken = place.taken.wrapping_add(STEP);
            }
            if is_mark(byte) {
                place.mark = (self.weight(byte) as u8).wrapping_sub(place.taken);
                place.marks += 1;
                continue;
            }
            return Some(self.weight(byte));
        }
        place.marks = place.marks.checked_sub(1)?;
        if place.marks == 0 {
            return Some(place.mark as u16);
        }
        let last = text.iter().rposition(|byte| byte & 0xC0 != 0x80).unwrap_or(0);
        Some(self.byte(text, last).0 as u16)
    }

    fn weight(&self, byte: u8) -> u16 {
        self.tables[0][byte as usize] as u16
    }

    fn next_czech(&self, text: &[u8], place: &mut Place) -> Option<u16> {
        loop {
            if place.at >= text.len() {
                match self.turn_round(place) {
                    true if self.order == Order::Words => return Some(TURN),
                    true => continue,
                    false => return None,
                }
            }
            let (byte, next) = self.byte(text, place.at);
            if let Some((weights, end)) = self.pair(text, byte, next) {
                place.at = end;
                return Some(weights[place.turn] as u16);
            }
            let weight = self.tables[place.turn][byte as usize];
            if self.order == Order::Words && weight == SPACE {
                let after = self.behind_spaces(text, next, place.turn);
                if after == text.len() {
                    place.at = after;
                    continue;
                }
                place.at = if place.turn < 3 { after } else { next };
                if place.turn < 2 {
                    place.turn ^= 1;
                    std::mem::swap(&mut place.at, &mut place.other);
                }
                return Some(SPACE as u16);
            }
            place.at = next;
            if weight != 0 {
                return Some(weight as u16);
            }
        }
    }

    /// At the end of the text: begins the next turn; false after the last.
    fn turn_round(&self, place: &mut Place) -> bool {
        if place.turn + 1 == self.tables.len() {
            return false;
        }
        place.at = if place.turn == 0 { place.other } else { 0 };
        place.turn += 1;
        true
    }

    fn behind_spaces(&self, text: &[u8], mut at: usize, turn: usize) -> usize {
        while at < text.len() {
            let (byte, next) = self.byte(text, at);
            if self.tables[turn][byte as usize] != SPACE {
                break;
            }
            at = next;
        }
        at
    }

    /// The weights of two bytes that are one letter, and where it ends.
    fn pair(&self, text: &[u8], byte: u8, next: usize) -> Option<(&'static [u8; 4], usize)> {
        if !matches!(byte, b'c' | b'C') {
            return None;
        }
        let second = *text.get(next)?;
        let (_, weights) = self.pairs.iter().find(|(pair, _)| *pair == [byte, second])?;
        Some((weights, next + 1))
    }
}

fn is_consonant(byte: u8) -> bool {
    matches!(byte, 0xA1..=0xCE)
}

fn is_leading_vowel(byte: u8) -> bool {
    matches!(byte, 0xE0..=0xE4)
}

/// Whether a byte is a sign above a letter, which weighs at the end of the text.
fn is_mark(byte: u8) -> bool {
    matches!(byte, 0xE7..=0xEC)
}
