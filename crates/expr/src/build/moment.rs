//! What dates and times are wanted of: their sums with intervals, their parts, and what is cast to them. A sum of a text and an interval is a
//! text, but where a date or time is wanted it is the one that was added up; a column of years is the first day of its year; IF and CASE are
//! what the branch that they take is.

use super::comparison::read_chosen;
use super::year::{first_of_year, is_year_column};
use super::{BindCtx, as_text, expr};
use crate::function::{FuncDef, stable};
use crate::interval::looks_like_a_date;
use crate::json::{JSON_UNQUOTE, text_result};
use crate::node::{Expr, IntervalUnit, Node};
use crate::parameter::{ParamKind, ParamPlace};
use tidemark_types::error::Result;
use tidemark_types::temporal::parse;
use tidemark_types::{Derivation, SqlType, TypeKind, Val};

/// A document where a date is wanted is the string in it.
fn json_as_text(e: Expr, bind: &BindCtx) -> Result<Expr> {
    static FUNCTION: FuncDef = JSON_UNQUOTE;
    if e.ty.kind != TypeKind::Json {
        return Ok(e);
    }
    let mut args = vec![e];
    let ty = text_result(&mut args, bind)?;
    Ok(expr(ty, Node::Call(&FUNCTION, args)))
}

/// `date + INTERVAL n unit`, `DATE_ADD`, `DATE_SUB` (`negate`).
pub(crate) fn date_add(
    mut date: Expr,
    mut amount: Expr,
    unit: IntervalUnit,
    negate: bool,
    bind: &BindCtx,
) -> Result<Expr> {
    let kind = if unit.has_time() {
        ParamKind::DateTime
    } else {
        ParamKind::Date
    };
    bind.settle_as(&mut date, ParamPlace::value(kind));
    bind.settle_as(&mut amount, ParamPlace::value(ParamKind::of_amount(unit)));
    let date = json_as_text(date, bind)?;
    let micro = unit.has_microseconds();
    let seconds_fsp = if unit == IntervalUnit::Second {
        fraction_digits(&amount.ty)
    } else {
        0
    };
    let fsp = |own: u8| if micro { 6 } else { own.max(seconds_fsp) };
    let ty = match date.ty.kind {
        TypeKind::Date if !unit.has_time() => SqlType::date(),
        TypeKind::Date => SqlType::datetime(fsp(0)),
        TypeKind::DateTime | TypeKind::Timestamp => SqlType::datetime(fsp(date.ty.scale)),
        TypeKind::Time if unit.fits_time() => SqlType::time(fsp(date.ty.scale)),
        TypeKind::Time => SqlType::datetime(fsp(date.ty.scale)),
        _ => {
            let collation = bind.collation_connection;
            SqlType::varchar(29, collation).with_collation(collation, Derivation::Literal)
        }
    };
    Ok(expr(
        ty.with_nullable(true),
        Node::DateAdd {
            unit,
            negate,
            args: Box::new([addend(date), amount]),
        },
    ))
}

/// What is cast to a date or time of that type: IF and CASE are what each branch is as one, whatever they have in common.
pub(super) fn moment_as(mut e: Expr, ty: &SqlType, bind: &BindCtx) -> Expr {
    if chooses_moment(&e) {
        let ty = ty.clone().with_nullable(true);
        e.each_branch(|branch| {
            let branch = moment_as(branch, &ty, bind);
            expr(ty.clone(), Node::Cast(Box::new(branch)))
        });
        e.ty = ty;
        return e;
    }
    let moment = match ty.kind {
        TypeKind::Time => clock_of(e, bind),
        _ => moment_of(e),
    };
    as_text(moment, bind)
}

/// Whether it is IF or CASE with a date or time among others.
fn chooses_moment(e: &Expr) -> bool {
    !e.ty.is_temporal() && e.has_branch(|branch| branch.ty.is_temporal() || is_year_column(branch))
}

/// What the parts of a date are wanted of: what it is as a date and time, if it chooses one.
pub(crate) fn date_wanted(mut e: Expr) -> Expr {
    if !chooses_moment(&e) {
        return moment_of(e);
    }
    e.each_branch(|branch| match branch.is_choice() {
        true => date_wanted(branch),
        false => read_chosen(moment_of(branch), SqlType::datetime(6)),
    });
    e.ty = SqlType::datetime(6).with_nullable(true);
    e
}

/// What the parts of a time are wanted of.
pub(crate) fn clock_wanted(e: Expr, bind: &BindCtx) -> Expr {
    match chooses_moment(&e) {
        true => moment_as(e, &SqlType::time(6), bind),
        false => moment_of(e),
    }
}

/// What an interval is added to: a year of a column, and a date or time that it chooses, is one with a time, a text stays one.
fn addend(mut e: Expr) -> Expr {
    if is_year_column(&e) {
        let ty = SqlType::datetime(0).with_nullable(e.ty.nullable);
        return expr(ty, Node::Cast(Box::new(first_of_year(e))));
    }
    if !chooses_moment(&e) || !e.ty.is_string() {
        return moment_of(e);
    }
    e.each_branch(|branch| match branch.ty.is_temporal() {
        true => {
            let ty = SqlType::datetime(branch.ty.scale).with_nullable(true);
            expr(ty, Node::Cast(Box::new(branch)))
        }
        false => addend(branch),
    });
    e
}

/// What a time is wanted of: the same as of a date and time, but a sum of two times is one itself.
pub(crate) fn clock_of(e: Expr, bind: &BindCtx) -> Expr {
    match is_sum_of_times(&e) {
        true => e,
        false => clock_wanted(e, bind),
    }
}

/// Whether it is what ADDTIME or SUBTIME makes: of two times a time, which is one of today beside a date.
pub(crate) fn is_sum_of_times(e: &Expr) -> bool {
    matches!(&e.node, Node::Call(def, _) if matches!(def.name, "addtime" | "subtime"))
}

/// A column of years among dates of which one is chosen. Other values stay.
pub(crate) fn year_as_moment(e: Expr) -> Expr {
    match is_year_column(&e) {
        true => first_of_year(e),
        false => e,
    }
}

/// What a date or time is wanted of: the sum of a date and an interval that is a text, or a column of years.
pub(crate) fn moment_of(mut e: Expr) -> Expr {
    if is_year_column(&e) {
        return first_of_year(e);
    }
    static TODAY: FuncDef = stable(
        "moment_of_sum",
        (1, 1),
        |_, _| Ok(SqlType::datetime(0)),
        |args, _, ctx| {
            let Some(text) = crate::eval::text(&args[0], ctx)? else {
                return Ok(Val::Null);
            };
            let value = match parse::time(&text) {
                Some((time, _)) if !looks_like_a_date(&text) => Val::Time(time),
                _ => Val::Str(text),
            };
            Ok(value.to_datetime(ctx.env)?.map_or(Val::Null, Val::DateTime))
        },
    );
    if e.ty.is_string() && is_sum_of_times(&e) {
        return expr(
            SqlType::datetime(0).with_nullable(true),
            Node::Call(&TODAY, vec![e]),
        );
    }
    let fsp = match &e.node {
        Node::DateAdd { unit, .. } if unit.has_microseconds() => 6,
        Node::DateAdd { .. } => 0,
        Node::Call(def, _) if def.name == "timestampadd" => 0,
        _ => return e,
    };
    if e.ty.is_string() {
        e.ty = SqlType::datetime(fsp).with_nullable(true);
    }
    e
}

fn fraction_digits(ty: &SqlType) -> u8 {
    match ty.kind {
        TypeKind::Decimal => ty.scale.min(6),
        _ if ty.is_float() || ty.is_string() => 6,
        _ => 0,
    }
}

/// `EXTRACT(unit FROM e)`
pub(crate) fn extract(unit: IntervalUnit, mut e: Expr, bind: &BindCtx) -> Result<Expr> {
    bind.settle_as(&mut e, ParamPlace::value(ParamKind::DateTime));
    let e = json_as_text(e, bind)?;
    let e = match unit.has_time() {
        true if is_sum_of_times(&e) => e,
        true => moment_of(e),
        false => date_wanted(e),
    };
    Ok(expr(
        SqlType::bigint().with_nullable(true),
        Node::Extract(unit, Box::new(e)),
    ))
}
