//! What a statement may not see of the rows that a view hides from it.
//!
//! A view that is merged ([`super::view`]) lends its tables to the statement around it, and its conditions are tested with the
//! statement's. If the account may not read those tables itself, the view is a *barrier*: what the statement evaluates on a row
//! that the view does not show must not be noticed from outside.
//!
//! ```text
//!   v AS SELECT id, a FROM t WHERE owner = 'me'        SELECT … FROM v WHERE a = 7 AND (@seen := a) AND 1 / a > 0
//!
//!   index of t     a = 7               says nothing but whether it is true
//!   filter         owner = 'me'        the view's own
//!   late filter    (@seen := a) AND 1 / a > 0
//! ```
//!
//! A condition *leaks* unless it only compares, without a conversion that may warn or fail: it may assign, warn, fail, take time, or count
//! how often it is evaluated. One that leaks is tested when all tables of a barrier are there, after all conditions written within it. Others
//! are tested, and bound indexes, as those of any query. PostgreSQL has this as `security_barrier` views and `LEAKPROOF`
//! functions; MySQL has nothing of the kind.
//!
//! Views of views are barriers within barriers: a condition waits for those that it is not written in.

use super::condition_order::converts_nothing;
use super::filter::is_steady;
use super::from::Tree;
use super::join::{Condition, Joiner};
use super::walk::has_subquery;
use super::{AGGREGATE, Planner};
use crate::expr::{CmpOp, Env, Expr, Node, OUTER};
use crate::types::assign::zero_value;
use crate::types::{CmpKind, Conversion, SqlType, Warnings};
use std::cell::Cell;

/// A view with rows that the account may not see.
struct Barrier {
    tables: Vec<usize>,
    /// How many barriers there are from the statement to inside of it, itself included.
    depth: usize,
}

/// The barriers of a join.
pub(super) struct Barriers(Vec<Barrier>);

impl Barriers {
    pub fn of(tree: &Tree) -> Barriers {
        let mut found = Vec::new();
        collect(tree, 0, &mut found);
        Barriers(found)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many barriers are around a join of these tables that is not itself a view.
    pub fn around(&self, tables: &[usize]) -> usize {
        let holds = |barrier: &&Barrier| tables.iter().all(|at| barrier.tables.contains(at));
        self.0.iter().filter(holds).count()
    }

    /// Returns true if a condition must wait: a barrier that it is not written in has only some of its tables among these.
    pub fn hold_back(&self, condition: &Condition, there: &[usize]) -> bool {
        condition.leaks && self.foreign(condition).any(|barrier| barrier.is_begun(there))
    }

    /// Returns true if a condition is to be tested after all others of a table: it is one of a barrier that it is not written in.
    pub fn put_last(&self, condition: &Condition, at: usize) -> bool {
        condition.leaks
            && self
                .foreign(condition)
                .any(|barrier| barrier.tables.contains(&at))
    }

    /// Returns true if a condition that is put last may still bound the table: all other tables of the barriers are yet to come, so that
    /// the bounds are made of no row that a view hides.
    pub fn may_bound(&self, condition: &Condition, at: usize, known: &[usize]) -> bool {
        let of_table = |barrier: &&Barrier| barrier.tables.contains(&at);
        let mut around = self.foreign(condition).filter(of_table);
        !condition.leaks || around.all(|barrier| !barrier.tables.iter().any(|table| known.contains(table)))
    }

    /// Returns true if a table that is made for each row of those before it may be made behind these.
    pub fn let_in(&self, inside: &[usize], there: &[usize]) -> bool {
        let holds = |barrier: &Barrier| inside.iter().all(|at| barrier.tables.contains(at));
        let mut others = self.0.iter().filter(|barrier| !holds(barrier));
        others.all(|barrier| !barrier.is_begun(there))
    }

    fn foreign(&self, condition: &Condition) -> impl Iterator<Item = &Barrier> {
        self.0.iter().filter(|barrier| barrier.depth > condition.depth)
    }
}

impl Barrier {
    /// Returns true if some of its tables are there, and others are not.
    fn is_begun(&self, there: &[usize]) -> bool {
        let count = self.tables.iter().filter(|at| there.contains(at)).count();
        count > 0 && count < self.tables.len()
    }
}

fn collect(tree: &Tree, depth: usize, found: &mut Vec<Barrier>) {
    match tree {
        Tree::Table(_) => {}
        Tree::Inner { list, hides, .. } => {
            let depth = depth + *hides as usize;
            if *hides {
                let tables = tree.tables();
                found.push(Barrier { tables, depth });
            }
            list.iter().for_each(|tree| collect(tree, depth, found));
        }
        Tree::Left { left, right, .. } => {
            collect(left, depth, found);
            collect(right, depth, found);
        }
    }
}

/// Orders conditions that are tested on the same row: those that leak last, those of inner views before those around them.
pub(super) fn leaks_last(conditions: &mut [&Condition]) {
    conditions.sort_by_key(|c| (c.leaks, std::cmp::Reverse(if c.leaks { c.depth } else { 0 })));
}

impl Joiner<'_, '_> {
    /// Returns true if the evaluation of a condition may be noticed in another way than by the rows that pass.
    pub(super) fn leaks(&self, e: &Expr) -> bool {
        !self.planner.is_silent(e)
    }
}

impl Planner<'_> {
    /// Returns true if a condition does nothing that may be noticed but let rows pass.
    pub(super) fn is_silent(&self, e: &Expr) -> bool {
        match &e.node {
            Node::And(list) | Node::Or(list) => list.iter().all(|e| self.is_silent(e)),
            Node::Not(inner) | Node::IsTruth(inner, _) => self.is_silent(inner),
            Node::Xor(sides) => sides.iter().all(|e| self.is_silent(e)),
            Node::IsNull(inner) => self.is_operand(inner),
            Node::Compare(_, kind, sides) => self.compares_silently(*kind, &sides[0], &sides[1]),
            Node::Between { low, high, args, .. } => {
                let [value, from, to] = &**args;
                self.compares_silently(*low, value, from) && self.compares_silently(*high, value, to)
            }
            Node::In { value, list, .. } => list
                .iter()
                .all(|(kind, e)| self.compares_silently(*kind, value, e)),
            Node::Like { args, pattern, .. } => {
                let is_text = |e: &Expr| converts_nothing(CmpKind::Str(e.ty.collation), &e.ty, &e.ty);
                pattern.is_some() && args.iter().all(|e| self.is_operand(e) && is_text(e))
            }
            Node::Column(_) => e.ty.is_numeric(),
            _ => self.is_silent_constant(e),
        }
    }

    fn compares_silently(&self, kind: CmpKind, a: &Expr, b: &Expr) -> bool {
        if !self.is_operand(a) || !self.is_operand(b) {
            return false;
        }
        let are_numbers = a.ty.is_numeric() && b.ty.is_numeric();
        let as_numbers = matches!(
            kind,
            CmpKind::Int | CmpKind::Decimal | CmpKind::Double | CmpKind::Number
        );
        converts_nothing(kind, &a.ty, &b.ty)
            || are_numbers && as_numbers
            // A text is compared with a number, and converted for each row.
            || as_numbers && self.converts_silently(&a.ty, b)
            || as_numbers && self.converts_silently(&b.ty, a)
    }

    /// Returns true if a value is a column or the same for all rows.
    fn is_operand(&self, e: &Expr) -> bool {
        match &e.node {
            Node::Column(slot) => *slot < AGGREGATE || *slot >= OUTER,
            Node::Literal(_) | Node::Param(_) | Node::UserVar(_) => true,
            Node::Retype(inner) => self.is_operand(inner),
            _ => self.is_silent_constant(e),
        }
    }

    /// Returns true if a constant becomes a number without a warning where it is compared with a column that is one.
    fn converts_silently(&self, column: &SqlType, constant: &Expr) -> bool {
        let as_number = Expr {
            node: Node::Compare(
                CmpOp::Eq,
                CmpKind::Double,
                Box::new([
                    Expr {
                        node: Node::Literal(zero_value(column)),
                        ty: column.clone(),
                        name: None,
                    },
                    constant.clone(),
                ]),
            ),
            ty: constant.ty.clone(),
            name: None,
        };
        column.is_numeric() && self.is_silent_constant(&as_number)
    }

    /// Returns true if an expression that reads no row is evaluated with these parameters without a complaint. The plan is good for
    /// them alone then.
    fn is_silent_constant(&self, e: &Expr) -> bool {
        let Some(sample) = self.sample else {
            return false;
        };
        if !e.columns().is_empty() || has_subquery(e) || !is_steady(e) {
            return false;
        }
        let heard = Warnings::default();
        let mut env = Env::new(
            sample.env.session,
            sample.env.subqueries,
            &heard,
            sample.env.time_zone,
        );
        let around = &sample.env.conversion;
        env.conversion = Conversion {
            warnings: &heard,
            row_number: Cell::new(1),
            ..*around
        };
        env.params = sample.env.params;
        env.unbound = sample.env.unbound;
        env.collation_connection = sample.env.collation_connection;
        env.lc_time_names = sample.env.lc_time_names;
        let is_silent = e.eval_owned(&env.ctx()).is_ok() && heard.count() == 0;
        if e.has_parameter() {
            self.binder.ctx.depends_on_values.set(true);
        }
        is_silent
    }
}
