//! CREATE TABLE … SELECT: a table that has its rows when it gets its name.
//!
//! ```text
//!   change of definitions     the statement's transaction      change of definitions
//!   a table without a name,   its rows, committed              the name; the note is struck out
//!   noted as unfinished
//! ```
//!
//! Invariant: at every moment the table either has its name and all rows, or is noted as unfinished, and no statement can name
//! it. An error drops it; after a crash the next start does. The name is owned from the first step to the last. No change of
//! definitions is open while the rows are read: the query may wait for locks of a transaction that is about to change
//! definitions itself.
//!
//! What the query means, and how it is run, is for the floors above: they hand its columns down.

use super::create::begin_counter;
use super::{DdlContext, index};
use crate::accounts::Privileges;
use crate::context::SessionState;
use crate::dictionary::{ColumnDef, TableDef};
use crate::error::{Result, SqlError, er};
use crate::parse::ast::CreateTable;
use std::sync::Arc;
use tidemark_engine::{Table, failpoint};

/// A table that a statement is to make. The metadata locks it took end with it.
pub struct NewTable<'a> {
    run: DdlContext<'a>,
    create: &'a CreateTable,
    schema: String,
    name: String,
}

/// Columns and keys, and the engine's table behind them, which no name leads to yet.
pub struct Unnamed {
    /// The definition, as it will be found under the table's name.
    pub def: Arc<TableDef>,
    /// Where the rows go.
    pub table: Arc<Table>,
}

/// A table that is there and has no name yet. It gets that, or is dropped.
pub struct Unfinished<'a> {
    new: NewTable<'a>,
    /// What rows are put into.
    pub unnamed: Unnamed,
}

impl<'a> NewTable<'a> {
    /// Errors 1044, 1049, 1103 and 1142 if the account may not make the table and fill it.
    pub fn allowed(state: &'a SessionState, create: &'a CreateTable) -> Result<NewTable<'a>> {
        let run = DdlContext::new(state);
        let (schema, name) = run.may_create(create, Privileges::CREATE.union(Privileges::INSERT))?;
        let (schema, name) = (schema.to_owned(), name.to_owned());
        if state.database.dictionary().schema(&schema).is_none() {
            return Err(SqlError::unknown_database(&schema));
        }
        Ok(NewTable {
            run,
            create,
            schema,
            name,
        })
    }

    /// Whether there is a table of the name, which IF NOT EXISTS makes a note of: otherwise error 1050. `unless` looks at the
    /// tables that the query names, whose errors come first.
    pub fn is_taken(&self, unless: impl FnOnce() -> Result<()>) -> Result<bool> {
        let dictionary = self.run.state.database.dictionary();
        if dictionary.find_table(&self.schema, &self.name).is_none() {
            return Ok(false);
        }
        unless()?;
        self.run.is_taken(self.create, &self.schema, &self.name)
    }

    /// Keeps other sessions off the name. It may be taken by now.
    pub fn own(&self) -> Result<()> {
        self.run.own_new_table(self.create, &self.schema, &self.name)
    }

    /// Makes the table, with these columns of its query. The name is owned and free.
    pub fn make(self, selected: Vec<ColumnDef>) -> Result<Unfinished<'a>> {
        let (run, database) = (&self.run, &self.run.state.database);
        let schema = database.dictionary().schema(&self.schema);
        let schema = schema.ok_or_else(|| SqlError::unknown_database(&self.schema))?;
        check_names(&selected)?;
        let def = run.define(self.create, &self.schema, schema.collation, selected)?;
        let mut def = run.placed(def, &self.schema, &self.name)?;
        let mut change = run.change()?;
        def.id = change.create_unfinished(&index::table_schema(&def.columns, &def.indexes))?;
        begin_counter(&change, self.create, def.id)?;
        change.commit()?;
        failpoint::reach("unfinished");
        let table = database.engine().table(def.id)?;
        let def = Arc::new(def);
        Ok(Unfinished {
            new: self,
            unnamed: Unnamed { def, table },
        })
    }
}

/// Error 1166 for a column of the query whose name no column of a table may have.
pub(super) fn check_names(selected: &[ColumnDef]) -> Result<()> {
    let is_name = |name: &str| {
        !name.is_empty() && !name.ends_with(' ') && !name.contains('\0') && name.chars().count() <= 64
    };
    match selected.iter().find(|column| !is_name(&column.name)) {
        Some(column) => Err(SqlError::new(
            er::WRONG_COLUMN_NAME,
            format!("Incorrect column name '{}'", column.name),
        )),
        None => Ok(()),
    }
}

impl Unnamed {
    /// For each column of the query, the column of the table that takes its values.
    pub fn columns_of(&self, selected: usize) -> Vec<usize> {
        let all = self.def.named_columns().count();
        (all - selected..all).collect()
    }
}

impl Unfinished<'_> {
    /// Gives the table its name. Its rows are committed.
    pub fn publish(&self) -> Result<()> {
        let mut change = self.new.run.change()?;
        change.finish(self.unnamed.def.id)?;
        change.put_table(TableDef::clone(&self.unnamed.def))?;
        failpoint::reach("definitions");
        change.commit()
    }

    /// Drops the table, whose rows have been rolled back; also for a statement that was killed. If that fails, the next start does it.
    pub fn discard(self) {
        let database = &self.new.run.state.database;
        let change = database.dictionary().change(database.engine());
        let dropped = change.and_then(|mut change| {
            change.drop_unfinished(self.unnamed.def.id)?;
            change.commit()
        });
        if let Err(error) = dropped {
            log::error!("a table that could not be filled stays until the next start: {error}");
        }
    }
}
