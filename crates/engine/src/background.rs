//! The threads that work beside transactions, from the start of an engine to its end.
//!
//! | thread | what it does |
//! |---|---|
//! | `tidemark-purge` | rounds of purge; each second what could not be rolled back is tried again, and scratch space given back |
//! | `tidemark-reclaim` | frees dropped trees, sweeps after a crash (`purge::reclaim`) |
//! | `tidemark-flush` | flushes the log for those that have not waited for it |
//! | `tidemark-counters` | stores auto-increment counters that have moved |
//! | `tidemark-clock` | notes which position of the log belongs to which moment |
//! | `tidemark-scrub` | verifies pages on the disk |
//! | `tidemark-archive` | copies the log, if it is archived |
//!
//! Each has a thread of its own because of how long another may take. With `innodb_flush_log_at_trx_commit` 0 or 2 a crash is to
//! cost a second of commits, and a round of purge takes minutes after an old view is closed, as does a large tree that is freed.
//! (The page cleaner is the store's.)

use crate::core::{Core, FROZEN, NO_PURGE};
use crate::error::Result;
use crate::ids::TxnId;
use crate::mvcc::SAMPLE_EVERY;
use crate::purge::{Purge, report};
use crate::scrub::Scrub;
use parking_lot::Mutex;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{JoinHandle, park_timeout};
use std::time::{Duration, Instant};

/// How often the log is flushed, unless it is said otherwise.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// How often the archive of the log is brought up to date.
const ARCHIVE_EVERY: Duration = Duration::from_secs(1);
/// How often auto-increment counters are stored.
const SETTLE_EVERY: Duration = Duration::from_secs(1);
/// How often it is said that it cannot be.
const COMPLAIN_EVERY: Duration = Duration::from_secs(60);
/// How long after a panic a background thread's work is begun again.
const RESTART_AFTER: Duration = Duration::from_secs(1);

/// The threads of an open engine. They stop when this is dropped.
pub(crate) struct Background {
    core: Arc<Core>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    flush_every_ms: Arc<AtomicU64>,
}

impl Background {
    /// Starts what the engine's level of recovery lets run. `sweep_below`: see [`Purge::run_reclaim`].
    pub fn start(
        core: &Arc<Core>,
        purge: &Arc<Purge>,
        scrub: &Arc<Scrub>,
        archives: bool,
        sweep_below: Option<TxnId>,
    ) -> Result<Background> {
        let background = Background {
            core: core.clone(),
            threads: Mutex::default(),
            flush_every_ms: Arc::new(AtomicU64::new(FLUSH_EVERY.as_millis() as u64)),
        };
        let level = core.kernel.store.force_recovery();
        if level < NO_PURGE {
            let (rounds, freeing) = (purge.clone(), purge.clone());
            background.spawn("tidemark-purge", move |_| rounds.run())?;
            background.spawn("tidemark-reclaim", move |_| freeing.run_reclaim(sweep_below))?;
        }
        if level < FROZEN {
            let every_ms = background.flush_every_ms.clone();
            background.spawn("tidemark-flush", move |core| flush_the_log(core, &every_ms))?;
        }
        if !core.kernel.read_only {
            background.spawn("tidemark-counters", store_counters)?;
        }
        background.spawn("tidemark-clock", watch_the_clock)?;
        let scrub = scrub.clone();
        background.spawn("tidemark-scrub", move |core| scrub.run(core))?;
        if archives {
            background.spawn("tidemark-archive", archive_the_log)?;
        }
        Ok(background)
    }

    fn spawn(&self, name: &'static str, run: impl Fn(&Core) + Send + 'static) -> Result<()> {
        let core = self.core.clone();
        let run = move || run_for_ever(&core, name, &|| run(&core));
        let thread = std::thread::Builder::new().name(name.into()).spawn(run);
        let thread = thread.map_err(|error| {
            std::io::Error::new(error.kind(), format!("starting the thread {name}: {error}"))
        })?;
        self.threads.lock().push(thread);
        Ok(())
    }

    /// See [`Engine::set_flush_log_every`](crate::Engine::set_flush_log_every).
    pub fn set_flush_every(&self, every: Duration) {
        self.flush_every_ms
            .store(every.as_millis() as u64, Ordering::Relaxed);
        // One that sleeps for a longer time than that.
        self.wake();
    }

    fn wake(&self) {
        for thread in &*self.threads.lock() {
            thread.thread().unpark();
        }
    }

    /// Waits until all of them have ended.
    pub fn stop(&self) {
        self.core.stop_background();
        self.wake();
        for thread in self.threads.lock().drain(..) {
            // The last handle on the engine may be one that an observer had, which is called by one of these threads.
            if thread.thread().id() != std::thread::current().id() {
                // A panic there has said its reason already.
                let _ = thread.join();
            }
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Writes and syncs what commits that did not wait to be durable, and rollbacks, have left in the log.
fn flush_the_log(core: &Core, every_ms: &AtomicU64) {
    let log = core.kernel.store.log();
    let mut flushed = Instant::now();
    while !core.background.is_stopped() {
        let every = Duration::from_millis(every_ms.load(Ordering::Relaxed));
        match every.checked_sub(flushed.elapsed()) {
            Some(rest) if !rest.is_zero() => park_timeout(rest),
            _ => {
                // Taken before the flush: how long that takes is not to be added to the time between two.
                flushed = Instant::now();
                if log.flushed() < log.tail() {
                    report("flushing the log", log.flush_all());
                }
            }
        }
    }
}

/// Moments are asked for to a tenth of a second.
fn watch_the_clock(core: &Core) {
    while !core.background.is_stopped() {
        core.kernel.mvcc.sample_tide();
        park_timeout(SAMPLE_EVERY);
    }
}

/// Keeps the log that counters need short: what has moved is stored once a second, and whenever a checkpoint could free more.
fn store_counters(core: &Core) {
    while !core.background.is_stopped() {
        report("storing auto-increment counters", core.settle_counters());
        core.settling.wait(SETTLE_EVERY);
    }
}

/// Keeps the archive of the log about a second behind it.
fn archive_the_log(core: &Core) {
    let mut complained: Option<Instant> = None;
    while !core.background.is_stopped() {
        if let Err(error) = core.kernel.store.archive_log()
            && complained.is_none_or(|at| at.elapsed() > COMPLAIN_EVERY)
        {
            ::log::error!("archiving the log: {error}");
            complained = Some(Instant::now());
        }
        park_timeout(ARCHIVE_EVERY);
    }
}

/// Runs a background thread's work until it returns. If it panics, it is run again: none has anything half done that a next
/// round would not find, and without purge and the clock versions would pile up unseen. (A panic within a mini-transaction ends
/// the process.)
fn run_for_ever(core: &Core, name: &str, run: &dyn Fn()) {
    while catch_unwind(AssertUnwindSafe(run)).is_err() && !core.background.is_stopped() {
        ::log::error!("{name} has failed, and is started again");
        park_timeout(RESTART_AFTER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ddl::Ddl;
    use crate::disk::sim::SimDisk;
    use crate::engine::{Config, Opened, open_core};
    use crate::ids::{Isolation, TableId};
    use crate::progress::LongWork;
    use crate::transaction::Transaction;
    use crate::{Action, Column, ColumnType, Datum, IndexSchema, KeyPart, TableSchema};
    use std::cell::Cell;
    use std::sync::mpsc::channel;

    const LIMIT: Duration = Duration::from_secs(60);

    fn open(disk: &SimDisk) -> Opened {
        let mut config = Config::new("");
        config.disk = Some(Arc::new(disk.clone()));
        config.abort_on_log_failure = false;
        open_core(&config, true).unwrap()
    }

    /// A table that had so many rows, of which every second one was deleted.
    fn half_deleted(core: &Arc<Core>, rows: i64) -> TableId {
        let int = Column {
            ty: ColumnType::Int { bytes: 4 },
            nullable: false,
        };
        let primary = IndexSchema {
            parts: vec![KeyPart::column(0)],
            unique: true,
        };
        let mut ddl = Ddl::new(core.clone(), false).unwrap();
        let schema = TableSchema {
            columns: vec![int],
            primary: Some(primary),
            secondary: Vec::new(),
        };
        let id = ddl.create_table(&schema).unwrap();
        ddl.commit().unwrap();
        let table = core.catalog.table(id).unwrap();
        let mut txn = Transaction::new(core.clone());
        txn.begin(Isolation::RepeatableRead, false);
        for n in 0..rows {
            table.insert(&mut txn, &[Datum::Int(n)]).unwrap();
        }
        txn.commit().unwrap();
        txn.begin(Isolation::RepeatableRead, false);
        for n in (0..rows).step_by(2) {
            let mut key = Vec::new();
            table.encode_key(0, &[Datum::Int(n)], &mut key).unwrap();
            let is_there = table.modify(&mut txn, &key, &mut |_, _| Ok(Action::Delete));
            assert!(is_there.unwrap());
        }
        txn.commit().unwrap();
        id
    }

    fn wait_until(what: &str, is_so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < LIMIT, "{what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn start(core: &Arc<Core>, sweep_below: Option<TxnId>) -> Background {
        let purge = Arc::new(Purge::new(core.clone(), 1));
        Background::start(core, &purge, &Arc::default(), false, sweep_below).unwrap()
    }

    /// Purge tasks do not outlive a crash. While the sweep looks for what they named, new ones are followed, and the log is flushed;
    /// it stops with the engine, and the next start begins it again.
    #[test]
    fn a_sweep_is_not_waited_for_and_is_begun_again_if_it_was_stopped() {
        let disk = SimDisk::new(3);
        let id = half_deleted(&open(&disk).core, 5_000);
        let disk = disk.restart();

        let opened = open(&disk);
        let core = &opened.core;
        assert!(core.needs_sweep().unwrap());
        let (tell, told) = channel();
        let (go, may_go) = channel::<()>();
        let observer = move |at| {
            if tell.send(at).is_ok() {
                let _ = may_go.recv();
            }
        };
        core.watcher.set(Duration::ZERO, Box::new(observer));
        let background = start(core, Some(opened.next));
        let begun = told.recv_timeout(LIMIT).unwrap().expect("a sweep has begun");
        assert_eq!((begun.work, begun.done), (LongWork::Sweeping, 1));
        assert!(begun.of > 5, "{begun:?}");

        let log = core.kernel.store.log();
        log.set_flush_at_trx_commit(0);
        let small = core.catalog.table(half_deleted(core, 100)).unwrap();
        let tail = log.tail();
        wait_until("the log is flushed", || log.flushed() >= tail);
        wait_until("what is deleted now is purged", || small.estimate_rows() == 50);

        core.stop_background();
        drop((go, told));
        drop(background);
        assert!(core.needs_sweep().unwrap(), "it was stopped");
        let large = core.catalog.table(id).unwrap();
        assert!(large.estimate_rows() > 4_000);
        drop((small, large, opened));

        let opened = open(&disk.restart());
        let core = &opened.core;
        let background = start(core, Some(opened.next));
        wait_until("the sweep is over", || !core.needs_sweep().unwrap());
        let left = core.catalog.table(id).unwrap().estimate_rows();
        assert!((2_000..3_000).contains(&left), "{left} rows");
        drop(background);
    }

    #[test]
    fn background_work_that_panics_is_begun_again() {
        let opened = open(&SimDisk::new(7));
        let runs = Cell::new(0);
        let fails_once = || {
            runs.set(runs.get() + 1);
            assert!(runs.get() > 1, "the first run fails");
        };
        run_for_ever(&opened.core, "a thread", &fails_once);
        assert_eq!(runs.get(), 2);

        // But not while the engine stops.
        opened.core.stop_background();
        run_for_ever(&opened.core, "a thread", &|| {
            runs.set(runs.get() + 1);
            panic!("each run fails");
        });
        assert_eq!(runs.get(), 3);
    }
}
