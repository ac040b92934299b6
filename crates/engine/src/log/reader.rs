//! Reading the log from files: record after record, up to the first that is none.

use super::record::{RECORD_HEADER, Record, claimed_len};
use super::segments::Segments;
use crate::error::Result;
use crate::ids::Lsn;

pub struct Reader<'l> {
    segments: &'l Segments,
    at: Lsn,
    epoch: u32,
    ahead_len: usize,
    /// What was read ahead, beginning at `ahead_at`.
    ahead: Vec<u8>,
    ahead_at: Lsn,
}

/// Read at once where one record is wanted, and where many are.
pub const AHEAD_ONE: usize = 4 << 10;
pub const AHEAD_MANY: usize = 256 << 10;

impl<'l> Reader<'l> {
    pub(super) fn new(segments: &'l Segments, at: Lsn, ahead_len: usize) -> Reader<'l> {
        Reader {
            segments,
            at,
            epoch: 0,
            ahead_len,
            ahead: Vec::new(),
            ahead_at: at,
        }
    }

    /// Where the next record begins; after `None`, where the log ends.
    pub fn position(&self) -> Lsn {
        self.at
    }

    /// The next record; `None` at the end of the log.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Record>> {
        let Some(header) = self.bytes(RECORD_HEADER)? else {
            return Ok(None);
        };
        let header = header.try_into().expect("a header's length");
        let Some(len) = claimed_len(header) else {
            return Ok(None);
        };
        let at = self.at;
        let Some(bytes) = self.bytes(len)? else {
            return Ok(None);
        };
        let Some(record) = Record::parse(at, bytes.to_vec()) else {
            return Ok(None);
        };
        if record.epoch() < self.epoch {
            return Ok(None);
        }
        self.epoch = record.epoch();
        self.at = record.end;
        Ok(Some(record))
    }

    /// The next bytes; `None` if the files end before.
    fn bytes(&mut self, len: usize) -> Result<Option<&[u8]>> {
        let offset = (self.at.0 - self.ahead_at.0) as usize;
        if offset + len <= self.ahead.len() {
            return Ok(Some(&self.ahead[offset..offset + len]));
        }
        self.ahead_at = self.at;
        self.ahead.resize(len.max(self.ahead_len), 0);
        if !self.segments.read(self.at, &mut self.ahead)? {
            // Less than a whole stretch is left; read just what is asked for.
            self.ahead.truncate(len);
            if !self.segments.read(self.at, &mut self.ahead)? {
                self.ahead.clear();
                return Ok(None);
            }
        }
        Ok(Some(&self.ahead[..len]))
    }
}
