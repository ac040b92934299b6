//! A condition of HAVING on keys of the groups is one of WHERE: it leaves whole groups out, which are not made then, and it reaches indexes.
//!
//! ```text
//!   SELECT a, COUNT(*) FROM t GROUP BY a HAVING a > 5 AND COUNT(*) > 1
//!   SELECT a, COUNT(*) FROM t WHERE a > 5 GROUP BY a HAVING COUNT(*) > 1
//! ```
//!
//! It must say the same of equal values. Totals (WITH ROLLUP) are rows of no key, so HAVING sees other values there.

use super::all_of;
use super::condition_pushdown::keeps_equals;
use crate::expr::Node;
use crate::plan::access::conjuncts;
use crate::plan::logical::{Block, Query};
use crate::plan::{AGGREGATE, Planner};

impl<'a> Planner<'a> {
    pub(super) fn test_before_grouping(&mut self, root: &mut Query<'a>) {
        for id in 0..self.queries.len() {
            self.with_query(id, |_, query| query.blocks_mut(&mut Block::test_before_grouping));
        }
        root.blocks_mut(&mut Block::test_before_grouping);
    }
}

impl Block<'_> {
    fn test_before_grouping(&mut self) {
        if self.keys.is_empty() || self.rollup.is_some() || self.tree.is_none() {
            return;
        }
        let Some(having) = self.having.take() else {
            return;
        };
        let is_key = |slot: usize| {
            let mut keys = self.keys.iter();
            slot < AGGREGATE && keys.any(|key| matches!(key.node, Node::Column(key) if key == slot))
        };
        let (early, late): (Vec<_>, Vec<_>) = conjuncts(&having).into_iter().cloned().partition(|e| {
            let slots = e.columns();
            !slots.is_empty() && slots.into_iter().all(is_key) && keeps_equals(e)
        });
        self.filter = all_of(self.filter.take().into_iter().chain(early).collect());
        self.having = all_of(late);
    }
}
