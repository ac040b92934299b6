//! What a table is to SQL: names, types and options, over one table of the engine.
//!
//! A definition is immutable and shared (`Arc<TableDef>`); DDL replaces it by one with a higher version. Columns stand
//! in the engine's order. An index says itself which of the engine's indexes it is, because what `SHOW` lists is sorted
//! (primary, unique, others) and what the engine numbers is not.

use crate::expr::names_equal;
use crate::histogram::ColumnHistogram;
use crate::mdl::TableLock;
use crate::parse::ast::{CheckOption, ViewAlgorithm};
use crate::types::{Collation, SqlType, Value};
use std::sync::Arc;
use tidemark_engine::TableId;

/// The most parts that an index may have.
pub const KEY_PARTS_MAX: usize = 16;

/// A database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaDef {
    /// Compares with case.
    pub name: String,
    /// The default of its tables.
    pub collation: Collation,
}

/// A table's definition.
#[derive(Clone, Debug)]
pub struct TableDef {
    /// The metadata lock of the name.
    pub lock: Arc<TableLock>,
    /// Its database.
    pub schema: String,
    /// Compares with case.
    pub name: String,
    /// The table of the engine that holds the rows; a new one after TRUNCATE or a table copy.
    pub id: TableId,
    /// Grows with every change of any definition; equal versions are equal definitions.
    pub version: u64,
    /// In the engine's order.
    pub columns: Vec<ColumnDef>,
    /// As MySQL lists them: PRIMARY, unique, others.
    pub indexes: Vec<IndexDef>,
    /// What stands behind the columns in CREATE TABLE.
    pub options: TableOptions,
    /// The FOREIGN KEY constraints of which it is the child, in the order of their names.
    pub foreign_keys: Vec<ForeignKeyDef>,
    /// It is one session's: see [`TemporaryTables`](super::TemporaryTables).
    pub temporary: bool,
    /// What a view stands for; `None`: it is a table. A view has columns, and no table of the engine.
    pub view: Option<Arc<ViewDef>>,
    /// Those that ANALYZE TABLE … UPDATE HISTOGRAM has made, by the columns' names.
    pub histograms: Vec<Arc<ColumnHistogram>>,
}

/// What makes a [`TableDef`] a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewDef {
    /// Its query, as [`view_text`](crate::parse::view_text) prints it.
    pub text: String,
    /// The columns' names that were written behind the view's; empty: they are those of the query.
    pub names: Vec<String>,
    /// ALGORITHM
    pub algorithm: ViewAlgorithm,
    /// The definer: user and host.
    pub definer: (String, String),
    /// SQL SECURITY INVOKER: its tables are read with the rights of the account that uses it.
    pub invoker: bool,
    /// WITH CHECK OPTION
    pub check: CheckOption,
    /// Whether its query could be planned when its tables changed last. It has no columns if not.
    pub valid: bool,
    /// Whether its tables can join those of a statement.
    pub mergeable: bool,
    /// Whether rows can be changed through it.
    pub updatable: bool,
    /// The collation of the connection that made it, which is that of its literals.
    pub collation: Collation,
    /// The default collation of the character set that its statement was sent in.
    pub client: Collation,
    /// The tables and views that its query names, by database and name.
    pub tables: Vec<(String, String)>,
}

/// A FOREIGN KEY constraint, with the child's definition. The parent is named rather than pointed to: it may not be there
/// (`foreign_key_checks` = 0), and is looked up when a statement is planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKeyDef {
    /// As it was given, or generated: `child_ibfk_1`. Compares without case.
    pub name: String,
    /// Positions in the child's [`TableDef::columns`].
    pub columns: Vec<usize>,
    /// The parent's database.
    pub parent_schema: String,
    /// The parent.
    pub parent: String,
    /// The parent's columns, as many as `columns`.
    pub parent_columns: Vec<String>,
    /// What a DELETE of a parent row does to its children.
    pub on_delete: ReferentialAction,
    /// What an UPDATE of a parent row's key does to its children.
    pub on_update: ReferentialAction,
}

/// What becomes of the children when their parent goes or changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferentialAction {
    /// The change is refused while there are children. Also what is not written.
    NoAction,
    /// The same, under the other name that SQL has for it.
    Restrict,
    /// The children go or change as well.
    Cascade,
    /// The children's columns become NULL.
    SetNull,
    /// As [`ReferentialAction::NoAction`]: InnoDB knows the words and does not carry them out.
    SetDefault,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct ColumnDef {
    /// Compares without case.
    pub name: String,
    /// Type, collation, and whether it may be NULL.
    pub ty: SqlType,
    /// `None`: the column has no default, and an INSERT must name it. A nullable column without a DEFAULT clause has
    /// the default NULL.
    pub default: Option<ColumnDefault>,
    /// `ON UPDATE CURRENT_TIMESTAMP`.
    pub on_update_now: bool,
    /// AUTO_INCREMENT; at most one column of a table has it.
    pub auto_increment: bool,
    /// INVISIBLE: not in `*`, nor in an INSERT without a column list.
    pub invisible: bool,
    /// The definition named a character set or collation, which SHOW CREATE TABLE repeats.
    pub explicit_collation: bool,
    /// COMMENT; empty for none.
    pub comment: String,
    /// Its value is computed from other columns of the row.
    pub generated: Option<GeneratedColumn>,
}

/// `GENERATED ALWAYS AS (…)`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedColumn {
    /// SQL text.
    pub expression: String,
    /// STORED rather than VIRTUAL.
    pub stored: bool,
    /// The column is a functional key part: no statement can name it, and nothing lists it.
    pub key_part: bool,
}

/// A column's value where INSERT gives none.
#[derive(Clone, Debug)]
pub enum ColumnDefault {
    /// Already converted to the column's type.
    Literal(Value),
    /// The statement's time, in the column's precision.
    CurrentTimestamp,
    /// `DEFAULT (expression)`, as SQL text.
    Expression(String),
}

/// An index of a table.
#[derive(Clone, Debug)]
pub struct IndexDef {
    /// `PRIMARY` for the primary key; compares without case.
    pub name: String,
    /// The engine's number: 0 is the clustered index, which is the primary key.
    pub number: usize,
    /// No two rows have the same key; keys with a NULL in them do not count.
    pub unique: bool,
    /// INVISIBLE indexes are kept up to date, but no query uses them.
    pub visible: bool,
    /// USING BTREE was written, for SHOW.
    pub says_btree: bool,
    /// COMMENT; empty for none.
    pub comment: String,
    /// It was made for a foreign key, and goes when another index serves for that.
    pub generated: bool,
    /// The key's parts, the most significant first; at most [`KEY_PARTS_MAX`].
    pub parts: Vec<IndexPart>,
}

/// A column, or the beginning of one, as a part of an index's key.
#[derive(Clone, Debug)]
pub struct IndexPart {
    /// Position in [`TableDef::columns`].
    pub column: usize,
    /// Characters of a text column, bytes of a binary one.
    pub prefix: Option<u32>,
    /// DESC
    pub descending: bool,
}

/// The options of CREATE TABLE, and the table's checks.
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// The default of its columns.
    pub collation: Collation,
    /// COMMENT; empty for none.
    pub comment: String,
    /// ROW_FORMAT in upper case; empty if none was given. Only SHOW uses it.
    pub row_format: String,
    /// Seconds since 1970.
    pub created: u64,
    /// CHECK constraints, in the order of their definition.
    pub checks: Vec<CheckDef>,
    /// How its statistics are gathered and kept.
    pub statistics: StatisticsOptions,
}

/// What a table says of its statistics; `None`: what the server's variables say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatisticsOptions {
    /// STATS_PERSISTENT: they outlive a restart.
    pub persistent: Option<bool>,
    /// STATS_AUTO_RECALC: they are gathered again when rows have changed.
    pub auto_recalc: Option<bool>,
    /// STATS_SAMPLE_PAGES
    pub sample_pages: Option<u16>,
}

impl StatisticsOptions {
    /// Takes what a statement says in place of what was said.
    pub fn take(&mut self, given: &crate::parse::ast::TableOptions) {
        self.persistent = given.stats_persistent.unwrap_or(self.persistent);
        self.auto_recalc = given.stats_auto_recalc.unwrap_or(self.auto_recalc);
        self.sample_pages = given.stats_sample_pages.unwrap_or(self.sample_pages);
    }
}

/// A CHECK constraint.
#[derive(Clone, Debug)]
pub struct CheckDef {
    /// As it was given, or generated: `table_chk_1`.
    pub name: String,
    /// SQL text.
    pub expression: String,
    /// False for NOT ENFORCED: kept, but not tested.
    pub enforced: bool,
}

impl TableDef {
    /// The metadata lock of a temporary table, which is no lock of its name.
    pub fn private_lock() -> Arc<TableLock> {
        TableLock::private()
    }

    /// The histogram of a column.
    pub fn histogram(&self, column: &str) -> Option<&ColumnHistogram> {
        let mut all = self.histograms.iter();
        let found = all.find(|made| names_equal(&made.column, column));
        found.map(|made| &**made)
    }

    /// Forgets the histograms of columns that are not as they were in the definition of before.
    pub fn keep_histograms_of(&mut self, before: &TableDef) {
        let mut histograms = std::mem::take(&mut self.histograms);
        histograms.retain(|made| {
            let (old, new) = (before.column(&made.column), self.column(&made.column));
            matches!((old, new), (Some(old), Some(new)) if before.columns[old].ty == self.columns[new].ty)
        });
        self.histograms = histograms;
    }

    /// The position of a column; names compare without case. A functional key part has no name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns
            .iter()
            .position(|column| !column.is_key_part() && names_equal(&column.name, name))
    }

    /// The columns that have names, by position. Functional key parts stand behind them.
    pub fn named_columns(&self) -> impl Iterator<Item = (usize, &ColumnDef)> {
        let columns = self.columns.iter().enumerate();
        columns.filter(|(_, column)| !column.is_key_part())
    }

    /// Whether it has generated columns, functional key parts among them.
    pub fn has_generated(&self) -> bool {
        self.columns.iter().any(|column| column.generated.is_some())
    }

    /// Which part of an index of the table is an array: see [`IndexDef::array_part`].
    pub fn array_part(&self, index: &IndexDef) -> Option<usize> {
        index.array_part(&self.columns)
    }

    /// An index by name; names compare without case.
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

    /// Whether it is a view.
    #[inline]
    pub fn is_view(&self) -> bool {
        self.view.is_some()
    }

    /// The primary key; `None` for a table that has none.
    pub fn primary(&self) -> Option<&IndexDef> {
        self.index_by_number(0)
    }

    /// The index that clients are told is the primary key: of a table that has none, its first unique index without NULLs.
    pub fn shown_as_primary(&self) -> Option<&IndexDef> {
        let not_null = |index: &&IndexDef| {
            let mut parts = index.parts.iter();
            index.unique && parts.all(|part| !self.columns[part.column].ty.nullable)
        };
        self.primary().or_else(|| self.indexes.iter().find(not_null))
    }

    /// An index whose key begins with just these columns, whole and in this order.
    pub fn index_of_columns(&self, columns: &[usize]) -> Option<&IndexDef> {
        let has_all_rows = |index: &&IndexDef| self.array_part(index).is_none();
        let mut serving = self.indexes.iter().filter(has_all_rows);
        serving.find(|index| index.begins_with(columns))
    }

    /// The index by which rows are found that a foreign key refers to by these columns: a unique one of just them, or
    /// else any that begins with them.
    pub fn parent_key(&self, columns: &[usize]) -> Option<&IndexDef> {
        let serves = |index: &&IndexDef| index.begins_with(columns) && self.array_part(index).is_none();
        let mut serving = self.indexes.iter().filter(serves);
        let unique = serving
            .clone()
            .find(|index| index.unique && index.parts.len() == columns.len());
        unique.or_else(|| serving.next())
    }

    /// The position of the AUTO_INCREMENT column; `None` for a table that has none.
    pub fn auto_increment(&self) -> Option<usize> {
        self.columns.iter().position(|column| column.auto_increment)
    }
}

impl ColumnDef {
    /// Whether it is generated and not STORED.
    pub fn is_virtual(&self) -> bool {
        self.generated.as_ref().is_some_and(|generated| !generated.stored)
    }

    /// Whether it is a functional key part.
    pub fn is_key_part(&self) -> bool {
        self.generated
            .as_ref()
            .is_some_and(|generated| generated.key_part)
    }

    /// The expression of a functional key part.
    pub fn key_part_expression(&self) -> Option<&str> {
        let generated = self.generated.as_ref().filter(|generated| generated.key_part)?;
        Some(&generated.expression)
    }
}

impl IndexDef {
    /// True if the first parts of the key are these columns, whole and in this order.
    pub fn begins_with(&self, columns: &[usize]) -> bool {
        self.parts.len() >= columns.len()
            && self
                .parts
                .iter()
                .zip(columns)
                .all(|(part, column)| part.column == *column && part.prefix.is_none())
    }

    /// Which part is an array, over these columns of the table: it is a multi-valued index, in which a row has an entry for each element
    /// and none if there is no element. So it leads to all rows only where elements are asked for, and serves no foreign key.
    pub fn array_part(&self, columns: &[ColumnDef]) -> Option<usize> {
        let is_array = |part: &IndexPart| columns.get(part.column).is_some_and(|column| column.ty.array);
        self.parts.iter().position(is_array)
    }

    /// Whether it can be the index that a new foreign key of these columns needs: it begins with them, in ascending order.
    pub fn can_serve(&self, columns: &[usize]) -> bool {
        self.begins_with(columns) && self.parts[..columns.len()].iter().all(|part| !part.descending)
    }
}

impl ForeignKeyDef {
    /// Whether it leads to this table.
    pub fn refers_to(&self, schema: &str, table: &str) -> bool {
        self.parent == table && self.parent_schema == schema
    }
}

impl ReferentialAction {
    /// As SQL and `information_schema` write it.
    pub fn as_sql(self) -> &'static str {
        match self {
            ReferentialAction::NoAction => "NO ACTION",
            ReferentialAction::Restrict => "RESTRICT",
            ReferentialAction::Cascade => "CASCADE",
            ReferentialAction::SetNull => "SET NULL",
            ReferentialAction::SetDefault => "SET DEFAULT",
        }
    }

    /// True if children are changed, rather than kept from losing their parent.
    pub fn changes_children(self) -> bool {
        matches!(self, ReferentialAction::Cascade | ReferentialAction::SetNull)
    }
}
