//! SHOW.

use super::{Expr, ObjectName, UserName};

/// SHOW
#[derive(Debug, Clone, PartialEq)]
pub struct Show {
    pub what: ShowKind,
    pub filter: ShowFilter,
}

/// The LIKE or WHERE of a SHOW.
#[derive(Debug, Clone, PartialEq)]
pub enum ShowFilter {
    None,
    Like(Vec<u8>),
    /// `WHERE expr` over the columns of the result.
    Where(Expr),
}

/// What is shown.
#[derive(Debug, Clone, PartialEq)]
pub enum ShowKind {
    Databases,
    Tables {
        schema: Option<String>,
        full: bool,
    },
    TableStatus {
        schema: Option<String>,
    },
    Columns {
        table: ObjectName,
        full: bool,
    },
    Index {
        table: ObjectName,
    },
    CreateTable(ObjectName),
    CreateDatabase {
        name: String,
        if_not_exists: bool,
    },
    CreateUser(UserName),
    Variables {
        global: bool,
    },
    Status {
        global: bool,
    },
    ProcessList {
        full: bool,
    },
    Warnings {
        limit: Option<(u64, u64)>,
    },
    Errors {
        limit: Option<(u64, u64)>,
    },
    CountWarnings,
    CountErrors,
    Engines,
    /// `SHOW ENGINE INNODB STATUS` and its like; upper-cased.
    EngineStatus {
        engine: String,
        what: String,
    },
    Charset,
    Collation,
    Grants(Option<UserName>),
    Privileges,
    Plugins,
    OpenTables {
        schema: Option<String>,
    },
    Triggers {
        schema: Option<String>,
    },
    Events {
        schema: Option<String>,
    },
    ProcedureStatus,
    FunctionStatus,
    MasterStatus,
    BinaryLogs,
    ReplicaStatus,
    Profiles,
}
