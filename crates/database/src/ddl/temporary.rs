//! CREATE and DROP TEMPORARY TABLE, and what is different where other statements change a temporary table.
//!
//! MySQL changes a temporary table by a copy of its rows, whatever is changed; so does ALTER TABLE here. It has no foreign keys,
//! and the names of its constraints are its own.

use super::create::begin_counter;
use super::create_filled::{Unnamed, check_names};
use super::{DdlContext, check_table_name, index};
use crate::accounts::Privileges;
use crate::context::SessionState;
use crate::context::answer::Answer;
use crate::dictionary::{ColumnDef, DefinitionChange, SchemaDef, TableDef};
use crate::error::{Result, SqlError, er};
use crate::parse::ast::{AlterAction, CreateTable, ObjectName, Statement};
use std::sync::Arc;

/// Whether a statement changes definitions of temporary tables only: nothing of it concerns other sessions, or the catalog.
pub fn is_of_temporary(state: &SessionState, statement: &Statement) -> bool {
    let is_temporary = |name: &ObjectName| state.temporary_table(name).is_some();
    match statement {
        Statement::CreateTable(create) => create.temporary,
        Statement::DropTable { temporary: true, .. } => true,
        Statement::DropTable { tables, .. } => tables.iter().all(is_temporary),
        Statement::AlterTable(alter) => is_temporary(&alter.name),
        Statement::TruncateTable(table)
        | Statement::CreateIndex { table, .. }
        | Statement::DropIndex { table, .. } => is_temporary(table),
        _ => false,
    }
}

/// Drops the engine's tables that have lost their names. One that cannot be dropped is left to the next start.
pub fn free_dropped(state: &SessionState) {
    for table in state.temporary.take_dropped() {
        let drop = || {
            let mut ddl = state.database.engine().temporary_ddl()?;
            ddl.drop_table(table)?;
            ddl.commit()
        };
        if let Err(error) = drop() {
            log::error!("a temporary table could not be dropped: {error}");
        }
    }
}

impl<'a> DdlContext<'a> {
    /// The session's temporary table of this name.
    pub(super) fn temporary(&self, schema: &str, name: &str) -> Option<Arc<TableDef>> {
        self.state.temporary.find(schema, name)
    }

    fn change_temporary(&self) -> Result<DefinitionChange<'a>> {
        let database = &self.state.database;
        let tables = &self.state.temporary;
        let mut change = database
            .dictionary()
            .change_temporary(database.engine(), tables)?;
        change.ddl.set_interrupt(self.state.process.interrupt());
        Ok(change)
    }

    /// Begins a change of this table.
    pub(super) fn change_of(&self, table: &TableDef) -> Result<DefinitionChange<'a>> {
        match table.temporary {
            true => self.change_temporary(),
            false => self.change(),
        }
    }

    /// CREATE TEMPORARY TABLE without a query. Errors 1044, 1049, 1050, and those of a definition.
    pub(super) fn create_temporary(&self, create: &CreateTable) -> Result<Answer> {
        let Some(schema) = self.may_create_temporary(create)? else {
            return Ok(Answer::ok());
        };
        let table = match &create.like {
            Some(source) => self.table_like(source, &create.name.name)?,
            None => self.define_temporary(create, &schema, Vec::new())?,
        };
        let mut change = self.change_temporary()?;
        let table = self.make_temporary(&mut change, create, table)?;
        change.put_table(table)?;
        change.commit()?;
        Ok(Answer::ok())
    }

    /// The database of the new table. `None`: IF NOT EXISTS, and there is one of the name, which is noted.
    fn may_create_temporary(&self, create: &CreateTable) -> Result<Option<Arc<SchemaDef>>> {
        // About what its definition takes; the session keeps it.
        tidemark_memory::hold(4096 * (1 + create.columns.len() as u64 / 8))?;
        let (schema, name) = self.target(&create.name)?;
        check_table_name(name)?;
        self.state
            .require_database(Privileges::CREATE_TEMPORARY_TABLES, schema)?;
        if create.partitioned {
            return Err(SqlError::new(
                er::PARTITION_NO_TEMPORARY,
                "Cannot create temporary table with partitions",
            ));
        }
        let dictionary = self.state.database.dictionary();
        let database = dictionary
            .schema(schema)
            .ok_or_else(|| SqlError::unknown_database(schema))?;
        if let Some(source) = &create.like
            && self.state.resolve(source)? == (schema, name)
        {
            return Err(SqlError::not_unique_table(name));
        }
        if self.temporary(schema, name).is_none() {
            return Ok(Some(database));
        }
        if !create.if_not_exists {
            return Err(SqlError::table_exists(name));
        }
        self.note(SqlError::table_exists(name));
        Ok(None)
    }

    fn define_temporary(
        &self,
        create: &CreateTable,
        schema: &SchemaDef,
        selected: Vec<ColumnDef>,
    ) -> Result<TableDef> {
        refuse_compression(create)?;
        if super::create::has_foreign_keys(create) {
            return Err(no_foreign_keys());
        }
        self.define(create, &schema.name, schema.collation, selected)
    }

    /// The engine's table of a definition, and the definition as it will be found.
    fn make_temporary(
        &self,
        change: &mut DefinitionChange<'_>,
        create: &CreateTable,
        mut table: TableDef,
    ) -> Result<TableDef> {
        let (schema, name) = self.target(&create.name)?;
        self.require_primary(&table.indexes)?;
        table.schema = schema.to_owned();
        table.name = name.to_owned();
        table.temporary = true;
        table.lock = TableDef::private_lock();
        let engine_schema = index::table_schema(&table.columns, &table.indexes);
        table.id = change.ddl.create_table(&engine_schema)?;
        begin_counter(change, create, table.id)?;
        Ok(table)
    }

    /// Drops temporary tables; their rows stay until the transaction has ended.
    pub(super) fn drop_temporary(&self, names: &[(&str, &str)]) {
        for (schema, name) in names {
            self.state.temporary.drop_later(schema, name);
        }
        if !self.state.in_transaction.get() {
            free_dropped(self.state);
        }
    }
}

/// What CREATE TEMPORARY TABLE … SELECT looks at before its query: the database of the new table. `None`: IF NOT EXISTS, and
/// there is one of the name, which is noted.
pub fn may_create(state: &SessionState, create: &CreateTable) -> Result<Option<Arc<SchemaDef>>> {
    DdlContext::new(state).may_create_temporary(create)
}

/// Makes a temporary table that gets its name when it has its rows, with these columns of the query that has them.
pub fn make_unnamed(
    state: &SessionState,
    create: &CreateTable,
    schema: &SchemaDef,
    selected: Vec<ColumnDef>,
) -> Result<Unnamed> {
    let run = DdlContext::new(state);
    check_names(&selected)?;
    let table = run.define_temporary(create, schema, selected)?;
    let mut change = run.change_temporary()?;
    let def = Arc::new(run.make_temporary(&mut change, create, table)?);
    change.commit()?;
    let table = state.database.engine().table(def.id)?;
    Ok(Unnamed { def, table })
}

/// Gives the table its name.
pub fn publish(state: &SessionState, table: &Unnamed) -> Result<()> {
    let mut change = DdlContext::new(state).change_temporary()?;
    change.put_table(TableDef::clone(&table.def))?;
    change.commit()
}

/// Drops the table, when the transaction that has put rows into it has ended.
pub fn discard(state: &SessionState, table: &Unnamed) {
    state.temporary.drop_unnamed(table.def.id);
    if !state.in_transaction.get() {
        free_dropped(state);
    }
}

/// Error 3500.
fn refuse_compression(create: &CreateTable) -> Result<()> {
    match create.options.row_format.as_deref() {
        Some("COMPRESSED") => Err(SqlError::new(
            er::UNSUPPORT_COMPRESSED_TEMPORARY_TABLE,
            "CREATE TEMPORARY TABLE is not allowed with ROW_FORMAT=COMPRESSED or KEY_BLOCK_SIZE.",
        )),
        _ => Ok(()),
    }
}

/// Error 1215 for a foreign key that ALTER TABLE would add.
pub(super) fn refuse_foreign_keys(actions: &[AlterAction]) -> Result<()> {
    match actions
        .iter()
        .any(|action| matches!(action, AlterAction::AddForeignKey(_)))
    {
        true => Err(no_foreign_keys()),
        false => Ok(()),
    }
}

fn no_foreign_keys() -> SqlError {
    SqlError::new(er::CANNOT_ADD_FOREIGN, "Cannot add foreign key constraint")
}
