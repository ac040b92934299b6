//! What a table is to SQL: names, types and options, over one table of the engine.
//!
//! A definition is immutable and shared (`Arc<TableDef>`); DDL replaces it by one with a higher version. Columns stand
//! in the engine's order. An index says itself which of the engine's indexes it is, because what `SHOW` lists is sorted
//! (primary, unique, others) and what the engine numbers is not.

use crate::expr::names_equal;
use crate::mdl::TableLock;
use crate::types::{Collation, SqlType, Value};
use std::sync::Arc;
use tidemark_engine::TableId;

/// The most parts that an index may have.
pub const KEY_PARTS_MAX: usize = 16;

/// A database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaDef {
    pub name: String,
    /// The default of its tables.
    pub collation: Collation,
}

#[derive(Clone, Debug)]
pub struct TableDef {
    /// The metadata lock of the name.
    pub lock: Arc<TableLock>,
    pub schema: String,
    pub name: String,
    /// The table of the engine that holds the rows; a new one after TRUNCATE or a table copy.
    pub id: TableId,
    /// Grows with every change of any definition; equal versions are equal definitions.
    pub version: u64,
    pub columns: Vec<ColumnDef>,
    /// As MySQL lists them: PRIMARY, unique, others.
    pub indexes: Vec<IndexDef>,
    pub options: TableOptions,
}

#[derive(Clone, Debug)]
pub struct ColumnDef {
    pub name: String,
    pub ty: SqlType,
    /// `None`: the column has no default, and an INSERT must name it. A nullable column without a DEFAULT clause has
    /// the default NULL.
    pub default: Option<ColumnDefault>,
    /// `ON UPDATE CURRENT_TIMESTAMP`.
    pub on_update_now: bool,
    pub auto_increment: bool,
    pub invisible: bool,
    /// The definition named a character set or collation, which SHOW CREATE TABLE repeats.
    pub explicit_collation: bool,
    pub comment: String,
}

#[derive(Clone, Debug)]
pub enum ColumnDefault {
    /// Already converted to the column's type.
    Literal(Value),
    /// The statement's time, in the column's precision.
    CurrentTimestamp,
    /// `DEFAULT (expression)`, as SQL text.
    Expression(String),
}

#[derive(Clone, Debug)]
pub struct IndexDef {
    pub name: String,
    /// The engine's number: 0 is the clustered index, which is the primary key.
    pub number: usize,
    pub unique: bool,
    pub visible: bool,
    pub comment: String,
    pub parts: Vec<IndexPart>,
}

#[derive(Clone, Debug)]
pub struct IndexPart {
    /// Position in [`TableDef::columns`].
    pub column: usize,
    /// Characters of a text column, bytes of a binary one.
    pub prefix: Option<u32>,
    pub descending: bool,
}

#[derive(Clone, Debug)]
pub struct TableOptions {
    /// The default of its columns.
    pub collation: Collation,
    pub comment: String,
    pub row_format: String,
    /// Seconds since 1970.
    pub created: u64,
    pub checks: Vec<CheckDef>,
}

#[derive(Clone, Debug)]
pub struct CheckDef {
    pub name: String,
    /// SQL text.
    pub expression: String,
    pub enforced: bool,
}

impl TableDef {
    /// The position of a column; names compare without case.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns
            .iter()
            .position(|column| names_equal(&column.name, name))
    }

    pub fn index(&self, name: &str) -> Option<&IndexDef> {
        self.indexes.iter().find(|index| names_equal(&index.name, name))
    }

    /// The index the engine knows under this number.
    #[inline]
    pub fn index_by_number(&self, number: usize) -> Option<&IndexDef> {
        self.indexes.iter().find(|index| index.number == number)
    }

    /// Whether its rows are made rather than stored (`information_schema`).
    #[inline]
    pub fn is_virtual(&self) -> bool {
        super::virtual_schema(&self.schema).is_some()
    }

    pub fn primary(&self) -> Option<&IndexDef> {
        self.index_by_number(0)
    }

    pub fn auto_increment(&self) -> Option<usize> {
        self.columns.iter().position(|column| column.auto_increment)
    }
}
