//! Purge, in the background: removes what nobody can see any more, and what only old views can see puts out of the way.
//!
//! A transaction that deleted a row, or moved an entry, has left a hint (`mvcc::versions`). Once every view sees it, purge
//! looks at the entries that the hint names. One that is marked deleted, by a writer whom every view sees, is gone for
//! everybody, and is taken out; any other has become somebody else's business, who has left a hint of his own. So hints
//! may be followed in any order, twice, or about rows that have changed since; by several threads at once; and many of
//! them together, in the order of the entries (`batch`).
//!
//! While an old view holds hints back, they are followed as far as that view allows (`follow`), and the pages they
//! stand in are rid of garbage (`compact`).
//!
//! Versions do not outlive the engine, and hints with them: after an unclean stop a sweep goes once through all trees
//! (`reclaim`).

mod batch;
mod compact;
mod follow;
mod graves;
mod reclaim;

pub(crate) use graves::count as buried_entries;
pub(crate) use reclaim::{reclaim, reclaim_chains};

use self::batch::Batch;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::history;
use crate::ids::{Lsn, TxnId};
use crate::mvcc::{self, Past, PurgeItem, VersionBuffer};
use crate::table::OUTSIDE;
use crate::transaction;
use parking_lot::Mutex;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

const PAUSE: Duration = Duration::from_millis(50);
/// Between rounds while an old view is open.
const PAUSE_BUSY: Duration = Duration::from_millis(5);
const SECOND: Duration = Duration::from_secs(1);
/// Thin pages emptied in one round.
const THIN_AT_ONCE: usize = 64;
/// Graveyards are cleared so often, and no more than one part in so many of the time.
const CLEAR_EVERY: Duration = Duration::from_millis(200);
const CLEAR_SHARE: u32 = 20;
/// Items whose hints are followed together.
const ITEMS_MAX: usize = 4096;
/// Items for each thread that helps.
const SHARE: u64 = 64;

/// What purge remembers from round to round. Whoever holds it has a round: there is one at a time.
pub(crate) struct Rounds {
    oldest: Lsn,
    since: Instant,
    cleared: Instant,
    clearing_took: Duration,
    /// Where versions are moved to.
    pub moved: Arc<Mutex<VersionBuffer>>,
}

impl Rounds {
    pub fn new() -> Rounds {
        Rounds {
            oldest: Lsn::ZERO,
            since: Instant::now(),
            cleared: Instant::now(),
            clearing_took: Duration::ZERO,
            moved: Arc::new(VersionBuffer::new()),
        }
    }
}

/// Runs until the bell says stop.
pub(crate) fn run(core: &Core, sweep_below: Option<TxnId>) {
    let mut flushed = Instant::now();
    report("freeing", reclaim(core, sweep_below.is_some()));
    if let Some(below) = sweep_below {
        // Last: it is what says that nothing of the crash is left.
        report("sweeping", reclaim::sweep(core, below));
    }
    while !core.background.is_stopped() {
        let round = purge(core, false);
        let pause = match round {
            Ok(true) => PAUSE_BUSY,
            _ => PAUSE,
        };
        report("purging", round.map(|_| ()));
        if core.reclaim.swap(false, Ordering::AcqRel) {
            report("freeing", reclaim(core, false));
        }
        if flushed.elapsed() >= SECOND {
            transaction::finish_unfinished(core);
            // For commits that did not wait to be durable, and for rollbacks, whose end nobody waits for.
            let log = core.store.log();
            if log.flushed() < log.tail() {
                report("flushing the log", log.flush_all());
            }
            report("giving room back", core.store.trim_scratch());
            flushed = Instant::now();
        }
        core.background.wait(pause);
    }
}

/// Purges all there is, without regard to how old the views are; what cannot be purged is left to the next start.
pub(crate) fn run_down(core: &Core) {
    loop {
        match purge(core, true) {
            Ok(true) => {}
            Ok(false) => return,
            failed => return report("purging", failed.map(|_| ())),
        }
    }
}

/// Trouble here is nobody's statement: say so and try again later.
fn report<E: std::fmt::Display>(doing: &str, done: Result<(), E>) {
    if let Err(error) = done {
        ::log::error!("{doing} failed: {error}");
    }
}

/// One round. With `all`, without regard to how old the views are or how long it takes. Answers whether there was anything
/// to do.
pub(crate) fn purge(core: &Core, all: bool) -> Result<bool> {
    let mut rounds = core.rounds.lock();
    core.txns.settle(core.tide());
    core.sample_tide();
    move_past(core);
    history::look(core);
    core.purge.flush_buffers();
    let (oldest, horizon) = core.view_copy.refresh_with(
        &core.views,
        &core.txns,
        || core.tide(),
        |copy| {
            core.txns.recycle(copy.settled(), &copy.windows());
            core.txns
                .collapse(copy.horizon(), |first, last| copy.tells_apart(first, last));
            (copy.oldest(), copy.horizon())
        },
    );
    let due = follow_due(core, oldest);
    let held_back = follow_held_back(core, &mut rounds, oldest, horizon, all);
    // Whatever fails, the rest is done.
    Ok(due? | held_back?)
}

/// Does what can be done about what old views hold back.
fn follow_held_back(core: &Core, rounds: &mut Rounds, oldest: Lsn, horizon: Lsn, all: bool) -> Result<bool> {
    let (mut any, mut done) = (false, Ok(()));
    if rounds.oldest != oldest {
        (rounds.oldest, rounds.since) = (oldest, Instant::now());
    }
    if all || rounds.since.elapsed() >= core.history.bury_after() {
        match follow_fresh(core, horizon) {
            Ok(followed) => any = followed,
            Err(error) => done = Err(error),
        }
    }
    for page in core.purge.take_thin(THIN_AT_ONCE) {
        match compact::move_out(core, page, &rounds.moved) {
            Ok(true) => {}
            Ok(false) => core.purge.report_thin(page),
            Err(error) => {
                // A damaged one goes as a whole, once every view has passed it.
                if !matches!(error, Error::Corrupt { .. }) {
                    core.purge.report_thin(page);
                }
                done = done.and(Err(error));
            }
        }
    }
    let pause = CLEAR_EVERY.max(rounds.clearing_took * CLEAR_SHARE);
    if all || rounds.cleared.elapsed() >= pause {
        let start = Instant::now();
        if graves::count(core) > 0 {
            done = done.and(graves::clear(core));
        }
        core.purge.forget_dead(&core.generations);
        (rounds.cleared, rounds.clearing_took) = (Instant::now(), start.elapsed());
    }
    done.map(|()| any)
}

/// Moves the past on to where history is to be kept from.
fn move_past(core: &Core) {
    let (settled, tide, now) = (core.txns.settled(), core.tide(), SystemTime::now());
    let retention = core.history.retention();
    let mut kept = core.kept_from.lock();
    let from = match *kept {
        _ if retention.is_zero() => None,
        // What is thrown away is not to be had again: history begins now.
        None => Some(Past { lsn: tide, settled }),
        Some(from) => {
            let until = core
                .tides
                .at(now.checked_sub(retention).unwrap_or(SystemTime::UNIX_EPOCH));
            Some(until.filter(|until| until.lsn > from.lsn).unwrap_or(from))
        }
    };
    if *kept != from {
        let past = core.view_copy.set_past(&core.views, from.unwrap_or(Past::NONE));
        *kept = from.map(|_| past);
    }
}

/// Follows the hints that every view has passed, with help if there are many. What fails keeps nothing else from being done.
fn follow_due(core: &Core, oldest: Lsn) -> Result<bool> {
    let work = || {
        let (mut any, mut failed, mut again) = (false, Ok(()), Vec::new());
        loop {
            let mut items = Vec::new();
            let done = follow_items(core, &mut items, || core.purge.pop(oldest));
            if items.is_empty() {
                break;
            }
            if done.is_ok() {
                any = true;
                continue;
            }
            // To know who is to blame.
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
        again.into_iter().for_each(|item| core.purge.hold(item));
        failed.map(|()| any)
    };
    if core.purge.earliest().is_none_or(|earliest| earliest > oldest) {
        return Ok(false);
    }
    let helpers = (core.purge.len() / SHARE).min(core.purge_threads.saturating_sub(1) as u64);
    if helpers == 0 {
        return work();
    }
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (0..helpers).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for helper in helpers {
            // A panic there has said its reason already.
            let helped = helper.join().unwrap_or(Ok(false));
            done = done.and_then(|any| Ok(any | helped?));
        }
        done
    })
}

/// Follows the hints of items that every view has passed, and lets their pages go.
fn follow_items(core: &Core, items: &mut Vec<PurgeItem>, pop: impl Fn() -> Option<PurgeItem>) -> Result<()> {
    let (mut batch, mut outside) = (Batch::default(), Vec::new());
    gather(core, &mut batch, items, pop, &mut |hint| {
        outside.extend(follow::outside_of(core, hint));
    })?;
    follow::follow(core, &mut batch, &outside)?;
    items.iter().try_for_each(|item| core.versions().finish(item))
}

/// Trying again does not mend what is damaged. The next start looks for what the hints name, if it can be read then.
fn give_up(core: &Core, item: &PurgeItem) {
    core.hints_lost.store(true, Ordering::Relaxed);
    // If the page itself is damaged, it stays for as long as the engine runs.
    let _ = core.versions().finish(item);
}

/// Does what can be done about fresh items while old views hold them back. What fails is left until they do not.
fn follow_fresh(core: &Core, up_to: Lsn) -> Result<bool> {
    let (mut any, mut done) = (false, Ok(()));
    let (mut items, mut followed) = (Vec::new(), Vec::new());
    let versions = core.versions();
    loop {
        // Held first, so that nothing is lost if the rest fails.
        let pop = || core.purge.pop_fresh(up_to).inspect(|item| core.purge.hold(*item));
        let mut batch = Batch::default();
        let gathered = gather(core, &mut batch, &mut items, pop, &mut |hint| {
            // What stands outside a row is kept until every view has passed.
            if hint.version.row_flags & OUTSIDE == 0 {
                followed.push(hint.address);
            }
        });
        if items.is_empty() {
            return done.map(|()| any);
        }
        any = true;
        let all = gathered.and_then(|()| follow::follow_early(core, &mut batch));
        let forgotten = all.and_then(|all| {
            let mut hints = followed.iter().filter(|_| all);
            hints.try_for_each(|hint| versions.forget_hint(*hint))
        });
        followed.clear();
        done = done.and(forgotten);
        for item in items.drain(..).filter(|item| item.last) {
            let looked = compact::look_through(core, item.page).and_then(|()| versions.is_thin(item.page));
            if matches!(looked, Ok(true)) {
                core.purge.report_thin(item.page);
            }
            done = done.and(looked.map(|_| ()));
        }
    }
}

/// Takes items until what their hints name fills a batch, and calls `f` with each hint.
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
        let mut is_hint = |v: &mvcc::Version| v.flags & mvcc::PURGE != 0;
        let hints = core
            .versions()
            .records(item.page, item.from, item.to, &mut is_hint)?;
        for hint in &hints {
            f(hint);
            batch.add(core, hint)?;
        }
    }
    Ok(())
}

/// What no view is older than.
pub(crate) fn oldest_view(core: &Core) -> Lsn {
    core.view_copy
        .refresh_with(&core.views, &core.txns, || core.tide(), |copy| copy.oldest())
}
