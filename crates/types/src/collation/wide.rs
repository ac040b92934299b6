//! The forms of Unicode that have no byte of ASCII: `ucs2`, `utf16`, `utf16le` and `utf32`.
//!
//! In the server their texts are UTF-8, like all others, so only what counts, takes or gives bytes comes here. Their collations weigh
//! characters, and are those of UTF-8. No client sends statements in them, for a statement's end could not be told from a zero.
//! Surrogates are no characters: a pair of them is one in UTF-16, and `ucs2`, in which MySQL lets them stand alone, has none.

use super::Collation;

/// A form of Unicode in units of two or four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WideForm {
    /// `ucs2`: two bytes for each character of the basic plane; it has no others.
    Ucs2,
    /// `utf16`, the high byte first.
    Utf16,
    /// `utf16le`, the low byte first.
    Utf16le,
    /// `utf32`: four bytes, the highest first.
    Utf32,
}

impl WideForm {
    pub(super) const ALL: [WideForm; 4] = [
        WideForm::Ucs2,
        WideForm::Utf16,
        WideForm::Utf16le,
        WideForm::Utf32,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            WideForm::Ucs2 => "ucs2",
            WideForm::Utf16 => "utf16",
            WideForm::Utf16le => "utf16le",
            WideForm::Utf32 => "utf32",
        }
    }

    pub(super) fn description(self) -> &'static str {
        match self {
            WideForm::Ucs2 => "UCS-2 Unicode",
            WideForm::Utf16 => "UTF-16 Unicode",
            WideForm::Utf16le => "UTF-16LE Unicode",
            WideForm::Utf32 => "UTF-32 Unicode",
        }
    }

    pub(super) fn default_collation(self) -> Collation {
        Collation(match self {
            WideForm::Ucs2 => 35,
            WideForm::Utf16 => 54,
            WideForm::Utf16le => 56,
            WideForm::Utf32 => 60,
        })
    }

    pub(super) fn bin_collation(self) -> Collation {
        Collation(match self {
            WideForm::Ucs2 => 90,
            WideForm::Utf16 => 55,
            WideForm::Utf16le => 62,
            WideForm::Utf32 => 61,
        })
    }

    /// Bytes of the shortest character; each has a multiple of them.
    pub(crate) fn unit(self) -> usize {
        match self {
            WideForm::Ucs2 | WideForm::Utf16 | WideForm::Utf16le => 2,
            WideForm::Utf32 => 4,
        }
    }

    /// Bytes of a character that begins with this byte.
    pub(super) fn bytes_of_lead(self, lead: u8) -> usize {
        match self {
            WideForm::Utf32 => 4,
            WideForm::Utf16 if lead & 0xFC == 0xD8 => 4,
            WideForm::Ucs2 | WideForm::Utf16 | WideForm::Utf16le => 2,
        }
    }

    /// Bytes of the longest character.
    pub(crate) fn max_bytes(self) -> u32 {
        match self {
            WideForm::Ucs2 => 2,
            WideForm::Utf16 | WideForm::Utf16le | WideForm::Utf32 => 4,
        }
    }

    /// Whether characters beyond the basic plane are pairs of units.
    pub(super) fn pairs(self) -> bool {
        matches!(self, WideForm::Utf16 | WideForm::Utf16le)
    }

    pub(super) fn has(self, c: char) -> bool {
        self != WideForm::Ucs2 || (c as u32) < 0x10000
    }

    /// Bytes of a text.
    pub(super) fn byte_len(self, text: &[u8]) -> usize {
        let chars = text.iter().filter(|b| **b & 0xC0 != 0x80).count();
        let pairs = match self.pairs() {
            true => text.iter().filter(|b| **b >= 0xF0).count(),
            false => 0,
        };
        (chars + pairs) * self.unit()
    }

    /// A text's bytes, with `?` for what the form does not have.
    pub(super) fn encode(self, text: &str) -> Vec<u8> {
        let chars = text.chars().map(|c| if self.has(c) { c } else { '?' });
        match self {
            WideForm::Utf32 => chars.flat_map(|c| (c as u32).to_be_bytes()).collect(),
            WideForm::Ucs2 | WideForm::Utf16 | WideForm::Utf16le => {
                let mut out = Vec::with_capacity(text.len() * 2);
                for c in chars {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        out.extend_from_slice(&match self {
                            WideForm::Utf16le => unit.to_le_bytes(),
                            _ => unit.to_be_bytes(),
                        });
                    }
                }
                out
            }
        }
    }

    /// The text that bytes are; `None` if they are none. Too few bytes for a character have zeros put in front of all.
    pub(super) fn decode(self, bytes: &[u8]) -> Option<String> {
        let missing = (self.unit() - bytes.len() % self.unit()) % self.unit();
        if missing > 0 {
            let mut filled = vec![0; missing];
            filled.extend_from_slice(bytes);
            return self.decode(&filled);
        }
        let units = || bytes.as_chunks().0.iter();
        match self {
            WideForm::Utf32 => {
                let chars = bytes.as_chunks().0.iter();
                chars
                    .map(|unit| char::from_u32(u32::from_be_bytes(*unit)))
                    .collect()
            }
            WideForm::Ucs2 => units()
                .map(|unit| char::from_u32(u16::from_be_bytes(*unit) as u32))
                .collect(),
            WideForm::Utf16 => from_utf16(units().map(|unit| u16::from_be_bytes(*unit))),
            WideForm::Utf16le => from_utf16(units().map(|unit| u16::from_le_bytes(*unit))),
        }
    }
}

fn from_utf16(units: impl Iterator<Item = u16>) -> Option<String> {
    char::decode_utf16(units).collect::<Result<_, _>>().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_give_back_what_they_take() {
        let text = "aé中\u{FFFF}😀";
        for form in WideForm::ALL {
            let bytes = form.encode(text);
            assert_eq!(bytes.len(), form.byte_len(text.as_bytes()), "{}", form.name());
            let back = form.decode(&bytes).unwrap();
            let expected = if form == WideForm::Ucs2 {
                "aé中\u{FFFF}?"
            } else {
                text
            };
            assert_eq!(back, expected, "{}", form.name());
        }
        assert_eq!(WideForm::Utf16.encode("a😀"), b"\0a\xD8\x3D\xDE\x00");
        assert_eq!(WideForm::Utf16le.encode("a😀"), b"a\0\x3D\xD8\x00\xDE");
        assert_eq!(WideForm::Utf32.encode("😀"), b"\0\x01\xF6\x00");
    }

    #[test]
    fn what_is_no_text() {
        assert_eq!(WideForm::Utf16.decode(b"\xD8\x3D\0a"), None);
        assert_eq!(WideForm::Utf16.decode(b"\xDE\0"), None);
        assert_eq!(WideForm::Ucs2.decode(b"\xD8\x3D"), None);
        assert_eq!(WideForm::Utf32.decode(b"\0\x11\0\0"), None);
        assert_eq!(WideForm::Utf32.decode(b"ab").as_deref(), Some("\u{6162}"));
        assert_eq!(WideForm::Utf16.decode(b"a").as_deref(), Some("a"));
        assert_eq!(WideForm::Ucs2.decode(b"").as_deref(), Some(""));
    }
}
