//! Aggregates, and what else the expressions of a query block are bound with.

use super::change::INSERTED;
use super::items::{Item, find_item};
use super::outer_aggregate::Place;
use super::rollup::placeholder;
use super::walk::has_subquery;
use super::window::{Windows, has_window, is_window_clause};
use super::{AGGREGATE, Planner, WINDOW};
use crate::error::{Result, SqlError, er};
use crate::expr::digits::Asked;
use crate::expr::{
    Aggregate, Binder, Expr, Hooks, Node, Scope, ScopeAlias, build, misplaced_window_function,
};
use crate::parse::ast::{self, ColumnName, FunctionCall, Query};
use crate::types::SqlType;

/// Binds the expressions of one query block: subqueries get their plans, aggregates their slots, aliases their
/// meaning.
pub(super) struct BlockHooks<'h, 'a> {
    pub planner: &'h mut Planner<'a>,
    /// Where aggregates are allowed, they are collected here.
    pub aggregates: Option<&'h mut Finished>,
    /// Where window functions are allowed, they are collected here.
    pub windows: Option<&'h mut Windows>,
    /// The select list, as far as its items can be named.
    pub aliases: Aliases<'h>,
}

/// The items of a select list, for names that may mean one of them.
#[derive(Clone, Copy)]
pub(super) struct Aliases<'h> {
    pub items: &'h [Item],
    /// The keys of GROUP BY, for HAVING.
    pub keys: &'h [Expr],
    pub rank: Rank,
}

/// When a name means an item, as in MySQL.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rank {
    /// Only in subqueries, where the tables have no such column: in the select list, and in WHERE of none.
    Inside,
    /// If the tables have no such column: within expressions of GROUP BY, ORDER BY and windows, and in aggregates.
    AfterColumns,
    /// Before a column, except for one that is a key: HAVING.
    AfterKeys,
    /// Before a column: what ORDER BY names by itself.
    First,
}

impl<'h> Aliases<'h> {
    /// No name means an item.
    pub const NONE: Aliases<'static> = Aliases {
        items: &[],
        keys: &[],
        rank: Rank::Inside,
    };

    /// Within an expression or an aggregate.
    pub fn within(self) -> Aliases<'h> {
        let rank = match self.rank {
            Rank::Inside => Rank::Inside,
            _ => Rank::AfterColumns,
        };
        Aliases { rank, ..self }
    }

    /// The item that a name means; `None`: a column, here or further out. Error 1052.
    fn meant(&self, name: &ColumnName, scope: &Scope, clause: &str) -> Result<Option<&'h Item>> {
        if name.table.is_some() || self.rank == Rank::Inside {
            return Ok(None);
        }
        if self.rank == Rank::AfterColumns && !matches!(scope.find(name, clause), Ok(None)) {
            return Ok(None);
        }
        let Some(item) = find_item(self.items, name, clause)? else {
            return Ok(None);
        };
        if self.rank == Rank::AfterKeys
            && let Ok(Some(column)) = scope.find(name, clause)
        {
            let column = column.expr(0);
            if !item.expr.same_as(&column) && self.keys.contains(&column) {
                return Ok(None);
            }
        }
        Ok(Some(item))
    }

    /// What the subqueries of an expression may name.
    fn of_subqueries(&self) -> Vec<ScopeAlias> {
        let named = self.items.iter().filter(|item| item.alias);
        let alias = named.map(|item| ScopeAlias {
            name: item.name.clone(),
            value: match &item.expr {
                e if has_window(e) => Err(misplaced_alias(&item.name)),
                e if is_aggregated(e) => Err(SqlError::new(
                    er::ILLEGAL_REFERENCE,
                    format!(
                        "Reference '{}' not supported (reference to group function)",
                        item.name
                    ),
                )),
                e if has_subquery(e) => Err(SqlError::not_supported(
                    "a name of a subquery within another subquery",
                )),
                _ => Ok(item.named()),
            },
        });
        alias.collect()
    }
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
        self.planner.enter_aggregate(scope);
        let bound = self.bind_aggregate(call, scope, binder);
        self.planner.leave_aggregate();
        (self.aggregates, self.windows) = (finished, windows);
        let aggregate = bound?;
        let may_stand = self.aggregates.is_some();
        // The name of an item outside says nothing of whose aggregate it is.
        let is_own = may_stand && names_items_alone(&call.args, scope, binder.clause);
        if !is_own && let Some(outside) = self.planner.place_outside(&aggregate, scope, may_stand)? {
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

    fn routine(&mut self, schema: Option<&str>, name: &str, args: Vec<Expr>) -> Result<Option<Expr>> {
        self.planner.call_routine(schema, name, args)
    }

    fn settle(&mut self, e: &mut Expr, asked: Asked) {
        self.planner.settle_digits(e, asked);
    }

    /// In queries of ON DUPLICATE KEY UPDATE it is a column of the new row.
    fn inserted(&mut self, column: &ColumnName, scope: &Scope, binder: &Binder) -> Result<Expr> {
        if !self.planner.on_duplicate {
            return Ok(build::null());
        }
        let of_new_row = ColumnName {
            schema: None,
            table: Some(INSERTED.to_owned()),
            column: column.column.clone(),
        };
        let bound = binder.bind(&ast::Expr::Column(of_new_row), scope, self);
        bound.map_err(|error| match error.code {
            er::BAD_FIELD => SqlError::unknown_column(&column.column, binder.clause),
            _ => error,
        })
    }

    fn subquery(&mut self, query: &Query, scope: &Scope, _binder: &Binder) -> Result<(usize, Vec<SqlType>)> {
        let locks = std::mem::take(&mut self.planner.locks);
        let before = self.aggregates.as_ref().map(|finished| finished.aggregates.len());
        let in_aggregate = self.planner.is_in_aggregate(scope);
        self.planner.places.push(Place::new(scope, before, in_aggregate));
        let aliases = self.aliases.of_subqueries();
        let planned = match aliases.is_empty() {
            true => self.planner.query(query, Some(scope)),
            false => {
                let scope = Scope {
                    aliases,
                    ..scope.clone()
                };
                self.planner.query(query, Some(&scope))
            }
        };
        let place = self.planner.places.pop();
        self.planner.locks = locks;
        let mut plan = planned?;
        // Without tables it is but what it selects.
        if !matches!(&query.body, ast::QueryBody::Select(select) if select.from.is_empty()) {
            plan.fill_up();
        }
        if let (Some(finished), Some(place)) = (&mut self.aggregates, place) {
            finished.aggregates.extend(place.added);
        }
        let types = plan.columns.iter().map(|column| column.ty.clone()).collect();
        self.planner.queries.push(plan);
        Ok((self.planner.queries.len() - 1, types))
    }

    fn name(&mut self, name: &ColumnName, scope: &Scope, binder: &Binder) -> Option<Result<Expr>> {
        let found = self.aliases.meant(name, scope, binder.clause).transpose()?;
        Some(found.and_then(|item| match &item.expr {
            e if has_window(e) && self.windows.is_none() => {
                let is_key = is_window_clause(binder.clause) && self.aggregates.is_some();
                Err(match is_key {
                    true => misplaced_window_function(&item.name),
                    false => misplaced_alias(&item.name),
                })
            }
            _ => Ok(item.named()),
        }))
    }
}

impl BlockHooks<'_, '_> {
    fn bind_aggregate(&mut self, call: &FunctionCall, scope: &Scope, binder: &Binder) -> Result<Aggregate> {
        let aliases = self.aliases;
        self.aliases = aliases.within();
        let args = binder.bind_all(&call.args, scope, self);
        let order = call
            .order_by
            .iter()
            .map(|item| {
                let key = match place_in_list(&item.expr, call.args.len())? {
                    Some(at) => &call.args[at],
                    None => &item.expr,
                };
                Ok((binder.bind(key, scope, self)?, item.descending))
            })
            .collect::<Result<Vec<_>>>();
        self.aliases = aliases;
        if call.star {
            return Ok(Aggregate::count_rows());
        }
        let args = args?;
        // The name of an aggregate is one, too.
        if args.iter().any(is_aggregated) {
            return Err(SqlError::invalid_group_function());
        }
        let aggregate = Aggregate::resolve(&call.name, args, call.distinct, binder.ctx)
            .unwrap_or_else(|| Err(SqlError::unknown_function(&call.name)))?;
        Ok(aggregate.with_order(order?, call.separator.clone()))
    }
}

/// Whether all names in some expressions, of which there are any, mean items of queries around.
fn names_items_alone(args: &[ast::Expr], scope: &Scope, clause: &str) -> bool {
    fn look(e: &ast::Expr, f: &mut dyn FnMut(&ColumnName)) {
        match e {
            ast::Expr::Column(name) => f(name),
            _ => e.children().into_iter().for_each(|child| look(child, f)),
        }
    }
    let (mut items, mut columns) = (false, false);
    let mut of_name = |name: &ColumnName| match scope.names_item(name, clause) {
        true => items = true,
        false => columns = true,
    };
    args.iter().for_each(|arg| look(arg, &mut of_name));
    items && !columns
}

/// Which argument of GROUP_CONCAT its ORDER BY names by a number, as a query's ORDER BY names what is selected. Error 1054.
fn place_in_list(key: &ast::Expr, arguments: usize) -> Result<Option<usize>> {
    match key {
        ast::Expr::Literal(ast::Literal::Int(place)) => match usize::try_from(*place) {
            Ok(place) if (1..=arguments).contains(&place) => Ok(Some(place - 1)),
            _ => Err(SqlError::unknown_column(&place.to_string(), "order clause")),
        },
        _ => Ok(None),
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

/// Whether an expression has a finished aggregate in it.
pub(super) fn is_aggregated(e: &Expr) -> bool {
    e.columns().iter().any(|slot| (AGGREGATE..WINDOW).contains(slot))
}

/// The slot that an expression is.
pub(super) fn slot_of(e: &Expr) -> Option<usize> {
    match e.node {
        Node::Column(slot) => Some(slot),
        _ => None,
    }
}
