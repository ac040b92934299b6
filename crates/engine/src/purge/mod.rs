//! Purge, in the background: removes what no view can see any more, and moves to the graveyards what only old views can
//! see.
//!
//! A transaction that deleted a row, or moved an entry, has left a *purge task* (`mvcc::versions`). Once every view
//! sees the transaction, purge examines the entries that the task names. One that is marked deleted, by a writer that
//! every view sees, is invisible to all of them, and is removed; any other has been changed by a later transaction,
//! which has left a task of its own. So tasks may be followed in any order, twice, or after further changes of their
//! rows; by several threads at once; and many of them together, in the order of the entries (`tasks`).
//!
//! While an old view holds tasks back, they are followed as far as that view allows (`table::deleted`), and garbage is
//! removed from their pages (`compact`).
//!
//! Versions, and the tasks in them, do not outlive the engine: after an unclean stop all trees are swept once
//! (`reclaim`).

mod compact;
mod reclaim;
mod tasks;

pub(crate) use reclaim::reclaim_chains;

use self::tasks::Batch;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::ids::Lsn;
use crate::kernel::Kernel;
use crate::mvcc::{self, PurgeItem, TidePoint, VersionBuffer};
use crate::table::OUTSIDE;
use crate::threads::share_out;
use crate::transaction;
use parking_lot::Mutex;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

const PAUSE: Duration = Duration::from_millis(50);
/// Pause between rounds while an old view is open.
const PAUSE_BUSY: Duration = Duration::from_millis(5);
const SECOND: Duration = Duration::from_secs(1);
/// Thin pages to be emptied in one round.
const THIN_AT_ONCE: usize = 64;
/// Interval at which graveyards are cleared; longer if clearing would take more than the given fraction of the time.
const CLEAR_EVERY: Duration = Duration::from_millis(200);
const CLEAR_SHARE: u32 = 20;
/// Upper limit of items whose tasks are followed as one batch.
const ITEMS_MAX: usize = 4096;
/// Items that justify one more thread.
const SHARE: u64 = 64;

/// Purge of one open engine. Its thread runs [`Self::run`]; a caller may also run a round of its own.
pub(crate) struct Purge {
    core: Arc<Core>,
    /// Threads to purge with when there is much to do.
    threads: usize,
    /// Held for the length of a round: there is one at a time.
    rounds: Mutex<Rounds>,
}

/// What purge remembers from round to round.
struct Rounds {
    oldest: Lsn,
    since: Instant,
    cleared: Instant,
    clearing_took: Duration,
    /// The buffer that compaction moves versions to.
    moved: Arc<Mutex<VersionBuffer>>,
}

impl Purge {
    pub fn new(core: Arc<Core>, threads: usize) -> Purge {
        let moved = Arc::new(VersionBuffer::new());
        core.kernel.mvcc.queue.add_buffer(&moved);
        Purge {
            core,
            threads,
            rounds: Mutex::new(Rounds {
                oldest: Lsn::ZERO,
                since: Instant::now(),
                cleared: Instant::now(),
                clearing_took: Duration::ZERO,
                moved,
            }),
        }
    }

    /// Runs until the engine's bell rings for the stop.
    pub fn run(&self) {
        let core = &*self.core;
        let mut tidied = Instant::now();
        while !core.background.is_stopped() {
            let round = self.round(false);
            let pause = match round {
                Ok(true) => PAUSE_BUSY,
                _ => PAUSE,
            };
            report("purging", round.map(|_| ()));
            if tidied.elapsed() >= SECOND {
                transaction::finish_unfinished(core);
                report("giving room back", core.kernel.store.trim_scratch());
                tidied = Instant::now();
            }
            core.background.wait(pause);
        }
    }

    /// Purges everything in the queue, ignoring the age of views; what cannot be purged is left to the next start.
    pub fn run_down(&self) {
        loop {
            match self.round(true) {
                Ok(true) => {}
                Ok(false) => return,
                failed => return report("purging", failed.map(|_| ())),
            }
        }
    }

    /// Runs one round. With `all`, ignores the age of views and any limit on time. Returns true if there was anything
    /// to do.
    pub fn round(&self, all: bool) -> Result<bool> {
        let mut rounds = self.rounds.lock();
        let core = &*self.core;
        let mvcc = &core.kernel.mvcc;
        mvcc.txns.settle(mvcc.tide());
        mvcc.sample_tide();
        move_retention_floor(&core.kernel);
        core.kernel.watch_history();
        mvcc.queue.flush_buffers();
        let (oldest, horizon) = mvcc.refresh_with(|copy| {
            mvcc.txns.recycle(copy.settled(), &copy.windows());
            mvcc.txns
                .collapse(copy.horizon(), |first, last| copy.tells_apart(first, last));
            (copy.oldest(), copy.horizon())
        });
        let due = self.follow_due(oldest);
        let held_back = follow_held_back(core, &mut rounds, oldest, horizon, all);
        // An error in one part does not keep the others from running.
        Ok(due? | held_back?)
    }

    /// Follows the tasks of items that every view has passed, with helper threads if there are many. An error in one
    /// item does not stop the others.
    fn follow_due(&self, oldest: Lsn) -> Result<bool> {
        let core = &*self.core;
        let work = || {
            let (mut any, mut failed, mut again) = (false, Ok(()), Vec::new());
            loop {
                let mut items = Vec::new();
                let done = follow_items(core, &mut items, || core.kernel.mvcc.queue.pop(oldest));
                if items.is_empty() {
                    break;
                }
                if done.is_ok() {
                    any = true;
                    continue;
                }
                // One by one, to find out which item fails.
                for item in items {
                    let next = Cell::new(Some(item));
                    match follow_items(core, &mut Vec::new(), || next.take()) {
                        Ok(()) => any = true,
                        Err(error) => {
                            match error {
                                Error::Corrupt { .. } => give_up(core, &item),
                                _ => again.push(item),
                            }
                            failed = Err(error);
                        }
                    }
                }
            }
            again
                .into_iter()
                .for_each(|item| core.kernel.mvcc.queue.hold(item));
            failed.map(|()| any)
        };
        if core
            .kernel
            .mvcc
            .queue
            .earliest()
            .is_none_or(|earliest| earliest > oldest)
        {
            return Ok(false);
        }
        let helpers = (core.kernel.mvcc.queue.len() / SHARE).min(self.threads.saturating_sub(1) as u64);
        if helpers == 0 {
            return work();
        }
        // The items are taken one by one by the threads there are: with fewer threads than wished for it takes longer.
        let shares = (0..=helpers).collect();
        let done = share_out("tidemark-purge", shares, |_| work());
        done.into_iter().try_fold(false, |any, helped| Ok(any | helped?))
    }
}

/// An error here belongs to no statement: logs it. The next round tries again.
pub(crate) fn report<E: std::fmt::Display>(doing: &str, done: Result<(), E>) {
    if let Err(error) = done {
        ::log::error!("{doing} failed: {error}");
    }
}

/// Follows what old views hold back as far as they allow, empties thin pages, and clears graveyards.
fn follow_held_back(core: &Core, rounds: &mut Rounds, oldest: Lsn, horizon: Lsn, all: bool) -> Result<bool> {
    let (mut any, mut done) = (false, Ok(()));
    if rounds.oldest != oldest {
        (rounds.oldest, rounds.since) = (oldest, Instant::now());
    }
    if all || rounds.since.elapsed() >= core.kernel.history.bury_after() {
        match follow_fresh(core, horizon) {
            Ok(followed) => any = followed,
            Err(error) => done = Err(error),
        }
    }
    for page in core.kernel.mvcc.queue.take_thin(THIN_AT_ONCE) {
        match compact::move_out(core, page, &rounds.moved) {
            Ok(true) => {}
            Ok(false) => core.kernel.mvcc.queue.report_thin(page),
            Err(error) => {
                // A damaged page is freed as a whole, once every view has passed it.
                if !matches!(error, Error::Corrupt { .. }) {
                    core.kernel.mvcc.queue.report_thin(page);
                }
                done = done.and(Err(error));
            }
        }
    }
    let pause = CLEAR_EVERY.max(rounds.clearing_took * CLEAR_SHARE);
    if all || rounds.cleared.elapsed() >= pause {
        let start = Instant::now();
        if buried_entries(core) > 0 {
            done = done.and(clear_graveyards(core));
        }
        core.kernel.mvcc.queue.forget_dead(&core.kernel.mvcc.generations);
        (rounds.cleared, rounds.clearing_took) = (Instant::now(), start.elapsed());
    }
    done.map(|()| any)
}

/// Moves the retention floor forward to the earliest moment that the settings require.
fn move_retention_floor(kernel: &Kernel) {
    let mvcc = &kernel.mvcc;
    let (settled, tide, now) = (mvcc.txns.settled(), mvcc.tide(), SystemTime::now());
    let retention = kernel.history.retention();
    mvcc.move_retention_floor(|floor| match floor {
        _ if retention.is_zero() => None,
        // Retention has just been switched on: what was thrown away before cannot be had again, so history begins now.
        None => Some(TidePoint { lsn: tide, settled }),
        Some(floor) => {
            let until = mvcc
                .tides
                .at(now.checked_sub(retention).unwrap_or(SystemTime::UNIX_EPOCH));
            Some(until.filter(|until| until.lsn > floor.lsn).unwrap_or(floor))
        }
    });
}

/// Follows the tasks of items that every view has passed, and frees their pages.
fn follow_items(core: &Core, items: &mut Vec<PurgeItem>, pop: impl Fn() -> Option<PurgeItem>) -> Result<()> {
    let (mut batch, mut outside) = (Batch::default(), Vec::new());
    gather(core, &mut batch, items, pop, &mut |task| {
        outside.extend(tasks::outside_of(core, task));
    })?;
    tasks::follow(core, &mut batch, &outside)?;
    items
        .iter()
        .try_for_each(|item| core.kernel.mvcc.versions().finish(item))
}

/// Drops an item whose page is damaged, since trying again would not help. The next start looks for the entries that
/// its tasks named.
fn give_up(core: &Core, item: &PurgeItem) {
    core.tasks_lost.store(true, Ordering::Relaxed);
    // If the page itself is damaged, it stays allocated for as long as the engine runs.
    let _ = core.kernel.mvcc.versions().finish(item);
}

/// Follows fresh items that old views hold back, as far as those allow. A task that fails stays until every view has
/// passed it.
fn follow_fresh(core: &Core, up_to: Lsn) -> Result<bool> {
    let (mut any, mut done) = (false, Ok(()));
    let (mut items, mut followed) = (Vec::new(), Vec::new());
    let versions = core.kernel.mvcc.versions();
    loop {
        // Put into the held queue first, so that no item is lost if the rest fails.
        let pop = || {
            core.kernel
                .mvcc
                .queue
                .pop_fresh(up_to)
                .inspect(|item| core.kernel.mvcc.queue.hold(*item))
        };
        let mut batch = Batch::default();
        let gathered = gather(core, &mut batch, &mut items, pop, &mut |task| {
            // Columns outside a row are kept until every view has passed the task.
            if task.version.row_flags & OUTSIDE == 0 {
                followed.push(task.address);
            }
        });
        if items.is_empty() {
            return done.map(|()| any);
        }
        any = true;
        let all = gathered.and_then(|()| tasks::follow_early(core, &mut batch));
        let forgotten = all.and_then(|all| {
            let mut tasks = followed.iter().filter(|_| all);
            tasks.try_for_each(|task| versions.forget_task(*task))
        });
        followed.clear();
        done = done.and(forgotten);
        for item in items.drain(..).filter(|item| item.last) {
            let looked = compact::look_through(core, item.page).and_then(|()| versions.is_thin(item.page));
            if matches!(looked, Ok(true)) {
                core.kernel.mvcc.queue.report_thin(item.page);
            }
            done = done.and(looked.map(|_| ()));
        }
    }
}

/// Takes items from `pop` until what their tasks name fills a batch, and calls `f` with each task.
fn gather(
    core: &Core,
    batch: &mut Batch,
    items: &mut Vec<PurgeItem>,
    pop: impl Fn() -> Option<PurgeItem>,
    f: &mut dyn FnMut(&mvcc::Record),
) -> Result<()> {
    while !batch.is_full()
        && items.len() < ITEMS_MAX
        && let Some(item) = pop()
    {
        items.push(item);
        if item.from >= item.to {
            continue;
        }
        let mut is_task = |v: &mvcc::Version| v.flags & mvcc::PURGE != 0;
        let tasks = core
            .kernel
            .mvcc
            .versions()
            .records(item.page, item.from, item.to, &mut is_task)?;
        for task in &tasks {
            f(task);
            batch.add(core, task)?;
        }
    }
    Ok(())
}

/// The number of deleted entries in all graveyards.
pub(crate) fn buried_entries(core: &Core) -> u64 {
    core.catalog
        .tables()
        .iter()
        .map(|table| table.buried_entries())
        .sum()
}

/// Examines the graveyards that a closed view has read, and removes what no view needs any more. Until such a view is
/// closed, all entries there stay needed, so nothing is examined, however much there is.
fn clear_graveyards(core: &Core) -> Result<()> {
    let copy = &core.kernel.mvcc.view_copy;
    let gone = copy.take_oldest_closed();
    let mut cleared = Ok(());
    for table in core.catalog.tables() {
        // Rows last: a secondary entry may need a check of its row.
        for n in (0..table.indexes.len()).rev() {
            let graveyard = &table.indexes[n].graveyard;
            if graveyard.count() > 0 && graveyard.concerned(gone) {
                // An error in one graveyard does not keep the others from being cleared.
                let stopped = || core.background.is_stopped();
                cleared = cleared.and(table.clear_graveyard(&core.kernel, n, &stopped));
            }
        }
    }
    if cleared.is_err() {
        copy.put_oldest_closed(gone);
    }
    cleared
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ddl::Ddl;
    use crate::disk::sim::SimDisk;
    use crate::engine::{Config, open_core};
    use crate::ids::Isolation;
    use crate::transaction::Transaction;
    use crate::{Action, Column, ColumnType, Datum, IndexSchema, Keep, KeyPart, Read, TableSchema};

    /// Purge has looked a table up, and its definition changes. What is deleted from then on must not be buried beside the
    /// old definition's indexes, where no view of the new one looks.
    #[test]
    fn nothing_is_buried_by_a_handle_that_was_replaced() {
        let mut config = Config::new("");
        config.disk = Some(Arc::new(SimDisk::new(1)));
        let core = open_core(&config, true).unwrap().core;
        let int = |nullable| Column {
            ty: ColumnType::Int { bytes: 4 },
            nullable,
        };
        let index = |column, unique| IndexSchema {
            parts: vec![KeyPart::column(column)],
            unique,
        };
        let mut ddl = Ddl::new(core.clone(), false).unwrap();
        let schema = TableSchema {
            columns: vec![int(false), int(true)],
            primary: Some(index(0, true)),
            secondary: Vec::new(),
        };
        let id = ddl.create_table(&schema).unwrap();
        ddl.commit().unwrap();
        let begin = || {
            let mut txn = Transaction::new(core.clone());
            txn.begin(Isolation::RepeatableRead, false);
            txn
        };
        let old = core.catalog.table(id).unwrap();
        let mut txn = begin();
        old.insert(&mut txn, &[Datum::Int(1), Datum::Int(1)]).unwrap();
        txn.commit().unwrap();
        let mut ddl = Ddl::new(core.clone(), false).unwrap();
        ddl.add_index(id, &index(1, false)).unwrap();
        ddl.commit().unwrap();

        let new = core.catalog.table(id).unwrap();
        let mut key = Vec::new();
        new.encode_key(0, &[Datum::Int(1)], &mut key).unwrap();
        let mut view = begin();
        view.consistent_snapshot().unwrap();
        let mut txn = begin();
        assert!(
            new.modify(&mut txn, &key, &mut |_, _| Ok(Action::Delete))
                .unwrap()
        );
        txn.commit().unwrap();
        core.kernel.mvcc.refresh_with(|_| ());

        let buried = old.bury_deleted(&core.kernel, 0, &[&key[..]]);
        let mut seen = false;
        new.get(&mut view, 0, &key, Read::Consistent, &mut |_| {
            seen = true;
            Ok(Keep::Locked)
        })
        .unwrap();
        assert!(seen, "the view is older than the deletion: {buried:?}");
        assert!(matches!(buried, Err(Error::TableGone)));
        assert!(new.bury_deleted(&core.kernel, 0, &[&key[..]]).unwrap());
        assert_eq!(new.buried_entries(), 1);
    }
}
