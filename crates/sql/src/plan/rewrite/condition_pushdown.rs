//! Conditions on the columns of a derived table are tested where its rows are found, before they are grouped, told apart, numbered or
//! put together:
//!
//! ```text
//!   SELECT * FROM (SELECT a, COUNT(*) AS n FROM t GROUP BY a) d WHERE d.a = 7 AND d.n > 1
//!   SELECT * FROM (SELECT a, COUNT(*) AS n FROM t WHERE a = 7 GROUP BY a) d WHERE d.n > 1
//! ```
//!
//! That leaves whole groups, whole sets of equal rows and whole partitions out, so it is done for conditions that say the same of equal values,
//! on columns that are keys of the groups, of all partitions, or of rows that are told apart as a whole; for a UNION in each of its queries. A
//! common table that is named several times tests that one of the conditions of those that name it holds. A
//! LIMIT is in the way, as is an outer join that adds rows of NULLs. Into a view with rows that the account may not see goes what says nothing of
//! them (see [`barrier`](crate::plan::barrier)). MySQL does the same (`derived_condition_pushdown`).

use super::all_of;
use super::columns::within;
use crate::expr::{Expr, Node, OUTER, build};
use crate::parse::ast::{Denied, SetOp};
use crate::plan::access::conjuncts;
use crate::plan::equalities::constants_that_follow;
use crate::plan::from::{FromInput, FromTable};
use crate::plan::join::inner_conditions;
use crate::plan::logical::{Block, Query};
use crate::plan::{AGGREGATE, Planner, QueryBody};
use crate::types::sort::KeyForm;
use crate::types::{CmpKind, SqlType};

/// A common table that is named more often takes no conditions.
const USES_MAX: usize = 8;

impl<'a> Planner<'a> {
    pub(super) fn push_conditions(&mut self, root: &mut Query<'a>) {
        let times = self.times_named(root);
        if times.iter().all(|times| *times == 0) {
            return;
        }
        // From the outside in, so that what has come in goes on.
        self.push_within(root, &times);
        for id in (0..self.queries.len()).rev() {
            if (2..=USES_MAX).contains(&times[id]) {
                self.push_into_shared(id, root, times[id]);
            }
            self.with_query(id, |planner, query| planner.push_within(query, &times));
        }
    }

    /// Has a common table that is named several times leave out what all that name it leave out; they go on testing their conditions.
    fn push_into_shared(&mut self, id: usize, root: &Query<'a>, times: usize) {
        let mut uses = Vec::new();
        for query in self.queries.iter().skip(id + 1).chain([root]) {
            query.walk_blocks(&mut |_| {}, &mut |block, _| self.uses_of(id, block, &mut uses));
        }
        let mut wanted: Vec<Expr> = Vec::new();
        for used in &uses {
            if !wanted.iter().any(|other| other.same_as(used)) {
                wanted.push(used.clone());
            }
        }
        if uses.len() < times {
            return;
        }
        let condition = match wanted.len() {
            1 => wanted.remove(0),
            _ => build::or(wanted),
        };
        self.with_query(id, |_, query| {
            if may_take(query, &condition, 0) {
                take(query, &condition, 0);
            }
        });
    }

    /// Adds, for each place in which a block names a query and has conditions on its columns alone, what these say of the columns.
    fn uses_of(&self, id: usize, block: &Block<'a>, uses: &mut Vec<Expr>) {
        let Some(tree) = &block.tree else {
            return;
        };
        let named = |table: &FromTable| matches!(table.input, FromInput::Derived { query, lateral: false } if query == id);
        for (at, table) in block.tables.iter().enumerate().filter(|(_, table)| named(table)) {
            let end = table.base + self.queries[id].columns.len();
            let is_own = |e: &&Expr| {
                let slots = e.columns();
                !slots.is_empty()
                    && slots.iter().all(|slot| (table.base..end).contains(slot))
                    && keeps_equals(e)
            };
            let all = block.filter.iter().flat_map(conjuncts).filter(is_own);
            let own: Option<Vec<Expr>> = all.map(|e| within(e, table.base)).collect();
            let may_leave_out = !tree.extends(at)
                && !table.apart
                && table.recursive.is_none()
                && !block.denies(Denied::ConditionPushdown, table);
            if may_leave_out {
                uses.extend(own.and_then(all_of));
            }
        }
    }

    fn push_within(&mut self, query: &mut Query<'a>, times: &[usize]) {
        match &mut query.body {
            QueryBody::Select(block) => self.push_out_of(block, times),
            QueryBody::Set { first, rest } => {
                self.push_within(first, times);
                for branch in rest {
                    self.push_within(&mut branch.plan, times);
                }
            }
            QueryBody::Recursive(recursion) => {
                self.push_within(&mut recursion.seed, times);
                for step in &mut recursion.steps {
                    self.push_within(step, times);
                }
            }
            QueryBody::Values(_) => {}
        }
    }

    fn push_out_of(&mut self, block: &mut Block<'a>, times: &[usize]) {
        let Some(tree) = &block.tree else {
            return;
        };
        if !block
            .tables
            .iter()
            .any(|table| matches!(table.input, FromInput::Derived { .. }))
        {
            return;
        }
        let written: Vec<Expr> = block.filter.iter().flat_map(conjuncts).cloned().collect();
        // These hold for all rows of the join, too, but stay where they are.
        let joins = inner_conditions(tree).into_iter().flat_map(conjuncts);
        let joins: Vec<Expr> = joins.cloned().collect();
        let follow = constants_that_follow(written.iter().chain(&joins));
        for condition in joins.iter().chain(&follow) {
            self.push_into(block, condition, times);
        }
        let mut left = Vec::new();
        let mut pushed = false;
        for conjunct in written {
            match self.push_into(block, &conjunct, times) {
                true => pushed = true,
                false => left.push(conjunct),
            }
        }
        if pushed {
            block.filter = all_of(left);
        }
    }

    /// Has a derived table test a condition that holds for all rows of a block, if it is one on its columns; returns whether it does.
    fn push_into(&mut self, block: &Block<'a>, condition: &Expr, times: &[usize]) -> bool {
        let slots = condition.columns();
        let (Some(first), Some(tree)) = (slots.first().filter(|slot| **slot < AGGREGATE), &block.tree) else {
            return false;
        };
        let at = block.tables.partition_point(|table| table.base <= *first) - 1;
        let table = &block.tables[at];
        let FromInput::Derived {
            query,
            lateral: false,
        } = table.input
        else {
            return false;
        };
        let columns = table.base..table.base + self.queries[query].columns.len();
        times[query] == 1
            && table.recursive.is_none()
            && !tree.extends(at)
            && slots.iter().all(|slot| columns.contains(slot))
            && !block.denies(Denied::ConditionPushdown, table)
            && keeps_equals(condition)
            && (!table.apart || self.is_silent(condition))
            && self.with_query(query, |_, inner| {
                let may = may_take(inner, condition, table.base);
                if may {
                    take(inner, condition, table.base);
                }
                may
            })
    }
}

/// Whether a condition says the same of equal values, and nothing else: its columns are compared by the rules of their own types, with
/// no conversion.
pub(super) fn keeps_equals(e: &Expr) -> bool {
    let side =
        |e: &Expr| matches!(e.node, Node::Column(_)) || e.is_constant() || matches!(e.node, Node::Param(_));
    let same = |kind: CmpKind, left: &Expr, right: &Expr| {
        let own = |e: &Expr| match (kind, &e.node) {
            (CmpKind::Str(collation), Node::Column(_)) => e.ty.collation == collation && !e.ty.is_member(),
            _ => true,
        };
        // A text that is compared with a date is read as one, wherever that is done.
        let is_date = kind == CmpKind::DateTime && (left.ty.has_date() || right.ty.has_date());
        let typed = is_date || KeyForm::of(kind, &left.ty, &right.ty).is_some() || is_plain_null(left, right);
        kind != CmpKind::Json && typed && side(left) && side(right) && own(left) && own(right)
    };
    match &e.node {
        Node::And(list) | Node::Or(list) => list.iter().all(keeps_equals),
        Node::Not(e) => keeps_equals(e),
        Node::IsNull(e) => matches!(e.node, Node::Column(_)),
        Node::Compare(_, kind, sides) => same(*kind, &sides[0], &sides[1]),
        Node::Between { low, high, args, .. } => {
            let [value, from, to] = &**args;
            same(*low, value, from) && same(*high, value, to)
        }
        Node::In { value, list, .. } => list.iter().all(|(kind, e)| same(*kind, value, e)),
        _ => false,
    }
}

fn is_plain_null(left: &Expr, right: &Expr) -> bool {
    let is_null = |ty: &SqlType| ty.kind == crate::types::TypeKind::Null;
    is_null(&left.ty) || is_null(&right.ty)
}

/// Whether a query can test a condition on its columns, which are the slots from `base` on around it, before anything is made of its rows.
fn may_take(query: &Query, condition: &Expr, base: usize) -> bool {
    let is_plain = query.limit.is_none()
        && query.offset.is_none()
        && !query.calc_found_rows
        && query.converted.is_empty();
    // A variable is assigned for each row, whether or not it is asked for.
    if !is_plain || query.assigns() {
        return false;
    }
    match &query.body {
        QueryBody::Select(block) => {
            let columns = condition.columns();
            let mut values = columns.iter().map(|slot| &block.output[slot - base]);
            let is_found = block.tree.is_some()
                && block.rollup.is_none()
                && block.semi_joins.is_empty()
                && (!block.is_grouped() || !block.keys.is_empty())
                && block.tables.iter().all(|table| table.recursive.is_none());
            is_found
                && values.all(|e| {
                    matches!(e.node, Node::Column(slot) if !(AGGREGATE..OUTER).contains(&slot))
                        && (!block.is_grouped() || block.keys.iter().any(|key| key.same_as(e)))
                        && (block.windows.iter()).all(|pass| pass.partition.iter().any(|key| key.same_as(e)))
                })
        }
        QueryBody::Set { first, rest } => {
            let is_union = rest.iter().all(|branch| branch.op == SetOp::Union);
            is_union
                && may_take(first, condition, base)
                && rest.iter().all(|branch| may_take(&branch.plan, condition, base))
        }
        QueryBody::Values(_) | QueryBody::Recursive(_) => false,
    }
}

/// Has it do so.
fn take(query: &mut Query, condition: &Expr, base: usize) {
    match &mut query.body {
        QueryBody::Select(block) => {
            let mut condition = condition.clone();
            put_values(&mut condition, &block.output, base);
            block.filter = Some(match block.filter.take() {
                Some(own) => build::and(vec![own, condition]),
                None => condition,
            });
        }
        QueryBody::Set { first, rest } => {
            take(first, condition, base);
            for branch in rest {
                take(&mut branch.plan, condition, base);
            }
        }
        QueryBody::Values(_) | QueryBody::Recursive(_) => {}
    }
}

fn put_values(e: &mut Expr, values: &[Expr], base: usize) {
    if let Node::Column(slot) = e.node {
        *e = values[slot - base].clone();
        return;
    }
    for child in e.children_mut() {
        put_values(child, values, base);
    }
}
