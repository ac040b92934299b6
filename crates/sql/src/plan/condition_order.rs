//! Cheap conditions before dear ones.
//!
//! Conditions that are tested on the same row are put in the order of cost / (1 - share of rows that pass), which is the cheapest
//! one for independent conditions (Hellerstein and Stonebraker, *Predicate migration*, SIGMOD 1993): a comparison of numbers
//! before a LIKE. Of equal ones the order stays.
//!
//! What is not seen from outside is moved alone: *quiet* conditions, made of columns, constants and comparisons that convert
//! nothing. Whatever may assign a variable, warn, fail or give another value each time (functions, arithmetic, conversions,
//! subqueries) stays where it is written, and nothing is moved across it: it is evaluated for the rows that pass what stands
//! before it, neither for more nor for fewer.

use super::AGGREGATE;
use super::access::conjuncts;
use crate::expr::{ArithOp, Expr, Node, OUTER, build};
use crate::types::{CmpKind, SqlType, TypeKind};

/// What a comparison of two integers costs is 1.
const TEXT_COST: f64 = 2.0;
const DECIMAL_COST: f64 = 3.0;
/// A pattern is looked for at each place of a text.
const PATTERN_COST: f64 = 13.0;

/// Puts conditions in the order in which they are best tested. `share` returns how many of the rows pass one.
pub(super) fn in_order<C>(
    mut conditions: Vec<C>,
    expr: impl Fn(&C) -> &Expr,
    share: impl Fn(&C) -> f64,
) -> Vec<C> {
    let rank = |c: &C| cost(expr(c)) / (1.0 - share(c)).max(1e-3);
    for run in conditions.chunk_by_mut(|a, b| is_quiet(expr(a)) && is_quiet(expr(b))) {
        run.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
    }
    conditions
}

/// A condition with its conjuncts in the order in which they are best tested.
pub(super) fn cheap_first(condition: Expr, share: impl Fn(&Expr) -> f64) -> Expr {
    match &condition.node {
        Node::And(_) => {
            let list: Vec<Expr> = conjuncts(&condition).into_iter().cloned().collect();
            build::and(in_order(list, |e| e, share))
        }
        _ => condition,
    }
}

/// Whether a condition does nothing but say whether it is true, so that it may be tested for more or fewer rows.
pub(super) fn is_quiet(e: &Expr) -> bool {
    match &e.node {
        Node::And(list) | Node::Or(list) => list.iter().all(is_quiet),
        Node::Not(inner) | Node::IsTruth(inner, _) => is_quiet(inner),
        Node::Xor(sides) => sides.iter().all(is_quiet),
        Node::IsNull(inner) => is_value(inner),
        Node::Compare(_, kind, sides) => {
            sides.iter().all(is_value) && converts_nothing(*kind, &sides[0].ty, &sides[1].ty)
        }
        Node::Between { low, high, args, .. } => {
            let [value, from, to] = &**args;
            args.iter().all(is_value)
                && converts_nothing(*low, &value.ty, &from.ty)
                && converts_nothing(*high, &value.ty, &to.ty)
        }
        Node::In { value, list, .. } => {
            let quiet =
                |(kind, e): &(CmpKind, Expr)| is_value(e) && converts_nothing(*kind, &value.ty, &e.ty);
            is_value(value) && list.iter().all(quiet)
        }
        Node::Like { args, pattern, .. } => {
            let is_known = pattern.is_some() || args[1].is_parameter();
            is_known && args.iter().all(|e| is_value(e) && is_text(&e.ty))
        }
        _ => false,
    }
}

/// A column of a table, of this query or one around it, or what is known when the statement begins.
fn is_value(e: &Expr) -> bool {
    match &e.node {
        Node::Column(slot) => *slot < AGGREGATE || *slot >= OUTER,
        Node::Literal(_) | Node::Param(_) => true,
        Node::Retype(inner) => is_value(inner),
        // A constant fails for every row or for none.
        Node::Arith(ArithOp::Add | ArithOp::Sub | ArithOp::Mul, _, sides) => sides
            .iter()
            .all(|e| is_value(e) && e.ty.is_integer() && e.columns().is_empty()),
        _ => false,
    }
}

fn is_text(ty: &SqlType) -> bool {
    ty.is_string() && !ty.is_member() && ty.kind != TypeKind::Json
}

/// Whether values of these types are compared as they are: equality is transitive then, and no comparison warns.
pub(super) fn converts_nothing(kind: CmpKind, a: &SqlType, b: &SqlType) -> bool {
    let both = |is: &dyn Fn(&SqlType) -> bool| is(a) && is(b);
    match kind {
        CmpKind::Int => both(&|ty| ty.is_integer()),
        CmpKind::Decimal => both(&|ty| ty.is_integer() || ty.kind == TypeKind::Decimal),
        CmpKind::Str(_) => both(&is_text),
        CmpKind::DateTime => both(&|ty| ty.has_date()),
        CmpKind::Time => both(&|ty| ty.kind == TypeKind::Time),
        CmpKind::Member => both(&|ty| ty.is_member()),
        CmpKind::Double | CmpKind::Number | CmpKind::Json => false,
    }
}

fn cost(e: &Expr) -> f64 {
    let compared = |kind: CmpKind| match kind {
        CmpKind::Str(_) => TEXT_COST,
        CmpKind::Decimal => DECIMAL_COST,
        _ => 1.0,
    };
    match &e.node {
        Node::And(list) | Node::Or(list) => list.iter().map(cost).sum(),
        Node::Not(inner) | Node::IsTruth(inner, _) => cost(inner),
        Node::Xor(sides) => sides.iter().map(cost).sum(),
        Node::Compare(_, kind, _) => compared(*kind),
        Node::Between { low, high, .. } => compared(*low) + compared(*high),
        // A long list is searched.
        Node::In { list, .. } => list.iter().take(8).map(|(kind, _)| compared(*kind)).sum(),
        Node::Like { .. } => PATTERN_COST,
        _ => 1.0,
    }
}
