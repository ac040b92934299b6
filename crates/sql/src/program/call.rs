//! CALL: arguments in, the body, arguments out; and in whose name and under which settings a body runs.
//!
//! ```text
//!   privilege EXECUTE → arguments evaluated by the caller → parameters (IN, INOUT: converted; OUT: NULL)
//!        → the routine's sql_mode, character sets, database, and its definer's rights → the body → all of that as before
//!        → OUT and INOUT parameters into the caller's variables, unless an error has ended the body
//! ```

use super::code::CallCode;
use super::frame::Frame;
use super::routine::Routine;
use super::run::run;
use crate::context::{ResultSink, SessionState};
use crate::error::depth::check_stack;
use crate::error::{Result, SqlError, er};
use crate::parse::ast::{ObjectName, ParameterMode, ProgramKind};
use crate::plan::program::{ProgramHost, ValueUse};
use crate::types::{SqlType, Value};
use crate::variables::find;

/// The arguments of a CALL, as the caller knows them.
pub trait Arguments {
    fn count(&self) -> usize;
    /// True if the argument is something that can be set.
    fn is_variable(&self, at: usize) -> bool;
    fn value(&mut self, at: usize, host: &mut dyn ProgramHost) -> Result<Value>;
    /// Takes what an OUT or INOUT parameter, of this name and type, has become.
    fn put(&mut self, at: usize, value: Value, of: (&str, &SqlType), state: &SessionState) -> Result<()>;
}

/// Those of a CALL in a body.
struct OfFrame<'a, 'c> {
    called: &'a CallCode,
    frame: &'a mut Frame<'c>,
}

impl Arguments for OfFrame<'_, '_> {
    fn count(&self) -> usize {
        self.called.args.len()
    }

    fn is_variable(&self, at: usize) -> bool {
        self.called.args[at].target.is_some()
    }

    fn value(&mut self, at: usize, host: &mut dyn ProgramHost) -> Result<Value> {
        self.called.args[at]
            .value
            .value(host, self.frame.locals(), ValueUse::Assigned)
    }

    fn put(&mut self, at: usize, value: Value, _: (&str, &SqlType), state: &SessionState) -> Result<()> {
        match &self.called.args[at].target {
            Some(target) => self.frame.set(target, value, state),
            None => Ok(()),
        }
    }
}

impl Frame<'_> {
    /// CALL in a body.
    pub fn call(
        &mut self,
        called: &CallCode,
        host: &mut dyn ProgramHost,
        out: &mut dyn ResultSink,
    ) -> Result<()> {
        let frame = self;
        call(host, &called.name, &mut OfFrame { called, frame }, out)
    }
}

/// Calls a procedure. Errors 1305 if there is none, 1370 without the privilege, 1318 and 1414 for other arguments than it has parameters, 1456 if
/// it runs in itself too often.
pub fn call(
    host: &mut dyn ProgramHost,
    name: &ObjectName,
    args: &mut dyn Arguments,
    out: &mut dyn ResultSink,
) -> Result<()> {
    check_stack()?;
    let routine = Routine::find(host.state(), ProgramKind::Procedure, name)?;
    check_arguments(&routine, args)?;
    let mut frame = Frame::new(&routine.code);
    for (at, mode) in routine.modes.iter().enumerate() {
        if *mode != ParameterMode::Out {
            let value = args.value(at, host)?;
            frame.assign(at, value, host.state())?;
        }
    }
    let running = routine.begin(recursion_max(host.state()))?;
    routine.in_context(host, |host| run(&mut frame, host, out))?;
    drop(running);
    for (at, mode) in routine.modes.iter().enumerate() {
        if *mode != ParameterMode::In {
            let value = frame.value(at).clone();
            let of = (&*routine.code.names[at], &routine.code.types[at]);
            args.put(at, value, of, host.state())?;
        }
    }
    Ok(())
}

fn check_arguments(routine: &Routine, args: &dyn Arguments) -> Result<()> {
    if args.count() != routine.modes.len() {
        return Err(SqlError::new(
            er::SP_WRONG_NO_OF_ARGS,
            format!(
                "Incorrect number of arguments for PROCEDURE {}; expected {}, got {}",
                routine.full_name(),
                routine.modes.len(),
                args.count()
            ),
        ));
    }
    let mut modes = routine.modes.iter().enumerate();
    match modes.find(|(at, mode)| **mode != ParameterMode::In && !args.is_variable(*at)) {
        Some((at, _)) => Err(SqlError::new(
            er::SP_NOT_VAR_ARG,
            format!(
                "OUT or INOUT argument {} for routine {} is not a variable or NEW pseudo-variable in BEFORE trigger",
                at + 1,
                routine.full_name()
            ),
        )),
        None => Ok(()),
    }
}

/// `max_sp_recursion_depth`: how often a procedure may run inside itself.
fn recursion_max(state: &SessionState) -> u64 {
    find("max_sp_recursion_depth").map_or(0, |at| state.variable_setting(at, false).as_u64())
}
