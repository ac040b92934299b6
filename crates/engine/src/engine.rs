//! The engine as a whole: opening and closing a data directory, and what hangs off it.

use crate::background::Background;
use crate::build::OnlineBuild;
use crate::carried::Carried;
use crate::catalog::{Catalog, Patience};
use crate::core::{Core, FROZEN, NO_PURGE};
use crate::ddl::{Ddl, TABLE_NAMES};
use crate::disk::Disk;
use crate::disk::claim::claim;
use crate::disk::counted::Files;
use crate::disk::overlay::Overlay;
use crate::disk::real::RealDisk;
use crate::error::{Error, Result};
use crate::ids::{Isolation, Lsn, PAGE_SIZE, TableId, TxnId};
use crate::kernel::{HistoryExcess, HistoryLimits, Kernel, ViewInfo};
use crate::lock::{DeadlockInfo, Interrupt, LockInfo, LockWaitInfo, TransactionInfo};
use crate::log::OnFailure;
use crate::mvcc::HotRow;
use crate::progress::WorkProgress;
use crate::purge::{self, Purge};
use crate::sabotage::breaks;
use crate::schema::IndexSchema;
use crate::scrub::{Damage, Scrub, ScrubStatus};
use crate::spool::{Spool, SpoolOwner};
use crate::store::{Loser, OpTable, Retain, Store, StoreConfig};
use crate::table::{BinaryCollator, Collator, Table};
use crate::transaction::{self, Transaction};
use crate::tree;
use crate::undo;
use crate::{Event, tally};
use parking_lot::Mutex;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often [`Engine::write`] runs its closure.
const WRITE_RUNS_MAX: u32 = 10;
/// Memory for locks, in bytes, beside a small pool.
const LOCK_MEMORY_MIN: u64 = 64 << 20;

/// How to open a data directory.
#[derive(Clone)]
#[non_exhaustive]
pub struct Config {
    /// The data directory. Created if it is not there.
    pub datadir: PathBuf,
    /// Memory for pages. Default: 128 MiB.
    pub buffer_pool_bytes: u64,
    /// Memory that [`Engine::set_buffer_pool_bytes`] may give to pages, if it is more: addresses are reserved for it. Default: 0.
    pub buffer_pool_bytes_max: u64,
    /// Size that the redo log is kept below by checkpoints. Default: 100 MiB.
    pub log_capacity_bytes: u64,
    /// Memory that the locks of rows may take; a transaction that goes on locking above it gets
    /// [`Error::LockTableFull`]. Default: half of the pool, and 64 MiB, enough for ten million rows, at least.
    pub lock_memory_bytes: Option<u64>,
    /// Memory for log records that are not written yet. Default: 16 MiB.
    pub log_buffer_bytes: u64,
    /// 1: a commit is on disk before it is acknowledged. 2: it is with the operating system. 0: neither; once a second, or as often as
    /// [`Engine::set_flush_log_every`] says.
    pub flush_at_trx_commit: u8,
    /// Files are read and written past the page cache of the operating system. Default: true.
    pub o_direct: bool,
    /// Share of the pool that may be dirty before the page cleaner hurries, in percent. Default: 90.
    pub max_dirty_pages_pct: f64,
    /// Makes sort keys of text. Default: [`BinaryCollator`], which compares bytes.
    pub collator: Arc<dyn Collator>,
    /// Refuse every write.
    pub read_only: bool,
    /// What is given up to open a damaged directory, as MySQL's `innodb_force_recovery` numbers it. 1: what cannot be read is
    /// gone round. 2: nothing is purged. From 3 on nothing on the disk is changed, all is read-only, damage in the log passes for
    /// its end, and transactions that had not ended are not undone. 6: nothing is redone. Default: 0, nothing is given up.
    pub force_recovery: u8,
    /// Change nothing on the disk: what recovery writes, and all else, stays in memory. Rows cannot be changed. For looking at
    /// a damaged directory; transactions that cannot be undone are left as they are. Default: false.
    pub discard_changes: bool,
    /// Threads that purge when there is much to purge. Default: 1.
    pub purge_threads: usize,
    /// Where the log is kept beyond checkpoints, so that a copy can be restored to a later moment. Default: nowhere.
    pub log_archive: Option<Arc<dyn Disk>>,
    /// Another disk than the real one; `datadir` then means nothing.
    pub disk: Option<Arc<dyn Disk>>,
    /// A log that cannot be written ends the process, as nothing in memory can be trusted then. Tests may want to look
    /// at what is left instead.
    pub abort_on_log_failure: bool,
}

impl Config {
    /// The defaults, for this directory.
    pub fn new(datadir: impl Into<PathBuf>) -> Config {
        Config {
            datadir: datadir.into(),
            buffer_pool_bytes: 128 << 20,
            buffer_pool_bytes_max: 0,
            lock_memory_bytes: None,
            log_capacity_bytes: 100 << 20,
            log_buffer_bytes: 16 << 20,
            flush_at_trx_commit: 1,
            o_direct: true,
            max_dirty_pages_pct: 90.0,
            collator: Arc::new(BinaryCollator),
            read_only: false,
            force_recovery: 0,
            discard_changes: false,
            purge_threads: 1,
            log_archive: None,
            disk: None,
            abort_on_log_failure: true,
        }
    }
}

/// Counters and gauges, for SHOW STATUS and the status page.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Status {
    /// Every commit at or before this is complete.
    pub tide: Lsn,
    /// Where the next log record goes.
    pub log_tail: Lsn,
    /// The log is on disk up to here.
    pub log_flushed: Lsn,
    /// Recovery would begin to read the log here.
    pub checkpoint: Lsn,
    /// Syncs of the log.
    pub log_syncs: u64,
    /// Records written to the log, in the whole process.
    pub log_records: u64,
    /// How far the log may grow between checkpoints.
    pub log_capacity_bytes: u64,
    /// Bytes of the log's files.
    pub log_files_bytes: u64,
    /// By how many bytes the archive of the log is behind it; 0 if there is none.
    pub archive_behind_bytes: u64,
    /// Checkpoints since the start.
    pub checkpoints: u64,
    /// How often a thread waited for room in the log buffer.
    pub log_waits: u64,
    /// How often a thread slept until another had written or synced the log for it, as commits do that go together.
    pub log_group_waits: u64,
    /// Where the log went on at this start.
    pub log_opened_at: Lsn,
    /// Bytes of the log that recovery would read, or that a running transaction needs to be undone.
    pub log_kept_bytes: u64,
    /// Pages that the pool has room for.
    pub pool_pages_total: u64,
    /// Pages in the pool.
    pub pool_pages_data: u64,
    /// Of these, pages that differ from the disk.
    pub pool_pages_dirty: u64,
    /// Room that is not used.
    pub pool_pages_free: u64,
    /// Pages read from disk.
    pub pool_reads: u64,
    /// Of these, pages read before they were asked for.
    pub pool_reads_ahead: u64,
    /// Requests of pages, in the whole process.
    pub page_requests: u64,
    /// Changes of pages by mini-transactions, in the whole process.
    pub page_changes: u64,
    /// Pages taken into use, in the whole process.
    pub pages_created: u64,
    /// Pages written to disk.
    pub pool_pages_written: u64,
    /// Pages that gave up their room to others.
    pub pool_evictions: u64,
    /// Times a thread found no clean page to evict and waited for the cleaner.
    pub pool_starved: u64,
    /// Pages in the data file.
    pub data_file_pages: u64,
    /// Of these, pages that are not allocated.
    pub data_file_pages_free: u64,
    /// Scratch pages in use: old versions, graveyards and spools.
    pub scratch_pages: u64,
    /// Of these, pages of [`Spool`]s.
    pub spool_pages: u64,
    /// Pages that spools have filled so far.
    pub spool_pages_filled: u64,
    /// Views registered.
    pub open_views: u64,
    /// What no open view is older than.
    pub oldest_view: Lsn,
    /// Transactions that have written and not ended.
    pub active_writers: u64,
    /// Transactions that wrote and were committed, in the whole process.
    pub commits: u64,
    /// Transactions that wrote and were rolled back, in the whole process.
    pub rollbacks: u64,
    /// Transactions whose old versions, or what else they left, purge has not removed yet.
    pub history_length: u64,
    /// How long ago the first of them ended, in seconds.
    pub history_age_s: f64,
    /// Bytes of the pages that old versions take.
    pub version_bytes: u64,
    /// Versions in the longest chain seen lately.
    pub longest_chain: u32,
    /// Deleted entries that only old views want, and that were moved out of the way.
    pub buried_entries: u64,
    /// Memory of the locks that are held and waited for, in bytes: of transactions that hold many.
    pub lock_bytes: u64,
    /// Waits for locks so far.
    pub row_lock_waits: u64,
    /// Waits for locks at present.
    pub row_lock_current_waits: u64,
    /// Time spent waiting for locks, in milliseconds.
    pub row_lock_time_ms: u64,
    /// The longest of these waits, in milliseconds.
    pub row_lock_time_max_ms: u64,
    /// Deadlocks found.
    pub deadlocks: u64,
    /// Rows shown by consistent reads, in the whole process.
    pub rows_read: u64,
    /// Rows inserted, in the whole process.
    pub rows_inserted: u64,
    /// Rows updated, in the whole process.
    pub rows_updated: u64,
    /// Rows deleted, in the whole process.
    pub rows_deleted: u64,
}

/// An open data directory. Clones share it; it is to be closed with [`Engine::shutdown`]. When the last clone and the
/// last transaction are gone without that, the next start finds it as after a crash.
#[derive(Clone)]
pub struct Engine {
    core: Arc<Core>,
    purge: Arc<Purge>,
    scrub: Arc<Scrub>,
    background: Arc<Background>,
}

pub(crate) struct Opened {
    pub core: Arc<Core>,
    pub was_clean: bool,
    /// Writers below are of former runs.
    pub next: TxnId,
}

/// The ops that redo must know.
pub(crate) fn ops() -> OpTable {
    let mut ops = OpTable::new();
    tree::register(&mut ops);
    ops
}

/// Takes the directory for this engine.
pub(crate) fn open_disk(datadir: &Path) -> Result<RealDisk> {
    let claimed = claim(datadir).and_then(|()| RealDisk::open(datadir));
    claimed.map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => Error::InUse(datadir.display().to_string()),
        ErrorKind::DirectoryNotEmpty | ErrorKind::NotADirectory | ErrorKind::NotFound => {
            Error::Refused(error.to_string())
        }
        _ => Error::Io(error),
    })
}

/// Opens the store and everything above it, and undoes what transactions of an earlier run left unfinished. `create`: begins
/// anew where there is nothing.
pub(crate) fn open_core(config: &Config, create: bool) -> Result<Opened> {
    let disk: Arc<dyn Disk> = match &config.disk {
        Some(disk) => disk.clone(),
        None => Arc::new(open_disk(&config.datadir)?),
    };
    #[cfg(feature = "sabotage")]
    let disk = crate::disk::volatile::Volatile::before(disk);
    let is_frozen = config.force_recovery >= FROZEN || config.discard_changes;
    let disk: Arc<dyn Disk> = match is_frozen {
        true => Arc::new(Overlay::new(disk)),
        false => disk,
    };
    let carried = Arc::new(Mutex::new(Carried::default()));
    let store_config = StoreConfig {
        create: create && config.force_recovery == 0,
        force_recovery: config.force_recovery,
        pool_pages: (config.buffer_pool_bytes / PAGE_SIZE as u64).max(1) as usize,
        pool_pages_max: (config.buffer_pool_bytes_max / PAGE_SIZE as u64) as usize,
        direct: config.o_direct,
        log_capacity_bytes: config.log_capacity_bytes,
        log_buffer_bytes: config.log_buffer_bytes,
        flush_at_trx_commit: config.flush_at_trx_commit,
        on_log_failure: if config.abort_on_log_failure {
            OnFailure::Abort
        } else {
            OnFailure::Refuse
        },
        max_dirty_pages_pct: config.max_dirty_pages_pct,
        log_archive: config.log_archive.clone().filter(|_| !is_frozen),
        on_note: Some(Arc::new({
            let carried = carried.clone();
            move |lsn, note| carried.lock().add(lsn, note)
        })),
        ..StoreConfig::new(disk)
    };
    let (store, mut recovered) = Store::open(store_config, ops())?;
    if recovered.created && config.disk.is_none() {
        log::info!("made a new data directory in {}", config.datadir.display());
    }
    let catalog = Catalog::open(store.clone(), config.collator.clone())?;
    let next = TxnId(recovered.next_txn.0.max(1));
    let lock_memory = config
        .lock_memory_bytes
        .unwrap_or((config.buffer_pool_bytes / 2).max(LOCK_MEMORY_MIN));
    let kernel = Kernel::new(store, next, lock_memory, config.read_only || is_frozen);
    let core = Arc::new(Core::new(kernel, catalog));
    if config.force_recovery < FROZEN {
        undo_losers(config, &core, &mut recovered.losers)?;
    } else {
        core.catalog.load()?;
    }
    for (table, carried) in carried.lock().tables() {
        if let Ok(table) = core.catalog.table(table) {
            table.state.recover(carried);
        }
    }
    if config.force_recovery < NO_PURGE {
        purge::reclaim_chains(&core)?;
    }
    let hook = Arc::downgrade(&core);
    // The store may outlive the engine: until the last of its parts is dropped, and as long as a table handle is kept.
    // From then on the hook returns `None`: what unfinished transactions need of the log, and which ids were given, is
    // no longer known.
    core.kernel.store.set_retain_hook(move || {
        let core = hook.upgrade()?;
        // In this order: a transaction that is not among the writers yet will take an id that is not below `next_txn`.
        let next_txn = core.kernel.mvcc.txns.next();
        let oldest = core.kernel.mvcc.writers.oldest().unwrap_or(Lsn::MAX);
        // For the next checkpoint.
        core.settling.ring();
        Some(Retain {
            oldest: oldest.min(core.settled_from()),
            next_txn,
        })
    });
    let was_clean = recovered.clean || recovered.created;
    if !was_clean {
        core.set_needs_sweep(true)?;
    }
    Ok(Opened {
        core,
        was_clean,
        next,
    })
}

/// Opens the tables, and undoes what transactions of an earlier run left unfinished: first what they did last to the catalog, for a
/// definition that was being written is none, and only then is it known which tables there are.
fn undo_losers(config: &Config, core: &Core, losers: &mut Vec<Loser>) -> Result<()> {
    if !losers.is_empty() {
        ::log::info!("recovery: undoing {} transactions", losers.len());
    }
    losers.retain(|_| !breaks("undo"));
    let go_on = |txn: TxnId, undone: Result<()>| match undone {
        Err(error) if config.discard_changes => {
            ::log::error!("transaction {txn} is not undone: {error}");
            Ok(())
        }
        undone => undone,
    };
    for loser in losers.iter_mut() {
        go_on(loser.txn, undo::undo_in_catalog(core, loser))?;
    }
    core.catalog.load()?;
    for loser in losers.iter() {
        go_on(loser.txn, undo::undo_loser(core, loser))?;
    }
    if !losers.is_empty() {
        core.catalog.reload()?;
    }
    Ok(())
}

fn history_age(kernel: &Kernel) -> f64 {
    let ended = kernel
        .mvcc
        .queue
        .earliest()
        .and_then(|lsn| kernel.mvcc.tides.when(lsn));
    let age = ended.and_then(|at| at.elapsed().ok());
    age.unwrap_or_default().as_secs_f64()
}

impl Engine {
    /// Opens (or creates) the directory, recovering what a crash left.
    pub fn open(config: Config) -> Result<Engine> {
        let Opened { core, next, .. } = open_core(&config, true)?;
        let sweep_below = core.needs_sweep()?.then_some(next);
        let purge = Arc::new(Purge::new(core.clone(), config.purge_threads));
        let scrub = Arc::new(Scrub::default());
        let archives = config.log_archive.is_some();
        let background = Arc::new(Background::start(&core, &purge, &scrub, archives, sweep_below)?);
        Ok(Engine {
            core,
            purge,
            scrub,
            background,
        })
    }

    /// Stops the background work, writes everything out and closes the directory. No transaction may be active.
    pub fn shutdown(&self) -> Result<()> {
        if self.core.kernel.store.force_recovery() >= FROZEN {
            // There is nothing to write out, and nowhere to write it.
            self.background.stop();
            return Ok(());
        }
        transaction::finish_unfinished(&self.core);
        if self.core.kernel.mvcc.writers.count() > 0 {
            return Err(Error::Unsupported("a clean stop while transactions are writing"));
        }
        self.background.stop();
        self.purge.run_down();
        if self.core.kernel.mvcc.queue.len() > 0 || self.core.tasks_lost.load(Ordering::Relaxed) {
            // Old views are still open: what they kept from being purged is for the next start.
            self.core.set_needs_sweep(true)?;
        }
        self.core.settle_all_counters()?;
        Ok(self.core.kernel.store.shutdown()?)
    }

    /// Pages that are verified on the disk in a second, in the background; 0: none. Default: 32.
    pub fn set_scrub_rate(&self, pages_per_s: u64) {
        self.scrub.set_rate(pages_per_s);
    }

    /// The largest buffer pool that there are addresses for.
    pub fn buffer_pool_bytes_max(&self) -> u64 {
        self.store().pool().frames_max() as u64 * PAGE_SIZE as u64
    }

    /// Makes the buffer pool so large, in whole pages and as near as it can be, and returns how large it is. A pool that shrinks evicts pages
    /// and may wait for dirty ones to be written; [`Error::Interrupted`] once `is_interrupted` says so, and the pool is as it was.
    pub fn set_buffer_pool_bytes(&self, bytes: u64, is_interrupted: &dyn Fn() -> bool) -> Result<u64> {
        let check = || match is_interrupted() {
            true => Err(tidemark_pages::Error::Stopped(
                "the change of size was ended".into(),
            )),
            false => Ok(()),
        };
        let pages = (bytes / PAGE_SIZE as u64) as usize;
        match self.store().resize_pool(pages, &check) {
            Err(_) if is_interrupted() => Err(Error::Interrupted),
            resized => Ok(resized? as u64 * PAGE_SIZE as u64),
        }
    }

    /// Sets how far the redo log may grow between checkpoints.
    pub fn set_log_capacity_bytes(&self, bytes: u64) -> Result<()> {
        Ok(self.store().set_log_capacity(bytes)?)
    }

    /// Has `observer` told of each damaged page that is found on the disk, once.
    pub fn set_on_damage(&self, observer: impl Fn(&Damage) + Send + Sync + 'static) {
        self.scrub.set_observer(Box::new(observer));
    }

    /// How far verifying pages on the disk is, and what it has found.
    pub fn scrub_status(&self) -> ScrubStatus {
        self.scrub.status()
    }

    /// Verifies the next pages on the disk now.
    pub fn scrub(&self, pages: usize) -> Result<()> {
        self.scrub.step(&self.core, pages)
    }

    /// Bytes of the data file that nothing is in.
    pub fn free_bytes(&self) -> u64 {
        u64::from(self.core.kernel.store.free_pages()) * PAGE_SIZE as u64
    }

    /// [`Config::force_recovery`].
    pub fn force_recovery(&self) -> u8 {
        self.core.kernel.store.force_recovery()
    }

    /// What the engine's pages are in.
    pub(crate) fn store(&self) -> &Store {
        &self.core.kernel.store
    }

    /// Counters and gauges as they are now.
    pub fn status(&self) -> Status {
        let kernel = &self.core.kernel;
        let (mvcc, store) = (&kernel.mvcc, kernel.store.status());
        let count = |c: &std::sync::atomic::AtomicU64| c.load(Ordering::Relaxed);
        let kept_from = mvcc
            .writers
            .oldest()
            .map_or(store.redo_from, |first| first.min(store.redo_from));
        Status {
            tide: store.log.tide,
            log_tail: store.log.tail,
            log_flushed: store.log.flushed,
            checkpoint: store.redo_from,
            log_syncs: store.log.syncs,
            log_records: tally::sum(Event::LogRecord),
            log_capacity_bytes: store.log_capacity_bytes,
            log_files_bytes: store.log_files_bytes,
            archive_behind_bytes: store.archive_behind_bytes,
            checkpoints: store.checkpoints,
            log_waits: store.log.room_waits,
            log_group_waits: store.log.waits,
            log_opened_at: store.log.opened_at,
            log_kept_bytes: store.log.tail.0 - kept_from.min(store.log.tail).0,
            pool_pages_total: store.pool.frames as u64,
            pool_pages_data: store.pool.used as u64,
            pool_pages_dirty: store.pool.dirty as u64,
            pool_pages_free: (store.pool.frames - store.pool.used.min(store.pool.frames)) as u64,
            pool_reads: store.pool.reads,
            pool_reads_ahead: store.pool.reads_ahead,
            page_requests: tally::sum(Event::PageRequest),
            page_changes: tally::sum(Event::PageChange),
            pages_created: tally::sum(Event::PageCreated),
            pool_pages_written: store.pool.writes,
            pool_evictions: store.pool.evictions,
            pool_starved: store.pool.starved,
            data_file_pages: store.file_pages as u64,
            data_file_pages_free: store.file_pages_free as u64,
            scratch_pages: store.scratch_pages as u64,
            spool_pages: kernel.spools.pages(),
            spool_pages_filled: kernel.spools.filled(),
            open_views: mvcc.views.open_count() as u64,
            oldest_view: mvcc.oldest_view(),
            active_writers: mvcc.writers.count(),
            commits: tally::sum(Event::Commit),
            rollbacks: tally::sum(Event::Rollback),
            history_length: mvcc.queue.transactions(),
            history_age_s: history_age(kernel),
            version_bytes: kernel.version_bytes(),
            longest_chain: mvcc.hot.longest_chain(),
            buried_entries: purge::buried_entries(&self.core),
            lock_bytes: kernel.locks.memory.bytes(),
            row_lock_waits: count(&kernel.locks.stats.waits),
            row_lock_current_waits: count(&kernel.locks.stats.waiting),
            row_lock_time_ms: count(&kernel.locks.stats.wait_ms),
            row_lock_time_max_ms: count(&kernel.locks.stats.wait_ms_max),
            deadlocks: count(&kernel.locks.stats.deadlocks),
            rows_read: tally::sum(Event::RowRead),
            rows_inserted: tally::sum(Event::RowInserted),
            rows_updated: tally::sum(Event::RowUpdated),
            rows_deleted: tally::sum(Event::RowDeleted),
        }
    }

    /// How the files of the data directory are used.
    pub fn files(&self) -> &Files {
        self.core.kernel.store.files()
    }

    /// An empty place to put bytes aside that are too many for memory.
    pub fn spool(&self, owner: &SpoolOwner) -> Spool {
        Spool::new(self.core.kernel.spools.clone(), owner.clone())
    }

    /// Bounds what the spools of one owner may take, in bytes; 0: they are not bounded.
    pub fn set_spool_max(&self, bytes: u64) {
        self.core.kernel.spools.set_bytes_max(bytes);
    }

    /// The rows that change most: a sample of the last seconds.
    pub fn hot_rows(&self, most: usize) -> Vec<HotRow> {
        self.core.kernel.mvcc.hot.hottest(most)
    }

    /// Changes [`Config::flush_at_trx_commit`] of the running engine.
    pub fn set_flush_at_trx_commit(&self, mode: u8) {
        self.core.kernel.store.log().set_flush_at_trx_commit(mode);
    }

    /// How often what commits have not waited for is flushed to disk, at [`Config::flush_at_trx_commit`] 0 and 2. Default: once a
    /// second.
    pub fn set_flush_log_every(&self, every: Duration) {
        self.background.set_flush_every(every);
    }

    /// Changes [`Config::max_dirty_pages_pct`] of the running engine.
    pub fn set_max_dirty_pages_pct(&self, pct: f64) {
        self.core.kernel.store.set_max_dirty_pages_pct(pct);
    }

    /// Every lock object, granted or waiting. The implicit lock of a row's writer is among them only once another
    /// transaction has waited for it.
    pub fn locks(&self) -> Vec<LockInfo> {
        let all = self.core.kernel.owners.all();
        let owners: Vec<_> = all.into_iter().map(|(owner, _)| owner).collect();
        self.core.kernel.locks.show(&owners)
    }

    /// Each waiting request with each lock in its way.
    pub fn lock_waits(&self) -> Vec<LockWaitInfo> {
        self.core.kernel.locks.show_waits()
    }

    /// Not more than `most` waiting requests, each with the first lock in its way.
    pub fn first_lock_waits(&self, most: usize) -> Vec<LockWaitInfo> {
        self.core.kernel.locks.show_first_waits(most)
    }

    /// The open transactions.
    pub fn transactions(&self) -> Vec<TransactionInfo> {
        let kernel = &self.core.kernel;
        let all = kernel.owners.all();
        let shown = all.iter().filter_map(|(owner, slot)| {
            let view = kernel.mvcc.views.peek(*slot);
            kernel.locks.show_transaction(owner, view)
        });
        shown.collect()
    }

    /// The open transaction of this [number](crate::Transaction::owner).
    pub fn transaction_of(&self, owner: u64) -> Option<TransactionInfo> {
        let kernel = &self.core.kernel;
        let (owner, slot) = kernel.owners.get(owner)?;
        kernel
            .locks
            .show_transaction(&owner, kernel.mvcc.views.peek(slot))
    }

    /// The open views, oldest first, and what old versions are kept for each alone. Reads all of those.
    pub fn views(&self) -> Result<Vec<ViewInfo>> {
        self.core.kernel.view_infos()
    }

    /// The open views, oldest first, without what is kept for them: nothing is read for it.
    pub fn view_list(&self) -> Vec<ViewInfo> {
        self.core.kernel.view_list()
    }

    /// How much history is too much; see [`HistoryLimits`].
    pub fn set_history_limits(&self, limits: HistoryLimits) {
        self.core.kernel.history.set_limits(limits);
    }

    /// How long a view must have been the oldest before purge moves rows deleted since to a graveyard. Default: a tenth
    /// of a second. Until then a deleted row stays in its index, where scans step over it, and locking scans lock it.
    pub fn set_bury_after(&self, age: Duration) {
        self.core.kernel.history.set_bury_after(age);
    }

    /// Has `observer` told, by the purge thread and about once a minute, that history has passed a limit.
    pub fn set_on_history_excess(&self, observer: Option<Arc<dyn Fn(&HistoryExcess) + Send + Sync>>) {
        self.core.kernel.history.set_observer(observer);
    }

    /// For how long old versions are kept whether or not a view needs them, in whole seconds, so that the past can be
    /// read ([`Transaction::see_past`]). History begins when this is first called.
    pub fn set_undo_retention(&self, retention: Duration) {
        self.core.kernel.history.set_retention(retention);
        self.core.background.ring();
    }

    /// Has `observer` told, several times a second and by the thread that does the work, how far the engine is with what it does by
    /// itself: once that has gone on for `after`, and with `None` when it is over.
    pub fn set_on_long_work(
        &self,
        after: Duration,
        observer: impl Fn(Option<WorkProgress>) + Send + 'static,
    ) {
        self.core.watcher.set(after, Box::new(observer));
    }

    /// The last deadlock that was found and broken.
    pub fn latest_deadlock(&self) -> Option<Arc<DeadlockInfo>> {
        self.core.kernel.locks.latest_deadlock()
    }

    /// `innodb_deadlock_detect`. Without it a cycle of waits lasts until one of them times out.
    pub fn set_deadlock_detect(&self, on: bool) {
        self.core.kernel.locks.set_deadlock_detect(on);
    }

    /// Calls `observer` for every deadlock, on the thread that found it, before the victim is woken. The observer may
    /// call the engine only to look at it.
    pub fn set_on_deadlock(&self, observer: Option<Arc<dyn Fn(&DeadlockInfo) + Send + Sync>>) {
        self.core.kernel.locks.set_on_deadlock(observer);
    }

    /// A transaction for one connection or thread, idle. Reuse it: [`Transaction::begin`] starts the next.
    pub fn transaction(&self) -> Transaction {
        Transaction::new(self.core.clone())
    }

    /// Runs `f` in a transaction at REPEATABLE READ and commits it; returns what `f` returned. If the transaction loses a
    /// deadlock, or a lock is not granted in time, it is rolled back and `f` runs again in a new one, up to ten times in
    /// all: so `f` should change nothing but the database. On any other error the transaction is rolled back and the error
    /// returned.
    pub fn write<R>(&self, mut f: impl FnMut(&mut Transaction) -> Result<R>) -> Result<R> {
        let mut txn = self.transaction();
        let mut runs = 1;
        loop {
            txn.begin(Isolation::RepeatableRead, false);
            let done = f(&mut txn).and_then(|result| txn.commit().map(|()| result));
            let Err(error) = done else { return done };
            if txn.is_active() {
                txn.rollback()?;
            }
            match error {
                Error::Deadlock | Error::LockWaitTimeout if runs < WRITE_RUNS_MAX => runs += 1,
                error => return Err(error),
            }
        }
    }

    /// A handle on a table. [`Error::NoSuchTable`] if there is none of this id.
    pub fn table(&self, id: TableId) -> Result<Arc<Table>> {
        self.core.catalog.table(id)
    }

    /// A handle on the table that was created with this name ([`Ddl::create_named_table`]). [`Error::NoSuchTable`] if there
    /// is none.
    pub fn table_named(&self, name: &str) -> Result<Arc<Table>> {
        let id = self.meta_get(TABLE_NAMES, name.as_bytes())?;
        let id = id.and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
        self.table(TableId(id.ok_or(Error::NoSuchTable)?))
    }

    /// The ids of all tables.
    pub fn table_ids(&self) -> Vec<TableId> {
        self.core.catalog.tables().iter().map(|t| t.id()).collect()
    }

    /// Starts a change of definitions. One at a time: a second one waits.
    pub fn ddl(&self) -> Result<Ddl> {
        Ddl::new(self.core.clone(), false)
    }

    /// [`Self::ddl`] for a statement that can be killed: it and its commit wait for their turn until then, or at most so long each.
    /// Errors [`Error::Interrupted`] and [`Error::LockWaitTimeout`].
    pub fn ddl_within(&self, interrupt: Arc<Interrupt>, longest: Duration) -> Result<Ddl> {
        let patience = Patience {
            interrupt: Some(interrupt),
            longest,
        };
        Ddl::with_patience(self.core.clone(), false, patience)
    }

    /// Begins to build indexes while others write to their table. The caller ensures that no transaction uses the table during
    /// this call, and that no other change of its definition comes before [`Ddl::finish_build`], which ends the build; between the two,
    /// transactions read and write as they like, by handles fetched anew: those of before are stale.
    pub fn build_indexes(&self, table: TableId, indexes: &[IndexSchema]) -> Result<OnlineBuild> {
        OnlineBuild::begin(self.core.clone(), table, indexes)
    }

    /// Starts a change of temporary tables, and of nothing else: they are known until they are dropped or the engine is closed,
    /// are not stored in the catalog, and a crash leaves nothing of them. Any number of these go on at once, beside one
    /// [`Engine::ddl`]. The commit waits for nothing, and takes nothing back if a transaction that is open is rolled back.
    pub fn temporary_ddl(&self) -> Result<Ddl> {
        Ddl::new(self.core.clone(), true)
    }

    /// The temporary tables there are, by id, and the number of their columns.
    pub fn temporary_tables(&self) -> Vec<(TableId, usize)> {
        self.core.catalog.temporary_tables()
    }

    /// Committed meta data: what the floor above keeps in the catalog (names, definitions, accounts).
    pub fn meta_get(&self, space: &str, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let _committed = self.core.catalog.committing.read();
        let key = crate::catalog::meta_key(space, key);
        self.core.catalog.system().read(&key)
    }

    /// All of a meta space, in key order.
    pub fn meta_scan(&self, space: &str) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let _committed = self.core.catalog.committing.read();
        self.core.catalog.meta_scan(space)
    }

    /// Sets keys of a meta space, or with `None` removes them, all or none, without waiting for changes of definitions. The caller
    /// ensures that nobody else writes to the space meanwhile, not even a change of definitions.
    pub fn note_meta(&self, space: &str, changes: &[(Vec<u8>, Option<Vec<u8>>)]) -> Result<()> {
        if self.core.kernel.read_only {
            return Err(Error::ReadOnly);
        }
        let system = self.core.catalog.system();
        let mut transaction = self.transaction();
        transaction.begin(Isolation::RepeatableRead, false);
        let txn = &mut transaction.txn();
        txn.start_write()?;
        for (key, value) in changes {
            system.put(txn, &crate::catalog::meta_key(space, key), value.as_deref())?;
        }
        transaction.commit()
    }

    /// Follows every purge task that can be followed now. For tests, and to leave nothing to do to a clean stop.
    pub fn purge(&self) -> Result<()> {
        while self.purge.round(true)? {}
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TableSchema;
    use crate::catalog::table_key;
    use crate::disk::sim::{Faults, SimDisk};
    use crate::system_tree::{CHUNK_BYTES, chunk_key};
    use crate::{
        Column, ColumnType, Datum, Flow, IndexSchema, Keep, KeyPart, KeyRange, RangeScan, Read, RowView,
    };

    fn config(disk: &SimDisk) -> Config {
        let mut config = Config::new("");
        config.disk = Some(Arc::new(disk.clone()));
        config.abort_on_log_failure = false;
        config
    }

    /// An engine with a table, and a transaction that has put a row there and could not be rolled back.
    fn with_unfinished(disk: &SimDisk) -> (Arc<Core>, TableId) {
        let Opened { core, .. } = open_core(&config(disk), true).unwrap();
        let mut ddl = Ddl::new(core.clone(), false).unwrap();
        let id = ddl
            .create_table(&TableSchema {
                columns: vec![Column {
                    ty: ColumnType::Int { bytes: 4 },
                    nullable: false,
                }],
                primary: Some(IndexSchema {
                    parts: vec![KeyPart::column(0)],
                    unique: true,
                }),
                secondary: Vec::new(),
            })
            .unwrap();
        ddl.commit().unwrap();
        let mut txn = Transaction::new(core.clone());
        txn.begin(Isolation::RepeatableRead, false);
        core.catalog
            .table(id)
            .unwrap()
            .insert(&mut txn, &[Datum::Int(1)])
            .unwrap();
        // All of it is on disk, so that the checkpoint could pass it.
        while core.kernel.store.status().pool.dirty > 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        disk.set_faults(Faults {
            read_failure_in: Some(1),
            ..Faults::default()
        });
        drop(txn);
        assert_eq!(
            core.unfinished.lock().len(),
            1,
            "the rollback could not read its note"
        );
        (core, id)
    }

    /// A change of definitions would take the row for one of its table.
    #[test]
    fn the_tables_of_a_transaction_that_cannot_be_rolled_back_are_not_changed() {
        let (core, id) = with_unfinished(&SimDisk::new(1));
        let refused = |result: Result<()>| assert!(matches!(result, Err(Error::LockWaitTimeout)));
        let mut ddl = Ddl::new(core.clone(), false).unwrap();
        let index = IndexSchema {
            parts: vec![KeyPart::column(0)],
            unique: false,
        };
        refused(ddl.add_index(id, &index));
        refused(ddl.truncate(id).map(|_| ()));
        refused(ddl.drop_table(id));
        let schema = core.catalog.definition(id).unwrap().unwrap().shape.schema;
        let other = ddl.create_table(&schema).unwrap();
        refused(ddl.copy_rows(id, other, &mut |_, _| Ok(())).map(|_| ()));
        drop(ddl);
        transaction::finish_unfinished(&core);
        let mut ddl = Ddl::new(core.clone(), false).unwrap();
        ddl.drop_table(id).unwrap();
        ddl.commit().unwrap();
    }

    /// A checkpoint that comes when the engine is gone, but not yet its store, must leave to the next start what a
    /// transaction needs that could not be rolled back, and the ids to go on from.
    #[test]
    fn a_checkpoint_without_an_engine_keeps_what_is_unfinished() {
        let disk = SimDisk::new(1);
        let (core, id) = with_unfinished(&disk);
        let (store, next) = (core.kernel.store.clone(), core.kernel.mvcc.txns.next());
        drop(core);
        store.checkpoint().unwrap();
        drop(store);

        let opened = open_core(&config(&disk.restart()), false).unwrap();
        assert_eq!(opened.next, next);
        let mut txn = Transaction::new(opened.core.clone());
        txn.begin(Isolation::ReadCommitted, false);
        let table = opened.core.catalog.table(id).unwrap();
        let mut rows = 0;
        let mut count = |_: &RowView| {
            rows += 1;
            Ok((Keep::Locked, Flow::Continue))
        };
        table
            .scan(
                &mut txn,
                &RangeScan::new(0, &KeyRange::all()),
                Read::Consistent,
                &mut count,
            )
            .unwrap();
        assert_eq!(rows, 0, "the row was not committed");
    }

    /// Where a definition takes several entries, a crash may leave the first of the new one before the others of the old one.
    #[test]
    fn a_definition_that_was_being_written_at_a_crash_is_as_it_was() {
        let disk = SimDisk::new(1);
        let Opened { core, .. } = open_core(&config(&disk), true).unwrap();
        let schema = |columns: usize| TableSchema {
            columns: vec![
                Column {
                    ty: ColumnType::Int { bytes: 4 },
                    nullable: false,
                };
                columns
            ],
            primary: None,
            secondary: Vec::new(),
        };
        let mut ddl = Ddl::new(core.clone(), false).unwrap();
        let id = ddl.create_table(&schema(900)).unwrap();
        ddl.commit().unwrap();
        let before = core.catalog.definition(id).unwrap().unwrap();
        let mut after = before.clone();
        after.shape.schema = schema(1000);
        let after = after.encode();
        assert!(before.encode().len() > CHUNK_BYTES && after.len() > before.encode().len());

        let (system, key) = (core.catalog.system(), table_key(id));
        let mut txn = Transaction::new(core.clone());
        txn.begin(Isolation::RepeatableRead, false);
        txn.txn().start_write().unwrap();
        system
            .put_chunk(&mut txn.txn(), &chunk_key(&key, 0), Some(&after[..CHUNK_BYTES]))
            .unwrap();
        core.kernel.store.log().flush_all().unwrap();
        std::mem::forget(txn);

        let disk = disk.restart();
        let checked = Engine::check_with(config(&disk)).unwrap();
        assert!(checked.faults.is_empty(), "{:?}", checked.faults);
        let opened = open_core(&config(&disk), false).unwrap();
        let found = opened.core.catalog.definition(id).unwrap().unwrap();
        assert_eq!(found.encode(), before.encode());
        assert_eq!(opened.core.catalog.table(id).unwrap().schema().columns.len(), 900);
    }
}
