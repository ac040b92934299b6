//! Character sets: what may be written in each, and how long it is in bytes.

use super::{Charset, WideForm};
use crate::SqlType;
use std::borrow::Cow;

impl Charset {
    /// Whether a text (UTF-8 in the server) has only characters of this set.
    pub fn can_write(self, text: &[u8]) -> bool {
        if self == Charset::Binary || text.is_ascii() && self.has_ascii() {
            return true;
        }
        let Ok(text) = std::str::from_utf8(text) else {
            return false;
        };
        match self {
            Charset::Utf8mb4 | Charset::Binary => true,
            Charset::Utf8mb3 => text.chars().all(|c| (c as u32) < 0x10000),
            Charset::Bytes(set) => text.chars().all(|c| set.byte_of(c).is_some()),
            Charset::Wide(form) => text.chars().all(|c| form.has(c)),
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

    /// The text with a question mark for each byte of what this set, a form of UTF-8, lacks: bytes that are wrong in it, so it is not
    /// known how many characters they are.
    pub fn mark_wrong(self, text: &[u8]) -> Vec<u8> {
        let mut marked = Vec::with_capacity(text.len());
        for chunk in text.utf8_chunks() {
            for c in chunk.valid().chars() {
                let mut bytes = [b'?'; 4];
                if self.has(c) {
                    c.encode_utf8(&mut bytes);
                }
                marked.extend_from_slice(&bytes[..c.len_utf8()]);
            }
            marked.extend(chunk.invalid().iter().map(|_| b'?'));
        }
        marked
    }

    fn has(self, c: char) -> bool {
        match self {
            Charset::Utf8mb4 | Charset::Binary => true,
            Charset::Utf8mb3 => (c as u32) < 0x10000,
            Charset::Bytes(set) => set.byte_of(c).is_some(),
            Charset::Wide(form) => form.has(c),
            Charset::Ascii => c.is_ascii(),
        }
    }

    /// The server's form of bytes in this set; `None` if they are not valid in it.
    pub fn decode(self, bytes: &[u8]) -> Option<Vec<u8>> {
        match self {
            Charset::Binary => Some(bytes.to_vec()),
            Charset::Ascii => bytes.is_ascii().then(|| bytes.to_vec()),
            Charset::Bytes(set) if bytes.is_ascii() && set.has_ascii() => Some(bytes.to_vec()),
            Charset::Bytes(set) => {
                let text: Option<String> = bytes.iter().map(|byte| set.char_of(*byte)).collect();
                text.map(String::into_bytes)
            }
            Charset::Wide(form) => form.decode(bytes).map(String::into_bytes),
            Charset::Utf8mb3 | Charset::Utf8mb4 => std::str::from_utf8(bytes)
                .ok()
                .filter(|_| self.can_write(bytes))
                .map(|_| bytes.to_vec()),
        }
    }

    /// Returns how many bytes a character has that begins with this byte; 0: none begins with it.
    pub fn bytes_of_lead(self, lead: u8) -> usize {
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 => match lead {
                0..0x80 => 1,
                0x80..0xC2 => 0,
                0xC2..0xE0 => 2,
                0xE0..0xF0 => 3,
                0xF0..0xF8 if self == Charset::Utf8mb4 => 4,
                _ => 0,
            },
            Charset::Wide(form) => form.bytes_of_lead(lead),
            Charset::Binary | Charset::Ascii | Charset::Bytes(_) => 1,
        }
    }

    /// Returns true if these bytes, as many as [`bytes_of_lead`](Charset::bytes_of_lead) says of the first, are one character where a file is divided
    /// into fields.
    pub fn is_character(self, bytes: &[u8]) -> bool {
        matches!(self, Charset::Wide(WideForm::Ucs2 | WideForm::Utf32)) || self.decode(bytes).is_some()
    }

    /// Returns the server's form of bytes of which some are no texts of this set, with question marks in their place.
    pub fn decode_marked(self, bytes: &[u8]) -> Vec<u8> {
        let (mut text, mut rest) = (Vec::new(), bytes);
        while !rest.is_empty() {
            let (known, wrong) = rest.split_at(self.well_formed_bytes(rest));
            text.extend(self.decode(known).unwrap_or_default());
            let skipped = wrong.len().min(self.min_bytes() as usize);
            text.extend(std::iter::repeat_n(b'?', skipped.min(1)));
            rest = &wrong[skipped..];
        }
        text
    }

    /// How many of the bytes are texts of this set, before the first that are not.
    pub fn well_formed_bytes(self, bytes: &[u8]) -> usize {
        let unit = self.min_bytes() as usize;
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let lengths = (1..=4).filter(|length| length % unit == 0 && *length <= rest.len());
            let Some(length) = lengths
                .into_iter()
                .find(|length| self.decode(&rest[..*length]).is_some())
            else {
                break;
            };
            at += length;
        }
        at
    }

    /// The bytes of a text in this set where they differ from the server's form.
    pub fn encode(self, text: &[u8]) -> Option<Vec<u8>> {
        match self {
            Charset::Bytes(set) if !(text.is_ascii() && set.has_ascii()) => {
                let text = std::str::from_utf8(text).ok()?;
                Some(text.chars().map(|c| set.byte_of(c).unwrap_or(b'?')).collect())
            }
            Charset::Wide(form) => Some(form.encode(std::str::from_utf8(text).ok()?)),
            _ => None,
        }
    }

    /// The bytes of a text in this set, with `?` for what it lacks.
    pub fn write(self, text: &[u8]) -> Cow<'_, [u8]> {
        if let Some(encoded) = self.encode(text) {
            return encoded.into();
        }
        match self.can_write(text) {
            true => text.into(),
            false => self.repair(text, false).unwrap_or_default().into(),
        }
    }

    /// The bytes of a text of a type for a client that takes texts in `results`; `None`, or `binary`: in the text's own set. What is in
    /// the client's set already goes as it is, whatever it has.
    pub fn send<'t>(results: Option<Charset>, ty: &SqlType, text: &'t [u8]) -> Cow<'t, [u8]> {
        if !ty.is_string() || ty.is_binary_string() {
            return text.into();
        }
        let own = ty.collation.charset();
        match results {
            Some(Charset::Utf8mb4) => text.into(),
            None | Some(Charset::Binary) => own.encode(text).map_or(text.into(), Cow::Owned),
            Some(charset) if charset.is_encoded() || own != charset => charset.write(text),
            Some(_) => text.into(),
        }
    }

    /// The bytes of a name, or of another text of the server's own, for a client that takes texts in `results`.
    pub fn send_name(results: Option<Charset>, name: &str) -> Cow<'_, [u8]> {
        match results {
            None | Some(Charset::Utf8mb4 | Charset::Binary) => name.as_bytes().into(),
            Some(charset) => charset.write(name.as_bytes()),
        }
    }

    /// Like [`Charset::send_name`], of an error's text: what the client's set lacks is shown by its number, `\\0416`.
    pub fn send_error(results: Option<Charset>, text: &str) -> Cow<'_, [u8]> {
        let Some(charset) = results.filter(|charset| !charset.can_write(text.as_bytes())) else {
            return Charset::send_name(results, text);
        };
        let mut shown = String::with_capacity(text.len());
        for c in text.chars() {
            let code = c as u32;
            match (charset.has(c), code > 0xFFFF) {
                (true, _) => shown.push(c),
                (false, false) => shown.push_str(&format!("\\{code:04X}")),
                (false, true) => shown.push_str(&format!("\\+{code:06X}")),
            }
        }
        charset.write(shown.as_bytes()).into_owned().into()
    }

    /// A text that a client sends in this set, as the server has texts. A byte that is no character becomes a question mark.
    #[inline]
    pub fn receive(self, text: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Charset::Bytes(set) if !text.is_ascii() => {
                let chars = text.iter().map(|byte| set.char_of(*byte).unwrap_or('?'));
                Cow::Owned(chars.collect::<String>().into_bytes())
            }
            _ => Cow::Borrowed(text),
        }
    }

    /// Whether the server's form of a text in this set may have other bytes than the text.
    #[inline]
    pub fn is_encoded(self) -> bool {
        matches!(self, Charset::Bytes(_) | Charset::Wide(_))
    }

    /// Whether it is a form of UTF-8, as the server's texts are.
    #[inline]
    pub fn is_utf8(self) -> bool {
        matches!(self, Charset::Utf8mb4 | Charset::Utf8mb3)
    }

    /// Whether it is a form of Unicode.
    #[inline]
    pub fn is_unicode(self) -> bool {
        matches!(self, Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Wide(_))
    }

    /// Whether another form of Unicode gives way to this one: of those that have all characters MySQL counts but these two.
    pub fn has_all_of(self, other: Charset) -> bool {
        match (self, other) {
            (Charset::Wide(WideForm::Utf32), other) => other.is_unicode() && other != self,
            (Charset::Utf8mb4, Charset::Wide(form)) => form != WideForm::Utf32,
            (Charset::Utf8mb4, Charset::Utf8mb3) => true,
            _ => false,
        }
    }

    /// Whether no client may send statements in this set.
    pub fn is_for_texts_only(self) -> bool {
        matches!(self, Charset::Wide(_))
    }

    /// Whether the set has all of ASCII.
    #[inline]
    fn has_ascii(self) -> bool {
        match self {
            Charset::Bytes(set) => set.has_ascii(),
            _ => true,
        }
    }

    /// Whether a letter of ASCII has that of ASCII as its other case.
    #[inline]
    fn cases_ascii(self) -> bool {
        match self {
            Charset::Bytes(set) => set.cases_ascii(),
            _ => true,
        }
    }

    /// Whether a text in ASCII has the same bytes in this set.
    #[inline]
    pub(crate) fn keeps_ascii(self) -> bool {
        match self {
            Charset::Wide(_) => false,
            charset => charset.has_ascii(),
        }
    }

    /// Bytes of a text in this set.
    #[inline]
    pub fn byte_len(self, text: &[u8]) -> usize {
        match self {
            Charset::Bytes(_) => self.char_count(text),
            Charset::Wide(form) => form.byte_len(text),
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
        if self == Charset::Binary || chars >= text.len() {
            return chars.min(text.len());
        }
        // Never looks at what follows the prefix: callers ask for one prefix after the other of a long text.
        if text[..chars].is_ascii() {
            return chars;
        }
        let mut starts = text.iter().enumerate().filter(|(_, b)| **b & 0xC0 != 0x80);
        starts.nth(chars).map_or(text.len(), |(at, _)| at)
    }

    /// The text in upper case; what has none stays.
    #[inline]
    pub fn upper(self, text: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Charset::Bytes(set) => self.map_case(text, u8::is_ascii_lowercase, |c| set.upper(c)),
            _ => self.map_case(text, u8::is_ascii_lowercase, |c| {
                single(c.to_uppercase()).unwrap_or_else(|| titlecase(c))
            }),
        }
    }

    /// The text in lower case, where the set has cases.
    #[inline]
    pub fn lower(self, text: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Charset::Bytes(set) => self.map_case(text, u8::is_ascii_uppercase, |c| set.lower(c)),
            _ => self.map_case(text, u8::is_ascii_uppercase, |c| {
                single(c.to_lowercase()).unwrap_or(if c == 'İ' { 'i' } else { c })
            }),
        }
    }

    fn map_case(self, text: &[u8], concerns: fn(&u8) -> bool, map: impl Fn(char) -> char) -> Cow<'_, [u8]> {
        if self == Charset::Binary {
            return Cow::Borrowed(text);
        }
        if text.is_ascii() && self.cases_ascii() {
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

/// The one character that stands for a Greek letter with an iota below in upper case, where Unicode has two; other characters as they are.
fn titlecase(c: char) -> char {
    let code = c as u32;
    let added = match code {
        0x1F80..=0x1F87 | 0x1F90..=0x1F97 | 0x1FA0..=0x1FA7 => 8,
        0x1FB3 | 0x1FC3 | 0x1FF3 => 9,
        _ => 0,
    };
    char::from_u32(code + added).unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_bytes_give_back_what_they_take() {
        for charset in Charset::all().into_iter().filter(|charset| charset.is_encoded()) {
            let Charset::Bytes(set) = charset else { continue };
            let known: Vec<u8> = (0..=255).filter(|byte| set.char_of(*byte).is_some()).collect();
            let text = charset.decode(&known).unwrap();
            assert!(charset.can_write(&text), "{}", charset.name());
            assert_eq!(charset.byte_len(&text), known.len());
            let back = charset.encode(&text).unwrap_or_else(|| text.clone());
            // Of two bytes for one character the first comes back.
            assert_eq!(charset.decode(&back).unwrap(), text, "{}", charset.name());
            let changed = known
                .iter()
                .zip(&back)
                .filter(|(byte, back)| byte != back)
                .count();
            assert_eq!(
                changed,
                if charset.name() == "armscii8" { 6 } else { 0 },
                "{}",
                charset.name()
            );
            for byte in 0..=255u8 {
                assert_eq!(charset.decode(&[byte]).is_some(), known.contains(&byte));
            }
            for case in [charset.upper(&text), charset.lower(&text)] {
                assert!(charset.can_write(&case), "{}", charset.name());
                assert_eq!(charset.char_count(&case), known.len());
            }
        }
    }

    #[test]
    fn sets_of_bytes_have_their_own_characters() {
        let named = |name: &str| Charset::by_name(name).unwrap();
        assert_eq!(
            named("cp1251").encode("Привет".as_bytes()).unwrap(),
            b"\xCF\xF0\xE8\xE2\xE5\xF2"
        );
        assert_eq!(
            named("koi8r").encode("Привет".as_bytes()).unwrap(),
            b"\xF0\xD2\xC9\xD7\xC5\xD4"
        );
        assert_eq!(named("cp1251").decode(b"\x98"), None);
        assert_eq!(named("swe7").decode(b"[\\]").unwrap(), "ÄÖÅ".as_bytes());
        assert!(!named("swe7").can_write(b"[") && named("swe7").can_write(b"a"));
        assert_eq!(&*named("latin5").upper(b"ibis"), "İBİS".as_bytes());
        assert_eq!(&*named("greek").upper("ωμέγα".as_bytes()), "ΩΜΕΓΑ".as_bytes());
    }

    #[test]
    fn latin1_is_windows_1252() {
        assert_eq!(Charset::LATIN1.decode(b"\x80\xE9").unwrap(), "€é".as_bytes());
        assert_eq!(Charset::LATIN1.encode("€é".as_bytes()).unwrap(), b"\x80\xE9");
        assert_eq!(Charset::LATIN1.byte_len("€é".as_bytes()), 2);
        assert!(!Charset::LATIN1.can_write("中".as_bytes()));
        assert!(!Charset::Utf8mb3.can_write("😀".as_bytes()));
    }

    #[test]
    fn cases_and_prefixes() {
        assert_eq!(
            &*Charset::Utf8mb4.upper("straße é".as_bytes()),
            "STRAßE É".as_bytes()
        );
        assert_eq!(&*Charset::Utf8mb4.upper("ᾳᾐ".as_bytes()), "ᾼᾘ".as_bytes());
        assert_eq!(&*Charset::Utf8mb3.lower("İI".as_bytes()), "ii".as_bytes());
        assert_eq!(Charset::Utf8mb4.prefix_len("aé中b".as_bytes(), 3), 6);
        assert_eq!(Charset::Utf8mb4.char_count("aé中b".as_bytes()), 4);
    }
}
