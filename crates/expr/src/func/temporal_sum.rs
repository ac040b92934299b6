//! Sums and differences of dates and times.

use super::numeric::number_int;
use super::temporal::dated;
use super::*;
use crate::interval::{Sum, add_to, looks_like_a_date};
use crate::node::{IntervalUnit, Node};
use tidemark_types::convert::{excerpt, refused_by_mode};
use tidemark_types::temporal::{MICROS_PER_DAY, MICROS_PER_SECOND, parse};
use tidemark_types::{Date, DateTime, Time};

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def(
        "datediff",
        (2, 2),
        |args, _| {
            args.iter_mut().for_each(dated);
            Ok(SqlType::bigint().with_nullable(true))
        },
        |args, _, ctx| {
            let (a, b) = (
                args[0].eval(ctx)?.to_written_date(ctx.env)?,
                args[1].eval(ctx)?.to_written_date(ctx.env)?,
            );
            let (a, b) = (known!(a), known!(b));
            if a.has_zero_part() || b.has_zero_part() {
                return Ok(Val::Null);
            }
            Ok(Val::Int(a.day_number() - b.day_number()))
        },
    )
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::DateTime, ParamKind::DateTime]),
    def(
        "timediff",
        (2, 2),
        |args, bind| {
            let fsp = time_digits(&args[0], bind).max(time_digits(&args[1], bind));
            Ok(SqlType::time(fsp).with_nullable(true))
        },
        timediff,
    ),
    def(
        "timestampdiff",
        (3, 3),
        |args, _| {
            unit_of(&args[0], "timestampdiff")?;
            args[1..].iter_mut().for_each(dated);
            Ok(SqlType::bigint().with_nullable(true))
        },
        timestampdiff,
    )
    .takes(&[ParamKind::Text, ParamKind::DateTime, ParamKind::DateTime]),
    def("timestampadd", (3, 3), timestampadd_type, |args, ty, ctx| {
        let unit = unit_of(&args[0], "timestampadd")?;
        let sum = Sum {
            date: &args[2],
            amount: &args[1],
            unit,
            negate: false,
        };
        add_to(sum, ty, ctx)
    }),
    def(
        "adddate",
        (2, 2),
        |args, bind| days_type(args, false, bind),
        |args, _, ctx| args[0].eval(ctx),
    ),
    def(
        "subdate",
        (2, 2),
        |args, bind| days_type(args, true, bind),
        |args, _, ctx| args[0].eval(ctx),
    ),
    def("addtime", (2, 2), addtime_type, |args, ty, ctx| {
        addtime(args, ty, ctx, 1)
    })
    .takes(&[ParamKind::Time, ParamKind::Time]),
    def("subtime", (2, 2), addtime_type, |args, ty, ctx| {
        addtime(args, ty, ctx, -1)
    })
    .takes(&[ParamKind::Time, ParamKind::Time]),
    def(
        "timestamp",
        (1, 2),
        |args, bind| {
            let added = args.get(1).map_or(0, |added| time_digits(added, bind));
            let fsp = date_digits(&args[0], bind).max(added);
            dated(&mut args[0]);
            Ok(SqlType::datetime(fsp).with_nullable(true))
        },
        |args, ty, ctx| {
            let value = args[0].eval(ctx)?;
            let t = known!(value.to_datetime(ctx.env)?);
            if refused_by_mode(t.date, ctx.env.sql_mode) {
                if matches!(value, Val::Str(_)) {
                    let shown = excerpt(&value.to_text());
                    ctx.env.complain(SqlError::incorrect_value("datetime", &shown))?;
                }
                return Ok(Val::Null);
            }
            let Some(second) = args.get(1) else {
                return Ok(t.round(ty.scale).map_or(Val::Null, Val::DateTime));
            };
            let time = known!(second.eval(ctx)?.to_time(ctx.env)?);
            match DateTime::from_micros(t.to_micros() + time.micros, ty.scale) {
                Some(sum) => Ok(Val::DateTime(sum)),
                None => beyond("DATETIME", "timestamp", args, ctx),
            }
        },
    )
    .takes(&[ParamKind::DateTime, ParamKind::Time]),
    def("period_add", (2, 2), number_int, |args, _, ctx| {
        let (period, months) = (known!(int(&args[0], ctx)?), known!(int(&args[1], ctx)?));
        Ok(Val::Int(from_months(
            months_of(period, "period_add")?.saturating_add(months),
        )))
    })
    .takes(&[ParamKind::Int(false), ParamKind::Int(false)]),
    def("period_diff", (2, 2), number_int, |args, _, ctx| {
        let (a, b) = (known!(int(&args[0], ctx)?), known!(int(&args[1], ctx)?));
        Ok(Val::Int(
            months_of(a, "period_diff")? - months_of(b, "period_diff")?,
        ))
    })
    .takes(&[ParamKind::Int(false), ParamKind::Int(false)]),
];

/// Digits behind the point of an operand taken for a time; a text that is none may have six.
pub(super) fn time_digits(e: &Expr, bind: &BindCtx) -> u8 {
    digits(e, bind, |text| parse::time(text).map(|(time, _)| time.fsp))
}

/// The same of an operand taken for a date and time.
pub(super) fn date_digits(e: &Expr, bind: &BindCtx) -> u8 {
    digits(e, bind, |text| {
        build::date_of(text, bind.sql_mode).map(|p| p.value.fsp)
    })
}

fn digits(e: &Expr, bind: &BindCtx, of_text: impl Fn(&[u8]) -> Option<u8>) -> u8 {
    match &e.node {
        _ if e.ty.is_temporal() => e.ty.scale,
        _ if e.ty.kind == TypeKind::Null => 0,
        _ if e.ty.is_string() => match build::constant(e, bind) {
            Some(Val::Str(text)) => of_text(&text).unwrap_or(6).min(6),
            _ => 6,
        },
        _ => e.ty.scale.min(6),
    }
}

/// NULL for a date or time that no type holds, with warning 6527.
pub(super) fn beyond<'a>(kind: &str, function: &str, args: &[Expr], ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let call = crate::print::call(function, args, ctx.env);
    ctx.env.complain(SqlError::moment_out_of_range(kind, &call))?;
    Ok(Val::Null)
}

/// A date and time, or a duration; texts and numbers are whichever they look like.
enum Moment {
    Time(Time),
    DateTime(DateTime),
}

/// Numbers from here on are dates: no duration has so many digits.
const DATES_FROM: i128 = 10_000_000;

fn moment(value: &Val, ctx: &EvalCtx) -> Result<Option<Moment>> {
    Ok(match value {
        Val::Date(_) | Val::DateTime(_) => value.to_datetime(ctx.env)?.map(Moment::DateTime),
        Val::Str(s) => {
            let dated = looks_like_a_date(s).then(|| parse::datetime(s, ctx.env.sql_mode));
            match dated.flatten() {
                Some(p) => Some(Moment::DateTime(p.in_zone(ctx.env.time_zone))),
                None => value.to_time(ctx.env)?.map(Moment::Time),
            }
        }
        Val::Int(_) | Val::UInt(_) | Val::Decimal(_) => {
            let number = value.to_decimal(ctx.env)?.trunc_to_i128();
            match number.is_none_or(|number| number >= DATES_FROM) {
                true => value.to_datetime(ctx.env)?.map(Moment::DateTime),
                false => value.to_time(ctx.env)?.map(Moment::Time),
            }
        }
        _ => value.to_time(ctx.env)?.map(Moment::Time),
    })
}

fn timediff<'a>(args: &'a [Expr], ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let (a, b) = (args[0].eval(ctx)?, args[1].eval(ctx)?);
    let micros = match (known!(moment(&a, ctx)?), known!(moment(&b, ctx)?)) {
        (Moment::Time(a), Moment::Time(b)) => a.micros - b.micros,
        (Moment::DateTime(a), Moment::DateTime(b)) => a.to_micros() - b.to_micros(),
        // A date has no difference from a duration.
        _ => return Ok(Val::Null),
    };
    let (time, fits) = parse::clamp_time(Time::new(micros, ty.scale));
    if !fits {
        let shown = Time::new(micros, ty.scale).to_string();
        ctx.env
            .complain(SqlError::truncated_wrong_value("time", &shown))?;
    }
    Ok(Val::Time(time))
}

/// The unit that the binder has put first, as a text.
fn unit_of(e: &Expr, function: &str) -> Result<IntervalUnit> {
    match &e.node {
        Node::Literal(Val::Str(name)) => IntervalUnit::by_name(&String::from_utf8_lossy(name)),
        _ => None,
    }
    .ok_or_else(|| SqlError::wrong_parameters(function))
}

fn timestampdiff<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    use IntervalUnit::*;
    let unit = unit_of(&args[0], "timestampdiff")?;
    let a = known!(args[1].eval(ctx)?.to_datetime(ctx.env)?);
    let b = known!(args[2].eval(ctx)?.to_datetime(ctx.env)?);
    if a.date.has_zero_part() || b.date.has_zero_part() {
        return Ok(Val::Null);
    }
    let micros = b.to_micros() - a.to_micros();
    Ok(Val::Int(match unit {
        Microsecond => micros,
        Second => micros / MICROS_PER_SECOND,
        Minute => micros / (60 * MICROS_PER_SECOND),
        Hour => micros / (3600 * MICROS_PER_SECOND),
        Day => micros / MICROS_PER_DAY,
        Week => micros / (7 * MICROS_PER_DAY),
        Month => months_between(a, b),
        Quarter => months_between(a, b) / 3,
        Year => months_between(a, b) / 12,
        _ => return Err(SqlError::wrong_parameters("timestampdiff")),
    }))
}

/// Whole months from one to the other.
fn months_between(a: DateTime, b: DateTime) -> i64 {
    let (from, to, sign) = if a <= b { (a, b, 1) } else { (b, a, -1) };
    let months = |d: Date| d.year as i64 * 12 + d.month as i64;
    let mut between = months(to.date) - months(from.date);
    if (to.date.day, to.micros_of_day()) < (from.date.day, from.micros_of_day()) {
        between -= 1;
    }
    between * sign
}

fn timestampadd_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    let unit = unit_of(&args[0], "timestampadd")?;
    // Its operands are those of the sum that it is.
    let sum = build::date_add(args.remove(2), args.remove(1), unit, false, bind)?;
    if let Node::DateAdd { args: operands, .. } = sum.node {
        let [date, amount] = *operands;
        args.extend([amount, date]);
    }
    Ok(sum.ty)
}

/// `ADDDATE(date, days)`: the first argument becomes the sum.
fn days_type(args: &mut Vec<Expr>, negate: bool, bind: &BindCtx) -> Result<SqlType> {
    let days = args.pop().unwrap_or_else(build::null);
    let date = args.pop().unwrap_or_else(build::null);
    let sum = build::date_add(date, days, IntervalUnit::Day, negate, bind)?;
    let ty = sum.ty.clone();
    args.push(sum);
    Ok(ty)
}

fn addtime_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    let fsp = time_digits(&args[0], bind).max(time_digits(&args[1], bind));
    let ty = match args[0].ty.kind {
        TypeKind::Time => SqlType::time(fsp),
        TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp => SqlType::datetime(fsp),
        _ => server_text(29, true, bind),
    };
    Ok(ty.with_nullable(true))
}

fn addtime<'a>(args: &'a [Expr], ty: &'a SqlType, ctx: &EvalCtx<'a>, sign: i64) -> Result<Val<'a>> {
    let (a, b) = (args[0].eval(ctx)?, args[1].eval(ctx)?);
    if a.is_null() || b.is_null() {
        return Ok(Val::Null);
    }
    let added = known!(b.to_time(ctx.env)?);
    let function = if sign < 0 { "subtime" } else { "addtime" };
    let shown = |micros: i64| if micros % MICROS_PER_SECOND != 0 { 6 } else { 0 };
    match known!(moment(&a, ctx)?) {
        Moment::Time(t) => {
            let micros = t.micros + sign * added.micros;
            let (time, fits) = parse::clamp_time(Time::new(micros, ty.scale));
            if !fits {
                let nothing = beyond("TIME", function, args, ctx)?;
                // A text is the last time there is.
                if ty.kind == TypeKind::Time {
                    return Ok(nothing);
                }
            }
            Ok(match ty.kind {
                TypeKind::Time => Val::Time(time),
                TypeKind::DateTime => {
                    DateTime::from_micros(micros, ty.scale).map_or(Val::Null, Val::DateTime)
                }
                _ => Val::string(Time::new(time.micros, shown(time.micros)).to_string()),
            })
        }
        Moment::DateTime(t) if t.date.has_zero_part() => Ok(Val::Null),
        Moment::DateTime(t) => {
            let Some(sum) = DateTime::from_micros(t.to_micros() + sign * added.micros, ty.scale) else {
                return beyond("DATETIME", function, args, ctx);
            };
            Ok(match ty.kind {
                TypeKind::DateTime => Val::DateTime(sum),
                TypeKind::Time => Val::Time(Time {
                    fsp: ty.scale,
                    ..sum.time()
                }),
                _ => Val::string(
                    DateTime {
                        fsp: shown(sum.micro as i64),
                        ..sum
                    }
                    .to_string(),
                ),
            })
        }
    }
}

/// Months since year 0 of a period like 202401 or 2401.
fn months_of(period: i64, function: &str) -> Result<i64> {
    let (year, month) = (period / 100, period % 100);
    if !(1..=12).contains(&month) || period < 0 {
        return Err(SqlError::wrong_arguments(function));
    }
    let year = match year {
        0..70 => year + 2000,
        70..100 => year + 1900,
        _ => year,
    };
    Ok(year * 12 + month - 1)
}

fn from_months(months: i64) -> i64 {
    (months / 12).saturating_mul(100).saturating_add(months % 12 + 1)
}
