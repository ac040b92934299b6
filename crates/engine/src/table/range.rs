//! Ranges of encoded keys. A bound is a *prefix* of a key: as an upper bound, `Included(p)` takes in every key that
//! begins with `p`, and `Excluded(p)` none of them; as a lower bound, `Excluded(p)` skips every key that begins with
//! `p`. So `a = 1 AND b > 5` over an index `(a, b, c)` is `(Excluded([1,5]), Included([1]))`.

use std::ops::Bound;

/// A range of an index's encoded keys. See the module's head for what a bound means: it is a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The lower bound.
    pub lower: Bound<Vec<u8>>,
    /// The upper bound.
    pub upper: Bound<Vec<u8>>,
}

impl KeyRange {
    /// Every key.
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

    /// True if `key` lies within both bounds.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.above_lower(key) && self.below_upper(key)
    }

    /// The keys that lie in both; `None` if there are none.
    pub fn intersection(self, other: KeyRange) -> Option<KeyRange> {
        let (mine, theirs) = (Span::of(&self)?, Span::of(&other)?);
        let lower = match mine.lower >= theirs.lower {
            true => self.lower,
            false => other.lower,
        };
        let ends_first = match (&mine.upper, &theirs.upper) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(mine), Some(theirs)) => mine <= theirs,
        };
        let upper = match ends_first {
            true => self.upper,
            false => other.upper,
        };
        let both = KeyRange { lower, upper };
        Span::of(&both).is_some().then_some(both)
    }

    /// The same keys as ranges that are disjoint and ascend. A range that overlaps no other keeps its bounds.
    pub fn union(ranges: Vec<KeyRange>) -> Vec<KeyRange> {
        let mut spans: Vec<(Span, KeyRange)> = ranges
            .into_iter()
            .filter_map(|range| Some((Span::of(&range)?, range)))
            .collect();
        spans.sort_by(|(a, _), (b, _)| a.lower.cmp(&b.lower));
        let mut union: Vec<(Span, KeyRange)> = Vec::with_capacity(spans.len());
        for (span, range) in spans {
            match union.last_mut() {
                Some((last, joined)) if last.upper.as_ref().is_none_or(|upper| span.lower < *upper) => {
                    let further = match (&last.upper, &span.upper) {
                        (None, _) => false,
                        (Some(_), None) => true,
                        (Some(last), Some(new)) => new > last,
                    };
                    if further {
                        (last.upper, joined.upper) = (span.upper, range.upper);
                    }
                }
                _ => union.push((span, range)),
            }
        }
        union.into_iter().map(|(_, range)| range).collect()
    }
}

/// A range as two keys: from `lower` on, up to but without `upper`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub lower: Vec<u8>,
    /// `None`: to the end.
    pub upper: Option<Vec<u8>>,
}

impl Span {
    /// `None` if the range is empty for certain.
    pub fn of(range: &KeyRange) -> Option<Span> {
        let lower = match &range.lower {
            Bound::Unbounded => Vec::new(),
            Bound::Included(p) => p.clone(),
            Bound::Excluded(p) => successor(p)?,
        };
        let upper = match &range.upper {
            Bound::Unbounded => None,
            Bound::Included(p) => successor(p),
            Bound::Excluded(p) => Some(p.clone()),
        };
        upper
            .as_ref()
            .is_none_or(|upper| lower < *upper)
            .then_some(Span { lower, upper })
    }

    /// Moves the beginning behind `key`, in the direction of the scan.
    pub fn go_on_after(&mut self, key: &[u8], reverse: bool) {
        if reverse {
            self.upper = Some(key.to_vec());
        } else {
            self.lower.clear();
            self.lower.extend_from_slice(key);
            self.lower.push(0);
        }
    }

    /// Moves the beginning back to `key`, inclusive.
    pub fn come_back_to(&mut self, key: &[u8], reverse: bool) {
        if reverse {
            let mut upper = key.to_vec();
            upper.push(0);
            self.upper = Some(upper);
        } else {
            self.lower.clear();
            self.lower.extend_from_slice(key);
        }
    }

    /// Moves the beginning to a leaf's fence; false if nothing is left.
    pub fn go_on_at(&mut self, fence: &[u8], reverse: bool) -> bool {
        if reverse {
            self.upper = Some(fence.to_vec());
        } else {
            self.lower.clear();
            self.lower.extend_from_slice(fence);
        }
        self.upper.as_ref().is_none_or(|upper| self.lower < *upper)
    }
}

/// The least key above every key that begins with `prefix`; `None` if there is none.
pub(crate) fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|b| *b != 0xff)?;
    let mut key = prefix[..=last].to_vec();
    key[last] += 1;
    Some(key)
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

    #[test]
    fn a_span_is_its_range() {
        let keys: Vec<Vec<u8>> = {
            let bytes = [0u8, 1, 0xfe, 0xff];
            let mut keys = vec![vec![]];
            for a in bytes {
                keys.push(vec![a]);
                keys.extend(bytes.map(|b| vec![a, b]));
            }
            keys
        };
        let bounds = |k: &Vec<u8>| {
            [
                Bound::Unbounded,
                Bound::Included(k.clone()),
                Bound::Excluded(k.clone()),
            ]
        };
        for range in keys.iter().flat_map(bounds).flat_map(|lower| {
            keys.iter().flat_map(bounds).map(move |upper| KeyRange {
                lower: lower.clone(),
                upper,
            })
        }) {
            let span = Span::of(&range);
            for key in &keys {
                let within = span
                    .as_ref()
                    .is_some_and(|s| *key >= s.lower && s.upper.as_ref().is_none_or(|upper| key < upper));
                assert_eq!(within, range.contains(key), "{range:?} {key:?}");
            }
        }
    }

    #[test]
    fn a_union_holds_each_key_once() {
        let mut n = 1u64;
        let mut random = move |below: u64| {
            n = n
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (n >> 33) % below
        };
        for _ in 0..2000 {
            let bound = |n: &mut dyn FnMut(u64) -> u64| {
                let key: Vec<u8> = (0..=n(2)).map(|_| n(6) as u8).collect();
                match n(5) {
                    0 => Bound::Unbounded,
                    1 | 2 => Bound::Included(key),
                    _ => Bound::Excluded(key),
                }
            };
            let ranges: Vec<KeyRange> = (0..1 + random(4))
                .map(|_| KeyRange {
                    lower: bound(&mut random),
                    upper: bound(&mut random),
                })
                .collect();
            let union = KeyRange::union(ranges.clone());
            for key in (0..7).flat_map(|a| (0..7).map(move |b| vec![a, b])) {
                let holding: Vec<usize> = (0..union.len()).filter(|i| union[*i].contains(&key)).collect();
                let wanted = ranges.iter().any(|range| range.contains(&key)) as usize;
                assert_eq!(holding.len(), wanted, "{ranges:?} {union:?} {key:?}");
            }
            let lowers: Vec<_> = union.iter().map(|range| Span::of(range).unwrap().lower).collect();
            assert!(lowers.is_sorted());
        }
    }
}
