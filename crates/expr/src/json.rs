//! Documents: texts read as JSON, values as parts of a document.

use super::build::{BindCtx, as_text};
use super::cast::display;
use super::env::{Env, EvalCtx};
use super::eval::text;
use super::function::{FuncDef, def};
use super::infer::length_under;
use super::node::{ArithOp, Expr, Node};
use std::borrow::Cow;
use tidemark_types::error::memory::reserve_memory;
use tidemark_types::error::{Result, SqlError, er};
use tidemark_types::json::binary::{View, in_binary};
use tidemark_types::json::{Json, JsonError};
use tidemark_types::meta::{type_byte, wire};
use tidemark_types::{Collation, Decimal, Derivation, SqlType, TypeKind, Val};

/// So many characters a VARCHAR of four bytes each may have.
const VARCHAR_MAX: u32 = 16_383;

/// The type of documents.
pub(crate) fn json_type() -> SqlType {
    SqlType::new(TypeKind::Json).with_collation(Collation::UTF8MB4_BIN, Derivation::Implicit)
}

/// A text read as a document.
pub(crate) fn parse(text: &[u8]) -> Result<Json, JsonError> {
    match std::str::from_utf8(text) {
        Ok(text) => Json::parse(text),
        Err(e) => Err(JsonError::Invalid {
            position: e.valid_up_to(),
            message: "Invalid encoding in string.",
        }),
    }
}

/// An argument of a function that is a document; `None` is NULL. Errors 3141, 3144, 3146 and 3157.
pub fn document(value: &Val, ty: &SqlType, argument: usize, function: &str) -> Result<Option<Json>> {
    match value {
        Val::Null => Ok(None),
        Val::Json(stored) => Json::of_stored(stored).map(Some),
        Val::Str(text) if ty.is_string() && !ty.is_binary_string() => {
            parse(text).map(Some).map_err(|e| invalid(e, argument, function))
        }
        _ => Err(no_document(ty, argument, function)),
    }
}

/// An argument of a function that is a document, in the binary form; `None` is NULL. Errors as those of [`document`].
pub(crate) fn stored<'a>(
    value: Val<'a>,
    ty: &SqlType,
    argument: usize,
    function: &str,
) -> Result<Option<Cow<'a, [u8]>>> {
    match value {
        Val::Json(stored) => in_binary(stored).map(Some),
        other => match document(&other, ty, argument, function)? {
            Some(document) => document.stored().map(|stored| Some(Cow::Owned(stored))),
            None => Ok(None),
        },
    }
}

/// Error 3144 or 3146 for a type whose values are no documents.
pub fn check_document_type(ty: &SqlType, argument: usize, function: &str) -> Result<()> {
    let is_text = ty.is_string() && !ty.is_binary_string() && !ty.is_member();
    match ty.kind {
        TypeKind::Null | TypeKind::Json => Ok(()),
        _ if is_text => Ok(()),
        _ => Err(no_document(ty, argument, function)),
    }
}

fn no_document(ty: &SqlType, argument: usize, function: &str) -> SqlError {
    if ty.is_binary_string() {
        return SqlError::json_of_binary();
    }
    SqlError::new(
        er::INVALID_TYPE_FOR_JSON,
        format!(
            "Invalid data type for JSON data in argument {argument} to function {function}; a JSON string or JSON type is \
             required."
        ),
    )
}

/// Returns the error for a text that an argument of a function has and that is not read: 3141, or 3157.
pub(crate) fn invalid(e: JsonError, argument: usize, function: &str) -> SqlError {
    e.into_sql(|message, position| {
        SqlError::new(
            er::INVALID_JSON_TEXT_IN_PARAM,
            format!("Invalid JSON text in argument {argument} to function {function}: \"{message}\" at position {position}."),
        )
    })
}

/// Whether a value of this type is bytes in a document, which equal no string.
pub(crate) fn is_opaque(ty: &SqlType) -> bool {
    ty.kind == TypeKind::Bit || ty.is_binary_string()
}

/// The value of an expression as a part of a document: that of a condition is a boolean.
pub(crate) fn typed_json(value: &Val, e: &Expr) -> Result<Json> {
    Ok(match value {
        Val::Int(v) if e.is_condition() => Json::Bool(*v != 0),
        Val::Int(v) if e.ty.kind == TypeKind::Year => Json::UInt(v.unsigned_abs()),
        Val::Null => Json::Null,
        bytes if is_opaque(&e.ty) => opaque(bytes, e)?,
        // A difference, product or quotient that is zero has no digits behind the point.
        Val::Decimal(d) if d.is_zero() && is_bare_as_zero(e) => Json::Decimal("0".to_owned()),
        // A Unix time has no digits behind the point, or six.
        Val::Decimal(d) if matches!(&e.node, Node::Call(def, _) if def.name == "unix_timestamp") => {
            let scale = if d.sub(&d.truncate(0)).is_zero() { 0 } else { 6 };
            Json::Decimal(d.round(scale).to_string())
        }
        other => value_json(other)?,
    })
}

/// The value of an expression as a part of a document; `None` is NULL. What chooses among its own arguments gives the chosen one, but for
/// dates and times, and as a double if it is one.
pub(crate) fn part<'a>(e: &'a Expr, ctx: &EvalCtx<'a>) -> Result<Option<Json>> {
    let name = match &e.node {
        Node::Call(def, _) => def.name,
        _ => "",
    };
    let chosen = match (&e.node, name) {
        (Node::Call(_, args), "ifnull" | "coalesce") if !e.ty.is_temporal() && !e.ty.is_string() => {
            first_of(args, ctx)?
        }
        (Node::Call(_, args), "greatest" | "least")
            if matches!(e.ty.kind, TypeKind::Decimal | TypeKind::Bit) =>
        {
            extreme_number(args, name == "greatest", ctx)?
        }
        // Digits that a value has not are not filled up in a document.
        (Node::Digits { value, .. }, _) => match value.eval(ctx)? {
            Val::Decimal(d) if d.scale() <= e.ty.scale => {
                return typed_json(&Val::Decimal(d), value).map(Some);
            }
            Val::Null => return Ok(None),
            other => {
                let rounded = Val::Decimal(other.to_decimal(ctx.env)?.round(e.ty.scale));
                return typed_json(&rounded, value).map(Some);
            }
        },
        _ => {
            let value = e.eval(ctx)?;
            return (!value.is_null()).then(|| typed_json(&value, e)).transpose();
        }
    };
    let Some((value, arg)) = chosen else {
        return Ok(None);
    };
    Ok(Some(match e.ty.kind {
        TypeKind::Double | TypeKind::Float => Json::Double(value.to_f64(ctx.env)?),
        // Digits stand for the bits that several have in common.
        TypeKind::Bit => Json::Opaque(wire::BIT, value.to_text().into_owned()),
        _ if is_opaque(&arg.ty) => typed_json(&value, arg)?,
        _ => value_json(&value)?,
    }))
}

/// The first argument that is not NULL, and its value.
fn first_of<'a>(args: &'a [Expr], ctx: &EvalCtx<'a>) -> Result<Option<(Val<'a>, &'a Expr)>> {
    for arg in args {
        let value = arg.eval(ctx)?;
        if !value.is_null() {
            return Ok(Some((value, arg)));
        }
    }
    Ok(None)
}

/// The greatest or least of numbers, with its own digits; of equal ones GREATEST has the last, LEAST the first. `None` if one is NULL.
fn extreme_number<'a>(
    args: &'a [Expr],
    greatest: bool,
    ctx: &EvalCtx<'a>,
) -> Result<Option<(Val<'a>, &'a Expr)>> {
    let mut best: Option<(Decimal, Val<'a>, &'a Expr)> = None;
    for arg in args {
        let value = arg.eval(ctx)?;
        if value.is_null() {
            return Ok(None);
        }
        let number = value.to_decimal(ctx.env)?;
        let better = best.as_ref().is_none_or(|(best, ..)| match greatest {
            true => number >= *best,
            false => number < *best,
        });
        if better {
            best = Some((number, value, arg));
        }
    }
    Ok(best.map(|(_, value, arg)| (value, arg)))
}

/// Whether it is an operation whose zero has no digits; a sum has those of its operands.
fn is_bare_as_zero(e: &Expr) -> bool {
    match &e.node {
        Node::Arith(op, ..) => matches!(op, ArithOp::Sub | ArithOp::Mul | ArithOp::Div | ArithOp::Mod),
        Node::Call(def, _) => def.name == "mod",
        _ => false,
    }
}

/// The bytes of an expression as a part of a document. What is cast to BINARY(n) is of varying length here, and what is computed is a BLOB
/// of the size that its longest value has.
fn opaque(value: &Val, e: &Expr) -> Result<Json> {
    let length = match &e.node {
        Node::Cast(inner) if e.ty.length == u32::MAX => length_under(&inner.ty, Collation::BINARY),
        Node::Column(_) => 0,
        _ => e.ty.length,
    };
    let kind = match (type_byte(&e.ty), length) {
        _ if hands_on_blob(e) => wire::BLOB,
        (wire::VAR_STRING | wire::BLOB, 0x1_0000..=0xff_ffff) => wire::MEDIUM_BLOB,
        (wire::VAR_STRING | wire::BLOB, 0x100_0000..) => wire::LONG_BLOB,
        (wire::VAR_STRING, _) => wire::VARCHAR,
        (wire::STRING, _) if matches!(e.node, Node::Cast(_)) => wire::VARCHAR,
        (kind, _) => kind,
    };
    let bytes = display(value.borrowed(), &e.ty);
    let _room = reserve_memory(bytes.len())?;
    Ok(Json::Opaque(kind, bytes.into_owned()))
}

/// Whether it hands on one of its arguments, and there is a BLOB among them.
fn hands_on_blob(e: &Expr) -> bool {
    const HAND_ON: [&str; 6] = ["coalesce", "ifnull", "nullif", "greatest", "least", "any_value"];
    let is_blob = |e: &Expr| e.ty.is_blob_or_text();
    match &e.node {
        Node::Call(def, args) if HAND_ON.contains(&def.name) => args.iter().any(is_blob),
        _ => e.has_branch(is_blob),
    }
}

/// What a complaint about a document calls the expression that it comes from.
pub(crate) fn source(e: &Expr) -> &str {
    match &e.node {
        Node::Column(_) => match &e.name {
            Some(name) => name.rsplit('`').nth(1).unwrap_or(name),
            None => "json",
        },
        Node::Call(def, _) => def.name,
        Node::Cast(_) => "cast_as_json",
        _ => "json",
    }
}

/// A document as a number or a point in time: what a cast makes of it. Other types take its text.
pub(crate) fn scalar<'a>(value: Val<'a>, from: &Expr, to: &SqlType, env: &Env) -> Result<Val<'a>> {
    match &value {
        Val::Json(stored) if !to.is_string() => {
            let inner = Json::of_stored(stored)?.scalar(to, source(from), env)?;
            Ok(inner.unwrap_or(value))
        }
        _ => Ok(value),
    }
}

/// A value that is not a boolean as a part of a document.
pub(crate) fn value_json(value: &Val) -> Result<Json> {
    Ok(match value {
        Val::Null => Json::Null,
        Val::Int(v) => Json::Int(*v),
        Val::UInt(v) => Json::UInt(*v),
        Val::Float(v) => Json::Double(*v as f64),
        Val::Double(v) => Json::Double(*v),
        Val::Decimal(d) => Json::Decimal(d.to_string()),
        Val::Json(stored) => Json::of_stored(stored)?,
        Val::Date(d) => Json::Date(*d),
        Val::Time(t) => Json::Time(*t),
        Val::DateTime(t) => Json::DateTime(*t),
        Val::Str(text) | Val::Member(_, text) => {
            let _room = reserve_memory(text.len())?;
            Json::String(String::from_utf8_lossy(text).into_owned())
        }
    })
}

/// A document as a value. Error 3157 if it is too deep.
pub(crate) fn shown(doc: &Json) -> Result<Val<'static>> {
    Val::json(doc)
}

/// Error 3158.
pub(crate) fn null_member_name() -> SqlError {
    SqlError::new(
        er::JSON_NULL_KEY,
        "JSON documents may not contain NULL member names.",
    )
}

/// The type of what is a text or a document; the arguments become texts.
pub(crate) fn text_result(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    for arg in std::mem::take(args) {
        args.push(as_text(arg, bind));
    }
    let ty = SqlType::text(Collation::UTF8MB4_BIN).with_nullable(true);
    Ok(ty.with_collation(Collation::UTF8MB4_BIN, Derivation::Literal))
}

fn unquoted_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    text_result_of_length(args, bind, |length| length)
}

/// The same for what takes a text alone: a number stays what it is, to be refused.
pub(crate) fn text_result_of_text(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    match args[0].ty.is_numeric() {
        true => text_result(&mut Vec::new(), bind),
        false => text_result(args, bind),
    }
}

/// The same, where as many characters as a text may have make at most that many.
pub(crate) fn text_result_of_length(
    args: &mut Vec<Expr>,
    bind: &BindCtx,
    longest: fn(u64) -> u64,
) -> Result<SqlType> {
    let ty = text_result_of_text(args, bind)?;
    let length = match args.first().map(|arg| &arg.ty) {
        Some(arg) if arg.kind == TypeKind::Null => longest(0),
        Some(arg) if arg.is_string() => longest(arg.length.into()),
        _ => return Ok(ty),
    };
    Ok(match u32::try_from(length) {
        Ok(length @ 0..=VARCHAR_MAX) => SqlType::varchar(length, ty.collation)
            .with_collation(ty.collation, ty.derivation)
            .with_nullable(true),
        _ => ty,
    })
}

/// The text of an argument that has to be one; `None` is NULL. Error 3144 for bytes, 3064 for what is neither.
pub(crate) fn text_argument<'a>(
    e: &'a Expr,
    function: &str,
    ctx: &EvalCtx<'a>,
) -> Result<Option<Cow<'a, [u8]>>> {
    let Some(text) = text(e, ctx)? else {
        return Ok(None);
    };
    match e.ty.kind {
        _ if e.ty.is_binary_string() => Err(SqlError::json_of_binary()),
        kind if e.ty.is_string() && kind != TypeKind::Json => Ok(Some(text)),
        _ => Err(SqlError::new(
            er::INCORRECT_TYPE,
            format!("Incorrect type for argument 1 in function {function}."),
        )),
    }
}

/// JSON_UNQUOTE, which date arithmetic puts around a document as well as statements do.
pub(crate) const JSON_UNQUOTE: FuncDef = def("json_unquote", (1, 1), unquoted_type, |args, _, ctx| {
    unquote(&args[0], ctx)
});

/// A document that is a string, as that string; every other text as it is.
fn unquote<'a>(e: &'a Expr, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    if e.ty.kind == TypeKind::Json {
        return match e.eval(ctx)? {
            Val::Json(stored) => unquoted(stored),
            Val::Null => Ok(Val::Null),
            other => Ok(Val::Str(other.into_text())),
        };
    }
    let Some(text) = text_argument(e, "json_unquote", ctx)? else {
        return Ok(Val::Null);
    };
    if !text.starts_with(b"\"") || !text.ends_with(b"\"") || text.len() < 2 {
        return Ok(Val::Str(text));
    }
    match parse(&text) {
        Ok(Json::String(s)) => Ok(Val::string(s)),
        Ok(_) => Ok(Val::Str(text)),
        Err(e) => Err(invalid(e, 1, "json_unquote")),
    }
}

fn unquoted(stored: Cow<[u8]>) -> Result<Val> {
    Ok(Val::Str(match in_binary(stored)? {
        Cow::Borrowed(bytes) => View::of(bytes).form()?,
        Cow::Owned(bytes) => Cow::Owned(View::of(&bytes).form()?.into_owned()),
    }))
}
