//! Numeric functions.

use super::digest::random_u64;
use super::locale::{EN_US, NumberStyle};
use super::*;
use crate::bit_bytes::is_bytes;
use crate::env::{Env, RandState};
use crate::infer::{decimal_shape, number_kind};
use crate::node::NumKind;
use std::collections::hash_map::Entry;
use tidemark_types::Decimal;
use tidemark_types::convert::{clamp_int, with_places};

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("abs", (1, 1), absolute_type, abs)
        .null_when(NullWhen::AnyArgument)
        .takes(&[ParamKind::Double]),
    def("ceil", (1, 1), whole_number, |args, ty, ctx| {
        to_whole(args, ty, ctx, Decimal::ceil, f64::ceil)
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::Double]),
    def("floor", (1, 1), whole_number, |args, ty, ctx| {
        to_whole(args, ty, ctx, Decimal::floor, f64::floor)
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::Double]),
    def("round", (1, 2), rounded_type, |args, ty, ctx| {
        rounded(args, ty, ctx, true)
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::Decimal, ParamKind::Int(false)]),
    def("truncate", (2, 2), rounded_type, |args, ty, ctx| {
        rounded(args, ty, ctx, false)
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::Decimal, ParamKind::Int(false)]),
    def("sign", (1, 1), number_int, |args, _, ctx| {
        let x = known!(double(&args[0], ctx)?);
        Ok(Val::Int(if x > 0.0 {
            1
        } else if x < 0.0 {
            -1
        } else {
            0
        }))
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::Double]),
    def("mod", (2, 2), mod_type, |args, _, ctx| args[0].eval(ctx)).null_when(NullWhen::AnyArgument),
    def("pow", (2, 2), double_type, |args, _, ctx| {
        let (x, y) = (known!(double(&args[0], ctx)?), known!(double(&args[1], ctx)?));
        finite(x.powf(y), "pow", args, ctx.env)
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::Double, ParamKind::Double]),
    def("sqrt", (1, 1), nullable_double, |args, _, ctx| {
        let x = known!(double(&args[0], ctx)?);
        Ok(if x < 0.0 { Val::Null } else { Val::Double(x.sqrt()) })
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::Double]),
    def("exp", (1, 1), double_type, |args, _, ctx| {
        finite(known!(double(&args[0], ctx)?).exp(), "exp", args, ctx.env)
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::Double]),
    def("ln", (1, 1), nullable_double, |args, _, ctx| {
        logarithm(known!(double(&args[0], ctx)?), f64::ln, ctx)
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::Double]),
    def("log2", (1, 1), nullable_double, |args, _, ctx| {
        logarithm(known!(double(&args[0], ctx)?), f64::log2, ctx)
    })
    .takes(&[ParamKind::Double]),
    def("log10", (1, 1), nullable_double, |args, _, ctx| {
        logarithm(known!(double(&args[0], ctx)?), f64::log10, ctx)
    })
    .takes(&[ParamKind::Double]),
    def("log", (1, 2), nullable_double, log).takes(&[ParamKind::Double, ParamKind::Double]),
    def(
        "pi",
        (0, 0),
        |_, _| {
            let mut ty = SqlType::double().with_nullable(false).with_length(8);
            ty.scale = 6;
            Ok(ty)
        },
        |_, _, _| Ok(Val::Double(std::f64::consts::PI)),
    ),
    def("sin", (1, 1), double_type, |args, _, ctx| {
        Ok(Val::Double(known!(double(&args[0], ctx)?).sin()))
    })
    .takes(&[ParamKind::Double]),
    def("cos", (1, 1), double_type, |args, _, ctx| {
        Ok(Val::Double(known!(double(&args[0], ctx)?).cos()))
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::Double]),
    def("tan", (1, 1), double_type, |args, _, ctx| {
        Ok(Val::Double(known!(double(&args[0], ctx)?).tan()))
    })
    .takes(&[ParamKind::Double]),
    def("cot", (1, 1), double_type, |args, _, ctx| {
        finite(1.0 / known!(double(&args[0], ctx)?).tan(), "cot", args, ctx.env)
    })
    .takes(&[ParamKind::Double]),
    def("asin", (1, 1), nullable_double, |args, _, ctx| {
        Ok(number(known!(double(&args[0], ctx)?).asin()))
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::Double]),
    def("acos", (1, 1), nullable_double, |args, _, ctx| {
        Ok(number(known!(double(&args[0], ctx)?).acos()))
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::Double]),
    def("atan", (1, 2), double_type, arctan)
        .null_when(NullWhen::AnyArgument)
        .takes(&[ParamKind::Double]),
    def("atan2", (1, 2), double_type, arctan)
        .null_when(NullWhen::AnyArgument)
        .takes(&[ParamKind::Double, ParamKind::Double]),
    def("degrees", (1, 1), double_type, |args, _, ctx| {
        finite(
            known!(double(&args[0], ctx)?) * (180.0 / std::f64::consts::PI),
            "degrees",
            args,
            ctx.env,
        )
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::Double]),
    def("radians", (1, 1), double_type, |args, _, ctx| {
        Ok(Val::Double(
            known!(double(&args[0], ctx)?) * (std::f64::consts::PI / 180.0),
        ))
    })
    .takes(&[ParamKind::Double]),
    volatile(
        "rand",
        (0, 1),
        |args, _| {
            numbers(args);
            Ok(SqlType::double().with_nullable(false))
        },
        rand,
    )
    .takes(&[ParamKind::Double]),
    def(
        "crc32",
        (1, 1),
        |args, bind| Ok(int_type(args, bind)?.unsigned()),
        |args, _, ctx| {
            let mut hasher = crc32fast::Hasher::new();
            for piece in pieces(&known!(bytes(&args[0], ctx)?)) {
                hasher.update(piece?);
            }
            Ok(Val::UInt(hasher.finalize().into()))
        },
    )
    .null_when(NullWhen::AnyArgument),
    def(
        "conv",
        (3, 3),
        |args, bind| {
            if args[0].ty.kind != TypeKind::Bit {
                textual(&mut args[..1], bind);
            }
            Ok(server_text(64, true, bind))
        },
        conv,
    )
    .takes(&[
        ParamKind::Int(false),
        ParamKind::Int(false),
        ParamKind::Int(false),
    ]),
    def("bit_count", (1, 1), bit_count_type, |args, _, ctx| {
        let value = args[0].eval(ctx)?;
        if value.is_null() {
            return Ok(Val::Null);
        }
        let ones: i64 = match &value {
            Val::Str(bytes) if is_bytes(&args[0]) => {
                let ones = |piece: &[u8]| piece.iter().map(|b| b.count_ones() as i64).sum::<i64>();
                pieces(bytes).map(|piece| piece.map(ones)).sum::<Result<i64>>()?
            }
            value => value.to_operand_bits(ctx.env)?.count_ones() as i64,
        };
        Ok(Val::Int(ones))
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::Mask]),
    def(
        "format",
        (2, 3),
        |args, bind| {
            let nullable = any_nullable(args);
            Ok(server_text(
                args[0].ty.display_length() as u64 * 2 + 32,
                nullable,
                bind,
            ))
        },
        format,
    )
    .takes(&[ParamKind::Decimal, ParamKind::Int(false)]),
];

/// A value only where it is a number.
fn number(x: f64) -> Val<'static> {
    if x.is_nan() { Val::Null } else { Val::Double(x) }
}

fn finite(x: f64, name: &str, args: &[Expr], env: &Env) -> Result<Val<'static>> {
    if x.is_finite() {
        return Ok(Val::Double(x));
    }
    Err(SqlError::value_out_of_range(
        "DOUBLE",
        &crate::print::call(name, args, env),
    ))
}

fn logarithm<'a>(x: f64, of: fn(f64) -> f64, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    if x <= 0.0 {
        ctx.env.complain(SqlError::invalid_logarithm())?;
        return Ok(Val::Null);
    }
    Ok(Val::Double(of(x)))
}

fn log<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let first = known!(double(&args[0], ctx)?);
    let Some(second) = args.get(1) else {
        return logarithm(first, f64::ln, ctx);
    };
    let x = known!(double(second, ctx)?);
    if first <= 0.0 || x <= 0.0 || first == 1.0 {
        ctx.env.complain(SqlError::invalid_logarithm())?;
        return Ok(Val::Null);
    }
    Ok(Val::Double(x.ln() / first.ln()))
}

fn arctan<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let y = known!(double(&args[0], ctx)?);
    Ok(Val::Double(match args.get(1) {
        Some(x) => y.atan2(known!(double(x, ctx)?)),
        None => y.atan(),
    }))
}

fn bit_count_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    let arg = std::mem::replace(&mut args[0], build::null());
    args[0] = build::as_integer(build::whole_seconds(arg));
    number_int(args, bind)
}

/// An integer made of a number.
pub(super) fn number_int(args: &mut Vec<Expr>, _bind: &BindCtx) -> Result<SqlType> {
    numbers(args);
    Ok(SqlType::bigint().with_nullable(any_nullable(args)))
}

/// The number's own kind of type.
fn same_number(args: &mut Vec<Expr>, _bind: &BindCtx) -> Result<SqlType> {
    numbers(args);
    let ty = &args[0].ty;
    let result = match number_kind(ty) {
        _ if ty.is_temporal() => SqlType::double(),
        NumKind::Int if ty.unsigned => SqlType::bigint_unsigned().with_length(ty.length),
        NumKind::Int => SqlType::bigint().with_length(ty.length),
        NumKind::Decimal => {
            let (int, scale) = decimal_shape(ty);
            SqlType::decimal((int + scale).clamp(1, 65), scale as u8)
        }
        NumKind::Double => SqlType::double(),
    };
    Ok(result.with_nullable(ty.nullable))
}

/// ABS keeps the digits behind the point of a DOUBLE(M, D), unlike what rounds.
fn absolute_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    let ty = same_number(args, bind)?;
    Ok(match args[0].ty.fixed_scale() {
        Some(scale) if ty.is_float() => SqlType::double_of_scale(scale).with_nullable(ty.nullable),
        _ => ty,
    })
}

fn abs<'a>(args: &'a [Expr], ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let value = args[0].eval(ctx)?;
    Ok(match value {
        Val::Null | Val::UInt(_) => value,
        Val::Int(v) => match v.checked_abs() {
            Some(abs) => Val::Int(abs),
            None => {
                return Err(SqlError::value_out_of_range(
                    "BIGINT",
                    &crate::print::call("abs", args, ctx.env),
                ));
            }
        },
        Val::Decimal(d) if d.scale() < ty.scale => Val::Decimal(d.abs().round(ty.scale)),
        Val::Decimal(d) => Val::Decimal(d.abs()),
        other if ty.is_float() => Val::Double(other.to_f64(ctx.env)?.abs()),
        other if ty.is_integer() => Val::Int(other.to_i64(ctx.env)?.saturating_abs()),
        other => Val::Decimal(other.to_decimal(ctx.env)?.abs()),
    })
}

/// CEIL and FLOOR of a decimal are integers where these are wide enough.
fn whole_number(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    let ty = same_number(args, bind)?;
    if ty.kind != TypeKind::Decimal {
        return Ok(ty);
    }
    let digits = decimal_shape(&ty).0;
    let whole = if digits < 18 {
        SqlType::bigint()
    } else {
        SqlType::decimal((digits + 1).min(65), 0)
    };
    Ok(whole.with_nullable(ty.nullable))
}

fn to_whole<'a>(
    args: &'a [Expr],
    ty: &'a SqlType,
    ctx: &EvalCtx<'a>,
    exact: fn(&Decimal) -> Decimal,
    float: fn(f64) -> f64,
) -> Result<Val<'a>> {
    let value = args[0].eval(ctx)?;
    Ok(match value {
        Val::Null | Val::Int(_) | Val::UInt(_) => value,
        other if ty.is_float() => Val::Double(float(other.to_f64(ctx.env)?)),
        other => {
            let whole = exact(&other.to_decimal(ctx.env)?);
            match whole.to_i128().filter(|_| ty.is_integer()) {
                Some(v) => Val::Int(clamp_int(v) as i64),
                None => Val::Decimal(whole),
            }
        }
    })
}

/// ROUND(x, d) has the scale `d` where that is a constant.
fn rounded_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    let mut ty = same_number(args, bind)?;
    // Digits that are no constant are those of the type, whatever is rounded.
    let places = match args.get(1) {
        None => Some(0),
        Some(places) => match build::constant(places, bind) {
            Some(Val::Int(n)) => Some(n),
            _ => None,
        },
    };
    if ty.kind == TypeKind::Decimal {
        let (int, scale) = decimal_shape(&ty);
        if let Some(places) = places {
            let kept = (places.max(0) as u32).min(scale);
            ty = SqlType::decimal((int + 1 + kept).clamp(1, 65), kept as u8).with_nullable(ty.nullable);
        }
    }
    ty.nullable = any_nullable(args);
    Ok(ty)
}

fn rounded<'a>(args: &'a [Expr], ty: &'a SqlType, ctx: &EvalCtx<'a>, round: bool) -> Result<Val<'a>> {
    let value = args[0].eval(ctx)?;
    if value.is_null() {
        return Ok(Val::Null);
    }
    let places = match args.get(1) {
        Some(e) => known!(int(e, ctx)?).clamp(-100, 100) as i32,
        None => 0,
    };
    Ok(match value {
        Val::Int(_) | Val::UInt(_) if places >= 0 => value,
        Val::Int(_) | Val::UInt(_) => {
            let whole = value
                .to_decimal(ctx.env)?
                .rescale(places, round)
                .to_i128()
                .unwrap_or(0);
            let fits = if ty.unsigned {
                u64::try_from(whole).is_ok()
            } else {
                i64::try_from(whole).is_ok()
            };
            if !fits {
                let kind = if ty.unsigned { "BIGINT UNSIGNED" } else { "BIGINT" };
                return Err(SqlError::value_out_of_range(
                    kind,
                    &crate::print::call("round", args, ctx.env),
                ));
            }
            tidemark_types::convert::int_value(whole, ty.unsigned)
        }
        other if ty.is_float() => Val::Double(round_double(other.to_f64(ctx.env)?, places, round)),
        other => {
            let d = other.to_decimal(ctx.env)?.rescale(places, round);
            if ty.is_integer() {
                Val::Int(clamp_int(d.to_i128().unwrap_or(0)) as i64)
            } else {
                Val::Decimal(if d.scale() < ty.scale {
                    d.round(ty.scale)
                } else {
                    d
                })
            }
        }
    })
}

/// Doubles round half to even at the digit, as `rint` does.
fn round_double(x: f64, places: i32, round: bool) -> f64 {
    let adjust = |v: f64| if round { v.round_ties_even() } else { v.trunc() };
    let unit = 10f64.powi(places.abs());
    if places >= 0 {
        let scaled = x * unit;
        if scaled.is_infinite() {
            x
        } else {
            adjust(scaled) / unit
        }
    } else if unit.is_infinite() {
        0.0
    } else {
        adjust(x / unit) * unit
    }
}

/// `MOD(a, b)` is `a % b`: the first argument becomes that.
fn mod_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    let right = args.pop().unwrap_or_else(build::null);
    let left = args.pop().unwrap_or_else(build::null);
    let rem = build::arith(crate::ArithOp::Mod, left, right, bind)?;
    let ty = rem.ty.clone();
    args.push(rem);
    Ok(ty)
}

/// One sequence per call site; RAND(n) begins anew with each statement, or each row when `n` changes.
fn rand<'a>(args: &'a [Expr], ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let site = std::ptr::from_ref(ty) as usize;
    let seed = match args.first() {
        Some(e) => Some(int(e, ctx)?.unwrap_or(0) as u32),
        None => None,
    };
    let fixed = args.first().is_none_or(Expr::is_constant);
    if let Some(seed) = seed.filter(|_| !fixed) {
        return Ok(Val::Double(RandState::seeded(seed).advance()));
    }
    let mut kept = ctx.env.kept();
    let state = match kept.random.entry(site) {
        Entry::Occupied(state) => state.into_mut(),
        Entry::Vacant(place) => place.insert(match seed {
            Some(seed) => RandState::seeded(seed),
            None => RandState::new(random_u64("rand")?, random_u64("rand")?),
        }),
    };
    Ok(Val::Double(state.advance()))
}

/// Between number bases 2 to 36; a negative base means signed.
fn conv<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let digits = known!(text(&args[0], ctx)?);
    let (from, to) = (known!(int(&args[1], ctx)?), known!(int(&args[2], ctx)?));
    if !(2..=36).contains(&from.unsigned_abs()) || !(2..=36).contains(&to.unsigned_abs()) {
        return Ok(Val::Null);
    }
    let written = digits.trim_ascii();
    if written.is_empty() {
        return Ok(Val::Null);
    }
    let digits = written;
    let (negative, digits) = match digits.first() {
        Some(b'-') => (true, &digits[1..]),
        Some(b'+') => (false, &digits[1..]),
        _ => (false, digits),
    };
    let base = from.unsigned_abs() as u32;
    let mut value = 0u128;
    for b in digits {
        let Some(digit) = (*b as char).to_digit(base) else {
            break;
        };
        value = (value * base as u128 + digit as u128).min(1 << 70);
    }
    if value > u64::MAX as u128 {
        value = u64::MAX as u128;
        let shown = tidemark_types::convert::excerpt(written);
        ctx.env
            .complain(SqlError::truncated_wrong_value("DECIMAL", &shown))?;
    }
    let mut value = value as u64;
    if from < 0 {
        value = value.min(i64::MAX as u64 + negative as u64);
    }
    if negative {
        value = value.wrapping_neg();
    }
    let signed = to < 0 && (value as i64) < 0;
    let magnitude = if signed {
        (value as i64).unsigned_abs()
    } else {
        value
    };
    let mut out = in_base(magnitude, to.unsigned_abs() as u32);
    if signed {
        out.insert(0, '-');
    }
    Ok(Val::string(out))
}

pub(super) fn in_base(mut value: u64, base: u32) -> String {
    let mut out = Vec::new();
    loop {
        let digit = std::char::from_digit((value % base as u64) as u32, base).unwrap_or('0');
        out.push(digit.to_ascii_uppercase());
        value /= base as u64;
        if value == 0 {
            return out.iter().rev().collect();
        }
    }
}

/// `12,345.68`, or as a locale writes it.
fn format<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let value = args[0].eval(ctx)?;
    if value.is_null() {
        return Ok(Val::Null);
    }
    let places = known!(int(&args[1], ctx)?).clamp(0, 30) as usize;
    let plain = match &value {
        Val::Int(_) | Val::UInt(_) | Val::Decimal(_) => {
            value.to_decimal(ctx.env)?.round(places as u8).to_string()
        }
        other => {
            let x = other.to_f64(ctx.env)?;
            let rounded = match places {
                0..16 => round_double(x, places as i32, true),
                _ => x,
            };
            with_places(rounded, places)
        }
    };
    let style = match args.get(2) {
        Some(locale) => number_style(&locale.eval(ctx)?, ctx.env),
        None => &EN_US,
    };
    Ok(Val::string(style.write(&plain)))
}

/// The style of a locale; with warning 1649 that of en_US for one that is not known.
fn number_style(locale: &Val, env: &Env) -> &'static NumberStyle {
    let text = locale.to_text();
    let name = match locale.is_null() {
        true => "NULL".into(),
        false => String::from_utf8_lossy(&text),
    };
    NumberStyle::of(&name).unwrap_or_else(|| {
        env.warnings.warn(SqlError::unknown_locale(&name));
        &EN_US
    })
}
