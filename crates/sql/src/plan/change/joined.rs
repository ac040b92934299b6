//! UPDATE and DELETE of joined tables: which tables change, and the join that finds their rows.

use super::assignments::{Assignments, assigned_value};
use super::foreign_keys::Event;
use super::reads::ChangedTable;
use super::seen::not_changeable;
use super::target::{Check, Target};
use crate::accounts::Privileges;
use crate::context::TableUse;
use crate::error::{Result, SqlError, er};
use crate::expr::{Expr, ScopeTable};
use crate::mdl::Mode;
use crate::parse::ast;
use crate::plan::from::{self, FromInput, FromTable};
use crate::plan::group::{Aliases, BlockHooks};
use crate::plan::join::{self, JoinInput};
use crate::plan::order::OrderWish;
use crate::plan::zero_dates::with_zero_dates;
use crate::plan::{Planner, QueryBody, QueryPlan, RowSource, SelectPlan};
use std::sync::Arc;
use tidemark_engine::LockWait;

/// A table whose rows change.
pub struct JoinedTarget {
    pub target: Target,
    /// Where its columns begin in the joined row.
    pub base: usize,
    pub action: JoinedAction,
}

/// What becomes of its rows.
pub enum JoinedAction {
    Delete,
    Update(Box<JoinedUpdate>),
}

/// What an UPDATE does to one of its tables.
pub struct JoinedUpdate {
    /// Their values are over the joined row.
    pub assignments: Assignments,
    /// The CHECK OPTION of the view that it goes through, over the joined row.
    pub check: Option<Check>,
    /// The assignments see those before them.
    pub as_read: bool,
}

/// UPDATE or DELETE of joined tables.
pub struct JoinedPlan {
    /// The join; its body is a SELECT without output.
    pub join: QueryPlan,
    pub targets: Vec<JoinedTarget>,
    pub ignore: bool,
    /// A table that changes is read without an index, which safe updates refuse.
    pub full_scan: bool,
}

impl JoinedTarget {
    /// The slot that holds the row's primary key as the engine knows it; NULL in a row that an outer join added.
    pub fn key_slot(&self) -> usize {
        self.base + self.target.def.columns.len()
    }
}

impl JoinedPlan {
    /// Whether it is an UPDATE.
    pub fn updates(&self) -> bool {
        let mut targets = self.targets.iter();
        targets.any(|target| matches!(target.action, JoinedAction::Update(_)))
    }
}

/// A table that is assigned to.
struct Assigned {
    /// Its number in the scope: the table, or the view around it.
    named: usize,
    at: usize,
    target: Target,
    list: Vec<(usize, Expr)>,
}

/// The table of the scope that a column is of, and its position there. Errors 1052 and 1054.
fn place_of(from: &from::From, name: &ast::ColumnName) -> Result<(usize, usize)> {
    let found = from.scope.locate(name, "field list")?;
    let (table, nth) = found.ok_or_else(|| SqlError::unknown_column(&name.to_string(), "field list"))?;
    let named = from
        .scope
        .tables
        .iter()
        .position(|other| std::ptr::eq(other, table));
    Ok((named.unwrap_or(0), nth))
}

impl Planner<'_> {
    /// UPDATE of the rows of a FROM clause whose tables have slots for their keys.
    pub(in crate::plan) fn joined_update(
        &mut self,
        update: &ast::Update,
        mut from: from::From<'static>,
    ) -> Result<JoinedPlan> {
        if !update.order_by.is_empty() {
            return Err(SqlError::wrong_usage("UPDATE", "ORDER BY"));
        }
        if update.limit.is_some() {
            return Err(SqlError::wrong_usage("UPDATE", "LIMIT"));
        }
        let mut changed: Vec<Assigned> = Vec::new();
        for assignment in &update.assignments {
            let (named, nth) = place_of(&from, &assignment.column)?;
            let scope = &from.scope.tables[named];
            let column = &scope.columns[nth];
            if column.value.is_some() {
                return Err(SqlError::column_not_updatable(&column.name));
            }
            let at = from.leaf_of(column.slot);
            let column = column.slot - from.tables[at].base;
            let known = match changed.iter().position(|known| known.at == at) {
                Some(known) => known,
                None => {
                    let view = from.views_of(named).first().map(|view| Arc::clone(&view.def));
                    if let Some(view) = view
                        && changed.iter().any(|other| other.named == named)
                    {
                        return Err(SqlError::view_of_several_tables(&view.schema, &view.name));
                    }
                    let target = self.joined_target(&from, (named, at), "UPDATE", Privileges::UPDATE)?;
                    changed.push(Assigned {
                        named,
                        at,
                        target,
                        list: Vec::new(),
                    });
                    changed.len() - 1
                }
            };
            let Assigned { target, list, .. } = &mut changed[known];
            target.check_update(nth, column, &assignment.column.column)?;
            if !target.takes(column, &assignment.value)? {
                continue;
            }
            let binder = self.binder.in_clause("field list");
            let mut hooks = BlockHooks {
                planner: self,
                aggregates: None,
                windows: None,
                aliases: Aliases::NONE,
            };
            let value = &assignment.value;
            let scope = (&from.scope, from.tables[at].base);
            let value = assigned_value(column, value, target, scope, &binder, &mut hooks)?;
            list.push((column, value));
        }
        changed.sort_by_key(|changed| changed.at);
        let changed = changed.into_iter().map(|changed| {
            let Assigned {
                named,
                at,
                target,
                list,
            } = changed;
            let within = from.tables[at].within.as_ref();
            let action = JoinedAction::Update(Box::new(JoinedUpdate {
                assignments: Assignments::new(list, &target),
                check: within.and_then(|view| Check::of_view(view, from.checked(named))),
                as_read: false,
            }));
            let base = from.tables[at].base;
            (at, JoinedTarget { target, base, action })
        });
        let targets: Vec<(usize, JoinedTarget)> = changed.collect();
        refuse_two_names(&from.tables, &targets)?;
        let plan = self.joined(&mut from, update.filter.as_ref(), targets, update.ignore)?;
        Ok(plan)
    }

    pub(in crate::plan) fn joined_delete(&mut self, delete: &ast::Delete) -> Result<JoinedPlan> {
        let mut from = self.keyed_tables(&delete.from)?;
        let mut targets: Vec<(usize, JoinedTarget)> = Vec::new();
        for name in &delete.targets {
            // With its database a table is meant by its own name.
            let means = |(at, named): &(usize, &ScopeTable)| {
                let own_name = || match from.views_of(*at).first() {
                    Some(view) => view.def.name == name.name,
                    None => from.tables[from.leaves[*at].start].is_named(&name.name),
                };
                named.answers_to(name.schema.as_deref(), Some(&name.name))
                    && (name.schema.is_none() || own_name())
            };
            let found = from.scope.tables.iter().enumerate().find(means);
            let found = found.map(|(named, _)| (named, from.leaves[named].start));
            let (named, at) = found.ok_or_else(|| SqlError::unknown_table(&name.name, "MULTI DELETE"))?;
            if let Some(view) = from.views_of(named).first()
                && view.leaves.len() > 1
                && !view.joins_outer
            {
                let (schema, name) = (&view.def.schema, &view.def.name);
                return Err(SqlError::no_delete_from_join_view(schema, name));
            }
            if targets.iter().any(|(other, _)| *other == at) {
                return Err(SqlError::not_unique_table(&name.name));
            }
            let target = self.joined_target(&from, (named, at), "DELETE", Privileges::DELETE)?;
            let base = from.tables[at].base;
            let action = JoinedAction::Delete;
            targets.push((at, JoinedTarget { target, base, action }));
        }
        targets.sort_by_key(|(at, _)| *at);
        self.joined(&mut from, delete.filter.as_ref(), targets, delete.ignore)
    }

    /// The FROM clause, each stored table with a slot for its rows' primary keys.
    pub(in crate::plan) fn keyed_tables(&mut self, list: &[ast::TableRef]) -> Result<from::From<'static>> {
        self.keyed = true;
        let from = self.tables_of(list, None, false);
        self.keyed = false;
        from
    }

    fn joined_target(
        &mut self,
        from: &from::From,
        (named, at): (usize, usize),
        verb: &'static str,
        privilege: Privileges,
    ) -> Result<Target> {
        if !from.views_of(named).is_empty() {
            return self.target_through(from, (named, at), privilege, verb);
        }
        let table = &from.tables[at];
        match &table.input {
            FromInput::Stored { def, table: stored } => {
                if !def.temporary {
                    self.state.require_in_part(privilege, &def.schema, &def.name)?;
                }
                let used = TableUse::new(Arc::clone(def), Mode::Write, privilege);
                self.uses.push(used.named(&table.alias));
                self.whole_target(Arc::clone(def), Arc::clone(stored))
            }
            FromInput::Virtual(def) => Err(self.state.database_denied(&def.schema)),
            FromInput::Derived { .. } | FromInput::Json(_) => Err(not_changeable(&table.alias, verb)),
        }
    }

    fn joined(
        &mut self,
        from: &mut from::From,
        filter: Option<&ast::Expr>,
        mut targets: Vec<(usize, JoinedTarget)>,
        ignore: bool,
    ) -> Result<JoinedPlan> {
        for (_, target) in &mut targets {
            let mut event = match &target.action {
                JoinedAction::Delete => Event::Delete,
                JoinedAction::Update(update) => Event::Update(update.assignments.written()),
            };
            target.target.add_hooks(std::slice::from_ref(&event));
            if let Event::Update(written) = &mut event {
                *written = target.target.written(std::mem::take(written));
            }
            self.add_foreign_keys(&mut target.target, &[event])?;
        }
        let mut filter = match filter {
            Some(filter) => {
                let filter = self.condition(filter, &from.scope, "where clause")?;
                Some(with_zero_dates(
                    filter,
                    &|slot| from.column_not_null(slot),
                    self.binder.ctx,
                )?)
            }
            None => None,
        };
        self.test_arrays(&from.tables, from.tree.as_mut(), filter.as_mut())?;
        let derived = from.tables.iter().filter_map(|table| match table.input {
            FromInput::Derived { query, .. } => Some(query),
            _ => None,
        });
        let derived: Vec<usize> = derived.collect();
        for (at, target) in &targets {
            let verb = match target.action {
                JoinedAction::Delete => "DELETE",
                JoinedAction::Update(_) => "UPDATE",
            };
            let changed = ChangedTable {
                name: &from.tables[*at].locked_as,
                ..ChangedTable::of(&target.target, verb)
            };
            self.refuse_reads_of(&changed, derived.clone())?;
        }
        let mut needed = Vec::new();
        let mut read: Vec<&Expr> = filter.iter().collect();
        read.extend(from.tree.iter().flat_map(join::conditions));
        for (_, target) in &targets {
            needed.push(target.key_slot());
            if let JoinedAction::Update(update) = &target.action {
                read.extend(update.assignments.list().iter().map(|(_, value)| value));
                if let Some(check) = &update.check {
                    // Rows that stay as they are are not tested.
                    needed.extend(
                        update
                            .assignments
                            .assigned()
                            .iter()
                            .map(|column| target.base + column),
                    );
                    read.push(&check.condition);
                }
            }
        }
        read.iter().for_each(|e| self.slots_of(e, &mut needed));
        self.slots_of_laterals(&from.tables, &mut needed);
        let changes = |at: usize| targets.iter().any(|(target, _)| *target == at);
        let locks: Vec<_> = (0..from.tables.len())
            .map(|at| changes(at).then_some((true, LockWait::Wait)))
            .collect();
        let wish = OrderWish::default();
        let tree = from.tree.take();
        let input = JoinInput {
            tables: &from.tables,
            needed: &needed,
            wish: &wish,
            first: None,
            advice: None,
            locks: &locks,
        };
        // How many rows its derived tables have is known of their plans.
        self.lower_queries()?;
        let joined = self.source(tree, filter, input)?;
        self.check_join_size(&joined.source)?;
        if let Some(first) = first_base(&joined.source)
            && let Some((at, target)) = targets.iter_mut().find(|(_, target)| target.base == first)
        {
            let alone = named_once(&from.tables, *at);
            target.see_as_read(alone, &joined.source);
        }
        let mut full_scan = false;
        joined.source.walk(&mut |_| {}, &mut |scan| {
            full_scan |= scan.path.is_full() && matches!(scan.lock, Some((true, _)));
        });
        let select = SelectPlan {
            number: 0,
            width: from.scope.width(),
            source: joined.source,
            filter: joined.filter,
            group: None,
            having: None,
            having_first: false,
            windows: None,
            output: Vec::new(),
            distinct: false,
            latch_safe: false,
        };
        Ok(JoinedPlan {
            join: QueryPlan::of(QueryBody::Select(Box::new(select)), Vec::new()),
            targets: targets.into_iter().map(|(_, target)| target).collect(),
            ignore,
            full_scan,
        })
    }
}

impl JoinedTarget {
    /// Whether the table read first can be taken for changed as it is read: it is named once, and the change moves no
    /// row along the path that is read.
    fn see_as_read(&mut self, alone: bool, source: &RowSource) {
        let base = self.base;
        let mut indexes = Vec::new();
        source.walk(&mut |_| {}, &mut |scan| {
            if scan.base == base {
                indexes.extend(scan.path.parts().iter().map(|path| path.index));
            }
        });
        if let JoinedAction::Update(update) = &mut self.action {
            let written = self.target.written(update.assignments.written());
            update.as_read = alone && !indexes.iter().any(|index| self.target.moves(&written, *index));
        }
    }
}

/// Error 1706 if a table changes under two names and its primary key with it.
fn refuse_two_names(tables: &[FromTable], targets: &[(usize, JoinedTarget)]) -> Result<()> {
    let moves = |target: &JoinedTarget| match &target.action {
        JoinedAction::Update(update) => target.target.moves(&update.assignments.assigned(), 0),
        JoinedAction::Delete => false,
    };
    for (n, (at, one)) in targets.iter().enumerate() {
        for (other_at, other) in &targets[n + 1..] {
            if one.target.def.id == other.target.def.id && (moves(one) || moves(other)) {
                return Err(SqlError::new(
                    er::MULTI_UPDATE_KEY_CONFLICT,
                    format!(
                        "Primary key/partition key update is not allowed since the table is updated both as '{}' and \
                         '{}'.",
                        tables[*at].locked_as, tables[*other_at].locked_as
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// Where the columns begin of the stored table that is read first.
fn first_base(source: &RowSource) -> Option<usize> {
    match source {
        RowSource::One => None,
        RowSource::Table(scan) => Some(scan.base),
        RowSource::Inner(list) => list.first().and_then(first_base),
        RowSource::Left(join) => first_base(&join.left),
    }
}

fn named_once(tables: &[FromTable], at: usize) -> bool {
    let id = |table: &FromTable| match &table.input {
        FromInput::Stored { def, .. } => Some(def.id),
        _ => None,
    };
    tables.iter().filter(|table| id(table) == id(&tables[at])).count() == 1
}
