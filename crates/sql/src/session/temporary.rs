//! Temporary tables as the session sees them: which statements on them commit, what a rollback says of them, and when their room
//! is given back. What they are is told in [`TemporaryTables`](crate::dictionary::TemporaryTables).

use super::Session;
use crate::context::Answer;
use crate::ddl::temporary::free_dropped;
use crate::error::{Result, SqlError, er};
use crate::parse::ast::Statement;
use crate::types::Value;

/// What the open transaction has done to the names of temporary tables, which no rollback undoes.
#[derive(Clone, Copy, Default)]
pub(super) struct Unrolled {
    created: bool,
    dropped: bool,
}

impl Session {
    /// A statement that changes definitions of temporary tables and of nothing else. CREATE and DROP TEMPORARY TABLE commit
    /// nothing, and are refused in a READ ONLY transaction: error 1792.
    pub(super) fn change_temporary(&mut self, statement: &Statement, params: &[Value]) -> Result<Answer> {
        let stays = !statement.facts().commits;
        match stays {
            true if self.is_read_only() => {
                if !self.state.in_transaction.get() {
                    self.take_characteristics();
                }
                return Err(SqlError::read_only_transaction());
            }
            true => {}
            false => self.before_implicit_commit(statement)?,
        }
        if let Statement::CreateTable(create) = statement
            && let Some(source) = &create.like
        {
            self.check_locked_source(source)?;
        }
        let before = self.state.temporary.version();
        let query = match statement {
            Statement::CreateTable(create) => create.query.as_ref().map(|query| (create, query)),
            _ => None,
        };
        let answer = match query {
            Some((create, query)) => self.create_temporary_filled(create, query, params)?,
            None => crate::ddl::execute(&self.state, statement)?,
        };
        if matches!(statement, Statement::AlterTable(_)) {
            self.state.note_state();
        }
        if stays && (self.state.in_transaction.get() || !self.state.settings.autocommit) {
            let unrolled = &mut self.transaction.unrolled;
            match statement {
                Statement::CreateTable(_) => unrolled.created = true,
                _ => unrolled.dropped |= self.state.temporary.version() != before,
            }
        }
        Ok(answer)
    }

    /// Warnings 1751 and 1752 of a rollback.
    pub(super) fn warn_of_unrolled(&self, unrolled: Unrolled) {
        let warn = |code, text: &str| self.state.warnings.warn(SqlError::new(code, text));
        if unrolled.created {
            warn(
                er::WARNING_NOT_COMPLETE_ROLLBACK_WITH_CREATED_TEMP_TABLE,
                "The creation of some temporary tables could not be rolled back.",
            );
        }
        if unrolled.dropped {
            warn(
                er::WARNING_NOT_COMPLETE_ROLLBACK_WITH_DROPPED_TEMP_TABLE,
                "Some temporary tables were dropped, but these operations could not be rolled back.",
            );
        }
    }

    /// Drops the session's temporary tables; its transaction has ended.
    pub(super) fn drop_temporary_tables(&self) {
        self.state.temporary.clear();
        free_dropped(&self.state);
    }
}
