//! How much the cleaner writes, and when.
//!
//! Pages are written when evictors find no clean ones, when more of the pool is dirty than allowed, gently when nothing
//! else happens, and above all so that the log does not fill up, for it can begin no later than the oldest change that no
//! page on disk has.
//!
//! *The log* is kept about half full by writing at an even pace. Were all pages written that a log half full is too long
//! for, and no others, the writes would come in waves: a load that starts on a clean pool dirties most of its pages within
//! a short stretch of the log, and a lap later they would all be due at once, with commits waiting for the same disk.
//! So each second is given its share of *all* dirty pages, oldest first:
//!
//! ```text
//!  pages of this second = dirty pages ÷ age of the oldest × log written per second × (age ÷ half the capacity)²
//! ```
//!
//! with ages in bytes of log. The first three factors together are what keeps the age as it is if dirty pages are spread
//! evenly over it; the last makes it grow while it is low, where pages that are changed again and again had better be
//! written late, and shrink while it is high. Past three quarters the cleaner does not rest, and a checkpoint follows
//! every batch, so that statements that wait for room go on as soon as there is some.
//!
//! Source: InnoDB's adaptive flushing, which weighs the log's age, its growth and the dirty pages alike.

use super::Store;
use super::cleaner::Aim;
use super::doublewrite::BATCH;
use crate::error::{Error, Result};
use crate::ids::{Lsn, PageId};
use crate::pool::{Dirty, Wanted};
use std::time::{Duration, Instant};

/// How long the cleaner sleeps unless it is asked for.
pub(super) const TICK: Duration = Duration::from_millis(50);
/// How often the log is flushed for commits that did not wait for it.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
const CHECKPOINT_EVERY: Duration = Duration::from_secs(2);
const CHECKPOINT_UNDER_PRESSURE: Duration = Duration::from_millis(100);
const COMPLAIN_EVERY: Duration = Duration::from_secs(60);
const PLAN_EVERY: Duration = Duration::from_secs(1);

/// What the cleaner's thread remembers from round to round.
pub(super) struct Pace {
    tail: Lsn,
    /// The log's tail when no logged page was dirty.
    all_clean_at: Lsn,
    flushed_at: Instant,
    checkpoint_at: Instant,
    plan: Plan,
    /// The log is about to be full: no rest until it is not.
    hurries: bool,
    /// When the last complaint was, and about what.
    complained: Option<(Instant, String)>,
}

/// The pages of one second.
struct Plan {
    made_at: Instant,
    tail: Lsn,
    /// What is written of the log in a second, bytes, on average over the last seconds.
    log_rate: f64,
    /// In the order of their numbers.
    pages: Vec<PageId>,
    /// So many of them have had their turn.
    done: usize,
    /// Room to find them in.
    dirty: Vec<Dirty>,
}

impl Plan {
    fn new() -> Plan {
        Plan {
            made_at: Instant::now(),
            tail: Lsn::ZERO,
            log_rate: 0.0,
            pages: Vec::new(),
            done: 0,
            dirty: Vec::new(),
        }
    }

    /// Makes the plan of the next second, if it is time and the last one is done: else the pages at its end, which are the
    /// same from plan to plan, would never have their turn.
    fn renew(&mut self, store: &Store) {
        let passed = self.made_at.elapsed();
        if passed < PLAN_EVERY || self.done < self.pages.len() {
            return;
        }
        let tail = store.log().tail();
        let grown = tail.0.saturating_sub(self.tail.0) as f64 / passed.as_secs_f64();
        self.log_rate = match self.tail.is_zero() {
            true => 0.0,
            false => self.log_rate * 0.7 + grown * 0.3,
        };
        (self.made_at, self.tail, self.done) = (Instant::now(), tail, 0);
        self.pages.clear();
        let age = tail.0.saturating_sub(store.redo_from().0);
        if age < store.log_capacity() / 16 {
            return;
        }
        self.dirty.clear();
        let logged = store
            .pool()
            .dirty_pages()
            .filter(|dirty| !dirty.page.is_scratch());
        self.dirty.extend(logged);
        let due = pages_due(self.dirty.len(), age, self.log_rate, store.log_capacity());
        if due < self.dirty.len() {
            self.dirty.select_nth_unstable_by_key(due, |dirty| dirty.rec_lsn);
        }
        let oldest = self.dirty.iter().take(due);
        self.pages.extend(oldest.map(|dirty| dirty.page));
        self.pages.sort_unstable();
    }

    /// The pages whose turn has come.
    fn take(&mut self) -> &[PageId] {
        let share = self.made_at.elapsed().as_secs_f64() / PLAN_EVERY.as_secs_f64();
        let until = ((self.pages.len() as f64 * share).ceil() as usize).min(self.pages.len());
        let from = self.done.min(until);
        self.done = until.min(from + BATCH);
        &self.pages[from..self.done]
    }
}

/// How many of the dirty pages are to be written in a second; the head of this file says why. `age` and `capacity` are in
/// bytes, `log_rate` in bytes per second.
fn pages_due(dirty: usize, age: u64, log_rate: f64, capacity: u64) -> usize {
    if age == 0 {
        return 0;
    }
    let urgency = age as f64 / (capacity as f64 / 2.0);
    let due = dirty as f64 / age as f64 * log_rate * urgency * urgency;
    (due.ceil() as usize).min(dirty)
}

impl Pace {
    pub(super) fn new() -> Pace {
        Pace {
            tail: Lsn::ZERO,
            all_clean_at: Lsn::ZERO,
            flushed_at: Instant::now(),
            checkpoint_at: Instant::now(),
            plan: Plan::new(),
            hurries: false,
            complained: None,
        }
    }

    /// How long to sleep before the next round, unless asked for.
    pub(super) fn pause(&self) -> Duration {
        match self.hurries {
            true => Duration::ZERO,
            false => TICK,
        }
    }

    /// Says what is wrong, once a minute while it is the same.
    pub(super) fn complain(&mut self, error: &Error) {
        let what = error.to_string();
        let is_known = |(at, before): &(Instant, String)| *before == what && at.elapsed() < COMPLAIN_EVERY;
        if !self.complained.as_ref().is_some_and(is_known) {
            ::log::error!("{what}. Changed pages stay in memory, and this is tried again.");
            self.complained = Some((Instant::now(), what));
        }
    }

    pub(super) fn round(&mut self, store: &Store, wanted: Wanted) -> Result<()> {
        let (pool, log) = (store.pool(), store.log());
        if log.flush_at_trx_commit() != 1 && self.flushed_at.elapsed() >= FLUSH_EVERY {
            log.flush_all()?;
            self.flushed_at = Instant::now();
        }
        let tail = log.tail();
        let idle = tail == self.tail;
        self.tail = tail;

        // Whatever fails, the rest is tried: what cannot be written in one place keeps nothing else from it.
        let mut done = Ok(());
        if wanted.asked || wanted.waiting || pool.dirty_count() > store.dirty_max() {
            match store.clean(Aim::Room, BATCH) {
                // Even if nothing was left to do: a thread that sleeps may have been overtaken by it.
                Ok(cleaned) => pool.cleaner_signal().report(cleaned.max(1)),
                Err(error) => done = Err(error),
            }
        } else if idle && pool.dirty_count() > 0 && self.all_clean_at != tail {
            match store.clean(Aim::Log(Lsn::MAX), BATCH / 4) {
                Ok(0) => self.all_clean_at = tail,
                Ok(_) => {}
                Err(error) => done = Err(error),
            }
        }
        self.plan.renew(store);
        let due = self.plan.take();
        if !due.is_empty() {
            done = done.and(store.clean(Aim::These(due), BATCH).map(drop));
        }
        let capacity = store.log_capacity();
        let age = tail.0.saturating_sub(store.redo_from().0);
        self.hurries = age > capacity * 3 / 4;
        if self.hurries {
            let up_to = Lsn(tail.0.saturating_sub(capacity * 5 / 8));
            let cleaned = store.clean(Aim::Log(up_to), BATCH);
            self.hurries = cleaned.as_ref().is_ok_and(|cleaned| *cleaned > 0);
            done = done.and(cleaned.map(drop));
        }
        let every = if age > capacity / 2 {
            CHECKPOINT_UNDER_PRESSURE
        } else {
            CHECKPOINT_EVERY
        };
        let is_worth_it = || store.redo_from() < tail || store.space().may_punch();
        let due = self.checkpoint_at.elapsed() >= every && is_worth_it();
        if due || log.is_full() || age > capacity * 3 / 4 {
            self.checkpoint_at = Instant::now();
            done = done.and(store.checkpoint());
        }
        // Last: on a full disk this fails, and what went before may make room.
        done.and(store.make_log_room_ahead()).and(store.stuck())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    const CAPACITY: u64 = 1 << 30;
    const PAGES: usize = 60_000;

    /// After a load has started on a clean pool and changed all pages within the first seventh of the log: no second writes more
    /// than thrice what the average one does, and the log never comes near its end.
    #[test]
    fn a_load_that_starts_on_a_clean_pool_is_written_evenly() {
        let rate = 8e6;
        let (mut tail, mut written, mut highest_age) = (CAPACITY / 7, Vec::new(), 0);
        // The positions since which the pages are dirty, oldest first; a page written is dirty again at once.
        let at_first = (0..PAGES as u64).map(|n| n * tail / PAGES as u64);
        let mut dirty: VecDeque<u64> = at_first.collect();
        for _ in 0..1000 {
            tail += rate as u64;
            let age = tail - dirty[0];
            highest_age = highest_age.max(age);
            let due = pages_due(PAGES, age, rate, CAPACITY);
            dirty.drain(..due);
            dirty.extend(std::iter::repeat_n(tail, due));
            written.push(due);
        }
        let average = written.iter().sum::<usize>() / written.len();
        let most = written.iter().max().unwrap();
        assert!(
            *most < 3 * average,
            "{most} pages in a second, {average} on average"
        );
        assert!(highest_age < CAPACITY * 3 / 4, "{highest_age} bytes");
    }

    #[test]
    fn what_is_due_grows_with_the_age_and_is_never_more_than_there_is() {
        assert_eq!(pages_due(0, 100, 1e6, CAPACITY), 0);
        assert_eq!(pages_due(100, 0, 1e6, CAPACITY), 0);
        let at = |share: u64| pages_due(PAGES, CAPACITY / 100 * share, 8e6, CAPACITY);
        assert!(
            at(10) < at(30) && at(30) < at(60) && at(60) < at(90),
            "{} {} {} {}",
            at(10),
            at(30),
            at(60),
            at(90)
        );
        assert_eq!(pages_due(10, CAPACITY, 1e12, CAPACITY), 10);
    }
}
