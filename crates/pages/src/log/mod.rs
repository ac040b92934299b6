//! The redo log, and with it time: a position in the log is a moment, and the *tide* is the moment up to which every
//! commit is complete (and, at the default setting, durable).
//!
//! A record's life: its place is reserved by one addition to the tail, it is copied into the ring and linked
//! (`ring.rs`), written and synced by a leader for all that wait (`group.rs`) into segments (`segments.rs`), read back by
//! recovery or undo (`reader.rs`), which tells the log's end from damage (`end.rs`), and its segment is recycled when a checkpoint has passed it.
//!
//! A write or sync of the log that fails is fatal: what the file then holds is unknown, and trying again would only hide
//! it. The process stops; what was acknowledged is on disk.

mod append;
mod end;
mod group;
mod open_segments;
mod reader;
mod record;
mod ring;
#[cfg(test)]
mod ring_tests;
mod segments;
mod undo_room;

pub use append::MtrLsn;
pub(crate) use end::{DurableProof, check_end, proof_behind};
pub use reader::Reader;
#[cfg(test)]
pub(crate) use record::first_word_at;
pub(crate) use record::{Mark, RECORD_ALIGN, RECORD_HEADER, RecordedOp};
pub use record::{Record, TxnNote};
pub(crate) use record::{finish as finish_record, push_op};
pub(crate) use segments::Segments;

use crate::error::{Error, Result};
use crate::ids::Lsn;
use crate::waits::{Wait, timed};
use crossbeam_utils::CachePadded;
use group::{GroupCommit, Stage};
use parking_lot::{Condvar, Mutex};
use reader::AHEAD_ONE;
use ring::Ring;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use undo_room::UndoRoom;

/// The first position of a new log; 0 stands for none.
pub(crate) const LOG_START: Lsn = Lsn(4096);
/// The smallest buffer: holds the largest record several times over.
const BUFFER_MIN: u64 = 1 << 20;

/// For how long room in the log is waited for while pages cannot be written.
const TROUBLED_MAX: Duration = Duration::from_secs(3);

/// What happens when the log cannot be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnFailure {
    /// Say why and end the process: the only safe thing a server can do.
    Abort,
    /// Refuse everything from now on; for tests, which want to look at what is left.
    Refuse,
}

/// How the log is to work.
#[derive(Clone, Debug)]
pub struct LogConfig {
    /// Size of the buffer; rounded up to a power of two, and at least a mebibyte.
    pub buffer_bytes: u64,
    /// What a commit waits for: 1 the disk, 2 the operating system, 0 nothing.
    pub flush_at_trx_commit: u8,
    /// What happens when the log cannot be written.
    pub on_failure: OnFailure,
}

/// The redo log of an open store.
pub struct Log {
    // What changes often does not share a cache line with what is read often.
    tail: CachePadded<AtomicU64>,
    written: CachePadded<AtomicU64>,
    flushed: CachePadded<AtomicU64>,
    tide: CachePadded<AtomicU64>,
    /// A mini-transaction may begin while the tail is below; see `admit`.
    admit_until: CachePadded<AtomicU64>,
    ring: Ring,
    segments: Segments,
    group: GroupCommit,
    epoch: u32,
    flush_at_trx_commit: AtomicU8,
    on_failure: OnFailure,
    failed: AtomicBool,
    admission: Admission,
    undo_room: UndoRoom,
    opened_at: Lsn,
    syncs: AtomicU64,
    waits: AtomicU64,
    room_waits: AtomicU64,
}

#[derive(Default)]
struct Admission {
    state: Mutex<AdmissionState>,
    changed: Condvar,
}

#[derive(Default)]
struct AdmissionState {
    disk_full: bool,
    /// How often room was made, or could not be.
    attempts: u64,
}

/// The log's positions, and counters since it was opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogStatus {
    /// Where the next record will begin.
    pub tail: Lsn,
    /// Everything before it is with the operating system.
    pub written: Lsn,
    /// Everything before it survives a power cut.
    pub flushed: Lsn,
    /// The moment up to which every commit is complete.
    pub tide: Lsn,
    /// Where the log went on when it was opened.
    pub opened_at: Lsn,
    /// Syncs since the log was opened.
    pub syncs: u64,
    /// Times a thread slept until another had written for it.
    pub waits: u64,
    /// Times a thread found the buffer full and waited for some of it to be written.
    pub room_waits: u64,
}

impl Log {
    /// A log that goes on at `end`, where recovery found the old one to end.
    pub(crate) fn open(segments: Segments, config: &LogConfig, epoch: u32, end: Lsn) -> Log {
        let buffer = config.buffer_bytes.max(BUFFER_MIN).next_power_of_two();
        let at = || CachePadded::new(AtomicU64::new(end.0));
        Log {
            tail: at(),
            written: at(),
            flushed: at(),
            tide: at(),
            admit_until: CachePadded::new(AtomicU64::new(u64::MAX)),
            ring: Ring::new(buffer as usize, end, segments.mark().of(epoch)),
            segments,
            group: GroupCommit::default(),
            epoch,
            flush_at_trx_commit: AtomicU8::new(config.flush_at_trx_commit),
            on_failure: config.on_failure,
            failed: AtomicBool::new(false),
            admission: Admission::default(),
            undo_room: UndoRoom::default(),
            opened_at: end,
            syncs: AtomicU64::new(0),
            waits: AtomicU64::new(0),
            room_waits: AtomicU64::new(0),
        }
    }

    /// The number of this start, which every record written since bears.
    #[inline]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// 1: a commit is durable before it is acknowledged. 2: it is with the operating system. 0: it is in the buffer.
    /// With 2 and 0 the caller has a thread that calls [`flush`](Self::flush) once a second.
    pub fn set_flush_at_trx_commit(&self, mode: u8) {
        self.flush_at_trx_commit.store(mode, Ordering::Relaxed);
    }

    /// The log's positions and counters now.
    pub fn status(&self) -> LogStatus {
        LogStatus {
            tail: self.tail(),
            written: self.written(),
            flushed: self.flushed(),
            tide: self.tide(),
            opened_at: self.opened_at,
            syncs: self.syncs.load(Ordering::Relaxed),
            waits: self.waits.load(Ordering::Relaxed),
            room_waits: self.room_waits.load(Ordering::Relaxed),
        }
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
        let mut reader = Reader::new(&self.segments, lsn, AHEAD_ONE);
        let record = reader.next()?.cloned();
        record.ok_or_else(|| Error::corrupt(None, format!("no log record begins at {lsn}")))
    }

    /// Reads on from the record that begins at `lsn`, up to what is on disk.
    pub fn reader(&self, lsn: Lsn) -> Reader<'_> {
        self.segments.reader(lsn)
    }

    /// Has the records that are about to be written at `from` say up to where the log is on disk.
    fn vouch(&self, from: Lsn, records: &mut [u8]) {
        record::vouch(records, from, self.flushed(), self.segments.mark().of(self.epoch));
    }

    /// The files of the log.
    pub(crate) fn segments(&self) -> &Segments {
        &self.segments
    }

    /// Ok while the log works.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.failed.load(Ordering::Acquire) {
            return Err(Error::Stopped("the log could not be written".into()));
        }
        Ok(())
    }

    /// Whether a full disk is waited for; a test wants to be told.
    pub(super) fn waits_for_room(&self) -> bool {
        self.on_failure == OnFailure::Abort
    }

    /// Something else without which nothing goes on has failed.
    pub(crate) fn give_up(&self, why: &str) {
        self.fail(why, Error::Stopped(why.into()));
    }

    fn fail(&self, doing: &str, error: Error) -> Error {
        if self.on_failure == OnFailure::Abort {
            ::log::error!("{doing} failed: {error}. What was acknowledged is safe; stopping.");
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
        self.tail().0 >= self.admit_until.load(Ordering::Relaxed)
    }

    /// Whether the segments made ahead are running out.
    pub(crate) fn is_short_of_room(&self) -> bool {
        let tail = self.tail();
        self.segments.end(tail).0 < tail.0 + 2 * self.ring.len()
            || self.undo_room.is_short(self.segments.size() / 2)
    }

    /// Returns when there is room for another mini-transaction. `wake` asks for a checkpoint, and says what keeps the page
    /// cleaner from one; after some seconds of that, waiting ends with that error. `check` ends it early. To be called while
    /// holding nothing.
    #[inline]
    pub(crate) fn admit(
        &self,
        wake: impl Fn() -> Option<Error>,
        check: impl Fn() -> Result<()>,
    ) -> Result<()> {
        if self.tail.load(Ordering::Relaxed) < self.admit_until.load(Ordering::Relaxed) {
            return self.check();
        }
        self.wait_for_admission(wake, check)
    }

    #[cold]
    fn wait_for_admission(
        &self,
        wake: impl Fn() -> Option<Error>,
        check: impl Fn() -> Result<()>,
    ) -> Result<()> {
        let since = Instant::now();
        let mut attempts = None;
        loop {
            self.check()?;
            check()?;
            let trouble = wake();
            let mut state = self.admission.state.lock();
            if self.tail().0 < self.admit_until.load(Ordering::Relaxed) {
                return Ok(());
            }
            // What was found earlier may have changed since: one attempt is under way, the next is ours.
            let from = *attempts.get_or_insert(state.attempts);
            if state.disk_full && state.attempts >= from + 2 {
                return Err(Error::DiskFull);
            }
            if let Some(trouble) = trouble
                && since.elapsed() > TROUBLED_MAX
            {
                return Err(trouble);
            }
            timed(Wait::LogRoom, || {
                self.admission
                    .changed
                    .wait_for(&mut state, Duration::from_millis(100))
            });
        }
    }

    /// Makes segments ahead and says up to where mini-transactions may begin: where there is room on disk, and no
    /// further than `capacity` bytes from `redo_from`, where recovery would begin. Also sees to the spare segments that undoing
    /// may need; with `trim`, those go that it does not.
    pub(crate) fn make_room(&self, keep_from: Lsn, redo_from: Lsn, capacity: u64, trim: bool) -> Result<()> {
        let tail = self.tail();
        let ahead = 2 * self.ring.len() + self.segments.size();
        let reserved = self.undo_room.reserved();
        let prepared = self
            .segments
            .prepare(keep_from, tail, Lsn(tail.0 + ahead), capacity, reserved);
        let (spare, spared) = self.segments.spare(reserved + self.segments.size(), trim);
        let end = self.segments.end(tail);
        // Those admitted that have not reached the tail yet may together take a buffer.
        let until = (end.0.saturating_sub(self.ring.len())).min(redo_from.0 + capacity);
        let mut state = self.admission.state.lock();
        self.admit_until.store(until, Ordering::Relaxed);
        state.disk_full = prepared.is_err();
        state.attempts += 1;
        self.undo_room.set_backed(spare, spared.is_err());
        self.admission.changed.notify_all();
        prepared.and(spared)
    }
}
