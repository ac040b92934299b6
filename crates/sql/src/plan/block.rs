//! One SELECT block is bound: FROM, WHERE, items, GROUP BY, HAVING, ORDER BY become a [`Block`], whose expressions are over the slots of
//! FROM's tables. An aggregate that stands in items, HAVING or ORDER BY is a slot of its own.
//!
//! What each clause sees follows MySQL. A name that is all of an ORDER BY means an item of the select list before a column, one that is all of a
//! GROUP BY a column before an item. Inside expressions and aggregates columns come first in all clauses, but in HAVING, where keys come
//! first, then items; subqueries of all of them see the items after the columns. [`Rank`] has the list. A number is the item of that
//! position; HAVING without groups filters rows.

use super::dependence::{Exported, Shown};
use super::from::From;
use super::full_group_by::{OverGroups, order_aggregates};
use super::group::{Aliases, BlockHooks, Finished, Rank, is_aggregated};
use super::items::{Item, find_item, item_at};
use super::logical::{Block, Query};
use super::query::ordinal;
use super::rollup::Rewriter;
use super::trace::Tracer;
use super::window::{Windows, has_window};
use super::zero_dates::with_zero_dates;
use super::{OutputColumn, Planner, QueryBody, QueryPlan};
use crate::dictionary::names_equal;
use crate::error::depth::SELECTS_MAX;
use crate::error::{Result, SqlError, er};
use crate::expr::digits::Asked;
use crate::expr::{Aggregate, Expr, Scope, build};
use crate::parse::ast::{self, OrderItem};
use crate::types::SqlMode;

/// How error texts name ORDER BY, where alone window functions may stand beside the select list.
const ORDER_CLAUSE: &str = "order clause";

const HAVING_CLAUSE: &str = "having clause";

const GROUP_CLAUSE: &str = "group statement";

impl<'a> Planner<'a> {
    pub(super) fn select(
        &mut self,
        select: &ast::Select,
        around: (&[OrderItem], &[ast::LockClause]),
        outer: Option<&Scope>,
        limit: Option<&Expr>,
    ) -> Result<Query<'a>> {
        if self.selects > SELECTS_MAX {
            return Err(SqlError::too_high_nesting_for_select());
        }
        if select.calc_found_rows {
            let instead = "Consider using two separate queries instead.";
            self.binder.ctx.deprecate("SQL_CALC_FOUND_ROWS", instead);
        }
        self.selects += 1;
        let planned = self.select_block(select, around, outer, limit);
        self.selects -= 1;
        planned
    }

    fn select_block(
        &mut self,
        select: &ast::Select,
        (order_by, locks): (&[OrderItem], &[ast::LockClause]),
        outer: Option<&Scope>,
        limit: Option<&Expr>,
    ) -> Result<Query<'a>> {
        let carried = self.carried.take();
        let number = self.trace.as_ref().map_or(0, Tracer::next_select);
        let mut from = self.tables_before_conditions(&select.from, outer, select.straight_join)?;
        self.check_locks(locks, &from)?;
        let (mut block, mut columns) = self.bind_block(select, order_by, &from)?;
        if let Some(mut carried) = carried
            && !block.is_grouped()
        {
            self.carry(&mut carried, &from.scope.tables, &mut block, &mut columns)?;
            self.carried = Some(carried);
        }
        let grouped = block.is_grouped() || block.has_windows();
        self.check_step(select, &from, grouped, !order_by.is_empty() || limit.is_some())?;
        let dependences = self.shown_dependences(select, &from, &block, limit.is_some())?;
        if order_by.is_empty()
            && from.scope.tables.len() == 1
            && !block.is_grouped()
            && !select.distinct
            && !block.has_windows()
        {
            block.order = std::mem::take(&mut from.order);
        }
        (block.number, block.limited) = (number, limit.is_some());
        block.locks = from.tables.iter().map(|t| self.lock_of(&t.locked_as)).collect();
        block.width = from.scope.width();
        (block.tables, block.tree) = (from.tables, from.tree);
        self.trace_prepared(&block, &columns);
        let mut query = QueryPlan::of(QueryBody::Select(Box::new(block)), columns);
        query.calc_found_rows = select.calc_found_rows;
        query.dependences = dependences;
        Ok(query)
    }

    /// What a query around this one can go by where its own groups are looked at.
    fn shown_dependences(
        &self,
        select: &ast::Select,
        from: &From,
        block: &Block,
        limited: bool,
    ) -> Result<Option<Exported>> {
        let is_nested = self.selects > 1 || !self.views.is_empty();
        let asked = is_nested && self.binder.ctx.sql_mode.has(SqlMode::ONLY_FULL_GROUP_BY);
        if !asked || block.rollup.is_some() {
            return Ok(None);
        }
        let found = self.dependences(from, block.filter.as_ref())?;
        let shown = Shown {
            output: &block.output,
            keys: &block.keys,
            grouped: block.is_grouped(),
            merges: !from.tables.is_empty()
                && !block.is_grouped()
                && !select.distinct
                && !limited
                && !block.has_windows(),
        };
        Ok(self.exported(found, from.scope.width(), &shown))
    }

    /// Resolves the names of every clause but FROM. What is wrong in several of them is told of the select list first, then of WHERE, of ON,
    /// of the others, and of windows.
    fn bind_block(
        &mut self,
        select: &ast::Select,
        order_by: &[OrderItem],
        from: &From,
    ) -> Result<(Block<'a>, Vec<OutputColumn>)> {
        let mut finished = Finished::default();
        let mut windows = Windows::of_clause(&select.windows);
        let mut items = self.items(&select.items, from, (&mut finished, &mut windows))?;
        let filter = self.filter(select, from)?;
        let keys = self.group_keys(&select.group_by, &from.scope, &items)?;
        let selects_aggregates = !finished.aggregates.is_empty();
        // Whether the expression has added aggregates, its subqueries included.
        let mut clause = |planner: &mut Self, e: &ast::Expr, clause, rank| {
            let binder = planner.binder.in_clause(clause);
            let before = finished.aggregates.len();
            let mut hooks = BlockHooks {
                planner,
                aggregates: Some(&mut finished),
                windows: (clause == ORDER_CLAUSE).then_some(&mut windows),
                aliases: Aliases {
                    items: &items,
                    keys: &keys,
                    rank,
                },
            };
            let bound = binder.bind(e, &from.scope, &mut hooks)?;
            Ok::<_, SqlError>((bound, finished.aggregates.len() > before))
        };
        let (mut having, having_aggregates) = match &select.having {
            Some(having) => {
                check_having(having, &from.scope, &items, &keys)?;
                let (bound, adds) = clause(self, having, HAVING_CLAUSE, Rank::AfterKeys)?;
                (Some(build::condition(bound)), adds)
            }
            None => (None, false),
        };
        let mut order = Vec::new();
        let mut first_aggregate = None;
        for item in order_by {
            let (expr, adds) = match ordinal(&item.expr) {
                Some(n) => (item_at(&items, n, ORDER_CLAUSE)?.expr.clone(), false),
                None => {
                    let rank = match item.expr {
                        ast::Expr::Column(_) => Rank::First,
                        _ => Rank::AfterColumns,
                    };
                    clause(self, &item.expr, ORDER_CLAUSE, rank)?
                }
            };
            if adds || is_aggregated(&expr) {
                first_aggregate.get_or_insert(order.len() + 1);
            }
            order.push((expr, item.descending));
        }
        self.bind_windows((&mut windows, &items), from, &mut finished)?;
        let grouped = !finished.aggregates.is_empty() || !keys.is_empty();
        if let Some(n) = first_aggregate
            && keys.is_empty()
            && !selects_aggregates
            && !having_aggregates
            && !having.as_ref().is_some_and(is_aggregated)
        {
            return Err(order_aggregates(n));
        }
        if self.binder.ctx.sql_mode.has(SqlMode::ONLY_FULL_GROUP_BY) {
            let over = OverGroups {
                items: &items,
                having: having.as_ref(),
                order: &order,
                windows: &windows,
                rollup: select.with_rollup,
            };
            if grouped {
                self.check_grouping(&keys, filter.as_ref(), from, &over)?;
            }
            if select.distinct && !is_distinct_already(&keys, grouped, &items) {
                self.check_distinct_order(&items, &order, &finished.aggregates, from)?;
            }
        }
        let shown = items.iter_mut().map(|item| &mut item.expr);
        let shown = shown.chain(order.iter_mut().map(|(e, _)| e));
        self.settle_block(&mut finished.aggregates, shown, having.as_mut());
        let (rewriter, rollup) = Rewriter::new(&keys, &finished, select.with_rollup)?;
        if !rewriter.is_idle(&finished) {
            let exprs = items.iter_mut().map(|item| &mut item.expr).chain(&mut having);
            let exprs = exprs.chain(order.iter_mut().map(|(e, _)| e));
            for e in exprs.chain(windows.exprs_mut()) {
                self.rewrite_inside(e, &rewriter);
                rewriter.rewrite(e);
            }
        }
        order.retain(|(e, _)| !e.is_constant());
        // HAVING without groups filters rows.
        let (filter, having) = match (grouped, filter, having) {
            (false, Some(filter), Some(having)) => (Some(build::and(vec![filter, having])), None),
            (false, None, having) => (having, None),
            (_, filter, having) => (filter, having),
        };
        let columns = self.output_columns(&items, from, windows.is_empty());
        let block = Block {
            number: 0,
            ctx: self.binder.ctx,
            tables: Vec::new(),
            locks: Vec::new(),
            tree: None,
            width: 0,
            filter,
            semi_joins: Vec::new(),
            scalar_joins: Vec::new(),
            keys,
            aggregates: finished.aggregates,
            keeps_digits: false,
            rollup,
            having,
            windows: windows.passes(),
            output: items.into_iter().map(|item| item.expr).collect(),
            distinct: select.distinct,
            order,
            advice: select.advice.clone(),
            limited: false,
            frees_latches: false,
        };
        Ok((block, columns))
    }

    /// Binds the WHERE clause; then the error of an ON, if there is one.
    fn filter(&mut self, select: &ast::Select, from: &From) -> Result<Option<Expr>> {
        let filter = match &select.filter {
            Some(filter) => {
                let filter = self.condition(filter, &from.scope, "where clause")?;
                let not_null = |slot| from.column_not_null(slot);
                Some(with_zero_dates(filter, &not_null, self.binder.ctx)?)
            }
            None => None,
        };
        from.wrong_condition.take().map_or(Ok(filter), Err)
    }

    fn bind_windows(
        &mut self,
        (windows, items): (&mut Windows, &[Item]),
        from: &From,
        finished: &mut Finished,
    ) -> Result<()> {
        let binder = self.binder;
        let mut hooks = BlockHooks {
            planner: self,
            aggregates: Some(finished),
            windows: None,
            aliases: Aliases {
                items,
                keys: &[],
                rank: Rank::AfterColumns,
            },
        };
        windows.bind(&mut hooks, (&from.scope, &binder))
    }

    fn group_keys(&mut self, group_by: &[OrderItem], scope: &Scope, items: &[Item]) -> Result<Vec<Expr>> {
        let mut keys = Vec::new();
        for item in group_by {
            let key = match (&item.expr, ordinal(&item.expr)) {
                (_, Some(n)) => item_at(items, n, GROUP_CLAUSE)?.expr.clone(),
                (ast::Expr::Column(name), _) => match grouped_item(name, scope, items)? {
                    Some(item) => item.expr.clone(),
                    None => self.condition(&item.expr, scope, GROUP_CLAUSE)?,
                },
                _ => self.group_expression(&item.expr, scope, items)?,
            };
            // Only a name or a number brings such a value here.
            if has_window(&key) || is_aggregated(&key) {
                return Err(cannot_group_on(item, items));
            }
            keys.push(key);
        }
        Ok(keys)
    }

    /// An expression of GROUP BY, in which a name is an item's if the tables have no such column.
    fn group_expression(&mut self, e: &ast::Expr, scope: &Scope, items: &[Item]) -> Result<Expr> {
        let binder = self.binder.in_clause(GROUP_CLAUSE);
        let mut hooks = BlockHooks {
            planner: self,
            aggregates: None,
            windows: None,
            aliases: Aliases {
                items,
                keys: &[],
                rank: Rank::AfterColumns,
            },
        };
        let mut bound = binder.bind(e, scope, &mut hooks)?;
        self.settle_digits(&mut bound, Asked::Exact);
        Ok(bound)
    }
}

/// Whether DISTINCT does nothing: of the only group, and of groups whose keys are all selected, MySQL leaves it out.
fn is_distinct_already(keys: &[Expr], grouped: bool, items: &[Item]) -> bool {
    let is_selected = |key: &Expr| items.iter().any(|item| item.expr.same_as(key));
    grouped && keys.iter().all(is_selected)
}

/// Error 1054 for a column that HAVING names by itself, in no aggregate and no subquery, and that is neither selected nor a key.
fn check_having(e: &ast::Expr, scope: &Scope, items: &[Item], keys: &[Expr]) -> Result<()> {
    let name = match e {
        ast::Expr::Column(name) => name,
        ast::Expr::Function(call) if Aggregate::is_aggregate(&call.name) => return Ok(()),
        _ => {
            let mut children = e.children().into_iter();
            return children.try_for_each(|child| check_having(child, scope, items, keys));
        }
    };
    let is_item = |item: &Item| names_equal(&item.name, &name.column);
    if name.table.is_none() && items.iter().any(is_item) {
        return Ok(());
    }
    let Some(column) = scope.find(name, HAVING_CLAUSE)? else {
        return Ok(());
    };
    let own = column.expr(0);
    let mut known = items.iter().map(|item| &item.expr).chain(keys);
    match known.any(|e| e.same_as(&own)) {
        true => Ok(()),
        false => Err(SqlError::unknown_column(&name.to_string(), HAVING_CLAUSE)),
    }
}

/// The item that GROUP BY names by itself: a column of the tables comes first, unless it is the item or it is not known which.
fn grouped_item<'i>(name: &ast::ColumnName, scope: &Scope, items: &'i [Item]) -> Result<Option<&'i Item>> {
    if name.table.is_some() {
        return Ok(None);
    }
    let Some(item) = find_item(items, name, GROUP_CLAUSE)? else {
        return Ok(None);
    };
    Ok(match scope.find(name, GROUP_CLAUSE) {
        Ok(Some(column)) => Some(item).filter(|item| item.expr.same_as(&column.expr(0))),
        Ok(None) => Some(item),
        Err(error) if error.code == er::NON_UNIQ => Some(item),
        Err(error) => return Err(error),
    })
}

/// Error 1056: a key that is the value of a window function.
fn cannot_group_on(key: &OrderItem, items: &[Item]) -> SqlError {
    let name = match (&key.expr, ordinal(&key.expr)) {
        (ast::Expr::Column(name), _) => name.column.as_str(),
        (_, Some(n)) => items.get(n as usize - 1).map_or("", |item| item.name.as_str()),
        _ => "",
    };
    SqlError::new(er::WRONG_GROUP_FIELD, format!("Can't group on '{name}'"))
}
