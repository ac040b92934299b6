//! Collations: how text compares, sorts, hashes and matches.
//!
//! All text inside the server is UTF-8, whatever character set its column declares: a `latin1` column holds UTF-8 bytes
//! of characters that latin1 can write. A character set therefore decides only what may be stored and how long
//! it is in bytes, and a collation decides order and equality.

mod bytes;
mod charset;
mod compare;
mod general;
mod ideographs;
mod languages;
mod list;
mod passes;
mod sort_key;
mod uca;
mod wide;

pub use bytes::ByteSet;
pub use sort_key::SqlCollator;
pub use wide::WideForm;

use bytes::ByteWeights;
use languages::Language;
use list::{Info, by_id};
use passes::Passes;
use std::fmt;

/// A character set: which characters a text may have, and how a client sees them. Within the server all texts are UTF-8,
/// binary
/// strings excepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Charset {
    /// `utf8mb4`
    Utf8mb4,
    /// `utf8mb3`: UTF-8 without what takes four bytes.
    Utf8mb3,
    /// One of those with a byte for each character, of which `latin1` is the commonest.
    Bytes(ByteSet),
    /// A form of Unicode that no client sends, such as `utf16`.
    Wide(WideForm),
    /// `ascii`
    Ascii,
    /// `binary`: bytes.
    Binary,
}

/// A collation by MySQL's id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Collation(u16);

/// The weights a collation compares by.
#[derive(Clone, Copy)]
pub(crate) enum Weights {
    /// Bytes of the UTF-8 form: code point order.
    CodePoint,
    /// The Unicode collation algorithm: level after level.
    Uca(&'static [Uca]),
    /// The same, as a language has it.
    Language(&'static [Language]),
    /// utf8mb4_general_ci: one weight per character.
    General,
    /// The same, but for a sharp s.
    General500,
    /// Lower case.
    Lower,
    /// A weight for each byte of a set that has one for each character.
    Bytes(&'static ByteWeights),
    /// Several, in an order of their own.
    Passes(&'static Passes),
    /// ascii_general_ci: upper case.
    AsciiUpper,
}

/// A level of a version of the Unicode collation algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Uca {
    /// utf8mb4_unicode_ci
    V4,
    /// utf8mb4_unicode_520_ci
    V5,
    V9Primary,
    V9Secondary,
    V9Tertiary,
    /// A level behind these, on which characters have weights only where a language gives them some.
    V9Fourth,
}

impl Weights {
    const UNICODE: Weights = Weights::Uca(&[Uca::V4]);
    const UNICODE_520: Weights = Weights::Uca(&[Uca::V5]);
    const V9_AI_CI: Weights = Weights::Uca(&[Uca::V9Primary]);
    const V9_AS_CI: Weights = Weights::Uca(&[Uca::V9Primary, Uca::V9Secondary]);
    const V9_AS_CS: Weights = Weights::Uca(&[Uca::V9Primary, Uca::V9Secondary, Uca::V9Tertiary]);

    /// Whether they are the bytes of the UTF-8 form.
    #[inline]
    fn are_bytes(self) -> bool {
        matches!(self, Weights::CodePoint)
    }
}

impl Collation {
    /// `utf8mb4_0900_ai_ci`
    pub const UTF8MB4_0900_AI_CI: Collation = Collation(255);
    /// `utf8mb4_general_ci`
    pub const UTF8MB4_GENERAL_CI: Collation = Collation(45);
    /// `utf8mb4_bin`
    pub const UTF8MB4_BIN: Collation = Collation(46);
    /// The order of bytes, without padding.
    pub const UTF8MB4_0900_BIN: Collation = Collation(309);
    /// `utf8mb3_general_ci`, of words in the dictionary.
    pub const UTF8MB3_GENERAL_CI: Collation = Collation(33);
    /// `utf8mb3_bin`, of names of databases and tables.
    pub const UTF8MB3_BIN: Collation = Collation(83);
    /// `utf8mb3_tolower_ci`, of names of columns and indexes: cases are alike, accents are not.
    pub const UTF8MB3_TOLOWER_CI: Collation = Collation(76);
    /// `latin1_swedish_ci`
    pub const LATIN1_SWEDISH_CI: Collation = Collation(8);
    /// `ascii_general_ci`
    pub const ASCII_GENERAL_CI: Collation = Collation(11);
    /// `binary`, of byte strings.
    pub const BINARY: Collation = Collation(63);
    /// The server's default.
    pub const DEFAULT: Collation = Collation::UTF8MB4_0900_AI_CI;

    fn info(self) -> &'static Info {
        by_id(self.0).unwrap_or(&list::DEFAULT)
    }

    /// MySQL's number of it, which the protocol uses.
    #[inline]
    pub fn id(self) -> u16 {
        self.0
    }

    /// The collation of this number, if it is supported.
    #[inline]
    pub fn from_id(id: u16) -> Option<Collation> {
        by_id(id).map(|c| Collation(c.id))
    }

    /// By name; `utf8_…` is the old name of `utf8mb3_…`.
    pub fn by_name(name: &str) -> Option<Collation> {
        let lower = name.to_ascii_lowercase();
        let name = match lower.strip_prefix("utf8_") {
            Some(rest) => format!("utf8mb3_{rest}"),
            None => lower,
        };
        list::all().find(|c| c.name == name).map(|c| Collation(c.id))
    }

    /// Every collation there is, for `SHOW COLLATION`.
    #[inline]
    pub fn all() -> impl Iterator<Item = Collation> {
        list::all().map(|c| Collation(c.id))
    }

    /// Its name in MySQL.
    #[inline]
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The character set it belongs to.
    #[inline]
    pub fn charset(self) -> Charset {
        self.info().charset
    }

    /// Whether trailing spaces are of no account in comparison.
    #[inline]
    pub fn pad_space(self) -> bool {
        self.info().pad_space
    }

    /// Whether it is that of byte strings.
    #[inline]
    pub fn is_binary(self) -> bool {
        self == Collation::BINARY
    }

    /// Whether this is a `_bin` collation.
    #[inline]
    pub fn is_code_point(self) -> bool {
        match self.weights() {
            Weights::Bytes(weights) => weights.is_bin(),
            weights => weights.are_bytes() && !self.is_binary(),
        }
    }

    /// What MySQL says of how much longer than a text its sort key may be.
    pub fn sort_length(self) -> u64 {
        match self.weights() {
            Weights::Language([_, _, _, _]) => 24,
            Weights::Passes(passes) => passes.sort_length(),
            Weights::Uca(_) | Weights::Language(_) if self.pad_space() => 8,
            Weights::Uca(_) | Weights::Language(_) => 0,
            Weights::Bytes(weights) if weights.has_two() => 2,
            _ => 1,
        }
    }

    /// Whether texts whose characters are the same one by one, as LIKE compares them, have the same sort key.
    pub fn has_keys_of_characters(self) -> bool {
        !matches!(self.weights(), Weights::Passes(_) | Weights::Language(_))
    }

    /// Whether texts that are cut after so many characters keep their order: each character has one weight. Elsewhere characters that weigh
    /// nothing, or as much as several, move what comes after them into the prefix, or out of it.
    pub fn cut_texts_keep_order(self) -> bool {
        match self.weights() {
            Weights::CodePoint | Weights::General | Weights::Lower | Weights::AsciiUpper => true,
            Weights::Bytes(weights) => !weights.has_two(),
            Weights::General500 | Weights::Uca(_) | Weights::Language(_) | Weights::Passes(_) => false,
        }
    }

    /// Whether the shorter of two texts counts as filled with spaces: they weigh nothing at the end of a text that is Czech.
    fn fills_up(self) -> bool {
        self.pad_space() && !self.ignores_last_spaces()
    }

    fn ignores_last_spaces(self) -> bool {
        matches!(self.weights(), Weights::Passes(passes) if passes.ignores_last_spaces())
    }

    /// The text without what never weighs in a comparison.
    fn weighed(self, text: &[u8]) -> &[u8] {
        if !self.ignores_last_spaces() {
            return text;
        }
        let end = text.iter().rposition(|byte| *byte != b' ');
        &text[..end.map_or(0, |last| last + 1)]
    }

    pub(crate) fn weights(self) -> Weights {
        self.info().weights
    }
}

impl fmt::Debug for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Charset {
    /// `latin1`: Windows-1252.
    pub const LATIN1: Charset = Charset::Bytes(ByteSet::LATIN1);

    /// The character set of this name, in any case; `utf8` is `utf8mb3`.
    pub fn by_name(name: &str) -> Option<Charset> {
        let name = name.to_ascii_lowercase();
        Some(match name.as_str() {
            "utf8mb4" => Charset::Utf8mb4,
            "utf8" | "utf8mb3" => Charset::Utf8mb3,
            "ascii" => Charset::Ascii,
            "binary" => Charset::Binary,
            name => match WideForm::ALL.into_iter().find(|form| form.name() == name) {
                Some(form) => Charset::Wide(form),
                None => Charset::Bytes(ByteSet::by_name(name)?),
            },
        })
    }

    /// Its name in MySQL.
    pub fn name(self) -> &'static str {
        match self {
            Charset::Utf8mb4 => "utf8mb4",
            Charset::Utf8mb3 => "utf8mb3",
            Charset::Bytes(set) => set.name(),
            Charset::Wide(form) => form.name(),
            Charset::Ascii => "ascii",
            Charset::Binary => "binary",
        }
    }

    /// What SHOW CHARACTER SET says of it.
    pub fn description(self) -> &'static str {
        match self {
            Charset::Utf8mb4 => "UTF-8 Unicode",
            Charset::Utf8mb3 => "UTF-8 Unicode",
            Charset::Bytes(set) => set.description(),
            Charset::Wide(form) => form.description(),
            Charset::Ascii => "US ASCII",
            Charset::Binary => "Binary pseudo charset",
        }
    }

    /// All of them, by name.
    pub fn all() -> Vec<Charset> {
        let others = [
            Charset::Ascii,
            Charset::Binary,
            Charset::Utf8mb3,
            Charset::Utf8mb4,
        ];
        let wide = WideForm::ALL.map(Charset::Wide);
        let mut all: Vec<Charset> = ByteSet::all()
            .map(Charset::Bytes)
            .chain(wide)
            .chain(others)
            .collect();
        all.sort_by_key(|charset| charset.name());
        all
    }

    /// The collation that texts of this set take unless another is named.
    pub fn default_collation(self) -> Collation {
        match self {
            Charset::Utf8mb4 => Collation::UTF8MB4_0900_AI_CI,
            Charset::Utf8mb3 => Collation::UTF8MB3_GENERAL_CI,
            Charset::Bytes(set) => set.default_collation(),
            Charset::Wide(form) => form.default_collation(),
            Charset::Ascii => Collation::ASCII_GENERAL_CI,
            Charset::Binary => Collation::BINARY,
        }
    }

    /// Its collation by code point, or by byte.
    pub fn bin_collation(self) -> Collation {
        match self {
            Charset::Utf8mb4 => Collation::UTF8MB4_BIN,
            Charset::Utf8mb3 => Collation(83),
            Charset::Bytes(set) => set.bin_collation(),
            Charset::Wide(form) => form.bin_collation(),
            Charset::Ascii => Collation(65),
            Charset::Binary => Collation::BINARY,
        }
    }
}
