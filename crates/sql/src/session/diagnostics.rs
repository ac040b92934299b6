//! SIGNAL, RESIGNAL and GET DIAGNOSTICS as a client sends them: what they raise is the session's, and so is what they read.

use super::Session;
use super::argument::evaluate;
use crate::context::Answer;
use crate::error::Result;
use crate::expr::SessionInfo;
use crate::parse::ast::{GetDiagnostics, Signal, Target};
use crate::program::diagnostics::{self, Area};
use crate::types::Value;

impl Session {
    /// SIGNAL.
    pub(super) fn signal(&self, signal: &Signal, params: &[Value]) -> Result<Answer> {
        let state = &self.state;
        diagnostics::signal(state, signal, None, &mut |e| evaluate(e, params, state))?;
        Ok(Answer::ok())
    }

    /// GET DIAGNOSTICS.
    pub(super) fn get_diagnostics(&self, get: &GetDiagnostics, params: &[Value]) -> Result<Answer> {
        let state = &self.state;
        let conditions = state.warnings.to_vec();
        let area = Area {
            conditions: &conditions,
            row_count: state.row_count.get(),
        };
        let area = (!get.stacked).then_some(area);
        diagnostics::get(
            state,
            get,
            area,
            &mut |e| evaluate(e, params, state),
            &mut |target, value| match target {
                Target::UserVar(name) => state.set_user_variable(name, value),
                Target::Local(_) => Ok(()),
            },
        )?;
        Ok(Answer::ok())
    }
}
