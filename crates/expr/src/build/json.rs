//! JSON_UNQUOTE, which comparisons and casts put around a document as well as statements do.

use super::{BindCtx, as_text, expr};
use crate::function::{FuncDef, def};
use crate::json::unquote;
use crate::node::{Expr, Node};
use tidemark_types::error::Result;
use tidemark_types::{Collation, SqlType};

/// The function's line in the table.
pub(crate) const JSON_UNQUOTE: FuncDef = def("json_unquote", (1, 1), text_result, |args, _, ctx| {
    unquote(&args[0], ctx)
});

/// The type of what is a text or a document; the arguments become texts.
pub(crate) fn text_result(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    for arg in std::mem::take(args) {
        args.push(as_text(arg, bind));
    }
    Ok(SqlType::text(Collation::UTF8MB4_BIN).with_nullable(true))
}

/// `JSON_UNQUOTE(e)`
pub(crate) fn json_unquote(e: Expr, bind: &BindCtx) -> Result<Expr> {
    static FUNCTION: FuncDef = JSON_UNQUOTE;
    let mut args = vec![e];
    let ty = text_result(&mut args, bind)?;
    Ok(expr(ty, Node::Call(&FUNCTION, args)))
}
