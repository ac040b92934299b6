//! Comparison of two values as one of the kinds that the binder chose.

use super::env::{Env, EvalCtx};
use super::json::value_json;
use super::node::{CmpOp, Expr, InSet, Node};
use std::cmp::Ordering;
use tidemark_types::convert::plain_number;
use tidemark_types::error::Result;
use tidemark_types::{CmpKind, Decimal, Val};

/// `None` if either is NULL, or is not what it should be compared as (no date, NaN).
pub fn compare_values(kind: CmpKind, a: &Val, b: &Val, env: &Env) -> Result<Option<Ordering>> {
    // The commonest pairs first.
    match (kind, a, b) {
        (CmpKind::Int, Val::Int(x), Val::Int(y)) => return Ok(Some(x.cmp(y))),
        (CmpKind::Int, Val::UInt(x), Val::UInt(y)) => return Ok(Some(x.cmp(y))),
        (CmpKind::Number, Val::Int(x), Val::Str(y)) => {
            if let Some(y) = std::str::from_utf8(y).ok().and_then(|y| y.parse::<i64>().ok()) {
                return Ok(Some(x.cmp(&y)));
            }
        }
        (CmpKind::Str(c), Val::Str(x), Val::Str(y)) => return Ok(Some(c.compare(x, y))),
        (_, Val::Null, _) | (_, _, Val::Null) => return Ok(None),
        _ => {}
    }
    Ok(match kind {
        CmpKind::Int => Some(a.to_int(env)?.cmp(&b.to_int(env)?)),
        CmpKind::Decimal => match (a, b) {
            (Val::Double(_) | Val::Float(_), _) | (_, Val::Double(_) | Val::Float(_)) => {
                a.to_f64(env)?.partial_cmp(&b.to_f64(env)?)
            }
            _ => Some(a.to_decimal(env)?.cmp(&b.to_decimal(env)?)),
        },
        CmpKind::Number => match (exact_number(a), exact_number(b)) {
            (Some(x), Some(y)) => Some(x.cmp(&y)),
            _ => a.to_f64(env)?.partial_cmp(&b.to_f64(env)?),
        },
        CmpKind::Double => a.to_f64(env)?.partial_cmp(&b.to_f64(env)?),
        CmpKind::Str(collation) => Some(collation.compare(&a.to_text(), &b.to_text())),
        CmpKind::Json => Some(value_json(a).compare(&value_json(b))),
        CmpKind::DateTime => match (a, b) {
            (Val::Date(x), Val::Date(y)) => Some(x.cmp(y)),
            // A text that is no date has left a warning and counts as the zero date.
            _ => {
                match (a.to_compared_datetime(env)?, b.to_compared_datetime(env)?) {
                    // Two of them are not equal, whatever they say.
                    (None, None) => Some(Ordering::Less),
                    (x, y) => Some(x.unwrap_or_default().cmp(&y.unwrap_or_default())),
                }
            }
        },
        CmpKind::Time => a.to_time(env)?.zip(b.to_time(env)?).map(|(x, y)| x.cmp(&y)),
        CmpKind::Member => match (a, b) {
            (Val::Member(x, _), Val::Member(y, _)) => Some(x.cmp(y)),
            _ => Some(a.to_int(env)?.cmp(&b.to_int(env)?)),
        },
    })
}

fn exact_number(value: &Val) -> Option<Decimal> {
    match value {
        Val::Int(n) => Some(Decimal::from(*n)),
        Val::UInt(n) => Some(Decimal::from(*n)),
        Val::Decimal(d) => Some(d.clone()),
        Val::Str(text) => plain_number(text),
        _ => None,
    }
}

/// `a op b` by the rules of NULL.
pub fn holds(op: CmpOp, kind: CmpKind, a: &Val, b: &Val, env: &Env) -> Result<Option<bool>> {
    if op == CmpOp::NullSafeEq {
        return Ok(Some(match (a.is_null(), b.is_null()) {
            (true, true) => true,
            (false, false) => compare_values(kind, a, b, env)? == Some(Ordering::Equal),
            _ => false,
        }));
    }
    Ok(compare_values(kind, a, b, env)?.map(|order| op.accepts(order)))
}

/// `value IN (list)`: true, false, or NULL when it might have been one of the NULLs.
pub(crate) fn in_list<'a>(
    value: &'a Expr,
    list: &'a [(CmpKind, Expr)],
    set: &Option<InSet>,
    ctx: &EvalCtx<'a>,
) -> Result<Option<bool>> {
    let value = value.eval(ctx)?;
    if value.is_null() {
        return Ok(None);
    }
    match set {
        Some(InSet::Int(ints)) => return Ok(Some(ints.binary_search(&value.to_int(ctx.env)?).is_ok())),
        Some(InSet::Str(collation, keys)) => {
            let mut key = Vec::new();
            collation.sort_key(&value.to_text(), &mut key);
            return Ok(Some(keys.binary_search(&key).is_ok()));
        }
        None => {}
    }
    let mut unknown = false;
    for (kind, candidate) in list {
        match compare_values(*kind, &value, &candidate.eval(ctx)?, ctx.env)? {
            Some(Ordering::Equal) => return Ok(Some(true)),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { None } else { Some(false) })
}

/// `value BETWEEN low AND high`, which is two comparisons. Both bounds are computed, whatever the first says.
pub(crate) fn between<'a>(
    args: &'a [Expr; 3],
    low: CmpKind,
    high: CmpKind,
    ctx: &EvalCtx<'a>,
) -> Result<Option<bool>> {
    let value = args[0].eval(ctx)?;
    if value.is_null() {
        return Ok(None);
    }
    let (least, greatest) = (args[1].eval(ctx)?, args[2].eval(ctx)?);
    let above = holds(CmpOp::Ge, low, &value, &least, ctx.env)?;
    if above == Some(false) {
        return Ok(Some(false));
    }
    let below = holds(CmpOp::Le, high, &value, &greatest, ctx.env)?;
    Ok(match (above, below) {
        (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    })
}

/// A comparison node; columns and literals of the same integer type do not become values on the way.
pub(crate) fn compare_exprs<'a>(
    op: CmpOp,
    kind: CmpKind,
    pair: &'a [Expr; 2],
    ctx: &EvalCtx<'a>,
) -> Result<Option<bool>> {
    if kind == CmpKind::Int
        && let (Node::Column(slot), Node::Literal(Val::Int(constant))) = (&pair[0].node, &pair[1].node)
        && let Val::Int(value) = ctx.row.column(*slot)
    {
        return Ok(Some(op.accepts(value.cmp(constant))));
    }
    let left = pair[0].eval(ctx)?;
    if left.is_null() && op != CmpOp::NullSafeEq {
        return Ok(None);
    }
    holds(op, kind, &left, &pair[1].eval(ctx)?, ctx.env)
}

/// Order as ORDER BY and MIN/MAX want it: by the values' own type, NULL first.
pub fn order_values(a: &Val, b: &Val, kind: CmpKind, env: &Env) -> Result<Ordering> {
    Ok(match (a.is_null(), b.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        _ => compare_values(kind, a, b, env)?.unwrap_or(Ordering::Equal),
    })
}
