//! Rows sorted by key, to be looked up by it.
//!
//! ```text
//!  spool    │ a a b c │ c c d e │ e f f g │ …       records in order of key
//!  index      a         c         e                 the first key of each block, in memory
//! ```
//!
//! A look-up bisects the index and reads records from the last block that begins before the key. One key in
//! [`BLOCK_LEN`] bytes is in memory, which is a hundredth of what was put aside.

use super::codec::{Reader, append_encoded};
use crate::error::Result;
use tidemark_engine::Spool;

/// A key is kept for the first record in each so many bytes.
const BLOCK_LEN: u64 = 4096;

/// Rows in order of their keys.
pub struct SortedRun {
    spool: Spool,
    /// The first key of each block, and where it begins.
    index: Vec<(Box<[u8]>, u64)>,
}

impl SortedRun {
    /// To be filled in order of key.
    pub fn new(spool: Spool) -> SortedRun {
        SortedRun {
            spool,
            index: Vec::new(),
        }
    }

    /// Adds a row, encoded, whose key is not less than the last one's.
    pub fn push(&mut self, key: &[u8], row: &[u8]) -> Result<()> {
        let at = self.spool.len();
        if self.index.last().is_none_or(|(_, last)| at - last >= BLOCK_LEN) {
            self.index.push((key.into(), at));
        }
        append_encoded(&mut self.spool, key, row)
    }

    /// Hands the rows that have the key to `f`, encoded, in the order in which they were sorted in, until it wants no more.
    pub fn lookup(&self, key: &[u8], f: &mut dyn FnMut(&[u8]) -> Result<bool>) -> Result<()> {
        // Rows of one key may begin at the end of the block before the first that begins with it.
        let after = self.index.partition_point(|(first, _)| first.as_ref() < key);
        let (_, from) = match self.index.get(after.saturating_sub(1)) {
            Some(block) => block,
            None => return Ok(()),
        };
        let mut reader = Reader::new(*from, self.spool.len());
        while reader.advance(&self.spool)? {
            match reader.key().cmp(key) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Greater => break,
                std::cmp::Ordering::Equal => {
                    if !f(reader.row())? {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Hands each row's key to `f`, in order.
    pub fn for_each_key(&self, f: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut reader = Reader::new(0, self.spool.len());
        while reader.advance(&self.spool)? {
            f(reader.key())?;
        }
        Ok(())
    }

    /// Whether a row has the key.
    pub fn contains(&self, key: &[u8]) -> Result<bool> {
        let mut found = false;
        self.lookup(key, &mut |_| {
            found = true;
            Ok(false)
        })?;
        Ok(found)
    }
}
