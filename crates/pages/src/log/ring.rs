//! The log's buffer: places are handed out by one addition and filled in parallel.
//!
//! The buffer is a ring over the log's positions. Behind it runs a ring of *links* (as in MySQL 8's redo log): a record
//! that is complete stores its end in the slot of its start. Following the links from where one was tells up to where
//! the log has no gap.
//!
//! Links are never cleared. A slot holds either the end of a record that started a lap or more ago, which lies at or
//! before its start, or, for a follower that slept through a lap, one more than a lap ahead; both are told from a true
//! link by their distance. That needs a record to be shorter than the ring, and a place to be filled only once what
//! stood there a lap ago is written.

use super::record::{RECORD_ALIGN, first_word_at};
use crate::ids::Lsn;
use crate::sync::{AtomicU64, Ordering};

pub struct Ring {
    words: Box<[AtomicU64]>,
    links: Box<[AtomicU64]>,
    /// The log has no gap up to here.
    complete: AtomicU64,
    /// The directory's, for the records' checksums.
    mark: u32,
}

fn zeros(count: usize) -> Box<[AtomicU64]> {
    (0..count).map(|_| AtomicU64::new(0)).collect()
}

impl Ring {
    /// A ring of `bytes` bytes, a power of two, starting at `start`.
    pub fn new(bytes: usize, start: Lsn, mark: u32) -> Ring {
        assert!(bytes.is_power_of_two());
        Ring {
            words: zeros(bytes / 8),
            links: zeros(bytes / RECORD_ALIGN as usize),
            complete: AtomicU64::new(start.0),
            mark,
        }
    }

    #[inline]
    pub fn len(&self) -> u64 {
        self.words.len() as u64 * 8
    }

    #[inline]
    fn word(&self, lsn: u64) -> &AtomicU64 {
        &self.words[(lsn / 8) as usize & (self.words.len() - 1)]
    }

    #[inline]
    fn link(&self, lsn: u64) -> &AtomicU64 {
        &self.links[(lsn / RECORD_ALIGN) as usize & (self.links.len() - 1)]
    }

    /// Fills a place that was reserved and is free.
    #[inline]
    pub fn fill(&self, lsn: Lsn, record: &[u8]) {
        debug_assert!(
            lsn.0.is_multiple_of(RECORD_ALIGN) && (record.len() as u64).is_multiple_of(RECORD_ALIGN)
        );
        self.word(lsn.0)
            .store(first_word_at(record, lsn, self.mark), Ordering::Relaxed);
        let mut at = lsn.0 + 8;
        for word in record[8..].chunks_exact(8) {
            let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
            self.word(at).store(word, Ordering::Relaxed);
            at += 8;
        }
    }

    /// Says that the place is filled. Sequentially consistent, because a leader that waits for just this link announces
    /// itself and looks again (`group.rs`).
    #[inline]
    pub fn publish(&self, start: Lsn, end: Lsn) {
        self.link(start.0).store(end.0, Ordering::SeqCst);
    }

    #[inline]
    pub fn complete(&self) -> Lsn {
        Lsn(self.complete.load(Ordering::Acquire))
    }

    /// Follows the links and returns the position up to which the log has no gap. Any thread may call it at any time.
    pub fn advance(&self) -> Lsn {
        let from = self.complete.load(Ordering::SeqCst);
        let mut at = from;
        loop {
            let end = self.link(at).load(Ordering::SeqCst);
            if end <= at || end > at + self.len() {
                break;
            }
            at = end;
        }
        if at == from {
            return Lsn(from);
        }
        Lsn(self.complete.fetch_max(at, Ordering::SeqCst).max(at))
    }

    /// Copies complete bytes out.
    pub fn copy_out(&self, from: Lsn, to: Lsn, out: &mut Vec<u8>) {
        out.clear();
        out.reserve((to.0 - from.0) as usize);
        let mut at = from.0;
        while at < to.0 {
            out.extend_from_slice(&self.word(at).load(Ordering::Relaxed).to_le_bytes());
            at += 8;
        }
    }
}
