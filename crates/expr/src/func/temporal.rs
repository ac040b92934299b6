//! Functions that take dates and times apart and show them.

use super::temporal_sum::{beyond, time_digits};
use super::*;
use crate::interval::clock;
use tidemark_types::convert::{no_date, refused_by_mode};
use tidemark_types::temporal::calendar::{self, WeekMode, week, weekday};
use tidemark_types::temporal::format::{
    FormatKind, format_datetime, format_kind, format_time, formatted_length, parse_by_format,
};
use tidemark_types::temporal::{MICROS_PER_DAY, parse};
use tidemark_types::{Date, DateTime, SqlMode, Time};

/// A text as long as its format may become.
fn formatted_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    textual(args, bind);
    let length = match build::constant(&args[1], bind) {
        Some(Val::Str(format)) => formatted_length(&format) as u64,
        _ => args[1].ty.length as u64 * 10,
    };
    Ok(server_text(length, true, bind))
}

fn date_format_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    dated(&mut args[0]);
    formatted_type(args, bind)
}

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def(
        "date",
        (1, 1),
        |args, bind| {
            part_type(args, bind)?;
            Ok(SqlType::date().with_nullable(true))
        },
        |args, _, ctx| {
            let value = args[0].eval(ctx)?;
            let date = known!(value.to_date(ctx.env)?);
            let is_read = !matches!(value, Val::Date(_) | Val::DateTime(_) | Val::Time(_));
            if refused_by_mode(date, ctx.env.sql_mode) {
                return match is_read {
                    true => invalid(no_date(&value), ctx),
                    false => Ok(Val::Null),
                };
            }
            Ok(Val::Date(date))
        },
    )
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::Date]),
    def(
        "time",
        (1, 1),
        |args, bind| {
            let digits = time_digits(&args[0], bind);
            let arg = std::mem::replace(&mut args[0], build::null());
            args[0] = build::clock_of(arg, bind);
            Ok(SqlType::time(digits).with_nullable(true))
        },
        |args, ty, ctx| {
            let value = args[0].eval(ctx)?;
            Ok(Val::Time(Time {
                fsp: ty.scale,
                ..known!(value.to_time(ctx.env)?)
            }))
        },
    )
    .takes(&[ParamKind::DateTime]),
    def(
        "year",
        (1, 1),
        |args, bind| {
            part_type(args, bind)?;
            Ok(year_type())
        },
        |args, _, ctx| Ok(Val::UInt(known!(date(&args[0], ctx)?).year as u64)),
    )
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::DateTime]),
    def("month", (1, 1), part_type, |args, _, ctx| {
        Ok(Val::Int(known!(date(&args[0], ctx)?).month as i64))
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::DateTime]),
    def("day", (1, 1), part_type, |args, _, ctx| {
        Ok(Val::Int(known!(date(&args[0], ctx)?).day as i64))
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::DateTime]),
    def("quarter", (1, 1), part_type, |args, _, ctx| {
        Ok(Val::Int((known!(date(&args[0], ctx)?).month as i64 + 2) / 3))
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::DateTime]),
    def("hour", (1, 1), clock_part_type, |args, _, ctx| {
        Ok(Val::Int(known!(time(&args[0], ctx)?).parts().0 as i64))
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::DateTime]),
    def("minute", (1, 1), clock_part_type, |args, _, ctx| {
        Ok(Val::Int(known!(time(&args[0], ctx)?).parts().1 as i64))
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::DateTime]),
    def("second", (1, 1), clock_part_type, |args, _, ctx| {
        Ok(Val::Int(known!(time(&args[0], ctx)?).parts().2 as i64))
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::DateTime]),
    def("microsecond", (1, 1), clock_part_type, |args, _, ctx| {
        Ok(Val::Int(known!(time(&args[0], ctx)?).parts().3 as i64))
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::DateTime]),
    def("dayofweek", (1, 1), part_type, |args, _, ctx| {
        Ok(Val::Int(
            weekday(known!(full_date(&args[0], ctx)?).day_number(), true) + 1,
        ))
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::DateTime]),
    def("weekday", (1, 1), part_type, |args, _, ctx| {
        Ok(Val::Int(weekday(
            known!(full_date(&args[0], ctx)?).day_number(),
            false,
        )))
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::DateTime]),
    def("dayofyear", (1, 1), part_type, |args, _, ctx| {
        Ok(Val::Int(calendar::day_of_year(known!(full_date(&args[0], ctx)?))))
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::DateTime]),
    def(
        "dayname",
        (1, 1),
        |args, bind| name_type(args, bind.lc_time_names.day_length(), bind),
        |args, ty, ctx| {
            let day = weekday(known!(full_date(&args[0], ctx)?).day_number(), false);
            Ok(written(ctx.env.lc_time_names.days[day as usize], ty))
        },
    )
    .takes(&[ParamKind::DateTime]),
    def(
        "monthname",
        (1, 1),
        |args, bind| name_type(args, bind.lc_time_names.month_length(), bind),
        |args, ty, ctx| {
            let month = known!(date(&args[0], ctx)?).month as usize;
            let name = month
                .checked_sub(1)
                .and_then(|month| ctx.env.lc_time_names.months.get(month));
            Ok(written(*known!(name), ty))
        },
    )
    .takes(&[ParamKind::DateTime]),
    def("week", (1, 2), part_type, |args, _, ctx| {
        let date = known!(full_date(&args[0], ctx)?);
        let Some(mode) = week_mode(args, ctx)? else {
            return Ok(Val::Int(0));
        };
        Ok(Val::Int(week(date, WeekMode::from_mode(mode as u64 & 7)).0))
    })
    .takes(&[ParamKind::DateTime, ParamKind::Int(false)]),
    def("weekofyear", (1, 1), part_type, |args, _, ctx| {
        Ok(Val::Int(
            week(known!(full_date(&args[0], ctx)?), WeekMode::from_mode(3)).0,
        ))
    })
    .takes(&[ParamKind::DateTime]),
    def("yearweek", (1, 2), part_type, |args, _, ctx| {
        let date = known!(full_date(&args[0], ctx)?);
        let Some(mode) = week_mode(args, ctx)? else {
            return Ok(Val::Int(0));
        };
        let (number, year) = week(date, WeekMode::from_mode(mode as u64 & 7 | 2));
        Ok(Val::Int(year * 100 + number))
    })
    .takes(&[ParamKind::DateTime, ParamKind::Int(false)]),
    def(
        "last_day",
        (1, 1),
        |args, _| {
            dated(&mut args[0]);
            Ok(SqlType::date().with_nullable(true))
        },
        |args, _, ctx| {
            let value = args[0].eval(ctx)?;
            let date = known!(value.to_written_date(ctx.env)?);
            if date.month == 0 {
                return invalid(no_date(&value), ctx);
            }
            let last = calendar::days_in_month(date.year as i64, date.month as i64) as u8;
            Ok(Val::Date(Date { day: last, ..date }))
        },
    )
    .takes(&[ParamKind::DateTime]),
    def("to_days", (1, 1), part_type, |args, _, ctx| {
        let value = args[0].eval(ctx)?;
        let date = known!(value.to_written_date(ctx.env)?);
        if date.has_zero_part() {
            return invalid(no_date(&value), ctx);
        }
        Ok(Val::Int(date.day_number()))
    })
    .null_when(NullWhen::AnyArgument)
    .takes(&[ParamKind::DateTime]),
    def("to_seconds", (1, 1), part_type, |args, _, ctx| {
        let value = args[0].eval(ctx)?;
        let t = known!(value.to_datetime(ctx.env)?);
        if t.date.has_zero_part() {
            let shown = excerpt(&value.to_text());
            return invalid(SqlError::incorrect_value("datetime", &shown), ctx);
        }
        Ok(Val::Int(t.to_micros() / 1_000_000))
    })
    .takes(&[ParamKind::DateTime]),
    def(
        "from_days",
        (1, 1),
        |_, _| Ok(SqlType::date().with_nullable(true)),
        |args, _, ctx| {
            let days = known!(int(&args[0], ctx)?);
            // The year 0 has 365 days here, like the one after it.
            let date = match days {
                1..=365 => Date::from_day_number(days + 365).map(|date| Date { year: 0, ..date }),
                _ => Date::from_day_number(days),
            };
            match date {
                Some(date) => Ok(Val::Date(date)),
                None => beyond("DATE", "from_days", args, ctx),
            }
        },
    )
    .takes(&[ParamKind::Int(false)]),
    def(
        "makedate",
        (2, 2),
        |_, _| Ok(SqlType::date().with_nullable(true)),
        |args, _, ctx| {
            let (year, day) = (known!(int(&args[0], ctx)?), known!(int(&args[1], ctx)?));
            let year = match year {
                0..70 => year + 2000,
                70..100 => year + 1900,
                _ => year,
            };
            if !(0..=9999).contains(&year) || day <= 0 {
                return Ok(Val::Null);
            }
            let days = calendar::day_number(year, 1, 1).saturating_add(day - 1);
            Ok(Date::from_day_number(days).map_or(Val::Null, Val::Date))
        },
    )
    .takes(&[ParamKind::Int(false), ParamKind::Int(false)]),
    def(
        "maketime",
        (3, 3),
        |args, _| {
            let scale = match args[2].ty.kind {
                TypeKind::Decimal => args[2].ty.scale.min(6),
                TypeKind::Null => 0,
                _ if args[2].ty.is_integer() => 0,
                _ => 6,
            };
            Ok(SqlType::time(scale).with_nullable(true))
        },
        maketime,
    )
    .takes(&[ParamKind::Int(false), ParamKind::Int(false), ParamKind::Decimal]),
    def(
        "sec_to_time",
        (1, 1),
        |args, _| {
            numbers(args);
            let scale = match args[0].ty.kind {
                TypeKind::Decimal => args[0].ty.scale.min(6),
                TypeKind::Null => 0,
                _ if args[0].ty.is_integer() => 0,
                _ => 6,
            };
            Ok(SqlType::time(scale).with_nullable(any_nullable(args)))
        },
        |args, ty, ctx| {
            let value = args[0].eval(ctx)?;
            if value.is_null() {
                return Ok(Val::Null);
            }
            let micros = match &value {
                // The digits that a FLOAT is not shown with count.
                Val::Float(v) => Some((*v as f64 * 1e6).round() as i128),
                value => value
                    .to_decimal(ctx.env)?
                    .mul(&tidemark_types::Decimal::from(1_000_000i64))
                    .to_i128(),
            };
            let micros = micros.unwrap_or(i128::MAX).clamp(-(1 << 60), 1 << 60) as i64;
            let (time, fits) = parse::clamp_time(Time::new(micros, ty.scale));
            if !fits {
                ctx.env.complain(SqlError::truncated_wrong_value(
                    "time",
                    &excerpt(&value.to_text()),
                ))?;
            }
            Ok(Val::Time(time))
        },
    )
    .takes(&[ParamKind::Decimal]),
    def("time_to_sec", (1, 1), clock_part_type, |args, _, ctx| {
        Ok(Val::Int(
            known!(args[0].eval(ctx)?.to_time(ctx.env)?).micros / 1_000_000,
        ))
    })
    .takes(&[ParamKind::Time]),
    def("date_format", (2, 2), date_format_type, |args, ty, ctx| {
        let value = args[0].eval(ctx)?;
        let t = known!(value.to_moment(ctx.env)?);
        let format = known!(text(&args[1], ctx)?);
        let text = format_datetime(t, &format, ctx.env.lc_time_names)?;
        Ok(text.map_or(Val::Null, |text| written(text, ty)))
    })
    .takes(&[ParamKind::DateTime]),
    def("time_format", (2, 2), formatted_type, |args, _, ctx| {
        let t = known!(clock(&args[0].eval(ctx)?, ctx.env)?);
        let format = known!(text(&args[1], ctx)?);
        Ok(format_time(t, &format)?.map_or(Val::Null, Val::string))
    })
    .takes(&[ParamKind::DateTime]),
    def(
        "str_to_date",
        (2, 2),
        |args, _| {
            let ty = match &args[1].node {
                crate::Node::Literal(Val::Str(format)) => {
                    let (kind, fraction) = format_kind(format);
                    let fsp = if fraction { 6 } else { 0 };
                    match kind {
                        FormatKind::Date => SqlType::date(),
                        FormatKind::Time => SqlType::time(fsp),
                        FormatKind::DateTime => SqlType::datetime(fsp),
                    }
                }
                _ => SqlType::datetime(6),
            };
            Ok(ty.with_nullable(true))
        },
        str_to_date,
    ),
    def(
        "get_format",
        (2, 2),
        |_, bind| Ok(server_text(17, true, bind)),
        |args, _, ctx| {
            let (kind, region) = (known!(text(&args[0], ctx)?), known!(text(&args[1], ctx)?));
            Ok(get_format(&kind, &region).map_or(Val::Null, Val::str))
        },
    ),
];

/// A part of a date.
fn part_type(args: &mut Vec<Expr>, _bind: &BindCtx) -> Result<SqlType> {
    dated(&mut args[0]);
    Ok(SqlType::bigint().with_nullable(true))
}

/// The name of a day or month, of at most so many characters.
fn name_type(args: &mut [Expr], length: usize, bind: &BindCtx) -> Result<SqlType> {
    dated(&mut args[0]);
    Ok(server_text(length as u64, true, bind))
}

/// Returns a text with names of a locale; letters that the result's character set does not have are question marks.
pub(super) fn written<'a>(text: impl Into<Cow<'a, str>>, ty: &SqlType) -> Val<'a> {
    let (text, charset) = (text.into(), ty.collation.charset());
    match text {
        text if !charset.can_write(text.as_bytes()) => charset
            .repair(text.as_bytes(), false)
            .map_or(Val::Null, Val::string),
        Cow::Borrowed(text) => Val::str(text),
        Cow::Owned(text) => Val::string(text),
    }
}

/// A part of a time.
fn clock_part_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    let arg = std::mem::replace(&mut args[0], build::null());
    args[0] = build::clock_of(arg, bind);
    Ok(SqlType::bigint().with_nullable(true))
}

/// Makes an argument what a date is wanted of.
pub(super) fn dated(arg: &mut Expr) {
    let taken = std::mem::replace(arg, build::null());
    *arg = build::date_wanted(taken);
}

/// The mode of WEEK and YEARWEEK; `None` is NULL, of which the week is 0.
fn week_mode<'a>(args: &'a [Expr], ctx: &EvalCtx<'a>) -> Result<Option<i64>> {
    match args.get(1) {
        Some(mode) => int(mode, ctx),
        None => Ok(Some(0)),
    }
}

/// A YEAR that is shown without zeros before it.
fn year_type() -> SqlType {
    SqlType {
        zerofill: false,
        ..SqlType::new(TypeKind::Year)
    }
}

/// A date of which parts may be zero; that of a number need not be one of the calendar.
fn date<'a>(e: &'a Expr, ctx: &EvalCtx<'a>) -> Result<Option<Date>> {
    e.eval(ctx)?.to_written_date(ctx.env)
}

/// A date of the calendar: without zero parts.
fn full_date<'a>(e: &'a Expr, ctx: &EvalCtx<'a>) -> Result<Option<Date>> {
    let value = e.eval(ctx)?;
    match value.to_date(ctx.env)? {
        Some(d) if d.has_zero_part() => invalid(no_date(&value), ctx).map(|_| None),
        date => Ok(date),
    }
}

fn invalid<'a>(error: SqlError, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    ctx.env.complain(error)?;
    Ok(Val::Null)
}

fn time<'a>(e: &'a Expr, ctx: &EvalCtx<'a>) -> Result<Option<Time>> {
    e.eval(ctx)?.to_time(ctx.env)
}

fn maketime<'a>(args: &'a [Expr], ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let (hour, minute) = (known!(int(&args[0], ctx)?), known!(int(&args[1], ctx)?));
    let seconds = args[2].eval(ctx)?;
    if seconds.is_null() {
        return Ok(Val::Null);
    }
    let micros = seconds
        .to_decimal(ctx.env)?
        .mul(&tidemark_types::Decimal::from(1_000_000i64))
        .to_i128()
        .unwrap_or(-1);
    if !(0..60).contains(&minute) || !(0..60_000_000).contains(&micros) {
        return Ok(Val::Null);
    }
    let hours = hour.unsigned_abs().min(100_000);
    let (second, micro) = ((micros / 1_000_000) as u64, (micros % 1_000_000) as u64);
    let time = Time::from_hms(hour < 0, hours, minute as u64, second, micro, ty.scale);
    let (time, fits) = parse::clamp_time(time);
    if !fits {
        let written = format!("{hour:02}:{minute:02}:{second:02}");
        ctx.env
            .complain(SqlError::truncated_wrong_value("time", &written))?;
    }
    Ok(Val::Time(time))
}

fn str_to_date<'a>(args: &'a [Expr], ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let (subject, format) = (known!(text(&args[0], ctx)?), known!(text(&args[1], ctx)?));
    let mode = ctx.env.sql_mode;
    let parsed = parse_by_format(&subject, &format)?;
    let dated = ty.kind != TypeKind::Time;
    let acceptable = parsed.filter(|(t, _)| {
        !dated
            || parse::valid_date(t.date, mode)
                && !(mode.has(SqlMode::NO_ZERO_IN_DATE) && !t.date.is_zero() && t.date.has_zero_part())
                && !(mode.has(SqlMode::NO_ZERO_DATE) && t.date.is_zero())
    });
    let Some((t, whole)) = acceptable else {
        let kind = if dated { "datetime" } else { "time" };
        ctx.env.complain(SqlError::wrong_value_for_type(
            kind,
            &excerpt(&subject),
            "str_to_date",
        ))?;
        return Ok(Val::Null);
    };
    if !whole {
        let kind = match ty.kind {
            TypeKind::Date => "date",
            TypeKind::Time => "time",
            _ => "datetime",
        };
        ctx.env
            .complain(SqlError::truncated_wrong_value(kind, &excerpt(&subject)))?;
    }
    Ok(match ty.kind {
        TypeKind::Date => Val::Date(t.date),
        TypeKind::Time => {
            // Days of the month count as hours of a duration.
            let micros = t.micros_of_day() + t.date.day as i64 * MICROS_PER_DAY;
            Val::Time(Time::new(micros, ty.scale))
        }
        _ => Val::DateTime(DateTime { fsp: ty.scale, ..t }),
    })
}

fn get_format(kind: &[u8], region: &[u8]) -> Option<&'static str> {
    // None has a longer name.
    const NAME_MAX: usize = 9;
    if kind.len().max(region.len()) > NAME_MAX {
        return None;
    }
    let upper = |name: &[u8]| String::from_utf8_lossy(name).to_ascii_uppercase();
    Some(match (upper(kind).as_str(), upper(region).as_str()) {
        ("DATE", "USA") => "%m.%d.%Y",
        ("DATE", "JIS" | "ISO") => "%Y-%m-%d",
        ("DATE", "EUR") => "%d.%m.%Y",
        ("DATE", "INTERNAL") => "%Y%m%d",
        ("DATETIME" | "TIMESTAMP", "USA") => "%Y-%m-%d %H.%i.%s",
        ("DATETIME" | "TIMESTAMP", "JIS" | "ISO") => "%Y-%m-%d %H:%i:%s",
        ("DATETIME" | "TIMESTAMP", "EUR") => "%Y-%m-%d %H.%i.%s",
        ("DATETIME" | "TIMESTAMP", "INTERNAL") => "%Y%m%d%H%i%s",
        ("TIME", "USA") => "%h:%i:%s %p",
        ("TIME", "JIS" | "ISO") => "%H:%i:%s",
        ("TIME", "EUR") => "%H.%i.%s",
        ("TIME", "INTERNAL") => "%H%i%s",
        _ => return None,
    })
}
