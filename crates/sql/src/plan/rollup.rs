//! GROUP BY … WITH ROLLUP, and GROUPING().
//!
//! A row of totals leaves out the last keys of its groups: they are NULL in it, whatever the rows say. So behind the groups
//! a key is no column and no expression any more, but a value of the finished row, as an aggregate is:
//!
//! ```text
//!  slots from AGGREGATE on   │ aggregates │ keys │ the calls of GROUPING() │
//! ```
//!
//! Until all clauses are bound it is not known how many aggregates there are, so that this is put into the expressions
//! afterwards: each part that equals a key becomes the key's slot.

use super::group::Finished;
use super::walk::has_subquery;
use super::{AGGREGATE, Planner};
use crate::error::{Result, SqlError, er};
use crate::expr::{Expr, Node, OUTER, build};
use crate::types::{SqlType, Value};

/// Slots from here on are calls of GROUPING() whose place is not known yet.
const GROUPING: usize = 1 << 21;

/// What a finished row has behind its aggregates and keys.
pub struct RollupPlan {
    /// For each call of GROUPING() its arguments, as positions among the keys.
    pub groupings: Vec<Vec<usize>>,
}

/// The value of a call until [`Rewriter`] has been at it.
pub(super) fn placeholder(number: usize) -> Expr {
    build::column(
        GROUPING + number,
        SqlType::bigint().with_length(21).with_nullable(true),
    )
}

/// Puts keys and calls of GROUPING() in their places.
pub(super) struct Rewriter {
    /// The keys; none without ROLLUP.
    keys: Vec<Expr>,
    /// The slot of the first key.
    first: usize,
    rollup: bool,
}

impl Rewriter {
    /// For a block with such keys, and what its clauses have collected. Returns also what ROLLUP adds to the groups. Errors
    /// 1111 and 3602 for GROUPING() without groups or of what is no key.
    pub fn new(keys: &[Expr], finished: &Finished, rollup: bool) -> Result<(Rewriter, Option<RollupPlan>)> {
        if keys.is_empty() && !finished.groupings.is_empty() {
            return Err(SqlError::invalid_group_function());
        }
        let mut groupings = Vec::with_capacity(finished.groupings.len());
        for args in &finished.groupings {
            let places = args.iter().enumerate().map(|(n, arg)| {
                let place = keys.iter().position(|key| key.same_as(arg));
                place.ok_or_else(|| no_key(n + 1))
            });
            groupings.push(places.collect::<Result<Vec<_>>>()?);
        }
        let rewriter = Rewriter {
            keys: if rollup { keys.to_vec() } else { Vec::new() },
            first: AGGREGATE + finished.aggregates.len(),
            rollup,
        };
        Ok((rewriter, rollup.then_some(RollupPlan { groupings })))
    }

    /// Whether there is anything to do.
    pub fn is_idle(&self, finished: &Finished) -> bool {
        !self.rollup && finished.groupings.is_empty()
    }

    /// Returns whether something in the expression may now be NULL that was not.
    pub fn rewrite(&self, e: &mut Expr) -> bool {
        if let Some(at) = self.key_of(e) {
            let name = e.name.take();
            *e = build::column(self.first + at, e.ty.clone().with_nullable(true));
            e.name = name;
            return true;
        }
        if let Node::Column(slot) = e.node
            && (GROUPING..super::WINDOW).contains(&slot)
        {
            match self.rollup {
                true => e.node = Node::Column(self.first + self.keys.len() + slot - GROUPING),
                false => *e = build::typed_literal(e.ty.clone(), Value::Int(0)),
            }
            return false;
        }
        let mut changed = false;
        for child in e.children_mut() {
            changed |= self.rewrite(child);
        }
        e.ty.nullable |= changed;
        changed
    }

    /// Puts a key in its place in a query inside, so many queries further inwards; false: the expression is none.
    fn rewrite_at(&self, e: &mut Expr, depth: usize) -> bool {
        let is_it = |key: &Expr| !has_subquery(key) && key.same_moved(e, depth * OUTER);
        let Some(at) = self.keys.iter().position(is_it) else {
            return false;
        };
        let slot = self.first + at + depth * OUTER;
        *e = build::column(slot, e.ty.clone().with_nullable(true));
        true
    }

    fn key_of(&self, e: &Expr) -> Option<usize> {
        self.keys.iter().position(|key| key.same_as(e))
    }
}

impl Planner<'_> {
    /// Puts keys in their places in the queries in an expression behind the groups.
    pub(super) fn rewrite_inside(&mut self, e: &mut Expr, rewriter: &Rewriter) {
        if rewriter.keys.is_empty() || rewriter.key_of(e).is_some() {
            return;
        }
        if let Node::Subquery { id, .. } = &e.node {
            self.change_query(*id, 1, &mut |e, depth| rewriter.rewrite_at(e, depth));
            e.ty.nullable = true;
        }
        for child in e.children_mut() {
            self.rewrite_inside(child, rewriter);
        }
    }
}

fn no_key(argument: usize) -> SqlError {
    SqlError::new(
        er::FIELD_IN_GROUPING_NOT_GROUP_BY,
        format!("Argument #{argument} of GROUPING function is not in GROUP BY"),
    )
}
