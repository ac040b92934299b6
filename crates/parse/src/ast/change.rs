//! INSERT, REPLACE, UPDATE, DELETE, and EXPLAIN of these and of queries.

use super::{ColumnName, Expr, ObjectName, OrderItem, Query, Statement, TableRef, With};

/// INSERT and REPLACE.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    /// `REPLACE`: rows with an equal unique key are deleted first.
    pub replace: bool,
    /// `IGNORE`: errors of single rows become warnings.
    pub ignore: bool,
    /// The table that gets the rows.
    pub table: ObjectName,
    /// Empty: all columns in order.
    pub columns: Vec<String>,
    /// Where the rows come from.
    pub source: InsertSource,
    /// `VALUES (…) AS new (a, b)`: the name of the new row and of its columns, for ON DUPLICATE KEY UPDATE; no columns written: the table's.
    pub row_alias: Option<(String, Vec<String>)>,
    /// `ON DUPLICATE KEY UPDATE`; empty: not written.
    pub on_duplicate: Vec<Assignment>,
}

/// What is inserted.
#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    /// `INSERT … SET a = 1` arrives here too. An empty row means all defaults.
    Values(Vec<Vec<Expr>>),
    /// `INSERT … SELECT`, `INSERT … TABLE t`.
    Query(Box<Query>),
}

/// `column = value`
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// The column that is set.
    pub column: ColumnName,
    /// Its new value; [`Expr::Default`] is the column's default.
    pub value: Expr,
}

/// UPDATE
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// `WITH …` in front of it; `None`: not written.
    pub with: Option<With>,
    /// `IGNORE`: errors of single rows become warnings.
    pub ignore: bool,
    /// The tables before SET; one without a join is the single-table form.
    pub tables: Vec<TableRef>,
    /// `SET`, in the order written, which is the order of evaluation.
    pub assignments: Vec<Assignment>,
    /// `WHERE`; `None`: all rows.
    pub filter: Option<Expr>,
    /// `ORDER BY`: the order in which rows are changed; single-table form only.
    pub order_by: Vec<OrderItem>,
    /// `LIMIT`: rows changed at most; `None`: all. Single-table form only.
    pub limit: Option<Expr>,
}

/// DELETE
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    /// `WITH …` in front of it; `None`: not written.
    pub with: Option<With>,
    /// `IGNORE`: errors of single rows become warnings.
    pub ignore: bool,
    /// Multi-table form: the tables whose rows go; empty in the single-table form.
    pub targets: Vec<ObjectName>,
    /// The tables that rows are looked up in; exactly one in the single-table form.
    pub from: Vec<TableRef>,
    /// `WHERE`; `None`: all rows.
    pub filter: Option<Expr>,
    /// `ORDER BY`: the order in which rows are deleted; single-table form only.
    pub order_by: Vec<OrderItem>,
    /// `LIMIT`: rows deleted at most; `None`: all. Single-table form only.
    pub limit: Option<Expr>,
}

/// FORMAT = …
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainFormat {
    /// `FORMAT=TRADITIONAL`, the default: a row for each table.
    Traditional,
    /// `FORMAT=TREE`: the operators, indented.
    Tree,
    /// `FORMAT=JSON`
    Json,
}

/// EXPLAIN of a statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Explain {
    /// The form of the output; `None`: not written.
    pub format: Option<ExplainFormat>,
    /// `ANALYZE`: the statement is run, and what was measured is shown.
    pub analyze: bool,
    /// `INTO @variable`: what gets the result.
    pub into: Option<String>,
    /// `FOR SCHEMA name`: the database in which it is explained.
    pub schema: Option<String>,
    /// A query, INSERT, REPLACE, UPDATE or DELETE.
    pub statement: Statement,
}
