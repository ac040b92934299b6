//! Writing pages behind, and checkpoints.
//!
//! One thread writes all pages, in batches: it copies dirty pages out under a share of their latches, has the log
//! flushed up to the highest LSN among them (the write-ahead rule), keeps copies of logged ones (`doublewrite.rs`), writes
//! them to their places, neighbours in one go, and syncs. Only then do they count as clean.
//!
//! When it writes, and how much, is `pace.rs`. A checkpoint is fuzzy: it waits for no thread. It reads the log's tail, *then* the
//! lowest `rec_lsn` and the oldest transaction's first position. Both were put down before the positions they guard were
//! reserved, so whatever is overlooked lies at or after that tail. A transaction that is no longer among the running has
//! its last record in the log, but perhaps not on disk: that record must be certain before the log forgets the others,
//! or after a power cut some of its changes would stand in pages with nothing left to tell whose they are.
//!
//! *A page that cannot be written* to its place, because the medium is bad there, is *stuck*. The cleaner goes round it: the
//! page stays dirty, its copy is carried from batch to batch in the doublewrite file, for what is at its place may be torn,
//! and once a second it is tried again. The other pages are written meanwhile. But no checkpoint passes a stuck page, so in
//! the end the log is full; then statements that would write fail with the stuck page's error instead of waiting for ever.
//! A failed sync leaves all pages of its batch stuck: it does not tell which of them it dropped.

use super::Store;
use super::control::Control;
use super::doublewrite::{BATCH, Doublewrite};
use super::pace::{Pace, TICK};
use crate::disk::failed;
use crate::error::{Error, Result};
use crate::ids::{Lsn, PageId};
use crate::pool::{Dirty, Health, PageBuf, Signal, Trouble};
use crate::sabotage;
use crate::threads::share_out;
use parking_lot::Mutex;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Writes under way at once.
const WRITERS: usize = 4;

pub(super) struct Cleaner {
    /// Held during a batch, and during a checkpoint: between batches no page is in flight. Whoever holds it waits for
    /// no thread that may be waiting for a clean page: for no latch, and not for the lock on allocation.
    work: Mutex<Work>,
    /// Where recovery would begin now.
    redo_from: AtomicU64,
    checkpoints: AtomicU64,
}

struct Work {
    doublewrite: Doublewrite,
    copies: Vec<PageBuf>,
    wanted: Vec<PageId>,
    taken: Vec<Dirty>,
    /// Pages that may be torn at their places; the doublewrite file holds these copies.
    stuck: Vec<Stuck>,
    /// When they are tried again.
    retry_at: Instant,
}

struct Stuck {
    copy: PageBuf,
    error: io::Error,
}

impl Work {
    fn is_stuck(&self, page: PageId) -> bool {
        self.stuck.iter().any(|stuck| stuck.copy.id() == page)
    }
}

/// How long after a failure a page is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// What pages are written for.
#[derive(Clone, Copy)]
pub(super) enum Aim<'p> {
    /// So that they can be evicted.
    Room,
    /// So that the log before this position is not needed for them. That is nothing to scratch pages: most are garbage
    /// before any thread must evict them, and are never written.
    Log(Lsn),
    /// These are due; those that are clean by now are left out.
    These(&'p [PageId]),
}

/// What a checkpoint must know of transactions.
#[derive(Clone, Copy, Debug)]
pub struct Retain {
    /// The oldest position that a transaction still active may need for undo; [`Lsn::MAX`] if there is none.
    pub oldest: Lsn,
    /// Every transaction id given so far is below.
    pub next_txn: crate::ids::TxnId,
}

impl Cleaner {
    pub fn new(doublewrite: Doublewrite, redo_from: Lsn) -> Cleaner {
        let work = Work {
            doublewrite,
            copies: PageBuf::batch(BATCH),
            wanted: Vec::with_capacity(BATCH),
            taken: Vec::with_capacity(BATCH),
            stuck: Vec::new(),
            retry_at: Instant::now(),
        };
        Cleaner {
            work: Mutex::new(work),
            redo_from: AtomicU64::new(redo_from.0),
            checkpoints: AtomicU64::new(0),
        }
    }

    /// Where recovery would begin now.
    pub fn redo_from(&self) -> Lsn {
        Lsn(self.redo_from.load(Ordering::Acquire))
    }

    /// Keeps batches and checkpoints from being made. Whoever has it waits for nothing, as said at `work`.
    pub fn hold(&self) -> impl Drop + '_ {
        self.work.lock()
    }

    pub fn checkpoints(&self) -> u64 {
        self.checkpoints.load(Ordering::Relaxed)
    }

    /// Starts the thread. It ends when the store is gone or says so.
    pub fn start(store: &Arc<Store>) -> Result<JoinHandle<()>> {
        let weak = Arc::downgrade(store);
        let signal = store.pool().cleaner_signal().clone();
        let run = move || {
            let _last_word = LastWord(signal.clone(), weak.clone());
            let mut pace = Pace::new();
            loop {
                let wanted = signal.wait_for_work(pace.pause());
                let Some(store) = Weak::upgrade(&weak) else { return };
                if store.is_closing() {
                    return;
                }
                let Err(error) = pace.round(&store, wanted) else {
                    signal.report_trouble(Health::Working, None);
                    continue;
                };
                // A disk that takes no pages may take no log either, and then all is over.
                let over = store.log().probe().is_err();
                let health = if over { Health::Stopped } else { Health::Failing };
                signal.report_trouble(health, Some(Trouble::of(&error)));
                if over {
                    return;
                }
                pace.complain(&error);
                // Nobody is served by failing as fast as possible.
                drop(store);
                thread::sleep(TICK);
            }
        };
        let thread = thread::Builder::new().name("cleaner".into()).spawn(run);
        Ok(thread.map_err(|error| failed(&error, "starting the thread that writes pages".into()))?)
    }
}

/// If the thread panics, the pages that it had in hand count as neither clean nor dirty, and nothing goes on without it.
struct LastWord(Arc<Signal>, Weak<Store>);

impl Drop for LastWord {
    fn drop(&mut self) {
        if thread::panicking() {
            let LastWord(signal, store) = self;
            signal.report_trouble(Health::Stopped, None);
            if let Some(store) = Weak::upgrade(store) {
                store.log().give_up("writing pages in the background");
            }
        }
    }
}

fn first_of(stuck: &[Stuck]) -> Option<Error> {
    stuck.first().map(|stuck| duplicate(&stuck.error).into())
}

fn duplicate(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), error.to_string())
}

impl Store {
    /// Writes up to `most` dirty pages, those first that eviction comes to first. Says how many it wrote; fails if it could
    /// write none of them.
    pub(super) fn clean(&self, aim: Aim, most: usize) -> Result<usize> {
        let mut work = self.cleaner().work.lock();
        let work = &mut *work;
        let is_retry = work.retry_at <= Instant::now();
        let room = BATCH - work.stuck.len();
        work.wanted.clear();
        let due: &mut dyn Iterator<Item = PageId> = match aim {
            Aim::These(pages) => &mut pages.iter().copied(),
            Aim::Room => &mut self.pool().dirty_pages().map(|dirty| dirty.page),
            Aim::Log(up_to) => {
                let before = move |dirty: &Dirty| !dirty.page.is_scratch() && dirty.rec_lsn < up_to;
                &mut self.pool().dirty_pages().filter(before).map(|dirty| dirty.page)
            }
        };
        let found = due
            .filter(|&page| !work.is_stuck(page))
            .take(most.min(room))
            .collect::<Vec<_>>();
        work.wanted.extend(found);
        if is_retry {
            work.wanted.extend(work.stuck.iter().map(|stuck| stuck.copy.id()));
        }
        work.wanted.sort_unstable();
        work.wanted.dedup();
        work.taken.clear();
        for &page in &work.wanted {
            if let Some(dirty) = self.pool().take_off(page, &mut work.copies[work.taken.len()]) {
                work.taken.push(dirty);
            }
        }
        // Logged pages come first, for scratch pages have the higher numbers; one kind does not suffer for the other.
        let logged = work.taken.partition_point(|dirty| !dirty.page.is_scratch());
        let failed = self.write_logged(work, logged, is_retry);
        let scratch = self.write_scratch(work, logged);
        let lost = failed.as_ref().map_or(logged, |failed| *failed)
            + scratch.as_ref().map_or(work.taken.len() - logged, |_| 0);
        let written = work.taken.len() - lost;
        match failed.map(drop).and(scratch) {
            Err(error) if written == 0 => Err(error),
            _ if written == 0 && lost > 0 => Err(first_of(&work.stuck).expect("a page that failed is stuck")),
            _ => Ok(written),
        }
    }

    /// Writes those of the taken pages that are logged; says how many could not be written to their places.
    fn write_logged(&self, work: &mut Work, logged: usize, is_retry: bool) -> Result<usize> {
        let copies = &work.copies[..logged];
        let taken = &work.taken[..logged];
        let is_taken = |page| taken.binary_search_by_key(&page, |dirty| dirty.page).is_ok();
        // These pages are latched by another thread, or clean: the copies kept are written.
        let (mut again, carried): (Vec<&Stuck>, Vec<&Stuck>) = work
            .stuck
            .iter()
            .filter(|stuck| !is_taken(stuck.copy.id()))
            .partition(|_| is_retry);
        if copies.is_empty() && again.is_empty() {
            return Ok(0);
        }
        let newest = copies.iter().map(|copy| copy.lsn()).max();
        let newest = newest.filter(|_| !sabotage::breaks("page"));
        let flushed = newest.map_or(Ok(()), |newest| self.log().flush(newest));
        let beside = again.iter().chain(&carried).map(|stuck| &stuck.copy);
        let kept = flushed.and_then(|()| work.doublewrite.keep(copies, beside));
        if let Err(error) = kept {
            taken.iter().for_each(|&dirty| self.pool().lost(dirty));
            return Err(error);
        }
        let mut failures = self.write_to_their_places(taken, copies);
        again.retain(|stuck| {
            self.pool()
                .write_run(stuck.copy.id(), &stuck.copy[..])
                .map_err(|error| failures.push((stuck.copy.id(), error)))
                .is_ok()
        });
        if let Err(error) = self.pool().sync_data() {
            let all = taken.iter().map(|dirty| dirty.page);
            let again = again.iter().map(|stuck| stuck.copy.id());
            failures = all.chain(again).map(|page| (page, duplicate(&error))).collect();
        }
        let mut stuck_now: Vec<Stuck> = Vec::new();
        for (page, error) in failures {
            let copy = match taken.binary_search_by_key(&page, |dirty| dirty.page) {
                Ok(at) => &copies[at],
                Err(_) => {
                    let known = work.stuck.iter().find(|stuck| stuck.copy.id() == page);
                    &known.expect("it was tried again").copy
                }
            };
            stuck_now.push(Stuck {
                copy: copy.duplicate(),
                error,
            });
        }
        let mut failed = 0;
        for &dirty in taken {
            if stuck_now.iter().any(|stuck| stuck.copy.id() == dirty.page) {
                self.pool().lost(dirty);
                failed += 1;
            } else {
                self.pool().landed(dirty);
            }
        }
        let carried: Vec<PageId> = carried.iter().map(|stuck| stuck.copy.id()).collect();
        work.stuck.retain(|stuck| carried.contains(&stuck.copy.id()));
        if !stuck_now.is_empty() {
            work.retry_at = Instant::now() + RETRY_AFTER;
            work.stuck.append(&mut stuck_now);
        }
        Ok(failed)
    }

    /// Scratch pages need neither log nor copies nor sync, and to lose them loses nothing that was committed.
    fn write_scratch(&self, work: &Work, logged: usize) -> Result<()> {
        let (taken, copies) = (&work.taken[logged..], &work.copies[logged..work.taken.len()]);
        let failures = self.write_to_their_places(taken, copies);
        for &dirty in taken {
            match failures.iter().any(|(page, _)| *page == dirty.page) {
                true => self.pool().lost(dirty),
                false => self.pool().landed(dirty),
            }
        }
        failures
            .into_iter()
            .next()
            .map_or(Ok(()), |(_, error)| Err(error.into()))
    }

    /// Neighbours go in one write, and several writes at once. Returns the pages that could not be written.
    fn write_to_their_places(&self, taken: &[Dirty], copies: &[PageBuf]) -> Vec<(PageId, io::Error)> {
        let runs: Vec<_> = taken.chunk_by(|a, b| a.page.0 + 1 == b.page.0).collect();
        let copies_of = |run: &[Dirty]| {
            let at = taken.partition_point(|dirty| dirty.page < run[0].page);
            &copies[at..at + run.len()]
        };
        let write = |runs: &[&[Dirty]]| {
            let mut failures = Vec::new();
            for run in runs {
                let copies = copies_of(run);
                if self
                    .pool()
                    .write_run(run[0].page, PageBuf::bytes_of(copies))
                    .is_ok()
                {
                    continue;
                }
                // To know which of them it is.
                for (dirty, copy) in run.iter().zip(copies) {
                    if let Err(error) = self.pool().write_run(dirty.page, &copy[..]) {
                        failures.push((dirty.page, error));
                    }
                }
            }
            failures
        };
        if runs.len() < 2 * WRITERS {
            return write(&runs);
        }
        let shares = runs.chunks(runs.len().div_ceil(WRITERS)).collect();
        share_out("page-writer", shares, write)
            .into_iter()
            .flatten()
            .collect()
    }

    /// The error of a page that cannot be written to its place, if there is one.
    pub(super) fn stuck(&self) -> Result<()> {
        first_of(&self.cleaner().work.lock().stuck).map_or(Ok(()), Err)
    }

    /// Has pages that could not be written tried again by the next batch.
    pub(super) fn retry_stuck_pages(&self) {
        self.cleaner().work.lock().retry_at = Instant::now();
    }

    /// Moves the point where recovery would begin as far as the pages on disk allow, and frees the log before it.
    pub fn checkpoint(&self) -> Result<()> {
        self.checkpoint_as(false)
    }

    pub(super) fn checkpoint_as(&self, clean: bool) -> Result<()> {
        let tail = self.log().tail();
        let Some(retain) = self.retain() else {
            return Ok(());
        };
        // Up to the ends of those that the answer left out; and no log may end before the point where recovery begins.
        self.log().flush_all()?;
        let work = self.cleaner().work.lock();
        let oldest = self.pool().oldest_rec_lsn();
        let oldest = oldest.filter(|_| !sabotage::breaks("checkpoint"));
        let redo_from = oldest.map_or(tail, |lsn| lsn.min(tail));
        let scan_from = redo_from.min(retain.oldest);
        // A checkpoint may count on pages beyond what the control file knows of; the file must then be so long for certain.
        let data_pages = self.space().allocated();
        if data_pages > self.control().data_pages {
            self.pool().sync_data()?;
        }
        let durable = self.log().flushed();
        // Never backwards: another checkpoint may have come first since the tail was read, and the log that it no longer
        // needed may be gone. What was right to begin at stays right.
        let before = self.control();
        let (redo_from, scan_from) = (redo_from.max(before.redo_from), scan_from.max(before.scan_from));
        self.write_control(|control: &mut Control| {
            control.redo_from = redo_from;
            control.scan_from = scan_from;
            if scan_from >= self.run_start {
                control.scan_epoch = control.epoch;
            }
            control.next_txn = control.next_txn.max(retain.next_txn);
            control.clean = clean;
            control.data_pages = control.data_pages.max(data_pages);
            control.durable = durable;
        })?;
        self.cleaner().redo_from.store(redo_from.0, Ordering::Release);
        self.cleaner().checkpoints.fetch_add(1, Ordering::Relaxed);
        let punched = self
            .space()
            .punch(self.pool(), redo_from.min(self.holds.lowest()));
        drop(work);
        // The log first: it is waited for.
        self.make_log_room(scan_from, redo_from).and(punched)
    }

    pub(super) fn make_log_room(&self, scan_from: Lsn, redo_from: Lsn) -> Result<()> {
        // Until the losers are undone, what a former run reserved for that is theirs.
        let trim = self.retain.read().is_some();
        self.bound_archive();
        let keep_from = scan_from.min(self.holds.lowest());
        self.log()
            .make_room(keep_from, redo_from, self.log_capacity(), trim)
    }

    /// Has segments ready before mini-transactions must wait for them.
    pub(super) fn make_log_room_ahead(&self) -> Result<()> {
        if self.log().is_short_of_room() && !self.is_recovering() {
            let control = self.control();
            self.make_log_room(control.scan_from, control.redo_from)?;
        }
        Ok(())
    }
}
