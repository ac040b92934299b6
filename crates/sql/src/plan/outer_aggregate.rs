//! Aggregates that stand in a subquery and belong to a query around it.
//!
//! An aggregate whose arguments name no column of the query that it stands in is one of the query whose columns they are: in
//! `SELECT (SELECT SUM(a.x) FROM b) FROM a` it is SUM over the rows of `a`, which makes one row of them. If several queries have
//! columns in it, it is one of the innermost of these; if aggregates may not stand there (the subquery is in WHERE or FROM),
//! one of the next inwards where they may. That is SQL's rule, and MySQL's.
//!
//! While a subquery is planned, the query around it leaves a [`Place`] for such aggregates. They become aggregates of that query like
//! any other; in the subquery they are values of the row outside.

use super::walk::has_subquery;
use super::{AGGREGATE, Planner};
use crate::error::{Result, SqlError};
use crate::expr::digits;
use crate::expr::{Aggregate, Expr, Node, OUTER, Scope, build};

/// Where a subquery stands, for the aggregates in it.
pub(super) struct Place {
    /// How many scopes are around the query that the subquery stands in.
    depth: usize,
    /// The aggregates that this query has so far; `None`: none may stand here.
    before: Option<usize>,
    /// The subquery stands in an aggregate of the query.
    in_aggregate: bool,
    /// Those that the subquery has added to them.
    pub added: Vec<Aggregate>,
}

impl Place {
    /// A place in a query with this scope; `before` is the number of its aggregates, if more may stand there.
    pub fn new(scope: &Scope, before: Option<usize>, in_aggregate: bool) -> Place {
        Place {
            depth: depth_of(scope),
            before,
            in_aggregate,
            added: Vec::new(),
        }
    }
}

fn depth_of(scope: &Scope) -> usize {
    std::iter::successors(scope.outer, |scope| scope.outer).count()
}

impl Planner<'_> {
    /// Whether aggregates of some query around may stand in the subquery being planned.
    pub(super) fn has_place_for_aggregates(&self) -> bool {
        self.places.iter().any(|place| place.before.is_some())
    }

    /// Gives an aggregate, bound in a scope, to the query around that it belongs to, and returns its value as a column of the
    /// row outside. `None`: it is one of the query itself, in which it `may_stand` or not. Error 1111 if it would be one inside
    /// another.
    pub(super) fn place_outside(
        &mut self,
        aggregate: &Aggregate,
        scope: &Scope,
        may_stand: bool,
    ) -> Result<Option<Expr>> {
        let own = depth_of(scope);
        let outermost = match innermost_level(aggregate) {
            Level::Unknown => return Ok(None),
            Level::NoColumns if may_stand => return Ok(None),
            Level::NoColumns => own,
            Level::Of(level) => level,
        };
        for level in (1..=outermost).rev() {
            let here = |place: &&mut Place| place.depth + level == own;
            let Some(place) = self.places.iter_mut().rev().find(here) else {
                continue;
            };
            if place.in_aggregate {
                return Err(SqlError::invalid_group_function());
            }
            let Some(before) = place.before else { continue };
            let slot = AGGREGATE + before + place.added.len() + level * OUTER;
            let mut aggregate = aggregate.clone();
            let order = aggregate.order_by.iter_mut().map(|(e, _)| e);
            aggregate
                .args
                .iter_mut()
                .chain(order)
                .for_each(|e| move_outwards(e, level));
            let mut value = build::column(slot, aggregate.ty.clone());
            if aggregate.is_quotient() {
                value = digits::veiled(value, true);
                self.has_averages = true;
            }
            place.added.push(aggregate);
            return Ok(Some(value));
        }
        Ok(None)
    }

    /// Binds the inside of an aggregate of the query with this scope.
    pub(super) fn enter_aggregate(&mut self, scope: &Scope) {
        self.aggregates_around.push(depth_of(scope));
    }

    /// Ends what [`Planner::enter_aggregate`] began.
    pub(super) fn leave_aggregate(&mut self) {
        self.aggregates_around.pop();
    }

    /// Whether what is bound stands in an aggregate of the query with this scope.
    pub(super) fn is_in_aggregate(&self, scope: &Scope) -> bool {
        self.aggregates_around.last() == Some(&depth_of(scope))
    }
}

/// The innermost query that has columns in an aggregate: 0 is the one that it stands in.
enum Level {
    Of(usize),
    NoColumns,
    /// It has a subquery.
    Unknown,
}

fn innermost_level(aggregate: &Aggregate) -> Level {
    let mut level = None;
    for e in aggregate.inputs() {
        if has_subquery(e) {
            return Level::Unknown;
        }
        for slot in e.columns() {
            let of = slot / OUTER;
            level = Some(level.map_or(of, |least: usize| least.min(of)));
        }
    }
    level.map_or(Level::NoColumns, Level::Of)
}

/// What a row of a query inside reads, as the query so many levels further out reads it.
fn move_outwards(e: &mut Expr, levels: usize) {
    if let Node::Column(slot) = &mut e.node {
        *slot -= levels * OUTER;
    }
    e.children_mut()
        .into_iter()
        .for_each(|child| move_outwards(child, levels));
}
