//! Estimates for a planner: rows, entries of a range, rows per key, bytes. Each reads a few pages, and may be wrong by
//! a factor.

use super::index::SizeRange;
use super::range::Span;
use super::{Index, KeyRange, Table};
use crate::error::Result;
use crate::ids::{IndexNo, PAGE_SIZE};
use crate::schema::KeyPart;
use crate::tree::{LeafSample, Node};

/// Leaves that a sample looks at.
const LEAVES_SAMPLED: usize = 64;
/// Entries that a sample looks at in any case.
const LOOKED_AT_MIN: usize = 2000;
/// Beyond those, so many changes of a value tell how often it changes in a leaf, and the rest of the leaf is not looked at.
const CHANGES_ENOUGH: usize = 32;
/// A sample that has less than one in so many entries may tell more by the values that it meets again than by changes.
const FEW_LOOKED_AT: f64 = 4.0;
/// The share of gaps between leaves with the same value on either side from which on that is so.
const SAME_ENOUGH: f64 = 0.3;

/// More leaves than a table has.
const ANALYSED: i64 = 1 << 40;

/// What leaves of an index, in order, tell of how often a value changes from one entry to the next.
#[derive(Default)]
struct KeySample {
    /// All entries of a leaf are looked at, however often the value changes.
    is_thorough: bool,
    /// Entries of these leaves, and how many of them were looked at.
    entries: usize,
    looked_at: usize,
    /// Pairs of neighbours in the leaves that these stand for, and those of them that differ.
    pairs: f64,
    changes: f64,
    /// Different values that were met. Of a leaf that was not looked at to its end, those before.
    seen: usize,
    /// Changes that were met within leaves.
    met: usize,
    /// Gaps between one leaf and the next, and those of them that begin and end with the same value.
    gaps: usize,
    same: usize,
    /// The last value of the leaf before.
    last: Vec<u8>,
}

impl KeySample {
    /// Takes in the keys of the next leaf, which stands for so many. `prefix` returns how much of a key is the value. `fence`: what the keys
    /// of the leaf behind it begin with, as far as that tells them from this one's; empty for the last leaf. Leaves that were filled
    /// in ascending order end where a value does, so that it is there that values change.
    fn take<'k>(
        &mut self,
        keys: impl ExactSizeIterator<Item = &'k [u8]>,
        fence: &[u8],
        stands_for: f64,
        prefix: impl Fn(&[u8]) -> usize,
    ) {
        let count = keys.len();
        self.entries += count;
        let mut value: Option<&[u8]> = None;
        let (mut pairs, mut changes) = (0, 0);
        let mut is_cut = false;
        for key in keys {
            self.looked_at += 1;
            // The encoding of a value is no beginning of another's.
            if value.is_some_and(|value| key.starts_with(value)) {
                pairs += 1;
                continue;
            }
            let found = &key[..prefix(key)];
            match value {
                Some(_) => {
                    (pairs, changes) = (pairs + 1, changes + 1);
                    self.seen += 1;
                }
                None if self.seen == 0 => self.seen = 1,
                None => {
                    let is_same = self.last == found;
                    self.gaps += 1;
                    self.same += usize::from(is_same);
                    self.seen += usize::from(!is_same);
                }
            }
            value = Some(found);
            if !self.is_thorough && changes >= CHANGES_ENOUGH && self.looked_at > LOOKED_AT_MIN {
                is_cut = true;
                break;
            }
        }
        self.met += changes;
        let mut count = count;
        if let Some(value) = value.filter(|_| !is_cut && !fence.is_empty()) {
            count += 1;
            pairs += 1;
            changes += usize::from(!fence.starts_with(value));
        }
        if let Some(value) = value {
            self.last.clear();
            self.last.extend_from_slice(value);
        }
        if pairs > 0 {
            let all = (count - 1) as f64 * stands_for;
            self.pairs += all;
            self.changes += all * f64::from(changes as u32) / f64::from(pairs);
        }
    }

    /// Entries for each value, of a sample that is the whole index or of one that has so many entries.
    fn rows(&self, is_whole: bool, entries: impl FnOnce() -> Result<u64>) -> Result<f64> {
        Ok(match is_whole && self.looked_at == self.entries {
            true => self.entries as f64 / self.seen.max(1) as f64,
            false => self.records_per_key(entries()? as f64),
        })
    }

    /// Entries for each value of an index that has so many entries in all.
    fn records_per_key(&self, entries: f64) -> f64 {
        let entries = entries.max(self.entries as f64);
        let changes = match self.changes_by_gaps(entries) {
            Some(changes) => changes,
            None => (entries - 1.0).max(0.0) * self.changes / self.pairs.max(1.0),
        };
        entries.max(1.0) / (changes + 1.0).max(self.seen as f64).max(1.0)
    }

    /// How often the value changes, by the gaps with the same value on either side, where it does not change at all. Values of which
    /// each fills many leaves change too seldom within leaves to be counted there. If all values are equally long, the other
    /// gaps have one change each; if their lengths scatter, as many gaps remain whole as of a Poisson process. The result lies between.
    fn changes_by_gaps(&self, entries: f64) -> Option<f64> {
        let same = self.same as f64 / self.gaps.max(1) as f64;
        let tells =
            self.met < CHANGES_ENOUGH && same >= SAME_ENOUGH && self.entries as f64 * FEW_LOOKED_AT < entries;
        // Half a gap is before the first leaf, and half a gap behind the last.
        let gaps = (self.gaps + 1) as f64;
        tells.then(|| self.met as f64 + gaps * ((1.0 - same) - same.ln()) / 2.0)
    }
}

/// What leaves of an index tell of each prefix of its parts, for [`Table::sample_keys`].
pub struct PrefixSample {
    leaves: LeafSample,
    /// How many parts a prefix has, and what was found of it.
    prefixes: Vec<(usize, KeySample)>,
}

impl PrefixSample {
    /// Of an index's first parts, so many of them each, by up to so many leaves. Behind the parts of a secondary index are those of
    /// the clustered one.
    pub fn new(parts: impl IntoIterator<Item = usize>, leaves: usize) -> PrefixSample {
        let sample = || KeySample {
            is_thorough: true,
            ..KeySample::default()
        };
        let prefixes = parts.into_iter().map(|parts| (parts, sample()));
        PrefixSample {
            leaves: LeafSample::in_order(leaves),
            prefixes: prefixes.collect(),
        }
    }

    /// How many leaves have been looked at.
    pub fn leaves(&self) -> usize {
        self.leaves.visited()
    }
}

impl Table {
    /// About how many rows there are.
    pub fn estimate_rows(&self) -> u64 {
        self.indexes[0].tree.estimate_all().unwrap_or(0)
    }

    /// The sizes that the table may have until a plan for its present size should be made again: it has not doubled, nor shrunk
    /// to half, nor been [analysed](Self::was_analysed).
    pub fn size_now(&self) -> SizeRange {
        SizeRange::around(&self.indexes[0], 2, 1)
    }

    /// Whether the table's size is one of these. One load.
    #[inline]
    pub fn has_size(&self, size: &SizeRange) -> bool {
        size.has(&self.indexes[0].tree)
    }

    /// No [`SizeRange`] of before contains the table's size any more, and nothing that was sampled is remembered.
    pub fn was_analysed(&self) {
        self.indexes
            .iter()
            .for_each(|index| index.tree.count_leaves(ANALYSED));
    }

    /// About how many entries of the index lie in the range; 0 for an index that the table does not have.
    pub fn estimate_range(&self, index: IndexNo, range: &KeyRange) -> u64 {
        let Some(span) = Span::of(range) else {
            return 0;
        };
        if self.check_index(index).is_err() {
            return 0;
        }
        let index = &self.indexes[index];
        let upper = span.upper.as_deref().unwrap_or(&[]);
        index.tree.estimate_range(&span.lower, upper).unwrap_or(0)
    }

    /// About how many rows share a value of the index's first `parts` parts.
    pub fn records_per_key(&self, index: IndexNo, parts: usize) -> f64 {
        let unique = self
            .schema
            .index(index)
            .is_none_or(|i| i.unique && parts >= i.parts.len());
        if unique || parts == 0 {
            return if unique { 1.0 } else { self.estimate_rows() as f64 };
        }
        self.sample_records_per_key(index, parts).unwrap_or(1.0)
    }

    /// Counts how often the first parts change within leaves that are spread evenly over the index.
    fn sample_records_per_key(&self, index: IndexNo, parts: usize) -> Result<f64> {
        // A planner asks again and again while it looks for an order.
        if let Some(rows) = self.indexes[index].sampled(parts) {
            return Ok(rows);
        }
        let tree = &self.indexes[index].tree;
        let mut sample = KeySample::default();
        let is_whole = tree.sample_leaves(LEAVES_SAMPLED, |leaf, stands_for| {
            self.take_leaf(index, parts, leaf, stands_for, &mut sample);
        })?;
        let rows = sample.rows(is_whole, || Ok(tree.estimate_all()?))?;
        if sample.looked_at > LOOKED_AT_MIN {
            self.indexes[index].remember(parts, rows);
        }
        Ok(rows)
    }

    fn take_leaf(
        &self,
        index: IndexNo,
        parts: usize,
        leaf: Node<'_>,
        stands_for: f64,
        sample: &mut KeySample,
    ) {
        let codecs = match index {
            0 => &self.primary[..],
            n => &self.entries[n - 1].parts[..],
        };
        let prefix = |key: &[u8]| {
            codecs[..parts.min(codecs.len())]
                .iter()
                .fold(0, |at, p| at + p.skip(&key[at..]).unwrap_or(key.len() - at))
        };
        let keys = (0..leaf.count()).map(|slot| leaf.key(slot));
        sample.take(keys, leaf.upper_fence(), stands_for, prefix);
    }

    /// Looks at the next leaf of a sample of an index, once for each prefix of its parts. Returns false if there is none left. The
    /// caller ensures that the table is not dropped meanwhile.
    pub fn sample_keys(&self, index: IndexNo, sample: &mut PrefixSample) -> Result<bool> {
        self.check_index(index)?;
        let PrefixSample { leaves, prefixes } = sample;
        Ok(self.indexes[index]
            .tree
            .sample_leaf(leaves, &mut |leaf, stands_for| {
                for (parts, prefix) in prefixes.iter_mut() {
                    self.take_leaf(index, *parts, leaf, stands_for, prefix);
                }
            })?)
    }

    /// About how many rows share a value of each of the prefixes of a sample.
    pub fn records_per_prefix(&self, index: IndexNo, sample: &PrefixSample) -> Result<Vec<f64>> {
        self.check_index(index)?;
        let tree = &self.indexes[index].tree;
        // A unique index has several entries with NULLs.
        let is_nullable = |part: &KeyPart| self.schema.columns[part.column].nullable;
        let unique = self.schema.index(index).filter(|i| i.unique);
        let unique = unique.filter(|i| !i.parts.iter().any(is_nullable));
        let rows = |(parts, prefix): &(usize, KeySample)| match unique {
            Some(unique) if *parts >= unique.parts.len() => Ok(1.0),
            _ => prefix.rows(sample.leaves.is_whole(), || Ok(tree.estimate_all()?)),
        };
        sample.prefixes.iter().map(rows).collect()
    }

    /// Lets [`records_per_key`](Self::records_per_key) return `rows` as long as the index keeps its size, rather than look at leaves. Of a
    /// small index it looks at its leaves all the same.
    pub fn suppose_records_per_key(&self, index: IndexNo, parts: usize, rows: f64) {
        if self.check_index(index).is_ok() && self.estimate_rows() > LOOKED_AT_MIN as u64 {
            self.indexes[index].remember(parts, rows);
        }
    }

    /// About how many leaves an index has; 0 for an index that the table does not have.
    pub fn estimate_leaves(&self, index: IndexNo) -> u64 {
        match self.check_index(index) {
            Ok(()) => self.indexes[index].tree.estimate_leaves().unwrap_or(0),
            Err(_) => 0,
        }
    }

    /// About how many bytes its pages take: the clustered index, and the secondary ones.
    pub fn size_bytes(&self) -> (u64, u64) {
        let size = |index: &Index| -> Result<u64> {
            let leaf_entries = index.tree.read(&[])?.node().count().max(1) as u64;
            Ok((index.tree.estimate_all()? / leaf_entries + 1) * PAGE_SIZE as u64)
        };
        let size = |index| size(index).unwrap_or(0);
        let secondary = self.indexes[1..].iter().filter(|index| index.building.is_none());
        (size(&self.indexes[0]), secondary.map(size).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows per key of an index with these values, by leaves of 500 entries of which at most 20 are looked at.
    fn estimated(values: impl Iterator<Item = u32>) -> f64 {
        let keys: Vec<[u8; 8]> = values
            .enumerate()
            .map(|(n, value)| {
                let mut key = [0; 8];
                key[..4].copy_from_slice(&value.to_be_bytes());
                key[4..].copy_from_slice(&(n as u32).to_be_bytes());
                key
            })
            .collect();
        let leaves: Vec<&[[u8; 8]]> = keys.chunks(500).collect();
        let mut sample = KeySample::default();
        for at in 0..20 {
            let at = (2 * at + 1) * leaves.len() / 40;
            let fence = leaves.get(at + 1).map_or(&[][..], |next| &next[0][..6]);
            let keys = leaves[at].iter().map(|key| &key[..]);
            sample.take(keys, fence, 4.0, |_| 4);
        }
        sample.records_per_key(keys.len() as f64)
    }

    #[test]
    fn rows_per_key_are_near() {
        type Values = fn(u32) -> u32;
        let cases: [(Values, f64); 7] = [
            // Each leaf has a value of its own.
            (|n| n / 500, 500.0),
            (|n| n, 1.0),
            (|_| 7, 40_000.0),
            (|n| n / 20_000, 20_000.0),
            (|n| n / 40, 40.0),
            (|n| n.min(8_000), 5.0),
            (|n| n.max(32_000), 5.0),
        ];
        let few: [(Values, f64); 4] = [
            (|n| n / 40_000, 40_000.0),
            // The values change in the leaves that are looked at, and nowhere else.
            (|n| (n + 29_800) / 40_000, 400_000.0 / 11.0),
            (|n| (n + 29_800) / 20_000, 400_000.0 / 21.0),
            (|n| n.isqrt() / 40, 400_000.0 / 16.0),
        ];
        let all = cases.map(|case| (case, 40_000)).into_iter();
        for ((value, truth), rows) in all.chain(few.map(|case| (case, 400_000))) {
            let found = estimated((0..rows).map(value));
            assert!(found > truth / 1.6 && found < truth * 1.6, "{found} for {truth}");
        }
    }
}
