//! Constructors of comparisons and of the logic that joins them. A literal becomes here what it is compared with.

use super::literal::{bool_literal, literal, type_of_value};
use super::year::{constant_year, year_beside};
use super::{
    BindCtx, as_number, as_text, boolean, condition, expr, in_set_of, json_constant, part_of_document,
    sum_as_double,
};
use crate::env::{Env, EvalCtx, NoSession, NoSubqueries};
use crate::function::{FuncDef, Volatility, stable};
use crate::infer::{IN_LIST, common_collation, illegal_mix_of, number_kind, text_cmp_kind};
use crate::json::is_opaque;
use crate::node::{CmpOp, Expr, Node, NumKind};
use tidemark_types::assign;
use tidemark_types::convert::plain_number;
use tidemark_types::error::{Result, SqlError, er};
use tidemark_types::temporal::parse;
use tidemark_types::{
    CmpKind, Collation, Conversion, Date, DateTime, Derivation, SqlMode, SqlType, Time, TimeZone, TypeKind,
    Val, Value, Warnings,
};

/// Where a comparison stands.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Place {
    /// By itself: a text literal beside a date must be one.
    Alone,
    /// In NULLIF: the same, but a text beside a DATE keeps its time.
    Chosen,
    /// One of several, as in BETWEEN, in a list or in rows of one: a text that is no date is no error but equals nothing, with a warning.
    OneOfSeveral,
}

/// The operands of a comparison, literals turned into what they are compared with, and the kind of comparison.
pub(super) fn comparable(
    place: Place,
    mut left: Expr,
    mut right: Expr,
    op: &str,
    bind: &BindCtx,
) -> Result<(CmpKind, Expr, Expr)> {
    bind.settle_compared(&mut left, &mut right, op);
    let kinds = [left.ty.kind, right.ty.kind];
    if kinds.contains(&TypeKind::Json) && !kinds.contains(&TypeKind::Null) {
        let (left_value, right_value) = match place {
            Place::OneOfSeveral => (None, None),
            _ => (
                json_constant::beside(&left, &right, bind),
                json_constant::beside(&right, &left, bind),
            ),
        };
        if left_value.is_none() && right_value.is_none() {
            return Ok((CmpKind::Json, beside_json(left), beside_json(right)));
        }
        let (left, right) = (left_value.unwrap_or(left), right_value.unwrap_or(right));
        return text_comparable(place, left, right, op, bind);
    }
    text_comparable(place, left, right, op, bind)
}

/// How a constant is compared with a column of a subquery, and as what; `None` where the column would have to be something else.
pub(super) fn constant_among(e: Expr, column: Expr, bind: &BindCtx) -> Result<Option<(CmpKind, Expr)>> {
    let (kind, e, column) = comparable(Place::Alone, e, column, "=", bind)?;
    Ok(column.is_table_column().then_some((kind, e)))
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
        (sum_as_double(as_number(left)), sum_as_double(as_number(right)))
    } else {
        (left, right)
    };
    // A text literal that is wholly a number is that number beside an exact column.
    let years = op != IN_LIST;
    let left = exact_literal(left, &right, years, bind);
    let right = exact_literal(right, &left, years, bind);
    let (left_ty, right_ty) = (left.ty.clone(), right.ty.clone());
    let (left, right) = (year_beside(left, &right_ty), year_beside(right, &left_ty));
    // Where rows are compared by their order a number beside a date stays a number, but in a list of rows it is a date.
    let ordered = op == IN_LIST && place == Place::Alone;
    // A constant beside a date or time is one, if it can be read as one.
    let read = |e: &Expr, other: &Expr| {
        if ordered && e.ty.is_numeric() {
            return Ok(None);
        }
        let is_clock = other.ty.kind == TypeKind::Time && e.ty.kind == TypeKind::DateTime;
        if op != IN_LIST && (e.ty.is_numeric() || is_clock) && other.is_table_column() {
            return Ok(stored_in_column(e, other, bind));
        }
        match temporal_literal_beside(e, other, false, bind) {
            Err(_) if place == Place::OneOfSeveral => Ok(None),
            read => read,
        }
    };
    let (read_left, read_right) = (read(&left, &right)?, read(&right, &left)?);
    if place != Place::OneOfSeveral {
        let constants = [(&left, &right), (&right, &left)].into_iter();
        let dates = constants.filter_map(|(one, other)| DateConstant::of(one, other));
        bind.dates.borrow_mut().extend(dates);
    }
    let left = read_left.unwrap_or(left);
    let right = read_right.unwrap_or(right);
    let (left, right) = match place {
        Place::Alone => {
            let left = as_moment_beside(left, &right, bind);
            let right = as_moment_beside(right, &left, bind);
            (left, right)
        }
        _ => (left, right),
    };
    let kind = text_cmp_kind(&left, &right, op, bind)?;
    let (left, right) = (of_kind(kind, left), of_kind(kind, right));
    Ok((kind, left, right))
}

/// Texts that are compared as bytes are those of their character sets, and bytes that are compared as texts are read in one.
pub(super) fn of_kind(kind: CmpKind, e: Expr) -> Expr {
    match kind {
        CmpKind::Str(collation) => in_set_of(e, collation),
        _ => e,
    }
}

/// A text beside a date, both different from row to row. Beside a DATE it is read as one, and its time does not count. What IF, CASE or NULLIF
/// chooses, if it may be NULL, is so if it is no date; every other text counts as the zero date.
fn as_moment_beside(text: Expr, other: &Expr, bind: &BindCtx) -> Expr {
    if !(other.ty.has_date() && text.ty.is_string() && varies(&text) && varies(other)) {
        return text;
    }
    let is_nullif = |e: &Expr| matches!(&e.node, Node::Call(def, _) if def.name == "nullif");
    let is_chosen = text.is_choice() || is_nullif(&text);
    if is_chosen && text.has_parameter() {
        // A parameter may be NULL where a literal is not.
        bind.depends_on_literals.set(true);
    }
    let is_chosen = is_chosen && text.ty.nullable;
    match other.ty.kind {
        TypeKind::Date if is_chosen => read_chosen(text, SqlType::date()),
        TypeKind::Date => read_as(text, SqlType::date()),
        _ if is_chosen => read_chosen(text, SqlType::datetime(6)),
        _ => text,
    }
}

/// Whether it is not the same for all rows.
pub(super) fn varies(e: &Expr) -> bool {
    !e.columns().is_empty()
}

/// A text read as a DATE or DATETIME. One that is none has left a warning and counts as the zero date.
pub(super) fn read_as(text: Expr, ty: SqlType) -> Expr {
    static FUNCTION: FuncDef = stable(
        "date_of_text",
        (1, 1),
        |_, _| Ok(SqlType::date()),
        |args, ty, ctx| {
            let value = args[0].eval(ctx)?;
            if value.is_null() {
                return Ok(Val::Null);
            }
            Ok(moment_of_kind(
                value.to_compared_datetime(ctx.env)?.unwrap_or_default(),
                ty,
            ))
        },
    );
    expr(
        ty.with_nullable(text.ty.nullable),
        Node::Call(&FUNCTION, vec![text]),
    )
}

/// A text read as a DATE or DATETIME. One that is none has left a warning and is NULL.
pub(super) fn read_chosen(text: Expr, ty: SqlType) -> Expr {
    static FUNCTION: FuncDef = stable(
        "date_of_chosen",
        (1, 1),
        |_, _| Ok(SqlType::date()),
        |args, ty, ctx| {
            let moment = args[0].eval(ctx)?.to_compared_datetime(ctx.env)?;
            Ok(moment.map_or(Val::Null, |moment| moment_of_kind(moment, ty)))
        },
    );
    expr(ty.with_nullable(true), Node::Call(&FUNCTION, vec![text]))
}

fn moment_of_kind(moment: DateTime, ty: &SqlType) -> Value {
    match ty.kind {
        TypeKind::Date => Val::Date(moment.date),
        _ => Val::DateTime(moment),
    }
}

/// Error 1525 for a text that stands beside a date and is none, now or, if its value is not known yet, when the statement runs.
pub(crate) fn check_date(text: &Expr, date: &Expr, bind: &BindCtx) -> Result<()> {
    match &text.node {
        Node::Literal(Val::Str(value)) if date.ty.has_date() => match date_of(value, bind.sql_mode) {
            Some(_) => Ok(()),
            None => Err(not_temporal(&date.ty, value)),
        },
        // A sum that is a time is no wrong date beside those of a query, but none.
        Node::Call(def, _) if matches!(def.name, "addtime" | "subtime") => Ok(()),
        _ => {
            bind.dates.borrow_mut().extend(DateConstant::of(text, date));
            Ok(())
        }
    }
}

/// The same for a call of literals, whose text is known.
pub(crate) fn check_date_call(call: &Expr, date: &Expr, bind: &BindCtx) -> Result<()> {
    if call.has_parameter() {
        bind.depends_on_literals.set(true);
    }
    match constant(call, bind).filter(|_| call.ty.is_string()) {
        Some(text @ Val::Str(_)) => check_date(&literal(call.ty.clone(), text), date, bind),
        _ => Ok(()),
    }
}

/// What is compared with a document: a boolean is one there, and bytes are bytes, which their values do not say. A
/// decimal that was cast to a document is what it was before, which the text of the document does not say.
pub(super) fn beside_json(e: Expr) -> Expr {
    let is_document = e.ty.kind == TypeKind::Json;
    match e.node {
        Node::Cast(inner) if is_document && inner.ty.kind == TypeKind::Decimal => *inner,
        _ if e.is_condition() || is_opaque(&e.ty) => part_of_document(e),
        node => Expr { node, ..e },
    }
}

pub(super) fn is_literal(e: &Expr) -> bool {
    matches!(e.node, Node::Literal(_))
}

/// With `years`, a constant beside a column of years is one.
fn exact_literal(e: Expr, other: &Expr, years: bool, bind: &BindCtx) -> Expr {
    if years && let Some(year) = constant_year(&e, other, bind) {
        return year;
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

/// A constant as what a column of dates or times keeps of it when it is stored there: a DATE no time, the others the digits that they
/// have. `None` where there is no such column, and for what cannot be stored.
fn stored_in_column(e: &Expr, column: &Expr, bind: &BindCtx) -> Option<Expr> {
    let name = column.name.as_ref().filter(|_| column.is_table_column())?;
    if !(column.ty.has_date() || column.ty.kind == TypeKind::Time) || varies(e) {
        return None;
    }
    if e.has_parameter() {
        bind.depends_on_literals.set(true);
    }
    let constant = StoredConstant {
        value: constant(e, bind).filter(|value| !matches!(value, Val::Null | Val::Time(_)))?,
        ty: column.ty.clone(),
        column: name.rsplit('`').nth(1).unwrap_or(name).to_string(),
    };
    let (complaints, zone) = (Warnings::default(), TimeZone::UTC);
    let mut env = Conversion::new(&complaints, &zone);
    env.sql_mode = bind.sql_mode;
    let kept = constant.kept(&env);
    if constant.strictly(&env).is_err() || complaints.count() > 0 {
        bind.dates.borrow_mut().push(DateConstant::Stored(constant));
    }
    kept.map(|kept| literal(type_of_value(&kept, bind), kept))
}

/// A constant that is compared as what a column keeps of it.
#[derive(Clone, Debug)]
pub struct StoredConstant {
    value: Value,
    /// The type of the column.
    ty: SqlType,
    column: String,
}

impl StoredConstant {
    /// What the column keeps; `None` if it cannot be stored.
    fn kept(&self, env: &Conversion) -> Option<Value> {
        let strictly = self.strictly(env);
        if strictly.is_ok() || matches!(self.ty.kind, TypeKind::Time | TypeKind::Timestamp) {
            return strictly.ok();
        }
        let complaints = Warnings::default();
        let stored = self.stored(false, &complaints, env).ok()?;
        Some(stored).filter(|stored| match stored {
            Val::Date(date) => !date.is_zero(),
            Val::DateTime(moment) => !moment.is_zero(),
            _ => true,
        })
    }

    /// The same, and an error if anything but digits or a part that the column does not have would be lost. Those are noted.
    fn strictly(&self, env: &Conversion) -> Result<Value> {
        self.stored(true, env.warnings, env)
    }

    fn stored(&self, strict: bool, warnings: &Warnings, env: &Conversion) -> Result<Value> {
        // Here zero dates are dates, and so is the 31st of any month.
        let mode = SqlMode(env.sql_mode.0 & !SqlMode::NO_ZERO_DATE.0 | SqlMode::ALLOW_INVALID_DATES.0);
        let mut env = Conversion::new(warnings, env.time_zone);
        (env.sql_mode, env.strict) = (mode, strict);
        Ok(assign::assign(self.value.clone(), &self.ty, &self.column, &env)?.into_owned())
    }

    /// Warns of what is lost. What cannot be stored is an error where the statement is strict about what it writes.
    fn check(&self, ctx: &EvalCtx) -> Result<()> {
        match self.strictly(ctx.env) {
            Err(error) if self.kept(ctx.env).is_none() => ctx.env.complain(error),
            Err(error) => {
                ctx.env.warnings.warn(error);
                Ok(())
            }
            Ok(_) => Ok(()),
        }
    }
}

/// A literal as the date or time that it is beside `other`. A text beside a date must be one, as in MySQL. Beside a column, or
/// where `listed` with others, a text may be a time, and a number a date or time; else times count as texts beside a text,
/// and dates and times as numbers beside a number.
pub(super) fn temporal_literal_beside(
    e: &Expr,
    other: &Expr,
    listed: bool,
    bind: &BindCtx,
) -> Result<Option<Expr>> {
    let Node::Literal(value) = &e.node else {
        return Ok(None);
    };
    let several = listed;
    let listed = listed || other.is_table_column();
    let read = match (value, other.ty.kind) {
        (Val::Int(_), _) | (Val::Str(_), TypeKind::Time) if !listed => None,
        // In a list of several a date is its midnight.
        (Val::Str(s), TypeKind::Time) => match parse::time(s) {
            Some((time, true)) => Some(Val::Time(time)),
            _ => date_of(s, bind.sql_mode)
                .filter(|read| several && !read.truncated)
                .map(|read| Val::Time(Time::new(read.value.micros_of_day(), read.value.fsp))),
        },
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

/// A constant that stands beside a date, of which there may be something to say when the statement runs.
#[derive(Clone, Debug)]
pub enum DateConstant {
    /// A text, known only then. As a literal, it must be a date.
    Text {
        /// The text.
        text: Expr,
        /// The type of the date.
        ty: SqlType,
    },
    /// What a column of dates or times does not keep whole.
    Stored(StoredConstant),
}

impl DateConstant {
    /// Error 1525 if the text is no date; 1292 where the statement is strict about what it writes.
    pub fn check(&self, ctx: &EvalCtx) -> Result<()> {
        let (text, ty) = match self {
            DateConstant::Stored(constant) => return constant.check(ctx),
            DateConstant::Text { text, ty } => (text, ty),
        };
        match text.eval(ctx)? {
            Val::Str(text) if date_of(&text, ctx.env.sql_mode).is_none() => {
                let shown = tidemark_types::convert::excerpt(&text);
                ctx.env.fail(SqlError::incorrect_value("datetime", &shown))?;
                Err(not_temporal(ty, &text))
            }
            _ => Ok(()),
        }
    }

    /// `None`: the first is no such text beside the second.
    fn of(text: &Expr, other: &Expr) -> Option<DateConstant> {
        let later = text.has_parameter();
        let is_text = text.ty.is_string() && !text.ty.is_member() && !other.ty.is_string();
        let is_fixed = text.columns().is_empty() && (later || text.is_constant()) && !is_literal(text);
        let steady = !has_other_source(text);
        (is_text && other.ty.has_date() && is_fixed && steady).then(|| DateConstant::Text {
            text: text.clone(),
            ty: other.ty.clone(),
        })
    }
}

/// Whether the session, a query or the clock has a say in an expression.
pub(super) fn has_other_source(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| {
        found |= match &e.node {
            Node::Call(def, _) => def.volatility != Volatility::Pure,
            Node::UserVar(_) | Node::AssignVar(..) | Node::SystemVar(..) => true,
            Node::Routine(_) | Node::Subquery { .. } => true,
            _ => false,
        }
    });
    found
}

/// A text as a date that the SQL mode allows.
pub(crate) fn date_of(text: &[u8], mode: SqlMode) -> Option<parse::ParsedDateTime> {
    parse::datetime(text, mode).filter(|parsed| parse::acceptable(parsed, mode))
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

/// The comparison of NULLIF.
pub(crate) fn compare_chosen(left: Expr, right: Expr, bind: &BindCtx) -> Result<Expr> {
    compare_in(Place::Chosen, CmpOp::Eq, left, right, bind)
}

fn compare_in(place: Place, op: CmpOp, left: Expr, right: Expr, bind: &BindCtx) -> Result<Expr> {
    let name = match place {
        Place::Chosen => "nullif",
        _ => op.symbol(),
    };
    let (kind, left, right) = comparable(place, left, right, name, bind)?;
    Ok(compare_as(op, kind, left, right))
}

/// A comparison whose kind has been decided.
pub fn compare_as(op: CmpOp, kind: CmpKind, left: Expr, right: Expr) -> Expr {
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

/// `(a, b) < (c, d)` and its like: a < c OR (a = c AND (b < d)), where only the last keeps "or equal". No constant is a year.
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
    for e in list.into_iter().map(condition) {
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
/// `a OR b …`
pub fn or(list: Vec<Expr>) -> Expr {
    let mut flat = Vec::with_capacity(list.len());
    for e in list.into_iter().map(condition) {
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
    boolean(nullable, Node::Xor(Box::new([condition(left), condition(right)])))
}

pub(crate) fn not(e: Expr) -> Expr {
    boolean(e.ty.nullable, Node::Not(Box::new(condition(e))))
}

pub(crate) fn is_null(e: Expr, negated: bool) -> Expr {
    let test = boolean(false, Node::IsNull(Box::new(e)));
    if negated { not(test) } else { test }
}

/// `IS [NOT] TRUE`, `IS [NOT] FALSE`. `IS UNKNOWN` is [`is_null`].
pub(crate) fn is_truth(e: Expr, truth: bool, negated: bool) -> Expr {
    let test = boolean(false, Node::IsTruth(Box::new(condition(e)), truth));
    if negated { not(test) } else { test }
}

/// `e BETWEEN low AND high`. A column of numbers or moments between constants is compared with each as with one alone; else the
/// three are compared as one kind.
///
/// If both bounds are the same constant, this is an equality, and follows its rules: a document is compared as a document, a text that is compared
/// with a date must be a date, and of a date with time that is compared with a time, the time counts.
pub(crate) fn between(
    mut e: Expr,
    mut low: Expr,
    mut high: Expr,
    negated: bool,
    bind: &BindCtx,
) -> Result<Expr> {
    bind.settle_listed(&mut e, [&mut low, &mut high]);
    let as_document = e.ty.kind == TypeKind::Json;
    let as_date = e.ty.has_date() && low.ty.is_string() && high.ty.is_string();
    let as_clock = e.ty.kind == TypeKind::Time && low.ty.kind == TypeKind::DateTime;
    if !negated && (as_document || as_date || as_clock) && are_one_constant(&low, &high, bind) {
        return compare(CmpOp::Eq, e, low, bind);
    }
    let is_bound = |e: &Expr| e.columns().is_empty();
    let as_dates = e.ty.kind == TypeKind::Time && (low.ty.has_date() || high.ty.has_date());
    // A text that is no time makes integers of all three.
    let is_no_time = |bound: &Expr| bound.ty.is_string() && clock_bound(&e, bound, bind).is_none();
    let as_integers = e.ty.kind == TypeKind::Time && is_no_time(&low) != is_no_time(&high);
    let exact = e.ty.is_numeric() || e.ty.is_temporal() && !as_dates && !as_integers;
    if exact && e.is_table_column() && is_bound(&low) && is_bound(&high) {
        return between_bounds(e, low, high, negated, bind);
    }
    // A number beside a date that differs from row to row is one, if the column can store it.
    let is_date = |bound: &Expr| e.ty.has_date() && bound.ty.has_date() && varies(bound);
    let beside_date = [is_date(&high), is_date(&low)];
    let as_date = |bound: Expr, beside_date: bool| match beside_date && bound.ty.is_numeric() {
        true => stored_in_column(&bound, &e, bind).unwrap_or(bound),
        false => bound,
    };
    let (low, high) = (as_date(low, beside_date[0]), as_date(high, beside_date[1]));
    // A constant beside a column of years is one, whatever the other bound is.
    let years = [&low, &high].map(|bound| constant_year(bound, &e, bind));
    let among_numbers = low.ty.is_numeric() && high.ty.is_numeric();
    let as_integers = among_numbers && years.iter().any(Option::is_some);
    let [low_year, high_year] = years;
    let (low, high) = (low_year.unwrap_or(low), high_year.unwrap_or(high));
    // Then the other bound is an integer, too.
    let kind = match as_integers {
        true => CmpKind::Int,
        false => kind_of_three([&e, &low, &high], bind)?,
    };
    let clock = match kind {
        CmpKind::Str(_) | CmpKind::Time => [&low, &high].map(|bound| clock_bound(&e, bound, bind)),
        _ => [None, None],
    };
    let (kind, low, high) = match clock {
        [None, None] => (kind, low, high),
        [low_clock, high_clock] => (CmpKind::Int, low_clock.unwrap_or(low), high_clock.unwrap_or(high)),
    };
    let date = [&e, &low, &high].into_iter().find(|e| e.ty.has_date()).cloned();
    let are_texts = !negated && is_unicode(&e) && low.is_constant() && high.is_constant();
    let clock_text = |e: &Expr| are_texts && e.ty.kind == TypeKind::Time;
    let prepared = |e: Expr| match (kind, &date) {
        (CmpKind::Str(_), _) => of_kind(kind, as_text(e, bind)),
        (CmpKind::DateTime, Some(date)) if is_literal(&e) && e.ty.is_string() => {
            let read = temporal_literal_beside(&e, date, true, bind);
            read.ok()
                .flatten()
                .unwrap_or_else(|| read_as(e, SqlType::datetime(6)))
        }
        // Of two constants a time is the date that its text may be taken for.
        (CmpKind::DateTime, _) if clock_text(&e) => {
            let ty = SqlType::varchar(e.ty.display_length(), bind.collation_connection);
            let ty = ty.with_nullable(e.ty.nullable);
            read_as(expr(ty, Node::Cast(Box::new(e))), SqlType::datetime(6))
        }
        (CmpKind::DateTime, _) if e.ty.is_string() || e.ty.kind == TypeKind::Json => {
            read_as(document_as_text(e), SqlType::datetime(6))
        }
        (CmpKind::Int | CmpKind::Decimal | CmpKind::Double, _) => sum_as_double(as_number(e)),
        _ => e,
    };
    Ok(between_as((kind, kind), [e, low, high].map(prepared), negated))
}

/// A constant as the time that it is as a bound of a column of times; `None` for a time that is written as one, and for what is none. Beside
/// such a bound MySQL compares the three as the integers that their digits are.
fn clock_bound(column: &Expr, bound: &Expr, bind: &BindCtx) -> Option<Expr> {
    if column.ty.kind != TypeKind::Time || !column.is_table_column() || !bound.columns().is_empty() {
        return None;
    }
    if bound.has_parameter() {
        bind.depends_on_literals.set(true);
    }
    let time = match constant(bound, bind)? {
        Val::Str(text) => parse::time(&text).filter(|(_, whole)| *whole)?.0,
        Val::Time(time) if !is_literal(bound) => time,
        _ => return None,
    };
    Some(literal(SqlType::time(time.fsp), Val::Time(time)))
}

/// A document beside texts is its text.
pub(super) fn document_as_text(e: Expr) -> Expr {
    if e.ty.kind != TypeKind::Json {
        return e;
    }
    let ty = SqlType::text(Collation::UTF8MB4_BIN).with_nullable(e.ty.nullable);
    expr(ty, Node::Cast(Box::new(e)))
}

/// Whether a value is a text in Unicode: constants on both sides of it are texts, too.
fn is_unicode(e: &Expr) -> bool {
    e.ty.kind == TypeKind::Json || e.ty.is_string() && e.ty.collation.charset().is_unicode()
}

/// Whether two constants have one value.
fn are_one_constant(low: &Expr, high: &Expr, bind: &BindCtx) -> bool {
    if low.ty.kind != high.ty.kind || has_other_source(low) || has_other_source(high) {
        return false;
    }
    if [low, high].iter().any(|e| e.has_parameter()) {
        bind.depends_on_literals.set(true);
        return false;
    }
    match (constant(low, bind), constant(high, bind)) {
        (Some(Val::Str(low_text)), Some(Val::Str(high_text))) => {
            let kind = text_cmp_kind(low, high, "=", bind);
            matches!(kind, Ok(CmpKind::Str(c)) if c.compare(&low_text, &high_text).is_eq())
        }
        (Some(low), Some(high)) => !low.is_null() && low == high,
        _ => false,
    }
}

/// The value of a constant; `None` is an error, or no constant.
pub(crate) fn constant(e: &Expr, bind: &BindCtx) -> Option<Value> {
    if !e.is_constant() || has_other_source(e) {
        return None;
    }
    let (warnings, zone) = (Warnings::default(), TimeZone::UTC);
    let mut env = Env::new(&NoSession, &NoSubqueries, &warnings, &zone);
    env.sql_mode = bind.sql_mode;
    env.collation_connection = bind.collation_connection;
    env.div_precision_increment = bind.div_precision_increment;
    env.lc_time_names = bind.lc_time_names;
    e.eval_owned(&env.ctx()).ok()
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
    // Beside a number a DATE is compared with what it would keep of both.
    let with_number = e.ty.kind == TypeKind::Date && (low.ty.is_numeric() || high.ty.is_numeric());
    let [low, high] = [low, high].map(|bound| match with_number && !bound.ty.is_numeric() {
        true => stored_in_column(&bound, &e, bind).unwrap_or(bound),
        false => bound,
    });
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
pub(super) fn collation_of_all<'e>(
    operands: impl IntoIterator<Item = &'e Expr>,
    op: &str,
    bind: &BindCtx,
) -> Result<Option<Collation>> {
    // A document beside texts is one of code points.
    let document =
        SqlType::text(Collation::UTF8MB4_BIN).with_collation(Collation::UTF8MB4_BIN, Derivation::Implicit);
    let types: Vec<&SqlType> = operands
        .into_iter()
        .map(|operand| match operand.ty.kind {
            TypeKind::Json => &document,
            _ => &operand.ty,
        })
        .collect();
    match types.iter().all(|ty| ty.is_string()) {
        true => Ok(Some(common_collation(&types, op, bind)?.0)),
        false => Ok(None),
    }
}

/// Texts whose collations do not mix, among several operands: the error names all of them.
pub(super) fn of_several(error: SqlError, types: &[SqlType], op: &str) -> SqlError {
    let is_mix = [er::CANT_AGGREGATE_2COLLATIONS, er::CANT_AGGREGATE_3COLLATIONS].contains(&error.code);
    match types.len() > 2 && is_mix {
        true => illegal_mix_of(&types.iter().collect::<Vec<_>>(), op),
        false => error,
    }
}
