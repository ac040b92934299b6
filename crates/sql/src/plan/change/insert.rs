//! Plans INSERT and REPLACE: which columns get values, from which expressions or query, and what is done about a key that is
//! there already.

use super::assignments::{Assignments, as_stored};
use super::carried::{Carried, base_of};
use super::foreign_keys::Event;
use super::literal_default;
use super::load::LoadSource;
use super::reads::ChangedTable;
use super::seen::SeenColumn;
use super::target::{Target, Use};
use crate::accounts::Privileges;
use crate::context::TableUse;
use crate::error::{Result, SqlError};
use crate::expr::digits::Asked;
use crate::expr::{AllowedColumns, Binder, Expr, Hooks, Scope, ScopeColumn, ScopeTable, build};
use crate::parse::ast;
use crate::plan::from::default_of;
use crate::plan::group::{Aliases, BlockHooks};
use crate::plan::program::StoredFunction;
use crate::plan::query::each_output;
use crate::plan::{Planner, QueryPlan};
use crate::types::SqlType;
use std::sync::Arc;

/// What a VALUES row gives a column.
pub enum Given {
    Value(Expr),
    Default,
}

/// Where the rows come from.
pub enum InsertSource {
    Rows(Vec<Vec<Given>>),
    Query(Box<SourceQuery>),
    /// LOAD DATA
    File(Box<LoadSource>),
}

/// What becomes of a row whose key is there.
pub enum OnDuplicate {
    Fail,
    /// REPLACE
    Replace,
    /// ON DUPLICATE KEY UPDATE
    Update(Assignments),
}

/// The query that INSERT … SELECT reads, with its subqueries, which it numbers by itself.
pub struct SourceQuery {
    pub query: QueryPlan,
    pub queries: Vec<QueryPlan>,
    /// The stored functions that they call, numbered likewise.
    pub routines: Vec<Arc<dyn StoredFunction>>,
    /// The slots of its row that its last columns are, for ON DUPLICATE KEY UPDATE.
    pub carried: Vec<usize>,
}

/// INSERT and REPLACE.
pub struct InsertPlan {
    pub target: Target,
    /// For each value of a source row, its column.
    pub columns: Vec<usize>,
    pub source: InsertSource,
    pub on_duplicate: OnDuplicate,
    pub ignore: bool,
    /// The AUTO_INCREMENT column.
    pub auto_increment: Option<usize>,
    /// A value in VALUES reads a column.
    pub reads_columns: bool,
}

impl Planner<'_> {
    pub(in crate::plan) fn insert(&mut self, insert: &ast::Insert) -> Result<InsertPlan> {
        let mut privileges = Privileges::INSERT;
        if insert.replace {
            privileges = privileges.union(Privileges::DELETE);
        }
        if !insert.on_duplicate.is_empty() {
            privileges = privileges.union(Privileges::UPDATE);
        }
        let names: Vec<&str> = insert.columns.iter().map(String::as_str).collect();
        let mut target = self.insert_target(&insert.table, &names, privileges)?;
        let columns = columns_of(insert, &target)?;
        let binder = self.binder;
        let mut source_uses = Vec::new();
        let mut selected = Vec::new();
        let mut source = match &insert.source {
            ast::InsertSource::Values(rows) => {
                let mut hooks = BlockHooks {
                    planner: self,
                    aggregates: None,
                    windows: None,
                    aliases: Aliases::NONE,
                };
                InsertSource::Rows(bind_rows(
                    rows,
                    &columns,
                    !insert.columns.is_empty(),
                    &target,
                    &binder,
                    &mut hooks,
                )?)
            }
            ast::InsertSource::Query(query) => {
                target.refuse_generated(&columns)?;
                let (source, uses, carried) = self.source_query_shown(query, Vec::new())?;
                source_uses = uses;
                selected = carried.tables_behind(base_of(&target));
                if source.query.columns.len() != columns.len() {
                    return Err(SqlError::column_count(1));
                }
                InsertSource::Query(Box::new(source))
            }
        };
        self.on_duplicate = true;
        let mut hooks = BlockHooks {
            planner: self,
            aggregates: None,
            windows: None,
            aliases: Aliases::NONE,
        };
        let on_duplicate = bind_on_duplicate(insert, &target, &columns, selected, &binder, &mut hooks);
        self.on_duplicate = false;
        let on_duplicate = on_duplicate?;
        if let (OnDuplicate::Update(assignments), ast::InsertSource::Query(query)) =
            (&on_duplicate, &insert.source)
        {
            let values = assignments.list().iter().map(|(_, value)| value);
            let slots = self.carried_slots(values, &target);
            if !slots.is_empty() {
                let (carrying, uses, _) = self.source_query_shown(query, slots)?;
                source = InsertSource::Query(Box::new(carrying));
                source_uses = uses;
            }
        }
        if let InsertSource::Query(source) = &mut source {
            source
                .query
                .as_members(|at| Some(&target.def.columns[*columns.get(at)?].ty))?;
        }
        let mut events = vec![Event::Insert];
        match &on_duplicate {
            OnDuplicate::Fail => {}
            OnDuplicate::Replace => events.push(Event::Delete),
            OnDuplicate::Update(assignments) => events.push(Event::Update(assignments.written())),
        }
        target.add_hooks(&events);
        if let Some(Event::Update(written)) = events.last_mut() {
            *written = target.written(std::mem::take(written));
        }
        self.add_foreign_keys(&mut target, &events)?;
        let reads_columns = match &source {
            InsertSource::Rows(rows) => rows
                .iter()
                .flatten()
                .any(|given| matches!(given, Given::Value(e) if !e.columns().is_empty())),
            InsertSource::Query(_) | InsertSource::File(_) => false,
        };
        self.refuse_reads_by_name(&ChangedTable::of(&target, "INSERT"))?;
        self.uses.extend(source_uses);
        Ok(InsertPlan {
            reads_columns,
            auto_increment: target.def.auto_increment(),
            columns,
            source,
            on_duplicate,
            ignore: insert.ignore,
            target,
        })
    }

    /// Plans the query that INSERT reads from. It runs by itself, before the first row is inserted, so its subqueries have
    /// numbers of their own.
    /// `carried` is asked of its outermost block, and answered.
    pub(super) fn source_query(
        &self,
        query: &ast::Query,
        carried: &mut Option<Carried>,
    ) -> Result<(SourceQuery, Vec<TableUse>)> {
        let mut planner = Planner::new(self.state, self.binder, self.sample, self.contexts);
        planner.uses.clone_from(&self.uses);
        planner.carried = carried.take();
        let mut query = planner.query(query, None)?;
        query.unveil_all();
        planner.moments(false)?;
        let query = planner.lower(query)?;
        *carried = planner.carried.take();
        let source = SourceQuery {
            query,
            queries: planner.take_lowered()?,
            routines: std::mem::take(&mut planner.routines),
            carried: Vec::new(),
        };
        Ok((source, planner.uses.split_off(self.uses.len())))
    }
}

impl QueryPlan {
    /// The values of a SET go into an ENUM as their texts: nothing in it is an empty text there, not the number of what is no member.
    fn as_members<'c>(&mut self, column: impl Fn(usize) -> Option<&'c SqlType>) -> Result<()> {
        each_output(self, &mut |at, e| {
            if let Some(column) = column(at) {
                let value = std::mem::replace(e, build::null());
                *e = build::text_of_set(value, column);
            }
            Ok(())
        })
    }
}

impl InsertPlan {
    /// Whether it is not known beforehand how many rows it inserts.
    pub fn is_bulk(&self) -> bool {
        self.known_rows().is_none()
    }

    /// How many rows it inserts, if that is known beforehand.
    pub fn known_rows(&self) -> Option<u64> {
        match &self.source {
            InsertSource::Rows(rows) => Some(rows.len() as u64),
            _ => None,
        }
    }
}

/// The columns that an INSERT gives values to: those it lists, or all that can be seen. Errors 1054, 1110, 1142 and 1143.
fn columns_of(insert: &ast::Insert, target: &Target) -> Result<Vec<usize>> {
    if insert.columns.is_empty() {
        return target.visible_columns();
    }
    let mut columns = Vec::with_capacity(insert.columns.len());
    for name in &insert.columns {
        let at = target.column(name, Use::Insert)?;
        if columns.contains(&at) {
            return Err(SqlError::column_specified_twice(name));
        }
        columns.push(at);
    }
    Ok(columns)
}

/// What becomes of a row whose key is there, by the statement's form.
fn bind_on_duplicate(
    insert: &ast::Insert,
    target: &Target,
    columns: &[usize],
    selected: Vec<ScopeTable>,
    binder: &Binder,
    hooks: &mut dyn Hooks,
) -> Result<OnDuplicate> {
    Ok(if insert.replace {
        OnDuplicate::Replace
    } else if insert.on_duplicate.is_empty() {
        OnDuplicate::Fail
    } else {
        let mut scope = Scope::default();
        scope.add(target.scope_table(None))?;
        if let Some((alias, names)) = &insert.row_alias {
            scope.add(alias_table(target, columns, alias, names)?)?;
        }
        let has_name = |at: &usize| match &target.seen {
            Some(seen) => seen.columns.iter().any(|(_, of)| *of == SeenColumn::Own(*at)),
            None => !target.def.columns[*at].is_key_part(),
        };
        let named: Vec<usize> = (0..target.def.columns.len()).filter(has_name).collect();
        scope.add(alias_table(target, &named, INSERTED, &[])?)?;
        // One of them may have the target's name.
        scope.tables.extend(selected);
        let mut hooks = OnDuplicateHooks { target, inner: hooks };
        let binder = binder.in_clause("field list");
        let assignments = Assignments::bind(&insert.on_duplicate, target, &scope, &binder, &mut hooks)?;
        OnDuplicate::Update(assignments)
    })
}

/// The new row in ON DUPLICATE KEY UPDATE, by a name that no statement can write. A subquery finds it as a row of the query around it.
pub(in crate::plan) const INSERTED: &str = "\0inserted";

/// VALUES(c) is the slot of `c` behind those of the old row.
struct OnDuplicateHooks<'a> {
    target: &'a Target,
    inner: &'a mut dyn Hooks,
}

impl Hooks for OnDuplicateHooks<'_> {
    fn routine(&mut self, schema: Option<&str>, name: &str, args: Vec<Expr>) -> Result<Option<Expr>> {
        self.inner.routine(schema, name, args)
    }

    fn settle(&mut self, e: &mut Expr, asked: Asked) {
        self.inner.settle(e, asked);
    }

    fn subquery(
        &mut self,
        query: &ast::Query,
        scope: &Scope,
        binder: &Binder,
    ) -> Result<(usize, Vec<crate::types::SqlType>)> {
        self.inner.subquery(query, scope, binder)
    }

    fn inserted(&mut self, column: &ast::ColumnName, _: &Scope, _: &Binder) -> Result<Expr> {
        let at = self.target.column(&column.column, Use::Read)?;
        let width = self.target.def.columns.len();
        Ok(build::column(width + at, self.target.def.columns[at].ty.clone()))
    }
}

pub(super) fn bind_rows(
    rows: &[Vec<ast::Expr>],
    columns: &[usize],
    named: bool,
    target: &Target,
    binder: &Binder,
    hooks: &mut dyn Hooks,
) -> Result<Vec<Vec<Given>>> {
    let mut scope = Scope::default();
    scope.add(target.scope_table(None))?;
    struct ValueHooks<'a> {
        target: &'a Target,
        inner: &'a mut dyn Hooks,
    }
    impl Hooks for ValueHooks<'_> {
        fn routine(&mut self, schema: Option<&str>, name: &str, args: Vec<Expr>) -> Result<Option<Expr>> {
            self.inner.routine(schema, name, args)
        }

        fn settle(&mut self, e: &mut Expr, asked: Asked) {
            self.inner.settle(e, asked);
        }

        fn default_of(
            &mut self,
            column: Option<&ast::ColumnName>,
            _scope: &Scope,
            _binder: &Binder,
        ) -> Result<Expr> {
            let Some(name) = column else {
                return Err(SqlError::not_supported("DEFAULT inside an expression"));
            };
            let column = self.target.column(&name.column, Use::Read)?;
            literal_default(self.target, column)
        }
        fn subquery(
            &mut self,
            query: &ast::Query,
            scope: &Scope,
            binder: &Binder,
        ) -> Result<(usize, Vec<crate::types::SqlType>)> {
            self.inner.subquery(query, scope, binder)
        }
    }
    // Where no column is named, rows of defaults alone may be empty, all of them.
    let all_defaults = !named && rows.first().is_some_and(|row| row.is_empty());
    let width = if all_defaults { 0 } else { columns.len() };
    let mut bound = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        if row.len() != width {
            return Err(SqlError::column_count(at + 1));
        }
        let given = row.iter().zip(columns).map(|(value, column)| {
            Ok(match value {
                ast::Expr::Default(None) => Given::Default,
                value => {
                    target.takes(*column, value)?;
                    let mut hooks = ValueHooks {
                        target,
                        inner: &mut *hooks,
                    };
                    let mut bound = binder.bind(value, &scope, &mut hooks)?;
                    let column = &target.def.columns[*column];
                    hooks.settle(&mut bound, Asked::Exact);
                    let bound = as_stored(value, bound, &column.ty, binder.ctx)?;
                    Given::Value(build::assignable(bound, &column.ty, &column.name, binder.ctx))
                }
            })
        });
        bound.push(given.collect::<Result<_>>()?);
    }
    Ok(bound)
}

/// `VALUES (…) AS alias (names)`: the new row under names of its own.
fn alias_table(target: &Target, columns: &[usize], alias: &str, names: &[String]) -> Result<ScopeTable> {
    if !names.is_empty() && names.len() != columns.len() {
        return Err(SqlError::column_count(1));
    }
    let width = target.def.columns.len();
    let named = columns.iter().enumerate().map(|(nth, &at)| ScopeColumn {
        name: names
            .get(nth)
            .map_or(target.named(at).0, String::as_str)
            .to_owned(),
        ty: target.def.columns[at].ty.clone(),
        slot: width + at,
        hidden: false,
        // With its own column names the alias is optional, otherwise the old row's come first.
        merged: names.is_empty(),
        value: None,
        default: default_of(&target.def.columns[at]),
    });
    let readable = target.readable.as_deref().map(|readable| AllowedColumns {
        columns: columns
            .iter()
            .map(|at| readable.columns[target.named(*at).1])
            .collect(),
        ..readable.clone()
    });
    Ok(ScopeTable {
        schema: None,
        alias: alias.to_owned(),
        columns: named.collect(),
        readable: readable.map(Arc::new),
    })
}
