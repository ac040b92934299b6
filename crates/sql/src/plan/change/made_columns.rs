//! The columns that a query gives a new table.
//!
//! One that is a table's column, or one of JSON_TABLE, stays what it is, but for keys and AUTO_INCREMENT. One that is computed gets the narrowest type
//! that MySQL's temporary table of the result would have: an INT where the digits fit, VARCHAR rather than CHAR, a TEXT from
//! 513 characters on.

use crate::context::{SessionState, TableUse};
use crate::dictionary::{ColumnDef, ColumnDefault};
use crate::expr::{ArithOp, Expr, Node};
use crate::plan::json_table::ORG_TABLE;
use crate::plan::view::define::{base_column, column_def};
use crate::plan::{OutputColumn, QueryBody, QueryPlan, RowSource};
use crate::types::{SqlMode, SqlType, TypeKind, Value, assign};
use std::ops::Range;

/// Longest VARCHAR that a computed column becomes, in characters.
const VARCHAR_MAX: u32 = 512;
/// Digits and sign of a number that is an INT if it is computed, and if it is written.
const INT_COMPUTED_MAX: u32 = 11;
const INT_WRITTEN_MAX: u32 = 9;

/// A column of the new table for each of the query's, which reads these tables.
pub(super) fn made_columns(state: &SessionState, query: &QueryPlan, uses: &[TableUse]) -> Vec<ColumnDef> {
    let mut extended = Vec::new();
    let exprs: &[Expr] = match &query.body {
        QueryBody::Select(select) => {
            null_extended(&select.source, false, &mut extended);
            &select.output
        }
        _ => &[],
    };
    let columns = query.columns.iter().enumerate();
    let made = columns.map(|(at, column)| {
        let expr = exprs.get(at);
        let reads_extended = |expr: &Expr| {
            let slots = expr.columns();
            slots
                .iter()
                .any(|slot| extended.iter().any(|range| range.contains(slot)))
        };
        let is_of = |used: &&TableUse| {
            used.table.schema == column.origin.schema && used.table.name == column.origin.table
        };
        let base = uses
            .iter()
            .find(is_of)
            .and_then(|used| Some((used, base_column(&used.table, column)?)));
        let mut def = match base {
            Some((used, base)) if used.through_view => seen(column, base),
            Some((_, base)) => ColumnDef {
                on_update_now: base.on_update_now,
                explicit_collation: base.explicit_collation,
                ..column_def(column, Some(base), &column.name)
            },
            None if column.origin.schema.is_empty() && column.origin.table == ORG_TABLE => {
                column_def(column, None, &column.name)
            }
            None => computed(state, column, expr),
        };
        def.ty.nullable |= expr.is_some_and(reads_extended);
        def
    });
    made.collect()
}

/// The slots that an outer join fills with NULLs where it finds no row.
fn null_extended(source: &RowSource, inside: bool, slots: &mut Vec<Range<usize>>) {
    match source {
        RowSource::Table(scan) if inside => slots.push(scan.base..scan.base + scan.input.width()),
        RowSource::One | RowSource::Table(_) => {}
        RowSource::Inner(parts) => parts.iter().for_each(|part| null_extended(part, inside, slots)),
        RowSource::Left(join) => {
            null_extended(&join.left, inside, slots);
            null_extended(&join.right, true, slots);
        }
    }
}

/// What a view has of a column is its type and comment; in the place of a default stands that of the type.
fn seen(column: &OutputColumn, base: &ColumnDef) -> ColumnDef {
    let seen = column_def(column, None, &column.name);
    ColumnDef {
        default: base.default.as_ref().and(seen.default),
        comment: base.comment.clone(),
        ..seen
    }
}

fn computed(state: &SessionState, column: &OutputColumn, expr: Option<&Expr>) -> ColumnDef {
    let mut made = column_def(column, None, &column.name);
    if column.ty.kind == TypeKind::Null {
        made.ty.kind = TypeKind::VarChar;
        return made;
    }
    narrow(&mut made.ty, expr, column.meta.length);
    made.default = default_of(state, &made.ty);
    made
}

fn narrow(ty: &mut SqlType, expr: Option<&Expr>, length: u32) {
    match ty.kind {
        TypeKind::BigInt => {
            let most = match expr.map(|expr| &expr.node) {
                Some(Node::Literal(_)) => INT_WRITTEN_MAX,
                Some(Node::UserVar(_)) => 0,
                Some(_) => INT_COMPUTED_MAX,
                // Of several queries.
                None => 0,
            };
            if length <= most || expr.is_some_and(is_short) {
                ty.kind = TypeKind::Int;
                ty.length = SqlType::new(TypeKind::Int).length;
            }
        }
        TypeKind::Decimal if is_variable(expr) => (ty.length, ty.scale) = (65, 30),
        TypeKind::Char | TypeKind::VarChar if is_variable(expr) => {
            let collation = ty.collation;
            *ty = SqlType::new(TypeKind::LongText);
            (ty.collation, ty.nullable) = (collation, true);
        }
        // A digit stands in front of the point.
        TypeKind::Decimal if ty.length == u32::from(ty.scale) => ty.length += 1,
        TypeKind::Char | TypeKind::VarChar => {
            ty.unsigned = false;
            ty.nullable |= expr.is_some_and(may_always_be_null);
            // Of several queries it stays a CHAR.
            if expr.is_some() {
                ty.kind = TypeKind::VarChar;
            }
            widen_text(ty);
        }
        TypeKind::Json => ty.nullable |= expr.is_some_and(may_always_be_null),
        _ => {}
    }
}

/// A text of more characters than that is one of the types TEXT, with all the room of that.
pub(in crate::plan) fn widen_text(ty: &mut SqlType) {
    if ty.length <= VARCHAR_MAX {
        return;
    }
    let kind = text_of(u64::from(ty.length) * ty.collation.charset().max_bytes() as u64);
    *ty = SqlType::new(kind)
        .with_collation(ty.collation, ty.derivation)
        .with_nullable(ty.nullable);
}

fn text_of(bytes: u64) -> TypeKind {
    match bytes {
        0..=0xff => TypeKind::TinyText,
        0x100..=0xffff => TypeKind::Text,
        0x1_0000..=0xff_ffff => TypeKind::MediumText,
        _ => TypeKind::LongText,
    }
}

/// A function whose result is a text or a document is always said to be NULL at times, but for those that hand on what they
/// are given.
fn may_always_be_null(expr: &Expr) -> bool {
    const HAND_ON: [&str; 8] = [
        "coalesce", "ifnull", "if", "nullif", "greatest", "least", "version", "make_set",
    ];
    match &expr.node {
        Node::Call(def, _) => !HAND_ON.contains(&def.name),
        Node::Cast(_) => true,
        Node::Retype(inner) | Node::Digits { value: inner, .. } => may_always_be_null(inner),
        _ => false,
    }
}

fn is_variable(expr: Option<&Expr>) -> bool {
    expr.is_some_and(|expr| matches!(expr.node, Node::UserVar(_)))
}

/// A number that fits an INT, whatever its width is said to be.
fn is_short(expr: &Expr) -> bool {
    const FUNCTIONS: [&str; 24] = [
        "ascii",
        "bit_length",
        "char_length",
        "coercibility",
        "crc32",
        "datediff",
        "day",
        "dayofweek",
        "dayofyear",
        "field",
        "find_in_set",
        "hour",
        "instr",
        "interval",
        "length",
        "locate",
        "microsecond",
        "minute",
        "month",
        "quarter",
        "second",
        "strcmp",
        "time_to_sec",
        "to_days",
    ];
    let is_int = |expr: &Expr| expr.ty.is_integer() && expr.ty.kind != TypeKind::BigInt;
    match &expr.node {
        Node::Call(def, _) => FUNCTIONS.contains(&def.name),
        Node::Neg(inner) => is_int(inner),
        Node::Arith(ArithOp::IntDiv, _, sides) => is_int(&sides[0]),
        _ => false,
    }
}

fn default_of(state: &SessionState, ty: &SqlType) -> Option<ColumnDefault> {
    let no_zero_date = state.settings.sql_mode.has(SqlMode::NO_ZERO_DATE);
    let is_date = matches!(ty.kind, TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp);
    if ty.nullable {
        return Some(ColumnDefault::Literal(Value::Null));
    }
    let has_none =
        ty.is_blob_or_text() || ty.kind == TypeKind::Json || ty.is_member() || is_date && no_zero_date;
    (!has_none).then(|| ColumnDefault::Literal(assign::zero_value(ty)))
}
