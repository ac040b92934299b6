//! A type as it is written → a type as it is, with MySQL's limits: display widths, precisions, lengths, members.

use std::collections::HashMap;
use tidemark_parse::ast::TypeName;
use tidemark_types::error::{Result, SqlError, er};
use tidemark_types::{Charset, Collation, Derivation, SqlType, TypeKind};

/// Longest row that columns other than BLOB and TEXT may make, in bytes.
pub const ROW_BYTES_MAX: u64 = 65_535;
const SET_MEMBERS_MAX: usize = 64;
const ENUM_MEMBERS_MAX: usize = 65_535;

/// The collation that a character set and a collation name, either or both given, stand for.
pub fn collation(charset: Option<&str>, collation: Option<&str>) -> Result<Option<Collation>> {
    let charset = match charset {
        Some(name) => Some(Charset::by_name(name).ok_or_else(|| SqlError::unknown_charset(name))?),
        None => None,
    };
    let Some(name) = collation else {
        return Ok(charset.map(Charset::default_collation));
    };
    let found = Collation::by_name(name).ok_or_else(|| SqlError::unknown_collation(name))?;
    match charset {
        Some(charset) if charset != found.charset() => {
            Err(SqlError::collation_charset_mismatch(found.name(), charset.name()))
        }
        _ => Ok(Some(found)),
    }
}

/// A column's type; `table` is the collation of columns that name none. The second value: a collation was written.
pub fn column_type(name: &str, ty: &TypeName, table: Collation) -> Result<(SqlType, bool)> {
    use TypeKind::*;
    let given = collation(ty.charset.as_deref(), ty.collation.as_deref())?;
    let text_collation = match given {
        Some(collation) if ty.binary && ty.collation.is_none() => collation.charset().bin_collation(),
        Some(collation) => collation,
        None if ty.binary => table.charset().bin_collation(),
        None => table,
    };
    let length = |default: u64| ty.length.unwrap_or(default);
    let mut sql = match ty.name.as_str() {
        "TINYINT" => integer(TinyInt, ty, 4, 3),
        "SMALLINT" => integer(SmallInt, ty, 6, 5),
        "MEDIUMINT" => integer(MediumInt, ty, 9, 8),
        "INT" | "INTEGER" => integer(Int, ty, 11, 10),
        "BIGINT" => integer(BigInt, ty, 20, 20),
        "BOOL" | "BOOLEAN" => SqlType::new(TinyInt).with_length(1),
        "SERIAL" => SqlType::new(BigInt).unsigned(),
        "FLOAT" => float(name, ty)?,
        "DOUBLE" | "REAL" | "DOUBLE PRECISION" => double(name, ty)?,
        "DECIMAL" | "NUMERIC" | "DEC" | "FIXED" => decimal(name, ty)?,
        "BIT" => {
            let bits = length(1).max(1);
            if bits > 64 {
                return Err(SqlError::new(
                    er::TOO_BIG_DISPLAYWIDTH,
                    format!("Display width out of range for column '{name}' (max = 64)"),
                ));
            }
            SqlType::new(Bit).with_length(bits as u32)
        }
        "YEAR" => SqlType::new(Year),
        "DATE" => SqlType::new(Date),
        "TIME" => SqlType::new(Time).with_fsp(fsp(name, ty)?),
        "DATETIME" => SqlType::new(DateTime).with_fsp(fsp(name, ty)?),
        "TIMESTAMP" => SqlType::new(Timestamp).with_fsp(fsp(name, ty)?),
        "CHAR" | "CHARACTER" | "NCHAR" => string(Char, name, length(1), 255, text_collation)?,
        "BINARY" => string(Char, name, length(1), 255, Collation::BINARY)?,
        "VARCHAR" | "NVARCHAR" | "VARBINARY" => {
            let collation = if ty.name == "VARBINARY" {
                Collation::BINARY
            } else {
                text_collation
            };
            let Some(length) = ty.length else {
                return Err(SqlError::syntax("", 1));
            };
            let max = ROW_BYTES_MAX / collation.charset().max_bytes() as u64;
            string(VarChar, name, length, max, collation)?
        }
        "TINYTEXT" => text(TinyText, text_collation),
        "TEXT" => text(sized_text(ty.length, text_collation), text_collation),
        "MEDIUMTEXT" | "LONG" | "LONG VARCHAR" => text(MediumText, text_collation),
        "LONGTEXT" => text(LongText, text_collation),
        "TINYBLOB" => text(TinyText, Collation::BINARY),
        "BLOB" => text(sized_text(ty.length, Collation::BINARY), Collation::BINARY),
        "MEDIUMBLOB" | "LONG VARBINARY" => text(MediumText, Collation::BINARY),
        "LONGBLOB" => text(LongText, Collation::BINARY),
        "JSON" => text(Json, Collation::UTF8MB4_BIN),
        "ENUM" => members(Enum, name, ty, text_collation)?,
        "SET" => members(Set, name, ty, text_collation)?,
        other => return Err(SqlError::not_supported(format!("{other} columns"))),
    };
    if ty.unsigned && sql.is_numeric() {
        sql.unsigned = true;
    }
    if ty.zerofill && sql.is_numeric() {
        sql.unsigned = true;
        sql.zerofill = true;
    }
    let explicit =
        ty.collation.is_some() || (ty.charset.is_some() && sql.is_string() && !sql.is_binary_string());
    Ok((sql, explicit))
}

fn integer(kind: TypeKind, ty: &TypeName, signed: u32, unsigned: u32) -> SqlType {
    let width = if ty.unsigned || ty.zerofill {
        unsigned
    } else {
        signed
    };
    let written = ty
        .length
        .filter(|length| ty.zerofill || (kind == TypeKind::TinyInt && *length == 1));
    SqlType::new(kind).with_length(written.map_or(width, |length| length.min(255) as u32))
}

fn float(name: &str, ty: &TypeName) -> Result<SqlType> {
    match (ty.length, ty.decimals) {
        (Some(precision), None) if precision > 53 => Err(SqlError::new(
            er::WRONG_FIELD_SPEC,
            format!("Incorrect column specifier for column '{name}'"),
        )),
        (Some(precision), None) if precision > 24 => Ok(SqlType::new(TypeKind::Double)),
        (_, None) => Ok(SqlType::new(TypeKind::Float)),
        _ => fixed(TypeKind::Float, name, ty),
    }
}

fn double(name: &str, ty: &TypeName) -> Result<SqlType> {
    match ty.decimals {
        None => Ok(SqlType::new(TypeKind::Double)),
        Some(_) => fixed(TypeKind::Double, name, ty),
    }
}

/// FLOAT(M,D) and DOUBLE(M,D).
fn fixed(kind: TypeKind, name: &str, ty: &TypeName) -> Result<SqlType> {
    let (precision, scale) = (ty.length.unwrap_or(0), ty.decimals.unwrap_or(0));
    if scale > 30 {
        return Err(SqlError::too_big_scale(scale, name, 30));
    }
    if precision > 255 {
        return Err(SqlError::new(
            er::TOO_BIG_DISPLAYWIDTH,
            format!("Display width out of range for column '{name}' (max = 255)"),
        ));
    }
    if scale > precision {
        return Err(SqlError::scale_exceeds_precision(name));
    }
    let mut sql = SqlType::new(kind).with_length(precision as u32);
    sql.scale = scale as u8;
    Ok(sql)
}

fn decimal(name: &str, ty: &TypeName) -> Result<SqlType> {
    let precision = match ty.length {
        None | Some(0) => 10,
        Some(precision) => precision,
    };
    let scale = ty.decimals.unwrap_or(0);
    if scale > 30 {
        return Err(SqlError::too_big_scale(scale, name, 30));
    }
    if precision > 65 {
        return Err(SqlError::too_big_precision(precision, name, 65));
    }
    if scale > precision {
        return Err(SqlError::scale_exceeds_precision(name));
    }
    Ok(SqlType::decimal(precision as u32, scale as u8))
}

fn fsp(name: &str, ty: &TypeName) -> Result<u8> {
    match ty.length.unwrap_or(0) {
        fsp @ 0..=6 => Ok(fsp as u8),
        fsp => Err(SqlError::too_big_precision(fsp, name, 6)),
    }
}

fn string(kind: TypeKind, name: &str, length: u64, max: u64, collation: Collation) -> Result<SqlType> {
    if length > max {
        return Err(SqlError::too_big_column_length(name, max as u32));
    }
    let mut sql = SqlType::new(kind).with_length(length as u32);
    sql.collation = collation;
    sql.derivation = Derivation::Implicit;
    Ok(sql)
}

fn text(kind: TypeKind, collation: Collation) -> SqlType {
    let mut sql = SqlType::new(kind);
    sql.collation = collation;
    sql.derivation = Derivation::Implicit;
    sql
}

/// `TEXT(n)` is the smallest of the four that holds n characters.
fn sized_text(length: Option<u64>, collation: Collation) -> TypeKind {
    let bytes = length.map(|n| n.saturating_mul(collation.charset().max_bytes() as u64));
    match bytes {
        None | Some(0) => TypeKind::Text,
        Some(1..=255) => TypeKind::TinyText,
        Some(256..=65_535) => TypeKind::Text,
        Some(65_536..=16_777_215) => TypeKind::MediumText,
        Some(_) => TypeKind::LongText,
    }
}

/// For each member of an ENUM or SET that comes again: error 1291 in strict mode, a note otherwise.
pub fn duplicate_members(name: &str, ty: &SqlType) -> Vec<SqlError> {
    let members = ty.members.as_deref().unwrap_or(&[]);
    if ty.collation.is_code_point() {
        return Vec::new();
    }
    let kind = if ty.kind == TypeKind::Enum { "ENUM" } else { "SET" };
    let mut left: HashMap<String, usize> = HashMap::with_capacity(members.len());
    for member in members {
        *left.entry(member.to_lowercase()).or_default() += 1;
    }
    let comes_again = |member: &&String| {
        let left = left.get_mut(&member.to_lowercase());
        left.is_some_and(|left| {
            *left -= 1;
            *left > 0
        })
    };
    let duplicates = members.iter().filter(comes_again);
    let error = |member: &String| {
        SqlError::new(
            er::DUPLICATED_VALUE_IN_TYPE,
            format!("Column '{name}' has duplicated value '{member}' in {kind}"),
        )
    };
    duplicates.map(error).collect()
}

fn members(kind: TypeKind, name: &str, ty: &TypeName, collation: Collation) -> Result<SqlType> {
    let mut members: Vec<String> = Vec::with_capacity(ty.members.len());
    for bytes in &ty.members {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(' ').to_owned();
        if kind == TypeKind::Set && text.contains(',') {
            return Err(SqlError::new(
                er::ILLEGAL_VALUE_FOR_TYPE,
                format!("Illegal set '{text}' value found during parsing"),
            ));
        }
        members.push(text);
    }
    let max = if kind == TypeKind::Set {
        SET_MEMBERS_MAX
    } else {
        ENUM_MEMBERS_MAX
    };
    if members.len() > max {
        return Err(SqlError::new(
            er::TOO_BIG_SET,
            format!("Too many strings for column {name} and SET"),
        ));
    }
    let mut sql = SqlType::new(kind).with_members(members.into());
    sql.collation = collation;
    Ok(sql)
}
#[cfg(test)]
mod tests {
    use super::*;

    fn ty(name: &str, length: Option<u64>, decimals: Option<u64>) -> TypeName {
        TypeName {
            name: name.to_owned(),
            length,
            decimals,
            ..TypeName::default()
        }
    }

    fn print(ty: &TypeName) -> String {
        match column_type("c", ty, Collation::DEFAULT) {
            Ok((ty, _)) => ty.to_string(),
            Err(error) => error.code.to_string(),
        }
    }

    #[test]
    fn types_are_normalised_and_bounded_as_in_mysql() {
        assert_eq!(print(&ty("INT", Some(5), None)), "int");
        assert_eq!(print(&ty("TINYINT", Some(1), None)), "tinyint(1)");
        assert_eq!(print(&ty("DECIMAL", None, None)), "decimal(10,0)");
        assert_eq!(print(&ty("DECIMAL", Some(66), Some(2))), "1426");
        assert_eq!(print(&ty("DECIMAL", Some(2), Some(5))), "1427");
        assert_eq!(print(&ty("FLOAT", Some(30), None)), "double");
        assert_eq!(print(&ty("FLOAT", Some(7), Some(3))), "float(7,3)");
        assert_eq!(print(&ty("DATETIME", Some(7), None)), "1426");
        assert_eq!(print(&ty("VARCHAR", Some(20_000), None)), "1074");
        assert_eq!(print(&ty("VARBINARY", Some(20_000), None)), "varbinary(20000)");
        assert_eq!(print(&ty("TEXT", Some(100), None)), "text");
        assert_eq!(print(&ty("BLOB", Some(100), None)), "tinyblob");
        assert_eq!(print(&ty("CHAR", Some(256), None)), "1074");
        assert_eq!(print(&ty("POINT", None, None)), "1235");
        let binary = TypeName {
            charset: Some("binary".to_owned()),
            ..ty("VARCHAR", Some(10), None)
        };
        assert_eq!(print(&binary), "varbinary(10)");
    }

    #[test]
    fn charset_and_collation_must_agree() {
        assert_eq!(
            collation(Some("latin1"), None),
            Ok(Some(Collation::LATIN1_SWEDISH_CI))
        );
        assert_eq!(
            collation(Some("latin1"), Some("utf8mb4_bin")).unwrap_err().code,
            1253
        );
        assert_eq!(collation(Some("klingon"), None).unwrap_err().code, 1115);
        assert_eq!(collation(None, Some("klingon_ci")).unwrap_err().code, 1273);
    }
}
