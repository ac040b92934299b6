//! HANDLER … OPEN and CLOSE. READ is planned and run like a query.
//!
//! A table that is open holds nothing between statements: when its definition has changed meanwhile, the next READ closes it.

use super::Session;
use super::locked::active_locks;
use crate::accounts::Privileges;
use crate::context::Answer;
use crate::error::{Result, SqlError, er};
use crate::parse::ast::ObjectName;

/// About what an open handler takes.
const HANDLER_BYTES: u64 = 1024;

impl Session {
    /// Error 1192 under LOCK TABLES.
    pub(super) fn refuse_handler_under_locks(&self) -> Result<()> {
        match self.transaction.locked.tables {
            Some(_) => Err(active_locks()),
            None => Ok(()),
        }
    }

    /// Errors 1066, 1142, 1146, 1192 and 1347.
    pub(super) fn open_handler(&mut self, name: &ObjectName, alias: Option<&str>) -> Result<Answer> {
        tidemark_memory::hold(HANDLER_BYTES)?;
        self.refuse_handler_under_locks()?;
        self.state.require_in_part_of(Privileges::SELECT, name)?;
        let table = self.state.table(name)?;
        if table.view.is_some() || table.is_virtual() {
            return Err(SqlError::new(
                er::WRONG_OBJECT,
                format!("'{}.{}' is not BASE TABLE", table.schema, table.name),
            ));
        }
        let alias = alias.unwrap_or(&name.name);
        self.state.handlers.borrow_mut().open(alias, table)?;
        Ok(Answer::ok())
    }

    /// Errors 1109 and 1192.
    pub(super) fn close_handler(&mut self, name: &str) -> Result<Answer> {
        self.refuse_handler_under_locks()?;
        self.state.handlers.borrow_mut().close(name)?;
        Ok(Answer::ok())
    }
}
