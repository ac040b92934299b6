//! Rows that wait to be sorted.
//!
//! ```text
//!  records   │ lengths │ key │ row, encoded │ lengths │ key │ row │ …        as they will stand in a run
//!  entries   the first eight bytes of the key, and where the record stands
//! ```
//!
//! Rows stand one behind the other as bytes, so a row costs no allocation, a run of them goes out as it is, and as many as can be have room in
//! the share. What is sorted are the entries: most comparisons end at the beginnings of keys. Rows with equal keys keep the order in
//! which they came; of distinct rows only the first is kept.
//!
//! With a limit, or among duplicates, most rows are not wanted. They are dropped whenever the buffer holds twice what was
//! left the last time, which costs little on the whole and bounds the memory.
//!
//! Rows past the share go out as a sorted run. In the end the runs are merged ([`merge`]). Of more than [`FAN_IN`] runs, neighbours are merged
//! into longer ones first.

use super::codec::{HEAD_LEN, append_encoded, decode, encode_value, head, parts};
use super::merge::merge;
use super::{Room, SortedRun, heap_bytes};
use crate::context::Counter;
use crate::error::Result;
use crate::error::memory::reserve_memory;
use crate::plan::trace::run::Sorted;
use crate::types::Val;
use crate::types::Value;
use tidemark_engine::Spool;

/// Fewer rows than this are not worth dropping.
const DROP_FROM: usize = 2000;

/// Runs merged at once. Each takes a block of memory.
const FAN_IN: usize = 256;

/// A run is sorted at a stretch, without looking whether the statement should end, so it is never longer.
const RUN_BYTES_MAX: usize = 64 << 20;

#[derive(Clone, Copy)]
struct Entry {
    /// See [`beginning`].
    beginning: u64,
    /// Where the record begins: earlier rows stand in front.
    at: usize,
}

/// The first eight bytes of a key, in the order of keys; a shorter one is filled up.
#[inline]
pub(super) fn beginning(key: &[u8]) -> u64 {
    if let Some(first) = key.first_chunk() {
        return u64::from_be_bytes(*first);
    }
    let mut filled = [0; 8];
    filled[..key.len()].copy_from_slice(key);
    u64::from_be_bytes(filled)
}

/// Rows that wait to be sorted.
pub struct Sorter<'a> {
    room: Room<'a>,
    /// What the rows in memory may take.
    share: usize,
    /// Values in a row.
    width: usize,
    /// Of rows with equal keys, only the first is wanted.
    distinct: bool,
    /// How many rows are wanted.
    wanted: usize,
    /// The key of the next row.
    key: Vec<u8>,
    records: Vec<u8>,
    entries: Vec<Entry>,
    /// The number of rows at which those not wanted are dropped.
    drop_at: usize,
    /// The greatest key of those that were left the last time, if as many as are wanted were: no row of it or behind it is wanted any more.
    last_wanted: Option<Vec<u8>>,
    runs: Runs,
    /// Rows that were pushed.
    rows: u64,
    /// The most bytes that rows in memory took, before they were put aside or dropped.
    peak: usize,
}

impl<'a> Sorter<'a> {
    /// For rows of `width` values, of which the first `wanted` will be wanted. They may take `share` bytes.
    pub fn new(room: Room<'a>, share: usize, width: usize, distinct: bool, wanted: u64) -> Sorter<'a> {
        let mut sorter = Sorter {
            room,
            share: share.min(RUN_BYTES_MAX),
            width,
            distinct,
            wanted: usize::try_from(wanted).unwrap_or(usize::MAX),
            key: Vec::new(),
            records: Vec::new(),
            entries: Vec::new(),
            drop_at: 0,
            last_wanted: None,
            runs: Runs::default(),
            rows: 0,
            peak: 0,
        };
        sorter.drop_at = sorter.next_drop();
        sorter
    }

    /// The number of rows at which to drop some, when those there are all wanted.
    fn next_drop(&self) -> usize {
        let kept = match self.distinct {
            true => self.entries.len(),
            false => self.wanted,
        };
        kept.saturating_mul(2).max(DROP_FROM)
    }

    /// Whether only the first of rows with equal keys is kept.
    pub fn is_distinct(&self) -> bool {
        self.distinct
    }

    /// The key of the next row, to be appended to.
    pub fn key(&mut self) -> &mut Vec<u8> {
        &mut self.key
    }

    /// Whether the row whose key has been appended is not wanted, since there are enough before it.
    #[inline]
    pub fn is_behind(&self) -> bool {
        self.last_wanted.as_ref().is_some_and(|last| self.key >= *last)
    }

    /// Passes over such a row.
    pub fn pass_over(&mut self) -> Result<()> {
        self.key.clear();
        self.rows += 1;
        self.room.check_at(self.rows as usize)
    }

    /// Adds a row, whose key has been appended.
    pub fn push<'v>(&mut self, values: impl Iterator<Item = Result<Val<'v>>>) -> Result<()> {
        let at = self.records.len();
        self.records.extend_from_slice(&head(self.key.len(), 0)?);
        self.records.extend_from_slice(&self.key);
        let row_at = self.records.len();
        for value in values {
            let value = value?;
            let _room = reserve_memory(heap_bytes(&value))?;
            encode_value(&value, &mut self.records);
        }
        let lengths = head(self.key.len(), self.records.len() - row_at)?;
        self.records[at..at + lengths.len()].copy_from_slice(&lengths);
        self.entries.push(Entry {
            beginning: beginning(&self.key),
            at,
        });
        self.key.clear();
        self.rows += 1;
        self.room.check_at(self.entries.len())?;
        if self.entries.len() >= self.drop_at {
            self.drop_unwanted();
        }
        if self.bytes() > self.room.allows(self.share) {
            self.put_aside()?;
        }
        Ok(())
    }

    /// About what the rows in memory take.
    fn bytes(&self) -> usize {
        size_of_val(self.entries.as_slice()) + self.records.len()
    }

    /// What an optimizer trace tells of it, when all rows have come.
    pub fn told(&self) -> Sorted {
        let runs = self.runs.parts.len();
        Sorted {
            memory: self.share,
            peak: self.peak.max(self.bytes()),
            rows: self.rows,
            runs: if runs > 0 && !self.entries.is_empty() {
                runs + 1
            } else {
                runs
            },
            wanted: (self.wanted != usize::MAX).then_some(self.wanted as u64),
        }
    }

    /// Makes a run of the rows in memory.
    fn put_aside(&mut self) -> Result<()> {
        self.peak = self.peak.max(self.bytes());
        self.sort();
        let spool = self.runs.spool.get_or_insert_with(|| self.room.spool());
        let from = spool.len();
        for (n, entry) in self.entries.iter().enumerate() {
            self.room.check_at(n)?;
            spool.append(record(&self.records, entry))?;
        }
        self.runs.parts.push((from, spool.len()));
        self.entries.clear();
        self.records.clear();
        // Room for a long row is not kept for the short ones behind it.
        self.records.shrink_to(2 * self.share);
        self.drop_at = self.next_drop();
        Ok(())
    }

    fn sort(&mut self) {
        let records = &self.records;
        let key = |e: &Entry| parts(&records[e.at..]).0;
        let order = |a: &Entry, b: &Entry| {
            let by_beginning = a.beginning.cmp(&b.beginning);
            by_beginning
                .then_with(|| key(a).cmp(key(b)))
                .then(a.at.cmp(&b.at))
        };
        self.entries.sort_unstable_by(order);
        if self.distinct {
            self.entries
                .dedup_by(|a, b| a.beginning == b.beginning && key(a) == key(b));
        }
        self.entries.truncate(self.wanted);
    }

    fn drop_unwanted(&mut self) {
        self.peak = self.peak.max(self.bytes());
        self.sort();
        let mut kept = Vec::with_capacity(self.entries.iter().map(|e| record(&self.records, e).len()).sum());
        for entry in &mut self.entries {
            let at = kept.len();
            kept.extend_from_slice(record(&self.records, entry));
            entry.at = at;
        }
        self.records = kept;
        self.drop_at = self.next_drop();
        if self.entries.len() == self.wanted
            && let Some(last) = self.entries.last()
        {
            self.last_wanted = Some(parts(&self.records[last.at..]).0.to_vec());
        }
    }

    /// Sorts, and hands out the rows until `f` wants no more. Returns how many there were, or were handed out.
    pub fn finish(self, mut f: impl FnMut(&[Value]) -> Result<bool>) -> Result<usize> {
        self.finish_with_keys(|_, row| f(row))
    }

    /// The same, with the key of each row.
    pub fn finish_with_keys(mut self, mut f: impl FnMut(&[u8], &[Value]) -> Result<bool>) -> Result<usize> {
        let mut row = Vec::with_capacity(self.width);
        if self.runs.parts.is_empty() {
            self.sort();
            for entry in &self.entries {
                let (key, encoded) = parts(&self.records[entry.at..]);
                decode(encoded, &mut row)?;
                if !f(key, &row)? {
                    break;
                }
            }
            return Ok(self.entries.len());
        }
        let wanted = self.wanted;
        if wanted == 0 {
            return Ok(0);
        }
        let (mut rows, mut more) = (0, true);
        self.merged(&mut |key, encoded| {
            rows += 1;
            // Behind the last one handed out they are only counted.
            if more {
                decode(encoded, &mut row)?;
                more = f(key, &row)?;
            }
            Ok(rows < wanted)
        })?;
        Ok(rows)
    }

    /// Sorts, and leaves the rows to be looked up by key.
    pub fn into_run(mut self) -> Result<SortedRun> {
        let mut run = SortedRun::new(self.room.spool());
        let mut rows = 0;
        let wanted = self.wanted;
        self.merged(&mut |key, encoded| {
            run.push(key, encoded)?;
            rows += 1;
            Ok(rows < wanted)
        })?;
        Ok(run)
    }

    /// Hands out keys and encoded rows in order, duplicates left out where they are not wanted, until `f` wants no more.
    fn merged(&mut self, f: &mut dyn FnMut(&[u8], &[u8]) -> Result<bool>) -> Result<()> {
        if !self.entries.is_empty() {
            self.put_aside()?;
        }
        let mut runs = std::mem::take(&mut self.runs);
        while runs.parts.len() > FAN_IN {
            runs = runs.merge_neighbours(self.room, self.distinct)?;
        }
        match &runs.spool {
            Some(spool) => {
                self.room.process.counters.add(Counter::SortMergePasses, 1);
                merge(self.room, spool, &runs.parts, self.distinct, f)
            }
            None => Ok(()),
        }
    }
}

/// The bytes of an entry's record.
fn record<'r>(records: &'r [u8], entry: &Entry) -> &'r [u8] {
    let (key, row) = parts(&records[entry.at..]);
    &records[entry.at..][..HEAD_LEN + key.len() + row.len()]
}

/// Sorted runs, in the order in which their rows came.
#[derive(Default)]
struct Runs {
    spool: Option<Spool>,
    /// Where each begins and ends.
    parts: Vec<(u64, u64)>,
}

impl Runs {
    /// Fewer and longer runs.
    fn merge_neighbours(&self, room: Room, distinct: bool) -> Result<Runs> {
        room.process.counters.add(Counter::SortMergePasses, 1);
        let mut longer = room.spool();
        let mut parts = Vec::new();
        for neighbours in self.parts.chunks(FAN_IN) {
            let from = longer.len();
            if let Some(spool) = &self.spool {
                merge(room, spool, neighbours, distinct, &mut |key, row| {
                    append_encoded(&mut longer, key, row)?;
                    Ok(true)
                })?;
            }
            parts.push((from, longer.len()));
        }
        Ok(Runs {
            spool: Some(longer),
            parts,
        })
    }
}
