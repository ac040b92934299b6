//! JSON functions.

use super::*;
use crate::json::{
    JSON_UNQUOTE, json_type, null_member_name, parse, part, shown, text_argument, text_result,
    text_result_of_length,
};
use std::rc::Rc;
use tidemark_types::Collation;
use tidemark_types::error::er;
use tidemark_types::error::interrupt::Steps;
use tidemark_types::error::memory::reserve_memory;
use tidemark_types::json::binary::{ArrayWriter, Part, View, place, places};
use tidemark_types::json::{Json, JsonError, PathEdit, PathStep, change, has_wildcard, parse_path, quoted};

/// Room for the name of a document's type.
const TYPE_NAME_MAX: u32 = 17;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def(
        "json_valid",
        (1, 1),
        |_, _| Ok(SqlType::bigint().with_nullable(true)),
        |args, _, ctx| {
            let value = args[0].eval(ctx)?;
            // What is neither a text nor a document is none, NULL or not; bytes are none where they are not NULL.
            let ty = &args[0].ty;
            let may_be_null =
                ty.is_string() && !ty.is_member() || matches!(ty.kind, TypeKind::Json | TypeKind::Null);
            Ok(match &value {
                _ if !may_be_null => Val::FALSE,
                Val::Null => Val::Null,
                Val::Str(_) if ty.is_binary_string() => Val::FALSE,
                Val::Json(_) => Val::TRUE,
                Val::Str(s) => match parse(s) {
                    Err(JsonError::Invalid { .. }) => Val::FALSE,
                    Err(error) => return Err(error.into_sql(|_, _| JsonError::too_deep())),
                    Ok(_) => Val::TRUE,
                },
                _ => Val::FALSE,
            })
        },
    )
    .takes(&[ParamKind::Json]),
    def("json_extract", (2, MANY), json_result, extract)
        .takes(&[ParamKind::Json])
        .with_paths(),
    JSON_UNQUOTE,
    def("json_quote", (1, 1), quoted_type, |args, _, ctx| {
        let text = known!(text_argument(&args[0], "json_quote", ctx)?);
        // A control character becomes six.
        let longer = text.iter().filter(|b| matches!(b, b'"' | b'\\')).count();
        let control = text.iter().filter(|b| **b < 32).count() * 5;
        let _room = known!(within_packets(
            (text.len() + longer + control + 2) as u128,
            6,
            "json_quote",
            ctx
        )?);
        let mut out = vec![b'"'];
        for piece in pieces_of_text(&text) {
            let quoted = quoted(&String::from_utf8_lossy(piece?));
            out.extend_from_slice(&quoted.as_bytes()[1..quoted.len() - 1]);
        }
        out.push(b'"');
        Ok(Val::string(out))
    }),
    def("json_array", (0, MANY), json_result, |args, _, ctx| {
        let list = args
            .iter()
            .map(|e| to_json(e, ctx))
            .collect::<Result<Vec<Json>>>()?;
        shown(&Json::Array(list))
    }),
    def(
        "json_object",
        (0, MANY),
        |args, bind| {
            if args.len() % 2 == 1 {
                return Err(SqlError::parameter_count("json_object"));
            }
            Ok(json_result(args, bind)?.with_nullable(false))
        },
        |args, _, ctx| {
            let mut members = Vec::with_capacity(args.len() / 2);
            for pair in args.chunks(2) {
                let name = text(&pair[0], ctx)?.ok_or_else(null_member_name)?;
                members.push((
                    String::from_utf8_lossy(&name).into_owned(),
                    to_json(&pair[1], ctx)?,
                ));
            }
            shown(&Json::large_object(members)?)
        },
    ),
    def("json_type", (1, 1), type_name_type, |args, _, ctx| {
        let doc = known!(stored(args, 0, "json_type", ctx)?);
        Ok(Val::str(View::of(&doc).type_name()?))
    })
    .takes(&[ParamKind::Json]),
    def("json_depth", (1, 1), nullable_int, |args, _, ctx| {
        let doc = known!(stored(args, 0, "json_depth", ctx)?);
        Ok(Val::Int(View::of(&doc).depth()? as i64))
    })
    .takes(&[ParamKind::Json]),
    def("json_length", (1, 2), nullable_int, |args, _, ctx| {
        let doc = known!(stored(args, 0, "json_length", ctx)?);
        let place = known!(at_path(View::of(&doc), args.get(1), ctx)?);
        Ok(Val::Int(place.length()? as i64))
    })
    .takes(&[ParamKind::Json]),
    def("json_keys", (1, 2), json_result, |args, _, ctx| {
        let doc = known!(stored(args, 0, "json_keys", ctx)?);
        let place = known!(at_path(View::of(&doc), args.get(1), ctx)?);
        let members = known!(place.members()?);
        let mut names = ArrayWriter::new()?;
        for member in members.iter() {
            names.push_string(member?.0)?;
        }
        Ok(Val::Json(Cow::Owned(names.finish()?)))
    })
    .takes(&[ParamKind::Json]),
    def("json_contains", (2, 3), nullable_int, |args, _, ctx| {
        let doc = known!(stored(args, 0, "json_contains", ctx)?);
        let candidate = known!(document(args, 1, "json_contains", ctx)?);
        let place = known!(at_path(View::of(&doc), args.get(2), ctx)?).tree()?;
        Ok(Val::bool(place.contains(&candidate, &mut Steps::default())?))
    }),
    def("json_contains_path", (3, MANY), nullable_int, |args, _, ctx| {
        let doc = known!(stored(args, 0, "json_contains_path", ctx)?);
        let all = !known!(one_or_all(&args[1], "json_contains_path", ctx)?);
        for e in &args[2..] {
            let path = known!(path(e, ctx)?);
            if found(View::of(&doc), &path, ctx)?.is_empty() == all {
                return Ok(Val::bool(!all));
            }
        }
        Ok(Val::bool(all))
    }),
    def("json_value", (7, 7), text_result, json_value),
    def("json_set", (3, MANY), json_result, |args, _, ctx| {
        changed(args, PathEdit::Set, "json_set", ctx)
    })
    .takes(&[ParamKind::Json, ParamKind::Text, ParamKind::Json]),
    def("json_insert", (3, MANY), json_result, |args, _, ctx| {
        changed(args, PathEdit::Insert, "json_insert", ctx)
    })
    .takes(&[ParamKind::Json, ParamKind::Text, ParamKind::Json]),
    def("json_replace", (3, MANY), json_result, |args, _, ctx| {
        changed(args, PathEdit::Replace, "json_replace", ctx)
    })
    .takes(&[ParamKind::Json, ParamKind::Text, ParamKind::Json]),
    def("json_array_append", (3, MANY), json_result, |args, _, ctx| {
        changed(args, PathEdit::Append, "json_array_append", ctx)
    })
    .takes(&[ParamKind::Json, ParamKind::Text, ParamKind::Json]),
    def("json_remove", (2, MANY), json_result, |args, _, ctx| {
        let mut doc = known!(document(args, 0, "json_remove", ctx)?);
        for e in &args[1..] {
            change(
                &mut doc,
                &known!(single_path(e, ctx)?),
                PathEdit::Remove,
                Json::Null,
            )?;
        }
        shown(&doc)
    }),
    def("json_merge_patch", (2, MANY), json_result, |args, _, ctx| {
        patched(args, ctx)
    })
    .takes_all(ParamKind::Json),
    def("json_merge_preserve", (2, MANY), json_result, |args, _, ctx| {
        merged(args, "json_merge_preserve", ctx)
    })
    .takes_all(ParamKind::Json),
];

/// A character may become six, and two quotes stand around all.
fn quoted_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    text_result_of_length(args, bind, |length| length * 6 + 2)
}

fn json_result(_args: &mut Vec<Expr>, _bind: &BindCtx) -> Result<SqlType> {
    Ok(json_type())
}

/// An argument that is a document; `None` is NULL.
pub(super) fn document<'a>(
    args: &'a [Expr],
    index: usize,
    function: &str,
    ctx: &EvalCtx<'a>,
) -> Result<Option<Json>> {
    let value = args[index].eval(ctx)?;
    crate::json::document(&value, &args[index].ty, index + 1, function)
}

/// An argument that is a document, in the binary form; `None` is NULL.
pub(super) fn stored<'a>(
    args: &'a [Expr],
    index: usize,
    function: &str,
    ctx: &EvalCtx<'a>,
) -> Result<Option<Cow<'a, [u8]>>> {
    let value = args[index].eval(ctx)?;
    crate::json::stored(value, &args[index].ty, index + 1, function)
}

/// Whether one is enough, by an argument `one` or `all`; `None` is NULL.
pub(super) fn one_or_all<'a>(e: &'a Expr, function: &str, ctx: &EvalCtx<'a>) -> Result<Option<bool>> {
    let Some(written) = text(e, ctx)? else {
        return Ok(None);
    };
    match &*written.to_ascii_lowercase() {
        b"one" => Ok(Some(true)),
        b"all" => Ok(Some(false)),
        _ => {
            let message =
                format!("The oneOrAll argument to {function} may take these values: 'one' or 'all'.");
            Err(SqlError::new(er::JSON_BAD_ONE_OR_ALL_ARG, message))
        }
    }
}

/// The name of a document's type.
fn type_name_type(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    let ty = text_result(args, bind)?;
    let named = SqlType::varchar(TYPE_NAME_MAX, ty.collation).with_collation(ty.collation, ty.derivation);
    Ok(named.with_nullable(true))
}

/// An argument as a part of a document, in which NULL is `null`.
fn to_json<'a>(e: &'a Expr, ctx: &EvalCtx<'a>) -> Result<Json> {
    Ok(part(e, ctx)?.unwrap_or(Json::Null))
}

/// A path; `None` is NULL. One that the statement spells is parsed once.
pub(super) fn path<'a>(e: &'a Expr, ctx: &EvalCtx<'a>) -> Result<Option<Rc<[PathStep]>>> {
    let Some(written) = text(e, ctx)? else {
        return Ok(None);
    };
    let is_spelled = is_spelled(e);
    if is_spelled && let Some(known) = ctx.env.kept().path(&written) {
        return Ok(Some(known));
    }
    let parsed = parse_path(&String::from_utf8_lossy(&written)).map_err(SqlError::invalid_json_path)?;
    let parsed: Rc<[PathStep]> = parsed.into();
    if is_spelled {
        ctx.env.kept().keep_path(&written, &parsed);
    }
    Ok(Some(parsed))
}

/// Whether it has one value for all rows.
fn is_spelled(e: &Expr) -> bool {
    match &e.node {
        Node::Literal(_) | Node::Param(_) => true,
        Node::Cast(e) | Node::Retype(e) => is_spelled(e),
        _ => false,
    }
}

/// The places that a path leads to. Error 1317 if the statement is to end.
fn found<'d>(doc: View<'d>, path: &[PathStep], ctx: &EvalCtx) -> Result<Vec<View<'d>>> {
    let mut watch = Watch::new(ctx.env);
    places(doc, path, &mut |places| watch.step(places))
}

fn single_path<'a>(e: &'a Expr, ctx: &EvalCtx<'a>) -> Result<Option<Rc<[PathStep]>>> {
    match path(e, ctx)? {
        Some(p) if has_wildcard(&p) => Err(SqlError::new(
            er::INVALID_JSON_PATH_WILDCARD,
            "In this situation, path expressions may not contain the * and ** tokens or an array range.",
        )),
        other => Ok(other),
    }
}

/// The place an optional path leads to; `None` where there is none.
fn at_path<'d, 'a>(doc: View<'d>, e: Option<&'a Expr>, ctx: &EvalCtx<'a>) -> Result<Option<View<'d>>> {
    let Some(e) = e else { return Ok(Some(doc)) };
    let Some(path) = single_path(e, ctx)? else {
        return Ok(None);
    };
    place(doc, &path)
}

/// One path without wildcards gives its value, others an array of all they find.
fn extract<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let doc = known!(stored(args, 0, "json_extract", ctx)?);
    let mut all = Vec::new();
    for e in &args[1..] {
        let path = known!(path(e, ctx)?);
        if args.len() == 2 && !has_wildcard(&path) {
            return part_of(doc, &path);
        }
        all.extend(found(View::of(&doc), &path, ctx)?);
    }
    if all.is_empty() {
        return Ok(Val::Null);
    }
    let mut array = ArrayWriter::new()?;
    for value in all {
        array.push(value)?;
    }
    Ok(Val::Json(Cow::Owned(array.finish()?)))
}

/// What a path without wildcards leads to, as a part of the document where that is borrowed.
fn part_of<'a>(doc: Cow<'a, [u8]>, path: &[PathStep]) -> Result<Val<'a>> {
    match doc {
        Cow::Borrowed(doc) => {
            let part = known!(place(View::of(doc), path)?);
            Ok(Val::Json(Cow::Borrowed(part.bytes())))
        }
        Cow::Owned(doc) => {
            let part = known!(place(View::of(&doc), path)?);
            let _room = reserve_memory(part.bytes().len())?;
            Ok(Val::Json(Cow::Owned(part.bytes().to_vec())))
        }
    }
}

/// The scalar at a path, as a value of the type that the third argument names. The other arguments, in pairs, say what is to be
/// done where there is none and where it is not of the type: `NULL`, `ERROR` or `DEFAULT`, and the default.
fn json_value<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let otherwise = |pair: &'a [Expr], error: SqlError| match &*pair[0].eval(ctx)?.to_text() {
        b"ERROR" => Err(error),
        _ => pair[1].eval(ctx),
    };
    let doc = match stored(args, 0, "json_value", ctx) {
        Ok(doc) => known!(doc),
        Err(error) if error.code == er::INVALID_JSON_TEXT_IN_PARAM => return otherwise(&args[5..7], error),
        Err(error) => return Err(error),
    };
    let path = known!(single_path(&args[1], ctx)?);
    let Some(value) = place(View::of(&doc), &path)? else {
        let missing = "No value was found by 'json_value' on the specified path.";
        return otherwise(&args[3..5], SqlError::new(er::MISSING_JSON_VALUE, missing));
    };
    let name = args[2].eval(ctx)?.to_text().into_owned();
    let ty = match &*name {
        b"SIGNED" | b"UNSIGNED" => SqlType::bigint(),
        b"DECIMAL" => SqlType::decimal(65, 30),
        b"DOUBLE" | b"REAL" | b"FLOAT" => SqlType::double(),
        b"DATE" => SqlType::date(),
        b"DATETIME" => SqlType::datetime(6),
        b"TIME" => SqlType::time(6),
        b"YEAR" => SqlType::new(TypeKind::Year),
        b"JSON" => return Ok(Val::Json(Cow::Owned(value.bytes().to_vec()))),
        _ => SqlType::text(Collation::UTF8MB4_BIN),
    };
    match value.part()? {
        Part::Null => return Ok(Val::Null),
        Part::String(text) if ty.is_string() => return Ok(Val::string(text)),
        _ => {}
    }
    let value = value.tree()?;
    // A complaint here is what ON ERROR is about.
    let complaints = Warnings::default();
    let mut conversion = Conversion::new(&complaints, ctx.env.time_zone);
    conversion.sql_mode = ctx.env.sql_mode;
    let scalar = value.scalar(&ty, "json_value", &conversion)?;
    let negative = matches!(&scalar, Some(Val::Int(v)) if *v < 0) && name == b"UNSIGNED";
    if complaints.count() > 0 || negative {
        let error = SqlError::value_out_of_range(&String::from_utf8_lossy(&name), "json_value");
        return otherwise(&args[5..7], error);
    }
    Ok(scalar.unwrap_or_else(|| Val::string(value.form())))
}

/// The document with the values put where their paths lead. Error 3165 for a path of JSON_ARRAY_INSERT that is to no element.
pub(super) fn changed<'a>(
    args: &'a [Expr],
    kind: PathEdit,
    function: &str,
    ctx: &EvalCtx<'a>,
) -> Result<Val<'a>> {
    if args.len().is_multiple_of(2) {
        return Err(SqlError::parameter_count(function));
    }
    let mut doc = known!(document(args, 0, function, ctx)?);
    for pair in args[1..].chunks(2) {
        let path = known!(single_path(&pair[0], ctx)?);
        let to_element = matches!(path.last(), Some(PathStep::Element(_)));
        if kind == PathEdit::ArrayInsert && !to_element {
            return Err(SqlError::new(
                er::INVALID_JSON_PATH_ARRAY_CELL,
                "A path expression is not a path to a cell in an array.",
            ));
        }
        change(&mut doc, &path, kind, to_json(&pair[1], ctx)?)?;
    }
    shown(&doc)
}

/// JSON_MERGE_PATCH: a document that is no object takes the place of whatever was before, NULL too.
fn patched<'a>(args: &'a [Expr], ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let mut doc: Option<Json> = None;
    let mut steps = Steps::default();
    for index in 0..args.len() {
        let patch = document(args, index, "json_merge_patch", ctx)?;
        doc = match (doc, patch) {
            (Some(doc), Some(patch)) => Some(doc.merge_patch(patch, &mut steps)?),
            (None, Some(patch)) if index == 0 || !matches!(patch, Json::Object(_)) => Some(patch),
            _ => None,
        };
    }
    doc.map_or(Ok(Val::Null), |doc| shown(&doc))
}

fn merged<'a>(args: &'a [Expr], function: &str, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let mut doc = known!(document(args, 0, function, ctx)?);
    let mut steps = Steps::default();
    for index in 1..args.len() {
        let other = known!(document(args, index, function, ctx)?);
        doc = doc.merge_preserve(other, &mut steps)?;
    }
    shown(&doc)
}
