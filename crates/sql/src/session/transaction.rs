//! How statements are put into transactions.
//!
//! With autocommit on and no BEGIN, each statement is its own transaction. Otherwise a transaction is opened by BEGIN,
//! or by the first statement that touches a table, and goes on until COMMIT, ROLLBACK or a statement that commits
//! implicitly. A statement that fails is undone by itself, except after a deadlock, or a change that the transaction's
//! view does not see (`innodb_snapshot_isolation`), which undo the transaction.
//!
//! A rollback that fails (the disk does) ends the connection: the engine finishes it later, and until then nothing may
//! begin where it left off.

use super::Session;
use super::locked::Locked;
use super::temporary::Unrolled;
use crate::context::{Answer, Counter};
use crate::ddl::temporary::free_dropped;
use crate::error::{Result, SqlError, er};
use crate::mdl::Holder;
use crate::parse::ast::{BeginOptions, ScopeKeyword, SetTransaction};
use crate::plan::StatementPlan;
use crate::statements::setup::Instrument;
use crate::statements::stages::Stage;
use crate::statements::transactions::Over;
use crate::variables::{DEFS, Setting, find, isolation_name};
use std::cell::Cell;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tidemark_engine::{COUNTED, Isolation, Lsn, Savepoint, Tick};

#[derive(Default)]
pub(super) struct TransactionState {
    /// `SET TRANSACTION`: for the next transaction only.
    next_isolation: Option<Isolation>,
    next_read_only: Option<bool>,
    savepoints: Vec<NamedSavepoint>,
    /// A statement of the open transaction has touched tables, or its view was taken.
    begun: bool,
    /// A statement of the open transaction has changed rows of permanent tables.
    wrote: bool,
    /// The view whose statement the process list knows.
    noted_view: Cell<Option<Lsn>>,
    pub unrolled: Unrolled,
    /// LOCK TABLES and FLUSH TABLES WITH READ LOCK.
    pub locked: Locked,
    /// LOCK INSTANCE FOR BACKUP
    pub instance: Option<Arc<Holder>>,
}

struct NamedSavepoint {
    name: String,
    point: Savepoint,
    metadata_locks: usize,
    /// Whether the transaction had begun for the engine.
    begun: bool,
}

/// What is needed to undo one statement.
pub(super) struct StatementStart {
    /// The statement is its own transaction.
    alone: bool,
    savepoint: Option<Savepoint>,
}

impl Session {
    /// Opens a transaction of more than one statement.
    fn open(&mut self, isolation: Isolation, read_only: bool) {
        self.start(isolation, read_only);
        self.transaction.begun = false;
        self.state.in_transaction.set(true);
        self.state.read_only_transaction.set(read_only);
        self.state.process.read_only.store(read_only, Ordering::Relaxed);
        // One that has just ended within the same statement is told of first: COMMIT AND CHAIN, BEGIN in a transaction.
        self.tell_transaction();
        if COUNTED && self.state.told().counts(Instrument::Transaction) {
            self.state.process.open_transaction(isolation, read_only);
        }
    }

    /// What is told of the transaction that ends now.
    fn over(&self, committed: bool) -> Over {
        let began = self.measure.began();
        let is_alone = !self.state.in_transaction.get();
        Over {
            txn: self.txn.id().and_then(|id| NonZeroU64::new(id.0)),
            committed,
            alone: is_alone.then(|| (began, self.txn.isolation(), self.txn.is_read_only())),
        }
    }

    /// Opens one that the engine is asked for locks in before its first statement.
    pub(super) fn open_for_locks(&mut self) {
        let (isolation, read_only) = self.take_characteristics();
        self.open(isolation, read_only);
        self.state.track_implicit_begin();
        self.transaction.begun = true;
        self.settings_of_locks();
    }

    /// Hands the engine what the session's variables say of its locks now: they may change within a
    /// transaction.
    #[inline]
    fn settings_of_locks(&mut self) {
        let settings = &self.state.settings;
        self.txn.set_lock_wait_timeout(settings.row_lock_wait_timeout);
        self.txn.set_snapshot_isolation(settings.snapshot_isolation);
    }

    fn start(&mut self, isolation: Isolation, read_only: bool) {
        self.transaction.wrote = false;
        // A READ ONLY transaction may change temporary tables, and cannot make any.
        self.txn
            .begin(isolation, read_only && self.state.temporary.is_empty());
    }

    /// The characteristics of the transaction that begins now.
    pub(super) fn take_characteristics(&mut self) -> (Isolation, bool) {
        let settings = &self.state.settings;
        (
            self.transaction
                .next_isolation
                .take()
                .unwrap_or(settings.isolation),
            self.transaction
                .next_read_only
                .take()
                .unwrap_or(settings.read_only),
        )
    }

    /// Whether what begins now, or is open, is READ ONLY.
    pub(super) fn is_read_only(&self) -> bool {
        match self.state.in_transaction.get() {
            true => self.state.read_only_transaction.get(),
            false => {
                let next = self.transaction.next_read_only;
                next.unwrap_or(self.state.settings.read_only)
            }
        }
    }

    /// Before a statement that touches tables.
    #[inline]
    pub(super) fn begin_statement(&mut self, plan: &StatementPlan) -> Result<StatementStart> {
        if self.is_read_only() && plan.needs_read_write() {
            return Err(SqlError::read_only_transaction());
        }
        let calls = plan.calls_programs();
        Ok(self.begin_work(plan.writes() || calls, plan.writes_permanent() || calls))
    }

    /// Before a statement that has no plan and reads tables.
    pub(super) fn begin_reading(&mut self) -> StatementStart {
        self.begin_work(false, false)
    }

    #[inline(always)]
    fn begin_work(&mut self, writes: bool, writes_permanent: bool) -> StatementStart {
        self.settings_of_locks();
        if !self.state.in_transaction.get() {
            let (isolation, read_only) = self.take_characteristics();
            if self.state.settings.autocommit {
                self.state.track_end();
                self.start(isolation, read_only);
                self.transaction.wrote = writes_permanent;
                self.txn.statement_begin();
                return StatementStart {
                    alone: true,
                    savepoint: None,
                };
            }
            self.open(isolation, read_only);
            self.state.track_implicit_begin();
        }
        self.transaction.wrote |= writes_permanent;
        self.transaction.begun = true;
        self.txn.statement_begin();
        let savepoint = writes.then(|| self.txn.savepoint());
        StatementStart {
            alone: false,
            savepoint,
        }
    }

    /// After it: commits a statement of its own, undoes one that failed.
    #[inline]
    pub(super) fn end_statement<T>(&mut self, start: StatementStart, result: Result<T>) -> Result<T> {
        match result {
            Ok(value) if start.alone => {
                if let Err(error) = self.may_commit() {
                    self.abandon_transaction();
                    return Err(error);
                }
                self.state.stage(Stage::Commit);
                self.transaction_over(self.over(true));
                let committed = self.commit_timed();
                self.state.count(Counter::HandlerCommit, 1);
                self.release_metadata_locks();
                match committed {
                    Ok(()) => Ok(value),
                    Err(error) => {
                        self.transaction_not_over();
                        self.abandon_transaction();
                        Err(error.into())
                    }
                }
            }
            Ok(value) => {
                self.txn.statement_end();
                Ok(value)
            }
            Err(error) => Err(self.undo_statement(start, error)),
        }
    }

    /// Undoes a statement that failed, with its transaction where the error says so; returns the error for the client.
    #[cold]
    fn undo_statement(&mut self, start: StatementStart, error: SqlError) -> SqlError {
        let timed_out = error.code == er::LOCK_WAIT_TIMEOUT && self.rolls_back_on_timeout();
        let lost = matches!(
            error.code,
            er::LOCK_DEADLOCK | er::LOCK_TABLE_FULL | er::RECORD_CHANGED
        );
        if start.alone || timed_out || lost {
            self.abandon_transaction();
            return error;
        }
        if let Some(savepoint) = start.savepoint
            && let Err(cause) = self.txn.rollback_to(&savepoint)
        {
            log::error!(
                "a statement failed and could not be undone ({cause}): {}",
                error.message
            );
            return self.give_up(cause.into());
        }
        self.txn.statement_end();
        error
    }

    /// Ends the transaction and the connection after a part of it could not be undone; returns the error for the client.
    ///
    /// What the transaction did before is gone, too. No error number says so: in a connection that went on, later statements
    /// would be committed without the earlier ones.
    fn give_up(&mut self, cause: SqlError) -> SqlError {
        self.abandon_transaction();
        self.released = true;
        cause
    }

    fn rolls_back_on_timeout(&self) -> bool {
        let globals = self.state.database.globals();
        globals
            .by_name("innodb_rollback_on_timeout")
            .is_some_and(|setting| setting.as_bool())
    }

    fn release_metadata_locks(&self) {
        self.state.locks.release_used();
    }

    /// Leaves the transaction, whatever its state.
    fn close(&mut self) {
        self.state.in_transaction.set(false);
        self.state.read_only_transaction.set(false);
        self.state.track_end();
        self.transaction.savepoints.clear();
        if self.transaction.noted_view.take().is_some() {
            self.state.process.forget_view();
        }
        self.state.process.read_only.store(false, Ordering::Relaxed);
        self.transaction.unrolled = Unrolled::default();
        free_dropped(&self.state);
        self.release_metadata_locks();
    }

    /// Rolls back and ignores errors: the client has been sent one already, or is gone.
    pub(super) fn abandon_transaction(&mut self) {
        if self.state.in_transaction.get() || self.txn.is_active() {
            let over = self.over(false);
            self.transaction_over(over);
        }
        let _ = self.roll_back();
        self.close();
    }

    fn roll_back(&mut self) -> Result<()> {
        if !self.txn.is_active() {
            return Ok(());
        }
        self.state.count(Counter::HandlerRollback, 1);
        let rolled_back = self.txn.rollback();
        if rolled_back.is_err() {
            self.released = true;
            self.state.temporary.leave();
        }
        Ok(rolled_back?)
    }

    /// Commits the open transaction, if any: COMMIT, and statements that commit implicitly.
    pub(super) fn commit_open(&mut self) -> Result<()> {
        if !self.state.in_transaction.get() {
            return Ok(());
        }
        let over = self.over(true);
        let committed = self.may_commit().and_then(|()| Ok(self.commit_timed()?));
        self.state.count(Counter::HandlerCommit, 1);
        if committed.is_err() {
            let _ = self.roll_back();
        }
        self.transaction_over(Over {
            committed: committed.is_ok(),
            ..over
        });
        self.close();
        committed
    }

    /// Commits in the engine, and counts how long that took if there was anything to write.
    #[inline]
    fn commit_timed(&mut self) -> tidemark_engine::Result<()> {
        let began = (COUNTED && self.txn.has_written()).then(Tick::now);
        let committed = self.txn.commit();
        if let Some(began) = began {
            let nanos = Tick::now().nanos_since(began);
            self.state.process.counters.add_commit(nanos);
        }
        committed
    }

    /// A statement is over: if it has opened the open transaction's view, that is noted.
    #[inline]
    pub(super) fn note_view(&self) {
        if !self.state.in_transaction.get() {
            return;
        }
        let view = self.txn.view();
        if let Some(view) = view
            && self.transaction.noted_view.replace(Some(view)) != Some(view)
        {
            self.state.process.note_view(view);
        }
    }

    /// Error 1290 for changes made before the server became read-only.
    #[inline]
    fn may_commit(&self) -> Result<()> {
        if self.state.database.modes.are_off() || !(self.transaction.wrote && self.txn.has_written()) {
            return Ok(());
        }
        self.state.refuse_read_only()
    }

    fn rollback_open(&mut self) -> Result<()> {
        if !self.state.in_transaction.get() {
            return Ok(());
        }
        let over = self.over(false);
        self.transaction_over(over);
        let rolled_back = self.roll_back();
        self.close();
        rolled_back
    }

    pub(super) fn begin(&mut self, options: &BeginOptions) -> Result<Answer> {
        // As in MySQL, what is begun within a transaction is of the kind of that one, which it commits.
        let of_open = self.state.in_transaction.get();
        let of_open = of_open.then(|| (self.txn.isolation(), self.state.read_only_transaction.get()));
        self.commit_open()?;
        self.unlock_listed_tables();
        let like_last = of_open.is_some();
        let (isolation, read_only) = of_open.unwrap_or_else(|| self.take_characteristics());
        self.open(isolation, options.read_only.unwrap_or(read_only));
        self.state
            .track_begin(options.read_only, options.consistent_snapshot, like_last);
        if options.consistent_snapshot {
            if isolation == Isolation::RepeatableRead || isolation == Isolation::Serializable {
                self.transaction.begun = true;
                self.txn.consistent_snapshot()?;
            } else {
                self.state.warnings.warn(SqlError::new(
                    er::WARN_SNAPSHOT_ISOLATION,
                    "InnoDB: WITH CONSISTENT SNAPSHOT was ignored because this phrase can only be used with REPEATABLE \
                     READ isolation level.",
                ));
            }
        }
        Ok(Answer::ok())
    }

    pub(super) fn commit(&mut self, chain: bool, release: bool) -> Result<Answer> {
        let same = (self.txn.isolation(), self.state.read_only_transaction.get());
        self.transaction.unrolled = Unrolled::default();
        self.commit_open()?;
        self.after_end(chain, release, same);
        Ok(Answer::ok())
    }

    pub(super) fn rollback(&mut self, chain: bool, release: bool) -> Result<Answer> {
        let same = (self.txn.isolation(), self.state.read_only_transaction.get());
        let unrolled = std::mem::take(&mut self.transaction.unrolled);
        self.rollback_open()?;
        self.warn_of_unrolled(unrolled);
        self.after_end(chain, release, same);
        Ok(Answer::ok())
    }

    fn after_end(&mut self, chain: bool, release: bool, (isolation, read_only): (Isolation, bool)) {
        self.forget_characteristics();
        let completion = self.state.settings.completion_type;
        if chain || (completion == 1 && !release) {
            self.open(isolation, read_only);
            self.state.track_begin(None, false, true);
        }
        if release || (completion == 2 && !chain) {
            self.released = true;
        }
    }

    pub(super) fn savepoint(&mut self, name: &str) -> Result<Answer> {
        if !self.state.in_transaction.get() {
            if self.state.settings.autocommit {
                // The savepoint's transaction would end with this statement.
                return Ok(Answer::ok());
            }
            let (isolation, read_only) = self.take_characteristics();
            self.open(isolation, read_only);
            self.state.track_implicit_begin();
        }
        let point = self.txn.savepoint();
        self.state.count(Counter::HandlerSavepoint, 1);
        self.state
            .process
            .with_open_transaction(|open| open.savepoints = open.savepoints.saturating_add(1));
        let metadata_locks = self.state.locks.used_count();
        self.transaction
            .savepoints
            .retain(|saved| !saved.name.eq_ignore_ascii_case(name));
        self.transaction.savepoints.push(NamedSavepoint {
            name: name.to_owned(),
            point,
            metadata_locks,
            begun: self.transaction.begun,
        });
        Ok(Answer::ok())
    }

    /// Back to a savepoint from before the transaction began for the engine: for it the transaction ends here, with its
    /// locks and its view, and a new one begins.
    fn begin_again(&mut self) -> Result<()> {
        let isolation = self.txn.isolation();
        self.roll_back()?;
        self.start(isolation, self.state.read_only_transaction.get());
        self.transaction.begun = false;
        let point = self.txn.savepoint();
        let older = self.transaction.savepoints.iter_mut();
        older.for_each(|saved| saved.point = point);
        Ok(())
    }

    fn savepoint_position(&self, name: &str) -> Result<usize> {
        let found = self
            .transaction
            .savepoints
            .iter()
            .position(|saved| saved.name.eq_ignore_ascii_case(name));
        found.ok_or_else(|| SqlError::savepoint_missing(name))
    }

    pub(super) fn rollback_to(&mut self, name: &str) -> Result<Answer> {
        let at = self.savepoint_position(name)?;
        let saved = &self.transaction.savepoints[at];
        let (locks, point) = (saved.metadata_locks, saved.point);
        self.state.count(Counter::HandlerSavepointRollback, 1);
        self.state
            .process
            .with_open_transaction(|open| open.rolled_back_to = open.rolled_back_to.saturating_add(1));
        let rolled_back = match saved.begun {
            true => self.txn.rollback_to(&point).map_err(SqlError::from),
            false => self.begin_again(),
        };
        if let Err(error) = rolled_back {
            return Err(self.give_up(error));
        }
        self.transaction.savepoints.truncate(at + 1);
        if !self.txn.has_locked() {
            self.state.locks.release_used_after(locks);
        }
        self.warn_of_unrolled(self.transaction.unrolled);
        Ok(Answer::ok())
    }

    pub(super) fn release_savepoint(&mut self, name: &str) -> Result<Answer> {
        let at = self.savepoint_position(name)?;
        self.transaction.savepoints.truncate(at);
        self.state
            .process
            .with_open_transaction(|open| open.released = open.released.saturating_add(1));
        Ok(Answer::ok())
    }

    /// Characteristics of the next transaction alone; error 1568 within one.
    pub(super) fn set_next_transaction(
        &mut self,
        isolation: Option<Isolation>,
        read_only: Option<bool>,
    ) -> Result<()> {
        if self.state.in_transaction.get() {
            return Err(SqlError::transaction_in_progress());
        }
        let next = &mut self.transaction;
        next.next_isolation = isolation.or(next.next_isolation);
        next.next_read_only = read_only.or(next.next_read_only);
        self.state.track_next(isolation, read_only);
        Ok(())
    }

    /// What was said of the next transaction does not hold any more: a statement that commits has been there in its place.
    pub(super) fn forget_characteristics(&mut self) {
        self.transaction.next_isolation = None;
        self.transaction.next_read_only = None;
        if !self.state.in_transaction.get() {
            self.state.track_end();
        }
    }

    /// `SET [GLOBAL|SESSION] TRANSACTION …`
    pub(super) fn set_transaction(&mut self, set: &SetTransaction) -> Result<Answer> {
        let isolation = set.isolation.map(|level| {
            use crate::parse::ast::IsolationLevel;
            match level {
                IsolationLevel::ReadUncommitted => Isolation::ReadUncommitted,
                IsolationLevel::ReadCommitted => Isolation::ReadCommitted,
                IsolationLevel::RepeatableRead => Isolation::RepeatableRead,
                IsolationLevel::Serializable => Isolation::Serializable,
            }
        });
        match set.scope {
            None => self.set_next_transaction(isolation, set.read_only)?,
            Some(scope) => {
                let global = scope != ScopeKeyword::Session;
                let mut put = |name: &str, setting: Setting| {
                    let at = find(name).expect("the variable is in the registry");
                    debug_assert_eq!(DEFS[at].name, name);
                    self.put_variable(at, global, setting)
                };
                if let Some(isolation) = isolation {
                    put("transaction_isolation", Setting::text(isolation_name(isolation)))?;
                }
                if let Some(read_only) = set.read_only {
                    put("transaction_read_only", Setting::Bool(read_only))?;
                }
            }
        }
        Ok(Answer::ok())
    }
}
