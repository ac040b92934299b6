//! Aggregate functions.
//!
//! The executor keeps one [`Accumulator`] per group and aggregate, feeds it rows with [`Accumulator::update`] and takes
//! the result with [`Accumulator::finish`]. The result goes to a slot of the grouped row, where expressions above read
//! it as a column of the type [`Aggregate::ty`].
//!
//! DISTINCT is the executor's part, which knows how to put values aside that do not fit in memory: it reads the
//! [`Inputs`] of a row, and hands those whose key is new to [`Accumulator::take`].
//!
//! Sums of exact numbers are exact: integers add up in 128 bits and decimals as decimals. Variances are Welford's,
//! one pass without cancellation. Accumulators of parts of the rows can be put together ([`parts`]).

mod parts;

pub use parts::Merging;

use super::bit_bytes::{is_bytes, joined};
use super::build::{as_bits, as_number, as_text, in_set_of, json_as_double};
use super::compare::compare_values;
use super::concat::Concat;
use super::infer::kind_of;
use super::infer::{check_comparable, decimal_shape, number_kind, text_type};
use super::json::{json_type, null_member_name, shown, typed_json};
use super::node::{BitOp, NumKind};
use super::parameter::{ParamKind, ParamPlace};
use super::{BindCtx, Env, EvalCtx, Expr};
use std::cmp::Ordering;
use std::mem::take;
use tidemark_types::error::memory::check_memory;
use tidemark_types::error::{Result, SqlError, er};
use tidemark_types::json::{Json, push};
use tidemark_types::sort::sort_key;
use tidemark_types::{Decimal, SqlType, TypeKind, Val, Value};

/// The aggregate functions. Except for COUNT, the result over no rows is NULL or the neutral bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggFunc {
    /// COUNT(*)
    CountRows,
    /// `COUNT(e)`, `COUNT(DISTINCT e, …)`: the rows in which no argument is NULL.
    Count,
    /// `SUM(e)`: exact for integers and decimals, a double otherwise.
    Sum,
    /// `AVG(e)`: a decimal with `div_precision_increment` more digits than its argument, or a double.
    Avg,
    /// `MIN(e)`, in the order of the argument's type and collation.
    Min,
    /// `MAX(e)`, in the order of the argument's type and collation.
    Max,
    /// `GROUP_CONCAT([DISTINCT] e, … [ORDER BY …] [SEPARATOR '…'])`, cut at `group_concat_max_len` bytes.
    GroupConcat,
    /// `BIT_AND(e)`, 64 bits; all ones over no rows.
    BitAnd,
    /// `BIT_OR(e)`, 64 bits; 0 over no rows.
    BitOr,
    /// `BIT_XOR(e)`, 64 bits; 0 over no rows.
    BitXor,
    /// `STDDEV_POP(e)`, also `STD` and `STDDEV`: the population's standard deviation.
    StdPop,
    /// `STDDEV_SAMP(e)`: the sample's standard deviation; NULL for fewer than two values.
    StdSamp,
    /// `VAR_POP(e)`, also `VARIANCE`: the population's variance.
    VarPop,
    /// `VAR_SAMP(e)`: the sample's variance; NULL for fewer than two values.
    VarSamp,
    /// `JSON_ARRAYAGG(e)`: an array of all values, NULL included.
    JsonArray,
    /// `JSON_OBJECTAGG(name, e)`: an object; of equal names the last counts.
    JsonObject,
}

/// One aggregate of a query.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// The function.
    pub func: AggFunc,
    /// What it is called with; empty for COUNT(*).
    pub args: Vec<Expr>,
    /// DISTINCT: equal argument lists count once. Never set for MIN and MAX, where it changes nothing.
    pub distinct: bool,
    /// GROUP_CONCAT's ORDER BY; true is descending.
    pub order_by: Vec<(Expr, bool)>,
    /// GROUP_CONCAT's SEPARATOR.
    pub separator: Vec<u8>,
    /// The type of the result.
    pub ty: SqlType,
    /// With which digits an average of integers or decimals is finished.
    pub quotient: Quotient,
    /// An average of integers or decimals is finished as a double.
    pub as_double: bool,
}

/// Which digits behind the point the average of integers or decimals has; see [`digits`](super::digits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quotient {
    /// Those of the type.
    Shown,
    /// Those that a division makes: of a group that was kept in a table.
    Divided,
    /// The same, but a double is divided as a double.
    Whole,
}

impl AggFunc {
    /// The operator of the bit aggregates.
    fn bit_op(self) -> BitOp {
        match self {
            AggFunc::BitAnd => BitOp::And,
            AggFunc::BitOr => BitOp::Or,
            _ => BitOp::Xor,
        }
    }

    /// As error texts and plans name it.
    pub fn name(self) -> &'static str {
        match self {
            AggFunc::CountRows | AggFunc::Count => "count",
            AggFunc::Sum => "sum",
            AggFunc::Avg => "avg",
            AggFunc::Min => "min",
            AggFunc::Max => "max",
            AggFunc::GroupConcat => "group_concat",
            AggFunc::BitAnd => "bit_and",
            AggFunc::BitOr => "bit_or",
            AggFunc::BitXor => "bit_xor",
            AggFunc::StdPop => "std",
            AggFunc::StdSamp => "stddev_samp",
            AggFunc::VarPop => "var_pop",
            AggFunc::VarSamp => "var_samp",
            AggFunc::JsonArray => "json_arrayagg",
            AggFunc::JsonObject => "json_objectagg",
        }
    }
}

impl Aggregate {
    /// Returns true if another has the same value for all rows.
    pub fn same_as(&self, other: &Aggregate) -> bool {
        let order = |of: &Aggregate| {
            of.order_by
                .iter()
                .map(|(_, descending)| *descending)
                .collect::<Vec<_>>()
        };
        let inputs = self.inputs().zip(other.inputs());
        (self.func, self.distinct, &self.separator) == (other.func, other.distinct, &other.separator)
            && self.args.len() == other.args.len()
            && order(self) == order(other)
            && inputs.into_iter().all(|(own, other)| own.same_as(other))
    }

    /// All that it reads of a row.
    pub fn inputs(&self) -> impl Iterator<Item = &Expr> {
        self.args.iter().chain(self.order_by.iter().map(|(e, _)| e))
    }

    /// The same, to be changed.
    pub fn inputs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.args
            .iter_mut()
            .chain(self.order_by.iter_mut().map(|(e, _)| e))
    }
}

fn by_name(name: &str) -> Option<AggFunc> {
    Some(match name.to_ascii_lowercase().as_str() {
        "count" => AggFunc::Count,
        "sum" => AggFunc::Sum,
        "avg" => AggFunc::Avg,
        "min" => AggFunc::Min,
        "max" => AggFunc::Max,
        "group_concat" => AggFunc::GroupConcat,
        "bit_and" => AggFunc::BitAnd,
        "bit_or" => AggFunc::BitOr,
        "bit_xor" => AggFunc::BitXor,
        "std" | "stddev" | "stddev_pop" => AggFunc::StdPop,
        "stddev_samp" => AggFunc::StdSamp,
        "variance" | "var_pop" => AggFunc::VarPop,
        "var_samp" => AggFunc::VarSamp,
        "json_arrayagg" => AggFunc::JsonArray,
        "json_objectagg" => AggFunc::JsonObject,
        _ => return None,
    })
}

impl Aggregate {
    /// COUNT(*)
    pub fn count_rows() -> Aggregate {
        Aggregate {
            func: AggFunc::CountRows,
            args: Vec::new(),
            distinct: false,
            order_by: Vec::new(),
            separator: Vec::new(),
            ty: SqlType::bigint().with_nullable(false),
            quotient: Quotient::Shown,
            as_double: false,
        }
    }

    /// By name; `None` if it is no aggregate function. COUNT(*) is [`Aggregate::count_rows`].
    pub fn resolve(name: &str, args: Vec<Expr>, distinct: bool, bind: &BindCtx) -> Option<Result<Aggregate>> {
        by_name(name).map(|func| Aggregate::new(name, func, args, distinct, bind))
    }

    /// Whether a name is that of an aggregate function.
    pub fn is_aggregate(name: &str) -> bool {
        by_name(name).is_some()
    }

    fn new(name: &str, func: AggFunc, args: Vec<Expr>, distinct: bool, bind: &BindCtx) -> Result<Aggregate> {
        let many = matches!(func, AggFunc::Count | AggFunc::GroupConcat);
        let wrong = match func {
            AggFunc::JsonObject => args.len() != 2,
            AggFunc::Count => args.is_empty() || args.len() > 1 && !distinct,
            _ => args.is_empty() || args.len() > 1 && !many,
        };
        if wrong {
            return Err(SqlError::parameter_count(name));
        }
        if distinct && matches!(func, AggFunc::JsonArray | AggFunc::JsonObject) {
            return Err(SqlError::not_supported(
                "DISTINCT in JSON_ARRAYAGG and JSON_OBJECTAGG",
            ));
        }
        let mut args = args;
        args.iter_mut().for_each(|e| match func {
            AggFunc::Sum | AggFunc::Avg => bind.settle_as(e, ParamPlace::value(ParamKind::Double)),
            AggFunc::BitAnd | AggFunc::BitOr | AggFunc::BitXor => bind.settle_mask(e),
            _ => {}
        });
        let operand = |e: Expr| match func {
            AggFunc::GroupConcat => as_text(e, bind),
            AggFunc::JsonArray | AggFunc::JsonObject => e,
            AggFunc::Count | AggFunc::Min | AggFunc::Max => as_number(e),
            AggFunc::BitAnd | AggFunc::BitOr | AggFunc::BitXor if is_bytes(&e) => e,
            AggFunc::BitAnd | AggFunc::BitOr | AggFunc::BitXor => as_bits(e),
            _ => json_as_double(as_number(e)),
        };
        let mut args: Vec<Expr> = args.into_iter().map(operand).collect();
        let ty = result_type(func, &args, bind)?;
        // In a set whose texts have other bytes here, or as bytes; in others they are shown as they are.
        if func == AggFunc::GroupConcat && (ty.collation.charset().is_encoded() || ty.is_binary_string()) {
            args = args.into_iter().map(|arg| in_set_of(arg, ty.collation)).collect();
        }
        let distinct = distinct && !matches!(func, AggFunc::Min | AggFunc::Max);
        Ok(Aggregate {
            func,
            args,
            distinct,
            order_by: Vec::new(),
            separator: b",".to_vec(),
            ty,
            quotient: Quotient::Shown,
            as_double: false,
        })
    }

    /// Whether this is an average that has digits which it does not show.
    pub fn is_quotient(&self) -> bool {
        self.func == AggFunc::Avg && self.ty.kind == TypeKind::Decimal && !self.as_double
    }

    /// GROUP_CONCAT's own clauses.
    pub fn with_order(mut self, order_by: Vec<(Expr, bool)>, separator: Option<Vec<u8>>) -> Aggregate {
        self.order_by = order_by;
        if let Some(separator) = separator {
            self.separator = separator;
        }
        self
    }

    /// The state of a group before its first row.
    pub fn accumulator(&self) -> Accumulator {
        let state = match self.func {
            AggFunc::CountRows | AggFunc::Count => State::Count(0),
            AggFunc::Sum | AggFunc::Avg => match number_kind(&self.args[0].ty) {
                NumKind::Double => State::Double { sum: 0.0, count: 0 },
                _ => State::Exact {
                    int: 0,
                    decimal: None,
                    count: 0,
                },
            },
            AggFunc::Min | AggFunc::Max => State::Best(None),
            AggFunc::GroupConcat => State::Concat(Concat::default()),
            AggFunc::JsonArray => State::Elements(Vec::new()),
            AggFunc::JsonObject => State::Members(Vec::new()),
            AggFunc::BitAnd | AggFunc::BitOr | AggFunc::BitXor if self.ty.is_binary_string() => {
                State::Bytes(None)
            }
            AggFunc::BitAnd | AggFunc::BitOr | AggFunc::BitXor => State::Bits(self.no_bits()),
            _ => State::Variance {
                count: 0,
                mean: 0.0,
                squares: 0.0,
            },
        };
        Accumulator { state }
    }

    /// What the bits of no rows are.
    fn no_bits(&self) -> u64 {
        match self.func {
            AggFunc::BitAnd => u64::MAX,
            _ => 0,
        }
    }

    /// Whether a value is less than another, of MIN, or greater, of MAX.
    pub fn beats(&self, value: &Val, best: &Val, env: &Env) -> Result<bool> {
        let wanted = match self.func {
            AggFunc::Min => Ordering::Less,
            _ => Ordering::Greater,
        };
        Ok(compare_values(kind_of(&self.ty), value, best, env)? == Some(wanted))
    }

    /// Whether a value takes the place of what MIN or MAX has so far.
    fn replaces(&self, value: &Val, best: Option<&Value>, env: &Env) -> Result<bool> {
        match best {
            None => Ok(true),
            Some(best) => self.beats(value, best, env),
        }
    }

    /// Whether a row can be taken out again and leaves exactly what was there before.
    pub fn is_reversible(&self) -> bool {
        match self.func {
            AggFunc::CountRows | AggFunc::Count => true,
            // When no row is left, bytes would have to be none again.
            AggFunc::BitXor => !self.ty.is_binary_string(),
            AggFunc::Sum | AggFunc::Avg => number_kind(&self.args[0].ty) != NumKind::Double,
            _ => false,
        }
    }

    /// What a row gives it; `None` if an argument is NULL, so that the row does not count.
    pub fn read<'a>(&'a self, ctx: &EvalCtx<'a>) -> Result<Option<Inputs<'a>>> {
        let first = self.args[0].eval(ctx)?;
        if first.is_null() {
            return Ok(None);
        }
        let mut rest: Vec<Val> = Vec::new();
        for arg in &self.args[1..] {
            let value = arg.eval(ctx)?;
            if value.is_null() {
                return Ok(None);
            }
            rest.push(value);
        }
        for (key, _) in &self.order_by {
            rest.push(key.eval(ctx)?);
        }
        Ok(Some(Inputs { first, rest }))
    }
}

/// What a row gives an aggregate: its arguments, none of them NULL, and behind them the keys of its ORDER BY.
#[derive(Debug)]
pub struct Inputs<'a> {
    first: Val<'a>,
    rest: Vec<Val<'a>>,
}

impl Inputs<'_> {
    /// Appends the key of the arguments: equal keys count once under DISTINCT.
    pub fn key(&self, spec: &Aggregate, key: &mut Vec<u8>) -> Result<()> {
        sort_key(&self.first, &spec.args[0].ty, key)?;
        for (value, arg) in self.rest.iter().zip(&spec.args[1..]) {
            sort_key(value, &arg.ty, key)?;
        }
        Ok(())
    }

    /// All of it as a row, to be put aside.
    pub fn into_row(self) -> impl Iterator<Item = Value> {
        let all = std::iter::once(self.first).chain(self.rest);
        all.map(Val::into_owned)
    }

    /// From such a row; `None` if it has no value.
    pub fn of_row(row: impl IntoIterator<Item = Value>) -> Option<Inputs<'static>> {
        let mut row = row.into_iter();
        let first = row.next()?;
        Some(Inputs {
            first,
            rest: row.collect(),
        })
    }
}

/// How many bytes may be aggregated bit by bit.
const BITS_LENGTH_MAX: u32 = 511;

fn too_many_bits() -> SqlError {
    SqlError::new(
        er::INVALID_BITWISE_AGGREGATE_OPERANDS_SIZE,
        "Aggregate bitwise functions cannot accept arguments longer than 511 bytes; consider using the SUBSTRING() function",
    )
}

/// A sum of numbers of this type, or their average, which has more digits behind the point.
fn double_sum(ty: &SqlType, more_digits: u8) -> SqlType {
    match ty.fixed_scale() {
        Some(scale) => {
            let scale = (scale + more_digits).min(SqlType::NOT_FIXED);
            let length = 17 + scale as u32;
            SqlType::double_of_scale(scale).with_length(length)
        }
        None => SqlType::double(),
    }
}

fn result_type(func: AggFunc, args: &[Expr], bind: &BindCtx) -> Result<SqlType> {
    let ty = &args[0].ty;
    let (int, scale) = decimal_shape(ty);
    Ok(match func {
        AggFunc::CountRows | AggFunc::Count => SqlType::bigint().with_nullable(false),
        AggFunc::Sum => match number_kind(ty) {
            NumKind::Double => double_sum(ty, 0),
            _ => SqlType::decimal((int + scale + 22).min(65), scale as u8),
        },
        AggFunc::Avg => match number_kind(ty) {
            NumKind::Double => double_sum(ty, bind.div_precision_increment),
            _ => {
                let scale = (scale + bind.div_precision_increment as u32).min(30);
                SqlType::decimal((int + scale).min(65), scale as u8)
            }
        },
        AggFunc::Min | AggFunc::Max if ty.is_member() => {
            text_type(ty.display_length() as u64, &[ty], "min", bind)?
        }
        AggFunc::Min | AggFunc::Max => {
            check_comparable(ty, func.name())?;
            ty.clone()
        }
        AggFunc::JsonArray | AggFunc::JsonObject => json_type(),
        AggFunc::GroupConcat => {
            let types: Vec<&SqlType> = args.iter().map(|a| &a.ty).collect();
            text_type(bind.group_concat_max_len, &types, "group_concat", bind)?
        }
        AggFunc::BitAnd | AggFunc::BitOr | AggFunc::BitXor if is_bytes(&args[0]) => {
            if ty.length > BITS_LENGTH_MAX {
                return Err(too_many_bits());
            }
            return Ok(SqlType::varbinary(ty.length + 1).with_nullable(false));
        }
        AggFunc::BitAnd | AggFunc::BitOr | AggFunc::BitXor => {
            return Ok(SqlType::bigint_unsigned().with_nullable(false));
        }
        _ => SqlType::double(),
    }
    .with_nullable(!matches!(func, AggFunc::Count)))
}

/// What has been taken in so far.
#[derive(Clone, Debug)]
pub struct Accumulator {
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Count(u64),
    Exact {
        int: i128,
        decimal: Option<Decimal>,
        count: u64,
    },
    Double {
        sum: f64,
        count: u64,
    },
    Best(Option<Value>),
    Concat(Concat),
    /// The values of an array.
    Elements(Vec<Json>),
    /// The members of an object.
    Members(Vec<(String, Json)>),
    Bits(u64),
    /// Bits of bytes, all of one length; `None` before the first.
    Bytes(Option<Vec<u8>>),
    Variance {
        count: u64,
        mean: f64,
        squares: f64,
    },
    /// Of a part of the rows: the numbers that are still to be added or to vary ([`parts`]).
    Numbers(Vec<f64>),
}

impl State {
    /// Takes in a number, where it is about doubles.
    fn add_number(&mut self, number: f64) {
        match self {
            State::Double { sum, count } => {
                *sum += number;
                *count += 1;
            }
            State::Variance { count, mean, squares } => {
                *count += 1;
                let before = number - *mean;
                *mean += before / *count as f64;
                *squares += before * (number - *mean);
            }
            State::Numbers(numbers) => numbers.push(number),
            _ => {}
        }
    }
}

impl Accumulator {
    /// Takes the row of `ctx` in. Not for DISTINCT.
    pub fn update<'a>(&mut self, spec: &'a Aggregate, ctx: &EvalCtx<'a>) -> Result<()> {
        match (&mut self.state, spec.args.as_slice()) {
            (State::Count(n), []) => *n += 1,
            (State::Elements(_) | State::Members(_), args) => {
                let args = args.iter().map(|e| e.eval(ctx)).collect::<Result<Vec<_>>>()?;
                self.collect(&args, spec)?;
            }
            (State::Concat(_), _) | (_, [_, _, ..]) => {
                if let Some(inputs) = spec.read(ctx)? {
                    self.take(inputs, spec, ctx.env)?;
                }
            }
            (_, args) => {
                let value = args[0].eval(ctx)?;
                if !value.is_null() {
                    self.take_value(&value, spec, ctx.env)?;
                }
            }
        }
        Ok(())
    }

    /// Takes in a row whose values for the aggregate's arguments were worked out before. Not for DISTINCT.
    pub fn take_row(&mut self, args: &[Value], spec: &Aggregate, env: &Env) -> Result<()> {
        match (&mut self.state, args) {
            (State::Count(n), []) => *n += 1,
            (State::Elements(_) | State::Members(_), args) => {
                let args: Vec<Val> = args.iter().map(Val::borrowed).collect();
                self.collect(&args, spec)?;
            }
            (_, [first, ..]) if !first.is_null() => self.take_value(first, spec, env)?,
            _ => {}
        }
        Ok(())
    }

    /// Takes such a row out again: as if it had never come. Only where [`Aggregate::is_reversible`].
    pub fn take_row_out(&mut self, args: &[Value], env: &Env) -> Result<()> {
        let value = args.first();
        if value.is_some_and(Val::is_null) {
            return Ok(());
        }
        match (&mut self.state, value) {
            (State::Count(n), _) => *n -= 1,
            (State::Exact { int, decimal, count }, Some(value)) => {
                *count -= 1;
                match value {
                    Val::Int(v) => *int -= *v as i128,
                    Val::UInt(v) => *int -= *v as i128,
                    other => {
                        let d = other.to_decimal(env)?;
                        *decimal = decimal.as_ref().map(|sum| sum.sub(&d));
                    }
                }
            }
            (State::Bits(bits), Some(value)) => *bits ^= value.to_operand_bits(env)?,
            _ => {}
        }
        Ok(())
    }

    /// Takes the row's part of a document in.
    fn collect(&mut self, args: &[Val], spec: &Aggregate) -> Result<()> {
        check_memory()?;
        match (&mut self.state, args) {
            (State::Elements(list), [value]) => push(list, typed_json(value, &spec.args[0])?)?,
            (State::Members(_), [Val::Null, _]) => return Err(null_member_name()),
            (State::Members(members), [name, value]) => {
                let name = String::from_utf8_lossy(&name.borrowed().checked_text()?).into_owned();
                push(members, (name, typed_json(value, &spec.args[1])?))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// About what it has in memory beside its own size, if that grows with the rows it takes in.
    pub fn held_bytes(&self) -> usize {
        match &self.state {
            State::Concat(texts) => texts.held_bytes(),
            State::Elements(list) => list.len() * size_of::<Json>(),
            State::Members(members) => members.len() * size_of::<(String, Json)>(),
            State::Numbers(numbers) => numbers.capacity() * size_of::<f64>(),
            State::Bytes(bytes) => bytes.as_ref().map_or(0, Vec::len),
            _ => 0,
        }
    }

    /// Takes in what was read of a row.
    pub fn take(&mut self, inputs: Inputs, spec: &Aggregate, env: &Env) -> Result<()> {
        let Inputs { first, rest } = inputs;
        match &mut self.state {
            State::Concat(texts) => texts.push(first, rest, spec, env),
            _ => self.take_value(&first, spec, env),
        }
    }

    /// Takes in a value that is not NULL, of an aggregate that reads no other.
    fn take_value(&mut self, value: &Val, spec: &Aggregate, env: &Env) -> Result<()> {
        match &mut self.state {
            State::Double { .. } | State::Variance { .. } | State::Numbers(_) => {
                self.state.add_number(value.to_f64(env)?);
            }
            State::Count(n) => *n += 1,
            State::Exact { int, decimal, count } => {
                *count += 1;
                match value {
                    Val::Int(v) => *int += i128::from(*v),
                    Val::UInt(v) => *int += i128::from(*v),
                    Val::Decimal(v) => add_decimal(decimal, v),
                    other => add_decimal(decimal, &other.to_decimal(env)?),
                }
            }
            State::Best(best) => {
                if spec.replaces(value, best.as_ref(), env)? {
                    let value = match value.borrowed() {
                        value @ (Val::Null | Val::Json(_)) => value,
                        value if spec.ty.is_string() => Val::Str(value.into_text()),
                        value => value,
                    };
                    *best = Some(value.into_owned());
                }
            }
            State::Bits(bits) => {
                let value = value.to_operand_bits(env)?;
                match spec.func.bit_op() {
                    BitOp::And => *bits &= value,
                    BitOp::Or => *bits |= value,
                    _ => *bits ^= value,
                }
            }
            State::Bytes(bytes) => {
                let value = value.to_text();
                *bytes = Some(match bytes {
                    Some(bytes) => joined(spec.func.bit_op(), bytes, &value)?,
                    None => value.into_owned(),
                });
            }
            State::Concat(_) | State::Elements(_) | State::Members(_) => {}
        }
        Ok(())
    }

    /// The result over the rows taken in so far; more may come.
    pub fn result(&self, spec: &Aggregate, ctx: &EvalCtx) -> Result<Value> {
        self.clone().finish(spec, ctx)
    }

    /// The result over the rows taken in; with none of them, what SQL says of the empty set. It begins anew, as before its first row.
    pub fn finish(&mut self, spec: &Aggregate, ctx: &EvalCtx) -> Result<Value> {
        Ok(match &mut self.state {
            State::Count(n) => Val::Int(take(n) as i64),
            State::Exact { count: 0, .. }
            | State::Double { count: 0, .. }
            | State::Variance { count: 0, .. } => Val::Null,
            State::Exact { int, decimal, count } => {
                let sum = exact_sum(take(int), decimal.take());
                let count = take(count);
                if spec.func == AggFunc::Sum {
                    return Ok(Val::Decimal(sum.round(spec.ty.scale.max(sum.scale()))));
                }
                let increment = ctx.env.div_precision_increment;
                if spec.as_double && spec.quotient == Quotient::Whole {
                    return Ok(Val::Double(sum.to_f64() / count as f64));
                }
                let average = sum.div(&Decimal::from(count), increment).unwrap_or(Decimal::ZERO);
                let average = match spec.quotient {
                    Quotient::Shown => average.round(spec.ty.scale),
                    Quotient::Divided | Quotient::Whole => average,
                };
                match spec.as_double {
                    true => Val::Double(average.to_f64()),
                    false => Val::Decimal(average),
                }
            }
            State::Numbers(numbers) => {
                let mut all = spec.accumulator();
                take(numbers)
                    .into_iter()
                    .for_each(|number| all.state.add_number(number));
                return all.finish(spec, ctx);
            }
            State::Double { sum, count } => {
                let (sum, count) = (take(sum), take(count));
                if !sum.is_finite() {
                    return Err(SqlError::value_out_of_range("DOUBLE", "sum(...)"));
                }
                Val::Double(if spec.func == AggFunc::Avg {
                    sum / count as f64
                } else {
                    sum
                })
            }
            State::Best(best) => best.take().unwrap_or(Val::Null),
            State::Concat(texts) => take(texts).finish(spec, ctx.env)?,
            State::Elements(list) if list.is_empty() => Val::Null,
            State::Elements(list) => shown(&Json::Array(take(list)))?,
            State::Members(members) if members.is_empty() => Val::Null,
            State::Members(members) => shown(&Json::large_object(take(members))?)?,
            State::Bytes(bytes) => {
                let none = || vec![spec.no_bits() as u8; spec.args[0].ty.length as usize];
                Val::string(bytes.take().unwrap_or_else(none))
            }
            State::Bits(bits) => Val::UInt(std::mem::replace(bits, spec.no_bits())),
            State::Variance { count, mean, squares } => {
                *mean = 0.0;
                variance(spec.func, take(count), take(squares))
            }
        })
    }
}

/// The exact sum of integers and decimals.
fn exact_sum(int: i128, decimal: Option<Decimal>) -> Decimal {
    match decimal {
        None => Decimal::new(int, 0),
        Some(sum) if int == 0 => sum,
        Some(sum) => sum.add(&Decimal::new(int, 0)),
    }
}

/// Adds to a sum of decimals, which may have none yet.
#[inline]
fn add_decimal(sum: &mut Option<Decimal>, more: &Decimal) {
    match sum {
        Some(sum) => *sum += more,
        None => *sum = Some(more.clone()),
    }
}

/// Variance or standard deviation of values whose squared distances from their mean have this sum.
fn variance(func: AggFunc, count: u64, squares: f64) -> Value {
    let sample = matches!(func, AggFunc::StdSamp | AggFunc::VarSamp);
    if sample && count < 2 {
        return Val::Null;
    }
    let variance = squares / (count - u64::from(sample)) as f64;
    let root = matches!(func, AggFunc::StdPop | AggFunc::StdSamp);
    Val::Double(if root { variance.sqrt() } else { variance })
}
