//! UPDATE and DELETE of joined tables: which tables change, and the join that finds their rows.

use super::assignments::{Assignments, assigned_value};
use super::foreign_keys::Event;
use super::target::Target;
use crate::accounts::Privileges;
use crate::context::TableUse;
use crate::error::{Result, SqlError, er};
use crate::expr::{Expr, ScopeTable};
use crate::mdl::Mode;
use crate::parse::ast;
use crate::plan::from::{self, FromInput, FromTable};
use crate::plan::group::BlockHooks;
use crate::plan::join::{self, JoinInput};
use crate::plan::order::OrderWish;
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
    Update(JoinedUpdate),
}

/// What an UPDATE does to one of its tables.
pub struct JoinedUpdate {
    /// Their values are over the joined row.
    pub assignments: Assignments,
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

impl Planner<'_> {
    pub(in crate::plan) fn joined_update(&mut self, update: &ast::Update) -> Result<JoinedPlan> {
        if !update.order_by.is_empty() {
            return Err(SqlError::wrong_usage("UPDATE", "ORDER BY"));
        }
        if update.limit.is_some() {
            return Err(SqlError::wrong_usage("UPDATE", "LIMIT"));
        }
        let mut from = self.keyed_tables(&update.tables)?;
        // Which table, and what is assigned to its columns.
        let mut changed: Vec<(usize, Target, Vec<(usize, Expr)>)> = Vec::new();
        for assignment in &update.assignments {
            let found = from.scope.find(&assignment.column, "field list")?;
            let found = found
                .ok_or_else(|| SqlError::unknown_column(&assignment.column.to_string(), "field list"))?;
            if found.value.is_some() {
                return Err(SqlError::not_supported("UPDATE of views that are joined"));
            }
            let slot = found.slot;
            let at = from.tables.partition_point(|table| table.base <= slot) - 1;
            let column = slot - from.tables[at].base;
            let known = match changed.iter().position(|(table, ..)| *table == at) {
                Some(known) => known,
                None => {
                    let target = self.joined_target(&from.tables[at], "UPDATE", Privileges::UPDATE)?;
                    changed.push((at, target, Vec::new()));
                    changed.len() - 1
                }
            };
            let (_, target, list) = &mut changed[known];
            if let Some(updatable) = &target.updatable {
                updatable.check(column, &assignment.column.column)?;
            }
            if !target.takes(column, &assignment.value)? {
                continue;
            }
            let binder = self.binder.in_clause("field list");
            let mut hooks = BlockHooks {
                planner: self,
                aggregates: None,
                windows: None,
                aliases: &[],
                alias_first: false,
            };
            let value = &assignment.value;
            let named = from
                .leaves
                .iter()
                .position(|leaves| leaves.start == at)
                .unwrap_or(at);
            let scope = (&from.scope, named);
            let value = assigned_value(column, value, target, scope, &binder, &mut hooks)?;
            list.push((column, value));
        }
        changed.sort_by_key(|(at, ..)| *at);
        let changed = changed.into_iter().map(|(at, target, list)| {
            let action = JoinedAction::Update(JoinedUpdate {
                assignments: Assignments::new(list, &target),
                as_read: false,
            });
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
                named.answers_to(name.schema.as_deref(), Some(&name.name))
                    && (name.schema.is_none() || from.tables[from.leaves[*at].start].is_named(&name.name))
            };
            let found = from.scope.tables.iter().enumerate().find(means);
            let found = found.map(|(at, _)| from.leaves[at].start);
            let at = found.ok_or_else(|| SqlError::unknown_table(&name.name, "MULTI DELETE"))?;
            if targets.iter().any(|(other, _)| *other == at) {
                return Err(SqlError::not_unique_table(&name.name));
            }
            let target = self.joined_target(&from.tables[at], "DELETE", Privileges::DELETE)?;
            let base = from.tables[at].base;
            let action = JoinedAction::Delete;
            targets.push((at, JoinedTarget { target, base, action }));
        }
        targets.sort_by_key(|(at, _)| *at);
        self.joined(&mut from, delete.filter.as_ref(), targets, delete.ignore)
    }

    /// The FROM clause, each stored table with a slot for its rows' primary keys.
    fn keyed_tables(&mut self, list: &[ast::TableRef]) -> Result<from::From<'static>> {
        self.keyed = true;
        let from = self.tables_of(list, None, false);
        self.keyed = false;
        from
    }

    fn joined_target(&mut self, table: &FromTable, verb: &str, privilege: Privileges) -> Result<Target> {
        if table.through_view {
            return Err(SqlError::not_supported(format!(
                "{verb} of views that are joined"
            )));
        }
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
            FromInput::Derived { .. } => Err(SqlError::new(
                er::NON_UPDATABLE_TABLE,
                format!("The target table {} of the {verb} is not updatable", table.alias),
            )),
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
            let event = match &target.action {
                JoinedAction::Delete => Event::Delete,
                JoinedAction::Update(update) => Event::Update(update.assignments.written()),
            };
            self.add_foreign_keys(&mut target.target, &[event])?;
        }
        let filter = match filter {
            Some(filter) => Some(self.condition(filter, &from.scope, "where clause")?),
            None => None,
        };
        let derived = from.tables.iter().filter_map(|table| match table.input {
            FromInput::Derived { query, .. } => Some(query),
            _ => None,
        });
        let derived: Vec<usize> = derived.collect();
        for (at, target) in &targets {
            self.refuse_reads_of(target.target.def.id, &from.tables[*at].alias, derived.clone())?;
        }
        let mut needed = Vec::new();
        let mut read: Vec<&Expr> = filter.iter().collect();
        read.extend(from.tree.iter().flat_map(join::conditions));
        for (_, target) in &targets {
            needed.push(target.key_slot());
            if let JoinedAction::Update(update) = &target.action {
                read.extend(update.assignments.list().iter().map(|(_, value)| value));
            }
        }
        read.iter().for_each(|e| self.slots_of(e, &mut needed));
        self.slots_of_laterals(&from.tables, &mut needed);
        let changes = |at: usize| targets.iter().any(|(target, _)| *target == at);
        let locks: Vec<_> = (0..from.tables.len())
            .map(|at| changes(at).then_some((true, LockWait::Wait)))
            .collect();
        let wish = OrderWish {
            order: Vec::new(),
            limited: false,
        };
        let tree = from.tree.take();
        let input = JoinInput {
            tables: &from.tables,
            needed: &needed,
            wish: &wish,
            locks: &locks,
        };
        let joined = self.source(tree, filter, input)?;
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
            width: from.scope.width(),
            source: joined.source,
            filter: joined.filter,
            group: None,
            having: None,
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
        let mut index = 0;
        let base = self.base;
        source.walk(&mut |_| {}, &mut |scan| {
            if scan.base == base {
                index = scan.path.index;
            }
        });
        if let JoinedAction::Update(update) = &mut self.action {
            update.as_read = alone && !self.target.moves(&update.assignments.written(), index);
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
                        tables[*at].alias, tables[*other_at].alias
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
