//! Which handler a condition finds.
//!
//! The search goes from the scope of the step outwards. Within a block the most specific handler is chosen: an error number before an
//! SQLSTATE, both before SQLWARNING, NOT FOUND and SQLEXCEPTION, of which the first declared counts. From inside a handler it goes on outside
//! of the block that declares it, so that no handler handles what its neighbours or itself raise.
//!
//! A handler that is found but not in force yet (an error in a DEFAULT before it) handles nothing, and nor does another, as in MySQL.

use super::code::{At, Code};
use super::frame::{Active, Frame};
use crate::context::SessionState;
use crate::error::{Result, SqlError};
use crate::parse::ast::Condition;
use crate::plan::program::ProgramHost;
use crate::types::{Warning, WarningLevel};

/// How specific a condition of a handler is that holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Match {
    Class,
    State,
    Number,
}

fn matches(handled: &Condition, raised: &Warning) -> Option<Match> {
    let class = &raised.sqlstate[..2];
    let is_error = raised.level == WarningLevel::Error;
    match handled {
        Condition::Error(code) => (*code == raised.code).then_some(Match::Number),
        Condition::SqlState(state) => (*state == raised.sqlstate).then_some(Match::State),
        Condition::Warning => {
            (class == b"01" || raised.level == WarningLevel::Warning).then_some(Match::Class)
        }
        Condition::NotFound => (class == b"02").then_some(Match::Class),
        Condition::Exception => (is_error && !matches!(class, b"00" | b"01" | b"02")).then_some(Match::Class),
    }
}

impl Code {
    /// Returns the handler of a condition that a step in this scope has raised.
    fn handler(&self, scope: usize, raised: &Warning) -> Option<usize> {
        let mut next = Some(scope);
        while let Some(at) = next {
            let scope = &self.scopes[at];
            let mut best: Option<(Match, usize)> = None;
            for number in scope.handlers.clone() {
                let conditions = self.handlers[number].conditions.iter();
                for found in conditions.filter_map(|handled| matches(handled, raised)) {
                    if best.is_none_or(|(known, _)| found > known) {
                        best = Some((found, number));
                    }
                }
            }
            if let Some((_, number)) = best {
                return Some(number);
            }
            next = match scope.of_handler {
                // The block that declares it is passed over.
                true => scope.around.and_then(|block| self.scopes[block].around),
                false => scope.around,
            };
        }
        None
    }
}

impl Frame<'_> {
    /// Step `at` has failed: returns the first step of the handler that is to see to it, or the error.
    pub fn handle_error(&mut self, at: At, error: SqlError, host: &dyn ProgramHost) -> Result<At> {
        if !host.may_handle(&error) {
            return Err(error);
        }
        let state = host.state();
        let raised = state.warnings.to_vec().into_iter().rev().find(|one| {
            one.level == WarningLevel::Error && one.code == error.code && one.message == error.message
        });
        let raised = raised.unwrap_or_else(|| Warning::new(WarningLevel::Error, error.clone()));
        let handler = self.code.handler(self.code.steps[at].scope, &raised);
        match handler.filter(|handler| self.handlers.contains(handler)) {
            Some(handler) => Ok(self.activate(handler, raised, at, state)),
            None => Err(error),
        }
    }

    /// Step `at` has succeeded, and has raised the conditions behind the first `since`: returns the first step of the handler that is to see to
    /// one of them. The last counts.
    pub fn handle_warnings(&mut self, at: At, since: usize, state: &SessionState) -> Option<At> {
        let raised = state.warnings.to_vec();
        let scope = self.code.steps[at].scope;
        let warnings = raised.into_iter().skip(since).rev();
        let mut warnings = warnings.filter(|one| one.level != WarningLevel::Error);
        let found = warnings.find_map(|raised| {
            let handler = self.code.handler(scope, &raised)?;
            Some((handler, raised))
        });
        let (handler, raised) = found?;
        self.handlers
            .contains(&handler)
            .then(|| self.activate(handler, raised, at, state))
    }

    fn activate(&mut self, handler: usize, condition: Warning, at: At, state: &SessionState) -> At {
        self.active.push(Active {
            handler,
            back: self.code.after(at),
            condition,
            stacked: state.warnings.to_vec(),
            resignalled: false,
            row_count: state.row_count.get(),
        });
        self.code.handlers[handler].first
    }

    /// A handler has come to its end: returns the next step. What was handled is forgotten, what it has raised itself stays.
    pub fn end_handler(&mut self, handler: usize, state: &SessionState) -> At {
        let code = &self.code.handlers[handler];
        let position = self.active.iter().rposition(|active| active.handler == handler);
        let ended = position.map(|at| self.active.drain(at..).next());
        let Some(ended) = ended.flatten() else {
            return code.end;
        };
        let mut left = state.warnings.to_vec();
        if !ended.resignalled && left.starts_with(&ended.stacked) {
            left.drain(..ended.stacked.len());
            let errors = left.iter().filter(|one| one.level == WarningLevel::Error);
            state.error_count.set(errors.count() as u32);
            state.warnings.replace(left);
        }
        match code.exits {
            true => code.end,
            false => ended.back,
        }
    }
}
