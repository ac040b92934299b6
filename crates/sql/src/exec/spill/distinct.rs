//! Each key once: DISTINCT, UNION, and what aggregates with DISTINCT take in.
//!
//! The keys that come first are kept in memory, as many as their share has room for. Rows of others are put aside by the
//! hash of the key, and each part is done by itself once the input has ended.

use super::hashed_rows::{HashedRows, Key};
use super::seeds::Seeds;
use super::{Partitions, Room};
use crate::error::Result;
use crate::types::Value;

/// What is known of a row's key.
pub enum Novelty {
    /// It is the first of its key.
    New,
    /// It is not.
    Known,
    /// Not among those in memory, and there is no room for more: the row is to be put aside.
    Later,
}

/// See the module's head.
pub struct Distinct<'a> {
    room: Room<'a>,
    share: usize,
    keys: HashedRows,
    level: u32,
    later: Option<Partitions<'a>>,
}

impl<'a> Distinct<'a> {
    /// No keys yet; they may take `share` bytes.
    pub fn new(room: Room<'a>, share: usize) -> Distinct<'a> {
        Distinct::at_level(room, share, 0)
    }

    fn at_level(room: Room<'a>, share: usize, level: u32) -> Distinct<'a> {
        Distinct {
            room,
            share,
            keys: HashedRows::new(Seeds::new()),
            level,
            later: None,
        }
    }

    /// Takes a key in.
    pub fn look(&mut self, key: &[u8]) -> Result<Novelty> {
        let key = Key::of(key);
        if self.keys.contains(key) {
            return Ok(Novelty::Known);
        }
        let is_full = || self.keys.bytes() > self.room.allows(self.share) || !self.keys.has_place();
        if self.later.is_none() && is_full() {
            self.later = Partitions::new(self.room, self.level);
        }
        if self.later.is_some() {
            return Ok(Novelty::Later);
        }
        self.room.check_at(self.keys.len())?;
        self.keys.insert(key)?;
        Ok(Novelty::New)
    }

    /// Puts a row aside whose key is to be looked at later.
    pub fn put_aside(&mut self, key: &[u8], row: &[Value]) -> Result<()> {
        match &mut self.later {
            Some(later) => later.push(key, row),
            None => Ok(()),
        }
    }

    /// The input has ended: of the rows that were put aside the first of each key goes to `f`, until it wants no more.
    /// Returns whether it does.
    pub fn finish(self, f: &mut dyn FnMut(&mut Vec<Value>) -> Result<bool>) -> Result<bool> {
        let Distinct {
            room, share, later, ..
        } = self;
        // The keys in memory have done their work.
        drop(self.keys);
        for mut part in later.into_iter().flat_map(Partitions::into_parts) {
            let mut rest = Distinct::at_level(room, share, part.level);
            let (mut key, mut row) = (Vec::new(), Vec::new());
            while part.next(&mut key, &mut row)? {
                match rest.look(&key)? {
                    Novelty::New if !f(&mut row)? => return Ok(false),
                    Novelty::New | Novelty::Known => {}
                    Novelty::Later => rest.put_aside(&key, &row)?,
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
