//! EXPLAIN … FOR SCHEMA: a statement is explained as if its database were the current one, which stays what it is.

use super::Session;
use crate::error::{Result, SqlError};
use crate::parse::ast::Statement;

impl Session {
    /// Does something with a statement in the database that it names for itself, if it does. Errors 1044 and 1049.
    #[inline]
    pub(super) fn in_own_schema<T>(
        &mut self,
        statement: &Statement,
        run: impl FnOnce(&mut Session) -> Result<T>,
    ) -> Result<T> {
        match statement {
            Statement::Explain(explain) => match &explain.schema {
                Some(name) => self.in_schema(name, run),
                None => run(self),
            },
            _ => run(self),
        }
    }

    #[cold]
    fn in_schema<T>(&mut self, name: &str, run: impl FnOnce(&mut Session) -> Result<T>) -> Result<T> {
        if !self.state.sees_database(name) {
            return Err(self.state.database_denied(name));
        }
        let schema = self.state.database.dictionary().schema(name);
        let schema = schema.ok_or_else(|| SqlError::unknown_database(name))?;
        let own = self.state.schema.replace(schema.name.clone());
        let result = run(self);
        self.state.schema = own;
        result
    }
}
