//! Rows that wait to be sorted.
//!
//! Keys stand one after the other in one buffer and values in another, so a row costs no allocation of its own but for
//! the texts in it. What is sorted are small entries with the first eight bytes of the key in them: most comparisons end
//! there. Rows with equal keys keep the order in which they came; of distinct rows only the first is kept.
//!
//! With a limit, or among duplicates, most rows are not wanted. They are dropped whenever the buffer holds twice what was
//! left the last time, which costs little on the whole and bounds the memory.
//!
//! Rows past the share go out as a sorted run. In the end the runs are merged: a heap holds each run's next key, ties go
//! to the earlier run. Of more than [`FAN_IN`] runs, neighbours are merged into longer ones first.

use super::codec::{Reader, append, append_encoded, decode};
use super::{Room, SortedRun, heap_bytes};
use crate::context::Counter;
use crate::error::Result;
use crate::types::Value;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use tidemark_engine::Spool;

/// Fewer rows than this are not worth dropping.
const DROP_FROM: usize = 2000;

/// Runs merged at once. Each takes a block of memory.
const FAN_IN: usize = 256;

/// A run is sorted at a stretch, without looking whether the statement should end, so it is never longer.
const RUN_BYTES_MAX: usize = 64 << 20;

#[derive(Clone, Copy)]
struct Entry {
    prefix: u64,
    key: (usize, usize),
    /// Position among the rows.
    row: usize,
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
    keys: Vec<u8>,
    values: Vec<Value>,
    entries: Vec<Entry>,
    /// What the values take beside their own size.
    heap: usize,
    /// The number of rows at which those not wanted are dropped.
    drop_at: usize,
    runs: Runs,
    buffer: Vec<u8>,
}

impl<'a> Sorter<'a> {
    /// For rows of `width` values, of which the first `wanted` will be wanted. They may take `share` bytes.
    pub fn new(room: Room<'a>, share: usize, width: usize, distinct: bool, wanted: u64) -> Sorter<'a> {
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        let bounded = distinct || wanted < usize::MAX;
        Sorter {
            room,
            share: share.min(RUN_BYTES_MAX),
            width,
            distinct,
            wanted,
            keys: Vec::new(),
            values: Vec::new(),
            entries: Vec::new(),
            drop_at: if bounded { DROP_FROM } else { usize::MAX },
            heap: 0,
            runs: Runs::default(),
            buffer: Vec::new(),
        }
    }

    /// Whether only the first of rows with equal keys is kept.
    pub fn is_distinct(&self) -> bool {
        self.distinct
    }

    /// The buffer of keys; the next row's is what has been appended to it since the last row.
    pub fn key(&mut self) -> &mut Vec<u8> {
        &mut self.keys
    }

    /// Adds a row, whose key has been appended.
    pub fn push(&mut self, values: impl Iterator<Item = Result<Value>>) -> Result<()> {
        for value in values {
            let value = value?;
            self.heap += heap_bytes(&value);
            self.values.push(value);
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
        self.entries.len() * (size_of::<Entry>() + self.width * size_of::<Value>())
            + self.keys.len()
            + self.heap
    }

    /// Makes a run of the rows in memory.
    fn put_aside(&mut self) -> Result<()> {
        self.sort();
        let spool = self.runs.spool.get_or_insert_with(|| self.room.spool());
        let from = spool.len();
        for (n, entry) in self.entries.iter().enumerate() {
            self.room.check_at(n)?;
            let at = entry.row * self.width;
            let key = &self.keys[entry.key.0..entry.key.1];
            append(spool, key, &self.values[at..at + self.width], &mut self.buffer)?;
        }
        self.runs.parts.push((from, spool.len()));
        self.keys.clear();
        self.values.clear();
        self.entries.clear();
        self.heap = 0;
        if self.drop_at < usize::MAX {
            self.drop_at = DROP_FROM;
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
        self.heap = values.iter().map(heap_bytes).sum();
        (self.keys, self.values) = (keys, values);
        self.drop_at = (2 * self.entries.len()).max(DROP_FROM);
    }

    /// Sorts, and hands out the rows until `f` wants no more. Returns how many there were, or were handed out.
    pub fn finish(self, mut f: impl FnMut(&[Value]) -> Result<bool>) -> Result<usize> {
        self.finish_with_keys(|_, row| f(row))
    }

    /// The same, with the key of each row.
    pub fn finish_with_keys(mut self, mut f: impl FnMut(&[u8], &[Value]) -> Result<bool>) -> Result<usize> {
        if self.runs.parts.is_empty() {
            self.sort();
            for entry in &self.entries {
                let at = entry.row * self.width;
                let key = &self.keys[entry.key.0..entry.key.1];
                if !f(key, &self.values[at..at + self.width])? {
                    break;
                }
            }
            return Ok(self.entries.len());
        }
        let wanted = self.wanted;
        if wanted == 0 {
            return Ok(0);
        }
        let (mut row, mut rows, mut more) = (Vec::new(), 0, true);
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

/// A run's next record.
struct Head {
    reader: Reader,
    /// Which run it is: of equal keys the earlier comes first.
    run: usize,
}

impl Ord for Head {
    /// The greatest, which a heap has at its top, is the one that comes first.
    fn cmp(&self, other: &Head) -> Ordering {
        let by_key = other.reader.key().cmp(self.reader.key());
        by_key.then(other.run.cmp(&self.run))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head {}

/// Hands out the records of some runs in order, until `f` wants no more.
fn merge(
    room: Room,
    spool: &Spool,
    parts: &[(u64, u64)],
    distinct: bool,
    f: &mut dyn FnMut(&[u8], &[u8]) -> Result<bool>,
) -> Result<()> {
    let mut heads = BinaryHeap::with_capacity(parts.len());
    for (run, (from, end)) in parts.iter().enumerate() {
        let mut reader = Reader::new(*from, *end);
        if reader.advance(spool)? {
            heads.push(Head { reader, run });
        }
    }
    let mut last: Option<Vec<u8>> = None;
    let mut records = 0;
    while let Some(mut head) = heads.peek_mut() {
        room.check_at(records)?;
        records += 1;
        let key = head.reader.key();
        if !(distinct && last.as_deref() == Some(key)) {
            if !f(key, head.reader.row())? {
                return Ok(());
            }
            if distinct {
                let last = last.get_or_insert_default();
                last.clear();
                last.extend_from_slice(head.reader.key());
            }
        }
        if !head.reader.advance(spool)? {
            PeekMut::pop(head);
        }
    }
    Ok(())
}
