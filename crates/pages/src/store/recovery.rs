//! What happens when a data directory is opened.
//!
//! 1. Torn pages are repaired from the doublewrite file.
//! 2. *Analysis* reads the log from the checkpoint's `scan_from` to its end and learns which transactions had not ended:
//!    the losers. Transactions older than the checkpoint are covered, because `scan_from` is not above their first
//!    record.
//! 3. *Redo* reads it again from `redo_from` and repeats history: every op of every record, on every page whose LSN says
//!    that the record is news to it. A scout goes before it through the log and has the pages read that it names, in the
//!    order in which they lie and by several threads: one by one, as redo comes to them, they would take most of its time.
//! 4. The floors above undo the losers, reading their records back and writing compensation records.
//!
//! A new start writes a new epoch into the control file before it writes to the log, so that records left behind the end
//! found now can never be taken for a continuation of what comes. After Mohan et al., *ARIES*, 1992.

use super::Store;
use super::op::{Format, PageOp};
use crate::error::{Error, Result};
use crate::ids::{Lsn, PageId, TxnId};
use crate::log::{Reader, Record, RecordedOp, TxnNote};
use crate::pool::ExclusiveGuard;
use crate::threads::share_out;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// A transaction that neither committed nor rolled back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loser {
    /// Its id.
    pub txn: TxnId,
    /// Its first record: the log may not be recycled from here on until it is undone.
    pub first_lsn: Lsn,
    /// The record with which undoing begins (or goes on); zero if nothing is left to undo.
    pub undo_from: Lsn,
}

/// What opening found.
#[derive(Clone, Debug, Default)]
pub struct Recovered {
    /// In the order of their ids.
    pub losers: Vec<Loser>,
    /// Above every transaction id ever given.
    pub next_txn: TxnId,
    /// Where the log ended.
    pub end: Lsn,
    /// The engine had been shut down in order.
    pub clean: bool,
    /// The data directory is new.
    pub created: bool,
    /// Pages that a power cut had torn, restored from the doublewrite file.
    pub torn_pages_repaired: usize,
    /// Records that redo went through.
    pub records_redone: u64,
}

/// Reads the log to its end; fills in the losers, the end and the next transaction id.
pub(super) fn analyse(reader: &mut Reader<'_>, recovered: &mut Recovered) -> Result<()> {
    let mut open: HashMap<TxnId, Loser> = HashMap::new();
    while let Some(record) = reader.next()? {
        let Some(note) = record.note()? else { continue };
        let txn = note.txn();
        recovered.next_txn = recovered.next_txn.max(TxnId(txn.0 + 1));
        let mut undo_from = |lsn| {
            let first_lsn = record.lsn;
            open.entry(txn)
                .or_insert(Loser {
                    txn,
                    first_lsn,
                    undo_from: lsn,
                })
                .undo_from = lsn;
        };
        match note {
            TxnNote::Undo { .. } => undo_from(record.lsn),
            TxnNote::Clr { undo_next, .. } => undo_from(undo_next),
            TxnNote::Commit { .. } | TxnNote::RolledBack { .. } => {
                open.remove(&txn);
            }
        }
    }
    recovered.end = reader.position();
    recovered.losers = open.into_values().collect();
    recovered.losers.sort_by_key(|loser| loser.txn);
    Ok(())
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

/// Says how far redo is, once it has taken long enough that a person may wonder.
struct Progress {
    from: Lsn,
    end: Lsn,
    began: Instant,
    said: Instant,
}

/// Records between two looks at the clock.
const LOOK_EVERY: u64 = 256;
const SAY_EVERY: Duration = Duration::from_secs(2);
/// Threads that read pages before redo needs them: as many requests are with the disk at once.
const READERS: usize = 8;
/// Pages that are worth a thread.
const SHARE_MIN: usize = 64;

impl Progress {
    fn new(from: Lsn, end: Lsn) -> Progress {
        let now = Instant::now();
        Progress {
            from,
            end,
            began: now,
            said: now,
        }
    }

    fn at(&mut self, position: Lsn) {
        if self.said.elapsed() < SAY_EVERY {
            return;
        }
        self.said = Instant::now();
        ::log::info!("{}", self.text(position, self.began.elapsed()));
    }

    fn text(&self, position: Lsn, elapsed: Duration) -> String {
        let (done, all) = (position.0 - self.from.0, (self.end.0 - self.from.0).max(1));
        let left = elapsed.as_secs_f64() * (all - done) as f64 / done.max(1) as f64;
        format!(
            "recovery: {}% of the log redone, at position {position} of {}, about {left:.0} s left",
            done * 100 / all,
            self.end
        )
    }
}

impl Store {
    /// Repeats history from `from` to `end`, where analysis found it to end; says how many records there were.
    pub(super) fn redo(&self, from: Lsn, end: Lsn) -> Result<u64> {
        let mut reader = self.log().reader(from);
        let mut scout = self.log().reader(from);
        let mut progress = Progress::new(from, end);
        let mut records = 0;
        while reader.position() < end {
            if reader.position() >= scout.position() {
                self.read_ahead_of_redo(&mut scout, end)?;
            }
            let Some(record) = reader.next()? else { break };
            self.redo_record(&record, end)?;
            records += 1;
            if records % LOOK_EVERY == 0 {
                progress.at(reader.position());
            }
        }
        Ok(records)
    }

    /// Brings in the pages that the log behind `scout` changes, up to where they take half the pool. What cannot be read is left
    /// to redo, which says so.
    fn read_ahead_of_redo(&self, scout: &mut Reader<'_>, end: Lsn) -> Result<()> {
        let most = self.pool().frames() / 2;
        let mut pages = HashSet::new();
        while pages.len() < most
            && scout.position() < end
            && let Some(record) = scout.next()?
        {
            for op in record.ops() {
                let page = op?.page;
                if page.is_valid() && !self.pool().is_resident(page) {
                    pages.insert(page);
                }
            }
        }
        let mut pages: Vec<PageId> = pages.into_iter().collect();
        pages.sort_unstable();
        let share = pages.len().div_ceil(READERS).max(SHARE_MIN);
        share_out("tidemark-redo", pages.chunks(share).collect(), |pages| {
            self.pool().read_runs(pages)
        });
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_in_percent_and_seconds() {
        let progress = Progress::new(Lsn(1000), Lsn(5000));
        assert_eq!(
            progress.text(Lsn(2000), Duration::from_secs(10)),
            "recovery: 25% of the log redone, at position 2000 of 5000, about 30 s left"
        );
    }
}
