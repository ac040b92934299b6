//! Documents: texts read as JSON, values as parts of a document.

use super::env::EvalCtx;
use super::eval::text;
use super::node::Expr;
use tidemark_types::error::{Result, SqlError, er};
use tidemark_types::json::{Json, JsonError};
use tidemark_types::{Collation, DateTime, Derivation, SqlType, Time, TypeKind, Val};

/// The type of documents.
pub(crate) fn json_type() -> SqlType {
    SqlType::new(TypeKind::Json).with_collation(Collation::UTF8MB4_BIN, Derivation::Implicit)
}

/// A text read as a document.
pub(crate) fn parse(text: &[u8]) -> Result<Json, JsonError> {
    match std::str::from_utf8(text) {
        Ok(text) => Json::parse(text),
        Err(e) => Err(JsonError {
            position: e.valid_up_to(),
            message: "Invalid encoding in string.",
        }),
    }
}

/// Error 3141: an argument of a function is not a document.
pub(crate) fn invalid(e: JsonError, argument: usize, function: &str) -> SqlError {
    SqlError::new(
        er::INVALID_JSON_TEXT_IN_PARAM,
        format!(
            "Invalid JSON text in argument {argument} to function {function}: \"{}\" at position {}.",
            e.message, e.position
        ),
    )
}

/// A value as a part of a document.
pub(crate) fn value_to_json(value: &Val, ty: &SqlType) -> Result<Json> {
    Ok(match value {
        Val::Null => Json::Null,
        // The result of a comparison is a boolean.
        Val::Int(v) if ty.kind == TypeKind::BigInt && ty.length == 1 => Json::Bool(*v != 0),
        Val::Int(v) => Json::Int(*v),
        Val::UInt(v) if *v <= i64::MAX as u64 => Json::Int(*v as i64),
        Val::UInt(v) => Json::UInt(*v),
        Val::Float(v) => Json::Double(*v as f64),
        Val::Double(v) => Json::Double(*v),
        Val::Decimal(d) => Json::Decimal(d.to_string()),
        Val::Str(s) if ty.kind == TypeKind::Json => parse(s).map_err(|e| invalid(e, 1, "json"))?,
        Val::DateTime(t) => Json::String(DateTime { fsp: 6, ..*t }.to_string()),
        Val::Time(t) => Json::String(Time { fsp: 6, ..*t }.to_string()),
        other => Json::String(String::from_utf8_lossy(&other.to_text()).into_owned()),
    })
}

/// A document that is a string, as that string; every other text as it is.
pub(crate) fn unquote<'a>(e: &'a Expr, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let Some(text) = text(e, ctx)? else {
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
