//! Comparison of two values as one of the kinds that the binder chose.

use super::env::{Env, EvalCtx};
use super::json::value_json;
use super::node::{CmpOp, Expr, InSet, Node};
use std::cmp::Ordering;
use tidemark_types::convert::plain_number;
use tidemark_types::error::Result;
use tidemark_types::error::interrupt::Steps;
use tidemark_types::json::binary::{Part, View};
use tidemark_types::{CmpKind, Collation, Decimal, Val};

/// Shorter texts are compared without asking whether the statement is to end.
const LONG: usize = 64 << 10;

/// Compares two texts. Error 1317 if the statement is to end before.
#[inline]
pub(crate) fn compare_texts(collation: Collation, a: &[u8], b: &[u8]) -> Result<Ordering> {
    match a.len().max(b.len()) < LONG {
        true => Ok(collation.compare(a, b)),
        false => {
            let mut steps = Steps::default();
            collation.compare_while(a, b, &mut || steps.step())
        }
    }
}

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
        (CmpKind::Str(c), Val::Str(x), Val::Str(y)) => return compare_texts(c, x, y).map(Some),
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
        CmpKind::Str(collation) => {
            let (a, b) = (a.borrowed().checked_text()?, b.borrowed().checked_text()?);
            Some(compare_texts(collation, &a, &b)?)
        }
        CmpKind::Json => Some(compare_documents(a, b)?),
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

/// Compares two values as documents. Texts and integers, which are what is mostly compared, make no tree.
fn compare_documents(a: &Val, b: &Val) -> Result<Ordering> {
    match (scalar(a)?, scalar(b)?) {
        (Some(Part::String(x)), Some(Part::String(y))) => Ok(x.as_bytes().cmp(y.as_bytes())),
        (Some(Part::Int(x)), Some(Part::Int(y))) => Ok(x.cmp(&y)),
        _ => Ok(value_json(a)?.compare(&value_json(b)?)),
    }
}

/// A value as a part of a document, if it is one without being converted.
fn scalar<'v>(value: &'v Val) -> Result<Option<Part<'v>>> {
    Ok(match value {
        Val::Json(stored) => match View::of_stored(stored) {
            Some(view) => Some(view.part()?),
            None => None,
        },
        Val::Str(text) => std::str::from_utf8(text).ok().map(Part::String),
        Val::Int(v) => Some(Part::Int(*v)),
        _ => None,
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
        let order = match (kind, &value, &candidate.eval(ctx)?) {
            (CmpKind::Int, Val::Int(value), Val::Int(candidate)) => Some(value.cmp(candidate)),
            (_, value, candidate) => compare_values(*kind, value, candidate, ctx.env)?,
        };
        match order {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{NoSession, NoSubqueries};
    use tidemark_types::key_bound::{KeyBound, key_bound};
    use tidemark_types::{Collation, Date, DateTime, SqlType, Time, TimeZone, TypeKind, Value, Warnings};

    /// Values that a column may store, in the order of its index.
    fn stored(ty: &SqlType) -> Vec<Value> {
        let dates = [
            Date::ZERO,
            Date::new(1970, 1, 2),
            Date::new(2019, 12, 31),
            Date::new(2020, 2, 29),
            Date::new(2020, 3, 1),
            Date::new(2037, 6, 1),
        ];
        let members = |numbers: &[u64]| {
            let label = |n: u64| match ty.kind {
                TypeKind::Set => ty.set_label(n),
                _ => ty.enum_label(n).to_string(),
            };
            numbers
                .iter()
                .map(|n| Val::Member(*n, label(*n).into_bytes().into()))
                .collect()
        };
        let integers = [
            -129,
            -100,
            -3,
            -1,
            0,
            1,
            2,
            5,
            127,
            20200229,
            9_007_199_254_740_993,
        ];
        match ty.kind {
            TypeKind::TinyInt => integers[1..9].iter().map(|n| Val::Int(*n)).collect(),
            TypeKind::Year => [0, 1901, 1999, 2020, 2155].map(Val::UInt).to_vec(),
            TypeKind::BigInt => integers.iter().map(|n| Val::Int(*n)).collect(),
            TypeKind::Decimal => ["-9.99", "-1.50", "-0.01", "0.00", "0.10", "1.25", "9.99"]
                .map(|text| Val::Decimal(Decimal::parse(text).unwrap()))
                .to_vec(),
            TypeKind::Float => [-2.5, -0.1, 0.0, 0.1, 1.25, 3e38].map(Val::Float).to_vec(),
            TypeKind::Double => [-2.5, -0.1, 0.0, 0.1, 1.25, 1e300].map(Val::Double).to_vec(),
            TypeKind::Date => dates.map(Val::Date).to_vec(),
            TypeKind::DateTime | TypeKind::Timestamp => {
                let moments = dates.iter().flat_map(|date| {
                    let hours: &[u8] = if date.is_zero() { &[0] } else { &[0, 10, 23] };
                    hours
                        .iter()
                        .map(|hour| Val::DateTime(DateTime::new(*date, *hour, 0, 0, 0, ty.scale)))
                });
                moments.collect()
            }
            TypeKind::Time => [-3_020_399, -3600, -1, 0, 1, 3600, 36_610, 3_020_399]
                .map(|seconds: i64| Val::Time(Time::new(seconds * 1_000_000, ty.scale)))
                .to_vec(),
            TypeKind::Enum => members(&[0, 1, 2, 3]),
            _ => members(&[0, 1, 2, 3, 4, 5, 6, 7]),
        }
    }

    /// Below what 128 bits hold.
    const TINY: &str = "-99999999999999999999999999999999999999999999999999999999999999999";

    fn given() -> Vec<Value> {
        let texts = [
            "",
            "-1",
            "0",
            "1",
            "1.25",
            "0.1",
            "12x",
            "abc",
            "b",
            "A,c",
            "2020-02-29",
            "20-2-29",
            "2020-02-29 10:00:00",
            "2020-02-29 10:00:00.5",
            "2020-02-30",
            "2020-02-00",
            "0000-00-00",
            "1969-12-31",
            "2039-01-01",
            "2020-03-01 00:00:00+03:00",
            "10:10:10",
            "-00:00:01",
            "9999:00:00",
        ];
        let mut given: Vec<Value> = texts.map(Val::str).to_vec();
        let integers = [
            i64::MIN,
            -130,
            -100,
            -1,
            0,
            1,
            5,
            127,
            128,
            2020,
            101010,
            20200229,
            20200230,
            20201399,
            20200229100000,
        ];
        given.extend(integers.map(Val::Int));
        given.extend([u64::MAX, 9_007_199_254_740_993].map(Val::UInt));
        given.extend(
            ["-1.5", "0.105", "1.25", "20200229.5", TINY]
                .map(|text| Val::Decimal(Decimal::parse(text).unwrap())),
        );
        given.extend(
            [
                -1e40,
                -2.5,
                -0.0,
                1e-40,
                -1e-40,
                1e-320,
                0.1,
                0.1f32 as f64,
                1.25,
                5.5,
                9_007_199_254_740_992.0,
                1e300,
                f64::INFINITY,
            ]
            .map(Val::Double),
        );
        given.push(Val::Date(Date::new(2020, 2, 29)));
        given.push(Val::DateTime(DateTime::new(
            Date::new(2020, 2, 29),
            10,
            0,
            0,
            500_000,
            6,
        )));
        given.push(Val::Time(Time::new(36_610_500_000, 6)));
        given
    }

    /// What a bound says of a stored value and the given one; `None`: nothing.
    fn said(bound: &KeyBound, rows: &[Value], at: usize, ty: &SqlType, zone: &TimeZone) -> Option<Ordering> {
        let place = |value: &Value| {
            let (mut a, mut b) = ([0; 32], [0; 32]);
            let (of_row, of_bound) = (ty.store(&rows[at], zone, &mut a), ty.store(value, zone, &mut b));
            match (of_row.as_int(), of_bound.as_int()) {
                (Some(x), Some(y)) => x.cmp(&y),
                _ => compare_stored(&rows[at], value),
            }
        };
        match bound {
            KeyBound::Exact(value) => Some(place(value)),
            KeyBound::Between(Some(below)) => Some(match place(below) {
                Ordering::Greater => Ordering::Greater,
                _ => Ordering::Less,
            }),
            KeyBound::Between(None) => Some(Ordering::Greater),
            KeyBound::Unusable => None,
        }
    }

    fn compare_stored(a: &Value, b: &Value) -> Ordering {
        match (a, b) {
            (Val::Decimal(a), Val::Decimal(b)) => a.cmp(b),
            (Val::Float(a), Val::Float(b)) => a.total_cmp(b),
            (Val::Double(a), Val::Double(b)) => a.partial_cmp(b).unwrap(),
            (Val::DateTime(a), Val::DateTime(b)) => a.partial_cmp(b).unwrap(),
            _ => unreachable!("{a:?} and {b:?}"),
        }
    }

    #[test]
    fn bounds_say_what_comparisons_say() {
        let members: std::sync::Arc<[String]> = ["a".to_string(), "b".to_string(), "c".to_string()].into();
        let with_members = |kind| SqlType::new(kind).with_members(members.clone());
        let columns = [
            SqlType::new(TypeKind::TinyInt),
            SqlType::new(TypeKind::Year).unsigned(),
            SqlType::bigint(),
            SqlType::decimal(3, 2),
            SqlType::new(TypeKind::Float),
            SqlType::new(TypeKind::Double),
            SqlType::date(),
            SqlType::datetime(0),
            SqlType::datetime(3),
            SqlType::new(TypeKind::Timestamp),
            SqlType::time(0),
            SqlType::time(2),
            with_members(TypeKind::Enum),
            with_members(TypeKind::Set),
        ];
        let kinds = [
            CmpKind::Int,
            CmpKind::Decimal,
            CmpKind::Double,
            CmpKind::Number,
            CmpKind::DateTime,
            CmpKind::Time,
        ];
        let (warnings, zone) = (Warnings::default(), TimeZone::Offset(7200));
        let mut env = Env::new(&NoSession, &NoSubqueries, &warnings, &zone);
        env.conversion.now_micros = 1_700_000_000_000_000;
        let mut exact = 0;
        for ty in &columns {
            let rows = stored(ty);
            let of_texts = ty.is_member().then_some(CmpKind::Str(Collation::DEFAULT));
            for kind in kinds.into_iter().chain(of_texts) {
                for value in given() {
                    let bound = key_bound(&value, kind, ty, &env);
                    exact += matches!(bound, KeyBound::Exact(_)) as u32;
                    for at in 0..rows.len() {
                        let told = said(&bound, &rows, at, ty, &zone);
                        let Ok(Some(order)) = compare_values(kind, &rows[at], &value, &env) else {
                            assert_ne!(
                                told,
                                Some(Ordering::Equal),
                                "{ty} {kind:?} {:?} {value:?}",
                                rows[at]
                            );
                            continue;
                        };
                        // A string compared with ENUM or SET bounds equality only.
                        let same = match kind {
                            CmpKind::Str(_) => told.is_none_or(|told| told.is_eq() == order.is_eq()),
                            _ => told.is_none_or(|told| told == order),
                        };
                        assert!(
                            same,
                            "{ty} as {kind:?}: {:?} is {order:?} {value:?}, bound {bound:?}",
                            rows[at]
                        );
                    }
                }
            }
        }
        assert!(exact > 500, "{exact}");
    }
}
