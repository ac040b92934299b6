//! Ranges of encoded keys. A bound is a *prefix* of a key: as an upper bound, `Included(p)` takes in every key that
//! begins with `p`, and `Excluded(p)` none of them; as a lower bound, `Excluded(p)` skips every key that begins with
//! `p`. So `a = 1 AND b > 5` over an index `(a, b, c)` is `(Excluded([1,5]), Included([1]))`.

use std::ops::Bound;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    pub lower: Bound<Vec<u8>>,
    pub upper: Bound<Vec<u8>>,
}

impl KeyRange {
    pub fn all() -> KeyRange {
        KeyRange {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
        }
    }

    /// Every key that begins with `prefix`.
    pub fn prefix(prefix: impl Into<Vec<u8>>) -> KeyRange {
        let prefix = prefix.into();
        KeyRange {
            lower: Bound::Included(prefix.clone()),
            upper: Bound::Included(prefix),
        }
    }

    /// Whether `key` lies above the lower bound.
    pub fn above_lower(&self, key: &[u8]) -> bool {
        match &self.lower {
            Bound::Unbounded => true,
            Bound::Included(p) => key >= p.as_slice(),
            Bound::Excluded(p) => key > p.as_slice() && !key.starts_with(p),
        }
    }

    /// Whether `key` lies below the upper bound.
    pub fn below_upper(&self, key: &[u8]) -> bool {
        match &self.upper {
            Bound::Unbounded => true,
            Bound::Included(p) => key <= p.as_slice() || key.starts_with(p),
            Bound::Excluded(p) => key < p.as_slice(),
        }
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        self.above_lower(key) && self.below_upper(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_prefixes() {
        let range = KeyRange {
            lower: Bound::Excluded(vec![1, 5]),
            upper: Bound::Included(vec![1]),
        };
        assert!(!range.contains(&[1, 4]));
        assert!(!range.contains(&[1, 5]));
        assert!(!range.contains(&[1, 5, 9]));
        assert!(range.contains(&[1, 6]));
        assert!(range.contains(&[1, 255, 255]));
        assert!(!range.contains(&[2]));
        let range = KeyRange {
            lower: Bound::Included(vec![1, 5]),
            upper: Bound::Excluded(vec![2]),
        };
        assert!(range.contains(&[1, 5]));
        assert!(range.contains(&[1, 5, 0]));
        assert!(!range.contains(&[2]));
        assert!(!range.contains(&[2, 0]));
        assert!(KeyRange::all().contains(&[]));
        assert!(KeyRange::prefix([7]).contains(&[7, 7]));
        assert!(!KeyRange::prefix([7]).contains(&[8]));
    }
}
