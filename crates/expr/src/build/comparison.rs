//! Constructors of comparisons and of the logic that joins them. A literal becomes here what it is compared with.

use super::literal::{bool_literal, int_literal, literal, type_of_value};
use super::{BindCtx, as_number, as_text, boolean, cast, part_of_document};
use crate::compare::plain_number;
use crate::env::{Env, EvalCtx, NoSession, NoSubqueries};
use crate::function::Volatility;
use crate::infer::{common_collation, illegal_mix_of, number_kind, text_cmp_kind};
use crate::json::is_opaque;
use crate::node::{CmpOp, Expr, InSet, Node, NumKind};
use tidemark_types::error::{Result, SqlError, er};
use tidemark_types::temporal::parse;
use tidemark_types::{
    CmpKind, Collation, Date, Decimal, SqlMode, SqlType, TimeZone, TypeKind, Val, Value, Warnings,
};

/// Where a comparison stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// By itself: a text literal beside a date must be one.
    Alone,
    /// One of several, as in BETWEEN, in a list or in rows of one: a text that is no date is no error but equals nothing, with a warning.
    OneOfSeveral,
}

/// The operands of a comparison, literals turned into what they are compared with, and the kind of comparison.
fn comparable(
    place: Place,
    left: Expr,
    right: Expr,
    op: &str,
    bind: &BindCtx,
) -> Result<(CmpKind, Expr, Expr)> {
    let kinds = [left.ty.kind, right.ty.kind];
    if kinds.contains(&TypeKind::Json) && !kinds.contains(&TypeKind::Null) {
        return Ok((CmpKind::Json, beside_json(left), beside_json(right)));
    }
    text_comparable(place, left, right, op, bind)
}

/// The same where a document counts as its text: what BETWEEN compares.
fn text_comparable(
    place: Place,
    left: Expr,
    right: Expr,
    op: &str,
    bind: &BindCtx,
) -> Result<(CmpKind, Expr, Expr)> {
    let (left, right) = if left.ty.is_string() && right.ty.is_string() {
        (as_text(left, bind), as_text(right, bind))
    } else if left.ty.is_numeric() || right.ty.is_numeric() {
        (as_number(left), as_number(right))
    } else {
        (left, right)
    };
    // A text literal that is wholly a number is that number beside an exact column.
    let years = op != IN_LIST;
    for (one, other) in [(&left, &right), (&right, &left)] {
        if years && is_year_column(one) && matches!(other.node, Node::Param(_)) {
            bind.depends_on_literals.set(true);
        }
    }
    let left = exact_literal(left, &right, years);
    let right = exact_literal(right, &left, years);
    // A literal beside a date or time is one, if it can be read as one.
    let read = |e: &Expr, other: &Expr| match temporal_literal_beside(e, other, false, bind) {
        Err(_) if place == Place::OneOfSeveral => Ok(None),
        read => read,
    };
    let (read_left, read_right) = (read(&left, &right)?, read(&right, &left)?);
    if place == Place::Alone {
        let constants = [(&left, &right), (&right, &left)].into_iter();
        let dates = constants.filter_map(|(one, other)| DateConstant::of(one, other));
        bind.dates.borrow_mut().extend(dates);
    }
    let left = read_left.unwrap_or(left);
    let right = read_right.unwrap_or(right);
    let kind = text_cmp_kind(&left, &right, op, bind)?;
    Ok((kind, left, right))
}

/// Error 1525 for a text that stands beside a date and is none, now or, if its value is not known yet, when the statement runs.
pub(crate) fn check_date(text: &Expr, date: &Expr, bind: &BindCtx) -> Result<()> {
    match &text.node {
        Node::Literal(Val::Str(value)) if date.ty.has_date() => match date_of(value, bind.sql_mode) {
            Some(_) => Ok(()),
            None => Err(not_temporal(&date.ty, value)),
        },
        _ => {
            bind.dates.borrow_mut().extend(DateConstant::of(text, date));
            Ok(())
        }
    }
}

/// What is compared with a document: a boolean is one there, and bytes are bytes, which their values do not say.
fn beside_json(e: Expr) -> Expr {
    if e.is_condition() || is_opaque(&e.ty) {
        part_of_document(e)
    } else {
        e
    }
}

fn is_literal(e: &Expr) -> bool {
    matches!(e.node, Node::Literal(_))
}

/// Whether it is a column of type YEAR, not another expression of that type.
fn is_year_column(e: &Expr) -> bool {
    e.ty.kind == TypeKind::Year && matches!(e.node, Node::Column(_))
}

/// With `years`, two digits beside a column of years are one.
fn exact_literal(e: Expr, other: &Expr, years: bool) -> Expr {
    if years
        && is_year_column(other)
        && let Some(year) = constant_year(&e)
    {
        return int_literal(year);
    }
    let Node::Literal(value) = &e.node else { return e };
    if is_literal(other) || !(other.ty.is_integer() || other.ty.kind == TypeKind::Decimal) {
        return e;
    }
    let exact = match value {
        Val::Str(text) if !(e.ty.unsigned && e.ty.is_binary_string()) => {
            let number = plain_number(text);
            number.map(
                |d| match d.to_i128().filter(|_| d.scale() == 0).map(i64::try_from) {
                    Some(Ok(int)) => Val::Int(int),
                    _ => Val::Decimal(d),
                },
            )
        }
        Val::Int(n) => Some(Val::Int(*n)),
        _ => None,
    };
    match exact {
        Some(value) => literal(type_of_value(&value, &BindCtx::default()), value),
        None => e,
    }
}

/// The year that a constant is beside a column of years.
fn constant_year(e: &Expr) -> Option<i64> {
    if !e.is_constant() || has_other_source(e) {
        return None;
    }
    let (warnings, zone) = (Warnings::default(), TimeZone::UTC);
    let env = Env::new(&NoSession, &NoSubqueries, &warnings, &zone);
    year_of(&e.eval_owned(&env.ctx()).ok()?)
}

/// The year that a number, or the text of one, is beside a column of years; a fraction is rounded.
fn year_of(value: &Value) -> Option<i64> {
    let number = match value {
        Val::Str(text) => plain_number(text).filter(|d| d.scale() == 0)?,
        Val::Int(n) => Decimal::from(*n),
        Val::Decimal(d) => d.round(0),
        Val::Double(d) if d.abs() < 1e4 => Decimal::from(d.round() as i64),
        _ => return None,
    };
    match i64::try_from(number.to_i128()?).ok()? {
        0 if matches!(value, Val::Str(_)) => Some(2000),
        n @ 1..70 => Some(n + 2000),
        n @ 70..100 => Some(n + 1900),
        n @ (0 | 1901..=2155) => Some(n),
        _ => None,
    }
}

/// A literal as the date or time that it is beside `other`. A text beside a date must be one, as in MySQL. Beside a column, or
/// where `listed` with others, a text may be a time, and a number a date or time; else times count as texts beside a text,
/// and dates and times as numbers beside a number.
fn temporal_literal_beside(e: &Expr, other: &Expr, listed: bool, bind: &BindCtx) -> Result<Option<Expr>> {
    let Node::Literal(value) = &e.node else {
        return Ok(None);
    };
    let listed = listed || matches!(other.node, Node::Column(_));
    let read = match (value, other.ty.kind) {
        (Val::Int(_), _) | (Val::Str(_), TypeKind::Time) if !listed => None,
        (Val::Str(s), TypeKind::Time) => parse::time(s, bind.sql_mode)
            .filter(|(_, whole)| *whole)
            .map(|(t, _)| Val::Time(t)),
        (Val::Int(n), TypeKind::Time) => parse::number_to_time(*n as i128, *n < 0, 0.0, 0)
            .filter(|(_, whole)| *whole)
            .map(|(t, _)| Val::Time(t)),
        (Val::Int(0), _) if other.ty.has_date() => Some(Val::DateTime(Date::ZERO.midnight())),
        (Val::Int(n), _) if other.ty.has_date() => {
            parse::number_to_datetime(*n as i128, 0.0, 0, bind.sql_mode).map(|p| Val::DateTime(p.value))
        }
        (Val::Str(s), _) if other.ty.has_date() => {
            let parsed = date_of(s, bind.sql_mode).ok_or_else(|| not_temporal(&other.ty, s))?;
            // What names a zone of its own is placed when the statement runs.
            if parsed.offset.is_some() {
                None
            } else {
                Some(Val::DateTime(parsed.value))
            }
        }
        _ => None,
    };
    Ok(read.map(|value| literal(type_of_value(&value, bind), value)))
}

/// A text that stands beside a date, known when the statement runs. As a literal, it must be a date.
#[derive(Clone, Debug)]
pub struct DateConstant {
    text: Expr,
    /// The type of the date.
    ty: SqlType,
}

impl DateConstant {
    /// Error 1525 if the text is no date.
    pub fn check(&self, ctx: &EvalCtx) -> Result<()> {
        match self.text.eval(ctx)? {
            Val::Str(text) if date_of(&text, ctx.env.sql_mode).is_none() => {
                Err(not_temporal(&self.ty, &text))
            }
            _ => Ok(()),
        }
    }

    /// `None`: the first is no such text beside the second.
    fn of(text: &Expr, other: &Expr) -> Option<DateConstant> {
        let mut later = false;
        text.walk(&mut |e| later |= matches!(e.node, Node::Param(_)));
        let is_text = text.ty.is_string() && !text.ty.is_member() && !other.ty.is_string();
        let is_fixed = text.columns().is_empty() && (later || text.is_constant()) && !is_literal(text);
        let steady = !has_other_source(text);
        (is_text && other.ty.has_date() && is_fixed && steady).then(|| DateConstant {
            text: text.clone(),
            ty: other.ty.clone(),
        })
    }
}

/// Whether the session, a query or the clock has a say in an expression.
fn has_other_source(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| {
        found |= match &e.node {
            Node::Call(def, _) => def.volatility != Volatility::Pure,
            Node::UserVar(_) | Node::AssignVar(..) | Node::SystemVar(..) | Node::Subquery { .. } => true,
            _ => false,
        }
    });
    found
}

/// A text as a date, which a time alone is not.
pub(crate) fn date_of(text: &[u8], mode: SqlMode) -> Option<parse::ParsedDateTime> {
    let clock = text.iter().find(|b| b.is_ascii_punctuation()) == Some(&b':');
    parse::datetime(text, mode).filter(|_| !clock)
}

fn not_temporal(ty: &SqlType, text: &[u8]) -> SqlError {
    let kind = match ty.kind {
        TypeKind::Date => "DATE",
        TypeKind::Timestamp => "TIMESTAMP",
        _ => "DATETIME",
    };
    let shown = tidemark_types::convert::excerpt(text);
    SqlError::new(
        tidemark_types::error::er::TRUNCATED_WRONG_VALUE_IN_FUNCTION,
        format!("Incorrect {kind} value: '{shown}'"),
    )
}

/// `left op right`; literals take the type that they are compared with.
pub fn compare(op: CmpOp, left: Expr, right: Expr, bind: &BindCtx) -> Result<Expr> {
    compare_in(Place::Alone, op, left, right, bind)
}

fn compare_in(place: Place, op: CmpOp, left: Expr, right: Expr, bind: &BindCtx) -> Result<Expr> {
    let (kind, left, right) = comparable(place, left, right, op.symbol(), bind)?;
    Ok(compare_as(op, kind, left, right))
}

fn compare_as(op: CmpOp, kind: CmpKind, left: Expr, right: Expr) -> Expr {
    let nullable = op != CmpOp::NullSafeEq && (left.ty.nullable || right.ty.nullable || kind_may_fail(kind));
    boolean(nullable, Node::Compare(op, kind, Box::new([left, right])))
}

fn kind_may_fail(kind: CmpKind) -> bool {
    matches!(kind, CmpKind::DateTime | CmpKind::Time)
}

/// `(a, b) op (c, d)`, spelled out.
pub(crate) fn compare_rows(op: CmpOp, left: Vec<Expr>, right: Vec<Expr>, bind: &BindCtx) -> Result<Expr> {
    if left.len() != right.len() || left.is_empty() {
        return Err(SqlError::operand_columns(left.len()));
    }
    let pairs: Vec<(Expr, Expr)> = left.into_iter().zip(right).collect();
    let each = |op: CmpOp| -> Result<Vec<Expr>> {
        pairs
            .iter()
            .map(|(l, r)| compare(op, l.clone(), r.clone(), bind))
            .collect()
    };
    match op {
        CmpOp::Eq | CmpOp::NullSafeEq => Ok(and(each(op)?)),
        CmpOp::Ne => Ok(or(each(op)?)),
        _ => ordered_rows(op, pairs, bind),
    }
}

/// `(a, b) < (c, d)` and its like: a < c OR (a = c AND (b < d)), where only the last keeps "or equal". No two digits are a year.
fn ordered_rows(op: CmpOp, pairs: Vec<(Expr, Expr)>, bind: &BindCtx) -> Result<Expr> {
    let strict = match op {
        CmpOp::Le => CmpOp::Lt,
        CmpOp::Ge => CmpOp::Gt,
        other => other,
    };
    let mut rest: Option<Expr> = None;
    for (l, r) in pairs.into_iter().rev() {
        let pair = |op: CmpOp| {
            let (kind, l, r) = comparable(Place::Alone, l.clone(), r.clone(), IN_LIST, bind)?;
            Ok::<_, SqlError>(compare_as(op, kind, l, r))
        };
        rest = Some(match rest {
            None => pair(op)?,
            Some(rest) => or(vec![pair(strict)?, and(vec![pair(CmpOp::Eq)?, rest])]),
        });
    }
    rest.ok_or_else(|| SqlError::operand_columns(1))
}

/// Conjunction; flattens nested ones. Of none: TRUE.
pub fn and(list: Vec<Expr>) -> Expr {
    let mut flat = Vec::with_capacity(list.len());
    for e in list {
        match e.node {
            Node::And(inner) => flat.extend(inner),
            _ => flat.push(e),
        }
    }
    match flat.len() {
        0 => bool_literal(true),
        1 if flat[0].ty == SqlType::boolean() => flat.remove(0),
        _ => boolean(flat.iter().any(|e| e.ty.nullable), Node::And(flat)),
    }
}

/// Disjunction; flattens nested ones. Of none: FALSE.
pub(crate) fn or(list: Vec<Expr>) -> Expr {
    let mut flat = Vec::with_capacity(list.len());
    for e in list {
        match e.node {
            Node::Or(inner) => flat.extend(inner),
            _ => flat.push(e),
        }
    }
    if flat.is_empty() {
        return bool_literal(false);
    }
    boolean(flat.iter().any(|e| e.ty.nullable), Node::Or(flat))
}

pub(crate) fn xor(left: Expr, right: Expr) -> Expr {
    let nullable = left.ty.nullable || right.ty.nullable;
    boolean(nullable, Node::Xor(Box::new([left, right])))
}

pub(crate) fn not(e: Expr) -> Expr {
    boolean(e.ty.nullable, Node::Not(Box::new(e)))
}

pub(crate) fn is_null(e: Expr, negated: bool) -> Expr {
    let test = boolean(false, Node::IsNull(Box::new(e)));
    if negated { not(test) } else { test }
}

/// `IS [NOT] TRUE`, `IS [NOT] FALSE`. `IS UNKNOWN` is [`is_null`].
pub(crate) fn is_truth(e: Expr, truth: bool, negated: bool) -> Expr {
    let test = boolean(false, Node::IsTruth(Box::new(e), truth));
    if negated { not(test) } else { test }
}

/// `e BETWEEN low AND high`. A column of numbers or moments between constants is compared with each as with one alone; else the
/// three are compared as one kind.
pub(crate) fn between(e: Expr, low: Expr, high: Expr, negated: bool, bind: &BindCtx) -> Result<Expr> {
    let is_bound = |e: &Expr| e.columns().is_empty();
    let exact = e.ty.is_numeric() || e.ty.is_temporal();
    if exact && matches!(e.node, Node::Column(_)) && is_bound(&low) && is_bound(&high) {
        return between_bounds(e, low, high, negated, bind);
    }
    let kind = kind_of_three([&e, &low, &high], bind)?;
    let date = [&e, &low, &high].into_iter().find(|e| e.ty.has_date()).cloned();
    let prepared = |e: Expr| match (kind, &date) {
        (CmpKind::Str(_), _) => as_text(e, bind),
        (CmpKind::DateTime, Some(date)) if is_literal(&e) && e.ty.is_string() => {
            let read = temporal_literal_beside(&e, date, true, bind);
            read.ok().flatten().unwrap_or(e)
        }
        (CmpKind::Int | CmpKind::Decimal | CmpKind::Double, _) => as_number(e),
        _ => e,
    };
    Ok(between_as((kind, kind), [e, low, high].map(prepared), negated))
}

fn between_as((low, high): (CmpKind, CmpKind), args: [Expr; 3], negated: bool) -> Expr {
    let nullable = args.iter().any(|e| e.ty.nullable);
    boolean(
        nullable,
        Node::Between {
            negated,
            low,
            high,
            args: Box::new(args),
        },
    )
}

/// As what three are compared: dates where one is a date and none a number, else texts if all are, else numbers.
fn kind_of_three(operands: [&Expr; 3], bind: &BindCtx) -> Result<CmpKind> {
    let is_text = |ty: &SqlType| {
        ty.is_string() || ty.is_temporal() || matches!(ty.kind, TypeKind::Json | TypeKind::Null)
    };
    let types = operands.map(|e| &e.ty);
    if !types.iter().all(|ty| is_text(ty)) {
        let class = |ty: &&SqlType| {
            if is_text(ty) {
                NumKind::Double
            } else {
                number_kind(ty)
            }
        };
        return Ok(match types.iter().map(class).max() {
            Some(NumKind::Int) => CmpKind::Int,
            Some(NumKind::Decimal) => CmpKind::Decimal,
            _ => CmpKind::Double,
        });
    }
    let (collation, _) = common_collation(&types, "between", bind)?;
    Ok(if types.iter().any(|ty| ty.has_date()) {
        CmpKind::DateTime
    } else if types.iter().all(|ty| ty.kind == TypeKind::Time) {
        CmpKind::Time
    } else {
        CmpKind::Str(collation)
    })
}

fn between_bounds(e: Expr, low: Expr, high: Expr, negated: bool, bind: &BindCtx) -> Result<Expr> {
    let place = Place::OneOfSeveral;
    let (low_kind, value, low) = text_comparable(place, e.clone(), low, "between", bind)?;
    let (high_kind, value_too, high) = text_comparable(place, e, high, "between", bind)?;
    // Where the two bounds want the value as different things, the comparison is two.
    if std::mem::discriminant(&value.node) != std::mem::discriminant(&value_too.node)
        || value.ty != value_too.ty
    {
        let test = and(vec![
            compare_in(place, CmpOp::Ge, value, low, bind)?,
            compare_in(place, CmpOp::Le, value_too, high, bind)?,
        ]);
        return Ok(if negated { not(test) } else { test });
    }
    Ok(between_as((low_kind, high_kind), [value, low, high], negated))
}

/// The collation under which texts are compared with several others, if all are texts: one for all. Errors 1267, 1270, 1271.
fn collation_of_all<'e>(
    operands: impl IntoIterator<Item = &'e Expr>,
    op: &str,
    bind: &BindCtx,
) -> Result<Option<Collation>> {
    let types: Vec<&SqlType> = operands.into_iter().map(|operand| &operand.ty).collect();
    match types.iter().all(|ty| ty.is_string()) {
        true => Ok(Some(common_collation(&types, op, bind)?.0)),
        false => Ok(None),
    }
}

/// Texts whose collations do not mix, among several operands: the error names all of them.
fn of_several(error: SqlError, types: &[SqlType], op: &str) -> SqlError {
    match types.len() > 2 && error.code == er::CANT_AGGREGATE_2COLLATIONS {
        true => illegal_mix_of(&types.iter().collect::<Vec<_>>(), op),
        false => error,
    }
}

/// A comparison of texts under that collation.
fn under(kind: CmpKind, of_all: Option<Collation>) -> CmpKind {
    match (kind, of_all) {
        (CmpKind::Str(_), Some(collation)) => CmpKind::Str(collation),
        _ => kind,
    }
}

/// What comparison with a list of several is called, in which two digits are no year.
const IN_LIST: &str = " IN ";

/// Lists from this length on are searched, not walked.
const SET_MIN: usize = 8;

pub(crate) fn in_list(e: Expr, list: Vec<Expr>, negated: bool, bind: &BindCtx) -> Result<Expr> {
    let mut nullable = e.ty.nullable;
    let mut candidates = Vec::with_capacity(list.len());
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

/// The value is compared with each candidate, so it may change into a number only if all are.
fn as_number_beside(e: Expr, list: &[Expr]) -> Expr {
    if list.iter().all(|c| c.ty.is_numeric()) {
        as_number(e)
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
        && !matches!(value.node, Node::Column(_) | Node::Literal(_))
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
