//! What the session's account may do, and where names lead.

use super::process::Process;
use super::state::SessionState;
use crate::accounts::{self, Level, Privileges};
use crate::dictionary::{
    TableDef, is_listed_schema, is_open_schema, is_open_table, virtual_schema, virtual_tables,
};
use crate::error::{Result, SqlError, er};
use crate::expr::AllowedColumns;
use crate::parse::ast::ObjectName;
use crate::types::Collation;
use std::sync::Arc;

impl SessionState {
    /// The database and name an object name stands for. Error 1046.
    pub fn resolve<'a>(&'a self, name: &'a ObjectName) -> Result<(&'a str, &'a str)> {
        match &name.schema {
            Some(schema) => Ok((virtual_schema(schema).unwrap_or(schema), &name.name)),
            None => Ok((self.current_schema()?, &name.name)),
        }
    }

    /// The session's temporary table that a name means.
    pub fn temporary_table(&self, name: &ObjectName) -> Option<Arc<TableDef>> {
        let (schema, name) = self.resolve(name).ok()?;
        self.temporary.find(schema, name)
    }

    /// The table a statement names, stored or virtual. Errors 1046, 1049, 1146.
    pub fn table(&self, name: &ObjectName) -> Result<Arc<TableDef>> {
        let (schema, name) = self.resolve(name)?;
        if virtual_schema(schema).is_some() {
            return virtual_tables::table(schema, name).ok_or_else(|| match is_open_schema(schema) {
                true => SqlError::unknown_table(name, schema),
                false => SqlError::no_such_table(schema, name),
            });
        }
        match self.temporary.find(schema, name) {
            Some(table) => Ok(table),
            None => self.database.dictionary().table(schema, name),
        }
    }

    /// [`SessionState::require_in_part`] of a table that a statement names, which may be a temporary one.
    pub fn require_in_part_of(&self, privileges: Privileges, name: &ObjectName) -> Result<()> {
        let (schema, name) = self.resolve(name)?;
        match self.temporary.find(schema, name) {
            Some(_) => Ok(()),
            None => self.require_in_part(privileges, schema, name),
        }
    }

    /// Error 1044, in the account's name.
    pub fn database_denied(&self, schema: &str) -> SqlError {
        let account = &self.info.account;
        accounts::database_denied(&account.user, &account.host, schema)
    }

    /// Whether the session is of the same account: by the name that it has proved to be, whatever the client called itself. As in MySQL,
    /// accounts of one name on several hosts are one here.
    pub fn is_own(&self, process: &Process) -> bool {
        process.account().0 == self.info.account.user
    }

    fn account_name(&self) -> (&str, &str) {
        (&self.info.user, &self.info.host)
    }

    /// Whether the account has one of the privileges globally.
    pub fn has_global(&self, privileges: Privileges) -> bool {
        self.rights().global.intersects(privileges)
    }

    /// Error 1227 unless the account has one of the privileges globally.
    pub fn require_global(&self, privileges: Privileges, names: &str) -> Result<()> {
        if self.has_global(privileges) {
            return Ok(());
        }
        Err(accounts::privilege_missing(names))
    }

    /// Error 1881 if rows are not to be changed while the server runs under `innodb_force_recovery`.
    pub fn refuse_forced(&self) -> Result<()> {
        match self.database.modes.is_forced() {
            false => Ok(()),
            true => Err(SqlError::new(
                er::INNODB_FORCED_RECOVERY,
                "Operation not allowed when innodb_force_recovery > 0.",
            )),
        }
    }

    /// Errors 1874 and 1290 if nothing may be changed by this account now.
    pub fn refuse_read_only(&self) -> Result<()> {
        let modes = &self.database.modes;
        if modes.is_frozen() {
            return Err(SqlError::new(
                er::INNODB_READ_ONLY,
                "InnoDB is in read only mode.",
            ));
        }
        if modes.super_read_only() {
            return Err(SqlError::option_prevents("--super-read-only"));
        }
        if modes.read_only() && !self.has_global(Privileges::ADMINISTERS_CONNECTIONS) {
            return Err(SqlError::option_prevents("--read-only"));
        }
        Ok(())
    }

    /// Error 3032 if the server is in `offline_mode` and the account may not stay in it.
    pub fn refuse_offline(&self) -> Result<()> {
        if self.database.modes.offline() && !self.has_global(Privileges::ADMINISTERS_CONNECTIONS) {
            return Err(SqlError::new(
                er::SERVER_OFFLINE_MODE,
                "The server is currently in offline mode",
            ));
        }
        Ok(())
    }

    /// Error 1045 unless the account may have the server read files.
    pub fn require_file_to_load(&self) -> Result<()> {
        if self.has_global(Privileges::FILE) {
            return Ok(());
        }
        let account = &self.info.account;
        Err(SqlError::new(
            er::ACCESS_DENIED,
            format!(
                "Access denied for user '{}'@'{}' (using password: NO)",
                account.user, account.host
            ),
        ))
    }

    /// The collation of the current database, or the server's default.
    pub fn schema_collation(&self) -> Collation {
        let schema = self.schema.as_deref();
        let found = schema.and_then(|schema| self.database.dictionary().schema(schema));
        found.map_or(Collation::DEFAULT, |schema| schema.collation)
    }

    /// Error 1044 unless the account has the privilege on the database.
    pub fn require_database(&self, privileges: Privileges, schema: &str) -> Result<()> {
        if self.rights().on_database(schema).contains(privileges) && virtual_schema(schema).is_none() {
            return Ok(());
        }
        Err(self.database_denied(schema))
    }

    /// Error 1142 unless the account has the privileges on the table. `command` is what the error text names.
    pub fn require_table(
        &self,
        privileges: Privileges,
        command: &str,
        schema: &str,
        name: &str,
    ) -> Result<()> {
        let reads = privileges == Privileges::SELECT;
        if reads && is_open_table(schema, name) {
            return Ok(());
        }
        if is_open_schema(schema) {
            return Err(self.database_denied(schema));
        }
        if self.rights().allow(privileges, schema, name) {
            return match virtual_schema(schema) {
                // What is not stored cannot be changed.
                Some(_) if !reads => Err(self.database_denied(schema)),
                _ => Ok(()),
            };
        }
        let (user, host) = self.account_name();
        Err(accounts::table_denied(command, user, host, name))
    }

    /// Error 1142 unless the account has the privilege on a table that stands for a list of the server's.
    pub fn require_held(&self, privilege: Privileges, schema: &str, name: &str) -> Result<()> {
        if self.rights().allow(privilege, schema, name) {
            return Ok(());
        }
        let (user, host) = self.account_name();
        let command = privilege.names().next().unwrap_or_default();
        Err(accounts::table_denied(command, user, host, name))
    }

    /// [`SessionState::require_table`], with the names of the privileges that are missing in the error's text.
    pub fn require_all(&self, privileges: Privileges, schema: &str, name: &str) -> Result<()> {
        let rights = self.rights();
        if rights.on_database(schema).contains(privileges) && virtual_schema(schema).is_none() {
            return Ok(());
        }
        let missing = privileges.without(rights.on_table(schema, name));
        self.require_table(
            privileges,
            &missing.names().collect::<Vec<_>>().join(", "),
            schema,
            name,
        )
    }

    /// Error 1142 unless the account may lock rows of the table as if to change them.
    pub fn require_locking(&self, schema: &str, name: &str) -> Result<()> {
        let any = Privileges::UPDATE
            .union(Privileges::DELETE)
            .union(Privileges::LOCK_TABLES);
        let rights = self.rights();
        let held = rights
            .on_table(schema, name)
            .union(rights.on_some_column(schema, name));
        if virtual_schema(schema).is_some() || held.intersects(any) {
            return Ok(());
        }
        let (user, host) = self.account_name();
        Err(accounts::table_denied(
            "SELECT with locking clause",
            user,
            host,
            name,
        ))
    }

    /// Error 1142 unless the account has each of the privileges on the table or on some of its columns.
    pub fn require_in_part(&self, privileges: Privileges, schema: &str, name: &str) -> Result<()> {
        let rights = self.rights();
        if is_open_table(schema, name) || rights.allow(privileges, schema, name) {
            return self.require_table(privileges, "", schema, name);
        }
        let missing = privileges.without(rights.on_table(schema, name));
        let missing = missing.without(rights.on_some_column(schema, name));
        if missing.is_empty() {
            return Ok(());
        }
        self.require_table(
            privileges,
            &missing.names().collect::<Vec<_>>().join(", "),
            schema,
            name,
        )
    }

    /// The columns on which the account has the privilege, if it has not got it on the whole table.
    pub fn allowed_columns(&self, privilege: Privileges, table: &TableDef) -> Option<Arc<AllowedColumns>> {
        let (schema, name) = (table.schema.as_str(), table.name.as_str());
        let rights = self.rights();
        if table.temporary || is_open_table(schema, name) || rights.allow(privilege, schema, name) {
            return None;
        }
        let columns = table.columns.iter();
        let allowed = columns.map(|column| rights.on_column(schema, name, &column.name).contains(privilege));
        let (user, host) = self.account_name();
        Some(Arc::new(AllowedColumns {
            privilege: privilege.names().next().unwrap_or_default(),
            account: format!("'{user}'@'{host}'"),
            table: name.to_owned(),
            columns: allowed.collect(),
        }))
    }

    /// What the account may do with a column, of what concerns columns. None: it is not shown the column.
    pub fn on_column(&self, table: &TableDef, column: &str) -> Privileges {
        match table.temporary || is_open_table(&table.schema, &table.name) {
            true => Privileges::ON_COLUMNS,
            false => {
                let held = self.rights().on_column(&table.schema, &table.name, column);
                held.intersection(Privileges::ON_COLUMNS)
            }
        }
    }

    /// Whether the account has a privilege on the table as a whole.
    pub fn holds_on(&self, schema: &str, name: &str) -> bool {
        let held = self.rights().on_table(schema, name);
        is_open_table(schema, name) || held.intersects(Privileges::all(Level::Table))
    }

    /// [`SessionState::holds_on`], of a table that is at hand.
    pub fn holds_on_table(&self, table: &TableDef) -> bool {
        table.temporary || self.holds_on(&table.schema, &table.name)
    }

    /// Whether SHOW may describe the table: to an account that reads the database, or that is granted something on the table.
    pub fn may_describe(&self, schema: &str, name: &str) -> bool {
        let rights = self.rights();
        is_open_table(schema, name)
            || rights.on_database(schema).contains(Privileges::SELECT)
            || rights.is_named_by_grants(schema, name)
    }

    /// Error 1142 unless [`SessionState::may_describe`].
    pub fn require_describe(&self, schema: &str, name: &str) -> Result<()> {
        if self.may_describe(schema, name) {
            return Ok(());
        }
        let (user, host) = self.account_name();
        Err(accounts::table_denied("SELECT", user, host, name))
    }

    /// Whether SHOW and information_schema list the table for this account.
    pub fn sees_table(&self, schema: &str, name: &str) -> bool {
        is_open_table(schema, name) || self.rights().sees_table(schema, name)
    }

    /// Whether SHOW DATABASES and information_schema list the database for this account.
    pub fn lists_database(&self, schema: &str) -> bool {
        let any = Privileges::all(Level::Database).union(Privileges::GRANT_OPTION);
        let rights = self.rights();
        let with_option = rights.global.intersects(Privileges::GRANT_OPTION);
        let any = match with_option {
            // Which is for no database in particular.
            true => any.without(Privileges::GRANT_OPTION),
            false => any,
        };
        is_listed_schema(schema)
            || rights.global.intersects(Privileges::SHOW_DATABASES)
            || rights.holds_in_database(any, schema)
    }

    /// Whether the account may make it the current database, and be told its tables.
    pub fn sees_database(&self, schema: &str) -> bool {
        let any = Privileges::all(Level::Database);
        is_open_schema(schema) || self.rights().holds_in_database(any, schema)
    }
}
