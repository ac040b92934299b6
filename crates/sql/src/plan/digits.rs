//! Which digits of an AVG the clauses of a block go on with: [`tidemark_expr::digits`] has the rule, this its leaves.
//!
//! A block settles its clauses when all of them are bound. A subquery that is a value may have been planned long before the expression
//! that it stands in is whole, so its own results are settled as if they were shown, and unveiled once something asks for more of them.
//!
//! MySQL reads the averages of groups back from a table, if it must sort them by something else or number them: then the digits
//! that are shown are all that is left. [`Block::quotient`](super::block::Block) tells such blocks.

use super::block::Block;
use super::group::identity;
use super::{AGGREGATE, Planner, QueryBody, QueryPlan};
use crate::expr::digits::{self, Asked, Leaves};
use crate::expr::{Aggregate, Expr, OUTER, Quotient};

struct Found<'f> {
    aggregates: &'f [Aggregate],
    increment: u8,
    queries: &'f mut [QueryPlan],
}

impl Leaves for Found<'_> {
    fn average(&self, slot: usize) -> Option<u8> {
        let nth = slot.checked_sub(AGGREGATE).filter(|_| slot < OUTER)?;
        self.aggregates.get(nth)?.divided_scale(self.increment)
    }

    fn subquery(&mut self, id: usize, column: usize) -> Option<u8> {
        self.queries.get_mut(id)?.unveil(column)
    }
}

impl QueryPlan {
    /// A result is to have all of its digits, if it can. Returns how many that are; `None`: those that are shown.
    fn unveil(&mut self, column: usize) -> Option<u8> {
        match &mut self.body {
            QueryBody::Select(select) => digits::unveil(select.output.get_mut(column)?),
            _ => None,
        }
    }

    /// Results that are stored, in columns or variables, have all of their digits.
    pub(super) fn unveil_all(&mut self) {
        for column in 0..self.columns.len() {
            self.unveil(column);
        }
    }
}

impl Planner<'_> {
    /// Settles the digits that the clauses of a block go on with.
    pub(super) fn settle_block(&mut self, block: &mut Block) {
        let increment = self.binder.ctx.div_precision_increment;
        self.has_averages |= block
            .aggregates
            .iter()
            .any(|aggregate| aggregate.divided_scale(increment).is_some());
        if !self.has_averages {
            return;
        }
        let mut found = Found {
            aggregates: &block.aggregates,
            increment,
            queries: &mut self.queries,
        };
        let shown = block
            .output
            .iter_mut()
            .chain(block.order.iter_mut().map(|(e, _)| e));
        shown.for_each(|e| digits::settle(e, Asked::Shown, &mut found));
        let having = block.having.iter_mut();
        having.for_each(|e| digits::settle(e, Asked::Exact, &mut found));
    }

    /// Settles the digits of an expression over rows that no aggregate has made: those of the subqueries in it.
    pub(super) fn settle_digits(&mut self, e: &mut Expr, asked: Asked) {
        if self.has_averages {
            let mut found = Found {
                aggregates: &[],
                increment: 0,
                queries: &mut self.queries,
            };
            digits::settle(e, asked, &mut found);
        }
    }
}

impl Block {
    /// With which digits its averages are finished; `sorted`: its rows come in groups.
    pub(super) fn quotient(&self, sorted: bool) -> Quotient {
        let is_by_keys = |(at, (e, _)): (usize, &(Expr, bool))| {
            self.keys.get(at).is_some_and(|key| identity(key) == identity(e))
        };
        let read_back = sorted && !self.order.iter().enumerate().all(is_by_keys);
        let streams =
            sorted || self.keys.is_empty() || self.has_totals() || self.aggregates.iter().any(|a| a.distinct);
        match streams {
            _ if self.has_windows() || read_back => Quotient::Shown,
            true => Quotient::Whole,
            false => Quotient::Divided,
        }
    }
}
