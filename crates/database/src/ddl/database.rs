//! CREATE, ALTER and DROP DATABASE.

use super::DdlContext;
use super::column::check_identifier;
use crate::accounts::Privileges;
use crate::context::answer::Answer;
use crate::dictionary::{SchemaDef, virtual_schema};
use crate::error::{Result, SqlError, er};
use crate::expr::collation;

impl DdlContext<'_> {
    pub(super) fn create_database(
        &self,
        name: &str,
        if_not_exists: bool,
        charset: Option<&str>,
        collation_name: Option<&str>,
    ) -> Result<Answer> {
        check_identifier(name)?;
        if name.is_empty() || name.ends_with(' ') {
            return Err(SqlError::new(
                er::WRONG_DB_NAME,
                format!("Incorrect database name '{name}'"),
            ));
        }
        self.state.require_database(Privileges::CREATE, name)?;
        let server = self.state.server_collation();
        let collation = collation(charset, collation_name)?.unwrap_or(server);
        self.own_database(name)?;
        let dictionary = self.state.database.dictionary();
        if dictionary.schema(name).is_some() {
            if !if_not_exists {
                return Err(SqlError::database_exists(name));
            }
            self.note(SqlError::database_exists(name));
            return Ok(Answer::affected(1));
        }
        let mut change = self.change()?;
        change.put_schema(SchemaDef {
            name: name.to_owned(),
            collation,
        })?;
        change.commit()?;
        Ok(Answer::affected(1))
    }

    pub(super) fn alter_database(
        &self,
        name: Option<&str>,
        charset: Option<&str>,
        collation_name: Option<&str>,
    ) -> Result<Answer> {
        let name = match name {
            Some(name) => name,
            None => self.state.current_schema()?,
        };
        self.state.require_database(Privileges::ALTER, name)?;
        self.own_database(name)?;
        let dictionary = self.state.database.dictionary();
        let schema = dictionary
            .schema(name)
            .ok_or_else(|| SqlError::unknown_database(name))?;
        let collation = collation(charset, collation_name)?.unwrap_or(schema.collation);
        let mut change = self.change()?;
        change.put_schema(SchemaDef {
            name: name.to_owned(),
            collation,
        })?;
        change.commit()?;
        Ok(Answer::affected(1))
    }

    pub(super) fn drop_database(&self, name: &str, if_exists: bool) -> Result<Answer> {
        self.state.require_database(Privileges::DROP, name)?;
        if virtual_schema(name).is_some() {
            return Err(self.state.database_denied(name));
        }
        self.own_database(name)?;
        let dictionary = self.state.database.dictionary();
        if dictionary.schema(name).is_none() {
            if !if_exists {
                return Err(SqlError::database_missing(name));
            }
            self.note(SqlError::database_missing(name));
            return Ok(Answer::ok());
        }
        let tables = dictionary.tables(name);
        for table in &tables {
            self.own_table(name, &table.name)?;
        }
        let names: Vec<(&str, &str)> = tables.iter().map(|table| (name, table.name.as_str())).collect();
        self.check_droppable(&names)?;
        let programs = self.own_programs(name)?;
        let mut change = self.change()?;
        for program in &programs {
            change.drop_program(program)?;
        }
        for table in &tables {
            if !table.is_view() {
                change.ddl.drop_table(table.id)?;
            }
            change.drop_table(name, &table.name)?;
        }
        change.drop_schema(name)?;
        change.commit()?;
        Ok(Answer::affected(tables.len() as u64))
    }
}
