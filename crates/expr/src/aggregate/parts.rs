//! Accumulators of parts of the rows, merged into what all of the rows give.
//!
//! A ROLLUP groups by all keys first and merges those groups into the coarser ones, so that a row is looked at once,
//! not once for each level. That is right only if the merged result is exactly that of the rows one by one, in their order: see [`Merging`].

use super::{Accumulator, AggFunc, Aggregate, Env, EvalCtx, NumKind, State};
use super::{add_decimal, exact_sum, number_kind};
use crate::bit_bytes::joined;
use crate::node::BitOp;
use tidemark_types::error::Result;
use tidemark_types::{Val, Value};

/// How accumulators of consecutive parts of the rows are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merging {
    /// By what each has come to: counts, exact sums, extremes and bits.
    States,
    /// By the numbers that each has kept ([`Aggregate::part`]), one by one in the order of rows: sums of doubles and variances round
    /// otherwise in another order.
    Numbers,
    /// Not at all: with DISTINCT a value may be in two parts, and texts and documents would be copied.
    No,
}

impl Aggregate {
    /// How its accumulators are merged.
    pub fn merging(&self) -> Merging {
        match self.func {
            _ if self.distinct => Merging::No,
            AggFunc::CountRows | AggFunc::Count => Merging::States,
            AggFunc::Min | AggFunc::Max => Merging::States,
            AggFunc::BitAnd | AggFunc::BitOr | AggFunc::BitXor => Merging::States,
            AggFunc::Sum | AggFunc::Avg => match number_kind(&self.args[0].ty) {
                NumKind::Double => Merging::Numbers,
                _ => Merging::States,
            },
            AggFunc::GroupConcat | AggFunc::JsonArray | AggFunc::JsonObject => Merging::No,
            AggFunc::StdPop | AggFunc::StdSamp | AggFunc::VarPop | AggFunc::VarSamp => Merging::Numbers,
        }
    }

    /// The number that the row of `ctx` gives it, where it merges by numbers; `None` if that is NULL.
    pub fn number(&self, ctx: &EvalCtx) -> Result<Option<f64>> {
        let value = self.args[0].eval(ctx)?;
        match value.is_null() {
            true => Ok(None),
            false => value.to_f64(ctx.env).map(Some),
        }
    }

    /// The state of a part before its first row.
    pub fn part(&self) -> Accumulator {
        match self.merging() {
            Merging::Numbers => Accumulator {
                state: State::Numbers(Vec::new()),
            },
            _ => self.accumulator(),
        }
    }
}

impl Accumulator {
    /// How many values [`Accumulator::to_values`] makes.
    pub const VALUES: usize = 2;

    /// Takes in the number that a row gives it, where it merges by numbers.
    #[inline]
    pub fn add_number(&mut self, number: f64) {
        self.state.add_number(number);
    }

    /// Takes in all that that of a part has taken in, of rows that come later. Not for [`Merging::No`].
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
                    add_decimal(decimal, fraction);
                }
            }
            (State::Best(best), State::Best(Some(value))) if spec.replaces(value, best.as_ref(), env)? => {
                *best = Some(value.clone());
            }
            (state, State::Numbers(numbers)) => numbers.iter().for_each(|number| state.add_number(*number)),
            (State::Bits(bits), State::Bits(more)) => match spec.func.bit_op() {
                BitOp::And => *bits &= more,
                BitOp::Or => *bits |= more,
                _ => *bits ^= more,
            },
            (State::Bytes(bytes), State::Bytes(Some(more))) => {
                *bytes = Some(match bytes {
                    Some(bytes) => joined(spec.func.bit_op(), bytes, more)?,
                    None => more.clone(),
                });
            }
            _ => {}
        }
        Ok(())
    }

    /// The state of a part as values, to be put aside. Not for [`Merging::No`].
    pub fn to_values(&self) -> [Value; Accumulator::VALUES] {
        match &self.state {
            State::Count(n) => [Val::UInt(*n), Val::Null],
            State::Exact { int, decimal, count } => {
                [Val::Decimal(exact_sum(*int, decimal.clone())), Val::UInt(*count)]
            }
            State::Best(Some(value)) => [value.clone(), Val::Null],
            State::Bits(bits) => [Val::UInt(*bits), Val::Null],
            State::Bytes(Some(bytes)) => [Val::Str(bytes.clone().into()), Val::Null],
            State::Numbers(numbers) => {
                let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
                [Val::Str(bytes.into()), Val::Null]
            }
            _ => [Val::Null, Val::Null],
        }
    }

    /// The accumulator of a part of at least one row that was put aside as these values.
    pub fn of_values(spec: &Aggregate, [first, second]: [Value; Accumulator::VALUES]) -> Accumulator {
        let mut accumulator = spec.part();
        match (&mut accumulator.state, first, second) {
            (State::Count(n), Val::UInt(rows), _) => *n = rows,
            (State::Exact { decimal, count, .. }, Val::Decimal(sum), Val::UInt(rows)) => {
                (*decimal, *count) = (Some(sum), rows);
            }
            // Of rows without a value MIN and MAX have none.
            (State::Best(_), Val::Null, _) => {}
            (State::Best(best), value, _) => *best = Some(value),
            (State::Bits(bits), Val::UInt(value), _) => *bits = value,
            (State::Bytes(bytes), Val::Str(value), _) => *bytes = Some(value.into_owned()),
            (State::Numbers(numbers), Val::Str(bytes), _) => {
                let bytes = bytes.as_chunks().0.iter();
                numbers.extend(bytes.map(|bytes| f64::from_le_bytes(*bytes)));
            }
            _ => {}
        }
        accumulator
    }
}
