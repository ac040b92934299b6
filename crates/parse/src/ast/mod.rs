//! The syntax tree: what a statement says, before anybody asks whether it makes sense.
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
mod query;
mod session;
mod show;

pub use account::*;
pub use change::*;
pub use definition::*;
pub use expr::*;
pub use query::*;
pub use session::*;
pub use show::*;

use std::fmt;

/// A statement of the supported language, or the name of one that is recognised but not supported.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// Comments alone. It is executed, and does nothing.
    Empty,
    Query(Box<Query>),
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    Do(Vec<Expr>),
    Explain(Box<Explain>),

    Begin(BeginOptions),
    Commit {
        chain: bool,
        release: bool,
    },
    Rollback {
        chain: bool,
        release: bool,
    },
    Savepoint(String),
    RollbackTo(String),
    ReleaseSavepoint(String),
    SetTransaction(SetTransaction),

    Prepare {
        name: String,
        source: PrepareSource,
    },
    /// `EXECUTE name USING @a, @b`
    Execute {
        name: String,
        using: Vec<String>,
    },
    Deallocate(String),

    Set(Vec<SetItem>),
    Use(String),
    Show(Show),
    /// `DESCRIBE t [column or pattern]`; plain `EXPLAIN t` too.
    Describe {
        table: ObjectName,
        column: Option<String>,
    },
    Kill {
        id: Expr,
        query_only: bool,
    },
    /// `FLUSH …`; the options as written, upper-cased words.
    Flush(Vec<String>),
    LockTables(Vec<LockTable>),
    UnlockTables,

    CreateDatabase {
        name: String,
        if_not_exists: bool,
        charset: Option<String>,
        collation: Option<String>,
    },
    AlterDatabase {
        name: Option<String>,
        charset: Option<String>,
        collation: Option<String>,
    },
    DropDatabase {
        name: String,
        if_exists: bool,
    },
    CreateTable(Box<CreateTable>),
    AlterTable(Box<AlterTable>),
    DropTable {
        tables: Vec<ObjectName>,
        if_exists: bool,
        temporary: bool,
    },
    /// `DROP VIEW`; there are no views, but IF EXISTS must answer.
    DropView {
        views: Vec<ObjectName>,
        if_exists: bool,
    },
    TruncateTable(ObjectName),
    /// `RENAME TABLE a TO b, …`
    RenameTable(Vec<(ObjectName, ObjectName)>),
    CreateIndex {
        table: ObjectName,
        index: IndexDef,
        if_not_exists: bool,
    },
    DropIndex {
        table: ObjectName,
        index: String,
    },
    /// ANALYZE, OPTIMIZE, CHECK, REPAIR, CHECKSUM TABLE.
    TableMaintenance {
        kind: MaintenanceKind,
        tables: Vec<ObjectName>,
    },

    CreateUser {
        users: Vec<UserSpec>,
        options: AccountOptions,
        if_not_exists: bool,
    },
    AlterUser {
        users: Vec<UserSpec>,
        options: AccountOptions,
        if_exists: bool,
    },
    DropUser {
        users: Vec<UserName>,
        if_exists: bool,
    },
    RenameUser(Vec<(UserName, UserName)>),
    SetPassword {
        user: Option<UserName>,
        password: Vec<u8>,
    },
    Grant(Grant),
    Revoke(Revoke),

    /// Recognised, answered with error 1235; the text names the thing.
    Unsupported(String),
}

/// `[schema.]name`
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectName {
    pub schema: Option<String>,
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
    pub schema: Option<String>,
    pub table: Option<String>,
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
