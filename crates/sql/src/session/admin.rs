//! USE, KILL, FLUSH, LOCK TABLES and UNLOCK TABLES.

use super::Session;
use super::answer::Answer;
use super::planned::TableUse;
use crate::accounts::Privileges;
use crate::dictionary::virtual_schema;
use crate::error::{Result, SqlError, er};
use crate::mdl::{Block, Mode};
use crate::parse::ast::{Expr, LockTable};

impl Session {
    pub(super) fn change_database(&mut self, name: &str) -> Result<()> {
        let state = &self.state;
        let dictionary = state.database.dictionary();
        let Some(schema) = dictionary.schema(name) else {
            return Err(SqlError::unknown_database(name));
        };
        if !state.sees_database(&schema.name) {
            return Err(state.database_denied(name));
        }
        let name = schema.name.clone();
        self.state.process.set_schema(Some(&name));
        self.state.values.set_database_collation(schema.collation);
        if self.state.schema.as_deref() != Some(&name) {
            self.state.schema = Some(name);
            self.plans.clear();
        }
        Ok(())
    }

    pub(super) fn kill(&mut self, id: &Expr, query_only: bool) -> Result<Answer> {
        let id = self.state.evaluate_u64(id, "KILL")?;
        let process = self.state.database.sessions.lock().get(&id).cloned();
        let process = process.ok_or_else(|| {
            let message = format!("Unknown thread id: {id}");
            SqlError::new(er::NO_SUCH_THREAD, message)
        })?;
        let own = process.user().0 == self.state.info.user;
        if !own && !self.state.has_global(Privileges::SUPER) {
            let message = format!("You are not owner of thread {id}");
            return Err(SqlError::new(er::KILL_DENIED, message));
        }
        self.state.database.kill(id, query_only)?;
        if id == self.state.info.connection_id {
            return Err(SqlError::interrupted());
        }
        Ok(Answer::ok())
    }

    pub(super) fn flush(&mut self, options: &[String]) -> Result<Answer> {
        self.state
            .require_global(Privileges::RELOAD.union(Privileges::SUPER), "RELOAD")?;
        self.commit_open()?;
        let first = options.first().map_or("", String::as_str);
        let all = options.join(" ");
        match first {
            "TABLES" | "TABLE" if all.contains("READ LOCK") || all.contains("FOR EXPORT") => {
                Err(SqlError::not_supported("FLUSH TABLES WITH READ LOCK"))
            }
            "TABLES" | "TABLE" | "PRIVILEGES" | "STATUS" | "LOGS" | "HOSTS" | "LOCAL"
            | "NO_WRITE_TO_BINLOG" | "ENGINE" | "ERROR" | "GENERAL" | "SLOW" | "BINARY"
            | "OPTIMIZER_COSTS" | "USER_RESOURCES" => Ok(Answer::ok()),
            other => Err(SqlError::not_supported(format!("FLUSH {other}"))),
        }
    }

    pub(super) fn lock_tables(&mut self, tables: &[LockTable]) -> Result<Answer> {
        self.commit_open()?;
        self.unlock_tables();
        let mut wanted = Vec::with_capacity(tables.len());
        for lock in tables {
            let def = self.state.table(&lock.table)?;
            if def.is_virtual() {
                continue;
            }
            let both = Privileges::LOCK_TABLES.union(Privileges::SELECT);
            if !self
                .state
                .account()
                .on_table(&def.schema, &def.name)
                .contains(both)
            {
                return Err(self.state.database_denied(&def.schema));
            }
            let block = if lock.write { Block::All } else { Block::Writers };
            wanted.push((def, block));
        }
        // The same order everywhere; the stronger lock of a table named twice first.
        wanted.sort_by(|(a, block_a), (b, block_b)| {
            let strength = |block: &Block| *block != Block::All;
            (&a.schema, &a.name, strength(block_a)).cmp(&(&b.schema, &b.name, strength(block_b)))
        });
        for (def, block) in &wanted {
            let locks = &self.state.locks;
            let locked = match block {
                Block::All => self
                    .state
                    .with_patience(|patience| locks.own(&def.lock, Block::All, patience)),
                Block::Writers => self
                    .state
                    .with_patience(|patience| locks.own(&def.lock, Block::Writers, patience)),
            };
            if let Err(error) = locked {
                self.state.locks.release_owned_after(0);
                return Err(error);
            }
        }
        self.transaction.tables_locked = true;
        Ok(Answer::ok())
    }

    pub(super) fn unlock_tables(&mut self) {
        if self.transaction.tables_locked {
            self.transaction.tables_locked = false;
            self.state.locks.release_owned_after(0);
        }
    }

    /// UNLOCK TABLES commits only if it ends LOCK TABLES.
    pub(super) fn unlock_tables_statement(&mut self) -> Result<()> {
        if self.transaction.tables_locked {
            self.commit_open()?;
            self.unlock_tables();
        }
        Ok(())
    }

    /// Under LOCK TABLES only the locked tables may be used. Errors 1099 and 1100.
    pub(super) fn check_locked_tables(&self, used: &TableUse) -> Result<()> {
        if !self.transaction.tables_locked || virtual_schema(&used.table.schema).is_some() {
            return Ok(());
        }
        let name = &used.table.name;
        match (self.state.locks.ownership(&used.table.lock), used.mode) {
            (None, _) => Err(SqlError::new(
                er::TABLE_NOT_LOCKED,
                format!("Table '{name}' was not locked with LOCK TABLES"),
            )),
            (Some(Block::Writers), Mode::Write) => Err(SqlError::new(
                er::TABLE_NOT_LOCKED_FOR_WRITE,
                format!("Table '{name}' was locked with a READ lock and can't be updated"),
            )),
            _ => Ok(()),
        }
    }
}
