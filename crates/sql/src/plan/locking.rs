//! FOR UPDATE and FOR SHARE: which tables of a query they lock.

use super::Planner;
use super::from::From;
use crate::error::{Result, SqlError, er};
use crate::parse::ast::{LockClause, LockWaitOption};
use tidemark_engine::LockWait;

impl Planner<'_> {
    /// How a table of the query being planned is locked by its locking clauses.
    pub(super) fn lock_of(&self, alias: &str) -> Option<(bool, LockWait)> {
        let names =
            |clause: &&LockClause| clause.of.is_empty() || clause.of.iter().any(|of| of.name == alias);
        let clause = self.locks.iter().find(names)?;
        let wait = match clause.wait {
            LockWaitOption::Wait => LockWait::Wait,
            LockWaitOption::NoWait => LockWait::NoWait,
            LockWaitOption::SkipLocked => LockWait::Skip,
        };
        Some((clause.exclusive, wait))
    }

    /// Errors 3568 and 3569: a clause names what is not there, or two name the same.
    pub(super) fn check_locks(&self, locks: &[LockClause], from: &From) -> Result<()> {
        for of in locks.iter().flat_map(|clause| &clause.of) {
            if !from.scope.tables.iter().any(|table| table.alias == of.name) {
                return Err(SqlError::new(
                    er::UNRESOLVED_TABLE_LOCK,
                    format!("Unresolved table name `{}` in locking clause.", of.name),
                ));
            }
        }
        for table in &from.scope.tables {
            let names = |clause: &&LockClause| {
                clause.of.is_empty() || clause.of.iter().any(|of| of.name == table.alias)
            };
            let named = locks.iter().flat_map(|clause| &clause.of);
            let times = named.filter(|of| of.name == table.alias).count();
            if times > 1 || locks.iter().filter(names).count() > 1 {
                let name = if times > 0 {
                    format!("`{}`", table.alias)
                } else {
                    table.alias.clone()
                };
                return Err(SqlError::new(
                    er::DUPLICATE_TABLE_LOCK,
                    format!("Table {name} appears in multiple locking clauses."),
                ));
            }
        }
        Ok(())
    }
}
