//! INSERT, REPLACE, UPDATE, DELETE, and EXPLAIN of these and of queries.

use super::{ColumnName, Expr, ObjectName, OrderItem, Query, Statement, TableRef};

/// INSERT and REPLACE.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    pub replace: bool,
    pub ignore: bool,
    pub table: ObjectName,
    /// Empty: all columns in order.
    pub columns: Vec<String>,
    pub source: InsertSource,
    /// `VALUES (…) AS new (a, b)`
    pub row_alias: Option<(String, Vec<String>)>,
    pub on_duplicate: Vec<Assignment>,
}

/// What is inserted.
#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    /// `INSERT … SET a = 1` arrives here too. An empty row means all defaults.
    Values(Vec<Vec<Expr>>),
    Query(Box<Query>),
}

/// `column = value`
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    pub column: ColumnName,
    pub value: Expr,
}

/// UPDATE
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    pub ignore: bool,
    pub tables: Vec<TableRef>,
    pub assignments: Vec<Assignment>,
    pub filter: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Expr>,
}

/// DELETE
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    pub ignore: bool,
    /// Multi-table form: the tables whose rows go; empty in the single-table form.
    pub targets: Vec<ObjectName>,
    pub from: Vec<TableRef>,
    pub filter: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Expr>,
}

/// FORMAT = …
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainFormat {
    Traditional,
    Tree,
    Json,
}

/// EXPLAIN of a statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Explain {
    pub format: ExplainFormat,
    pub analyze: bool,
    pub statement: Statement,
}
