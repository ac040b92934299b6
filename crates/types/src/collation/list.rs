//! The collations there are: MySQL's ids and names, and what each compares by.

use super::Charset::{Ascii, Binary, Utf8mb3, Utf8mb4};
use super::bytes::{ByteSet, ByteWeights};
use super::ideographs;
use super::languages::Language;
use super::passes;
use super::wide::WideForm;
use super::{Charset, Uca, Weights};

/// What there is to know of a collation.
pub(super) struct Info {
    pub id: u16,
    pub name: &'static str,
    pub charset: Charset,
    pub weights: Weights,
    pub pad_space: bool,
}

/// A collation under which spaces at the end do not count.
const fn pad(id: u16, name: &'static str, charset: Charset, weights: Weights) -> Info {
    Info {
        id,
        name,
        charset,
        weights,
        pad_space: true,
    }
}

const fn no_pad(id: u16, name: &'static str, charset: Charset, weights: Weights) -> Info {
    Info {
        id,
        name,
        charset,
        weights,
        pad_space: false,
    }
}

/// The server's default.
pub(super) static DEFAULT: Info = no_pad(255, "utf8mb4_0900_ai_ci", Utf8mb4, Weights::V9_AI_CI);

static COLLATIONS: &[Info] = &[
    no_pad(305, "utf8mb4_0900_as_ci", Utf8mb4, Weights::V9_AS_CI),
    no_pad(278, "utf8mb4_0900_as_cs", Utf8mb4, Weights::V9_AS_CS),
    no_pad(309, "utf8mb4_0900_bin", Utf8mb4, Weights::CodePoint),
    pad(45, "utf8mb4_general_ci", Utf8mb4, Weights::General),
    pad(46, "utf8mb4_bin", Utf8mb4, Weights::CodePoint),
    pad(224, "utf8mb4_unicode_ci", Utf8mb4, Weights::UNICODE),
    pad(246, "utf8mb4_unicode_520_ci", Utf8mb4, Weights::UNICODE_520),
    pad(33, "utf8mb3_general_ci", Utf8mb3, Weights::General),
    pad(83, "utf8mb3_bin", Utf8mb3, Weights::CodePoint),
    pad(223, "utf8mb3_general_mysql500_ci", Utf8mb3, Weights::General500),
    pad(76, "utf8mb3_tolower_ci", Utf8mb3, Weights::Lower),
    pad(192, "utf8mb3_unicode_ci", Utf8mb3, Weights::UNICODE),
    pad(214, "utf8mb3_unicode_520_ci", Utf8mb3, Weights::UNICODE_520),
    // Indexes of the texts' UTF-8 form are older than the sets of bytes.
    pad(47, "latin1_bin", Charset::LATIN1, Weights::CodePoint),
    pad(
        18,
        "tis620_thai_ci",
        Charset::Bytes(ByteSet::new(23)),
        Weights::Passes(&passes::THAI),
    ),
    pad(
        2,
        "latin2_czech_cs",
        Charset::Bytes(ByteSet::new(1)),
        Weights::Passes(&passes::LATIN2_CZECH),
    ),
    pad(
        34,
        "cp1250_czech_cs",
        Charset::Bytes(ByteSet::new(4)),
        Weights::Passes(&passes::CP1250_CZECH),
    ),
    pad(11, "ascii_general_ci", Ascii, Weights::AsciiUpper),
    pad(65, "ascii_bin", Ascii, Weights::CodePoint),
    no_pad(63, "binary", Binary, Weights::CodePoint),
];

const UCS2: Charset = Charset::Wide(WideForm::Ucs2);
const UTF16: Charset = Charset::Wide(WideForm::Utf16);
const UTF16LE: Charset = Charset::Wide(WideForm::Utf16le);
const UTF32: Charset = Charset::Wide(WideForm::Utf32);

/// Those of the other forms of Unicode that are no language's.
static WIDE: &[Info] = &[
    pad(35, "ucs2_general_ci", UCS2, Weights::General),
    pad(90, "ucs2_bin", UCS2, Weights::CodePoint),
    pad(159, "ucs2_general_mysql500_ci", UCS2, Weights::General500),
    pad(128, "ucs2_unicode_ci", UCS2, Weights::UNICODE),
    pad(150, "ucs2_unicode_520_ci", UCS2, Weights::UNICODE_520),
    pad(54, "utf16_general_ci", UTF16, Weights::General),
    pad(55, "utf16_bin", UTF16, Weights::CodePoint),
    pad(101, "utf16_unicode_ci", UTF16, Weights::UNICODE),
    pad(123, "utf16_unicode_520_ci", UTF16, Weights::UNICODE_520),
    pad(56, "utf16le_general_ci", UTF16LE, Weights::General),
    pad(62, "utf16le_bin", UTF16LE, Weights::CodePoint),
    pad(60, "utf32_general_ci", UTF32, Weights::General),
    pad(61, "utf32_bin", UTF32, Weights::CodePoint),
    pad(160, "utf32_unicode_ci", UTF32, Weights::UNICODE),
    pad(182, "utf32_unicode_520_ci", UTF32, Weights::UNICODE_520),
];

/// Languages on version 4.0.0, by their number in the table: the collations of all forms of Unicode.
macro_rules! languages_4 {
    ($($number:literal $mb4:literal $mb3:literal $utf16:literal $utf32:literal $ucs2:literal $name:literal)*) => {
        &[$({
            static LEVELS: [Language; 1] = [Language::new($number, 0, Uca::V4)];
            const WEIGHTS: Weights = Weights::Language(&LEVELS);
            [
                pad($mb4, concat!("utf8mb4_", $name, "_ci"), Utf8mb4, WEIGHTS),
                pad($mb3, concat!("utf8mb3_", $name, "_ci"), Utf8mb3, WEIGHTS),
                pad($utf16, concat!("utf16_", $name, "_ci"), UTF16, WEIGHTS),
                pad($utf32, concat!("utf32_", $name, "_ci"), UTF32, WEIGHTS),
                pad($ucs2, concat!("ucs2_", $name, "_ci"), UCS2, WEIGHTS),
            ]
        }),*]
    };
}

static LANGUAGES_4: &[[Info; 5]] = languages_4! {
    0 225 193 102 161 129 "icelandic"
    1 226 194 103 162 130 "latvian"
    2 227 195 104 163 131 "romanian"
    3 228 196 105 164 132 "slovenian"
    4 229 197 106 165 133 "polish"
    5 230 198 107 166 134 "estonian"
    6 231 199 108 167 135 "spanish"
    7 232 200 109 168 136 "swedish"
    8 233 201 110 169 137 "turkish"
    9 234 202 111 170 138 "czech"
    10 235 203 112 171 139 "danish"
    11 236 204 113 172 140 "lithuanian"
    12 237 205 114 173 141 "slovak"
    13 238 206 115 174 142 "spanish2"
    14 239 207 116 175 143 "roman"
    15 240 208 117 176 144 "persian"
    16 241 209 118 177 145 "esperanto"
    17 242 210 119 178 146 "hungarian"
    18 243 211 120 179 147 "sinhala"
    19 244 212 121 180 148 "german2"
    20 245 213 122 181 149 "croatian"
    21 247 215 124 183 151 "vietnamese"
};

/// Languages on version 9.0.0: the collations that tell letters apart, and accents and cases too.
macro_rules! languages_9 {
    ($($number:literal $base:literal $full:literal $name:literal)*) => {
        &[$({
            static LEVELS: [Language; 3] = [
                Language::new($number, 0, Uca::V9Primary),
                Language::new($number, 1, Uca::V9Secondary),
                Language::new($number, 2, Uca::V9Tertiary),
            ];
            let letters = Weights::Language(std::slice::from_ref(&LEVELS[0]));
            [
                no_pad($base, concat!("utf8mb4_", $name, "_0900_ai_ci"), Utf8mb4, letters),
                no_pad($full, concat!("utf8mb4_", $name, "_0900_as_cs"), Utf8mb4, Weights::Language(&LEVELS)),
            ]
        }),*]
    };
}

static LANGUAGES_9: &[[Info; 2]] = languages_9! {
    22 256 279 "de_pb"
    23 257 280 "is"
    24 258 281 "lv"
    25 259 282 "ro"
    26 260 283 "sl"
    27 261 284 "pl"
    28 262 285 "et"
    29 263 286 "es"
    30 264 287 "sv"
    31 265 288 "tr"
    32 266 289 "cs"
    33 267 290 "da"
    34 268 291 "lt"
    35 269 292 "sk"
    36 270 293 "es_trad"
    37 271 294 "la"
    38 273 296 "eo"
    39 274 297 "hu"
    40 275 298 "hr"
    41 277 300 "vi"
    42 306 307 "ru"
    43 310 311 "nb"
    44 312 313 "nn"
    45 314 315 "sr_latn"
    46 316 317 "bs"
    47 318 319 "bg"
    48 320 321 "gl"
    49 322 323 "mn_cyrl"
};

/// Japanese: kana and Latin, then ideographs, then the rest; what tells hiragana from katakana is a fourth level.
static JAPANESE: [Language; 4] = [
    Language::with_ideographs(50, 0, Uca::V9Primary, &ideographs::JAPANESE),
    Language::with_ideographs(50, 1, Uca::V9Secondary, &ideographs::JAPANESE),
    Language::with_ideographs(50, 2, Uca::V9Tertiary, &ideographs::JAPANESE),
    Language::with_ideographs(50, 3, Uca::V9Fourth, &ideographs::JAPANESE),
];
/// Chinese: ideographs before letters.
static CHINESE: [Language; 3] = [
    Language::with_ideographs(51, 0, Uca::V9Primary, &ideographs::CHINESE),
    Language::with_ideographs(51, 1, Uca::V9Secondary, &ideographs::CHINESE),
    Language::with_ideographs(51, 2, Uca::V9Tertiary, &ideographs::CHINESE),
];

static EAST_ASIAN: &[Info] = &[
    no_pad(
        303,
        "utf8mb4_ja_0900_as_cs",
        Utf8mb4,
        Weights::Language(JAPANESE.split_at(3).0),
    ),
    no_pad(
        304,
        "utf8mb4_ja_0900_as_cs_ks",
        Utf8mb4,
        Weights::Language(&JAPANESE),
    ),
    no_pad(308, "utf8mb4_zh_0900_as_cs", Utf8mb4, Weights::Language(&CHINESE)),
];

/// Collations of a byte's weight: id, name, the set's number and the table's in `bytes.rs`.
macro_rules! byte_collations {
    ($($make:ident $id:literal $name:literal $set:literal $($table:literal)?)*) => {
        &[$({
            static WEIGHTS: ByteWeights = ByteWeights::$make($set, $($table)?);
            pad($id, $name, Charset::Bytes(ByteSet::new($set)), Weights::Bytes(&WEIGHTS))
        }),*]
    };
}

static BYTES: &[Info] = byte_collations! {
    new 8 "latin1_swedish_ci" 0 0
    new 5 "latin1_german1_ci" 0 1
    new 15 "latin1_danish_ci" 0 2
    new 48 "latin1_general_ci" 0 3
    new 49 "latin1_general_cs" 0 4
    new 94 "latin1_spanish_ci" 0 5
    two 31 "latin1_german2_ci" 0 6
    new 9 "latin2_general_ci" 1 8
    new 21 "latin2_hungarian_ci" 1 9
    new 27 "latin2_croatian_ci" 1 10
    new 30 "latin5_turkish_ci" 2 11
    new 41 "latin7_general_ci" 3 12
    new 42 "latin7_general_cs" 3 13
    new 20 "latin7_estonian_cs" 3 14
    new 26 "cp1250_general_ci" 4 15
    new 44 "cp1250_croatian_ci" 4 16
    new 99 "cp1250_polish_ci" 4 17
    new 51 "cp1251_general_ci" 5 18
    new 52 "cp1251_general_cs" 5 19
    new 14 "cp1251_bulgarian_ci" 5 20
    new 23 "cp1251_ukrainian_ci" 5 21
    new 57 "cp1256_general_ci" 6 22
    new 59 "cp1257_general_ci" 7 23
    new 29 "cp1257_lithuanian_ci" 7 24
    new 4 "cp850_general_ci" 8 25
    new 40 "cp852_general_ci" 9 26
    new 36 "cp866_general_ci" 10 27
    new 7 "koi8r_general_ci" 11 28
    new 22 "koi8u_general_ci" 12 29
    new 25 "greek_general_ci" 13 30
    new 16 "hebrew_general_ci" 14 31
    new 39 "macroman_general_ci" 15 32
    new 38 "macce_general_ci" 16 33
    new 3 "dec8_swedish_ci" 17 34
    new 6 "hp8_english_ci" 18 35
    new 10 "swe7_swedish_ci" 19 36
    new 32 "armscii8_general_ci" 20 37
    new 92 "geostd8_general_ci" 21 38
    new 37 "keybcs2_general_ci" 22 39
    bin 77 "latin2_bin" 1
    bin 78 "latin5_bin" 2
    bin 79 "latin7_bin" 3
    bin 66 "cp1250_bin" 4
    bin 50 "cp1251_bin" 5
    bin 67 "cp1256_bin" 6
    bin 58 "cp1257_bin" 7
    bin 80 "cp850_bin" 8
    bin 81 "cp852_bin" 9
    bin 68 "cp866_bin" 10
    bin 74 "koi8r_bin" 11
    bin 75 "koi8u_bin" 12
    bin 70 "greek_bin" 13
    bin 71 "hebrew_bin" 14
    bin 53 "macroman_bin" 15
    bin 43 "macce_bin" 16
    bin 69 "dec8_bin" 17
    bin 72 "hp8_bin" 18
    bin 82 "swe7_bin" 19
    bin 64 "armscii8_bin" 20
    bin 93 "geostd8_bin" 21
    bin 73 "keybcs2_bin" 22
    bin 89 "tis620_bin" 23
};

/// One more than the greatest id.
const IDS: usize = 324;

/// Collations by id: each statement asks for some many times.
static BY_ID: [Option<&Info>; IDS] = {
    let mut by_id = [None; IDS];
    by_id[DEFAULT.id as usize] = Some(&DEFAULT);
    let lists = [
        COLLATIONS,
        BYTES,
        LANGUAGES_4.as_flattened(),
        LANGUAGES_9.as_flattened(),
        EAST_ASIAN,
        WIDE,
    ];
    let mut n = 0;
    while n < lists.len() {
        let mut at = 0;
        while at < lists[n].len() {
            by_id[lists[n][at].id as usize] = Some(&lists[n][at]);
            at += 1;
        }
        n += 1;
    }
    by_id
};

#[inline]
pub(super) fn by_id(id: u16) -> Option<&'static Info> {
    *BY_ID.get(id as usize)?
}

/// All of them.
pub(super) fn all() -> impl Iterator<Item = &'static Info> {
    BY_ID.iter().filter_map(|info| *info)
}
