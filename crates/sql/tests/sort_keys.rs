//! Sort keys compare as their collation does: an index of texts is ordered by the former, a comparison in a statement by the latter.

use proptest::prelude::*;
use tidemark_sql::types::Collation;
use tidemark_testing::properties;

/// Those, texts of letters that some languages take together, and texts in Cyrillic and Latin, which some sets of bytes have.
fn text() -> impl Strategy<Value = String> {
    let of = |chars: &str| {
        let chars = prop::sample::select(chars.chars().collect::<Vec<char>>());
        prop::collection::vec(chars, 0..8).prop_map(|chars| chars.into_iter().collect::<String>())
    };
    prop_oneof![
        mixed(),
        of("acChHdDzZsSlLjJnyYžŽİıIi\u{307}\u{300} "),
        of("абвгАБВёЖ aA[]")
    ]
}

/// Texts of few characters that collations treat each in its way: cases, accents, expansions, what has no weight, spaces at the end and what sorts
/// below a space, beyond the basic plane.
fn mixed() -> impl Strategy<Value = String> {
    let chars = "aAbBsSzZ019 \t\u{0}\u{1}_-ßäÄéeEoøØæﬁ\u{301}\u{ad}中あアｱ😀😁\u{ffff}";
    prop::collection::vec(prop::sample::select(chars.chars().collect::<Vec<char>>()), 0..6)
        .prop_map(|chars| chars.into_iter().collect())
}

fn key(collation: Collation, text: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    collation.sort_key(text, &mut key);
    key
}

#[test]
fn properties_of_sort_keys() {
    proptest!(properties(3000), |(one in text(), other in text())| {
        let (one, other) = (one.as_bytes(), other.as_bytes());
        for collation in Collation::all() {
            if !collation.charset().can_write(one) || !collation.charset().can_write(other) {
                continue;
            }
            let compared = collation.compare(one, other);
            prop_assert_eq!(key(collation, one).cmp(&key(collation, other)), compared, "{}", collation.name());
            prop_assert_eq!(collation.eq(one, other), compared.is_eq(), "{}", collation.name());
            prop_assert_eq!(collation.compare(other, one), compared.reverse(), "{}", collation.name());
        }
    });
}
