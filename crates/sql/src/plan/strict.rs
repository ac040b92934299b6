//! What an expression is when some columns are NULL, whatever all others are: decides which conditions refuse the rows that an outer join adds.
//!
//! ```text
//!   a + b, UPPER(a), a < b, NOT a   NULL where a is          COALESCE(a, b)    NULL where both are
//!   a < 5 OR a > 7, a IN (…)        not true where a is      a IS NULL, a <=> 1, x OR a > 7   may be true where a is
//! ```
//!
//! What is not known to be so is taken not to be: an outer join stays one then. PostgreSQL has this as `contain_strict_functions` and
//! `find_nonnullable_rels`.

use crate::expr::{CmpOp, Expr, Node, NullWhen, Quantifier, SubqueryKind};
use crate::types::Value;

/// Which columns are NULL, by their slots.
pub(super) type Nulls<'n> = &'n dyn Fn(usize) -> bool;

/// Returns true if an expression is NULL.
pub(super) fn is_null(e: &Expr, nulls: Nulls) -> bool {
    is_null_after(e, nulls, false)
}

/// Returns true if a condition is false or NULL.
pub(super) fn is_not_true(e: &Expr, nulls: Nulls) -> bool {
    match &e.node {
        Node::And(list) => list.iter().any(|e| is_not_true(e, nulls)),
        Node::Or(list) => list.iter().all(|e| is_not_true(e, nulls)),
        Node::Not(inner) => is_not_false(inner, nulls),
        Node::IsTruth(inner, true) => is_not_true(inner, nulls),
        Node::IsTruth(inner, false) => is_not_false(inner, nulls),
        Node::Compare(CmpOp::NullSafeEq, _, sides) => {
            let [left, right] = &**sides;
            is_null(left, nulls) && is_value(right) || is_null(right, nulls) && is_value(left)
        }
        Node::Subquery {
            kind: SubqueryKind::Quantified(_, Quantifier::Any) | SubqueryKind::Row(_),
            operands,
            ..
        } => matches!(operands.as_slice(), [(_, only)] if is_null(only, nulls)),
        _ => is_null(e, nulls),
    }
}

/// Returns true if a condition is true or NULL.
fn is_not_false(e: &Expr, nulls: Nulls) -> bool {
    match &e.node {
        Node::And(list) => list.iter().all(|e| is_not_false(e, nulls)),
        Node::Or(list) => list.iter().any(|e| is_not_false(e, nulls)),
        Node::Not(inner) => is_not_true(inner, nulls),
        Node::IsNull(inner) => is_null(inner, nulls),
        _ => is_null(e, nulls),
    }
}

/// A constant that is not NULL.
fn is_value(e: &Expr) -> bool {
    matches!(&e.node, Node::Literal(value) if *value != Value::Null)
}

/// Returns true if an expression is NULL; `before`: the step of a chain before it is.
fn is_null_after(e: &Expr, nulls: Nulls, before: bool) -> bool {
    let is_null = |e: &Expr| is_null_after(e, nulls, before);
    match &e.node {
        Node::Literal(value) => *value == Value::Null,
        Node::Column(slot) => nulls(*slot),
        Node::Previous => before,
        Node::Chain(steps) => steps
            .iter()
            .fold(before, |before, step| is_null_after(step, nulls, before)),
        Node::Compare(CmpOp::NullSafeEq, ..) => false,
        Node::Compare(_, _, sides) | Node::Arith(_, _, sides) | Node::Bit(_, sides) | Node::Xor(sides) => {
            sides.iter().any(is_null)
        }
        Node::Neg(inner)
        | Node::BitNot(inner)
        | Node::Not(inner)
        | Node::Cast(inner)
        | Node::Retype(inner) => is_null(inner),
        Node::Digits { value, .. } | Node::Extract(_, value) => is_null(value),
        Node::Like { args, .. } | Node::Regexp { args, .. } | Node::DateAdd { args, .. } => {
            args.iter().any(is_null)
        }
        // With bounds it may be false: 1 BETWEEN 5 AND NULL.
        Node::Between { args, .. } => is_null(&args[0]),
        Node::In { value, .. } => is_null(value),
        Node::And(list) | Node::Or(list) => list.iter().all(is_null),
        Node::Case { whens, otherwise, .. } => {
            whens.iter().all(|(_, _, then)| is_null(then)) && otherwise.as_deref().is_none_or(is_null)
        }
        Node::Call(function, args) => match function.null_when {
            NullWhen::Unknown => false,
            NullWhen::AnyArgument => args.iter().any(is_null),
            NullWhen::AllArguments => args.iter().all(is_null),
            NullWhen::FirstArgument => args.first().is_some_and(is_null),
            NullWhen::BothResults => args.iter().skip(1).all(is_null),
        },
        _ => false,
    }
}
