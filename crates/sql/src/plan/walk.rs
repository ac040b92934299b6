//! Through all that a plan evaluates: its expressions and its leaves; which columns of a row, and of the rows around a
//! query, are read.

use super::Planner;
use super::scope::OUTER;
use super::steer::Steering;
use super::{AGGREGATE, Input, Leaf, QueryBody, QueryPlan, SelectPlan, Source};
use crate::expr::{Expr, Node};

impl Planner<'_> {
    /// Adds the slots of this block's row that an expression reads, in subqueries too.
    pub(super) fn slots_of(&self, e: &Expr, out: &mut Vec<usize>) {
        let mut add = |slot: usize| {
            if slot < AGGREGATE && !out.contains(&slot) {
                out.push(slot);
            }
        };
        e.walk(&mut |e| match &e.node {
            Node::Column(slot) => add(*slot),
            Node::Subquery { id, .. } => self.queries[*id]
                .outer
                .iter()
                .filter(|slot| **slot < OUTER)
                .for_each(|slot| add(*slot)),
            _ => {}
        });
    }

    /// The slots of the row around a query that it and the queries in it read.
    pub(super) fn outer_slots(&self, plan: &QueryPlan) -> Vec<usize> {
        let mut out = Vec::new();
        let mut add = |slot: usize| {
            if !out.contains(&slot) {
                out.push(slot);
            }
        };
        plan.walk(
            &mut |e| match &e.node {
                Node::Column(slot) if *slot >= OUTER => add(*slot - OUTER),
                Node::Subquery { id, .. } => {
                    let deeper = &self.queries[*id].outer;
                    deeper
                        .iter()
                        .filter(|slot| **slot >= OUTER)
                        .for_each(|slot| add(*slot - OUTER));
                }
                _ => {}
            },
            &mut |_| {},
        );
        let mut derived = Vec::new();
        plan.walk(&mut |_| {}, &mut |leaf| {
            if let Input::Derived { query, .. } = &leaf.input {
                derived.extend(self.queries[*query].outer.iter().copied());
            }
        });
        derived.into_iter().for_each(add);
        out
    }
}

pub fn has_subquery(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e.node, Node::Subquery { .. }));
    found
}

impl QueryPlan {
    /// Visits the expressions and the leaves of this query, not those of the queries it refers to by number.
    pub fn walk(&self, f: &mut dyn FnMut(&Expr), leaves: &mut dyn FnMut(&Leaf)) {
        self.order.iter().for_each(|(e, _)| e.walk(f));
        self.limit.iter().chain(&self.offset).for_each(|e| e.walk(f));
        match &self.body {
            QueryBody::Select(select) => select.walk(f, leaves),
            QueryBody::Set { first, rest } => {
                first.walk(f, leaves);
                rest.iter().for_each(|branch| branch.plan.walk(f, leaves));
            }
            QueryBody::Recursive(recursion) => {
                recursion.seed.walk(f, leaves);
                recursion.step.walk(f, leaves);
            }
            QueryBody::Values(rows) => rows.iter().flatten().for_each(|e| e.walk(f)),
        }
    }
}

impl SelectPlan {
    fn walk(&self, f: &mut dyn FnMut(&Expr), leaves: &mut dyn FnMut(&Leaf)) {
        self.source.walk(f, leaves);
        self.output
            .iter()
            .chain(&self.filter)
            .chain(&self.having)
            .for_each(|e| e.walk(f));
        if let Some(group) = &self.group {
            group.keys.iter().for_each(|e| e.walk(f));
            for aggregate in &group.aggregates {
                aggregate.args.iter().for_each(|e| e.walk(f));
                aggregate.order_by.iter().for_each(|(e, _)| e.walk(f));
            }
        }
    }
}

impl Source {
    pub fn walk(&self, f: &mut dyn FnMut(&Expr), leaves: &mut dyn FnMut(&Leaf)) {
        match self {
            Source::One => {}
            Source::Leaf(leaf) => {
                leaves(leaf);
                leaf.filter
                    .iter()
                    .chain(&leaf.late_filter)
                    .for_each(|e| e.walk(f));
                let steering = leaf.path.steerings.iter().flat_map(Steering::values);
                steering.for_each(|v| v.expr.walk(f));
                if let Some(hash) = &leaf.hash {
                    hash.build.iter().chain(&hash.probe).for_each(|e| e.walk(f));
                }
            }
            Source::Inner(list) => list.iter().for_each(|source| source.walk(f, leaves)),
            Source::Left(join) => {
                join.left.walk(f, leaves);
                join.right.walk(f, leaves);
                join.filter.iter().for_each(|e| e.walk(f));
            }
        }
    }
}
