//! The values of a column, counted leaf by leaf.
//!
//! How often a value occurs in the whole of a table is said by the rows that were looked at; how many different values there are, not:
//! the rows of a leaf were often inserted together, and what occurs in one leaf a hundred times may occur in no other. So for that
//! a value counts once for each leaf that has it, and a *page* is drawn from the pages of the table, as Haas and Stokes's
//! first-order jackknife wants it of rows (*Estimating the number of classes in a finite population*, 1998: `Duj1`, which PostgreSQL
//! uses for rows), with frequent values left out, as in their `Duj2a`. For the same reason no value of a single leaf passes for a common one.

use super::column::{ColumnStatistics, Common, End, KEY_BYTES_MAX};
use crate::error::Result;
use crate::histogram::{can_have, key_into, place};
use crate::types::{SqlType, Val};
use std::collections::HashMap;

/// What a value takes besides its key, about.
const VALUE_COST: usize = 96;
/// Leaves that must have a value for it to be a common one of a sample, unless there are few values.
const LEAVES_MIN: u32 = 3;
/// Values of more leaves are frequent: they are all met, and say nothing of how many others there are.
const RARE_MAX: u32 = 10;
/// How much more frequent than the average a common value is.
const ABOVE_AVERAGE: f64 = 1.5;

/// The values of one column that have been met.
pub(super) struct Values {
    name: String,
    ty: SqlType,
    is_compared: bool,
    met: HashMap<Vec<u8>, Met>,
    key: Vec<u8>,
    /// Rows, and rows by weight; those that are NULL, and those whose value was not read.
    rows: u64,
    weight: f64,
    nulls: f64,
    unread: f64,
    unread_rows: u64,
    bytes: usize,
}

struct Met {
    weight: f64,
    leaves: u32,
    last_leaf: u32,
    place: Option<f64>,
}

/// Of which rows a sample is.
pub(super) struct Sampled {
    /// Rows of the table.
    pub rows: f64,
    /// The share of its leaves that were looked at.
    pub share: f64,
    /// Those were all.
    pub is_whole: bool,
    /// Most common values, and most ends, to be kept of a column.
    pub most: usize,
}

impl Values {
    pub fn new(name: &str, ty: &SqlType) -> Values {
        Values {
            name: name.to_owned(),
            ty: ty.clone(),
            is_compared: can_have(ty) && !ty.array,
            met: HashMap::new(),
            key: Vec::new(),
            rows: 0,
            weight: 0.0,
            nulls: 0.0,
            unread: 0.0,
            unread_rows: 0,
            bytes: 0,
        }
    }

    /// The next row's value, of the leaf with this number; `None`: it was not read. Rows of a leaf come together.
    pub fn take(&mut self, value: Option<&Val<'_>>, leaf: u32, weight: f64) -> Result<()> {
        self.rows += 1;
        self.weight += weight;
        let Some(value) = value.filter(|value| value.is_null() || self.is_compared) else {
            self.unread += weight;
            self.unread_rows += 1;
            return Ok(());
        };
        if value.is_null() {
            self.nulls += weight;
            return Ok(());
        }
        self.key.clear();
        key_into(value, &self.ty, &mut self.key)?;
        self.key.truncate(KEY_BYTES_MAX);
        match self.met.get_mut(&self.key) {
            Some(met) => {
                met.weight += weight;
                met.leaves += u32::from(met.last_leaf != leaf);
                met.last_leaf = leaf;
            }
            None => {
                self.bytes += VALUE_COST + self.key.len();
                let met = Met {
                    weight,
                    leaves: 1,
                    last_leaf: leaf,
                    place: place(value),
                };
                self.met.insert(self.key.clone(), met);
            }
        }
        Ok(())
    }

    /// About how much memory it takes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// What they say of the column.
    pub fn finish(self, sampled: &Sampled) -> ColumnStatistics {
        let weight = self.weight.max(f64::MIN_POSITIVE);
        let filled = (1.0 - self.nulls / weight).max(0.0);
        let distinct = self.distinct(sampled, filled);
        let mut met: Vec<(Vec<u8>, Met)> = self.met.into_iter().collect();
        met.sort_by(|a, b| b.1.weight.total_cmp(&a.1.weight).then_with(|| a.0.cmp(&b.0)));
        let average = filled * weight / distinct.max(1.0);
        let are_few = met.len() <= sampled.most;
        let is_common = |met: &Met| match (sampled.is_whole, are_few) {
            (true, true) => true,
            (false, true) => met.leaves >= 2,
            (true, false) => met.weight > average * ABOVE_AVERAGE,
            (false, false) => met.leaves >= LEAVES_MIN && met.weight > average * ABOVE_AVERAGE,
        };
        let (common, mut rest): (Vec<_>, Vec<_>) = met
            .into_iter()
            .enumerate()
            .partition(|(at, (_, met))| *at < sampled.most && is_common(met));
        let mut common: Vec<Common> = common
            .into_iter()
            .map(|(_, (key, met))| Common {
                key,
                share: met.weight / weight,
            })
            .collect();
        common.sort_by(|a, b| a.key.cmp(&b.key));
        rest.sort_by(|a, b| a.1.0.cmp(&b.1.0));
        let of_rest: f64 = rest.iter().map(|(_, (_, met))| met.weight).sum();
        ColumnStatistics {
            name: self.name,
            ty: self.ty,
            nulls: self.nulls / weight,
            distinct: self.is_compared.then_some(distinct),
            sampled: self.rows as f64,
            common,
            rest: (of_rest + self.unread) / weight,
            ends: ends(rest.into_iter().map(|(_, value)| value), of_rest, sampled.most),
        }
    }

    fn distinct(&self, sampled: &Sampled, filled: f64) -> f64 {
        let met = self.met.len() as f64;
        let share = match sampled.is_whole {
            true => 1.0,
            false => sampled.share.clamp(1e-9, 1.0),
        };
        let is_rare = |met: &&Met| met.leaves <= RARE_MAX;
        let rare = self.met.values().filter(is_rare);
        let (mut count, mut draws, mut once) = (0.0, 0.0, 0.0);
        for met in rare {
            count += 1.0;
            draws += f64::from(met.leaves);
            once += f64::from(u8::from(met.leaves == 1));
        }
        let rare = count * draws / (draws - once + once * share).max(f64::MIN_POSITIVE);
        let estimated = met - count + rare.max(count);
        let unread = self.unread_rows as f64;
        let most = (sampled.rows * filled).max(met + unread);
        (estimated + unread / share).min(most).round()
    }
}

/// Values that divide ascending ones of this weight evenly, at most one more than `most`.
fn ends(values: impl Iterator<Item = (Vec<u8>, Met)>, weight: f64, most: usize) -> Vec<End> {
    let mut values = values.peekable();
    let mut ends: Vec<End> = Vec::new();
    let mut passed = 0.0;
    while let Some((key, met)) = values.next() {
        passed += met.weight;
        let due = (passed / weight * most as f64 + 1e-9) as usize;
        let is_last = values.peek().is_none();
        if ends.is_empty() {
            ends.push(End {
                key: key.clone(),
                place: met.place,
            });
        }
        // A value that has the rows of several divisions ends all of them.
        while ends.len() <= due.min(most) || is_last && ends.len() == 1 {
            ends.push(End {
                key: key.clone(),
                place: met.place,
            });
        }
        if is_last && let Some(end) = ends.last_mut() {
            *end = End {
                key,
                place: met.place,
            };
        }
    }
    ends
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::types::Value;

    const ROWS_OF_LEAF: usize = 100;

    /// A column of integers with these values, all of them or one leaf in twenty.
    pub fn of_values(values: impl Iterator<Item = Value>, is_whole: bool) -> ColumnStatistics {
        let all: Vec<Value> = values.collect();
        let mut taken = Values::new("c", &SqlType::bigint());
        for (leaf, values) in all.chunks(ROWS_OF_LEAF).enumerate() {
            if is_whole || leaf % 20 == 7 {
                for value in values {
                    taken
                        .take(Some(value), leaf as u32, 20.0)
                        .expect("a value of the type");
                }
            }
        }
        taken.finish(&Sampled {
            rows: all.len() as f64,
            share: if is_whole { 1.0 } else { 0.05 },
            is_whole,
            most: 100,
        })
    }

    #[test]
    fn distinct_values_of_a_sample_are_near() {
        let scattered = |row: i64, values: u64| {
            let mixed = (row as u64 ^ row as u64 >> 7).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mixed = (mixed ^ mixed >> 31).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            ((mixed >> 32) % values) as i64
        };
        let cases: [(&dyn Fn(i64) -> i64, f64); 7] = [
            (&|_| 7, 1.0),
            (&|row| row % 10, 10.0),
            (&|row| scattered(row, 1000), 1000.0),
            (&|row| scattered(row, 20_000), 20_000.0),
            (&|row| row, 400_000.0),
            // The same values stand together.
            (&|row| row / 4, 100_000.0),
            (&|row| row / 50, 8_000.0),
        ];
        for (value, truth) in cases {
            let column = of_values((0..400_000).map(|row| Val::Int(value(row))), false);
            let found = column.distinct().unwrap();
            assert!(found > truth / 1.5 && found < truth * 1.5, "{found} for {truth}");
        }
    }

    #[test]
    fn what_stands_in_one_leaf_is_not_common() {
        // 200 rows each, together; and 3 % of the rows are 9.
        let column = of_values(
            (0..400_000).map(|row| Val::Int(if row % 33 == 0 { 9 } else { 1000 + row / 200 })),
            false,
        );
        let share = |value| column.equal(&Val::Int(value)).unwrap();
        assert_eq!(column.common.len(), 1);
        assert!((share(9) - 0.03).abs() < 0.002, "{}", share(9));
        let stretch = (share(1007) + share(1008)) / 2.0;
        assert!(stretch > 0.000_2 && stretch < 0.001, "{stretch}");
    }

    #[test]
    fn ends_divide_the_rest_evenly() {
        for rows in [1, 2, 5, 99, 100, 101, 5000] {
            let column = of_values((0..rows).map(|row| Val::Int(1000 + row)), true);
            let ends = &column.ends;
            assert!(
                ends.len() <= 101 && ends.is_sorted_by(|a, b| a.key <= b.key),
                "{rows}: {}",
                ends.len()
            );
            assert_eq!(column.common.len() == rows as usize, rows <= 100);
            assert_eq!(ends.is_empty(), rows <= 100);
            let all = column.below(&Val::Int(1000 + rows), false).unwrap();
            assert!((all - 1.0).abs() < 1e-9, "{rows}: {all}");
        }
    }
}
