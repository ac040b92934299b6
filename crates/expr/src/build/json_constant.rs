//! A document that is a constant beside a column of type BIGINT, YEAR or TIME.
//!
//! MySQL compares values of these columns as integers, and so it first makes a value of the column's type of the constant, as if it were to be
//! stored. If that is what the document says, the two are compared as values of the column; else as documents. What a document says as a number is
//! lenient: an array is 0, with a complaint, and 0 is what is stored. The constant is looked at when the statement is planned;
//! what is to be complained of is complained of when it runs.

use super::comparison::{constant, has_other_source};
use super::literal::{int_literal, literal};
use super::year::year_of;
use super::{BindCtx, expr};
use crate::function::{FuncDef, def};
use crate::json::{json_type, source};
use crate::node::{Expr, Node};
use tidemark_types::json::Json;
use tidemark_types::{Conversion, Decimal, SqlType, Time, TimeZone, TypeKind, Val, Value, Warnings};

/// The constant as a value of the column's type, if it is compared as that.
pub(super) fn beside(document: &Expr, column: &Expr, bind: &BindCtx) -> Option<Expr> {
    let by_integer = matches!(column.ty.kind, TypeKind::BigInt | TypeKind::Year | TypeKind::Time);
    // Of a derived table, MySQL has the expression in the place of the column.
    let is_stored = |name: &str| name.matches("`.`").count() == 2;
    let stored_column = column.is_table_column() && column.name.as_deref().is_some_and(is_stored);
    if !stored_column || !by_integer || document.ty.kind != TypeKind::Json {
        return None;
    }
    let fixed = document.columns().is_empty() && !has_other_source(document);
    if fixed && document.has_parameter() {
        bind.depends_on_literals.set(true);
        return None;
    }
    let typed = match &document.node {
        Node::Cast(inner) if inner.ty.is_temporal() => constant(inner, bind)?,
        _ => Val::Null,
    };
    let Some(Val::Json(kept)) = constant(document, bind) else {
        return None;
    };
    // A date or time in it is no number.
    let (document, value) = match typed.is_null() {
        true => (document.clone(), Json::of_stored(&kept).ok()?),
        false => (null_document(), Json::Null),
    };
    match column.ty.kind {
        TypeKind::Year => match value {
            Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_) => {
                // The year of a 0 is that of the text of it.
                match number(&value) {
                    Val::Int(0) => Some(int_literal(2000)),
                    Val::Double(number) => year_of(&Val::Double(number.round_ties_even())).map(int_literal),
                    number => year_of(&number).map(int_literal),
                }
            }
            _ => None,
        },
        TypeKind::Time if matches!(typed, Val::Time(_)) => Some(literal(column.ty.clone(), typed)),
        TypeKind::Time => Some(stored(&document, &column.ty)),
        _ => {
            let low = if column.ty.unsigned { 0 } else { i64::MIN as i128 };
            let high = if column.ty.unsigned {
                u64::MAX as i128
            } else {
                i64::MAX as i128
            };
            let (unheard, zone) = (Warnings::default(), TimeZone::UTC);
            let lenient = Conversion::new(&unheard, &zone);
            let integer = value.integer("", &lenient).ok()?.clamp(low, high);
            let is_it = value
                .double("", &lenient)
                .is_ok_and(|double| double == integer as f64);
            is_it.then(|| stored(&document, &column.ty))
        }
    }
}

/// `null`, cast to a document.
fn null_document() -> Expr {
    let null = literal(json_type(), Val::JSON_NULL);
    expr(json_type(), Node::Cast(Box::new(null)))
}

fn number(value: &Json) -> Value {
    match value {
        Json::Int(v) => Val::Int(*v),
        Json::UInt(v) => Val::UInt(*v),
        Json::Double(v) => Val::Double(*v),
        other => Decimal::parse(&other.to_string()).map_or(Val::Null, Val::Decimal),
    }
}

/// What is stored of the document: zero, with a complaint, of one that is no such value.
fn stored(document: &Expr, ty: &SqlType) -> Expr {
    static FUNCTION: FuncDef = def(
        "json_as_stored",
        (1, 1),
        |args, _| Ok(args[0].ty.clone()),
        |args, ty, ctx| {
            let Val::Json(kept) = args[0].eval(ctx)? else {
                return Ok(Val::Null);
            };
            let mut value = Json::of_stored(&kept)?;
            // Digits alone are no time here.
            if ty.kind == TypeKind::Time && matches!(&value, Json::String(text) if !text.contains(':')) {
                value = Json::Null;
            }
            let read = value.scalar(ty, source(&args[0]), ctx.env)?;
            match read.filter(|read| !read.is_null()) {
                None => Ok(Val::Time(Time::new(0, ty.scale))),
                Some(read) => crate::cast::cast(read, ty, ty, ctx.env),
            }
        },
    );
    let ty = ty.clone().with_nullable(false);
    expr(ty, Node::Call(&FUNCTION, vec![document.clone()]))
}
