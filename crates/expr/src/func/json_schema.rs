//! JSON_SCHEMA_VALID and JSON_SCHEMA_VALIDATION_REPORT.

use super::json::document;
use super::*;
use crate::json::{json_type, shown};
use crate::json_schema::{Failure, Schema};
use std::rc::Rc;
use tidemark_types::error::er;
use tidemark_types::json::Json;

/// The function whose failures a CHECK constraint explains.
const VALID: &str = "json_schema_valid";

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def(
        VALID,
        (2, 2),
        |args, _| Ok(SqlType::boolean().with_nullable(any_nullable(args))),
        |args, ty, ctx| {
            let failure = known!(failure(args, ty, VALID, ctx)?);
            Ok(Val::bool(failure.is_none()))
        },
    ),
    def(
        "json_schema_validation_report",
        (2, 2),
        |args, _| Ok(json_type().with_nullable(any_nullable(args))),
        |args, ty, ctx| {
            let failure = known!(failure(args, ty, "json_schema_validation_report", ctx)?);
            let text = |text: &str| Json::String(text.to_owned());
            let members = match failure {
                None => vec![("valid", Json::Bool(true))],
                Some(failure) => vec![
                    ("valid", Json::Bool(false)),
                    ("reason", Json::String(failure.reason())),
                    ("schema-location", text(&failure.schema_location)),
                    ("document-location", text(&failure.document_location)),
                    ("schema-failed-keyword", text(failure.keyword)),
                ],
            };
            let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
            shown(&Json::object(members.collect()))
        },
    ),
];

/// What the document fails, if it does; the outer `None` is NULL. Error 3853 for a schema that is no object.
fn failure<'a>(
    args: &'a [Expr],
    ty: &'a SqlType,
    function: &str,
    ctx: &EvalCtx<'a>,
) -> Result<Option<Option<Failure>>> {
    let Some(schema) = schema(args, ty, function, ctx)? else {
        return Ok(None);
    };
    // A date or time is a string there.
    let Some(document) = document(args, 1, function, ctx)?.map(Json::with_texts) else {
        return Ok(None);
    };
    let mut watch = Watch::new(ctx.env);
    let outcome = schema.validate(&document, &mut || watch.step(STEP))?;
    Ok(Some(outcome.err()))
}

/// What looking at one value counts for, beside the steps of other work on texts.
const STEP: usize = 64;

/// The schema, which is read once for a statement if it is constant.
fn schema<'a>(
    args: &'a [Expr],
    ty: &'a SqlType,
    function: &str,
    ctx: &EvalCtx<'a>,
) -> Result<Option<Rc<Schema>>> {
    let site = std::ptr::from_ref(ty) as usize;
    let fixed = args[0].is_constant();
    if fixed && let Some(known) = ctx.env.kept().schemas.get(&site) {
        return Ok(Some(Rc::clone(known)));
    }
    let Some(root) = document(args, 0, function, ctx)? else {
        return Ok(None);
    };
    if !matches!(root, Json::Object(_)) {
        return Err(SqlError::new(
            er::INVALID_JSON_TYPE,
            format!("Invalid JSON type in argument 1 to function {function}; an object is required."),
        ));
    }
    let schema = Rc::new(Schema::new(root)?);
    if fixed {
        ctx.env.kept().schemas.insert(site, Rc::clone(&schema));
    }
    Ok(Some(schema))
}

/// Error 3934, which says why a condition that is a call of JSON_SCHEMA_VALID is false.
pub fn schema_violation(condition: &Expr, ctx: &EvalCtx) -> Result<Option<SqlError>> {
    let Node::Call(function, args) = &condition.node else {
        return Ok(None);
    };
    if function.name != VALID {
        return Ok(None);
    }
    let failure = failure(args, &condition.ty, VALID, ctx)?.flatten();
    Ok(failure.map(|failure| {
        SqlError::new(
            er::JSON_SCHEMA_VALIDATION_ERROR_WITH_DETAILED_REPORT,
            format!("{}.", failure.reason()),
        )
    }))
}
