//! What a path leaves of a condition: the conjuncts that it does not itself see to, and the share of rows that they let pass.

use super::access::AccessPath;
use super::index_bounds::{KeyValue, has_exact_place};
use super::spread::Spread;
use crate::dictionary::TableDef;
use crate::expr::{CmpOp, Expr, Node};

/// The share of rows that pass a condition: what a histogram says, or a guess.
pub(super) fn selectivity(e: &Expr, spread: Option<&Spread>) -> f64 {
    if let Some(share) = spread.and_then(|spread| spread.share(e)) {
        return share;
    }
    match &e.node {
        Node::Compare(CmpOp::Eq | CmpOp::NullSafeEq, ..) => 0.1,
        Node::Compare(CmpOp::Ne, ..) => 0.9,
        Node::IsNull(_) => 0.1,
        Node::Compare(..) | Node::Between { .. } | Node::In { .. } | Node::Like { .. } => 0.3,
        _ => 0.7,
    }
}

/// Whether the path alone sees to it that the condition holds.
pub(super) fn absorbed(e: &Expr, path: &AccessPath, def: &TableDef, base: usize) -> bool {
    let Some(index) = def.index_by_number(path.index) else {
        return false;
    };
    let is_part = |e: &Expr, at: usize| {
        index.parts.get(at).is_some_and(|part| {
            part.prefix.is_none() && matches!(e.node, Node::Column(slot) if slot == base + part.column)
        })
    };
    let exact = |kind, column: &Expr, value: &Expr| has_exact_place(kind, &column.ty, &value.ty);
    let same = |a: &Expr, b: &Expr| format!("{:?}", a.node) == format!("{:?}", b.node);
    let bounds = path.single_bounds();
    // A part is bounded only if those before it are, whatever their values.
    let certain = bounds.certain_parts(def, index);
    let next = bounds.equal.len();
    let range = bounds.range.as_ref().filter(|_| certain == next);
    match &e.node {
        Node::Compare(op, kind, sides) => {
            for (column, value, op) in [(&sides[0], &sides[1], *op), (&sides[1], &sides[0], op.flipped())] {
                if !exact(*kind, column, value) {
                    continue;
                }
                let equal = bounds.equal.iter().take(certain).enumerate().any(|(at, part)| {
                    op == CmpOp::Eq
                        && !part.null
                        && part.values.len() == 1
                        && is_part(column, at)
                        && same(&part.values[0].expr, value)
                });
                if equal {
                    return true;
                }
                let Some(range) = range.filter(|_| is_part(column, next)) else {
                    continue;
                };
                let bound = match op {
                    CmpOp::Gt | CmpOp::Ge => &range.lower,
                    CmpOp::Lt | CmpOp::Le => &range.upper,
                    _ => continue,
                };
                let inclusive = matches!(op, CmpOp::Ge | CmpOp::Le);
                if bound
                    .as_ref()
                    .is_some_and(|(v, inc)| *inc == inclusive && same(&v.expr, value))
                {
                    return true;
                }
            }
            false
        }
        Node::Between {
            negated: false,
            low,
            high,
            args,
        } => {
            let [column, from, to] = &**args;
            let Some(range) = range.filter(|_| is_part(column, next)) else {
                return false;
            };
            let is = |bound: &Option<(KeyValue, bool)>, value: &Expr| {
                bound
                    .as_ref()
                    .is_some_and(|(v, inclusive)| *inclusive && same(&v.expr, value))
            };
            exact(*low, column, from)
                && exact(*high, column, to)
                && is(&range.lower, from)
                && is(&range.upper, to)
        }
        Node::In {
            negated: false,
            value,
            list,
            ..
        } => bounds.equal.iter().take(certain).enumerate().any(|(at, part)| {
            is_part(value, at)
                && part.values.len() == list.len()
                && list.len() <= 1000
                && list
                    .iter()
                    .zip(&part.values)
                    .all(|((kind, e), v)| exact(*kind, value, e) && same(&v.expr, e))
        }),
        _ => false,
    }
}
