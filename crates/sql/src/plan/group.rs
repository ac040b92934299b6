//! Aggregates, and what a grouped query may read besides them.

use super::outer_aggregate::Place;
use super::rollup::placeholder;
use super::window::{Windows, has_window};
use super::{AGGREGATE, Planner};
use crate::error::{Result, SqlError, er};
use crate::expr::{Aggregate, Binder, CmpOp, Expr, Hooks, Node, OUTER, Scope, ScopeColumn, build};
use crate::parse::ast::{ColumnName, FunctionCall, Query};
use crate::types::SqlType;

/// Binds the expressions of one query block: subqueries get their plans, aggregates their slots, aliases their
/// meaning.
pub(super) struct BlockHooks<'h, 'a> {
    pub planner: &'h mut Planner<'a>,
    /// Where aggregates are allowed, they are collected here.
    pub aggregates: Option<&'h mut Finished>,
    /// Where window functions are allowed, they are collected here.
    pub windows: Option<&'h mut Windows>,
    /// Names of the select list.
    pub aliases: &'h [(String, Expr)],
    /// Aliases come before columns (HAVING, ORDER BY) rather than after them (GROUP BY).
    pub alias_first: bool,
}

/// What is known of a group when it is finished, as the clauses ask for it.
#[derive(Default)]
pub(super) struct Finished {
    pub aggregates: Vec<Aggregate>,
    /// The arguments of each call of GROUPING().
    pub groupings: Vec<Vec<Expr>>,
}

impl Hooks for BlockHooks<'_, '_> {
    fn aggregate(&mut self, call: &FunctionCall, scope: &Scope, binder: &Binder) -> Result<Expr> {
        if self.aggregates.is_none() && !self.planner.has_place_for_aggregates() {
            return Err(SqlError::invalid_group_function());
        }
        // Inside an aggregate there is no other, and no window function.
        let (finished, windows) = (self.aggregates.take(), self.windows.take());
        let bound = self.bind_aggregate(call, scope, binder);
        (self.aggregates, self.windows) = (finished, windows);
        let aggregate = bound?;
        let may_stand = self.aggregates.is_some();
        if let Some(outside) = self.planner.place_outside(&aggregate, scope, may_stand) {
            return Ok(outside);
        }
        let Some(finished) = &mut self.aggregates else {
            return Err(SqlError::invalid_group_function());
        };
        let column = build::column(AGGREGATE + finished.aggregates.len(), aggregate.ty.clone());
        finished.aggregates.push(aggregate);
        Ok(column)
    }

    fn window(&mut self, call: &FunctionCall, scope: &Scope, binder: &Binder) -> Result<Expr> {
        self.bind_window_call(call, scope, binder)
    }

    fn grouping(&mut self, call: &FunctionCall, scope: &Scope, binder: &Binder) -> Result<Expr> {
        let Some(finished) = self.aggregates.take() else {
            return Err(SqlError::invalid_group_function());
        };
        let args = binder.bind_all(&call.args, scope, self);
        let out = args.map(|args| {
            finished.groupings.push(args);
            placeholder(finished.groupings.len() - 1)
        });
        self.aggregates = Some(finished);
        out
    }

    fn subquery(&mut self, query: &Query, scope: &Scope, _binder: &Binder) -> Result<(usize, Vec<SqlType>)> {
        let locks = std::mem::take(&mut self.planner.locks);
        let before = self.aggregates.as_ref().map(|finished| finished.aggregates.len());
        self.planner.places.push(Place::new(scope, before));
        let planned = self.planner.query(query, Some(scope));
        let place = self.planner.places.pop();
        self.planner.locks = locks;
        let plan = planned?;
        if let (Some(finished), Some(place)) = (&mut self.aggregates, place) {
            finished.aggregates.extend(place.added);
        }
        let types = plan.columns.iter().map(|column| column.ty.clone()).collect();
        self.planner.queries.push(plan);
        Ok((self.planner.queries.len() - 1, types))
    }

    fn name(&mut self, name: &ColumnName) -> Option<Result<Expr>> {
        if !self.alias_first || name.table.is_some() {
            return None;
        }
        let found = self
            .aliases
            .iter()
            .find(|(alias, _)| crate::dictionary::names_equal(alias, &name.column));
        found.map(|(alias, expr)| match has_window(expr) && self.windows.is_none() {
            true => Err(misplaced_alias(alias)),
            false => Ok(expr.clone()),
        })
    }
}

impl BlockHooks<'_, '_> {
    fn bind_aggregate(&mut self, call: &FunctionCall, scope: &Scope, binder: &Binder) -> Result<Aggregate> {
        let aliases = std::mem::take(&mut self.aliases);
        let args = binder.bind_all(&call.args, scope, self);
        let order = call
            .order_by
            .iter()
            .map(|item| Ok((binder.bind(&item.expr, scope, self)?, item.descending)))
            .collect::<Result<Vec<_>>>();
        self.aliases = aliases;
        if call.star {
            return Ok(Aggregate::count_rows());
        }
        let aggregate = Aggregate::resolve(&call.name, args?, call.distinct, binder.ctx)
            .unwrap_or_else(|| Err(SqlError::unknown_function(&call.name)))?;
        Ok(aggregate.with_order(order?, call.separator.clone()))
    }
}

/// Error 3594.
fn misplaced_alias(alias: &str) -> SqlError {
    SqlError::new(
        er::WINDOW_INVALID_WINDOW_FUNC_ALIAS_USE,
        format!(
            "You cannot use the alias '{alias}' of an expression containing a window function in this context.'"
        ),
    )
}

/// What a grouped query may read: its keys and what follows from them.
pub(super) struct Determined<'k> {
    keys: Vec<String>,
    slots: Vec<usize>,
    scope: &'k Scope<'k>,
    grouped: bool,
}

/// What tells an expression from others.
pub(super) fn identity(e: &Expr) -> String {
    format!("{:?}", e.node)
}

impl<'k> Determined<'k> {
    /// `unique` are the unique indexes of the tables: the slots of their columns, and those of the whole table.
    pub fn new(
        keys: &[Expr],
        conditions: &[&Expr],
        unique: &[(Vec<usize>, Vec<usize>)],
        scope: &'k Scope<'k>,
    ) -> Determined<'k> {
        let mut slots: Vec<usize> = keys.iter().filter_map(slot_of).collect();
        loop {
            let before = slots.len();
            for condition in conditions {
                let Node::Compare(CmpOp::Eq, _, sides) = &condition.node else {
                    continue;
                };
                for (a, b) in [(&sides[0], &sides[1]), (&sides[1], &sides[0])] {
                    let fixed = b
                        .columns()
                        .iter()
                        .all(|slot| slots.contains(slot) || *slot >= OUTER);
                    if let Some(slot) = slot_of(a)
                        && fixed
                        && !slots.contains(&slot)
                    {
                        slots.push(slot);
                    }
                }
            }
            for (index, table) in unique {
                if index.iter().all(|slot| slots.contains(slot)) {
                    let new: Vec<usize> = table.iter().filter(|s| !slots.contains(s)).copied().collect();
                    slots.extend(new);
                }
            }
            if slots.len() == before {
                break;
            }
        }
        Determined {
            keys: keys.iter().map(identity).collect(),
            slots,
            scope,
            grouped: !keys.is_empty(),
        }
    }

    /// Error 1055 or 1140 for the `n`-th expression of a clause.
    pub fn check(&self, e: &Expr, n: usize, clause: &str) -> Result<()> {
        let Some(slot) = self.stray(e) else { return Ok(()) };
        let name = self.full_name(slot);
        Err(if self.grouped {
            SqlError::new(
                er::WRONG_FIELD_WITH_GROUP,
                format!(
                    "Expression #{n} of {clause} is not in GROUP BY clause and contains nonaggregated column '{name}' \
                     which is not functionally dependent on columns in GROUP BY clause; this is incompatible with \
                     sql_mode=only_full_group_by"
                ),
            )
        } else {
            SqlError::new(
                er::MIX_OF_GROUP_FUNC_AND_FIELDS,
                format!(
                    "In aggregated query without GROUP BY, expression #{n} of {clause} contains nonaggregated column \
                     '{name}'; this is incompatible with sql_mode=only_full_group_by"
                ),
            )
        })
    }

    /// A column in the expression that does not follow from the keys.
    fn stray(&self, e: &Expr) -> Option<usize> {
        if self.keys.contains(&identity(e)) {
            return None;
        }
        if let Some(slot) = slot_of(e) {
            return (slot < AGGREGATE && !self.slots.contains(&slot)).then_some(slot);
        }
        e.children().into_iter().find_map(|child| self.stray(child))
    }

    fn full_name(&self, slot: usize) -> String {
        for table in &self.scope.tables {
            let is_it = |column: &&ScopeColumn| column.value.is_none() && column.slot == slot;
            if let Some(column) = table.columns.iter().find(is_it) {
                let schema = table
                    .schema
                    .as_deref()
                    .map(|s| format!("{s}."))
                    .unwrap_or_default();
                return format!("{schema}{}.{}", table.alias, column.name);
            }
        }
        String::new()
    }
}

pub(super) fn slot_of(e: &Expr) -> Option<usize> {
    match e.node {
        Node::Column(slot) => Some(slot),
        _ => None,
    }
}
