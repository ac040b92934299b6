//! Years in comparisons, where the other operand decides what they are:
//!
//! - Beside a column of type YEAR a constant is a year, too: a number of one or two digits one of this century or the last, a date the
//!   year that it is in, a time that of today. The two are compared as numbers.
//! - Beside any other date, and where the year is no column, the year is a date, too: the one without a month and a day, which comes before
//!   all others of that year.
//!
//! One of several, in a list or in rows, is only the second.

use super::comparison::{constant, has_other_source, varies};
use super::literal::int_literal;
use super::{BindCtx, expr};
use crate::function::{FuncDef, Volatility, def, stable};
use crate::node::{Expr, Node};
use tidemark_types::{Date, Decimal, SqlType, TypeKind, Val, Value};

/// The years that a column holds, but for 0.
const YEARS: std::ops::RangeInclusive<i64> = 1901..=2155;

/// Whether it is a column of type YEAR, not another expression of that type.
pub(super) fn is_year_column(e: &Expr) -> bool {
    e.ty.kind == TypeKind::Year && e.is_table_column()
}

/// The year that a constant is beside a column of years; `None` beside anything else, and for what is none.
pub(super) fn constant_year(e: &Expr, other: &Expr, bind: &BindCtx) -> Option<Expr> {
    if !is_year_column(other) || varies(e) {
        return None;
    }
    if e.has_parameter() {
        bind.depends_on_literals.set(true);
    }
    let year_of_day = || {
        let ty = SqlType::bigint().with_nullable(e.ty.nullable);
        expr(ty, Node::Call(&YEAR_OF_DAY, vec![e.clone()]))
    };
    match constant(e, bind) {
        Some(Val::Date(date)) => year_column_of(date).map(int_literal),
        Some(Val::DateTime(moment)) => year_column_of(moment.date).map(int_literal),
        Some(Val::Time(_)) => Some(year_of_day()),
        Some(value) => year_of(&value).map(int_literal),
        None if e.ty.is_temporal() && is_fixed(e) && has_other_source(e) => Some(year_of_day()),
        None => None,
    }
}

/// The year of what the clock says; a time is one of today.
static YEAR_OF_DAY: FuncDef = stable(
    "year_of_day",
    (1, 1),
    |_, _| Ok(SqlType::bigint()),
    |args, _, ctx| {
        let moment = args[0].eval(ctx)?.to_datetime(ctx.env)?;
        Ok(moment.map_or(Val::Null, |moment| Val::Int(moment.date.year.into())))
    },
);

/// Whether it is the same whenever a statement asks for it.
fn is_fixed(e: &Expr) -> bool {
    let mut fixed = true;
    e.walk(&mut |e| {
        fixed &= match &e.node {
            Node::Call(def, _) => def.volatility != Volatility::Volatile,
            Node::AssignVar(..) | Node::UserVar(_) | Node::Routine(_) | Node::Subquery { .. } => false,
            _ => true,
        }
    });
    fixed
}

fn year_column_of(date: Date) -> Option<i64> {
    Some(i64::from(date.year)).filter(|year| YEARS.contains(year))
}

/// The year that a number, or the one that a text begins with, is beside a column of years. A fraction is rounded, that of a double cut off.
pub(super) fn year_of(value: &Value) -> Option<i64> {
    let number = match value {
        Val::Str(text) if &**text == b"0000" => return Some(0),
        Val::Str(text) => Decimal::parse_prefix(text.trim_ascii_start())?.0.round(0),
        Val::Int(n) => Decimal::from(*n),
        Val::Decimal(d) => d.round(0),
        Val::Double(d) if d.abs() < 1e4 => Decimal::from(*d as i64),
        _ => return None,
    };
    // A negative number is none, even where it would be rounded to zero.
    if matches!(value, Val::Decimal(d) if d.is_negative()) || matches!(value, Val::Double(d) if *d < 0.0) {
        return None;
    }
    match i64::try_from(number.to_i128()?).ok()? {
        0 if matches!(value, Val::Str(_)) => Some(2000),
        n @ 1..70 => Some(n + 2000),
        n @ 70..100 => Some(n + 1900),
        n if n == 0 || YEARS.contains(&n) => Some(n),
        _ => None,
    }
}

/// A year beside a date as the date that it is there. Other operands stay.
pub(super) fn year_beside(e: Expr, other: &SqlType) -> Expr {
    match e.ty.kind == TypeKind::Year && other.has_date() {
        true => date_in(e, 0),
        false => e,
    }
}

/// The first day of a year that a column holds.
pub(super) fn first_of_year(e: Expr) -> Expr {
    date_in(e, 1)
}

/// The date in a year whose month and day are both this number.
fn date_in(e: Expr, month_and_day: u8) -> Expr {
    static FUNCTION: FuncDef = def(
        "date_in_year",
        (2, 2),
        |_, _| Ok(SqlType::date()),
        |args, _, ctx| {
            let (year, number) = (args[0].eval(ctx)?, args[1].eval(ctx)?);
            if year.is_null() {
                return Ok(Val::Null);
            }
            let number = number.to_int(ctx.env)? as u8;
            Ok(Val::Date(Date {
                year: year.to_int(ctx.env)? as u16,
                month: number,
                day: number,
            }))
        },
    );
    let ty = SqlType::date().with_nullable(e.ty.nullable);
    expr(
        ty,
        Node::Call(&FUNCTION, vec![e, int_literal(month_and_day.into())]),
    )
}
