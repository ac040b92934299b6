//! The list of virtual tables.

use crate::dictionary::{ColumnDef, ColumnDefault, TableDef, TableOptions};
use crate::error::Result;
use crate::mdl::Locks;
use crate::session::SessionState;
use crate::types::{Collation, SqlType, TypeKind, Value};
use std::sync::{Arc, LazyLock};
use tidemark_engine::TableId;

pub struct VirtualTable {
    pub def: Arc<TableDef>,
    pub rows: fn(&SessionState) -> Result<Vec<Vec<Value>>>,
}

/// The ids of virtual tables count down from here; the engine never gets there.
const IDS_FROM: u64 = u64::MAX;

pub fn all() -> &'static [VirtualTable] {
    static ALL: LazyLock<Vec<VirtualTable>> = LazyLock::new(|| {
        let locks = Locks::default();
        let mut tables = Vec::new();
        for (i, (schema, name, columns, rows)) in super::tables::LIST.iter().enumerate() {
            tables.push(VirtualTable {
                def: Arc::new(define(&locks, IDS_FROM - i as u64, schema, name, columns)),
                rows: *rows,
            });
        }
        tables
    });
    &ALL
}

/// Columns are written `NAME type`, the type being a length of text, `int`, `uint`, `time` (a timestamp), `datetime`, `duration`, `text` or
/// `double`; a
/// question mark at the end makes it nullable.
fn define(locks: &Locks, id: u64, schema: &str, name: &str, columns: &str) -> TableDef {
    let columns = columns
        .split(',')
        .map(|column| {
            let (name, ty) = column.trim().split_once(' ').unwrap_or((column.trim(), "64"));
            let (ty, nullable) = match ty.strip_suffix('?') {
                Some(ty) => (ty, true),
                None => (ty, false),
            };
            let ty = match ty {
                "int" => SqlType::bigint(),
                "uint" => SqlType::bigint_unsigned(),
                "time" => SqlType::new(TypeKind::Timestamp),
                "datetime" => SqlType::new(TypeKind::DateTime),
                "duration" => SqlType::new(TypeKind::Time),
                "double" => SqlType::double(),
                "text" => SqlType::text(Collation::UTF8MB3_GENERAL_CI),
                length => SqlType::varchar(length.parse().unwrap_or(64), Collation::UTF8MB3_GENERAL_CI),
            };
            ColumnDef {
                name: name.to_owned(),
                ty: ty.with_nullable(nullable),
                default: nullable.then_some(ColumnDefault::Literal(Value::Null)),
                on_update_now: false,
                auto_increment: false,
                invisible: false,
                explicit_collation: false,
                comment: String::new(),
            }
        })
        .collect();
    TableDef {
        lock: locks.lock(schema, name),
        schema: schema.to_owned(),
        name: name.to_owned(),
        id: TableId(id),
        version: 0,
        columns,
        indexes: Vec::new(),
        options: TableOptions {
            collation: Collation::UTF8MB3_GENERAL_CI,
            comment: String::new(),
            row_format: String::new(),
            created: 0,
            checks: Vec::new(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_tables_are_well_defined() {
        let mut names = std::collections::HashSet::new();
        for table in all() {
            assert!(names.insert((table.def.schema.clone(), table.def.name.to_lowercase())));
            assert!(table.def.is_virtual());
            assert!(table.def.columns.iter().all(|column| !column.name.contains(' ')));
        }
    }
}
