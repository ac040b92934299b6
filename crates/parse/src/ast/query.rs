//! Queries: blocks, set operations, what stands in FROM.

use super::{Expr, ObjectName};
use std::sync::Arc;

/// A query: SELECT, UNION and their kin, with its WITH, ORDER BY and LIMIT.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub with: Option<With>,
    pub body: QueryBody,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Limit>,
    pub locks: Vec<LockClause>,
    pub into: Option<Into>,
}

/// WITH
#[derive(Debug, Clone, PartialEq)]
pub struct With {
    /// Shared with the planner, which keeps those in scope.
    pub tables: Vec<Arc<CommonTable>>,
}

/// A common table expression.
#[derive(Debug, Clone, PartialEq)]
pub struct CommonTable {
    /// WITH RECURSIVE: its query may name it.
    pub recursive: bool,
    pub name: String,
    pub columns: Vec<String>,
    pub query: Query,
}

/// A query without ORDER BY and LIMIT.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryBody {
    Select(Box<Select>),
    /// From the left: `first op₁ query₁ op₂ query₂ …`.
    SetOperation {
        first: Box<QueryBody>,
        rest: Vec<SetOperand>,
    },
    /// `VALUES ROW(1, 2), ROW(3, 4)`
    Values(Vec<Vec<Expr>>),
    /// A parenthesised query with its own ORDER BY or LIMIT.
    Query(Box<Query>),
}

/// A query of a set operation and how it is joined to those before it.
#[derive(Debug, Clone, PartialEq)]
pub struct SetOperand {
    pub op: SetOp,
    pub all: bool,
    pub body: QueryBody,
}

/// UNION, INTERSECT or EXCEPT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOp {
    Union,
    Intersect,
    Except,
}

/// A query block.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Select {
    pub distinct: bool,
    pub straight_join: bool,
    /// SQL_CALC_FOUND_ROWS
    pub calc_found_rows: bool,
    pub items: Vec<SelectItem>,
    /// Comma-separated in FROM; empty without FROM or with FROM DUAL.
    pub from: Vec<TableRef>,
    pub filter: Option<Expr>,
    pub group_by: Vec<OrderItem>,
    pub with_rollup: bool,
    pub having: Option<Expr>,
}

/// What stands between SELECT and FROM.
#[derive(Debug, Clone, PartialEq)]
pub enum SelectItem {
    /// `*`
    All,
    /// `t.*`, `s.t.*`
    AllOf(ObjectName),
    /// `text` is the expression as written: the column's name where there is no alias.
    Expr {
        expr: Expr,
        alias: Option<String>,
        text: String,
    },
}

/// An expression of ORDER BY or GROUP BY.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderItem {
    pub expr: Expr,
    pub descending: bool,
}

/// LIMIT
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    pub offset: Option<Expr>,
    pub count: Expr,
}

/// FOR UPDATE or FOR SHARE.
#[derive(Debug, Clone, PartialEq)]
pub struct LockClause {
    pub exclusive: bool,
    /// `OF t1, t2`; empty: all tables.
    pub of: Vec<ObjectName>,
    pub wait: LockWaitOption,
}

/// What a locking read does about a lock of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockWaitOption {
    Wait,
    NoWait,
    SkipLocked,
}

/// INTO
#[derive(Debug, Clone, PartialEq)]
pub enum Into {
    Variables(Vec<String>),
    /// `INTO OUTFILE`, `INTO DUMPFILE`: 1235
    File,
}

/// What stands in FROM.
#[derive(Debug, Clone, PartialEq)]
pub enum TableRef {
    Table(TableName),
    Derived {
        query: Box<Query>,
        alias: String,
        columns: Vec<String>,
        lateral: bool,
    },
    Join(Box<Join>),
    /// `(a, b)`: an inner join without condition.
    Nested(Vec<TableRef>),
}

/// A table by its name.
#[derive(Debug, Clone, PartialEq)]
pub struct TableName {
    pub name: ObjectName,
    pub alias: Option<String>,
    pub hints: Vec<IndexHint>,
    pub as_of: Option<AsOf>,
}

/// `AS OF TIMESTAMP …`, `AS OF LSN …`: the table as it was.
#[derive(Debug, Clone, PartialEq)]
pub enum AsOf {
    Time(Box<Expr>),
    Lsn(Box<Expr>),
}

/// What an index hint asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexHintKind {
    Use,
    Force,
    Ignore,
}

/// USE, FORCE or IGNORE INDEX.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexHint {
    pub kind: IndexHintKind,
    pub indexes: Vec<String>,
}

/// Which join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    /// STRAIGHT_JOIN: an inner join that keeps the written order.
    Straight,
    Left,
    Right,
}

/// A join of two.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    pub kind: JoinKind,
    pub left: TableRef,
    pub right: TableRef,
    pub condition: JoinCondition,
}

/// ON or USING.
#[derive(Debug, Clone, PartialEq)]
pub enum JoinCondition {
    None,
    On(Expr),
    Using(Vec<String>),
    Natural,
}
