//! What a session carries out by itself: transactions, SET, PREPARE, LOCK TABLES.

use super::{Expr, ObjectName, ScopeKeyword};

/// The options of START TRANSACTION.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BeginOptions {
    /// `WITH CONSISTENT SNAPSHOT`: the view is taken now rather than at the first read.
    pub consistent_snapshot: bool,
    /// `READ ONLY` = Some(true), `READ WRITE` = Some(false); `None`: the session's default.
    pub read_only: Option<bool>,
}

/// An isolation level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsolationLevel {
    /// `READ UNCOMMITTED`
    ReadUncommitted,
    /// `READ COMMITTED`
    ReadCommitted,
    /// `REPEATABLE READ`
    RepeatableRead,
    /// `SERIALIZABLE`
    Serializable,
}

/// SET TRANSACTION
#[derive(Debug, Clone, PartialEq)]
pub struct SetTransaction {
    /// None: the next transaction only.
    pub scope: Option<ScopeKeyword>,
    /// `ISOLATION LEVEL …`; `None`: not written.
    pub isolation: Option<IsolationLevel>,
    /// `READ ONLY` = Some(true), `READ WRITE` = Some(false); `None`: not written.
    pub read_only: Option<bool>,
}

/// What PREPARE prepares.
#[derive(Debug, Clone, PartialEq)]
pub enum PrepareSource {
    /// `FROM 'text'`
    Text(Vec<u8>),
    /// `FROM @name`; the name without `@`, as written.
    UserVar(String),
}

/// One of the assignments of SET.
#[derive(Debug, Clone, PartialEq)]
pub enum SetItem {
    /// `@name = value`
    UserVar {
        /// The variable's name without `@`, as written.
        name: String,
        /// Its new value.
        value: Expr,
    },
    /// `[GLOBAL|SESSION|@@…] name = value`; a bare word value (`ON`, `utf8mb4`) is a string literal; `DEFAULT` is
    /// `Expr::Default(None)`.
    Variable {
        /// The scope as written; `None`: the session's.
        scope: Option<ScopeKeyword>,
        /// The variable's name in lower case.
        name: String,
        /// Its new value.
        value: Expr,
    },
    /// `@@transaction_isolation = …` and `@@transaction_read_only = …` without a scope, by either name: for the next
    /// transaction alone.
    NextTransaction {
        /// The variable's name in lower case.
        name: String,
        /// Its new value.
        value: Expr,
    },
    /// `NAMES charset [COLLATE c]`; charset None is DEFAULT.
    Names {
        /// The character set's name as written; `None`: DEFAULT.
        charset: Option<String>,
        /// The collation's name as written; `None`: the character set's default.
        collation: Option<String>,
    },
    /// `CHARACTER SET charset`; the name as written, `None`: DEFAULT.
    CharacterSet(Option<String>),
}

/// A table of LOCK TABLES.
#[derive(Debug, Clone, PartialEq)]
pub struct LockTable {
    /// The table.
    pub table: ObjectName,
    /// `[AS] alias`: statements may use the table only by this name; `None`: not written.
    pub alias: Option<String>,
    /// `WRITE` rather than `READ`.
    pub write: bool,
}
