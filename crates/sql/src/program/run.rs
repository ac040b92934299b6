//! The interpreter: one step after the other, and what becomes of the conditions that a step raises.
//!
//! Between two steps it asks whether the program is to end (KILL). A step that fails leaves its error in the diagnostics area, then looks for
//! a handler ([`condition`](super::condition)); without one the error ends the program and is the caller's.

use super::code::{At, Code, Op};
use super::cursor::no_data;
use super::diagnostics::{self, Area};
use super::frame::Frame;
use crate::context::{ResultSink, SessionState};
use crate::error::depth::check_stack;
use crate::error::{Result, SqlError, er};
use crate::expr::SessionInfo;
use crate::expr::build::type_of_value;
use crate::parse::ast::{Expr, GetDiagnostics, Literal, SetItem, Signal, Statement, Target, UnaryOp};
use crate::plan::program::{Locals, ProgramHost, Unit, ValueUse};
use crate::types::{Value, WarningLevel};

/// Runs a body to its end, RETURN, or an error that no handler handles.
pub fn run(frame: &mut Frame, host: &mut dyn ProgramHost, out: &mut dyn ResultSink) -> Result<()> {
    check_stack()?;
    let code = frame.code;
    let mut at = 0;
    while let Some(step) = code.steps.get(at) {
        let state = host.state();
        if state.process.is_interrupted() {
            return Err(SqlError::interrupted());
        }
        if step.op.clears() {
            state.clear();
        }
        let since = match &step.op {
            Op::Run(unit) if unit.keeps_diagnostics() => state.warnings.len(),
            Op::Call(_) | Op::Run(_) | Op::Select { .. } => 0,
            _ => state.warnings.len(),
        };
        at = match frame.step(code, at, host, out) {
            Ok(next) => {
                let state = host.state();
                let handled = (step.op.raises() && state.warnings.len() > since)
                    .then(|| frame.handle_warnings(at, since, state));
                handled.flatten().unwrap_or(next)
            }
            Err(error) => {
                note(host.state(), &error);
                frame.handle_error(at, error, host)?
            }
        };
    }
    Ok(())
}

/// Adds an error to the diagnostics area, unless what failed has done so.
fn note(state: &SessionState, error: &SqlError) {
    let list = state.warnings.to_vec();
    let is_there = list.iter().any(|one| {
        one.level == WarningLevel::Error && one.code == error.code && one.message == error.message
    });
    if !is_there {
        state.fail(error);
    }
}

impl Frame<'_> {
    /// Executes a step; returns the next one.
    fn step(
        &mut self,
        code: &Code,
        at: At,
        host: &mut dyn ProgramHost,
        out: &mut dyn ResultSink,
    ) -> Result<At> {
        match &code.steps[at].op {
            Op::Jump(to) => return Ok(*to),
            Op::Unless { condition, to, .. } => {
                if !condition.is_true(host, self.locals())? {
                    return Ok(*to);
                }
            }
            Op::Set { slot, value } => {
                let value = value.value(host, self.locals(), ValueUse::Assigned)?;
                self.assign(*slot, value, host.state())?;
            }
            Op::SetUser { name, value } => {
                let value = value.value(host, self.locals(), ValueUse::Tested)?;
                let state = host.state();
                state.set_user_variable(name, value)?;
                state.row_count.set(0);
            }
            Op::SetServer { item, value } => {
                let value = value.value(host, self.locals(), ValueUse::Tested)?;
                let set = Statement::Set(vec![with_value(item, value)]);
                host.run(&Unit::statement(set), Locals::default(), out)?;
            }
            Op::Clear(slot) => self.clear(*slot),
            Op::PutAside { slot, value, after } => {
                let ty = value.type_of(host, self.locals().types)?;
                let value = value.value(host, self.locals(), ValueUse::Assigned)?;
                let ty = ty.unwrap_or_else(|| type_of_value(&value, &host.state().bind_ctx()));
                let before = code.aside.lock().insert(*slot, ty.clone());
                if before.is_some_and(|before| before != ty) {
                    forget_conditions(code, at..*after, host.state());
                }
                self.put_aside(*slot, value, ty);
            }
            Op::Run(unit) => host.run(unit, self.locals(), out)?,
            Op::Select { unit, into } => self.select(unit, into, host)?,
            Op::Call(called) => self.call(called, host, out)?,
            Op::Signal(signal) => self.signal(signal, host)?,
            Op::Resignal(signal) => self.resignal(signal, host)?,
            Op::GetDiagnostics(get) => self.get_diagnostics(get, host)?,
            Op::NoCase => {
                return Err(SqlError::new(
                    er::SP_CASE_NOT_FOUND,
                    "Case not found for CASE statement",
                ));
            }
            Op::PushHandler(handler) => self.handlers.push(*handler),
            Op::EndHandler(handler) => return Ok(self.end_handler(*handler, host.state())),
            Op::LeaveBlock(block) => self.leave(*block),
            Op::Open(cursor) => self.open(*cursor, host)?,
            Op::Fetch { cursor, into } => self.fetch(*cursor, into, host)?,
            Op::Close(cursor) => self.close(*cursor)?,
            Op::Return(value) => {
                self.returned = Some(value.value(host, self.locals(), ValueUse::Assigned)?);
                return Ok(code.steps.len());
            }
        }
        Ok(at + 1)
    }

    /// SELECT … INTO. Errors 1222 for another number of columns, 1172 for a second row; a warning if there is none.
    fn select(&mut self, unit: &Unit, into: &[Target], host: &mut dyn ProgramHost) -> Result<()> {
        let mut found: Option<Vec<Value>> = None;
        host.query(unit, self.locals(), &mut |types, row| {
            if types.len() != into.len() {
                return Err(SqlError::select_column_count());
            }
            if found.is_some() {
                return Err(SqlError::too_many_rows());
            }
            found = Some(row.to_vec());
            Ok(true)
        })?;
        let state = host.state();
        state.row_count.set(found.is_some() as i64);
        match found {
            None => state.warnings.warn(no_data()),
            Some(row) => {
                for (target, value) in into.iter().zip(row) {
                    self.set(target, value, state)?;
                }
            }
        }
        Ok(())
    }

    fn signal(&mut self, signal: &Signal, host: &mut dyn ProgramHost) -> Result<()> {
        let locals = self.locals();
        diagnostics::signal(host.state(), signal, None, &mut |e| {
            value_of(e, locals, host.state())
        })
    }

    /// RESIGNAL: the conditions are those of the statement whose condition is handled, and what is raised follows.
    fn resignal(&mut self, signal: &Signal, host: &mut dyn ProgramHost) -> Result<()> {
        let state = host.state();
        let Some(active) = self.active.last_mut() else {
            return Err(diagnostics::no_active_handler());
        };
        active.resignalled = true;
        let condition = active.condition.clone();
        let mut list = active.stacked.clone();
        if signal.state.is_none()
            && let Some(at) = list.iter().rposition(|one| *one == condition)
        {
            list.remove(at);
        }
        state.warnings.replace(list);
        let locals = self.locals();
        diagnostics::signal(state, signal, Some(&condition), &mut |e| {
            value_of(e, locals, state)
        })
    }

    fn get_diagnostics(&mut self, get: &GetDiagnostics, host: &mut dyn ProgramHost) -> Result<()> {
        let state = host.state();
        let (conditions, row_count) = match (get.stacked, self.active.last()) {
            (false, _) => (Some(state.warnings.to_vec()), state.row_count.get()),
            (true, active) => (
                active.map(|active| active.stacked.clone()),
                active.map_or(0, |active| active.row_count),
            ),
        };
        let area = conditions.as_deref().map(|conditions| Area {
            conditions,
            row_count,
        });
        let mut sets: Vec<(Target, Value)> = Vec::new();
        let locals = self.locals();
        diagnostics::get(
            state,
            get,
            area,
            &mut |e| value_of(e, locals, state),
            &mut |target, value| {
                sets.push((target.clone(), value));
                Ok(())
            },
        )?;
        for (target, value) in sets {
            if let Err(error) = self.set(&target, value, state) {
                diagnostics::note_fault(state, error);
                break;
            }
        }
        Ok(())
    }
}

/// The value of a literal or a variable.
fn value_of(e: &Expr, locals: Locals, state: &SessionState) -> Result<Value> {
    crate::context::evaluate_with(e, state, locals.values, locals.types)
}

/// An operand of CASE has another type than the last time: what compares it is bound again.
fn forget_conditions(code: &Code, steps: std::ops::Range<At>, state: &SessionState) {
    for step in &code.steps[steps] {
        if let Op::Unless { condition, .. } = &step.op {
            condition.forget(state);
        }
    }
}

/// An item of SET with a value in place of its expression.
fn with_value(item: &SetItem, value: Value) -> SetItem {
    let mut item = item.clone();
    if let SetItem::Variable { value: expr, .. } | SetItem::NextTransaction { value: expr, .. } = &mut item {
        *expr = literal(value);
    }
    item
}

/// A value as it would be written.
fn literal(value: Value) -> Expr {
    let written = match value {
        Value::Null => Literal::Null,
        Value::UInt(number) => Literal::Int(number),
        Value::Int(number) => {
            let digits = Expr::Literal(Literal::Int(number.unsigned_abs()));
            return match number < 0 {
                false => digits,
                true => Expr::Unary {
                    op: UnaryOp::Minus,
                    expr: Box::new(digits),
                },
            };
        }
        Value::Double(number) => Literal::Double(number),
        Value::Decimal(number) => Literal::Decimal(number.to_string()),
        other => Literal::Str {
            bytes: other.to_text().into_owned(),
            charset: None,
        },
    };
    Expr::Literal(written)
}
