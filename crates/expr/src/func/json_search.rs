//! What is found in JSON documents: JSON_SEARCH, JSON_OVERLAPS and MEMBER OF.

use super::json::{document, one_or_all, path, stored};
use super::*;
use crate::json::{json_type, shown, typed_json};
use crate::like::LikePattern;
use std::cmp::Ordering;
use std::collections::HashMap;
use tidemark_types::error::interrupt::Steps;
use tidemark_types::json::binary::View;
use tidemark_types::json::{Json, find, is_identifier, quoted};
use tidemark_types::{Collation, Derivation};

/// The name under which the parser calls `MEMBER OF`, which no function of a user's can have.
const MEMBER_OF: &str = "member of";

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def(
        "json_search",
        (3, MANY),
        |_, _| Ok(json_type().with_nullable(true)),
        json_search,
    ),
    def("json_overlaps", (2, 2), flag, |args, _, ctx| {
        let a = known!(document(args, 0, "json_overlaps", ctx)?);
        let b = known!(document(args, 1, "json_overlaps", ctx)?);
        Ok(Val::bool(overlap(&a, &b)?))
    }),
    def(MEMBER_OF, (2, 2), flag, |args, _, ctx| {
        let value = args[0].eval(ctx)?;
        if value.is_null() {
            return Ok(Val::Null);
        }
        let value = typed_json(&value, &args[0])?;
        let doc = known!(stored(args, 1, MEMBER_OF, ctx)?);
        Ok(Val::bool(has_element(View::of(&doc), &value)?))
    }),
];

fn flag(args: &mut Vec<Expr>, _bind: &BindCtx) -> Result<SqlType> {
    Ok(SqlType::boolean().with_nullable(any_nullable(args)))
}

fn same(a: &Json, b: &Json) -> bool {
    a.compare(b) == Ordering::Equal
}

/// The elements of an array; anything else is its own only element.
fn elements(doc: &Json) -> &[Json] {
    match doc {
        Json::Array(elements) => elements,
        other => std::slice::from_ref(other),
    }
}

/// Whether an array has an element that is equal to a value; anything else is its own only element.
fn has_element(doc: View, value: &Json) -> Result<bool> {
    let Some(list) = doc.elements()? else {
        return doc.equals(value);
    };
    let mut steps = Steps::default();
    for element in list.iter() {
        steps.step()?;
        if element?.equals(value)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether two arrays have an element in common, two objects a member, or two others are equal.
fn overlap(a: &Json, b: &Json) -> Result<bool> {
    let mut steps = Steps::default();
    if let (Json::Object(members), Json::Object(others)) = (a, b) {
        let others: HashMap<&str, &Json> = others
            .iter()
            .map(|(name, value)| (name.as_str(), value))
            .collect();
        let shared = |(name, value): &(String, Json)| {
            let other = others.get(name.as_str());
            other.is_some_and(|other| same(value, other))
        };
        return Ok(members.iter().any(shared));
    }
    for one in elements(a) {
        for other in elements(b) {
            steps.step()?;
            if same(one, other) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The paths of the strings that are like a pattern: the first, as a string, or all, as an array if there are several.
fn json_search<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let doc = known!(document(args, 0, "json_search", ctx)?);
    let first = known!(one_or_all(&args[1], "json_search", ctx)?);
    let pattern = known!(text(&args[2], ctx)?);
    let escape = match args.get(3) {
        Some(e) => escape(text(e, ctx)?.as_deref())?,
        None => Some('\\'),
    };
    // A document's texts weigh as much as a literal, and among equals the binary collation is taken.
    let collation = match (args[2].ty.derivation as u8) < Derivation::Literal as u8 {
        true => args[2].ty.collation,
        false => Collation::UTF8MB4_BIN,
    };
    let mut search = Search {
        pattern: LikePattern::new(&pattern, escape, collation)?,
        first,
        at: "$".to_owned(),
        found: Vec::new(),
        watch: Watch::new(ctx.env),
    };
    if args.len() < 5 {
        search.walk(&doc, &[], true)?;
    }
    for e in args.iter().skip(4) {
        let path = known!(path(e, ctx)?);
        let mut watch = Watch::new(ctx.env);
        let places = find(&doc, &path, &mut |places| watch.step(places))?;
        search.walk(&doc, &places, false)?;
    }
    let mut paths = search.found.into_iter().map(Json::String);
    match (paths.next(), first || paths.len() == 0) {
        (None, _) => Ok(Val::Null),
        (Some(path), true) => shown(&path),
        (Some(path), false) => shown(&Json::Array([path].into_iter().chain(paths).collect())),
    }
}

/// The character that stands before one that is meant as it is; none if it is empty. Error 1210 if there are several.
fn escape(written: Option<&[u8]>) -> Result<Option<char>> {
    let Some(written) = written else {
        return Ok(Some('\\'));
    };
    let mut chars = std::str::from_utf8(written).unwrap_or("??").chars();
    match (chars.next(), chars.next()) {
        (escape, None) => Ok(escape),
        _ => Err(SqlError::wrong_arguments("ESCAPE")),
    }
}

struct Search<'a> {
    pattern: LikePattern,
    /// The first is enough.
    first: bool,
    /// The path of the place that is looked at.
    at: String,
    /// The paths found, each once.
    found: Vec<String>,
    watch: Watch<'a>,
}

impl Search<'_> {
    /// Looks at a place and what it contains: all of it if it is `within`, else what is within one of `places`.
    fn walk(&mut self, doc: &Json, places: &[&Json], within: bool) -> Result<()> {
        let within = within || places.iter().any(|place| std::ptr::eq(*place, doc));
        let length = self.at.len();
        match doc {
            Json::String(text) if within => {
                self.watch.step(text.len())?;
                if self.pattern.matches(text.as_bytes()) && !self.found.contains(&self.at) {
                    self.found.push(self.at.clone());
                }
            }
            Json::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    self.at.push_str(&format!("[{index}]"));
                    self.walk(element, places, within)?;
                    self.at.truncate(length);
                    if self.is_done() {
                        break;
                    }
                }
            }
            Json::Object(members) => {
                for (name, value) in members {
                    self.at.push('.');
                    match is_identifier(name) {
                        true => self.at.push_str(name),
                        false => self.at.push_str(&quoted(name)),
                    }
                    self.walk(value, places, within)?;
                    self.at.truncate(length);
                    if self.is_done() {
                        break;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.first && !self.found.is_empty()
    }
}
