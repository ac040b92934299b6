//! A connection's transaction. One per connection, reused: idle → begin → … → commit or rollback → idle. It costs
//! nothing until the first read (a view) or the first write (an id).
//!
//! A commit is one record in the log. It takes effect by storing its LSN in the array of `mvcc::txns`, before the
//! record is published: from then on requests for locks find the transaction ended, and every view taken once the tide
//! has passed that LSN sees all its writes. Locks are released before the commit is durable (early lock release): a
//! transaction that then writes the same row commits later in the log, so it cannot be durable before this one; a
//! transaction that only locked the row, and so saw the commit, waits at its own end until the tide has reached it.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::ids::{Isolation, Lsn, TableId, TxnId};
use crate::kernel::Kernel;
use crate::lock::{Interrupt, LockMode, LockWait, LockWaitInfo};
use crate::log::TxnNote;
use crate::mvcc::TidePoint;
use crate::table::Table;
use crate::tally::{self, Event};
use crate::txn::{RowCounts, Txn, TxnContext};
use crate::undo;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

/// An earlier moment, for [`Transaction::see_past`].
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
    /// Changes made before it, which are part of the transaction's weight in a deadlock.
    changes: u64,
    number: u64,
}

/// A connection's transaction, from [`Engine::transaction`](crate::Engine::transaction). One object per connection or
/// thread, reused: idle → [begin](Self::begin) → reads and writes of [tables](crate::Table) →
/// [commit](Self::commit) or [rollback](Self::rollback) → idle. It costs nothing until the first read, which takes a view,
/// or the first write, which takes an id. Dropping an active transaction rolls it back.
///
/// After [`Error::Deadlock`] and [`Error::LockTableFull`] only a rollback is possible. After any other error of a statement the caller rolls back to the
/// [savepoint](Self::savepoint) it took before the statement, or as a whole.
pub struct Transaction {
    core: Arc<Core>,
    context: TxnContext,
}

impl Transaction {
    pub(crate) fn new(core: Arc<Core>) -> Transaction {
        let context = TxnContext::new(&core.kernel);
        Transaction { core, context }
    }

    /// Says that a value which brings the table's auto-increment counter to `next` will be observed once the row inserted next is
    /// in: the row's own record carries that, so that no other need.
    pub fn carry_counter(&mut self, table: TableId, next: u64) {
        self.context.buffers.counter = Some((table, next));
    }

    /// The transaction and the kernel it runs in, for one call.
    #[inline]
    pub(crate) fn txn(&mut self) -> Txn<'_> {
        Txn::new(&self.core.kernel, &mut self.context)
    }

    pub(crate) fn kernel(&self) -> &Kernel {
        &self.core.kernel
    }

    /// Starts a transaction; the last one must have ended. If that one could not be rolled back, nothing is started,
    /// and every operation fails until a [rollback](Self::rollback) succeeds.
    pub fn begin(&mut self, isolation: Isolation, read_only: bool) {
        if self.context.owner.broken.load(Ordering::Relaxed) {
            return;
        }
        debug_assert!(!self.context.active, "the last transaction has not ended");
        self.context.active = true;
        self.context.number += 1;
        self.context.isolation = isolation;
        self.context.read_only = read_only;
        self.context.owner.begin(isolation);
    }

    /// True from [`Self::begin`] to the commit or rollback.
    pub fn is_active(&self) -> bool {
        self.context.active
    }

    /// The level it was begun at.
    pub fn isolation(&self) -> Isolation {
        self.context.isolation
    }

    /// It was begun as one that may not write.
    pub fn is_read_only(&self) -> bool {
        self.context.read_only
    }

    /// `WITH CONSISTENT SNAPSHOT`: takes the view now rather than at the first read.
    pub fn consistent_snapshot(&mut self) -> Result<()> {
        if self.context.isolation >= Isolation::RepeatableRead {
            self.txn().sight()?;
        }
        Ok(())
    }

    /// Takes a view at an earlier moment, for consistent reads until the end of the transaction. Fails if it has a view,
    /// or if history does not reach back so far ([`Error::HistoryGone`]).
    pub fn see_past(&mut self, at: Moment) -> Result<()> {
        let Transaction { core, context } = self;
        let mvcc = &core.kernel.mvcc;
        if context.view.is_some() || context.isolation < Isolation::RepeatableRead {
            return Err(Error::Unsupported("a view of the past beside another view"));
        }
        if at == Moment::Lsn(mvcc.tide()) {
            Txn::new(&core.kernel, context).sight()?;
            return Ok(());
        }
        let past = match at {
            Moment::Lsn(lsn) if lsn > mvcc.tide() => None,
            Moment::Lsn(lsn) => mvcc.tides.at_position(lsn),
            Moment::Time(time) if time > SystemTime::now() => None,
            Moment::Time(time) => mvcc.tides.at(time),
        };
        // Transactions below the retention floor's id need not be looked up, and cannot be.
        let past = past.zip(mvcc.retention_floor()).map(|(past, floor)| TidePoint {
            settled: past.settled.max(floor.settled),
            ..past
        });
        context.view = past.and_then(|past| mvcc.views.open_at(context.slot, past, &mvcc.txns));
        match context.view {
            Some(_) => Ok(()),
            None => Err(Error::HistoryGone),
        }
    }

    /// Begins a statement: under READ COMMITTED and below, the next read takes a new view.
    #[inline]
    pub fn statement_begin(&mut self) {
        if self.context.isolation <= Isolation::ReadCommitted {
            self.txn().close_view();
        }
    }

    /// Ends a statement: under READ COMMITTED and below its view is closed.
    #[inline]
    pub fn statement_end(&mut self) {
        self.statement_begin();
        self.context.forget_unique();
    }

    /// How many rows it and those before it have changed, what they undid included.
    pub fn changed(&self) -> RowCounts {
        self.context.changed
    }

    /// The present point, to [roll back to](Self::rollback_to).
    pub fn savepoint(&mut self) -> Savepoint {
        Savepoint {
            undo: self.context.last_undo,
            changes: self.context.owner.changes.load(Ordering::Relaxed),
            number: self.context.number,
        }
    }

    /// Undoes all changes since the savepoint, which remains. Locks are kept.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        if savepoint.number != self.context.number || !self.context.active {
            return Err(Error::Unsupported("a savepoint of another transaction"));
        }
        let undone = undo::undo_to(&self.core, &mut self.context, savepoint.undo, true);
        self.context
            .owner
            .broken
            .store(undone.is_err(), Ordering::Relaxed);
        if undone.is_ok() {
            let owner = &self.context.owner;
            owner.changes.store(savepoint.changes, Ordering::Relaxed);
        }
        undone
    }

    /// Commits. At the default durability, returns when the commit is on disk. After an error the transaction is still
    /// active, and can only be rolled back.
    pub fn commit(&mut self) -> Result<()> {
        let kernel = &self.core.kernel;
        let txn = &mut Txn::new(kernel, &mut self.context);
        txn.check_whole()?;
        if txn.doomed {
            return Err(Error::Deadlock);
        }
        crate::failpoint::reach("commit");
        let mut durable = txn.observed;
        if txn.id != TxnId::NONE {
            let id = txn.id;
            // Urgent: what was reserved for undoing is room enough, and the end of a transaction lets the log go that it kept.
            let mut mtr = kernel.store.begin_urgent_mtr()?;
            mtr.note(TxnNote::Commit { txn: id });
            let lsn = mtr.commit_with(|end| kernel.mvcc.end(id, end));
            txn.end(lsn.end);
            tally::count(Event::Commit, 1);
            kernel.store.log().wait_durable(lsn.end)?;
            if kernel.mvcc.txns.settled() == id || id.0.is_multiple_of(16) {
                kernel.mvcc.txns.settle(kernel.mvcc.tide());
            }
            durable = Lsn::ZERO;
        } else {
            txn.end(Lsn::ZERO);
        }
        if durable > kernel.mvcc.tide() {
            kernel.store.log().wait_durable(durable)?;
        }
        Ok(())
    }

    /// Rolls back. After an error the transaction keeps its locks, and can only be rolled back once more. One that is
    /// dropped in that state is rolled back in the background as soon as that succeeds.
    pub fn rollback(&mut self) -> Result<()> {
        roll_back(&self.core, &mut self.context)
    }

    /// True if it has neither read nor locked nor written anything yet. Rolling back to a savepoint that was set in
    /// that state is, in InnoDB, rolling back the whole transaction, locks included.
    pub fn is_untouched(&self) -> bool {
        self.context.view.is_none() && self.context.id == TxnId::NONE && self.context.intentions.is_empty()
    }

    /// True if it has locked or changed rows of any table, or begun to.
    pub fn has_locked(&self) -> bool {
        !self.context.intentions.is_empty()
    }

    /// Its id; `None` until its first write.
    pub fn id(&self) -> Option<TxnId> {
        (self.context.id != TxnId::NONE).then_some(self.context.id)
    }

    /// True once it has an id.
    pub fn has_written(&self) -> bool {
        self.context.id != TxnId::NONE
    }

    /// The log position its consistent reads see, if it has a view.
    pub fn view(&self) -> Option<Lsn> {
        self.context.view.map(|view| view.lsn)
    }

    /// How long one lock is waited for before [`Error::LockWaitTimeout`]. Default: 50 seconds.
    pub fn set_lock_wait_timeout(&mut self, timeout: Duration) {
        self.context.timeout = timeout;
    }

    /// `innodb_snapshot_isolation`: changing a row that changed since the view fails ([`Error::RecordChanged`]).
    pub fn set_snapshot_isolation(&mut self, on: bool) {
        self.context.snapshot_isolation = on;
    }

    /// Locks a whole table, to the end of the transaction or until it is [unlocked](Self::unlock_table): shared or
    /// exclusively, as LOCK TABLES does, or for consecutive auto-increment values. Returns true if the lock was newly
    /// granted; the caller unlocks only in that case.
    pub fn lock_table(&mut self, table: &Table, mode: LockMode, wait: LockWait) -> Result<bool> {
        self.txn().lock_table(table.locks(), mode, wait)
    }

    /// Releases a lock that [`Self::lock_table`] newly granted.
    pub fn unlock_table(&mut self, table: &Table, mode: LockMode) {
        let locks = &self.core.kernel.locks;
        locks.release_table(&self.context.owner, table.locks(), mode);
    }

    /// The number that identifies this transaction object in [`LockInfo`](crate::LockInfo) and
    /// [`TransactionInfo`](crate::TransactionInfo): distinct per object, the same for all transactions run with it.
    pub fn owner(&self) -> u64 {
        self.context.owner.number
    }

    /// What was in the way of the latest lock that was not granted in time ([`Error::LockWaitTimeout`]), or none if that has
    /// been asked already. At most eight locks.
    pub fn take_refused(&self) -> Vec<LockWaitInfo> {
        self.context.owner.take_refused()
    }

    /// A handle by which another thread ends the running statement.
    pub fn interrupt(&self) -> Arc<Interrupt> {
        self.context.owner.interrupt.clone()
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let kernel = &self.core.kernel;
        if self.context.active
            && let Err(error) = roll_back(&self.core, &mut self.context)
        {
            ::log::error!("a transaction could not be rolled back: {error}; this will be tried again.");
            let fresh = TxnContext::new(kernel);
            let unfinished = std::mem::replace(&mut self.context, fresh);
            self.core.unfinished.lock().push(unfinished);
        }
        self.context.retire(kernel);
    }
}

fn roll_back(core: &Core, context: &mut TxnContext) -> Result<()> {
    let kernel = &core.kernel;
    Txn::new(kernel, context).close_view();
    let mut ended = Lsn::ZERO;
    if context.id != TxnId::NONE {
        context.owner.broken.store(true, Ordering::Relaxed);
        undo::undo_to(core, context, Lsn::ZERO, false)?;
        ended = undo::log_rolled_back(kernel, context.id)?;
        tally::count(Event::Rollback, 1);
    }
    Txn::new(kernel, context).end(ended);
    Ok(())
}

/// Tries again to roll back the transactions whose rollback failed and whose handle was dropped. What still cannot be
/// undone is undone at the next start.
pub(crate) fn finish_unfinished(core: &Core) {
    let unfinished = std::mem::take(&mut *core.unfinished.lock());
    for mut context in unfinished {
        match roll_back(core, &mut context) {
            Ok(()) => context.retire(&core.kernel),
            Err(_) => core.unfinished.lock().push(context),
        }
    }
}
