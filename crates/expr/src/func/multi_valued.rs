//! What multi-valued indexes are made of: the array that a document is cast to, and the tests of JSON functions on that array in
//! place of the document.
//!
//! The tests take the array, the elements wanted as an array of its type, and for EXPLAIN the document that was given.
//! Statements cannot name any of these: the binder casts, the planner puts the tests where an index can serve them.

use super::json::document;
use super::*;
use crate::Env;
use tidemark_types::json::{Json, array};
use tidemark_types::{Collation, Value};

/// `CAST(document AS type ARRAY)`
static CAST_AS_ARRAY: FuncDef = def("cast_as_array", (1, 1), flag, |args, ty, ctx| {
    let doc = known!(document(args, 0, "cast_as_array", ctx)?);
    let values = array::elements(&doc, ty, ctx.env)?;
    Ok(Val::Str(Cow::Owned(array::list(&values, ty))))
});

/// The array of this type that a document is cast to.
pub(crate) fn cast_as_array(document: Expr, ty: SqlType) -> Expr {
    build::expr(ty.with_nullable(true), Node::Call(&CAST_AS_ARRAY, vec![document]))
}

/// The document of a cast to an array.
pub fn cast_operand(e: &Expr) -> Option<&Expr> {
    match &e.node {
        Node::Call(def, args) if std::ptr::eq(*def, &CAST_AS_ARRAY) => args.first(),
        _ => None,
    }
}

static MEMBER_OF: FuncDef = def("member of", (3, 3), flag, |args, _, ctx| has(args, false, ctx));
static OVERLAPS: FuncDef = def("json_overlaps", (3, 3), flag, |args, _, ctx| {
    has(args, false, ctx)
});
static CONTAINS: FuncDef = def("json_contains", (3, 3), flag, |args, _, ctx| has(args, true, ctx));

fn flag(args: &mut Vec<Expr>, _bind: &BindCtx) -> Result<SqlType> {
    Ok(SqlType::boolean().with_nullable(any_nullable(args)))
}

fn has<'a>(args: &'a [Expr], all: bool, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let (Val::Str(there), Val::Str(wanted)) = (args[0].eval(ctx)?, args[1].eval(ctx)?) else {
        return Ok(Val::Null);
    };
    Ok(Val::bool(array::has(&there, &wanted, &args[0].ty, all)))
}

/// A test of an array in place of the document that it is cast from.
pub struct ArrayTest<'e> {
    /// The array.
    pub array: &'e Expr,
    list: &'e [u8],
}

/// The test of this function's name on an array, as far as an index can serve it: the elements that `given` asks for, in a form
/// that equals those of the array. `None` if it asks for what the array cannot have.
pub fn array_test(name: &str, array: Expr, given: &Val, of: &Expr, env: &Env) -> Option<Expr> {
    let test = match name {
        "member of" => &MEMBER_OF,
        "json_overlaps" => &OVERLAPS,
        "json_contains" => &CONTAINS,
        _ => return None,
    };
    let is_member = std::ptr::eq(test, &MEMBER_OF);
    let doc = match is_member {
        true => member(given, of, &array.ty)?,
        false => crate::json::document(given, &of.ty, 1, name).ok()??,
    };
    let wanted = array::elements(&doc, &array.ty, env).ok()?;
    let literal = |ty: SqlType, value: Value| build::expr(ty, Node::Literal(value));
    let list = Val::Str(Cow::Owned(array::list(&wanted, &array.ty)));
    let shown = SqlType::text(Collation::UTF8MB4_BIN);
    let ty = SqlType::boolean().with_nullable(array.ty.nullable);
    let args = vec![
        array.clone(),
        literal(array.ty, list),
        literal(shown, Val::string(doc.to_string())),
    ];
    Some(build::expr(ty, Node::Call(test, args)))
}

/// The value before MEMBER OF as a document, if it is of the kind of an array's elements.
fn member(given: &Val, of: &Expr, array: &SqlType) -> Option<Json> {
    let alike = match given {
        Val::Json(_) => true,
        Val::Int(_) | Val::UInt(_) => array.is_integer(),
        Val::Decimal(_) => array.kind == TypeKind::Decimal,
        Val::Str(_) => array.is_string() || array.is_temporal(),
        Val::Date(_) | Val::Time(_) | Val::DateTime(_) => array.is_temporal(),
        _ => false,
    };
    if !alike {
        return None;
    }
    let doc = match given {
        Val::Json(stored) => Json::of_stored(stored).ok()?,
        Val::Str(text) => Json::String(String::from_utf8_lossy(text).into_owned()),
        other => crate::json::typed_json(other, of).ok()?,
    };
    // An array is no element.
    (!matches!(doc, Json::Array(_))).then_some(doc)
}

impl<'e> ArrayTest<'e> {
    /// What an expression tests, if it is such a test.
    pub fn of(e: &'e Expr) -> Option<ArrayTest<'e>> {
        let Node::Call(def, args) = &e.node else {
            return None;
        };
        let tests = [&MEMBER_OF, &OVERLAPS, &CONTAINS];
        let is_test = tests.iter().any(|test| std::ptr::eq(*test, *def));
        let [array, list, _] = args.as_slice() else {
            return None;
        };
        let Node::Literal(Val::Str(list)) = &list.node else {
            return None;
        };
        is_test.then_some(ArrayTest { array, list })
    }

    /// The elements wanted.
    pub fn wanted(&self) -> Vec<Value> {
        array::values(self.list, &self.array.ty)
    }
}
