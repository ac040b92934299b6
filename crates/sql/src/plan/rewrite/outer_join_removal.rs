//! An outer join adds nothing but columns if each row finds one row at most, or if rows that come several times are as good as one. Where nobody reads
//! its columns, it is not made:
//!
//! ```text
//!   SELECT o.id FROM o LEFT JOIN c ON c.id = o.customer            id is unique: each o as often as without c
//!   SELECT DISTINCT o.id FROM o LEFT JOIN l ON l.order_id = o.id   an o several times is left out again
//! ```
//!
//! ORMs and views that name all that may be wanted write such joins. MySQL makes them; PostgreSQL leaves them out (`analyzejoins.c`). A join
//! whose ON may be noticed in another way stays, as does one whose rows are locked.

use super::semijoin::is_one_to_one;
use crate::expr::{AggFunc, Aggregate, CmpOp, Expr, Node};
use crate::plan::Planner;
use crate::plan::access::conjuncts;
use crate::plan::filter::is_steady;
use crate::plan::from::{FromInput, Tree};
use crate::plan::join::conditions;
use crate::plan::logical::{Block, Query};
use crate::plan::walk::has_subquery;

impl<'a> Planner<'a> {
    pub(super) fn remove_outer_joins(&mut self, root: &mut Query<'a>) {
        for id in 0..self.queries.len() {
            self.with_query(id, |planner, query| {
                query.blocks_mut(&mut |block| planner.remove_from(block));
            });
        }
        root.blocks_mut(&mut |block| self.remove_from(block));
    }

    fn remove_from(&self, block: &mut Block<'a>) {
        let Some(tree) = block.tree.take_if(|tree| tree.joins_outer()) else {
            return;
        };
        let mut tree = tree;
        let mut at = 0;
        // What reads another of them may itself be one: the outermost first.
        while let Some((smaller, table, on)) = tree.without_outer_join(at) {
            match self.is_unread(block, &smaller, table) && self.adds_nothing(block, table, &on) {
                true => tree = smaller,
                false => at += 1,
            }
        }
        block.tree = Some(tree);
    }

    /// Returns true if no clause of a block reads a table, with the conditions of a smaller tree in place of its own.
    fn is_unread(&self, block: &Block, tree: &Tree, table: usize) -> bool {
        let mut slots = Vec::new();
        block
            .exprs()
            .chain(conditions(tree))
            .for_each(|e| self.slots_of(e, &mut slots));
        self.slots_of_laterals(&block.tables, &mut slots);
        let table_of = |slot: usize| block.tables.partition_point(|table| table.base <= slot) - 1;
        slots.into_iter().all(|slot| table_of(slot) != table)
    }

    /// Returns true if an outer join with a table adds no rows that would be missed, and is not noticed.
    fn adds_nothing(&self, block: &Block, table: usize, on: &[Expr]) -> bool {
        let is_quiet = |e: &&Expr| is_steady(e) && !has_subquery(e) && self.is_silent(e);
        let is_repeated = block.ignores_repeated_rows();
        block.locks[table].is_none()
            && on.iter().flat_map(conjuncts).all(|e| is_quiet(&e))
            && (is_repeated || self.finds_one(block, table, on))
    }

    /// Returns true if a stored table has one row at most for which a condition holds.
    fn finds_one(&self, block: &Block, table: usize, on: &[Expr]) -> bool {
        let from = &block.tables[table];
        let FromInput::Stored { def, .. } = &from.input else {
            return false;
        };
        let columns = from.base..from.base + def.columns.len();
        let is_own = |e: &Expr| e.columns().iter().any(|slot| columns.contains(slot));
        let mut compared = Vec::new();
        for conjunct in on.iter().flat_map(conjuncts) {
            let Node::Compare(CmpOp::Eq, kind, sides) = &conjunct.node else {
                continue;
            };
            let [left, right] = &**sides;
            for (own, other) in [(left, right), (right, left)] {
                if let Node::Column(slot) = own.node
                    && columns.contains(&slot)
                    && !is_own(other)
                    && is_one_to_one(&(*kind, other.clone(), own.clone()))
                {
                    compared.push(slot - from.base);
                }
            }
        }
        def.indexes.iter().filter(|index| index.unique).any(|index| {
            let mut parts = index.parts.iter();
            parts.all(|part| part.prefix.is_none() && compared.contains(&part.column))
        })
    }
}

impl Block<'_> {
    /// Returns true if rows that come several times are as good as one.
    fn ignores_repeated_rows(&self) -> bool {
        let is_end = |aggregate: &Aggregate| {
            aggregate.distinct || matches!(aggregate.func, AggFunc::Min | AggFunc::Max)
        };
        match self.is_grouped() {
            true => self.aggregates.iter().all(is_end),
            false => self.distinct && !self.has_windows(),
        }
    }
}

impl Tree {
    /// The tree without one of its outer joins that has a table alone on its inner side, counted from outside; that table, and its
    /// conditions. `None`: there are not so many.
    fn without_outer_join(&self, at: usize) -> Option<(Tree, usize, Vec<Expr>)> {
        self.without(&mut { at })
    }

    fn without(&self, before: &mut usize) -> Option<(Tree, usize, Vec<Expr>)> {
        match self {
            Tree::Table(_) => None,
            Tree::Inner {
                list,
                on,
                straight,
                hides,
            } => list.iter().enumerate().find_map(|(at, tree)| {
                let (smaller, table, gone) = tree.without(before)?;
                let mut list = list.clone();
                list[at] = smaller;
                let tree = Tree::Inner {
                    list,
                    on: on.clone(),
                    straight: *straight,
                    hides: *hides,
                };
                Some((tree, table, gone))
            }),
            Tree::Left { left, right, on } => {
                if let Tree::Table(table) = **right {
                    if *before == 0 {
                        return Some(((**left).clone(), table, on.clone()));
                    }
                    *before -= 1;
                }
                let rebuilt = |left: Tree, right: Tree| Tree::Left {
                    left: Box::new(left),
                    right: Box::new(right),
                    on: on.clone(),
                };
                if let Some((smaller, table, gone)) = left.without(before) {
                    return Some((rebuilt(smaller, (**right).clone()), table, gone));
                }
                let (smaller, table, gone) = right.without(before)?;
                Some((rebuilt((**left).clone(), smaller), table, gone))
            }
        }
    }
}
