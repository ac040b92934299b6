//! What the protocol says of columns and expressions: type, collation, length, flags, decimals. The head of the table has
//! the columns: name and type.

use super::aggregates::Collect;
use super::*;
use crate::Node;
use tidemark_types::ColumnMeta;

#[test]
fn metadata_is_mysqls() {
    let table = include_str!("../../testdata/metadata.txt");
    let heads = table.lines().take_while(|l| l.starts_with('#'));
    let columns: Vec<(&str, SqlType)> = heads
        .map(|line| {
            let (name, ty) = line[2..].split_once(" | ").expect("name and type");
            let (written, not_null) = match ty.strip_suffix(" not null") {
                Some(rest) => (rest, true),
                None => (ty, false),
            };
            (name, type_named(written).with_nullable(!not_null))
        })
        .collect();
    let scope = scope_of(&columns);
    check(table, |expression| {
        with_env(SqlMode::DEFAULT, |_, session| {
            let ctx = BindCtx::default();
            let binder = Binder {
                ctx: &ctx,
                session,
                params: &[],
                clause: "field list",
            };
            let parsed = parse_expression(expression)?;
            let bound = binder.bind(&parsed, &scope, &mut Collect::default())?;
            let m = match bound.node {
                Node::Column(slot) if slot < columns.len() => {
                    ColumnMeta::of_column("db", ("t", "t"), ("c", "c"), &bound.ty, Some(Collation::DEFAULT))
                }
                _ => ColumnMeta::of_expression("x", &bound.ty, Some(Collation::DEFAULT)),
            };
            Ok(format!(
                "{} {} {} {} {}",
                m.type_byte, m.charset, m.length, m.flags, m.decimals
            ))
        })
    });
}
