//! A record's way into the log, and the positions it passes.
//!
//! ```text
//!   tail        reserved up to here: the place of a record is one addition
//!   complete    copied into the ring, without a gap (`ring.rs`)
//!   written     with the operating system                              by a leader (`group.rs`)
//!   flushed     survives a power cut
//!   tide        every commit up to here is as durable as `flush_at_trx_commit` asks
//! ```
//!
//! Each is at or behind the one before it, except the tide, which follows the stage that a commit waits for. The tide
//! rises before `written` or `flushed` does, so a thread that finds itself covered finds the tide risen.

use super::Log;
use super::group::Stage;
use super::record::RECORD_MAX;
use crate::error::Result;
use crate::ids::Lsn;
use crate::sync::Ordering;

/// A mini-transaction's place in the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MtrLsn {
    /// Where its record begins: its address, for undo.
    pub start: Lsn,
    /// Where its record ends: its time.
    pub end: Lsn,
}

impl Log {
    /// Where the next record will begin.
    #[inline]
    pub fn tail(&self) -> Lsn {
        Lsn(self.tail.load(Ordering::SeqCst))
    }

    /// Everything before it is with the operating system.
    #[inline]
    pub fn written(&self) -> Lsn {
        Lsn(self.written.load(Ordering::Acquire))
    }

    /// Everything before it survives a power cut.
    #[inline]
    pub fn flushed(&self) -> Lsn {
        Lsn(self.flushed.load(Ordering::Acquire))
    }

    /// The highest position up to which every commit is complete, and as durable as `flush_at_trx_commit` asks. A read
    /// view is a copy of it.
    #[inline]
    pub fn tide(&self) -> Lsn {
        Lsn(self.tide.load(Ordering::SeqCst))
    }

    /// What a commit waits for; see [`set_flush_at_trx_commit`](Self::set_flush_at_trx_commit).
    #[inline]
    pub fn flush_at_trx_commit(&self) -> u8 {
        self.flush_at_trx_commit.load(Ordering::Relaxed)
    }

    /// The longest record the log takes: large mini-transactions must stay below it.
    #[inline]
    pub(crate) fn record_max(&self) -> usize {
        ((self.ring.len() / 2) as usize).min(RECORD_MAX)
    }

    /// Appends a finished record. `before_publish` is called with the record's end when its place is certain, before
    /// any other thread can learn of it. Only a full buffer makes this wait.
    #[inline]
    pub(crate) fn append(&self, record: &[u8], before_publish: impl FnOnce(Lsn)) -> MtrLsn {
        assert!(
            record.len() <= self.record_max(),
            "a mini-transaction of {} bytes",
            record.len()
        );
        let start = Lsn(self.tail.fetch_add(record.len() as u64, Ordering::SeqCst));
        let end = Lsn(start.0 + record.len() as u64);
        before_publish(end);
        if end.0 > self.written.load(Ordering::Acquire) + self.ring.len() && !self.wait_for_room(end) {
            return MtrLsn { start, end };
        }
        self.ring.fill(start, record);
        self.ring.publish(start, end);
        self.close_gap();
        MtrLsn { start, end }
    }

    /// False if the log has failed, so that what would be written goes nowhere.
    #[cold]
    fn wait_for_room(&self, end: Lsn) -> bool {
        self.room_waits.fetch_add(1, Ordering::Relaxed);
        self.wait_for(Lsn(end.0 - self.ring.len()), Stage::Written)
            .is_ok()
    }

    /// Returns when a commit at `lsn` is as durable as `flush_at_trx_commit` asks; the tide has then reached it.
    #[inline]
    pub fn wait_durable(&self, lsn: Lsn) -> Result<()> {
        if self.tide() >= lsn {
            return Ok(());
        }
        let stage = match self.flush_at_trx_commit() {
            0 => Stage::Complete,
            2 => Stage::Written,
            _ => Stage::Flushed,
        };
        if stage == Stage::Complete {
            self.ring.advance();
        }
        self.wait_for(lsn, stage)?;
        self.raise_tide(lsn);
        Ok(())
    }

    #[inline]
    fn raise_tide(&self, lsn: Lsn) {
        self.tide.fetch_max(lsn.0, Ordering::SeqCst);
    }

    /// The tide rises before the waiting threads can see why, so one that was covered finds it risen.
    pub(super) fn publish_written(&self, to: Lsn) {
        if self.flush_at_trx_commit() != 1 {
            self.raise_tide(to);
        }
        self.written.store(to.0, Ordering::Release);
    }

    pub(super) fn publish_flushed(&self, to: Lsn) {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.raise_tide(to);
        self.flushed.store(to.0, Ordering::Release);
    }

    pub(super) fn count_wait(&self) {
        self.waits.fetch_add(1, Ordering::Relaxed);
    }
}
