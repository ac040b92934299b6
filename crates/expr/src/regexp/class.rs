//! Sets of characters: `[…]`, `\p{…}`, `\w` and their like.
//!
//! Sets are computed as ranges of `regex-syntax`, which has Unicode's properties, and asked by a bitmap for ASCII and a binary search for
//! the rest.

use super::illegal_argument;
use regex_syntax::hir::{Class as HirClass, ClassUnicode, ClassUnicodeRange, HirKind};
use std::sync::OnceLock;
use tidemark_types::error::Result;

/// A set of characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Class {
    ascii: u128,
    ranges: Box<[(u32, u32)]>,
}

impl Class {
    pub fn new(set: &ClassUnicode) -> Class {
        let ranges: Box<[(u32, u32)]> = set
            .ranges()
            .iter()
            .map(|range| (range.start().into(), range.end().into()))
            .collect();
        let mut ascii = 0;
        for c in 0..128u32 {
            if within(&ranges, c) {
                ascii |= 1 << c;
            }
        }
        Class { ascii, ranges }
    }

    /// Its characters of ASCII, a bit each.
    pub fn ascii(&self) -> u128 {
        self.ascii
    }

    /// True if it has others.
    pub fn has_others(&self) -> bool {
        self.ranges.iter().any(|(_, end)| *end >= 128)
    }

    #[inline]
    pub fn has(&self, c: u32) -> bool {
        match c < 128 {
            true => self.ascii >> c & 1 == 1,
            false => within(&self.ranges, c),
        }
    }
}

fn within(ranges: &[(u32, u32)], c: u32) -> bool {
    let at = ranges.partition_point(|(_, end)| *end < c);
    ranges.get(at).is_some_and(|(start, _)| *start <= c)
}

/// The set of one character or a range of them; what is no character is left out.
pub(super) fn range(from: u32, to: u32) -> ClassUnicode {
    let first = |c: u32| char::from_u32(c).unwrap_or('\u{e000}');
    let last = |c: u32| char::from_u32(c).unwrap_or('\u{d7ff}');
    let (from, to) = (first(from), last(to.min(0x10ffff)));
    match from <= to {
        true => ClassUnicode::new([ClassUnicodeRange::new(from, to)]),
        false => ClassUnicode::empty(),
    }
}

/// The set that a class of `regex-syntax` has, such as `\p{Lu}` or `[\p{L}_]`; `None` if it is none there.
pub(super) fn written(class: &str) -> Option<ClassUnicode> {
    let parsed = regex_syntax::parse(class).ok()?;
    match parsed.kind() {
        HirKind::Class(HirClass::Unicode(set)) => Some(set.clone()),
        // A set of one character.
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).ok()?;
            let c = u32::from(text.chars().next()?);
            Some(range(c, c))
        }
        _ => None,
    }
}

/// The set of a name in `\p{…}` or `[:…:]`. Error 3685.
pub(super) fn property(name: &str) -> Result<ClassUnicode> {
    let plain = loose(name);
    let class = match plain.as_str() {
        "alnum" => r"[\p{Alphabetic}\p{Nd}]",
        "alpha" => r"\p{Alphabetic}",
        "blank" => r"[\p{Zs}\t]",
        "cntrl" => r"\p{Cc}",
        "digit" => r"\p{Nd}",
        "graph" => r"[^\p{White_Space}\p{Cc}\p{Cn}]",
        "lower" => r"\p{Lowercase}",
        "print" => r"[[^\p{White_Space}\p{Cc}\p{Cn}]\p{Zs}]",
        "punct" => r"\p{P}",
        "space" => r"\p{White_Space}",
        "upper" => r"\p{Uppercase}",
        "word" => return Ok(word().clone()),
        "xdigit" => r"[\p{Nd}\p{Hex_Digit}]",
        "any" => r"[\x{0}-\x{10ffff}]",
        "ascii" => r"[\x00-\x7f]",
        "assigned" => r"\P{Cn}",
        _ => "",
    };
    let found = match class {
        "" if plain
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '=' | '.')) =>
        {
            known(&plain)
        }
        "" => None,
        class => written(class),
    };
    found.ok_or_else(illegal_argument)
}

/// A property by its loose name, which may have `is` before it, and `=yes` or `=no` behind it.
fn known(plain: &str) -> Option<ClassUnicode> {
    let of = |name: &str| written(&format!(r"\p{{{name}}}"));
    if let Some(found) = of(plain) {
        return Some(found);
    }
    let plain = plain.strip_prefix("is").unwrap_or(plain);
    let Some((name, value)) = plain.split_once('=') else {
        return of(plain);
    };
    let mut set = of(name)?;
    match value {
        "yes" | "y" | "true" | "t" => {}
        "no" | "n" | "false" | "f" => set.negate(),
        _ => return None,
    }
    Some(set)
}

/// True for properties of ICU's that are not known here: blocks, names, Java's.
pub(super) fn is_beyond_us(name: &str) -> bool {
    let plain = loose(name);
    let is_block = plain.starts_with("in") && plain.len() > 2 && property(name).is_err();
    is_block
        || [
            "block=",
            "blk=",
            "name=",
            "na=",
            "java",
            "lb=",
            "linebreak=",
            "ea=",
            "eastasianwidth=",
        ]
        .iter()
        .any(|known| plain.starts_with(known))
}

fn loose(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, ' ' | '_' | '-'))
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

macro_rules! kept {
    ($(#[$doc:meta] $name:ident $class:literal)*) => {$(
        #[$doc]
        pub(super) fn $name() -> &'static ClassUnicode {
            static SET: OnceLock<ClassUnicode> = OnceLock::new();
            SET.get_or_init(|| written($class).unwrap_or_else(ClassUnicode::empty))
        }
    )*};
}

kept! {
    /// `\w`.
    word r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u{200c}\u{200d}]"
    /// `\d`.
    digit r"\p{Nd}"
    /// `\s`.
    space r"\p{White_Space}"
    /// `\h`.
    horizontal r"[\p{Zs}\t]"
    /// `\v`.
    vertical r"[\n\x0b\x0c\r\u{85}\u{2028}\u{2029}]"
    /// What `\b` passes over.
    extending r"[\p{Grapheme_Extend}\p{Cf}]"
    /// What stays with the character before it, in `\X`.
    grapheme_extend r"[\p{gcb=Extend}\p{gcb=ZWJ}\p{gcb=SpacingMark}]"
    /// Pictures, which a joiner joins.
    pictographic r"\p{Extended_Pictographic}"
    /// What stays with the character behind it.
    prepend r"\p{gcb=Prepend}"
}

/// The sets that matching itself needs, ready to be asked.
pub(super) struct Ready {
    pub word: Class,
    pub extending: Class,
    pub grapheme_extend: Class,
    pub pictographic: Class,
    pub prepend: Class,
}

pub(super) fn ready() -> &'static Ready {
    static READY: OnceLock<Ready> = OnceLock::new();
    READY.get_or_init(|| Ready {
        word: Class::new(word()),
        extending: Class::new(extending()),
        grapheme_extend: Class::new(grapheme_extend()),
        pictographic: Class::new(pictographic()),
        prepend: Class::new(prepend()),
    })
}

/// Appends what a character is under full case folding.
pub(super) fn fold(c: u32, out: &mut Vec<u32>) {
    let Some(c) = char::from_u32(c) else {
        return out.push(c);
    };
    if c.is_ascii() {
        return out.push(u32::from(c.to_ascii_lowercase()));
    }
    // Upper case of a dotless i is I, whose folding has a dot.
    if c == 'ı' {
        return out.push(u32::from(c));
    }
    let lower = c.to_lowercase();
    let upper = lower.flat_map(char::to_uppercase);
    out.extend(upper.flat_map(char::to_lowercase).map(u32::from));
}

/// A set with all that differs from its characters in case alone.
pub(super) fn close_over_case(set: &mut ClassUnicode) {
    let _ = set.try_case_fold_simple();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sets_that_are_written_down_are_sets() {
        for set in [
            word(),
            digit(),
            space(),
            horizontal(),
            vertical(),
            extending(),
            grapheme_extend(),
            pictographic(),
            prepend(),
        ] {
            assert!(!set.ranges().is_empty());
        }
        for name in "alnum alpha blank cntrl digit graph lower print punct space upper xdigit any ascii assigned Lu Greek Script=Greek".split(' ') {
            assert!(!property(name).unwrap().ranges().is_empty(), "{name}");
        }
        assert!(property("foo").is_err());
    }

    #[test]
    fn folding_is_full() {
        let folded = |text: &str| {
            let mut out = Vec::new();
            text.chars().for_each(|c| fold(c.into(), &mut out));
            out.into_iter().filter_map(char::from_u32).collect::<String>()
        };
        assert_eq!(folded("Straße ﬁ ẞ ΣςK"), "strasse fi ss σσk");
    }
}
