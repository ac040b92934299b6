//! Values on their way into columns: what there is to do before a value is converted to the column's type.

use super::{BindCtx, FuncDef, as_number, as_text, def, expr, literal};
use crate::json::{is_opaque, json_type, scalar};
use crate::node::{Expr, Node};
use tidemark_types::error::SqlError;
use tidemark_types::{Charset, SqlType, TypeKind, Val, assign};

/// What is stored in a column, before it is evaluated: hexadecimal literals are numbers in numeric columns, bytes
/// are read in the column's character set, a text is the bytes of its own in a column of bytes, and one that its own set cannot write is
/// refused. Values then go through [`assign::assign`].
pub fn assignable(mut e: Expr, column: &SqlType, name: &str, bind: &BindCtx) -> Expr {
    bind.settle_kept(&mut e, column);
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
                _ => Err(SqlError::json_of_binary()),
            },
        );
        let ty = json_type().with_nullable(e.ty.nullable);
        return expr(ty, Node::Call(&FUNCTION, vec![e]));
    }
    let e = text_of_set(e, column);
    if !column.is_string() {
        return e;
    }
    between_sets(as_text(e, bind), column, name)
}

/// What goes from a SET into an ENUM is a text: no member at all is an empty one there, not the number of what is no member.
pub fn text_of_set(e: Expr, column: &SqlType) -> Expr {
    if column.kind != TypeKind::Enum || e.ty.kind != TypeKind::Set {
        return e;
    }
    let ty = SqlType::varchar(e.ty.display_length(), e.ty.collation).with_nullable(e.ty.nullable);
    expr(ty, Node::Cast(Box::new(e)))
}

/// A text for a column of another character set, as [`assign::between_sets`] takes it there.
fn between_sets(e: Expr, column: &SqlType, name: &str) -> Expr {
    static FUNCTION: FuncDef = def(
        "between_sets",
        (2, 2),
        |args, _| Ok(args[1].ty.clone()),
        |args, _, ctx| {
            let (value, name) = (args[0].eval(ctx)?, args[1].eval(ctx)?);
            let name = name.to_text();
            let types = (&args[0].ty, &args[1].ty);
            assign::between_sets(value, types, &String::from_utf8_lossy(&name), ctx.env)
        },
    );
    let (from, to) = (e.ty.collation.charset(), column.collation.charset());
    let may_change = e.ty.is_string()
        && match from {
            // What a connection sent, which may have characters of four bytes.
            Charset::Utf8mb3 => {
                to != Charset::Binary && !e.ty.is_member() && !matches!(e.node, Node::Column(_))
            }
            Charset::Binary => to.is_encoded(),
            _ => to == Charset::Binary && from.is_encoded(),
        };
    if !may_change {
        return e;
    }
    // The column's set goes along with its name.
    let name = literal(SqlType::varchar(64, column.collation), Val::string(name));
    let ty = SqlType::varchar(u32::MAX, column.collation).with_nullable(e.ty.nullable);
    expr(ty, Node::Call(&FUNCTION, vec![e, name]))
}
