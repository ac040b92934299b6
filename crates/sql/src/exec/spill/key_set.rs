//! Keys of which one asks at once whether they came before, as the rounds of a recursive query must.
//!
//! The latest keys are in a hash table. When that has taken its share, it goes out as a sorted run, which is searched by
//! bisection; when there are several runs, they are merged into one, so that a look-up does not get slower with each.

use super::{Room, Shares, SortedRun, Sorter};
use crate::error::Result;
use crate::error::memory::reserve_memory;
use std::collections::HashSet;

/// About what an entry of a set takes beside its key.
const ENTRY_BYTES: usize = 32;

/// So many runs are merged.
const RUNS_MAX: usize = 8;

/// See the module's head.
pub struct KeySet<'a> {
    room: Room<'a>,
    shares: Shares,
    latest: HashSet<Box<[u8]>>,
    bytes: usize,
    runs: Vec<SortedRun>,
}

impl<'a> KeySet<'a> {
    /// No keys.
    pub fn new(room: Room<'a>, shares: Shares) -> KeySet<'a> {
        KeySet {
            room,
            shares,
            latest: HashSet::new(),
            bytes: 0,
            runs: Vec::new(),
        }
    }

    /// Takes a key in; returns whether it is new.
    pub fn insert(&mut self, key: &[u8]) -> Result<bool> {
        if self.latest.contains(key) {
            return Ok(false);
        }
        for run in &self.runs {
            if run.contains(key)? {
                return Ok(false);
            }
        }
        self.room.check_at(self.latest.len())?;
        let _room = reserve_memory(key.len())?;
        self.bytes += ENTRY_BYTES + key.len();
        self.latest.insert(key.into());
        if self.bytes > self.room.allows(self.shares.table) {
            self.put_aside()?;
        }
        Ok(true)
    }

    /// The keys in memory become a run, and many runs one.
    fn put_aside(&mut self) -> Result<()> {
        let mut sorter = self.sorter();
        for key in std::mem::take(&mut self.latest) {
            sorter.key().extend_from_slice(&key);
            sorter.push(std::iter::empty())?;
        }
        self.bytes = 0;
        if self.runs.len() + 1 == RUNS_MAX {
            for run in std::mem::take(&mut self.runs) {
                run.for_each_key(&mut |key| {
                    sorter.key().extend_from_slice(key);
                    sorter.push(std::iter::empty())
                })?;
            }
        }
        self.runs.push(sorter.into_run()?);
        Ok(())
    }

    fn sorter(&self) -> Sorter<'a> {
        Sorter::new(self.room, self.shares.sort, 0, false, u64::MAX)
    }
}
