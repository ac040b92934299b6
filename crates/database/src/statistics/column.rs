//! What is known of the values of a column, and the shares of rows that follow from it.
//!
//! ```text
//!   NULLs │ common values, each with its share      │ the rest, between ends with the same number of rows
//!   ▓▓▓   │ ▓▓▓▓▓▓▓▓▓▓  ▓▓▓▓▓▓  ▓▓▓▓  ▓▓            │ ├───┼─┼──────┼──┼────────┤
//! ```
//!
//! A value is known by its sort key, cut to [`KEY_BYTES_MAX`] bytes: values that are equal so far pass for equal. The values of the rest
//! are taken to be equally frequent. Common values of two columns that are joined meet each other; what is left of the side with
//! fewer values is taken to be among that of the other (Selinger 1979; PostgreSQL's `eqjoinsel`).

use crate::error::Result;
use crate::histogram::{key, place};
use crate::types::{SqlType, Value};

/// Bytes of a sort key that count.
pub(super) const KEY_BYTES_MAX: usize = 64;

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnStatistics {
    pub(super) name: String,
    pub(super) ty: SqlType,
    /// The share of rows that are NULL.
    pub(super) nulls: f64,
    /// Different values; `None`: values of this type are not compared.
    pub(super) distinct: Option<f64>,
    /// Rows that were looked at.
    pub(super) sampled: f64,
    /// The most common values, ascending by their keys.
    pub(super) common: Vec<Common>,
    /// The share of rows with other values, those that were not looked at included.
    pub(super) rest: f64,
    /// Values between which equally many rows of the rest lie, the first and the last one included, ascending.
    pub(super) ends: Vec<End>,
}

/// A common value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Common {
    pub key: Vec<u8>,
    pub share: f64,
}

/// A value of the rest.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct End {
    pub key: Vec<u8>,
    /// Where it lies on a line, if its type has one.
    pub place: Option<f64>,
}

/// The sort key of a value as far as it counts.
pub(super) fn cut_key(value: &Value, ty: &SqlType) -> Result<Vec<u8>> {
    let mut key = key(value, ty)?;
    key.truncate(KEY_BYTES_MAX);
    Ok(key)
}

impl ColumnStatistics {
    /// About how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        let keys = self.common.iter().map(|common| &common.key);
        let keys = keys.chain(self.ends.iter().map(|end| &end.key));
        512 + keys.map(|key| 64 + key.len()).sum::<usize>()
    }

    /// The share of NULLs.
    pub fn nulls(&self) -> f64 {
        self.nulls
    }

    /// How many different values there are, if that is known.
    pub fn distinct(&self) -> Option<f64> {
        self.distinct
    }

    /// The share of rows with a value that is not known yet.
    pub fn equal_to_any(&self) -> Option<f64> {
        Some((1.0 - self.nulls) / self.distinct?.max(1.0))
    }

    /// The share of rows with the value that most rows have.
    pub fn equal_to_most(&self) -> Option<f64> {
        self.distinct?;
        let common = self.common.iter().map(|common| common.share);
        Some(common.fold(self.each_of_rest(), f64::max))
    }

    /// The share of rows whose value is this one.
    pub fn equal(&self, value: &Value) -> Option<f64> {
        self.distinct?;
        let key = cut_key(value, &self.ty).ok()?;
        Some(match self.find(&key) {
            Ok(at) => self.common[at].share,
            Err(_) => self.each_of_rest(),
        })
    }

    /// The share of rows whose value is less than this one, or, if `inclusive`, equal to it.
    pub fn below(&self, value: &Value, inclusive: bool) -> Option<f64> {
        self.distinct?;
        let key = cut_key(value, &self.ty).ok()?;
        let (before, is_common) = match self.find(&key) {
            Ok(at) => (at + usize::from(inclusive), true),
            Err(at) => (at, false),
        };
        let common: f64 = self.common[..before].iter().map(|common| common.share).sum();
        let of_rest = self.rest * self.rest_below(&key, place(value));
        let own = match inclusive && !is_common && self.is_within_rest(&key) {
            true => self.each_of_rest(),
            false => 0.0,
        };
        Some((common + (of_rest + own).min(self.rest)).min(1.0 - self.nulls))
    }

    /// The share of the pairs of rows of two columns that have the same value.
    pub fn joined(&self, other: &ColumnStatistics) -> Option<f64> {
        let rest = self.rest_distinct()?.max(other.rest_distinct()?);
        let (mut met, mut own_left, mut others_left) = (0.0, self.rest, other.rest);
        let (mut own, mut others) = (self.common.iter().peekable(), other.common.iter().peekable());
        let is_comparable = self.ty.kind == other.ty.kind && self.ty.collation == other.ty.collation;
        if !is_comparable {
            let most = self.distinct?.max(other.distinct?);
            return Some((1.0 - self.nulls) * (1.0 - other.nulls) / most.max(1.0));
        }
        // Shares of common values that meet values of the other side's rest.
        let (mut own_apart, mut others_apart) = (0.0, 0.0);
        while let (Some(a), Some(b)) = (own.peek(), others.peek()) {
            match a.key.cmp(&b.key) {
                std::cmp::Ordering::Equal => {
                    met += a.share * b.share;
                    own.next();
                    others.next();
                }
                std::cmp::Ordering::Less => own_apart += own.next().map_or(0.0, |a| a.share),
                std::cmp::Ordering::Greater => others_apart += others.next().map_or(0.0, |b| b.share),
            }
        }
        own_apart += own.map(|a| a.share).sum::<f64>();
        others_apart += others.map(|b| b.share).sum::<f64>();
        let met_apart = own_apart * other.each_of_rest() + others_apart * self.each_of_rest();
        own_left = own_left.max(0.0);
        others_left = others_left.max(0.0);
        Some((met + met_apart + own_left * others_left / rest.max(1.0)).min(1.0))
    }

    fn find(&self, key: &[u8]) -> std::result::Result<usize, usize> {
        self.common
            .binary_search_by(|common| common.key.as_slice().cmp(key))
    }

    /// How many different values there are besides the common ones.
    fn rest_distinct(&self) -> Option<f64> {
        Some((self.distinct? - self.common.len() as f64).max(1.0))
    }

    /// The share of rows with one value of the rest. A value that was not met may be there, in half a row of those looked at.
    fn each_of_rest(&self) -> f64 {
        let each = self.rest / self.rest_distinct().unwrap_or(1.0);
        each.max(0.5 / self.sampled.max(1.0)).min(1.0 - self.nulls)
    }

    fn is_within_rest(&self, key: &[u8]) -> bool {
        let first = self.ends.first().is_some_and(|end| end.key.as_slice() <= key);
        first && self.ends.last().is_some_and(|end| end.key.as_slice() >= key)
    }

    /// The share of the rest that lies below a key.
    fn rest_below(&self, key: &[u8], at: Option<f64>) -> f64 {
        let after = self.ends.partition_point(|end| end.key.as_slice() < key);
        let buckets = self.ends.len().saturating_sub(1).max(1) as f64;
        let Some(before) = after.checked_sub(1) else {
            return 0.0;
        };
        let (Some(low), Some(high)) = (self.ends.get(before), self.ends.get(after)) else {
            return 1.0;
        };
        let within = match (low.place, high.place, at) {
            (Some(low), Some(high), Some(at)) if high > low => ((at - low) / (high - low)).clamp(0.0, 1.0),
            _ => 0.5,
        };
        (before as f64 + within) / buckets
    }
}

#[cfg(test)]
mod tests {
    use super::super::values::tests::of_values;
    use super::*;
    use crate::types::Val;

    fn near(found: Option<f64>, truth: f64) {
        let found = found.expect("it is known");
        assert!(
            (found - truth).abs() <= truth * 0.1 + 0.002,
            "{found} for {truth}"
        );
    }

    /// A half is 7, a quarter NULL, and the rest 1000 to 1999.
    fn skewed() -> ColumnStatistics {
        let value = |row: i64| match row % 4 {
            0 | 1 => Val::Int(7),
            2 => Val::Null,
            _ => Val::Int(1000 + row / 4 % 1000),
        };
        of_values((0..40_000).map(value), true)
    }

    #[test]
    fn shares_are_those_of_the_rows() {
        let column = skewed();
        near(Some(column.nulls()), 0.25);
        near(column.distinct(), 1001.0);
        near(column.equal(&Val::Int(7)), 0.5);
        near(column.equal(&Val::Int(1234)), 0.000_25);
        near(column.below(&Val::Int(7), false), 0.0);
        near(column.below(&Val::Int(7), true), 0.5);
        near(column.below(&Val::Int(999), true), 0.5);
        near(column.below(&Val::Int(1500), false), 0.625);
        near(column.below(&Val::Int(1900), false), 0.725);
        near(column.below(&Val::Int(5000), false), 0.75);
    }

    #[test]
    fn common_values_of_a_join_meet() {
        let even = of_values((0..10_000).map(|row| Val::Int(row % 100)), true);
        near(even.joined(&even), 0.01);
        let skewed = of_values(
            (0..10_000).map(|row| Val::Int(if row % 2 == 0 { 5 } else { row % 100 })),
            true,
        );
        let truth = (0..100)
            .map(|value| {
                0.01 * if value == 5 {
                    0.51
                } else if value % 2 == 1 {
                    0.01
                } else {
                    0.0
                }
            })
            .sum::<f64>();
        near(even.joined(&skewed), truth);
        near(skewed.joined(&skewed), 0.25 + 0.02 * 0.5);
    }
}
