//! Redo: history repeated, every op of every record on every page whose LSN says that the record is news to it.
//!
//! The log is gone through once more, in *stretches*. Which pages each of them changes is known from analysis, so while one
//! is redone the pages of the next are read: in the order in which they lie, with many requests at once. One by one, as redo
//! comes to them, they would take most of its time, and what has been read for one stretch stays for those behind it as far
//! as the pool has room. Redo never waits for a stretch more than it would for its pages: what reading ahead leaves out, for
//! want of frames or because it is damaged, redo fetches itself, and says what is wrong with it.
//!
//! ```text
//!  analysis    pages of ┃ stretch 0 ┃ stretch 1 ┃ stretch 2 ┃ …
//!  readers     ─ read 0 ─┤─ read 1 ──┤─ read 2 ──┤
//!  redo                  ├─ redo 0 ──┼─ redo 1 ──┼─ redo 2 ──
//! ```

use super::Store;
use super::op::{Format, PageOp};
use super::progress::Progress;
use crate::error::{Error, Result};
use crate::ids::{Lsn, PageId};
use crate::log::{Reader, Record, RecordedOp};
use crate::pool::ExclusiveGuard;
use crate::threads::share_out;

/// Log that one stretch has at most: so much is redone while the next one's pages are read.
const STRETCH_BYTES: u64 = 64 << 20;
/// Threads that read pages before redo needs them: as many requests are with the disk at once.
const READERS: usize = 8;
/// Pages that are worth a thread.
const SHARE_MIN: usize = 64;

/// A part of the log that is redone at one go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// Where the next one begins.
    pub end: Lsn,
    /// The pages that its records change, in order, each once.
    pub pages: Vec<PageId>,
}

/// Divides the log into stretches, as analysis goes through it.
pub(super) struct Stretches {
    from: Lsn,
    began: Lsn,
    pages_max: usize,
    /// Of the stretch that goes on; in order and each once up to `sorted`.
    pages: Vec<PageId>,
    done: Vec<Stretch>,
}

impl Stretches {
    /// Of the log from `from` on, for a pool with so many frames.
    pub fn new(from: Lsn, frames: usize) -> Stretches {
        Stretches {
            from,
            began: from,
            // Those of the stretch that is redone and those of the next are in the pool together, each at most twice as many.
            pages_max: (frames / 8).max(1),
            pages: Vec::new(),
            done: Vec::new(),
        }
    }

    /// Takes the next record into account.
    pub fn add(&mut self, record: &Record) {
        if record.lsn < self.from {
            return;
        }
        // What is wrong with an op is for redo to say.
        for op in record.ops().map_while(Result::ok) {
            if op.page.is_valid() && self.pages.last() != Some(&op.page) {
                self.pages.push(op.page);
            }
        }
        // Put in order whenever they may have become too many: so the work is spread over as many records.
        let crowded = self.pages.len() >= 2 * self.pages_max && {
            self.tidy();
            self.pages.len() >= self.pages_max
        };
        if crowded || record.end.0 - self.began.0 >= STRETCH_BYTES {
            self.close(record.end);
        }
    }

    fn tidy(&mut self) {
        self.pages.sort_unstable();
        self.pages.dedup();
    }

    fn close(&mut self, end: Lsn) {
        self.tidy();
        let pages = std::mem::take(&mut self.pages);
        self.done.push(Stretch { end, pages });
        self.began = end;
    }

    /// All of them, the last up to where the log ends.
    pub fn finish(mut self, end: Lsn) -> Vec<Stretch> {
        if end > self.began {
            self.close(end);
        }
        self.done
    }
}

/// Redo under way.
struct Redo<'s> {
    store: &'s Store,
    reader: Reader<'s>,
    from: Lsn,
    end: Lsn,
    records: u64,
    progress: Progress,
}

/// What is done at the same time.
enum Part<'a, 's> {
    Read(&'a [PageId]),
    Redo(&'a mut Redo<'s>, Lsn),
}

impl Store {
    /// Repeats history from `from` to `end`, where analysis found it to end; says how many records there were.
    pub(super) fn redo(&self, from: Lsn, end: Lsn, stretches: &[Stretch]) -> Result<u64> {
        let mut redo = Redo {
            store: self,
            reader: self.log().reader(from),
            from,
            end,
            records: 0,
            progress: Progress::new(),
        };
        if let Some(first) = stretches.first() {
            self.read_for_redo(&first.pages);
        }
        for (n, stretch) in stretches.iter().enumerate() {
            let mut parts = Vec::with_capacity(2);
            if let Some(next) = stretches.get(n + 1) {
                parts.push(Part::Read(&next.pages));
            }
            parts.push(Part::Redo(&mut redo, stretch.end));
            let done = share_out("tidemark-redo", parts, |part| match part {
                Part::Read(pages) => {
                    self.read_for_redo(pages);
                    Ok(())
                }
                Part::Redo(redo, until) => redo.run(until),
            });
            done.into_iter().collect::<Result<()>>()?;
        }
        Ok(redo.records)
    }

    /// Brings pages in. Those that cannot be read are left to redo, which says so.
    fn read_for_redo(&self, pages: &[PageId]) {
        let share = pages.len().div_ceil(READERS).max(SHARE_MIN);
        share_out("tidemark-redo", pages.chunks(share).collect(), |pages| {
            self.pool().read_runs(pages)
        });
    }

    fn redo_record(&self, record: &Record, end: Lsn) -> Result<()> {
        // The pages of this record to which it is news. A record may hold several ops for a page, so its LSN is looked
        // at once and raised at the end.
        let mut news: Vec<ExclusiveGuard<'_>> = Vec::new();
        let mut known: Vec<PageId> = Vec::new();
        for op in record.ops() {
            let op = op?;
            if known.contains(&op.page) {
                continue;
            }
            let at = match news.iter().position(|guard| guard.id() == op.page) {
                Some(at) => at,
                None => {
                    let found = self
                        .page_to_redo(&op)
                        .and_then(|guard| check_page(&guard, &op, end).map(|()| guard));
                    let guard = match found {
                        Err(error) if self.force_recovery() > 0 => {
                            ::log::error!("a change of page {} is not redone: {error}", op.page);
                            known.push(op.page);
                            continue;
                        }
                        found => found?,
                    };
                    if guard.lsn() >= record.end {
                        known.push(op.page);
                        continue;
                    }
                    news.push(guard);
                    news.len() - 1
                }
            };
            match self.ops().redo(op.kind, op.arguments, news[at].bytes_mut()) {
                Err(error) if self.force_recovery() > 0 => {
                    ::log::error!("a change of page {} is not redone: {error}", op.page)
                }
                done => done?,
            }
        }
        for mut guard in news {
            self.pool().set_dirty(guard.id(), || record.lsn);
            guard.bytes_mut().set_lsn(record.end);
        }
        Ok(())
    }

    fn page_to_redo(&self, op: &RecordedOp<'_>) -> Result<ExclusiveGuard<'_>> {
        match self.pool().exclusive(op.page) {
            // What a page held before it is formatted does not matter, not even if it is garbage.
            Err(Error::Corrupt { .. }) if op.kind == Format::KIND => self.pool().exclusive_unread(op.page),
            found => found,
        }
    }
}

impl Redo<'_> {
    /// Redoes the records that begin before `until`.
    fn run(&mut self, until: Lsn) -> Result<()> {
        while self.reader.position() < until {
            // To stop at a record that cannot be read any more would leave commits out that analysis has counted.
            let record = self.reader.next_before(self.end)?;
            self.store.redo_record(record, self.end)?;
            self.records += 1;
            let (at, end) = (self.reader.position(), self.end);
            self.progress
                .step(at.0 - self.from.0, end.0 - self.from.0, |share| {
                    format!(
                        "recovery: {}% of the log redone, at position {at} of {end}, about {} s left",
                        share.percent, share.seconds_left
                    )
                });
        }
        Ok(())
    }
}

/// Fails if the page on disk is none that this log has made.
fn check_page(page: &ExclusiveGuard<'_>, op: &RecordedOp<'_>, end: Lsn) -> Result<()> {
    if page.lsn() > end {
        return Err(Error::CannotOpen(format!(
            "page {} in data is of position {}, but the log ends at {end}: its last part is lost, and the commits in it. Put the \
             log's files back, or restore a backup",
            op.page,
            page.lsn()
        )));
    }
    // A page of zeros passes for one never written (`pool/page.rs`). This one was: it was formatted before `redo_from`.
    if page.lsn().is_zero() && op.kind != Format::KIND {
        return Err(Error::corrupt(
            op.page,
            "it is blank, although the checkpoint says that it is on disk: a write was lost",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::sim::Random;
    use crate::log::{LOG_START, Mark, RECORD_HEADER, finish_record, first_word_at, push_op};

    /// The log's records on pages that are drawn, and what is found of them.
    #[test]
    fn stretches_have_the_pages_of_their_records_and_are_bounded() {
        const FRAMES: usize = 80;
        for seed in 0..20 {
            let mut random = Random::new(seed);
            let from = Lsn(LOG_START.0 + random.below(2000) * 16);
            let mut stretches = Stretches::new(from, FRAMES);
            let mut records: Vec<(Lsn, Vec<PageId>)> = Vec::new();
            let mut at = LOG_START;
            for _ in 0..random.below(2000) {
                let pages: Vec<PageId> = (0..1 + random.below(4))
                    .map(|_| PageId(1 + random.below(1 + seed * 20) as u32))
                    .collect();
                let record = record(at, &pages);
                stretches.add(&record);
                if at >= from {
                    records.push((at, pages));
                }
                at = record.end;
            }
            let end = at.max(from);
            let mut begin = from;
            for stretch in stretches.finish(end) {
                let mut expected: Vec<PageId> = records
                    .iter()
                    .filter(|(lsn, _)| (begin..stretch.end).contains(lsn))
                    .flat_map(|(_, pages)| pages.clone())
                    .collect();
                expected.sort_unstable();
                expected.dedup();
                assert!(expected.len() <= FRAMES / 4 + 4);
                assert_eq!(stretch.pages, expected, "seed {seed}");
                begin = stretch.end;
            }
            assert_eq!(begin, end, "seed {seed}");
        }
    }

    /// A record at `lsn` with an op for each of these pages.
    fn record(lsn: Lsn, pages: &[PageId]) -> Record {
        let mut bytes = vec![0; RECORD_HEADER];
        for &page in pages {
            push_op(&mut bytes, page, Format::KIND, |_| {});
        }
        let (len, ops_len) = (bytes.len(), bytes.len() - RECORD_HEADER);
        finish_record(&mut bytes, ops_len, None, 1, Lsn::ZERO);
        let word = first_word_at(&bytes, lsn, 0);
        bytes[..8].copy_from_slice(&word.to_le_bytes());
        bytes.truncate(len);
        Record::parse(lsn, bytes, Mark::default()).unwrap()
    }
}
