//! Pages that change together and survive: the pool and the log made one.
//!
//! | file | idea |
//! |---|---|
//! | `op.rs` | a change of one page, done and redone by the same code |
//! | `mtr.rs` | changes of several pages, one record, all or nothing |
//! | `space.rs`, `scratch.rs` | which pages are used |
//! | `cleaner.rs`, `doublewrite.rs` | pages go to disk; checkpoints |
//! | `start.rs`, `control.rs`, `files.rs`, `recovery.rs`, `redo.rs`, `progress.rs` | and come back |
//! | `backup.rs`, `archive.rs`, `holds.rs` | copies of a store that runs, and its log |
//! | `scrub.rs` | pages verified where they lie |
//! | `resize.rs` | pool and log get another size |
//!
//! Files of a data directory: `control`, `data`, `doublewrite`, `redo-…`, and `scratch`, which is empty at every start.

mod archive;
mod backup;
mod cleaner;
mod control;
#[cfg(test)]
mod damage_tests;
mod doublewrite;
#[cfg(test)]
mod file_fuzz;
mod files;
mod holds;
mod mtr;
mod op;
mod pace;
mod progress;
mod recovery;
mod redo;
mod resize;
mod scratch;
mod scrub;
mod space;
mod start;
#[cfg(test)]
mod tests;

pub use archive::{Until, restore};
pub use backup::{BACKUP_INFO, Copied, CopyOptions, CopyProgress, CopyStage};
pub use cleaner::Retain;
pub use control::FORMAT_VERSION;
pub use files::is_own_name;
pub use mtr::{Mtr, PageHandle};
pub use op::{OpTable, PageOp, ROOTS, Redo};
pub use progress::{Progress, Share};
pub use recovery::{Loser, Recovered};
pub use scrub::DamagedPage;
pub use start::vouched_log;

use crate::disk::Disk;
use crate::disk::counted::{Counted, Files};
use crate::error::{Error, Result};
use crate::ids::{Lsn, PAGE_SIZE, PageId};
use crate::log::{Log, LogConfig, LogStatus, OnFailure, RECORD_HEADER, finish_record};
use crate::pool::{ExclusiveGuard, Pool, PoolStatus, page_type};
use archive::{Archived, LogArchive};
use cleaner::{Aim, Cleaner};
use control::{Control, ControlFile};
use holds::{Holds, LogHold};
use parking_lot::{Mutex, RwLock};
use redo::Stretch;
use scratch::{Kept, Scratch};
use space::Space;
use start::Start;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

/// How a store is opened.
#[derive(Clone)]
pub struct StoreConfig {
    /// Where its files are.
    pub disk: Arc<dyn Disk>,
    /// Begin anew where there is nothing.
    pub create: bool,
    /// Pages of the pool: its memory limit.
    pub pool_pages: usize,
    /// Pages that the pool may be resized to; no fewer than it has at first.
    pub pool_pages_max: usize,
    /// Pages go past the operating system's cache.
    pub direct: bool,
    /// How far redo may have to go back.
    pub log_capacity_bytes: u64,
    /// Size of the log's buffer; at least a mebibyte.
    pub log_buffer_bytes: u64,
    /// What a commit waits for: 1 the disk, 2 the operating system, 0 nothing.
    pub flush_at_trx_commit: u8,
    /// What happens when the log cannot be written.
    pub on_log_failure: OnFailure,
    /// More dirty pages than this share of the pool, in percent, are written behind.
    pub max_dirty_pages_pct: f64,
    /// `innodb_force_recovery`: 0, or what is given up to open a damaged directory. From 1 on pages that cannot be read are gone
    /// round; from 3 on damage in the log passes for its end, and from 6 on nothing is redone. Those above also decide about undo.
    pub force_recovery: u8,
    /// Where the log is kept beyond checkpoints, if anywhere; see [`Store::archive_log`].
    pub log_archive: Option<Arc<dyn Disk>>,
    /// Is shown the position and the payload of each undo note in the log that a start reads.
    pub on_note: Option<NoteReader>,
}

/// See [`StoreConfig::on_note`].
pub type NoteReader = Arc<dyn Fn(Lsn, &[u8]) + Send + Sync>;

impl StoreConfig {
    /// The defaults: a pool of 128 MiB, a log of 100 MiB behind a buffer of 16 MiB, durable commits, direct access; a log that
    /// fails ends the process.
    pub fn new(disk: Arc<dyn Disk>) -> StoreConfig {
        StoreConfig {
            disk,
            create: true,
            pool_pages: (128 << 20) / PAGE_SIZE,
            pool_pages_max: 0,
            direct: true,
            log_capacity_bytes: 100 << 20,
            log_buffer_bytes: 16 << 20,
            flush_at_trx_commit: 1,
            on_log_failure: OnFailure::Abort,
            max_dirty_pages_pct: 90.0,
            force_recovery: 0,
            log_archive: None,
            on_note: None,
        }
    }
}

/// A log smaller than this is mostly waiting for checkpoints.
const LOG_CAPACITY_MIN: u64 = 4 << 20;

/// The level of `force_recovery` from which on nothing is redone.
const NO_REDO: u8 = 6;

type RetainHook = Box<dyn Fn() -> Option<Retain> + Send + Sync>;

/// Pages and their log, open.
pub struct Store {
    pool: Pool,
    files: Arc<Files>,
    log: Log,
    ops: OpTable,
    space: Space,
    scratch: Scratch,
    cleaner: Cleaner,
    control: Mutex<(ControlFile, Control)>,
    retain: RwLock<Option<RetainHook>>,
    holds: Arc<Holds>,
    archive: Mutex<Option<LogArchive>>,
    archived: Mutex<Archived>,
    /// Checkpoints wait until redo is done, and until the engine answers for the losers.
    recovering: AtomicBool,
    losers_first: Mutex<Option<Lsn>>,
    closing: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Where this run's own records begin.
    run_start: Lsn,
    force_recovery: u8,
    log_capacity: AtomicU64,
    /// In percent of the pool's pages, as the bits of a fraction.
    dirty_pct: AtomicU64,
    resizing: Mutex<()>,
}

/// Gauges and counters of an open store.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoreStatus {
    /// The buffer pool.
    pub pool: PoolStatus,
    /// The redo log.
    pub log: LogStatus,
    /// Where recovery would begin.
    pub redo_from: Lsn,
    /// Checkpoints since the store was opened.
    pub checkpoints: u64,
    /// Pages the data file has.
    pub file_pages: u32,
    /// Pages of the data file that are not allocated.
    pub file_pages_free: u32,
    /// Scratch pages in use.
    pub scratch_pages: usize,
    /// How far the log may grow between checkpoints, in bytes.
    pub log_capacity_bytes: u64,
    /// Bytes of the log's files.
    pub log_files_bytes: u64,
    /// By how many bytes the archive is behind the log; 0 if there is none.
    pub archive_behind_bytes: u64,
}

impl Store {
    /// Opens what is on the disk, recovering it if need be, or begins anew if it is empty.
    pub fn open(mut config: StoreConfig, ops: OpTable) -> Result<(Arc<Store>, Recovered)> {
        let disk = Counted::new(config.disk);
        let files = disk.files();
        config.disk = Arc::new(disk);
        let Start {
            data,
            scratch,
            file,
            control,
            doublewrite,
            segments,
            mut recovered,
            stretches,
        } = Start::from(&config)?;
        let log_config = LogConfig {
            buffer_bytes: config.log_buffer_bytes,
            flush_at_trx_commit: config.flush_at_trx_commit,
            on_failure: config.on_log_failure,
        };
        let pool = Pool::new(
            config.pool_pages,
            config.pool_pages_max,
            space::BITMAP_EVERY,
            data.clone(),
            scratch.clone(),
        )?;
        segments.go_on(recovered.end)?;
        let store = Arc::new(Store {
            pool,
            files,
            log: Log::open(segments, &log_config, control.epoch, recovered.end),
            ops,
            space: Space::new(data),
            scratch: Scratch::new(scratch),
            cleaner: Cleaner::new(doublewrite, control.redo_from),
            control: Mutex::new((file, control)),
            retain: RwLock::new(None),
            holds: Arc::default(),
            archive: Mutex::new(None),
            archived: Mutex::default(),
            recovering: AtomicBool::new(true),
            losers_first: Mutex::new(recovered.losers.iter().map(|loser| loser.first_lsn).min()),
            closing: AtomicBool::new(false),
            run_start: recovered.end,
            force_recovery: config.force_recovery,
            thread: Mutex::new(None),
            log_capacity: AtomicU64::new(config.log_capacity_bytes.max(LOG_CAPACITY_MIN)),
            dirty_pct: AtomicU64::new(0),
            resizing: Mutex::new(()),
        });
        store.set_max_dirty_pages_pct(config.max_dirty_pages_pct);
        *store.thread.lock() = Some(Cleaner::start(&store)?);
        store.recover(config, &control, &stretches, &mut recovered)?;
        Ok((store, recovered))
    }

    /// Redoes what the log has, and makes the store ready for changes.
    fn recover(
        &self,
        config: StoreConfig,
        control: &Control,
        stretches: &[Stretch],
        recovered: &mut Recovered,
    ) -> Result<()> {
        if recovered.end > control.redo_from {
            ::log::info!(
                "recovery: the log is redone from position {} to {}",
                control.redo_from,
                recovered.end
            );
        }
        if config.force_recovery < NO_REDO {
            recovered.records_redone = self.redo(control.redo_from, recovered.end, stretches)?;
        }
        if config.force_recovery == 0 {
            self.pool.set_log_found(recovered.end);
        }
        self.space
            .load(&self.pool, recovered.end, config.force_recovery > 0)?;
        // No checkpoint before: it would count on the superblock.
        self.create_superblock(control.id)?;
        self.begin_log()?;
        if let Some(disk) = config.log_archive {
            // Before room is made of what it may still need.
            *self.archive.lock() = Some(self.open_archive(disk)?);
        }
        self.recovering.store(false, Ordering::Release);
        match self.make_log_room(control.scan_from, control.redo_from) {
            // Reading, undoing and whatever makes room are possible on a full disk, and so is a start.
            Err(Error::DiskFull) => {
                ::log::error!("the disk is full: changes are refused until there is room")
            }
            made => made?,
        }
        Ok(())
    }

    /// The superblock, unless a former start got as far as to make it certain. One of a version without ids learns that
    /// of its directory.
    fn create_superblock(&self, id: u64) -> Result<()> {
        let mut mtr = self.begin_urgent_mtr()?;
        if self.pool.shared(PageId(0))?.page_type() != page_type::SUPERBLOCK {
            // The first allocation makes the file, and bitmap 0.
            mtr.reserve_pages(1)?;
            mtr.format_unread(PageId(0), page_type::SUPERBLOCK, 0)?;
        } else if self.root(files::ID_SLOT)? != 0 {
            return Ok(());
        }
        mtr.set_root(files::ID_SLOT, id)?;
        let end = mtr.commit().end;
        self.log.flush(end)
    }

    /// Begins this start's part of the log with a record that says nothing, and the control file says that it is there. So a
    /// segment that is blank or another's is noticed even if the engine is killed before its first checkpoint.
    fn begin_log(&self) -> Result<()> {
        let mut record = vec![0; RECORD_HEADER];
        finish_record(&mut record, 0, None, self.log.epoch(), self.log.flushed());
        let end = self.log.append(&record, |_| {}).end;
        self.log.flush(end)?;
        self.write_control(|control| control.durable = end)
    }

    /// The pages in memory.
    #[inline]
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The redo log.
    #[inline]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Begins a mini-transaction. May wait until the log has room, so to be called while holding no latch.
    #[inline]
    pub fn begin_mtr(&self) -> Result<Mtr<'_>> {
        self.wait_for_log_room(|| Ok(()))?;
        Ok(Mtr::new(self))
    }

    /// Waits until the log has room, as [`begin_mtr`](Self::begin_mtr) does; `check` ends the wait early. To be called while
    /// holding nothing.
    #[inline]
    pub fn wait_for_log_room(&self, check: impl Fn() -> Result<()>) -> Result<()> {
        self.log.admit(|| self.wake_cleaner(), check)
    }

    /// As [`begin_mtr`](Self::begin_mtr), for what makes room by being done, above all undoing: it waits for nothing and
    /// takes from a reserve that others leave alone.
    #[inline]
    pub fn begin_urgent_mtr(&self) -> Result<Mtr<'_>> {
        self.log.check()?;
        Ok(Mtr::new_urgent(self))
    }

    /// Reserves room in the log for undoing what is about to be changed, or fails if the disk is full; to be given back with
    /// [`release_undo`](Self::release_undo). `check` ends a wait early. To be called while holding nothing.
    pub fn reserve_undo(&self, bytes: u64, check: &dyn Fn() -> Result<()>) -> Result<()> {
        self.log.reserve_undo(bytes, || self.wake_cleaner(), check)
    }

    /// Gives back what was reserved for undoing.
    pub fn release_undo(&self, bytes: u64) {
        self.log.release_undo(bytes);
    }

    /// Keeps so many free pages for undoing, which may have to split pages, or fails if the disk is full; to be given back with
    /// [`release_undo_pages`](Self::release_undo_pages). To be called while holding nothing.
    pub fn reserve_undo_pages(&self, pages: u32) -> Result<()> {
        self.space.lock().promise(self, pages)
    }

    /// Gives back what was kept for undoing.
    pub fn release_undo_pages(&self, pages: u32) {
        self.space.lock().take_back(pages);
    }

    /// Asks for a checkpoint, and says what keeps the cleaner from one.
    fn wake_cleaner(&self) -> Option<Error> {
        let signal = self.pool.cleaner_signal();
        signal.ask();
        signal.trouble().map(|trouble| trouble.error())
    }

    /// As [`begin_mtr`](Self::begin_mtr), for scratch pages.
    #[inline]
    pub(crate) fn begin_scratch_mtr(&self) -> Mtr<'_> {
        Mtr::new_scratch(self)
    }

    /// A number that the superblock keeps for the floors above: where their own roots are. 0 until set.
    pub fn root(&self, slot: usize) -> Result<u64> {
        assert!(slot < ROOTS);
        Ok(op::root_at(&*self.pool.shared(PageId(0))?, slot))
    }

    /// A scratch page, zeroed and formatted. It is not logged, counts against the pool, may be written to the scratch
    /// file, and is gone at the next start.
    pub fn alloc_scratch(&self, page_type: u8) -> Result<ExclusiveGuard<'_>> {
        self.alloc_kept(page_type, Kept::Nothing)
    }

    /// The same for what a statement puts aside. Fails if the disk has no more room than is left for the log, the data and old versions.
    pub fn alloc_aside(&self, page_type: u8) -> Result<ExclusiveGuard<'_>> {
        self.alloc_kept(page_type, Kept::Reserve)
    }

    fn alloc_kept(&self, page_type: u8, kept: Kept) -> Result<ExclusiveGuard<'_>> {
        let page = self.scratch.alloc(kept)?;
        match self.pool.exclusive_unread(page) {
            Ok(mut guard) => {
                guard.scratch_mut().format(page, page_type, 0);
                Ok(guard)
            }
            Err(e) => {
                self.scratch.free(page);
                Err(e)
            }
        }
    }

    /// Nobody will ask for the page any more (an optimistic reader that still does will notice). Waits for its latch.
    pub fn free_scratch(&self, page: PageId) {
        self.pool.discard(page);
        self.scratch.free(page);
    }

    /// Gives room in the scratch file back that is no longer used.
    pub fn trim_scratch(&self) -> Result<()> {
        self.scratch.trim()
    }

    /// [`StoreConfig::force_recovery`].
    #[inline]
    pub fn force_recovery(&self) -> u8 {
        self.force_recovery
    }

    /// Whether a data page is allocated.
    #[inline]
    pub fn is_used(&self, page: PageId) -> Result<bool> {
        self.space.is_used(&self.pool, page)
    }

    /// Pages the data file has.
    pub fn file_pages(&self) -> u32 {
        self.space.count().0
    }

    /// Pages of the data file that are not in use.
    pub fn free_pages(&self) -> u32 {
        self.space.count().1
    }

    /// From now on `hook` says what checkpoints must keep for transactions. It is called after the log's tail was read:
    /// so a transaction must make its first position (the tail, before its first record) visible to the hook, and take
    /// its id, before it writes its first record. `None`: it is not known any more, so there must be no checkpoint.
    pub fn set_retain_hook(&self, hook: impl Fn() -> Option<Retain> + Send + Sync + 'static) {
        *self.retain.write() = Some(Box::new(hook));
        *self.losers_first.lock() = None;
    }

    /// Until there is a hook, checkpoints keep what the losers need. `None` while there must be no checkpoint.
    fn retain(&self) -> Option<Retain> {
        if self.is_recovering() {
            return None;
        }
        match &*self.retain.read() {
            Some(hook) => hook(),
            None => {
                let oldest = self.losers_first.lock().unwrap_or(Lsn::MAX);
                Some(Retain {
                    oldest,
                    next_txn: self.control().next_txn,
                })
            }
        }
    }

    /// Has the cleaner write pages when more than this share of the pool, in percent from 1 to 95, is dirty.
    pub fn set_max_dirty_pages_pct(&self, percent: f64) {
        self.dirty_pct
            .store(percent.clamp(1.0, 95.0).to_bits(), Ordering::Relaxed);
    }

    /// Gauges and counters now.
    pub fn status(&self) -> StoreStatus {
        let (file_pages, file_pages_free) = self.space.count();
        StoreStatus {
            pool: self.pool.status(),
            log: self.log.status(),
            redo_from: self.redo_from(),
            checkpoints: self.cleaner.checkpoints(),
            file_pages,
            file_pages_free,
            scratch_pages: self.scratch.used(),
            log_capacity_bytes: self.log_capacity(),
            log_files_bytes: self.log.segments().bytes(),
            archive_behind_bytes: self.archive_behind(),
        }
    }

    /// How the files are used.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Writes every dirty page and leaves nothing to recover. Nobody may be changing anything any more.
    pub fn shutdown(&self) -> Result<()> {
        self.stop_cleaner();
        self.log.flush_all()?;
        while self.pool.dirty_pages().any(|dirty| !dirty.page.is_scratch()) {
            self.retry_stuck_pages();
            self.clean(Aim::Log(Lsn::MAX), usize::MAX)?;
        }
        self.checkpoint_as(true)?;
        self.archive_log()
    }

    fn stop_cleaner(&self) {
        self.closing.store(true, Ordering::Release);
        self.pool.cleaner_signal().ask();
        let thread = self.thread.lock().take();
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            // A panic there has said its reason already.
            let _ = thread.join();
        }
    }

    fn ops(&self) -> &OpTable {
        &self.ops
    }

    fn space(&self) -> &Space {
        &self.space
    }

    fn cleaner(&self) -> &Cleaner {
        &self.cleaner
    }

    fn redo_from(&self) -> Lsn {
        self.cleaner.redo_from()
    }

    fn log_capacity(&self) -> u64 {
        self.log_capacity.load(Ordering::Relaxed)
    }

    fn dirty_max(&self) -> usize {
        let percent = f64::from_bits(self.dirty_pct.load(Ordering::Relaxed));
        (self.pool.frames() as f64 * percent / 100.0) as usize
    }

    fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    fn is_recovering(&self) -> bool {
        self.recovering.load(Ordering::Acquire)
    }

    fn control(&self) -> Control {
        self.control.lock().1
    }

    fn write_control(&self, change: impl FnOnce(&mut Control)) -> Result<()> {
        let mut locked = self.control.lock();
        let (file, control) = &mut *locked;
        let mut new = *control;
        change(&mut new);
        if new != *control {
            file.write(&new)?;
            *control = new;
        }
        Ok(())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.stop_cleaner();
    }
}

impl Store {
    /// A new store on a simulated disk, with a pool of `pool_pages` pages: for examples and for tests of the floors above.
    ///
    /// # Panics
    /// If the pool's memory cannot be reserved; the simulated disk does not fail.
    pub fn in_memory(pool_pages: usize, ops: OpTable) -> Arc<Store> {
        Store::on_sim(&crate::disk::sim::SimDisk::new(1), pool_pages, ops)
            .expect("a new store in memory")
            .0
    }

    /// A store on a simulated disk, where a failure of the log refuses instead of aborting.
    pub(crate) fn on_sim(
        disk: &crate::disk::sim::SimDisk,
        pool_pages: usize,
        ops: OpTable,
    ) -> Result<(Arc<Store>, Recovered)> {
        let mut config = StoreConfig::new(Arc::new(disk.clone()));
        config.pool_pages = pool_pages;
        config.log_buffer_bytes = 1 << 20;
        config.log_capacity_bytes = 4 << 20;
        config.on_log_failure = OnFailure::Refuse;
        Store::open(config, ops)
    }
}
