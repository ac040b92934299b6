//! CHECKSUM TABLE reads whole tables as a query does: in the session's transaction, with its own changes, and with a metadata lock.

use super::Session;
use crate::accounts::Privileges;
use crate::context::Answer;
use crate::ddl::checksum::{empty_answer, sum_rows};
use crate::dictionary::TableDef;
use crate::error::{Result, SqlError};
use crate::mdl::Mode;
use crate::parse::ast::ObjectName;
use crate::types::{Value, WarningLevel};
use std::collections::HashSet;
use std::sync::Arc;
use tidemark_engine::{Isolation, LockWait, Read};

impl Session {
    /// The answer to CHECKSUM TABLE. What cannot be read has NULL, and an error among the warnings. `quick` asks for sums that are kept, and
    /// there are none.
    pub(super) fn checksum(&mut self, names: &[ObjectName], quick: bool) -> Result<Answer> {
        self.check_checksum(names)?;
        let tables = names
            .iter()
            .map(|name| self.table_to_sum(name))
            .collect::<Result<Vec<_>>>()?;
        let start = self.begin_reading();
        let sums = self.checksums(names, &tables, quick);
        self.end_statement(start, sums)
    }

    /// Errors 1066 and 1142.
    fn check_checksum(&self, names: &[ObjectName]) -> Result<()> {
        let mut named = HashSet::with_capacity(names.len());
        for name in names {
            let resolved = self.state.resolve(name)?;
            if !named.insert(resolved) {
                return Err(SqlError::not_unique_table(resolved.1));
            }
        }
        names
            .iter()
            .try_for_each(|name| self.state.require_in_part_of(Privileges::SELECT, name))
    }

    /// The table of a name, with a metadata lock; the inner error is the table's own. Definitions that change before the lock is granted are
    /// looked up again.
    fn table_to_sum(&mut self, name: &ObjectName) -> Result<Result<Arc<TableDef>>> {
        loop {
            let table = match self.state.table(name) {
                Ok(table) if table.is_view() || table.is_virtual() => {
                    let (schema, name) = (&table.schema, &table.name);
                    return Ok(Err(SqlError::wrong_object(schema, name, "BASE TABLE")));
                }
                Ok(table) => table,
                Err(error) => return Ok(Err(error)),
            };
            if let Err(error) = self.check_locked(&table, false) {
                return Ok(Err(error));
            }
            if table.temporary {
                return Ok(Ok(table));
            }
            let locks = &self.state.locks;
            let locked = self
                .state
                .with_wait_policy(|policy| locks.use_table(&table.lock, Mode::Read, policy));
            if let Err(error) = locked {
                self.after_failed_lock(&error);
                return Err(error);
            }
            match self.state.table(name) {
                Ok(now) if Arc::ptr_eq(&now, &table) => return Ok(Ok(table)),
                _ => {}
            }
        }
    }

    fn checksums(
        &mut self,
        names: &[ObjectName],
        tables: &[Result<Arc<TableDef>>],
        quick: bool,
    ) -> Result<Answer> {
        let locks = self.state.in_transaction.get() && self.txn.isolation() == Isolation::Serializable;
        let read = match locks {
            true => Read::Locking {
                exclusive: false,
                wait: LockWait::Wait,
            },
            false => Read::Consistent,
        };
        let mut rows = empty_answer();
        for (name, table) in names.iter().zip(tables) {
            let sum = match table {
                Ok(_) if quick => Value::Null,
                Ok(table) => Value::Int(sum_rows(&self.state, table, &mut self.txn, read)?.into()),
                Err(error) => {
                    self.state.warnings.push(WarningLevel::Error, error.clone());
                    Value::Null
                }
            };
            let (schema, table) = self.state.resolve(name)?;
            rows.push(vec![Value::string(format!("{schema}.{table}")), sum]);
        }
        Ok(Answer::Rows(rows))
    }
}
