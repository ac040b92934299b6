//! Changes through views: which of a view's tables a statement changes, and how it sees that table.
//!
//! The view is merged as in a query ([`crate::plan::view`]), which gives the slots that its columns are. A change of one of its tables
//! is planned over that table's own slots, so what the view says of it is moved there: the names of its columns, its
//! conditions, its CHECK OPTION.
//!
//! ```text
//!   v AS SELECT t.id AS x, t.a + 1 AS y, u.k FROM t JOIN u ON …       INSERT INTO v (k) VALUES (1)
//!
//!   slots of the join    t: 0 1 2    u: 3 4          target u: 0 1
//!   columns of v         x: Other    y: Computed     k: Own(1)
//! ```
//!
//! UPDATE changes one table of a join at a time, INSERT the one whose columns it names, DELETE takes a view of one table.

use super::target::{Check, Target, Use};
use crate::accounts::Privileges;
use crate::context::TableUse;
use crate::dictionary::{TableDef, names_equal, virtual_schema};
use crate::error::{Result, SqlError};
use crate::expr::{Expr, Node, ScopeTable, build};
use crate::mdl::Mode;
use crate::parse::ast;
use crate::plan::Planner;
use crate::plan::from::{From, FromInput};
use crate::plan::view::merged::{MayChange, Within};
use crate::plan::walk::has_subquery;
use std::ops::Range;
use std::sync::Arc;

/// What the name of a statement's target turned out to be.
pub(in crate::plan) enum Named {
    Table(Box<Target>),
    /// A view, the only table of this clause.
    View(Box<From<'static>>),
}

/// What a column of a view is to one of its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeenColumn {
    /// The column at this position.
    Own(usize),
    /// A column of another table.
    Other,
    /// The value of an expression.
    Computed,
}

/// A table as it is seen through a view.
pub struct SeenThrough {
    /// The view.
    pub view: Arc<Within>,
    /// Its columns as names over the table's slots. Those that are not the table's have no name.
    pub scope: ScopeTable,
    /// Its columns.
    pub columns: Vec<(String, SeenColumn)>,
    /// Which rows are seen; `None`: all.
    pub filter: Option<Expr>,
    /// It has all columns of a unique key that is never NULL, or else all columns of the table.
    pub has_key: bool,
    insert: MayChange,
    update: MayChange,
}

impl SeenThrough {
    /// The position in the table of a column of the view. Error 1348 for one that is computed, 1393 for one of another
    /// table, 1356 for one that the view's definer may not use so.
    pub fn column(&self, at: usize, to: Use) -> Result<usize> {
        let (name, column) = &self.columns[at];
        match *column {
            SeenColumn::Own(column) => self.check_definer(column, to).map(|()| column),
            SeenColumn::Other => Err(SqlError::view_of_several_tables(
                &self.view.schema,
                &self.view.name,
            )),
            SeenColumn::Computed => Err(SqlError::column_not_updatable(name)),
        }
    }

    /// Error 1356 if the definer of the view, or of one below it, may not use the table's column so.
    pub fn check_definer(&self, column: usize, to: Use) -> Result<()> {
        let withheld = match to {
            Use::Read => return Ok(()),
            Use::Insert => &self.insert.withheld,
            Use::Update => &self.update.withheld,
        };
        match withheld.get(column) {
            Some(true) => Err(SqlError::view_invalid(&self.view.schema, &self.view.name)),
            _ => Ok(()),
        }
    }
}

impl Planner<'_> {
    /// What INSERT, UPDATE or DELETE of one table names. Error 1142 if the account may not change any of it so.
    pub(in crate::plan) fn named(&mut self, table: &ast::TableName, privileges: Privileges) -> Result<Named> {
        let (schema, _) = self.state.resolve(&table.name)?;
        if virtual_schema(schema).is_none() {
            self.state.require_in_part_of(privileges, &table.name)?;
        }
        let def = self.state.table(&table.name)?;
        let Some(view) = &def.view else {
            let alias = table.alias.as_deref();
            return Ok(Named::Table(Box::new(self.table_target(def, alias, privileges)?)));
        };
        let mut from = From::inside(None);
        self.keyed = true;
        let tree = self.view(&def, view, table, &mut from)?;
        self.keyed = false;
        from.tree = Some(tree);
        Ok(Named::View(Box::new(from)))
    }

    /// The target of a statement that changes one table: the table, or that of a view which has only one. Error 1395 for
    /// DELETE from a view of several.
    pub(in crate::plan) fn sole_target(
        &mut self,
        from: &From,
        privileges: Privileges,
        verb: &'static str,
    ) -> Result<Target> {
        self.check_changes_rows(from, 0, verb)?;
        let view = &from.views_of(0)[0].def;
        match from.tables.len() {
            1 => {
                let mut target = self.target_through(from, (0, 0), privileges, verb)?;
                add_check_option(&mut target, from, 0);
                Ok(target)
            }
            _ => Err(SqlError::no_delete_from_join_view(&view.schema, &view.name)),
        }
    }

    /// The target of INSERT, REPLACE or LOAD DATA. `names` are the columns that the statement names; none: all that there are.
    pub(in crate::plan) fn insert_target(
        &mut self,
        table: &ast::ObjectName,
        names: &[&str],
        privileges: Privileges,
    ) -> Result<Target> {
        let table = ast::TableName {
            name: table.clone(),
            alias: None,
            hints: Vec::new(),
            as_of: None,
        };
        let from = match self.named(&table, privileges)? {
            Named::Table(target) => return Ok(*target),
            Named::View(from) => from,
        };
        self.check_changes_rows(&from, 0, "INSERT")?;
        let top = from.views_of(0)[0];
        let (schema, name) = (&top.def.schema, &top.def.name);
        let several = from.tables.len() > 1;
        if several && names.is_empty() {
            return Err(SqlError::view_needs_columns(schema, name));
        }
        if several && privileges.contains(Privileges::DELETE) {
            return Err(SqlError::no_delete_from_join_view(schema, name));
        }
        let of_function = |slot: &usize| matches!(from.tables[from.leaf_of(*slot)].input, FromInput::Json(_));
        if top.columns.iter().flatten().any(of_function) {
            return Err(SqlError::not_insertable(&from.scope.tables[0].alias));
        }
        let mut leaf = None;
        for (column, slot) in top.def.columns.iter().zip(&top.columns) {
            let is_named = names.is_empty() || names.iter().any(|name| names_equal(name, &column.name));
            if !is_named {
                continue;
            }
            let slot = slot.ok_or_else(|| SqlError::column_not_updatable(&column.name))?;
            let at = from.leaf_of(slot);
            if leaf.is_some_and(|leaf| leaf != at) {
                return Err(SqlError::view_of_several_tables(schema, name));
            }
            leaf = Some(at);
        }
        let stored = |slot: usize| matches!(from.tables[from.leaf_of(slot)].input, FromInput::Stored { .. });
        let plain = |(at, slot): (usize, &Option<usize>)| match slot {
            Some(one) => stored(*one) && !top.columns[..at].contains(slot),
            None => false,
        };
        if !top.columns.iter().enumerate().all(plain) {
            return Err(SqlError::not_insertable(&from.scope.tables[0].alias));
        }
        let leaf = leaf.unwrap_or(0);
        let mut target = self.target_through(&from, (0, leaf), privileges, "INSERT")?;
        add_check_option(&mut target, &from, leaf);
        if several && target.checks_query() {
            return Err(SqlError::not_supported(
                "INSERT through a view of several tables whose CHECK OPTION has a subquery",
            ));
        }
        Ok(target)
    }

    /// Errors 1288 and 1471 for a table of the scope whose rows are no table's: one that is a query, or a view that is made of
    /// rows of its own or of an outer join.
    fn check_changes_rows(&self, from: &From, named: usize, verb: &'static str) -> Result<()> {
        match from.views_of(named).first() {
            Some(view) if !view.joins_outer => Ok(()),
            _ => Err(not_changeable(&from.scope.tables[named].alias, verb)),
        }
    }

    /// A table of a view as a target. Errors 1288 and 1471 if it is none that is stored, 1142 and 1356 if it may not be changed.
    pub(in crate::plan) fn target_through(
        &mut self,
        from: &From,
        (named, at): (usize, usize),
        privileges: Privileges,
        verb: &'static str,
    ) -> Result<Target> {
        self.check_changes_rows(from, named, verb)?;
        let leaf = &from.tables[at];
        let scope = &from.scope.tables[named];
        let (def, table) = match &leaf.input {
            FromInput::Stored { def, table } => (def, table),
            FromInput::Virtual(def) => return Err(self.state.database_denied(&def.schema)),
            FromInput::Derived { .. } | FromInput::Json(_) => return Err(not_changeable(&scope.alias, verb)),
        };
        let Some(within) = &leaf.within else {
            return Err(not_changeable(&scope.alias, verb));
        };
        from.require(self.state, (named, at), privileges)?;
        let used = TableUse::new(Arc::clone(def), Mode::Write, privileges).named(&leaf.alias);
        self.uses.push(used.through_view(true));
        let insert = from.may_change(self.state, (named, at), Privileges::INSERT);
        let update = from.may_change(self.state, (named, at), Privileges::UPDATE);
        let slots = leaf.base..leaf.base + def.columns.len();
        let moved = |expr: &Expr| moved(expr, &slots);
        let views = from.views_of(named);
        let columns = views[0].def.columns.iter().zip(&views[0].columns);
        let columns = columns.map(|(column, slot)| {
            let seen = match slot {
                Some(slot) if slots.contains(slot) => SeenColumn::Own(slot - slots.start),
                Some(_) => SeenColumn::Other,
                None => SeenColumn::Computed,
            };
            (column.name.clone(), seen)
        });
        let columns: Vec<(String, SeenColumn)> = columns.collect();
        let conditions = views.iter().flat_map(|view| &view.conditions);
        let conditions: Vec<Expr> = conditions.map(moved).collect();
        let mut target = Target::new(Arc::clone(def), Arc::clone(table), &self.binder)?;
        (target.readable, target.insertable, target.updatable) =
            (scope.readable.clone(), insert.named.clone(), update.named.clone());
        target.seen = Some(Box::new(SeenThrough {
            view: Arc::clone(within),
            scope: moved_scope(scope, &slots),
            has_key: has_key(def, &columns),
            columns,
            filter: (!conditions.is_empty()).then(|| build::and(conditions)),
            insert,
            update,
        }));
        Ok(target)
    }
}

impl From<'_> {
    /// The table that a slot belongs to.
    pub(in crate::plan) fn leaf_of(&self, slot: usize) -> usize {
        self.tables.partition_point(|table| table.base <= slot) - 1
    }
}

/// Has the CHECK OPTION of the only table of the scope tested on the rows of one of its leaves.
fn add_check_option(target: &mut Target, from: &From, at: usize) {
    if let Some(view) = &from.tables[at].within {
        let base = from.tables[at].base;
        let slots = base..base + target.def.columns.len();
        let conditions = from.checked(0).iter().map(|expr| moved(expr, &slots)).collect();
        target.checks.splice(0..0, Check::of_view(view, conditions));
    }
}

/// Errors 1288 and 1471.
pub(super) fn not_changeable(table: &str, verb: &'static str) -> SqlError {
    match verb {
        "UPDATE" | "DELETE" => SqlError::non_updatable(table, verb),
        _ => SqlError::not_insertable(table),
    }
}

/// An expression over a join as one over the table that has these slots of it: what it reads of other tables is NULL.
fn moved(expr: &Expr, slots: &Range<usize>) -> Expr {
    fn visit(expr: &mut Expr, slots: &Range<usize>) {
        match expr.node {
            Node::Column(slot) if slots.contains(&slot) => expr.node = Node::Column(slot - slots.start),
            Node::Column(_) => *expr = build::null(),
            _ => {}
        }
        for child in expr.children_mut() {
            visit(child, slots);
        }
    }
    let mut moved = expr.clone();
    visit(&mut moved, slots);
    moved
}

fn moved_scope(scope: &ScopeTable, slots: &Range<usize>) -> ScopeTable {
    let mut scope = scope.clone();
    for column in &mut scope.columns {
        match &mut column.value {
            Some(value)
                if value.columns().iter().all(|slot| slots.contains(slot)) && !has_subquery(value) =>
            {
                *value = Arc::new(moved(value, slots));
            }
            None if slots.contains(&column.slot) => column.slot -= slots.start,
            _ => {
                column.name.clear();
                column.hidden = true;
            }
        }
    }
    scope
}

fn has_key(def: &TableDef, columns: &[(String, SeenColumn)]) -> bool {
    let is_seen = |at: usize| columns.iter().any(|(_, column)| *column == SeenColumn::Own(at));
    let mut keys = def.indexes.iter().filter(|index| {
        let mut parts = index.parts.iter();
        index.unique && parts.all(|part| !def.columns[part.column].ty.nullable)
    });
    keys.any(|index| index.parts.iter().all(|part| is_seen(part.column)))
        || (0..def.columns.len()).all(is_seen)
}
