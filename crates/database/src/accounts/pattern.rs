//! Patterns of hosts and databases: LIKE with `%`, `_` and backslash.
//!
//! A grant on `app\_%` is for all databases whose names match. An account that grants a privilege to another names a pattern too, which its own
//! grant must cover: `_` in the own grant matches any one character of a name, but not a `%`, which may stand for several.
//! So patterns are compared with patterns, character by character.

/// A part of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// `%`
    Any,
    /// `_`
    One,
    Char(char),
}

fn signs(pattern: &str) -> Vec<Sign> {
    let mut signs = Vec::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        signs.push(match c {
            '%' => Sign::Any,
            '_' => Sign::One,
            '\\' => Sign::Char(chars.next().unwrap_or('\\')),
            c => Sign::Char(c),
        });
    }
    signs
}

/// True if the pattern matches the text. Linear in their product at most: on a mismatch only the last `%` takes one more.
fn matches<T: Copy>(pattern: &[Sign], text: &[T], fits: impl Fn(Sign, T) -> bool) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut retry = None;
    while t < text.len() {
        if pattern.get(p) == Some(&Sign::Any) {
            retry = Some((p + 1, t));
            p += 1;
        } else if pattern.get(p).is_some_and(|sign| fits(*sign, text[t])) {
            (p, t) = (p + 1, t + 1);
        } else if let Some((after, from)) = retry {
            retry = Some((after, from + 1));
            (p, t) = (after, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|sign| *sign == Sign::Any)
}

/// True if the pattern matches a name.
pub fn pattern_matches(pattern: &str, text: &str, ignore_case: bool) -> bool {
    let text: Vec<char> = text.chars().collect();
    let same = |a: char, b: char| a == b || (ignore_case && a.eq_ignore_ascii_case(&b));
    matches(&signs(pattern), &text, |sign, c| match sign {
        Sign::Any | Sign::One => true,
        Sign::Char(wanted) => same(wanted, c),
    })
}

/// True if every name that `wanted` matches is matched by `pattern` too, as far as comparing their signs tells.
pub fn covers(pattern: &str, wanted: &str) -> bool {
    matches(&signs(pattern), &signs(wanted), |sign, wanted| match sign {
        Sign::Any => true,
        Sign::One => wanted != Sign::Any,
        Sign::Char(_) => sign == wanted,
    })
}

/// How specific a pattern is: a name before patterns, and patterns by how much stands before the first wildcard.
pub fn specificity(pattern: &str) -> usize {
    let wild = signs(pattern)
        .iter()
        .position(|sign| !matches!(sign, Sign::Char(_)));
    wild.unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match() {
        assert!(pattern_matches("sb\\_%", "sb_test", false));
        assert!(!pattern_matches("sb\\_%", "sbxtest", false));
        assert!(pattern_matches("%a%b", "xaxxab", false));
        assert!(!pattern_matches("%a%b", "xaxxa", false));
        assert!(pattern_matches("", "", false) && !pattern_matches("", "a", false));
        let hostile = "%a".repeat(2000);
        assert!(!pattern_matches(&hostile, &"a".repeat(1999), false));
    }

    #[test]
    fn a_pattern_covers_no_more_than_it_matches() {
        assert!(covers("app_db", "app_db") && covers("app_db", "app\\_db") && covers("app%", "app\\_%"));
        assert!(!covers("app_db", "app%db"));
        assert!(!covers("app\\_db", "app_db"));
        assert!(!covers("app\\_%", "app%"));
        assert!(covers("%", "a%b"));
    }

    #[test]
    fn names_are_more_specific_than_patterns() {
        assert!(specificity("shop") > specificity("sho_") && specificity("sho_") > specificity("%"));
        assert_eq!(specificity("a\\_b"), usize::MAX);
    }
}
