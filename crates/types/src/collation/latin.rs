//! Collations of latin1: one weight per character. Under latin1_swedish_ci accents fold, and å ä ö stand after z; the weights of the
//! others are a table each in `data/latin1.bin`.

use super::Weights;
use super::charset::latin1_byte;

const TABLES: &[[u8; 256]] = include_bytes!("data/latin1.bin").as_chunks().0;

pub(super) const GERMAN1: Weights = Weights::Latin1(&TABLES[0]);
pub(super) const DANISH: Weights = Weights::Latin1(&TABLES[1]);
pub(super) const GENERAL_CI: Weights = Weights::Latin1(&TABLES[2]);
pub(super) const GENERAL_CS: Weights = Weights::Latin1(&TABLES[3]);
pub(super) const SPANISH: Weights = Weights::Latin1(&TABLES[4]);

/// The weight of a character in one of the tables.
pub(super) fn weight_in(table: &[u8; 256], c: char) -> u16 {
    latin1_byte(c).map_or(255, |byte| table[byte as usize] as u16)
}

/// Weights of the letters from 0xC0; everything below is its upper case.
const FROM_C0: [u8; 64] = [
    65, 65, 65, 65, 92, 91, 92, 67, 69, 69, 69, 69, 73, 73, 73, 73, 68, 78, 79, 79, 79, 79, 93, 215, 216, 85,
    85, 85, 89, 89, 222, 223, 65, 65, 65, 65, 92, 91, 92, 67, 69, 69, 69, 69, 73, 73, 73, 73, 68, 78, 79, 79,
    79, 79, 93, 247, 216, 85, 85, 85, 89, 89, 222, 255,
];

/// Characters that latin1 cannot write sort behind all others.
pub(super) fn weight(c: char) -> u16 {
    match latin1_byte(c) {
        Some(b @ 0xC0..) => FROM_C0[(b - 0xC0) as usize] as u16,
        Some(b) => b.to_ascii_uppercase() as u16,
        None => 255,
    }
}
