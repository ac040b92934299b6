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
//! What each clause sees follows MySQL: GROUP BY takes a column before an alias, HAVING and ORDER BY an alias first; a
//! number is the item of that position; HAVING without groups filters rows.

use super::from::From;
use super::group::BlockHooks;
use super::items::{Item, check_grouping, item_at};
use super::join::{JoinInput, Joined};
use super::order::OrderWish;
use super::query::ordinal;
use super::walk::has_subquery;
use super::{AGGREGATE, GroupPlan, OutputColumn, Planner, QueryBody, QueryPlan, SelectPlan};
use crate::dictionary::names_equal;
use crate::error::depth::SELECTS_MAX;
use crate::error::{Result, SqlError};
use crate::expr::{AggFunc, Aggregate, Expr, Node, OUTER, Scope, build};
use crate::parse::ast::{self, OrderItem};
use crate::types::SqlMode;

/// A SELECT block with its names resolved.
struct Block {
    filter: Option<Expr>,
    keys: Vec<Expr>,
    aggregates: Vec<Aggregate>,
    having: Option<Expr>,
    output: Vec<Expr>,
    columns: Vec<OutputColumn>,
    /// True: descending. Without constants, which order nothing.
    order: Vec<(Expr, bool)>,
}

impl Block {
    fn is_grouped(&self) -> bool {
        !self.aggregates.is_empty() || !self.keys.is_empty()
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
            None => OrderWish {
                order: self.order.clone(),
                limited,
            },
        }
    }

    /// What is evaluated for each row or group that is returned.
    fn results(&self) -> impl Iterator<Item = &Expr> {
        let order = self.order.iter().map(|(e, _)| e);
        self.output.iter().chain(&self.having).chain(order)
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
        if select.with_rollup {
            return Err(SqlError::not_supported("GROUP BY ... WITH ROLLUP"));
        }
        let mut from = self.tables_of(&select.from, outer, select.straight_join)?;
        self.check_locks(locks, &from)?;
        let mut block = self.bind_block(select, order_by, &from)?;
        let wish = block.wish(limit.is_some() && !select.distinct);
        let joined = self.block_source(&mut from, &mut block, &wish)?;
        let ordered = joined.ordered && !wish.order.is_empty();
        let latch_safe = joined.filter.is_none() && block.is_latch_safe();
        let group = block.is_grouped().then(|| self.group_plan(&mut block, ordered));
        if ordered && group.is_none() {
            block.order.clear();
        }
        let select_plan = SelectPlan {
            width: from.scope.width(),
            source: joined.source,
            filter: joined.filter,
            group,
            having: block.having,
            output: block.output,
            distinct: select.distinct,
            latch_safe,
        };
        let mut plan = QueryPlan::of(QueryBody::Select(Box::new(select_plan)), block.columns);
        plan.ordered_by_output = plan.has_order_of_output(&block.order);
        plan.order = block.order;
        plan.calc_found_rows = select.calc_found_rows;
        Ok(plan)
    }

    /// Resolves the names of every clause but FROM.
    fn bind_block(&mut self, select: &ast::Select, order_by: &[OrderItem], from: &From) -> Result<Block> {
        let filter = match &select.filter {
            Some(filter) => Some(self.condition(filter, &from.scope, "where clause")?),
            None => None,
        };
        let mut aggregates = Vec::new();
        let items = self.items(&select.items, from, &mut aggregates)?;
        let aliases: Vec<(String, Expr)> = items
            .iter()
            .filter(|item| item.alias)
            .map(|item| (item.name.clone(), item.expr.clone()))
            .collect();
        let keys = self.group_keys(&select.group_by, &from.scope, &items, &aliases)?;
        let mut clause = |planner: &mut Self, e: &ast::Expr, clause| {
            let binder = planner.binder.in_clause(clause);
            let mut hooks = BlockHooks {
                planner,
                aggregates: Some(&mut aggregates),
                aliases: &aliases,
                alias_first: true,
            };
            binder.bind(e, &from.scope, &mut hooks)
        };
        let having = match &select.having {
            Some(having) => Some(clause(self, having, "having clause")?),
            None => None,
        };
        let mut order = Vec::new();
        for item in order_by {
            let expr = match ordinal(&item.expr) {
                Some(n) => item_at(&items, n, "order clause")?.expr.clone(),
                None => clause(self, &item.expr, "order clause")?,
            };
            if !expr.is_constant() {
                order.push((expr, item.descending));
            }
        }
        let grouped = !aggregates.is_empty() || !keys.is_empty();
        if grouped && self.binder.ctx.sql_mode.has(SqlMode::ONLY_FULL_GROUP_BY) {
            check_grouping(&keys, filter.as_ref(), from, &items, having.as_ref(), &order)?;
        }
        // HAVING without groups filters rows.
        let (filter, having) = match (grouped, filter, having) {
            (false, Some(filter), Some(having)) => (Some(build::and(vec![filter, having])), None),
            (false, None, having) => (having, None),
            (_, filter, having) => (filter, having),
        };
        Ok(Block {
            filter,
            keys,
            aggregates,
            having,
            columns: self.output_columns(&items, from),
            output: items.into_iter().map(|item| item.expr).collect(),
            order,
        })
    }

    /// Chooses the join order and the indexes. Takes FROM's tree and the block's filter; what of the filter no table
    /// could apply comes back.
    fn block_source(&self, from: &mut From, block: &mut Block, wish: &OrderWish) -> Result<Joined> {
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
        let tree = from.tree.take();
        let lock_of: Vec<_> = from.tables.iter().map(|t| self.lock_of(&t.alias)).collect();
        let input = JoinInput {
            tables: &from.tables,
            needed: &needed,
            wish,
            locks: &lock_of,
        };
        self.source(tree, block.filter.take(), input)
    }

    /// The groups of a block, whose rows come in the order of its wish or in none. Takes its keys and aggregates.
    fn group_plan(&self, block: &mut Block, ordered: bool) -> GroupPlan {
        let first_only = block.first_only().is_some();
        let mut keep = Vec::new();
        block.results().for_each(|e| self.slots_of(e, &mut keep));
        let mut slots = keep.clone();
        let inputs = block.aggregates.iter().flat_map(Aggregate::inputs);
        inputs.for_each(|e| self.slots_of(e, &mut slots));
        GroupPlan {
            keys: std::mem::take(&mut block.keys),
            aggregates: std::mem::take(&mut block.aggregates),
            keep,
            slots,
            sorted: ordered && !first_only,
            first_only: first_only && ordered,
        }
    }

    fn group_keys(
        &mut self,
        group_by: &[OrderItem],
        scope: &Scope,
        items: &[Item],
        aliases: &[(String, Expr)],
    ) -> Result<Vec<Expr>> {
        let mut keys = Vec::new();
        for item in group_by {
            let key = match (&item.expr, ordinal(&item.expr)) {
                (_, Some(n)) => item_at(items, n, "group statement")?.expr.clone(),
                // A column comes before an alias of the same name.
                (ast::Expr::Column(name), _) if scope.find(name, "group statement")?.is_none() => {
                    match aliases.iter().find(|(alias, _)| names_equal(alias, &name.column)) {
                        Some((_, expr)) if name.table.is_none() => expr.clone(),
                        _ => self.condition(&item.expr, scope, "group statement")?,
                    }
                }
                _ => self.condition(&item.expr, scope, "group statement")?,
            };
            if key.columns().iter().any(|slot| (AGGREGATE..OUTER).contains(slot)) {
                return Err(SqlError::invalid_group_function());
            }
            keys.push(key);
        }
        Ok(keys)
    }
}

/// The column of a lone MIN or MAX, and whether its end is the last.
fn min_max(aggregates: &[Aggregate]) -> Option<(Expr, bool)> {
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
