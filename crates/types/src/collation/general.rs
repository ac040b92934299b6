//! utf8mb4_general_ci: one 16-bit weight per character, the upper case of its base letter; and utf8mb3_tolower_ci, whose weights are
//! lower cases.
//!
//! The table (`data/general-ci.bin`) has the weights MySQL's `WEIGHT_STRING` gives for the basic plane: 256 bytes that
//! name a page for each high byte (255: every character is its own weight), then pages of 256 little-endian weights.
//! Characters beyond the basic plane are all alike.

static TABLE: &[u8] = include_bytes!("data/general-ci.bin");

/// The weight of every character beyond the basic plane.
const BEYOND: u16 = 0xFFFD;

/// First and last characters of what had cases in Unicode 3.0, whose lower cases `utf8mb3_tolower_ci` weighs.
const CASED: [(u16, u16); 15] = [
    (0x00, 0x21F),
    (0x222, 0x233),
    (0x386, 0x3CE),
    (0x3DA, 0x3EF),
    (0x400, 0x481),
    (0x48C, 0x4BF),
    (0x4C1, 0x4C4),
    (0x4C7, 0x4C8),
    (0x4CB, 0x4CC),
    (0x4D0, 0x4F5),
    (0x4F8, 0x4F9),
    (0x531, 0x556),
    (0x1E00, 0x1EF9),
    (0x1F00, 0x1FFF),
    (0x2126, 0xFFFF),
];
/// Of the last of these, what came later.
const LATER: [(u16, u16); 4] = [
    (0x2132, 0x2132),
    (0x2183, 0x2184),
    (0x2C00, 0x2CFF),
    (0xA640, 0xABFF),
];

/// The lower case of a character as it was in Unicode 3.0, where it is one.
pub(super) fn lower(c: char) -> u16 {
    let code = u16::try_from(c as u32).unwrap_or(BEYOND);
    let within = |ranges: &[(u16, u16)]| {
        ranges
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&code))
    };
    match c {
        '\u{130}' => u16::from(b'i'),
        '\u{1E9E}' => code,
        _ if within(&CASED) && !within(&LATER) => {
            let mut mapped = c.to_lowercase();
            let first = mapped.next().unwrap_or(c);
            u16::try_from(first as u32).unwrap_or(code)
        }
        _ => code,
    }
}

/// The weight in utf8mb3_general_mysql500_ci: a sharp s is no s.
pub(super) fn weight_500(c: char) -> u16 {
    if c == 'ß' { c as u16 } else { weight(c) }
}

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
