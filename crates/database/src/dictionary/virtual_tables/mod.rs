//! Definitions of the tables that are not stored: those of `information_schema`, `performance_schema`, `mysql` and `sys`.
//!
//! They are definitions like any other table's, so that names resolve to them and the planner treats them as tables. What
//! their rows are is known to `information_schema` alone, far above. Those of `sys` that are queries of others are views.

mod absent;
mod events;
mod instruments;
mod list;
mod objects;
mod views;

use super::{ColumnDef, ColumnDefault, TableDef, TableOptions};
use crate::mdl::Locks;
use crate::types::{Collation, SqlType, TypeKind, Value};
use std::sync::{Arc, LazyLock};
use tidemark_engine::TableId;

/// The ids of virtual tables count down from here; the engine never gets there.
const IDS_FROM: u64 = u64::MAX;

/// All of them.
pub fn all() -> &'static [Arc<TableDef>] {
    static ALL: LazyLock<Vec<Arc<TableDef>>> = LazyLock::new(|| {
        let locks = Locks::default();
        let ids = (0..=IDS_FROM).rev();
        let lists = [
            list::LIST,
            events::LIST,
            objects::LIST,
            instruments::LIST,
            absent::LIST,
        ];
        let mut all = Vec::new();
        for ((schema, name, columns), id) in lists.into_iter().flatten().zip(ids.clone()) {
            all.push(Arc::new(define(&locks, id, schema, name, columns)));
        }
        for ((name, columns, view), id) in views::all().zip(ids.skip(all.len())) {
            let table = define(&locks, id, views::SCHEMA, &name, &columns);
            all.push(Arc::new(TableDef {
                view: Some(Arc::new(view)),
                ..table
            }));
        }
        all
    });
    &ALL
}

/// The definition of a virtual table; names compare without case.
pub fn table(schema: &str, name: &str) -> Option<Arc<TableDef>> {
    let mut tables = all().iter();
    let found = tables.find(|table| table.schema == schema && table.name.eq_ignore_ascii_case(name));
    found.cloned()
}

/// Whether a table belongs to a feature that is not here, and never has rows.
#[cfg(test)]
pub fn is_absent(schema: &str, name: &str) -> bool {
    absent::LIST
        .iter()
        .any(|(of, table, _)| *of == schema && *table == name)
}

/// The virtual tables of a database.
pub fn tables(schema: &str) -> Vec<Arc<TableDef>> {
    let tables = all().iter().filter(|table| table.schema == schema);
    tables.cloned().collect()
}

/// Divides a type of text, as it is written, into its length and its collation. Programs find a table by its name in these columns, so
/// they compare as in MySQL: `n` stands for names of databases and tables, `b` for those of accounts, both of which tell cases apart, and `l`
/// for those of columns and indexes, which do not. Without a letter they are as `words` of that database.
fn collated(written: &str, words: Collation) -> (&str, Collation) {
    let named = [
        ('n', Collation::UTF8MB3_BIN),
        ('b', Collation::UTF8MB4_BIN),
        ('l', Collation::UTF8MB3_TOLOWER_CI),
    ];
    let found = named
        .iter()
        .find_map(|(letter, collation)| Some((written.strip_suffix(*letter)?, *collation)));
    found.unwrap_or((written, words))
}

/// Columns are written `NAME type`, the type being a length of text or `text`, of which a letter behind it names the
/// [collation](collated), `int`, `uint`, `time` (a timestamp), `time6` (with microseconds), `date`, `datetime`, `duration`, `json`,
/// `decimal` or `double`; a question mark at the end makes it nullable.
fn define(locks: &Locks, id: u64, schema: &str, name: &str, columns: &str) -> TableDef {
    let words = match schema {
        "performance_schema" => Collation::UTF8MB4_0900_AI_CI,
        _ => Collation::UTF8MB3_GENERAL_CI,
    };
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
                "time6" => SqlType::new(TypeKind::Timestamp).with_fsp(6),
                "date" => SqlType::new(TypeKind::Date),
                "datetime" => SqlType::new(TypeKind::DateTime),
                "duration" => SqlType::new(TypeKind::Time),
                "double" => SqlType::double(),
                "decimal" => SqlType::decimal(27, 4),
                "json" => SqlType::new(TypeKind::Json),
                text => match collated(text, words) {
                    ("text", collation) => SqlType::text(collation),
                    (length, collation) => SqlType::varchar(length.parse().unwrap_or(64), collation),
                },
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
                generated: None,
            }
        })
        .collect();
    TableDef {
        lock: locks.table(schema, name),
        schema: schema.to_owned(),
        name: name.to_owned(),
        id: TableId(id),
        version: 0,
        columns,
        indexes: Vec::new(),
        options: TableOptions {
            collation: words,
            comment: String::new(),
            row_format: String::new(),
            created: 0,
            checks: Vec::new(),
            statistics: Default::default(),
        },
        foreign_keys: Vec::new(),
        temporary: false,
        view: None,
        histograms: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_tables_are_well_defined() {
        let mut names = std::collections::HashSet::new();
        for table in all() {
            assert!(names.insert((table.schema.clone(), table.name.to_lowercase())));
            assert!(table.is_virtual());
            assert!(table.columns.iter().all(|column| !column.name.contains(' ')));
        }
    }
}
