//! The syntax tree: a statement's form, before names are looked up and types are checked.
//!
//! One `Statement` per SQL statement. Queries and data changes are planned (`plan`), everything else is carried out by
//! the session, the DDL module or the SHOW module, which read the variants below directly. The tree keeps names as
//! they were written (case folding is a matter of the dictionary and of column lookup) and string literals as bytes,
//! because a literal may hold binary data in any character set.
//!
//! Here are statements and names; the files below have what they are made of, all under the one name `ast`.

mod account;
mod change;
mod definition;
mod expr;
mod file;
mod handler;
mod hint;
mod json_table;
mod kind;
mod program;
mod query;
mod session;
mod show;
mod view;
mod walk;
mod window;

pub use account::*;
pub use change::*;
pub use definition::*;
pub use expr::*;
pub use file::*;
pub use handler::*;
pub use hint::*;
pub use json_table::*;
pub use kind::{Class, Facts, Inside, STATEMENT_KINDS, StatementKind};
pub use program::*;
pub use query::*;
pub use session::*;
pub use show::*;
pub use view::*;
pub use window::*;

use std::fmt;

/// A statement of the supported language, or the name of one that is recognised but not supported.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// Comments alone. It is executed, and does nothing.
    Empty,
    /// `SELECT …`, `VALUES ROW …`, `TABLE t`, with set operations and WITH.
    Query(Box<Query>),
    /// `INSERT …` and `REPLACE …`.
    Insert(Box<Insert>),
    /// LOAD DATA
    LoadData(Box<LoadData>),
    /// `UPDATE …`, of one table or several.
    Update(Box<Update>),
    /// `DELETE …`, of one table or several.
    Delete(Box<Delete>),
    /// `DO expr, …`: the expressions are evaluated and their values dropped.
    Do(Vec<Expr>),
    /// `EXPLAIN` or `DESCRIBE` of a statement.
    Explain(Box<Explain>),
    /// `EXPLAIN [FORMAT = …] FOR CONNECTION n`: of the statement that another session runs.
    ExplainConnection {
        /// The session's CONNECTION_ID().
        id: u64,
        /// It says `INTO @variable`, which is refused.
        into: bool,
        /// The form of the output; `None`: not written.
        format: Option<ExplainFormat>,
    },

    /// `BEGIN`, `START TRANSACTION …`.
    Begin(BeginOptions),
    /// `COMMIT [AND CHAIN] [RELEASE]`
    Commit {
        /// A transaction with the same isolation level and access mode begins at once.
        chain: bool,
        /// The connection is closed afterwards.
        release: bool,
    },
    /// `ROLLBACK [AND CHAIN] [RELEASE]`
    Rollback {
        /// A transaction with the same isolation level and access mode begins at once.
        chain: bool,
        /// The connection is closed afterwards.
        release: bool,
    },
    /// `SAVEPOINT name`; the name as written.
    Savepoint(String),
    /// `ROLLBACK TO [SAVEPOINT] name`; the name as written.
    RollbackTo(String),
    /// `RELEASE SAVEPOINT name`; the name as written.
    ReleaseSavepoint(String),
    /// `SET [GLOBAL | SESSION] TRANSACTION …`
    SetTransaction(SetTransaction),

    /// `PREPARE name FROM …`
    Prepare {
        /// The prepared statement's name as written.
        name: String,
        /// Where its text comes from.
        source: PrepareSource,
    },
    /// `EXECUTE name USING @a, @b`
    Execute {
        /// The prepared statement's name as written.
        name: String,
        /// The user variables for its `?`, without `@`, as written; empty without USING.
        using: Vec<String>,
    },
    /// `DEALLOCATE PREPARE name`, `DROP PREPARE name`; the name as written.
    Deallocate(String),

    /// `SET …` of variables, NAMES and CHARACTER SET, in the order written.
    Set(Vec<SetItem>),
    /// `USE schema`; the name as written.
    Use(String),
    /// `SHOW …`
    Show(Show),
    /// `DESCRIBE t [column or pattern]`; plain `EXPLAIN t` too.
    Describe {
        /// The table to be described.
        table: ObjectName,
        /// A column's name, or a LIKE pattern of columns if a string was written; `None`: all columns.
        column: Option<String>,
    },
    /// `KILL [CONNECTION | QUERY] id`
    Kill {
        /// The connection id, an expression without columns.
        id: Expr,
        /// `KILL QUERY`: ends the statement, not the connection.
        query_only: bool,
    },
    /// `SHUTDOWN`
    Shutdown,
    /// `RESTART`
    Restart,
    /// `INSTALL COMPONENT 'file://…', …`
    InstallComponents(Vec<String>),
    /// `UNINSTALL COMPONENT 'file://…', …`
    UninstallComponents(Vec<String>),
    /// `RESET PERSIST [[IF EXISTS] variable]`: values that were kept for the next start are forgotten.
    ResetPersist {
        /// A variable that has no value is a warning, not an error.
        if_exists: bool,
        /// `None`: all variables.
        name: Option<String>,
    },
    /// `CLONE LOCAL DATA DIRECTORY = 'path'`: the server copies its data there.
    CloneLocal(String),
    /// ALTER INSTANCE RELOAD TLS.
    ReloadTls {
        /// Without `NO ROLLBACK ON ERROR`.
        keep_on_error: bool,
    },
    /// `FLUSH …`; the options as written, upper-cased words.
    Flush(Vec<String>),
    /// `FLUSH TABLES t, … WITH READ LOCK`
    FlushTablesWithLock(Vec<ObjectName>),
    /// `HANDLER t OPEN [[AS] alias]`
    HandlerOpen {
        /// The table.
        table: ObjectName,
        /// The name that it goes by from now on, as written; `None`: its own.
        alias: Option<String>,
    },
    /// `HANDLER name READ …`
    HandlerRead(Box<HandlerRead>),
    /// `HANDLER name CLOSE`; the name as written.
    HandlerClose(String),
    /// `LOCK TABLES t READ, …`
    LockTables(Vec<LockTable>),
    /// `UNLOCK TABLES`
    UnlockTables,
    /// `LOCK INSTANCE FOR BACKUP`
    LockInstance,
    /// `UNLOCK INSTANCE`
    UnlockInstance,

    /// `CREATE DATABASE name …`, `CREATE SCHEMA name …`
    CreateDatabase {
        /// The new schema's name as written.
        name: String,
        /// `IF NOT EXISTS`: a warning rather than an error if it exists.
        if_not_exists: bool,
        /// `CHARACTER SET`, in lower case; `None`: the collation's, or the server's default.
        charset: Option<String>,
        /// `COLLATE`, in lower case; `None`: the character set's default.
        collation: Option<String>,
    },
    /// `ALTER DATABASE [name] …`, `ALTER SCHEMA [name] …`
    AlterDatabase {
        /// The schema's name as written; `None`: the current one.
        name: Option<String>,
        /// `CHARACTER SET`, in lower case; `None`: not written.
        charset: Option<String>,
        /// `COLLATE`, in lower case; `None`: not written.
        collation: Option<String>,
    },
    /// `DROP DATABASE name`, `DROP SCHEMA name`
    DropDatabase {
        /// The schema's name as written.
        name: String,
        /// `IF EXISTS`: a note rather than an error if there is none.
        if_exists: bool,
    },
    /// `CREATE TABLE …`
    CreateTable(Box<CreateTable>),
    /// `ALTER TABLE …`
    AlterTable(Box<AlterTable>),
    /// `DROP [TEMPORARY] TABLE t, …`
    DropTable {
        /// The tables, in the order written.
        tables: Vec<ObjectName>,
        /// `IF EXISTS`: a note rather than an error for each table that does not exist.
        if_exists: bool,
        /// `TEMPORARY` was written.
        temporary: bool,
    },
    /// `CREATE VIEW …`, `ALTER VIEW …`
    CreateView(Box<CreateView>),
    /// `DROP VIEW v, …`
    DropView {
        /// The views, in the order written.
        views: Vec<ObjectName>,
        /// `IF EXISTS`: a note rather than an error for each.
        if_exists: bool,
    },
    /// `TRUNCATE [TABLE] t`
    TruncateTable(ObjectName),
    /// `RENAME TABLE a TO b, …`
    RenameTable(Vec<(ObjectName, ObjectName)>),
    /// `CREATE [UNIQUE] INDEX name ON t (…)`
    CreateIndex {
        /// The table that gets the index.
        table: ObjectName,
        /// Its definition; the name is always there.
        index: IndexDef,
        /// `IF NOT EXISTS`, MariaDB's: a note rather than an error if the table has an index of this name.
        if_not_exists: bool,
        /// `ALGORITHM=…`, `LOCK=…`
        demands: Vec<AlterAction>,
    },
    /// `DROP INDEX name ON t`
    DropIndex {
        /// The table that loses the index.
        table: ObjectName,
        /// The index's name as written; `PRIMARY` is the primary key.
        index: String,
        /// `ALGORITHM=…`, `LOCK=…`
        demands: Vec<AlterAction>,
    },
    /// CHECKSUM TABLE.
    ChecksumTable {
        /// The tables, in the order written.
        tables: Vec<ObjectName>,
        /// `QUICK`: only sums that the engine keeps, which are none.
        quick: bool,
    },
    /// ANALYZE, OPTIMIZE, CHECK, REPAIR TABLE.
    TableMaintenance {
        /// Which of these statements.
        kind: MaintenanceKind,
        /// The tables, in the order written.
        tables: Vec<ObjectName>,
    },
    /// `ANALYZE TABLE t UPDATE HISTOGRAM ON …`, `… DROP HISTOGRAM ON …`
    Histogram {
        /// The tables; all but one are an error when it is executed.
        tables: Vec<ObjectName>,
        /// The columns, as written.
        columns: Vec<String>,
        /// What becomes of their histograms.
        change: HistogramChange,
    },

    /// `CREATE USER …`
    CreateUser {
        /// The accounts to create.
        users: Vec<UserSpec>,
        /// What holds for all of them.
        options: AccountOptions,
        /// `DEFAULT ROLE …`: roles that each of them is granted, and that are active after a login; empty: not written.
        default_roles: Vec<UserName>,
        /// `IF NOT EXISTS`: a note rather than an error for each that exists.
        if_not_exists: bool,
    },
    /// `ALTER USER …`
    AlterUser {
        /// The accounts to change.
        users: Vec<UserSpec>,
        /// What is changed for all of them.
        options: AccountOptions,
        /// `IF EXISTS`: a note rather than an error for each that does not exist.
        if_exists: bool,
    },
    /// `DROP USER …`
    DropUser {
        /// The accounts to drop.
        users: Vec<UserName>,
        /// `IF EXISTS`: a note rather than an error for each that does not exist.
        if_exists: bool,
    },
    /// `RENAME USER a TO b, …`, as (old, new).
    RenameUser(Vec<(UserName, UserName)>),
    /// `SET PASSWORD [FOR user] = 'password'`, `SET PASSWORD … TO RANDOM`
    SetPassword {
        /// The account; `None`: the current user's.
        user: Option<UserName>,
        /// The new password: in clear text, as bytes of the connection's character set, or one that the server makes.
        secret: AuthSecret,
        /// What becomes of the present one.
        change: SecretChange,
    },
    /// `GRANT … ON … TO …`
    Grant(Grant),
    /// `REVOKE … FROM …`
    Revoke(Revoke),

    /// `CREATE ROLE …`
    CreateRole {
        /// The roles to create.
        roles: Vec<UserName>,
        /// `IF NOT EXISTS`: a note rather than an error for each that exists.
        if_not_exists: bool,
    },
    /// `DROP ROLE …`
    DropRole {
        /// The roles to drop.
        roles: Vec<UserName>,
        /// `IF EXISTS`: a note rather than an error for each that does not exist.
        if_exists: bool,
    },
    /// `CREATE PROCEDURE …`, `CREATE FUNCTION …`
    CreateRoutine(Box<CreateRoutine>),
    /// `ALTER PROCEDURE …`, `ALTER FUNCTION …`
    AlterRoutine(Box<AlterRoutine>),
    /// `CREATE TRIGGER …`
    CreateTrigger(Box<CreateTrigger>),
    /// `CREATE EVENT …`
    CreateEvent(Box<CreateEvent>),
    /// `ALTER EVENT …`
    AlterEvent(Box<AlterEvent>),
    /// `DROP PROCEDURE | FUNCTION | TRIGGER | EVENT …`
    DropProgram {
        /// What it is.
        kind: ProgramKind,
        /// Its name.
        name: ObjectName,
        /// `IF EXISTS`: a note rather than an error if there is none.
        if_exists: bool,
    },
    /// `CALL …`
    Call(Box<Call>),
    /// `SIGNAL …`
    Signal(Box<Signal>),
    /// `RESIGNAL …`
    Resignal(Box<Signal>),
    /// `GET DIAGNOSTICS …`
    GetDiagnostics(Box<GetDiagnostics>),
    /// `GRANT role, … TO user, …`
    GrantRoles(RoleGrant),
    /// `REVOKE role, … FROM user, …`
    RevokeRoles(RoleGrant),
    /// `SET ROLE …`
    SetRole(RoleChoice),
    /// `SET DEFAULT ROLE … TO user, …`, `ALTER USER user DEFAULT ROLE …`
    SetDefaultRole {
        /// The roles that are active after a login.
        choice: RoleChoice,
        /// The accounts they are set for.
        users: Vec<UserName>,
    },

    /// Recognised, but fails with error 1235, whose text names this feature.
    Unsupported(String),
}

/// `[schema.]name`
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectName {
    /// The schema's name as written, without quotes; `None`: the current one.
    pub schema: Option<String>,
    /// The table's name as written, without quotes.
    pub name: String,
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(f, "{schema}.{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// `[[schema.]table.]column`
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ColumnName {
    /// The schema's name as written; `None`: any schema whose table is in scope.
    pub schema: Option<String>,
    /// The table's name or alias as written; `None`: any table in scope.
    pub table: Option<String>,
    /// The column's name or alias as written. Columns are compared without regard to case.
    pub column: String,
}

impl fmt::Display for ColumnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(schema) = &self.schema {
            write!(f, "{schema}.")?;
        }
        if let Some(table) = &self.table {
            write!(f, "{table}.")?;
        }
        f.write_str(&self.column)
    }
}
