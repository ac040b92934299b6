//! A derived table, or a common table that is named once, whose query only joins, selects and computes, becomes a part of the join that
//! it stands in, so that conditions and orders around it reach its tables:
//!
//! ```text
//!   SELECT d.b FROM (SELECT id, a + 1 AS b FROM t WHERE c < 5) d WHERE d.id = 7
//!   SELECT t.a + 1 FROM t WHERE t.c < 5 AND t.id = 7
//! ```
//!
//! The rows of the derived table's query take slots behind those of the row around it, and its columns are put where the table's were
//! read. MySQL does the same (`derived_merge`), with the same exceptions: what groups, leaves out equal rows, has a LIMIT, windows or no tables,
//! and what would be computed at another time or not as often if it were not computed once a row. What a definer's view hides stays apart, too
//! (see [`barrier`](crate::plan::barrier)).

use super::columns::{inside, slot_at};
use crate::error::depth::TABLES_MAX;
use crate::expr::{Expr, Node, OUTER, Volatility, build};
use crate::parse::ast::Denied;
use crate::plan::derived::type_in_table;
use crate::plan::from::{FromInput, FromTable, Tree};
use crate::plan::logical::{Block, Query};
use crate::plan::walk::has_subquery;
use crate::plan::{Destination, Planner, QueryBody};
use crate::types::SqlType;
use std::ops::Range;
use std::sync::Arc;

/// Most parts that what a column is computed by may have: it is copied wherever the column is read, from one table to the next around it.
const PARTS_MAX: usize = 100;

impl<'a> Planner<'a> {
    pub(super) fn merge_derived(&mut self, root: &mut Query<'a>) {
        let times = self.times_named(root);
        if times.iter().all(|times| *times == 0) {
            return;
        }
        // From the inside out, so that what is merged has been merged into before.
        let mut merged = false;
        for id in 0..self.queries.len() {
            merged |= self.with_query(id, |planner, query| planner.merge_within(query, &times));
        }
        merged |= self.merge_within(root, &times);
        if merged {
            self.settle_all(root);
        }
    }

    /// Returns whether some derived table is no more.
    fn merge_within(&mut self, query: &mut Query<'a>, times: &[usize]) -> bool {
        match &mut query.body {
            QueryBody::Select(block) => self.merge_into(block, times),
            QueryBody::Set { first, rest } => {
                let mut merged = self.merge_within(first, times);
                for branch in rest {
                    merged |= self.merge_within(&mut branch.plan, times);
                }
                merged
            }
            QueryBody::Recursive(recursion) => {
                let mut merged = self.merge_within(&mut recursion.seed, times);
                for step in &mut recursion.steps {
                    merged |= self.merge_within(step, times);
                }
                merged
            }
            QueryBody::Values(_) => false,
        }
    }

    fn merge_into(&mut self, block: &mut Block<'a>, times: &[usize]) -> bool {
        let mut merged = false;
        let mut at = 0;
        while at < block.tables.len() {
            match block.tables[at].input {
                FromInput::Derived {
                    query,
                    lateral: false,
                } if times[query] == 1 && !block.tables[at].apart && self.may_merge(query, block, at) => {
                    self.merge(query, block, at);
                    merged = true;
                }
                _ => at += 1,
            }
        }
        merged
    }

    /// Whether a query can take the place of the table that it is in a block.
    fn may_merge(&self, id: usize, block: &Block, at: usize) -> bool {
        let query = &self.queries[id];
        let (QueryBody::Select(inner), Some(tree)) = (&query.body, &block.tree) else {
            return false;
        };
        let is_plain = query.limit.is_none()
            && !block.denies(Denied::Merge, &block.tables[at])
            && query.offset.is_none()
            && query.converted.is_empty()
            && !query.calc_found_rows
            && matches!(query.into, Destination::Client)
            && !inner.distinct
            && !inner.is_grouped()
            && !inner.has_windows()
            && inner.semi_joins.is_empty()
            && inner.having.is_none();
        let joins = inner.tree.as_ref().is_some_and(|tree| !tree.is_straight())
            && block.tables.len() + inner.tables.len() <= TABLES_MAX + 1
            && (inner.tables.len() == 1 || !tree.is_straight())
            && inner.tables.iter().all(|table| table.recursive.is_none());
        // A variable is assigned row by row, in the order of the derived table's rows.
        let assigns = query.assigns() || block.assigns();
        // Of a column alone the NULL that an outer join gives it is its own.
        let extended = tree.extends(at);
        let mut columns = inner.output.iter().enumerate();
        is_plain
            && joins
            && !assigns
            && columns.all(|(column, e)| match e.node {
                Node::Column(slot) => {
                    (slot < OUTER || !extended) && e.ty.kind == type_in_table(query, column).kind
                }
                _ => !extended && is_copied(e, &type_in_table(query, column)),
            })
    }

    fn merge(&mut self, id: usize, block: &mut Block<'a>, at: usize) {
        let mut query = self.queries[id].take();
        let QueryBody::Select(inner) = &mut query.body else {
            return debug_assert!(false, "only a SELECT is merged");
        };
        let base = block.width;
        self.change_columns_of_block(inner, &mut |e, depth| {
            if slot_at(e, depth).is_some() {
                e.shift(base);
            }
        });
        let extended = block.tree.as_ref().is_some_and(|tree| tree.extends(at));
        let alone = block.tables.len() == 1;
        let place = block.take_in(inner, at, base);
        let gone = place.base..place.base + inner.output.len();
        self.put_columns(block, &gone, &inner.output, &place);
        block.frees_latches |= inner.frees_latches;
        if let Some(tree) = inner.tree.take() {
            let filter = inner.filter.take();
            let on = filter.clone().filter(|_| extended).into_iter().collect();
            block.put_tree(at, tree, on);
            if !extended && let Some(filter) = filter {
                block.filter = Some(match block.filter.take() {
                    Some(own) => build::and(vec![filter, own]),
                    None => filter,
                });
            }
        }
        // The order of all rows is that of the only table's, unless something is made of them.
        let is_passed_on =
            alone && block.order.is_empty() && !block.is_grouped() && !block.distinct && !block.has_windows();
        if is_passed_on {
            block.order = std::mem::take(&mut inner.order);
        }
    }

    /// Puts what a merged table's columns are where they are read.
    fn put_columns(
        &mut self,
        block: &mut Block<'a>,
        gone: &Range<usize>,
        columns: &[Expr],
        table: &FromTable,
    ) {
        let name: Arc<str> = table.alias.as_str().into();
        self.change_columns_of_block(block, &mut |e, depth| {
            let Some(slot) = slot_at(e, depth).filter(|slot| gone.contains(slot)) else {
                return;
            };
            let column = &columns[slot - gone.start];
            match column.node {
                Node::Column(slot) => e.node = Node::Column(slot + depth * OUTER),
                _ => {
                    let nullable = e.ty.nullable;
                    *e = inside(column, depth);
                    e.ty.nullable |= nullable;
                    e.name = Some(Arc::clone(&name));
                }
            }
        });
    }
}

/// Whether a value may be computed where it is read, so often as that may be, in place of once for each row: the type in which it would have
/// been kept is its own.
fn is_copied(e: &Expr, kept: &SqlType) -> bool {
    let (mut parts, mut steady) = (0, true);
    e.walk(&mut |e| {
        parts += 1;
        steady &= match &e.node {
            Node::Call(function, _) => function.volatility != Volatility::Volatile,
            Node::UserVar(_) | Node::AssignVar(..) => false,
            _ => true,
        };
    });
    let own = &e.ty;
    steady
        && parts <= PARTS_MAX
        && !has_subquery(e)
        && own.kind == kept.kind
        && own.unsigned == kept.unsigned
        && own.length == kept.length
        && own.scale == kept.scale
        && own.collation == kept.collation
}

impl<'a> Block<'a> {
    /// Takes in the tables of another block, whose slots begin at `base` now, in place of one of its own, which is returned.
    fn take_in(&mut self, inner: &mut Block<'a>, at: usize, base: usize) -> FromTable {
        let place = self.tables.remove(at);
        self.locks.remove(at);
        for mut table in inner.tables.drain(..) {
            table.base += base;
            self.tables.push(table);
        }
        self.locks.append(&mut inner.locks);
        self.width += inner.width;
        place
    }

    /// Puts a tree of the tables that have come last in the place of a table that has gone.
    fn put_tree(&mut self, gone: usize, mut tree: Tree, on: Vec<Expr>) {
        let first = self.tables.len() - tree.tables().len();
        tree.renumber(&mut |at| at + first);
        let new = match on.is_empty() {
            true => tree,
            false => Tree::Inner {
                list: vec![tree],
                on,
                straight: false,
                hides: false,
            },
        };
        let mut new = Some(new);
        if let Some(own) = self.tree.take() {
            self.tree = Some(own.replaced(gone, &mut new));
        }
        debug_assert!(new.is_none(), "the table stood in the tree");
    }
}

impl Tree {
    /// Whether the order of some tables is as written.
    pub(super) fn is_straight(&self) -> bool {
        match self {
            Tree::Table(_) => false,
            Tree::Inner { list, straight, .. } => *straight || list.iter().any(Tree::is_straight),
            Tree::Left { left, right, .. } => left.is_straight() || right.is_straight(),
        }
    }

    /// Gives each table another number.
    fn renumber(&mut self, number: &mut dyn FnMut(usize) -> usize) {
        match self {
            Tree::Table(at) => *at = number(*at),
            Tree::Inner { list, .. } => list.iter_mut().for_each(|tree| tree.renumber(number)),
            Tree::Left { left, right, .. } => {
                left.renumber(number);
                right.renumber(number);
            }
        }
    }

    /// The tree with another one in place of a table, and the tables behind that one place further to the front. The other one has such
    /// numbers, too, but for that.
    fn replaced(self, gone: usize, new: &mut Option<Tree>) -> Tree {
        match self {
            Tree::Table(at) if at == gone => new.take().unwrap_or(Tree::Table(at)),
            Tree::Table(at) => Tree::Table(at - usize::from(at > gone)),
            Tree::Inner {
                list,
                on,
                straight,
                hides,
            } => {
                let list = list.into_iter().map(|tree| tree.replaced(gone, new));
                let mut list: Vec<Tree> = list.collect();
                match on.is_empty() && list.len() == 1 && !hides {
                    true => list.remove(0),
                    false => Tree::Inner {
                        list,
                        on,
                        straight,
                        hides,
                    },
                }
            }
            Tree::Left { left, right, on } => Tree::Left {
                left: Box::new(left.replaced(gone, new)),
                right: Box::new(right.replaced(gone, new)),
                on,
            },
        }
    }
}
