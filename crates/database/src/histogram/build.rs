//! Making a histogram of rows that are looked at one after the other, in bounded memory.
//!
//! Values are counted. When they would take more memory than is given, each row counted so far is put aside with a chance of
//! one half, and of those that follow only every second is taken, at random: so what is counted is at any time a fair
//! sample of all rows. How often a value occurs that is rare in the sample is guessed by the first-order jackknife (Haas and
//! Stokes, *Estimating the number of classes in a finite population*, 1998).

use super::{Bucket, Histogram, beginning, key};
use crate::error::Result;
use crate::types::{DateTime, SqlType, Val, Value};
use std::collections::BTreeMap;

/// What a value takes besides its bytes, about.
const VALUE_COST: usize = 96;

/// Counts the values of a column.
pub struct Sampler<'t> {
    ty: &'t SqlType,
    memory: usize,
    used: usize,
    counts: BTreeMap<Vec<u8>, (Value, u64)>,
    nulls: u64,
    /// One of two to the power of this is taken.
    thinned: u32,
    random: u64,
}

impl Sampler<'_> {
    /// For a column of this type; it may take `memory` bytes.
    pub fn new(ty: &SqlType, memory: usize) -> Sampler<'_> {
        Sampler {
            ty,
            memory,
            used: 0,
            counts: BTreeMap::new(),
            nulls: 0,
            thinned: 0,
            random: 0x9E37_79B9_7F4A_7C15,
        }
    }

    /// The next row's value.
    pub fn add(&mut self, value: &Val) -> Result<()> {
        if self.thinned > 0 && self.draw() >> (64 - self.thinned) != 0 {
            return Ok(());
        }
        if value.is_null() {
            self.nulls += 1;
            return Ok(());
        }
        let key = key(value, self.ty)?;
        if let Some((_, count)) = self.counts.get_mut(&key) {
            *count += 1;
            return Ok(());
        }
        let value = match value {
            Val::Str(text) => Value::string(beginning(text, self.ty)),
            other => other.clone().into_owned(),
        };
        self.used += cost(&key, &value);
        self.counts.insert(key, (value, 1));
        while self.used > self.memory && self.counts.len() > 1 {
            self.thin();
        }
        Ok(())
    }

    /// A number of Marsaglia's xorshift.
    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// How many of so many rows are kept if each has a chance of one half.
    fn half(&mut self, count: u64) -> u64 {
        match count {
            0..64 => u64::from((self.draw() & ((1 << count) - 1)).count_ones()),
            // Of many about half are, and what chance adds does not matter.
            _ => count / 2,
        }
    }

    fn thin(&mut self) {
        self.thinned += 1;
        self.nulls = self.half(self.nulls);
        self.used = 0;
        for (key, (value, count)) in std::mem::take(&mut self.counts) {
            let count = self.half(count);
            if count > 0 {
                self.used += cost(&key, &value);
                self.counts.insert(key, (value, count));
            }
        }
    }

    /// The histogram of what was counted, with at most so many buckets.
    pub fn finish(self, buckets: u64, auto_update: bool, now: DateTime) -> Histogram {
        let sampled = 0.5f64.powi(self.thinned as i32);
        let values: Vec<(Vec<u8>, Value, u64)> = self
            .counts
            .into_iter()
            .map(|(key, (value, count))| (key, value, count))
            .collect();
        let counts: Vec<u64> = values.iter().map(|(_, _, count)| *count).collect();
        let rows = (counts.iter().sum::<u64>() + self.nulls).max(1) as f64;
        let singleton = values.len() as u64 <= buckets;
        let lengths = if singleton {
            vec![1; values.len()]
        } else {
            divide(&counts, buckets)
        };
        let mut values = values.into_iter();
        let (mut made, mut seen) = (Vec::with_capacity(lengths.len()), 0);
        for length in lengths {
            let here: Vec<_> = values.by_ref().take(length).collect();
            let (Some(first), Some(last)) = (here.first(), here.last()) else {
                break;
            };
            seen += here.iter().map(|(_, _, count)| count).sum::<u64>();
            made.push(Bucket {
                lower: first.1.clone(),
                upper: last.1.clone(),
                lower_key: first.0.clone(),
                upper_key: last.0.clone(),
                cumulated: seen as f64 / rows,
                distinct: if singleton { 1.0 } else { distinct(&here, sampled) },
            });
        }
        Histogram {
            buckets: made,
            singleton,
            nulls: self.nulls as f64 / rows,
            updated: now,
            sampled,
            specified: buckets,
            auto_update,
        }
    }
}

fn cost(key: &[u8], value: &Value) -> usize {
    let text = match value {
        Val::Str(text) | Val::Member(_, text) => text.len(),
        _ => 0,
    };
    VALUE_COST + key.len() + text
}

/// How many different values the table has where the sample has these.
fn distinct(values: &[(Vec<u8>, Value, u64)], sampled: f64) -> f64 {
    let rows = values.iter().map(|(_, _, count)| *count).sum::<u64>() as f64;
    let once = values.iter().filter(|(_, _, count)| *count == 1).count() as f64;
    let unseen = (1.0 - sampled) * once / rows;
    let all = rows / sampled;
    (values.len() as f64 / (1.0 - unseen)).min(all).round()
}

/// Divides values with these counts into at most so many buckets, none of them heavier than it must be; the buckets' lengths.
fn divide(counts: &[u64], buckets: u64) -> Vec<usize> {
    let total: u64 = counts.iter().sum();
    let (mut low, mut high) = (total / buckets.max(1), total);
    while low < high {
        let middle = low + (high - low) / 2;
        if filled(counts, middle).len() as u64 <= buckets {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    filled(counts, low)
}

/// Buckets of at most this weight, or of one value.
fn filled(counts: &[u64], weight: u64) -> Vec<usize> {
    let mut lengths = Vec::new();
    let (mut length, mut sum) = (0, 0);
    for &count in counts {
        if length > 0 && sum + count > weight {
            lengths.push(length);
            (length, sum) = (0, 0);
        }
        length += 1;
        sum += count;
    }
    lengths.extend((length > 0).then_some(length));
    lengths
}

#[cfg(test)]
mod tests {
    use super::super::NEVER;
    use super::*;

    #[test]
    fn values_are_divided_evenly_and_heavy_ones_stand_alone() {
        assert_eq!(divide(&[1; 12], 4), [3, 3, 3, 3]);
        assert_eq!(divide(&[1, 1, 90, 1, 1, 1], 3), [2, 1, 3]);
        assert_eq!(divide(&[5, 1, 1, 1, 1, 1], 1), [6]);
    }

    #[test]
    fn a_sample_of_what_does_not_fit_has_the_shares_of_the_whole() {
        let ty = SqlType::bigint();
        let mut sampler = Sampler::new(&ty, 200 * (VALUE_COST + 20));
        // A half is 7, a quarter NULL, and the rest 10,000 different values, each twice.
        for row in 0..80_000i64 {
            let value = match row % 4 {
                0 | 1 => Val::Int(7),
                2 => Val::Null,
                _ => Val::Int(100 + row % 40_000 / 4),
            };
            sampler.add(&value).unwrap();
            assert!(sampler.used <= sampler.memory);
        }
        let histogram = sampler.finish(10, false, NEVER);
        assert!(histogram.sampled < 0.05);
        let near = |share: f64, wanted: f64| assert!((share - wanted).abs() < 0.08, "{share} {wanted}");
        near(histogram.nulls(), 0.25);
        near(histogram.equal(&Val::Int(7), &ty).unwrap(), 0.5);
        near(histogram.below(&Val::Int(5100), false, &ty).unwrap(), 0.625);
        let rare = histogram.equal(&Val::Int(3000), &ty).unwrap();
        assert!(rare < 0.002, "{rare}");
    }
}
