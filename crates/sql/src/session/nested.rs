//! The session as the host of procedures: each statement of a program is a statement of its own, and each is run as one that a client has
//! sent is, but for what belongs to the command as a whole.
//!
//! ```text
//!   CALL p(1)  ──▶ dispatch ──▶ Session::host ──▶ interpreter ──┬─▶ ProgramHost::run ──▶ dispatch, run_kept ──▶ rows to the client
//!                                   ▲                           └─▶ ProgramHost::run ──▶ …
//!                                   └── more results follow until the interpreter is done; then the OK of CALL
//! ```
//!
//! The command's are: its event and digest, the count of questions, its memory, which the program's variables and cursors share with its
//! statements, and `max_execution_time`, which holds for no statement of a program. Statements without rows send nothing; what they have
//! changed in the session goes with the OK of CALL.
//!
//! The signatures, and what they promise, are in [`plan::program`](crate::plan::program); functions and triggers have a host below the session, in
//! `exec::nested`.

use super::Session;
use crate::context::{ResultSink, SessionState};
use crate::error::depth::check_stack;
use crate::error::{Result, SqlError};
use crate::exec::Receiver;
use crate::exec::nested::plain_value;
use crate::plan::kept::Kept;
use crate::plan::program::{Locals, ProgramHost, Unit, ValueUse, ends_programs};
use crate::types::{SqlType, Value};
use std::sync::Arc;
use tidemark_engine::Savepoint;

impl Session {
    /// Runs a program that a client's statement calls: `run` gets the session as its host, and the sink with the promise that the result of
    /// the statement itself comes after those of the program.
    pub(super) fn host<T>(
        &mut self,
        out: &mut dyn ResultSink,
        run: impl FnOnce(&mut dyn ProgramHost, &mut dyn ResultSink) -> Result<T>,
    ) -> Result<T> {
        check_stack()?;
        let kind = self.measure.kind.get();
        let more = out.more_follows(true);
        self.programs += 1;
        let result = run(self, out);
        self.programs -= 1;
        if let Err(error) = &result {
            self.state.withdraw(error);
        }
        out.more_follows(more);
        self.measure.kind.set(kind);
        result
    }

    /// Whether the statement at hand is one of a program.
    #[inline]
    pub(super) fn is_in_program(&self) -> bool {
        self.programs > 0
    }

    /// A unit of a program begins. Error 1317 if the session has been killed.
    fn begin_unit(&mut self) -> Result<()> {
        check_stack()?;
        if self.state.process.is_interrupted() {
            return Err(SqlError::interrupted());
        }
        self.state.read_clock();
        Ok(())
    }

    /// A unit has ended: what was wrong is left to the handlers of the program.
    fn end_unit<T>(&self, result: Result<T>) -> Result<T> {
        result.inspect_err(|error| self.state.fail(error))
    }

    /// Runs a planned unit with its plans, for what takes the rows.
    fn run_unit(&mut self, unit: &Unit, locals: Locals, receiver: &mut Receiver) -> Result<()> {
        let statement = Arc::clone(unit.syntax());
        let mut kept = unit.take_plans(&self.state);
        let ran = self.in_own_schema(&statement, |session| {
            session.run_kept(&mut kept, &statement, locals.into(), receiver)
        });
        unit.put_plans(&self.state, kept);
        ran
    }

    fn unit_value(&mut self, kept: &mut Kept, unit: &Unit, locals: Locals, used: ValueUse) -> Result<Value> {
        if let Some(ready) = &mut kept.current
            && let Some(expr) = ready.serving_value(&self.state, locals.values)
        {
            return plain_value(expr, &self.state, locals.values, used);
        }
        let mut value = Value::Null;
        let receiver = &mut Receiver::Value {
            used,
            value: &mut value,
        };
        self.run_kept(kept, unit.syntax(), locals.into(), receiver)?;
        Ok(value)
    }
}

impl ProgramHost for Session {
    fn state(&self) -> &SessionState {
        &self.state
    }

    fn state_mut(&mut self) -> Option<&mut SessionState> {
        Some(&mut self.state)
    }

    fn is_nested(&self) -> bool {
        false
    }

    fn run(&mut self, unit: &Unit, locals: Locals, out: &mut dyn ResultSink) -> Result<()> {
        self.begin_unit()?;
        let statement = Arc::clone(unit.syntax());
        if !unit.keeps_diagnostics() {
            self.state.clear();
        }
        let ran = match unit.is_planned() {
            true => self.run_unit(unit, locals, &mut Receiver::Sink(out)),
            false => self.carry_out(&statement, locals.values, out),
        };
        self.end_unit(ran)
    }

    fn query(
        &mut self,
        unit: &Unit,
        locals: Locals,
        each: &mut dyn FnMut(&[SqlType], &[Value]) -> Result<bool>,
    ) -> Result<()> {
        self.begin_unit()?;
        self.state.clear();
        let ran = self.run_unit(unit, locals, &mut Receiver::Rows(each));
        self.end_unit(ran)
    }

    fn evaluate(&mut self, unit: &Unit, locals: Locals, used: ValueUse) -> Result<Value> {
        self.begin_unit()?;
        let mut kept = unit.take_plans(&self.state);
        let value = self.unit_value(&mut kept, unit, locals, used);
        unit.put_plans(&self.state, kept);
        self.end_unit(value)
    }

    fn may_handle(&self, error: &SqlError) -> bool {
        !ends_programs(error) && !self.released
    }

    fn savepoint(&mut self) -> Option<Savepoint> {
        self.txn.is_active().then(|| self.txn.savepoint())
    }

    fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        Ok(self.txn.rollback_to(savepoint)?)
    }
}
