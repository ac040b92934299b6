//! Queries: blocks, set operations, what stands in FROM.

use super::{Expr, IntoFile, JsonTable, NamedWindow, ObjectName, Target};
use std::sync::Arc;

/// A query: SELECT, UNION and their kin, with its WITH, ORDER BY and LIMIT.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// `WITH …` in front of it; `None`: not written.
    pub with: Option<With>,
    /// What produces the rows.
    pub body: QueryBody,
    /// `ORDER BY`, the most significant first; empty: no order.
    pub order_by: Vec<OrderItem>,
    /// `LIMIT`; `None`: all rows.
    pub limit: Option<Limit>,
    /// `FOR UPDATE`, `FOR SHARE`, `LOCK IN SHARE MODE`; empty: rows are not locked.
    pub locks: Vec<LockClause>,
    /// `INTO …`; `None`: the rows go to the client.
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
    /// The name by which FROM refers to it, as written.
    pub name: String,
    /// `name (a, b)`: its columns' names; empty: those of its query.
    pub columns: Vec<String>,
    /// What it stands for.
    pub query: Query,
}

/// A query without ORDER BY and LIMIT.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryBody {
    /// `SELECT …`, or `TABLE t` as `SELECT * FROM t`.
    Select(Box<Select>),
    /// From the left: `first op₁ query₁ op₂ query₂ …`.
    SetOperation {
        /// The leftmost query.
        first: Box<QueryBody>,
        /// Those that follow, in the order in which they are combined.
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
    /// How its rows are combined with those before it.
    pub op: SetOp,
    /// `ALL`: duplicates are kept.
    pub all: bool,
    /// The query to the right of the operator.
    pub body: QueryBody,
}

/// UNION, INTERSECT or EXCEPT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOp {
    /// `UNION`: the rows of either.
    Union,
    /// `INTERSECT`: the rows that are in both; binds tighter than the others.
    Intersect,
    /// `EXCEPT`: the rows of the left one that are not in the right one.
    Except,
}

/// A query block.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Select {
    /// `DISTINCT`
    pub distinct: bool,
    /// `SELECT STRAIGHT_JOIN`: tables are joined in the order written.
    pub straight_join: bool,
    /// SQL_CALC_FOUND_ROWS
    pub calc_found_rows: bool,
    /// The optimizer hint MAX_EXECUTION_TIME, in milliseconds: it holds if this block is the whole statement. `None`: not given.
    pub max_execution_time_ms: Option<u64>,
    /// What other optimizer hints ask of it; `None`: nothing.
    pub advice: Option<Arc<BlockAdvice>>,
    /// What is selected, at least one.
    pub items: Vec<SelectItem>,
    /// Comma-separated in FROM; empty without FROM or with FROM DUAL.
    pub from: Vec<TableRef>,
    /// `WHERE`; `None`: all rows.
    pub filter: Option<Expr>,
    /// `GROUP BY`; empty: no groups, or one of all rows if there are aggregates.
    pub group_by: Vec<OrderItem>,
    /// `WITH ROLLUP`: rows with totals of each prefix of the groups are added.
    pub with_rollup: bool,
    /// `HAVING`; `None`: all groups.
    pub having: Option<Expr>,
    /// `WINDOW`, in the order written.
    pub windows: Vec<NamedWindow>,
}

/// What optimizer hints ask of how a query block is done. Tables go by the names that the block knows them by.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BlockAdvice {
    /// JOIN_PREFIX, JOIN_ORDER and JOIN_SUFFIX: tables that are joined in this order, and where.
    pub orders: Vec<(JoinPlace, Vec<String>)>,
    /// What is not to be done, with which tables; of none: with all.
    pub denied: Vec<(Denied, Vec<String>)>,
}

/// Where tables stand in the order of a join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinPlace {
    /// Before all others.
    First,
    /// Anywhere.
    Anywhere,
    /// Behind all others.
    Last,
}

/// What a hint whose name begins with NO forbids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// To join the block, a subquery, with what is around it.
    Semijoin,
    /// To make a derived table a part of the block.
    Merge,
    /// To test conditions on a derived table inside of it.
    ConditionPushdown,
    /// To find rows by several indexes.
    IndexMerge,
    /// To read an index from group to group.
    SkipScan,
}

impl BlockAdvice {
    /// Whether something is not to be done with a table of this name.
    pub fn denies(&self, what: Denied, table: &str) -> bool {
        let is_named = |tables: &[String]| tables.is_empty() || tables.iter().any(|name| name == table);
        let mut denied = self.denied.iter();
        denied.any(|(denied, tables)| *denied == what && is_named(tables))
    }
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
        /// The value.
        expr: Expr,
        /// `[AS] alias`, as written; `None`: not written.
        alias: Option<String>,
        /// The source text of the expression.
        text: String,
    },
}

/// An expression of ORDER BY or GROUP BY.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderItem {
    /// The sort or group key; an integer literal is the position of a selected item.
    pub expr: Expr,
    /// `DESC`; else ascending, NULL first.
    pub descending: bool,
}

/// LIMIT
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// Rows to be skipped: `LIMIT offset, count` or `OFFSET offset`; `None`: none.
    pub offset: Option<Expr>,
    /// Rows at most.
    pub count: Expr,
}

/// FOR UPDATE or FOR SHARE.
#[derive(Debug, Clone, PartialEq)]
pub struct LockClause {
    /// `FOR UPDATE`; else `FOR SHARE` or `LOCK IN SHARE MODE`.
    pub exclusive: bool,
    /// `OF t1, t2`; empty: all tables.
    pub of: Vec<ObjectName>,
    /// What is done about rows that another transaction has locked.
    pub wait: LockWaitOption,
}

/// What a locking read does about a lock of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockWaitOption {
    /// Waits, up to `innodb_lock_wait_timeout`: the default.
    Wait,
    /// `NOWAIT`: fails at once.
    NoWait,
    /// `SKIP LOCKED`: leaves those rows out.
    SkipLocked,
}

/// INTO
#[derive(Debug, Clone, PartialEq)]
pub enum Into {
    /// `INTO @a, b`
    Variables(Vec<Target>),
    /// `INTO OUTFILE`, `INTO DUMPFILE`
    File(Box<IntoFile>),
}

/// What stands in FROM.
#[derive(Debug, Clone, PartialEq)]
pub enum TableRef {
    /// A table, a virtual table or a common table expression, by its name.
    Table(TableName),
    /// `[LATERAL] (SELECT …) [AS] alias [(columns)]`
    Derived {
        /// The query that makes its rows.
        query: Box<Query>,
        /// Its name, as written; required.
        alias: String,
        /// Its columns' names; empty: those of the query.
        columns: Vec<String>,
        /// `LATERAL`: the query may name tables to its left.
        lateral: bool,
    },
    /// `JSON_TABLE(…) [AS] alias`
    JsonTable(Box<JsonTable>),
    /// Two, joined by one of the words of JOIN.
    Join(Box<Join>),
    /// `(a, b)`: an inner join without condition.
    Nested(Vec<TableRef>),
}

/// A table by its name.
#[derive(Debug, Clone, PartialEq)]
pub struct TableName {
    /// The table's name.
    pub name: ObjectName,
    /// `[AS] alias`, as written; `None`: it is known by its own name.
    pub alias: Option<String>,
    /// `USE`, `FORCE` and `IGNORE INDEX`, in the order written, then what optimizer hints say, which holds instead.
    pub hints: Vec<IndexHint>,
    /// `AS OF …`: an earlier state of the table; `None`: the transaction's view.
    pub as_of: Option<AsOf>,
}

/// `AS OF TIMESTAMP …`, `AS OF LSN …`: the table as it was.
#[derive(Debug, Clone, PartialEq)]
pub enum AsOf {
    /// `AS OF TIMESTAMP expr`: what was committed at that time.
    Time(Box<Expr>),
    /// `AS OF LSN expr`: what was committed at or before that position of the log.
    Lsn(Box<Expr>),
}

/// What an index hint asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexHintKind {
    /// `USE INDEX`: no index but these; with an empty list, none at all.
    Use,
    /// `FORCE INDEX`: as USE, and a table scan only where these cannot be used.
    Force,
    /// `IGNORE INDEX`: any index but these.
    Ignore,
}

/// USE, FORCE or IGNORE INDEX.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexHint {
    /// What the hint asks for.
    pub kind: IndexHintKind,
    /// The indexes' names as written; `PRIMARY` is the primary key.
    pub indexes: Vec<String>,
    /// It comes from an optimizer hint: an index that is not there is a warning, and without names it means all. `None`: an error.
    pub advice: Option<IndexAdvice>,
}

/// What the warning about an optimizer hint names.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexAdvice {
    /// The hint: `INDEX`
    pub hint: &'static str,
    /// The table and its query block, quoted: `` `t`@`select#1` ``
    pub path: String,
}

/// Which join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// `[INNER | CROSS] JOIN`
    Inner,
    /// STRAIGHT_JOIN: an inner join that keeps the written order.
    Straight,
    /// `LEFT [OUTER] JOIN`: rows of the left side without a partner get NULLs for the right one.
    Left,
    /// `RIGHT [OUTER] JOIN`: rows of the right side without a partner get NULLs for the left one.
    Right,
}

/// A join of two.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    /// Inner or outer.
    pub kind: JoinKind,
    /// What is before JOIN.
    pub left: TableRef,
    /// What is behind JOIN.
    pub right: TableRef,
    /// Which rows are partners.
    pub condition: JoinCondition,
}

/// ON or USING.
#[derive(Debug, Clone, PartialEq)]
pub enum JoinCondition {
    /// Not written: every pair.
    None,
    /// `ON expr`
    On(Expr),
    /// `USING (a, b)`: the columns of these names, as written, are equal, and appear once in `*`.
    Using(Vec<String>),
    /// `NATURAL`: as USING of all columns that both sides have by name.
    Natural,
}
