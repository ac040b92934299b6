//! The columns of the engine's tables as InnoDB's are told of: `information_schema.INNODB_COLUMNS`, and `INNODB_VIRTUAL`. Types have the numbers
//! that InnoDB has for them, with the server's own number and the collation's in the precise type.

use super::engine_tables::base_tables;
use super::rows::{require_process, string};
use crate::context::SessionState;
use crate::dictionary::{ColumnDef, TableDef};
use crate::error::Result;
use crate::parse::ast::Expr;
use crate::parse::parse_expression;
use crate::types::meta::type_byte;
use crate::types::{Collation, Decimal as Dec, SqlType, TypeKind, Value};
use std::collections::{BTreeSet, HashMap};

type Made = Result<Vec<Vec<Value>>>;

/// InnoDB's main types.
mod main_type {
    pub const VARCHAR: i64 = 1;
    pub const CHAR: i64 = 2;
    pub const FIXED_BINARY: i64 = 3;
    pub const BINARY: i64 = 4;
    pub const BLOB: i64 = 5;
    pub const INT: i64 = 6;
    pub const FLOAT: i64 = 9;
    pub const DOUBLE: i64 = 10;
    pub const VARCHAR_OF_SET: i64 = 12;
    pub const CHAR_OF_SET: i64 = 13;
}

/// Bits of the precise type above the server's number for the type; the collation's number is above them.
const NOT_NULL: i64 = 1 << 8;
const UNSIGNED: i64 = 1 << 9;
const BINARY: i64 = 1 << 10;
/// The length takes two bytes.
const LONG: i64 = 1 << 12;
const VIRTUAL: i64 = 1 << 13;
const COLLATION_SHIFT: u32 = 16;

/// The one set of characters that InnoDB has types of its own for.
const LATIN1_SWEDISH: u16 = 8;

fn main_type(ty: &SqlType) -> i64 {
    use TypeKind::*;
    let is_latin1 = ty.collation.id() == LATIN1_SWEDISH;
    match ty.kind {
        Float => main_type::FLOAT,
        Double => main_type::DOUBLE,
        Decimal | Bit | Time | DateTime | Timestamp => main_type::FIXED_BINARY,
        Char if ty.collation == Collation::BINARY => main_type::FIXED_BINARY,
        Char if is_latin1 => main_type::CHAR,
        Char => main_type::CHAR_OF_SET,
        VarChar if ty.collation == Collation::BINARY => main_type::BINARY,
        VarChar if is_latin1 => main_type::VARCHAR,
        VarChar => main_type::VARCHAR_OF_SET,
        TinyText | Text | MediumText | LongText | Json => main_type::BLOB,
        Null | TinyInt | SmallInt | MediumInt | Int | BigInt | Year | Date | Enum | Set => main_type::INT,
    }
}

/// The number that the server stores for a type: but for one, that which the protocol has.
fn server_type(ty: &SqlType) -> i64 {
    const VARCHAR: u8 = 15;
    i64::from(match ty.kind {
        TypeKind::VarChar => VARCHAR,
        _ => type_byte(ty),
    })
}

fn precise_type(column: &ColumnDef) -> i64 {
    use TypeKind::*;
    let ty = &column.ty;
    let flag = |on: bool, flag: i64| if on { flag } else { 0 };
    let is_binary = match ty.kind {
        Enum | Set => false,
        Char | VarChar | TinyText | Text | MediumText | LongText => ty.collation == Collation::BINARY,
        _ => true,
    };
    let collation = match ty.kind {
        Decimal | Time | DateTime | Timestamp => i64::from(LATIN1_SWEDISH),
        Bit => i64::from(Collation::BINARY.id()),
        Char | VarChar | TinyText | Text | MediumText | LongText => i64::from(ty.collation.id()),
        Json => i64::from(Collation::UTF8MB4_BIN.id()),
        _ => 0,
    };
    let is_virtual = column
        .generated
        .as_ref()
        .is_some_and(|generated| !generated.stored);
    let unsigned = ty.unsigned || matches!(ty.kind, Enum | Set);
    server_type(ty)
        | flag(!ty.nullable, NOT_NULL)
        | flag(unsigned, UNSIGNED)
        | flag(is_binary, BINARY)
        | flag(ty.kind == VarChar && bytes_of_text(ty) > 255, LONG)
        | flag(is_virtual, VIRTUAL)
        | collation << COLLATION_SHIFT
}

fn bytes_of_text(ty: &SqlType) -> i64 {
    i64::from(ty.length) * i64::from(ty.collation.charset().max_bytes())
}

/// Bytes that a value takes at most; of a long text, what stands for it in the row.
fn length(ty: &SqlType) -> i64 {
    use TypeKind::*;
    let fraction = i64::from(ty.scale.div_ceil(2));
    let members = ty.members().len();
    match ty.kind {
        Null => 0,
        TinyInt | Year => 1,
        SmallInt => 2,
        MediumInt | Date => 3,
        Int | Float => 4,
        BigInt | Double => 8,
        Decimal => Dec::storage_len(ty.length, ty.scale) as i64,
        Bit => i64::from(ty.length.div_ceil(8)),
        Time => 3 + fraction,
        Timestamp => 4 + fraction,
        DateTime => 5 + fraction,
        Char | VarChar => bytes_of_text(ty),
        TinyText => 9,
        Text => 10,
        MediumText => 11,
        LongText | Json => 12,
        Enum if members < 256 => 1,
        Enum => 2,
        Set => match members.div_ceil(8) {
            bytes @ 0..=4 => bytes.max(1) as i64,
            _ => 8,
        },
    }
}

/// A virtual column's position: that among the virtual ones, and that among all.
fn virtual_position(nth: usize, at: usize) -> u64 {
    ((nth as u64 + 1) << 16) + at as u64
}

/// Columns that are stored with their positions among those, and then the virtual ones.
fn numbered(table: &TableDef) -> Vec<(u64, &ColumnDef)> {
    let is_virtual = |column: &ColumnDef| {
        column
            .generated
            .as_ref()
            .is_some_and(|generated| !generated.stored)
    };
    let stored = table.columns.iter().filter(|column| !is_virtual(column));
    let mut numbered: Vec<_> = stored
        .enumerate()
        .map(|(at, column)| (at as u64, column))
        .collect();
    let all = table.columns.iter().enumerate();
    let made = all.filter(|(_, column)| is_virtual(column)).enumerate();
    numbered.extend(made.map(|(nth, (at, column))| (virtual_position(nth, at), column)));
    numbered
}

/// Each virtual column with each stored one that it is computed from, by way of other virtual ones too.
pub fn virtual_columns(state: &SessionState) -> Made {
    require_process(state)?;
    let mut rows = Vec::new();
    for table in base_tables(state) {
        let mut numbered = numbered(&table);
        // A column is generated of those before it alone.
        numbered.sort_by_key(|(position, _)| *position);
        let mut known: HashMap<String, (u64, BTreeSet<u64>)> = HashMap::new();
        for (position, column) in numbered {
            let mut bases = BTreeSet::new();
            if let Some(generated) = column.generated.as_ref().filter(|made| !made.stored) {
                let expr = parse_expression(&generated.expression)?;
                for name in columns_of(&expr) {
                    match known.get(&name.to_lowercase()) {
                        Some((_, through)) if !through.is_empty() => bases.extend(through),
                        Some((base, _)) => drop(bases.insert(*base)),
                        None => {}
                    }
                }
                let of_base = |base: &u64| [table.id.0, position, *base].map(Value::UInt).to_vec();
                rows.extend(bases.iter().map(of_base));
            }
            known.insert(column.name.to_lowercase(), (position, bases));
        }
    }
    Ok(rows)
}

fn columns_of(expr: &Expr) -> Vec<&str> {
    match expr {
        Expr::Column(column) => vec![&column.column],
        _ => expr.children().into_iter().flat_map(columns_of).collect(),
    }
}

pub fn columns(state: &SessionState) -> Made {
    require_process(state)?;
    let mut rows = Vec::new();
    for table in base_tables(state) {
        for (position, column) in numbered(&table) {
            rows.push(vec![
                Value::UInt(table.id.0),
                string(&column.name),
                Value::UInt(position),
                Value::Int(main_type(&column.ty)),
                Value::Int(precise_type(column)),
                Value::Int(length(&column.ty)),
                Value::Int(0),
                Value::Null,
            ]);
        }
    }
    Ok(rows)
}
