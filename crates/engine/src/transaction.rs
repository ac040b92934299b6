//! A connection's transaction. One per connection, reused: idle → begin → … → commit or rollback → idle. It costs
//! nothing until the first read (a view) or the first write (an id).
//!
//! A commit is one record in the log. Storing its LSN in the array of `mvcc::txns`, before the record is published, is
//! what makes it so: from then on lockers take the transaction for ended, and every view taken once the tide has passed
//! that LSN sees all its writes. Locks go before the commit is durable (early lock release): who then writes the same
//! row commits later in the log, so not before it is durable too; who only locked it, and so saw the commit, waits for
//! the tide to reach it at its own end.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::ids::{IndexId, Lsn, TableId, TxnId};
use crate::lock::{
    Attempt, Implicit, IndexLocks, Interrupt, LockKey, LockKind, LockMode, Object, Owner, Run, TableLocks,
    Want, locks_gaps,
};
use crate::log::TxnNote;
use crate::mvcc::{Past, SlotNo, VersionBuffer, View};
use crate::table::{DuplicateLock, LockWait, RowBuf, Table, undo};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    #[default]
    RepeatableRead,
    /// As REPEATABLE READ; that plain reads lock is for the caller to ask for.
    Serializable,
}

/// An earlier moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A position in the log: what was committed at or before it.
    Lsn(Lsn),
    /// What was committed by then; the last tenth of a second may be missing.
    Time(SystemTime),
}

/// A point in a transaction that it can be rolled back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint {
    /// The last change before it.
    undo: Lsn,
    /// How many weigh.
    changes: u64,
    number: u64,
}

/// See the module's head. Dropping an active transaction rolls it back.
pub struct Transaction {
    pub(crate) core: Arc<Core>,
    pub(crate) inner: Inner,
}

/// All of a transaction but the engine it runs in.
pub(crate) struct Inner {
    pub owner: Arc<Owner>,
    pub versions: Arc<Mutex<VersionBuffer>>,
    slot: SlotNo,
    active: bool,
    read_only: bool,
    pub isolation: Isolation,
    view: Option<View>,
    /// 0 until the first write.
    pub id: TxnId,
    /// Where the note of the last change begins that is not undone.
    pub last_undo: Lsn,
    /// How many transactions there were, to tell old savepoints.
    number: u64,
    /// The newest commit whose rows were locked before it was durable.
    observed: Lsn,
    /// Chosen as a deadlock's victim: good for nothing but a rollback.
    doomed: bool,
    /// Undoing has failed half-way: good for nothing but another try at a rollback.
    broken: bool,
    keeps_unique: bool,
    /// The tables it has noted intentions about.
    intentions: Vec<(TableId, LockMode)>,
    /// The indexes in which it has noted a write.
    noted: Vec<IndexId>,
    timeout: Duration,
    pub snapshot_isolation: bool,
    /// How a row is locked that has a key which a changed row is to have.
    pub duplicates: DuplicateLock,
    pub buffers: Buffers,
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
    pub row: RowBuf,
}

/// What a read sees.
#[derive(Clone, Copy)]
pub(crate) enum Sight {
    /// READ UNCOMMITTED: whatever is there.
    Latest,
    View(View),
}

/// How asking for a row lock turned out.
pub(crate) enum RowLock {
    /// Ours. `new` if it became so just now, as an object that can be let go.
    Held {
        new: bool,
    },
    /// Let go of every latch, then [`Inner::wait`].
    Wait(LockKey),
    Busy,
}

/// A lock that is asked for, under the latch of its key's leaf.
pub(crate) struct Ask<'a> {
    pub locks: &'a Arc<IndexLocks>,
    pub key: &'a [u8],
    pub want: Want,
    /// The row's or entry's.
    pub writer: TxnId,
    pub wait: LockWait,
}

impl Transaction {
    pub(crate) fn new(core: Arc<Core>) -> Transaction {
        let inner = Inner::new(&core);
        Transaction { core, inner }
    }

    /// Starts a transaction; the last one must have ended. If it could not be rolled back, nothing is started, and
    /// whatever is tried now fails.
    pub fn begin(&mut self, isolation: Isolation, read_only: bool) {
        if self.inner.broken {
            return;
        }
        debug_assert!(!self.inner.active, "the last transaction has not ended");
        self.inner.active = true;
        self.inner.number += 1;
        self.inner.isolation = isolation;
        self.inner.read_only = read_only;
        self.inner.owner.begin(isolation);
    }

    pub fn is_active(&self) -> bool {
        self.inner.active
    }

    pub fn isolation(&self) -> Isolation {
        self.inner.isolation
    }

    /// `WITH CONSISTENT SNAPSHOT`: takes the view now rather than at the first read.
    pub fn consistent_snapshot(&mut self) -> Result<()> {
        if self.inner.isolation >= Isolation::RepeatableRead {
            self.inner.sight(&self.core)?;
        }
        Ok(())
    }

    /// Takes a view at an earlier moment, for consistent reads until the end of the transaction. Fails if it has a view,
    /// or if history does not reach back so far ([`Error::HistoryGone`]).
    pub fn see_past(&mut self, at: Moment) -> Result<()> {
        let (core, t) = (&*self.core, &mut self.inner);
        if t.view.is_some() || t.isolation < Isolation::RepeatableRead {
            return Err(Error::Unsupported("a view of the past beside another view"));
        }
        if at == Moment::Lsn(core.tide()) {
            t.sight(core)?;
            return Ok(());
        }
        let past = match at {
            Moment::Lsn(lsn) if lsn > core.tide() => None,
            Moment::Lsn(lsn) => core.tides.at_position(lsn),
            Moment::Time(time) if time > SystemTime::now() => None,
            Moment::Time(time) => core.tides.at(time),
        };
        // Who had ended when history began need not be looked up, nor can be.
        let kept = *core.kept_from.lock();
        let past = past.zip(kept).map(|(past, kept)| Past {
            settled: past.settled.max(kept.settled),
            ..past
        });
        t.view = past.and_then(|past| core.views.open_at(t.slot, past, &core.txns));
        match t.view {
            Some(_) => Ok(()),
            None => Err(Error::HistoryGone),
        }
    }

    /// Under READ COMMITTED and below, the next read takes a new view.
    #[inline]
    pub fn statement_begin(&mut self) {
        if self.inner.isolation <= Isolation::ReadCommitted {
            self.inner.close_view(&self.core);
        }
    }

    /// The statement is over: under READ COMMITTED and below its view is given up.
    #[inline]
    pub fn statement_end(&mut self) {
        self.statement_begin();
        self.inner.forget_unique();
    }

    pub fn savepoint(&mut self) -> Savepoint {
        Savepoint {
            undo: self.inner.last_undo,
            changes: self.inner.owner.changes.load(Ordering::Relaxed),
            number: self.inner.number,
        }
    }

    /// Undoes everything since; the savepoint remains. Locks are kept.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        if savepoint.number != self.inner.number || !self.inner.active {
            return Err(Error::Unsupported("a savepoint of another transaction"));
        }
        let undone = undo::undo_to(&self.core, &mut self.inner, savepoint.undo, true);
        self.inner.broken = undone.is_err();
        if undone.is_ok() {
            let owner = &self.inner.owner;
            owner.changes.store(savepoint.changes, Ordering::Relaxed);
        }
        undone
    }

    /// At the default durability, returns when the commit is on disk. If it fails, the transaction is still to be
    /// rolled back.
    pub fn commit(&mut self) -> Result<()> {
        let (core, t) = (&*self.core, &mut self.inner);
        t.check_whole()?;
        if t.doomed {
            return Err(Error::Deadlock);
        }
        let mut durable = t.observed;
        if t.id != TxnId::NONE {
            let id = t.id;
            let mut mtr = core.store.begin_mtr()?;
            mtr.note(TxnNote::Commit { txn: id });
            let lsn = mtr.commit_with(|end| core.txns.end(id, end));
            t.end(core, lsn.end);
            core.counters.own().commits.fetch_add(1, Ordering::Relaxed);
            core.store.log().wait_durable(lsn.end)?;
            if core.txns.settled() == id || id.0.is_multiple_of(16) {
                core.txns.settle(core.tide());
            }
            durable = Lsn::ZERO;
        } else {
            t.end(core, Lsn::ZERO);
        }
        if durable > core.tide() {
            core.store.log().wait_durable(durable)?;
        }
        Ok(())
    }

    /// If it fails, the transaction goes on holding its locks, and can only be rolled back once more. One that is
    /// dropped in that state is rolled back in the background as soon as that works.
    pub fn rollback(&mut self) -> Result<()> {
        self.inner.roll_back(&self.core)
    }

    /// Whether it has neither read nor locked nor written anything yet. Rolling back to a savepoint that was set while
    /// this was so is, in InnoDB, rolling back all of the transaction, locks included.
    pub fn is_untouched(&self) -> bool {
        self.inner.view.is_none() && self.inner.id == TxnId::NONE && self.inner.intentions.is_empty()
    }

    /// Whether it means to lock rows of a table, or has.
    pub fn has_locked(&self) -> bool {
        !self.inner.intentions.is_empty()
    }

    /// Its id, once it has written.
    pub fn id(&self) -> Option<TxnId> {
        (self.inner.id != TxnId::NONE).then_some(self.inner.id)
    }

    pub fn has_written(&self) -> bool {
        self.inner.id != TxnId::NONE
    }

    /// The log position its consistent reads see, if it has a view.
    pub fn view(&self) -> Option<Lsn> {
        self.inner.view.map(|view| view.lsn)
    }

    pub fn set_lock_wait_timeout(&mut self, timeout: Duration) {
        self.inner.timeout = timeout;
    }

    /// `innodb_snapshot_isolation`: changing a row that changed since the view fails ([`Error::RecordChanged`]).
    pub fn set_snapshot_isolation(&mut self, on: bool) {
        self.inner.snapshot_isolation = on;
    }

    /// Locks a whole table, to the end of the transaction or until it is [unlocked](Self::unlock_table): shared or
    /// exclusively, as LOCK TABLES does, or for auto-increment values in a row. Answers whether the lock is new: one
    /// that is not, or that a stronger one covers, is not to be unlocked.
    pub fn lock_table(&mut self, table: &Table, mode: LockMode, wait: LockWait) -> Result<bool> {
        self.inner.lock_table(&self.core, table.locks(), mode, wait)
    }

    /// Lets a new lock of [`Self::lock_table`] go.
    pub fn unlock_table(&mut self, table: &Table, mode: LockMode) {
        self.core
            .locks
            .release_table(&self.inner.owner, table.locks(), mode);
    }

    /// Distinct per connection's transaction object, and the same for all its transactions: who is meant in
    /// [`LockInfo`](crate::LockInfo) and [`TransactionInfo`](crate::TransactionInfo).
    pub fn owner(&self) -> u64 {
        self.inner.owner.number
    }

    pub fn interrupt(&self) -> Arc<Interrupt> {
        self.inner.owner.interrupt.clone()
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if self.inner.active
            && let Err(error) = self.rollback()
        {
            ::log::error!("a transaction could not be rolled back: {error}; this will be tried again.");
            let fresh = Inner::new(&self.core);
            let unfinished = std::mem::replace(&mut self.inner, fresh);
            self.core.unfinished.lock().push(unfinished);
        }
        self.inner.retire(&self.core);
    }
}

/// Tries again to roll back the transactions that were dropped when that did not work; what cannot be undone even now
/// is undone at the next start.
pub(crate) fn finish_unfinished(core: &Core) {
    let unfinished = std::mem::take(&mut *core.unfinished.lock());
    for mut inner in unfinished {
        match inner.roll_back(core) {
            Ok(()) => inner.retire(core),
            Err(_) => core.unfinished.lock().push(inner),
        }
    }
}

impl Inner {
    fn new(core: &Core) -> Inner {
        let versions = Arc::new(VersionBuffer::new());
        core.purge.add_buffer(&versions);
        let slot = core.views.acquire();
        Inner {
            owner: core.owners.add(slot),
            versions,
            slot,
            active: false,
            read_only: false,
            isolation: Isolation::default(),
            view: None,
            id: TxnId::NONE,
            last_undo: Lsn::ZERO,
            number: 0,
            observed: Lsn::ZERO,
            doomed: false,
            broken: false,
            keeps_unique: false,
            intentions: Vec::new(),
            noted: Vec::new(),
            timeout: Duration::from_secs(50),
            snapshot_isolation: false,
            duplicates: DuplicateLock::Shared,
            buffers: Buffers::default(),
        }
    }

    /// Gives back what a session has besides its transaction.
    fn retire(&self, core: &Core) {
        core.owners.remove(&self.owner);
        core.views.release(self.slot);
        let _ = self.versions.lock().retire(&core.versions());
    }

    fn roll_back(&mut self, core: &Core) -> Result<()> {
        self.close_view(core);
        let mut ended = Lsn::ZERO;
        if self.id != TxnId::NONE {
            self.broken = true;
            undo::undo_to(core, self, Lsn::ZERO, false)?;
            ended = undo::log_rolled_back(core, self.id)?;
            core.counters.own().rollbacks.fetch_add(1, Ordering::Relaxed);
        }
        self.end(core, ended);
        Ok(())
    }

    fn check_whole(&self) -> Result<()> {
        match self.broken {
            true => Err(Error::Stopped("a transaction could not be rolled back".into())),
            false => Ok(()),
        }
    }

    /// What a consistent read of this transaction sees; takes the view if there is none yet. Not under a latch.
    #[inline]
    pub fn sight(&mut self, core: &Core) -> Result<Sight> {
        if let Some(view) = self.view {
            return Ok(Sight::View(view));
        }
        self.owner.note_read();
        if self.isolation == Isolation::ReadUncommitted {
            return Ok(Sight::Latest);
        }
        // Locks are let go of before their commit is durable, so what this transaction has locked or written upon may
        // be above the tide still. A view must not be older than that.
        if self.observed > core.tide() {
            core.store.log().wait_durable(self.observed)?;
        }
        let view = core.views.open(self.slot, &core.txns, || core.tide());
        self.view = Some(view);
        Ok(Sight::View(view))
    }

    /// The view that what is locked and changed must agree with, if snapshot isolation asks for that.
    #[inline]
    pub fn view_to_keep(&self) -> Option<View> {
        let keeps = self.snapshot_isolation && self.isolation >= Isolation::RepeatableRead;
        self.view.filter(|_| keeps)
    }

    fn close_view(&mut self, core: &Core) {
        if self.view.take().is_some() {
            core.views.close(self.slot);
        }
    }

    /// Fails if the statement should not go on.
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

    /// To be called before every write to a table: gives the transaction its id.
    #[inline]
    pub fn start_write_to(&mut self, core: &Core, table: &TableLocks) -> Result<()> {
        self.check_writable(core)?;
        self.intend(core, table, LockMode::IntentionExclusive)?;
        self.start_write(core)
    }

    fn check_writable(&self, core: &Core) -> Result<()> {
        self.check()?;
        match self.read_only || core.read_only {
            true => Err(Error::ReadOnly),
            false => Ok(()),
        }
    }

    /// Gives the transaction its id, if it has none.
    pub fn start_write(&mut self, core: &Core) -> Result<()> {
        self.check_writable(core)?;
        let delay = core.history.delay();
        if !delay.is_zero() {
            std::thread::sleep(delay);
            self.check()?;
        }
        if self.id == TxnId::NONE {
            let tail = core.store.log().tail();
            self.id = core.txns.assign();
            core.writers.enter(self.id, self.owner.clone(), tail);
            self.owner.begin_writing(self.id);
        }
        Ok(())
    }

    /// A row was left as it is, which weighs as much as a change.
    pub fn touched(&mut self) {
        self.owner.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// A change was logged.
    pub fn wrote(&mut self, note: Lsn) {
        self.last_undo = note;
        self.owner.changes.fetch_add(1, Ordering::Relaxed);
    }

    pub fn lock(&mut self, core: &Core, ask: &Ask<'_>) -> RowLock {
        self.ask(core, ask, Object::Single)
    }

    /// The same for a scan's next-key lock: see [`Run`].
    pub fn lock_in_run(&mut self, core: &Core, ask: &Ask<'_>, run: &mut Run) -> RowLock {
        self.ask(core, ask, Object::Run(run))
    }

    /// A lock on a gap is never waited for. `writer` is that of the entry behind it.
    pub fn lock_gap(
        &mut self,
        core: &Core,
        locks: &Arc<IndexLocks>,
        key: &[u8],
        mode: LockMode,
        writer: TxnId,
    ) {
        let ask = Ask {
            locks,
            key,
            want: Want::gap(mode),
            writer,
            wait: LockWait::Wait,
        };
        self.lock(core, &ask);
    }

    /// A row is locked as InnoDB would lock it by an object, while here its writer's id will do.
    #[inline]
    pub fn note_write(&mut self, core: &Core, locks: &IndexLocks, key: &[u8]) {
        if !self.noted.contains(&locks.index) && !core.locks.holds(&self.owner, locks, key, Want::WRITE) {
            self.noted.push(locks.index);
            self.owner.note_structure(locks, Want::WRITE);
        }
    }

    /// Notes that rows of a table are to be locked or changed; waits for who has the table locked.
    #[inline]
    pub fn intend(&mut self, core: &Core, table: &TableLocks, mode: LockMode) -> Result<()> {
        let covered = |(id, has): &(TableId, LockMode)| {
            *id == table.table() && (*has == mode || *has == LockMode::IntentionExclusive)
        };
        if self.intentions.iter().any(covered) {
            return Ok(());
        }
        if !core.locks.intend(&self.owner, table, mode) {
            self.lock_table(core, table, mode, LockWait::Wait)?;
        }
        self.intentions.push((table.table(), mode));
        Ok(())
    }

    pub fn lock_table(
        &mut self,
        core: &Core,
        table: &TableLocks,
        mode: LockMode,
        wait: LockWait,
    ) -> Result<bool> {
        self.check()?;
        let mut waited = false;
        loop {
            let may_wait = wait == LockWait::Wait;
            let owners = || core.owners.all().into_iter().map(|(owner, _)| owner).collect();
            match core
                .locks
                .acquire_table(&self.owner, table, mode, may_wait, owners)
            {
                Attempt::Granted { new } => return Ok(new || waited),
                Attempt::Queued(key) => self.wait(core, &key)?,
                Attempt::Busy => return Err(Error::LockNoWait),
            }
            waited = true;
        }
    }

    /// Asks whether the row or entry may be written: for a caller who will make it its own under the same latch, so
    /// that the lock needs no object.
    pub fn lock_to_write(
        &mut self,
        core: &Core,
        locks: &Arc<IndexLocks>,
        key: &[u8],
        writer: TxnId,
    ) -> RowLock {
        let ask = Ask {
            locks,
            key,
            want: Want::WRITE,
            writer,
            wait: LockWait::Wait,
        };
        self.ask(core, &ask, Object::None)
    }

    /// Asks whether a new key may stand in front of `next`.
    pub fn lock_to_insert(&mut self, core: &Core, locks: &Arc<IndexLocks>, next: &[u8]) -> RowLock {
        let ask = Ask {
            locks,
            key: next,
            want: Want::INSERT,
            writer: TxnId::NONE,
            wait: LockWait::Wait,
        };
        self.ask(core, &ask, Object::None)
    }

    /// Whether somebody else has the row locked.
    pub fn is_locked(&mut self, core: &Core, locks: &Arc<IndexLocks>, key: &[u8], writer: TxnId) -> bool {
        let ask = Ask {
            locks,
            key,
            want: Want::WRITE,
            writer,
            wait: LockWait::NoWait,
        };
        matches!(self.ask(core, &ask, Object::None), RowLock::Busy)
    }

    fn ask(&mut self, core: &Core, ask: &Ask<'_>, object: Object<'_>) -> RowLock {
        let Ask {
            locks,
            key,
            want,
            writer,
            wait,
        } = *ask;
        let mut held = Implicit::Nobody;
        if writer == self.id && writer != TxnId::NONE {
            if !matches!(object, Object::None) {
                self.note_write(core, locks, key);
            }
            if want.kind == LockKind::Record {
                return RowLock::Held { new: false };
            }
            held = Implicit::Own;
        } else if core.txns.is_active(writer)
            && let Some(owner) = core.writers.owner(writer)
        {
            held = Implicit::Other(writer, owner);
        }
        if matches!(object, Object::None) && locks.is_free() && !matches!(held, Implicit::Other(..)) {
            self.meet(core, writer);
            return RowLock::Held { new: false };
        }
        let may_wait = wait == LockWait::Wait;
        match core
            .locks
            .acquire(&self.owner, locks, key, want, held, object, may_wait)
        {
            Attempt::Granted { new } => {
                self.meet(core, writer);
                RowLock::Held { new }
            }
            Attempt::Queued(key) => RowLock::Wait(key),
            Attempt::Busy => RowLock::Busy,
        }
    }

    /// What `writer` wrote has been locked. If he has ended, a view of this transaction must not be older than that:
    /// asked when the lock is granted, for he may have ended a moment ago.
    #[inline]
    fn meet(&mut self, core: &Core, writer: TxnId) {
        if writer != self.id
            && writer >= core.txns.settled()
            && let Some(lsn) = core.txns.ended(writer)
            && lsn > core.tide()
        {
            self.observed = self.observed.max(lsn);
        }
    }

    /// This statement relies on locks that keep its new keys unique.
    pub fn rely_on_unique(&mut self) {
        if !self.keeps_unique {
            self.keeps_unique = true;
            self.owner.keeps_unique.store(true, Ordering::Relaxed);
        }
    }

    #[inline]
    fn forget_unique(&mut self) {
        if self.keeps_unique {
            self.keeps_unique = false;
            self.owner.keeps_unique.store(false, Ordering::Relaxed);
        }
    }

    /// Whether this transaction's locks are on gaps, too.
    #[inline]
    pub fn locks_gaps(&self) -> bool {
        locks_gaps(self.isolation)
    }

    /// Waits for a lock that [`Self::lock`] queued for.
    pub fn wait(&mut self, core: &Core, key: &LockKey) -> Result<()> {
        let outcome = core.locks.wait(&self.owner, key, self.timeout);
        self.doomed |= matches!(outcome, Err(Error::Deadlock));
        self.observed = self.observed.max(outcome?);
        Ok(())
    }

    /// Back to idle.
    fn end(&mut self, core: &Core, lsn: Lsn) {
        self.close_view(core);
        self.owner.ended.store(lsn.0, Ordering::Relaxed);
        core.locks.release_all(&self.owner);
        if self.id != TxnId::NONE {
            core.writers.leave(self.id);
            self.versions.lock().end_transaction(lsn, &core.purge);
        }
        self.owner.end();
        self.forget_unique();
        self.intentions.clear();
        self.noted.clear();
        self.active = false;
        self.id = TxnId::NONE;
        self.last_undo = Lsn::ZERO;
        self.observed = Lsn::ZERO;
        self.doomed = false;
        self.broken = false;
    }
}
