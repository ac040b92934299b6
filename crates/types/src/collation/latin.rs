//! latin1_swedish_ci: one weight per latin1 character; accents fold, å ä ö stand after z.

use super::charset::latin1_byte;

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
