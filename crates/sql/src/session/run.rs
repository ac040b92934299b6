//! A text of statements, one after the other: parsed, or recognised by their shape and run from a cached plan; what each
//! kind of statement leads to; how planned statements are run.

use super::answer::{Answer, Done, ok_info};
use super::planned::{Outcome, Planned};
use super::timer::Alarm;
use super::{OkInfo, ResultSink, Session, capability, command, status};
use crate::dictionary::TableDef;
use crate::error::{Result, SqlError, er};
use crate::expr::WarningLevel;
use crate::parse::ast::{Expr, MaintenanceKind, QueryBody, SelectItem, ShowKind, Statement};
use crate::parse::shape::Shape;
use crate::parse::{Parsed, parse, parse_shape};
use crate::plan::plan;
use crate::types::Value;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Plans kept by a session. A session that runs more different statements than that starts over.
const PLANS_MAX: usize = 400;
/// How often a statement is planned anew because a definition changed under it.
const REPLANS_MAX: usize = 20;

/// A plan and what it was made for.
pub(super) struct ReadyPlan {
    pub plan: Box<dyn Planned>,
    /// The dictionary's epoch it was planned at.
    epoch: u64,
    /// The accounts' version at which its privileges were checked; 0: not yet.
    allowed_at: u64,
    command: usize,
    /// It was made for the parameters that it will run with first.
    pub fresh: bool,
}

/// Plans by the shape of their statements. They depend on the current database and on what types depend on, so that
/// the session forgets them all when one of these changes.
#[derive(Default)]
pub(super) struct PlanCache {
    shape: Shape,
    values: Vec<Value>,
    index: HashMap<Box<[u8]>, usize>,
    plans: Vec<Option<ReadyPlan>>,
}

impl PlanCache {
    pub fn clear(&mut self) {
        self.index.clear();
        self.plans.clear();
    }

    fn add(&mut self, plan: ReadyPlan) {
        if self.plans.len() >= PLANS_MAX {
            self.clear();
        }
        self.index.insert(self.shape.key().into(), self.plans.len());
        self.plans.push(Some(plan));
    }
}

/// Whether a plan could be run, or must be made anew.
enum Ran {
    Done,
    Stale,
}

impl Session {
    pub(super) fn run_text(&mut self, sql: &[u8], out: &mut dyn ResultSink) -> Result<()> {
        let mut start = 0;
        loop {
            self.count_question();
            let next = self
                .run_next(sql, start, out)
                .inspect_err(|error| self.note_error(error))?;
            if next >= sql.len() {
                return Ok(());
            }
            start = next;
            if self.state.process.is_interrupted() {
                return Err(SqlError::interrupted());
            }
        }
    }

    fn count_question(&mut self) {
        self.state
            .database
            .counters()
            .traffic
            .own()
            .questions
            .fetch_add(1, Ordering::Relaxed);
        self.state.statement_id.set(self.state.statement_id.get() + 1);
        self.state.read_clock();
    }

    pub(super) fn note_error(&self, error: &SqlError) {
        self.state.warnings.push(WarningLevel::Error, error.clone());
        self.state.error_count.set(self.state.error_count.get() + 1);
        self.state.row_count.set(-1);
    }

    pub(super) fn clear_diagnostics(&self) {
        self.state.warnings.clear();
        self.state.error_count.set(0);
    }

    /// Runs the statement that begins at `start`; answers where the next one begins.
    fn run_next(&mut self, sql: &[u8], start: usize, out: &mut dyn ResultSink) -> Result<usize> {
        let mode = self.state.settings.sql_mode;
        if self.plans.shape.scan(sql, start, mode) {
            let next = self.plans.shape.next();
            self.check_multi(sql, next)?;
            self.plans.shape.values(sql, mode, &mut self.plans.values);
            if let Some(&at) = self.plans.index.get(self.plans.shape.key())
                && let Some(mut ready) = self.plans.plans[at].take()
            {
                self.clear_diagnostics();
                let values = std::mem::take(&mut self.plans.values);
                let ran = self.run_ready(&mut ready, &values, next < sql.len(), out);
                self.plans.values = values;
                if let Some(slot) = self.plans.plans.get_mut(at) {
                    *slot = Some(ready);
                }
                if let Ran::Done = ran? {
                    return Ok(next);
                }
                self.plans.plans[at] = None;
                self.plans.index.remove(self.plans.shape.key());
            }
            let parsed = parse_shape(sql, start, mode, self.plans.shape.offsets());
            if let Ok(parsed) = parsed
                && !parsed.needs_literal
                && is_planned(&parsed.statement)
                && !keeps_diagnostics(&parsed.statement)
            {
                self.run_shaped(&parsed, next < sql.len(), out)?;
                return Ok(next);
            }
        }
        let parsed = parse(sql, start, mode)?;
        self.check_multi(sql, parsed.next)?;
        if parsed.param_count > 0 {
            return Err(SqlError::syntax("?", 1));
        }
        let more = parsed.next < sql.len();
        if matches!(parsed.statement, Statement::Empty) {
            // Nothing but comments: fine after a statement, an error by itself.
            if start == 0 && !more {
                self.clear_diagnostics();
                return Err(SqlError::empty_query());
            }
            return Ok(parsed.next);
        }
        self.run_statement(&parsed.statement, more, out)?;
        Ok(parsed.next)
    }

    /// A second statement needs the client's leave.
    fn check_multi(&self, sql: &[u8], next: usize) -> Result<()> {
        if next < sql.len() && self.state.info.capabilities & capability::MULTI_STATEMENTS == 0 {
            let rest = String::from_utf8_lossy(&sql[next..]);
            if !rest.trim().is_empty() {
                return Err(SqlError::syntax(rest.trim_start(), 1));
            }
        }
        Ok(())
    }

    /// Plans a statement whose literals are parameters, runs the plan and keeps it.
    fn run_shaped(&mut self, parsed: &Parsed, more: bool, out: &mut dyn ResultSink) -> Result<()> {
        self.clear_diagnostics();
        let values = std::mem::take(&mut self.plans.values);
        let result = self.plan_and_run(&parsed.statement, &values, more, out);
        self.plans.values = values;
        let ready = result?;
        self.plans.add(ready);
        Ok(())
    }

    /// Plans and runs; again if a definition changed between the two.
    pub(super) fn plan_and_run(
        &mut self,
        statement: &Statement,
        params: &[Value],
        more: bool,
        out: &mut dyn ResultSink,
    ) -> Result<ReadyPlan> {
        for _ in 0..REPLANS_MAX {
            let mut ready = self.ready(statement, params)?;
            if let Ran::Done = self.run_ready(&mut ready, params, more, out)? {
                return Ok(ready);
            }
        }
        Err(SqlError::new(
            er::TABLE_DEF_CHANGED,
            "Table definition has changed, please retry transaction",
        ))
    }

    pub(super) fn ready(&self, statement: &Statement, params: &[Value]) -> Result<ReadyPlan> {
        let epoch = self.state.database.dictionary().epoch();
        Ok(ReadyPlan {
            plan: plan(statement, &self.state, params)?,
            epoch,
            allowed_at: 0,
            command: command::of(statement),
            fresh: true,
        })
    }

    /// Runs a plan that is at hand, or one made from the statement if that no longer serves.
    pub(super) fn run_kept(
        &mut self,
        kept: &mut Option<ReadyPlan>,
        statement: &Statement,
        params: &[Value],
        out: &mut dyn ResultSink,
    ) -> Result<()> {
        if let Some(ready) = kept
            && let Ran::Done = self.run_ready(ready, params, false, out)?
        {
            return Ok(());
        }
        *kept = None;
        *kept = Some(self.plan_and_run(statement, params, false, out)?);
        Ok(())
    }

    fn run_ready(
        &mut self,
        ready: &mut ReadyPlan,
        params: &[Value],
        more: bool,
        out: &mut dyn ResultSink,
    ) -> Result<Ran> {
        let database = &self.state.database;
        // A plan that has never run was made for these parameters.
        let fits = ready.fresh || ready.plan.fits(params);
        ready.fresh = false;
        if ready.epoch != database.dictionary().epoch() || !fits {
            return Ok(Ran::Stale);
        }
        let plan = &*ready.plan;
        let accounts_now = database.accounts.version();
        if ready.allowed_at != accounts_now {
            self.check_privileges(plan)?;
            ready.allowed_at = accounts_now;
        }
        let mut stored = false;
        for used in plan.uses() {
            if used.table.is_virtual() {
                continue;
            }
            stored = true;
            self.check_locked_tables(used)?;
            let locks = &self.state.locks;
            let locked = self
                .state
                .with_patience(|patience| locks.use_table(&used.table.lock, used.mode, patience));
            if let Err(error) = locked {
                self.after_failed_lock(&error);
                return Err(error);
            }
        }
        let database = &self.state.database;
        if ready.epoch != database.dictionary().epoch() {
            // The locks just taken may be on names that are gone; a transaction keeps them, which does no harm.
            if !self.state.in_transaction.get() {
                self.state.locks.release_used();
            }
            return Ok(Ran::Stale);
        }
        database.counters().traffic.own().commands[ready.command].fetch_add(1, Ordering::Relaxed);
        let limit_ms = self.state.settings.max_execution_time_ms;
        let alarm = (limit_ms > 0 && plan.is_query()).then(|| {
            let timer = &self.state.database.statement_timer;
            timer.start(&self.state.process, Duration::from_millis(limit_ms))
        });
        let outcome = if stored {
            let start = match self.begin_statement(plan) {
                Ok(start) => start,
                Err(error) => {
                    if !self.state.in_transaction.get() {
                        self.state.locks.release_used();
                    }
                    return Err(error);
                }
            };
            let result = plan.run(&self.state, &mut self.txn, params, out);
            let result = in_time(alarm, result);
            self.end_statement(start, result)?
        } else {
            in_time(alarm, plan.run(&self.state, &mut self.txn, params, out))?
        };
        self.send_outcome(outcome, more, out)?;
        Ok(Ran::Done)
    }

    /// A metadata lock was not granted: a transaction of its own ends, a deadlock ends any.
    fn after_failed_lock(&mut self, error: &SqlError) {
        if !self.state.in_transaction.get() {
            self.state.locks.release_used();
        } else if error.code == er::LOCK_DEADLOCK {
            self.abandon_transaction();
        }
    }

    fn check_privileges(&self, plan: &dyn Planned) -> Result<()> {
        for used in plan.uses() {
            let command = privilege_name(used.privileges);
            let table = &used.table;
            self.state
                .require_table(used.privileges, command, &table.schema, &table.name)?;
        }
        Ok(())
    }

    pub(super) fn status_with(&self, more: bool) -> u16 {
        let more = if more { status::MORE_RESULTS_EXISTS } else { 0 };
        self.state.status_flags() | more
    }

    fn send_outcome(&mut self, outcome: Outcome, more: bool, out: &mut dyn ResultSink) -> Result<()> {
        let status = self.status_with(more);
        match outcome {
            Outcome::Rows(_) => {
                self.state.row_count.set(-1);
                out.end_rows(self.state.warnings.count(), status)
            }
            Outcome::Done {
                affected_rows,
                last_insert_id,
                info,
            } => {
                self.state.row_count.set(affected_rows as i64);
                out.ok(&OkInfo {
                    affected_rows,
                    last_insert_id,
                    status,
                    warnings: self.state.warnings.count(),
                    info,
                })
            }
        }
    }

    /// Runs a parsed statement and sends its result.
    pub(super) fn run_statement(
        &mut self,
        statement: &Statement,
        more: bool,
        out: &mut dyn ResultSink,
    ) -> Result<()> {
        if !keeps_diagnostics(statement) {
            self.clear_diagnostics();
        }
        if is_planned(statement) {
            return self.plan_and_run(statement, &[], more, out).map(drop);
        }
        if let Statement::Execute { name, using } = statement {
            return self.execute_text(name, using, more, out);
        }
        let command = command::of(statement);
        self.state.database.counters().traffic.own().commands[command].fetch_add(1, Ordering::Relaxed);
        let answer = self.answer(statement)?;
        let status = self.status_with(more);
        match answer {
            Answer::Ok(done) => {
                self.state.row_count.set(done.affected_rows as i64);
                out.ok(&ok_info(&self.state, &done, status))
            }
            Answer::Rows(rows) => {
                self.state.row_count.set(-1);
                self.state.found_rows.set(rows.rows.len() as u64);
                rows.send(&self.state, status, out)
            }
        }
    }

    /// Everything that is not planned.
    fn answer(&mut self, statement: &Statement) -> Result<Answer> {
        if crate::ddl::is_ddl(statement) {
            self.before_implicit_commit(statement)?;
            if let Statement::TableMaintenance { kind, tables } = statement {
                let may = |table: &TableDef| self.check_locked_maintenance(*kind, table);
                return self.with_definitions(|state| crate::ddl::maintain(state, *kind, tables, &may));
            }
            self.check_locked_definitions(statement)?;
            let answer = self.with_definitions(|state| crate::ddl::execute(state, statement))?;
            self.after_ddl(statement);
            return Ok(answer);
        }
        if crate::accounts::statements::is_account_statement(statement) {
            self.before_implicit_commit(statement)?;
            return self.with_definitions(|state| crate::accounts::statements::execute(state, statement));
        }
        match statement {
            Statement::Begin(options) => self.begin(options),
            Statement::Commit { chain, release } => self.commit(*chain, *release),
            Statement::Rollback { chain, release } => self.rollback(*chain, *release),
            Statement::Savepoint(name) => self.savepoint(name),
            Statement::RollbackTo(name) => self.rollback_to(name),
            Statement::ReleaseSavepoint(name) => self.release_savepoint(name),
            Statement::SetTransaction(set) => self.set_transaction(set),
            Statement::Set(items) => self.set(items),
            Statement::Use(name) => self.change_database(name).map(|()| Answer::ok()),
            Statement::Show(show) => crate::show::show(&self.state, show).map(Answer::Rows),
            Statement::Describe { table, column } => {
                crate::show::describe(&self.state, table, column.as_deref()).map(Answer::Rows)
            }
            Statement::Prepare { name, source } => self.prepare_text(name, source),
            Statement::Deallocate(name) => self.deallocate(name),
            Statement::Kill { id, query_only } => self.kill(id, *query_only),
            Statement::Flush(options) => self.flush(options),
            Statement::LockTables(tables) => self.lock_tables(tables),
            Statement::UnlockTables => {
                self.unlock_tables_statement()?;
                Ok(Answer::Ok(Done::default()))
            }
            Statement::Unsupported(what) => Err(SqlError::not_supported(what)),
            _ => Err(SqlError::not_supported("this statement")),
        }
    }

    fn before_implicit_commit(&mut self, statement: &Statement) -> Result<()> {
        self.commit_open()?;
        let only_reads = matches!(statement, Statement::TableMaintenance { kind, .. } if *kind != MaintenanceKind::Optimize);
        if self.state.settings.read_only && !only_reads {
            return Err(SqlError::read_only_transaction());
        }
        Ok(())
    }

    /// A dropped current database is no longer current.
    fn after_ddl(&mut self, statement: &Statement) {
        if let Statement::DropDatabase { name, .. } = statement
            && self.state.schema.as_deref() == Some(name)
        {
            self.state.schema = None;
            self.state.process.set_schema(None);
            self.plans.clear();
        }
    }
}

/// An interruption by `max_execution_time` has an error of its own.
fn in_time<T>(alarm: Option<Alarm>, result: Result<T>) -> Result<T> {
    match (alarm.is_some_and(Alarm::stop), result) {
        (true, Err(error)) if error.code == er::QUERY_INTERRUPTED => Err(SqlError::query_timeout()),
        (_, result) => result,
    }
}

pub(super) fn is_planned(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Do(_)
            | Statement::Explain(_)
    )
}

/// SHOW WARNINGS and its like look at the diagnostics of the statement before.
fn keeps_diagnostics(statement: &Statement) -> bool {
    match statement {
        Statement::Show(show) => matches!(
            show.what,
            ShowKind::Warnings { .. } | ShowKind::Errors { .. } | ShowKind::CountWarnings | ShowKind::CountErrors
        ),
        Statement::Query(query) => match &query.body {
            QueryBody::Select(select) if select.from.is_empty() => select.items.iter().any(|item| {
                matches!(
                    item,
                    SelectItem::Expr { expr: Expr::SysVar { name, .. }, .. }
                        if name.eq_ignore_ascii_case("warning_count") || name.eq_ignore_ascii_case("error_count")
                )
            }),
            _ => false,
        },
        _ => false,
    }
}

/// What error 1142 calls the missing privilege.
fn privilege_name(privileges: crate::accounts::Privileges) -> &'static str {
    let found = crate::accounts::privilege::ALL
        .iter()
        .find(|(set, _, _)| privileges.intersects(*set));
    found.map_or("SELECT", |(_, name, _)| name)
}
