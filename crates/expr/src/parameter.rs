//! The types of the parameters of prepared statements.
//!
//! A parameter has a type before it has a value: that of the place where it stands. It is derived while the statement is bound
//! without values: whatever builds an operator or a call *settles* the parameters among its operands by those that have a type
//! (`i = ?`: that of `i`), or by a rule of its own (`SQRT(?)`: a double). Where none has one (`? + ?`), the type stays open until
//! something around it settles it.
//!
//! ```text
//!  PREPARE:  bind without values  ->  Parameters  ->  the kinds, one for each parameter
//!  EXECUTE:  a value and its kind ->  convert     ->  the value to bind, and to run, with
//! ```
//!
//! At each execution a value is converted to the kind ([`ParamKind::convert`]), as MySQL does: texts always, numbers where nothing is
//! lost by it. All others keep the type they were sent with, and the statement is bound with that. NULL has the type of its place.
//! Literals that a kept plan takes as parameters are none of these.

use crate::build::{BindCtx, param};
use crate::env::Env;
use crate::function::{FuncDef, Takes};
use crate::infer::result_type;
use crate::node::{ArithOp, Expr, IntervalUnit, Node};
use std::cell::RefCell;
use tidemark_types::convert::{excerpt, plain_number};
use tidemark_types::error::{Result, SqlError};
use tidemark_types::temporal::parse;
use tidemark_types::{Collation, Date, Decimal, MAX_SCALE, SqlType, TypeKind, Val, Value};

/// Digits of the fraction of every date and time that is bound to a parameter.
const FRACTION: u8 = 6;

/// Stands for what is no date where that equals nothing.
const NO_DATE: Date = Date {
    year: u16::MAX,
    month: 0,
    day: 0,
};

/// What a parameter is where it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParamKind {
    /// A text, or any value that keeps the type it is sent with.
    #[default]
    Text,
    /// Bytes.
    Bytes,
    /// An operand of a bit operation: the bytes of a text, or an integer.
    Mask,
    /// A document.
    Json,
    /// An integer; true if it is unsigned.
    Int(bool),
    /// An integer that is compared with a year.
    Year,
    /// An integer that is compared with bits.
    Bit,
    /// An exact number of any digits.
    Decimal,
    /// A double.
    Double,
    /// A date.
    Date,
    /// A date with time.
    DateTime,
    /// A time.
    Time,
}

/// The kind of a parameter, and what becomes of its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParamPlace {
    /// The type in short.
    pub kind: ParamKind,
    /// What the value is for.
    pub role: Role,
}

/// What the value of a parameter is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// To be compared or chosen.
    #[default]
    Value,
    /// To be read by a function, which makes of a number or of a text that is no date what it does of any.
    Argument,
    /// One of a list or of two bounds, where what is no date or time is not unknown.
    Listed,
    /// To be compared by `<=>`, where what is no date or time is not NULL, and equals nothing.
    Distinct,
    /// To be computed with, where a date or time is the number that its digits are.
    Operand,
    /// The same in a division, which has a fraction whatever is divided.
    Quotient,
    /// The same in a bit operation, in which numbers keep their types.
    Bits,
    /// To count rows: as many as the integer that a text begins with; an unsigned one of a LIMIT is 0 for NULL.
    Count,
    /// To be converted where it stands, by a column that it is written to or by a CAST.
    Kept,
}

impl ParamKind {
    /// Returns the kind of a parameter that is compared or computed with a value of this type.
    pub fn beside(ty: &SqlType) -> ParamKind {
        match ty.kind {
            TypeKind::Year => ParamKind::Year,
            TypeKind::Bit => ParamKind::Bit,
            TypeKind::Decimal => ParamKind::Decimal,
            TypeKind::Float | TypeKind::Double => ParamKind::Double,
            TypeKind::Date => ParamKind::Date,
            TypeKind::DateTime | TypeKind::Timestamp => ParamKind::DateTime,
            TypeKind::Time => ParamKind::Time,
            TypeKind::Json => ParamKind::Json,
            _ if ty.is_integer() => ParamKind::Int(ty.unsigned),
            _ if ty.is_binary_string() => ParamKind::Bytes,
            _ => ParamKind::Text,
        }
    }

    /// The kind of an amount of units: a text where several units are written in one.
    pub(crate) fn of_amount(unit: IntervalUnit) -> ParamKind {
        use IntervalUnit::*;
        match unit {
            Microsecond | Minute | Hour | Day | Week | Month | Quarter | Year => ParamKind::Int(false),
            Second => ParamKind::Decimal,
            _ => ParamKind::Text,
        }
    }

    /// The type of a parameter that has no value, or NULL.
    pub fn sql_type(self, collation: Collation) -> SqlType {
        match self {
            ParamKind::Text => SqlType::varchar(16_383, collation),
            ParamKind::Bytes => SqlType::varbinary(65_535),
            // No longer than what an aggregate of bits takes.
            ParamKind::Mask => SqlType::varbinary(255),
            ParamKind::Json => crate::json::json_type(),
            ParamKind::Int(false) => SqlType::bigint(),
            ParamKind::Int(true) => SqlType::bigint_unsigned(),
            ParamKind::Year => SqlType::new(TypeKind::Year).unsigned(),
            ParamKind::Bit => SqlType::new(TypeKind::Bit).with_length(64),
            ParamKind::Decimal => SqlType::decimal(tidemark_types::MAX_PRECISION, MAX_SCALE),
            ParamKind::Double => SqlType::double(),
            ParamKind::Date => SqlType::date(),
            ParamKind::DateTime => SqlType::datetime(FRACTION),
            ParamKind::Time => SqlType::time(FRACTION),
        }
    }
}

/// What a statement is planned with: the values of its parameters, and the types they have by their places. None before there are values.
#[derive(Clone, Copy, Debug, Default)]
pub struct Params<'a> {
    /// One for each parameter.
    pub values: &'a [Value],
    /// Empty where the types are those of the values.
    pub places: &'a [ParamPlace],
    /// There are no values yet, and the types are to be found.
    pub derives: bool,
    /// The plan is to serve any values: these lend their types alone.
    pub typical: bool,
    /// The statement is a program's, whose variables of these types are its parameters.
    pub locals: &'a [SqlType],
}

impl Params<'_> {
    /// What a statement is planned with whose parameters, so many, have no values yet.
    pub fn of_prepared(count: usize) -> Params<'static> {
        Params {
            derives: count > 0,
            ..Params::default()
        }
    }
}

impl<'a> From<&'a [Value]> for Params<'a> {
    fn from(values: &'a [Value]) -> Params<'a> {
        Params {
            values,
            ..Params::default()
        }
    }
}

impl ParamPlace {
    /// A value of this kind.
    pub const fn value(kind: ParamKind) -> ParamPlace {
        ParamPlace {
            kind,
            role: Role::Value,
        }
    }

    /// An argument of a function.
    pub const fn argument(kind: ParamKind) -> ParamPlace {
        ParamPlace {
            kind,
            role: Role::Argument,
        }
    }

    /// True if a value is bound as something else than it was sent as. Integers for integers and texts for texts are not.
    #[inline]
    pub fn converts(self, value: &Value) -> bool {
        use ParamKind::*;
        // The commonest, whatever it is for.
        if let (Int(_), Val::Int(_)) = (self.kind, value) {
            return false;
        }
        let is_text = matches!(self.kind, Text | Bytes | Mask | Json);
        match (self.role, value) {
            (Role::Kept, Val::DateTime(_) | Val::Time(_)) => matches!(self.kind, Text | Bytes),
            (Role::Count, Val::Null) => self.kind == Int(true),
            (Role::Count, Val::Str(_)) => true,
            (Role::Kept | Role::Count, _) | (_, Val::Null) => false,
            (Role::Bits, Val::Int(_) | Val::UInt(_) | Val::Decimal(_) | Val::Double(_)) => false,
            (_, Val::Float(_) | Val::DateTime(_) | Val::Time(_)) => true,
            (_, Val::Date(_)) => self.kind == DateTime,
            (_, Val::Str(_) | Val::Decimal(_)) => !is_text,
            _ => matches!(self.kind, Decimal | Double | Date | DateTime | Time),
        }
    }

    /// The value to bind in place of one that was sent. Error 1292 where the statement is strict about what it writes.
    #[cold]
    pub fn convert(self, value: Value, env: &Env) -> Result<Value> {
        if !self.converts(&value) {
            return Ok(value);
        }
        let converted = self.converted(value, env)?;
        Ok(match (self.role, self.kind) {
            (Role::Distinct | Role::Listed, _) if !converted.is_null() => converted,
            (Role::Distinct, ParamKind::Time) => Val::Time(tidemark_types::Time::new(i64::MAX, 0)),
            (Role::Distinct, ParamKind::DateTime) => Val::DateTime(NO_DATE.midnight()),
            (Role::Distinct | Role::Listed, ParamKind::Date) => Val::Date(NO_DATE),
            (Role::Listed, ParamKind::Time) => Val::Time(tidemark_types::Time::new(0, FRACTION)),
            _ => converted,
        })
    }

    fn converted(self, value: Value, env: &Env) -> Result<Value> {
        let value = match value {
            Val::Float(value) => Val::Double(f64::from(value)),
            Val::DateTime(moment) if self.role == Role::Kept => Val::DateTime(without_fraction(moment)),
            Val::Time(time) if self.role == Role::Kept => Val::Time(tidemark_types::Time::new(
                time.micros - time.micros % 1_000_000,
                0,
            )),
            Val::DateTime(moment) => Val::DateTime(with_fraction(moment)),
            Val::Time(time) => Val::Time(tidemark_types::Time::new(time.micros, FRACTION)),
            other => other,
        };
        match (self.kind, self.role) {
            (ParamKind::Int(is_limit), Role::Count) => {
                let n = if value.is_null() { 0 } else { value.to_int(env)? };
                Ok(match is_limit {
                    true => Val::UInt(n as u64),
                    false => Val::Int(n as i64),
                })
            }
            (ParamKind::Int(_) | ParamKind::Year | ParamKind::Bit, role) => {
                Ok(operand_digits(self.to_integer(value, env)?, role))
            }
            (ParamKind::Decimal, role) => match value {
                Val::Int(_) | Val::UInt(_) | Val::Decimal(_) | Val::Str(_) => {
                    Ok(operand_digits(Val::Decimal(value.to_decimal(env)?), role))
                }
                other => Ok(other),
            },
            (ParamKind::Double, _) => match value {
                Val::Date(_) | Val::DateTime(_) | Val::Time(_) => Ok(value),
                other => Ok(Val::Double(other.to_f64(env)?)),
            },
            (
                ParamKind::Date | ParamKind::DateTime | ParamKind::Time,
                Role::Operand | Role::Quotient | Role::Bits,
            ) => self.to_operand(value, env),
            (ParamKind::Date, Role::Argument) => Ok(match &value {
                Val::Str(text) => written_moment(text, self.kind, env).unwrap_or(value),
                _ => value,
            }),
            (ParamKind::DateTime, Role::Argument) => Ok(to_argument(value, env)),
            (ParamKind::Date, _) => to_date(value, env),
            (ParamKind::DateTime, _) => to_datetime(value, env),
            (ParamKind::Time, _) => to_time(value, env),
            _ => Ok(value),
        }
    }

    /// A text that is a number is one: an integer if it is one that is not negative and that there is room for, or else a decimal. Years and
    /// bits have no fraction, unless they divide or are divided. Every other text is the integer that it begins with.
    fn to_integer(self, value: Value, env: &Env) -> Result<Value> {
        let Val::Str(text) = &value else {
            return Ok(value);
        };
        let made = |n: i128| match self.kind {
            ParamKind::Int(false) => i64::try_from(n).ok().map(Val::Int),
            ParamKind::Year => whole(n),
            _ => u64::try_from(n).ok().map(Val::UInt),
        };
        let cuts = matches!(self.kind, ParamKind::Year | ParamKind::Bit) && self.role != Role::Quotient;
        if let Some(d) = plain_number(text.trim_ascii()) {
            let is_whole = d.truncate(0).sub(&d).is_zero();
            let whole = d
                .trunc_to_i128()
                .filter(|_| !d.is_negative() && (is_whole || cuts));
            if !is_whole && cuts {
                env.complain(SqlError::truncated_wrong_value("INTEGER", &excerpt(text)))?;
            }
            return Ok(whole.and_then(made).unwrap_or(Val::Decimal(d)));
        }
        let n = value.to_int(env)?;
        Ok(made(n).unwrap_or(Val::Int(n as u64 as i64)))
    }

    /// Beside a date or time in a computation: a text that is one is that, and all others are the numbers that they begin with, with as many
    /// digits as a value of the kind has, but for those that divide or are divided.
    fn to_operand(self, value: Value, env: &Env) -> Result<Value> {
        let value = match &value {
            Val::Str(text) => written_moment(text, self.kind, env).unwrap_or(value),
            _ => value,
        };
        match (self.kind, value) {
            (ParamKind::DateTime, Val::Date(date)) => {
                Ok(Val::Decimal(Decimal::from(date.to_number()).round(FRACTION)))
            }
            (_, value @ (Val::Date(_) | Val::DateTime(_) | Val::Time(_))) => Ok(value),
            (_, value) if self.role == Role::Bits => {
                let n = value.to_int(env)?;
                Ok(whole(n).unwrap_or(Val::Int(n as i64)))
            }
            (ParamKind::Date, value) if self.role == Role::Quotient => {
                Ok(Val::Decimal(value.to_decimal(env)?))
            }
            (ParamKind::Date, value) => Ok(Val::Int(value.to_int(env)? as u64 as i64)),
            (ParamKind::Time, Val::UInt(bits)) => {
                Ok(Val::Decimal(Decimal::from(bits as i64).round(FRACTION)))
            }
            (_, value) => Ok(Val::Decimal(value.to_decimal(env)?.round(FRACTION))),
        }
    }
}

/// A signed integer if there is room for it, or else an unsigned one.
fn whole(n: i128) -> Option<Value> {
    let signed = i64::try_from(n).ok().map(Val::Int);
    signed.or_else(|| u64::try_from(n).ok().map(Val::UInt))
}

fn without_fraction(moment: tidemark_types::DateTime) -> tidemark_types::DateTime {
    tidemark_types::DateTime {
        micro: 0,
        fsp: 0,
        ..moment
    }
}

fn with_fraction(moment: tidemark_types::DateTime) -> tidemark_types::DateTime {
    tidemark_types::DateTime {
        fsp: FRACTION,
        ..moment
    }
}

/// A decimal to be computed with has all the digits behind the point that a parameter has room for.
fn operand_digits(value: Value, role: Role) -> Value {
    match value {
        Val::Decimal(d) if role == Role::Operand => {
            let room = tidemark_types::MAX_PRECISION.saturating_sub(d.integer_digits());
            Val::Decimal(d.round(room.min(u32::from(MAX_SCALE)) as u8))
        }
        other => other,
    }
}

/// What a function of a date with time reads: numbers and texts that are one are, all others stay.
fn to_argument(value: Value, env: &Env) -> Value {
    let midnight = |date: Date| Val::DateTime(with_fraction(date.midnight()));
    match &value {
        Val::Date(date) => midnight(*date),
        Val::Str(text) => match written_moment(text, ParamKind::DateTime, env) {
            Some(Val::Date(date)) => midnight(date),
            read => read.unwrap_or(value),
        },
        Val::Int(n) => match parse::number_to_datetime(i128::from(*n), 0.0, 0, env.sql_mode) {
            Some(read) if !read.value.is_zero() => Val::DateTime(with_fraction(read.value)),
            _ => value,
        },
        _ => value,
    }
}

/// The date or time that a text is, if it is wholly one.
fn written_moment(text: &[u8], kind: ParamKind, env: &Env) -> Option<Value> {
    let whole =
        parse::datetime(text, env.sql_mode).filter(|p| !p.truncated && parse::acceptable(p, env.sql_mode));
    if kind == ParamKind::Time {
        if let Some(parsed) = whole.filter(|p| p.has_time) {
            return Some(Val::DateTime(with_fraction(parsed.in_zone(env.time_zone))));
        }
        let (time, _) = parse::time(text).filter(|(_, whole)| *whole)?;
        return Some(Val::Time(tidemark_types::Time::new(time.micros, FRACTION)));
    }
    let parsed = whole?;
    let moment = with_fraction(parsed.in_zone(env.time_zone));
    Some(match parsed.has_time {
        true => Val::DateTime(moment),
        false => Val::Date(moment.date),
    })
}

fn to_date(value: Value, env: &Env) -> Result<Value> {
    match value {
        Val::Str(ref text) => match written_moment(text, ParamKind::Date, env) {
            Some(moment) => Ok(moment),
            None => crate::cast::cast(value, &SqlType::date(), &SqlType::date(), env),
        },
        Val::Int(_) | Val::UInt(_) | Val::Double(_) | Val::Decimal(_) => {
            Ok(value.to_written_date(env)?.map_or(Val::Null, Val::Date))
        }
        other => Ok(other),
    }
}

fn to_datetime(value: Value, env: &Env) -> Result<Value> {
    let ty = SqlType::datetime(FRACTION);
    crate::cast::cast(value, &ty, &ty, env)
}

fn to_time(value: Value, env: &Env) -> Result<Value> {
    let ty = SqlType::time(FRACTION);
    match value {
        Val::Date(_) => Ok(value),
        other => crate::cast::cast(other, &ty, &ty, env),
    }
}

/// What is known of one parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Known {
    /// Nothing yet; what it is if nothing more is found.
    Open(ParamPlace),
    Settled(ParamPlace),
}

/// The parameters of a statement that is being bound.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    derives: bool,
    known: RefCell<Vec<Known>>,
    locals: Vec<SqlType>,
}

impl Parameters {
    /// Those of a statement that is bound without values, so that their types are to be found.
    pub fn deriving() -> Parameters {
        Parameters {
            derives: true,
            ..Parameters::default()
        }
    }

    /// Those of a statement that is bound with values, for which these types were found.
    pub fn known(places: &[ParamPlace]) -> Parameters {
        let known = places.iter().map(|place| Known::Settled(*place));
        Parameters {
            known: RefCell::new(known.collect()),
            ..Parameters::default()
        }
    }

    /// Those of a statement of a stored program: its variables, which have the types that they were declared with.
    pub fn of_locals(types: &[SqlType]) -> Parameters {
        Parameters {
            locals: types.to_vec(),
            ..Parameters::default()
        }
    }

    /// Returns the declared type of a variable. Error 1235 outside of a stored program.
    pub(crate) fn local(&self, slot: usize) -> Result<SqlType> {
        let ty = self.locals.get(slot).cloned();
        ty.ok_or_else(|| SqlError::not_supported("a variable of a stored program in this place"))
    }

    /// The type of a value that is that of its place: of NULL, of integers that are years or bits, and of decimals, whose digits vary. `None`
    /// for one that has its own.
    pub(crate) fn type_of(&self, at: usize, value: &Value, collation: Collation) -> Option<SqlType> {
        let Some(Known::Settled(ParamPlace { kind, role })) = self.known.borrow().get(at).copied() else {
            return None;
        };
        if role == Role::Kept {
            return None;
        }
        match value {
            Val::Null => Some(kind.sql_type(collation)),
            _ if kind == ParamKind::Text => None,
            Val::Str(text) if kind == ParamKind::Mask => Some(SqlType::varbinary(text.len() as u32)),
            Val::Int(_) | Val::UInt(_) if kind == ParamKind::Year => Some(kind.sql_type(collation)),
            Val::UInt(_) if kind == ParamKind::Bit => Some(kind.sql_type(collation)),
            Val::Decimal(_) if !matches!(kind, ParamKind::Bytes | ParamKind::Mask | ParamKind::Json) => {
                Some(ParamKind::Decimal.sql_type(collation))
            }
            _ => None,
        }
    }

    /// True if types are to be found.
    #[inline]
    pub fn derives(&self) -> bool {
        self.derives
    }

    /// What was found, up to the last parameter of which something was.
    pub fn found(&self) -> Vec<ParamPlace> {
        let known = self.known.borrow();
        let all = known.iter().filter(|_| self.derives());
        all.map(|(Known::Open(place) | Known::Settled(place))| *place)
            .collect()
    }

    /// Settles the parameters of an operand whose type is open.
    pub fn settle(&self, e: &mut Expr, place: ParamPlace, collation: Collation) {
        if self.derives() && self.is_open(e) {
            self.each_open(e, &mut |at, e| {
                self.note(at, Known::Settled(place));
                // Its collation gives way to that of a column.
                e.ty = param(at, place.kind.sql_type(collation)).ty;
            });
        }
    }

    /// Says what the parameters of an operand are if nothing else settles them.
    pub fn suppose(&self, e: &mut Expr, place: ParamPlace) {
        if self.derives() && self.is_open(e) {
            self.each_open(e, &mut |at, _| self.note(at, Known::Open(place)));
        }
    }

    fn note(&self, at: usize, known: Known) {
        let mut all = self.known.borrow_mut();
        if all.len() <= at {
            all.resize(at + 1, Known::Open(ParamPlace::default()));
        }
        all[at] = known;
    }

    /// True if nothing has given a type to the operand: it is a parameter, or is made of such alone.
    pub fn is_open(&self, e: &Expr) -> bool {
        match &e.node {
            Node::Param(at) => !matches!(self.known.borrow().get(*at), Some(Known::Settled(_))),
            Node::Arith(_, _, operands) => operands.iter().all(|e| self.is_open(e)),
            Node::Neg(e) => self.is_open(e),
            Node::Call(def, args) => match def.takes {
                Takes::Common(first) => args.iter().skip(first).all(|e| self.is_open(e)),
                _ => false,
            },
            Node::Case { whens, otherwise, .. } => {
                let mut results = whens.iter().map(|(_, _, then)| then).chain(otherwise.as_deref());
                results.all(|e| self.is_open(e))
            }
            // A choice whose values are shown as texts.
            Node::Cast(e) | Node::Retype(e) => {
                matches!(e.node, Node::Param(_)) && e.ty.is_string() && self.is_open(e)
            }
            _ => false,
        }
    }

    fn each_open(&self, e: &mut Expr, found: &mut dyn FnMut(usize, &mut Expr)) {
        match &mut e.node {
            Node::Param(at) => {
                let at = *at;
                found(at, e);
            }
            Node::Arith(_, _, operands) => operands.iter_mut().for_each(|e| self.each_open(e, found)),
            Node::Neg(inner) | Node::Cast(inner) | Node::Retype(inner) => self.each_open(inner, found),
            Node::Call(def, args) => {
                if let Takes::Common(first) = def.takes {
                    args.iter_mut().skip(first).for_each(|e| self.each_open(e, found));
                }
            }
            Node::Case { whens, otherwise, .. } => {
                let results = whens.iter_mut().map(|(_, _, then)| then);
                results
                    .chain(otherwise.as_deref_mut())
                    .for_each(|e| self.each_open(e, found));
            }
            _ => {}
        }
    }
}

impl BindCtx {
    /// Settles an operand that is open.
    #[inline]
    pub(crate) fn settle_as(&self, e: &mut Expr, place: ParamPlace) {
        if self.parameters.derives() {
            self.parameters.settle(e, place, self.collation_connection);
        }
    }

    /// Settles the operands of a comparison by the first that is not open.
    #[inline]
    pub(crate) fn settle<'e>(&self, operands: impl IntoIterator<Item = &'e mut Expr>) {
        if self.parameters.derives() {
            self.settle_by_first(operands.into_iter().collect(), |_| Role::Value);
        }
    }

    /// Settles the two sides of a comparison by this operator.
    #[inline]
    pub(crate) fn settle_compared(&self, left: &mut Expr, right: &mut Expr, op: &str) {
        if self.parameters.derives() {
            let role = if op == "<=>" { Role::Distinct } else { Role::Value };
            self.settle_by_first(vec![left, right], |_| role);
        }
    }

    /// Settles a value and what it is looked for in: a list, or two bounds.
    pub(crate) fn settle_listed<'e>(
        &self,
        value: &'e mut Expr,
        list: impl IntoIterator<Item = &'e mut Expr>,
    ) {
        if !self.parameters.derives() {
            return;
        }
        let list: Vec<&mut Expr> = list.into_iter().collect();
        let are_open = list.iter().all(|e| self.parameters.is_open(e));
        let is_list = list.len() > 1;
        let role = |kind| match kind {
            ParamKind::Time if is_list => Role::Listed,
            ParamKind::Date if is_list && are_open => Role::Listed,
            _ => Role::Value,
        };
        self.settle_by_first(std::iter::once(value).chain(list).collect(), role);
    }

    fn settle_by_first(&self, operands: Vec<&mut Expr>, role: impl Fn(ParamKind) -> Role) {
        let first = operands.iter().find(|e| !self.parameters.is_open(e));
        if let Some(kind) = first.map(|e| ParamKind::beside(&e.ty)) {
            let role = role(kind);
            operands
                .into_iter()
                .for_each(|e| self.settle_as(e, ParamPlace { kind, role }));
        }
    }

    /// Settles those of several values that one is chosen from: by the type that the others have in common.
    pub(crate) fn settle_common<'e>(&self, values: impl IntoIterator<Item = &'e mut Expr>) {
        if !self.parameters.derives() {
            return;
        }
        let values: Vec<&mut Expr> = values.into_iter().collect();
        let types: Vec<&SqlType> = values
            .iter()
            .filter(|e| !self.parameters.is_open(e))
            .map(|e| &e.ty)
            .collect();
        if let Ok(common) = result_type(&types, "common", self)
            && common.kind != TypeKind::Null
        {
            let place = ParamPlace::value(ParamKind::beside(&common));
            values.into_iter().for_each(|e| self.settle_as(e, place));
        }
    }

    /// Settles the operand of a condition: an integer.
    #[inline]
    pub fn settle_truth(&self, e: &mut Expr) {
        self.settle_as(e, ParamPlace::value(ParamKind::Int(false)));
    }

    /// Settles what is converted where it stands: to the type of a CAST, or of a column.
    #[inline]
    pub fn settle_kept(&self, e: &mut Expr, ty: &SqlType) {
        let place = ParamPlace {
            kind: ParamKind::beside(ty),
            role: Role::Kept,
        };
        self.settle_as(e, place);
    }

    /// Settles the number of rows of a LIMIT or OFFSET.
    pub fn settle_limit(&self, e: &mut Expr) {
        let (kind, role) = (ParamKind::Int(true), Role::Count);
        self.settle_as(e, ParamPlace { kind, role });
    }

    /// Settles the number of rows or groups of a window function or of a frame.
    pub fn settle_count(&self, e: &mut Expr) {
        let (kind, role) = (ParamKind::Int(false), Role::Count);
        self.settle_as(e, ParamPlace { kind, role });
    }

    /// Settles what a CAST converts: what becomes an integer is one, all else is converted there.
    pub(crate) fn settle_cast(&self, e: &mut Expr, ty: &SqlType) {
        match ParamKind::beside(ty) {
            ParamKind::Int(_) => self.settle_truth(e),
            ParamKind::Text => self.settle_as(e, ParamPlace::value(ParamKind::Text)),
            _ => self.settle_kept(e, ty),
        }
    }

    /// Settles an operand of arithmetic by the other; two that are open are doubles, unless something around them says more.
    #[inline]
    pub(crate) fn settle_operands(&self, op: ArithOp, left: &mut Expr, right: &mut Expr) {
        if !self.parameters.derives() {
            return;
        }
        let role = match op {
            ArithOp::Div | ArithOp::IntDiv => Role::Quotient,
            _ => Role::Operand,
        };
        self.settle_beside(left, right, |kind| match (kind, op) {
            (ParamKind::Year | ParamKind::Bit, ArithOp::IntDiv) => Role::Operand,
            _ => role,
        });
        self.suppose_double(left);
        self.suppose_double(right);
    }

    /// Settles the operands of a bit operation: each by the other, or as texts whose bytes they are.
    pub(crate) fn settle_bits(&self, left: &mut Expr, right: &mut Expr) {
        if self.parameters.derives() {
            self.settle_beside(left, right, |_| Role::Bits);
            self.settle_mask(left);
            self.settle_mask(right);
        }
    }

    /// Settles an operand of a bit operation that has no other operand, or none that decides.
    pub(crate) fn settle_mask(&self, e: &mut Expr) {
        let (kind, role) = (ParamKind::Mask, Role::Bits);
        self.settle_as(e, ParamPlace { kind, role });
    }

    fn settle_beside(&self, left: &mut Expr, right: &mut Expr, role: impl Fn(ParamKind) -> Role) {
        let place = |e: &Expr| {
            let kind = ParamKind::beside(&e.ty);
            let role = role(kind);
            match (kind, role) {
                (ParamKind::Bytes, Role::Bits) => ParamPlace {
                    kind: ParamKind::Mask,
                    role,
                },
                _ => ParamPlace { kind, role },
            }
        };
        match (self.parameters.is_open(left), self.parameters.is_open(right)) {
            (true, false) => self.settle_as(left, place(right)),
            (false, true) => self.settle_as(right, place(left)),
            _ => {}
        }
    }

    /// An operand that is open is a double if nothing says more.
    pub(crate) fn suppose_double(&self, e: &mut Expr) {
        self.parameters.suppose(e, ParamPlace::value(ParamKind::Double));
    }

    /// Settles the arguments of a function.
    #[inline]
    pub(crate) fn settle_arguments(&self, def: &FuncDef, args: &mut [Expr]) {
        if !self.parameters.derives() {
            return;
        }
        match def.takes {
            Takes::Each(kinds) => {
                for (arg, kind) in args.iter_mut().zip(kinds) {
                    self.settle_as(arg, ParamPlace::argument(*kind));
                }
            }
            Takes::Alike => self.settle(args),
            Takes::All(kind) => args
                .iter_mut()
                .for_each(|arg| self.settle_as(arg, ParamPlace::argument(kind))),
            Takes::Common(first) => {
                let (before, those) = args.split_at_mut(first.min(args.len()));
                before.iter_mut().for_each(|arg| self.settle_truth(arg));
                self.settle_common(those);
            }
        }
    }
}
