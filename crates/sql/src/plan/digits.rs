//! The hidden digits of AVG in the clauses of a block: [`tidemark_expr::digits`] has the rule.
//!
//! The clauses are settled when all of them are bound. A scalar subquery is planned before the expression around it is complete, so its
//! results are rounded at first, and the rounding is removed once an operation needs the unrounded value.
//!
//! MySQL reads the averages of groups back from a temporary table if it sorts the groups by something else or computes window
//! functions over them; the table has the digits of the type alone. [`Block::quotient`] tells such blocks.

use super::logical::{Block, Query};
use super::query::each_output;
use super::{AGGREGATE, Planner, QueryBody};
use crate::expr::digits::{self, Asked, Leaves};
use crate::expr::{Aggregate, Expr, OUTER, Quotient, build};

struct Found<'f, 'a> {
    aggregates: &'f mut Vec<Aggregate>,
    queries: &'f mut [Query<'a>],
    /// The slots of those that are wanted as doubles, too, and of these.
    doubles: Vec<(usize, usize)>,
}

impl Leaves for Found<'_, '_> {
    fn is_average(&self, slot: usize) -> bool {
        let nth = slot.checked_sub(AGGREGATE).filter(|_| slot < OUTER);
        nth.and_then(|nth| self.aggregates.get(nth))
            .is_some_and(Aggregate::is_quotient)
    }

    fn as_double(&mut self, slot: usize) -> usize {
        if let Some((_, double)) = self.doubles.iter().find(|(exact, _)| *exact == slot) {
            return *double;
        }
        let mut aggregate = self.aggregates[slot - AGGREGATE].clone();
        aggregate.as_double = true;
        let double = AGGREGATE + self.aggregates.len();
        self.aggregates.push(aggregate);
        self.doubles.push((slot, double));
        double
    }

    fn unveil(&mut self, id: usize, column: usize) -> bool {
        self.queries.get_mut(id).is_some_and(|query| query.unveil(column))
    }
}

impl Query<'_> {
    /// A result is to have all of its digits, if it can. Returns whether these are more than those that it would show.
    fn unveil(&mut self, column: usize) -> bool {
        if let QueryBody::Select(select) = &mut self.body
            && let Some(result) = select.output.get_mut(column)
        {
            self.is_unveiled |= digits::unveil(result);
        }
        self.is_unveiled
    }

    /// Results that are kept have as many digits as their types.
    pub(super) fn fill_up(&mut self) {
        let filled = each_output(self, &mut |_, result| {
            build::fill_up(result);
            Ok(())
        });
        debug_assert!(filled.is_ok());
    }

    /// Results that are stored, in columns or variables, have all of their digits.
    pub(super) fn unveil_all(&mut self) {
        for column in 0..self.columns.len() {
            self.unveil(column);
        }
    }
}

impl Planner<'_> {
    /// Settles the digits that the clauses of a block go on with: what is shown, and what is tested.
    pub(super) fn settle_block<'e>(
        &mut self,
        aggregates: &mut Vec<Aggregate>,
        shown: impl Iterator<Item = &'e mut Expr>,
        having: Option<&mut Expr>,
    ) {
        self.has_averages |= aggregates.iter().any(Aggregate::is_quotient);
        if !self.has_averages {
            return;
        }
        let mut found = Found {
            aggregates,
            queries: &mut self.queries,
            doubles: Vec::new(),
        };
        shown.for_each(|e| digits::settle(e, Asked::Shown, &mut found));
        if let Some(having) = having {
            digits::settle(having, Asked::Exact, &mut found);
        }
    }

    /// Settles the digits of an expression over rows that no aggregate has made: those of the subqueries in it.
    pub(super) fn settle_digits(&mut self, e: &mut Expr, asked: Asked) {
        if self.has_averages {
            let mut found = Found {
                aggregates: &mut Vec::new(),
                queries: &mut self.queries,
                doubles: Vec::new(),
            };
            digits::settle(e, asked, &mut found);
        }
    }
}

impl Block<'_> {
    /// With which digits its averages are finished; `sorted`: its rows come in groups.
    pub(super) fn quotient(&self, sorted: bool) -> Quotient {
        let is_by_keys =
            |(at, (e, _)): (usize, &(Expr, bool))| self.keys.get(at).is_some_and(|key| key.same_as(e));
        let read_back = sorted && !self.order.iter().enumerate().all(is_by_keys);
        let streams =
            sorted || self.keys.is_empty() || self.has_totals() || self.aggregates.iter().any(|a| a.distinct);
        match streams {
            _ if self.keeps_digits => Quotient::Whole,
            _ if self.has_windows() || read_back => Quotient::Shown,
            true => Quotient::Whole,
            false => Quotient::Divided,
        }
    }
}
