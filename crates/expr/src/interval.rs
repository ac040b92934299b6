//! `date ± INTERVAL n unit`, and EXTRACT.

use super::env::{Env, EvalCtx};
use super::node::{Expr, IntervalUnit};
use tidemark_types::error::{Result, SqlError};
use tidemark_types::temporal::calendar::days_in_month;
use tidemark_types::temporal::{MICROS_PER_DAY, MICROS_PER_SECOND, TIME_MAX_MICROS, parse};
use tidemark_types::{Date, DateTime, SqlType, Time, TypeKind, Val};

/// Months and microseconds: all that an interval can be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub months: i64,
    pub micros: i64,
}

/// The last date, as a number.
const DATE_MAX: i64 = 99_991_231;
/// The greatest number that is a time alone.
const TIME_MAX: i64 = 8_385_959;
const MINUTE: i64 = 60 * MICROS_PER_SECOND;
const HOUR: i64 = 60 * MINUTE;

impl IntervalUnit {
    /// The factors of a composed unit's numbers, coarse to fine, in months or microseconds.
    fn factors(self) -> &'static [i64] {
        use IntervalUnit::*;
        const DAY: i64 = MICROS_PER_DAY;
        const SECOND: i64 = MICROS_PER_SECOND;
        match self {
            Microsecond => &[1],
            Second => &[SECOND],
            Minute => &[MINUTE],
            Hour => &[HOUR],
            Day => &[DAY],
            Week => &[7 * DAY],
            Month => &[1],
            Quarter => &[3],
            Year => &[12],
            YearMonth => &[12, 1],
            SecondMicrosecond => &[SECOND, 1],
            MinuteMicrosecond => &[MINUTE, SECOND, 1],
            MinuteSecond => &[MINUTE, SECOND],
            HourMicrosecond => &[HOUR, MINUTE, SECOND, 1],
            HourSecond => &[HOUR, MINUTE, SECOND],
            HourMinute => &[HOUR, MINUTE],
            DayMicrosecond => &[DAY, HOUR, MINUTE, SECOND, 1],
            DaySecond => &[DAY, HOUR, MINUTE, SECOND],
            DayMinute => &[DAY, HOUR, MINUTE],
            DayHour => &[DAY, HOUR],
        }
    }

    fn in_months(self) -> bool {
        use IntervalUnit::*;
        matches!(self, Month | Quarter | Year | YearMonth)
    }
}

/// `None`: NULL, or out of all bounds.
pub(crate) fn interval(
    amount: &Val,
    unit: IntervalUnit,
    negate: bool,
    env: &Env,
) -> Result<Option<Interval>> {
    if amount.is_null() {
        return Ok(None);
    }
    let factors = unit.factors();
    let mut total: i128 = 0;
    if factors.len() > 1 {
        let text = amount.to_text();
        let (negative, numbers) = numbers(&text, factors.len(), unit.has_microseconds());
        // Missing leading parts are missing on the left.
        for (n, factor) in numbers.iter().rev().zip(factors.iter().rev()) {
            total += *n as i128 * *factor as i128;
        }
        if negative {
            total = -total;
        }
    } else if unit == IntervalUnit::Second && !matches!(amount, Val::Int(_) | Val::UInt(_)) {
        let micros = amount
            .to_decimal(env)?
            .mul(&tidemark_types::Decimal::from(MICROS_PER_SECOND));
        total = micros.to_i128().unwrap_or(i128::MAX / 4);
    } else {
        // What a signed number cannot hold is the negative number of the same bits.
        let amount = match amount {
            Val::UInt(n) => *n as i64 as i128,
            other => other.to_int(env)?,
        };
        total = amount * factors[0] as i128;
    }
    let total = if negate { -total } else { total };
    let Ok(total) = i64::try_from(total) else {
        return Ok(None);
    };
    Ok(Some(if unit.in_months() {
        Interval {
            months: total,
            micros: 0,
        }
    } else {
        Interval {
            months: 0,
            micros: total,
        }
    }))
}

/// The numbers of a text like `1 12:30:00.5`, at most `max`; a fraction of a second is padded to microseconds.
fn numbers(text: &[u8], max: usize, micros: bool) -> (bool, Vec<i64>) {
    let mut at = 0;
    while at < text.len() && !text[at].is_ascii_digit() && text[at] != b'-' {
        at += 1;
    }
    let negative = text.get(at) == Some(&b'-');
    let mut out = Vec::new();
    while at < text.len() && out.len() < max {
        while at < text.len() && !text[at].is_ascii_digit() {
            at += 1;
        }
        if at >= text.len() {
            break;
        }
        let start = at;
        let mut n = 0i64;
        while at < text.len() && text[at].is_ascii_digit() {
            n = n.saturating_mul(10).saturating_add((text[at] - b'0') as i64);
            at += 1;
        }
        let last = out.len() + 1 == max || text[at..].iter().all(|b| !b.is_ascii_digit());
        if micros && last && at - start < 6 {
            n *= 10i64.pow((6 - (at - start)) as u32);
        }
        out.push(n);
    }
    (negative, out)
}

/// Adds months, keeping to the month's last day, then the rest.
pub(crate) fn add(value: DateTime, interval: Interval) -> Option<DateTime> {
    let mut value = value;
    if interval.months != 0 {
        let months =
            (value.date.year as i64 * 12 + value.date.month as i64 - 1).checked_add(interval.months)?;
        if !(0..120_000).contains(&months) {
            return None;
        }
        let (year, month) = (months / 12, months % 12 + 1);
        let day = (value.date.day as i64).min(days_in_month(year, month));
        value.date = Date::new(year as u16, month as u8, day as u8);
        return Some(value);
    }
    let micros = value.to_micros().checked_add(interval.micros)?;
    if micros < 0 {
        return None;
    }
    if micros < 366 * MICROS_PER_DAY {
        // The year 0 has no calendar in MySQL.
        return None;
    }
    DateTime::from_micros(micros, value.fsp)
}

/// NULL for a sum beyond what its type holds: error 6527 of a DATE or TIME, 1441 of a DATETIME or a text.
fn overflow(sum: &Sum, ty: &SqlType, env: &Env) -> Result<Val<'static>> {
    let error = match ty.kind {
        TypeKind::Date => SqlError::moment_out_of_range("DATE", &sum.shown(env)),
        TypeKind::Time => SqlError::moment_out_of_range("TIME", &sum.shown(env)),
        _ => SqlError::temporal_overflow("datetime"),
    };
    env.complain(error)?;
    Ok(Val::Null)
}

/// What is added to what.
pub(crate) struct Sum<'e> {
    pub date: &'e Expr,
    pub amount: &'e Expr,
    pub unit: IntervalUnit,
    pub negate: bool,
}

impl Sum<'_> {
    /// As an error text shows it.
    fn shown(&self, env: &Env) -> String {
        super::print::sum(self.date, self.amount, self.unit, self.negate, env)
    }
}

pub(crate) fn date_add<'a>(
    args: &'a [Expr; 2],
    unit: IntervalUnit,
    negate: bool,
    ty: &SqlType,
    ctx: &EvalCtx<'a>,
) -> Result<Val<'a>> {
    let sum = Sum {
        date: &args[0],
        amount: &args[1],
        unit,
        negate,
    };
    add_to(sum, ty, ctx)
}

/// The sum in the form its static type has.
pub(crate) fn add_to<'a>(sum: Sum<'a>, ty: &SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let (env, unit) = (ctx.env, sum.unit);
    let (date, amount) = (sum.date.eval(ctx)?, sum.amount.eval(ctx)?);
    if date.is_null() || amount.is_null() {
        return Ok(Val::Null);
    }
    let Some(interval) = interval(&amount, unit, sum.negate, env)? else {
        return overflow(&sum, ty, env);
    };
    if ty.kind == TypeKind::Time {
        let Some(time) = date.to_time(env)? else {
            return Ok(Val::Null);
        };
        let micros = time
            .micros
            .checked_add(interval.micros)
            .filter(|m| m.abs() <= TIME_MAX_MICROS);
        return match micros {
            Some(micros) => Ok(Val::Time(Time::new(micros, ty.scale))),
            None => overflow(&sum, ty, env),
        };
    }
    let Some(start) = date.to_datetime(env)? else {
        return Ok(Val::Null);
    };
    if start.date.has_zero_part() {
        if !start.is_zero() || interval.months == 0 {
            env.complain(SqlError::incorrect_value(
                "datetime",
                &tidemark_types::convert::excerpt(&date.to_text()),
            ))?;
        }
        return Ok(Val::Null);
    }
    let Some(end) = add(start, interval) else {
        return overflow(&sum, ty, env);
    };
    Ok(match ty.kind {
        TypeKind::Date => Val::Date(end.date),
        TypeKind::DateTime => Val::DateTime(DateTime { fsp: ty.scale, ..end }),
        // From a text: as much as is to be shown.
        _ => {
            let had_time = match &date {
                Val::Str(s) => has_time(s, env),
                // Beyond all dates a number has a time.
                Val::Int(n) => *n > DATE_MAX,
                Val::UInt(n) => *n > DATE_MAX as u64,
                Val::DateTime(_) => true,
                _ => start.micros_of_day() != 0,
            };
            if !had_time && !unit.has_time() {
                Val::string(end.date.to_string())
            } else {
                let fsp = if end.micro > 0 { 6 } else { 0 };
                Val::string(DateTime { fsp, ..end }.to_string())
            }
        }
    })
}

fn has_time(text: &[u8], env: &Env) -> bool {
    let written = text.trim_ascii().iter().any(|b| matches!(b, b' ' | b'T' | b':'));
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    (written || digits >= 12) && parse::datetime(text, env.sql_mode).is_some()
}

/// The time of the day of what reads as a date, else a duration; `None` is NULL or neither.
pub(crate) fn clock(value: &Val, env: &Env) -> Result<Option<Time>> {
    let is_time = match value {
        Val::Int(n) => *n <= TIME_MAX,
        Val::UInt(n) => *n <= TIME_MAX as u64,
        Val::Double(n) => *n < (TIME_MAX + 1) as f64,
        Val::Decimal(d) => d.to_f64() < (TIME_MAX + 1) as f64,
        _ => false,
    };
    let date = match value {
        _ if is_time => None,
        Val::Decimal(d) => d.trunc_to_i128().and_then(|n| number_as_date(n, env)),
        _ => as_date(value, env),
    };
    match date {
        Some(t) => Ok(Some(t.time())),
        None => value.to_time(env),
    }
}

/// A text or number that reads as a date, before it is tried as a duration.
fn as_date(value: &Val, env: &Env) -> Option<DateTime> {
    match value {
        Val::Str(s) if looks_like_a_date(s) => {
            parse::datetime(s, env.sql_mode).map(|p| p.in_zone(env.time_zone))
        }
        Val::Int(n) => number_as_date(*n as i128, env),
        Val::UInt(n) => number_as_date(*n as i128, env),
        Val::Double(n) if n.fract() == 0.0 => number_as_date(*n as i128, env),
        // With a point, only in the lengths of a date.
        Val::Decimal(d) if d.truncate(0) == *d && matches!(d.integer_digits(), 6 | 8) => {
            number_as_date(d.trunc_to_i128()?, env)
        }
        _ => None,
    }
}

/// With at least five digits, as a text.
fn number_as_date(n: i128, env: &Env) -> Option<DateTime> {
    if n < 10_000 {
        return None;
    }
    parse::number_to_datetime(n, 0.0, 0, env.sql_mode)
        .map(|p| p.value)
        .filter(|t| !t.date.has_zero_part())
}

/// Whether a text is to be tried as a date before it is a duration: digits alone that are too many for a time without seconds,
/// or two of the signs that part a year, a month and a day.
pub(crate) fn looks_like_a_date(text: &[u8]) -> bool {
    if text.iter().all(u8::is_ascii_digit) {
        return text.len() >= 5;
    }
    let day = text
        .split(|b| matches!(b, b' ' | b'T' | b':'))
        .next()
        .unwrap_or_default();
    day.iter().filter(|b| matches!(b, b'-' | b'/' | b'.')).count() >= 2
}

/// `EXTRACT(unit FROM e)`
pub(crate) fn extract<'a>(unit: IntervalUnit, e: &'a Expr, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    use IntervalUnit::*;
    let value = e.eval(ctx)?;
    if value.is_null() {
        return Ok(Val::Null);
    }
    let env = ctx.env;
    let date_unit = !unit.has_time();
    let of_time = !date_unit && !(value_is_date(&value));
    if of_time && e.ty.kind != TypeKind::DateTime && e.ty.kind != TypeKind::Timestamp {
        // Durations: hours may exceed a day.
        if let Some(t) = as_date(&value, env) {
            return Ok(Val::Int(of_datetime(unit, t)));
        }
        let Some(time) = value.to_time(env)? else {
            return Ok(Val::Null);
        };
        let (h, m, s, us) = time.parts();
        // A time has no days, but hours beyond 24.
        let n = compose(unit, 0, h as i64, m as i64, s as i64, us as i64);
        return Ok(Val::Int(if time.negative() { -n } else { n }));
    }
    let Some(t) = value.to_moment(env)? else {
        return Ok(Val::Null);
    };
    if unit == Week {
        return Ok(Val::Int(
            tidemark_types::temporal::calendar::week(
                t.date,
                tidemark_types::temporal::calendar::WeekMode::from_mode(env.default_week_format.into()),
            )
            .0,
        ));
    }
    Ok(Val::Int(of_datetime(unit, t)))
}

fn value_is_date(value: &Val) -> bool {
    matches!(value, Val::Date(_) | Val::DateTime(_))
}

fn of_datetime(unit: IntervalUnit, t: DateTime) -> i64 {
    use IntervalUnit::*;
    let date = t.date;
    match unit {
        Year => date.year as i64,
        Quarter => (date.month as i64 + 2) / 3,
        Month => date.month as i64,
        Day => date.day as i64,
        YearMonth => date.year as i64 * 100 + date.month as i64,
        _ => compose(
            unit,
            date.day as i64,
            t.hour as i64,
            t.minute as i64,
            t.second as i64,
            t.micro as i64,
        ),
    }
}

fn compose(unit: IntervalUnit, day: i64, h: i64, m: i64, s: i64, us: i64) -> i64 {
    use IntervalUnit::*;
    match unit {
        Hour => h,
        Minute => m,
        Second => s,
        Microsecond => us,
        DayHour => day * 100 + h,
        DayMinute => day * 10_000 + h * 100 + m,
        DaySecond => day * 1_000_000 + h * 10_000 + m * 100 + s,
        DayMicrosecond => (day * 1_000_000 + h * 10_000 + m * 100 + s) * 1_000_000 + us,
        HourMinute => h * 100 + m,
        HourSecond => h * 10_000 + m * 100 + s,
        HourMicrosecond => (h * 10_000 + m * 100 + s) * 1_000_000 + us,
        MinuteSecond => m * 100 + s,
        MinuteMicrosecond => (m * 100 + s) * 1_000_000 + us,
        SecondMicrosecond => s * 1_000_000 + us,
        _ => day,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_keep_to_the_last_day() {
        let start = Date::new(2024, 1, 31).midnight();
        let plus = |months| add(start, Interval { months, micros: 0 }).map(|t| t.date.to_string());
        assert_eq!(plus(1).as_deref(), Some("2024-02-29"));
        assert_eq!(plus(-2).as_deref(), Some("2023-11-30"));
        assert_eq!(plus(12 * 9000), None);
    }

    #[test]
    fn composed_amounts_fill_from_the_right() {
        assert_eq!(numbers(b"1:30", 4, false), (false, vec![1, 30]));
        assert_eq!(numbers(b"-1 2:3:4.5", 5, true), (true, vec![1, 2, 3, 4, 500_000]));
    }
}
