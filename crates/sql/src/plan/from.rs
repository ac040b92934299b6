//! The FROM clause: its tables into the scope, its joins into a tree of conditions.

use super::Planner;
use super::view::merged::{MergedView, Within};
use crate::accounts::{Privileges, Rights};
use crate::context::TableUse;
use crate::dictionary::{TableDef, names_equal, virtual_schema};
use crate::error::depth::TABLES_MAX;
use crate::error::{Result, SqlError, er};
use crate::expr::{CmpOp, Expr, Scope, ScopeColumn, ScopeTable, build};
use crate::mdl::Mode;
use crate::parse::ast::{
    self, ColumnName, IndexHintKind, JoinCondition, JoinKind, LockClause, LockWaitOption, TableRef,
};
use crate::types::SqlType;
use std::sync::Arc;
use tidemark_engine::{IndexNo, LockWait, Table};

/// A table of the FROM clause before it is known how it is read.
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
}

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
}

/// The shape of the joins. Leaves are positions in [`From::tables`].
pub(super) enum Tree {
    Table(usize),
    Inner {
        list: Vec<Tree>,
        on: Vec<Expr>,
        straight: bool,
    },
    Left {
        left: Box<Tree>,
        right: Box<Tree>,
        on: Vec<Expr>,
    },
}

impl FromTable {
    /// Whether it is a stored table of this name, whatever it is called in the statement.
    pub fn is_named(&self, name: &str) -> bool {
        matches!(&self.input, FromInput::Stored { def, .. } if def.name == name)
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
    /// Tables of the scope that what is being planned may not name: those left of a RIGHT JOIN, from its right side.
    pub unseen: Vec<std::ops::Range<usize>>,
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
            unseen: Vec::new(),
        }
    }

    /// What a LATERAL derived table sees around it: the tables so far.
    fn seen_by_lateral(&self) -> Scope<'_> {
        let is_seen = |at: &usize| !self.unseen.iter().any(|range| range.contains(at));
        let tables = self.scope.tables.iter().enumerate();
        Scope {
            tables: tables
                .filter(|(at, _)| is_seen(at))
                .map(|(_, table)| table.clone())
                .collect(),
            ..self.scope.clone()
        }
    }

    /// The table just added to the scope is this one.
    pub(super) fn add_leaf(&mut self, table: FromTable) -> Tree {
        let at = self.tables.len();
        self.tables.push(table);
        self.leaves.push(at..at + 1);
        Tree::Table(at)
    }

    /// `*` takes in the columns of the table just added to the scope.
    pub(super) fn see_last_table(&mut self) {
        let at = self.scope.tables.len() - 1;
        let columns = self.scope.tables[at].columns.iter().enumerate();
        let shown = columns.filter(|(_, column)| !column.hidden).map(|(n, _)| (at, n));
        self.star.extend(shown);
    }

    /// Puts the columns that a join merges before the others. `start` is where `*` began before the join, `middle` where
    /// its right side begins; the pairs are each merged column's twin and the column that stands for both. An outer
    /// join's outer side comes first.
    fn merge_star(&mut self, start: usize, middle: usize, pairs: &[[(usize, usize); 2]], right_join: bool) {
        let mut sides = [self.star[start..middle].to_vec(), self.star[middle..].to_vec()];
        if right_join {
            sides.reverse();
        }
        let merged = |column: &(usize, usize)| pairs.iter().any(|[_, kept]| kept == column);
        let gone = |column: &(usize, usize)| pairs.iter().any(|[twin, _]| twin == column);
        let [first, second] = &sides;
        let common = first.iter().filter(|column| merged(column));
        let rest = first
            .iter()
            .chain(second)
            .filter(|column| !merged(column) && !gone(column));
        let order: Vec<(usize, usize)> = common.chain(rest).copied().collect();
        self.star.truncate(start);
        self.star.extend(order);
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

    pub fn tables(&self) -> Vec<usize> {
        match self {
            Tree::Table(at) => vec![*at],
            Tree::Inner { list, .. } => list.iter().flat_map(Tree::tables).collect(),
            Tree::Left { left, right, .. } => [left.tables(), right.tables()].concat(),
        }
    }
}

impl Planner<'_> {
    /// How a table of the query being planned is locked by its locking clauses.
    pub(super) fn lock_of(&self, alias: &str) -> Option<(bool, LockWait)> {
        let names =
            |clause: &&LockClause| clause.of.is_empty() || clause.of.iter().any(|of| of.name == alias);
        let clause = self.locks.iter().find(names)?;
        let wait = match clause.wait {
            LockWaitOption::Wait => LockWait::Wait,
            LockWaitOption::NoWait => LockWait::NoWait,
            LockWaitOption::SkipLocked => LockWait::Skip,
        };
        Some((clause.exclusive, wait))
    }

    /// Errors 3568 and 3569: a clause names what is not there, or two name the same.
    pub(super) fn check_locks(&self, locks: &[LockClause], from: &From) -> Result<()> {
        for of in locks.iter().flat_map(|clause| &clause.of) {
            if !from.scope.tables.iter().any(|table| table.alias == of.name) {
                return Err(SqlError::new(
                    er::UNRESOLVED_TABLE_LOCK,
                    format!("Unresolved table name `{}` in locking clause.", of.name),
                ));
            }
        }
        for table in &from.scope.tables {
            let names = |clause: &&LockClause| {
                clause.of.is_empty() || clause.of.iter().any(|of| of.name == table.alias)
            };
            let named = locks.iter().flat_map(|clause| &clause.of);
            let times = named.filter(|of| of.name == table.alias).count();
            if times > 1 || locks.iter().filter(names).count() > 1 {
                let name = if times > 0 {
                    format!("`{}`", table.alias)
                } else {
                    table.alias.clone()
                };
                return Err(SqlError::new(
                    er::DUPLICATE_TABLE_LOCK,
                    format!("Table {name} appears in multiple locking clauses."),
                ));
            }
        }
        Ok(())
    }

    pub(super) fn tables_of<'p>(
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
            TableRef::Nested(list) => {
                let list = list
                    .iter()
                    .map(|t| self.table_ref(t, from))
                    .collect::<Result<_>>()?;
                Ok(Tree::Inner {
                    list,
                    on: Vec::new(),
                    straight: false,
                })
            }
            TableRef::Join(join) => self.join(join, from),
        }
    }

    /// A common table that a name means; `None`: it means none.
    fn common_leaf(&mut self, named: &ast::TableName, from: &mut From) -> Result<Option<Tree>> {
        if named.name.schema.is_some() {
            return Ok(None);
        }
        let is_common = self.working.iter().any(|(name, _)| *name == named.name.name)
            || self.common.iter().any(|c| c.name == named.name.name);
        if is_common && named.as_of.is_some() {
            return Err(SqlError::not_supported("AS OF of a common table expression"));
        }
        let alias = named.alias.as_ref().unwrap_or(&named.name.name);
        if let Some((_, query)) = self.working.iter().rfind(|(name, _)| *name == named.name.name) {
            return self.derived_leaf((*query, false), alias, &[], from).map(Some);
        }
        let Some(at) = self.common.iter().rposition(|c| c.name == named.name.name) else {
            return Ok(None);
        };
        self.count_expanded()?;
        let common = Arc::clone(&self.common[at]);
        // The query sees only the tables defined before it.
        let later = self.common.split_off(at);
        let locks = std::mem::take(&mut self.locks);
        let planned = self.common_table(&common, from.scope.outer);
        self.locks = locks;
        self.common.extend(later);
        self.queries.push(planned?);
        self.derived_leaf((self.queries.len() - 1, false), alias, &common.columns, from)
            .map(Some)
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
            });
        }
        from.scope.add(ScopeTable {
            schema: Some(def.schema.clone()),
            alias: alias.clone(),
            columns,
            readable: self.state.allowed_columns(Privileges::SELECT, &def),
        })?;
        from.see_last_table();
        let (allowed, forced) = hints(&named.hints, &def, &alias)?;
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
        }))
    }

    fn derived(
        &mut self,
        query: &ast::Query,
        (alias, names): (&str, &[String]),
        lateral: bool,
        from: &mut From,
    ) -> Result<Tree> {
        let locks = std::mem::take(&mut self.locks);
        // Without LATERAL it sees what is around the query that it stands in, not its neighbours.
        let planned = match lateral {
            true => self.query(query, Some(&from.seen_by_lateral())),
            false => self.query(query, from.scope.outer),
        };
        self.locks = locks;
        self.queries.push(planned?);
        self.derived_leaf((self.queries.len() - 1, lateral), alias, names, from)
    }

    /// A query's result as a table.
    fn derived_leaf(
        &mut self,
        (query, lateral): (usize, bool),
        alias: &str,
        names: &[String],
        from: &mut From,
    ) -> Result<Tree> {
        let plan = &self.queries[query];
        if !names.is_empty() && names.len() != plan.columns.len() {
            return Err(SqlError::new(
                er::VIEW_WRONG_LIST,
                "In definition of view, derived table or common table expression, SELECT list and column names list \
                 have different column counts",
            ));
        }
        let base = from.scope.width();
        let mut columns: Vec<ScopeColumn> = Vec::with_capacity(plan.columns.len());
        for (i, column) in plan.columns.iter().enumerate() {
            let name = names.get(i).unwrap_or(&column.name).clone();
            if columns.iter().any(|other| names_equal(&other.name, &name)) {
                return Err(SqlError::duplicate_column(&name));
            }
            let ty = column.ty.clone();
            columns.push(ScopeColumn {
                name,
                ty,
                slot: base + i,
                hidden: false,
                merged: false,
                value: None,
            });
        }
        from.scope.add(ScopeTable {
            schema: None,
            alias: alias.to_string(),
            columns,
            readable: None,
        })?;
        from.see_last_table();
        Ok(from.add_leaf(FromTable {
            alias: alias.to_string(),
            locked_as: alias.to_string(),
            within: self.views.first().cloned(),
            rights: self.state.rights(),
            base,
            input: FromInput::Derived { query, lateral },
            allowed: None,
            forced: false,
        }))
    }

    fn join(&mut self, join: &ast::Join, from: &mut From) -> Result<Tree> {
        let first = from.scope.tables.len();
        let star = from.star.len();
        let around = self.null_extended;
        self.null_extended |= join.kind == JoinKind::Right;
        let left = self.table_ref(&join.left, from)?;
        let middle = from.scope.tables.len();
        let star = (star, from.star.len());
        self.null_extended = around || join.kind == JoinKind::Left;
        if join.kind == JoinKind::Right {
            from.unseen.push(first..middle);
        }
        let right = self.table_ref(&join.right, from)?;
        if join.kind == JoinKind::Right {
            from.unseen.pop();
        }
        self.null_extended = around;
        let on = match &join.condition {
            JoinCondition::None => Vec::new(),
            JoinCondition::On(condition) => vec![self.condition(condition, &from.scope, "on clause")?],
            JoinCondition::Using(names) => self.using(names, from, (first, middle), star, join.kind)?,
            JoinCondition::Natural => {
                let names = common_names(&from.scope, first, middle);
                // The statement does not contain these names, so an error must not tell them.
                for table in &from.scope.tables[first..] {
                    let is_common =
                        |column: &ScopeColumn| names.iter().any(|name| names_equal(name, &column.name));
                    let columns = table.columns.iter().enumerate();
                    table.check_star(columns.filter(|(_, column)| is_common(column)).map(|(at, _)| at))?;
                }
                self.using(&names, from, (first, middle), star, join.kind)?
            }
        };
        if self.keyed {
            from.join_conditions.extend(on.iter().cloned());
        }
        let (left, right) = if join.kind == JoinKind::Right {
            (right, left)
        } else {
            (left, right)
        };
        Ok(match join.kind {
            JoinKind::Left | JoinKind::Right => Tree::Left {
                left: Box::new(left),
                right: Box::new(right),
                on,
            },
            JoinKind::Inner => Tree::Inner {
                list: vec![left, right],
                on,
                straight: false,
            },
            JoinKind::Straight => Tree::Inner {
                list: vec![left, right],
                on,
                straight: true,
            },
        })
    }

    /// `USING (a, b)`: equal columns of both sides, of which an unqualified name means the outer side's.
    fn using(
        &mut self,
        names: &[String],
        from: &mut From,
        (first, middle): (usize, usize),
        star: (usize, usize),
        kind: JoinKind,
    ) -> Result<Vec<Expr>> {
        let mut on = Vec::new();
        let mut pairs = Vec::new();
        for name in names {
            let left = position(&from.scope, first..middle, name)?;
            let right = position(&from.scope, middle..from.scope.tables.len(), name)?;
            for (table, column) in [left, right] {
                from.scope.tables[table].check_readable(column)?;
            }
            let column = |(table, column): (usize, usize)| from.scope.tables[table].columns[column].expr(0);
            on.push(build::compare(
                CmpOp::Eq,
                column(left),
                column(right),
                self.binder.ctx,
            )?);
            let (twin, kept) = match kind {
                JoinKind::Right => (left, right),
                _ => (right, left),
            };
            pairs.push([twin, kept]);
            let twin = &mut from.scope.tables[twin.0].columns[twin.1];
            twin.hidden = true;
            twin.merged = true;
        }
        from.merge_star(star.0, star.1, &pairs, kind == JoinKind::Right);
        Ok(on)
    }
}

pub(super) fn common_names(scope: &Scope, first: usize, middle: usize) -> Vec<String> {
    let has = |name: &str| {
        scope.tables[middle..]
            .iter()
            .any(|t| t.columns.iter().any(|c| !c.hidden && names_equal(&c.name, name)))
    };
    let left = scope.tables[first..middle].iter().flat_map(|t| &t.columns);
    left.filter(|c| !c.hidden && has(&c.name))
        .map(|c| c.name.clone())
        .collect()
}

pub(super) fn position(scope: &Scope, tables: std::ops::Range<usize>, name: &str) -> Result<(usize, usize)> {
    let mut found = None;
    for table in tables {
        for (i, column) in scope.tables[table].columns.iter().enumerate() {
            if !column.merged && names_equal(&column.name, name) {
                if found.is_some() {
                    return Err(SqlError::ambiguous_column(name, "from clause"));
                }
                found = Some((table, i));
            }
        }
    }
    let unknown = ColumnName {
        schema: None,
        table: None,
        column: name.to_string(),
    };
    found.ok_or_else(|| SqlError::unknown_column(&unknown.to_string(), "from clause"))
}

/// Which indexes the hints leave, and whether the whole table is to be read only where none of them helps; error 1176.
pub fn hints(hints: &[ast::IndexHint], def: &TableDef, alias: &str) -> Result<(Option<Vec<IndexNo>>, bool)> {
    if hints.is_empty() {
        return Ok((None, false));
    }
    let mut allowed: Vec<IndexNo> = def.indexes.iter().map(|index| index.number).collect();
    let mut forced = false;
    let number = |name: &String| {
        def.index(name).map(|index| index.number).ok_or_else(|| {
            SqlError::new(
                er::KEY_DOES_NOT_EXIST,
                format!("Key '{name}' doesn't exist in table '{alias}'"),
            )
        })
    };
    let mut used: Option<Vec<IndexNo>> = None;
    for hint in hints {
        let named = hint.indexes.iter().map(number).collect::<Result<Vec<_>>>()?;
        match hint.kind {
            IndexHintKind::Ignore => allowed.retain(|index| !named.contains(index)),
            IndexHintKind::Use => used.get_or_insert_default().extend(named),
            IndexHintKind::Force => {
                forced = true;
                used.get_or_insert_default().extend(named);
            }
        }
    }
    if let Some(used) = used {
        allowed.retain(|index| used.contains(index));
    }
    Ok((Some(allowed), forced))
}
