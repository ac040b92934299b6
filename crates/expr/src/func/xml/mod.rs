//! EXTRACTVALUE and UPDATEXML: XML as they read it, and the part of XPath that they know.
//!
//! MySQL has its own reader of XML, which is far from the standard, and its own XPath, whose arithmetic, comparisons and functions are SQL's (`div` is DIV,
//! texts are equal under their collation). A library that reads XML as it is specified would refuse, or answer otherwise, where MySQL has an answer:
//! several elements at the top, text beside them, attributes without quotes, entities that stay as they are written. So this is ours.
//!
//! - `document`: a text becomes a list of nodes, in the text's order.
//! - `words`, `path`, `functions`: a path becomes a plan.
//! - `plan`: sets of nodes, and an SQL expression over what they hold.
//! - `evaluate`: a plan over a document.

mod document;
mod evaluate;
mod functions;
mod path;
mod plan;
mod words;

use self::document::Document;
use self::evaluate::Evaluation;
use self::path::Path;
use super::*;
use crate::infer::sized_text;
use tidemark_types::Collation;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def(
        "extractvalue",
        (2, 2),
        |args, bind| xml_type(args, "extractvalue", bind),
        extract_value,
    ),
    def(
        "updatexml",
        (3, 3),
        |args, bind| xml_type(args, "updatexml", bind),
        update_xml,
    ),
];

/// The path is the same for all rows. One that is known is looked at at once: error 1105 comes even where there is no row.
fn xml_type(args: &mut Vec<Expr>, name: &str, bind: &BindCtx) -> Result<SqlType> {
    textual(args, bind);
    if !args[1].columns().is_empty() {
        return Err(SqlError::unknown("Only constant XPATH queries are supported"));
    }
    let types: Vec<&SqlType> = args.iter().map(|arg| &arg.ty).collect();
    let (collation, derivation) = joined_collation(&types, name, bind)?;
    if let Some(path) = build::constant(&args[1], bind)
        && !path.is_null()
    {
        let (warnings, zone) = (Warnings::default(), TimeZone::UTC);
        let env = crate::Env::new(&crate::NoSession, &crate::NoSubqueries, &warnings, &zone);
        Path::parse(&path.to_text(), &env, &under(collation))?;
    }
    Ok(sized_text(u32::MAX as u64, collation)
        .with_collation(collation, derivation)
        .with_nullable(true))
}

/// Expressions of a path are bound with texts under that collation.
fn under(collation: Collation) -> BindCtx {
    BindCtx {
        collation_connection: collation,
        ..BindCtx::default()
    }
}

fn extract_value<'a>(args: &'a [Expr], ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let xml = known!(text(&args[0], ctx)?);
    let path = known!(text(&args[1], ctx)?);
    let path = Path::parse(&path, ctx.env, &under(ty.collation))?;
    let document = known!(document(&xml, ctx)?);
    let found = Evaluation::new(&document, ctx.env).text(&path)?;
    Ok(found.map_or(Val::Null, Val::string))
}

/// The text with another in place of the node that the path selects, if it is one.
fn update_xml<'a>(args: &'a [Expr], ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let xml = known!(text(&args[0], ctx)?);
    let path = known!(text(&args[1], ctx)?);
    let replacement = known!(text(&args[2], ctx)?);
    let path = Path::parse(&path, ctx.env, &under(ty.collation))?;
    let nodes = known!(&path.nodes);
    let document = known!(document(&xml, ctx)?);
    let place = Evaluation::new(&document, ctx.env).place(nodes)?;
    drop(document);
    let Some(place) = place else {
        return Ok(Val::Str(xml));
    };
    let length = (xml.len() - place.len() + replacement.len()) as u128;
    let _room = known!(within_packet(length, "updatexml", ctx)?);
    let parts = [&xml[..place.start], &replacement[..], &xml[place.end..]];
    Ok(Val::string(parts.concat()))
}

/// `None` and warning 1525 if it is none.
fn document<'t>(xml: &'t [u8], ctx: &EvalCtx) -> Result<Option<Document<'t>>> {
    match Document::parse(xml)? {
        Ok(document) => Ok(Some(document)),
        Err(complaint) => {
            ctx.env.warnings.warn(complaint);
            Ok(None)
        }
    }
}
