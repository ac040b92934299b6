//! LOCK TABLES, FLUSH TABLES WITH READ LOCK and UNLOCK TABLES.
//!
//! Both are metadata locks that the session keeps until it gives them up. Under LOCK TABLES a statement may use only what
//! is locked, each table by the name it was locked under. With autocommit off it also locks the tables for the engine, to
//! the end of the transaction that begins there (`innodb_table_locks`). Under FLUSH TABLES WITH READ LOCK all sessions may read, and
//! none may write or change definitions: the session holds off the writers of every table, and every change of
//! definitions by a lock with no name that each of them uses. So LOCK TABLES … READ under it has nothing left to lock: it only says which tables
//! the session may use, until BEGIN or another LOCK TABLES; UNLOCK TABLES ends both. LOCK INSTANCE FOR BACKUP holds off other sessions' changes of definitions alone, by a
//! lock of its own, and goes on through transactions and UNLOCK TABLES.

use super::Session;
use crate::accounts::Privileges;
use crate::context::TableUse;
use crate::context::{Answer, SessionState};
use crate::ddl::server_tables;
use crate::dictionary::{TableDef, virtual_schema};
use crate::error::{Result, SqlError, er};
use crate::mdl::{Block, Mode, ObjectKey, TableLock};
use crate::parse::ast::{LockTable, MaintenanceKind, ObjectName, Statement};
use crate::plan::StatementPlan;
use std::sync::Arc;
use tidemark_engine::{LockMode, LockWait};

/// What the session keeps locked.
#[derive(Default)]
pub struct Locked {
    /// LOCK TABLES, FLUSH TABLES of named tables WITH READ LOCK
    pub tables: Option<Vec<LockedTable>>,
    /// FLUSH TABLES WITH READ LOCK
    pub everything: bool,
}

pub struct LockedTable {
    alias: String,
    table: Arc<TableDef>,
    write: bool,
    /// A view that is locked names it.
    through_view: bool,
}

impl LockedTable {
    fn block(&self) -> Block {
        if self.write { Block::Users } else { Block::Writers }
    }
}

fn not_locked(name: &str) -> SqlError {
    SqlError::new(
        er::TABLE_NOT_LOCKED,
        format!("Table '{name}' was not locked with LOCK TABLES"),
    )
}

fn only_read(name: &str) -> SqlError {
    SqlError::new(
        er::TABLE_NOT_LOCKED_FOR_WRITE,
        format!("Table '{name}' was locked with a READ lock and can't be updated"),
    )
}

fn conflicting_read_lock() -> SqlError {
    SqlError::new(
        er::CANT_UPDATE_WITH_READLOCK,
        "Can't execute the query because you have a conflicting read lock",
    )
}

fn take(state: &SessionState, lock: &Arc<TableLock>, block: Block) -> Result<()> {
    let locked = state.with_wait_policy(|policy| state.locks.own(lock, block, policy));
    if locked.is_err() {
        state.locks.release_owned_after(0);
    }
    locked
}

/// Error 1192.
pub(super) fn active_locks() -> SqlError {
    SqlError::new(
        er::LOCK_OR_ACTIVE_TRANSACTION,
        "Can't execute the given command because you have active locked tables or an active transaction",
    )
}

/// The lock of LOCK INSTANCE FOR BACKUP, which every change of definitions uses, too.
fn instance_lock(state: &SessionState) -> Arc<TableLock> {
    state.database.dictionary().locks().instance()
}

/// The lock that every change of definitions uses.
fn definitions_lock(state: &SessionState) -> Arc<TableLock> {
    state.database.dictionary().locks().lock(ObjectKey::global())
}

impl Session {
    pub(super) fn lock_tables(&mut self, tables: &[LockTable]) -> Result<Answer> {
        self.commit_open()?;
        self.unlock_listed_tables();
        let everything = self.transaction.locked.everything;
        let is_permanent = |lock: &&LockTable| self.state.temporary_table(&lock.table).is_none();
        let writes = tables.iter().filter(is_permanent).any(|lock| lock.write);
        if self.state.settings.read_only && writes {
            return Err(SqlError::read_only_transaction());
        }
        if everything && writes {
            return Err(conflicting_read_lock());
        }
        let mut wanted: Vec<LockedTable> = Vec::with_capacity(tables.len());
        let mut own: Vec<(&str, &str)> = Vec::new();
        for lock in tables {
            if server_tables::is_being_loaded(&self.state, &lock.table) {
                continue;
            }
            let (schema, name) = self.state.resolve(&lock.table)?;
            if self.state.temporary.find(schema, name).is_some() {
                // It is no other session's, and so it is not locked.
                match own.contains(&(schema, name)) {
                    true => return Err(SqlError::cannot_reopen(name)),
                    false => own.push((schema, name)),
                }
                continue;
            }
            if virtual_schema(schema).is_none() {
                self.state.require_database(Privileges::LOCK_TABLES, schema)?;
            }
            self.state.require_in_part(Privileges::SELECT, schema, name)?;
            let table = self.state.table(&lock.table)?;
            let alias = lock.alias.clone().unwrap_or_else(|| table.name.clone());
            let taken = |other: &LockedTable| {
                !other.through_view && other.alias == alias && other.table.schema == table.schema
            };
            if wanted.iter().any(taken) {
                return Err(SqlError::not_unique_table(&alias));
            }
            if table.is_virtual() {
                continue;
            }
            self.lock_named_by(&table, lock.write, &mut wanted);
            wanted.push(LockedTable {
                alias,
                table,
                write: lock.write,
                through_view: false,
            });
        }
        // The same order everywhere; the stronger lock of a table named twice first.
        let mut order: Vec<&LockedTable> = wanted.iter().collect();
        order.sort_by_key(|lock| (&lock.table.schema, &lock.table.name, !lock.write));
        for lock in order.into_iter().filter(|_| !everything) {
            take(&self.state, &lock.table.lock, lock.block())?;
        }
        if !self.state.settings.autocommit
            && self.state.settings.table_locks
            && let Err(error) = self.lock_for_engine(&wanted)
        {
            self.abandon_transaction();
            if !everything {
                self.state.locks.release_owned_after(0);
            }
            return Err(error);
        }
        let any = |write: bool| wanted.iter().any(|lock| lock.write == write);
        self.state.track_lock_tables(any(false), any(true));
        self.transaction.locked.tables = Some(wanted);
        Ok(Answer::ok())
    }

    /// The tables that a view names, and the views among them.
    fn lock_named_by(&self, view: &TableDef, write: bool, wanted: &mut Vec<LockedTable>) {
        for (schema, name) in view.view.iter().flat_map(|view| &view.tables) {
            let Some(table) = self.state.database.dictionary().find_table(schema, name) else {
                continue;
            };
            let known = |other: &LockedTable| {
                other.through_view && other.write >= write && Arc::ptr_eq(&other.table.lock, &table.lock)
            };
            if wanted.iter().any(known) {
                continue;
            }
            wanted.push(LockedTable {
                alias: table.name.clone(),
                table: Arc::clone(&table),
                write,
                through_view: true,
            });
            self.lock_named_by(&table, write, wanted);
        }
    }

    fn lock_for_engine(&mut self, tables: &[LockedTable]) -> Result<()> {
        self.open_for_locks();
        let database = Arc::clone(&self.state.database);
        for lock in tables.iter().filter(|lock| !lock.table.is_view()) {
            let table = database.engine().table(lock.table.id)?;
            let mode = match lock.write {
                true => LockMode::Exclusive,
                false => LockMode::Shared,
            };
            self.txn.lock_table(&table, mode, LockWait::Wait)?;
        }
        Ok(())
    }

    /// FLUSH TABLES WITH READ LOCK. It waits for the transactions that have written.
    pub(super) fn lock_everything(&mut self) -> Result<Answer> {
        if self.transaction.locked.tables.is_some() {
            return Err(active_locks());
        }
        if self.transaction.locked.everything {
            return Ok(Answer::ok());
        }
        let dictionary = self.state.database.dictionary();
        take(&self.state, &definitions_lock(&self.state), Block::Writers)?;
        for schema in dictionary.schema_names() {
            for table in dictionary.tables(&schema) {
                take(&self.state, &table.lock, Block::Writers)?;
            }
        }
        self.transaction.locked.everything = true;
        Ok(Answer::ok())
    }

    /// LOCK INSTANCE FOR BACKUP: waits for the changes of definitions under way.
    pub(super) fn lock_instance(&mut self) -> Result<Answer> {
        self.state
            .require_global(Privileges::BACKUP_ADMIN, "BACKUP_ADMIN")?;
        if self.transaction.instance.is_none() {
            let state = &self.state;
            // It outlives what UNLOCK TABLES gives up, and so has a holder of its own.
            let holder = state
                .database
                .dictionary()
                .locks()
                .holder(state.info.connection_id);
            let lock = instance_lock(state);
            state.with_wait_policy(|policy| holder.own(&lock, Block::Writers, policy))?;
            self.transaction.instance = Some(holder);
        }
        Ok(Answer::ok())
    }

    /// UNLOCK INSTANCE
    pub(super) fn unlock_instance(&mut self) -> Result<Answer> {
        self.state
            .require_global(Privileges::BACKUP_ADMIN, "BACKUP_ADMIN")?;
        self.transaction.instance = None;
        Ok(Answer::ok())
    }

    /// LOCK TABLES and FLUSH TABLES WITH READ LOCK end.
    fn unlock_tables(&mut self) {
        let locked = std::mem::take(&mut self.transaction.locked);
        self.state.track_unlock_tables();
        if locked.everything || locked.tables.is_some() {
            self.state.locks.release_owned_after(0);
        }
    }

    /// BEGIN and another LOCK TABLES end LOCK TABLES, but not FLUSH TABLES WITH READ LOCK.
    pub(super) fn unlock_listed_tables(&mut self) {
        self.state.track_unlock_tables();
        if self.transaction.locked.tables.take().is_some() && !self.transaction.locked.everything {
            self.state.locks.release_owned_after(0);
        }
    }

    /// UNLOCK TABLES commits only if it ends LOCK TABLES.
    pub(super) fn unlock_tables_statement(&mut self) -> Result<()> {
        if self.transaction.locked.tables.is_some() {
            self.commit_open()?;
        }
        self.unlock_tables();
        Ok(())
    }

    /// Whether the session may use the tables of a plan, which nearly always has locked none.
    #[inline]
    pub(super) fn check_locked_uses(&self, plan: &StatementPlan) -> Result<()> {
        let Locked { tables, everything } = &self.transaction.locked;
        if tables.is_none() && !everything {
            return Ok(());
        }
        let mut uses = plan.uses().iter();
        uses.try_for_each(|used| match used.table.is_virtual() || used.table.temporary {
            true => Ok(()),
            false => self.check_locked_tables(used),
        })
    }

    /// Under LOCK TABLES only the locked tables may be used, by the names they were locked under. Errors 1099 and 1100,
    /// and 1223 for a write under one's own FLUSH TABLES WITH READ LOCK.
    #[inline]
    pub(super) fn check_locked_tables(&self, used: &TableUse) -> Result<()> {
        let Locked { tables, everything } = &self.transaction.locked;
        match tables {
            None if *everything && used.mode == Mode::Write => Err(conflicting_read_lock()),
            None => Ok(()),
            Some(_) if used.implied => Ok(()),
            Some(locked) => {
                // By its name, which has one lock: a table that was made anew is still locked.
                let same_table = |lock: &LockedTable| Arc::ptr_eq(&lock.table.lock, &used.table.lock);
                let means = |lock: &&LockedTable| match used.through_view {
                    true => lock.through_view && same_table(lock),
                    false => lock.alias == used.name() && same_table(lock),
                };
                match locked.iter().find(means) {
                    None => Err(not_locked(used.name())),
                    Some(lock) if used.mode == Mode::Write && !lock.write => Err(only_read(used.name())),
                    Some(_) => Ok(()),
                }
            }
        }
    }

    /// The same for tables whose definitions change.
    pub(super) fn check_locked_definitions(&self, statement: &Statement) -> Result<()> {
        let Locked { tables, everything } = &self.transaction.locked;
        let locked = match tables {
            None if *everything => return Err(conflicting_read_lock()),
            None => return Ok(()),
            Some(locked) => locked,
        };
        if matches!(
            statement,
            Statement::CreateDatabase { .. }
                | Statement::AlterDatabase { .. }
                | Statement::DropDatabase { .. }
        ) {
            return Err(active_locks());
        }
        for name in changed_tables(statement) {
            let (schema, table) = self.state.resolve(name)?;
            let drops = matches!(statement, Statement::DropTable { .. });
            if drops && self.state.temporary.find(schema, table).is_some() {
                continue;
            }
            let means = |lock: &&LockedTable| {
                !lock.through_view && lock.table.schema == schema && lock.table.name == *table
            };
            match locked.iter().find(means) {
                None => return Err(not_locked(table)),
                Some(lock) if !lock.write => return Err(only_read(table)),
                Some(_) => {}
            }
        }
        match everything {
            true => Err(conflicting_read_lock()),
            false => Ok(()),
        }
    }

    /// FLUSH TABLES under LOCK TABLES: error 1099 for the first table that is locked for reading.
    pub(super) fn check_locked_flush(&self) -> Result<()> {
        let locked = self.transaction.locked.tables.iter().flatten();
        let mut for_reading = locked.filter(|lock| !lock.write && !lock.table.is_view());
        for_reading
            .next()
            .map_or(Ok(()), |lock| Err(only_read(&lock.table.name)))
    }

    /// The same for a table whose definition CREATE TEMPORARY TABLE … LIKE takes.
    pub(super) fn check_locked_source(&self, name: &ObjectName) -> Result<()> {
        let Some(locked) = &self.transaction.locked.tables else {
            return Ok(());
        };
        let (schema, table) = self.state.resolve(name)?;
        let is_locked = |lock: &LockedTable| lock.table.schema == schema && lock.table.name == table;
        match self.state.temporary.find(schema, table).is_some() || locked.iter().any(is_locked) {
            true => Ok(()),
            false => Err(not_locked(table)),
        }
    }

    /// The same for a table that is looked through, or made anew (OPTIMIZE).
    pub(super) fn check_locked_maintenance(&self, kind: MaintenanceKind, table: &TableDef) -> Result<()> {
        self.check_locked(table, kind == MaintenanceKind::Optimize)
    }

    /// The same for a table that is changed or only read.
    pub(super) fn check_locked(&self, table: &TableDef, changes: bool) -> Result<()> {
        if table.temporary {
            return Ok(());
        }
        let Locked { tables, everything } = &self.transaction.locked;
        match tables {
            None if *everything && changes => Err(conflicting_read_lock()),
            None => Ok(()),
            Some(locked) => {
                let of_table = locked
                    .iter()
                    .filter(|lock| Arc::ptr_eq(&lock.table.lock, &table.lock));
                match of_table.map(|lock| lock.write).max() {
                    None => Err(not_locked(&table.name)),
                    Some(false) if changes => Err(only_read(&table.name)),
                    Some(_) => Ok(()),
                }
            }
        }
    }

    /// Changes definitions, once no session holds FLUSH TABLES WITH READ LOCK.
    pub(super) fn with_definitions<T>(&self, f: impl FnOnce(&SessionState) -> Result<T>) -> Result<T> {
        let state = &self.state;
        if self.transaction.locked.everything {
            return f(state);
        }
        using_definitions(state, self.transaction.instance.is_some(), || f(state))
    }
}

/// Changes definitions, once no other session holds FLUSH TABLES WITH READ LOCK, or LOCK INSTANCE FOR BACKUP unless this one has it
/// as well (`has_instance`).
pub(super) fn using_definitions<T>(
    state: &SessionState,
    has_instance: bool,
    f: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let using = |lock: Arc<TableLock>| {
        state.with_wait_policy(|policy| state.locks.use_table(&lock, Mode::Write, policy))
    };
    let used = using(definitions_lock(state)).and_then(|()| match has_instance {
        true => Ok(()),
        false => using(instance_lock(state)),
    });
    let result = used.and_then(|()| f());
    state.locks.release_used();
    result
}

/// The tables whose definitions a statement changes.
fn changed_tables(statement: &Statement) -> Vec<&ObjectName> {
    match statement {
        Statement::CreateTable(create) => vec![&create.name],
        Statement::AlterTable(alter) => vec![&alter.name],
        Statement::DropTable { tables, .. } => tables.iter().collect(),
        Statement::TruncateTable(name) => vec![name],
        Statement::RenameTable(list) => list.iter().map(|(from, _)| from).collect(),
        Statement::CreateIndex { table, .. } | Statement::DropIndex { table, .. } => vec![table],
        _ => Vec::new(),
    }
}
