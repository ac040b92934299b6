//! CHAR: the bytes of numbers. `CHAR(… USING charset)` makes them a text of that set, and fills the bytes of each number up to a
//! character of it.

use super::{BindCtx, as_number, json_as_double, whole_seconds};
use crate::env::EvalCtx;
use crate::function::{FuncDef, MANY, def};
use crate::node::Expr;
use tidemark_types::error::Result;
use tidemark_types::{SqlType, Val};

/// CHAR(… USING charset), for a set whose characters take a multiple of so many bytes.
pub(crate) fn char_in_units(unit: u32) -> &'static FuncDef {
    static OF_1: FuncDef = def("char", (1, MANY), char_type, char_bytes::<1>);
    static OF_2: FuncDef = def("char", (1, MANY), char_type, char_bytes::<2>);
    static OF_4: FuncDef = def("char", (1, MANY), char_type, char_bytes::<4>);
    match unit {
        2 => &OF_2,
        4 => &OF_4,
        _ => &OF_1,
    }
}

/// Four bytes for each number, at most.
pub(crate) fn char_type(args: &mut Vec<Expr>, _bind: &BindCtx) -> Result<SqlType> {
    for arg in std::mem::take(args) {
        args.push(json_as_double(whole_seconds(as_number(arg))));
    }
    Ok(SqlType::varbinary(args.len() as u32 * 4).literal())
}

/// The bytes of numbers, without zeros in front but for those that fill a unit.
pub(crate) fn char_bytes<'a, const UNIT: usize>(
    args: &'a [Expr],
    _ty: &'a SqlType,
    ctx: &EvalCtx<'a>,
) -> Result<Val<'a>> {
    let mut out = Vec::new();
    for arg in args {
        let value = arg.eval(ctx)?;
        if !value.is_null() {
            let code = value.to_int(ctx.env)? as u32;
            let length = 4 - (code.leading_zeros() / 8).min(3) as usize;
            let skip = 4 - length.next_multiple_of(UNIT);
            out.extend_from_slice(&code.to_be_bytes()[skip..]);
        }
    }
    Ok(Val::string(out))
}
