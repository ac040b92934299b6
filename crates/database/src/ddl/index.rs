//! Keys as written → indexes as they are: names, prefixes, order, and MySQL's refusals.

use super::generated;
use crate::dictionary::{ColumnDef, IndexDef, IndexPart, KEY_PARTS_MAX, names_equal};
use crate::error::{Result, SqlError, er};
use crate::parse::ast::{self, IndexKind};
use crate::types::{SqlType, TypeKind};
use tidemark_engine::{Column, IndexSchema, KeyPart, TableSchema};

/// Longest key in bytes of its columns.
const KEY_BYTES_MAX: u64 = 3072;
const KEYS_MAX: usize = 64;
pub const PRIMARY: &str = "PRIMARY";

/// The index a key definition stands for; its functional parts name their columns. `taken` are the indexes that already have names. A primary key makes its
/// columns NOT NULL.
pub fn index(
    def: &ast::IndexDef,
    columns: &mut [ColumnDef],
    explicit_null: &[bool],
    taken: &[IndexDef],
) -> Result<IndexDef> {
    match def.kind {
        IndexKind::FullText => return Err(SqlError::not_supported("FULLTEXT indexes")),
        IndexKind::Spatial => return Err(SqlError::not_supported("SPATIAL indexes")),
        IndexKind::Primary | IndexKind::Unique | IndexKind::Plain => {}
    }
    if def.method == Some(ast::IndexMethod::Other) && def.parts.iter().any(|part| part.ordered) {
        return Err(SqlError::wrong_usage(
            "spatial/fulltext/hash index",
            "explicit index order",
        ));
    }
    let primary = def.kind == IndexKind::Primary;
    if def.parts.len() > KEY_PARTS_MAX {
        return Err(SqlError::new(
            er::TOO_MANY_KEY_PARTS,
            format!("Too many key parts specified; max {KEY_PARTS_MAX} parts allowed"),
        ));
    }
    let mut parts: Vec<IndexPart> = Vec::with_capacity(def.parts.len());
    let mut bytes = 0;
    for written in &def.parts {
        let functional = written.expression.is_some();
        let position = columns
            .iter()
            .position(|column| {
                column.is_key_part() == functional && names_equal(&column.name, &written.column)
            })
            .ok_or_else(|| SqlError::key_column_missing(&written.column))?;
        if parts.iter().any(|part| part.column == position) {
            return Err(SqlError::duplicate_column(&written.column));
        }
        let column = &mut columns[position];
        if primary && column.is_virtual() {
            return Err(generated::unsupported(
                "Defining a virtual generated column as primary key",
            ));
        }
        if primary && column.ty.nullable {
            if explicit_null.get(position).copied().unwrap_or(false) {
                return Err(SqlError::new(
                    er::PRIMARY_CANT_HAVE_NULL,
                    "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead",
                ));
            }
            column.ty.nullable = false;
            if matches!(&column.default, Some(crate::dictionary::ColumnDefault::Literal(v)) if v.is_null()) {
                column.default = None;
            }
        }
        let prefix = prefix(&column.name, &column.ty, written.length)?;
        bytes += part_bytes(&column.ty, prefix);
        parts.push(IndexPart {
            column: position,
            prefix,
            descending: written.descending,
        });
    }
    if bytes > KEY_BYTES_MAX {
        return Err(too_long(KEY_BYTES_MAX));
    }
    let name = match &def.name {
        _ if primary => PRIMARY.to_owned(),
        Some(name) => {
            super::column::check_identifier(name)?;
            if name.is_empty() || names_equal(name, PRIMARY) {
                return Err(SqlError::new(
                    er::WRONG_NAME_FOR_INDEX,
                    format!("Incorrect index name '{name}'"),
                ));
            }
            name.clone()
        }
        None => free_name(&columns[parts[0].column].name, taken),
    };
    if taken.iter().any(|index| names_equal(&index.name, &name)) {
        return Err(if primary {
            SqlError::new(er::MULTIPLE_PRI_KEY, "Multiple primary key defined")
        } else {
            SqlError::duplicate_key_name(&name)
        });
    }
    if taken.len() >= KEYS_MAX {
        return Err(SqlError::new(
            er::TOO_MANY_KEYS,
            format!("Too many keys specified; max {KEYS_MAX} keys allowed"),
        ));
    }
    if primary && def.invisible {
        return Err(invisible_primary());
    }
    Ok(IndexDef {
        name,
        number: 0,
        unique: def.kind != IndexKind::Plain,
        visible: !def.invisible,
        says_btree: def.method == Some(ast::IndexMethod::BTree),
        comment: def.comment.clone().unwrap_or_default(),
        generated: false,
        parts,
    })
}

/// Note 3502 if an index is to be of a kind that is not here.
pub fn note_of_method(def: &ast::IndexDef) -> Option<SqlError> {
    let other = def.method == Some(ast::IndexMethod::Other);
    other.then(|| {
        SqlError::new(
            er::UNSUPPORTED_INDEX_ALGORITHM,
            "This storage engine does not support the HASH index algorithm, storage engine default was used instead.",
        )
    })
}

/// Warning 1831 if an index is another one with a name of its own. One that was made for a foreign key goes when it is not needed.
pub fn warning_of_duplicate(
    index: &IndexDef,
    others: &[IndexDef],
    (schema, table): (&str, &str),
) -> Option<SqlError> {
    let same_part = |(a, b): (&IndexPart, &IndexPart)| {
        a.column == b.column && a.prefix == b.prefix && a.descending == b.descending
    };
    let is_same = |other: &IndexDef| {
        !other.generated
            && !names_equal(&other.name, PRIMARY)
            && other.unique == index.unique
            && other.parts.len() == index.parts.len()
            && other.parts.iter().zip(&index.parts).all(same_part)
    };
    let is_duplicate = !index.generated && !names_equal(&index.name, PRIMARY) && others.iter().any(is_same);
    is_duplicate.then(|| {
        SqlError::new(
            er::DUP_INDEX,
            format!(
                "Duplicate index '{}' defined on the table '{schema}.{table}'. This is deprecated and will be disallowed \
                 in a future release.",
                index.name
            ),
        )
    })
}

/// The name of an index that was given none: its first column's, with a number if that is taken.
fn free_name(column: &str, taken: &[IndexDef]) -> String {
    let is_taken =
        |name: &str| taken.iter().any(|index| names_equal(&index.name, name)) || names_equal(name, PRIMARY);
    if !is_taken(column) {
        return column.to_owned();
    }
    (2..)
        .map(|n| format!("{column}_{n}"))
        .find(|name| !is_taken(name))
        .unwrap_or_default()
}

fn too_long(max: u64) -> SqlError {
    SqlError::new(
        er::TOO_LONG_KEY,
        format!("Specified key was too long; max key length is {max} bytes"),
    )
}

/// The prefix length to keep: none if it covers the column.
fn prefix(name: &str, ty: &SqlType, written: Option<u64>) -> Result<Option<u32>> {
    let wrong = || {
        SqlError::new(
            er::WRONG_SUB_KEY,
            "Incorrect prefix key; the used key part isn't a string, the used length is longer than the key part, or \
             the storage engine doesn't support unique prefix keys",
        )
    };
    if ty.kind == TypeKind::Json {
        return Err(SqlError::new(
            er::JSON_USED_AS_KEY,
            format!(
                "JSON column '{name}' supports indexing only via generated columns on a specified JSON path."
            ),
        ));
    }
    let bytes_per_character = ty.collation.charset().max_bytes() as u64;
    match written {
        None if ty.is_blob_or_text() => Err(SqlError::new(
            er::BLOB_KEY_WITHOUT_LENGTH,
            format!("BLOB/TEXT column '{name}' used in key specification without a key length"),
        )),
        None => Ok(None),
        Some(0) => Err(SqlError::new(
            er::KEY_PART_0,
            format!("Key part '{name}' length cannot be 0"),
        )),
        Some(_) if !ty.is_string() || ty.is_member() => Err(wrong()),
        // A TINYTEXT is shorter than the key that its prefix would be.
        Some(length) if ty.is_blob_or_text() && length * bytes_per_character > ty.length as u64 => {
            Err(too_long(KEY_BYTES_MAX.min(ty.length as u64)))
        }
        Some(length) if ty.is_blob_or_text() => Ok(Some(length.min(u32::MAX as u64) as u32)),
        Some(length) if length > ty.length as u64 => Err(wrong()),
        Some(length) if length == ty.length as u64 => Ok(None),
        Some(length) => Ok(Some(length as u32)),
    }
}

fn part_bytes(ty: &SqlType, prefix: Option<u32>) -> u64 {
    match prefix {
        Some(length) => length as u64 * ty.collation.charset().max_bytes() as u64,
        None if ty.is_string() && !ty.is_member() => {
            ty.length as u64 * ty.collation.charset().max_bytes() as u64
        }
        None => super::column::row_bytes(ty),
    }
}

/// Sorts indexes as MySQL lists them and numbers them as the engine will: the primary key is 0, the others count from
/// 1 in list order.
pub fn arrange(indexes: &mut [IndexDef], columns: &[ColumnDef]) {
    let rank = |index: &IndexDef| {
        let any_part = |is: &dyn Fn(&IndexPart) -> bool| index.parts.iter().any(is);
        let nullable = any_part(&|part| columns[part.column].ty.nullable);
        let class = match index {
            _ if index.name == PRIMARY => 0,
            _ if index.unique && !nullable => 1,
            _ if index.unique => 2,
            _ => 3,
        };
        // Among their like, unique ones of prefixes come behind those of whole columns, and those of virtual columns last.
        (
            class,
            index.unique && any_part(&|part| part.prefix.is_some()),
            any_part(&|part| columns[part.column].is_virtual()),
        )
    };
    indexes.sort_by_key(rank);
}

/// Gives the indexes the engine's numbers for a table created with [`table_schema`].
pub fn number(indexes: &mut [IndexDef]) {
    let mut next = 1;
    for index in indexes {
        if index.name == PRIMARY {
            index.number = 0;
        } else {
            index.number = next;
            next += 1;
        }
    }
}

/// An index in the engine's terms.
pub fn index_schema(index: &IndexDef) -> IndexSchema {
    IndexSchema {
        parts: index
            .parts
            .iter()
            .map(|part| KeyPart {
                column: part.column,
                prefix: part.prefix,
                descending: part.descending,
            })
            .collect(),
        unique: index.unique,
    }
}

/// A column in the engine's terms.
pub fn engine_column(column: &ColumnDef) -> Column {
    Column {
        ty: column.ty.engine_type(),
        nullable: column.ty.nullable,
    }
}

/// A table in the engine's terms; the indexes have been numbered.
pub fn table_schema(columns: &[ColumnDef], indexes: &[IndexDef]) -> TableSchema {
    let mut secondary: Vec<&IndexDef> = indexes.iter().filter(|index| index.number > 0).collect();
    secondary.sort_by_key(|index| index.number);
    TableSchema {
        columns: columns.iter().map(engine_column).collect(),
        primary: indexes.iter().find(|index| index.number == 0).map(index_schema),
        secondary: secondary.into_iter().map(index_schema).collect(),
    }
}

/// Errors 1075 and 1060 and the rest of what concerns the table as a whole.
pub fn check_table(columns: &[ColumnDef], indexes: &[IndexDef]) -> Result<()> {
    const COLUMNS_MAX: usize = 1017;
    if columns.iter().all(|column| column.invisible) {
        return Err(SqlError::new(
            er::TABLE_MUST_HAVE_A_VISIBLE_COLUMN,
            "A table must have at least one visible column.",
        ));
    }
    if columns.len() > COLUMNS_MAX {
        return Err(SqlError::new(er::TOO_MANY_FIELDS, "Too many columns"));
    }
    for (i, column) in columns.iter().enumerate() {
        if columns[..i]
            .iter()
            .any(|other| names_equal(&other.name, &column.name))
        {
            return Err(SqlError::duplicate_column(&column.name));
        }
    }
    let counters: Vec<usize> = (0..columns.len())
        .filter(|i| columns[*i].auto_increment)
        .collect();
    let keyed = |position: usize| {
        indexes
            .iter()
            .any(|index| index.parts.first().is_some_and(|part| part.column == position))
    };
    if counters.len() > 1 || counters.iter().any(|position| !keyed(*position)) {
        return Err(SqlError::new(
            er::WRONG_AUTO_KEY,
            "Incorrect table definition; there can be only one auto column and it must be defined as a key",
        ));
    }
    super::column::check_row_size(columns)
}

/// Error 3522.
pub(super) fn invisible_primary() -> SqlError {
    SqlError::new(
        er::PK_INDEX_CANT_BE_INVISIBLE,
        "A primary key index cannot be invisible",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Collation;

    fn columns() -> Vec<ColumnDef> {
        let column = |name: &str, ty: SqlType| ColumnDef {
            name: name.to_owned(),
            ty,
            default: None,
            on_update_now: false,
            auto_increment: false,
            invisible: false,
            explicit_collation: false,
            comment: String::new(),
            generated: None,
        };
        vec![
            column("a", SqlType::new(TypeKind::Int)),
            column("b", SqlType::varchar(20, Collation::DEFAULT)),
            column("c", SqlType::new(TypeKind::Text)),
            column("d", SqlType::varchar(1000, Collation::DEFAULT)),
        ]
    }

    fn key(kind: IndexKind, name: Option<&str>, parts: &[(&str, Option<u64>)]) -> ast::IndexDef {
        ast::IndexDef {
            kind,
            name: name.map(str::to_owned),
            parts: parts
                .iter()
                .map(|(column, length)| ast::IndexPart {
                    column: (*column).to_owned(),
                    length: *length,
                    descending: false,
                    ordered: false,
                    expression: None,
                })
                .collect(),
            comment: None,
            invisible: false,
            method: None,
        }
    }

    fn build(def: ast::IndexDef) -> Result<IndexDef> {
        index(&def, &mut columns(), &[], &[])
    }

    #[test]
    fn prefixes_are_kept_only_where_they_shorten() {
        let plain = |parts: &[(&str, Option<u64>)]| build(key(IndexKind::Plain, None, parts));
        assert_eq!(plain(&[("b", Some(20))]).unwrap().parts[0].prefix, None);
        assert_eq!(plain(&[("b", Some(5))]).unwrap().parts[0].prefix, Some(5));
        assert_eq!(plain(&[("b", Some(21))]).unwrap_err().code, 1089);
        assert_eq!(plain(&[("a", Some(2))]).unwrap_err().code, 1089);
        assert_eq!(plain(&[("c", None)]).unwrap_err().code, 1170);
        assert_eq!(plain(&[("d", None)]).unwrap_err().code, 1071);
        assert_eq!(plain(&[("x", None)]).unwrap_err().code, 1072);
        assert_eq!(plain(&[("a", None), ("A", None)]).unwrap_err().code, 1060);
    }

    #[test]
    fn names_are_made_and_kept_apart() {
        let first = build(key(IndexKind::Plain, None, &[("a", None)])).unwrap();
        assert_eq!(first.name, "a");
        let again = index(
            &key(IndexKind::Plain, None, &[("a", None)]),
            &mut columns(),
            &[],
            std::slice::from_ref(&first),
        );
        assert_eq!(again.unwrap().name, "a_2");
        let same = index(
            &key(IndexKind::Unique, Some("A"), &[("b", None)]),
            &mut columns(),
            &[],
            &[first],
        );
        assert_eq!(same.unwrap_err().code, 1061);
        assert_eq!(
            build(key(IndexKind::Plain, Some("primary"), &[("a", None)]))
                .unwrap_err()
                .code,
            1280
        );
    }

    #[test]
    fn the_primary_key_is_not_null_and_comes_first() {
        let mut columns = columns();
        let plain = index(
            &key(IndexKind::Plain, None, &[("b", None)]),
            &mut columns,
            &[],
            &[],
        )
        .unwrap();
        let primary = index(
            &key(IndexKind::Primary, None, &[("a", None)]),
            &mut columns,
            &[],
            &[],
        )
        .unwrap();
        assert!(!columns[0].ty.nullable);
        let mut indexes = vec![plain, primary];
        arrange(&mut indexes, &columns);
        number(&mut indexes);
        assert_eq!(indexes[0].name, "PRIMARY");
        assert_eq!((indexes[0].number, indexes[1].number), (0, 1));
        assert!(check_table(&columns, &indexes).is_ok());
        columns[1].auto_increment = true;
        columns[0].auto_increment = true;
        assert_eq!(check_table(&columns, &indexes).unwrap_err().code, 1075);
    }
}
