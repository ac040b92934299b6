//! `column IS NULL` in WHERE, of a DATE or DATETIME that is NOT NULL, finds the zero date, as ODBC's drivers ask for it. So it is in MySQL, for the
//! conjuncts of WHERE alone: elsewhere the zero date is not NULL.

use crate::error::Result;
use crate::expr::{BindCtx, CmpOp, Expr, Node, build};
use crate::types::{Date, SqlType, TypeKind, Val};

/// The condition of a WHERE clause. `not_null`: of the slot of a column that is NOT NULL in its table, whether it is NULL in rows that an
/// outer join adds.
pub(super) fn with_zero_dates(
    filter: Expr,
    not_null: &dyn Fn(usize) -> Option<bool>,
    ctx: &BindCtx,
) -> Result<Expr> {
    if let Node::And(list) = filter.node {
        let list = list.into_iter();
        let list = list.map(|conjunct| with_zero_dates(conjunct, not_null, ctx));
        return Ok(build::and(list.collect::<Result<_>>()?));
    }
    let Node::IsNull(column) = &filter.node else {
        return Ok(build::condition(filter));
    };
    let Node::Column(slot) = column.node else {
        return Ok(filter);
    };
    let zero = match column.ty.kind {
        TypeKind::Date => build::typed_literal(SqlType::date(), Val::Date(Date::ZERO)),
        TypeKind::DateTime => {
            build::typed_literal(SqlType::datetime(0), Val::DateTime(Date::ZERO.midnight()))
        }
        _ => return Ok(filter),
    };
    let Some(is_extended) = not_null(slot) else {
        return Ok(filter);
    };
    let is_zero = build::compare(CmpOp::Eq, (**column).clone(), zero, ctx)?;
    Ok(match is_extended {
        true => build::or(vec![filter, is_zero]),
        false => is_zero,
    })
}
