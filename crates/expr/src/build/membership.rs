//! `IN`: a value beside a list, a row beside a list of rows. Beside one member it is `=`. Beside several, the kinds of all decide
//! together, as in MySQL:
//!
//! - Where the value is a document, or one of the members up to the first that is different from row to row, that one included, all are
//!   compared as documents.
//! - Else each member has a class beside the value: texts, which dates, times and documents are too; exact numbers; all other pairs are
//!   doubles.
//! - Where all are texts and dates or times are among them, all are read as those: as what they are if they are of one type, else as
//!   dates with a time. So are numbers beside a date or time, if they are constants.
//! - Where the classes are several, there is a comparison for each of them. The value decides in that of texts: beside a date or
//!   a time they are read as such, beside a text dates and times are texts.

use super::comparison::{
    Place, beside_json, collation_of_all, comparable, compare_as, date_of, document_as_text, of_kind,
    of_several, varies,
};
use super::literal::{bool_literal, literal, type_of_value};
use super::{
    BindCtx, and, as_number, boolean, cast, expr, json_as_double, moment_of, not, or, sum_as_double,
};
use crate::env::EvalCtx;
use crate::function::{FuncDef, stable};
use crate::infer::{IN_LIST, joined_collation};
use crate::node::{CmpOp, Expr, InSet, Node};
use tidemark_types::convert::refused_by_mode;
use tidemark_types::error::{Result, SqlError};
use tidemark_types::temporal::parse;
use tidemark_types::{CmpKind, Collation, Date, DateTime, Derivation, SqlType, Time, TypeKind, Val, Value};

/// Lists from this length on are searched, not walked.
const SET_MIN: usize = 8;

pub(crate) fn in_list(mut e: Expr, mut list: Vec<Expr>, negated: bool, bind: &BindCtx) -> Result<Expr> {
    bind.settle_listed(&mut e, &mut list);
    if list.len() == 1 {
        let value = as_number_beside(e, &list);
        let (kind, value, only) = comparable(Place::Alone, value, list.remove(0), "=", bind)?;
        return Ok(member(value, vec![(kind, only)], negated));
    }
    if are_documents(&e, &list) {
        let list = list.into_iter().map(|each| (CmpKind::Json, beside_json(each)));
        return Ok(member(beside_json(e), list.collect(), negated));
    }
    let classes: Vec<Class> = list.iter().filter_map(|each| Class::of(&e, each)).collect();
    let is_one = classes.windows(2).all(|pair| pair[0] == pair[1]);
    let class = classes.first().copied().unwrap_or(Class::Text);
    if is_one && let Some(reading) = Reading::of_list(&e, &list, class) {
        let types: Vec<SqlType> = std::iter::once(&e).chain(&list).map(|e| e.ty.clone()).collect();
        let texts = std::iter::once(&e).chain(&list).filter(|e| e.ty.is_string());
        collation_of_all(texts, IN_LIST, bind).map_err(|error| of_several(error, &types, IN_LIST))?;
        return Ok(in_moments(e, list, reading, negated, bind));
    }
    in_classes(e, list, negated, bind)
}

/// Whether a value and several members are compared as documents.
fn are_documents(value: &Expr, list: &[Expr]) -> bool {
    let varying = list.iter().position(varies).map_or(list.len(), |first| first + 1);
    let is_document = |e: &Expr| e.ty.kind == TypeKind::Json;
    is_document(value) || list[..varying].iter().any(is_document)
}

/// What a value and a member are together.
#[derive(Clone, Copy, PartialEq)]
enum Class {
    /// Both are texts.
    Text,
    /// Both are numbers, or one is a number and the other a text.
    Number,
    /// One is a number, and the other a date, a time or a document.
    Double,
}

impl Class {
    /// `None` for NULL, which is of no class.
    fn of(value: &Expr, member: &Expr) -> Option<Class> {
        let kinds = [&value.ty, &member.ty];
        let is_moment = |ty: &&SqlType| ty.is_temporal() || ty.kind == TypeKind::Json;
        let is_text = |ty: &&SqlType| ty.is_string() || ty.kind == TypeKind::Null || is_moment(ty);
        match member.ty.kind {
            TypeKind::Null => None,
            _ if kinds.iter().all(is_text) => Some(Class::Text),
            _ if kinds.iter().any(is_moment) => Some(Class::Double),
            _ => Some(Class::Number),
        }
    }
}

/// As what a value and its list are read that are compared as dates or times.
#[derive(Clone, Copy)]
struct Reading {
    kind: TypeKind,
    /// Whether a value that cannot be read equals a member that cannot.
    alike: bool,
}

impl Reading {
    /// What several members of one class are read as with their value: `None` if they are no dates or times.
    fn of_list(value: &Expr, list: &[Expr], class: Class) -> Option<Reading> {
        let fixed = !list.iter().any(varies);
        match class {
            Class::Text => Reading::of_texts(std::iter::once(value).chain(list), fixed),
            Class::Double if fixed && value.ty.is_temporal() => Some(Reading::of_value(&value.ty, false)),
            _ => None,
        }
    }

    /// The type that all have which are no texts, or a date with a time. Beside members that are different from row to row it is a time if
    /// the last of those was one that did not fit those before.
    fn of_texts<'e>(all: impl Iterator<Item = &'e Expr>, fixed: bool) -> Option<Reading> {
        let is_whole = |kind| matches!(kind, TypeKind::DateTime | TypeKind::Timestamp);
        let mut kinds = all.map(|e| &e.ty).filter(|ty| ty.is_temporal()).map(|ty| ty.kind);
        let first = kinds.next()?;
        let (mut common, mut leading) = (first, first);
        for kind in kinds {
            if kind != common {
                common = TypeKind::DateTime;
                leading = if is_whole(leading) { leading } else { kind };
            }
        }
        let kind = match (fixed, if fixed { common } else { leading }) {
            (_, TypeKind::Time) => TypeKind::Time,
            (true, TypeKind::Date) => TypeKind::Date,
            _ => TypeKind::DateTime,
        };
        let alike = !fixed || kind == TypeKind::DateTime;
        Some(Reading { kind, alike })
    }

    /// What a member is read as beside a date or time.
    fn of_value(ty: &SqlType, varying: bool) -> Reading {
        let kind = match ty.kind {
            TypeKind::Time => TypeKind::Time,
            TypeKind::Date if !varying => TypeKind::Date,
            _ => TypeKind::DateTime,
        };
        let alike = varying || kind == TypeKind::DateTime;
        Reading { kind, alike }
    }

    fn compared(self) -> CmpKind {
        match self.kind {
            TypeKind::Time => CmpKind::Time,
            _ => CmpKind::DateTime,
        }
    }

    fn value(self, e: Expr, bind: &BindCtx) -> Expr {
        let unread = match (self.kind, self.alike) {
            (TypeKind::DateTime, _) => Unread::Zero,
            _ => Unread::Beyond,
        };
        self.read(e, unread, bind)
    }

    fn member(self, e: Expr, bind: &BindCtx) -> Expr {
        let unread = match (self.kind, self.alike) {
            (TypeKind::Time, true) => Unread::Beyond,
            _ => Unread::Zero,
        };
        self.read(e, unread, bind)
    }

    fn read(self, e: Expr, unread: Unread, bind: &BindCtx) -> Expr {
        let as_is = match e.ty.kind {
            TypeKind::Null => true,
            kind => kind == self.kind || self.kind == TypeKind::DateTime && e.ty.is_temporal(),
        };
        if as_is {
            return e;
        }
        if let Some(value) = self.of_literal(&e, bind) {
            return literal(type_of_value(&value, bind), value);
        }
        let ty = match self.kind {
            TypeKind::Time => SqlType::time(6),
            TypeKind::Date => SqlType::date(),
            _ => SqlType::datetime(6),
        };
        let beyond = bool_literal(unread == Unread::Beyond);
        let nullable = e.ty.nullable;
        // The sum of a text and an interval is the date that it is, but its text where it is read as a time row by row.
        let is_sum = match &e.node {
            Node::DateAdd { .. } => true,
            Node::Call(def, _) => def.name == "timestampadd",
            _ => false,
        };
        let e = match is_sum && !(self.alike && self.kind == TypeKind::Time) {
            true => moment_of(e),
            false => document_as_text(e),
        };
        expr(ty.with_nullable(nullable), Node::Call(&READ, vec![e, beyond]))
    }

    /// A literal that is wholly one, so that an index can look for it.
    fn of_literal(self, e: &Expr, bind: &BindCtx) -> Option<Value> {
        let Node::Literal(value) = &e.node else {
            return None;
        };
        if self.kind == TypeKind::Time {
            let read = match value {
                Val::Str(text) => parse::time(text)?,
                Val::Int(n) => parse::number_to_time(*n as i128, *n < 0, 0.0, 0)?,
                _ => return None,
            };
            return Some(Val::Time(read.0)).filter(|_| read.1);
        }
        let moment = match value {
            Val::Str(text) => {
                date_of(text, bind.sql_mode)
                    .filter(|read| read.offset.is_none() && !read.truncated)?
                    .value
            }
            Val::Int(0) => Date::ZERO.midnight(),
            Val::Int(n) => parse::number_to_datetime(*n as i128, 0.0, 0, bind.sql_mode)?.value,
            _ => return None,
        };
        let is_date = self.kind == TypeKind::Date;
        let is_refused = refused_by_mode(moment.date, bind.sql_mode) && (is_date || !moment.date.is_zero());
        if matches!(value, Val::Str(_)) && (is_refused || is_date && moment.micros_of_day() != 0) {
            return None;
        }
        Some(match is_date {
            true => Val::Date(moment.date),
            false => Val::DateTime(moment),
        })
    }
}

/// What stands for a text or number that is no date or time.
#[derive(Clone, Copy, PartialEq)]
enum Unread {
    /// The zero date, or midnight; among DATEs one that no date is.
    Zero,
    /// A date or time beyond all others.
    Beyond,
}

/// Its first argument as a date or time. The second is whether one that cannot be read is beyond all others: then a time of day does not
/// count in a text that is read as a DATE, which makes such a text unreadable else.
static READ: FuncDef = stable(
    "moment_of",
    (2, 2),
    |_, _| Ok(SqlType::date()),
    |args, ty, ctx| {
        let value = args[0].eval(ctx)?;
        if value.is_null() {
            return Ok(Val::Null);
        }
        let beyond = matches!(args[1].eval(ctx)?, Val::Int(1));
        read_value(&value, ty.kind, beyond, ctx)
    },
);

fn read_value<'a>(value: &Val<'a>, kind: TypeKind, beyond: bool, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    if kind == TypeKind::Time {
        let read = match value {
            Val::Date(_) => Val::Str(value.to_text()).to_time(ctx.env)?,
            _ => value.to_time(ctx.env)?,
        };
        let is_text = matches!(value, Val::Str(_) | Val::Member(..));
        let unread = Time::new(if beyond || !is_text { i64::MAX } else { 0 }, 0);
        return Ok(Val::Time(read.unwrap_or(unread)));
    }
    let moment = value.to_compared_datetime(ctx.env)?;
    if kind == TypeKind::DateTime {
        return Ok(Val::DateTime(moment.unwrap_or_default()));
    }
    let is_exact = |moment: &DateTime| beyond || !matches!(value, Val::Str(_)) || moment.micros_of_day() == 0;
    let is_refused =
        |moment: &DateTime| matches!(value, Val::Str(_)) && refused_by_mode(moment.date, ctx.env.sql_mode);
    let is_read = |moment: &DateTime| is_exact(moment) && !is_refused(moment);
    // What cannot be read is neither another such nor the zero date.
    let unread = Date::new(u16::MAX, 0, u8::from(!beyond));
    Ok(Val::Date(
        moment.filter(is_read).map_or(unread, |moment| moment.date),
    ))
}

/// A value and several members that are all read as dates or times.
fn in_moments(e: Expr, list: Vec<Expr>, reading: Reading, negated: bool, bind: &BindCtx) -> Expr {
    let kind = reading.compared();
    let list = list.into_iter().map(|each| (kind, reading.member(each, bind)));
    let list = list.collect();
    member(reading.value(e, bind), list, negated)
}

/// A comparison for each class that the members have beside the value.
fn in_classes(e: Expr, list: Vec<Expr>, negated: bool, bind: &BindCtx) -> Result<Expr> {
    let types: Vec<SqlType> = std::iter::once(&e).chain(&list).map(|e| e.ty.clone()).collect();
    let mixed = |error| of_several(error, &types, IN_LIST);
    let collation = match list.iter().any(|each| Class::of(&e, each) == Some(Class::Text)) {
        true => {
            let texts = std::iter::once(&e).chain(&list);
            let texts: Vec<&Expr> = texts
                .filter(|e| e.ty.is_string() || e.ty.kind == TypeKind::Json)
                .collect();
            match texts.as_slice() {
                // A date or a number decides where the one text does not.
                [only] if only.ty.derivation == Derivation::None => {
                    let all: Vec<&SqlType> = types.iter().collect();
                    Some(joined_collation(&all, IN_LIST, bind)?.0)
                }
                texts => collation_of_all(texts.iter().copied(), IN_LIST, bind).map_err(mixed)?,
            }
        }
        false => None,
    };
    let reading = e.ty.is_temporal().then(|| Reading::of_value(&e.ty, true));
    let mut number = as_number_beside(e.clone(), &list);
    let (mut texts, mut numbers, mut doubles) = (Vec::new(), Vec::new(), Vec::new());
    for each in list {
        match Class::of(&e, &each) {
            Some(Class::Double) => doubles.push((CmpKind::Double, json_as_double(as_number(each)))),
            Some(Class::Text) if let Some(reading) = reading => {
                texts.push((reading.compared(), reading.member(each, bind)))
            }
            Some(Class::Text) if let Some(collation) = collation => {
                let kind = CmpKind::Str(collation);
                texts.push((kind, of_kind(kind, document_as_text(each))))
            }
            _ => {
                let (kind, left, right) =
                    comparable(Place::OneOfSeveral, number, each, IN_LIST, bind).map_err(mixed)?;
                number = left;
                numbers.push((kind, right));
            }
        }
    }
    let text = match reading {
        Some(reading) => reading.value(e.clone(), bind),
        None => {
            let kind = CmpKind::Str(collation.unwrap_or(Collation::DEFAULT));
            of_kind(kind, document_as_text(e.clone()))
        }
    };
    let double = json_as_double(as_number(e));
    let tests = [(text, texts), (number, numbers), (double, doubles)];
    let tests = tests.into_iter().filter(|(_, members)| !members.is_empty());
    let mut tests: Vec<Expr> = tests
        .map(|(value, members)| member(value, members, false))
        .collect();
    if let [
        Expr {
            node: Node::In { negated: only, .. },
            ..
        },
    ] = tests.as_mut_slice()
    {
        *only = negated;
        return Ok(tests.remove(0));
    }
    let test = or(tests);
    Ok(if negated { not(test) } else { test })
}

fn member(value: Expr, list: Vec<(CmpKind, Expr)>, negated: bool) -> Expr {
    let nullable = value.ty.nullable || list.iter().any(|(_, each)| each.ty.nullable);
    let set = in_set(&list);
    let value = Box::new(value);
    boolean(
        nullable,
        Node::In {
            negated,
            value,
            list,
            set,
        },
    )
}

/// The value is compared with each candidate, so it may change into a number only if all are.
fn as_number_beside(e: Expr, list: &[Expr]) -> Expr {
    if list.iter().all(|c| c.ty.is_numeric()) {
        sum_as_double(as_number(e))
    } else {
        e
    }
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
