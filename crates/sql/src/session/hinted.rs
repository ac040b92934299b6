//! Optimizer hints of a whole statement: variables that have another value while it runs, and how long it may run.

use super::Session;
use crate::error::{Result, SqlError, er};
use crate::parse::ast::{Expr, StatementHints, VariableHint};
use crate::types::WarningLevel;
use crate::variables::{DEFS, HINTABLE, Setting};

impl Session {
    /// Runs a statement as its hints say, and puts everything back, whether it succeeds or not.
    pub(super) fn with_hints<T>(
        &mut self,
        hints: &StatementHints,
        run: impl FnOnce(&mut Session) -> Result<T>,
    ) -> Result<T> {
        for warning in &hints.warnings {
            self.state.warnings.push(WarningLevel::Warning, warning.clone());
        }
        let mut before = Vec::new();
        for hint in &hints.variables {
            match self.set_hinted(hint) {
                Ok(kept) => before.push(kept),
                Err(error) => self.state.warnings.push(WarningLevel::Warning, error),
            }
        }
        if let Some(limit_ms) = hints.max_execution_time_ms {
            self.state.settings.max_execution_time_ms = limit_ms;
        }
        if !before.is_empty() {
            // `timestamp` may be among them.
            self.state.read_clock();
        }
        let done = run(self);
        for (at, setting) in before.into_iter().rev() {
            // It was valid before.
            let _ = self.put_variable(at, false, setting);
        }
        if hints.max_execution_time_ms.is_some() {
            self.state.settings = self.state.values.settings();
        }
        done
    }

    /// Sets a variable; returns which it is and its value of before.
    fn set_hinted(&mut self, hint: &VariableHint) -> Result<(usize, Setting)> {
        let name = &hint.name;
        let Ok(at) = self.state.database.find_variable(name) else {
            return Err(SqlError::new(
                er::WARN_UNKNOWN_HINT_NAME,
                format!("Unresolved name '{name}' for SET_VAR hint"),
            ));
        };
        let def = &DEFS[at];
        if !HINTABLE.contains(&def.name) {
            return Err(SqlError::new(
                er::NOT_HINT_UPDATABLE_VARIABLE,
                format!("Variable '{name}' cannot be set using SET_VAR hint."),
            ));
        }
        let before = match def.name {
            "insert_id" => Setting::parse(def, &self.state.insert_id.get().to_string())?,
            _ => self.state.values.get(at).clone(),
        };
        let setting = self.setting_of(at, false, &Expr::Literal(hint.value.clone()), &[])?;
        self.put_variable(at, false, setting)?;
        Ok((at, before))
    }
}
