//! The FROM clause: its tables into the scope, its joins into a tree of conditions.
//!
//! Here are tables by their names. [`super::derived`] has queries as tables, [`super::json_table`] documents, [`super::join_clause`] JOIN,
//! [`super::hints`] and [`super::locking`] what stands behind tables and behind the query..

use super::Planner;
use super::hints::hints;
use super::json_table::JsonTablePlan;
use super::view::merged::{MergedView, Within};
use crate::accounts::{Privileges, Rights};
use crate::context::TableUse;
use crate::dictionary::{ColumnDef, ColumnDefault, TableDef, virtual_schema};
use crate::error::depth::TABLES_MAX;
use crate::error::{Result, SqlError};
use crate::expr::{DefaultOf, Expr, Scope, ScopeColumn, ScopeTable};
use crate::mdl::Mode;
use crate::parse::ast::{self, TableRef};
use crate::types::assign::zero_value;
use crate::types::{SqlType, Value};
use std::cell::Cell;
use std::sync::Arc;
use tidemark_engine::{IndexNo, Table};

/// A table of the FROM clause before it is known how it is read.
#[derive(Clone)]
pub(super) struct FromTable {
    pub alias: String,
    pub base: usize,
    pub input: FromInput,
    /// What the locking clauses of the statement call it: the name of the view that it stands in.
    pub locked_as: String,
    /// The view of the statement that it stands in.
    pub within: Option<Arc<Within>>,
    /// What may be done with it: the rights of the account, or of the definer of the view around it.
    pub rights: Arc<Rights>,
    /// Index hints: which indexes may be used, and whether one must.
    pub allowed: Option<Vec<IndexNo>>,
    pub forced: bool,
    /// A derived table that is, or stands in, a view with rows that the account may not see: it is not merged, and takes no conditions that leak.
    pub apart: bool,
    /// The name of the recursive table that it is in one of its steps, which reads it before all others.
    pub recursive: Option<String>,
}

#[derive(Clone)]
pub(super) enum FromInput {
    Stored {
        def: Arc<TableDef>,
        table: Arc<Table>,
    },
    Virtual(Arc<TableDef>),
    /// `lateral`: the query sees the tables to its left, as if it stood in WHERE.
    Derived {
        query: usize,
        lateral: bool,
    },
    /// The rows of a document, which is one for each row of the tables to its left.
    Json(Arc<JsonTablePlan>),
}

/// The shape of the joins. Leaves are positions in [`From::tables`].
#[derive(Clone)]
pub(super) enum Tree {
    Table(usize),
    Inner {
        list: Vec<Tree>,
        on: Vec<Expr>,
        straight: bool,
        /// It is a view with rows that the account may not see: see [`barrier`](super::barrier).
        hides: bool,
    },
    Left {
        left: Box<Tree>,
        right: Box<Tree>,
        on: Vec<Expr>,
    },
}

impl FromTable {
    /// Whether hints call it by a name.
    pub fn is_called(&self, name: &str) -> bool {
        self.alias == name || self.locked_as == name
    }

    /// Whether hints say that something is not to be done with it.
    pub fn is_denied(&self, advice: &ast::BlockAdvice, what: ast::Denied) -> bool {
        advice.denies(what, &self.alias) || advice.denies(what, &self.locked_as)
    }

    /// Whether it is a stored table of this name, whatever it is called in the statement.
    pub fn is_named(&self, name: &str) -> bool {
        matches!(&self.input, FromInput::Stored { def, .. } if def.name == name)
    }

    /// Returns true if its rows are made for each row of the tables before it.
    pub fn is_made_anew(&self) -> bool {
        match &self.input {
            FromInput::Derived { lateral, .. } => *lateral,
            FromInput::Json(plan) => plan.is_lateral(),
            FromInput::Stored { .. } | FromInput::Virtual(_) => false,
        }
    }
}

pub(super) struct From<'p> {
    pub scope: Scope<'p>,
    pub tables: Vec<FromTable>,
    /// What `*` stands for, in order: tables and their columns, by position.
    pub star: Vec<(usize, usize)>,
    pub tree: Option<Tree>,
    /// For each table of the scope, those of [`From::tables`] that it stands for: several for a view that is merged.
    pub leaves: Vec<std::ops::Range<usize>>,
    /// The views that have been merged, each behind those that it names. Only if their rows may change.
    pub views: Vec<MergedView>,
    /// The conditions of ON, USING and NATURAL. Only if rows may change.
    pub join_conditions: Vec<Expr>,
    /// The order of a merged view, which is the query's if it has none and reads nothing else. True: descending.
    pub order: Vec<(Expr, bool)>,
    /// The error of the last ON that is wrong; the join is as if it had no condition.
    pub wrong_condition: Cell<Option<SqlError>>,
}

impl<'p> From<'p> {
    /// A clause without tables so far, in a query inside `outer`.
    pub(super) fn inside(outer: Option<&'p Scope<'p>>) -> From<'p> {
        From {
            scope: Scope::inside(outer),
            tables: Vec::new(),
            star: Vec::new(),
            tree: None,
            leaves: Vec::new(),
            views: Vec::new(),
            join_conditions: Vec::new(),
            order: Vec::new(),
            wrong_condition: Cell::default(),
        }
    }

    /// The table just added to the scope is this one.
    pub(super) fn add_leaf(&mut self, table: FromTable) -> Tree {
        let at = self.tables.len();
        self.tables.push(table);
        self.leaves.push(at..at + 1);
        Tree::Table(at)
    }

    /// Of a slot with a column of a stored table that is NOT NULL, whether it is NULL in rows that an outer join adds.
    pub(super) fn column_not_null(&self, slot: usize) -> Option<bool> {
        let at = self.tables.iter().rposition(|table| table.base <= slot)?;
        let table = &self.tables[at];
        let FromInput::Stored { def, .. } = &table.input else {
            return None;
        };
        let column = def.columns.get(slot - table.base)?;
        let is_extended = || self.tree.as_ref().is_some_and(|tree| tree.extends(at));
        (!column.ty.nullable).then(is_extended)
    }

    /// `*` takes in the columns of the table just added to the scope.
    pub(super) fn see_last_table(&mut self) {
        let at = self.scope.tables.len() - 1;
        let columns = self.scope.tables[at].columns.iter().enumerate();
        let shown = columns.filter(|(_, column)| !column.hidden).map(|(n, _)| (at, n));
        self.star.extend(shown);
    }
}

impl Tree {
    /// Whether some of its rows may be NULLs that an outer join adds.
    pub fn joins_outer(&self) -> bool {
        match self {
            Tree::Table(_) => false,
            Tree::Inner { list, .. } => list.iter().any(Tree::joins_outer),
            Tree::Left { .. } => true,
        }
    }

    /// Whether a table is on the inner side of an outer join.
    pub fn extends(&self, table: usize) -> bool {
        match self {
            Tree::Table(_) => false,
            Tree::Inner { list, .. } => list.iter().any(|tree| tree.extends(table)),
            Tree::Left { left, right, .. } => left.extends(table) || right.tables().contains(&table),
        }
    }

    pub fn tables(&self) -> Vec<usize> {
        match self {
            Tree::Table(at) => vec![*at],
            Tree::Inner { list, .. } => list.iter().flat_map(Tree::tables).collect(),
            Tree::Left { left, right, .. } => [left.tables(), right.tables()].concat(),
        }
    }
}

impl Planner<'_> {
    pub(super) fn tables_of<'p>(
        &mut self,
        list: &[TableRef],
        outer: Option<&'p Scope<'p>>,
        straight: bool,
    ) -> Result<From<'p>> {
        let from = self.tables_before_conditions(list, outer, straight)?;
        from.wrong_condition.take().map_or(Ok(from), Err)
    }

    /// The same for a query, whose other clauses have errors that come before those of ON: that of the last join waits in the result.
    pub(super) fn tables_before_conditions<'p>(
        &mut self,
        list: &[TableRef],
        outer: Option<&'p Scope<'p>>,
        straight: bool,
    ) -> Result<From<'p>> {
        let mut from = From::inside(outer);
        let mut trees = Vec::new();
        for table in list {
            trees.push(self.table_ref(table, &mut from)?);
        }
        if from.tables.len() > TABLES_MAX {
            return Err(SqlError::too_many_tables());
        }
        from.tree = match trees.len() {
            0 => None,
            1 => trees.pop(),
            _ => Some(Tree::Inner {
                list: trees,
                on: Vec::new(),
                straight,
                hides: false,
            }),
        };
        if straight && let Some(Tree::Inner { straight, .. }) = &mut from.tree {
            *straight = true;
        }
        Ok(from)
    }

    pub(super) fn table_ref(&mut self, table: &TableRef, from: &mut From) -> Result<Tree> {
        match table {
            TableRef::Table(named) => self.named_table(named, from),
            TableRef::Derived {
                query,
                alias,
                columns,
                lateral,
            } => self.derived(query, (alias, columns), *lateral, from),
            TableRef::JsonTable(table) => self.json_table(table, from),
            TableRef::Nested(list) => {
                let list = list
                    .iter()
                    .map(|t| self.table_ref(t, from))
                    .collect::<Result<_>>()?;
                Ok(Tree::Inner {
                    list,
                    on: Vec::new(),
                    straight: false,
                    hides: false,
                })
            }
            TableRef::Join(join) => self.join(join, from),
        }
    }

    fn named_table(&mut self, named: &ast::TableName, from: &mut From) -> Result<Tree> {
        if let Some(leaf) = self.common_leaf(named, from)? {
            return Ok(leaf);
        }
        // Before the look-up: an account that may not read the table is not told whether it exists.
        self.state.require_in_part_of(Privileges::SELECT, &named.name)?;
        let def = self.state.table(&named.name)?;
        if let Some(view) = &def.view {
            return self.view(&def, view, named, from);
        }
        // As it is written: names of virtual tables are found in any case.
        let alias = named.alias.as_ref().unwrap_or(&named.name.name).clone();
        let base = from.scope.width();
        let columns = def.columns.iter().enumerate().map(|(i, column)| ScopeColumn {
            name: if column.is_key_part() {
                String::new()
            } else {
                column.name.clone()
            },
            ty: column.ty.clone(),
            slot: base + i,
            hidden: column.invisible,
            merged: column.is_key_part(),
            value: None,
            default: default_of(column),
        });
        let mut columns: Vec<ScopeColumn> = columns.collect();
        if self.keyed {
            columns.push(ScopeColumn {
                name: String::new(),
                ty: SqlType::varbinary(u32::MAX),
                slot: base + def.columns.len(),
                hidden: true,
                merged: true,
                value: None,
                default: DefaultOf::Missing,
            });
        }
        from.scope.add(ScopeTable {
            schema: Some(def.schema.clone()),
            alias: alias.clone(),
            columns,
            readable: self.state.allowed_columns(Privileges::SELECT, &def),
        })?;
        from.see_last_table();
        let (allowed, forced) = hints(&named.hints, &def, &alias, &self.state.warnings)?;
        let mode = match self.lock_of(&alias) {
            Some((true, _)) => {
                if !def.temporary {
                    self.state.require_locking(&def.schema, &def.name)?;
                }
                Mode::Write
            }
            _ => Mode::Read,
        };
        let used = TableUse::new(Arc::clone(&def), mode, Privileges::SELECT);
        self.add_use(used.named(&alias).through_view(!self.views.is_empty()))?;
        if named.as_of.is_some() && (self.lock_of(&alias).is_some() || virtual_schema(&def.schema).is_some())
        {
            return Err(SqlError::not_supported(
                "AS OF in a locking read or of a table of the server's own",
            ));
        }
        let input = if virtual_schema(&def.schema).is_some() {
            FromInput::Virtual(Arc::clone(&def))
        } else {
            self.moments.push(named.as_of.clone());
            let table = self.state.database.engine().table(def.id)?;
            FromInput::Stored { def, table }
        };
        Ok(from.add_leaf(FromTable {
            locked_as: alias.clone(),
            within: self.views.first().cloned(),
            rights: self.state.rights(),
            alias,
            base,
            input,
            allowed,
            forced,
            apart: false,
            recursive: None,
        }))
    }
}

/// What `DEFAULT(column)` is of a table's column.
pub(super) fn default_of(column: &ColumnDef) -> DefaultOf {
    let zero = || match column.ty.nullable {
        true => Value::Null,
        false => zero_value(&column.ty),
    };
    match &column.default {
        _ if column.generated.is_some() => DefaultOf::Missing,
        _ if column.auto_increment => DefaultOf::Value(zero()),
        Some(ColumnDefault::Literal(value)) => DefaultOf::Value(value.clone()),
        Some(ColumnDefault::CurrentTimestamp) => DefaultOf::Value(zero()),
        Some(ColumnDefault::Expression(_)) => DefaultOf::Expression,
        None if column.ty.nullable => DefaultOf::Value(Value::Null),
        None => DefaultOf::Missing,
    }
}
