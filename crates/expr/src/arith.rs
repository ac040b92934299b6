//! Arithmetic, with MySQL's overflow errors and its quiet division by zero.

use super::bit_bytes;
use super::env::{Env, EvalCtx};
use super::node::{ArithOp, BitOp, Expr, NumKind};
use tidemark_types::error::{Result, SqlError};
use tidemark_types::{Decimal, SqlMode, SqlType, Val};

/// Division by zero is NULL; how loudly is the mode's business.
pub(crate) fn divided_by_zero(env: &Env) -> Result<Val<'static>> {
    if env.sql_mode.has(SqlMode::ERROR_FOR_DIVISION_BY_ZERO) {
        env.complain(SqlError::division_by_zero())?;
    }
    Ok(Val::Null)
}

fn overflow(kind: &str, op: ArithOp, pair: &[Expr; 2], env: &Env) -> SqlError {
    SqlError::value_out_of_range(kind, &super::print::binary(&pair[0], op.symbol(), &pair[1], env))
}

pub(crate) fn arith<'a>(
    op: ArithOp,
    kind: NumKind,
    pair: &'a [Expr; 2],
    ty: &SqlType,
    ctx: &EvalCtx<'a>,
) -> Result<Val<'a>> {
    let (a, b) = (pair[0].eval(ctx)?, pair[1].eval(ctx)?);
    if a.is_null() || b.is_null() {
        return Ok(Val::Null);
    }
    let env = ctx.env;
    if op == ArithOp::IntDiv {
        return int_div(&a, &b, kind, ty, pair, env);
    }
    match kind {
        NumKind::Int => int_arith(op, &a, &b, ty, pair, env),
        NumKind::Decimal => {
            if let Some(result) = short_decimal(op, &a, &b) {
                return Ok(Val::Decimal(result));
            }
            let (x, y) = (a.to_decimal(env)?, b.to_decimal(env)?);
            let result = match op {
                ArithOp::Add => x.add(&y),
                ArithOp::Sub => x.sub(&y),
                ArithOp::Mul => x.mul(&y),
                ArithOp::Div => match x.div(&y, env.div_precision_increment) {
                    Some(q) => q.round(ty.scale),
                    None => return divided_by_zero(env),
                },
                _ => match x.rem(&y) {
                    Some(r) => r,
                    None => return divided_by_zero(env),
                },
            };
            if result.integer_digits() > 81 {
                return Err(overflow("DECIMAL", op, pair, env));
            }
            Ok(Val::Decimal(result))
        }
        NumKind::Double => {
            let (x, y) = (a.to_f64(env)?, b.to_f64(env)?);
            if matches!(op, ArithOp::Div | ArithOp::Mod) && y == 0.0 {
                return divided_by_zero(env);
            }
            let result = match op {
                ArithOp::Add => x + y,
                ArithOp::Sub => x - y,
                ArithOp::Mul => x * y,
                ArithOp::Div => x / y,
                _ => x % y,
            };
            if !result.is_finite() {
                return Err(overflow("DOUBLE", op, pair, env));
            }
            Ok(Val::Double(result))
        }
    }
}

/// A sum, difference or product of numbers of up to 64 bits, which has no more than 128: no other number is made on the way.
#[inline]
fn short_decimal(op: ArithOp, a: &Val, b: &Val) -> Option<Decimal> {
    let short = |value: &Val| match value {
        Val::Int(number) => Some((*number, 0)),
        Val::Decimal(number) => number.short(),
        _ => None,
    };
    let ((x, x_scale), (y, y_scale)) = (short(a)?, short(b)?);
    match op {
        ArithOp::Add => Decimal::short_sum(x, x_scale, i128::from(y), y_scale),
        ArithOp::Sub => Decimal::short_sum(x, x_scale, -i128::from(y), y_scale),
        ArithOp::Mul => Decimal::short_product(x, x_scale, y, y_scale),
        _ => None,
    }
}

fn int_result(
    value: Option<i128>,
    op: ArithOp,
    ty: &SqlType,
    pair: &[Expr; 2],
    env: &Env,
) -> Result<Val<'static>> {
    if ty.unsigned {
        let value = value.and_then(|v| u64::try_from(v).ok());
        value
            .map(Val::UInt)
            .ok_or_else(|| overflow("BIGINT UNSIGNED", op, pair, env))
    } else {
        let value = value.and_then(|v| i64::try_from(v).ok());
        value
            .map(Val::Int)
            .ok_or_else(|| overflow("BIGINT", op, pair, env))
    }
}

fn int_arith(
    op: ArithOp,
    a: &Val,
    b: &Val,
    ty: &SqlType,
    pair: &[Expr; 2],
    env: &Env,
) -> Result<Val<'static>> {
    if let (Val::Int(x), Val::Int(y), false) = (a, b, ty.unsigned) {
        let result = match op {
            ArithOp::Add => x.checked_add(*y),
            ArithOp::Sub => x.checked_sub(*y),
            ArithOp::Mul => x.checked_mul(*y),
            _ if *y == 0 => return divided_by_zero(env),
            _ => Some(x.wrapping_rem(*y)),
        };
        return result
            .map(Val::Int)
            .ok_or_else(|| overflow("BIGINT", op, pair, env));
    }
    let (x, y) = (a.to_int(env)?, b.to_int(env)?);
    let result = match op {
        ArithOp::Add => x.checked_add(y),
        ArithOp::Sub => x.checked_sub(y),
        ArithOp::Mul => x.checked_mul(y),
        _ if y == 0 => return divided_by_zero(env),
        _ => Some(x % y),
    };
    int_result(result, op, ty, pair, env)
}

fn int_div(
    a: &Val,
    b: &Val,
    kind: NumKind,
    ty: &SqlType,
    pair: &[Expr; 2],
    env: &Env,
) -> Result<Val<'static>> {
    if kind == NumKind::Int {
        let (x, y) = (a.to_int(env)?, b.to_int(env)?);
        if y == 0 {
            return divided_by_zero(env);
        }
        return int_result(Some(x / y), ArithOp::IntDiv, ty, pair, env);
    }
    let (x, y) = (a.to_decimal(env)?, b.to_decimal(env)?);
    match x.div(&y, 0) {
        None => divided_by_zero(env),
        Some(q) => int_result(q.trunc_to_i128(), ArithOp::IntDiv, ty, pair, env),
    }
}

pub(crate) fn neg<'a>(e: &'a Expr, ty: &SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let value = e.eval(ctx)?;
    let overflow =
        |kind| SqlError::value_out_of_range(kind, &format!("-({})", super::print::operand(e, ctx.env)));
    Ok(match value {
        Val::Null => Val::Null,
        Val::Int(v) => Val::Int(v.checked_neg().ok_or_else(|| overflow("BIGINT"))?),
        Val::UInt(v) if v <= 1 << 63 => Val::Int((v as i64).wrapping_neg()),
        Val::UInt(_) => return Err(overflow("BIGINT")),
        Val::Float(v) => Val::Double(-(v as f64)),
        Val::Double(v) => Val::Double(-v),
        Val::Decimal(d) => Val::Decimal(d.neg()),
        other if ty.is_float() => Val::Double(-other.to_f64(ctx.env)?),
        other => {
            let d = other.to_decimal(ctx.env)?.neg();
            if ty.is_integer() {
                Val::Int(d.to_i128().unwrap_or(0) as i64)
            } else {
                Val::Decimal(d)
            }
        }
    })
}

pub(crate) fn bit<'a>(op: BitOp, pair: &'a [Expr; 2], ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let (a, b) = (pair[0].eval(ctx)?, pair[1].eval(ctx)?);
    if a.is_null() || b.is_null() {
        return Ok(Val::Null);
    }
    if bit_bytes::is_on_bytes(op, &pair[0], &pair[1]) {
        return Ok(Val::string(match op {
            BitOp::ShiftLeft | BitOp::ShiftRight => {
                bit_bytes::shifted(op, &a.to_text(), b.to_operand_bits(ctx.env)?)
            }
            _ => bit_bytes::joined(op, &a.to_text(), &b.to_text())?,
        }));
    }
    let (x, y) = (a.to_operand_bits(ctx.env)?, b.to_operand_bits(ctx.env)?);
    Ok(Val::UInt(match op {
        BitOp::And => x & y,
        BitOp::Or => x | y,
        BitOp::Xor => x ^ y,
        BitOp::ShiftLeft => x.checked_shl(y.min(64) as u32).unwrap_or(0),
        BitOp::ShiftRight => x.checked_shr(y.min(64) as u32).unwrap_or(0),
    }))
}

impl ArithOp {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            ArithOp::Add => "+",
            ArithOp::Sub => "-",
            ArithOp::Mul => "*",
            ArithOp::Div => "/",
            ArithOp::IntDiv => "DIV",
            ArithOp::Mod => "%",
        }
    }
}

/// The value of a DECIMAL type nearest to a number that does not fit it.
pub(crate) fn clamp_decimal(d: &Decimal, ty: &SqlType) -> Option<Decimal> {
    let rounded = d.round(ty.scale);
    let max = Decimal::max_value(ty.length, ty.scale);
    if rounded > max {
        return Some(max);
    }
    (rounded < max.neg()).then(|| max.neg())
}
