//! How planned statements are run: the locks and privileges of their tables, their transaction, their result; and when a plan
//! no longer serves and is made anew.

use super::Session;
use super::guard::Effect;
use crate::context::{Alarm, Counter, OkInfo, SessionState, command, status};
use crate::error::{Result, SqlError, er};
use crate::exec::{self, Outcome, Receiver};
use crate::expr::Params;
use crate::parse::ast::{LockClause, ObjectName, QueryBody, Statement, TableRef};
use crate::plan::Fit;
use crate::plan::kept::Kept;
use crate::plan::ready::ReadyPlan;
use crate::statements::stages::Stage;
use crate::types::Value;
use std::time::Duration;
use tidemark_engine::{RowCounts, failpoint};

/// How often a statement is planned anew because a definition changed under it.
const REPLANS_MAX: usize = 20;

/// Whether a plan could be run, or must be made anew.
pub(super) enum Ran {
    Done,
    Stale,
    /// It serves, but another may be better for these values.
    OtherValues,
}

impl Session {
    /// Plans and runs what a client has written; again if a definition changed between the two.
    pub(super) fn plan_and_run(
        &mut self,
        statement: &Statement,
        params: Params,
        out: &mut Receiver,
    ) -> Result<ReadyPlan> {
        self.plan_until_run(statement, params, true, out)
    }

    /// The same of a statement that was planned before.
    pub(super) fn plan_and_run_again(
        &mut self,
        statement: &Statement,
        params: Params,
        out: &mut Receiver,
    ) -> Result<ReadyPlan> {
        self.plan_until_run(statement, params, false, out)
    }

    fn plan_until_run(
        &mut self,
        statement: &Statement,
        params: Params,
        is_new: bool,
        out: &mut Receiver,
    ) -> Result<ReadyPlan> {
        for tries in 0..REPLANS_MAX {
            let mut ready = self
                .ready(statement, params)
                .inspect_err(|_| self.count_failed(statement))?;
            if is_new && tries == 0 {
                ready.plan.warn_of_deprecated(&self.state);
            }
            if let Ran::Done = self.run_ready(&mut ready, params.values, out)? {
                return Ok(ready);
            }
        }
        Err(SqlError::new(
            er::TABLE_DEF_CHANGED,
            "Table definition has changed, please retry transaction",
        ))
    }

    pub(super) fn ready(&self, statement: &Statement, params: Params) -> Result<ReadyPlan> {
        self.measure.kind.set(Some(command::of(statement)));
        failpoint::reach("plan");
        self.state.stage(Stage::Optimizing);
        // What is planned may be large, and its constant subqueries run.
        let alarm = matches!(statement, Statement::Query(_))
            .then(|| self.alarm())
            .flatten();
        let planned = self.in_time(alarm, ReadyPlan::new(statement, &self.state, params));
        planned.map_err(|error| self.read_only_first(statement, error))
    }

    /// Runs a plan that is at hand, or one made from the statement if that no longer serves.
    pub(super) fn run_kept(
        &mut self,
        kept: &mut Kept,
        statement: &Statement,
        mut params: Params,
        out: &mut Receiver,
    ) -> Result<()> {
        // What is traced is what is considered, so it is planned anew.
        if let Some(ready) = kept
            .current
            .as_mut()
            .filter(|_| !self.state.settings.trace.enabled)
        {
            let mut ran = self.run_ready(ready, params.values, out)?;
            if let Ran::OtherValues = ran {
                ran = self.run_other((ready, &mut kept.others), params.values, out)?;
            }
            match ran {
                Ran::Done => return Ok(()),
                Ran::OtherValues => params.typical = kept.wants_typical(),
                Ran::Stale => {
                    self.count_command(command::STMT_REPREPARE);
                    self.measure.is_reprepared.set(true);
                    kept.forget();
                }
            }
        } else {
            kept.forget();
        }
        kept.add(self.plan_and_run_again(statement, params, out)?);
        Ok(())
    }

    /// What is wrong with a statement that a READ ONLY transaction may not have is not looked at: error 1792.
    #[cold]
    fn read_only_first(&self, statement: &Statement, error: SqlError) -> SqlError {
        let refuses =
            self.is_read_only() && error.code != er::DBACCESS_DENIED && writes(&self.state, statement);
        match refuses {
            true => SqlError::read_only_transaction(),
            false => error,
        }
    }

    pub(super) fn run_ready(
        &mut self,
        ready: &mut ReadyPlan,
        params: &[Value],
        out: &mut Receiver,
    ) -> Result<Ran> {
        match ready.serves(&self.state, params) {
            Fit::Fits => {}
            Fit::Outgrown => return Ok(Ran::Stale),
            Fit::OtherValues => return Ok(Ran::OtherValues),
        }
        self.require_fresh_password()?;
        if !ready.is_allowed(&self.state) {
            return Ok(Ran::Stale);
        }
        let plan = &*ready.plan;
        self.admit(match (plan.writes(), plan.needs_read_write()) {
            (true, true) => Effect::Changes,
            (true, false) => Effect::ChangesTemporary,
            (false, true) => Effect::Locks,
            (false, false) => Effect::Nothing,
        })?;
        if plan.writes() {
            self.state.refuse_forced()?;
        }
        self.state.stage(Stage::OpeningTables);
        self.check_locked_uses(plan)?;
        let in_use = match ready.lock_tables(&self.state) {
            Ok(in_use) => in_use,
            Err(error) => {
                self.after_failed_lock(&error);
                return Err(error);
            }
        };
        self.state.count(Counter::HandlerExternalLock, 2 * in_use.locked);
        if !ready.is_right(&self.state) {
            // The locks just taken may be on names that are gone; a transaction keeps them, which does no harm.
            if !self.state.in_transaction.get() {
                self.state.locks.release_used();
            }
            return Ok(Ran::Stale);
        }
        let plan = &*ready.plan;
        if !matches!(out, Receiver::Value { .. }) {
            self.state.process.counters.add_command(ready.command);
        }
        self.state.stage(Stage::Executing);
        let alarm = plan.is_query().then(|| self.alarm()).flatten();
        if alarm.is_some() {
            self.state.count(Counter::MaxExecutionTimeSet, 1);
        }
        // Until it has run to its end, nothing is sent by which it would be noticed that nobody reads on.
        let timer = &self.state.database.statement_timer;
        let _watch = plan
            .is_analyzed()
            .then(|| timer.watch_client(&self.state.process));
        let changes = plan.writes() || plan.calls_programs();
        let changed = changes.then(|| self.txn.changed());
        let outcome = if in_use.any_stored || plan.calls_programs() {
            let start = match self.begin_statement(plan) {
                Ok(start) => {
                    self.state.track_uses(plan.uses(), plan.is_unsafe());
                    start
                }
                Err(error) => {
                    if !self.state.in_transaction.get() {
                        self.state.locks.release_used();
                    }
                    return Err(error);
                }
            };
            let result = exec::run(plan, (&self.state, &mut self.txn), params, out, None);
            let result = self.in_time(alarm, result);
            if let Some(before) = changed {
                self.count_changes(before);
            }
            self.end_statement(start, result)?
        } else {
            self.state.track_uses(plan.uses(), plan.is_unsafe());
            let result = exec::run(plan, (&self.state, &mut self.txn), params, out, None);
            self.in_time(alarm, result)?
        };
        self.state.stage(Stage::End);
        self.send_outcome(outcome, out)?;
        Ok(Ran::Done)
    }

    /// A metadata lock was not granted: a transaction of its own ends, a deadlock ends any.
    pub(super) fn after_failed_lock(&mut self, error: &SqlError) {
        if !self.state.in_transaction.get() {
            self.state.locks.release_used();
        } else if error.code == er::LOCK_DEADLOCK {
            self.abandon_transaction();
        }
    }

    /// The flags of the result of the statement at hand.
    pub(super) fn status(&self) -> u16 {
        let no_index = match self.state.process.counters.has_used_no_index() {
            true => status::NO_INDEX_USED,
            false => 0,
        };
        self.state.status_flags() | no_index
    }

    fn send_outcome(&mut self, outcome: Outcome, out: &mut Receiver) -> Result<()> {
        let status = self.status();
        match (outcome, out) {
            (Outcome::Rows(sent), Receiver::Sink(out)) => {
                self.state.track_rows();
                self.state.sent.set(sent);
                self.state.row_count.set(-1);
                let changes = match out.is_heard() {
                    true => self.state.take_changes_with_rows(),
                    false => Vec::new(),
                };
                // As in MySQL, the results of a program do not say how many warnings there are.
                let warnings = match self.is_in_program() {
                    true => 0,
                    false => self.state.warnings.count(),
                };
                out.end_rows(warnings, status, &changes)
            }
            (
                Outcome::Done {
                    affected_rows,
                    last_insert_id,
                    info,
                },
                Receiver::Sink(out),
            ) => {
                self.state.row_count.set(affected_rows as i64);
                if self.is_in_program() {
                    return Ok(());
                }
                out.ok(&OkInfo {
                    affected_rows,
                    last_insert_id,
                    status,
                    warnings: self.state.warnings.count(),
                    info,
                    changes: match out.is_heard() {
                        true => self.state.take_changes(),
                        false => Vec::new(),
                    },
                })
            }
            (_, Receiver::Rows(_) | Receiver::Value { .. }) => Ok(()),
        }
    }

    /// The alarm of `max_execution_time`, which bounds planning and execution each; `None` without a limit, and in programs.
    #[inline]
    fn alarm(&self) -> Option<Alarm> {
        let limit_ms = self.state.settings.max_execution_time_ms;
        (limit_ms > 0 && !self.is_in_program()).then(|| {
            let timer = &self.state.database.statement_timer;
            timer.start(&self.state.process, Duration::from_millis(limit_ms))
        })
    }

    /// An interruption by `max_execution_time` has an error of its own.
    fn in_time<T>(&self, alarm: Option<Alarm>, result: Result<T>) -> Result<T> {
        match (alarm.is_some_and(Alarm::stop), result) {
            (true, Err(error)) if error.code == er::QUERY_INTERRUPTED => {
                self.state.count(Counter::MaxExecutionTimeExceeded, 1);
                Err(SqlError::query_timeout())
            }
            (_, result) => result,
        }
    }

    /// A statement that cannot be planned is one all the same.
    pub(super) fn count_failed(&self, statement: &Statement) {
        self.state.process.counters.add_command(command::of(statement));
    }

    /// Counts the rows that a statement has changed since there were so many.
    fn count_changes(&self, before: RowCounts) {
        let now = self.txn.changed();
        if now != before {
            self.state
                .count(Counter::HandlerWrite, now.inserted - before.inserted);
            self.state
                .count(Counter::HandlerUpdate, now.updated - before.updated);
            self.state
                .count(Counter::HandlerDelete, now.deleted - before.deleted);
        }
    }
}

/// Whether a statement names a table to change or to lock for changes that is no temporary one.
fn writes(state: &SessionState, statement: &Statement) -> bool {
    let is_permanent = |name: &ObjectName| state.temporary_table(name).is_none();
    let is_written = |table: &TableRef| match table {
        TableRef::Table(table) => is_permanent(&table.name),
        TableRef::Join(_) | TableRef::Nested(_) => true,
        TableRef::Derived { .. } | TableRef::JsonTable(_) => false,
    };
    match statement {
        Statement::Insert(insert) => is_permanent(&insert.table),
        Statement::LoadData(load) => is_permanent(&load.table),
        Statement::Update(update) => update.tables.iter().any(is_written),
        Statement::Delete(delete) if delete.targets.is_empty() => delete.from.iter().any(is_written),
        Statement::Delete(delete) => delete.targets.iter().any(is_permanent),
        Statement::Query(query) => match &query.body {
            QueryBody::Select(select) => {
                let locks = |lock: &LockClause| lock.exclusive && lock.of.is_empty();
                query.locks.iter().any(locks) && select.from.iter().any(is_written)
            }
            _ => false,
        },
        _ => false,
    }
}
