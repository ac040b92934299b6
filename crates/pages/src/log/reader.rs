//! Reading the log from files: record after record, up to the first that is none.

use super::record::{RECORD_HEADER, Record, claimed_len};
use super::segments::Segments;
use crate::error::{Error, Result};
use crate::ids::Lsn;

/// Reads records one after the other, as far as they are valid.
pub struct Reader<'l> {
    segments: &'l Segments,
    at: Lsn,
    epoch: u32,
    ahead_len: usize,
    /// What was read ahead, beginning at `ahead_at`.
    ahead: Vec<u8>,
    ahead_at: Lsn,
    /// The record found last, or a blank one.
    record: Record,
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
            record: Record::default(),
        }
    }

    /// Records of an older epoch than this end the log.
    pub(crate) fn not_before(self, epoch: u32) -> Reader<'l> {
        Reader { epoch, ..self }
    }

    /// Where the next record begins; after `None`, where the log ends.
    pub fn position(&self) -> Lsn {
        self.at
    }

    /// The next record, which stays here until the one after it is asked for; `None` at the end of the log.
    #[allow(
        clippy::should_implement_trait,
        reason = "unlike an iterator's, it returns an error when reading fails, and lends what it finds"
    )]
    pub fn next(&mut self) -> Result<Option<&Record>> {
        let Some(header) = self.bytes(RECORD_HEADER)? else {
            return Ok(None);
        };
        let header = header.try_into().expect("a header's length");
        let Some(len) = claimed_len(header) else {
            return Ok(None);
        };
        // Its memory is used again: a recovery reads millions of records.
        let mut memory = std::mem::take(&mut self.record).into_bytes();
        let Some(bytes) = self.bytes(len)? else {
            return Ok(None);
        };
        memory.clear();
        memory.extend_from_slice(bytes);
        let Some(record) = Record::parse(self.at, memory, self.segments.mark()) else {
            return Ok(None);
        };
        if record.epoch() < self.epoch {
            return Ok(None);
        }
        self.epoch = record.epoch();
        self.at = record.end;
        self.record = record;
        Ok(Some(&self.record))
    }

    /// The next record, which was there when the log was found to go on up to `end`.
    pub(crate) fn next_before(&mut self, end: Lsn) -> Result<&Record> {
        let at = self.at;
        let gone = || {
            let what = format!(
                "the log's record at {at} is none any more, but the log was whole up to {end} a moment ago"
            );
            Error::corrupt(None, what)
        };
        self.next()?.ok_or_else(gone)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::sim::SimDisk;
    use crate::ids::PageId;
    use crate::log::record::{Mark, finish, first_word_at, push_op};
    use std::sync::Arc;

    const SEGMENT: u64 = 4096;

    /// A record as it stands in the file at `lsn`.
    fn record(lsn: Lsn, epoch: u32, arguments: usize) -> Vec<u8> {
        let mut bytes = vec![0; RECORD_HEADER];
        push_op(&mut bytes, PageId(1), 99, |out| {
            out.resize(out.len() + arguments, 7)
        });
        let ops_len = bytes.len() - RECORD_HEADER;
        finish(&mut bytes, ops_len, None, epoch, Lsn::ZERO);
        let word = first_word_at(&bytes, lsn, 0);
        bytes[..8].copy_from_slice(&word.to_le_bytes());
        bytes
    }

    fn segments() -> Segments {
        let segments = Segments::open(Arc::new(SimDisk::new(1)), SEGMENT, Mark::default()).unwrap();
        segments
            .prepare(Lsn(SEGMENT), Lsn(SEGMENT), Lsn(4 * SEGMENT), 0, 0)
            .unwrap();
        segments
    }

    fn read_all(segments: &Segments, from: Lsn) -> (Vec<Lsn>, Lsn) {
        let mut reader = segments.reader(from);
        let mut found = Vec::new();
        while let Some(record) = reader.next().unwrap() {
            found.push(record.lsn);
        }
        (found, reader.position())
    }

    /// Writes records of this length one behind the other; says where each begins, and where they end.
    fn write(segments: &Segments, mut lsn: Lsn, epoch: u32, arguments: &[usize]) -> Vec<Lsn> {
        let mut places = Vec::new();
        for &arguments in arguments {
            let bytes = record(lsn, epoch, arguments);
            segments.write(lsn, &bytes).unwrap();
            places.push(lsn);
            lsn = Lsn(lsn.0 + bytes.len() as u64);
        }
        places.push(lsn);
        places
    }

    #[test]
    fn records_are_read_across_segments_up_to_the_first_gap() {
        let segments = segments();
        let places = write(&segments, Lsn(SEGMENT), 1, &[10, 5000, 0, 3000]);
        let (found, end) = read_all(&segments, Lsn(SEGMENT));
        assert_eq!((&found[..], end), (&places[..4], places[4]));
        segments.write(Lsn(places[2].0 + 20), &[0xEE]).unwrap();
        assert_eq!(
            read_all(&segments, Lsn(SEGMENT)),
            (places[..2].to_vec(), places[2])
        );
    }

    /// A run crashed leaving records behind a gap; the next run's first record happens to end where one of them begins.
    #[test]
    fn what_a_former_run_left_behind_a_gap_is_no_continuation() {
        let segments = segments();
        let old = write(&segments, Lsn(SEGMENT), 1, &[10, 100, 20]);
        segments.write(old[1], &[0; 140]).unwrap();
        assert_eq!(read_all(&segments, Lsn(SEGMENT)).1, old[1]);
        let mut nothing_yet = segments.reader(old[2]).not_before(2);
        assert!(nothing_yet.next().unwrap().is_none(), "nor is it a beginning");
        let new = write(&segments, old[1], 2, &[100]);
        assert_eq!(new[1], old[2], "the old record begins just there");
        assert_eq!(read_all(&segments, Lsn(SEGMENT)), (vec![old[0], old[1]], new[1]));
    }

    /// A recycled segment still holds, at the same offsets, the records of an earlier time.
    #[test]
    fn what_a_segment_held_before_it_was_recycled_is_nothing() {
        let segments = segments();
        let old = record(Lsn(SEGMENT), 1, 200);
        segments.write(Lsn(2 * SEGMENT), &old).unwrap();
        assert_eq!(read_all(&segments, Lsn(2 * SEGMENT)), (vec![], Lsn(2 * SEGMENT)));
    }
}
