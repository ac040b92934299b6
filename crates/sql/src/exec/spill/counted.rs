//! How often each row is on the right of INTERSECT or EXCEPT, for the rows on the left.
//!
//! First all of the right comes, then all of the left. Keys that come first are counted in memory, as many as their share
//! has room for; they are counted there to the last, so a row of the left that has one is decided at once. What else comes,
//! from either side, is put aside by the hash of its key. Each part then holds what is on the right in front of what is on
//! the left, and is done by itself in the same way. (Graefe, *Query evaluation techniques for large databases*, 1993:
//! hybrid hashing for one-to-one match operators.)

use super::{Partitions, Room};
use crate::error::Result;
use crate::error::memory::reserve_memory;
use crate::types::Value;
use std::collections::HashMap;

/// About what an entry takes beside its key.
const ENTRY_BYTES: usize = 64;

/// See the module's head.
pub struct Counted<'a> {
    room: Room<'a>,
    share: usize,
    /// A row of the left uses one of the right up: INTERSECT ALL, EXCEPT ALL.
    each_once: bool,
    counts: HashMap<Box<[u8]>, u64>,
    bytes: usize,
    level: u32,
    later: Option<Partitions<'a>>,
}

impl<'a> Counted<'a> {
    /// Nothing yet. With `each_once` a row of the left uses one of the right up.
    pub fn new(room: Room<'a>, share: usize, each_once: bool) -> Counted<'a> {
        Counted::at_level(room, share, each_once, 0)
    }

    fn at_level(room: Room<'a>, share: usize, each_once: bool, level: u32) -> Counted<'a> {
        Counted {
            room,
            share,
            each_once,
            counts: HashMap::new(),
            bytes: 0,
            level,
            later: None,
        }
    }

    /// A row of the right.
    pub fn add(&mut self, key: &[u8]) -> Result<()> {
        if let Some(count) = self.counts.get_mut(key) {
            *count += 1;
            return Ok(());
        }
        if self.later.is_none() && self.bytes > self.room.allows(self.share) {
            self.later = Partitions::new(self.room, self.level);
        }
        if let Some(later) = &mut self.later {
            // A row of no values: those of the left have one at least.
            return later.push(key, &[]);
        }
        self.room.check_at(self.counts.len())?;
        let _room = reserve_memory(key.len())?;
        self.bytes += ENTRY_BYTES + key.len();
        self.counts.insert(key.into(), 1);
        Ok(())
    }

    /// A row of the left, once all of the right is there: whether the right has it, or `None` if that will be known later.
    pub fn look(&mut self, key: &[u8], row: &[Value]) -> Result<Option<bool>> {
        match (self.counts.get_mut(key), &mut self.later) {
            (Some(0), _) => Ok(Some(false)),
            (Some(count), _) => {
                *count -= u64::from(self.each_once);
                Ok(Some(true))
            }
            (None, None) => Ok(Some(false)),
            (None, Some(later)) => later.push(key, row).map(|()| None),
        }
    }

    /// All of the left has come: the rows that were put aside go to `f`, with whether the right has them, until it wants no
    /// more. Returns whether it does.
    pub fn finish(self, f: &mut dyn FnMut(&[Value], bool) -> Result<bool>) -> Result<bool> {
        let Counted {
            room,
            share,
            each_once,
            later,
            ..
        } = self;
        drop(self.counts);
        for mut part in later.into_iter().flat_map(Partitions::into_parts) {
            let mut rest = Counted::at_level(room, share, each_once, part.level);
            let (mut key, mut row) = (Vec::new(), Vec::new());
            while part.next(&mut key, &mut row)? {
                if row.is_empty() {
                    rest.add(&key)?;
                    continue;
                }
                if let Some(there) = rest.look(&key, &row)?
                    && !f(&row, there)?
                {
                    return Ok(false);
                }
            }
            drop(part);
            if !rest.finish(f)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
