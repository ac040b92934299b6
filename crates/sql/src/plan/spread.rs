//! The share of a table's rows that a condition on one of its columns lets pass, by the column's histogram.
//!
//! What the column is compared with has to be known when the statement is planned: a literal, a parameter of this execution,
//! an expression of such. Where there is no histogram, or nothing to ask it, the planner guesses (`filter.rs`).

use super::index_bounds::bound_of;
use super::walk::has_subquery;
use crate::dictionary::TableDef;
use crate::expr::{CmpOp, EvalCtx, Expr, Node};
use crate::histogram::Histogram;
use crate::types::key_bound::KeyBound;
use crate::types::storage::Scratch;
use crate::types::{CmpKind, SqlType, TimeZone, Value};
use std::cell::Cell;

/// Values of a list of IN that are looked up one by one; longer lists are guessed.
const LIST_MAX: usize = 200;

/// A table with histograms, about to be read.
pub(super) struct Spread<'a> {
    def: &'a TableDef,
    base: usize,
    sample: &'a EvalCtx<'a>,
    on_literals: &'a Cell<bool>,
}

/// A column with a histogram.
struct Known<'a> {
    histogram: &'a Histogram,
    ty: &'a SqlType,
}

/// Where a value stands among those of the column.
enum Place {
    /// It is one that the column can have.
    At(Value),
    /// It lies between two of those, behind this one.
    Behind(Option<Value>),
    /// Nothing compares with it.
    Nowhere,
}

impl<'a> Spread<'a> {
    /// Of a table whose first column has the slot `base`, for the values of this execution; `None` if there is nothing to ask.
    /// `on_literals` becomes true if a histogram was asked about a value: with another one another plan may be better.
    pub fn new(
        def: &'a TableDef,
        base: usize,
        sample: Option<&'a EvalCtx<'a>>,
        on_literals: &'a Cell<bool>,
    ) -> Option<Spread<'a>> {
        let sample = sample.filter(|_| !def.histograms.is_empty())?;
        Some(Spread {
            def,
            base,
            sample,
            on_literals,
        })
    }

    /// The share of rows for which the condition is true; `None` if no histogram tells.
    pub fn share(&self, e: &Expr) -> Option<f64> {
        let share = match &e.node {
            Node::Compare(op, kind, sides) => self
                .compared(*op, *kind, &sides[0], &sides[1])
                .or_else(|| self.compared(op.flipped(), *kind, &sides[1], &sides[0]))?,
            Node::IsNull(column) => self.column(column)?.histogram.nulls(),
            Node::Not(inner) => match &inner.node {
                Node::IsNull(column) => 1.0 - self.column(column)?.histogram.nulls(),
                _ => return None,
            },
            Node::Between {
                negated,
                low,
                high,
                args,
            } => {
                let [column, from, to] = &**args;
                let below = self.compared(CmpOp::Lt, *low, column, from)?;
                let above = self.compared(CmpOp::Gt, *high, column, to)?;
                let outside = below + above;
                match negated {
                    true => outside,
                    false => self.column(column)?.filled() - outside,
                }
            }
            Node::In {
                value, negated, list, ..
            } if list.len() <= LIST_MAX => {
                let found: Option<f64> = list
                    .iter()
                    .map(|(kind, one)| self.compared(CmpOp::Eq, *kind, value, one))
                    .sum();
                match negated {
                    true => self.column(value)?.filled() - found?,
                    false => found?,
                }
            }
            Node::Or(branches) => {
                let none: Option<f64> = branches
                    .iter()
                    .map(|branch| self.share(branch).map(|share| 1.0 - share))
                    .product();
                1.0 - none?
            }
            Node::And(list) => list.iter().map(|one| self.share(one)).product::<Option<f64>>()?,
            _ => return None,
        };
        Some(share.clamp(0.0, 1.0))
    }

    fn column(&self, e: &Expr) -> Option<Known<'_>> {
        let Node::Column(slot) = e.node else { return None };
        let column = self.def.columns.get(slot.checked_sub(self.base)?)?;
        Some(Known {
            histogram: &self.def.histogram(&column.name)?.histogram,
            ty: &column.ty,
        })
    }

    /// The share of rows whose column compares so with a value.
    fn compared(&self, op: CmpOp, kind: CmpKind, column: &Expr, value: &Expr) -> Option<f64> {
        let known = self.column(column)?;
        let Known { histogram, ty } = known;
        if !value.columns().is_empty() || has_subquery(value) {
            return None;
        }
        let below = |value: &Value, inclusive| histogram.below(value, inclusive, ty).ok();
        let equal = |value: &Value| histogram.equal(value, ty).ok();
        let filled = known.filled();
        self.on_literals.set(true);
        match (op, self.place(value, kind, ty)?) {
            (CmpOp::NullSafeEq, Place::Nowhere) => Some(histogram.nulls()),
            (_, Place::Nowhere) => Some(0.0),
            (CmpOp::Eq | CmpOp::NullSafeEq, Place::At(value)) => equal(&value),
            (CmpOp::Ne, Place::At(value)) => Some(filled - equal(&value)?),
            // Members are in order of their numbers, and compare as texts.
            (_, Place::At(_)) if ty.is_member() => None,
            (CmpOp::Lt, Place::At(value)) => below(&value, false),
            (CmpOp::Le, Place::At(value)) => below(&value, true),
            (CmpOp::Gt, Place::At(value)) => Some(filled - below(&value, true)?),
            (CmpOp::Ge, Place::At(value)) => Some(filled - below(&value, false)?),
            (CmpOp::Eq | CmpOp::NullSafeEq, Place::Behind(_)) => Some(0.0),
            (CmpOp::Ne, Place::Behind(_)) => Some(filled),
            (CmpOp::Lt | CmpOp::Le, Place::Behind(None)) => Some(0.0),
            (CmpOp::Gt | CmpOp::Ge, Place::Behind(None)) => Some(filled),
            (CmpOp::Lt | CmpOp::Le, Place::Behind(Some(value))) => below(&value, true),
            (CmpOp::Gt | CmpOp::Ge, Place::Behind(Some(value))) => Some(filled - below(&value, true)?),
        }
    }

    fn place(&self, value: &Expr, kind: CmpKind, ty: &SqlType) -> Option<Place> {
        let value = value.eval(self.sample).ok()?;
        if value.is_null() {
            return Some(Place::Nowhere);
        }
        Some(match bound_of(&value, kind, ty, self.sample) {
            KeyBound::Exact(value) => Place::At(self.as_sampled(&value, ty)),
            KeyBound::Between(before) => Place::Behind(before.map(|value| self.as_sampled(&value, ty))),
            KeyBound::Unusable => return None,
        })
    }

    /// A value of the column as the histogram has it, which knows TIMESTAMPs in UTC.
    fn as_sampled(&self, value: &Value, ty: &SqlType) -> Value {
        let mut room: Scratch = [0; 32];
        let datum = ty.store(value, self.sample.env.time_zone, &mut room);
        ty.load(datum, &TimeZone::UTC).into_owned()
    }
}

impl Known<'_> {
    /// The share of rows that are not NULL.
    fn filled(&self) -> f64 {
        1.0 - self.histogram.nulls()
    }
}
