//! What a path leaves of a condition: the conjuncts that it does not itself see to, and the share of rows that they let pass.

use super::access::{AccessPath, conjuncts};
use super::index_bounds::{EqualPart, IndexBounds, KeyValue, RangePart, has_exact_place};
use super::spread::Spread;
use crate::dictionary::{IndexDef, TableDef};
use crate::expr::{CmpOp, Env, EvalCtx, Expr, NoSession, NoSubqueries, Node, Volatility};
use crate::types::{CmpKind, TimeZone, Warnings};

/// Longer lists of IN are not compared with the bounds that come of them.
const LIST_MAX: usize = 1000;

/// Whether a condition has one value for all rows of a table whose columns it does not name, however often it is evaluated. Subqueries are
/// left to run when a row needs them.
pub(in crate::plan) fn is_steady(e: &Expr) -> bool {
    let mut steady = true;
    e.walk(&mut |e| {
        steady &= match &e.node {
            Node::Call(function, _) => function.volatility != Volatility::Volatile,
            Node::UserVar(_) | Node::AssignVar(..) | Node::SystemVar(..) => false,
            Node::Routine(_) | Node::Subquery { .. } => false,
            _ => true,
        }
    });
    steady
}

/// Returns true if a condition is one of constants that is known now not to be true.
pub(super) fn is_never(e: &Expr, sample: Option<&EvalCtx>) -> bool {
    // It complains when it is evaluated.
    let unheard = Warnings::default();
    let zone = sample.map_or(&TimeZone::UTC, |sample| sample.env.time_zone);
    let mut env = Env::new(&NoSession, &NoSubqueries, &unheard, zone);
    if let Some(sample) = sample {
        env.lc_time_names = sample.env.lc_time_names;
    }
    e.is_constant() && matches!(e.is_true(&env.ctx()), Ok(false))
}

/// The share of rows that pass a condition: what a histogram says, or a guess.
pub(super) fn selectivity(e: &Expr, spread: Option<&Spread>) -> f64 {
    if let Some(share) = spread.and_then(|spread| spread.share(e)) {
        return share;
    }
    match &e.node {
        Node::Compare(CmpOp::Eq | CmpOp::NullSafeEq, ..) => 0.1,
        Node::Compare(CmpOp::Ne, ..) => 0.9,
        Node::IsNull(_) => 0.1,
        Node::Between { negated: true, .. }
        | Node::In { negated: true, .. }
        | Node::Like { negated: true, .. } => 0.9,
        Node::Compare(..) | Node::Between { .. } | Node::In { .. } | Node::Like { .. } => 0.3,
        Node::And(list) => list.iter().map(|e| selectivity(e, spread)).product(),
        Node::Or(list) => 1.0 - list.iter().map(|e| 1.0 - selectivity(e, spread)).product::<f64>(),
        _ => 0.7,
    }
}

/// Whether the path alone sees to it that the condition holds.
pub(super) fn absorbed(e: &Expr, path: &AccessPath, def: &TableDef, base: usize) -> bool {
    let Some(index) = def.index_by_number(path.index) else {
        return false;
    };
    let bounds = path.single_bounds();
    // A part is bounded only if those before it are, whatever their values.
    let certain = bounds.certain_parts(def, index);
    let part = BoundParts {
        index,
        base,
        equal: &bounds.equal[..certain],
        range: bounds
            .range
            .as_ref()
            .filter(|_| certain == bounds.equal.len())
            .map(|range| (certain, range)),
        exactly: true,
    };
    part.bounded_by(e)
}

/// Whether the rows that are expected of the path are those of which the condition is true, so that its share of rows counts no
/// more: some bound of the path comes of it. It may still have to be tested.
pub(super) fn counted(e: &Expr, path: &AccessPath, def: &TableDef, base: usize) -> bool {
    let bounded = |path: &AccessPath, bounds: &IndexBounds, e: &Expr| {
        let Some(index) = def.index_by_number(path.index) else {
            return false;
        };
        let part = BoundParts {
            index,
            base,
            equal: &bounds.equal,
            range: bounds.range.as_ref().map(|range| (bounds.equal.len(), range)),
            exactly: false,
        };
        part.bounded_by(e)
    };
    if path.bounds.is_empty() {
        return false;
    }
    // The branches of an OR bound the path together with the other conjuncts.
    let all = || {
        path.parts()
            .iter()
            .flat_map(|part| part.bounds.iter().map(move |bounds| (part, bounds)))
    };
    let by_branch = |branches: &[Expr]| {
        let bounds_some = |branch: &Expr| {
            let parts = conjuncts(branch);
            all().any(|(path, bounds)| parts.iter().any(|e| bounded(path, bounds, e)))
        };
        branches.len() == all().count() && branches.iter().all(bounds_some)
    };
    all().all(|(path, bounds)| bounded(path, bounds, e))
        || matches!(&e.node, Node::Or(branches) if by_branch(branches))
}

/// The parts of an index that have bounds.
struct BoundParts<'a> {
    index: &'a IndexDef,
    /// The slot of the table's first column.
    base: usize,
    equal: &'a [EqualPart],
    /// Which part has a range, and that.
    range: Option<(usize, &'a RangePart)>,
    /// Only conditions count that are true of everything within the bounds.
    exactly: bool,
}

impl BoundParts<'_> {
    fn is_part(&self, e: &Expr, at: usize) -> bool {
        self.index.parts.get(at).is_some_and(|part| {
            (part.prefix.is_none() || !self.exactly)
                && matches!(e.node, Node::Column(slot) if slot == self.base + part.column)
        })
    }

    fn is_exact(&self, kind: CmpKind, column: &Expr, value: &Expr) -> bool {
        !self.exactly || has_exact_place(kind, &column.ty, &value.ty)
    }

    /// The range, if it is one of this column.
    fn range_of(&self, column: &Expr) -> Option<&RangePart> {
        let (at, range) = self.range?;
        self.is_part(column, at).then_some(range)
    }

    /// Whether some part of an equality satisfies a condition on the column and the values that bound it.
    fn equal_part(&self, column: &Expr, is: impl Fn(&EqualPart) -> bool) -> bool {
        let mut parts = self.equal.iter().enumerate();
        parts.any(|(at, part)| self.is_part(column, at) && is(part))
    }

    /// Whether the condition bounds the index so.
    fn bounded_by(&self, e: &Expr) -> bool {
        match &e.node {
            Node::Compare(op, kind, sides) => {
                let [left, right] = &**sides;
                self.compared(*op, *kind, left, right) || self.compared(op.flipped(), *kind, right, left)
            }
            Node::Between {
                negated: false,
                low,
                high,
                args,
            } => {
                let [column, from, to] = &**args;
                let Some(range) = self.range_of(column) else {
                    return false;
                };
                let ends = [
                    is_end(range.lower.as_ref(), from, true) && self.is_exact(*low, column, from),
                    is_end(range.upper.as_ref(), to, true) && self.is_exact(*high, column, to),
                ];
                match self.exactly {
                    true => ends == [true, true],
                    false => ends.contains(&true),
                }
            }
            Node::In {
                negated: false,
                value,
                list,
                ..
            } => self.equal_part(value, |part| {
                part.values.len() == list.len()
                    && list.len() <= LIST_MAX
                    && list
                        .iter()
                        .zip(&part.values)
                        .all(|((kind, e), v)| self.is_exact(*kind, value, e) && v.expr.same_as(e))
            }),
            Node::Like {
                negated: false, args, ..
            } if !self.exactly => {
                let like = self.range_of(&args[0]).and_then(|range| range.like.as_ref());
                like.is_some_and(|like| like.pattern.expr.same_as(&args[1]))
            }
            Node::Subquery { id, operands, .. } if !self.exactly => operands.iter().any(|(_, column)| {
                self.equal_part(column, |part| {
                    part.query.as_ref().is_some_and(|query| query.id == *id)
                })
            }),
            Node::IsNull(column) if !self.exactly => {
                self.equal_part(column, |part| part.null && part.values.is_empty())
            }
            _ => false,
        }
    }

    fn compared(&self, op: CmpOp, kind: CmpKind, column: &Expr, value: &Expr) -> bool {
        if !self.is_exact(kind, column, value) {
            return false;
        }
        let with_null = op == CmpOp::NullSafeEq && !self.exactly;
        let is_equal = op == CmpOp::Eq || with_null;
        let equals = |part: &EqualPart| {
            (with_null || !part.null) && matches!(part.values.as_slice(), [v] if v.expr.same_as(value))
        };
        if is_equal && self.equal_part(column, equals) {
            return true;
        }
        let Some(range) = self.range_of(column) else {
            return false;
        };
        let inclusive = matches!(op, CmpOp::Ge | CmpOp::Le);
        match op {
            CmpOp::Gt | CmpOp::Ge => is_end(range.lower.as_ref(), value, inclusive),
            CmpOp::Lt | CmpOp::Le => is_end(range.upper.as_ref(), value, inclusive),
            _ => false,
        }
    }
}

/// Whether a bound is this value, itself in or not.
fn is_end(bound: Option<&(KeyValue, bool)>, value: &Expr, inclusive: bool) -> bool {
    bound.is_some_and(|(v, inc)| *inc == inclusive && v.expr.same_as(value))
}
