//! What a range looks for, as far as locks depend on it.

use super::super::range::KeyRange;
use super::super::{KeyPartCodec, ROW_ID_BYTES, Table};
use crate::ids::IndexNo;
use std::ops::Bound;

/// What a range looks for.
pub(super) struct Target {
    /// The leading parts are given.
    pub equality: bool,
    /// All parts of a unique key are given.
    pub unique: bool,
    /// The whole entry is given, with the clustered key.
    pub whole: bool,
    /// The clustered row that a range begins with.
    pub first: Option<Vec<u8>>,
    /// The clustered row that a range ends with.
    pub last: Option<Vec<u8>>,
}

impl Table {
    pub(super) fn target(&self, n: IndexNo, range: &KeyRange) -> Target {
        let equality = match (&range.lower, &range.upper) {
            (Bound::Included(a), Bound::Included(b)) if a == b => Some(a),
            _ => None,
        };
        let clustered = |bound: &Bound<Vec<u8>>| match bound {
            Bound::Included(key) if n == 0 && equality.is_none() && self.is_whole_key(0, key) => {
                Some(key.clone())
            }
            _ => None,
        };
        Target {
            equality: equality.is_some(),
            unique: equality.is_some_and(|key| self.is_unique_key(n, key)),
            whole: equality.is_some_and(|key| self.is_whole_key(n, key)),
            first: clustered(&range.lower),
            last: clustered(&range.upper),
        }
    }

    /// Whether these are all parts of the entry's key.
    fn is_whole_key(&self, n: IndexNo, key: &[u8]) -> bool {
        match n {
            0 if self.schema.primary.is_none() => key.len() == ROW_ID_BYTES,
            0 => self.parts_in(&self.primary, key) == Some(self.primary.len()),
            n => {
                let layout = &self.entries[n - 1];
                match self.schema.primary {
                    Some(_) => self.parts_in(&layout.parts, key) == Some(layout.parts.len()),
                    None => {
                        let own = layout
                            .parts
                            .iter()
                            .try_fold(0, |at, p| Some(at + p.skip(&key[at..])?));
                        own.is_some_and(|own| key.len() == own + ROW_ID_BYTES)
                    }
                }
            }
        }
    }

    /// Whether these are all parts of a key that no two rows share.
    fn is_unique_key(&self, n: IndexNo, key: &[u8]) -> bool {
        match n {
            0 => self.is_whole_key(0, key),
            n => {
                let layout = &self.entries[n - 1];
                self.schema.secondary[n - 1].unique
                    && self.parts_in(&layout.parts, key) == Some(layout.own)
                    && !layout.has_null(key)
            }
        }
    }

    /// How many whole parts a key has; `None` if it ends within one, or goes on behind them.
    fn parts_in(&self, parts: &[KeyPartCodec], key: &[u8]) -> Option<usize> {
        let mut at = 0;
        for (i, part) in parts.iter().enumerate() {
            if at == key.len() {
                return Some(i);
            }
            at += part.skip(&key[at..])?;
        }
        (at == key.len()).then_some(parts.len())
    }
}
