//! `IN`: a value beside a list, a row beside a list of rows. The kinds of comparison are those of [`super::comparison`], one for
//! each member of the list; what stands in a list decides together what some members are compared as: several dates as dates, several
//! documents as documents, texts under one collation.

use super::comparison::{
    IN_LIST, Place, beside_json, collation_of_all, comparable, compare_as, is_literal, of_several, read_as,
    temporal_literal_beside, under, varies,
};
use super::{BindCtx, and, as_number, boolean, cast, expr, not, or, sum_as_double};
use crate::node::{CmpOp, Expr, InSet, Node};
use tidemark_types::error::{Result, SqlError};
use tidemark_types::{CmpKind, Collation, SqlType, TypeKind, Val, Value};

/// Lists from this length on are searched, not walked.
const SET_MIN: usize = 8;

pub(crate) fn in_list(e: Expr, list: Vec<Expr>, negated: bool, bind: &BindCtx) -> Result<Expr> {
    let mut nullable = e.ty.nullable;
    let mut candidates = Vec::with_capacity(list.len());
    // Where one of several is a document and no other is different from row to row, all are documents; not beside dates, though.
    let documents = list.len() > 1
        && std::iter::once(&e)
            .chain(&list)
            .any(|e| e.ty.kind == TypeKind::Json);
    let fixed = |e: &Expr| e.ty.kind == TypeKind::Json || !varies(e);
    let with_dates = documents && e.ty.kind != TypeKind::Json && has_dates_alone(&e, &list);
    if documents && !with_dates && list.iter().all(fixed) {
        return in_documents(e, list, negated);
    }
    let list: Vec<Expr> = match with_dates {
        true => list.into_iter().map(document_as_text).collect(),
        false => list,
    };
    let mut value = as_number_beside(e, &list);
    let (op, place) = match list.len() {
        1 => ("=", Place::Alone),
        _ => (IN_LIST, Place::OneOfSeveral),
    };
    let several = list.len() > 1;
    let of_all = match several {
        true => collation_of_all(std::iter::once(&value).chain(&list), op, bind)?,
        false => None,
    };
    let types: Vec<SqlType> = std::iter::once(&value)
        .chain(&list)
        .map(|e| e.ty.clone())
        .collect();
    let dates = several && are_dates_beside(&value, &list, bind);
    let all_dates = several && are_all_dates(&value, &list);
    let from_rows = list.iter().any(varies);
    let time = first_time(&value, &list).filter(|_| several).cloned();
    if time.is_some()
        && std::iter::once(&value)
            .chain(&list)
            .any(|e| matches!(e.node, Node::Param(_)))
    {
        bind.depends_on_literals.set(true);
    }
    if let Some(time) = &time
        && let Some(read) = temporal_literal_beside(&value, time, true, bind)?
    {
        value = read;
    }
    for mut candidate in list {
        nullable |= candidate.ty.nullable;
        let beside = time.as_ref().or(dates.then_some(&value));
        if let Some(beside) = beside
            && let Some(read) = temporal_literal_beside(&candidate, beside, true, bind)?
        {
            candidate = read;
        }
        // Texts that are no dates are all the zero date then.
        let read = |e: Expr| match all_dates && from_rows && e.ty.is_string() {
            true => read_as(e, SqlType::datetime(6)),
            false => e,
        };
        (value, candidate) = (read(value), read(candidate));
        // Texts have found one collation for all.
        if let Some(collation) = of_all
            && !all_dates
            && value.ty.is_string()
            && candidate.ty.is_string()
        {
            candidates.push((CmpKind::Str(collation), candidate));
            continue;
        }
        let mixed = |error| of_several(error, &types, op);
        let (kind, left, right) = comparable(place, value, candidate, op, bind).map_err(mixed)?;
        value = left;
        let is_null = right.ty.kind == TypeKind::Null;
        candidates.push((
            if all_dates && !is_null {
                CmpKind::DateTime
            } else {
                under(kind, of_all)
            },
            right,
        ));
    }
    let set = in_set(&candidates);
    Ok(boolean(
        nullable,
        Node::In {
            negated,
            value: Box::new(value),
            list: candidates,
            set,
        },
    ))
}

/// Whether one of a value and its list is a date, and none but texts, documents and NULL stand beside it.
fn has_dates_alone(value: &Expr, list: &[Expr]) -> bool {
    let all = || std::iter::once(value).chain(list).map(|e| &e.ty);
    let fits =
        |ty: &SqlType| ty.has_date() || ty.is_string() || matches!(ty.kind, TypeKind::Json | TypeKind::Null);
    all().any(SqlType::has_date) && all().all(fits)
}

/// A document beside several dates is a text, which is none.
fn document_as_text(e: Expr) -> Expr {
    if e.ty.kind != TypeKind::Json {
        return e;
    }
    let ty = SqlType::text(Collation::UTF8MB4_BIN).with_nullable(e.ty.nullable);
    expr(ty, Node::Cast(Box::new(e)))
}

/// `e IN (list)` of which one is a document.
fn in_documents(e: Expr, list: Vec<Expr>, negated: bool) -> Result<Expr> {
    let nullable = e.ty.nullable || list.iter().any(|candidate| candidate.ty.nullable);
    let list = list
        .into_iter()
        .map(|candidate| (CmpKind::Json, beside_json(candidate)))
        .collect();
    let value = Box::new(beside_json(e));
    Ok(boolean(
        nullable,
        Node::In {
            negated,
            value,
            list,
            set: None,
        },
    ))
}

/// The value is compared with each candidate, so it may change into a number only if all are.
fn as_number_beside(e: Expr, list: &[Expr]) -> Expr {
    if list.iter().all(|c| c.ty.is_numeric()) {
        sum_as_double(as_number(e))
    } else {
        e
    }
}

/// Whether a value and its list are compared as dates throughout: where they are texts and dates, and one is a date.
fn are_all_dates(value: &Expr, list: &[Expr]) -> bool {
    let all = || std::iter::once(value).chain(list).map(|e| &e.ty);
    all().any(SqlType::has_date)
        && all().all(|ty| ty.has_date() || ty.is_string() || ty.kind == TypeKind::Null)
}

/// The time that makes times of all texts among a value and its list, where there is nothing else.
fn first_time<'a>(value: &'a Expr, list: &'a [Expr]) -> Option<&'a Expr> {
    let all = || std::iter::once(value).chain(list);
    let fits = |ty: &SqlType| matches!(ty.kind, TypeKind::Time | TypeKind::Null) || ty.is_string();
    all()
        .find(|e| e.ty.kind == TypeKind::Time)
        .filter(|_| all().all(|e| fits(&e.ty)))
}

/// Whether the numbers of a list are dates and times beside a value that is no column: where it has nothing but numbers.
fn are_dates_beside(value: &Expr, list: &[Expr], bind: &BindCtx) -> bool {
    let is_number = |e: &Expr| e.ty.is_numeric() || e.ty.kind == TypeKind::Null;
    let is_constant = |e: &Expr| matches!(e.node, Node::Literal(_) | Node::Param(_));
    let dates = value.ty.is_temporal()
        && !(value.is_table_column() || is_literal(value))
        && list.iter().all(|e| is_number(e) && is_constant(e));
    if dates && list.iter().any(|e| matches!(e.node, Node::Param(_))) {
        bind.depends_on_literals.set(true);
    }
    dates
}

fn in_set(candidates: &[(CmpKind, Expr)]) -> Option<InSet> {
    let (first, _) = candidates.first()?;
    if candidates.len() < SET_MIN || candidates.iter().any(|(kind, _)| kind != first) {
        return None;
    }
    let values = candidates.iter().map(|(_, e)| match &e.node {
        Node::Literal(v) if !v.is_null() => Some(v),
        _ => None,
    });
    match first {
        CmpKind::Int => {
            let mut ints = values
                .map(|v| v.and_then(int_of))
                .collect::<Option<Vec<i128>>>()?;
            ints.sort_unstable();
            Some(InSet::Int(ints))
        }
        CmpKind::Str(collation) => {
            let key = |v: &Value| {
                let mut key = Vec::new();
                collation.sort_key(&v.to_text(), &mut key);
                key
            };
            let mut keys = values.map(|v| v.map(key)).collect::<Option<Vec<Vec<u8>>>>()?;
            keys.sort_unstable();
            Some(InSet::Str(*collation, keys))
        }
        _ => None,
    }
}

fn int_of(value: &Value) -> Option<i128> {
    match value {
        Val::Int(v) => Some(*v as i128),
        Val::UInt(v) => Some(*v as i128),
        _ => None,
    }
}

/// `(a, b) IN ((1, 2), (3, 4))`. What stands in a list of several is compared as what the row has in its place: beside an
/// integer as an integer, beside a text as a text.
pub(crate) fn in_rows(row: Vec<Expr>, list: Vec<Vec<Expr>>, negated: bool, bind: &BindCtx) -> Result<Expr> {
    let one = list.len() == 1;
    let mut any = Vec::with_capacity(list.len());
    for candidate in list {
        if candidate.len() != row.len() || row.is_empty() {
            return Err(SqlError::operand_columns(row.len()));
        }
        let mut equal = Vec::with_capacity(row.len());
        for (left, right) in row.iter().zip(candidate) {
            let right = if one {
                right
            } else {
                as_in_row(&left.ty, right, bind)?
            };
            let (kind, left, right) = comparable(Place::OneOfSeveral, left.clone(), right, IN_LIST, bind)?;
            equal.push(compare_as(CmpOp::Eq, kind, left, right));
        }
        any.push(and(equal));
    }
    let test = or(any);
    Ok(if negated { not(test) } else { test })
}

fn as_in_row(beside: &SqlType, e: Expr, bind: &BindCtx) -> Result<Expr> {
    let fraction = e.ty.is_float() || e.ty.kind == TypeKind::Decimal || e.ty.is_string();
    if beside.is_integer() && fraction && !e.ty.is_member() {
        return cast(e, SqlType::bigint(), bind);
    }
    if beside.is_string() && !beside.is_member() && e.ty.is_numeric() {
        let text = SqlType::varchar(e.ty.display_length(), bind.collation_connection);
        return cast(e, text, bind);
    }
    Ok(e)
}
