//! The columns of a block's row wherever they are read: in its own clauses, and in the queries inside them, where a column is so many
//! rows further out.

use crate::expr::{Expr, Node, OUTER};
use crate::plan::from::FromInput;
use crate::plan::logical::{Block, Query};
use crate::plan::{AGGREGATE, Planner, QueryBody};

/// A column is handed on with the number of queries between it and the row that is asked about.
type Change<'c> = &'c mut dyn FnMut(&mut Expr, usize);

/// Like [`Change`], for all expressions: true if what is inside of one is not to be looked at.
type ChangeAll<'c> = &'c mut dyn FnMut(&mut Expr, usize) -> bool;

/// The slot of the row `depth` queries out that an expression is, if it is a column of one of that row's tables.
pub(super) fn slot_at(e: &Expr, depth: usize) -> Option<usize> {
    match e.node {
        Node::Column(slot) if slot / OUTER == depth => Some(slot % OUTER).filter(|slot| *slot < AGGREGATE),
        _ => None,
    }
}

/// The expression where it stands so many queries further inwards. It holds no query.
pub(super) fn inside(e: &Expr, depth: usize) -> Expr {
    let mut e = e.clone();
    e.shift(depth * OUTER);
    e
}

/// The expression, whose columns are all of rows so much further out, where it stands among these rows: `None` if one is not. It holds no
/// query.
pub(super) fn within(e: &Expr, shift: usize) -> Option<Expr> {
    let mut e = e.clone();
    let is_of = e.columns().iter().all(|slot| *slot >= shift);
    let mut lower = |slot: &mut usize| *slot -= shift;
    is_of.then(|| {
        each_slot(&mut e, &mut lower);
        e
    })
}

fn each_slot(e: &mut Expr, change: &mut dyn FnMut(&mut usize)) {
    if let Node::Column(slot) = &mut e.node {
        change(slot);
    }
    for child in e.children_mut() {
        each_slot(child, change);
    }
}

impl<'a> Planner<'a> {
    /// Changes the columns in all clauses of a block. What is put in their place is not looked at again.
    pub(super) fn change_columns_of_block(&mut self, block: &mut Block<'a>, change: Change) {
        let change: ChangeAll = &mut |e, depth| {
            let is_column = matches!(e.node, Node::Column(_));
            if is_column {
                change(e, depth);
            }
            is_column
        };
        block.exprs_mut(&mut |e| self.change(e, 0, change));
        for table in &block.tables {
            if let FromInput::Derived { query, lateral: true } = &table.input {
                self.change_of_query(*query, 1, change);
            }
        }
    }

    /// Changes the expressions of a query and of the queries in it, and then works out again what each reads of the rows around it.
    pub(in crate::plan) fn change_query(&mut self, id: usize, depth: usize, change: ChangeAll) {
        self.change_of_query(id, depth, change);
        // What is inside of a query has been numbered before it.
        for id in 0..=id {
            self.with_query(id, |planner, query| planner.settle_reads(query));
        }
    }

    fn change(&mut self, e: &mut Expr, depth: usize, change: ChangeAll) {
        if change(e, depth) {
            return;
        }
        if let Node::Subquery { id, .. } = &e.node {
            self.change_of_query(*id, depth + 1, change);
        }
        for child in e.children_mut() {
            self.change(child, depth, change);
        }
    }

    fn change_of_query(&mut self, id: usize, depth: usize, change: ChangeAll) {
        self.with_query(id, |planner, query| planner.change_within(query, depth, change));
    }

    fn change_within(&mut self, query: &mut Query<'a>, depth: usize, change: ChangeAll) {
        let around = query.order.iter_mut().map(|(e, _)| e);
        let around = around.chain(&mut query.limit).chain(&mut query.offset);
        around.for_each(|e| self.change(e, depth, change));
        match &mut query.body {
            QueryBody::Select(block) => {
                block.exprs_mut(&mut |e| self.change(e, depth, change));
                for table in &block.tables {
                    // One that is not lateral sees what its neighbours see.
                    if let FromInput::Derived { query, lateral } = &table.input {
                        self.change_of_query(*query, depth + usize::from(*lateral), change);
                    }
                }
            }
            QueryBody::Set { first, rest } => {
                self.change_within(first, depth, change);
                for branch in rest {
                    self.change_within(&mut branch.plan, depth, change);
                }
            }
            QueryBody::Recursive(recursion) => {
                self.change_within(&mut recursion.seed, depth, change);
                for step in &mut recursion.steps {
                    self.change_within(step, depth, change);
                }
            }
            QueryBody::Values(rows) => {
                let exprs = rows.iter_mut().flatten();
                exprs.for_each(|e| self.change(e, depth, change));
            }
        }
    }
}
