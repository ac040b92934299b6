//! Collations: how text compares, sorts, hashes and matches.
//!
//! All text inside the server is UTF-8, whatever character set its column declares: a `latin1` column holds UTF-8 bytes
//! of characters that latin1 can write. A character set therefore decides only what may be stored and how long
//! it is in bytes, and a collation decides order and equality.

mod charset;
mod compare;
mod general;
mod latin;
mod sort_key;
mod tailoring;
mod uca;

pub use sort_key::SqlCollator;

use std::fmt;
use tailoring::Tailoring;

/// A character set: which characters a text may have, and how a client sees them. Within the server all texts are UTF-8,
/// binary
/// strings excepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Charset {
    /// `utf8mb4`
    Utf8mb4,
    /// `utf8mb3`: UTF-8 without what takes four bytes.
    Utf8mb3,
    /// `latin1`: Windows-1252.
    Latin1,
    /// `ascii`
    Ascii,
    /// `binary`: bytes.
    Binary,
}

/// A collation by MySQL's id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Collation(u16);

/// The weights a collation compares by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Weights {
    /// Bytes of the UTF-8 form: code point order.
    CodePoint,
    /// The Unicode collation algorithm: level after level.
    Uca(&'static [Uca]),
    /// utf8mb4_general_ci: one weight per character.
    General,
    /// latin1_swedish_ci.
    Swedish,
    /// Another one of latin1's, with the weight of each of its characters.
    Latin1(&'static [u8; 256]),
    /// ascii_general_ci: upper case.
    AsciiUpper,
}

/// A level of a version of the Unicode collation algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Uca {
    /// utf8mb4_unicode_ci
    V4,
    /// A language's, which puts some characters elsewhere.
    Tailored(Tailoring),
    /// utf8mb4_unicode_520_ci
    V5,
    V9Primary,
    V9Secondary,
    V9Tertiary,
}

impl Weights {
    const UNICODE: Weights = Weights::Uca(&[Uca::V4]);
    const UNICODE_520: Weights = Weights::Uca(&[Uca::V5]);
    const V9_AI_CI: Weights = Weights::Uca(&[Uca::V9Primary]);
    const V9_AS_CI: Weights = Weights::Uca(&[Uca::V9Primary, Uca::V9Secondary]);
    const V9_AS_CS: Weights = Weights::Uca(&[Uca::V9Primary, Uca::V9Secondary, Uca::V9Tertiary]);
}

struct Info {
    id: u16,
    name: &'static str,
    charset: Charset,
    weights: Weights,
    pad_space: bool,
}

const fn info(id: u16, name: &'static str, charset: Charset, weights: Weights, pad_space: bool) -> Info {
    Info {
        id,
        name,
        charset,
        weights,
        pad_space,
    }
}

/// The collations of a language in both forms of UTF-8: their ids and names, and the characters that it moves.
macro_rules! languages {
    ($($wide:literal $narrow:literal $name:literal $moved:ident)*) => {
        &[$(
            info($wide, concat!("utf8mb4_", $name, "_ci"), Charset::Utf8mb4, Weights::Uca(&[Uca::Tailored(tailoring::$moved)]), true),
            info($narrow, concat!("utf8mb3_", $name, "_ci"), Charset::Utf8mb3, Weights::Uca(&[Uca::Tailored(tailoring::$moved)]), true),
        )*]
    };
}

/// Less common than those of the other list.
static LANGUAGES: &[Info] = languages! {
    241 209 "esperanto" ESPERANTO
    232 200 "swedish" SWEDISH
    229 197 "polish" POLISH
    227 195 "romanian" ROMANIAN
    231 199 "spanish" SPANISH
    225 193 "icelandic" ICELANDIC
    228 196 "slovenian" SLOVENIAN
    244 212 "german2" GERMAN2
    242 210 "hungarian" HUNGARIAN
    247 215 "vietnamese" VIETNAMESE
};

static COLLATIONS: &[Info] = &[
    info(
        255,
        "utf8mb4_0900_ai_ci",
        Charset::Utf8mb4,
        Weights::V9_AI_CI,
        false,
    ),
    info(
        305,
        "utf8mb4_0900_as_ci",
        Charset::Utf8mb4,
        Weights::V9_AS_CI,
        false,
    ),
    info(
        278,
        "utf8mb4_0900_as_cs",
        Charset::Utf8mb4,
        Weights::V9_AS_CS,
        false,
    ),
    info(
        309,
        "utf8mb4_0900_bin",
        Charset::Utf8mb4,
        Weights::CodePoint,
        false,
    ),
    info(45, "utf8mb4_general_ci", Charset::Utf8mb4, Weights::General, true),
    info(46, "utf8mb4_bin", Charset::Utf8mb4, Weights::CodePoint, true),
    info(
        224,
        "utf8mb4_unicode_ci",
        Charset::Utf8mb4,
        Weights::UNICODE,
        true,
    ),
    info(
        246,
        "utf8mb4_unicode_520_ci",
        Charset::Utf8mb4,
        Weights::UNICODE_520,
        true,
    ),
    info(33, "utf8mb3_general_ci", Charset::Utf8mb3, Weights::General, true),
    info(83, "utf8mb3_bin", Charset::Utf8mb3, Weights::CodePoint, true),
    info(
        192,
        "utf8mb3_unicode_ci",
        Charset::Utf8mb3,
        Weights::UNICODE,
        true,
    ),
    info(8, "latin1_swedish_ci", Charset::Latin1, Weights::Swedish, true),
    info(47, "latin1_bin", Charset::Latin1, Weights::CodePoint, true),
    info(5, "latin1_german1_ci", Charset::Latin1, latin::GERMAN1, true),
    info(15, "latin1_danish_ci", Charset::Latin1, latin::DANISH, true),
    info(48, "latin1_general_ci", Charset::Latin1, latin::GENERAL_CI, true),
    info(49, "latin1_general_cs", Charset::Latin1, latin::GENERAL_CS, true),
    info(94, "latin1_spanish_ci", Charset::Latin1, latin::SPANISH, true),
    info(11, "ascii_general_ci", Charset::Ascii, Weights::AsciiUpper, true),
    info(65, "ascii_bin", Charset::Ascii, Weights::CodePoint, true),
    info(63, "binary", Charset::Binary, Weights::CodePoint, false),
];

/// All of them, the commonest first; the list is short.
fn infos() -> impl Iterator<Item = &'static Info> {
    COLLATIONS.iter().chain(LANGUAGES)
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
    /// `utf8mb3_general_ci`, of names in the dictionary.
    pub const UTF8MB3_GENERAL_CI: Collation = Collation(33);
    /// `latin1_swedish_ci`
    pub const LATIN1_SWEDISH_CI: Collation = Collation(8);
    /// `ascii_general_ci`
    pub const ASCII_GENERAL_CI: Collation = Collation(11);
    /// `binary`, of byte strings.
    pub const BINARY: Collation = Collation(63);
    /// The server's default.
    pub const DEFAULT: Collation = Collation::UTF8MB4_0900_AI_CI;

    fn info(self) -> &'static Info {
        infos().find(|c| c.id == self.0).unwrap_or(&COLLATIONS[0])
    }

    /// MySQL's number of it, which the protocol uses.
    #[inline]
    pub fn id(self) -> u16 {
        self.0
    }

    /// The collation of this number, if it is supported.
    #[inline]
    pub fn from_id(id: u16) -> Option<Collation> {
        infos().find(|c| c.id == id).map(|c| Collation(c.id))
    }

    /// By name; `utf8_…` is the old name of `utf8mb3_…`.
    pub fn by_name(name: &str) -> Option<Collation> {
        let lower = name.to_ascii_lowercase();
        let name = match lower.strip_prefix("utf8_") {
            Some(rest) => format!("utf8mb3_{rest}"),
            None => lower,
        };
        infos().find(|c| c.name == name).map(|c| Collation(c.id))
    }

    /// Every collation there is, for `SHOW COLLATION`.
    #[inline]
    pub fn all() -> impl Iterator<Item = Collation> {
        infos().map(|c| Collation(c.id))
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
        self.info().weights == Weights::CodePoint && !self.is_binary()
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
    /// The character set of this name, in any case; `utf8` is `utf8mb3`.
    pub fn by_name(name: &str) -> Option<Charset> {
        Some(match name.to_ascii_lowercase().as_str() {
            "utf8mb4" => Charset::Utf8mb4,
            "utf8" | "utf8mb3" => Charset::Utf8mb3,
            "latin1" => Charset::Latin1,
            "ascii" => Charset::Ascii,
            "binary" => Charset::Binary,
            _ => return None,
        })
    }

    /// Its name in MySQL.
    pub fn name(self) -> &'static str {
        match self {
            Charset::Utf8mb4 => "utf8mb4",
            Charset::Utf8mb3 => "utf8mb3",
            Charset::Latin1 => "latin1",
            Charset::Ascii => "ascii",
            Charset::Binary => "binary",
        }
    }

    /// What SHOW CHARACTER SET says of it.
    pub fn description(self) -> &'static str {
        match self {
            Charset::Utf8mb4 => "UTF-8 Unicode",
            Charset::Utf8mb3 => "UTF-8 Unicode",
            Charset::Latin1 => "cp1252 West European",
            Charset::Ascii => "US ASCII",
            Charset::Binary => "Binary pseudo charset",
        }
    }

    /// All of them.
    pub fn all() -> [Charset; 5] {
        [
            Charset::Ascii,
            Charset::Binary,
            Charset::Latin1,
            Charset::Utf8mb3,
            Charset::Utf8mb4,
        ]
    }

    /// The collation that texts of this set take unless another is named.
    pub fn default_collation(self) -> Collation {
        match self {
            Charset::Utf8mb4 => Collation::UTF8MB4_0900_AI_CI,
            Charset::Utf8mb3 => Collation::UTF8MB3_GENERAL_CI,
            Charset::Latin1 => Collation::LATIN1_SWEDISH_CI,
            Charset::Ascii => Collation::ASCII_GENERAL_CI,
            Charset::Binary => Collation::BINARY,
        }
    }

    /// Its collation by code point.
    pub fn bin_collation(self) -> Collation {
        match self {
            Charset::Utf8mb4 => Collation::UTF8MB4_BIN,
            Charset::Utf8mb3 => Collation(83),
            Charset::Latin1 => Collation(47),
            Charset::Ascii => Collation(65),
            Charset::Binary => Collation::BINARY,
        }
    }
}
