//! Values on their way into columns: what there is to do before a value is converted to the column's type.

use super::{BindCtx, FuncDef, as_number, as_text, def, expr, literal};
use crate::json::{binary_text, is_opaque, json_type, scalar};
use crate::node::{Expr, Node};
use tidemark_types::assign::{read_bytes, well_formed};
use tidemark_types::{Charset, Collation, SqlType, TypeKind, Val};

/// What is stored in a column, before it is evaluated: hexadecimal literals are numbers in numeric columns, bytes
/// are read in the column's character set, and a text that its own set cannot write is refused. Values then go through
/// [`tidemark_types::assign::assign`].
pub fn assignable(e: Expr, column: &SqlType, name: &str, bind: &BindCtx) -> Expr {
    if e.ty.kind == TypeKind::Json && (column.is_numeric() || column.is_temporal()) {
        static FUNCTION: FuncDef = def(
            "json_value",
            (1, 1),
            |_, _| Ok(json_type()),
            |args, ty, ctx| scalar(args[0].eval(ctx)?, &args[0], ty, ctx.env),
        );
        return expr(
            column.clone().with_nullable(e.ty.nullable),
            Node::Call(&FUNCTION, vec![e]),
        );
    }
    if column.is_numeric() && column.kind != TypeKind::Bit {
        return as_number(e);
    }
    if column.kind == TypeKind::Json && is_opaque(&e.ty) {
        static FUNCTION: FuncDef = def(
            "json_of_bytes",
            (1, 1),
            |_, _| Ok(json_type()),
            |args, _, ctx| match args[0].eval(ctx)? {
                Val::Null => Ok(Val::Null),
                _ => Err(binary_text()),
            },
        );
        let ty = json_type().with_nullable(e.ty.nullable);
        return expr(ty, Node::Call(&FUNCTION, vec![e]));
    }
    let e = if column.is_string() {
        as_it_was_sent(as_text(e, bind), column, name)
    } else {
        e
    };
    let foreign = column.is_string() && column.collation.charset().is_encoded() && e.ty.is_binary_string();
    if !foreign {
        return e;
    }
    read_in_set(e, column, name)
}

/// Bytes for a column, as a text in its character set: see [`read_bytes`].
fn read_in_set(e: Expr, column: &SqlType, name: &str) -> Expr {
    static FUNCTION: FuncDef = def(
        "read_in_set",
        (2, 2),
        |args, _| Ok(args[0].ty.clone()),
        |args, ty, ctx| {
            let (value, name) = (args[0].eval(ctx)?, args[1].eval(ctx)?);
            let name = name.to_text();
            let charset = ty.collation.charset();
            read_bytes(value, charset, &String::from_utf8_lossy(&name), ctx.env)
        },
    );
    let name = literal(SqlType::varchar(64, Collation::DEFAULT), Val::string(name));
    let ty = SqlType::varchar(u32::MAX, column.collation).with_nullable(e.ty.nullable);
    expr(ty, Node::Call(&FUNCTION, vec![e, name]))
}

/// A text of a connection in utf8mb3, for a column, may have characters that take four bytes: see [`well_formed`].
fn as_it_was_sent(e: Expr, column: &SqlType, name: &str) -> Expr {
    static FUNCTION: FuncDef = def(
        "as_it_was_sent",
        (2, 2),
        |args, _| Ok(args[0].ty.clone()),
        |args, ty, ctx| {
            let (value, name) = (args[0].eval(ctx)?, args[1].eval(ctx)?);
            let name = name.to_text();
            let sets = (ty.collation.charset(), args[1].ty.collation.charset());
            well_formed(value, sets, &String::from_utf8_lossy(&name), ctx.env)
        },
    );
    let narrow = e.ty.is_string() && !e.ty.is_member() && e.ty.collation.charset() == Charset::Utf8mb3;
    if !narrow || column.collation.is_binary() || matches!(e.node, Node::Column(_)) {
        return e;
    }
    // The column's set goes along with its name.
    let name = literal(SqlType::varchar(64, column.collation), Val::string(name));
    expr(e.ty.clone(), Node::Call(&FUNCTION, vec![e, name]))
}
