//! Histograms: how the values of a column are spread.
//!
//! A condition on a column that no index leads to lets some share of the rows pass, and the order of joins depends on which.
//! `ANALYZE TABLE … UPDATE HISTOGRAM` notes it: with few different values each with its share (*singleton*), with many as
//! ranges of about the same weight (*equi-height*, where a value heavier than that stands alone).
//!
//! ```text
//!  share of rows
//!  up to the bucket's upper end        null-values
//!  ┌──────┬──┬─────────┬───────┐        ┌───┐
//!  │ .25  │.5│   .75   │  .9   │        │.1 │
//!  └──────┴──┴─────────┴───────┘        └───┘
//!  a      f  g         t       z
//! ```
//!
//! It belongs to the table's definition ([`TableDef::histograms`](crate::dictionary::TableDef::histograms)), goes where that
//! goes, and is stored in the form that `information_schema.COLUMN_STATISTICS` shows (`text.rs`), which is MySQL's.

mod build;
mod text;

pub use build::Sampler;

use crate::error::Result;
use crate::types::sort::sort_key;
use crate::types::{Date, DateTime, SqlType, TypeKind, Val, Value};

/// Of texts so many characters count; those that are equal so far pass for equal.
const TEXT_MAX: usize = 42;
/// What `WITH n BUCKETS` may say.
pub const BUCKETS_MAX: u64 = 1024;
/// Buckets where nobody says how many.
pub const BUCKETS_DEFAULT: u64 = 100;

/// When one was made of which that is not known.
const NEVER: DateTime = DateTime {
    date: Date::ZERO,
    hour: 0,
    minute: 0,
    second: 0,
    micro: 0,
    fsp: 6,
    repeated: 0,
};

/// The spread of one column's values when it was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// Ascending, and not overlapping.
    buckets: Vec<Bucket>,
    /// Each bucket is one value.
    singleton: bool,
    /// The share of NULLs.
    nulls: f64,
    updated: DateTime,
    /// The share of the rows that were looked at.
    sampled: f64,
    /// How many buckets were asked for.
    specified: u64,
    /// `ANALYZE TABLE` makes it anew.
    auto_update: bool,
}

/// Values from one to another, both included.
#[derive(Clone, Debug, PartialEq)]
struct Bucket {
    lower: Value,
    upper: Value,
    /// [`key`] of either.
    lower_key: Vec<u8>,
    upper_key: Vec<u8>,
    /// The share of rows with values up to `upper`.
    cumulated: f64,
    /// Different values.
    distinct: f64,
}

/// A column's histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnHistogram {
    /// The column, as it is written in the table's definition.
    pub column: String,
    /// Its histogram.
    pub histogram: Histogram,
}

/// Whether a column of this type can have a histogram.
pub fn can_have(ty: &SqlType) -> bool {
    !matches!(ty.kind, TypeKind::Json | TypeKind::Null)
}

/// What compares as the column's values do: of texts the beginning.
pub(crate) fn key(value: &Val, ty: &SqlType) -> Result<Vec<u8>> {
    let mut key = Vec::new();
    key_into(value, ty, &mut key)?;
    Ok(key)
}

/// Appends [`key`].
pub(crate) fn key_into(value: &Val, ty: &SqlType, key: &mut Vec<u8>) -> Result<()> {
    match value {
        Val::Str(text) => sort_key(&Val::Str(beginning(text, ty).into()), ty, key),
        _ => sort_key(value, ty, key),
    }
}

/// The first characters of a text, or bytes of a binary string.
fn beginning<'t>(text: &'t [u8], ty: &SqlType) -> &'t [u8] {
    if ty.is_binary_string() {
        return &text[..text.len().min(TEXT_MAX)];
    }
    let end = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.char_indices().nth(TEXT_MAX))
        .map_or(text.len(), |(at, _)| at);
    &text[..end]
}

/// Where a value lies on a line, if its type has one.
pub(crate) fn place(value: &Val) -> Option<f64> {
    Some(match value {
        Val::Int(v) => *v as f64,
        Val::UInt(v) => *v as f64,
        Val::Float(v) => f64::from(*v),
        Val::Double(v) => *v,
        Val::Decimal(v) => v.to_f64(),
        Val::Date(v) => v.midnight().pack() as f64,
        Val::DateTime(v) => v.pack() as f64,
        Val::Time(v) => v.micros as f64,
        Val::Member(v, _) => *v as f64,
        Val::Null | Val::Str(_) | Val::Json(_) => return None,
    })
}

impl Bucket {
    /// The share of its rows that lie below a value in it, if they are spread evenly.
    fn below(&self, value: &Value) -> f64 {
        let (Some(from), Some(to), Some(at)) = (place(&self.lower), place(&self.upper), place(value)) else {
            return 0.5;
        };
        if to <= from {
            return 0.0;
        }
        ((at - from) / (to - from)).clamp(0.0, 1.0)
    }
}

impl Histogram {
    /// The same, made at this time.
    pub fn made_at(self, updated: DateTime) -> Histogram {
        Histogram { updated, ..self }
    }

    /// The share of NULLs.
    pub fn nulls(&self) -> f64 {
        self.nulls
    }

    /// Whether `ANALYZE TABLE` makes it anew, and with how many buckets.
    pub fn auto_update(&self) -> Option<u64> {
        self.auto_update.then_some(self.specified)
    }

    /// The share of rows whose value is this one, of the column's type `ty`.
    pub fn equal(&self, value: &Value, ty: &SqlType) -> Result<f64> {
        let key = key(value, ty)?;
        let at = self.buckets.partition_point(|bucket| bucket.upper_key < key);
        Ok(match self.buckets.get(at) {
            Some(bucket) if bucket.lower_key <= key => self.weight(at) / bucket.distinct.max(1.0),
            _ => 0.0,
        })
    }

    /// The share of rows whose value is less than this one, or, if `inclusive`, equal to it.
    pub fn below(&self, value: &Value, inclusive: bool, ty: &SqlType) -> Result<f64> {
        let key = key(value, ty)?;
        let at = self.buckets.partition_point(|bucket| bucket.upper_key < key);
        let before = self.cumulated(at);
        let Some(bucket) = self.buckets.get(at).filter(|bucket| bucket.lower_key <= key) else {
            return Ok(before);
        };
        let each = self.weight(at) / bucket.distinct.max(1.0);
        let others = match bucket.upper_key == key {
            true => self.weight(at) - each,
            false => (self.weight(at) - each) * bucket.below(value),
        };
        Ok(before + others + if inclusive { each } else { 0.0 })
    }

    /// The share of rows in the buckets before this one.
    fn cumulated(&self, before: usize) -> f64 {
        before
            .checked_sub(1)
            .map_or(0.0, |last| self.buckets[last].cumulated)
    }

    fn weight(&self, at: usize) -> f64 {
        self.buckets[at].cumulated - self.cumulated(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Collation, Decimal, Time};
    use tidemark_testing::fuzz::Corpus;

    const WORDS: &str = r#"base64:type254: 1.0 0.5 null true -1 1e400 singleton equi-height string int "2024-02-30" [ ] , : { }"#;

    /// Of values 0, 1, 1, 2, 2, 2 … and some NULLs.
    fn histogram(buckets: u64) -> Histogram {
        let ty = SqlType::bigint();
        let mut sampler = Sampler::new(&ty, 1 << 20);
        for value in 0..50i64 {
            for _ in 0..=value {
                sampler.add(&Val::Int(value)).unwrap();
            }
        }
        for _ in 0..125 {
            sampler.add(&Val::Null).unwrap();
        }
        sampler.finish(buckets, false, NEVER)
    }

    #[test]
    fn shares_are_those_of_the_rows() {
        let ty = SqlType::bigint();
        let rows = 1275.0 + 125.0;
        for (buckets, near) in [(100, 1e-9), (20, 0.02), (5, 0.05), (1, 0.3)] {
            let histogram = histogram(buckets);
            assert!(histogram.buckets.len() as u64 <= buckets);
            assert_eq!(histogram.singleton, buckets == 100);
            assert!((histogram.nulls() - 125.0 / rows).abs() < 1e-9);
            for value in 0..50 {
                let below = f64::from((0..value).map(|v| v + 1).sum::<i32>()) / rows;
                let equal = f64::from(value + 1) / rows;
                let is = |share: f64, found: f64| {
                    assert!(
                        (share - found).abs() <= near,
                        "{buckets} {value}: {share} {found}"
                    )
                };
                let value = Val::Int(value.into());
                is(equal, histogram.equal(&value, &ty).unwrap());
                is(below, histogram.below(&value, false, &ty).unwrap());
                is(below + equal, histogram.below(&value, true, &ty).unwrap());
            }
            for outside in [-1, 50] {
                let value = Val::Int(outside);
                assert_eq!(histogram.equal(&value, &ty).unwrap(), 0.0);
                let below = histogram.below(&value, true, &ty).unwrap();
                assert!((below - if outside < 0 { 0.0 } else { 1275.0 / rows }).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn what_is_stored_reads_back() {
        for buckets in [100, 5] {
            let histogram = histogram(buckets);
            let ty = SqlType::bigint();
            let back = Histogram::parse(histogram.text(&ty).as_bytes(), &ty).unwrap();
            assert_eq!(back, histogram);
        }
    }

    /// A document that a client gives, or that is stored, is a histogram of which shares can be asked, or is refused.
    #[test]
    fn documents_of_any_text() {
        let types = [
            (SqlType::bigint(), (0..9).map(Val::Int).collect()),
            (
                SqlType::varchar(10, Collation::DEFAULT),
                vec![Val::string("a"), Val::string("bb")],
            ),
            (SqlType::datetime(2), vec![Val::DateTime(NEVER)]),
            (SqlType::decimal(10, 2), vec![Val::Decimal(Decimal::new(-150, 2))]),
            (
                SqlType::new(TypeKind::Double),
                vec![Val::Double(1.5), Val::Double(-2.5e10)],
            ),
            (
                SqlType::new(TypeKind::Time),
                vec![Val::Time(Time::new(3_600_000_000, 0))],
            ),
        ];
        let mut corpus = Corpus::new("histogram").words(WORDS);
        for (ty, sample) in &types {
            for buckets in [100, 2] {
                let mut sampler = Sampler::new(ty, 1 << 20);
                let values = sample.iter().chain([&Val::Null]);
                values.for_each(|value| sampler.add(value).expect("a value of the type"));
                corpus = corpus.input(sampler.finish(buckets, false, NEVER).text(ty));
            }
        }
        let values = [Val::Int(7), Val::string("seven"), Val::Null];
        corpus.play(20_000, |input| {
            for (ty, _) in &types {
                let Ok(histogram) = Histogram::parse(input, ty) else {
                    continue;
                };
                for value in &values {
                    let shares = [histogram.equal(value, ty), histogram.below(value, true, ty)];
                    assert!(
                        shares.iter().flatten().all(|share| share.is_finite()),
                        "{shares:?}"
                    );
                }
                let again = Histogram::parse(histogram.text(ty).as_bytes(), ty);
                assert_eq!(again.as_ref(), Ok(&histogram));
            }
        });
    }
}
