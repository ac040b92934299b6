//! The clock: NOW() and its kin, Unix time, time zones.

use super::temporal::written;
use super::temporal_sum::date_digits;
use super::*;
use std::time::{SystemTime, UNIX_EPOCH};
use tidemark_types::temporal::MICROS_PER_SECOND;
use tidemark_types::temporal::format::format_datetime;
use tidemark_types::{DateTime, Decimal};

pub(super) static FUNCTIONS: &[FuncDef] = &[
    stable(
        "now",
        (0, 1),
        |args, _| Ok(SqlType::datetime(fsp(args, "now")?).with_nullable(false)),
        |_, ty, ctx| {
            Ok(Val::DateTime(
                ctx.env.time_zone.local(ctx.env.now_micros, 6).truncate(ty.scale),
            ))
        },
    ),
    volatile(
        "sysdate",
        (0, 1),
        |args, _| Ok(SqlType::datetime(fsp(args, "sysdate")?).with_nullable(false)),
        |_, ty, ctx| {
            let now = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default()
                .as_micros() as i64;
            Ok(Val::DateTime(ctx.env.time_zone.local(now, 6).truncate(ty.scale)))
        },
    ),
    stable(
        "curdate",
        (0, 0),
        |_, _| Ok(SqlType::date().with_nullable(false)),
        |_, _, ctx| Ok(Val::Date(ctx.env.time_zone.local(ctx.env.now_micros, 0).date)),
    ),
    stable(
        "curtime",
        (0, 1),
        |args, _| Ok(SqlType::time(fsp(args, "curtime")?).with_nullable(false)),
        |_, ty, ctx| {
            Ok(Val::Time(
                ctx.env
                    .time_zone
                    .local(ctx.env.now_micros, 6)
                    .truncate(ty.scale)
                    .time(),
            ))
        },
    ),
    stable(
        "utc_timestamp",
        (0, 1),
        |args, _| Ok(SqlType::datetime(fsp(args, "utc_timestamp")?).with_nullable(false)),
        |_, ty, ctx| {
            Ok(Val::DateTime(
                TimeZone::UTC.local(ctx.env.now_micros, 6).truncate(ty.scale),
            ))
        },
    ),
    stable(
        "utc_date",
        (0, 0),
        |_, _| Ok(SqlType::date().with_nullable(false)),
        |_, _, ctx| Ok(Val::Date(TimeZone::UTC.local(ctx.env.now_micros, 0).date)),
    ),
    stable(
        "utc_time",
        (0, 1),
        |args, _| Ok(SqlType::time(fsp(args, "utc_time")?).with_nullable(false)),
        |_, ty, ctx| {
            Ok(Val::Time(
                TimeZone::UTC
                    .local(ctx.env.now_micros, 6)
                    .truncate(ty.scale)
                    .time(),
            ))
        },
    ),
    stable("unix_timestamp", (0, 1), unix_type, unix_timestamp).takes(&[ParamKind::DateTime]),
    stable("from_unixtime", (1, 2), from_unix_type, from_unixtime).takes(&[ParamKind::Decimal]),
    def(
        "convert_tz",
        (3, 3),
        |args, bind| {
            let digits = date_digits(&args[0], bind);
            want_date(&mut args[0]);
            Ok(SqlType::datetime(digits).with_nullable(true))
        },
        convert_tz,
    )
    .takes(&[ParamKind::DateTime]),
];

/// The number of fractional digits asked for, a constant of 0 to 6.
fn fsp(args: &[Expr], name: &str) -> Result<u8> {
    match args.first().map(|e| &e.node) {
        None => Ok(0),
        Some(crate::Node::Literal(Val::Int(n))) if (0..=6).contains(n) => Ok(*n as u8),
        Some(crate::Node::Literal(Val::Int(n))) => Err(SqlError::too_big_precision(*n as u64, name, 6)),
        Some(_) => Err(SqlError::wrong_arguments(name)),
    }
}

/// UNIX_TIMESTAMP counts seconds; with fractions where its argument has them.
fn unix_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    let Some(arg) = args.first() else {
        return Ok(SqlType::bigint().with_nullable(false));
    };
    let scale = match &arg.node {
        _ if arg.ty.is_temporal() => arg.ty.scale,
        crate::Node::Literal(Val::Str(s)) => {
            let parsed = tidemark_types::temporal::parse::datetime(s, bind.sql_mode);
            parsed.map_or(6, |p| p.value.fsp)
        }
        _ if arg.ty.is_string() => 6,
        _ => arg.ty.scale.min(6),
    };
    let ty = if scale == 0 {
        SqlType::bigint()
    } else {
        SqlType::decimal(12 + scale as u32, scale)
    };
    want_date(&mut args[0]);
    Ok(ty.with_nullable(true))
}

/// A sum of times, a year of a column and what IF or CASE chooses are the dates that they are.
fn want_date(arg: &mut Expr) {
    let taken = std::mem::replace(arg, build::null());
    *arg = build::date_wanted(taken);
}

fn unix_timestamp<'a>(args: &'a [Expr], ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let env = ctx.env;
    let Some(arg) = args.first() else {
        return Ok(Val::Int(env.now_micros.div_euclid(MICROS_PER_SECOND)));
    };
    let value = arg.eval(ctx)?;
    if value.is_null() {
        return Ok(Val::Null);
    }
    let micros = match value.to_moment(env)? {
        Some(t) if !t.date.has_zero_part() => env.time_zone.instant(t),
        _ => 0,
    };
    // Before 1970 and after the year 3001 there is no Unix time in MySQL.
    let micros = if (0..=32_536_771_199_999_999).contains(&micros) {
        micros
    } else {
        0
    };
    if ty.is_integer() {
        return Ok(Val::Int(micros / MICROS_PER_SECOND));
    }
    Ok(Val::Decimal(Decimal::new(micros as i128, 6).truncate(ty.scale)))
}

fn from_unix_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    numbers(args);
    if args.len() == 2 {
        return Ok(server_text(256, true, bind));
    }
    let scale = args[0].ty.fixed_scale().map_or(6, |scale| scale.min(6));
    Ok(SqlType::datetime(scale).with_nullable(true))
}

fn from_unixtime<'a>(args: &'a [Expr], ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let value = args[0].eval(ctx)?;
    if value.is_null() {
        return Ok(Val::Null);
    }
    let micros = value
        .to_decimal(ctx.env)?
        .mul(&Decimal::from(MICROS_PER_SECOND))
        .to_i128();
    let Some(micros) = micros.filter(|m| (0..=32_536_771_199_999_999).contains(m)) else {
        return Ok(Val::Null);
    };
    let fsp = if ty.kind == TypeKind::DateTime {
        ty.scale
    } else {
        6
    };
    let local = ctx.env.time_zone.local(micros as i64, fsp);
    match args.get(1) {
        None => Ok(local.round(fsp).map_or(Val::Null, Val::DateTime)),
        Some(format) => {
            let format = known!(text(format, ctx)?);
            let text = format_datetime(local, &format, ctx.env.lc_time_names)?;
            Ok(text.map_or(Val::Null, |text| written(text, ty)))
        }
    }
}

fn convert_tz<'a>(args: &'a [Expr], ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let value = args[0].eval(ctx)?;
    if value.is_null() {
        return Ok(Val::Null);
    }
    let (from, to) = (known!(text(&args[1], ctx)?), known!(text(&args[2], ctx)?));
    let zone = |name: &[u8]| match std::str::from_utf8(name) {
        Ok("SYSTEM") => Some(TimeZone::system()),
        Ok(name) => TimeZone::parse(name).ok(),
        Err(_) => None,
    };
    let (Some(from), Some(to)) = (zone(&from), zone(&to)) else {
        return Ok(Val::Null);
    };
    let local: DateTime = known!(value.to_datetime(ctx.env)?);
    if local.date.has_zero_part() {
        return Ok(Val::Null);
    }
    let instant = from.instant(local);
    // Outside the range of Unix time, which begins with its first second, nothing is converted.
    let result = if (1_000_000..=32_536_771_199_999_999).contains(&instant) {
        to.local(instant, local.fsp)
    } else {
        local
    };
    Ok(Val::DateTime(DateTime {
        fsp: ty.scale,
        ..result
    }))
}
