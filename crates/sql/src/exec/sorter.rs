//! Rows that wait to be sorted.
//!
//! Keys stand one after the other in one buffer and values in another, so a row costs no allocation of its own but for
//! the texts in it. What is sorted are small entries with the first eight bytes of the key in them: most comparisons end
//! there. Rows with equal keys keep the order in which they came; of distinct rows only the first is kept.
//!
//! With a limit, or among duplicates, most rows are not wanted. They are dropped whenever the buffer holds twice what was
//! left the last time, which costs little on the whole and bounds the memory.

use crate::types::Value;

/// Fewer rows than this are not worth dropping.
const DROP_FROM: usize = 1000;

#[derive(Clone, Copy)]
struct Entry {
    prefix: u64,
    key: (usize, usize),
    /// Position among the rows.
    row: usize,
}

pub struct Sorter {
    /// Values in a row.
    width: usize,
    /// Of rows with equal keys, only the first is wanted.
    distinct: bool,
    /// How many rows are wanted.
    wanted: usize,
    keys: Vec<u8>,
    values: Vec<Value>,
    entries: Vec<Entry>,
    /// The number of rows at which those not wanted are dropped.
    drop_at: usize,
}

impl Sorter {
    pub fn new(width: usize, distinct: bool, wanted: u64) -> Sorter {
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        let bounded = distinct || wanted < usize::MAX;
        Sorter {
            width,
            distinct,
            wanted,
            keys: Vec::new(),
            values: Vec::new(),
            entries: Vec::new(),
            drop_at: if bounded {
                wanted.min(DROP_FROM).saturating_mul(2).max(DROP_FROM)
            } else {
                usize::MAX
            },
        }
    }

    pub fn is_distinct(&self) -> bool {
        self.distinct
    }

    /// The buffer of keys; the next row's is what has been appended to it since the last row.
    pub fn key(&mut self) -> &mut Vec<u8> {
        &mut self.keys
    }

    /// Adds a row, whose key has been appended.
    pub fn push<E>(&mut self, values: impl Iterator<Item = Result<Value, E>>) -> Result<(), E> {
        for value in values {
            self.values.push(value?);
        }
        let from = self.entries.last().map_or(0, |last| last.key.1);
        let key = &self.keys[from..];
        let mut prefix = [0; 8];
        let length = key.len().min(8);
        prefix[..length].copy_from_slice(&key[..length]);
        self.entries.push(Entry {
            prefix: u64::from_be_bytes(prefix),
            key: (from, self.keys.len()),
            row: self.entries.len(),
        });
        if self.entries.len() >= self.drop_at {
            self.drop_unwanted();
        }
        Ok(())
    }

    fn sort(&mut self) {
        let keys = &self.keys;
        let key = |e: &Entry| &keys[e.key.0..e.key.1];
        let order = |a: &Entry, b: &Entry| {
            let by_prefix = a.prefix.cmp(&b.prefix);
            by_prefix.then_with(|| key(a).cmp(key(b))).then(a.row.cmp(&b.row))
        };
        self.entries.sort_unstable_by(order);
        if self.distinct {
            self.entries
                .dedup_by(|a, b| a.prefix == b.prefix && key(a) == key(b));
        }
        self.entries.truncate(self.wanted);
    }

    fn drop_unwanted(&mut self) {
        self.sort();
        let mut keys = Vec::new();
        let mut values = Vec::with_capacity(self.entries.len() * self.width);
        for (row, entry) in self.entries.iter_mut().enumerate() {
            let from = keys.len();
            keys.extend_from_slice(&self.keys[entry.key.0..entry.key.1]);
            entry.key = (from, keys.len());
            let old = entry.row * self.width;
            values.extend(self.values[old..old + self.width].iter_mut().map(std::mem::take));
            entry.row = row;
        }
        (self.keys, self.values) = (keys, values);
        self.drop_at = (2 * self.entries.len()).max(DROP_FROM);
    }

    /// Sorts, and hands out the rows until `f` wants no more. Answers how many there were.
    pub fn finish<E>(mut self, mut f: impl FnMut(&[Value]) -> Result<bool, E>) -> Result<usize, E> {
        self.sort();
        for entry in &self.entries {
            let at = entry.row * self.width;
            if !f(&self.values[at..at + self.width])? {
                break;
            }
        }
        Ok(self.entries.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// Sorts numbers whose keys are their decimal digits; the values tell the order of arrival.
    fn sorted(numbers: &[u64], distinct: bool, wanted: u64) -> Vec<(u64, u64)> {
        let mut sorter = Sorter::new(2, distinct, wanted);
        for (arrival, n) in numbers.iter().enumerate() {
            sorter.key().extend_from_slice(format!("{n:012}").as_bytes());
            let row = [Value::from(*n), Value::from(arrival as u64)];
            let Ok(()) = sorter.push(row.into_iter().map(Ok::<_, Infallible>));
        }
        let mut rows = Vec::new();
        let Ok(_) = sorter.finish(|row| {
            let &[Value::UInt(n), Value::UInt(arrival)] = row else {
                panic!("{row:?}")
            };
            rows.push((n, arrival));
            Ok::<_, Infallible>(true)
        });
        rows
    }

    #[test]
    fn rows_come_in_order_of_key_then_of_arrival() {
        let mut n = 7u64;
        let numbers: Vec<u64> = (0..20_000)
            .map(|_| {
                n = n
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                (n >> 33) % 3000
            })
            .collect();
        let mut model: Vec<(u64, u64)> = numbers.iter().copied().zip(0..).collect();
        model.sort();
        assert_eq!(sorted(&numbers, false, u64::MAX), model);
        assert_eq!(sorted(&numbers, false, 5000), model[..5000]);
        assert_eq!(sorted(&numbers, false, 3), model[..3]);
        assert_eq!(sorted(&numbers, false, 0), []);
        model.dedup_by_key(|(n, _)| *n);
        assert_eq!(sorted(&numbers, true, u64::MAX), model);
        assert_eq!(sorted(&numbers, true, 10), model[..10]);
    }
}
