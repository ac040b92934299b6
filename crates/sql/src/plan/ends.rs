//! Several MINs and MAXs, each read from its end of an index.
//!
//! `SELECT MAX(id), MAX(b), MIN(s)` without GROUP BY needs one row of each index, and no other. A lone MIN or MAX is a matter of
//! the order in which its table is read ([`super::order`]); of several each has a way of its own to read the table. That is done
//! only where the conditions are all bounds of the indexes, so that the first row found is the one wanted.

use super::from::{FromInput, Tree};
use super::join::{JoinInput, Joined};
use super::logical::Block;
use super::lower::min_max;
use super::order::OrderWish;
use super::walk::has_subquery;
use super::{Planner, RowSource};
use crate::error::Result;
use crate::expr::Expr;

/// So many of the rows within the bounds may be expected to fail conditions.
const LEFT_OUT_MAX: f64 = 0.01;

impl Planner<'_> {
    /// How the first of the block's aggregates is read, and the others; `None` unless they are several and each is at an end.
    pub(super) fn ends(&mut self, block: &Block) -> Result<Option<(Joined, Vec<RowSource>)>> {
        let (Some(Tree::Table(0)), [table]) = (&block.tree, block.tables.as_slice()) else {
            return Ok(None);
        };
        let is_plain = matches!(table.input, FromInput::Stored { .. })
            && block.keys.is_empty()
            && !block.has_windows()
            && !block.has_totals()
            && block.locks[0].is_none()
            && block.semi_joins.is_empty()
            && block.scalar_joins.is_empty()
            && !block.filter.iter().any(has_subquery);
        if !is_plain || block.aggregates.len() < 2 {
            return Ok(None);
        }
        // The other columns of a row would be those of any of several rows.
        let mut shown = Vec::new();
        block.results().for_each(|e| self.slots_of(e, &mut shown));
        let wishes = block
            .aggregates
            .iter()
            .map(|one| min_max(std::slice::from_ref(one)));
        let Some(wishes) = wishes.collect::<Option<Vec<_>>>().filter(|_| shown.is_empty()) else {
            return Ok(None);
        };
        // What is chosen among is told of the tables of a block once.
        let trace = self.trace.take();
        let ends = wishes.into_iter().map(|wish| self.end(block, wish));
        let ends: Result<Option<Vec<Joined>>> = ends.collect();
        self.trace = trace;
        Ok(ends?.map(|mut ends| {
            let first = ends.remove(0);
            (first, ends.into_iter().map(|end| end.source).collect())
        }))
    }

    /// How the table is read so that the first row has the least or greatest value; `None` if no index leads there.
    fn end(&self, block: &Block, wish: (Expr, bool)) -> Result<Option<Joined>> {
        let mut filter = block.filter.clone();
        let mut tree = Some(Tree::Table(0));
        self.test_arrays(&block.tables, tree.as_mut(), filter.as_mut())?;
        let mut needed = Vec::new();
        self.slots_of(&wish.0, &mut needed);
        filter.iter().for_each(|e| self.slots_of(e, &mut needed));
        let wish = OrderWish {
            order: vec![wish],
            limited: true,
            ..OrderWish::default()
        };
        let input = JoinInput {
            tables: &block.tables,
            needed: &needed,
            wish: &wish,
            first: None,
            advice: block.advice.as_deref(),
            locks: &[None],
        };
        let joined = self.source(tree, filter, input)?;
        let is_end = match &joined.source {
            RowSource::Table(scan) => {
                joined.ordered
                    && joined.filter.is_none()
                    && scan.rows_out >= scan.path.rows * (1.0 - LEFT_OUT_MAX)
            }
            _ => false,
        };
        Ok(is_end.then_some(joined))
    }
}
