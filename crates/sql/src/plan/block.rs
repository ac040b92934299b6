//! One SELECT block, in three stages:
//!
//! ```text
//! FROM, WHERE, items, GROUP BY,   bind      Block         expressions over the slots of FROM's tables; an aggregate
//! HAVING, ORDER BY             ─────────▶                 that stands in items, HAVING or ORDER BY is a slot of its own
//!
//! Block                         wish, source   Joined     which order would save a sort (groups, MIN and MAX,
//!                              ─────────▶                 ORDER BY), and what the join order and the indexes made of it
//!
//! Block + Joined                group, safe    SelectPlan
//! ```
//!
//! What each clause sees follows MySQL. A name that is all of an ORDER BY means an item of the select list before a column, one that is all of a
//! GROUP BY a column before an item. Inside expressions and aggregates columns come first in all clauses, but in HAVING, where keys come
//! first, then items; subqueries of all of them see the items after the columns. [`Rank`] has the list. A number is the item of that
//! position; HAVING without groups filters rows.

use super::dependence::{Exported, Shown};
use super::filter::is_steady;
use super::from::From;
use super::full_group_by::{OverGroups, order_aggregates};
use super::group::{Aliases, BlockHooks, Finished, Rank, is_aggregated};
use super::items::{Item, find_item, item_at};
use super::join::{JoinInput, Joined};
use super::order::OrderWish;
use super::query::ordinal;
use super::rollup::{Rewriter, RollupPlan};
use super::trace::Tracer;
use super::walk::has_subquery;
use super::window::{WindowPass, Windows, has_window};
use super::zero_dates::with_zero_dates;
use super::{GroupPlan, OutputColumn, Planner, QueryBody, QueryPlan, RowSource, SelectPlan};
use crate::dictionary::names_equal;
use crate::error::depth::SELECTS_MAX;
use crate::error::{Result, SqlError, er};
use crate::expr::digits::Asked;
use crate::expr::{AggFunc, Aggregate, Expr, Node, Scope, build};
use crate::parse::ast::{self, OrderItem};
use crate::types::SqlMode;

/// How error texts name ORDER BY, where alone window functions may stand beside the select list.
const ORDER_CLAUSE: &str = "order clause";

const HAVING_CLAUSE: &str = "having clause";

const GROUP_CLAUSE: &str = "group statement";

/// A SELECT block with its names resolved.
pub(super) struct Block {
    pub filter: Option<Expr>,
    pub keys: Vec<Expr>,
    pub aggregates: Vec<Aggregate>,
    rollup: Option<RollupPlan>,
    pub having: Option<Expr>,
    pub output: Vec<Expr>,
    pub columns: Vec<OutputColumn>,
    /// True: descending. Without constants, which order nothing.
    pub order: Vec<(Expr, bool)>,
    windows: Vec<WindowPass>,
}

impl Block {
    pub fn has_windows(&self) -> bool {
        !self.windows.is_empty()
    }

    /// WITH ROLLUP
    pub fn has_totals(&self) -> bool {
        self.rollup.is_some()
    }

    fn is_grouped(&self) -> bool {
        !self.aggregates.is_empty() || !self.keys.is_empty()
    }

    /// How many values a finished group has.
    fn finished(&self) -> usize {
        let rollup = self.rollup.iter();
        self.aggregates.len() + rollup.map(|r| self.keys.len() + r.groupings.len()).sum::<usize>()
    }

    /// The column and direction whose first row is all that is wanted: of a MIN or MAX alone, without GROUP BY.
    fn first_only(&self) -> Option<(Expr, bool)> {
        match self.keys.is_empty() {
            true => min_max(&self.aggregates),
            false => None,
        }
    }

    /// The order of rows that would save a sort or a table of groups. `limited`: the block has a LIMIT and keeps every
    /// row it makes.
    fn wish(&self, limited: bool) -> OrderWish {
        match self.first_only() {
            Some(first) => OrderWish {
                order: vec![first],
                limited: true,
            },
            None if self.is_grouped() => OrderWish {
                order: self.keys.iter().map(|key| (key.clone(), false)).collect(),
                limited: false,
            },
            None => match self.windows.first() {
                Some(pass) => OrderWish {
                    order: owned(&pass.sort()),
                    limited: false,
                },
                None => OrderWish {
                    order: self.order.clone(),
                    limited,
                },
            },
        }
    }

    /// What is evaluated for each row or group that is returned.
    pub fn results(&self) -> impl Iterator<Item = &Expr> {
        let order = self.order.iter().map(|(e, _)| e);
        let windows = self.windows.iter().flat_map(WindowPass::exprs);
        self.output.iter().chain(&self.having).chain(order).chain(windows)
    }

    /// Takes note that rows arrive in the wished order, where that saves a sort.
    fn rows_are_ordered(&mut self) {
        if self.is_grouped() {
            return;
        }
        match self.windows.first_mut() {
            Some(pass) => pass.ordered = true,
            None => self.order.clear(),
        }
    }

    /// Whether no expression that is evaluated while a page of the source is latched has a subquery.
    fn is_latch_safe(&self) -> bool {
        let inputs = self
            .keys
            .iter()
            .chain(self.aggregates.iter().flat_map(|a| &a.args));
        !self.results().chain(inputs).any(has_subquery)
    }
}

impl Planner<'_> {
    pub(super) fn select(
        &mut self,
        select: &ast::Select,
        around: (&[OrderItem], &[ast::LockClause]),
        outer: Option<&Scope>,
        limit: Option<&Expr>,
    ) -> Result<QueryPlan> {
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
    ) -> Result<QueryPlan> {
        let carried = self.carried.take();
        let number = self.trace.as_ref().map_or(0, Tracer::next_select);
        let mut from = self.tables_before_conditions(&select.from, outer, select.straight_join)?;
        self.check_locks(locks, &from)?;
        let mut block = self.bind_block(select, order_by, &from)?;
        if let Some(mut carried) = carried
            && !block.is_grouped()
        {
            self.carry(&mut carried, &from.scope.tables, &mut block)?;
            self.carried = Some(carried);
        }
        let grouped = block.is_grouped() || !block.windows.is_empty();
        self.check_step(select, &from, grouped, !order_by.is_empty() || limit.is_some())?;
        let dependences = self.shown_dependences(select, &from, &block, limit.is_some())?;
        if order_by.is_empty()
            && from.scope.tables.len() == 1
            && !block.is_grouped()
            && !select.distinct
            && block.windows.is_empty()
        {
            block.order = std::mem::take(&mut from.order);
        }
        let wish = block.wish(limit.is_some() && !select.distinct);
        self.trace_prepared(number, select, &from, &block);
        let (joined, ends) = match self.ends(&from, &block)? {
            Some((first, others)) => (Ok(first), others),
            None => (self.block_source(&mut from, &mut block, &wish), Vec::new()),
        };
        if let Some(trace) = &self.trace {
            trace.optimized();
        }
        let joined = joined?;
        let ordered = joined.ordered && !(wish.order.is_empty() && ends.is_empty());
        if ordered {
            block.rows_are_ordered();
        }
        // A pass that sorts keeps its rows; any other may hand out many at once, which needs room for them.
        let keeps = block.windows.first().is_none_or(|pass| !pass.ordered);
        let latch_safe = joined.filter.is_none() && block.is_latch_safe() && keeps;
        let finished = block.finished();
        let group = block
            .is_grouped()
            .then(|| self.group_plan(&mut block, ordered, ends));
        if !select.distinct
            && let Some(last) = block.windows.last()
            && last.leaves_ordered(&block.order)
        {
            block.order.clear();
        }
        let passes = std::mem::take(&mut block.windows);
        let windows = self.window_plan(passes, &block.results().collect::<Vec<_>>(), finished);
        let select_plan = SelectPlan {
            number,
            width: from.scope.width(),
            source: joined.source,
            filter: joined.filter,
            group,
            having_first: block
                .having
                .as_ref()
                .is_some_and(|e| e.columns().is_empty() && is_steady(e)),
            having: block.having,
            windows,
            output: block.output,
            distinct: select.distinct,
            latch_safe,
        };
        let mut plan = QueryPlan::of(QueryBody::Select(Box::new(select_plan)), block.columns);
        plan.ordered_by_output = plan.has_order_of_output(&block.order);
        plan.order = block.order;
        plan.calc_found_rows = select.calc_found_rows;
        plan.dependences = dependences;
        Ok(plan)
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
                && block.windows.is_empty(),
        };
        Ok(self.exported(found, from.scope.width(), &shown))
    }

    /// Resolves the names of every clause but FROM. What is wrong in several of them is told of the select list first, then of WHERE, of ON,
    /// of the others, and of windows.
    fn bind_block(&mut self, select: &ast::Select, order_by: &[OrderItem], from: &From) -> Result<Block> {
        let mut finished = Finished::default();
        let mut windows = Windows::of_clause(&select.windows);
        let mut items = self.items(&select.items, from, (&mut finished, &mut windows))?;
        let filter = self.filter(select, from)?;
        let keys = self.group_keys(&select.group_by, &from.scope, &items)?;
        let selects_aggregates = !finished.aggregates.is_empty();
        let mut clause = |planner: &mut Self, e: &ast::Expr, clause, rank| {
            let binder = planner.binder.in_clause(clause);
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
            binder.bind(e, &from.scope, &mut hooks)
        };
        let mut having = match &select.having {
            Some(having) => {
                check_having(having, &from.scope, &items, &keys)?;
                Some(build::condition(clause(
                    self,
                    having,
                    HAVING_CLAUSE,
                    Rank::AfterKeys,
                )?))
            }
            None => None,
        };
        let mut order = Vec::new();
        let mut first_aggregate = None;
        for item in order_by {
            let expr = match ordinal(&item.expr) {
                Some(n) => item_at(&items, n, ORDER_CLAUSE)?.expr.clone(),
                None => {
                    let rank = match item.expr {
                        ast::Expr::Column(_) => Rank::First,
                        _ => Rank::AfterColumns,
                    };
                    clause(self, &item.expr, ORDER_CLAUSE, rank)?
                }
            };
            if is_aggregated(&expr) {
                first_aggregate.get_or_insert(order.len() + 1);
            }
            order.push((expr, item.descending));
        }
        self.bind_windows((&mut windows, &items), from, &mut finished)?;
        let grouped = !finished.aggregates.is_empty() || !keys.is_empty();
        if let Some(n) = first_aggregate
            && keys.is_empty()
            && !selects_aggregates
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
            if select.distinct {
                self.check_distinct_order(&items, &order, from)?;
            }
        }
        let shown = items.iter_mut().map(|item| &mut item.expr);
        let shown = shown.chain(order.iter_mut().map(|(e, _)| e));
        self.settle_block(&mut finished.aggregates, shown, having.as_mut());
        let (rewriter, rollup) = Rewriter::new(&keys, &finished, select.with_rollup)?;
        if !rewriter.is_idle(&finished) {
            let exprs = items.iter_mut().map(|item| &mut item.expr).chain(&mut having);
            let exprs = exprs.chain(order.iter_mut().map(|(e, _)| e));
            exprs.chain(windows.exprs_mut()).for_each(|e| {
                rewriter.rewrite(e);
            });
        }
        order.retain(|(e, _)| !e.is_constant());
        // HAVING without groups filters rows.
        let (filter, having) = match (grouped, filter, having) {
            (false, Some(filter), Some(having)) => (Some(build::and(vec![filter, having])), None),
            (false, None, having) => (having, None),
            (_, filter, having) => (filter, having),
        };
        Ok(Block {
            filter,
            keys,
            aggregates: finished.aggregates,
            rollup,
            having,
            columns: self.output_columns(&items, from, windows.is_empty()),
            output: items.into_iter().map(|item| item.expr).collect(),
            order,
            windows: windows.passes(),
        })
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

    /// Chooses the join order and the indexes. Takes FROM's tree and the block's filter; what of the filter no table
    /// could apply comes back.
    fn block_source(&self, from: &mut From, block: &mut Block, wish: &OrderWish) -> Result<Joined> {
        self.test_arrays(&from.tables, from.tree.as_mut(), block.filter.as_mut())?;
        let mut needed = Vec::new();
        let inputs = block.aggregates.iter().flat_map(Aggregate::inputs);
        let all = block
            .results()
            .chain(&block.keys)
            .chain(&block.filter)
            .chain(inputs);
        all.for_each(|e| self.slots_of(e, &mut needed));
        for condition in from.tree.iter().flat_map(super::join::conditions) {
            self.slots_of(condition, &mut needed);
        }
        self.slots_of_laterals(&from.tables, &mut needed);
        let tree = from.tree.take();
        let lock_of: Vec<_> = from.tables.iter().map(|t| self.lock_of(&t.locked_as)).collect();
        let input = JoinInput {
            tables: &from.tables,
            needed: &needed,
            wish,
            locks: &lock_of,
        };
        self.source(tree, block.filter.take(), input)
    }

    /// The groups of a block, whose rows come in the order of its wish or in none; `ends`: see [`GroupPlan`]. Takes its keys and
    /// aggregates.
    fn group_plan(&self, block: &mut Block, ordered: bool, ends: Vec<RowSource>) -> GroupPlan {
        let first_only = block.first_only().is_some() || !ends.is_empty();
        let mut keep = Vec::new();
        // Keys of rows with totals are worked out once more.
        let keys = block.keys.iter().filter(|_| block.rollup.is_some());
        block
            .results()
            .chain(keys)
            .for_each(|e| self.slots_of(e, &mut keep));
        let mut slots = keep.clone();
        let inputs = block.aggregates.iter().flat_map(Aggregate::inputs);
        inputs.for_each(|e| self.slots_of(e, &mut slots));
        let quotient = block.quotient(ordered && !first_only);
        for aggregate in &mut block.aggregates {
            aggregate.quotient = quotient;
        }
        GroupPlan {
            keys: std::mem::take(&mut block.keys),
            aggregates: std::mem::take(&mut block.aggregates),
            rollup: block.rollup.take(),
            keep,
            slots,
            sorted: ordered && !first_only,
            first_only: first_only && ordered,
            ends,
        }
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
    let Some(item) = find_item(items, name, GROUP_CLAUSE)?.filter(|_| name.table.is_none()) else {
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

fn owned(order: &[(&Expr, bool)]) -> Vec<(Expr, bool)> {
    order
        .iter()
        .map(|(e, descending)| ((*e).clone(), *descending))
        .collect()
}

/// The column of a lone MIN or MAX, and whether its end is the last.
pub(super) fn min_max(aggregates: &[Aggregate]) -> Option<(Expr, bool)> {
    match aggregates {
        [one]
            if matches!(
                one.args.as_slice(),
                [Expr {
                    node: Node::Column(_),
                    ..
                }]
            ) =>
        {
            match one.func {
                AggFunc::Min => Some((one.args[0].clone(), false)),
                AggFunc::Max => Some((one.args[0].clone(), true)),
                _ => None,
            }
        }
        _ => None,
    }
}
