//! Definitions of tables, columns and indexes, their changes, and the upkeep of tables.

use super::{Expr, ObjectName, Query, TypeName};

/// CREATE TABLE
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    /// The new table's name.
    pub name: ObjectName,
    /// `TEMPORARY` was written.
    pub temporary: bool,
    /// `IF NOT EXISTS`: a note rather than an error if it exists.
    pub if_not_exists: bool,
    /// The columns, in order; those of `AS SELECT` come in addition.
    pub columns: Vec<ColumnDef>,
    /// In order of appearance; those written on a column come from `ColumnDef::key` instead.
    pub indexes: Vec<IndexDef>,
    /// FOREIGN KEY elements; those written on a column are in [`ColumnDef::references`].
    pub foreign_keys: Vec<ForeignKey>,
    /// CHECK elements; those written on a column are in [`ColumnDef::check`].
    pub checks: Vec<CheckDef>,
    /// What is written behind the columns.
    pub options: TableOptions,
    /// `LIKE t`: the table whose definition is copied; `None`: not written.
    pub like: Option<ObjectName>,
    /// `[AS] SELECT …`: the query whose rows fill it; `None`: not written.
    pub query: Option<Box<Query>>,
    /// `IGNORE` or `REPLACE` in front of the query.
    pub duplicates: Duplicates,
    /// `PARTITION BY` was written.
    pub partitioned: bool,
}

/// What becomes of a row whose key is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplicates {
    /// Neither is written: it is an error.
    Fail,
    /// `IGNORE`: the row is left out.
    Ignore,
    /// `REPLACE`: it takes the place of the one that is there.
    Replace,
}

/// What stands after DEFAULT.
#[derive(Debug, Clone, PartialEq)]
pub struct DefaultValue {
    /// A literal, CURRENT_TIMESTAMP, or an expression if `computed`.
    pub expr: Expr,
    /// It stands in parentheses: an expression to be evaluated for each row, be it a literal.
    pub computed: bool,
}

/// A column of CREATE or ALTER TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDef {
    /// The column's name as written.
    pub name: String,
    /// Its type, character set and collation.
    pub ty: TypeName,
    /// `NOT NULL` = Some(false), `NULL` = Some(true)
    pub nullable: Option<bool>,
    /// `DEFAULT`; `None`: not written.
    pub default: Option<DefaultValue>,
    /// `ON UPDATE CURRENT_TIMESTAMP[(n)]`
    pub on_update: Option<Expr>,
    /// `AUTO_INCREMENT`, or the type SERIAL.
    pub auto_increment: bool,
    /// `PRIMARY KEY`, or `KEY` alone.
    pub primary: bool,
    /// `UNIQUE [KEY]`, or the type SERIAL.
    pub unique: bool,
    /// `COMMENT 'text'`; `None`: not written.
    pub comment: Option<String>,
    /// `INVISIBLE`
    pub invisible: bool,
    /// `GENERATED ALWAYS AS (…)`; the flag says STORED.
    pub generated: Option<(Expr, bool)>,
    /// `CHECK (…)` on the column, any number of them.
    pub checks: Vec<CheckDef>,
    /// `SRID n`, which only a geometry may have.
    pub srid: bool,
    /// `ENGINE_ATTRIBUTE`, which no table of InnoDB may have.
    pub engine_attribute: bool,
    /// Clauses that mean something to other engines alone: `COLUMN_FORMAT`, `STORAGE`, `SECONDARY_ENGINE_ATTRIBUTE`, `NOT SECONDARY`.
    pub without_effect: Vec<&'static str>,
    /// `REFERENCES …` on the column; `None`: not written.
    pub references: Option<ForeignKey>,
}

/// A CHECK constraint.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckDef {
    /// `CONSTRAINT name`, as written; `None`: a name is made from the table's.
    pub name: Option<String>,
    /// The condition.
    pub expr: Expr,
    /// The source text of the condition, without the parentheses.
    pub text: String,
    /// False for `NOT ENFORCED`.
    pub enforced: bool,
}

/// A FOREIGN KEY constraint.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignKey {
    /// `CONSTRAINT name`, as written; `None`: a name is made from the table's.
    pub name: Option<String>,
    /// `FOREIGN KEY name`: what the index is called that is made for it; `None`: not written.
    pub index: Option<String>,
    /// The referencing columns, as written.
    pub columns: Vec<String>,
    /// The referenced table.
    pub table: ObjectName,
    /// Its columns, as written; empty if none are listed.
    pub referenced: Vec<String>,
    /// `ON DELETE`, upper-cased: `CASCADE`, `SET NULL`, `NO ACTION`, …; `None`: not written.
    pub on_delete: Option<String>,
    /// `ON UPDATE`, upper-cased; `None`: not written.
    pub on_update: Option<String>,
    /// How many elements of [`CreateTable::indexes`] stand before it; 0 in ALTER TABLE and on a column.
    pub indexes_before: usize,
}

/// What an index is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexKind {
    /// `PRIMARY KEY`
    Primary,
    /// `UNIQUE [INDEX | KEY]`
    Unique,
    /// `INDEX`, `KEY`
    Plain,
    /// `FULLTEXT [INDEX | KEY]`
    FullText,
    /// `SPATIAL [INDEX | KEY]`
    Spatial,
}

/// An index of CREATE or ALTER TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexDef {
    /// Primary, unique, plain, or one of the special kinds.
    pub kind: IndexKind,
    /// The index's name as written; `None`: a name is made from its first column's.
    pub name: Option<String>,
    /// What it orders by, the most significant first.
    pub parts: Vec<IndexPart>,
    /// `COMMENT 'text'`; `None`: not written.
    pub comment: Option<String>,
    /// `INVISIBLE`: kept up to date, but not used by the planner.
    pub invisible: bool,
    /// `USING`; `None`: not written.
    pub method: Option<IndexMethod>,
}

/// `USING …`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexMethod {
    /// `BTREE`, what all indexes are.
    BTree,
    /// `HASH`, and others that are not here.
    Other,
}

/// A column of an index.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexPart {
    /// The column's name as written; empty for an expression.
    pub column: String,
    /// `column(n)`: the first n characters or bytes only; `None`: the whole column.
    pub length: Option<u64>,
    /// `DESC`
    pub descending: bool,
    /// `ASC` or `DESC` was written.
    pub ordered: bool,
    /// `((expr))`: a functional key part.
    pub expression: Option<Expr>,
}

/// `ENGINE = …` and what else stands behind the columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TableOptions {
    /// `ENGINE`, as written; `None`: the default engine.
    pub engine: Option<String>,
    /// `[DEFAULT] CHARACTER SET`, in lower case; `None`: the collation's, or the schema's default.
    pub charset: Option<String>,
    /// `[DEFAULT] COLLATE`, in lower case; `None`: the character set's default.
    pub collation: Option<String>,
    /// `AUTO_INCREMENT`: the counter's next value; `None`: not written.
    pub auto_increment: Option<u64>,
    /// `COMMENT 'text'`; `None`: not written.
    pub comment: Option<String>,
    /// `ROW_FORMAT`, upper-cased; `None`: not written.
    pub row_format: Option<String>,
    /// STATS_PERSISTENT; `Some(None)` is DEFAULT, and so with the next two.
    pub stats_persistent: Option<Option<bool>>,
    /// STATS_AUTO_RECALC
    pub stats_auto_recalc: Option<Option<bool>>,
    /// STATS_SAMPLE_PAGES
    pub stats_sample_pages: Option<Option<u16>>,
    /// Accepted and ignored: MAX_ROWS, KEY_BLOCK_SIZE, … as (NAME, value).
    pub others: Vec<(String, String)>,
}

/// ALTER TABLE
#[derive(Debug, Clone, PartialEq)]
pub struct AlterTable {
    /// The table to be changed.
    pub name: ObjectName,
    /// The changes, in the order written; all happen or none.
    pub actions: Vec<AlterAction>,
}

/// FIRST or AFTER a column.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnPosition {
    /// Not written: behind all others.
    Last,
    /// `FIRST`
    First,
    /// `AFTER column`; the name as written.
    After(String),
}

/// `ALGORITHM=…` of ALTER TABLE, CREATE INDEX and DROP INDEX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlterAlgorithm {
    /// As the server likes.
    Default,
    /// The definition alone is changed.
    Instant,
    /// Rows are not copied by the server.
    Inplace,
    /// Rows are copied into a new table.
    Copy,
}

/// `LOCK=…` of the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlterLock {
    /// As little as the server needs.
    Default,
    /// Others may read and write.
    None,
    /// Others may read.
    Shared,
    /// Others wait.
    Exclusive,
}

/// One of the changes that an ALTER TABLE lists.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterAction {
    /// `ADD [COLUMN] name …`
    AddColumn {
        /// The new column.
        column: ColumnDef,
        /// Where it goes.
        position: ColumnPosition,
    },
    /// `MODIFY [COLUMN] name …`
    ModifyColumn {
        /// The column's new definition, under its old name.
        column: ColumnDef,
        /// Where it goes; `None`: it stays where it is.
        position: Option<ColumnPosition>,
    },
    /// `CHANGE [COLUMN] old name …`
    ChangeColumn {
        /// The column's name so far, as written.
        old: String,
        /// Its new definition and name.
        column: ColumnDef,
        /// Where it goes; `None`: it stays where it is.
        position: Option<ColumnPosition>,
    },
    /// `DROP [COLUMN] name`; the name as written.
    DropColumn(String),
    /// `RENAME COLUMN old TO new`
    RenameColumn {
        /// The name so far, as written.
        old: String,
        /// The new name, as written.
        new: String,
    },
    /// `ALTER [COLUMN] name SET DEFAULT …`, `… DROP DEFAULT`
    SetDefault {
        /// The column's name as written.
        column: String,
        /// The new default; `None`: it is dropped.
        default: Option<DefaultValue>,
    },
    /// `ALTER [COLUMN] name SET VISIBLE | INVISIBLE`
    ShowColumn {
        /// The column's name as written.
        column: String,
        /// False for `INVISIBLE`.
        visible: bool,
    },
    /// `ADD PRIMARY KEY | UNIQUE | INDEX | …`
    AddIndex(IndexDef),
    /// `DROP INDEX name`, `DROP KEY name`; the name as written.
    DropIndex(String),
    /// `DROP PRIMARY KEY`
    DropPrimaryKey,
    /// `RENAME INDEX old TO new`, `RENAME KEY old TO new`
    RenameIndex {
        /// The name so far, as written.
        old: String,
        /// The new name, as written.
        new: String,
    },
    /// `RENAME [TO | AS] name`
    RenameTo(ObjectName),
    /// `ENGINE = …`, `COMMENT = …` and the other options of CREATE TABLE.
    Options(TableOptions),
    /// `CONVERT TO CHARACTER SET charset [COLLATE collation]`
    ConvertTo {
        /// The character set in lower case.
        charset: String,
        /// The collation in lower case; `None`: the character set's default.
        collation: Option<String>,
    },
    /// `ADD [CONSTRAINT name] FOREIGN KEY …`
    AddForeignKey(ForeignKey),
    /// `DROP FOREIGN KEY name`; the name as written.
    DropForeignKey(String),
    /// `ADD [CONSTRAINT name] CHECK (…)`
    AddCheck(CheckDef),
    /// `DROP CONSTRAINT name`: of whatever kind; the name as written.
    DropConstraint(String),
    /// `DROP CHECK name`; the name as written.
    DropCheck(String),
    /// `ALTER CHECK name [NOT] ENFORCED`
    EnforceCheck {
        /// The constraint's name as written.
        name: String,
        /// False for `NOT ENFORCED`.
        enforced: bool,
    },
    /// `ALTER INDEX name VISIBLE`
    ShowIndex {
        /// The index's name as written.
        name: String,
        /// False for `INVISIBLE`.
        visible: bool,
    },
    /// `ALGORITHM=…`: how it is to be done, or not at all.
    Algorithm(AlterAlgorithm),
    /// `LOCK=…`: what others must be able to do meanwhile.
    Lock(AlterLock),
    /// `ENABLE/DISABLE KEYS`, `FORCE`, `ORDER BY`: nothing to do.
    Ignored(String),
    /// Recognised, but fails with error 1235, whose text names this feature.
    Unsupported(String),
}

/// What `ANALYZE TABLE` does to histograms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HistogramChange {
    /// `UPDATE HISTOGRAM`: made of the table's rows.
    Make {
        /// `WITH n BUCKETS`
        buckets: Option<u64>,
        /// `AUTO UPDATE`: by each `ANALYZE TABLE` from now on.
        auto_update: bool,
    },
    /// `UPDATE HISTOGRAM … USING DATA`: this document.
    Take(Vec<u8>),
    /// `DROP HISTOGRAM`
    Drop,
}

/// Which statement of table maintenance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaintenanceKind {
    /// `ANALYZE TABLE`
    Analyze,
    /// `OPTIMIZE TABLE`
    Optimize,
    /// `CHECK TABLE`
    Check,
    /// `REPAIR TABLE`
    Repair,
}
