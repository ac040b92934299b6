//! The order of inner joins: from each possible first table on, the next is always the one that makes the row so far cheapest to
//! extend, and the cheapest whole wins.
//!
//! A table that no condition leads to from those before may be the cheapest next one, where it would have been better to wait for
//! another that leads to it. So where an order has such a table, one is looked for that has none as long as there is a choice.
//! A condition leads to a table if it finds few of its rows: an equality does, `<>` and `<` do not, nor does an OR that
//! lets most combinations pass of what its branches say of each table alone.

use super::TableScan;
use super::from::Tree;
use super::join::{Condition, Joiner, ROWS_MIN};
use crate::error::Result;
use crate::expr::{CmpOp, Node};
use crate::parse::ast::JoinPlace;

/// Most tables whose order is searched from each of them.
const SEARCH_MAX: usize = 8;

/// Returns true if few rows of each of its tables are expected to satisfy a condition together with a row of the others.
fn leads(condition: &Condition) -> bool {
    match &condition.expr.node {
        Node::Compare(op, ..) => matches!(op, CmpOp::Eq | CmpOp::NullSafeEq),
        Node::Between { negated, .. } | Node::In { negated, .. } => !negated,
        Node::Or(_) => condition.share_of_parts == 1.0,
        _ => false,
    }
}

/// Whether a table of an item is to be joined behind one that is not there.
fn waits(item: &Tree, there: &[usize], before: &[(usize, usize)]) -> bool {
    let inside = item.tables();
    let is_missing = |at: &usize| !there.contains(at) && !inside.contains(at);
    before
        .iter()
        .any(|(earlier, later)| inside.contains(later) && is_missing(earlier))
}

impl Joiner<'_, '_> {
    /// The order in which the items are joined.
    pub(super) fn order(
        &self,
        items: &[Tree],
        pool: &[Condition],
        known: &[usize],
        straight: bool,
    ) -> Result<Vec<usize>> {
        let written: Vec<usize> = (0..items.len()).collect();
        if straight || items.len() == 1 {
            return Ok(written);
        }
        self.tell_orders(|| {
            let before = self.asked_orders(items);
            let order = self.best_order(items, pool, known, &before)?;
            // What hints ask may contradict itself, or what must be there before a table.
            match order.len() < items.len() {
                true => self.best_order(items, pool, known, &[]),
                false => Ok(order),
            }
        })
    }

    /// Which tables hints ask to be joined before which others.
    fn asked_orders(&self, items: &[Tree]) -> Vec<(usize, usize)> {
        let there: Vec<usize> = items.iter().flat_map(Tree::tables).collect();
        let called = |name: &String| {
            let tables = there.iter().copied();
            tables
                .filter(|at| self.input.tables[*at].is_called(name))
                .collect::<Vec<_>>()
        };
        let mut before = Vec::new();
        for (place, names) in self.input.advice.iter().flat_map(|advice| &advice.orders) {
            let named: Vec<Vec<usize>> = names.iter().map(called).collect();
            for (at, later) in named.iter().enumerate() {
                for earlier in named[..at].iter().flatten() {
                    before.extend(later.iter().map(|later| (*earlier, *later)));
                }
            }
            let all: Vec<usize> = named.into_iter().flatten().collect();
            let others = there.iter().filter(|at| !all.contains(at));
            for other in others {
                before.extend(all.iter().filter_map(|named| match place {
                    JoinPlace::First => Some((*named, *other)),
                    JoinPlace::Last => Some((*other, *named)),
                    JoinPlace::Anywhere => None,
                }));
            }
        }
        before
    }

    fn best_order(
        &self,
        items: &[Tree],
        pool: &[Condition],
        known: &[usize],
        before: &[(usize, usize)],
    ) -> Result<Vec<usize>> {
        if let Some(first) = items.iter().position(|item| self.recursive_in(item).is_some()) {
            let (cost, order) = self.greedy(items, pool, known, (Some(first), false), before)?;
            self.tell_order(items, &order, cost, true);
            return Ok(order);
        }
        let asked = |item: &Tree| {
            self.input
                .first
                .is_some_and(|table| item.tables().contains(&table))
        };
        if let Some(first) = items.iter().position(asked)
            && self.is_ready(&items[first], known)
            && !waits(&items[first], known, before)
        {
            return Ok(self.greedy(items, pool, known, (Some(first), false), before)?.1);
        }
        let firsts = if items.len() <= SEARCH_MAX { items.len() } else { 1 };
        let mut best: Option<(f64, Vec<usize>)> = None;
        for first in 0..firsts {
            if !self.is_ready(&items[first], known) || waits(&items[first], known, before) {
                continue;
            }
            let forced = (firsts > 1).then_some(first);
            // What is cheapest to add next may be a table that no condition leads to, where it would have been better to wait.
            let mut crosses = true;
            for joined in [false, true] {
                if joined && !crosses {
                    break;
                }
                let (cost, order) = self.greedy(items, pool, known, (forced, joined), before)?;
                crosses = self.crosses(items, pool, &order);
                let cost = self.planner.dice.weigh(cost);
                let better = best.as_ref().is_none_or(|(least, _)| cost < *least);
                if forced.is_some() {
                    self.tell_order(items, &order, cost, better);
                }
                if better {
                    best = Some((cost, order));
                }
            }
        }
        Ok(best.map_or((0..items.len()).collect(), |(_, order)| order))
    }

    /// Returns true if a condition [leads](leads) from one of the tables that are there to an item.
    fn is_joined(&self, item: &Tree, pool: &[Condition], there: &[usize]) -> bool {
        let inside = item.tables();
        let names = |c: &Condition, list: &[usize]| c.tables.iter().any(|t| list.contains(t));
        pool.iter()
            .any(|c| leads(c) && names(c, &inside) && names(c, there))
    }

    /// Whether an order adds an item that nothing leads to from those before.
    fn crosses(&self, items: &[Tree], pool: &[Condition], order: &[usize]) -> bool {
        let mut there = Vec::new();
        order.iter().any(|at| {
            let is_joined = there.is_empty() || self.is_joined(&items[*at], pool, &there);
            there.extend(items[*at].tables());
            !is_joined
        })
    }

    /// An order in which each next item is the cheapest to add, and what it costs. `first`: the one to begin with; `joined`: one
    /// that a condition leads to from those before is taken where there is any.
    fn greedy(
        &self,
        items: &[Tree],
        pool: &[Condition],
        known: &[usize],
        (mut first, joined): (Option<usize>, bool),
        before: &[(usize, usize)],
    ) -> Result<(f64, Vec<usize>)> {
        let is_forced = first.is_some();
        let mut there = known.to_vec();
        let mut order = Vec::new();
        let (mut cost, mut rows) = (0.0, 1.0);
        while order.len() < items.len() {
            let mut next: Option<(f64, f64, usize)> = None;
            let waits = |at: usize| {
                order.contains(&at) || !self.is_ready(&items[at], &there) || waits(&items[at], &there, before)
            };
            let is_joined = |at: usize| self.is_joined(&items[at], pool, &there);
            let by_join =
                joined && !order.is_empty() && (0..items.len()).any(|at| !waits(at) && is_joined(at));
            for (at, item) in items.iter().enumerate() {
                if waits(at) || first.is_some_and(|f| f != at) || by_join && !is_joined(at) {
                    continue;
                }
                self.tell_next(&there, item);
                let scan = self.step(item, pool, &there, order.is_empty())?;
                // What is hashed is read once.
                let step = match scan.hash.is_some() && !order.is_empty() {
                    true => scan.path.cost + rows,
                    false => scan.path.cost * rows,
                };
                let out = scan.rows_out;
                let better = next.is_none_or(|(s, o, _)| (step + rows * out) < (s + rows * o));
                let begins = is_forced && order.is_empty();
                self.tell_step(
                    &scan,
                    ((rows * out).max(1.0), cost + step),
                    (!begins).then_some(better),
                );
                if better {
                    next = Some((step, out, at));
                }
            }
            first = None;
            let Some((step, out, at)) = next else { break };
            cost += step;
            rows = (rows * out).max(ROWS_MIN);
            there.extend(items[at].tables());
            order.push(at);
        }
        Ok((cost + rows, order))
    }

    /// Whether the tables that an item's LATERAL derived tables and JSON_TABLEs name are there.
    fn is_ready(&self, item: &Tree, there: &[usize]) -> bool {
        let inside = item.tables();
        let mut slots = Vec::new();
        let tables = inside.iter().map(|at| &self.input.tables[*at]);
        self.planner.slots_of_laterals(tables, &mut slots);
        let is_made_anew = inside.iter().any(|at| self.input.tables[*at].is_made_anew());
        let mut named = slots.into_iter().map(|slot| self.table_of(slot));
        (!is_made_anew || self.barriers.let_in(&inside, there))
            && named.all(|at| inside.contains(&at) || there.contains(&at))
    }

    /// How an item would be read behind those that are there: of several tables, the first. `begins`: it would be the first of all, where
    /// conditions that name none of the items are tested.
    fn step(&self, item: &Tree, pool: &[Condition], there: &[usize], begins: bool) -> Result<TableScan> {
        let inside = item.tables();
        let mut with = there.to_vec();
        with.extend(&inside);
        let is_new = |c: &&Condition| {
            !self.barriers.hold_back(c, &with)
                && c.tables.iter().all(|t| there.contains(t) || inside.contains(t))
                && (begins || c.tables.iter().any(|t| inside.contains(t)))
        };
        let ready: Vec<Condition> = pool.iter().filter(is_new).cloned().collect();
        self.scan(inside[0], &ready, there, None)
    }
}
