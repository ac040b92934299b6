//! One record of the log: one mini-transaction, replayed whole or not at all.
//!
//! ```text
//!  0      4      8       12                    16    24     32
//!  ┌──────┬──────┬───────┬─────────┬───────────┬─────┬──────┬─────┬─────────┬──────────────┐
//!  │ len  │ crc  │ epoch │ ops_len │ note kind │ txn │ prev │ ops │ payload │ zeros to 16× │
//!  └──────┴──────┴───────┴─(3 B)───┴─(1 B)─────┴─────┴──────┴─────┴─────────┴──────────────┘
//!  one of the ops:  page u32 │ kind u8 │ zero u8 │ len u16 │ arguments
//! ```
//!
//! In records that have no use for `prev` (commits, ends of rollbacks, and those that belong to no transaction) it says up to
//! where the log was on disk when the record was made, or, in the last of a batch, when the batch was written ([`vouch`]). So
//! damage is told from a torn tail (`end.rs`), which costs no room, and little time.
//!
//! `len` counts up to the end of the payload; the next record begins at the next multiple of 16. `crc` covers all of it
//! but itself, mixed with the record's own position and the directory's mark, so that a record of the past in a recycled
//! segment is none at this place, and a segment of another directory holds none. `epoch` is the number of the engine's start that wrote it. A record with an older epoch than its predecessor
//! is what a former run left behind the point where it crashed, and ends the log.
//!
//! The *note* says what the record means to a transaction; redo does not look at it, analysis looks at nothing else.

use crate::error::{Error, Result};
use crate::ids::{Lsn, PageId, TxnId};

pub const RECORD_HEADER: usize = 32;
pub const RECORD_ALIGN: u64 = 16;
pub const OP_HEADER: usize = 8;
/// No record is longer, whatever the buffer: `ops_len` has three bytes.
pub const RECORD_MAX: usize = (1 << 24) - 1;
/// Longer records are not asked up to where the log was on disk. Commits are a header alone.
pub const VOUCHER_MAX: usize = 1 << 10;

/// What a mini-transaction means to the transaction it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TxnNote<'a> {
    /// A change that can be undone: `payload` says how. `prev` is where the transaction's previous such record begins.
    Undo {
        /// The transaction.
        txn: TxnId,
        /// Where the undo record before this one begins; zero if this is the first.
        prev: Lsn,
        /// What the floor above needs to undo the change.
        payload: &'a [u8],
    },
    /// A change undone: what remains to be undone begins at `undo_next`.
    Clr {
        /// The transaction.
        txn: TxnId,
        /// Where undoing goes on; zero if nothing is left to undo.
        undo_next: Lsn,
    },
    /// The transaction has committed.
    Commit {
        /// The transaction.
        txn: TxnId,
    },
    /// The transaction is undone completely.
    RolledBack {
        /// The transaction.
        txn: TxnId,
    },
}

const NO_NOTE: u8 = 0;
const UNDO: u8 = 1;
const CLR: u8 = 2;
const COMMIT: u8 = 3;
const ROLLED_BACK: u8 = 4;

impl TxnNote<'_> {
    /// The transaction that the note is about.
    pub fn txn(&self) -> TxnId {
        match *self {
            TxnNote::Undo { txn, .. }
            | TxnNote::Clr { txn, .. }
            | TxnNote::Commit { txn }
            | TxnNote::RolledBack { txn } => txn,
        }
    }
}

/// Finishes a record but for its position: `record` holds a blank header, the ops and the payload. The log is on disk up to
/// `durable`.
#[inline]
pub fn finish(record: &mut Vec<u8>, ops_len: usize, note: Option<TxnNote<'_>>, epoch: u32, durable: Lsn) {
    let (kind, txn, prev) = match note {
        None => (NO_NOTE, TxnId::NONE, durable),
        Some(TxnNote::Undo { txn, prev, .. }) => (UNDO, txn, prev),
        Some(TxnNote::Clr { txn, undo_next }) => (CLR, txn, undo_next),
        Some(TxnNote::Commit { txn }) => (COMMIT, txn, durable),
        Some(TxnNote::RolledBack { txn }) => (ROLLED_BACK, txn, durable),
    };
    let len = record.len() as u32;
    record[0..4].copy_from_slice(&len.to_le_bytes());
    record[8..12].copy_from_slice(&epoch.to_le_bytes());
    record[12..16].copy_from_slice(&(ops_len as u32).to_le_bytes());
    record[15] = kind;
    record[16..24].copy_from_slice(&txn.0.to_le_bytes());
    record[24..32].copy_from_slice(&prev.0.to_le_bytes());
    let crc = checksum(record);
    record[4..8].copy_from_slice(&crc.to_le_bytes());
    record.resize(record.len().next_multiple_of(RECORD_ALIGN as usize), 0);
}

/// Has the last of these records that can say so say that the log is on disk up to `durable`. They stand at `from`, each whole and
/// finished for its place.
///
/// Records are made while the batch before theirs is being synced, so what they say of themselves is a batch old. The one that
/// writes them knows of that sync.
pub fn vouch(records: &mut [u8], from: Lsn, durable: Lsn, mark: u32) {
    let mut last = None;
    let mut at = 0;
    while let Some(header) = records.get(at..).and_then(<[u8]>::first_chunk)
        && let Some(len) = claimed_len(header)
    {
        if len <= VOUCHER_MAX && durable_of(header).is_some() {
            last = Some(at..at + len);
        }
        at += len.next_multiple_of(RECORD_ALIGN as usize);
    }
    let Some(place_of_last) = last else { return };
    let lsn = Lsn(from.0 + place_of_last.start as u64);
    let record = &mut records[place_of_last];
    if u64_at(record, 24) < durable.0 {
        record[24..32].copy_from_slice(&durable.0.to_le_bytes());
        let crc = checksum(record) ^ place(lsn, mark);
        record[4..8].copy_from_slice(&crc.to_le_bytes());
    }
}

/// What a directory mixes into the checksums of its records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mark {
    value: u32,
    /// Records of older epochs bear none.
    from_epoch: u32,
}

impl Mark {
    /// The mark of the directory with this number, which records bear from this epoch on. None if it has no number.
    pub fn new(id: u64, from_epoch: u32) -> Mark {
        let value = if id == 0 {
            0
        } else {
            crc32c::crc32c(&id.to_le_bytes())
        };
        Mark { value, from_epoch }
    }

    /// The mark of records of an epoch.
    pub fn of(self, epoch: u32) -> u32 {
        if epoch < self.from_epoch { 0 } else { self.value }
    }
}

fn checksum(record: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&record[..4]), &record[8..])
}

/// What makes a checksum that of this place: the first eight bytes, as they are at `lsn`.
#[inline]
pub fn first_word_at(record: &[u8], lsn: Lsn, mark: u32) -> u64 {
    let word = u64::from_le_bytes(record[..8].try_into().expect("eight bytes"));
    word ^ (u64::from(place(lsn, mark)) << 32)
}

fn place(lsn: Lsn, mark: u32) -> u32 {
    crc32c::crc32c_append(mark, &lsn.0.to_le_bytes())
}

/// A record read back.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Where it begins: its address, for undo.
    pub lsn: Lsn,
    /// Where the next record begins: this record's time.
    pub end: Lsn,
    bytes: Vec<u8>,
}

/// One change of one page, as recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordedOp<'a> {
    pub page: PageId,
    pub kind: u8,
    pub arguments: &'a [u8],
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// The length a header claims, if it can be one.
pub fn claimed_len(header: &[u8; RECORD_HEADER]) -> Option<usize> {
    let len = u32_at(header, 0) as usize;
    (RECORD_HEADER..=RECORD_MAX).contains(&len).then_some(len)
}

/// Whether these bytes are a record that was written whole and for this place.
pub fn is_record(lsn: Lsn, bytes: &[u8], mark: Mark) -> bool {
    let ops_len = (u32_at(bytes, 12) & 0x00FF_FFFF) as usize;
    let place = place(lsn, mark.of(epoch_of(bytes)));
    RECORD_HEADER + ops_len <= bytes.len() && u32_at(bytes, 4) ^ place == checksum(bytes)
}

/// The epoch that a header claims.
pub fn epoch_of(header: &[u8]) -> u32 {
    u32_at(header, 8)
}

/// Up to where the log was on disk when a record was made, if its header says so.
pub fn durable_of(header: &[u8]) -> Option<Lsn> {
    matches!(header[15], NO_NOTE | COMMIT | ROLLED_BACK).then(|| Lsn(u64_at(header, 24)))
}

impl Record {
    /// The record in these bytes, if it was written whole and for this place.
    pub(crate) fn parse(lsn: Lsn, bytes: Vec<u8>, mark: Mark) -> Option<Record> {
        if !is_record(lsn, &bytes, mark) {
            return None;
        }
        let end = Lsn(lsn.0 + (bytes.len() as u64).next_multiple_of(RECORD_ALIGN));
        Some(Record { lsn, end, bytes })
    }

    pub(crate) fn epoch(&self) -> u32 {
        epoch_of(&self.bytes)
    }

    /// The memory that it stands in.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Appends it as it stands in the log.
    pub(crate) fn put_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes);
        out.resize(
            out.len() + (self.end.0 - self.lsn.0) as usize - self.bytes.len(),
            0,
        );
    }

    /// Up to where the log was on disk when it was made, if it says so.
    pub(crate) fn durable(&self) -> Option<Lsn> {
        durable_of(&self.bytes)
    }

    fn payload_at(&self) -> usize {
        RECORD_HEADER + (u32_at(&self.bytes, 12) & 0x00FF_FFFF) as usize
    }

    /// What the mini-transaction means to its transaction; `None` if it belongs to none.
    pub fn note(&self) -> Result<Option<TxnNote<'_>>> {
        let txn = TxnId(u64_at(&self.bytes, 16));
        let prev = Lsn(u64_at(&self.bytes, 24));
        Ok(Some(match self.bytes[15] {
            NO_NOTE => return Ok(None),
            UNDO => TxnNote::Undo {
                txn,
                prev,
                payload: &self.bytes[self.payload_at()..],
            },
            CLR => TxnNote::Clr { txn, undo_next: prev },
            COMMIT => TxnNote::Commit { txn },
            ROLLED_BACK => TxnNote::RolledBack { txn },
            kind => {
                return Err(Error::corrupt(
                    None,
                    format!("log record at {} has a note of kind {kind}", self.lsn),
                ));
            }
        }))
    }

    pub(crate) fn ops(&self) -> impl Iterator<Item = Result<RecordedOp<'_>>> + '_ {
        let mut rest = &self.bytes[RECORD_HEADER..self.payload_at()];
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let Some((header, behind)) = rest.split_at_checked(OP_HEADER) else {
                rest = &[];
                return Some(Err(Error::corrupt(
                    None,
                    format!("log record at {} is cut short", self.lsn),
                )));
            };
            let len = usize::from(u16::from_le_bytes([header[6], header[7]]));
            let Some((arguments, behind)) = behind.split_at_checked(len) else {
                rest = &[];
                return Some(Err(Error::corrupt(
                    None,
                    format!("log record at {} is cut short", self.lsn),
                )));
            };
            rest = behind;
            Some(Ok(RecordedOp {
                page: PageId(u32_at(header, 0)),
                kind: header[4],
                arguments,
            }))
        })
    }
}

/// Appends one op to a record's ops; `encode` writes its arguments.
#[inline]
pub fn push_op(record: &mut Vec<u8>, page: PageId, kind: u8, encode: impl FnOnce(&mut Vec<u8>)) {
    record.extend_from_slice(&page.0.to_le_bytes());
    record.extend_from_slice(&[kind, 0, 0, 0]);
    let at = record.len();
    encode(record);
    let len = u16::try_from(record.len() - at).expect("the arguments of an op fit 64 KiB");
    record[at - 2..at].copy_from_slice(&len.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: Mark = Mark {
        value: 77,
        from_epoch: 2,
    };

    fn record(lsn: Lsn) -> Vec<u8> {
        let mut bytes = vec![0; RECORD_HEADER];
        push_op(&mut bytes, PageId(7), 20, |out| out.extend_from_slice(b"abc"));
        push_op(&mut bytes, PageId(8), 21, |_| {});
        let ops_len = bytes.len() - RECORD_HEADER;
        let note = TxnNote::Undo {
            txn: TxnId(5),
            prev: Lsn(64),
            payload: b"undo me",
        };
        bytes.extend_from_slice(b"undo me");
        let len = bytes.len();
        finish(&mut bytes, ops_len, Some(note), 3, Lsn::ZERO);
        let word = first_word_at(&bytes, lsn, MARK.of(3));
        bytes[..8].copy_from_slice(&word.to_le_bytes());
        assert_eq!(bytes.len() % 16, 0);
        bytes.truncate(len);
        bytes
    }

    #[test]
    fn a_record_reads_back_at_its_place_and_nowhere_else() {
        let bytes = record(Lsn(4096));
        let back = Record::parse(Lsn(4096), bytes.clone(), MARK).unwrap();
        assert_eq!(back.epoch(), 3);
        let ops: Vec<_> = back.ops().map(Result::unwrap).collect();
        assert_eq!(
            (ops[0].page, ops[0].kind, ops[0].arguments),
            (PageId(7), 20, &b"abc"[..])
        );
        assert_eq!(
            (ops[1].page, ops[1].kind, ops[1].arguments),
            (PageId(8), 21, &b""[..])
        );
        let note = TxnNote::Undo {
            txn: TxnId(5),
            prev: Lsn(64),
            payload: b"undo me",
        };
        assert_eq!(back.note().unwrap(), Some(note));
        assert_eq!(back.end, Lsn(4096 + (bytes.len() as u64).next_multiple_of(16)));

        assert!(Record::parse(Lsn(8192), bytes.clone(), MARK).is_none());
        let another = Mark { value: 78, ..MARK };
        assert!(Record::parse(Lsn(4096), bytes.clone(), another).is_none());
        for bit in 0..bytes.len() * 8 {
            let mut broken = bytes.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            assert!(Record::parse(Lsn(4096), broken, MARK).is_none(), "bit {bit}");
        }
    }

    /// A batch in which the last record that can vouch is not the last.
    #[test]
    fn of_a_batch_one_record_says_what_was_on_disk_when_it_was_written() {
        let undo = TxnNote::Undo {
            txn: TxnId(5),
            prev: Lsn(64),
            payload: b"",
        };
        let commit = TxnNote::Commit { txn: TxnId(5) };
        let from = Lsn(1 << 20);
        let mut batch = Vec::new();
        let parts = [
            (Some(undo), 0),
            (Some(commit), 0),
            (None, 3),
            (None, VOUCHER_MAX),
            (Some(undo), 9),
        ];
        for (note, ops_len) in parts {
            let mut bytes = vec![0; RECORD_HEADER + ops_len];
            finish(&mut bytes, ops_len, note, 3, Lsn(4096));
            let lsn = Lsn(from.0 + batch.len() as u64);
            let word = first_word_at(&bytes, lsn, MARK.of(3));
            bytes[..8].copy_from_slice(&word.to_le_bytes());
            batch.extend(bytes);
        }
        let said = |batch: &[u8]| {
            let mut said = Vec::new();
            let mut at = 0;
            while let Some(header) = batch[at..].first_chunk() {
                let bytes = batch[at..at + claimed_len(header).unwrap()].to_vec();
                let record = Record::parse(Lsn(from.0 + at as u64), bytes, MARK).expect("it is whole");
                at = (record.end.0 - from.0) as usize;
                said.push(record.durable().map(|lsn| lsn.0));
            }
            said
        };
        let made = [None, Some(4096), Some(4096), Some(4096), None];
        assert_eq!(said(&batch), made);
        vouch(&mut batch, from, Lsn(4000), MARK.of(3));
        assert_eq!(said(&batch), made, "never less");
        vouch(&mut batch, from, Lsn(8192), MARK.of(3));
        assert_eq!(said(&batch), [None, Some(4096), Some(8192), Some(4096), None]);
        vouch(&mut [], from, Lsn(8192), MARK.of(3));
    }
}

#[cfg(test)]
mod fuzz {
    use super::*;
    use tidemark_testing::fuzz::Corpus;

    const LSN: Lsn = Lsn(4096);

    fn record(note: Option<TxnNote>, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; RECORD_HEADER];
        push_op(&mut bytes, PageId(7), 20, |out| out.extend_from_slice(b"abc"));
        push_op(&mut bytes, PageId(8), 21, |_| {});
        let ops_len = bytes.len() - RECORD_HEADER;
        bytes.extend_from_slice(payload);
        let len = bytes.len();
        finish(&mut bytes, ops_len, note, 3, Lsn::ZERO);
        bytes.truncate(len);
        bytes
    }

    /// A record whose checksum is right may still say anything: each of its parts is read, or is an error.
    #[test]
    fn records_of_any_bytes() {
        let txn = TxnId(5);
        let undo = TxnNote::Undo {
            txn,
            prev: Lsn(64),
            payload: b"undo me",
        };
        let corpus = Corpus::new("record")
            .input(record(Some(undo), b"undo me"))
            .input(record(
                Some(TxnNote::Clr {
                    txn,
                    undo_next: Lsn(32),
                }),
                b"",
            ))
            .input(record(Some(TxnNote::Commit { txn }), b""))
            .input(record(None, b""));
        corpus.play(20_000, |input| {
            let Some(header) = input.first_chunk::<RECORD_HEADER>() else {
                return;
            };
            claimed_len(header);
            let mut bytes = input.to_vec();
            let crc = checksum(&bytes) ^ place(LSN, 0);
            bytes[4..8].copy_from_slice(&crc.to_le_bytes());
            let Some(record) = Record::parse(LSN, bytes, Mark::default()) else {
                return;
            };
            assert!(record.end.0 >= LSN.0 + input.len() as u64 && record.end.0 % RECORD_ALIGN == 0);
            let payload = match record.note() {
                Ok(Some(TxnNote::Undo { payload, .. })) => payload.len(),
                _ => 0,
            };
            let ops: usize = record
                .ops()
                .map_while(Result::ok)
                .map(|op| op.arguments.len() + OP_HEADER)
                .sum();
            assert!(
                RECORD_HEADER + ops + payload <= input.len(),
                "more was read than is there"
            );
        });
    }
}
