//! IF, IFNULL, NULLIF, COALESCE and their like.

use super::temporal_sum::date_digits;
use super::*;
use crate::cast::to_kind;
use crate::compare::{compare_values, holds};
use crate::infer::kind_of;
use crate::infer::{result_type, text_cmp_kind};
use crate::node::CmpOp;
use std::cmp::Ordering;
use tidemark_types::temporal::parse;
use tidemark_types::{CmpKind, DateTime};

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("if", (3, 3), if_type, |args, ty, ctx| {
        let branch = if args[0].is_true(ctx)? { &args[1] } else { &args[2] };
        to_kind(branch.eval(ctx)?, ty, ctx.env)
    })
    .null_when(NullWhen::BothResults)
    .takes_common(1),
    def(
        "ifnull",
        (2, 2),
        |args, bind| common(args, "ifnull", bind),
        coalesce,
    )
    .null_when(NullWhen::AllArguments)
    .takes_common(0),
    def(
        "coalesce",
        (1, MANY),
        |args, bind| common(args, "coalesce", bind),
        coalesce,
    )
    .null_when(NullWhen::AllArguments)
    .takes_common(0),
    def(
        "any_value",
        (1, 1),
        |args, bind| common(args, "any_value", bind),
        coalesce,
    )
    .takes_common(0),
    def("nullif", (2, 2), nullif_type, nullif)
        .null_when(NullWhen::FirstArgument)
        .takes_common(0),
    def(
        "isnull",
        (1, 1),
        |_, _| Ok(SqlType::boolean().with_nullable(false)),
        |args, _, ctx| Ok(Val::bool(args[0].eval(ctx)?.is_null())),
    ),
    def(
        "interval",
        (2, MANY),
        |args, _| {
            numbers(args);
            Ok(SqlType::bigint().with_nullable(false))
        },
        interval,
    )
    .takes_alike(),
    def(
        "greatest",
        (2, MANY),
        |args, bind| extreme_type(args, "greatest", bind),
        |args, ty, ctx| extreme(args, ty, Ordering::Greater, ctx),
    )
    .takes_common(0),
    def(
        "least",
        (2, MANY),
        |args, bind| extreme_type(args, "least", bind),
        |args, ty, ctx| extreme(args, ty, Ordering::Less, ctx),
    )
    .takes_common(0),
    def(
        "name_const",
        (2, 2),
        |args, _| Ok(args[1].ty.clone()),
        |args, _, ctx| args[1].eval(ctx),
    ),
];

fn common(args: &mut Vec<Expr>, op: &str, bind: &BindCtx) -> Result<SqlType> {
    let types: Vec<&SqlType> = args.iter().map(|a| &a.ty).collect();
    let mut ty = result_type(&types, op, bind)?;
    ty.nullable = args.iter().all(|a| a.ty.nullable);
    ty.zerofill = false;
    if ty.is_string() && args.iter().any(|a| !a.ty.is_string()) {
        textual(args, bind);
    }
    if ty.is_string() {
        read_bytes_in(ty.collation, args);
    }
    Ok(ty)
}

fn if_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    let mut ty = result_type(&[&args[1].ty, &args[2].ty], "if", bind)?;
    ty.nullable = args[1].ty.nullable || args[2].ty.nullable;
    let condition = std::mem::replace(&mut args[0], build::null());
    args[0] = build::json_as_double(condition);
    if ty.is_string() {
        for branch in &mut args[1..] {
            let taken = std::mem::replace(branch, build::null());
            *branch = build::in_set_of(as_text(taken, bind), ty.collation);
        }
    }
    Ok(ty)
}

fn coalesce<'a>(args: &'a [Expr], ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    for arg in args {
        let value = arg.eval(ctx)?;
        if !value.is_null() {
            return scaled(to_kind(value, ty, ctx.env)?, ty);
        }
    }
    Ok(Val::Null)
}

/// Decimals are shown with the digits of their type here; IF and CASE show their branches' own.
fn scaled<'a>(value: Val<'a>, ty: &SqlType) -> Result<Val<'a>> {
    Ok(match value {
        Val::Decimal(d) if d.scale() != ty.scale => Val::Decimal(d.round(ty.scale)),
        other => other,
    })
}

/// The comparison is remembered as a third argument that compares the first two.
fn nullif_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    let (ty, other) = (args[0].ty.clone(), args[1].ty.clone());
    let equal = build::compare_chosen(args[0].clone(), args[1].clone(), bind)?;
    args[1] = equal;
    let ty = match ty.is_member() {
        true => super::text_like_first(args, bind)?,
        false => ty,
    };
    if !(ty.is_string() && other.is_string()) {
        return Ok(ty.with_nullable(true));
    }
    // A literal takes the collation in which it is compared, and so does a constant of another character set, but for bytes.
    let (collation, _) = joined_collation(&[&ty, &other], "nullif", bind)?;
    let (from, to) = (ty.collation.charset(), collation.charset());
    let is_bytes = ty.collation.is_binary() || collation.is_binary();
    let follows = match &args[0].node {
        Node::Literal(_) | Node::Param(_) => true,
        _ => args[0].is_constant() && from != to && !is_bytes,
    };
    let derivation = ty.derivation;
    let ty = match follows {
        true => ty.with_collation(collation, derivation),
        false => ty,
    };
    Ok(ty.with_nullable(true))
}

fn nullif<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    if args[1].is_true(ctx)? {
        Ok(Val::Null)
    } else {
        args[0].eval(ctx)
    }
}

/// How many of the ascending bounds are not above the first argument.
fn interval<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let value = args[0].eval(ctx)?;
    if value.is_null() {
        return Ok(Val::Int(-1));
    }
    let is_exact = |e: &Expr| e.ty.is_integer() || e.ty.kind == TypeKind::Decimal;
    let mut below = 0;
    for bound in &args[1..] {
        // Exact numbers are compared as such, all others as doubles.
        let kind = match is_exact(&args[0]) && is_exact(bound) {
            true => CmpKind::Decimal,
            false => CmpKind::Double,
        };
        match compare_values(kind, &bound.eval(ctx)?, &value, ctx.env)? {
            Some(Ordering::Greater) => break,
            _ => below += 1,
        }
    }
    Ok(Val::Int(below))
}

fn extreme_type(args: &mut Vec<Expr>, op: &str, bind: &BindCtx) -> Result<SqlType> {
    let types: Vec<&SqlType> = args.iter().map(|a| &a.ty).collect();
    let mut ty = result_type(&types, op, bind)?;
    ty.nullable = any_nullable(args);
    ty.zerofill = false;
    if ty.is_string() && args.iter().any(|arg| arg.ty.has_date()) {
        ty.scale = args.iter().map(|arg| date_digits(arg, bind)).max().unwrap_or(0);
        if args
            .iter()
            .any(|arg| arg.ty.has_date() && arg.ty.kind != TypeKind::Date)
        {
            ty.length = ty.length.max(SqlType::datetime(ty.scale).display_length());
        }
        for arg in args {
            let taken = std::mem::replace(arg, build::null());
            *arg = build::year_as_moment(taken);
        }
    } else if ty.is_string() {
        textual(args, bind);
        read_bytes_in(ty.collation, args);
    }
    Ok(ty)
}

/// Compares as dates where all are, as texts where one is, else as numbers.
fn extreme<'a>(args: &'a [Expr], ty: &'a SqlType, wanted: Ordering, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    if ty.is_string() && args.iter().any(|arg| arg.ty.has_date()) {
        return extreme_date(args, ty, wanted, ctx);
    }
    let kind = if ty.is_string() {
        CmpKind::Str(ty.collation)
    } else {
        kind_of(ty)
    };
    let mut best: Option<Val> = None;
    for arg in args {
        let value = arg.eval(ctx)?;
        if value.is_null() {
            return Ok(Val::Null);
        }
        let value = scaled(to_kind(value, ty, ctx.env)?, ty)?;
        let better = match &best {
            None => true,
            // Of equal texts GREATEST has the last, LEAST the first.
            Some(best) => match compare_values(kind, &value, best, ctx.env)? {
                Some(Ordering::Equal) => wanted == Ordering::Greater && ty.is_string(),
                order => order == Some(wanted),
            },
        };
        if better {
            best = Some(value);
        }
    }
    Ok(best.unwrap_or(Val::Null))
}

/// The least or greatest of dates and what stands beside them, as a text with the digits that the type has. What is no date is passed
/// over; but a text that is none makes LEAST one of texts where times stand beside it, and GREATEST NULL where dates alone do.
fn extreme_date<'a>(args: &'a [Expr], ty: &SqlType, wanted: Ordering, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let shows_time = |arg: &Expr| arg.ty.has_date() && arg.ty.kind != TypeKind::Date;
    let with_time = args.iter().any(shows_time);
    let mut best: Option<DateTime> = None;
    let mut stray = false;
    let complaints = Warnings::default();
    let mut silent = Conversion::new(&complaints, ctx.env.time_zone);
    silent.sql_mode = ctx.env.sql_mode;
    for arg in args {
        let value = arg.eval(ctx)?;
        if value.is_null() {
            return Ok(Val::Null);
        }
        let is_number = arg.ty.is_numeric();
        let clock = match &value {
            Val::Str(text) if !with_time && build::is_sum_of_times(arg) => parse::time(text),
            _ => None,
        };
        let moment = match &value {
            Val::Str(text)
                if let Some((time, _)) = clock
                    && build::date_of(text, ctx.env.sql_mode).is_none() =>
            {
                Val::Time(time).to_datetime(ctx.env)?
            }
            Val::Str(text) if build::date_of(text, ctx.env.sql_mode).is_none() => {
                let shown = tidemark_types::convert::excerpt(text);
                ctx.env.complain(SqlError::incorrect_value("datetime", &shown))?;
                None
            }
            value if is_number => value.to_datetime(&silent)?,
            value => value.to_datetime(ctx.env)?,
        };
        stray |= moment.is_none() && !is_number;
        if moment.is_some_and(|moment| best.is_none_or(|best| moment.cmp(&best) == wanted)) {
            best = moment;
        }
    }
    match wanted {
        Ordering::Less if stray && with_time => extreme_text(args, ty, ctx),
        Ordering::Greater if stray && !with_time => Ok(Val::Null),
        _ => Ok(match best {
            None => Val::Null,
            Some(best) if with_time => Val::string(
                DateTime {
                    fsp: ty.scale,
                    ..best
                }
                .to_string(),
            ),
            Some(best) => Val::string(best.date.to_string()),
        }),
    }
}

/// The least of them as texts.
fn extreme_text<'a>(args: &'a [Expr], ty: &SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let mut least: Option<Cow<'a, [u8]>> = None;
    for arg in args {
        let text = known!(text(arg, ctx)?);
        if least
            .as_ref()
            .is_none_or(|least| ty.collation.compare(&text, least).is_lt())
        {
            least = Some(text);
        }
    }
    Ok(least.map_or(Val::Null, Val::Str))
}

/// Whether two values are equal as the types of their expressions say.
pub(super) fn same<'a>(a: &'a Expr, b: &'a Expr, bind_kind: CmpKind, ctx: &EvalCtx<'a>) -> Result<bool> {
    Ok(holds(CmpOp::Eq, bind_kind, &a.eval(ctx)?, &b.eval(ctx)?, ctx.env)? == Some(true))
}

/// As what FIELD compares its arguments: texts if all are, integers if all are, decimals if all are exact numbers, else doubles. NULL may
/// be among them.
pub(super) fn field_kind(args: &[Expr], op: &str, bind: &BindCtx) -> Result<CmpKind> {
    let types: Vec<&SqlType> = args
        .iter()
        .map(|arg| &arg.ty)
        .filter(|ty| ty.kind != TypeKind::Null)
        .collect();
    // Dates are texts here.
    if types.iter().all(|ty| ty.is_string() || ty.is_temporal()) {
        return Ok(CmpKind::Str(decided_by(&args[0].ty, &types, op, bind)?));
    }
    let mut kind = None;
    for arg in &args[1..] {
        let next = match args[0].ty.is_string() && arg.ty.is_string() {
            true => CmpKind::Double,
            false => text_cmp_kind(&args[0], arg, op, bind)?,
        };
        kind = Some(match kind {
            None => next,
            Some(kind) if kind == next => kind,
            Some(CmpKind::Int | CmpKind::Decimal) if matches!(next, CmpKind::Int | CmpKind::Decimal) => {
                CmpKind::Decimal
            }
            Some(_) => CmpKind::Double,
        });
    }
    Ok(kind.unwrap_or(CmpKind::Double))
}
