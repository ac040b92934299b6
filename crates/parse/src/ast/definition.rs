//! Definitions of tables, columns and indexes, their changes, and the upkeep of tables.

use super::{Expr, ObjectName, Query, TypeName};

/// CREATE TABLE
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    pub name: ObjectName,
    pub temporary: bool,
    pub if_not_exists: bool,
    pub columns: Vec<ColumnDef>,
    /// In order of appearance; those written on a column come from `ColumnDef::key` instead.
    pub indexes: Vec<IndexDef>,
    pub foreign_keys: Vec<ForeignKey>,
    pub checks: Vec<CheckDef>,
    pub options: TableOptions,
    pub like: Option<ObjectName>,
    pub query: Option<Box<Query>>,
    /// `PARTITION BY` was written.
    pub partitioned: bool,
}

/// PRIMARY KEY or UNIQUE behind a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKey {
    Primary,
    Unique,
}

/// What stands after DEFAULT.
#[derive(Debug, Clone, PartialEq)]
pub struct DefaultValue {
    pub expr: Expr,
    /// It stands in parentheses: an expression to be evaluated for each row, be it a literal.
    pub computed: bool,
}

/// A column of CREATE or ALTER TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDef {
    pub name: String,
    pub ty: TypeName,
    /// `NOT NULL` = Some(false), `NULL` = Some(true)
    pub nullable: Option<bool>,
    pub default: Option<DefaultValue>,
    /// `ON UPDATE CURRENT_TIMESTAMP[(n)]`
    pub on_update: Option<Expr>,
    pub auto_increment: bool,
    pub key: Option<ColumnKey>,
    pub comment: Option<String>,
    /// `INVISIBLE`
    pub invisible: bool,
    /// `GENERATED ALWAYS AS (…)`; the flag says STORED.
    pub generated: Option<(Expr, bool)>,
    pub check: Option<CheckDef>,
    pub references: Option<ForeignKey>,
}

/// A CHECK constraint.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckDef {
    pub name: Option<String>,
    pub expr: Expr,
    pub text: String,
    pub enforced: bool,
}

/// A FOREIGN KEY constraint.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignKey {
    pub name: Option<String>,
    pub columns: Vec<String>,
    pub table: ObjectName,
    pub referenced: Vec<String>,
    pub on_delete: Option<String>,
    pub on_update: Option<String>,
}

/// What an index is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexKind {
    Primary,
    Unique,
    Plain,
    FullText,
    Spatial,
}

/// An index of CREATE or ALTER TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexDef {
    pub kind: IndexKind,
    pub name: Option<String>,
    pub parts: Vec<IndexPart>,
    pub comment: Option<String>,
    pub invisible: bool,
}

/// A column of an index.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexPart {
    pub column: String,
    pub length: Option<u64>,
    pub descending: bool,
    /// `((expr))`: a functional key part, 1235.
    pub expression: Option<Expr>,
}

/// `ENGINE = …` and what else stands behind the columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TableOptions {
    pub engine: Option<String>,
    pub charset: Option<String>,
    pub collation: Option<String>,
    pub auto_increment: Option<u64>,
    pub comment: Option<String>,
    pub row_format: Option<String>,
    /// Accepted and ignored: MAX_ROWS, STATS_PERSISTENT, KEY_BLOCK_SIZE, … as (NAME, value).
    pub others: Vec<(String, String)>,
}

/// ALTER TABLE
#[derive(Debug, Clone, PartialEq)]
pub struct AlterTable {
    pub name: ObjectName,
    pub actions: Vec<AlterAction>,
}

/// FIRST or AFTER a column.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnPosition {
    Last,
    First,
    After(String),
}

/// One of the changes that an ALTER TABLE lists.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterAction {
    AddColumn {
        column: ColumnDef,
        position: ColumnPosition,
    },
    ModifyColumn {
        column: ColumnDef,
        position: Option<ColumnPosition>,
    },
    ChangeColumn {
        old: String,
        column: ColumnDef,
        position: Option<ColumnPosition>,
    },
    DropColumn(String),
    RenameColumn {
        old: String,
        new: String,
    },
    SetDefault {
        column: String,
        default: Option<DefaultValue>,
    },
    AddIndex(IndexDef),
    DropIndex(String),
    DropPrimaryKey,
    RenameIndex {
        old: String,
        new: String,
    },
    RenameTo(ObjectName),
    Options(TableOptions),
    ConvertTo {
        charset: String,
        collation: Option<String>,
    },
    AddForeignKey(ForeignKey),
    DropForeignKey(String),
    AddCheck(CheckDef),
    DropConstraint(String),
    DropCheck(String),
    /// `ALTER CHECK name [NOT] ENFORCED`
    EnforceCheck {
        name: String,
        enforced: bool,
    },
    /// `ALTER INDEX name VISIBLE`
    ShowIndex {
        name: String,
        visible: bool,
    },
    /// `ENABLE/DISABLE KEYS`, `ALGORITHM=…`, `LOCK=…`, `FORCE`, `ORDER BY`: nothing to do.
    Ignored(String),
    Unsupported(String),
}

/// Which statement of table maintenance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaintenanceKind {
    Analyze,
    Optimize,
    Check,
    Repair,
    Checksum,
}
