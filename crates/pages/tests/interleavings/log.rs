//! A log of few bytes: the way of a record, the ring and the group commit are the real ones. Segments are a vector.

#[path = "../../src/log/append.rs"]
#[allow(dead_code)]
mod append;
#[path = "../../src/log/group.rs"]
#[allow(dead_code)]
mod group;
#[path = "../../src/log/ring.rs"]
mod ring;

/// Records of 16 bytes, all of it content.
mod record {
    use crate::ids::Lsn;

    pub const RECORD_ALIGN: u64 = 16;
    pub const RECORD_MAX: usize = 1 << 24;

    pub fn first_word_at(record: &[u8], _: Lsn, _: u32) -> u64 {
        u64::from_le_bytes(record[..8].try_into().unwrap())
    }
}

use crate::error::{Error, Result};
use crate::ids::Lsn;
use crate::sync::AtomicU64;
use crate::{model, within};
use group::GroupCommit;
use loom::thread;
use ring::Ring;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64 as Count, Ordering};
use std::sync::{Arc, Mutex};

const START: Lsn = Lsn(64);

/// What is on disk: the bytes written, from `START` on, and how many of them for certain.
#[derive(Default)]
struct Segments(Mutex<(Vec<u8>, usize)>);

impl Segments {
    fn write(&self, from: Lsn, data: &[u8]) -> Result<()> {
        let mut disk = self.0.lock().unwrap();
        assert_eq!(from.0, START.0 + disk.0.len() as u64, "the log has no gap");
        disk.0.extend_from_slice(data);
        Ok(())
    }

    fn sync(&self, _from: Lsn, _to: Lsn) -> Result<()> {
        let mut disk = self.0.lock().unwrap();
        disk.1 = disk.0.len();
        Ok(())
    }

    fn certain(&self) -> Lsn {
        Lsn(START.0 + self.0.lock().unwrap().1 as u64)
    }
}

struct Log {
    tail: AtomicU64,
    written: AtomicU64,
    flushed: AtomicU64,
    tide: AtomicU64,
    ring: Ring,
    segments: Segments,
    group: GroupCommit,
    flush_at_trx_commit: AtomicU8,
    failed: AtomicBool,
    syncs: Count,
    waits: Count,
    room_waits: Count,
}

impl Log {
    fn waits_for_room(&self) -> bool {
        false
    }

    fn new(buffer_bytes: usize, flush_at_trx_commit: u8) -> Arc<Log> {
        let at = || AtomicU64::new(START.0);
        Arc::new(Log {
            tail: at(),
            written: at(),
            flushed: at(),
            tide: at(),
            ring: Ring::new(buffer_bytes, START, 0),
            segments: Segments::default(),
            group: GroupCommit::default(),
            flush_at_trx_commit: AtomicU8::new(flush_at_trx_commit),
            failed: AtomicBool::new(false),
            syncs: Count::new(0),
            waits: Count::new(0),
            room_waits: Count::new(0),
        })
    }

    /// What records say is none of these models' business.
    fn vouch(&self, _from: Lsn, _records: &mut [u8]) {}

    fn check(&self) -> Result<()> {
        match self.failed.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(Error::Stopped(String::new())),
        }
    }

    fn fail(&self, _doing: &str, error: Error) -> Error {
        self.failed.store(true, Ordering::Relaxed);
        error
    }

    fn append_one(&self, mark: u64) -> append::MtrLsn {
        self.append(&record_of(mark), |_| {})
    }

    /// A commit: at its return its record is as durable as the log's mode says, and below the tide.
    fn commit(&self, mark: u64) {
        let lsn = self.append_one(mark);
        self.wait_durable(lsn.end).unwrap();
        assert!(self.tide() >= lsn.end, "a view taken now sees it");
        if self.flush_at_trx_commit() == 1 {
            assert!(self.segments.certain() >= lsn.end, "a power cut leaves it");
        }
    }

    /// The marks on disk, in the order of the log.
    fn marks(&self) -> Vec<u64> {
        let disk = self.segments.0.lock().unwrap();
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
        let marks = disk.0.chunks_exact(16).map(|record| {
            assert_eq!(word(&record[..8]), word(&record[8..]), "a record is whole");
            word(&record[..8])
        });
        marks.collect()
    }
}

fn record_of(mark: u64) -> [u8; 16] {
    let mut record = [0; 16];
    record[..8].copy_from_slice(&mark.to_le_bytes());
    record[8..].copy_from_slice(&mark.to_le_bytes());
    record
}

// -------------------------------------------------------------------------------------------------------------- ring

/// Fails if a record is linked with less than a release.
#[test]
fn what_is_linked_is_filled() {
    model(within(3), || {
        let ring = Arc::new(Ring::new(64, START, 0));
        let writers: Vec<_> = (0..2)
            .map(|n| {
                let ring = ring.clone();
                let start = Lsn(START.0 + n * 16);
                thread::spawn(move || {
                    ring.fill(start, &record_of(n + 1));
                    ring.publish(start, Lsn(start.0 + 16));
                })
            })
            .collect();
        let mut out = Vec::new();
        let complete = ring.advance();
        ring.copy_out(START, complete, &mut out);
        for (n, record) in (1..).zip(out.chunks_exact(16)) {
            assert_eq!(record, record_of(n));
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert_eq!(ring.advance(), Lsn(START.0 + 32));
    });
}

/// Fails if a place is filled before what stood there a lap ago is written.
#[test]
fn a_full_ring_makes_room_by_being_written() {
    model(within(2), || {
        let log = Log::new(32, 1);
        let writer = {
            let log = log.clone();
            thread::spawn(move || {
                log.append_one(1);
                log.append_one(2);
            })
        };
        let last = log.append_one(3);
        writer.join().unwrap();
        log.wait_for(last.end.max(log.tail()), group::Stage::Flushed)
            .unwrap();
        let mut marks = log.marks();
        marks.sort_unstable();
        assert_eq!(marks, [1, 2, 3]);
    });
}

// ------------------------------------------------------------------------------------------------------------- group

/// Fails if a record is linked before it is filled, if a leader that leaves does not hand the lead on, and if a thread that
/// begins to lead does not say so.
#[test]
fn every_commit_returns_and_is_on_disk() {
    model(within(2), || {
        let log = Log::new(64, 1);
        let others: Vec<_> = (1..3)
            .map(|mark| {
                let log = log.clone();
                thread::spawn(move || log.commit(mark))
            })
            .collect();
        log.commit(3);
        others.into_iter().for_each(|other| other.join().unwrap());
        let mut marks = log.marks();
        marks.sort_unstable();
        assert_eq!(marks, [1, 2, 3]);
    });
}

/// Fails if a leader sleeps over a gap without looking at the links after it has announced itself, and if the thread that closes
/// a gap looks for a leader with less than sequential consistency.
#[test]
fn a_leader_that_sleeps_over_a_gap_is_woken() {
    model(within(3), || {
        let log = Log::new(64, 1);
        let copier = {
            let log = log.clone();
            thread::spawn(move || {
                log.append_one(1);
            })
        };
        log.commit(2);
        copier.join().unwrap();
    });
}

/// Fails if the tide rises after the position that waiters look at.
#[test]
fn whoever_is_covered_finds_the_tide_risen() {
    model(within(3), || {
        let log = Log::new(64, 2);
        let other = {
            let log = log.clone();
            thread::spawn(move || log.commit(1))
        };
        let lsn = log.append_one(2);
        log.wait_for(lsn.end, group::Stage::Written).unwrap();
        assert!(log.tide() >= lsn.end);
        other.join().unwrap();
    });
}
