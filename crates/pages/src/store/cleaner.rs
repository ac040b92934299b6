//! Writing pages behind, and checkpoints.
//!
//! One thread writes all pages, in batches: it copies dirty pages out under a share of their latches, has the log
//! flushed up to the highest LSN among them (the write-ahead rule), keeps copies of logged ones (`doublewrite.rs`), writes
//! them to their places, neighbours in one go, and syncs. Only then do they count as clean.
//!
//! It works when evictors find no clean pages, when more of the pool is dirty than allowed, when the log fills up, and,
//! gently, when nothing else happens. A checkpoint is fuzzy: it waits for nobody. It reads the log's tail, *then* the
//! lowest `rec_lsn` and the oldest transaction's first position. Both were put down before the positions they guard were
//! reserved, so whatever is overlooked lies at or after that tail. A transaction that is no longer among the running has
//! its last record in the log, but perhaps not on disk: that record must be certain before the log forgets the others,
//! or after a power cut some of its changes would stand in pages with nothing left to tell whose they are.
//!
//! A batch that could not be written may have left pages torn at their places, and only the doublewrite file could mend
//! them. So the next batch, which will overwrite that file, begins with writing the same copies again.

use super::Store;
use super::control::Control;
use super::doublewrite::{BATCH, Doublewrite};
use crate::error::Result;
use crate::ids::{Lsn, PageId};
use crate::pool::{Dirty, Health, PageBuf, Signal, Wanted};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long the cleaner sleeps if nobody asks for it.
const TICK: Duration = Duration::from_millis(50);
/// How often the log is flushed for those who did not wait for it.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
const CHECKPOINT_EVERY: Duration = Duration::from_secs(2);
/// Writes under way at once.
const WRITERS: usize = 4;
const CHECKPOINT_UNDER_PRESSURE: Duration = Duration::from_millis(100);

pub(super) struct Cleaner {
    /// Held during a batch, and during a checkpoint: between batches no page is in flight. Whoever holds it waits for
    /// nobody who may be waiting for a clean page: for no latch, and not for the lock on allocation.
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
    /// So many of the copies, which the doublewrite file holds, may be torn at their places.
    owed: usize,
}

/// What pages are written for.
#[derive(Clone, Copy)]
pub(super) enum Aim {
    /// So that they can be evicted.
    Room,
    /// So that the log before this position is not needed for them. That is nothing to scratch pages: most are garbage
    /// before anybody must evict them, and are never written.
    Log(Lsn),
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
            owed: 0,
        };
        Cleaner {
            work: Mutex::new(work),
            redo_from: AtomicU64::new(redo_from.0),
            checkpoints: AtomicU64::new(0),
        }
    }

    pub fn redo_from(&self) -> Lsn {
        Lsn(self.redo_from.load(Ordering::Acquire))
    }

    pub fn checkpoints(&self) -> u64 {
        self.checkpoints.load(Ordering::Relaxed)
    }

    /// Starts the thread. It ends when the store is gone or says so.
    pub fn start(store: &Arc<Store>) -> Result<JoinHandle<()>> {
        let weak = Arc::downgrade(store);
        let signal = store.pool().cleaner_signal().clone();
        let run = move || {
            let signal = LastWord(signal);
            let LastWord(signal) = &signal;
            let mut pace = Pace::new();
            loop {
                let wanted = signal.wait_for_work(TICK);
                let Some(store) = Weak::upgrade(&weak) else { return };
                if store.is_closing() {
                    return;
                }
                if pace.round(&store, wanted).is_ok() {
                    continue;
                }
                // A disk that takes no pages may take no log either, and then all is over.
                let over = store.log().probe().is_err();
                signal.report(if over { Health::Stopped } else { Health::Failing }, 0);
                if over {
                    return;
                }
                // Nobody is served by failing as fast as possible.
                drop(store);
                thread::sleep(TICK);
            }
        };
        Ok(thread::Builder::new().name("cleaner".into()).spawn(run)?)
    }
}

/// If the thread panics, nobody waits for it for ever.
struct LastWord(Arc<Signal>);

impl Drop for LastWord {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.report(Health::Stopped, 0);
        }
    }
}

/// What the cleaner's thread remembers from round to round.
struct Pace {
    tail: Lsn,
    /// The log's tail when no logged page was dirty.
    all_clean_at: Lsn,
    flushed_at: Instant,
    checkpoint_at: Instant,
}

impl Pace {
    fn new() -> Pace {
        Pace {
            tail: Lsn::ZERO,
            all_clean_at: Lsn::ZERO,
            flushed_at: Instant::now(),
            checkpoint_at: Instant::now(),
        }
    }

    fn round(&mut self, store: &Store, wanted: Wanted) -> Result<()> {
        let (pool, log) = (store.pool(), store.log());
        if log.flush_at_trx_commit() != 1 && self.flushed_at.elapsed() >= FLUSH_EVERY {
            log.flush_all()?;
            self.flushed_at = Instant::now();
        }
        let tail = log.tail();
        let idle = tail == self.tail;
        self.tail = tail;

        if wanted.asked || wanted.waiting || pool.dirty_count() > store.dirty_max() {
            let cleaned = store.clean(Aim::Room, BATCH)?;
            // Even if nothing was left to do: whoever sleeps may have been overtaken by it.
            pool.cleaner_signal().report(Health::Working, cleaned.max(1));
        } else if idle && pool.dirty_count() > 0 && self.all_clean_at != tail {
            let cleaned = store.clean(Aim::Log(Lsn::MAX), BATCH / 4)?;
            if cleaned == 0 {
                self.all_clean_at = tail;
            }
        }
        let capacity = store.log_capacity();
        let age = |store: &Store| log.tail().0.saturating_sub(store.redo_from().0);
        let started_at = age(store);
        if started_at > capacity / 2 {
            // Enough to be well below again; at once if the log is about to be full, else by and by. The log may have grown
            // past its half only since this round began.
            let up_to = Lsn(log.tail().0.saturating_sub(capacity * 2 / 5));
            while store.clean(Aim::Log(up_to), BATCH)? > 0 && started_at > capacity * 7 / 10 {}
        }
        let every = if started_at > capacity / 2 {
            CHECKPOINT_UNDER_PRESSURE
        } else {
            CHECKPOINT_EVERY
        };
        let due = self.checkpoint_at.elapsed() >= every && store.redo_from() < tail;
        if due || log.is_full() || started_at > capacity * 7 / 10 {
            self.checkpoint_at = Instant::now();
            store.checkpoint()?;
        }
        // Last: on a full disk this fails, and what went before may make room.
        store.make_log_room_ahead()
    }
}

impl Store {
    /// Writes up to `most` dirty pages, those first that eviction comes to first. Says how many it wrote.
    pub(super) fn clean(&self, aim: Aim, most: usize) -> Result<usize> {
        let mut work = self.cleaner().work.lock();
        let work = &mut *work;
        self.write_owed(work)?;
        work.wanted.clear();
        let dirty = self
            .pool()
            .dirty_pages()
            .filter(|dirty| match aim {
                Aim::Room => true,
                Aim::Log(up_to) => !dirty.page.is_scratch() && dirty.rec_lsn < up_to,
            })
            .map(|d| d.page);
        work.wanted.extend(dirty.take(most.min(BATCH)));
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
        let written = self
            .write_logged(work, logged)
            .and(self.write_scratch(work, logged));
        written.map(|()| work.taken.len())
    }

    fn write_logged(&self, work: &mut Work, logged: usize) -> Result<()> {
        let copies = &work.copies[..logged];
        let Some(newest) = copies.iter().map(|copy| copy.lsn()).max() else {
            return Ok(());
        };
        let flushed = self.log().flush(newest);
        let kept = flushed.and_then(|()| work.doublewrite.keep(copies, [].iter()));
        let written = kept.and_then(|()| {
            work.owed = logged;
            self.write_owed(work)
        });
        self.settle(&work.taken[..logged], written)
    }

    /// Writes the copies that the doublewrite file holds to their places, if that was not done.
    fn write_owed(&self, work: &mut Work) -> Result<()> {
        if work.owed > 0 {
            self.write_to_their_places(&work.taken[..work.owed], &work.copies[..work.owed])?;
            self.pool().sync_data()?;
            work.owed = 0;
        }
        Ok(())
    }

    /// Scratch pages need neither log nor copies nor sync.
    fn write_scratch(&self, work: &Work, logged: usize) -> Result<()> {
        let (taken, copies) = (&work.taken[logged..], &work.copies[logged..work.taken.len()]);
        self.settle(taken, self.write_to_their_places(taken, copies))
    }

    fn settle(&self, taken: &[Dirty], written: Result<()>) -> Result<()> {
        for &dirty in taken {
            match written {
                Ok(()) => self.pool().landed(dirty),
                Err(_) => self.pool().lost(dirty),
            }
        }
        written
    }

    /// Neighbours go in one write, and several writes at once.
    fn write_to_their_places(&self, taken: &[Dirty], copies: &[PageBuf]) -> Result<()> {
        let runs: Vec<_> = taken.chunk_by(|a, b| a.page.0 + 1 == b.page.0).collect();
        let copies_of = |run: &[Dirty]| {
            let at = taken.partition_point(|dirty| dirty.page < run[0].page);
            &copies[at..at + run.len()]
        };
        let write = |runs: &[&[Dirty]]| {
            runs.iter().try_for_each(|run| {
                self.pool()
                    .write_run(run[0].page, PageBuf::bytes_of(copies_of(run)))
            })
        };
        if runs.len() < 2 * WRITERS {
            write(&runs)?;
        } else {
            thread::scope(|scope| {
                let shares = runs.chunks(runs.len().div_ceil(WRITERS));
                let writers: Vec<_> = shares.map(|share| scope.spawn(move || write(share))).collect();
                // The scope waits for all of them, whatever becomes of the first.
                let mut writers = writers.into_iter();
                writers.try_for_each(|writer| writer.join().expect("writing does not panic"))
            })?;
        }
        Ok(())
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
        let redo_from = self.pool().oldest_rec_lsn().map_or(tail, |lsn| lsn.min(tail));
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
        self.space().punch(self.pool(), redo_from)?;
        drop(work);
        self.log().make_room(scan_from, redo_from, self.log_capacity())
    }

    /// Has segments ready before mini-transactions must wait for them.
    fn make_log_room_ahead(&self) -> Result<()> {
        if self.log().is_short_of_room() && !self.is_recovering() {
            let control = self.control();
            self.log()
                .make_room(control.scan_from, control.redo_from, self.log_capacity())?;
        }
        Ok(())
    }
}
