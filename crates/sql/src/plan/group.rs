//! Aggregates, and what else the expressions of a query block are bound with.

use super::change::INSERTED;
use super::outer_aggregate::Place;
use super::rollup::placeholder;
use super::window::{Windows, has_window};
use super::{AGGREGATE, Planner};
use crate::error::{Result, SqlError, er};
use crate::expr::digits::Asked;
use crate::expr::{Aggregate, Binder, Expr, Hooks, Node, Scope, build};
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
        self.planner.enter_aggregate(scope);
        let bound = self.bind_aggregate(call, scope, binder);
        self.planner.leave_aggregate();
        (self.aggregates, self.windows) = (finished, windows);
        let aggregate = bound?;
        let may_stand = self.aggregates.is_some();
        if let Some(outside) = self.planner.place_outside(&aggregate, scope, may_stand)? {
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
        let planned = self.planner.query(query, Some(scope));
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
        let aggregate = Aggregate::resolve(&call.name, args?, call.distinct, binder.ctx)
            .unwrap_or_else(|| Err(SqlError::unknown_function(&call.name)))?;
        Ok(aggregate.with_order(order?, call.separator.clone()))
    }
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

/// The slot that an expression is.
pub(super) fn slot_of(e: &Expr) -> Option<usize> {
    match e.node {
        Node::Column(slot) => Some(slot),
        _ => None,
    }
}
