//! Accumulators of parts of the rows, merged into what all of the rows give.
//!
//! A ROLLUP groups by all keys first and merges those groups into the coarser ones, so that a row is looked at once,
//! not once for each level. That is right only if the merged result is exactly that of the rows one by one, in their order.
//! It is for counts, exact sums, extremes and bits. Sums of doubles and variances round otherwise in another order, and
//! texts and documents would be copied at each level.

use super::{Accumulator, AggFunc, Aggregate, Env, NumKind, State, number_kind};
use tidemark_types::error::Result;
use tidemark_types::{Decimal, Val, Value};

impl Aggregate {
    /// Whether accumulators of consecutive parts of the rows can be merged. Not with DISTINCT: a value may be in two parts.
    pub fn is_mergeable(&self) -> bool {
        let merges = match self.func {
            AggFunc::CountRows | AggFunc::Count => true,
            AggFunc::Min | AggFunc::Max | AggFunc::AnyValue => true,
            AggFunc::BitAnd | AggFunc::BitOr | AggFunc::BitXor => true,
            AggFunc::Sum | AggFunc::Avg => number_kind(&self.args[0].ty) != NumKind::Double,
            AggFunc::GroupConcat | AggFunc::JsonArray | AggFunc::JsonObject => false,
            AggFunc::StdPop | AggFunc::StdSamp | AggFunc::VarPop | AggFunc::VarSamp => false,
        };
        merges && !self.distinct
    }
}

impl Accumulator {
    /// How many values [`Accumulator::to_values`] makes.
    pub const VALUES: usize = 2;

    /// Takes in all that another one has taken in, of rows that come later. Only where [`Aggregate::is_mergeable`].
    pub fn merge(&mut self, later: &Accumulator, spec: &Aggregate, env: &Env) -> Result<()> {
        match (&mut self.state, &later.state) {
            (State::Count(n), State::Count(more)) => *n += more,
            (
                State::Exact { int, decimal, count },
                State::Exact {
                    int: more,
                    decimal: fraction,
                    count: rows,
                },
            ) => {
                *int += more;
                *count += rows;
                if let Some(fraction) = fraction {
                    *decimal = Some(match decimal {
                        Some(sum) => sum.add(fraction),
                        None => fraction.clone(),
                    });
                }
            }
            (State::Best(best), State::Best(Some(value))) if spec.replaces(value, best.as_ref(), env)? => {
                *best = Some(value.clone());
            }
            (State::Bits(bits), State::Bits(more)) => match spec.func {
                AggFunc::BitAnd => *bits &= more,
                AggFunc::BitOr => *bits |= more,
                _ => *bits ^= more,
            },
            _ => {}
        }
        Ok(())
    }

    /// Its state as values, to be put aside. Only where [`Aggregate::is_mergeable`].
    pub fn to_values(&self) -> [Value; Accumulator::VALUES] {
        match &self.state {
            State::Count(n) => [Val::UInt(*n), Val::Null],
            State::Exact { int, decimal, count } => {
                let whole = Decimal::new(*int, 0);
                let sum = decimal.as_ref().map_or(whole.clone(), |d| d.add(&whole));
                [Val::Decimal(sum), Val::UInt(*count)]
            }
            State::Best(Some(value)) => [value.clone(), Val::Null],
            State::Bits(bits) => [Val::UInt(*bits), Val::Null],
            _ => [Val::Null, Val::Null],
        }
    }

    /// The accumulator of at least one row that was put aside as these values.
    pub fn of_values(spec: &Aggregate, [first, second]: [Value; Accumulator::VALUES]) -> Accumulator {
        let mut accumulator = spec.accumulator();
        match (&mut accumulator.state, first, second) {
            (State::Count(n), Val::UInt(rows), _) => *n = rows,
            (State::Exact { decimal, count, .. }, Val::Decimal(sum), Val::UInt(rows)) => {
                (*decimal, *count) = (Some(sum), rows);
            }
            // Of rows without a value MIN and MAX have none; ANY_VALUE has the first row's, which may be NULL.
            (State::Best(_), Val::Null, _) if spec.func != AggFunc::AnyValue => {}
            (State::Best(best), value, _) => *best = Some(value),
            (State::Bits(bits), Val::UInt(value), _) => *bits = value,
            _ => {}
        }
        accumulator
    }
}
