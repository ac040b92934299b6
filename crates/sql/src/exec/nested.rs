//! Statements inside a running statement: the bodies of stored functions, and of triggers.
//!
//! Such a statement belongs to the transaction of the one around it, and is planned and run below the session. It has the
//! statement's [`Diagnostics`](crate::context::Diagnostics) pushed around it, commits nothing and sends nothing.
//!
//! **How it gets the transaction.** The executor has one `&mut Transaction`, which operators share through a `RefCell` and borrow for one
//! call of the engine: a pass over a range, the read of a key, the change of one row. While a call goes on, a leaf may be latched.
//!
//! ```text
//!   pass over a range  ──borrow──▶ filter, projection under the latch ──▶ rows copied into a batch ──release──▶ the rest of the plan
//! ```
//!
//! An expression that runs statements, by a subquery or a function, is evaluated after the release only: the planner takes nothing for safe
//! under a latch that has one (`plan::walk::has_subquery`), and changes of rows in place are not chosen then. So when a function is called
//! the transaction is free: what the outer statement keeps is a batch of copied rows, the key where its scan goes on, row locks and the
//! statement's view. None of it hinders, and none is invalidated by, what the inner statement does: a scan that goes on after a change of its own transaction
//! sees it, as every scan does that changes rows on its way. The borrow is tried rather than taken for granted, so that an expression which is
//! evaluated in the wrong place ends in an error and not in a latch that waits for itself. A row hook of the row writer is called between two
//! calls of the engine and has the `&mut Transaction` in its hand.
//!
//! **The view.** Under READ COMMITTED the inner statement keeps the view of the outer one, as in InnoDB: it does not begin a statement for the
//! engine. What it reads without a locking clause is locked if the outer statement locks what it reads ([`Purpose`]).
//!
//! **Tables of statements outside** are not changed: error 1442. So no scan goes on over rows that a function puts in its way.
//!
//! **Errors.** Each inner statement is undone to its own savepoint when it fails. What then becomes of the outer one is decided by what called
//! it: a handler goes on, otherwise the outer statement fails and is undone to its savepoint, which it takes if it calls programs.

use super::statement::{self, Outcome, Receiver};
use super::{Exec, Purpose};
use crate::context::{ResultSink, SessionState, TableUse};
use crate::error::depth::check_stack;
use crate::error::{Result, SqlError, er};
use crate::expr::{Expr, NoSubqueries};
use crate::mdl::Mode;
use crate::plan::Fit;
use crate::plan::StatementPlan;
use crate::plan::kept::Kept;
use crate::plan::program::{Locals, ProgramHost, Unit, ValueUse, ends_programs};
use crate::plan::ready::ReadyPlan;
use crate::types::{SqlType, Value};
use tidemark_engine::{Savepoint, Transaction};

/// How many statements may run inside each other. The stack ends it earlier where the statements are large.
const DEPTH_MAX: u32 = 256;

/// How often a unit is planned anew because a definition changed under it.
const REPLANS_MAX: usize = 20;

/// The host of a function or trigger.
struct Nested<'a> {
    state: &'a SessionState,
    txn: &'a mut Transaction,
    /// What the rows are for that the statement outside reads.
    purpose: Purpose,
    /// What it is, as error texts name it: a function, or a trigger.
    within: &'static str,
}

/// Runs a program inside a running statement, with diagnostics of its own. Error 1436 if too much runs inside each other.
pub fn run_inside<T>(
    (state, txn): (&SessionState, &mut Transaction),
    purpose: Purpose,
    within: &'static str,
    run: impl FnOnce(&mut dyn ProgramHost) -> Result<T>,
) -> Result<T> {
    check_stack()?;
    let depth = state.depth.get();
    if depth >= DEPTH_MAX {
        return Err(SqlError::stack_overrun());
    }
    state.depth.set(depth + 1);
    let outer = state.push();
    let result = run(&mut Nested {
        state,
        txn,
        purpose,
        within,
    });
    state.pop(outer, result.as_ref().err());
    state.depth.set(depth);
    result
}

impl Exec<'_, '_> {
    /// Calls a stored function of the plan.
    pub(super) fn call_function(&self, id: usize, arguments: Vec<Value>) -> Result<Value> {
        let function = self.routines.get(id);
        let function = function.ok_or_else(|| SqlError::not_supported("a stored function in this place"))?;
        let Ok(mut txn) = self.txn.try_borrow_mut() else {
            // Evaluated under a latch, which the planner rules out.
            debug_assert!(false, "a stored function is called while a page may be latched");
            return Err(SqlError::not_supported("a stored function in this place"));
        };
        let with = (self.session, &mut **txn);
        run_inside(with, self.purpose, "function", |host| {
            function.call(host, arguments)
        })
    }
}

impl Nested<'_> {
    /// Sees to it that the current plan of a unit serves, and that its tables are locked.
    fn make_ready(&self, kept: &mut Kept, unit: &Unit, locals: Locals) -> Result<()> {
        let state = self.state;
        for _ in 0..REPLANS_MAX {
            let ready = match &mut kept.current {
                Some(ready) => ready,
                none => none.insert(ReadyPlan::new(unit.syntax(), state, locals.into())?),
            };
            if ready.serves(state, locals.values) == Fit::Fits && ready.is_allowed(state) {
                self.admit(&ready.plan)?;
                ready.lock_tables(state)?;
                if ready.is_right(state) {
                    return Ok(());
                }
            }
            kept.forget();
        }
        Err(SqlError::new(
            er::TABLE_DEF_CHANGED,
            "Table definition has changed, please retry transaction",
        ))
    }

    /// Errors 1442 for a table that a statement outside uses, 1792 and 1290.
    fn admit(&self, plan: &StatementPlan) -> Result<()> {
        let state = self.state;
        let busy = state.busy.borrow();
        let is_busy =
            |used: &&TableUse| used.mode == Mode::Write && !used.implied && busy.contains(&used.table.id);
        if let Some(used) = plan.uses().iter().find(is_busy) {
            return Err(SqlError::used_outside(&used.table.name));
        }
        let is_read_only = match state.in_transaction.get() {
            true => state.read_only_transaction.get(),
            false => state.settings.read_only || self.txn.is_read_only(),
        };
        if plan.needs_read_write() {
            if is_read_only {
                return Err(SqlError::read_only_transaction());
            }
            if plan.writes() || plan.uses().iter().any(|used| used.mode == Mode::Write) {
                state.refuse_read_only()?;
            }
        }
        match plan.writes() {
            true => state.refuse_forced(),
            false => Ok(()),
        }
    }

    /// Runs a unit that is planned; undoes what it did if it fails.
    fn run_planned(&mut self, unit: &Unit, locals: Locals, receiver: &mut Receiver) -> Result<Outcome> {
        let state = self.state;
        let mut kept = unit.take_plans(state);
        let ran = self.make_ready(&mut kept, unit, locals).and_then(|()| {
            let Some(ready) = &kept.current else {
                return Err(SqlError::not_supported("this statement in a program"));
            };
            let plan = &*ready.plan;
            if !matches!(receiver, Receiver::Value { .. }) {
                state.process.counters.add_command(ready.command);
            }
            state.track_uses(plan.uses(), plan.is_unsafe());
            let sends = plan.columns().is_some() && matches!(receiver, Receiver::Sink(_));
            if sends {
                return Err(SqlError::no_result_set(self.within));
            }
            let savepoint = self.txn.savepoint();
            let ran = statement::run(
                plan,
                (state, self.txn),
                locals.values,
                receiver,
                Some(self.purpose),
            );
            if let Err(error) = &ran
                && !self.has_lost_transaction(error)
                && self.txn.is_active()
            {
                self.txn.rollback_to(&savepoint)?;
            }
            ran
        });
        unit.put_plans(state, kept);
        ran
    }

    /// Whether the error ends the transaction that the statement outside belongs to.
    fn has_lost_transaction(&self, error: &SqlError) -> bool {
        matches!(
            error.code,
            er::LOCK_DEADLOCK | er::LOCK_TABLE_FULL | er::RECORD_CHANGED
        )
    }

    fn check(&self) -> Result<()> {
        check_stack()?;
        match self.state.process.is_interrupted() {
            true => Err(SqlError::interrupted()),
            false => Ok(()),
        }
    }

    fn noted<T>(&self, result: Result<T>) -> Result<T> {
        result.inspect_err(|error| self.state.fail(error))
    }
}

impl ProgramHost for Nested<'_> {
    fn state(&self) -> &SessionState {
        self.state
    }

    fn state_mut(&mut self) -> Option<&mut SessionState> {
        None
    }

    fn is_nested(&self) -> bool {
        true
    }

    fn run(&mut self, unit: &Unit, locals: Locals, out: &mut dyn ResultSink) -> Result<()> {
        self.check()?;
        if !unit.keeps_diagnostics() {
            self.state.clear();
        }
        let ran = match unit.is_planned() {
            true => self.run_planned(unit, locals, &mut Receiver::Sink(out)),
            false => Err(unit.refused_inside(self.within)),
        };
        let outcome = self.noted(ran)?;
        if let Outcome::Done { affected_rows, .. } = outcome {
            self.state.row_count.set(affected_rows as i64);
        }
        Ok(())
    }

    fn query(
        &mut self,
        unit: &Unit,
        locals: Locals,
        each: &mut dyn FnMut(&[SqlType], &[Value]) -> Result<bool>,
    ) -> Result<()> {
        self.check()?;
        self.state.clear();
        let ran = self.run_planned(unit, locals, &mut Receiver::Rows(each));
        self.noted(ran).map(drop)
    }

    fn evaluate(&mut self, unit: &Unit, locals: Locals, used: ValueUse) -> Result<Value> {
        self.check()?;
        let mut kept = unit.take_plans(self.state);
        let plain = kept.current.as_mut();
        let plain = plain.and_then(|ready| ready.serving_value(self.state, locals.values));
        if let Some(expr) = plain {
            let value = plain_value(expr, self.state, locals.values, used);
            unit.put_plans(self.state, kept);
            return self.noted(value);
        }
        unit.put_plans(self.state, kept);
        let mut value = Value::Null;
        let receiver = &mut Receiver::Value {
            used,
            value: &mut value,
        };
        let ran = self.run_planned(unit, locals, receiver);
        self.noted(ran).map(|_| value)
    }

    fn may_handle(&self, error: &SqlError) -> bool {
        !ends_programs(error) && !self.has_lost_transaction(error)
    }

    fn savepoint(&mut self) -> Option<Savepoint> {
        self.txn.is_active().then(|| self.txn.savepoint())
    }

    fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        Ok(self.txn.rollback_to(savepoint)?)
    }
}

/// Returns the value of an expression of a program that needs nothing but the program's variables.
pub fn plain_value(expr: &Expr, state: &SessionState, locals: &[Value], used: ValueUse) -> Result<Value> {
    let mut env = state.env(&NoSubqueries, locals);
    env.writes = used == ValueUse::Assigned;
    Ok(expr.eval(&env.ctx())?.into_owned())
}
