//! The redo log, and with it time: a position in the log is a moment, and the *tide* is the moment up to which every
//! commit is complete (and, at the default setting, durable).
//!
//! A record's life: its place is reserved by one addition to the tail, it is copied into the ring and linked
//! (`ring.rs`), written and synced by a leader for all who wait (`group.rs`) into segments (`segments.rs`), read back by
//! recovery or undo (`reader.rs`), and its segment is recycled when a checkpoint has passed it.
//!
//! A write or sync of the log that fails is fatal: what the file then holds is unknown, and trying again would only hide
//! it. The process stops; what was acknowledged is on disk.

mod group;
mod reader;
mod record;
mod ring;
mod segments;

pub use group::Stage;
pub use reader::Reader;
pub use record::{RECORD_HEADER, Record, RecordedOp, TxnNote};
pub(crate) use record::{finish as finish_record, push_op};
pub(crate) use segments::Segments;

use crate::error::{Error, Result};
use crate::ids::Lsn;
use group::Group;
use parking_lot::{Condvar, Mutex};
use reader::AHEAD_ONE;
use record::RECORD_MAX;
use ring::Ring;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

/// The first position of a new log; 0 stands for none.
pub const LOG_START: Lsn = Lsn(4096);
/// The smallest buffer: holds the largest record several times over.
pub const BUFFER_MIN: u64 = 1 << 20;

/// What happens when the log cannot be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnFailure {
    /// Say why and end the process: the only safe thing a server can do.
    Abort,
    /// Refuse everything from now on; for tests, which want to look at what is left.
    Refuse,
}

#[derive(Clone, Debug)]
pub struct LogConfig {
    pub buffer_bytes: u64,
    pub flush_at_trx_commit: u8,
    pub on_failure: OnFailure,
}

/// Alone on its cache line, so that what changes often does not slow down what is read often.
#[repr(align(128))]
#[derive(Default)]
struct Position(AtomicU64);

pub struct Log {
    tail: Position,
    written: Position,
    flushed: Position,
    tide: Position,
    /// A mini-transaction may begin while the tail is below; see `admit`.
    admit_until: Position,
    ring: Ring,
    segments: Segments,
    group: Group,
    epoch: u32,
    flush_at_trx_commit: AtomicU8,
    on_failure: OnFailure,
    failed: AtomicBool,
    admission: Admission,
    syncs: AtomicU64,
    waits: AtomicU64,
}

#[derive(Default)]
struct Admission {
    state: Mutex<AdmissionState>,
    changed: Condvar,
}

#[derive(Default)]
struct AdmissionState {
    disk_full: bool,
}

/// A mini-transaction's place in the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MtrLsn {
    /// Where its record begins: its address, for undo.
    pub start: Lsn,
    /// Where its record ends: its time.
    pub end: Lsn,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct LogStatus {
    pub tail: Lsn,
    pub written: Lsn,
    pub flushed: Lsn,
    pub tide: Lsn,
    pub syncs: u64,
    /// Times a thread slept until another had written for it.
    pub waits: u64,
}

impl Log {
    /// A log that goes on at `end`, where recovery found the old one to end.
    pub(crate) fn open(segments: Segments, config: &LogConfig, epoch: u32, end: Lsn) -> Log {
        let buffer = config.buffer_bytes.max(BUFFER_MIN).next_power_of_two();
        let at = || Position(AtomicU64::new(end.0));
        Log {
            tail: at(),
            written: at(),
            flushed: at(),
            tide: at(),
            admit_until: Position(AtomicU64::new(u64::MAX)),
            ring: Ring::new(buffer as usize, end),
            segments,
            group: Group::default(),
            epoch,
            flush_at_trx_commit: AtomicU8::new(config.flush_at_trx_commit),
            on_failure: config.on_failure,
            failed: AtomicBool::new(false),
            admission: Admission::default(),
            syncs: AtomicU64::new(0),
            waits: AtomicU64::new(0),
        }
    }

    /// Where the next record will begin.
    #[inline]
    pub fn tail(&self) -> Lsn {
        Lsn(self.tail.0.load(Ordering::SeqCst))
    }

    /// Everything before it is with the operating system.
    #[inline]
    pub fn written(&self) -> Lsn {
        Lsn(self.written.0.load(Ordering::Acquire))
    }

    /// Everything before it survives a power cut.
    #[inline]
    pub fn flushed(&self) -> Lsn {
        Lsn(self.flushed.0.load(Ordering::Acquire))
    }

    /// The highest position up to which every commit is complete, and as durable as `flush_at_trx_commit` asks. A read
    /// view is a copy of it.
    #[inline]
    pub fn tide(&self) -> Lsn {
        Lsn(self.tide.0.load(Ordering::SeqCst))
    }

    /// The tide itself, for those who need other orderings.
    pub fn tide_cell(&self) -> &AtomicU64 {
        &self.tide.0
    }

    #[inline]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    #[inline]
    pub fn flush_at_trx_commit(&self) -> u8 {
        self.flush_at_trx_commit.load(Ordering::Relaxed)
    }

    /// 1: a commit is durable before it is acknowledged. 2: it is with the operating system. 0: it is in the buffer.
    /// With 2 and 0 somebody calls [`flush`](Self::flush) once a second.
    pub fn set_flush_at_trx_commit(&self, mode: u8) {
        self.flush_at_trx_commit.store(mode, Ordering::Relaxed);
    }

    pub fn status(&self) -> LogStatus {
        LogStatus {
            tail: self.tail(),
            written: self.written(),
            flushed: self.flushed(),
            tide: self.tide(),
            syncs: self.syncs.load(Ordering::Relaxed),
            waits: self.waits.load(Ordering::Relaxed),
        }
    }

    /// The longest record the log takes: whoever builds large mini-transactions must stop below.
    #[inline]
    pub fn record_max(&self) -> usize {
        ((self.ring.len() / 2) as usize).min(RECORD_MAX)
    }

    /// Appends a finished record. `before_publish` runs with the record's end when its place is certain and nobody can
    /// have been told of it yet. Only a full buffer makes this wait.
    #[inline]
    pub(crate) fn append(&self, record: &[u8], before_publish: impl FnOnce(Lsn)) -> MtrLsn {
        assert!(
            record.len() <= self.record_max(),
            "a mini-transaction of {} bytes",
            record.len()
        );
        let start = Lsn(self.tail.0.fetch_add(record.len() as u64, Ordering::SeqCst));
        let end = Lsn(start.0 + record.len() as u64);
        before_publish(end);
        if end.0 > self.written.0.load(Ordering::Acquire) + self.ring.len() && !self.wait_for_room(end) {
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

    /// Returns when everything before `lsn` survives a power cut, whatever `flush_at_trx_commit` says.
    pub fn flush(&self, lsn: Lsn) -> Result<()> {
        self.wait_for(lsn, Stage::Flushed)
    }

    /// Writes and syncs everything so far.
    pub fn flush_all(&self) -> Result<()> {
        self.flush(self.tail())
    }

    /// Syncs the log although nothing may be new: an error means that it can be written no more.
    pub(crate) fn probe(&self) -> Result<()> {
        self.check()?;
        let at = self.flushed();
        self.segments
            .sync(at, Lsn(at.0 + 1))
            .map_err(|e| self.fail("syncing the log", e))
    }

    /// Reads back the record that begins at `lsn`, for undo.
    pub fn read_record(&self, lsn: Lsn) -> Result<Record> {
        // Enough to know its header is written; the reader says if the rest is missing.
        self.wait_for(Lsn(lsn.0 + RECORD_HEADER as u64), Stage::Written)?;
        let record = Reader::new(&self.segments, lsn, AHEAD_ONE).next()?;
        record.ok_or_else(|| Error::corrupt(None, format!("no log record begins at {lsn}")))
    }

    /// Reads on from the record that begins at `lsn`, up to what is on disk.
    pub fn reader(&self, lsn: Lsn) -> Reader<'_> {
        self.segments.reader(lsn)
    }

    #[inline]
    fn raise_tide(&self, lsn: Lsn) {
        self.tide.0.fetch_max(lsn.0, Ordering::SeqCst);
    }

    /// The tide rises before those who wait can see why, so whoever was covered finds it risen.
    fn publish_written(&self, to: Lsn) {
        if self.flush_at_trx_commit() != 1 {
            self.raise_tide(to);
        }
        self.written.0.store(to.0, Ordering::Release);
    }

    fn publish_flushed(&self, to: Lsn) {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.raise_tide(to);
        self.flushed.0.store(to.0, Ordering::Release);
    }

    fn count_wait(&self) {
        self.waits.fetch_add(1, Ordering::Relaxed);
    }

    /// Ok while the log works.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.failed.load(Ordering::Acquire) {
            return Err(Error::Stopped("the log could not be written".into()));
        }
        Ok(())
    }

    fn fail(&self, doing: &str, error: Error) -> Error {
        if self.on_failure == OnFailure::Abort {
            eprintln!("tidemark: {doing} failed: {error}. What was acknowledged is safe; stopping.");
            std::process::abort();
        }
        self.failed.store(true, Ordering::SeqCst);
        self.close_gap();
        drop(self.admission.state.lock());
        self.admission.changed.notify_all();
        error
    }
}

/// Keeping the log within its capacity.
impl Log {
    /// Whether mini-transactions must wait for a checkpoint.
    pub(crate) fn is_full(&self) -> bool {
        self.tail().0 >= self.admit_until.0.load(Ordering::Relaxed)
    }

    /// Whether the segments made ahead are running out.
    pub(crate) fn is_short_of_room(&self) -> bool {
        let tail = self.tail();
        self.segments.end(tail).0 < tail.0 + 2 * self.ring.len()
    }

    /// Returns when there is room for another mini-transaction. `wake` asks for a checkpoint. To be called while holding
    /// nothing.
    #[inline]
    pub(crate) fn admit(&self, wake: impl Fn()) -> Result<()> {
        if self.tail.0.load(Ordering::Relaxed) < self.admit_until.0.load(Ordering::Relaxed) {
            return self.check();
        }
        self.wait_for_admission(wake)
    }

    #[cold]
    fn wait_for_admission(&self, wake: impl Fn()) -> Result<()> {
        loop {
            self.check()?;
            wake();
            let mut state = self.admission.state.lock();
            if self.tail().0 < self.admit_until.0.load(Ordering::Relaxed) {
                return Ok(());
            }
            if state.disk_full {
                return Err(Error::DiskFull);
            }
            self.admission
                .changed
                .wait_for(&mut state, Duration::from_millis(100));
        }
    }

    /// Makes segments ahead and says up to where mini-transactions may begin: where there is room on disk, and no
    /// further than `capacity` bytes from `redo_from`, where recovery would begin.
    pub(crate) fn make_room(&self, keep_from: Lsn, redo_from: Lsn, capacity: u64) -> Result<()> {
        let tail = self.tail();
        let ahead = 2 * self.ring.len() + self.segments.size();
        let prepared = self
            .segments
            .prepare(keep_from, tail, Lsn(tail.0 + ahead), capacity);
        let end = self.segments.end(tail);
        // Those admitted that have not reached the tail yet may together take a buffer.
        let until = (end.0.saturating_sub(self.ring.len())).min(redo_from.0 + capacity);
        let mut state = self.admission.state.lock();
        self.admit_until.0.store(until, Ordering::Relaxed);
        state.disk_full = prepared.is_err();
        self.admission.changed.notify_all();
        prepared
    }
}
