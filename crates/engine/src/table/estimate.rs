//! Estimates for a planner: rows, entries of a range, rows per key, bytes. Each reads a few pages, and may be wrong by
//! a factor.

use super::range::Span;
use super::{Index, KeyRange, Table};
use crate::error::Result;
use crate::ids::{IndexNo, PAGE_SIZE};

/// Leaves that a sample looks at.
const LEAVES_SAMPLED: usize = 8;

impl Table {
    /// About how many rows there are.
    pub fn estimate_rows(&self) -> u64 {
        self.indexes[0].tree.estimate_all().unwrap_or(0)
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

    /// Counts how often the first parts change within a few leaves spread over the index.
    fn sample_records_per_key(&self, index: IndexNo, parts: usize) -> Result<f64> {
        let codecs = match index {
            0 => &self.primary[..],
            n => &self.entries[n - 1].parts[..],
        };
        let prefix = |key: &[u8]| {
            codecs[..parts.min(codecs.len())]
                .iter()
                .fold(0, |at, p| at + p.skip(&key[at..]).unwrap_or(key.len() - at))
        };
        let tree = &self.indexes[index].tree;
        let (mut entries, mut values) = (0u64, 0u64);
        let mut leaf = tree.read(&[])?;
        let mut fence = Vec::new();
        for _ in 0..LEAVES_SAMPLED {
            let node = leaf.node();
            let mut last: Option<&[u8]> = None;
            for slot in 0..node.count() {
                let key = node.key(slot);
                let value = &key[..prefix(key)];
                entries += 1;
                values += (last != Some(value)) as u64;
                last = Some(value);
            }
            match leaf.next(&mut fence)? {
                Some((next, _)) => leaf = next,
                None => break,
            }
        }
        Ok(if values == 0 {
            1.0
        } else {
            entries as f64 / values as f64
        })
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
