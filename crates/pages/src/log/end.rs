//! The log's end, told from damage.
//!
//! Where the first record stands that is none, the log ends, or something has destroyed what stood there. At a crash the
//! log was on disk up to some position *D*, and everything acknowledged lies before it. What was written behind *D* and not
//! yet synced may be there in parts, in any order; so holes behind *D* are no damage, whatever valid records follow them,
//! and are cut off. A hole before *D* is damage: cutting there would drop commits that were acknowledged, and leave pages
//! newer than the log.
//!
//! *D* itself is not recorded anywhere. But each of these is a lower bound of it, so one beyond the hole proves the
//! damage:
//!
//! - what the control file says (every checkpoint, so at most seconds old, and exact once the engine is idle);
//! - what any valid record behind the hole says of the time when it was made or written (`record.rs`): commits do, and one of each
//!   batch that has one speaks of the sync before it, so only the last batch of commits that was synced has no record that proves it;
//! - the LSN of a page that was on its way to the disk, since the log goes first: its copy in the doublewrite file, or the
//!   page itself.
//!
//! Records that an earlier crash left behind its own cut are no danger: what they say lies at or before that cut, and the
//! log has only grown since.
//!
//! What is destroyed there is not repaired: the start is refused, with nothing changed.

use super::record::{RECORD_ALIGN, RECORD_HEADER, VOUCHER_MAX, claimed_len, durable_of, epoch_of, is_record};
use super::segments::Segments;
use crate::error::{Error, Result};
use crate::ids::Lsn;
use crate::sabotage;

/// Read at once while looking for records.
const CHUNK: usize = 1 << 20;

/// A position up to which the log was on disk, and what shows it.
#[derive(Clone, Debug)]
pub(crate) struct DurableProof {
    pub lsn: Lsn,
    pub source: String,
}

/// Fails if the log went on behind `end`, where it was found to end. `proofs` are those outside the log; with `epoch`,
/// the latest there was, records behind the end are asked too.
pub(crate) fn check_end(
    segments: &Segments,
    end: Lsn,
    proofs: Vec<DurableProof>,
    epoch: Option<u32>,
) -> Result<()> {
    if sabotage::breaks("end") {
        return Ok(());
    }
    let outside = proofs.into_iter().find(|proof| proof.lsn > end);
    let found = match (outside, epoch) {
        (None, Some(epoch)) => proof_behind(segments, end, epoch)?,
        (found, _) => found,
    };
    match found {
        None => Ok(()),
        Some(DurableProof { lsn, source }) => Err(Error::CannotOpen(format!(
            "the log is damaged in {}: no valid record is there, although {source} shows that the log was on disk up to position \
             {lsn}. Starting here would lose what was committed behind it. Put the file back, or restore a backup",
            segments.describe(end)
        ))),
    }
}

/// Of the valid records behind `end` that say that the log was on disk beyond it, the one that says the most.
///
/// What lies behind the end is of any content, a client's rows included, so the work must not depend on it: of each place
/// the header decides whether the checksum is computed, and that over [`VOUCHER_MAX`] bytes at most.
pub(crate) fn proof_behind(segments: &Segments, end: Lsn, epoch: u32) -> Result<Option<DurableProof>> {
    let mark = segments.mark();
    let last = segments.end(end);
    let mut farthest = None;
    let mut proven = end;
    let mut chunk = Vec::new();
    // Records begin at multiples of their alignment, and so does the end of the one before.
    let mut at = end;
    while at.0 + RECORD_HEADER as u64 <= last.0 {
        chunk.resize((last.0 - at.0).min(CHUNK as u64) as usize, 0);
        if !segments.read(at, &mut chunk)? {
            break;
        }
        let mut offset = 0;
        while offset + RECORD_HEADER <= chunk.len() {
            let lsn = Lsn(at.0 + offset as u64);
            let header = chunk[offset..].first_chunk::<RECORD_HEADER>().expect("a header");
            if (1..=epoch).contains(&epoch_of(header))
                && let Some(durable) = durable_of(header)
                && (proven.0 + 1..=lsn.0).contains(&durable.0)
                && let Some(len) = claimed_len(header)
                && len <= VOUCHER_MAX
                && lsn.0 + len as u64 <= last.0
            {
                let Some(bytes) = chunk.get(offset..offset + len) else {
                    break; // it begins the next chunk
                };
                if is_record(lsn, bytes, mark) {
                    proven = durable;
                    farthest = Some(lsn);
                }
            }
            offset += RECORD_ALIGN as usize;
        }
        at.0 += offset as u64;
    }
    Ok(farthest.map(|record| DurableProof {
        lsn: proven,
        source: format!("the record at {record}"),
    }))
}

#[cfg(test)]
mod tests {
    use super::super::record::{Mark, TxnNote, finish, first_word_at};
    use super::super::{Log, LogConfig, OnFailure};
    use super::*;
    use crate::disk::sim::SimDisk;
    use crate::ids::TxnId;
    use std::sync::Arc;

    const SEGMENT: u64 = 1 << 16;
    const LEN: u64 = 48;

    fn log() -> Segments {
        log_with(4)
    }

    /// A log with so much room that it ends where segment number `last` begins.
    fn log_with(last: u64) -> Segments {
        let segments = Segments::open(Arc::new(SimDisk::new(1)), SEGMENT, Mark::default()).unwrap();
        segments
            .prepare(Lsn(SEGMENT), Lsn(SEGMENT), Lsn(last * SEGMENT), 0, 0)
            .unwrap();
        segments
    }

    /// A commit at `lsn`, made when the log was on disk up to `durable`.
    fn write(segments: &Segments, lsn: u64, epoch: u32, durable: u64) {
        let mut bytes = vec![0; RECORD_HEADER];
        bytes.resize(LEN as usize, 7);
        let note = TxnNote::Commit { txn: TxnId(3) };
        finish(&mut bytes, 0, Some(note), epoch, Lsn(durable));
        let word = first_word_at(&bytes, Lsn(lsn), 0);
        bytes[..8].copy_from_slice(&word.to_le_bytes());
        segments.write(Lsn(lsn), &bytes).unwrap();
    }

    fn end_of(segments: &Segments) -> Lsn {
        let mut reader = segments.reader(Lsn(SEGMENT));
        while reader.next().unwrap().is_some() {}
        reader.position()
    }

    fn check(segments: &Segments) -> Result<()> {
        check_end(segments, end_of(segments), Vec::new(), Some(9))
    }

    #[test]
    fn a_hole_in_what_was_not_synced_is_the_end_and_one_before_it_is_damage() {
        for hole in 0..10 {
            let segments = log();
            // The first five had been synced when the last was made.
            let synced = SEGMENT + 5 * LEN;
            for n in 0..10 {
                write(
                    &segments,
                    SEGMENT + n * LEN,
                    1,
                    if n == 9 { synced } else { SEGMENT },
                );
            }
            segments
                .write(Lsn(SEGMENT + hole * LEN + 20), &[0xEE; 8])
                .unwrap();
            assert_eq!(end_of(&segments), Lsn(SEGMENT + hole * LEN));
            let done = check(&segments);
            assert_eq!(done.is_err(), hole < 5, "hole {hole}: {done:?}");
            if let Err(error) = done {
                let offset = format!("redo-0000000001 at byte {}", hole * LEN);
                assert!(error.to_string().contains(&offset), "{error}");
            }
        }
    }

    /// Each batch but the last is vouched for as a whole, also by records that were made before it was synced.
    #[test]
    fn only_the_last_batch_may_pass_for_the_end() {
        let disk = Arc::new(SimDisk::new(1));
        let segments = || Segments::open(disk.clone(), SEGMENT, Mark::default()).unwrap();
        let config = LogConfig {
            buffer_bytes: 0,
            flush_at_trx_commit: 1,
            on_failure: OnFailure::Refuse,
        };
        let log = Log::open(segments(), &config, 1, Lsn(SEGMENT));
        for txn in 1..=3 {
            let mut commit = vec![0; RECORD_HEADER];
            let note = TxnNote::Commit { txn: TxnId(txn) };
            finish(&mut commit, 0, Some(note), 1, Lsn(SEGMENT));
            let place = log.append(&commit, |_| {});
            log.wait_durable(place.end).unwrap();
        }
        drop(log);
        for batch in 0..3 {
            let segments = segments();
            let at = Lsn(SEGMENT + batch * RECORD_HEADER as u64);
            let mut before = [0; RECORD_HEADER];
            assert!(segments.read(at, &mut before).unwrap());
            segments.write(at, &[0xEE; RECORD_HEADER]).unwrap();
            assert_eq!(end_of(&segments), at);
            assert_eq!(check(&segments).is_err(), batch < 2, "batch {batch}");
            segments.write(at, &before).unwrap();
        }
    }

    #[test]
    fn what_vouches_may_be_far_behind_and_in_another_segment() {
        let segments = log();
        write(&segments, SEGMENT, 1, SEGMENT);
        write(&segments, 3 * SEGMENT - 16, 1, SEGMENT + 2 * LEN);
        assert!(check(&segments).is_err());
    }

    #[test]
    fn what_vouches_may_stand_where_two_pieces_meet_that_are_read_at_once() {
        let end = SEGMENT + LEN;
        for at in [end + CHUNK as u64 - 32, end + CHUNK as u64 - 16] {
            let segments = log_with(1 + 2 * CHUNK as u64 / SEGMENT);
            write(&segments, SEGMENT, 1, SEGMENT);
            write(&segments, at, 1, end + 16);
            assert!(check(&segments).is_err(), "{at}");
        }
    }

    /// A client chooses what its rows hold, and so what lies in segments that are used again. Were each of these headers
    /// believed, a quarter of a million checksums over a mebibyte each would be computed.
    #[test]
    fn what_looks_like_long_records_costs_no_time() {
        let last = 1 + (8 << 20) / SEGMENT;
        let segments = log_with(last);
        write(&segments, SEGMENT, 1, SEGMENT);
        let mut header = [0; RECORD_HEADER];
        header[8] = 1;
        header[24..].copy_from_slice(&(SEGMENT + LEN + 16).to_le_bytes());
        for claimed in [1 << 20, VOUCHER_MAX as u32] {
            header[..4].copy_from_slice(&claimed.to_le_bytes());
            let content = header.repeat(SEGMENT as usize / RECORD_HEADER);
            for segment in 2..last {
                segments.write(Lsn(segment * SEGMENT), &content).unwrap();
            }
            check(&segments).unwrap();
        }
    }

    /// Behind the cut of an earlier crash stand records that were never acknowledged, and the log has grown since.
    #[test]
    fn what_an_earlier_crash_left_vouches_for_nothing() {
        let segments = log();
        let cut = SEGMENT + 2 * LEN;
        for n in [0, 1, 3, 4, 5, 6] {
            write(&segments, SEGMENT + n * LEN, 1, cut.min(SEGMENT + n * LEN));
        }
        assert_eq!(end_of(&segments), Lsn(cut));
        check(&segments).unwrap();
        write(&segments, cut, 2, cut);
        check_end(&segments, Lsn(cut + LEN), Vec::new(), Some(9)).unwrap();
    }

    #[test]
    fn proofs_outside_the_log_are_believed() {
        let segments = log();
        let end = Lsn(SEGMENT + LEN);
        for (lsn, is_damage) in [(end, false), (Lsn(end.0 + 16), true)] {
            let proof = DurableProof {
                lsn,
                source: "a page".into(),
            };
            assert_eq!(check_end(&segments, end, vec![proof], None).is_err(), is_damage);
        }
    }
}
