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
//! LIMIT is in the way, as is an outer join that adds rows of NULLs. Into a view with rows that the account may not see goes what says nothing of
//! them (see [`barrier`](crate::plan::barrier)). MySQL does the same (`derived_condition_pushdown`).

use crate::expr::{Expr, Node, OUTER, build};
use crate::parse::ast::{Denied, SetOp};
use crate::plan::access::conjuncts;
use crate::plan::from::FromInput;
use crate::plan::logical::{Block, Query};
use crate::plan::{AGGREGATE, Planner, QueryBody};
use crate::types::sort::KeyForm;
use crate::types::{CmpKind, SqlType};

impl<'a> Planner<'a> {
    pub(super) fn push_conditions(&mut self, root: &mut Query<'a>) {
        let times = self.times_named(root);
        if times.iter().all(|times| *times == 0) {
            return;
        }
        // From the outside in, so that what has come in goes on.
        self.push_within(root, &times);
        for id in (0..self.queries.len()).rev() {
            self.with_query(id, |planner, query| planner.push_within(query, &times));
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
        let (Some(filter), Some(tree)) = (&block.filter, &block.tree) else {
            return;
        };
        let mut left = Vec::new();
        let mut pushed = false;
        for conjunct in conjuncts(filter) {
            let slots = conjunct.columns();
            let at = slots
                .first()
                .filter(|slot| **slot < AGGREGATE)
                .map(|slot| block.tables.partition_point(|table| table.base <= *slot) - 1);
            let taken = at.is_some_and(|at| {
                let table = &block.tables[at];
                match table.input {
                    FromInput::Derived {
                        query,
                        lateral: false,
                    } if times[query] == 1 && table.recursive.is_none() && !tree.extends(at) => {
                        let columns = table.base..table.base + self.queries[query].columns.len();
                        slots.iter().all(|slot| columns.contains(slot))
                            && !block.denies(Denied::ConditionPushdown, table)
                            && keeps_equals(conjunct)
                            && (!table.apart || self.is_silent(conjunct))
                            && self.with_query(query, |_, inner| {
                                let may = may_take(inner, conjunct, table.base);
                                if may {
                                    take(inner, conjunct, table.base);
                                }
                                may
                            })
                    }
                    _ => false,
                }
            });
            pushed |= taken;
            if !taken {
                left.push(conjunct.clone());
            }
        }
        if pushed {
            block.filter = match left.len() {
                0 => None,
                1 => left.pop(),
                _ => Some(build::and(left)),
            };
        }
    }
}

/// Whether a condition says the same of equal values, and nothing else: its columns are compared by the rules of their own types, with
/// no conversion.
fn keeps_equals(e: &Expr) -> bool {
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
