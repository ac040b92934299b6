//! SHOW.

use super::{Expr, ObjectName, UserName};

/// SHOW
#[derive(Debug, Clone, PartialEq)]
pub struct Show {
    /// What is shown.
    pub what: ShowKind,
    /// Which rows of it.
    pub filter: ShowFilter,
}

/// What SHOW PROFILE shows beside status and duration: a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProfileColumns(u8);

impl ProfileColumns {
    /// Processor time.
    pub const CPU: ProfileColumns = ProfileColumns(1);
    /// Switches to other threads.
    pub const SWITCHES: ProfileColumns = ProfileColumns(2);
    /// Blocks read and written.
    pub const BLOCKS: ProfileColumns = ProfileColumns(4);
    /// Messages sent and received.
    pub const MESSAGES: ProfileColumns = ProfileColumns(8);
    /// Page faults.
    pub const FAULTS: ProfileColumns = ProfileColumns(16);
    /// Swaps.
    pub const SWAPS: ProfileColumns = ProfileColumns(32);
    /// Where in the source.
    pub const SOURCE: ProfileColumns = ProfileColumns(64);
    /// All of them.
    pub const ALL: ProfileColumns = ProfileColumns(127);

    /// These and the others.
    pub fn with(self, others: ProfileColumns) -> ProfileColumns {
        ProfileColumns(self.0 | others.0)
    }

    /// Whether the others are among these.
    pub fn has(self, others: ProfileColumns) -> bool {
        self.0 & others.0 == others.0
    }
}

/// The LIKE or WHERE of a SHOW.
#[derive(Debug, Clone, PartialEq)]
pub enum ShowFilter {
    /// All rows.
    None,
    /// `LIKE 'pattern'`, on the first column.
    Like(Vec<u8>),
    /// `WHERE expr` over the columns of the result.
    Where(Expr),
}

/// A kind of stored program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProgramKind {
    /// A stored procedure.
    Procedure,
    /// A stored function.
    Function,
    /// A trigger.
    Trigger,
    /// A scheduled event.
    Event,
}

/// What is shown.
#[derive(Debug, Clone, PartialEq)]
pub enum ShowKind {
    /// `SHOW DATABASES`, `SHOW SCHEMAS`
    Databases,
    /// `SHOW [FULL] TABLES [FROM schema]`
    Tables {
        /// The schema as written; `None`: the current one.
        schema: Option<String>,
        /// `FULL`: the type of each table, too.
        full: bool,
    },
    /// `SHOW TABLE STATUS [FROM schema]`
    TableStatus {
        /// The schema as written; `None`: the current one.
        schema: Option<String>,
    },
    /// `SHOW [FULL] COLUMNS FROM t`, `SHOW FIELDS`
    Columns {
        /// The table; a schema written behind it is its schema.
        table: ObjectName,
        /// `FULL`: collation, privileges and comment, too.
        full: bool,
    },
    /// `SHOW INDEX FROM t`, `SHOW KEYS`
    Index {
        /// The table; a schema written behind it is its schema.
        table: ObjectName,
    },
    /// `SHOW CREATE TABLE t`
    CreateTable(ObjectName),
    /// `SHOW CREATE VIEW v`
    CreateView(ObjectName),
    /// `SHOW CREATE DATABASE [IF NOT EXISTS] name`
    CreateDatabase {
        /// The schema's name as written.
        name: String,
        /// `IF NOT EXISTS`: shown in the statement that is the result.
        if_not_exists: bool,
    },
    /// `SHOW CREATE USER user`
    CreateUser(UserName),
    /// `SHOW [GLOBAL | SESSION] VARIABLES`
    Variables {
        /// `GLOBAL`; else the session's values.
        global: bool,
    },
    /// `SHOW [GLOBAL | SESSION] STATUS`
    Status {
        /// `GLOBAL`; else the session's counters.
        global: bool,
    },
    /// `SHOW [FULL] PROCESSLIST`
    ProcessList {
        /// `FULL`: whole statements rather than their first 100 characters.
        full: bool,
    },
    /// `SHOW WARNINGS [LIMIT …]`
    Warnings {
        /// (rows skipped, rows at most); `None`: all.
        limit: Option<(u64, u64)>,
    },
    /// `SHOW ERRORS [LIMIT …]`
    Errors {
        /// (rows skipped, rows at most); `None`: all.
        limit: Option<(u64, u64)>,
    },
    /// `SHOW COUNT(*) WARNINGS`
    CountWarnings,
    /// `SHOW COUNT(*) ERRORS`
    CountErrors,
    /// `SHOW [STORAGE] ENGINES`
    Engines,
    /// `SHOW ENGINE name STATUS` and the like.
    EngineStatus {
        /// The engine's name as it is written.
        engine: String,
        /// The word behind it, upper-cased: `STATUS`, `MUTEX`, …
        what: String,
    },
    /// `SHOW CHARACTER SET`
    Charset,
    /// `SHOW COLLATION`
    Collation,
    /// `SHOW GRANTS [FOR user [USING role, …]]`
    Grants {
        /// Whose grants; `None`: the current user's.
        user: Option<UserName>,
        /// The roles whose grants are shown as if they were the user's own.
        using: Vec<UserName>,
    },
    /// `SHOW PRIVILEGES`
    Privileges,
    /// `SHOW PLUGINS`
    Plugins,
    /// `SHOW OPEN TABLES [FROM schema]`
    OpenTables {
        /// The schema as written; `None`: all.
        schema: Option<String>,
    },
    /// `SHOW TRIGGERS [FROM schema]`
    Triggers {
        /// The schema as written; `None`: the current one.
        schema: Option<String>,
    },
    /// `SHOW EVENTS [FROM schema]`
    Events {
        /// The schema as written; `None`: the current one.
        schema: Option<String>,
    },
    /// `SHOW PROCEDURE STATUS`
    ProcedureStatus,
    /// `SHOW FUNCTION STATUS`
    FunctionStatus,
    /// `SHOW MASTER STATUS`, `SHOW BINARY LOG STATUS`
    MasterStatus,
    /// `SHOW BINARY LOGS`, `SHOW MASTER LOGS`
    BinaryLogs,
    /// `SHOW REPLICA STATUS`, `SHOW SLAVE STATUS`
    ReplicaStatus {
        /// `FOR CHANNEL`
        channel: Option<String>,
    },
    /// `SHOW REPLICAS`, `SHOW SLAVE HOSTS`
    Replicas,
    /// `SHOW BINLOG EVENTS`
    BinlogEvents,
    /// `SHOW RELAYLOG EVENTS`
    RelaylogEvents {
        /// `FOR CHANNEL`
        channel: Option<String>,
    },
    /// `SHOW CREATE PROCEDURE`, `FUNCTION`, `TRIGGER`, `EVENT`
    CreateProgram {
        /// What it would be.
        kind: ProgramKind,
        /// Its name.
        name: ObjectName,
    },
    /// `SHOW PROFILES`
    Profiles,
    /// `SHOW PROFILE [type, …] [FOR QUERY n] [LIMIT …]`
    Profile {
        /// What is shown beside status and duration.
        columns: ProfileColumns,
        /// Of which statement; `None`: the last.
        query: Option<u64>,
        /// Offset and count.
        limit: Option<(u64, u64)>,
    },
}
