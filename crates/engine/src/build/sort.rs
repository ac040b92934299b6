//! Entries of an index, put in order: those that a tree is to be filled with from left to right.
//!
//! ```text
//!   push ──► buffer ──full──► sorted, a run in the spool ──┐
//!                             another                      ├── merged ──► Sorted: one entry after the other
//!                             …                            ┘
//!   record of a run := key length u32 │ value length u32 │ key │ value
//! ```
//!
//! Memory is bounded by what the sorter is given, whatever there is to be sorted: a buffer of so many bytes, and then a block of each run. Runs lie in a
//! [`Spool`], scratch pages that go back when the sorter is dropped.

use crate::error::{Error, Result};
use crate::spool::{Spool, SpoolOwner, SpoolSpace};
use std::ops::Range;
use std::sync::Arc;

/// Bytes in front of a record.
const HEAD: usize = 8;
/// What an entry takes in the buffer beside its bytes.
const PLACE_BYTES: usize = size_of::<Place>();
/// A run is read in blocks of as much as there is memory for, between these bounds.
const BLOCK_MIN: usize = 4 << 10;
const BLOCK_MAX: usize = 64 << 10;

/// Where an entry stands in a buffer.
#[derive(Clone, Copy)]
pub(super) struct Place {
    key_at: usize,
    value_at: usize,
    end: usize,
}

impl Place {
    fn key(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.key_at..self.value_at]
    }

    fn value(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.value_at..self.end]
    }
}

/// Takes entries in any order.
pub(super) struct EntrySorter {
    space: Arc<SpoolSpace>,
    bytes_max: usize,
    bytes: Vec<u8>,
    places: Vec<Place>,
    spool: Option<Spool>,
    /// Where the runs lie in the spool.
    runs: Vec<Range<u64>>,
    len: u64,
}

impl EntrySorter {
    /// A sorter that takes about so much memory.
    pub fn new(space: Arc<SpoolSpace>, bytes_max: usize) -> EntrySorter {
        EntrySorter {
            space,
            bytes_max,
            bytes: Vec::new(),
            places: Vec::new(),
            spool: None,
            runs: Vec::new(),
            len: 0,
        }
    }

    /// Adds an entry to the buffer. Touches no page.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        let key_at = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.places.push(Place {
            key_at,
            value_at: key_at + key.len(),
            end: self.bytes.len(),
        });
        self.len += 1;
    }

    /// Whether the buffer is to be [put aside](Self::put_aside) before more is added.
    pub fn is_full(&self) -> bool {
        self.bytes.len() + self.places.len() * PLACE_BYTES >= self.bytes_max
    }

    /// Entries so far.
    pub fn len(&self) -> u64 {
        self.len
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        self.places
            .sort_unstable_by(|a, b| a.key(bytes).cmp(b.key(bytes)));
    }

    /// Writes the buffer to the spool as a run.
    pub fn put_aside(&mut self) -> Result<()> {
        self.sort();
        let spool = self
            .spool
            .get_or_insert_with(|| Spool::new(self.space.clone(), SpoolOwner::default()));
        let from = spool.len();
        for place in self.places.drain(..) {
            let (key, value) = (place.key(&self.bytes), place.value(&self.bytes));
            spool.append(&(key.len() as u32).to_le_bytes())?;
            spool.append(&(value.len() as u32).to_le_bytes())?;
            spool.append(key)?;
            spool.append(value)?;
        }
        self.bytes.clear();
        self.runs.push(from..spool.len());
        Ok(())
    }

    /// All entries, in the order of their keys.
    pub fn finish(mut self) -> Result<Sorted> {
        if self.spool.is_some() && !self.places.is_empty() {
            self.put_aside()?;
        }
        let Some(spool) = self.spool else {
            self.sort();
            return Ok(Sorted::Buffer {
                bytes: self.bytes,
                places: self.places,
                at: 0,
            });
        };
        drop((self.bytes, self.places));
        let block = (self.bytes_max / self.runs.len().max(1)).clamp(BLOCK_MIN, BLOCK_MAX);
        let mut merge = Merge {
            runs: Vec::with_capacity(self.runs.len()),
            heap: Vec::with_capacity(self.runs.len()),
            spool,
        };
        for range in self.runs {
            let mut run = Run::new(range, block);
            if run.advance(&merge.spool)? {
                merge.heap.push(merge.runs.len());
                merge.runs.push(run);
            }
        }
        for at in (0..merge.heap.len() / 2).rev() {
            merge.sift_down(at);
        }
        Ok(Sorted::Merge(merge))
    }
}

/// Entries in order.
pub(super) enum Sorted {
    Buffer {
        bytes: Vec<u8>,
        places: Vec<Place>,
        at: usize,
    },
    Merge(Merge),
}

impl Sorted {
    /// The next entry, key and value; `None` behind the last.
    pub fn current(&self) -> Option<(&[u8], &[u8])> {
        match self {
            Sorted::Buffer { bytes, places, at } => {
                let place = places.get(*at)?;
                Some((place.key(bytes), place.value(bytes)))
            }
            Sorted::Merge(merge) => {
                let run = &merge.runs[*merge.heap.first()?];
                Some((run.place.key(&run.block), run.place.value(&run.block)))
            }
        }
    }

    /// Goes on behind the current entry.
    pub fn advance(&mut self) -> Result<()> {
        match self {
            Sorted::Buffer { at, .. } => {
                *at += 1;
                Ok(())
            }
            Sorted::Merge(merge) => merge.advance(),
        }
    }
}

/// Runs being merged.
pub(super) struct Merge {
    spool: Spool,
    runs: Vec<Run>,
    /// Numbers of the runs that are not at their end: a heap, that with the least key in front.
    heap: Vec<usize>,
}

impl Merge {
    fn advance(&mut self) -> Result<()> {
        let Some(&first) = self.heap.first() else {
            return Ok(());
        };
        if !self.runs[first].advance(&self.spool)? {
            self.heap.swap_remove(0);
        }
        self.sift_down(0);
        Ok(())
    }

    fn key(&self, at: usize) -> Option<&[u8]> {
        let run = &self.runs[*self.heap.get(at)?];
        Some(run.place.key(&run.block))
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let least = [2 * at + 1, 2 * at + 2].into_iter().fold(at, |least, child| {
                match (self.key(child), self.key(least)) {
                    (Some(a), Some(b)) if a < b => child,
                    _ => least,
                }
            });
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }
}

/// A run that is read.
struct Run {
    /// What is not in the block yet.
    rest: Range<u64>,
    block_len: usize,
    block: Vec<u8>,
    /// The current record in the block.
    place: Place,
}

impl Run {
    fn new(range: Range<u64>, block_len: usize) -> Run {
        Run {
            rest: range,
            block_len,
            block: Vec::new(),
            place: Place {
                key_at: 0,
                value_at: 0,
                end: 0,
            },
        }
    }

    /// Goes to the next record; false at the end.
    fn advance(&mut self, spool: &Spool) -> Result<bool> {
        let at = self.place.end;
        if at == self.block.len() && self.rest.is_empty() {
            return Ok(false);
        }
        let at = self.fill(spool, at, HEAD)?;
        let number = |at: usize| {
            let bytes = self.block[at..at + 4].try_into().unwrap_or_default();
            u32::from_le_bytes(bytes) as usize
        };
        let (key, value) = (number(at), number(at + 4));
        let at = self.fill(spool, at, HEAD + key + value)? + HEAD;
        self.place = Place {
            key_at: at,
            value_at: at + key,
            end: at + key + value,
        };
        Ok(true)
    }

    /// Sees to it that the block has `len` bytes from `at` on; where they begin now.
    fn fill(&mut self, spool: &Spool, at: usize, len: usize) -> Result<usize> {
        if self.block.len() - at >= len {
            return Ok(at);
        }
        let kept = self.block.len() - at;
        let from = self.rest.start - kept as u64;
        let wanted = (self.rest.end - from).min(len.max(self.block_len) as u64) as usize;
        spool.read(from, wanted, &mut self.block)?;
        self.rest.start = from + self.block.len() as u64;
        match self.block.len() >= len {
            true => Ok(0),
            false => Err(Error::corrupt(None, "a run of sorted entries ends too early")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{OpTable, Store};

    #[test]
    fn entries_come_in_order_however_many_runs_there_are() {
        let store = Store::in_memory(64, OpTable::new());
        for (count, bytes_max) in [
            (0, 1000),
            (1, 1000),
            (3000, usize::MAX),
            (3000, 20_000),
            (3000, 600),
        ] {
            let space = SpoolSpace::new(store.clone());
            let mut sorter = EntrySorter::new(space.clone(), bytes_max);
            let mut expected = Vec::new();
            for n in 0..count {
                let key = (n * 7919 % 100_003_u32).to_be_bytes().to_vec();
                let value = vec![n as u8; (n % 300) as usize];
                sorter.push(&key, &value);
                expected.push((key, value));
                if sorter.is_full() {
                    sorter.put_aside().unwrap();
                }
            }
            assert_eq!(sorter.len(), u64::from(count));
            expected.sort();
            let mut sorted = sorter.finish().unwrap();
            let mut got = Vec::new();
            while let Some((key, value)) = sorted.current() {
                got.push((key.to_vec(), value.to_vec()));
                sorted.advance().unwrap();
            }
            assert!(got == expected, "{count} entries in {bytes_max} bytes");
            drop(sorted);
            assert_eq!((space.pages(), store.status().scratch_pages), (0, 0));
        }
    }
}
