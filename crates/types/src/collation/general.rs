//! utf8mb4_general_ci: one 16-bit weight per character, the upper case of its base letter.
//!
//! The table (`data/general-ci.bin`) has the weights MySQL's `WEIGHT_STRING` gives for the basic plane: 256 bytes that
//! name a page for each high byte (255: every character is its own weight), then pages of 256 little-endian weights.
//! Characters beyond the basic plane are all alike.

static TABLE: &[u8] = include_bytes!("data/general-ci.bin");

/// The weight of every character beyond the basic plane.
const BEYOND: u16 = 0xFFFD;

pub(super) fn weight(c: char) -> u16 {
    let code = c as usize;
    if code > 0xFFFF {
        return BEYOND;
    }
    let page = TABLE[code >> 8] as usize;
    if page == 255 {
        return code as u16;
    }
    let at = 256 + (page * 256 + (code & 255)) * 2;
    u16::from_le_bytes([TABLE[at], TABLE[at + 1]])
}
