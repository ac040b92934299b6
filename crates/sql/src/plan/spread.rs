//! The share of a table's rows that a condition on one of its columns lets pass, by the column's histogram, or else by its
//! statistics.
//!
//! What the column is compared with has to be known when the statement is planned: a literal, a parameter of this execution,
//! an expression of such. Of a value that is not known, statistics say how frequent any value is. Where neither tells, the planner
//! guesses (`filter.rs`).
//!
//! A plan that is kept asks again for the values of each execution ([`super::guards`]).

use super::index_bounds::bound_of;
use super::sampled::SampledRows;
use crate::dictionary::TableDef;
use crate::expr::{CmpOp, EvalCtx, Expr, Node, OUTER, Volatility};
use crate::histogram::Histogram;
use crate::statistics::{ColumnStatistics, TableStatistics};
use crate::types::key_bound::KeyBound;
use crate::types::storage::Scratch;
use crate::types::{CmpKind, SqlType, TimeZone, Val, Value};

/// Values of a list of IN that are looked up one by one; those of longer lists are taken to be as frequent as any.
const LIST_MAX: usize = 200;

/// A table of whose values something is known, about to be read.
pub(super) struct Spread<'a> {
    def: &'a TableDef,
    statistics: Option<&'a TableStatistics>,
    base: usize,
    sample: Option<&'a EvalCtx<'a>>,
    rows: Option<&'a SampledRows<'a>>,
}

/// A column of whose values something is known.
struct Known<'a> {
    source: Source<'a>,
    ty: &'a SqlType,
}

/// What tells of a column's values.
enum Source<'a> {
    Histogram(&'a Histogram),
    Statistics(&'a ColumnStatistics),
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
    /// Of a table whose first column has the slot `base`, for the values of this execution; `rows`: some on which conditions may be tested.
    /// `None` if there is nothing to ask.
    pub fn new(
        def: &'a TableDef,
        statistics: Option<&'a TableStatistics>,
        base: usize,
        sample: Option<&'a EvalCtx<'a>>,
        rows: Option<&'a SampledRows<'a>>,
    ) -> Option<Spread<'a>> {
        let by_histogram = !def.histograms.is_empty() && sample.is_some();
        let is_known = statistics.is_some() || by_histogram || rows.is_some();
        is_known.then_some(Spread {
            def,
            statistics,
            base,
            sample,
            rows,
        })
    }

    /// The share of rows for which the condition is true; `None` if nothing tells.
    pub fn share(&self, e: &Expr) -> Option<f64> {
        self.told(e).or_else(|| self.rows?.share(e))
    }

    /// The same, as what is known of the column says.
    fn told(&self, e: &Expr) -> Option<f64> {
        let share = match &e.node {
            Node::Compare(op, kind, sides) => self
                .compared(*op, *kind, &sides[0], &sides[1])
                .or_else(|| self.compared(op.flipped(), *kind, &sides[1], &sides[0]))?,
            Node::IsNull(column) => self.column(column)?.nulls(),
            Node::Not(inner) => match &inner.node {
                Node::IsNull(column) => self.column(column)?.filled(),
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
            } => {
                let found = match list.len() <= LIST_MAX {
                    true => list
                        .iter()
                        .map(|(kind, one)| self.compared(CmpOp::Eq, *kind, value, one))
                        .sum::<Option<f64>>()?,
                    false => self.column(value)?.equal_to_any()? * list.len() as f64,
                };
                let filled = self.column(value)?.filled();
                match negated {
                    true => filled - found.min(filled),
                    false => found.min(filled),
                }
            }
            Node::Or(branches) => {
                let none: Option<f64> = branches
                    .iter()
                    .map(|branch| self.told(branch).map(|share| 1.0 - share))
                    .product();
                1.0 - none?
            }
            Node::And(list) => {
                let mut shares = list
                    .iter()
                    .map(|one| self.told(one))
                    .collect::<Option<Vec<f64>>>()?;
                together(&mut shares)
            }
            _ => return None,
        };
        Some(share.clamp(0.0, 1.0))
    }

    fn column(&self, e: &Expr) -> Option<Known<'_>> {
        let Node::Column(slot) = e.node else { return None };
        let at = slot.checked_sub(self.base)?;
        let column = self.def.columns.get(at)?;
        let histogram = self.def.histogram(&column.name).filter(|_| self.sample.is_some());
        let source = match histogram {
            Some(made) => Source::Histogram(&made.histogram),
            None => Source::Statistics(self.statistics?.column(self.def, at)?),
        };
        let ty = &column.ty;
        Some(Known { source, ty })
    }

    /// The share of rows whose column compares so with a value.
    fn compared(&self, op: CmpOp, kind: CmpKind, column: &Expr, value: &Expr) -> Option<f64> {
        let known = self.column(column)?;
        // What is equal to a column of another table is a matter of both.
        if value.columns().iter().any(|slot| *slot < OUTER) {
            return None;
        }
        let is_fixed = is_known_now(value);
        let given = self
            .sample
            .filter(|sample| is_fixed && !(sample.env.unbound && value.has_parameter()));
        let given = given.and_then(|sample| value.eval(sample).ok());
        let Some(given) = given else {
            return match op {
                CmpOp::Eq => known.equal_to_any(),
                CmpOp::Ne => Some(known.filled() - known.equal_to_any()?),
                _ => None,
            };
        };
        let ty = known.ty;
        let filled = known.filled();
        match (op, self.place(&given, kind, ty)?) {
            (CmpOp::NullSafeEq, Place::Nowhere) => Some(known.nulls()),
            (_, Place::Nowhere) => Some(0.0),
            (CmpOp::Eq | CmpOp::NullSafeEq, Place::At(value)) => known.equal(&value),
            (CmpOp::Ne, Place::At(value)) => Some(filled - known.equal(&value)?),
            // Members are in order of their numbers, and compare as texts.
            (_, Place::At(_)) if ty.is_member() => None,
            (CmpOp::Lt, Place::At(value)) => known.below(&value, false),
            (CmpOp::Le, Place::At(value)) => known.below(&value, true),
            (CmpOp::Gt, Place::At(value)) => Some(filled - known.below(&value, true)?),
            (CmpOp::Ge, Place::At(value)) => Some(filled - known.below(&value, false)?),
            (CmpOp::Eq | CmpOp::NullSafeEq, Place::Behind(_)) => Some(0.0),
            (CmpOp::Ne, Place::Behind(_)) => Some(filled),
            (CmpOp::Lt | CmpOp::Le, Place::Behind(None)) => Some(0.0),
            (CmpOp::Gt | CmpOp::Ge, Place::Behind(None)) => Some(filled),
            (CmpOp::Lt | CmpOp::Le, Place::Behind(Some(value))) => known.below(&value, true),
            (CmpOp::Gt | CmpOp::Ge, Place::Behind(Some(value))) => Some(filled - known.below(&value, true)?),
        }
    }

    fn place(&self, value: &Val, kind: CmpKind, ty: &SqlType) -> Option<Place> {
        let sample = self.sample?;
        if value.is_null() {
            return Some(Place::Nowhere);
        }
        let as_sampled = |value: Value| as_sampled(&value, ty, sample);
        Some(match bound_of(value, kind, ty, sample) {
            KeyBound::Exact(value) => Place::At(as_sampled(value)),
            KeyBound::Between(before) => Place::Behind(before.map(as_sampled)),
            KeyBound::Unusable => return None,
        })
    }
}

/// Whether a value can be worked out when the statement is planned, and nobody notices.
fn is_known_now(value: &Expr) -> bool {
    let mut known = true;
    value.walk(&mut |e| {
        known &= match &e.node {
            Node::Column(_) | Node::Subquery { .. } | Node::Routine(_) | Node::AssignVar(..) => false,
            Node::Call(function, _) => function.volatility != Volatility::Volatile,
            _ => true,
        }
    });
    known
}

/// A value of a column as it was when it was sampled, when TIMESTAMPs were in UTC.
fn as_sampled(value: &Value, ty: &SqlType, sample: &EvalCtx) -> Value {
    let mut room: Scratch = [0; 32];
    let datum = ty.store(value, sample.env.time_zone, &mut room);
    ty.load(datum, &TimeZone::UTC).into_owned()
}

impl Known<'_> {
    /// The share of rows that are NULL.
    fn nulls(&self) -> f64 {
        match self.source {
            Source::Histogram(histogram) => histogram.nulls(),
            Source::Statistics(column) => column.nulls(),
        }
    }

    /// The share of rows that are not NULL.
    fn filled(&self) -> f64 {
        1.0 - self.nulls()
    }

    /// The share of rows with a value of which nothing is known.
    fn equal_to_any(&self) -> Option<f64> {
        match self.source {
            Source::Histogram(_) => None,
            Source::Statistics(column) => column.equal_to_any(),
        }
    }

    /// The share of rows with this value.
    fn equal(&self, value: &Value) -> Option<f64> {
        match self.source {
            Source::Histogram(histogram) => histogram.equal(value, self.ty).ok(),
            Source::Statistics(column) => column.equal(value),
        }
    }

    /// The share of rows with lesser values, or, if `inclusive`, this one.
    fn below(&self, value: &Value, inclusive: bool) -> Option<f64> {
        match self.source {
            Source::Histogram(histogram) => histogram.below(value, inclusive, self.ty).ok(),
            Source::Statistics(column) => column.below(value, inclusive),
        }
    }
}

/// The share of rows for which all of some conditions on a table are true, from the share of each. The columns of a table seldom have
/// nothing to do with each other, so the second most selective counts by its root, the third by its fourth root, the fourth by its
/// eighth, and others do not count.
pub(super) fn together(shares: &mut [f64]) -> f64 {
    shares.sort_by(f64::total_cmp);
    let weighted = shares.iter().zip([1.0, 0.5, 0.25, 0.125]);
    weighted.map(|(share, weight)| share.powf(weight)).product()
}
