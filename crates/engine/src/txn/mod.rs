//! A transaction's context: what a running transaction has, and what reading and writing rows asks of it.
//!
//! [`TxnContext`] is the state: isolation level, view, id, the last undo note, locks and buffers. It belongs to a session
//! and is reused from transaction to transaction. [`Txn`] is the context together with the kernel, borrowed for one call;
//! tables, the catalog and undo take it as `&mut Txn`. What begins and ends a transaction stands above the tables, in
//! `transaction`, because ending one may have to undo changes of tables.
//!
//! ```text
//!   transaction::Transaction   begin, commit, rollback, savepoints      (above tables and undo)
//!   table, catalog, undo       take  &mut Txn
//!   txn::Txn                   = &Kernel + &mut TxnContext
//! ```
//!
//! A context costs nothing until the first read, which takes a view, or the first write, which takes an id.

mod note;

pub(crate) use note::{Undo, carried_counter, difference, restore};

use crate::error::{Error, Result};
use crate::ids::{IndexId, Isolation, Lsn, PAGE_SIZE, PageId, TableId, TxnId};
use crate::kernel::Kernel;
use crate::lock::{
    Attempt, DuplicateLock, Implicit, IndexLocks, KeyRun, LockKey, LockKind, LockMode, LockRequest, LockType,
    LockWait, Materialise, Owner, TableLocks, locks_gaps,
};
use crate::log::MtrLsn;
use crate::mvcc::{SlotNo, VersionBuffer, View};
use crate::schema::RowBuf;
use crate::waits::{Wait, timed};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tidemark_pages::Error as PagesError;

/// All of a transaction but the engine it runs in.
pub(crate) struct TxnContext {
    pub owner: Arc<Owner>,
    pub versions: Arc<Mutex<VersionBuffer>>,
    /// Where its view is registered.
    pub slot: SlotNo,
    pub active: bool,
    pub read_only: bool,
    pub isolation: Isolation,
    pub view: Option<View>,
    /// 0 until the first write.
    pub id: TxnId,
    /// The LSN of the undo note of the last change that is not undone.
    pub last_undo: Lsn,
    /// Room in the log for undoing what it has changed.
    pub undo_room: UndoRoom,
    /// Counts the transactions that used this context, so that a savepoint of an earlier one is refused.
    pub number: u64,
    /// The newest commit whose rows were locked before it was durable.
    pub observed: Lsn,
    /// Chosen as a deadlock's victim: only a rollback is possible.
    pub doomed: bool,
    keeps_unique: bool,
    /// The tables that it has an intention lock on.
    pub intentions: Vec<(TableId, LockMode)>,
    /// The indexes in which it has noted a write.
    noted: Vec<IndexId>,
    /// The lock wait timeout.
    pub timeout: Duration,
    pub snapshot_isolation: bool,
    /// How a row is locked that has a key which a changed row is to have.
    pub duplicates: DuplicateLock,
    pub buffers: Buffers,
    /// Rows that were changed in all the context's transactions.
    pub changed: RowCounts,
}

/// How many rows were changed. Only ever grows: what a statement did is the difference between after and before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// Rows inserted.
    pub inserted: u64,
    /// Rows updated.
    pub updated: u64,
    /// Rows deleted.
    pub deleted: u64,
}

/// Buffers that keep their room from one statement to the next.
#[derive(Default)]
pub(crate) struct Buffers {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    pub note: Vec<u8>,
    pub version: Vec<u8>,
    /// The key behind the one that is inserted.
    pub next: Vec<u8>,
    /// What the counter of a table will be above once its next row is in: see [`Transaction::carry_counter`].
    ///
    /// [`Transaction::carry_counter`]: crate::Transaction::carry_counter
    pub counter: Option<(TableId, u64)>,
    pub row: RowBuf,
}

/// What a transaction has reserved for undoing, and what undoing it would take now: bytes of the log, and pages, since what it has
/// made shorter must become as long again although others have taken the room. A session keeps a little from one
/// transaction to the next, so that small ones touch nothing that others touch as well.
#[derive(Default)]
pub(crate) struct UndoRoom {
    held: u64,
    pub owed: u64,
    pages_held: u32,
    pages_owed: u32,
    /// Of each leaf by how many bytes its entries have become shorter.
    shrunk: HashMap<PageId, u32>,
    /// It holds as many pages as one transaction may.
    has_most_pages: bool,
}

impl UndoRoom {
    /// Pages that undoing may take if entries of this leaf become so much shorter.
    fn pages_after(&self, leaf: PageId, bytes: usize) -> u32 {
        let before = self.shrunk.get(&leaf).copied();
        let pages = |bytes: u32| 1 + bytes / GROWTH_OF_A_PAGE;
        let more = pages(before.unwrap_or(0) + bytes as u32) - before.map_or(0, pages);
        self.pages_owed + more
    }

    /// With the pages above them.
    fn with_inner(leaves: u32) -> u32 {
        leaves + leaves.div_ceil(INNER_EVERY)
    }
}

/// Reserved before each change: as much as undoing the change of a row takes, but for the longest.
const UNDO_AHEAD: u64 = 8 << 10;
/// Kept by a session between transactions.
const UNDO_KEPT: u64 = 2 * UNDO_AHEAD;
/// As much as can be added to a leaf that was split for it before it has to be split again.
const GROWTH_OF_A_PAGE: u32 = PAGE_SIZE as u32 / 4;
/// Splits of leaves that may lead to one of a page above them.
const INNER_EVERY: u32 = 16;
/// Leaves for which it keeps memory.
const SHRUNK_KEPT: usize = 64;
/// Pages that a session keeps between transactions: enough for one whose rows become shorter in one leaf.
const UNDO_PAGES_KEPT: u32 = 2;
/// Pages that one transaction may hold: so many, or this share of the data file. One that makes rows in more leaves shorter may have to
/// wait for room when it is rolled back on a full disk; else an UPDATE that takes a letter from each row would need a second
/// place for the whole table.
const UNDO_PAGES_MAX: u32 = 1024;
const UNDO_PAGES_SHARE: u32 = 16;
/// Bytes of the log that a split takes: half a page moves.
const SPLIT_BYTES: u64 = PAGE_SIZE as u64;

/// Room in the log for undoing a change whose record has so many bytes: what it replaced is in that record, and is written
/// again; the entries of secondary indexes are of the same size; and a page may have to be split or merged now and then.
pub(crate) fn undo_bytes_of(record: MtrLsn) -> u64 {
    2 * (record.end.0 - record.start.0) + 256
}

/// The same for a page of a column that stands outside its row: it is freed.
pub(crate) const UNDO_OF_A_PAGE: u64 = 256;

/// What a read sees.
#[derive(Clone, Copy)]
pub(crate) enum Sight {
    /// READ UNCOMMITTED: the newest version, of whatever writer.
    Latest,
    View(View),
}

/// The outcome of a request for a row lock.
pub(crate) enum RowLock {
    /// Granted. `new` if by this request, as an object that can be released.
    Held {
        new: bool,
    },
    /// Release every latch, then [`Txn::wait`].
    Wait(LockKey),
    Busy,
}

/// A lock that is asked for, under the latch of its key's leaf.
pub(crate) struct RowLockRequest<'a> {
    pub locks: &'a Arc<IndexLocks>,
    pub key: &'a [u8],
    pub want: LockType,
    /// The row's or entry's.
    pub writer: TxnId,
    pub wait: LockWait,
}

/// A transaction's context and the kernel it runs in. See the module's head.
pub(crate) struct Txn<'k> {
    pub kernel: &'k Kernel,
    context: &'k mut TxnContext,
}

impl Deref for Txn<'_> {
    type Target = TxnContext;

    #[inline]
    fn deref(&self) -> &TxnContext {
        self.context
    }
}

impl DerefMut for Txn<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut TxnContext {
        self.context
    }
}

impl TxnContext {
    /// An idle context, registered with the kernel until [`Self::retire`].
    pub fn new(kernel: &Kernel) -> TxnContext {
        let versions = Arc::new(VersionBuffer::new());
        kernel.mvcc.queue.add_buffer(&versions);
        let slot = kernel.mvcc.views.acquire();
        TxnContext {
            owner: kernel.owners.add(slot),
            versions,
            slot,
            active: false,
            read_only: false,
            isolation: Isolation::default(),
            view: None,
            id: TxnId::NONE,
            last_undo: Lsn::ZERO,
            undo_room: UndoRoom::default(),
            number: 0,
            observed: Lsn::ZERO,
            doomed: false,
            keeps_unique: false,
            intentions: Vec::new(),
            noted: Vec::new(),
            timeout: Duration::from_secs(50),
            snapshot_isolation: false,
            duplicates: DuplicateLock::Shared,
            changed: RowCounts::default(),
            buffers: Buffers::default(),
        }
    }

    /// Gives the slot and the buffers back when the session ends.
    pub fn retire(&self, kernel: &Kernel) {
        kernel.store.release_undo(self.undo_room.held);
        if self.undo_room.pages_held > 0 {
            kernel.store.release_undo_pages(self.undo_room.pages_held);
        }
        kernel.owners.remove(&self.owner);
        kernel.mvcc.views.release(self.slot);
        let _ = self.versions.lock().retire(&kernel.mvcc.versions());
    }

    pub fn check_whole(&self) -> Result<()> {
        match self.owner.broken.load(Ordering::Relaxed) {
            true => Err(Error::Stopped("a transaction could not be rolled back".into())),
            false => Ok(()),
        }
    }

    /// The view that what is locked and changed must agree with, if snapshot isolation asks for that.
    #[inline]
    pub fn view_to_keep(&self) -> Option<View> {
        let keeps = self.snapshot_isolation && self.isolation >= Isolation::RepeatableRead;
        self.view.filter(|_| keeps)
    }

    /// Fails if the statement was interrupted, or only a rollback is possible.
    #[inline]
    pub fn check(&self) -> Result<()> {
        self.check_whole()?;
        if self.owner.interrupt.is_killed() {
            return Err(Error::Interrupted);
        }
        if self.doomed {
            return Err(Error::Deadlock);
        }
        match self.active {
            true => Ok(()),
            false => Err(Error::Unsupported("reading or writing outside a transaction")),
        }
    }

    /// Counts a row that was left as it is but weighs as much as a change in a deadlock.
    pub fn touched(&mut self) {
        self.owner.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that a change was logged, with its undo note at this LSN.
    /// Undoing it takes `undo_bytes` of the log at most.
    pub fn wrote(&mut self, note: Lsn, undo_bytes: u64) {
        self.last_undo = note;
        self.undo_room.owed += undo_bytes;
        self.owner.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// This statement relies on locks that keep its new keys unique.
    pub fn rely_on_unique(&mut self) {
        if !self.keeps_unique {
            self.keeps_unique = true;
            self.owner.keeps_unique.store(true, Ordering::Relaxed);
        }
    }

    #[inline]
    pub fn forget_unique(&mut self) {
        if self.keeps_unique {
            self.keeps_unique = false;
            self.owner.keeps_unique.store(false, Ordering::Relaxed);
        }
    }

    /// True if this transaction's locking reads lock gaps, too.
    #[inline]
    pub fn locks_gaps(&self) -> bool {
        locks_gaps(self.isolation)
    }
}

impl<'k> Txn<'k> {
    #[inline]
    pub fn new(kernel: &'k Kernel, context: &'k mut TxnContext) -> Txn<'k> {
        Txn { kernel, context }
    }

    /// What a consistent read of this transaction sees; takes the view if there is none yet. Not under a latch.
    #[inline]
    pub fn sight(&mut self) -> Result<Sight> {
        if let Some(view) = self.view {
            return Ok(Sight::View(view));
        }
        self.owner.note_read();
        if self.isolation == Isolation::ReadUncommitted {
            return Ok(Sight::Latest);
        }
        // Locks are released before their commit is durable, so the commits that this transaction has locked or written
        // upon may still be above the tide. Its view must not be older than those.
        if self.observed > self.kernel.mvcc.tide() {
            self.kernel.store.log().wait_durable(self.observed)?;
        }
        let view = self.kernel.mvcc.open_view(self.slot);
        self.view = Some(view);
        Ok(Sight::View(view))
    }

    #[inline]
    pub fn close_view(&mut self) {
        if self.view.take().is_some() {
            self.kernel.mvcc.views.close(self.slot);
        }
    }

    /// To be called before every write to a table: gives the transaction its id.
    #[inline]
    pub fn start_write_to(&mut self, table: &TableLocks) -> Result<()> {
        self.check_writable()?;
        self.intend(table, LockMode::IntentionExclusive)?;
        self.start_write()
    }

    fn check_writable(&self) -> Result<()> {
        self.check()?;
        match self.read_only || self.kernel.read_only {
            true => Err(Error::ReadOnly),
            false => Ok(()),
        }
    }

    /// Sees to it that the next change can be undone, whatever becomes of the disk.
    #[inline]
    pub fn reserve_undo(&mut self) -> Result<()> {
        let room = &self.undo_room;
        match room.owed + UNDO_AHEAD > room.held {
            true => self.reserve_more_undo(),
            false => Ok(()),
        }
    }

    /// The more there is, the more is asked for at once.
    #[cold]
    fn reserve_more_undo(&mut self) -> Result<()> {
        let bytes = (self.undo_room.owed + 2 * UNDO_AHEAD - self.undo_room.held).max(self.undo_room.held / 4);
        let reserved = self.kernel.store.reserve_undo(bytes, &|| self.check_wait());
        self.after_wait(reserved)?;
        self.undo_room.held += bytes;
        Ok(())
    }

    /// Ends a wait for room when the statement is interrupted.
    fn check_wait(&self) -> std::result::Result<(), PagesError> {
        let interrupted = |_| PagesError::Stopped("the statement was interrupted".into());
        self.check().map_err(interrupted)
    }

    fn after_wait(&self, waited: std::result::Result<(), PagesError>) -> Result<()> {
        if waited.is_err() {
            // Rather than what `check_wait` makes of it.
            self.check()?;
        }
        Ok(waited?)
    }

    /// Whether what is reserved is enough if entries of this leaf become so much shorter, which is noted then. If not, the caller
    /// lets go of the leaf, [reserves](Self::reserve_to_shrink) and comes back.
    #[inline]
    pub fn may_shrink(&mut self, leaf: PageId, bytes: usize) -> bool {
        let room = &mut self.context.undo_room;
        if room.has_most_pages {
            return true;
        }
        let pages = room.pages_after(leaf, bytes);
        if UndoRoom::with_inner(pages) > room.pages_held {
            return false;
        }
        room.owed += u64::from(pages - room.pages_owed) * SPLIT_BYTES;
        room.pages_owed = pages;
        *room.shrunk.entry(leaf).or_default() += bytes as u32;
        true
    }

    /// Reserves pages for undoing, enough that an entry can become this much shorter. To be called while nothing is latched.
    #[cold]
    pub fn reserve_to_shrink(&mut self, bytes: usize) -> Result<()> {
        let room = &self.undo_room;
        let needed = UndoRoom::with_inner(room.pages_owed + 1 + bytes as u32 / GROWTH_OF_A_PAGE + 1);
        let pages = needed.saturating_sub(room.pages_held).max(room.pages_held / 4);
        let most = UNDO_PAGES_MAX.max(self.kernel.store.file_pages() / UNDO_PAGES_SHARE);
        if room.pages_held + pages > most {
            self.undo_room.has_most_pages = true;
            return Ok(());
        }
        self.kernel.store.reserve_undo_pages(pages)?;
        self.undo_room.pages_held += pages;
        self.reserve_undo()
    }

    /// Gives back what is reserved beyond what a session keeps for its next transaction.
    fn release_undo(&mut self) {
        let room = &mut self.context.undo_room;
        room.owed = 0;
        room.pages_owed = 0;
        if !room.shrunk.is_empty() {
            room.shrunk.clear();
            room.shrunk.shrink_to(SHRUNK_KEPT);
        }
        room.has_most_pages = false;
        if room.pages_held > UNDO_PAGES_KEPT {
            self.kernel
                .store
                .release_undo_pages(room.pages_held - UNDO_PAGES_KEPT);
            room.pages_held = UNDO_PAGES_KEPT;
        }
        if room.held > UNDO_KEPT {
            self.kernel.store.release_undo(room.held - UNDO_KEPT);
            room.held = UNDO_KEPT;
        }
    }

    /// Gives the transaction its id, if it has none. Called before every change, while nothing is latched.
    pub fn start_write(&mut self) -> Result<()> {
        self.check_writable()?;
        self.reserve_undo()?;
        // Here it can be interrupted; the mini-transaction then rarely finds that it must wait.
        let room = self.kernel.store.wait_for_log_room(|| self.check_wait());
        self.after_wait(room)?;
        let delay = self.kernel.history.delay();
        if !delay.is_zero() {
            timed(Wait::PurgeLag, || std::thread::sleep(delay));
            self.check()?;
        }
        if self.id == TxnId::NONE {
            let tail = self.kernel.store.log().tail();
            self.id = self.kernel.mvcc.assign();
            self.kernel.mvcc.writers.enter(self.id, self.owner.clone(), tail);
            self.owner.begin_writing(self.id);
        }
        Ok(())
    }

    pub fn lock(&mut self, request: &RowLockRequest<'_>) -> RowLock {
        self.request(request, Materialise::Single)
    }

    /// Like [`Self::lock`], for a scan's next-key lock: see [`KeyRun`].
    pub fn lock_in_run(&mut self, request: &RowLockRequest<'_>, run: &mut KeyRun) -> RowLock {
        self.request(request, Materialise::InRun(run))
    }

    /// A lock on a gap is never waited for. `writer` is that of the entry behind it.
    pub fn lock_gap(&mut self, locks: &Arc<IndexLocks>, key: &[u8], mode: LockMode, writer: TxnId) {
        let request = RowLockRequest {
            locks,
            key,
            want: LockType::gap(mode),
            writer,
            wait: LockWait::Wait,
        };
        self.lock(&request);
    }

    /// Counts a lock structure for a row that InnoDB would lock by one, and that is locked here by its writer's id.
    #[inline]
    pub fn note_write(&mut self, locks: &IndexLocks, key: &[u8]) {
        if !self.noted.contains(&locks.index)
            && !self.kernel.locks.holds(&self.owner, locks, key, LockType::WRITE)
        {
            self.noted.push(locks.index);
            self.owner.note_structure(locks, LockType::WRITE);
        }
    }

    /// [`Self::check`], for a read that is about to lock rows: fails if there is no memory for more locks, too.
    #[inline]
    pub fn check_locking(&mut self) -> Result<()> {
        self.check()?;
        if self.kernel.locks.memory.is_full() && self.owner.has_many_locks() {
            self.doomed = true;
            return Err(Error::LockTableFull);
        }
        Ok(())
    }

    /// Takes an intention lock on a table whose rows are to be locked or changed; waits for transactions that have the
    /// table locked.
    #[inline]
    pub fn intend(&mut self, table: &TableLocks, mode: LockMode) -> Result<()> {
        let covered = |(id, has): &(TableId, LockMode)| {
            *id == table.table() && (*has == mode || *has == LockMode::IntentionExclusive)
        };
        if self.intentions.iter().any(covered) {
            return Ok(());
        }
        if !self.kernel.locks.intend(&self.owner, table, mode) {
            self.lock_table(table, mode, LockWait::Wait)?;
        }
        self.intentions.push((table.table(), mode));
        Ok(())
    }

    pub fn lock_table(&mut self, table: &TableLocks, mode: LockMode, wait: LockWait) -> Result<bool> {
        self.check()?;
        let mut waited = false;
        loop {
            let may_wait = wait == LockWait::Wait;
            let owners = || {
                self.kernel
                    .owners
                    .all()
                    .into_iter()
                    .map(|(owner, _)| owner)
                    .collect()
            };
            match self
                .kernel
                .locks
                .acquire_table(&self.owner, table, mode, may_wait, owners)
            {
                Attempt::Granted { new } => return Ok(new || waited),
                Attempt::Queued(key) => self.wait(&key)?,
                Attempt::Busy => return Err(Error::LockNoWait),
            }
            waited = true;
        }
    }

    /// Requests the exclusive lock of a row or entry for a caller that will write its own id there under the same
    /// latch, so that no object is needed.
    pub fn lock_to_write(&mut self, locks: &Arc<IndexLocks>, key: &[u8], writer: TxnId) -> RowLock {
        let request = RowLockRequest {
            locks,
            key,
            want: LockType::WRITE,
            writer,
            wait: LockWait::Wait,
        };
        self.request(&request, Materialise::No)
    }

    /// Requests permission to insert a key in front of `next`.
    pub fn lock_to_insert(&mut self, locks: &Arc<IndexLocks>, next: &[u8]) -> RowLock {
        let request = RowLockRequest {
            locks,
            key: next,
            want: LockType::INSERT,
            writer: TxnId::NONE,
            wait: LockWait::Wait,
        };
        self.request(&request, Materialise::No)
    }

    /// True if another transaction has the row locked.
    pub fn is_locked(&mut self, locks: &Arc<IndexLocks>, key: &[u8], writer: TxnId) -> bool {
        let request = RowLockRequest {
            locks,
            key,
            want: LockType::WRITE,
            writer,
            wait: LockWait::NoWait,
        };
        matches!(self.request(&request, Materialise::No), RowLock::Busy)
    }

    fn request(&mut self, request: &RowLockRequest<'_>, object: Materialise<'_>) -> RowLock {
        let RowLockRequest {
            locks,
            key,
            want,
            writer,
            wait,
        } = *request;
        let mut held = Implicit::None;
        if writer == self.id && writer != TxnId::NONE {
            if !matches!(object, Materialise::No) {
                self.note_write(locks, key);
            }
            if want.kind == LockKind::Record {
                return RowLock::Held { new: false };
            }
            held = Implicit::Own;
        } else if self.kernel.mvcc.txns.is_active(writer)
            && let Some(owner) = self.kernel.mvcc.writers.owner(writer)
        {
            held = Implicit::Other(writer, owner);
        }
        if matches!(object, Materialise::No) && locks.is_free() && !matches!(held, Implicit::Other(..)) {
            self.observe(writer);
            return RowLock::Held { new: false };
        }
        let may_wait = wait == LockWait::Wait;
        match self.kernel.locks.acquire(
            &self.owner,
            LockRequest {
                locks,
                key,
                want,
                held,
                may_wait,
            },
            object,
        ) {
            Attempt::Granted { new } => {
                self.observe(writer);
                RowLock::Held { new }
            }
            Attempt::Queued(key) => RowLock::Wait(key),
            Attempt::Busy => RowLock::Busy,
        }
    }

    /// Notes that a row written by `writer` has been locked. If the writer has ended, a view of this transaction must
    /// not be older than that end: looked up when the lock is granted, because the writer may have ended a moment ago.
    #[inline]
    fn observe(&mut self, writer: TxnId) {
        if writer != self.id
            && writer >= self.kernel.mvcc.txns.settled()
            && let Some(lsn) = self.kernel.mvcc.txns.ended(writer)
            && lsn > self.kernel.mvcc.tide()
        {
            self.observed = self.observed.max(lsn);
        }
    }

    /// Waits for a lock that [`Self::lock`] queued for.
    pub fn wait(&mut self, key: &LockKey) -> Result<()> {
        let outcome = self.kernel.locks.wait(&self.owner, key, self.timeout);
        self.doomed |= matches!(outcome, Err(Error::Deadlock));
        self.observed = self.observed.max(outcome?);
        Ok(())
    }

    /// Ends the transaction, at `lsn` if it wrote: closes its view, releases its locks, and is idle again.
    pub fn end(&mut self, lsn: Lsn) {
        self.close_view();
        self.owner.ended.store(lsn.0, Ordering::Relaxed);
        self.kernel.locks.release_all(&self.owner);
        if self.id != TxnId::NONE {
            self.kernel.mvcc.writers.leave(self.id);
            self.versions.lock().end_transaction(lsn, &self.kernel.mvcc.queue);
        }
        self.owner.end();
        self.forget_unique();
        self.intentions.clear();
        self.noted.clear();
        self.active = false;
        self.id = TxnId::NONE;
        self.last_undo = Lsn::ZERO;
        self.release_undo();
        self.observed = Lsn::ZERO;
        self.doomed = false;
        self.owner.broken.store(false, Ordering::Relaxed);
    }
}
