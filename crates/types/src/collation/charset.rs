//! Character sets: what may be written in each, and how long it is in bytes.

use super::Charset;
use std::borrow::Cow;

/// What cp1252 (MySQL's latin1) has at 0x80 to 0x9F; 0 where it has nothing of its own.
const CP1252: [u16; 32] = [
    0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152,
    0x008D, 0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122,
    0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178,
];

/// The latin1 byte of a character.
pub(crate) fn latin1_byte(c: char) -> Option<u8> {
    match c as u32 {
        code @ (0..=0x7F | 0xA0..=0xFF) => Some(code as u8),
        code => CP1252
            .iter()
            .position(|u| *u as u32 == code)
            .map(|i| 0x80 + i as u8),
    }
}

fn latin1_char(b: u8) -> char {
    match b {
        0x80..=0x9F => char::from_u32(CP1252[(b - 0x80) as usize] as u32).unwrap_or('?'),
        _ => b as char,
    }
}

impl Charset {
    /// Whether a text (UTF-8 in the server) has only characters of this set.
    pub fn can_write(self, text: &[u8]) -> bool {
        if self == Charset::Binary || text.is_ascii() {
            return true;
        }
        let Ok(text) = std::str::from_utf8(text) else {
            return false;
        };
        match self {
            Charset::Utf8mb4 | Charset::Binary => true,
            Charset::Utf8mb3 => text.chars().all(|c| (c as u32) < 0x10000),
            Charset::Latin1 => text.chars().all(|c| latin1_byte(c).is_some()),
            Charset::Ascii => false,
        }
    }

    /// The text with what this set lacks replaced by question marks. `None`: bytes that are no text of this set.
    pub fn repair(self, text: &[u8], from_binary: bool) -> Option<Vec<u8>> {
        if from_binary {
            return self.decode(text);
        }
        let text = String::from_utf8_lossy(text);
        Some(
            text.chars()
                .map(|c| if self.has(c) { c } else { '?' })
                .collect::<String>()
                .into_bytes(),
        )
    }

    fn has(self, c: char) -> bool {
        match self {
            Charset::Utf8mb4 | Charset::Binary => true,
            Charset::Utf8mb3 => (c as u32) < 0x10000,
            Charset::Latin1 => latin1_byte(c).is_some(),
            Charset::Ascii => c.is_ascii(),
        }
    }

    /// The server's form of bytes in this set; `None` if they are not valid in it.
    pub fn decode(self, bytes: &[u8]) -> Option<Vec<u8>> {
        match self {
            Charset::Binary => Some(bytes.to_vec()),
            Charset::Ascii => bytes.is_ascii().then(|| bytes.to_vec()),
            Charset::Latin1 => Some(
                bytes
                    .iter()
                    .map(|b| latin1_char(*b))
                    .collect::<String>()
                    .into_bytes(),
            ),
            Charset::Utf8mb3 | Charset::Utf8mb4 => std::str::from_utf8(bytes)
                .ok()
                .filter(|_| self.can_write(bytes))
                .map(|_| bytes.to_vec()),
        }
    }

    /// The bytes of a text in this set where they differ from the server's form.
    pub fn encode(self, text: &[u8]) -> Option<Vec<u8>> {
        if self != Charset::Latin1 || text.is_ascii() {
            return None;
        }
        let text = std::str::from_utf8(text).ok()?;
        Some(text.chars().map(|c| latin1_byte(c).unwrap_or(b'?')).collect())
    }

    /// Bytes of a text in this set.
    #[inline]
    pub fn byte_len(self, text: &[u8]) -> usize {
        match self {
            Charset::Latin1 => self.char_count(text),
            _ => text.len(),
        }
    }

    /// Characters of a text; bytes of a binary string.
    #[inline]
    pub fn char_count(self, text: &[u8]) -> usize {
        if self == Charset::Binary {
            return text.len();
        }
        // Every byte that does not continue a character begins one.
        text.iter().filter(|b| **b & 0xC0 != 0x80).count()
    }

    /// The bytes that the first `chars` characters take.
    #[inline]
    pub fn prefix_len(self, text: &[u8], chars: usize) -> usize {
        if self == Charset::Binary || text.is_ascii() || chars >= text.len() {
            return chars.min(text.len());
        }
        let mut starts = text.iter().enumerate().filter(|(_, b)| **b & 0xC0 != 0x80);
        starts.nth(chars).map_or(text.len(), |(at, _)| at)
    }

    /// The text in upper case; what has none stays.
    #[inline]
    pub fn upper(self, text: &[u8]) -> Cow<'_, [u8]> {
        self.map_case(text, u8::is_ascii_lowercase, |c| {
            single(c.to_uppercase()).unwrap_or(c)
        })
    }

    /// The text in lower case, where the set has cases.
    #[inline]
    pub fn lower(self, text: &[u8]) -> Cow<'_, [u8]> {
        self.map_case(text, u8::is_ascii_uppercase, |c| {
            single(c.to_lowercase()).unwrap_or(c)
        })
    }

    fn map_case(self, text: &[u8], concerns: fn(&u8) -> bool, map: fn(char) -> char) -> Cow<'_, [u8]> {
        if self == Charset::Binary {
            return Cow::Borrowed(text);
        }
        if text.is_ascii() {
            if !text.iter().any(concerns) {
                return Cow::Borrowed(text);
            }
            return Cow::Owned(text.iter().map(|b| map(*b as char) as u8).collect());
        }
        match std::str::from_utf8(text) {
            Ok(text) => Cow::Owned(text.chars().map(map).collect::<String>().into_bytes()),
            Err(_) => Cow::Borrowed(text),
        }
    }
}

/// A case mapping to one character; MySQL knows no others.
fn single(mut mapped: impl Iterator<Item = char>) -> Option<char> {
    let first = mapped.next()?;
    mapped.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latin1_is_windows_1252() {
        assert_eq!(Charset::Latin1.decode(b"\x80\xE9").unwrap(), "€é".as_bytes());
        assert_eq!(Charset::Latin1.encode("€é".as_bytes()).unwrap(), b"\x80\xE9");
        assert_eq!(Charset::Latin1.byte_len("€é".as_bytes()), 2);
        assert!(!Charset::Latin1.can_write("中".as_bytes()));
        assert!(!Charset::Utf8mb3.can_write("😀".as_bytes()));
    }

    #[test]
    fn cases_and_prefixes() {
        assert_eq!(
            &*Charset::Utf8mb4.upper("straße é".as_bytes()),
            "STRAßE É".as_bytes()
        );
        assert_eq!(Charset::Utf8mb4.prefix_len("aé中b".as_bytes(), 3), 6);
        assert_eq!(Charset::Utf8mb4.char_count("aé中b".as_bytes()), 4);
    }
}
