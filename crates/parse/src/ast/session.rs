//! What a session carries out by itself: transactions, SET, PREPARE, LOCK TABLES.

use super::{Expr, ObjectName, Scope};

/// The options of START TRANSACTION.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BeginOptions {
    pub consistent_snapshot: bool,
    /// READ ONLY = Some(true), READ WRITE = Some(false)
    pub read_only: Option<bool>,
}

/// An isolation level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// SET TRANSACTION
#[derive(Debug, Clone, PartialEq)]
pub struct SetTransaction {
    /// None: the next transaction only.
    pub scope: Option<Scope>,
    pub isolation: Option<IsolationLevel>,
    pub read_only: Option<bool>,
}

/// What PREPARE prepares.
#[derive(Debug, Clone, PartialEq)]
pub enum PrepareSource {
    Text(Vec<u8>),
    UserVar(String),
}

/// One of the assignments of SET.
#[derive(Debug, Clone, PartialEq)]
pub enum SetItem {
    /// `@name = value`
    UserVar { name: String, value: Expr },
    /// `[GLOBAL|SESSION|@@…] name = value`; a bare word value (`ON`, `utf8mb4`) is a string literal; `DEFAULT` is
    /// `Expr::Default(None)`.
    Variable {
        scope: Option<Scope>,
        name: String,
        value: Expr,
    },
    /// `@@transaction_isolation = …` and `@@transaction_read_only = …` without a scope, by either name: for the next
    /// transaction alone.
    NextTransaction { name: String, value: Expr },
    /// `NAMES charset [COLLATE c]`; charset None is DEFAULT.
    Names {
        charset: Option<String>,
        collation: Option<String>,
    },
    /// `CHARACTER SET charset`
    CharacterSet(Option<String>),
}

/// A table of LOCK TABLES.
#[derive(Debug, Clone, PartialEq)]
pub struct LockTable {
    pub table: ObjectName,
    pub alias: Option<String>,
    pub write: bool,
}
