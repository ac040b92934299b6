//! DROP PROCEDURE, FUNCTION, TRIGGER and EVENT.
//!
//! There are no stored programs, so none is dropped: error 1305, 1360 or 1539, and with IF EXISTS a note. What is asked of the
//! account is what MySQL asks.

use super::DdlContext;
use crate::accounts::Privileges;
use crate::context::Answer;
use crate::error::{Result, SqlError, er};
use crate::parse::ast::{ObjectName, ProgramKind};

impl DdlContext<'_> {
    pub(super) fn drop_program(
        &self,
        kind: ProgramKind,
        name: &ObjectName,
        if_exists: bool,
    ) -> Result<Answer> {
        let (schema, name) = self.state.resolve(name)?;
        let missing = match kind {
            ProgramKind::Procedure => self.missing_routine("PROCEDURE", schema, name)?,
            ProgramKind::Function => self.missing_routine("FUNCTION", schema, name)?,
            ProgramKind::Trigger if !self.has_schema(schema) => SqlError::unknown_database(schema),
            ProgramKind::Trigger => SqlError::trigger_missing(),
            ProgramKind::Event => {
                self.state.require_database(Privileges::EVENT, schema)?;
                match if_exists {
                    true => SqlError::program_missing("Event", name),
                    false => SqlError::event_missing(name),
                }
            }
        };
        if !if_exists {
            return Err(missing);
        }
        self.note(missing);
        Ok(Answer::ok())
    }

    fn has_schema(&self, schema: &str) -> bool {
        self.state.database.dictionary().schema(schema).is_some()
    }

    /// Error 1305 to be reported. Fails with error 1370 unless the account may drop routines of the database.
    fn missing_routine(&self, kind: &str, schema: &str, name: &str) -> Result<SqlError> {
        if !self
            .state
            .rights()
            .on_database(schema)
            .contains(Privileges::ALTER_ROUTINE)
        {
            let account = &self.state.info.account;
            return Err(SqlError::new(
                er::PROCACCESS_DENIED,
                format!(
                    "alter routine command denied to user '{}'@'{}' for routine '{schema}.{name}'",
                    account.user, account.host
                ),
            ));
        }
        Ok(SqlError::program_missing(kind, &format!("{schema}.{name}")))
    }
}
